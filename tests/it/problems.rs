//! Problems of other projects: imported, checked, and refused if a phase has no counterpart.

use crate::command::{Finished, Place, is_here, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python with NumPy that finds the double of PyTorch, as `python3` of the place; `None` without NumPy.
pub fn place() -> Option<(Place, String)> {
    let given = std::env::var_os("NCUGATE_ORACLE_PYTHON").map(PathBuf::from);
    let has_numpy = |python: &PathBuf| {
        let ran = Command::new(python).args(["-c", "import numpy"]).output();
        ran.is_ok_and(|output| output.status.success())
    };
    let found = given.into_iter().chain([PathBuf::from("python3")]).find(has_numpy);
    let Some(python) = found else {
        println!("no Python here has NumPy: references are not called");
        return None;
    };
    let python = which(&python);
    let place = Place::new();
    place.copy("tests/data/problems");
    // Tasks name files of their repository.
    fs::create_dir(place.path().join(".git")).unwrap();
    let (doubles, modules) = (root().join("tests/doubles"), place.path().join("modules"));
    fs::create_dir(&modules).unwrap();
    let shim = format!(
        "#!/bin/sh\nPYTHONPATH={}:{}${{PYTHONPATH:+:$PYTHONPATH}} exec {} \"$@\"\n",
        doubles.display(),
        modules.display(),
        python.display()
    );
    place.write_program("bin/python3", &shim);
    let path = format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").unwrap());
    Some((place, path))
}

/// Lets the Python of a place read tasks of gpu-mode, which are YAML; false without PyYAML.
fn can_read_tasks(place: &Place) -> bool {
    let given = std::env::var_os("NCUGATE_ORACLE_PYTHON").map(PathBuf::from);
    let package = |python: PathBuf| {
        let ran = Command::new(python).args(["-c", "import yaml; print(yaml.__path__[0])"]).output().ok()?;
        let path = String::from_utf8(ran.stdout).unwrap();
        ran.status.success().then(|| PathBuf::from(path.trim()))
    };
    let found = given.into_iter().chain([PathBuf::from("python3")]).find_map(package);
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "CI has to have PyYAML");
    match found {
        Some(package) => std::os::unix::fs::symlink(package, place.path().join("modules/yaml")).unwrap(),
        None => println!("no Python here has PyYAML: tasks are not read"),
    }
    place.path().join("modules/yaml").exists()
}

/// Whether `python3`, which reads problems, is installed.
fn has_python() -> bool {
    is_here("python3")
}

