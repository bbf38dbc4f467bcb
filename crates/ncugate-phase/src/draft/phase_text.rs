//! A drafted phase as TOML, with a comment at every guess.

use super::family::KernelFamily;
use super::geometry::{Geometry, GridOrigin};
use super::launch_expression::{DraftedExtents, LaunchExpression};
use super::source::{ArgumentKind, KernelArgument, KernelOrigin, KernelSource, SweptParameter, plain};
use super::symbol::SymbolOrigin;
use super::traffic::{MovedBuffer, moved_bytes};
use super::types::scalar;
use super::workload::{DraftBuffer, DraftReference, DraftWorkload, extent_text};
use crate::config::keys::{KERNEL, KeyDefault};
use ncugate_model::Dtype;
use std::fmt::Write as _;

/// Names that the caller chooses.
#[derive(Debug, Clone, Copy)]
pub struct DraftNames<'a> {
    pub phase: &'a str,
    /// Path of the phase, for the reader.
    pub file: &'a str,
    /// Path of the kernel's source, relative to the phase.
    pub source: &'a str,
    /// Path of the reference, relative to the phase.
    pub reference: &'a str,
}

/// The phase's file.
pub fn phase_text(
    kernel: &KernelSource<'_>,
    work: &DraftWorkload,
    geometry: &Geometry,
    names: DraftNames<'_>,
) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "# Drafted by `ncugate init` from {}, `{}` at line {}. Lines with CHECK are guesses from names and indices: compare them\n\
         # with the kernel. Lines with FILL are for you to write.\n#\n#     ncugate check {file} --arch sm_90\n#     ncugate run {file}\n\n\
         [phase]\nname = \"{}\"\n\n[workload]\nseeds = [0, 1, 2]\n",
        names.source,
        kernel.signature.name,
        kernel.signature.line,
        names.phase,
        file = names.file,
    );
    text.push_str(&reference(work, names));
    text.push_str(&tolerance(&work.buffers));
    if let Some(flops) = &work.flops {
        let _ = writeln!(
            text,
            "# CHECK: floating-point operations of a launch; a multiply-add counts as two.\nflops = {flops:?}"
        );
    }
    if let Some(bytes) = bytes(work) {
        let _ = writeln!(
            text,
            "# CHECK: minimum bytes that a launch moves: every input read once, every output written once.\nbytes = {bytes:?}"
        );
    }
    text.push_str(&scalars(kernel, &work.buffers));
    text.push_str(&shapes(kernel, work));
    text.push_str(&buffers(work));
    text.push_str(&launch(kernel, work, geometry, names));
    text.push_str(&symbols(kernel, work));
    text.push_str(&sweep(kernel, geometry));
    text.push_str(
        "\n# This gate needs no timing. Measure first, then add a limit for the latency,\n\
         # require = \"latency_p50 <= 100 us\", or a comparison with a [[baseline]], \"speedup() >= 1.1\".\n\
         [[gate]]\nname = \"no spills\"\nrequire = \"spills == 0\"\non = \"each\"\n",
    );
    text
}

fn reference(work: &DraftWorkload, names: DraftNames<'_>) -> String {
    let python = format!("{{ python = \"{}:reference\" }}", names.reference);
    let (said, reference) = match &work.reference {
        DraftReference::Builtin(text) => {
            ("CHECK: guessed from the kernel's name; docs/references.md describes each built-in", text)
        }
        DraftReference::Python(_) => ("CHECK: guessed from the kernel's name", &python),
        DraftReference::Unwritten => {
            ("FILL: the kernel's name fits no known function; write the reference in NumPy", &python)
        }
    };
    format!("# {said}.\nreference = {reference}\n")
}

