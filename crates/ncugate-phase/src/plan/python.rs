//! Descriptions of a kernel's arguments for the compilers of Python kernels.

use super::arg::{Arg, ScalarValue};
use super::program::{CompilationsByValue, EntryByValue, LaunchKey, ShapeProgram, Step};
use crate::config::{KernelTemplate, Phase, Shape, Workload};
use ncugate_model::expr::Value;
use ncugate_model::{Dtype, MAX_BLOCK_THREADS, ShapeName};

/// Divisor that pointers and whole numbers are tested for: Triton compiles wider accesses for addresses and strides
/// that are multiples of it. Every buffer starts at a multiple of 256 bytes.
const ALIGNMENT: i64 = 16;
/// Threads per warp.
const WARP: u32 = 32;
/// Default number of warps per block.
pub(super) const WARPS: u32 = 4;

/// Permitted number of warps per block.
pub(super) const WARPS_OF_A_BLOCK: std::ops::RangeInclusive<u32> = 1..=MAX_BLOCK_THREADS / WARP;

/// Number of threads in a block of `warps` warps.
pub(super) const fn threads(warps: u32) -> u32 {
    WARP * warps
}

/// Types of the arguments in Triton's notation. A whole number is marked as a multiple of 16 (`:16`) only if it is
/// one at every shape of `programs`, because one entry serves all of them.
pub(super) fn signature(workload: &Workload, programs: &[ShapeProgram]) -> Vec<String> {
    let launches: Vec<_> = programs.iter().flat_map(ShapeProgram::launches).collect();
    let Some(first) = launches.first() else { return Vec::new() };
    let shape = launched_shapes(workload, programs).next();
    let each = first.args.iter().enumerate();
    each.map(|(at, arg)| {
        let divides = || launches.iter().all(|launch| launch.args.get(at).is_some_and(is_aligned));
        let name = type_name(workload, shape, arg);
        if divides() { format!("{name}:{ALIGNMENT}") } else { name }
    })
    .collect()
}

type Constants = Vec<(String, Value)>;

/// The compilations of a function whose constexprs have these values at each program. Launches get the entries' names.
pub(super) fn by_value(
    workload: &Workload,
    values: Vec<Constants>,
    programs: &mut [ShapeProgram],
) -> Option<CompilationsByValue> {
    let function = programs.iter().flat_map(ShapeProgram::launches).next()?.entry.clone();
    let mut named: Vec<(String, Constants, Vec<ShapeProgram>)> = Vec::new();
    for (program, constants) in programs.iter_mut().zip(values).filter(|(program, _)| program.left_out.is_none()) {
        let at = named.iter().position(|(_, known, _)| *known == constants).unwrap_or_else(|| {
            let mut entry = function.clone();
            constants.iter().for_each(|(name, value)| entry.push_str(&format!("_{name}{value}")));
            let mut entry = entry.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            while named.iter().any(|(known, ..)| *known == entry) {
                entry.push('_');
            }
            named.push((entry, constants, Vec::new()));
            named.len() - 1
        });
        for step in &mut program.steps {
            if let Step::Launch(launch) = step {
                launch.entry.clone_from(&named[at].0);
            }
        }
        named[at].2.push(program.clone());
    }
    let entry = |(entry, constants, programs): (_, _, Vec<_>)| EntryByValue {
        entry,
        constants,
        signature: signature(workload, &programs),
    };
    Some(CompilationsByValue { function, entries: named.into_iter().map(entry).collect() })
}

/// The shapes that a kernel is launched at.
fn launched_shapes<'w>(workload: &'w Workload, programs: &'w [ShapeProgram]) -> impl Iterator<Item = &'w Shape> {
    let launched = programs.iter().filter(|program| program.launches().next().is_some());
    launched.filter_map(|program| workload.shapes.iter().find(|shape| shape.name == program.shape))
}

/// The name of a buffer argument whose type differs between the shapes that the kernel is launched at: one cubin serves
/// all of them.
pub(super) fn mixed_argument<'p>(workload: &Workload, programs: &'p [ShapeProgram]) -> Option<&'p str> {
    let names =
        programs.iter().flat_map(ShapeProgram::launches).flat_map(|launch| &launch.args).filter_map(Arg::buffer);
    names.into_iter().find(|name| {
        let buffer = workload.buffers.iter().find(|buffer| buffer.name == **name);
        let types = launched_shapes(workload, programs).filter_map(|shape| buffer?.dtype.at(shape).ok());
        types.collect::<Vec<_>>().windows(2).any(|pair| pair[0] != pair[1])
    })
}

