//! Makes an axis logarithmic if one distant value would flatten all others.

use super::spec::{Chart, Marks, Scale};
use ncugate_model::stats::median;

/// A maximum this many times the median calls for a logarithmic axis.
const FAR: f64 = 12.0;

/// Chooses the scales of a chart's axes from their values.
pub fn where_needed(chart: &mut Chart) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for series in &chart.series {
        match &series.marks {
            Marks::Points(_, points) => {
                xs.extend(points.iter().map(|p| p.x));
                ys.extend(points.iter().map(|p| p.y));
            }
            Marks::Boxes(boxes) => xs.extend(boxes.iter().flat_map(|b| b.quartiles)),
            // Bars from zero have no logarithm, nor do the marks drawn with them; bars do not flatten other marks.
            Marks::Bars(bars) => xs.extend(bars.iter().map(|b| b.from).filter(|from| *from <= 0.0)),
            // Lines repeat the data of points or groups.
            Marks::Columns(_) | Marks::Line(..) => {}
        }
    }
    for (axis, values) in [(&mut chart.x, xs), (&mut chart.y, ys)] {
        if matches!(axis.scale, Scale::Linear | Scale::Zero) && is_far(&values) {
            axis.scale = Scale::Log;
        }
    }
}

fn is_far(values: &[f64]) -> bool {
    let positive = values.iter().all(|v| *v > 0.0);
    let most = values.iter().copied().fold(0.0, f64::max);
    positive && median(values).is_ok_and(|median| most > median * FAR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::spec::{Bar, ChartAxis, ChartPoint, ChartTable, Glyph, Series, Tone};

    #[test]
    fn bars_from_zero_keep_their_axis() {
        let bar = |to| Bar { row: 0, from: 0.0, to, label: String::new() };
        let point = |x| ChartPoint { x, y: 0.0, label: String::new() };
        let series = |marks| Series { name: String::new(), tone: Tone::Good, marks };
        let mut chart = Chart {
            id: String::new(),
            title: String::new(),
            note: String::new(),
            x: ChartAxis::new("cycles", "", Scale::Zero),
            y: ChartAxis::new("state", "", Scale::Names(vec!["wait".to_owned()])),
            series: vec![series(Marks::Points(Glyph::Diamond, vec![point(0.01), point(0.02), point(20.0)]))],
            limits: Vec::new(),
            alt: String::new(),
            table: ChartTable::default(),
        };
        let mut with_bars = chart.clone();
        with_bars.series.push(series(Marks::Bars(vec![bar(10.0), bar(0.1)])));
        where_needed(&mut chart);
        where_needed(&mut with_bars);
        assert_eq!((chart.x.scale, with_bars.x.scale), (Scale::Log, Scale::Zero));
    }

    #[test]
    fn one_value_far_from_the_rest_calls_for_a_logarithm() {
        assert!(is_far(&[450.0, 480.0, 750.0, 69_238.0]));
        assert!(!is_far(&[30.0, 40.0, 200.0]));
        assert!(!is_far(&[0.0, 1.0, 1e6]), "zero has no logarithm");
        assert!(!is_far(&[]));
    }
}
