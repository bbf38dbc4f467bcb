//! From tokens to a tree: precedence climbing over one look-ahead.
//!
//! From the loosest to the tightest: `a if c else b`, `or`, `and`, `not`, comparisons and `in`, `+ -`, `* / // %`, `**`,
//! the sign of a number. All but `if` group to the left, `**` too: `2 ** 3 ** 2` is 64, and `-2 ** 2` is 4.
//!
//! A text is at most [`MOST_BYTES`] long and its tree at most [`MOST_LEVELS`] deep, so that neither parsing nor
//! walking a tree can overflow the stack or take long.

use super::ast::{Arithmetic, MathFunction, Node, NodeKind, Owner, Quantity, Reference, Span};
use super::token::{SyntaxError, Token, tokens};
use super::unit::Unit;
use super::value::Value;
use crate::is_ncu_metric;

/// Maximum length of an expression in bytes.
pub const MOST_BYTES: usize = 4096;
/// Maximum nesting of parentheses and prefixes.
pub const MOST_NESTED: usize = 64;
/// Maximum depth of a tree, chains of operators included.
pub const MOST_LEVELS: usize = 128;

/// Parses a whole text.
pub fn parse(text: &str) -> Result<Node<Reference>, SyntaxError> {
    if text.len() > MOST_BYTES {
        let span = Span::new(0, text.len());
        return Err(SyntaxError { reason: format!("it is longer than {MOST_BYTES} bytes"), span });
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0, nested: 0, text };
    let tree = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(tree.node),
        Token::Compare(_) => Err(parser.unexpected("an operator")),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

/// Precedence of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Power {
    Or,
    And,
    Not,
    Compare,
    Sum,
    Product,
    Raise,
    Sign,
}

/// A node and the depth of its tree.
struct Tree {
    node: Node<Reference>,
    levels: usize,
}

/// An operator between two sides.
#[derive(Clone, Copy)]
enum Infix {
    Join(Join),
    Compare,
    In { negated: bool },
}

/// An operator that combines two nodes.
#[derive(Clone, Copy)]
enum Join {
    Or,
    And,
    Arithmetic(Arithmetic),
}

impl Infix {
    const fn power(self) -> Power {
        match self {
            Self::Compare | Self::In { .. } => Power::Compare,
            Self::Join(Join::Or) => Power::Or,
            Self::Join(Join::And) => Power::And,
            Self::Join(Join::Arithmetic(Arithmetic::Add | Arithmetic::Subtract)) => Power::Sum,
            Self::Join(Join::Arithmetic(Arithmetic::Power)) => Power::Raise,
            Self::Join(Join::Arithmetic(_)) => Power::Product,
        }
    }
}

const fn tighter(power: Power) -> Power {
    match power {
        Power::Or => Power::And,
        Power::And => Power::Not,
        Power::Not => Power::Compare,
        Power::Compare => Power::Sum,
        Power::Sum => Power::Product,
        Power::Product => Power::Raise,
        Power::Raise | Power::Sign => Power::Sign,
    }
}

struct Parser<'t> {
    tokens: Vec<(Token<'t>, Span)>,
    at: usize,
    nested: usize,
    text: &'t str,
}

type ParseResult = Result<Tree, SyntaxError>;

impl<'t> Parser<'t> {
    fn peek(&self) -> &Token<'t> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> &Token<'t> {
        self.tokens.get(self.at + by).map_or(&Token::End, |(token, _)| token)
    }

    /// Position of the next token.
    fn here(&self) -> Span {
        self.tokens.get(self.at).map_or(Span::new(self.text.len(), self.text.len()), |(_, span)| *span)
    }

    /// Takes the next token.
    fn take(&mut self) -> Span {
        let span = self.here();
        self.at += 1;
        span
    }

    fn is_word(&self, word: &str) -> bool {
        *self.peek() == Token::Name(word)
    }

    fn mark(&mut self, mark: char, what: &str) -> Result<Span, SyntaxError> {
        if *self.peek() == Token::Mark(mark) { Ok(self.take()) } else { Err(self.unexpected(what)) }
    }

