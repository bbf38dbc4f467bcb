//! Consistency check of a report from another program: finds counters that cannot belong to one launch, and durations
//! without a second clock.
//!
//! Such a report has no seal, but changing one number in it contradicts others. The duration is the number that only
//! cycles and their frequency repeat, so that without these it can be changed unnoticed.

use crate::frame::CapturedVariants;
use crate::frame::launches::FrameError;
use ncu_rep::{Launch, Report, ReportError};
use ncugate_model::number::short;
use ncugate_model::{ChipFacts, LaunchMetrics, VariantId};
use ncugate_phase::plan::Plan;
use std::collections::HashMap;

/// ncu's name for the duration of a launch, without the suffix for combining instances.
const DURATION: &str = "gpu__time_duration";
/// The order in which its roll-ups are read; all are equal, because it has one instance.
const ROLLUPS: [&str; 4] = ["sum", "max", "avg", "min"];
/// Two times of one launch may differ by this factor. In the reports in `tests/data` and `profiles`, cycles over their
/// frequency and counts over their rates differ from the duration by at most 1.014.
const APART: f64 = 1.05;
/// Nanoseconds by which two replay passes of a short launch differ too; 75 in `tests/data/source.ncu-rep.zst`.
const BETWEEN_PASSES: f64 = 100.0;
/// Minimum duration of a launch in nanoseconds. An empty kernel takes about a microsecond; the shortest launch in
/// `tests/data` and `profiles` takes 1,792.
const LEAST: f64 = 500.0;
/// Units whose elapsed cycles and their frequency are a second clock.
const CLOCKED: [&str; 3] = ["gpc", "sm", "smsp"];
/// What to collect for a second clock. `--set basic` includes it.
const SECOND_CLOCK: &str = "gpc__cycles_elapsed.max,gpc__cycles_elapsed.avg.per_second";
/// Relative rounding error when instances are added up; otherwise the sum is exact.
const ROUNDING: f64 = 1e-6;

/// What is wrong with the reports of each variant; the first reason counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReportFaults {
    /// Two roll-ups of a counter contradict each other.
    pub rollups: HashMap<VariantId, String>,
    /// The duration contradicts other counters.
    pub times: HashMap<VariantId, String>,
    /// No second clock confirms the duration.
    pub unclocked: HashMap<VariantId, String>,
}

/// A fault of a launch.
#[derive(Debug, Clone, PartialEq)]
enum Fault {
    Rollups(String),
    Times(String),
    Unclocked,
}

impl ReportFaults {
    /// The faults of the launches that belong to variants of the plan.
    ///
    /// # Errors
    /// A report is damaged.
    pub fn of(plan: &Plan, reports: &[(String, Report)]) -> Result<Self, FrameError> {
        let patterns = CapturedVariants::of(plan);
        let mut found = Self::default();
        for (name, report) in reports {
            let damaged = |source| FrameError::Report { report: name.clone(), source };
            for launch in report.launches() {
                let id = launch.id();
                let owners = patterns.owners_of(name, &launch).map_err(damaged)?;
                if owners.is_empty() {
                    continue;
                }
                let Some(fault) = fault(&launch).map_err(damaged)? else { continue };
                let contradicts = |reason| format!("launch {id} of {name} contradicts itself: {reason}");
                let (list, reason) = match fault {
                    Fault::Rollups(reason) => (&mut found.rollups, contradicts(reason)),
                    Fault::Times(reason) => (&mut found.times, contradicts(reason)),
                    Fault::Unclocked => (
                        &mut found.unclocked,
                        format!(
                            "no second clock confirms launch {id} of {name}: profile with `--metrics {SECOND_CLOCK}` too, \
                             or add --assume unedited"
                        ),
                    ),
                };
                for owner in owners {
                    list.entry(owner.clone()).or_insert_with(|| reason.clone());
                }
            }
        }
        Ok(found)
    }
}

/// The gravest fault of a launch.
fn fault(launch: &Launch<'_>) -> Result<Option<Fault>, ReportError> {
    let counters = LaunchMetrics::of(launch)?;
    let chip = ChipFacts::of(launch)?;
    let read = |name: &str| counters.get(name);
    let mut names: Vec<&str> = counters.counters().map(|(name, _)| name).collect();
    names.sort_unstable();
    Ok(fault_of(&names, &read, &chip))
}

fn fault_of(names: &[&str], read: Read<'_>, chip: &ChipFacts) -> Option<Fault> {
    let rollups = instances(names, read).map(Fault::Rollups);
    let is_unclocked = || duration(read).is_some() && second_clocks(read).next().is_none();
    rollups
        .or_else(|| times(names, read, chip).map(Fault::Times))
        .or_else(|| is_unclocked().then_some(Fault::Unclocked))
}

