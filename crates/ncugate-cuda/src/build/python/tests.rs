//! The compilers of kernels in Python, without a GPU, and Triton's machine code given as a file.

use super::*;
use crate::build::nvcc::Nvcc;
use crate::build::nvcc::tests::{double, for_test};
use crate::build::{Arch, Deduplication};
use ncugate_model::cubin::{LineTable, machine_code};
use ncugate_model::{BuildOutcome, BuildRecord};
use ncugate_phase::config::{self, Phase};
use ncugate_phase::plan::{Plan, unroll};

const SOFTMAX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/triton/softmax.py");

/// A Python with Triton, named in `NCUGATE_TEST_TRITON`.
fn python() -> Option<PathBuf> {
    let found = env::var_os("NCUGATE_TEST_TRITON").map(PathBuf::from);
    if found.is_none() {
        assert!(env::var("CI").as_deref() != Ok("true"), "CI must have Triton");
    }
    found
}

fn phase(kernel: &str, sweep: &str) -> String {
    format!(
        r#"
[phase]
name = "p"
[workload]
seeds = [0]
reference = "softmax"
tolerance = {{ max_abs = 1e-5 }}
[workload.shapes]
s = {{ R = 64, C = 250 }}
[workload.buffers]
x = {{ dtype = "f32", shape = ["R", "C"] }}
y = {{ dtype = "f32", shape = ["R", "C"], role = "output" }}
[kernel]
{kernel}
grid = ["R"]
args = ["x", "y", "R", "C"]
{sweep}
[[gate]]
name = "g"
require = "spills == 0"
"#
    )
}

fn plan(kernel: &str, sweep: &str) -> (Phase, Plan) {
    read(&phase(kernel, sweep))
}

fn read(text: &str) -> (Phase, Plan) {
    let phase = config::parse(Path::new("p.toml"), text).unwrap_or_else(|e| panic!("{e}"));
    let plan = unroll(&phase).unwrap_or_else(|e| panic!("{e}"));
    (phase, plan)
}

fn build(
    phase: &(Phase, Plan),
    python: &Path,
    folder: &Path,
) -> Result<(Vec<BuildRecord>, BTreeMap<PathBuf, String>), BuildError> {
    let nvcc = double();
    build_with(&nvcc, "triton", phase, python, folder)
}

fn build_with(
    nvcc: &Nvcc,
    package: &str,
    (phase, plan): &(Phase, Plan),
    python: &Path,
    folder: &Path,
) -> Result<(Vec<BuildRecord>, BTreeMap<PathBuf, String>), BuildError> {
    let (cache, arch) = (Cache::at(folder).unwrap(), "sm_90".parse::<Arch>().unwrap());
    let mut phase = phase.clone();
    phase.build.python = Some(python.to_owned());
    let builder = Builder::new(nvcc, &arch, &cache, Deduplication::Each).with_python_of(&phase)?;
    let records = builder.build(plan, &|_| {}, &mut |_| Ok(()))?;
    let software = builder.software();
    assert!(software.contains_key(package) && software.contains_key("python"), "{software:?}");
    // NVVM makes Numba's PTX.
    assert!(package != "numba-cuda" || software.contains_key("nvidia-nvvm"), "{software:?}");
    Ok((records, builder.files_read()))
}

fn built(record: &BuildRecord) -> (PathBuf, CompiledLaunch, bool) {
    match &record.outcome {
        BuildOutcome::Built { cubin, launch: Some(launch), cached, .. } => (cubin.clone(), launch.clone(), *cached),
        other => panic!("not built: {other:?}"),
    }
}

fn everywhere(record: &BuildRecord) -> (u32, u32, Vec<u64>) {
    match built(record).1 {
        CompiledLaunch::Everywhere { threads, dynamic_shared, workspace } => (threads, dynamic_shared, workspace),
        other => panic!("not everywhere: {other:?}"),
    }
}

fn message(record: &BuildRecord) -> &str {
    match &record.outcome {
        BuildOutcome::Failed { message } => message,
        other => panic!("not failed: {other:?}"),
    }
}

