//! Embeds the version and the recording of `ncugate demo` in the program.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::{env, fs, io};

/// The recording of `ncugate demo`.
const DEMO: &str = "profiles/sdpa_fast_causal/h200";

fn main() -> io::Result<()> {
    println!("cargo::rustc-env=NCUGATE_VERSION={}", version());
    demo()
}

/// `0.1.0`, followed by the commit if it is known. The commit comes from NCUGATE_COMMIT, which the build of a package
/// sets. Without it, release builds of a checkout ask git.
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

/// The commit of this checkout; `None` for a package unpacked inside another repository.
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

/// `&[("manifest.json", include_bytes!("/...")), ...]`: every file of the recording by its relative path, sorted.
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
