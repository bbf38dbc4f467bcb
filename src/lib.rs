//! ncugate
pub mod frame;
pub mod ncu_rep;