const OPTIONAL: &str = r#"
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 128})], key=["C"])
@triton.heuristics({"EVEN": lambda args: False})
@triton.jit
def optional(x, y, mask, R, C, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.static_assert(mask is None)
    at = tl.arange(0, BLOCK)
    inside = at < C
    tl.store(y + tl.program_id(0) * C + at, tl.load(x + tl.program_id(0) * C + at, mask=inside), mask=inside)

def factory():
    return optional
"#;

#[test]
fn a_null_pointer_is_none_and_decorators_that_choose_constexprs_are_looked_through() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shipped.py");
    fs::write(&file, OPTIONAL).unwrap();
    for function in ["optional", "factory"] {
        let text = |sweep| {
            let kernel = format!("python = \"{}:{function}\"", file.display());
            phase(&kernel, sweep).replace(r#"["x", "y", "R", "C"]"#, r#"["x", "y", "nullptr", "R", "C"]"#)
        };
        let both = read(&text("[sweep]\nBLOCK = [256]\nEVEN = [false]"));
        let (records, _) = build(&both, &python, folder.path()).unwrap();
        assert_eq!(everywhere(&records[0]).0, 128);
        let BuildOutcome::Built { symbols, .. } = &records[0].outcome else { panic!("{records:?}") };
        assert_eq!(symbols.of(function), "optional");
        let one = read(&text("[sweep]\nBLOCK = [256]"));
        let (records, _) = build(&one, &python, folder.path()).unwrap();
        assert!(message(&records[0]).contains("EVEN: a constexpr without a value"), "{records:?}");
    }
}

const SIZED: &str = r#"
import triton
import triton.language as tl

@triton.jit(noinline=True)
def doubled(x):
    return 2 * x

@triton.jit
def sized(x, y, R, C: tl.constexpr, BLOCK: tl.constexpr):
    tl.device_assert(R > 0)
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * C
    value = tl.load(x + row + at, mask=at < C, other=-float("inf"))
    value = tl.exp(value - doubled(tl.max(value, 0)))
    tl.store(y + row + at, value / tl.sum(value, 0), mask=at < C)
"#;

#[test]
fn constexprs_that_follow_the_shape_give_an_entry_for_each_of_their_values() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sized.py");
    fs::write(&file, SIZED).unwrap();
    let kernel = format!("python = \"{}:sized\"", file.display());
    let shapes =
        "s = { R = 64, C = 250 }\nt = { R = 48, C = 1000 }\nu = { R = 64, C = 4096 }\nv = { R = 3, C = 1000 }\n";
    let text = |kernel: &str, sweep: &str, shapes: &str| {
        let text = phase(kernel, sweep).replace("s = { R = 64, C = 250 }\n", shapes);
        text.replace(r#"args = ["x", "y", "R", "C"]"#, r#"args = ["x", "y", "R"]"#)
    };
    let constexprs =
        "constexprs = { C = \"C\", BLOCK = \"2 ** ceil(log2(C))\", num_warps = \"min(8, max(1, C // 256))\" }";
    let sweep = "[sweep]\nenable_fp_fusion = [true, false]";
    let (of_phase, plan) = &read(&text(&format!("{kernel}\n{constexprs}"), sweep, shapes));
    let built_now = || build(&(of_phase.clone(), plan.clone()), &python, folder.path()).unwrap().0;
    let records = built_now();
    let own = &plan.kernels().next().unwrap().1;
    let names =
        ["sized_C250_BLOCK256_num_warps1", "sized_C1000_BLOCK1024_num_warps3", "sized_C4096_BLOCK4096_num_warps8"];
    assert_eq!(own.entries(), names);
    assert_eq!(own.launched_entries(&own.programs[3].shape), [names[1]]);
    assert!(message(&records[0]).contains("num_warps is 3, expected a power of two"), "{records:?}");

    let constexprs = constexprs.replace("min(8, max(1, C // 256))", "1 if C < 512 else 4 if C < 2048 else 8");
    let (of_phase, plan) = &read(&text(&format!("{kernel}\n{constexprs}"), sweep, shapes));
    let built_now = || build(&(of_phase.clone(), plan.clone()), &python, folder.path()).unwrap().0;
    let records = built_now();
    let (_, launch, _) = built(&records[0]);
    let own = &plan.kernels().next().unwrap().1;
    let threads = |at: usize| own.programs[at].compiled_as(Some(&launch)).launches().next().unwrap().threads();
    assert_eq!([0, 1, 2, 3].map(threads), [32, 128, 256, 128]);
    // Merging changes no machine code: each entry has that of its own compilation.
    fs::write(&file, SIZED.replace("(noinline=True)", "")).unwrap();
    let records = built_now();
    let cubin = fs::read(built(&records[0]).0).unwrap();
    for (at, c, block, warps, rows) in [(0, 250, 256, 1, 64), (1, 1000, 1024, 4, 48), (2, 4096, 4096, 8, 64)] {
        let sweep = format!("[sweep]\nC_ = [{c}]\nBLOCK = [{block}]\nnum_warps = [{warps}]").replace("C_", "C");
        let shapes = format!("s = {{ R = {rows}, D = {c} }}\nt = {{ R = 3, D = {c} }}\n");
        let shapes = if at == 1 { shapes } else { shapes.lines().next().unwrap().to_owned() + "\n" };
        let alone = read(&text(&kernel, &sweep, &shapes).replace("\"R\", \"C\"]", "\"R\", \"D\"]"));
        let (alone, _) = build(&alone, &python, folder.path()).unwrap();
        let alone = fs::read(built(&alone[0]).0).unwrap();
        let entry = own.entries()[at];
        assert_eq!(machine_code(&cubin, entry).unwrap(), machine_code(&alone, "sized").unwrap(), "{c}");
        let lines = |cubin: &[u8], entry: &str| LineTable::read(cubin, entry).unwrap().at(0);
        assert_eq!(lines(&cubin, entry), lines(&alone, "sized"), "{c}");
    }
    let missing = read(&text(&kernel, "[sweep]\nBLOCK = [256]", shapes));
    let (records, _) = build(&missing, &python, folder.path()).unwrap();
    assert!(message(&records[0]).contains("[kernel.constexprs]"), "{records:?}");
}

#[test]
fn a_sweep_is_compiled_with_what_the_compiler_says_of_the_launch_and_not_twice() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(
        &format!("python = \"{SOFTMAX}:softmax_row\""),
        "[sweep]\nBLOCK = [256]\nnum_warps = [1, 4]\nnum_stages = [1, 2]",
    );
    let (records, files) = build(&plan, &python, folder.path()).unwrap();
    let threads: Vec<u32> = records.iter().map(|record| everywhere(record).0).collect();
    assert_eq!(threads, [32, 32, 128, 128]);
    let (_, dynamic_shared, workspace) = everywhere(&records[2]);
    assert!(dynamic_shared > 0 && workspace == [0, 0] && !built(&records[2]).2, "{records:?}");
    assert!(files.keys().any(|file| file.ends_with("kernels/triton/softmax.py")), "{files:?}");
    let (again, files_again) = build(&plan, &python, folder.path()).unwrap();
    assert!(again.iter().all(|record| built(record).2));
    assert_eq!(files_again, files);
}

