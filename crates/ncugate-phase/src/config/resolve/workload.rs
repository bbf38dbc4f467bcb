//! `[workload]`: shapes, scalars, buffers, reference, tolerance.
//!
//! Where a declared name has a value that is wrong, a stand-in keeps the name known, so that one mistake is one error: a
//! file with a problem never becomes a phase.

use super::init::init;
use super::names::identifier;
use super::scope::NameScope;
use super::{reference, tolerance};
use crate::config::keys::{self, COMPLEX64};
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{Amount, Buffer, Init, Laws, Reduction, Scalar, ScalarType, Shape, Workload, WorkloadReference};
use ncugate_model::Dtype;
use ncugate_model::Role;
use ncugate_model::ShapeName;
use ncugate_model::expr::{Expr, Names, Value};
use std::collections::HashSet;

/// Reads the workload; `params` are every parameter that a variant may have.
pub fn workload(table: &Table<'_>, params: &[String]) -> Workload {
    let shapes = table.need("shapes").map(|item| shapes(&item)).unwrap_or_default();
    let dims = NameScope::new("the dimensions", dims_of(&shapes));
    let scalar_scope =
        NameScope::new("the dimensions and parameters", dims_of(&shapes).into_iter().chain(params.iter().cloned()));
    let before = table.problems();
    let scopes = BufferScopes { dims: &dims, all: &scalar_scope };
    let buffers = table.need("buffers").map(|item| buffers(&item, &scopes, &shapes)).unwrap_or_default();
    let buffers_right = table.problems() == before;
    let scalars = table.get("scalars").map(|item| scalars(&item, &scalar_scope)).unwrap_or_default();
    let reference = table.need("reference").and_then(|item| reference::reference(&item, &dims));
    let tolerance = table.need("tolerance").and_then(|item| tolerance::tolerance(&item, &buffers, &shapes));
    let seeds = table.get("seeds").map_or_else(|| vec![0], |item| seeds(&item));
    let over_shapes = |key| table.get(key).and_then(|item| evaluated(&item, &dims, &shapes));
    let (flops, bytes) = (over_shapes("flops"), over_shapes("bytes"));
    refuse_partial_entry(table, reference.as_ref(), &buffers);
    if let (Some(reference), true) = (&reference, buffers_right) {
        reference::check_buffers(table, reference, &buffers);
    }
    if let (
        Some(times),
        Some(WorkloadReference::Entry { .. } | WorkloadReference::Npy { .. } | WorkloadReference::Program(_)),
    ) = (tolerance.as_ref().and_then(|read| read.tolerance.times_error), &reference)
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
    let tolerance::ReadTolerance { tolerance, own_bounds, untested } = tolerance.unwrap_or_default();
    Workload {
        seeds,
        laws,
        reference,
        tolerance,
        own_bounds,
        untested_tolerance: untested,
        scalars,
        shapes,
        buffers,
        flops,
        bytes,
    }
}

