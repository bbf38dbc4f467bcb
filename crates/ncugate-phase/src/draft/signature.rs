//! The `__global__` functions of a source: name, template parameters, parameters, body.

use super::token::{CudaToken, Tokens, closing};
use super::types::{element, is_whole};
use std::ops::Range;

/// The declaration of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSignature {
    pub name: String,
    /// Line of its name.
    pub line: usize,
    /// Template parameters; empty for a plain function.
    pub template: Vec<TemplateParameter>,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// The first argument of `__launch_bounds__`, as written.
    pub launch_bound: Option<String>,
    /// Its body, as a range of tokens.
    pub body: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateParameter {
    pub name: String,
    /// The kind of its arguments.
    pub kind: TemplateKind,
    /// Its default, as written.
    pub default: Option<String>,
}

/// The kind of a template parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateKind {
    /// `typename T`
    Type,
    /// `int N`
    Number,
    /// `bool B`
    Bool,
    /// A template, a pack, a type that is not a number.
    Other,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    /// Its type without qualifiers, pointers and references: `unsigned int`, `float4`.
    pub of: String,
    /// Levels of pointers.
    pub pointers: usize,
    /// Whether the pointee is `const`.
    pub is_const: bool,
}

/// Every kernel that the source defines, in its order. A declaration without a body is skipped.
pub fn kernels(tokens: &Tokens<'_>) -> Vec<KernelSignature> {
    let found = tokens.list.iter().enumerate().filter(|(_, token)| token.text == "__global__");
    found.filter_map(|(at, _)| kernel(tokens, at)).collect()
}

/// The kernel with its `__global__` at `at`.
fn kernel(tokens: &Tokens<'_>, at: usize) -> Option<KernelSignature> {
    let list = &tokens.list;
    let start = start_of_declaration(list, at);
    let template = template_before(tokens, start)?;
    let bounds = (start..at).find(|place| list[*place].text == "__launch_bounds__");
    let (mut place, mut launch_bound) = (at + 1, bounds.and_then(|bounds| first_argument(list, bounds + 1)));
    loop {
        let (token, next) = (list.get(place)?, list.get(place + 1)?);
        match (token.is_word(), next.text) {
            (true, "(") if token.text.starts_with("__") && is_attribute(token.text) => {
                if token.text == "__launch_bounds__" {
                    launch_bound = first_argument(list, place + 1);
                }
                place = closing(list, place + 1, "(", ")")? + 1;
            }
            (true, "(") => break,
            // A specialisation or an instance has template arguments after its name.
            (true, "<") => return None,
            (true, _) => place += 1,
            (false, _) if matches!(token.text, "[[" | "]]" | "::" | "*" | "&") => place += 1,
            (false, _) => return None,
        }
    }
    let end = closing(list, place + 1, "(", ")")?;
    let parameters = parameters(&list[place + 2..end])?;
    if list.get(end + 1)?.text != "{" {
        return None;
    }
    let close = closing(list, end + 1, "{", "}")?;
    Some(KernelSignature {
        name: list[place].text.to_owned(),
        line: list[place].line,
        template,
        parameters,
        launch_bound,
        body: end + 2..close,
    })
}

fn is_attribute(word: &str) -> bool {
    matches!(
        word,
        "__launch_bounds__" | "__cluster_dims__" | "__maxnreg__" | "__block_size__" | "__attribute__" | "__declspec"
    )
}

