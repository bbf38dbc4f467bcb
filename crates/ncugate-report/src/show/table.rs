//! Facts of launches and reports as plain text: no colour, no control characters from the report.

use std::fmt::Write;

use super::CaptureLaunch;
use super::input::Input;
use crate::text_table::TextTable;
use ncu_explain::clock_control;
use ncu_rep::{EstimatedSpeedup, Launch, MetricValue, ReportForm, Session, SpeedupScope, SystemInfo};
use ncugate_judge::frame::launches::FrameError;
use ncugate_judge::frame::rows::{self, MetricColumns};

/// The launches to show.
pub(super) struct View<'a> {
    pub launches: &'a [CaptureLaunch<'a>],
}

impl View<'_> {
    /// Every launch in full.
    pub fn full(&self, out: &mut String) -> Result<(), FrameError> {
        for (index, (capture, launch)) in self.launches.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            let mut head = TextTable::default();
            for (name, value) in facts(capture.name, launch)? {
                head.push(vec![name.to_owned(), clean(&value)]);
            }
            head.write(out, None);
            out.push('\n');
            let mut table = TextTable::default();
            table.push(["metric", "value", "unit"].map(str::to_owned).to_vec());
            rows::metrics::<FrameError>(capture, launch, MetricColumns::ALL, |row| {
                if !is_by_product(row.metric) {
                    table.push(vec![clean(row.metric), number(&row.value), clean(row.unit)]);
                }
                Ok(())
            })?;
            table.write(out, None);
        }
        Ok(())
    }

    /// Messages of ncu's rules for every launch.
    pub fn rules(&self, out: &mut String) -> Result<(), FrameError> {
        for (capture, launch) in self.launches {
            let named = |source| FrameError::Report { report: capture.name.to_owned(), source };
            let rules = launch.rule_results().map_err(named)?;
            line(out, &format!("{}  launch {}  {}", capture.name, launch.id(), kernel_name(launch)));
            let mut said = 0;
            for (rule, item) in rules.iter().flat_map(|rule| rule.items.iter().map(move |item| (rule, item))) {
                let Some(message) = item.message.as_ref().filter(|message| !message.text.is_empty()) else { continue };
                said += 1;
                let title = if message.title.is_empty() { &rule.name } else { &message.title };
                let speedup = item.speedup.map(|EstimatedSpeedup { scope, percent }| {
                    let scope = match scope {
                        SpeedupScope::Local => " (local)",
                        SpeedupScope::Global => "",
                        SpeedupScope::Other(_) => " (unknown scope)",
                    };
                    format!("  at most {percent:.1} %{scope}")
                });
                line(out, &format!("  {}: {title}{}", rule.section, speedup.unwrap_or_default()));
                line(out, &format!("    {}", message.plain_text()));
                for focus in &item.focus {
                    let value = number(&MetricValue::Double(focus.value));
                    line(out, &format!("    {} = {value}  {}", focus.name, focus.hint));
                }
            }
            if said == 0 {
                line(out, "  no rule has a message (rules need sections: `--set` or `--section`)");
            }
        }
        Ok(())
    }
}

/// How every report was made.
pub(super) fn session(inputs: &[Input], out: &mut String) -> Result<(), FrameError> {
    for (index, input) in inputs.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let mut table = TextTable::default();
        let mut fact = |name: &str, value: String| {
            if !value.is_empty() {
                table.push(vec![name.to_owned(), clean(&value)]);
            }
        };
        fact("report", input.name.clone());
        let report = &input.report;
        let named = |source| FrameError::Report { report: input.name.clone(), source };
        fact("launches", report.launches().len().to_string());
        for warning in report.warnings() {
            fact("warning", warning);
        }
        if report.form() == ReportForm::Binary {
            fact("container version", report.version().to_string());
            session_facts(&report.session().map_err(named)?, &mut fact);
        }
        for process in report.processes() {
            fact("process", format!("{} {} on {}", process.pid, process.executable, process.host));
        }
        table.write(out, None);
    }
    Ok(())
}

/// ncu's defaults for options that are not on its command line.
const DEFAULT_REPLAY: &str = "not on the command line; ncu's default is kernel";

fn session_facts(session: &Session, fact: &mut impl FnMut(&str, String)) {
    fact("command line", session.command_line.clone());
    let created = session.created.and_then(|seconds| i64::try_from(seconds).ok());
    let created = created.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    fact("created", created.map(|time| time.to_string()).unwrap_or_default());
    for version in &session.versions {
        fact(&version.provider, version.version.clone());
    }
    fact("driver", session.driver.map(|driver| format!("{driver:.2}")).unwrap_or_default());
    let or_default = |option: Option<&str>, default: &str| {
        let unknown =
            if session.command_line.is_empty() { "not known: the report has no command line" } else { default };
        option.unwrap_or(unknown).to_owned()
    };
    let unknown = || "not known: the report has no command line".to_owned();
    fact("clock control", clock_control(session).unwrap_or_else(unknown));
    fact("replay mode", or_default(session.replay_mode(), DEFAULT_REPLAY));
    fact("target", system(&session.target));
    if session.host != session.target {
        fact("host", system(&session.host));
    }
    fact("comments", session.comments.clone());
    for device in &session.devices {
        fact("device", format!("{} {} ({} attributes)", device.id, device.name, device.attributes.len()));
    }
}

