//! The kernel launch in the host code of the source: `reduce<float, 256><<<grid, 256>>>(...)`.

use super::signature::{KernelSignature, joined, parts};
use super::token::{CudaToken, Tokens, closing};
use super::types::element;
use std::ops::Range;

/// Maximum number of launchers between a kernel and the numbers that it is launched with.
const DEPTH: usize = 4;

/// Template arguments in order; none for an argument whose value is unknown.
pub type Instance = Vec<Option<String>>;

/// Launches in host code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchSite {
    /// The template arguments of each launch and explicit instantiation, without repetitions.
    pub instances: Vec<Instance>,
    /// Grid and block of the first launch, as written.
    pub written: Option<String>,
    /// The position of the kernel's name at that launch, and those of the tokens between `<<<` and `>>>`.
    pub configuration: Option<(usize, Range<usize>)>,
    /// Extents of the block, if they are numbers.
    pub block: Option<Vec<i64>>,
    /// Whether the host calls `cudaLaunchCooperativeKernel`.
    pub is_cooperative: bool,
}

impl LaunchSite {
    /// The launches of a kernel in the source.
    pub fn of(tokens: &Tokens<'_>, kernel: &KernelSignature) -> Self {
        let list = &tokens.list;
        let is_cooperative = |at: usize| {
            list[at.saturating_sub(12)..at].iter().any(|token| token.text.starts_with("cudaLaunchCooperativeKernel"))
        };
        let mut site = Self { instances: instances(tokens, &kernel.name, DEPTH), ..Self::default() };
        for at in (0..list.len()).filter(|at| list[*at].text == kernel.name && !kernel.body.contains(at)) {
            site.is_cooperative |= is_cooperative(at);
            let end = angle_end(list, at + 1);
            let place = end.map_or(at + 1, |end| end + 1);
            if site.written.is_none() && are_three(list, place, "<") {
                let end = (place..list.len()).find(|end| are_three(list, *end, ">"));
                let Some(range) = end.map(|end| place + 3..end) else { continue };
                let inside = &list[range.clone()];
                site.configuration = Some((at, range));
                let configuration = parts(inside);
                site.written = Some(joined(inside));
                site.block = configuration.get(1).and_then(|block| extents(tokens, block));
            }
        }
        site
    }

    /// Takes the instances of the same source with expanded macros, if it has some.
    pub fn use_expanded(&mut self, expanded: &Tokens<'_>, kernel: &str) {
        let found = instances(expanded, kernel, DEPTH);
        if !found.is_empty() {
            self.instances = found;
        }
    }
}

/// The template arguments that a function or a kernel has in the source, also through the template of its caller:
/// `kernel<N><<<...>>>` in `template <int N> void launch()`, which is called as `launch<4>()`.
fn instances(tokens: &Tokens<'_>, name: &str, depth: usize) -> Vec<Instance> {
    let list = &tokens.list;
    let mut found: Vec<Instance> = Vec::new();
    for at in (0..list.len()).filter(|at| list[*at].text == name) {
        let Some(end) = angle_end(list, at + 1) else { continue };
        let written = parts(&list[at + 2..end]);
        let plain: Instance = written.iter().map(|part| argument(tokens, part, at)).collect();
        let is_parameter = |caller: &Caller<'_>| written.iter().any(|part| caller.place(part).is_some());
        let caller = caller(list, at).filter(|caller| depth > 0 && caller.name != name && is_parameter(caller));
        let through = caller.map(|caller| {
            let of_call = |call: &Instance| {
                let own = |(part, plain): (&&[CudaToken<'_>], &Option<String>)| match caller.place(part) {
                    Some(place) => call.get(place).cloned().flatten(),
                    None => plain.clone(),
                };
                written.iter().zip(&plain).map(own).collect()
            };
            instances(tokens, caller.name, depth - 1).iter().map(of_call).collect::<Vec<Instance>>()
        });
        for instance in through.filter(|all| !all.is_empty()).unwrap_or_else(|| vec![plain]) {
            if !found.contains(&instance) {
                found.push(instance);
            }
        }
    }
    found
}

/// A function template.
struct Caller<'s> {
    name: &'s str,
    /// Names of its template parameters.
    parameters: Vec<&'s str>,
}

impl Caller<'_> {
    /// The position of the template parameter that a template argument is.
    fn place(&self, part: &[CudaToken<'_>]) -> Option<usize> {
        let [word] = part else { return None };
        self.parameters.iter().position(|name| *name == word.text)
    }
}

