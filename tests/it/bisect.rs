//! `bisect` over histories made by the tests, as docs/how-to/bisect-a-slowdown.md has it, and `git bisect run`.

use crate::base::{Repository, words};
use crate::command::{Finished, binary, is_here, root};
use crate::stored::report_of_variants;
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::Duration;

impl Repository {
    /// A repository whose commit `good` has this kernel. Its ncu counts a slower candidate if the phase in the working
    /// directory has one.
    fn good(kernel: &str) -> Self {
        let repository = Self::new(kernel);
        let place = repository.place.path().to_owned();
        for (file, mine, duration) in [("fast", "copy_honest", 10_000.0), ("slow", "copy_twice", 20_000.0)] {
            let launches = [(mine, "mine", duration), ("copy_honest", "base", 10_000.0)];
            fs::write(place.join(format!("{file}.ncu-rep")), report_of_variants(&launches)).unwrap();
        }
        fs::rename(place.join("bin/ncu"), place.join("bin/double")).unwrap();
        let folder = place.display();
        let ncu = format!(
            "#!/bin/sh\nreport=fast; grep -qs copy_twice phase.toml && report=slow\n\
             NCUGATE_DOUBLE_REPORT={folder}/$report.ncu-rep exec sh {folder}/bin/double \"$@\"\n"
        );
        repository.place.write_program("bin/ncu", &ncu);
        repository.git(&["tag", "good"]);
        repository
    }

    /// Changes the source, and commits it.
    fn edit(&self, message: &str, change: impl FnOnce(String) -> String) {
        let source = self.place.path().join("copy.cu");
        fs::write(&source, change(fs::read_to_string(&source).unwrap())).unwrap();
        self.commit(message);
    }

    fn bisect(&self, args: &[&str]) -> Finished {
        let mut command = self.place.ncugate(&[&["bisect", "good"], args].concat());
        Finished::of(command.envs(self.variables.clone()).timeout(Duration::from_secs(200)))
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }
}

/// Verdicts of the steps by the subject of their commits.
fn verdicts(result: &Value) -> Vec<(String, String)> {
    let steps = result["steps"].as_array().unwrap().iter();
    let step = |step: &Value| {
        let title = step["title"].as_str().unwrap();
        (title.split(" (").next().unwrap().to_owned(), step["verdict"].as_str().unwrap().to_owned())
    };
    steps.map(step).collect()
}

