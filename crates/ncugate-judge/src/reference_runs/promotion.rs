//! Promotes a run to an entry: only on request, with the differences shown, and never to a worse entry by default.

use super::{Leaderboard, LeaderboardEntry, Lookup};
use crate::Judgement;
use crate::store::StoreError;
use jiff::Timestamp;
use ncugate_model::expr::Owner;
use ncugate_model::{Better, ShapeName};

/// Why a run's own judgement, without stored runs, does not allow promotion; `None` if it does.
///
/// Gates that read a stored run are open in this judgement and do not prevent promotion, since promotion provides
/// that run.
pub fn unfit(judgement: &Judgement) -> Option<String> {
    judgement.stops(&[Owner::Best, Owner::Previous])
}

/// Whether to accept an entry that is worse than the present one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegressionPolicy {
    Refuse,
    /// Accept it, and record that in the entry.
    Accept,
}

/// A metric of the present entry and of the new one.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub shape: ShapeName,
    pub metric: String,
    /// Before; `None` if it was not measured.
    pub before: Option<f64>,
    /// After; `None` if it is no longer measured.
    pub after: Option<f64>,
}

/// Why an entry is rejected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The run is already the present entry.
    #[error("run {run} is already the entry '{name}'")]
    Already { run: String, name: String },
    #[error(
        "{metric} is {after} at '{shape}', the current entry '{name}' has {before}; --accept-worse promotes the run anyway"
    )]
    Worse { name: String, metric: String, shape: ShapeName, before: f64, after: f64 },
    /// The objectives differ, so the entries cannot be ranked.
    #[error(
        "the run was selected by {after}, the current entry '{name}' by {before}; --accept-worse promotes the run anyway"
    )]
    Objective { name: String, before: String, after: String },
}

/// An entry compared with the one it would replace.
#[derive(Debug)]
pub struct Promotion {
    entry: LeaderboardEntry,
    replaced: Option<LeaderboardEntry>,
}

impl Promotion {
    /// Finds the entry to be replaced: the present one with the same name and conditions.
    pub fn new(board: &Leaderboard, entry: LeaderboardEntry) -> Self {
        let replaced = match board.standing(&entry.name, &entry.conditions) {
            Lookup::Alike(present) => Some(present.clone()),
            Lookup::Unlike(..) | Lookup::Absent => None,
        };
        Self { entry, replaced }
    }

    pub fn replaced(&self) -> Option<&LeaderboardEntry> {
        self.replaced.as_ref()
    }

    /// Every metric of both entries, by shape.
    pub fn changes(&self) -> Vec<Change> {
        let before = self.replaced.iter().flat_map(|e| &e.readings);
        let mut keys: Vec<(&ShapeName, &str)> = Vec::new();
        for reading in self.entry.readings.iter().chain(before) {
            let key = (&reading.shape, reading.metric.as_str());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let of = |(shape, metric): (&ShapeName, &str)| Change {
            shape: shape.clone(),
            metric: metric.to_owned(),
            before: self.replaced.as_ref().and_then(|e| e.reading(shape, metric)),
            after: self.entry.reading(shape, metric),
        };
        keys.into_iter().map(of).collect()
    }

    /// Why the entry needs explicit acceptance.
    pub fn refusal(&self) -> Option<Refusal> {
        let before = self.replaced.as_ref()?;
        let (old, new) = (&before.objective, &self.entry.objective);
        let name = self.entry.name.clone();
        if before.run == self.entry.run && before.variant == self.entry.variant {
            return Some(Refusal::Already { run: self.entry.run.clone(), name });
        }
        if (&old.metric, &old.shape, old.better) != (&new.metric, &new.shape, new.better) {
            let said = |s: &super::ObjectiveValue| format!("{} at '{}'", s.metric, s.shape);
            return Some(Refusal::Objective { name, before: said(old), after: said(new) });
        }
        let worse = match new.better {
            // A repeated measurement of the same machine code is neither better nor worse; it joins the series.
            _ if before.is_same_code(&self.entry) => false,
            Better::Higher => new.value < old.value,
            Better::Lower | Better::Context => new.value > old.value,
        };
        worse.then(|| Refusal::Worse {
            name,
            metric: new.metric.clone(),
            shape: new.shape.clone(),
            before: old.value,
            after: new.value,
        })
    }

    /// Appends the entry with promotion time `now`; a refusal leaves the leaderboard unchanged.
    pub fn settle(
        mut self,
        board: &mut Leaderboard,
        worse: RegressionPolicy,
        now: Timestamp,
    ) -> Result<Option<Refusal>, StoreError> {
        match (self.refusal(), worse) {
            (Some(refusal @ Refusal::Already { .. }), _) | (Some(refusal), RegressionPolicy::Refuse) => {
                return Ok(Some(refusal));
            }
            (Some(_), RegressionPolicy::Accept) => self.entry.accepted_worse = true,
            (None, _) => {}
        }
        self.entry.promoted = now;
        board.append(self.entry)?;
        Ok(None)
    }
}
