//! Outputs that lie in device memory, against what is right for their inputs.

use super::draw::CaseDraw;
use super::shape::ShapeSpec;
use crate::gpu::{CudaDevice, DeviceError, DeviceMemory, PinnedMemory, VariantExtents};
use ncugate_array::compare::DifferenceTally;
use ncugate_model::{CheckOutcome, Tolerance};
use std::ops::Range;

/// Bytes of an output that are compared while the next are copied to the host: a multiple of every element's.
const PART: usize = 8 << 20;

/// An output: the place of its buffer in the shape, and where it lies.
pub type PlacedOutput<'m> = (usize, &'m DeviceMemory, Range<usize>);

/// Compares all outputs of a launch of a variant with these extents, in parts that are copied to `image`, which has room for the largest.
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
        // What is put together from several elements is compared when all of it is there.
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
