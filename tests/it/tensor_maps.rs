//! Tensor maps through the real binary: errors in the phase, chips without tensor maps, and launches on the double of the driver.

use crate::command::{Finished, Place, root};
use crate::kernels::nvcc;
use crate::live::machine;
use std::fmt::Write;
use std::time::Duration;

const PHASE: &str = "tests/gpu/tensor_maps/tensor_maps.toml";

/// The phase that proves tensor maps on a GPU, with replaced pieces of text.
fn edited(edits: &[(&str, &str)]) -> String {
    let text = std::fs::read_to_string(root().join(PHASE)).unwrap();
    edits.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from), "'{from}' is not in the text");
        text.replacen(from, to, 1)
    })
}

/// `ncugate check --no-build` of the edited phase.
fn checked(edits: &[(&str, &str)]) -> Finished {
    let place = Place::new();
    place.copy("tests/gpu/tensor_maps");
    place.write("phase.toml", &edited(edits));
    place.run(&["check", "phase.toml", "--no-build"])
}

/// Whether a line reports progress of the tolerance trial.
fn is_tried(line: &str) -> bool {
    line.starts_with("test the tolerance on wrong answers: ")
}

#[test]
fn the_phase_as_it_is_has_eight_candidates() {
    let right = checked(&[]);
    assert_eq!(right.status, Some(0), "{right:?}");
    // The tolerance trial takes a while in a debug build.
    assert!(right.stderr.lines().all(is_tried), "{right:?}");
    assert!(right.stdout.starts_with("phase.toml: 8 candidates, 0 baselines\n"), "{}", right.stdout);
}

#[test]
fn every_error_of_the_file_comes_out_at_once() {
    let wrong = checked(&[
        ("args = [\"x_tiles\"", "args = [\"x_tyles\""),
        ("buffer = \"y\"", "buffer = \"z\""),
        ("swizzle = \"SWIZZLE\"", "swizle = 128"),
    ]);
    assert_eq!(wrong.status, Some(2), "{wrong:?}");
    for told in [
        "`kernel.args[0]` is `x_tyles`, which is not a buffer, tensor map, scalar or dimension",
        "did you mean `x_tiles`?",
        "`kernel.tensor_maps.x_tiles` is in no `args`",
        "`kernel.tensor_maps.y_tiles.buffer` is `z`, which is not a buffer",
        "unknown key `kernel.tensor_maps.x_tiles.swizle`",
        "did you mean `swizzle`? allowed in `kernel.tensor_maps.x_tiles`: buffer, shape, strides, box, element_strides, swizzle, l2_promotion, oob_fill",
        "--> phase.toml:",
    ] {
        assert!(wrong.stderr.contains(told), "'{told}' is not in {}", wrong.stderr);
    }
}

#[test]
fn tensor_maps_that_the_driver_cannot_encode_are_errors_with_variant_and_shape() {
    let wrong =
        checked(&[("C = 72", "C = 70"), ("SWIZZLE = [0, 32", "SWIZZLE = [0, 8"), ("ROWS = [16]", "ROWS = [16, 512]")]);
    assert_eq!(wrong.status, Some(2), "{wrong:?}");
    for told in [
        "`kernel.tensor_maps.x_tiles.buffer` is `x`, whose axis 1 has a stride of 140 bytes, for variant SWIZZLE=0,STORE=0,\
         ROWS=16 at shape ragged",
        "`kernel.tensor_maps.x_tiles.swizzle` is \"SWIZZLE\", which gives 8, for variant SWIZZLE=8,STORE=0,ROWS=16 at shape ragged",
        "`kernel.tensor_maps.y_tiles.box[1]` is \"ROWS\", which gives 512, for variant SWIZZLE=0,STORE=0,ROWS=512 at shape ragged",
    ] {
        assert!(wrong.stderr.contains(told), "'{told}' is not in {}", wrong.stderr);
    }
}

