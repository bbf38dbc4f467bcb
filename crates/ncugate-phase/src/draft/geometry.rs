//! Grid and block of a kernel: from the source's launch, else from bounds checks and constants.

use super::kernel::{KernelSource, SweptParameter, counts_threads};
use super::launch::blocks;
use super::workload::DraftWorkload;
use crate::config::SMS;

/// Grid and block per axis, as expressions, each with a comment that begins with its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    pub grid: Vec<String>,
    pub grid_comment: &'static str,
    pub block: Vec<String>,
    pub block_comment: &'static str,
}

/// Grid and block; a size that the source leaves free becomes a parameter of the kernel's sweep.
pub fn geometry(kernel: &mut KernelSource<'_>, work: &DraftWorkload) -> Geometry {
    let launched = |place: usize| {
        let site = kernel.launch.as_ref().filter(|_| !kernel.is_cooperative())?;
        kernel.language(Vec::new()).extents(site.configuration.get(place)?)
    };
    let (block, block_comment) = match launched(1) {
        Some(block) => {
            // The launch's number may be that of a parameter.
            let own =
                kernel.swept.iter().find(|parameter| counts_threads(&parameter.name) && parameter.values == block);
            let block = own.map_or(block, |parameter| vec![parameter.name.clone()]);
            (block, "CHECK: threads of a block, as the source launches it")
        }
        None => (guessed_block(kernel), "CHECK: threads of a block, a guess: compare with the tile of a block"),
    };
    let language = kernel.language(block.clone());
    let axis = |axis: usize| {
        let (extent, index) = kernel.usage.bounds().find(|(_, index)| index.axis == axis)?;
        let elements = if index.stride.is_empty() { "1".to_owned() } else { language.expression(&index.stride)? };
        Some(match index.divisor {
            Some(divisor) => blocks(&format!("{} * {extent}", language.expression(&[divisor])?), &elements),
            None => blocks(extent, &elements),
        })
    };
    let bounded = (0..kernel.usage.block_axes).map(axis).collect::<Option<Vec<String>>>();
    // Numbers are those of one size; bounds checks cover every shape and every block of the sweep.
    let is_number = |grid: &Vec<String>| grid.iter().all(|extent| extent.parse::<i64>().is_ok());
    let takes_rows = kernel.usage.indices.first().is_some_and(|index| {
        let speaks = index.name.to_lowercase().contains("row") || work.family.is_some();
        kernel.usage.block_axes == 1 && index.stride.is_empty() && speaks
    });
    let (grid, grid_comment) = match (launched(0), bounded) {
        _ if kernel.is_cooperative() => (
            vec![SMS.to_owned()],
            "CHECK: blocks of the grid, a guess: one on every SM. A cooperative grid has at most as many blocks as are resident at \
             once, so the kernel must loop over its elements; ncugate refuses a larger grid",
        ),
        (Some(grid), bounded) if bounded.is_none() || !is_number(&grid) => {
            (grid, "CHECK: blocks of the grid, as the source launches it")
        }
        (_, Some(grid)) => (grid, "CHECK: blocks of the grid, from the bounds checks"),
        (_, None) if takes_rows => {
            (vec![work.rows.clone()], "CHECK: blocks of the grid, a guess: a block for each row")
        }
        (_, None) => (
            vec!["FILL_grid".to_owned()],
            "FILL: blocks of the grid per axis, which neither a launch in the source nor bounds checks give, such as \
             [\"(N + 255) // 256\"]",
        ),
    };
    if block == ["THREADS"] && !kernel.swept.iter().any(|parameter| parameter.name == "THREADS") {
        let values = ["128", "256", "512"].map(str::to_owned).to_vec();
        kernel.swept.push(SweptParameter { name: "THREADS".to_owned(), values });
    }
    Geometry { grid, grid_comment, block, block_comment }
}

/// A block that no launch gives: from constants, launch bounds and tiles; `THREADS` if nothing says it.
fn guessed_block(kernel: &KernelSource<'_>) -> Vec<String> {
    let language = kernel.language(Vec::new());
    let strides =
        |axis: usize| kernel.usage.indices.iter().filter(move |index| index.axis == axis).map(|index| &index.stride);
    let tile = |axis: usize| {
        strides(axis)
            .filter(|stride| !stride.iter().any(|word| *word == "blockDim" || word.to_lowercase().contains("per")))
            .find_map(|stride| language.expression(stride))
    };
    if kernel.usage.thread_axes >= 2 {
        return (0..kernel.usage.thread_axes).map(|axis| tile(axis).unwrap_or_else(|| "16".to_owned())).collect();
    }
    let named = kernel.swept.iter().map(|parameter| parameter.name.clone()).find(|name| counts_threads(name));
    let constant =
        || kernel.usage.words.iter().filter(|word| counts_threads(word)).find_map(|word| language.expression(&[word]));
    let bound = || language.expression(kernel.signature.launch_bound?);
    vec![named.or_else(constant).or_else(bound).or_else(|| tile(0)).unwrap_or_else(|| "THREADS".to_owned())]
}
