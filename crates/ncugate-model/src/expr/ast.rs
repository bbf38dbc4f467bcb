//! An expression as a tree; every node knows which bytes of the text it came from.

use super::unit::Unit;
use super::value::Value;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// Bytes of a text: the first, and the one after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// From one byte to before another.
    pub fn new(start: usize, end: usize) -> Self {
        let held = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: held(start), end: held(end) }
    }

    /// From the start of one to the end of another.
    pub(super) fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }

    /// The same bytes in a longer text that contains this text from byte `by` on.
    pub(super) fn moved(self, by: usize) -> Self {
        let Range { start, end } = self.range();
        Self::new(start + by, end + by)
    }

    /// The bytes as a range.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

words! {
    symbol;
    /// The comparison of two sides.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Comparison {
        /// `<`
        #[serde(rename = "<")]
        Less = "<",
        /// `<=`
        #[serde(rename = "<=")]
        LessOrEqual = "<=",
        /// `>`
        #[serde(rename = ">")]
        Greater = ">",
        /// `>=`
        #[serde(rename = ">=")]
        GreaterOrEqual = ">=",
        /// `==`
        #[serde(rename = "==")]
        Equal = "==",
        /// `!=`
        #[serde(rename = "!=")]
        NotEqual = "!=",
    }
}

impl Comparison {
    /// Whether it is an order, not an equality.
    pub const fn is_order(self) -> bool {
        match self {
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => true,
            Self::Equal | Self::NotEqual => false,
        }
    }

    /// Compares two numbers; with NaN only `!=` holds.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Equal => left == right,
            Self::NotEqual => left != right,
        }
    }
}

words! {
    symbol;
    /// Arithmetic on two numbers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Arithmetic {
        /// `+`
        Add = "+",
        /// `-`
        Subtract = "-",
        /// `*`
        Multiply = "*",
        /// `/`, which gives a real number.
        Divide = "/",
        /// `//`, which rounds down.
        FloorDivide = "//",
        /// `%`, which has the sign of the divisor.
        Remainder = "%",
        /// `**`
        Power = "**",
    }
}

words! {
    name;
    /// A function of numbers.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MathFunction {
        /// The greatest of its arguments.
        Max = "max",
        /// The least of its arguments.
        Min = "min",
        /// The binary logarithm: an integer for a power of two, else a real number.
        Log2 = "log2",
        /// The next integer that is not less.
        Ceil = "ceil",
        /// The next integer that is not greater.
        Floor = "floor",
    }
}

impl MathFunction {
    /// Whether it takes two arguments or more, not exactly one.
    pub const fn takes_several(self) -> bool {
        match self {
            Self::Max | Self::Min => true,
            Self::Log2 | Self::Ceil | Self::Floor => false,
        }
    }
}

/// The owner of a quantity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The judged variant.
    Case,
    /// The first baseline, or the stored run in its place.
    Baseline,
    /// The last accepted stage; outside stages, the run before.
    Previous,
    /// The leaderboard's best.
    Best,
    /// A baseline, variant or stage by name.
    Named(String),
}

impl Owner {
    /// The owner written with this word before a dot or in `speedup("...")`.
    pub fn of_word(word: &str) -> Self {
        match word {
            "baseline" => Self::Baseline,
            "previous" => Self::Previous,
            "best" => Self::Best,
            name => Self::Named(name.to_owned()),
        }
    }

    /// As written; the judged variant has no word.
    pub fn word(&self) -> &str {
        match self {
            Self::Case => "",
            Self::Baseline => "baseline",
            Self::Previous => "previous",
            Self::Best => "best",
            Self::Named(name) => name,
        }
    }
}

/// A named value: a metric of some owner, or a dimension, parameter or scalar of the judged variant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    pub owner: Owner,
    /// Its name; an ncu name includes its dots.
    pub name: String,
}

/// A value that an expression reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reference {
    Quantity(Quantity),
    /// Median latency of another variant over that of the judged variant.
    Speedup {
        /// The variant whose latency is the numerator.
        over: Owner,
    },
}

impl Reference {
    /// The name, if it belongs to the judged variant.
    pub fn own(&self) -> Option<&str> {
        match self {
            Self::Quantity(Quantity { owner: Owner::Case, name }) => Some(name),
            Self::Quantity(_) | Self::Speedup { .. } => None,
        }
    }

    /// The owner of the value.
    pub fn owner(&self) -> &Owner {
        match self {
            Self::Quantity(quantity) => &quantity.owner,
            Self::Speedup { over } => over,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quantity(Quantity { owner: Owner::Case, name }) => f.write_str(name),
            Self::Quantity(Quantity { owner, name }) => write!(f, "{}.{name}", owner.word()),
            Self::Speedup { over } => write!(f, "speedup(\"{}\")", over.word()),
        }
    }
}

/// A node and its position in the text. `R` represents a value that is read: a [`Reference`] as parsed, an index of
/// operands once bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<R> {
    pub kind: NodeKind<R>,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind<R> {
    /// A number, a text, `true` or `false`.
    Literal(Value),
    /// A number with a unit: `30 us`.
    /// `number`: as written.
    /// `resolved`: in the unit of the compared metric; none before a requirement resolves it.
    Measure { number: f64, unit: Unit, resolved: Option<f64> },
    /// A value that is read.
    Read(R),
    /// `-a`
    Negate(Box<Node<R>>),
    /// `not a`
    Not(Box<Node<R>>),
    /// `a + b`
    Arithmetic(Arithmetic, Box<Node<R>>, Box<Node<R>>),
    /// `max(a, b)`; the list is never empty.
    Call(MathFunction, Vec<Node<R>>),
    /// `a < b`, or a chain `a < b <= c`; the list is never empty.
    Compare(Box<Node<R>>, Vec<(Comparison, Node<R>)>),
    /// `a in [b, c]`, or `not in` if negated.
    /// `value`: the value to look for.
    /// `negated`: whether it must not be in the list.
    In { value: Box<Node<R>>, list: Vec<Node<R>>, negated: bool },
    /// `a and b`
    And(Box<Node<R>>, Box<Node<R>>),
    /// `a or b`
    Or(Box<Node<R>>, Box<Node<R>>),
    /// `a if b else c`
    /// `then`: the value if the condition holds.
    Conditional { then: Box<Node<R>>, condition: Box<Node<R>>, otherwise: Box<Node<R>> },
}

