//! Hostile text in every field of a recording, a phase and a report, and its effect on every output.

use crate::command::{Finished, Place, root};
use crate::crafted::{Message, file, message, metric};
use crate::safety::leaves;
use crate::stored::reseal;
use ncugate_judge::store::Run;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Commands of CI runners at the start of lines and inside them, terminal escapes, direction marks, markup and
/// addresses.
const POISON: &str = "\n::error::PWNED\r\n \u{a0}::add-mask::a ##[error]b ##vso[task.x]c \u{1b}]0;t\u{7}\u{202e}\u{9b}2J\u{2066} \
    <script>alert(1)</script> <img src=x onerror=alert(1)> [l](https://evil.example) www.evil.example a@evil.example \
    https://evil.example ]]> --> `x` | *b* @evil \u{feff}";

/// Text for a person or a runner has no runner command and no control or direction character.
fn assert_text(what: &str, text: &str) {
    let is_command = |line: &&str| {
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        // Annotations of a line of the phase are intended.
        let is_meant =
            ["::error file=", "::warning file=", "::notice file="].iter().any(|start| line.starts_with(start));
        line.starts_with("::") && !is_meant || line.contains("##[") || line.contains("##vso[")
    };
    let command = text.lines().find(is_command);
    assert!(command.is_none(), "{what}: a command of a runner: {command:?}");
    let is_wrong = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let wrong = text.lines().find(|line| line.contains(is_wrong));
    assert!(wrong.is_none(), "{what}: a character that acts: {wrong:?}");
}

/// Markdown as GitHub renders it.
fn assert_markdown(what: &str, text: &str) {
    assert_text(what, text);
    // Code has no links.
    let mut outside = String::new();
    let mut is_code = false;
    let mut lines = vec![""];
    lines.extend(text.lines());
    for pair in lines.windows(2) {
        let line = pair[1];
        // A block of code is indented, and does not interrupt a paragraph.
        is_code = line.starts_with("    ") && (is_code || pair[0].is_empty());
        if is_code {
            continue;
        }
        for (at, part) in line.split('`').enumerate() {
            if at % 2 == 0 {
                outside.push_str(part);
            }
        }
        outside.push('\n');
    }
    for link in ["www.evil", "a@evil", "://evil", " @evil", "<script", "<img src=x", "[l](http"] {
        assert!(!outside.contains(link), "{what}: {link} in {:?}", text.lines().find(|line| line.contains(link)));
    }
}

fn assert_file(path: &Path) {
    let what = path.display().to_string();
    let Ok(text) = fs::read_to_string(path) else { return };
    match path.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "md" => assert_markdown(&what, &text),
        "html" | "svg" | "xml" => {
            assert_text(&what, &text.replace("##[", "").replace("##vso[", ""));
            assert!(!text.contains("<script>alert") && !text.contains("<img src=x"), "{what}");
        }
        "json" | "sarif" => {
            assert_text(&what, &text);
            serde_json::from_str::<Value>(&text).unwrap();
        }
        "csv" | "h" | "txt" => assert_text(&what, &text),
        _ => {}
    }
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn ran(place: &Place, args: &[&str]) -> Finished {
    let mut command = place.ncugate(args);
    command.env("COLUMNS", "60").env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", place.path().join("step.md"));
    let ended = Finished::of(&mut command);
    assert!(matches!(ended.status, Some(0..=4)), "{args:?}: {ended:?}");
    assert_text(&format!("{args:?}: standard output"), &ended.stdout);
    assert_text(&format!("{args:?}: standard error"), &ended.stderr);
    ended
}

/// JSON values of a text file of a run: one per line, or one for the whole file.
struct Texts {
    path: PathBuf,
    values: Vec<Value>,
}

