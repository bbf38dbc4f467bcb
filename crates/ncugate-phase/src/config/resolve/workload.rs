//! `[workload]`: shapes, scalars, buffers, reference, tolerance.
//!
//! If the value of a declared name is invalid, a placeholder keeps the name known, so that one mistake gives one
//! error. A file with a problem never becomes a phase.

use super::init::init;
use super::names::identifier;
use super::scope::NameScope;
use super::{reference, tolerance};
use crate::config::keys::{BUFFER, DTYPES, SCALAR, WORKLOAD};
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{
    Buffer, BufferType, Laws, OwnBound, Reduction, RowOrder, SMS, Scalar, ScalarType, Shape, Slice, Workload,
    WorkloadReference,
};
use ncugate_model::expr::{Expr, ExprError};
use ncugate_model::{BoundUnit, ConditioningRule, Dtype, Role, ShapeName};
use std::collections::HashSet;

/// Reads the workload; `params` are all parameters of variants.
pub fn workload(table: &Table<'_>, params: &[String]) -> Workload {
    let shapes = table.get(&WORKLOAD.shapes).map(|item| shapes(&item)).unwrap_or_default();
    let dims = NameScope::new("the dimensions", dims_of(&shapes));
    let scalar_scope =
        NameScope::new("the dimensions and parameters", dims_of(&shapes).into_iter().chain(params.iter().cloned()));
    let before = table.problems();
    // Like launches, buffers of variants can be as many as the SMs; the operands of the reference are not.
    let own = scalar_scope.names.iter().cloned().chain([SMS.to_owned()]);
    let own = NameScope::new("the dimensions, `sms` and parameters", own);
    let scopes = BufferScopes { dims: &dims, all: &own };
    let buffers = table.get(&WORKLOAD.buffers).map(|item| buffers(&item, &scopes, &shapes)).unwrap_or_default();
    let buffers_right = table.problems() == before;
    let scalars = table.get(&WORKLOAD.scalars).map(|item| scalars(&item, &scalar_scope)).unwrap_or_default();
    let reference = table.read(&WORKLOAD.reference, |item| reference::reference(item, &dims, &shapes, params));
    let tolerance = table.read(&WORKLOAD.tolerance, |item| tolerance::tolerance(item, &buffers, &shapes));
    let seeds = table.get(&WORKLOAD.seeds).map(|item| seeds(&item)).unwrap_or_default();
    let over_shapes = |key| table.read(key, |item| evaluated(item, &dims, &shapes));
    let (flops, bytes) = (over_shapes(&WORKLOAD.flops), over_shapes(&WORKLOAD.bytes));
    refuse_partial_entry(table, reference.as_ref(), &buffers);
    refuse_part_of_state(table, reference.as_ref(), &buffers);
    if let (Some(reference), true) = (&reference, buffers_right) {
        reference::check_buffers(table, reference, &buffers);
    }
    if let (
        Some(times),
        Some(WorkloadReference::Entry { .. } | WorkloadReference::Npy { .. } | WorkloadReference::Program(_)),
    ) = (tolerance.as_ref().and_then(|read| read.tolerance.times_error), &reference)
    {
        let message = format!("`times_error = {times}` needs a plain evaluation, which only built-in references have");
        table.report(message, Some("use `max_abs`, `rel_l2`, or `atol` and `rtol`".to_owned()));
    }
    if let (
        Some(ConditioningRule::Inconclusive),
        Some(WorkloadReference::Entry { .. } | WorkloadReference::Npy { .. }),
    ) = (tolerance.as_ref().map(|read| read.tolerance.ill_conditioned), &reference)
    {
        let message = "`ill_conditioned` needs a reference that the host computes for other inputs";
        table.report(message, Some("use a built-in, a Python function or a command".to_owned()));
    }
    let given_reference = reference.clone();
    let reference =
        reference.unwrap_or_else(|| WorkloadReference::Builtin { name: "copy".to_owned(), options: Vec::new() });
    let given = table.get(&WORKLOAD.laws).map(|item| Laws::Given(reference::laws(&item, given_reference.as_ref())));
    let laws = given.unwrap_or_else(|| Laws::Suited(reference::suited_laws(&reference, &buffers)));
    let tolerance::ReadTolerance { tolerance, own_bounds, checks, untested } = tolerance.unwrap_or_default();
    let workload = Workload {
        seeds,
        laws,
        reference,
        tolerance,
        own_bounds,
        checks,
        untested_tolerance: untested,
        scalars,
        shapes,
        buffers,
        flops,
        bytes,
    };
    refuse_underivable(table, &workload);
    workload
}

