//! `init` of a PyTorch function, with the double of PyTorch: the phase is checked at once, and an unwritten kernel fails.

use crate::command::{Finished, Place, root};
use crate::kernels::nvcc;
use crate::problems::place;
use std::fs;

fn ncugate(place: &Place, path: &str, args: &[&str]) -> Finished {
    Finished::of(place.ncugate(args).env("PATH", path))
}

fn text(place: &Place, name: &str) -> String {
    fs::read_to_string(place.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The commands of the page, with smaller extents and in f16: the double of PyTorch is slow, and has no bf16.
#[test]
fn the_commands_of_the_page_write_a_phase_that_can_be_checked_at_once() {
    let Some((place, path)) = place() else { return };
    let page = fs::read_to_string(root().join("docs/how-to/start-from-a-pytorch-function.md")).unwrap();
    let commands: Vec<Vec<&str>> = page
        .lines()
        .filter_map(|line| line.strip_prefix("    ncugate "))
        .map(|line| line.split(' ').collect())
        .collect();
    let [init, check, run] = commands.as_slice() else { panic!("{commands:?}") };
    assert_eq!(run, &["run", "gelu.toml"]);
    let substitutes = [("4096x8192", "80x96"), ("bf16", "f16")];
    let small = |word: &&str| {
        substitutes.iter().find(|(own, _)| own == word).map_or(word.to_string(), |(_, by)| (*by).to_owned())
    };
    let small: Vec<String> = init.iter().map(small).collect();
    let small: Vec<&str> = small.iter().map(String::as_str).collect();
    let written = ncugate(&place, &path, &small);
    assert_eq!(written.status, Some(0), "{written:?}");
    for file in ["gelu.toml: ", "gelu_torch.py: 0 places", "gelu.cu: 0 places", "next: ncugate check gelu.toml"] {
        assert!(written.stdout.contains(file), "{file}: {written:?}");
    }
    let phase = text(&place, "gelu.toml");
    for line in ["ragged = { M = 37, N = 53 }", "given = { M = 80, N = 96 }", "ill_conditioned = \"inconclusive\""] {
        assert!(phase.contains(line), "{line}: {phase}");
    }
    assert!(text(&place, "gelu.cu").contains("erff(v * 0.70710678f)"));
    let checked = match nvcc() {
        Some(nvcc) => {
            let build = format!("[build]\nnvcc = {:?}\n[workload]", nvcc.path().display().to_string());
            place.write("gelu.toml", &phase.replace("[workload]", &build));
            ncugate(&place, &path, check)
        }
        None => ncugate(&place, &path, &["check", "gelu.toml", "--no-build"]),
    };
    assert_eq!(checked.status, Some(0), "{checked:?}");
    let again = ncugate(&place, &path, &small);
    assert!(again.status == Some(2) && again.stderr.contains("gelu.toml exists"), "{again:?}");
}

#[test]
fn inputs_have_names_and_gradients_and_an_unknown_kernel_is_left_empty() {
    let Some((place, path)) = place() else { return };
    let words = "init torch.nn.functional:linear --shape 64x96 --shape weight=80x96 --dtype f16 --backward";
    let written = ncugate(&place, &path, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(written.status, Some(0), "{written:?}");
    assert!(written.stdout.contains("FILL: write the outputs"), "{written:?}");
    let phase = text(&place, "linear.toml");
    for line in [
        "given = { M = 64, N = 96, K = 80 }",
        "input = { dtype = \"f16\", shape = [\"M\", \"N\"] }",
        "weight = { dtype = \"f16\", shape = [\"K\", \"N\"] }",
        "grad_output = { dtype = \"f16\", shape = [\"M\", \"K\"] }",
        "output = { dtype = \"f16\", shape = [\"M\", \"K\"], role = \"output\" }",
        "grad_weight = { dtype = \"f16\", shape = [\"K\", \"N\"], role = \"output\" }",
    ] {
        assert!(phase.contains(line), "{line}: {phase}");
    }
    assert!(phase.contains("# Sums of f16 products"), "{phase}");
    let python = text(&place, "linear_torch.py");
    assert!(python.contains("output = function(input, weight=weight)"), "{python}");
    assert!(
        python.contains("torch.autograd.grad((output,), (input, weight), (grad_output.reshape(output.shape),))"),
        "{python}"
    );
    let kernel = text(&place, "linear.cu");
    assert!(
        kernel.contains("linear_kernel(const __half* __restrict__ input,") && kernel.contains("\n{\n}\n"),
        "{kernel}"
    );
    let checked = ncugate(&place, &path, &["check", "linear.toml", "--no-build"]);
    assert_eq!(checked.status, Some(0), "{checked:?}");
}

#[test]
fn a_function_of_a_file_is_found_and_mistakes_are_errors() {
    let Some((place, path)) = place() else { return };
    let own = "import torch\n\n\ndef scaled(x, factor):\n    return torch.exp(x) * factor, torch.abs(x)\n\n\ndef root(x):\n    return torch.sqrt(x)\n";
    place.write("mine/functions.py", own);
    let words = "init mine/functions.py:scaled --shape 48x64 --arg factor=3 -o phases/scaled.toml";
    fs::create_dir_all(place.path().join("phases")).unwrap();
    let written = ncugate(&place, &path, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(written.status, Some(0), "{written:?}");
    let phase = text(&place, "phases/scaled.toml");
    assert!(phase.contains("pythonpath = [\"mine\"]") && phase.contains("output1 = { "), "{phase}");
    let checked = ncugate(&place, &path, &["check", "phases/scaled.toml", "--no-build"]);
    assert_eq!(checked.status, Some(0), "{checked:?}");
    let positive = ncugate(&place, &path, &["init", "mine/functions.py:root", "--shape", "48x64"]);
    assert_eq!(positive.status, Some(0), "{positive:?}");
    assert!(text(&place, "root.toml").contains("init = { uniform = { low = 0.5"), "NaN for negative inputs");
    for (words, status, said) in [
        ("init torch:no_such_function --shape 8", 2, "has no attribute 'no_such_function'"),
        ("init torch:exp", 2, "name the extents of the function's inputs"),
        ("init torch:exp --shape 8,9", 2, "is not a shape; write extents such as 4096x8192"),
        ("init torch:exp --shape 8 --python no-such-python", 2, "cannot run `no-such-python`"),
        ("init copy.cu --shape 8", 2, "is not MODULE:FUNCTION"),
        ("init mine/absent.py:f --shape 8", 3, "absent.py"),
        ("init copy.cu --backward", 2, "--shape"),
    ] {
        let wrong = ncugate(&place, &path, &words.split(' ').collect::<Vec<_>>());
        assert!(wrong.status == Some(status) && wrong.stderr.contains(said), "{words}: {wrong:?}");
    }
}

#[test]
fn a_file_of_a_function_that_does_not_exist_is_said_before_its_shapes_are_asked_for() {
    if !crate::command::has_python() {
        return;
    }
    let absent = crate::command::Place::new().run(&["init", "soft.py:softmax"]);
    assert!(absent.status == Some(3) && absent.stderr.contains("cannot read soft.py"), "{absent:?}");
}
