//! `action.yml` as GitHub runs it: its inputs, its steps and their shell, with the real binary.

use crate::command::{Finished, Place, Program, binary, is_here, root};
use crate::stored::{Stored, calibrate, wiggle};
use std::path::Path;
use std::process::Command;
use yaml_rust2::{Yaml, YamlLoader};

/// Names with texts, such as variables or inputs.
pub type Texts<'a> = &'a [(&'a str, &'a str)];

fn action_yaml() -> Yaml {
    let text = std::fs::read_to_string(root().join("action.yml")).unwrap();
    YamlLoader::load_from_str(&text).unwrap().remove(0)
}

fn steps(action: &Yaml) -> &[Yaml] {
    action["runs"]["steps"].as_vec().unwrap()
}

/// Scripts of the steps.
fn scripts(action: &Yaml) -> Vec<&str> {
    steps(action).iter().filter_map(|step| step["run"].as_str()).collect()
}

/// The expression of `${{ ... }}`.
fn expression(value: &str) -> Option<&str> {
    Some(value.strip_prefix("${{")?.strip_suffix("}}")?.trim())
}

/// A run of the action: its inputs, and what earlier steps wrote.
struct Workflow<'a> {
    place: &'a Place,
    action: &'a Yaml,
    given: Texts<'a>,
}

impl Workflow<'_> {
    /// A value with its GitHub expressions replaced.
    fn expanded(&self, value: &str) -> String {
        let Some((before, rest)) = value.split_once("${{") else { return value.to_owned() };
        let (expression, after) = rest.split_once("}}").unwrap();
        format!("{before}{}{}", self.value(expression.trim()), self.expanded(after))
    }

    fn value(&self, expression: &str) -> String {
        if let Some(output) = expression.strip_prefix("steps.").and_then(|rest| rest.split_once(".outputs.")) {
            return self.output(output.1);
        }
        if let Some(name) = expression.strip_prefix("inputs.") {
            let declared = &self.action["inputs"][name];
            assert!(!declared.is_badvalue(), "input {name} is not declared");
            let set = self.given.iter().find(|(input, _)| *input == name).map(|(_, value)| (*value).to_owned());
            let default = || declared["default"].as_str().map(str::to_owned);
            return set.or_else(default).unwrap_or_else(|| panic!("input {name} is required"));
        }
        match expression {
            "github.action_path" => root().display().to_string(),
            "runner.temp" => self.place.path().display().to_string(),
            "github.token" => "a-token".to_owned(),
            "github.action_ref" | "github.action_repository" => String::new(),
            "github.event.pull_request.head.repo.fork" => "false".to_owned(),
            other => panic!("{other} is unknown"),
        }
    }

    /// The last value of an output that a step wrote.
    fn output(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.place.path().join("output")).unwrap_or_default();
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        values.next_back().unwrap_or_default().to_owned()
    }

    /// Whether a step runs after `status`, by its `if`.
    fn runs(&self, step: &Yaml, status: Option<i32>) -> bool {
        let Some(condition) = step["if"].as_str() else { return status == Some(0) };
        expression(condition).unwrap().split(" && ").all(|part| match part.split_once(' ') {
            None => part == "!cancelled()",
            Some((value, test)) => {
                let (sign, other) = test.split_once(' ').unwrap();
                (self.value(value) == other.trim_matches('\'')) == (sign == "==")
            }
        })
    }
}

/// Runs the steps with these inputs as a runner does: each in a separate shell; after a failure only those that say so.
pub fn action(place: &Place, given: Texts<'_>, variables: Texts<'_>) -> Finished {
    let yaml = action_yaml();
    let binary = binary().display().to_string();
    let given: Vec<(&str, &str)> = given.iter().copied().chain([("binary", binary.as_str())]).collect();
    assert!(given.iter().all(|(name, _)| !yaml["inputs"][*name].is_badvalue()), "{given:?}");
    let workflow = Workflow { place, action: &yaml, given: &given };
    let mut finished = Finished { status: Some(0), stdout: String::new(), stderr: String::new() };
    for step in steps(&yaml) {
        let Some(script) = step["run"].as_str().filter(|_| workflow.runs(step, finished.status)) else { continue };
        assert_eq!(step["shell"].as_str(), Some("bash"));
        let env = step["env"].as_hash().into_iter().flatten();
        let env = env.map(|(name, value)| (name.as_str().unwrap(), workflow.expanded(value.as_str().unwrap())));
        let output = Command::new("bash")
            .args(["--noprofile", "--norc", "-e", "-o", "pipefail"])
            .arg(place.write("step.sh", script))
            .current_dir(place.path())
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", "push")
            .env("GITHUB_OUTPUT", place.path().join("output"))
            .env("GITHUB_STEP_SUMMARY", place.path().join("summary.md"))
            .env("RUNNER_TEMP", place.path())
            .env("CUDA_VISIBLE_DEVICES", "")
            .envs(variables.iter().copied())
            .envs(env)
            .output()
            .unwrap();
        finished.stdout += &String::from_utf8(output.stdout).unwrap();
        finished.stderr += &String::from_utf8(output.stderr).unwrap();
        if finished.status == Some(0) {
            finished.status = output.status.code();
        }
    }
    finished
}

