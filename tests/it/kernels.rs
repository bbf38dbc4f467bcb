//! Every kernel family compiles for Ada and Hopper with the pinned registers, shared memory and spills.
//!
//! The pins are a ratchet: neither more nor less passes, so that gains are kept and losses are noticed.
//! `NCUGATE_BLESS=1` writes the measured values. They hold for one nvcc version; with another version the kernels
//! only have to compile.

use crate::command::{Finished, Place, root};
use ncugate_cuda::build::{Arch, Builder, Cache, Deduplication, Nvcc};
use ncugate_model::{BuildOutcome, Resources, ShapeName, VariantId};
use ncugate_phase::plan::{
    KernelCode, KernelPlan, Method, Plan, ShapeProgram, Step, Variant, VariantRole, reference_launch,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const PINS: &str = "tests/data/kernels/resources.json";
const ARCHS: [&str; 2] = ["sm_89", "sm_90"];

/// The file of pins.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pins {
    /// Version of the compiler that produced the pins.
    nvcc: String,
    kernels: Vec<Pinned>,
}

/// One set of flags and macros of a family.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pinned {
    source: PathBuf,
    entry: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    defines: BTreeMap<String, i64>,
    /// By architecture. A missing architecture is not built.
    uses: BTreeMap<String, Uses>,
}

/// The pinned part of [`Resources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Uses {
    registers: u32,
    static_shared: u32,
    spills: u32,
}

impl From<Resources> for Uses {
    fn from(resources: Resources) -> Self {
        let Resources { registers, static_shared, spills, .. } = resources;
        Self { registers, static_shared, spills }
    }
}

impl Pinned {
    fn name(&self) -> String {
        let choices =
            self.flags.iter().cloned().chain(self.defines.iter().map(|(name, value)| format!("{name}={value}")));
        [self.entry.clone()].into_iter().chain(choices).collect::<Vec<_>>().join(" ")
    }

    fn variant(&self) -> Variant {
        let usual = ["-O3", "-lineinfo"].map(str::to_owned);
        Variant {
            id: VariantId(self.name().into()),
            standing: VariantRole::Candidate,
            params: Vec::new(),
            method: Method::Kernel(KernelPlan {
                source: self.source.clone(),
                linked: Vec::new(),
                code: KernelCode::Cuda,
                flags: usual.into_iter().chain(self.flags.iter().cloned()).collect(),
                defines: self.defines.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
                programs: vec![ShapeProgram::new(
                    ShapeName("any".into()),
                    vec![Step::Launch(reference_launch(&self.entry, ([1; 3], [1; 3]), Vec::new()))],
                )],
            }),
        }
    }
}

/// Runs the real binary with the compiler of the tests on its path.
fn check(place: &Place, config: &Path, arguments: &[&str]) -> Option<Finished> {
    let nvcc = nvcc()?;
    let usual = env::var_os("PATH")?;
    let folders = [nvcc.path().parent()?.to_path_buf()].into_iter().chain(env::split_paths(&usual));
    let path = env::join_paths(folders).unwrap();
    let line: Vec<&str> = ["check", config.to_str().unwrap()].into_iter().chain(arguments.iter().copied()).collect();
    Some(Finished::of(place.ncugate(&line).current_dir(root()).env("PATH", path)))
}

const WHOLE_KV: &str = r#"
[phase]
name = "whole_kv"
objective = "latency_p50"
[workload]
seeds = [0]
reference = "sdpa"
tolerance = { max_abs = 2e-3 }
scalars = { scale = "1 / D ** 0.5" }
[workload.shapes]
mission = { B = 1, H = 8, S = 512, D = 64 }
[workload.buffers]
q = { dtype = "f16", shape = ["B", "H", "S", "D"], init = "normal" }
k = { dtype = "f16", shape = ["B", "H", "S", "D"], init = "normal" }
v = { dtype = "f16", shape = ["B", "H", "S", "D"], init = "normal" }
o = { dtype = "f16", shape = ["B", "H", "S", "D"], role = "output" }
[kernel]
source = "kernels/sdpa_scalar/sdpa_whole_kv.cu"
entry = "sdpa_whole_kv"
flags = ["-O3"]
defines = ["MAX_S"]
grid = ["(S + 31) // 32", "B * H"]
block = ["192"]
dynamic_shared = { k_all = "2*S*D*DYNAMIC", v_all = "2*S*D*DYNAMIC", scores = "128*S*DYNAMIC", out = "128*D*DYNAMIC", q_tile = "64*D*DYNAMIC", stats = "256*DYNAMIC" }
args = ["q", "k", "v", "o", "S", "scale"]
[[variant]]
name = "dynamic"
params = { MAX_S = 0, DYNAMIC = 1 }
[[variant]]
name = "static"
params = { MAX_S = 512, DYNAMIC = 0 }
[[gate]]
name = "correct"
require = "correct == 1"
"#;

