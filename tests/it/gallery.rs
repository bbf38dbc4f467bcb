//! The phases of `examples/`: each behaves as its README states.

use crate::command::{Finished, Place, root};
use crate::kernels::nvcc;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A Python with NumPy: that of the tests, else the machine's.
pub fn python() -> Option<PathBuf> {
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

/// Runs the program in a folder of the place, with this Python as `python3`.
fn at(place: &Place, folder: &str, python: &Path, args: &[&str]) -> Finished {
    in_folder(place, &place.path().join(folder), python, args)
}

/// Runs the program in the root of the repository, with this Python as `python3`.
pub fn at_root(place: &Place, python: &Path, args: &[&str]) -> Finished {
    in_folder(place, root(), python, args)
}

fn in_folder(place: &Place, folder: &Path, python: &Path, args: &[&str]) -> Finished {
    let programs = place.path().join("bin");
    place.write_program("bin/python3", &format!("#!/bin/sh\nexec {} \"$@\"\n", python.display()));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = if python == Path::new("python3") { path } else { format!("{}:{path}", programs.display()) };
    Finished::of(place.ncugate(args).env("PATH", path).current_dir(folder))
}

#[test]
fn a_report_of_another_program_is_judged() {
    let place = Place::new();
    place.copy("examples/foreign_report");
    let folder = "examples/foreign_report";
    let gate = ["gate", "softmax.toml", "torch.ncu-rep.zst", "--assume", "unedited"];
    let judged = at(&place, folder, Path::new("python3"), &gate);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    let unconfirmed = at(&place, folder, Path::new("python3"), &gate[..3]);
    assert_eq!(unconfirmed.status, Some(4), "{unconfirmed:?}");
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
        ("def rms_norm(x, mask):\n    return x\n", "takes `mask`, which is not an input, dimension or scalar"),
        ("def rms_norm(x):\n    return x[:, 1:]\n", "of shape [5, 999]; the output has [5, 1000]"),
        ("def other(x):\n    return x\n", "has no function `rms_norm`; it has other"),
        ("def rms_norm(x):\n    return x, x\n", "returns 2 arrays; the outputs are y"),
        ("import absent_module\n", "No module named 'absent_module'"),
    ] {
        code(text);
        let wrong = at(&place, folder, &python, &["check", "rms_norm.toml", "--no-build"]);
        assert!(wrong.status == Some(2) && wrong.stderr.contains(said), "{said}: {wrong:?}");
    }
    code(
        "def rms_norm(x, *, rows, columns, eps, shape, seed, more=3):\n    assert (rows, columns) == x.shape and shape and seed >= 0\n    return {'y': 3 * x + 1}\n",
    );
    assert_eq!(at(&place, folder, &python, &["check", "rms_norm.toml", "--no-build"]).status, Some(0));
    assert!(root().join("docs/references.md").is_file());
    // A Python without the packages of its installation.
    let bare = place.path().join("bare");
    std::fs::write(&bare, format!("#!/bin/sh\nexec {} -S \"$@\"\n", python.display())).unwrap();
    std::fs::set_permissions(&bare, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = place.path().join(folder).join("rms_norm.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[build]\npython = \"{}\"\n", bare.display())).unwrap();
    let wrong = at(&place, folder, &python, &["check", "rms_norm.toml", "--no-build"]);
    assert!(wrong.stderr.contains("install it, or name a Python that has it: `[build] python`"), "{wrong:?}");
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

/// Folders of the gallery, each with its phase.
fn gallery() -> Vec<(PathBuf, PathBuf)> {
    let folders = std::fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<(PathBuf, PathBuf)> = folders
        .filter(|path| path.is_dir())
        .map(|folder| {
            let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let is_phase = |path: &PathBuf| {
                path.extension().is_some_and(|extension| extension == "toml") && !path.ends_with("ncugate.toml")
            };
            let phases: Vec<PathBuf> = files.filter(is_phase).collect();
            let [phase] = phases.as_slice() else { panic!("{phases:?} in {}", folder.display()) };
            (folder, phase.clone())
        })
        .collect();
    found.sort();
    found
}

/// The path of a phase's recording; `None` if the phase judges a report of another program.
fn recording(folder: &Path, phase: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(phase).unwrap();
    let named = text.lines().find_map(|line| line.strip_prefix("recording = "))?.trim_matches('"').to_owned();
    let paths_of = if folder.join("ncugate.toml").is_file() { folder } else { root() };
    assert_eq!(paths_of.join(&named), folder.join("recording"), "{}", phase.display());
    Some(folder.join("recording"))
}

#[test]
fn every_example_has_a_short_readme_with_its_subject_and_command() {
    let gallery = gallery();
    assert_eq!(gallery.len(), 9, "{gallery:?}");
    for (folder, phase) in gallery {
        let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
        let lines = readme.lines().filter(|line| !line.trim().is_empty()).count();
        assert!((2..=5).contains(&lines), "{}", folder.display());
        let name = phase.file_name().unwrap().to_str().unwrap();
        let here = phase.strip_prefix(root()).unwrap().display().to_string();
        let run = [here.as_str(), name].map(|path| format!("ncugate run {path}"));
        let gates = format!("ncugate gate {name}");
        assert!(run.iter().chain([&gates]).any(|command| readme.contains(command.as_str())), "{}", folder.display());
        recording(&folder, &phase);
    }
}

#[test]
fn a_recording_of_an_example_has_its_verdict_and_one_that_is_not_there_has_none() {
    for (folder, phase) in gallery() {
        let Some(recording) = recording(&folder, &phase) else { continue };
        let place = Place::new();
        let reports = place.path().join("reports").display().to_string();
        let arguments = ["run", phase.to_str().unwrap(), "--source", "recorded", "--reports", &reports];
        let judged = Finished::of(place.ncugate(&arguments).current_dir(&folder));
        // A recording that does not prove its launches decides nothing.
        let proves = |text: String| if text.contains("\"null_test\"") { 0 } else { 4 };
        let expected = std::fs::read_to_string(recording.join("manifest.json")).map_or(3, proves);
        assert_eq!(judged.status, Some(expected), "{}: {judged:?}", phase.display());
    }
}

#[test]
fn every_example_builds_and_takes_its_arguments() {
    let (Some(python), Some(nvcc)) = (python(), nvcc()) else { return };
    for (folder, phase) in gallery() {
        if recording(&folder, &phase).is_none() {
            continue;
        }
        let place = Place::new();
        place.write_program("bin/python3", &format!("#!/bin/sh\nexec {} \"$@\"\n", python.display()));
        let programs = place.path().join("bin");
        let folders = [nvcc.path().parent().unwrap().to_path_buf()];
        let own = (python != Path::new("python3")).then_some(programs);
        let usual = std::env::var_os("PATH").unwrap();
        let path = folders.into_iter().chain(own).chain(std::env::split_paths(&usual));
        let arguments = ["check", phase.to_str().unwrap(), "--arch", "sm_90", "--sms", "132"];
        let mut command = place.ncugate(&arguments);
        let checked = Finished::of(command.current_dir(&folder).env("PATH", std::env::join_paths(path).unwrap()));
        assert_eq!(checked.status, Some(0), "{}: {checked:?}", phase.display());
    }
}

#[test]
fn phases_of_traits_build_and_take_their_arguments() {
    let Some(nvcc) = nvcc() else { return };
    let folders = [nvcc.path().parent().unwrap().to_path_buf()];
    let usual = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&usual))).unwrap();
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
        "surface",
        "aligned",
        "partial_sums",
        "packages",
        "part",
        "any_order",
        "linked",
        "launcher",
        "streams",
        "sort",
        "flags",
        "attributes",
        "sanitized",
    ];
    let traits = traits.map(|name| root().join("tests/gpu/traits").join(format!("{name}.toml")));
    for phase in traits {
        let place = Place::new();
        let arguments = ["check", phase.to_str().unwrap(), "--arch", "sm_90", "--sms", "132"];
        let checked = Finished::of(place.ncugate(&arguments).current_dir(root()).env("PATH", &path));
        assert_eq!(checked.status, Some(0), "{}: {checked:?}", phase.display());
    }
}

