//! A worker's job: everything it needs, evaluated, in one JSON file that no config has to be read beside.
//!
//! A job also says what is still to do, so that a worker that crashed is replaced by one that does the rest.

mod evaluate;

use super::reference::{Builtin, ReferenceError};
use crate::config::{Dtype, Init, Phase, Role, Shape};
use crate::expr::ExprError;
use crate::model::VariantId;
use crate::model::{CheckOutcome, CheckRecord, LatencyRecord};
use crate::model::{ShapeName, Tolerance};
use crate::plan::{Launch, Plan};
use evaluate::{built, check_launches, check_provable, job_reference, job_shape, timing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a worker is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Ordinal of the CUDA device.
    pub device: u32,
    /// Measure, or launch under a profiler.
    pub mode: Mode,
    /// Seeds of the inputs; the first also fills what is timed and profiled.
    pub seeds: Vec<u64>,
    /// The right answer.
    pub reference: JobReference,
    /// How near to it an output must be.
    pub tolerance: Tolerance,
    /// Problem sizes, evaluated.
    pub shapes: Vec<JobShape>,
    /// Variants, in the order of the plan.
    pub kernels: Vec<JobKernel>,
}

/// What the worker does with each variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Mode {
    /// Check, then time.
    Bench(Timing),
    /// Launch inside NVTX ranges and nothing else.
    Profile {
        /// Launches of each variant and shape.
        repeat: u32,
    },
}

/// How latency is measured; see [`crate::config::BenchSettings`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Untimed graph launches before the first sample.
    pub warmup: u32,
    /// Samples a variant and shape.
    pub rounds: u32,
    /// A sample lasts at least this long, in microseconds, unless `max_launches` stops it.
    pub min_sample_us: f64,
    /// Most launches in one graph.
    pub max_launches: u32,
    /// Sets of buffers a graph rotates over.
    pub buffer_sets: u32,
}

/// Where the right answer comes from, with everything evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobReference {
    /// Computed in float64 on the host.
    Builtin(Builtin),
    /// Another entry, launched on the GPU.
    Entry {
        /// Entry name.
        entry: String,
        /// A cubin of the source it is in.
        cubin: PathBuf,
        /// Its launch at every shape.
        launches: Vec<Launch>,
    },
    /// NumPy files; a minijinja template over `shape`, `seed` and `buffer`.
    Npy {
        /// The template.
        path: String,
    },
    /// None: nothing is checked in this mode.
    None,
}

/// A problem size with its buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobShape {
    /// Its name.
    pub name: ShapeName,
    /// Dimensions.
    pub dims: Vec<(String, i64)>,
    /// Buffers, in the order of the file.
    pub buffers: Vec<JobBuffer>,
    /// Scalars that the shape alone decides, as the kernel sees them (rounded to their C type).
    pub scalars: BTreeMap<String, f64>,
    /// Scalars that differ between variants, which a reference cannot use.
    pub varying: Vec<String>,
}

/// A buffer at one shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobBuffer {
    /// Its name.
    pub name: String,
    /// Element type.
    pub dtype: Dtype,
    /// Extents, all positive.
    pub extents: Vec<usize>,
    /// How it is filled; standard normal for an input that does not say.
    pub init: Option<Init>,
    /// What the kernel does with it.
    pub role: Role,
}

impl JobBuffer {
    /// Elements.
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.elements() * self.dtype.size()
    }
}

/// A correctness case of one variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The shape.
    pub shape: ShapeName,
    /// The seed.
    pub seed: u64,
}

/// A variant, and what is still to do for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobKernel {
    /// The variant.
    pub variant: VariantId,
    /// Its cubin.
    pub cubin: PathBuf,
    /// Entry name.
    pub entry: String,
    /// Its launch at every shape.
    pub launches: Vec<Launch>,
    /// Correctness cases to run.
    pub cases: Vec<Case>,
    /// Shapes to time or to profile.
    pub shapes: Vec<ShapeName>,
    /// Why it is not to be timed, once a case was not correct.
    pub unsound: Option<String>,
}

impl JobKernel {
    /// Its launch at a shape.
    pub fn launch(&self, shape: &ShapeName) -> Option<&Launch> {
        self.launches.iter().find(|l| &l.shape == shape)
    }

    /// Notes a case that is settled.
    pub fn note_check(&mut self, record: &CheckRecord) {
        self.cases.retain(|c| c.shape != record.shape || c.seed != record.seed);
        let what = match &record.outcome {
            CheckOutcome::Correct { .. } => return,
            CheckOutcome::Wrong { reason, .. } => format!("wrong ({reason})"),
            CheckOutcome::Crashed { reason } => format!("crashed ({reason})"),
            CheckOutcome::Skipped { reason } => format!("not checked ({reason})"),
        };
        if self.unsound.is_none() {
            self.unsound = Some(format!("not timed: {what} at {}, seed {}", record.shape, record.seed));
        }
    }
}

