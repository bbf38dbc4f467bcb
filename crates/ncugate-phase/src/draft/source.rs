//! A kernel with all information from its source.

use super::family::{KernelFamily, by_name};
use super::launch_site::LaunchSite;
use super::signature::{KernelSignature, Parameter, TemplateKind, TemplateParameter};
use super::token::Tokens;
use super::types::{ElementType, element, is_whole};
use super::usage::{PointerUse, Usage};
use ncugate_model::Dtype;
use ncugate_model::metric::Catalogue;
use std::collections::HashSet;

/// A parameter of the sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptParameter {
    pub name: String,
    pub values: Vec<i64>,
    /// Whether the compiler gets it as a macro.
    pub is_define: bool,
    /// Whether the source does not determine its value.
    pub is_guess: bool,
}

/// The role of a kernel argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentKind {
    Buffer(ElementType, PointerUse),
    /// An extent: a whole number that determines sizes.
    Extent(Dtype),
    /// A whole number with another meaning: a stride, a flag.
    Whole(Dtype),
    Real(Dtype),
    /// Unknown from the source.
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelArgument {
    /// Its name in the phase.
    pub name: String,
    /// Its type in the source.
    pub of: String,
    pub kind: ArgumentKind,
}

/// A kernel with all information from its source.
pub struct KernelSource<'s> {
    pub tokens: &'s Tokens<'s>,
    pub signature: &'s KernelSignature,
    pub usage: Usage,
    /// Its launch in host code.
    pub site: LaunchSite,
    pub family: KernelFamily,
    /// Its arguments, in order.
    pub arguments: Vec<KernelArgument>,
    /// Parameters that it is compiled with.
    pub swept: Vec<SweptParameter>,
    /// Its name in a phase: `reduce<float, {{ BLOCK }}>`.
    pub entry: String,
}

impl<'s> KernelSource<'s> {
    /// Reads a kernel of a source.
    pub fn of(tokens: &'s Tokens<'s>, signature: &'s KernelSignature) -> Self {
        let mut usage = Usage::of(tokens, signature);
        usage.indices.iter_mut().flat_map(|index| &mut index.extent).for_each(|extent| *extent = plain(extent));
        let site = LaunchSite::of(tokens, signature);
        let mut swept = guarded_macros(tokens, signature, &usage);
        let mut template = Vec::new();
        for (at, parameter) in signature.template.iter().enumerate() {
            let told = site.template.get(at).or(parameter.default.as_ref()).cloned();
            template.push(template_argument(parameter, told, tokens, &usage, &mut swept));
        }
        let mut met = HashSet::new();
        swept.retain(|parameter| met.insert(parameter.name.clone()));
        let chosen: Vec<(&str, &str)> =
            signature.template.iter().map(|p| p.name.as_str()).zip(template.iter().map(String::as_str)).collect();
        let arguments = signature.parameters.iter().map(|p| argument(p, tokens, &usage, &chosen)).collect();
        let entry = match template.as_slice() {
            [] => signature.name.clone(),
            all => format!("{}<{}>", signature.name, all.join(", ")),
        };
        Self { tokens, signature, family: by_name(&signature.name), usage, site, arguments, swept, entry }
    }

    /// Buffers in the order of the signature.
    pub fn buffers(&self) -> impl Iterator<Item = (&str, ElementType, PointerUse)> {
        self.arguments.iter().filter_map(|argument| match argument.kind {
            ArgumentKind::Buffer(of, used) => Some((argument.name.as_str(), of, used)),
            _ => None,
        })
    }

    /// Names of buffers with this use.
    pub fn used(&self, wanted: impl Fn(PointerUse) -> bool) -> Vec<&str> {
        self.buffers().filter(|(_, _, used)| wanted(*used)).map(|(name, ..)| name).collect()
    }

    /// Names of extents in the order of the signature.
    pub fn extents(&self) -> Vec<&str> {
        let of = |argument: &'_ &KernelArgument| matches!(argument.kind, ArgumentKind::Extent(_));
        self.arguments.iter().filter(of).map(|argument| argument.name.as_str()).collect()
    }

    /// A compile-time number: a parameter of the sweep by its name, or a constant of the file by its value.
    pub fn number(&self, name: &str) -> Option<String> {
        let is_swept = self.swept.iter().any(|parameter| parameter.name == name);
        if is_swept { Some(name.to_owned()) } else { self.tokens.constant(name).map(|value| value.to_string()) }
    }

    /// Names of compile-time numbers that the kernel reads: parameters of the sweep first.
    pub fn numbers(&self) -> Vec<&str> {
        let swept = self.swept.iter().map(|parameter| parameter.name.as_str());
        let words = self.usage.words.iter().map(String::as_str);
        let constants = words.filter(|word| self.tokens.constant(word).is_some());
        let mut met = HashSet::new();
        swept.chain(constants).filter(|name| met.insert(*name)).collect()
    }
}