/// The nodes directly below a node, shared or mutable.
macro_rules! children {
    ($kind:expr, $iter:ident, $as:ident) => {
        match $kind {
            NodeKind::Literal(_) | NodeKind::Measure { .. } | NodeKind::Read(_) => Vec::new(),
            NodeKind::Negate(inner) | NodeKind::Not(inner) => vec![inner],
            NodeKind::Arithmetic(_, left, right) | NodeKind::And(left, right) | NodeKind::Or(left, right) => {
                vec![left, right]
            }
            NodeKind::Call(_, arguments) => arguments.$iter().collect(),
            NodeKind::Compare(first, rest) => {
                std::iter::once(first.$as()).chain(rest.$iter().map(|(_, node)| node)).collect()
            }
            NodeKind::In { value, list, .. } => std::iter::once(value.$as()).chain(list).collect(),
            NodeKind::Conditional { then, condition, otherwise } => vec![then, condition, otherwise],
        }
    };
}

impl<R> Node<R> {
    /// The nodes directly below, in the order of the text.
    pub fn children(&self) -> Vec<&Self> {
        children!(&self.kind, iter, as_ref)
    }

    /// The nodes directly below, mutable.
    pub(super) fn children_mut(&mut self) -> Vec<&mut Self> {
        children!(&mut self.kind, iter_mut, as_mut)
    }

    /// The node and all below it, in the order of the text.
    pub fn walk(&self) -> Vec<&Self> {
        let mut all = vec![self];
        for child in self.children() {
            all.extend(child.walk());
        }
        all
    }

    /// The references it reads with their positions, in the order of the text.
    pub fn reads(&self) -> impl Iterator<Item = (&R, Span)> {
        self.walk().into_iter().filter_map(|node| match &node.kind {
            NodeKind::Read(read) => Some((read, node.span)),
            _ => None,
        })
    }

    /// The number, if it is a literal or a limit in the unit of its metric.
    pub fn number(&self) -> Option<f64> {
        match &self.kind {
            NodeKind::Literal(value) => value.number(),
            NodeKind::Measure { resolved, .. } => *resolved,
            _ => None,
        }
    }

    /// Replaces each node for which `of` returns another; the nodes below a replaced one are not visited.
    pub fn replace(&mut self, of: &mut impl FnMut(&Self) -> Option<NodeKind<R>>) {
        match of(self) {
            Some(kind) => self.kind = kind,
            None => self.children_mut().into_iter().for_each(|child| child.replace(of)),
        }
    }

    /// Whether it is a truth value by its form: a comparison, a membership, or logic.
    pub fn is_logical(&self) -> bool {
        match self.kind {
            NodeKind::Literal(_)
            | NodeKind::Measure { .. }
            | NodeKind::Read(_)
            | NodeKind::Negate(_)
            | NodeKind::Arithmetic(..)
            | NodeKind::Call(..) => false,
            NodeKind::Not(_)
            | NodeKind::Compare(..)
            | NodeKind::In { .. }
            | NodeKind::And(..)
            | NodeKind::Or(..)
            | NodeKind::Conditional { .. } => true,
        }
    }

    /// The same tree over other references.
    pub fn map<S>(&self, of: &mut impl FnMut(&R) -> S) -> Node<S> {
        let kind = match &self.kind {
            NodeKind::Literal(value) => NodeKind::Literal(value.clone()),
            NodeKind::Measure { number, unit, resolved } => {
                NodeKind::Measure { number: *number, unit: *unit, resolved: *resolved }
            }
            NodeKind::Read(read) => NodeKind::Read(of(read)),
            NodeKind::Negate(inner) => NodeKind::Negate(inner.boxed(of)),
            NodeKind::Not(inner) => NodeKind::Not(inner.boxed(of)),
            NodeKind::Arithmetic(sign, left, right) => {
                let left = left.boxed(of);
                NodeKind::Arithmetic(*sign, left, right.boxed(of))
            }
            NodeKind::Call(function, arguments) => {
                NodeKind::Call(*function, arguments.iter().map(|node| node.map(of)).collect())
            }
            NodeKind::Compare(first, rest) => {
                let first = first.boxed(of);
                NodeKind::Compare(first, rest.iter().map(|(comparison, node)| (*comparison, node.map(of))).collect())
            }
            NodeKind::In { value, list, negated } => {
                let value = value.boxed(of);
                NodeKind::In { value, list: list.iter().map(|node| node.map(of)).collect(), negated: *negated }
            }
            NodeKind::And(left, right) => {
                let left = left.boxed(of);
                NodeKind::And(left, right.boxed(of))
            }
            NodeKind::Or(left, right) => {
                let left = left.boxed(of);
                NodeKind::Or(left, right.boxed(of))
            }
            NodeKind::Conditional { then, condition, otherwise } => {
                let then = then.boxed(of);
                let condition = condition.boxed(of);
                NodeKind::Conditional { then, condition, otherwise: otherwise.boxed(of) }
            }
        };
        Node { kind, span: self.span }
    }

    fn boxed<S>(&self, of: &mut impl FnMut(&R) -> S) -> Box<Node<S>> {
        Box::new(self.map(of))
    }
}
