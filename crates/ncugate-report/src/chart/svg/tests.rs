//! Drawings, read back as documents.

use super::{Setting, draw};
use crate::chart::palette;
use crate::chart::spec::{
    Bar, Chart, ChartAxis, ChartPoint, ChartTable, Glyph, LimitLine, LineAxis, Marks, Panel, Scale, Series, Spread,
    Stroke, Tone,
};
use roxmltree::{Document, Node};

fn chart(x: Scale, y: Scale, series: Vec<Series>) -> Chart {
    Chart {
        id: "made-up".to_owned(),
        title: "Made up & <drawn>".to_owned(),
        note: String::new(),
        panels: vec![Panel {
            x: ChartAxis::new("rank", "", x),
            y: ChartAxis::new("latency", "us", y),
            series,
            limits: Vec::new(),
        }],
        alt: "Nothing.".to_owned(),
        table: ChartTable::default(),
    }
}

fn series(name: &str, tone: Tone, marks: Marks) -> Series {
    Series::new(name, tone, marks)
}

fn points(values: &[(f64, f64)]) -> Vec<ChartPoint> {
    values.iter().map(|(x, y)| ChartPoint { x: *x, y: *y, label: format!("at {x}") }).collect()
}

fn names(count: usize) -> Scale {
    Scale::Names((0..count).map(|n| format!("row {n}")).collect())
}

/// The texts of a drawing, in document order.
fn texts(document: &Document<'_>) -> Vec<String> {
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text().map(str::to_owned)).collect()
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    node.attribute(name).and_then(|text| text.parse().ok()).unwrap()
}

fn tagged<'d>(document: &'d Document<'_>, name: &'static str) -> impl Iterator<Item = Node<'d, 'd>> {
    document.descendants().filter(move |node| node.has_tag_name(name))
}

#[test]
fn a_page_owns_the_colours_and_a_file_brings_them() {
    let marks = Marks::Points(Glyph::Disc, points(&[(1.0, 10.0), (2.0, 30.0)]));
    let chart = chart(Scale::Count, Scale::Zero, vec![series("holds", Tone::Good, marks)]);
    let (page, file) = (draw(&chart, Setting::Page).unwrap(), draw(&chart, Setting::File).unwrap());
    assert_eq!(page, draw(&chart, Setting::Page).unwrap(), "the same chart gives the same bytes");
    let (page, file) = (Document::parse(&page).unwrap(), Document::parse(&file).unwrap());
    let root = page.root_element();
    assert_eq!((root.attribute("role"), root.attribute("id")), (Some("img"), Some("svg-made-up")));
    assert_eq!(root.attribute("aria-label"), Some("Made up & <drawn>. Nothing."));
    assert!(tagged(&page, "style").next().is_none() && !texts(&page).contains(&chart.title));
    let style = tagged(&file, "style").next().unwrap().text().unwrap();
    assert!(style.contains("light-dark(") && texts(&file).contains(&chart.title));
    let background = tagged(&file, "rect").next().unwrap();
    assert_eq!(background.attribute("class"), Some("page"));
}

#[test]
fn everything_that_is_painted_has_a_class_of_the_palette() {
    let all = vec![
        series("a", Tone::Good, Marks::Points(Glyph::Disc, points(&[(1.0, 0.0)]))),
        series("b", Tone::Bad, Marks::Points(Glyph::Cross, points(&[(2.0, 1.0)]))),
        series("c", Tone::Baseline, Marks::Points(Glyph::Diamond, points(&[(3.0, 1.0)]))),
        series("d", Tone::Chosen, Marks::Points(Glyph::Ring, points(&[(3.0, 1.0)]))),
        series("e", Tone::Nth(3), Marks::Points(Glyph::Triangle, points(&[(3.0, 1.0)]))),
        series("f", Tone::Muted, Marks::Line(Stroke::Dashed, vec![(1.0, 0.0), (3.0, 1.0)])),
        series("g", Tone::Good, Marks::Bars(vec![Bar { row: 0, from: 0.0, to: 2.0, label: "bar".to_owned() }])),
        series("h", Tone::Good, Marks::Boxes(vec![Spread { row: 1, quartiles: [1.0; 5], label: "box".to_owned() }])),
    ];
    let mut chart = chart(Scale::Linear, names(2), all);
    chart.panels[0].limits.push(LimitLine { across: LineAxis::X, value: 2.0, label: "x <= 2".to_owned() });
    let svg = draw(&chart, Setting::File).unwrap();
    let document = Document::parse(&svg).unwrap();
    for node in document.descendants().filter(|n| n.has_attribute("fill") || n.has_attribute("stroke")) {
        if node.has_tag_name("g") {
            continue;
        }
        let class = node.attribute("class");
        assert!(palette::ALL.iter().any(|colour| Some(colour.class) == class), "{node:?}");
    }
    assert!(!svg.contains("NaN"));
}