/// The parts of a launch that the phase specifies.
pub(super) fn given(kernel: &KernelTemplate) -> Vec<LaunchKey> {
    let Some(launch) = kernel.launches().next() else { return Vec::new() };
    let said = [
        (LaunchKey::Grid, launch.grid.is_empty()),
        (LaunchKey::Block, launch.block.is_empty()),
        (LaunchKey::DynamicShared, launch.dynamic_shared.is_empty()),
    ];
    said.into_iter().filter(|(_, is_empty)| !is_empty).map(|(key, _)| key).collect()
}

/// The parameters whose values are part of a launch, also by a scalar that it passes.
pub(super) fn launched(workload: &Workload, kernel: &KernelTemplate, params: &[(String, Value)]) -> Vec<String> {
    let scalars = || workload.scalars.iter().filter(|scalar| kernel.names(&scalar.name));
    let passes = |name: &str| scalars().any(|scalar| scalar.value.names().iter().any(|(known, _)| known == name));
    params.iter().map(|(name, _)| name).filter(|name| kernel.names(name) || passes(name)).cloned().collect()
}

/// Extents of a buffer at a shape for these values of the variants' parameters; none if they cannot be evaluated.
pub fn extents(phase: &Phase, shape: &ShapeName, params: &[(String, Value)], buffer: &str) -> Option<Vec<u64>> {
    let shape = phase.workload.shapes.iter().find(|known| &known.name == shape)?;
    let scope = phase.launch_scope(shape, params);
    let buffer = phase.workload.buffers.iter().find(|known| known.name == buffer)?;
    buffer.shape.iter().map(|extent| u64::try_from(extent.eval_int(&scope).ok()?).ok()).collect()
}

fn is_aligned(arg: &Arg) -> bool {
    match arg {
        Arg::Buffer(_) => true,
        Arg::Scalar(ScalarValue::I32(value)) => i64::from(*value) % ALIGNMENT == 0,
        Arg::Scalar(ScalarValue::I64(value)) => value % ALIGNMENT == 0,
        Arg::Scalar(ScalarValue::U32(value)) => i64::from(*value) % ALIGNMENT == 0,
        Arg::Scalar(ScalarValue::U64(value)) => value % 16 == 0,
        Arg::Element(element) => element.bytes % 16 == 0,
        Arg::Scalar(_)
        | Arg::Null
        | Arg::Struct { .. }
        | Arg::Pointers(_)
        | Arg::TensorMap(_)
        | Arg::Workspace(_)
        | Arg::Texture(_)
        | Arg::Surface(_) => false,
    }
}

fn type_name(workload: &Workload, shape: Option<&Shape>, arg: &Arg) -> String {
    match arg {
        Arg::Buffer(_) | Arg::Element(_) => {
            let name = arg.buffer().unwrap_or_default();
            let buffer = workload.buffers.iter().find(|buffer| buffer.name == name);
            let dtype = buffer.zip(shape).and_then(|(buffer, shape)| buffer.dtype.at(shape).ok());
            format!("*{}", dtype.map_or("i8", element))
        }
        Arg::Scalar(ScalarValue::F32(_)) => "fp32".to_owned(),
        Arg::Scalar(ScalarValue::F64(_)) => "fp64".to_owned(),
        Arg::Scalar(ScalarValue::I32(_)) => "i32".to_owned(),
        Arg::Scalar(ScalarValue::I64(_)) => "i64".to_owned(),
        Arg::Scalar(ScalarValue::U32(_)) => "u32".to_owned(),
        Arg::Scalar(ScalarValue::U64(_)) => "u64".to_owned(),
        Arg::Scalar(ScalarValue::I16(_)) => "i16".to_owned(),
        Arg::Scalar(ScalarValue::U16(_)) => "u16".to_owned(),
        Arg::Scalar(ScalarValue::I8(_)) => "i8".to_owned(),
        Arg::Scalar(ScalarValue::U8(_)) => "u8".to_owned(),
        Arg::Scalar(ScalarValue::Bool(_)) => "u1".to_owned(),
        Arg::Scalar(ScalarValue::F16(_)) => "fp16".to_owned(),
        Arg::Scalar(ScalarValue::Bf16(_)) => "bf16".to_owned(),
        Arg::Null | Arg::Pointers(_) | Arg::Workspace(_) | Arg::Texture(_) | Arg::Surface(_) => "*i8".to_owned(),
        // Unknown to all compilers; each reports that.
        Arg::TensorMap(_) | Arg::Struct { .. } => "struct".to_owned(),
    }
}

/// Triton's name of an element type (`triton.language.dtype`).
const fn element(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F64 => "fp64",
        Dtype::F32 => "fp32",
        Dtype::F16 => "fp16",
        Dtype::Fp8E4m3 => "fp8e4nv",
        Dtype::Fp8E5m2 => "fp8e5",
        Dtype::Bool => "i1",
        others => others.name(),
    }
}
