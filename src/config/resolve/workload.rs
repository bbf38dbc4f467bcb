//! `[workload]`: shapes, scalars, buffers, reference, tolerance.
//!
//! Where a declared name has a value that is wrong, a stand-in keeps the name known, so that one mistake is one error: a
//! file with a problem never becomes a phase.

use super::names::identifier;
use super::reference;
use super::scope::InScope;
use crate::config::keys::{self, ARANGE, NORMAL, UNIFORM};
use crate::config::reader::{Item, Placed, Table};
use crate::config::{Buffer, Dtype, Init, Laws, Role, Scalar, ScalarType, Shape, Workload, WorkloadReference};
use crate::expr::{Expr, Names, Value};
use crate::model::{AllClose, NanRule, ShapeName, Tolerance};

/// Reads the workload; `params` are every parameter that a variant may have.
pub fn workload(table: &Table<'_>, params: &[String]) -> Workload {
    let shapes = table.need("shapes").map(|item| shapes(&item)).unwrap_or_default();
    let dims = InScope::new("the dimensions", dims_of(&shapes));
    let scalar_scope =
        InScope::new("the dimensions and parameters", dims_of(&shapes).into_iter().chain(params.iter().cloned()));
    let before = table.problems();
    let buffers = table.need("buffers").map(|item| buffers(&item, &dims, &shapes)).unwrap_or_default();
    let buffers_right = table.problems() == before;
    let scalars = table.get("scalars").map(|item| scalars(&item, &scalar_scope)).unwrap_or_default();
    let reference = table.need("reference").and_then(|item| reference::reference(&item, &dims));
    let tolerance = table.need("tolerance").and_then(|item| tolerance(&item));
    let seeds = table.get("seeds").map_or_else(|| vec![0], |item| seeds(&item));
    let over_shapes = |key| table.get(key).and_then(|item| evaluated(&item, &dims, &shapes));
    let (flops, bytes) = (over_shapes("flops"), over_shapes("bytes"));
    if let (Some(reference), true) = (&reference, buffers_right) {
        reference::check_buffers(table, reference, &buffers);
    }
    if let (
        Some(times),
        Some(WorkloadReference::Entry { .. } | WorkloadReference::Npy { .. } | WorkloadReference::Program(_)),
    ) = (tolerance.and_then(|t| t.times_error), &reference)
    {
        let message =
            format!("`times_error = {times}` asks for a plain evaluation, which only built-in references have");
        table.report(message, Some("give max_abs, rel_l2, or atol and rtol".to_owned()));
    }
    let given_reference = reference.clone();
    let reference =
        reference.unwrap_or_else(|| WorkloadReference::Builtin { name: "copy".to_owned(), options: Vec::new() });
    let given = table.get("laws").map(|item| Laws::Given(reference::laws(&item, given_reference.as_ref())));
    let laws = given.unwrap_or_else(|| Laws::Suited(reference::suited_laws(&reference, &buffers)));
    let tolerance = tolerance.unwrap_or_default();
    Workload { seeds, laws, reference, tolerance, scalars, shapes, buffers, flops, bytes }
}

/// Names of the dimensions, those of the first shape.
pub fn dims_of(shapes: &[Shape]) -> Vec<String> {
    shapes.first().map(|shape| shape.dims.iter().map(|(name, _)| name.clone()).collect()).unwrap_or_default()
}

/// A shape's dimensions as names in scope.
pub fn dims_scope(shape: &Shape) -> Names {
    shape.dims.iter().map(|(name, extent)| (name.clone(), Value::Int(*extent))).collect()
}

fn seeds(item: &Item<'_>) -> Vec<u64> {
    let seeds: Vec<u64> = item
        .some_list()
        .iter()
        .filter_map(|seed| seed.whole(0..=i64::MAX))
        .filter_map(|v| u64::try_from(v).ok())
        .collect();
    for (at, seed) in seeds.iter().enumerate() {
        if seeds[..at].contains(seed) {
            item.report(format!("seed {seed} is given twice"), Some("give each seed once".to_owned()));
        }
    }
    seeds
}

