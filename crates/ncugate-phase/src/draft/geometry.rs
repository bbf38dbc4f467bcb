//! Grid and block of a kernel, guessed from its indices and constants.

use super::family::KernelFamily;
use super::launch_expression::{DraftedExtents, LaunchExpression};
use super::source::{KernelSource, SweptParameter};
use super::token::{Tokens, integer};
use super::usage::Division;
use crate::config::SMS;

/// Grid and block, and parameters of the sweep for sizes that the source leaves free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Grid size per axis, as expressions.
    pub grid: Vec<String>,
    /// Axes of the grid without any information in the source.
    pub guessed: Vec<usize>,
    /// Block size per axis, as expressions.
    pub block: Vec<String>,
    /// Parameters that set the block size or the number of blocks.
    pub swept: Vec<SweptParameter>,
    pub origin: GridOrigin,
}

/// Where the grid is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridOrigin {
    /// The source's launch.
    Launch,
    /// Indices and constants of the kernel.
    Kernel,
    /// Nowhere: the source's launch has an expression that a phase cannot have, and the kernel does not say it.
    Nowhere,
}

/// In place of extents that only the user knows.
const OPEN_GRID: &str = "FILL_grid";
const OPEN_BLOCK: &str = "FILL_block";

/// Grid and block; `rows` and `columns` are the extents for axes that no comparison bounds.
pub fn geometry(kernel: &KernelSource<'_>, rows: &str, columns: &str) -> Geometry {
    let is_number = |extents: &[String]| extents.iter().all(|extent| integer(extent).is_some());
    let site = if kernel.is_cooperative() { LaunchExpression::default() } else { LaunchExpression::of(kernel) };
    let is_of_one_size = match &site.grid {
        DraftedExtents::Unknown => true,
        DraftedExtents::Unsayable => false,
        DraftedExtents::Said(extents) => is_number(extents),
    };
    if let Some(tiled) = register_tiles(kernel, rows, columns).filter(|_| is_of_one_size) {
        return tiled;
    }
    let (mut block, swept) = block(kernel);
    let mut swept = Vec::from_iter(swept);
    let is_open = site.block == DraftedExtents::Unsayable;
    match site.block {
        DraftedExtents::Said(own) if !is_swept(kernel, &block, &own) => {
            block = own;
            swept.clear();
        }
        _ => {}
    }
    if kernel.is_cooperative() {
        let name = "BLOCKS_PER_SM".to_owned();
        let mut grid = vec!["1".to_owned(); kernel.usage.block_axes];
        grid[0] = format!("{SMS} * {name}");
        swept.push(SweptParameter { name, values: vec![1], is_define: false, is_guess: true });
        return Geometry { grid, guessed: vec![0], block, swept, origin: GridOrigin::Kernel };
    }
    let (mut grid, mut guessed) = (Vec::new(), Vec::new());
    for axis in 0..kernel.usage.block_axes {
        let threads = block.get(axis).map_or("1", String::as_str);
        grid.push(match kernel.usage.bound(axis) {
            Some((extent, index)) => {
                let stride = index.stride.as_deref().and_then(|stride| resolved(kernel, stride));
                match (index.division, block.as_slice()) {
                    (Division::Threads, _) => over(extent, stride.as_deref().unwrap_or(threads)),
                    (Division::Warps, [one]) => format!("(32 * {extent} + {one} - 1) // {one}"),
                    (Division::Blocks | Division::Warps, _) => extent.to_owned(),
                }
            }
            None => {
                guessed.push(axis);
                unbounded(kernel, axis, rows, columns, threads)
            }
        });
    }
    // A grid by the bounds checks covers every shape and every block of the sweep, unlike one of the source's size.
    let is_bounded = guessed.is_empty();
    let sweeps = kernel.swept.iter().any(|parameter| block.contains(&parameter.name));
    match site.grid {
        DraftedExtents::Said(own) if !is_bounded || !is_number(&own) && !sweeps => {
            return Geometry { grid: own, guessed: Vec::new(), block, swept, origin: GridOrigin::Launch };
        }
        DraftedExtents::Unsayable if !is_bounded => {
            let block = if is_open { vec![OPEN_BLOCK.to_owned()] } else { block };
            let grid = vec![OPEN_GRID.to_owned()];
            return Geometry { grid, guessed, block, swept, origin: GridOrigin::Nowhere };
        }
        _ => {}
    }
    Geometry { grid, guessed, block, swept, origin: GridOrigin::Kernel }
}

/// Whether the launch's block is a value of the parameter that sets it.
fn is_swept(kernel: &KernelSource<'_>, block: &[String], own: &[String]) -> bool {
    let ([name], [value]) = (block, own) else { return false };
    let known = kernel.swept.iter().find(|parameter| parameter.name == *name);
    known
        .is_some_and(|parameter| value == name || integer(value).is_some_and(|value| parameter.values.contains(&value)))
}

/// A product of compile-time numbers as an expression; none if it has any other factor, such as `blockDim`.
fn resolved(kernel: &KernelSource<'_>, factor: &str) -> Option<String> {
    let tokens = Tokens::of(factor);
    let parts = tokens.list.iter().map(|token| match token.text {
        "*" | "+" | "-" => Some(format!(" {} ", token.text)),
        text => integer(text).map(|number| number.to_string()).or_else(|| kernel.number(text)),
    });
    let text = parts.collect::<Option<String>>()?;
    Some(if text.contains(' ') { format!("({text})") } else { text })
}

