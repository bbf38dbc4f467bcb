//! Rules beyond the compiler: claims of docs/trust.md have tests, one file writes to the standard streams, widths of
//! formats are constants, judging reads no clock.

use crate::command::root;
use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A source file without the test module at its end.
fn without_tests(text: &str) -> &str {
    text.split("\nmod tests {").next().unwrap().split("\npub(super) mod tests {").next().unwrap()
}

/// Code without comments.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

fn is_test(path: &Path) -> bool {
    let folders = ["tests", "fixtures", "ncugate-fixtures"];
    path.iter().any(|part| folders.iter().any(|folder| part == *folder)) || path.ends_with("tests.rs")
}

/// The code of every shipped source file, by its path in the repository.
fn product() -> Vec<(String, String)> {
    product_files().into_iter().map(|(file, text)| (file, code(&text))).collect()
}

/// Every shipped source file without its tests, by its path in the repository.
pub fn product_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    files.retain(|path| !is_test(path));
    assert!(files.len() > 400, "{}", files.len());
    let name = |path: &PathBuf| path.strip_prefix(root()).unwrap().display().to_string();
    files.iter().map(|path| (name(path), without_tests(&fs::read_to_string(path).unwrap()).to_owned())).collect()
}

/// Whether a test has this path: `file::name` is in `tests/it`, `ncugate_CRATE::module::name` in that crate.
fn is_test_name(name: &str) -> bool {
    let mut parts: Vec<&str> = name.split("::").collect();
    let test = parts.pop().unwrap();
    let files = match parts.as_slice() {
        [file] => vec![root().join(format!("tests/it/{file}.rs"))],
        [package, inner @ ..] => {
            let folder = match *package {
                "ncugate" => root().join("src"),
                _ => root().join("crates").join(package.replace('_', "-")).join("src"),
            };
            let whole = folder.join(inner.join("/")).with_extension("rs");
            // the tests of a module are in its file or in a neighbouring file
            let outer = inner.strip_suffix(&["tests"]).unwrap_or(inner);
            let own = folder.join(outer.join("/"));
            vec![whole, own.with_extension("rs"), own.join("mod.rs"), own.join("lib.rs")]
        }
        [] => Vec::new(),
    };
    let has_it = |text: String| {
        let head = format!("fn {test}() ");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.windows(2).any(|pair| pair[0] == "#[test]" && pair[1].starts_with(&head))
    };
    files.into_iter().filter_map(|file| fs::read_to_string(file).ok()).any(has_it)
}

/// Text between backticks.
fn marked(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Every claim is followed by its tests, and every test named on the page exists.
#[test]
fn every_claim_of_the_page_on_trust_has_its_test() {
    let page = fs::read_to_string(root().join("docs/trust.md")).unwrap();
    let is_name = |text: &&str| text.contains("::") && *text != "live::NAME" && !text.contains(' ');
    let named: Vec<&str> = marked(&page).filter(is_name).collect();
    assert!(named.len() > 80, "{named:?}");
    let absent: Vec<&&str> = named.iter().filter(|name| !is_test_name(name)).collect();
    assert!(absent.is_empty(), "{absent:#?} are not tests");

    let (mut claims, mut is_claim) = (0, false);
    let lines: Vec<&str> = page.lines().collect();
    for pair in lines.windows(2) {
        is_claim = (is_claim || pair[0].starts_with("## ")) && !pair[0].starts_with("Not claimed:");
        if is_claim && pair[0].starts_with("- ") {
            let tests = pair[1].strip_prefix("  ").unwrap_or_default();
            assert!(marked(tests).any(|name| is_name(&name)), "a claim without a test: {}", pair[0]);
            claims += 1;
        }
    }
    assert!(claims > 50, "only {claims} claims were found");
}

#[test]
fn only_the_console_writes_to_the_standard_streams() {
    let ways = ["stdout()", "stderr()", "println!", "print!(", "eprint!("];
    // The worker speaks a protocol to its parent and has no user.
    let own = ["src/console.rs", "crates/ncugate-cuda/src/host/worker.rs"];
    for (file, code) in
        product().into_iter().filter(|(file, _)| !own.contains(&file.as_str()) && !file.starts_with("crates/ncu-rep"))
    {
        for line in code.lines().filter(|line| {
            !line.contains("is_terminal()")
                && !line.contains("use_stderr()")
                && !line.contains("command.stdout(")
                && !line.contains("Reporter::stdout()")
        }) {
            assert!(ways.iter().all(|way| !line.contains(way)), "{}: {line}", file);
        }
    }
}

/// A format width has 16 bits, and a larger one panics: `number::text` pads text. The number of decimals may depend
/// on data.
#[test]
fn no_width_of_a_format_comes_from_data() {
    for (file, code) in product() {
        let is_width = |line: &str, at: usize| {
            let spec = line[..at].rsplit('{').next().and_then(|field| field.split_once(':'));
            spec.is_some_and(|(_, spec)| !spec.contains('.'))
        };
        let found = code.lines().find(|line| line.match_indices("$}").any(|(at, _)| is_width(line, at)));
        assert!(found.is_none(), "{}: {found:?}", file);
    }
}

/// Functions whose results can differ between two calls on the same run.
const OUTSIDE: [&str; 8] = [
    "Timestamp::now",
    "Zoned::now",
    "SystemTime::now",
    "Instant::now",
    "current_dir",
    "path::absolute",
    "which::which",
    "env::",
];

/// Files that use them and judge nothing.
const READERS: [(&str, &str); 6] = [
    ("crates/ncugate-model/src/process/", "timeouts of child processes"),
    ("crates/ncugate-model/src/disk/lock.rs", "since when a process holds a lock"),
    ("crates/ncugate-model/src/disk/private.rs", "the folder of the user's own records"),
    ("crates/ncugate-model/src/disk/scratch.rs", "the folder for temporary files"),
    ("crates/ncugate-judge/src/store/ledger.rs", "the user's record of an unfinished run, and its age"),
    ("crates/ncu-explain/src/listing/disassembly.rs", "where nvdisasm is, for who asks for instructions"),
];

#[test]
fn a_verdict_depends_on_no_clock_no_working_directory_and_no_environment() {
    let crates = [
        "ncu-rep",
        "ncu-explain",
        "ncugate-model",
        "ncugate-stats",
        "ncugate-phase",
        "ncugate-judge",
        "ncugate-report",
    ];
    let product = product();
    let judging: Vec<_> = product
        .iter()
        .filter(|(file, _)| crates.iter().any(|name| file.starts_with(&format!("crates/{name}/"))))
        .collect();
    assert!(judging.len() > 250, "{}", judging.len());
    let line = |code: &str| code.lines().find(|line| OUTSIDE.iter().any(|way| line.contains(way))).map(str::to_owned);
    for (file, code) in &judging {
        let found = line(code).filter(|_| !READERS.iter().any(|(reader, _)| file.starts_with(reader)));
        assert!(found.is_none(), "{file} reads what a command passes in: {found:?}");
    }
    for (reader, what) in READERS {
        let reads = judging.iter().any(|(file, code)| file.starts_with(reader) && line(code).is_some());
        assert!(reads, "{reader} does not read {what} any more: take it off the list");
    }
}

#[test]
fn main_alone_changes_the_working_directory() {
    let files: Vec<_> = product().into_iter().filter(|(_, code)| code.contains("set_current_dir")).collect();
    let files: Vec<_> = files.iter().map(|(file, _)| file.as_str()).collect();
    assert_eq!(files, ["src/main.rs"]);
}