/// No GPU of these chips has run them.
#[test]
fn phases_of_blackwell_build_for_their_chip_and_take_their_arguments() {
    let Some(nvcc) = nvcc() else { return };
    let Some(python) = python() else { return };
    let folders = [nvcc.path().parent().unwrap(), python.parent().unwrap()].map(Path::to_path_buf);
    let usual = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&usual))).unwrap();
    for (phase, arch) in [("tcgen05", "sm_100a"), ("nvfp4", "sm_120a")] {
        let place = Place::new();
        let phase = root().join("tests/gpu/blackwell").join(format!("{phase}.toml"));
        let arguments = ["check", phase.to_str().unwrap(), "--sms", "148"];
        let checked = Finished::of(place.ncugate(&arguments).current_dir(root()).env("PATH", &path));
        assert_eq!(checked.status, Some(0), "{}: {checked:?}", phase.display());
        assert!(checked.stdout.contains(&format!("1 of 1 candidates build for {arch}")), "{}", checked.stdout);
    }
}

#[test]
fn a_missing_header_is_one_error_however_many_variants_include_it() {
    let Some(nvcc) = nvcc() else { return };
    let place = Place::new();
    place.write(
        "k.cu",
        "#include \"absent_helper.h\"\nextern \"C\" __global__ void copy(const short* x, short* y) {}\n",
    );
    let phase = include_str!("../data/copy.toml").replace("copy.cu", "k.cu");
    let sweep =
        "[sweep]\nTHREADS = [32, 64, 128, 256, 512, 1024]\n[[gate]]\nrequire = \"spills == 0\"\non = \"each\"\n";
    place.write("phase.toml", &format!("{phase}{sweep}[build]\nnvcc = \"{}\"\n", nvcc.path().display()));
    let checked = Finished::of(&mut place.ncugate(&["check", "phase.toml", "--arch", "sm_90"]));
    assert_eq!(checked.status, Some(1), "{checked:?}");
    assert_eq!(checked.stdout.matches("absent_helper.h: No such file").count(), 1, "{}", checked.stdout);
    assert!(checked.stdout.contains("and 3 more: does not build"), "{}", checked.stdout);
}
