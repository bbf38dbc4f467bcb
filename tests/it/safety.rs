//! Damage that no command line, recording or child process can cause: lost files, writes elsewhere, reads of foreign
//! files, runs that do not end.

use crate::command::{Finished, Place, SOON, binary, root, wait_for};
use crate::concurrent::start;
use crate::stored::{Stored, reseal};
use ncugate_cuda::host::external::measure;
use ncugate_judge::store::RunState;
use ncugate_model::{CheckOutcome, VariantId};
use ncugate_phase::config::parse;
use ncugate_phase::plan::CommandPlan;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Two candidates and one required gate that passes.
const PHASE: &str = concat!(
    include_str!("../data/copy.toml"),
    "\n[sweep]\nTHREADS = [64, 128]\n[[gate]]\nname = \"registers\"\nrequire = \"registers <= 64\"\n"
);
/// Lifetime of a child left behind. No command waits for it.
const LEFT_BEHIND: Duration = Duration::from_secs(40);

/// A place with the run `profiles/copy/run`, its recording `kept`, and a user's file in `mine`.
fn place() -> Place {
    let place = Place::new();
    Stored::new(PHASE, "run").write(&place);
    place.write("phase.toml", PHASE);
    place.write("mine/notes.txt", "mine");
    let kept = place.run(&["tools", "record", "profiles/copy/run", "-o", "kept"]);
    assert_eq!(kept.status, Some(0), "{kept:?}");
    place
}

/// Every file, link and folder below `folder`, with the contents of files.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        if kind.is_dir() {
            found.extend(tree(&path));
        }
        let bytes = if kind.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        found.insert(path.display().to_string(), bytes);
    }
    found
}

/// Runs it in a folder of the place, for at most [`SOON`].
fn run_in(place: &Place, folder: &str, args: &[&str]) -> Finished {
    Finished::of(place.ncugate(args).current_dir(place.path().join(folder)).timeout(SOON))
}

