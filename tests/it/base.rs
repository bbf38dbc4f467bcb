//! `run --base`: kernels of another commit, timed next to the current ones, in a repository made by the test.

use crate::command::{Finished, Place, binary, is_here, wait_for};
use crate::live::machine_of_kernels;
use crate::stored::report_of_variants;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A gate that always passes, and one that reads the base.
const GATES: &str = r#"
[[gate]]
name = "no slower than the base"
require = "latency_p50 <= 1.02 * base.latency_p50"
[[gate]]
name = "registers of the base"
require = "registers <= base.registers"
"#;

pub struct Repository {
    pub place: Place,
    pub variables: Vec<(&'static str, String)>,
}

impl Repository {
    /// A repository with one commit: a phase whose candidate is the kernel at `main`.
    pub fn new(kernel: &str) -> Self {
        let (place, variables) = machine_of_kernels(&["copy_honest", "copy_twice"], "rounds = 30");
        let repository = Self { place, variables };
        repository.phase(kernel);
        repository.place.write(".gitignore", "/bin\n/driver\n/cache\n/profiles\n/reports\n*.ncu-rep\n");
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository.commit("first");
        repository
    }

    /// Writes the phase with this kernel as its candidate.
    pub fn phase(&self, kernel: &str) {
        let path = self.place.path().join("phase.toml");
        let text = fs::read_to_string(&path).unwrap();
        let (workload, _) = text.split_once("[[variant]]").unwrap();
        let variant = format!(
            "[[variant]]\nname = \"mine\"\nparams = {{ THREADS = 128 }}\nkernel = {{ entry = \"{kernel}\" }}\n"
        );
        fs::write(path, format!("{workload}{variant}{GATES}[bench]\nrounds = 30\n")).unwrap();
    }

