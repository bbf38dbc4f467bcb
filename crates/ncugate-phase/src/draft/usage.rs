//! The use of parameters in a kernel's body, as far as its text shows: written pointers, and extents that bound axes.

use super::code::{CudaCode, closing, is_word, joined};
use super::kernel::plain;
use super::signature::{KernelSignature, Parameter};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The use of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerUse {
    /// Only read.
    Read,
    /// Written, without reading the previous content.
    Written,
    /// Read and written.
    Changed,
    /// It is added to, by atomics or `+=`.
    Added,
}

/// An index computed from the block index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockIndex<'s> {
    pub name: &'s str,
    /// Axis of the grid: 0 is `x`.
    pub axis: usize,
    /// The factor of the block index: `TILE` of `blockIdx.x * TILE + threadIdx.x`. Empty for one element a block.
    pub stride: Vec<&'s str>,
    /// `32` of `(blockIdx.x * blockDim.x + threadIdx.x) / 32`.
    pub divisor: Option<&'s str>,
    /// The first extent that it is compared with, also a product. At most one index of an axis has one.
    pub extent: Option<String>,
}

/// Facts from the body of a kernel.
#[derive(Debug, Clone, Default)]
pub struct Usage<'s> {
    pub pointers: BTreeMap<String, PointerUse>,
    /// Pointers with one element per block: `sums[blockIdx.x]`.
    pub of_blocks: BTreeSet<&'s str>,
    /// Indices computed from block indices, in the order of their declarations.
    pub indices: Vec<BlockIndex<'s>>,
    pub thread_axes: usize,
    pub block_axes: usize,
    /// Bytes of an element of its dynamic shared memory, 1 if unknown; none if it uses none.
    pub dynamic_shared: Option<usize>,
    pub words: BTreeSet<&'s str>,
}

impl<'s> Usage<'s> {
    /// Reads the body of a kernel.
    pub fn of(code: &CudaCode<'s>, kernel: &KernelSignature<'s>) -> Self {
        let body = &code.tokens[kernel.body.clone()];
        let axes = |of: &str| {
            let named = |axis: &str| body.windows(3).any(|window| window == [of, ".", axis]);
            1 + ["y", "z"].iter().rposition(|axis| named(axis)).map_or(0, |last| last + 1)
        };
        let of_blocks = body.windows(6).filter(|window| window[1..] == ["[", "blockIdx", ".", "x", "]"]);
        let mut indices = indices(code, body);
        bound(&mut indices, body, |name| kernel.parameters.iter().any(|p| p.pointers == 0 && p.name == name));
        Self {
            pointers: pointer_uses(body, kernel),
            of_blocks: of_blocks.map(|window| window[0]).collect(),
            indices,
            thread_axes: axes("threadIdx"),
            block_axes: axes("blockIdx"),
            dynamic_shared: dynamic_shared(code, body),
            words: body.iter().copied().filter(|token| is_word(token)).collect(),
        }
    }

    /// Extents with the indices that they bound.
    pub fn bounds(&self) -> impl Iterator<Item = (&str, &BlockIndex<'s>)> {
        self.indices.iter().filter_map(|index| Some((index.extent.as_deref()?, index)))
    }
}

/// The use of each pointer, in the order of the text; a store reads its right side first.
fn pointer_uses(body: &[&str], kernel: &KernelSignature<'_>) -> BTreeMap<String, PointerUse> {
    let (names, declarations) = aliases(body, kernel);
    let (mut reads, mut writes, mut adds) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (at, token) in body.iter().enumerate() {
        let Some(name) = names.get(token).filter(|_| !declarations.iter().any(|known| known.contains(&at))) else {
            continue;
        };
        let mut end = at + 1;
        while let Some(after) = body.get(end) {
            end = match (closing(body, end).filter(|_| *after == "["), body.get(end + 1)) {
                (Some(close), _) => close + 1,
                (None, Some(&"[")) if *after == ")" => end + 1,
                _ => break,
            };
        }
        let is_element = end > at + 1 || at > 0 && body[at - 1] == "*";
        let call = body[..at].iter().rfind(|token| !matches!(**token, "&" | "(" | "*")).copied().unwrap_or("");
        let stores = call.starts_with("__st") || call.starts_with("st_") || call.to_lowercase().starts_with("store");
        match body.get(end).copied().unwrap_or("") {
            // `x += offset;` moves the pointer.
            _ if !is_element && !stores && !call.starts_with("atomic") => {}
            "+=" | "-=" | "|=" | "&=" | "^=" | "++" | "--" => _ = adds.entry(*name).or_insert(at),
            _ if call.starts_with("atomic") => _ = adds.entry(*name).or_insert(at),
            mark if matches!(mark, "=" | "*=" | "/=") || stores => {
                let statement = body[end..].split(|token| *token == ";").next().unwrap_or_default();
                let reads_itself = mark.len() > 1 || statement.iter().any(|token| names.get(token) == Some(name));
                if reads_itself {
                    reads.entry(*name).or_insert(at);
                }
                writes.entry(*name).or_insert(at + usize::from(reads_itself));
            }
            _ => _ = reads.entry(*name).or_insert(at),
        }
    }
    let of = |parameter: &Parameter| {
        let name = parameter.name.as_str();
        let (read, write, add) = (reads.get(name), writes.get(name), adds.get(name));
        match (read, write, add) {
            _ if parameter.is_const => PointerUse::Read,
            (_, None, None) => PointerUse::Read,
            (None, None, Some(_)) => PointerUse::Added,
            (_, Some(write), _) if read.into_iter().chain(add).all(|at| at > write) => PointerUse::Written,
            _ => PointerUse::Changed,
        }
    };
    kernel.parameters.iter().filter(|p| p.pointers > 0).map(|p| (p.name.clone(), of(p))).collect()
}

