//! A drafted phase as TOML, with a comment at every guess.

use super::code::{closing, joined, parts};
use super::family::is_output;
use super::geometry::Geometry;
use super::kernel::{ArgumentKind, KernelArgument, KernelSource};
use super::signature::parameter;
use super::traffic::{MovedBuffer, moved_bytes};
use super::workload::{DraftBuffer, DraftDimension, DraftWorkload};
use crate::config::keys::{KERNEL, KeyDefault};
use ncugate_model::Dtype;

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
    let DraftNames { phase, file, source, .. } = names;
    format!(
        "# Drafted by `ncugate init` from {source}, `{}`. Lines with CHECK are guesses from names and indices: compare them\n\
         # with the kernel. Lines with FILL are for you to write.\n#\n#     ncugate check {file} --arch sm_90\n#     ncugate run {file}\n\n\
         [phase]\nname = \"{phase}\"\n\n[workload]\nseeds = [0, 1, 2]\n{}{}{}{}{}{}{}\n\
         # This gate needs no timing. Measure first, then add a limit for the latency,\n\
         # require = \"latency_p50 <= 100 us\", or a comparison with a [[baseline]], \"speedup() >= 1.1\".\n\
         [[gate]]\nname = \"no spills\"\nrequire = \"spills == 0\"\non = \"each\"\n",
        kernel.signature.name,
        expectations(work, names),
        scalars(kernel),
        shapes(kernel, work),
        buffers(work),
        launch(kernel, work, geometry, source),
        symbols(kernel),
        sweep(kernel),
    )
}

/// Reference, tolerance for the least precise output, and bytes of a launch.
fn expectations(work: &DraftWorkload, names: DraftNames<'_>) -> String {
    let python = format!("{{ python = \"{}:reference\" }}", names.reference);
    let (comment, reference) = match work.family.map(|family| family.builtin) {
        Some(name) => {
            ("CHECK: guessed from the kernel's name; docs/references.md describes each built-in", format!("{name:?}"))
        }
        None => ("FILL: write the reference in NumPy", python),
    };
    let bound = |buffer: &DraftBuffer| match buffer.dtype {
        Dtype::F64 => 1e-12,
        Dtype::F32 => 1e-5,
        Dtype::F16 => 2e-3,
        Dtype::Bf16 => 1e-2,
        Dtype::Fp8E4m3 | Dtype::Fp8E5m2 => 1e-1,
        _ => 0.0,
    };
    let outputs = || work.buffers.iter().filter(|buffer| buffer.role.is_some());
    let tolerance = match (outputs().count(), outputs().map(bound).fold(0.0, f64::max)) {
        (0, _) => {
            "# FILL: no output was found; choose a bound for its type.\ntolerance = { rel_l2 = 1e-5 }\n".to_owned()
        }
        (_, 0.0) => "# CHECK: whole numbers are exact; choose a bound if a further output is not whole.\ntolerance = { max_abs = 0 }\n".to_owned(),
        (1, bound) if work.family.is_some() && bound < 1e-2 => {
            "# `ncugate check` prints the bound and why.\ntolerance = \"derived\"\n".to_owned()
        }
        (_, bound) => format!(
            "# CHECK: a usual bound for the type of the output. With a built-in reference, `ncugate check --mutants` lists wrong results \
             that it accepts.\ntolerance = {{ rel_l2 = {bound:?} }}\n"
        ),
    };
    let moved = work.buffers.iter().map(|buffer| MovedBuffer {
        size: buffer.dtype.size(),
        shape: &buffer.shape,
        times: if buffer.role == Some("inout") { 2 } else { 1 },
    });
    let bytes = moved_bytes(moved).map_or_else(String::new, |bytes| {
        format!("# CHECK: minimum bytes that a launch moves: every input read once, every output written once.\nbytes = {bytes:?}\n")
    });
    format!("# {comment}.\nreference = {reference}\n{tolerance}{bytes}")
}

fn scalars(kernel: &KernelSource<'_>) -> String {
    let line = |argument: &KernelArgument| {
        let ArgumentKind::Real(dtype) = argument.kind else { return None };
        let value = if argument.name.to_lowercase().contains("eps") { "1e-5" } else { "0.5" };
        Some(format!("{} = {{ type = \"{}\", value = {value} }}\n", argument.name, dtype.name()))
    };
    let lines: String = kernel.arguments.iter().filter_map(line).collect();
    let head = "\n# CHECK: use the values of your application.\n[workload.scalars]\n";
    if lines.is_empty() { lines } else { head.to_owned() + &lines }
}

fn shapes(kernel: &KernelSource<'_>, work: &DraftWorkload) -> String {
    let shape = |extent: fn(&DraftDimension) -> i64| {
        work.dimensions.iter().map(|d| format!("{} = {}", d.name, extent(d))).collect::<Vec<_>>().join(", ")
    };
    let (comment, bench) = if kernel.usage.is_bounded {
        (
            "# Sizes with tails: checked, never timed.\n",
            "\n[bench]\nshapes = [\"large\"]\n\n[profile]\nshapes = [\"large\"]\n",
        )
    } else {
        ("# No bounds check was found. If the kernel takes sizes other than whole tiles, add:\n# ", "")
    };
    let (ragged, large) = (shape(|d| d.ragged), shape(|d| d.large));
    format!(
        "\n# CHECK: use the sizes of your application.\n[workload.shapes]\n{comment}ragged = {{ {ragged} }}\nlarge = {{ {large} }}\n{bench}"
    )
}

