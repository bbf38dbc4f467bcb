//! Finds launches that cannot work on a chip, before anything is launched.

use super::{Arg, KernelLaunch, ShapeProgram, SymbolFill};
use ncugate_model::LaunchMode;
use ncugate_model::cubin::{Entry, ModuleVariable, ParameterField, variable};
use ncugate_model::occupancy::{Chip, REGISTERS_PER_SM, WARP};
use ncugate_model::{ComputeCapability, LeftOutShape, MAX_BLOCK, MAX_BLOCK_THREADS, MAX_GRID};
use std::ops::Range;

/// Bytes of a `CUtensorMap`.
const TENSOR_MAP: u32 = 128;
/// The first chips whose L2 cache can set a part aside.
const AMPERE: ComputeCapability = ComputeCapability::new(8, 0);
/// The first chips with bulk tensor copies, programmatic dependent launch and clusters.
const HOPPER: ComputeCapability = ComputeCapability::new(9, 0);
/// Allocation unit of registers per warp. Warps are allocated in groups of four.
const REGISTER_UNIT: u64 = 256;

/// An array in shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedArray {
    /// Its name in the source.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The shapes at which a variant is launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launchable {
    /// No shape; each reason with its shapes.
    Nowhere(Vec<String>),
    /// All shapes except these.
    But(Vec<LeftOutShape>),
}

/// What the compiler knows about an entry beyond its cubin. It is asked only for the reason of a refusal.
pub struct SourceFacts<'a> {
    /// The static shared arrays of an entry.
    pub arrays: &'a dyn Fn(&Entry) -> Vec<SharedArray>,
    /// The fields of a parameter of an entry, by its index; empty if they are unknown.
    pub fields: &'a dyn Fn(&Entry, usize) -> Vec<ParameterField>,
}

/// The shapes at which programs can be launched. If a program has several launches, each reason names its launch.
///
/// `variables` are the cubin's module variables.
pub fn launchable(
    chip: Option<&Chip>,
    entries: &[(&str, Entry)],
    programs: &[ShapeProgram],
    variables: &[ModuleVariable],
    facts: &SourceFacts<'_>,
) -> Launchable {
    let of = |program: &ShapeProgram| LeftOutShape {
        shape: program.shape.clone(),
        reasons: match &program.left_out {
            Some(reason) => vec![reason.clone()],
            None => of_program(chip, entries, program, variables, facts),
        },
    };
    let mut out: Vec<LeftOutShape> = programs.iter().map(of).collect();
    out.retain(|out| !out.reasons.is_empty());
    match out.len() == programs.len() && !programs.is_empty() {
        true => Launchable::Nowhere(by_reason(&out)),
        false => Launchable::But(out),
    }
}

/// Each reason once, with its shapes unless it applies to all.
fn by_reason(out: &[LeftOutShape]) -> Vec<String> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for (shape, reason) in out.iter().flat_map(|out| out.reasons.iter().map(move |reason| (&out.shape.0, reason))) {
        match found.iter_mut().find(|(known, _)| known == reason) {
            Some((_, shapes)) => shapes.push(shape),
            None => found.push((reason, vec![shape])),
        }
    }
    let told = |(reason, shapes): (&str, Vec<&str>)| match shapes.len() == out.len() {
        true => reason.to_owned(),
        false => format!("at {}: {reason}", shapes.join(", ")),
    };
    found.into_iter().map(told).collect()
}

/// Why a program cannot be launched; empty if it can.
fn of_program(
    chip: Option<&Chip>,
    entries: &[(&str, Entry)],
    program: &ShapeProgram,
    variables: &[ModuleVariable],
    facts: &SourceFacts<'_>,
) -> Vec<String> {
    let mut found: Vec<String> = program.symbols.iter().filter_map(|fill| symbol(variables, fill)).collect();
    let several = program.launches().count() > 1;
    for (at, launch) in program.launches().enumerate() {
        let which = if several { format!("launch {} (`{}`): ", at + 1, launch.entry) } else { String::new() };
        found.extend(of_launch(chip, entries, launch, facts).into_iter().map(|reason| format!("{which}{reason}")));
    }
    found
}

/// Why a variable cannot be written.
fn symbol(variables: &[ModuleVariable], fill: &SymbolFill) -> Option<String> {
    match variable(variables, &fill.symbol) {
        Err(reason) => Some(reason),
        Ok(found) if found.bytes < fill.bytes => Some(format!(
            "variable `{}` has {} bytes, but {} has {}",
            fill.symbol,
            found.bytes,
            fill.value.described(),
            fill.bytes
        )),
        Ok(_) => None,
    }
}

/// Why a launch cannot work.
fn of_launch(
    chip: Option<&Chip>,
    entries: &[(&str, Entry)],
    launch: &KernelLaunch,
    facts: &SourceFacts<'_>,
) -> Vec<String> {
    let Some((_, entry)) = entries.iter().find(|(name, _)| *name == launch.entry) else {
        return vec![format!("no kernel `{}` in the cubin", launch.entry)];
    };
    let memory = chip.and_then(|chip| shared_memory(chip, entry, launch, &|| (facts.arrays)(entry)));
    let taken = arguments(entry, launch, facts.fields);
    let each = [dimensions(launch), bounds(entry, launch), registers(entry, launch), taken, memory];
    each.into_iter().flatten().collect()
}

