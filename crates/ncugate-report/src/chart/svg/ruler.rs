//! An axis as a coordinate of plotters, with our own choice of ticks.

use super::extent::{ends, scale};
use super::tick::{self, Tick};
use crate::chart::spec::{Chart, LineAxis, Scale};
use ncugate_model::number::text::clip;
use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// Approximate number of ticks of an axis.
const TICKS: (usize, usize) = (8, 5);
/// Longest name of a row, in characters.
const NAME: usize = 36;

/// An axis over values.
pub struct Ruler {
    places: Places,
    ends: (f64, f64),
    ticks: Vec<Tick>,
}

enum Places {
    Even(RangedCoordf64),
    Log(LogCoord<f64>),
}

impl Ruler {
    /// An axis of a chart.
    pub fn new(chart: &Chart, across: LineAxis) -> Self {
        let (low, high) = ends(chart, across);
        let about = match across {
            LineAxis::X => TICKS.0,
            LineAxis::Y => TICKS.1,
        };
        let (places, ticks) = match scale(chart, across) {
            Scale::Log => (Places::Log((low..high).log_scale().into()), tick::logarithmic(low, high, about)),
            Scale::Linear | Scale::Zero => (Places::Even((low..high).into()), tick::even(low, high, about)),
            Scale::Count => (Places::Even((low..high).into()), tick::whole(low, high, about)),
            // From high to low: the first row is on top.
            Scale::Names(names) => (Places::Even((high..low).into()), rows(names)),
        };
        Self { places, ends: (low, high), ticks }
    }

    /// Texts of the ticks.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.ticks.iter().map(|tick| tick.text.as_str())
    }
}

fn rows(names: &[String]) -> Vec<Tick> {
    let named = names.iter().enumerate();
    named.map(|(row, name)| Tick { value: row as f64, text: clip(name, NAME) }).collect()
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    /// Values beyond the axis are clamped to its end.
    fn map(&self, value: &f64, pixels: (i32, i32)) -> i32 {
        let (low, high) = self.ends;
        let value = value.max(low).min(high);
        match &self.places {
            Places::Even(places) => places.map(&value, pixels),
            Places::Log(places) => places.map(&value, pixels),
        }
    }

    /// All ticks, whatever number plotters requests; minor ticks are off.
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|tick| tick.value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.value == *value);
        tick.map_or_else(String::new, |tick| tick.text.clone())
    }
}