fn system(system: &SystemInfo) -> String {
    let parts = [&system.computer, &system.os, &system.architecture, &system.cpu];
    let mut text: Vec<&str> = parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    text.extend(system.addresses.iter().map(String::as_str));
    text.join(", ")
}

/// The header of a launch shown in full.
fn facts(report: &str, launch: &Launch<'_>) -> Result<Vec<(&'static str, String)>, FrameError> {
    let mut facts = vec![
        ("report", report.to_owned()),
        ("launch", launch.id().to_string()),
        ("kernel", launch.kernel_name().into_owned()),
        ("demangled", launch.demangled_name().into_owned()),
        ("grid", dimensions(launch.grid())),
        ("block", dimensions(launch.block())),
        ("stream", launch.stream().map(|stream| stream.to_string()).unwrap_or_default()),
        ("nvtx", rows::ranges(report, launch)?),
    ];
    let named = |source| FrameError::Report { report: report.to_owned(), source };
    let cluster = launch.cluster().map_err(named)?;
    facts.push(("cluster", cluster.map(|cluster| dimensions(Some(cluster))).unwrap_or_default()));
    facts.push(("mangled", launch.mangled_name().into_owned()));
    facts.push(("context", launch.context().map(|context| context.to_string()).unwrap_or_default()));
    let process = launch.process().map(|process| format!("{} {}", process.pid, process.name()));
    facts.push(("process", process.unwrap_or_default()));
    facts.push(("device", launch.device_name().map_err(named)?.unwrap_or_default().into_owned()));
    let capability = launch.compute_capability().map_err(named)?;
    facts.push(("compute capability", capability.map(|(a, b)| format!("{a}.{b}")).unwrap_or_default()));
    let clocks = launch.clock_status().map(|status| match (status.requested, status.locked) {
        (false, false) => "free",
        (true, true) => "locked",
        (true, false) => "lock asked for, not locked",
        (false, true) => "locked, not asked for",
    });
    facts.push(("clocks", clocks.unwrap_or_default().to_owned()));
    facts.retain(|(_, value)| !value.is_empty());
    Ok(facts)
}

/// Names that ncu's own raw page leaves out.
fn is_by_product(metric: &str) -> bool {
    metric.starts_with("derived_tempMetric") || metric.starts_with("breakdown:") || metric.starts_with("group:")
}

/// The function's name; for ranges and graphs, a text that says so.
pub(super) fn kernel_name(launch: &Launch<'_>) -> String {
    match launch.kernel_name() {
        name if !name.is_empty() => name.into_owned(),
        _ => format!("<{:?}>", launch.kind()).to_lowercase(),
    }
}

pub(super) fn dimensions(size: Option<[u32; 3]>) -> String {
    size.map_or_else(|| "-".to_owned(), |[x, y, z]| format!("{x}x{y}x{z}"))
}

/// A value for people: integers and text unchanged, other numbers with six digits, `n/a` if the value is missing.
pub(super) fn number(value: &MetricValue<'_>) -> String {
    match value {
        MetricValue::Missing => "n/a".to_owned(),
        MetricValue::String(text) => clean(text),
        MetricValue::U32(_) | MetricValue::U64(_) => value.to_string(),
        MetricValue::Double(_) | MetricValue::Float(_) => match value.as_f64() {
            Some(number) if number.is_finite() && number.fract() != 0.0 => significant(number),
            _ => value.to_string(),
        },
    }
}

/// Six significant digits without trailing zeros.
fn significant(number: f64) -> String {
    let magnitude = number.abs().log10().floor();
    if !(-5.0..15.0).contains(&magnitude) {
        return format!("{number:.5e}");
    }
    let decimals = (5.0 - magnitude).max(0.0) as usize;
    let text = format!("{number:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Text of a report with control characters made visible, so that it cannot move the cursor or break a line.
pub(super) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control()
            || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

pub(super) fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}", clean(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people_keep_six_digits() {
        assert_eq!(number(&MetricValue::Double(14.975_530_528)), "14.9755");
        assert_eq!(number(&MetricValue::Double(0.000_047_18)), "0.00004718");
        assert_eq!(number(&MetricValue::Double(1_606_912.0)), "1606912");
        assert_eq!(number(&MetricValue::Double(f64::NAN)), "NaN");
        assert_eq!(number(&MetricValue::Missing), "n/a");
        assert_eq!(number(&MetricValue::Double(1.5e-9)), "1.50000e-9");
    }

    #[test]
    fn control_characters_are_shown_not_sent() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}d"), "a\\u{1b}[31mb\\nc\\u{202e}d");
        assert_eq!(clean("größe"), "größe");
    }
}
