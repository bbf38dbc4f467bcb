//! `ncugate agent next`, `try` and `call` through the real binary.

use crate::command::{Place, binary, is_here, root};
use crate::live::machine_that_counts;
use std::time::Duration;

/// Runs the binary at the root of the repository.
fn at_root(args: &[&str]) -> crate::command::Finished {
    let place = Place::new();
    crate::command::Finished::of(place.ncugate(args).current_dir(root()))
}

#[test]
fn a_run_says_what_to_try_next_in_less_than_two_kilobytes() {
    let run = at_root(&["agent", "next", "profiles/softmax/h200"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stdout.len() <= 2001, "{}", run.stdout.len());
    let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(answer["selected"].is_string(), "{answer}");
}

#[test]
fn a_finished_sweep_is_continued_beyond_the_edges_that_its_best_variant_lies_on() {
    let next = at_root(&["agent", "next", "profiles/phase_d/h200"]);
    assert!(next.status == Some(0) && next.stdout.len() <= 2001, "{next:?}");
    let answer: serde_json::Value = serde_json::from_str(&next.stdout).unwrap();
    let space = serde_json::json!({
        "REGCAP": { "values": [64, 72, 80, 88, 96], "extend_to": 104 },
        "THREADS": { "values": [128, 192, 256], "extend_to": 320 },
        "TILE_M": { "values": [32, 64], "extend_to": 16 },
        "K_TILE": { "values": [16, 32, 64], "extend_to": 128 },
    });
    assert_eq!(answer["space"], space);
    let best = |name: &str, value: i64| {
        let mut params = serde_json::json!({ "REGCAP": 96, "THREADS": 256, "TILE_M": 32, "K_TILE": 64 });
        params[name] = value.into();
        serde_json::json!({ "params": params, "extends": name })
    };
    let beyond = [best("REGCAP", 104), best("THREADS", 320), best("TILE_M", 16), best("K_TILE", 128)];
    assert_eq!(answer["proposals"], serde_json::json!(beyond));
    let brief = at_root(&["explain", "profiles/phase_d/h200", "--for", "agent"]);
    let brief: serde_json::Value = serde_json::from_str(&brief.stdout).unwrap();
    assert_eq!(brief["task"]["space"], space);
}

#[test]
fn a_candidate_without_a_gpu_is_a_matter_of_the_environment_and_not_of_the_history() {
    let place = Place::new();
    place.copy("configs/softmax.toml");
    place.copy("kernels/softmax");
    let run = place.run(&["agent", "try", "configs/softmax.toml", "--source", "kernels/softmax/softmax.cu"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(3), ""), "{}", run.stderr);
    assert!(!place.path().join("profiles/softmax/attempts/history.jsonl").exists());
    let run = place.run(&["agent", "try", "configs/softmax.toml", "--source", "none.cu"]);
    assert_eq!(run.status, Some(2), "{}", run.stderr);
    let args = ["agent", "try", "configs/softmax.toml", "--source", "kernels/softmax/softmax.cu", "--set", "NONE=1"];
    assert_eq!(place.run(&args).status, Some(2));
}

#[test]
fn an_agent_calls_a_tool_by_standard_input_and_output() {
    let place = Place::new();
    place.copy("profiles/softmax/h200");
    let next = |run: &str| place.call("next", &serde_json::json!({ "run": run }));
    let advised = next("profiles/softmax/h200");
    let answer: serde_json::Value = serde_json::from_str(&advised.stdout).unwrap();
    assert_eq!((advised.status, &answer["isError"]), (Some(0), &false.into()), "{advised:?}");
    let text = answer.pointer("/content/0/text").unwrap().as_str().unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(text).unwrap()["verdict"].is_string());
    let failed = next("nowhere");
    let answer: serde_json::Value = serde_json::from_str(&failed.stdout).unwrap();
    assert_eq!((failed.status, &answer["isError"]), (Some(2), &true.into()), "{failed:?}");
    for (tool, arguments) in [("next", "[]"), ("next", ""), ("next", "{\"run\": 1}"), ("worker", "{}")] {
        let refused = crate::command::Finished::of(place.ncugate(&["agent", "call", tool]).write_stdin(arguments));
        assert!(refused.status == Some(2) && refused.stdout.is_empty(), "{refused:?}");
    }
}

