//! The close looks of a run, read back. A look that cannot be read is said in the report; it changes no verdict.

use super::CommandError;
use super::judge::open_reports;
use crate::campaign::wanted;
use crate::explain::{self, Clocks, Listings, Said};
use crate::frame::{CloseRow, Counted, Ownership, Quantities, close_quantities};
use crate::model::ComputeCapability;
use crate::model::DeepProfile;
use crate::ncu_rep::ReportError;
use crate::plan::{Plan, Variant};
use crate::report;
use crate::store::{Run, StoreError};

/// What close looks gave.
#[derive(Debug, Default)]
pub struct Closely {
    /// What was counted.
    pub quantities: Quantities,
    /// What ncu's rules and sampler say.
    pub said: Vec<Said>,
    /// The clocks of their launches.
    pub clocks: Clocks,
    problem: Option<String>,
}

impl Closely {
    /// Reads the reports of a run's close looks.
    pub fn read(run: &Run, plan: &Plan, capability: Option<ComputeCapability>) -> Self {
        if run.close_looks.is_empty() {
            return Self::default();
        }
        Self::readable(run, plan, capability)
            .unwrap_or_else(|error| Self { problem: Some(error.to_string()), ..Self::default() })
    }

    fn readable(run: &Run, plan: &Plan, capability: Option<ComputeCapability>) -> Result<Self, CommandError> {
        let reports = open_reports(run.close_reports())?;
        let metrics = wanted::close_metrics();
        let counted = Counted::read(&reports, plan, Ownership::Range, &wanted::read(&metrics, capability))?;
        let rows: Vec<CloseRow> = run.close_looks.iter().flat_map(|look| rows(run, plan, look)).collect();
        let listings: Listings<'_> =
            run.close_looks.iter().map(|l| ((l.variant.clone(), l.shape.clone()), &l.listing)).collect();
        let damaged = |e: ReportError| StoreError::Report { path: run.folder.join("reports"), reason: e.to_string() };
        let said = explain::said(&reports, plan, &listings).map_err(damaged)?;
        let clocks = Clocks::read(&reports).map_err(damaged)?;
        Ok(Self { quantities: close_quantities(&counted, &rows, &metrics, capability), said, clocks, problem: None })
    }

    /// Whether a close look says something of the same variant and shape.
    pub fn says_of(&self, other: &Said) -> bool {
        self.said.iter().any(|said| (&said.variant, &said.shape) == (&other.variant, &other.shape))
    }

    /// What a report is built from.
    pub fn inputs<'a>(&'a self, run: &'a Run) -> report::DeepProfiles<'a> {
        report::DeepProfiles {
            profiles: &run.close_looks,
            quantities: &self.quantities,
            problem: self.problem.as_deref(),
        }
    }
}

/// The variants that a look stands for: the one that was launched, and those that share its code.
fn rows(run: &Run, plan: &Plan, look: &DeepProfile) -> Vec<CloseRow> {
    let shared = plan.variants.iter().filter(|variant| run.measured_as(&variant.id) == &look.variant);
    let row = |variant: &Variant| CloseRow {
        variant: variant.id.clone(),
        shape: look.shape.clone(),
        measured_as: look.variant.clone(),
    };
    shared.map(row).collect()
}
