//! Variables of a source that the host has to fill before a kernel is launched.

use super::signature::{KernelSignature, joined, kernels, parts};
use super::token::{CudaToken, Tokens, closing, integer};
use super::usage::ASSIGNING;
use std::collections::BTreeSet;

/// A `__constant__` or `__device__` variable that a kernel reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftSymbol {
    pub name: String,
    /// Its type in the source, without extents.
    pub of: String,
    /// Extents as expressions of numbers; none for an extent that is not a constant of the source.
    pub extents: Vec<Option<String>>,
    pub origin: SymbolOrigin,
}

/// Why a variable is drafted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolOrigin {
    /// The host code copies to it.
    Copied,
    /// It is `__constant__` and has no initialiser.
    Constant,
    /// It is `__device__`, has no initialiser, and nothing in the source writes it.
    Unwritten,
    /// It is `__device__`, has no initialiser, and device code writes it: it begins as zeros, which can be intended.
    Zeroed,
}

/// The variables that a kernel reads, itself or through functions of the source, and that no initialiser fills.
pub fn symbols(tokens: &Tokens<'_>, kernel: &KernelSignature, expanded: Option<&Tokens<'_>>) -> Vec<DraftSymbol> {
    let mut words = words_of(&tokens.list[kernel.body.clone()]);
    if let Some(expanded) = expanded {
        let same = kernels(expanded).into_iter().find(|other| other.name == kernel.name);
        words.extend(same.into_iter().flat_map(|same| words_of(&expanded.list[same.body])));
    }
    let read = reached(tokens, words);
    let copied = copied(&tokens.list);
    let mut found: Vec<DraftSymbol> = Vec::new();
    for list in [&tokens.list, &tokens.included] {
        let places = (0..list.len()).filter(|at| matches!(list[*at].text, "__constant__" | "__device__"));
        for (mut symbol, is_initialised) in places.flat_map(|place| declared(tokens, list, place)) {
            let name = symbol.name.as_str();
            let (is_copied, is_known) = (copied.contains(name), found.iter().any(|known| known.name == name));
            if is_known || !read.contains(name) || is_initialised && !is_copied {
                continue;
            }
            if is_copied {
                symbol.origin = SymbolOrigin::Copied;
            } else if symbol.origin == SymbolOrigin::Unwritten && is_written(list, name) {
                symbol.origin = SymbolOrigin::Zeroed;
            }
            found.push(symbol);
        }
    }
    found
}

fn words_of<'s>(body: &[CudaToken<'s>]) -> BTreeSet<&'s str> {
    body.iter().filter(|token| token.is_word()).map(|token| token.text).collect()
}

/// The words, and those in the bodies of the functions that they name.
fn reached<'s>(tokens: &Tokens<'s>, words: BTreeSet<&'s str>) -> BTreeSet<&'s str> {
    let (mut waiting, mut met): (Vec<&str>, BTreeSet<&str>) = (words.into_iter().collect(), BTreeSet::new());
    while let Some(word) = waiting.pop() {
        if met.insert(word) {
            let bodies = [&tokens.list, &tokens.included].into_iter().flat_map(|list| bodies(list, word));
            waiting.extend(bodies.flat_map(words_of));
        }
    }
    met
}

/// The bodies of functions of that name.
fn bodies<'t, 's>(list: &'t [CudaToken<'s>], name: &str) -> Vec<&'t [CudaToken<'s>]> {
    let body = |at: usize| {
        let open = closing(list, at + 1, "(", ")")? + 1;
        let is_function = list.get(open)?.text == "{"
            && at > 0
            && (list[at - 1].is_word() || matches!(list[at - 1].text, "*" | "&" | ">"));
        let end = is_function.then(|| closing(list, open, "{", "}")).flatten()?;
        Some(&list[open + 1..end])
    };
    let named = (0..list.len().saturating_sub(1)).filter(|at| list[*at].text == name && list[at + 1].text == "(");
    named.filter_map(body).collect()
}

/// Names in the first argument of copies to variables.
fn copied<'s>(list: &[CudaToken<'s>]) -> BTreeSet<&'s str> {
    let is_copy = |word: &str| word.starts_with("cudaMemcpyToSymbol") || word.starts_with("cudaGetSymbolAddress");
    let mut names = BTreeSet::new();
    for at in (0..list.len()).filter(|at| is_copy(list[*at].text)) {
        let Some(end) = closing(list, at + 1, "(", ")") else { continue };
        let arguments = parts(&list[at + 2..end]);
        // `cudaGetSymbolAddress` has its variable in the second place.
        let place = usize::from(list[at].text.starts_with("cudaGet"));
        names.extend(arguments.get(place).into_iter().flat_map(|part| words_of(part)));
    }
    names
}

