//! `tolerance`: the permitted difference of outputs from the reference.

use super::names::{is_glob, matching, suggest};
use super::reference;
use crate::config::keys::{DERIVED, Key, OWN_TOLERANCE, TOLERANCE};
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{BoundOf, Buffer, OutputCheck, OwnBound, ReferenceProgram, Shape, UntestedTolerance};
use ncugate_model::{AllClose, BoundUnit, ConditioningRule, NanRule, ShapeName, Tolerance};
use sha2::{Digest, Sha256};

/// Time limit of one call of a check, in seconds.
const CHECK_LIMIT: u32 = 60;

/// The parsed `tolerance` of a phase.
#[derive(Default)]
pub struct ReadTolerance {
    /// The tolerance for all outputs.
    pub tolerance: Tolerance,
    /// Separate bounds of single outputs and shapes.
    pub own_bounds: Vec<OwnBound>,
    /// Functions that judge outputs.
    pub checks: Vec<OutputCheck>,
    /// The effect of a tolerance that could not be tested on wrong answers.
    pub untested: UntestedTolerance,
}

/// Reads `tolerance`.
pub fn tolerance(item: &Item<'_>, buffers: &[Buffer], shapes: &[Shape]) -> Option<ReadTolerance> {
    if !item.is_table() {
        item.one_of(&DERIVED)?;
        let tolerance = Tolerance { allclose: Some(AllClose::DERIVED), ..Tolerance::default() };
        return Some(ReadTolerance { tolerance, ..ReadTolerance::default() });
    }
    let table = item.table()?;
    let bound = |key| table.read(key, bound);
    let (atol, rtol) = (bound(&TOLERANCE.atol), bound(&TOLERANCE.rtol));
    let either = atol.or(rtol).is_some();
    if let Some(item) = table.given(&TOLERANCE.mismatches).filter(|_| !either) {
        item.report("`mismatches` needs `atol` or `rtol`", Some("add one of them".to_owned()));
    }
    let mismatches =
        table.read(&TOLERANCE.mismatches, |item| item.number("a share from 0 to 0.05", |v| (0.0..=0.05).contains(&v)));
    let OwnTolerances { bounds: mut own, mut checks } = own_tolerances(&table, buffers, shapes);
    let has_own = !own.is_empty();
    if either {
        let bounded = buffers.iter().filter(|buffer| !checks.iter().any(|check| check.outputs.contains(&buffer.name)));
        own.extend(exact_integers(&own, &bounded.collect::<Vec<_>>(), shapes));
    }
    let allclose = mismatches.filter(|_| either).map(|mismatches| AllClose {
        atol: atol.unwrap_or(0.0),
        rtol: rtol.unwrap_or(0.0),
        mismatches,
        own: hash(&own),
        ..AllClose::default()
    });
    let allow_nan = table.read(&TOLERANCE.allow_nan, Item::boolean);
    let nan = if allow_nan == Some(true) { NanRule::Allowed } else { NanRule::Refused };
    let (max_abs, rel_l2, times_error) =
        (bound(&TOLERANCE.max_abs), bound(&TOLERANCE.rel_l2), bound(&TOLERANCE.times_error));
    let bounds = [&TOLERANCE.max_abs, &TOLERANCE.rel_l2, &TOLERANCE.atol, &TOLERANCE.rtol, &TOLERANCE.times_error];
    let is_bounded = bounds.into_iter().any(|key| table.has(key));
    let keys = bounds.into_iter().chain([&TOLERANCE.check]);
    if !table.at_least_one("bound: ", keys, "tolerance = { max_abs = 2e-3 }") {
        return None;
    }
    if let Some(program) = table.read(&TOLERANCE.check, program) {
        let judged = |name: &String| checks.iter().any(|check| check.outputs.contains(name));
        let outputs = buffers.iter().filter(|buffer| buffer.role.is_compared()).map(|buffer| buffer.name.clone());
        let outputs = if is_bounded { Vec::new() } else { outputs.filter(|name| !judged(name)).collect() };
        checks.push(OutputCheck { program, outputs });
    }
    // Outputs that a check alone judges have no difference.
    let max_abs = if is_bounded { max_abs } else { Some(0.0) };
    let of_elements = [&TOLERANCE.outputs, &TOLERANCE.shapes];
    if let Some(stray) = of_elements.into_iter().find_map(|key| table.given(key)).filter(|_| has_own && !either) {
        let help = "add `atol` or `rtol` to `tolerance` for the others".to_owned();
        stray.report(
            format!("`{}` bounds elements, but `tolerance` has no such bound for the others", stray.place.key),
            Some(help),
        );
    }
    let untested = table.read(&TOLERANCE.untested_tolerance, |item| item.one_of(&UntestedTolerance::WORDS));
    let ill_conditioned = table.read(&TOLERANCE.ill_conditioned, |item| item.one_of(&ConditioningRule::WORDS));
    let ill_conditioned = ill_conditioned.unwrap_or_default();
    let tolerance = Tolerance { max_abs, rel_l2, allclose, times_error, nan, ill_conditioned };
    Some(ReadTolerance { tolerance, own_bounds: own, checks, untested: untested.unwrap_or_default() })
}

/// A function that judges outputs.
fn program(item: &Item<'_>) -> Option<ReferenceProgram> {
    Some(ReferenceProgram { program: reference::python(item)?, timeout_s: CHECK_LIMIT, params: Vec::new() })
}

/// What single outputs and shapes have in place of the general bound.
#[derive(Default)]
struct OwnTolerances {
    bounds: Vec<OwnBound>,
    /// A function judges each set of outputs.
    checks: Vec<OutputCheck>,
}

