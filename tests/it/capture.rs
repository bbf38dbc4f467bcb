//! `capture` on the double of the driver, with a program that finds the driver's functions as programs do.

use crate::command::{Finished, Place, Program, binary, root, wait_for};
use crate::live::machine;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fmt::Write;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

type Variables = Vec<(&'static str, String)>;

/// A machine with the program, and the file laid out like a cubin of these kernels.
fn machine_of_program(kernels: &[&str]) -> (Place, Variables) {
    let (place, variables) = machine();
    let mut source = String::new();
    for (at, name) in kernels.iter().enumerate() {
        let first = if *name == "map_value" { 128 } else { 8 };
        let parameter = |ordinal: u32, offset: u32, bytes: u32| {
            format!(".byte 4, 0x17\n.short 12\n.long 0, {}, {}\n", ordinal | offset << 16, bytes << 18)
        };
        let float = if *name == "copy_float" { parameter(2, 16, 4) } else { String::new() };
        write!(
            source,
            ".section .text.{name},\"ax\"\n.byte {at}\n.zero 15\n.section .nv.info.{name}\n.byte 4, 0x2f\n.short 8\n.long 0, 32\n{}{}{float}",
            parameter(0, 0, first),
            parameter(1, first, 8)
        )
        .unwrap();
    }
    if kernels.contains(&"copy_table") {
        let variable = ".type _ZN2ns5tableE,@object\n.size _ZN2ns5tableE,4096\n_ZN2ns5tableE: .zero 4096\n";
        write!(source, ".section .nv.constant3,\"a\"\n.globl _ZN2ns5tableE\n{variable}").unwrap();
    }
    let source = place.write("kernel.s", &source);
    let run = |arguments: &[&str]| {
        let status = Command::new("cc").args(arguments).current_dir(place.path()).status().unwrap();
        assert!(status.success(), "{arguments:?}");
    };
    run(&["-c", source.to_str().unwrap(), "-o", "kernel.o"]);
    run(&["-w", "-o", "program", root().join("tests/data/captured.c").to_str().unwrap(), "-ldl"]);
    (place, variables)
}

fn finished(place: &Place, variables: &Variables, arguments: &str) -> Finished {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let mut command = place.ncugate(&arguments);
    Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)))
}

#[test]
fn a_captured_launch_is_a_phase_that_replays_it() {
    for how in ["dlsym", "address"] {
        let (place, variables) = machine_of_program(&["copy_float"]);
        let captured =
            finished(&place, &variables, &format!("capture -k copy_* -o out/copy -- ./program {how} copy_float"));
        assert_eq!(captured.status, Some(0), "{how}: {captured:?}");
        assert!(captured.stdout.contains("captured launch 0 of copy_float"), "{captured:?}");
        let phase = fs::read_to_string(place.path().join("out/copy/phase.toml")).unwrap();
        insta::with_settings!({ filters => vec![] }, { insta::assert_snapshot!("captured_phase", phase) });
        let checked = finished(&place, &variables, "check out/copy/phase.toml --arch sm_90");
        assert_eq!(checked.status, Some(0), "{checked:?}");
        let ran = finished(&place, &variables, "run out/copy/phase.toml --source gpu");
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("One captured input: laws do not apply"), "{ran:?}");
    }
}

#[test]
fn a_variable_that_the_host_filled_is_captured_and_another_one_marked() {
    for (what, text) in
        [("variable", "\"_ZN2ns5tableE\" = \"v0\""), ("", "CHECK: variable `ns::table` has its first value")]
    {
        let kernel = if what.is_empty() { "copy_honest" } else { "copy_table" };
        let (place, variables) = machine_of_program(&["copy_table", "copy_honest"]);
        let words = format!("capture -k {kernel} -o copy -- ./program address {kernel} {what}");
        let captured = finished(&place, &variables, &words);
        assert_eq!(captured.status, Some(0), "{captured:?}");
        let phase = fs::read_to_string(place.path().join("copy/phase.toml")).unwrap();
        assert!(phase.contains(text), "{phase}");
        let ran = finished(&place, &variables, "run copy/phase.toml --source gpu");
        assert_eq!(ran.status, Some(0), "{ran:?}");
        // A candidate's own source has the variable too.
        fs::copy(place.path().join("kernel.s"), place.path().join("mine.cu")).unwrap();
        let own =
            format!("name = \"replay\"\nkernel = {{ source = \"mine.cu\", entry = \"{kernel}\", block = [128] }}");
        place.write("copy/phase.toml", &phase.replace("name = \"replay\"", &own));
        let ran = finished(&place, &variables, "run copy/phase.toml --source gpu");
        assert_eq!(ran.status, Some(0), "{ran:?}");
    }
}