/// Reports a derived bound without a built-in reference, which alone has a plain evaluation, or of an output whose type is so coarse
/// that a derived bound would accept wrong results that written ones reject.
fn refuse_underivable(table: &Table<'_>, workload: &Workload) {
    if !workload.has_derived_bound() {
        return;
    }
    if !matches!(workload.reference, WorkloadReference::Builtin { .. }) {
        let message = "a derived tolerance needs a plain evaluation, which only built-in references have";
        table.report(message, Some("use `max_abs`, `rel_l2`, or `atol` and `rtol`".to_owned()));
    }
    let general = workload.tolerance.allclose;
    for buffer in workload.buffers.iter().filter(|buffer| buffer.role.is_compared()) {
        let coarse = workload.shapes.iter().find_map(|shape| {
            let own = OwnBound::of(&workload.own_bounds, general, &buffer.name, &shape.name);
            let rtol = match buffer.dtype.at(shape) {
                Ok(Dtype::Bf16) => "8e-3",
                Ok(Dtype::Fp8E4m3) => "0.13",
                Ok(Dtype::Fp8E5m2) => "0.25",
                _ => return None,
            };
            own.or(general).filter(|bound| bound.unit == BoundUnit::Derived).map(|_| (shape, rtol))
        });
        if let Some((shape, rtol)) = coarse {
            let message = format!(
                "no tolerance is derived for output `{}` at shape `{}`, whose type is coarser than f16",
                buffer.name, shape.name
            );
            let help = format!("write `rtol = {rtol}`, a unit in the last place, and an `atol` for small elements");
            table.report(message, Some(help));
        }
    }
}

/// Reports a reference entry for partial results: it has no parameters that would determine their number.
fn refuse_partial_entry(table: &Table<'_>, reference: Option<&WorkloadReference>, buffers: &[Buffer]) {
    let partial = buffers.iter().find(|buffer| buffer.reduce.is_some());
    if let (Some(WorkloadReference::Entry { .. }), Some(partial), Some(item)) =
        (reference, partial, table.get(&WORKLOAD.reference))
    {
        let message = format!("a reference entry cannot compute the partial results of `{}`", partial.name);
        let help = "use a built-in reference or a NumPy file, which have the combined results";
        item.report(message, Some(help.to_owned()));
    }
}

/// Reports a built-in reference whose input is a buffer of which a part counts.
fn refuse_part_of_state(table: &Table<'_>, reference: Option<&WorkloadReference>, buffers: &[Buffer]) {
    let part = buffers.iter().find(|buffer| buffer.role == Role::Inout && !buffer.compare.is_empty());
    if let (Some(WorkloadReference::Builtin { .. }), Some(part), Some(item)) =
        (reference, part, table.get(&WORKLOAD.reference))
    {
        let message = format!("a built-in reference cannot compute a part of `{}`, which it also reads", part.name);
        item.report(message, Some("use a Python function".to_owned()));
    }
}

/// Names of the dimensions, those of the first shape.
pub fn dims_of(shapes: &[Shape]) -> Vec<String> {
    shapes.first().map(|shape| shape.dims.iter().map(|(name, _)| name.clone()).collect()).unwrap_or_default()
}

fn seeds(item: &Item<'_>) -> Vec<u64> {
    let seeds: Vec<u64> =
        item.some_list().iter().filter_map(Item::integer).filter_map(|v| u64::try_from(v).ok()).collect();
    let mut seen = HashSet::new();
    for seed in &seeds {
        if !seen.insert(seed) {
            item.report(format!("`seeds` has {seed} twice"), Some("remove one".to_owned()));
        }
    }
    seeds
}

fn shapes(item: &Item<'_>) -> Vec<Shape> {
    let Some(table) = item.table() else { return Vec::new() };
    let mut shapes: Vec<Shape> = Vec::new();
    for (name, dims) in table.free() {
        let Some(name) = plain_name(&name, &dims) else { continue };
        let Some(entries) = dims.table() else { continue };
        let (products, right) = products(&name, &entries);
        if entries.free().is_empty() {
            entries.report(format!("shape `{name}` has no dimensions"), None);
        }
        if let (Some(first), Some(Shape { dims, .. })) = (shapes.first(), products.first())
            && !same_names(&first.dims, dims)
            && right
        {
            let list = |dims: &[(String, i64)]| dims.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>().join(", ");
            let message = format!(
                "shape `{name}` has the dimensions {}, but shape `{}` has {}",
                list(dims),
                first.name,
                list(&first.dims)
            );
            entries.report(message, Some("give all shapes the same dimensions".to_owned()));
        }
        for shape in products {
            if shapes.iter().any(|known| known.name == shape.name) {
                entries.report(format!("two shapes have the name `{}`", shape.name), Some("rename one".to_owned()));
            }
            shapes.push(shape);
        }
    }
    if table.free().is_empty() {
        table.report("`workload.shapes` declares no shape", Some("small = { B = 1, S = 128 }".to_owned()));
    }
    shapes
}