#[test]
fn a_point_has_a_title_and_lies_at_its_values() {
    let marks = Marks::Points(Glyph::Disc, points(&[(1.0, 10.0), (2.0, 20.0), (3.0, 40.0)]));
    let svg = draw(&chart(Scale::Count, Scale::Zero, vec![series("", Tone::Good, marks)]), Setting::Page).unwrap();
    let document = Document::parse(&svg).unwrap();
    let circles: Vec<_> = tagged(&document, "circle").collect();
    let titles: Vec<_> = circles.iter().filter_map(|c| c.parent()?.first_element_child()?.text()).collect();
    assert_eq!(titles, ["at 1", "at 2", "at 3"]);
    let x: Vec<f64> = circles.iter().map(|c| number(*c, "cx")).collect();
    let y: Vec<f64> = circles.iter().map(|c| number(*c, "cy")).collect();
    assert!(((x[2] - x[1]) - (x[1] - x[0])).abs() <= 1.0, "{x:?}");
    assert!(((y[0] - y[1]) * 2.0 - (y[1] - y[2])).abs() <= 2.0 && y[0] > y[2], "{y:?}");
    assert_eq!(tagged(&document, "title").count(), 4, "a title for each point and one for the whole");
}

#[test]
fn a_logarithmic_axis_places_factors_evenly() {
    let marks = Marks::Points(Glyph::Disc, points(&[(1.0, 10.0), (10.0, 100.0), (100.0, 1000.0)]));
    let svg = draw(&chart(Scale::Log, Scale::Log, vec![series("", Tone::Good, marks)]), Setting::Page).unwrap();
    let document = Document::parse(&svg).unwrap();
    let x: Vec<f64> = tagged(&document, "circle").map(|c| number(c, "cx")).collect();
    assert!(((x[2] - x[1]) - (x[1] - x[0])).abs() <= 1.0, "{x:?}");
    let texts = texts(&document);
    for tick in ["1", "10", "100", "1,000"] {
        assert!(texts.iter().any(|text| text == tick), "{tick} is not in {texts:?}");
    }
}

#[test]
fn the_first_row_is_on_top_with_its_bar_beside_its_name() {
    let bar = |row, to| Bar { row, from: 0.0, to, label: format!("bar {row}") };
    let marks = Marks::Bars(vec![bar(0, 1.0), bar(1, 2.0), bar(2, 0.0)]);
    let svg = draw(&chart(Scale::Zero, names(3), vec![series("", Tone::Bad, marks)]), Setting::Page).unwrap();
    let document = Document::parse(&svg).unwrap();
    let named = |name: &str| tagged(&document, "text").find(|node| node.text() == Some(name)).unwrap();
    let bars: Vec<_> = tagged(&document, "rect").collect();
    assert_eq!(bars.len(), 3);
    for (row, bar) in bars.iter().enumerate() {
        let middle = number(*bar, "y") + number(*bar, "height") / 2.0;
        assert!((middle - number(named(&format!("row {row}")), "y")).abs() <= 2.0, "{bar:?}");
    }
    assert!(number(bars[1], "y") > number(bars[0], "y"));
    assert_eq!(number(bars[2], "width"), 1.0, "a bar of nothing is seen");
}

