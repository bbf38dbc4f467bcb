//! Why a phase cannot be made into a job.

use crate::prove::ReferenceError;
use ncugate_model::expr::ExprError;
use ncugate_model::{ShapeName, VariantId};
use ncugate_phase::plan::PlanErrors;

/// Why a phase cannot be made into a job.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum JobError {
    #[error("{what} at shape `{shape}`")]
    Expression {
        /// The buffer, scalar or reference launch.
        what: String,
        shape: ShapeName,
        source: ExprError,
    },
    /// An extent is not positive, or the buffer exceeds addressable memory.
    #[error(
        "buffer `{buffer}` at shape `{shape}` has extents {extents:?}; each must be positive, and the buffer must fit in memory"
    )]
    Extents {
        buffer: String,
        shape: ShapeName,
        /// The evaluated extents.
        extents: Vec<i64>,
    },
    /// The reference is not computed for the parameters of a variant.
    #[error("no answer of the reference for the parameters of variant `{variant}`")]
    NoAnswer { variant: VariantId },
    /// The init of a buffer is invalid at a shape.
    #[error("`init` of buffer `{buffer}` at shape `{shape}`: {problem}")]
    Init {
        buffer: String,
        shape: ShapeName,
        /// Why its numbers are invalid.
        problem: String,
    },
    /// The workload has no output, so nothing can be proved.
    #[error("the workload has no output buffer; give one `role = \"output\"`")]
    NoOutput,
    /// The tolerance has no bound, or a bound is not a representable number.
    #[error(
        "the tolerance has no usable bound; set `max_abs`, `rel_l2`, `atol` or `rtol` to a finite number of at least 0"
    )]
    Tolerance,
    /// The phase judges ncu reports, and computes nothing.
    #[error("the phase judges ncu reports and measures nothing; use `ncugate gate CONFIG REPORT`")]
    NoReference,
    /// The phase has no seed.
    #[error("the workload has no seeds; add at least one")]
    NoSeeds,
    /// The plan has no launch for a shape.
    #[error("variant `{variant}` has no launch for shape `{shape}`")]
    NoLaunch { variant: VariantId, shape: ShapeName },
    /// A launch names a buffer that the workload does not have.
    #[error("variant `{variant}` passes buffer `{buffer}`, which the workload does not declare")]
    UnknownBuffer { variant: VariantId, buffer: String },
    /// An argument of the reference entry cannot be passed.
    #[error(transparent)]
    ReferenceArguments(#[from] PlanErrors),
    /// The built-in reference does not fit the workload.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The operating system provides no random seeds.
    #[error("the operating system provides no random numbers for the timed inputs: {reason}")]
    NoRandomness { reason: String },
    /// A reference entry needs a cubin of its source, and no variant was built.
    #[error("the reference entry `{entry}` needs at least one variant of the phase's kernel that builds")]
    NoReferenceCubin { entry: String },
    /// Grid or block of a reference entry is not 1 to 3 positive numbers.
    #[error("{what} of reference entry `{entry}` must be 1 to 3 numbers from 1 to 2147483647")]
    ReferenceLaunch {
        entry: String,
        /// Grid or block.
        what: &'static str,
    },
}

impl JobError {
    /// The error of an expression of a buffer, scalar or reference launch at a shape.
    pub(super) fn unevaluated(what: String, shape: &ShapeName) -> impl FnOnce(ExprError) -> Self {
        let shape = shape.clone();
        move |source| Self::Expression { what, shape, source }
    }
}
