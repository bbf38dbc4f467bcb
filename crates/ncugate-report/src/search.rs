//! The results of a search, for people.

use super::number::{self, Number};
use ncugate_model::{CleanText, SearchEnd, SearchRecord, SearchStart, TriedOutcome, TriedPoint};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A search that chose the candidates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchRow {
    /// Number of variants tried, size of the space, method, and why the search stopped.
    pub summary: CleanText,
    /// Reasons for failures, with the number of variants, the most frequent first.
    pub failures: Vec<(CleanText, u32)>,
    /// The variants that were measured in full, best first by their few samples.
    pub finalists: Vec<FinalistRow>,
    /// Each new best: variants tried, seconds, microseconds.
    pub progress: Vec<(u32, f64, f64)>,
}

/// A variant that a search measured in full.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FinalistRow {
    pub variant: CleanText,
    /// The result from few samples, in microseconds.
    pub tried: Option<Number>,
}

/// The row of a run's search, if it finished.
pub fn row(records: &[SearchRecord]) -> Option<SearchRow> {
    let mut read = Read::default();
    for record in records {
        match record {
            SearchRecord::Began(began) => read.began = Some(began),
            SearchRecord::Proposed { .. } => {}
            SearchRecord::Tried(tried) => read.tried.push(tried),
            SearchRecord::Ended(ended) => read.ended = Some(ended),
        }
    }
    read.row()
}

/// The records by kind.
#[derive(Default)]
struct Read<'a> {
    began: Option<&'a SearchStart>,
    tried: Vec<&'a TriedPoint>,
    ended: Option<&'a SearchEnd>,
}

impl Read<'_> {
    fn row(&self) -> Option<SearchRow> {
        let (began, ended) = (self.began?, self.ended?);
        let all = began.combinations.map_or_else(|| "more than can be counted".to_owned(), |n| number::plain(n as f64));
        let codes: BTreeSet<&String> = self.tried.iter().filter_map(|tried| tried.code.as_ref()).collect();
        let different = match codes.len() {
            0 => String::new(),
            codes => format!(" ({codes} different machine codes)"),
        };
        let timed = self.timed().count();
        let summary = format!(
            "{} variants{different} of {all} combinations were tried in {:.0} s by strategy {} with seed {}. {timed} of them have a time, \
             from {} rounds of each machine code. The search stopped because {}.",
            self.tried.len(),
            ended.seconds,
            began.strategy,
            began.seed,
            began.rounds,
            ended.why,
        );
        Some(SearchRow {
            summary: summary.into(),
            failures: self.failures(),
            finalists: ended.finalists.iter().map(|variant| self.finalist(&variant.0)).collect(),
            progress: self.progress(),
        })
    }

    /// Timed trials: number of variants tried until then, seconds, microseconds.
    fn timed(&self) -> impl Iterator<Item = (u32, f64, f64)> {
        self.tried.iter().zip(1..).filter_map(|(tried, count)| match tried.outcome {
            TriedOutcome::Timed { us } => Some((count, tried.seconds, us)),
            TriedOutcome::Failed { .. } => None,
        })
    }

    fn progress(&self) -> Vec<(u32, f64, f64)> {
        let mut best = f64::INFINITY;
        let mut better = |&(_, _, us): &(u32, f64, f64)| {
            let is_better = us < best;
            best = best.min(us);
            is_better
        };
        self.timed().filter(|trial| better(trial)).collect()
    }

    fn failures(&self) -> Vec<(CleanText, u32)> {
        let mut counts: BTreeMap<CleanText, u32> = BTreeMap::new();
        for tried in &self.tried {
            if let TriedOutcome::Failed { reason } = &tried.outcome {
                let reason = reason.split([':', ';', '(']).next().unwrap_or_default().trim();
                *counts.entry(CleanText::from(reason)).or_default() += 1;
            }
        }
        let mut counts: Vec<(CleanText, u32)> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    fn finalist(&self, variant: &str) -> FinalistRow {
        let tried = self.tried.iter().find(|tried| tried.variant.0 == variant);
        FinalistRow {
            variant: variant.into(),
            tried: tried.and_then(|tried| match tried.outcome {
                TriedOutcome::Timed { us } => Some(Number::new(us)),
                TriedOutcome::Failed { .. } => None,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::{ProposedPoint, VariantId};

    fn tried(variant: &str, us: Option<f64>, seconds: f64) -> SearchRecord {
        let outcome = match us {
            Some(us) => TriedOutcome::Timed { us },
            None => TriedOutcome::Failed { reason: "does not build: /tmp/x.cu(3): error".to_owned() },
        };
        // Variants with equal times share machine code.
        let (variant, code) = (VariantId(variant.into()), us.map(|us| us.to_string()));
        SearchRecord::Tried(TriedPoint { batch: 0, variant, outcome, code, facts: BTreeMap::new(), seconds })
    }

    #[test]
    fn a_search_is_its_summary_its_progress_and_its_failures() {
        let began = SearchStart {
            key: String::new(),
            axes: vec!["A".to_owned()],
            combinations: Some(20_000),
            strategy: "elites".to_owned(),
            seed: 3,
            rounds: 8,
        };
        let point = ProposedPoint { variant: VariantId("A=2".into()), point: vec![1] };
        let ended = SearchEnd {
            why: "4 variants were built".to_owned(),
            finalists: vec![VariantId("A=2".into())],
            points: vec![vec![1]],
            seconds: 12.0,
        };
        let records = [
            SearchRecord::Began(began),
            SearchRecord::Proposed { batch: 0, points: vec![point], seconds: 0.1 },
            tried("A=1", Some(8.0), 1.0),
            tried("A=3", None, 2.0),
            tried("A=4", Some(8.0), 3.0),
            tried("A=2", Some(5.0), 4.0),
            SearchRecord::Ended(ended),
        ];
        let row = row(&records).unwrap();
        assert_eq!(row.progress, [(1, 1.0, 8.0), (4, 4.0, 5.0)]);
        assert_eq!(row.failures, [("does not build".into(), 1)]);
        assert!(row.summary.contains("4 variants were built"), "{}", row.summary);
        assert!(
            row.summary.starts_with("4 variants (2 different machine codes) of 20,000 combinations"),
            "{}",
            row.summary
        );
        assert_eq!(super::row(&records[..6]), None, "a search that has not ended is not shown");
    }
}