/// Why launches cannot work on a compute capability, whatever their code, so that compilation is unnecessary.
pub fn unsupported_launch(capability: ComputeCapability, programs: &[ShapeProgram]) -> Option<String> {
    if capability >= HOPPER {
        return None;
    }
    let launches = || programs.iter().flat_map(ShapeProgram::launches);
    if let Some(window) = launches().find_map(|launch| launch.l2_window.as_ref()).filter(|_| capability < AMPERE) {
        let buffer = &window.buffer;
        return Some(format!(
            "an L2 window over `{buffer}` needs compute capability {AMPERE} or later; this is {capability}"
        ));
    }
    let map = launches().flat_map(|launch| &launch.args).flat_map(Arg::parts).find_map(|arg| match arg {
        Arg::TensorMap(map) => Some(format!("tensor map `{}`", map.name)),
        _ => None,
    });
    if let Some(map) = map {
        return Some(format!(
            "{map} needs compute capability {HOPPER} or later; this is {capability}, without bulk tensor copies (TMA)"
        ));
    }
    if let Some(clustered) = launches().find(|launch| launch.cluster != [1, 1, 1]) {
        let (entry, cluster) = (&clustered.entry, clustered.cluster);
        return Some(format!(
            "a cluster of {cluster:?} blocks of `{entry}` needs compute capability {HOPPER} or later; this is {capability}"
        ));
    }
    let programmatic = launches().find(|launch| launch.mode == LaunchMode::Programmatic)?;
    Some(format!(
        "programmatic dependent launch of `{}` needs compute capability {HOPPER} or later; this is {capability}",
        programmatic.entry
    ))
}

fn dimensions(launch: &KernelLaunch) -> Option<String> {
    let (grid, block) = (launch.grid, launch.block);
    let over = |dims: [u32; 3], most: [u32; 3]| dims.iter().zip(most).any(|(&n, most)| n == 0 || n > most);
    if over(grid, MAX_GRID) {
        return Some(format!("a grid of {grid:?} blocks; each dimension must be from 1 to {MAX_GRID:?}"));
    }
    let threads: u64 = block.iter().map(|&n| u64::from(n)).product();
    let wrong = over(block, MAX_BLOCK) || threads > u64::from(MAX_BLOCK_THREADS);
    wrong.then(|| {
        format!(
            "a block of {block:?} = {threads} threads; at most {MAX_BLOCK_THREADS} are possible, from 1 to {MAX_BLOCK:?} by dimension"
        )
    })
}

fn bounds(entry: &Entry, launch: &KernelLaunch) -> Option<String> {
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    if let Some(most) = entry.max_threads
        && threads > u64::from(most)
    {
        return Some(format!("a block of {threads} threads; the kernel's launch bounds allow {most}"));
    }
    if let Some(required) = entry.required_block
        && required != launch.block
    {
        return Some(format!("a block of {:?} threads; the kernel was compiled for {required:?}", launch.block));
    }
    let cluster = entry.cluster.unwrap_or(launch.cluster);
    if launch.cluster != [1, 1, 1] && launch.cluster != cluster {
        return Some(format!("a cluster of {:?} blocks; the kernel was compiled for {cluster:?}", launch.cluster));
    }
    let divides = launch.grid.iter().zip(cluster).all(|(&grid, cluster)| cluster > 0 && grid % cluster == 0);
    (!divides).then(|| format!("a grid of {:?} blocks is not a multiple of the cluster of {cluster:?}", launch.grid))
}

fn registers(entry: &Entry, launch: &KernelLaunch) -> Option<String> {
    let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
    let per_thread = entry.resources.registers;
    let per_warp = (u64::from(per_thread) * u64::from(WARP)).next_multiple_of(REGISTER_UNIT);
    let total = per_warp * threads.div_ceil(u64::from(WARP)).next_multiple_of(4);
    (threads <= u64::from(MAX_BLOCK_THREADS) && total > u64::from(REGISTERS_PER_SM)).then(|| {
        format!(
            "{per_thread} registers per thread x {threads} threads need {total} registers; a block has at most {REGISTERS_PER_SM}; hint: use fewer threads, or a lower -maxrregcount"
        )
    })
}

/// The fields of an argument, those of structs in it included: bytes in the argument, and words.
fn places(arg: &Arg, start: usize) -> Vec<(Range<u64>, String)> {
    let Arg::Struct { fields, .. } = arg else {
        return vec![(start as u64..(start + arg.layout().0) as u64, arg.described())];
    };
    let mut end = start;
    let place = |field: &Arg| {
        let (size, alignment) = field.layout();
        let from = end.next_multiple_of(alignment);
        end = from + size;
        places(field, from)
    };
    fields.iter().flat_map(place).collect()
}

