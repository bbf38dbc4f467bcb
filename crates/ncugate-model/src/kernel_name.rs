//! Names of kernels: as written (`reduce<float, 256>`), as mangled (`_Z6reduceIfLi256EEvPT_`), and as ncu reports them.

use cpp_demangle::{DemangleOptions, Symbol};

/// A kernel's C++ name in parts: scopes, function, template arguments. The return type and the parameters are
/// dropped, spaces are ignored, and `256u` is `256`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KernelName {
    /// Namespaces and classes, outermost first, without anonymous ones.
    scopes: Vec<String>,
    function: String,
    /// Template arguments as one text; none if they are omitted.
    arguments: Option<String>,
}

impl KernelName {
    /// Parses a mangled, demangled or written name. A text that is not a C++ name is the name of a function.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut parts = split(without_parameters(&without_anonymous(&demangled(text))));
        let last = parts.pop().unwrap_or_default();
        let (function, arguments) = match last.split_once('<') {
            Some((function, arguments)) => {
                (function, Some(compact(arguments.trim_end().strip_suffix('>').unwrap_or(arguments))))
            }
            None => (last.as_str(), None),
        };
        let function = function.trim().to_owned();
        Self { scopes: parts.iter().map(|part| compact(part)).collect(), function, arguments }
    }

    /// Whether `self`, as requested, matches the kernel named `full`. Omitted scopes and template arguments match anything.
    #[must_use]
    pub fn matches(&self, full: &Self) -> bool {
        self.is_function(full)
            && self.arguments.as_ref().is_none_or(|arguments| full.arguments.as_ref() == Some(arguments))
    }

    /// Like [`Self::matches`], but a number that a compiler wrote for an enumerator (`(Algorithm)2`) matches any
    /// enumerator, because it does not contain the name.
    #[must_use]
    pub fn may_mean(&self, full: &Self) -> bool {
        let alike = |asked: &String| {
            let written = full.arguments.as_deref().map(listed).unwrap_or_default();
            let asked = listed(asked);
            asked.len() == written.len() && asked.iter().zip(written).all(|(asked, written)| may_be(asked, written))
        };
        self.is_function(full) && self.arguments.as_ref().is_none_or(alike)
    }

    fn is_function(&self, full: &Self) -> bool {
        self.function == full.function && full.scopes.ends_with(&self.scopes)
    }

    /// Whether a launch that ncu reports as `function` and `demangled` can be one of this kernel: by its full name if
    /// the report has one, else by the name of the function.
    #[must_use]
    pub fn launched_as(&self, function: &str, demangled: &str) -> bool {
        self.may_mean(&Self::parse(demangled))
            || (demangled == function && Self::parse(function).function == self.function)
    }

    /// Name of the function, without scopes and template arguments.
    #[must_use]
    pub fn function(&self) -> &str {
        &self.function
    }

    /// A written name in its parts: name and types of the parameters; `None` without parameters, and for a symbol.
    /// `void scale<float>(float*)` is `scale<float>` and `float*`.
    #[must_use]
    pub fn signature(text: &str) -> Option<(&str, &str)> {
        let parameters = text.trim_end().strip_suffix(')')?;
        let name = without_parameters(text);
        let begin = name.as_ptr() as usize - text.as_ptr() as usize + name.len();
        let (gap, parameters) = parameters.get(begin..)?.split_once('(')?;
        (!text.starts_with("_Z") && !name.is_empty() && gap.trim().is_empty()).then_some((name, parameters))
    }

    /// Whether the name has template arguments.
    #[must_use]
    pub fn is_instance(&self) -> bool {
        self.arguments.is_some()
    }
}

/// `ns::reduce<float, 256>`, with spaces after commas.
impl std::fmt::Display for KernelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.scopes.iter().try_for_each(|scope| write!(f, "{scope}::"))?;
        f.write_str(&self.function)?;
        self.arguments.as_ref().map_or(Ok(()), |arguments| write!(f, "<{}>", arguments.replace(',', ", ")))
    }
}