    fn unexpected(&self, expected: &str) -> SyntaxError {
        let span = self.here();
        let found = match self.peek() {
            Token::End => "the end".to_owned(),
            _ => format!("`{}`", &self.text[span.range()]),
        };
        SyntaxError { reason: format!("expected {expected}, found {found}"), span }
    }

    /// Runs a part that can contain itself.
    fn nest(&mut self, part: impl FnOnce(&mut Self) -> ParseResult) -> ParseResult {
        if self.nested == MOST_NESTED {
            let reason = format!("it nests more than {MOST_NESTED} levels");
            return Err(SyntaxError { reason, span: self.here() });
        }
        self.nested += 1;
        let tree = part(self);
        self.nested -= 1;
        tree
    }

    fn expression(&mut self) -> ParseResult {
        let then = self.operand(Power::Or)?;
        if !self.is_word("if") {
            return Ok(then);
        }
        self.take();
        let condition = self.operand(Power::Or)?;
        if !self.is_word("else") {
            return Err(self.unexpected("`else`"));
        }
        self.take();
        let otherwise = self.nest(Self::expression)?;
        let levels = then.levels.max(condition.levels).max(otherwise.levels);
        let span = then.node.span.to(otherwise.node.span);
        let [then, condition, otherwise] = [then, condition, otherwise].map(|tree| Box::new(tree.node));
        grown(NodeKind::Conditional { then, condition, otherwise }, span, levels)
    }

    /// An operand and all following operators of at least this precedence.
    fn operand(&mut self, least: Power) -> ParseResult {
        let mut left = self.prefix(least)?;
        while let Some(infix) = self.infix().filter(|infix| infix.power() >= least) {
            left = match infix {
                Infix::Compare => self.comparison(left)?,
                Infix::In { negated } => self.membership(left, negated)?,
                Infix::Join(join) => {
                    self.take();
                    let right = self.operand(tighter(infix.power()))?;
                    joined(join, left, right)?
                }
            };
        }
        Ok(left)
    }

    /// The operator that comes next.
    fn infix(&self) -> Option<Infix> {
        Some(match self.peek() {
            Token::Name("or") => Infix::Join(Join::Or),
            Token::Name("and") => Infix::Join(Join::And),
            Token::Name("in") => Infix::In { negated: false },
            Token::Name("not") if *self.ahead(1) == Token::Name("in") => Infix::In { negated: true },
            Token::Compare(_) => Infix::Compare,
            Token::Arithmetic(arithmetic) => Infix::Join(Join::Arithmetic(*arithmetic)),
            _ => return None,
        })
    }

    /// A comparison, or several in a chain.
    fn comparison(&mut self, first: Tree) -> ParseResult {
        let (mut rest, mut levels, mut span) = (Vec::new(), first.levels, first.node.span);
        while let Token::Compare(comparison) = *self.peek() {
            self.take();
            let right = self.operand(Power::Sum)?;
            levels = levels.max(right.levels);
            span = span.to(right.node.span);
            rest.push((comparison, right.node));
        }
        if matches!(self.infix(), Some(Infix::In { .. })) {
            return Err(self.mixed());
        }
        grown(NodeKind::Compare(Box::new(first.node), rest), span, levels)
    }

    /// Expressions up to a mark, with their deepest level and the place of the mark.
    fn items(&mut self, end: char, wanted: &'static str) -> Result<(Vec<Node<Reference>>, usize, Span), SyntaxError> {
        let (mut items, mut levels) = (Vec::new(), 0);
        while *self.peek() != Token::Mark(end) {
            let item = self.nest(Self::expression)?;
            levels = levels.max(item.levels);
            items.push(item.node);
            if *self.peek() != Token::Mark(end) {
                self.mark(',', wanted)?;
            }
        }
        Ok((items, levels, self.take()))
    }

