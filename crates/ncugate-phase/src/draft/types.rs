//! C types and their names in a phase.

use ncugate_model::Dtype;

/// The element type of a C type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementType {
    /// The type of a buffer's element.
    pub dtype: Dtype,
    /// Elements in one value: 4 of `float4`.
    pub lanes: u8,
}

impl ElementType {
    pub fn bytes(self) -> usize {
        self.dtype.size() * usize::from(self.lanes)
    }
}

/// The element type of a C type without aliases.
pub fn element_type(text: &str) -> Option<ElementType> {
    let text = text.trim_start_matches("std::").trim_start_matches("cuda::");
    if let Some(dtype) = dtype(text) {
        return Some(ElementType { dtype, lanes: 1 });
    }
    let of = text.strip_suffix(['2', '3', '4'])?;
    Some(ElementType { dtype: dtype(of)?, lanes: text.as_bytes().last()? - b'0' })
}

/// The type of a number, also from the stem of a vector type: `longlong` of `longlong2`.
fn dtype(text: &str) -> Option<Dtype> {
    Some(match text {
        "float" => Dtype::F32,
        "double" => Dtype::F64,
        "half" | "__half" => Dtype::F16,
        "bfloat16" | "nv_bfloat16" | "__nv_bfloat16" | "bf16" => Dtype::Bf16,
        "__nv_fp8_e4m3" => Dtype::Fp8E4m3,
        "__nv_fp8_e5m2" => Dtype::Fp8E5m2,
        "int" | "signed" | "signed int" | "int32_t" => Dtype::I32,
        "unsigned" | "unsigned int" | "uint" | "uint32_t" => Dtype::U32,
        "long" | "long int" | "long long" | "long long int" | "longlong" | "int64_t" | "ptrdiff_t" | "ssize_t" => {
            Dtype::I64
        }
        "unsigned long" | "unsigned long long" | "unsigned long long int" | "ulonglong" | "uint64_t" | "size_t" => {
            Dtype::U64
        }
        "short" | "int16_t" => Dtype::I16,
        "unsigned short" | "ushort" | "uint16_t" => Dtype::U16,
        "char" | "signed char" | "int8_t" => Dtype::I8,
        "unsigned char" | "uint8_t" | "uchar" => Dtype::U8,
        "bool" => Dtype::Bool,
        _ => return None,
    })
}

/// Whether it is an integer type.
pub const fn is_whole(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::I64 | Dtype::U64 | Dtype::I32 | Dtype::U32 | Dtype::I16 | Dtype::U16 | Dtype::I8 | Dtype::U8)
}
