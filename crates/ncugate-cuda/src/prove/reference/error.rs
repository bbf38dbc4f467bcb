//! Errors of built-in references.

use ncugate_model::ShapeName;

/// The names that a phase can use.
pub const BUILT_IN: [&str; 5] = ["sdpa", "gemm", "softmax", "reduce", "copy"];

/// Why a built-in reference cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No built-in has that name.
    #[error("unknown built-in reference `{name}`{hint}; the built-in ones are {}", BUILT_IN.join(", "))]
    Unknown {
        name: String,
        /// `; did you mean ...?` or empty.
        hint: String,
    },
    /// An unknown option, or a value that the option cannot take.
    #[error("option `{key} = {value}` of reference `{builtin}`: {allowed}")]
    Option { builtin: &'static str, key: String, value: String, allowed: &'static str },
    /// A required buffer is missing.
    #[error("reference `{builtin}` needs an {role} buffer named `{buffer}` (or {needed} {role} buffers in its order)")]
    Missing {
        builtin: &'static str,
        /// The buffer's name.
        buffer: &'static str,
        role: &'static str,
        /// Number of buffers of the role that it takes.
        needed: usize,
    },
    /// It has one output, and the workload has more.
    #[error("reference `{builtin}` computes only `{given}`; output `{other}` would be unchecked")]
    MoreOutputs {
        builtin: &'static str,
        given: String,
        /// The output that it does not compute.
        other: String,
    },
    /// Extents do not fit each other.
    #[error("reference `{builtin}` at shape `{shape}`: {what}")]
    Shape {
        builtin: &'static str,
        shape: ShapeName,
        /// The extents, and what they should be.
        what: String,
    },
    /// A required scalar differs between variants.
    #[error("reference `{builtin}` uses scalar `{scalar}`, which depends on a variant's parameters")]
    Varying { builtin: &'static str, scalar: &'static str },
}
