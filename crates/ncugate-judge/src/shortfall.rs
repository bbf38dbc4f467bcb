//! The shortfalls of each variant on its own.

use super::bound_gate::{BoundGate, VariantOutcome};
use super::case_outcome::CaseOutcome;
use super::messages::Messages;
use super::results::Shortfall;
use ncugate_model::{Level, Verdict};
use rayon::prelude::*;

/// Rows formatted together; smaller batches are not worth a thread.
const TOGETHER: usize = 256;

/// Distance outside a gate, and its description.
type RankedShortfall = (f64, Shortfall);

pub struct Shortfalls {
    lacks: Vec<Vec<RankedShortfall>>,
    verdicts: Vec<Option<Verdict>>,
}

impl Shortfalls {
    /// No shortfalls yet, for the given number of variants.
    pub fn new(variants: usize) -> Self {
        Self { lacks: vec![Vec::new(); variants], verdicts: vec![None; variants] }
    }

    /// Records a required gate's outcome for each variant separately.
    pub fn note(&mut self, bound: &BoundGate<'_>, rows: &[VariantOutcome]) {
        if bound.gate.level != Level::Required {
            return;
        }
        let messages = Messages::of(bound);
        let lack = |row: &VariantOutcome| {
            let severity = row.outcomes().map(CaseOutcome::severity).fold(f64::NEG_INFINITY, f64::max);
            let text = (row.verdict != Verdict::Pass).then(|| messages.lack(row))??.into();
            let uncompared = row.is_uncompared();
            Some((severity, Shortfall { line: Some(bound.gate.line), verdict: row.verdict, text, uncompared }))
        };
        let lacks: Vec<Option<RankedShortfall>> = rows.par_iter().with_min_len(TOGETHER).map(lack).collect();
        for (row, lack) in rows.iter().zip(lacks) {
            let verdict = &mut self.verdicts[row.variant];
            *verdict = Some(verdict.map_or(row.verdict, |v| v.and(row.verdict)));
            self.lacks[row.variant].extend(lack);
        }
    }

    /// The combined verdict for a variant; `None` if no required gate judged it.
    pub fn verdict(&self, variant: usize) -> Option<Verdict> {
        self.verdicts.get(variant).copied().flatten()
    }

    /// The verdict of each variant over all recorded gates, and its shortfalls, worst first.
    pub fn into_variants(self) -> impl Iterator<Item = (Option<Verdict>, Vec<Shortfall>)> {
        self.verdicts.into_iter().zip(self.lacks).map(|(verdict, mut lacks)| {
            lacks.sort_by(|a, b| b.0.total_cmp(&a.0));
            (verdict, lacks.into_iter().map(|(_, lack)| lack).collect())
        })
    }
}