fn edit(place: &Place, name: &str, from: &str, to: &str) {
    let path = place.path().join(name);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{name} holds {from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn a_recording_takes_the_place_of_nothing_but_a_recording() {
    let destinations = [
        ".",
        "./",
        "..",
        "../..",
        "inner/..",
        "../../mine",
        "../../profiles",
        "../../profiles/copy",
        "../../profiles/copy/run",
        "../../profiles/copy/run/kept",
        "../../phase.toml",
        "../../link",
        "new/../other",
    ];
    for destination in destinations {
        let place = place();
        place.write("a/b/inner/notes.txt", "mine too");
        symlink("kept", place.path().join("link")).unwrap();
        let before = tree(place.path());
        let refused = run_in(&place, "a/b", &["tools", "record", "../../profiles/copy/run", "-o", destination]);
        assert_eq!(refused.status, Some(2), "{destination}: {refused:?}");
        assert!(place.path().exists() && tree(place.path()) == before, "{destination} changed files");
    }
}

#[test]
fn an_older_recording_is_replaced_as_a_whole_and_nothing_else() {
    let place = place();
    place.write("out.new/notes.txt", "mine");
    for output in ["out.v1", "kept", "deep/er/kept", "empty"] {
        fs::create_dir_all(place.path().join("empty")).unwrap();
        let kept = place.run(&["tools", "record", "profiles/copy/run", "-o", output]);
        assert_eq!(kept.status, Some(0), "{output}: {kept:?}");
        let judged = place.run(&["gate", "phase.toml", output]);
        assert_eq!(judged.status, Some(0), "{output}: {judged:?}");
    }
    assert_eq!(fs::read_to_string(place.path().join("out.new/notes.txt")).unwrap(), "mine");
    let names = fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let hidden: Vec<String> = names.filter(|name| name.starts_with('.')).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
    // a file that belongs to no recording is a user's file
    place.write("kept/README.md", "mine");
    let before = tree(place.path());
    let refused = place.run(&["tools", "record", "profiles/copy/run", "-o", "kept"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("README.md"), "{}", refused.stderr);
    assert!(tree(place.path()) == before);
}

#[test]
fn a_recording_cannot_name_a_place_to_write_to() {
    let outside = tempfile::tempdir().unwrap();
    let absolute = outside.path().join("x").display().to_string();
    let commands: [&[&str]; 5] = [
        &["gate", "phase.toml", "kept"],
        &["run", "recorded.toml", "--source", "recorded"],
        &["page", "kept"],
        &["leaderboard", "promote", "kept"],
        &["tools", "record", "kept", "-o", "again"],
    ];
    for (key, own) in [("run", "run"), ("phase", "copy")] {
        for name in ["../../x", absolute.as_str(), "..", ".hidden", "", "a/b", "a\\nb"] {
            let place = place();
            place.write("recorded.toml", &PHASE.replace("[phase]", "[phase]\nrecording = \"kept\""));
            edit(&place, "kept/manifest.json", &format!("\"{key}\": \"{own}\""), &format!("\"{key}\": \"{name}\""));
            fs::create_dir_all(place.path().join("reports/copy")).unwrap();
            let before = tree(place.path());
            for command in commands {
                let refused = place.run(command);
                assert_eq!(refused.status, Some(3), "{key} {name:?}, {command:?}: {refused:?}");
                assert!(refused.stderr.contains("manifest.json"), "{}", refused.stderr);
                assert!(tree(place.path()) == before, "{key} {name:?}: {command:?} wrote");
            }
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "{key} {name:?}");
        }
    }
}

#[test]
fn a_run_lies_in_the_folder_of_its_name() {
    let place = place();
    edit(&place, "profiles/copy/run/manifest.json", "\"run\": \"run\"", "\"run\": \"other\"");
    let refused = place.run(&["page", "profiles/copy/run"]);
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("other"), "{}", refused.stderr);
    assert!(!place.path().join("reports/copy/other").exists());
    // a recording keeps the name of the run
    assert_eq!(place.run(&["page", "kept"]).status, Some(0));
}

#[test]
fn a_report_removes_only_its_own_charts() {
    let place = place();
    let charts = "reports/copy/run/charts";
    for name in ["mine.svg", "scale.svg", "stalls.svg", "scaling.svg"] {
        place.write(&format!("{charts}/{name}"), "<svg/>");
    }
    fs::create_dir_all(place.path().join(charts).join("sensitivity.svg")).unwrap();
    symlink("mine.svg", place.path().join(charts).join("roofline.svg")).unwrap();
    let rendered = place.run(&["page", "profiles/copy/run"]);
    assert_eq!(rendered.status, Some(0), "{rendered:?}");
    let there = |name: &str| fs::symlink_metadata(place.path().join(charts).join(name)).is_ok();
    assert!(there("mine.svg") && there("scale.svg") && there("sensitivity.svg") && there("roofline.svg"));
    assert!(!there("stalls.svg") && !there("scaling.svg"), "charts of an earlier rendering go");
}

/// The run with a profile record whose report has this name.
fn with_report(report: &str) -> Place {
    let place = place();
    let record = serde_json::json!({
        "variant": "THREADS=64", "shape": "only", "metrics": ["dram_pct"],
        "outcome": {"status": "profiled", "report": report},
    });
    place.write("profiles/copy/run/profiles.jsonl", &format!("{record}\n"));
    reseal(&place.path().join("profiles/copy/run"));
    place
}

#[test]
fn a_report_is_a_file_of_the_run_or_nothing() {
    let secret = tempfile::NamedTempFile::with_suffix(".ncu-rep").unwrap();
    fs::write(secret.path(), "SECRET of somebody").unwrap();
    let names =
        [secret.path().to_str().unwrap(), "../manifest.json", "../../kept/x.ncu-rep", "a/b.ncu-rep", "x.txt", ""];
    for name in names {
        let place = with_report(name);
        for command in [&["page", "profiles/copy/run"][..], &["tools", "record", "profiles/copy/run", "-o", "again"]] {
            let refused = run_in(&place, ".", command);
            assert_eq!(refused.status, Some(3), "{name}: {refused:?}");
            let said = refused.stderr.contains("the name of a report");
            assert!(said && !refused.stderr.contains("SECRET"), "{name}: {}", refused.stderr);
        }
        assert!(!place.path().join("again").exists(), "{name}");
    }
}

#[test]
fn links_and_pipes_are_not_files_of_a_run() {
    type Plant = fn(&Path, &Path);
    let plants: [(&str, Plant); 4] = [
        ("a link", |path, secret| symlink(secret, path).unwrap()),
        ("a dangling link", |path, _| symlink("nowhere", path).unwrap()),
        ("a pipe", |path, _| mkfifo(path, Mode::S_IRWXU).unwrap()),
        ("a folder", |path, _| fs::create_dir(path).unwrap()),
    ];
    let files = ["phase.toml", "manifest.json", "plan.json", "checks.jsonl", "reports/x.ncu-rep"];
    for file in files {
        for (what, plant) in plants {
            let place = with_report("x.ncu-rep");
            let secret = place.write("secret", "password = \"hunter2\nSECRET");
            let path = place.path().join("profiles/copy/run").join(file);
            let _ = fs::remove_file(&path);
            plant(&path, &secret);
            for command in
                [&["page", "profiles/copy/run"][..], &["tools", "record", "profiles/copy/run", "-o", "again"]]
            {
                let refused = run_in(&place, ".", command);
                assert_eq!(refused.status, Some(3), "{file} is {what}: {refused:?}");
                assert!(!refused.stderr.contains("hunter2"), "{file} is {what}: {}", refused.stderr);
            }
            assert!(!place.path().join("again").exists(), "{file} is {what}");
        }
    }
}

#[test]
fn an_unfinished_run_is_not_continued_through_a_link() {
    let place = Place::new();
    let folder = Stored::new(PHASE, "run").state(RunState::Interrupted).write(&place);
    let victim = place.write("victim", "half a line");
    fs::remove_file(folder.join("builds.jsonl")).unwrap();
    symlink(&victim, folder.join("builds.jsonl")).unwrap();
    let phase = parse(Path::new("phase.toml"), PHASE).unwrap();
    let plan = ncugate_phase::plan::unroll(&phase).unwrap();
    let manifest = ncugate_campaign::manifest(&phase, &plan, crate::stored::h200());
    let opened = ncugate_judge::store::RunWriter::open(&folder, manifest, PHASE, &plan, &phase.workload);
    assert!(opened.is_err(), "{opened:?}");
    assert_eq!(fs::read_to_string(victim).unwrap(), "half a line");
}

/// Installs a shell script as nvcc; returns the value of PATH.
fn nvcc(place: &Place, script: &str) -> String {
    let version = "if [ \"$1\" = --version ]; then echo 'Cuda compilation tools, release 13.0, V13.0.88'; fi";
    place.write_program("bin/nvcc", &format!("#!/bin/sh\n{version}\n{script}\n"));
    format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").unwrap())
}

/// Whether a running process has this word in its command line.
pub fn runs(word: &str) -> bool {
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    processes.into_iter().any(|line| line.split(|b| *b == 0).any(|w| w == word.as_bytes()))
}

#[test]
fn a_child_that_is_left_behind_holds_nothing_up() {
    for (left, seconds) in [("sleep", "40.0101"), ("setsid sleep", "40.0202")] {
        let place = Place::new();
        let path = nvcc(&place, &format!("{left} {seconds} &"));
        let started = Instant::now();
        let doctor = Finished::of(place.ncugate(&["doctor"]).env("PATH", path));
        assert!(doctor.stdout.contains("13.0.88"), "{left}: {doctor:?}");
        assert!(started.elapsed() < LEFT_BEHIND / 2, "{left}: {:?}", started.elapsed());
        assert!(left != "sleep" || !runs(seconds), "the group of a child ends with it");
    }
}

#[test]
fn output_of_a_child_takes_bounded_memory() {
    let place = Place::new();
    let path = nvcc(&place, "head -c 600000000 /dev/zero | tr '\\0' x");
    let limited = "ulimit -v 600000; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited]).arg(binary()).arg("doctor");
    command.env("PATH", path).env("CUDA_VISIBLE_DEVICES", "").current_dir(place.path());
    let output = command.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("13.0.88"), "{output:?}");
}

