//! A phase's expressions, evaluated for a job.

use super::job_error::JobError;
use super::null_test::built_in;
use crate::gpu::{BufferSpec, PartialBuffer, VariantExtents};
use crate::prove::{ReferenceSpec, ShapeCheck, ShapeSpec};
use crate::python_environment::PythonEnvironment;
use crate::time::{AuditEffort, HiddenSeeds, TimingSettings};
use ncugate_model::cubin::{variable, variables};
use ncugate_model::expr::{Expr, ExprError, Names, Value};
use ncugate_model::{BuiltKernel, Dtype, VariantId};
use ncugate_phase::config::{
    Buffer, Init, KernelTemplate, OwnBound, Phase, RowOrder, ScalarType, Shape, Verification, WorkloadReference,
};
use ncugate_phase::plan::{
    Arg, FunctionPlan, KernelLaunch, KernelPlan, Method, Plan, ScalarValue, ShapeProgram, Step, Variant,
    reference_answers, reference_args, reference_id, reference_launch, reference_values, reference_variant,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

pub(super) fn built<'a>(
    plan: &'a Plan,
    cubins: &'a BTreeMap<VariantId, BuiltKernel>,
) -> impl Iterator<Item = (&'a VariantId, &'a KernelPlan, &'a BuiltKernel)> {
    plan.variants.iter().filter_map(|v| match &v.method {
        Method::Kernel(kernel) => cubins.get(&v.id).map(|cubin| (&v.id, kernel, cubin)),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    })
}

pub(super) fn functions<'a>(
    plan: &'a Plan,
    wanted: &'a BTreeMap<VariantId, BuiltKernel>,
) -> impl Iterator<Item = (&'a Variant, &'a FunctionPlan)> {
    plan.variants.iter().filter_map(|variant| match &variant.method {
        Method::Function(function) => wanted.contains_key(&variant.id).then_some((variant, function)),
        Method::Kernel(_) | Method::Command(_) | Method::Captured(_) => None,
    })
}

/// The call of a function at every shape: its arguments are the number of the shape, and then every buffer, or those of the
/// plan for host code.
pub(super) fn calls(phase: &Phase, function: &FunctionPlan) -> Vec<ShapeProgram> {
    let number = |number: usize| Arg::Scalar(ScalarValue::I64(number as i64));
    if let Some(host) = &function.host {
        let mut programs = host.programs.clone();
        for (at, program) in programs.iter_mut().enumerate() {
            for step in &mut program.steps {
                if let Step::Launch(launch) = step {
                    launch.args.insert(0, number(at));
                }
            }
        }
        return programs;
    }
    let buffers = || phase.workload.buffers.iter().map(|buffer| Arg::Buffer(buffer.name.clone()));
    let call = |(at, shape): (usize, &Shape)| {
        let args = std::iter::once(number(at)).chain(buffers()).collect();
        let launch = reference_launch(&function.function, ([1; 3], [1; 3]), args);
        ShapeProgram::new(shape.name.clone(), vec![Step::Launch(launch)])
    };
    phase.workload.shapes.iter().enumerate().map(call).collect()
}

pub(super) fn check_provable(phase: &Phase) -> Result<(), JobError> {
    if !phase.workload.tolerance.is_usable() {
        return Err(JobError::Tolerance);
    }
    if phase.workload.seeds.is_empty() {
        return Err(JobError::NoSeeds);
    }
    if !phase.workload.buffers.iter().any(|b| b.role.is_compared()) {
        return Err(JobError::NoOutput);
    }
    Ok(())
}

pub(super) fn check_launches(variant: &VariantId, kernel: &KernelPlan, phase: &Phase) -> Result<(), JobError> {
    for shape in &phase.workload.shapes {
        if kernel.program(&shape.name).is_none() {
            return Err(JobError::NoLaunch { variant: variant.clone(), shape: shape.name.clone() });
        }
    }
    let symbols = kernel.programs.iter().flat_map(|program| &program.symbols).filter_map(|fill| fill.value.buffer());
    for name in kernel.programs.iter().flat_map(|program| &program.steps).flat_map(buffers).chain(symbols) {
        if !phase.workload.buffers.iter().any(|b| b.name == name) {
            return Err(JobError::UnknownBuffer { variant: variant.clone(), buffer: name.to_owned() });
        }
    }
    Ok(())
}