#[test]
fn what_triton_refuses_is_the_variants_and_says_why() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let kernel = format!("python = \"{SOFTMAX}:softmax_row\"");
    let failed = |kernel: &str, sweep: &str| {
        let records = build(&plan(kernel, sweep), &python, folder.path()).unwrap().0;
        message(&records[0]).to_owned()
    };
    let unknown = failed(&kernel, "[sweep]\nBLOCK = [256]\nnum_wraps = [4]");
    assert!(unknown.contains("num_wraps: neither a parameter of softmax_row"), "{unknown}");
    let warps = failed(&kernel, "[sweep]\nBLOCK = [256]\nnum_warps = [3]");
    assert!(warps.contains("num_warps is 3, expected a power of two from 1 to 32"), "{warps}");
    let block = failed(&format!("{kernel}\nblock = [128]"), "[sweep]\nBLOCK = [256]");
    assert!(block.contains("Triton's compiler determines `block`; remove it"), "{block}");
    let constexpr = failed(&kernel, "[sweep]\nnum_warps = [4]");
    assert!(constexpr.contains("BLOCK: a constexpr without a value"), "{constexpr}");
    let power = failed(&kernel, "[sweep]\nBLOCK = [250]");
    assert!(power.contains("power of 2"), "{power}");
    let absent = failed(&format!("python = \"{SOFTMAX}:softmax\""), "[sweep]\nBLOCK = [256]");
    assert!(absent.contains("has no `softmax`"), "{absent}");
    let file = failed("python = \"absent.py:f\"", "[sweep]\nBLOCK = [256]");
    assert!(file.contains("cannot read `absent.py`"), "{file}");
}

#[test]
fn an_import_that_changes_compiles_anew() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let source = "import triton\nimport triton.language as tl\nfrom helper import scaled\n\n\n@triton.jit\ndef k(x, y, R, C):\n    tl.store(y, scaled(tl.load(x)))\n";
    let helper = |factor: u32| format!("import triton\n\n\n@triton.jit\ndef scaled(x):\n    return x * {factor}\n");
    fs::write(path("k.py"), source).unwrap();
    fs::write(path("helper.py"), helper(2)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let plan = plan(&format!("python = \"{}:k\"", path("k.py").display()), "[sweep]\nnum_warps = [1]");
    let cache = path("cache");
    let first = built(&build(&plan, &python, &cache).unwrap().0[0]);
    assert!(built(&build(&plan, &python, &cache).unwrap().0[0]).2);
    fs::write(path("helper.py"), helper(3)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let second = built(&build(&plan, &python, &cache).unwrap().0[0]);
    assert!(!second.2 && second.0 != first.0);
}

/// `torch.classes` is such a module.
#[test]
fn a_module_without_a_file_is_no_source() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let fake = "import sys, types\nclasses = types.ModuleType('fake.classes')\nclasses.__file__ = '_classes.py'\nsys.modules['fake.classes'] = classes\n";
    fs::write(path("fake.py"), fake).unwrap();
    let source = "import fake\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, y, R, C):\n    tl.store(y, tl.load(x))\n";
    fs::write(path("k.py"), source).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let plan = plan(&format!("python = \"{}:k\"", path("k.py").display()), "[sweep]\nnum_warps = [1]");
    built(&build(&plan, &python, &path("cache")).unwrap().0[0]);
}

#[test]
fn a_kernel_in_a_package_is_imported_as_a_part_of_it() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path("library/ops")).unwrap();
    for init in ["library/__init__.py", "library/ops/__init__.py"] {
        fs::write(path(init), "").unwrap();
    }
    let jit = "import triton\nimport triton.language as tl\n";
    fs::write(path("library/helper.py"), format!("{jit}\n\n@triton.jit\ndef scaled(x):\n    return x * 2\n")).unwrap();
    let source = format!(
        "{jit}from ..helper import scaled\n\n\n@triton.jit\ndef k(x, y, R, C):\n    tl.store(y, scaled(tl.load(x)))\n"
    );
    fs::write(path("library/ops/scale.py"), source).unwrap();
    fs::write(path("library/ops/timed.py"), "import triton\nraise SystemError('no GPU')\n").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let of = |file: &str| plan(&format!("python = \"{}:k\"", path(file).display()), "[sweep]\nnum_warps = [1]");
    built(&build(&of("library/ops/scale.py"), &python, &path("cache")).unwrap().0[0]);
    let said = build(&of("library/ops/timed.py"), &python, &path("cache")).unwrap_err().to_string();
    assert!(
        said.contains("importing `") && said.contains("SystemError: no GPU") && said.contains("__main__"),
        "{said}"
    );
}

const COPY: &str =
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x, y, R, C):\n    tl.store(y, tl.load(x))\n";

/// Files of a project, older than the build that follows.
fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    std::thread::sleep(Duration::from_millis(20));
    folder
}

fn kernel_of(folder: &tempfile::TempDir, of: &str, sweep: &str) -> (Phase, Plan) {
    plan(&format!("python = \"{}\"", folder.path().join(of).display()), sweep)
}

#[test]
fn a_package_that_cannot_be_imported_ends_the_build_with_one_error() {
    let Some(python) = python() else { return };
    let factory = "def make(num):\n    from pk.sub.kern import k\n    return k\n";
    let init = "from pk.sub import kern\nimport module_that_is_absent\n";
    let files = [("pk/__init__.py", init), ("pk/sub/__init__.py", ""), ("pk/sub/kern.py", COPY), ("f.py", factory)];
    let folder = project(&files);
    let several = "[sweep]\nnum_warps = [1, 2, 4, 8, 16, 32]";
    for (of, sweep) in [("pk/sub/kern.py:k", several), ("f.py:make", &format!("{several}\nnum = [1]"))] {
        let error = build(&kernel_of(&folder, of, sweep), &python, &folder.path().join("cache")).unwrap_err();
        assert!(matches!(error, BuildError::PythonImport { .. }), "{error:?}");
        let said = error.to_string();
        assert!(said.contains("No module named 'module_that_is_absent'; hint: install"), "{said}");
    }
}

#[test]
fn a_module_that_its_package_imports_runs_once() {
    let Some(python) = python() else { return };
    let kern = format!("open(__file__ + '.log', 'a').write(__name__ + '\\n')\n{COPY}");
    let folder = project(&[("pk/__init__.py", "from . import kern\n"), ("pk/kern.py", &kern)]);
    let plan = kernel_of(&folder, "pk/kern.py:k", "[sweep]\nnum_warps = [1]");
    built(&build(&plan, &python, &folder.path().join("cache")).unwrap().0[0]);
    assert_eq!(fs::read_to_string(folder.path().join("pk/kern.py.log")).unwrap(), "pk.kern\n");
}