/// Runs `check` with an nvcc that hangs and ignores TERM. Its child is identified by `seconds`.
fn hanging(place: &Place, seconds: &str) -> Child {
    let script = format!(
        "if [ \"$1\" != --version ]; then trap '' TERM INT; touch started; sleep {seconds} & wait; sleep {seconds}; fi"
    );
    let path = nvcc(place, &script);
    place.write("copy.cu", "extern \"C\" __global__ void copy() {}\n");
    place.write("phase.toml", PHASE);
    let mut command = Command::new(binary());
    command.args(["check", "phase.toml", "--arch", "sm_90"]).current_dir(place.path()).env("PATH", path);
    command.env("NCUGATE_CACHE", place.path().join("cache")).env("CUDA_VISIBLE_DEVICES", "");
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("nvcc was started", || place.path().join("started").exists());
    child
}

#[test]
fn the_second_interrupt_ends_the_program_at_once() {
    let (place, seconds) = (Place::new(), "40.0303");
    let mut child = hanging(&place, seconds);
    wait_for("nvcc sleeps", || runs(seconds));
    let pid = Pid::from_raw(child.id().cast_signed());
    kill(pid, Signal::SIGINT).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the first one gives children time to end");
    kill(pid, Signal::SIGINT).unwrap();
    let second = Instant::now();
    let mut status = None;
    wait_for("it ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert!(second.elapsed() < Duration::from_secs(1), "{:?}", second.elapsed());
    assert_eq!(status.unwrap().code(), Some(3));
    wait_for("its children are ended", || !runs(seconds));
}

/// The reason of every check of the external program `script`, and the elapsed time. `$R` is the path of the result.
fn external(script: &str) -> (Vec<CheckOutcome>, Duration) {
    let place = Place::new();
    let text = format!("{PHASE}[[baseline]]\nname = \"program\"\ncommand = [\"x\"]\n");
    let phase = parse(Path::new("phase.toml"), &text).unwrap();
    let result = place.path().join("result.json");
    let argv = ["sh", "-c", script, "sh"].map(str::to_owned).into_iter().chain([result.display().to_string()]);
    let plan = CommandPlan { argv: argv.collect(), kernel_filter: None };
    let (started, variant) = (Instant::now(), VariantId("program".into()));
    let measured = measure(&phase, &variant, &plan, place.path(), None, &mut |_| Ok(())).unwrap();
    (measured.checks.into_iter().map(|check| check.outcome).collect(), started.elapsed())
}

#[test]
fn a_program_is_not_waited_for_once_it_has_ended() {
    let result = r#"echo '{"version": 1, "status": "absent", "reason": "no library"}' > "$1""#;
    for left in ["sleep 40 &", "setsid sleep 40 &"] {
        let (outcomes, took) = external(&format!("{result}; {left}"));
        let absent = |o: &CheckOutcome| matches!(o, CheckOutcome::Skipped { reason } if reason.contains("no library"));
        assert!(outcomes.iter().all(absent), "{outcomes:?}");
        assert!(took < LEFT_BEHIND / 2, "{left}: {took:?}");
    }
    for (what, script) in [
        ("a pipe", "mkfifo \"$1\""),
        ("a link", "echo '{}' > \"$1.x\"; ln -s \"$1.x\" \"$1\""),
        ("a folder", "mkdir \"$1\""),
        ("too large", "head -c 70000000 /dev/zero > \"$1\""),
    ] {
        let (outcomes, took) = external(script);
        let unread =
            |o: &CheckOutcome| matches!(o, CheckOutcome::Crashed { reason } if reason.contains("no valid result"));
        assert!(!outcomes.is_empty() && outcomes.iter().all(unread), "{what}: {outcomes:?}");
        assert!(took < SOON, "{what}: {took:?}");
    }
}

#[test]
fn a_precondition_that_holds_is_no_gate() {
    let place = Place::new();
    let precondition = "[[precondition]]\nname = \"size\"\nrequire = \"S >= 1024\"\n";
    let (bare, _) = PHASE.split_once("[[gate]]").unwrap();
    let advisory = format!("{}level = \"advisory\"\n{precondition}", PHASE);
    for text in [format!("{bare}{precondition}"), advisory] {
        let folder = Stored::new(&text, "run").wrong().write(&place);
        place.write("phase.toml", &text);
        let judged = place.run(&["gate", "phase.toml", folder.to_str().unwrap()]);
        assert_eq!(judged.status, Some(4), "every variant is wrong: {judged:?}");
        assert!(judged.stdout.contains("no required gate"), "{}", judged.stdout);
    }
    let text = format!("{PHASE}{precondition}");
    let folder = Stored::new(&text, "held").write(&place);
    place.write("phase.toml", &text);
    let judged = place.run(&["gate", "phase.toml", folder.to_str().unwrap()]);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    assert!(judged.stdout.contains("The only requirement holds"), "{}", judged.stdout);
}

/// Runs the phase whose recording passes, at the root of the repository, with more arguments.
fn passing(place: &Place, more: &[&str]) -> Finished {
    place.run_at_root(&[&["run", "configs/sdpa_fast.toml"], more].concat())
}

#[test]
fn a_recording_without_source_recorded_is_shown_and_does_not_pass() {
    let place = Place::new();
    let shown = passing(&place, &[]);
    assert_eq!(shown.status, Some(4), "{shown:?}");
    let first = shown.stdout.lines().next().unwrap();
    assert!(first.starts_with("not measured: no GPU was found, so nothing was measured"), "{first}");
    assert!(first.ends_with("--source recorded judges the recording"), "{first}");
    let run = fs::read_dir(place.path().join("reports/sdpa_fast")).unwrap().next().unwrap().unwrap().path();
    let read = |name: &str| fs::read_to_string(run.join(name)).unwrap();
    for name in ["report.html", "report.md", "results.json"] {
        assert!(read(name).contains("so nothing was measured and nothing passes"), "{name}");
    }
    let json = passing(&place, &["--format", "json"]);
    let results: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.status, results["verdict"].as_str()), (Some(4), Some("inconclusive")));
    assert!(results["not_measured"].as_str().unwrap().starts_with("no GPU was found"), "{results}");

    assert!(read("junit.xml").contains("errors=\"1\""), "whoever reads the file alone sees no pass either");
    assert!(!shown.stdout.contains("PASS"), "{}", shown.stdout);

    let asked = passing(&place, &["--source", "recorded"]);
    assert_eq!((asked.status, asked.stderr.as_str()), (Some(0), ""), "{asked:?}");
    assert!(!asked.stdout.contains("not measured"), "{}", asked.stdout);
    assert!(!read("report.html").contains("nothing was measured") && !read("results.json").contains("not_measured"));
}

