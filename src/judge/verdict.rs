//! A gate's verdict over all variants it applies to, in words.

use super::ground::Ground;
use super::judgement::{Case, Correctness, Doubt, GateResult};
use super::outcome::Outcome;
use super::panel::{Panel, Row};
use super::sentence::{count, demand, shortfall};
use super::waiver::Waivers;
use crate::config::{Gate, Waiver};
use crate::model::ShapeName;
use crate::model::Verdict;
use crate::model::{Level, OnInconclusive, Scope};
use crate::number::{distance, said, short};
use rayon::prelude::*;
use std::sync::Arc;

/// A gate's result, and what it means for whatever asked.
pub struct Judged {
    /// The result as it is.
    pub result: GateResult,
    /// What it counts as: a waived failure, or noise that only warns, counts as a pass.
    pub effect: Verdict,
    /// What the reader must be warned of.
    pub warnings: Vec<String>,
}

/// The rows a gate's scope picks, or why it picks none.
pub enum Picked {
    /// These; never empty.
    Rows(Vec<Row>),
    /// None, with the verdict that makes.
    Nothing(Verdict, String),
}

impl Judged {
    /// Whether a phase has to answer for it.
    pub fn is_required(&self) -> bool {
        self.result.level == Level::Required
    }
}

/// As a phase writes it.
pub fn scope_text(scope: &Scope) -> String {
    match scope {
        Scope::Selected => "selected".to_owned(),
        Scope::Each => "each".to_owned(),
        Scope::Any => "any".to_owned(),
        Scope::Matching(glob) => glob.clone(),
    }
}

/// Puts rows together to a result.
pub fn judged(panel: &Panel<'_>, ground: &Ground<'_>, picked: Picked) -> Judged {
    let gate = panel.gate;
    let waivers = Waivers::of(&gate.name, &ground.phase.gate_plan.waivers, ground.context.today);
    let mut judged = match picked {
        Picked::Nothing(verdict, reason) => bare(panel, verdict, reason),
        Picked::Rows(rows) => of_rows(panel, ground, &waivers, rows),
    };
    judged.result.expired_waiver = waivers.expired().cloned();
    if let Some(waiver) = waivers.expired() {
        judged
            .warnings
            .push(format!("the waiver of gate '{}' by {} expired on {}", gate.name, waiver.owner, waiver.expires));
    }
    settle(gate, &mut judged);
    judged
}

/// What inconclusive counts as.
fn settle(gate: &Gate, judged: &mut Judged) {
    if judged.result.verdict != Verdict::Inconclusive || judged.result.waived.is_some() {
        return;
    }
    match gate.inconclusive {
        OnInconclusive::Inconclusive => {}
        OnInconclusive::Fail => {
            judged.result.verdict = Verdict::Fail;
            judged.result.reason.push_str("; this gate counts inconclusive as failed");
            judged.effect = Verdict::Fail;
        }
        OnInconclusive::Warn => {
            let noise_alone = !judged.result.cases.is_empty()
                && judged
                    .result
                    .cases
                    .iter()
                    .all(|c| c.verdict != Verdict::Inconclusive || c.doubt == Some(Doubt::Noise));
            if noise_alone {
                judged.effect = Verdict::Pass;
                judged.warnings.push(format!("gate '{}' is inconclusive: {}", gate.name, judged.result.reason));
            }
        }
    }
}

fn bare(panel: &Panel<'_>, verdict: Verdict, reason: String) -> Judged {
    let gate = panel.gate;
    let result = GateResult {
        name: gate.name.clone(),
        require: gate.require.text().to_owned(),
        on: scope_text(&gate.on),
        level: gate.level,
        metric: panel.metric().map(|m| m.name.clone()),
        unit: panel.unit(),
        line: gate.line,
        verdict,
        reason,
        deciding: None,
        cases: Vec::new(),
        waived: None,
        expired_waiver: None,
    };
    Judged { effect: verdict, result, warnings: Vec::new() }
}

