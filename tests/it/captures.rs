//! The real captures of `tests/data`, and NVIDIA's `ncu_report` if a Python has it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root. The tests of ncu-rep also use this file.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("tests/oracle").is_dir()).unwrap()
}

pub fn data(name: &str) -> PathBuf {
    root().join("tests/data").join(name)
}

/// The uncompressed content of a compressed file of `tests/data`.
pub fn plain(name: &str) -> Vec<u8> {
    zstd::stream::decode_all(std::fs::File::open(data(name)).unwrap()).unwrap()
}

/// A Python that has `ncu_report`. Without one the caller cannot compare: an error in CI and a printed remark
/// elsewhere.
pub fn oracle() -> Option<String> {
    let python = std::env::var("NCUGATE_ORACLE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import ncu_report"]).output().is_ok_and(|out| out.status.success());
    if found {
        return Some(python);
    }
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "`{python}` has no ncu_report: nothing to compare with");
    eprintln!("skipped: `{python}` has no ncu_report (set NCUGATE_ORACLE_PYTHON)");
    None
}

/// The output of `tests/oracle/dump.py` for a report, one JSON value a line.
pub fn dump(python: &str, report: &[u8], instances: usize) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.ncu-rep");
    std::fs::write(&path, report).unwrap();
    let script = root().join("tests/oracle/dump.py");
    let out = Command::new(python).arg(script).arg(&path).arg(instances.to_string()).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