fn which(python: &Path) -> PathBuf {
    let output = Command::new(python).args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn ncugate(place: &Place, path: &str, args: &[&str]) -> Finished {
    Finished::of(place.ncugate(args).env("PATH", path))
}

/// Imports a problem, then checks the phase, both with status 0. Returns the phase's text and the output of the
/// import.
fn imported(place: &Place, path: &str, name: &str, args: &[&str]) -> (String, String) {
    let phase = format!("{name}.toml");
    let made = ncugate(place, path, &[&["problem", "import"], args, &["--output", &phase]].concat());
    assert_eq!(made.status, Some(0), "{name}: {made:?}");
    let checked = ncugate(place, path, &["check", &phase]);
    assert_eq!(checked.status, Some(0), "{name}: {checked:?}");
    let text = fs::read_to_string(place.path().join(&phase)).unwrap();
    assert!(text.contains("\nbytes = "), "{name}: what a launch moves at least\n{text}");
    (text, made.stdout)
}

const KERNELBENCH: &str = "tests/data/problems/kernelbench";

#[test]
fn ten_problems_of_kernelbench_become_phases_whose_references_answer() {
    let Some((place, path)) = place() else { return };
    let problems: [(&str, &[&str], &[&str]); 10] = [
        ("1_Row_softmax", &["--returns", "y=f32[batch_size, dim]"], &["uniform", "shape = [\"batch_size\", \"dim\"]"]),
        ("2_Matmul", &["--returns", "C=f32[M, N]"], &["M = 8", "shape = [\"K\", \"N\"]"]),
        (
            "3_RMSNorm",
            &["--returns", "y=f32[batch_size, features]"],
            &["x = { dtype = \"f32\", shape = [\"batch_size\", \"features\"], init = { normal = {"],
        ),
        ("4_Linear_relu", &["--returns", "y=f32[batch_size, out_features]"], &["out_features = 8"]),
        ("5_Scaled_add", &["--returns", "z=f32[batch_size, 7, 5]"], &["high = 3.0", "low = -0.5"]),
        ("6_Mean_reduction", &["--returns", "y=f32[batch_size, dim2]"], &["dim1 = 6"]),
        ("7_Mse_loss", &["--returns", "loss=f32[]"], &["shape = [\"1\"]"]),
        (
            "8_Swish",
            &["--returns", "y=f16[batch_size, dim]", "--precision", "fp16"],
            &["dim = 128", "dtype = \"f16\"", "atol = 0.01"],
        ),
        ("9_Gather_rows", &["--returns", "y=f32[PICKED, DIM]"], &["indices = 12", "dtype = \"i64\""]),
        (
            "10_Triangular",
            &["--returns", "C=f32[N, N]", "--input", "A=f32[N, N]"],
            &[
                "A = { dtype = \"f32\", shape = [\"N\", \"N\"] }",
                "B = { dtype = \"f32\", shape = [\"N\", \"N\"], init = { uniform = {",
            ],
        ),
    ];
    for (name, options, expected) in problems {
        let (problem, solution) = (format!("{KERNELBENCH}/{name}.py"), format!("{KERNELBENCH}/solutions/{name}.py"));
        let args = [&["kernelbench", &problem, "--solution", &solution], options].concat();
        let (text, _) = imported(&place, &path, name, &args);
        for part in expected {
            assert!(text.contains(part), "{name}: {part}\n{text}");
        }
        assert!(text.contains(&format!("problem = \"{name}\"")), "{text}");
    }
}

#[test]
fn numbers_are_passed_on_and_a_random_scalar_is_its_mean_with_a_note() {
    let Some((place, path)) = place() else { return };
    let (problem, solution) =
        (format!("{KERNELBENCH}/11_Scaled_grid.py"), format!("{KERNELBENCH}/solutions/11_Scaled_grid.py"));
    let returns = ["--returns", "z=f32[batch_size, height, width]"];
    let args = [&["kernelbench", &problem, "--solution", &solution], &returns[..]].concat();
    let (text, said) = imported(&place, &path, "grid", &args);
    assert!(said.contains("`scale` is random for each seed in the problem; the phase uses its mean, 0.5"), "{said}");
    // 6 from the statement with the other name, 0.5 from the scale
    for part in
        ["width = 6", "init = { uniform = { low = 0.0, high = 3.0 } }", "init = { uniform = { low = -1, high = 1 } }"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let calls = fs::read_to_string(place.path().join("grid/calls.py")).unwrap();
    assert!(calls.contains("(with_axes(\"x\", x), 3.25, with_axes(\"y\", y))"), "{calls}");
}

#[test]
fn a_parameter_of_forward_is_bound_by_position_not_by_name() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    place.copy("tests/data/problems");
    let problem = "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n    def forward(self, x, y):\n        return x + y\n\n\
                   N = 4\nM = 8\n\n\ndef get_inputs():\n    y = torch.rand(N, 2)\n    x = torch.tril(torch.rand(N, M))\n    return [y, x]\n\n\n\
                   def get_init_inputs():\n    return []\n";
    place.write("swapped.py", problem);
    let solution = format!("{KERNELBENCH}/solutions/1_Row_softmax.py");
    let args = [
        "problem",
        "import",
        "kernelbench",
        "swapped.py",
        "--solution",
        &solution,
        "--returns",
        "z=f32[N, M]",
        "-o",
        "p.toml",
    ];
    let asked = place.run(&args);
    assert!(
        asked.stderr.contains("torch.tril(torch.rand(N, M))` is not supported; describe it with --input \"y="),
        "{asked:?}"
    );
    assert_eq!(place.run(&[&args[..], &["--input", "y=f32[N, M]"]].concat()).status, Some(0));
    let text = fs::read_to_string(place.path().join("p.toml")).unwrap();
    assert!(text.contains("\nx = { dtype = \"f32\", shape = [\"N\", \"2\"]"), "{text}");
    assert!(text.contains("\ny = { dtype = \"f32\", shape = [\"N\", \"M\"]"), "{text}");
}

#[test]
fn definitions_of_flashinfer_trace_become_phases_whose_references_answer() {
    let Some((place, path)) = place() else { return };
    let import = |name: &str| {
        let args = ["flashinfer", "tests/data/problems/flashinfer", "--definition", name];
        imported(&place, &path, name, &args)
    };
    let (text, said) = import("rmsnorm_h64");
    assert!(text.contains("1e-6 if WORKLOAD == 1 else 1e-5"), "{text}");
    assert!(said.contains("solution `rmsnorm_julia` is omitted: its language is `julia`"), "{said}");
    assert!(said.contains("TVM-FFI compiles solution `rmsnorm_cuda` at its first call"), "{said}");
    assert!(said.contains("PyTorch's extension loader compiles solution `rmsnorm_extension`"), "{said}");
    assert!(text.contains("name = \"rmsnorm_cuda\"") && text.contains("name = \"rmsnorm_extension\""), "{text}");
    assert!(text.contains("rmsnorm_torch_v1") && text.contains("rmsnorm_returns"), "{text}");
    let (text, said) = import("gemm_n32_k16");
    assert!(said.contains("the constraint `M >= 1`") && text.contains("M = 33"), "{said}{text}");
    // the solution does not import PyTorch, but receives its tensors
    let calls = place.path().join("gemm_n32_k16/gemm_imports_nothing/ncugate_gemm_imports_nothing.py");
    let calls = fs::read_to_string(calls).unwrap();
    assert!(calls.contains("    import torch"), "{calls}");
    let (text, _) = import("histogram_b8");
    assert!(text.contains("npy = \"histogram_b8/{{ shape }}-{{ buffer }}.npy\""), "{text}");
    let (text, _) = import("moe_gate_e4");
    assert!(text.contains("mismatches = 0.05") && text.contains("type = \"bool\""), "{text}");
    let (text, _) = import("attention_h2_d16");
    assert!(text.contains("mask = 0.5") && text.contains("[imported.workloads]"), "{text}");
}

#[test]
fn a_task_of_gpu_mode_becomes_a_phase_and_lists_omitted_parts() {
    let Some((place, path)) = place() else { return };
    if !can_read_tasks(&place) {
        return;
    }
    let (text, said) =
        imported(&place, &path, "doubling", &["gpumode", "tests/data/problems/gpumode/doubling/task.yml"]);
    for part in
        ["test3 is omitted: its rows is 0", "test4 is omitted: it has `case`", "ranking_by = geom", "`test_timeout`"]
    {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert!(text.contains("ranking = \"geom\""), "{text}");
    // the second benchmark is the second test, timed under its name; the last benchmark is the objective
    for part in ["shapes = [\"benchmark1\", \"test2\"]", "rtol = 0.001", "low = -1", "role = \"output\""] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(text.find("\nbenchmark1 = {").is_some_and(|at| Some(at) < text.find("\ntest2 = {")), "{text}");
}

#[test]
fn a_tensor_that_a_method_fills_is_an_input_and_one_that_a_loop_fills_is_asked_for() {
    let Some((place, path)) = place() else { return };
    if !can_read_tasks(&place) {
        return;
    }
    let task = ["gpumode", "tests/data/problems/gpumode/filling/task.yml"];
    let (text, _) = imported(&place, &path, "filling", &[&task[..], &["--input", "steps=f32[n]:\"arange\""]].concat());
    for part in ["init = { uniform = { low = -1, high = 3 } }", "std = 2", "init = \"arange\"", "role = \"output\""] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(text.matches("role = \"output\"").count(), 1, "{text}");
    let calls = fs::read_to_string(place.path().join("filling/calls.py")).unwrap();
    assert!(calls.contains("with_axes(\"steps\", steps), 2.5, with_axes(\"output\", output),)"), "{calls}");
    let without = ncugate(&place, &path, &[&["problem", "import"], &task[..], &["--output", "without.toml"]].concat());
    assert_eq!(without.status, Some(2), "{without:?}");
    let typo = ncugate(
        &place,
        &path,
        &[&["problem", "import"], &task[..], &["--input", "step=f32[n]", "--output", "typo.toml"]].concat(),
    );
    assert!(typo.stderr.contains("describe it with --input \"steps="), "{typo:?}");
    let both = ["--input", "steps=f32[n]", "--input", "step=f32[n]", "--output", "both.toml"];
    let both = ncugate(&place, &path, &[&["problem", "import"], &task[..], &both[..]].concat());
    assert!(both.stderr.contains("--input describes `step`, which generate_input does not create"), "{both:?}");
    let reference = place.path().join("tests/data/problems/gpumode/filling/reference.py");
    let text = fs::read_to_string(&reference).unwrap();
    let first = "    gen = torch.Generator(device=\"cuda\")\n";
    let begins_with = |early: &str| {
        let begun = text.replace(first, &format!("{early}{first}"));
        fs::write(&reference, format!("TILE = 4\n{begun}")).unwrap();
    };
    // a parameter set in a branch differs from the extent of the case
    begins_with("    if kind == \"wide\":\n        n = 2 * n\n");
    let changed = ncugate(
        &place,
        &path,
        &[&["problem", "import"], &task[..], &["--input", "steps=f32[n]", "--output", "changed.toml"]].concat(),
    );
    assert!(changed.stderr.contains("`if kind == 'wide': n = 2 * n` is not supported"), "{changed:?}");
    // constants that no input depends on need no value
    begins_with("    tile = torch.rand(TILE)\n");
    let passed = ncugate(
        &place,
        &path,
        &[&["problem", "import"], &task[..], &["--input", "steps=f32[n]", "--output", "passed.toml"]].concat(),
    );
    assert_eq!(passed.status, Some(0), "{passed:?}");
    // if nothing is understood, the command line describes all inputs
    begins_with("    if kind == \"zeros\":\n        return zeros(n)\n");
    let unknown = ncugate(&place, &path, &[&["problem", "import"], &task[..], &["--output", "unknown.toml"]].concat());
    assert!(unknown.stderr.contains("`if kind == 'zeros': return zeros(n)` is not supported"), "{unknown:?}");
    let all = ["--input", "a=f32[n]", "--input", "steps=f32[n]:\"arange\"", "--returns", "y=f32[n]"];
    let described = ncugate(
        &place,
        &path,
        &[&["problem", "import"], &task[..], &all[..], &["--output", "described.toml"]].concat(),
    );
    assert_eq!(described.status, Some(0), "{described:?}");
    let said = "line 20: `for at in range(n): steps[at] = at` is not supported; describe it with --input \"steps=f32[EXTENT, ...]\"";
    assert!(without.stderr.contains(said), "{without:?}");
}

#[test]
fn an_inexpressible_problem_is_a_named_error_and_writes_nothing() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    place.copy("tests/data/problems");
    let kernelbench = |problem: &str| format!("{KERNELBENCH}/{problem}.py");
    let (softmax, triangular) = (kernelbench("1_Row_softmax"), kernelbench("10_Triangular"));
    let solution = kernelbench("solutions/1_Row_softmax");
    let trace = "tests/data/problems/flashinfer";
    place.write("own/definitions/four.json", FOUR_BITS);
    place.write("own/workloads/four.jsonl", "{\"definition\": \"four\", \"workload\": {\"uuid\": \"u\", \"axes\": {\"N\": 4}, \"inputs\": {\"x\": {\"type\": \"random\"}}}}\n");
    let refused: [(&[&str], i32, &str); 10] = [
        (
            &["kernelbench", &softmax, "--solution", &solution],
            2,
            "the outputs of forward are unknown without running it; describe each with --returns",
        ),
        (
            &["kernelbench", &triangular, "--solution", &solution, "--returns", "C=f32[N, N]"],
            2,
            "torch.triu(torch.rand(N, N))` is not supported",
        ),
        (
            &["kernelbench", &softmax, "--solution", &softmax, "--returns", "y=f32[dim]"],
            2,
            "it has no class `ModelNew`",
        ),
        (
            &["kernelbench", &solution, "--solution", &solution, "--returns", "y=f32[dim]"],
            2,
            "it has no function `get_inputs`",
        ),
        (&["kernelbench", &softmax, "--solution", &solution, "--returns", "y=f32[dimension]"], 2, "dimension"),
        (&["kernelbench", "absent.py", "--solution", &solution, "--returns", "y=f32[dim]"], 3, "absent.py"),
        (&["flashinfer", trace], 2, "select one of its definitions with --definition"),
        (
            &["flashinfer", trace, "--definition", "rmsnorm_h64", "--solution", "rmsnorm_julia"],
            2,
            "its language is `julia`",
        ),
        (&["flashinfer", "own"], 2, "`x` has the type float4_e2m1, which a phase does not support"),
        (&["flashinfer", "tests"], 2, "it is not a folder of FlashInfer-Trace"),
    ];
    for (args, status, said) in refused {
        let finished = place.run(&[&["problem", "import"], args, &["--output", "refused.toml"]].concat());
        assert_eq!(finished.status, Some(status), "{args:?}: {finished:?}");
        assert!(finished.stderr.contains(said), "{said}\n{finished:?}");
        assert!(!place.path().join("refused.toml").exists() && !place.path().join("refused").exists(), "{args:?}");
    }
}

const FOUR_BITS: &str = r#"{"name": "four", "op_type": "copy", "axes": {"N": {"type": "var"}},
  "inputs": {"x": {"shape": ["N"], "dtype": "float4_e2m1"}}, "outputs": {"y": {"shape": ["N"], "dtype": "float32"}},
  "reference": "def run(x):\n    return x\n"}"#;

