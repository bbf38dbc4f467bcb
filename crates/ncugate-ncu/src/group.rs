//! Plans the collection: groups of metrics that fit a single replay pass each, with one ncu process per group.
//!
//! With a single pass, ncu saves and restores nothing, so a launch costs a fifth of its cost in three passes. Which metrics fit
//! together is undocumented. A first guess by hardware unit is measured on one launch, split if it needs more than one pass,
//! and remembered in a [`PassBook`].

use super::pass_book::{PassBook, PassCount};
use super::unit::CounterUnit;
use std::collections::BTreeMap;

/// An ncu metric name, as requested.
pub type NcuMetric = String;

/// Maximum number of ncu starts for planning.
pub const PROBES: u32 = 8;
/// Planning stops joining groups after this many unions that do not fit one pass.
const FAILED_UNIONS: u32 = 2;

/// Costs in seconds, measured on an H200 with ncu 2025.3.1 and small kernels. They only decide which splits pay off.
mod cost {
    const START: f64 = 1.5;
    /// A launch in one pass.
    const SINGLE: f64 = 0.02;
    /// A launch in several passes: this once, plus `PASS` for each pass.
    const REPLAY: f64 = 0.01;
    const PASS: f64 = 0.03;

    /// An ncu process over `launches` launches with `passes` passes each.
    pub(super) fn process(launches: usize, passes: u32) -> f64 {
        let launch = if passes <= 1 { SINGLE } else { REPLAY + PASS * f64::from(passes) };
        START + launch * launches as f64
    }

    /// `processes` processes with a single pass each.
    pub(super) fn singles(launches: usize, processes: u32) -> f64 {
        f64::from(processes) * process(launches, 1)
    }
}

/// Metrics that one ncu process collects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Short name, for files.
    pub name: String,
    /// Metrics, sorted.
    pub metrics: Vec<NcuMetric>,
    /// Replay passes, if known.
    pub passes: Option<u32>,
}

impl Group {
    /// The metrics that hardware counts; they determine the number of passes.
    pub fn counted(&self) -> Vec<NcuMetric> {
        self.metrics.iter().filter(|metric| CounterUnit::of(metric) != CounterUnit::Attribute).cloned().collect()
    }

    /// Whether it is known to need more than one pass.
    pub fn replays(&self) -> bool {
        self.passes.is_some_and(|passes| passes > 1)
    }
}

/// Parameters of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Launches that every group will profile.
    pub launches: usize,
    /// Maximum number of ncu starts for measuring passes.
    pub probes: u32,
}

/// A set of metrics that becomes a group.
#[derive(Debug, Clone)]
struct Bundle {
    unit: CounterUnit,
    metrics: Vec<NcuMetric>,
    passes: Option<u32>,
}

/// Puts `metrics` into groups. `measure` profiles one launch with the given metrics and returns its replay passes. It is called
/// only for sets that `book` does not know, at most `effort.probes` times, and `book` stores every result. Every metric is in
/// exactly one group; the same book gives the same plan.
pub fn plan_groups<E>(
    metrics: &[NcuMetric],
    effort: Effort,
    measure: &mut dyn FnMut(&[NcuMetric]) -> Result<u32, E>,
    book: &mut PassBook,
) -> Result<Vec<Group>, E> {
    let mut sorted = metrics.to_vec();
    sorted.sort();
    sorted.dedup();
    let (attributes, counted): (Vec<_>, Vec<_>) =
        sorted.into_iter().partition(|m| CounterUnit::of(m) == CounterUnit::Attribute);
    let mut planner = Planner { book, measure, effort, spent: 0 };
    let mut bundles = planner.first_guess(counted);
    if planner.worth_finding_out() {
        bundles = planner.split(bundles)?;
        planner.join(&mut bundles)?;
    }
    Ok(named(bundles, attributes))
}

struct Planner<'a, E> {
    book: &'a mut PassBook,
    measure: &'a mut dyn FnMut(&[NcuMetric]) -> Result<u32, E>,
    effort: Effort,
    spent: u32,
}