fn shapes(item: &Item<'_>) -> Vec<Shape> {
    let Some(table) = item.table(&keys::SHAPES) else { return Vec::new() };
    let mut shapes: Vec<Shape> = Vec::new();
    for (name, dims) in table.free() {
        let Some(name) = plain_name(&name, &dims) else { continue };
        let Some(entries) = dims.table(&keys::DIMS) else { continue };
        let dims: Vec<(String, i64)> = entries
            .free()
            .into_iter()
            .filter_map(|(dim, extent)| Some((identifier(&dim, &extent)?, extent.whole(1..=i64::MAX).unwrap_or(1))))
            .collect();
        if entries.free().is_empty() {
            entries.report(format!("shape `{name}` has no dimensions"), None);
        }
        if let Some(first) = shapes.first()
            && !same_names(&first.dims, &dims)
            && dims.len() == entries.free().len()
        {
            let list = |dims: &[(String, i64)]| dims.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>().join(", ");
            let message = format!(
                "shape `{name}` has the dimensions {}, but shape `{}` has {}",
                list(&dims),
                first.name,
                list(&first.dims)
            );
            entries.report(message, Some("give every shape the same dimensions".to_owned()));
        }
        shapes.push(Shape { name: ShapeName(name), dims });
    }
    if table.free().is_empty() {
        table.report("`workload.shapes` declares no shape", Some("small = { B = 1, S = 128 }".to_owned()));
    }
    shapes
}

/// The shapes that have every dimension an expression names; the others have an error of their own.
fn shapes_with<'s>(expr: &Expr, shapes: &'s [Shape]) -> impl Iterator<Item = &'s Shape> {
    let names = expr.names();
    shapes.iter().filter(move |shape| names.iter().all(|(name, _)| shape.dims.iter().any(|(dim, _)| dim == name)))
}

fn same_names(a: &[(String, i64)], b: &[(String, i64)]) -> bool {
    a.len() == b.len() && a.iter().all(|(name, _)| b.iter().any(|(other, _)| other == name))
}

/// A key that serves as a name in folders, ids and NVTX ranges.
fn plain_name(key: &Placed<String>, at: &Item<'_>) -> Option<String> {
    let plain = key.value.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    if plain && !key.value.is_empty() && !key.value.starts_with(['.', '-']) {
        return Some(key.value.clone());
    }
    at.report(format!("`{}` is not a name of letters, digits and `_ . -`", key.value), None);
    None
}

fn scalars(item: &Item<'_>, scope: &InScope) -> Vec<Scalar> {
    let Some(table) = item.table(&keys::SCALARS) else { return Vec::new() };
    let types = [
        ("f32", ScalarType::F32),
        ("f64", ScalarType::F64),
        ("i32", ScalarType::I32),
        ("i64", ScalarType::I64),
        ("u32", ScalarType::U32),
    ];
    let scalar = |(name, item): (Placed<String>, Item<'_>)| {
        let name = identifier(&name, &item)?;
        let (dtype, value) = if item.is_table() {
            let table = item.table(&keys::SCALAR)?;
            let dtype = table.get("type").map_or(Some(ScalarType::F32), |t| t.one_of(&types));
            (dtype, table.need("value").and_then(|value| scope.expr(&value)))
        } else {
            (Some(ScalarType::F32), scope.expr(&item))
        };
        let value = value.map(|placed| placed.value).or_else(|| Expr::parse("0").ok());
        Some(Scalar { name, dtype: dtype.unwrap_or(ScalarType::F32), value: value? })
    };
    table.free().into_iter().filter_map(scalar).collect()
}

/// An expression that has to give a finite number at every shape.
fn evaluated(item: &Item<'_>, dims: &InScope, shapes: &[Shape]) -> Option<Expr> {
    let expr = dims.expr(item)?.value;
    for shape in shapes_with(&expr, shapes) {
        if let Err(e) = expr.eval_number(&dims_scope(shape)) {
            let message = format!("`{}` at shape `{}`: {e}", item.place.key, shape.name);
            item.report_within(expr.text(), e.span(), message, None);
        }
    }
    Some(expr)
}

fn buffers(item: &Item<'_>, dims: &InScope, shapes: &[Shape]) -> Vec<Buffer> {
    let Some(table) = item.table(&keys::BUFFERS) else { return Vec::new() };
    let entries = table.free();
    let buffers: Vec<Buffer> = entries.iter().filter_map(|(name, item)| buffer(name, item, dims, shapes)).collect();
    if buffers.len() == entries.len() && !buffers.iter().any(|buffer| buffer.role == Role::Output) {
        let help = "give the buffer that the kernel computes `role = \"output\"`".to_owned();
        table.report("no buffer has the role output, so that nothing could be proved correct", Some(help));
    }
    buffers
}

