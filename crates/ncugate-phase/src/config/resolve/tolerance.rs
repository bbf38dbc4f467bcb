//! `tolerance`: how far outputs may be from the reference.

use super::names::suggest;
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{BoundOf, Buffer, OwnBound, Shape, UntestedTolerance, keys};
use ncugate_model::{AllClose, NanRule, ShapeName, Tolerance};
use sha2::{Digest, Sha256};

/// `tolerance` of a phase.
#[derive(Default)]
pub struct ReadTolerance {
    /// What holds for all outputs.
    pub tolerance: Tolerance,
    /// What single outputs and shapes have of their own.
    pub own_bounds: Vec<OwnBound>,
    /// What it means that it could not be tried on wrong answers.
    pub untested: UntestedTolerance,
}

/// Reads `tolerance`.
pub fn tolerance(item: &Item<'_>, buffers: &[Buffer], shapes: &[Shape]) -> Option<ReadTolerance> {
    const BOUNDS: [&str; 5] = ["max_abs", "rel_l2", "atol", "rtol", "times_error"];
    let table = item.table(&keys::TOLERANCE)?;
    let bound = |key| table.get(key).and_then(|item| item.number("a number of at least 0", |v| v >= 0.0));
    let (atol, rtol) = (bound("atol"), bound("rtol"));
    let either = atol.or(rtol).is_some();
    let mismatches = table.get("mismatches").map(|item| {
        if !either {
            item.report(
                "`mismatches` is of the elements that `atol` and `rtol` bound",
                Some("give one of them".to_owned()),
            );
        }
        item.number("a share from 0 to 0.05", |v| (0.0..=0.05).contains(&v)).unwrap_or(0.0)
    });
    let mut own = own_bounds(&table, buffers, shapes);
    if either {
        own.extend(exact_integers(&own, buffers));
    }
    let allclose = either.then(|| AllClose {
        atol: atol.unwrap_or(0.0),
        rtol: rtol.unwrap_or(0.0),
        mismatches: mismatches.unwrap_or(0.0),
        own: hash(&own),
    });
    let allow_nan = table.get("allow_nan").and_then(|item| item.boolean()).unwrap_or(false);
    let nan = if allow_nan { NanRule::Allowed } else { NanRule::Refused };
    let (max_abs, rel_l2, times_error) = (bound("max_abs"), bound("rel_l2"), bound("times_error"));
    if !BOUNDS.iter().any(|key| table.has(key)) {
        let help = "tolerance = { max_abs = 2e-3 }".to_owned();
        item.expected(&format!("at least one bound: {}", BOUNDS.join(", ")), Some(help));
        return None;
    }
    if let Some(stray) = ["outputs", "shapes"].into_iter().find_map(|key| table.get(key)).filter(|_| !either) {
        let help = "give `atol` or `rtol` for the others, too".to_owned();
        stray.report(
            format!("`{}` bounds single elements, which nothing bounds for all outputs", stray.place.key),
            Some(help),
        );
    }
    let untested =
        table.get("untested_tolerance").and_then(|item| item.one_of(&[("accept", UntestedTolerance::Accepted)]));
    let tolerance = Tolerance { max_abs, rel_l2, allclose, times_error, nan };
    Some(ReadTolerance { tolerance, own_bounds: own, untested: untested.unwrap_or_default() })
}

/// Bounds of single outputs and shapes.
fn own_bounds(table: &Table<'_>, buffers: &[Buffer], shapes: &[Shape]) -> Vec<OwnBound> {
    let outputs: Vec<&str> = buffers.iter().filter(|b| b.role.is_compared()).map(|b| b.name.as_str()).collect();
    let names: Vec<&str> = shapes.iter().map(|shape| shape.name.0.as_str()).collect();
    let of_outputs = bounds(table, "outputs", &outputs, "an output", &|name| BoundOf::Output(name.to_owned()));
    let of_shapes = bounds(table, "shapes", &names, "a shape", &|name| BoundOf::Shape(ShapeName(name.to_owned())));
    of_outputs.into_iter().chain(of_shapes).collect()
}

fn bounds(
    table: &Table<'_>,
    key: &'static str,
    known: &[&str],
    what: &str,
    of: &dyn Fn(&str) -> BoundOf,
) -> Vec<OwnBound> {
    let Some(own) = table.get(key).and_then(|item| item.table(&keys::OWN_TOLERANCES)) else { return Vec::new() };
    let bound = |(name, item): (PlacedValue<String>, Item<'_>)| {
        if !known.contains(&name.value.as_str()) {
            let help = suggest(&name.value, known.iter().copied());
            item.report(format!("`{}` is not {what}", name.place.key), Some(help));
            return None;
        }
        let table = item.table(&keys::OWN_TOLERANCE)?;
        let number = |key| table.get(key).and_then(|item| item.number("a number of at least 0", |v| v >= 0.0));
        let (atol, rtol) = (number("atol"), number("rtol"));
        if atol.or(rtol).is_none() {
            item.expected("`atol`, `rtol` or both", Some("{ atol = 0 } is exact".to_owned()));
        }
        Some(OwnBound { of: of(&name.value), atol: atol.unwrap_or(0.0), rtol: rtol.unwrap_or(0.0) })
    };
    own.free().into_iter().filter_map(bound).collect()
}

/// Outputs of integers that are compared beside outputs of floats, where the phase does not say how near they have to be: they are
/// exact.
fn exact_integers(own: &[OwnBound], buffers: &[Buffer]) -> Vec<OwnBound> {
    let compared = || buffers.iter().filter(|buffer| buffer.role.is_compared());
    if !compared().any(|buffer| buffer.dtype.has_nan()) {
        return Vec::new();
    }
    let integers =
        compared().filter(|buffer| !buffer.dtype.has_nan()).map(|buffer| BoundOf::Output(buffer.name.clone()));
    let unsaid = integers.filter(|of| !own.iter().any(|bound| bound.of == *of));
    unsaid.map(|of| OwnBound { of, atol: 0.0, rtol: 0.0 }).collect()
}

/// What tells these bounds from others; 0 where there are none.
fn hash(own: &[OwnBound]) -> u64 {
    if own.is_empty() {
        return 0;
    }
    let text: Vec<String> =
        own.iter().map(|bound| format!("{:?} {:e} {:e}\n", bound.of, bound.atol, bound.rtol)).collect();
    let digest = Sha256::digest(text.concat());
    digest.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes).max(1))
}
