//! The table of a run as a file: all measurements, and the plan's facts of the variants.

use std::collections::HashMap;
use std::io::Write;

use polars::prelude::{
    AnyValue, BooleanChunked, Column, DataFrame, Float64Chunked, Int64Chunked, IntoColumn, NewChunkedArray,
    PolarsError, StringChunked,
};

use super::export::{ColumnUnits, ExportError, JsonList, TableFormat, arrow, json_value, parquet};
use super::schema::wide;
use ncu_rep::{MetricValue, unit_of};
use ncugate_model::expr::Value;
use ncugate_model::metric::Catalogue;
use ncugate_model::quantities::MetricCells;
use ncugate_model::{Quantities, VariantId};
use ncugate_phase::plan::{Plan, Variant, VariantRole};

/// The table of a run: the columns of [`wide`], with the plan's facts of each variant after variant and shape.
///
/// | column | type | |
/// | --- | --- | --- |
/// | `variant`, `shape` | String | what was measured |
/// | a parameter, by its name | Int64, Float64, Boolean or String | null where the variant has no such parameter |
/// | `standing` | String | `candidate` or `baseline` |
/// | `correct` | Boolean | whether every seed at the shape is within tolerance; null where that is not known |
/// | a metric, `<metric>.reason` | Float64, String | as in [`wide`], in its base unit |
///
/// A parameter with the name of another column gets the prefix `param.`.
///
/// # Errors
/// Two columns still have the same name.
pub fn run_table(plan: &Plan, quantities: &Quantities) -> Result<RunTable, PolarsError> {
    let by_id: HashMap<&VariantId, &Variant> = plan.variants.iter().map(|variant| (&variant.id, variant)).collect();
    let variants: Vec<Option<&Variant>> = quantities.rows().map(|(variant, _)| by_id.get(variant).copied()).collect();
    let text = |name: &str, texts: Vec<&str>| StringChunked::from_slice(name.into(), &texts).into_column();
    let keys = [
        text(wide::VARIANT, quantities.rows().map(|(variant, _)| variant.0.as_str()).collect()),
        text(wide::SHAPE, quantities.rows().map(|(_, shape)| shape.0.as_str()).collect()),
    ];
    let metrics = quantities.metrics().filter_map(|metric| Some((metric, quantities.column(metric)?)));
    let metrics: Vec<Column> = metrics.flat_map(|(metric, cells)| metric_columns(metric, cells)).collect();
    let standing = variants.iter().map(|variant| variant.map(|variant| standing(variant.standing)));
    let own = [StringChunked::from_iter_options(wide::STANDING.into(), standing).into_column(), correct(quantities)];
    let taken = |name: &str| keys.iter().chain(&own).chain(&metrics).any(|column| column.name() == name);
    let parameters = parameters(plan).into_iter().map(|name| {
        let column = if taken(name) { format!("param.{name}") } else { name.to_owned() };
        parameter(&column, &variants.iter().map(|variant| value(variant.as_ref()?, name)).collect::<Vec<_>>())
    });
    let columns = keys.iter().cloned().chain(parameters).chain(own.clone()).chain(metrics.iter().cloned()).collect();
    let units = quantities.metrics().map(|metric| (metric.to_owned(), base_unit(metric).1.to_owned())).collect();
    Ok(RunTable { frame: DataFrame::new(variants.len(), columns)?, units })
}

/// A frame with the units of its columns.
pub struct RunTable {
    frame: DataFrame,
    units: ColumnUnits,
}

/// The unit of a metric in a table, after its size in the metric's own unit: latencies and ncu's times are all in ns.
fn base_unit(metric: &str) -> (f64, &str) {
    match Catalogue::embedded().get(metric).map_or_else(|| unit_of(metric), |metric| &metric.unit) {
        "us" => (1e3, "ns"),
        unit => (1.0, unit),
    }
}

/// Writes a table.
///
/// # Errors
/// The output cannot be written.
pub fn write_table(mut table: RunTable, format: TableFormat, out: &mut dyn Write) -> Result<(), ExportError> {
    match format {
        TableFormat::Csv => csv(&table.frame, out),
        TableFormat::Parquet => parquet(&mut table.frame, &table.units, out),
        TableFormat::Arrow => arrow(&mut table.frame, &table.units, out),
        TableFormat::Json => json(&table.frame, out),
    }
}

