//! An expression over named values: parsed once, evaluated for any number of variants and shapes.

use super::ast::{Node, NodeKind, Reference, Span};
use super::parse;
use super::value::{Names, Value};
use std::fmt;
use std::sync::Arc;

/// An expression, parsed; a copy shares the tree.
#[derive(Debug, Clone)]
pub struct Expr {
    text: Arc<str>,
    root: Arc<Node<Reference>>,
    /// Each name once, with its first position.
    names: Arc<[(String, Span)]>,
}

/// Why an expression has no usable value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// It does not parse.
    /// `span`: the wrong bytes of the text.
    #[error("cannot parse expression `{text}`: {reason}")]
    Syntax { text: Box<str>, reason: Box<str>, span: Option<Span> },
    /// A name it uses is not in scope.
    /// `hint`: `; did you mean ...?` or empty.
    #[error("unknown name `{name}` in expression `{text}`{hint}")]
    Unknown { text: Box<str>, name: Box<str>, hint: Box<str>, span: Option<Span> },
    /// It failed while being evaluated (division by zero, wrong operand).
    #[error("cannot evaluate expression `{text}`: {reason}")]
    Evaluation { text: Box<str>, reason: Box<str>, span: Option<Span> },
    /// Its value has the wrong type or range.
    /// `got`: the value it gave.
    #[error("expression `{text}` gives {got}, expected {expected}")]
    Kind { text: Box<str>, got: Box<str>, expected: &'static str },
}

impl ExprError {
    /// The wrong bytes of the text; none if all of it is wrong.
    pub const fn span(&self) -> Option<Span> {
        match self {
            Self::Syntax { span, .. } | Self::Unknown { span, .. } | Self::Evaluation { span, .. } => *span,
            Self::Kind { .. } => None,
        }
    }

    /// The error, without the text if the rest is clear without it.
    pub fn reason(&self) -> String {
        match self {
            Self::Evaluation { reason, .. } | Self::Syntax { reason, .. } => reason.to_string(),
            Self::Unknown { .. } | Self::Kind { .. } => self.to_string(),
        }
    }

    /// The error as one of a longer text, in which the expression begins at byte `start`.
    pub(super) fn within(mut self, outer: &str, start: usize) -> Self {
        match &mut self {
            Self::Syntax { text, span, .. }
            | Self::Unknown { text, span, .. }
            | Self::Evaluation { text, span, .. } => {
                *text = outer.into();
                *span = span.map(|span| span.moved(start));
            }
            Self::Kind { .. } => {}
        }
        self
    }
}

