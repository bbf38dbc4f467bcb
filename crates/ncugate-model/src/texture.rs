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

words! {
    name;
    /// The mode of reads outside of a texture.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TextureAddress {
        /// The texel at the edge.
        #[default]
        Clamp = "clamp",
        /// Zeros.
        Border = "border",
        /// The texture repeated.
        Wrap = "wrap",
        /// The texture repeated and mirrored.
        Mirror = "mirror",
    }
}

words! {
    name;
    /// The mode of reads between texels.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TextureFilter {
        /// The nearest texel.
        #[default]
        Point = "point",
        /// Interpolation between the nearest texels.
        Linear = "linear",
    }
}

words! {
    name;
    /// The mode of reads of integers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TextureRead {
        /// As integers.
        #[default]
        Element = "element",
        /// As floats from 0 or -1 to 1 (`cudaReadModeNormalizedFloat`).
        NormalizedFloat = "normalized_float",
    }
}