/// A module of machine code that the import of a package compiles, as PyTorch and Triton do; and then one more statement.
fn compiling(into: &str, then: &str) -> String {
    format!(
        "import importlib.util, os, subprocess\n\
         source = 'struct {{ long head[5]; const char *name; const char *doc; long size; void *rest[5]; }} about = {{{{1}}, \"made\"}};' \\\n    \
         ' void *PyModuleDef_Init(void *); void *PyInit_made(void) {{ return PyModuleDef_Init(&about); }}'\n\
         folder = {into}\nos.makedirs(folder, exist_ok=True)\nfile = os.path.join(folder, 'made.so')\n\
         if not os.path.exists(file):\n    subprocess.run(['cc', '-shared', '-fPIC', '-x', 'c', '-', '-o', file], input=source, text=True, check=True)\n\
         spec = importlib.util.spec_from_file_location('made', file)\nmade = importlib.util.module_from_spec(spec)\n\
         import sys\nsys.modules['made'] = made\n{then}\n{COPY}"
    )
}

#[test]
fn what_an_import_writes_to_a_cache_is_no_source_and_what_it_builds_elsewhere_has_not_changed() {
    let Some(python) = python() else { return };
    for (into, is_source) in
        [("os.environ['TRITON_CACHE_DIR'] + '/abc'", false), ("os.path.dirname(__file__) + '/build'", true)]
    {
        let folder = project(&[("k.py", &compiling(into, ""))]);
        let plan = kernel_of(&folder, "k.py:k", "[sweep]\nnum_warps = [1]");
        let (records, files) = build(&plan, &python, &folder.path().join("cache")).unwrap();
        records.iter().for_each(|record| drop(built(record)));
        assert_eq!(files.keys().any(|file| file.ends_with("made.so")), is_source, "{into}: {files:?}");
        let (records, again) = build(&plan, &python, &folder.path().join("cache")).unwrap();
        assert!(records.iter().all(|record| built(record).2) && again == files, "{again:?}");
    }
}

#[test]
fn a_source_that_is_edited_while_its_kernel_is_compiled_is_noticed() {
    let Some(python) = python() else { return };
    let edit = |file: &str| format!("import time\ntime.sleep(0.02)\nos.utime({file})");
    for (then, of) in [(edit("file"), "made.so"), (edit("__file__"), "k.py"), (edit("helper.__file__"), "helper.py")] {
        let text = format!("import helper\n{}", compiling("os.path.dirname(__file__) + '/build'", &then));
        let folder = project(&[("k.py", &text), ("helper.py", "")]);
        let plan = kernel_of(&folder, "k.py:k", "[sweep]\nnum_warps = [1]");
        let (records, _) = build(&plan, &python, &folder.path().join("cache")).unwrap();
        let said = message(&records[0]);
        assert!(said.contains(of) && said.contains("changed during its compilation"), "{of}: {said}");
    }
}

#[test]
fn a_gluon_kernel_is_compiled() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n\n\n@gluon.jit\ndef k(x, y, R, C):\n    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])\n    at = gl.arange(0, 128, layout=layout)\n    gl.store(y + at, gl.load(x + at))\n";
    let file = folder.path().join("k.py");
    fs::write(&file, source).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let plan = plan(&format!("python = \"{}:k\"", file.display()), "[sweep]\nnum_warps = [4]");
    built(&build(&plan, &python, &folder.path().join("cache")).unwrap().0[0]);
}

fn code(record: &BuildRecord) -> &str {
    match &record.outcome {
        BuildOutcome::Built { code_sha256, .. } => code_sha256,
        other => panic!("not built: {other:?}"),
    }
}

#[test]
fn a_constexpr_can_be_an_object_of_a_file() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let kernel = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x, y, R, C, A: tl.constexpr):\n    \
                  tl.store(y, tl.load(x).to(A).to(tl.float32))\n";
    fs::write(file("kernel.py"), kernel).unwrap();
    fs::write(file("kinds.py"), "import triton.language as tl\nHALF = tl.float16\n").unwrap();
    let kinds = file("kinds.py").display().to_string();
    let sweep = format!("[sweep]\nA = [\"{kinds}:HALF\", \"{kinds}:ABSENT\"]");
    let both = read(&phase(&format!("python = \"{}:k\"", file("kernel.py").display()), &sweep));
    let (records, _) = build(&both, &python, folder.path()).unwrap();
    assert!(matches!(records[0].outcome, BuildOutcome::Built { .. }), "{records:?}");
    assert!(message(&records[1]).contains("kinds.py has no `ABSENT`"), "{records:?}");
}

#[test]
fn a_constexpr_that_is_none_compiles_the_branch_for_none() {
    let Some(python) = python() else { return };
    let branch = "    if A is not None:\n        v = v * A\n";
    let triton = |name: &str, branch: &str| {
        format!(
            "\n\n@triton.jit\ndef {name}(x, y, R, C, A: tl.constexpr):\n    v = tl.load(x)\n{branch}    tl.store(y, v)\n"
        )
    };
    let gluon = |name: &str, branch: &str| {
        format!(
            "\n\n@gluon.jit\ndef {name}(x, y, R, C, A: gl.constexpr):\n    at = gl.arange(0, 128, layout=gl.BlockedLayout([1], [32], [4], [0]))\n    \
             v = gl.load(x + at)\n{branch}    gl.store(y + at, v)\n"
        )
    };
    let head = "import triton\nimport triton.language as tl\n";
    let of_triton = [head, &triton("k", branch), &triton("plain", "")].concat();
    let head =
        "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\nimport triton\n";
    let of_gluon = [head, &gluon("k", branch), &gluon("plain", "")].concat();
    let folder = project(&[("t.py", &of_triton), ("g.py", &of_gluon)]);
    let codes = |of: &str| {
        let plan = kernel_of(&folder, of, "[sweep]\nA = [\"None\", 3.0]");
        let (records, _) = build(&plan, &python, &folder.path().join("cache")).unwrap();
        [code(&records[0]).to_owned(), code(&records[1]).to_owned()]
    };
    for file in ["t.py", "g.py"] {
        let ([none, three], [plain, _]) = (codes(&format!("{file}:k")), codes(&format!("{file}:plain")));
        assert!(none == plain && three != plain, "{file}");
    }
}

