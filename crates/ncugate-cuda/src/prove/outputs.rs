//! Compares outputs in device memory with the expected ones.

use super::draw::CaseDraw;
use super::expected::ExpectedOutput;
use super::partial;
use super::shape::ShapeSpec;
use crate::gpu::{CudaDevice, DeviceError, DeviceMemory, PinnedMemory, VariantExtents};
use ncugate_array::compare::DifferenceTally;
use ncugate_model::{CheckOutcome, Tolerance};
use std::ops::Range;

/// Bytes of an output that are compared while the next part is copied to the host: a multiple of every element size.
const PART: usize = 8 << 20;

/// An output: the index of its buffer in the shape, and its place in device memory.
pub type PlacedOutput<'m> = (usize, &'m DeviceMemory, Range<usize>);

/// Compares all outputs of a variant's launch with these extents, in parts that are copied to `image`, which has room
/// for the largest part.
///
/// # Errors
/// A copy fails.
pub fn compare_outputs(
    device: &CudaDevice,
    image: &mut PinnedMemory,
    (draw, tolerance): (&CaseDraw, &Tolerance),
    (shape, extents): (&ShapeSpec, &VariantExtents),
    outputs: &[PlacedOutput<'_>],
) -> Result<CheckOutcome, DeviceError> {
    let (poisoned, draw) = (draw, draw.of(extents));
    let (mut tally, mut answers, mut unwritten) = (DifferenceTally::default(), Vec::new(), None);
    for (buffer, memory, range) in outputs {
        let spec = &shape.buffers[*buffer];
        // Other outputs are compared only when all of them have arrived.
        let in_parts = !extents.buffers.contains_key(buffer) && spec.is_compared_in_place() && shape.checks.is_empty();
        let part = if in_parts { PART } else { range.len() };
        device.download_in_parts(image, (memory, range), part, |at, bytes| {
            let found = match in_parts {
                true => draw.tally_part(shape, *buffer, (at, bytes, range.len()), tolerance),
                false => draw.tally_bytes((shape, extents), *buffer, bytes, tolerance),
            };
            tally = std::mem::take(&mut tally).and(found);
            if !shape.checks.is_empty() {
                let values = partial::compared(spec, *buffer, extents, bytes);
                answers.push(ExpectedOutput { buffer: *buffer, values });
            }
            if shape.is_unbounded(*buffer) && spec.is_poisoned() {
                let poison = poisoned.poisoned(shape)[*buffer];
                let runs = partial::counted(spec, *buffer, extents);
                let launch = DifferenceTally::default().of_launch(spec.dtype, (poison, bytes), &runs);
                unwritten = unwritten.take().or_else(|| launch.unwritten());
            }
        })?;
    }
    let refusal = if shape.checks.is_empty() { None } else { draw.refusals(shape, &[answers]).pop().flatten() };
    Ok(draw.outcome(&tally, unwritten.or(refusal), tolerance))
}
