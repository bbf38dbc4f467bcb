//! Every kernel family compiles for Ada and Hopper, with the registers, shared memory and spills that are pinned.
//!
//! The pins are a ratchet: neither more nor less passes, so that a gain is kept as well as a loss is seen. `NCUGATE_BLESS=1`
//! writes what was found. They hold for the nvcc they were made with; with another one the kernels only have to compile.

use ncugate::build::{Arch, BuildOutcome, Builder, Cache, Nvcc, Resources, Sharing};
use ncugate::plan::{KernelPlan, Method, Plan, Standing, Variant, VariantId};
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
    /// Version of the compiler they were made with.
    nvcc: String,
    kernels: Vec<Pinned>,
}

/// One choice of flags and macros of a family.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pinned {
    source: PathBuf,
    entry: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    defines: BTreeMap<String, i64>,
    /// By architecture; an architecture that is not there is not built for.
    uses: BTreeMap<String, Uses>,
}

/// What is pinned of [`Resources`].
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
            id: VariantId(self.name()),
            standing: Standing::Candidate,
            params: Vec::new(),
            method: Method::Kernel(KernelPlan {
                source: self.source.clone(),
                entry: self.entry.clone(),
                flags: usual.into_iter().chain(self.flags.iter().cloned()).collect(),
                defines: self.defines.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
                launches: Vec::new(),
            }),
        }
    }
}

fn pins() -> Pins {
    serde_json::from_str(&fs::read_to_string(PINS).unwrap()).unwrap()
}

/// `$NCUGATE_TEST_NVCC`, else the one a user would get; in CI there must be one.
#[allow(clippy::print_stderr)]
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

/// What each of `kernels` uses on `arch`, in their order.
fn built(nvcc: &Nvcc, cache: &Path, arch: &str, kernels: &[&Pinned]) -> Vec<Result<Uses, String>> {
    let (cache, arch) = (Cache::at(cache).unwrap(), arch.parse::<Arch>().unwrap());
    let plan = Plan { variants: kernels.iter().map(|kernel| kernel.variant()).collect() };
    let builder = Builder::new(nvcc, &arch, &cache, Sharing::Each);
    let records = builder.build(&plan, &|_| {}, &mut |_| Ok(())).unwrap();
    assert_eq!(records.len(), kernels.len());
    let uses = |outcome| match outcome {
        BuildOutcome::Built { resources, .. } => Ok(Uses::from(resources)),
        other => Err(format!("{other:?}")),
    };
    records.into_iter().map(|record| uses(record.outcome)).collect()
}

#[test]
fn every_family_is_pinned() {
    let pinned: Vec<PathBuf> = pins().kernels.into_iter().map(|kernel| kernel.source).collect();
    let families = fs::read_dir("kernels").unwrap().map(|entry| entry.unwrap().path());
    let sources: Vec<PathBuf> = families
        .flat_map(|family| fs::read_dir(family).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .collect();
    assert!(!sources.is_empty());
    let missing: Vec<&PathBuf> = sources.iter().filter(|source| !pinned.contains(source)).collect();
    assert!(missing.is_empty(), "not in {PINS}: {missing:?}");
}

#[test]
#[allow(clippy::print_stderr)]
fn every_kernel_compiles_and_uses_what_is_pinned() {
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
