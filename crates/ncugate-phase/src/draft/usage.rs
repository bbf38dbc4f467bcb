//! The use of parameters in a kernel's body, as far as its text shows: written pointers, and sizes that bound axes.

use super::signature::{KernelSignature, joined, parts};
use super::token::{CudaToken, Tokens, closing};
use super::types::element;
use std::collections::{BTreeMap, BTreeSet};

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

/// How blocks divide the extent that bounds an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// One thread per element: `blockIdx.x * blockDim.x + threadIdx.x`.
    Threads,
    /// One warp per element.
    Warps,
    /// One block per element: only `blockIdx.x`.
    Blocks,
}

/// An index computed from the block index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockIndex {
    pub name: String,
    /// Axis of the grid: 0 is `x`.
    pub axis: usize,
    pub division: Division,
    /// The factor of the block index, if there is one: `TILE` of `blockIdx.x * TILE + threadIdx.x`.
    pub stride: Option<String>,
    /// The first extent that it is compared with. At most one index of an axis has one.
    pub extent: Option<String>,
}

/// Facts from the body of a kernel.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    pub pointers: BTreeMap<String, PointerUse>,
    /// Indices computed from block indices, in the order of their declarations.
    pub indices: Vec<BlockIndex>,
    /// Whether an extent bounds an index of a thread within its block. That bounds no axis of the grid.
    pub bounds_threads: bool,
    pub thread_axes: usize,
    pub block_axes: usize,
    /// Bytes of an element of its dynamic shared memory, 1 if unknown; none if it uses none.
    pub dynamic_shared: Option<usize>,
    /// Literal extents of its static shared arrays.
    pub shared_extents: Vec<i64>,
    pub words: BTreeSet<String>,
}

impl Usage {
    /// Reads the body of a kernel.
    pub fn of(tokens: &Tokens<'_>, kernel: &KernelSignature) -> Self {
        let body = &tokens.list[kernel.body.clone()];
        let statements = statements(body);
        let extents: Vec<&str> =
            kernel.parameters.iter().filter(|p| p.pointers == 0).map(|p| p.name.as_str()).collect();
        let axes = |of: &str| {
            let named = |axis: &str| body.windows(3).any(|w| w[0].text == of && w[1].text == "." && w[2].text == axis);
            1 + ["y", "z"].iter().rposition(|axis| named(axis)).map_or(0, |last| last + 1)
        };
        Self {
            pointers: pointer_uses(&statements, kernel),
            indices: indices(body, &extents),
            bounds_threads: bounds_threads(body, &extents),
            thread_axes: axes("threadIdx"),
            block_axes: axes("blockIdx"),
            dynamic_shared: dynamic_shared(&statements, tokens),
            shared_extents: shared_extents(&statements, tokens),
            words: body.iter().filter(|token| token.is_word()).map(|token| token.text.to_owned()).collect(),
        }
    }

    /// The extent that bounds an axis of the grid, with the index.
    pub fn bound(&self, axis: usize) -> Option<(&str, &BlockIndex)> {
        self.bounds().find(|(_, index)| index.axis == axis)
    }

    /// Extents with the indices that they bound.
    pub fn bounds(&self) -> impl Iterator<Item = (&str, &BlockIndex)> {
        self.indices.iter().filter_map(|index| Some((index.extent.as_deref()?, index)))
    }
}

pub const ASSIGNING: [&str; 9] = ["=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "%="];

/// Statements: the text between semicolons and braces, without the heads of control statements.
fn statements<'t, 's>(body: &'t [CudaToken<'s>]) -> Vec<&'t [CudaToken<'s>]> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, token) in body.iter().enumerate() {
        match token.text {
            "(" => depth += 1,
            ")" => depth -= 1,
            "{" | "}" => depth = 0,
            _ => {}
        }
        if depth <= 0 && matches!(token.text, ";" | "{" | "}") {
            found.push(without_heads(&body[start..at]));
            start = at + 1;
        }
    }
    found
}

