//! Parts of a requirement that no measurement decides: they read no measurement of the judged variant, or hold for
//! every possible measurement.
//!
//! The form of the tree shows which values it reads. Comparisons that always hold are found by trial: [`PROBES`]
//! values are drawn from the range of each quantity and from the constants of the text, and a comparison that holds
//! for all of them is refused. A sound requirement looks trivial only if its limit is outside the range of its
//! metric.

use super::ast::{Node, NodeKind, Reference, Span};
use super::requirement::{Form, Requirement};
use super::value::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Number of values tried for each quantity.
const PROBES: usize = 400;

/// The meaning of a reference in a requirement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// A measurement of the judged variant, between these bounds.
    Own { least: f64, most: f64 },
    /// Anything else: a value of another variant, a dimension, a parameter, a scalar.
    Other,
}

/// The part of a requirement that no measurement decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trivial {
    pub reason: &'static str,
    /// Its bytes of the text.
    pub span: Span,
}

const UNREAD: &str = "reads no metric of the judged variant";
const CONSTANT: &str = "has the same result for every measurement";

impl Requirement {
    /// The first part that would hold without any measurement. `source` classifies each reference, and `settle` makes
    /// named values jointly possible for one variant.
    pub fn trivial(&self, source: &dyn Fn(&Reference) -> Source, settle: Settle<'_>) -> Option<Trivial> {
        let root = match self.form() {
            Form::Compare { left, comparison, right } => Node {
                kind: NodeKind::Compare(Box::new(left.clone()), vec![(*comparison, right.clone())]),
                span: Span::new(0, self.text().len()),
            },
            Form::Condition(condition) => condition.clone(),
        };
        let probe = Probe::new(&root, source, settle);
        let constant = || probe.is_always(&root, true).then_some(Trivial { reason: CONSTANT, span: root.span });
        probe.undecided(&root, true).or_else(constant)
    }
}

/// Adjusts named values so that they are jointly possible for one variant.
pub type Settle<'s> = &'s dyn Fn(&mut BTreeMap<&str, f64>);

/// A tree and the trial values of its references.
struct Probe<'s> {
    settle: Settle<'s>,
    /// The references of the tree, each once.
    references: Vec<Reference>,
    /// The source of each reference.
    sources: Vec<Source>,
    /// Constants that are tried in addition to the range of a quantity.
    constants: Vec<f64>,
    /// The values of each reference in each draw so far: the first few decide most requirements.
    draws: RefCell<Vec<Vec<f64>>>,
}

impl<'s> Probe<'s> {
    fn new(root: &Node<Reference>, source: &dyn Fn(&Reference) -> Source, settle: Settle<'s>) -> Self {
        let mut references: Vec<Reference> = Vec::new();
        for (reference, _) in root.reads() {
            if !references.contains(reference) {
                references.push(reference.clone());
            }
        }
        let literal = |node: &Node<Reference>| node.number().filter(|number| number.is_finite());
        let literals: Vec<f64> = root.walk().into_iter().filter_map(literal).collect();
        let near = literals.iter().flat_map(|number| [*number, number - 1.0, number + 1.0]);
        // `2 * a != 7` is false only for 3.5
        let few = &literals[..literals.len().min(4)];
        let quotients = few.iter().flat_map(|a| few.iter().filter(|b| **b != 0.0).map(move |b| a / b));
        let mut constants: Vec<f64> = [0.0, 1.0].into_iter().chain(near).chain(quotients).collect();
        constants.sort_by(f64::total_cmp);
        constants.dedup();
        let sources = references.iter().map(source).collect();
        Self { settle, references, sources, constants, draws: RefCell::default() }
    }

    /// The part by which the node can have this truth value without a deciding measurement.
    fn undecided(&self, node: &Node<Reference>, truth: bool) -> Option<Trivial> {
        let first =
            |a: &Node<Reference>, b: &Node<Reference>| self.undecided(a, truth).or_else(|| self.undecided(b, truth));
        let both = |a: &Node<Reference>, b: &Node<Reference>| {
            self.undecided(a, truth).and_then(|found| self.undecided(b, truth).map(|_| found))
        };
        match (&node.kind, truth) {
            (NodeKind::Not(inner), _) => self.undecided(inner, !truth),
            (NodeKind::And(left, right), true) | (NodeKind::Or(left, right), false) => both(left, right),
            (NodeKind::And(left, right), false) | (NodeKind::Or(left, right), true) => first(left, right),
            (NodeKind::Conditional { then, otherwise, .. }, _) => first(then, otherwise),
            _ => self.leaf(node, truth),
        }
    }

    /// A comparison, a membership, or a value taken as true or false.
    fn leaf(&self, node: &Node<Reference>, truth: bool) -> Option<Trivial> {
        if !self.reads_own(node) {
            return Some(Trivial { reason: UNREAD, span: node.span });
        }
        if self.is_always(node, truth) {
            return Some(Trivial { reason: CONSTANT, span: node.span });
        }
        node.children().into_iter().find_map(|child| self.inside(child))
    }

