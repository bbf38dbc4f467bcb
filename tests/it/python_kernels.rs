//! `check` over phases whose kernels Numba and CuTe DSL compile, without a GPU.

use crate::command::{Finished, Place};
use crate::kernels::nvcc;

/// Checks a phase of this repository with the Python that a variable names.
fn checked(variable: &str, phase: &str) -> Option<Finished> {
    let python = std::env::var(variable).ok();
    if python.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must have {variable}");
        println!("skipped: {variable} names no Python");
    }
    let (python, nvcc) = python.zip(nvcc())?;
    let place = Place::new();
    place.copy("kernels");
    place.copy("tests/gpu/python_kernels");
    let file = place.path().join(phase);
    let text = std::fs::read_to_string(&file).unwrap();
    let build = format!("\n[build]\nnvcc = \"{}\"\npython = \"{python}\"\n", nvcc.path().display());
    std::fs::write(&file, text + &build).unwrap();
    Some(Finished::of(place.ncugate(&["check", phase, "--arch", "sm_90"]).current_dir(place.path())))
}

#[test]
fn a_phase_with_a_kernel_of_numba_builds() {
    let Some(built) = checked("NCUGATE_TEST_NUMBA", "tests/gpu/python_kernels/numba.toml") else { return };
    assert_eq!(built.status, Some(0), "{built:?}");
    assert!(built.stdout.contains("2 of 2 candidates build for sm_90"), "{}", built.stdout);
}

#[test]
fn a_phase_with_a_kernel_of_cute_dsl_builds() {
    let Some(built) = checked("NCUGATE_TEST_CUTE", "tests/gpu/python_kernels/cute.toml") else { return };
    assert_eq!(built.status, Some(0), "{built:?}");
    assert!(built.stdout.contains("2 of 2 candidates build for sm_90"), "{}", built.stdout);
}
