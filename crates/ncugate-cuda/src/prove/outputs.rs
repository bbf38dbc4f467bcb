//! Compares outputs in device memory with the expected ones.

use super::draw::CaseDraw;
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
    let mut tally = DifferenceTally::default();
    for (buffer, memory, range) in outputs {
        // Partial results are compared only when all of them have arrived.
        let is_partial = extents.0.contains_key(buffer);
        let part = if is_partial { range.len() } else { PART };
        device.download_in_parts(image, (memory, range), part, |at, bytes| {
            let found = match is_partial {
                true => draw.tally_bytes((shape, extents), *buffer, bytes, tolerance),
                false => draw.tally_part(shape, *buffer, (at, bytes, range.len()), tolerance),
            };
            tally = std::mem::take(&mut tally).and(found);
        })?;
    }
    Ok(draw.outcome(&tally, tolerance))
}
