//! Short names of kernels that stay distinct among the kernels of one report.

use indexmap::IndexSet;
use ncu_rep::Launch;
use std::collections::{BTreeSet, HashMap};

/// Most characters of a name with template arguments.
const LONGEST: usize = 64;
/// Stands for omitted arguments.
const OMITTED: &str = "…";

/// The demangled name of the kernel, or else its name.
pub fn kernel_of(launch: &Launch<'_>) -> String {
    let demangled = launch.demangled_name();
    if demangled.is_empty() { launch.kernel_name() } else { demangled }.into_owned()
}

/// For each full name the function's name, with the template arguments in which functions of the same name differ:
/// `fwd<64>` for `void flash::fwd<(int)64, flash::Traits<1>>(flash::Params)`. Return type, namespaces, parameters, casts
/// and arguments of arguments are omitted. Kernels that still have one name are numbered: `fwd #2`. Nothing is cut
/// inside a name.
pub fn short_names(full: &[&str]) -> Vec<String> {
    let cleaned: Vec<String> =
        full.iter().map(|name| name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "")).collect();
    let parsed: Vec<(&str, Vec<String>)> = cleaned.iter().map(|name| parse(name)).collect();
    let mut differing: HashMap<&str, (&[String], BTreeSet<usize>)> = HashMap::new();
    for (function, arguments) in &parsed {
        let (first, places) = differing.entry(*function).or_insert_with(|| (arguments.as_slice(), BTreeSet::new()));
        let length = first.len().max(arguments.len());
        places.extend((0..length).filter(|at| first.get(*at) != arguments.get(*at)));
    }
    let none = BTreeSet::new();
    let shorts: Vec<String> = parsed
        .iter()
        .map(|(function, arguments)| short(function, arguments, differing.get(function).map_or(&none, |(_, at)| at)))
        .collect();
    let mut kernels: HashMap<&str, IndexSet<&str>> = HashMap::new();
    for (short, name) in shorts.iter().zip(full) {
        kernels.entry(short).or_default().insert(name);
    }
    let numbered = |(short, name): (&String, &&str)| {
        let alike = kernels.get(short.as_str()).filter(|alike| alike.len() > 1);
        let number = alike.and_then(|alike| alike.get_index_of(*name));
        number.map_or_else(|| short.clone(), |at| format!("{short} #{}", at + 1))
    };
    shorts.iter().zip(full).map(numbered).collect()
}

fn short(function: &str, arguments: &[String], differing: &BTreeSet<usize>) -> String {
    if arguments.is_empty() {
        return function.to_owned();
    }
    let apart: Vec<&str> = differing.iter().filter_map(|at| arguments.get(*at)).map(String::as_str).collect();
    let name = format!("{function}<{}>", apart.join(", "));
    match (apart.is_empty(), name.chars().count() <= LONGEST) {
        (true, _) => function.to_owned(),
        (false, true) => name,
        (false, false) => format!("{function}<{OMITTED}>"),
    }
}

/// The function's name and its shortened template arguments. A range or a graph has a name in brackets.
fn parse(name: &str) -> (&str, Vec<String>) {
    if name.starts_with('<') {
        return (name, Vec::new());
    }
    let name = before_parameters(name).trim();
    let name = name.get(outside(name, |_, c| c == ' ').map_or(0, |at| at + 1)..).unwrap_or(name);
    let (function, arguments) = template(last_component(name));
    (function, arguments.into_iter().flatten().map(argument).collect())
}

/// The name up to its parameter list. `operator()` has brackets in its name.
fn before_parameters(name: &str) -> &str {
    let from = name.rfind("operator()").map_or(0, |at| at + "operator()".len());
    let rest = name.get(from..).unwrap_or_default();
    let end = depths(rest).find(|(_, c, depth)| *c == '(' && *depth == 0).map_or(rest.len(), |(at, ..)| at);
    name.get(..from + end).unwrap_or(name)
}

/// Characters with their position and the depth of brackets around them.
fn depths(text: &str) -> impl Iterator<Item = (usize, char, usize)> {
    let mut depth = 0_usize;
    let mut previous = ' ';
    text.char_indices().map(move |(at, c)| {
        let is_arrow = previous == '-' && c == '>';
        previous = c;
        match c {
            '<' | '(' | '{' | '[' => {
                depth += 1;
                (at, c, depth - 1)
            }
            '>' | ')' | '}' | ']' if !is_arrow => {
                depth = depth.saturating_sub(1);
                (at, c, depth)
            }
            c => (at, c, depth),
        }
    })
}