#[test]
fn a_parameter_that_the_launch_alone_uses_is_no_constexpr() {
    let Some(python) = python() else { return };
    let folder = project(&[("k.py", &format!("PARTS = 1\n{COPY}"))]);
    let failed = |name: &str| {
        let (phase, _) = kernel_of(&folder, "k.py:k", &format!("[sweep]\n{name} = [2]"));
        let both = read(&phase.text.replace("grid = [\"R\"]", &format!("grid = [\"R * {name}\"]")));
        build(&both, &python, &folder.path().join("cache")).unwrap().0.remove(0)
    };
    built(&failed("SPLITS"));
    assert!(message(&failed("PARTS")).contains("PARTS: neither a parameter of k"));
}

#[test]
fn a_python_without_triton_stops_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&format!("python = \"{SOFTMAX}:softmax_row\""), "[sweep]\nBLOCK = [256]");
    let error = build(&plan, Path::new("/bin/true"), folder.path()).unwrap_err().to_string();
    assert!(error.contains("`/bin/true`") && error.contains("without printing its version"), "{error}");
    assert!(error.contains("`python` under [build]"), "{error}");
}

#[test]
fn a_cubin_of_triton_is_launched_with_a_workspace_for_the_pointers_that_follow() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let triton = plan(&format!("python = \"{SOFTMAX}:softmax_row\""), "[sweep]\nBLOCK = [256]");
    let (cubin, ..) = built(&build(&triton, &python, folder.path()).unwrap().0[0]);
    let given = folder.path().join("softmax.cubin");
    fs::copy(cubin, &given).unwrap();
    let kernel = |workspace: &str| {
        let file = given.display();
        plan(
            &format!("cubin = \"{file}\"\nentry = \"softmax_row\"\nblock = [128]\ndynamic_shared = 64\n{workspace}"),
            "",
        )
    };
    let (cache, arch) = (Cache::at(&folder.path().join("cache")).unwrap(), "sm_90".parse::<Arch>().unwrap());
    let nvcc = double();
    let builder = Builder::new(&nvcc, &arch, &cache, Deduplication::Each);
    let outcome = |(_, plan): &(Phase, Plan)| builder.build(plan, &|_| {}, &mut |_| Ok(())).unwrap().remove(0).outcome;
    let BuildOutcome::Refused { reasons, .. } = outcome(&kernel("")) else { panic!("not refused") };
    assert!(
        reasons[0].contains("4 arguments, but the kernel takes 6; hint") && reasons[0].contains("workspace"),
        "{reasons:?}"
    );
    let BuildOutcome::Built { launch: None, .. } = outcome(&kernel("workspace = [0, 0]")) else { panic!("not built") };
    assert!(builder.files_read().contains_key(&given), "a cubin that is given is an input of the run");
    fs::write(&given, "not machine code").unwrap();
    assert!(matches!(outcome(&kernel("workspace = [0, 0]")), BuildOutcome::Failed { .. }));
}

/// A Python with these packages and nvcc, which assembles PTX; the variable names the Python.
fn packages(variable: &str) -> Option<(PathBuf, Nvcc)> {
    let found = env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        assert!(env::var("CI").as_deref() != Ok("true"), "CI must have {variable}");
    }
    found.zip(for_test())
}

/// A phase with one kernel in Python over `x` and `y`, at two shapes.
fn two_shapes(kernel: &str, sweep: &str, dtype: &str) -> (Phase, Plan) {
    let text = phase(kernel, sweep)
        .replace("s = { R = 64, C = 250 }", "s = { R = 64, C = 250 }\nt = { R = 33, C = 100 }")
        .replace("grid = [\"R\"]\nargs = [\"x\", \"y\", \"R\", \"C\"]", "args = [\"x\", \"y\"]")
        .replace("\"f32\"", &format!("\"{dtype}\""));
    read(&text)
}

/// A variant's launch at a shape.
fn launch((_, plan): &(Phase, Plan), record: &BuildRecord, shape: &str) -> KernelLaunch {
    let ncugate_phase::plan::Method::Kernel(kernel) = &plan.variant(&record.variant).unwrap().method else {
        panic!("no kernel")
    };
    let program = kernel.program(&ncugate_model::ShapeName(shape.into())).unwrap();
    program.compiled_as(Some(&built(record).1)).launches().next().unwrap().clone()
}

fn wide(value: u64) -> Arg {
    Arg::Scalar(ScalarValue::U64(value))
}

fn word(value: u32) -> Arg {
    Arg::Scalar(ScalarValue::U32(value))
}

fn buffer(name: &str) -> Arg {
    Arg::Buffer(name.to_owned())
}

const NUMBA: &str = concat!("python = \"", env!("CARGO_MANIFEST_DIR"), "/../../kernels/numba/softmax.py:softmax_row\"");
const CUTE: &str = concat!("python = \"", env!("CARGO_MANIFEST_DIR"), "/../../kernels/cute/softmax.py:softmax_rows\"");

