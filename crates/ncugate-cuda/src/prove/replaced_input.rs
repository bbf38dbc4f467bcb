//! Inputs of which a part comes from another seed's draw, or from another place of their file: what the expected outputs
//! depend on.

use super::fill;
use super::inputs::LEAST_FACTOR;
use super::shape::ShapeSpec;
use crate::gpu::BufferSpec;
use ncugate_array::element;
use ncugate_array::generator::{Generator, mix};
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
            Self::Tenth => mix(seed, at as u64).is_multiple_of(SPARED),
            Self::Half => at >= len.div_ceil(2),
            Self::Whole => true,
        }
    }
}

/// The bytes of an input with a part from the draw of seed `other`; `None` if that changes nothing.
pub fn replaced(shape: &ShapeSpec, buffer: &BufferSpec, old: &[u8], part: ReplacedPart, other: u64) -> Option<Vec<u8>> {
    let (init, dtype) = (buffer.init.as_ref()?, buffer.dtype);
    let generator = Generator::new(other, &shape.drawn_name(&buffer.name));
    let mut drawn = match init {
        // Valid where any value of the file is.
        Init::Npy { .. } => generator.redrawn(dtype, old, 1.0),
        Init::Redrawn { .. } => generator.redrawn(dtype, old, LEAST_FACTOR),
        _ => element::encode(dtype, &fill::values(init, other, &shape.drawn_name(&buffer.name), &buffer.extents)?),
    };
    let (size, count) = (dtype.size(), old.len() / dtype.size());
    if part != ReplacedPart::Whole {
        drawn.par_chunks_mut(size).zip(old.par_chunks(size)).with_min_len(1 << 12).enumerate().for_each(
            |(at, (drawn, old))| {
                if !part.has(other, at, count) {
                    drawn.copy_from_slice(old);
                }
            },
        );
    }
    (drawn != old).then_some(drawn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use crate::prove::CaseInputs;
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
            let bytes = replaced(&shape, &shape.buffers[0], &one.bytes[0], part, 2).unwrap();
            let values = element::decode(Dtype::F32, &bytes);
            let of = |at: &usize| values[*at] == other.values[0][*at];
            assert!((0..1000).all(|at| of(&at) || values[at] == one.values[0][at]));
            (0..1000).filter(of).count()
        };
        assert!((60..140).contains(&changed(ReplacedPart::Tenth)));
        assert_eq!((changed(ReplacedPart::Half), changed(ReplacedPart::Whole)), (500, 1000));
        let whole = |other| replaced(&shape, &shape.buffers[0], &one.bytes[0], ReplacedPart::Whole, other);
        assert!(whole(1).is_none(), "the same seed");
        assert!(ReplacedPart::of(&Init::Constant { value: 1.0 }).is_empty());
        assert_eq!(ReplacedPart::of(&Init::Permutation), [ReplacedPart::Whole]);
    }
}
