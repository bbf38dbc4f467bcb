//! Selects the cases to re-time after the selection: the variants that latency gates picked and their comparison
//! variants, at the shapes that latency gates read.

use super::base_choice::base_of;
use super::open_cases::variant;
use super::operand::Timing;
use super::results::{Case, GateResult, Judgement};
use super::scope::{Picks, ScopeRule};
use ncugate_model::expr::Reads;
use ncugate_model::{Better, ShapeName, VariantId, Verdict, glob};
use ncugate_phase::config::{Gate, Phase};
use std::collections::BTreeSet;

/// Distance outside the limit, relative to it, beyond which a variant is not re-timed: an assumption about noise between
/// processes, which can only leave a failure of the sweep standing.
const FAR: f64 = 0.05;

/// Variants and shapes to re-time, from the judgement of the samples that selected the variants.
///
/// All variants that represent a stage and the fallback are included regardless of their verdicts in the sweep,
/// because fresh samples decide which of them is used. Of several variants under one gate, only those far outside the
/// limit are left out: the sweep is one process, and processes differ. `stored` are names that refer to stored runs, which
/// cannot be re-timed.
pub fn to_confirm(phase: &Phase, judgement: &Judgement, stored: &[&str]) -> BTreeSet<(VariantId, ShapeName)> {
    let mut found = ConfirmationScope { phase, judgement, stored, variants: BTreeSet::new(), shapes: BTreeSet::new() };
    let tiers = judgement.tiers.iter().flat_map(|tier| &tier.gates);
    let fallback = judgement.fallback.iter().flat_map(|fallback| &fallback.gates);
    for gate in judgement.gates.iter().chain(tiers).chain(fallback) {
        found.gate(gate, None);
    }
    found.stages();
    found.fallback();
    found.base();
    let ConfirmationScope { variants, shapes, .. } = found;
    variants.iter().flat_map(|id| shapes.iter().map(|shape| (id.clone(), shape.clone()))).collect()
}

struct ConfirmationScope<'a> {
    phase: &'a Phase,
    judgement: &'a Judgement,
    stored: &'a [&'a str],
    variants: BTreeSet<VariantId>,
    shapes: BTreeSet<ShapeName>,
}

impl ConfirmationScope<'_> {
    fn gate(&mut self, gate: &GateResult, previous: Option<&VariantId>) {
        let reads = gate.require.reads();
        if !is_timed(&reads) {
            return;
        }
        let is_picked = ScopeRule::of(&gate.on).picks != Picks::All;
        // A condition has no distance from its limit, so its failures are confirmed too, unless no sample decided them.
        let is_far = |case: &Case| {
            let outcome = &case.outcome;
            let is_outside = outcome.origin.is_none() || outcome.margin.is_some() && outcome.severity() > FAR;
            outcome.verdict == Verdict::Fail && is_outside
        };
        for case in gate.cases.iter().filter(|case| is_picked || !is_far(case)) {
            self.variants.insert(case.variant.clone());
            self.shapes.insert(case.shape.clone());
        }
        self.owners(&reads, previous);
    }

    fn owners(&mut self, reads: &Reads, previous: Option<&VariantId>) {
        let owners =
            reads.owners().filter_map(|owner| variant(self.phase, self.judgement, owner, previous, self.stored));
        self.variants.extend(owners);
    }

    fn stages(&mut self) {
        let mut timed = false;
        let mut previous = None;
        for stage in &self.judgement.stages {
            timed |= stage.gates.iter().any(|gate| is_timed(&gate.require.reads()));
            stage.gates.iter().for_each(|gate| self.gate(gate, previous));
            previous = stage.variant.as_ref().or(previous);
        }
        let planned: Vec<&Gate> = self.phase.gate_plan.stages.iter().flat_map(|stage| &stage.gates).collect();
        let planned: Vec<&Gate> = planned.into_iter().filter(|gate| is_timed(&gate.require.reads())).collect();
        if !timed && planned.is_empty() {
            return;
        }
        self.shapes.insert(self.phase.objective.shape.clone());
        self.shapes.extend(planned.iter().flat_map(|gate| gate.shapes.iter().cloned()));
        self.variants.extend(self.judgement.stages.iter().filter_map(|stage| stage.variant.clone()));
        planned.iter().for_each(|gate| self.owners(&gate.require.reads(), None));
    }

    /// Adds the selected variant and the base, which are always compared.
    fn base(&mut self) {
        let selected = self.judgement.selected.as_ref().map(|selected| selected.variant.clone());
        if let Some((selected, base)) = selected.zip(base_of(self.phase, self.judgement)) {
            self.variants.extend([selected, base]);
            self.shapes.extend(self.phase.bench.shapes.iter().cloned());
        }
    }

    fn fallback(&mut self) {
        let Some(fallback) = &self.phase.gate_plan.fallback else { return };
        let Ok(matcher) = glob(&fallback.variant) else { return };
        let timed: Vec<&Gate> = fallback.gates.iter().filter(|gate| is_timed(&gate.require.reads())).collect();
        let matching = self.judgement.variants.iter().filter(|result| matcher.is_match(&result.variant.0));
        let measured = matching.filter_map(|result| Some((result.objective?, &result.variant)));
        let best = measured.min_by(|(a, first), (b, second)| {
            let order = if self.phase.objective.better == Better::Higher { b.total_cmp(a) } else { a.total_cmp(b) };
            order.then_with(|| first.cmp(second))
        });
        if let (Some((_, best)), false) = (best, timed.is_empty()) {
            self.variants.insert(best.clone());
            self.shapes.extend(timed.iter().flat_map(|gate| gate.shapes.iter().cloned()));
            timed.iter().for_each(|gate| self.owners(&gate.require.reads(), None));
        }
    }
}

pub(super) fn is_timed(reads: &Reads) -> bool {
    !reads.speedups.is_empty() || reads.quantities.iter().any(|quantity| Timing::of(&quantity.name).is_some())
}
