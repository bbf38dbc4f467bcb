//! The body of a comment on a change: the answers to a reviewer's first questions in a few lines, the rest folded.
//!
//! Its first line is a hidden marker that names the phase, so that the poster can find and replace an earlier comment.

use super::deltas::{CodeChange, ShapeDelta};
use super::markdown::{Charts, MarkdownTable, escape, sections};
use super::model::Conclusion;
use super::number;
use super::run_report::RunReport;
use super::trust::cheat_count;
use super::waiver_row::WaiverRow;
use ncugate_model::{CleanText, Verdict};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Longest comment, in bytes, which bounds its characters; GitHub accepts fewer than 65,536 characters.
pub const LONGEST: usize = 60_000;
/// Most shapes in the table.
const SHAPES: usize = 6;

/// The comment; `job` is the address of the job that wrote it.
pub fn comment(report: &RunReport, job: Option<&str>) -> String {
    let mut out = format!("{}\n{}\n\n", marker(&report.phase), title(report));
    let mut paragraph = |text: String| {
        if !text.is_empty() {
            let _ = writeln!(out, "{text}\n");
        }
    };
    if let Some(unasked) = &report.source.unasked {
        paragraph(format!("**Not measured:** {}.", escape(unasked)));
    }
    let bold = if report.first_screen.recommends() { "**" } else { "" };
    paragraph(format!("{}\n{bold}{}{bold}", escape(&report.headline.reason), escape(&report.in_use.sentence)));
    paragraph(cheat_count(&report.trust.cheats).map_or_else(String::new, |count| format!("⚠️ **{count}.**")));
    report.headline.changed_limits.iter().for_each(|said| paragraph(format!("⚠️ {}", escape(said))));
    paragraph(waived(report));
    paragraph(shapes(&report.shape_deltas));
    let lines: Vec<String> =
        [facts(report), next_step(report), links(report, job)].into_iter().filter(|line| !line.is_empty()).collect();
    paragraph(lines.join("\n"));
    fold(&mut out, &sections(report, Charts::Absent));
    out
}

/// A phase of a command line in the comment on all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseComment {
    /// Its file.
    pub phase: String,
    /// `pass`, `fail`, `unchanged`.
    pub result: &'static str,
    /// Its own comment; `None` if it was not judged.
    pub body: Option<String>,
}

/// The comment on several phases: a table of their results, then what is visible of each comment, the failed ones
/// first. Folds are left out.
pub fn joint_comment(phases: &[PhaseComment]) -> String {
    let count = |result: &str| phases.iter().filter(|phase| phase.result == result).count();
    let results = phases.iter().map(|phase| phase.result).collect::<BTreeSet<_>>();
    let counts: Vec<String> = results.into_iter().map(|result| format!("{} {result}", count(result))).collect();
    let mut table = MarkdownTable::new(&["phase", "result"]);
    phases.iter().for_each(|phase| table.row(vec![escape(&phase.phase), phase.result.to_owned()]));
    let mut out =
        format!("{}\n### {}: {}\n\n{table}\n", marker(""), number::counted(phases.len(), "phase"), counts.join(", "));
    let mut judged: Vec<_> = phases.iter().filter_map(|phase| Some((phase.result, phase.body.as_deref()?))).collect();
    judged.sort_by_key(|(result, _)| *result == "pass");
    let mut left_out = 0;
    for (_, body) in judged {
        let visible = body.split("<details>").next().unwrap_or_default();
        let visible = visible.split_once('\n').map_or("", |(_, rest)| rest).trim();
        match out.len() + visible.len() + 400 < LONGEST {
            true => out.push_str(&format!("{visible}\n\n")),
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "{} too long for a comment: see report.md.", number::counted(left_out, "phase"));
    }
    out
}

/// The hidden first line, which identifies the comment of a phase.
pub fn marker(phase: &str) -> String {
    let name: String = phase.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    // two hyphens would end the HTML comment
    format!("<!-- ncugate:{} -->", name.replace("--", "-_"))
}

fn title(report: &RunReport) -> String {
    let headline = &report.headline;
    let mark = match headline.conclusion {
        Conclusion::Pass => "✅",
        Conclusion::Fallback => "⚠️",
        Conclusion::Inconclusive => "❔",
        Conclusion::Fail => "❌",
    };
    format!("### {mark} {}: {}", escape(&report.title), headline.conclusion)
}

