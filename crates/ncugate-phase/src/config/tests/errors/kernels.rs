//! Errors of kernels, variants and the sweep.

use super::super::shown;
use insta::assert_snapshot;

#[test]
fn flag_with_an_unknown_name() {
    assert_snapshot!(shown(&[("{{ CAP }}", "{{ CAPS }}")]), @r##"
    error: `kernel.flags[1]` is "-maxrregcount={{ CAPS }}"; `CAPS` is not among the sweep's parameters
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
    error: `kernel.defines[1]` is `TILE`, not one of the sweep's parameters
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
      = help: rename one: expressions and arguments could not tell them apart
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
       = help: give each a different name

    error: `variant[1].command[1]` is "{{ Q }}"; `Q` is not among the parameters of variant `a`
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
       = help: did you mean `variant`? allowed here: phase, build, toolchains, bench, profile, machine, check, workload, kernel, sweep, search, variant, baseline, gate, tier, stage, fallback, precondition, waiver, rule, imported, base

    error: `sweep` has no kernel to apply to
      --> phase.toml:28:1
       |
    28 | [sweep]
       | ^^^^^^^
       |
       = help: declare [kernel], or give each [[variant]] its own parameters
    "##);
}

#[test]
fn condition_that_leaves_nothing() {
    assert_snapshot!(shown(&[("CAP = [32, 64]", r#"CAP = [32, 64]
where = "CAP > 64""#)]), @r##"
    error: `sweep.where` is "CAP > 64", which excludes all 4 combinations
      --> phase.toml:28:9
       |
    28 | where = "CAP > 64"
       |         ^^^^^^^^^^
       |
       = help: relax it, or add values that satisfy it
    "##);
}

#[test]
fn condition_that_is_a_number() {
    assert_snapshot!(shown(&[("CAP = [32, 64]", r#"CAP = [32, 64]
where = "CAP + 1""#)]), @r##"
    error: `sweep.where` is "CAP + 1", which gives `33`, for THREADS=32,CAP=32 and 3 more
      --> phase.toml:28:9
       |
    28 | where = "CAP + 1"
       |         ^^^^^^^^^
       |
       = help: a condition must be true or false
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
       = help: grid axis 0 must be a whole number from 1 to 2147483647
    "##);
}

#[test]
fn grid_of_text() {
    assert_snapshot!(shown(&[(r#"grid = ["(N + THREADS - 1) // THREADS"]"#, r#"grid = ["'many'"]"#)]), @r##"
    error: `kernel.grid[0]` is "'many'", which gives the text `many`, for variant THREADS=32,CAP=32 at shape tiny and 7 more
      --> phase.toml:21:9
       |
    21 | grid = ["'many'"]
       |         ^^^^^^^^
       |
       = help: grid axis 0 must be a whole number from 1 to 2147483647
    "##);
}

#[test]
fn block_too_large() {
    assert_snapshot!(shown(&[(r#"block = ["THREADS"]"#, r#"block = ["THREADS", 64]"#)]), @r##"
    error: `kernel.block` gives 2048 threads per block, for variant THREADS=32,CAP=32 at shape tiny and 7 more
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
       = help: grid axis 0 must be a whole number from 1 to 2147483647
    "##);
}

#[test]
fn scalar_in_an_expression_of_an_argument() {
    let args = r#"args = ["x", "y", "N", { value = "scale", type = "f32" }]"#;
    assert_snapshot!(shown(&[(r#"args = ["x", "y", "N", "scale"]"#, args)]), @r##"
    error: `kernel.args[3]` has "scale"; `scale` is not among the dimensions, `sms` and the sweep's parameters
      --> phase.toml:23:24
       |
    23 | args = ["x", "y", "N", { value = "scale", type = "f32" }]
       |                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: an argument that is a scalar or a buffer is its name alone: `"scale"`
    "##);
}

#[test]
fn a_struct_may_have_no_members() {
    let args = r#"args = ["x", "y", "N", { struct = [] }, "scale"]"#;
    assert!(super::super::read(&super::super::edited(&[(r#"args = ["x", "y", "N", "scale"]"#, args)])).is_ok());
}
