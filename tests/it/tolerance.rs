//! Tolerances through the real binary: those that prove nothing, and those that other projects accept.

use crate::command::{Finished, Place};
use crate::live::{GOOD, machine_of_program, machine_that_counts};
use std::time::Duration;

/// `ncugate check --no-build` of the copy with another tolerance.
fn checked(tolerance: &str, more: &[&str]) -> Finished {
    let place = Place::new();
    let text = include_str!("../data/copy.toml").replace("tolerance = { max_abs = 2e-3 }", tolerance);
    let gate = "[sweep]\nTHREADS = [128]\n[[gate]]\nname = \"spills\"\nrequire = \"spills == 0\"\n";
    place.write("phase.toml", &format!("{text}{gate}"));
    place.run(&[&["check", "phase.toml", "--no-build"], more].concat())
}

#[test]
fn a_tolerance_that_zeros_would_meet_is_an_error_of_the_phase() {
    for tolerance in ["tolerance = { max_abs = 1e9 }", "tolerance = { atol = 8.0 }", "tolerance = { rel_l2 = 1.5 }"] {
        let loose = checked(tolerance, &[]);
        assert_eq!(loose.status, Some(2), "{tolerance}: {loose:?}");
        assert!(loose.stderr.contains("the tolerance is too wide: at shape `only` it accepts zeros"), "{loose:?}");
    }
    let right = checked("tolerance = { atol = 1e-6, rtol = 1e-3 }", &[]);
    assert_eq!((right.status, right.stderr.as_str()), (Some(0), ""), "{right:?}");
    let next = "wrong answers refused); next: `ncugate check phase.toml --arch sm_90`";
    let said =
        right.stdout.lines().any(|line| line.contains("ok: config, reference, tolerance (") && line.contains(next));
    assert!(said, "{right:?}");
}

#[test]
fn mutants_are_listed_with_the_result_of_the_tolerance() {
    let listed = checked("tolerance = { max_abs = 2e-3 }", &["--mutants"]);
    assert_eq!(listed.status, Some(0), "{listed:?}");
    let row = |name: &str| listed.stdout.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(row("plain evaluation").contains("accepted 0.0e0"), "{}", listed.stdout);
    assert!(row("bf16 inputs").contains("rejected") && row("zeros").contains("rejected"), "{}", listed.stdout);
    assert!(listed.stdout.contains("note: not tested: tails and strides over S (always 2048)"), "{}", listed.stdout);
}

