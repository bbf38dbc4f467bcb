//! Evaluated arguments of a launch, and their C layout.

use ncugate_model::TextureSampling;
use serde::{Deserialize, Serialize};

/// Bytes of a device pointer.
const POINTER: usize = 8;
/// Size of a `CUtensorMap` in bytes, and its alignment.
const TENSOR_MAP: (usize, usize) = (128, 64);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// Device pointer of the buffer of that name.
    Buffer(String),
    /// Device pointer into a buffer.
    Element(BufferElement),
    /// A pointer to nothing.
    Null,
    /// A tensor map of a buffer, by value.
    TensorMap(TensorMap),
    Scalar(ScalarValue),
    /// Device pointer to this many bytes for the exclusive use of this kernel; a null pointer if 0.
    Workspace(u64),
    /// A struct by value.
    Struct {
        /// Minimum alignment in bytes (`__align__`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        align: Option<u32>,
        fields: Vec<Arg>,
    },
    /// Device pointer to an array of pointers.
    Pointers(Vec<Arg>),
    /// A texture object over a buffer.
    Texture(TextureView),
    /// A surface object over an array that holds a buffer.
    Surface(SurfaceView),
}

/// A buffer as a surface, with its size in texels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceView {
    pub buffer: String,
    /// Elements per texel.
    pub channels: u32,
    /// Texels per row.
    pub width: u64,
    /// Rows; none for a one-dimensional surface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u64>,
}

/// A buffer as a texture, with its size in texels and its sampling.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextureView {
    pub buffer: String,
    /// Elements per texel.
    pub channels: u32,
    /// Texels per row.
    pub width: u64,
    /// Rows; none for a one-dimensional texture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u64>,
    /// Sampling of the texture.
    pub sampling: TextureSampling,
    pub memory: TexelMemory,
}

impl TextureView {
    /// The surface of the same texels.
    #[must_use]
    pub fn surface(&self) -> SurfaceView {
        let Self { buffer, channels, width, height, .. } = self;
        SurfaceView { buffer: buffer.clone(), channels: *channels, width: *width, height: *height }
    }
}

/// The memory of a texture's texels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TexelMemory {
    /// In the buffer.
    Linear,
    /// In the array of the program's surface over the buffer.
    Array,
}

/// A pointer to an element of a buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferElement {
    pub buffer: String,
    /// Offset in bytes.
    pub bytes: u64,
}

impl Arg {
    /// Its size among the arguments in bytes and its alignment, as in C.
    pub fn layout(&self) -> (usize, usize) {
        match self {
            Self::Buffer(_)
            | Self::Element(_)
            | Self::Null
            | Self::Pointers(_)
            | Self::Workspace(_)
            | Self::Texture(_)
            | Self::Surface(_) => (POINTER, POINTER),
            Self::TensorMap(_) => TENSOR_MAP,
            Self::Scalar(value) => (value.size(), value.size()),
            Self::Struct { align, fields } => {
                let least = align.map_or(1, |bytes| bytes as usize);
                let (end, alignment) = fields.iter().fold((0_usize, least), |(end, most), field| {
                    let (size, alignment) = field.layout();
                    (end.next_multiple_of(alignment) + size, most.max(alignment))
                });
                // An empty C++ struct has one byte.
                (end.max(1).next_multiple_of(alignment), alignment)
            }
        }
    }