/// Demangles a name; any other text is unchanged.
#[must_use]
pub fn demangled(name: &str) -> String {
    let plain = || {
        let symbol = Symbol::new(name).ok()?;
        symbol.demangle_with_options(&DemangleOptions::new()).ok()
    };
    if name.starts_with("_Z") { plain().unwrap_or_else(|| name.to_owned()) } else { name.to_owned() }
}

/// Removes the compilers' spellings of an anonymous namespace; nvcc's is `_GLOBAL__N__<hash>_<file>`.
fn without_anonymous(name: &str) -> String {
    let mut kept = name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "");
    while let Some(start) = kept.find("_GLOBAL__N_") {
        let end = kept[start..].find("::").map_or(kept.len(), |length| start + length + 2);
        kept.replace_range(start..end, "");
    }
    kept
}

/// Removes return type and parameters: keeps the text before the first parenthesis outside of template arguments,
/// after the last space in it.
fn without_parameters(name: &str) -> &str {
    let mut start = 0;
    for (at, c) in outermost(name) {
        match c {
            '(' if at > start => return name[start..at].trim(),
            // `reduce <float> (int)` has one name.
            ' ' if !name[at..].trim_start().starts_with(['<', '(']) => start = at + 1,
            _ => {}
        }
    }
    name[start..].trim()
}