fn without_heads<'t, 's>(mut statement: &'t [CudaToken<'s>]) -> &'t [CudaToken<'s>] {
    loop {
        let after = match statement.first().map(|token| token.text) {
            Some("else" | "do") => Some(1),
            Some("if" | "for" | "while" | "switch") => {
                let open = statement.iter().position(|token| token.text == "(");
                open.and_then(|open| closing(statement, open, "(", ")")).map(|end| end + 1)
            }
            _ => None,
        };
        match after {
            Some(after) => statement = &statement[after..],
            None => return statement,
        }
    }
}

/// Aliases of pointer parameters: `float4* x4 = reinterpret_cast<float4*>(x);`
fn aliases<'s>(statements: &[&[CudaToken<'s>]], pointers: &[&str]) -> BTreeMap<&'s str, String> {
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    for statement in statements {
        let Some(at) = statement.iter().position(|token| token.text == "=").filter(|at| *at > 1) else { continue };
        if !makes_alias(statement, at) {
            continue;
        }
        let right = &statement[at + 1..];
        let source = right.iter().enumerate().find_map(|(place, token)| {
            let of = pointers.iter().find(|name| **name == token.text).map(|name| (*name).to_owned());
            let of = of.or_else(|| found.get(token.text).cloned())?;
            let is_element = right.get(place + 1).is_some_and(|next| next.text == "[");
            let is_address = right[..place].iter().any(|before| before.text == "&");
            (!is_element || is_address).then_some(of)
        });
        if let Some(source) = source {
            found.insert(statement[at - 1].text, source);
        }
    }
    found
}

