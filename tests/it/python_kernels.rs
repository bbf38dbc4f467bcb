//! `check` on phases with kernels compiled by Numba and CuTe DSL, without a GPU; and launch parameters reported by
//! compilers, on the double of the driver.

use crate::command::{Finished, Place, root};
use crate::kernels::nvcc;
use crate::live::{latencies, machine_that_counts};
use ncugate_cuda::build::Nvcc;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The Python named by an environment variable, and nvcc.
fn tools(variable: &str) -> Option<(String, Nvcc)> {
    python(variable).zip(nvcc())
}

/// The Python named by an environment variable.
fn python(variable: &str) -> Option<String> {
    let python = std::env::var(variable).ok();
    if python.is_none() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must have {variable}");
        println!("skipped: {variable} names no Python");
    }
    python
}

/// Checks a phase of this repository with this Python and nvcc.
fn checked(python: &str, nvcc: &Path, phase: &str) -> Finished {
    let place = Place::new();
    place.copy("kernels");
    place.copy("tests/gpu/python_kernels");
    let file = place.path().join(phase);
    let text = std::fs::read_to_string(&file).unwrap();
    let build = format!("\n[build]\nnvcc = \"{}\"\npython = \"{python}\"\n", nvcc.display());
    std::fs::write(&file, text + &build).unwrap();
    Finished::of(place.ncugate(&["check", phase, "--arch", "sm_90"]).current_dir(place.path()))
}

#[test]
fn a_phase_with_a_kernel_of_numba_builds() {
    let Some((python, nvcc)) = tools("NCUGATE_TEST_NUMBA") else { return };
    let built = checked(&python, nvcc.path(), "tests/gpu/python_kernels/numba.toml");
    assert_eq!(built.status, Some(0), "{built:?}");
    assert!(built.stdout.contains("2 of 2 candidates build for sm_90"), "{}", built.stdout);
}

#[test]
fn a_phase_with_a_kernel_of_cute_dsl_builds() {
    let Some((python, nvcc)) = tools("NCUGATE_TEST_CUTE") else { return };
    let built = checked(&python, nvcc.path(), "tests/gpu/python_kernels/cute.toml");
    assert_eq!(built.status, Some(0), "{built:?}");
    assert!(built.stdout.contains("2 of 2 candidates build for sm_90"), "{}", built.stdout);
}

/// The same phase without its baseline in CUDA C++.
#[test]
fn a_phase_with_only_kernels_of_cute_dsl_is_checked_without_nvcc() {
    let Some(python) = python("NCUGATE_TEST_CUTE") else { return };
    let place = Place::new();
    place.copy("kernels");
    let phase = std::fs::read_to_string(root().join("tests/gpu/python_kernels/cute.toml")).unwrap();
    let (own, _) = phase.split_once("[[baseline]]").unwrap();
    let gate = "[[gate]]\nname = \"spills\"\nrequire = \"spills == 0\"\n";
    place.write("phase.toml", &format!("{own}{gate}[build]\nnvcc = \"no-such-nvcc\"\npython = \"{python}\"\n"));
    let built = Finished::of(place.ncugate(&["check", "phase.toml", "--arch", "sm_90"]).current_dir(place.path()));
    assert_eq!(built.status, Some(0), "{built:?}");
    assert!(built.stdout.contains("2 of 2 candidates build for sm_90"), "{}", built.stdout);
}

/// A phase with a Triton kernel, and more text under `[build]`.
fn triton_phase(python: &str, build: &str) -> String {
    format!(
        "[phase]\nname = \"copied\"\n\
         [build]\npython = \"{python}\"\n{build}\n\
         [workload]\nreference = \"copy\"\ntolerance = {{ atol = 0 }}\n\
         [workload.shapes]\na = {{ N = 1000 }}\n\
         [workload.buffers]\nx = {{ dtype = \"f32\", shape = [\"N\"] }}\n\
         y = {{ dtype = \"f32\", shape = [\"N\"], role = \"output\" }}\n\
         [kernel]\npython = \"kernel.py:copied\"\ngrid = [\"(N + BLOCK - 1) // BLOCK\"]\nargs = [\"x\", \"y\", \"N\"]\n\
         [sweep]\nBLOCK = [128]\n\
         [[gate]]\nname = \"spills\"\nrequire = \"spills == 0\"\n"
    )
}

/// The kernel of that phase, which stores this expression.
fn triton_kernel(place: &Place, stored: &str) {
    let head = "import triton\nimport triton.language as tl\n";
    place.write("helper.py", &format!("{head}\n@triton.jit\ndef helped(value):\n    return {stored}\n"));
    let kernel = "from helper import helped\n\n@triton.jit\ndef copied(x, y, n, BLOCK: tl.constexpr):\n    \
                  at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    \
                  tl.store(y + at, helped(tl.load(x + at, mask=at < n)), mask=at < n)\n";
    place.write("kernel.py", &format!("{head}{kernel}"));
}

