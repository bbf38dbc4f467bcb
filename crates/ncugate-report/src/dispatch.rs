//! The dispatch table: which variant to use at which shape, for programs. As JSON and as a C header.

use super::error::RenderError;
use super::in_use::{InUse, ShapeUse};
use super::run_report::RunReport;
use ncugate_model::Verdict;
use ncugate_model::number::finite;
use ncugate_model::number::text::escaped_json;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The format of a dispatch table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchFormat {
    /// A C header without dependencies, for C99 and C++.
    Header,
    Json,
}

/// Which variant to use at which shape.
#[derive(Debug, Serialize, JsonSchema)]
struct DispatchTable<'a> {
    phase: &'a str,
    run: &'a str,
    measured: &'a str,
    r#use: &'a InUse,
    /// Parameters of each variant in the table.
    variants: BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>,
}

/// The table of a report; none if the phase does not pass, because then no variant is recommended.
///
/// # Errors
/// Values that JSON cannot hold.
pub fn dispatch(report: &RunReport, format: DispatchFormat) -> Result<Option<String>, RenderError> {
    if report.headline.verdict != Verdict::Pass || report.in_use.by_variant().is_empty() {
        return Ok(None);
    }
    Ok(Some(match format {
        DispatchFormat::Header => header(report),
        DispatchFormat::Json => json(report)?,
    }))
}

fn json(report: &RunReport) -> Result<String, RenderError> {
    let variants = report.in_use.by_variant().into_iter().map(|(id, _)| (id, parameters(report, id))).collect();
    let table = DispatchTable {
        phase: &report.phase,
        run: &report.run,
        measured: &report.source.sentence,
        r#use: &report.in_use,
        variants,
    };
    finite::check(&table)?;
    Ok(escaped_json(&serde_json::to_string_pretty(&table)?) + "\n")
}

fn parameters<'a>(report: &'a RunReport, id: &str) -> BTreeMap<&'a str, &'a str> {
    let row = report.variants.iter().find(|row| row.id == id);
    let values = row.into_iter().flat_map(|row| report.params.iter().zip(&row.params));
    values.filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?))).collect()
}

/// Names in C of a phase and of the variants in its table.
struct CNames<'a> {
    phase: String,
    variants: Vec<(&'a str, String)>,
}

impl<'a> CNames<'a> {
    fn new(report: &'a RunReport) -> Self {
        let phase = identifier(&report.phase).to_lowercase();
        let mut variants: Vec<(&str, String)> = Vec::new();
        for (id, _) in report.in_use.by_variant() {
            let mut name = format!("NCUGATE_{}_{}", phase.to_uppercase(), identifier(id).to_uppercase());
            if variants.iter().any(|(_, known)| *known == name) {
                let _ = write!(name, "_{}", variants.len());
            }
            variants.push((id, name));
        }
        Self { phase, variants }
    }

    fn variant(&self, id: &str) -> &str {
        self.variants.iter().find(|(known, _)| *known == id).map_or("", |(_, name)| name.as_str())
    }
}

fn header(report: &RunReport) -> String {
    let names = CNames::new(report);
    let (phase, guard) = (&names.phase, format!("NCUGATE_{}_H", names.phase.to_uppercase()));
    let rows: Vec<(&ShapeUse, &str)> =
        report.in_use.shapes.iter().filter_map(|row| Some((row, row.variant.as_deref()?))).collect();
    let mut dimensions: Vec<&str> =
        rows.iter().flat_map(|(row, _)| row.dimensions.keys().map(String::as_str)).collect();
    dimensions.sort_unstable();
    dimensions.dedup();
    let mut out = format!(
        "/* {}: which variant to use at which shape. Written by ncugate from run {}.\n   {}. */\n#ifndef {guard}\n#define {guard}\n\n",
        comment(&report.title),
        comment(&report.run),
        comment(&report.source.sentence),
    );
    let _ = writeln!(out, "enum ncugate_{phase}_variant {{");
    for (at, (id, name)) in names.variants.iter().enumerate() {
        let comma = if at + 1 < names.variants.len() { "," } else { "" };
        let _ = writeln!(out, "    {name} = {at}{comma} /* {} */", comment(id));
    }
    let _ = writeln!(out, "}};\n\nstruct ncugate_{phase}_entry {{\n    const char *shape;");
    for dimension in &dimensions {
        let _ = writeln!(out, "    long long dim_{};", identifier(dimension));
    }
    let _ = writeln!(out, "    enum ncugate_{phase}_variant variant;\n    const char *id;");
    let _ = writeln!(
        out,
        "    double value; /* {}, {} */\n}};\n",
        comment(&report.in_use.metric),
        comment(&report.in_use.unit)
    );
    let _ = writeln!(out, "static const struct ncugate_{phase}_entry ncugate_{phase}_table[{}] = {{", rows.len());
    for (at, (row, id)) in rows.iter().enumerate() {
        let sizes: String =
            dimensions.iter().map(|name| format!("{}LL, ", row.dimensions.get(*name).copied().unwrap_or(-1))).collect();
        // 0 marks a shape at which the variant was not measured
        let value = row.value.as_ref().map_or(0.0, |value| value.value);
        let comma = if at + 1 < rows.len() { "," } else { "" };
        let (shape, name) = (string(&row.shape), names.variant(id));
        let _ = writeln!(out, "    {{{shape}, {sizes}{name}, {}, {value:?}}}{comma}", string(id));
    }
    let _ = writeln!(out, "}};\n");
    lookup(&mut out, phase, &dimensions);
    let _ = writeln!(out, "\n#endif");
    out
}