#[test]
fn a_plain_evaluation_is_asked_of_built_in_references_alone() {
    let place = Place::new();
    let text = include_str!("../data/copy.toml")
        .replace("\"copy\"\ntolerance = { max_abs = 2e-3 }", "{ npy = \"a.npy\" }\ntolerance = { times_error = 4 }");
    place.write("phase.toml", &text);
    let refused = place.run(&["check", "phase.toml", "--no-build"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("needs a plain evaluation, which only built-in references have"), "{refused:?}");
}

const OUTPUTS: &str = r#"
[phase]
name = "outputs"
objective = "latency_p50"
[workload]
reference = { python = "reference.py:rows" }
tolerance = { atol = 1e-2, outputs = { rstd = { atol = 1e-6, rtol = 1e-5 } }, shapes = { wide = { atol = 1e-1 } } }
[workload.shapes]
narrow = { R = 4, C = 8 }
wide = { R = 4, C = 4096 }
[workload.buffers]
x = { dtype = "f32", shape = ["R", "C"] }
y = { dtype = "f32", shape = ["R", "C"], role = "output" }
rstd = { dtype = "f32", shape = ["R"], role = "output" }
[kernel]
source = "k.cu"
entry = "k"
grid = ["R"]
block = [32]
args = ["x", "y", "rstd", "C"]
[[gate]]
name = "correct"
require = "correct == 1"
"#;

#[test]
fn bounds_of_outputs_and_shapes_are_validated_and_combine_only_with_atol_and_rtol() {
    let place = Place::new();
    place.write("reference.py", "def rows(x):\n    return {'y': x, 'rstd': x.mean(axis=1)}\n");
    for (from, to, said) in [
        ("rstd = { atol", "rsdt = { atol", "`workload.tolerance.outputs.rsdt` is not an output"),
        ("rstd = { atol", "x = { atol", "`workload.tolerance.outputs.x` is not an output"),
        ("wide = { atol = 1e-1 }", "width = { atol = 1e-1 }", "`workload.tolerance.shapes.width` is not a shape"),
        ("wide = { atol = 1e-1 }", "wide = {}", "`atol`, `rtol` or both"),
        ("atol = 1e-2, outputs", "max_abs = 1e-2, outputs", "has no such bound for the others"),
        ("atol = 1e-6", "atol = -1", "a number of at least 0"),
    ] {
        assert!(OUTPUTS.contains(from), "{from}");
        place.write("outputs.toml", &OUTPUTS.replace(from, to));
        let checked = place.run(&["check", "outputs.toml", "--no-build"]);
        assert!(checked.status == Some(2) && checked.stderr.contains(said), "{to}: {checked:?}");
    }
}

/// A reference program that copies x to y.
const PROGRAM: &str = "{ command = [\"sh\", \"ref.sh\"] }";

/// Runs and checks the copy with another reference, tolerance and shapes on the doubles; returns both results and the
/// place.
fn run_and_checked(changes: &[(&str, &str)]) -> (Finished, Finished, Place) {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 6");
    place.write("ref.sh", "cp \"$1/inputs/x.npy\" \"$1/outputs/y.npy\"\n");
    place.write("nan.sh", "cp nan.npy \"$1/outputs/y.npy\"\n");
    std::fs::write(place.path().join("nan.npy"), nan_but_one()).unwrap();
    let mut phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
    for (from, to) in changes {
        assert!(phase.contains(from), "{from} is not in {phase}");
        phase = phase.replace(from, to);
    }
    place.write("phase.toml", &phase);
    let checked = place.run(&["check", "phase.toml", "--no-build"]);
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let run = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    (run, checked, place)
}

/// A NumPy file with an answer that is NaN except for its first element.
fn nan_but_one() -> Vec<u8> {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2048,), }\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    let values = std::iter::once(1.0f32).chain(std::iter::repeat_n(f32::NAN, 2047));
    bytes.extend(values.flat_map(f32::to_le_bytes));
    bytes
}

const REFERENCE: &str = "reference = \"copy\"";
const TOLERANCE: &str = "tolerance = { max_abs = 2e-3 }";
const SHAPES: &str = "only = { S = 2048 }";

