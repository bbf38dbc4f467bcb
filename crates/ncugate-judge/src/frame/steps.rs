//! Matches profiled launches with the steps of a variant's program: by NVTX range, and within a range by order and
//! name.

use ncugate_model::{CaseId, EntrySymbols, KernelName, ShapeName, VariantId, demangled};
use ncugate_phase::plan::{Method, Plan, Variant};
use std::collections::HashMap;

/// Maximum number of launches listed for one range.
const NAMED: usize = 6;

/// A launch in a report.
#[derive(Debug, Clone)]
pub(super) struct SeenLaunch<'a> {
    pub report: &'a str,
    /// The case of its range, if the range names one.
    pub case: Option<CaseId>,
    /// Function name of the kernel.
    pub kernel: &'a str,
    /// Symbol of the kernel, if the report has it.
    pub symbol: Option<&'a str>,
    /// Demangled name of the kernel.
    pub demangled: &'a str,
}

/// A kernel that a program launches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedKernel {
    name: KernelName,
    /// Its symbol, if the compiler gave it one.
    symbol: Option<String>,
}

impl ExpectedKernel {
    /// The kernel of an entry; `symbols` are those of its variant.
    #[must_use]
    pub fn of(entry: &str, symbols: Option<&EntrySymbols>) -> Self {
        let symbol = symbols.and_then(|symbols| symbols.0.get(entry)).cloned();
        Self { name: KernelName::parse(entry), symbol }
    }

    /// Whether a launch is one of this kernel: by the symbols, if both are known, else by the names.
    #[must_use]
    pub fn is_launched(&self, symbol: Option<&str>, kernel: &str, demangled: &str) -> bool {
        match (&self.symbol, symbol) {
            (Some(own), Some(seen)) => own == seen,
            _ => self.name.launched_as(kernel, demangled),
        }
    }
}

/// A profiled launch matched with a launch of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnedLaunch {
    pub case: CaseId,
    /// Index among the launches of its evaluation, from 0.
    pub step: u32,
}

/// Launches in the range of a case that do not match the plan. Their counters are rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    pub variant: VariantId,
    pub shape: ShapeName,
    /// The planned kernels, in order.
    pub planned: Vec<String>,
    /// The first kernels that ncu saw in the range, in order.
    pub seen: Vec<String>,
}

impl Misfit {
    /// Describes planned and seen kernels.
    #[must_use]
    pub fn words(&self) -> String {
        let list = |names: &[String]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        format!("ncu saw {} in the range, but the plan launches {}", list(&self.seen), list(&self.planned))
    }
}

/// The launches expected in the ranges of a variant.
enum ExpectedLaunches {
    /// The launches of its program, in order.
    Launches(Vec<ExpectedKernel>),
    /// Any launches, which are one evaluation together.
    Any,
    /// Any launches, each a separate evaluation.
    Single,
    Matching(regex::Regex),
    /// No launch: the filter does not compile.
    Nothing,
}

impl ExpectedLaunches {
    fn of(method: &Method, shape: &ShapeName, symbols: Option<&EntrySymbols>) -> Self {
        match method {
            Method::Kernel(kernel) => {
                let entries = kernel.launched_entries(shape).into_iter();
                Self::Launches(entries.map(|entry| ExpectedKernel::of(entry, symbols)).collect())
            }
            Method::Captured(_) => Self::Single,
            Method::Function(function) => Self::matching(function.kernel_filter.as_deref()),
            Method::Command(command) => Self::matching(command.kernel_filter.as_deref()),
        }
    }

    fn matching(pattern: Option<&str>) -> Self {
        match pattern.map(regex::Regex::new) {
            None => Self::Any,
            Some(Ok(filter)) => Self::Matching(filter),
            Some(Err(_)) => Self::Nothing,
        }
    }
}

