//! Sampling of a texture.

use serde::{Deserialize, Serialize};

/// How texels are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TextureSampling {
    /// Reads outside of the texture.
    pub address: TextureAddress,
    /// Reads between texels.
    pub filter: TextureFilter,
    /// Whether coordinates range from 0 to 1.
    pub normalized: bool,
    /// Reads of integers.
    pub read: TextureRead,
}

/// The mode of reads outside of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextureAddress {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// Zeros.
    Border,
    /// The texture repeated.
    Wrap,
    /// The texture repeated and mirrored.
    Mirror,
}

/// The mode of reads between texels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextureFilter {
    /// The nearest texel.
    #[default]
    Point,
    /// Interpolation between the nearest texels.
    Linear,
}

/// The mode of reads of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextureRead {
    /// As integers.
    #[default]
    Element,
    /// As floats from 0 or -1 to 1 (`cudaReadModeNormalizedFloat`).
    NormalizedFloat,
}

impl TextureAddress {
    /// All values by their keyword in a phase.
    pub const WORDS: [(&'static str, Self); 4] =
        [("clamp", Self::Clamp), ("border", Self::Border), ("wrap", Self::Wrap), ("mirror", Self::Mirror)];
}

impl TextureFilter {
    /// All values by their keyword in a phase.
    pub const WORDS: [(&'static str, Self); 2] = [("point", Self::Point), ("linear", Self::Linear)];
}

impl TextureRead {
    /// All values by their keyword in a phase.
    pub const WORDS: [(&'static str, Self); 2] =
        [("element", Self::Element), ("normalized_float", Self::NormalizedFloat)];
}