/// A bound for the least precise output.
fn tolerance(buffers: &[DraftBuffer]) -> String {
    let bound = |buffer: &DraftBuffer| match buffer.dtype {
        Dtype::F64 => 1e-12,
        Dtype::F32 => 1e-5,
        Dtype::F16 => 2e-3,
        Dtype::Bf16 => 1e-2,
        Dtype::Fp8E4m3 | Dtype::Fp8E5m2 => 1e-1,
        _ => 0.0,
    };
    let worst = buffers.iter().filter(|buffer| buffer.role.is_some()).map(bound).fold(0.0, f64::max);
    match worst {
        0.0 => "tolerance = { max_abs = 0 }\n".to_owned(),
        bound => format!(
            "# CHECK: a usual bound for the type of the output. With a built-in reference, `ncugate check --mutants` lists wrong results \
             that it accepts.\n\
             tolerance = {{ rel_l2 = {bound:?} }}\n"
        ),
    }
}

/// Minimum bytes that a launch moves. An output of partial results is left out, because its size depends on the grid.
fn bytes(work: &DraftWorkload) -> Option<String> {
    let whole = work.buffers.iter().filter(|buffer| buffer.reduce.is_none());
    moved_bytes(whole.map(|buffer| MovedBuffer {
        size: buffer.dtype.size(),
        shape: &buffer.shape,
        times: if buffer.role == Some("inout") { 2 } else { 1 },
    }))
}

fn scalars(kernel: &KernelSource<'_>, buffers: &[DraftBuffer]) -> String {
    let mut lines = String::new();
    for argument in &kernel.arguments {
        let ArgumentKind::Real(dtype) = argument.kind else { continue };
        let lower = argument.name.to_lowercase();
        let value = match lower.as_str() {
            "alpha" => "0.5",
            "beta" => "0.25",
            name if name.contains("eps") => "1e-5",
            _ => "1.5",
        };
        let name = &argument.name;
        let _ = match dtype {
            Dtype::F32 => writeln!(lines, "{name} = {value}"),
            other => writeln!(lines, "{name} = {{ type = \"{}\", value = {value} }}", other.name()),
        };
    }
    let adds = buffers.iter().any(|buffer| buffer.role == Some("inout"));
    if kernel.family == KernelFamily::Gemm && adds && !kernel.arguments.iter().any(|argument| argument.name == "beta") {
        lines.push_str("# The kernel adds to the content of C.\nbeta = 1\n");
    }
    if lines.is_empty() {
        lines
    } else {
        format!("\n# CHECK: use the values of your application.\n[workload.scalars]\n{lines}")
    }
}

fn shapes(kernel: &KernelSource<'_>, work: &DraftWorkload) -> String {
    let shape = |extent: fn(&super::workload::DraftDimension) -> i64| {
        let pairs: Vec<String> = work.dimensions.iter().map(|d| format!("{} = {}", d.name, extent(d))).collect();
        pairs.join(", ")
    };
    let bounded = kernel.usage.bounds().count();
    let has_tails = bounded >= kernel.usage.block_axes.min(2) && kernel.usage.block_axes > 0 && bounded > 0;
    let ragged = format!("ragged = {{ {} }}\n", shape(|d| d.ragged));
    let ragged = match has_tails {
        true => format!("# Sizes with tails: checked, never timed.\n{ragged}"),
        false => {
            let (lacks, condition) = match bounded > 0 || kernel.usage.bounds_threads {
                true => ("does not check the bounds of every axis of the grid", "it needs no further checks"),
                false => ("has no bounds checks", "it gets bounds checks"),
            };
            format!("# The kernel {lacks}, so these sizes are whole tiles. If {condition}, add:\n# {ragged}")
        }
    };
    let bench = if has_tails { "\n[bench]\nshapes = [\"large\"]\n\n[profile]\nshapes = [\"large\"]\n" } else { "" };
    format!(
        "\n# CHECK: use the sizes of your application.\n[workload.shapes]\n{ragged}large = {{ {} }}\n{bench}",
        shape(|d| d.large)
    )
}

