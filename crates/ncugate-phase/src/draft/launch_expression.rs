//! Grid and block of the source's launch, in the language of a phase.

use super::signature::{TemplateKind, parts};
use super::source::{ArgumentKind, KernelSource, plain};
use super::token::{CudaToken, closing};
use std::collections::HashMap;

/// Maximum number of variables between a launch and the sizes that it depends on.
const DEPTH: usize = 4;

/// Grid or block of a launch in host code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DraftedExtents {
    /// The source does not launch the kernel, or a variable that it does not set has the extents.
    #[default]
    Unknown,
    /// The source gives an expression that a phase cannot.
    Unsayable,
    /// Extents per axis, as expressions of a phase.
    Said(Vec<String>),
}

/// The first launch of a kernel in the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchExpression {
    pub grid: DraftedExtents,
    pub block: DraftedExtents,
}

/// The place of an expression in the host code.
struct HostCode<'k, 's> {
    kernel: &'k KernelSource<'s>,
    /// The position of the launch.
    at: usize,
    /// Names of the phase for variables of the host: the launch passes them to the kernel.
    names: HashMap<&'s str, String>,
}

impl LaunchExpression {
    pub fn of(kernel: &KernelSource<'_>) -> Self {
        let Some((at, configuration)) = kernel.site.configuration.clone() else { return Self::default() };
        let list = &kernel.tokens.list;
        let inside = parts(&list[configuration.clone()]);
        let host = HostCode { kernel, at, names: names(kernel, at, configuration.end + 3) };
        let extents = |place: usize| inside.get(place).map_or(DraftedExtents::Unknown, |part| host.extents(part));
        Self { grid: extents(0), block: extents(1) }
    }
}

/// The kernel's names of the variables that a launch passes to it.
fn names<'s>(kernel: &KernelSource<'s>, at: usize, open: usize) -> HashMap<&'s str, String> {
    let list = &kernel.tokens.list;
    let close = list.get(open).filter(|token| token.text == "(").and_then(|_| closing(list, open, "(", ")"));
    let passed = close.map_or_else(Vec::new, |close| parts(&list[open + 1..close]));
    let is_extent = |name: &str| {
        kernel.arguments.iter().any(|known| known.name == name && matches!(known.kind, ArgumentKind::Extent(_)))
    };
    let extents = kernel.signature.parameters.iter().zip(passed).filter_map(|(parameter, part)| match part {
        [word] if word.is_word() && is_extent(&plain(&parameter.name)) => Some((word.text, plain(&parameter.name))),
        _ => None,
    });
    let is_template = [list.get(at + 1), list.get(at + 2)].map(|token| token.is_some_and(|token| token.text == "<"));
    let angle = (is_template == [true, false]).then(|| closing(list, at + 1, "<", ">")).flatten();
    let template = angle.map_or_else(Vec::new, |end| parts(&list[at + 2..end]));
    let numbers = kernel.signature.template.iter().zip(template).filter_map(|(parameter, part)| match part {
        [word] if word.is_word() && parameter.kind == TemplateKind::Number => Some((word.text, parameter.name.clone())),
        _ => None,
    });
    let macros = kernel.swept.iter().filter(|parameter| parameter.is_define);
    let macros = macros.filter_map(|parameter| {
        let token = list.iter().find(|token| token.text == parameter.name)?;
        Some((token.text, parameter.name.clone()))
    });
    macros.chain(numbers).chain(extents).collect()
}

