//! The charts of a synthetic run.

use super::charted_run::{
    ChartedTimeline, DeepProfileRow, GateResult, MetricColumn, Timeline, TimelineSeries, VariantRole, Verdict,
};
use super::svg::{Setting, draw};
use super::{
    Chart, ChartedRun, ChartedShape, Glyph, KernelPoint, Marks, MemoryRoof, Panel, Scale, Tone, charts, kernel_roofline,
};
use crate::deep_profile::{DeepMetric, ProfiledVariant};
use crate::model::Measure;
use crate::variant_row::{BuildRow, CorrectnessRow, GateCell, ShapeValues, VariantRow};
use ncu_explain::Ceiling;
use ncugate_judge::GateSummary;
use ncugate_model::expr::Requirement;
use ncugate_model::number::Number;
use ncugate_model::{Better, CleanText, Level, Scope, ShapeName};
use roxmltree::Document;
use std::sync::Arc;

const METRICS: [&str; 5] =
    ["latency_p50", "achieved_occupancy", "registers", "occupancy_limit_warps", "occupancy_limit_registers"];

/// A variant with these values and samples.
fn variant(id: &str, rank: usize, params: &[Option<CleanText>], values: &[f64]) -> VariantRow {
    let measured = ShapeValues {
        launch: CleanText::default(),
        steps: Vec::new(),
        values: values.iter().map(|value| Measure::Number(Number::new(*value))).collect(),
        samples: values.to_vec(),
        audit: None,
        clocks: None,
        witness: None,
    };
    let correctness = CorrectnessRow { verdict: Verdict::Pass, text: CleanText::default(), cases: Vec::new() };
    let build = BuildRow {
        verdict: Verdict::Pass,
        text: CleanText::default(),
        log: String::new(),
        command: CleanText::default(),
        code_sha256: None,
        resources: Vec::new(),
    };
    VariantRow {
        id: id.into(),
        label: id.into(),
        name: None,
        short: id.into(),
        standing: if rank == 0 { VariantRole::Baseline } else { VariantRole::Candidate },
        self_reported: false,
        cheats: false,
        doubt: None,
        selected: rank == 1,
        rank: (rank > 0).then_some(rank),
        verdict: Verdict::Pass,
        uncompared: false,
        params: params.to_vec(),
        correctness,
        stopped_by: Vec::new(),
        shares: None,
        build,
        captured: None,
        shapes: vec![measured.clone(), measured],
        advice: Vec::new(),
        gates: vec![Some(GateCell { verdict: Verdict::Pass, text: "holds".into(), uncompared: false })],
    }
}

/// Measurements and verdicts of a run.
struct JudgedRows {
    metrics: Vec<MetricColumn>,
    gates: Vec<GateResult>,
    variants: Vec<VariantRow>,
    deep: DeepProfileRow,
}

fn gate(metric: &str, limits: [f64; 2]) -> GateResult {
    let limits = [("s", limits[0]), ("l", limits[1])].map(|(name, limit)| (ShapeName(name.into()), Number::new(limit)));
    GateResult {
        name: metric.into(),
        require: Requirement::parse(&format!("{metric} <= 64")).unwrap(),
        on: Scope::Each,
        level: Level::Required,
        line: 1,
        metric: Some(metric.into()),
        unit: CleanText::default(),
        verdict: Verdict::Pass,
        reason: CleanText::default(),
        summary: GateSummary { limit: Some(limits[0].1.clone()), limits: limits.to_vec(), ..GateSummary::default() },
        waived: None,
        expired_waiver: None,
        deciding: None,
        cases: Arc::default(),
        at_least: None,
        not_launched: 0,
    }
}

