//! References that the program has.

use ncugate_model::Law;

/// What a built-in takes. Buffers are found by these names; failing one, inputs and outputs are taken in the order of the
/// file. That their extents fit is checked where the answer is computed.
pub struct BuiltinSignature {
    pub name: &'static str,
    pub inputs: &'static [&'static str],
    pub optional: &'static [&'static str],
    /// Each with the words that it may be.
    pub options: &'static [(&'static str, &'static [&'static str])],
    /// Laws of inputs that it has a right answer for, and that show what normal inputs hide.
    pub laws: &'static [Law],
}

const SCORES: &[Law] =
    &[Law::Declared, Law::Growing, Law::Shifted, Law::Large, Law::Outlier, Law::Ties, Law::Constant, Law::Zeros];
const NUMBERS: &[Law] = &[Law::Declared, Law::Large, Law::Outlier, Law::Ties, Law::Constant, Law::Zeros];

const BOOLS: &[&str] = &["true", "false"];
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

/// Their names, as a phase writes them.
pub const BUILTIN_NAMES: [&str; BUILTINS.len()] = {
    let mut names = [""; BUILTINS.len()];
    let mut at = 0;
    while at < BUILTINS.len() {
        names[at] = BUILTINS[at].name;
        at += 1;
    }
    names
};