/// Most shapes of a product.
const MOST_SHAPES: usize = 1000;

/// The shapes of an entry: one, or with lists every combination of their values, the last list fastest. The name of a
/// combination ends with the dimensions that are lists and their values: `grid_b1_h8`. Also whether all dimensions are
/// valid.
fn products(name: &str, entries: &Table<'_>) -> (Vec<Shape>, bool) {
    let mut shapes = vec![(name.to_owned(), Vec::new())];
    let mut right = true;
    for (dim, item) in entries.free() {
        let Some(dim) = identifier(&dim, &item) else {
            right = false;
            continue;
        };
        let is_list = item.is_list();
        let mut values: Vec<i64> = match is_list {
            true => item.some_list().iter().filter_map(Item::integer).collect(),
            false => vec![item.integer().unwrap_or(1)],
        };
        if let Some(twice) = values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)) {
            item.report(format!("`{}` has {} twice", item.place.key, twice.1), Some("remove one".to_owned()));
        }
        if shapes.len().saturating_mul(values.len()) > MOST_SHAPES {
            item.report(format!("shape `{name}` is a product of more than {MOST_SHAPES} shapes"), None);
            shapes.truncate(1);
            values.truncate(1);
        }
        if values.is_empty() {
            // A placeholder keeps the dimension known.
            values.push(1);
        }
        // `k2_8` is not the dimension `k28` without a value.
        let between = if dim.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
        let with = |(name, dims): &(String, Vec<(String, i64)>), value: i64| {
            let name = match is_list {
                true => format!("{name}_{}{between}{value}", dim.to_ascii_lowercase()),
                false => name.clone(),
            };
            (name, dims.iter().cloned().chain([(dim.clone(), value)]).collect())
        };
        shapes = shapes.iter().flat_map(|shape| values.iter().map(|value| with(shape, *value))).collect();
    }
    let shape = |(name, dims): (String, Vec<(String, i64)>)| Shape { name: ShapeName(name.into()), dims };
    (shapes.into_iter().map(shape).collect(), right)
}

/// The shapes that have every dimension of an expression; the others have a separate error.
pub fn shapes_with<'s>(expr: &Expr, shapes: &'s [Shape]) -> impl Iterator<Item = &'s Shape> {
    let names = expr.names();
    shapes.iter().filter(move |shape| names.iter().all(|(name, _)| shape.dims.iter().any(|(dim, _)| dim == name)))
}

fn same_names(a: &[(String, i64)], b: &[(String, i64)]) -> bool {
    a.len() == b.len() && a.iter().all(|(name, _)| b.iter().any(|(other, _)| other == name))
}

/// A key that is a valid name in folders, ids and NVTX ranges.
fn plain_name(key: &PlacedValue<String>, at: &Item<'_>) -> Option<String> {
    let plain = key.value.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    if plain && !key.value.is_empty() && !key.value.starts_with(['.', '-']) {
        return Some(key.value.clone());
    }
    at.report(format!("`{}` is not a name; use letters, digits and `_ . -`", key.value), None);
    None
}

fn scalars(item: &Item<'_>, scope: &NameScope) -> Vec<Scalar> {
    let Some(table) = item.table() else { return Vec::new() };
    let scalar = |(name, item): (PlacedValue<String>, Item<'_>)| {
        let name = identifier(&name, &item)?;
        let table = item.table_or(&SCALAR.value)?;
        let dtype = table.read(&SCALAR.r#type, |item| item.one_of(&ScalarType::WORDS));
        let value = table.read(&SCALAR.value, |item| scope.expr(item));
        let value = value.map(|placed| placed.value).or_else(|| Expr::parse("0").ok());
        Some(Scalar { name, dtype: dtype.unwrap_or(ScalarType::F32), value: value? })
    };
    table.free().into_iter().filter_map(scalar).collect()
}

/// An expression that must give a finite number at every shape.
fn evaluated(item: &Item<'_>, dims: &NameScope, shapes: &[Shape]) -> Option<Expr> {
    let expr = dims.expr(item)?.value;
    for shape in shapes_with(&expr, shapes) {
        if let Err(e) = expr.eval_number(&shape.scope()) {
            let message = format!("`{}` at shape `{}`: {e}", item.place.key, shape.name);
            item.report_within(expr.text(), e.span(), message, None);
        }
    }
    Some(expr)
}

/// The names that extents and numbers of a buffer can use.
struct BufferScopes<'s> {
    dims: &'s NameScope,
    /// Including the parameters of variants.
    all: &'s NameScope,
}

