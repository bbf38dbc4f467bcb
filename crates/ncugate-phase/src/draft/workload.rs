//! The workload of a kernel: extents of its buffers, sizes to try, expected outputs.

use super::family::KernelFamily;
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
}

/// The drafted workload of a kernel.
pub struct DraftWorkload {
    /// The kernel's computation, if its name and parameters fit a known one.
    pub family: Option<&'static KernelFamily>,
    /// Dimensions in order.
    pub dimensions: Vec<DraftDimension>,
    /// Buffers in the order of the signature.
    pub buffers: Vec<DraftBuffer>,
    /// The extent of a row.
    pub columns: String,
}

/// Drafts the workload.
pub fn workload(kernel: &KernelSource<'_>) -> DraftWorkload {
    let family = KernelFamily::of(kernel);
    let is_product = family.is_some_and(|family| family.builtin == "gemm");
    let extents = kernel.names(|kind| matches!(kind, ArgumentKind::Extent(_)));
    let is_column =
        |name: &str| ["col", "width", "dim", "hidden"].iter().any(|part| name.to_lowercase().contains(part));
    let (rows, columns, inner, added) = match extents.as_slice() {
        [] => ("N", "N", "N", Some("N")),
        [m, n, k] if is_product => (*m, *n, *k, None),
        [one] => (*one, *one, *one, None),
        [first, second, ..] if is_column(first) => (*second, *first, *first, None),
        [first, second, ..] => (*first, *second, *second, None),
    };
    let names: Vec<&str> = extents.iter().copied().chain(added).collect();
    let is_vector = rows == columns && !is_product;
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
                PointerUse::Added => (Some("output"), Some("{ constant = 0 }")),
            };
            let of_family = if role.is_none() { inputs.next().copied() } else { family.map(|family| family.output) };
            let mut shape: Vec<String> = shape(of_family.unwrap_or("e")).into_iter().map(str::to_owned).collect();
            if let (true, Some(last)) = (of.lanes > 1, shape.last_mut()) {
                *last = format!("{} * {last}", of.lanes);
            }
            DraftBuffer { name: name.to_owned(), dtype: of.dtype, shape, role, init }
        })
        .collect();
    let is_matrix = buffers.iter().any(|buffer| buffer.shape.len() > 1);
    let dimension = |(at, name): (usize, &&str)| {
        let (large, ragged) = match names.len() {
            _ if is_product => (1024, [70, 130, 65][at % 3]),
            1 if is_matrix => (2048, 1021),
            1 => (1 << 22, 100_004),
            2 if *name == columns => (1024, 260),
            2 => (4096, 1021),
            _ => (16, 5),
        };
        DraftDimension { name: (*name).to_owned(), large: kernel.launched_extent(name).unwrap_or(large), ragged }
    };
    let dimensions = names.iter().enumerate().map(dimension).collect();
    DraftWorkload { family, dimensions, buffers, columns: columns.to_owned() }
}
