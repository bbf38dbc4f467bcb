//! Files of ncu reports in a run's folder.

use ncugate_model::MAX_REPORT;
use ncugate_model::disk::open;
use std::io;
use std::path::Path;

/// Verifies that an ncu report is a regular file, in a folder that is not a link.
///
/// # Errors
/// The file is not regular, or it exceeds the size limit.
pub fn prove_report(path: &Path) -> io::Result<()> {
    open::folder(path.parent().unwrap_or(Path::new("")))?;
    open::regular(path, MAX_REPORT).map(drop)
}

/// Whether a run's report can have this name: a single file name with ncu's extension.
pub fn is_report_name(name: &str) -> bool {
    let stem = name.strip_suffix(".ncu-rep").or_else(|| name.strip_suffix(".ncu-repz"));
    stem.is_some_and(|stem| !stem.is_empty() && !stem.starts_with('.'))
        && !name.contains(|c: char| matches!(c, '/' | '\\') || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_name_and_no_way() {
        assert!(is_report_name("core-1.ncu-rep") && is_report_name("a+b=c@d.ncu-repz"));
        for name in
            ["", ".ncu-rep", "..ncu-rep", ".x.ncu-rep", "a/b.ncu-rep", "/x.ncu-rep", "..", "x.txt", "a\nb.ncu-rep"]
        {
            assert!(!is_report_name(name), "{name:?}");
        }
    }
}
