//! A requirement compiled: both sides ready to be evaluated for any number of variants.

use crate::expr::Value;
use crate::expr::reference::{Reference, rewrite, slot_index};
use crate::expr::{Comparison, Requirement};
use minijinja::value::{Object, ValueKind};
use minijinja::{Environment, Expression};
use std::sync::Arc;

/// A requirement with its names as slots.
pub struct Test<'env> {
    /// What is tested.
    pub form: Form<'env>,
    /// What the slots are.
    pub references: Vec<Reference>,
}

/// The forms of a requirement.
pub enum Form<'env> {
    /// Two numbers compared.
    Compare {
        /// Left side.
        left: Side<'env>,
        /// How.
        comparison: Comparison,
        /// Right side.
        right: Side<'env>,
    },
    /// A truth value.
    Condition(Side<'env>),
}

/// One side: what most gates write is evaluated without an interpreter.
pub enum Side<'env> {
    /// `64`
    Constant(f64),
    /// `registers`, `0.98 * baseline.latency_p50`
    Scaled {
        /// The factor, 1 when there is none.
        factor: f64,
        /// The slot.
        slot: usize,
    },
    /// Anything else.
    General(Expression<'env, 'static>),
}

/// The environment expressions of requirements are compiled in: a name that is not there is an error.
pub fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment
}

impl<'env> Test<'env> {
    /// Compiles a requirement; the error is what the parser says.
    pub fn compile(requirement: &Requirement, environment: &'env Environment<'static>) -> Result<Self, String> {
        let mut references = Vec::new();
        let mut side = |text: &str| Side::compile(text, &mut references, environment);
        let form = match requirement {
            Requirement::Compare { left, comparison, right, .. } => {
                Form::Compare { left: side(left.text())?, comparison: *comparison, right: side(right.text())? }
            }
            Requirement::Condition { condition, .. } => Form::Condition(side(condition.text())?),
        };
        Ok(Self { form, references })
    }

    /// The reference that is the left side, when nothing else is.
    pub fn subject(&self) -> Option<&Reference> {
        match &self.form {
            Form::Compare { left: Side::Scaled { factor: 1.0, slot }, .. } => self.references.get(*slot),
            _ => None,
        }
    }
}

impl<'env> Side<'env> {
    fn compile(
        text: &str,
        references: &mut Vec<Reference>,
        environment: &'env Environment<'static>,
    ) -> Result<Self, String> {
        let text = rewrite(text, references);
        if let Some(simple) = Self::simple(text.trim()) {
            return Ok(simple);
        }
        let compiled = environment.compile_expression_owned(text).map_err(|e| e.to_string())?;
        Ok(Self::General(compiled))
    }

    fn simple(text: &str) -> Option<Self> {
        if let Some(slot) = slot_index(text) {
            return Some(Self::Scaled { factor: 1.0, slot });
        }
        if let Some(value) = literal(text) {
            return Some(Self::Constant(value));
        }
        let (a, b) = text.split_once('*')?;
        let (a, b) = (a.trim(), b.trim());
        let (factor, slot) = literal(a).zip(slot_index(b)).or_else(|| literal(b).zip(slot_index(a)))?;
        Some(Self::Scaled { factor, slot })
    }

    /// Its value as a finite number; true is 1 and false 0.
    pub fn number(&self, slots: &[Value]) -> Result<f64, String> {
        let value = match self {
            Self::Constant(value) => *value,
            Self::Scaled { factor, slot } => factor * as_number(slots.get(*slot))?,
            Self::General(expression) => {
                let value = expression.eval(scope(slots)).map_err(|e| e.to_string())?;
                match value.kind() {
                    ValueKind::Bool => f64::from(u8::from(value.is_true())),
                    ValueKind::Number => f64::try_from(value).map_err(|e| e.to_string())?,
                    other => return Err(format!("it gives a {other}, not a number")),
                }
            }
        };
        if value.is_finite() { Ok(value) } else { Err(format!("it gives {value}")) }
    }