/// Whether a statement declares a pointer, with its `=` at `equals`.
fn makes_alias(statement: &[CudaToken<'_>], equals: usize) -> bool {
    let declares = |before: &[CudaToken<'_>]| before.iter().any(|token| matches!(token.text, "*" | "auto"));
    equals > 1 && statement[equals - 1].is_word() && statement[0].text != "*" && declares(&statement[..equals - 1])
}

/// The effect of one occurrence of a pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    Add,
}

fn pointer_uses(statements: &[&[CudaToken<'_>]], kernel: &KernelSignature) -> BTreeMap<String, PointerUse> {
    let pointers: Vec<&str> = kernel.parameters.iter().filter(|p| p.pointers > 0).map(|p| p.name.as_str()).collect();
    let aliases = aliases(statements, &pointers);
    let mut met: BTreeMap<&str, Vec<Access>> = BTreeMap::new();
    for statement in statements {
        let mut accesses = accesses(statement, |name| {
            let own = pointers.iter().find(|pointer| **pointer == name).copied();
            own.or_else(|| aliases.get(name).and_then(|of| pointers.iter().find(|pointer| *pointer == of).copied()))
        });
        // The right side is read before the left side is written.
        accesses.sort_by_key(|(_, access)| *access == Access::Write);
        accesses.into_iter().for_each(|(name, access)| met.entry(name).or_default().push(access));
    }
    let is_const = |name: &str| kernel.parameters.iter().any(|p| p.name == name && p.is_const);
    pointers
        .iter()
        .map(|name| {
            let accesses = met.get(name).map_or(&[][..], Vec::as_slice);
            let written = accesses.iter().any(|access| *access != Access::Read) && !is_const(name);
            let of = match accesses.first() {
                _ if !written => PointerUse::Read,
                Some(Access::Write) => PointerUse::Written,
                _ if accesses.iter().all(|access| *access == Access::Add) => PointerUse::Added,
                Some(Access::Read | Access::Add) | None => PointerUse::Changed,
            };
            ((*name).to_owned(), of)
        })
        .collect()
}

/// The effects of a statement on pointers, in the order of its text.
fn accesses<'p>(statement: &[CudaToken<'_>], pointer: impl Fn(&str) -> Option<&'p str>) -> Vec<(&'p str, Access)> {
    let depths = statement.iter().scan(0_i32, |depth, token| {
        *depth += i32::from(token.text == "[") - i32::from(token.text == "]");
        Some(*depth == 0)
    });
    let is_outer: Vec<bool> = depths.collect();
    let assignment = (0..statement.len()).find(|at| is_outer[*at] && ASSIGNING.contains(&statement[*at].text));
    let makes_alias = assignment.is_some_and(|equals| makes_alias(statement, equals));
    let steps = statement.iter().any(|token| matches!(token.text, "++" | "--"));
    let mut found = Vec::new();
    for (at, token) in statement.iter().enumerate() {
        let Some(name) = pointer(token.text) else { continue };
        let next = statement.get(at + 1).map(|token| token.text);
        let is_target = is_outer[at] && assignment.is_some_and(|equals| at < equals);
        // `float *x = y;` declares the pointer, and `x += offset;` moves it.
        let moves = is_target && assignment == Some(at + 1) && statement[0].text != "*";
        // `float *row = x + r * C;` gives it another name.
        let is_address =
            || assignment.is_some_and(|equals| statement[equals..at].iter().any(|before| before.text == "&"));
        let is_named_anew = makes_alias && !is_target && (next != Some("[") || is_address());
        if moves || is_named_anew {
            continue;
        }
        let adds = assignment.is_some_and(|equals| statement[equals].text != "=");
        let is_step = steps && next == Some("[") && assignment.is_none();
        if is_outer[at] && is_first_of(statement, at, is_atomic) {
            found.push((name, Access::Add));
        } else if is_target || is_outer[at] && is_first_of(statement, at, is_store) {
            found.push((name, if adds { Access::Add } else { Access::Write }));
        } else if is_outer[at] && is_step {
            found.push((name, Access::Add));
        } else if next == Some("[") || at > 0 {
            found.push((name, Access::Read));
        }
    }
    found
}

/// Whether a pointer is in the first argument of the enclosing call of a function selected by `is`.
fn is_first_of(statement: &[CudaToken<'_>], at: usize, is: impl Fn(&str) -> bool) -> bool {
    (1..at).rev().any(|open| {
        statement[open].text == "("
            && statement[open - 1].is_word()
            && is(statement[open - 1].text)
            && closing(statement, open, "(", ")").is_some_and(|end| {
                end > at && parts(&statement[open + 1..end]).first().is_some_and(|first| first.len() + open >= at)
            })
    })
}

fn is_atomic(word: &str) -> bool {
    word.starts_with("atomic")
}

fn is_store(word: &str) -> bool {
    word.starts_with("__st") || word.to_lowercase().starts_with("store") || word.starts_with("st_")
}

/// Bytes of an element of `extern __shared__ double tiles[]`, whose words can have another order.
fn dynamic_shared(statements: &[&[CudaToken<'_>]], tokens: &Tokens<'_>) -> Option<usize> {
    let has = |statement: &[CudaToken<'_>], word: &str| statement.iter().any(|token| token.text == word);
    let declaration = statements.iter().find(|one| has(one, "extern") && has(one, "__shared__"))?;
    let before_extent = declaration.split(|token| token.text == "[").next()?;
    let words = before_extent.iter().filter(|token| token.is_word() && !matches!(token.text, "extern" | "__shared__"));
    // The last word is the name.
    let words: Vec<&str> = words.map(|token| token.text).collect();
    let found = (0..words.len()).find_map(|first| element(tokens, &words[first..words.len() - 1].join(" ")));
    Some(found.map_or(1, |of| of.dtype.size() * usize::from(of.lanes)))
}

fn shared_extents(statements: &[&[CudaToken<'_>]], tokens: &Tokens<'_>) -> Vec<i64> {
    let declarations = statements.iter().filter(|statement| {
        statement.iter().any(|token| token.text == "__shared__") && statement.iter().all(|token| token.text != "extern")
    });
    let extent = |window: &[CudaToken<'_>]| match (window[0].text, window[2].text) {
        ("[", "]") => tokens.number(window[1].text),
        _ => None,
    };
    declarations.flat_map(|statement| statement.windows(3).filter_map(extent).collect::<Vec<_>>()).collect()
}

/// Indices computed from block indices, with their bounds.
fn indices(body: &[CudaToken<'_>], extents: &[&str]) -> Vec<BlockIndex> {
    let mut found: Vec<BlockIndex> = Vec::new();
    let mut grids = vec!["this_grid"];
    for at in 1..body.len() {
        let is_pointer = at > 1 && matches!(body[at - 2].text, "*" | "&");
        if body[at].text != "=" || !body[at - 1].is_word() || is_pointer {
            continue;
        }
        let right = &body[at + 1..right_end(body, at)];
        let is_grid = right.iter().any(|token| token.text == "this_grid");
        match index(body[at - 1].text, right, &found, &grids) {
            None if is_grid => grids.push(body[at - 1].text),
            index => found.extend(index),
        }
    }
    bound(&mut found, body, extents);
    found
}

/// The index that `name = right` makes; `grids` are names of the group of all threads.
fn index(name: &str, right: &[CudaToken<'_>], known: &[BlockIndex], grids: &[&str]) -> Option<BlockIndex> {
    let made =
        |axis, division, stride| Some(BlockIndex { name: name.to_owned(), axis, division, stride, extent: None });
    let has = |word: &str| right.iter().any(|token| token.text == word);
    let threads = ["threadIdx", "thread_rank", "tid", "tidx", "tx", "ty", "t"].into_iter().any(has);
    let warps = right.iter().any(|token| token.text.to_lowercase().contains("warp"))
        || right.windows(2).any(|w| w[0].text == "/" && w[1].text == "32" || w[0].text == ">" && w[1].text == "5");
    let division = match (warps, threads) {
        (true, _) => Division::Warps,
        (false, true) => Division::Threads,
        (false, false) => Division::Blocks,
    };
    let block = right.windows(3).position(|w| w[0].text == "blockIdx" && w[1].text == ".");
    let axis = block.and_then(|at| ["x", "y", "z"].iter().position(|axis| *axis == right[at + 2].text));
    if let (Some(axis), Some(at)) = (axis, block) {
        return made(axis, division, factor(right, at, at + 3));
    }
    if has("thread_rank") && grids.iter().any(|grid| has(grid)) {
        return made(0, Division::Threads, None);
    }
    // The `x` of `threadIdx.x` is not the index `x`.
    let is_member = |at: usize| at > 0 && right[at - 1].text == ".";
    let of = |at: usize| known.iter().find(|index| !is_member(at) && index.name == right[at].text);
    let (at, of) = (0..right.len()).find_map(|at| Some((at, of(at)?)))?;
    if has("[") {
        return None;
    }
    let stride = factor(right, at, at + 1).or_else(|| of.stride.clone());
    made(of.axis, if threads { Division::Threads } else { of.division }, stride)
}

/// The factor next to `right[from..to]`: `TILE`, or the inside of a parenthesis.
fn factor(right: &[CudaToken<'_>], from: usize, to: usize) -> Option<String> {
    let is_times = |at: usize| right.get(at).is_some_and(|token| token.text == "*");
    if is_times(to) {
        return Some(match right.get(to + 1)?.text {
            "(" => joined(&right[to + 2..closing(right, to + 1, "(", ")")?]),
            word => word.to_owned(),
        });
    }
    let before = from.checked_sub(2)?;
    let is_member = before > 0 && right[before - 1].text == ".";
    (is_times(from - 1) && !is_member).then(|| right[before].text.to_owned())
}

/// Records the extents that indices are compared with: `row < M`, `n > i`, `i + 3 < n`.
fn bound(indices: &mut [BlockIndex], body: &[CudaToken<'_>], extents: &[&str]) {
    for (extent, compared) in comparisons(body, extents) {
        let of = |token: &CudaToken<'_>| indices.iter().position(|index| index.name == token.text);
        let Some(place) = compared.iter().find_map(of) else { continue };
        let axis = indices[place].axis;
        if indices.iter().all(|index| index.axis != axis || index.extent.is_none()) {
            indices[place].extent = Some(extent.to_owned());
        }
    }
}

/// Extents with the text that is compared with each.
fn comparisons<'t, 's>(
    body: &'t [CudaToken<'s>],
    extents: &'t [&str],
) -> impl Iterator<Item = (&'s str, &'t [CudaToken<'s>])> {
    body.iter().enumerate().filter(|(_, token)| extents.contains(&token.text)).filter_map(|(at, token)| {
        let before = at > 0 && matches!(body[at - 1].text, "<" | ">=" | "<=");
        let after = body.get(at + 1).is_some_and(|next| matches!(next.text, ">" | "<="));
        let window = if before {
            &body[at.saturating_sub(5)..at - 1]
        } else if after {
            &body[(at + 2).min(body.len())..(at + 4).min(body.len())]
        } else {
            return None;
        };
        let cut = window.iter().rposition(|token| matches!(token.text, "(" | "&&" | "||" | ";")).filter(|_| before);
        Some((token.text, &window[cut.map_or(0, |cut| cut + 1)..]))
    })
}

/// Whether an extent bounds an index made of `threadIdx` without `blockIdx`: `for (int i = threadIdx.x; i < C; ...)`.
fn bounds_threads(body: &[CudaToken<'_>], extents: &[&str]) -> bool {
    let mut names = vec!["threadIdx"];
    // the rank in a group of all threads is an index of the grid
    if body.iter().all(|token| token.text != "this_grid") {
        names.push("thread_rank");
    }
    for at in 1..body.len() {
        if body[at].text != "=" || !body[at - 1].is_word() || at > 1 && matches!(body[at - 2].text, "*" | "&") {
            continue;
        }
        let right = &body[at + 1..right_end(body, at)];
        let has = |names: &[&str]| right.iter().any(|token| names.contains(&token.text));
        if has(&names) && !has(&["blockIdx", "["]) {
            names.push(body[at - 1].text);
        }
    }
    comparisons(body, extents).any(|(_, compared)| compared.iter().any(|token| names.contains(&token.text)))
}

/// The end of the right side of the assignment at `equals`.
fn right_end(body: &[CudaToken<'_>], equals: usize) -> usize {
    let (mut depth, mut end) = (0_i32, equals + 1);
    while let Some(token) = body.get(end) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth < 0 || depth == 0 && matches!(token.text, ";" | ",") {
            break;
        }
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::super::signature::kernels;
    use super::*;

    fn of(source: &str) -> Usage {
        let tokens = Tokens::of(source);
        let kernel = kernels(&tokens).remove(0);
        Usage::of(&tokens, &kernel)
    }

    fn uses(source: &str) -> Vec<PointerUse> {
        of(source).pointers.into_values().collect()
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
            assert_eq!(of(&kernel).dynamic_shared, bytes, "{declaration}");
        }
    }

    #[test]
    fn what_is_written_through_a_pointer_is_seen() {
        use PointerUse::{Added, Changed, Read, Written};
        let sgemm = "__global__ void g(int M, float *A, float *B, float *C) { A += 3; float acc = 0;
            for (int k = 0; k < M; k++) acc += A[k] * B[k]; if (A[0] > 0) C[blockIdx.x] = acc + 2 * C[blockIdx.x]; }";
        assert_eq!(uses(sgemm), [Read, Read, Changed]);
        let plain = "__global__ void g(float *a, float *b) { int i = threadIdx.x; b[i] = a[i]; b[i] = b[i] / 2; }";
        assert_eq!(uses(plain), [Read, Written]);
        let cast =
            "__global__ void g(float *a, float *b) { float4 *v = reinterpret_cast<float4 *>(&b[threadIdx.x * 4]);
            v[0] = reinterpret_cast<const float4 *>(a)[0]; }";
        assert_eq!(uses(cast), [Read, Written]);
        let vectors = "__global__ void g(float *a, float *b) { __shared__ float s[8];
            reinterpret_cast<float4 *>(&s[0])[0] = reinterpret_cast<float4 *>(&a[threadIdx.x])[0];
            reinterpret_cast<float4 *>(&b[threadIdx.x])[0] = reinterpret_cast<float4 *>(&s[0])[0]; }";
        assert_eq!(uses(vectors), [Read, Written]);
        let atomics = "__global__ void g(const int *a, int *h) { atomicAdd(&h[a[threadIdx.x]], 1); }";
        assert_eq!(uses(atomics), [Read, Added]);
        let star = "__global__ void g(float *a, float *b) { *b = *a; }";
        assert_eq!(uses(star), [Read, Written]);
        let stored = "__global__ void g(float *a, float *b) { __stcs(b + threadIdx.x, a[threadIdx.x]); }";
        assert_eq!(uses(stored), [Read, Written]);
    }

    fn bounds(usage: &Usage) -> Vec<(&str, usize, Division, Option<&str>)> {
        usage.bounds().map(|(extent, index)| (extent, index.axis, index.division, index.stride.as_deref())).collect()
    }

    #[test]
    fn extents_are_tied_to_axes_of_the_grid() {
        use Division::{Blocks, Threads};
        let plain = of(
            "__global__ void g(int n, float *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 0; }",
        );
        assert_eq!(bounds(&plain), [("n", 0, Threads, Some("blockDim"))]);
        let grid = of("__global__ void g(int M, int N, float *x) { const int row = blockIdx.y * 16 + threadIdx.y;
            const int col = blockIdx.x * (2 * T) + threadIdx.x; if (row >= M || col >= N) return; x[0] = 1; }");
        assert_eq!(bounds(&grid), [("M", 1, Threads, Some("16")), ("N", 0, Threads, Some("2*T"))]);
        assert_eq!((grid.thread_axes, grid.block_axes), (2, 2));
        let square = of(
            "__global__ void g(int n, float *x) { int bx = blockIdx.x, by = blockIdx.y; int r = by * T + threadIdx.y;
            int c = bx * T + threadIdx.x; if (r < n && c < n) x[r * n + c] = 0; }",
        );
        assert_eq!(bounds(&square), [("n", 1, Threads, Some("T")), ("n", 0, Threads, Some("T"))]);
        let rows = of("__global__ void g(int R, int C, float *x) { int r = blockIdx.x; if (r >= R) return;
            for (int c = threadIdx.x; c < C; c += blockDim.x) x[r * C + c] = 0; }");
        assert_eq!(bounds(&rows), [("R", 0, Blocks, None)]);
        let of_pointer =
            of("__global__ void g(int C, float *in, float *out) { int row = blockIdx.x; float *x = in + row * C;
            for (int i = threadIdx.x; i < C; i += blockDim.x) out[row * C + i] = x[i]; }");
        assert!(bounds(&of_pointer).is_empty() && of_pointer.bounds_threads);
        let looped = of(
            "__global__ void g(int n, float *x) { for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += 8) x[i] = 0; }",
        );
        assert_eq!(bounds(&looped), [("n", 0, Threads, None)]);
        let group = of("__global__ void g(int n, float *x) { cg::grid_group all = cg::this_grid();
            for (int i = all.thread_rank(); i < n; i += all.size()) x[i] = 0; all.sync(); }");
        assert_eq!(bounds(&group), [("n", 0, Threads, None)]);
        let block = of("__global__ void g(int n, float *x) { auto all = cg::this_thread_block();
            for (int i = all.thread_rank(); i < n; i += all.size()) x[i] = 0; }");
        assert!(bounds(&block).is_empty() && block.bounds_threads && !group.bounds_threads);
    }

    #[test]
    fn loops_over_a_block_bound_indices_of_threads() {
        let bounds = |body: &str| of(&format!("__global__ void g(int R, int C, float *x) {{ {body} }}")).bounds_threads;
        for body in [
            "for (int i = threadIdx.x; i < C; i += blockDim.x) x[blockIdx.x * C + i] = 0;",
            "int t = threadIdx.x, lane = t & 31; for (int i = lane * 4; i + 3 < C; i += 128) x[i] = 0;",
            "if (threadIdx.x >= C) return; x[threadIdx.x] = 0;",
        ] {
            assert!(bounds(body), "{body}");
        }
        for body in [
            "for (int k = 0; k < C; k++) x[threadIdx.x] += k;",
            "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < C) x[i] = 0;",
            "float v = x[threadIdx.x]; if (v < C) x[0] = 0;",
        ] {
            assert!(!bounds(body), "{body}");
        }
    }
}
