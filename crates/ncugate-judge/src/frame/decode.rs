//! Decodes the metrics of a whole report into columns: in parallel, in file order, page by page.

use std::borrow::Cow;

use rayon::prelude::*;

use ncu_rep::bulk::{BulkReader, Occurrence};
use ncu_rep::{MetricSelection, MetricValue, Report, ReportError};

/// Metrics that the launches frame always needs.
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
/// Their indices in a launch's attributes.
pub(super) const DEVICE: usize = 0;
pub(super) const DEVICE_NAME: usize = 1;
pub(super) const CC_MAJOR: usize = 2;
pub(super) const CC_MINOR: usize = 3;
pub(super) const SM_COUNT: usize = 4;
pub(super) const CLUSTER: [usize; 3] = [5, 6, 7];

/// Marks a metric without a slot.
const NONE: u32 = u32::MAX;

/// An attribute of a launch, if present.
#[derive(Debug, Clone, Default)]
pub(super) enum LaunchAttribute<'r> {
    #[default]
    Missing,
    Number(u64),
    Text(Cow<'r, str>),
}

impl LaunchAttribute<'_> {
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

impl<'r> From<MetricValue<'r>> for LaunchAttribute<'r> {
    fn from(value: MetricValue<'r>) -> Self {
        match value {
            MetricValue::String(text) => Self::Text(text),
            other => other.as_u64().map_or(Self::Missing, Self::Number),
        }
    }
}

/// The attributes of a launch in the order of [`ATTRIBUTES`].
pub(super) type Attributes<'r> = [LaunchAttribute<'r>; ATTRIBUTES.len()];

/// The metrics of a report, launch after launch.
#[derive(Debug, Default)]
pub(super) struct ReportMetrics<'r> {
    /// Name index of each slot.
    pub names: Vec<u32>,
    /// Pieces in report order.
    pub pieces: Vec<Piece<'r>>,
}

/// The metrics of consecutive launches.
#[derive(Debug, Default)]
pub(super) struct Piece<'r> {
    /// Number of rows per launch.
    pub counts: Vec<usize>,
    /// Slot of each row, which identifies the metric.
    pub slots: Vec<u32>,
    /// Value of each row; undefined for rows in `missing`.
    pub numbers: Vec<f64>,
    /// Rows without a number (texts and missing values), in order.
    pub missing: Vec<usize>,
    /// The rows with a text, in order.
    pub texts: Vec<(usize, Cow<'r, str>)>,
    attributes: Vec<Attributes<'r>>,
}

/// The slots and attributes to decode for each name of the string tables.
struct Plan {
    /// Slot by name index; [`NONE`] if the name is not selected.
    slots: Vec<u32>,
    /// Attribute by name index; [`NONE`] if the name is not an attribute.
    attributes: Vec<u32>,
    names: Vec<u32>,
}

impl Plan {
    fn new(bulk: BulkReader<'_>, selection: MetricSelection<'_>) -> Self {
        let count = bulk.name_count();
        let mut plan = Self { slots: vec![NONE; count], attributes: vec![NONE; count], names: Vec::new() };
        match selection {
            MetricSelection::All => {
                plan.slots = (0..count as u32).collect();
                plan.names.clone_from(&plan.slots);
            }
            MetricSelection::Named(names) => {
                for id in names.iter().filter_map(|name| bulk.place_of(name)) {
                    if let Some(slot) = plan.slots.get_mut(id as usize).filter(|slot| **slot == NONE) {
                        *slot = plan.names.len() as u32;
                        plan.names.push(id);
                    }
                }
            }
        }
        for (index, name) in ATTRIBUTES.iter().enumerate() {
            if let Some(slot) = bulk.place_of(name).and_then(|id| plan.attributes.get_mut(id as usize)) {
                *slot = index as u32;
            }
        }
        plan
    }

    /// Decodes the launches `first..end`.
    fn decode<'r>(&self, bulk: BulkReader<'r>, first: usize, end: usize) -> Result<Piece<'r>, ReportError> {
        let mut piece = Piece::default();
        let rows = bulk.metric_count(first..end).min((end - first).saturating_mul(self.names.len()));
        piece.slots.reserve(rows);
        piece.numbers.reserve(rows);
        let mut scan = bulk.scan();
        for launch in first..end {
            let before = piece.rows();
            let mut attributes = Attributes::default();
            scan.launch(launch, |place, value, occurrence| {
                let slot = self.slots.get(place as usize).copied().unwrap_or(NONE);
                let attribute = self.attributes.get(place as usize).copied().unwrap_or(NONE);
                if slot != NONE {
                    match (occurrence, value.number()) {
                        (Occurrence::First, Some(number)) => piece.push_number(slot, number),
                        (Occurrence::First, None) => piece.push(slot, &value.value()?),
                        (Occurrence::Repeated, _) => piece.replace(before, slot, &value.value()?),
                    }
                }
                if let Some(known) = attributes.get_mut(attribute as usize) {
                    *known = value.value()?.into();
                }
                Ok(())
            })?;
            piece.counts.push(piece.rows() - before);
            piece.attributes.push(attributes);
        }
        Ok(piece)
    }
}