fn buffer(name: &Placed<String>, item: &Item<'_>, dims: &InScope, shapes: &[Shape]) -> Option<Buffer> {
    let name = identifier(name, item)?;
    let table = item.table(&keys::BUFFER)?;
    let dtype = table.need("dtype").and_then(|item| item.one_of(&Dtype::ALL.map(|dtype| (dtype.name(), dtype))));
    let roles = [("input", Role::Input), ("output", Role::Output), ("scratch", Role::Scratch)];
    let role = table.get("role").map_or(Some(Role::Input), |item| item.one_of(&roles));
    let shape: Vec<Expr> = table
        .need("shape")
        .map(|item| item.some_list().iter().filter_map(|axis| extent(axis, dims, shapes)).collect())
        .unwrap_or_default();
    let given = table.get("init");
    let init = match (&given, role) {
        (Some(item), Some(Role::Output | Role::Scratch)) => {
            let help = "only inputs are filled: leave `init` out, or make it an input".to_owned();
            item.report(format!("`{}` is given, but the buffer is not an input", item.place.key), Some(help));
            None
        }
        (Some(item), _) => init(item),
        (None, Some(Role::Input)) => Some(Init::Normal { mean: 0.0, std: 1.0 }),
        (None, _) => None,
    };
    let role = role.unwrap_or(Role::Output);
    Some(Buffer { name, dtype: dtype.unwrap_or(Dtype::F32), shape, init, role })
}

/// The extent of an axis, a positive whole number at every shape.
fn extent(item: &Item<'_>, dims: &InScope, shapes: &[Shape]) -> Option<Expr> {
    let expr = dims.expr(item)?.value;
    for shape in shapes_with(&expr, shapes) {
        let (key, shape_name) = (&item.place.key, &shape.name);
        let (span, problem) = match expr.eval_int(&dims_scope(shape)) {
            Ok(v) if v > 0 => continue,
            Ok(v) => (None, format!("`{key}` is \"{expr}\", which gives {v} at shape `{shape_name}`")),
            Err(e) => (e.span(), format!("`{key}` at shape `{shape_name}`: {e}")),
        };
        let help = "an extent is a whole number of at least 1".to_owned();
        item.report_within(expr.text(), span, problem, Some(help));
    }
    Some(expr)
}

fn init(item: &Item<'_>) -> Option<Init> {
    let words = [
        ("normal", Init::Normal { mean: 0.0, std: 1.0 }),
        ("uniform", Init::Uniform { low: 0.0, high: 1.0 }),
        ("arange", Init::Arange { start: 0.0, step: 1.0 }),
        ("constant", Init::Constant { value: 1.0 }),
    ];
    if !item.is_table() {
        return item.one_of(&words);
    }
    let table = item.table(&keys::INIT)?;
    let number = |table: &Table<'_>, key: &'static str, default: f64| {
        table.get(key).map_or(Some(default), |item| item.number("a finite number", |_| true))
    };
    let given: Vec<(&str, Item<'_>)> =
        ["normal", "uniform", "arange", "constant"].into_iter().filter_map(|k| Some((k, table.get(k)?))).collect();
    let [(kind, inner)] = given.as_slice() else {
        item.expected("exactly one of normal, uniform, arange, constant", None);
        return None;
    };
    match *kind {
        "normal" => {
            let normal = inner.table(&NORMAL)?;
            let std = normal.get("std").map_or(Some(1.0), |item| item.number("a number of at least 0", |v| v >= 0.0));
            Some(Init::Normal { mean: number(&normal, "mean", 0.0)?, std: std? })
        }
        "uniform" => {
            let uniform = inner.table(&UNIFORM)?;
            let (low, high) = (number(&uniform, "low", 0.0)?, number(&uniform, "high", 1.0)?);
            if low >= high {
                inner.expected("low below high", None);
                return None;
            }
            Some(Init::Uniform { low, high })
        }
        "arange" => {
            let arange = inner.table(&ARANGE)?;
            Some(Init::Arange { start: number(&arange, "start", 0.0)?, step: number(&arange, "step", 1.0)? })
        }
        _ => inner.number("a finite number", |_| true).map(|value| Init::Constant { value }),
    }
}

fn tolerance(item: &Item<'_>) -> Option<Tolerance> {
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
    let allclose = either.then(|| AllClose {
        atol: atol.unwrap_or(0.0),
        rtol: rtol.unwrap_or(0.0),
        mismatches: mismatches.unwrap_or(0.0),
    });
    let allow_nan = table.get("allow_nan").and_then(|item| item.boolean()).unwrap_or(false);
    let nan = if allow_nan { NanRule::Allowed } else { NanRule::Refused };
    let (max_abs, rel_l2, times_error) = (bound("max_abs"), bound("rel_l2"), bound("times_error"));
    if !BOUNDS.iter().any(|key| table.has(key)) {
        let help = "tolerance = { max_abs = 2e-3 }".to_owned();
        item.expected(&format!("at least one bound: {}", BOUNDS.join(", ")), Some(help));
        return None;
    }
    Some(Tolerance { max_abs, rel_l2, allclose, times_error, nan })
}
