//! An axis as a coordinate of plotters, with the ticks of plotters in the number formats of the page.

use super::words;
use crate::chart::spec::{LineAxis, Panel, Scale};
use ncugate_model::number;
use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::coord::ranged1d::{BoldPoints, KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// Pixels from one tick to the next, about, along the horizontal and the vertical axis.
const PITCH: (i32, i32) = (65, 40);
/// Widest line of a name of a row, in pixels.
const NAME: i32 = 250;
/// Width of a line that every name of a column gets, in pixels.
const COLUMN: i32 = 84;
/// Least distance of two labels, in pixels.
const GAP: i32 = 6;
/// Largest magnitude on an axis; its reciprocal is the smallest. Beyond it, the ratio of two ends may overflow, of which
/// plotters would count the decades forever. Values outside are drawn at the end of the axis.
const FARTHEST: f64 = 1e150;
/// Least relative difference of two values that are distinguishable on an axis.
const APART: f64 = 1e-9;

/// An axis over values.
#[derive(Clone)]
pub struct PlotAxis {
    spacing: Spacing,
    ends: (f64, f64),
    ticks: Vec<(f64, String)>,
}

#[derive(Clone, Copy)]
enum Spacing {
    Even,
    /// From high to low: the first row is on top.
    Downward,
    Log,
}

impl PlotAxis {
    /// An axis of a panel that is `room` pixels long. Labels along the horizontal axis do not overlap; the last may reach
    /// into the `margin` beyond it.
    pub fn new(panel: &Panel, across: LineAxis, room: i32, margin: i32) -> Self {
        let scale = &panel.axis(across).scale;
        let (low, high) = ends(panel, across);
        let pitch = if across == LineAxis::X { PITCH.0 } else { PITCH.1 };
        let about = (room / pitch).max(2) as usize;
        let even = |most: usize| RangedCoordf64::from(low..high).key_points(BoldPoints(most));
        let numbers = |points: Vec<f64>, step: f64| points.into_iter().map(|at| (at, tick(at, step))).collect();
        let (spacing, ticks): (Spacing, Vec<(f64, String)>) = match (scale, across) {
            (Scale::Names(names), LineAxis::Y) => (Spacing::Downward, named(names, NAME)),
            (Scale::Names(names), LineAxis::X) => (Spacing::Even, columns(names, room)),
            // Few powers of ten are too few ticks.
            (Scale::Log, _) if high / low < 100.0 => (Spacing::Log, numbers(even(2 * about), step(&even(2 * about)))),
            (Scale::Log, _) => {
                let points = LogCoord::from((low..high).log_scale()).key_points(BoldPoints(about));
                (Spacing::Log, numbers(points, f64::INFINITY))
            }
            (Scale::Extents(values), _) => (Spacing::Log, numbers(values.clone(), f64::INFINITY)),
            (Scale::Count, _) => {
                let mut points = even(about.min((high - low).ceil().max(1.0) as usize));
                points.retain(|at| at.fract() == 0.0);
                (Spacing::Even, numbers(points, f64::INFINITY))
            }
            (Scale::Linear | Scale::Zero, _) => (Spacing::Even, numbers(even(about), step(&even(about)))),
        };
        let mut axis = Self { spacing, ends: (low, high), ticks };
        match across {
            LineAxis::X => axis.thin_out(room, margin, words::width),
            LineAxis::Y if matches!(spacing, Spacing::Downward) => {}
            LineAxis::Y => axis.thin_out(room, words::LINE, words::height),
        }
        axis
    }

    /// Removes the labels that would overlap the one before, or leave the picture, by their size along the axis.
    fn thin_out(&mut self, room: i32, margin: i32, size: fn(&str) -> i32) {
        let mut taken = i32::MIN;
        let places: Vec<i32> = self.ticks.iter().map(|(at, _)| self.map(at, (0, room))).collect();
        for ((_, text), place) in self.ticks.iter_mut().zip(places).filter(|((_, text), _)| !text.is_empty()) {
            let half = size(text) / 2;
            match place - half >= taken && place + half <= room + margin {
                true => taken = place + half + GAP,
                false => text.clear(),
            }
        }
    }

    /// Largest width and height of a label in pixels.
    pub fn labels(&self) -> (i32, i32) {
        let texts = || self.ticks.iter().map(|(_, text)| text.as_str());
        (texts().map(words::width).max().unwrap_or(0), texts().map(words::height).max().unwrap_or(words::LINE))
    }
}

/// The smallest distance of two ticks.
fn step(points: &[f64]) -> f64 {
    points.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min)
}

