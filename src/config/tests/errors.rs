//! One test a class of errors; the snapshots are what a person sees.

use super::shown;
use insta::assert_snapshot;

#[test]
fn not_toml() {
    assert_snapshot!(shown(&[(r#"name = "small""#, r#"name = "small"#)]), @r##"
    error: not TOML: invalid basic string, expected `"`
     --> phase.toml:2:14
      |
    2 | name = "small
      |              ^
    "##);
}

#[test]
fn every_error_comes_out_at_once() {
    assert_snapshot!(shown(&[(r#"name = "small""#, r#"nme = "small""#), ("seeds = [0, 1]", "seeds = []"), (r#"dtype = "f32""#, r#"dtype = "fp32""#), (r#"args = ["x", "y""#, r#"args = ["x", "z""#), ("spills == 0", "spils == 0")]), @r##"
    error: `phase.name` is missing
     --> phase.toml:1:1
      |
    1 | [phase]
      | ^^^^^^^
      |
      = help: Short name; runs and reports are kept in folders of this name.

    error: unknown key `phase.nme`
     --> phase.toml:2:1
      |
    2 | nme = "small"
      | ^^^
      |
      = help: did you mean `name`? allowed in `phase`: name, title, objective, objective_shape, select, recording

    error: `workload.seeds` is `[]`, expected an array with at least one value
     --> phase.toml:5:9
      |
    5 | seeds = []
      |         ^^

    error: `workload.buffers.x.dtype` is `"fp32"`, expected one of "f64", "f32", "f16", "bf16", "fp8-e4m3", "fp8-e5m2", "i64", "u64", "i32", "u32", "i16", "u16", "i8", "u8", "bool", "complex64"
      --> phase.toml:13:15
       |
    13 | x = { dtype = "fp32", shape = ["N"] }
       |               ^^^^^^
       |
       = help: did you mean "f32"?

    error: `kernel.args[1]` is `z`, which is not a buffer, tensor map, scalar or dimension
      --> phase.toml:23:14
       |
    23 | args = ["x", "z", "N", "scale"]
       |              ^^^
       |
       = help: known: x, y, scale, N

    error: `gate[0].require` is "spils == 0", whose `spils` is unknown
      --> phase.toml:31:12
       |
    31 | require = "spils == 0"
       |            ^^^^^
       |
       = help: did you mean `spills`? docs/config.md lists the metrics; one of ncu's is written with its unit, as `sm__cycles_active.avg`; values: N, THREADS, CAP, scale, cc, dtype
    "##);
}

#[test]
fn unknown_key() {
    assert_snapshot!(shown(&[(r#"entry = "copy""#, r#"entry = "copy"
blok = ["1"]"#)]), @r##"
    error: unknown key `kernel.blok`
      --> phase.toml:19:1
       |
    19 | blok = ["1"]
       | ^^^^
       |
       = help: did you mean `block`? allowed in `kernel`: source, ptx, cubin, python, entry, flags, defines, grid, block, cluster, dynamic_shared, cooperative, carveout, tensor_maps, symbols, where, args, workspace, launch
    "##);
}

#[test]
fn unknown_table() {
    assert_snapshot!(shown(&[("[sweep]", "[sweeps]")]), @r##"
    error: `kernel.flags[1]` is "-maxrregcount={{ CAP }}", whose `CAP` is not among the sweep's parameters
      --> phase.toml:19:35
       |
    19 | flags = ["-O3", "-maxrregcount={{ CAP }}"]
       |                                   ^^^
       |
       = help: none is declared

    error: `kernel.defines[0]` is `THREADS`, which is not among the sweep's parameters
      --> phase.toml:20:12
       |
    20 | defines = ["THREADS"]
       |            ^^^^^^^^^
       |
       = help: none is declared

    error: `kernel.grid[0]` is "(N + THREADS - 1) // THREADS", whose `THREADS` is not among the dimensions and the sweep's parameters
      --> phase.toml:21:15
       |
    21 | grid = ["(N + THREADS - 1) // THREADS"]
       |               ^^^^^^^
       |
       = help: known: N

    error: `kernel.block[0]` is "THREADS", whose `THREADS` is not among the dimensions and the sweep's parameters
      --> phase.toml:22:11
       |
    22 | block = ["THREADS"]
       |           ^^^^^^^
       |
       = help: known: N

    error: unknown key `sweeps`
      --> phase.toml:25:2
       |
    25 | [sweeps]
       |  ^^^^^^
       |
       = help: did you mean `sweep`? allowed here: phase, build, bench, profile, machine, workload, kernel, sweep, search, variant, baseline, gate, tier, stage, fallback, precondition, waiver, rule, imported, explain, base
    "##);
}

#[test]
fn missing_key() {
    assert_snapshot!(shown(&[(r#"source = "copy.cu"
"#, "")]), @r##"
    error: `kernel.source` is missing
      --> phase.toml:16:1
       |
    16 | [kernel]
       | ^^^^^^^^
       |
       = help: The `.cu` file, or a header with kernels. A kernel has exactly one of `source`, `ptx`, `cubin` and `python`.
    "##);
}

#[test]
fn wrong_type() {
    assert_snapshot!(shown(&[("[kernel]", r#"[bench]
rounds = "many"
warmup = -1

[kernel]"#)]), @r##"
    error: `bench.rounds` is `"many"`, expected a whole number of at least 1
      --> phase.toml:17:10
       |
    17 | rounds = "many"
       |          ^^^^^^

    error: `bench.warmup` is `-1`, expected a whole number of at least 0
      --> phase.toml:18:10
       |
    18 | warmup = -1
       |          ^^
    "##);
}

#[test]
fn unknown_word() {
    assert_snapshot!(shown(&[(r#"role = "output""#, r#"role = "outptu""#)]), @r##"
    error: `workload.buffers.y.role` is `"outptu"`, expected one of "input", "output", "inout", "scratch"
      --> phase.toml:14:44
       |
    14 | y = { dtype = "f32", shape = ["N"], role = "outptu" }
       |                                            ^^^^^^^^
       |
       = help: did you mean "output"?
    "##);
}

#[test]
fn unknown_reference() {
    assert_snapshot!(shown(&[(r#"reference = "copy""#, r#"reference = "softmx""#)]), @r##"
    error: `workload.reference` is `"softmx"`, expected one of "sdpa", "gemm", "softmax", "reduce", "copy"
     --> phase.toml:6:13
      |
    6 | reference = "softmx"
      |             ^^^^^^^^
      |
      = help: did you mean "softmax"?
    "##);
}

#[test]
fn reference_with_other_buffers() {
    assert_snapshot!(shown(&[(r#"reference = "copy""#, r#"reference = "sdpa""#)]), @r##"
    error: `workload.reference` is `sdpa`, which takes the inputs q, k, v and one output; the file has the inputs x and the outputs y
     --> phase.toml:6:13
      |
    6 | reference = "sdpa"
      |             ^^^^^^
      |
      = help: buffers are found by name, else by their order
    "##);
}

#[test]
fn reference_of_two_kinds() {
    assert_snapshot!(shown(&[(r#"reference = "copy""#, r#"reference = { builtin = "copy", npy = "a.npy" }"#)]), @r##"
    error: `workload.reference` is `{ builtin = "copy", npy = "a.npy" }`, expected exactly one of builtin, entry, npy, python, command
     --> phase.toml:6:13
      |
    6 | reference = { builtin = "copy", npy = "a.npy" }
      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "##);
}

#[test]
fn npy_path_with_an_unknown_name() {
    assert_snapshot!(shown(&[(r#"reference = "copy""#, r#"reference = { npy = "a_{{ seeds }}.npy" }"#)]), @r##"
    error: `workload.reference.npy` is "a_{{ seeds }}.npy", whose `seeds` is not among `shape`, `seed`, `buffer` and the dimensions
     --> phase.toml:6:27
      |
    6 | reference = { npy = "a_{{ seeds }}.npy" }
      |                           ^^^^^
      |
      = help: did you mean `seed`? known: shape, seed, buffer, N
    "##);
}

#[test]
fn no_tolerance() {
    assert_snapshot!(shown(&[("tolerance = { max_abs = 0 }", "tolerance = {}")]), @r##"
    error: `workload.tolerance` is `{}`, expected at least one bound: max_abs, rel_l2, atol, rtol, times_error
     --> phase.toml:7:13
      |
    7 | tolerance = {}
      |             ^^
      |
      = help: tolerance = { max_abs = 2e-3 }
    "##);
}

#[test]
fn no_output() {
    assert_snapshot!(shown(&[(r#", role = "output""#, "")]), @r##"
    error: no buffer has the role output or inout, so that nothing could be proved correct
      --> phase.toml:12:1
       |
    12 | [workload.buffers]
       | ^^^^^^^^^^^^^^^^^^
       |
       = help: give the buffer that the kernel computes `role = "output"`, or `"inout"` where it changes it in place
    "##);
}

#[test]
fn dimension_not_positive() {
    assert_snapshot!(shown(&[("tiny = { N = 64 }", "tiny = { N = 0 }")]), @r##"
    error: `workload.shapes.tiny.N` is `0`, expected a whole number of at least 1
      --> phase.toml:10:14
       |
    10 | tiny = { N = 0 }
       |              ^
    "##);
}

#[test]
fn shapes_with_other_dimensions() {
    assert_snapshot!(shown(&[("big = { N = 4096 }", "big = { M = 4096 }")]), @r##"
    error: shape `big` has the dimensions M, but shape `tiny` has N
      --> phase.toml:11:7
       |
    11 | big = { M = 4096 }
       |       ^^^^^^^^^^^^
       |
       = help: give every shape the same dimensions
    "##);
}

#[test]
fn extent_of_a_buffer() {
    assert_snapshot!(shown(&[(r#"shape = ["N"] }"#, r#"shape = ["N // 128"] }"#)]), @r##"
    error: `workload.buffers.x.shape[0]` is "N // 128", which gives 0 at shape `tiny`
      --> phase.toml:13:31
       |
    13 | x = { dtype = "f32", shape = ["N // 128"] }
       |                               ^^^^^^^^^^
       |
       = help: an extent is a whole number of at least 1
    "##);
}

#[test]
fn init_over_names_that_are_no_dimensions() {
    assert_snapshot!(shown(&[(r#"dtype = "f32", shape = ["N"] }"#, r#"dtype = "f32", shape = ["N"], init = { indices = "M - 1" } }"#)]), @r##"
    error: `workload.buffers.x.init.indices` is "M - 1", whose `M` is not among the dimensions
      --> phase.toml:13:57
       |
    13 | x = { dtype = "f32", shape = ["N"], init = { indices = "M - 1" } }
       |                                                         ^
       |
       = help: known: N
    "##);
}

#[test]
fn init_that_means_nothing_at_a_shape() {
    assert_snapshot!(shown(&[(r#"dtype = "f32", shape = ["N"] }"#, r#"dtype = "f32", shape = ["N"], init = { uniform = { low = "N", high = 4 } } }"#)]), @r##"
    error: `workload.buffers.x.init` at shape `tiny`: low is 64 and high is 4; low is below high
      --> phase.toml:13:44
       |
    13 | x = { dtype = "f32", shape = ["N"], init = { uniform = { low = "N", high = 4 } } }
       |                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "##);
}

#[test]
fn a_warm_cache_for_state() {
    assert_snapshot!(shown(&[(r#"role = "output" }"#, r#"role = "output", init = { constant = 0 } }"#), ("[kernel]", "[bench]\nl2 = \"warm\"\n[kernel]")]), @r##"
    error: `bench.l2` is "warm", but the workload has buffers that a launch changes and the next one needs anew
      --> phase.toml:17:6
       |
    17 | l2 = "warm"
       |      ^^^^^^
       |
       = help: each launch of a sample has its own copy of them, which is not a warm cache: use "rotate" or "cold"
    "##);
}

#[test]
fn expression_that_does_not_parse() {
    assert_snapshot!(shown(&[(r#"block = ["THREADS"]"#, r#"block = ["THREADS +"]"#)]), @r##"
    error: `kernel.block[0]`: expression 'THREADS +' does not parse: expected a value, found the end
      --> phase.toml:22:20
       |
    22 | block = ["THREADS +"]
       |                    ^
    "##);
}

#[test]
fn expression_with_an_unknown_name() {
    assert_snapshot!(shown(&[(r#"block = ["THREADS"]"#, r#"block = ["THREAD"]"#)]), @r##"
    error: `kernel.block[0]` is "THREAD", whose `THREAD` is not among the dimensions and the sweep's parameters
      --> phase.toml:22:11
       |
    22 | block = ["THREAD"]
       |           ^^^^^^
       |
       = help: did you mean `THREADS`? known: N, THREADS, CAP
    "##);
}

#[test]
fn flag_with_an_unknown_name() {
    assert_snapshot!(shown(&[("{{ CAP }}", "{{ CAPS }}")]), @r##"
    error: `kernel.flags[1]` is "-maxrregcount={{ CAPS }}", whose `CAPS` is not among the sweep's parameters
      --> phase.toml:19:35
       |
    19 | flags = ["-O3", "-maxrregcount={{ CAPS }}"]
       |                                   ^^^^
       |
       = help: did you mean `CAP`? known: THREADS, CAP
    "##);
}

#[test]
fn parameter_that_nothing_uses() {
    assert_snapshot!(shown(&[("CAP = [32, 64]", "CAP = [32, 64]\nTILE = [1, 2]")]), @r##"
    error: `sweep.TILE` is a parameter that the kernel does not use
      --> phase.toml:28:1
       |
    28 | TILE = [1, 2]
       | ^^^^
       |
       = help: add "TILE" to `defines`, name it in `flags`, `entry`, `grid` or `block`, or leave it out
    "##);
}

#[test]
fn define_that_is_not_a_parameter() {
    assert_snapshot!(shown(&[(r#"defines = ["THREADS"]"#, r#"defines = ["THREADS", "TILE"]"#)]), @r##"
    error: `kernel.defines[1]` is `TILE`, which is not among the sweep's parameters
      --> phase.toml:20:23
       |
    20 | defines = ["THREADS", "TILE"]
       |                       ^^^^^^
       |
       = help: known: THREADS, CAP
    "##);
}

#[test]
fn too_many_axes() {
    assert_snapshot!(shown(&[(r#"block = ["THREADS"]"#, r#"block = ["THREADS", 1, 1, 1]"#)]), @r##"
    error: `kernel.block` is `["THREADS", 1, 1, 1]`, expected 1 to 3 axes
      --> phase.toml:22:9
       |
    22 | block = ["THREADS", 1, 1, 1]
       |         ^^^^^^^^^^^^^^^^^^^^
    "##);
}

#[test]
fn empty_axis_of_the_sweep() {
    assert_snapshot!(shown(&[("CAP = [32, 64]", "CAP = []")]), @r##"
    error: `sweep.CAP` is `[]`, expected an array with at least one value
      --> phase.toml:27:7
       |
    27 | CAP = []
       |       ^^
    "##);
}

#[test]
fn repeated_value_of_the_sweep() {
    assert_snapshot!(shown(&[("CAP = [32, 64]", "CAP = [32, 32]")]), @r##"
    error: `sweep.CAP` repeats the value `32`
      --> phase.toml:27:12
       |
    27 | CAP = [32, 32]
       |            ^^
    "##);
}

#[test]
fn parameter_that_is_also_a_dimension() {
    assert_snapshot!(shown(&[("CAP = [32, 64]", "CAP = [32, 64]\nN = [1, 2]")]), @r##"
    error: `N` is both a dimension and a parameter
     --> phase.toml:4:1
      |
    4 | [workload]
      | ^^^^^^^^^^
      |
      = help: rename one: expressions and arguments cannot use one name for both
    "##);
}

#[test]
fn parameter_with_the_name_of_a_metric() {
    assert_snapshot!(shown(&[
        ("CAP = [32, 64]", "CAP = [32, 64]\nregisters = [1, 2]"),
        (r#"defines = ["THREADS"]"#, r#"defines = ["THREADS", "registers"]"#)
    ]), @r##"
    error: the parameter `registers` has the name of a metric
     --> phase.toml:4:1
      |
    4 | [workload]
      | ^^^^^^^^^^
      |
      = help: rename it: a requirement cannot use one name for both
    "##);
}

#[test]
fn unknown_metric() {
    assert_snapshot!(shown(&[("spills == 0", "eligable_warps >= 2")]), @r##"
    error: `gate[0].require` is "eligable_warps >= 2", whose `eligable_warps` is unknown
      --> phase.toml:31:12
       |
    31 | require = "eligable_warps >= 2"
       |            ^^^^^^^^^^^^^^
       |
       = help: did you mean `eligible_warps`? docs/config.md lists the metrics; one of ncu's is written with its unit, as `sm__cycles_active.avg`; values: N, THREADS, CAP, scale, cc, dtype
    "##);
}

#[test]
fn unknown_metric_of_the_baseline() {
    assert_snapshot!(shown(&[("spills == 0", "latency_p50 <= baseline.latencyp50")]), @r##"
    error: `gate[0].require` is "latency_p50 <= baseline.latencyp50", whose `latencyp50` is unknown
      --> phase.toml:31:27
       |
    31 | require = "latency_p50 <= baseline.latencyp50"
       |                           ^^^^^^^^^^^^^^^^^^^
       |
       = help: did you mean `latency_p50`? docs/config.md lists the metrics; one of ncu's is written with its unit, as `sm__cycles_active.avg`
    "##);
}

#[test]
fn requirement_that_compares_nothing() {
    assert_snapshot!(shown(&[("spills == 0", "spills")]), @r##"
    error: `gate[0].require`: requirement 'spills' compares nothing; write for example 'spills >= 1'
      --> phase.toml:31:11
       |
    31 | require = "spills"
       |           ^^^^^^^^
    "##);
}

#[test]
fn chained_comparison() {
    assert_snapshot!(shown(&[("spills == 0", "0 < spills < 2")]), @r##"
    error: `gate[0].require`: requirement '0 < spills < 2' chains comparisons; write two gates, or join them with 'and'
      --> phase.toml:31:12
       |
    31 | require = "0 < spills < 2"
       |            ^^^^^^^^^^^^^^
    "##);
}

#[test]
fn requirement_without_a_quantity() {
    assert_snapshot!(shown(&[("spills == 0", "1 < 2")]), @r##"
    error: `gate[0].require`: requirement '1 < 2' reads no measured quantity, so that it would hold or fail whatever is measured
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
    error: `gate[0].shapes[0]` names the shape `tiney`, which is not declared
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
       = help: give each its own name
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
fn part_of_a_text_with_escapes_keeps_its_caret() {
    assert_snapshot!(shown(&[("require = \"spills == 0\"", r#"require = "ncu(\"a__b.sum\") < 1 < 2 \\ 3""#)]), @r##"
    error: `gate[0].require`: requirement 'ncu("a__b.sum") < 1 < 2 \ 3' does not parse: `\` is not part of an expression
      --> phase.toml:31:38
       |
    31 | require = "ncu(\"a__b.sum\") < 1 < 2 \\ 3"
       |                                      ^^
    "##);
}

#[test]
fn expression_of_several_lines_keeps_its_caret() {
    let text = "where = \"\"\"\nTHREADS > 0\nand THREAD < 64\"\"\"";
    let shown = shown(&[("CAP = [32, 64]", &format!("CAP = [32, 64]\n{text}"))]);
    assert!(shown.contains("30 | and THREAD < 64"), "{shown}");
    assert!(shown.contains("   |     ^^^^^^\n"), "{shown}");
}

#[test]
fn objective_without_a_direction() {
    assert_snapshot!(shown(&[(r#"name = "small""#, r#"name = "small"
objective = "sm__cycles_active.avg""#)]), @r##"
    error: `phase.objective`: whether more or less of `sm__cycles_active.avg` is better is not known
     --> phase.toml:3:13
      |
    3 | objective = "sm__cycles_active.avg"
      |             ^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: objective = { minimise = "sm__cycles_active.avg" }, or maximise
    "##);
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
       = help: add it, or leave `shapes` out
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
    error: `waiver[0].gate` names the gate `spill`, which is not declared
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

    error: `tier[0].require[0]`: requirement 'latency_p50 <' does not parse: expected a value, found the end
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
    error: `precondition[0].require` is "M % 16 == 0", whose `M` is not among the dimensions, `cc` and `dtype`
      --> phase.toml:30:12
       |
    30 | require = "M % 16 == 0"
       |            ^
       |
       = help: known: N, cc, dtype
    "##);
}

#[test]
fn variant_with_kernel_and_command() {
    assert_snapshot!(shown(&[("[sweep]", r#"[[variant]]
name = "a"
kernel = {}
command = ["x"]

[[variant]]
name = "a"
command = ["x", "{{ Q }}"]
kernel_filter = "("

[sweep]"#)]), @r##"
    error: variant `a` has both `kernel` and `command`
      --> phase.toml:27:10
       |
    27 | kernel = {}
       |          ^^
       |
       = help: keep one

    error: variant `a` is declared twice
      --> phase.toml:31:8
       |
    31 | name = "a"
       |        ^^^
       |
       = help: give each its own name

    error: `variant[1].command[1]` is "{{ Q }}", whose `Q` is not among the parameters of variant `a`
      --> phase.toml:32:21
       |
    32 | command = ["x", "{{ Q }}"]
       |                     ^
       |
       = help: none is declared

    error: `variant[1].kernel_filter` is `"("`, expected a regular expression
      --> phase.toml:33:17
       |
    33 | kernel_filter = "("
       |                 ^^^
       |
       = help: error: unclosed group
    "##);
}

#[test]
fn nothing_to_run() {
    assert_snapshot!(shown(&[("[kernel]\n", r#"[build]
arch = "90"

[variable]
"#)]), @r##"
    error: the phase has nothing to run
     --> phase.toml:1:1
      |
    1 | [phase]
      | ^
      |
      = help: declare [kernel], or at least one [[variant]]

    error: `build.arch` is `"90"`, expected an architecture such as "sm_90"
      --> phase.toml:17:8
       |
    17 | arch = "90"
       |        ^^^^

    error: unknown key `variable`
      --> phase.toml:19:2
       |
    19 | [variable]
       |  ^^^^^^^^
       |
       = help: did you mean `variant`? allowed here: phase, build, bench, profile, machine, workload, kernel, sweep, search, variant, baseline, gate, tier, stage, fallback, precondition, waiver, rule, imported, explain, base

    error: `sweep` has no kernel to sweep
      --> phase.toml:28:1
       |
    28 | [sweep]
       | ^^^^^^^
       |
       = help: declare [kernel], or give [[variant]] tables parameters of their own
    "##);
}

#[test]
fn condition_that_leaves_nothing() {
    assert_snapshot!(shown(&[("CAP = [32, 64]", r#"CAP = [32, 64]
where = "CAP > 64""#)]), @r##"
    error: `sweep.where` is "CAP > 64", which leaves none of the 4 combinations
      --> phase.toml:28:9
       |
    28 | where = "CAP > 64"
       |         ^^^^^^^^^^
       |
       = help: loosen it, or add values that it keeps
    "##);
}

#[test]
fn condition_that_is_a_number() {
    assert_snapshot!(shown(&[("CAP = [32, 64]", r#"CAP = [32, 64]
where = "CAP + 1""#)]), @r##"
    error: `sweep.where` is "CAP + 1", which gives '33', for THREADS=32,CAP=32 and 3 more
      --> phase.toml:28:9
       |
    28 | where = "CAP + 1"
       |         ^^^^^^^^^
       |
       = help: it has to be true or false
    "##);
}

#[test]
fn grid_of_zero() {
    assert_snapshot!(shown(&[(r#"grid = ["(N + THREADS - 1) // THREADS"]"#, r#"grid = ["N // 128"]"#)]), @r##"
    error: `kernel.grid[0]` is "N // 128", which gives 0, for variant THREADS=32,CAP=32 at shape tiny and 3 more
      --> phase.toml:21:9
       |
    21 | grid = ["N // 128"]
       |         ^^^^^^^^^^
       |
       = help: grid axis 0 is a whole number from 1 to 2147483647
    "##);
}

#[test]
fn grid_of_text() {
    assert_snapshot!(shown(&[(r#"grid = ["(N + THREADS - 1) // THREADS"]"#, r#"grid = ["'many'"]"#)]), @r##"
    error: `kernel.grid[0]` is "'many'", which gives the text 'many', for variant THREADS=32,CAP=32 at shape tiny and 7 more
      --> phase.toml:21:9
       |
    21 | grid = ["'many'"]
       |         ^^^^^^^^
       |
       = help: grid axis 0 is a whole number from 1 to 2147483647
    "##);
}

#[test]
fn block_too_large() {
    assert_snapshot!(shown(&[(r#"block = ["THREADS"]"#, r#"block = ["THREADS", 64]"#)]), @r##"
    error: `kernel.block` gives 2048 threads a block, for variant THREADS=32,CAP=32 at shape tiny and 7 more
      --> phase.toml:22:9
       |
    22 | block = ["THREADS", 64]
       |         ^^^^^^^^^^^^^^^
       |
       = help: a block has at most 1024 threads
    "##);
}

#[test]
fn division_by_zero() {
    assert_snapshot!(shown(&[(r#"grid = ["(N + THREADS - 1) // THREADS"]"#, r#"grid = ["N // (THREADS - 32)"]"#)]), @r##"
    error: `kernel.grid[0]` is "N // (THREADS - 32)", which cannot be evaluated: 64 // 0 divides by zero, for variant THREADS=32,CAP=32 at shape tiny and 3 more
      --> phase.toml:21:10
       |
    21 | grid = ["N // (THREADS - 32)"]
       |          ^^^^^^^^^^^^^^^^^^^
       |
       = help: grid axis 0 is a whole number from 1 to 2147483647
    "##);
}

#[test]
fn scalar_out_of_range() {
    assert_snapshot!(shown(&[(r#"scalars = { scale = "1 / N" }"#, r#"scalars = { scale = { type = "u32", value = "N - 100" } }"#)]), @r##"
    error: `workload.scalars.scale` is "N - 100", which gives -36, not a u32, for variant THREADS=32,CAP=32 at shape tiny and 3 more
     --> phase.toml:8:21
      |
    8 | scalars = { scale = { type = "u32", value = "N - 100" } }
      |                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: give the scalar another type or value
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
       = help: did you mean "selected"? a glob of variant ids; the first id is THREADS=32,CAP=32
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
       = help: a glob of variant ids; the first id is THREADS=32,CAP=32
    "##);
}

#[test]
fn option_that_the_reference_does_not_have() {
    assert_snapshot!(shown(&[(r#"reference = "copy""#, r#"reference = { builtin = "reduce", opp = "max" }"#)]), @r##"
    error: `reduce` has no option `opp`
     --> phase.toml:6:41
      |
    6 | reference = { builtin = "reduce", opp = "max" }
      |                                         ^^^^^
      |
      = help: did you mean `op`? known: op
    "##);
}

#[test]
fn option_with_a_value_it_cannot_take() {
    assert_snapshot!(shown(&[(r#"reference = "copy""#, r#"reference = { builtin = "reduce", op = "median" }"#)]), @r##"
    error: `workload.reference.op` is `"median"`, expected one of sum, max, min, mean
     --> phase.toml:6:40
      |
    6 | reference = { builtin = "reduce", op = "median" }
      |                                        ^^^^^^^^
    "##);
}

#[test]
fn a_wrong_workload_does_not_hide_other_errors() {
    assert_snapshot!(
        shown(&[("tolerance = { max_abs = 0 }\n", ""), ("spills == 0", "spils == 0"), ("source = \"copy.cu\"\n", "")]),
        @r##"
    error: `workload.tolerance` is missing
     --> phase.toml:4:1
      |
    4 | [workload]
      | ^^^^^^^^^^
      |
      = help: How far an output may be from the reference; every bound given must hold.

    error: `kernel.source` is missing
      --> phase.toml:15:1
       |
    15 | [kernel]
       | ^^^^^^^^
       |
       = help: The `.cu` file, or a header with kernels. A kernel has exactly one of `source`, `ptx`, `cubin` and `python`.

    error: `gate[0].require` is "spils == 0", whose `spils` is unknown
      --> phase.toml:29:12
       |
    29 | require = "spils == 0"
       |            ^^^^^
       |
       = help: did you mean `spills`? docs/config.md lists the metrics; one of ncu's is written with its unit, as `sm__cycles_active.avg`; values: N, THREADS, CAP, scale, cc, dtype
    "##);
}

#[test]
fn text_outside_ascii_keeps_its_caret() {
    assert_snapshot!(shown(&[("name = \"spills\"", "name = \"Überläufe\"\non = \"größte [\"")]), @r##"
    error: `gate[0].on` is `"größte ["`, expected a glob of variant ids
      --> phase.toml:31:6
       |
    31 | on = "größte ["
       |      ^^^^^^^^^^
       |
       = help: unclosed character class; missing ']'
    "##);
}
