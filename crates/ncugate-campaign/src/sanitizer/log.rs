//! The log of compute-sanitizer (2022 to 2026): records behind a prefix, the first line at one space, its details further in.

use ncugate_model::SanitizerFinding;
use ncugate_model::number::text;

/// The start of every line of the log.
const PREFIX: &str = "=========";
/// Endings of racecheck's `[16 hazards]`.
const HAZARDS: [&str; 2] = [" hazard]", " hazards]"];

/// The content of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SanitizerLog {
    /// Equal reports are one finding.
    pub findings: Vec<SanitizerFinding>,
    /// Number of errors and warnings by the summary; `None` for a log without one, whose tool did not come to its end.
    pub total: Option<u64>,
    /// Lines that are neither a report about a kernel nor known: the tool had a problem.
    pub problems: Vec<String>,
}

impl SanitizerLog {
    pub fn parse(log: &str) -> Self {
        let mut parsed = Self::default();
        let mut record: Option<(String, Vec<String>)> = None;
        for line in log.lines() {
            let Some(rest) = line.trim_start().strip_prefix(PREFIX) else { continue };
            let said = text::clean(rest.trim());
            let is_detail = rest.starts_with("  ") && !said.is_empty();
            match &mut record {
                Some((_, details)) if is_detail => details.push(said),
                _ => {
                    parsed.take(record.take());
                    record = (!said.is_empty()).then_some((said, Vec::new()));
                }
            }
        }
        parsed.take(record);
        parsed
    }

    /// Number of reports that the summary counts and the log does not contain.
    pub fn unlisted(&self) -> u64 {
        let listed: u64 = self.findings.iter().map(|finding| finding.count).sum();
        self.total.unwrap_or_default().saturating_sub(listed)
    }

    fn take(&mut self, record: Option<(String, Vec<String>)>) {
        let Some((head, details)) = record else { return };
        if head == "COMPUTE-SANITIZER" || head.contains("SUMMARY: ") && head.contains("not printed") {
            return;
        }
        if let Some((_, counts)) = head.split_once("SUMMARY: ") {
            // "3 errors", and of racecheck "2 hazards displayed (1 error, 1 warning)".
            match number(counts) {
                Some(count) if !head.starts_with("LEAK") => self.total = Some(self.total.unwrap_or_default() + count),
                Some(_) => {}
                None => self.problems.push(head),
            }
            return;
        }
        match finding(&head, &details) {
            Some(found) => self.add(found),
            None => self.problems.push(head),
        }
    }

    fn add(&mut self, found: SanitizerFinding) {
        let place = |finding: &SanitizerFinding| (finding.what.clone(), finding.kernel.clone(), finding.line.clone());
        match self.findings.iter_mut().find(|known| place(known) == place(&found)) {
            Some(known) => known.count += 1,
            None => self.findings.push(found),
        }
    }
}

/// The first number of a text; the tool groups digits by commas.
fn number(text: &str) -> Option<u64> {
    let digits: String = text.split_whitespace().next()?.chars().filter(|c| *c != ',').collect();
    digits.parse().ok()
}

/// A place in machine code: `kernel(int *)+0x90 in copy.cu:12`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CodePlace {
    /// The text before it.
    before: String,
    function: String,
    line: Option<String>,
}

/// The place that a line of a report ends with.
fn place(said: &str) -> Option<CodePlace> {
    let hazards = HAZARDS.iter().any(|end| said.ends_with(end));
    let said = said.rsplit_once(" [").filter(|_| hazards).map_or(said, |(before, _)| before);
    // Old versions write `kernel():0x160`.
    let offset = said.rfind("+0x").or_else(|| said.rfind(":0x"))?;
    let (named, rest) = (&said[..offset], &said[offset + 3..]);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    let line = rest.strip_prefix(" in ").filter(|line| line.contains(':'));
    if line.is_none() && !rest.is_empty() {
        return None;
    }
    let (before, function) = match (named.strip_prefix("Device Frame:"), named.strip_prefix("at ")) {
        (Some(function), _) | (None, Some(function)) => ("", function),
        (None, None) => named.rsplit_once(" at ")?,
    };
    Some(CodePlace {
        before: before.trim().to_owned(),
        function: function.trim().to_owned(),
        line: line.map(str::to_owned),
    })
}