/// Triton has its own assembler. Only a kernel in CUDA C++ makes the phase need nvcc.
#[test]
fn a_phase_with_only_triton_kernels_is_checked_without_nvcc() {
    let Some(python) = python("NCUGATE_TEST_TRITON") else { return };
    let place = Place::new();
    triton_kernel(&place, "value");
    let phase = triton_phase(&python, "nvcc = \"no-such-nvcc\"");
    place.write("phase.toml", &phase);
    let finished = place.run(&["check", "phase.toml", "--arch", "sm_90"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("1 of 1 candidates build for sm_90"), "{finished:?}");
    place.write("kernel.cu", "extern \"C\" __global__ void k(const float *x, float *y) {}\n");
    let other = "\n[[baseline]]\nname = \"other\"\n\
                 kernel = { source = \"kernel.cu\", entry = \"k\", grid = [1], block = [32], args = [\"x\", \"y\"] }\n";
    place.write("phase.toml", &format!("{phase}{other}"));
    let finished = place.run(&["check", "phase.toml", "--arch", "sm_90"]);
    assert!(finished.status == Some(3) && finished.stderr.contains("no-such-nvcc"), "{finished:?}");
}

/// Triton's kernels are cached by what they import, and a second checkout imports other files under the same names.
#[test]
fn a_copy_of_a_folder_is_compiled_with_the_modules_of_the_copy() {
    let Some(python) = python("NCUGATE_TEST_TRITON") else { return };
    let cache = tempfile::tempdir().unwrap();
    for (helper, status) in [("value", 0), ("value.no_such_method()", 1)] {
        let place = Place::new();
        triton_kernel(&place, helper);
        place.write("phase.toml", &triton_phase(&python, ""));
        let mut command = place.ncugate(&["check", "phase.toml", "--arch", "sm_90"]);
        let finished = Finished::of(command.env("NCUGATE_CACHE", cache.path()));
        assert_eq!(finished.status, Some(status), "{helper}: {finished:?}");
    }
}

#[test]
fn a_package_that_cannot_be_imported_is_an_error_of_the_phase_and_said_once() {
    let Some(python) = python("NCUGATE_TEST_TRITON") else { return };
    let place = Place::new();
    for (name, text) in
        [("pk/__init__.py", "from pk.sub import kern\nimport absent_module\n"), ("pk/sub/__init__.py", "")]
    {
        place.write(name, text);
    }
    place.write("pk/sub/kern.py", "import triton\n\n@triton.jit\ndef copied(x, y, n, BLOCK):\n    pass\n");
    let phase =
        triton_phase(&python, "").replace("kernel.py", "pk/sub/kern.py").replace("[128]", "[64, 128, 256, 512]");
    place.write("phase.toml", &phase);
    let finished = place.run(&["check", "phase.toml", "--arch", "sm_90"]);
    assert_eq!((finished.status, finished.stderr.matches("absent_module'").count()), (Some(2), 1), "{finished:?}");
    assert!(!finished.stdout.contains("candidates build"), "{finished:?}");
}

#[test]
fn a_run_whose_kernel_cannot_be_imported_ends_with_2() {
    let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
    let python =
        answering(&place, "0}'\necho '{\"unit\": '$unit', \"error\": \"no GPU; hint: none\", \"import_failed\": true");
    place.write("k.py", "");
    let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
    let kernel = "kernel = { python = \"k.py:copy_honest\", args = [\"y\", \"x\"] }";
    let phase = phase.replace("kernel = { entry = \"copy_honest\" }", kernel);
    place.write("phase.toml", &format!("{phase}\n[build]\npython = \"{}\"\n", python.display()));
    let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
    let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
    assert_eq!(finished.status, Some(2), "{finished:?}");
    assert!(finished.stderr.contains("importing `k.py` failed: no GPU; hint: none"), "{finished:?}");
}

/// Stands for a Python with a compiler: assembles the double's kernels and reports this launch.
fn answering(place: &Place, launch: &str) -> PathBuf {
    let source = place.path().join("copy.cu");
    let script = format!(
        "#!/bin/sh\nif [ \"$2\" = --version ]; then\n    echo '{{\"python\": \"3.12.1\", \"packages\": {{\"numba-cuda\": \"0.30.4\"}}}}'\n    exit\nfi\n\
         code=$(sed 's/.*\"code\":\"\\([^\"]*\\)\".*/\\1/' \"$2\")\nunit=$(sed 's/.*\"unit\":\\([0-9]*\\).*/\\1/' \"$2\")\n\
         cc -c -x assembler {} -o \"$code\"\n\
         echo '{{\"unit\": '$unit', \"form\": \"cubin\", \"files\": [], \"launch\": {launch}}}'\n",
        source.display()
    );
    place.write_program("bin/answering", &script)
}

#[test]
fn a_compiler_reports_the_launch_and_a_mismatch_with_the_kernel_fails() {
    let said = |args: &str| {
        format!(
            "{{\"shapes\": [{{\"shape\": \"only\", \"args\": {args}, \"launched\": {{\"grid\": [4, 1, 1], \"block\": [64, 1, 1], \
             \"cluster\": [1, 1, 1], \"dynamic_shared\": 0}}}}]}}"
        )
    };
    // The phase passes `y` first, the kernel takes it second.
    let right = "[{\"into\": {\"argument\": 1, \"bytes\": 0}}, {\"given\": 0}]";
    for (args, status, outcome) in [
        (right, Some(0), "\"grid\":[4,1,1],\"block\":[64,1,1]"),
        ("[{\"given\": 0}, {\"given\": 1}]", Some(1), "\"grid\":[4,1,1],\"block\":[64,1,1]"),
        ("[{\"given\": 1}]", Some(1), "1 arguments, but the kernel takes 2"),
        ("[{\"given\": 1}, {\"given\": 7}]", Some(1), "0 arguments, but the kernel takes 2"),
        ("[{\"given\": 1}, {\"whole\": {\"bytes\": 4, \"value\": 0}}]", Some(1), "has 4 bytes, but the kernel takes 8"),
    ] {
        let (place, variables) = machine_that_counts(&["copy_honest"], "rounds = 60");
        let python = answering(&place, &said(args));
        place.write("k.py", "");
        let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
        let kernel = "kernel = { python = \"k.py:copy_honest\", args = [\"y\", \"x\"] }";
        let phase = phase.replace("kernel = { entry = \"copy_honest\" }", kernel);
        assert!(phase.contains(kernel));
        place.write("phase.toml", &format!("{phase}\n[build]\npython = \"{}\"\n", python.display()));
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        assert_eq!(finished.status, status, "{args}: {finished:?}");
        let run = std::fs::read_dir(place.path().join("profiles/copy")).unwrap().next().unwrap().unwrap().path();
        let read = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
        assert!(read("builds.jsonl").contains(outcome), "{args}: {}", read("builds.jsonl"));
        assert!(read("manifest.json").contains("0.30.4"), "{}", read("manifest.json"));
        if args == right {
            assert_eq!(latencies(&place).remove(0).1["status"].as_str(), Some("timed"));
        }
    }
}

/// Each shape launches the entry of its values, with what the compiler says about that entry.
#[test]
fn a_shape_launches_the_entry_of_its_constexprs() {
    let launch = |entry: &str| format!("\"{entry}\": {{\"threads\": 128, \"dynamic_shared\": 0, \"workspace\": []}}");
    let [one, two] = ["copy_R1", "copy_R2"].map(launch);
    for (entries, status, timed) in [(format!("{one}, {two}"), 0, 2), (one, 4, 1)] {
        let (place, variables) =
            machine_that_counts(&["copy_R1", "copy_R2"], "rounds = 6\nshapes = [\"only\", \"wide\"]");
        let python = answering(&place, &format!("{{\"entries\": {{{entries}}}}}"));
        place.write("k.py", "");
        let phase = std::fs::read_to_string(place.path().join("phase.toml")).unwrap();
        let (workload, _) = phase.split_once("[kernel]").unwrap();
        let workload = workload.replace("only = {", "wide = { S = 2048, R = 2 }\nonly = { R = 1,");
        let kernel =
            "[kernel]\npython = \"k.py:copy\"\ngrid = [16]\nargs = [\"x\", \"y\"]\nconstexprs = { R = \"R\" }\n";
        let gate = "[[gate]]\nname = \"right\"\nrequire = \"correct == 1\"\nshapes = [\"only\", \"wide\"]\n";
        let build = format!("[build]\npython = \"{}\"\n", python.display());
        let bench = phase.split_once("[bench]").unwrap().1;
        place.write("phase.toml", &format!("{workload}{kernel}{gate}{build}[bench]{bench}"));
        let mut command = place.ncugate(&["run", "phase.toml", "--source", "gpu"]);
        let finished = Finished::of(command.envs(variables).timeout(Duration::from_secs(100)));
        assert_eq!(finished.status, Some(status), "{entries}: {finished:?}");
        assert_eq!(latencies(&place).len(), timed, "{entries}: {finished:?}");
    }
}