    /// A condition inside a side of a comparison has to be decided both ways; the condition of `if` can be anything.
    fn inside(&self, node: &Node<Reference>) -> Option<Trivial> {
        match &node.kind {
            NodeKind::Conditional { then, otherwise, .. } => self.inside(then).or_else(|| self.inside(otherwise)),
            _ if node.is_logical() => self.undecided(node, true).or_else(|| self.undecided(node, false)),
            _ => node.children().into_iter().find_map(|child| self.inside(child)),
        }
    }

    fn reads_own(&self, node: &Node<Reference>) -> bool {
        match &node.kind {
            NodeKind::Read(reference) => {
                self.at(reference).is_some_and(|at| matches!(self.sources[at], Source::Own { .. }))
            }
            NodeKind::Conditional { then, otherwise, .. } => self.reads_own(then) && self.reads_own(otherwise),
            _ => node.children().into_iter().any(|child| self.reads_own(child)),
        }
    }

    fn at(&self, reference: &Reference) -> Option<usize> {
        self.references.iter().position(|known| known == reference)
    }

    /// Whether the node has this truth value for every trial. A failed evaluation does not count.
    fn is_always(&self, node: &Node<Reference>, truth: bool) -> bool {
        let mut tried = (0..PROBES).filter_map(|draw| self.holds(node, draw)).peekable();
        tried.peek().is_some() && tried.all(|found| found == truth)
    }

    /// Whether it holds in a draw; none if it cannot be evaluated.
    fn holds(&self, node: &Node<Reference>, draw: usize) -> Option<bool> {
        let mut draws = self.draws.borrow_mut();
        while draws.len() <= draw {
            let next = self.values_of_draw(draws.len() as u64);
            draws.push(next);
        }
        let values = draws.get(draw)?;
        let read = |reference: &Reference| {
            let value = self.at(reference).and_then(|at| values.get(at)).copied();
            value.map(Value::Float).ok_or_else(|| "nothing was drawn".to_owned())
        };
        node.eval(&read).ok().map(|value| value.is_truthy())
    }

    /// The value of each reference in a draw.
    fn values_of_draw(&self, draw: u64) -> Vec<f64> {
        let alone = |(at, source): (usize, &Source)| value(at, *source, &self.constants, draw);
        let mut values: Vec<f64> = self.sources.iter().enumerate().map(alone).collect();
        // A name of the judged variant occurs at most once among the references.
        let own = self.references.iter().zip(&self.sources).map(|(reference, source)| match source {
            Source::Own { .. } => reference.own(),
            Source::Other => None,
        });
        let names: Vec<Option<&str>> = own.collect();
        let mut together: BTreeMap<&str, f64> =
            names.iter().zip(&values).filter_map(|(name, value)| Some(((*name)?, *value))).collect();
        // A single value is always possible.
        if together.len() > 1 {
            (self.settle)(&mut together);
        }
        for (name, value) in names.iter().zip(&mut values) {
            *value = name.and_then(|name| together.get(name)).copied().unwrap_or(*value);
        }
        values
    }
}

/// The value of a reference in a draw: a constant of the text, or a random value in its range.
fn value(at: usize, source: Source, constants: &[f64], draw: u64) -> f64 {
    let bits = scrambled(draw ^ (at as u64 + 1).wrapping_mul(0xD1B5_4A32_D192_ED03));
    let part = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    let constant = constants[(bits % constants.len() as u64) as usize];
    match source {
        Source::Own { least, most } if bits & 0x100 == 0 => constant.clamp(least, most),
        Source::Own { least, most } if most <= 100.0 => least + part * (most - least),
        Source::Own { least, most } => {
            let (low, high) = (least.max(1e-9).ln(), most.ln());
            (low + part * (high - low)).exp()
        }
        Source::Other if bits & 0x100 == 0 => constant,
        Source::Other => (part * 12.0).exp2().round(),
    }
}

