//! The workflow of docs/how-to/gate-a-pull-request.md as GitHub runs it.

use crate::accepted::commit;
use crate::ci::action;
use crate::command::{Place, is_here, root};
use yaml_rust2::{Yaml, YamlLoader};

/// The first GitHub workflow among the fenced YAML blocks of a document.
fn workflow() -> String {
    let text = std::fs::read_to_string(root().join("docs/how-to/gate-a-pull-request.md")).unwrap();
    let mut blocks = text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.find(|block| block.contains(".github/workflows/")).unwrap().to_owned()
}

fn job(workflow: &Yaml) -> &Yaml {
    &workflow["jobs"]["kernels"]
}

/// The runner of a job by its expression `CONDITION && 'A' || 'B'`.
fn runner(job: &Yaml, is_fork: bool) -> &str {
    let expression = job["runs-on"].as_str().unwrap().strip_prefix("${{ ").unwrap().strip_suffix(" }}").unwrap();
    let (condition, machines) = expression.split_once(" && ").unwrap();
    assert_eq!(condition, "github.event.pull_request.head.repo.fork");
    let (fork, own) = machines.split_once(" || ").unwrap();
    if is_fork { fork } else { own }.trim_matches('\'')
}

#[test]
fn the_recipe_has_ten_lines_beside_its_triggers() {
    let text = workflow();
    let lines = text.lines().skip(1).filter(|line| !line.starts_with("on:") && !line.trim().is_empty());
    assert!(lines.count() <= 10, "{text}");
}

/// GitHub counts a required job that was skipped as passed, and a job that may fail as well.
#[test]
fn the_job_is_never_skipped_and_a_fork_fails_on_a_machine_without_a_gpu() {
    if !is_here("git") || !is_here("python3") {
        return;
    }
    let workflow = &YamlLoader::load_from_str(&workflow()).unwrap()[0];
    let job = job(workflow);
    assert_eq!((runner(job, true), runner(job, false)), ("ubuntu-latest", "gpu"));
    for key in ["if", "needs", "continue-on-error", "concurrency"] {
        assert!(job[key].is_badvalue(), "{key} may end the job without a verdict");
    }
    assert_eq!(workflow["on"].as_str(), Some("pull_request"), "no secrets for a fork, and no filter of paths");
    let steps = job["steps"].as_vec().unwrap();
    for step in steps {
        assert!(step["if"].is_badvalue() && step["continue-on-error"].is_badvalue(), "{step:?}");
        let action = step["uses"].as_str().unwrap();
        let is_fixed = action.starts_with("./") || action.split_once('@').is_some_and(|(_, version)| version != "main");
        assert!(is_fixed, "{step:?} is another program tomorrow");
    }
    let inputs = &steps[1]["with"];
    assert!(inputs["fail-on-verdict"].is_badvalue() && inputs["base"].as_str() == Some("origin/main"));
    assert_eq!(steps[0]["with"]["fetch-depth"].as_i64(), Some(0), "for the base");
    let place = Place::new();
    place.copy("configs/softmax.toml");
    place.copy("kernels/softmax");
    place.write("configs/other.toml", &std::fs::read_to_string(root().join("configs/softmax.toml")).unwrap());
    let given: Vec<_> =
        inputs.as_hash().unwrap().iter().map(|(k, v)| (k.as_str().unwrap(), v.as_str().unwrap())).collect();
    commit(&place, "main");
    let refused = action(&place, &given, &[]);
    assert_eq!(refused.status, Some(3), "without a GPU: {refused:?}");
}

#[test]
fn the_trailer_of_the_page_is_one_that_git_and_the_action_read() {
    let text = std::fs::read_to_string(root().join("docs/how-to/gate-a-pull-request.md")).unwrap();
    let trailer = text.lines().find_map(|line| line.strip_prefix("    Accept-regression: ")).unwrap();
    let place = Place::new();
    place.copy("configs/softmax.toml");
    place.copy("kernels/softmax");
    place.copy("profiles/softmax/h200");
    let waiver = trailer.replace("PHASE", "softmax").replace("GATE", "no slower than plain");
    let gate = ["gate", "configs/softmax.toml", "profiles/softmax/h200"];
    assert_eq!(place.run(&gate).status, Some(1));
    let waived = place.run(&[&gate[..], &["--waive", &waiver]].concat());
    assert_eq!(waived.status, Some(0), "{waived:?}");
    assert!(waived.stdout.contains("is waived until"), "{}", waived.stdout);
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
