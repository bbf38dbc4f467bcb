//! Keys of an argument that is not a name.

use super::{KeyKind, key, words};
use crate::config::ScalarType;
use ncugate_model::{TextureAddress, TextureFilter, TextureRead};

keys! {
    /// Exactly one of `buffer`, `value`, `struct`, `pointers`, `texture`, `surface`. Expressions see dimensions and
    /// the variant's parameters. The word "nullptr" is a null pointer.
    ARGUMENT: ArgumentKeys = "args = [{ ... }]";
    /// A pointer into a buffer.
    buffer = key(KeyKind::Text);
    /// Offset of the pointer, in elements.
    offset = key(KeyKind::Expr).default("0");
    /// A number or an expression, passed as `type`.
    value = key(KeyKind::Expr);
    /// C type of `value`; see scalars.
    r#type = key(KeyKind::OneOf(&words(&ScalarType::WORDS)));
    /// Number of consecutive copies of `value`: an array in a struct.
    repeat = key(KeyKind::Between(1, 1 << 16)).default("1");
    /// A struct by value: its fields in order, names or tables as in `args`, each aligned as in C.
    r#struct = key(KeyKind::List(&PART));
    /// Alignment of the struct in bytes, if its fields do not determine it: 16 for `float4`, 8 for `float2`.
    align = key(KeyKind::Between(1, 128)).otherwise("that of its fields");
    /// A pointer to a device array: of pointers (buffers, `{ buffer, offset }`, "nullptr"), or of tensor maps by
    /// name.
    pointers = key(KeyKind::List(&PART));
    /// A texture object over an input or a surface: one axis for `tex1Dfetch`, two (rows, columns) for `tex2D`.
    texture = key(KeyKind::Text);
    /// A surface object over a CUDA array with the buffer's content: one axis for `surf1Dread`, two (rows, columns)
    /// for `surf2Dwrite`. The kernel cannot use the buffer in another way, except as a texture of the same texels.
    surface = key(KeyKind::Text);
    /// Elements per texel, 1, 2 or 4: the last axis, or neighbours along it.
    channels = key(KeyKind::Between(1, 4)).default("1");
    /// Addressing mode outside the texture.
    address = key(KeyKind::OneOf(&words(&TextureAddress::WORDS))).default("\"clamp\"");
    /// Filtering between texels.
    filter = key(KeyKind::OneOf(&words(&TextureFilter::WORDS))).default("\"point\"");
    /// Whether coordinates go from 0 to 1.
    normalized = key(KeyKind::Bool).default("false");
    /// How integers of 8 and 16 bits are read: unchanged, or as floats up to 1.
    read = key(KeyKind::OneOf(&words(&TextureRead::WORDS))).default("\"element\"");
}

names! {
    /// `name = "buffer"`: the variable gets the content of the buffer. A scalar, a dimension, `{ value, type }` and
    /// `{ struct = [...] }` give it values. The name is as in C++ (`ns::table`) or mangled. The variable is written
    /// before each check, sample and profiled launch, outside the timed region.
    SYMBOLS = "[kernel.symbols]", ARG;
}

/// The items of a table of arguments.
static PART: KeyKind = KeyKind::Either(&[KeyKind::Text, KeyKind::Again(&ARGUMENT.spec)]);
static ARG: KeyKind = KeyKind::Either(&[KeyKind::Text, KeyKind::Table(&ARGUMENT.spec)]);
pub const ARGUMENTS: KeyKind = KeyKind::List(&ARG);