impl Texts {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let values = match path.extension().is_some_and(|ending| ending == "jsonl") {
            true => text.lines().map(|line| serde_json::from_str(line).unwrap()).collect(),
            false => vec![serde_json::from_str(&text).unwrap()],
        };
        Self { path, values }
    }

    fn write(&self) {
        let lines: Vec<String> = self.values.iter().map(Value::to_string).collect();
        fs::write(&self.path, lines.join("\n") + "\n").unwrap();
    }

    /// Pointers to texts, the first of each kind, because list items are alike.
    fn places(&self) -> Vec<(usize, String)> {
        let mut seen = BTreeSet::new();
        let all = self
            .values
            .iter()
            .enumerate()
            .flat_map(|(at, value)| leaves(value).into_iter().map(move |leaf| (at, leaf)));
        let kind = |leaf: &str| {
            let parts = leaf.split('/').map(|part| if part.parse::<u32>().is_ok() { "0" } else { part });
            parts.collect::<Vec<_>>().join("/")
        };
        // Outcomes of each kind have different texts.
        let status = |at: usize| self.values[at].pointer("/outcome/status").map(Value::to_string);
        all.filter(|(at, leaf)| !leaf.starts_with("/seal") && seen.insert((kind(leaf), status(*at)))).collect()
    }

    fn poison(&mut self, (at, leaf): &(usize, String)) {
        if let Some(text) = self.values[*at].pointer_mut(leaf) {
            *text = format!("{}{POISON}", text.as_str().unwrap()).into();
        }
    }
}

fn unpacked(place: &Place, recording: &str, config: &str) -> PathBuf {
    place.copy(recording);
    place.copy(config);
    let folder = place.path().join(recording);
    for path in files(&folder).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "zst")) {
        fs::write(path.with_extension(""), zstd::decode_all(&fs::read(&path).unwrap()[..]).unwrap()).unwrap();
        fs::remove_file(path).unwrap();
    }
    folder
}

/// Poisons every text of a run, first each alone to see which are read, then all of those, and runs every command.
fn poisoned(recording: &str, config: &str) -> usize {
    let place = Place::new();
    let folder = unpacked(&place, recording, config);
    let run = folder.to_str().unwrap();
    reseal(&folder);
    let texts = files(&folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "json" || ending == "jsonl"));
    let mut all: Vec<Texts> = texts.map(Texts::read).collect();
    let mut accepted: Vec<(usize, (usize, String))> = Vec::new();
    for (at, texts) in all.iter_mut().enumerate() {
        for spot in texts.places() {
            let before = texts.values.clone();
            texts.poison(&spot);
            texts.write();
            let is_read = seal_and_read(&folder);
            texts.values = before;
            texts.write();
            if is_read {
                accepted.push((at, spot));
            }
        }
    }
    reseal(&folder);
    // Fields that are read are poisoned together for judging. Fields that prevent judging are poisoned one at a time.
    let apply = |all: &mut Vec<Texts>, spots: &[(usize, (usize, String))]| {
        let before: Vec<Vec<Value>> = all.iter().map(|texts| texts.values.clone()).collect();
        spots.iter().for_each(|(at, spot)| all[*at].poison(spot));
        all.iter().for_each(Texts::write);
        seal_and_read(&folder);
        before
    };
    let mut held = Vec::new();
    let mut open = vec![accepted];
    while let Some(spots) = open.pop() {
        let before = apply(&mut all, &spots);
        let ended = ran(&place, &["page", run, "--comment", "comment.md"]);
        files(&place.path().join("reports")).iter().for_each(|path| assert_file(path));
        for (texts, values) in all.iter_mut().zip(before) {
            texts.values = values;
        }
        match ended.status {
            Some(0 | 1 | 4) => held.extend(spots),
            _ if spots.len() > 1 => {
                let (first, rest) = spots.split_at(spots.len() / 2);
                open.extend([first.to_vec(), rest.to_vec()]);
            }
            _ => {}
        }
    }
    apply(&mut all, &held);
    let commands: [&[&str]; 17] = [
        &["page", run, "--comment", "comment.md"],
        &["show", run, "--format", "json"],
        &["gate", config, run],
        &["run", config, "--source", "recorded"],
        &["compare", run, run, "--format", "markdown"],
        &["page", run, run, "--output", "compare.html"],
        &["compare", run, run, "--format", "json"],
        &["history", "--summary", "summary.md"],
        &["explain", run],
        &["explain", run, "--format", "json"],
        &["agent", "next", run],
        &["export", run, "--to", "csv", "--output", "table.csv"],
        &["export", run, "--to", "json", "--output", "table.json"],
        &["export", run, "--to", "dispatch-header"],
        &["leaderboard", "promote", run],
        &["check", config, "--no-build"],
        &["tools", "record", run, "-o", "kept"],
    ];
    for command in commands {
        ran(&place, command);
    }
    for name in ["comment.md", "compare.html", "summary.md", "step.md", "table.csv", "table.json"] {
        assert_file(&place.path().join(name));
    }
    files(&place.path().join("reports")).iter().for_each(|path| assert_file(path));
    println!("{recording}: {} texts are read", held.len());
    held.len()
}

