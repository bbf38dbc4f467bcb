//! What a release consists of: one version in all files, notes, one address, pinned actions, and an installer that checks hashes.

use crate::command::{Finished, Place, Program, is_here, root};
use std::process::Command;
use yaml_rust2::{Yaml, YamlLoader};

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn yaml(file: &str) -> Yaml {
    YamlLoader::load_from_str(&read(file)).unwrap().remove(0)
}

#[test]
fn one_version_is_in_all_files() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("install.sh").contains(&format!("\nversion={version}\n")));
    assert_eq!(yaml("conda/recipe.yaml")["context"]["version"].as_str(), Some(version));
    assert!(read("CHANGELOG.md").contains(&format!("\n## {version}")));
}

#[test]
fn the_notes_of_a_release_are_its_dated_section() {
    let place = Place::new();
    let notes = |text: &str, version: &str| {
        let file = place.write("CHANGELOG.md", text);
        Finished::of(Program::new(root().join(".ci/notes")).arg(version).arg(file))
    };
    let text = "# Changelog\n\n## 1.2.0 (2026-12-01)\n\n- New.\n\n### Gates\n\n- Newer.\n\n## 1.1.0\n\n- Old.\n";
    let found = notes(text, "1.2.0");
    assert_eq!((found.status, found.stdout.trim()), (Some(0), "- New.\n\n### Gates\n\n- Newer."));
    assert_eq!(notes(text, "1.1.0").stdout.trim(), "- Old.");
    for (text, version) in [
        (text, "1.2"),
        (text, "2.0.0"),
        ("## 1.0.0 (unreleased)\n\n- A.\n", "1.0.0"),
        ("## 1.0.0\n\n## 0.9.0\n- A.\n", "1.0.0"),
    ] {
        assert_eq!(notes(text, version).status, Some(1), "{version}: {text}");
    }
}

#[test]
fn one_name_fills_every_address() {
    if !is_here("git") {
        return;
    }
    let place = Place::new();
    let files = [
        "Cargo.toml",
        "install.sh",
        "conda/recipe.yaml",
        ".github/ISSUE_TEMPLATE/config.yml",
        "crates/ncu-rep/Cargo.toml",
    ];
    for file in files.into_iter().chain([".ci/repository"]) {
        place.copy(file);
    }
    let git =
        |args: &[&str]| assert!(Command::new("git").args(args).current_dir(place.path()).status().unwrap().success());
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    let contents = || {
        let text = |file: &str| std::fs::read_to_string(place.path().join(file)).unwrap();
        files.map(text)
    };
    let name = |name: &str| Finished::of(Program::new(place.path().join(".ci/repository")).arg(name));
    assert_ne!(name("o r").status, Some(0));
    let before = contents();
    assert!(before[1..4].iter().all(|text| text.contains("OWNER/ncugate")));
    let named = name("octo/kernels");
    assert_eq!(named.status, Some(0), "{named:?}");
    let once = contents();
    assert!(once.iter().all(|text| !text.contains("OWNER/")) && once[1].contains("octo/kernels"));
    let manifest: toml::Table = once[0].parse().unwrap();
    let address = manifest["workspace"]["package"]["repository"].as_str();
    assert_eq!(address, Some("https://github.com/octo/kernels"));
    let inherits =
        |text: &str| text.parse::<toml::Table>().unwrap()["package"]["repository"]["workspace"] == true.into();
    assert!(inherits(&once[0]) && inherits(&once[4]));
    assert_eq!(name("octo/kernels").status, Some(0));
    assert_eq!(contents(), once, "a second time changes nothing");
}

