//! An axis as a coordinate of plotters, with our own choice of ticks.

use super::extent::{ends, scale};
use super::layout::RIGHT;
use super::tick::{self, Tick};
use super::words;
use crate::chart::spec::{Chart, LineAxis, Scale};
use plotters::coord::combinators::{IntoLogRange, LogCoord};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// Pixels from one tick to the next, about, along the horizontal and the vertical axis.
const PITCH: (i32, i32) = (65, 56);
/// Widest line of a name of a row, in pixels.
const NAME: i32 = 250;
/// Width of a line that every name of a column gets, in pixels.
const COLUMN: i32 = 84;
/// Least distance of two labels, in pixels.
const GAP: i32 = 6;

/// An axis over values.
#[derive(Clone)]
pub struct Ruler {
    places: Places,
    ends: (f64, f64),
    ticks: Vec<Tick>,
}

#[derive(Clone, Copy)]
enum Places {
    Even,
    /// From high to low: the first row is on top.
    Downward,
    Log,
}

impl Ruler {
    /// An axis of a chart that is `room` pixels long. Labels along the horizontal axis do not overlap.
    pub fn new(chart: &Chart, across: LineAxis, room: i32) -> Self {
        let (low, high) = ends(chart, across);
        let pitch = match across {
            LineAxis::X => PITCH.0,
            LineAxis::Y => PITCH.1,
        };
        let about = (room / pitch).max(2) as usize;
        let (places, ticks) = match (scale(chart, across), across) {
            (Scale::Log, _) => (Places::Log, tick::logarithmic(low, high, about)),
            (Scale::Extents(values), _) => (Places::Log, tick::at(values)),
            (Scale::Linear | Scale::Zero, _) => (Places::Even, tick::even(low, high, about)),
            (Scale::Count, _) => (Places::Even, tick::whole(low, high, about)),
            (Scale::Names(names), LineAxis::Y) => (Places::Downward, named(names, NAME)),
            (Scale::Names(names), LineAxis::X) => (Places::Even, columns(names, room)),
        };
        let mut ruler = Self { places, ends: (low, high), ticks };
        if across == LineAxis::X {
            ruler.thin_out(room);
        }
        ruler
    }

    /// Removes the labels that would overlap the one before, or leave the picture.
    fn thin_out(&mut self, room: i32) {
        let mut taken = i32::MIN;
        let places: Vec<i32> = self.ticks.iter().map(|tick| self.map(&tick.value, (0, room))).collect();
        for (tick, place) in self.ticks.iter_mut().zip(places).filter(|(tick, _)| !tick.text.is_empty()) {
            let half = words::width(&tick.text) / 2;
            match place - half >= taken && place + half <= room + RIGHT {
                true => taken = place + half + GAP,
                false => tick.text.clear(),
            }
        }
    }

    /// Texts of the ticks.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.ticks.iter().map(|tick| tick.text.as_str())
    }
}

fn named(names: &[String], room: i32) -> Vec<Tick> {
    let places = names.iter().enumerate();
    places.map(|(at, name)| Tick { value: at as f64, text: words::wrapped(name, room) }).collect()
}

/// Names along the horizontal axis; if there are too many, every second one, every third and so on.
fn columns(names: &[String], room: i32) -> Vec<Tick> {
    let column = (room / names.len().max(1) as i32).max(1);
    let wanted = names.iter().map(|name| words::width(&words::wrapped(name, COLUMN))).max().unwrap_or(0) + GAP;
    let step = ((wanted + column - 1) / column).max(1);
    let mut ticks = named(names, column * step - GAP);
    ticks.iter_mut().enumerate().filter(|(at, _)| at % step as usize != 0).for_each(|(_, tick)| tick.text.clear());
    ticks
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    /// Values beyond the axis are clamped to its end.
    fn map(&self, value: &f64, pixels: (i32, i32)) -> i32 {
        let (low, high) = self.ends;
        let value = value.max(low).min(high);
        match self.places {
            Places::Even => RangedCoordf64::from(low..high).map(&value, pixels),
            Places::Downward => RangedCoordf64::from(high..low).map(&value, pixels),
            Places::Log => LogCoord::from((low..high).log_scale()).map(&value, pixels),
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
