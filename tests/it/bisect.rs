//! `git bisect run` over a history made by the test, as docs/how-to/bisect-a-slowdown.md has it.

use crate::base::Repository;
use crate::command::{Finished, binary, is_here, root};
use crate::stored::report_of_variants;
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

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }
}

#[test]
fn statuses_suit_git_bisect_run() {
    if !is_here("git") {
        return;
    }
    let page = fs::read_to_string(root().join("docs/how-to/bisect-a-slowdown.md")).unwrap();
    let taught = "git bisect run ncugate run configs/attention.toml --base v1.0 --source gpu --bisect-status";
    assert!(page.contains(taught), "{page}");
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