fn buffers(work: &DraftWorkload) -> String {
    let mark = if work.reference == DraftReference::Unwritten { "FILL" } else { "CHECK" };
    let mut text = format!(
        "\n# {mark}: extents in elements, outermost first, and roles: input, output, or inout for both.\n[workload.buffers]\n"
    );
    if work.buffers.iter().all(|buffer| buffer.role.is_none()) {
        text.push_str(
            "# FILL: no output was found; give each buffer that the kernel writes `role = \"output\"` or \"inout\".\n",
        );
    }
    for buffer in &work.buffers {
        let shape: Vec<String> = buffer.shape.iter().map(|extent| extent_text(extent)).collect();
        let mut keys = vec![format!("dtype = \"{}\"", buffer.dtype.name()), format!("shape = [{}]", shape.join(", "))];
        keys.extend(buffer.role.map(|role| format!("role = \"{role}\"")));
        keys.extend(buffer.init.as_ref().map(|init| format!("init = {init}")));
        keys.extend(buffer.reduce.map(|reduce| format!("reduce = \"{reduce}\"")));
        let _ = writeln!(text, "{} = {{ {} }}", buffer.name, keys.join(", "));
    }
    text
}

fn launch(kernel: &KernelSource<'_>, work: &DraftWorkload, geometry: &Geometry, names: DraftNames<'_>) -> String {
    let list = |extents: &[String]| extents.iter().map(|extent| extent_text(extent)).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "\n[kernel]\n{}source = \"{}\"\nentry = \"{}\"\nflags = {}\n",
        match kernel.origin {
            KernelOrigin::Written => "",
            KernelOrigin::Macro =>
                "# CHECK: a macro defines the kernel; `cc -E` expanded it, so other macros have their default values.\n",
        },
        names.source,
        kernel.entry,
        KERNEL.flags.default.map_or("", KeyDefault::text),
    );
    let defines: Vec<String> =
        kernel.swept.iter().filter(|parameter| parameter.is_define).map(|p| format!("\"{}\"", p.name)).collect();
    if !defines.is_empty() {
        let _ = writeln!(text, "defines = [{}]", defines.join(", "));
    }
    if let Some(written) = &kernel.site.written {
        let _ = writeln!(text, "# The source launches it as <<<{}>>>.", comment_text(written));
    }
    let guess = if kernel.is_cooperative() {
        "a guess: BLOCKS_PER_SM on every SM. A cooperative grid has at most as many blocks as are \
         resident at once, so the kernel must loop over its elements; ncugate refuses a larger grid"
    } else if geometry.origin == GridOrigin::Launch {
        "as the source launches it"
    } else if geometry.origin == GridOrigin::Nowhere {
        "which this file cannot take from that launch"
    } else if geometry.guessed.is_empty() {
        "from the bounds checks"
    } else {
        "a guess: the source does not check the bounds of every axis"
    };
    let mark = if geometry.origin == GridOrigin::Nowhere { "FILL" } else { "CHECK" };
    let _ = writeln!(
        text,
        "# {mark}: blocks of the grid, {guess}.\ngrid = [{}]\n# CHECK: threads of a block, {}.\nblock = [{}]",
        list(&geometry.grid),
        block_source(kernel, geometry),
        list(&geometry.block)
    );
    if kernel.is_cooperative() {
        text.push_str("cooperative = true\n");
    }
    if let Some(own) = kernel.usage.dynamic_shared {
        let bytes = work.buffers.first().map_or(4, |buffer| buffer.dtype.size()).max(own);
        let threads = geometry.block.join(" * ");
        let _ = writeln!(
            text,
            "# CHECK: bytes of dynamic shared memory; a guess: one element per thread.\ndynamic_shared = \"{bytes} * {threads}\""
        );
    }
    text.push_str("args = [\n");
    kernel.arguments.iter().for_each(|argument| text.push_str(&argument_line(argument, work)));
    text.push_str("]\n");
    text
}