/// The last position outside of brackets at which the condition holds.
fn outside(text: &str, holds: impl Fn(usize, char) -> bool) -> Option<usize> {
    depths(text).filter(|(at, c, depth)| *depth == 0 && holds(*at, *c)).last().map(|(at, ..)| at)
}

/// `c<d>` of `a::b::c<d>`.
fn last_component(name: &str) -> &str {
    let at = outside(name, |at, c| c == ':' && name.get(at + 1..).is_some_and(|rest| !rest.starts_with(':')));
    name.get(at.map_or(0, |at| at + 1)..).unwrap_or(name)
}

/// The name of a template with its arguments, if it has any.
fn template(name: &str) -> (&str, Option<Vec<&str>>) {
    let open = depths(name).find(|(_, c, depth)| *c == '<' && *depth == 0).map(|(at, ..)| at);
    let Some((function, rest)) = open.filter(|at| *at > 0).and_then(|at| name.split_at_checked(at)) else {
        return (name, None);
    };
    let Some(inside) = rest.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else { return (name, None) };
    let commas = depths(inside).filter(|(_, c, depth)| *c == ',' && *depth == 0).map(|(at, ..)| at);
    let (mut arguments, mut from) = (Vec::new(), 0);
    for at in commas.chain([inside.len()]) {
        arguments.extend(inside.get(from..at).map(str::trim));
        from = at + 1;
    }
    (function, Some(arguments))
}

/// An argument without cast, namespace and its own arguments.
fn argument(text: &str) -> String {
    let close = depths(text).find(|(_, c, depth)| text.starts_with('(') && *c == ')' && *depth == 0);
    let text = close.and_then(|(at, ..)| text.get(at + 1..)).filter(|value| !value.is_empty()).unwrap_or(text);
    match template(last_component(text)) {
        (name, Some(_)) => format!("{name}<{OMITTED}>"),
        (name, None) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> String {
        short_names(&[name]).remove(0)
    }

    #[test]
    fn a_name_loses_return_type_namespaces_parameters_and_arguments() {
        for (name, short) in [
            ("attn", "attn"),
            ("attn(const float *, int)", "attn"),
            ("void flash::fwd<flash::Traits<(int)64, cutlass::half_t>, (bool)1>(flash::Params)", "fwd"),
            ("void at::native::<unnamed>::softmax<float, (int)7>(T2 *, int)", "softmax"),
            ("void (anonymous namespace)::g<unsigned int>(int)", "g"),
            ("void cub::Reduce<cub::Policy<600>>::Kernel(int)", "Kernel"),
            ("nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT"),
            ("<graph>", "<graph>"),
            ("", ""),
            (">><(", ">><("),
        ] {
            assert_eq!(one(name), short, "{name}");
        }
    }

    #[test]
    fn names_of_one_function_have_the_arguments_that_differ() {
        let full = [
            "void at::fill<float, (int)4, at::add(at::Tensor &)::[lambda() (instance 1)]>(int, T1)",
            "void at::fill<float, (int)8, at::add(at::Tensor &)::[lambda() (instance 1)]>(int, T1)",
            "void flash::fwd<flash::Traits<(int)64>, (bool)1>(flash::Params)",
        ];
        assert_eq!(short_names(&full), ["fill<4>", "fill<8>", "fwd"]);
        let nested = ["void f<a::Traits<64>, b::X>(int)", "void f<a::Other<64>, b::Y>(int)"];
        assert_eq!(short_names(&nested), ["f<Traits<…>, X>", "f<Other<…>, Y>"]);
    }

    #[test]
    fn kernels_that_would_have_one_name_are_numbered() {
        let scopes = ["void a::f<1>(int)", "void b::f<1>(int)", "void a::f<1>(int)"];
        assert_eq!(short_names(&scopes), ["f #1", "f #2", "f #1"]);
        let nested = ["void f<T<1>>(int)", "void f<T<2>>(int)"];
        assert_eq!(short_names(&nested), ["f #1", "f #2"]);
    }
}
