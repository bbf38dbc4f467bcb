//! Times of kernels and variants on both sides, or on one.

use super::comparison::ComparedPair;
use super::side::ComparedSubject;
use ncu_explain::MetricChange;
use ncugate_model::metric::id;
use ncugate_model::stats::median;
use ncugate_model::{CleanText, MetricId, Verdict};
use serde::Serialize;

/// Kinds of time: the first that both sides have is compared.
const TIMES: [MetricId; 2] = [id::LATENCY_P50, id::DURATION];

/// A subject with its times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedTime {
    /// Short enough for a table.
    pub label: CleanText,
    /// The case, or the demangled name of the kernel.
    pub name: CleanText,
    pub presence: SidePresence,
    /// Median time on each side in nanoseconds: the latency of a run, the duration under ncu of a report.
    pub medians: [Option<f64>; 2],
    /// Total time of the launches of a report on each side in nanoseconds.
    pub totals: [Option<f64>; 2],
    /// Launches of a report on each side.
    pub launches: [Option<usize>; 2],
    /// Change of the median, if both sides have the same kind of time.
    pub change: Option<MetricChange>,
    pub turned: Option<(Verdict, Verdict)>,
    /// The difference in launch between the sides; none if they are alike.
    pub note: Option<CleanText>,
}

/// The sides that have a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SidePresence {
    Both,
    OnlyA,
    OnlyB,
}

impl SidePresence {
    pub const fn is_both(self) -> bool {
        matches!(self, Self::Both)
    }

    /// `only in A`; nothing for both.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Both => "",
            Self::OnlyA => "only in A",
            Self::OnlyB => "only in B",
        }
    }
}

impl ComparedTime {
    pub fn of_pair(a: &ComparedSubject, b: &ComparedSubject, pair: &ComparedPair) -> Self {
        // A latency and a duration under ncu are different kinds of time.
        let kind = TIMES.into_iter().find(|kind| [a, b].iter().all(|side| side.values.contains_key(&**kind)));
        let of = |side: &ComparedSubject| nanos(side, kind.as_ref()?);
        Self {
            label: pair.name.clone(),
            name: b.name.clone(),
            presence: SidePresence::Both,
            medians: [of(a), of(b)],
            totals: [total(a), total(b)],
            launches: [launches(a), launches(b)],
            change: kind.and_then(|kind| pair.rows.iter().find(|row| row.metric == *kind).cloned()),
            turned: pair.turned,
            note: pair.note.clone(),
        }
    }

    pub fn of_one(subject: &ComparedSubject, presence: SidePresence) -> Self {
        let on_side = |side: SidePresence| Some(subject).filter(|_| side == presence);
        let sides = [on_side(SidePresence::OnlyA), on_side(SidePresence::OnlyB)];
        Self {
            label: subject.label.clone(),
            name: subject.name.clone(),
            presence,
            medians: sides.map(|side| TIMES.iter().find_map(|kind| nanos(side?, kind))),
            totals: sides.map(|side| total(side?)),
            launches: sides.map(|side| launches(side?)),
            change: None,
            turned: None,
            note: None,
        }
    }

    /// The total time on the second side, else on the first.
    fn weight(&self) -> Option<f64> {
        self.totals[1].or(self.totals[0])
    }
}

/// Kernels of reports by their total time; variants of runs stay in their order.
pub fn sort(times: &mut [ComparedTime]) {
    times.sort_by(|x, y| y.weight().unwrap_or(-1.0).total_cmp(&x.weight().unwrap_or(-1.0)));
}

/// The median of a kind of time in nanoseconds.
fn nanos(subject: &ComparedSubject, kind: &MetricId) -> Option<f64> {
    let value = median(subject.values.get(&**kind)?).ok().filter(|value| value.is_finite())?;
    Some(if *kind == id::LATENCY_P50 { 1e3 * value } else { value })
}

fn total(subject: &ComparedSubject) -> Option<f64> {
    subject.launched.as_ref()?.nanos
}

fn launches(subject: &ComparedSubject) -> Option<usize> {
    subject.launched.as_ref().map(|launched| launched.launches)
}