/// Reports a reference entry beside partial results: it has no parameters that would say how many there are.
fn refuse_partial_entry(table: &Table<'_>, reference: Option<&WorkloadReference>, buffers: &[Buffer]) {
    let partial = buffers.iter().find(|buffer| buffer.reduce.is_some());
    if let (Some(WorkloadReference::Entry { .. }), Some(partial), Some(item)) =
        (reference, partial, table.get("reference"))
    {
        let message = format!("a reference entry cannot give the partial results of `{}`", partial.name);
        let help = "use a built-in reference or a NumPy file, which give what the partial results are put together to";
        item.report(message, Some(help.to_owned()));
    }
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
        .filter_map(|seed| seed.integer(0..=i64::MAX))
        .filter_map(|v| u64::try_from(v).ok())
        .collect();
    let mut seen = HashSet::new();
    for seed in &seeds {
        if !seen.insert(seed) {
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
            .filter_map(|(dim, extent)| Some((identifier(&dim, &extent)?, extent.integer(1..=i64::MAX).unwrap_or(1))))
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
fn plain_name(key: &PlacedValue<String>, at: &Item<'_>) -> Option<String> {
    let plain = key.value.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    if plain && !key.value.is_empty() && !key.value.starts_with(['.', '-']) {
        return Some(key.value.clone());
    }
    at.report(format!("`{}` is not a name of letters, digits and `_ . -`", key.value), None);
    None
}

fn scalars(item: &Item<'_>, scope: &NameScope) -> Vec<Scalar> {
    let Some(table) = item.table(&keys::SCALARS) else { return Vec::new() };
    let scalar = |(name, item): (PlacedValue<String>, Item<'_>)| {
        let name = identifier(&name, &item)?;
        let (dtype, value) = if item.is_table() {
            let table = item.table(&keys::SCALAR)?;
            let dtype = table.get("type").map_or(Some(ScalarType::F32), |t| t.one_of(&ScalarType::ALL));
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
fn evaluated(item: &Item<'_>, dims: &NameScope, shapes: &[Shape]) -> Option<Expr> {
    let expr = dims.expr(item)?.value;
    for shape in shapes_with(&expr, shapes) {
        if let Err(e) = expr.eval_number(&dims_scope(shape)) {
            let message = format!("`{}` at shape `{}`: {e}", item.place.key, shape.name);
            item.report_within(expr.text(), e.span(), message, None);
        }
    }
    Some(expr)
}

/// What extents and numbers of a buffer may name.
struct BufferScopes<'s> {
    dims: &'s NameScope,
    /// With the parameters of variants.
    all: &'s NameScope,
}

fn buffers(item: &Item<'_>, scopes: &BufferScopes<'_>, shapes: &[Shape]) -> Vec<Buffer> {
    let Some(table) = item.table(&keys::BUFFERS) else { return Vec::new() };
    let entries = table.free();
    let buffers: Vec<Buffer> = entries.iter().filter_map(|(name, item)| buffer(name, item, scopes, shapes)).collect();
    if buffers.len() == entries.len() && !buffers.iter().any(|buffer| buffer.role.is_compared()) {
        let help =
            "give the buffer that the kernel computes `role = \"output\"`, or `\"inout\"` where it changes it in place"
                .to_owned();
        table.report("no buffer has the role output or inout, so that nothing could be proved correct", Some(help));
    }
    buffers
}

fn buffer(name: &PlacedValue<String>, item: &Item<'_>, scopes: &BufferScopes<'_>, shapes: &[Shape]) -> Option<Buffer> {
    let name = identifier(name, item)?;
    let table = item.table(&keys::BUFFER)?;
    let dtypes = Dtype::ALL.map(|dtype| (dtype.name(), (dtype, None)));
    // A complex number is a pair of f32, on a last axis of its own.
    let dtypes: Vec<_> = dtypes.into_iter().chain([(COMPLEX64, (Dtype::F32, Some("2")))]).collect();
    let dtype = table.need("dtype").and_then(|item| item.one_of(&dtypes));
    let roles = [("input", Role::Input), ("output", Role::Output), ("inout", Role::Inout), ("scratch", Role::Scratch)];
    let role = table.get("role").map_or(Some(Role::Input), |item| item.one_of(&roles));
    let reduce = table.get("reduce");
    let reductions = [("sum", Reduction::Sum), ("max", Reduction::Max), ("min", Reduction::Min)];
    let reduction = reduce.as_ref().and_then(|item| item.one_of(&reductions));
    let may_vary = reduce.is_some() || role == Some(Role::Scratch);
    let dims = if may_vary { scopes.all } else { scopes.dims };
    let mut shape: Vec<Expr> = table
        .need("shape")
        .map(|item| item.some_list().iter().filter_map(|axis| extent(axis, dims, shapes)).collect())
        .unwrap_or_default();
    let (dtype, parts) = dtype.unwrap_or((Dtype::F32, None));
    shape.extend(parts.and_then(|parts| Expr::parse(parts).ok()));
    let given = table.get("init");
    let standard = || Init::Normal { mean: Amount::Number(0.0), std: Amount::Number(1.0) };
    let init = match &given {
        Some(item) => init(item, &shape, scopes.dims, shapes),
        None => role.filter(|role| role.is_read()).map(|_| standard()),
    };
    let role = role.unwrap_or(Role::Output);
    let buffer = Buffer { name, dtype, shape, init, role, reduce: reduction };
    if let Some(item) = &reduce {
        check_reduce(item, &buffer, shapes, given.is_some());
    }
    Some(buffer)
}

/// Reports a `reduce` that means nothing.
fn check_reduce(item: &Item<'_>, buffer: &Buffer, shapes: &[Shape], has_init: bool) {
    let varies = shapes.first().is_some_and(|shape| buffer.varying_axes(&shape.dims).contains(&true));
    let problem = if buffer.role != Role::Output {
        "is for outputs"
    } else if !varies {
        "puts together axes whose extents follow the variant's parameters, and the buffer has none"
    } else if has_init {
        "is for partial results that are written whole; leave `init` out"
    } else {
        return;
    };
    item.report(format!("`{}` {problem}", item.place.key), None);
}

/// The extent of an axis, a positive whole number at every shape.
fn extent(item: &Item<'_>, dims: &NameScope, shapes: &[Shape]) -> Option<Expr> {
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
