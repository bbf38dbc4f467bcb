//! Expressions of a phase: minijinja's, over named values.
//!
//! Grid and block sizes, shapes, scalars, prune conditions and gates are all written in the one expression language
//! that templates use. This module compiles and evaluates; what names mean is its callers' business.

pub mod reference;
mod requirement;
pub mod token;

pub use requirement::{Comparison, Owner, Quantity, Reads, Requirement, RequirementError};

use minijinja::Environment;
use std::collections::BTreeMap;
use std::fmt;

/// A value of a parameter or a name in scope.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
    /// Text.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(v) => write!(f, "{}", i32::from(*v)),
            Self::Int(v) => v.fmt(f),
            Self::Float(v) => v.fmt(f),
            Self::Text(v) => v.fmt(f),
        }
    }
}

/// Names an expression may use, with their values.
pub type Scope = BTreeMap<String, Value>;

/// An expression that has been checked to compile.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Expr {
    text: String,
}

/// Why an expression did not give what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// It does not parse.
    #[error("expression '{text}' does not parse: {reason}")]
    Syntax {
        /// The expression.
        text: String,
        /// What the parser said.
        reason: String,
    },
    /// A name it uses is not in scope.
    #[error("'{name}' in expression '{text}' is unknown{hint}")]
    Unknown {
        /// The expression.
        text: String,
        /// The name.
        name: String,
        /// `; did you mean ...?` or empty.
        hint: String,
    },
    /// It failed while being evaluated (division by zero, wrong operand).
    #[error("expression '{text}' cannot be evaluated: {reason}")]
    Evaluation {
        /// The expression.
        text: String,
        /// What went wrong.
        reason: String,
    },
    /// Its value has the wrong type or range.
    #[error("expression '{text}' gives {got}, expected {expected}")]
    Kind {
        /// The expression.
        text: String,
        /// The value it gave.
        got: String,
        /// What is needed.
        expected: &'static str,
    },
}

