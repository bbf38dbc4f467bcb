//! Variables that nvcc reads.

use std::env;

/// Variables that change nvcc's behaviour without being on its command line.
const ENVIRONMENT: [&str; 5] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "CPATH", "CPLUS_INCLUDE_PATH"];

/// Flags that variables add to every nvcc command line, by variable, without empty ones.
pub fn added_flags() -> impl Iterator<Item = (&'static str, String)> {
    let flags = ENVIRONMENT.into_iter().filter(|name| name.ends_with("_FLAGS"));
    flags.filter_map(|name| Some((name, env::var(name).ok().filter(|flags| !flags.trim().is_empty())?)))
}

/// The environment variables that nvcc reads, as `NAME=value`.
pub fn variables() -> Vec<String> {
    ENVIRONMENT.iter().map(|name| format!("{name}={}", env::var(name).unwrap_or_default())).collect()
}
