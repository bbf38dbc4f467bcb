//! Keys of an argument that is not a name.

use super::{KeyKind, Spec, key, words};
use crate::config::ScalarType;
use ncugate_model::{TextureAddress, TextureFilter, TextureRead};

keys! {
    ARGUMENT: ArgumentKeys = "args = [{ ... }]", "Exactly one of `buffer`, `value`, `struct`, `pointers`, `texture`, `surface`. Expressions see dimensions and the \
         variant's parameters. The word \"nullptr\" is a null pointer.";
    buffer = key(KeyKind::Text, "A pointer into a buffer.");
    offset = key(KeyKind::Expr, "Offset of the pointer, in elements.").default("0");
    value = key(KeyKind::Expr, "A number or an expression, passed as `type`.");
    r#type = key(KeyKind::OneOf(&words(&ScalarType::WORDS)), "C type of `value`; see scalars.");
    repeat = key(
        KeyKind::Between(1, 1 << 16),
        "Number of consecutive copies of `value`: an array in a struct.",
    ).default("1");
    r#struct = key(
        KeyKind::List(&PART),
        "A struct by value: its fields in order, names or tables as in `args`, each aligned as in C.",
    );
    align = key(
        KeyKind::Between(1, 128),
        "Alignment of the struct in bytes, if its fields do not determine it: 16 for `float4`, 8 for `float2`.",
    ).otherwise("that of its fields");
    pointers = key(
        KeyKind::List(&PART),
        "A pointer to a device array: of pointers (buffers, `{ buffer, offset }`, \"nullptr\"), or of tensor maps by name.",
    );
    texture = key(
        KeyKind::Text,
        "A texture object over an input or a surface: one axis for `tex1Dfetch`, two (rows, columns) for `tex2D`.",
    );
    surface = key(
        KeyKind::Text,
        "A surface object over a CUDA array with the buffer's content: one axis for `surf1Dread`, two (rows, columns) for `surf2Dwrite`. The kernel cannot use the buffer in another way, except as a texture of the same texels.",
    );
    channels = key(
        KeyKind::Between(1, 4),
        "Elements per texel, 1, 2 or 4: the last axis, or neighbours along it.",
    ).default("1");
    address = key(
        KeyKind::OneOf(&words(&TextureAddress::WORDS)),
        "Addressing mode outside the texture.",
    ).default("\"clamp\"");
    filter = key(KeyKind::OneOf(&words(&TextureFilter::WORDS)), "Filtering between texels.").default("\"point\"");
    normalized = key(KeyKind::Bool, "Whether coordinates go from 0 to 1.").default("false");
    read = key(
        KeyKind::OneOf(&words(&TextureRead::WORDS)),
        "How integers of 8 and 16 bits are read: unchanged, or as floats up to 1.",
    ).default("\"element\"");
}

/// `[kernel.symbols]`.
pub static SYMBOLS: Spec = Spec {
    title: "[kernel.symbols]",
    doc: "`name = \"buffer\"`: the variable gets the content of the buffer. A scalar, a dimension, `{ value, type }` and `{ struct = [...] }` give it values. The name is as in C++ (`ns::table`) or mangled. The variable is written before each check, sample and profiled launch, outside the timed region.",
    keys: &[],
    free: Some(ARG),
};

/// The items of a table of arguments.
static PART: KeyKind = KeyKind::Either(&[KeyKind::Text, KeyKind::Again(&ARGUMENT.spec)]);
static ARG: KeyKind = KeyKind::Either(&[KeyKind::Text, KeyKind::Table(&ARGUMENT.spec)]);
pub const ARGUMENTS: KeyKind = KeyKind::List(&ARG);