#[test]
fn the_commit_that_made_the_kernel_slower_is_found_in_the_commands_of_the_page() {
    if !is_here("git") {
        return;
    }
    let page = fs::read_to_string(root().join("docs/how-to/bisect-a-slowdown.md")).unwrap();
    assert!(page.contains("    ncugate bisect v1.0 main configs/attention.toml"), "{page}");
    let repository = Repository::good("copy_honest");
    repository.edit("a comment", |text| format!("# one\n{text}"));
    repository.edit("other code, as fast", |text| text.replacen(".byte 0\n", ".byte 7\n", 1));
    repository.edit("broken", |_| "not assembly\n".to_owned());
    repository.git(&["checkout", "--quiet", "HEAD~1", "--", "copy.cu"]);
    repository.commit("repaired");
    repository.phase("copy_twice");
    repository.commit("slower");
    let culprit = repository.head();
    repository.edit("another comment", |text| format!("# two\n{text}"));
    repository.git(&["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    // The user's files stay as they are.
    repository.place.write("copy.cu", "edited");
    let changed = || repository.git(&["status", "--porcelain", "--untracked-files=no"]);
    let before = changed();

    let finished = repository.bisect(&["main", "phase.toml", "--format", "json", "--comment", "reports/comment.md"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let result: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(result["candidates"], Value::from(vec![culprit.clone()]), "{result}");
    let requirement = result["requirement"].as_str().unwrap();
    assert!(requirement.starts_with("latency_p50 <= 1.5") && requirement.ends_with(" at only"), "{requirement}");
    let steps = verdicts(&result);
    assert_eq!(steps[0], ("nothing".to_owned(), "bad".to_owned()), "{steps:?}");
    assert!(steps.contains(&("slower".to_owned(), "bad".to_owned())), "{steps:?}");
    for step in result["steps"].as_array().unwrap() {
        let is_free = step["reason"].as_str().unwrap().contains("not measured");
        assert_eq!(is_free, step["run"].is_null() && step["verdict"] != "skipped", "{step}");
    }
    // Run again, it measures nothing but the comparison with the parent.
    let again = repository.bisect(&["main", "phase.toml", "--format", "json"]);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&again["steps"], &again["candidates"]), (&result["steps"], &result["candidates"]));
    let report = result["report"].as_str().unwrap();
    assert!(fs::read_to_string(report).unwrap().contains("copy.bisect"), "{report}");
    let comment = words(&fs::read_to_string(repository.place.path().join("reports/comment.md")).unwrap());
    assert!(comment.contains("#### Bisection") && comment.contains("+100 %"), "{comment}");
    repository.assert_clean();
    assert_eq!((changed(), repository.git(&["tag"])), (before, "good\n".to_owned()));
    assert!(!repository.place.path().join("profiles/copy").exists(), "its runs are no runs of the phase");
}

#[test]
fn commits_that_cannot_be_judged_are_skipped_and_the_answer_is_a_range() {
    if !is_here("git") {
        return;
    }
    let repository = Repository::good("copy_honest");
    repository.edit("broken", |text| format!("not assembly\n{text}"));
    let broken = repository.head();
    repository.phase("copy_wrong");
    repository.edit("wrong", |text| {
        text.replacen("not assembly\n", "", 1).replace("copy_twice", "copy_wrong").replace(".byte 1\n", ".byte 9\n")
    });
    repository.phase("copy_twice");
    repository.edit("slow", |text| text.replace("copy_wrong", "copy_twice").replace(".byte 9\n", ".byte 1\n"));
    let finished = repository.bisect(&["main", "phase.toml", "--format", "json"]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    let result: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(result["candidates"].as_array().unwrap().len(), 3, "{result}");
    let steps = verdicts(&result);
    assert_eq!(steps.iter().filter(|(_, verdict)| verdict == "skipped").count(), 2, "{steps:?}");

    // A bad end that is not bad, that has the machine code of the good one, or that is no descendant.
    repository.phase("copy_honest");
    repository.commit("as good");
    let same = repository.bisect(&["main", "phase.toml"]);
    assert_eq!(same.status, Some(4), "{same:?}");
    assert!(same.stdout.contains("nothing to bisect") && same.stdout.contains("not measured"), "{same:?}");
    let reversed = repository.place.run(&["bisect", "main", "good", "phase.toml"]);
    assert_eq!(reversed.status, Some(2), "{reversed:?}");
    assert!(reversed.stderr.contains("not an ancestor"), "{reversed:?}");
    let unknown = repository.bisect(&[&broken, "absent.toml"]);
    assert_eq!(unknown.status, Some(2), "{unknown:?}");
    repository.assert_clean();
}

#[test]
fn a_phase_that_is_newer_than_the_commits_and_a_given_requirement_are_used_at_each() {
    if !is_here("git") {
        return;
    }
    let repository = Repository::good("copy_honest");
    repository.git(&["rm", "--quiet", "--cached", "phase.toml"]);
    repository.git(&["commit", "--quiet", "--amend", "--message", "without a phase"]);
    repository.git(&["tag", "--force", "good"]);
    let more = |text: String| text.replacen(".long 0, 32\n", ".long 0, 40\n", 1);
    repository.place.write(".gitignore", "/bin\n/driver\n/cache\n/profiles\n/reports\n/phase.toml\n");
    repository.edit("a comment", |text| format!("# one\n{text}"));
    repository.edit("more registers", more);
    let culprit = repository.head();
    repository.edit("another comment", |text| format!("# two\n{text}"));
    let args = ["main", "phase.toml", "--require", "registers <= base.registers"];
    let finished = repository.bisect(&args);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(finished.stdout.contains(&format!("first bad commit: {culprit}")), "{}", finished.stdout);
    let wrong = repository.bisect(&["main", "phase.toml", "--require", "registers <="]);
    assert_eq!(wrong.status, Some(2), "{wrong:?}");
}

/// Every commit breaks the requirement, the good end too: no commit between them is the first.
#[test]
fn a_requirement_that_the_good_end_breaks_finds_no_commit() {
    if !is_here("git") {
        return;
    }
    let repository = Repository::good("copy_honest");
    repository.edit("other code, as fast", |text| text.replacen(".byte 0\n", ".byte 7\n", 1));
    repository.edit("yet another", |text| text.replacen(".byte 7\n", ".byte 8\n", 1));
    let finished = repository.bisect(&["main", "phase.toml", "--require", "registers <= 16"]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(finished.stdout.contains("the good end is not proven to hold the requirement"), "{}", finished.stdout);
}

/// A file of inputs decides latencies as machine code does.
#[test]
fn a_commit_with_other_data_is_measured_though_its_machine_code_is_known() {
    if !is_here("git") {
        return;
    }
    let repository = Repository::good("copy_honest");
    let data = |value: u16| {
        let head = "{'descr': '<f2', 'fortran_order': False, 'shape': (2048,), }";
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(format!("{head:<117}\n").bytes());
        file.extend((0..2048).flat_map(|at| (value + at % 512).to_le_bytes()));
        fs::write(repository.place.path().join("x.npy"), file).unwrap();
    };
    let phase = repository.place.path().join("phase.toml");
    let text = fs::read_to_string(&phase).unwrap();
    fs::write(&phase, text.replacen("init = \"normal\"", "init = { npy = \"x.npy\" }", 1)).unwrap();
    data(0x3c00);
    repository.commit("data of a file");
    repository.git(&["tag", "--force", "good"]);
    data(0x3800);
    repository.commit("other data");
    repository.edit("more registers", |text| text.replacen(".long 0, 32\n", ".long 0, 40\n", 1));
    let args = ["main", "phase.toml", "--require", "registers <= base.registers", "--format", "json"];
    let finished = repository.bisect(&args);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let result: Value = serde_json::from_str(&finished.stdout).unwrap();
    let expected = [("more registers", "bad"), ("data of a file", "good"), ("other data", "good")];
    let expected = expected.map(|(title, verdict)| (title.to_owned(), verdict.to_owned()));
    assert_eq!(verdicts(&result), expected, "{result}");
    assert!(result["steps"].as_array().unwrap().iter().all(|step| step["run"].is_string()), "{result}");
}

#[test]
fn the_found_commit_is_on_a_merged_branch_or_with_first_parents_the_merge() {
    if !is_here("git") {
        return;
    }
    let repository = Repository::good("copy_honest");
    repository.git(&["switch", "--quiet", "--create", "side"]);
    repository.edit("a comment", |text| format!("# one\n{text}"));
    repository.edit("more registers", |text| text.replacen(".long 0, 32\n", ".long 0, 40\n", 1));
    let culprit = repository.head();
    repository.git(&["switch", "--quiet", "main"]);
    repository.place.write("other.txt", "unrelated");
    repository.commit("unrelated");
    repository.git(&["merge", "--quiet", "--no-edit", "side"]);
    let merge = repository.head();
    repository.git(&["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    for (more, found) in [(&[][..], &culprit), (&["--first-parent"], &merge)] {
        let args = [&["main", "phase.toml", "--require", "registers <= base.registers"], more].concat();
        let finished = repository.bisect(&args);
        assert_eq!(finished.status, Some(0), "{finished:?}");
        assert!(finished.stdout.contains(&format!("first bad commit: {found}")), "{}", finished.stdout);
    }
}

#[test]
fn statuses_suit_git_bisect_run() {
    if !is_here("git") {
        return;
    }
    let repository = Repository::good("copy_honest");
    repository.edit("broken", |text| format!("not assembly\n{text}"));
    repository.edit("repaired", |text| text.replacen("not assembly\n", "", 1));
    repository.phase("copy_twice");
    repository.commit("slower");
    let culprit = repository.head();
    repository.edit("a comment", |text| format!("# one\n{text}"));
    repository.git(&["bisect", "start", "HEAD", "good"]);
    let mut command = Command::new("git");
    command.args(["bisect", "run", binary().to_str().unwrap(), "run", "phase.toml", "--base", "good"]);
    command.args(["--source", "gpu", "--bisect-status"]).current_dir(repository.place.path());
    command.envs(repository.variables.clone()).env("NCUGATE_CACHE", repository.place.path().join("cache"));
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains(&format!("{culprit} is the first bad commit")), "{printed}");
    repository.git(&["bisect", "reset"]);
    let phase = fs::read_to_string(repository.place.path().join("phase.toml")).unwrap();
    repository.git(&["checkout", "--quiet", "HEAD~3"]);
    let broken = ["run", "phase.toml", "--base", "good", "--source", "gpu", "--bisect-status"];
    let mut command = repository.place.ncugate(&broken);
    let broken = Finished::of(command.envs(repository.variables.clone()).timeout(Duration::from_secs(100)));
    assert!(broken.status == Some(125) && broken.stderr.contains("does not build"), "{broken:?}");
    // A commit that was not measured is not bad.
    repository
        .place
        .write("other.toml", &format!("{phase}[[precondition]]\nname = \"larger\"\nrequire = \"S > 4096\"\n"));
    for args in [
        &["run", "--bisect-status", "--no-such-option"][..],
        &["run", "absent.toml", "--bisect-status"],
        &["run", "phase.toml", "--bisect-status", "--list"],
        &["run", "other.toml", "--bisect-status"],
    ] {
        assert_eq!(repository.place.run(args).status, Some(125), "{args:?}");
    }
}
