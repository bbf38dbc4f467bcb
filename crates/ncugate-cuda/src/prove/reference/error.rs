//! Why a built-in reference cannot be used.

use ncugate_model::ShapeName;

/// What can be named in a phase.
pub const BUILT_IN: [&str; 5] = ["sdpa", "gemm", "softmax", "reduce", "copy"];

/// Why a built-in reference cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No built-in has that name.
    #[error("reference '{name}' is not built in{hint}; built in are {}", BUILT_IN.join(", "))]
    Unknown {
        name: String,
        /// `; did you mean ...?` or empty.
        hint: String,
    },
    /// An option it does not have, or a value the option cannot take.
    #[error("option {key} = '{value}' of reference '{builtin}': {allowed}")]
    Option { builtin: &'static str, key: String, value: String, allowed: &'static str },
    /// A buffer it needs is not there.
    #[error("reference '{builtin}' needs an {role} buffer named '{buffer}' (or {needed} {role} buffers in its order)")]
    Missing {
        builtin: &'static str,
        /// The buffer's name.
        buffer: &'static str,
        role: &'static str,
        /// How many buffers of the role it takes.
        needed: usize,
    },
    /// It gives one output, and the workload has more.
    #[error("reference '{builtin}' gives '{given}' only; output '{other}' would stay unchecked")]
    MoreOutputs {
        builtin: &'static str,
        given: String,
        /// What it does not.
        other: String,
    },
    /// Extents do not fit each other.
    #[error("reference '{builtin}' at shape '{shape}': {what}")]
    Shape {
        builtin: &'static str,
        shape: ShapeName,
        /// Which extents, and what they should be.
        what: String,
    },
    /// A scalar it uses differs between variants.
    #[error("reference '{builtin}' uses scalar '{scalar}', which depends on a variant's parameters")]
    Varying { builtin: &'static str, scalar: &'static str },
}