#[test]
fn a_wrong_candidate_of_a_captured_phase_is_refused() {
    let (place, variables) = machine_of_program(&["copy_float", "copy_wrong"]);
    let captured = finished(&place, &variables, "capture -k copy_float -o copy -- ./program dlsym copy_float");
    assert_eq!(captured.status, Some(0), "{captured:?}");
    let path = place.path().join("copy/phase.toml");
    let phase = fs::read_to_string(&path).unwrap();
    let wrong = "name = \"replay\"\nkernel = { entry = \"copy_wrong\", args = [\"p0\", \"p1\"] }";
    fs::write(&path, phase.replace("name = \"replay\"", wrong)).unwrap();
    let ran = finished(&place, &variables, "run copy/phase.toml --source gpu");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    fs::write(&path, phase).unwrap();
    fs::copy(place.path().join("kernel.s"), place.path().join("mine.cu")).unwrap();
    let tried = finished(&place, &variables, "agent try copy/phase.toml --source mine.cu");
    assert!(tried.status == Some(0) && tried.stdout.contains("\"change\":\"0.0 %\""), "{tried:?}");
}

/// The results of the variant `replay` of a phase, its kernel replaced by another one of the double.
fn run_with(place: &Place, variables: &Variables, phase: &str, kernel: &str) -> Finished {
    let text = fs::read_to_string(place.path().join(phase)).unwrap();
    let own = format!(
        "name = \"replay\"\nkernel = {{ entry = \"{kernel}\", args = [{{ buffer = \"p0\", offset = 128 }}, \"p1\"] }}"
    );
    place.write(phase, &text.replace("name = \"replay\"", &own));
    finished(place, variables, &format!("run {phase} --source gpu"))
}

#[test]
fn hidden_inputs_are_answered_by_the_original_machine_code() {
    let (place, variables) = machine_of_program(&["copy_float", "copy_captured", "copy_known"]);
    let captured = finished(&place, &variables, "capture -k copy_float -o copy -- ./program dlsym copy_float");
    assert_eq!(captured.status, Some(0), "{captured:?}");
    let phase = fs::read_to_string(place.path().join("copy/hidden.toml")).unwrap();
    insta::with_settings!({ filters => vec![] }, { insta::assert_snapshot!("hidden_phase", phase) });
    let ran = finished(&place, &variables, "run copy/hidden.toml --source gpu");
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let said = "idden inputs are redrawn from captured contents: laws do not apply";
    assert!(ran.stdout.contains(said) && !ran.stdout.contains("ne captured input"), "{ran:?}");
    // A table of the captured answer, and a kernel that is right for the captured input alone.
    for cheat in ["copy_captured", "copy_known"] {
        place.write("copy/hidden.toml", &phase);
        let refused = run_with(&place, &variables, "copy/hidden.toml", cheat);
        assert_eq!(refused.status, Some(1), "{cheat}: {refused:?}");
    }
    let cheat = run_with(&place, &variables, "copy/phase.toml", "copy_known");
    assert_eq!(cheat.status, Some(0), "the phase of one input cannot tell: {cheat:?}");
}

#[test]
fn a_run_of_a_captured_phase_is_recorded_if_asked() {
    let (place, variables) = machine_of_program(&["copy_float"]);
    let captured = finished(&place, &variables, "capture -k copy_float -o copy -- ./program dlsym copy_float");
    assert_eq!(captured.status, Some(0), "{captured:?}");
    for (phase, run) in [("phase", "copy"), ("hidden", "copy-hidden")] {
        let ran = finished(&place, &variables, &format!("run copy/{phase}.toml --source gpu"));
        assert_eq!(ran.status, Some(0), "{ran:?}");
        let refused = finished(&place, &variables, &format!("tools record profiles/{run} -o kept/{phase}"));
        assert_eq!(refused.status, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("add --captured") && !place.path().join("kept").join(phase).exists());
        let asked = finished(&place, &variables, &format!("tools record profiles/{run} -o kept/{phase} --captured"));
        assert_eq!(asked.status, Some(0), "{asked:?}");
    }
}

