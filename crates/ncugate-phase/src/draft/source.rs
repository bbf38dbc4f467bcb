//! A kernel with all information from its source.

use super::family::{KernelFamily, by_name};
use super::launch_site::{Instance, LaunchSite};
use super::signature::{KernelSignature, Parameter, TemplateKind, TemplateParameter};
use super::symbol::{DraftSymbol, symbols};
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

/// Where a kernel is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelOrigin {
    /// In the source as written.
    Written,
    /// By a macro of the source.
    Macro,
}

/// A kernel with all information from its source.
pub struct KernelSource<'s> {
    pub tokens: &'s Tokens<'s>,
    pub signature: &'s KernelSignature,
    pub origin: KernelOrigin,
    pub usage: Usage,
    /// Its launch in host code.
    pub site: LaunchSite,
    pub family: KernelFamily,
    /// Its arguments, in order.
    pub arguments: Vec<KernelArgument>,
    /// Parameters that it is compiled with.
    pub swept: Vec<SweptParameter>,
    /// Combinations of template arguments that the source launches; empty if these are all combinations of their values.
    pub points: Vec<Vec<(String, i64)>>,
    /// Instances of the source with other types or truth values than the draft.
    pub others: Vec<String>,
    /// Variables that the host fills.
    pub symbols: Vec<DraftSymbol>,
    /// Its name in a phase: `reduce<float, {{ BLOCK }}>`.
    pub entry: String,
}

impl<'s> KernelSource<'s> {
    /// Reads a kernel of a source; `expanded` is the source with expanded macros.
    pub fn of(
        tokens: &'s Tokens<'s>,
        signature: &'s KernelSignature,
        origin: KernelOrigin,
        expanded: Option<&Tokens<'_>>,
    ) -> Self {
        let mut usage = Usage::of(tokens, signature);
        usage.indices.iter_mut().flat_map(|index| &mut index.extent).for_each(|extent| *extent = plain(extent));
        let mut site = LaunchSite::of(tokens, signature);
        expanded.into_iter().for_each(|expanded| site.use_expanded(expanded, &signature.name));
        let mut swept = guarded_macros(tokens, signature, &usage);
        let dispatched = Dispatch::of(signature, &site.instances);
        let mut template = Vec::new();
        for (at, parameter) in signature.template.iter().enumerate() {
            let told = dispatched.values(at);
            template.push(template_argument(parameter, &told, tokens, &usage, &mut swept));
        }
        let points = dispatched.points(signature);
        let others = dispatched.others.iter().map(|other| format!("{}<{other}>", signature.name)).collect();
        let symbols = symbols(tokens, signature, expanded);
        let mut met = HashSet::new();
        swept.retain(|parameter| met.insert(parameter.name.clone()));
        let chosen: Vec<(&str, &str)> =
            signature.template.iter().map(|p| p.name.as_str()).zip(template.iter().map(String::as_str)).collect();
        let arguments = signature.parameters.iter().map(|p| argument(p, tokens, &usage, &chosen)).collect();
        let entry = match template.as_slice() {
            [] => signature.name.clone(),
            all => format!("{}<{}>", signature.name, all.join(", ")),
        };
        let family = by_name(&signature.name);
        Self { tokens, signature, origin, family, usage, site, arguments, swept, points, others, symbols, entry }
    }

