//! `check` over phases whose kernels Numba and CuTe DSL compile, without a GPU.

use crate::command::{Finished, Place, root};
use crate::kernels::nvcc;
use ncugate::build::Nvcc;

/// The Python that a variable names, and nvcc.
fn tools(variable: &str) -> Option<(String, Nvcc)> {
    let python = std::env::var(variable).ok();
    if python.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must have {variable}");
        println!("skipped: {variable} names no Python");
    }
    python.zip(nvcc())
}

/// Checks a phase of this repository with the Python that a variable names.
fn checked(variable: &str, phase: &str) -> Option<Finished> {
    let (python, nvcc) = tools(variable)?;
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

/// The files of docs/python.md: blocks that begin with a comment that names one.
fn files_of_the_docs() -> Vec<(String, String)> {
    let page = std::fs::read_to_string(root().join("docs/python.md")).unwrap();
    let blocks = page.split("\n```").skip(1).step_by(2);
    let file = |block: &str| {
        let text = block.split_once('\n')?.1;
        let name = text.strip_prefix("# ")?.split([':', '\n']).next()?;
        let is_file = name.ends_with(".py") || name.ends_with(".toml");
        is_file.then(|| (name.to_owned(), text.to_owned()))
    };
    blocks.filter_map(file).collect()
}

#[test]
fn the_examples_of_the_docs_build() {
    let files = files_of_the_docs();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["sgemm.py", "sgemm.toml", "vector.py", "vector.toml"]);
    for (variable, phase) in [("NCUGATE_TEST_NUMBA", "sgemm.toml"), ("NCUGATE_TEST_CUTE", "vector.toml")] {
        let Some((python, nvcc)) = tools(variable) else { continue };
        let place = Place::new();
        place.write("ref.py", "def scaled(x, a):\n    return a * x\n");
        for (name, text) in &files {
            let build = format!("[build]\nnvcc = \"{}\"\n", nvcc.path().display());
            place.write(name, &text.replace("[build]\n", &build).replace("/opt/venv/bin/python3", &python));
        }
        let built = Finished::of(place.ncugate(&["check", phase, "--arch", "sm_90"]).current_dir(place.path()));
        assert_eq!(built.status, Some(0), "{built:?}");
        let built_all = ["3 of 3 candidates build", "2 of 2 candidates build"];
        assert!(built_all.iter().any(|said| built.stdout.contains(said)), "{}", built.stdout);
    }
}