/// The first argument in the parenthesis at `open`, as written.
fn first_argument(list: &[CudaToken<'_>], open: usize) -> Option<String> {
    let inside = list.get(open + 1..closing(list, open, "(", ")")?)?;
    inside.split(|token| token.text == ",").next().map(joined)
}

/// Start of the declaration with this `__global__`.
fn start_of_declaration(list: &[CudaToken<'_>], at: usize) -> usize {
    let mut start = at;
    while let Some(before) = start.checked_sub(1) {
        match list[before].text {
            "static" | "inline" | "__inline__" | "__forceinline__" | "extern" | "void" | "\"C\"" => start = before,
            ")" => match (0..before).rev().find(|open| closing(list, *open, "(", ")") == Some(before)) {
                Some(open) if open > 0 && is_attribute(list[open - 1].text) => start = open - 1,
                _ => break,
            },
            _ => break,
        }
    }
    start
}

/// The template parameters of a kernel; none if it is an instance or a specialisation.
fn template_before(tokens: &Tokens<'_>, start: usize) -> Option<Vec<TemplateParameter>> {
    let list = &tokens.list;
    let Some(before) = start.checked_sub(1) else { return Some(Vec::new()) };
    match list[before].text {
        "template" => None,
        ">" => {
            let mut depth = 0_usize;
            let open = (0..=before).rev().find(|place| {
                match list[*place].text {
                    ">" => depth += 1,
                    "<" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            })?;
            if open == 0 || list[open - 1].text != "template" {
                return Some(Vec::new());
            }
            let inside = &list[open + 1..before];
            let parameters = || parts(inside).into_iter().filter_map(|part| template_parameter(tokens, part)).collect();
            (!inside.is_empty()).then(parameters)
        }
        _ => Some(Vec::new()),
    }
}

fn template_parameter(tokens: &Tokens<'_>, part: &[CudaToken<'_>]) -> Option<TemplateParameter> {
    let mut sides = part.splitn(2, |token| token.text == "=");
    let (declared, default) = (sides.next()?, sides.next().map(joined));
    let name = declared.iter().rev().find(|token| token.is_word())?.text;
    let words: Vec<CudaToken<'_>> = declared.iter().copied().filter(|token| token.text != "const").collect();
    let (_, of) = words.split_last()?;
    let kind = match joined(of).as_str() {
        "typename" | "class" => TemplateKind::Type,
        "bool" => TemplateKind::Bool,
        of if element(tokens, of).is_some_and(|of| is_whole(of.dtype)) => TemplateKind::Number,
        _ => TemplateKind::Other,
    };
    Some(TemplateParameter { name: name.to_owned(), kind, default })
}

fn parameters(inside: &[CudaToken<'_>]) -> Option<Vec<Parameter>> {
    if inside.is_empty() || inside.len() == 1 && inside[0].text == "void" {
        return Some(Vec::new());
    }
    parts(inside).into_iter().map(parameter).collect()
}

fn parameter(part: &[CudaToken<'_>]) -> Option<Parameter> {
    const QUALIFIERS: [&str; 9] = [
        "const",
        "volatile",
        "__restrict__",
        "__restrict",
        "restrict",
        "__grid_constant__",
        "struct",
        "__shared__",
        "typename",
    ];
    let end = part.iter().position(|token| matches!(token.text, "=" | "[")).unwrap_or(part.len());
    let is_array = part.iter().any(|token| token.text == "[");
    let declared = &part[..end];
    let at = declared.iter().rposition(CudaToken::is_word)?;
    let stars: Vec<usize> = (0..at).filter(|place| declared[*place].text == "*").collect();
    let before = stars.last().copied().unwrap_or(if is_array { at } else { 0 });
    let of: Vec<&str> = declared[..at].iter().map(|token| token.text).collect();
    let of: Vec<&str> =
        of.into_iter().filter(|word| !QUALIFIERS.contains(word) && !matches!(*word, "*" | "&" | "&&")).collect();
    (!of.is_empty()).then(|| Parameter {
        name: declared[at].text.to_owned(),
        of: of.join(" ").replace(" :: ", "::"),
        pointers: stars.len() + usize::from(is_array),
        is_const: declared[..before].iter().any(|token| token.text == "const"),
    })
}

/// The parts of a list between its commas.
pub fn parts<'t, 's>(list: &'t [CudaToken<'s>]) -> Vec<&'t [CudaToken<'s>]> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0_i32);
    for (at, token) in list.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth -= 1,
            "," if depth == 0 => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[start..]);
    found
}

pub fn joined(tokens: &[CudaToken<'_>]) -> String {
    let mut text = String::new();
    for token in tokens {
        let is_wordy = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if is_wordy(text.chars().last()) && is_wordy(token.text.chars().next()) {
            text.push(' ');
        }
        text.push_str(token.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Vec<KernelSignature> {
        kernels(&Tokens::of(source))
    }

    #[test]
    fn kernels_are_found_however_they_are_declared() {
        let source = "extern \"C\" __global__ void a(float* x) {}\n\
            template <typename T, int N = 4, bool B = false> static __global__ __launch_bounds__(128, 2) void b(T* x) {}\n\
            namespace n { __launch_bounds__(64) __global__ void c(void) { if (1) {} } }\n\
            template <class T> void __global__ d(const T *__restrict__ x, size_t n) {}\n\
            __global__ void declared(int);\n\
            template <> __global__ void b<float, 1, true>(float* x) {}\n\
            template __global__ void d<float>(const float*, size_t);";
        let found = of(source);
        let names: Vec<&str> = found.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        let kinds: Vec<TemplateKind> = found[1].template.iter().map(|parameter| parameter.kind).collect();
        assert_eq!(kinds, [TemplateKind::Type, TemplateKind::Number, TemplateKind::Bool]);
        assert_eq!(found[1].template[1].default.as_deref(), Some("4"));
        assert_eq!((found[1].launch_bound.as_deref(), found[2].launch_bound.as_deref()), (Some("128"), Some("64")));
        assert!(found[0].template.is_empty() && found[2].parameters.is_empty());
        assert_eq!(found[3].parameters[0].of, "T");
    }

    #[test]
    fn parameters_have_their_type_without_what_does_not_count() {
        let source = "__global__ void k(const float4* __restrict__ a, float const *b, float *const c, unsigned int n, \
            const std::size_t m, half d[], const __grid_constant__ CUtensorMap map, float** e, std::array<int, 2> f = {1, 2}) {}";
        let found = of(source);
        let shown: Vec<(String, usize, bool)> =
            found[0].parameters.iter().map(|p| (p.of.clone(), p.pointers, p.is_const)).collect();
        let expected: [(&str, usize, bool); 9] = [
            ("float4", 1, true),
            ("float", 1, true),
            ("float", 1, false),
            ("unsigned int", 0, false),
            ("std::size_t", 0, false),
            ("half", 1, false),
            ("CUtensorMap", 0, false),
            ("float", 2, false),
            ("std::array < int , 2 >", 0, false),
        ];
        let expected: Vec<_> =
            expected.iter().map(|(of, pointers, is_const)| ((*of).to_owned(), *pointers, *is_const)).collect();
        assert_eq!(shown, expected);
    }
}