/// The planned launch of each profiled launch, in order; `None` for launches outside the plan. Also returns the
/// mismatched launches in the ranges of planned kernels.
pub(super) fn owned(
    plan: &Plan,
    symbols: &HashMap<VariantId, EntrySymbols>,
    launches: &[SeenLaunch<'_>],
) -> (Vec<Option<OwnedLaunch>>, Vec<Misfit>) {
    let variants: HashMap<&VariantId, &Variant> = plan.variants.iter().map(|variant| (&variant.id, variant)).collect();
    let mut expectations: HashMap<&CaseId, ExpectedLaunches> = HashMap::new();
    let mut ranges: indexmap::IndexMap<(&str, &CaseId), Vec<usize>> = indexmap::IndexMap::new();
    for (row, launch) in launches.iter().enumerate() {
        if let Some(case) = &launch.case {
            ranges.entry((launch.report, case)).or_default().push(row);
        }
    }
    let mut owned: Vec<Option<OwnedLaunch>> = vec![None; launches.len()];
    let mut misfits = Vec::new();
    for ((_, case), rows) in ranges {
        let Some(variant) = variants.get(&case.0) else { continue };
        let of_case = || ExpectedLaunches::of(&variant.method, &case.1, symbols.get(&variant.id));
        let expected = expectations.entry(case).or_insert_with(of_case);
        let steps = match expected {
            ExpectedLaunches::Nothing => Vec::new(),
            ExpectedLaunches::Single => rows.iter().map(|row| (*row, 0)).collect(),
            ExpectedLaunches::Any => numbered(rows.iter().copied()),
            ExpectedLaunches::Matching(filter) => {
                numbered(rows.iter().copied().filter(|row| filter.is_match(launches[*row].kernel)))
            }
            ExpectedLaunches::Launches(names) => {
                let steps = of_program(names, launches, &rows);
                if steps.len() < rows.len() {
                    misfits.push(misfit(plan, case, launches, &rows));
                }
                steps
            }
        };
        for (row, step) in steps {
            owned[row] = Some(OwnedLaunch { case: case.clone(), step });
        }
    }
    misfits.dedup();
    (owned, misfits)
}

fn numbered(rows: impl Iterator<Item = usize>) -> Vec<(usize, u32)> {
    rows.zip(0..).collect()
}

/// The rows that are launches of a program, with their step numbers. Other launches may lie between them: a driver
/// may fill memory with its own kernel. If the launches are in another order or evaluations are incomplete, the
/// assignment is ambiguous and no launch counts.
fn of_program(names: &[ExpectedKernel], launches: &[SeenLaunch<'_>], rows: &[usize]) -> Vec<(usize, u32)> {
    let fits = |name: &ExpectedKernel, row: usize| {
        let launch = &launches[row];
        name.is_launched(launch.symbol, launch.kernel, launch.demangled)
    };
    let own: Vec<usize> = rows.iter().copied().filter(|row| names.iter().any(|name| fits(name, *row))).collect();
    let in_order = || own.iter().enumerate().all(|(at, row)| fits(&names[at % names.len()], *row));
    if names.is_empty() || !own.len().is_multiple_of(names.len()) || (names.len() > 1 && !in_order()) {
        return Vec::new();
    }
    own.into_iter().enumerate().map(|(at, row)| (row, (at % names.len()) as u32)).collect()
}

fn misfit(plan: &Plan, case: &CaseId, launches: &[SeenLaunch<'_>], rows: &[usize]) -> Misfit {
    let planned = plan.variant(&case.0).map(|variant| match &variant.method {
        Method::Kernel(kernel) => kernel.launched_entries(&case.1).into_iter().map(demangled).collect(),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => Vec::new(),
    });
    let seen = rows.iter().take(NAMED).map(|row| launches[*row].demangled.to_owned());
    Misfit {
        variant: case.0.clone(),
        shape: case.1.clone(),
        planned: planned.unwrap_or_default(),
        seen: seen.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures as fixtures;
    use ncugate_phase::plan::Step;

    /// A plan of `a`, whose program launches these kernels in order, and `b`, which launches `copy`.
    fn plan(entries: &[&str]) -> Plan {
        let mut plan = fixtures::plan(&["a", "b"]);
        if let Method::Kernel(kernel) = &mut plan.variants[0].method {
            for program in &mut kernel.programs {
                let only = program.single().unwrap().clone();
                let launch = |entry: &&str| {
                    Step::Launch(ncugate_phase::plan::KernelLaunch { entry: (*entry).to_owned(), ..only.clone() })
                };
                program.steps = entries.iter().map(launch).collect();
            }
        }
        plan
    }

    fn steps(entries: &[&str], seen: &[&str]) -> (Vec<Option<u32>>, Vec<Misfit>) {
        let case = Some((VariantId("a".into()), ShapeName("l".into())));
        let launch = |name| SeenLaunch { report: "r", case: case.clone(), kernel: name, symbol: None, demangled: name };
        let launches: Vec<SeenLaunch<'_>> = seen.iter().copied().map(launch).collect();
        let (owned, misfits) = owned(&plan(entries), &HashMap::new(), &launches);
        (owned.into_iter().map(|owned| owned.map(|owned| owned.step)).collect(), misfits)
    }

    #[test]
    fn launches_are_the_steps_that_their_order_and_names_say() {
        let (found, misfits) = steps(&["partial", "sum", "sum"], &["partial", "sum", "sum", "partial", "sum", "sum"]);
        assert_eq!(found, [0, 1, 2, 0, 1, 2].map(Some));
        assert_eq!(misfits, []);
    }

    #[test]
    fn a_kernel_of_the_driver_between_them_does_not_count_and_is_named() {
        let (found, misfits) = steps(&["partial", "sum"], &["memset", "partial", "sum"]);
        assert_eq!(found, [None, Some(0), Some(1)]);
        let words = "ncu saw 'memset', 'partial', 'sum' in the range, but the plan launches 'partial', 'sum'";
        assert_eq!(misfits[0].words(), words);
    }

    #[test]
    fn launches_in_another_order_or_without_an_end_are_none_of_the_program() {
        for seen in [&["sum", "partial"][..], &["partial"], &["partial", "sum", "partial"], &["other"]] {
            let (found, misfits) = steps(&["partial", "sum"], seen);
            assert!(found.iter().all(Option::is_none), "{seen:?}");
            assert_eq!(misfits.len(), 1, "{seen:?}");
        }
        assert_eq!(steps(&["copy"], &["copy", "other", "copy"]).0, [Some(0), None, Some(0)]);
    }
}