#[test]
fn a_global_of_a_numba_module_is_swept_and_arrays_are_passed_with_their_extents() {
    let Some((python, nvcc)) = packages("NCUGATE_TEST_NUMBA") else { return };
    let folder = tempfile::tempdir().unwrap();
    let kernel = format!("{NUMBA}\ngrid = [\"R\"]\nblock = [\"THREADS\"]");
    let phase = two_shapes(&kernel, "[sweep]\nTHREADS = [64, 256]", "f32");
    let (records, files) = build_with(&nvcc, "numba-cuda", &phase, &python, folder.path()).unwrap();
    let shared = |record: &BuildRecord| match &record.outcome {
        BuildOutcome::Built { resources, left_out, .. } => (resources.static_shared, left_out.len()),
        other => panic!("not built: {other:?}"),
    };
    assert_eq!(records.iter().map(shared).collect::<Vec<_>>(), [(4 * 64, 0), (4 * 256, 0)]);
    let launch = launch(&phase, &records[1], "t");
    assert_eq!((launch.entry.as_str(), launch.grid, launch.block), ("softmax_row", [33, 1, 1], [256, 1, 1]));
    let array = |name: &str| {
        [wide(0), wide(0), wide(3300), wide(4), buffer(name), wide(33), wide(100), wide(400), wide(4)].to_vec()
    };
    assert_eq!(launch.args, [array("x"), array("y")].concat());
    assert!(files.keys().any(|file| file.ends_with("kernels/numba/softmax.py")) && files.len() == 1, "{files:?}");
    let (again, files_again) = build_with(&nvcc, "numba-cuda", &phase, &python, folder.path()).unwrap();
    assert!(again.iter().all(|record| built(record).2) && files_again == files);
}

#[test]
fn a_numba_kernel_from_a_factory_or_with_a_signature_is_compiled_and_what_it_cannot_be_is_said() {
    let Some((python, nvcc)) = packages("NCUGATE_TEST_NUMBA") else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = "from numba import cuda\n\nSIZE = 4\nSIZE = 8\n\n\n@cuda.jit\ndef plain(x, y):\n    y[0, 0] = x[0, 0] * SIZE\n\n\n\
                  @cuda.jit('void(float32[:, :], float32[:, :])')\ndef signed(x, y):\n    y[0, 0] = x[0, 0]\n\n\n\
                  def make(COLUMNS):\n    @cuda.jit\n    def kernel(x, y):\n        a = cuda.shared.array(COLUMNS, 'float32')\n        \
                  a[0] = x[0, 0]\n        y[0, 0] = a[0]\n\n    return kernel\n\n\ndef add(a, b):\n    return a + b\n";
    let file = folder.path().join("k.py");
    fs::write(&file, source).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let cache = folder.path().join("cache");
    let outcome = |function: &str, more: &str, sweep: &str, dtype: &str| {
        let kernel = format!("python = \"{}:{function}\"\n{more}", file.display());
        let phase = two_shapes(&kernel, sweep, dtype);
        build_with(&nvcc, "numba-cuda", &phase, &python, &cache).unwrap().0.remove(0)
    };
    let both = "grid = [1]\nblock = [32]";
    built(&outcome("signed", both, "", "f32"));
    let BuildOutcome::Built { resources, .. } = outcome("make", both, "[sweep]\nCOLUMNS = [96]", "f32").outcome else {
        panic!("not built")
    };
    assert_eq!(resources.static_shared, 4 * 96);
    let wrong = |function: &str, more: &str, sweep: &str, dtype: &str, said: &str| {
        let record = outcome(function, more, sweep, dtype);
        assert!(message(&record).contains(said), "{said}: {}", message(&record));
    };
    fs::write(folder.path().join("f.py"), "def make():\n    from k import signed\n    return signed\n").unwrap();
    let threads = "grid = [1]\nblock = [\"THREADS\"]";
    let text = |function: &str| format!("python = \"{}:{function}\"\n{threads}", folder.path().join("f.py").display());
    for (kernel, module) in [(text("make"), "f.py"), (text("signed").replace("f.py", "k.py"), "k.py")] {
        let phase = two_shapes(&kernel, "[sweep]\nTHREADS = [64, 256]", "f32");
        let (records, _) =
            build_with(&nvcc, "numba-cuda", &phase, &python, &folder.path().join("cache").join(module)).unwrap();
        assert_eq!(launch(&phase, &records[1], "s").block, [256, 1, 1]);
    }
    let global = threads.replace("THREADS", "SIZE");
    wrong("plain", &global, "[sweep]\nSIZE = [16]", "f32", "SIZE: not a parameter of the function, an option");
    wrong("plain", "grid = [1]", "", "f32", "a Numba kernel does not determine its launch; add `block`");
    wrong("plain", both, "[sweep]\nSIZE = [16]", "f32", "SIZE: not a parameter of the function, an option");
    wrong("plain", both, "[sweep]\nSIZES = [16]", "f32", "SIZES: not a parameter of the function, an option");
    wrong("plain", both, "", "bf16", "Numba has no bf16");
    wrong("signed", both, "", "f64", "match no signature of the kernel");
    wrong("make", both, "", "f32", "missing a required argument: 'COLUMNS'");
    wrong("add", both, "[sweep]\na = [1]\nb = [2]", "f32", "`add(...)` is a int, not a kernel under");
    wrong("plain", "grid = [1]\nblock = [32]\n", "[sweep]\nmax_registers = ['many']", "f32", "invalid literal");
}

#[test]
fn the_host_function_of_cute_dsl_says_how_its_kernel_is_launched_at_each_shape() {
    let Some((python, nvcc)) = packages("NCUGATE_TEST_CUTE") else { return };
    let folder = tempfile::tempdir().unwrap();
    let phase = two_shapes(CUTE, "[sweep]\nWARPS = [2, 8]", "f32");
    let (records, files) = build_with(&nvcc, "nvidia-cutlass-dsl", &phase, &python, folder.path()).unwrap();
    let launch = |record: &BuildRecord, shape: &str| launch(&phase, record, shape);
    let at = launch(&records[1], "t");
    assert_eq!((at.entry.as_str(), at.grid, at.block), ("softmax_rows", [5, 1, 1], [256, 1, 1]));
    let tensor =
        |name: &str| Arg::Struct { align: None, fields: vec![buffer(name), word(33), word(100), word(100), word(0)] };
    assert_eq!(at.args, [tensor("x"), tensor("y")]);
    let at = launch(&records[0], "s");
    assert_eq!((at.grid, at.block, at.dynamic_shared), ([32, 1, 1], [64, 1, 1], 0));
    let BuildOutcome::Built { resources, .. } = &records[0].outcome else { panic!("not built") };
    assert!(resources.registers > 8 && resources.spills == 0, "{resources:?}");
    assert!(files.keys().any(|file| file.ends_with("kernels/cute/softmax.py")) && files.len() == 1, "{files:?}");
    let (again, files_again) = build_with(&nvcc, "nvidia-cutlass-dsl", &phase, &python, folder.path()).unwrap();
    assert!(again.iter().all(|record| built(record).2) && files_again == files);
}

