//! A compiled requirement: both sides are ready for evaluation over any number of variants.

use super::case_outcome::CaseOutcome;
use ncugate_model::Verdict;
use ncugate_model::expr::{Arithmetic, Comparison, Form, Node, NodeKind, Reference, Requirement, Value};

/// A requirement whose references are indices of operands.
pub struct CompiledRequirement {
    pub form: CompiledForm,
    /// The references of the operands, each once.
    pub references: Vec<Reference>,
}

pub enum CompiledForm {
    Compare { left: CompiledSide, comparison: Comparison, right: CompiledSide },
    Condition(CompiledSide),
}

/// One side of a requirement. The common forms are evaluated without walking a tree.
pub enum CompiledSide {
    Constant(f64),
    /// `registers`, `0.98 * baseline.latency_p50`
    Scaled {
        /// 1 if the text has no factor.
        factor: f64,
        operand: usize,
    },
    /// Any other expression.
    General(Node<usize>),
}

/// A condition over the comparisons in it that noise affects.
pub struct TimedParts {
    pub comparisons: Vec<TimedPart>,
    /// The condition. Operands after those of the requirement are the truths of the comparisons.
    condition: Node<usize>,
}

/// A comparison of two numbers within a condition.
pub struct TimedPart {
    pub left: CompiledSide,
    pub comparison: Comparison,
    pub right: CompiledSide,
    /// The operands that it reads.
    pub operands: Vec<usize>,
}

/// Most open comparisons of a condition whose combinations are tried.
const MOST_OPEN: usize = 8;

impl TimedParts {
    /// Whether the condition is `truth` whatever the open comparisons are.
    pub fn agree(&self, values: &[Value], decided: &[CaseOutcome], truth: bool) -> bool {
        let open = decided.iter().filter(|part| part.verdict == Verdict::Inconclusive).count();
        let holds = |combination: usize| {
            let mut bit = 0;
            let of = |part: &CaseOutcome| match part.verdict {
                Verdict::Pass => true,
                Verdict::Fail => false,
                Verdict::Inconclusive => {
                    bit += 1;
                    combination >> (bit - 1) & 1 == 1
                }
            };
            let truths = decided.iter().map(of).map(Value::Bool);
            let operands: Vec<Value> = values.iter().cloned().chain(truths).collect();
            matches!(evaluated(&self.condition, &operands), Ok(Value::Bool(held)) if held == truth)
        };
        open <= MOST_OPEN && (0..1 << open).all(holds)
    }
}

impl CompiledRequirement {
    pub fn new(requirement: &Requirement) -> Self {
        let mut references: Vec<Reference> = Vec::new();
        let mut index = |reference: &Reference| {
            references.iter().position(|known| known == reference).unwrap_or_else(|| {
                references.push(reference.clone());
                references.len() - 1
            })
        };
        let form = match requirement.form() {
            Form::Compare { left, comparison, right } => {
                let left = CompiledSide::new(left.map(&mut index));
                CompiledForm::Compare { left, comparison: *comparison, right: CompiledSide::new(right.map(&mut index)) }
            }
            Form::Condition(condition) => CompiledForm::Condition(CompiledSide::new(condition.map(&mut index))),
        };
        Self { form, references }
    }
}

impl CompiledSide {
    fn new(node: Node<usize>) -> Self {
        if let Some(value) = constant(&node) {
            return Self::Constant(value);
        }
        let scaled = match &node.kind {
            NodeKind::Read(operand) => Some((1.0, *operand)),
            NodeKind::Arithmetic(Arithmetic::Multiply, left, right) => match (&left.kind, &right.kind) {
                (_, NodeKind::Read(operand)) => constant(left).map(|factor| (factor, *operand)),
                (NodeKind::Read(operand), _) => constant(right).map(|factor| (factor, *operand)),
                _ => None,
            },
            _ => None,
        };
        match scaled {
            Some((factor, operand)) => Self::Scaled { factor, operand },
            None => Self::General(node),
        }
    }

    /// Its value as a finite number; true is 1 and false 0.
    ///
    /// # Errors
    ///
    /// The value is a text or not finite, or the evaluation fails.
    pub fn number(&self, operands: &[Value]) -> Result<f64, String> {
        let value = match self {
            Self::Constant(value) => *value,
            Self::Scaled { factor, operand } => factor * as_number(operands.get(*operand))?,
            Self::General(node) => as_number(Some(&evaluated(node, operands)?))?,
        };
        if value.is_finite() { Ok(value) } else { Err(format!("it gives {value}")) }
    }

    /// Its value as true or false; a number is neither.
    ///
    /// # Errors
    ///
    /// The value is a number or a text, or the evaluation fails.
    pub fn truth(&self, operands: &[Value]) -> Result<bool, String> {
        let value = match self {
            Self::Constant(value) => Some(Value::Float(*value)),
            Self::Scaled { factor: 1.0, operand } => operands.get(*operand).cloned(),
            Self::Scaled { .. } => return Err("it gives a number, not true or false".to_owned()),
            Self::General(node) => Some(evaluated(node, operands)?),
        };
        match value {
            Some(Value::Bool(value)) => Ok(value),
            other => Err(format!("it gives {}, not true or false", value_text(other.as_ref()))),
        }
    }