/// The function template with this position in its body.
fn caller<'s>(list: &[CudaToken<'s>], at: usize) -> Option<Caller<'s>> {
    (0..at).rev().filter(|place| list[*place].text == "template").find_map(|start| {
        let angle = angle_end(list, start + 1)?;
        let open = (angle + 1..at).find(|place| list[*place].text == "(")?;
        let close = closing(list, open, "(", ")")?;
        let body = (close + 1..at).find(|place| matches!(list[*place].text, "{" | ";"))?;
        let holds = list[body].text == "{" && closing(list, body, "{", "}").is_some_and(|end| end > at);
        let name_of = |part: &[CudaToken<'s>]| {
            let declared = part.split(|token| token.text == "=").next()?;
            declared.iter().rev().find(|token| token.is_word()).map(|token| token.text)
        };
        let parameters = parts(&list[start + 2..angle]).into_iter().map(name_of).collect::<Option<_>>()?;
        holds.then_some(Caller { name: list[open - 1].text, parameters })
    })
}

/// Whether the tokens at this position are `<<<` or `>>>`.
fn are_three(list: &[CudaToken<'_>], at: usize, mark: &str) -> bool {
    list.get(at..at + 3).is_some_and(|marks| marks.iter().all(|token| token.text == mark))
}

/// The `>` that closes the template arguments that `<` at a position opens; none if it is another `<`.
fn angle_end(list: &[CudaToken<'_>], open: usize) -> Option<usize> {
    if list.get(open)?.text != "<" || are_three(list, open, "<") {
        return None;
    }
    let mut depth = 0_i32;
    for (at, token) in list.iter().enumerate().skip(open) {
        match token.text {
            "<" => depth += 1,
            ">" => depth -= 1,
            ";" | "{" | "}" | "&&" | "||" => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// A template argument with the same meaning elsewhere: a number, a constant of the file, a type.
fn argument(tokens: &Tokens<'_>, part: &[CudaToken<'_>], at: usize) -> Option<String> {
    let text = match part {
        [word] if word.is_word() => tokens.declared_before(at, word.text).unwrap_or(word.text).to_owned(),
        _ => joined(part),
    };
    match tokens.number(&text).or_else(|| product(tokens, part)) {
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

    fn shown(site: &LaunchSite) -> Vec<String> {
        let words = |instance: &Instance| {
            let words: Vec<&str> = instance.iter().map(|argument| argument.as_deref().unwrap_or("?")).collect();
            words.join(",")
        };
        site.instances.iter().map(words).collect()
    }

    #[test]
    fn dispatched_template_arguments_are_found() {
        let switch = of("void h(int n) { switch (n) { case 2: f<float, 2><<<g, b>>>(x); break;
            case 4: f<float, 4><<<g, b>>>(x); break; default: f<float, 2><<<g, b>>>(x); } }");
        assert_eq!(shown(&switch), ["float,2", "float,4"]);
        let launcher = of("template <typename T, int W = 1> void launch(T* x) { f<T, W><<<g, b>>>(x); }
            template <int V> void outer(float* x) { launch<float, V>(x); }
            void h(int n) { if (n < 3) outer<8>(x); else outer<2 * 8>(x); }");
        assert_eq!(shown(&launcher), ["float,8", "float,16"]);
        let lambda = of("void h(bool b) { if (b) { constexpr int N = 1; f<half, N><<<g, b>>>(x); }
            else { constexpr int N = 2; f<half, N><<<g, b>>>(x); } }");
        assert_eq!(shown(&lambda), ["half,1", "half,2"]);
        assert_eq!(shown(&of("template __global__ void f<half, 4>(half*);")), ["half,4"]);
        let recursive = of("template <int N> void h() { h<N>(); f<float, N><<<g, b>>>(x); }");
        assert_eq!(shown(&recursive), ["float,?"]);
    }

    #[test]
    fn a_cooperative_launch_of_host_code_is_seen() {
        let of_host = |host| of(host).is_cooperative;
        assert!(of_host("void h() { cudaLaunchCooperativeKernel((void*)f<float, 2>, grid, block, args); }"));
        assert!(!of_host("void h() { f<float, 2><<<grid, block>>>(x); }"));
    }

    #[test]
    fn host_code_says_template_arguments_and_the_block() {
        let plain = of("const int BS = 8; void h(float* x) { f<float, 64><<<(n + 63) / 64, 64, 0, s>>>(x); }");
        assert_eq!((shown(&plain), plain.block.clone()), (vec!["float,64".to_owned()], Some(vec![64])));
        assert_eq!(plain.written.as_deref(), Some("(n+63)/64,64,0,s"));
        let of_dim3 = of("const int BS = 8; void h(float* x) { dim3 block(BS, 16); f<T, N><<<grid, block>>>(x); }");
        assert_eq!((shown(&of_dim3), of_dim3.block), (vec!["?,?".to_owned()], Some(vec![8, 16])));
        assert_eq!(of("void h() { f<half, 2><<<g, dim3(32, 4)>>>(x); }").block, Some(vec![32, 4]));
        assert_eq!(of("void h() { f<half, 2><<<g, blocks_of(n)>>>(x); }").block, None);
        assert_eq!(of(""), LaunchSite::default());
    }
}
