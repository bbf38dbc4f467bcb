//! `report.html`: one file that opens from disk, asks the network for nothing, and prints.
//!
//! The template writes what is read first; the table of variants is data, drawn by the page's script. A strict
//! content security policy names style and script by their hash, so that no text in the data can become either.

mod pool;

use self::pool::{Pool, cell, column};
use super::error::RenderError;
use super::markdown::word;
use super::model::{Report, VariantRow};
use super::number;
use crate::chart::palette;
use crate::chart::svg::{self, Setting};
use crate::model::Verdict;
use crate::plan::Standing;
use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const PAGE: &str = include_str!("../../templates/report.html");
const STYLE: &str = include_str!("../../templates/report.css");
const SCRIPT: &str = include_str!("../../templates/report.js");

/// The page.
pub fn html(report: &Report) -> Result<String, RenderError> {
    let mut env = Environment::new();
    env.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    env.add_filter("with_unit", |value: f64, unit: &str| number::with_unit(value, unit));
    env.add_filter("unit", |name: &str| number::unit(name).to_owned());
    env.add_filter("distance", |value: f64, unit: &str| number::distance(value, unit));
    env.add_filter("change", number::change);
    env.add_filter("short", number::short);
    env.add_filter("seconds", number::seconds);
    env.add_template("report.html", PAGE)?;
    let style = style();
    let page = Page {
        report: Shell::new(report),
        charts: drawings(report)?,
        figures: report.closely.as_ref().map_or_else(Vec::new, super::CloseLookRow::figures),
        style_hash: hash(&style),
        style,
        script: SCRIPT,
        script_hash: hash(SCRIPT),
        data: embeddable(&serde_json::to_string(&data(report))?),
    };
    Ok(env.get_template("report.html")?.render(Serde(page))?)
}

/// What the template is given.
#[derive(Serialize)]
struct Page<'a> {
    report: Shell<'a>,
    charts: Vec<Drawing<'a>>,
    figures: Vec<&'a super::CloseMetric>,
    style: String,
    style_hash: String,
    script: &'static str,
    script_hash: String,
    data: String,
}

/// The report as the template sees it: everything but variants and charts, which have their own ways into the page.
#[derive(Serialize)]
struct Shell<'a> {
    title: &'a str,
    phase: &'a str,
    run: &'a str,
    headline: &'a super::Headline,
    source: &'a super::Origin,
    gates: &'a [super::GateRow],
    tiers: &'a [super::TierRow],
    stages: &'a [super::StageRow],
    fallback: &'a Option<super::FallbackRow>,
    preconditions: &'a [super::PreconditionRow],
    waivers: &'a [super::WaiverRow],
    deltas: &'a [super::Delta],
    findings: &'a [super::Finding],
    closely: &'a Option<super::CloseLookRow>,
    provenance: &'a super::Provenance,
    missing: &'a [String],
    warnings: &'a [String],
    reproduce: &'a [String],
    variants: usize,
    shape: &'a str,
}

impl<'a> Shell<'a> {
    fn new(report: &'a Report) -> Self {
        Self {
            title: &report.title,
            phase: &report.phase,
            run: &report.run,
            headline: &report.headline,
            source: &report.source,
            gates: &report.gates,
            tiers: &report.tiers,
            stages: &report.stages,
            fallback: &report.fallback,
            preconditions: &report.preconditions,
            waivers: &report.waivers,
            deltas: &report.deltas,
            findings: &report.findings,
            closely: &report.closely,
            provenance: &report.provenance,
            missing: &report.missing,
            warnings: &report.warnings,
            reproduce: &report.reproduce,
            variants: report.variants.len(),
            shape: report.shapes.get(report.objective_shape).map_or("", String::as_str),
        }
    }
}

/// A chart drawn for the page.
#[derive(Serialize)]
struct Drawing<'a> {
    id: &'a str,
    title: &'a str,
    note: &'a str,
    svg: String,
    table: &'a crate::chart::ChartTable,
}

fn drawings(report: &Report) -> Result<Vec<Drawing<'_>>, RenderError> {
    report
        .charts
        .iter()
        .map(|c| {
            let svg = svg::draw(c, Setting::Page)?;
            Ok(Drawing { id: &c.id, title: &c.title, note: &c.note, svg, table: &c.table })
        })
        .collect()
}

/// The page's style sheet with the colours of the charts.
pub(crate) fn style() -> String {
    let light = palette::rules(|c| c.light, "");
    let system = palette::rules(|c| c.dark, ":root:not([data-theme=light])");
    let chosen = palette::rules(|c| c.dark, ":root[data-theme=dark]");
    format!("{STYLE}{light}@media screen and (prefers-color-scheme:dark){{{system}}}@media screen{{{chosen}}}")
}