/// Macros that the kernel reads and `-D` can set.
fn guarded_macros(tokens: &Tokens<'_>, signature: &KernelSignature, usage: &Usage) -> Vec<SweptParameter> {
    let reads = |name: &str| usage.words.contains(name) || signature.launch_bound.as_deref() == Some(name);
    let guarded = tokens.macros.iter().filter(|known| known.is_guarded && reads(&known.name));
    guarded
        .map(|m| SweptParameter { name: m.name.clone(), values: vec![m.value], is_define: true, is_guess: false })
        .collect()
}

fn template_argument(
    parameter: &TemplateParameter,
    told: Option<String>,
    tokens: &Tokens<'_>,
    usage: &Usage,
    swept: &mut Vec<SweptParameter>,
) -> String {
    match parameter.kind {
        TemplateKind::Type => told.filter(|text| element(tokens, text).is_some()).unwrap_or_else(|| "float".to_owned()),
        TemplateKind::Bool => told.filter(|text| text == "true").unwrap_or_else(|| "false".to_owned()),
        TemplateKind::Number => {
            let number = told.and_then(|text| tokens.number(&text));
            let values = vec![number.unwrap_or_else(|| usual(&parameter.name, usage))];
            swept.push(SweptParameter {
                name: parameter.name.clone(),
                values,
                is_define: false,
                is_guess: number.is_none(),
            });
            format!("{{{{ {} }}}}", parameter.name)
        }
        TemplateKind::Other => told.unwrap_or_else(|| format!("FILL_{}", parameter.name)),
    }
}

/// A usual value of a template parameter, by its name.
fn usual(name: &str, usage: &Usage) -> i64 {
    let name = name.to_lowercase();
    let has = |part: &str| name.contains(part);
    match name.as_str() {
        "bm" | "bn" => return 64,
        "bk" | "tm" | "tn" => return 8,
        _ => {}
    }
    if has("warp") || has("vec") || has("unroll") || has("ilp") || has("per") || has("stage") {
        4
    } else if (has("thread") || has("block")) && usage.block_axes == 1 {
        256
    } else if has("dim") || has("head") || name == "d" {
        64
    } else {
        16
    }
}

fn argument(parameter: &Parameter, tokens: &Tokens<'_>, usage: &Usage, template: &[(&str, &str)]) -> KernelArgument {
    let chosen = template.iter().find(|(name, _)| *name == parameter.of).map(|(_, of)| *of);
    let of = element(tokens, chosen.unwrap_or(&parameter.of));
    let kind = match (of, parameter.pointers) {
        (Some(of), 1) => {
            ArgumentKind::Buffer(of, usage.pointers.get(&parameter.name).copied().unwrap_or(PointerUse::Read))
        }
        (Some(ElementType { dtype, lanes: 1 }), 0) if is_whole(dtype) && is_extent(&parameter.name) => {
            ArgumentKind::Extent(dtype)
        }
        (Some(ElementType { dtype, lanes: 1 }), 0) if is_whole(dtype) || dtype == Dtype::Bool => {
            ArgumentKind::Whole(dtype)
        }
        (Some(ElementType { dtype, lanes: 1 }), 0) if !matches!(dtype, Dtype::Fp8E4m3 | Dtype::Fp8E5m2) => {
            ArgumentKind::Real(dtype)
        }
        _ => ArgumentKind::Unknown,
    };
    KernelArgument { name: plain(&parameter.name), of: parameter.of.clone(), kind }
}

/// Whether a whole number is an extent, by its name.
fn is_extent(name: &str) -> bool {
    const OTHERS: [&str; 13] = [
        "stride", "pitch", "seed", "axis", "mode", "flag", "causal", "offset", "iter", "step", "index", "idx", "repeat",
    ];
    let name = name.to_lowercase();
    let leading = name.len() <= 3 && name.starts_with("ld");
    !leading && !OTHERS.iter().any(|other| name.contains(other)) && !name.starts_with("is_")
}

/// A name that is valid in a phase and in a Python function: neither a keyword nor a metric.
fn plain(name: &str) -> String {
    const WORDS: [&str; 18] = [
        "in", "and", "or", "not", "if", "else", "is", "lambda", "def", "from", "as", "pass", "with", "yield", "dtype",
        "cc", "shape", "seed",
    ];
    let taken = WORDS.contains(&name) || Catalogue::embedded().metrics().iter().any(|metric| metric.name == name);
    if taken { format!("{name}_") } else { name.to_owned() }
}
