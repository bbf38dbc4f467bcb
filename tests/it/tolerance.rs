//! Tolerances as a user of the real binary meets them: those that prove nothing, and what others accept.

use crate::command::{Finished, Place};

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
        assert!(loose.stderr.contains("the tolerance proves nothing: at shape 'only' it accepts zeros"), "{loose:?}");
    }
    let right = checked("tolerance = { atol = 1e-6, rtol = 1e-3 }", &[]);
    assert_eq!((right.status, right.stderr.as_str()), (Some(0), ""), "{right:?}");
}

#[test]
fn mutants_are_listed_with_what_the_tolerance_says_to_them() {
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
    assert!(refused.stderr.contains("asks for a plain evaluation, which only built-in references have"), "{refused:?}");
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
fn bounds_of_outputs_and_shapes_are_named_right_and_stand_beside_atol_and_rtol_alone() {
    let place = Place::new();
    place.write("reference.py", "def rows(x):\n    return {'y': x, 'rstd': x.mean(axis=1)}\n");
    for (from, to, said) in [
        ("rstd = { atol", "rsdt = { atol", "`workload.tolerance.outputs.rsdt` is not an output"),
        ("rstd = { atol", "x = { atol", "`workload.tolerance.outputs.x` is not an output"),
        ("wide = { atol = 1e-1 }", "width = { atol = 1e-1 }", "`workload.tolerance.shapes.width` is not a shape"),
        ("wide = { atol = 1e-1 }", "wide = {}", "`atol`, `rtol` or both"),
        ("atol = 1e-2, outputs", "max_abs = 1e-2, outputs", "which nothing bounds for all outputs"),
        ("atol = 1e-6", "atol = -1", "a number of at least 0"),
    ] {
        assert!(OUTPUTS.contains(from), "{from}");
        place.write("outputs.toml", &OUTPUTS.replace(from, to));
        let checked = place.run(&["check", "outputs.toml", "--no-build"]);
        assert!(checked.status == Some(2) && checked.stderr.contains(said), "{to}: {checked:?}");
    }
}
