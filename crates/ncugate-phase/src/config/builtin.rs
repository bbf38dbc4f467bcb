//! Built-in references.

use ncugate_model::Law;

/// The parameters of a built-in reference. Buffers are matched by these names, or else in the order of the file. The
/// evaluation checks that their extents fit.
pub struct BuiltinSignature {
    pub name: &'static str,
    pub inputs: &'static [&'static str],
    pub optional: &'static [&'static str],
    /// Each with its permitted words.
    pub options: &'static [(&'static str, &'static [&'static str])],
    /// Laws of inputs for which it has a right answer and that reveal errors hidden by normal inputs.
    pub laws: &'static [Law],
}

const SCORES: &[Law] =
    &[Law::Declared, Law::Growing, Law::Shifted, Law::Large, Law::Outlier, Law::Ties, Law::Constant, Law::Zeros];
const NUMBERS: &[Law] = &[Law::Declared, Law::Large, Law::Outlier, Law::Ties, Law::Constant, Law::Zeros];

/// The words of an option that is true or false; it can also be a condition on the dimensions.
pub const BOOLS: &[&str] = &["true", "false"];
pub const BUILTINS: [BuiltinSignature; 5] = [
    BuiltinSignature {
        name: "sdpa",
        inputs: &["q", "k", "v"],
        optional: &["k_scale", "v_scale"],
        options: &[("causal", BOOLS)],
        laws: SCORES,
    },
    BuiltinSignature {
        name: "gemm",
        inputs: &["a", "b"],
        optional: &["c_in"],
        options: &[("transpose_b", BOOLS)],
        laws: NUMBERS,
    },
    BuiltinSignature { name: "softmax", inputs: &["x"], optional: &[], options: &[], laws: SCORES },
    BuiltinSignature {
        name: "reduce",
        inputs: &["x"],
        optional: &[],
        options: &[("op", &["sum", "max", "min", "mean"])],
        laws: NUMBERS,
    },
    BuiltinSignature { name: "copy", inputs: &["x"], optional: &[], options: &[], laws: NUMBERS },
];

/// Their names in a phase.
pub const BUILTIN_NAMES: [&str; BUILTINS.len()] = {
    let mut names = [""; BUILTINS.len()];
    let mut at = 0;
    while at < BUILTINS.len() {
        names[at] = BUILTINS[at].name;
        at += 1;
    }
    names
};