    /// Whether its blocks synchronise, so that all of them must be resident.
    pub fn is_cooperative(&self) -> bool {
        self.site.is_cooperative || self.usage.words.contains("this_grid") && self.usage.words.contains("sync")
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

/// The template arguments that the source dispatches to: rows with equal types and truth values.
struct Dispatch {
    rows: Vec<Instance>,
    /// Rows with other types or truth values, as written.
    others: Vec<String>,
}

impl Dispatch {
    fn of(signature: &KernelSignature, instances: &[Instance]) -> Self {
        let whole = |instance: &Instance| -> Instance {
            let of = |(at, parameter): (usize, &TemplateParameter)| match instance.get(at) {
                Some(argument) => argument.clone(),
                None => parameter.default.clone(),
            };
            signature.template.iter().enumerate().map(of).collect()
        };
        let rows = instances.iter().filter(|instance| instance.len() <= signature.template.len()).map(whole);
        let rows: Vec<Instance> = rows.collect();
        let known = |row: &Instance| row.iter().flatten().count();
        let most = rows.iter().map(known).max().unwrap_or(0);
        let Some(first) = rows.iter().find(|row| known(row) == most).cloned() else {
            let defaults = signature.template.iter().map(|parameter| parameter.default.clone()).collect();
            return Self { rows: vec![defaults], others: Vec::new() };
        };
        let is_alike = |row: &Instance| {
            let mut cells = row.iter().zip(&first).zip(&signature.template);
            cells.all(|((own, base), parameter)| match parameter.kind {
                TemplateKind::Number => own.is_some() == base.is_some(),
                TemplateKind::Type | TemplateKind::Bool | TemplateKind::Other => own == base,
            })
        };
        let (rows, others): (Vec<Instance>, Vec<Instance>) = rows.into_iter().partition(is_alike);
        let is_whole = |row: &&Instance| row.iter().all(Option::is_some);
        let text = |row: &Instance| row.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ");
        Self { rows, others: others.iter().filter(is_whole).map(text).collect() }
    }

    /// The values of a template parameter, without repetitions.
    fn values(&self, at: usize) -> Vec<String> {
        let mut met = HashSet::new();
        self.rows.iter().filter_map(|row| row[at].clone()).filter(|value| met.insert(value.clone())).collect()
    }

    /// The rows, if they are not all combinations of their values.
    fn points(&self, signature: &KernelSignature) -> Vec<Vec<(String, i64)>> {
        let numbers = |row: &Instance| -> Vec<(String, i64)> {
            let named =
                signature.template.iter().zip(row).filter(|(parameter, _)| parameter.kind == TemplateKind::Number);
            named
                .filter_map(|(parameter, value)| Some((parameter.name.clone(), value.as_ref()?.parse().ok()?)))
                .collect()
        };
        let mut met = HashSet::new();
        let points: Vec<_> = self.rows.iter().map(numbers).filter(|point| met.insert(point.clone())).collect();
        let columns = (0..signature.template.len()).filter(|at| signature.template[*at].kind == TemplateKind::Number);
        let combinations: usize = columns.map(|at| self.values(at).len().max(1)).product();
        if points.len() == combinations { Vec::new() } else { points }
    }
}

fn template_argument(
    parameter: &TemplateParameter,
    told: &[String],
    tokens: &Tokens<'_>,
    usage: &Usage,
    swept: &mut Vec<SweptParameter>,
) -> String {
    let first = told.first().cloned();
    match parameter.kind {
        TemplateKind::Type => {
            first.filter(|text| element(tokens, text).is_some()).unwrap_or_else(|| "float".to_owned())
        }
        TemplateKind::Bool => first.filter(|text| text == "true").unwrap_or_else(|| "false".to_owned()),
        TemplateKind::Number => {
            let numbers: Vec<i64> = told.iter().filter_map(|text| tokens.number(text)).collect();
            let is_guess = numbers.is_empty();
            let values = if is_guess { vec![usual(&parameter.name, usage)] } else { numbers };
            swept.push(SweptParameter { name: parameter.name.clone(), values, is_define: false, is_guess });
            format!("{{{{ {} }}}}", parameter.name)
        }
        TemplateKind::Other => first.unwrap_or_else(|| format!("FILL_{}", parameter.name)),
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
pub fn plain(name: &str) -> String {
    const WORDS: [&str; 18] = [
        "in", "and", "or", "not", "if", "else", "is", "lambda", "def", "from", "as", "pass", "with", "yield", "dtype",
        "cc", "shape", "seed",
    ];
    let taken = WORDS.contains(&name) || Catalogue::embedded().metrics().iter().any(|metric| metric.name == name);
    if taken { format!("{name}_") } else { name.to_owned() }
}