/// Commands of CI runners, terminal escapes, direction marks and addresses, on separate lines.
const HOSTILE: &str =
    "x\n::error::PWNED\n ::add-mask::a ##[error]b \u{1b}]0;t\u{7}\u{202e}\u{9b}2J www.evil.example a@evil.example";

/// Text for a person or a runner: no line is a command, and nothing moves the cursor.
fn assert_clean(what: &str, text: &str) {
    let is_command = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
    let bad = text.lines().find(|line| is_command(line) || line.chars().any(|c| c.is_control() && c != '\t'));
    assert!(bad.is_none() && !text.contains('\u{202e}'), "{what}: {bad:?}");
}

#[test]
fn text_of_a_recording_is_no_command_of_a_runner_in_any_output() {
    let place = Place::new();
    place.write("phase.toml", PHASE);
    let folder = Stored::new(PHASE, "run")
        .fingerprint(|fingerprint| {
            fingerprint.driver = Some(HOSTILE.to_owned());
            if let Some(gpu) = &mut fingerprint.gpu {
                gpu.name = format!("{} {HOSTILE}", "long ".repeat(12));
            }
        })
        .write(&place);
    let damaged = Stored::new(PHASE, "damaged").write(&place);
    let manifest = fs::read_to_string(damaged.join("manifest.json")).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    manifest["verdict"] = serde_json::json!({ "verdict": HOSTILE });
    fs::write(damaged.join("manifest.json"), manifest.to_string()).unwrap();
    let run = folder.to_str().unwrap();
    let commands: [&[&str]; 9] = [
        &["page", run, "--comment", "comment.md"],
        &["show", run, "--format", "json"],
        &["gate", "phase.toml", run],
        &["compare", run, run, "--format", "markdown"],
        &["page", run, run, "--output", "compare.html"],
        &["compare", run, run, "--format", "json"],
        &["history", "--summary", "summary.md"],
        &["explain", run],
        &["page", "profiles/nothing\n::error::x"],
    ];
    for command in commands {
        let ended = Finished::of(place.ncugate(command).env("COLUMNS", "40"));
        assert!(matches!(ended.status, Some(0..=4)), "{ended:?}");
        assert_clean(&format!("{command:?}"), &ended.stdout);
        assert_clean(&format!("{command:?}"), &ended.stderr);
    }
    let reports = place.path().join("reports");
    let page = fs::read_dir(&reports).unwrap().flatten().map(|e| e.path()).find(|path| path.is_dir()).unwrap();
    let page = page.join("run");
    for file in [page.join("report.md"), page.join("results.json"), reports.join("index.html")] {
        // Pages are not printed, so a command inside their lines is harmless.
        let text = fs::read_to_string(&file).unwrap().replace("##[", "");
        assert_clean(&file.display().to_string(), &text);
    }
    let compared = place.run(&["compare", run, run, "--format", "markdown"]).stdout;
    let read = |file: &str| fs::read_to_string(place.path().join(file)).unwrap();
    for (file, text) in [("comment.md", read("comment.md")), ("summary.md", read("summary.md")), ("compare", compared)]
    {
        assert_clean(file, &text.replace("##[", ""));
        // In code nothing is a link.
        let outside: String = text.replace("\\`", "").split('`').step_by(2).collect();
        assert!(!outside.contains("www.evil") && !outside.contains("a@evil"), "{file}: an address is a link");
    }
}

