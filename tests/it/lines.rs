//! Source lines and instruction texts compared with NVIDIA's own reader, over the captures with machine code.

use crate::captures;
use ncu_explain::listing::Disassembler;
use ncu_explain::source_of;
use ncu_rep::{Launch, Report};
use ncugate_model::cubin::LineTable;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Captures of kernels compiled with -lineinfo.
const LINED: [&str; 3] = ["full1.ncu-rep.zst", "source.ncu-rep.zst", "deep.ncu-rep.zst"];

/// Rows of `tests/oracle/lines.py`: launch, offset, file, line, text.
fn oracle(python: &str, name: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.ncu-rep");
    std::fs::write(&path, captures::plain(name)).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/lines.py");
    let out = std::process::Command::new(python).arg(script).arg(&path).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn rows_of<'v>(rows: &'v [Value], launch: &Launch<'_>) -> Vec<&'v Value> {
    rows.iter().filter(|row| row[0] == launch.id()).collect()
}

#[test]
fn every_instruction_has_the_line_that_ncu_report_gives_it() {
    let Some(python) = captures::oracle() else { return };
    let (mut compared, mut inlined) = (0, 0);
    for name in LINED {
        let report = Report::open(captures::data(name)).unwrap();
        let rows = oracle(&python, name);
        for launch in report.launches() {
            let source = source_of(&report, &launch).unwrap().unwrap();
            let table = LineTable::read(source.binary, &launch.mangled_name()).unwrap();
            for row in rows_of(&rows, &launch) {
                let chain = table.at(row[1].as_u64().unwrap());
                let ours: Vec<_> = chain.iter().map(|p| (plain(&p.file), u64::from(p.line))).collect();
                let theirs = row[2].as_str().map(|file| (plain(file), row[3].as_u64().unwrap()));
                // For inlined code it gives either the innermost or the outermost line.
                let ends = [ours.first().cloned(), ours.last().cloned()];
                assert!(ends.contains(&theirs), "{name}, launch {}, {row}: {ours:?}", launch.id());
                compared += 1;
                inlined += usize::from(chain.len() > 1);
            }
        }
    }
    println!("lines compared with ncu_report: {compared}, of inlined code {inlined}");
    assert!(compared > 3000 && inlined > 400, "{compared}, {inlined}");
}

#[test]
fn instructions_read_as_ncu_report_prints_them() {
    let nvcc = std::env::var("NCUGATE_TEST_NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    let disassembler = match Disassembler::find(Some(Path::new(&nvcc))) {
        Ok(disassembler) => disassembler,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    let Some(python) = captures::oracle() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for name in LINED {
        let report = Report::open(captures::data(name)).unwrap();
        let rows = oracle(&python, name);
        for launch in report.launches() {
            let source = source_of(&report, &launch).unwrap().unwrap();
            let path = folder.path().join("module.cubin");
            std::fs::write(&path, source.binary).unwrap();
            let ours = disassembler.instructions(&path, source.binary, &launch.mangled_name()).unwrap();
            let ours: BTreeMap<u64, String> =
                ours.into_iter().map(|(at, text)| (at, words(&text.replace(".reuse", "")))).collect();
            for row in rows_of(&rows, &launch) {
                let theirs = words(row[4].as_str().unwrap());
                // Branch targets are labels here and addresses there.
                let (op, target) = (theirs.split(' ').next().unwrap_or_default(), theirs.contains("0x7f"));
                let text = &ours[&row[1].as_u64().unwrap()];
                if target {
                    assert!(text.starts_with(op), "{text} | {theirs}");
                } else {
                    assert_eq!(text, &theirs, "{name}, launch {}", launch.id());
                }
                compared += 1;
            }
        }
    }
    println!("instructions compared with ncu_report: {compared}");
    assert!(compared > 2000, "{compared}");
}

/// A path as ncu writes it: nvcc's own headers lie next to its folder.
fn plain(path: &str) -> String {
    path.replace("/bin/../", "/")
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