    /// Its type as an argument of a host function: a C++ type of at most 8 bytes, `void*` for every pointer; none if it cannot
    /// be passed.
    pub const fn host_type(&self) -> Option<&'static str> {
        match self {
            Self::Buffer(_) | Self::Element(_) | Self::Null | Self::Workspace(_) | Self::Pointers(_) => Some("void*"),
            Self::Scalar(value) => value.host_type(),
            Self::TensorMap(_) | Self::Struct { .. } | Self::Texture(_) | Self::Surface(_) => None,
        }
    }

    /// The arguments without parts in it: itself if it has no parts.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Struct { fields: parts, .. } | Self::Pointers(parts) => parts.iter().flat_map(Self::parts).collect(),
            Self::Buffer(_)
            | Self::Element(_)
            | Self::Null
            | Self::TensorMap(_)
            | Self::Scalar(_)
            | Self::Workspace(_)
            | Self::Texture(_)
            | Self::Surface(_) => vec![self],
        }
    }

    pub fn buffer(&self) -> Option<&str> {
        match self {
            Self::Buffer(name) => Some(name),
            Self::Element(element) => Some(&element.buffer),
            Self::TensorMap(map) => Some(&map.buffer),
            Self::Texture(view) => Some(&view.buffer),
            Self::Surface(view) => Some(&view.buffer),
            Self::Null | Self::Scalar(_) | Self::Struct { .. } | Self::Pointers(_) | Self::Workspace(_) => None,
        }
    }

    /// Its name in errors.
    pub fn described(&self) -> String {
        match self {
            Self::Buffer(name) => format!("buffer `{name}`"),
            Self::Element(element) => format!("buffer `{}` from byte {}", element.buffer, element.bytes),
            Self::Null => "nullptr".to_owned(),
            Self::TensorMap(map) => format!("tensor map `{}`", map.name),
            Self::Scalar(value) => format!("scalar {}", value.described()),
            Self::Workspace(bytes) => format!("workspace of {bytes} bytes"),
            Self::Texture(view) => format!("texture over `{}`", view.buffer),
            Self::Surface(view) => format!("surface over `{}`", view.buffer),
            Self::Struct { fields, .. } => format!("struct of {} fields", fields.len()),
            Self::Pointers(pointers) => format!("array of {} pointers", pointers.len()),
        }
    }
}

/// A buffer as a view for bulk tensor copies. The launch provides its address, type and extents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorMap {
    /// Its name, for errors.
    pub name: String,
    pub buffer: String,
    /// Elements of one copy along each axis of the buffer, in the buffer's order (outermost first).
    pub box_dims: Vec<u32>,
    /// Swizzle of shared memory.
    pub swizzle: Swizzle,
}

/// The span within which a bulk copy permutes chunks of 16 bytes in shared memory, in bytes.
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
    /// `unsigned long long`
    U64(u64),
    /// `short`
    I16(i16),
    /// `unsigned short`
    U16(u16),
    /// `signed char`
    I8(i8),
    /// `unsigned char`
    U8(u8),
    Bool(bool),
    /// `__half`, as the rounded value
    F16(f32),
    /// `__nv_bfloat16`, as the rounded value
    Bf16(f32),
}

impl ScalarValue {
    /// Its size in bytes; also its alignment.
    pub const fn size(self) -> usize {
        match self {
            Self::F64(_) | Self::I64(_) | Self::U64(_) => 8,
            Self::F32(_) | Self::I32(_) | Self::U32(_) => 4,
            Self::I16(_) | Self::U16(_) | Self::F16(_) | Self::Bf16(_) => 2,
            Self::I8(_) | Self::U8(_) | Self::Bool(_) => 1,
        }
    }

    /// Its value and its type in a phase file: `7 of type i32`.
    fn described(self) -> String {
        match self {
            Self::F32(v) => format!("{v} of type f32"),
            Self::F64(v) => format!("{v} of type f64"),
            Self::I32(v) => format!("{v} of type i32"),
            Self::I64(v) => format!("{v} of type i64"),
            Self::U32(v) => format!("{v} of type u32"),
            Self::U64(v) => format!("{v} of type u64"),
            Self::I16(v) => format!("{v} of type i16"),
            Self::U16(v) => format!("{v} of type u16"),
            Self::I8(v) => format!("{v} of type i8"),
            Self::U8(v) => format!("{v} of type u8"),
            Self::Bool(v) => format!("{v} of type bool"),
            Self::F16(v) => format!("{v} of type f16"),
            Self::Bf16(v) => format!("{v} of type bf16"),
        }
    }