#[test]
fn globs_of_the_command_line_have_the_limits_of_those_in_a_phase() {
    let place = Place::new();
    let report = root().join("tests/data/full1.ncu-rep.zst");
    let shown = place.run(&["show", report.to_str().unwrap(), "--metric", &"*".repeat(100_000)]);
    assert_eq!(shown.status, Some(2), "{:?}", shown.status);
    assert!(shown.stderr.contains("it has more than 1000 characters"), "{}", shown.stderr);
}

#[test]
fn a_report_that_has_no_end_is_refused_at_once() {
    let place = Place::new();
    place.write("phase.toml", "[phase]\nname = \"x\"\n[[gate]]\nrequire = \"registers <= 64\"\non = \"each\"\n[[variant]]\nname = \"x\"\nmatch = { kernel = \"*\" }\n");
    mkfifo(&place.path().join("pipe"), Mode::S_IRWXU).unwrap();
    for (endless, said) in [("pipe", "it is a named pipe"), ("/dev/zero", "it is a device")] {
        let commands: [&[&str]; 5] = [
            &["show", endless],
            &["page", endless],
            &["compare", endless, endless],
            &["gate", "phase.toml", endless],
            &["explain", endless],
        ];
        for command in commands {
            let refused = Finished::of(place.ncugate(command).timeout(SOON));
            assert!(matches!(refused.status, Some(2 | 3)), "{command:?}: {refused:?}");
            assert!(refused.stderr.contains(said), "{command:?}: {refused:?}");
        }
    }
    // a pipe from another program is accepted
    let packed = fs::read(root().join("tests/data/full1.ncu-rep.zst")).unwrap();
    let shown = Finished::of(place.ncugate(&["show", "/dev/stdin"]).write_stdin(packed).timeout(SOON));
    assert!(shown.status == Some(0) && shown.stdout.contains("attn"), "{shown:?}");
    let mut zeros = Command::new("sh");
    zeros.args(["-c", "cat /dev/zero | exec \"$0\" show /dev/stdin"]).arg(binary());
    let started = Instant::now();
    let refused = zeros.output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("it starts with `00 00 00 00`"), "{refused:?}");
    assert!(started.elapsed() < SOON);
}