    /// `in [...]` after a value.
    fn membership(&mut self, value: Tree, negated: bool) -> ParseResult {
        self.at += if negated { 2 } else { 1 };
        self.mark('[', "a list such as `[32, 64]`")?;
        let (list, levels, end) = self.items(']', "`,` or `]`")?;
        let levels = levels.max(value.levels);
        match self.infix() {
            Some(Infix::Compare | Infix::In { .. }) => return Err(self.mixed()),
            // Its precedence is above that of `in`, and lists have no arithmetic.
            Some(Infix::Join(Join::Arithmetic(_))) => {
                let reason = "a list is not a number; put the comparison with `in` in parentheses".to_owned();
                return Err(SyntaxError { reason, span: self.here() });
            }
            Some(Infix::Join(Join::Or | Join::And)) | None => {}
        }
        let span = value.node.span.to(end);
        grown(NodeKind::In { value: Box::new(value.node), list, negated }, span, levels)
    }

    fn mixed(&self) -> SyntaxError {
        let reason = "`in` cannot be chained with a comparison; put one of them in parentheses".to_owned();
        SyntaxError { reason, span: self.here() }
    }

    /// A value with its prefixes.
    fn prefix(&mut self, least: Power) -> ParseResult {
        match self.peek() {
            Token::Name("not") if least > Power::Not => {
                let reason =
                    "`not` binds less tightly than the operator before it; put `not` and its operand in parentheses"
                        .to_owned();
                Err(SyntaxError { reason, span: self.here() })
            }
            Token::Name("not") => {
                let start = self.take();
                let inner = self.nest(|parser| parser.operand(Power::Not))?;
                let span = start.to(inner.node.span);
                grown(NodeKind::Not(Box::new(inner.node)), span, inner.levels)
            }
            Token::Arithmetic(Arithmetic::Subtract) => {
                let start = self.take();
                let inner = self.nest(|parser| parser.prefix(Power::Sign))?;
                let span = start.to(inner.node.span);
                grown(NodeKind::Negate(Box::new(inner.node)), span, inner.levels)
            }
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> ParseResult {
        let kind = match self.peek().clone() {
            Token::Int(value) => return self.number(Value::Int(value), value as f64),
            Token::Float(value) => return self.number(Value::Float(value), value),
            Token::Text(value) => NodeKind::Literal(Value::Text(value)),
            Token::Name("true" | "True") => NodeKind::Literal(Value::Bool(true)),
            Token::Name("false" | "False") => NodeKind::Literal(Value::Bool(false)),
            Token::Name("and" | "or" | "in" | "is" | "if" | "else" | "none" | "None") => {
                return Err(self.unexpected("a value"));
            }
            Token::Name(name) => return self.named(name),
            Token::Mark('(') => {
                let start = self.take();
                let inner = self.nest(Self::expression)?;
                let end = self.mark(')', "an operator or `)`")?;
                let node = Node { kind: inner.node.kind, span: start.to(end) };
                return Ok(Tree { node, levels: inner.levels });
            }
            Token::Compare(_) | Token::Arithmetic(_) | Token::Mark(_) | Token::End => {
                return Err(self.unexpected("a value"));
            }
        };
        let span = self.take();
        grown(kind, span, 0)
    }

    /// A number, with a unit if one follows.
    fn number(&mut self, value: Value, number: f64) -> ParseResult {
        let start = self.take();
        let unit = match *self.peek() {
            Token::Name(word) => Unit::of_word(word),
            Token::Arithmetic(Arithmetic::Remainder) if self.ends_after(1) => Unit::of_word("%"),
            _ => None,
        };
        match unit {
            Some(unit) => {
                let end = self.take();
                grown(NodeKind::Measure { number, unit, resolved: None }, start.to(end), 0)
            }
            None => grown(NodeKind::Literal(value), start, 0),
        }
    }

    /// Whether no operand begins `by` tokens ahead: then `%` is a unit and not the remainder.
    fn ends_after(&self, by: usize) -> bool {
        match self.ahead(by) {
            Token::End | Token::Compare(_) | Token::Mark(')' | ']' | ',') => true,
            Token::Name(word) => matches!(*word, "and" | "or" | "if" | "else" | "in"),
            Token::Arithmetic(arithmetic) => *arithmetic != Arithmetic::Subtract,
            Token::Mark(_) | Token::Text(_) | Token::Int(_) | Token::Float(_) => false,
        }
    }

    /// A name, an owner's metric, or a call.
    fn named(&mut self, name: &'t str) -> ParseResult {
        let start = self.take();
        let (reference, end) = match (name, self.peek()) {
            ("speedup" | "ncu" | "batch_invariant", _) => return self.call(name, start),
            (_, Token::Mark('(')) => {
                let Some(function) = MathFunction::ALL.into_iter().find(|function| function.name() == name) else {
                    let known: Vec<&str> = MathFunction::ALL.into_iter().map(MathFunction::name).collect();
                    let reason = format!(
                        "`{name}` is not a function; known: {}, speedup, ncu, batch_invariant",
                        known.join(", ")
                    );
                    return Err(SyntaxError { reason, span: start });
                };
                return self.function(function, start);
            }
            (owner, Token::Mark('[')) => {
                self.take();
                let Token::Text(metric) = self.peek().clone() else { return Err(self.unexpected("a name in quotes")) };
                self.take();
                (of(Owner::of_word(owner), &metric), self.mark(']', "`]`")?)
            }
            (chain, _) => (of_chain(chain), start),
        };
        grown(NodeKind::Read(reference), start.to(end), 0)
    }

    /// The arguments of a function of numbers.
    fn function(&mut self, function: MathFunction, start: Span) -> ParseResult {
        self.take();
        let (arguments, levels, end) = self.items(')', "`,` or `)`")?;
        let span = start.to(end);
        let (fits, needed) = match function.takes_several() {
            true => (arguments.len() > 1, "at least two arguments"),
            false => (arguments.len() == 1, "one argument"),
        };
        if !fits {
            return Err(SyntaxError { reason: format!("`{}` needs {needed}", function.name()), span });
        }
        grown(NodeKind::Call(function, arguments), span, levels)
    }

    /// `speedup()`, `speedup("...")`, `ncu("...")` or `batch_invariant("...")`.
    fn call(&mut self, word: &str, start: Span) -> ParseResult {
        let literal =
            || SyntaxError { reason: format!("`{word}` needs a name in quotes; write {word}(\"...\")"), span: start };
        if *self.peek() != Token::Mark('(') {
            return Err(literal());
        }
        self.take();
        let reference = match (word, self.peek().clone(), self.ahead(1)) {
            ("speedup", Token::Mark(')'), _) => Reference::Speedup { over: Owner::Baseline },
            ("speedup", Token::Text(over), Token::Mark(')')) => {
                self.take();
                Reference::Speedup { over: Owner::of_word(&over) }
            }
            (_, Token::Text(named), Token::Mark(')')) => {
                self.take();
                let metric = if word == "ncu" { named } else { format!("{word}(\"{named}\")") };
                of(Owner::Case, &metric)
            }
            _ => return Err(literal()),
        };
        let end = self.take();
        grown(NodeKind::Read(reference), start.to(end), 0)
    }
}

fn of(owner: Owner, name: &str) -> Reference {
    Reference::Quantity(Quantity { owner, name: name.to_owned() })
}

/// `registers`, `baseline.latency_p50`, `sm__cycles_active.avg`.
fn of_chain(chain: &str) -> Reference {
    match chain.split_once('.') {
        Some((owner, metric)) if !is_ncu_metric(chain) => of(Owner::of_word(owner), metric),
        _ => of(Owner::Case, chain),
    }
}

fn joined(join: Join, left: Tree, right: Tree) -> ParseResult {
    let levels = left.levels.max(right.levels);
    let span = left.node.span.to(right.node.span);
    let (left, right) = (Box::new(left.node), Box::new(right.node));
    let kind = match join {
        Join::Or => NodeKind::Or(left, right),
        Join::And => NodeKind::And(left, right),
        Join::Arithmetic(arithmetic) => NodeKind::Arithmetic(arithmetic, left, right),
    };
    grown(kind, span, levels)
}

/// A node above trees of the given depth.
fn grown(kind: NodeKind<Reference>, span: Span, below: usize) -> ParseResult {
    if below >= MOST_LEVELS {
        let reason = format!("it chains more than {MOST_LEVELS} operators");
        return Err(SyntaxError { reason, span });
    }
    Ok(Tree { node: Node { kind, span }, levels: below + 1 })
}