#[test]
fn an_agent_measures_tries_and_reads_by_calls() {
    let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (head, tail) = phase.split_once("[[variant]]").unwrap();
    let (_, gates) = tail.split_once("[[gate]]").unwrap();
    let kernel = head.replace("entry = \"copy\"", "entry = \"copy_honest\"");
    place.write("phase.toml", &format!("{kernel}[sweep]\nTHREADS = [64, 128]\n[[gate]]{gates}"));
    place.write("new.cu", &std::fs::read_to_string(place.path().join("copy.cu")).unwrap());
    let launches = ["THREADS=64", "THREADS=128", "attempt", "elite"].map(|variant| ("copy_honest", variant, 10_000.0));
    let report = place.path().join("counted.ncu-rep");
    std::fs::write(&report, crate::stored::report_of_variants(&launches)).unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    let calls = serde_json::json!([
        ["run", { "config": "phase.toml" }],
        ["try", { "config": "phase.toml", "source": "new.cu", "params": { "THREADS": 128 } }],
        ["show", { "path": "copy" }],
        ["explain", { "path": "copy" }],
        ["explain", { "path": "achieved_occupancy" }],
        ["compare", { "a": "copy", "b": "copy" }],
        ["show", { "path": "counted.ncu-rep" }],
        ["run", { "config": "none.toml" }],
    ]);
    let results: Vec<serde_json::Value> = calls
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            let mut command = place.agent_call(call[0].as_str().unwrap(), &call[1]);
            let called =
                crate::command::Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)));
            let mut result: serde_json::Value =
                serde_json::from_str(&called.stdout).unwrap_or_else(|error| panic!("{error}: {called:?}"));
            assert_eq!(result["structuredContent"]["status"], called.status.unwrap(), "{called:?}");
            result["structuredContent"].take()
        })
        .collect();
    let [run, tried, shown, explained, metric, compared, report, refused] = results.as_slice() else {
        panic!("{results:?}")
    };
    assert_eq!((&run["status"], &run["answer"]["verdict"]), (&0.into(), &"pass".into()), "{run}");
    let selected = run["answer"]["selected"].as_str().unwrap();
    assert_eq!(format!("THREADS={}", run["answer"]["params"]["THREADS"]), selected, "{run}");
    assert!(run["answer"]["run"].as_str().unwrap().starts_with("profiles/copy/") && run["stdout"] == "", "{run}");
    assert!(run["answer"]["times"]["only"]["value"].as_str().unwrap().ends_with(" µs"), "{run}");
    // The same machine code is no faster.
    assert_eq!((&tried["status"], &tried["answer"]["accepted"]), (&0.into(), &false.into()), "{tried}");
    assert!(
        tried["answer"]["times"]["only"]["against"] == "elite" && tried["answer"]["proposals"].is_array(),
        "{tried}"
    );
    assert!(shown["status"] == 0 && shown["stdout"].as_str().unwrap().contains("(selected)"), "{shown}");
    assert!(explained["status"] == 0 && explained["answer"]["bottleneck"].is_object(), "{explained}");
    assert!(metric["status"] == 0 && metric["answer"].is_object(), "{metric}");
    assert!(compared["status"] == 0 && compared["answer"].is_null() && compared["stdout"] != "", "{compared}");
    assert!(report["status"] == 0 && report["stdout"].as_str().unwrap().contains("copy_honest"), "{report}");
    assert!(refused["status"] == 2 && refused["answer"].is_null() && refused["stderr"] != "", "{refused}");
}

/// The counters at the profiled shape, and the witness at the other.
#[test]
fn one_ncu_counts_all_that_an_attempt_needs() {
    let (place, mut variables) = machine_that_counts(&["copy_honest"], "rounds = 60\nshapes = [\"only\", \"wide\"]");
    let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (head, tail) = phase.split_once("[[variant]]").unwrap();
    let (_, gates) = tail.split_once("[[gate]]").unwrap();
    // The double always copies the same number of bytes.
    let kernel = head
        .replace("entry = \"copy\"", "entry = \"copy_honest\"")
        .replace("only = { S = 2048 }", "wide = { S = 2048, R = 2 }\nonly = { S = 2048, R = 1 }");
    place.write("phase.toml", &format!("{kernel}[sweep]\nTHREADS = [64, 128]\n[[gate]]{gates}"));
    let source = std::fs::read_to_string(place.path().join("copy.cu")).unwrap();
    place.write("new.cu", &source.replacen(".byte 0\n.zero 15", ".byte 9\n.zero 15", 1));
    let cases = ["attempt@only", "attempt@wide", "elite@only", "elite@wide"];
    let report = place.path().join("counted.ncu-rep");
    std::fs::write(&report, crate::stored::report_of_ranges(&cases.map(|case| ("copy_honest", case, 10_000.0))))
        .unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    let starts = place.path().join("starts.txt");
    variables.push(("NCUGATE_DOUBLE_STARTS", starts.display().to_string()));
    let mut command = place.ncugate(&["agent", "try", "phase.toml", "--source", "new.cu"]);
    let finished = crate::command::Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let said = std::fs::read_to_string(&starts).unwrap();
    assert_eq!(said.lines().filter(|line| line.starts_with("start ")).count(), 1, "{said}");
    let answer: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    let run = place.path().join(answer["run"].as_str().unwrap());
    let records = std::fs::read_to_string(run.join("profiles.jsonl")).unwrap();
    let records = records.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut counted: Vec<String> = records
        .filter(|record| record["outcome"]["status"] == "profiled" && record["outputs"].is_object())
        .filter(|record| record["metrics"].as_array().unwrap().contains(&"gpu__time_duration.sum".into()))
        .map(|record| format!("{}@{}", record["variant"].as_str().unwrap(), record["shape"].as_str().unwrap()))
        .collect();
    counted.sort();
    assert_eq!(counted, cases);
}