#[test]
fn messages_with_long_names_are_shortened() {
    let place = Place::new();
    let long = "n".repeat(1_000_000);
    place.write("init.cu", &format!("__global__ void {long}(float *x) {{}}\n__global__ void b{long}(float *x) {{}}\n"));
    place.write("baseline.toml", &format!("schema = 1\n[[kernel]]\nname = \"{long}\"\n{long} = 1\n"));
    let library = root().join("tests/data/library/kernels.so").display().to_string();
    let definition = root().join("tests/data/problems/flashinfer");
    let mut commands: Vec<Vec<String>> = vec![
        vec!["init".into(), "init.cu".into()],
        vec!["init".into(), "init.cu".into(), "--entry".into(), "x".into()],
        vec!["check".into(), library, "--baseline".into(), "baseline.toml".into()],
    ];
    let found = walk(&definition)
        .into_iter()
        .find(|path| path.ends_with("rmsnorm_h64.json") && path.to_string_lossy().contains("definitions"));
    let text = fs::read_to_string(found.unwrap()).unwrap();
    let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (at, leaf) in leaves(&whole).into_iter().enumerate() {
        let mut changed = whole.clone();
        *changed.pointer_mut(&leaf).unwrap() = long.clone().into();
        place.write(&format!("t{at}/definitions/x/rmsnorm_h64.json"), &changed.to_string());
        place.write(&format!("t{at}/workloads/.keep"), "");
        let output = format!("o{at}.toml");
        let words =
            ["problem", "import", "flashinfer", &format!("t{at}"), "--definition", "rmsnorm_h64", "-o", &output];
        commands.push(words.map(str::to_owned).to_vec());
    }
    assert!(commands.len() > 8, "{}", commands.len());
    for command in commands {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let said = Finished::of(place.ncugate(&words).timeout(SOON));
        assert!(
            said.stderr.len() + said.stdout.len() < 2_100_000,
            "{words:?}: {} {}",
            said.stdout.len(),
            said.stderr.len()
        );
    }
}

