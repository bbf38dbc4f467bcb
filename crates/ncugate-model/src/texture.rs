//! How a kernel reads a texture.

use serde::{Deserialize, Serialize};

/// How texels are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TextureSampling {
    /// What is read outside of the texture.
    pub address: TextureAddress,
    /// What is read between texels.
    pub filter: TextureFilter,
    /// Whether coordinates go from 0 to 1.
    pub normalized: bool,
    /// What an integer is read as.
    pub read: TextureRead,
}

/// What is read outside of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextureAddress {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// Zeros.
    Border,
    /// The texture again.
    Wrap,
    /// The texture again, mirrored.
    Mirror,
}

/// What is read between texels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextureFilter {
    /// The nearest.
    #[default]
    Point,
    /// What lies between the nearest.
    Linear,
}

/// What integers are read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextureRead {
    /// Themselves.
    #[default]
    Element,
    /// Floats from 0 or -1 to 1 (`cudaReadModeNormalizedFloat`).
    NormalizedFloat,
}

impl TextureAddress {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 4] =
        [("clamp", Self::Clamp), ("border", Self::Border), ("wrap", Self::Wrap), ("mirror", Self::Mirror)];
}

impl TextureFilter {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 2] = [("point", Self::Point), ("linear", Self::Linear)];
}

impl TextureRead {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 2] =
        [("element", Self::Element), ("normalized_float", Self::NormalizedFloat)];
}
