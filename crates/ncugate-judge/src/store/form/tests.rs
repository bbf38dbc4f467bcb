//! The form of a stored run cannot change without its number.
//!
//! `form_N.txt` lists the files of a run and the declarations of every type in them, without comments. A file of a
//! number is never changed: runs of that form exist.

use super::run::SCHEMA;
use super::seal::FILES;
use ncugate_fixtures::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The types of the files of a run.
const ROOTS: [&str; 12] = [
    "Manifest",
    "Plan",
    "Workload",
    "BuildRecord",
    "CheckRecord",
    "LatencyRecord",
    "ConfirmationRecord",
    "ProfileRecord",
    "DeepProfile",
    "SanitizerRecord",
    "BitwiseRecord",
    "SearchRecord",
];
/// Where types of records are declared.
const SOURCES: [&str; 3] = ["crates/ncugate-model/src", "crates/ncugate-phase/src", "crates/ncugate-judge/src/store"];

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true => sources(&path, into),
            false => into.extend((path.extension().is_some_and(|end| end == "rs")).then_some(path)),
        }
    }
}

/// The text with the declarations in `words!` as if they stood outside of it.
fn plain(text: &str) -> String {
    let mut is_inside = false;
    let lines = text.lines().map(|line| {
        is_inside = if is_inside { line != "}" } else { line == "words! {" };
        if is_inside { line.strip_prefix("    ").unwrap_or(line) } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Declarations of serialised types by name: attributes of serde, and the item from `pub` to its end.
fn declarations(text: &str, into: &mut BTreeMap<String, String>) {
    let mut item: Option<Vec<&str>> = None;
    let mut attributes: Vec<&str> = Vec::new();
    for line in text.lines() {
        let code = line.trim();
        if code.starts_with("//") || code.is_empty() {
            continue;
        }
        match &mut item {
            Some(lines) => lines.push(line),
            None if line.starts_with("#[") => attributes.push(line),
            None => {
                let is_stored = attributes.iter().any(|line| line.contains("derive") && line.contains("Serialize"));
                let is_type = line.contains("struct ") || line.contains("enum ");
                let serde = attributes.drain(..).filter(|line| line.starts_with("#[serde")).collect::<Vec<_>>();
                item = (is_stored && is_type).then(|| serde.into_iter().chain([line]).collect());
            }
        }
        if let Some(lines) = item.take_if(|lines| lines.last().is_some_and(|line| *line == "}" || line.ends_with(';')))
        {
            let head = lines.iter().find(|line| line.contains("struct ") || line.contains("enum ")).unwrap();
            let after = head.split("struct ").nth(1).or_else(|| head.split("enum ").nth(1)).unwrap();
            let name: String = after.chars().take_while(|c| c.is_alphanumeric()).collect();
            into.entry(name).or_insert_with(|| lines.join("\n"));
        }
    }
}

/// The files of a run, and the declarations that its types reach.
fn form() -> String {
    let mut paths = Vec::new();
    SOURCES.iter().for_each(|place| sources(&root().join(place), &mut paths));
    let mut declared = BTreeMap::new();
    paths.iter().for_each(|path| declarations(&plain(&fs::read_to_string(path).unwrap()), &mut declared));
    let mut open: Vec<String> = ROOTS.iter().map(|name| (*name).to_owned()).collect();
    let mut reached = BTreeSet::new();
    while let Some(name) = open.pop() {
        let Some(text) = declared.get(&name) else { continue };
        if reached.insert(name) {
            open.extend(text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned));
        }
    }
    let types: Vec<&str> = reached.iter().map(|name| declared[name].as_str()).collect();
    format!("{}\n\n{}\n", FILES.join("\n"), types.join("\n\n"))
}

#[test]
fn the_form_of_a_run_changes_only_with_its_number() {
    let form = form();
    for name in ROOTS {
        let is_declared = ["struct", "enum"].iter().any(|kind| form.contains(&format!("pub {kind} {name} {{")));
        assert!(is_declared, "{name} is declared nowhere");
    }
    let path = root().join(format!("crates/ncugate-judge/src/store/form_{SCHEMA}.txt"));
    if std::env::var_os("NCUGATE_BLESS").is_some() && !path.exists() {
        fs::write(&path, &form).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let unlike = form.lines().find(|line| !known.lines().any(|other| other == *line));
    let gone = known.lines().find(|line| !form.lines().any(|other| other == *line));
    assert!(
        form == known,
        "the form of a stored run changed ({unlike:?} is new, {gone:?} is gone): raise `SCHEMA` in store/run.rs, \
         read the last form in `Run::load`, and write form_N.txt with NCUGATE_BLESS=1"
    );
}

/// The error for a copy of a recording whose manifest is changed, and sealed again as the program that wrote it would.
fn refusal(change: impl Fn(&mut serde_json::Value), files: &[(&str, &str)]) -> String {
    let place = tempfile::tempdir().unwrap();
    let from = root().join("profiles/softmax/h200");
    fs::create_dir(place.path().join("reports")).unwrap();
    for name in ["", "reports"] {
        for entry in
            fs::read_dir(from.join(name)).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
        {
            fs::copy(&entry, place.path().join(name).join(entry.file_name().unwrap())).unwrap();
        }
    }
    files.iter().for_each(|(name, text)| fs::write(place.path().join(name), text).unwrap());
    let path = place.path().join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let unknown = "0".repeat(64);
    manifest["seal"]["manifest_sha256"] = unknown.clone().into();
    for (name, text) in files {
        let digest = ncugate_model::digest::sha256(text.as_bytes());
        manifest["seal"]["files"][name] = serde_json::json!({ "sha256": digest, "records": text.lines().count() });
    }
    change(&mut manifest);
    let text = serde_json::to_string_pretty(&manifest).unwrap();
    fs::write(&path, text.replacen(&unknown, &ncugate_model::digest::sha256(text.as_bytes()), 1)).unwrap();
    super::Run::load(place.path()).map(|run| run.manifest.run).unwrap_or_else(|error| error.to_string())
}

#[test]
fn a_run_of_another_form_names_its_version_and_does_not_accuse_its_files() {
    let version = |manifest: &mut serde_json::Value| manifest["ncugate"] = "0.0.7".into();
    let id = super::Run::load(&root().join("profiles/softmax/h200")).unwrap().manifest.run;
    assert_eq!(refusal(version, &[]), id, "the form is what counts");
    let said = [
        refusal(version, &[("closelooks.jsonl", "{}\n")]),
        refusal(|manifest| drop(manifest["fingerprint"].as_object_mut().unwrap().remove("machine")), &[]),
        refusal(|manifest| drop(manifest.as_object_mut().unwrap().remove("inputs")), &[]),
        refusal(version, &[("sanitizer.jsonl", "{\"variant\":\"a\"}\n")]),
    ];
    for (said, detail) in std::iter::zip(&said, ["closelooks.jsonl", "machine", "inputs", "sanitizer.jsonl"]) {
        assert!(said.contains("another build of ncugate 0.") && said.contains(detail), "{said}");
        assert!(said.contains("read it with the program that wrote it, or measure again"), "{said}");
        assert!(!said.contains("not as measured"), "{said}");
    }
    let later = refusal(|manifest| manifest["schema"] = (SCHEMA + 1).into(), &[]);
    assert!(later.contains("was written by ncugate 0.1.0 in form 5, and this program reads forms 1 to 4"), "{later}");
}

#[test]
fn a_run_that_was_changed_after_it_was_written_is_still_refused_as_changed() {
    let place = tempfile::tempdir().unwrap();
    let from = root().join("profiles/softmax/h200");
    for name in ["manifest.json", "phase.toml"] {
        fs::copy(from.join(name), place.path().join(name)).unwrap();
    }
    let path = place.path().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap().replacen("builds.jsonl.zst", "closelooks.jsonl.zst", 1);
    fs::write(&path, text).unwrap();
    let said = super::Run::load(place.path()).map(|run| run.manifest.run).unwrap_or_else(|error| error.to_string());
    assert!(said.contains("was changed after the run was written: the run is not as measured"), "{said}");
}
