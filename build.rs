//! Compiles the C side of `src/gpu/nvtx.rs`, writes a constant for every metric of the catalogue, and lists the files of the
//! recording that the program carries. Needs a C compiler and nothing else.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

const CATALOGUE: &str = "src/metric/catalogue.toml";
/// The recording that `ncugate demo` shows.
const DEMO: &str = "profiles/sdpa_fast/h200";

fn main() -> io::Result<()> {
    nvtx();
    println!("cargo::rustc-env=NCUGATE_VERSION={}", version());
    metric_ids()?;
    demo()
}

/// `0.1.0`, with the commit where it is known: from NCUGATE_COMMIT, which a package's build sets, else, in a release build of a
/// checkout, from git.
fn version() -> String {
    println!("cargo::rerun-if-env-changed=NCUGATE_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let given = env::var("NCUGATE_COMMIT").ok().filter(|commit| !commit.is_empty());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = given.or_else(|| is_release.then(checked_out).flatten());
    let commit = commit.map(|commit| commit.chars().filter(char::is_ascii_hexdigit).take(10).collect::<String>());
    match commit.filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    }
}

/// The commit of this checkout; none in a package that was unpacked inside of another repository.
fn checked_out() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let root = env::var("CARGO_MANIFEST_DIR").ok()?;
    let top = git(&["rev-parse", "--show-toplevel"]).filter(|top| Path::new(top) == Path::new(&root))?;
    let log = git(&["-C", &top, "rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    git(&["-C", &top, "rev-parse", "HEAD"])
}

/// `pub const LATENCY_P50: MetricId = MetricId::new("latency_p50");` and so on. Names are found by their lines, which the
/// tests of the catalogue hold against what the parsed file says.
fn metric_ids() -> io::Result<()> {
    println!("cargo::rerun-if-changed={CATALOGUE}");
    let catalogue = fs::read_to_string(CATALOGUE)?;
    let mut code = String::new();
    let mut all = String::new();
    for name in catalogue.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')) {
        let constant = name.to_uppercase();
        let _ = writeln!(code, "/// `{name}`\npub const {constant}: MetricId = MetricId::new(\"{name}\");");
        let _ = write!(all, "{constant}, ");
    }
    let count = all.matches(", ").count();
    let _ = writeln!(
        code,
        "/// All of them, in the order of the catalogue.\npub const ALL: [MetricId; {count}] = [{all}];"
    );
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&folder).join("metric_ids.rs"), code)
}

/// `&[("manifest.json", include_bytes!("/...")), ...]`: every file of the recording by its path in it, sorted.
fn demo() -> io::Result<()> {
    println!("cargo::rerun-if-changed={DEMO}");
    let root = fs::canonicalize(DEMO)?;
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let of_kind = if path.is_dir() { &mut folders } else { &mut files };
            of_kind.push(path);
        }
    }
    files.sort();
    let mut code = String::from("&[\n");
    for path in &files {
        let name = path.strip_prefix(&root).map_err(io::Error::other)?;
        let _ = writeln!(code, "    ({:?}, include_bytes!({:?})),", name.to_string_lossy(), path.to_string_lossy());
    }
    code.push_str("]\n");
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&folder).join("demo.rs"), code)
}

fn nvtx() {
    println!("cargo::rerun-if-changed=src/gpu/nvtx.c");
    println!("cargo::rerun-if-changed=third_party/nvtx/include");
    cc::Build::new()
        .file("src/gpu/nvtx.c")
        .include("third_party/nvtx/include")
        // The headers make their callback tables global for other files to share; the compiler may not warn of theirs.
        .warnings(false)
        .compile("ncugate_nvtx");
}
