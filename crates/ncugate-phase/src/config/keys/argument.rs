//! Keys of an argument that is not a name.

use super::workload::SCALAR_TYPES;
use super::{KeyKind, Spec, key, spec};

/// `args = [{ ... }]`.
pub static ARGUMENT: Spec = spec(
    "args = [{ ... }]",
    "Exactly one of `buffer`, `value`, `struct`, `pointers`, `texture`, `surface`. Expressions see dimensions and the variant's parameters. The word \"nullptr\" is a pointer to nothing.",
    &[
        key("buffer", KeyKind::Text, "A pointer into a buffer."),
        key("offset", KeyKind::Expr, "Elements before the one that the pointer is to.").default("0"),
        key("value", KeyKind::Expr, "A number or an expression, passed as `type`."),
        key("type", KeyKind::OneOf(&SCALAR_TYPES), "C type of `value`; see scalars."),
        key("repeat", KeyKind::Whole(1), "So many of `value` behind one another: an array in a struct.").default("1"),
        key(
            "struct",
            KeyKind::List(&PART),
            "A struct by value: its fields in order, names or tables as in `args`, each aligned as in C.",
        ),
        key(
            "align",
            KeyKind::Whole(1),
            "Bytes that the struct is aligned to, where its fields alone do not say it: 16 of `float4`, 8 of `float2`.",
        )
        .default("that of its fields"),
        key(
            "pointers",
            KeyKind::List(&PART),
            "A pointer to a device array of pointers: buffers, `{ buffer, offset }`, \"nullptr\".",
        ),
        key(
            "texture",
            KeyKind::Text,
            "A texture object (`cudaTextureObject_t`) over an input, or over what the kernel's launches have as a surface too: of one axis for `tex1Dfetch`, of two (rows, columns) for `tex2D`.",
        ),
        key(
            "surface",
            KeyKind::Text,
            "A surface object (`cudaSurfaceObject_t`) over a CUDA array that holds the buffer: of one axis for `surf1Dread`, of two (rows, columns) for `surf2Dwrite`. The array is filled from the buffer before a launch and written back after it, outside of the time; no launch of the kernel may name the buffer in another way, but for a texture of the same texels, which is over the same array.",
        ),
        key("channels", KeyKind::Whole(1), "Elements of a texel, 1, 2 or 4: the last axis, or neighbours along it.")
            .default("1"),
        key("address", KeyKind::OneOf(&["clamp", "border", "wrap", "mirror"]), "What is read outside of the texture.")
            .default("\"clamp\""),
        key("filter", KeyKind::OneOf(&["point", "linear"]), "What is read between texels.").default("\"point\""),
        key("normalized", KeyKind::Bool, "Whether coordinates go from 0 to 1.").default("false"),
        key(
            "read",
            KeyKind::OneOf(&["element", "normalized_float"]),
            "What integers of 8 and 16 bits are read as: themselves, or floats up to 1.",
        )
        .default("\"element\""),
    ],
);

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
static PART: KeyKind = KeyKind::Either(&[KeyKind::Text, KeyKind::Again(&ARGUMENT)]);
static ARG: KeyKind = KeyKind::Either(&[KeyKind::Text, KeyKind::Table(&ARGUMENT)]);
pub const ARGUMENTS: KeyKind = KeyKind::List(&ARG);