/// Buffers that a step names.
fn buffers(step: &Step) -> Vec<&str> {
    match step {
        Step::Launch(launch) => launch.args.iter().flat_map(Arg::parts).filter_map(Arg::buffer).collect(),
        Step::Memset(fill) => vec![&fill.buffer],
        Step::Memcpy(copy) => vec![&copy.from, &copy.to],
    }
}

/// The timing settings of a phase, with [`hidden_seeds`].
pub(super) fn timing(phase: &Phase, effort: AuditEffort) -> Result<TimingSettings, JobError> {
    let bench = &phase.bench;
    let mut settings = TimingSettings {
        warmup: bench.warmup,
        rounds: bench.rounds,
        min_sample_us: micros(bench.min_sample),
        max_launches: bench.max_launches.max(1),
        buffer_sets: bench.buffer_sets.max(1),
        l2: bench.l2,
        effort: match bench.verify {
            Verification::Audited => effort,
            Verification::None => AuditEffort::None,
        },
        hidden: HiddenSeeds { inputs: Vec::new(), pilot: 0, schedule: drawn_seed()? },
    };
    // Without verification one content is enough, but its inputs are still unknown to kernels.
    let verified = settings.effort != AuditEffort::None || phase.workload.has_state();
    let contents = if verified { settings.most_contents() } else { 1 };
    settings.hidden.inputs = hidden_seeds(phase, contents)?;
    settings.hidden.pilot = uncompared_seed(phase, &settings.hidden.inputs)?;
    Ok(settings)
}

/// Seeds of inputs that no kernel and no phase knows, drawn now. If files give the expected outputs or inputs of a seed, the
/// phase's own seeds take turns.
pub(super) fn hidden_seeds(phase: &Phase, count: u32) -> Result<Vec<u64>, JobError> {
    let seeds = &phase.workload.seeds;
    match &phase.workload.reference {
        WorkloadReference::Absent => Ok(Vec::new()),
        WorkloadReference::Builtin { .. } | WorkloadReference::Entry { .. } | WorkloadReference::Program(_)
            if !has_seed_files(phase) =>
        {
            (0..count).map(|_| drawn_seed()).collect()
        }
        _ => Ok(seeds.iter().copied().cycle().take(count as usize).collect()),
    }
}

/// A seed of inputs whose outputs are never compared, other than these. If files give the inputs of a seed, it is another one
/// of the phase's, if there is one.
pub(super) fn uncompared_seed(phase: &Phase, compared: &[u64]) -> Result<u64, JobError> {
    let seeds = &phase.workload.seeds;
    match has_seed_files(phase) {
        true => Ok(seeds.iter().find(|seed| !compared.contains(seed)).or(seeds.first()).copied().unwrap_or_default()),
        false => drawn_seed(),
    }
}

/// Whether files give the inputs of a seed.
fn has_seed_files(phase: &Phase) -> bool {
    phase.workload.buffers.iter().filter_map(|buffer| buffer.init.as_ref()).any(Init::is_of_seed_files)
}

