//! Arguments of kernels.

use serde::{Deserialize, Serialize};

/// A kernel argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// Device pointer of the buffer of that name.
    Buffer(String),
    /// A tensor map of a buffer, by value.
    TensorMap(TensorMap),
    /// A value.
    Scalar(ScalarValue),
    /// Device pointer of so many bytes that only this kernel uses; a null pointer where there are none.
    Workspace(u64),
}

/// How bulk tensor copies see a buffer, whose address, type and extents it takes where it is launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorMap {
    /// Its name, for errors.
    pub name: String,
    /// The buffer.
    pub buffer: String,
    /// Elements of one copy along each axis of the buffer, in the buffer's order (outermost first).
    pub box_dims: Vec<u32>,
    /// Swizzle of shared memory.
    pub swizzle: Swizzle,
}

/// The span within which a bulk copy permutes chunks of 16 bytes in shared memory; its number is bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub enum Swizzle {
    /// Rows lie in shared memory as they are.
    None,
    /// 32 bytes.
    Span32,
    /// 64 bytes.
    Span64,
    /// 128 bytes.
    Span128,
}

impl From<Swizzle> for u32 {
    fn from(swizzle: Swizzle) -> Self {
        match swizzle {
            Swizzle::None => 0,
            Swizzle::Span32 => 32,
            Swizzle::Span64 => 64,
            Swizzle::Span128 => 128,
        }
    }
}

impl TryFrom<u32> for Swizzle {
    type Error = String;

    fn try_from(bytes: u32) -> Result<Self, String> {
        let all = [Self::None, Self::Span32, Self::Span64, Self::Span128];
        all.into_iter()
            .find(|&swizzle| u32::from(swizzle) == bytes)
            .ok_or_else(|| format!("no swizzle of {bytes} bytes"))
    }
}

/// A scalar with its C type.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalarValue {
    /// `float`
    F32(f32),
    /// `double`
    F64(f64),
    /// `int`
    I32(i32),
    /// `long long`
    I64(i64),
    /// `unsigned`
    U32(u32),
}