/// The comments that the last run of the action wrote, joined.
pub fn comments(place: &Place) -> String {
    let workflow = Workflow { place, action: &Yaml::Null, given: &[] };
    let files = std::fs::read_dir(workflow.output("comments")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.collect();
    files.sort();
    files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// Errors of `bash -n` on a script; empty if the script is valid.
fn lint(script: &Path) -> String {
    let output = Command::new("bash").arg("-n").arg(script).output().unwrap();
    format!("{}{}", if output.status.success() { "" } else { "FAILED " }, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn every_script_that_ships_is_bash() {
    let place = Place::new();
    let action = action_yaml();
    assert_eq!(scripts(&action).len(), 4);
    for script in scripts(&action) {
        assert_eq!(lint(&place.write("step.sh", script)), "", "{script}");
        assert!(!script.contains("${{"), "values come in as variables: {script}");
    }
    let mut scripts: Vec<_> = [".ci/action.sh", ".ci/install.sh", ".ci/run"].map(|name| root().join(name)).into();
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
    let action = action_yaml();
    let ids: Vec<&str> = steps(&action).iter().filter_map(|step| step["id"].as_str()).collect();
    let outputs = action["outputs"].as_hash().unwrap().iter().filter_map(|(_, output)| output["value"].as_str());
    let from: Vec<&str> = outputs.filter_map(|value| expression(value)?.strip_prefix("steps.")).collect();
    assert!(
        !from.is_empty() && from.iter().all(|value| ids.iter().any(|id| value.starts_with(&format!("{id}.outputs."))))
    );
}

#[test]
fn a_recording_is_judged_with_a_summary_a_comment_and_annotations() {
    if !is_here("python3") {
        return;
    }
    let place = Place::new();
    for path in ["configs/phase_d.toml", "kernels/baselines", "kernels/sdpa_scalar", "profiles/phase_d/h200"] {
        place.copy(path);
    }
    let given = [("configs", "configs/phase_d.toml"), ("profile", "profiles/phase_d/h200")];
    let failed = action(&place, &given, &[]);
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("::error file=configs/phase_d.toml,line="), "{}", failed.stdout);
    assert_eq!(said(&place), "status=1\n");
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let (summary, comment) = (read("summary.md"), comments(&place));
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
    if !is_here("python3") {
        return;
    }
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
        let variables = [("configs", config.to_str().unwrap()), ("profile", profile), ("fail-on-verdict", strict)];
        action(&place, &variables, &[])
    };
    let passed = judge(fast.to_str().unwrap(), "true");
    assert_eq!(passed.status, Some(0), "{passed:?}");
    let failed = judge(slow.to_str().unwrap(), "true");
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("::error file="), "{}", failed.stdout);
    assert_eq!(judge(slow.to_str().unwrap(), "false").status, Some(0));
    assert_eq!(judge("$(touch smuggled)", "false").status, Some(2));
    assert_eq!(said(&place), "status=0\nstatus=1\nstatus=1\nstatus=2\n");
    assert!(!place.path().join("smuggled").exists());
}

#[test]
fn measuring_without_a_gpu_fails_the_step_whatever_is_asked() {
    if !is_here("python3") {
        return;
    }
    let place = Place::new();
    let config = root().join("configs/softmax.toml");
    let variables = [("configs", config.to_str().unwrap()), ("record", "run"), ("fail-on-verdict", "false")];
    let failed = action(&place, &variables, &[]);
    assert_eq!(failed.status, Some(3), "{failed:?}");
    assert!(failed.stderr.contains("nothing is recorded"), "{}", failed.stderr);
    assert_eq!(said(&place), "status=3\n");
}

#[test]
fn every_phase_of_a_glob_is_run_and_the_gravest_status_is_the_steps() {
    if !is_here("python3") {
        return;
    }
    let place = Place::new();
    place.write("configs/a.toml", "[phase\n");
    place.copy("configs/softmax.toml");
    place.copy("kernels/softmax");
    let run = |configs: &str, more: Texts<'_>| {
        let given: Vec<_> = [("configs", configs)].into_iter().chain(more.iter().copied()).collect();
        action(&place, &given, &[])
    };
    let all = run("configs/*.toml", &[]);
    assert_eq!(all.status, Some(2), "wrong usage is graver than no GPU: {all:?}");
    assert!(all.stderr.contains("a.toml") && all.stderr.contains("not measured"), "{all:?}");
    assert_eq!(run("configs/softmax.toml\n", &[]).status, Some(3));
    assert_eq!(run("none/*.toml", &[]).status, Some(2));
    for (configs, more) in
        [(" ", &[][..]), ("configs/*.toml", &[("record", "run")]), ("configs/*.toml", &[("profile", "run")])]
    {
        let refused = run(configs, more);
        assert!(refused.status == Some(2) && refused.stdout.contains("::error::`"), "{configs}: {refused:?}");
    }
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
    assert_eq!(unwritten.status, Some(1), "the verdict, not the lost summary: {unwritten:?}");
    assert!(unwritten.stderr.contains("cannot write nowhere/summary.md"), "{unwritten:?}");
}

