//! Errors of buffer contents before a launch.

use ncugate_array::npy::NpyError;
use ncugate_model::expr::ExprError;

/// Why a buffer has no values before a launch.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The path of its file does not render.
    #[error("path of the file for input `{buffer}`")]
    Path { buffer: String, source: ExprError },
    /// Its file cannot be read, or has another content.
    #[error("input `{buffer}`")]
    File { buffer: String, source: NpyError },
}
