//! Inputs of which a part comes from another seed's draw, or from another place of their file: what the expected outputs
//! depend on.

use super::fill;
use super::inputs::CaseInputs;
use super::shape::ShapeSpec;
use ncugate_array::element;
use ncugate_array::generator::Generator;
use ncugate_phase::config::Init;
use rayon::prelude::*;

/// Every `SPARED`th element at random is replaced for [`ReplacedPart::Tenth`].
const SPARED: u64 = 10;

/// A part of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplacedPart {
    /// A random tenth of the elements.
    Tenth,
    /// The second half.
    Half,
    Whole,
}

impl ReplacedPart {
    /// The parts of an input that can be drawn separately, smallest first. The elements of an index or a mask are
    /// independent; a part of a permutation or of sorted keys would not be one.
    pub const fn of(init: &Init) -> &'static [Self] {
        match init {
            Init::Normal { .. }
            | Init::Uniform { .. }
            | Init::Indices { .. }
            | Init::Mask { .. }
            | Init::Npy { .. }
            | Init::Redrawn { .. } => &[Self::Tenth, Self::Half, Self::Whole],
            Init::Permutation | Init::Sorted { .. } | Init::RowPointers { .. } | Init::OneHot => &[Self::Whole],
            Init::Arange { .. } | Init::Constant { .. } | Init::Infinity | Init::NegativeInfinity => &[],
        }
    }

    fn has(self, seed: u64, at: usize, len: usize) -> bool {
        match self {
            Self::Tenth => super::laws::mix(seed, at as u64).is_multiple_of(SPARED),
            Self::Half => at >= len.div_ceil(2),
            Self::Whole => true,
        }
    }
}

impl CaseInputs {
    /// The inputs with a part of one buffer from the draw of seed `other`; `None` if that changes nothing.
    pub fn replaced(&self, shape: &ShapeSpec, buffer: usize, part: ReplacedPart, other: u64) -> Option<Self> {
        let spec = &shape.buffers[buffer];
        let init = spec.init.as_ref()?;
        let old = &self.values[buffer];
        let generator = Generator::new(other, &shape.drawn_name(&spec.name));
        let drawn = match init {
            // Valid where any value of the file is.
            Init::Npy { .. } => generator.redrawn(old, 1.0),
            Init::Redrawn { .. } => generator.redrawn(old, if spec.dtype.has_nan() { 0.5 } else { 1.0 }),
            _ => fill::values(init, other, &shape.drawn_name(&spec.name), &spec.extents)?,
        };
        let pick =
            |(at, (kept, drawn)): (usize, (&f64, f64))| if part.has(other, at, old.len()) { drawn } else { *kept };
        let mut mixed: Vec<f64> = old.par_iter().zip(drawn).enumerate().map(pick).collect();
        let bytes = element::settle(spec.dtype, &mut mixed);
        if bytes == self.bytes[buffer] {
            return None;
        }
        let mut inputs = self.clone();
        inputs.bytes[buffer] = bytes;
        inputs.values[buffer] = mixed;
        Some(inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::BufferSpec;
    use crate::gpu::fixtures::buffer;
    use crate::prove::fixtures::shape;
    use ncugate_model::{Dtype, Role};

    #[test]
    fn a_part_is_of_the_other_seed_and_the_rest_stays() {
        let input = |init| BufferSpec { init: Some(init), ..buffer("x", Dtype::F32, &[1000], Role::Input) };
        let state =
            BufferSpec { init: Some(Init::Constant { value: 2.0 }), ..buffer("y", Dtype::F32, &[4], Role::Output) };
        let shape = shape(vec![input(Init::Normal { mean: 0.0, std: 1.0 }), state]);
        let (one, other) = (CaseInputs::draw(&shape, 1).unwrap(), CaseInputs::draw(&shape, 2).unwrap());
        let changed = |part| {
            let inputs = one.replaced(&shape, 0, part, 2).unwrap();
            assert_eq!(inputs.bytes[0], element::encode(Dtype::F32, &inputs.values[0]));
            assert_eq!(inputs.bytes[1], one.bytes[1], "the content of an output stays");
            let of = |at: &usize| inputs.values[0][*at] == other.values[0][*at];
            assert!((0..1000).all(|at| of(&at) || inputs.values[0][at] == one.values[0][at]));
            (0..1000).filter(of).count()
        };
        assert!((60..140).contains(&changed(ReplacedPart::Tenth)));
        assert_eq!((changed(ReplacedPart::Half), changed(ReplacedPart::Whole)), (500, 1000));
        assert!(one.replaced(&shape, 0, ReplacedPart::Whole, 1).is_none(), "the same seed");
        assert!(ReplacedPart::of(&Init::Constant { value: 1.0 }).is_empty());
        assert_eq!(ReplacedPart::of(&Init::Permutation), [ReplacedPart::Whole]);
    }
}