    /// The comparisons of a condition that read operands for which `is_timed` is true; `None` if such an operand is read
    /// outside of a comparison of two numbers.
    pub fn timed_parts(&self, operands: usize, is_timed: &dyn Fn(usize) -> bool) -> Option<TimedParts> {
        let Self::General(node) = self else { return None };
        let mut comparisons = Vec::new();
        let mut condition = node.clone();
        condition.replace(&mut |node| {
            let NodeKind::Compare(left, rest) = &node.kind else { return None };
            let [(comparison, right)] = &rest[..] else { return None };
            let read: Vec<usize> = node.reads().map(|(operand, _)| *operand).collect();
            let is_plain = !left.walk().into_iter().chain(right.walk()).any(Node::is_logical);
            (is_plain && read.iter().any(|at| is_timed(*at))).then(|| {
                let (left, right) = (Self::new((**left).clone()), Self::new(right.clone()));
                comparisons.push(TimedPart { left, comparison: *comparison, right, operands: read });
                NodeKind::Read(operands + comparisons.len() - 1)
            })
        });
        let is_left = condition.reads().any(|(at, _)| *at < operands && is_timed(*at));
        (!is_left).then_some(TimedParts { comparisons, condition })
    }

    /// Smallest and largest value when operands vary within ranges; `None` for anything more complex than a product.
    pub fn range(&self, of_operand: impl Fn(usize) -> Option<(f64, f64)>) -> Option<(f64, f64)> {
        match self {
            Self::Constant(value) => Some((*value, *value)),
            Self::Scaled { factor, operand } => {
                let (low, high) = of_operand(*operand)?;
                let (a, b) = (factor * low, factor * high);
                Some((a.min(b), a.max(b)))
            }
            Self::General(_) => None,
        }
    }
}

/// A number, or minus a number.
fn constant(node: &Node<usize>) -> Option<f64> {
    match &node.kind {
        NodeKind::Negate(inner) => inner.number().map(|value| -value),
        _ => node.number(),
    }
}

fn evaluated(node: &Node<usize>, operands: &[Value]) -> Result<Value, String> {
    let read = |operand: &usize| operands.get(*operand).cloned().ok_or("nothing was read");
    node.eval(&read).map_err(|e| e.reason)
}

fn as_number(value: Option<&Value>) -> Result<f64, String> {
    value.and_then(Value::number).ok_or_else(|| format!("it gives {}, not a number", value_text(value)))
}

fn value_text(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |v| format!("'{v}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(text: &str) -> (CompiledSide, CompiledSide) {
        match CompiledRequirement::new(&Requirement::parse(text).unwrap()).form {
            CompiledForm::Compare { left, right, .. } => (left, right),
            CompiledForm::Condition(_) => unreachable!(),
        }
    }

    #[test]
    fn common_forms_of_requirements_compile_to_scaled_operands() {
        for text in
            ["registers <= 64", "0.98 * baseline.latency_p50 > -2", "best.x * 1.02 < 2e-3", "speedup(\"a\") > 1"]
        {
            let (left, right) = sides(text);
            assert!(!matches!(left, CompiledSide::General(_)) && !matches!(right, CompiledSide::General(_)), "{text}");
        }
        assert_eq!(sides("registers * 2 + 1 < 3").0.number(&[Value::Int(4)]), Ok(9.0));
    }

    #[test]
    fn a_quantity_read_twice_is_one_operand() {
        let text = "0.98 * baseline.latency_p50 + registers >= registers / S";
        let compiled = CompiledRequirement::new(&Requirement::parse(text).unwrap());
        let names: Vec<String> = compiled.references.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["baseline.latency_p50", "registers", "S"]);
    }

    #[test]
    fn conditions_are_true_or_false_and_nothing_else() {
        let truth =
            |text: &str, operands: &[Value]| match CompiledRequirement::new(&Requirement::parse(text).unwrap()).form {
                CompiledForm::Condition(side) => side.truth(operands),
                CompiledForm::Compare { .. } => unreachable!(),
            };
        let text = "not (dram_pct > 80 and tensor_pct < 40)";
        assert_eq!(truth(text, &[Value::Float(85.0), Value::Float(50.0)]), Ok(true));
        assert_eq!(truth(text, &[Value::Float(85.0), Value::Float(10.0)]), Ok(false));
        for text in ["registers and registers", "registers + 1 if true else 2", "'a' or registers"] {
            assert!(truth(text, &[Value::Float(1.0)]).is_err(), "{text}");
        }
    }

    #[test]
    fn values_that_are_not_finite_are_errors() {
        for text in ["x / 0 > 1", "x * 1e308 * 1e308 > 1", "x // 0 > 1"] {
            assert!(sides(text).0.number(&[Value::Float(1.0)]).is_err(), "{text}");
        }
        assert!(sides("1 < 'a' + x").1.number(&[Value::Float(1.0)]).is_err());
        assert!(CompiledSide::Scaled { factor: 1.0, operand: 0 }.number(&[Value::Float(f64::NAN)]).is_err());
    }
}