impl<'r> Piece<'r> {
    pub fn rows(&self) -> usize {
        self.slots.len()
    }

    pub fn push(&mut self, slot: u32, value: &MetricValue<'r>) {
        let (number, text) = cell(value);
        let row = self.rows();
        self.texts.extend(text.map(|text| (row, text)));
        self.missing.extend(number.is_none().then_some(row));
        self.push_number(slot, number.unwrap_or_default());
    }

    /// Adds a row that has no text.
    #[inline]
    fn push_number(&mut self, slot: u32, number: f64) {
        self.slots.push(slot);
        self.numbers.push(number);
    }

    /// Appends consecutive launches.
    fn append(&mut self, mut next: Self) {
        let first = self.rows();
        self.counts.append(&mut next.counts);
        self.slots.append(&mut next.slots);
        self.numbers.append(&mut next.numbers);
        self.missing.extend(next.missing.into_iter().map(|row| first + row));
        self.texts.extend(next.texts.into_iter().map(|(row, text)| (first + row, text)));
        self.attributes.append(&mut next.attributes);
    }

    /// Replaces the value in the row of `slot` of the launch that starts at row `first`.
    fn replace(&mut self, first: usize, slot: u32, value: &MetricValue<'r>) {
        let rows = self.slots.get(first..).unwrap_or_default();
        let Some(row) = rows.iter().position(|other| *other == slot).map(|row| first + row) else { return };
        let (number, text) = cell(value);
        if let Some(place) = self.numbers.get_mut(row) {
            *place = number.unwrap_or_default();
        }
        self.missing.retain(|other| *other != row);
        if number.is_none() {
            let at = self.missing.partition_point(|other| *other < row);
            self.missing.insert(at, row);
        }
        self.texts.retain(|(other, _)| *other != row);
        if let Some(text) = text {
            let at = self.texts.partition_point(|(other, _)| *other < row);
            self.texts.insert(at, (row, text));
        }
    }
}

/// A value as stored in the `value` and `text` columns.
pub(super) fn cell<'r>(value: &MetricValue<'r>) -> (Option<f64>, Option<Cow<'r, str>>) {
    match value {
        MetricValue::String(text) => (None, Some(text.clone())),
        MetricValue::U64(integer) if *integer > 1 << 53 && *integer as f64 as u128 != u128::from(*integer) => {
            (value.as_f64(), Some(integer.to_string().into()))
        }
        other => (other.as_f64(), None),
    }
}

/// Decodes the selected metrics of all launches. `part` runs on many threads while the pages are in memory; it
/// receives the ordinal of the first launch in a chunk and the attributes. `keep` receives the results in file order.
pub(super) fn metrics<'r, P: Send>(
    report: &'r Report,
    selection: MetricSelection<'_>,
    part: impl Fn(usize, &[Attributes<'r>]) -> Result<P, ReportError> + Sync,
    mut keep: impl FnMut(P),
) -> Result<ReportMetrics<'r>, ReportError> {
    let bulk = report.bulk();
    let plan = Plan::new(bulk, selection);
    let mut pieces: Vec<Piece<'r>> = Vec::new();
    for launches in bulk.chunks() {
        let (first, end) = (launches.start, launches.end);
        let is_whole = end - first == report.launches().len();
        if !is_whole && pieces.is_empty() {
            // For a report in many chunks this thread fills one piece, so that the memory of the parts is reused.
            pieces.push(Piece::default());
        }
        let count = (rayon::current_num_threads() * 4).min(end - first).max(1);
        let size = (end - first).div_ceil(count);
        let starts: Vec<usize> = (first..end).step_by(size).collect();
        let decode = |&start: &usize| {
            let mut piece = plan.decode(bulk, start, (start + size).min(end))?;
            Ok((part(start, &std::mem::take(&mut piece.attributes))?, piece))
        };
        let decoded: Result<Vec<(P, Piece<'r>)>, ReportError> = starts.par_iter().map(decode).collect();
        for (part, piece) in decoded? {
            keep(part);
            match pieces.last_mut() {
                Some(all) if !is_whole => all.append(piece),
                _ => pieces.push(piece),
            }
        }
        bulk.release(launches);
    }
    Ok(ReportMetrics { names: plan.names, pieces })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_are_joined_are_the_piece_of_all_their_launches() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/g12.ncu-rep.zst");
        let report = Report::open(path).unwrap();
        let bulk = report.bulk();
        let plan = Plan::new(bulk, MetricSelection::All);
        let whole = plan.decode(bulk, 0, 12).unwrap();
        let mut joined = plan.decode(bulk, 0, 5).unwrap();
        joined.append(plan.decode(bulk, 5, 12).unwrap());
        assert!(!whole.missing.is_empty() && !whole.texts.is_empty());
        assert_eq!(format!("{joined:?}"), format!("{whole:?}"));
    }
}
