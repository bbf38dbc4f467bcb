//! `init` of a buffer, with numbers that are evaluated at every shape.

use super::scope::NameScope;
use crate::config::keys::{ARANGE, INIT, Key, NORMAL, UNIFORM};
use crate::config::reader::{Item, Table};
use crate::config::{Amount, Init, Shape};
use ncugate_model::expr::{Expr, ExprError};

/// Reads `init` of a buffer of these extents.
pub fn init(item: &Item<'_>, extents: &[Expr], dims: &NameScope, shapes: &[Shape]) -> Option<Init<Amount>> {
    let init = kind(item, dims)?;
    for shape in shapes {
        let scope = shape.scope();
        let sizes: Option<Vec<usize>> =
            extents.iter().map(|extent| usize::try_from(extent.eval_int(&scope).ok()?).ok()).collect();
        let problem = match init.with(|amount| amount.at(&scope)) {
            Ok(init) => init.problem(&sizes.unwrap_or_default()),
            // The name has an error already.
            Err(ExprError::Unknown { .. }) => None,
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            item.report(format!("`{}` at shape `{}`: {problem}", item.place.key, shape.name), None);
            return None;
        }
    }
    Some(init)
}

fn kind(item: &Item<'_>, dims: &NameScope) -> Option<Init<Amount>> {
    if !item.is_table() {
        return match item.word()? {
            "constant" => Some(Init::Constant { value: Amount::Number(1.0) }),
            "inf" => Some(Init::Infinity),
            "-inf" => Some(Init::NegativeInfinity),
            "permutation" => Some(Init::Permutation),
            "one_hot" => Some(Init::OneHot),
            "normal" => of_two(&INIT.normal, &item.empty_table(&INIT.normal)?, dims),
            "uniform" => of_two(&INIT.uniform, &item.empty_table(&INIT.uniform)?, dims),
            _ => of_two(&INIT.arange, &item.empty_table(&INIT.arange)?, dims),
        };
    }
    let (kind, inner) = item.table()?.exactly_one(INIT.spec.keys)?;
    if kind.kind.spec().is_some() {
        return of_two(kind, &inner.table()?, dims);
    }
    if *kind == INIT.npy || *kind == INIT.redrawn {
        let path = dims.of_file().template(&inner)?.text().to_owned();
        return Some(if *kind == INIT.npy { Init::Npy { path } } else { Init::Redrawn { path } });
    }
    // Expressions cannot be infinite, but a running maximum starts there.
    if let Some(infinity) = inner.infinity().filter(|_| *kind == INIT.constant) {
        return Some(if infinity > 0.0 { Init::Infinity } else { Init::NegativeInfinity });
    }
    let of_one: [(&Key, Constructor); 4] = [
        (&INIT.constant, |value| Init::Constant { value }),
        (&INIT.indices, |below| Init::Indices { below }),
        (&INIT.row_pointers, |nonzeros| Init::RowPointers { nonzeros }),
        (&INIT.mask, |density| Init::Mask { density }),
    ];
    let (_, init) = of_one.into_iter().find(|(key, _)| *key == kind)?;
    amount(&inner, dims).map(init)
}

/// An `init` with one number.
type Constructor = fn(Amount) -> Init<Amount>;

/// An `init` with two numbers.
fn of_two(kind: &Key, table: &Table<'_>, dims: &NameScope) -> Option<Init<Amount>> {
    let pair = |first, second| {
        let [first, second] = [first, second].map(|key| table.read(key, |item| amount(item, dims)));
        first.zip(second)
    };
    if *kind == INIT.uniform {
        pair(&UNIFORM.low, &UNIFORM.high).map(|(low, high)| Init::Uniform { low, high })
    } else if *kind == INIT.sorted {
        pair(&UNIFORM.low, &UNIFORM.high).map(|(low, high)| Init::Sorted { low, high })
    } else if *kind == INIT.arange {
        pair(&ARANGE.start, &ARANGE.step).map(|(start, step)| Init::Arange { start, step })
    } else {
        pair(&NORMAL.mean, &NORMAL.std).map(|(mean, std)| Init::Normal { mean, std })
    }
}

fn amount(item: &Item<'_>, dims: &NameScope) -> Option<Amount> {
    if item.is_text() {
        return dims.expr(item).map(|expr| Amount::Expr(expr.value));
    }
    item.number("a finite number, or an expression over the dimensions", |_| true).map(Amount::Number)
}