/// The shipped phase of the same plan: refused by its budget on an L4, failed by its gate where it fits.
#[test]
fn the_phase_of_whole_k_and_v_fails_on_every_card() {
    let place = Place::new();
    let config = root().join("configs/whole_kv.toml");
    for (arch, said) in [
        ("sm_89", "209152 bytes, limit 101376, 107776 over: k_all 65536, v_all 65536, scores 65536"),
        ("sm_90", "shared_mem is 204 KiB, needs at most 99 KiB"),
    ] {
        let Some(found) = check(&place, &config, &["--arch", arch]) else { return };
        assert_eq!(found.status, Some(1), "{arch}: {found:?}");
        assert!(format!("{}{}", found.stdout, found.stderr).contains(said), "{arch}: {found:?}");
    }
}

#[test]
fn all_of_k_and_v_in_shared_memory_is_refused_with_its_budget() {
    let place = Place::new();
    // paths are relative to the phase, and the source is in the repository
    let text = WHOLE_KV.replace("kernels/", &format!("{}/kernels/", root().display()));
    let config = place.write("whole_kv.toml", &text);
    let Some(ada) = check(&place, &config, &["--arch", "sm_89"]) else { return };
    assert_eq!(ada.status, Some(1), "{ada:?}");
    let fixed = "static shared memory per block: 209024 bytes, limit 49152, 159872 over: k_all 65536, scores 65536, v_all 65536, \
                 out 8192, q_tile 4096, row_sum 128; dynamic shared memory can have 101376 on compute capability 8.9";
    assert!(ada.stdout.contains(fixed), "{}", ada.stdout);
    let dynamic = "compute capability 8.9: 209152 bytes, limit 101376, 107776 over: k_all 65536, v_all 65536, scores 65536, out 8192, \
                   q_tile 4096, stats 256";
    assert!(ada.stdout.contains(dynamic), "{}", ada.stdout);
    assert!(ada.stdout.contains("0 of 2 candidates build for sm_89"), "{}", ada.stdout);
    let hopper = check(&place, &config, &["--arch", "sm_90"]).unwrap();
    assert_eq!(hopper.status, Some(0), "227 KiB hold the dynamic form: {hopper:?}");
    assert!(hopper.stdout.contains("static: does not build for sm_90"), "{}", hopper.stdout);
}

#[test]
fn a_check_judges_gates_on_the_build_and_names_the_rest() {
    let place = Place::new();
    let Some(inversion) = check(&place, Path::new("configs/inversion.toml"), &["--arch", "sm_89"]) else { return };
    assert_eq!(inversion.status, Some(0), "{inversion:?}");
    assert!(
        inversion.stdout.contains("pass         over-unrolled: spills"),
        "against a kernel baseline: {inversion:?}"
    );
    assert!(inversion.stdout.contains("not judged   correctness; each defect costs time"), "{inversion:?}");
    let scaling = Path::new("configs/scaling.toml");
    let unknown = check(&place, scaling, &["--arch", "sm_90"]).unwrap();
    assert_eq!(unknown.status, Some(0), "{unknown:?}");
    let waves = "not judged   the grid fills the card: the GPU's number of SMs is unknown; give it with --sms";
    assert!(unknown.stdout.contains(waves), "{unknown:?}");
    let known = check(&place, scaling, &["--arch", "sm_90", "--sms", "132"]).unwrap();
    assert_eq!(known.status, Some(1), "{known:?}");
    assert!(known.stdout.contains("FAIL         the grid fills the card"), "{known:?}");
}

#[test]
fn a_check_of_external_commands_alone_passes_where_their_programs_are() {
    let place = Place::new();
    let head = WHOLE_KV.split("[kernel]").next().unwrap();
    let command = "[[variant]]\nname = \"library\"\ncommand = [\"true\"]\n";
    let gate = "[[gate]]\nname = \"g\"\nrequire = \"correct == 1\"\n";
    let config = place.write("library.toml", &format!("{head}{command}{gate}"));
    let Some(checked) = check(&place, &config, &["--arch", "sm_90"]) else { return };
    assert_eq!(checked.status, Some(0), "{checked:?}");
    assert!(checked.stdout.contains("1 of 1 candidates are Python functions or external commands"), "{checked:?}");
}

/// A command in the same phase does not make up for a kernel that does not build.
#[test]
fn a_broken_kernel_fails_the_check_despite_an_external_command() {
    let place = Place::new();
    place.write("broken.cu", "#error \"broken\"\n");
    let head = WHOLE_KV.split("[kernel]").next().unwrap();
    let kernel = "[kernel]\nsource = \"broken.cu\"\nentry = \"f\"\ngrid = [1]\nblock = [32]\nargs = [\"q\"]\n";
    let variants = "[[variant]]\nname = \"library\"\ncommand = [\"true\"]\n[[variant]]\nname = \"kernel\"\n";
    let gate = "[[gate]]\nname = \"g\"\nrequire = \"correct == 1\"\n";
    let config = place.write("both.toml", &format!("{head}{kernel}{variants}{gate}"));
    let Some(checked) = check(&place, &config, &["--arch", "sm_90"]) else { return };
    assert_eq!(checked.status, Some(1), "{checked:?}");
    assert!(checked.stdout.contains("kernel: does not build"), "{}", checked.stdout);
}

