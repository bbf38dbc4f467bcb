//! One test per class of error; the snapshots are the displayed errors. This file covers the file, its keys and its texts.

mod gates;
mod kernels;
mod workload;

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

/// Another file given by mistake is not quoted line by line.
#[test]
fn few_syntax_errors_are_printed() {
    let text = "__global__ void copy(float *x) {\n".repeat(50);
    let errors = super::parse(std::path::Path::new("copy.txt"), &text).unwrap_err().to_string();
    assert_eq!(errors.matches("error: not TOML").count(), 3, "{errors}");
    assert!(errors.contains("more syntax errors follow; a phase is a TOML file"), "{errors}");
}

#[test]
fn a_rule_that_reads_neither_a_metric_nor_a_fact() {
    let rule = "[[rule]]\nid = \"x\"\ncause = \"X\"\ntry = [\"y\"]\n[[rule.case]]\nwhen = \"share_bariers_pct > bank_conflict_pc\"\nsays = \"x\"\n";
    let error = super::read(&format!("{}{rule}", super::SMALL)).unwrap_err().render(false);
    assert!(error.contains("`bank_conflict_pc` is neither a metric nor a fact"), "{error}");
    assert!(error.contains("did you mean `bank_conflict_pct`?"), "{error}");
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
       = help: known: x, y, scale, N, sms

    error: `gate[0].require` is "spils == 0"; `spils` is unknown
      --> phase.toml:31:12
       |
    31 | require = "spils == 0"
       |            ^^^^^
       |
       = help: did you mean `spills`? docs/metrics.md lists the metrics; write a metric of ncu with its suffix, such as `sm__cycles_active.avg`; values: N, THREADS, CAP, scale, cc, dtype
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
       = help: did you mean `block`? allowed in `kernel`: source, ptx, cubin, python, host, entry, flags, defines, grid, block, cluster, dynamic_shared, cooperative, carveout, l2_window, tensor_maps, constexprs, symbols, where, args, workspace, launch
    "##);
}

#[test]
fn unknown_table() {
    assert_snapshot!(shown(&[("[sweep]", "[sweeps]")]), @r##"
    error: `kernel.flags[1]` is "-maxrregcount={{ CAP }}"; `CAP` is not among the sweep's parameters
      --> phase.toml:19:35
       |
    19 | flags = ["-O3", "-maxrregcount={{ CAP }}"]
       |                                   ^^^
       |
       = help: none is declared

    error: `kernel.defines[0]` is `THREADS`, not one of the sweep's parameters
      --> phase.toml:20:12
       |
    20 | defines = ["THREADS"]
       |            ^^^^^^^^^
       |
       = help: none is declared

    error: `kernel.grid[0]` is "(N + THREADS - 1) // THREADS"; `THREADS` is not among the dimensions, `sms` and the sweep's parameters
      --> phase.toml:21:15
       |
    21 | grid = ["(N + THREADS - 1) // THREADS"]
       |               ^^^^^^^
       |
       = help: known: N, sms

    error: `kernel.block[0]` is "THREADS"; `THREADS` is not among the dimensions, `sms` and the sweep's parameters
      --> phase.toml:22:11
       |
    22 | block = ["THREADS"]
       |           ^^^^^^^
       |
       = help: known: N, sms

    error: unknown key `sweeps`
      --> phase.toml:25:2
       |
    25 | [sweeps]
       |  ^^^^^^
       |
       = help: did you mean `sweep`? allowed here: phase, build, toolchains, bench, profile, machine, check, workload, kernel, sweep, search, variant, baseline, gate, tier, stage, fallback, precondition, waiver, rule, imported, base
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
       = help: The `.cu` file, or a header with kernels. A kernel has exactly one of `source`, `ptx`, `cubin`, `python` and `host`. Several files (`["kernel.cu", "tables.cu"]`) are compiled with `-rdc=true` and linked; template instances come from the first.
    "##);
}

#[test]
fn wrong_type() {
    assert_snapshot!(shown(&[("[kernel]", r#"[bench]
rounds = "many"
warmup = -1

[kernel]"#)]), @r##"
    error: `bench.rounds` is `"many"`, expected a whole number from 1 to 10000
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
fn expression_that_does_not_parse() {
    assert_snapshot!(shown(&[(r#"block = ["THREADS"]"#, r#"block = ["THREADS +"]"#)]), @r##"
    error: `kernel.block[0]`: cannot parse expression `THREADS +`: expected a value, found the end
      --> phase.toml:22:20
       |
    22 | block = ["THREADS +"]
       |                    ^
    "##);
}

#[test]
fn expression_with_an_unknown_name() {
    assert_snapshot!(shown(&[(r#"block = ["THREADS"]"#, r#"block = ["THREAD"]"#)]), @r##"
    error: `kernel.block[0]` is "THREAD"; `THREAD` is not among the dimensions, `sms` and the sweep's parameters
      --> phase.toml:22:11
       |
    22 | block = ["THREAD"]
       |           ^^^^^^
       |
       = help: did you mean `THREADS`? known: N, THREADS, CAP, sms
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
      = help: rename it: a requirement could not tell them apart
    "##);
}

#[test]
fn part_of_a_text_with_escapes_keeps_its_caret() {
    assert_snapshot!(shown(&[("require = \"spills == 0\"", r#"require = "ncu(\"a__b.sum\") < 1 < 2 \\ 3""#)]), @r##"
    error: `gate[0].require`: cannot parse requirement `ncu("a__b.sum") < 1 < 2 \ 3`: `\` is not part of an expression
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

#[test]
fn a_phase_without_a_workload_has_the_errors_of_all_its_tables() {
    let text = "gate = [\"spills == 0\"]\n[phase]\nname = \"p\"\n[fallback]\nvarant = \"x\"\n";
    let errors = super::read(text).unwrap_err();
    let messages: Vec<&str> = errors.problems().iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages, ["`workload` is missing", "unknown key `fallback.varant`"]);
}
