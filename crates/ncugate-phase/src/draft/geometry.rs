//! Grid and block of a kernel: from the source's launch.

use super::kernel::{KernelSource, SweptParameter, counts_threads};
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
pub fn geometry(kernel: &mut KernelSource<'_>) -> Geometry {
    let launched = |place: usize| {
        let site = kernel.launch.as_ref().filter(|_| !kernel.is_cooperative())?;
        let extents = kernel.language(Vec::new()).extents(site.configuration.get(place)?)?;
        // The first value of a variable that the host counts up.
        (!extents.iter().any(|extent| extent == "0")).then_some(extents)
    };
    let (block, block_comment) = match launched(1) {
        Some(block) => {
            // The launch's number may be that of a parameter.
            let own =
                kernel.swept.iter().find(|parameter| counts_threads(&parameter.name) && parameter.values == block);
            let block = own.map_or(block, |parameter| vec![parameter.name.clone()]);
            (block, "CHECK: threads of a block, as the source launches it")
        }
        None if kernel.usage.has_thread_axes => (
            vec!["FILL_block".to_owned()],
            "FILL: threads of a block per axis, which no launch in the source gives, such as [16, 16]",
        ),
        None => (guessed_block(kernel), "CHECK: threads of a block, a guess"),
    };
    let (grid, grid_comment) = match launched(0) {
        _ if kernel.is_cooperative() => (
            vec![SMS.to_owned()],
            "CHECK: blocks of the grid, a guess: one on every SM. A cooperative grid has at most as many blocks as are resident at \
             once, so the kernel must loop over its elements; ncugate refuses a larger grid",
        ),
        Some(grid) => (grid, "CHECK: blocks of the grid, as the source launches it"),
        None => (
            vec!["FILL_grid".to_owned()],
            "FILL: blocks of the grid per axis, which no launch in the source gives, such as [\"(N + 255) // 256\"]",
        ),
    };
    if block == ["THREADS"] && !kernel.swept.iter().any(|parameter| parameter.name == "THREADS") {
        let values = ["128", "256", "512"].map(str::to_owned).to_vec();
        kernel.swept.push(SweptParameter { name: "THREADS".to_owned(), values });
    }
    Geometry { grid, grid_comment, block, block_comment }
}

/// A block that no launch gives: from constants and launch bounds; `THREADS` if nothing says it.
fn guessed_block(kernel: &KernelSource<'_>) -> Vec<String> {
    let language = kernel.language(Vec::new());
    let named = kernel.swept.iter().map(|parameter| parameter.name.clone()).find(|name| counts_threads(name));
    let constant =
        || kernel.usage.words.iter().filter(|word| counts_threads(word)).find_map(|word| language.expression(&[word]));
    let bound = || language.expression(kernel.signature.launch_bound?);
    vec![named.or_else(constant).or_else(bound).unwrap_or_else(|| "THREADS".to_owned())]
}