/// The script of tests/gpu knows no change beforehand: it follows the answers.
#[test]
fn the_scripted_agent_makes_a_kernel_faster_in_two_calls() {
    if !is_here("python3") {
        return;
    }
    let (place, mut variables) = machine_that_counts(&["copy_honest", "copy_twice"], "rounds = 60");
    let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (head, tail) = phase.split_once("[[variant]]").unwrap();
    let (_, gates) = tail.split_once("[[gate]]").unwrap();
    let kernel = head.replace("entry = \"copy\"", "entry = \"copy_{{ KIND }}\"");
    let space = "[sweep]\nKIND = [\"twice\", \"honest\"]\nTHREADS = [64, 128]\n";
    let start = "[[baseline]]\nname = \"start\"\nparams = { KIND = \"twice\", THREADS = 64 }\n";
    // The JSON of a run has no limit.
    let many =
        |number| format!("\n[[gate]]\nname = \"{number}{}\"\nrequire = \"registers <= 255\"\n", "long".repeat(60));
    let many: String = (0..400).map(many).collect();
    place.write("phase.toml", &format!("{kernel}{space}{start}[[gate]]{gates}{many}"));
    let honest = ["KIND=honest,THREADS=64", "KIND=honest,THREADS=128", "attempt"];
    let twice = ["KIND=twice,THREADS=64", "KIND=twice,THREADS=128", "start", "elite"];
    let launches: Vec<_> = honest.map(|variant| ("copy_honest", variant, 10_000.0)).into();
    let twice = twice.map(|variant| ("copy_twice", variant, 20_000.0));
    let report = place.path().join("counted.ncu-rep");
    std::fs::write(&report, crate::stored::report_of_variants(&[launches, twice.into()].concat())).unwrap();
    variables.push(("NCUGATE_DOUBLE_REPORT", report.display().to_string()));
    let mut command = crate::command::Program::new("python3");
    command.arg(root().join("tests/gpu/agent.py")).arg(binary()).args(["phase.toml", "copy.cu", "1.9"]);
    command.current_dir(place.path()).envs(variables).timeout(Duration::from_secs(100));
    let finished = crate::command::Finished::of(&mut command);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("2 calls; "), "{}", finished.stdout);
}

#[test]
fn a_phase_with_a_search_is_not_judged_by_a_run_that_no_search_made() {
    let place = Place::new();
    place.copy("configs/phase_d.toml");
    place.copy("kernels/sdpa_scalar");
    place.copy("profiles/phase_d/h200");
    let text = std::fs::read_to_string(root().join("configs/phase_d.toml")).unwrap();
    place.write("configs/phase_d.toml", &format!("{text}\n[search]\nbudget = {{ measured = 20 }}\n"));
    let run = place.run(&["gate", "configs/phase_d.toml", "profiles/phase_d/h200"]);
    assert_eq!(run.status, Some(3), "{}", run.stdout);
    assert!(run.stderr.contains("no candidates chosen by a search"), "{}", run.stderr);
}

