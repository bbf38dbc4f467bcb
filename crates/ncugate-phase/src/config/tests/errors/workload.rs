//! Errors of the workload: reference, buffers, shapes, scalars.

use super::super::shown;
use insta::assert_snapshot;

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
    error: `workload.reference` is `sdpa`, which needs the inputs q, k, v and one output; the phase has the inputs x and the outputs y
     --> phase.toml:6:13
      |
    6 | reference = "sdpa"
      |             ^^^^^^
      |
      = help: buffers are matched by name, or else by order
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
    error: `workload.reference.npy` is "a_{{ seeds }}.npy"; `seeds` is not among `shape`, `seed`, `buffer` and the dimensions
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
    error: `workload.tolerance` is `{}`, expected at least one bound: max_abs, rel_l2, atol, rtol, times_error, check
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
    error: no buffer has the role `output` or `inout`, so no result could be checked
      --> phase.toml:12:1
       |
    12 | [workload.buffers]
       | ^^^^^^^^^^^^^^^^^^
       |
       = help: give the buffer that the kernel computes `role = "output"`, or `"inout"` if the kernel updates it in place
    "##);
}

#[test]
fn dimension_negative() {
    assert_snapshot!(shown(&[("tiny = { N = 64 }", "tiny = { N = -1 }")]), @r##"
    error: `workload.shapes.tiny.N` is `-1`, expected a whole number of at least 0
      --> phase.toml:10:14
       |
    10 | tiny = { N = -1 }
       |              ^^
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
       = help: give all shapes the same dimensions
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
       = help: an extent must be a whole number of at least 1
    "##);
}

#[test]
fn init_over_names_that_are_no_dimensions() {
    assert_snapshot!(shown(&[(r#"dtype = "f32", shape = ["N"] }"#, r#"dtype = "f32", shape = ["N"], init = { indices = "M - 1" } }"#)]), @r##"
    error: `workload.buffers.x.init.indices` is "M - 1"; `M` is not among the dimensions
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
    error: `workload.buffers.x.init` at shape `tiny`: low is 64 and high is 4; low must be below high
      --> phase.toml:13:44
       |
    13 | x = { dtype = "f32", shape = ["N"], init = { uniform = { low = "N", high = 4 } } }
       |                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    "##);
}

#[test]
fn a_warm_cache_for_state() {
    assert_snapshot!(shown(&[(r#"role = "output" }"#, r#"role = "output", init = { constant = 0 } }"#), ("[kernel]", "[bench]\nl2 = \"warm\"\n[kernel]")]), @r##"
    error: `bench.l2` is "warm", but launches of this workload change their inputs
      --> phase.toml:17:6
       |
    17 | l2 = "warm"
       |      ^^^^^^
       |
       = help: each launch gets fresh copies of those buffers, which are not in the cache: use "rotate" or "cold"
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
      = help: use another type or value for the scalar
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
      = help: How far an output may be from the reference; every bound given must hold. `derived`: a bound for each case ([correctness](correctness.md#which-tolerance)).

    error: `kernel.source` is missing
      --> phase.toml:15:1
       |
    15 | [kernel]
       | ^^^^^^^^
       |
       = help: The `.cu` file, or a header with kernels. A kernel has exactly one of `source`, `ptx`, `cubin`, `python` and `host`. Several files (`["kernel.cu", "tables.cu"]`) are compiled with `-rdc=true` and linked; template instances come from the first.

    error: `gate[0].require` is "spils == 0"; `spils` is unknown
      --> phase.toml:29:12
       |
    29 | require = "spils == 0"
       |            ^^^^^
       |
       = help: did you mean `spills`? docs/metrics.md lists the metrics; write a metric of ncu with its suffix, such as `sm__cycles_active.avg`; values: N, THREADS, CAP, scale, cc, dtype
    "##);
}

#[test]
fn what_is_compared_has_to_be_a_part_of_a_compared_buffer() {
    let output = "role = \"output\"";
    let with = |keys: &str| shown(&[(output, &format!("role = \"output\", {keys}"))]);
    for (keys, said) in [
        ("compare = [\"1\"]", "expected a slice, such as"),
        ("compare = [\"0:0\"]", "is 0:0 at shape"),
        ("compare = [\"0:N + 1\"]", "at shape"),
        ("compare = [\"-1:\"]", "is -1:"),
        ("compare = [\"0:M\"]", "`M` is not among the dimensions"),
        ("compare = [\"0:1\", \"0:1\"]", "at most 1 slices, one for each axis"),
        ("compare = []", "an array with at least one value"),
        ("order = \"none\"", "expected one of \"any\""),
    ] {
        let errors = with(keys);
        assert!(errors.contains(said), "{keys}: {errors}");
    }
    let input = shown(&[("x = { dtype = \"f32\"", "x = { order = \"any\", dtype = \"f32\"")]);
    assert!(input.contains("applies only to buffers with role"), "{input}");
    let both = "tolerance = { atol = 1, outputs = { y = { atol = 1, check = \"c.py:f\" } } }";
    for (tolerance, said) in [
        (both, "`atol`, `rtol` or both, or `check` alone"),
        ("tolerance = { outputs = { y = { check = \"c.py:f\" } } }", "max_abs"),
        ("tolerance = { check = \"c.py\" }", "a file and its function"),
        ("tolerance = { atol = 1, shapes = { tiny = { check = \"c.py:f\" } } }", "judges outputs, not shapes"),
    ] {
        let errors = shown(&[("tolerance = { max_abs = 0 }", tolerance)]);
        assert!(errors.contains(said), "{tolerance}: {errors}");
    }
}

#[test]
fn a_derived_tolerance_needs_a_built_in_reference_and_an_output_no_coarser_than_f16() {
    let written = "tolerance = { max_abs = 0 }";
    let of_output = "tolerance = { atol = 1, outputs = { y = \"derived\" } }";
    for derived in ["tolerance = \"derived\"", of_output] {
        assert_eq!(shown(&[(written, derived)]), "no error");
        let errors = shown(&[(written, derived), ("reference = \"copy\"", "reference = { python = \"r.py:copy\" }")]);
        assert!(errors.contains("a derived tolerance needs a plain evaluation"), "{errors}");
        let errors = shown(&[(written, derived), ("y = { dtype = \"f32\"", "y = { dtype = \"bf16\"")]);
        assert!(errors.contains("no tolerance is derived for output `y` at shape `"), "{errors}");
        assert!(errors.contains("write `rtol = 8e-3`"), "{errors}");
    }
    for unknown in ["tolerance = \"automatic\"", "tolerance = { atol = 1, outputs = { y = \"automatic\" } }"] {
        let errors = shown(&[(written, unknown)]);
        assert!(errors.contains("`\"automatic\"`") && errors.contains("\"derived\""), "{errors}");
    }
}
