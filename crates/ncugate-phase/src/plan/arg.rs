//! Evaluated arguments of a launch, and their C layout.

use crate::config::{OutOfBoundsFill, ScalarType};
use ncugate_model::TextureSampling;
use serde::{Deserialize, Serialize};

/// Bytes of a device pointer.
const POINTER: usize = 8;
/// Size of a `CUtensorMap` in bytes.
const TENSOR_MAP: usize = 128;

/// Alignment of a `CUtensorMap`, by the `cuda.h` that the kernel is compiled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapAlignment {
    /// 64 bytes: CUDA 12.
    Cuda12,
    /// 128 bytes: CUDA 13.
    Cuda13,
}

impl MapAlignment {
    const ALL: [Self; 2] = [Self::Cuda12, Self::Cuda13];

    const fn bytes(self) -> usize {
        match self {
            Self::Cuda12 => 64,
            Self::Cuda13 => 128,
        }
    }
}

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
    /// Device pointer to an array of pointers, or to an array of tensor maps.
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
    /// Its size among the arguments in bytes and its alignment, as in C, with the tensor maps of CUDA 12.
    pub fn layout(&self) -> (usize, usize) {
        self.layout_with(MapAlignment::Cuda12)
    }

    /// As [`Self::layout`], with tensor maps of this alignment.
    pub fn layout_with(&self, maps: MapAlignment) -> (usize, usize) {
        match self {
            Self::Buffer(_)
            | Self::Element(_)
            | Self::Null
            | Self::Pointers(_)
            | Self::Workspace(_)
            | Self::Texture(_)
            | Self::Surface(_) => (POINTER, POINTER),
            Self::TensorMap(_) => (TENSOR_MAP, maps.bytes()),
            Self::Scalar(value) => (value.size(), value.size()),
            Self::Struct { align, fields } => {
                let least = align.map_or(1, |bytes| bytes as usize);
                let (end, alignment) = fields.iter().fold((0_usize, least), |(end, most), field| {
                    let (size, alignment) = field.layout_with(maps);
                    (end.next_multiple_of(alignment) + size, most.max(alignment))
                });
                // An empty C++ struct has one byte.
                (end.max(1).next_multiple_of(alignment), alignment)
            }
        }
    }

    /// Its type as an argument of a host function: a C++ type of at most 8 bytes, `void*` for every pointer, `struct` for one
    /// of any type and size; none if it cannot be passed.
    pub fn host_type(&self) -> Option<&'static str> {
        match self {
            Self::Buffer(_) | Self::Element(_) | Self::Null | Self::Workspace(_) | Self::Pointers(_) => Some("void*"),
            Self::Scalar(value) => value.host_type(),
            Self::Struct { .. } if !self.parts().iter().any(|part| matches!(part, Self::TensorMap(_))) => {
                Some("struct")
            }
            Self::TensorMap(_) | Self::Struct { .. } | Self::Texture(_) | Self::Surface(_) => None,
        }
    }

    /// The alignment of tensor maps with which the argument has the size of a kernel's parameter; none if it has another
    /// size. If both alignments give one size, they give one layout: from the first map on that they place differently, every
    /// part lies at least 64 bytes further with the larger one.
    pub fn map_alignment(&self, bytes: usize) -> Option<MapAlignment> {
        MapAlignment::ALL.into_iter().find(|maps| self.layout_with(*maps).0 == bytes)
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
            Self::Pointers(parts) if matches!(parts.first(), Some(Self::TensorMap(_))) => {
                format!("array of {} tensor maps", parts.len())
            }
            Self::Pointers(pointers) => format!("array of {} pointers", pointers.len()),
        }
    }
}

/// A buffer as a view for bulk tensor copies. The launch provides its address, its type, and its extents if `layout` is none.
/// Axes are outermost first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorMap {
    /// Its name, for errors.
    pub name: String,
    pub buffer: String,
    /// Elements of one copy along each axis.
    pub box_dims: Vec<u32>,
    /// Swizzle of shared memory.
    pub swizzle: Swizzle,
    /// Extents and strides; none if it is the whole buffer as it lies in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<MapLayout>,
    /// Steps of a copy along each axis in elements; empty for 1 on every axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub element_strides: Vec<u32>,
    /// Fetches of L2.
    #[serde(default, skip_serializing_if = "L2Promotion::is_largest")]
    pub l2_promotion: L2Promotion,
    #[serde(default, skip_serializing_if = "OutOfBoundsFill::is_none")]
    pub oob_fill: OutOfBoundsFill,
}