#[test]
fn a_search_is_run_from_its_phase_and_its_winner_is_confirmed() {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let text = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (head, tail) = text.split_once("[[variant]]").unwrap();
    let (_, gates) = tail.split_once("[[gate]]").unwrap();
    let kernel = head.replace("\"copy\"\ndefines = [", "\"copy_honest\"\ndefines = [\"PAD\", ");
    let space = "[sweep]\nTHREADS = [64, 128]\nPAD = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n[search]\nbudget = { builds = 6 }\nbatch = 1\n";
    let known = "[[baseline]]\nname = \"known\"\nparams = { THREADS = 128, PAD = 7 }\n";
    place.write("phase.toml", &format!("{kernel}{space}{known}[[gate]]{gates}"));
    let run = |args: &[&str]| {
        let mut command = place.ncugate(args);
        crate::command::Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)))
    };
    let searched = run(&["run", "phase.toml", "--source", "gpu"]);
    // The report of the double of ncu has no launch of these variants, so no counter confirms the latency.
    assert_eq!(searched.status, Some(4), "{searched:?}");
    assert!(searched.stderr.contains("search: "), "{searched:?}");
    // The baseline is a point of the space. Its macro PAD changes nothing, so there are two machine codes.
    let mut folders = std::fs::read_dir(place.path().join("profiles/copy")).unwrap().map(|entry| entry.unwrap().path());
    let run_folder = folders.find(|folder| folder.join("search.jsonl").exists()).unwrap();
    let text = std::fs::read_to_string(run_folder.join("search.jsonl")).unwrap();
    let records: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tried: Vec<&serde_json::Value> = records.iter().filter(|record| record["event"] == "tried").collect();
    assert_eq!((tried.len(), tried[0]["variant"].as_str()), (6, Some("THREADS=128,PAD=7")), "{text}");
    let times = |tried: &&serde_json::Value| format!("{} {}", tried["code"], tried["outcome"]["us"]);
    let different: std::collections::BTreeSet<String> = tried.iter().map(times).collect();
    assert_eq!(different.len(), 2, "a machine code is timed once: {text}");
    let finalists = records.last().unwrap()["finalists"].as_array().unwrap();
    assert_eq!(finalists.len(), 2, "{text}");
    let report = place.path().join("reports/copy").join(run_folder.file_name().unwrap());
    let page = std::fs::read_to_string(report.join("report.html")).unwrap();
    assert!(page.contains("<section id=\"search\""), "the search is on the page");
    // A planted journal does not count; that of a killed search does.
    let key = &records[0]["key"].as_str().unwrap()[..16];
    let journal = place.write(&format!("profiles/copy/search/{key}/search.jsonl"), &text);
    let planted = run(&["run", "phase.toml", "--source", "gpu"]);
    let said = "starting a new search";
    assert!(planted.stderr.contains(said) && planted.stderr.contains("this user has no record"), "{planted:?}");
    assert!(!planted.stderr.contains("continuing a search"), "{planted:?}");
    let mut child = crate::concurrent::start(&place, &variables, &["run", "phase.toml", "--source", "gpu"]);
    let tried = || std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("\"tried\""));
    crate::command::wait_for("a variant was tried", tried);
    child.kill().unwrap();
    child.wait().unwrap();
    let again = run(&["run", "phase.toml", "--source", "gpu"]);
    assert!(again.stderr.contains("continuing a search after"), "{again:?}");
    assert!(!again.stderr.contains(said), "{again:?}");
    let ledgers = place.path().join("state/ncugate/unfinished");
    assert!(std::fs::read_dir(ledgers).unwrap().next().is_none(), "runs and searches are complete");
    let part = run(&["run", "phase.toml", "--source", "gpu", "--filter", "PAD == 3"]);
    assert_eq!(part.status, Some(2), "{part:?}");
    assert!(part.stderr.contains("a search proposes those of this phase"), "{}", part.stderr);
    // A failure that affects every variant is not retried for each of them.
    std::fs::File::create(place.path().join("copy.cu")).unwrap().set_len(65 << 20).unwrap();
    let useless = run(&["run", "phase.toml", "--source", "gpu", "--fresh"]);
    assert_eq!(useless.status, Some(1), "{useless:?}");
    assert!(
        useless.stderr.contains("all 2 tried variants fail for the same reason: does not build: cannot read"),
        "{useless:?}"
    );
}

/// A server of the protocol ends a cancelled call by a signal.
#[test]
fn a_call_that_is_ended_leaves_no_compiler() {
    let place = Place::new();
    let seconds = "40.0404";
    let nvcc = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'release 13.0, V13.0.88' && exit\ntouch started\nsleep {seconds}\n"
    );
    place.write_program("bin/nvcc", &nvcc);
    place.write("copy.cu", "extern \"C\" __global__ void copy() {}\n");
    let gate = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 10.5\"\n";
    let variant = "[[variant]]\nname = \"copy\"\nparams = { THREADS = 128 }\n";
    place.write("phase.toml", &format!("{}{variant}{gate}", include_str!("../data/copy.toml")));
    let path = format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = std::process::Command::new(binary());
    command.args(["agent", "call", "check"]).current_dir(place.path()).env("PATH", path).env_remove("CUDA_HOME");
    command.env("NCUGATE_CACHE", place.path().join("cache")).env("CUDA_VISIBLE_DEVICES", "");
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"{\"config\": \"phase.toml\"}").unwrap();
    crate::command::wait_for("nvcc was started", || place.path().join("started").exists());
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    crate::command::wait_for("the call is ended", || !crate::safety::runs(seconds));
    assert!(!child.wait().unwrap().success());
}

