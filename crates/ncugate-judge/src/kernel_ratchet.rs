//! Compares the resources of a built library's kernels with a baseline. Both regressions and an outdated baseline are
//! reported.
//!
//! A ratchet in both directions. A kernel that uses more than its baseline fails. A kernel that uses less, is new or
//! was removed requires an updated baseline, so that an improvement cannot be lost unnoticed.

use ncugate_model::cubin::{CodeFeature, CubinError, DeviceCode, Entry, device_code};
use ncugate_model::occupancy::{Chip, Demand, theoretical};
use ncugate_model::{BuildOutcome, BuildRecord, ComputeCapability, Verdict, demangled};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Format version of the baseline.
const SCHEMA: u32 = 1;
/// Threads per block for a kernel without launch bounds.
const THREADS: u32 = 256;

/// Prefix of nvcc's name for a file's anonymous namespace; a hash that depends on the path follows.
const ANONYMOUS: &str = "_GLOBAL__N__";
/// Digits of the hash.
const HASH: usize = 8;

/// A name with each hash that nvcc derives from the path replaced by `x` characters of the same length, so that the
/// name can still be demangled.
///
/// The namespace is `_GLOBAL__N__<hash>_<length>_<file>_cu`, with a hash and a number appended if the file has no
/// symbol visible to the linker. Its length precedes the name.
fn lasting(name: &str) -> String {
    let mut out = name.to_owned();
    for (at, _) in name.match_indices(ANONYMOUS) {
        let before = &name[..at];
        let digits = &before[before.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
        let Some(part) = digits.parse::<usize>().ok().and_then(|length| name.get(at..at.checked_add(length)?)) else {
            continue;
        };
        let is_hash = |text: &str| text.len() == HASH && text.bytes().all(|b| b.is_ascii_hexdigit());
        let mut hide =
            |from: usize, length: usize| out.replace_range(at + from..at + from + length, &"x".repeat(length));
        if part.get(ANONYMOUS.len()..ANONYMOUS.len() + HASH).is_some_and(is_hash) {
            hide(ANONYMOUS.len(), HASH);
        }
        if let Some(end) = part.rfind("_cu_").map(|end| end + "_cu_".len())
            && part.get(end..end + HASH).is_some_and(is_hash)
        {
            hide(end, part.len() - end);
        }
    }
    out
}

/// A kernel for a chip: the key of a baseline's entries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LibraryKernel {
    /// Mangled name, with `x` in place of hashes that nvcc derives from the path.
    pub name: String,
    /// `sm_90`.
    pub arch: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelResources {
    /// Mangled name.
    pub name: String,
    /// `sm_90`.
    pub arch: String,
    /// Registers per thread.
    pub registers: u32,
    /// Stack frame in bytes per thread.
    pub stack: u32,
    /// Spill instructions, as marked by the compiler (CUDA 13 and later).
    pub spills: u32,
    /// Instructions that load from or store to local memory, including spills.
    pub local: u32,
    /// Static shared memory in bytes per block.
    pub shared: u32,
    /// Theoretical occupancy in percent, for a block of `threads`; `None` if the chip is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<f64>,
    /// Threads per block for the occupancy: those of the launch bounds, else 256.
    pub threads: u32,
    /// The resources that limit the occupancy. Neither these nor features are in a baseline.
    #[serde(skip_deserializing)]
    pub limiters: Vec<&'static str>,
    /// What the machine code uses of its architecture.
    #[serde(skip_deserializing)]
    pub features: Vec<CodeFeature>,
}

/// The contents of a library.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LibraryResources {
    /// Kernels, by name and chip. For several copies of a kernel in one file, the maximum of each resource.
    pub kernels: Vec<KernelResources>,
    /// PTX entries, whose resources the driver's compiler decides.
    pub ptx: usize,
    /// Kernels that are there as PTX, by their mangled names.
    pub ptx_kernels: BTreeSet<String>,
    /// Entries that are neither machine code nor PTX.
    pub other: usize,
    /// Machine code entries.
    pub cubins: usize,
}

