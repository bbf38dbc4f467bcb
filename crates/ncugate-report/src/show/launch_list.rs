//! A table with a row for each launch, or for each kernel and configuration.

use super::CaptureLaunch;
use super::metric_choice::MetricChoice;
use super::table::{clean, dimensions, kernel_name, line, number};
use crate::document::{Column, DocumentBlock, DocumentTable, TableCell, terminal_blocks};
use crate::number;
use indexmap::IndexMap;
use ncu_explain::{LaunchShape, clock_control, short_names};
use ncu_rep::{Launch, Report};
use ncugate_judge::frame::launches::FrameError;
use ncugate_judge::frame::rows;
use ncugate_model::LaunchMetric;
use ncugate_model::metric::{Catalogue, MetricError, id};
use ncugate_model::stats::median;
use std::collections::BTreeSet;

/// Metrics of the catalogue with their column heads, the most useful first.
const USUAL: [(&str, &str); 10] = [
    ("duration", "time"),
    ("registers", "registers"),
    ("achieved_occupancy", "occupancy"),
    ("sm_pct", "compute"),
    ("memory_pct", "memory"),
    ("dram_pct", "DRAM"),
    ("waves", "waves"),
    ("l2_hit_pct", "L2 hits"),
    ("shared_mem", "shared memory"),
    ("ipc", "IPC"),
];
/// Most launches that have a row each, and most rows of a screen.
const LISTED: usize = 24;
const SCREEN: usize = 20;

/// The launches that have a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListExtent {
    /// Each one, or each kernel and configuration of many.
    Screen,
    /// Each one.
    All,
}

/// The launches to list.
pub(super) struct LaunchList<'a> {
    pub launches: &'a [CaptureLaunch<'a>],
    /// Whether NVTX ranges are shown.
    pub nvtx: bool,
    /// Columns of the terminal; none if the output is not a terminal.
    pub columns: Option<usize>,
}

/// A column with its cells.
type ListColumn = (Column, Vec<String>);