fn judged(params: &[Vec<Option<CleanText>>], values: &[Vec<f64>]) -> JudgedRows {
    let first = &values[0];
    let ids = ["a", "b", "c", "d", "e", "f"];
    let candidates = values.iter().enumerate().map(|(at, values)| variant(ids[at], at + 1, &params[at], values));
    let metric = |name: &str| MetricColumn {
        name: name.to_owned(),
        title: name.to_owned(),
        unit: "us".to_owned(),
        better: Better::Lower,
        gated: false,
    };
    let profiled =
        |id: &str| ProfiledVariant { id: id.into(), label: id.into(), short: id.into(), passes: None, seconds: 1.0 };
    let waits = DeepMetric {
        name: "stall_wait".into(),
        title: "wait".into(),
        unit: CleanText::default(),
        values: vec![Measure::Number(Number::new(first[0])), Measure::Missing("not profiled".into())],
    };
    let deep = DeepProfileRow {
        variants: ["a", "base"].map(profiled).to_vec(),
        shape: "s".into(),
        note: CleanText::default(),
        metrics: vec![waits],
        advice: None,
        pairs: Vec::new(),
    };
    JudgedRows {
        deep,
        metrics: METRICS.map(metric).to_vec(),
        gates: vec![gate("registers", [first[2], 64.0])],
        variants: candidates.chain([variant("base", 0, &params[0], first)]).collect(),
    }
}

/// A run with one baseline and one candidate for every row of values.
fn run<'a>(
    judged: &'a JudgedRows,
    params: &'a (Vec<CleanText>, Vec<Vec<Option<CleanText>>>),
    dims: &'a [Vec<(String, i64)>; 2],
    values: &'a [Vec<f64>],
) -> ChartedRun<'a> {
    ChartedRun {
        shapes: vec![ChartedShape { name: "s", dims: &dims[0] }, ChartedShape { name: "l", dims: &dims[1] }],
        objective: METRICS[0],
        objective_shape: 0,
        params: &params.0,
        metrics: &judged.metrics,
        gates: &judged.gates,
        variants: &judged.variants,
        deep_profile: Some(&judged.deep),
        timeline: None,
        roofline: None,
        occupancy: Some("achieved_occupancy"),
        front: values.iter().map(|values| (values[1], values[0])).collect(),
    }
}

fn chart(charts: &[Chart], id: &str) -> Option<Chart> {
    charts.iter().find(|chart| chart.id == id).cloned()
}

/// The charts of candidates with these values, each drawn and read back.
fn drawn(values: &[Vec<f64>]) -> Vec<Chart> {
    let params: Vec<Vec<Option<CleanText>>> = (0..values.len()).map(|n| vec![Some(n.to_string().into())]).collect();
    let params = (vec!["P".into()], params);
    let dims = [1, 2].map(|extent| vec![("N".to_owned(), extent)]);
    let charts = charts(&run(&judged(&params.1, values), &params, &dims, values));
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
        ["latency-occupancy", "latency-distribution", "gate-metrics", "parameter-effects", "scaling", "stalls"]
    );
}

#[test]
fn deeply_profiled_variants_can_be_told_apart() {
    let params = (vec!["P".into()], vec![vec![Some("1".into())]]);
    let dims = [1, 2].map(|extent| vec![("N".to_owned(), extent)]);
    let values = [vec![10.0, 50.0, 64.0, 8.0, 4.0]];
    let stalls = |count: usize| {
        let mut judged = judged(&params.1, &values);
        let first = judged.deep.variants[0].clone();
        judged.deep.variants =
            (0..count).map(|at| ProfiledVariant { short: at.to_string().into(), ..first.clone() }).collect();
        judged.deep.metrics[0].values = (0..count).map(|at| Measure::Number(Number::new(1.0 + at as f64))).collect();
        let chart = chart(&charts(&run(&judged, &params, &dims, &values)), "stalls").unwrap();
        assert!(Document::parse(&draw(&chart, Setting::File).unwrap()).is_ok());
        let series = chart.panels[0].series[1..].iter().map(|series| match &series.marks {
            Marks::Points(glyph, points) => (series.name.clone(), *glyph, series.tone, points.len()),
            _ => panic!("points"),
        });
        series.collect::<Vec<_>>()
    };
    assert_eq!(stalls(2), [("1".to_owned(), Glyph::Diamond, Tone::Baseline, 1)]);
    for count in [3, 5, 6, 9] {
        let series = stalls(count);
        assert_eq!(series.iter().map(|(.., points)| points).sum::<usize>(), count - 1);
        for (at, (_, glyph, tone, _)) in series.iter().enumerate() {
            assert!(series[..at].iter().all(|(_, other, own, _)| other != glyph && own != tone), "{series:?}");
        }
    }
    assert_eq!(stalls(9).last(), Some(&("others".to_owned(), Glyph::Dot, Tone::Muted, 5)));
}