/// `(N + 255) // 256`
fn over(extent: &str, threads: &str) -> String {
    let extent = if extent.contains(' ') && !extent.contains('*') { format!("({extent})") } else { extent.to_owned() };
    match threads.parse::<i64>() {
        Ok(1) => extent,
        Ok(number) => format!("({extent} + {}) // {number}", number - 1),
        Err(_) => format!("({extent} + {threads} - 1) // {threads}"),
    }
}

/// An axis that no comparison bounds: by the name of its block index.
fn unbounded(kernel: &KernelSource<'_>, axis: usize, rows: &str, columns: &str, threads: &str) -> String {
    let index = kernel.usage.indices.iter().find(|index| index.axis == axis);
    let division = index.map_or(Division::Threads, |index| index.division);
    let speaks_of_rows = index.is_some_and(|index| index.name.to_lowercase().contains("row"));
    let speaks_of_columns =
        |axis| kernel.usage.indices.iter().any(|index| index.axis == axis && index.name.to_lowercase().contains("col"));
    let two = kernel.usage.block_axes > 1;
    if axis > 0 && rows == columns && !matches!(kernel.family, KernelFamily::Gemm | KernelFamily::Transpose) {
        return "1".to_owned();
    }
    let extent = match (axis, two, division) {
        (0, true, _) if !speaks_of_rows => columns.to_owned(),
        (1, true, _) if speaks_of_columns(1) => columns.to_owned(),
        (0 | 1, true, _) | (0, false, Division::Blocks | Division::Warps) => rows.to_owned(),
        (0, false, Division::Threads) if columns == rows => rows.to_owned(),
        (0, false, Division::Threads) => format!("{rows} * {columns}"),
        _ => "1".to_owned(),
    };
    // A one-dimensional block that processes a square tile covers the tile's width on each axis.
    let tile = tile(kernel).filter(|_| two && kernel.usage.thread_axes == 1);
    let threads = tile.unwrap_or_else(|| threads.to_owned());
    match division {
        Division::Blocks if two && kernel.family == KernelFamily::Gemm => over(&extent, &threads),
        Division::Blocks | Division::Warps => extent,
        Division::Threads => over(&extent, &threads),
    }
}

/// Grid and block for threads that each compute a part of a tile: `BM`, `BN`, `TM`, `TN`.
fn register_tiles(kernel: &KernelSource<'_>, rows: &str, columns: &str) -> Option<Geometry> {
    let number = |name| kernel.number(name);
    let (bm, bn, tm) = (number("BM")?, number("BN")?, number("TM")?);
    let per_thread = number("TN").map_or_else(|| tm.clone(), |tn| format!("({tm} * {tn})"));
    let by_rows =
        |axis| kernel.usage.indices.iter().any(|index| index.axis == axis && index.name.to_lowercase().contains("row"));
    let (of_columns, of_rows) = (over(columns, &bn), over(rows, &bm));
    let grid = if by_rows(0) { vec![of_rows, of_columns] } else { vec![of_columns, of_rows] };
    let block = number("NUM_THREADS").unwrap_or_else(|| format!("{bm} * {bn} // {per_thread}"));
    Some(Geometry { grid, guessed: Vec::new(), block: vec![block], swept: Vec::new(), origin: GridOrigin::Kernel })
}

/// The constant with the width of a square tile.
fn tile(kernel: &KernelSource<'_>) -> Option<String> {
    let names = kernel.numbers();
    let speaks = |name: &&&str| {
        let name = name.to_lowercase();
        ["tile", "block", "bs"].iter().any(|part| name.contains(part)) && !name.contains("row")
    };
    names.iter().find(speaks).and_then(|name| kernel.number(name))
}

/// Block size: from host code, launch bounds, constants and shared arrays, else a usual one.
fn block(kernel: &KernelSource<'_>) -> (Vec<String>, Option<SweptParameter>) {
    let axes = kernel.usage.thread_axes;
    let names = kernel.numbers();
    if axes >= 2 {
        if let Some(block) = kernel.site.block.as_ref().filter(|block| block.len() >= 2) {
            return (block.iter().map(i64::to_string).collect(), None);
        }
        let width = tile(kernel).or_else(|| {
            let extent = kernel.usage.shared_extents.iter().find(|extent| matches!(**extent, 8 | 16 | 32))?;
            Some(extent.to_string())
        });
        let width = width.unwrap_or_else(|| "16".to_owned());
        let height = names.iter().find(|name| name.to_lowercase().contains("rows"));
        let height = height.and_then(|name| kernel.number(name)).unwrap_or_else(|| width.clone());
        return (vec![width, height], None);
    }
    let of_threads = |name: &&&str| {
        let name = name.to_lowercase();
        ["thread", "block", "tpb", "bdim"].iter().any(|part| name.contains(part)) && !name.contains("warp")
    };
    let named = names.iter().find(of_threads);
    if let Some(name) = named {
        let square = kernel.usage.block_axes > 1 && kernel.family == KernelFamily::Gemm;
        let number = kernel.number(name).unwrap_or_default();
        return (vec![if square { format!("{number} * {number}") } else { number }], None);
    }
    let bound = kernel.signature.launch_bound.as_ref().and_then(|text| kernel.tokens.number(text));
    let of_site = kernel.site.block.as_ref().and_then(|block| match block.as_slice() {
        [one] => Some(*one),
        _ => None,
    });
    let of_shared = kernel.usage.shared_extents.iter().copied().find(|extent| (64..=1024).contains(extent));
    if let Some(fixed) = bound.or(of_site).or(of_shared).filter(|threads| (1..=1024).contains(threads)) {
        return (vec![fixed.to_string()], None);
    }
    let swept =
        SweptParameter { name: "THREADS".to_owned(), values: vec![128, 256, 512], is_define: false, is_guess: false };
    (vec![swept.name.clone()], Some(swept))
}