/// A report about a kernel; none for any other record.
fn finding(head: &str, details: &[String]) -> Option<SanitizerFinding> {
    let in_head = place(head);
    let first = in_head.clone().or_else(|| details.iter().find_map(|detail| place(detail)));
    let about_threads =
        details.iter().any(|detail| detail.starts_with("by thread") || detail.starts_with("at 0x")) || first.is_some();
    if !about_threads {
        return None;
    }
    // The outermost frame is the kernel.
    let frames = details.iter().filter(|detail| detail.starts_with("Device Frame:"));
    let kernel = frames.filter_map(|frame| place(frame)).next_back().or_else(|| first.clone());
    let what = match &in_head {
        Some(place) => place.before.clone(),
        None => head.to_owned(),
    };
    let tells =
        |detail: &&String| detail.starts_with("Access") || detail.starts_with("Address") || detail.starts_with("and ");
    let mut shown: Vec<String> = details.iter().filter(tells).cloned().collect();
    shown.extend(details.iter().find(|detail| detail.starts_with("by thread")).cloned());
    Some(SanitizerFinding {
        what: what.trim_start_matches("Error: ").trim_start_matches("ERROR: ").trim_end_matches(" :").to_owned(),
        kernel: kernel.map(|place| place.function),
        line: first.and_then(|place| place.line),
        details: shown,
        count: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel, the line and the rest of the only finding.
    fn only(log: &str) -> SanitizerFinding {
        let parsed = SanitizerLog::parse(log);
        assert_eq!((parsed.findings.len(), &parsed.problems), (1, &Vec::new()), "{parsed:?}");
        parsed.findings.into_iter().next().unwrap()
    }

    #[test]
    fn an_access_out_of_bounds_has_kernel_line_and_address() {
        let log = "========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at helper(float *)+0xb0 in copy.cu:39
=========     by thread (3,0,0) in block (1,0,0)
=========     Address 0x7cc43aa00400 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7cc43aa00000 of size 1,024 bytes
=========         Device Frame: copy(float *, int)+0x30 in copy.cu:44
=========     Saved host backtrace up to driver entry point at kernel launch time
=========
========= Invalid __global__ write of size 4 bytes
=========     at helper(float *)+0xb0 in copy.cu:39
=========     by thread (4,0,0) in block (1,0,0)
=========     Address 0x7cc43aa00404 is out of bounds
=========         Device Frame:copy(float *, int)+0x30 in copy.cu:44
=========
========= ERROR SUMMARY: 130 errors were not printed. Use --print-limit option to adjust the number of printed errors
========= ERROR SUMMARY: 132 errors
";
        let found = only(log);
        let expected = "Invalid __global__ write of size 4 bytes in `copy(float *, int)` at copy.cu:39, \
                        Address 0x7cc43aa00400 is out of bounds, and is 1 bytes after the nearest allocation at \
                        0x7cc43aa00000 of size 1,024 bytes, by thread (3,0,0) in block (1,0,0) (2 reports)";
        assert_eq!(found.to_string(), expected);
        assert_eq!(SanitizerLog::parse(log).unlisted(), 130);
    }

    #[test]
    fn a_race_has_both_accesses() {
        let found = only(
            "========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum(int *, int *)+0x90 in sum.cu:41
=========     and Read access at sum(int *, int *)+0x100 in sum.cu:51 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
",
        );
        let expected = "Race reported between Write access in `sum(int *, int *)` at sum.cu:41, \
                        and Read access at sum(int *, int *)+0x100 in sum.cu:51 [508 hazards]";
        assert_eq!(found.to_string(), expected);
    }

    #[test]
    fn a_barrier_and_an_uninitialized_read_are_findings_without_line_information_too() {
        let barrier = only(
            "========= Barrier error detected. Divergent thread(s) in block.
=========     at sync(int *)+0x130
=========     by thread (32,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error
",
        );
        assert_eq!((barrier.kernel.as_deref(), barrier.line.as_deref()), (Some("sync(int *)"), None));
        let read = only(
            "========= Uninitialized __global__ memory read of size 4 bytes
=========     at 0x70
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
========= ERROR SUMMARY: 1 error
",
        );
        assert_eq!(read.kernel, None);
        assert!(read.to_string().contains("Address 0x7f3c7ec000fc"), "{read}");
    }

    #[test]
    fn an_unknown_record_is_a_problem_and_a_log_without_summary_did_not_end() {
        let clean = SanitizerLog::parse("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
        assert_eq!(clean, SanitizerLog { total: Some(0), ..SanitizerLog::default() });
        for said in [
            "Error: Target application terminated before first instrumented API call",
            "Internal Sanitizer Error: The Sanitizer encountered an error while launching copy and didn't track the launch.",
            "Warning: Detected overflow of tracked cuda::barrier structures. Results might be incorrect.",
            "ERROR SUMMARY: some errors",
        ] {
            let log = SanitizerLog::parse(&format!("========= COMPUTE-SANITIZER\n========= {said}\n"));
            assert_eq!((log.findings.len(), log.problems, log.total), (0, vec![said.to_owned()], None));
        }
    }
}
