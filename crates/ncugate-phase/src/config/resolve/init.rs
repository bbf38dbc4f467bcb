//! `init` of a buffer: how it is filled, with numbers that are evaluated at every shape.

use super::scope::NameScope;
use crate::config::keys::{ARANGE, INIT, INIT_WORDS, NORMAL, UNIFORM};
use crate::config::reader::{Item, Table};
use crate::config::{Amount, Init, Shape};
use ncugate_model::expr::{Expr, ExprError};

/// Kinds that a table may have one of.
const KINDS: [&str; 11] = [
    "normal",
    "uniform",
    "arange",
    "constant",
    "indices",
    "sorted",
    "row_pointers",
    "mask",
    "sparse",
    "low_rank",
    "npy",
];

/// Reads `init` of a buffer of these extents.
pub fn init(item: &Item<'_>, extents: &[Expr], dims: &NameScope, shapes: &[Shape]) -> Option<Init<Amount>> {
    let init = kind(item, dims)?;
    for shape in shapes {
        let scope = shape.scope();
        let sizes: Option<Vec<usize>> =
            extents.iter().map(|extent| usize::try_from(extent.eval_int(&scope).ok()?).ok()).collect();
        let problem = match init.with(|amount| amount.at(&scope)) {
            Ok(init) => init.problem(&sizes.unwrap_or_default()),
            // Reported at the name.
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
    let number = Amount::Number;
    if !item.is_table() {
        let words: Vec<(&'static str, &'static str)> = INIT_WORDS.iter().map(|word| (*word, *word)).collect();
        return Some(match item.one_of(&words)? {
            "uniform" => Init::Uniform { low: number(0.0), high: number(1.0) },
            "arange" => Init::Arange { start: number(0.0), step: number(1.0) },
            "constant" => Init::Constant { value: number(1.0) },
            "inf" => Init::Infinity,
            "-inf" => Init::NegativeInfinity,
            "permutation" => Init::Permutation,
            "one_hot" => Init::OneHot,
            _ => Init::Normal { mean: number(0.0), std: number(1.0) },
        });
    }
    let table = item.table(&INIT)?;
    let given: Vec<(&str, Item<'_>)> = KINDS.into_iter().filter_map(|kind| Some((kind, table.get(kind)?))).collect();
    let [(kind, inner)] = given.as_slice() else {
        item.expected(&format!("exactly one of {}", KINDS.join(", ")), None);
        return None;
    };
    let value = || amount(inner, dims);
    Some(match *kind {
        "normal" => {
            let (mean, std) = pair(&inner.table(&NORMAL)?, ("mean", "std"), dims)?;
            Init::Normal { mean, std }
        }
        "uniform" => {
            let (low, high) = pair(&inner.table(&UNIFORM)?, ("low", "high"), dims)?;
            Init::Uniform { low, high }
        }
        "sorted" => {
            let (low, high) = pair(&inner.table(&UNIFORM)?, ("low", "high"), dims)?;
            Init::Sorted { low, high }
        }
        "arange" => {
            let (start, step) = pair(&inner.table(&ARANGE)?, ("start", "step"), dims)?;
            Init::Arange { start, step }
        }
        "indices" => Init::Indices { below: value()? },
        "row_pointers" => Init::RowPointers { nonzeros: value()? },
        "mask" => Init::Mask { density: value()? },
        "sparse" => Init::Sparse { density: value()? },
        "low_rank" => Init::LowRank { rank: value()? },
        "npy" => Init::Npy { path: path(inner, dims)? },
        // Infinity is no value of an expression, and what a running maximum begins with.
        _ => match inner.infinity() {
            Some(infinity) if infinity > 0.0 => Init::Infinity,
            Some(_) => Init::NegativeInfinity,
            None => Init::Constant { value: value()? },
        },
    })
}

/// Two numbers, 0 and 1 where they are not given.
fn pair(table: &Table<'_>, keys: (&'static str, &'static str), dims: &NameScope) -> Option<(Amount, Amount)> {
    let of = |key, default| table.get(key).map_or(Some(Amount::Number(default)), |item| amount(&item, dims));
    let (first, second) = (of(keys.0, 0.0), of(keys.1, 1.0));
    Some((first?, second?))
}

fn amount(item: &Item<'_>, dims: &NameScope) -> Option<Amount> {
    if item.is_text() {
        return dims.expr(item).map(|expr| Amount::Expr(expr.value));
    }
    item.number("a finite number, or an expression over the dimensions", |_| true).map(Amount::Number)
}

fn path(item: &Item<'_>, dims: &NameScope) -> Option<String> {
    let own = ["shape", "seed", "buffer"].map(str::to_owned);
    let scope =
        NameScope::new("`shape`, `seed`, `buffer` and the dimensions", own.into_iter().chain(dims.names.clone()));
    Some(scope.template(item)?.text().to_owned())
}