impl Expr {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// [`ExprError::Syntax`], with the wrong token.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let root = parse::parse(text).map_err(|e| ExprError::Syntax {
            text: text.into(),
            reason: e.reason.into(),
            span: Some(e.span),
        })?;
        if let Some((unit, span)) = root.walk().into_iter().find_map(|node| match node.kind {
            NodeKind::Measure { unit, .. } => Some((unit, node.span)),
            _ => None,
        }) {
            let reason =
                format!("`{}` is a unit, which is allowed only in the limit of a requirement", unit.word).into();
            return Err(ExprError::Syntax { text: text.into(), reason, span: Some(span) });
        }
        Ok(Self { text: text.into(), names: names_of(&root), root: Arc::new(root) })
    }

    /// The parts that `and` joins, in their order; otherwise the expression itself.
    pub fn conjuncts(&self) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut open = vec![&*self.root];
        while let Some(node) = open.pop() {
            if let NodeKind::And(left, right) = &node.kind {
                open.extend([&**right, &**left]);
            } else {
                let (text, names) = (Arc::clone(&self.text), names_of(node));
                parts.push(Self { text, root: Arc::new(node.clone()), names });
            }
        }
        parts
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names it uses, each once, with the bytes of the first use.
    pub fn names(&self) -> Vec<(String, Span)> {
        self.names.to_vec()
    }

    /// Evaluates to a value. Every name must be in `names`, even if its value is not needed.
    ///
    /// # Errors
    ///
    /// A missing name, and undefined values: operands of the wrong kind, division by zero, overflow.
    pub fn eval(&self, names: &Names) -> Result<Value, ExprError> {
        if let Some((name, span)) = self.names.iter().find(|(name, _)| !names.contains_key(name)) {
            let hint = crate::nearest(name, names.keys().map(String::as_str))
                .map_or_else(String::new, |n| format!("; did you mean `{n}`?"));
            let (text, name) = (self.written(), name.as_str().into());
            return Err(ExprError::Unknown { text, name, hint: hint.into(), span: Some(*span) });
        }
        let read = |reference: &Reference| {
            let found = reference.own().and_then(|name| names.get(name));
            found.cloned().ok_or_else(|| format!("`{reference}` is unknown"))
        };
        self.root.eval(&read).map_err(|e| ExprError::Evaluation {
            text: self.written(),
            reason: e.reason.into(),
            span: Some(e.span),
        })
    }

    /// Evaluates with `read` for every name; none if a name has no value.
    pub fn eval_with(&self, read: &impl Fn(&str) -> Option<Value>) -> Option<Value> {
        let of = |reference: &Reference| {
            let found = match reference.own() {
                Some(name) => read(name),
                None => read(&reference.to_string()),
            };
            found.ok_or("it is unknown")
        };
        self.root.eval(&of).ok()
    }

    /// The tree with each name replaced by the result of `of`.
    pub fn bound<S>(&self, of: &mut impl FnMut(&str) -> S) -> Node<S> {
        self.root.map(&mut |reference: &Reference| match reference.own() {
            Some(name) => of(name),
            None => of(&reference.to_string()),
        })
    }

    /// Evaluates to an integer; a real number must be whole.
    ///
    /// # Errors
    ///
    /// Those of [`Expr::eval`], and a value of another kind.
    pub fn eval_int(&self, names: &Names) -> Result<i64, ExprError> {
        let value = self.eval(names)?;
        value.as_integer().ok_or_else(|| self.wrong_kind(&value, "a whole number"))
    }

    /// Evaluates to a finite number.
    ///
    /// # Errors
    ///
    /// Those of [`Expr::eval`], and a value of another kind.
    pub fn eval_number(&self, names: &Names) -> Result<f64, ExprError> {
        match self.eval(names)? {
            Value::Int(v) => Ok(v as f64),
            Value::Float(v) if v.is_finite() => Ok(v),
            other => Err(self.wrong_kind(&other, "a finite number")),
        }
    }

    /// Evaluates to a truth value; numbers and texts are refused rather than taken as true.
    ///
    /// # Errors
    ///
    /// Those of [`Expr::eval`], and a value of another kind.
    pub fn eval_bool(&self, names: &Names) -> Result<bool, ExprError> {
        match self.eval(names)? {
            Value::Bool(v) => Ok(v),
            other => Err(self.wrong_kind(&other, "true or false")),
        }
    }

    /// The error of a value that is not `expected`.
    pub fn wrong_kind(&self, got: &Value, expected: &'static str) -> ExprError {
        ExprError::Kind { text: self.written(), got: format!("`{got}`").into(), expected }
    }

    fn written(&self) -> Box<str> {
        (*self.text).into()
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Expr {}

impl serde::Serialize for Expr {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> serde::Deserialize<'de> for Expr {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&<String as serde::Deserialize>::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Names that are read below a node, each once with its first position.
fn names_of(root: &Node<Reference>) -> Arc<[(String, Span)]> {
    let mut names: Vec<(String, Span)> = Vec::new();
    for (name, span) in root.reads().map(|(reference, span)| (reference.to_string(), span)) {
        if !names.iter().any(|(known, _)| *known == name) {
            names.push((name, span));
        }
    }
    names.into()
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let numbers = [("S", 512), ("TILE_M", 48), ("D", 64), ("N", -7)];
        let mut names: Names = numbers.into_iter().map(|(k, v)| (k.to_owned(), Value::Int(v))).collect();
        names.insert("T".to_owned(), Value::Text("f16".to_owned()));
        names.insert("B".to_owned(), Value::Bool(true));
        names
    }

    fn value(text: &str) -> Result<Value, String> {
        Expr::parse(text).unwrap_or_else(|e| panic!("{e}")).eval(&names()).map_err(|e| e.reason())
    }

    #[test]
    fn grid_and_scale_expressions_evaluate() {
        assert_eq!(value("(S + TILE_M - 1) // TILE_M"), Ok(Value::Int(11)));
        assert_eq!(value("1 / D ** 0.5"), Ok(Value::Float(0.125)));
        assert_eq!(value("TILE_M <= 64 and S % 16 == 0"), Ok(Value::Bool(true)));
    }

    #[test]
    fn arithmetic_is_pythons() {
        for (text, expected) in [
            ("7 // 2", Value::Int(3)),
            ("N // 2", Value::Int(-4)),
            ("N % 3", Value::Int(2)),
            ("7 % -3", Value::Int(-2)),
            ("N // 2.0", Value::Float(-4.0)),
            ("-7.5 % 2", Value::Float(0.5)),
            ("4 / 2", Value::Float(2.0)),
            ("2 ** 10", Value::Int(1024)),
            ("2 ** -1", Value::Float(0.5)),
            ("2 ** 3 ** 2", Value::Int(64)),
            ("-2 ** 2", Value::Int(4)),
            ("1 - 2 - 3", Value::Int(-4)),
            ("2 + 3 * 4", Value::Int(14)),
            ("(2 + 3) * 4", Value::Int(20)),
            ("B * 2 + B", Value::Int(3)),
            ("0x10 + 1_0 + 1e1", Value::Float(36.0)),
            ("1 if S > 1 else 2 if S > 0 else 3", Value::Int(1)),
            ("1 if S < 1 else 2 if S < 0 else 3", Value::Int(3)),
            ("0 or 5", Value::Int(5)),
            ("0 and 5", Value::Int(0)),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn functions_are_exact_for_integers() {
        for (text, expected) in [
            ("max(S, D, 3)", Value::Int(512)),
            ("min(S, D / 128, N)", Value::Int(-7)),
            ("min(1, 0.5)", Value::Float(0.5)),
            ("max(9223372036854775806, 9223372036854775807)", Value::Int(i64::MAX)),
            ("max(B, 0)", Value::Int(1)),
            ("log2(S)", Value::Int(9)),
            ("log2(2 ** 62)", Value::Int(62)),
            ("log2(1)", Value::Int(0)),
            ("log2(S / 2)", Value::Int(8)),
            ("log2(0.5)", Value::Float(-1.0)),
            ("ceil(log2(TILE_M))", Value::Int(6)),
            ("floor(log2(TILE_M))", Value::Int(5)),
            ("ceil(S)", Value::Int(512)),
            ("ceil(-7 / 2)", Value::Int(-3)),
            ("floor(-7 / 2)", Value::Int(-4)),
            ("2 ** max(1, 2) + 1", Value::Int(5)),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        for (text, reason) in [
            ("log2(0)", "log2 needs a number above 0, not 0"),
            ("log2(N)", "log2 needs a number above 0, not -7"),
            ("max(S, T)", "'f16' is not a number"),
            ("ceil(1e16)", "10000000000000000 is too large for an integer"),
        ] {
            assert_eq!(value(text).unwrap_err(), reason, "{text}");
        }
        assert_eq!(Expr::parse("max(S, log2(D))").unwrap().names().len(), 2);
    }

    #[test]
    fn a_name_of_a_function_is_a_name_without_parentheses() {
        let names = Names::from([("max".to_owned(), Value::Int(4))]);
        assert_eq!(Expr::parse("max + max(max, 5)").unwrap().eval(&names), Ok(Value::Int(9)));
    }

    #[test]
    fn comparisons_chain_and_lists_hold_values() {
        for text in [
            "1 < 2 < 3",
            "not 3 > 4",
            "not (1 < 3 < 2)",
            "B == 1",
            "1 == 1.0",
            "T == 'f16'",
            "T != 16",
            "S in [256, 512,]",
            "S not in [1, 2.0]",
            "T in ['f16', \"bf16\"]",
            "not S in []",
            "'a' < 'b'",
            "S == 512 or 1 // 0 == 1",
            "9223372036854775807 != 9223372036854775806",
        ] {
            assert_eq!(value(text), Ok(Value::Bool(true)), "{text}");
        }
    }

    #[test]
    fn overflow_and_infinity_are_errors() {
        for text in [
            "9223372036854775807 + 1",
            "-9223372036854775807 - 2",
            "2 ** 63",
            "2 ** 4000000000",
            "1e308 * 10",
            "S // 0",
            "S % 0",
            "S / 0.0",
            "0 ** -1",
            "(-8) ** 0.5",
            "T + 1",
            "-T",
            "T < 1",
            "T * 1000000000",
        ] {
            assert!(value(text).is_err(), "{text}: {:?}", value(text));
        }
        assert_eq!(value("S // (D - 64)").unwrap_err(), "512 // 0 divides by zero");
        let error = Expr::parse("1 + S // (D - 64)").unwrap().eval(&names()).unwrap_err();
        assert_eq!(error.span().unwrap().range(), 4..17);
    }

    #[test]
    fn errors_name_the_token() {
        for (text, reason, span) in [
            ("S +", "expected a value, found the end", 3..3),
            ("S + * 2", "expected a value, found `*`", 4..5),
            ("(S + 1", "expected an operator or `)`, found the end", 6..6),
            ("S 2", "expected an operator or the end, found `2`", 2..3),
            ("S is odd", "expected an operator or the end, found `is`", 2..4),
            (
                "abs(S)",
                "`abs` is not a function; known: max, min, log2, ceil, floor, speedup, ncu, batch_invariant",
                0..3,
            ),
            ("max(S)", "`max` needs at least two arguments", 0..6),
            ("1 + log2(S, D)", "`log2` needs one argument", 4..14),
            ("ceil()", "`ceil` needs one argument", 0..6),
            ("min(S, D", "expected `,` or `)`, found the end", 8..8),
            ("ncu(S)", "`ncu` needs a name in quotes; write ncu(\"...\")", 0..3),
            ("S if D", "expected `else`, found the end", 6..6),
            ("S in 3", "expected a list such as `[32, 64]`, found `3`", 5..6),
            ("S in [1] in [2]", "`in` cannot be chained with a comparison; put one of them in parentheses", 9..11),
            ("S in [1] + 0 <= 1", "a list is not a number; put the comparison with `in` in parentheses", 9..10),
            (
                "S == not D",
                "`not` binds less tightly than the operator before it; put `not` and its operand in parentheses",
                5..8,
            ),
            ("none", "expected a value, found `none`", 0..4),
        ] {
            match Expr::parse(text) {
                Err(ExprError::Syntax { reason: found, span: at, .. }) => {
                    assert_eq!((&*found, at.unwrap().range()), (reason, span), "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn long_and_deep_texts_are_refused_and_the_deepest_allowed_evaluate() {
        assert!(Expr::parse(&format!("{}1{}", "(".repeat(65), ")".repeat(65))).is_err());
        assert!(Expr::parse(&format!("{}1", "-".repeat(100))).is_err());
        assert!(Expr::parse(&format!("{}1", "not ".repeat(100))).is_err());
        assert!(Expr::parse(&format!("1{}", " if 1 else 1".repeat(100))).is_err());
        assert!(Expr::parse(&format!("1{}", "+1".repeat(200))).is_err());
        assert!(Expr::parse(&"1+".repeat(3000)).unwrap_err().to_string().contains("longer than 4096 bytes"));
        assert_eq!(value(&format!("1{}", "+1".repeat(120))), Ok(Value::Int(121)));
        let level = "(1 or 1 and not 1 < 1 + 1 * 1 ** -";
        assert_eq!(value(&format!("{}1{}", "(".repeat(64), ")".repeat(64))), Ok(Value::Int(1)));
        assert!(Expr::parse(&format!("{}1{}", level.repeat(15), ")".repeat(15))).is_ok());
    }

    #[test]
    fn wrong_kinds_are_refused() {
        let parsed = |text: &str| Expr::parse(text).unwrap();
        assert!(matches!(parsed("S").eval_bool(&names()), Err(ExprError::Kind { .. })));
        assert!(matches!(parsed("S / 3").eval_int(&names()), Err(ExprError::Kind { .. })));
        assert!(matches!(parsed("'a'").eval_int(&names()), Err(ExprError::Kind { .. })));
    }

    #[test]
    fn an_unknown_name_is_named_with_its_neighbour() {
        let error = Expr::parse("2 * TILE_N").unwrap().eval(&names()).unwrap_err();
        assert_eq!(error.to_string(), "unknown name `TILE_N` in expression `2 * TILE_N`; did you mean `TILE_M`?");
        assert_eq!(error.span().unwrap().range(), 4..10);
        assert!(Expr::parse("1 or NOPE").unwrap().eval(&names()).is_err(), "also where it is not needed");
        assert!(Expr::parse("baseline.S").unwrap().eval(&names()).is_err());
    }
}
