//! Keys of an argument that is not a name.

use super::{KeyKind, Spec, key, words};
use crate::config::ScalarType;
use ncugate_model::{TextureAddress, TextureFilter, TextureRead};

keys! {
    ARGUMENT: ArgumentKeys = "args = [{ ... }]", "Exactly one of `buffer`, `value`, `struct`, `pointers`, `texture`, `surface`. Expressions see dimensions and the variant's parameters. The word \"nullptr\" is a pointer to nothing.";
    buffer = key(KeyKind::Text, "A pointer into a buffer.");
    offset = key(KeyKind::Expr, "Elements before the one that the pointer is to.").default("0");
    value = key(KeyKind::Expr, "A number or an expression, passed as `type`.");
    r#type = key(KeyKind::OneOf(&words(&ScalarType::WORDS)), "C type of `value`; see scalars.");
    repeat = key(
        KeyKind::Between(1, 1 << 16),
        "So many of `value` behind one another: an array in a struct.",
    ).default("1");
    r#struct = key(
        KeyKind::List(&PART),
        "A struct by value: its fields in order, names or tables as in `args`, each aligned as in C.",
    );
    align = key(
        KeyKind::Between(1, 128),
        "Bytes that the struct is aligned to, where its fields alone do not say it: 16 of `float4`, 8 of `float2`.",
    ).otherwise("that of its fields");
    pointers = key(
        KeyKind::List(&PART),
        "A pointer to a device array of pointers: buffers, `{ buffer, offset }`, \"nullptr\".",
    );
    texture = key(
        KeyKind::Text,
        "A texture object (`cudaTextureObject_t`) over an input, or over what the kernel's launches have as a surface too: of one axis for `tex1Dfetch`, of two (rows, columns) for `tex2D`.",
    );
    surface = key(
        KeyKind::Text,
        "A surface object (`cudaSurfaceObject_t`) over a CUDA array that holds the buffer: of one axis for `surf1Dread`, of two (rows, columns) for `surf2Dwrite`. The array is filled from the buffer before a launch and written back after it, outside of the time; no launch of the kernel may name the buffer in another way, but for a texture of the same texels, which is over the same array.",
    );
    channels = key(
        KeyKind::Between(1, 4),
        "Elements of a texel, 1, 2 or 4: the last axis, or neighbours along it.",
    ).default("1");
    address = key(
        KeyKind::OneOf(&words(&TextureAddress::WORDS)),
        "What is read outside of the texture.",
    ).default("\"clamp\"");
    filter = key(KeyKind::OneOf(&words(&TextureFilter::WORDS)), "What is read between texels.").default("\"point\"");
    normalized = key(KeyKind::Bool, "Whether coordinates go from 0 to 1.").default("false");
    read = key(
        KeyKind::OneOf(&words(&TextureRead::WORDS)),
        "What integers of 8 and 16 bits are read as: themselves, or floats up to 1.",
    ).default("\"element\"");
}

/// `[kernel.symbols]`.
pub static SYMBOLS: Spec = Spec {
    title: "[kernel.symbols]",
    doc: "`name = \"buffer\"`: the variable gets what the buffer holds. A scalar, a dimension, `{ value, type }` and `{ struct = [...] }` \
          give it values; an array is a struct of equal fields. The name is as in C++ (`ns::table`) or mangled. It is written before each \
          check, sample and profiled launch, outside of the time, with the inputs that the launch has.",
    keys: &[],
    free: Some(ARG),
};

/// What a table of arguments has in it.
static PART: KeyKind = KeyKind::Either(&[KeyKind::Text, KeyKind::Again(&ARGUMENT.spec)]);
static ARG: KeyKind = KeyKind::Either(&[KeyKind::Text, KeyKind::Table(&ARGUMENT.spec)]);
pub const ARGUMENTS: KeyKind = KeyKind::List(&ARG);
