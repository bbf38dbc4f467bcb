//! Files opened without trust, whatever room they are for.

pub mod open;
