//! Reports of another program, judged by a phase that names their launches.

use crate::command::{Place, is_here, root};

const HEAD: &str = "[phase]\nname = \"torch\"\n";
const SOFTMAX: &str = "[[variant]]\nname = \"softmax\"\nmatch = { kernel = \"softmax_warp_forward*\" }\n";
const GATE: &str = "[[gate]]\nrequire = \"registers <= 64\"\n";

fn report() -> String {
    root().join("tests/data/torch_nvtx.ncu-rep.zst").display().to_string()
}

fn place(config: &str) -> Place {
    let place = Place::new();
    place.write("phase.toml", config);
    place
}

/// Status, standard output and standard error of `gate` on the capture.
fn gate(config: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let report = report();
    let args = [&["gate", "phase.toml", report.as_str()], more].concat();
    let finished = place(config).run(&args);
    (finished.status, finished.stdout, finished.stderr)
}

#[test]
fn a_phase_of_launches_needs_no_workload_and_names_kernels() {
    let config = [HEAD, SOFTMAX, GATE].concat();
    let (status, stdout, stderr) = gate(&config, &[]);
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    for said in [
        "softmax is launches 2, 4 of torch_nvtx.ncu-rep.zst, softmax_warp_forward<c10::Half",
        "its metrics are medians over the 2 launches",
        "whose results nothing here checked",
        "reports of another program, profiled on NVIDIA H200, 2026-11-21",
    ] {
        assert!(stdout.contains(said), "{said}: {stdout}");
    }
    assert!(!stdout.contains("proven correct") && !stdout.contains("0 seconds ago"), "{stdout}");
    let (status, json, _) = gate(&config, &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, json["variants"][0]["correct"].as_str()), (Some(0), Some("inconclusive")));
    assert!(json["variants"][0]["build"].as_str().unwrap().contains("softmax_warp_forward"), "{json}");
    assert_eq!(json["selected"], serde_json::Value::Null);
    let place = place(&config);
    place.run(&["gate", "phase.toml", &report()]);
    let folder = std::fs::read_dir(place.path().join("reports/torch")).unwrap().next().unwrap().unwrap().path();
    for file in ["junit.xml", "report.md", "report.html"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains("softmax_warp_forward"), "{file}");
    }
}

#[test]
fn settings_of_a_repository_start_no_program() {
    if !is_here("git") {
        return;
    }
    let place = place(&[HEAD, SOFTMAX, GATE].concat());
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        let made = command.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(args);
        assert!(made.current_dir(place.path()).output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "first"]);
    let monitor = place.write_program("monitor", "#!/bin/sh\ntouch EXECUTED\n");
    git(&["config", "core.fsmonitor", monitor.to_str().unwrap()]);
    let executed = place.path().join("EXECUTED");
    git(&["status"]);
    assert!(executed.exists(), "git itself runs it");
    std::fs::remove_file(&executed).unwrap();
    let judged = place.run(&["gate", "phase.toml", &report()]);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    assert!(!executed.exists());
}

/// The report with other bytes.
fn edited(from: &str, to: &str) -> Vec<u8> {
    let packed = std::fs::File::open(report()).unwrap();
    let mut other = zstd::stream::decode_all(packed).unwrap();
    let (from, to) = (from.as_bytes(), to.as_bytes());
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..=other.len() - from.len()).filter(|at| other[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| other[at..at + to.len()].copy_from_slice(to));
    other
}

