//! Samples of Nsight Compute over a launch's duration (its section PmSampling): utilisation of each unit, and length of
//! the tail.

use ncu_rep::{Launch, MetricSeries, ReportError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// Nanoseconds between two samples.
const INTERVAL: &str = "profiler__pmsampler_interval_time";
/// Cycles in which a multiprocessor had a warp, averaged over all of them.
const ACTIVE: &str = "sm__cycles_active.avg";
/// The tail begins when fewer than this share of the peak number of active multiprocessors are active.
const BUSY: f64 = 0.9;
/// Fewer samples show nothing over time.
const FEWEST: usize = 8;
/// Of fewer samples the last ones are too large a part of the duration.
const FEWEST_OF_TAIL: f64 = 30.0;

/// Displayed series: name of the metric without its group of counters, and its title.
const SHOWN: [(&str, &str); 6] = [
    ("sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed", "instructions issued"),
    ("sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", "tensor pipe"),
    ("l1tex__throughput.avg.pct_of_peak_sustained_elapsed", "L1"),
    ("lts__throughput.avg.pct_of_peak_sustained_elapsed", "L2"),
    ("dramc__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM"),
    ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM"),
];

/// The samples of a launch over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timeline {
    /// Duration of the sampled launch in microseconds.
    pub duration: f64,
    /// Microseconds between two samples.
    pub interval: f64,
    /// Sampled quantities, multiprocessors first.
    pub series: Vec<TimelineSeries>,
    /// Share of the duration, 0 to 1, after the last sample with at least 90 % of the peak number of active
    /// multiprocessors.
    pub tail_fraction: f64,
}

/// A quantity over a launch's duration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimelineSeries {
    /// Its name: `multiprocessors active`, `DRAM`.
    pub name: String,
    /// Microseconds from the start of the launch to the start of a sample, and percent: of the most active sample for
    /// multiprocessors, of the unit's peak for others.
    pub points: Vec<(f64, f64)>,
}

impl Timeline {
    /// Percent of the duration that the tail takes; none if the samples are too few to tell.
    pub fn tail(&self) -> Option<f64> {
        (self.duration >= FEWEST_OF_TAIL * self.interval).then_some(100.0 * self.tail_fraction)
    }

    /// Reads the samples; none if the launch has too few or no samples.
    ///
    /// # Errors
    /// A damaged report.
    pub fn of(launch: &Launch<'_>) -> Result<Option<Self>, ReportError> {
        let Some(interval) = launch.metric(INTERVAL)?.and_then(|value| value.as_u64()).filter(|ns| *ns > 0) else {
            return Ok(None);
        };
        let mut sampled = BTreeMap::new();
        for metric in launch.metrics() {
            let metric = metric?;
            let name = plain(metric.name);
            if (name == ACTIVE || SHOWN.iter().any(|(shown, _)| *shown == name))
                && let Some(series) = launch.series(&metric)?
            {
                sampled.entry(name.to_owned()).or_insert(series);
            }
        }
        Ok(Self::of_series(interval, &sampled))
    }

    fn of_series(interval: u64, sampled: &BTreeMap<String, MetricSeries>) -> Option<Self> {
        // a sample covers the interval before its timestamp, so the one before the start reaches into the launch
        let life = |series: &MetricSeries| -> Vec<(f64, f64)> {
            let Some(launch) = &series.launch else { return Vec::new() };
            let from = launch.start.saturating_sub(interval - 1);
            let of = series.samples.range(from..launch.end.max(from)).filter(|(_, value)| value.is_finite());
            of.map(|(at, value)| (microseconds(launch.start, *at), *value)).collect()
        };
        let active = sampled.get(ACTIVE)?;
        let Range { start: began, end: ended } = active.launch.clone()?;
        let active = life(active);
        let most = active.iter().map(|(_, cycles)| *cycles).fold(0.0, f64::max);
        if ended <= began || active.len() < FEWEST || most <= 0.0 {
            return None;
        }
        let (duration, interval) = ((ended - began) as f64 / 1e3, interval as f64 / 1e3);
        let last = active.iter().rev().find(|(_, cycles)| *cycles >= BUSY * most)?.0;
        let percent = active.iter().map(|(at, cycles)| (*at, 100.0 * cycles / most)).collect();
        let mut series = vec![TimelineSeries { name: "multiprocessors active".to_owned(), points: percent }];
        for (metric, title) in SHOWN {
            let points =
                sampled.get(metric).map(life).filter(|points| points.iter().any(|(_, percent)| *percent > 0.0));
            let is_new = series.iter().all(|known| known.name != title);
            series.extend(points.filter(|_| is_new).map(|points| TimelineSeries { name: title.to_owned(), points }));
        }
        let tail_fraction = ((duration - last - interval) / duration).clamp(0.0, 1.0);
        Some(Self { duration, interval, series, tail_fraction })
    }
}