/// A function that finds a measured shape. The caller decides about other sizes.
fn lookup(out: &mut String, phase: &str, dimensions: &[&str]) {
    let names: Vec<String> = dimensions.iter().map(|name| identifier(name)).collect();
    let parameters: Vec<String> = names.iter().map(|name| format!("long long {name}_")).collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let equal: Vec<String> =
        names.iter().map(|name| format!("ncugate_{phase}_table[i].dim_{name} == {name}_")).collect();
    let equal = if equal.is_empty() { "1".to_owned() } else { equal.join("\n            && ") };
    let _ = writeln!(
        out,
        "/* The variant to use at exactly this size, or -1: no other size was measured. */\n\
         static inline int ncugate_{phase}_variant_at({parameters}) {{\n\
         \x20   unsigned i;\n\
         \x20   for (i = 0; i < sizeof ncugate_{phase}_table / sizeof *ncugate_{phase}_table; ++i) {{\n\
         \x20       if ({equal}) {{\n\
         \x20           return (int)ncugate_{phase}_table[i].variant;\n\
         \x20       }}\n\
         \x20   }}\n\
         \x20   return -1;\n\
         }}"
    );
}

/// Letters, digits and `_`, without a leading digit.
fn identifier(text: &str) -> String {
    let name: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("_{name}") } else { name }
}

/// Text of a comment, without a comment terminator.
fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace('\\', "/").replace('\n', " ")
}

/// A string literal; `?` is escaped to avoid trigraphs.
fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use std::process::Command;

    const PASSES: &str = "\n[[gate]]\nname = \"registers\"\nrequire = \"registers <= 255\"\n";

    #[test]
    fn the_header_compiles_and_finds_what_was_measured_and_nothing_else() {
        let report = Fixture::with_gates(6, PASSES).report();
        let text = dispatch(&report, DispatchFormat::Header).unwrap().unwrap();
        let row = report.in_use.shapes.first().unwrap();
        let sizes: Vec<String> = row.dimensions.values().map(|n| format!("{n}LL")).collect();
        let others: Vec<String> = row.dimensions.values().map(|n| format!("{}LL", n + 1)).collect();
        let phase = identifier(&report.phase);
        let program = format!(
            "#include \"table.h\"\nint main(void) {{ return ncugate_{phase}_variant_at({}) == 0 \
             && ncugate_{phase}_variant_at({}) == -1 ? 0 : 1; }}\n",
            sizes.join(", "),
            others.join(", ")
        );
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("table.h"), text).unwrap();
        std::fs::write(folder.path().join("main.c"), program).unwrap();
        let compiled = Command::new("cc")
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "main"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        assert!(Command::new(folder.path().join("main")).status().unwrap().success());
    }

    #[test]
    fn a_phase_that_does_not_pass_has_no_table() {
        let fails = "\n[[gate]]\nname = \"registers\"\nrequire = \"registers <= 1\"\n";
        let report = Fixture::with_gates(6, fails).report();
        assert_eq!(report.headline.verdict, Verdict::Fail);
        assert_eq!(dispatch(&report, DispatchFormat::Header).unwrap(), None);
        assert_eq!(dispatch(&report, DispatchFormat::Json).unwrap(), None);
        assert!(report.in_use.variant.is_none() && report.in_use.shapes.iter().all(|shape| shape.variant.is_none()));
    }

    #[test]
    fn names_from_outside_cannot_leave_their_place() {
        assert_eq!(string("a\"b\\c??/\n\u{e9}"), "\"a\\\"b\\\\c\\?\\?/\\012\\303\\251\"");
        assert_eq!(comment("a */ b"), "a * / b");
        assert_eq!((identifier("A=1,B"), identifier("9x")), ("A_1_B".to_owned(), "_9x".to_owned()));
    }
}