/// Rows as objects, one per line; absent values are null.
fn json(table: &DataFrame, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut list = JsonList::new(out);
    for row in 0..table.height() {
        let cell = |column: &Column| Ok((column.name().to_string(), json_cell(&column.get(row)?)));
        list.push(&table.columns().iter().map(cell).collect::<Result<_, PolarsError>>()?)?;
    }
    Ok(list.finish()?)
}

fn json_cell(value: &AnyValue<'_>) -> serde_json::Value {
    match value {
        AnyValue::Null => serde_json::Value::Null,
        AnyValue::Boolean(truth) => (*truth).into(),
        AnyValue::Int64(number) => (*number).into(),
        AnyValue::Float64(number) => json_value(&MetricValue::Double(*number)),
        other => text(other).into(),
    }
}

/// The values of a metric, and the reasons for absent values, if there are any. [`correct`] provides the values of
/// its metric.
fn metric_columns(metric: &str, column: &MetricCells) -> Vec<Column> {
    let cells = column.cells();
    let mut columns = Vec::new();
    if metric != wide::CORRECT {
        let size = base_unit(metric).0;
        let numbers = cells.iter().map(|cell| cell.value().map(|value| value * size));
        columns.push(Float64Chunked::from_iter_options(metric.into(), numbers).into_column());
    }
    if cells.iter().any(|cell| cell.value().is_none()) {
        let reasons = cells.iter().map(|cell| cell.known().err());
        columns.push(StringChunked::from_iter_options(wide::reason(metric).into(), reasons).into_column());
    }
    columns
}

const fn standing(standing: VariantRole) -> &'static str {
    match standing {
        VariantRole::Candidate => "candidate",
        VariantRole::Baseline => "baseline",
    }
}

fn correct(quantities: &Quantities) -> Column {
    let row = |(variant, shape): &(_, _)| Some(quantities.read(variant, shape, wide::CORRECT).value()? == 1.0);
    let rows: Vec<Option<bool>> = quantities.rows().map(row).collect();
    BooleanChunked::from_slice_options(wide::CORRECT.into(), &rows).into_column()
}

/// Every parameter of the plan, in order of first appearance.
fn parameters(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in plan.variants.iter().flat_map(|variant| &variant.params) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

fn value<'v>(variant: &'v Variant, name: &str) -> Option<&'v Value> {
    variant.params.iter().find(|(param, _)| param == name).map(|(_, value)| value)
}

/// A column of the narrowest type for all values: integers, floats, booleans, otherwise text.
fn parameter(name: &str, values: &[Option<&Value>]) -> Column {
    let all = |is: fn(&Value) -> bool| values.iter().flatten().all(|value| is(value));
    if all(|value| matches!(value, Value::Int(_))) {
        let number = |value: &Value| if let Value::Int(number) = value { Some(*number) } else { None };
        Int64Chunked::from_iter_options(name.into(), values.iter().map(|v| v.and_then(number))).into_column()
    } else if all(|value| matches!(value, Value::Int(_) | Value::Float(_))) {
        let number = |value: &Value| match value {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Bool(_) | Value::Text(_) => None,
        };
        Float64Chunked::from_iter_options(name.into(), values.iter().map(|v| v.and_then(number))).into_column()
    } else if all(|value| matches!(value, Value::Bool(_))) {
        let truth = |value: &Value| if let Value::Bool(truth) = value { Some(*truth) } else { None };
        BooleanChunked::from_iter_options(name.into(), values.iter().map(|v| v.and_then(truth))).into_column()
    } else {
        let texts = values.iter().map(|value| value.map(Value::to_string));
        StringChunked::from_iter_options(name.into(), texts).into_column()
    }
}

fn csv(table: &DataFrame, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(table.columns().iter().map(|column| column.name().as_str()))?;
    for row in 0..table.height() {
        let cells = table.columns().iter().map(|column| Ok(text(&column.get(row)?)));
        csv.write_record(cells.collect::<Result<Vec<String>, PolarsError>>()?)?;
    }
    Ok(csv.flush()?)
}

