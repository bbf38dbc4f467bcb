//! ncugate
