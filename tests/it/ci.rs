//! `action.yml` as GitHub runs it: its inputs, its steps and their shell, with the real binary.

use crate::command::{Finished, Place, Program, binary, is_here, root};
use crate::stored::{Stored, calibrate, wiggle};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A step of a composite action.
#[derive(Default)]
struct Step {
    id: String,
    env: Vec<(String, String)>,
    run: String,
}

fn action_text() -> String {
    std::fs::read_to_string(root().join("action.yml")).unwrap()
}

/// Lines of a block with their indentation, from the line `head` to the next line that is not deeper.
fn block<'t>(text: &'t str, head: &str) -> Vec<(usize, &'t str)> {
    let indented = |line: &'t str| (line.len() - line.trim_start().len(), line.trim());
    let lines = text.lines().map(indented).filter(|(_, line)| !line.is_empty());
    let mut from = lines.skip_while(|(_, line)| *line != head);
    let (depth, _) = from.next().unwrap_or_else(|| panic!("action.yml has no {head}"));
    from.take_while(|(indent, _)| *indent > depth).collect()
}

/// Inputs with their defaults; `None` for a required input.
fn inputs(text: &str) -> BTreeMap<String, Option<String>> {
    let mut inputs = BTreeMap::new();
    let mut name = String::new();
    for (indent, line) in block(text, "inputs:") {
        if indent == 2 {
            name = line.trim_end_matches(':').to_owned();
            inputs.insert(name.clone(), None);
        } else if let Some(default) = line.strip_prefix("default: ") {
            inputs.insert(name.clone(), Some(default.trim_matches('"').to_owned()));
        }
    }
    inputs
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut under = "";
    for (indent, line) in block(text, "steps:") {
        let key = match line.strip_prefix("- ") {
            Some(first) => {
                steps.push(Step::default());
                first
            }
            None => line,
        };
        let step = steps.last_mut().unwrap();
        if indent > 6 {
            match under {
                "env" => step.env.extend(key.split_once(": ").map(|(k, v)| (k.to_owned(), v.to_owned()))),
                "run" => step.run += &format!("{line}\n"),
                other => panic!("nothing is read under {other}: {line}"),
            }
            continue;
        }
        let (name, value) = key.split_once(':').unwrap_or((key, ""));
        under = name;
        match (name, value.trim()) {
            ("name" | "env", _) | ("run", "|") => {}
            ("shell", shell) => assert_eq!(shell, "bash"),
            ("id", id) => id.clone_into(&mut step.id),
            ("run", script) => script.clone_into(&mut step.run),
            _ if line.starts_with('#') => {}
            other => panic!("{other:?} is not a key of a step that this test knows"),
        }
    }
    steps
}

/// A value with its GitHub expressions replaced.
fn expanded(value: &str, given: &[(&str, &str)], declared: &BTreeMap<String, Option<String>>) -> String {
    let Some(expression) = value.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}")) else {
        return value.to_owned();
    };
    if expression == "github.action_path" {
        return root().display().to_string();
    }
    if let "github.action_ref" | "github.action_repository" = expression {
        return String::new();
    }
    if expression == "steps.install.outputs.program" {
        return binary().display().to_string();
    }
    let name = expression.strip_prefix("inputs.").unwrap_or_else(|| panic!("{value} is unknown"));
    let default = declared.get(name).unwrap_or_else(|| panic!("input {name} is not declared"));
    let set = given.iter().find(|(input, _)| *input == name).map(|(_, value)| (*value).to_owned());
    set.or(default.clone()).unwrap_or_else(|| panic!("input {name} is required"))
}

/// Runs the steps with these inputs as a runner does: each in a separate shell, until one fails.
fn action(place: &Place, given: &[(&str, &str)]) -> Finished {
    let folder = binary().parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let text = action_text();
    let declared = inputs(&text);
    let binary = binary().display().to_string();
    let given: Vec<(&str, &str)> = given.iter().copied().chain([("binary", binary.as_str())]).collect();
    let given = given.as_slice();
    assert!(given.iter().all(|(name, _)| declared.contains_key(*name)), "{given:?}");
    let mut finished = Finished { status: Some(0), stdout: String::new(), stderr: String::new() };
    for step in steps(&text) {
        let env = step.env.iter().map(|(name, value)| (name, expanded(value, given, &declared)));
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-e", "-o", "pipefail"])
            .arg(place.write("step.sh", &step.run))
            .current_dir(place.path())
            .env("PATH", &path)
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_OUTPUT", place.path().join("output"))
            .env("GITHUB_STEP_SUMMARY", place.path().join("summary.md"))
            .env("CUDA_VISIBLE_DEVICES", "")
            .envs(env)
            .output()
            .unwrap();
        finished.status = output.status.code();
        finished.stdout += &String::from_utf8(output.stdout).unwrap();
        finished.stderr += &String::from_utf8(output.stderr).unwrap();
        if finished.status != Some(0) {
            break;
        }
    }
    finished
}

