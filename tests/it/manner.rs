//! Common options of all commands: JSON, verbosity, colours; and explanations of metrics.

use crate::command::{Place, has_python, root};
use serde_json::Value;

fn json(place: &Place, arguments: &[&str]) -> Value {
    let finished = crate::command::Finished::of(place.ncugate(arguments).current_dir(crate::command::root()));
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

#[test]
fn commands_print_results_as_json_only() {
    let place = Place::new();
    let check =
        json(&place, &["check", "configs/softmax.toml", "configs/phase_d.toml", "--no-build", "--format", "json"]);
    assert_eq!((check[0]["candidates"].as_u64(), check[1]["candidates"].as_u64()), (Some(12), Some(90)));
    assert_eq!((check[0]["outcome"].as_str(), check[0]["arch"].is_null()), (Some("pass"), true));
    let recordings = ["profiles/softmax/h200", "profiles/phase_d/h200"];
    let compared = json(&place, &["compare", recordings[0], recordings[0], "--format", "json"]);
    assert!(compared.is_object(), "{compared}");
    let entries = json(&place, &["leaderboard", "list", "regression", "--format", "json"]);
    assert_eq!(entries[0]["phase"], "regression");
    let history = json(&place, &["leaderboard", "show", "regression", "--format", "json"]);
    assert!(!history.as_array().unwrap().is_empty());
    assert!(json(&place, &["doctor", "--format", "json"])["checks"].is_array());
    let metric = json(&place, &["explain", "achieved_occupancy", "--format", "json"]);
    assert_eq!(metric["unit"], "%");
}

#[test]
fn commands_that_write_list_their_files_as_json() {
    let place = Place::new();
    let at = |name: &str| place.path().join(name).display().to_string();
    let drafted = json(&place, &["init", "kernels/softmax/softmax.cu", "-o", &at("s.toml"), "--format", "json"]);
    assert!(drafted["files"][0]["places"][0]["line"].is_u64(), "{drafted}");
    let run = "profiles/softmax/h200";
    let kept = json(&place, &["tools", "record", run, "-o", &at("kept"), "--format", "json"]);
    assert!(kept["variants"].as_u64().unwrap() > 10 && kept["bytes"].as_u64().unwrap() > 1000, "{kept}");
    let report = root().join(run).join("reports").read_dir().unwrap().next().unwrap().unwrap().path();
    let redacted =
        json(&place, &["tools", "redact", report.to_str().unwrap(), "-o", &at("r.ncu-rep"), "--format", "json"]);
    assert!(redacted["bytes"].as_u64().unwrap() > 100, "{redacted}");
    let profiles = at("kept-profiles");
    let promote = ["leaderboard", "promote", "profiles/sdpa_fast/h200", "--profiles", &profiles, "--format", "json"];
    let promoted = json(&place, &promote);
    assert_eq!((promoted["promoted"].as_bool(), promoted["before"].is_null()), (Some(true), true), "{promoted}");
    let again = json(&place, &promote);
    assert_eq!(again["promoted"], false, "{again}");
    place.copy("profiles/softmax");
    let runs = at("profiles");
    let index = json(&place, &["history", "--profiles", &runs, "--reports", &at("reports"), "--format", "json"]);
    assert!(index["page"].is_string() && index["not_judged"].is_array(), "{index}");
    let small = include_str!("../data/copy.toml").to_owned() + "[sweep]\nTHREADS = [64]\n";
    let small = place.write("small.toml", &small).display().to_string();
    let inputs = json(&place, &["tools", "inputs", &small, "-o", &at("inputs"), "--format", "json"]);
    assert!(inputs["arrays"].as_u64().unwrap() > 1, "{inputs}");
    let slurm = json(&place, &["cluster", "slurm", "configs/softmax.toml", "--dry-run", "--format", "json"]);
    assert!(slurm["scripts"][0]["text"].as_str().unwrap().contains("#SBATCH"), "{slurm}");
    let table = json(&place, &["export", run, "--to", "json"]);
    assert!(table[0]["variant"].is_string(), "{}", table[0]);
    // both in ns
    let time = |metric: &str| table[0][metric].as_f64().unwrap();
    assert!((0.1..1.0).contains(&(time("latency_p50") / time("duration"))), "{}", table[0]);
    let launches = json(&place, &["export", run, "--to", "json", "--wide", "--metric", "duration"]);
    let case =
        |launch: &Value| format!("{}@{}", launch["variant"].as_str().unwrap(), launch["shape"].as_str().unwrap());
    assert!(launches.as_array().unwrap().iter().all(|launch| launch["nvtx"] == case(launch)), "{launches}");
    assert!(launches.as_array().unwrap().iter().any(|launch| launch["repeat"] == 1), "{launches}");
}

#[test]
fn every_command_answers_in_json() {
    let place = Place::new();
    let page = place.run(&["--help"]).stdout;
    let (commands, _) = page.split_once("Options:").unwrap();
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let names: Vec<&str> = commands.lines().filter(is_name).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 12 && names.len() <= 18, "{names:?}");
    // These write files in other formats, or always JSON.
    let others = ["page", "export", "agent"];
    let groups = [("leaderboard", "list"), ("cluster", "slurm"), ("tools", "inputs")];
    for name in names.iter().filter(|name| !others.contains(name)) {
        let inner = match groups.iter().find(|(group, _)| group == name) {
            Some((_, inner)) => vec![*inner],
            // The Python package prints its help.
            None if *name == "problem" && !has_python() => continue,
            None if *name == "problem" => vec!["import", "kernelbench"],
            None => Vec::new(),
        };
        let help = place.run(&[&[*name][..], &inner, &["--help"]].concat());
        assert!(help.stdout.contains("--format"), "{name}");
    }
}