impl LaunchList<'_> {
    /// Time, launch configuration and the usual metrics, as many as fit the terminal: of each launch, or of each kernel
    /// and configuration if there are many.
    pub fn usual(&self, extent: ListExtent, out: &mut String) -> Result<(), FrameError> {
        if extent == ListExtent::Screen && self.launches.len() > LISTED {
            return self.groups(out);
        }
        let rows: Vec<Vec<usize>> = (0..self.launches.len()).map(|at| vec![at]).collect();
        self.table(self.launch_columns()?, &rows, out)
    }

    /// A row for each kernel and configuration, the longest total time first.
    fn groups(&self, out: &mut String) -> Result<(), FrameError> {
        let durations: Vec<LaunchMetric> = self.values(&[&id::DURATION])?.into_iter().flatten().collect();
        let mut groups: IndexMap<(&str, String, LaunchShape, String), Vec<usize>> = IndexMap::new();
        for (at, (capture, launch)) in self.launches.iter().enumerate() {
            let damaged = |source| FrameError::Report { report: capture.name.to_owned(), source };
            let ranges = if self.nvtx { clean(&rows::ranges(capture.name, launch)?) } else { String::new() };
            let shape = LaunchShape::of(launch).map_err(damaged)?;
            groups.entry((capture.name, full_name(launch), shape, ranges)).or_default().push(at);
        }
        // A launch without a time leaves its group without a total.
        let total = |rows: &[usize]| -> Option<f64> {
            rows.iter().map(|at| durations.get(*at).and_then(LaunchMetric::number)).sum()
        };
        groups.sort_by(|_, a, _, b| total(b).unwrap_or(-1.0).total_cmp(&total(a).unwrap_or(-1.0)));
        let all: Vec<usize> = (0..self.launches.len()).collect();
        let (whole, count) = (total(&all), groups.len());
        let share = |rows: &[usize]| {
            total(rows).zip(whole).filter(|(_, whole)| *whole > 0.0).map(|(n, whole)| 100.0 * n / whole)
        };
        let rest: Vec<usize> = groups.values().skip(SCREEN).flatten().copied().collect();
        groups.truncate(SCREEN);
        let names: Vec<&str> = groups.keys().map(|(_, name, ..)| name.as_str()).collect();
        let text = |head: &str, of: &dyn Fn(&str, &LaunchShape, &str) -> String| {
            let cells = groups.keys().map(|(report, _, shape, ranges)| clean(&of(report, shape, ranges)));
            (Column::text(head), cells.collect())
        };
        let figure = |head: &str, of: &dyn Fn(&[usize]) -> Option<String>| {
            let cells = groups.values().map(|rows| of(rows).unwrap_or_else(|| "-".to_owned()));
            (Column::number(head), cells.collect())
        };
        let mut columns: Vec<ListColumn> = Vec::new();
        columns.extend(self.is_of_several().then(|| text("report", &|report, _, _| report.to_owned())));
        columns.push((Column::text("kernel"), short_names(&names).iter().map(|name| clean(name)).collect()));
        columns.push(text("grid", &|_, shape, _| dimensions(shape.grid)));
        columns.push(text("block", &|_, shape, _| dimensions(shape.block)));
        columns.extend(self.nvtx.then(|| text("nvtx", &|_, _, ranges| ranges.to_owned())));
        columns.push(figure("launches", &|rows| Some(rows.len().to_string())));
        columns.push(figure("total", &|rows| total(rows).map(|nanos| number::with_unit(nanos, "ns"))));
        columns.push(figure("share", &|rows| share(rows).map(number::share)));
        let rows: Vec<Vec<usize>> = groups.into_values().collect();
        self.table(columns, &rows, out)?;
        if count > SCREEN {
            let of_time =
                share(&rest).map_or_else(String::new, |share| format!(" with {} of the time", number::share(share)));
            line(out, &format!("{} more{of_time}: `--kernel REGEX` chooses", count - SCREEN));
        }
        let time = match whole {
            Some(nanos) => format!("{} in total", number::with_unit(nanos, "ns")),
            None => format!(
                "no total: {} without a time",
                number::counted(durations.iter().filter(|one| one.number().is_none()).count(), "launch")
            ),
        };
        let (launches, groups) = (number::counted(self.launches.len(), "launch"), number::counted(count, "group"));
        line(out, &format!("{launches} in {groups}, {time}; values are medians, and `--all` lists every launch"));
        Ok(())
    }

    /// The clocks of the times, if they are the same in all reports.
    fn clocks(&self) -> Result<Option<String>, FrameError> {
        let reports: IndexMap<&str, &Report> = self.launches.iter().map(|(c, _)| (c.name, c.report)).collect();
        let clocks = reports.into_iter().map(|(name, report)| {
            let session = report.session();
            session
                .map_err(|source| FrameError::Report { report: name.to_owned(), source })
                .map(|one| clock_control(&one))
        });
        let clocks = clocks.collect::<Result<BTreeSet<_>, _>>()?;
        Ok(if clocks.len() == 1 { clocks.into_iter().flatten().next() } else { None })
    }

    /// Each metric at every launch.
    fn values(&self, metrics: &[&str]) -> Result<Vec<Vec<LaunchMetric>>, FrameError> {
        let mut values = vec![Vec::with_capacity(self.launches.len()); metrics.len()];
        for (capture, launch) in self.launches {
            let of_launch = capture.metrics_of(launch)?;
            values.iter_mut().zip(metrics).for_each(|(values, name)| values.push(of_launch.metric(name)));
        }
        Ok(values)
    }

    /// Writes columns, and the median of the usual metrics over the launches of each row.
    fn table(&self, mut columns: Vec<ListColumn>, rows: &[Vec<usize>], out: &mut String) -> Result<(), FrameError> {
        let (mut missing, mut is_timed): (Vec<&str>, bool) = (Vec::new(), false);
        let mut outside: Option<(String, Vec<&str>)> = None;
        for ((name, head), values) in USUAL.into_iter().zip(self.values(&USUAL.map(|(name, _)| name))?) {
            if values.iter().all(|value| value.number().is_none()) {
                let is_missing = values.iter().any(|value| matches!(value, LaunchMetric::NotCollected(_)));
                missing.extend(is_missing.then_some(name));
                let problem = values.iter().find_map(|value| match value {
                    LaunchMetric::Undefined(problem @ MetricError::Chip { .. }) => Some(problem.to_string()),
                    _ => None,
                });
                if let (Some(problem), false) = (problem, is_missing) {
                    outside.get_or_insert((problem, Vec::new())).1.push(name);
                }
                continue;
            }
            let unit = Catalogue::embedded().get(name).map_or("", |metric| metric.unit.as_str());
            let middle = |row: &Vec<usize>| {
                let numbers: Vec<f64> = row.iter().filter_map(|at| values.get(*at)?.number()).collect();
                median(&numbers).ok()
            };
            let cells = rows.iter().map(|row| middle(row).map_or_else(|| "-".to_owned(), |value| cell(value, unit)));
            columns.push((Column::number(head).minor(), cells.collect()));
            is_timed |= name == "duration";
        }
        write(columns, self.columns, out);
        if let Some(clocks) = self.clocks()?.filter(|_| is_timed) {
            line(out, &format!("times under ncu: {clocks}"));
        }
        if !missing.is_empty() {
            line(out, &format!("note: not collected: {}; `ncu --set full` collects them", missing.join(", ")));
        }
        if let Some((problem, names)) = outside {
            line(out, &format!("note: not shown: {}: {problem}", names.join(", ")));
        }
        Ok(())
    }

    /// The chosen metrics in base units.
    pub fn chosen(&self, metrics: &MetricChoice, out: &mut String) -> Result<(), FrameError> {
        let mut cells = vec![vec!["-".to_owned(); self.launches.len()]; metrics.names.len()];
        for (at, (capture, launch)) in self.launches.iter().enumerate() {
            rows::metrics::<FrameError>(capture, launch, metrics.columns(), |row| {
                let column = metrics.names.get_index_of(row.metric).and_then(|column| cells.get_mut(column));
                let cell = column.and_then(|column| column.get_mut(at)).filter(|cell| *cell == "-");
                if let Some(cell) = cell {
                    *cell = number(&row.value);
                }
                Ok(())
            })?;
        }
        let mut columns = self.launch_columns()?;
        columns.extend(metrics.names.iter().zip(cells).map(|(name, cells)| {
            let head = match metrics.unit(name) {
                "" => name.clone(),
                unit => format!("{name} [{unit}]"),
            };
            (Column::number(head), cells)
        }));
        write(columns, self.columns, out);
        Ok(())
    }

    /// Whether the launches are those of several reports.
    fn is_of_several(&self) -> bool {
        self.launches.windows(2).any(|pair| matches!(pair, [a, b] if a.0.name != b.0.name))
    }

    /// Report, id, kernel, grid, block, stream and NVTX ranges; report and stream only if there are several.
    fn launch_columns(&self) -> Result<Vec<ListColumn>, FrameError> {
        let text = |head: &str, of: &dyn Fn(&CaptureLaunch<'_>) -> String| {
            (Column::text(head), self.launches.iter().map(|launch| clean(&of(launch))).collect())
        };
        let mut columns: Vec<ListColumn> = Vec::new();
        columns.extend(self.is_of_several().then(|| text("report", &|(capture, _)| capture.name.to_owned())));
        columns.push(text("launch", &|(_, launch)| launch.id().to_string()));
        let names: Vec<String> = self.launches.iter().map(|(_, launch)| full_name(launch)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let short = short_names(&names).into_iter().map(|name| clean(&name));
        columns.push((Column::text("kernel"), short.collect()));
        columns.push(text("grid", &|(_, launch)| dimensions(launch.grid())));
        columns.push(text("block", &|(_, launch)| dimensions(launch.block())));
        let streams: BTreeSet<Option<u32>> = self.launches.iter().map(|(_, launch)| launch.stream()).collect();
        if streams.len() > 1 {
            let stream = |launch: &Launch<'_>| launch.stream().map_or_else(|| "-".to_owned(), |s| s.to_string());
            columns.push(text("stream", &|(_, launch)| stream(launch)));
        }
        if self.nvtx {
            let ranges: Vec<String> = self
                .launches
                .iter()
                .map(|(c, launch)| Ok(clean(&rows::ranges(c.name, launch)?)))
                .collect::<Result<_, FrameError>>()?;
            columns.push((Column::text("nvtx"), ranges));
        }
        Ok(columns)
    }
}