fn buffers(work: &DraftWorkload) -> String {
    let mark = if work.family.is_none() { "FILL" } else { "CHECK" };
    let mut text = format!(
        "\n# {mark}: extents in elements, outermost first, and roles: input, output, or inout for both.\n[workload.buffers]\n"
    );
    if work.buffers.iter().all(|buffer| buffer.role.is_none()) {
        text +=
            "# FILL: no output was found; give each buffer that the kernel writes `role = \"output\"` or \"inout\".\n";
    }
    for buffer in &work.buffers {
        let key = |(key, word): (&str, Option<&str>)| word.map(|word| format!(", {key} = {word}"));
        let role = buffer.role.map(|role| format!("\"{role}\""));
        let keys = [("role", role.as_deref()), ("init", buffer.init)];
        let (dtype, shape) = (buffer.dtype.name(), list(&buffer.shape));
        let keys: String = keys.into_iter().filter_map(key).collect();
        text += &format!("{} = {{ dtype = \"{dtype}\", shape = [{shape}]{keys} }}\n", buffer.name);
    }
    text
}

fn launch(kernel: &KernelSource<'_>, work: &DraftWorkload, geometry: &Geometry, source: &str) -> String {
    let mut text = "\n[kernel]\n".to_owned();
    if !kernel.guessed.is_empty() {
        let mark = if kernel.entry.contains("FILL_") { "FILL" } else { "CHECK" };
        text += &format!("# {mark}: choose {}; the source launches none or several.\n", kernel.guessed.join(", "));
    }
    let flags = KERNEL.flags.default.map_or("", KeyDefault::text);
    text += &format!("source = \"{source}\"\nentry = \"{}\"\nflags = {flags}\n", kernel.entry);
    let macros: Vec<String> = kernel.swept[..kernel.macros].iter().map(|one| format!("\"{}\"", one.name)).collect();
    if !macros.is_empty() {
        text += &format!("defines = [{}]\n", macros.join(", "));
    }
    let language = kernel.language(geometry.block.clone());
    let mut shared = None;
    if let Some(site) = &kernel.launch {
        let parts: Vec<String> = site.configuration.iter().map(|part| joined(part)).collect();
        text += &format!("# The source launches it as <<<{}>>>.\n", comment_text(&parts.join(", ")));
        shared = site.configuration.get(2).and_then(|part| language.expression(part)).filter(|bytes| bytes != "0");
    }
    let Geometry { grid, grid_comment, block, block_comment } = geometry;
    text += &format!("# {grid_comment}.\ngrid = [{}]\n# {block_comment}.\nblock = [{}]\n", list(grid), list(block));
    if kernel.is_cooperative() {
        text += "cooperative = true\n";
    }
    if let Some(bytes) = shared {
        text += &format!(
            "# CHECK: bytes of dynamic shared memory, as the source launches it.\ndynamic_shared = \"{bytes}\"\n"
        );
    } else if kernel.usage.has_dynamic_shared {
        text += "# FILL: bytes of dynamic shared memory, which no launch in the source gives.\ndynamic_shared = \"FILL_bytes\"\n";
    }
    let arguments: String = kernel.arguments.iter().map(|argument| argument_line(kernel, argument, work)).collect();
    text + "args = [\n" + &arguments + "]\n"
}

/// Variables of the module that the host fills. They refer to no buffer, so that the phase is refused.
fn symbols(kernel: &KernelSource<'_>) -> String {
    let line = |(name, declared): (&str, String)| {
        format!(
            "# FILL: the host fills `{}`. Name an input buffer or give a value; see \"Variables of the module\" in docs/config.md.\n\
             {name} = \"FILL_{name}\"\n",
            comment_text(&declared)
        )
    };
    let lines: String = kernel.symbols().map(line).collect();
    if lines.is_empty() { lines } else { format!("\n[kernel.symbols]\n{lines}") }
}

