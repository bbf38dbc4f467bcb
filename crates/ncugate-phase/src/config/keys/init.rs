//! Keys of a buffer's `init`.

use super::{KeyKind, Spec, key, spec};

/// What can be named without a table.
pub const INIT_WORDS: &[&str] = &["normal", "uniform", "arange", "constant", "inf", "-inf", "permutation", "one_hot"];

/// A number, or an expression over the dimensions.
const AMOUNT: KeyKind = KeyKind::Expr;

pub static INIT: Spec = spec(
    "init = { ... }",
    "Exactly one. Numbers may be expressions over the dimensions (`\"V - 1\"`). Rows are those of the last axis. Two words have no table: `permutation` is the whole numbers below the row's length in random order, `one_hot` a single 1 a row; `inf` and `-inf` are infinite everywhere.",
    &[
        key("normal", KeyKind::Table(&NORMAL), "Gaussian."),
        key(
            "uniform",
            KeyKind::Table(&UNIFORM),
            "Uniform on [low, high); integers are rounded to nearest, so that they may be `high`: see `indices`.",
        ),
        key("arange", KeyKind::Table(&ARANGE), "start + step * index."),
        key("constant", AMOUNT, "The same value everywhere, also `-inf`; the word alone is 1."),
        key("indices", AMOUNT, "Whole numbers from 0 to one less than this, each as likely: valid indices."),
        key("sorted", KeyKind::Table(&UNIFORM), "Uniform on [low, high), ascending in each row."),
        key(
            "row_pointers",
            AMOUNT,
            "Row pointers of a CSR matrix of so many elements that are not 0: ascending from 0 to it, in rows of random lengths. The buffer has one element more than there are rows.",
        ),
        key("mask", AMOUNT, "1 with this probability, else 0."),
        key("sparse", AMOUNT, "Normal with this probability, else 0."),
        key("low_rank", AMOUNT, "Matrices of this rank over the last two axes, of variance 1."),
        key(
            "npy",
            KeyKind::Text,
            "A NumPy file of the buffer's shape; `{{ shape }}`, `{{ seed }}`, `{{ buffer }}` and dimensions in its path are replaced. Its content is an input of the run.",
        ),
    ],
);
pub static NORMAL: Spec = spec(
    "init = { normal = { ... } }",
    "Gaussian.",
    &[key("mean", AMOUNT, "Mean.").default("0"), key("std", AMOUNT, "Standard deviation.").default("1")],
);
/// `init = { uniform = ... }` and `init = { sorted = ... }`.
pub static UNIFORM: Spec = spec(
    "init = { uniform = { ... } }",
    "Uniform; `sorted` has the same keys.",
    &[key("low", AMOUNT, "Lower end.").default("0"), key("high", AMOUNT, "Upper end.").default("1")],
);
pub static ARANGE: Spec = spec(
    "init = { arange = { ... } }",
    "Arithmetic progression.",
    &[
        key("start", AMOUNT, "First value.").default("0"),
        key("step", AMOUNT, "Difference between neighbours.").default("1"),
    ],
);