impl<E> Planner<'_, E> {
    /// The most metrics that are known to fit one pass together, and one bundle per unit of the others; or one bundle in total
    /// if another start of ncu would cost more than replaying a few launches.
    fn first_guess(&self, counted: Vec<NcuMetric>) -> Vec<Bundle> {
        let mut units: BTreeMap<CounterUnit, Vec<NcuMetric>> = BTreeMap::new();
        for metric in &counted {
            units.entry(CounterUnit::of(metric)).or_default().push(metric.clone());
        }
        if units.len() > 1 && !self.worth_finding_out() {
            return vec![Bundle { unit: CounterUnit::Other, passes: self.remembered(&counted), metrics: counted }];
        }
        let mut bundles = Vec::new();
        let known = self.book.largest_fitting(&counted);
        if known.len() > 1 {
            units.values_mut().for_each(|metrics| metrics.retain(|metric| !known.contains(metric)));
            let metrics: Vec<NcuMetric> = known.into_iter().collect();
            let unit = metrics.iter().map(|metric| CounterUnit::of(metric)).min().unwrap_or(CounterUnit::Other);
            bundles.push(Bundle { unit, metrics, passes: None });
        }
        let others = units.into_iter().filter(|(_, metrics)| !metrics.is_empty());
        bundles.extend(others.map(|(unit, metrics)| Bundle { unit, metrics, passes: None }));
        bundles
    }

    /// With few launches, even three passes are cheaper than a second start.
    fn worth_finding_out(&self) -> bool {
        self.worth_splitting(3)
    }

    /// Splits each bundle that needs several passes, until it fits one pass, cannot be split, or a split does not pay off.
    fn split(&mut self, bundles: Vec<Bundle>) -> Result<Vec<Bundle>, E> {
        let mut waiting: Vec<Bundle> = bundles.into_iter().rev().collect();
        let mut settled = Vec::new();
        while let Some(mut bundle) = waiting.pop() {
            let whole = bundle.metrics.len() == 1 || !bundle.unit.divides();
            bundle.passes = if whole { self.remembered(&bundle.metrics) } else { self.passes(&bundle.metrics)? };
            match bundle.passes {
                Some(passes) if !whole && self.worth_splitting(passes) => {
                    let parts = parts_for(passes, bundle.metrics.len());
                    let size = bundle.metrics.len().div_ceil(parts);
                    waiting.extend(bundle.metrics.rchunks(size).map(|part| Bundle {
                        unit: bundle.unit,
                        metrics: part.to_vec(),
                        passes: None,
                    }));
                }
                Some(_) | None => settled.push(bundle),
            }
        }
        Ok(settled)
    }

    /// Joins pairs that fit one pass together, smallest first.
    fn join(&mut self, bundles: &mut Vec<Bundle>) -> Result<(), E> {
        while let Some((one, other)) = self.union_that_fits(bundles)? {
            let joined = bundles.remove(other);
            let into = &mut bundles[one];
            into.unit = into.unit.min(joined.unit);
            into.metrics.extend(joined.metrics);
            into.metrics.sort();
            into.passes = Some(1);
        }
        Ok(())
    }

    /// The smallest pair that fits one pass. Gives up after [`FAILED_UNIONS`] pairs that do not fit, measured now or earlier,
    /// so that a full book causes no measurement.
    fn union_that_fits(&mut self, bundles: &[Bundle]) -> Result<Option<(usize, usize)>, E> {
        let mut failed = 0;
        for (one, other) in pairs_by_size(bundles) {
            let union = [bundles[one].metrics.as_slice(), &bundles[other].metrics].concat();
            if matches!(self.book.passes(&union), PassCount::AtLeast(_)) {
                continue;
            }
            match self.passes(&union)? {
                Some(passes) if passes <= 1 => return Ok(Some((one, other))),
                Some(_) => failed += 1,
                None => return Ok(None),
            }
            if failed >= FAILED_UNIONS {
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn worth_splitting(&self, passes: u32) -> bool {
        let launches = self.effort.launches;
        passes > 1 && cost::singles(launches, (passes - 1).max(2)) < cost::process(launches, passes)
    }

    fn remembered(&self, metrics: &[NcuMetric]) -> Option<u32> {
        match self.book.passes(metrics) {
            PassCount::Measured(passes) | PassCount::AtLeast(passes) => Some(passes),
            PassCount::FitsOne => Some(1),
            PassCount::Unknown => None,
        }
    }

    /// From the book, or measured while the budget lasts.
    fn passes(&mut self, metrics: &[NcuMetric]) -> Result<Option<u32>, E> {
        if let Some(passes) = self.remembered(metrics) {
            return Ok(Some(passes));
        }
        if self.spent >= self.effort.probes {
            return Ok(None);
        }
        self.spent += 1;
        let passes = (self.measure)(metrics)?;
        self.book.note(metrics, passes);
        Ok(Some(passes))
    }
}

/// Pairs of bundles that could fit one pass, smallest union first.
fn pairs_by_size(bundles: &[Bundle]) -> Vec<(usize, usize)> {
    let joins =
        |at: &usize| bundles.get(*at).is_some_and(|b| b.unit.divides() && b.passes.is_none_or(|passes| passes <= 1));
    let mut pairs: Vec<(usize, usize)> = (0..bundles.len())
        .filter(joins)
        .flat_map(|one| (one + 1..bundles.len()).filter(joins).map(move |other| (one, other)))
        .collect();
    pairs.sort_by_key(|&(one, other)| bundles[one].metrics.len() + bundles[other].metrics.len());
    pairs
}

/// With several passes, ncu adds one extra pass.
fn parts_for(passes: u32, metrics: usize) -> usize {
    usize::try_from(passes.saturating_sub(1)).unwrap_or(metrics).clamp(2, metrics.max(2))
}

/// Names bundles, and adds the attributes to the first.
fn named(bundles: Vec<Bundle>, attributes: Vec<NcuMetric>) -> Vec<Group> {
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    let mut groups: Vec<Group> = bundles
        .into_iter()
        .map(|bundle| {
            let label = bundle.unit.label();
            let ordinal = count.entry(label).and_modify(|n| *n += 1).or_insert(1);
            let name = if *ordinal == 1 { label.to_owned() } else { format!("{label}{ordinal}") };
            Group { name, metrics: bundle.metrics, passes: bundle.passes }
        })
        .collect();
    match groups.first_mut() {
        Some(first) => {
            first.metrics.extend(attributes);
            first.metrics.sort();
        }
        None if attributes.is_empty() => {}
        None => groups.push(Group { name: "launch".to_owned(), metrics: attributes, passes: Some(0) }),
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::pass_book::tests::h200;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    /// A chip whose units hold a given number of counters per pass. Every metric takes one counter, and throughputs take five
    /// passes each.
    struct Chip {
        capacity: u32,
        starts: u32,
    }

    impl Chip {
        fn passes(&mut self, metrics: &[NcuMetric]) -> u32 {
            self.starts += 1;
            let mut counters: BTreeMap<CounterUnit, u32> = BTreeMap::new();
            let mut extra = 0;
            for metric in metrics {
                match CounterUnit::of(metric) {
                    CounterUnit::Attribute => {}
                    CounterUnit::Throughput => extra += 5,
                    CounterUnit::Sass | CounterUnit::Other => extra += 2,
                    CounterUnit::Stall => *counters.entry(CounterUnit::Core).or_default() += 2,
                    // A sum over all kinds of instructions of a pipe takes all counters.
                    unit if metric.contains("_type_") => *counters.entry(unit).or_default() += self.capacity,
                    unit @ (CounterUnit::Core | CounterUnit::L2 | CounterUnit::Dram) => {
                        *counters.entry(unit).or_default() += 1
                    }
                }
            }
            // Memory controllers cannot be counted together with other units.
            let apart = if counters.len() > 1 && counters.contains_key(&CounterUnit::Dram) { 1 } else { 0 };
            let predicted = counters.values().map(|n| n.div_ceil(self.capacity)).max().unwrap_or(0) + apart + extra;
            if predicted > 1 { predicted + 1 } else { predicted }
        }
    }

    fn plan(metrics: &[&str], launches: usize, chip: &mut Chip, book: &mut PassBook) -> Vec<Group> {
        let metrics: Vec<NcuMetric> = metrics.iter().map(|&m| m.to_owned()).collect();
        let effort = Effort { launches, probes: PROBES };
        plan_groups::<Infallible>(&metrics, effort, &mut |set| Ok(chip.passes(set)), book).unwrap()
    }

    const GATES: [&str; 10] = [
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "sm__maximum_warps_per_active_cycle_pct",
        "smsp__warps_eligible.avg.per_cycle_active",
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_tensor_op_gmma.sum",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        "launch__registers_per_thread",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "gpu__time_duration.sum",
        "dram__bytes.sum",
    ];

    #[test]
    fn the_gates_metrics_become_two_groups_of_one_pass_and_are_remembered() {
        let mut chip = Chip { capacity: 6, starts: 0 };
        let mut book = PassBook::unkept(h200());
        let groups = plan(&GATES, 90, &mut chip, &mut book);
        let shape: Vec<_> = groups.iter().map(|g| (g.name.as_str(), g.metrics.len(), g.passes)).collect();
        assert_eq!(shape, [("core", 8, Some(1)), ("dram", 2, Some(1))]);
        assert_eq!(chip.starts, 3);
        assert_eq!(plan(&GATES, 90, &mut chip, &mut book), groups);
        assert_eq!(chip.starts, 3, "a full book asks for nothing");
    }

    #[test]
    fn metrics_that_fit_one_pass_in_another_phase_stay_together() {
        let more = [
            "sm__pipe_tensor_type_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
            "smsp__inst_executed_op_ldsm.sum",
            "smsp__sass_inst_executed_op_shared_ld.sum",
        ];
        let all: Vec<&str> = GATES.into_iter().chain(more).collect();
        let (mut chip, mut book) = (Chip { capacity: 6, starts: 0 }, PassBook::unkept(h200()));
        let alone = plan(&all, 90, &mut chip, &mut PassBook::unkept(h200()));
        let known = plan(&GATES, 90, &mut chip, &mut book);
        let joined = plan(&all, 90, &mut chip, &mut book);
        assert_eq!(joined[0].counted(), known[0].counted());
        assert!(joined.len() < alone.len(), "{joined:?} {alone:?}");
    }

    #[test]
    fn groups_of_several_passes_are_split_only_where_that_saves_time() {
        let mut chip = Chip { capacity: 3, starts: 0 };
        let groups = plan(&GATES, 90, &mut chip, &mut PassBook::unkept(h200()));
        assert!(groups.iter().all(|g| g.passes == Some(1)), "{groups:?}");
        assert_eq!(groups.len(), 3);
        let mut chip = Chip { capacity: 3, starts: 0 };
        let few = plan(&GATES, 2, &mut chip, &mut PassBook::unkept(h200()));
        assert_eq!((few.len(), chip.starts), (1, 0));
        assert_eq!(few[0].metrics.len(), GATES.len());
    }

    #[test]
    fn attributes_alone_make_a_group_and_nothing_makes_none() {
        let mut chip = Chip { capacity: 4, starts: 0 };
        let mut book = PassBook::unkept(h200());
        let groups = plan(&["launch__registers_per_thread", "launch__grid_size"], 90, &mut chip, &mut book);
        assert_eq!((groups[0].name.as_str(), groups[0].passes, chip.starts), ("launch", Some(0), 0));
        assert!(groups[0].counted().is_empty());
        assert_eq!(plan(&[], 90, &mut chip, &mut book), []);
    }

    #[test]
    fn groups_that_cannot_be_split_are_not_probed() {
        let mut chip = Chip { capacity: 4, starts: 0 };
        let metrics = [
            "sm__throughput.avg.pct_of_peak_sustained_elapsed",
            "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
            "smsp__sass_inst_executed_op_shared_ld.sum",
            "sass__inst_executed_register_spilling",
            "gpu__time_duration.sum",
        ];
        let groups = plan(&metrics, 90, &mut chip, &mut PassBook::unkept(h200()));
        let names: Vec<_> = groups.iter().map(|g| (g.name.as_str(), g.metrics.len())).collect();
        assert_eq!(names, [("core", 1), ("throughput", 2), ("sass", 2)]);
        assert_eq!(chip.starts, 0);
    }

    #[test]
    fn passes_of_a_real_run_change_the_next_plan() {
        let mut chip = Chip { capacity: 3, starts: 0 };
        let mut book = PassBook::unkept(h200());
        let metrics: Vec<NcuMetric> = GATES.iter().map(|&m| m.to_owned()).collect();
        let blind = Effort { launches: 90, probes: 0 };
        let measure = &mut |_: &[NcuMetric]| -> Result<u32, Infallible> { unreachable!("no budget") };
        let first = plan_groups(&metrics, blind, measure, &mut book).unwrap();
        assert!(first.iter().all(|g| g.passes.is_none()));
        for group in &first {
            book.note(&group.counted(), chip.passes(&group.counted()));
        }
        let second = plan_groups(&metrics, blind, measure, &mut book).unwrap();
        assert!(second.len() > first.len(), "{second:?}");
    }

    #[test]
    fn a_failing_measurement_stops_planning() {
        let metrics = ["smsp__inst_executed.sum", "sm__cycles_active.avg"].map(String::from);
        let effort = Effort { launches: 90, probes: 8 };
        let mut book = PassBook::unkept(h200());
        assert_eq!(plan_groups(&metrics, effort, &mut |_| Err("gone"), &mut book), Err("gone"));
        assert!(book.is_empty());
    }

    fn any_metric() -> impl Strategy<Value = String> {
        let stem = prop::sample::select(vec![
            "sm__c",
            "smsp__c",
            "l1tex__c",
            "lts__c",
            "dram__c",
            "launch__c",
            "smsp__issue_stalled_c",
            "sm__throughput_c",
            "smsp__sass_c",
            "regex:c",
        ]);
        (stem, 0..40_u32).prop_map(|(stem, n)| format!("{stem}{n}.sum"))
    }

    proptest! {
        #[test]
        fn no_metric_is_lost_and_no_budget_exceeded(
            metrics in prop::collection::vec(any_metric(), 0..80),
            capacity in 1..9_u32, launches in 0..300_usize, probes in 0..10_u32,
        ) {
            let mut chip = Chip { capacity, starts: 0 };
            let mut book = PassBook::unkept(h200());
            let effort = Effort { launches, probes };
            let mut last = None;
            for _ in 0..3 {
                chip.starts = 0;
                let groups = plan_groups::<Infallible>(&metrics, effort, &mut |set| Ok(chip.passes(set)), &mut book).unwrap();
                prop_assert!(chip.starts <= probes);
                let planned: Vec<&String> = groups.iter().flat_map(|g| &g.metrics).collect();
                let distinct: BTreeSet<&String> = planned.iter().copied().collect();
                prop_assert_eq!(planned.len(), distinct.len());
                prop_assert_eq!(distinct, metrics.iter().collect::<BTreeSet<_>>());
                let names: BTreeSet<&String> = groups.iter().map(|g| &g.name).collect();
                prop_assert_eq!(names.len(), groups.len());
                for group in groups.iter().filter(|g| g.passes == Some(1)) {
                    prop_assert!(chip.passes(&group.counted()) <= 1);
                    chip.starts -= 1;
                }
                last = Some(groups);
            }
            prop_assert!(last.is_some());
        }
    }
}