/// The gates that fail and are waived, each with its reason.
fn waived(report: &RunReport) -> String {
    let in_force = report.waivers.iter().filter(|row| !row.expired);
    let lines: Vec<String> = in_force
        .map(|WaiverRow { waiver, .. }| {
            format!("⚠️ **Waived:** {}: {} ({})", escape(&waiver.gate), escape(&waiver.reason), escape(&waiver.owner))
        })
        .collect();
    lines.join("\n")
}

/// One row for each shape: value before, value now, change, and the gates of its time.
fn shapes(deltas: &[ShapeDelta]) -> String {
    let Some(first) = deltas.first() else { return String::new() };
    let before = first.against.as_deref().map_or_else(|| "before".to_owned(), escape);
    let mut table = MarkdownTable::new(&["shape", before.as_str(), "this change", "difference (95 %)", "gates"]);
    for delta in deltas.iter().take(SHAPES) {
        let change = delta.change.as_ref();
        let difference = change.map_or_else(String::new, |change| {
            if delta.code == CodeChange::None {
                return "no change: the same machine code and launch".to_owned();
            }
            let interval = change.interval.map_or_else(String::new, |interval| format!(" ({})", interval.text()));
            match change.judged.word() {
                "" => format!("{}{interval}", change.change),
                word => format!("{}{interval}, {word}", change.change),
            }
        });
        table.row(vec![
            escape(&delta.shape),
            change.map_or_else(|| "n/a".to_owned(), |c| number::with_unit(c.before.value, &c.unit)),
            delta.value.to_string(),
            difference,
            gates(&delta.gates),
        ]);
    }
    let rest = deltas.len().saturating_sub(SHAPES);
    let more = if rest > 0 { format!("\n{} more below.", number::counted(rest, "shape")) } else { String::new() };
    format!("{}{more}", table.to_string().trim_end())
}

/// The gates of a shape: names of those that do not pass, else the number that pass.
fn gates(gates: &[(CleanText, Verdict)]) -> String {
    let open: Vec<String> = gates
        .iter()
        .filter(|(_, verdict)| *verdict != Verdict::Pass)
        .map(|(name, verdict)| format!("{} {}", sign(*verdict), escape(name)))
        .collect();
    match (open.as_slice(), gates.len()) {
        ([], 0) => "none".to_owned(),
        ([], count) => format!("{} {}", sign(Verdict::Pass), number::counted(count, "gate")),
        (open, _) => open.join(", "),
    }
}

const fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✅",
        Verdict::Inconclusive => "❔",
        Verdict::Fail => "❌",
    }
}

/// `Registers 96, spills 0 ...`: the numbers of the banner in a line.
fn facts(report: &RunReport) -> String {
    let facts = report.headline.facts.iter().map(|fact| format!("{} {}", escape(&fact.label), escape(&fact.text)));
    let facts: Vec<String> = facts.collect();
    if facts.is_empty() { String::new() } else { format!("{}.", facts.join(" · ")) }
}

/// The next step, unless the phase passes without a fallback.
fn next_step(report: &RunReport) -> String {
    let next = report.first_screen.next.as_ref().filter(|_| report.headline.conclusion != Conclusion::Pass);
    next.map_or_else(String::new, |next| format!("**Next:** {}", escape(&next.text())))
}

fn links(report: &RunReport, job: Option<&str>) -> String {
    let job = job.filter(|job| is_address(job)).map(|job| format!("[job and report]({job})"));
    let command = report.reproduce.last().filter(|line| !line.starts_with('#'));
    let reproduce = command.map(|command| format!("reproduce: `{}`", command.replace('`', "'")));
    job.into_iter().chain(reproduce).collect::<Vec<_>>().join(" · ")
}

/// Whether the text is a URL that cannot break out of its brackets.
fn is_address(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#@!$&+,;=%".contains(c);
    text.starts_with("https://") && text.chars().all(plain)
}