impl Expr {
    /// Compiles `text` once to see that it parses.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        Environment::new()
            .compile_expression(text)
            .map_err(|e| ExprError::Syntax { text: text.to_owned(), reason: reason(&e) })?;
        Ok(Self { text: text.to_owned() })
    }

    /// The source text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Names it uses that have to come from a scope, sorted.
    pub fn names(&self) -> Vec<String> {
        let env = Environment::new();
        let mut names: Vec<String> = env
            .compile_expression(&self.text)
            .map(|e| e.undeclared_variables(false).into_iter().collect())
            .unwrap_or_default();
        names.sort();
        names
    }

    /// Evaluates to a value; every name must be in `scope`.
    pub fn eval(&self, scope: &Scope) -> Result<Value, ExprError> {
        if let Some(name) = self.names().into_iter().find(|n| !scope.contains_key(n)) {
            let hint = crate::model::nearest(&name, scope.keys().map(String::as_str))
                .map_or_else(String::new, |n| format!("; did you mean '{n}'?"));
            return Err(ExprError::Unknown { text: self.text.clone(), name, hint });
        }
        let evaluation = |e: minijinja::Error| ExprError::Evaluation { text: self.text.clone(), reason: reason(&e) };
        let env = Environment::new();
        let compiled = env.compile_expression(&self.text).map_err(evaluation)?;
        let value = compiled.eval(minijinja::value::Serde(scope)).map_err(evaluation)?;
        self.typed(&value)
    }

    /// Evaluates to an integer; a real number must be whole.
    pub fn eval_int(&self, scope: &Scope) -> Result<i64, ExprError> {
        match self.eval(scope)? {
            Value::Int(v) => Ok(v),
            Value::Float(v) if v.fract() == 0.0 && v.abs() < 9e15 => Ok(v as i64),
            other => Err(self.kind(&other, "a whole number")),
        }
    }

    /// Evaluates to a finite number.
    pub fn eval_number(&self, scope: &Scope) -> Result<f64, ExprError> {
        match self.eval(scope)? {
            Value::Int(v) => Ok(v as f64),
            Value::Float(v) if v.is_finite() => Ok(v),
            other => Err(self.kind(&other, "a finite number")),
        }
    }

    /// Evaluates to a truth value; numbers and texts are refused rather than taken as true.
    pub fn eval_bool(&self, scope: &Scope) -> Result<bool, ExprError> {
        match self.eval(scope)? {
            Value::Bool(v) => Ok(v),
            other => Err(self.kind(&other, "true or false")),
        }
    }

    fn typed(&self, value: &minijinja::Value) -> Result<Value, ExprError> {
        use minijinja::value::ValueKind;
        match value.kind() {
            ValueKind::Bool => Ok(Value::Bool(value.is_true())),
            ValueKind::Number => match i64::try_from(value.clone()) {
                Ok(v) if value.is_integer() => Ok(Value::Int(v)),
                _ => f64::try_from(value.clone())
                    .map(Value::Float)
                    .map_err(|e| ExprError::Evaluation { text: self.text.clone(), reason: reason(&e) }),
            },
            ValueKind::String => Ok(Value::Text(value.to_string())),
            other => Err(ExprError::Kind {
                text: self.text.clone(),
                got: other.to_string(),
                expected: "a number, a text, or true or false",
            }),
        }
    }

    fn kind(&self, got: &Value, expected: &'static str) -> ExprError {
        ExprError::Kind { text: self.text.clone(), got: format!("'{got}'"), expected }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// Renders a minijinja template such as `-maxrregcount={{ REGCAP }}`; an unknown name is an error.
pub fn render(template: &str, scope: &Scope) -> Result<String, ExprError> {
    let mut env = Environment::new();
    env.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    env.render_str(template, minijinja::value::Serde(scope))
        .map_err(|e| ExprError::Evaluation { text: template.to_owned(), reason: reason(&e) })
}

/// Names a template uses that have to come from a scope, sorted.
pub fn template_names(template: &str) -> Result<Vec<String>, ExprError> {
    let env = Environment::new();
    let parsed = env
        .template_from_str(template)
        .map_err(|e| ExprError::Syntax { text: template.to_owned(), reason: reason(&e) })?;
    let mut names: Vec<String> = parsed.undeclared_variables(false).into_iter().collect();
    names.sort();
    Ok(names)
}

fn reason(e: &minijinja::Error) -> String {
    e.detail().map_or_else(|| e.kind().to_string(), str::to_owned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        [("S", 512), ("TILE_M", 48), ("D", 64)].into_iter().map(|(k, v)| (k.to_owned(), Value::Int(v))).collect()
    }

    #[test]
    fn grid_and_scale_expressions_evaluate() {
        assert_eq!(Expr::parse("(S + TILE_M - 1) // TILE_M").unwrap().eval_int(&scope()), Ok(11));
        assert_eq!(Expr::parse("1 / D ** 0.5").unwrap().eval_number(&scope()), Ok(0.125));
        assert_eq!(Expr::parse("TILE_M <= 64 and S % 16 == 0").unwrap().eval_bool(&scope()), Ok(true));
    }

    #[test]
    fn wrong_kinds_are_refused() {
        assert!(matches!(Expr::parse("S").unwrap().eval_bool(&scope()), Err(ExprError::Kind { .. })));
        assert!(matches!(Expr::parse("S / 3").unwrap().eval_int(&scope()), Err(ExprError::Kind { .. })));
        assert!(matches!(Expr::parse("'a'").unwrap().eval_int(&scope()), Err(ExprError::Kind { .. })));
        assert!(Expr::parse("S +").is_err());
        assert!(Expr::parse("S // 0").unwrap().eval_int(&scope()).is_err());
    }

    #[test]
    fn an_unknown_name_is_named_with_its_neighbour() {
        let error = Expr::parse("TILE_N * 2").unwrap().eval(&scope()).unwrap_err();
        assert_eq!(error.to_string(), "'TILE_N' in expression 'TILE_N * 2' is unknown; did you mean 'TILE_M'?");
    }

    #[test]
    fn flags_render() {
        assert_eq!(render("-maxrregcount={{ D }}", &scope()).unwrap(), "-maxrregcount=64");
        assert!(render("{{ NOPE }}", &scope()).is_err());
    }
}
