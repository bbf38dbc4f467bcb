//! The numbers of all variants and shapes by row, as rules read them.

use crate::frame::Quantities;
use crate::model::{ShapeName, VariantId};
use std::cell::RefCell;
use std::collections::HashMap;

/// Numbers of one case by name, as they were worked out before.
pub type KnownNumbers = RefCell<HashMap<String, Option<f64>>>;

/// Columns of a table, taken out of the frame once: rules read a few of them many thousand times.
#[derive(Debug)]
pub struct CaseTable<'a> {
    quantities: &'a Quantities,
    columns: HashMap<String, Vec<Option<f64>>>,
    known: Vec<KnownNumbers>,
}

impl<'a> CaseTable<'a> {
    /// All columns of a table.
    pub fn new(quantities: &'a Quantities) -> Self {
        let column = |metric: &str| {
            let cells = quantities.column(metric)?;
            let numbers = cells.numbers().iter().map(|value| value.filter(|v| v.is_finite())).collect();
            Some((metric.to_owned(), numbers))
        };
        let known = quantities.rows().iter().map(|_| KnownNumbers::default()).collect();
        Self { quantities, columns: quantities.metrics().filter_map(column).collect(), known }
    }

    /// The row of a variant and shape.
    pub fn row(&self, variant: &VariantId, shape: &ShapeName) -> Option<usize> {
        self.quantities.row(variant, shape)
    }

    /// What was worked out for a row before: rules read the same few numbers many times.
    pub fn known(&self, row: usize) -> Option<&KnownNumbers> {
        self.known.get(row)
    }

    /// A finite value, if there is one.
    pub fn value(&self, row: usize, metric: &str) -> Option<f64> {
        self.columns.get(metric)?.get(row).copied().flatten()
    }
}
