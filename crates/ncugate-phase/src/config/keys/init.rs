//! Keys of a buffer's `init`.

use super::{KeyKind, key};

/// The values that need no table.
pub const INIT_WORDS: &[&str] = &["normal", "uniform", "arange", "constant", "inf", "-inf", "permutation", "one_hot"];

/// A number, or an expression over the dimensions.
const AMOUNT: KeyKind = KeyKind::Expr;

keys! {
    /// Exactly one. Numbers may be expressions over the dimensions (`"V - 1"`). A row is along the last axis. Words
    /// without a table: `permutation` (the integers below the row's length in random order), `one_hot` (a single 1
    /// per row), `inf` and `-inf` (infinite everywhere).
    INIT: InitKeys = "init = { ... }";
    /// Gaussian.
    normal = key(KeyKind::Table(&NORMAL.spec));
    /// Uniform on [low, high). Integers are rounded to nearest and can be `high`; see `indices`.
    uniform = key(KeyKind::Table(&UNIFORM.spec));
    /// start + step * index.
    arange = key(KeyKind::Table(&ARANGE.spec));
    /// The same value everywhere, `-inf` included; the word alone means 1.
    constant = key(AMOUNT);
    /// Integers from 0 to one less than this, uniformly distributed: valid indices.
    indices = key(AMOUNT);
    /// Uniform on [low, high), ascending in each row.
    sorted = key(KeyKind::Table(&UNIFORM.spec));
    /// Row pointers of a CSR matrix with this number of nonzero elements and rows of random lengths.
    row_pointers = key(AMOUNT);
    /// 1 with this probability, else 0.
    mask = key(AMOUNT);
    /// A NumPy file of the buffer's shape, an input of the run; its path has [names](#expressions) in braces.
    npy = key(KeyKind::Text);
    /// Values like those of a NumPy file, as for `npy`: each from a random place of it, floats times a random factor
    /// from 1/2 to 1. Seed 0 is the file itself.
    redrawn = key(KeyKind::Text);
}
keys! {
    /// Gaussian.
    NORMAL: NormalKeys = "init = { normal = { ... } }";
    /// Mean.
    mean = key(AMOUNT).default("0");
    /// Standard deviation.
    std = key(AMOUNT).default("1");
}
keys! {
    /// Uniform; `sorted` has the same keys.
    UNIFORM: UniformKeys = "init = { uniform = { ... } }";
    /// Lower end.
    low = key(AMOUNT).default("0");
    /// Upper end.
    high = key(AMOUNT).default("1");
}
keys! {
    /// Arithmetic progression.
    ARANGE: ArangeKeys = "init = { arange = { ... } }";
    /// First value.
    start = key(AMOUNT).default("0");
    /// Difference between neighbours.
    step = key(AMOUNT).default("1");
}
