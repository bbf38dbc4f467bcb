//! `ncugate-verify-tuning` over a table made by the test, as docs/how-to/verify-a-tuned-table.md has it.

use crate::command::{Finished, Place, has_python, root};
use crate::live::machine_of_kernels;
use crate::stored::report_of_ranges;
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// A table of vLLM whose first pick takes twice as long as the default.
const TABLE: &str =
    r#"{"1": {"KERNEL": "copy_twice", "THREADS": 128}, "2": {"KERNEL": "copy_honest", "THREADS": 128}}"#;
const FILE: &str = "E=8,N=7168,device_name=Double.json";

fn machine() -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) = machine_of_kernels(&["copy_honest", "copy_twice", "copy_wrong"], "rounds = 30");
    // ncu counts the kernels of the bucket that is measured.
    let (fast, slow) = (("copy_honest", 10_000.0), ("copy_twice", 20_000.0));
    for (bucket, pick, neighbour, other) in [(1, slow, "of_bucket_after", fast), (2, fast, "of_bucket_before", slow)] {
        let neighbour = format!("{neighbour}@bucket");
        let launches = [("pick@bucket", pick), ("default@bucket", fast), (neighbour.as_str(), other)];
        let launches = launches.map(|(range, (kernel, duration))| (kernel, range, duration));
        fs::write(place.path().join(format!("{bucket}.ncu-rep")), report_of_ranges(&launches)).unwrap();
    }
    fs::rename(place.path().join("bin/ncu"), place.path().join("bin/double")).unwrap();
    let ncu = "#!/bin/sh\nrun=$(ls -td profiles/*/*/ | head -n 1); grep -qs of_bucket_before $run/phase.toml; bucket=$((2 - $?))\n\
               NCUGATE_DOUBLE_REPORT=$PWD/$bucket.ncu-rep exec sh bin/double \"$@\"\n";
    place.write_program("bin/ncu", ncu);
    let text = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let (workload, _) = text.split_once("[[variant]]").unwrap();
    let workload = workload.replace("entry = \"copy\"", "entry = \"{{ KERNEL }}\"");
    let sweep = "[sweep]\nKERNEL = [\"copy_honest\"]\nTHREADS = [128]\n";
    let default = "[[baseline]]\nname = \"default\"\nparams = { KERNEL = \"copy_honest\", THREADS = 128 }\n";
    place.write("phase.toml", &format!("{workload}{sweep}{default}[bench]\nrounds = 30\n"));
    place.write(FILE, TABLE);
    (place, variables)
}

