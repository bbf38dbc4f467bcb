//! A kernel with all information from its source.

use super::code::{CudaCode, integer, is_word, joined, parts};
use super::launch::{LaunchSite, PhaseLanguage, launches};
use super::signature::{KernelSignature, Parameter, TemplateKind};
use super::types::{ElementType, is_whole};
use super::usage::{PointerUse, Usage};
use ncugate_model::Dtype;
use ncugate_model::metric::Catalogue;

/// A parameter of the sweep, with its values as in a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptParameter {
    pub name: String,
    pub values: Vec<String>,
}

/// The role of a kernel argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    pub code: &'s CudaCode<'s>,
    pub signature: &'s KernelSignature<'s>,
    pub usage: Usage<'s>,
    /// Its first launch in host code.
    pub launch: Option<LaunchSite<'s>>,
    /// Its arguments, in order.
    pub arguments: Vec<KernelArgument>,
    /// Macros that `-D` can set, and numbers of the template.
    pub swept: Vec<SweptParameter>,
    /// The number of macros, which come first.
    pub macros: usize,
    /// Template parameters that the source launches with no known argument, or with several types.
    pub guessed: Vec<&'s str>,
    /// Its name in a phase: `reduce<float, {{ BLOCK }}>`.
    pub entry: String,
}

impl<'s> KernelSource<'s> {
    pub fn of(code: &'s CudaCode<'s>, signature: &'s KernelSignature<'s>) -> Self {
        let usage = Usage::of(code, signature);
        // Constants of the file can be computed from the threads of a block.
        let reads = |name: &str| {
            let is_bound = signature.launch_bound.is_some_and(|bound| bound.contains(&name));
            usage.words.contains(name) || is_bound || counts_threads(name) && code.tokens.contains(&name)
        };
        let macros = code.guarded.iter().filter(|(name, _)| reads(name));
        let swept: Vec<SweptParameter> = macros
            .map(|(name, value)| SweptParameter { name: (*name).to_owned(), values: vec![value.to_string()] })
            .collect();
        let sites = launches(code, signature);
        let (macros, arguments, guessed) = (swept.len(), Vec::new(), Vec::new());
        let mut kernel =
            Self { code, signature, usage, launch: None, arguments, swept, macros, guessed, entry: String::new() };
        let template = kernel.template(&sites);
        kernel.arguments = signature.parameters.iter().map(|p| kernel.argument(p, &template)).collect();
        kernel.launch = sites.into_iter().find(|site| !site.configuration.is_empty());
        kernel.entry = match template.is_empty() {
            true => signature.name.to_owned(),
            false => format!("{}<{}>", signature.name, template.join(", ")),
        };
        kernel
    }

    /// Template arguments of the draft, by those that the source launches; their numbers are parameters of the sweep.
    fn template(&mut self, sites: &[LaunchSite<'s>]) -> Vec<String> {
        let mut arguments = Vec::new();
        for (at, parameter) in self.signature.template.iter().enumerate() {
            let default = || parameter.default.clone();
            let launched =
                sites.iter().filter_map(|site| site.template.get(at).map(|part| joined(part)).or_else(default));
            let product =
                |text: &str| text.split('*').try_fold(1_i64, |all, one| all.checked_mul(self.code.number(one.trim())?));
            let known = |text: String| {
                let is_known = matches!(text.as_str(), "true" | "false") || self.code.element(&text).is_some();
                if is_known { Some(text) } else { product(&text).map(|number| number.to_string()) }
            };
            let mut told: Vec<String> = Vec::new();
            for text in launched.filter_map(known) {
                if !told.contains(&text) {
                    told.push(text);
                }
            }
            if told.is_empty() {
                told.extend(default().and_then(known));
            }
            let name = parameter.name;
            let usual = match parameter.kind {
                TemplateKind::Type => "float".to_owned(),
                TemplateKind::Bool => "false".to_owned(),
                TemplateKind::Number if counts_threads(name) => "256".to_owned(),
                TemplateKind::Number => format!("\"FILL_{name}\""),
                TemplateKind::Other => format!("FILL_{name}"),
            };
            if told.is_empty() || told.len() > 1 && parameter.kind != TemplateKind::Number {
                self.guessed.push(name);
                told.push(usual);
            }
            if parameter.kind == TemplateKind::Number {
                arguments.push(format!("{{{{ {name} }}}}"));
                self.swept.push(SweptParameter { name: name.to_owned(), values: told });
            } else {
                arguments.push(told.swap_remove(0));
            }
        }
        arguments
    }

    fn argument(&self, parameter: &Parameter, template: &[String]) -> KernelArgument {
        let place = self.signature.template.iter().position(|known| known.name == parameter.of);
        let of = self.code.element(place.map_or(&parameter.of, |place| &template[place]));
        let used = self.usage.pointers.get(&parameter.name).copied();
        // A struct, a functor or a number: nothing tells.
        let is_any = place.is_some_and(|place| self.guessed.contains(&self.signature.template[place].name));
        let kind = match (of, parameter.pointers) {
            (_, 0) if is_any && !self.has_pointer_of(&parameter.of) => ArgumentKind::Unknown,
            (Some(of), 1) => ArgumentKind::Buffer(of, used.unwrap_or(PointerUse::Read)),
            (Some(ElementType { dtype, lanes: 1 }), 0) => match dtype {
                Dtype::Fp8E4m3 | Dtype::Fp8E5m2 => ArgumentKind::Unknown,
                _ if is_whole(dtype) && is_extent(&parameter.name) => ArgumentKind::Extent(dtype),
                _ if is_whole(dtype) || dtype == Dtype::Bool => ArgumentKind::Whole(dtype),
                _ => ArgumentKind::Real(dtype),
            },
            _ => ArgumentKind::Unknown,
        };
        KernelArgument { name: plain(&parameter.name), of: parameter.of.clone(), kind }
    }

    /// Whether elements of a buffer have this type.
    fn has_pointer_of(&self, of: &str) -> bool {
        self.signature.parameters.iter().any(|parameter| parameter.pointers > 0 && parameter.of == of)
    }

    /// The phase's names of everything that the kernel or its launch is computed from.
    pub fn language(&self, block: Vec<String>) -> PhaseLanguage<'s> {
        let own =
            |name: &String| self.code.tokens.iter().find(|token| *token == name).map(|token| (*token, name.clone()));
        let mut names: std::collections::BTreeMap<_, _> = self.swept.iter().filter_map(|p| own(&p.name)).collect();
        if let Some(site) = &self.launch {
            let extents = self.arguments.iter().zip(&site.arguments);
            let extents = extents.filter(|(argument, _)| matches!(argument.kind, ArgumentKind::Extent(_)));
            let numbers =
                self.signature.template.iter().zip(&site.template).filter(|(p, _)| p.kind == TemplateKind::Number);
            let named = extents.map(|(argument, part)| (*part, argument.name.clone()));
            for (part, name) in named.chain(numbers.map(|(parameter, part)| (*part, parameter.name.to_owned()))) {
                if let [word] = part
                    && is_word(word)
                {
                    names.entry(word).or_insert(name);
                }
            }
        }
        PhaseLanguage { code: self.code, at: self.launch.as_ref().map_or(0, |site| site.at), names, block }
    }

