//! Textures over buffers, at a shape.

use super::arg::{TexelMemory, TextureView};
use super::texel::{TexelExtents, TexelFault, is_narrow};
use crate::config::TextureTemplate;
use ncugate_model::{Dtype, TextureFilter, TextureRead};

/// Maximum texels of a one-dimensional texture (CUDA C++ Programming Guide, technical specifications; compute
/// capability 5.0 and later).
const LINEAR_WIDTH: u64 = 1 << 28;
/// Maximum texels and rows of a two-dimensional texture over linear memory, valid on every chip.
const PITCH_EXTENT: [u64; 2] = [131_072, 65_000];
/// A row starts at a multiple of this many bytes (`CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT`).
const PITCH: u64 = 32;

/// A texture over a buffer of that type and these extents, or the fault and its remedy.
pub(super) fn view(dtype: Dtype, extents: &[u64], texture: &TextureTemplate) -> Result<TextureView, TexelFault> {
    let TextureTemplate { buffer, channels, sampling } = texture;
    let TexelExtents { width, height } = TexelExtents::new(dtype, extents, *channels)?;
    let narrow = is_narrow(dtype);
    if sampling.read == TextureRead::NormalizedFloat && !narrow {
        return Err((
            format!("read as normalized floats, of {}", dtype.name()),
            "only integers of 8 and 16 bits can be read as floats",
        ));
    }
    let is_float = dtype.has_nan() || sampling.read == TextureRead::NormalizedFloat;
    if sampling.filter == TextureFilter::Linear && (!is_float || height.is_none()) {
        return Err(("with a linear filter".to_owned(), "a linear filter needs floats and two axes"));
    }
    if height.is_none() && sampling.normalized {
        return Err(("of one axis, with normalized coordinates".to_owned(), "`tex1Dfetch` takes integer coordinates"));
    }
    let row = width * u64::from(*channels) * dtype.size() as u64;
    if height.is_some() && !row.is_multiple_of(PITCH) {
        return Err((format!("whose rows are {row} bytes"), "rows of a texture must be multiples of 32 bytes"));
    }
    let fits = match height {
        None => width <= LINEAR_WIDTH,
        Some(height) => width <= PITCH_EXTENT[0] && height <= PITCH_EXTENT[1],
    };
    if !fits {
        let help = "a texture has at most 2^28 texels on one axis, or 131,072 by 65,000 on two";
        return Err((format!("of {width} texels by {}", height.unwrap_or(1)), help));
    }
    let memory = TexelMemory::Linear;
    Ok(TextureView { buffer: buffer.clone(), channels: *channels, width, height, sampling: *sampling, memory })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::TextureSampling;

    fn of(
        dtype: Dtype,
        extents: &[u64],
        channels: u32,
        sampling: TextureSampling,
    ) -> Result<(u64, Option<u64>), String> {
        let texture = TextureTemplate { buffer: "x".to_owned(), channels, sampling };
        view(dtype, extents, &texture).map(|view| (view.width, view.height)).map_err(|(message, _)| message)
    }

    #[test]
    fn texels_are_along_the_last_axis_or_are_it() {
        let plain = TextureSampling::default();
        assert_eq!(of(Dtype::F32, &[100], 1, plain).unwrap(), (100, None));
        assert_eq!(of(Dtype::F32, &[10, 64], 1, plain).unwrap(), (64, Some(10)));
        assert_eq!(of(Dtype::U8, &[10, 8, 4], 4, plain).unwrap(), (8, Some(10)));
        assert_eq!(of(Dtype::F32, &[100], 4, plain).unwrap(), (25, None));
        assert!(of(Dtype::F32, &[2, 3, 64], 1, plain).unwrap_err().contains("3 axes"));
        assert!(of(Dtype::F32, &[10, 7], 2, plain).unwrap_err().contains("texels of 2"));
        assert!(of(Dtype::F32, &[10, 7], 1, plain).unwrap_err().contains("28 bytes"));
        assert!(of(Dtype::F64, &[100], 1, plain).unwrap_err().contains("f64"));
        assert!(of(Dtype::F32, &[1 << 29], 1, plain).is_err() && of(Dtype::F32, &[70_000, 64], 1, plain).is_err());
    }

    #[test]
    fn what_the_hardware_cannot_sample_is_refused() {
        let linear = TextureSampling { filter: TextureFilter::Linear, ..TextureSampling::default() };
        let floats = TextureSampling { read: TextureRead::NormalizedFloat, ..linear };
        assert!(of(Dtype::F32, &[10, 64], 1, linear).is_ok());
        assert!(of(Dtype::F32, &[64], 1, linear).is_err(), "tex1Dfetch has no filter");
        assert!(of(Dtype::U8, &[10, 64], 1, linear).is_err());
        assert!(of(Dtype::U8, &[10, 64], 1, floats).is_ok());
        assert!(of(Dtype::I32, &[10, 64], 1, floats).is_err());
        let normalized = TextureSampling { normalized: true, ..TextureSampling::default() };
        assert!(of(Dtype::F32, &[64], 1, normalized).is_err());
    }
}
