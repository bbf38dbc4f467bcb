//! The way of the frames through a report: every metric of a launch by index, undecoded.

use super::error::ReportError;
use super::metric::{self, IdSet, MetricValue, RawMetrics};
use super::report::Report;
use super::wire::Message;

/// The largest integer below which a double holds every one.
const EXACT: u64 = 1 << 53;

/// Whether a launch had the metric before. Reports repeat some; NVIDIA's reader keeps the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    First,
    Again,
}

/// A metric's value that is not decoded yet.
pub(crate) struct Body<'r>(Option<Message<'r>>);

impl<'r> Body<'r> {
    /// The value, if it is one that a double holds exactly and is written as nearly all are. Faster than
    /// [`Body::value`], which is for every other.
    #[inline(always)]
    pub fn number(&self) -> Option<f64> {
        match metric::usual_value(self.0?.bytes)? {
            MetricValue::Double(value) => Some(value),
            MetricValue::U64(value) if value <= EXACT => Some(value as f64),
            _ => None,
        }
    }

    /// Decodes it.
    pub fn value(&self) -> Result<MetricValue<'r>, ReportError> {
        self.0.map_or(Ok(MetricValue::Missing), metric::value)
    }
}

/// Goes through launches, with the memory for one launch kept for the next.
pub(crate) struct Scan<'r> {
    report: &'r Report,
    seen: IdSet,
}

impl<'r> Scan<'r> {
    pub fn new(report: &'r Report) -> Self {
        Self { report, seen: IdSet::new(report.name_count()) }
    }

    /// Calls `metric` with the place of its name and the value of every metric of a launch.
    ///
    /// # Errors
    /// A damaged metric, and what `metric` returns.
    #[inline]
    pub fn launch(
        &mut self,
        index: usize,
        mut metric: impl FnMut(u32, Body<'r>, Turn) -> Result<(), ReportError>,
    ) -> Result<(), ReportError> {
        self.seen.clear();
        let Some(head) = self.report.heads(index, index + 1).first() else { return Ok(()) };
        let mut raw = RawMetrics::new(self.report.data(), head);
        loop {
            while let Some((place, body)) = raw.next_usual(self.report) {
                metric(place, Body(Some(body)), self.turn(place))?;
            }
            let Some(message) = raw.next() else { return Ok(()) };
            let message = message?;
            let (id, body) = metric::head(message)?;
            let place = self.report.place(id, &message)?;
            metric(place, Body(body), self.turn(place))?;
        }
    }

    #[inline]
    fn turn(&mut self, place: u32) -> Turn {
        if self.seen.insert(place) { Turn::First } else { Turn::Again }
    }
}
