//! A phase file: its keys, resolved and checked, and the plan of variants, shapes and launches that it makes.
//!
//! Deliberately absent: compilers, the GPU.

pub mod config;
pub mod draft;
pub mod plan;