#[test]
fn the_life_of_a_launch_is_a_line_a_unit_and_the_begin_of_its_tail() {
    let wave = |scale: f64| (0..900).map(|at| (f64::from(at), scale * if at < 720 { 100.0 } else { 20.0 })).collect();
    let series = [("multiprocessors active", 1.0), ("DRAM", 0.5)]
        .map(|(name, scale)| TimelineSeries { name: name.to_owned(), points: wave(scale) });
    let timeline = Timeline { duration: 900.0, interval: 1.0, series: series.to_vec(), tail_fraction: 0.2 };
    let params = (vec!["P".into()], vec![vec![Some("1".into())]]);
    let dims = [1, 2].map(|extent| vec![("N".to_owned(), extent)]);
    let values = [vec![10.0, 50.0, 64.0, 8.0, 4.0]];
    let judged = judged(&params.1, &values);
    let run = ChartedRun {
        timeline: Some(ChartedTimeline { variant: "a", timeline: &timeline }),
        ..run(&judged, &params, &dims, &values)
    };
    let chart = chart(&charts(&run), "timeline").unwrap();
    assert_eq!((chart.panels[0].series.len(), chart.panels[0].limits[0].value), (2, 720.0));
    assert!(matches!(&chart.panels[0].series[0].marks, Marks::Line(_, points) if points.len() == 300));
    assert!(chart.note.contains("is 20 % of it"), "{}", chart.note);
    assert!(Document::parse(&draw(&chart, Setting::File).unwrap()).is_ok());
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
    let chart = chart(&charts, "latency-distribution").unwrap();
    assert_eq!(chart.panels[0].x.scale, Scale::Log);
    assert!(
        matches!(&chart.panels[0].series[0].marks, Marks::Points(_, points) if points.iter().any(|p| p.x == 1.7e308))
    );
}

/// Texts of a drawing; those of several lines are joined.
fn texts(chart: &Chart, setting: Setting) -> Vec<String> {
    let svg = draw(chart, setting).unwrap();
    let document = Document::parse(&svg).unwrap();
    let words = |node: roxmltree::Node<'_, '_>| {
        node.descendants().filter(|part| part.is_text()).filter_map(|part| part.text()).collect()
    };
    document.descendants().filter(|node| node.has_tag_name("text")).map(words).collect()
}