    /// Its value as true or false; a number is neither.
    pub fn truth(&self, slots: &[Value]) -> Result<bool, String> {
        match self {
            Self::Scaled { factor: 1.0, slot } => match slots.get(*slot) {
                Some(Value::Bool(value)) => Ok(*value),
                other => Err(format!("it gives {}, not true or false", shown(other))),
            },
            Self::Constant(value) => Err(format!("it gives {value}, not true or false")),
            Self::Scaled { .. } => Err("it gives a number, not true or false".to_owned()),
            Self::General(expression) => {
                let value = expression.eval(scope(slots)).map_err(|e| e.to_string())?;
                match value.kind() {
                    ValueKind::Bool => Ok(value.is_true()),
                    other => Err(format!("it gives a {other}, not true or false")),
                }
            }
        }
    }

    /// Smallest and largest value while slots vary in ranges; none where that is not known without an interpreter.
    pub fn range(&self, of_slot: impl Fn(usize) -> Option<(f64, f64)>) -> Option<(f64, f64)> {
        match self {
            Self::Constant(value) => Some((*value, *value)),
            Self::Scaled { factor, slot } => {
                let (low, high) = of_slot(*slot)?;
                let (a, b) = (factor * low, factor * high);
                Some((a.min(b), a.max(b)))
            }
            Self::General(_) => None,
        }
    }
}

fn literal(text: &str) -> Option<f64> {
    let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    number.then(|| text.parse().ok()).flatten()
}

fn as_number(value: Option<&Value>) -> Result<f64, String> {
    match value {
        Some(Value::Bool(v)) => Ok(f64::from(u8::from(*v))),
        Some(Value::Int(v)) => Ok(*v as f64),
        Some(Value::Float(v)) => Ok(*v),
        other => Err(format!("it gives {}, not a number", shown(other))),
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |v| format!("'{v}'"))
}

/// Slot values as a scope that minijinja looks into by name, without a map.
#[derive(Debug)]
struct SlotScope(Vec<minijinja::Value>);

impl Object for SlotScope {
    fn get_value(self: &Arc<Self>, key: &minijinja::Value) -> Option<minijinja::Value> {
        self.0.get(slot_index(key.as_str()?)?).cloned()
    }
}

fn scope(slots: &[Value]) -> minijinja::Value {
    let values = slots.iter().map(|slot| match slot {
        Value::Bool(v) => (*v).into(),
        Value::Int(v) => (*v).into(),
        Value::Float(v) => (*v).into(),
        Value::Text(v) => v.as_str().into(),
    });
    minijinja::Value::from_object(SlotScope(values.collect()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::expr::Expr;

    fn condition(text: &str) -> Requirement {
        Requirement::Condition { condition: Expr::parse(text).unwrap() }
    }

    #[test]
    fn what_most_gates_write_needs_no_interpreter() {
        let environment = environment();
        let mut references = Vec::new();
        for text in ["64", "registers", "0.98 * baseline.latency_p50", "best.x * 1.02", "speedup(\"a\")", "2e-3"] {
            let side = Side::compile(text, &mut references, &environment).unwrap();
            assert!(!matches!(side, Side::General(_)), "{text}");
        }
        let side = Side::compile("registers * 2 + 1", &mut references, &environment).unwrap();
        assert_eq!(side.number(&[Value::Int(4)]), Ok(9.0));
    }

    #[test]
    fn conditions_are_true_or_false_and_nothing_else() {
        let environment = environment();
        let test = Test::compile(&condition("not (dram_pct > 80 and tensor_pct < 40)"), &environment).unwrap();
        let Form::Condition(side) = &test.form else { unreachable!() };
        assert_eq!(side.truth(&[Value::Float(85.0), Value::Float(50.0)]), Ok(true));
        assert_eq!(side.truth(&[Value::Float(85.0), Value::Float(10.0)]), Ok(false));
        for text in ["registers", "registers + 1", "1", "'a'", "nope(1)"] {
            let test = Test::compile(&condition(text), &environment).unwrap();
            let Form::Condition(side) = &test.form else { unreachable!() };
            assert!(side.truth(&[Value::Float(1.0)]).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_finite_is_an_error() {
        let environment = environment();
        let mut references = Vec::new();
        for text in ["x / 0", "x * 1e308 * 1e308", "x // 0", "'a'"] {
            let side = Side::compile(text, &mut references, &environment).unwrap();
            assert!(side.number(&[Value::Float(1.0)]).is_err(), "{text}");
        }
        assert!(Side::Scaled { factor: 1.0, slot: 0 }.number(&[Value::Float(f64::NAN)]).is_err());
    }
}