fn of_rows(panel: &Panel<'_>, ground: &Ground<'_>, waivers: &Waivers<'_>, rows: Vec<Row>) -> Judged {
    let gate = panel.gate;
    let any = gate.on == Scope::Any;
    let verdict = over_variants(rows.iter().map(|r| r.verdict), any);
    let mut judged = bare(panel, verdict, String::new());
    let excused = |row: &Row| match ground.correctness(row.variant) {
        Correctness::Proven { .. } => waivers.excuse(row, &ground.variant(row.variant).id),
        Correctness::Wrong { .. } | Correctness::Unproven { .. } => None,
    };
    let counted = |row: &Row| if excused(row).is_some() { Verdict::Pass } else { row.verdict };
    judged.effect = over_variants(rows.iter().map(counted), any);
    if verdict != Verdict::Pass && judged.effect == Verdict::Pass {
        let waiver: Option<&Waiver> = rows.iter().find_map(excused);
        judged.result.waived = waiver.cloned();
        judged.warnings.extend(
            waiver.map(|w| format!("gate '{}' is waived until {} by {}: {}", gate.name, w.expires, w.owner, w.reason)),
        );
    }
    let words = Words { panel, unit: panel.unit() };
    let deciding = deciding(&rows, verdict, any);
    judged.result.deciding = deciding.map(|(row, case)| row * gate.shapes.len() + case);
    judged.result.reason = words.reason(ground, &rows, verdict, deciding);
    let shapes: Vec<Arc<ShapeName>> = gate.shapes.iter().cloned().map(Arc::new).collect();
    let case = |variant: usize, shape: &Arc<ShapeName>, outcome: Outcome| Case {
        variant: ground.name(variant),
        shape: shape.clone(),
        verdict: outcome.verdict,
        doubt: outcome.doubt,
        reason: (outcome.verdict != Verdict::Pass).then(|| {
            let mut reason = words.case(&outcome);
            // kept by the million
            reason.shrink_to_fit();
            reason
        }),
        measured: outcome.measured,
        limit: outcome.limit,
        margin: outcome.margin,
        interval: outcome.interval,
        samples: outcome.samples,
    };
    let at_shapes = |row: Row| {
        let case = &case;
        shapes.iter().zip(row.cases).map(move |(shape, outcome)| case(row.variant, shape, outcome))
    };
    judged.result.cases = rows.into_par_iter().with_min_len(TOGETHER).flat_map_iter(at_shapes).collect();
    judged
}

/// Rows that are put into words together; fewer are not worth a thread.
pub const TOGETHER: usize = 256;

/// Over variants: all must hold, or any; none at all is no pass.
pub fn over_variants(verdicts: impl Iterator<Item = Verdict>, any: bool) -> Verdict {
    let (mut pass, mut fail, mut open) = (0, 0, 0);
    for verdict in verdicts {
        match verdict {
            Verdict::Pass => pass += 1,
            Verdict::Fail => fail += 1,
            Verdict::Inconclusive => open += 1,
        }
    }
    match any {
        true if pass > 0 => Verdict::Pass,
        true if open > 0 || fail == 0 => Verdict::Inconclusive,
        true => Verdict::Fail,
        false if fail > 0 => Verdict::Fail,
        false if open > 0 || pass == 0 => Verdict::Inconclusive,
        false => Verdict::Pass,
    }
}

/// The case that decides: the farthest out or the tightest inside; for `any`, the one that is nearest to holding.
fn deciding(rows: &[Row], verdict: Verdict, any: bool) -> Option<(usize, usize)> {
    let cases = rows.iter().enumerate().filter(|(_, row)| row.verdict == verdict).flat_map(|(at, row)| {
        let wanted = |case: &Outcome| case.verdict == verdict;
        row.cases.iter().enumerate().filter(move |(_, c)| wanted(c)).map(move |(shape, case)| ((at, shape), case))
    });
    let by_severity = |a: &((usize, usize), &Outcome), b: &((usize, usize), &Outcome)| {
        let order = a.1.severity().total_cmp(&b.1.severity());
        (if any { order } else { order.reverse() }).then(a.0.cmp(&b.0))
    };
    cases.min_by(by_severity).map(|(place, _)| place)
}

