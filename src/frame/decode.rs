//! Decodes the metrics of a whole report into columns: in parallel, in file order, page by page.

use rayon::prelude::*;

use super::launches::cell;
use crate::ncu_rep::bulk::{self, Turn};
use crate::ncu_rep::{MetricSelection, MetricValue, Report, ReportError};

/// Metrics that the launches frame needs, whatever is selected.
const ATTRIBUTES: [&str; 8] = [
    "launch__device_id",
    "device__attribute_display_name",
    "device__attribute_compute_capability_major",
    "device__attribute_compute_capability_minor",
    "device__attribute_multiprocessor_count",
    "launch__cluster_dim_x",
    "launch__cluster_dim_y",
    "launch__cluster_dim_z",
];
/// Where each of them is in a launch's attributes.
pub(super) const DEVICE: usize = 0;
pub(super) const DEVICE_NAME: usize = 1;
pub(super) const CC_MAJOR: usize = 2;
pub(super) const CC_MINOR: usize = 3;
pub(super) const SM_COUNT: usize = 4;
pub(super) const CLUSTER: [usize; 3] = [5, 6, 7];

/// Marks a metric that has no slot.
const NONE: u32 = u32::MAX;

/// An attribute of a launch, if the launch has it.
#[derive(Debug, Clone, Default)]
pub(super) enum Attribute {
    #[default]
    Missing,
    Number(u64),
    Text(String),
}

impl Attribute {
    pub fn number(&self) -> Option<u32> {
        match self {
            Self::Number(number) => u32::try_from(*number).ok(),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl From<MetricValue<'_>> for Attribute {
    fn from(value: MetricValue<'_>) -> Self {
        match value {
            MetricValue::String(text) => Self::Text(text.into_owned()),
            other => other.as_u64().map_or(Self::Missing, Self::Number),
        }
    }
}

/// The attributes of a launch in the order of [`ATTRIBUTES`].
pub(super) type Attributes = [Attribute; ATTRIBUTES.len()];

/// The metrics of a report, launch after launch.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    /// Place of the name of each slot.
    pub names: Vec<u32>,
    /// Rows of each launch.
    pub rows: Vec<usize>,
    /// Attributes of the launches of the chunk that is being decoded.
    attributes: Vec<Attributes>,
    /// Slot of each row: which metric it is.
    pub slots: Vec<u32>,
    /// Number of each row; `None` for text and missing values.
    pub values: Vec<Option<f64>>,
    /// Text of the rows that have one.
    pub texts: Vec<(usize, String)>,
}

/// What is wanted of each name of the string tables.
struct Plan {
    /// Slot by place of the name, [`NONE`] for what is not selected.
    slots: Vec<u32>,
    /// Attribute by place of the name, [`NONE`] for what is none.
    attributes: Vec<u32>,
    names: Vec<u32>,
}

impl Plan {
    fn new(report: &Report, selection: MetricSelection<'_>) -> Self {
        let count = report.name_count();
        let mut plan = Self { slots: vec![NONE; count], attributes: vec![NONE; count], names: Vec::new() };
        match selection {
            MetricSelection::All => {
                plan.slots = (0..count as u32).collect();
                plan.names.clone_from(&plan.slots);
            }
            MetricSelection::Named(names) => {
                for id in names.iter().filter_map(|name| report.metric_place(name)) {
                    if let Some(slot) = plan.slots.get_mut(id as usize).filter(|slot| **slot == NONE) {
                        *slot = plan.names.len() as u32;
                        plan.names.push(id);
                    }
                }
            }
        }
        for (index, name) in ATTRIBUTES.iter().enumerate() {
            if let Some(slot) = report.metric_place(name).and_then(|id| plan.attributes.get_mut(id as usize)) {
                *slot = index as u32;
            }
        }
        plan
    }

    /// Decodes the launches `first..end`.
    fn decode(&self, report: &Report, first: usize, end: usize) -> Result<Decoded, ReportError> {
        let mut out = Decoded::default();
        let rows = report.heads(first, end).iter().map(|head| head.metric_count as usize).sum::<usize>();
        let rows = rows.min((end - first).saturating_mul(self.names.len()));
        out.slots.reserve(rows);
        out.values.reserve(rows);
        let mut scan = bulk::Scan::new(report);
        for launch in first..end {
            let before = out.slots.len();
            let mut attributes = Attributes::default();
            scan.launch(launch, |id, body, turn| {
                let slot = self.slots.get(id as usize).copied().unwrap_or(NONE);
                let attribute = self.attributes.get(id as usize).copied().unwrap_or(NONE);
                if slot == NONE && attribute == NONE {
                    return Ok(());
                }
                let value = body.value()?;
                if slot != NONE {
                    match turn {
                        Turn::First => out.push(slot, &value),
                        Turn::Again => out.replace(before, slot, &value),
                    }
                }
                if let Some(place) = attributes.get_mut(attribute as usize) {
                    *place = value.into();
                }
                Ok(())
            })?;
            out.rows.push(out.slots.len() - before);
            out.attributes.push(attributes);
        }
        Ok(out)
    }
}

impl Decoded {
    fn push(&mut self, slot: u32, value: &MetricValue<'_>) {
        let (number, text) = cell(value);
        if let Some(text) = text {
            self.texts.push((self.slots.len(), text));
        }
        self.slots.push(slot);
        self.values.push(number);
    }

    /// Gives the row of `slot` of the launch that starts at row `first` another value.
    fn replace(&mut self, first: usize, slot: u32, value: &MetricValue<'_>) {
        let rows = self.slots.get(first..).unwrap_or_default();
        let Some(row) = rows.iter().position(|other| *other == slot).map(|row| first + row) else { return };
        let (number, text) = cell(value);
        if let Some(place) = self.values.get_mut(row) {
            *place = number;
        }
        self.texts.retain(|(at, _)| *at != row);
        if let Some(text) = text {
            let at = self.texts.partition_point(|(other, _)| *other < row);
            self.texts.insert(at, (row, text));
        }
    }

    fn append(&mut self, mut part: Self) {
        let first = self.slots.len();
        self.rows.append(&mut part.rows);
        self.attributes.append(&mut part.attributes);
        self.slots.append(&mut part.slots);
        self.values.append(&mut part.values);
        self.texts.extend(part.texts.into_iter().map(|(row, text)| (first + row, text)));
    }
}

/// Decodes the selected metrics of all launches. `chunk` is called with the ordinal of the first launch and the
/// attributes of those decoded since the last call, while their pages are in memory.
pub(super) fn metrics(
    report: &Report,
    selection: MetricSelection<'_>,
    mut chunk: impl FnMut(usize, &[Attributes]) -> Result<(), ReportError>,
) -> Result<Decoded, ReportError> {
    let plan = Plan::new(report, selection);
    let mut decoded = Decoded::default();
    for (first, end) in report.chunks() {
        let pieces = (rayon::current_num_threads() * 4).min(end - first).max(1);
        let size = (end - first).div_ceil(pieces);
        let starts: Vec<usize> = (first..end).step_by(size).collect();
        let parts: Result<Vec<Decoded>, ReportError> =
            starts.par_iter().map(|&start| plan.decode(report, start, (start + size).min(end))).collect();
        for part in parts? {
            decoded.append(part);
        }
        chunk(first, &decoded.attributes)?;
        decoded.attributes.clear();
        report.release(first, end);
    }
    decoded.names = plan.names;
    Ok(decoded)
}