fn own_tolerances(table: &Table<'_>, buffers: &[Buffer], shapes: &[Shape]) -> OwnTolerances {
    let outputs: Vec<&str> = buffers.iter().filter(|b| b.role.is_compared()).map(|b| b.name.as_str()).collect();
    let names: Vec<&str> = shapes.iter().map(|shape| shape.name.0.as_str()).collect();
    let mut own = OwnTolerances::default();
    let of_outputs = |name: &str| BoundOf::Output(name.to_owned());
    own.read(table, (&TOLERANCE.outputs, &outputs, "an output"), &of_outputs);
    own.read(table, (&TOLERANCE.shapes, &names, "a shape"), &|name| BoundOf::Shape(ShapeName(name.into())));
    own
}

impl OwnTolerances {
    /// Reads the tables of `key`, whose names are among `known`.
    fn read(
        &mut self,
        table: &Table<'_>,
        (key, known, what): (&'static Key, &[&str], &str),
        of: &dyn Fn(&str) -> BoundOf,
    ) {
        let Some(own) = table.read(key, Item::table) else { return };
        for (name, item) in own.free() {
            let table = if item.is_table() { item.table() } else { None };
            if table.is_none() && item.one_of(&DERIVED).is_none() {
                continue;
            }
            let check = table.as_ref().and_then(|table| table.given(&OWN_TOLERANCE.check));
            let globbed = *key == TOLERANCE.shapes && is_glob(&name.value);
            let names = if globbed { matching(&item, &name.value, known) } else { vec![name.value.as_str()] };
            let Some(first) = names.first() else { continue };
            let bound = own_bound((&name, first), (&item, table.as_ref()), (known, what), of);
            match (check, bound) {
                (None, None) => {}
                (None, Some(bound)) => {
                    for of in names.iter().map(|name| of(name)) {
                        if let Some(twice) = self.bounds.iter().find(|known| known.of == of) {
                            item.report(format!("{} has two bounds", twice.of), Some("give it one".to_owned()));
                        }
                        self.bounds.push(OwnBound { of, ..bound });
                    }
                }
                (Some(check), Some(OwnBound { of: BoundOf::Output(name), .. })) => self.add(&check, name),
                (Some(check), _) if known.contains(first) => {
                    check.report(format!("`{}` judges outputs, not shapes", check.place.key), None);
                }
                (Some(_), _) => {}
            }
        }
    }

    /// Adds an output to those that a function alone judges.
    fn add(&mut self, check: &Item<'_>, output: String) {
        let Some(program) = program(check) else { return };
        match self.checks.iter_mut().find(|check| check.program == program) {
            Some(known) => known.outputs.push(output),
            None => self.checks.push(OutputCheck { program, outputs: vec![output] }),
        }
    }
}

/// The bound of `name`, which is written under the key `written`; derived without a table.
fn own_bound(
    (written, name): (&PlacedValue<String>, &str),
    (item, table): (&Item<'_>, Option<&Table<'_>>),
    (known, what): (&[&str], &str),
    of: &dyn Fn(&str) -> BoundOf,
) -> Option<OwnBound> {
    if !known.contains(&name) {
        let help = suggest(name, known.iter().copied());
        item.report(format!("`{}` is not {what}", written.place.key), Some(help));
        return None;
    }
    let Some(table) = table else {
        let AllClose { atol, rtol, unit, .. } = AllClose::DERIVED;
        return Some(OwnBound { of: of(name), atol, rtol, unit });
    };
    let has_bound = table.has(&OWN_TOLERANCE.atol) || table.has(&OWN_TOLERANCE.rtol);
    if has_bound == table.has(&OWN_TOLERANCE.check) {
        item.expected("`atol`, `rtol` or both, or `check` alone", Some("{ atol = 0 } requires equality".to_owned()));
    }
    let (atol, rtol) = (table.read(&OWN_TOLERANCE.atol, bound), table.read(&OWN_TOLERANCE.rtol, bound));
    Some(OwnBound { of: of(name), atol: atol?, rtol: rtol?, unit: BoundUnit::One })
}

fn bound(item: &Item<'_>) -> Option<f64> {
    item.number("a number of at least 0", |v| v >= 0.0)
}

/// Integer outputs next to float outputs are exact, unless the phase gives a bound for them.
fn exact_integers(own: &[OwnBound], buffers: &[&Buffer], shapes: &[Shape]) -> Vec<OwnBound> {
    let compared = || buffers.iter().filter(|buffer| buffer.role.is_compared());
    // A buffer has floats at every shape, or integers at every shape.
    let is_float = |buffer: &Buffer| buffer.dtype.has_nan(shapes);
    if !compared().any(|buffer| is_float(buffer)) {
        return Vec::new();
    }
    let integers = compared().filter(|buffer| !is_float(buffer)).map(|buffer| BoundOf::Output(buffer.name.clone()));
    let unsaid = integers.filter(|of| !own.iter().any(|bound| bound.of == *of));
    unsaid.map(|of| OwnBound { of, atol: 0.0, rtol: 0.0, unit: BoundUnit::One }).collect()
}

/// A hash that identifies these bounds; 0 if there are none.
fn hash(own: &[OwnBound]) -> u64 {
    if own.is_empty() {
        return 0;
    }
    let text: Vec<String> = own
        .iter()
        .map(|OwnBound { of, atol, rtol, unit }| match unit {
            BoundUnit::One => format!("{of:?} {atol:e} {rtol:e}\n"),
            BoundUnit::Derived => format!("{of:?} derived\n"),
        })
        .collect();
    let digest = Sha256::digest(text.concat());
    digest.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes).max(1))
}
