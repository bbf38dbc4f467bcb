//! The kernel launch in the host code of the source, in the language of a phase: `reduce<float, 256><<<grid, 256>>>(...)`.

use super::code::{CudaCode, closing, is_word, joined, parts};
use super::signature::KernelSignature;
use std::collections::BTreeMap;

/// Maximum number of variables between a launch and the sizes that it depends on.
const DEPTH: usize = 4;

/// A launch or an explicit instantiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchSite<'s> {
    /// The position of the kernel's name.
    pub at: usize,
    /// Template arguments.
    pub template: Vec<&'s [&'s str]>,
    /// The parts between `<<<` and `>>>`; empty for an instantiation.
    pub configuration: Vec<&'s [&'s str]>,
    /// Arguments of the kernel.
    pub arguments: Vec<&'s [&'s str]>,
}

/// The launches and instantiations of a kernel.
pub fn launches<'s>(code: &'s CudaCode<'s>, kernel: &KernelSignature<'s>) -> Vec<LaunchSite<'s>> {
    let list = code.tokens.as_slice();
    let named = (0..list.len()).filter(|at| list[*at] == kernel.name && !kernel.body.contains(at));
    let site = |at: usize| {
        let angle = closing(list, at + 1).filter(|_| list[at + 1] == "<");
        let template = angle.map_or_else(Vec::new, |end| parts(&list[at + 2..end]));
        let mut site = LaunchSite { at, template, configuration: Vec::new(), arguments: Vec::new() };
        let open = angle.unwrap_or(at) + 1;
        let end = (open + 1..list.len()).find(|end| list[*end..].starts_with(&[">", ">", ">"]));
        if let (Some(&"<<<"), Some(end)) = (list.get(open), end) {
            site.configuration = parts(&list[open + 1..end]);
            site.arguments = closing(list, end + 3).map_or_else(Vec::new, |close| parts(&list[end + 4..close]));
        }
        site
    };
    named.map(site).collect()
}

/// Translates expressions of the source into those of a phase.
pub struct PhaseLanguage<'s> {
    pub code: &'s CudaCode<'s>,
    /// The position of the launch, before which variables are declared.
    pub at: usize,
    /// Names of the phase for those of the source.
    pub names: BTreeMap<&'s str, String>,
    /// Extents of the block, for `blockDim`.
    pub block: Vec<String>,
}

impl<'s> PhaseLanguage<'s> {
    /// Extents of a grid or a block per axis; none if a phase cannot express them.
    pub fn extents(&self, part: &'s [&'s str]) -> Option<Vec<String>> {
        let declared = match part {
            [word] if self.leaf(word).is_none() => self.initialiser(word)?,
            _ => part,
        };
        let inside = match declared {
            ["dim3", "(" | "{", inside @ .., _] => inside,
            all => all,
        };
        let all: Option<Vec<String>> = parts(inside).into_iter().map(|part| self.expression(part)).collect();
        all.filter(|all| (1..=3).contains(&all.len()))
    }

    /// Sums, products, quotients and roundings up of names and numbers.
    pub fn expression(&self, part: &[&'s str]) -> Option<String> {
        self.inner(part, DEPTH).map(bare)
    }

    /// A name of the phase, or a number.
    fn leaf(&self, word: &str) -> Option<String> {
        self.names.get(word).cloned().or_else(|| Some(self.code.number(word)?.to_string()))
    }

    fn inner(&self, part: &[&'s str], depth: usize) -> Option<String> {
        let (mut text, mut at) = (String::new(), 0);
        while let Some(token) = part.get(at) {
            let call =
                part.get(at + 1).filter(|next| **next == "(" && is_word(token)).and_then(|_| closing(part, at + 1));
            text += &match (*token, call, part.get(at + 1..at + 3)) {
                ("blockDim", _, Some([".", axis])) => {
                    at += 2;
                    let axis = ["x", "y", "z"].iter().position(|known| known == axis)?;
                    self.block.get(axis).map_or("1", String::as_str).to_owned()
                }
                (name, Some(end), _) => {
                    let inside = &part[at + 2..end];
                    at = end;
                    match name {
                        "sizeof" => self.code.element(&joined(inside))?.bytes().to_string(),
                        _ => self.rounded_up(name, inside, depth)?,
                    }
                }
                ("(" | ")", ..) => (*token).to_owned(),
                ("+" | "-" | "*", ..) => format!(" {token} "),
                ("/", ..) => " // ".to_owned(),
                (word, ..) => match self.leaf(word) {
                    Some(leaf) => leaf,
                    None if depth == 0 || !is_word(word) => return None,
                    None => format!("({})", bare(self.inner(self.initialiser(word)?, depth - 1)?)),
                },
            };
            at += 1;
        }
        (!text.trim().is_empty()).then(|| text.trim().to_owned())
    }

    /// The initialiser of a variable that is declared last before the launch, in its block or one around it.
    fn initialiser(&self, name: &str) -> Option<&'s [&'s str]> {
        let list = &self.code.tokens[..self.at];
        let mut closed = 0_usize;
        let declared = (1..self.at).rev().find(|place| {
            match list[*place] {
                "}" => closed += 1,
                "{" => closed = closed.saturating_sub(1),
                _ => {}
            }
            let of = list[*place - 1];
            let is_declared = matches!(of, "dim3" | "auto" | ",") || self.code.element(of).is_some();
            closed == 0
                && list[*place] == name
                && is_declared
                && matches!(list.get(place + 1), Some(&("(" | "{" | "=")))
        })?;
        // `grid.y = ...` after the declaration changes it.
        if list[declared + 1..].windows(2).any(|pair| pair == [name, "."]) {
            return None;
        }
        match closing(list, declared + 1) {
            Some(end) => list.get(declared + 2..end),
            None => {
                let statement = list[declared + 2..].split(|token| *token == ";").next()?;
                parts(statement).into_iter().next()
            }
        }
    }

    /// `(N + 63) // 64` for `ceil_div(N, 64)`, by the usual names of this function.
    fn rounded_up(&self, name: &str, arguments: &[&'s str], depth: usize) -> Option<String> {
        let name: String = name.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
        let is_usual = ["cdiv", "ceildiv", "divup", "divceil", "divroundup", "iceildiv"].contains(&name.as_str());
        let [part, whole] = parts(arguments).try_into().ok().filter(|_| is_usual)?;
        let (extent, elements) = (self.inner(part, depth)?, self.inner(whole, depth)?);
        Some(match elements.parse::<i64>() {
            Ok(number) => format!("(({extent} + {}) // {number})", number - 1),
            Err(_) => format!("(({extent} + {elements} - 1) // ({elements}))"),
        })
    }
}

/// Without parentheses around the whole.
fn bare(text: String) -> String {
    let mut depth = 0_i32;
    let closes = text.char_indices().find_map(|(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        (depth == 0).then_some(at)
    });
    if text.starts_with('(') && closes == Some(text.len() - 1) {
        bare(text[1..text.len() - 1].to_owned())
    } else {
        text
    }
}
