//! Triton's own compiler, without a GPU; and the machine code that it makes, given as a file.

use super::*;
use crate::build::nvcc::tests::double;
use crate::build::{Arch, Sharing};
use crate::config;
use crate::model::{BuildOutcome, BuildRecord};
use crate::plan::{Plan, unroll};

const SOFTMAX: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/triton/softmax.py");

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

fn plan(kernel: &str, sweep: &str) -> Plan {
    let phase = config::parse(Path::new("p.toml"), &phase(kernel, sweep)).unwrap_or_else(|e| panic!("{e}"));
    unroll(&phase).unwrap_or_else(|e| panic!("{e}"))
}

fn build(
    plan: &Plan,
    python: &Path,
    folder: &Path,
) -> Result<(Vec<BuildRecord>, BTreeMap<PathBuf, String>), BuildError> {
    let (cache, arch) = (Cache::at(folder).unwrap(), "sm_90".parse::<Arch>().unwrap());
    let nvcc = double();
    let builder = Builder::new(&nvcc, &arch, &cache, Sharing::Each).with_python(Some(python));
    let records = builder.build(plan, &|_| {}, &mut |_| Ok(()))?;
    assert!(builder.software().contains_key("triton"));
    Ok((records, builder.files_read()))
}

fn built(record: &BuildRecord) -> (PathBuf, CompiledLaunch, bool) {
    match &record.outcome {
        BuildOutcome::Built { cubin, launch: Some(launch), cached, .. } => (cubin.clone(), launch.clone(), *cached),
        other => panic!("not built: {other:?}"),
    }
}

fn message(record: &BuildRecord) -> &str {
    match &record.outcome {
        BuildOutcome::Failed { message } => message,
        other => panic!("not failed: {other:?}"),
    }
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
    let threads: Vec<u32> = records.iter().map(|record| built(record).1.threads).collect();
    assert_eq!(threads, [32, 32, 128, 128]);
    let (_, launch, cached) = built(&records[2]);
    assert!(launch.dynamic_shared > 0 && launch.workspace == [0, 0] && !cached, "{launch:?}");
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

#[test]
fn a_python_without_triton_stops_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(&format!("python = \"{SOFTMAX}:softmax_row\""), "[sweep]\nBLOCK = [256]");
    let error = build(&plan, Path::new("/bin/true"), folder.path()).unwrap_err().to_string();
    assert!(error.contains("`/bin/true`") && error.contains("did not say its version"), "{error}");
    assert!(error.contains("[build] python"), "{error}");
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
    let builder = Builder::new(&nvcc, &arch, &cache, Sharing::Each);
    let outcome = |plan: &Plan| builder.build(plan, &|_| {}, &mut |_| Ok(())).unwrap().remove(0).outcome;
    let BuildOutcome::Refused { reasons, .. } = outcome(&kernel("")) else { panic!("not refused") };
    assert!(
        reasons[0].contains("4 arguments; the kernel takes 6; hint") && reasons[0].contains("workspace"),
        "{reasons:?}"
    );
    let BuildOutcome::Built { launch: None, .. } = outcome(&kernel("workspace = [0, 0]")) else { panic!("not built") };
    assert!(builder.files_read().contains_key(&given), "a cubin that is given is an input of the run");
    fs::write(&given, "not machine code").unwrap();
    assert!(matches!(outcome(&kernel("workspace = [0, 0]")), BuildOutcome::Failed { .. }));
}