#[test]
fn a_limit_is_dashed_and_its_label_keeps_clear_of_what_it_lies_on() {
    let marks = Marks::Points(Glyph::Disc, points(&[(1.0, 10.0), (2.0, 30.0)]));
    let mut chart = chart(Scale::Count, Scale::Zero, vec![series("", Tone::Good, marks)]);
    chart.panels[0].limits.push(LimitLine { across: LineAxis::Y, value: 20.0, label: "latency <= 20".to_owned() });
    chart.panels[0].limits.push(LimitLine {
        across: LineAxis::Y,
        value: f64::NAN,
        label: "latency <= nothing".to_owned(),
    });
    let svg = draw(&chart, Setting::Page).unwrap();
    let document = Document::parse(&svg).unwrap();
    let dashed: Vec<_> = tagged(&document, "g").filter(|g| g.has_attribute("stroke-dasharray")).collect();
    assert_eq!(dashed.len(), 1);
    assert_eq!(dashed[0].first_element_child().unwrap().text(), Some("latency <= 20"));
    let label = tagged(&document, "text").find(|node| node.text() == Some("latency <= 20")).unwrap();
    assert_eq!(label.parent().unwrap().attribute("class"), Some("halo"));
    assert!(!svg.contains("nothing</text>"), "a limit that is not finite has no place");
}

/// Values too large for any axis: the drawing is small, finite and has ticks.
#[test]
fn absurd_values_neither_panic_nor_fill_memory() {
    let absurd = [f64::MAX, 1.7e308, -1.7e308, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 0.0, 12.5];
    for (n, scale) in [Scale::Linear, Scale::Zero, Scale::Count, Scale::Log].into_iter().enumerate() {
        for kept in 1..=absurd.len() {
            for (from, values) in [(0, &absurd[..kept]), (kept - 1, &absurd[kept - 1..])] {
                let places: Vec<(f64, f64)> = values.iter().map(|v| (*v, *v)).collect();
                let all = vec![
                    series("points", Tone::Good, Marks::Points(Glyph::Cross, points(&places))),
                    series("line", Tone::Muted, Marks::Line(Stroke::Solid, places.clone())),
                ];
                let mut chart = chart(scale.clone(), scale.clone(), all);
                chart.panels[0].limits = values
                    .iter()
                    .flat_map(|v| [LineAxis::X, LineAxis::Y].map(|across| (across, *v)))
                    .map(|(across, value)| LimitLine { across, value, label: format!("{value}") })
                    .collect();
                let svg = draw(&chart, Setting::File).unwrap();
                assert!(svg.len() < 40_000, "{} bytes of scale {n}, {from} to {kept}", svg.len());
                let document = Document::parse(&svg).unwrap();
                for node in document.descendants().filter(|n| n.has_attribute("x")) {
                    assert!((-50.0..=700.0).contains(&number(node, "x")), "{node:?}");
                }
            }
        }
    }
}

#[test]
fn a_sample_of_1_7e308_leaves_the_others_on_an_axis_with_few_ticks() {
    let samples = [12.5, 12.6, 12.7, 1.7e308];
    let strip = samples.iter().map(|x| ChartPoint { x: *x, y: 0.0, label: String::new() }).collect();
    let spread = Spread { row: 0, quartiles: [12.5, 12.5, 12.6, 12.7, 1.7e308], label: "v".to_owned() };
    let all = vec![
        series("sample", Tone::Muted, Marks::Points(Glyph::Dot, strip)),
        series("quartiles", Tone::Good, Marks::Boxes(vec![spread])),
    ];
    let mut chart = chart(Scale::Linear, names(1), Vec::new());
    let Panel { x, y, .. } = chart.panels.remove(0);
    chart.panels.push(Panel::new(x, y, all));
    assert_eq!(chart.panels[0].x.scale, Scale::Log);
    let svg = draw(&chart, Setting::File).unwrap();
    let document = Document::parse(&svg).unwrap();
    let ticks = texts(&document).into_iter().filter(|text| text.starts_with("1e")).count();
    assert!((3..=10).contains(&ticks), "{:?}", texts(&document));
    // The first one is in the legend.
    let dots: Vec<f64> = tagged(&document, "circle").skip(1).map(|c| number(c, "cx")).collect();
    assert!(dots[3] > dots[0] + 300.0 && dots[3] < 620.0, "{dots:?}");
}