/// Whether a run with changed files is still read.
fn seal_and_read(folder: &Path) -> bool {
    let manifest = fs::read(folder.join("manifest.json")).unwrap();
    let sealed =
        serde_json::from_slice(&manifest).map(|mut manifest| ncugate_judge::store::seal(folder, &mut manifest));
    sealed.is_ok_and(|sealed| sealed.is_ok()) && Run::load(folder).is_ok()
}

#[test]
fn texts_of_a_recording_act_in_no_output() {
    assert!(poisoned("profiles/cheats/h200", "configs/cheats.toml") > 20);
}

#[test]
fn texts_of_a_recording_with_commands_act_in_no_output() {
    assert!(poisoned("profiles/triton_softmax/h200", "configs/triton_softmax.toml") > 20);
}

/// Every text of a TOML value, with its path of keys.
fn toml_leaves(value: &toml::Value, trail: &[String], found: &mut Vec<Vec<String>>) {
    let below = |key: String| [trail, &[key]].concat();
    match value {
        toml::Value::String(_) => found.push(trail.to_vec()),
        toml::Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| toml_leaves(item, &below(at.to_string()), found))
        }
        toml::Value::Table(table) => table.iter().for_each(|(key, item)| toml_leaves(item, &below(key.clone()), found)),
        _ => {}
    }
}

fn toml_at<'v>(value: &'v mut toml::Value, trail: &[String]) -> &'v mut toml::Value {
    trail.iter().fold(value, |value, key| match value {
        toml::Value::Array(items) => &mut items[key.parse::<usize>().unwrap()],
        other => &mut other[key.as_str()],
    })
}

#[test]
fn texts_of_a_phase_act_in_no_message() {
    let place = Place::new();
    let whole =
        toml::Value::Table(include_str!("../../crates/ncugate-phase/src/config/tests/every_key.toml").parse().unwrap());
    let mut found = Vec::new();
    toml_leaves(&whole, &[], &mut found);
    assert!(found.len() > 60, "{}", found.len());
    for (at, trail) in found.iter().enumerate() {
        let mut changed = whole.clone();
        let text = toml_at(&mut changed, trail);
        *text = toml::Value::String(format!("{}{POISON}", text.as_str().unwrap()));
        let name = format!("p{at}.toml");
        place.write(&name, &toml::to_string(&changed).unwrap());
        ran(&place, &["check", &name, "--no-build"]);
    }
    // also in file names, and in keys and values of the command line
    place.write("x\n::error::PWNED.toml", &format!("[\"{}\"]\n", "x\\n::error::PWNED"));
    ran(&place, &["check", "x\n::error::PWNED.toml", "--no-build"]);
    for name in [POISON, "::error::PWNED"] {
        for command in ["check", "page", "show", "gate", "explain", "export", "history", "compare"] {
            ran(&place, &[command, name]);
        }
        ran(&place, &["tools", "record", name, "-o", "kept"]);
    }
}