#[test]
fn extents_that_are_the_same_at_every_shape_are_part_of_a_cute_kernels_code() {
    let Some((python, nvcc)) = packages("NCUGATE_TEST_CUTE") else { return };
    let folder = tempfile::tempdir().unwrap();
    let text =
        phase(CUTE, "[sweep]\nWARPS = [2]").replace("args = [\"x\", \"y\", \"R\", \"C\"]", "args = [\"x\", \"y\"]");
    let same = read(&text.replace("grid = [\"R\"]", "grid = [\"R // 2\"]"));
    let (records, _) = build_with(&nvcc, "nvidia-cutlass-dsl", &same, &python, folder.path()).unwrap();
    assert_eq!(launch(&same, &records[0], "s").args, [buffer("x"), buffer("y")]);
    let other = read(&text);
    let (records, _) = build_with(&nvcc, "nvidia-cutlass-dsl", &other, &python, folder.path()).unwrap();
    let said = message(&records[0]);
    assert!(
        said.contains("the phase has grid = [64, 1, 1] at shape s, but the host function launches with [32, 1, 1]"),
        "{said}"
    );
}

#[test]
fn a_cute_function_over_pointers_is_compiled_and_what_it_cannot_be_is_said() {
    let Some((python, nvcc)) = packages("NCUGATE_TEST_CUTE") else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = "import cutlass\nimport cutlass.cute as cute\nfrom cuda.bindings.driver import CUstream\n\n\n\
                  @cute.kernel\ndef kernel(x: cute.Pointer, y: cute.Pointer, n: cutlass.Int32):\n    i = cute.arch.thread_idx()[0]\n    \
                  if i < n:\n        a = cute.make_tensor(x, cute.make_layout((n,)))\n        b = cute.make_tensor(y, cute.make_layout((n,)))\n        \
                  b[i] = a[i]\n\n\n\
                  @cute.jit\ndef second_half(x: cute.Pointer, y: cute.Pointer, n: cutlass.Int32, stream: CUstream):\n    \
                  kernel(x + n // 2, y + n // 2, n // 2).launch(grid=[1, 1, 1], block=[n // 2, 1, 1], stream=stream)\n\n\n\
                  @cute.jit\ndef twice(x: cute.Pointer, y: cute.Pointer, n: cutlass.Int32, T: cutlass.Constexpr):\n    \
                  kernel(x, y, n).launch(grid=[1, 1, 1], block=[T, 1, 1])\n    kernel(x, y, n).launch(grid=[1, 1, 1], block=[T, 1, 1])\n\n\n\
                  class Tiled:\n    def __init__(self, T):\n        self.T = T\n\n    @cute.jit\n    \
                  def __call__(self, x: cute.Pointer, y: cute.Pointer, n: cutlass.Int32):\n        \
                  kernel(x, y, n).launch(grid=[1, 1, 1], block=[self.T, 1, 1])\n";
    let file = folder.path().join("k.py");
    fs::write(&file, source).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let cache = folder.path().join("cache");
    let of = |function: &str, sweep: &str| {
        let kernel = format!("python = \"{}:{function}\"", file.display());
        let text = phase(&kernel, sweep)
            .replace("grid = [\"R\"]\nargs = [\"x\", \"y\", \"R\", \"C\"]", "args = [\"x\", \"y\", \"C\"]");
        let phase = read(&text);
        let record = build_with(&nvcc, "nvidia-cutlass-dsl", &phase, &python, &cache).unwrap().0.remove(0);
        (phase, record)
    };
    let (phase, record) = of("second_half", "");
    let element = |name: &str| Arg::Element(ncugate_phase::plan::BufferElement { buffer: name.to_owned(), bytes: 500 });
    let at = launch(&phase, &record, "s");
    assert_eq!((at.block, at.args), ([125, 1, 1], vec![element("x"), element("y"), word(125)]));
    let (phase, record) = of("Tiled", "[sweep]\nT = [64]");
    assert_eq!(launch(&phase, &record, "s").block, [64, 1, 1]);
    let wrong = |function: &str, sweep: &str, said: &str| {
        let (_, record) = of(function, sweep);
        assert!(message(&record).contains(said), "{said}: {}", message(&record));
    };
    wrong("kernel", "", "it is a @cute.kernel; use the @cute.jit function that launches it");
    wrong("twice", "[sweep]\nT = [64]", "expected one kernel named twice; the code has");
    wrong("twice", "", "T: a Constexpr without a value");
    wrong("second_half", "[sweep]\nT = [64]", "T: not a parameter of the function");
}