#[test]
fn a_panel_of_a_parameter_has_a_column_for_each_value_and_a_point_for_each_variant() {
    let dims = [1, 2].map(|extent| vec![("N".to_owned(), extent)]);
    let values: Vec<Vec<f64>> = (0..6_u32).map(|at| vec![10.0 + f64::from(at); 5]).collect();
    let params: Vec<Vec<Option<CleanText>>> =
        (0..6).map(|at| [64 << (at / 2), at % 2].map(|value| Some(value.to_string().into())).to_vec()).collect();
    let params = (vec!["BLOCK_M".into(), "UNROLL".into()], params);
    let judged = judged(&params.1, &values);
    let figures = charts(&run(&judged, &params, &dims, &values));
    let found = chart(&figures, "parameter-effects").unwrap();
    let axes: Vec<(&str, &Scale)> = found.panels.iter().map(|panel| (panel.x.label.as_str(), &panel.x.scale)).collect();
    let names = |names: &[&str]| Scale::Names(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(axes, [("BLOCK_M", &names(&["64", "128", "256"])), ("UNROLL", &names(&["0", "1"]))]);
    let points = |panel: &Panel| -> usize {
        let count = |marks: &Marks| if let Marks::Points(Glyph::Disc, points) = marks { points.len() } else { 0 };
        panel.series.iter().map(|series| count(&series.marks)).sum()
    };
    assert_eq!(found.panels.iter().map(points).collect::<Vec<_>>(), [6, 6]);
    let drawn = texts(&found, Setting::File);
    for text in ["BLOCK_M", "64", "128", "256", "UNROLL", "latency_p50 (µs)", "passes every gate", "median"] {
        assert!(drawn.iter().any(|drawn| drawn == text), "{text} is not in {drawn:?}");
    }
}

#[test]
fn a_dimension_has_a_tick_at_each_extent() {
    let figures = drawn(&[vec![10.0, 50.0, 64.0, 8.0, 4.0], vec![12.0, 40.0, 72.0, 8.0, 3.0]]);
    let found = chart(&figures, "scaling").unwrap();
    assert_eq!(found.panels[0].x.scale, Scale::Extents(vec![1.0, 2.0]));
    let drawn = texts(&found, Setting::Page);
    assert!(drawn.contains(&"N (logarithmic)".to_owned()), "{drawn:?}");
    assert!(["1", "2"].iter().all(|tick| drawn.contains(&(*tick).to_owned())), "{drawn:?}");
}

#[test]
fn gates_of_a_metric_share_a_panel_for_each_shape_and_a_metric_without_a_value_is_named() {
    let values = [10.0, 11.0].map(|latency| vec![latency, 50.0, 64.0, 8.0, 4.0]);
    let params = (vec!["P".into()], vec![vec![Some("1".into())]; 2]);
    let dims = [1, 2].map(|extent| vec![("N".to_owned(), extent)]);
    let mut judged = judged(&params.1, &values);
    judged.gates.extend([gate("registers", [72.0, 80.0]), gate("spills", [0.0, 0.0])]);
    let figures = charts(&run(&judged, &params, &dims, &values));
    let found = chart(&figures, "gate-metrics").unwrap();
    let panels: Vec<(&str, usize)> =
        found.panels.iter().map(|panel| (panel.y.label.as_str(), panel.limits.len())).collect();
    assert_eq!(panels, [("registers", 2), ("registers at shape l", 2)]);
    assert!(found.note.ends_with(" Without a value: spills."), "{}", found.note);
    assert_eq!(found.table.same, ["registers (µs) 64"]);
    assert_eq!(found.table.head, ["rank", "variant", "shape"]);
    let cells: Vec<[&str; 2]> = found.table.rows.iter().map(|row| [row[0].as_str(), row[2].as_str()]).collect();
    assert_eq!(cells, [["1", "s"], ["1", "l"], ["2", "s"], ["2", "l"]]);
    assert_eq!(found.table.is_number, [true, false, false]);
    judged.variants.remove(1);
    assert!(charts(&run(&judged, &params, &dims, &values)).iter().all(|chart| chart.id != "gate-metrics"));
}

/// The longest kernel is marked, and a chart without it says so.
#[test]
fn a_roofline_is_of_the_longest_kernel() {
    let point = |kernel: &str, attained| KernelPoint {
        kernel: kernel.to_owned(),
        precision: "FP32",
        intensity: 2.0,
        rate: 1e12,
        attained: Some(attained),
    };
    let points = [point("long", 3.0), point("short", 90.0)];
    let of = |own: usize, points: &[KernelPoint]| {
        let ceilings = vec![Ceiling { name: "FP32".to_owned(), peak: 5e13, ridge: 10.0 }];
        kernel_roofline(MemoryRoof { rate: 5e12, is_by_data_sheet: false }, ceilings, "long", (own, points)).unwrap()
    };
    let both = of(1, &points);
    assert!(both.note.starts_with("long reaches 3.0 % of its FP32 roof. "), "{}", both.note);
    let marked: Vec<(&str, Tone)> =
        both.panels[0].series[1..].iter().map(|series| (series.name.as_str(), series.tone)).collect();
    assert_eq!(marked, [("other kernels", Tone::Muted), ("long, FP32", Tone::Nth(0))]);
    let without = of(0, &points[1..]);
    assert!(without.note.starts_with("long, the longest kernel, lacks the counters of a point. "), "{}", without.note);
}

#[test]
fn verdicts_have_their_colours_and_nothing_else_has() {
    let figures = drawn(&[vec![10.0, 50.0, 64.0, 8.0, 4.0], vec![12.0, 40.0, 72.0, 8.0, 3.0]]);
    let verdicts = [
        (Tone::Good, ["pass", "passes every gate", "better"].as_slice()),
        (Tone::Bad, ["fail", "fails a gate", "worse"].as_slice()),
        (Tone::Open, ["inconclusive"].as_slice()),
    ];
    for series in figures.iter().flat_map(|chart| &chart.panels).flat_map(|panel| &panel.series) {
        for (tone, names) in verdicts {
            assert!(series.tone != tone || names.contains(&series.name.as_str()), "{}", series.name);
        }
    }
}

#[test]
fn a_mark_names_its_variant_its_metrics_and_their_units() {
    let figures = drawn(&[vec![10.0, 50.0, 64.0, 8.0, 4.0], vec![12.0, 40.0, 72.0, 8.0, 3.0]]);
    let label = |id: &str| {
        let figure = figures.iter().find(|figure| figure.id == id).unwrap();
        let first = figure.panels[0].series.iter().find_map(|series| match &series.marks {
            Marks::Points(_, points) => points.first().map(|point| point.label.clone()),
            _ => None,
        });
        first.unwrap()
    };
    assert_eq!(label("latency-occupancy"), "a: achieved_occupancy 50 µs, latency_p50 10 µs");
    assert_eq!(label("gate-metrics"), "a: registers 64 µs");
    assert_eq!(label("scaling"), "a: latency_p50 10 µs, at N = 1");
}

#[test]
fn the_front_over_several_objectives_has_what_no_other_beats() {
    use super::front::{FrontLine, FrontObjective, draw as front};
    let objective = |title: &str| FrontObjective { title: title.to_owned(), unit: String::new() };
    let objectives = ["latency", "occupancy", "registers"].map(objective);
    let line = |label: &str, values: [f64; 3], on_front| FrontLine {
        label: label.to_owned(),
        values: values.to_vec(),
        on_front,
    };
    let lines = [line("a", [10.0, 50.0, 64.0], true), line("b", [12.0, 25.0, 96.0], false)];
    let chart = front(&objectives, &lines).unwrap();
    let axes: Vec<_> = chart.panels.iter().map(|panel| [&panel.x, &panel.y].map(|axis| axis.label.as_str())).collect();
    assert_eq!(axes, [["occupancy", "latency"], ["registers", "latency"]]);
    assert!(chart.note.starts_with("1 of 2 variants are on the front"), "{}", chart.note);
    let best = |panel: &Panel| match &panel.series[1].marks {
        Marks::Points(Glyph::Disc, points) => points.iter().map(|point| (point.x, point.y)).collect(),
        _ => Vec::new(),
    };
    assert_eq!(chart.panels.iter().map(best).collect::<Vec<_>>(), [[(50.0, 10.0)], [(64.0, 10.0)]]);
    assert!(Document::parse(&draw(&chart, Setting::File).unwrap()).is_ok());
    assert_eq!(front(&objectives[..1], &lines), None, "one objective");
    assert_eq!(front(&objectives, &lines[1..]), None, "nothing on the front");
}
