//! The clocks, as far as ncu's reports contain them.

use ncu_rep::{Report, ReportError};
use ncugate_model::number;

/// Parts of the chip with the metrics of their clock; the first metric present is used.
const RAN: [(&str, &[&str]); 2] = [
    (
        "SMs",
        &[
            "sm__cycles_elapsed.avg.per_second",
            "smsp__cycles_elapsed.avg.per_second",
            "gpc__cycles_elapsed.avg.per_second",
        ],
    ),
    ("memory", &["dram__cycles_elapsed.avg.per_second"]),
];
/// Highest clocks of the device in kHz.
const HIGHEST: [(&str, &str); 2] =
    [("SMs", "device__attribute_clock_rate"), ("memory", "device__attribute_memory_clock_rate")];

/// The clocks while launches were profiled.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clocks {
    /// Launches with clocks locked by ncu.
    pub locked: usize,
    /// Launches with free clocks.
    pub free: usize,
    /// Highest clock of each part in Hz.
    pub highest: Vec<(&'static str, f64)>,
    /// Lowest and highest actual clock of each part in Hz; empty if no clock was collected.
    pub ran: Vec<(&'static str, f64, f64)>,
}

impl Clocks {
    /// Reads the clocks of every launch.
    ///
    /// # Errors
    /// A damaged report.
    pub fn read(reports: &[(String, Report)]) -> Result<Self, ReportError> {
        let mut clocks = Self::default();
        for launch in reports.iter().flat_map(|(_, report)| report.launches()) {
            match launch.clock_status() {
                Some(status) if status.locked => clocks.locked += 1,
                Some(_) => clocks.free += 1,
                None => {}
            }
            let value = |name: &str| Ok(launch.metric(name)?.and_then(|v| v.as_f64()).filter(|v| *v > 0.0));
            if clocks.highest.is_empty() {
                for (part, name) in HIGHEST {
                    clocks.highest.extend(value(name)?.map(|khz: f64| (part, khz * 1e3)));
                }
            }
            for (part, names) in RAN {
                let mut found = None;
                for name in names {
                    found = found.or(value(name)?);
                }
                clocks.ran_at(part, found);
            }
        }
        Ok(clocks)
    }

    /// Merges the clocks of other launches.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.locked += other.locked;
        self.free += other.free;
        if self.highest.is_empty() {
            self.highest.clone_from(&other.highest);
        }
        for &(part, low, high) in &other.ran {
            self.ran_at(part, Some(low));
            self.ran_at(part, Some(high));
        }
        self
    }

    fn ran_at(&mut self, part: &'static str, hz: Option<f64>) {
        let Some(hz) = hz else { return };
        match self.ran.iter_mut().find(|(known, ..)| *known == part) {
            Some((_, low, high)) => (*low, *high) = (low.min(hz), high.max(hz)),
            None => self.ran.push((part, hz, hz)),
        }
    }

    /// `free; SMs at most 1.98 GHz, memory at most 3.201 GHz; actual clocks were not collected`.
    pub fn words(&self) -> String {
        let control = match (self.free, self.locked) {
            (0, 0) => return "unknown: no launch reports its clocks".to_owned(),
            (_, 0) => "free".to_owned(),
            (0, _) => "locked by ncu".to_owned(),
            (free, locked) => format!("free in {free} launches, locked by ncu in {locked}"),
        };
        let highest: Vec<String> = self
            .highest
            .iter()
            .map(|(part, hz)| format!("{part} at most {}", number::in_sentence(*hz, "hz")))
            .collect();
        let ran: Vec<String> = self.ran.iter().map(|(part, low, high)| range(part, *low, *high)).collect();
        let ran = match ran.as_slice() {
            [] => "actual clocks were not collected".to_owned(),
            ran => format!("under ncu {}", ran.join(", ")),
        };
        [control, highest.join(", "), ran].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

fn range(part: &str, low: f64, high: f64) -> String {
    let (low, high) = (number::in_sentence(low, "hz"), number::in_sentence(high, "hz"));
    if low == high { format!("{part} at {low}") } else { format!("{part} at {low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(name: &str) -> Clocks {
        let path = format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
        Clocks::read(&[(name.to_owned(), Report::open(path).unwrap())]).unwrap()
    }

    #[test]
    fn a_full_report_has_the_clocks_that_ran() {
        let clocks = capture("full1.ncu-rep.zst");
        assert_eq!(clocks.highest.first(), Some(&("SMs", 1.98e9)), "{clocks:?}");
        let (part, low, high) = clocks.ran[0];
        assert!(part == "SMs" && low > 1e8 && low <= high && high <= 2.0e9, "{clocks:?}");
        assert!(clocks.words().contains("under ncu SMs at 1."), "{}", clocks.words());
    }

    #[test]
    fn clocks_of_other_launches_widen_the_range() {
        let one = Clocks { free: 1, ran: vec![("SMs", 1.5e9, 1.6e9)], ..Clocks::default() };
        let other = Clocks {
            locked: 2,
            highest: vec![("SMs", 1.98e9)],
            ran: vec![("SMs", 1.4e9, 1.55e9)],
            ..Clocks::default()
        };
        let both = one.and(&other);
        assert_eq!((both.free, both.locked), (1, 2));
        assert_eq!(both.ran, [("SMs", 1.4e9, 1.6e9)]);
        assert_eq!(both.highest, [("SMs", 1.98e9)]);
    }

    #[test]
    fn clocks_without_counters_are_unknown() {
        assert_eq!(Clocks::default().words(), "unknown: no launch reports its clocks");
        let free = Clocks { free: 1, highest: vec![("SMs", 1.98e9)], ..Clocks::default() };
        assert_eq!(free.words(), "free; SMs at most 1.98 GHz; actual clocks were not collected");
        let mixed = Clocks { free: 1, locked: 2, ran: vec![("SMs", 1.2e9, 1.98e9)], ..Clocks::default() };
        assert_eq!(mixed.words(), "free in 1 launches, locked by ncu in 2; under ncu SMs at 1.2 GHz to 1.98 GHz");
    }
}
