//! Tensor maps: boxes and swizzles evaluated at a shape, and checked against the driver's limits.
//!
//! The rules are those of `cuTensorMapEncodeTiled` in the CUDA driver API for a map that is neither interleaved nor packed.

use super::arg::{Swizzle, TensorMap};
use super::fault::Faults;
use super::launch::StepContext;
use crate::config::{Buffer, TensorMapTemplate};

/// Maximum elements of a copy along an axis.
const BOX: i64 = 256;
/// Unit in bytes of copies along the innermost axis and of strides.
const CHUNK: u64 = 16;
/// Maximum elements of a buffer along an axis.
const EXTENT: u64 = 1 << 32;
/// Exclusive maximum of the stride of every axis in bytes.
const STRIDE: u64 = 1 << 40;

impl StepContext<'_> {
    /// Evaluates a tensor map; records faults and then returns none.
    pub(super) fn tensor_map(&self, map: &TensorMapTemplate, faults: &mut Faults) -> Option<TensorMap> {
        let key = |part: &str| format!("tensor_maps.{}.{part}", map.name);
        let buffer = self.workload.buffers.iter().find(|buffer| buffer.name == map.buffer);
        let Some(buffer) = buffer.filter(|buffer| buffer.shape.len() == map.box_dims.len()) else {
            let message = format!("is `{}`, which is not a buffer with {} axes", map.buffer, map.box_dims.len());
            self.fault(faults, &key("buffer"), message, "a tensor map needs one extent per axis of its buffer");
            return None;
        };
        let swizzle = self.swizzle(map, &key("swizzle"), faults);
        let box_dims = self.box_dims(map, &key("box"), faults);
        let before = faults.count();
        self.check_strides(buffer, &key("buffer"), faults);
        let (swizzle, box_dims) = (swizzle?, box_dims?);
        self.check_row(buffer, &box_dims, swizzle, &key("box"), faults);
        let map = TensorMap { name: map.name.clone(), buffer: map.buffer.clone(), box_dims, swizzle };
        (faults.count() == before).then_some(map)
    }

    fn swizzle(&self, map: &TensorMapTemplate, key: &str, faults: &mut Faults) -> Option<Swizzle> {
        let help = "a swizzle must be 0, 32, 64 or 128 bytes";
        let bytes = self.whole(key, &map.swizzle, 0..=i64::from(u32::MAX), help, faults)?;
        let swizzle = Swizzle::try_from(bytes).ok();
        if swizzle.is_none() {
            self.fault(faults, key, format!("is \"{}\", which gives {bytes}", map.swizzle), help);
        }
        swizzle
    }

    fn box_dims(&self, map: &TensorMapTemplate, key: &str, faults: &mut Faults) -> Option<Vec<u32>> {
        let help = "a box must have from 1 to 256 elements along each axis";
        let mut each = |(at, expr)| self.whole(&format!("{key}[{at}]"), expr, 1..=BOX, help, faults);
        let dims: Vec<Option<u32>> = map.box_dims.iter().enumerate().map(&mut each).collect();
        dims.into_iter().collect()
    }

    /// Checks the innermost row of a box: whole chunks, no wider than the swizzle.
    fn check_row(&self, buffer: &Buffer, box_dims: &[u32], swizzle: Swizzle, key: &str, faults: &mut Faults) {
        let Some(&elements) = box_dims.last() else { return };
        let bytes = u64::from(elements) * buffer.dtype.size() as u64;
        let span = u64::from(u32::from(swizzle));
        let key = format!("{key}[{}]", box_dims.len() - 1);
        let row = format!("gives a row of {elements} {} = {bytes} bytes", buffer.dtype.name());
        if !bytes.is_multiple_of(CHUNK) {
            self.fault(faults, &key, row, "the innermost row of a box must be a multiple of 16 bytes");
        } else if swizzle != Swizzle::None && bytes > span {
            let message = format!("{row}, with a swizzle of {span}");
            self.fault(faults, &key, message, "a row of a swizzled box cannot be wider than the swizzle");
        }
    }

    /// Checks the extents of the buffer, and the strides of every axis except the innermost.
    fn check_strides(&self, buffer: &Buffer, key: &str, faults: &mut Faults) {
        let mut apart = buffer.dtype.size() as u64;
        for (at, expr) in buffer.shape.iter().enumerate().rev() {
            let of = format!("is `{}`, whose axis {at}", buffer.name);
            let is_outer = at + 1 < buffer.shape.len();
            let extent = match expr.eval(self.scope) {
                Ok(value) => value.as_integer().and_then(|v| u64::try_from(v).ok()).unwrap_or(0),
                Err(e) => {
                    return self.fault(faults, key, format!("{of} cannot be evaluated: {}", e.reason()), "");
                }
            };
            let fault = if is_outer && !apart.is_multiple_of(CHUNK) {
                let help = "the stride of every axis but the innermost must be a multiple of 16 bytes";
                Some((format!("{of} has a stride of {apart} bytes"), help))
            } else if is_outer && apart >= STRIDE {
                let help = "the stride of an axis must be less than 2^40 bytes";
                Some((format!("{of} has a stride of {apart} bytes"), help))
            } else if !(1..=EXTENT).contains(&extent) {
                Some((format!("{of} has {extent} elements"), "an axis must have from 1 to 2^32 elements"))
            } else {
                None
            };
            if let Some((message, help)) = fault {
                return self.fault(faults, key, message, help);
            }
            apart = apart.saturating_mul(extent);
        }
    }
}
