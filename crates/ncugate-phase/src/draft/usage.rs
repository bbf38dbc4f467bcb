//! The use of parameters in a kernel's body, as far as its text shows.

use super::code::{CudaCode, closing, is_word};
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

/// Facts from the body of a kernel.
#[derive(Debug, Clone, Default)]
pub struct Usage<'s> {
    pub pointers: BTreeMap<String, PointerUse>,
    /// Whether it has dynamic shared memory.
    pub has_dynamic_shared: bool,
    /// Whether its threads have two or three axes.
    pub has_thread_axes: bool,
    /// Whether an `if` compares something with an extent.
    pub is_bounded: bool,
    pub words: BTreeSet<&'s str>,
}

impl<'s> Usage<'s> {
    /// Reads the body of a kernel.
    pub fn of(code: &CudaCode<'s>, kernel: &KernelSignature<'s>) -> Self {
        let body = &code.tokens[kernel.body.clone()];
        let is_extent = |token: &&&str| kernel.parameters.iter().any(|p| p.pointers == 0 && p.name == **token);
        let conditions = (0..body.len()).filter(|at| body[*at] == "if");
        let mut conditions = conditions.filter_map(|at| body.get(at + 1..closing(body, at + 1)?));
        let mut statements = body.split(|token| matches!(*token, ";" | "{" | "}"));
        Self {
            pointers: pointer_uses(body, kernel),
            has_dynamic_shared: statements.any(|one| one.contains(&"extern") && one.contains(&"__shared__")),
            has_thread_axes: body.windows(3).any(|window| window == ["threadIdx", ".", "y"]),
            is_bounded: conditions.any(|condition| condition.iter().any(|token| is_extent(&token))),
            words: body.iter().copied().filter(|token| is_word(token)).collect(),
        }
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
    let pointers = || kernel.parameters.iter().filter(|p| p.pointers > 0);
    let mut uses: BTreeMap<String, PointerUse> = pointers().map(|p| (p.name.clone(), of(p))).collect();
    // Device functions may store, and only some pointers permit it.
    if uses.values().all(|used| *used == PointerUse::Read) && pointers().any(|p| p.is_const) {
        uses.extend(pointers().filter(|p| !p.is_const).map(|p| (p.name.clone(), PointerUse::Written)));
    }
    uses
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

    /// Launchers and templates often leave stores to device functions.
    #[test]
    fn pointers_that_permit_stores_are_outputs_if_no_store_is_seen() {
        let uses = |source| of(source, |usage| usage.pointers.values().copied().collect::<Vec<_>>());
        use PointerUse::{Read, Written};
        assert_eq!(uses("__global__ void f(const float *a, float *b) { write(b, a[0]); }"), [Read, Written]);
        assert_eq!(uses("__global__ void f(float *a, float *b) { write(b, a[0]); }"), [Read, Read], "either may be it");
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
}
