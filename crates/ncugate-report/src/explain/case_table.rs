//! The numbers of all variants and shapes by row, in the form for rules.

use ncugate_judge::frame::{MetricCells, Quantities};
use ncugate_model::{ShapeName, VariantId};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

/// A table with an index of the columns that rules read. Rules read a few columns many thousand times.
#[derive(Debug)]
pub struct CaseColumns<'a> {
    quantities: &'a Quantities,
    /// The column of each name, by its position in the rule book.
    named: Vec<Option<&'a MetricCells>>,
}

impl<'a> CaseColumns<'a> {
    /// `names` are the names that rules read.
    pub fn new(quantities: &'a Quantities, names: &[String]) -> Self {
        Self { quantities, named: names.iter().map(|name| quantities.column(name)).collect() }
    }
}

/// Cached numbers of one case. Rules read the same few numbers many times.
#[derive(Debug, Default)]
pub struct KnownNumbers {
    /// By position in the rule book.
    pub by_place: Vec<Cell<CachedNumber>>,
    pub by_name: RefCell<HashMap<String, Option<f64>>>,
}

/// A number that may be cached.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum CachedNumber {
    #[default]
    Unread,
    /// Cached: the value, or none if it is unknown.
    Read(Option<f64>),
}

/// Columns with the cache of one thread.
#[derive(Debug)]
pub struct CaseTable<'a> {
    columns: &'a CaseColumns<'a>,
    known: Vec<OnceCell<KnownNumbers>>,
}

impl<'a> CaseTable<'a> {
    /// A table with an empty cache.
    pub fn new(columns: &'a CaseColumns<'a>) -> Self {
        Self { columns, known: columns.quantities.rows().map(|_| OnceCell::new()).collect() }
    }

    pub fn row(&self, variant: &VariantId, shape: &ShapeName) -> Option<usize> {
        self.columns.quantities.row(variant, shape)
    }

    /// The cached numbers of a row.
    pub fn cached(&self, row: usize) -> Option<&KnownNumbers> {
        let places = self.columns.named.len();
        let fresh = || KnownNumbers { by_place: vec![Cell::default(); places], ..KnownNumbers::default() };
        self.known.get(row).map(|known| known.get_or_init(fresh))
    }

    /// A finite value, if there is one.
    pub fn value(&self, row: usize, metric: &str) -> Option<f64> {
        finite(self.columns.quantities.column(metric)?, row)
    }

    /// A finite value of the name at a position of the rule book, if it is a metric that has one.
    pub fn value_at(&self, row: usize, place: usize) -> Option<f64> {
        finite((*self.columns.named.get(place)?)?, row)
    }
}

fn finite(column: &MetricCells, row: usize) -> Option<f64> {
    column.cells().get(row)?.value().filter(|value| value.is_finite())
}