/// A seed from the operating system.
fn drawn_seed() -> Result<u64, JobError> {
    getrandom::u64().map_err(|source| JobError::NoRandomness { reason: source.to_string() })
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// An evaluated shape. Buffers that differ between variants have room for the largest variant of `plan`.
pub(super) fn job_shape(phase: &Phase, plan: Option<&Plan>, shape: &Shape) -> Result<ShapeSpec, JobError> {
    let scope = shape.scope();
    let buffers = phase.workload.buffers.iter().map(|b| match varies(b, shape) {
        true => partial_buffer(phase, b, plan, shape),
        false => job_buffer(b, shape, &scope),
    });
    let buffers = buffers.collect::<Result<Vec<_>, _>>()?;
    let mut scalars = BTreeMap::new();
    let mut varying = Vec::new();
    for scalar in &phase.workload.scalars {
        match scalar.value.eval_number(&scope) {
            Ok(value) => {
                scalars.insert(scalar.name.clone(), as_passed(scalar.dtype, value));
            }
            Err(ExprError::Unknown { .. }) => varying.push(scalar.name.clone()),
            Err(source) => {
                let what = format!("scalar `{}`", scalar.name);
                return Err(JobError::Expression { what, shape: shape.name.clone(), source });
            }
        }
    }
    let own = phase.workload.buffers.iter().enumerate();
    let bounds = own
        .filter_map(|(at, buffer)| {
            Some((
                at,
                OwnBound::of(&phase.workload.own_bounds, phase.workload.tolerance.allclose, &buffer.name, &shape.name)?,
            ))
        })
        .collect();
    let index = |name: &String| phase.workload.buffers.iter().position(|buffer| &buffer.name == name);
    let checks = phase.workload.checks.iter().map(|check| ShapeCheck {
        program: check.program.clone(),
        python: PythonEnvironment::of(&phase.build),
        alone: check.outputs.iter().filter_map(index).collect(),
    });
    let (name, dims, checks) = (shape.name.clone(), shape.dims.clone(), checks.collect());
    Ok(ShapeSpec { name, dims, buffers, scalars, bounds, checks, varying })
}

/// The value that a kernel sees after conversion to its C type.
fn as_passed(dtype: ScalarType, value: f64) -> f64 {
    match dtype {
        ScalarType::F32 => f64::from(value as f32),
        ScalarType::F64 => value,
        ScalarType::I32 => f64::from(value as i32),
        ScalarType::I64 => value as i64 as f64,
        ScalarType::U32 => f64::from(value as u32),
        ScalarType::U64 => value as u64 as f64,
        ScalarType::I16 => f64::from(value as i16),
        ScalarType::U16 => f64::from(value as u16),
        ScalarType::I8 => f64::from(value as i8),
        ScalarType::U8 => f64::from(value as u8),
        ScalarType::Bool => f64::from(u8::from(value != 0.0)),
        ScalarType::F16 => half::f16::from_f64(value).to_f64(),
        ScalarType::Bf16 => half::bf16::from_f64(value).to_f64(),
    }
}

fn varies(buffer: &Buffer, shape: &Shape) -> bool {
    buffer.varying_axes(&shape.dims).contains(&true)
}

/// The extents in a variant at a shape, of the buffers whose extents differ between variants.
pub(super) fn variant_extents(
    phase: &Phase,
    variant: &Variant,
    shape: &Shape,
    answers: &[Vec<(String, Value)>],
) -> Result<VariantExtents, JobError> {
    let scope = phase.launch_scope(shape, &variant.params);
    let buffers = phase.workload.buffers.iter().enumerate().filter(|(_, buffer)| varies(buffer, shape));
    let own = buffers.map(|(index, buffer)| Ok((index, sizes(buffer, &buffer.shape, shape, &scope)?)));
    let values = reference_values(&phase.workload, variant);
    let answer = answers.iter().position(|answer| *answer == values);
    let answer = answer.ok_or_else(|| JobError::NoAnswer { variant: variant.id.clone() })?;
    Ok(VariantExtents { buffers: own.collect::<Result<_, JobError>>()?, answer })
}

/// A buffer that differs between variants, with room for the largest and the extents of the combined result.
fn partial_buffer(phase: &Phase, buffer: &Buffer, plan: Option<&Plan>, shape: &Shape) -> Result<BufferSpec, JobError> {
    let axes = buffer.varying_axes(&shape.dims);
    let kept: Vec<Expr> =
        buffer.shape.iter().zip(&axes).filter(|(_, varies)| !**varies).map(|(e, _)| e.clone()).collect();
    let extents = sizes(buffer, &kept, shape, &shape.scope())?;
    let mut elements = extents.iter().product();
    let has_parameters = |variant: &&Variant| match &variant.method {
        Method::Kernel(_) => true,
        Method::Function(function) => function.host.is_some(),
        Method::Command(_) | Method::Captured(_) => false,
    };
    let kernels = plan.iter().flat_map(|plan| &plan.variants).filter(has_parameters);
    for variant in kernels {
        let own = sizes(buffer, &buffer.shape, shape, &phase.launch_scope(shape, &variant.params))?;
        elements = own.iter().product::<usize>().max(elements);
    }
    let extents = if buffer.reduce.is_some() { extents } else { vec![elements] };
    let partial = Some(PartialBuffer { reduce: buffer.reduce, axes, elements });
    let (name, dtype, role) = (buffer.name.clone(), job_dtype(buffer, shape)?, buffer.role);
    let init = job_init(buffer, shape, &[elements])?;
    Ok(BufferSpec { name, dtype, extents, init, role, partial, part: Vec::new(), order: RowOrder::AsExpected })
}

fn job_dtype(buffer: &Buffer, shape: &Shape) -> Result<Dtype, JobError> {
    buffer.dtype.at(shape).map_err(JobError::unevaluated(format!("`dtype` of buffer `{}`", buffer.name), &shape.name))
}

/// Extents in elements.
fn sizes(buffer: &Buffer, exprs: &[Expr], shape: &Shape, scope: &Names) -> Result<Vec<usize>, JobError> {
    let evaluated = exprs.iter().map(|e| e.eval_int(scope)).collect::<Result<Vec<i64>, _>>();
    let extents = evaluated.map_err(JobError::unevaluated(format!("buffer `{}`", buffer.name), &shape.name))?;
    let dtype = job_dtype(buffer, shape)?;
    let fits = || {
        let mut bytes = dtype.size();
        let mut sizes = Vec::new();
        for &extent in &extents {
            let extent = usize::try_from(extent).ok().filter(|&e| e > 0)?;
            bytes = bytes.checked_mul(extent).filter(|&b| b < isize::MAX as usize / 2)?;
            sizes.push(extent);
        }
        Some(sizes)
    };
    let wrong =
        || JobError::Extents { buffer: buffer.name.clone(), shape: shape.name.clone(), extents: extents.clone() };
    fits().ok_or_else(wrong)
}

fn job_buffer(buffer: &Buffer, shape: &Shape, scope: &Names) -> Result<BufferSpec, JobError> {
    let sizes = sizes(buffer, &buffer.shape, shape, scope)?;
    if sizes.is_empty() {
        let (buffer, shape) = (buffer.name.clone(), shape.name.clone());
        return Err(JobError::Extents { buffer, shape, extents: Vec::new() });
    }
    let init = job_init(buffer, shape, &sizes)?;
    let (name, dtype, role) = (buffer.name.clone(), job_dtype(buffer, shape)?, buffer.role);
    let (part, order) = (part(buffer, shape, &sizes, scope)?, buffer.order);
    Ok(BufferSpec { name, dtype, extents: sizes, init, role, partial: None, part, order })
}

/// The elements of each axis of a buffer that count; empty if all do.
fn part(buffer: &Buffer, shape: &Shape, sizes: &[usize], scope: &Names) -> Result<Vec<Range<usize>>, JobError> {
    if buffer.compare.is_empty() {
        return Ok(Vec::new());
    }
    let at = |expr: &Expr| {
        expr.eval_int(scope)
            .map_err(JobError::unevaluated(format!("`compare` of buffer `{}`", buffer.name), &shape.name))
    };
    let wrong = |extents| JobError::Extents { buffer: buffer.name.clone(), shape: shape.name.clone(), extents };
    let of_axis = |(axis, &size): (usize, &usize)| match buffer.compare.get(axis) {
        None => Ok(0..size),
        Some(slice) => {
            let (first, end) = (at(&slice.first)?, at(&slice.end)?);
            let range = usize::try_from(first).ok().zip(usize::try_from(end).ok());
            let range = range.filter(|(first, end)| first < end && *end <= size);
            range.map(|(first, end)| first..end).ok_or_else(|| wrong(vec![first, end]))
        }
    };
    sizes.iter().enumerate().map(of_axis).collect()
}

/// How a buffer of these extents is filled.
fn job_init(buffer: &Buffer, shape: &Shape, sizes: &[usize]) -> Result<Option<Init>, JobError> {
    let scope = &shape.scope();
    let init = buffer.init.as_ref().map(|init| init.with(|amount| amount.at(scope))).transpose();
    let init = init.map_err(JobError::unevaluated(format!("`init` of buffer `{}`", buffer.name), &shape.name))?;
    if let Some(problem) = init.as_ref().and_then(|init| init.problem(sizes)) {
        let (buffer, shape) = (buffer.name.clone(), shape.name.clone());
        return Err(JobError::Init { buffer, shape, problem });
    }
    Ok(init.or_else(|| buffer.role.is_read().then_some(Init::Normal { mean: 0.0, std: 1.0 })))
}

/// The reference of a phase, if it needs no GPU.
pub(super) fn host_reference(phase: &Phase, plan: &Plan) -> Result<Option<ReferenceSpec>, JobError> {
    Ok(match &phase.workload.reference {
        WorkloadReference::Builtin { .. } => built_in(phase)?,
        WorkloadReference::Npy { path } => Some(ReferenceSpec::Npy { path: path.to_string_lossy().into_owned() }),
        WorkloadReference::Program(program) => {
            let (program, python) = (program.clone(), PythonEnvironment::of(&phase.build));
            Some(ReferenceSpec::Program { program, python, answers: reference_answers(phase, plan) })
        }
        WorkloadReference::Entry { .. } | WorkloadReference::Absent => None,
    })
}

pub(super) fn job_reference(
    phase: &Phase,
    plan: &Plan,
    cubins: &BTreeMap<VariantId, BuiltKernel>,
    shapes: &[ShapeSpec],
) -> Result<ReferenceSpec, JobError> {
    if let Some(reference) = host_reference(phase, plan)? {
        if let ReferenceSpec::Builtin(builtin) = &reference {
            shapes.iter().try_for_each(|shape| builtin.bind(shape).map(drop))?;
        }
        return Ok(reference);
    }
    let WorkloadReference::Entry { entry, source, grid, block, args: _ } = &phase.workload.reference else {
        return Err(JobError::NoReference);
    };
    let own = source.as_ref().map(|_| cubins.get(&reference_id()).cloned());
    // A parameterised source counts as the source of every variant in the sweep.
    let same = |k: &KernelTemplate, source: &Path| !k.source.names().is_empty() || Path::new(k.source.text()) == source;
    let of_phase = |plan: &KernelPlan| phase.kernel.as_ref().is_none_or(|k| same(k, &plan.source));
    // The machine code of a variant is launched as the variant is, also in a job without this variant.
    let of_variant = reference_variant(phase, plan).map(|(_, kernel)| kernel);
    let host = built(plan, cubins).find(|(_, kernel, _)| own.is_some() || of_phase(kernel));
    let absent = || JobError::NoReferenceCubin { entry: entry.clone() };
    let (_, kernel, candidate) = host.ok_or_else(absent)?;
    let kernel = of_variant.unwrap_or(kernel);
    let cubin = own.unwrap_or_else(|| Some(candidate.clone())).ok_or_else(absent)?.cubin;
    // A reference entry with the same module variables as the kernel gets the same values.
    let variables = std::fs::read(&cubin).ok().and_then(|image| variables(&image).ok()).unwrap_or_default();
    let programs = shapes.iter().zip(&phase.workload.shapes).map(|(spec, shape)| {
        let extents = (extent3(grid, spec, entry, "grid")?, extent3(block, spec, entry, "block")?);
        let args = reference_args(phase, shape, kernel)?.unwrap_or_default();
        let like = of_variant.and_then(|own| own.program(&shape.name)?.launches().next());
        let launch = reference_launch(entry, extents, args);
        let launch = like.map_or(launch.clone(), |like| KernelLaunch {
            cluster: like.cluster,
            dynamic_shared: like.dynamic_shared,
            mode: like.mode,
            ..launch
        });
        let symbols = kernel.program(&shape.name).map_or(&[][..], |program| &program.symbols);
        let symbols = symbols.iter().filter(|fill| variable(&variables, &fill.symbol).is_ok()).cloned();
        let steps = vec![Step::Launch(launch)];
        Ok(ShapeProgram { symbols: symbols.collect(), ..ShapeProgram::new(shape.name.clone(), steps) })
    });
    let programs = programs.collect::<Result<Vec<_>, JobError>>()?;
    Ok(ReferenceSpec::Entry { entry: entry.clone(), cubin, programs })
}

fn extent3(exprs: &[Expr], shape: &ShapeSpec, entry: &str, what: &'static str) -> Result<[u32; 3], JobError> {
    let wrong = || JobError::ReferenceLaunch { entry: entry.to_owned(), what };
    let scope = shape.scope();
    let failed = || JobError::unevaluated(format!("{what} of reference entry `{entry}`"), &shape.name);
    if exprs.is_empty() || exprs.len() > 3 {
        return Err(wrong());
    }
    let mut extents = [1; 3];
    for (extent, expr) in extents.iter_mut().zip(exprs) {
        let value = expr.eval_int(&scope).map_err(failed())?;
        *extent = u32::try_from(value).ok().filter(|v| (1..=i32::MAX as u32).contains(v)).ok_or_else(wrong)?;
    }
    Ok(extents)
}
