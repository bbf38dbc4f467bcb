//! Comparisons of synthetic sides.

use super::*;
use crate::document::{html, markdown, terminal};
use crate::fixture::Fixture;
use crate::model::Conclusion;
use indexmap::IndexMap;
use ncu_explain::{ChangeDirection, LaunchShape, MetricChange};
use ncugate_model::stats::Resampler;
use ncugate_model::{CleanText, ComputeCapability, Verdict};

fn subject(label: &str, latency: f64, occupancy: f64) -> ComparedSubject {
    // a small, deterministic spread around the median
    let samples: Vec<f64> = (0..60).map(|i| latency * (1.0 + 0.001 * f64::from(i % 7 - 3))).collect();
    let values = [("latency_p50", latency), ("achieved_occupancy", occupancy), ("sm__warps_active.sum", 7.0)];
    ComparedSubject {
        name: label.into(),
        label: label.into(),
        verdict: Some(if occupancy < 20.0 { Verdict::Fail } else { Verdict::Pass }),
        values: values.iter().map(|(name, value)| ((*name).into(), vec![*value])).collect(),
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
        subjects: subjects.iter().map(|(n, l, o)| ((*n).into(), subject(n, *l, *o))).collect(),
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
        (&[CleanText::from("gone@m")][..], &[CleanText::from("new@m")][..])
    );
    assert_eq!(compared.notes.len(), 2, "{:?}", compared.notes);
    assert!(compared.notes[0].starts_with("another GPU: one (compute capability 9.0"), "{}", compared.notes[0]);
    assert!(
        compared.notes[1].starts_with("latencies, rates and cache hits compare the GPUs too"),
        "{:?}",
        compared.notes
    );
    assert!(compared.gates[0].turned);
    assert!(
        compared
            .sentence
            .starts_with("Verdict Fail, then Pass; 2 pairs timed on both sides: 0 faster, 1 within noise, 1 slower"),
        "{}",
        compared.sentence
    );
}

#[test]
fn no_value_compares_the_code_alone_for_another_compute_capability() {
    let [a, mut b] = ["one", "two"].map(|gpu| side(gpu, gpu, Verdict::Pass, &[("same@m", 10.0, 25.0)]));
    let MeasurementSetup::Run(setup) = &mut b.measured_with else { panic!("a run") };
    setup.gpu.as_mut().unwrap().compute_capability = ComputeCapability::new(10, 0);
    let compared = RunComparison::new(&a, &b, &Resampler::default());
    assert!(compared.notes[1].starts_with("all values compare the GPUs too"), "{:?}", compared.notes);
    let same = RunComparison::new(&a, &a, &Resampler::default());
    assert_eq!(same.notes, Vec::<CleanText>::new());
}