/// Why a phase cannot be made into a job.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum JobError {
    /// An expression failed.
    #[error("{what} at shape '{shape}'")]
    Expression {
        /// The buffer, scalar or reference launch.
        what: String,
        /// The shape.
        shape: ShapeName,
        /// Why.
        source: ExprError,
    },
    /// An extent is not positive, or the buffer is larger than memory can be.
    #[error(
        "buffer '{buffer}' at shape '{shape}' has extents {extents:?}; each must be positive and all fit in memory"
    )]
    Extents {
        /// The buffer.
        buffer: String,
        /// The shape.
        shape: ShapeName,
        /// What the expressions gave.
        extents: Vec<i64>,
    },
    /// The workload has no output, so nothing could be proved.
    #[error("the workload has no output buffer; give one `role = \"output\"`")]
    NoOutput,
    /// Neither bound of the tolerance is given, or one is not a number that can be held.
    #[error("the tolerance has no usable bound; give `max_abs` or `rel_l2`, finite and not negative")]
    Tolerance,
    /// There is no seed.
    #[error("the workload has no seeds; give at least one")]
    NoSeeds,
    /// The plan has no launch for a shape.
    #[error("variant '{variant}' has no launch for shape '{shape}'")]
    NoLaunch {
        /// The variant.
        variant: VariantId,
        /// The shape.
        shape: ShapeName,
    },
    /// A launch names a buffer that the workload does not have.
    #[error("variant '{variant}' passes buffer '{buffer}', which the workload does not declare")]
    UnknownBuffer {
        /// The variant.
        variant: VariantId,
        /// The name.
        buffer: String,
    },
    /// The built-in reference does not fit the workload.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A reference entry needs a cubin of its source, and no variant was built.
    #[error("the reference entry '{entry}' needs a variant of the phase's kernel that builds; none did")]
    NoReferenceCubin {
        /// The entry.
        entry: String,
    },
    /// Grid or block of a reference entry is not 1 to 3 positive numbers.
    #[error("{what} of reference entry '{entry}' must be 1 to 3 numbers from 1 to 2147483647")]
    ReferenceLaunch {
        /// The entry.
        entry: String,
        /// Grid or block.
        what: &'static str,
    },
}

/// Which job to make of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Check and time.
    Bench,
    /// Time what was checked before.
    Time,
    /// Launch under a profiler.
    Profile,
}

impl Job {
    /// The job over those variants of `plan` that `cubins` has a cubin for; external commands are not part of it.
    pub fn new(
        phase: &Phase,
        plan: &Plan,
        cubins: &BTreeMap<VariantId, PathBuf>,
        purpose: Purpose,
    ) -> Result<Self, JobError> {
        let shapes = phase.workload.shapes.iter().map(|s| job_shape(phase, s)).collect::<Result<Vec<_>, _>>()?;
        let (mode, reference, timed) = match purpose {
            Purpose::Bench => {
                check_provable(phase)?;
                (Mode::Bench(timing(phase)), job_reference(phase, plan, cubins, &shapes)?, &phase.bench.shapes)
            }
            Purpose::Time => (Mode::Bench(timing(phase)), JobReference::None, &phase.bench.shapes),
            Purpose::Profile => {
                (Mode::Profile { repeat: phase.profile.repeat }, JobReference::None, &phase.profile.shapes)
            }
        };
        let mut kernels = Vec::new();
        for (variant, kernel, cubin) in built(plan, cubins) {
            check_launches(variant, kernel, phase)?;
            let cases = match purpose {
                Purpose::Bench => cases(phase),
                Purpose::Time | Purpose::Profile => Vec::new(),
            };
            kernels.push(JobKernel {
                variant: variant.clone(),
                cubin: cubin.clone(),
                entry: kernel.entry.clone(),
                launches: kernel.launches.clone(),
                cases,
                shapes: timed.clone(),
                unsound: None,
            });
        }
        let workload = &phase.workload;
        Ok(Self {
            device: 0,
            mode,
            seeds: workload.seeds.clone(),
            reference,
            tolerance: workload.tolerance,
            shapes,
            kernels,
        })
    }

    /// The shape of that name.
    pub fn shape(&self, name: &ShapeName) -> Option<&JobShape> {
        self.shapes.iter().find(|s| &s.name == name)
    }

    /// The variant's part.
    pub fn kernel_mut(&mut self, variant: &VariantId) -> Option<&mut JobKernel> {
        self.kernels.iter_mut().find(|k| &k.variant == variant)
    }

    /// Takes a case that is already known off the list; a run that continues starts with this.
    pub fn settle_check(&mut self, record: &CheckRecord) {
        if let Some(kernel) = self.kernel_mut(&record.variant) {
            kernel.note_check(record);
        }
    }

    /// Takes a latency that is already known off the list.
    pub fn settle_latency(&mut self, record: &LatencyRecord) {
        if let Some(kernel) = self.kernel_mut(&record.variant) {
            kernel.shapes.retain(|s| s != &record.shape);
        }
    }

    /// Whether nothing is left to do.
    pub fn is_settled(&self) -> bool {
        self.kernels.iter().all(|k| k.cases.is_empty() && k.shapes.is_empty())
    }
}

/// Every correctness case of a phase, shape by shape.
pub fn cases(phase: &Phase) -> Vec<Case> {
    let of_shape = |shape: &Shape| {
        let name = shape.name.clone();
        phase.workload.seeds.iter().map(move |&seed| Case { shape: name.clone(), seed })
    };
    phase.workload.shapes.iter().flat_map(of_shape).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
