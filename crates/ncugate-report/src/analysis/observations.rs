//! Observations of Nsight Compute on the variants of a run.

use indexmap::IndexMap;
use ncu_explain::{NcuObservations, SampledLaunch};
use ncu_rep::{Report, ReportError};
use ncugate_judge::frame::launches::nvtx_text;
use ncugate_judge::frame::{ExpectedKernel, cases_of};
use ncugate_model::{BuildOutcome, BuildRecord, DeepProfile, ShapeName, VariantId};
use ncugate_phase::plan::{Method, Plan, Variant};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Deep profiles of the run, which hold listings, by variant and shape.
pub type Listings<'a> = HashMap<(VariantId, ShapeName), &'a DeepProfile>;

/// All observations in the reports on variants of the plan. Of several launches of a kernel, the one with the most
/// samples is used, else the first with any observation. If a case has several kernels, the one with the most samples
/// comes first. Without a stored listing for a kernel, its lines come from the report.
///
/// # Errors
/// A damaged report.
pub fn observations(
    reports: &[(String, Report)],
    (plan, builds): (&Plan, &[BuildRecord]),
    kept: &Listings<'_>,
) -> Result<Vec<NcuObservations>, ReportError> {
    let symbols = |id: &VariantId| {
        builds.iter().find(|build| &build.variant == id).and_then(|build| match &build.outcome {
            BuildOutcome::Built { symbols, .. } => Some(symbols),
            BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
        })
    };
    let expected = |variant: &Variant| match &variant.method {
        Method::Kernel(kernel) => {
            let symbols = symbols(&variant.id);
            Some(kernel.entries().into_iter().map(|entry| ExpectedKernel::of(entry, symbols)).collect())
        }
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    };
    let entries: HashMap<&VariantId, Option<Vec<ExpectedKernel>>> =
        plan.variants.iter().map(|variant| (&variant.id, expected(variant))).collect();
    let mut found: IndexMap<(VariantId, ShapeName), IndexMap<String, SampledLaunch<'_>>> = IndexMap::new();
    for (report, launch) in reports.iter().flat_map(|(_, report)| report.launches().map(move |l| (report, l))) {
        let ranges = nvtx_text(&launch.nvtx()?);
        let planned = cases_of(&ranges).find_map(|case| Some((entries.get(&case.0)?, case)));
        let Some((entry, case)) = planned else { continue };
        let (symbol, kernel, demangled) = (launch.mangled_name(), launch.kernel_name(), launch.demangled_name());
        let symbol = (!symbol.is_empty()).then_some(symbol.as_ref());
        let fits = |expected: &ExpectedKernel| expected.is_launched(symbol, &kernel, &demangled);
        if entry.as_ref().is_some_and(|kernels| !kernels.iter().any(fits)) {
            continue;
        }
        let sampled = SampledLaunch::of(report, launch)?;
        if sampled.is_empty() {
            continue;
        }
        let kernels = found.entry(case).or_default();
        let kernel = sampled.kernel();
        if kernels.get(&kernel).is_none_or(|seen| sampled.samples() > seen.samples()) {
            kernels.insert(kernel, sampled);
        }
    }
    let mut observations = Vec::new();
    for (case, mut kernels) in found {
        kernels.sort_by_key(|_, launch| Reverse(launch.samples()));
        for (at, (kernel, launch)) in kernels.into_iter().enumerate() {
            let listing = kept.get(&case).and_then(|deep| match at {
                0 => Some(&deep.listing),
                _ => deep.other_listings.get(&kernel),
            });
            observations.push(launch.observations(case.clone(), listing)?);
        }
    }
    Ok(observations)
}
