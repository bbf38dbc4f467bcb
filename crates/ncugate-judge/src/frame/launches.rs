//! Launches and their metrics as frames, from reports and from ncu's CSV.
//!
//! Reports take the fast path of `decode`: names and units are gathered by index, values are decoded in parallel, and
//! pages are released as decoding proceeds. The meaning of a launch is defined in [`ncu_rep`].

use polars::prelude::{DataFrame, PolarsError};

use super::launch_table::LaunchTable;
pub use super::nvtx::nvtx_text;
use super::{decode, metric_table};
use ncu_rep::csv::CsvReport;
use ncu_rep::{MetricSelection, Report, ReportError};

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

/// The source of launches.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'a> {
    Report(&'a Report),
    /// CSV that ncu printed.
    Csv(&'a CsvReport),
}

/// One input, with its name in the frames.
#[derive(Debug, Clone, Copy)]
pub struct Capture<'a> {
    pub name: &'a str,
    pub origin: Origin<'a>,
}

/// Launches and their metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchFrames {
    /// One row per launch; columns in `schema::launches::COLUMNS`.
    pub launches: DataFrame,
    /// One row per launch and metric; columns in `schema::metrics::COLUMNS`.
    pub metrics: DataFrame,
}

impl LaunchFrames {
    /// Builds both frames. Only the selected metrics are decoded. A launch without a metric has no row for it; a
    /// value that ncu could not collect is null.
    ///
    /// # Errors
    /// A report is damaged.
    pub fn read(captures: &[Capture<'_>], selection: MetricSelection<'_>) -> Result<Self, FrameError> {
        let mut all = match captures.split_first() {
            Some((first, _)) => Self::of(first, selection)?,
            None => Self { launches: LaunchTable::default().frame()?, metrics: metric_table::empty()? },
        };
        for capture in captures.iter().skip(1) {
            all.append(&Self::of(capture, selection)?)?;
        }
        if captures.len() > 1 {
            all.launches.rechunk_mut();
            all.metrics.rechunk_mut();
        }
        Ok(all)
    }

    /// Appends the launches of other reports.
    ///
    /// # Errors
    /// The columns of the frames differ.
    pub fn append(&mut self, other: &Self) -> Result<(), FrameError> {
        self.launches.vstack_mut(&other.launches)?;
        self.metrics.vstack_mut(&other.metrics)?;
        Ok(())
    }

    /// Builds both frames of one report.
    ///
    /// # Errors
    /// The report is damaged.
    pub fn of_report(name: &str, report: &Report, selection: MetricSelection<'_>) -> Result<Self, FrameError> {
        let named = |source| FrameError::Report { report: name.to_owned(), source };
        let mut launches = LaunchTable::default();
        let part = |first, attributes: &[_]| LaunchTable::of(report, name, first, attributes);
        let decoded = decode::metrics(report, selection, part, |part| launches.append(part)).map_err(named)?;
        let frame = launches.frame()?;
        let metrics = metric_table::of_report(name, report, &decoded, &launches.into_kernels())?;
        Ok(Self { launches: frame, metrics })
    }

    /// Builds both frames of one input.
    fn of(capture: &Capture<'_>, selection: MetricSelection<'_>) -> Result<Self, FrameError> {
        let csv = match capture.origin {
            Origin::Report(report) => return Self::of_report(capture.name, report, selection),
            Origin::Csv(csv) => csv,
        };
        let mut launches = LaunchTable::default();
        launches.push_csv(capture.name, csv);
        let frame = launches.frame()?;
        let metrics = metric_table::of_csv(capture.name, csv, selection, &launches.into_kernels())?;
        Ok(Self { launches: frame, metrics })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::decode::cell;
    use crate::frame::schema::{launches as l, metrics as m};
    use ncu_rep::MetricValue;
    use std::path::Path;

    fn open(name: &str) -> Report {
        Report::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)).unwrap()
    }

    fn schema_of(frame: &DataFrame) -> Vec<(String, polars::prelude::DataType)> {
        frame.columns().iter().map(|column| (column.name().to_string(), column.dtype().clone())).collect()
    }

    #[test]
    fn frames_have_the_columns_of_the_schema() {
        let expected = |columns: &[(&str, polars::prelude::DataType)]| {
            columns.iter().map(|(name, dtype)| ((*name).to_owned(), dtype.clone())).collect::<Vec<_>>()
        };
        let full = LaunchFrames::of_report("g12", &open("g12.ncu-rep.zst"), MetricSelection::All).unwrap();
        for frames in [LaunchFrames::read(&[], MetricSelection::All).unwrap(), full] {
            assert_eq!(schema_of(&frames.metrics), expected(&m::COLUMNS));
            assert_eq!(schema_of(&frames.launches), expected(&l::COLUMNS));
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
