//! `tensor_maps` of a kernel: views of the workload's buffers for bulk copies.

use super::names::{KernelNames, identifier, suggest};
use super::scope::NameScope;
use crate::config::TensorMapTemplate;
use crate::config::keys::TENSOR_MAP;
use crate::config::reader::{Item, PlacedValue, Table};
use ncugate_model::expr::Expr;

/// Maximum axes of a tensor map.
const AXES: usize = 5;

/// A parsed tensor map, with places for checks.
#[derive(Debug, Clone)]
pub struct MapParts {
    pub name: PlacedValue<String>,
    buffer: Option<PlacedValue<String>>,
    /// One per axis, none if it could not be read.
    box_dims: Option<PlacedValue<Vec<Option<PlacedValue<Expr>>>>>,
    swizzle: Option<PlacedValue<Expr>>,
}

/// Reads `tensor_maps`.
pub fn maps(item: &Item<'_>) -> Vec<MapParts> {
    let Some(table) = item.table() else { return Vec::new() };
    let map = |(name, item): (PlacedValue<String>, Item<'_>)| {
        identifier(&name, &item)?;
        let table = item.table()?;
        let box_dims =
            table.get(&TENSOR_MAP.r#box).map(|item| item.with(item.some_list().iter().map(Item::expr).collect()));
        Some(MapParts {
            name,
            buffer: table.read(&TENSOR_MAP.buffer, |item| Some(item.with(item.name()?))),
            box_dims,
            swizzle: table.read(&TENSOR_MAP.swizzle, Item::expr),
        })
    };
    table.free().into_iter().filter_map(map).collect()
}

impl MapParts {
    /// Reports a name already in use, a missing buffer, and a box that does not match the buffer.
    pub fn declared(&self, at: &Table<'_>, names: &KernelNames<'_>) {
        if let Some((name, what)) = names.taken.iter().find(|(name, _)| *name == self.name.value) {
            let help = "rename one: expressions and arguments could not tell them apart".to_owned();
            at.report_at(&self.name.place, format!("`{name}` is both a {what} and a tensor map"), Some(help));
        }
        let Some(named) = &self.buffer else { return };
        let Some(buffer) = names.buffers.iter().find(|buffer| buffer.name == named.value) else {
            let message = format!("`{}` is `{}`, which is not a buffer", named.place.key, named.value);
            let help = suggest(&named.value, names.buffers.iter().map(|buffer| buffer.name.as_str()));
            at.report_at(&named.place, message, Some(help));
            return;
        };
        let axes = buffer.shape.len();
        if axes > AXES {
            let message = format!("`{}` is `{}`, which has {axes} axes", named.place.key, buffer.name);
            at.report_at(&named.place, message, Some(format!("a tensor map needs a buffer of 1 to {AXES} axes")));
        } else if let Some(written) = self.box_dims.as_ref().filter(|w| !w.value.is_empty() && w.value.len() != axes) {
            let (key, given) = (&written.place.key, written.value.len());
            let message = format!("`{key}` has {given} axes, but buffer `{}` has {axes}", buffer.name);
            let help =
                "give the number of elements along each axis of the buffer, 1 for an axis that a copy does not span"
                    .to_owned();
            at.report_at(&written.place, message, Some(help));
        }
    }

    /// Reports names of its expressions that are not in scope.
    pub fn check(&self, at: &Table<'_>, scope: &NameScope) {
        for expr in self.exprs() {
            scope.check_expr(at, expr);
        }
    }

    pub fn exprs(&self) -> impl Iterator<Item = &PlacedValue<Expr>> {
        self.box_dims.iter().flat_map(|written| &written.value).flatten().chain(&self.swizzle)
    }

    /// Reports that no kernel passes it.
    pub fn unused(&self, at: &Table<'_>) {
        let name = &self.name;
        let help = format!("add `{}` to `args`, or remove the tensor map", name.value);
        at.report_at(&name.place, format!("`{}` is in no `args`", name.place.key), Some(help));
    }

    /// The tensor map, if all its required keys are valid.
    pub fn template(&self) -> Option<TensorMapTemplate> {
        Some(TensorMapTemplate {
            name: self.name.value.clone(),
            buffer: self.buffer.as_ref()?.value.clone(),
            box_dims: self
                .box_dims
                .as_ref()?
                .value
                .iter()
                .map(|expr| Some(expr.as_ref()?.value.clone()))
                .collect::<Option<_>>()?,
            swizzle: self.swizzle.as_ref()?.value.clone(),
        })
    }
}