#[test]
fn a_long_legend_takes_lines_above_the_plot() {
    let one = |n: usize| {
        let marks = Marks::Points(Glyph::Disc, points(&[(1.0, n as f64)]));
        series(&format!("a series with a long name, {n}"), Tone::Nth(n), marks)
    };
    let height = |count: usize| {
        let svg = draw(&chart(Scale::Linear, Scale::Linear, (0..count).map(one).collect()), Setting::Page).unwrap();
        let document = Document::parse(&svg).unwrap();
        let view = document.root_element().attribute("viewBox").unwrap().to_owned();
        let names: Vec<_> =
            tagged(&document, "text").filter(|t| t.text().is_some_and(|t| t.contains("series"))).collect();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| number(*name, "x") < 500.0));
        view.rsplit(' ').next().unwrap().parse::<i32>().unwrap()
    };
    assert!(height(2) < height(5) && height(5) < height(9));
}

#[test]
fn hostile_words_stay_words() {
    let hostile = "</text><script>alert(1)</script>\u{0}\u{202e}&\"'";
    let label = |x| ChartPoint { x, y: x, label: hostile.to_owned() };
    let marks = Marks::Points(Glyph::Disc, vec![label(1.0), label(2.0)]);
    let mut chart = chart(Scale::Linear, Scale::Linear, vec![series(hostile, Tone::Good, marks)]);
    chart.panels[0].limits.push(LimitLine { across: LineAxis::X, value: 1.5, label: hostile.to_owned() });
    (chart.title, chart.alt, chart.id) = (hostile.to_owned(), hostile.to_owned(), hostile.to_owned());
    let svg = draw(&chart, Setting::File).unwrap();
    let document = Document::parse(&svg).unwrap();
    assert!(tagged(&document, "script").next().is_none());
}

#[test]
fn a_chart_of_nothing_is_an_empty_frame() {
    let svg = draw(&chart(Scale::Log, names(0), Vec::new()), Setting::Page).unwrap();
    assert!(Document::parse(&svg).is_ok() && !svg.contains("NaN"));
}

/// The right end of every text, by the widths that lay it out.
fn right_ends(document: &Document<'_>) -> Vec<(f64, f64, String)> {
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    let ends =
        texts.filter(|node| !node.attribute("transform").is_some_and(|turn| turn.starts_with("rotate"))).map(|node| {
            let lines: Vec<&str> =
                node.descendants().filter(|part| part.is_text()).filter_map(|part| part.text()).collect();
            let wide = lines.iter().map(|line| f64::from(super::words::width(line))).fold(0.0, f64::max);
            let part = node.ancestors().find_map(|parent| parent.attribute("transform"));
            let moved: f64 =
                part.map_or(0.0, |text| text["translate(".len()..].split(' ').next().unwrap().parse().unwrap());
            let x = moved + number(node, "x");
            match node.attribute("text-anchor") {
                Some("start") => (x, x + wide, lines.join(" ")),
                Some("end") => (x - wide, x, lines.join(" ")),
                _ => (x - wide / 2.0, x + wide / 2.0, lines.join(" ")),
            }
        });
    ends.collect()
}

#[test]
fn long_names_are_whole_and_stay_in_the_picture() {
    let long = |what: &str| {
        format!("{what} REGCAP=64 THREADS=128 TILE_M=256 KERNEL=attention_with_a_very_long_name_of_its_own")
    };
    let marks = Marks::Bars(vec![Bar { row: 0, from: 0.0, to: 2.0, label: long("bar") }]);
    let rows = Scale::Names(vec![long("row"), long("other")]);
    let mut one = chart(Scale::Zero, rows, vec![series(&long("series"), Tone::Chosen, marks)]);
    one.panels[0].limits.extend([1.0, 1.01].map(|value| LimitLine {
        across: LineAxis::X,
        value,
        label: long("limit"),
    }));
    let panel = &mut one.panels[0];
    (one.title, panel.x.label, panel.y.label) = (long("title"), long("x"), long("y"));
    let svg = draw(&one, Setting::File).unwrap();
    let document = Document::parse(&svg).unwrap();
    let ends = right_ends(&document);
    for (left, right, text) in &ends {
        assert!(*left >= 0.0 && *right <= 620.0, "{text} from {left} to {right}");
    }
    let squeezed = |text: &str| text.replace(' ', "");
    for what in ["row", "other", "series", "limit", "title", "x", "y"] {
        assert!(
            ends.iter().any(|(.., text)| squeezed(text).starts_with(&squeezed(&long(what)))),
            "{what} is not whole"
        );
    }
}