#[test]
fn every_action_is_pinned_to_a_commit() {
    let mut count = 0;
    for file in ["action.yml", ".github/workflows/ci.yml", ".github/workflows/release.yml"] {
        for line in read(file).lines().filter_map(|line| line.split_once("uses: ").map(|(_, action)| action)) {
            let (action, comment) = line.split_once(" # v").unwrap_or_else(|| panic!("{file}: {line}"));
            let (_, commit) = action.split_once('@').unwrap();
            assert!(commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{file}: {line}");
            assert!(comment.starts_with(|c: char| c.is_ascii_digit()), "{file}: {line}");
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn crates_come_before_wheels_and_wheels_before_the_release() {
    let workflow = yaml(".github/workflows/release.yml");
    let jobs = &workflow["jobs"];
    for (job, needed) in [("build", "ready"), ("crates", "build"), ("index", "crates"), ("publish", "index")] {
        assert_eq!(jobs[job]["needs"].as_str(), Some(needed), "{job}");
        assert!(jobs[job]["if"].is_badvalue(), "{job}: it runs after a failure");
    }
    assert_eq!(workflow["permissions"].as_hash().map(|granted| granted.len()), Some(0));
    let granted = |job: &str, permission: &str| jobs[job]["permissions"][permission].as_str();
    for job in ["ready", "build", "crates", "index"] {
        assert_ne!(granted(job, "contents"), Some("write"), "{job}");
    }
    let signs = ["build", "crates", "index"].map(|job| granted(job, "id-token"));
    assert_eq!((signs, granted("publish", "id-token")), ([Some("write"); 3], None));
    let text = read(".github/workflows/release.yml");
    assert!(!text.contains("secrets."), "no token is stored");
}

#[test]
fn the_installer_installs_what_its_hash_says_or_nothing() {
    if !is_here("curl") {
        return;
    }
    let place = Place::new();
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("ncugate-v{version}-{}-unknown-linux-gnu", std::env::consts::ARCH);
    let folder = format!("releases/o/r/releases/download/v{version}");
    let pack = |says: &str| {
        place.write_program(&format!("{folder}/{name}/ncugate"), &format!("#!/bin/sh\necho '{says}'\n"));
        let script = format!("tar -czf {name}.tar.gz {name} && sha256sum {name}.tar.gz > {name}.tar.gz.sha256");
        let packed = Command::new("sh").args(["-c", &script]).current_dir(place.path().join(&folder)).status();
        assert!(packed.unwrap().success());
    };
    let program = place.path().join("bin/ncugate");
    let install = || {
        let mut command = Program::new("sh");
        command.arg(root().join("install.sh")).env("NCUGATE_INSTALL_DIR", place.path().join("bin"));
        command
            .env("NCUGATE_RELEASES", format!("file://{}/releases", place.path().display()))
            .env("NCUGATE_REPOSITORY", "o/r");
        let finished = Finished::of(&mut command);
        let installed = std::fs::read_to_string(&program).unwrap_or_default();
        (finished, installed)
    };
    assert_eq!(install().0.status, Some(2), "no release");
    pack(&format!("ncugate {version} (0123456)"));
    let (finished, installed) = install();
    assert!(finished.status == Some(0) && finished.stdout.contains("is not on PATH"), "{finished:?}");
    assert!(installed.contains("0123456"), "{installed}");
    pack("ncugate 99.0.0");
    let (finished, after) = install();
    assert!(finished.status == Some(2) && after == installed, "another version replaces nothing: {finished:?}");
    place.write(&format!("{folder}/{name}.tar.gz"), "damaged");
    let (finished, after) = install();
    assert!(finished.status == Some(1) && after == installed, "{finished:?}");
    let left = std::fs::read_dir(place.path().join("bin")).unwrap().count();
    assert_eq!(left, 1, "no part of a failed installation");
}

/// The fingerprint that an issue asks for is the doctor's, and does not identify the machine.
#[test]
fn an_issue_asks_for_the_fingerprint_that_the_doctor_prints() {
    let form = yaml(".github/ISSUE_TEMPLATE/bug.yml");
    let asked = &form["body"][0];
    assert_eq!((asked["id"].as_str(), asked["validations"]["required"].as_bool()), (Some("fingerprint"), Some(true)));
    assert!(asked["attributes"]["description"].as_str().unwrap().contains("`ncugate doctor --format json`"));
    let doctor = Place::new().run(&["doctor", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    let placeholder = asked["attributes"]["placeholder"].as_str().unwrap();
    let parts = |text: &str| text.split("; ").count();
    assert_eq!(parts(answer["fingerprint"].as_str().unwrap()), parts(placeholder));
    for file in ["idea.yml", "config.yml"] {
        yaml(&format!(".github/ISSUE_TEMPLATE/{file}"));
    }
}