#[test]
fn a_metric_is_explained_by_its_name() {
    let place = Place::new();
    let own = place.run(&["explain", "bank_conflict_pct"]);
    assert!(
        own.status == Some(0) && own.stdout.contains("counted") && own.stdout.contains("better   lower"),
        "{own:?}"
    );
    let ncu = place.run(&["explain", "sm__throughput.avg.pct_of_peak_sustained_elapsed"]);
    assert!(ncu.status == Some(0) && ncu.stdout.contains("streaming multiprocessor"), "{ncu:?}");
    let near = place.run(&["explain", "achieved_ocupancy"]);
    assert!(near.status == Some(2) && near.stderr.contains("did you mean `achieved_occupancy`?"), "{near:?}");
}

#[test]
fn quiet_prints_only_the_verdict_and_colours_follow_the_option() {
    let place = Place::new();
    let run =
        |more: &[&str]| place.run_at_root(&[&["run", "configs/phase_d.toml", "--source", "recorded"], more].concat());
    let quiet = run(&["-q"]);
    assert_eq!(quiet.status, Some(1));
    assert!(quiet.stdout.starts_with("FAIL ") && quiet.stdout.lines().count() < 6, "{quiet:?}");
    assert!(quiet.stderr.is_empty(), "{quiet:?}");
    assert!(run(&["--color", "always"]).stdout.contains('\u{1b}'));
    assert!(!run(&["--color", "never"]).stdout.contains('\u{1b}'));
    assert!(!run(&[]).stdout.contains('\u{1b}'), "NO_COLOR is set, and this is not a terminal");
    assert_eq!(run(&["-q", "-v"]).status, Some(2));
    place.write("wrong.toml", "[phase]\nname = 3\n");
    let wrong = place.run(&["--color", "always", "check", "wrong.toml"]);
    assert!(wrong.status == Some(2) && wrong.stderr.contains('\u{1b}'), "{wrong:?}");
}

#[test]
fn a_removed_command_or_value_names_what_replaces_it() {
    let place = Place::new();
    for (args, instead) in [
        (&["bisect", "v1.0", "main", "phase.toml"][..], "git bisect run ncugate run CONFIG"),
        (&["tools", "bisect", "v1.0", "main", "phase.toml"], "--bisect-status"),
        (&["export", "latest", "--to", "perfetto"], "--to json --wide"),
        (&["cluster", "hq", "phase.toml"], "--shard I/N"),
        (&["agent", "serve"], "ncugate-mcp"),
        (&["tools", "man", "man"], "ncugate help COMMAND"),
        (&["complete", "--", "r"], "tools completions SHELL"),
        (&["tools", "verify-tuning", "table.json", "--phase", "phase.toml"], "`ncugate-verify-tuning`"),
        (&["cluster", "slurm", "phase.toml", "--retries", "2"], "requeues lost tasks"),
        (&["cluster", "slurm", "phase.toml", "--jobs", "elsewhere"], "the folder `jobs` of the project"),
        (&["agent", "try", "phase.toml", "--source", "a.cu", "--parent", "1"], "the best so far"),
        (&["cluster", "slurm", "phase.toml", "--nodes", "4"], "`--gres` with the GPUs of all nodes"),
        (&["cluster", "slurm", "phase.toml", "--time=30"], "`--option=--time=TIME`"),
        (&["cluster", "slurm", "phase.toml", "--interval", "1"], "a long job is queried every 10 s"),
        (&["agent", "try", "phase.toml", "--source", "a.cu", "--param", "N=1"], "`--set NAME=VALUE`"),
        (&["tools", "occupancy", "cc=9.0", "--cluster", "2"], "ncugate check CONFIG"),
        (&["tools", "occupancy", "--cc", "9.0", "--registers", "96"], "`cc=9.0 registers=96"),
        (&["record", "latest", "-o", "kept"], "`ncugate tools record RUN -o DIR`"),
        (&["show", "latest", "--rules"], "`--view`"),
        (&["show", "a.ncu-rep", "--source-metrics", "--format", "csv"], "`--view`"),
        (&["show", "a.ncu-rep", "--detail", "session"], "`--view`"),
        (&["gate", "phase.toml", "a.ncu-rep", "--assume-unedited"], "`--assume unedited`"),
        (&["explain", "latest", "--sweep", "--objectives", "latency_p50"], "`--metric METRIC,...`"),
    ] {
        let finished = place.run(args);
        assert_eq!(finished.status, Some(2), "{finished:?}");
        assert!(finished.stderr.contains("it was removed; use ") && finished.stderr.contains(instead), "{finished:?}");
    }
    for args in [&["bisection"][..], &["run", "phase.toml", "--jobs", "1"], &["leaderboard", "show", "p", "--rules"]] {
        let unknown = place.run(args);
        assert!(unknown.status == Some(2) && !unknown.stderr.contains("removed"), "{unknown:?}");
    }
}
