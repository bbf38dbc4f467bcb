//! The kernel launch in the host code of the source: `reduce<float, 256><<<grid, 256>>>(...)`.

use super::signature::{KernelSignature, joined, parts};
use super::token::{CudaToken, Tokens, closing};
use super::types::element;

/// A launch in host code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchSite {
    /// Its template arguments, if each is a type or a number.
    pub template: Vec<String>,
    /// Grid and block as written.
    pub written: Option<String>,
    /// Extents of the block, if they are numbers.
    pub block: Option<Vec<i64>>,
}

impl LaunchSite {
    /// The first launch of a kernel in the source.
    pub fn of(tokens: &Tokens<'_>, kernel: &KernelSignature) -> Self {
        let list = &tokens.list;
        let mut site = Self::default();
        for at in (0..list.len()).filter(|at| list[*at].text == kernel.name && !kernel.body.contains(at)) {
            let mut place = at + 1;
            if list.get(place).is_some_and(|next| next.text == "<") && !are_three(list, place, "<") {
                let Some(end) = angle_end(list, place) else { continue };
                let arguments = parts(&list[place + 1..end]);
                let resolved: Option<Vec<String>> = arguments.iter().map(|part| argument(tokens, part)).collect();
                if site.template.is_empty() && resolved.as_ref().is_some_and(|all| all.len() == kernel.template.len()) {
                    site.template = resolved.unwrap_or_default();
                }
                place = end + 1;
            }
            if site.written.is_none() && are_three(list, place, "<") {
                let end = (place..list.len()).find(|end| are_three(list, *end, ">"));
                let Some(inside) = end.map(|end| &list[place + 3..end]) else { continue };
                let configuration = parts(inside);
                site.written = Some(joined(inside));
                site.block = configuration.get(1).and_then(|block| extents(tokens, block));
            }
        }
        site
    }
}

/// Whether the tokens at this position are `<<<` or `>>>`.
fn are_three(list: &[CudaToken<'_>], at: usize, mark: &str) -> bool {
    list.get(at..at + 3).is_some_and(|marks| marks.iter().all(|token| token.text == mark))
}

/// The `>` that closes template arguments without expressions.
fn angle_end(list: &[CudaToken<'_>], open: usize) -> Option<usize> {
    let end = (open + 1..list.len().min(open + 40)).find(|at| matches!(list[*at].text, ">" | ";" | "{"))?;
    (list[end].text == ">").then_some(end)
}

/// A template argument with the same meaning elsewhere: a number, a constant of the file, a type.
fn argument(tokens: &Tokens<'_>, part: &[CudaToken<'_>]) -> Option<String> {
    let text = joined(part);
    match tokens.number(&text) {
        Some(number) => Some(number.to_string()),
        None => (matches!(text.as_str(), "true" | "false") || element(tokens, &text).is_some()).then_some(text),
    }
}

/// `256`, a constant, `dim3(16, 16)`, or a variable `dim3 block(16, 16)`.
fn extents(tokens: &Tokens<'_>, part: &[CudaToken<'_>]) -> Option<Vec<i64>> {
    if let Some(value) = product(tokens, part) {
        return Some(vec![value]);
    }
    let inside = match part {
        [first, open, inside @ .., _] if first.text == "dim3" && matches!(open.text, "(" | "{") => inside.to_vec(),
        [name] => declared(tokens, name.text)?,
        _ => return None,
    };
    let all: Option<Vec<i64>> = parts(&inside).into_iter().map(|part| product(tokens, part)).collect();
    all.filter(|all| (1..=3).contains(&all.len()))
}

/// A number, a constant, or a product of them: `32 * 8`.
fn product(tokens: &Tokens<'_>, part: &[CudaToken<'_>]) -> Option<i64> {
    let mut factors = part.split(|token| token.text == "*").map(|factor| match factor {
        [one] => tokens.number(one.text),
        _ => None,
    });
    factors.try_fold(1_i64, |all, factor| all.checked_mul(factor?))
}

/// The initialiser in `dim3 name(...)`, `dim3 name = dim3(...)` or `int name = ...;`.
fn declared<'s>(tokens: &Tokens<'s>, name: &str) -> Option<Vec<CudaToken<'s>>> {
    let list = &tokens.list;
    let at = (1..list.len()).find(|at| {
        list[*at].text == name
            && matches!(list[at - 1].text, "dim3" | "int" | "unsigned" | "auto")
            && list.len() > at + 2
    })?;
    let open = (at + 1..list.len().min(at + 4)).find(|place| matches!(list[*place].text, "(" | "{"));
    let end = (at..list.len()).find(|place| list[*place].text == ";")?;
    match open.filter(|open| *open < end) {
        Some(open) => {
            let close = if list[open].text == "(" { ")" } else { "}" };
            let close = closing(list, open, list[open].text, close)?;
            Some(list[open + 1..close].to_vec())
        }
        None if list[at + 1].text == "=" => Some(list[at + 2..end].to_vec()),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::signature::kernels;
    use super::*;

    fn of(host: &str) -> LaunchSite {
        let source = format!("template <typename T, int N> __global__ void f(T* x) {{ f_(x); }}\n{host}");
        let tokens = Tokens::of(&source);
        LaunchSite::of(&tokens, &kernels(&tokens).remove(0))
    }

    #[test]
    fn host_code_says_template_arguments_and_the_block() {
        let plain = of("const int BS = 8; void h(float* x) { f<float, 64><<<(n + 63) / 64, 64, 0, s>>>(x); }");
        assert_eq!(
            (plain.template.as_slice(), plain.block),
            (&["float".to_owned(), "64".to_owned()][..], Some(vec![64]))
        );
        assert_eq!(plain.written.as_deref(), Some("(n+63)/64,64,0,s"));
        let of_dim3 = of("const int BS = 8; void h(float* x) { dim3 block(BS, 16); f<T, N><<<grid, block>>>(x); }");
        assert_eq!((of_dim3.template.len(), of_dim3.block), (0, Some(vec![8, 16])));
        assert_eq!(of("void h() { f<half, 2><<<g, dim3(32, 4)>>>(x); }").block, Some(vec![32, 4]));
        assert_eq!(of("void h() { f<half, 2><<<g, blocks_of(n)>>>(x); }").block, None);
        assert_eq!(of(""), LaunchSite::default());
    }
}
