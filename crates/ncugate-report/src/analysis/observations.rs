//! Observations of Nsight Compute on the variants of a run.

use indexmap::IndexMap;
use ncu_explain::{NcuObservations, SampledLaunch, kernel_of};
use ncu_rep::{Launch, Report, ReportError};
use ncugate_judge::frame::{ExpectedKernel, cases_of};
use ncugate_model::{BuildOutcome, BuildRecord, DeepProfile, EntrySymbols, ShapeName, VariantId, nvtx_text};
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
    let symbols: HashMap<&VariantId, &EntrySymbols> = builds.iter().filter_map(symbols).collect();
    let variants: HashMap<&VariantId, &Variant> = plan.variants.iter().map(|variant| (&variant.id, variant)).collect();
    let mut found: IndexMap<(VariantId, ShapeName), IndexMap<String, SampledLaunch<'_>>> = IndexMap::new();
    for (report, launch) in reports.iter().flat_map(|(_, report)| report.launches().map(move |l| (report, l))) {
        let ranges = nvtx_text(&launch.nvtx()?);
        let planned = cases_of(&ranges).find_map(|case| Some((variants.get(&case.0)?, case)));
        let Some((variant, case)) = planned else { continue };
        if !is_launched(variant, symbols.get(&case.0).copied(), &launch) {
            continue;
        }
        let sampled = SampledLaunch::of(report, launch)?;
        if sampled.is_empty() {
            continue;
        }
        let (kernels, kernel) = (found.entry(case).or_default(), kernel_of(&launch));
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

fn symbols(build: &BuildRecord) -> Option<(&VariantId, &EntrySymbols)> {
    match &build.outcome {
        BuildOutcome::Built { symbols, .. } => Some((&build.variant, symbols)),
        BuildOutcome::Failed { .. } | BuildOutcome::Refused { .. } | BuildOutcome::NotNeeded => None,
    }
}

/// Whether a launch in the range of a variant is one of its kernels; any is, if the plan names none.
fn is_launched(variant: &Variant, symbols: Option<&EntrySymbols>, launch: &Launch<'_>) -> bool {
    let Method::Kernel(kernel) = &variant.method else { return true };
    let (symbol, name, demangled) = (launch.mangled_name(), launch.kernel_name(), launch.demangled_name());
    let symbol = (!symbol.is_empty()).then_some(symbol.as_ref());
    let fits = |entry| ExpectedKernel::of(entry, symbols).is_launched(symbol, &name, &demangled);
    kernel.entries().into_iter().any(fits)
}
