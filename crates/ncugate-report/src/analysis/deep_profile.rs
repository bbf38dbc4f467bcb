//! The deep profiles of a run, read back. The report names an unreadable one, which changes no verdict.

use super::{Listings, observations};
use ncu_explain::{Clocks, NcuObservations};
use ncugate_judge::frame::{
    DeepProfileCase, Ownership, ProfileCounters, ProfiledCases, deep_quantities, required_metrics,
};
use ncugate_judge::store::{Run, open_reports};
use ncugate_model::metric::signal_counters;
use ncugate_model::{Cell, ComputeCapability, DeepProfile, Quantities};
use ncugate_phase::plan::{Plan, Variant};
use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;

/// Results of deep profiles.
#[derive(Debug, Default)]
pub struct DeepProfiles {
    pub quantities: Quantities,
    /// Observations of ncu's rules and sampler.
    pub observations: Vec<NcuObservations>,
    /// The clocks of their launches.
    pub clocks: Clocks,
    /// Why they cannot be read.
    pub problem: Option<String>,
}

impl DeepProfiles {
    /// Reads the reports of a run's deep profiles.
    pub fn read(run: &Run, plan: &Plan, capability: Option<ComputeCapability>) -> Self {
        if run.deep_profiles.is_empty() {
            return Self::default();
        }
        Self::readable(run, plan, capability)
            .unwrap_or_else(|error| Self { problem: Some(error.to_string()), ..Self::default() })
    }

    fn readable(run: &Run, plan: &Plan, capability: Option<ComputeCapability>) -> Result<Self, Box<dyn Error>> {
        let reports = open_reports(&run.deep_reports())?;
        let mut metrics = required_metrics::deep_metrics();
        metrics.extend(signal_counters().map(str::to_owned));
        let cases = run.deep_profiles.iter().map(|deep| (&deep.variant, &deep.shape, &deep.outcome));
        let profiled = ProfiledCases::of(cases, &run.builds);
        let ownership = Ownership::Recorded(&profiled);
        let counted = ProfileCounters::read(&reports, plan, ownership, &required_metrics::read(&metrics, capability))?;
        let rows: Vec<DeepProfileCase> = run.deep_profiles.iter().flat_map(|deep| rows(run, plan, deep)).collect();
        let listings: Listings<'_> =
            run.deep_profiles.iter().map(|deep| ((deep.variant.clone(), deep.shape.clone()), deep)).collect();
        let observations = observations(&reports, (plan, &run.builds), &listings).map_err(|e| run.damaged(&e))?;
        let clocks = Clocks::read(&reports).map_err(|e| run.damaged(&e))?;
        let mut quantities = deep_quantities(&counted, &rows, &metrics, capability);
        add_sampled_facts(&mut quantities, &rows, &observations);
        Ok(Self { quantities, observations, clocks, problem: None })
    }

    /// Whether a deep profile has observations of the same variant and shape.
    pub fn observe(&self, other: &NcuObservations) -> bool {
        self.observations.iter().any(|own| (&own.variant, &own.shape) == (&other.variant, &other.shape))
    }
}

/// Adds the facts of the samples: of a case with one kernel, and of each launch of a case with several.
fn add_sampled_facts(quantities: &mut Quantities, rows: &[DeepProfileCase], observations: &[NcuObservations]) {
    let of_row = |row: &DeepProfileCase| -> Vec<&NcuObservations> {
        let is_of = |seen: &&NcuObservations| (&seen.variant, &seen.shape) == (&row.measured_as, &row.shape);
        observations.iter().filter(is_of).collect()
    };
    let names: BTreeSet<&str> = observations.iter().flat_map(|seen| &seen.facts).map(|(name, _)| *name).collect();
    for name in names {
        let fact = |seen: Option<&&NcuObservations>| {
            let known = seen.and_then(|seen| seen.facts.iter().find(|(fact, _)| *fact == name));
            known.map_or_else(|| Cell::Missing("its samples do not say it".into()), |(_, value)| Cell::finite(*value))
        };
        let seen: Vec<Vec<&NcuObservations>> = rows.iter().map(of_row).collect();
        let only = |seen: &Vec<&NcuObservations>| fact(seen.first().filter(|_| seen.len() == 1));
        quantities.set_column(name, seen.iter().map(only).collect());
        for (at, (row, seen)) in rows.iter().zip(&seen).enumerate() {
            let Some(kernels) = quantities.launches(&row.variant, &row.shape).cloned() else { continue };
            let of_kernel = |kernel: &Arc<str>| fact(seen.iter().find(|seen| *seen.kernel == **kernel));
            let steps: Vec<Cell> = kernels.iter().map(of_kernel).collect();
            quantities.set_steps(name, at, steps);
        }
    }
}

/// The variants that a deep profile represents: the launched one, and those that share its code.
fn rows(run: &Run, plan: &Plan, deep: &DeepProfile) -> Vec<DeepProfileCase> {
    let shared = plan.variants.iter().filter(|variant| run.measured_as(&variant.id) == &deep.variant);
    let row = |variant: &Variant| DeepProfileCase {
        variant: variant.id.clone(),
        shape: deep.shape.clone(),
        measured_as: deep.variant.clone(),
    };
    shared.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::metric::id;
    use ncugate_model::{ShapeName, VariantId};
    use std::path::Path;

    #[test]
    fn each_kernel_of_an_evaluation_has_observations_and_counters() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/histogram/recording");
        let run = Run::load(Path::new(folder)).unwrap();
        let deep = DeepProfiles::read(&run, &run.plan, Some(ComputeCapability::new(9, 0)));
        assert_eq!(deep.problem, None);
        let (variant, shape) = (VariantId("merge".into()), ShapeName("large".into()));
        let kernels: Vec<&str> = deep.observations.iter().map(|seen| seen.kernel.as_str()).collect();
        assert!(kernels[0].contains("count_blocks") && kernels[1].contains("merge_blocks"), "{kernels:?}");
        let launched = deep.quantities.launches(&variant, &shape).unwrap();
        assert!(launched.iter().zip(kernels).all(|(launched, seen)| **launched == *seen), "{launched:?}");
        let steps = deep.quantities.steps(&variant, &shape, &id::DURATION);
        assert_eq!(steps.len(), 2);
        // a table without deep profiles takes the counters of launches over
        let filled = Quantities::new([(variant.clone(), shape.clone())]).filled_from(&deep.quantities);
        assert_eq!(filled.steps(&variant, &shape, "stall_long_scoreboard").len(), 2);
        assert_eq!(filled.launches(&variant, &shape), Some(launched));
    }
}