#[test]
fn measured_code_inherits_no_file_and_no_token_of_the_runner() {
    let place = Place::new();
    let double = place.write_program("double", "#!/bin/sh\nenv > seen.txt\n");
    let hidden = [
        "GITHUB_ENV",
        "GITHUB_PATH",
        "GITHUB_OUTPUT",
        "GITHUB_STATE",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "ACTIONS_OF_TOMORROW",
    ];
    for profile in ["", "run"] {
        let mut command = Program::new("bash");
        command.arg(root().join(".ci/action.sh")).current_dir(place.path()).env("RUNNER_TEMP", place.path());
        command.env("NCUGATE", &double).env("CONFIGS", "phase.toml").env("PROFILE", profile);
        command.env("GITHUB_STEP_SUMMARY", place.path().join("summary.md"));
        command.envs(hidden.map(|name| (name, place.path().join("of_the_runner"))));
        let finished = Finished::of(&mut command);
        assert_eq!(finished.status, Some(0), "{finished:?}");
        let seen = std::fs::read_to_string(place.path().join("seen.txt")).unwrap();
        let given = |name: &str| seen.lines().any(|line| line.split_once('=').is_some_and(|(own, _)| own == name));
        assert!(given("GITHUB_STEP_SUMMARY") && !seen.contains("of_the_runner"), "{seen}");
        let output = std::fs::read_to_string(place.path().join("of_the_runner")).unwrap();
        assert!(output.contains("status=0\n"), "the script itself has them: {output}");
    }
    for script in scripts(&action_yaml()) {
        assert!(!script.contains("python3") || script.contains("python3 -I "), "{script}");
    }
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

/// A tree with one crate, and its limits.
fn counted(limits: Option<&str>, arguments: &[&str]) -> (Place, Finished) {
    let place = Place::new();
    place.write("src/lib.rs", "//! A crate.\n\nmod tests;\n/* a\ncomment */\npub fn f() {} // f\n");
    let crates = [
        ("crates/one/src/lib.rs", "#[cfg(test)]\nmod tests;\npub struct Wheel;\n"),
        ("crates/one/src/tests.rs", "fn test() {}\n"),
        ("crates/one/src/tests/every.toml", "[test]\n"),
        ("crates/one/src/rules.toml", "# rules\n[rule]\nname = \"a\"\n\n"),
        (
            "crates/one/src/host.py",
            "\"\"\"A module.\"\"\"\n\nimport os  # for a path\n\n\ndef f():\n    \"\"\"A function.\"\"\"\n    # none\n    return os\n",
        ),
        ("templates/page.html", "{# a page #}\n<!-- a\ncomment -->\n<p></p>\n"),
        ("templates/page.css", "/* a page */\np {\n}\n"),
        ("templates/page.js", "// a page\nlet a = 1;\n"),
        ("python/ncugate/__init__.py", "a = 1\n"),
        (".ci/run", ""),
    ];
    for (path, text) in crates {
        place.write(path, text);
    }
    if let Some(limits) = limits {
        place.write(".ci/lines", limits);
    }
    let mut command = Program::new(root().join(".ci/count"));
    let finished = Finished::of(command.args(arguments).arg(place.path()));
    (place, finished)
}

#[test]
fn a_crate_with_more_lines_than_its_number_fails() {
    if !is_here("python3") {
        return;
    }
    let (place, written) = counted(None, &["--write"]);
    assert_eq!(written.status, Some(0), "{written:?}");
    let lines = std::fs::read_to_string(place.path().join(".ci/lines")).unwrap();
    let rows: Vec<Vec<&str>> =
        lines.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows, [["ncugate", "2"], ["ncugate-report", "4"], ["one", "6"], ["python", "1"]]);
    assert_eq!(counted(Some(&lines), &[]).1.status, Some(0));
    for (limits, said) in [
        (lines.replace("6", "5"), "one: 6 lines, 5 are allowed"),
        (lines.replace("python", "other"), "python: is in the tree only"),
        (lines.clone() + "gone 9\n", "gone: is in .ci/lines only"),
    ] {
        let (_, failed) = counted(Some(&limits), &[]);
        assert!(failed.status == Some(1) && failed.stderr.contains(said), "{failed:?}");
    }
    let (_, unknown) = counted(None, &[]);
    assert!(unknown.status == Some(1) && unknown.stderr.contains(".ci/lines is missing"), "{unknown:?}");
}
