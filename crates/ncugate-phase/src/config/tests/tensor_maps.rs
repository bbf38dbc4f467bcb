//! Valid and invalid tensor maps; the snapshots are the displayed errors.

use super::{right, shown};
use insta::assert_snapshot;

/// `SMALL` with tensor maps of its buffers and other arguments.
fn with_maps(maps: &str, args: &str) -> String {
    shown(&[(r#"args = ["x", "y", "N", "scale"]"#, &format!("args = [{args}]\n[kernel.tensor_maps]\n{maps}"))])
}

/// `SMALL` with a scratch buffer and a tensor map of it.
fn with_map_of(buffer: &str, map: &str) -> String {
    let scratch = format!("w = {{ role = \"scratch\", {buffer} }}\ny = {{ dtype");
    shown(&[
        ("y = { dtype", &scratch),
        (r#"args = ["x","#, &format!("tensor_maps = {{ w_tile = {map} }}\nargs = [\"w_tile\",")),
    ])
}

#[test]
fn tensor_map_of_no_buffer_and_of_another_rank() {
    let maps = r#"a = { buffer = "xx", box = [32] }
b = { buffer = "y", box = [1, 32], swizzle = "SWIZZLE" }
c = { box = ["THREDS"] }"#;
    assert_snapshot!(with_maps(maps, r#""a", "b", "c""#), @r##"
    error: `kernel.tensor_maps.a.buffer` is `xx`, which is not a buffer
      --> phase.toml:25:16
       |
    25 | a = { buffer = "xx", box = [32] }
       |                ^^^^
       |
       = help: did you mean `x`? known: x, y

    error: `kernel.tensor_maps.b.box` has 2 axes, but buffer `y` has 1
      --> phase.toml:26:27
       |
    26 | b = { buffer = "y", box = [1, 32], swizzle = "SWIZZLE" }
       |                           ^^^^^^^
       |
       = help: give the number of elements along each axis, 1 for an axis that a copy does not span

    error: `kernel.tensor_maps.b.swizzle` is "SWIZZLE"; `SWIZZLE` is not among the dimensions and the sweep's parameters
      --> phase.toml:26:47
       |
    26 | b = { buffer = "y", box = [1, 32], swizzle = "SWIZZLE" }
       |                                               ^^^^^^^
       |
       = help: known: N, THREADS, CAP

    error: `kernel.tensor_maps.c.buffer` is missing
      --> phase.toml:27:5
       |
    27 | c = { box = ["THREDS"] }
       |     ^^^^^^^^^^^^^^^^^^^^
       |
       = help: The buffer, which determines type and address of the map.

    error: `kernel.tensor_maps.c.box[0]` is "THREDS"; `THREDS` is not among the dimensions and the sweep's parameters
      --> phase.toml:27:15
       |
    27 | c = { box = ["THREDS"] }
       |               ^^^^^^
       |
       = help: did you mean `THREADS`? known: N, THREADS, CAP
    "##);
}

#[test]
fn tensor_map_with_a_name_that_is_taken() {
    let maps = r#"x = { buffer = "x", box = [32] }
N = { buffer = "x", box = [32] }
THREADS = { buffer = "x", box = [32] }
"#;
    assert_snapshot!(with_maps(maps, r#""x", "y", "N", "THREADS""#), @r##"
    error: `x` is both a buffer and a tensor map
      --> phase.toml:25:1
       |
    25 | x = { buffer = "x", box = [32] }
       | ^
       |
       = help: rename one: expressions and arguments could not tell them apart

    error: `N` is both a dimension and a tensor map
      --> phase.toml:26:1
       |
    26 | N = { buffer = "x", box = [32] }
       | ^
       |
       = help: rename one: expressions and arguments could not tell them apart

    error: `THREADS` is both a parameter and a tensor map
      --> phase.toml:27:1
       |
    27 | THREADS = { buffer = "x", box = [32] }
       | ^^^^^^^
       |
       = help: rename one: expressions and arguments could not tell them apart
    "##);
}

#[test]
fn tensor_map_that_nothing_passes() {
    assert_snapshot!(with_maps(r#"x_tile = { buffer = "x", box = [32] }"#, r#""x", "y", "x_tiles""#), @r##"
    error: `kernel.args[2]` is `x_tiles`, which is not a buffer, tensor map, scalar or dimension
      --> phase.toml:23:19
       |
    23 | args = ["x", "y", "x_tiles"]
       |                   ^^^^^^^^^
       |
       = help: did you mean `x_tile`? known: x, y, scale, N, sms, x_tile

    error: `kernel.tensor_maps.x_tile` is in no `args`
      --> phase.toml:25:1
       |
    25 | x_tile = { buffer = "x", box = [32] }
       | ^^^^^^
       |
       = help: add `x_tile` to `args`, or remove the tensor map
    "##);
}

#[test]
fn tensor_map_that_a_variant_declares_and_does_not_pass() {
    assert_snapshot!(shown(&[("[[gate]]", r#"[[variant]]
name = "bulk"
params = { THREADS = 32, CAP = 64 }
kernel = { tensor_maps = { x_tile = { buffer = "x", box = ["THREADS"] } } }

[[gate]]"#)]), @r##"
    error: `variant[0].kernel.tensor_maps.x_tile` is in no `args`
      --> phase.toml:32:28
       |
    32 | kernel = { tensor_maps = { x_tile = { buffer = "x", box = ["THREADS"] } } }
       |                            ^^^^^^
       |
       = help: add `x_tile` to `args`, or remove the tensor map
    "##);
}

#[test]
fn tensor_map_of_values_that_cannot_be_encoded() {
    let maps = r#"zero = { buffer = "x", box = ["THREADS - 32"] }
wide = { buffer = "x", box = [512] }
ragged = { buffer = "x", box = [30] }
swizzled = { buffer = "x", box = ["THREADS"], swizzle = "CAP" }
odd = { buffer = "x", box = [32], swizzle = 48 }"#;
    assert_snapshot!(with_maps(maps, r#""zero", "wide", "ragged", "swizzled", "odd""#), @r##"
    error: `kernel.tensor_maps.zero.box[0]` is "THREADS - 32", which gives 0, for variant THREADS=32,CAP=32 at shape tiny and 3 more
      --> phase.toml:25:31
       |
    25 | zero = { buffer = "x", box = ["THREADS - 32"] }
       |                               ^^^^^^^^^^^^^^
       |
       = help: a box must have from 1 to 256 elements along each axis

    error: `kernel.tensor_maps.wide.box[0]` is "512", which gives 512, for variant THREADS=32,CAP=32 at shape tiny and 7 more
      --> phase.toml:26:31
       |
    26 | wide = { buffer = "x", box = [512] }
       |                               ^^^
       |
       = help: a box must have from 1 to 256 elements along each axis

    error: `kernel.tensor_maps.ragged.box[0]` gives a row of 30 f32 = 120 bytes, for variant THREADS=32,CAP=32 at shape tiny and 7 more
      --> phase.toml:27:33
       |
    27 | ragged = { buffer = "x", box = [30] }
       |                                 ^^
       |
       = help: the innermost row of a box must be a multiple of 16 bytes

    error: `kernel.tensor_maps.swizzled.box[0]` gives a row of 32 f32 = 128 bytes, with a swizzle of 32, for variant THREADS=32,CAP=32 at shape tiny and 7 more
      --> phase.toml:28:35
       |
    28 | swizzled = { buffer = "x", box = ["THREADS"], swizzle = "CAP" }
       |                                   ^^^^^^^^^
       |
       = help: a row of a swizzled box cannot be wider than the swizzle

    error: `kernel.tensor_maps.odd.swizzle` is "48", which gives 48, for variant THREADS=32,CAP=32 at shape tiny and 7 more
      --> phase.toml:29:45
       |
    29 | odd = { buffer = "x", box = [32], swizzle = 48 }
       |                                             ^^
       |
       = help: a swizzle must be 0, 32, 64 or 128 bytes
    "##);
}

#[test]
fn tensor_map_of_more_axes_than_there_can_be() {
    let buffer = r#"dtype = "f16", shape = [1, 1, 1, 1, 1, "N"]"#;
    assert_snapshot!(with_map_of(buffer, r#"{ buffer = "w", box = [8] }"#), @r##"
    error: `kernel.tensor_maps.w_tile.buffer` is `w`, which has 6 axes
      --> phase.toml:24:37
       |
    24 | tensor_maps = { w_tile = { buffer = "w", box = [8] } }
       |                                     ^^^
       |
       = help: a tensor map needs a buffer or a `shape` of 1 to 5 axes
    "##);
}

#[test]
fn tensor_map_of_rows_that_are_not_aligned() {
    let buffer = r#"dtype = "f16", shape = ["N", 3, 12]"#;
    assert_snapshot!(with_map_of(buffer, r#"{ buffer = "w", box = [1, 1, 8] }"#), @r##"
    error: `kernel.tensor_maps.w_tile.buffer` is `w`, whose axis 1 has a stride of 24 bytes, for variant THREADS=32,CAP=32 at shape tiny and 7 more
      --> phase.toml:24:37
       |
    24 | tensor_maps = { w_tile = { buffer = "w", box = [1, 1, 8] } }
       |                                     ^^^
       |
       = help: the stride of every axis but the innermost must be a multiple of 16 bytes
    "##);
}

#[test]
fn tensor_map_of_a_buffer_that_is_too_large() {
    let buffer = r#"dtype = "u8", shape = [16, "2 ** 26 * N"]"#;
    assert_snapshot!(with_map_of(buffer, r#"{ buffer = "w", box = [1, 16] }"#), @r##"
    error: `kernel.tensor_maps.w_tile.buffer` is `w`, whose axis 1 has 274877906944 elements, for variant THREADS=32,CAP=32 at shape big and 3 more
      --> phase.toml:24:37
       |
    24 | tensor_maps = { w_tile = { buffer = "w", box = [1, 16] } }
       |                                     ^^^
       |
       = help: an axis must have from 1 to 2^32 elements
    "##);
}

#[test]
fn a_tensor_map_of_the_kernel_may_be_passed_by_a_variant_alone() {
    let phase = right(&[
        ("[sweep]", "[kernel.tensor_maps]\nx_tile = { buffer = \"x\", box = [16] }\n\n[sweep]"),
        (
            "[[gate]]",
            r#"[[variant]]
name = "bulk"
params = { THREADS = 32, CAP = 64 }
kernel = { args = ["x_tile", "y"] }

[[variant]]
name = "other"
params = { THREADS = 32, CAP = 64 }
kernel = { args = ["y_tile", "x"], tensor_maps = { y_tile = { buffer = "y", box = ["THREADS"] } } }

[[gate]]"#,
        ),
    ]);
    let maps = |at: usize| {
        let kernel = phase.variants[at].kind.kernel().unwrap();
        kernel.tensor_maps.iter().map(|map| map.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((maps(0), maps(1)), (vec!["x_tile"], vec!["y_tile"]), "a variant's tensor maps replace the kernel's");
    let args = &phase.kernel.as_ref().unwrap().launches().next().unwrap().args;
    assert_eq!(*args, ["x", "y", "N", "scale"].map(|name| crate::config::ArgTemplate::Named(name.to_owned())));
}

/// The errors of a map of a matrix of N rows and 256 columns, without their places.
fn of_matrix(map: &str) -> Vec<String> {
    let text = with_map_of(r#"dtype = "bf16", shape = ["N", 256]"#, &format!("{{ buffer = \"w\", {map} }}"));
    let is_said = |line: &&str| line.starts_with("error: ") || line.contains("= help: ") || *line == "no error";
    text.lines()
        .filter(is_said)
        .map(|line| line.trim_start_matches(['e', 'r', 'o', ':', ' ', '|', '=']).to_owned())
        .collect()
}

#[test]
fn a_view_of_panels_within_its_buffer_is_no_error() {
    let panels = r#"shape = [4, "N", 64], strides = [64, 256], box = [1, 32, 64], swizzle = 128"#;
    assert_eq!(
        with_map_of(r#"dtype = "bf16", shape = ["N", 256]"#, &format!("{{ buffer = \"w\", {panels} }}")),
        "no error"
    );
    let all = format!(
        r#"{panels}, element_strides = [1, 2, 1], l2_promotion = "CAP * 0 + 64", oob_fill = "nan_request_zero_fma""#
    );
    assert_eq!(
        with_map_of(r#"dtype = "bf16", shape = ["N", 256]"#, &format!("{{ buffer = \"w\", {all} }}")),
        "no error"
    );
    let flat = r#"shape = ["4 * N", 64], box = [32, 64]"#;
    assert_eq!(
        with_map_of(r#"dtype = "bf16", shape = ["N", 256]"#, &format!("{{ buffer = \"w\", {flat} }}")),
        "no error"
    );
}

#[test]
fn a_view_that_leaves_its_buffer_or_is_not_aligned_is_an_error() {
    let at = "for variant THREADS=32,CAP=32 at shape tiny and 7 more";
    for (map, message, help) in [
        (
            r#"shape = [5, "N", 64], strides = [64, 256], box = [1, 32, 64]"#,
            "`kernel.tensor_maps.w_tile.strides` reaches 32896 bytes into `w`, which has 32768",
            "a tensor map cannot reach outside its buffer",
        ),
        (
            r#"shape = ["N", 257], box = [32, 64]"#,
            "`kernel.tensor_maps.w_tile.shape` gives axis 0 a stride of 514 bytes",
            "a stride must be a multiple of 16 bytes, at least 16 and less than 2^40",
        ),
        (
            r#"shape = ["2 * N", 256], box = [32, 64]"#,
            "`kernel.tensor_maps.w_tile.shape` reaches 65536 bytes into `w`, which has 32768",
            "a tensor map cannot reach outside its buffer",
        ),
        (
            r#"strides = [0], box = [32, 64]"#,
            "`kernel.tensor_maps.w_tile.strides[0]` is \"0\", which gives 0",
            "a stride must be a multiple of 16 bytes, at least 16 and less than 2^40",
        ),
        (
            r#"shape = ["N - N", 64], box = [32, 64]"#,
            "`kernel.tensor_maps.w_tile.shape[0]` is \"N - N\", which gives 0",
            "an axis must have from 1 to 2^32 elements",
        ),
        (
            r#"box = [32, 64], element_strides = [9, 1]"#,
            "`kernel.tensor_maps.w_tile.element_strides[0]` is \"9\", which gives 9",
            "a step must be from 1 to 8 elements, and 1 on the innermost axis, which the copy engine cannot stride",
        ),
        (
            r#"box = [32, 64], element_strides = [1, 2]"#,
            "`kernel.tensor_maps.w_tile.element_strides[1]` is \"2\", which gives 2",
            "a step must be from 1 to 8 elements, and 1 on the innermost axis, which the copy engine cannot stride",
        ),
        (
            r#"box = [32, 64], l2_promotion = 96"#,
            "`kernel.tensor_maps.w_tile.l2_promotion` is \"96\", which gives 96",
            "an L2 promotion must be 0, 64, 128 or 256 bytes",
        ),
    ] {
        assert_eq!(of_matrix(map), [format!("{message}, {at}"), format!("help: {help}")], "{map}");
    }
    let ints = with_map_of(
        r#"dtype = "i32", shape = ["N"]"#,
        r#"{ buffer = "w", box = [8], oob_fill = "nan_request_zero_fma" }"#,
    );
    assert!(ints.contains("only maps of f64, f32, f16 and bf16 can be filled with NaN"), "{ints}");
}

#[test]
fn lists_of_another_rank_than_the_view_are_errors() {
    assert_eq!(
        of_matrix(r#"shape = [4, "N", 64], strides = [64, 256, 1], box = [32, 64], element_strides = [1]"#),
        [
            "`kernel.tensor_maps.w_tile.strides` has 3 values, but the map's `shape` has 3 axes, so 2",
            "help: give the distance along each axis except the innermost, whose neighbours are adjacent",
            "`kernel.tensor_maps.w_tile.box` has 2 axes, but the map's `shape` has 3",
            "help: give the number of elements along each axis, 1 for an axis that a copy does not span",
            "`kernel.tensor_maps.w_tile.element_strides` has 1 axes, but the map's `shape` has 3",
            "help: give the step along each axis, 1 for every element",
        ]
    );
    let deep = of_matrix(r#"shape = [1, 1, 1, 1, "N", 256], box = [1, 1, 1, 1, 1, 64]"#);
    assert_eq!(deep[0], "`kernel.tensor_maps.w_tile.shape` has 6 axes");
}

#[test]
fn an_array_behind_a_pointer_holds_maps_or_pointers() {
    let maps = r#"m = { buffer = "x", box = [32] }"#;
    assert_eq!(with_maps(maps, r#"{ pointers = ["m", "m"] }, "y", "N", "scale""#), "no error");
    let mixed = with_maps(maps, r#"{ pointers = ["m", "y"] }, "y", "N", "scale""#);
    assert!(mixed.contains("`kernel.args[0]` has tensor maps and pointers in one array"), "{mixed}");
    let stray = with_maps(maps, r#"{ pointers = ["N"] }, "m", "N", "scale""#);
    assert!(stray.contains("points to `N`, which is not a buffer or tensor map"), "{stray}");
}