    /// Its C++ type; none for a type that only CUDA's headers define.
    const fn host_type(self) -> Option<&'static str> {
        match self {
            Self::F32(_) => Some("float"),
            Self::F64(_) => Some("double"),
            Self::I32(_) => Some("int"),
            Self::I64(_) => Some("long long"),
            Self::U32(_) => Some("unsigned"),
            Self::U64(_) => Some("unsigned long long"),
            Self::I16(_) => Some("short"),
            Self::U16(_) => Some("unsigned short"),
            Self::I8(_) => Some("signed char"),
            Self::U8(_) => Some("unsigned char"),
            Self::Bool(_) => Some("bool"),
            Self::F16(_) | Self::Bf16(_) => None,
        }
    }

    /// Its bits, little endian at the start of 8 bytes.
    pub fn bits(self) -> u64 {
        match self {
            Self::F32(v) => u64::from(v.to_bits()),
            Self::F64(v) => v.to_bits(),
            Self::I32(v) => u64::from(v.cast_unsigned()),
            Self::I64(v) => v.cast_unsigned(),
            Self::U32(v) => u64::from(v),
            Self::U64(v) => v,
            Self::I16(v) => u64::from(v.cast_unsigned()),
            Self::U16(v) => u64::from(v),
            Self::I8(v) => u64::from(v.cast_unsigned()),
            Self::U8(v) => u64::from(v),
            Self::Bool(v) => u64::from(v),
            Self::F16(v) => u64::from(half::f16::from_f32(v).to_bits()),
            Self::Bf16(v) => u64::from(half::bf16::from_f32(v).to_bits()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(value: ScalarValue) -> Arg {
        Arg::Scalar(value)
    }

    #[test]
    fn structs_are_laid_out_as_in_c() {
        let buffer = || Arg::Buffer("x".to_owned());
        let plain = |fields| Arg::Struct { align: None, fields };
        assert_eq!(plain(vec![scalar(ScalarValue::I8(1)), buffer(), scalar(ScalarValue::I32(1))]).layout(), (24, 8));
        assert_eq!(plain(vec![scalar(ScalarValue::F32(1.0)); 3]).layout(), (12, 4));
        let inner = plain(vec![scalar(ScalarValue::I8(1)), scalar(ScalarValue::F64(1.0))]);
        assert_eq!(inner.layout(), (16, 8));
        assert_eq!(
            plain(vec![scalar(ScalarValue::I32(1)), inner]).layout(),
            (24, 8),
            "a struct in a struct is aligned"
        );
        assert_eq!(plain(Vec::new()).layout(), (1, 1));
        // struct { int n; float4 c; }
        let float4 = Arg::Struct { align: Some(16), fields: vec![scalar(ScalarValue::F32(1.0)); 4] };
        assert_eq!((float4.layout(), float4.described().as_str()), ((16, 16), "struct of 4 fields"));
        assert_eq!(plain(vec![scalar(ScalarValue::I32(1)), float4]).layout(), (32, 16));
        assert_eq!(Arg::Pointers(vec![buffer(), Arg::Null]).layout(), (8, 8));
    }

    #[test]
    fn arguments_are_written_and_read() {
        let text = |arg: &Arg| serde_json::to_string(arg).unwrap();
        assert_eq!(text(&Arg::Buffer("q".to_owned())), r#"{"buffer":"q"}"#);
        assert_eq!(text(&scalar(ScalarValue::F32(0.125))), r#"{"scalar":{"f32":0.125}}"#);
        let fields = vec![Arg::Null, Arg::Pointers(vec![Arg::Null]), scalar(ScalarValue::Bool(true))];
        let all = Arg::Struct { align: Some(8), fields };
        assert_eq!(serde_json::from_str::<Arg>(&text(&all)).unwrap(), all);
    }
}