/// Microseconds between two timestamps. Nanoseconds since 1970 have more digits than a double holds, but their
/// difference does not.
fn microseconds(from: u64, to: u64) -> f64 {
    let apart = to.abs_diff(from) as f64 / 1e3;
    if to < from { -apart } else { apart }
}

/// A metric's name without its group of counters: `TPC.TriageCompute.sm__cycles_active.avg`,
/// `pmsampling:sm__cycles_active.avg`.
fn plain(name: &str) -> &str {
    let Some(unit) = name.find("__") else { return name };
    let start = name[..unit].rfind(['.', ':']).map_or(0, |at| at + 1);
    &name[start..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncu_rep::Report;

    fn capture(name: &str) -> Option<Timeline> {
        let report = Report::open(format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        Timeline::of(&report.launch(0).unwrap()).unwrap()
    }

    /// 128 concurrent blocks that run for 538.848 us and end almost together.
    #[test]
    fn a_capture_with_samples_has_a_timeline() {
        let timeline = capture("full1.ncu-rep.zst").unwrap();
        assert_eq!((timeline.duration, timeline.interval), (538.848, 1.5));
        let active = &timeline.series[0];
        assert!((350..=370).contains(&active.points.len()), "{}", active.points.len());
        assert!(active.points.iter().all(|(at, percent)| *at >= -1.5 && *at < 538.848 && *percent <= 100.0));
        assert!(timeline.tail_fraction < 0.1, "{}", timeline.tail_fraction);
        let names: Vec<&str> = timeline.series.iter().map(|series| series.name.as_str()).collect();
        assert!(names.contains(&"instructions issued") && names.contains(&"DRAM"), "{names:?}");
        assert_eq!(capture("g12.ncu-rep.zst"), None);
    }

    fn series(start: u64, values: &[f64]) -> MetricSeries {
        let samples = values.iter().enumerate().map(|(at, value)| (start + 1_000 * at as u64, *value)).collect();
        MetricSeries { launch: Some(start..start + 1_000 * values.len() as u64), samples }
    }

    fn made(active: &[f64]) -> Option<Timeline> {
        Timeline::of_series(1_000, &BTreeMap::from([(ACTIVE.to_owned(), series(10_000, active))]))
    }

    #[test]
    fn series_of_several_replay_passes_begin_together() {
        let issued = SHOWN[0].0.to_owned();
        let passes = [(ACTIVE.to_owned(), series(10_000, &[9.0; 10])), (issued, series(8_010_000, &[5.0; 10]))];
        let timeline = Timeline::of_series(1_000, &BTreeMap::from(passes)).unwrap();
        assert_eq!(timeline.series.len(), 2);
        assert_eq!(timeline.series[1].points[3], (3.0, 5.0));
    }

    #[test]
    fn the_tail_begins_behind_the_last_busy_sample() {
        let full = made(&[100.0; 10]).unwrap();
        assert_eq!((full.tail_fraction, full.duration), (0.0, 10.0));
        let tail = made(&[100.0, 95.0, 100.0, 91.0, 100.0, 99.0, 92.0, 30.0, 20.0, 10.0]).unwrap();
        assert!((tail.tail_fraction - 0.3).abs() < 1e-12, "{}", tail.tail_fraction);
        assert_eq!(tail.series[0].points[7], (7.0, 30.0));
    }

    #[test]
    fn too_little_is_no_timeline() {
        assert_eq!(made(&[1.0; 7]), None);
        assert_eq!(made(&[0.0; 20]), None);
    }

    #[test]
    fn groups_of_counters_are_taken_off() {
        for name in ["TPC.TriageCompute.sm__cycles_active.avg", "pmsampling:sm__cycles_active.avg", ACTIVE] {
            assert_eq!(plain(name), ACTIVE);
        }
        assert_eq!(plain("inst_executed"), "inst_executed");
    }
}
