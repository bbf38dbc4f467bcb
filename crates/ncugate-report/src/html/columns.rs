//! A metric of all variants at a shape, as the page's script reads it: numbers for sorting and filtering, and their
//! texts.
//!
//! The script shows the texts and rounds only changes. The numbers are never shown, so six digits are enough.

use super::pool::ValuePool;
use crate::model::Measure;
use ncugate_model::number::Number;
use serde_json::{Map, Value, json};

/// Separates texts; it occurs in no number.
const SEPARATOR: &str = "|";

/// `{"values": [1.5, null], "texts": "1.500|", "why": {"1": place in the pool}}`, or `{"same": cell}` if all cells are
/// equal: a number, its text and the pool index of the reason for a missing value.
///
/// The text of a whole number below a thousand is left out, because it equals the number.
pub fn column(cells: &[Option<&Measure>], pool: &mut ValuePool) -> Value {
    if let Some((first, rest)) = cells.split_first()
        && !rest.is_empty()
        && rest.iter().all(|cell| cell == first)
    {
        return json!({ "same": [value(*first), text(*first), reason(*first, pool)] });
    }
    let values: Vec<Value> = cells.iter().map(|cell| value(*cell)).collect();
    let texts: Vec<&str> = cells.iter().map(|cell| text(*cell)).collect();
    let reasons: Map<String, Value> =
        cells.iter().enumerate().filter_map(|(at, cell)| Some((at.to_string(), json!(reason(*cell, pool)?)))).collect();
    let mut column = json!({ "values": values, "texts": texts.join(SEPARATOR) });
    if !reasons.is_empty() {
        column["why"] = Value::Object(reasons);
    }
    column
}

fn number(cell: Option<&Measure>) -> Option<&Number> {
    cell.and_then(Measure::number)
}

fn value(cell: Option<&Measure>) -> Value {
    match number(cell).map(|n| n.value) {
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => json!(value as i64),
        Some(value) => json!(format!("{value:.5e}").parse::<f64>().unwrap_or(value)),
        None => Value::Null,
    }
}

fn text(cell: Option<&Measure>) -> &str {
    let is_its_text = |n: &&Number| n.value.fract() != 0.0 || n.value.abs() >= 1e3;
    number(cell).filter(is_its_text).map_or("", |n| n.text.as_str())
}

fn reason(cell: Option<&Measure>, pool: &mut ValuePool) -> Option<usize> {
    match cell {
        Some(Measure::Missing(reason)) => Some(pool.place(json!(reason))),
        Some(Measure::Number(_)) | None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_here_and_whole_numbers_are_their_own() {
        let cells = [28.125, 64.0, 49_152.0, 1.5e-5].map(|value| Measure::Number(Number::new(value)));
        let cells: Vec<Option<&Measure>> = cells.iter().map(Some).collect();
        let column = column(&cells, &mut ValuePool::default());
        assert_eq!(column["texts"], "28.1||49,152|1.50e-5");
        assert_eq!(column["values"], json!([28.125, 64, 49_152, 1.5e-5]));
        assert_eq!(column.get("why"), None);
    }

    #[test]
    fn a_cell_without_a_number_names_its_reason() {
        let mut pool = ValuePool::default();
        let (number, missing) = (Measure::Number(Number::new(1.0)), Measure::Missing("not timed".into()));
        let column = column(&[Some(&number), Some(&missing)], &mut pool);
        assert_eq!(column["values"], json!([1, null]));
        assert_eq!(pool.into_values()[column["why"]["1"].as_u64().unwrap_or(9) as usize], "not timed");
    }

    #[test]
    fn a_column_of_one_value_holds_it_once() {
        let number = Measure::Number(Number::new(0.5));
        let column = column(&[Some(&number), Some(&number)], &mut ValuePool::default());
        assert_eq!(column, json!({ "same": [0.5, "0.500", null] }));
    }
}