#[test]
fn a_tolerance_that_accepts_wrong_answers_is_refused_by_run_wherever_it_does() {
    let program = &*format!("reference = {PROGRAM}");
    let shapes = "only = { S = 2048, R = 1 }\nwide = { S = 2048, R = 2 }";
    let own = "tolerance = { atol = 1e-3, rtol = 1e-3, shapes = { wide = { atol = 1e9 } } }";
    let of_shape = [(TOLERANCE, own), (SHAPES, shapes)];
    let loose = (TOLERANCE, "tolerance = { max_abs = 1e9 }");
    let nan = [
        (REFERENCE, "reference = { command = [\"sh\", \"nan.sh\"] }"),
        (TOLERANCE, "tolerance = { max_abs = 1e-3, allow_nan = true }"),
    ];
    let rows = [
        (TOLERANCE, "tolerance = { atol = 1e-3, rtol = 1e-3, mismatches = 0.05 }"),
        (SHAPES, "few = { R = 16, C = 128 }\nmany = { R = 64, C = 32 }"),
        ("shape = [\"S\"]", "shape = [\"R\", \"C\"]"),
        ("S // THREADS", "R * C // THREADS"),
    ];
    let gemm = [
        (REFERENCE, "reference = \"gemm\"\nscalars = { alpha = 1e-5, beta = 1 }"),
        (SHAPES, "only = { M = 32, N = 64, K = 16 }"),
        (
            "x = { dtype = \"f16\", shape = [\"S\"], init = \"normal\" }",
            "a = { dtype = \"f16\", shape = [\"M\", \"K\"] }\nb = { dtype = \"f16\", shape = [\"K\", \"N\"] }\nc_in = { dtype = \"f16\", shape = [\"M\", \"N\"] }",
        ),
        ("y = { dtype = \"f16\", shape = [\"S\"]", "c = { dtype = \"f16\", shape = [\"M\", \"N\"]"),
        ("S // THREADS", "M * N // THREADS"),
        ("args = [\"x\", \"y\"]", "args = [\"c_in\", \"c\"]"),
    ];
    let of_program = |changes: &[(&'static str, &'static str)]| [&[(REFERENCE, program)], changes].concat();
    for (changes, said) in [
        (of_shape.to_vec(), "at shape `wide` it accepts zeros"),
        (of_program(&of_shape), "at shape `wide` cause: the tolerance is too wide for output `y`: it accepts zeros"),
        (of_program(&[loose]), "`y`: it accepts zeros"),
        (nan.to_vec(), "1 of 2048 elements of output `y` are finite in the reference"),
        (rows.to_vec(), "at shape `many`"),
        (
            of_program(&rows),
            "at shape `many` cause: the tolerance is too wide for output `y`: it accepts an output without its last row",
        ),
        (gemm.to_vec(), "it accepts a copy of input `c_in`"),
    ] {
        let (run, checked, place) = run_and_checked(&changes);
        assert!(!place.path().join("profiles/copy").exists(), "{said}: refused before anything is built: {run:?}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(run.status == Some(2) && words(&run.stderr).contains(said), "{said}: {run:?}");
        assert!(!run.stdout.contains("PASS"), "{said}: {run:?}");
        assert!(checked.status == Some(2) && words(&checked.stderr).contains(said), "{said}: {checked:?}");
    }
}

/// A product of matrices for the phase of the copy; `INIT` is that of the first.
const PRODUCT: [(&str, &str); 6] = [
    (REFERENCE, "reference = \"gemm\""),
    (SHAPES, "only = { M = 32, N = 64, K = 16 }"),
    (
        "x = { dtype = \"f16\", shape = [\"S\"], init = \"normal\" }",
        "a = { dtype = \"f32\", shape = [\"M\", \"K\"], init = INIT }\nb = { dtype = \"f16\", shape = [\"K\", \"N\"] }",
    ),
    ("y = { dtype = \"f16\", shape = [\"S\"]", "c = { dtype = \"f32\", shape = [\"M\", \"N\"]"),
    ("S // THREADS", "M * N // THREADS"),
    ("args = [\"x\", \"y\"]", "args = [\"a\", \"c\"]"),
];

#[test]
fn an_input_on_which_no_answer_depends_is_refused_and_a_constant_is_listed() {
    let product = |init: &'static str| {
        let mut changes = PRODUCT.to_vec();
        changes.push(("INIT", init));
        run_and_checked(&changes)
    };
    // Every element of `a` is about 2, so that 2 times the sums of the columns of `b` are right for any of its draws.
    let (run, checked, place) = product("{ normal = { mean = 2, std = 1e-5 } }");
    for finished in [&run, &checked] {
        assert_eq!(finished.status, Some(2), "{finished:?}");
        let said = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("the answer does not depend on input `a`"), "{said}");
    }
    assert!(!place.path().join("profiles/copy").exists(), "refused before anything is built: {run:?}");
    let (_, checked, _) = product("{ normal = { mean = 2, std = 1 } }");
    assert!(checked.status == Some(0) && !checked.stdout.contains("does not depend"), "{checked:?}");
    let (_, checked, _) = product("{ constant = 2 }");
    let said = "`a` has the same values in every draw (`init`), so a kernel need not read it";
    assert!(checked.status == Some(0) && checked.stdout.contains(said), "{checked:?}");
}

