//! The numbers of all variants and shapes by row, in the form for rules. The rows of launches follow those of cases.

use ncugate_model::metric::id;
use ncugate_model::quantities::MetricCells;
use ncugate_model::{Cell as MetricCell, Quantities, ShapeName, VariantId};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

/// A table with an index of the columns that rules read. Rules read a few columns many thousand times.
#[derive(Debug)]
pub struct CaseColumns<'a> {
    quantities: &'a Quantities,
    /// The column of each name, by its position in the rule book.
    named: Vec<Option<&'a MetricCells>>,
    /// The case of each row of a launch, and its number among the launches of the case, from 0.
    launches: Vec<(usize, usize)>,
    /// The rows of the launches of a case with several.
    of_case: HashMap<usize, Range<usize>>,
    /// The highest peak of the tensor pipe of all cases, in operations a second.
    tensor_peak: Option<f64>,
}

impl<'a> CaseColumns<'a> {
    /// `names` are the names that rules read.
    pub fn new(quantities: &'a Quantities, names: &[String]) -> Self {
        let named = names.iter().map(|name| quantities.column(name)).collect();
        let peaks = quantities.column(&id::TENSOR_PEAK_FP16).into_iter().flat_map(|column| column.cells());
        let tensor_peak = peaks.filter_map(MetricCell::value).filter(|peak| *peak > 0.0).reduce(f64::max);
        let mut columns = Self { quantities, named, launches: Vec::new(), of_case: HashMap::new(), tensor_peak };
        let Some(durations) = quantities.column(&id::DURATION) else { return columns };
        let cases = quantities.rows().len();
        for case in 0..cases {
            let each = durations.steps(case);
            let is_timed = |cell: &MetricCell| cell.value().is_some_and(|ns| ns.is_finite() && ns > 0.0);
            if each.len() > 1 && each.iter().all(is_timed) {
                let first = cases + columns.launches.len();
                columns.launches.extend((0..each.len()).map(|at| (case, at)));
                columns.of_case.insert(case, first..first + each.len());
            }
        }
        columns
    }

    /// The cell of a case or a launch.
    fn cell<'c>(&self, column: &'c MetricCells, row: usize) -> Option<&'c MetricCell> {
        match row.checked_sub(self.quantities.rows().len()) {
            None => column.cells().get(row),
            Some(at) => {
                let (case, launch) = *self.launches.get(at)?;
                column.steps(case).get(launch)
            }
        }
    }

    fn finite(&self, column: &MetricCells, row: usize) -> Option<f64> {
        self.cell(column, row)?.value().filter(|value| value.is_finite())
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
        let rows = columns.quantities.rows().len() + columns.launches.len();
        Self { columns, known: std::iter::repeat_with(OnceCell::new).take(rows).collect() }
    }

    pub fn row(&self, variant: &VariantId, shape: &ShapeName) -> Option<usize> {
        self.columns.quantities.row(variant, shape)
    }

    /// The rows of a case's launches, in their order; empty if it has one, or if a duration is unknown.
    pub fn launches(&self, row: usize) -> Range<usize> {
        self.columns.of_case.get(&row).cloned().unwrap_or(0..0)
    }

    /// The peak of the tensor pipe at the highest clock of the profiled launches, in dense FP16 operations a second.
    pub fn tensor_peak(&self) -> Option<f64> {
        self.columns.tensor_peak
    }

    /// The cell of a case or a launch, if the metric has one for it.
    pub fn cell(&self, row: usize, metric: &str) -> Option<&MetricCell> {
        self.columns.cell(self.columns.quantities.column(metric)?, row)
    }

    /// The cached numbers of a row.
    pub fn cached(&self, row: usize) -> Option<&KnownNumbers> {
        let places = self.columns.named.len();
        let fresh = || KnownNumbers { by_place: vec![Cell::default(); places], ..KnownNumbers::default() };
        self.known.get(row).map(|known| known.get_or_init(fresh))
    }

    /// A finite value, if there is one.
    pub fn value(&self, row: usize, metric: &str) -> Option<f64> {
        self.columns.finite(self.columns.quantities.column(metric)?, row)
    }

    /// A finite value of the name at a position of the rule book, if it is a metric that has one.
    pub fn value_at(&self, row: usize, place: usize) -> Option<f64> {
        self.columns.finite((*self.columns.named.get(place)?)?, row)
    }
}