/// The demangled name, or a text for ranges and graphs.
fn full_name(launch: &Launch<'_>) -> String {
    match launch.demangled_name() {
        name if !name.is_empty() => name.into_owned(),
        _ => kernel_name(launch),
    }
}

/// A value with its unit, if the head does not say it.
fn cell(value: f64, unit: &str) -> String {
    match unit {
        "%" => number::share(value),
        "ns" | "byte/block" => number::with_unit(value, unit),
        _ => number::plain(value),
    }
}

fn write(columns: Vec<ListColumn>, width: Option<usize>, out: &mut String) {
    let rows = columns.first().map_or(0, |(_, cells)| cells.len());
    let (heads, cells): (Vec<Column>, Vec<Vec<String>>) = columns.into_iter().unzip();
    let mut table = DocumentTable { is_whole: true, ..DocumentTable::new("Launches", heads) };
    for row in 0..rows {
        table.row(cells.iter().map(|cells| TableCell::new(cells.get(row).cloned().unwrap_or_default())).collect());
    }
    out.push_str(&terminal_blocks(&[DocumentBlock::Table(table)], width));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_columns_are_metrics_of_the_catalogue() {
        assert!(USUAL.iter().all(|(name, _)| Catalogue::embedded().get(name).is_some()));
    }
}
