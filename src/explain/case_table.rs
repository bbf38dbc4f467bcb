//! The numbers of all variants and shapes by row, as rules read them.

use crate::frame::Quantities;
use crate::model::{ShapeName, VariantId};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

/// Columns of a table, taken out of the frame once: rules read a few of them many thousand times.
#[derive(Debug)]
pub struct CaseColumns<'a> {
    quantities: &'a Quantities,
    columns: HashMap<String, Vec<Option<f64>>>,
    /// The column of each name that rules read, by its place in the rule book.
    named: Vec<Option<Vec<Option<f64>>>>,
}

impl<'a> CaseColumns<'a> {
    /// All columns of a table; `names` are those that rules read.
    pub fn new(quantities: &'a Quantities, names: &[String]) -> Self {
        let column = |metric: &str| {
            let cells = quantities.column(metric)?;
            let numbers = cells.numbers().iter().map(|value| value.filter(|v| v.is_finite())).collect();
            Some((metric.to_owned(), numbers))
        };
        let columns: HashMap<String, Vec<Option<f64>>> = quantities.metrics().filter_map(column).collect();
        let named = names.iter().map(|name| columns.get(name).cloned()).collect();
        Self { quantities, columns, named }
    }
}

/// Numbers of one case, as they were worked out before: rules read the same few of them many times.
#[derive(Debug, Default)]
pub struct KnownNumbers {
    /// By place in the rule book.
    pub by_place: Vec<Cell<Known>>,
    pub by_name: RefCell<HashMap<String, Option<f64>>>,
}

/// A number that may have been worked out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Known {
    #[default]
    NotAsked,
    /// It is this, or there is none.
    Asked(Option<f64>),
}

/// Columns with what one thread worked out of them.
#[derive(Debug)]
pub struct CaseTable<'a> {
    columns: &'a CaseColumns<'a>,
    known: Vec<OnceCell<KnownNumbers>>,
}

impl<'a> CaseTable<'a> {
    /// A table of which nothing has been worked out.
    pub fn new(columns: &'a CaseColumns<'a>) -> Self {
        Self { columns, known: columns.quantities.rows().iter().map(|_| OnceCell::new()).collect() }
    }

    pub fn row(&self, variant: &VariantId, shape: &ShapeName) -> Option<usize> {
        self.columns.quantities.row(variant, shape)
    }

    /// What was worked out for a row before.
    pub fn known(&self, row: usize) -> Option<&KnownNumbers> {
        let places = self.columns.named.len();
        let fresh = || KnownNumbers { by_place: vec![Cell::default(); places], ..KnownNumbers::default() };
        self.known.get(row).map(|known| known.get_or_init(fresh))
    }

    /// A finite value, if there is one.
    pub fn value(&self, row: usize, metric: &str) -> Option<f64> {
        self.columns.columns.get(metric)?.get(row).copied().flatten()
    }

    /// A finite value of the name at a place of the rule book, if it is a metric that has one.
    pub fn value_at(&self, row: usize, place: usize) -> Option<f64> {
        self.columns.named.get(place)?.as_ref()?.get(row).copied().flatten()
    }
}