/// Pseudo-random bits: the finalizer of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014).
fn scrambled(seed: u64) -> u64 {
    let mut bits = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Owner;

    fn source(reference: &Reference) -> Source {
        match reference {
            Reference::Speedup { .. } => Source::Own { least: 1e-6, most: 1e6 },
            _ if *reference.owner() != Owner::Case => Source::Other,
            _ => match reference.own() {
                Some("S" | "REGCAP" | "cc" | "dtype") => Source::Other,
                Some("correct") => Source::Own { least: 0.0, most: 1.0 },
                Some("latency_p50" | "latency_p90") => Source::Own { least: 1e-3, most: 1e12 },
                Some("dram_pct" | "tensor_pct" | "achieved_occupancy") => Source::Own { least: 0.0, most: 100.0 },
                _ => Source::Own { least: 0.0, most: 1e18 },
            },
        }
    }

    /// The order of quantiles, and of parts of a whole.
    fn settle(values: &mut BTreeMap<&str, f64>) {
        for (less, more) in [("latency_p50", "latency_p90"), ("dram_read_bytes", "dram_bytes")] {
            if let (Some(low), Some(high)) = (values.get(less).copied(), values.get(more).copied()) {
                values.insert(more, high.max(low));
            }
        }
    }

    fn flaw(text: &str) -> Option<String> {
        let requirement = Requirement::parse(text).unwrap();
        requirement.trivial(&source, &settle).map(|flaw| requirement.text()[flaw.span.range()].to_owned())
    }

    #[test]
    fn what_reads_nothing_measured_of_its_variant_is_found() {
        for (text, part) in [
            ("S == 512", "S == 512"),
            ("REGCAP >= 64", "REGCAP >= 64"),
            ("cc >= 7", "cc >= 7"),
            ("baseline.latency_p50 <= 30", "baseline.latency_p50 <= 30"),
            ("registers <= 64 or true", "true"),
            ("registers <= 64 or S == 512", "S == 512"),
            ("true if latency_p50 < 5 else registers < 64", "true"),
            ("not (registers > 64 and S == 512)", "S == 512"),
            ("((S == 512) or registers < 64) == true", "(S == 512)"),
            ("(registers if S > 1 else 1) >= 1", "(registers if S > 1 else 1) >= 1"),
        ] {
            assert_eq!(flaw(text).as_deref(), Some(part), "{text}");
        }
    }

    #[test]
    fn what_holds_whatever_is_measured_is_found() {
        for text in [
            "latency_p50 == latency_p50",
            "latency_p50 <= 2 * latency_p50",
            "latency_p50 - latency_p50 == 0",
            "0 * latency_p50 <= 5",
            "latency_p50 > 0",
            "registers >= 0",
            "speedup() > 0",
            "achieved_occupancy <= 100",
            "correct <= 1",
            "latency_p50 < 1e30",
            "registers <= 64 or registers > 64",
            "latency_p50 or registers <= 64",
            "not (latency_p50 < 0)",
            "registers in [1, 2] or registers not in [1, 2]",
            "latency_p50 <= latency_p90",
            "latency_p50 <= 2 * latency_p90",
            "latency_p90 - latency_p50 >= 0",
            "latency_p90 / latency_p50 >= 1",
            "not (latency_p90 < latency_p50)",
            "registers <= 64 or latency_p50 <= latency_p90",
            "dram_read_bytes <= dram_bytes + 4096",
        ] {
            assert!(flaw(text).is_some(), "{text}");
        }
    }

    const SOUND: [&str; 23] = [
        "registers <= 64",
        "registers == 128",
        "spills == 0",
        "correct == 1 and max_abs <= 2e-3",
        "latency_p50 <= 0.98 * baseline.latency_p50",
        "latency_p90 <= 1.2 * latency_p50",
        "latency_p50 <= 0.9 * latency_p90",
        "latency_p50 >= latency_p90",
        "dram_read_bytes <= 0.5 * dram_bytes",
        "latency_p50 <= baseline.latency_p90",
        "not (dram_pct > 80 and tensor_pct < 40)",
        "block_threads == 32 and grid_blocks == 16 * baseline.grid_blocks",
        "registers < (64 if S > 1 else 32)",
        "latency_p50 < 5 if S > 1000 else registers <= 64",
        "cc >= 8.9 and dtype == 'f16' and registers <= REGCAP",
        "dram_bytes <= 1.5 * 4 * S * 2",
        "registers in [32, 64]",
        "(registers < 64) == (spills == 0)",
        "speedup('twin') >= 1.10",
        "max_abs <= previous.max_abs + 1e-6",
        "dram_bytes <= 1e12",
        "achieved_occupancy >= 0.2",
        "registers != 128",
    ];

    #[test]
    fn sound_requirements_are_left_alone() {
        for text in SOUND {
            assert_eq!(flaw(text), None, "{text}");
        }
    }

    /// A phase can have thousands of gates.
    #[test]
    fn a_sound_requirement_is_decided_by_few_draws() {
        for text in SOUND.into_iter().filter(|text| !text.contains("S > 1000")) {
            let requirement = Requirement::parse(text).unwrap();
            let settled = RefCell::new(0);
            let count = |_: &mut BTreeMap<&str, f64>| *settled.borrow_mut() += 1;
            let Form::Compare { left, comparison, right } = requirement.form() else { continue };
            let kind = NodeKind::Compare(Box::new(left.clone()), vec![(*comparison, right.clone())]);
            let root = Node { kind, span: Span::new(0, requirement.text().len()) };
            let probe = Probe::new(&root, &source, &count);
            assert!(!probe.is_always(&root, true));
            assert!(probe.draws.borrow().len() < 40, "{text}: {}", probe.draws.borrow().len());
            assert!(probe.references.len() > 1 || *settled.borrow() == 0, "{text}: one name alone is settled");
        }
    }
}