/// A comparison of kernels in two reports, of which the first is the unedited one if none is given: status and both outputs.
fn compared(first: Option<&[u8]>, other: &[u8], more: &[&str]) -> (Option<i32>, String) {
    let reports = "[[variant]]\nname = \"ours\"\nmatch = { kernel = \"softmax*\", report = \"torch*\" }\n\
                   [[baseline]]\nname = \"theirs\"\nmatch = { kernel = \"*flash_fprop*\", report = \"other*\" }\n";
    let place = place(&[HEAD, reports, "[[gate]]\nrequire = \"duration < baseline.duration\"\n"].concat());
    std::fs::write(place.path().join("other.ncu-rep"), other).unwrap();
    let unedited = report();
    let first = first.map_or(unedited.as_str(), |bytes| {
        std::fs::write(place.path().join("torch.ncu-rep"), bytes).unwrap();
        "torch.ncu-rep"
    });
    let finished = place.run(&[&["gate", "phase.toml", first, "other.ncu-rep", "--assume", "unedited"], more].concat());
    (finished.status, (finished.stdout + &finished.stderr).split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A gate on durations of the capture, which has no cycles.
#[test]
fn a_duration_without_a_second_clock_passes_only_as_assumed() {
    let second = "profile with `--metrics gpc__cycles_elapsed.max,gpc__cycles_elapsed.avg.per_second` too";
    let assumed = "urations are assumed to be unedited (--assume unedited): 1 variant without a second clock";
    for (require, more, status) in [
        ("duration <= 5000", [].as_slice(), 4),
        ("gpu__time_duration.max <= 5000", &[], 4),
        ("registers <= 64 and duration <= 5000", &[], 4),
        ("duration <= 5000", &["--assume", "unedited"], 0),
        ("duration <= 1000", &[], 1),
        ("registers <= 64", &[], 0),
        ("registers <= 64", &["--assume", "unedited"], 0),
    ] {
        let place = place(&format!("{HEAD}{SOFTMAX}[[gate]]\nrequire = \"{require}\"\n"));
        let report = report();
        let judged = place.run(&[&["gate", "phase.toml", report.as_str()], more].concat());
        assert_eq!(judged.status, Some(status), "{require} {more:?}: {judged:?}");
        let folder = std::fs::read_dir(place.path().join("reports/torch")).unwrap().next().unwrap().unwrap().path();
        let file = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let screens = [judged.stdout.clone(), file("report.md"), file("report.html"), file("results.json")];
        for screen in screens.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").replace("&#x60;", "`")) {
            let plain = screen.replace("<code>", "`").replace("</code>", "`").replace('\\', "");
            assert!(plain.contains(second) || status != 4, "{require} {more:?}: {plain}");
            assert_eq!(plain.contains(assumed), !more.is_empty(), "{require} {more:?}: {plain}");
        }
    }
    let reports = "[[variant]]\nname = \"ours\"\nmatch = { kernel = \"softmax*\" }\n\
                   [[baseline]]\nname = \"theirs\"\nmatch = { kernel = \"*flash_fprop*\" }\n";
    let (status, printed, _) =
        gate(&[HEAD, reports, "[[gate]]\nrequire = \"duration < 9 * theirs.duration\"\n"].concat(), &[]);
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(status == Some(4) && printed.contains("the duration of 'theirs' does not count"), "{printed}");
}

/// A full report has cycles and their frequency, so that its duration needs no assumption, and no edit of it passes.
#[test]
fn a_duration_that_its_cycles_confirm_passes_and_one_that_was_shortened_by_a_tenth_does_not() {
    let packed = std::fs::File::open(root().join("tests/data/full1.ncu-rep.zst")).unwrap();
    let honest = zstd::stream::decode_all(packed).unwrap();
    let from = 538_624.0_f64.to_le_bytes();
    let places: Vec<usize> = (0..honest.len() - 8).filter(|at| honest[*at..*at + 8] == from).collect();
    assert!(places.len() >= 4, "least, mean, greatest and sum: {places:?}");
    let config = format!(
        "{HEAD}[[variant]]\nname = \"all\"\nmatch = {{ launch = 0 }}\n[[gate]]\nrequire = \"duration <= 600 us\"\n"
    );
    for (share, more, status) in
        [(1.0, [].as_slice(), 0), (0.97, &[], 0), (0.9, &[], 4), (0.7, &[], 4), (0.7, &["--assume", "unedited"], 0)]
    {
        let mut bytes = honest.clone();
        let edited = (538_624.0_f64 * share).to_le_bytes();
        places.iter().for_each(|at| bytes[*at..*at + 8].copy_from_slice(&edited));
        let place = place(&config);
        std::fs::write(place.path().join("full.ncu-rep"), bytes).unwrap();
        let judged = place.run(&[&["gate", "phase.toml", "full.ncu-rep"], more].concat());
        assert_eq!(judged.status, Some(status), "{share} {more:?}: {judged:?}");
        let printed = judged.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(printed.contains("contradicts itself: gpu__time_duration.sum"), share < 0.95, "{share}: {printed}");
        assert_eq!(printed.contains("1 variant contradictory: all: launch 0"), !more.is_empty(), "{share}: {printed}");
    }
}

#[test]
fn launches_of_unlike_gpus_are_not_judged_together_and_of_unlike_settings_on_request() {
    let (clocks, base) = ("--clock-control none", "--clock-control base");
    for (from, to, more, status, said) in [
        (clocks, clocks, [].as_slice(), 0, "PASS"),
        (
            "NVIDIA H200",
            "NVIDIA L400",
            &[],
            3,
            "was profiled on NVIDIA L400 (compute capability 9.0, 132 SMs), and launch",
        ),
        ("NVIDIA H200", "NVIDIA L400", &["--allow-mismatch"], 3, "give reports of one kind of GPU"),
        (
            clocks,
            base,
            &[],
            3,
            "of other.ncu-rep was not profiled like launch 2 of torch_nvtx.ncu-rep.zst: clock control: base, not none",
        ),
        (clocks, base, &["--allow-mismatch"], 0, "clock control: base, not none"),
    ] {
        let (found, printed) = compared(None, &edited(from, to), more);
        assert!(found == Some(status) && printed.contains(said), "{to} {more:?}: {found:?} {printed}");
    }
    let unknown = edited("device__attribute_display_name", "device__attribute_display_xxxx");
    let (found, printed) = compared(Some(&unknown), &unknown, &[]);
    assert!(found == Some(3) && printed.contains("was profiled on an unknown GPU, and launch"), "{found:?} {printed}");
}

#[test]
fn a_failing_gate_is_status_1_and_one_on_an_unavailable_value_is_status_2() {
    let failing = [HEAD, SOFTMAX, "[[gate]]\nrequire = \"registers <= 8\"\n"].concat();
    assert_eq!(gate(&failing, &[]).0, Some(1));
    for require in ["latency_p50 <= 5 us", "correct == 1", "speedup(\"softmax\") >= 1"] {
        let config = format!("{HEAD}{SOFTMAX}[[gate]]\nrequire = '{require}'\n");
        let (status, _, stderr) = gate(&config, &[]);
        assert!(status == Some(2) && stderr.contains("is not in ncu reports"), "{require}: {stderr}");
    }
    let selected = [HEAD, SOFTMAX, GATE, "on = \"selected\"\n"].concat();
    assert!(gate(&selected, &[]).2.contains("launches of ncu reports have"));
}

#[test]
fn nothing_matched_is_status_3_and_lists_the_kernels_of_the_report() {
    let config = [HEAD, "[[variant]]\nname = \"gone\"\nmatch = { kernel = \"nothing*\" }\n", GATE].concat();
    let (status, stdout, stderr) = gate(&config, &[]);
    assert_eq!((status, stdout.as_str()), (Some(3), ""), "{stderr}");
    assert!(stderr.contains("matches gone; it has the kernels") && stderr.contains("softmax_warp_forward"), "{stderr}");
}

#[test]
fn a_launch_is_of_one_variant_and_can_be_named_by_number() {
    let other = "[[variant]]\nname = \"all\"\nmatch = { kernel = \"*\" }\n";
    let (status, _, stderr) = gate(&[HEAD, SOFTMAX, other, GATE].concat(), &[]);
    assert!(status == Some(2) && stderr.contains("matches both"), "{stderr}");
    let by_number = "[[variant]]\nname = \"second\"\nmatch = { kernel = \"softmax*\", launch = 4 }\n";
    let (status, stdout, stderr) = gate(&[HEAD, by_number, GATE].concat(), &[]);
    assert!(status == Some(0) && stdout.contains("second is launch 4 of"), "{stdout}{stderr}");
}

#[test]
fn a_phase_of_launches_has_nothing_to_build_or_measure() {
    let config = [HEAD, SOFTMAX, GATE].concat();
    let checked = place(&config).run(&["check", "phase.toml"]);
    assert!(checked.status == Some(0) && checked.stdout.contains("nothing is built"), "{checked:?}");
    let run = place(&config).run(&["run", "phase.toml"]);
    assert!(run.status == Some(2) && run.stderr.contains("ncugate gate phase.toml REPORT"), "{run:?}");
    let mixed = format!("{config}[kernel]\nsource = \"k.cu\"\n");
    let mixed = place(&mixed).run(&["check", "phase.toml"]);
    assert!(mixed.status == Some(2) && mixed.stderr.contains("does not apply to a phase whose variants"), "{mixed:?}");
}

#[test]
fn a_phase_of_kernels_judges_launches_by_name_only_as_assumed() {
    let place = Place::new();
    let report = root().join("tests/data/g12.ncu-rep.zst").display().to_string();
    let text = std::fs::read_to_string(root().join("tests/data/copy.toml")).unwrap();
    let text = text.replace("entry = \"copy\"", "entry = \"attn\"");
    let gate = "[[gate]]\nrequire = \"registers <= 255\"\non = \"each\"\n";
    place.write("phase.toml", &format!("{text}\n[sweep]\nTHREADS = [128]\n{gate}"));
    let unproven = place.run(&["gate", "phase.toml", &report]);
    assert_eq!(unproven.status, Some(4), "{unproven:?}");
    let assumed = place.run(&["gate", "phase.toml", &report, "--assume", "correct"]);
    assert_eq!(assumed.status, Some(0), "{assumed:?}");
    assert!(assumed.stdout.contains("#4 attn is launch 4 of g12.ncu-rep.zst, attn"), "{}", assumed.stdout);
    assert!(!assumed.stdout.contains("proven correct"), "{}", assumed.stdout);
}

/// Gates the duration of launch 4 on a copy of the capture in which one number is divided by 100.
fn forged(place_of_number: usize) -> (Option<i32>, String) {
    let packed = std::fs::File::open(report()).unwrap();
    let mut bytes = zstd::stream::decode_all(packed).unwrap();
    let (honest, forged) = (2880.0_f64.to_le_bytes(), 28.8_f64.to_le_bytes());
    let places: Vec<usize> = (0..bytes.len() - 8).filter(|at| bytes[*at..*at + 8] == honest).collect();
    assert_eq!(places.len(), 4, "least, mean, greatest and sum");
    for at in places.into_iter().skip(place_of_number).take(1) {
        bytes[at..at + 8].copy_from_slice(&forged);
    }
    let by_number = "[[variant]]\nname = \"second\"\nmatch = { kernel = \"softmax*\", launch = 4 }\n";
    let place = place(&[HEAD, by_number, "[[gate]]\nrequire = \"duration <= 1000\"\n"].concat());
    std::fs::write(place.path().join("forged.ncu-rep"), bytes).unwrap();
    let finished = place.run(&["gate", "phase.toml", "forged.ncu-rep"]);
    (finished.status, finished.stdout.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn a_duration_that_was_changed_contradicts_the_rest_of_its_launch() {
    let honest = forged(usize::MAX);
    assert!(honest.0 == Some(1) && honest.1.contains("2.88 µs, needs <= 1 µs"), "{honest:?}");
    for number in 0..4 {
        let (status, printed) = forged(number);
        let words = "launch 4 of forged.ncu-rep contradicts itself: gpu__time_duration.";
        assert!(status == Some(4) && printed.contains(words), "{number}: {printed}");
    }
}