/// Reads the resources of every kernel in these entries, or only of those for `archs`, if there are any.
///
/// # Errors
/// A machine code entry is damaged.
pub fn library_use(code: &[DeviceCode<'_>], archs: &[ComputeCapability]) -> Result<LibraryResources, CubinError> {
    let wanted = |capability: ComputeCapability| archs.is_empty() || archs.contains(&capability);
    let cubins: Vec<(ComputeCapability, &[u8])> = code
        .iter()
        .filter_map(|code| match code {
            DeviceCode::Cubin { capability, bytes } if wanted(*capability) => Some((*capability, bytes.as_ref())),
            DeviceCode::Cubin { .. } | DeviceCode::Ptx { .. } | DeviceCode::Other { .. } => None,
        })
        .collect();
    let read = cubins
        .par_iter()
        .map(|(capability, bytes)| Ok((*capability, Entry::all(bytes, *capability)?)))
        .collect::<Result<Vec<_>, CubinError>>()?;
    let ptx = code.iter().filter(|code| matches!(code, DeviceCode::Ptx { .. })).count();
    let other = code.iter().filter(|code| matches!(code, DeviceCode::Other { .. })).count();
    let ptx_kernels = code.iter().flat_map(|code| match code {
        DeviceCode::Ptx { kernels, .. } => kernels.as_slice(),
        DeviceCode::Cubin { .. } | DeviceCode::Other { .. } => &[],
    });
    let ptx_kernels = ptx_kernels.map(|name| lasting(name)).collect();
    let mut library = LibraryResources { kernels: Vec::new(), ptx, ptx_kernels, other, cubins: cubins.len() };
    library
        .take(read.iter().flat_map(|(capability, entries)| {
            entries.iter().map(move |entry| KernelResources::of(entry, *capability))
        }));
    Ok(library)
}

impl LibraryResources {
    /// Adds the contents of another file.
    pub fn add(&mut self, other: Self) {
        self.ptx += other.ptx;
        self.ptx_kernels.extend(other.ptx_kernels);
        self.other += other.other;
        self.cubins += other.cubins;
        self.take(other.kernels.into_iter());
    }

    /// Adds kernels; for copies of one kernel, keeps the maximum of each resource.
    fn take(&mut self, found: impl Iterator<Item = KernelResources>) {
        let mut kernels: BTreeMap<LibraryKernel, KernelResources> = BTreeMap::new();
        for kernel in std::mem::take(&mut self.kernels).into_iter().chain(found) {
            let key = LibraryKernel { name: kernel.name.clone(), arch: kernel.arch.clone() };
            match kernels.get_mut(&key) {
                Some(known) => known.raise(&kernel),
                None => drop(kernels.insert(key, kernel)),
            }
        }
        self.kernels = kernels.into_values().collect();
    }
}

impl KernelResources {
    /// Those of a kernel in a cubin.
    pub fn of(entry: &Entry, capability: ComputeCapability) -> Self {
        let threads = entry.required_block.map(|dims| dims.iter().product()).or(entry.max_threads).unwrap_or(THREADS);
        let demand = Demand {
            registers: entry.resources.registers,
            static_shared: entry.resources.static_shared,
            dynamic_shared: 0,
            threads,
            barriers: entry.resources.barriers,
        };
        let occupancy = Chip::of(capability).map(|chip| theoretical(&chip, &demand, None));
        Self {
            name: lasting(&entry.symbol),
            arch: format!("sm_{}{}", capability.major, capability.minor),
            registers: entry.resources.registers,
            stack: entry.resources.stack,
            spills: entry.resources.spills,
            local: entry.local.instructions,
            shared: entry.resources.static_shared,
            // Two digits, as in the baseline.
            occupancy: occupancy.as_ref().map(|occupancy| (occupancy.percent * 100.0).round() / 100.0),
            threads,
            limiters: occupancy.map_or_else(Vec::new, |known| known.limiters.iter().map(|by| by.name()).collect()),
            features: entry.features.clone(),
        }
    }

    /// Those of a variant's kernels together; none if it is not built, or if its code is gone.
    pub fn of_variant(build: &BuildRecord, capability: ComputeCapability) -> Option<Self> {
        let BuildOutcome::Built { cubin, resources, .. } = &build.outcome else { return None };
        let bytes = std::fs::read(cubin).ok()?;
        let kernels = library_use(&device_code(&bytes).ok()?, &[capability]).ok()?.kernels;
        let known = Self::together(kernels)?;
        let (registers, spills, shared) = (resources.registers, resources.spills, resources.static_shared);
        Some(Self { name: build.variant.to_string(), registers, spills, shared, ..known })
    }

    /// Those of kernels that are launched together: the most local memory, and what any of them uses, once.
    fn together(kernels: Vec<Self>) -> Option<Self> {
        let mut all = kernels.into_iter().reduce(|mut all, kernel| {
            all.features.extend(kernel.features);
            all.local = all.local.max(kernel.local);
            all
        })?;
        all.features.sort_unstable();
        all.features.dedup();
        Some(all)
    }

    /// Raises each resource to that of another copy, if larger.
    fn raise(&mut self, other: &Self) {
        self.registers = self.registers.max(other.registers);
        self.stack = self.stack.max(other.stack);
        self.spills = self.spills.max(other.spills);
        self.local = self.local.max(other.local);
        self.shared = self.shared.max(other.shared);
        if let (Some(ours), Some(theirs)) = (&mut self.occupancy, other.occupancy) {
            *ours = ours.min(theirs);
        }
        // What every copy uses.
        self.features.retain(|feature| other.features.contains(feature));
    }

    /// The name for display.
    pub fn title(&self) -> String {
        demangled(&self.name)
    }

    /// Differences from a baseline: regressions, then improvements.
    fn differences(&self, before: &Self) -> (Vec<String>, Vec<String>) {
        let (mut worse, mut better) = (Vec::new(), Vec::new());
        let counts = [
            ("registers", before.registers, self.registers),
            ("stack bytes", before.stack, self.stack),
            ("spill instructions", before.spills, self.spills),
            ("local memory instructions", before.local, self.local),
            ("shared memory bytes", before.shared, self.shared),
        ];
        for (what, before, now) in counts {
            match now.cmp(&before) {
                std::cmp::Ordering::Greater => worse.push(format!("{what} {before} -> {now}")),
                std::cmp::Ordering::Less => better.push(format!("{what} {before} -> {now}")),
                std::cmp::Ordering::Equal => {}
            }
        }
        if self.threads != before.threads {
            // Occupancies for different block sizes are not comparable.
            worse.push(format!("threads of a block {} -> {}", before.threads, self.threads));
        } else if let (Some(before), Some(now)) = (before.occupancy, self.occupancy) {
            let change = format!("occupancy {before} % -> {now} %");
            if now < before - 0.005 {
                worse.push(change);
            } else if now > before + 0.005 {
                better.push(change);
            }
        } else if before.occupancy.is_some() != self.occupancy.is_some() {
            worse.push("occupancy is known on only one side".to_owned());
        }
        (worse, better)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelChange {
    /// The kernel for display.
    pub kernel: String,
    /// `sm_90`.
    pub arch: String,
    /// The changes, one per resource.
    pub changes: Vec<String>,
}

/// A library compared with its baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RatchetResult {
    /// Fail if a kernel uses more; inconclusive if the baseline does not match the library or nothing was compared;
    /// else pass.
    pub verdict: Verdict,
    pub compared: usize,
    /// Kernels that use more of any resource.
    pub worse: Vec<KernelChange>,
    /// Kernels that use less of some resource and more of no resource.
    pub better: Vec<KernelChange>,
    /// Kernels missing from the baseline.
    pub new: Vec<KernelChange>,
    /// Kernels of the baseline that the library no longer has.
    pub gone: Vec<KernelChange>,
}

/// Compares a library with its baseline.
pub fn ratchet(now: &LibraryResources, baseline: &Baseline) -> RatchetResult {
    let key = |kernel: &KernelResources| LibraryKernel { name: kernel.name.clone(), arch: kernel.arch.clone() };
    let before: BTreeMap<LibraryKernel, &KernelResources> =
        baseline.kernel.iter().map(|kernel| (key(kernel), kernel)).collect();
    let after: BTreeMap<LibraryKernel, &KernelResources> =
        now.kernels.iter().map(|kernel| (key(kernel), kernel)).collect();
    let change =
        |kernel: &KernelResources, changes| KernelChange { kernel: kernel.title(), arch: kernel.arch.clone(), changes };
    let mut result = RatchetResult {
        verdict: Verdict::Inconclusive,
        compared: 0,
        worse: Vec::new(),
        better: Vec::new(),
        new: after.iter().filter(|(key, _)| !before.contains_key(key)).map(|(_, k)| change(k, Vec::new())).collect(),
        gone: before.iter().filter(|(key, _)| !after.contains_key(key)).map(|(_, k)| change(k, Vec::new())).collect(),
    };
    for (key, kernel) in &after {
        let Some(before) = before.get(key) else { continue };
        result.compared += 1;
        let (worse, better) = kernel.differences(before);
        if !worse.is_empty() {
            result.worse.push(change(kernel, worse.into_iter().chain(better).collect()));
        } else if !better.is_empty() {
            result.better.push(change(kernel, better));
        }
    }
    let as_it_was = result.better.is_empty() && result.new.is_empty() && result.gone.is_empty();
    result.verdict = match (result.worse.is_empty(), as_it_was && result.compared > 0) {
        (false, _) => Verdict::Fail,
        (true, true) => Verdict::Pass,
        (true, false) => Verdict::Inconclusive,
    };
    result
}

/// The file that a library is compared with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Format version.
    pub schema: u32,
    #[serde(default)]
    pub kernel: Vec<KernelResources>,
}

/// Why a baseline cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// The file is not TOML of this format.
    #[error("cannot read the baseline: {0}")]
    Damaged(String),
    /// Another version wrote the file.
    #[error("the baseline has format {0}, but this program reads format {SCHEMA}; rewrite it with --update")]
    Form(u32),
    #[error("the baseline lists the kernel `{0}` twice")]
    Twice(String),
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// The text is not a baseline of this format.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let baseline: Self = toml::from_str(text).map_err(|error| BaselineError::Damaged(error.to_string()))?;
        if baseline.schema != SCHEMA {
            return Err(BaselineError::Form(baseline.schema));
        }
        let mut seen = std::collections::HashSet::new();
        match baseline.kernel.iter().find(|kernel| !seen.insert((&kernel.name, &kernel.arch))) {
            Some(twice) => Err(BaselineError::Twice(twice.name.clone())),
            None => Ok(baseline),
        }
    }

    /// The baseline of a library as a file: one line per kernel and resource, so that a review shows the changes.
    pub fn write(library: &LibraryResources) -> String {
        let mut out = format!(
            "# Resource use of a library's kernels. Written by `ncugate check LIBRARY --baseline FILE --update`.\nschema = {SCHEMA}\n"
        );
        for kernel in &library.kernels {
            // A JSON string is a basic string of TOML.
            let name = serde_json::Value::from(kernel.name.as_str());
            let title = kernel.title().replace(|c: char| c.is_control(), " ");
            let _ = write!(
                out,
                "\n[[kernel]] # {title}\nname = {name}\narch = \"{}\"\nregisters = {}\nstack = {}\nspills = {}\nlocal = {}\nshared = {}\n",
                kernel.arch, kernel.registers, kernel.stack, kernel.spills, kernel.local, kernel.shared
            );
            if let Some(occupancy) = kernel.occupancy {
                let _ = writeln!(out, "occupancy = {occupancy:?}");
            }
            let _ = writeln!(out, "threads = {}", kernel.threads);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, registers: u32) -> KernelResources {
        KernelResources {
            name: name.to_owned(),
            arch: "sm_90".to_owned(),
            registers,
            stack: 0,
            spills: 0,
            local: 0,
            shared: 1024,
            occupancy: Some(37.5),
            threads: 256,
            limiters: Vec::new(),
            features: Vec::new(),
        }
    }

    fn library(kernels: &[KernelResources]) -> LibraryResources {
        LibraryResources { kernels: kernels.to_vec(), cubins: 1, ..LibraryResources::default() }
    }

    fn baseline(kernels: &[KernelResources]) -> Baseline {
        Baseline::parse(&Baseline::write(&library(kernels))).unwrap()
    }

    #[test]
    fn the_same_library_passes_and_a_baseline_reads_as_it_was_written() {
        let kernels = [kernel("a\"\\b", 64), kernel("_Z1bv", 32)];
        let result = ratchet(&library(&kernels), &baseline(&kernels));
        assert_eq!((result.verdict, result.compared), (Verdict::Pass, 2));
        assert_eq!(baseline(&kernels).kernel, kernels);
    }

    #[test]
    fn worse_fails_and_everything_else_that_differs_asks_for_an_update() {
        let before = baseline(&[kernel("a", 64)]);
        let judged = |kernels: &[KernelResources]| ratchet(&library(kernels), &before);
        assert_eq!(judged(&[kernel("a", 65)]).verdict, Verdict::Fail);
        assert_eq!(judged(&[kernel("a", 65)]).worse[0].changes, ["registers 64 -> 65"]);
        assert_eq!(judged(&[kernel("a", 63)]).verdict, Verdict::Inconclusive);
        assert_eq!(judged(&[kernel("a", 64), kernel("b", 1)]).new.len(), 1);
        assert_eq!(judged(&[kernel("a", 64), kernel("b", 1)]).verdict, Verdict::Inconclusive);
        assert_eq!(judged(&[kernel("b", 1)]).gone.len(), 1);
        assert_eq!(judged(&[]).verdict, Verdict::Inconclusive, "nothing to compare is not a pass");
        assert_eq!(ratchet(&library(&[]), &baseline(&[])).verdict, Verdict::Inconclusive);
        let spills = KernelResources { registers: 32, spills: 3, ..kernel("a", 64) };
        assert_eq!(judged(&[spills]).verdict, Verdict::Fail, "fewer registers do not make up for spills");
        let emptier = KernelResources { occupancy: Some(25.0), ..kernel("a", 64) };
        assert_eq!(judged(&[emptier]).verdict, Verdict::Fail);
        let unknown = KernelResources { occupancy: None, ..kernel("a", 64) };
        assert_eq!(judged(&[unknown]).verdict, Verdict::Fail);
    }

    #[test]
    fn kernels_that_are_launched_together_name_each_feature_once() {
        use CodeFeature::{AsyncCopy, WarpMatrix};
        let [one, other] = [vec![WarpMatrix], vec![AsyncCopy, WarpMatrix]].map(|features| {
            let local = features.len() as u32;
            KernelResources { features, local, ..kernel("a", 64) }
        });
        let all = KernelResources::together(vec![one, other]).unwrap();
        assert_eq!((all.features, all.local), (vec![WarpMatrix, AsyncCopy], 2));
        assert!(KernelResources::together(Vec::new()).is_none());
    }

    #[test]
    fn a_baseline_of_another_form_or_with_a_kernel_twice_is_refused() {
        assert!(matches!(Baseline::parse("schema = 2"), Err(BaselineError::Form(2))));
        assert!(matches!(Baseline::parse("schema = 1\n[[kernel]]\nname = 'a'"), Err(BaselineError::Damaged(_))));
        let twice = Baseline::write(&library(&[kernel("a", 1), kernel("a", 2)]));
        assert!(matches!(Baseline::parse(&twice), Err(BaselineError::Twice(_))));
    }

    #[test]
    fn made_up_parts_of_names_are_left_out() {
        let named = lasting("_ZN35_GLOBAL__N__06052820_4_k_cu_bounded6hiddenEPf");
        assert_eq!(named, "_ZN35_GLOBAL__N__xxxxxxxx_4_k_cu_bounded6hiddenEPf");
        assert!(demangled(&named).contains("hidden(float*)"), "{}", demangled(&named));
        let made = "_ZN40_GLOBAL__N__0a1b2c3d_4_k_cu_9f8e7d6c_1236hiddenEPf";
        assert_eq!(lasting(made), "_ZN40_GLOBAL__N__xxxxxxxx_4_k_cu_xxxxxxxxxxxx6hiddenEPf");
        assert!(demangled(&lasting(made)).contains("hidden(float*)"), "{}", demangled(&lasting(made)));
        assert_eq!(lasting("9999_GLOBAL__N__0a1b2c3d"), "9999_GLOBAL__N__0a1b2c3d", "a length that the name has not");
        assert_eq!(lasting("_Z5scaleILi4EEvPff"), "_Z5scaleILi4EEvPff");
    }
}
