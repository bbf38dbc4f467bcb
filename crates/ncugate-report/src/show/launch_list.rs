//! A table with a row for each launch.

use super::CaptureLaunch;
use super::metric_choice::MetricChoice;
use super::table::{clean, dimensions, kernel_name, line, number};
use crate::kernel_names::short_names;
use crate::number;
use crate::text_table::{Alignment, TextTable};
use ncugate_judge::frame::launches::FrameError;
use ncugate_judge::frame::rows::{self, AnyLaunch};
use ncugate_judge::frame::{LaunchMetric, LaunchMetrics};
use ncugate_model::metric::{Catalogue, MetricError};
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
/// Names take at most this many columns from the metrics; a longer name has its own line.
const NAME: usize = 24;

/// The launches to list.
pub(super) struct LaunchList<'a> {
    pub launches: &'a [CaptureLaunch<'a>],
    /// Whether NVTX ranges are shown.
    pub nvtx: bool,
    /// Columns of the terminal; none if the output is not a terminal.
    pub columns: Option<usize>,
}

/// The cells of a column, with its head.
struct ListColumn {
    cells: Vec<String>,
    alignment: Alignment,
}

impl ListColumn {
    fn new(head: &str, alignment: Alignment, cells: impl Iterator<Item = String>) -> Self {
        Self { cells: std::iter::once(head.to_owned()).chain(cells).collect(), alignment }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

impl LaunchList<'_> {
    /// Time, launch configuration and the usual metrics, as many as fit the terminal.
    pub fn usual(&self, out: &mut String) -> Result<(), FrameError> {
        let mut columns = self.launch_columns()?;
        let mut room =
            self.columns.map(|all| all.saturating_sub(columns.iter().map(|column| column.width().min(NAME) + 2).sum()));
        let mut missing: Vec<&str> = Vec::new();
        let mut outside: Option<(String, Vec<&str>)> = None;
        let mut usual: Vec<Vec<LaunchMetric>> = vec![Vec::with_capacity(self.launches.len()); USUAL.len()];
        for (capture, launch) in self.launches {
            let of_launch = LaunchMetrics::of_any(capture, launch)?;
            usual.iter_mut().zip(USUAL).for_each(|(values, (name, _))| values.push(of_launch.metric(name)));
        }
        for ((name, head), values) in USUAL.into_iter().zip(usual) {
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
            let cells = values.iter().map(|value| value.number().map_or_else(|| "-".to_owned(), |v| cell(v, unit)));
            let column = ListColumn::new(head, Alignment::Right, cells);
            let width = column.width() + 2;
            if room.is_some_and(|room| width > room) {
                continue;
            }
            room = room.map(|room| room - width);
            columns.push(column);
        }
        write(&columns, self.columns, out);
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
            ListColumn::new(&head, Alignment::Right, cells.into_iter())
        }));
        write(&columns, self.columns, out);
        Ok(())
    }

    /// Report, id, kernel, grid, block, stream and NVTX ranges; report and stream only if there are several.
    fn launch_columns(&self) -> Result<Vec<ListColumn>, FrameError> {
        let text = |head: &str, of: &dyn Fn(&CaptureLaunch<'_>) -> String| {
            ListColumn::new(head, Alignment::Left, self.launches.iter().map(|launch| clean(&of(launch))))
        };
        let mut columns = Vec::new();
        let is_several = self.launches.windows(2).any(|pair| matches!(pair, [a, b] if a.0.name != b.0.name));
        columns.extend(is_several.then(|| text("report", &|(capture, _)| capture.name.to_owned())));
        columns.push(text("launch", &|(_, launch)| launch.id().to_string()));
        let names: Vec<String> = self.launches.iter().map(|(_, launch)| full_name(launch)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let short = short_names(&names).into_iter().map(|name| clean(&name));
        columns.push(ListColumn::new("kernel", Alignment::Left, short));
        columns.push(text("grid", &|(_, launch)| dimensions(launch.grid())));
        columns.push(text("block", &|(_, launch)| dimensions(launch.block())));
        let streams: BTreeSet<Option<u32>> = self.launches.iter().map(|(_, launch)| launch.stream()).collect();
        if streams.len() > 1 {
            let stream = |launch: &AnyLaunch<'_>| launch.stream().map_or_else(|| "-".to_owned(), |s| s.to_string());
            columns.push(text("stream", &|(_, launch)| stream(launch)));
        }
        if self.nvtx {
            let ranges: Vec<String> = self
                .launches
                .iter()
                .map(|(c, launch)| Ok(clean(&launch.nvtx(c.name)?)))
                .collect::<Result<_, FrameError>>()?;
            columns.push(ListColumn::new("nvtx", Alignment::Left, ranges.into_iter()));
        }
        Ok(columns)
    }
}

/// The demangled name, or a text for ranges and graphs.
fn full_name(launch: &AnyLaunch<'_>) -> String {
    match launch.demangled() {
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

fn write(columns: &[ListColumn], width: Option<usize>, out: &mut String) {
    let mut table = TextTable::new(columns.iter().map(|column| column.alignment).collect());
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        table.push(columns.iter().map(|column| column.cells.get(row).cloned().unwrap_or_default()).collect());
    }
    table.write(out, width);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_columns_are_metrics_of_the_catalogue() {
        assert!(USUAL.iter().all(|(name, _)| Catalogue::embedded().get(name).is_some()));
    }
}
