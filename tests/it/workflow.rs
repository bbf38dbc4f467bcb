//! The workflow of docs/how-to/gate-a-pull-request.md as GitHub runs it: every outcome of measuring, and the merge
//! decision.

use crate::command::{Place, root};
use std::process::Command;
use yaml_rust2::{Yaml, YamlLoader};

/// Conclusion of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conclusion {
    Success,
    Failure,
    Cancelled,
    Skipped,
}

impl Conclusion {
    const ALL: [Self; 4] = [Self::Success, Self::Failure, Self::Cancelled, Self::Skipped];

    fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// Whether branch protection allows the merge when it requires the job. GitHub counts a skipped job as passed.
    fn lets_a_merge_through(self) -> bool {
        matches!(self, Self::Success | Self::Skipped)
    }
}

/// The first GitHub workflow among the fenced YAML blocks of a document.
fn workflow() -> String {
    let text = std::fs::read_to_string(root().join("docs/how-to/gate-a-pull-request.md")).unwrap();
    let mut blocks = text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.find(|block| block.contains(".github/workflows/")).unwrap().to_owned()
}

/// Whether a job runs, given its `if` and the conclusion of the job it needs.
fn runs(job: &Yaml, needed: Conclusion) -> bool {
    let condition = job["if"].as_str().map(|text| text.trim().trim_start_matches("${{").trim_end_matches("}}").trim());
    match condition {
        Some("always()") => true,
        Some("!cancelled()") => needed != Conclusion::Cancelled,
        // GitHub adds `success()` to a condition without a status function.
        None => needed == Conclusion::Success,
        Some(other) => panic!("this test does not know what `{other}` does"),
    }
}

/// Conclusion of `judge` when the gates pass, given the conclusion of measuring. It must not hide a failed
/// measurement.
fn judge(workflow: &str, measured: Conclusion) -> Conclusion {
    let documents = YamlLoader::load_from_str(workflow).unwrap();
    let job = &documents[0]["jobs"]["judge"];
    assert_eq!(job["needs"].as_str(), Some("measure"));
    assert!(job["continue-on-error"].is_badvalue());
    if !runs(job, measured) {
        return Conclusion::Skipped;
    }
    let mut failed = false;
    for step in job["steps"].as_vec().unwrap() {
        assert!(step["continue-on-error"].is_badvalue(), "{step:?}");
        let Some(script) = step["run"].as_str().filter(|_| step["if"].is_badvalue() && !failed) else { continue };
        failed = !succeeds(script, &step["env"], measured);
    }
    if failed { Conclusion::Failure } else { Conclusion::Success }
}

/// Runs a step's script as a runner does.
fn succeeds(script: &str, env: &Yaml, measured: Conclusion) -> bool {
    let place = Place::new();
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-e", "-o", "pipefail"]).arg(place.write("step.sh", script));
    for (name, value) in env.as_hash().unwrap() {
        let value = value.as_str().unwrap().replace("${{ needs.measure.result }}", measured.word());
        assert!(!value.contains("${{"), "this test does not know {value}");
        command.env(name.as_str().unwrap(), value);
    }
    command.output().unwrap().status.success()
}

#[test]
fn only_a_measurement_that_succeeded_lets_a_merge_through() {
    let workflow = workflow();
    for measured in Conclusion::ALL {
        let allowed = judge(&workflow, measured).lets_a_merge_through();
        assert_eq!(allowed, measured == Conclusion::Success, "measure: {}", measured.word());
    }
}

#[test]
fn the_walk_sees_a_workflow_that_lets_a_merge_through() {
    let skipped = workflow().replace("    if: ${{ always() }}\n", "");
    assert!(judge(&skipped, Conclusion::Failure).lets_a_merge_through(), "a skipped required job counts as passed");
    assert!(judge(&skipped, Conclusion::Cancelled).lets_a_merge_through());
    let unasked = workflow().replace("            exit 1\n", "            exit 0\n");
    assert!(judge(&unasked, Conclusion::Failure).lets_a_merge_through(), "nobody asks how measuring ended");
}

#[test]
fn the_workflow_cancels_no_measurement_and_pins_its_actions() {
    let workflow = workflow();
    let documents = YamlLoader::load_from_str(&workflow).unwrap();
    for (name, job) in documents[0]["jobs"].as_hash().unwrap() {
        assert!(job["concurrency"].is_badvalue(), "{name:?}: of a group one pending job cancels another");
        for step in job["steps"].as_vec().unwrap() {
            let Some(uses) = step["uses"].as_str() else { continue };
            let (_, version) = uses.split_once('@').unwrap();
            assert!(!["main", "master"].contains(&version), "{uses} is another program tomorrow");
        }
    }
    let fork = documents[0]["jobs"]["measure"]["if"].as_str().unwrap();
    assert!(fork.contains("head.repo.full_name == github.repository"), "a fork's code is not run: {fork}");
    assert!(!workflow.contains("pull_request_target"));
    let upload = documents[0]["jobs"]["measure"]["steps"].as_vec().unwrap().last().unwrap();
    assert_eq!(upload["with"]["if-no-files-found"].as_str(), Some("error"), "without a run nothing was measured");
}

#[test]
fn every_yaml_of_the_documents_and_of_the_project_is_yaml() {
    let text = std::fs::read_to_string(root().join("docs/how-to/gate-a-pull-request.md")).unwrap();
    let blocks: Vec<&str> = text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 2, "GitHub, GitLab");
    for block in blocks {
        assert_eq!(YamlLoader::load_from_str(block).map(|found| found.len()), Ok(1), "{block}");
    }
    for file in ["action.yml", ".github/workflows/ci.yml", ".github/workflows/release.yml"] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert_eq!(YamlLoader::load_from_str(&text).map(|found| found.len()), Ok(1), "{file}");
    }
}
