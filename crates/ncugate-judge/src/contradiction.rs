//! Consistency check of a report from another program: finds counters that cannot belong to one launch.
//!
//! Such a report has no seal, but changing one number in it contradicts others.

use super::witness::ChipFacts;
use crate::frame::launches::FrameError;
use crate::frame::{CapturedLaunch, CapturedVariants, LaunchCounters, nvtx_text};
use ncu_rep::{Launch, Report, ReportError};
use ncugate_model::VariantId;
use ncugate_model::number::short;
use ncugate_phase::plan::Plan;
use std::collections::HashMap;

/// ncu's name for the duration of a launch, without the suffix for combining instances.
const DURATION: &str = "gpu__time_duration";
/// Two times of one launch may differ by this factor: ncu counts in several passes, and clocks vary. In the reports
/// in `tests/data` they differ by at most 1.05.
const APART: f64 = 1.5;
/// Relative rounding error when instances are added up; otherwise the sum is exact.
const ROUNDING: f64 = 1e-6;

/// The variants with a launch whose counters contradict each other, with the reason.
///
/// # Errors
/// A report is damaged.
pub fn contradictions(plan: &Plan, reports: &[(String, Report)]) -> Result<HashMap<VariantId, String>, FrameError> {
    let patterns = CapturedVariants::of(plan);
    let mut found = HashMap::new();
    for (name, report) in reports {
        let damaged = |source| FrameError::Report { report: name.clone(), source };
        for launch in report.launches() {
            let (kernel, demangled) = (launch.kernel_name(), launch.demangled_name());
            let nvtx = nvtx_text(&launch.nvtx().map_err(damaged)?);
            let (report, id) = (name.as_str(), launch.id());
            let seen = CapturedLaunch { report, launch: id, kernel: &kernel, demangled: &demangled, nvtx: &nvtx };
            let owners = patterns.owners(&seen);
            if owners.is_empty() {
                continue;
            }
            if let Some(reason) = contradiction(&launch).map_err(damaged)? {
                let reason = format!("launch {id} of {name} contradicts itself: {reason}");
                owners.into_iter().for_each(|owner| {
                    found.entry(owner.clone()).or_insert_with(|| reason.clone());
                });
            }
        }
    }
    Ok(found)
}

/// Describes two counters of a launch that cannot both be right.
fn contradiction(launch: &Launch<'_>) -> Result<Option<String>, ReportError> {
    let counters = LaunchCounters::of(launch)?;
    let chip = ChipFacts::of(launch)?;
    let read = |name: &str| counters.get(name);
    let mut names: Vec<&str> = counters.values().map(|(name, _)| name).collect();
    names.sort_unstable();
    Ok(instances(&names, &read).or_else(|| times(&names, &read, &chip)))
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

/// Compares the duration with per-second rates, with cycles divided by the clock, and with bytes divided by the DRAM
/// peak.
fn times(names: &[&str], read: Read<'_>, chip: &ChipFacts) -> Option<String> {
    let duration = read(&format!("{DURATION}.sum"))?;
    let seconds = duration * 1e-9;
    let apart = |other: f64| other > APART * seconds || seconds > APART * other;
    let against = |what: String| Some(format!("{DURATION}.sum is {} ns and {what}", short(duration)));
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
        name.split_once("__")
            .is_some_and(|(unit, rest)| matches!(unit, "gpc" | "sm" | "smsp") && cycles.contains(&rest))
    };
    for name in names.iter().filter(of_sm) {
        let least = read(name).zip(chip.sm_hz).map(|(cycles, hz)| cycles / hz);
        if let Some(least) = least.filter(|least| *least > APART * seconds) {
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

    fn of(counters: &[(&str, f64)]) -> Option<String> {
        let mut names: Vec<&str> = counters.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        let read = |name: &str| counters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        instances(&names, &read).or_else(|| times(&names, &read, &CHIP))
    }

    #[test]
    fn a_duration_that_other_counters_contradict_is_found() {
        let with = |more: &[(&'static str, f64)]| of(&[&[("gpu__time_duration.sum", 58.24)][..], more].concat());
        assert_eq!(with(&[]), None);
        for (more, words) in [
            (vec![("gpu__time_duration.avg", 5824.0)], "gpu__time_duration.avg is 5,824"),
            (vec![("gpu__time_duration.max", 5824.0)], "gpu__time_duration.max is 5,824"),
            (vec![("gpc__cycles_elapsed.max", 9000.0)], "gpc__cycles_elapsed.max takes 4,545 ns"),
            (vec![("sm__cycles_elapsed.avg", 9e3), ("sm__cycles_elapsed.avg.per_second", 1.5e9)], "it took 6,000 ns"),
            (vec![("dram__bytes.sum", 2e6)], "at the peak of DRAM"),
            (vec![("dram__bytes.sum", 2e3), ("dram__bytes.sum.per_second", 1e9)], "it took 2,000 ns"),
        ] {
            let found = with(&more);
            assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{words}: {found:?}");
        }
        assert!(of(&[("lts__t_sectors.sum", 5.0), ("lts__t_sectors.max", 9.0)]).is_some(), "more in one than in all");
    }

    #[test]
    fn no_launch_of_the_captures_contradicts_itself() {
        at_root();
        let mut launches = 0;
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
                assert_eq!(contradiction(&launch).unwrap(), None, "{name} {}", launch.id());
                launches += 1;
            }
        }
        assert!(launches > 50, "{launches}");
    }
}
