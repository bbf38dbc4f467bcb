//! `[check]`: compute-sanitizer.

use ncugate_model::{CleanText, SanitizerFinding, SanitizerTool, glob};

/// Checks in addition to the comparison with the reference.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckSettings {
    /// Tools of compute-sanitizer that launch every variant, without duplicates.
    pub sanitize: Vec<SanitizerTool>,
    pub suppressed: Vec<Suppression>,
}

impl CheckSettings {
    /// Adds tools that are not in it yet.
    pub fn also(&mut self, tools: &[SanitizerTool]) {
        for tool in tools.iter().filter(|tool| !self.sanitize.contains(tool)).collect::<Vec<_>>() {
            self.sanitize.push(*tool);
        }
    }

    /// Whether a finding does not count. A finding without a kernel always counts.
    pub fn suppresses(&self, tool: SanitizerTool, finding: &SanitizerFinding) -> bool {
        self.suppressed.iter().any(|suppression| suppression.matches(tool, finding))
    }
}

/// Findings of one tool that do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    pub tool: SanitizerTool,
    /// Glob of the kernel's demangled signature.
    pub kernel: CleanText,
    pub reason: CleanText,
}

impl Suppression {
    fn matches(&self, tool: SanitizerTool, finding: &SanitizerFinding) -> bool {
        let kernel = finding.kernel.as_deref();
        // The reader has refused a text that is no glob.
        let matched = |kernel| glob(&self.kernel).is_ok_and(|glob| glob.is_match(kernel));
        self.tool == tool && kernel.is_some_and(matched)
    }
}
