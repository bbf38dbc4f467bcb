//! Tensor maps: extents, strides, boxes and swizzles evaluated at a shape, and checked against the driver's limits.
//!
//! The rules are those of `cuTensorMapEncodeTiled` in the CUDA driver API for a map that is neither interleaved nor packed.

use super::arg::{L2Promotion, MapLayout, Swizzle, TensorMap};
use super::fault::Faults;
use super::launch::StepContext;
use crate::config::{Buffer, OutOfBoundsFill, TensorMapTemplate};
use ncugate_model::Dtype;
use ncugate_model::expr::Expr;

/// Maximum elements of a copy along an axis.
const BOX: i64 = 256;
/// Unit in bytes of copies along the innermost axis and of strides.
const CHUNK: u64 = 16;
/// Maximum elements of a buffer along an axis.
const EXTENT: u64 = 1 << 32;
/// Maximum step of a copy along an axis in elements.
const STEP: i64 = 8;
/// Exclusive maximum of the stride of every axis in bytes.
const STRIDE: u64 = 1 << 40;

impl StepContext<'_> {
    /// Evaluates a tensor map; records faults and then returns none.
    pub(super) fn tensor_map(&self, map: &TensorMapTemplate, faults: &mut Faults) -> Option<TensorMap> {
        let key = |part: &str| format!("tensor_maps.{}.{part}", map.name);
        let buffer = self.workload.buffers.iter().find(|buffer| buffer.name == map.buffer);
        let rank = |buffer: &&Buffer| if map.shape.is_empty() { buffer.shape.len() } else { map.shape.len() };
        let Some(buffer) = buffer.filter(|buffer| rank(buffer) == map.box_dims.len()) else {
            let message = format!("is `{}`, which is not a buffer with {} axes", map.buffer, map.box_dims.len());
            self.fault(faults, &key("buffer"), message, "a tensor map needs one extent per axis of its buffer");
            return None;
        };
        let dtype = buffer.dtype.at(self.shape).ok()?;
        let swizzle = self.bytes(&map.swizzle, &key("swizzle"), "a swizzle must be 0, 32, 64 or 128 bytes", faults);
        let help = "an L2 promotion must be 0, 64, 128 or 256 bytes";
        let l2_promotion = self.bytes::<L2Promotion>(&map.l2_promotion, &key("l2_promotion"), help, faults);
        let box_dims = self.box_dims(map, &key("box"), faults);
        let element_strides = self.element_strides(map, &key("element_strides"), faults);
        let before = faults.count();
        let layout = if map.shape.is_empty() && map.strides.is_empty() {
            self.check_strides((buffer, dtype), &key("buffer"), faults);
            None
        } else {
            Some(self.layout(map, (buffer, dtype), &key, faults)?)
        };
        self.check_fill(map, dtype, &key("oob_fill"), faults);
        let (swizzle, box_dims) = (swizzle?, box_dims?);
        self.check_row(dtype, &box_dims, swizzle, &key("box"), faults);
        let map = TensorMap {
            name: map.name.clone(),
            buffer: map.buffer.clone(),
            box_dims,
            swizzle,
            layout,
            element_strides: element_strides?,
            l2_promotion: l2_promotion?,
            oob_fill: map.oob_fill,
        };
        (faults.count() == before).then_some(map)
    }

    /// A number of bytes as one of the permitted values.
    fn bytes<T: TryFrom<u32>>(&self, expr: &Expr, key: &str, help: &str, faults: &mut Faults) -> Option<T> {
        let bytes = self.whole(key, expr, 0..=i64::from(u32::MAX), help, faults)?;
        let known = T::try_from(bytes).ok();
        if known.is_none() {
            self.fault(faults, key, format!("is \"{expr}\", which gives {bytes}"), help);
        }
        known
    }

    fn element_strides(&self, map: &TensorMapTemplate, key: &str, faults: &mut Faults) -> Option<Vec<u32>> {
        let help =
            "a step must be from 1 to 8 elements, and 1 on the innermost axis, which the copy engine cannot stride";
        let innermost = map.element_strides.len().saturating_sub(1);
        let mut each = |(at, expr): (usize, &Expr)| {
            let most = if at == innermost { 1 } else { STEP };
            self.whole(&format!("{key}[{at}]"), expr, 1..=most, help, faults)
        };
        let steps: Vec<Option<u32>> = map.element_strides.iter().enumerate().map(&mut each).collect();
        let steps: Vec<u32> = steps.into_iter().collect::<Option<_>>()?;
        Some(if steps.iter().all(|step| *step == 1) { Vec::new() } else { steps })
    }

    /// Extents and strides of a view with `shape` or `strides`, within the buffer.
    fn layout(
        &self,
        map: &TensorMapTemplate,
        (buffer, dtype): (&Buffer, Dtype),
        key: &dyn Fn(&str) -> String,
        faults: &mut Faults,
    ) -> Option<MapLayout> {
        let of_shape = if map.shape.is_empty() { "buffer" } else { "shape" };
        let extents = if map.shape.is_empty() { &buffer.shape } else { &map.shape };
        let help = "an axis must have from 1 to 2^32 elements";
        let shape = self.numbers(extents, &key(of_shape), EXTENT, help, faults);
        let help = "a stride must be a multiple of 16 bytes, at least 16 and less than 2^40";
        let size = dtype.size() as u64;
        let written = self.numbers(&map.strides, &key("strides"), (STRIDE - 1) / size, help, faults);
        let (shape, written) = (shape?, written?);
        let strides: Vec<u64> = if map.strides.is_empty() {
            (1..shape.len())
                .map(|at| shape[at..].iter().fold(size, |bytes, extent| bytes.saturating_mul(*extent)))
                .collect()
        } else {
            written.iter().map(|elements| elements * size).collect()
        };
        let of_strides = if map.strides.is_empty() { of_shape } else { "strides" };
        if let Some((at, bytes)) =
            strides.iter().enumerate().find(|(_, bytes)| !bytes.is_multiple_of(CHUNK) || **bytes >= STRIDE)
        {
            let message = format!("gives axis {at} a stride of {bytes} bytes");
            self.fault(faults, &key(of_strides), message, help);
            return None;
        }
        let layout = MapLayout { shape, strides };
        let reach = layout.reach(size);
        let Some(room) = self.own_bytes(&buffer.name) else {
            let message = format!("is `{}`, whose extents cannot be evaluated", buffer.name);
            self.fault(faults, &key("buffer"), message, "");
            return None;
        };
        if reach > room {
            let message = format!("reaches {reach} bytes into `{}`, which has {room}", buffer.name);
            self.fault(faults, &key(of_strides), message, "a tensor map cannot reach outside its buffer");
            return None;
        }
        Some(layout)
    }

    /// Whole numbers from 1 to a maximum.
    fn numbers(&self, exprs: &[Expr], key: &str, most: u64, help: &str, faults: &mut Faults) -> Option<Vec<u64>> {
        let mut each = |(at, expr): (usize, &Expr)| {
            let key = format!("{key}[{at}]");
            let value = match expr.eval(self.scope) {
                Ok(value) => value,
                Err(error) => {
                    faults.unevaluated(&(self.key)(&key), expr.text(), &error, help, self.subject);
                    return None;
                }
            };
            let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
            let fitting = number.filter(|number| (1..=most).contains(number));
            if fitting.is_none() {
                self.fault(faults, &key, format!("is \"{expr}\", which gives {value}"), help);
            }
            fitting
        };
        let all: Vec<Option<u64>> = exprs.iter().enumerate().map(&mut each).collect();
        all.into_iter().collect()
    }

    fn check_fill(&self, map: &TensorMapTemplate, dtype: Dtype, key: &str, faults: &mut Faults) {
        let is_real = matches!(dtype, Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16);
        if map.oob_fill == OutOfBoundsFill::NanRequestZeroFma && !is_real {
            let message = format!("asks for NaN in `{}` of {}", map.buffer, dtype.name());
            self.fault(faults, key, message, "only maps of f64, f32, f16 and bf16 can be filled with NaN");
        }
    }

    fn box_dims(&self, map: &TensorMapTemplate, key: &str, faults: &mut Faults) -> Option<Vec<u32>> {
        let help = "a box must have from 1 to 256 elements along each axis";
        let mut each = |(at, expr)| self.whole(&format!("{key}[{at}]"), expr, 1..=BOX, help, faults);
        let dims: Vec<Option<u32>> = map.box_dims.iter().enumerate().map(&mut each).collect();
        dims.into_iter().collect()
    }

    /// Checks the innermost row of a box: whole chunks, no wider than the swizzle.
    fn check_row(&self, dtype: Dtype, box_dims: &[u32], swizzle: Swizzle, key: &str, faults: &mut Faults) {
        let Some(&elements) = box_dims.last() else { return };
        let bytes = u64::from(elements) * dtype.size() as u64;
        let span = u64::from(u32::from(swizzle));
        let key = format!("{key}[{}]", box_dims.len() - 1);
        let row = format!("gives a row of {elements} {} = {bytes} bytes", dtype.name());
        if !bytes.is_multiple_of(CHUNK) {
            self.fault(faults, &key, row, "the innermost row of a box must be a multiple of 16 bytes");
        } else if swizzle != Swizzle::None && bytes > span {
            let message = format!("{row}, with a swizzle of {span}");
            self.fault(faults, &key, message, "a row of a swizzled box cannot be wider than the swizzle");
        }
    }

    /// Checks the extents of the buffer, and the strides of every axis except the innermost.
    fn check_strides(&self, (buffer, dtype): (&Buffer, Dtype), key: &str, faults: &mut Faults) {
        let mut apart = dtype.size() as u64;
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