fn verify(place: &Place, variables: &[(&'static str, String)], args: &[&str]) -> Finished {
    let mut command = place.python("ncugate.verify_tuning", args);
    Finished::of(command.envs(variables.to_vec()).timeout(Duration::from_secs(200)))
}

#[test]
fn a_pick_that_loses_to_the_default_fails_and_its_rival_is_pinned() {
    if !has_python() {
        return;
    }
    let page = fs::read_to_string(root().join("docs/how-to/verify-a-tuned-table.md")).unwrap();
    let command = page.lines().find_map(|line| line.strip_prefix("    ncugate-verify-tuning ")).unwrap();
    // The kernels of the double of the driver copy one size.
    let command = command
        .replace("NVIDIA_H200", "Double")
        .replace("configs/moe.toml", "phase.toml")
        .replace("--key M", "--key _");
    let args: Vec<&str> = command.split_whitespace().chain(["--format", "json", "--runs", "2"]).collect();
    let (place, variables) = machine();
    let finished = verify(&place, &variables, &args);
    assert_eq!(finished.status, Some(1), "{finished:?}");
    let buckets: Value = serde_json::from_str(&finished.stdout).unwrap();
    let (first, second) = (&buckets[0], &buckets[1]);
    assert_eq!((&first["result"], &first["pinned"]), (&"fail".into(), &"of_bucket_after".into()), "{first}");
    assert_eq!((&first["stability"], first["runs"].as_array().unwrap().len()), (&"stable".into(), 2));
    let comparison = &first["comparisons"][0];
    assert_eq!((&comparison["against"], &comparison["standing"]), (&"default".into(), &"slower".into()), "{first}");
    let speedup = comparison["speedups"][0][0].as_f64().unwrap();
    assert!((speedup - 0.5).abs() < 0.1, "{first}");
    assert_eq!((&second["result"], &second["pinned"]), (&"pass".into(), &"pick".into()), "{second}");
    assert_eq!((&second["ties"], &second["comparisons"][1]["standing"]), (&vec!["default"].into(), &"faster".into()));
    let pinned = fs::read_to_string(place.path().join("pinned").join(FILE)).unwrap();
    let (pinned, table): (Value, Value) =
        (serde_json::from_str(&pinned).unwrap(), serde_json::from_str(TABLE).unwrap());
    assert_eq!((&pinned["1"], &pinned["2"]), (&table["2"], &table["2"]));

    let lenient = [FILE, "--phase", "phase.toml", "--key", "_", "--runs", "1", "--require", "speedup() >= 0.3"];
    let lenient = verify(&place, &variables, &lenient);
    assert_eq!(lenient.status, Some(0), "{lenient:?}");
    assert!(lenient.stdout.contains("  pick slower against default: 0.5x ("), "{}", lenient.stdout);
    assert!(lenient.stdout.ends_with("pass: 2 buckets, 1 with ties, 0 unstable\n"), "{}", lenient.stdout);
}

#[test]
fn a_table_of_another_gpu_or_without_a_format_is_refused() {
    if !has_python() {
        return;
    }
    let (place, variables) = machine();
    let other = FILE.replace("Double", "NVIDIA_H200");
    place.write(&other, TABLE);
    let status = |args: &[&str]| {
        let finished = verify(&place, &variables, &[args, &["--phase", "phase.toml"]].concat());
        (finished.status, finished.stderr)
    };
    let (code, said) = status(&[&other, "--key", "_"]);
    assert!(code == Some(3) && said.contains("is for NVIDIA_H200, but this GPU is Double"), "{code:?} {said}");
    place.write("other.json", "{\"a\": 1}");
    let (code, said) = status(&["other.json"]);
    assert!(code == Some(2) && said.contains("no table of Triton"), "{code:?} {said}");
    let (code, said) = status(&[FILE]);
    assert!(code == Some(2) && said.contains("no dimension `M`"), "{code:?} {said}");
    place.write(&format!("other/{FILE}"), TABLE);
    let (code, said) = status(&[FILE, &format!("other/{FILE}"), "--key", "_", "--output", "pinned"]);
    assert!(code == Some(2) && said.contains("two tables have the name"), "{code:?} {said}");
}

/// Work that was not done is no pass: parameters that nothing uses, a default without a latency, a pick that is wrong or
/// does not run at the shape of its bucket.
#[test]
fn a_pick_that_was_not_measured_does_not_pass() {
    if !has_python() {
        return;
    }
    let (place, variables) = machine();
    let phase = fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let default = "params = { KERNEL = \"copy_honest\"";
    let cases = [
        ("{}", phase.clone(), 2, "KERNEL"),
        (r#"{"KERNEL": "copy_honest", "THREADS": 128, "WARPS": 4}"#, phase.clone(), 2, "WARPS"),
        (r#"{"KERNEL": "copy_honest", "THREADS": NaN}"#, phase.clone(), 2, "THREADS"),
        (r#"{"KERNEL": "copy_absent", "THREADS": 128}"#, phase.clone(), 1, "copy_absent"),
        (r#"{"KERNEL": "copy_wrong", "THREADS": 128}"#, phase.clone(), 1, "wrong"),
        (
            r#"{"KERNEL": "copy_honest", "THREADS": 128}"#,
            phase.replace(default, "params = { KERNEL = \"copy_wrong\""),
            4,
            "default",
        ),
        (
            r#"{"KERNEL": "copy_honest", "THREADS": 128}"#,
            phase.replace("args = [\"x\", \"y\"]", "args = [\"x\", \"y\"]\nwhere = \"S > 4096\""),
            2,
            "excludes every shape",
        ),
    ];
    for (pick, phase, status, words) in cases {
        place.write("phase.toml", &phase);
        place.write(FILE, &format!("{{\"1\": {pick}}}"));
        let more = ["--key", "_", "--runs", "1", "--output", "pinned"];
        let finished = verify(&place, &variables, &[&[FILE, "--phase", "phase.toml"][..], &more].concat());
        let said = format!("{}{}", finished.stdout, finished.stderr);
        assert!(finished.status == Some(status) && said.contains(words), "{pick}: {finished:?}");
        assert!(!place.path().join("pinned").exists(), "a table of picks that were not measured: {finished:?}");
    }
    // A requirement that its machine code holds does not say that it was compared with anything.
    place.write("phase.toml", &phase.replace(default, "params = { KERNEL = \"copy_wrong\""));
    place.write(FILE, r#"{"1": {"KERNEL": "copy_honest", "THREADS": 128}}"#);
    let more = ["--key", "_", "--runs", "1", "--require", "registers <= 64"];
    let finished = verify(&place, &variables, &[&[FILE, "--phase", "phase.toml"][..], &more].concat());
    assert_eq!(finished.status, Some(4), "{finished:?}");
}