#[test]
fn labels_of_near_limits_do_not_overlap() {
    let marks = Marks::Points(Glyph::Disc, points(&[(1.0, 10.0), (2.0, 30.0)]));
    let mut chart = chart(Scale::Count, Scale::Zero, vec![series("", Tone::Good, marks)]);
    for value in [20.0, 20.1, 20.2, 20.2] {
        chart.panels[0].limits.push(LimitLine { across: LineAxis::Y, value, label: format!("limit at {value}") });
        chart.panels[0].limits.push(LimitLine {
            across: LineAxis::X,
            value: value / 15.0,
            label: format!("x at {value}"),
        });
    }
    let svg = draw(&chart, Setting::Page).unwrap();
    let document = Document::parse(&svg).unwrap();
    let halos = tagged(&document, "g").filter(|node| node.attribute("class") == Some("halo"));
    let boxes: Vec<(f64, f64, f64)> = halos
        .filter_map(|node| node.first_element_child())
        .map(|text| {
            let (x, wide) = (number(text, "x"), f64::from(super::words::width(text.text().unwrap())));
            let left = if text.attribute("text-anchor") == Some("end") { x - wide } else { x };
            (left, left + wide, number(text, "y"))
        })
        .collect();
    assert_eq!(boxes.len(), 6, "equal limits share a label");
    for (at, one) in boxes.iter().enumerate() {
        for other in &boxes[at + 1..] {
            let apart = one.1 <= other.0 || other.1 <= one.0 || (one.2 - other.2).abs() >= 14.0;
            assert!(apart, "{one:?} over {other:?}");
        }
    }
}

#[test]
fn one_point_is_no_line() {
    let all = vec![
        series("course", Tone::Muted, Marks::Line(Stroke::Solid, vec![(1.0, 10.0)])),
        series("point", Tone::Good, Marks::Points(Glyph::Disc, points(&[(1.0, 10.0)]))),
    ];
    let svg = draw(&chart(Scale::Count, Scale::Zero, all), Setting::Page).unwrap();
    let document = Document::parse(&svg).unwrap();
    let texts = texts(&document);
    let lines = tagged(&document, "polyline").filter(|line| line.attribute("class") == Some("muted"));
    assert!(lines.count() == 0 && !texts.contains(&"course".to_owned()), "{texts:?}");
    assert!(texts.contains(&"point".to_owned()));
}

#[test]
fn a_chart_without_values_says_so() {
    let marks = Marks::Points(Glyph::Disc, points(&[(f64::NAN, 1.0)]));
    let empty = chart(Scale::Linear, Scale::Linear, vec![series("", Tone::Good, marks)]);
    let svg = draw(&empty, Setting::Page).unwrap();
    assert!(texts(&Document::parse(&svg).unwrap()).contains(&"no value was measured".to_owned()));
}

#[test]
fn names_along_the_horizontal_axis_are_the_values() {
    let marks = Marks::Points(Glyph::Disc, points(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]));
    let values = ["launch_bounds(128)", "launch_bounds(256)", "none"].map(str::to_owned).to_vec();
    let svg =
        draw(&chart(Scale::Names(values.clone()), Scale::Zero, vec![series("", Tone::Good, marks)]), Setting::Page);
    let svg = svg.unwrap();
    let document = Document::parse(&svg).unwrap();
    let ends = right_ends(&document);
    let places: Vec<&(f64, f64, String)> = values
        .iter()
        .map(|value| ends.iter().find(|(.., text)| text.replace(' ', "") == value.replace(' ', "")).unwrap())
        .collect();
    assert!(places.windows(2).all(|pair| pair[0].1 < pair[1].0), "{places:?}");
}
