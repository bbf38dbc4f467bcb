//! The data that the script draws.

use super::columns::column;
use super::pool::ValuePool;
use crate::number;
use crate::run_report::RunReport;
use crate::timed_clocks::ClockRow;
use crate::trust::AuditRow;
use crate::variant_row::{ShapeValues, VariantRow, state};
use ncu_explain::{explained, metric_entry};
use ncugate_judge::witness::WorkDurations;
use ncugate_phase::plan::VariantRole;
use serde_json::{Value, json};

/// The data that the script draws: the variants without their default values. Shared texts and tables are in the pool,
/// values in columns by shape and metric.
pub fn data(report: &RunReport) -> Value {
    let mut pool = ValuePool::default();
    let variants: Vec<Value> = report.variants.iter().map(|row| variant(row, &mut pool)).collect();
    let values: Vec<_> = (0..report.shapes.len()).map(|shape| columns(report, shape, &mut pool)).collect();
    json!({
        "params": report.params,
        "shapes": report.shapes,
        "shape": report.objective_shape,
        "metrics": report.metrics.iter().map(|m| json!({
            "name": m.name, "title": m.title, "unit": number::unit(&m.unit), "better": m.better, "gated": m.gated,
            "explained": explained(&m.name),
            "about": metric_entry(&m.name).map(|entry| entry.description),
        })).collect::<Vec<_>>(),
        "gates": report.gates.iter().map(|g| json!([g.name, g.require])).collect::<Vec<_>>(),
        "values": values,
        "variants": variants,
        "command": report.reproduce.last().filter(|command| command.starts_with("ncugate run ")),
        "pool": pool.into_values(),
    })
}

/// One column for each metric, at a shape.
fn columns(report: &RunReport, shape: usize, pool: &mut ValuePool) -> Vec<Value> {
    let of = |metric: usize| {
        let cells = report.variants.iter().map(|row| row.shapes.get(shape).and_then(|s| s.values.get(metric)));
        column(&cells.collect::<Vec<_>>(), pool)
    };
    (0..report.metrics.len()).map(of).collect()
}

fn variant(row: &VariantRow, pool: &mut ValuePool) -> Value {
    let checks = row.correctness.cases.iter().map(|c| {
        json!([
            c.shape,
            c.seed,
            c.verdict,
            c.max_abs.as_ref().map(|n| &n.text),
            c.rel_l2.as_ref().map(|n| &n.text),
            c.reason,
        ])
    });
    let uses = row.build.resources.iter().map(|(name, n)| json!([name, n.text]));
    let gates =
        row.gates.iter().map(|g| g.as_ref().map(|g| pool.place(json!([state(g.verdict, g.uncompared), g.text]))));
    let mut data = json!({
        "id": row.id,
        "rank": row.rank,
        "verdict": state(row.verdict, row.uncompared),
        "params": row.params,
        "gates": gates.collect::<Vec<_>>(),
        "correct": pool.place(json!([row.correctness.verdict, row.correctness.text])),
        "checks": pool.place(checks.collect()),
        "build": pool.place(json!([row.build.verdict, row.build.text, row.build.log])),
        "command": row.build.command,
        "uses": pool.place(uses.collect()),
        "launch": pool.place(row.shapes.iter().map(|s| s.launch.as_str()).collect()),
    });
    let unusual = [
        ("label", json!(row.label), row.label != row.id),
        ("name", json!(row.name), row.name.is_some()),
        ("baseline", json!(true), row.standing == VariantRole::Baseline),
        ("graded", json!(true), row.self_reported),
        ("cheats", json!(true), row.cheats),
        ("doubt", json!(row.doubt), row.doubt.is_some()),
        ("selected", json!(true), row.selected),
        ("stops", json!(row.stopped_by), !row.stopped_by.is_empty()),
        ("shares", json!(row.shares), row.shares.is_some()),
        ("code", json!(row.build.code_sha256), row.build.code_sha256.is_some()),
        ("audits", audits(row), row.shapes.iter().any(|shape| shape.audit.is_some() || shape.clocks.is_some())),
        ("witness", witness(row), row.shapes.iter().any(|shape| shape.witness.is_some())),
        ("advice", advice(row), !row.advice.is_empty()),
    ];
    for (key, value, _) in unusual.into_iter().filter(|(.., kept)| *kept) {
        data[key] = value;
    }
    data
}

/// The audits of the timed launches, and the clocks meanwhile, by shape.
fn audits(row: &VariantRow) -> Value {
    let texts = |shape: &ShapeValues| {
        let parts = [shape.audit.as_ref().map(AuditRow::text), shape.clocks.as_ref().map(ClockRow::text)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    };
    row.shapes.iter().map(texts).collect()
}

/// Durations without and with a profiler, by shape.
fn witness(row: &VariantRow) -> Value {
    row.shapes.iter().map(|shape| shape.witness.as_ref().map(WorkDurations::to_string)).collect()
}

fn advice(row: &VariantRow) -> Value {
    row.advice
        .iter()
        .map(|s| json!({
            "shape": s.shape,
            "rules": s.rules.iter().map(|r| json!([r.title, r.text, r.estimate])).collect::<Vec<_>>(),
            "hot": s.hot.iter().map(|h| json!([
                h.offset, h.samples.text, h.share.text, h.stall, h.instruction, h.line.as_ref().map(|l| [Some(l), h.source.as_ref()]),
            ])).collect::<Vec<_>>(),
        }))
        .collect()
}