    /// The extent that the launch passes as a number.
    pub fn launched_extent(&self, name: &str) -> Option<i64> {
        let place = self.arguments.iter().position(|argument| argument.name == name)?;
        let number = self.launch.as_ref()?.arguments.get(place)?.first()?;
        integer(number).filter(|extent| *extent > 0)
    }

    /// Whether its blocks synchronise, so that all of them must be resident.
    pub fn is_cooperative(&self) -> bool {
        let list = &self.code.tokens;
        let launch = list.iter().position(|token| token.starts_with("cudaLaunchCooperativeKernel"));
        launch.is_some_and(|at| list[at..].iter().take(12).any(|token| *token == self.signature.name))
            || self.usage.words.contains("this_grid") && self.usage.words.contains("sync")
    }

    /// Buffers in the order of the signature.
    pub fn buffers(&self) -> impl Iterator<Item = (&str, ElementType, PointerUse)> {
        self.arguments.iter().filter_map(|argument| match argument.kind {
            ArgumentKind::Buffer(of, used) => Some((argument.name.as_str(), of, used)),
            _ => None,
        })
    }

    /// Names of arguments of a kind.
    pub fn names(&self, is: impl Fn(ArgumentKind) -> bool) -> Vec<&str> {
        self.arguments.iter().filter(|argument| is(argument.kind)).map(|argument| argument.name.as_str()).collect()
    }

    /// Names and declarations of the variables that the host has to fill: `__constant__` ones without an initialiser, and
    /// those that it copies to.
    pub fn symbols(&self) -> impl Iterator<Item = (&'s str, String)> {
        let list = self.code.tokens.as_slice();
        let is_copied =
            |name: &str| list.windows(3).any(|window| window[0].starts_with("cudaMemcpyToSymbol") && window[2] == name);
        let is_read = |name: &str| list.iter().filter(|token| **token == name).count() > 1;
        let declarations = list.split(|token| matches!(*token, ";" | "{" | "}")).filter(|one| !one.contains(&"extern"));
        declarations.flat_map(move |one| {
            let is_open = one.contains(&"__constant__") && !one.contains(&"=");
            let parts = if is_open || one.contains(&"__device__") { parts(one) } else { Vec::new() };
            let names = parts
                .into_iter()
                .filter_map(|part| part.split(|token| matches!(*token, "[" | "=")).next()?.last().copied());
            names
                .filter(|name| is_open && is_read(name) || is_copied(name))
                .map(|name| (name, joined(one)))
                .collect::<Vec<_>>()
        })
    }
}

/// Whether a number is that of a block's threads, by its name.
pub fn counts_threads(name: &str) -> bool {
    let name = name.to_lowercase();
    let speaks = ["thread", "block", "tpb", "bdim"].iter().any(|part| name.contains(part));
    speaks && !name.contains("per_") && !name.contains("warp")
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