fn buffers(item: &Item<'_>, scopes: &BufferScopes<'_>, shapes: &[Shape]) -> Vec<Buffer> {
    let Some(table) = item.table() else { return Vec::new() };
    let entries = table.free();
    let buffers: Vec<Buffer> = entries.iter().filter_map(|(name, item)| buffer(name, item, scopes, shapes)).collect();
    if buffers.len() == entries.len() && !buffers.iter().any(|buffer| buffer.role.is_compared()) {
        let help =
            "give the buffer that the kernel computes `role = \"output\"`, or `\"inout\"` if the kernel updates it in place"
                .to_owned();
        table.report("no buffer has the role `output` or `inout`, so no result could be checked", Some(help));
    }
    buffers
}

fn buffer(name: &PlacedValue<String>, item: &Item<'_>, scopes: &BufferScopes<'_>, shapes: &[Shape]) -> Option<Buffer> {
    let name = identifier(name, item)?;
    let table = item.table()?;
    let dtype = table.read(&BUFFER.dtype, |item| dtype(item, scopes.dims, shapes));
    let role = table.read(&BUFFER.role, |item| item.one_of(&Role::WORDS));
    let reduce = table.get(&BUFFER.reduce);
    let reduction = reduce.as_ref().and_then(|item| item.one_of(&Reduction::WORDS));
    let may_vary = reduce.is_some() || role == Some(Role::Scratch);
    let dims = if may_vary { scopes.all } else { scopes.dims };
    let mut shape: Vec<Expr> = table
        .get(&BUFFER.shape)
        .map(|item| item.some_list().iter().filter_map(|axis| extent(axis, dims, shapes)).collect())
        .unwrap_or_default();
    let (dtype, parts) = dtype.unwrap_or((BufferType::Fixed(Dtype::F32), None));
    shape.extend(parts.and_then(|parts| Expr::parse(parts).ok()));
    let has_init = table.has(&BUFFER.init);
    let is_filled = has_init || role.is_some_and(Role::is_read);
    let init = table.get(&BUFFER.init).filter(|_| is_filled).and_then(|item| init(&item, &shape, scopes.dims, shapes));
    let role = role.unwrap_or(Role::Output);
    let order = table.read(&BUFFER.order, |item| item.one_of(&RowOrder::WORDS)).unwrap_or_default();
    let mut buffer = Buffer { name, dtype, shape, init, role, reduce: reduction, compare: Vec::new(), order };
    if let Some(item) = &reduce {
        check_reduce(item, &buffer, shapes, has_init);
    }
    for item in [&BUFFER.compare, &BUFFER.order].into_iter().filter_map(|key| table.given(key)) {
        check_compared(&item, &buffer);
    }
    if let Some(item) = table.get(&BUFFER.compare) {
        buffer.compare = slices(&item, &buffer, scopes.dims, shapes);
    }
    Some(buffer)
}

/// The type of an element, and the last axis that it adds: a word, or an expression of several words.
fn dtype(item: &Item<'_>, dims: &NameScope, shapes: &[Shape]) -> Option<(BufferType, Option<&'static str>)> {
    if !item.is_text() || !item.text()?.trim().contains(char::is_whitespace) {
        return item.one_of(&DTYPES).map(|(dtype, parts)| (BufferType::Fixed(dtype), parts));
    }
    let types = Dtype::ALL.map(|dtype| dtype.name().to_owned());
    let scope = NameScope::new("the types and the dimensions", dims.names.iter().cloned().chain(types));
    let expr = scope.expr(item)?.value;
    let dtype = BufferType::ByShape(expr.clone());
    let mut floats = Vec::new();
    for shape in shapes {
        match dtype.at(shape) {
            Ok(found) => floats.push(found.has_nan()),
            // The name has an error already.
            Err(ExprError::Unknown { .. }) => return None,
            Err(e) => {
                let message = format!("`{}` at shape `{}`: {e}", item.place.key, shape.name);
                item.report_within(
                    expr.text(),
                    e.span(),
                    message,
                    Some("such as \"bf16 if BF == 1 else f16\"".to_owned()),
                );
                return None;
            }
        }
    }
    if floats.contains(&true) && floats.contains(&false) {
        let help = "declare two buffers".to_owned();
        item.report(format!("`{}` has floats at some shapes and integers at others", item.place.key), Some(help));
    }
    Some((dtype, None))
}