/// Variables of the module. One that the draft cannot fill refers to no buffer, so that the phase is refused.
fn symbols(kernel: &KernelSource<'_>, work: &DraftWorkload) -> String {
    let mut lines = String::new();
    for symbol in &kernel.symbols {
        let name = &symbol.name;
        let why = match symbol.origin {
            SymbolOrigin::Copied => "the host copies values to it (`cudaMemcpyToSymbol`)",
            SymbolOrigin::Constant => "`__constant__` without an initialiser",
            SymbolOrigin::Unwritten => "`__device__` without an initialiser, and nothing in the source writes it",
            SymbolOrigin::Zeroed => "`__device__` without an initialiser: it starts as zeros",
        };
        let of = comment_text(&symbol.of);
        let buffer = plain(name);
        let _ = if symbol.origin == SymbolOrigin::Zeroed {
            writeln!(
                lines,
                "# CHECK: `{name}` is {of}, {why}. If the host fills it, name a buffer or give a value.\n# {name} = \"{buffer}\""
            )
        } else if work
            .buffers
            .iter()
            .any(|known| known.name == buffer && !kernel.arguments.iter().any(|a| a.name == buffer))
        {
            writeln!(
                lines,
                "# CHECK: `{name}` is {of}, {why}; here the buffer of that name, with random values.\n{name} = \"{buffer}\""
            )
        } else {
            writeln!(
                lines,
                "# FILL: `{name}` is {of}, {why}. Name an input buffer or give a value; see \"Variables of the module\" in docs/config.md.\n{name} = \"FILL_{name}\""
            )
        };
    }
    if lines.is_empty() { lines } else { format!("\n[kernel.symbols]\n{lines}") }
}