/// Copies x to y, but fails for inputs of which fewer than 100 are negative: those under the law `shifted`.
const POSITIVE: &str = r#"
negative=$(tail -c 16384 "$1/inputs/x.npy" | od -An -v -w8 -tf8 | awk '$1 < 0 { n++ } END { print n + 0 }')
[ "$negative" -ge 100 ] && cp "$1/inputs/x.npy" "$1/outputs/y.npy"
"#;

#[test]
fn a_program_is_asked_for_further_laws_and_a_law_that_it_does_not_take_is_listed() {
    let run = |kernel: &str, script: &str| {
        let (place, variables) = machine_that_counts(&[kernel], "rounds = 6");
        place.write("ref.sh", script);
        let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
        let phase = phase.replace(REFERENCE, &format!("reference = {PROGRAM}")).replace("laws = [\"declared\"]\n", "");
        place.write("phase.toml", &phase);
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        let folder = std::fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
        let checks = std::fs::read_to_string(folder.join("checks.jsonl")).unwrap();
        (finished, checks)
    };
    let copied = "cp \"$1/inputs/x.npy\" \"$1/outputs/y.npy\"\n";
    // This kernel is right on the declared inputs of both seeds.
    let (narrow, checks) = run("copy_narrow", copied);
    assert_eq!(narrow.status, Some(1), "{narrow:?}");
    assert!(checks.lines().all(|line| line.contains("\"wrong\"")), "{checks}");
    let (honest, checks) = run("copy_honest", copied);
    assert_eq!(honest.status, Some(0), "{honest:?}");
    assert!(!honest.stdout.contains("law"), "{honest:?}");
    assert!(checks.lines().all(|line| line.contains("\"correct\"")), "{checks}");
    let (partial, _) = run("copy_honest", POSITIVE);
    assert_eq!(partial.status, Some(0), "{partial:?}");
    let said = partial.stdout.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    assert!(said.contains("weakened checks: inputs under the law `shifted` are not checked at shape 'only'"), "{said}");
}

#[test]
fn a_refused_tolerance_comes_with_the_largest_that_is_not() {
    let place = Place::new();
    // Two answers: the larger shape has the smaller ones.
    place.write("ref.sh", "for name in y; do cp \"$1/inputs/x.npy\" \"$1/outputs/$name.npy\"; done\n");
    let text = include_str!("../data/copy.toml")
        .replace("reference = \"copy\"", &format!("reference = {PROGRAM}"))
        .replace(SHAPES, "only = { S = 2048 }\nwide = { S = 4096 }");
    let phase = |bound: &str| {
        let sweep = "[sweep]\nTHREADS = [128]\n[[gate]]\nname = \"spills\"\nrequire = \"spills == 0\"\n";
        place.write("phase.toml", &(text.replace("max_abs = 2e-3", bound) + sweep));
        place.run(&["check", "phase.toml", "--no-build"])
    };
    let refused = phase("max_abs = 50");
    assert_eq!(refused.status, Some(2), "{refused:?}");
    let words = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, bound) = words.split_once("at most `").expect(&words);
    let bound = bound.split_once('`').unwrap().0;
    assert_eq!(phase(bound).status, Some(0), "{words}");
    let value: f64 = bound.strip_prefix("max_abs = ").unwrap().parse().unwrap();
    assert_eq!(phase(&format!("max_abs = {}", 1.2 * value)).status, Some(2), "{words}");
}