/// Names that point into buffers, and the statements that declare them: `float4 *v = reinterpret_cast<float4 *>(&x[i]);`.
fn aliases<'b>(body: &[&'b str], kernel: &'b KernelSignature<'_>) -> (BTreeMap<&'b str, &'b str>, Vec<Range<usize>>) {
    let pointers = kernel.parameters.iter().filter(|parameter| parameter.pointers > 0);
    let mut names: BTreeMap<&str, &str> = pointers.map(|p| (p.name.as_str(), p.name.as_str())).collect();
    let mut declarations = Vec::new();
    for equals in (2..body.len()).filter(|at| body[*at] == "=" && is_word(body[at - 1])) {
        let before = &body[equals - 2..equals - 1];
        let end = body[equals..].iter().position(|token| *token == ";").map_or(body.len(), |length| equals + length);
        let right = &body[equals + 1..end.max(equals + 1)];
        let of = right.iter().enumerate().find_map(|(at, token)| {
            let is_address = right.get(at + 1) != Some(&"[") || right[..at].contains(&"&");
            names.get(token).filter(|_| is_address).copied()
        });
        let is_pointer = matches!(before, ["*"]) && equals > 2 && !matches!(body[equals - 3], ";" | "{" | "}" | ")");
        if let (true, Some(of)) = (is_pointer || before == ["auto"], of) {
            names.insert(body[equals - 1], of);
            declarations.push(equals - 1..end);
        }
    }
    (names, declarations)
}

/// Bytes of an element of `extern __shared__ double tiles[]`, whose words can have another order.
fn dynamic_shared(code: &CudaCode<'_>, body: &[&str]) -> Option<usize> {
    let mut statements = body.split(|token| matches!(*token, ";" | "{" | "}"));
    let declaration = statements.find(|one| one.contains(&"extern") && one.contains(&"__shared__"))?;
    let before_extent = declaration.split(|token| *token == "[").next()?;
    let words: Vec<&str> = before_extent
        .iter()
        .copied()
        .filter(|token| is_word(token) && !matches!(*token, "extern" | "__shared__"))
        .collect();
    // The last word is the name.
    let found = (0..words.len()).find_map(|first| code.element(&words[first..words.len() - 1].join(" ")));
    Some(found.map_or(1, super::types::ElementType::bytes))
}