/// Extents and strides of a view, outermost axis first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapLayout {
    /// Elements along each axis.
    pub shape: Vec<u64>,
    /// Bytes between neighbours along each axis except the innermost.
    pub strides: Vec<u64>,
}

impl MapLayout {
    /// Bytes from the first element to the end of the last one, with elements of this size.
    pub fn reach(&self, size: u64) -> u64 {
        let Some((inner, outer)) = self.shape.split_last() else { return 0 };
        let before =
            outer.iter().zip(&self.strides).map(|(extent, stride)| extent.saturating_sub(1).saturating_mul(*stride));
        before.fold(inner.saturating_mul(size), u64::saturating_add)
    }
}

/// Bytes that L2 fetches at a time for a bulk copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub enum L2Promotion {
    /// Those that are copied.
    None,
    /// 64 bytes.
    Bytes64,
    /// 128 bytes.
    Bytes128,
    /// 256 bytes.
    #[default]
    Bytes256,
}

impl L2Promotion {
    /// Whether it is the default.
    pub fn is_largest(&self) -> bool {
        *self == Self::Bytes256
    }
}

/// Both ways between an enum and its bytes.
macro_rules! of_bytes {
    ($type:ident, $what:literal: $($variant:ident = $bytes:literal),+) => {
        impl From<$type> for u32 {
            fn from(value: $type) -> Self {
                match value {
                    $($type::$variant => $bytes,)+
                }
            }
        }

        impl TryFrom<u32> for $type {
            type Error = String;

            fn try_from(bytes: u32) -> Result<Self, String> {
                match bytes {
                    $($bytes => Ok(Self::$variant),)+
                    _ => Err(format!("no {} of {bytes} bytes", $what)),
                }
            }
        }
    };
}

of_bytes!(L2Promotion, "L2 promotion": None = 0, Bytes64 = 64, Bytes128 = 128, Bytes256 = 256);
of_bytes!(Swizzle, "swizzle": None = 0, Span32 = 32, Span64 = 64, Span128 = 128);

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
        macro_rules! of_type {
            ($($kind:ident)+) => {
                match self { $(Self::$kind(value) => format!("{value} of type {}", ScalarType::$kind),)+ }
            };
        }
        of_type! { F32 F64 I32 I64 U32 U64 I16 U16 I8 U8 Bool F16 Bf16 }
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
    fn the_size_of_a_parameter_says_how_its_tensor_maps_are_aligned() {
        use MapAlignment::{Cuda12, Cuda13};
        let map = || {
            let (name, buffer) = ("m".to_owned(), "x".to_owned());
            let (box_dims, element_strides) = (vec![16], Vec::new());
            let (l2_promotion, oob_fill) = (L2Promotion::default(), OutOfBoundsFill::default());
            let swizzle = Swizzle::None;
            Arg::TensorMap(TensorMap {
                name,
                buffer,
                box_dims,
                swizzle,
                layout: None,
                element_strides,
                l2_promotion,
                oob_fill,
            })
        };
        let int = || scalar(ScalarValue::I32(1));
        let plain = |fields| Arg::Struct { align: None, fields };
        for (argument, sizes) in [
            (map(), [128, 128]),
            (plain(vec![map(), map()]), [256, 256]),
            (plain(vec![map(), int()]), [192, 256]),
            (plain(vec![int(), map(), int()]), [256, 384]),
            (plain(vec![plain(vec![int(), map()]), int()]), [256, 384]),
        ] {
            assert_eq!([Cuda12, Cuda13].map(|maps| argument.layout_with(maps).0), sizes);
            assert_eq!(argument.map_alignment(sizes[0]), Some(Cuda12));
            assert_eq!(argument.map_alignment(sizes[1]), Some(if sizes[0] == sizes[1] { Cuda12 } else { Cuda13 }));
            assert_eq!(argument.map_alignment(8), None);
        }
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
