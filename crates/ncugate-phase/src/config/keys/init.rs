//! Keys of a buffer's `init`.

use super::{KeyKind, key};

/// The values that need no table.
pub const INIT_WORDS: &[&str] = &["normal", "uniform", "arange", "constant", "inf", "-inf", "permutation", "one_hot"];

/// A number, or an expression over the dimensions.
const AMOUNT: KeyKind = KeyKind::Expr;

keys! {
    INIT: InitKeys = "init = { ... }", "Exactly one. Numbers may be expressions over the dimensions (`\"V - 1\"`). A row is \
                                        along the last axis. Words without a table: `permutation` (the integers below the \
                                        row's length in random order), `one_hot` (a single 1 per row), `inf` and `-inf` \
                                        (infinite everywhere).";
    normal = key(KeyKind::Table(&NORMAL.spec), "Gaussian.");
    uniform = key(
        KeyKind::Table(&UNIFORM.spec),
        "Uniform on [low, high). Integers are rounded to nearest and can be `high`; see `indices`.",
    );
    arange = key(KeyKind::Table(&ARANGE.spec), "start + step * index.");
    constant = key(AMOUNT, "The same value everywhere, `-inf` included; the word alone means 1.");
    indices = key(AMOUNT, "Integers from 0 to one less than this, uniformly distributed: valid indices.");
    sorted = key(KeyKind::Table(&UNIFORM.spec), "Uniform on [low, high), ascending in each row.");
    row_pointers = key(
        AMOUNT,
        "Row pointers of a CSR matrix with this number of nonzero elements and rows of random lengths.",
    );
    mask = key(AMOUNT, "1 with this probability, else 0.");
    sparse = key(AMOUNT, "Normal with this probability, else 0.");
    low_rank = key(AMOUNT, "Matrices of this rank over the last two axes, of variance 1.");
    npy = key(
        KeyKind::Text,
        "A NumPy file of the buffer's shape, an input of the run; its path has [names](#expressions) in braces.",
    );
    redrawn = key(
        KeyKind::Text,
        "Values like those of a NumPy file, as for `npy`: each from a random place of it, floats times a random factor from 1/2 to 1. Seed 0 is the file itself.",
    );
}
keys! {
    NORMAL: NormalKeys = "init = { normal = { ... } }", "Gaussian.";
    mean = key(AMOUNT, "Mean.").default("0");
    std = key(AMOUNT, "Standard deviation.").default("1");
}
keys! {
    UNIFORM: UniformKeys = "init = { uniform = { ... } }", "Uniform; `sorted` has the same keys.";
    low = key(AMOUNT, "Lower end.").default("0");
    high = key(AMOUNT, "Upper end.").default("1");
}
keys! {
    ARANGE: ArangeKeys = "init = { arange = { ... } }", "Arithmetic progression.";
    start = key(AMOUNT, "First value.").default("0");
    step = key(AMOUNT, "Difference between neighbours.").default("1");
}
