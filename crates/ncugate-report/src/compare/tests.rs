//! Comparisons of synthetic sides.

use super::*;
use crate::fixture::Fixture;
use crate::metric_change::{ChangeDirection, MetricChange};
use crate::model::Conclusion;
use indexmap::IndexMap;
use ncugate_model::Verdict;
use ncugate_model::stats::Resampler;

fn subject(label: &str, latency: f64, occupancy: f64) -> ComparedSubject {
    // a small, deterministic spread around the median
    let samples: Vec<f64> = (0..60).map(|i| latency * (1.0 + 0.001 * f64::from(i % 7 - 3))).collect();
    let values = [("latency_p50", latency), ("achieved_occupancy", occupancy), ("sm__warps_active.sum", 7.0)];
    ComparedSubject {
        label: label.to_owned(),
        verdict: Some(if occupancy < 20.0 { Verdict::Fail } else { Verdict::Pass }),
        values: values.iter().map(|(name, value)| ((*name).to_owned(), vec![*value])).collect(),
        samples,
        launched: None,
    }
}

fn side(name: &str, gpu: &str, verdict: Verdict, subjects: &[(&str, f64, f64)]) -> ComparedSide {
    let mut report = Fixture::new(6).report();
    report.gates.retain(|gate| gate.name == "registers");
    report.gates[0].verdict = verdict;
    report.headline.conclusion = Conclusion::new(verdict, false);
    if let Some(known) = &mut report.provenance.fingerprint.gpu {
        known.name = gpu.to_owned();
    }
    ComparedSide {
        subjects: subjects.iter().map(|(n, l, o)| ((*n).to_owned(), subject(n, *l, *o))).collect(),
        ..ComparedSide::of_run(name, &report)
    }
}

fn compared() -> RunComparison {
    let a = side("a", "one", Verdict::Fail, &[("same@m", 10.0, 25.0), ("slow@m", 10.0, 25.0), ("gone@m", 1.0, 1.0)]);
    let b = side("b", "two", Verdict::Pass, &[("same@m", 10.0, 25.0), ("slow@m", 11.0, 15.0), ("new@m", 1.0, 1.0)]);
    RunComparison::new(&a, &b, &Resampler::default())
}

#[test]
fn a_change_within_noise_is_not_a_change() {
    let compared = compared();
    let latency = |name: &str| compared.pairs.iter().find(|p| p.name == name).and_then(|p| p.latency).unwrap();
    assert_eq!(latency("same@m").word(), "within noise");
    let slow = latency("slow@m");
    assert_eq!(slow.word(), "slower");
    assert!((slow.ratio - 1.1).abs() < 1e-9 && slow.interval.0 > 1.09 && slow.interval.1 < 1.11, "{slow:?}");
    assert_eq!(compared.pairs[0].name, "slow@m", "what changed comes first");
    assert_eq!(compared.pairs[0].turned, Some((Verdict::Pass, Verdict::Fail)));
    let occupancy = &compared.pairs[0].rows[1];
    assert_eq!((occupancy.change.as_str(), occupancy.judged), ("-10 pp", ChangeDirection::Worse));
}

#[test]
fn a_comparison_names_unpaired_variants_and_other_conditions() {
    let compared = compared();
    assert_eq!(
        (compared.only_a.as_slice(), compared.only_b.as_slice()),
        (&["gone@m".to_owned()][..], &["new@m".to_owned()][..])
    );
    assert_eq!(compared.notes.len(), 1, "{:?}", compared.notes);
    assert!(compared.notes[0].starts_with("another GPU: one (compute capability 9.0"), "{}", compared.notes[0]);
    assert!(compared.gates[0].turned);
    assert!(
        compared
            .sentence
            .starts_with("Verdict Fail, then Pass; of 2 timed on both sides 0 are faster, 1 within noise, 1 slower"),
        "{}",
        compared.sentence
    );
}

#[test]
fn launches_that_overlap_are_noise() {
    let of = |values: [f64; 3]| ComparedSide {
        subjects: IndexMap::from([(
            "k".to_owned(),
            ComparedSubject {
                label: "k".to_owned(),
                values: IndexMap::from([("duration".to_owned(), values.to_vec())]),
                ..ComparedSubject::default()
            },
        )]),
        ..ComparedSide::default()
    };
    let row =
        |a, b| -> MetricChange { RunComparison::new(&of(a), &of(b), &Resampler::default()).pairs[0].rows[0].clone() };
    let noisy = row([100.0, 110.0, 120.0], [115.0, 116.0, 117.0]);
    assert_eq!(noisy.judged, ChangeDirection::WithinNoise);
    let clear = row([100.0, 110.0, 120.0], [90.0, 91.0, 92.0]);
    assert_eq!(clear.judged, ChangeDirection::Better);
}

#[test]
fn every_rendering_of_a_comparison_has_the_same_numbers() {
    let compared = compared();
    let text = terminal(&compared, 100);
    assert!(text.contains("registers  fail (67), then pass (67)"), "{text}");
    assert!(text.contains("+10.0 %") && text.contains("only in A: gone@m"), "{text}");
    let file = markdown(&compared);
    assert!(
        file.contains("| slow&#64;\u{200b}m ") && file.contains("**turned**") && file.contains("+10.0 %"),
        "{file}"
    );
    let page = html(&compared).unwrap();
    assert!(page.contains("+10.0 %") && page.contains("turned") && page.contains("another GPU: one "));
    assert!(!page.contains("<script"));
}

#[test]
fn hostile_names_stay_text() {
    let name = "</style><img src=x onerror=alert(1)>";
    let a = side(name, name, Verdict::Fail, &[(name, 10.0, 25.0)]);
    let compared = RunComparison::new(&a, &a, &Resampler::default());
    assert!(!html(&compared).unwrap().contains("<img"));
    assert!(!markdown(&compared).contains("<img"));
}
