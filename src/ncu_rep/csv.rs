//! ncu CSV
