//! A worker's job: everything it needs, evaluated, in one JSON file that no config has to be read beside.
//!
//! A job also says what is still to do, so that a worker that crashed is replaced by one that does the rest.

use super::reference::{Builtin, ReferenceError};
use super::{CheckOutcome, CheckRecord, LatencyRecord};
use crate::config::{Buffer, Dtype, Init, Phase, Reference, Role, ScalarType, Shape, ShapeName, Tolerance};
use crate::expr::{Expr, ExprError, Scope, Value};
use crate::plan::{KernelPlan, Launch, Method, Plan, VariantId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

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
    pub fn len(&self) -> usize {
        self.extents.iter().product()
    }

    /// Whether it has no elements (it never does: extents are positive).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.len() * self.dtype.size()
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
    #[error("{what} at shape '{shape}': {source}")]
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
            Purpose::Profile => {
                (Mode::Profile { repeat: phase.profile.repeat }, JobReference::None, &phase.profile.shapes)
            }
        };
        let mut kernels = Vec::new();
        for (variant, kernel, cubin) in built(plan, cubins) {
            check_launches(variant, kernel, phase)?;
            let cases = match purpose {
                Purpose::Bench => cases(phase),
                Purpose::Profile => Vec::new(),
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

fn built<'a>(
    plan: &'a Plan,
    cubins: &'a BTreeMap<VariantId, PathBuf>,
) -> impl Iterator<Item = (&'a VariantId, &'a KernelPlan, &'a PathBuf)> {
    plan.variants.iter().filter_map(|v| match &v.method {
        Method::Kernel(kernel) => cubins.get(&v.id).map(|cubin| (&v.id, kernel, cubin)),
        Method::Command(_) => None,
    })
}

fn check_provable(phase: &Phase) -> Result<(), JobError> {
    let tolerance = phase.workload.tolerance;
    let bounds = [tolerance.max_abs, tolerance.rel_l2];
    let usable = |b: &f64| b.is_finite() && *b >= 0.0;
    if bounds.iter().flatten().next().is_none() || !bounds.iter().flatten().all(usable) {
        return Err(JobError::Tolerance);
    }
    if phase.workload.seeds.is_empty() {
        return Err(JobError::NoSeeds);
    }
    if !phase.workload.buffers.iter().any(|b| b.role == Role::Output) {
        return Err(JobError::NoOutput);
    }
    Ok(())
}

fn check_launches(variant: &VariantId, kernel: &KernelPlan, phase: &Phase) -> Result<(), JobError> {
    for shape in &phase.workload.shapes {
        if !kernel.launches.iter().any(|l| l.shape == shape.name) {
            return Err(JobError::NoLaunch { variant: variant.clone(), shape: shape.name.clone() });
        }
    }
    for arg in kernel.launches.iter().flat_map(|l| &l.args) {
        match arg {
            crate::plan::Arg::Buffer(name) if !phase.workload.buffers.iter().any(|b| &b.name == name) => {
                return Err(JobError::UnknownBuffer { variant: variant.clone(), buffer: name.clone() });
            }
            crate::plan::Arg::Buffer(_) | crate::plan::Arg::Scalar(_) => {}
        }
    }
    Ok(())
}

fn timing(phase: &Phase) -> Timing {
    let bench = &phase.bench;
    Timing {
        warmup: bench.warmup,
        rounds: bench.rounds,
        min_sample_us: micros(bench.min_sample),
        max_launches: bench.max_launches.max(1),
        buffer_sets: bench.buffer_sets.max(1),
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn job_shape(phase: &Phase, shape: &Shape) -> Result<JobShape, JobError> {
    let scope: Scope = shape.dims.iter().map(|(name, extent)| (name.clone(), Value::Int(*extent))).collect();
    let buffers = phase.workload.buffers.iter().map(|b| job_buffer(b, shape, &scope)).collect::<Result<Vec<_>, _>>()?;
    let mut scalars = BTreeMap::new();
    let mut varying = Vec::new();
    for scalar in &phase.workload.scalars {
        match scalar.value.eval_number(&scope) {
            Ok(value) => {
                scalars.insert(scalar.name.clone(), as_passed(scalar.dtype, value));
            }
            Err(ExprError::Unknown { .. }) => varying.push(scalar.name.clone()),
            Err(source) => {
                let what = format!("scalar '{}'", scalar.name);
                return Err(JobError::Expression { what, shape: shape.name.clone(), source });
            }
        }
    }
    Ok(JobShape { name: shape.name.clone(), dims: shape.dims.clone(), buffers, scalars, varying })
}

/// The value a kernel sees behind its C type.
fn as_passed(dtype: ScalarType, value: f64) -> f64 {
    match dtype {
        ScalarType::F32 => f64::from(value as f32),
        ScalarType::F64 => value,
        ScalarType::I32 => f64::from(value as i32),
        ScalarType::I64 => value as i64 as f64,
        ScalarType::U32 => f64::from(value as u32),
    }
}

fn job_buffer(buffer: &Buffer, shape: &Shape, scope: &Scope) -> Result<JobBuffer, JobError> {
    let evaluated = buffer.shape.iter().map(|e| e.eval_int(scope)).collect::<Result<Vec<i64>, _>>();
    let extents = evaluated.map_err(|source| JobError::Expression {
        what: format!("buffer '{}'", buffer.name),
        shape: shape.name.clone(),
        source,
    })?;
    let fits = || {
        let mut bytes = buffer.dtype.size();
        let mut sizes = Vec::new();
        for &extent in &extents {
            let extent = usize::try_from(extent).ok().filter(|&e| e > 0)?;
            bytes = bytes.checked_mul(extent).filter(|&b| b < isize::MAX as usize / 2)?;
            sizes.push(extent);
        }
        Some(sizes)
    };
    let Some(sizes) = fits().filter(|s| !s.is_empty()) else {
        return Err(JobError::Extents { buffer: buffer.name.clone(), shape: shape.name.clone(), extents });
    };
    let init = match buffer.role {
        Role::Input => buffer.init.or(Some(Init::Normal { mean: 0.0, std: 1.0 })),
        Role::Output | Role::Scratch => None,
    };
    Ok(JobBuffer { name: buffer.name.clone(), dtype: buffer.dtype, extents: sizes, init, role: buffer.role })
}

fn job_reference(
    phase: &Phase,
    plan: &Plan,
    cubins: &BTreeMap<VariantId, PathBuf>,
    shapes: &[JobShape],
) -> Result<JobReference, JobError> {
    match &phase.workload.reference {
        Reference::Builtin { name, options } => {
            let builtin = Builtin::parse(name, options)?;
            shapes.iter().try_for_each(|shape| builtin.bind(shape).map(drop))?;
            Ok(JobReference::Builtin(builtin))
        }
        Reference::Npy { path } => Ok(JobReference::Npy { path: path.to_string_lossy().into_owned() }),
        Reference::Entry { entry, grid, block } => {
            let of_phase = |plan: &KernelPlan| phase.kernel.as_ref().is_none_or(|k| k.source == plan.source);
            let host = built(plan, cubins).find(|(_, kernel, _)| of_phase(kernel));
            let (_, kernel, cubin) = host.ok_or_else(|| JobError::NoReferenceCubin { entry: entry.clone() })?;
            let launches = kernel
                .launches
                .iter()
                .filter_map(|launch| shapes.iter().find(|s| s.name == launch.shape).map(|shape| (launch, shape)))
                .map(|(launch, shape)| {
                    Ok(Launch {
                        shape: launch.shape.clone(),
                        grid: extent3(grid, shape, entry, "grid")?,
                        block: extent3(block, shape, entry, "block")?,
                        cluster: [1, 1, 1],
                        dynamic_shared: 0,
                        args: launch.args.clone(),
                    })
                })
                .collect::<Result<Vec<_>, JobError>>()?;
            Ok(JobReference::Entry { entry: entry.clone(), cubin: cubin.clone(), launches })
        }
    }
}

fn extent3(texts: &[String], shape: &JobShape, entry: &str, what: &'static str) -> Result<[u32; 3], JobError> {
    let wrong = || JobError::ReferenceLaunch { entry: entry.to_owned(), what };
    let scope: Scope = shape.dims.iter().map(|(name, extent)| (name.clone(), Value::Int(*extent))).collect();
    let failed = |source| JobError::Expression {
        what: format!("{what} of reference entry '{entry}'"),
        shape: shape.name.clone(),
        source,
    };
    if texts.is_empty() || texts.len() > 3 {
        return Err(wrong());
    }
    let mut extents = [1; 3];
    for (extent, text) in extents.iter_mut().zip(texts) {
        let value = Expr::parse(text).and_then(|e| e.eval_int(&scope)).map_err(failed)?;
        *extent = u32::try_from(value).ok().filter(|v| (1..=i32::MAX as u32).contains(v)).ok_or_else(wrong)?;
    }
    Ok(extents)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
