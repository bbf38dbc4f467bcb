//! The requirement of a gate: its form and the quantities it reads.
//!
//! One comparison of two arithmetic sides is a [`Form::Compare`], which has a margin; anything with `and`, `or`,
//! `not`, `in`, `if` or a comparison inside a side is a [`Form::Condition`].
//!
//! A metric can have the name that ncu uses, bare (`sm__warps_active.avg.pct_of_peak_sustained_active`), after an
//! owner (`baseline.dram__bytes.sum`, `baseline["dram__bytes.sum"]`) or in a call (`ncu("...")`).

use super::ast::{Comparison, Node, NodeKind, Owner, Quantity, Reference, Span};
use super::limit::{self, UnitError};
use super::parse;
use crate::CleanText;
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// A parsed requirement; a copy shares the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    text: Arc<str>,
    form: Arc<Form<Reference>>,
}

/// The forms of a requirement; see [`Node`] for `R`.
#[derive(Debug, Clone, PartialEq)]
pub enum Form<R> {
    /// Two numbers and a comparison: `eligible_warps >= 2`.
    Compare { left: Node<R>, comparison: Comparison, right: Node<R> },
    /// A truth value: `not (dram_pct > 80 and tensor_pct < 40)`.
    Condition(Node<R>),
}

/// The quantities that a requirement reads, each once and sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reads {
    pub quantities: Vec<Quantity>,
    /// Arguments of `speedup("...")`; `speedup()` is over the baseline.
    pub speedups: Vec<Owner>,
}

impl Reads {
    /// The owners of the values, those of speedups last; an owner can occur more than once.
    pub fn owners(&self) -> impl Iterator<Item = &Owner> {
        self.quantities.iter().map(|quantity| &quantity.owner).chain(&self.speedups)
    }
}

/// Why a text is not a requirement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// It does not parse.
    /// `span`: the wrong bytes.
    #[error("cannot parse requirement `{text}`: {reason}")]
    Syntax { text: String, reason: String, span: Span },
    /// `1 < x < 2`.
    #[error("requirement `{text}` chains comparisons; write two gates, or join them with `and`")]
    Chained { text: String, span: Span },
    /// `registers`, `2 * registers`.
    #[error("requirement `{0}` has no comparison; write for example `{0} >= 1`")]
    NoComparison(String),
    /// `1 < 2`.
    #[error("requirement `{0}` reads no metric, so no measurement could change its verdict")]
    Constant(String),
}

impl RequirementError {
    /// The wrong bytes of the text; none if all of it is wrong.
    pub const fn span(&self) -> Option<Span> {
        match self {
            Self::Syntax { span, .. } | Self::Chained { span, .. } => Some(*span),
            Self::NoComparison(_) | Self::Constant(_) => None,
        }
    }
}

impl Requirement {
    /// Parses the requirement of a gate. Surrounding spaces are trimmed, and spans refer to the trimmed text.
    ///
    /// # Errors
    ///
    /// Syntax errors, chains of comparisons, and requirements that no measurement decides.
    pub fn parse(text: &str) -> Result<Self, RequirementError> {
        let text = text.trim();
        let owned = || text.to_owned();
        let root = parse::parse(text).map_err(|e| RequirementError::Syntax {
            text: owned(),
            reason: e.reason,
            span: e.span,
        })?;
        let chained = |node: &&Node<Reference>| matches!(&node.kind, NodeKind::Compare(_, rest) if rest.len() > 1);
        if let Some(chain) = root.walk().into_iter().find(chained) {
            return Err(RequirementError::Chained { text: owned(), span: chain.span });
        }
        if !root.walk().iter().any(|node| node.is_logical()) {
            return Err(RequirementError::NoComparison(owned()));
        }
        if root.reads().next().is_none() {
            return Err(RequirementError::Constant(owned()));
        }
        Ok(Self { text: text.into(), form: Arc::new(form(root)) })
    }