/// Titles of the folds, each with the first words of its section headings. The second fold has all other sections.
const FOLDS: [(&str, &[&str]); 3] = [
    ("Gates", &["Gates", "Tier", "Stages", "Waivers"]),
    ("Measurements", &[]),
    ("Provenance", &["Notes", "Provenance"]),
];

/// The fold that a heading belongs to.
fn fold_of(heading: &str) -> usize {
    FOLDS.iter().position(|(_, begins)| begins.iter().any(|begin| heading.starts_with(begin))).unwrap_or(1)
}

/// Folds every section except the verdict, as long as the total fits.
fn fold(out: &mut String, sections: &[String]) {
    let mut left_out = 0;
    let mut room = LONGEST.saturating_sub(out.len() + 400);
    let mut bodies = [const { String::new() }; FOLDS.len()];
    for section in sections.iter().skip(1) {
        let Some((heading, body)) = section.split_once('\n') else { continue };
        let heading = heading.trim_start_matches('#').trim();
        let text = format!("#### {heading}\n\n{}\n\n", body.trim());
        match room.checked_sub(text.len()) {
            Some(rest) => {
                room = rest;
                bodies[fold_of(heading)].push_str(&text);
            }
            None => left_out += 1,
        }
    }
    for ((title, _), body) in FOLDS.iter().zip(&bodies).filter(|(_, body)| !body.is_empty()) {
        let _ = writeln!(out, "<details><summary>{title}</summary>\n\n{}\n\n</details>", body.trim());
    }
    if left_out > 0 {
        let _ = writeln!(out, "\n{} too long for a comment: see report.md.", number::counted(left_out, "section"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// Lines visible while everything is folded: of a fold only its heading.
    fn unfolded(comment: &str) -> Vec<&str> {
        let mut folded = false;
        let mut seen = Vec::new();
        for line in comment.lines() {
            let opens = line.starts_with("<details>");
            if !folded || opens {
                seen.push(line);
            }
            folded = (folded || opens) && line != "</details>";
        }
        seen
    }

    #[test]
    fn a_comment_has_thirty_lines_before_it_is_unfolded_and_begins_with_its_marker() {
        let report = Fixture::new(90).report();
        let comment = comment(&report, Some("https://github.com/o/r/actions/runs/7"));
        let seen = unfolded(&comment);
        assert!(seen.len() <= 30, "{}:\n{}", seen.len(), seen.join("\n"));
        assert_eq!(seen[0], format!("<!-- ncugate:{} -->", report.phase));
        for part in ["### ", "difference (95 %)", "**Next:** ", "reproduce: `", "[job and report](https://"] {
            assert!(comment.contains(part), "{part}:\n{comment}");
        }
        assert_eq!(comment.matches("<details>").count(), comment.matches("</details>").count());
        assert!(comment.contains("<details><summary>Gates</summary>") && comment.contains("#### Provenance"));
        assert!(comment.len() <= LONGEST);
    }

    #[test]
    fn cheats_are_counted_before_anything_is_unfolded() {
        let mut report = Fixture::new(6).report();
        assert!(!unfolded(&comment(&report, None)).iter().any(|line| line.contains("cheat")));
        let cheat = |variant: &str| crate::trust::CheatRow { variant: variant.into(), reason: "it skips".into() };
        report.trust.cheats = vec![cheat("a"), cheat("b")];
        let comment = comment(&report, None);
        assert!(unfolded(&comment).contains(&"⚠️ **2 variants cheat.**"), "{comment}");
    }

    #[test]
    fn sections_that_do_not_fit_are_counted() {
        let mut out = "x".repeat(LONGEST - 480);
        fold(&mut out, &["# head\n".to_owned(), "## a\nshort".to_owned(), format!("## b\n{}", "y".repeat(100))]);
        assert!(out.len() <= LONGEST && out.contains("#### a") && !out.contains("#### b"));
        assert!(out.ends_with("1 section too long for a comment: see report.md.\n"));
    }

    #[test]
    fn a_marker_and_an_address_cannot_leave_their_place() {
        assert_eq!(marker("a--> <b>"), "<!-- ncugate:a-_-_-b- -->");
        assert!(!marker("a---->")[4..].trim_end_matches(" -->").contains("-->"));
        assert!(is_address("https://github.com/o/r") && !is_address("https://x) [y](") && !is_address("javascript:x"));
    }
}
