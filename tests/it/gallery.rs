//! The phases of `examples/`: each does what its README says.

use crate::command::{Finished, Place, root};
use crate::kernels::nvcc;

fn at(place: &Place, folder: &str, args: &[&str]) -> Finished {
    let mut command = place.ncugate(args);
    if let Some(python) = std::env::var_os("NCUGATE_ORACLE_PYTHON") {
        // the tests' Python, which has NumPy, goes before the machine's
        let own = place.path().join("bin");
        std::fs::create_dir_all(&own).unwrap();
        let link = own.join("python3");
        if !link.exists() {
            let text = format!("#!/bin/sh\nexec {} \"$@\"\n", python.to_string_lossy());
            std::fs::write(&link, text).unwrap();
            std::fs::set_permissions(&link, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", own.display()));
    }
    Finished::of(command.current_dir(place.path().join(folder)))
}

#[test]
fn a_report_of_another_program_is_judged() {
    let place = Place::new();
    place.copy("examples/foreign_report");
    let folder = "examples/foreign_report";
    let judged = at(&place, folder, &["gate", "softmax.toml", "--profile", "torch.ncu-rep.zst"]);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    assert!(judged.stdout.contains("softmax is launches 2, 4 of torch.ncu-rep.zst"), "{}", judged.stdout);
    let listed = at(&place, folder, &["show", "torch.ncu-rep.zst"]);
    assert!(listed.stdout.contains("softmax_warp_forward"), "{listed:?}");
}

#[test]
fn a_python_function_is_called_by_check_and_its_mistakes_are_errors() {
    if std::env::var_os("NCUGATE_ORACLE_PYTHON").is_none() {
        return;
    }
    let place = Place::new();
    place.copy("examples/python_reference");
    let folder = "examples/python_reference";
    let good = at(&place, folder, &["check", "rms_norm.toml", "--no-build"]);
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
        let wrong = at(&place, folder, &["check", "rms_norm.toml", "--no-build"]);
        assert!(wrong.status == Some(2) && wrong.stderr.contains(said), "{said}: {wrong:?}");
    }
    code(
        "def rms_norm(x, *, rows, columns, eps, shape, seed, more=3):\n    assert (rows, columns, shape, seed) == (5, 1000, 'ragged', 0)\n    return {'y': x}\n",
    );
    assert_eq!(at(&place, folder, &["check", "rms_norm.toml", "--no-build"]).status, Some(0));
    assert!(root().join("docs/references.md").is_file());
}

#[test]
fn the_kernel_of_the_python_reference_builds() {
    if std::env::var_os("NCUGATE_ORACLE_PYTHON").is_none() || nvcc().is_none() {
        return;
    }
    let place = Place::new();
    place.copy("examples/python_reference");
    let folder = "examples/python_reference";
    let nvcc = nvcc().unwrap();
    let config = place.path().join(folder).join("rms_norm.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[build]\nnvcc = \"{}\"\n", nvcc.path().display())).unwrap();
    let built = at(&place, folder, &["check", "rms_norm.toml", "--arch", "sm_90"]);
    assert_eq!(built.status, Some(0), "{built:?}");
    assert!(built.stdout.contains("3 of 3 candidates build for sm_90"), "{}", built.stdout);
}