/// A phase with this `[build]`, a reference that leaves a file, and a baseline in Python.
#[test]
fn all_missing_tools_are_said_at_once_and_before_the_reference_is_called() {
    let place = Place::new();
    place.write("ref.sh", "touch called\ncp \"$1/inputs/x.npy\" \"$1/outputs/y.npy\"\n");
    place.write("k.py", "");
    let text = include_str!("../data/copy.toml").replace("reference = \"copy\"", &format!("reference = {PROGRAM}"));
    let rest = "[sweep]\nTHREADS = [128]\n[[gate]]\nname = \"spills\"\nrequire = \"spills == 0\"\n\
                [build]\nnvcc = \"no-such-nvcc\"\npython = \"no-such-python\"\n\
                [[baseline]]\nname = \"other\"\nkernel = { python = \"k.py:f\", grid = [1], args = [\"x\", \"y\"] }\n";
    place.write("phase.toml", &(text + rest));
    let checked = place.run(&["check", "phase.toml", "--arch", "sm_90", "--sms", "132"]);
    assert_eq!(checked.status, Some(3), "{checked:?}");
    assert!(checked.stderr.contains("no-such-nvcc") && checked.stderr.contains("no-such-python"), "{checked:?}");
    assert!(!place.path().join("called").exists(), "{checked:?}");
    assert_eq!(place.run(&["check", "phase.toml", "--no-build"]).status, Some(0), "nothing is built");
    assert!(place.path().join("called").exists());
}

#[test]
fn a_tolerance_that_was_tried_passes_and_one_that_was_not_keeps_the_phase_from_it() {
    let program = &*format!("reference = {PROGRAM}");
    let (run, _, place) = run_and_checked(&[(REFERENCE, program)]);
    assert_eq!(run.status, Some(0), "{run:?}");
    let folder = |place: &Place, root: &str| {
        let runs = std::fs::read_dir(place.path().join(root).join("copy")).unwrap();
        runs.map(|run| run.unwrap().path()).find(|path| path.is_dir()).unwrap()
    };
    let checks = std::fs::read_to_string(folder(&place, "profiles").join("checks.jsonl")).unwrap();
    assert!(checks.lines().all(|line| line.contains("\"nulls\":")), "one for each seed: {checks}");

    // A program that checks itself leaves no answer for the tolerance trial.
    let of_itself = |tolerance: &str| {
        let (place, variables) = machine_of_program(GOOD);
        place.write("ref.sh", "cp \"$1/inputs/x.npy\" \"$1/outputs/y.npy\"\n");
        let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
        place.write(
            "phase.toml",
            &phase
                .replace(REFERENCE, program)
                .replace(TOLERANCE, tolerance)
                .replace("latency_p50 <= 10.5", "correct == 1"),
        );
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        (Finished::of(command.envs(variables).timeout(Duration::from_secs(100))), place)
    };
    let (untried, place) = of_itself(TOLERANCE);
    assert_eq!(untried.status, Some(4), "{untried:?}");
    let said = "the tolerance was not tested on wrong answers at 'only'";
    let report = folder(&place, "reports");
    let read = |name: &str| std::fs::read_to_string(report.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let lower = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    for (name, text) in [
        ("terminal", untried.stdout.clone()),
        ("report.md", read("report.md")),
        ("report.html", read("report.html").replace("&#x27;", "'").replace("&#39;", "'")),
        (
            "results.json",
            serde_json::from_str::<serde_json::Value>(&read("results.json")).unwrap()["cautions"].to_string(),
        ),
    ] {
        assert!(lower(&text).contains(said), "{name}: {text}");
    }
    let (accepts, _) = of_itself("tolerance = { max_abs = 2e-3, untested_tolerance = \"accept\" }");
    assert_eq!(accepts.status, Some(0), "{accepts:?}");
    let printed = lower(&accepts.stdout);
    assert!(printed.contains(said) && printed.contains("weakened checks"), "{printed}");
}

#[test]
fn a_reference_that_one_rounding_moves_beyond_the_tolerance_is_neither_passed_nor_failed() {
    // a copy of f16 values up to about 4: one rounding moves them by about 2e-3
    for (bound, status, said) in [("1e-2", Some(0), ""), ("1e-4", Some(4), "ill-conditioned: inputs perturbed by one")]
    {
        let (place, variables) = machine_that_counts(&["copy_honest", "copy_wrong"], "rounds = 60");
        let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
        let bound = format!("max_abs = {bound}, ill_conditioned = \"inconclusive\"");
        place.write("phase.toml", &phase.replace("max_abs = 2e-3", &bound));
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        assert_eq!(finished.status, status, "{finished:?}");
        let printed = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.contains(said), "{finished:?}");
    }
}

