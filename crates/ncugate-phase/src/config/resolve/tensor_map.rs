//! `tensor_maps` of a kernel: views of the workload's buffers for bulk copies.

use super::names::{KernelNames, identifier, suggest};
use super::scope::NameScope;
use crate::config::keys::{Key, TENSOR_MAP};
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{OutOfBoundsFill, TensorMapTemplate};
use ncugate_model::expr::Expr;

/// Maximum axes of a tensor map.
const AXES: usize = 5;

/// Expressions of a list; none for one that could not be read.
type PlacedExprs = PlacedValue<Vec<Option<PlacedValue<Expr>>>>;

/// A parsed tensor map, with places for checks.
#[derive(Debug, Clone)]
pub struct MapParts {
    pub name: PlacedValue<String>,
    buffer: Option<PlacedValue<String>>,
    shape: Option<PlacedExprs>,
    strides: Option<PlacedExprs>,
    box_dims: Option<PlacedExprs>,
    element_strides: Option<PlacedExprs>,
    swizzle: Option<PlacedValue<Expr>>,
    l2_promotion: Option<PlacedValue<Expr>>,
    oob_fill: Option<OutOfBoundsFill>,
}

/// Reads `tensor_maps`.
pub fn maps(item: &Item<'_>) -> Vec<MapParts> {
    let Some(table) = item.table() else { return Vec::new() };
    let map = |(name, item): (PlacedValue<String>, Item<'_>)| {
        identifier(&name, &item)?;
        let table = item.table()?;
        let exprs = |item: &Item<'_>| item.with(item.some_list().iter().map(Item::expr).collect());
        let given = |key: &'static Key| table.given(key).map(|item| exprs(&item));
        let (shape, strides) = (given(&TENSOR_MAP.shape), given(&TENSOR_MAP.strides));
        Some(MapParts {
            name,
            buffer: table.read(&TENSOR_MAP.buffer, |item| Some(item.with(item.name()?))),
            shape,
            strides,
            box_dims: table.get(&TENSOR_MAP.r#box).map(|item| exprs(&item)),
            element_strides: given(&TENSOR_MAP.element_strides),
            swizzle: table.read(&TENSOR_MAP.swizzle, Item::expr),
            l2_promotion: table.read(&TENSOR_MAP.l2_promotion, Item::expr),
            oob_fill: table.read(&TENSOR_MAP.oob_fill, |item| item.one_of(&OutOfBoundsFill::WORDS)),
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
        let axes = self.shape.as_ref().map_or(buffer.shape.len(), |shape| shape.value.len());
        if axes > AXES {
            let place = self.shape.as_ref().map_or(&named.place, |shape| &shape.place);
            let message = match &self.shape {
                Some(shape) => format!("`{}` has {axes} axes", shape.place.key),
                None => format!("`{}` is `{}`, which has {axes} axes", named.place.key, buffer.name),
            };
            at.report_at(place, message, Some(format!("a tensor map needs a buffer or a `shape` of 1 to {AXES} axes")));
            return;
        }
        let whose = match &self.shape {
            Some(_) => "the map's `shape`".to_owned(),
            None => format!("buffer `{}`", buffer.name),
        };
        let lists = [
            (
                &self.box_dims,
                axes,
                "give the number of elements along each axis, 1 for an axis that a copy does not span",
            ),
            (
                &self.strides,
                axes.saturating_sub(1),
                "give the distance along each axis except the innermost, whose neighbours are adjacent",
            ),
            (&self.element_strides, axes, "give the step along each axis, 1 for every element"),
        ];
        for (written, wanted, help) in lists {
            let Some(written) = written.as_ref().filter(|w| !w.value.is_empty() && w.value.len() != wanted) else {
                continue;
            };
            let (key, given) = (&written.place.key, written.value.len());
            let message = match wanted == axes {
                true => format!("`{key}` has {given} axes, but {whose} has {axes}"),
                false => format!("`{key}` has {given} values, but {whose} has {axes} axes, so {wanted}"),
            };
            at.report_at(&written.place, message, Some(help.to_owned()));
        }
    }

    /// Reports names of its expressions that are not in scope.
    pub fn check(&self, at: &Table<'_>, scope: &NameScope) {
        for expr in self.exprs() {
            scope.check_expr(at, expr);
        }
    }

    pub fn exprs(&self) -> impl Iterator<Item = &PlacedValue<Expr>> {
        let lists = [&self.shape, &self.strides, &self.box_dims, &self.element_strides];
        let listed = lists.into_iter().flatten().flat_map(|written| &written.value).flatten();
        listed.chain(&self.swizzle).chain(&self.l2_promotion)
    }

    /// Reports that no kernel passes it.
    pub fn unused(&self, at: &Table<'_>) {
        let name = &self.name;
        let help = format!("add `{}` to `args`, or remove the tensor map", name.value);
        at.report_at(&name.place, format!("`{}` is in no `args`", name.place.key), Some(help));
    }

    /// The tensor map, if all its required keys are valid.
    pub fn template(&self) -> Option<TensorMapTemplate> {
        let list = |written: &Option<PlacedExprs>| -> Option<Vec<Expr>> {
            let all = written.iter().flat_map(|written| &written.value);
            all.map(|expr| Some(expr.as_ref()?.value.clone())).collect()
        };
        Some(TensorMapTemplate {
            name: self.name.value.clone(),
            buffer: self.buffer.as_ref()?.value.clone(),
            shape: list(&self.shape)?,
            strides: list(&self.strides)?,
            box_dims: list(&self.box_dims).filter(|_| self.box_dims.is_some())?,
            element_strides: list(&self.element_strides)?,
            swizzle: self.swizzle.as_ref()?.value.clone(),
            l2_promotion: self.l2_promotion.as_ref()?.value.clone(),
            oob_fill: self.oob_fill?,
        })
    }
}