#[test]
fn an_agent_runs_no_program_by_a_check_and_leaves_its_folder_by_none() {
    let place = Place::new();
    place.write_program("evil", "#!/bin/sh\ntouch EXECUTED\n");
    place.write("copy.cu", "");
    place.write("evil.py", "open('EXECUTED', 'w')\ndef f(x): pass\n");
    let gate = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 10.5\"\n";
    let variant = "[[variant]]\nname = \"copy\"\nparams = { THREADS = 128 }\n";
    let phase = format!("{}{variant}{gate}", include_str!("../data/copy.toml"));
    let reference = phase.lines().find(|line| line.starts_with("reference")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("phase.toml"), &phase).unwrap();
    std::fs::write(outside.path().join("copy.cu"), "").unwrap();
    std::os::unix::fs::symlink(outside.path(), place.path().join("link")).unwrap();
    for (name, text, said) in [
        ("nvcc", format!("{phase}[build]\nnvcc = \"./evil\"\n"), "`build.nvcc` names ./evil"),
        ("python", format!("{phase}[build]\npython = \"./evil\"\n"), "`build.python` names"),
        ("cache", format!("{phase}[build]\ncache = \"/tmp\"\n"), "`build.cache` names"),
        (
            "reference",
            phase.replace(reference, "reference = { command = [\"./evil\"] }"),
            "`workload.reference` is a program",
        ),
        ("host", phase.replace("[kernel]", "[kernel]\nflags = [\"-ccbin\", \"./evil\"]"), "`flags` has `-ccbin`"),
        ("shell", phase.replace("[kernel]", "[kernel]\nflags = [\"-DX=$(./evil)\"]"), "which a shell may interpret"),
        ("source", phase.replace("\"copy.cu\"", "\"link/copy.cu\""), "outside the working directory"),
        ("input", phase.replace("init = \"normal\"", "init = { npy = \"/etc/passwd\" }"), "/etc/passwd is outside"),
        ("ncu", format!("{phase}[profile]\nncu = \"./evil\"\n"), "`profile.ncu` names ./evil"),
    ] {
        assert_ne!(text, phase, "{name}");
        place.write(&format!("{name}.toml"), &text);
        let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
        let check = |config: &str| {
            let arguments = serde_json::json!({ "config": config });
            let mut command = place.agent_call("check", &arguments);
            crate::command::Finished::of(command.env("PATH", &path).env_remove("CUDA_HOME"))
        };
        let checked = check(&format!("{name}.toml"));
        let answer: serde_json::Value =
            serde_json::from_str(&checked.stdout).unwrap_or_else(|error| panic!("{error}: {checked:?}"));
        let result = &answer["structuredContent"];
        assert_eq!(result["status"], 2, "{name}: {answer}");
        assert!(result["stderr"].as_str().unwrap().contains(said), "{name}: {answer}");
        for elsewhere in ["link/phase.toml", outside.path().join("phase.toml").to_str().unwrap(), "../phase.toml"] {
            let refused = check(elsewhere);
            assert!(
                refused.status == Some(2) && refused.stderr.contains("is outside the working directory"),
                "{elsewhere}: {refused:?}"
            );
        }
        assert!(!place.path().join("EXECUTED").exists(), "{name}");
    }
}

#[test]
fn an_agent_reads_no_run_that_a_name_leads_out_to() {
    let (place, outside) = (Place::new(), tempfile::tempdir().unwrap());
    place.copy("profiles/softmax/h200");
    std::fs::create_dir(outside.path().join("softmax")).unwrap();
    let (kept, moved) = (place.path().join("profiles/softmax/h200"), outside.path().join("softmax/h200"));
    let next = |run: &str| {
        let called = place.call("next", &serde_json::json!({ "run": run }));
        called.stdout + &called.stderr
    };
    assert!(next("softmax").contains("findings"), "a run in the folder of runs has a name");
    assert!(std::process::Command::new("cp").arg("-r").args([&kept, &moved]).status().unwrap().success());
    std::fs::remove_dir_all(&kept).unwrap();
    std::os::unix::fs::symlink(&moved, &kept).unwrap();
    for run in ["softmax", "h200", "latest", "profiles/softmax", "profiles/softmax/h200"] {
        let refused = next(run);
        assert!(refused.contains("is outside the working directory"), "{run}: {refused}");
    }
}