/// What the script draws: the variants, without what is as usual; texts and tables that several share are in the pool,
/// values in columns by shape and metric.
fn data(report: &Report) -> Value {
    let mut pool = Pool::default();
    let variants: Vec<Value> = report.variants.iter().map(|row| variant(row, &mut pool)).collect();
    json!({
        "params": report.params,
        "shapes": report.shapes,
        "shape": report.objective_shape,
        "metrics": report.metrics.iter().map(|m| json!({
            "name": m.name, "title": m.title, "unit": number::unit(&m.unit), "better": m.better, "gated": m.gated,
        })).collect::<Vec<_>>(),
        "gates": report.gates.iter().map(|g| json!([g.name, g.require])).collect::<Vec<_>>(),
        "values": (0..report.shapes.len()).map(|shape| columns(report, shape)).collect::<Vec<_>>(),
        "variants": variants,
        "pool": pool.into_values(),
    })
}

/// A column a metric, at a shape.
fn columns(report: &Report, shape: usize) -> Vec<Value> {
    let of = |metric: usize| {
        let value =
            |row: &VariantRow| row.shapes.get(shape).and_then(|s| s.values.get(metric)).map_or(Value::Null, cell);
        column(report.variants.iter().map(value).collect())
    };
    (0..report.metrics.len()).map(of).collect()
}

fn variant(row: &VariantRow, pool: &mut Pool) -> Value {
    let checks = row.correctness.cases.iter().map(|c| {
        json!([
            c.shape,
            c.seed,
            word(c.verdict),
            c.max_abs.as_ref().map(|n| &n.text),
            c.rel_l2.as_ref().map(|n| &n.text),
            c.reason,
        ])
    });
    let uses = row.build.resources.iter().map(|(name, n)| json!([name, n.text]));
    let gates = row.gates.iter().map(|g| g.as_ref().map(|g| pool.place(json!([verdict(g.verdict), g.text]))));
    let mut data = json!({
        "id": row.id,
        "rank": row.rank,
        "verdict": word(row.verdict),
        "params": row.params,
        "gates": gates.collect::<Vec<_>>(),
        "correct": pool.place(json!([word(row.correctness.verdict), row.correctness.text])),
        "checks": pool.place(checks.collect()),
        "build": pool.place(json!([word(row.build.verdict), row.build.text, row.build.log])),
        "command": row.build.command,
        "uses": pool.place(uses.collect()),
        "launch": pool.place(row.shapes.iter().map(|s| s.launch.as_str()).collect()),
    });
    let unusual = [
        ("label", json!(row.label), row.label != row.id),
        ("name", json!(row.name), row.name.is_some()),
        ("baseline", json!(true), row.standing == Standing::Baseline),
        ("selected", json!(true), row.selected),
        ("stops", json!(row.stopped_by), !row.stopped_by.is_empty()),
        ("shares", json!(row.shares), row.shares.is_some()),
        ("code", json!(row.build.code_sha256), row.build.code_sha256.is_some()),
        ("said", said(row), !row.said.is_empty()),
    ];
    for (key, value, _) in unusual.into_iter().filter(|(.., kept)| *kept) {
        data[key] = value;
    }
    data
}

fn said(row: &VariantRow) -> Value {
    row.said
        .iter()
        .map(|s| json!({
            "shape": s.shape,
            "rules": s.rules.iter().map(|r| json!([r.title, r.text, r.speedup])).collect::<Vec<_>>(),
            "hot": s.hot.iter().map(|h| json!([
                h.offset, h.samples.text, h.share.text, h.stall, h.text, h.line.as_ref().map(|l| [&l.place, &l.text]),
            ])).collect::<Vec<_>>(),
        }))
        .collect()
}

fn verdict(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Fail => 1,
        Verdict::Inconclusive => 2,
    }
}

/// JSON that holds nothing an HTML parser could take for markup, in a script element or outside one.
fn embeddable(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 50);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// `sha256-...` of an inline style or script, as a content security policy names it.
pub(crate) fn hash(text: &str) -> String {
    format!("sha256-{}", base64(&Sha256::digest(text.as_bytes())))
}

/// RFC 4648 base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, b| (bits << 8) | u32::from(*b)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_follows_the_rfc() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn data_cannot_leave_its_element() {
        assert_eq!(embeddable(r#""</script><!--&""#), r#""\u003c/script\u003e\u003c!--\u0026""#);
    }
}
