//! Rows of one launch or report, as text, JSON or CSV.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::table::{clean, line, number};
use crate::text_table::TextTable;
use ncu_rep::MetricValue;
use ncugate_model::number::text::{cell as csv_cell, escaped_json};

/// The format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SheetFormat {
    /// Columns for people; long tables show only the most important rows.
    Text,
    /// An array of objects, one for each sheet, with every row.
    Json,
    /// Every row, with a header.
    Csv,
}

/// A table about one report, or one launch of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Sheet {
    pub report: String,
    /// Id and kernel, if the sheet covers one launch.
    pub launch: Option<(u32, String)>,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<MetricValue<'static>>>,
    /// Missing information, and why.
    pub notes: Vec<String>,
}

/// A text cell; none is an empty cell.
pub(super) fn text(text: Option<String>) -> MetricValue<'static> {
    text.map_or(MetricValue::Missing, |text| MetricValue::String(text.into()))
}

/// A number cell: a whole number without a point.
pub(super) fn figure(value: Option<f64>) -> MetricValue<'static> {
    match value {
        Some(value) if value.fract() == 0.0 && (0.0..9e15).contains(&value) => MetricValue::U64(value as u64),
        Some(value) => MetricValue::Double(value),
        None => MetricValue::Missing,
    }
}

/// Writes the sheets; text for a terminal of that many columns, or without a limit. For CSV, all sheets have the same
/// columns.
pub(super) fn write(
    sheets: &[Sheet],
    format: SheetFormat,
    columns: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        SheetFormat::Text => {
            let mut buffer = String::new();
            for (at, sheet) in sheets.iter().enumerate() {
                if at > 0 {
                    buffer.push('\n');
                }
                sheet.as_text(columns, &mut buffer);
            }
            out.write_all(buffer.as_bytes())?;
        }
        SheetFormat::Json => {
            let sheets: Vec<Value> = sheets.iter().map(Sheet::as_json).collect();
            writeln!(out, "{}", escaped_json(&serde_json::to_string_pretty(&sheets)?))?;
        }
        SheetFormat::Csv => as_csv(sheets, out)?,
    }
    out.flush()
}

impl Sheet {
    fn as_text(&self, columns: Option<usize>, out: &mut String) {
        match &self.launch {
            Some((id, kernel)) => line(out, &format!("{}  launch {id}  {kernel}", self.report)),
            None => line(out, &self.report),
        }
        let mut table = TextTable::default();
        if !self.rows.is_empty() {
            table.push(self.columns.clone());
        }
        for row in &self.rows {
            table.push(row.iter().map(cell).collect());
        }
        table.write(out, columns);
        for note in &self.notes {
            line(out, &format!("note: {note}"));
        }
    }

    fn as_json(&self) -> Value {
        let row = |row: &Vec<MetricValue<'static>>| {
            let cells = self.columns.iter().zip(row).map(|(column, value)| (column.clone(), json_value(value)));
            Value::Object(cells.collect::<Map<String, Value>>())
        };
        let mut object = Map::new();
        object.insert("report".into(), json!(self.report));
        if let Some((id, kernel)) = &self.launch {
            object.insert("launch".into(), json!(id));
            object.insert("kernel".into(), json!(kernel));
        }
        object.insert("rows".into(), Value::Array(self.rows.iter().map(row).collect()));
        object.insert("notes".into(), json!(self.notes));
        Value::Object(object)
    }
}

/// One table over all sheets, with columns in the order of their first occurrence.
fn as_csv(sheets: &[Sheet], out: &mut dyn Write) -> io::Result<()> {
    let columns: indexmap::IndexSet<&str> = sheets.iter().flat_map(|s| &s.columns).map(String::as_str).collect();
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(["report", "launch", "kernel"].iter().chain(columns.iter()))?;
    for sheet in sheets {
        let (id, kernel) = sheet.launch.clone().map_or_else(Default::default, |(id, k)| (id.to_string(), k));
        for row in &sheet.rows {
            let of = |column: &&str| sheet.columns.iter().position(|own| own == column).and_then(|at| row.get(at));
            let cells = columns.iter().map(|column| of(column).map_or_else(String::new, plain));
            let (report, kernel) = (csv_cell(&sheet.report).into_owned(), csv_cell(&kernel).into_owned());
            writer.write_record([report, id.clone(), kernel].into_iter().chain(cells))?;
        }
    }
    writer.flush()
}

fn cell(value: &MetricValue<'_>) -> String {
    match value {
        MetricValue::Missing => "-".to_owned(),
        other => clean(&number(other)),
    }
}

fn plain(value: &MetricValue<'_>) -> String {
    match value {
        MetricValue::Missing => String::new(),
        other => csv_cell(&other.to_string()).into_owned(),
    }
}

fn json_value(value: &MetricValue<'_>) -> Value {
    match value {
        MetricValue::Missing => Value::Null,
        MetricValue::String(text) => json!(text),
        MetricValue::U32(number) => json!(number),
        MetricValue::U64(number) => json!(number),
        MetricValue::Float(_) | MetricValue::Double(_) => value.as_f64().map_or(Value::Null, |number| json!(number)),
    }
}
