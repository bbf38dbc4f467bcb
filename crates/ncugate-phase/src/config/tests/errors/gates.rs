//! Errors of gates, stages and their inputs.

use super::super::shown;
use insta::assert_snapshot;

#[test]
fn unknown_metric() {
    assert_snapshot!(shown(&[("spills == 0", "eligable_warps >= 2")]), @r##"
    error: `gate[0].require` is "eligable_warps >= 2"; `eligable_warps` is unknown
      --> phase.toml:31:12
       |
    31 | require = "eligable_warps >= 2"
       |            ^^^^^^^^^^^^^^
       |
       = help: did you mean `eligible_warps`? docs/metrics.md lists the metrics; write a metric of ncu with its suffix, such as `sm__cycles_active.avg`; values: N, THREADS, CAP, scale, cc, dtype
    "##);
}

#[test]
fn unknown_metric_of_the_baseline() {
    assert_snapshot!(shown(&[("spills == 0", "latency_p50 <= baseline.latencyp50")]), @r##"
    error: `gate[0].require` is "latency_p50 <= baseline.latencyp50"; `latencyp50` is unknown
      --> phase.toml:31:27
       |
    31 | require = "latency_p50 <= baseline.latencyp50"
       |                           ^^^^^^^^^^^^^^^^^^^
       |
       = help: did you mean `latency_p50`? docs/metrics.md lists the metrics; write a metric of ncu with its suffix, such as `sm__cycles_active.avg`
    "##);
}

#[test]
fn requirement_that_compares_nothing() {
    assert_snapshot!(shown(&[("spills == 0", "spills")]), @r##"
    error: `gate[0].require`: requirement `spills` has no comparison; write for example `spills >= 1`
      --> phase.toml:31:11
       |
    31 | require = "spills"
       |           ^^^^^^^^
    "##);
}

#[test]
fn chained_comparison() {
    assert_snapshot!(shown(&[("spills == 0", "0 < spills < 2")]), @r##"
    error: `gate[0].require`: requirement `0 < spills < 2` chains comparisons; write two gates, or join them with `and`
      --> phase.toml:31:12
       |
    31 | require = "0 < spills < 2"
       |            ^^^^^^^^^^^^^^
    "##);
}

#[test]
fn requirement_without_a_quantity() {
    assert_snapshot!(shown(&[("spills == 0", "1 < 2")]), @r##"
    error: `gate[0].require`: requirement `1 < 2` reads no metric, so no measurement could change its verdict
      --> phase.toml:31:11
       |
    31 | require = "1 < 2"
       |           ^^^^^^^
    "##);
}

#[test]
fn speedup_over_an_unknown_baseline() {
    assert_snapshot!(shown(&[("spills == 0", r#"speedup(\"flash\") > 1"#)]), @r##"
    error: `gate[0].require` compares with `flash`, which is not a baseline, variant or stage
      --> phase.toml:31:12
       |
    31 | require = "speedup(\"flash\") > 1"
       |            ^^^^^^^^^^^^^^^^^^
       |
       = help: known: baseline, previous, best, base
    "##);
}

#[test]
fn unknown_shape() {
    assert_snapshot!(shown(&[(r#"require = "spills == 0""#, r#"require = "spills == 0"
shapes = ["tiney"]"#)]), @r##"
    error: `gate[0].shapes[0]` names the undeclared shape `tiney`
      --> phase.toml:32:11
       |
    32 | shapes = ["tiney"]
       |           ^^^^^^^
       |
       = help: did you mean `tiny`? known: tiny, big
    "##);
}

#[test]
fn at_least_more_than_there_are() {
    assert_snapshot!(shown(&[(r#"require = "spills == 0""#, r#"require = "spills == 0"
shapes = ["tiny", "big"]
at_least = 3"#)]), @r##"
    error: `gate[0].at_least` is `3`, expected at most 2, the number of the gate's shapes
      --> phase.toml:33:12
       |
    33 | at_least = 3
       |            ^
    "##);
}

#[test]
fn gates_of_one_name() {
    assert_snapshot!(shown(&[(r#"require = "spills == 0""#, r#"require = "spills == 0"
[[gate]]
name = "spills"
require = "registers < 9""#)]), @r##"
    error: gate `spills` is declared twice
      --> phase.toml:32:1
       |
    32 | [[gate]]
       | ^^^^^^^^
       |
       = help: give each a different name
    "##);
}

#[test]
fn text_that_is_not_a_glob() {
    assert_snapshot!(shown(&[(r#"require = "spills == 0""#, r#"require = "spills == 0"
on = "CAP=[3""#)]), @r##"
    error: `gate[0].on` is `"CAP=[3"`, expected a glob of variant ids
      --> phase.toml:32:6
       |
    32 | on = "CAP=[3"
       |      ^^^^^^^^
       |
       = help: unclosed character class; missing ']'
    "##);
}

#[test]
fn glob_with_too_many_braces() {
    let braces = format!("on = \"{}a{}\"", "{".repeat(21), "}".repeat(21));
    let text = shown(&[("require = \"spills == 0\"", &format!("require = \"spills == 0\"\n{braces}"))]);
    assert!(text.contains("expected a glob of variant ids"), "{text}");
    assert!(text.contains("help: it has more than 20 opening braces"), "{text}");
}

#[test]
fn objective_without_a_direction() {
    assert_snapshot!(shown(&[(r#"name = "small""#, r#"name = "small"
objective = "sm__cycles_active.avg""#)]), @r##"
    error: `phase.objective` is `sm__cycles_active.avg`, a metric without a direction
     --> phase.toml:3:13
      |
    3 | objective = "sm__cycles_active.avg"
      |             ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: objective = { minimise = "sm__cycles_active.avg" }, or maximise
    "##);
}

#[test]
fn a_removed_metric_names_what_to_use_instead() {
    let metric = "energy_per_launch";
    for change in [
        (r#"name = "small""#, format!("name = \"small\"\nobjective = \"{metric}\"")),
        ("require = \"spills == 0\"", format!("require = \"{metric} < baseline.{metric}\"")),
        ("require = \"spills == 0\"", format!("require = \"{metric} < 5 mJ\"")),
        ("[kernel]", format!("[profile]\nmetrics = [\"{metric}\"]\n\n[kernel]")),
    ] {
        let text = shown(&[(change.0, change.1.as_str())]);
        assert!(text.contains("= help: `energy_per_launch` is removed; read the board's power outside"), "{text}");
    }
}

#[test]
fn bench_leaves_out_a_judged_shape() {
    assert_snapshot!(shown(&[("[kernel]", r#"[bench]
shapes = ["tiny"]

[kernel]"#)]), @r##"
    error: `bench.shapes` leaves out `big`, which the objective or a gate reads
      --> phase.toml:17:10
       |
    17 | shapes = ["tiny"]
       |          ^^^^^^^^
       |
       = help: add it, or remove `shapes`
    "##);
}

#[test]
fn waiver_of_an_unknown_gate_with_a_quoted_date() {
    assert_snapshot!(shown(&[("[[gate]]", r#"[[waiver]]
gate = "spill"
reason = "a known defect"
owner = "me"
expires = "2026-12-31"

[[gate]]"#)]), @r##"
    error: `waiver[0].gate` names the undeclared gate `spill`
      --> phase.toml:30:8
       |
    30 | gate = "spill"
       |        ^^^^^^^
       |
       = help: did you mean `spills`? known: spills

    error: `waiver[0].expires` is `"2026-12-31"`, expected a date such as 2026-12-31, without quotes
      --> phase.toml:33:11
       |
    33 | expires = "2026-12-31"
       |           ^^^^^^^^^^^^
    "##);
}

#[test]
fn stage_and_tier() {
    assert_snapshot!(shown(&[("[[gate]]", r#"[[stage]]
name = "a"
variant = "*"
expect = [1.2, 1.1]
on_failure = "stop"

[[tier]]
name = "t"
require = ["latency_p50 < "]

[[gate]]"#)]), @r##"
    error: `stage[0].expect` is `[1.2, 1.1]`, expected two speedups, the lower first
      --> phase.toml:32:10
       |
    32 | expect = [1.2, 1.1]
       |          ^^^^^^^^^^
       |
       = help: expect = [1.10, 1.15]

    error: `stage[0].on_failure` is `"stop"`, expected one of "revert", "skip"
      --> phase.toml:33:14
       |
    33 | on_failure = "stop"
       |              ^^^^^^

    error: `tier[0].require[0]`: cannot parse requirement `latency_p50 <`: expected a value, found the end
      --> phase.toml:37:26
       |
    37 | require = ["latency_p50 < "]
       |                          ^
    "##);
}

#[test]
fn precondition_with_an_unknown_name() {
    assert_snapshot!(shown(&[("[[gate]]", r#"[[precondition]]
require = "M % 16 == 0"

[[gate]]"#)]), @r##"
    error: `precondition[0].require` is "M % 16 == 0"; `M` is not among the dimensions, `cc` and `dtype`
      --> phase.toml:30:12
       |
    30 | require = "M % 16 == 0"
       |            ^
       |
       = help: known: N, cc, dtype
    "##);
}

#[test]
fn gate_on_no_variant() {
    assert_snapshot!(shown(&[(r#"require = "spills == 0""#, r#"require = "spills == 0"
on = "selectd""#)]), @r##"
    error: `gate[0].on` is "selectd", which matches no candidate
      --> phase.toml:32:6
       |
    32 | on = "selectd"
       |      ^^^^^^^^^
       |
       = help: did you mean "selected"? use a glob of variant ids; the first id is `THREADS=32,CAP=32`
    "##);
}

#[test]
fn gate_on_the_best_of_no_variant() {
    assert_snapshot!(shown(&[(r#"require = "spills == 0""#, r#"require = "spills == 0"
on = "best:CAP=128*""#)]), @r##"
    error: `gate[0].on` is "best:CAP=128*", which matches no candidate
      --> phase.toml:32:6
       |
    32 | on = "best:CAP=128*"
       |      ^^^^^^^^^^^^^^^
       |
       = help: use a glob of variant ids; the first id is `THREADS=32,CAP=32`
    "##);
}

#[test]
fn a_batch_needs_two_extents_of_a_dimension_that_is_the_outermost_of_an_axis() {
    let said = |metric: &str, edits: &[(&str, &str)]| {
        let gate = format!(r#"batch_invariant(\"{metric}\") == 1"#);
        shown(&[&[("spills == 0", gate.as_str())], edits].concat())
    };
    assert_eq!(said("N", &[]), "no error");
    let unknown = said("B", &[]);
    assert!(unknown.contains(", but no two shapes differ in `B` alone\n  --> phase.toml:31:"), "{unknown}");
    let tables =
        [("big = { N = 4096 }", "big = { N = 4096, M = 2 }"), ("tiny = { N = 64 }", "tiny = { N = 64, M = 1 }")];
    assert!(said("N", &tables).contains("but no two shapes differ in `N` alone"));
    for extent in [r#"["2 * N"]"#, r#"["N + 1"]"#, r#"["N", "N"]"#] {
        let said = said(
            "N",
            &[(r#"x = { dtype = "f32", shape = ["N"]"#, &format!("x = {{ dtype = \"f32\", shape = {extent}"))],
        );
        assert!(said.contains("but `N` is not the outermost part of one axis of `x`"), "{extent}: {said}");
    }
    assert!(shown(&[("spills == 0", "batch_invariant == 1")]).contains(r#"write batch_invariant("...")"#));
}
