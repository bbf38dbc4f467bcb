//! The type of an element.

use serde::{Deserialize, Serialize};

words! {
    name;
    /// The type of one element of a buffer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Dtype {
        /// IEEE binary64.
        F64 = "f64",
        /// IEEE binary32.
        F32 = "f32",
        /// IEEE binary16.
        F16 = "f16",
        /// bfloat16.
        Bf16 = "bf16",
        /// OCP FP8 E4M3 (finite, no infinities).
        Fp8E4m3 = "fp8-e4m3",
        /// OCP FP8 E5M2.
        Fp8E5m2 = "fp8-e5m2",
        /// 64-bit signed integer.
        I64 = "i64",
        /// 64-bit unsigned integer.
        U64 = "u64",
        /// 32-bit signed integer.
        I32 = "i32",
        /// 32-bit unsigned integer.
        U32 = "u32",
        /// 16-bit signed integer.
        I16 = "i16",
        /// 16-bit unsigned integer.
        U16 = "u16",
        /// 8-bit signed integer.
        I8 = "i8",
        /// 8-bit unsigned integer.
        U8 = "u8",
        /// A byte that is 0 or 1.
        Bool = "bool",
    }
}

impl Dtype {
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

#[cfg(test)]
mod tests {
    use super::Dtype;

    #[test]
    fn a_type_is_stored_by_its_word() {
        for (word, dtype) in Dtype::WORDS {
            assert_eq!(serde_json::to_value(dtype).unwrap(), word);
            assert_eq!(dtype.to_string(), word);
        }
    }
}