#[test]
fn an_import_executes_nothing_and_replaces_nothing() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    let text = fs::read_to_string(root().join(KERNELBENCH).join("1_Row_softmax.py")).unwrap();
    let solution = fs::read_to_string(root().join(KERNELBENCH).join("solutions/1_Row_softmax.py")).unwrap();
    let executes = "open('executed', 'w').close()\n";
    place.write("problem.py", &(text + executes));
    place.write("solution.py", &(solution + executes));
    // modules of the working directory are those of a checkout
    for module in
        ["ncugate/__init__.py", "ncugate/problem/__main__.py", "argparse.py", "importlib.py", "json.py", "yaml.py"]
    {
        place.write(module, executes);
    }
    let args = [
        "problem",
        "import",
        "kernelbench",
        "problem.py",
        "--solution",
        "solution.py",
        "--returns",
        "y=f32[batch_size, dim]",
        "-o",
        "p.toml",
    ];
    assert_eq!(place.run(&args).status, Some(0));
    assert!(!place.path().join("executed").exists());
    let again = place.run(&args);
    assert_eq!(again.status, Some(2), "{again:?}");
    assert!(again.stderr.contains("p.toml already exists"), "{again:?}");
}

#[test]
fn a_python_without_the_package_is_an_error_that_names_it() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    place.write_program(
        "bin/python3",
        &format!("#!/bin/sh\nexec {} -S \"$@\"\n", which(Path::new("python3")).display()),
    );
    let path = format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH").unwrap());
    let commands: [&[&str]; 3] = [
        &["problem", "import", "gpumode", "task.yml", "-o", "p.toml"],
        &["problem", "export", "fast-p"],
        &["init", "torch:exp", "--shape", "8"],
    ];
    for command in commands {
        let absent = Finished::of(place.ncugate(command).env("PATH", &path).env_remove("PYTHONPATH"));
        assert!(absent.status == Some(3) && absent.stderr.contains("hint: pip install ncugate"), "{absent:?}");
    }
    let none = Finished::of(place.ncugate(commands[0]).env("PATH", "/nowhere"));
    assert!(none.status == Some(3) && none.stderr.contains("cannot run `python3`"), "{none:?}");
}