#[test]
fn a_tensor_map_is_encoded_for_the_addresses_of_the_replay() {
    for what in ["map", "moved"] {
        let (place, variables) = machine_of_program(&["map_value"]);
        let captured =
            finished(&place, &variables, &format!("capture -k map_value -o map -- ./program address map_value {what}"));
        assert_eq!(captured.status, Some(0), "{captured:?}");
        let phase = fs::read_to_string(place.path().join("map/phase.toml")).unwrap();
        let map = "p0_map = { buffer = \"p0\", shape = [32, 32], strides = [32], box = [32, 32], element_strides = [1, 1], swizzle = 0, l2_promotion = 256, oob_fill = \"none\" }";
        assert!(phase.contains(map) && phase.contains("\"p0_map\",\n"), "{phase}");
        for phase in ["phase", "hidden"] {
            let ran = finished(&place, &variables, &format!("run map/{phase}.toml --source gpu"));
            assert_eq!(ran.status, Some(0), "{what}: {ran:?}");
        }
    }
}

#[test]
fn a_node_is_captured_when_its_graph_is_launched() {
    for launch in 0..3 {
        let (place, variables) = machine_of_program(&["copy_honest"]);
        let words = format!("capture -k copy_* --launch {launch} -o copy -- ./program address copy_honest graph");
        let captured = finished(&place, &variables, &words);
        // The later nodes find the answer of the first.
        if launch > 0 {
            assert!(captured.status == Some(3) && captured.stderr.contains("changed no memory"), "{captured:?}");
            continue;
        }
        assert_eq!(captured.status, Some(0), "{captured:?}");
        let ran = finished(&place, &variables, "run copy/phase.toml --source gpu");
        assert_eq!(ran.status, Some(0), "{ran:?}");
    }
}

#[test]
fn a_driver_without_sizes_of_parameters_has_them_from_the_cubin() {
    let (place, variables) = machine_of_program(&["copy_float"]);
    let old = [variables.clone(), vec![("NCUGATE_DOUBLE_OLD", "1".to_owned())]].concat();
    let captured = finished(&place, &old, "capture -k copy_float -o copy -- ./program dlsym copy_float");
    assert_eq!(captured.status, Some(0), "{captured:?}");
    let phase = fs::read_to_string(place.path().join("copy/phase.toml")).unwrap();
    assert!(phase.contains("{ value = 0.5, type = \"f32\" }"), "{phase}");
}

#[test]
fn a_number_that_later_launches_change_is_marked() {
    for (what, is_marked) in [("", false), ("varied", true)] {
        let (place, variables) = machine_of_program(&["copy_float"]);
        let words = format!("capture -k copy_float -o copy -- ./program address copy_float {what}");
        let captured = finished(&place, &variables, &words);
        assert_eq!(captured.status, Some(0), "{captured:?}");
        for file in ["copy/phase.toml", "copy/hidden.toml"] {
            let phase = fs::read_to_string(place.path().join(file)).unwrap();
            let (_, note) = phase.split_once("\"p1\",\n").unwrap();
            assert_eq!(note.starts_with("    # CHECK: another value in a later launch"), is_marked, "{phase}");
            assert_eq!(phase.matches("another value").count(), usize::from(is_marked), "{phase}");
        }
        let checked = finished(&place, &variables, "check copy/hidden.toml --arch sm_90");
        assert_eq!(checked.status, Some(0), "{checked:?}");
    }
}

#[test]
fn kernels_are_listed_with_launches_times_and_shares() {
    for (kernel, what) in [
        ("copy_honest", ""),
        ("copy_honest", "fork"),
        ("copy_honest", "exit"),
        ("copy_lazy", ""),
        ("copy_lazy", "fork"),
    ] {
        let (place, variables) = machine_of_program(&[kernel]);
        let listed = finished(&place, &variables, &format!("capture --list -- ./program address {kernel} {what}"));
        assert_eq!(listed.status, Some(0), "{what}: {listed:?}");
        let words: Vec<&str> = listed.stdout.lines().nth(1).unwrap().split_whitespace().collect();
        let row = ["100.0", "%", "0.030", "ms", "10.00", "us", "3", kernel];
        assert_eq!(words, row, "{what}: {listed:?}");
    }
}

#[test]
fn results_are_json_without_the_output_of_the_program() {
    let (place, variables) = machine_of_program(&["copy_honest"]);
    let program = "-- sh -c ./program\tdlsym\tcopy_honest;echo\tnoise".replace(' ', "\n").replace('\t', " ");
    for options in ["--list", "-k\ncopy_*\n-o\nout"] {
        let words = format!("capture\n--format\njson\n{options}\n{program}");
        let mut command = place.ncugate(&words.lines().collect::<Vec<_>>());
        let ran = Finished::of(command.envs(variables.clone()).timeout(Duration::from_secs(100)));
        let value: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
        let kernel = if options == "--list" { &value[0]["kernel"] } else { &value["kernel"] };
        assert!(kernel == "copy_honest" && ran.stderr.contains("noise"), "{ran:?}");
    }
}