/// Every file below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// JSON pointers to every text in a value.
pub fn leaves(value: &serde_json::Value) -> Vec<String> {
    let below = |key: &str, inner: &serde_json::Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        leaves(inner).into_iter().map(move |rest| format!("/{key}{rest}")).collect::<Vec<_>>()
    };
    match value {
        serde_json::Value::String(_) => vec![String::new()],
        serde_json::Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| below(&at.to_string(), item)).collect()
        }
        serde_json::Value::Object(fields) => fields.iter().flat_map(|(key, inner)| below(key, inner)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_report_that_is_shortened_while_it_is_read_is_an_error_and_not_a_crash() {
    let packed = fs::read(root().join("tests/data/g1200.ncu-rep.zst")).unwrap();
    let one = zstd::decode_all(&packed[..]).unwrap();
    let place = Place::new();
    let path = place.path().join("large.ncu-rep");
    let mut said = 0;
    for wait in 1..60 {
        fs::write(&path, &one).unwrap();
        let shown = start(&place, &Vec::new(), &["show", "large.ncu-rep", "--metric", "gpu__time_duration.sum"]);
        std::thread::sleep(Duration::from_millis(5 * wait % 100));
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(5000).unwrap();
        let ended = shown.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(matches!(ended.status.code(), Some(0 | 2 | 3)), "{ended:?}");
        said += u32::from(ended.status.code() == Some(3) && stderr.contains("shortened while it was read"));
        if said > 1 {
            return;
        }
    }
    panic!("it was never shortened while it was read");
}

#[test]
fn a_hundred_thousand_threads_are_refused() {
    for name in ["RAYON_NUM_THREADS", "POLARS_MAX_THREADS"] {
        let place = Place::new();
        let finished = Finished::of(place.ncugate(&["show", "x.ncu-rep"]).env(name, "100000"));
        assert_eq!(finished.status, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(name) && finished.stderr.contains("1024"), "{finished:?}");
    }
}
