//! Messages about outcomes.

use super::bound_gate::{BoundGate, VariantOutcome};
use super::case_outcome::CaseOutcome;
use super::scope::Combine;
use ncugate_model::Verdict;
use ncugate_model::expr::{Comparison, Requirement};
use ncugate_model::number::{self, counted, distance, said_beside};

/// Messages about the outcomes of one gate.
pub struct Messages<'p, 'a> {
    bound: &'p BoundGate<'a>,
    /// Unit of the measured value.
    unit: String,
}

impl<'p, 'a> Messages<'p, 'a> {
    pub fn of(bound: &'p BoundGate<'a>) -> Self {
        Self { bound, unit: bound.unit() }
    }

    fn case(&self, outcome: &CaseOutcome) -> String {
        case_reason(&self.bound.gate.require, &self.unit, outcome)
    }

    /// A variant's shortfall, in short: "registers <= 64 by 6", "latency_p90 <= 20 by 0.2 µs at large".
    pub fn lack(&self, row: &VariantOutcome) -> Option<String> {
        let require = &self.bound.gate.require;
        let worst = row.cases.iter().filter(|(_, case)| case.verdict == row.verdict);
        let (at, worst) = worst.max_by(|a, b| a.1.severity().total_cmp(&b.1.severity()))?;
        let place = self.bound.elsewhere(*at);
        Some(match (row.verdict, worst.margin, &worst.note) {
            (Verdict::Fail, Some(margin), None) => {
                format!("{require} by {}{place}", distance(margin.abs(), &self.unit))
            }
            (_, _, Some(note)) => format!("{require}{place}: {note}"),
            _ => format!("{require}{place}"),
        })
    }

    /// The reason for a gate's verdict over all of its variants; `deciding` is the row and the place in it of the case
    /// that decides.
    pub fn reason(
        &self,
        combine: Combine,
        rows: &[VariantOutcome],
        verdict: Verdict,
        deciding: Option<(usize, usize)>,
    ) -> String {
        let gate = self.bound.gate;
        let shapes = match (gate.shapes.len(), gate.at_least) {
            (1, _) => format!(" at shape '{}'", gate.shapes[0]),
            (n, Some(needed)) => format!(" at {needed} of {n} shapes"),
            (n, None) => format!(" at {n} shapes"),
        };
        let Some((row, case)) = deciding else { return "nothing was judged".to_owned() };
        let (shape, outcome) = &rows[row].cases[case];
        let place = if gate.shapes.len() > 1 { format!(" at {}", gate.shapes[*shape]) } else { String::new() };
        let with = |n: Verdict| rows.iter().filter(|r| r.verdict == n).count();
        let who = format!("{}{place}", self.bound.context.variant(rows[row].variant).id);
        match verdict {
            Verdict::Pass => {
                let tightest = outcome.margin.map_or_else(String::new, |m| match combine {
                    Combine::Any => format!(", {who} by {}", distance(m, &self.unit)),
                    Combine::All => format!(", tightest by {}", distance(m, &self.unit)),
                });
                format!("held for {}{shapes}{tightest}", counted(with(Verdict::Pass), "variant"))
            }
            _ if rows.len() == 1 => format!("{who}: {}", self.case(outcome)),
            Verdict::Fail => {
                let failed = counted(with(Verdict::Fail), "variant");
                let which = if combine == Combine::Any { "nearest" } else { "worst" };
                format!("{failed} of {} failed{shapes}; {which} {who}: {}", rows.len(), self.case(outcome))
            }
            Verdict::Inconclusive => {
                let open = with(Verdict::Inconclusive);
                let are = if open == 1 { "is" } else { "are" };
                let open = counted(open, "variant");
                format!("{open} of {} {are} inconclusive{shapes}; {who}: {}", rows.len(), self.case(outcome))
            }
        }
    }
}

/// Why a case did not pass: "eligible_warps is 0.27, needs at least 2 (short by 1.73)".
pub fn case_reason(require: &Requirement, unit: &str, outcome: &CaseOutcome) -> String {
    let note = outcome.note.as_deref();
    let numbers = (outcome.measured, outcome.limit, outcome.margin, require.comparison());
    let (Some(measured), Some(limit), Some(margin), Some(comparison)) = numbers else {
        return note.unwrap_or("does not hold").to_owned();
    };
    let subject = require.subject_text();
    // the interval is that of the difference, without noise common to both sides; it is shown around the limit
    let around = outcome.interval.map_or_else(String::new, |(low, high)| {
        format!(" (difference {} to {})", number::signed(low - limit, unit), number::signed(high - limit, unit))
    });
    let (measured, limit) = said_beside(measured, limit, unit);
    let value = format!("{subject} is {measured}, needs {}{around}", demanded(comparison, &limit));
    match (outcome.verdict, note) {
        (Verdict::Fail, None) => format!("{value} ({})", shortfall(comparison, margin, unit)),
        (_, Some(note)) => format!("{value}: {note}"),
        _ => value,
    }
}

/// `at least 20 %`
fn demanded(comparison: Comparison, limit: &str) -> String {
    match comparison {
        Comparison::Less => format!("less than {limit}"),
        Comparison::LessOrEqual => format!("at most {limit}"),
        Comparison::Greater => format!("more than {limit}"),
        Comparison::GreaterOrEqual => format!("at least {limit}"),
        Comparison::Equal => format!("exactly {limit}"),
        Comparison::NotEqual => format!("anything but {limit}"),
    }
}

/// `short by 1.73`, `over by 19.45 µs`, `short by 12.5 pp`
pub fn shortfall(comparison: Comparison, margin: f64, unit: &str) -> String {
    let by = number::distance(margin.abs(), unit);
    match comparison {
        Comparison::Less | Comparison::LessOrEqual => format!("over by {by}"),
        Comparison::Greater | Comparison::GreaterOrEqual => format!("short by {by}"),
        Comparison::Equal => format!("off by {by}"),
        Comparison::NotEqual => "it is exactly the limit".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_and_shortfalls_name_their_unit() {
        assert_eq!(demanded(Comparison::LessOrEqual, "10.21 µs"), "at most 10.21 µs");
        assert_eq!(demanded(Comparison::GreaterOrEqual, "2"), "at least 2");
        assert_eq!(shortfall(Comparison::LessOrEqual, -19.376, "us"), "over by 19.4 µs");
        assert_eq!(shortfall(Comparison::GreaterOrEqual, -7.53, "%"), "short by 7.53 pp");
        assert_eq!(shortfall(Comparison::Equal, -5.0, "inst"), "off by 5");
        assert_eq!(shortfall(Comparison::GreaterOrEqual, -0.1, "x"), "short by 0.1×");
    }
}
