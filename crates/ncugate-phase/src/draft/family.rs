//! The computation of a kernel, guessed from its name and its parameters.

/// A family of kernels, with its reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelFamily {
    /// `c = alpha * a b + beta * c`
    Gemm,
    /// Softmax over the last axis.
    Softmax,
    /// A sum, maximum, minimum or mean over the last axis.
    Reduce(&'static str),
    /// Copies values unchanged.
    Copy,
    /// Normalises a row by its mean and variance.
    LayerNorm,
    /// Divides a row by its root mean square.
    RmsNorm,
    /// Rows and columns exchanged.
    Transpose,
    /// Counts of each value.
    Histogram,
    /// A matrix times a vector.
    Gemv,
    /// `y = a x + y`
    Axpy,
    /// The sum of products.
    Dot,
    /// An expression of NumPy over the inputs, element by element; `{0}` is the first input.
    Elementwise(&'static str),
    Unknown,
}

/// The only family that a name suggests; a name that suggests several, such as `add_relu`, has none.
pub fn by_name(name: &str) -> KernelFamily {
    let words = words(name);
    let flat = words.concat();
    let has = |word: &str| words.iter().any(|own| own == word);
    let part = |text: &str| flat.contains(text);
    let operation = || {
        let of = |names: &[&str]| names.iter().any(|name| has(name));
        match (of(&["max", "maximum"]), of(&["min", "minimum"]), of(&["mean", "avg", "average"])) {
            (true, false, false) => "max",
            (false, true, false) => "min",
            (false, false, true) => "mean",
            _ => "sum",
        }
    };
    let normal = part("layernorm") || has("ln") || part("rmsnorm");
    let reduces = part("reduce") || part("reduction") || has("sum") || has("rowsum") || part("rowmax");
    let told = [
        (part("gemm") || part("matmul") || part("matrixmul") || part("matmult") || has("mm"), KernelFamily::Gemm),
        (part("softmax"), KernelFamily::Softmax),
        (
            reduces && !part("softmax") && !normal,
            KernelFamily::Reduce(if part("rowmax") { "max" } else { operation() }),
        ),
        (has("copy") || part("memcpy"), KernelFamily::Copy),
        (part("layernorm") || has("ln"), KernelFamily::LayerNorm),
        (part("rmsnorm"), KernelFamily::RmsNorm),
        (part("transpose"), KernelFamily::Transpose),
        (part("hist"), KernelFamily::Histogram),
        (part("gemv") || part("matvec") || has("mv"), KernelFamily::Gemv),
        (part("axpy"), KernelFamily::Axpy),
        (has("dot") || part("dotproduct"), KernelFamily::Dot),
        (part("relu") && !part("prelu") && !part("leaky"), KernelFamily::Elementwise("np.maximum({0}, 0)")),
        (part("silu") || part("swish"), KernelFamily::Elementwise("{0} / (1 + np.exp(-{0}))")),
        (part("sigmoid"), KernelFamily::Elementwise("1 / (1 + np.exp(-{0}))")),
        (has("add") || part("vecadd") || part("vectoradd"), KernelFamily::Elementwise("{0} + {1}")),
    ];
    let backward = has("backward") || has("bwd") || has("grad");
    let mut found = told.into_iter().filter(|(holds, _)| *holds && !backward).map(|(_, family)| family);
    match (found.next(), found.next()) {
        (Some(family), None) => family,
        _ => KernelFamily::Unknown,
    }
}

/// Words of a name in lower case: `rowSoftmax_v2` is `row`, `softmax`, `v2`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        let starts = c == '_' || c.is_uppercase() && before.is_lowercase();
        if starts {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c != '_', words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_speaks_of_one_family_or_of_none() {
        for (name, family) in [
            ("sgemm_naive", KernelFamily::Gemm),
            ("MatrixMulCUDA", KernelFamily::Gemm),
            ("online_softmax", KernelFamily::Softmax),
            ("reduce3", KernelFamily::Reduce("sum")),
            ("rowMax_reduce", KernelFamily::Reduce("max")),
            ("blockReduceMean", KernelFamily::Reduce("mean")),
            ("layernorm_forward_kernel3", KernelFamily::LayerNorm),
            ("transposeCoalesced", KernelFamily::Transpose),
            ("histogram256Kernel", KernelFamily::Histogram),
            ("vectorAdd", KernelFamily::Elementwise("{0} + {1}")),
            ("saxpy", KernelFamily::Axpy),
            ("add_relu", KernelFamily::Unknown),
            ("softmax_backward", KernelFamily::Unknown),
            ("my_kernel", KernelFamily::Unknown),
        ] {
            assert_eq!(by_name(name), family, "{name}");
        }
    }
}