/// A report with poison in all of its texts.
fn hostile_report() -> Vec<u8> {
    let process = message().int(1, 10).text(2, POISON).text(3, POISON);
    let range = message().int(1, 0).inside(3, message().text(1, POISON));
    let nvtx = message()
        .inside(1, message().int(1, 0).text(2, POISON))
        .inside(2, message().int(1, 655).inside(2, range))
        .int(4, 0);
    let item = message()
        .inside(1, message().text(1, POISON).int(2, 4).text(4, POISON))
        .inside(8, message().text(2, POISON).double(3, 1.5).int(4, 2).text(5, POISON));
    let rule = message().text(1, POISON).text(2, POISON).inside(3, message().inside(1, item)).text(4, POISON);
    let text = |text: &str| Some(message().text(1, text));
    let kernel: Message = message()
        .int(1, 655)
        .int(2, 15)
        .int(3, 1)
        .int(4, 1)
        .text(5, POISON)
        .text(6, POISON)
        .text(7, POISON)
        .inside(10, message().int(1, 4).int(2, 1).int(3, 1))
        .inside(11, message().int(1, 128).int(2, 1).int(3, 1))
        .inside(13, metric(0, Some(message().double(3, 1e4))))
        .inside(13, metric(1, text(POISON)))
        .inside(13, metric(2, text(POISON)))
        .inside(19, rule)
        .inside(21, nvtx);
    let names = message().text(1, "gpu__time_duration.sum").text(1, POISON).text(1, "device__attribute_display_name");
    let system = message().text(1, POISON).text(3, POISON).text(5, POISON);
    let version = message().text(1, POISON).text(2, POISON);
    let session = message()
        .int(2, 1_800_000_000)
        .inside(3, system.clone())
        .inside(4, system)
        .text(7, POISON)
        .inside(8, version)
        .text(11, POISON);
    let blocks = [
        (message().int(1, 0).int(2, 0).inside(3, session).inside(6, process.clone()), vec![]),
        (message().int(2, 1).inside(4, names).inside(6, process), vec![kernel]),
    ];
    file(7, &blocks)
}

#[test]
fn texts_of_a_report_act_in_no_output() {
    let place = Place::new();
    fs::write(place.path().join("r.ncu-rep"), hostile_report()).unwrap();
    place.write("phase.toml", "[phase]\nname = \"x\"\n[[variant]]\nname = \"x\"\nmatch = { kernel = \"*\" }\n[[gate]]\nrequire = \"registers <= 64\"\non = \"each\"\n");
    let commands: [&[&str]; 22] = [
        &["show", "r.ncu-rep"],
        &["show", "r.ncu-rep", "--nvtx"],
        &["show", "r.ncu-rep", "--launch", "0"],
        &["show", "r.ncu-rep", "--view", "rules"],
        &["show", "r.ncu-rep", "--view", "session"],
        &["show", "r.ncu-rep", "--metric", "*"],
        &["show", "r.ncu-rep", "--view", "sources"],
        &["show", "r.ncu-rep", "--view", "stalls"],
        &["show", "r.ncu-rep", "--view", "sources", "--format", "json"],
        &["export", "r.ncu-rep", "--to", "csv"],
        &["export", "r.ncu-rep", "--to", "csv", "--wide"],
        &["export", "r.ncu-rep", "--to", "json"],
        &["page", "r.ncu-rep", "--output", "page.html"],
        &["page", "r.ncu-rep", "r.ncu-rep", "--output", "two.html"],
        &["compare", "r.ncu-rep", "r.ncu-rep", "--format", "markdown"],
        &["compare", "r.ncu-rep", "r.ncu-rep"],
        &["compare", "r.ncu-rep", "r.ncu-rep", "--format", "json"],
        &["explain", "r.ncu-rep"],
        &["explain", "r.ncu-rep", "--format", "json"],
        &["gate", "phase.toml", "r.ncu-rep", "--comment", "comment.md"],
        &["gate", "phase.toml", "r.ncu-rep", "--format", "json"],
        &["tools", "redact", "r.ncu-rep", "-o", "redacted.ncu-rep"],
    ];
    for command in commands {
        ran(&place, command);
    }
    for name in ["page.html", "two.html", "comment.md", "step.md"] {
        assert!(place.path().join(name).exists(), "{name}");
        assert_file(&place.path().join(name));
    }
    files(&place.path().join("reports")).iter().for_each(|path| assert_file(path));
    assert!(root().join("docs/security.md").exists());
}