    /// `speedup("previous") >= 1`: the exit gate of a stage that declares none.
    pub fn no_slower_than_previous() -> Self {
        let span = Span::new;
        let speedup = Reference::Speedup { over: Owner::Previous };
        let left = Node { kind: NodeKind::Read(speedup), span: span(0, 19) };
        let right = Node { kind: NodeKind::Literal(super::Value::Int(1)), span: span(23, 24) };
        let form = Form::Compare { left, comparison: Comparison::GreaterOrEqual, right };
        Self { text: "speedup(\"previous\") >= 1".into(), form: Arc::new(form) }
    }

    /// The requirement with every limit in the unit of its comparison. `unit_of` returns the unit of a metric: empty
    /// if it has none, `None` if the value is not measured.
    ///
    /// # Errors
    ///
    /// A unit that does not fit.
    pub fn in_units<'u>(&self, unit_of: &dyn Fn(&Reference) -> Option<&'u str>) -> Result<Self, UnitError> {
        let mut form = (*self.form).clone();
        match &mut form {
            Form::Compare { left, comparison, right } => {
                let kind = NodeKind::Compare(Box::new(left.clone()), vec![(*comparison, right.clone())]);
                let mut root = Node { kind, span: Span::new(0, self.text.len()) };
                limit::resolve(&mut root, &[], unit_of)?;
                form = self::form(root);
            }
            Form::Condition(condition) => limit::resolve(condition, &[], unit_of)?,
        }
        Ok(Self { text: self.text.clone(), form: Arc::new(form) })
    }

    /// Whether a limit was written with its unit.
    pub fn names_units(&self) -> bool {
        let is_measure =
            |node: &Node<Reference>| node.walk().iter().any(|n| matches!(n.kind, NodeKind::Measure { .. }));
        match &*self.form {
            Form::Compare { left, right, .. } => is_measure(left) || is_measure(right),
            Form::Condition(condition) => is_measure(condition),
        }
    }

    /// The references that are compared with a number, and the number.
    pub fn limits(&self) -> Vec<(&Reference, f64)> {
        let pair = |left: &'_ Node<Reference>, right: &'_ Node<Reference>| match &left.kind {
            NodeKind::Read(_) => right.number(),
            _ => None,
        };
        let of =
            |left: &'_ Node<Reference>, right: &'_ Node<Reference>| pair(left, right).or_else(|| pair(right, left));
        let read = |side: &[&'_ Node<Reference>]| side.iter().position(|node| matches!(node.kind, NodeKind::Read(_)));
        let mut found = Vec::new();
        let mut note = |left, right| {
            if let (Some(limit), Some(at)) = (of(left, right), read(&[left, right])) {
                let side: &Node<Reference> = if at == 0 { left } else { right };
                found.extend(side.reads().next().map(|(reference, _)| (reference, limit)));
            }
        };
        match &*self.form {
            Form::Compare { left, right, .. } => note(left, right),
            Form::Condition(condition) => {
                for node in condition.walk() {
                    if let NodeKind::Compare(left, rest) = &node.kind {
                        rest.iter().for_each(|(_, right)| note(left, right));
                    }
                }
            }
        }
        found
    }

    /// As written, without surrounding spaces; spans are bytes of it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// As written, for readers.
    pub fn shown(&self) -> CleanText {
        CleanText::from(&*self.text)
    }

    /// The left side for readers: the name if it is a single reference, else as written.
    pub fn subject_text(&self) -> String {
        self.subject().map_or_else(|| self.left().to_owned(), Reference::to_string)
    }

    pub fn form(&self) -> &Form<Reference> {
        &self.form
    }

    pub fn comparison(&self) -> Option<Comparison> {
        match &*self.form {
            Form::Compare { comparison, .. } => Some(*comparison),
            Form::Condition(_) => None,
        }
    }

    /// The left side as written; all of a condition.
    pub fn left(&self) -> &str {
        match &*self.form {
            Form::Compare { left, .. } => self.text.get(left.span.range()).unwrap_or(&self.text),
            Form::Condition(_) => &self.text,
        }
    }

    /// The reference on the left side, if it is nothing else.
    pub fn subject(&self) -> Option<&Reference> {
        match &*self.form {
            Form::Compare { left: Node { kind: NodeKind::Read(reference), .. }, .. } => Some(reference),
            Form::Compare { .. } | Form::Condition(_) => None,
        }
    }

    /// The references with their positions, in the order of the text.
    pub fn references(&self) -> Vec<(&Reference, Span)> {
        match &*self.form {
            Form::Compare { left, right, .. } => left.reads().chain(right.reads()).collect(),
            Form::Condition(condition) => condition.reads().collect(),
        }
    }

    /// The references of each comparison of values. A value that is compared with a number is left out, unless it is a
    /// speedup, which compares two latencies.
    pub fn comparisons(&self) -> Vec<Vec<&Reference>> {
        let condition = match &*self.form {
            Form::Compare { .. } => {
                return vec![self.references().into_iter().map(|(reference, _)| reference).collect()];
            }
            Form::Condition(condition) => condition,
        };
        let mut all: Vec<Vec<&Reference>> = Vec::new();
        for node in condition.walk() {
            if let NodeKind::Compare(..) | NodeKind::In { .. } = node.kind {
                let read: Vec<&Reference> = node.reads().map(|(reference, _)| reference).collect();
                let is_speedup = |reference: &&Reference| matches!(reference, Reference::Speedup { .. });
                if read.len() > 1 || read.iter().any(is_speedup) {
                    all.push(read);
                }
            }
        }
        all
    }

    pub fn reads(&self) -> Reads {
        let mut reads = Reads::default();
        for (reference, _) in self.references() {
            match reference {
                Reference::Quantity(quantity) => reads.quantities.push(quantity.clone()),
                Reference::Speedup { over } => reads.speedups.push(over.clone()),
            }
        }
        reads.quantities.sort();
        reads.quantities.dedup();
        reads.speedups.sort();
        reads.speedups.dedup();
        reads
    }
}