fn pins() -> Pins {
    serde_json::from_str(&fs::read_to_string(PINS).unwrap()).unwrap()
}

/// `$NCUGATE_TEST_NVCC`, else the default nvcc of a user. CI must have one.
pub fn nvcc() -> Option<Nvcc> {
    let explicit = env::var_os("NCUGATE_TEST_NVCC").map(PathBuf::from);
    match Nvcc::find(explicit.as_deref()) {
        Ok(nvcc) => Some(nvcc),
        Err(error) => {
            assert!(env::var("CI").as_deref() != Ok("true"), "CI must have nvcc: {error}");
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Resources of each of `kernels` on `arch`, in the same order.
fn built(nvcc: &Nvcc, cache: &Path, arch: &str, kernels: &[&Pinned]) -> Vec<Result<Uses, String>> {
    let (cache, arch) = (Cache::at(cache).unwrap(), arch.parse::<Arch>().unwrap());
    let plan = Plan { variants: kernels.iter().map(|kernel| kernel.variant()).collect() };
    let builder = Builder::new(nvcc, &arch, &cache, Deduplication::Each);
    let records = builder.build(&plan, &|_| {}, &mut |_| Ok(())).unwrap();
    assert_eq!(records.len(), kernels.len());
    let uses = |outcome| match outcome {
        BuildOutcome::Built { resources, .. } => Ok(Uses::from(resources)),
        // the launch has no arguments here: only the resources matter
        BuildOutcome::Refused { resources: Some(resources), reasons }
            if reasons.iter().any(|reason| reason.contains("0 arguments, but the kernel takes")) =>
        {
            Ok(Uses::from(resources))
        }
        other => Err(format!("{other:?}")),
    };
    records.into_iter().map(|record| uses(record.outcome)).collect()
}

#[test]
fn every_family_is_pinned() {
    let pinned: Vec<PathBuf> = pins().kernels.into_iter().map(|kernel| kernel.source).collect();
    // Baselines are separate programs, compiled with their dependencies.
    let families = fs::read_dir("kernels").unwrap().map(|entry| entry.unwrap().path());
    let families = families.filter(|family| !family.ends_with("baselines"));
    let sources: Vec<PathBuf> = families
        .flat_map(|family| fs::read_dir(family).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .collect();
    assert!(!sources.is_empty());
    let missing: Vec<&PathBuf> = sources.iter().filter(|source| !pinned.contains(source)).collect();
    assert!(missing.is_empty(), "not in {PINS}: {missing:?}");
}

#[test]
fn every_kernel_compiles_with_its_pinned_resources() {
    let Some(nvcc) = nvcc() else { return };
    let bless = env::var_os("NCUGATE_BLESS").is_some();
    let mut pins = pins();
    let comparable = pins.nvcc == nvcc.version();
    if !comparable && !bless {
        eprintln!("the pins are of nvcc {}, this is {}: kernels only have to compile", pins.nvcc, nvcc.version());
    }
    let cache = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for arch in ARCHS.into_iter().chain(["sm_90a"]) {
        let chosen: Vec<&Pinned> = pins.kernels.iter().filter(|kernel| kernel.uses.contains_key(arch)).collect();
        assert!(!chosen.is_empty(), "nothing is pinned for {arch}");
        let found = built(&nvcc, cache.path(), arch, &chosen);
        let mut news = Vec::new();
        for (kernel, found) in chosen.iter().zip(found) {
            match found {
                Err(outcome) => wrong.push(format!("{} for {arch}: {outcome}", kernel.name())),
                Ok(uses) if bless => news.push((kernel.name(), uses)),
                Ok(uses) if comparable && uses != kernel.uses[arch] => {
                    wrong.push(format!("{} for {arch}: {uses:?}, pinned {:?}", kernel.name(), kernel.uses[arch]));
                }
                Ok(_) => {}
            }
        }
        for (name, uses) in news {
            let kernel = pins.kernels.iter_mut().find(|kernel| kernel.name() == name).unwrap();
            kernel.uses.insert(arch.to_owned(), uses);
        }
    }
    assert!(wrong.is_empty(), "{}\nNCUGATE_BLESS=1 writes what was found", wrong.join("\n"));
    if bless {
        nvcc.version().clone_into(&mut pins.nvcc);
        fs::write(PINS, serde_json::to_string_pretty(&pins).unwrap() + "\n").unwrap();
    }
}