/// The duration in nanoseconds, and the roll-up that gives it.
fn duration(read: Read<'_>) -> Option<(String, f64)> {
    ROLLUPS
        .iter()
        .map(|rollup| format!("{DURATION}.{rollup}"))
        .find_map(|name| Some((read(&name)?, name)))
        .map(|(ns, name)| (name, ns))
}

/// Elapsed cycles over their frequency, in seconds, with the name of the cycles.
fn second_clocks(read: Read<'_>) -> impl Iterator<Item = (String, f64)> + '_ {
    let units = CLOCKED.iter().flat_map(|unit| ["max", "avg"].map(|rollup| (unit, rollup)));
    units.filter_map(move |(unit, rollup)| {
        let name = format!("{unit}__cycles_elapsed.{rollup}");
        let cycles = read(&name).filter(|cycles| *cycles > 0.0)?;
        let hz = read(&format!("{unit}__cycles_elapsed.avg.per_second")).filter(|hz| *hz > 0.0)?;
        Some((name, cycles / hz))
    })
}

type Read<'r> = &'r dyn Fn(&str) -> Option<f64>;

/// Checks the order of minimum, mean, maximum and sum over the instances of a counter. For the duration, which has
/// one instance, all must be equal.
fn instances(names: &[&str], read: Read<'_>) -> Option<String> {
    let is_less = |a: f64, b: f64| a <= b + ROUNDING * a.abs().max(b.abs());
    for name in names.iter().filter_map(|name| name.strip_suffix(".sum")) {
        let of = |rollup: &str| read(&format!("{name}.{rollup}")).map(|value| (rollup.to_owned(), value));
        let ordered: Vec<(String, f64)> = ["min", "avg", "max", "sum"].into_iter().filter_map(of).collect();
        if ordered.iter().any(|(_, value)| *value < 0.0) {
            continue;
        }
        for pair in ordered.windows(2) {
            let [(one, less), (other, more)] = pair else { continue };
            let fits = is_less(*less, *more) && (name != DURATION || is_less(*more, *less));
            if !fits {
                return Some(format!("{name}.{one} is {} and {name}.{other} is {}", short(*less), short(*more)));
            }
        }
    }
    None
}

/// Compares the duration with the shortest launch, with per-second rates, with cycles divided by the clock, and with bytes
/// divided by the DRAM peak.
fn times(names: &[&str], read: Read<'_>, chip: &ChipFacts) -> Option<String> {
    let (rollup, duration) = duration(read)?;
    let seconds = duration * 1e-9;
    let apart = |other: f64| other > APART * seconds || seconds > APART * other;
    let against = |what: String| Some(format!("{rollup} is {} ns and {what}", short(duration)));
    if duration < LEAST {
        return against(format!("no launch takes less than {} ns", short(LEAST)));
    }
    if let Some((name, other)) = second_clocks(read).find(|(_, other)| apart(*other)) {
        return against(format!("{name} by its frequency took {} ns", short(other * 1e9)));
    }
    for name in names {
        if let Some(count) = name.strip_suffix(".per_second").and_then(|counted| Some((counted, read(counted)?))) {
            let rate = read(name).filter(|rate| *rate > 0.0 && count.1 > 0.0);
            if let Some(other) = rate.map(|rate| count.1 / rate).filter(|other| apart(*other)) {
                return against(format!("{} by {name} it took {} ns", short(count.1), short(other * 1e9)));
            }
        }
    }
    let of_sm = |name: &&&str| {
        let cycles = ["cycles_elapsed.max", "cycles_elapsed.avg", "cycles_active.max", "cycles_active.avg"];
        name.split_once("__").is_some_and(|(unit, rest)| CLOCKED.contains(&unit) && cycles.contains(&rest))
    };
    for name in names.iter().filter(of_sm) {
        let least = read(name).zip(chip.sm_hz).map(|(cycles, hz)| cycles / hz);
        if let Some(least) = least.filter(|least| *least > APART * seconds + BETWEEN_PASSES * 1e-9) {
            return against(format!("{name} takes {} ns at the highest clock", short(least * 1e9)));
        }
    }
    let least = read("dram__bytes.sum").zip(chip.dram_bytes_per_second()).map(|(bytes, peak)| bytes / peak);
    let least = least.filter(|least| *least > APART * seconds)?;
    against(format!("dram__bytes.sum takes {} ns at the peak of DRAM", short(least * 1e9)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::at_root;
    use std::path::Path;

    const CHIP: ChipFacts = ChipFacts {
        l2_bytes: None,
        memory_hz: Some(3.2e9),
        bus_bits: Some(6016.0),
        sm_hz: Some(1.98e9),
        sms: None,
        capability: None,
    };

    fn of(counters: &[(&str, f64)]) -> Option<Fault> {
        let mut names: Vec<&str> = counters.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        let read = |name: &str| counters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        fault_of(&names, &read, &CHIP)
    }

    #[test]
    fn a_duration_that_other_counters_contradict_is_found() {
        let with = |more: &[(&'static str, f64)]| of(&[&[("gpu__time_duration.sum", 582.4)][..], more].concat());
        for (more, words) in [
            (vec![("gpu__time_duration.avg", 5824.0)], "gpu__time_duration.avg is 5,824"),
            (vec![("gpu__time_duration.max", 5824.0)], "gpu__time_duration.max is 5,824"),
            (vec![("lts__t_sectors.sum", 5.0), ("lts__t_sectors.max", 9.0)], "lts__t_sectors.max is 9"),
        ] {
            let found = with(&more);
            assert!(matches!(&found, Some(Fault::Rollups(why)) if why.contains(words)), "{words}: {found:?}");
        }
        for (more, words) in [
            (vec![("gpc__cycles_elapsed.max", 9000.0)], "gpc__cycles_elapsed.max takes 4,545 ns"),
            (vec![("sm__cycles_elapsed.avg", 9e3), ("sm__cycles_elapsed.avg.per_second", 1.5e9)], "took 6,000 ns"),
            (vec![("gpc__cycles_elapsed.max", 9e2), ("gpc__cycles_elapsed.avg.per_second", 1.5e9)], "took 600 ns"),
            (vec![("dram__bytes.sum", 4e6)], "at the peak of DRAM"),
            (vec![("dram__bytes.sum", 2e3), ("dram__bytes.sum.per_second", 1e9)], "it took 2,000 ns"),
        ] {
            let found = with(&more);
            // 600 ns are within 5 %.
            let is_within = words == "took 600 ns";
            let is_found = matches!(&found, Some(Fault::Times(why)) if why.contains(words));
            assert_eq!((is_found, found.is_none()), (!is_within, is_within), "{words}: {found:?}");
        }
    }

    #[test]
    fn a_duration_is_held_against_a_second_clock_within_a_twentieth() {
        let clocked = |ns: f64, rollup: &str| {
            let clock = [("gpc__cycles_elapsed.max", 4650.0), ("gpc__cycles_elapsed.avg.per_second", 1.5e9)];
            of(&[&[(rollup, ns)][..], &clock].concat())
        };
        for (ns, is_right) in [(3100.0, true), (3000.0, true), (3200.0, true), (2900.0, false), (3300.0, false)] {
            for rollup in ["gpu__time_duration.sum", "gpu__time_duration.avg"] {
                let found = clocked(ns, rollup);
                assert_eq!(found.is_none(), is_right, "{ns} {rollup}: {found:?}");
                assert!(is_right || matches!(found, Some(Fault::Times(_))), "{ns} {rollup}");
            }
        }
    }

    #[test]
    fn a_duration_without_a_second_clock_and_one_of_no_launch_are_found() {
        let of_ns = |ns: f64, more: &[(&'static str, f64)]| of(&[&[("gpu__time_duration.sum", ns)][..], more].concat());
        assert_eq!(of_ns(3056.0, &[]), Some(Fault::Unclocked));
        for half in [("gpc__cycles_elapsed.max", 4584.0), ("gpc__cycles_elapsed.avg.per_second", 1.5e9)] {
            assert_eq!(of_ns(3056.0, &[half]), Some(Fault::Unclocked), "cycles without a frequency, or the reverse");
        }
        let bytes = [("dram__bytes.sum", 3056.0), ("dram__bytes.sum.per_second", 1e9)];
        assert_eq!(of_ns(3056.0, &bytes), Some(Fault::Unclocked), "a rate of bytes is no clock");
        let found = of_ns(30.5, &[]);
        assert!(matches!(&found, Some(Fault::Times(why)) if why.contains("no launch takes less than")), "{found:?}");
        assert_eq!(of(&[("dram__bytes.sum", 3056.0)]), None, "no duration to confirm");
    }

    #[test]
    fn no_launch_of_the_captures_contradicts_itself() {
        at_root();
        let (mut launches, mut clocked) = (0, 0);
        for name in [
            "cluster",
            "deep",
            "defects",
            "full1",
            "further",
            "g12",
            "graph_nodes",
            "graph_whole",
            "processes",
            "range",
            "source",
            "torch_nvtx",
        ] {
            let report = Report::open(Path::new(&format!("tests/data/{name}.ncu-rep.zst"))).unwrap();
            for launch in report.launches() {
                let fault = fault(&launch).unwrap();
                assert!(matches!(fault, None | Some(Fault::Unclocked)), "{name} {}: {fault:?}", launch.id());
                launches += 1;
                clocked += usize::from(fault.is_none());
            }
        }
        assert!(launches > 50 && clocked > 10, "{launches} {clocked}");
    }
}
