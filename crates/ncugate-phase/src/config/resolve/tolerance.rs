//! `tolerance`: the permitted difference of outputs from the reference.

use super::names::suggest;
use crate::config::keys::{Key, OWN_TOLERANCE, TOLERANCE};
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{BoundOf, Buffer, OwnBound, Shape, UntestedTolerance};
use ncugate_model::{AllClose, NanRule, ShapeName, Tolerance};
use sha2::{Digest, Sha256};

/// The parsed `tolerance` of a phase.
#[derive(Default)]
pub struct ReadTolerance {
    /// The tolerance for all outputs.
    pub tolerance: Tolerance,
    /// Separate bounds of single outputs and shapes.
    pub own_bounds: Vec<OwnBound>,
    /// The effect of a tolerance that could not be tested on wrong answers.
    pub untested: UntestedTolerance,
}

/// Reads `tolerance`.
pub fn tolerance(item: &Item<'_>, buffers: &[Buffer], shapes: &[Shape]) -> Option<ReadTolerance> {
    let table = item.table()?;
    let bound = |key| table.read(key, bound);
    let (atol, rtol) = (bound(&TOLERANCE.atol), bound(&TOLERANCE.rtol));
    let either = atol.or(rtol).is_some();
    if let Some(item) = table.given(&TOLERANCE.mismatches).filter(|_| !either) {
        item.report("`mismatches` needs `atol` or `rtol`", Some("add one of them".to_owned()));
    }
    let mismatches =
        table.read(&TOLERANCE.mismatches, |item| item.number("a share from 0 to 0.05", |v| (0.0..=0.05).contains(&v)));
    let mut own = own_bounds(&table, buffers, shapes);
    if either {
        own.extend(exact_integers(&own, buffers));
    }
    let allclose = mismatches.filter(|_| either).map(|mismatches| AllClose {
        atol: atol.unwrap_or(0.0),
        rtol: rtol.unwrap_or(0.0),
        mismatches,
        own: hash(&own),
    });
    let allow_nan = table.read(&TOLERANCE.allow_nan, Item::boolean);
    let nan = if allow_nan == Some(true) { NanRule::Allowed } else { NanRule::Refused };
    let (max_abs, rel_l2, times_error) =
        (bound(&TOLERANCE.max_abs), bound(&TOLERANCE.rel_l2), bound(&TOLERANCE.times_error));
    let bounds = [&TOLERANCE.max_abs, &TOLERANCE.rel_l2, &TOLERANCE.atol, &TOLERANCE.rtol, &TOLERANCE.times_error];
    if !table.at_least_one("bound: ", bounds, "tolerance = { max_abs = 2e-3 }") {
        return None;
    }
    let of_elements = [&TOLERANCE.outputs, &TOLERANCE.shapes];
    if let Some(stray) = of_elements.into_iter().find_map(|key| table.given(key)).filter(|_| !either) {
        let help = "add `atol` or `rtol` to `tolerance` for the others".to_owned();
        stray.report(
            format!("`{}` bounds elements, but `tolerance` has no such bound for the others", stray.place.key),
            Some(help),
        );
    }
    let untested = table.read(&TOLERANCE.untested_tolerance, |item| item.one_of(&UntestedTolerance::WORDS));
    let tolerance = Tolerance { max_abs, rel_l2, allclose, times_error, nan };
    Some(ReadTolerance { tolerance, own_bounds: own, untested: untested.unwrap_or_default() })
}

/// Bounds of single outputs and shapes.
fn own_bounds(table: &Table<'_>, buffers: &[Buffer], shapes: &[Shape]) -> Vec<OwnBound> {
    let outputs: Vec<&str> = buffers.iter().filter(|b| b.role.is_compared()).map(|b| b.name.as_str()).collect();
    let names: Vec<&str> = shapes.iter().map(|shape| shape.name.0.as_str()).collect();
    let of_outputs = bounds(table, &TOLERANCE.outputs, &outputs, "an output", &|name| BoundOf::Output(name.to_owned()));
    let of_shapes = bounds(table, &TOLERANCE.shapes, &names, "a shape", &|name| BoundOf::Shape(ShapeName(name.into())));
    of_outputs.into_iter().chain(of_shapes).collect()
}

fn bounds(
    table: &Table<'_>,
    key: &'static Key,
    known: &[&str],
    what: &str,
    of: &dyn Fn(&str) -> BoundOf,
) -> Vec<OwnBound> {
    let Some(own) = table.read(key, Item::table) else { return Vec::new() };
    let own_bound = |(name, item): (PlacedValue<String>, Item<'_>)| {
        if !known.contains(&name.value.as_str()) {
            let help = suggest(&name.value, known.iter().copied());
            item.report(format!("`{}` is not {what}", name.place.key), Some(help));
            return None;
        }
        let table = item.table()?;
        if !OWN_TOLERANCE.spec.keys.iter().any(|key| table.has(key)) {
            item.expected("`atol`, `rtol` or both", Some("{ atol = 0 } requires equality".to_owned()));
        }
        let (atol, rtol) = (table.read(&OWN_TOLERANCE.atol, bound), table.read(&OWN_TOLERANCE.rtol, bound));
        Some(OwnBound { of: of(&name.value), atol: atol?, rtol: rtol? })
    };
    own.free().into_iter().filter_map(own_bound).collect()
}

fn bound(item: &Item<'_>) -> Option<f64> {
    item.number("a number of at least 0", |v| v >= 0.0)
}

/// Integer outputs next to float outputs are exact, unless the phase gives a bound for them.
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

/// A hash that identifies these bounds; 0 if there are none.
fn hash(own: &[OwnBound]) -> u64 {
    if own.is_empty() {
        return 0;
    }
    let text: Vec<String> =
        own.iter().map(|bound| format!("{:?} {:e} {:e}\n", bound.of, bound.atol, bound.rtol)).collect();
    let digest = Sha256::digest(text.concat());
    digest.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes).max(1))
}
