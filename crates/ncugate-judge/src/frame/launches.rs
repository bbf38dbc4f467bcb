//! Launches and their metrics as frames.
//!
//! Reports take the fast path of `decode`: names and units are gathered by index, values are decoded in parallel, and
//! pages are released as decoding proceeds. The meaning of a launch is defined in [`ncu_rep`].

use indexmap::IndexSet;
use polars::prelude::{Column, DataFrame, Float64Chunked, IntoColumn as _, NewChunkedArray as _, PolarsError};

use super::decode::ReportMetrics;
use super::launch_table::{self, LaunchRow};
use super::rows::named;
use super::schema::launches as l;
use super::{decode, metric_table};
use ncu_rep::{Launch, MetricSelection, MetricValue, Report, ReportError, ReportForm};
use ncugate_model::{ChipFacts, ComputeCapability, LaunchMetrics};

/// Errors when building frames.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A report is damaged.
    #[error("report `{report}`")]
    Report {
        report: String,
        #[source]
        source: ReportError,
    },
    /// polars refused a column.
    #[error("cannot build a frame")]
    Polars(#[from] PolarsError),
}

/// One input, with its name in the frames.
#[derive(Debug, Clone, Copy)]
pub struct Capture<'a> {
    pub name: &'a str,
    pub report: &'a Report,
}

impl<'a> Capture<'a> {
    /// The metrics of one of its launches.
    ///
    /// # Errors
    /// The report is damaged.
    pub fn metrics_of(&self, launch: &Launch<'a>) -> Result<LaunchMetrics<'a>, FrameError> {
        LaunchMetrics::of(launch).map_err(named(self.name))
    }
}

/// Facts of the chip from the first launch of a run.
///
/// # Errors
/// A report is damaged.
pub fn chip_facts(
    reports: &[(String, Report)],
    capability: Option<ComputeCapability>,
) -> Result<ChipFacts, FrameError> {
    let first = reports.iter().find_map(|(name, report)| Some((name, report.launches().next()?)));
    let facts = first.map(|(name, launch)| ChipFacts::of(&launch).map_err(named(name))).transpose()?;
    Ok(ChipFacts { capability, ..facts.unwrap_or_default() })
}

/// Launches and their metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchFrames {
    /// One row per launch; columns in `schema::launches`.
    pub launches: DataFrame,
    /// One row per launch and metric; columns in `schema::metrics`.
    pub metrics: DataFrame,
}

impl LaunchFrames {
    /// Builds both frames. Only the selected metrics are decoded. A launch without a metric has no row for it; a
    /// value that ncu could not collect is null.
    ///
    /// # Errors
    /// A report is damaged.
    pub fn read(captures: &[Capture<'_>], selection: MetricSelection<'_>) -> Result<Self, FrameError> {
        let Some((first, others)) = captures.split_first() else {
            return Ok(Self { launches: launch_table::frame("", &[])?, metrics: metric_table::empty()? });
        };
        let mut all = Self::of_report(first.name, first.report, selection)?;
        for capture in others {
            let next = Self::of_report(capture.name, capture.report, selection)?;
            all.launches.vstack_mut_owned(next.launches)?;
            all.metrics.vstack_mut_owned(next.metrics)?;
        }
        if !others.is_empty() {
            all.launches.rechunk_mut();
            all.metrics.rechunk_mut();
        }
        Ok(all)
    }

    /// Builds both frames of one report.
    ///
    /// # Errors
    /// The report is damaged.
    pub fn of_report(name: &str, report: &Report, selection: MetricSelection<'_>) -> Result<Self, FrameError> {
        let (launches, decoded) = decoded(name, report, selection)?;
        let metrics = metric_table::of_report(name, report, &decoded, launches.column(l::KERNEL)?.str()?)?;
        Ok(Self { launches, metrics })
    }
}

/// The launches of reports, with a column for each counter in `names`: its value at each launch, null where it has none.
///
/// # Errors
/// A report is damaged.
pub fn counted_launches(reports: &[(String, Report)], names: &[String]) -> Result<DataFrame, FrameError> {
    let names: IndexSet<&str> = names.iter().map(String::as_str).collect();
    let selection: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let is_rounded = reports.iter().any(|(_, report)| report.form() == ReportForm::Csv);
    let mut all = launch_table::frame("", &[])?;
    all.hstack_mut(&metric_table::by_launch(names.iter().copied(), &[], &[]))?;
    if is_rounded {
        all.hstack_mut(&roundings("", None, &names)?)?;
    }
    for (name, report) in reports {
        let (mut launches, ReportMetrics { names: slots, pieces }) =
            decoded(name, report, MetricSelection::Named(&selection))?;
        let columns: Vec<Option<usize>> =
            slots.iter().map(|slot| names.get_index_of(report.bulk().name(*slot))).collect();
        launches.hstack_mut(&metric_table::by_launch(names.iter().copied(), &columns, &pieces))?;
        if is_rounded {
            launches.hstack_mut(&roundings(name, Some(report), &names)?)?;
        }
        all.vstack_mut_owned(launches)?;
    }
    all.rechunk_mut();
    Ok(all)
}

/// The column with the largest rounding error of a counter, if a report of [`counted_launches`] is CSV.
pub(super) fn rounding_of(counter: &str) -> String {
    format!("rounding of {counter}")
}

/// A column for each counter: half a unit of the last digit that the CSV has, null where the value is exact.
fn roundings(name: &str, report: Option<&Report>, names: &IndexSet<&str>) -> Result<Vec<Column>, FrameError> {
    let launches: Vec<_> = report.into_iter().flat_map(Report::launches).collect();
    let is_csv = report.is_some_and(|report| report.form() == ReportForm::Csv);
    let column = |counter: &&str| {
        let half = |launch: &Launch<'_>| match launch.metric(counter).map_err(named(name))? {
            Some(MetricValue::Double(value)) if is_csv => Ok(Some(half_digit(value))),
            _ => Ok::<_, FrameError>(None),
        };
        let halves = launches.iter().map(half).collect::<Result<Vec<_>, _>>()?;
        Ok(Float64Chunked::from_slice_options(rounding_of(counter).into(), &halves).into_column())
    };
    names.iter().map(column).collect()
}

