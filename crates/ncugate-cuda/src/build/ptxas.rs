//! Output of ptxas with `-v`: the resources of each function, in lines that start with `ptxas info`.

/// ptxas's report of an entry, including the functions it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FunctionReport {
    /// Stack frame of the entry in bytes per thread.
    pub stack_frame: u32,
    /// Bytes of spill stores to local memory, in the code.
    pub spill_stores: u32,
    /// Bytes of spill loads from local memory, in the code.
    pub spill_loads: u32,
    /// Registers per thread.
    pub registers: u32,
    pub barriers: u32,
    /// Static shared memory in bytes per block.
    pub static_shared: u32,
}

/// The report of `entry` in nvcc's output; `None` if ptxas did not report on it.
pub fn report(log: &str, entry: &str) -> Option<FunctionReport> {
    let quoted = format!("'{entry}'");
    let mut lines =
        log.lines().skip_while(|line| !(line.contains("Compiling entry function ") && line.contains(&quoted)));
    lines.next()?;
    let mut report = FunctionReport::default();
    let mut own = false;
    for line in lines.take_while(|line| !line.contains("Compiling entry function ")) {
        if let Some((_, name)) = line.split_once("Function properties for ") {
            own = name.trim() == entry;
        }
        if let Some(bytes) = before(line, " bytes spill stores") {
            report.spill_stores += bytes;
            report.spill_loads += before(line, " bytes spill loads").unwrap_or(0);
            if own {
                report.stack_frame = before(line, " bytes stack frame").unwrap_or(0);
            }
        }
        if let Some(registers) = before(line, " registers") {
            report.registers = registers;
            report.barriers = before(line, " barriers").unwrap_or(0);
            report.static_shared = before(line, " bytes smem").unwrap_or(0);
        }
    }
    Some(report)
}

/// nvcc's output without these reports: mostly warnings.
pub fn without_reports(log: &str) -> String {
    let is_report = |line: &&str| line.starts_with("ptxas info") || line.contains(" bytes stack frame, ");
    let kept: Vec<&str> = log.lines().filter(|line| !is_report(line) && !is_untrue(line)).collect();
    kept.join("\n").trim().to_owned()
}

/// Where single entries are assembled, ptxas says of every `-maxrregcount` that it is too big and ignored, and obeys it.
fn is_untrue(line: &str) -> bool {
    line.contains("Too big maxrregcount value") && before(line, ", will be ignored").is_some_and(|count| count <= 255)
}

/// The number before `unit`.
fn before(line: &str, unit: &str) -> Option<u32> {
    let (head, _) = line.split_once(unit)?;
    head.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "k.cu(3): warning #177-D: variable \"x\" was declared but never referenced
ptxas info    : 3 bytes gmem
ptxas info    : Compiling entry function 'calls' for 'sm_90'
ptxas info    : Function properties for calls
    232 bytes stack frame, 20 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 232 bytes cumulative stack size, 4608 bytes smem, 368 bytes cmem[0]
ptxas info    : Compile time = 11.574 ms
ptxas info    : Function properties for _Z6helperPKfi
    0 bytes stack frame, 504 bytes spill stores, 580 bytes spill loads
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
";

    #[test]
    fn functions_that_an_entry_calls_count_for_it() {
        let expected = FunctionReport {
            stack_frame: 232,
            spill_stores: 524,
            spill_loads: 584,
            registers: 32,
            barriers: 1,
            static_shared: 4608,
        };
        assert_eq!(report(LOG, "calls"), Some(expected));
        assert_eq!(report(LOG, "second").unwrap().registers, 10);
        assert_eq!(report(LOG, "third"), None);
    }

    #[test]
    fn only_warnings_are_kept() {
        assert_eq!(without_reports(LOG), LOG.lines().next().unwrap());
    }
}