/// A value in CSV; floats keep all digits for an exact round trip.
fn text(value: &AnyValue<'_>) -> String {
    match value {
        AnyValue::Null => String::new(),
        AnyValue::String(text) => ncugate_model::number::text::cell(text).into_owned(),
        AnyValue::Boolean(truth) => truth.to_string(),
        AnyValue::Int64(number) => number.to_string(),
        AnyValue::Float64(number) => number.to_string(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::{Cell, ShapeName};
    use ncugate_phase::plan::{CommandPlan, Method};
    use polars::prelude::DataType;

    fn variant(id: &str, standing: VariantRole, params: &[(&str, Value)]) -> Variant {
        Variant {
            id: VariantId(id.into()),
            standing,
            params: params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            method: Method::Command(CommandPlan { argv: Vec::new(), kernel_filter: None }),
        }
    }

    /// Two candidates and a baseline at one shape.
    fn table() -> RunTable {
        let first = [
            ("N", Value::Int(1)),
            ("alpha", Value::Int(2)),
            ("fast", Value::Bool(true)),
            ("mode", Value::Text("a".into())),
            ("shape", Value::Int(4)),
        ];
        let second = [("N", Value::Int(3)), ("alpha", Value::Float(0.5)), ("mode", Value::Int(7))];
        let plan = Plan {
            variants: vec![
                variant("a", VariantRole::Candidate, &first),
                variant("b", VariantRole::Candidate, &second),
                variant("c", VariantRole::Baseline, &[]),
            ],
        };
        let mut quantities =
            Quantities::new(plan.variants.iter().map(|variant| (variant.id.clone(), ShapeName("s".into()))));
        quantities.set_column("correct", vec![Cell::Value(1.0), Cell::Value(0.0), Cell::Missing("skipped".into())]);
        quantities.set_column("latency_p50", vec![Cell::Value(2.5), Cell::Value(0.0), Cell::Value(1.0)]);
        quantities.set_column("ipc", vec![Cell::Value(0.1), Cell::Missing("was, not profiled".into())]);
        run_table(&plan, &quantities).unwrap()
    }

    #[test]
    fn parameters_have_the_narrowest_type_and_a_name_of_their_own() {
        let columns: Vec<(String, DataType)> =
            table().frame.columns().iter().map(|column| (column.name().to_string(), column.dtype().clone())).collect();
        let expected = [
            ("variant", DataType::String),
            ("shape", DataType::String),
            ("N", DataType::Int64),
            ("alpha", DataType::Float64),
            ("fast", DataType::Boolean),
            ("mode", DataType::String),
            ("param.shape", DataType::Int64),
            ("standing", DataType::String),
            ("correct", DataType::Boolean),
            ("correct.reason", DataType::String),
            ("latency_p50", DataType::Float64),
            ("ipc", DataType::Float64),
            ("ipc.reason", DataType::String),
        ];
        assert_eq!(columns, expected.map(|(name, dtype)| (name.to_owned(), dtype)));
    }

    #[test]
    fn a_time_has_the_unit_of_every_other_time() {
        let units = table().units;
        assert_eq!(units["latency_p50"], base_unit("duration").1);
        assert_eq!((base_unit("duration"), base_unit("gpu__time_duration.sum")), ((1.0, "ns"), (1.0, "ns")));
    }

    #[test]
    fn csv_leaves_out_what_is_absent_and_quotes_reasons() {
        let mut out = Vec::new();
        write_table(table(), TableFormat::Csv, &mut out).unwrap();
        let lines = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines[1], "a,s,1,2,true,a,4,candidate,true,,2500,0.1,");
        assert_eq!(lines[2], "b,s,3,0.5,,7,,candidate,false,,0,,\"was, not profiled\"");
        assert_eq!(lines[3], "c,s,,,,,,baseline,,skipped,1000,,not measured");
    }

    #[test]
    fn json_has_null_for_what_is_absent() {
        let mut out = Vec::new();
        write_table(table(), TableFormat::Json, &mut out).unwrap();
        let rows: Vec<serde_json::Map<String, serde_json::Value>> = serde_json::from_slice(&out).unwrap();
        assert_eq!((rows.len(), &rows[0]["correct"], &rows[1]["variant"]), (3, &true.into(), &"b".into()));
        assert!(rows[2]["correct"].is_null() && rows[0].values().any(|cell| *cell == 0.1));
    }
}