#[test]
fn a_null_pointer_is_none_for_a_cute_tensor_and_an_axis_of_one_element_does_not_lead() {
    let Some((python, nvcc)) = packages("NCUGATE_TEST_CUTE") else { return };
    let source = r#"from typing import Optional
import cutlass
import cutlass.cute as cute
from cutlass.utils import LayoutEnum


@cute.kernel
def kernel(x: cute.Tensor, w: Optional[cute.Tensor], y: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    if cutlass.const_expr(w is None):
        y[0, i, 0] = x[0, i, 0]
    else:
        y[0, i, 0] = x[0, i, 0] * w[0, i, 0]


@cute.jit
def copy(x: cute.Tensor, w: Optional[cute.Tensor], y: cute.Tensor, p: Optional[cute.Pointer], q: cute.Pointer):
    assert LayoutEnum.from_tensor(x) == LayoutEnum.ROW_MAJOR
    kernel(x, w, y).launch(grid=[1, 1, 1], block=[32, 1, 1])
"#;
    let folder = project(&[("k.py", source)]);
    let built_with = |w: &str, p: &str| {
        let kernel = format!("python = \"{}:copy\"", folder.path().join("k.py").display());
        let (phase, _) = two_shapes(&kernel, "", "f32");
        let text = phase.text.replace("[\"x\", \"y\"]", &format!("[\"x\", \"{w}\", \"y\", \"{p}\", \"nullptr\"]"));
        let phase = read(&text.replace("[\"R\", \"C\"]", "[\"R\", \"C\", 1]"));
        let cache = folder.path().join("cache");
        let record = build_with(&nvcc, "nvidia-cutlass-dsl", &phase, &python, &cache).unwrap().0.remove(0);
        (launch(&phase, &record, "s").args.len(), record)
    };
    let (none, given) = (built_with("nullptr", "nullptr"), built_with("x", "y"));
    assert!(none.0 == 2 && given.0 == 3 && code(&none.1) != code(&given.1), "{none:?} {given:?}");
}

#[test]
fn numbers_and_tensors_of_one_axis_reach_a_cute_kernel_and_what_the_host_code_leaves_undefined_is_0() {
    let Some((python, nvcc)) = packages("NCUGATE_TEST_CUTE") else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = "import cutlass\nimport cutlass.cute as cute\n\n\n\
                  @cute.kernel\ndef kernel(x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32):\n    \
                  i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]\n    if i < cute.size(x):\n        y[i] = a * x[i]\n\n\n\
                  @cute.jit\ndef scaled(x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32):\n    \
                  kernel(x, y, a).launch(grid=[cute.ceil_div(cute.size(x), 32), 1, 1], block=[32, 1, 1])\n";
    let file = folder.path().join("k.py");
    fs::write(&file, source).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let text = phase(&format!("python = \"{}:scaled\"", file.display()), "")
        .replace("s = { R = 64, C = 250 }", "s = { R = 64, C = 250 }\nt = { R = 33, C = 100 }")
        .replace("grid = [\"R\"]\nargs = [\"x\", \"y\", \"R\", \"C\"]", "args = [\"x\", \"y\", \"a\"]")
        .replace("[\"R\", \"C\"]", "[\"R * C\"]")
        .replace("reference = \"softmax\"", "reference = { python = \"ref.py:scaled\" }")
        .replace(
            "[workload.buffers]",
            "[workload.scalars]\na = { type = \"f32\", value = \"2.5\" }\n[workload.buffers]",
        );
    let phase = read(&text);
    let (records, _) = build_with(&nvcc, "nvidia-cutlass-dsl", &phase, &python, &folder.path().join("cache")).unwrap();
    let tensor = |name: &str| Arg::Struct { align: None, fields: vec![buffer(name), word(3300), word(0)] };
    let at = launch(&phase, &records[0], "t");
    assert_eq!((at.grid, at.args), ([104, 1, 1], vec![tensor("x"), tensor("y"), word(2.5_f32.to_bits())]));
}

/// Copies a 64 by 64 tile through shared memory by a bulk tensor copy; the host code makes the descriptor.
const BULK_COPY: &str = r#"import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def kernel(atom: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, layout):
    thread = cute.arch.thread_idx()[0]
    row, column, _ = cute.arch.block_idx()
    memory = cutlass.utils.SmemAllocator()
    tile = memory.allocate_tensor(cutlass.Float32, layout, 128)
    barrier = memory.allocate_array(cutlass.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    source = cute.local_tile(x, (64, 64), (row, column))
    into, out_of = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(source, 0, 2)
    )
    if thread == 0:
        cute.arch.mbarrier_expect_tx(barrier, 64 * 64 * 4)
        cute.arch.mbarrier_arrive(barrier)
        cute.copy(atom, out_of, into, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    target = cute.local_tile(y, (64, 64), (row, column))
    for i in range(64):
        if thread < 64:
            target[i, thread] = tile[i, thread]


@cute.jit
def bulk_copy(x: cute.Tensor, y: cute.Tensor):
    layout = cute.make_layout((64, 64), stride=(64, 1))
    atom, tensor = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, (64, 64))
    grid = [cute.size(x, mode=[0]) // 64, cute.size(x, mode=[1]) // 64, 1]
    kernel(atom, tensor, y, layout).launch(grid=grid, block=[128, 1, 1])
"#;

#[test]
fn a_tensor_map_that_the_host_code_of_cute_dsl_makes_is_an_argument_with_the_address_of_the_buffer() {
    let Some((python, nvcc)) = packages("NCUGATE_TEST_CUTE") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.py");
    fs::write(&file, BULK_COPY).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let text = phase(&format!("python = \"{}:bulk_copy\"", file.display()), "")
        .replace("s = { R = 64, C = 250 }", "s = { R = 128, C = 256 }")
        .replace("grid = [\"R\"]\nargs = [\"x\", \"y\", \"R\", \"C\"]", "args = [\"x\", \"y\"]");
    let phase = read(&text);
    let (records, _) = build_with(&nvcc, "nvidia-cutlass-dsl", &phase, &python, &folder.path().join("cache")).unwrap();
    let at = launch(&phase, &records[0], "s");
    assert!(at.grid == [2, 4, 1] && at.dynamic_shared >= 64 * 64 * 4, "{at:?}");
    let Arg::Struct { fields: map, .. } = &at.args[0] else { panic!("{:?}", at.args[0]) };
    // It contains the extents minus 1, innermost first.
    assert_eq!((at.args[0].layout().0, &map[0], &map[7..9]), (128, &buffer("x"), [word(255), word(127)].as_slice()));
}