/// The characters outside of template arguments, with their positions. A `>` in parentheses is a comparison.
fn outermost(name: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut depth, mut parentheses) = (0_u32, 0_u32);
    name.char_indices().filter(move |(_, c)| {
        match c {
            '<' if parentheses == 0 => depth += 1,
            '>' if parentheses == 0 => {
                depth = depth.saturating_sub(1);
                return false;
            }
            '(' if depth > 0 => parentheses += 1,
            ')' if depth > 0 => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// The parts between the `::` outside of template arguments.
fn split(name: &str) -> Vec<String> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, _) in outermost(name).filter(|(at, c)| *c == ':' && name[*at..].starts_with("::")) {
        parts.push(name[from..at].to_owned());
        from = at + 2;
    }
    parts.push(name[from..].to_owned());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Normalises template arguments for comparison: no spaces except between words, no number suffixes, no casts before
/// numbers (ncu writes `(int)256`), `true` and `false` as 1 and 0.
fn compact(arguments: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = arguments;
    while let Some(c) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if length > 0 {
            words.push(value(&rest[..length]));
            rest = &rest[length..];
        } else {
            if !c.is_whitespace() {
                words.push(c.to_string());
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    joined(&uncast(words))
}

/// Normalises a word: a number without its suffix, a boolean as a number, any other word unchanged.
fn value(word: &str) -> String {
    match word {
        "true" => "1".to_owned(),
        "false" => "0".to_owned(),
        _ if word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('.') && !word.starts_with("0x") => {
            word.trim_end_matches(['u', 'U', 'l', 'L']).to_owned()
        }
        _ => word.to_owned(),
    }
}

/// Template arguments one by one.
fn listed(arguments: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_i32, 0);
    for (at, c) in arguments.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&arguments[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&arguments[from..]);
    parts
}

/// Whether a requested argument can match the one that a compiler wrote.
fn may_be(asked: &str, written: &str) -> bool {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':')
    };
    let enumerator = |text: &str| {
        let (kind, number) = text.strip_prefix('(')?.rsplit_once(')')?;
        (is_name(kind) && number.parse::<i64>().is_ok()).then(|| number.to_owned())
    };
    asked == written
        || enumerator(written).is_some_and(|number| is_name(asked) || enumerator(asked).as_ref() == Some(&number))
}

/// Words of integer types that occur in casts.
const INTEGERS: [&str; 8] = ["int", "unsigned", "long", "short", "char", "bool", "signed", "size_t"];

/// Removes `(int)` and similar casts.
fn uncast(words: Vec<String>) -> Vec<String> {
    let mut kept = Vec::with_capacity(words.len());
    let mut at = 0;
    while at < words.len() {
        let types = words[at..].iter().skip(1).take_while(|word| INTEGERS.contains(&word.as_str())).count();
        let closes = words.get(at + types + 1).is_some_and(|word| word == ")");
        if words[at] == "(" && types > 0 && closes {
            at += types + 2;
        } else {
            kept.push(words[at].clone());
            at += 1;
        }
    }
    kept
}

/// Joins words, with a space only between two names.
fn joined(words: &[String]) -> String {
    let named = |word: &str| word.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut text = String::new();
    for word in words {
        if named(word) && text.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(asked: &str, full: &str) -> bool {
        KernelName::parse(asked).matches(&KernelName::parse(full))
    }

    const REDUCE: &str = "_ZN2ns7reduce6IfLj512ELb1EEEvPT_S2_j";

    #[test]
    fn a_mangled_name_is_what_a_person_would_write() {
        for asked in ["reduce6", "ns::reduce6", "reduce6<float, 512u, true>", "ns::reduce6<float,512,1>", REDUCE] {
            assert!(means(asked, REDUCE), "{asked}");
        }
        for other in ["reduce", "reduce6<float, 256u, true>", "other::reduce6", "reduce6<float>"] {
            assert!(!means(other, REDUCE), "{other}");
        }
        assert!(means("plain", "plain") && means("_Z5plainPf", "plain(float*)") && !means("plain", "_Z6plainsPf"));
    }

    #[test]
    fn anonymous_namespaces_and_return_types_do_not_count() {
        assert!(means("anon", "_ZN36_GLOBAL__N__40aae2e0_4_k_cu_38f32e164anonEPf"));
        assert!(means("at::copy", "void at::(anonymous namespace)::copy(float*, int)"));
        assert!(means("k<std::pair<int, long>>", "void k<std::pair<int, long> >(std::pair<int, long>)"));
        assert!(!means("k<unsigned int>", "void k<int>(int)"));
    }

    #[test]
    fn a_comparison_in_a_return_type_closes_no_template() {
        let full = "std::enable_if<((8)>(0)), void>::type vllm::norm<__nv_bfloat16, 8>(__nv_bfloat16*, int)";
        assert!(means("vllm::norm<__nv_bfloat16, 8>", full) && !means("norm<__nv_bfloat16, 4>", full));
    }

    #[test]
    fn a_signature_has_a_name_and_parameters() {
        assert_eq!(KernelName::signature("over(float*, int)"), Some(("over", "float*, int")));
        assert_eq!(KernelName::signature("void ns::f<g<1>, 2> (float*)"), Some(("ns::f<g<1>, 2>", "float*")));
        for without in ["over", "f<(1 + 1)>", "_Z4overPfi", "f<sizeof(float)>"] {
            assert_eq!(KernelName::signature(without), None, "{without}");
        }
    }

    #[test]
    fn an_enumerator_may_be_any_number_of_its_type() {
        let may = |asked: &str, full: &str| KernelName::parse(asked).may_mean(&KernelName::parse(full));
        let full = "void row_sum<__half, 128, (cub::CUB_300001::BlockReduceAlgorithm)2>(__half const*, float*)";
        for asked in ["row_sum<__half, 128, cub::WARPS>", "row_sum<__half, 128u, (Algorithm)2>", "row_sum"] {
            assert!(may(asked, full), "{asked}");
        }
        for other in
            ["row_sum<float, 128, cub::WARPS>", "row_sum<__half, 128, (Algorithm)1>", "row_sum<__half, 128, 2>"]
        {
            assert!(!may(other, full), "{other}");
        }
        assert!(!means("row_sum<__half, 128, cub::WARPS>", full), "the name alone does not say it");
        assert!(!may("f<A>", "void f<B>()") && !may("f<A, 1>", "void f<(E)1>()"));
    }

    #[test]
    fn ncu_writes_casts_where_a_compiler_writes_suffixes() {
        let asked = KernelName::parse("reduce6<float, 512u, true>");
        assert!(
            asked.launched_as(
                "reduce6",
                "void ns::reduce6<float, (unsigned int)512, (bool)1>(T1 *, T1 *, unsigned int)"
            )
        );
        assert!(
            !asked.launched_as(
                "reduce6",
                "void ns::reduce6<float, (unsigned int)256, (bool)1>(T1 *, T1 *, unsigned int)"
            )
        );
        assert!(asked.launched_as("reduce6", "reduce6") && !asked.launched_as("reduce7", "reduce7"));
    }
}
