//! The computation of a kernel, guessed from its name and its parameters.

use super::kernel::{ArgumentKind, KernelSource};
use super::usage::PointerUse;
use Answer::{Builtin, Formula};

/// A known computation. Shapes are of `r` rows, `c` columns, `k` inner extents and `1`; `e` is any shape.
#[derive(Debug, PartialEq, Eq)]
pub struct KernelFamily {
    /// Parts of a name; `=mm` is a whole word.
    names: &'static [&'static str],
    /// Shapes of its inputs. The number is required.
    pub inputs: &'static [&'static str],
    pub output: &'static str,
    pub answer: Answer,
}

/// What a family computes.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// A built-in reference, as in a phase.
    Builtin(&'static str),
    /// In NumPy: `{0}` is the first input, `{y}` the output before the launch, `{a}` the first real number.
    Formula(&'static str),
    /// Nothing that is known: names that another family would claim.
    Unknown,
}

const fn family(
    names: &'static [&'static str],
    inputs: &'static [&'static str],
    output: &'static str,
    answer: Answer,
) -> KernelFamily {
    KernelFamily { names, inputs, output, answer }
}

static FAMILIES: [KernelFamily; 15] = [
    family(&["gemm", "matmul", "matrixmul", "=mm"], &["rk", "kc"], "rc", Builtin("\"gemm\"")),
    family(&["softmax"], &["rc"], "rc", Builtin("\"softmax\"")),
    family(&["=copy", "memcpy"], &["e"], "e", Builtin("\"copy\"")),
    family(&["reduce", "reduction", "=sum", "rowsum"], &["rc"], "r", Builtin("\"reduce\"")),
    family(&["reducemax", "rowmax"], &["rc"], "r", Builtin("{ builtin = \"reduce\", op = \"max\" }")),
    family(&["reducemean", "rowmean"], &["rc"], "r", Builtin("{ builtin = \"reduce\", op = \"mean\" }")),
    family(&["transpose"], &["rc"], "cr", Formula("{0}.T")),
    family(&["gemv", "matvec", "=mv"], &["rc", "c"], "r", Formula("{0} @ {1}")),
    family(&["axpy"], &["e"], "e", Formula("{a} * {0} + {y}")),
    family(&["relu"], &["e"], "e", Formula("np.maximum({0}, 0)")),
    family(&["silu", "swish"], &["e"], "e", Formula("{0} / (1 + np.exp(-{0}))")),
    family(&["sigmoid"], &["e"], "e", Formula("1 / (1 + np.exp(-{0}))")),
    family(&["=add", "vecadd", "vectoradd"], &["e", "e"], "e", Formula("{0} + {1}")),
    family(&["=mul", "vecmul", "vectormul"], &["e", "e"], "e", Formula("{0} * {1}")),
    family(&["prelu", "leaky", "backward", "=bwd", "=grad", "layernorm", "rmsnorm"], &[], "", Answer::Unknown),
];

/// The only family that a name suggests; a name that suggests several, such as `add_relu`, has none. A longer name
/// counts instead of its parts: `reducemax` instead of `reduce`.
fn by_name(name: &str) -> Option<&'static KernelFamily> {
    let (mut words, mut before) = (String::from("_"), '_');
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            words.push('_');
        }
        words.extend(c.to_lowercase());
        before = c;
    }
    words.push('_');
    let flat = words.replace('_', "");
    let suggests = |part: &&&str| match part.strip_prefix('=') {
        Some(whole) => words.contains(&format!("_{whole}_")),
        None => flat.contains(**part),
    };
    let suggested = |family: &'static KernelFamily| family.names.iter().find(suggests).map(|part| (*part, family));
    let found: Vec<(&str, &KernelFamily)> = FAMILIES.iter().filter_map(suggested).collect();
    let (longest, family) = *found.iter().max_by_key(|(part, _)| part.len())?;
    found.iter().all(|(part, _)| longest.contains(part.trim_start_matches('='))).then_some(family)
}

impl KernelFamily {
    /// The family of a kernel's name, if its parameters fit.
    pub fn of(kernel: &KernelSource<'_>) -> Option<&'static Self> {
        by_name(kernel.signature.name).filter(|family| {
            let count = |is: fn(ArgumentKind) -> bool| kernel.names(is).len();
            let extents = count(|kind| matches!(kind, ArgumentKind::Extent(_)));
            let changes = count(|kind| matches!(kind, ArgumentKind::Buffer(_, PointerUse::Changed)));
            let formula = match family.answer {
                Builtin(_) => "",
                Formula(text) => text,
                Answer::Unknown => return false,
            };
            let fits = match family.output {
                _ if family.is_product() => extents == 1 || extents == 3,
                "e" => extents > 0,
                _ => (1..=2).contains(&extents),
            };
            fits && count(|kind| kind == ArgumentKind::Unknown) == 0
                && count(is_input) == family.inputs.len()
                && count(is_output) == 1
                && (formula.is_empty() || (changes == 1) == formula.contains("{y}"))
                && (!formula.contains("{a}") || count(|kind| matches!(kind, ArgumentKind::Real(_))) > 0)
        })
    }

    /// Whether it is a product of matrices.
    pub fn is_product(&self) -> bool {
        self.inputs[0] == "rk"
    }

    /// Whether partial results of it can be combined, and how.
    pub fn reduction(&self) -> Option<&'static str> {
        match self.answer {
            Builtin(text) if text.contains("reduce") => {
                Some(["max", "mean"].into_iter().find(|word| text.contains(word)).unwrap_or("sum"))
            }
            _ => None,
        }
    }
}

/// Whether a kernel only reads it.
pub fn is_input(kind: ArgumentKind) -> bool {
    matches!(kind, ArgumentKind::Buffer(_, PointerUse::Read))
}

pub fn is_output(kind: ArgumentKind) -> bool {
    matches!(kind, ArgumentKind::Buffer(_, used) if used != PointerUse::Read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_speaks_of_one_family_or_of_none() {
        for (name, answer) in [
            ("sgemm_naive", Some(Builtin("\"gemm\""))),
            ("MatrixMulCUDA", Some(Builtin("\"gemm\""))),
            ("online_softmax", Some(Builtin("\"softmax\""))),
            ("reduce3", Some(Builtin("\"reduce\""))),
            ("rowMax_reduce", None),
            ("blockReduceMean", Some(Builtin("{ builtin = \"reduce\", op = \"mean\" }"))),
            ("layernorm_forward_kernel3", Some(Answer::Unknown)),
            ("transposeCoalesced", Some(Formula("{0}.T"))),
            ("vectorAdd", Some(Formula("{0} + {1}"))),
            ("saxpy", Some(Formula("{a} * {0} + {y}"))),
            ("add_relu", None),
            ("prelu", Some(Answer::Unknown)),
            ("softmax_backward", None),
            ("my_kernel", None),
        ] {
            assert_eq!(by_name(name).map(|family| &family.answer), answer.as_ref(), "{name}");
        }
    }
}
