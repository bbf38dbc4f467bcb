//! A tree evaluated over scalars, with Python's arithmetic: `/` gives a real number, `//` rounds down, `%` has the sign
//! of the divisor; integers stay integers.
//!
//! Integers do not wrap, and results are finite: an overflow and a division by zero are errors.

use super::ast::{Arithmetic, Comparison, MathFunction, Node, NodeKind, Span};
use super::value::Value;

/// Why a node has no value, with its bytes of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalError {
    pub reason: String,
    /// The bytes of the node.
    pub span: Span,
}

/// A value, or the reason for its absence; boxed, because it is rare.
pub type EvalResult<T = Value> = Result<T, Box<EvalError>>;

impl<R> Node<R> {
    /// Evaluates the node, with `read` for references; `and`, `or` and `if` evaluate only the side that they need.
    ///
    /// # Errors
    ///
    /// Errors of `read`, and undefined values: operands of the wrong kind, division by zero, overflow.
    pub fn eval<E: Into<String>>(&self, read: &impl Fn(&R) -> Result<Value, E>) -> EvalResult {
        match &self.kind {
            NodeKind::Literal(value) => Ok(value.clone()),
            NodeKind::Measure { resolved: Some(number), .. } => Ok(Value::Float(*number)),
            NodeKind::Measure { unit, resolved: None, .. } => {
                Err(self.error(format!("`{}` is a unit, which is allowed only in a limit", unit.word)))
            }
            NodeKind::Read(reference) => read(reference).map_err(|reason| self.error(reason)),
            NodeKind::Negate(inner) => self.negated(&inner.eval(read)?),
            NodeKind::Not(inner) => Ok(Value::Bool(!inner.eval(read)?.is_truthy())),
            NodeKind::Arithmetic(sign, left, right) => self.arithmetic(*sign, &left.eval(read)?, &right.eval(read)?),
            NodeKind::Call(function, arguments) => {
                let values = arguments.iter().map(|node| node.eval(read)).collect::<EvalResult<Vec<Value>>>()?;
                called(*function, &values).map_err(|reason| self.error(reason))
            }
            NodeKind::Compare(first, rest) => {
                let mut left = first.eval(read)?;
                for (comparison, node) in rest {
                    let right = node.eval(read)?;
                    if !compare(*comparison, &left, &right).map_err(|reason| self.error(reason))? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Ok(Value::Bool(true))
            }
            NodeKind::In { value, list, negated } => {
                let value = value.eval(read)?;
                let mut found = false;
                for item in list {
                    found |= equal(&value, &item.eval(read)?);
                }
                Ok(Value::Bool(found != *negated))
            }
            NodeKind::And(left, right) => {
                let left = left.eval(read)?;
                if left.is_truthy() { right.eval(read) } else { Ok(left) }
            }
            NodeKind::Or(left, right) => {
                let left = left.eval(read)?;
                if left.is_truthy() { Ok(left) } else { right.eval(read) }
            }
            NodeKind::Conditional { then, condition, otherwise } => {
                if condition.eval(read)?.is_truthy() {
                    then.eval(read)
                } else {
                    otherwise.eval(read)
                }
            }
        }
    }

    fn error(&self, reason: impl Into<String>) -> Box<EvalError> {
        Box::new(EvalError { reason: reason.into(), span: self.span })
    }

    fn negated(&self, value: &Value) -> EvalResult {
        match value {
            Value::Float(v) => Ok(Value::Float(-v)),
            other => match other.integer() {
                Some(v) => v.checked_neg().map(Value::Int).ok_or_else(|| self.error(format!("-({v}) is too large"))),
                None => Err(self.error(format!("{} is not a number", other.written()))),
            },
        }
    }

    fn arithmetic(&self, sign: Arithmetic, left: &Value, right: &Value) -> EvalResult {
        let shown = || format!("{} {} {}", left.written(), sign.symbol(), right.written());
        let (Some(a), Some(b)) = (left.number(), right.number()) else {
            let text = if left.number().is_none() { left } else { right };
            return Err(self.error(format!("{} is not a number", text.written())));
        };
        let raises = |exponent: f64| sign == Arithmetic::Power && a == 0.0 && exponent < 0.0;
        let divides = matches!(sign, Arithmetic::Divide | Arithmetic::FloorDivide | Arithmetic::Remainder);
        if (divides && b == 0.0) || raises(b) {
            return Err(self.error(format!("{} divides by zero", shown())));
        }
        let value = match left.integer().zip(right.integer()) {
            Some((a, b)) => integers(sign, a, b),
            None => Some(Value::Float(reals(sign, a, b))),
        };
        match value {
            Some(Value::Float(v)) if !v.is_finite() => Err(self.error(format!("{} is not finite", shown()))),
            Some(value) => Ok(value),
            None => Err(self.error(format!("{} is too large for an integer", shown()))),
        }
    }
}

/// The result of a function. Integers stay integers, and so does the logarithm of a power of two.
fn called(function: MathFunction, values: &[Value]) -> Result<Value, String> {
    if let Some(text) = values.iter().find(|value| value.number().is_none()) {
        return Err(format!("{} is not a number", text.written()));
    }
    let extreme = |comparison: Comparison| {
        let mut found = values.first().ok_or("it has no argument")?;
        for value in values {
            if compare(comparison, value, found)? {
                found = value;
            }
        }
        Ok(found.integer().map_or_else(|| found.clone(), Value::Int))
    };
    let rounded = |round: fn(f64) -> f64| match values {
        [Value::Float(value)] => Value::Float(round(*value))
            .as_integer()
            .map(Value::Int)
            .ok_or_else(|| format!("{value} is too large for an integer")),
        [value, ..] => value.integer().map(Value::Int).ok_or_else(|| format!("{} is not a number", value.written())),
        [] => Err("it has no argument".to_owned()),
    };
    match function {
        MathFunction::Max => extreme(Comparison::Greater),
        MathFunction::Min => extreme(Comparison::Less),
        MathFunction::Ceil => rounded(f64::ceil),
        MathFunction::Floor => rounded(f64::floor),
        MathFunction::Log2 => {
            let value = values.first().ok_or("it has no argument")?;
            let whole = value.as_integer().or(value.integer());
            match whole.and_then(|whole| u64::try_from(whole).ok()).filter(|whole| whole.is_power_of_two()) {
                Some(whole) => Ok(Value::Int(i64::from(whole.trailing_zeros()))),
                None => match value.number().filter(|value| *value > 0.0) {
                    Some(number) => Ok(Value::Float(number.log2())),
                    None => Err(format!("log2 needs a number above 0, not {}", value.written())),
                },
            }
        }
    }
}

/// None on overflow; the divisor is not zero.
fn integers(sign: Arithmetic, a: i64, b: i64) -> Option<Value> {
    let value = match sign {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::FloorDivide => floor_divided(a, b),
        // a - b * floor(a / b)
        Arithmetic::Remainder => a.checked_rem(b).map(|r| if r != 0 && (r < 0) != (b < 0) { r + b } else { r }),
        Arithmetic::Power if b >= 0 => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        Arithmetic::Divide | Arithmetic::Power => return Some(Value::Float(reals(sign, a as f64, b as f64))),
    };
    value.map(Value::Int)
}

fn floor_divided(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let exact = a.checked_rem(b)? == 0;
    if !exact && (a < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

fn reals(sign: Arithmetic, a: f64, b: f64) -> f64 {
    match sign {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide => a / b,
        Arithmetic::FloorDivide => floored(a, b).0,
        Arithmetic::Remainder => floored(a, b).1,
        Arithmetic::Power => a.powf(b),
    }
}

/// Quotient rounded down and remainder with the sign of the divisor, as in CPython's `float_divmod`.
fn floored(a: f64, b: f64) -> (f64, f64) {
    let mut remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder != 0.0 && (remainder < 0.0) != (b < 0.0) {
        remainder += b;
        quotient -= 1.0;
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, remainder)
}

/// Whether two values are the same: numbers by value, true as 1; a text never equals a number.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Text(a), Value::Text(b)) => a == b,
        _ => match left.integer().zip(right.integer()) {
            Some((a, b)) => a == b,
            None => left.number().is_some_and(|a| right.number() == Some(a)),
        },
    }
}

fn compare(comparison: Comparison, left: &Value, right: &Value) -> Result<bool, String> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = match (left, right) {
        _ if comparison == Comparison::Equal => return Ok(equal(left, right)),
        _ if comparison == Comparison::NotEqual => return Ok(!equal(left, right)),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        _ => match left.integer().zip(right.integer()) {
            Some((a, b)) => Some(a.cmp(&b)),
            None => left.number().zip(right.number()).and_then(|(a, b)| a.partial_cmp(&b)),
        },
    };
    let Some(order) = order else {
        return Err(format!("{} {} {} has no result", left.written(), comparison.symbol(), right.written()));
    };
    Ok(match comparison {
        Comparison::Less => order == Less,
        Comparison::LessOrEqual => order != Greater,
        Comparison::Greater => order == Greater,
        Comparison::GreaterOrEqual => order != Less,
        Comparison::Equal => order == Equal,
        Comparison::NotEqual => order != Equal,
    })
}
