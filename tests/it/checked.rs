//! Results of `check` before any build: missing files and unknown metrics.

use crate::command::{Finished, Place};
use crate::live::machine_that_counts;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

/// Checks `tests/data/copy.toml` with `more` appended, without a build.
fn checked(place: &Place, from: &str, to: &str, more: &str) -> Finished {
    let phase = include_str!("../data/copy.toml");
    assert!(phase.contains(from), "{from}");
    place.write("phase.toml", &format!("{}{more}", phase.replace(from, to)));
    Finished::of(place.ncugate(&["check", "phase.toml", "--no-build"]).timeout(SOON))
}

const ONE: &str = "[sweep]\nTHREADS = [64]\n";

#[test]
fn a_grid_by_the_number_of_sms_is_checked_for_the_given_one() {
    let place = Place::new();
    let grid = |grid: &str| {
        checked(&place, "grid = [\"S // THREADS\"]", grid, ONE);
        let of = |sms: &[&str]| place.run(&[&["check", "phase.toml", "--no-build"], sms].concat());
        (of(&[]), of(&["--sms", "148"]))
    };
    let note = "the launches are checked for 132 SMs; give the number of your GPU with --sms";
    let (usual, own) = grid("grid = [\"min(sms, S // THREADS)\"]");
    assert!(usual.status == Some(0) && usual.stdout.contains(note), "{usual:?}");
    assert!(own.status == Some(0) && !own.stdout.contains(note), "{own:?}");
    let (usual, own) = grid("grid = [\"148 - sms\"]");
    assert_eq!((usual.status, own.status), (Some(0), Some(2)), "{usual:?}\n{own:?}");
    assert!(own.stderr.contains("`kernel.grid[0]` is \"148 - sms\", which gives 0"), "{own:?}");
    assert!(!grid("grid = [\"S // THREADS\"]").0.stdout.contains("SMs"));
}

#[test]
fn every_file_that_a_phase_names_has_to_be_there() {
    let place = Place::new();
    assert_eq!(checked(&place, "[kernel]", "[kernel]", ONE).status, Some(0));
    let reference = "reference = \"copy\"";
    let init = "init = \"normal\"";
    let variant = "[[variant]]\nname = \"own\"\n";
    for (from, to, more, key) in [
        ("\"copy.cu\"", "\"gone.cu\"", ONE.to_owned(), "kernel.source"),
        ("source = \"copy.cu\"", "ptx = \"gone.ptx\"", "[sweep]\nTHREADS = [64]\n".to_owned(), "kernel.ptx"),
        (reference, "reference = { python = \"gone.py:f\" }", ONE.to_owned(), "workload.reference.python"),
        (reference, "reference = { command = [\"sh\", \"gone.sh\"] }", ONE.to_owned(), "workload.reference.command[1]"),
        (reference, "reference = { npy = \"gone_{{ buffer }}.npy\" }", ONE.to_owned(), "workload.reference.npy"),
        (
            reference,
            "reference = { entry = \"copy\", source = \"gone.cu\", grid = [1], block = [1] }",
            ONE.to_owned(),
            "workload.reference.source",
        ),
        (init, "init = { npy = \"gone_{{ seed }}.npy\" }", ONE.to_owned(), "workload.buffers.x.init.npy"),
        ("[kernel]", "[kernel]", format!("{variant}python = \"gone.py:f\"\n"), "variant[0].python"),
        ("[kernel]", "[kernel]", format!("{variant}command = [\"sh\", \"gone.sh\"]\n"), "variant[0].command[1]"),
        ("[kernel]", "[kernel]", format!("{variant}command = [\"./gone\"]\n"), "variant[0].command[0]"),
        (
            "[kernel]",
            "[kernel]",
            format!("{ONE}[[baseline]]\nname = \"b\"\npython = \"gone.py:f\"\n"),
            "baseline[0].python",
        ),
        (
            "[kernel]",
            "[kernel]",
            format!("{variant}params = {{ THREADS = 64 }}\nkernel = {{ source = \"gone.cu\" }}\n"),
            "variant[0].kernel.source",
        ),
    ] {
        let to = if key == "kernel.ptx" { format!("{to}\n") } else { to.to_owned() };
        let missing = match key {
            // PTX is not preprocessed
            "kernel.ptx" => {
                let phase =
                    include_str!("../data/copy.toml").replace(from, &to).replace("defines = [\"THREADS\"]\n", "");
                place.write("phase.toml", &format!("{phase}{more}"));
                place.run(&["check", "phase.toml", "--no-build"])
            }
            _ => checked(&place, from, &to, &more),
        };
        assert_eq!(missing.status, Some(2), "{key}: {missing:?}");
        let said = format!("`{key}` is `");
        assert!(
            missing.stderr.contains(&said) && missing.stderr.contains("which does not exist"),
            "{key}: {missing:?}"
        );
        assert!(missing.stderr.contains("phase.toml:"), "{key} has a line: {missing:?}");
    }
}