/// Indices computed from block indices.
fn indices<'s>(code: &CudaCode<'_>, body: &[&'s str]) -> Vec<BlockIndex<'s>> {
    let mut found: Vec<BlockIndex<'s>> = Vec::new();
    for at in (1..body.len()).filter(|at| body[*at] == "=" && is_word(body[at - 1])) {
        let mut depth = 0_i32;
        let end = body[at + 1..].iter().position(|token| {
            depth += i32::from(matches!(*token, "(" | "{")) - i32::from(matches!(*token, ")" | "}"));
            depth < 0 || depth == 0 && matches!(*token, ";" | ",")
        });
        let right = &body[at + 1..end.map_or(body.len(), |end| at + 1 + end)];
        let is_pointer = at > 1 && matches!(body[at - 2], "*" | "&");
        if !is_pointer && !right.contains(&"[") {
            found.extend(index(code, body[at - 1], right, &found));
        }
    }
    found
}

/// The index that `name = right` makes.
fn index<'s>(
    code: &CudaCode<'_>,
    name: &'s str,
    right: &[&'s str],
    known: &[BlockIndex<'s>],
) -> Option<BlockIndex<'s>> {
    let own = right.windows(3).position(|window| window[..2] == ["blockIdx", "."]);
    let (from, to, mut index) = match own {
        Some(from) => {
            let axis = ["x", "y", "z"].iter().position(|axis| *axis == right[from + 2])?;
            (from, from + 3, BlockIndex { name, axis, stride: Vec::new(), divisor: None, extent: None })
        }
        None => right.iter().enumerate().find_map(|(at, token)| {
            // The `x` of `threadIdx.x` is not the index `x`.
            let of = known.iter().find(|index| index.name == *token && (at == 0 || right[at - 1] != "."))?;
            Some((at, at + 1, BlockIndex { name, extent: None, ..of.clone() }))
        })?,
    };
    if let (true, Some(factor)) = (index.stride.is_empty(), factor(code, right, from, to)) {
        index.stride = factor.to_vec();
    }
    let whole = if right[0] == "(" { closing(right, 0)? + 1 } else { 1 };
    if let (true, Some(["/", divisor])) = (whole >= to, right.get(whole..whole + 2)) {
        index.divisor = Some(divisor);
    }
    Some(index)
}

/// The factor next to `right[from..to]`: `TILE`, `blockDim.x`, or the inside of a parenthesis; casts are skipped.
fn factor<'t, 's>(code: &CudaCode<'_>, right: &'t [&'s str], from: usize, to: usize) -> Option<&'t [&'s str]> {
    let operand = |at: usize| match right.get(at..) {
        Some(["(", ..]) => right.get(at + 1..closing(right, at)?),
        Some([_, ".", ..]) => right.get(at..at + 3),
        _ => right.get(at..=at),
    };
    if right.get(to) == Some(&"*") {
        let first = operand(to + 1)?;
        return match code.element(&joined(first)) {
            Some(_) => operand(to + 1 + first.len() + 2),
            None => Some(first),
        };
    }
    let before = from.checked_sub(2).filter(|_| right[from - 1] == "*")?;
    operand(if before > 1 && right[before - 1] == "." { before - 2 } else { before })
}

/// Records the extents that indices are compared with: `row < M`, `n > i`, `i < B * T`.
fn bound(indices: &mut [BlockIndex<'_>], body: &[&str], is_extent: impl Fn(&str) -> bool) {
    for at in 1..body.len() {
        let (extent, compared) = match body[at] {
            "<" | ">=" => {
                let before = &body[at.saturating_sub(5)..at];
                let start = before.iter().rposition(|token| matches!(*token, "(" | "&&" | "||" | ";" | ","));
                let length = body[at + 1..].iter().position(|token| *token != "*" && !is_extent(token));
                let end = length.map_or(body.len(), |length| at + 1 + length);
                let is_whole = matches!(body.get(end), Some(&(")" | ";" | "&&" | "||" | "?" | ",")));
                (if is_whole { &body[at + 1..end] } else { &[] }, &before[start.map_or(0, |start| start + 1)..])
            }
            ">" | "<=" if is_extent(body[at - 1]) => (&body[at - 1..at], &body[at + 1..body.len().min(at + 3)]),
            _ => continue,
        };
        let Some(place) = indices.iter().position(|index| compared.contains(&index.name)) else { continue };
        let axis = indices[place].axis;
        if !extent.is_empty() && indices.iter().all(|index| index.axis != axis || index.extent.is_none()) {
            indices[place].extent = Some(extent.iter().map(|word| plain(word)).collect::<Vec<_>>().join(" "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::signature::kernels;
    use super::*;

    /// Calls `read` with the usage of the first kernel.
    fn of<T>(source: &str, read: impl Fn(&Usage<'_>) -> T) -> T {
        let texts = [source.to_owned()];
        let code = CudaCode::of(&texts);
        read(&Usage::of(&code, &kernels(&code).remove(0)))
    }

    #[test]
    fn elements_of_dynamic_shared_memory_are_seen_in_any_order_of_words() {
        for (declaration, bytes) in [
            ("extern __shared__ float s[];", Some(4)),
            ("extern double __shared__ s[];", Some(8)),
            ("extern __shared__ __align__(16) unsigned long long s[];", Some(8)),
            ("extern __shared__ __align__(128) float4 s[];", Some(16)),
            ("extern __shared__ Tile s[];", Some(1)),
            ("__shared__ double s[8];", None),
        ] {
            let kernel = format!("__global__ void g(float *a) {{ {declaration} a[0] = s[0]; }}");
            assert_eq!(of(&kernel, |usage| usage.dynamic_shared), bytes, "{declaration}");
        }
    }

    #[test]
    fn what_is_written_through_a_pointer_is_seen() {
        use PointerUse::{Added, Changed, Read, Written};
        for (source, expected) in [
            (
                "int M, float *A, float *B, float *C) { A += 3; float acc = 0;
                for (int k = 0; k < M; k++) acc += A[k] * B[k]; if (A[0] > 0) C[blockIdx.x] = acc + 2 * C[blockIdx.x]; }",
                vec![Read, Read, Changed],
            ),
            (
                "float *a, float *b) { int i = threadIdx.x; b[i] = a[i]; b[i] = b[i] / 2; }",
                vec![Read, Written],
            ),
            (
                "float *a, float *b) { float4 *v = reinterpret_cast<float4 *>(&b[threadIdx.x * 4]);
                v[0] = reinterpret_cast<const float4 *>(a)[0]; }",
                vec![Read, Written],
            ),
            (
                "float *a, float *b) { __shared__ float s[8];
                reinterpret_cast<float4 *>(&s[0])[0] = reinterpret_cast<float4 *>(&a[threadIdx.x])[0];
                reinterpret_cast<float4 *>(&b[threadIdx.x])[0] = reinterpret_cast<float4 *>(&s[0])[0]; }",
                vec![Read, Written],
            ),
            ("const int *a, int *h) { atomicAdd(&h[a[threadIdx.x]], 1); }", vec![Read, Added]),
            ("float *a, float *b) { *b = *a; }", vec![Read, Written]),
            ("float *a, float *b) { a[0] *= 2; b[0] += a[0]; }", vec![Changed, Added]),
            ("float *a, float *b) { __stcs(b + threadIdx.x, a[threadIdx.x]); }", vec![Read, Written]),
            ("float *a, float *b) { for (int i = 0; i < 9; i++) if (b != nullptr) b[i] = a[i]; }", vec![Read, Written]),
        ] {
            let found = of(&format!("__global__ void g({source}"), |usage| usage.pointers.clone());
            assert_eq!(found.into_values().collect::<Vec<_>>(), expected, "{source}");
        }
    }

    #[test]
    fn extents_are_tied_to_axes_of_the_grid() {
        for (source, expected) in [
            (
                "int n, float *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 0; }",
                "n 0 blockDim.x",
            ),
            ("int n, float *x) { size_t i = blockIdx.x * (size_t)T + threadIdx.x; if (n > i) x[i] = 0; }", "n 0 T"),
            (
                "int M, int N, float *x) { const int row = blockIdx.y * 16 + threadIdx.y;
                const int col = blockIdx.x * (2 * T) + threadIdx.x; if (row >= M || col >= N) return; x[0] = 1; }",
                "M 1 16, N 0 2*T",
            ),
            (
                "int n, float *x) { int bx = blockIdx.x, by = blockIdx.y; int r = by * T + threadIdx.y;
                int c = bx * T + threadIdx.x; if (r < n && c < n) x[r * n + c] = 0; }",
                "n 1 T, n 0 T",
            ),
            ("int R, int C, float *x) { int r = blockIdx.x; if (r >= R) return; x[r * C] = 0; }", "R 0 "),
            (
                "int C, float *in, float *out) { int row = blockIdx.x; float *x = in + row * C;
                for (int i = threadIdx.x; i < C; i += blockDim.x) out[row * C + i] = x[i]; }",
                "",
            ),
            (
                "int n, float *x) { for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += 8) x[i] = 0; }",
                "n 0 blockDim.x",
            ),
            (
                "int B, int T, float *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < B * T) x[i] = 0; }",
                "B * T 0 blockDim.x",
            ),
            (
                "int R, float *x) { int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32; if (r < R) x[r] = 0; }",
                "R 0 blockDim.x/32",
            ),
            // neither a half nor what follows it is an extent
            ("int n, float *x) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n / 2) x[i] = 0; }", ""),
        ] {
            let found = of(&format!("__global__ void g({source}"), |usage| {
                let shown = usage.bounds().map(|(extent, index)| {
                    let divisor = index.divisor.map_or_else(String::new, |divisor| format!("/{divisor}"));
                    format!("{extent} {} {}{divisor}", index.axis, joined(&index.stride))
                });
                shown.collect::<Vec<_>>().join(", ")
            });
            assert_eq!(found, expected, "{source}");
        }
    }
}