impl<'s> HostCode<'_, 's> {
    fn extents(&self, part: &[CudaToken<'s>]) -> DraftedExtents {
        let declared = match part {
            [word] if word.is_word() && self.leaf(word.text).is_none() => match self.initialiser(word.text) {
                Some(inside) => inside,
                None => return DraftedExtents::Unknown,
            },
            _ => part.to_vec(),
        };
        let inside = match declared.as_slice() {
            [first, open, inside @ .., _] if first.text == "dim3" && matches!(open.text, "(" | "{") => inside,
            all => all,
        };
        let all: Option<Vec<String>> =
            parts(inside).into_iter().map(|part| self.expression(part, DEPTH).map(bare)).collect();
        match all.filter(|all| (1..=3).contains(&all.len())) {
            Some(all) => DraftedExtents::Said(all),
            None => DraftedExtents::Unsayable,
        }
    }

    /// A name of the phase, or a number.
    fn leaf(&self, word: &str) -> Option<String> {
        self.names.get(word).cloned().or_else(|| Some(self.kernel.tokens.number(word)?.to_string()))
    }

    /// The initialiser of a variable that is declared last before the launch.
    fn initialiser(&self, name: &str) -> Option<Vec<CudaToken<'s>>> {
        const TYPES: [&str; 8] = ["dim3", "int", "unsigned", "auto", "size_t", "long", "int64_t", "uint32_t"];
        let list = &self.kernel.tokens.list;
        let is_declared = |at: &usize| list[*at].text == name && TYPES.contains(&list[at - 1].text);
        let mut closed = 0_usize;
        let at = (1..self.at).rev().find(|at| {
            match list[*at].text {
                "}" => closed += 1,
                "{" => closed = closed.saturating_sub(1),
                _ => {}
            }
            // A variable of another block, as of another launcher, is another one.
            closed == 0 && is_declared(at)
        })?;
        // `grid.y = ...` after the declaration changes it.
        let is_changed = |at: usize| list[at].text == name && list.get(at + 1).is_some_and(|next| next.text == ".");
        if (at + 1..self.at).any(is_changed) {
            return None;
        }
        let next = list.get(at + 1)?.text;
        match next {
            "(" => Some(list[at + 2..closing(list, at + 1, "(", ")")?].to_vec()),
            "{" => Some(list[at + 2..closing(list, at + 1, "{", "}")?].to_vec()),
            "=" => {
                let end = (at + 2..list.len()).find(|place| list[*place].text == ";")?;
                // several variables in one declaration
                let first = parts(&list[at + 2..end]).into_iter().next()?;
                Some(first.to_vec())
            }
            _ => None,
        }
    }

    /// Sums, products, quotients and roundings up of names and numbers.
    fn expression(&self, part: &[CudaToken<'s>], depth: usize) -> Option<String> {
        let (mut text, mut at) = (String::new(), 0);
        while let Some(token) = part.get(at) {
            let is_call = token.is_word() && part.get(at + 1).is_some_and(|next| next.text == "(");
            match token.text {
                "(" | ")" => text.push_str(token.text),
                "+" | "-" | "*" => text.push_str(&format!(" {} ", token.text)),
                "/" => text.push_str(" // "),
                word if is_call => {
                    let end = closing(part, at + 1, "(", ")")?;
                    text.push_str(&self.rounded_up(word, &part[at + 2..end], depth)?);
                    at = end;
                }
                word => match self.leaf(word) {
                    Some(leaf) => text.push_str(&leaf),
                    None => {
                        let inner = self.initialiser(word).filter(|_| depth > 0 && token.is_word())?;
                        text.push_str(&format!("({})", bare(self.expression(&inner, depth - 1)?)));
                    }
                },
            }
            at += 1;
        }
        (!text.trim().is_empty()).then(|| text.trim().to_owned())
    }

    /// `(N + 63) // 64` for `ceil_div(N, 64)`, by the usual names of this function.
    fn rounded_up(&self, name: &str, arguments: &[CudaToken<'s>], depth: usize) -> Option<String> {
        let name: String = name.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
        let is_usual = ["cdiv", "ceildiv", "divup", "divceil", "divroundup", "iceildiv"].contains(&name.as_str());
        let [part, whole] = parts(arguments).try_into().ok().filter(|_| is_usual)?;
        let (part, whole) = (self.expression(part, depth)?, self.expression(whole, depth)?);
        Some(match whole.parse::<i64>() {
            Ok(number) => format!("(({part} + {}) // {number})", number - 1),
            Err(_) => format!("(({part} + {whole} - 1) // ({whole}))"),
        })
    }
}

/// Without parentheses around the whole.
fn bare(text: String) -> String {
    let is_whole = |text: &str| {
        let mut depth = 0_i32;
        let closes = text.char_indices().find_map(|(at, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            (depth == 0).then_some(at)
        });
        text.starts_with('(') && closes == Some(text.len() - 1)
    };
    if is_whole(&text) { bare(text[1..text.len() - 1].to_owned()) } else { text }
}