#[test]
fn the_reference_is_perturbed_only_where_the_host_computes_it() {
    let said = "`run` is inconclusive at shape `only`, seed 0: ill-conditioned: inputs perturbed by one rounding";
    for (bound, is_said) in [("1e-2", false), ("1e-4", true)] {
        let tolerance = format!("tolerance = {{ max_abs = {bound}, ill_conditioned = \"inconclusive\" }}");
        let checked = checked(&tolerance, &[]);
        assert_eq!((checked.status, checked.stdout.contains(said)), (Some(0), is_said), "{checked:?}");
    }
    let place = Place::new();
    let text = include_str!("../data/copy.toml").replace(
        "\"copy\"\ntolerance = { max_abs = 2e-3 }",
        "{ npy = \"a.npy\" }\ntolerance = { max_abs = 2e-3, ill_conditioned = \"inconclusive\" }",
    );
    place.write("phase.toml", &text);
    let refused = place.run(&["check", "phase.toml", "--no-build"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("`ill_conditioned` needs a reference that the host computes"), "{refused:?}");
}

#[test]
fn a_derived_tolerance_is_printed_by_check_and_told_on_the_page_and_rejects_what_is_wrong() {
    let derived = (TOLERANCE, "tolerance = \"derived\"");
    let (run, checked, place) = run_and_checked(&[derived]);
    assert_eq!((run.status, checked.status), (Some(0), Some(0)), "{run:?} {checked:?}");
    let said = "derived tolerance of output `y` at shape `only`: equality, because the output is not rounded";
    assert!(checked.stdout.contains(said), "{checked:?}");
    let page = "Tolerances are derived for each set of inputs";
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined(&run.stdout).contains(page), "{run:?}");
    let mut reports = std::fs::read_dir(place.path().join("reports/copy")).unwrap().map(|entry| entry.unwrap().path());
    let markdown = std::fs::read_to_string(reports.find(|path| path.is_dir()).unwrap().join("report.md")).unwrap();
    assert!(markdown.contains(page), "{markdown}");

    let (place, variables) = machine_that_counts(&["copy_honest", "copy_wrong"], "rounds = 6");
    let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
    place.write("phase.toml", &phase.replace(derived.0, derived.1));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert!(joined(&finished.stdout).contains("times the allowed derived bound"), "{finished:?}");
}

#[test]
fn a_derived_tolerance_resolves_an_output_that_is_nearly_constant() {
    let place = Place::new();
    let text = include_str!("../data/copy.toml")
        .replace(REFERENCE, "reference = \"softmax\"")
        .replace(SHAPES, "only = { R = 16, S = 2048 }")
        .replace(
            "shape = [\"S\"], init = \"normal\"",
            "shape = [\"R\", \"S\"], init = { normal = { mean = 0, std = 1e-3 } }",
        )
        .replace("shape = [\"S\"]", "shape = [\"R\", \"S\"]")
        .replace("\"f16\"", "\"f32\"");
    let checked = |tolerance: &str| {
        let sweep = "[sweep]\nTHREADS = [128]\n[[gate]]\nname = \"spills\"\nrequire = \"spills == 0\"\n";
        place.write("phase.toml", &(text.replace(TOLERANCE, tolerance) + sweep));
        place.run(&["check", "phase.toml", "--no-build"])
    };
    let wide = checked("tolerance = { rel_l2 = 2e-3 }");
    assert_eq!(wide.status, Some(2), "{wide:?}");
    let words = wide.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("it accepts the mean everywhere") && words.contains("at most `rel_l2 = "), "{words}");
    let derived = checked("tolerance = \"derived\"");
    assert_eq!(derived.status, Some(0), "{derived:?}");
    assert!(derived.stdout.contains("derived tolerance of output `y` at shape `only`: "), "{derived:?}");
}