/// A number with the digits that tell it from one a step away.
fn tick(value: f64, step: f64) -> String {
    let decimals = (-(step.log10() + 1e-9).floor()).clamp(0.0, 9.0) as usize;
    match value.abs() {
        0.0 => "0".to_owned(),
        size if !(1e-3..1e15).contains(&size) => format!("{value:.0e}"),
        _ if decimals > 0 => format!("{value:.decimals$}"),
        _ => number::multiple(value),
    }
}

fn named(names: &[String], room: i32) -> Vec<(f64, String)> {
    names.iter().enumerate().map(|(at, name)| (at as f64, words::wrapped(name, room))).collect()
}

/// Names along the horizontal axis; if there are too many, every second one, every third and so on.
fn columns(names: &[String], room: i32) -> Vec<(f64, String)> {
    let column = (room / names.len().max(1) as i32).max(1);
    let wanted = names.iter().map(|name| words::width(&words::wrapped(name, COLUMN))).max().unwrap_or(0) + GAP;
    let step = ((wanted + column - 1) / column).max(1);
    named(names, column * step - GAP).into_iter().step_by(step as usize).collect()
}

/// Ends of an axis: finite, the first below the second, both positive on a logarithmic axis.
fn ends(panel: &Panel, across: LineAxis) -> (f64, f64) {
    let scale = &panel.axis(across).scale;
    let least = if scale.is_log() { 1.0 / FARTHEST } else { -FARTHEST };
    let limits = panel.limits.iter().filter(|limit| limit.across == across).map(|limit| limit.value);
    let values = panel.series.iter().flat_map(|series| series.marks.values(across)).chain(limits);
    let shown = values.filter(|v| v.is_finite() && (least < 0.0 || *v > 0.0)).map(|v| v.clamp(least, FARTHEST));
    let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let (low, high) = if low.is_finite() { (low, high) } else { (0.1, 1.0) };
    match scale {
        Scale::Log | Scale::Extents(_) => ((low / 1.15).max(least), (high * 1.15).min(FARTHEST)),
        Scale::Zero => (low.min(0.0), if high > 0.0 { high * 1.06 } else { 1.0 }),
        Scale::Names(names) => (-0.5, names.len().max(1) as f64 - 0.5),
        Scale::Linear | Scale::Count => {
            let differ = high - low > low.abs().max(high.abs()) * APART;
            let pad = if differ { (high - low) * 0.06 } else { high.abs().max(1.0) * 0.1 };
            let floor = low - pad;
            (if low >= 0.0 { floor.max(0.0) } else { floor }, high + pad)
        }
    }
}

impl Ranged for PlotAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    /// Values beyond the axis are clamped to its end.
    fn map(&self, value: &f64, pixels: (i32, i32)) -> i32 {
        let (low, high) = self.ends;
        let value = value.max(low).min(high);
        match self.spacing {
            Spacing::Even => RangedCoordf64::from(low..high).map(&value, pixels),
            Spacing::Downward => RangedCoordf64::from(high..low).map(&value, pixels),
            Spacing::Log => LogCoord::from((low..high).log_scale()).map(&value, pixels),
        }
    }

    /// The ticks that were chosen for the length of the axis; minor ticks are off.
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let all = if hint.weight().allow_light_points() { &[] } else { &self.ticks[..] };
        all.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for PlotAxis {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.iter().find(|(at, _)| at == value).map_or_else(String::new, |(_, text)| text.clone())
    }
}
