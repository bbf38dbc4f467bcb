//! The results of a search, for people.

use super::document::{CellTone, Column, DocumentBlock, DocumentTable, Section, TableCell};
use super::number;
use ncugate_model::{CleanText, SearchRecord, TriedOutcome, TriedPoint};
use std::collections::{BTreeMap, BTreeSet};

/// The search of a run, if it finished.
pub fn search(records: &[SearchRecord]) -> Option<Section> {
    let (mut began, mut points, mut ended) = (None, Vec::new(), None);
    for record in records {
        match record {
            SearchRecord::Began(record) => began = Some(record),
            SearchRecord::Proposed { .. } => {}
            SearchRecord::Tried(tried) => points.push(tried),
            SearchRecord::Ended(record) => ended = Some(record),
        }
    }
    let (began, ended) = (began?, ended?);
    let all = began.combinations.map_or_else(|| "more than can be counted".to_owned(), |n| number::plain(n as f64));
    let codes: BTreeSet<&String> = points.iter().filter_map(|tried| tried.code.as_ref()).collect();
    let different = match codes.len() {
        0 => String::new(),
        codes => format!(" ({codes} different machine codes)"),
    };
    let time = |tried: &&TriedPoint| match tried.outcome {
        TriedOutcome::Timed { us } => Some(us),
        TriedOutcome::Failed { .. } => None,
    };
    let summary = format!(
        "{} variants{different} of {all} combinations were tried in {:.0} s by strategy {} with seed {}. {} of them have a time, \
         from {} rounds of each machine code. The search stopped because {}.",
        points.len(),
        ended.seconds,
        began.strategy,
        began.seed,
        points.iter().filter_map(time).count(),
        began.rounds,
        ended.why,
    );
    let mut table =
        DocumentTable::new("Measured in full", vec![Column::text("variant"), Column::number("few samples (µs)")]);
    for variant in &ended.finalists {
        let us = points.iter().find(|tried| tried.variant == *variant).and_then(time);
        let few = us.map_or_else(|| TableCell::missing("not tried"), |us| TableCell::value(us, number::plain(us)));
        table.row(vec![TableCell::of(variant.0.as_str(), CellTone::Code), few]);
    }
    let failures = Section::of_lines("Not timed", failures(&points));
    let blocks = [DocumentBlock::Text(number::text::line(&summary))].into_iter().chain(table.block()).chain(failures);
    Some(Section::part("search", "Search", "", blocks.collect()))
}

/// Reasons with their number of variants, the most frequent first.
fn failures(points: &[&TriedPoint]) -> Vec<String> {
    let mut counts: BTreeMap<CleanText, u32> = BTreeMap::new();
    for tried in points {
        if let TriedOutcome::Failed { reason } = &tried.outcome {
            let reason = reason.split([':', ';', '(']).next().unwrap_or_default().trim();
            *counts.entry(CleanText::from(reason)).or_default() += 1;
        }
    }
    let mut counts: Vec<(CleanText, u32)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().map(|(why, many)| format!("{many}: {why}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::markdown_blocks;
    use ncugate_model::{ProposedPoint, SearchEnd, SearchStart, VariantId};

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
    fn a_search_is_its_summary_its_finalists_and_its_failures() {
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
        let section = markdown_blocks(&[search(&records).unwrap().into()], 2);
        for part in [
            "4 variants (2 different machine codes) of 20,000 combinations",
            "4 variants were built",
            "| A=2",
            "- 1: does not build",
        ] {
            assert!(section.contains(part), "{part}: {section}");
        }
        assert_eq!(search(&records[..6]), None, "a search that has not ended is not shown");
    }
}