/// Errors of `bash -n` on a script; empty if the script is valid.
fn lint(script: &Path) -> String {
    let output = Command::new("bash").arg("-n").arg(script).output().unwrap();
    format!("{}{}", if output.status.success() { "" } else { "FAILED " }, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn every_script_that_ships_is_bash() {
    let place = Place::new();
    let text = action_text();
    let steps = steps(&text);
    assert_eq!(steps.iter().filter(|step| !step.run.is_empty()).count(), steps.len());
    for step in &steps {
        assert_eq!(lint(&place.write("step.sh", &step.run)), "", "{}", step.run);
        assert!(!step.run.contains("${{"), "values come in as variables: {}", step.run);
    }
    let mut scripts = vec![root().join(".ci/action.sh"), root().join(".ci/install.sh"), root().join(".ci/run")];
    for folder in ["benches", "tests/gpu"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        scripts.extend(entries.filter(|path| path.extension().is_some_and(|e| e == "sh")));
    }
    assert!(scripts.len() > 6, "{scripts:?}");
    for script in scripts {
        let first = std::fs::read_to_string(&script).unwrap().lines().next().unwrap_or_default().to_owned();
        assert!(first.contains("bash"), "{}: {first}", script.display());
        assert_eq!(lint(&script), "", "{}", script.display());
    }
    let broken = place.write("broken.sh", "if true; then\n");
    assert!(lint(&broken).starts_with("FAILED"), "a broken script is seen");
}

#[test]
fn outputs_come_from_a_step_that_writes_them() {
    let text = action_text();
    let ids: Vec<String> = steps(&text).into_iter().map(|step| step.id).filter(|id| !id.is_empty()).collect();
    let values = block(&text, "outputs:").into_iter().filter_map(|(_, line)| line.strip_prefix("value: "));
    let from: Vec<&str> = values.filter_map(|value| value.strip_prefix("${{ steps.")).collect();
    assert!(
        !from.is_empty() && from.iter().all(|value| ids.iter().any(|id| value.starts_with(&format!("{id}.outputs."))))
    );
}

#[test]
fn a_recording_is_judged_with_a_summary_a_comment_and_annotations() {
    let place = Place::new();
    for path in ["configs/phase_d.toml", "kernels/baselines", "kernels/sdpa_scalar", "profiles/phase_d/h200"] {
        place.copy(path);
    }
    let given = [("config", "configs/phase_d.toml"), ("profile", "profiles/phase_d/h200"), ("comment", "comment.md")];
    let failed = action(&place, &given);
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("::error file=configs/phase_d.toml,line="), "{}", failed.stdout);
    assert_eq!(said(&place), "status=1\n");
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let (summary, comment) = (read("summary.md"), read("comment.md"));
    assert!(summary.contains("eligible warps") && comment.contains("eligible warps"), "{summary}");
    assert!(comment.len() < 65_536, "{}", comment.len());
    assert!(place.path().join("reports/phase_d").is_dir(), "where the output `reports` says");
}

/// Statuses written by steps, one a line.
fn said(place: &Place) -> String {
    let output = std::fs::read_to_string(place.path().join("output")).unwrap();
    output.lines().filter(|line| line.starts_with("status=")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_program_of_another_version_is_never_taken() {
    let place = Place::new();
    let script = std::fs::read_to_string(root().join(".ci/install.sh")).unwrap();
    for folder in ["src", "crates", "templates", "third_party"] {
        place.write(&format!("source/{folder}/file"), "one");
    }
    for file in ["Cargo.toml", "Cargo.lock", "build.rs"] {
        place.write(&format!("source/{file}"), "one");
    }
    // a runner with an old ncugate on its PATH, and a cargo that installs the version of the sources
    let old = place.write("path/ncugate", "#!/bin/sh\necho old\n");
    let cargo = "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --root ] && root=$2; [ \"$1\" = --path ] && path=$2; shift; done\n\
                 [ \"$(cat \"$path/src/file\")\" = broken ] && exit 101\necho built >> builds\nmkdir -p \"$root/bin\"\n\
                 printf '#!/bin/sh\\necho %s\\n' \"$(cat \"$path/src/file\")\" > \"$root/bin/ncugate\"\nchmod +x \"$root/bin/ncugate\"\n";
    let cargo = place.write("path/cargo", cargo);
    for program in [&old, &cargo] {
        Command::new("chmod").arg("+x").arg(program).status().unwrap();
    }
    let path = format!("{}:{}", place.path().join("path").display(), std::env::var("PATH").unwrap());
    let install = |binary: &str| {
        let output = Command::new("bash")
            .arg(place.write("install.sh", &script))
            .current_dir(place.path())
            .env("PATH", &path)
            .env("SOURCE", place.path().join("source"))
            .env("BINARY", binary)
            .env("RUNNER_TOOL_CACHE", place.path().join("tools"))
            .env("GITHUB_OUTPUT", place.path().join("output"))
            .output()
            .unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    let builds = || std::fs::read_to_string(place.path().join("builds")).unwrap_or_default().lines().count();
    assert_eq!((install(""), builds()), ((true, "one".to_owned()), 1));
    assert_eq!((install(""), builds()), ((true, "one".to_owned()), 1), "the same sources are built once");
    place.write("source/src/file", "two");
    assert_eq!((install(""), builds()), ((true, "two".to_owned()), 2), "other sources are another program");
    place.write("source/src/file", "broken");
    assert_eq!(
        (install(""), builds()),
        ((false, String::new()), 2),
        "a failed build is not replaced by an existing program"
    );
    assert_eq!(install(old.to_str().unwrap()), (true, "old".to_owned()), "unless it is named");
    assert!(!install("/nowhere/ncugate").0);
}

#[test]
fn a_stored_run_is_judged_and_its_status_is_the_steps() {
    let place = Place::new();
    let text = std::fs::read_to_string(root().join("configs/regression.toml")).unwrap();
    let config = place.write("regression.toml", &text);
    let write = |id: &str, us: f64| {
        Stored::new(&text, id).latency(move |_, round| us * (1.0 + 0.003 * wiggle(round, 1))).write(&place)
    };
    let (fast, slow) = (write("fast", 10.0), write("slower", 11.0));
    assert_eq!(place.run(&["leaderboard", "promote", fast.to_str().unwrap()]).status, Some(0));
    calibrate(&place, &text, 0.2);
    let judge = |profile: &str, strict: &str| {
        let variables = [
            ("config", config.to_str().unwrap()),
            ("profile", profile),
            ("comment", "comment.md"),
            ("fail-on-verdict", strict),
        ];
        action(&place, &variables)
    };
    let passed = judge(fast.to_str().unwrap(), "true");
    assert_eq!(passed.status, Some(0), "{passed:?}");
    let failed = judge(slow.to_str().unwrap(), "true");
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("::error file="), "{}", failed.stdout);
    assert_eq!(judge(slow.to_str().unwrap(), "false").status, Some(0));
    assert_eq!(judge("$(touch smuggled)", "false").status, Some(2));
    assert_eq!(said(&place), "status=0\nstatus=1\nstatus=1\nstatus=2\n");
    assert!(place.path().join("comment.md").is_file() && !place.path().join("smuggled").exists());
}

#[test]
fn measuring_without_a_gpu_fails_the_step_whatever_is_asked() {
    let place = Place::new();
    let config = root().join("configs/softmax.toml");
    let variables = [("config", config.to_str().unwrap()), ("record", "run"), ("fail-on-verdict", "false")];
    let failed = action(&place, &variables);
    assert_eq!(failed.status, Some(3), "{failed:?}");
    assert!(failed.stderr.contains("nothing is recorded"), "{}", failed.stderr);
    assert_eq!(said(&place), "status=3\n");
}

#[test]
fn only_true_is_github_and_a_summary_that_cannot_be_written_is_named() {
    let text = concat!(
        include_str!("../data/copy.toml"),
        "\n[sweep]\nTHREADS = [64]\n[[gate]]\nname = \"registers\"\nrequire = \"registers <= 1\"\n"
    );
    let place = Place::new();
    let run = Stored::new(text, "run").write(&place);
    place.write("phase.toml", text);
    let gate = |name: &str, value: &str| {
        Finished::of(place.ncugate(&["gate", "phase.toml", run.to_str().unwrap()]).env(name, value))
    };
    let [there, elsewhere] = ["true", "false"].map(|value| gate("GITHUB_ACTIONS", value));
    assert_eq!((there.status, elsewhere.status), (Some(1), Some(1)), "{there:?} {elsewhere:?}");
    assert!(there.stdout.contains("::error") && !elsewhere.stdout.contains("::error"), "{elsewhere:?}");
    let unwritten = gate("GITHUB_STEP_SUMMARY", "nowhere/summary.md");
    assert_eq!(unwritten.status, Some(3), "{unwritten:?}");
    assert!(unwritten.stderr.contains("cannot write nowhere/summary.md"), "{unwritten:?}");
}

/// Result of `.ci/install.sh` and the installed program. The release has this archive, and the double of cargo builds
/// a different program.
fn installed(place: &Place, reference: &str) -> (Finished, String) {
    let at = |name: &str| place.path().join(name).display().to_string();
    let cargo = "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --root ] && root=$2; shift; done\n\
                 mkdir -p \"$root/bin\" && printf '#!/bin/sh\\necho built\\n' > \"$root/bin/ncugate\" && chmod +x \"$root/bin/ncugate\"\n";
    place.write_program("bin/cargo", cargo);
    let path = format!("{}:{}", at("bin"), std::env::var("PATH").unwrap());
    let _ = std::fs::remove_dir_all(at("tools"));
    let _ = std::fs::remove_file(at("output"));
    let finished = Finished::of(
        Program::new("bash")
            .arg(root().join(".ci/install.sh"))
            .env("PATH", path)
            .env("SOURCE", root())
            .env("RUNNER_TOOL_CACHE", at("tools"))
            .env("GITHUB_OUTPUT", at("output"))
            .env("RELEASES", format!("file://{}", at("releases")))
            .env("ACTION_REPOSITORY", "o/r")
            .env("ACTION_REF", reference),
    );
    (finished, std::fs::read_to_string(at("output")).unwrap_or_default())
}

#[test]
fn the_action_fetches_its_release_or_builds_from_source() {
    if !is_here("curl") {
        return;
    }
    let place = Place::new();
    let version = format!("v{}", env!("CARGO_PKG_VERSION"));
    let name = format!("ncugate-{version}-{}-unknown-linux-gnu", std::env::consts::ARCH);
    let folder = format!("releases/o/r/releases/download/{version}");
    let pack = |says: &str| {
        place.write_program(&format!("{folder}/{name}/ncugate"), &format!("#!/bin/sh\necho '{says}'\n"));
        let script = format!("tar -czf {name}.tar.gz {name} && sha256sum {name}.tar.gz > {name}.tar.gz.sha256");
        let packed = Command::new("sh").args(["-c", &script]).current_dir(place.path().join(&folder)).status();
        assert!(packed.unwrap().success());
    };
    pack(&format!("ncugate {} (0123456)", env!("CARGO_PKG_VERSION")));
    let (finished, output) = installed(&place, &version);
    assert!(finished.status == Some(0) && output.contains(&format!("{name}/bin/ncugate")), "{finished:?} {output}");
    assert!(finished.stdout.contains("(0123456)"), "{finished:?}");

    let (built, output) = installed(&place, "main");
    assert!(built.status == Some(0) && built.stdout.contains("built") && !output.contains(&name), "{built:?}");

    pack("ncugate 99.0.0");
    let (built, _) = installed(&place, &version);
    assert!(built.status == Some(0) && built.stdout.contains("built"), "another version is not taken: {built:?}");

    place.write(&format!("{folder}/{name}.tar.gz"), "damaged");
    let (damaged, output) = installed(&place, &version);
    assert!(damaged.status == Some(1) && output.is_empty(), "{damaged:?}");

    std::fs::remove_file(place.path().join(format!("{folder}/{name}.tar.gz"))).unwrap();
    let (built, _) = installed(&place, &version);
    assert!(built.status == Some(0) && built.stdout.contains("built"), "no such release: {built:?}");
}