    pub fn git(&self, args: &[&str]) -> String {
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        let output = command.args(identity).args(args).current_dir(self.place.path()).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Durations of the candidate and of the base under ncu, in nanoseconds.
    fn counts(&mut self, mine: (&str, f64), base: (&str, f64)) {
        let report = self.place.path().join("counted.ncu-rep");
        fs::write(&report, report_of_variants(&[(mine.0, "mine", mine.1), (base.0, "base", base.1)])).unwrap();
        self.variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    }

    fn run(&self, more: &[&str]) -> Finished {
        let args = [&["run", "phase.toml", "--source", "gpu", "--comment", "comment.md"], more].concat();
        let mut command = self.place.ncugate(&args);
        Finished::of(command.envs(self.variables.clone()).timeout(Duration::from_secs(100)))
    }

    fn comment(&self) -> String {
        fs::read_to_string(self.place.path().join("comment.md")).unwrap()
    }

    /// No files of the base and no worktrees are left.
    pub fn assert_clean(&self) {
        assert!(!self.place.path().join("profiles/.base").exists());
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_kernel_that_became_slower_than_the_merge_base_fails_its_gate() {
    if !is_here("git") {
        return;
    }
    let mut repository = Repository::new("copy_honest");
    repository.git(&["switch", "--quiet", "--create", "change"]);
    repository.phase("copy_twice");
    repository.commit("slower");
    // main has moved on; the comparison is with the merge base
    repository.git(&["switch", "--quiet", "main"]);
    repository.phase("copy_twice");
    repository.commit("slower as well");
    repository.git(&["switch", "--quiet", "change"]);
    repository.counts(("copy_twice", 20_000.0), ("copy_honest", 10_000.0));
    let finished = repository.run(&["--base", "main"]);
    assert_eq!(finished.status, Some(1), "{finished:?}");
    let comment = words(&repository.comment());
    assert!(
        comment.contains("| shape | main (") && comment.contains("| only | 10.0 µs | 20.0 µs | +100 % ("),
        "{comment}"
    );
    assert!(comment.contains("❌ no slower than the base") && comment.contains("--base "), "{comment}");
    repository.assert_clean();
}

#[test]
fn gates_that_are_weaker_than_at_the_base_are_named() {
    if !is_here("git") {
        return;
    }
    let mut repository = Repository::new("copy_honest");
    repository.git(&["switch", "--quiet", "--create", "change"]);
    repository.phase("copy_twice");
    let path = repository.place.path().join("phase.toml");
    let text = fs::read_to_string(&path).unwrap().replace("1.02 * base", "3 * base");
    let second = "[[gate]]\nname = \"registers of the base\"\nrequire = \"registers <= base.registers\"\n";
    assert!(text.contains(second), "{text}");
    fs::write(&path, text.replace(second, "")).unwrap();
    repository.commit("slower, with other gates");
    repository.counts(("copy_twice", 20_000.0), ("copy_honest", 10_000.0));
    let finished = repository.run(&["--base", "main"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    for text in [finished.stdout.clone(), repository.comment().split("<details>").next().unwrap().replace('\\', "")] {
        let text = words(&text);
        assert!(text.to_lowercase().contains("weaker than at the base main ("), "{text}");
        assert!(text.contains("became `<= 3 * base.latency_p50`"), "{text}");
        assert!(text.contains("'registers of the base' (`registers <= base.registers`) is missing"), "{text}");
    }
    repository.assert_clean();
}

#[test]
fn a_kernel_that_became_faster_passes_and_its_run_is_judged_again_without_the_base() {
    if !is_here("git") {
        return;
    }
    let mut repository = Repository::new("copy_twice");
    repository.phase("copy_honest");
    repository.commit("faster");
    repository.counts(("copy_honest", 10_000.0), ("copy_twice", 20_000.0));
    let finished = repository.run(&["--base", "HEAD~1"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(
        words(&repository.comment()).contains("| only | 20.0 µs | 10.0 µs | -50.0 % ("),
        "{}",
        repository.comment()
    );
    repository.assert_clean();
    let run = fs::read_dir(repository.place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
    let again = repository.place.run(&["page", run.to_str().unwrap()]);
    assert_eq!(again.status, Some(0), "{again:?}");
    // another machine that has the change but neither the base nor a GPU
    let recorded = repository.place.run(&["tools", "record", run.to_str().unwrap(), "-o", "kept"]);
    assert_eq!(recorded.status, Some(0), "{recorded:?}");
    let judged = repository.place.run(&["gate", "phase.toml", "kept"]);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    let source = repository.place.path().join("copy.cu");
    fs::write(&source, fs::read_to_string(&source).unwrap() + "\n# later\n").unwrap();
    assert_eq!(repository.place.run(&["gate", "phase.toml", "kept"]).status, Some(3), "made of other things");
}

#[test]
fn a_run_from_uncommitted_files_is_neither_recorded_nor_said_to_be_repeatable() {
    if !is_here("git") {
        return;
    }
    let mut repository = Repository::new("copy_honest");
    repository.counts(("copy_honest", 10_000.0), ("copy_honest", 10_000.0));
    let profiles = repository.place.path().join("profiles/copy");
    // tracked results that change are no inputs of the run
    repository.place.write("reports/old.md", "old");
    repository.git(&["add", "--force", "reports/old.md"]);
    repository.git(&["commit", "--quiet", "--message", "results"]);
    for (change, source, status) in [("reports/old.md", None, Some(0)), ("copy.cu", Some("\n# later\n"), Some(3))] {
        let path = repository.place.path().join(change);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text + source.unwrap_or("new")).unwrap();
        assert_eq!(repository.run(&["--base", "HEAD"]).status, Some(0), "{change}");
        let run = fs::read_dir(&profiles).unwrap().map(|entry| entry.unwrap().path()).max().unwrap();
        let recorded = repository.place.run(&["tools", "record", run.to_str().unwrap(), "-o", "kept"]);
        assert_eq!(recorded.status, status, "{change}: {recorded:?}");
        let report = repository.place.path().join("reports/copy").join(run.file_name().unwrap()).join("report.md");
        let report = fs::read_to_string(report).unwrap();
        assert_eq!(report.contains("git checkout "), status == Some(0), "{change}: {report}");
        fs::remove_dir_all(&run).unwrap();
    }
}

#[test]
fn the_same_machine_code_is_no_change() {
    if !is_here("git") {
        return;
    }
    let mut repository = Repository::new("copy_honest");
    let source = repository.place.path().join("copy.cu");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(source, format!("# another comment\n{text}")).unwrap();
    repository.counts(("copy_honest", 10_000.0), ("copy_honest", 10_000.0));
    for more in [&["--base", "main"][..], &["--base", "main", "--no-share", "--fresh"]] {
        let finished = repository.run(more);
        assert_eq!(finished.status, Some(0), "{more:?}: {finished:?}");
        let comment = repository.comment();
        assert!(comment.contains("no change: the same machine code and launch"), "{more:?}: {comment}");
    }
}

#[test]
fn of_several_candidates_the_best_of_the_base_is_compared_with() {
    if !is_here("git") {
        return;
    }
    let mut repository = Repository::new("copy_honest");
    let path = repository.place.path().join("phase.toml");
    let text = fs::read_to_string(&path).unwrap();
    let (workload, _) = text.split_once("[[variant]]").unwrap();
    let workload = workload.replace("entry = \"copy\"", "entry = \"copy_honest\"");
    fs::write(path, format!("{workload}[sweep]\nTHREADS = [64, 128]\n{GATES}[bench]\nrounds = 30\n")).unwrap();
    repository.commit("a sweep");
    let source = repository.place.path().join("copy.cu");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(source, text.replacen(".byte 0\n", ".byte 7\n", 1)).unwrap();
    let counted = ["THREADS=64", "THREADS=128", "base+THREADS=64", "base+THREADS=128"];
    let launches: Vec<_> = counted.iter().map(|variant| ("copy_honest", *variant, 10_000.0)).collect();
    let report = repository.place.path().join("counted.ncu-rep");
    fs::write(&report, report_of_variants(&launches)).unwrap();
    repository.variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    let finished = repository.run(&["--base", "main"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let comment = words(&repository.comment());
    assert!(comment.contains("| only | 10.0 µs | 10.0 µs | 0.0 % ("), "{comment}");
    assert_eq!(comment.matches("| change |").count(), 1, "one variant of the base is compared: {comment}");

    let listed = repository.place.run(&["run", "phase.toml", "--list", "--base", "main", "--filter", "*=64"]);
    let names: Vec<&str> = listed.stdout.lines().filter(|line| line.starts_with("  ")).map(str::trim).collect();
    assert_eq!(names, ["THREADS=64", "base+THREADS=64 (baseline)"], "{listed:?}");
    repository.assert_clean();
}

#[test]
fn of_several_phases_those_with_changed_machine_code_are_measured() {
    if !is_here("git") {
        return;
    }
    let mut repository = Repository::new("copy_honest");
    let text = fs::read_to_string(repository.place.path().join("phase.toml")).unwrap();
    let other = text.replace("\nname = \"copy\"", "\nname = \"other\"").replace("copy_honest", "copy_twice");
    // It would fail, as it does at the base.
    repository.place.write("other.toml", &other.replace("1.02 * base", "0.5 * base"));
    repository.commit("another phase");
    let source = repository.place.path().join("copy.cu");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replacen(".byte 0\n", ".byte 7\n", 1)).unwrap();
    repository.counts(("copy_honest", 10_000.0), ("copy_honest", 10_000.0));
    let reports = repository.place.path().join("reports");
    let finished = repository.run(&["other.toml", "--base", "main"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("pass         phase.toml\nunchanged    other.toml\n"), "{}", finished.stdout);
    assert!(reports.join("copy").exists() && !repository.place.path().join("profiles/other").exists());
    let comment = words(&repository.comment());
    assert!(comment.starts_with("<!-- ncugate: --> ### 2 phases: 1 pass, 1 unchanged"), "{comment}");
    assert!(comment.contains("| other.toml | unchanged |") && comment.contains("| only | 10.0 µs |"), "{comment}");
    assert_eq!(
        fs::read_dir(repository.place.path())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".part") })
            .count(),
        0
    );

    // Measured on request, or if the phase file differs; the worst status is returned.
    fs::write(repository.place.path().join("other.toml"), format!("{other}# later\n")).unwrap();
    let report = repository.place.path().join("counted.ncu-rep");
    let of_twice = report_of_variants(&[("copy_twice", "mine", 20_000.0), ("copy_twice", "base", 20_000.0)]);
    fs::write(report, of_twice).unwrap();
    let finished = repository.run(&["other.toml", "--base", "main", "--fresh"]);
    assert!(finished.stdout.contains("pass         other.toml\n"), "{finished:?}");
    repository.assert_clean();
}

#[test]
fn missing_values_of_the_base_are_reported_and_their_gates_inconclusive() {
    if !is_here("git") {
        return;
    }
    // without any base
    let repository = Repository::new("copy_honest");
    let finished = repository.run(&[]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(words(&finished.stdout).contains("`ncugate run --base REF` measures one"), "{}", finished.stdout);

    // a base without the phase
    let mut repository = Repository::new("copy_honest");
    repository.git(&["rm", "--quiet", "--cached", "phase.toml"]);
    repository.git(&["commit", "--quiet", "--message", "none"]);
    repository.counts(("copy_honest", 10_000.0), ("copy_honest", 10_000.0));
    let finished = repository.run(&["--base", "main"]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(finished.stderr.contains("was not measured: the base has no phase.toml"), "{}", finished.stderr);
    repository.assert_clean();

    // different arguments
    let repository = Repository::new("copy_honest");
    let path = repository.place.path().join("phase.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\nx = ", "\nz = ").replace("\"x\"", "\"z\"")).unwrap();
    let finished = repository.run(&["--base", "main"]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(finished.stderr.contains("do not fit this workload"), "{}", finished.stderr);

    // a base that does not compile
    let mut repository = Repository::new("copy_honest");
    let source = repository.place.path().join("copy.cu");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, "not assembly\n").unwrap();
    repository.commit("broken");
    fs::write(&source, text).unwrap();
    repository.counts(("copy_honest", 10_000.0), ("copy_honest", 10_000.0));
    let finished = repository.run(&["--base", "main"]);
    assert_eq!(finished.status, Some(4), "{finished:?}");
    assert!(words(&finished.stdout).contains("'base' is not proven correct: does not build"), "{}", finished.stdout);
    repository.assert_clean();
}

#[test]
fn a_reference_that_is_not_there_is_an_error_and_no_gpu_is_no_recording() {
    if !is_here("git") {
        return;
    }
    let repository = Repository::new("copy_honest");
    let absent = repository.run(&["--base", "origin/main"]);
    assert_eq!(absent.status, Some(2), "{absent:?}");
    assert!(absent.stderr.contains("unknown commit"), "{}", absent.stderr);
    let dashed = repository.run(&["--base=--all"]);
    assert_eq!(dashed.status, Some(2), "{dashed:?}");
    let recorded = repository.place.run(&["run", "phase.toml", "--source", "recorded", "--base", "main"]);
    assert_eq!(recorded.status, Some(2), "{recorded:?}");
    let without = repository.place.run(&["run", "phase.toml", "--base", "main"]);
    assert_eq!(without.status, Some(3), "{without:?}");
    repository.assert_clean();
    let outside = Place::new();
    outside.copy("tests/data/copy.toml");
    let none = outside
        .ncugate(&["run", "tests/data/copy.toml", "--base", "main"])
        .env("GIT_CEILING_DIRECTORIES", "/")
        .output();
    assert_eq!(none.unwrap().status.code(), Some(2));
}

#[test]
fn an_interrupted_run_leaves_no_worktree_and_a_stale_one_is_replaced() {
    if !is_here("git") {
        return;
    }
    let repository = Repository::new("copy_honest");
    // A slow nvcc that records its run, so that one that outlives a killed run is not taken for one of the next run.
    let nvcc = repository.place.path().join("bin/nvcc");
    let text = fs::read_to_string(&nvcc).unwrap();
    fs::write(&nvcc, text.replace("while [ $# -gt 0 ]", "touch started.$RUN; sleep 20\nwhile [ $# -gt 0 ]")).unwrap();
    let start = |run: Signal| {
        let mut command = Command::new(binary());
        command.args(["run", "phase.toml", "--source", "gpu", "--base", "main"]).current_dir(repository.place.path());
        command.envs(repository.variables.clone()).env("NCUGATE_CACHE", repository.place.path().join("cache"));
        let child = command.env("RUN", run.as_str()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("nvcc works", || repository.place.path().join(format!("started.{run}")).exists());
        child
    };
    for signal in [Signal::SIGKILL, Signal::SIGINT] {
        let mut child = start(signal);
        assert!(fs::read_dir(repository.place.path().join("profiles/.base")).unwrap().count() >= 2);
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        wait_for("the run ends", || child.try_wait().unwrap().is_some());
    }
    repository.assert_clean();
}

#[test]
fn a_run_that_cannot_start_leaves_no_folder() {
    if !is_here("git") {
        return;
    }
    let mut repository = Repository::new("copy_honest");
    repository.variables.push(("NCUGATE_DOUBLE_INIT", "100".to_owned()));
    for more in [&[][..], &["--base", "HEAD"]] {
        let finished = repository.run(more);
        assert_eq!(finished.status, Some(3), "{finished:?}");
        for folder in ["reports", "profiles"] {
            assert!(!repository.place.path().join(folder).exists(), "{folder}: {more:?}");
        }
    }
}
