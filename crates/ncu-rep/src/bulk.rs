//! Fast iteration over every metric of every launch, for readers that build tables.
//!
//! A metric is identified by the *place* of its name: an index into the distinct names of the report. Values are
//! decoded on demand, so that unused metrics cost a few nanoseconds. Large reports are processed in chunks, whose
//! pages are released afterwards. The launches of a chunk can be read in parallel, each thread with its own
//! [`MetricScan`].
//!
//! ```
//! use ncu_rep::bulk::Occurrence;
//!
//! # fn main() -> Result<(), ncu_rep::ReportError> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
//! # let report = ncu_rep::Report::open(path)?;
//! let bulk = report.bulk();
//! let duration = bulk.place_of("gpu__time_duration.sum");
//! let mut nanoseconds = 0.0;
//! for launches in bulk.chunks() {
//!     let mut scan = bulk.scan();
//!     for launch in launches.clone() {
//!         scan.launch(launch, |place, value, occurrence| {
//!             if Some(place) == duration && occurrence == Occurrence::First {
//!                 nanoseconds += value.number().unwrap_or(f64::NAN);
//!             }
//!             Ok(())
//!         })?;
//!     }
//!     bulk.release(launches);
//! }
//! assert_eq!(nanoseconds, report.launch(0).unwrap().metric("gpu__time_duration.sum")?.unwrap().as_f64().unwrap());
//! # Ok(())
//! # }
//! ```

use std::ops::Range;

use crate::error::ReportError;
use crate::index::Index;
use crate::metric::{self, IdSet, RawMetrics};
use crate::value::{self, MetricValue};
use crate::wire::Message;

/// The limit up to which a double represents every integer.
const EXACT: u64 = 1 << 53;

/// Whether the launch already had the metric. Some reports repeat metrics; NVIDIA's reader keeps the last value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    /// The first value of the metric in the launch.
    First,
    /// A repeated value, which replaces the previous one.
    Repeated,
}

/// An undecoded metric value.
#[derive(Debug, Clone, Copy)]
pub struct RawValue<'r>(Option<Message<'r>>);

impl<'r> RawValue<'r> {
    /// The value, if a double represents it exactly and it is encoded in the usual way; may be NaN. Faster than
    /// [`RawValue::value`], which handles every value.
    #[inline(always)]
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match value::usual_value(self.0?.bytes)? {
            MetricValue::Double(value) => Some(value),
            MetricValue::U64(value) if value <= EXACT => Some(value as f64),
            _ => None,
        }
    }

    /// Decodes it, in the base unit of the metric.
    ///
    /// # Errors
    /// A damaged value.
    pub fn value(&self) -> Result<MetricValue<'r>, ReportError> {
        self.0.map_or(Ok(MetricValue::Missing), value::decode)
    }
}

/// Names by place, chunks of launches, and scans over them.
#[derive(Debug, Clone, Copy)]
pub struct BulkReader<'r> {
    index: &'r Index,
}

impl<'r> BulkReader<'r> {
    pub(crate) fn new(index: &'r Index) -> Self {
        Self { index }
    }

    /// Number of places.
    #[must_use]
    pub fn name_count(&self) -> usize {
        self.index.names.len()
    }

    /// The metric's name at a place; empty for an invalid place.
    #[must_use]
    pub fn name(&self, place: u32) -> &'r str {
        self.index.names.name(place)
    }

    /// The place of a metric's full name; `None` when the report does not contain it.
    #[must_use]
    pub fn place_of(&self, name: &str) -> Option<u32> {
        self.index.names.place_of(name)
    }

    /// All launches by id, in groups of about 8 MiB; one group for a report up to 64 MiB.
    pub fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<'r> {
        self.index.chunks()
    }

    /// Maximum number of metrics in a launch, repetitions included.
    #[must_use]
    pub fn metric_count(&self, launches: Range<usize>) -> usize {
        self.index.heads(launches).iter().map(|head| head.metric_count as usize).sum()
    }

    /// Releases the pages of launches; the system reads them again on the next access. Does nothing for reports up to
    /// 64 MiB and for reports that are not mapped.
    pub fn release(&self, launches: Range<usize>) {
        self.index.release(launches);
    }

    /// Starts a scan of launches.
    #[must_use]
    pub fn scan(&self) -> MetricScan<'r> {
        MetricScan { index: self.index, seen: IdSet::new(self.name_count()) }
    }
}

/// A scan of launches, which reuses its memory from launch to launch.
#[derive(Debug)]
pub struct MetricScan<'r> {
    index: &'r Index,
    seen: IdSet,
}

impl<'r> MetricScan<'r> {
    /// Calls `metric` with the place of the name and the value of every metric of a launch, given by its id. An
    /// unknown launch has no metrics.
    ///
    /// # Errors
    /// A damaged metric, and errors of `metric`.
    #[inline]
    pub fn launch(
        &mut self,
        id: usize,
        mut metric: impl FnMut(u32, RawValue<'r>, Occurrence) -> Result<(), ReportError>,
    ) -> Result<(), ReportError> {
        self.seen.clear();
        let Some(head) = self.index.heads.get(id) else { return Ok(()) };
        let names = &self.index.names;
        let mut raw = RawMetrics::new(self.index.data(), head);
        loop {
            while let Some((place, body)) = raw.next_usual(names) {
                metric(place, RawValue(Some(body)), self.occurrence(place))?;
            }
            let Some(message) = raw.next() else { return Ok(()) };
            let (place, _, body) = metric::identify(names, message?)?;
            metric(place, RawValue(body), self.occurrence(place))?;
        }
    }

    #[inline]
    fn occurrence(&mut self, place: u32) -> Occurrence {
        if self.seen.insert(place) { Occurrence::First } else { Occurrence::Repeated }
    }
}
