//! ncugate
pub mod commands;
pub mod frame;
pub mod ncu_rep;
