//! The type of an element.

use serde::{Deserialize, Serialize};

/// The type of one element of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dtype {
    /// IEEE binary64.
    #[serde(rename = "f64")]
    F64,
    /// IEEE binary32.
    #[serde(rename = "f32")]
    F32,
    /// IEEE binary16.
    #[serde(rename = "f16")]
    F16,
    /// bfloat16.
    #[serde(rename = "bf16")]
    Bf16,
    /// OCP FP8 E4M3 (finite, no infinities).
    #[serde(rename = "fp8-e4m3")]
    Fp8E4m3,
    /// OCP FP8 E5M2.
    #[serde(rename = "fp8-e5m2")]
    Fp8E5m2,
    /// 64-bit signed integer.
    #[serde(rename = "i64")]
    I64,
    /// 64-bit unsigned integer.
    #[serde(rename = "u64")]
    U64,
    /// 32-bit signed integer.
    #[serde(rename = "i32")]
    I32,
    /// 32-bit unsigned integer.
    #[serde(rename = "u32")]
    U32,
    /// 16-bit signed integer.
    #[serde(rename = "i16")]
    I16,
    /// 16-bit unsigned integer.
    #[serde(rename = "u16")]
    U16,
    /// 8-bit signed integer.
    #[serde(rename = "i8")]
    I8,
    /// 8-bit unsigned integer.
    #[serde(rename = "u8")]
    U8,
    /// A byte that is 0 or 1.
    #[serde(rename = "bool")]
    Bool,
}

impl Dtype {
    /// Every type, in the order the documentation lists them.
    pub const ALL: [Self; 15] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Fp8E4m3,
        Self::Fp8E5m2,
        Self::I64,
        Self::U64,
        Self::I32,
        Self::U32,
        Self::I16,
        Self::U16,
        Self::I8,
        Self::U8,
        Self::Bool,
    ];

    /// The keyword in a phase.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Fp8E4m3 => "fp8-e4m3",
            Self::Fp8E5m2 => "fp8-e5m2",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::Bool => "bool",
        }
    }

    /// Whether it has NaN, so that the poison reveals elements that were never written.
    pub const fn has_nan(self) -> bool {
        match self {
            Self::F64 | Self::F32 | Self::F16 | Self::Bf16 | Self::Fp8E4m3 | Self::Fp8E5m2 => true,
            Self::I64
            | Self::U64
            | Self::I32
            | Self::U32
            | Self::I16
            | Self::U16
            | Self::I8
            | Self::U8
            | Self::Bool => false,
        }
    }

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::Fp8E4m3 | Self::Fp8E5m2 | Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }
}