/// Whether a variable is assigned or passed by its address: `ticket = 0`, `table[i] += x`, `atomicAdd(&ticket, 1)`.
fn is_written(list: &[CudaToken<'_>], name: &str) -> bool {
    (1..list.len()).filter(|at| list[*at].text == name).any(|at| {
        let mut next = at + 1;
        while list.get(next).is_some_and(|token| token.text == "[") {
            let Some(end) = closing(list, next, "[", "]") else { break };
            next = end + 1;
        }
        let is_step = |at: usize| list.get(at).is_some_and(|token| matches!(token.text, "++" | "--"));
        let is_assigned = list.get(next).is_some_and(|token| ASSIGNING.contains(&token.text));
        let is_address = at > 1 && list[at - 1].text == "&" && matches!(list[at - 2].text, "(" | "," | "=");
        is_assigned || is_step(next) || is_step(at - 1) || is_address
    })
}

/// The variables of the declaration with this `__constant__` or `__device__`, and whether each has an initialiser.
/// Empty for a function and for an `extern` declaration.
fn declared(tokens: &Tokens<'_>, list: &[CudaToken<'_>], place: usize) -> Vec<(DraftSymbol, bool)> {
    let start = (0..place).rev().find(|at| matches!(list[*at].text, ";" | "{" | "}" | ">")).map_or(0, |at| at + 1);
    let Some(end) = (place..list.len()).find(|at| list[*at].text == ";") else { return Vec::new() };
    if list[start..end].iter().any(|token| token.text == "extern") {
        return Vec::new();
    }
    let is_constant = list[start..end].iter().any(|token| token.text == "__constant__");
    let origin = if is_constant { SymbolOrigin::Constant } else { SymbolOrigin::Unwritten };
    let mut plain: Vec<CudaToken<'_>> = Vec::new();
    let mut at = place + 1;
    while at < end {
        let is_attribute = matches!(list[at].text, "__align__" | "alignas" | "__attribute__");
        match closing(list, at + 1, "(", ")").filter(|_| is_attribute) {
            Some(close) => at = close,
            None if QUALIFIERS.contains(&list[at].text) => {}
            None => plain.push(list[at]),
        }
        at += 1;
    }
    let mut of = None;
    let mut found = Vec::new();
    for part in parts(&plain) {
        let stop = part.iter().position(|token| matches!(token.text, "=" | "{" | "[")).unwrap_or(part.len());
        let (declared, rest) = part.split_at(stop);
        let Some((name, before)) = declared.split_last().filter(|(name, _)| name.is_word()) else { return found };
        if declared.iter().any(|token| token.text == "(") {
            return found;
        }
        let of = of.get_or_insert_with(|| joined(before)).clone();
        if of.is_empty() {
            return found;
        }
        let is_initialised = rest.iter().any(|token| matches!(token.text, "=" | "{"));
        found.push((
            DraftSymbol { name: name.text.to_owned(), of, extents: extents(tokens, rest), origin },
            is_initialised,
        ));
    }
    found
}

const QUALIFIERS: [&str; 7] = ["static", "const", "volatile", "inline", "struct", "__constant__", "__device__"];

/// `[N][M + 1]` as expressions of numbers.
fn extents(tokens: &Tokens<'_>, mut rest: &[CudaToken<'_>]) -> Vec<Option<String>> {
    let mut found = Vec::new();
    while rest.first().is_some_and(|token| token.text == "[") {
        let Some(end) = closing(rest, 0, "[", "]") else { break };
        let word = |token: &CudaToken<'_>| match token.text {
            "+" | "-" | "*" => Some(format!(" {} ", token.text)),
            "(" | ")" => Some(token.text.to_owned()),
            text => integer(text).or_else(|| tokens.constant(text)).map(|number| number.to_string()),
        };
        let inside = &rest[1..end];
        found.push(inside.iter().map(word).collect::<Option<String>>().filter(|text| !text.is_empty()));
        rest = &rest[end + 1..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Vec<(String, String, SymbolOrigin)> {
        let tokens = Tokens::of(source);
        let kernel = kernels(&tokens).remove(0);
        let shown = |symbol: DraftSymbol| {
            let extents = symbol.extents.iter().map(|extent| format!("[{}]", extent.as_deref().unwrap_or("?")));
            (symbol.name, format!("{}{}", symbol.of, extents.collect::<String>()), symbol.origin)
        };
        symbols(&tokens, &kernel, None).into_iter().map(shown).collect()
    }

    fn one(name: &str, of: &str, origin: SymbolOrigin) -> (String, String, SymbolOrigin) {
        (name.to_owned(), of.to_owned(), origin)
    }

    #[test]
    fn variables_without_an_initialiser_are_found_and_others_are_not() {
        use SymbolOrigin::{Constant, Copied, Unwritten, Zeroed};
        let found = of("#define R 4\nconstexpr int W = 2;
            __constant__ float stencil[R + 1], other[2];
            static __device__ __constant__ unsigned int table[W][R];
            namespace n { struct Params { int a; }; __constant__ Params params; }
            __constant__ float fixed[2] = {1, 2}; __device__ int counter = 0; extern __constant__ float elsewhere[4];
            __device__ unsigned int ticket; __device__ int mask; __constant__ float unread[3]; __device__ float scale = 1; __constant__ int open[SIZE];
            __device__ float weight(int i) { return other[i]; }
            __global__ void k(float *x) { x[0] = stencil[0] + weight(1) + table[0][0] + n::params.a + fixed[0] + counter
                + elsewhere[0] + atomicAdd(&ticket, 1) + scale + open[0] + (int(x[1]) & mask); }
            void h() { cudaMemcpyToSymbol(scale, &s, 4); }");
        assert_eq!(
            found,
            [
                one("stencil", "float[4 + 1]", Constant),
                one("other", "float[2]", Constant),
                one("table", "unsigned int[2][4]", Constant),
                one("params", "Params", Constant),
                one("ticket", "unsigned int", Zeroed),
                one("mask", "int", Unwritten),
                one("scale", "float", Copied),
                one("open", "int[?]", Constant),
            ]
        );
    }

    #[test]
    fn functions_lambdas_and_unended_declarations_are_no_variables() {
        assert!(of("__device__ float f(float x) { return x; } __device__ int g(int);
            __global__ void k(float *x) { x[0] = f(x[0]) + g(1); auto l = [] __device__ (int i) { return i; }; } __constant__ float k2[")
            .is_empty());
    }
}