/// Half a unit of the last printed digit. ncu prints two digits after the point of a number below 1000 with its prefix;
/// a last digit that is not 0 shows that it printed more.
fn half_digit(value: f64) -> f64 {
    let unit = 1000_f64.powf(value.abs().max(1.0).log(1000.0).floor());
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let after = digits.split_once('.').map_or(0, |(_, after)| after.len() as i32);
    let last = if value == 0.0 { 0 } else { exponent.parse().unwrap_or(0) - after };
    (0.005 * unit).min(0.5 * 10_f64.powi(last))
}

/// The launches frame of a report, and its selected metrics.
fn decoded<'r>(
    name: &str,
    report: &'r Report,
    selection: MetricSelection<'_>,
) -> Result<(DataFrame, ReportMetrics<'r>), FrameError> {
    let part = |first, attributes: &[decode::Attributes<'r>]| {
        let rows = report.launches().skip(first).zip(attributes);
        let rows: Vec<LaunchRow<'_>> = rows.map(|(launch, of)| LaunchRow::of(&launch, of)).collect::<Result<_, _>>()?;
        Ok(launch_table::frame(name, &rows))
    };
    let mut parts = Vec::new();
    let metrics = decode::metrics(report, selection, part, |part| parts.push(part));
    let metrics = metrics.map_err(named(name))?;
    let mut launches = launch_table::frame(name, &[])?;
    for part in parts {
        launches.vstack_mut_owned(part?)?;
    }
    launches.rechunk_mut();
    Ok((launches, metrics))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::decode::cell;
    use crate::frame::schema::metrics as m;
    use std::path::Path;

    fn open(name: &str) -> Report {
        Report::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)).unwrap()
    }

    fn columns_of(frame: &DataFrame) -> String {
        let columns = frame.columns().iter().map(|column| format!("{} {}", column.name(), column.dtype()));
        columns.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn frames_have_the_same_columns_with_and_without_launches() {
        let full = LaunchFrames::of_report("g12", &open("g12.ncu-rep.zst"), MetricSelection::All).unwrap();
        for frames in [LaunchFrames::read(&[], MetricSelection::All).unwrap(), full] {
            assert_eq!(
                columns_of(&frames.metrics),
                "report str, launch u32, kernel str, metric str, unit str, value f64, text str"
            );
            assert_eq!(
                columns_of(&frames.launches),
                "report str, launch u32, kind str, kernel str, symbol str, demangled str, pid u32, process str, context u32, \
                 stream u32, device u32, device_name str, cc str, sm_count u32, grid_x u32, grid_y u32, grid_z u32, \
                 block_x u32, block_y u32, block_z u32, cluster_x u32, cluster_y u32, cluster_z u32, nvtx str, \
                 clock_lock_requested bool, clock_locked bool, created u64"
            );
        }
    }

    #[test]
    fn every_cell_is_the_value_of_the_launch() {
        for name in ["full1.ncu-rep.zst", "g12.ncu-rep.zst"] {
            let report = open(name);
            let frames = LaunchFrames::of_report("r", &report, MetricSelection::All).unwrap().metrics;
            let names = frames.column(m::METRIC).unwrap().str().unwrap().clone();
            let units = frames.column(m::UNIT).unwrap().str().unwrap().clone();
            let values = frames.column(m::VALUE).unwrap().f64().unwrap().clone();
            let texts = frames.column(m::TEXT).unwrap().str().unwrap().clone();
            let launches = frames.column(m::LAUNCH).unwrap().u32().unwrap().clone();
            let mut row = 0;
            for launch in report.launches() {
                for metric in launch.metrics() {
                    let metric = metric.unwrap();
                    let (value, text) = cell(&metric.value);
                    assert_eq!(launches.get(row), Some(launch.id()));
                    assert_eq!(names.get(row), Some(metric.name));
                    assert_eq!(units.get(row), Some(metric.unit()));
                    assert_eq!(values.get(row).map(f64::to_bits), value.map(f64::to_bits), "{}", metric.name);
                    assert_eq!(texts.get(row), text.as_deref());
                    row += 1;
                }
            }
            assert_eq!(row, frames.height());
            assert!(row >= 2243);
        }
    }

    #[test]
    fn a_selection_has_the_same_values_and_nothing_else() {
        let report = open("g12.ncu-rep.zst");
        let wanted = ["gpu__time_duration.sum".to_owned(), "dram__bytes.sum".to_owned(), "no__such".to_owned()];
        let some = LaunchFrames::of_report("r", &report, MetricSelection::Named(&wanted)).unwrap();
        let all = LaunchFrames::of_report("r", &report, MetricSelection::All).unwrap();
        assert_eq!(some.metrics.height(), 24);
        assert_eq!(some.launches, all.launches);
        for launch in report.launches() {
            let expected = launch.metric("dram__bytes.sum").unwrap().unwrap().as_f64();
            assert!(expected.is_some());
        }
    }

    #[test]
    fn a_printed_number_is_half_a_digit_apart() {
        for (value, half) in
            [(64.0, 0.005), (64.25, 0.005), (0.0, 0.005), (12_340.0, 5.0), (1.5e9, 5e6), (-999.5, 0.005)]
        {
            assert!((half_digit(value) / half - 1.0).abs() < 1e-9, "{value}: {}", half_digit(value));
        }
        assert!(half_digit(1.234_567) < 1e-6 && half_digit(1234.56) < 0.0051);
    }

    #[test]
    fn integers_that_a_double_cannot_hold_are_text_too() {
        assert_eq!(cell(&MetricValue::U64(1 << 53)), (Some(9_007_199_254_740_992.0), None));
        let odd = (1_u64 << 53) + 1;
        assert_eq!(cell(&MetricValue::U64(odd)), (Some(9_007_199_254_740_992.0), Some(odd.to_string().into())));
        assert_eq!(cell(&MetricValue::U64(u64::MAX)).1, Some(u64::MAX.to_string().into()));
        assert_eq!(cell(&MetricValue::Missing), (None, None));
    }

    #[test]
    fn the_launches_frame_says_where_and_how_it_ran() {
        let frames = LaunchFrames::of_report("r", &open("g12.ncu-rep.zst"), MetricSelection::Named(&[])).unwrap();
        assert_eq!((frames.launches.height(), frames.metrics.height()), (12, 0));
        let text = |name: &str| frames.launches.column(name).unwrap().str().unwrap().get(0).map(str::to_owned);
        let number = |name: &str| frames.launches.column(name).unwrap().u32().unwrap().get(0);
        assert_eq!(text(l::DEVICE_NAME).as_deref(), Some("NVIDIA H200"));
        assert_eq!(text(l::CAPABILITY).as_deref(), Some("9.0"));
        assert_eq!((number(l::SM_COUNT), number(l::BLOCK[0]), number(l::CLUSTER[0])), (Some(132), Some(128), None));
    }
}