#[test]
fn a_launch_that_cannot_be_captured_is_refused_by_name_and_leaves_nothing() {
    let cases = [
        (
            "-k copy_*",
            "copy_honest recorded",
            3,
            "it is a node of a CUDA graph, and no launch of this graph was captured",
        ),
        ("-k copy_*", "copy_honest node", 3, "it is a node of a CUDA graph, and no launch of this graph was captured"),
        ("-k copy_*", "copy_honest updated", 3, "it is a node of a CUDA graph of which a node was updated"),
        ("-k copy_*", "copy_honest host", 3, "`copy_honest`: parameter 0 + 0 is a pointer to host memory"),
        ("-k copy_*", "copy_honest texture", 3, "parameter 0 + 0 is a texture or surface object"),
        ("-k copy_*", "copy_honest surface", 3, "parameter 0 + 0 is a texture or surface object"),
        ("-k map_*", "map_value im2col", 3, "parameter 0 + 0 is a tensor map of another kind"),
        ("-k copy_*", "copy_honest stored", 3, "parameter 0 + 0 points to a tensor map in memory"),
        ("-k copy_*", "copy_honest pointers", 3, "entry 0 of an array of pointers points to pointers"),
        ("-k copy_*", "copy_honest same", 3, "the launch changed no memory"),
        ("-k copy_* --max-bytes 100", "copy_honest", 3, "262144 bytes of memory, more than --max-bytes 100"),
        ("-k copy_*", "copy_crash", 3, "the program was killed by SIGABRT during the capture"),
        ("-k cop_honest", "copy_honest", 2, "nearest: `copy_honest`"),
        ("-k copy_* --launch 7", "copy_honest", 2, "`copy_honest` more than 7 times"),
    ];
    let (place, variables) = machine_of_program(&["copy_honest", "copy_crash", "map_value"]);
    for (options, words, status, message) in cases {
        let refused = finished(&place, &variables, &format!("capture {options} -o out -- ./program dlsym {words}"));
        assert_eq!(refused.status, Some(status), "{words}: {refused:?}");
        assert!(refused.stderr.contains(message), "{words}: {refused:?}");
        let hidden = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> =
            hidden.filter(|name| name == "out" || name.to_string_lossy().starts_with(".ncugate")).collect();
        assert!(left.is_empty(), "{words}: {left:?}");
    }
    let peer = [variables.clone(), vec![("NCUGATE_DOUBLE_PEER", "1".to_owned())]].concat();
    let refused = finished(&place, &peer, "capture -k copy_* -o out -- ./program dlsym copy_honest");
    assert!(refused.status == Some(3) && refused.stderr.contains("peer memory"), "{refused:?}");
    let nothing = finished(&place, &variables, "capture -k copy_* -o out -- true");
    assert!(nothing.status == Some(3) && nothing.stderr.contains("launched no kernel"), "{nothing:?}");
}

#[test]
fn forked_workers_are_captured_and_an_existing_folder_is_kept() {
    let (place, variables) = machine_of_program(&["copy_honest"]);
    let command = "capture -k copy_* --launch 0 -o out -- ./program address copy_honest fork";
    let captured = finished(&place, &variables, command);
    assert_eq!(captured.status, Some(0), "{captured:?}");
    let again = finished(&place, &variables, command);
    assert!(again.status == Some(2) && again.stderr.contains("out exists"), "{again:?}");
}

#[test]
fn a_server_is_interrupted_after_its_capture() {
    let (place, variables) = machine_of_program(&["copy_honest"]);
    let words = ["capture", "-k", "copy_*", "-o", "out", "--", "./program", "dlsym", "copy_honest", "serve"];
    let mut command = Command::new(binary());
    command.args(words).current_dir(place.path()).envs(variables).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let is_whole = || glob::glob(&format!("{}/.ncugate-capture-*/whole", place.path().display())).unwrap().count() == 1;
    wait_for("the launch is captured", is_whole);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(place.path().join("out/phase.toml").exists());
}

#[test]
fn a_full_disk_keeps_nothing_half() {
    let (place, variables) = machine_of_program(&["copy_honest"]);
    // Files beyond this size are refused, as by a full disk; the signal is ignored.
    let script = format!(
        "trap '' XFSZ; ulimit -f 160; exec {} capture -k 'copy_*' -o out -- ./program dlsym copy_honest",
        binary().display()
    );
    let mut shell = Program::new("bash");
    shell.args(["-c", &script]).current_dir(place.path()).envs(variables);
    let refused = Finished::of(shell.timeout(Duration::from_secs(100)));
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(!place.path().join("out").exists(), "{refused:?}");
}
