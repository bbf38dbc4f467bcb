//! The `__global__` functions of a source: name, template parameters, parameters, body.

use super::code::{CudaCode, closing, is_word, joined, parts};
use super::types::is_whole;
use std::ops::Range;

/// The declaration of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSignature<'s> {
    pub name: &'s str,
    /// Template parameters; empty for a plain function.
    pub template: Vec<TemplateParameter<'s>>,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// The first argument of `__launch_bounds__`.
    pub launch_bound: Option<&'s [&'s str]>,
    /// Its body, as a range of tokens.
    pub body: Range<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateParameter<'s> {
    pub name: &'s str,
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
    /// Its name, or `arg2` for the third if it has none.
    pub name: String,
    /// Its type without qualifiers, pointers and references: `unsigned int`, `float4`.
    pub of: String,
    /// Levels of pointers.
    pub pointers: usize,
    /// Whether the pointee is `const`.
    pub is_const: bool,
}

/// Every kernel that the source defines, in its order. A declaration without a body is skipped.
pub fn kernels<'s>(code: &'s CudaCode<'s>) -> Vec<KernelSignature<'s>> {
    let marked = (0..code.tokens.len()).filter(|at| code.meaning(code.tokens[*at]) == "__global__");
    marked.filter_map(|at| kernel(code, at)).collect()
}

/// The kernel with its `__global__` at `at`; none for a declaration, an instance and a specialisation.
fn kernel<'s>(code: &'s CudaCode<'s>, at: usize) -> Option<KernelSignature<'s>> {
    let list = &code.tokens;
    let start = list[..at].iter().rposition(|token| matches!(*token, ";" | "{" | "}")).map_or(0, |end| end + 1);
    let template = match list[start..at].iter().position(|token| *token == "template").map(|place| start + place + 1) {
        None => Vec::new(),
        Some(open) => {
            let inside = list.get(open + 1..closing(list, open)?).filter(|inside| !inside.is_empty())?;
            parts(inside).into_iter().filter_map(|part| template_parameter(code, part)).collect()
        }
    };
    // The name is the word before the parameters, which stand before the body. Attributes have parentheses too.
    let mut place = at + 1;
    let end = loop {
        match (*list.get(place)?, *list.get(place + 1)?) {
            (word, "(") if is_word(word) => {
                let end = closing(list, place + 1)?;
                match *list.get(end + 1)? {
                    "{" => break end,
                    _ => place = end + 1,
                }
            }
            (";" | "{" | "}" | "<", _) => return None,
            _ => place += 1,
        }
    };
    let bounds = (start..place).find(|place| list[*place] == "__launch_bounds__");
    let bound = bounds.and_then(|bounds| list.get(bounds + 2..closing(list, bounds + 1)?));
    let inside = &list[place + 2..end];
    let parameters = match inside {
        [] | ["void"] => Vec::new(),
        _ => {
            parts(inside).into_iter().enumerate().map(|(at, part)| parameter(code, at, part)).collect::<Option<_>>()?
        }
    };
    Some(KernelSignature {
        name: list[place],
        template,
        parameters,
        launch_bound: bound.and_then(|bound| parts(bound).into_iter().next()),
        body: end + 2..closing(list, end + 1)?,
    })
}