#[test]
fn a_path_with_parameters_is_tried_for_each_variant() {
    let place = Place::new();
    place.write("copy_64.cu", "");
    let templated = |more: &str| checked(&place, "\"copy.cu\"", "\"copy_{{ THREADS }}.cu\"", more);
    assert_eq!(templated(ONE).status, Some(0));
    let missing = templated("[sweep]\nTHREADS = [64, 128, 256]\n");
    let said = "`kernel.source` is `copy_128.cu`, which does not exist, for variant THREADS=128 and 1 more";
    assert!(missing.status == Some(2) && missing.stderr.contains(said), "{missing:?}");
}

#[test]
fn a_folder_or_a_pipe_is_no_file() {
    let place = Place::new();
    place.write("folder/x", "");
    nix::unistd::mkfifo(&place.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in ["folder", "pipe", "/dev/null"] {
        let refused = checked(&place, "\"copy.cu\"", &format!("\"{path}\""), ONE);
        assert!(refused.status == Some(2) && refused.stderr.contains("not a regular file"), "{path}: {refused:?}");
    }
}

#[test]
fn an_optional_tool_that_is_missing_is_a_note() {
    let place = Place::new();
    let more = format!("{ONE}[profile]\nncu = \"/gone/ncu\"\n");
    let noted = checked(&place, "name = \"copy\"", "name = \"copy\"\nrecording = \"profiles/gone\"", &more);
    assert_eq!(noted.status, Some(0), "{noted:?}");
    for said in ["`profile.ncu` is `/gone/ncu`", "add one with `ncugate tools record`"] {
        assert!(noted.stdout.contains(said), "{said}: {noted:?}");
    }
}

#[test]
fn a_metric_that_no_chip_has_is_warned_of_with_the_nearest_name() {
    let place = Place::new();
    let known = "sm__warps_active.avg.pct_of_peak_sustained_active";
    let gate = |metric: &str| {
        format!(
            "{ONE}[profile]\nmetrics = [\"dram__byte.sum\"]\n[[gate]]\nrequire = \"{metric} >= 10\"\n[[tier]]\nname = \"t\"\nrequire = [\"{metric} >= 20\"]\n"
        )
    };
    let typed = "sm__warps_activ.avg.pct_of_peak_sustained_active";
    let warned = checked(&place, "[kernel]", "[kernel]", &gate(typed));
    assert_eq!(warned.status, Some(0), "{warned:?}");
    for said in [
        format!("`{typed}` (gate at line 25, gate at line 29) is not a metric of compute capability 7.5 to 12.1"),
        format!("did you mean `{known}`?"),
        "`dram__byte.sum` (`profile.metrics`)".to_owned(),
        "did you mean `dram__bytes.sum`?".to_owned(),
    ] {
        assert!(warned.stdout.contains(&said), "{said}: {}", warned.stdout);
    }
    let fine = checked(&place, "[kernel]", "[kernel]", &gate(known).replace("dram__byte.", "dram__bytes."));
    assert!(fine.status == Some(0) && !fine.stdout.contains("no metric of"), "{fine:?}");
}

/// Two kernels with 32 registers, built by the double of nvcc; `more` replaces the gate of the phase.
fn built(more: &str) -> (Place, Vec<(&'static str, String)>) {
    let (place, variables) = machine_that_counts(&["copy_honest", "copy_slow"], "rounds = 5");
    let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let gate = "[[gate]]\nname = \"latency\"\nrequire = \"latency_p50 <= 10.5\"\n";
    assert!(phase.contains(gate), "{phase}");
    place.write("phase.toml", &phase.replace(gate, more));
    (place, variables)
}

fn check_built(more: &str, arguments: &[&str]) -> Finished {
    let (place, variables) = built(more);
    let mut command = place.ncugate(&[&["check", "phase.toml", "--arch", "sm_90"], arguments].concat());
    Finished::of(command.envs(variables).timeout(Duration::from_secs(60)))
}

fn stage(name: &str, require: &str, on_failure: &str) -> String {
    format!(
        "[[stage]]\nname = \"{name}\"\nvariant = \"copy_{name}\"\nrequire = [{require}]\non_failure = \"{on_failure}\"\n"
    )
}

#[test]
fn a_staged_plan_that_no_build_can_meet_fails_the_check() {
    let impossible = check_built(
        &[stage("honest", "\"registers <= 8\"", "skip"), stage("slow", "\"registers <= 8\"", "skip")].concat(),
        &[],
    );
    assert!(impossible.status == Some(1) && impossible.stdout.contains("no stage can be accepted"), "{impossible:?}");
    assert!(impossible.stdout.contains("stage 'honest' (may be skipped): registers <= 8"), "{impossible:?}");
    let ends = check_built(
        &[stage("honest", "\"registers <= 64\"", "revert"), stage("slow", "\"registers <= 8\"", "revert")].concat(),
        &[],
    );
    let said = "stage 'slow' cannot be accepted, and the plan ends there: gate 'registers <= 8'";
    assert!(ends.status == Some(1) && ends.stdout.contains(said), "{ends:?}");
    // a skipped stage does not fail the plan, and requirements that need a run are listed
    let skipped = check_built(
        &[
            stage("honest", "\"registers <= 64\", \"latency_p50 <= 10.5\"", "revert"),
            stage("slow", "\"registers <= 8\"", "skip"),
        ]
        .concat(),
        &[],
    );
    assert_eq!(skipped.status, Some(0), "{skipped:?}");
    assert!(skipped.stdout.contains("not judged   stage 'honest': latency_p50 <= 10.5: measured"), "{skipped:?}");
}

#[test]
fn a_tier_is_judged_by_the_build_and_fails_the_check_where_it_is_required() {
    let tier =
        |more: &str| format!("[[tier]]\nname = \"t\"\nrequire = [\"registers <= 8\", \"latency_p50 <= 10.5\"]\n{more}");
    let aim = check_built(&tier(""), &[]);
    assert_eq!(aim.status, Some(0), "{aim:?}");
    for said in ["tier 't' (not required): registers <= 8: ", "not judged   tier 't' (not required): latency_p50"] {
        assert!(aim.stdout.contains(said), "{said}: {aim:?}");
    }
    let required = check_built(&tier("required = true\n"), &[]);
    assert_eq!(required.status, Some(1), "{required:?}");
}

#[test]
fn check_accepts_a_phase_that_passes_by_its_fallback() {
    let fallback = |registers: u32| {
        format!(
            "[[gate]]\nrequire = \"registers <= 8\"\n[fallback]\nvariant = \"copy_honest\"\nrequire = [\"registers <= {registers}\"]\n"
        )
    };
    let left = check_built(&fallback(64), &[]);
    assert!(left.status == Some(0) && left.stdout.contains("only the fallback can pass"), "{left:?}");
    let json = check_built(&fallback(64), &["--format", "json"]);
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((json.status, found[0]["outcome"].as_str()), (Some(0), Some("pass")), "{found}");
    assert!(found[0]["notes"].to_string().contains("only the fallback can pass"), "{found}");
    let of = found[0]["judged"].as_array().unwrap().iter().find(|gate| gate["of"] == "fallback").unwrap();
    assert_eq!(of["verdict"], "pass", "{found}");
    let none = check_built(&fallback(4), &[]);
    assert!(none.status == Some(1) && none.stdout.contains("the fallback cannot pass either"), "{none:?}");

    for (registers, status) in [(64, 0), (4, 1)] {
        let (place, variables) = built(&fallback(registers));
        let run = Finished::of(place.ncugate(&["run", "phase.toml"]).envs(variables).timeout(Duration::from_secs(120)));
        assert_eq!(run.status, Some(status), "{registers}: {run:?}");
    }
}

#[test]
fn a_check_has_the_numbers_of_each_variant() {
    let gate = "[[gate]]\nrequire = \"registers <= 64\"\n";
    let json = check_built(gate, &["--format", "json"]);
    let found: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let builds = found[0]["builds"].as_array().unwrap();
    assert_eq!(builds.len(), 2, "{found}");
    for build in builds {
        assert_eq!((build["registers"].as_f64(), build["spills"].as_f64()), (Some(32.0), Some(0.0)), "{found}");
        assert!(build["shared_mem"].is_number() && build["blocks_per_sm"].as_f64() > Some(0.0), "{found}");
        // 32 registers and 128 threads: 16 blocks of 4 warps fill the 64 warps of a multiprocessor
        assert_eq!(build["theoretical_occupancy"].as_f64(), Some(100.0), "{found}");
        assert!(build["limiters"].to_string().contains("warps"), "{found}");
    }
    let text = check_built(gate, &["-v"]);
    let row = text.stdout.lines().find(|line| line.trim_start().starts_with("copy_honest  ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((cells[1], cells[2], cells[4]), ("32", "0", "100"), "{row}");
    let csv = check_built(gate, &["--format", "csv"]);
    let lines: Vec<&str> = csv.stdout.lines().collect();
    assert!(csv.status == Some(0) && lines.len() == 3, "{csv:?}");
    assert!(lines[0].starts_with("config,arch,variant,outcome,shape,registers,spills,"), "{csv:?}");
    let cells: Vec<&str> = lines[1].split(',').collect();
    assert_eq!((cells[2], cells[3], cells[5], cells[6]), ("copy_honest", "built", "32", "0"), "{csv:?}");
}

#[test]
fn a_check_of_many_variants_lists_the_ten_with_the_highest_occupancy() {
    let wide = |n: u32| {
        let kernel = format!("{{ entry = \"copy_honest\", dynamic_shared = {{ tile = {} }} }}", 8192 * n);
        format!("[[variant]]\nname = \"wide_{n}\"\nparams = {{ THREADS = 128 }}\nkernel = {kernel}\n")
    };
    let variants: String = (1..=12).map(wide).collect();
    let more = format!("{variants}[[gate]]\nrequire = \"registers <= 64\"\n");
    let few = check_built(&more, &[]);
    assert_eq!(few.status, Some(0), "{few:?}");
    let limited = |line: &&str| line.ends_with("shared_mem") || line.ends_with("warps");
    assert_eq!(few.stdout.lines().filter(limited).count(), 10, "{few:?}");
    assert!(few.stdout.contains("wide_8 ") && !few.stdout.contains("wide_9 "), "{few:?}");
    assert!(few.stdout.contains("the 10 with the highest occupancy; -v lists 4 more"), "{few:?}");
    let all = check_built(&more, &["-v"]);
    assert!(all.stdout.contains("wide_12") && !all.stdout.contains("highest occupancy"), "{all:?}");
}

#[test]
fn bytes_beyond_all_buffers_are_noted() {
    let text = concat!(
        include_str!("../data/copy.toml"),
        "[sweep]\nTHREADS = [64]\n[[gate]]\nrequire = \"registers <= 64\"\n"
    );
    // x and y have 4,096 bytes each.
    for (bytes, is_noted) in [("4 * S", false), ("4 * S + 1", true)] {
        let place = Place::new();
        place.write(
            "phase.toml",
            &text.replace("[workload.shapes]", &format!("bytes = \"{bytes}\"\n[workload.shapes]")),
        );
        place.write("copy.cu", "");
        let checked = place.run(&["check", "phase.toml", "--no-build"]);
        let printed = checked.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        let words =
            "note: `bytes` declares 8,193 at shape 'only', but reading and writing each buffer once moves 8,192";
        assert_eq!(printed.contains(words), is_noted, "{bytes}: {checked:?}");
        assert_eq!(checked.status, Some(0), "{checked:?}");
    }
}