/// Hopper builds all variants. Ada refuses them, and the other variant is still checked.
#[test]
fn a_chip_without_bulk_copies_refuses_the_variants_that_need_them() {
    let Some(nvcc) = nvcc() else { return };
    let place = Place::new();
    place.copy("tests/gpu/tensor_maps");
    place.write(
        "plain.cu",
        "#include <cuda_fp16.h>\nextern \"C\" __global__ void plain(const __half* x, __half* y) {}\n",
    );
    let build = format!("[build]\nnvcc = \"{}\"\n\n[workload]", nvcc.path().display());
    let plain = "[[variant]]\nname = \"plain\"\n\
                 kernel = { source = \"plain.cu\", entry = \"plain\", defines = [], grid = [\"R\"], args = [\"x\", \"y\"] }\n\n[[gate]]";
    place.write("phase.toml", &edited(&[("[workload]", &build), ("[[gate]]", plain)]));
    let hopper = place.run(&["check", "phase.toml", "--arch", "sm_90"]);
    assert_eq!(hopper.status, Some(0), "{hopper:?}");
    assert!(hopper.stdout.contains("9 of 9 candidates build for sm_90"), "{}", hopper.stdout);
    let ada = place.run(&["check", "phase.toml", "--arch", "sm_89"]);
    let lines: Vec<&str> = ada.stderr.lines().filter(|line| !is_tried(line)).collect();
    let is_progress = matches!(lines.as_slice(), [line] if line.starts_with("build: 9 of 9 in "));
    assert!(ada.status == Some(0) && is_progress, "{ada:?}");
    let refused = " and 5 more: cannot be launched on sm_89\n    tensor map `x_tiles` needs compute capability \
                   9.0 or later; this is 8.9, without bulk tensor copies (TMA)\n";
    assert!(ada.stdout.contains(refused), "{}", ada.stdout);
    assert!(ada.stdout.contains("1 of 9 candidates build for sm_89"), "{}", ada.stdout);
}

/// A run of kernels of the double, each with its first argument and the bytes of that parameter, on `[kernel.tensor_maps] m`.
fn run_on_double(kernels: &[(&str, &str, u32)], map: &str) -> Finished {
    let (place, variables) = machine();
    let (mut source, mut variants) = (String::new(), String::new());
    for (name, argument, bytes) in kernels {
        let parameter = |ordinal: u32, offset: u32, bytes: u32| {
            format!(".byte 4, 0x17\n.short 12\n.long 0, {}, {}\n", ordinal | offset << 16, bytes << 18)
        };
        let registers = ".byte 4, 0x2f\n.short 8\n.long 0, 32\n";
        write!(
            source,
            ".section .text.{name},\"ax\"\n.zero 16\n.section .nv.info.{name}\n{registers}{}{}",
            parameter(0, 0, *bytes),
            parameter(1, *bytes, 8)
        )
        .unwrap();
        write!(
            variants,
            "[[variant]]\nname = \"{name}\"\nkernel = {{ entry = \"{name}\", args = [{argument}, \"y\"] }}\n"
        )
        .unwrap();
    }
    place.write("copy.cu", &source);
    let phase = include_str!("../data/copy.toml").replace("defines = [\"THREADS\"]\n", "").replace("THREADS", "128");
    let maps = format!("[kernel.tensor_maps]\nm = {{ {map} }}\n");
    place.write("phase.toml", &format!("{phase}{maps}{variants}[[gate]]\nrequire = \"correct == 1\"\non = \"each\"\n"));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    Finished::of(command.envs(variables).timeout(Duration::from_secs(100)))
}

/// The double copies exactly the elements of the view, so a map with other extents or strides leaves poison.
#[test]
fn a_strided_map_is_passed_by_value_in_a_struct_and_behind_a_pointer() {
    let in_struct = r#"{ struct = [{ value = 1, type = "i32" }, "m"] }"#;
    let kernels = [
        ("map_value", "\"m\"", 128),
        ("map_pointer", "{ pointers = [\"m\"] }", 8),
        ("map_struct64", in_struct, 192),
        ("map_struct128", in_struct, 256),
    ];
    // a row-major matrix of 4 by 512 as 8 panels of 64 columns
    let panels = r#"buffer = "x", shape = ["S // 256", 4, 64], strides = [64, 512], box = [1, 4, 64], swizzle = 128,
        element_strides = [1, 2, 1], l2_promotion = 128, oob_fill = "nan_request_zero_fma""#
        .replace('\n', "");
    let right = run_on_double(&kernels, &panels);
    assert!(right.status == Some(0) && right.stdout.contains("4 proven correct"), "{right:?}");
    // half of the panels: the other half of y is never written
    let half = run_on_double(&kernels[..1], &panels.replace("S // 256", "S // 512"));
    assert!(half.status == Some(1) && !half.stdout.contains("1 proven correct"), "{half:?}");
}

#[test]
fn a_map_outside_its_buffer_is_an_error_before_anything_is_built() {
    let outside = run_on_double(
        &[("map_value", "\"m\"", 128)],
        r#"buffer = "x", shape = [9, 4, 64], strides = [64, 512], box = [1, 4, 64]"#,
    );
    let told = "`kernel.tensor_maps.m.strides` reaches 4224 bytes into `x`, which has 4096, for variant map_value at shape only";
    assert!(outside.status == Some(2) && outside.stderr.contains(told), "{outside:?}");
}
