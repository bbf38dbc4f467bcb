//! The built-in reference of a kernel, guessed from its name and its parameters.

use super::kernel::{ArgumentKind, KernelSource};
use super::usage::PointerUse;

/// A built-in reference. Shapes are of `r` rows, `c` columns, `k` inner extents; `e` is all extents.
#[derive(Debug, PartialEq, Eq)]
pub struct KernelFamily {
    /// Its name in a phase.
    pub builtin: &'static str,
    /// Parts of a kernel's name.
    names: &'static [&'static str],
    /// Shapes of its inputs. The number is required.
    pub inputs: &'static [&'static str],
    pub output: &'static str,
    /// The numbers of extents that fit.
    extents: std::ops::RangeInclusive<usize>,
}

static FAMILIES: [KernelFamily; 4] = [
    KernelFamily {
        builtin: "gemm",
        names: &["gemm", "matmul", "matrixmul"],
        inputs: &["rk", "kc"],
        output: "rc",
        extents: 1..=3,
    },
    KernelFamily { builtin: "softmax", names: &["softmax"], inputs: &["rc"], output: "rc", extents: 2..=2 },
    KernelFamily { builtin: "copy", names: &["copy"], inputs: &["e"], output: "e", extents: 1..=3 },
    KernelFamily { builtin: "reduce", names: &["reduce", "sum"], inputs: &["rc"], output: "r", extents: 1..=2 },
];
/// Parts of a name that say that a kernel computes something else, or more.
const OTHERS: [&str; 14] =
    ["max", "min", "mean", "cumsum", "prefix", "scan", "backward", "bwd", "grad", "norm", "add", "relu", "gelu", "log"];

impl KernelFamily {
    /// The only family of a kernel's name, if its parameters fit.
    pub fn of(kernel: &KernelSource<'_>) -> Option<&'static Self> {
        let family = by_name(kernel.signature.name)?;
        let count = |is: fn(ArgumentKind) -> bool| kernel.names(is).len();
        let fits = family.extents.contains(&count(|kind| matches!(kind, ArgumentKind::Extent(_))))
            && count(|kind| kind == ArgumentKind::Unknown) == 0
            && count(is_input) == family.inputs.len()
            && count(is_output) == 1
            // `C = A * B + beta * C`
            && (family.builtin == "gemm" || count(|kind| matches!(kind, ArgumentKind::Buffer(_, PointerUse::Changed))) == 0);
        fits.then_some(family)
    }
}

fn by_name(name: &str) -> Option<&'static KernelFamily> {
    let name = name.replace('_', "").to_lowercase();
    let part = |family: &KernelFamily| {
        family.names.iter().find(|part| name.contains(**part)).map(|part| name.replace(part, ""))
    };
    let named: Vec<_> = FAMILIES.iter().filter_map(|family| Some((family, part(family)?))).collect();
    match named.as_slice() {
        [(family, rest)] if !OTHERS.iter().any(|other| rest.contains(other)) => Some(*family),
        _ => None,
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
        for (name, builtin) in [
            ("sgemm_naive", Some("gemm")),
            ("MatrixMulCUDA", Some("gemm")),
            ("online_softmax", Some("softmax")),
            ("reduce3", Some("reduce")),
            ("sum_atomic", Some("reduce")),
            ("rowMax_reduce", None),
            ("layernorm_forward_kernel3", None),
            ("gemm_softmax", None),
            ("softmax_backward", None),
            ("my_kernel", None),
        ] {
            assert_eq!(by_name(name).map(|family| family.builtin), builtin, "{name}");
        }
    }
}
