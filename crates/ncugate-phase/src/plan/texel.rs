//! Texels of textures and surfaces: elements of a buffer, one or several along its last axis.

use super::fault::Faults;
use super::launch::StepContext;
use ncugate_model::Dtype;

/// A fault and its remedy.
pub type TexelFault = (String, &'static str);

/// The length of a row and, in two dimensions, the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TexelExtents {
    /// Texels per row.
    pub width: u64,
    /// Rows; none in one dimension.
    pub height: Option<u64>,
}

impl TexelExtents {
    /// The texels of a buffer of that type and these extents, with `channels` elements each.
    pub fn new(dtype: Dtype, extents: &[u64], channels: u32) -> Result<Self, TexelFault> {
        let wide = u64::from(channels);
        let texels = match extents {
            [outer @ .., last] if *last == wide && wide > 1 => outer.to_vec(),
            [outer @ .., last] if last % wide == 0 => [outer, &[last / wide]].concat(),
            _ => {
                return Err((
                    format!("whose rows do not divide into texels of {channels} elements"),
                    "the last axis must have `channels` elements, or a multiple of them",
                ));
            }
        };
        if !is_narrow(dtype) && !matches!(dtype, Dtype::F32 | Dtype::F16 | Dtype::U32 | Dtype::I32) {
            return Err((
                format!("whose elements are {}", dtype.name()),
                "texels must be f32, f16, or integers of 8, 16 or 32 bits",
            ));
        }
        match texels.as_slice() {
            [width] => Ok(Self { width: *width, height: None }),
            [height, width] => Ok(Self { width: *width, height: Some(*height) }),
            other => {
                Err((format!("which has {} axes of texels", other.len()), "a texture or surface has one or two axes"))
            }
        }
    }
}

/// Whether integers of the type can be read as normalised floats.
pub const fn is_narrow(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::U8 | Dtype::I8 | Dtype::U16 | Dtype::I16)
}

impl StepContext<'_> {
    /// A texture or surface over a buffer in this variant, by its type and extents; records faults and then returns none.
    pub(super) fn texels<V>(
        &self,
        (key, what, buffer): (&str, &str, &str),
        faults: &mut Faults,
        view: impl FnOnce(Dtype, &[u64]) -> Result<V, TexelFault>,
    ) -> Option<V> {
        let buffer = self.workload.buffers.iter().find(|known| known.name == buffer)?;
        let extents = buffer.shape.iter().map(|extent| u64::try_from(extent.eval_int(self.scope).ok()?).ok());
        let view = view(buffer.dtype.at(self.shape).ok()?, &extents.collect::<Option<Vec<u64>>>()?);
        if let Err((message, help)) = &view {
            self.fault(faults, key, format!("is a {what} over `{}`, {message}", buffer.name), help);
        }
        view.ok()
    }
}