#[test]
fn an_import_copies_files_of_the_task_alone_and_says_which() {
    let Some((place, path)) = place() else { return };
    fs::remove_dir(place.path().join(".git")).unwrap();
    if !can_read_tasks(&place) {
        return;
    }
    let task = |files: &str| {
        let tests = "tests:\n  - {\"n\": 8}\nbenchmarks:\n  - {\"n\": 64}\n";
        place.write("task/task.yml", &format!("files:\n{files}lang: py\n{tests}"));
    };
    let generate = "import torch\ndef generate_input(n: int, seed: int):\n    return torch.rand(n)\n";
    place.write("task/reference.py", &format!("{generate}def ref_kernel(data):\n    return data\n"));
    place.write("task/submission.py", "def custom_kernel(data):\n    return data\n");
    place.write("task/own.py", "");
    let secret = place.write("secret/key", "precious");
    std::os::unix::fs::symlink(&secret, place.path().join("task/link.py")).unwrap();
    let import = || {
        let args = [
            "problem",
            "import",
            "gpumode",
            "task/task.yml",
            "--returns",
            "y=f32[n]",
            "--rtol",
            "1e-4",
            "--atol",
            "1e-4",
        ];
        ncugate(&place, &path, &[&args[..], &["-o", "out/p.toml"]].concat())
    };
    place.write("out/.keep", "");
    for (source, why) in
        [(secret.to_str().unwrap(), "absolute path"), ("../secret/key", "outside its folder"), ("link.py", "a link")]
    {
        task(&format!("  - {{\"name\": \"utils.py\", \"source\": \"{source}\"}}\n"));
        let refused = import();
        assert!(refused.status == Some(2) && refused.stderr.contains(why), "{source}: {refused:?}");
        assert!(!place.path().join("out/utils.py").exists() && !place.path().join("out/p.toml").exists());
    }
    let levels: String = (1..9).map(|at| format!("a{at}: &a{at} [{}]\n", format!("*a{},", at - 1).repeat(9))).collect();
    place.write("task/task.yml", &format!("a0: &a0 [1]\n{levels}lang: py\n"));
    let aliases = import();
    assert!(aliases.status == Some(2) && aliases.stderr.contains("YAML alias"), "{aliases:?}");

    task("  - {\"name\": \"utils.py\", \"source\": \"own.py\"}\n");
    let copied = import();
    assert_eq!(copied.status, Some(0), "{copied:?}");
    for name in ["own.py is copied", "reference.py is copied", "submission.py is copied"] {
        assert!(copied.stdout.contains(name), "{name}: {copied:?}");
    }

    nix::unistd::mkfifo(&place.path().join("fifo.py"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for unreadable in ["fifo.py", "/dev/zero"] {
        let mut command = place.ncugate(&["problem", "import", "gpumode", "task/task.yml", "--solution", unreadable]);
        command
            .args(["--returns", "y=f32[n]", "--rtol", "1e-4", "--atol", "1e-4", "-o", "out/q.toml"])
            .env("PATH", &path);
        let refused = Finished::of(command.timeout(std::time::Duration::from_secs(10)));
        assert!(refused.status == Some(3) && refused.stderr.contains(unreadable), "{unreadable}: {refused:?}");
    }
}

/// The entry of a CUDA solution passes its own sources to the loader of its binding, then calls the function of its
/// entry.
#[test]
fn solutions_that_are_compiled_are_built_by_the_loader_of_their_binding() {
    let Some((place, path)) = place() else { return };
    imported(
        &place,
        &path,
        "rmsnorm_h64",
        &["flashinfer", "tests/data/problems/flashinfer", "--definition", "rmsnorm_h64"],
    );
    // doubles of the two loaders, which print their arguments
    let say = "import os\n\n\nclass Module:\n    run = staticmethod(lambda *given: None)\n\n\ndef said(given):\n    \
               print({k: [os.path.basename(p) for p in v] if k.endswith((\"sources\", \"files\")) else v for k, v in given.items() \
               if k not in (\"name\", \"extra_include_paths\")})\n    assert given[\"name\"].startswith(\"ncugate_solution_rmsnorm\")\n";
    place.write("doubles/said.py", say);
    place.write(
        "doubles/tvm_ffi/__init__.py",
        "import said\n\n\ndef load_module(path):\n    assert path == \"built\"\n    return said.Module\n",
    );
    place.write(
        "doubles/tvm_ffi/cpp.py",
        "import said\n\n\ndef build(**given):\n    said.said(given)\n    return \"built\"\n",
    );
    place.write("doubles/torch/__init__.py", "");
    place.write("doubles/torch/utils/__init__.py", "");
    let load = "import said\n\n\ndef load(**given):\n    said.said(given)\n    return said.Module\n";
    place.write("doubles/torch/utils/cpp_extension.py", load);
    let called = |variant: &str| {
        let file = place.path().join(format!("rmsnorm_h64/{variant}/ncugate_{variant}.py"));
        let program = format!("import runpy; found = runpy.run_path({file:?}); assert callable(found[\"ENTRY\"])");
        let mut python = Command::new(which(Path::new("python3")));
        let ended = python.args(["-c", &program]).env("PYTHONPATH", place.path().join("doubles")).output().unwrap();
        assert!(ended.status.success(), "{variant}: {}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).unwrap()
    };
    assert_eq!(called("rmsnorm_cuda"), "{'cpp_files': [], 'cuda_files': ['kernel.cu']}\n");
    let extension = called("rmsnorm_extension");
    assert!(extension.contains("'sources': ['kernel.cu', 'host.cpp'], 'with_cuda': True"), "{extension}");
    assert!(extension.contains("'extra_cuda_cflags': ['-O2'], 'extra_ldflags': ['-lcuda']"), "{extension}");
}
