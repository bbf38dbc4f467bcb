//! The charts of a made-up run.

use super::charted::{Better, Standing, Verdict};
use super::svg::{Setting, draw};
use super::{
    Chart, ChartedGate, ChartedMetric, ChartedRun, ChartedShape, ChartedStage, ChartedValues, ChartedVariant,
    ChartedVerdict, Marks, Scale, WarpState, WarpStates, charts,
};
use roxmltree::Document;

const METRICS: [&str; 5] =
    ["latency_p50", "achieved_occupancy", "registers", "occupancy_limit_warps", "occupancy_limit_registers"];

/// A variant whose values, and samples, are these.
fn variant<'a>(id: &'a str, rank: usize, params: &'a [Option<String>], values: &'a [f64]) -> ChartedVariant<'a> {
    let measured = ChartedValues { values: values.iter().copied().map(Some).collect(), samples: values };
    ChartedVariant {
        id,
        label: id,
        name: None,
        short: id,
        standing: if rank == 0 { Standing::Baseline } else { Standing::Candidate },
        selected: rank == 1,
        rank: (rank > 0).then_some(rank),
        verdict: Verdict::Pass,
        params,
        shapes: vec![measured.clone(), measured],
        gates: vec![Some(ChartedVerdict { verdict: Verdict::Pass, text: "holds" })],
    }
}

/// A run of a baseline and of a candidate for every row of values.
fn run<'a>(
    params: &'a (Vec<String>, Vec<Vec<Option<String>>>),
    dims: &'a [Vec<(String, i64)>; 2],
    values: &'a [Vec<f64>],
) -> ChartedRun<'a> {
    let ids = ["a", "b", "c", "d", "e", "f"];
    let candidates = values.iter().enumerate().map(|(at, values)| variant(ids[at], at + 1, &params.1[at], values));
    let first = &values[0];
    let gain = Some(first[0]);
    ChartedRun {
        shapes: vec![ChartedShape { name: "s", dims: &dims[0] }, ChartedShape { name: "l", dims: &dims[1] }],
        objective: METRICS[0],
        objective_shape: 0,
        params: &params.0,
        metrics: METRICS.map(|name| ChartedMetric { name, title: name, unit: "us", better: Better::Lower }).to_vec(),
        gates: vec![ChartedGate {
            name: "registers",
            require: "registers <= 64",
            metric: Some("registers"),
            limit: Some(first[2]),
            limits: vec![("s", first[2]), ("l", 64.0)],
        }],
        stages: vec![ChartedStage {
            name: "one",
            expected: gain.zip(gain),
            measured: gain,
            cumulative: gain,
            accepted: true,
        }],
        variants: candidates.chain([variant("base", 0, &params.1[0], first)]).collect(),
        warp_states: Some(WarpStates {
            variants: vec![("a", "a"), ("base", "base")],
            states: vec![WarpState { name: "stall_wait", cycles: vec![gain, None] }],
        }),
        roofline: None,
        search: None,
        effects: Vec::new(),
        occupancy: Some("achieved_occupancy"),
        front: values.iter().map(|values| (values[1], values[0])).collect(),
    }
}

/// The charts of candidates with these values, each drawn and read back.
fn drawn(values: &[Vec<f64>]) -> Vec<Chart> {
    let params: Vec<Vec<Option<String>>> = (0..values.len()).map(|n| vec![Some(n.to_string())]).collect();
    let params = (vec!["P".to_owned()], params);
    let dims = [1, 2].map(|extent| vec![("N".to_owned(), extent)]);
    let charts = charts(&run(&params, &dims, values));
    for chart in &charts {
        let svg = draw(chart, Setting::File).unwrap();
        assert!(Document::parse(&svg).is_ok() && svg.len() < 60_000, "{}: {svg}", chart.id);
    }
    charts
}

#[test]
fn a_run_has_a_chart_for_whatever_was_measured() {
    let charts = drawn(&[vec![10.0, 50.0, 64.0, 8.0, 4.0], vec![12.0, 40.0, 72.0, 8.0, 3.0]]);
    let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "gates-by-variant",
            "latency-occupancy",
            "latency-distribution",
            "gate-registers",
            "gate-registers-l",
            "stages",
            "scaling-n",
            "stalls",
            "occupancy-limiters",
        ]
    );
}

#[test]
fn absurd_measurements_are_drawn_at_the_end_of_an_axis() {
    for absurd in [1.7e308, f64::MAX, -1.7e308, 5e-324, 0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let usual = vec![10.0, 50.0, 64.0, 8.0, 4.0];
        drawn(&[usual.clone(), usual.clone(), vec![absurd; 5]]);
        drawn(&[vec![absurd; 5], usual]);
        drawn(&[vec![absurd; 5]]);
    }
}

#[test]
fn a_sample_of_1_7e308_makes_its_axis_logarithmic() {
    let usual = vec![10.0, 11.0, 12.0, 13.0, 14.0];
    let charts = drawn(&[usual.clone(), vec![10.0, 11.0, 12.0, 13.0, 1.7e308], usual]);
    let chart = charts.iter().find(|chart| chart.id == "latency-distribution").unwrap();
    assert_eq!(chart.x.scale, Scale::Log);
    assert!(matches!(&chart.series[0].marks, Marks::Points(_, points) if points.iter().any(|p| p.x == 1.7e308)));
}