fn form(root: Node<Reference>) -> Form<Reference> {
    let Node { kind, span } = root;
    match kind {
        NodeKind::Compare(left, mut rest) => match rest.pop() {
            Some((comparison, right)) if rest.is_empty() && is_arithmetic(&left) && is_arithmetic(&right) => {
                Form::Compare { left: *left, comparison, right }
            }
            last => {
                rest.extend(last);
                Form::Condition(Node { kind: NodeKind::Compare(left, rest), span })
            }
        },
        kind => Form::Condition(Node { kind, span }),
    }
}

fn is_arithmetic(side: &Node<Reference>) -> bool {
    !side.walk().iter().any(|node| node.is_logical())
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown().fmt(f)
    }
}

impl Serialize for Requirement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `left|comparison|right`, or the condition.
    fn parts(text: &str) -> String {
        let requirement = Requirement::parse(text).unwrap_or_else(|e| panic!("{e}"));
        match requirement.form() {
            Form::Compare { comparison, right, .. } => {
                let right = &requirement.text()[right.span.range()];
                format!("{}|{}|{right}", requirement.left(), comparison.symbol())
            }
            Form::Condition(_) => requirement.text().to_owned(),
        }
    }

    fn reads(text: &str) -> Vec<String> {
        let reads = Requirement::parse(text).unwrap().reads();
        let named = reads.quantities.iter().map(|q| format!("{:?} {}", q.owner, q.name));
        named.chain(reads.speedups.iter().map(|owner| format!("speedup over {owner:?}"))).collect()
    }

    #[test]
    fn one_comparison_is_split() {
        assert_eq!(parts("eligible_warps >= 2"), "eligible_warps|>=|2");
        assert_eq!(parts(" registers<=64 "), "registers|<=|64");
        assert_eq!(parts("latency_p50 <= 0.98 * baseline.latency_p50"), "latency_p50|<=|0.98 * baseline.latency_p50");
        assert_eq!(parts("(registers + spills) * 2 != 7 // 2"), "(registers + spills) * 2|!=|7 // 2");
        assert_eq!(parts("speedup('a<b') > 1"), "speedup('a<b')|>|1");
        let made = Requirement::no_slower_than_previous();
        assert_eq!(Requirement::parse(made.text()).unwrap().form(), made.form());
    }

    #[test]
    fn logic_is_a_condition() {
        for text in [
            "not (dram_pct > 80 and tensor_pct < 40)",
            "registers < 64 or spills == 0",
            "(registers < 64) == (spills == 0)",
            "registers in [32, 64]",
            "registers < (64 if S > 1 else 32)",
        ] {
            assert_eq!(parts(text), text);
        }
    }

    #[test]
    fn names_of_ncu_keep_their_dots() {
        let text = "sm__a.avg.pct > 2 * baseline.sm__a.avg.pct";
        assert_eq!(parts(text), "sm__a.avg.pct|>|2 * baseline.sm__a.avg.pct");
        assert_eq!(reads(text), ["Case sm__a.avg.pct", "Baseline sm__a.avg.pct"]);
        assert_eq!(
            reads("not launch__waves > 1 and ncu('dram__bytes.sum') > 1"),
            ["Case dram__bytes.sum", "Case launch__waves"]
        );
        assert_eq!(reads("sm__a.avg*2e-3 < best.lts__t_bytes.sum"), ["Case sm__a.avg", "Best lts__t_bytes.sum"]);
        assert_eq!(reads("flash[\"sm__a.avg\"] > 1"), ["Named(\"flash\") sm__a.avg"]);
    }

    #[test]
    fn a_requirement_lists_the_quantities_it_reads() {
        assert_eq!(reads("flash.ipc > 1"), ["Named(\"flash\") ipc"]);
        assert_eq!(reads("ipc * 2 > ipc"), ["Case ipc"]);
        assert_eq!(
            reads("dram_bytes <= 1.05 * previous.dram_bytes and best.ipc < ipc and speedup(\"flash\") > S"),
            [
                "Case S",
                "Case dram_bytes",
                "Case ipc",
                "Previous dram_bytes",
                "Best ipc",
                "speedup over Named(\"flash\")"
            ]
        );
        assert_eq!(reads("speedup() > 1"), ["speedup over Baseline"]);
    }

    #[test]
    fn requirements_that_judge_nothing_are_refused() {
        let error = |text: &str| Requirement::parse(text).unwrap_err();
        let spanned = |text: &str| error(text).span().map(Span::range);
        assert!(matches!(error("1 < registers < 64"), RequirementError::Chained { .. }));
        assert_eq!(spanned("spills == 0 and 1 < registers < 64"), Some(16..34));
        assert!(matches!(error("registers"), RequirementError::NoComparison(_)));
        assert!(matches!(error("1 < 2"), RequirementError::Constant(_)));
        assert!(matches!(error("true or false"), RequirementError::Constant(_)));
        assert_eq!(spanned("speedup(name) > 1"), Some(0..7));
        assert_eq!(spanned("1 < speedup"), Some(4..11));
        assert_eq!(spanned("registers <= "), Some(12..12));
        assert_eq!(spanned("registers => 3"), Some(10..11));
    }

    #[test]
    fn a_limit_keeps_its_unit_once_it_is_resolved() {
        let written = |text: &str| Requirement::parse(text).unwrap().in_units(&|_| Some("us")).unwrap();
        let (with, without) = (written("latency_p50 <= 30 ms"), written("latency_p50 <= 30"));
        assert_eq!((with.limits()[0].1, without.limits()[0].1), (30_000.0, 30.0));
        assert!(with.names_units() && !without.names_units());
        assert!(written("not (latency_p50 > 1 ms or spills > 0)").names_units());
    }

    #[test]
    fn a_requirement_is_stored_as_its_text() {
        let requirement = Requirement::parse("registers <= 64").unwrap();
        let json = serde_json::to_string(&requirement).unwrap();
        assert_eq!(json, "\"registers <= 64\"");
        let lines = Requirement::parse("registers <= 64\n  and name != '\u{202e}'").unwrap();
        assert_eq!(lines.to_string(), "registers <= 64 and name != '⟨U+202E⟩'");
    }
}