fn template_parameter<'s>(code: &CudaCode<'s>, part: &[&'s str]) -> Option<TemplateParameter<'s>> {
    let mut sides = part.splitn(2, |token| *token == "=");
    let (declared, default) = (sides.next()?, sides.next().map(joined));
    let words: Vec<&str> = declared.iter().copied().filter(|token| *token != "const").collect();
    let (name, of) = words.split_last().filter(|(name, _)| is_word(name))?;
    let kind = match joined(of).as_str() {
        "typename" | "class" => TemplateKind::Type,
        "bool" => TemplateKind::Bool,
        of if code.element(of).is_some_and(|of| is_whole(of.dtype)) => TemplateKind::Number,
        _ => TemplateKind::Other,
    };
    Some(TemplateParameter { name, kind, default })
}

/// A declaration; none without a type.
pub fn parameter(code: &CudaCode<'_>, at: usize, part: &[&str]) -> Option<Parameter> {
    const QUALIFIERS: [&str; 9] =
        ["const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "typename", "&"];
    let end = part.iter().position(|token| matches!(*token, "=" | "[")).unwrap_or(part.len());
    let is_array = part.get(end) == Some(&"[");
    let declared = &part[..end];
    let last_star = declared.iter().rposition(|token| *token == "*").unwrap_or(if is_array { end } else { 0 });
    let words = declared.iter().copied().filter(|token| *token != "*" && !QUALIFIERS.contains(token));
    let mut of: Vec<&str> = words.collect();
    let is_named = match of.as_slice() {
        [.., before, last] => *before != "::" && is_word(last) && code.element(last).is_none(),
        _ => false,
    };
    let name = if is_named { of.pop()?.to_owned() } else { format!("arg{at}") };
    (!of.is_empty()).then(|| Parameter {
        name,
        of: joined(&of),
        pointers: declared.iter().filter(|token| **token == "*").count() + usize::from(is_array),
        is_const: declared[..last_star].contains(&"const"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_however_they_are_declared() {
        let source = "extern \"C\" __global__ void a(float* x) {}\n\
            template <typename T, int N = 4, bool B = false> static __global__ __launch_bounds__(128, 2) void b(T* x) {}\n\
            namespace n { __launch_bounds__(64) __global__ void c(void) { if (1) {} } }\n\
            template <class T> void __global__ d(const T *__restrict__ x, size_t n) {}\n\
            __global__ void declared(int);\n\
            template <> __global__ void b<float, 1, true>(float* x) {}\n\
            template __global__ void d<float>(const float*, size_t);\n\
            #define KERNEL __global__\n\
            KERNEL void BOUNDS(64) e(const float *, int n) {}";
        let texts = [source.to_owned()];
        let code = CudaCode::of(&texts);
        let found = kernels(&code);
        let names: Vec<&str> = found.iter().map(|kernel| kernel.name).collect();
        assert_eq!(names, ["a", "b", "c", "d", "e"]);
        let kinds: Vec<TemplateKind> = found[1].template.iter().map(|parameter| parameter.kind).collect();
        assert_eq!(kinds, [TemplateKind::Type, TemplateKind::Number, TemplateKind::Bool]);
        assert_eq!(found[1].template[1].default.as_deref(), Some("4"));
        assert_eq!(
            found[..3].iter().map(|k| k.launch_bound).collect::<Vec<_>>(),
            [None, Some(&["128"][..]), Some(&["64"][..])]
        );
        assert!(found[0].template.is_empty() && found[2].parameters.is_empty());
        assert_eq!(found[3].parameters[0].of, "T");
        assert_eq!(found[4].parameters[0].name, "arg0");
    }

    #[test]
    fn parameters_have_their_type_without_what_does_not_count() {
        let source = "__global__ void k(const float4* __restrict__ a, float const *b, float *const c, unsigned int n, \
            const std::size_t m, half d[], const __grid_constant__ CUtensorMap map, float** e, std::array<int, 2> f = {1, 2}, \
            const unsigned int) {}";
        let texts = [source.to_owned()];
        let code = CudaCode::of(&texts);
        let found = kernels(&code);
        let shown: Vec<(&str, &str, usize, bool)> =
            found[0].parameters.iter().map(|p| (p.name.as_str(), p.of.as_str(), p.pointers, p.is_const)).collect();
        assert_eq!(
            shown,
            [
                ("a", "float4", 1, true),
                ("b", "float", 1, true),
                ("c", "float", 1, false),
                ("n", "unsigned int", 0, false),
                ("m", "std::size_t", 0, false),
                ("d", "half", 1, false),
                ("map", "CUtensorMap", 0, false),
                ("e", "float", 2, false),
                ("f", "std::array<int,2>", 0, false),
                ("arg9", "unsigned int", 0, false),
            ]
        );
    }
}
