//! How an external command learns what to do.

/// The variable that names the request.
pub const REQUEST_VARIABLE: &str = "NCUGATE_REQUEST";