#[test]
fn launches_that_overlap_are_noise() {
    let of = |values: [f64; 3]| ComparedSide {
        subjects: IndexMap::from([(
            "k".into(),
            ComparedSubject {
                label: "k".into(),
                values: IndexMap::from([("duration".into(), values.to_vec())]),
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
    let text = terminal(&compared.document(), Some(100));
    assert!(text.contains("registers  FAIL (67)  PASS (67)"), "{text}");
    assert!(text.contains("+10.0 %") && text.contains("only in A: gone@m"), "{text}");
    let file = markdown(&compared.document());
    assert!(
        file.contains("| slow&#64;\u{200b}m ")
            && file.contains("## Gates\n\n1 verdict changed")
            && file.contains("+10.0 %"),
        "{file}"
    );
    let page = html(&compared.document()).unwrap();
    assert!(page.contains("+10.0 %") && page.contains("changed") && page.contains("another GPU: one "));
    assert!(page.contains("only in A") && page.contains("only in B"));
    assert_eq!(page.matches("<script").count(), 1, "the page has its own script alone");
}

#[test]
fn a_long_name_has_a_line_of_its_own_on_a_terminal() {
    let name = "n".repeat(150);
    let a = side(&name, &name, Verdict::Fail, &[(&name, 10.0, 25.0)]);
    let compared = RunComparison::new(&a, &a, &Resampler::default());
    let row = |columns| -> String {
        let text = terminal(&compared.document(), columns);
        text.lines().skip_while(|line| !line.trim_start().starts_with("Variant")).nth(1).unwrap().trim().to_owned()
    };
    assert!(row(None).starts_with(&name) && row(None).contains("10 µs"), "{}", row(None));
    assert_eq!(row(Some(80)), name);
}

#[test]
fn hostile_names_stay_text() {
    let name = "</style><img src=x onerror=alert(1)>";
    let a = side(name, name, Verdict::Fail, &[(name, 10.0, 25.0)]);
    let compared = RunComparison::new(&a, &a, &Resampler::default());
    assert!(!html(&compared.document()).unwrap().contains("<img"));
    assert!(!markdown(&compared.document()).contains("<img"));
}

fn launches(name: &str, nanos: &[f64]) -> (CleanText, ComparedSubject) {
    let launched = LaunchedKernel {
        shape: LaunchShape::default(),
        first: 0,
        launches: nanos.len(),
        nanos: Some(nanos.iter().sum()),
    };
    let values = IndexMap::from([("duration".into(), nanos.to_vec())]);
    let (label, launched) = (name.into(), Some(launched));
    (name.into(), ComparedSubject { name: name.into(), label, values, launched, ..ComparedSubject::default() })
}

#[test]
fn kernels_come_by_time_with_their_change_and_the_side_that_has_them() {
    let side = |subjects: Vec<(CleanText, ComparedSubject)>| ComparedSide {
        subjects: subjects.into_iter().collect(),
        ..ComparedSide::default()
    };
    let a = side(vec![launches("small", &[10.0]), launches("large", &[100.0; 4]), launches("gone", &[60.0])]);
    let b = side(vec![launches("small", &[5.0]), launches("large", &[110.0; 4]), launches("new", &[30.0])]);
    let times = RunComparison::new(&a, &b, &Resampler::default()).times;
    let rows: Vec<(&str, &str, [Option<f64>; 2])> =
        times.iter().map(|time| (time.label.as_str(), time.presence.words(), time.medians)).collect();
    assert_eq!(
        rows,
        [
            ("large", "", [Some(100.0), Some(110.0)]),
            ("gone", "only in A", [Some(60.0), None]),
            ("new", "only in B", [None, Some(30.0)]),
            ("small", "", [Some(10.0), Some(5.0)]),
        ]
    );
    let change = times[0].change.as_ref().unwrap();
    assert_eq!((change.change.as_str(), change.judged), ("+10.0 %", ChangeDirection::Worse));
    assert_eq!((times[0].totals, times[0].launches), ([Some(400.0), Some(440.0)], [Some(4), Some(4)]));
    assert_eq!(times[1].change, None, "one side has nothing to compare with");
}

#[test]
fn a_case_of_a_run_is_paired_with_its_launches_and_their_times_are_of_one_kind() {
    let (key, mut run) = ("v@m".into(), subject("v@m", 10.0, 25.0));
    run.values.insert("duration".into(), vec![9_000.0]);
    let a = ComparedSide { subjects: IndexMap::from([(key, run)]), ..ComparedSide::default() };
    let (_, launched) = launches("v@m", &[8_000.0]);
    let (other, alone) = launches("other", &[1.0]);
    let subjects = IndexMap::from([("another key".into(), launched), (other, alone)]);
    let b = ComparedSide { subjects, ..ComparedSide::default() };
    let times = RunComparison::new(&a, &b, &Resampler::default()).times;
    assert_eq!(times[0].medians, [Some(9_000.0), Some(8_000.0)], "a latency does not compare with a duration");
    assert_eq!(times[0].change.as_ref().map(|change| change.metric.as_str()), Some("duration"));
}

/// Two reports of one program: identical kernels, one launch each.
#[test]
fn single_launches_are_not_called_better_or_worse_in_any_rendering() {
    let side = |kernels: &[(&str, &[f64])]| ComparedSide {
        subjects: kernels.iter().map(|(name, nanos)| launches(name, nanos)).collect(),
        ..ComparedSide::default()
    };
    let a = side(&[("slower", &[5_824.0]), ("faster", &[9_600.0]), ("one_side", &[7_000.0; 9])]);
    let b = side(&[("slower", &[5_952.0]), ("faster", &[9_504.0]), ("one_side", &[9_000.0])]);
    let compared = RunComparison::new(&a, &b, &Resampler::default());
    let changes: Vec<_> = compared.times.iter().filter_map(|time| time.change.as_ref()).collect();
    assert_eq!(changes.len(), 3);
    assert!(changes.iter().all(|change| change.judged == ChangeDirection::Neither), "{changes:?}");
    assert!(changes.iter().any(|change| change.change == "+2.2 %"), "the number stays: {changes:?}");
    assert_eq!(compared.notes.len(), 1);
    assert!(compared.notes[0].starts_with("too few launches (3 kernels)"), "{:?}", compared.notes);
    let page = html(&compared.document()).unwrap();
    let json = serde_json::to_string(&compared).unwrap();
    for text in [terminal(&compared.document(), None), markdown(&compared.document()), page.clone(), json] {
        let text = text.replace("not called better or worse", "");
        assert!(text.contains("+2.2 %") && text.contains("too few launches (3 kernels)"), "{text}");
        assert!(![", worse", ", better", "\"worse\"", "\"better\""].iter().any(|word| text.contains(word)), "{text}");
    }
    assert!(!page.contains("class=\"num worse") && !page.contains("class=\"num better"));
}
