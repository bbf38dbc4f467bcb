//! Arguments of a kernel as a phase writes them.

use super::workload::ScalarType;
use ncugate_model::TextureSampling;
use ncugate_model::expr::Expr;

/// An argument of a kernel; expressions see dimensions and the variant's parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgTemplate {
    /// A buffer, tensor map, scalar or dimension (passed as `int`).
    Named(String),
    /// `nullptr`.
    Null,
    /// A buffer from an element on.
    /// `offset`: offset in elements.
    Element { buffer: String, offset: Expr },
    /// `dtype`: C type of the argument.
    Value { dtype: ScalarType, value: Expr },
    /// A struct by value.
    /// `align`: minimum alignment in bytes (`__align__`).
    Struct { align: Option<u32>, fields: Vec<ArgTemplate> },
    /// A device array of pointers: buffers, elements of buffers, and `nullptr`.
    Pointers(Vec<ArgTemplate>),
    /// A texture object over a buffer.
    Texture(TextureTemplate),
    /// A surface object over a copy of a buffer.
    Surface(SurfaceTemplate),
}

/// A surface object (`cudaSurfaceObject_t`) over an array that is filled from a buffer before a launch and written
/// back after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurfaceTemplate {
    pub buffer: String,
    /// Elements per texel, along the buffer's last axis.
    pub channels: u32,
}

/// A texture object (`cudaTextureObject_t`) over a buffer, as the kernel reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextureTemplate {
    pub buffer: String,
    /// Elements per texel, along the buffer's last axis.
    pub channels: u32,
    /// Sampling of the texture.
    pub sampling: TextureSampling,
}

impl ArgTemplate {
    /// The arguments without parts in it: itself if it has no parts.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Struct { fields: parts, .. } | Self::Pointers(parts) => parts.iter().flat_map(Self::parts).collect(),
            Self::Named(_)
            | Self::Null
            | Self::Element { .. }
            | Self::Value { .. }
            | Self::Texture(_)
            | Self::Surface(_) => vec![self],
        }
    }

    /// The name of a buffer, tensor map, scalar or dimension.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) | Self::Element { buffer: name, .. } => Some(name),
            Self::Texture(texture) => Some(&texture.buffer),
            Self::Surface(surface) => Some(&surface.buffer),
            Self::Null | Self::Value { .. } | Self::Struct { .. } | Self::Pointers(_) => None,
        }
    }

    /// Whether it, or a part of it, has this name.
    pub fn names(&self, name: &str) -> bool {
        self.parts().into_iter().any(|part| part.name() == Some(name))
    }

    /// Its expression, if it has one.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            Self::Element { offset: expr, .. } | Self::Value { value: expr, .. } => Some(expr),
            Self::Named(_)
            | Self::Null
            | Self::Struct { .. }
            | Self::Pointers(_)
            | Self::Texture(_)
            | Self::Surface(_) => None,
        }
    }
}