/// Reports `compare` or `order` of a buffer that is not compared element by element.
fn check_compared(item: &Item<'_>, buffer: &Buffer) {
    let problem = if !buffer.role.is_compared() {
        "applies only to buffers with role \"output\" or \"inout\""
    } else if buffer.reduce.is_some() {
        "does not apply to partial results, which `reduce` combines"
    } else {
        return;
    };
    item.report(format!("`{}` {problem}", item.place.key), Some("remove it".to_owned()));
}

/// The slices of `compare`, each within its axis at every shape.
fn slices(item: &Item<'_>, buffer: &Buffer, dims: &NameScope, shapes: &[Shape]) -> Vec<Slice> {
    let items = item.some_list();
    if items.len() > buffer.shape.len() {
        item.expected(&format!("at most {} slices, one for each axis", buffer.shape.len()), None);
    }
    let slices = items.iter().zip(&buffer.shape).filter_map(|(item, extent)| slice(item, extent, dims, shapes));
    slices.collect()
}

/// A slice of an axis: `first:end`, where the axis gives what is left out.
fn slice(item: &Item<'_>, extent: &Expr, dims: &NameScope, shapes: &[Shape]) -> Option<Slice> {
    let text = item.text()?;
    let Some((first, end)) = text.split_once(':') else {
        item.expected("a slice, such as \"0:1\" or \":N\"", None);
        return None;
    };
    let part = |text: &str, other: &Expr| {
        if text.trim().is_empty() { Some(other.clone()) } else { dims.part(item, text) }
    };
    let slice = Slice { first: part(first, &Expr::parse("0").ok()?)?, end: part(end, extent)? };
    for shape in shapes_with(&slice.first, shapes).filter(|shape| shapes_with(&slice.end, shapes).any(|s| s == *shape))
    {
        let at = |expr: &Expr| expr.eval_int(&shape.scope());
        match (at(&slice.first), at(&slice.end), at(extent)) {
            (Ok(first), Ok(end), Ok(extent)) if 0 <= first && first < end && end <= extent => {}
            (Ok(first), Ok(end), Ok(extent)) => {
                let message = format!(
                    "`{}` is {first}:{end} at shape `{}`, where the axis has {extent} elements",
                    item.place.key, shape.name
                );
                item.report(message, Some("a slice has at least one element of the axis".to_owned()));
            }
            (Err(e), ..) | (_, Err(e), _) => {
                item.report(format!("`{}` at shape `{}`: {e}", item.place.key, shape.name), None);
            }
            // The extent has a separate error.
            (.., Err(_)) => {}
        }
    }
    Some(slice)
}

/// Reports a `reduce` without effect.
fn check_reduce(item: &Item<'_>, buffer: &Buffer, shapes: &[Shape], has_init: bool) {
    let varies = shapes.first().is_some_and(|shape| buffer.varying_axes(&shape.dims).contains(&true));
    let problem = if buffer.role != Role::Output {
        "applies only to buffers with role \"output\""
    } else if !varies {
        "combines axes whose extents depend on the variant or the GPU, and this buffer has none"
    } else if has_init {
        "needs partial results that the kernel writes completely; remove `init`"
    } else {
        return;
    };
    item.report(format!("`{}` {problem}", item.place.key), None);
}

/// The extent of an axis, which must be a positive whole number at every shape.
fn extent(item: &Item<'_>, dims: &NameScope, shapes: &[Shape]) -> Option<Expr> {
    let expr = dims.expr(item)?.value;
    for shape in shapes_with(&expr, shapes) {
        let (key, shape_name) = (&item.place.key, &shape.name);
        let (span, problem) = match expr.eval_int(&shape.scope()) {
            Ok(v) if v > 0 => continue,
            Ok(v) => (None, format!("`{key}` is \"{expr}\", which gives {v} at shape `{shape_name}`")),
            Err(e) => (e.span(), format!("`{key}` at shape `{shape_name}`: {e}")),
        };
        let help = "an extent must be a whole number of at least 1".to_owned();
        item.report_within(expr.text(), span, problem, Some(help));
    }
    Some(expr)
}