/// Outcomes of one gate in words.
pub struct Words<'p, 'a> {
    /// The gate.
    pub panel: &'p Panel<'a>,
    /// Unit of the measured value.
    pub unit: String,
}

impl Words<'_, '_> {
    /// Why a case did not pass: "eligible_warps is 0.27, needs at least 2 (short by 1.73)".
    pub fn case(&self, outcome: &Outcome) -> String {
        let note = outcome.note.as_deref();
        let numbers = (outcome.measured, outcome.limit, outcome.margin, self.panel.comparison());
        let (Some(measured), Some(limit), Some(margin), Some(comparison)) = numbers else {
            return note.unwrap_or("does not hold").to_owned();
        };
        let subject = self.panel.subject();
        let around =
            outcome.interval.map_or_else(String::new, |(low, high)| format!(" [{}, {}]", short(low), short(high)));
        let value = format!(
            "{subject} is {}{around}, needs {}",
            said(measured, &self.unit),
            demand(comparison, limit, &self.unit)
        );
        match (outcome.verdict, note) {
            (Verdict::Fail, None) => format!("{value} ({})", shortfall(comparison, margin, &self.unit)),
            (_, Some(note)) => format!("{value}: {note}"),
            _ => value,
        }
    }

    /// What a variant lacks, in short: "registers <= 64 by 6", "latency_p90 <= 20 by 0.2 µs at large".
    pub fn lack(&self, row: &Row) -> Option<String> {
        let require = self.panel.gate.require.text();
        let worst = row.cases.iter().enumerate().filter(|(_, case)| case.verdict == row.verdict);
        let (at, worst) = worst.max_by(|a, b| a.1.severity().total_cmp(&b.1.severity()))?;
        let place = self.panel.elsewhere(at);
        Some(match (row.verdict, worst.margin, &worst.note) {
            (Verdict::Fail, Some(margin), None) => {
                format!("{require} by {}{place}", distance(margin.abs(), &self.unit))
            }
            (_, _, Some(note)) => format!("{require}{place}: {note}"),
            _ => format!("{require}{place}"),
        })
    }

    fn reason(&self, ground: &Ground<'_>, rows: &[Row], verdict: Verdict, deciding: Option<(usize, usize)>) -> String {
        let gate = self.panel.gate;
        let shapes = match (gate.shapes.len(), gate.at_least) {
            (1, _) => format!(" at shape '{}'", gate.shapes[0]),
            (n, Some(needed)) => format!(" at {needed} of {n} shapes"),
            (n, None) => format!(" at {n} shapes"),
        };
        let Some((row, case)) = deciding else { return "nothing was judged".to_owned() };
        let outcome = &rows[row].cases[case];
        let place = if gate.shapes.len() > 1 { format!(" at {}", gate.shapes[case]) } else { String::new() };
        let with = |n: Verdict| rows.iter().filter(|r| r.verdict == n).count();
        let who = format!("{}{place}", ground.variant(rows[row].variant).id);
        match verdict {
            Verdict::Pass => {
                let tightest = outcome.margin.map_or_else(String::new, |m| match gate.on {
                    Scope::Any => format!(", {who} by {}", distance(m, &self.unit)),
                    _ => format!(", tightest by {}", distance(m, &self.unit)),
                });
                format!("held for {}{shapes}{tightest}", count(with(Verdict::Pass), "variant"))
            }
            _ if rows.len() == 1 => format!("{who}: {}", self.case(outcome)),
            Verdict::Fail => {
                let failed = count(with(Verdict::Fail), "variant");
                let which = if gate.on == Scope::Any { "nearest" } else { "worst" };
                format!("{failed} of {} failed{shapes}; {which} {who}: {}", rows.len(), self.case(outcome))
            }
            Verdict::Inconclusive => {
                let open = count(with(Verdict::Inconclusive), "variant");
                format!("{open} of {} cannot be told{shapes}; {who}: {}", rows.len(), self.case(outcome))
            }
        }
    }
}