/// A text of the source in a comment: on one line, without control characters.
fn comment_text(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Numbers, and expressions as texts.
fn list(extents: &[String]) -> String {
    let text = |extent: &String| if extent.parse::<i64>().is_ok() { extent.clone() } else { format!("{extent:?}") };
    extents.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn argument_line(kernel: &KernelSource<'_>, argument: &KernelArgument, work: &DraftWorkload) -> String {
    let name = &argument.name;
    let typed = |value: &str, dtype: Dtype| format!("  {{ value = \"{value}\", type = \"{}\" }},", dtype.name());
    match argument.kind {
        ArgumentKind::Buffer(..) | ArgumentKind::Real(_) | ArgumentKind::Extent(Dtype::I32 | Dtype::U32) => {
            format!("  \"{name}\",\n")
        }
        ArgumentKind::Extent(dtype) => typed(name, dtype) + "\n",
        ArgumentKind::Whole(dtype)
            if ["ld", "stride", "pitch"].iter().any(|part| name.to_lowercase().contains(part)) =>
        {
            format!("{} # CHECK: `{name}`\n", typed(&work.columns, dtype))
        }
        ArgumentKind::Whole(dtype) => {
            format!("{} # FILL: a value for `{name}`\n", typed(&format!("FILL_{name}"), dtype))
        }
        ArgumentKind::Unknown => {
            let value = fields(kernel, name, &argument.of).unwrap_or_else(|| format!("\"FILL_{name}\""));
            let of = comment_text(&argument.of);
            format!("  {value}, # FILL: `{name}` is of the type {of}; see \"Arguments\" in docs/config.md\n")
        }
    }
}

/// `{ struct = [...] }` of a struct whose definition the source has, with a FILL for each field; none if a field has another type.
fn fields(kernel: &KernelSource<'_>, name: &str, of: &str) -> Option<String> {
    let (of, tokens) = (of.split('<').next()?.rsplit("::").next()?, &kernel.code.tokens);
    let defined = |window: &[&str]| matches!(window[0], "struct" | "class") && window[1..] == [of, "{"];
    let open = tokens.windows(3).position(defined)? + 2;
    let mut values = Vec::new();
    // Without the bodies of its functions.
    let (mut statement, mut at) = (Vec::new(), open + 1);
    let end = closing(tokens, open)?;
    while at < end {
        match tokens[at] {
            // A union, or an initialiser.
            "{" if !statement.contains(&"(") => return None,
            "{" => (statement, at) = (Vec::new(), closing(tokens, at)?),
            ":" if matches!(statement[..], ["public" | "private" | "protected"]) => statement.clear(),
            ";" => values.extend(field(kernel, name, &std::mem::take(&mut statement))?),
            token => statement.push(token),
        }
        at += 1;
    }
    Some(format!("{{ struct = [{}] }}", values.join(", ")))
}

/// The values of a declaration in a struct: empty for a function or a constant.
fn field(kernel: &KernelSource<'_>, of: &str, statement: &[&str]) -> Option<Vec<String>> {
    if statement.is_empty() || ["(", "static", "using", "typedef"].iter().any(|token| statement.contains(token)) {
        return Some(Vec::new());
    }
    let mut declared = parts(statement).into_iter();
    let first = parameter(kernel.code, 0, declared.next()?)?;
    let extents: Vec<usize> = (0..statement.len()).filter(|at| statement[*at] == "[").collect();
    let typed = kernel.code.element(&first.of).filter(|of| of.lanes == 1);
    let value = |name: &str| match (first.pointers, extents.as_slice(), typed) {
        _ if statement.contains(&":") => None,
        (1, [], _) => Some(format!("\"FILL_{of}_{name}\"")),
        (0, [], Some(typed)) => Some(format!("{{ value = \"FILL_{of}_{name}\", type = \"{}\" }}", typed.dtype.name())),
        (1, [one], Some(typed)) => {
            let repeat = kernel.code.number(statement.get(one + 1)?)?;
            Some(format!("{{ value = \"FILL_{of}_{name}\", type = \"{}\", repeat = {repeat} }}", typed.dtype.name()))
        }
        _ => None,
    };
    let names = std::iter::once(first.name.as_str()).chain(declared.filter_map(|part| part.last().copied()));
    names.map(value).collect()
}

fn sweep(kernel: &KernelSource<'_>) -> String {
    let line = |name: &str, values: &[String]| format!("{name} = [{}]\n", values.join(", "));
    let lines: String = kernel.swept.iter().map(|parameter| line(&parameter.name, &parameter.values)).collect();
    let comment = match lines.contains("FILL_") {
        true => "FILL: values that the source does not give. Every combination is a variant.",
        false => "CHECK: values of the source, or usual ones. Every combination is a variant: add values to try.",
    };
    if lines.is_empty() { lines } else { format!("\n# {comment}\n[sweep]\n{lines}") }
}

/// The file of a Python reference; none with a built-in one.
pub fn reference_text(kernel: &KernelSource<'_>, work: &DraftWorkload) -> Option<String> {
    let read = work.buffers.iter().filter(|buffer| buffer.role.is_none_or(|role| role == "inout"));
    let names = read.map(|buffer| buffer.name.as_str()).chain(work.dimensions.iter().map(|d| d.name.as_str()));
    let parameters: Vec<&str> = names.chain(kernel.names(|kind| matches!(kind, ArgumentKind::Real(_)))).collect();
    let outputs = kernel.names(is_output).join(", ");
    let what = if outputs.is_empty() { "every buffer that the kernel writes" } else { &outputs };
    work.family.is_none().then(|| {
        format!(
            "\"\"\"What `{}` should compute: inputs are arrays of float64, sizes are whole numbers.\"\"\"\n\nimport numpy as np\n\n\n\
             def reference({}):\n    # FILL: return {{\"NAME\": the correct array}} for {what}.\n    \
             raise NotImplementedError(\"compute {what} here, in NumPy\")\n",
            kernel.signature.name,
            parameters.join(", ")
        )
    })
}
