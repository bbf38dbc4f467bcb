//! The interface between ncugate and an external command.

/// The variable with the path of the request.
pub const REQUEST_VARIABLE: &str = "NCUGATE_REQUEST";
