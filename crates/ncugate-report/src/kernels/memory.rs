//! Data between the kernel, the caches and device memory.

use crate::document::{Column, DocumentTable, TableCell};
use crate::number;
use ncu_explain::MemoryFact;

/// Each part once, with its quantities.
pub fn table(facts: &[MemoryFact]) -> DocumentTable {
    let mut table = DocumentTable::new("Memory", vec![Column::text("Memory"), Column::text(""), Column::number("")]);
    let mut last = "";
    for fact in facts {
        let value = match fact.value {
            Some(value) if value.is_finite() => TableCell::new(number::with_unit(value, fact.unit)),
            Some(_) => TableCell::new("no value"),
            None => TableCell::missing("not collected"),
        };
        let heading = TableCell::new(if fact.part == last { "" } else { fact.part });
        table.row(vec![heading, TableCell::new(fact.label), value]);
        last = fact.part;
    }
    table
}
