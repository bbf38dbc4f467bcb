//! The workload of a kernel: extents of its buffers, sizes to try, expected outputs.

use super::family::{Answer, KernelFamily, is_input, is_output};
use super::kernel::{ArgumentKind, KernelSource};
use super::types::is_whole;
use super::usage::PointerUse;
use ncugate_model::Dtype;

/// A dimension, with its extent in each shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftDimension {
    pub name: String,
    /// Its extent in the timed shape.
    pub large: i64,
    /// Its extent in the shape with tails.
    pub ragged: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftBuffer {
    pub name: String,
    /// Type of an element.
    pub dtype: Dtype,
    pub shape: Vec<String>,
    /// Its role, if it is not an input.
    pub role: Option<&'static str>,
    /// Its content before a launch, as in a phase.
    pub init: Option<&'static str>,
    /// How partial results are combined.
    pub reduce: Option<&'static str>,
}

/// The drafted workload of a kernel.
pub struct DraftWorkload {
    /// The kernel's computation, if its name and parameters fit a known one.
    pub family: Option<&'static KernelFamily>,
    /// Dimensions in order.
    pub dimensions: Vec<DraftDimension>,
    /// Buffers in the order of the signature.
    pub buffers: Vec<DraftBuffer>,
    /// Extents as expressions.
    pub rows: String,
    pub columns: String,
}

/// Drafts the workload. An output with one element per block has the extent 1 here.
pub fn workload(kernel: &KernelSource<'_>) -> DraftWorkload {
    let family = KernelFamily::of(kernel);
    let extents = kernel.names(|kind| matches!(kind, ArgumentKind::Extent(_)));
    let by_row = kernel.usage.bounds().find(|(_, index)| index.stride.is_empty() || index.divisor.is_some());
    let takes_rows = kernel.usage.indices.iter().any(|index| index.axis == 0 && index.stride.is_empty());
    let is_column =
        |name: &str| ["col", "width", "dim", "hidden"].iter().any(|part| name.to_lowercase().contains(part));
    let (rows, columns, inner, added) = match extents.as_slice() {
        [] => ("N", "N", "N", Some("N")),
        [m, n, k] if family.is_some_and(KernelFamily::is_product) => (*m, *n, *k, None),
        [one] if family.is_some_and(|family| family.inputs[0] == "rc") && takes_rows && by_row.is_none() => {
            ("ROWS", *one, *one, Some("ROWS"))
        }
        [one] => (*one, *one, *one, None),
        [first, second, ..] if by_row.map_or(is_column(first), |(rows, _)| rows == *second) => {
            (*second, *first, *first, None)
        }
        [first, second, ..] => (*first, *second, *second, None),
    };
    let names: Vec<&str> = extents.iter().copied().chain(added).collect();
    let is_vector = rows == columns
        && family.is_none_or(|family| family.output != "cr" && family.inputs.len() < 2 || family.output == "e");
    let extent = |letter: char| match letter {
        'r' => rows,
        'k' => inner,
        _ => columns,
    };
    let shape = |of: &str| match of {
        "r" if is_vector => vec!["1"],
        "rc" if is_vector => vec![rows],
        "e" => names.clone(),
        _ => of.chars().map(extent).collect(),
    };
    let mut inputs = family.into_iter().flat_map(|family| family.inputs.iter());
    let buffers: Vec<DraftBuffer> = kernel
        .buffers()
        .map(|(name, of, used)| {
            let (role, init) = match used {
                PointerUse::Read => (None, is_whole(of.dtype).then_some("{ indices = 100 }")),
                PointerUse::Changed => (Some("inout"), is_whole(of.dtype).then_some("{ indices = 100 }")),
                PointerUse::Written => (Some("output"), None),
                PointerUse::Added if family.and_then(KernelFamily::reduction) == Some("max") => {
                    (Some("output"), Some("\"-inf\""))
                }
                PointerUse::Added => (Some("output"), Some("{ constant = 0 }")),
            };
            let of_family = if role.is_none() { inputs.next().copied() } else { family.map(|family| family.output) };
            let mut shape: Vec<String> = shape(of_family.unwrap_or("e")).into_iter().map(str::to_owned).collect();
            if let (true, Some(last)) = (of.lanes > 1, shape.last_mut()) {
                *last = format!("{} * {last}", of.lanes);
            }
            DraftBuffer { name: name.to_owned(), dtype: of.dtype, shape, role, init, reduce: None }
        })
        .collect();
    let is_matrix = buffers.iter().any(|buffer| buffer.shape.len() > 1);
    let dimension = |(at, name): (usize, &&str)| {
        let (large, ragged) = match names.len() {
            _ if family.is_some_and(KernelFamily::is_product) => (1024, [70, 130, 65][at % 3]),
            1 if is_matrix => (2048, 1021),
            1 => (1 << 22, 100_004),
            2 if *name == columns => (1024, 260),
            2 => (4096, 1021),
            _ => (16, 5),
        };
        DraftDimension { name: (*name).to_owned(), large: kernel.launched_extent(name).unwrap_or(large), ragged }
    };
    let dimensions = names.iter().enumerate().map(dimension).collect();
    DraftWorkload { family, dimensions, buffers, rows: rows.to_owned(), columns: columns.to_owned() }
}

/// The lines of the Python reference; none with a built-in one.
pub fn reference_lines(kernel: &KernelSource<'_>, work: &DraftWorkload) -> Option<Vec<String>> {
    let outputs = kernel.names(is_output);
    match work.family.map(|family| &family.answer) {
        Some(Answer::Builtin(_)) => None,
        Some(Answer::Formula(text)) => {
            let mut text = text.replace("{y}", outputs[0]);
            for (at, name) in kernel.names(is_input).iter().enumerate() {
                text = text.replace(&format!("{{{at}}}"), name);
            }
            let factor = kernel.names(|kind| matches!(kind, ArgumentKind::Real(_))).first().copied().unwrap_or("1");
            Some(vec![format!("return {}", text.replace("{a}", factor))])
        }
        None | Some(Answer::Unknown) => {
            let what =
                if outputs.is_empty() { "every buffer that the kernel writes".to_owned() } else { outputs.join(", ") };
            let fill = format!("# FILL: return {{\"NAME\": the correct array}} for {what}.");
            Some(vec![fill, format!("raise NotImplementedError(\"compute {what} here, in NumPy\")")])
        }
    }
}
