//! The phases of `examples/`: each does what its README says.

use crate::command::{Finished, Place, root};
use crate::kernels::nvcc;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A Python that has NumPy: that of the tests, else the machine's.
fn python() -> Option<PathBuf> {
    let given = std::env::var_os("NCUGATE_ORACLE_PYTHON").map(PathBuf::from);
    let has_numpy = |python: &PathBuf| {
        let ran = std::process::Command::new(python).args(["-c", "import numpy"]).output();
        ran.is_ok_and(|output| output.status.success())
    };
    let found = given.into_iter().chain([PathBuf::from("python3")]).find(has_numpy);
    if found.is_none() {
        println!("no Python here has NumPy: the reference is not called");
    }
    found
}

/// Runs the program in a folder of the place, where `python3` is this Python.
fn at(place: &Place, folder: &str, python: &Path, args: &[&str]) -> Finished {
    let programs = place.path().join("bin");
    place.write("bin/python3", &format!("#!/bin/sh\nexec {} \"$@\"\n", python.display()));
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(programs.join("python3"), executable).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let path = if python == Path::new("python3") { path } else { format!("{}:{path}", programs.display()) };
    Finished::of(place.ncugate(args).env("PATH", path).current_dir(place.path().join(folder)))
}

#[test]
fn a_report_of_another_program_is_judged() {
    let place = Place::new();
    place.copy("examples/foreign_report");
    let folder = "examples/foreign_report";
    let judged = at(&place, folder, Path::new("python3"), &["gate", "softmax.toml", "--profile", "torch.ncu-rep.zst"]);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    assert!(judged.stdout.contains("softmax is launches 2, 4 of torch.ncu-rep.zst"), "{}", judged.stdout);
    let listed = at(&place, folder, Path::new("python3"), &["show", "torch.ncu-rep.zst"]);
    assert!(listed.stdout.contains("softmax_warp_forward"), "{listed:?}");
}

#[test]
fn a_python_function_is_called_by_check_and_its_mistakes_are_errors() {
    let Some(python) = python() else { return };
    let place = Place::new();
    place.copy("examples/python_reference");
    let folder = "examples/python_reference";
    let good = at(&place, folder, &python, &["check", "rms_norm.toml", "--no-build"]);
    assert_eq!(good.status, Some(0), "{good:?}");
    let code = |text: &str| std::fs::write(place.path().join(folder).join("ref.py"), text).unwrap();
    for (text, said) in [
        ("def rms_norm(x, mask):\n    return x\n", "takes `mask`, which is not an input, a dimension or a scalar"),
        ("def rms_norm(x):\n    return x[:, 1:]\n", "of shape [5, 999]; the output has [5, 1000]"),
        ("def other(x):\n    return x\n", "has no function `rms_norm`; it has other"),
        ("def rms_norm(x):\n    return x, x\n", "gives 2 arrays; the outputs are y"),
        ("import absent_module\n", "No module named 'absent_module'"),
    ] {
        code(text);
        let wrong = at(&place, folder, &python, &["check", "rms_norm.toml", "--no-build"]);
        assert!(wrong.status == Some(2) && wrong.stderr.contains(said), "{said}: {wrong:?}");
    }
    code(
        "def rms_norm(x, *, rows, columns, eps, shape, seed, more=3):\n    assert (rows, columns, shape, seed) == (5, 1000, 'ragged', 0)\n    return {'y': x}\n",
    );
    assert_eq!(at(&place, folder, &python, &["check", "rms_norm.toml", "--no-build"]).status, Some(0));
    assert!(root().join("docs/references.md").is_file());
}

#[test]
fn the_kernel_of_the_python_reference_builds() {
    let (Some(python), Some(nvcc)) = (python(), nvcc()) else { return };
    let place = Place::new();
    place.copy("examples/python_reference");
    let folder = "examples/python_reference";
    let config = place.path().join(folder).join("rms_norm.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[build]\nnvcc = \"{}\"\n", nvcc.path().display())).unwrap();
    let built = at(&place, folder, &python, &["check", "rms_norm.toml", "--arch", "sm_90"]);
    assert_eq!(built.status, Some(0), "{built:?}");
    assert!(built.stdout.contains("3 of 3 candidates build for sm_90"), "{}", built.stdout);
}

/// Phases of several launches, whose paths are relative to the repository.
const STEPS: [&str; 2] = ["split_k", "histogram"];

#[test]
fn phases_of_several_launches_say_in_five_lines_what_they_show() {
    for name in STEPS {
        let readme = std::fs::read_to_string(root().join("examples").join(name).join("README.md")).unwrap();
        let lines = readme.lines().filter(|line| !line.trim().is_empty()).count();
        assert!((2..=5).contains(&lines), "{name}");
        assert!(readme.contains(&format!("ncugate run examples/{name}/{name}.toml")), "{name}");
    }
}

#[test]
fn phases_of_several_launches_and_of_other_traits_check() {
    let Some(nvcc) = nvcc() else { return };
    let folders = [nvcc.path().parent().unwrap().to_path_buf()];
    let usual = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&usual))).unwrap();
    let gallery = STEPS.map(|name| root().join("examples").join(name).join(format!("{name}.toml")));
    let traits = [
        "split_k",
        "two_pass",
        "histogram",
        "layernorm",
        "cpp_names",
        "constant",
        "shapes",
        "tolerances",
        "texture",
        "partial_sums",
    ];
    let traits = traits.map(|name| root().join("tests/gpu/traits").join(format!("{name}.toml")));
    for phase in gallery.into_iter().chain(traits) {
        let place = Place::new();
        let arguments = ["check", phase.to_str().unwrap(), "--arch", "sm_90", "--sms", "132"];
        let checked = Finished::of(place.ncugate(&arguments).current_dir(root()).env("PATH", &path));
        assert_eq!(checked.status, Some(0), "{}: {checked:?}", phase.display());
    }
}