/// The first field that an argument has at another place than the compiler.
fn differing_field(arg: &Arg, compiled: &[ParameterField]) -> Option<String> {
    let own = places(arg, 0);
    let is_alike = |field: &&ParameterField| {
        let mut within = own.iter().filter(|(place, _)| place.start < field.place.end && field.place.start < place.end);
        let ends = within.clone().next().zip(within.next_back()).map(|((first, _), (last, _))| first.start..last.end);
        ends.as_ref() == Some(&field.place)
    };
    let hint = |name: &str, place: &Range<u64>, there: &str| {
        format!(
            "; hint: the first field that differs is `{name}` at bytes {} to {}, where the phase has {there}",
            place.start, place.end
        )
    };
    if let Some(field) = compiled.iter().find(|field| !is_alike(field)) {
        let there = own.iter().find(|(place, _)| place.end > field.place.start);
        let there = there.map_or_else(
            || "no field".to_owned(),
            |(place, words)| format!("{words} at bytes {} to {}", place.start, place.end),
        );
        return Some(hint(&field.name, &field.place, &there));
    }
    let (last, more) = (compiled.last()?, own.last()?);
    let is_longer = more.0.end > last.place.end;
    is_longer.then(|| format!("; hint: `{}` is the last field, and the phase has {} after it", last.name, more.1))
}

fn arguments(
    entry: &Entry,
    launch: &KernelLaunch,
    fields: &dyn Fn(&Entry, usize) -> Vec<ParameterField>,
) -> Option<String> {
    let sizes = &entry.parameters;
    if sizes.len() != launch.args.len() {
        let trailing =
            sizes.get(launch.args.len()..).is_some_and(|rest| !rest.is_empty() && rest.iter().all(|&n| n == 8));
        let hint = if trailing {
            "; hint: for extra pointers at the end, such as the two of Triton, add `workspace = [0, 0]`"
        } else {
            ""
        };
        return Some(format!("{} arguments, but the kernel takes {}{hint}", launch.args.len(), sizes.len()));
    }
    let fits = |arg: &Arg, bytes: u32| arg.map_alignment(bytes as usize).is_some();
    let wrong = launch.args.iter().zip(sizes).position(|(arg, &bytes)| !fits(arg, bytes))?;
    let name = launch.args[wrong].described();
    let ((given, _), taken) = (launch.args[wrong].layout(), sizes[wrong]);
    let hint = match (&launch.args[wrong], taken) {
        (Arg::Buffer(_), TENSOR_MAP) => {
            "; hint: a `CUtensorMap` has 128 bytes; declare one in `kernel.tensor_maps`".into()
        }
        (Arg::TensorMap(_), 8) => "; hint: for a `const CUtensorMap*`, write `{ pointers = [\"NAME\"] }`".into(),
        (own @ Arg::Struct { .. }, _) => differing_field(own, &fields(entry, wrong)).unwrap_or_else(|| {
            let fields: Vec<_> =
                places(own, 0).iter().map(|(place, words)| format!("{words} at {}", place.start)).collect();
            format!(
                "; hint: its fields are {}; compare with `offsetof` in C++, where an empty base or member has a byte",
                fields.join(", ")
            )
        }),
        _ => String::new(),
    };
    Some(format!("argument {} ({name}) has {given} bytes, but the kernel takes {taken}{hint}", wrong + 1))
}

fn shared_memory(
    chip: &Chip,
    entry: &Entry,
    launch: &KernelLaunch,
    arrays: &dyn Fn() -> Vec<SharedArray>,
) -> Option<String> {
    let fixed = u64::from(entry.resources.static_shared);
    let total = fixed + u64::from(launch.dynamic_shared);
    let limit = u64::from(chip.shared_optin);
    (total > limit).then(|| {
        let mut parts = if fixed > 0 { arrays() } else { Vec::new() };
        parts.extend(dynamic(launch));
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        let capability = chip.capability;
        format!("shared memory per block on compute capability {capability}: {}", shared_budget(total, limit, &parts))
    })
}

/// Dynamic shared memory by array, or as a whole if the phase does not declare its arrays.
fn dynamic(launch: &KernelLaunch) -> Vec<SharedArray> {
    if launch.dynamic_arrays.is_empty() {
        return vec![SharedArray { name: "(dynamic)".to_owned(), bytes: u64::from(launch.dynamic_shared) }];
    }
    let array = |(name, bytes): &(String, u32)| SharedArray { name: name.clone(), bytes: u64::from(*bytes) };
    launch.dynamic_arrays.iter().map(array).collect()
}

/// `209152 bytes, limit 101376, 107776 over: scores 65536, ...`, largest first.
pub fn shared_budget(total: u64, limit: u64, parts: &[SharedArray]) -> String {
    let each: Vec<String> = parts.iter().map(|part| format!("{} {}", part.name, part.bytes)).collect();
    let over = total.saturating_sub(limit);
    format!("{total} bytes, limit {limit}, {over} over: {}", each.join(", "))
}