/// The source of the drafted block size.
fn block_source(kernel: &KernelSource<'_>, geometry: &Geometry) -> &'static str {
    let is_swept = kernel.swept.iter().chain(&geometry.swept).any(|p| geometry.block.contains(&p.name));
    let own = LaunchExpression::of(kernel).block;
    let is_launched = kernel.site.block.is_some() || own == DraftedExtents::Said(geometry.block.clone());
    match (is_launched, is_swept) {
        (true, _) => "as the source launches it",
        (false, true) => "a parameter of the sweep",
        (false, false) => "a guess: compare with the tile of a block",
    }
}

/// A text of the source in a comment: on one line, without control characters.
fn comment_text(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn argument_line(argument: &KernelArgument, work: &DraftWorkload) -> String {
    let name = &argument.name;
    match argument.kind {
        ArgumentKind::Buffer(..) | ArgumentKind::Real(_) | ArgumentKind::Extent(Dtype::I32 | Dtype::U32) => {
            format!("  \"{name}\",\n")
        }
        ArgumentKind::Extent(dtype) => {
            format!("  {{ value = \"{name}\", type = \"{}\" }},\n", scalar(dtype).unwrap_or("i32"))
        }
        ArgumentKind::Whole(dtype) => {
            let lower = name.to_lowercase();
            let value = match lower.as_str() {
                "lda" => work.dimensions.last().map_or("1", |k| k.name.as_str()),
                text if text.starts_with("ld") || text.contains("stride") || text.contains("pitch") => &work.columns,
                _ => "0",
            };
            format!("  {{ value = \"{value}\", type = \"{}\" }}, # CHECK: `{name}`\n", scalar(dtype).unwrap_or("i32"))
        }
        ArgumentKind::Unknown => {
            format!(
                "  \"FILL_{name}\", # FILL: `{name}` is a {}; see \"Arguments\" in docs/config.md\n",
                comment_text(&argument.of)
            )
        }
    }
}

fn sweep(kernel: &KernelSource<'_>, geometry: &Geometry) -> String {
    let all: Vec<_> = kernel.swept.iter().chain(&geometry.swept).collect();
    if all.is_empty() {
        return String::new();
    }
    let is_guess = all.iter().any(|parameter| parameter.is_guess);
    let mut text = match (kernel.points.is_empty(), is_guess) {
        (true, false) => "\n# Every combination is a variant: add values to try.\n".to_owned(),
        (true, true) => "\n# CHECK: guessed values. Every combination is a variant: add values to try.\n".to_owned(),
        (false, _) => "\n# CHECK: the combinations that the source launches, each a variant.\n".to_owned(),
    };
    if !kernel.others.is_empty() {
        let others = comment_text(&kernel.others.join(", "));
        let _ = writeln!(text, "# CHECK: the source also launches {others}, which need other buffers or references.");
    }
    text.push_str("[sweep]\n");
    for parameter in &all {
        let values: Vec<String> = parameter.values.iter().map(i64::to_string).collect();
        let _ = writeln!(text, "{} = [{}]", parameter.name, values.join(", "));
    }
    if !kernel.points.is_empty() {
        text.push_str("points = [\n");
        points(kernel, &all).iter().for_each(|point| {
            let _ = writeln!(text, "  {{ {} }},", point.join(", "));
        });
        text.push_str("]\n");
    }
    text
}

/// The points of the sweep: those of the kernel, with every combination of the other parameters.
fn points(kernel: &KernelSource<'_>, all: &[&SweptParameter]) -> Vec<Vec<String>> {
    let given =
        |point: &[(String, i64)], name: &str| point.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
    let of_point = |point: &Vec<(String, i64)>| {
        all.iter().fold(vec![Vec::new()], |points: Vec<Vec<String>>, parameter| {
            let values = given(point, &parameter.name).map_or_else(|| parameter.values.clone(), |value| vec![value]);
            let with = |begun: &Vec<String>| {
                let each = values.iter().map(|value| format!("{} = {value}", parameter.name));
                each.map(|cell| begun.iter().cloned().chain([cell]).collect()).collect::<Vec<_>>()
            };
            points.iter().flat_map(with).collect()
        })
    };
    kernel.points.iter().flat_map(of_point).collect()
}

/// The file of a Python reference.
pub fn reference_text(kernel: &KernelSource<'_>, work: &DraftWorkload) -> Option<String> {
    let body = match &work.reference {
        DraftReference::Builtin(_) => return None,
        DraftReference::Python(lines) => lines.clone(),
        DraftReference::Unwritten => {
            let outputs: Vec<String> =
                work.buffers.iter().filter(|b| b.role.is_some()).map(|b| b.name.clone()).collect();
            let what = if outputs.is_empty() { "the outputs".to_owned() } else { outputs.join(", ") };
            let message = format!("compute {what} here, in NumPy");
            let fill = match outputs.as_slice() {
                [] => "# FILL: no output was found in the source; return the written buffers by name.".to_owned(),
                names => format!("# FILL: return the correct {}.", names.join(", ")),
            };
            vec![fill, format!("raise NotImplementedError({message:?})")]
        }
    };
    let text = body.join("\n    ");
    let used = |name: &str| work.reference == DraftReference::Unwritten || has_word(&text, name);
    let read = work.buffers.iter().filter(|buffer| buffer.role.is_none_or(|role| role == "inout"));
    let names = read.map(|buffer| buffer.name.as_str()).chain(work.dimensions.iter().map(|d| d.name.as_str()));
    let reals = kernel.arguments.iter().filter(|a| matches!(a.kind, ArgumentKind::Real(_))).map(|a| a.name.as_str());
    let parameters: Vec<&str> = names.chain(reals).filter(|name| used(name)).collect();
    Some(format!(
        "\"\"\"What `{}` should compute: inputs are arrays of float64, sizes are whole numbers.\"\"\"\n\nimport numpy as np\n\n\n\
         def reference({}):\n    {text}\n",
        kernel.signature.name,
        parameters.join(", ")
    ))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}
