//! The script behind `action.yml`, with the real binary.

use crate::command::{Finished, Place, root};
use crate::stored::{Stored, wiggle};
use std::process::Command;

fn action(place: &Place, variables: &[(&str, &str)]) -> Finished {
    let binary = assert_cmd::cargo::cargo_bin!("ncugate").parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .arg(root().join(".ci/action.sh"))
        .current_dir(place.path())
        .env("PATH", path)
        .env("GITHUB_OUTPUT", place.path().join("output"))
        .env_remove("GITHUB_STEP_SUMMARY")
        .env("CUDA_VISIBLE_DEVICES", "")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    Finished {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn said(place: &Place) -> String {
    std::fs::read_to_string(place.path().join("output")).unwrap()
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
    assert_eq!(place.run(&["baseline", "promote", fast.to_str().unwrap()]).status, Some(0));
    let judge = |profile: &str, strict: &str| {
        let variables = [
            ("CONFIG", config.to_str().unwrap()),
            ("PROFILE", profile),
            ("COMMENT", "comment.md"),
            ("FAIL_ON_VERDICT", strict),
            ("GITHUB_ACTIONS", "true"),
        ];
        action(&place, &variables)
    };
    let passed = judge(fast.to_str().unwrap(), "true");
    assert_eq!(passed.status, Some(0), "{passed:?}");
    let failed = judge(slow.to_str().unwrap(), "true");
    assert_eq!(failed.status, Some(1), "{failed:?}");
    assert!(failed.stdout.contains("::error file="), "{}", failed.stdout);
    assert_eq!(judge(slow.to_str().unwrap(), "false").status, Some(0));
    assert_eq!(judge("$(touch smuggled)", "false").status, Some(3));
    assert_eq!(said(&place), "status=0\nstatus=1\nstatus=1\nstatus=3\n");
    assert!(place.path().join("comment.md").is_file() && !place.path().join("smuggled").exists());
}

#[test]
fn measuring_without_a_gpu_fails_the_step_whatever_is_asked() {
    let place = Place::new();
    let config = root().join("configs/softmax.toml");
    let variables = [("CONFIG", config.to_str().unwrap()), ("RECORD", "run"), ("FAIL_ON_VERDICT", "false")];
    let failed = action(&place, &variables);
    assert_eq!(failed.status, Some(3), "{failed:?}");
    assert!(failed.stderr.contains("nothing is recorded"), "{}", failed.stderr);
    assert_eq!(said(&place), "status=3\n");
}
