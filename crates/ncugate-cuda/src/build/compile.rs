//! Builds all variants of a plan in parallel; each distinct compilation runs once.

use super::absent_headers::SearchFolders;
use super::arch::Arch;
use super::budget::shared_arrays;
use super::build_work::{BuildWork, PlannedHost, UnitWork, Units, sorted};
use super::cache::{Artifact, Cache, CacheInputs, CompilerOutput, MAX_CODE, MAX_SOURCE, prerequisites};
use super::error::{BuildError, CompileFault};
use super::growth::note_growth;
use super::message::{budget_line, message, relative, too_much_shared, unlinked, unreadable};
use super::nvcc::{CompileUnit, Nvcc};
use super::package_headers::PackageHeaders;
use super::ptx_module::PtxModule;
use super::{compiler_environment, host_unit, ptxas};
use crate::python_environment::PythonEnvironment;
use indexmap::{IndexMap, IndexSet};
use ncugate_model::cubin::variables;
use ncugate_model::cubin::{CubinError, DeviceCode, Entry, ParameterField, device_code, parameter_fields, symbol};
use ncugate_model::digest::Digest;
use ncugate_model::disk::open;
use ncugate_model::occupancy::Chip;
use ncugate_model::process::{self, ProcessExit};
use ncugate_model::{BuildOutcome, BuildRecord, CompiledLaunch, EntryResources, EntrySymbols, Resources};
use ncugate_phase::config::{CodeForm, Phase, Toolchain, WorkloadReference};
use ncugate_phase::plan::{
    Arg, KernelLaunch, KernelPlan, Launchable, Plan, ShapeProgram, SharedArray, SourceFacts, Variant, launchable, twin,
};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime};

/// Time limit of one compilation.
const LIMIT: Duration = Duration::from_secs(900);

/// Whether variants with equal code and equal launches are measured once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deduplication {
    /// The first variant is measured, and the others share its results.
    Share,
    Each,
}

/// The files that a source may include.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncludeScope {
    Anywhere,
    /// Those of the working directory, which is the root of the project, of the toolkit and of the system. nvcc's message
    /// about any other file is withheld, because it quotes lines of it.
    Project,
}

/// Message instead of nvcc's about a source that includes a file outside the project, and about one that may do so.
const WITHHELD: &str = "nvcc's message is withheld, because the source may include a file outside the project, and the message \
    may quote it; run `ncugate check` yourself to read it";

/// Progress of a build, in variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildProgress {
    /// Variants with an outcome.
    pub done: usize,
    /// Variants of the plan.
    pub total: usize,
}

/// Builds the variants of a plan for one architecture.
#[derive(Debug)]
pub struct Builder<'a> {
    /// nvcc, as soon as something needs it.
    nvcc: OnceLock<Cow<'a, Nvcc>>,
    /// The program to look for as nvcc, if one is named.
    nvcc_name: Option<&'a Path>,
    pub(super) arch: &'a Arch,
    pub(super) cache: &'a Cache,
    sharing: Deduplication,
    include_scope: IncludeScope,
    /// Folders of [`Nvcc::own_folders`], once they were asked for.
    own_folders: OnceLock<Vec<PathBuf>>,
    /// The Python whose packages compile kernels.
    pub(super) python: PythonEnvironment,
    /// Source of the arguments of kernels in Python.
    pub(super) phase: Option<&'a Phase>,
    /// Versions of compilers other than nvcc.
    pub(super) software: Mutex<BTreeMap<String, String>>,
    /// Versions of nvcc and of other compilers, for each toolchain but the first.
    toolchains: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
    /// nvcc's error on an empty kernel, if any; determined after the first failure.
    trouble: OnceLock<Option<String>>,
    /// Files that were read, with their SHA-256.
    read: Mutex<BTreeMap<PathBuf, String>>,
    absent: Mutex<BTreeSet<PathBuf>>,
}

/// The result of a compilation: a cubin, or the compiler's message.
pub(super) type CompileResult = Result<Artifact, String>;

impl<'a> Builder<'a> {
    /// Compiles with `nvcc` for `arch` through `cache`. The limits of `arch` decide which variants are refused.
    pub fn new(nvcc: &'a Nvcc, arch: &'a Arch, cache: &'a Cache, sharing: Deduplication) -> Self {
        Self { nvcc: OnceLock::from(Cow::Borrowed(nvcc)), ..Self::finding(None, arch, cache, sharing) }
    }

    /// The same, but looks for nvcc, named `nvcc_name` or by [`Nvcc::find`]'s rules, only when something needs it. Given
    /// machine code, and kernels of Python compilers that make machine code, do not.
    pub fn finding(nvcc_name: Option<&'a Path>, arch: &'a Arch, cache: &'a Cache, sharing: Deduplication) -> Self {
        Self {
            nvcc: OnceLock::new(),
            nvcc_name,
            arch,
            cache,
            sharing,
            include_scope: IncludeScope::Anywhere,
            own_folders: OnceLock::new(),
            python: PythonEnvironment::default(),
            phase: None,
            software: Mutex::default(),
            toolchains: Mutex::default(),
            trouble: OnceLock::new(),
            read: Mutex::default(),
            absent: Mutex::default(),
        }
    }

    /// Sets the files that sources may include.
    #[must_use]
    pub const fn including(mut self, scope: IncludeScope) -> Self {
        self.include_scope = scope;
        self
    }

    /// Whether every file that nvcc read may be included.
    fn admits<'f>(&self, mut files: impl Iterator<Item = &'f Path>) -> bool {
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        let is_inside =
            |file: &Path| matches!((file.canonicalize(), &here), (Ok(real), Ok(here)) if real.starts_with(here));
        let is_admitted = |file: &Path| is_inside(file) || self.cache.holds(file) || self.is_own(file);
        self.include_scope == IncludeScope::Anywhere || files.all(is_admitted)
    }

    /// Whether a file is in a folder of the toolkit or the system.
    fn is_own(&self, file: &Path) -> bool {
        let found = || self.nvcc().map(Nvcc::own_folders).unwrap_or_default();
        let folders = self.own_folders.get_or_init(found);
        file.canonicalize().is_ok_and(|real| folders.iter().any(|folder| real.starts_with(folder)))
    }

    /// nvcc's message about `unit`, if it can quote no other files than those. `rule` is the list of the files that nvcc
    /// read; none if it did not get as far.
    fn disclosed(&self, unit: &CompileUnit, message: String, rule: Option<&str>) -> String {
        let includes_files = matches!(unit.code, CodeForm::Cuda | CodeForm::Host);
        let files = rule.map(prerequisites).unwrap_or_default();
        let is_known = !files.is_empty() && self.admits(files.iter().map(PathBuf::as_path));
        match self.include_scope == IncludeScope::Anywhere || !includes_files || is_known {
            true => message,
            false => WITHHELD.to_owned(),
        }
    }

    /// A command whose warnings quote no line: a `#line` can claim any file.
    fn unquoted(&self, mut command: Command) -> Command {
        if self.include_scope == IncludeScope::Project {
            command.args(["-Xcompiler", "-fno-diagnostics-show-caret"]);
        }
        command
    }

    /// The artifact, if it is of files that may be included.
    fn admitted(&self, artifact: Artifact) -> CompileResult {
        let is_admitted = self.admits(artifact.includes.keys().map(PathBuf::as_path));
        is_admitted.then_some(artifact).ok_or_else(|| WITHHELD.to_owned())
    }

    /// Sets the Python of a phase with the headers of its packages, and the source of the arguments of its kernels in Python.
    ///
    /// # Errors
    /// A package has no headers.
    pub fn with_python_of(mut self, phase: &'a Phase) -> Result<Self, BuildError> {
        self.python = PythonEnvironment::of(&phase.build);
        self.phase = Some(phase);
        if !phase.build.include.is_empty() {
            let headers = PackageHeaders::find(&phase.build.include, &self.python, self.cache)?;
            let software = self.software.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            software.extend(headers.versions.clone());
            self.nvcc = OnceLock::from(Cow::Owned(self.nvcc()?.with_headers(headers)));
        }
        Ok(self)
    }

    fn nvcc(&self) -> Result<&Nvcc, BuildError> {
        match self.nvcc.get() {
            Some(nvcc) => Ok(nvcc),
            None => {
                let found = Nvcc::find(self.nvcc_name)?;
                Ok(self.nvcc.get_or_init(|| Cow::Owned(found)))
            }
        }
    }

    /// The kernel of the candidates' source that computes the expected outputs, if one does.
    fn reference_entry(&self) -> Option<&'a str> {
        match &self.phase?.workload.reference {
            WorkloadReference::Entry { entry, .. } => Some(entry),
            WorkloadReference::Absent
            | WorkloadReference::Builtin { .. }
            | WorkloadReference::Program(_)
            | WorkloadReference::Npy { .. } => None,
        }
    }

    /// Versions of the compilers of a toolchain; none for the first and for a name that built nothing.
    pub fn toolchain_software(&self, name: &str) -> Option<BTreeMap<String, String>> {
        self.toolchains.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(name).cloned()
    }

    /// Versions of compilers other than nvcc; empty if nvcc was enough.
    pub fn software(&self) -> BTreeMap<String, String> {
        self.software.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Builds every variant. Records go to `sink` in the order of the plan, each as soon as it and all before it are known.
    /// `progress` is called for every variant immediately.
    pub fn build(
        &self,
        plan: &Plan,
        progress: &(dyn Fn(BuildProgress) + Sync),
        sink: &mut (dyn FnMut(&BuildRecord) -> io::Result<()> + Send),
    ) -> Result<Vec<BuildRecord>, BuildError> {
        let pool =
            rayon::ThreadPoolBuilder::new().build().map_err(|e| BuildError::Threads { reason: e.to_string() })?;
        let line = Mutex::new(OutcomeQueue {
            plan,
            phase: self.phase,
            sharing: self.sharing,
            waiting: vec![None; plan.variants.len()],
            out: Vec::new(),
            sink,
        });
        let done = |outcomes: Vec<(usize, BuildOutcome)>| -> Result<(), BuildError> {
            let mut line = line.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            for (index, outcome) in outcomes {
                line.waiting[index] = Some(outcome);
                line.advance()?;
                progress(BuildProgress { done: line.known(), total: plan.variants.len() });
            }
            Ok(())
        };
        let (first, others) = match self.phase.map(|phase| phase.toolchains.as_slice()).and_then(<[_]>::split_first) {
            Some((first, others)) => (Some(first), others),
            None => (None, &[][..]),
        };
        let is_other =
            |variant: &Variant| first.is_some_and(|first| variant.toolchain().is_some_and(|own| own != first.name));
        self.build_part(sorted(plan, self.arch, |variant| !is_other(variant)), &pool, &done)?;
        for toolchain in others {
            let builder = self.of(toolchain)?;
            let own = |variant: &Variant| variant.toolchain() == Some(toolchain.name.as_str());
            builder.build_part(sorted(plan, self.arch, own), &pool, &done)?;
            self.absorb(toolchain, builder);
        }
        Ok(line.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).out)
    }

    /// Builds the given variants, and passes the outcomes to `done`.
    fn build_part(
        &self,
        work: BuildWork<'_>,
        pool: &rayon::ThreadPool,
        done: &(dyn Fn(Vec<(usize, BuildOutcome)>) -> Result<(), BuildError> + Sync),
    ) -> Result<(), BuildError> {
        let BuildWork { known, units, cubins, python, hosts } = work;
        if !units.is_empty() || !hosts.is_empty() {
            self.nvcc()?;
        }
        done(known)?;
        for (index, kernel) in cubins {
            done(vec![(
                index,
                failed(self.outcome(None, kernel, &CompileFault::apart(self.given(&kernel.source))?))?,
            )])?;
        }
        std::thread::scope(|scope| {
            // One process compiles all kernels in Python, in parallel with nvcc.
            let by_python = scope.spawn(|| {
                self.compile_by_python(&python, &mut |index, kernel, attempt| {
                    done(vec![(index, failed(self.outcome(None, kernel, attempt))?)])
                })
            });
            let by_nvcc = pool.install(|| {
                hosts
                    .into_par_iter()
                    .try_for_each(|planned| done(vec![(planned.index, failed(self.host_outcome(&planned))?)]))?;
                let groups = self.grouped(units)?;
                groups.into_par_iter().try_for_each(|group| {
                    let (units, kernels): (Vec<_>, Vec<_>) = group.into_iter().unzip();
                    let attempts = self.compile_together(&units)?;
                    for ((unit, kernels), attempt) in units.iter().zip(kernels).zip(attempts) {
                        let outcome =
                            |(index, kernel)| Ok((index, failed(self.outcome(Some(unit), kernel, &attempt))?));
                        done(kernels.into_iter().map(outcome).collect::<Result<_, BuildError>>()?)?;
                    }
                    Ok(())
                })
            });
            let ended = || BuildError::Threads { reason: "the thread for Python kernels ended early".to_owned() };
            by_nvcc.and(by_python.join().unwrap_or_else(|_| Err(ended())))
        })
    }

    /// The builder with the programs of another toolchain.
    fn of(&self, toolchain: &Toolchain) -> Result<Self, BuildError> {
        let build = self.phase.map(|phase| phase.build.of(toolchain)).unwrap_or_default();
        let python = PythonEnvironment::of(&build);
        let headers = PackageHeaders::find(&build.include, &python, self.cache)
            .map_err(|error| error.of_toolchain(Some(&toolchain.name), "python"))?;
        let found = match &toolchain.nvcc {
            None => self.nvcc.get().map(|nvcc| nvcc.clone().into_owned()),
            Some(path) => {
                Some(Nvcc::find(Some(path)).map_err(|error| error.of_toolchain(Some(&toolchain.name), "nvcc"))?)
            }
        };
        let software = headers.versions.clone();
        let nvcc = OnceLock::new();
        if let Some(found) = found {
            drop(nvcc.set(Cow::Owned(found.with_headers(headers))));
        }
        Ok(Self {
            nvcc,
            python,
            include_scope: self.include_scope,
            phase: self.phase,
            software: Mutex::new(software),
            ..Self::finding(self.nvcc_name, self.arch, self.cache, self.sharing)
        })
    }

    /// Takes over what the builder of a toolchain read, and its versions.
    fn absorb(&self, toolchain: &Toolchain, other: Self) {
        self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(other.files_read());
        self.absent.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(other.absent_files());
        let nvcc = other.nvcc.get().map(|nvcc| ("nvcc".to_owned(), nvcc.version().to_owned()));
        let software = other.software().into_iter().chain(nvcc).collect();
        let mut toolchains = self.toolchains.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        toolchains.insert(toolchain.name.clone(), software);
    }

    /// Files that the compiler has read so far, with their SHA-256, without those of the toolkit and the system.
    pub fn files_read(&self) -> BTreeMap<PathBuf, String> {
        self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Paths without a file that the compiler would have read so far instead of another.
    pub fn absent_files(&self) -> BTreeSet<PathBuf> {
        self.absent.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// The units in groups that one compiler run serves: units that are not in the cache and differ in template instances
    /// alone. There are as many groups as processors, so that grouping costs no time.
    fn grouped<'k>(&self, units: Units<'k>) -> Result<Vec<Vec<UnitWork<'k>>>, BuildError> {
        if units.is_empty() {
            return Ok(Vec::new());
        }
        let nvcc = self.nvcc()?;
        let (mut lone, mut alike) = (Vec::new(), IndexMap::<_, Vec<UnitWork<'k>>>::new());
        for (unit, kernels) in units {
            let known =
                || Cache::inputs(&unit, self.arch, nvcc).is_ok_and(|inputs| self.cache.lookup(&inputs).is_some());
            if unit.entries.is_empty() || known() {
                lone.push(vec![(unit, kernels)]);
            } else {
                let rest = CompileUnit { entries: Vec::new(), ..unit.clone() };
                alike.entry(rest).or_default().push((unit, kernels));
            }
        }
        let threads = rayon::current_num_threads();
        for mut units in alike.into_values() {
            let size = units.len().div_ceil(threads);
            while !units.is_empty() {
                let rest = units.split_off(size.min(units.len()));
                lone.push(std::mem::replace(&mut units, rest));
            }
        }
        Ok(lone)
    }

    /// Compiles units that differ in their entries alone, and notes the files that were read.
    pub(super) fn compile_together(&self, units: &[CompileUnit]) -> Result<Vec<CompileResult>, BuildError> {
        let attempts = match units {
            [unit] if unit.entries.is_empty() => vec![CompileFault::apart(self.cached(unit))?],
            [unit] => vec![CompileFault::apart(self.named(unit))?],
            several => self.together(several)?,
        };
        let linked = units.first().map_or(&[][..], |unit| &unit.linked);
        let other = |source: &PathBuf| {
            let (source, entries, constants) = (source.clone(), Vec::new(), Vec::new());
            let unit = CompileUnit { source, entries, constants, ..units[0].clone() };
            Ok(self.admitted(self.cached(&unit)?)?)
        };
        let others = CompileFault::apart(linked.iter().map(other).collect::<Result<Vec<_>, CompileFault>>())?;
        let linked = |(unit, attempt): (&CompileUnit, CompileResult)| {
            let (artifact, others) = (self.admitted(attempt?)?, others.as_ref().map_err(String::clone)?);
            if unit.is_linked() { self.linked(unit, artifact, others) } else { Ok(artifact) }
        };
        let attempts = units.iter().zip(attempts).map(|attempt| CompileFault::apart(linked(attempt)));
        let attempts = attempts.collect::<Result<Vec<_>, _>>()?;
        attempts.iter().flatten().for_each(|artifact| self.note_read(artifact));
        Ok(attempts)
    }

    /// The machine code of the source of `unit`, linked with that of its other sources.
    fn linked(&self, unit: &CompileUnit, first: Artifact, others: &[Artifact]) -> Result<Artifact, CompileFault> {
        let parts: Vec<&Artifact> = std::iter::once(&first).chain(others).collect();
        let digest = Digest::default().part("link").part(self.nvcc()?.identity()).part(self.arch.to_string());
        let digest = digest.list(unit.flags.iter()).list(parts.iter().map(|part| &part.sha256));
        let inputs = Cache::key(digest.list(compiler_environment::variables().iter()));
        let linked = match self.cache.lookup(&inputs) {
            Some(artifact) => artifact,
            None => {
                let (cubin, started) = (self.cache.temporary(), SystemTime::now());
                let files: Vec<&Path> = parts.iter().map(|part| part.cubin.as_path()).collect();
                let printed = self.run(&mut self.nvcc()?.link(unit, &files, self.arch, &cubin));
                let log = CompileFault::apart(printed)?.map_err(|message| {
                    let _ = fs::remove_file(&cubin);
                    let sources = std::iter::once(&unit.source).chain(&unit.linked);
                    let hashes = parts.iter().map(|part| part.sha256.as_str());
                    unlinked(&message, &hashes.zip(sources).collect::<Vec<_>>())
                })?;
                let (read, symbols) = ((Vec::new(), Some(BTreeSet::new())), EntrySymbols::default());
                self.stored(&inputs, CompilerOutput::of_nvcc(&cubin, read, log, symbols, started))?
            }
        };
        Ok(Artifact {
            log: parts.iter().map(|part| part.log.as_str()).chain([linked.log.as_str()]).collect(),
            cached: linked.cached && parts.iter().all(|part| part.cached),
            includes: parts.iter().flat_map(|part| part.includes.clone()).collect(),
            absent: parts.iter().flat_map(|part| part.absent.clone()).collect(),
            symbols: first.symbols.clone(),
            launch: first.launch.clone(),
            ..linked
        })
    }

    /// One compilation for several units. If it fails, each is compiled alone, so that each has its own message.
    fn together(&self, units: &[CompileUnit]) -> Result<Vec<CompileResult>, BuildError> {
        let mut union = units[0].clone();
        union.entries =
            units.iter().flat_map(|unit| &unit.entries).collect::<IndexSet<_>>().into_iter().cloned().collect();
        match CompileFault::apart(self.intermediate(&union))? {
            Ok(module) => units.iter().map(|unit| CompileFault::apart(self.cubin_of(unit, &module))).collect(),
            Err(_) => units.iter().map(|unit| CompileFault::apart(self.named(unit))).collect(),
        }
    }

    /// A unit whose symbols the compiler is asked for. If it cannot find an entry as written (a namespace can be missing), the
    /// source as it is may still have the kernel.
    fn named(&self, unit: &CompileUnit) -> Result<Artifact, CompileFault> {
        if let Some(artifact) = self.inputs(unit).ok().and_then(|inputs| self.cache.lookup(&inputs)) {
            return Ok(artifact);
        }
        let message = match CompileFault::apart(self.intermediate(unit))? {
            Ok(module) => return self.cubin_of(unit, &module),
            Err(message) if !unit.constants.is_empty() => return Err(message.into()),
            Err(message) => message,
        };
        let as_it_is = CompileFault::apart(self.cached(&CompileUnit { entries: Vec::new(), ..unit.clone() }))?;
        let has_all = |artifact: &Artifact| unit.entries.iter().all(|entry| symbol(&artifact.bytes, entry).is_ok());
        as_it_is.ok().filter(has_all).ok_or(message.into())
    }

    /// The key of a unit in the cache.
    fn inputs(&self, unit: &CompileUnit) -> Result<CacheInputs, CompileFault> {
        Ok(Cache::inputs(unit, self.arch, self.nvcc()?).map_err(|e| unreadable(&unit.source, &e))?)
    }

    /// The PTX of a unit, with the symbols of its entries.
    fn intermediate(&self, unit: &CompileUnit) -> Result<PtxModule, CompileFault> {
        open::named(&unit.source, MAX_SOURCE).map_err(|e| unreadable(&unit.source, &e))?;
        let (ptx, rule) = (self.cache.temporary(), self.cache.temporary());
        let file = self.cache.translation_unit(unit)?;
        let started = SystemTime::now();
        let printed = self.run(&mut self.unquoted(self.nvcc()?.to_ptx(unit, &file, self.arch, &ptx, &rule)));
        let read = |path: &Path| {
            let text = fs::read_to_string(path).map_err(|source| BuildError::Cache { path: path.to_owned(), source });
            let _ = fs::remove_file(path);
            text
        };
        let (text, rule) = (read(&ptx), read(&rule));
        let names = [&unit.entries[..], &unit.constants].concat();
        let disclosed = |message| self.disclosed(unit, message, rule.as_deref().ok());
        let log = printed.map_err(|fault| self.blamed(fault, disclosed))?;
        let read = self.read_by(unit, &rule?)?;
        match self.admits(read.0.iter().map(PathBuf::as_path)) {
            true => Ok(PtxModule::of(&text?, &names, read, log, started)),
            false => Err(WITHHELD.to_owned().into()),
        }
    }

    /// The machine code of the entries of `unit`, from PTX that has them.
    fn cubin_of(&self, unit: &CompileUnit, module: &PtxModule) -> Result<Artifact, CompileFault> {
        let inputs = self.inputs(unit)?;
        let symbol = |entry: &String| Ok((entry.clone(), module.symbol(entry).map_err(|e| e.to_string())?));
        let mut symbols = EntrySymbols(unit.entries.iter().map(symbol).collect::<Result<_, String>>()?);
        let constants = unit.constants.iter().map(|name| Ok((name.clone(), module.constant(name)?)));
        let constants = constants.collect::<Result<BTreeMap<_, _>, String>>()?;
        let reference = self.reference_entry().and_then(|entry| module.symbol(entry).ok());
        let names: Vec<&str> = symbols.0.values().chain(&reference).map(String::as_str).collect();
        let cubin = self.cache.temporary();
        let ptx = cubin.with_extension("ptx");
        fs::write(&ptx, &module.text).map_err(|source| BuildError::Cache { path: ptx.clone(), source })?;
        let printed = self.run(&mut self.nvcc()?.assemble(unit, &ptx, self.arch, &cubin, &names));
        let printed = printed.map_err(|fault| {
            [&cubin, &ptx].map(fs::remove_file).into_iter().for_each(drop);
            self.blamed(fault, |message| message)
        });
        let log = format!("{}{}", module.log, printed?);
        symbols.0.retain(|entry, symbol| entry != symbol);
        let (includes, absent, started) = (module.includes.clone(), module.absent.clone(), module.started);
        let launch = (!constants.is_empty()).then_some(CompiledLaunch::Constants { constants });
        let compiled = CompilerOutput::of_nvcc(&cubin, (includes, absent), log, symbols, started);
        self.stored(&inputs, CompilerOutput { launch, ..compiled })
    }

    /// Notes the files that an artifact is made of.
    pub(super) fn note_read(&self, artifact: &Artifact) {
        let mut read = self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A generated translation unit is in the cache, and adds no information to the plan.
        let theirs = artifact.includes.iter().filter(|(path, _)| !self.cache.holds(path));
        read.extend(theirs.map(|(path, hash)| (path.clone(), hash.clone())));
        self.absent.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(artifact.absent.iter().cloned());
    }

    /// Machine code that was compiled elsewhere, copied into the cache so that it cannot change.
    fn given(&self, path: &Path) -> Result<Artifact, CompileFault> {
        let bytes = open::named(path, MAX_CODE).map_err(|error| unreadable(path, &error))?;
        let artifact = self.cache.keep(path, bytes)?;
        self.note_read(&artifact);
        Ok(artifact)
    }

    /// The cached result, or nvcc's, which is then cached.
    pub(super) fn cached(&self, unit: &CompileUnit) -> Result<Artifact, CompileFault> {
        let inputs = self.inputs(unit)?;
        if let Some(artifact) = self.cache.lookup(&inputs) {
            return Ok(artifact);
        }
        let (cubin, rule) = (self.cache.temporary(), self.cache.temporary());
        let file = self.cache.translation_unit(unit)?;
        let started = SystemTime::now();
        let kept = self.cache.temporary();
        let _ = fs::create_dir(&kept);
        let mut command = self.nvcc()?.to_cubin(unit, &file, self.arch, &cubin, &rule);
        if unit.code == CodeForm::Cuda {
            command.arg("--keep").arg("--keep-dir").arg(&kept);
        }
        let printed = self.run(&mut self.unquoted(command));
        let files = fs::read_dir(&kept).into_iter().flatten().flatten().map(|file| file.path());
        if let Some(ptx) = files.into_iter().find(|file| file.extension().is_some_and(|ending| ending == "ptx")) {
            let _ = fs::rename(ptx, cubin.with_extension("ptx"));
        }
        let _ = fs::remove_dir_all(&kept);
        let includes = match unit.code {
            CodeForm::Cuda | CodeForm::Host => fs::read_to_string(&rule),
            CodeForm::Ptx | CodeForm::Cubin | CodeForm::Python => Ok(String::new()),
        };
        let _ = fs::remove_file(&rule);
        let log = printed.map_err(|fault| {
            [cubin.clone(), cubin.with_extension("ptx")].map(fs::remove_file).into_iter().for_each(drop);
            self.blamed(fault, |message| self.disclosed(unit, message, includes.as_deref().ok()))
        })?;
        let rule = includes.map_err(|source| BuildError::Cache { path: rule, source })?;
        let read = self.read_by(unit, &rule)?;
        self.stored(&inputs, CompilerOutput::of_nvcc(&cubin, read, log, EntrySymbols::default(), started))
    }

    /// The files of a make rule that nvcc's version does not stand for.
    fn includes(&self, rule: &str) -> Result<Vec<PathBuf>, BuildError> {
        let nvcc = self.nvcc()?;
        let is_left_out = |file: &PathBuf| match self.include_scope {
            IncludeScope::Anywhere => nvcc.stands_for(file),
            // A script that starts nvcc may be anywhere, for example in the user's home.
            IncludeScope::Project => nvcc.stands_for(file) && self.is_own(file),
        };
        Ok(prerequisites(rule).into_iter().filter(|file| !is_left_out(file)).collect())
    }

    /// The files of a make rule that nvcc's version does not stand for, and the headers whose addition would change the
    /// compilation; `None` if they cannot be known.
    fn read_by(&self, unit: &CompileUnit, rule: &str) -> Result<(Vec<PathBuf>, Option<BTreeSet<PathBuf>>), BuildError> {
        let (files, mut includes) = (prerequisites(rule), self.includes(rule)?);
        if files.is_empty() {
            return Ok((includes, Some(BTreeSet::new())));
        }
        let nvcc = self.nvcc()?;
        let is_ours = |file: &Path| !nvcc.stands_for(file);
        let Some(sought) = SearchFolders::of(unit, nvcc).sought(&files, &self.cache.directives, is_ours) else {
            return Ok((includes, None));
        };
        let unread = sought.tested.into_iter().filter(|file| !files.contains(file));
        includes.extend(unread.collect::<Vec<_>>());
        Ok((includes, Some(sought.absent)))
    }

    pub(super) fn stored(&self, inputs: &CacheInputs, compiled: CompilerOutput<'_>) -> Result<Artifact, CompileFault> {
        let cubin = compiled.cubin;
        self.cache.store(inputs, compiled).inspect_err(|_| drop(fs::remove_file(cubin)))
    }

    /// Attributes a failed compilation to the variant, unless nvcc cannot compile an empty kernel for the architecture either:
    /// then the machine is at fault. `shown` is what of the message may be seen.
    fn blamed(&self, fault: CompileFault, shown: impl FnOnce(String) -> String) -> CompileFault {
        match fault {
            CompileFault::OfVariant(message) => {
                self.is_able().map_or_else(CompileFault::from, |()| shown(message).into())
            }
            CompileFault::Build(_) => fault,
        }
    }

    /// Fails if nvcc cannot compile an empty kernel.
    fn is_able(&self) -> Result<(), BuildError> {
        let trouble = match self.trouble.get() {
            Some(known) => known.clone(),
            None => {
                let (source, cubin) = (self.cache.temporary(), self.cache.temporary());
                fs::write(&source, "extern \"C\" __global__ void empty() {}\n")
                    .map_err(|e| BuildError::Cache { path: source.clone(), source: e })?;
                let flags = vec!["-x".to_owned(), "cu".to_owned()];
                let unit = CompileUnit { source, flags, ..CompileUnit::default() };
                let printed = self.run(&mut self.nvcc()?.to_cubin(
                    &unit,
                    &unit.source,
                    self.arch,
                    &cubin,
                    Path::new("/dev/null"),
                ));
                let _ = fs::remove_file(&unit.source);
                let _ = fs::remove_file(&cubin);
                let said = CompileFault::apart(printed)?.err();
                self.trouble.get_or_init(|| said).clone()
            }
        };
        let Some(said) = trouble else { return Ok(()) };
        let reason = format!("it does not compile an empty kernel for {}: {said}", self.arch);
        Err(BuildError::Unusable { path: self.nvcc()?.path().to_owned(), reason })
    }

    /// nvcc's output.
    fn run(&self, command: &mut Command) -> Result<String, CompileFault> {
        if process::interrupted() {
            return Err(BuildError::Interrupted.into());
        }
        let output = process::run_whole(command, LIMIT)
            .map_err(|source| BuildError::Start { path: command.get_program().into(), source })?;
        let printed = format!("{}{}", output.stdout, output.stderr);
        match output.ending {
            ProcessExit::Completed => Ok(printed),
            ProcessExit::Interrupted => Err(BuildError::Interrupted.into()),
            ProcessExit::NonZero(_) | ProcessExit::Signaled(_) | ProcessExit::TimedOut => {
                Err(message(&printed, output.ending).into())
            }
        }
    }

    /// The outcome of a variant's compilation.
    ///
    /// `unit` is the unit that nvcc compiled, if any.
    fn outcome(
        &self,
        unit: Option<&CompileUnit>,
        kernel: &KernelPlan,
        attempt: &CompileResult,
    ) -> Result<BuildOutcome, CompileFault> {
        let artifact = match (attempt, unit) {
            (Ok(artifact), _) => artifact,
            (Err(message), Some(unit)) => return Err(self.explained(unit, message)?.into()),
            (Err(message), None) => return Err(message.clone().into()),
        };
        let of_source = |reason: &dyn Display| format!("{}: {reason}", kernel.source.display());
        let entries = self.entries(kernel, artifact).map_err(|e| of_source(&e))?;
        let resources = entries.iter().map(|(_, entry)| entry.resources).reduce(Resources::combine);
        let resources = resources.ok_or_else(|| of_source(&"nothing is launched"))?;
        let chip = Chip::of(self.arch.capability());
        let arrays =
            |entry: &Entry| unit.map_or_else(Vec::new, |unit| self.arrays(unit, &entry.symbol).unwrap_or_default());
        let fields = |entry: &Entry, at: usize| {
            unit.map_or_else(Vec::new, |unit| self.fields(unit, &entry.symbol, at).unwrap_or_default())
        };
        let facts = SourceFacts { arrays: &arrays, fields: &fields };
        let launch = artifact.launch.as_ref().map(|launch| fitted(launch, kernel, &entries));
        let programs: Vec<ShapeProgram> =
            kernel.programs.iter().map(|program| program.compiled_as(launch.as_ref())).collect();
        let variables = variables(&artifact.bytes).map_err(|e| of_source(&e))?;
        let left_out = match launchable(chip.as_ref(), &entries, &programs, &variables, &facts) {
            Launchable::Nowhere(reasons) => {
                return Ok(BuildOutcome::Refused { reasons, resources: Some(resources) });
            }
            Launchable::But(left_out) => left_out,
        };
        let named =
            |(name, entry): &(&str, Entry)| EntryResources { entry: (*name).to_owned(), resources: entry.resources };
        Ok(BuildOutcome::Built {
            cubin: artifact.cubin.clone(),
            cubin_sha256: artifact.sha256.clone(),
            code_sha256: code(kernel, &entries),
            resources,
            symbols: named_symbols(&entries),
            entries: if entries.len() > 1 { entries.iter().map(named).collect() } else { Vec::new() },
            arch: self.arch.to_string(),
            cached: artifact.cached,
            log: relative(&ptxas::without_reports(&artifact.log)),
            launch,
            left_out,
            growth: None,
        })
    }

    /// The outcome of building host code: the resources of its kernels are those of the machine code in the shared object.
    fn host_outcome(&self, planned: &PlannedHost<'_>) -> Result<BuildOutcome, CompileFault> {
        let PlannedHost { function, host, .. } = planned;
        let text = host_unit::text(function, host).map_err(|e| unreadable(&function.file, &e))?;
        let unit = CompileUnit {
            source: self.cache.text(text.as_bytes(), "cu")?,
            code: CodeForm::Host,
            flags: host.flags.clone(),
            defines: host.defines.clone(),
            ..CompileUnit::default()
        };
        let artifact = self.cached(&unit)?;
        self.note_read(&artifact);
        let file = function.file.display();
        let (code, entries) = self.kernels_of(&artifact).map_err(|reason| format!("{file}: {reason}"))?;
        let resources = entries.iter().map(|entry| entry.resources).reduce(Resources::combine);
        let resources = resources.ok_or_else(|| format!("{file} has no kernel for {}", self.arch))?;
        let named = |entry: &Entry| EntryResources { entry: entry.symbol.clone(), resources: entry.resources };
        Ok(BuildOutcome::Built {
            cubin: artifact.cubin,
            cubin_sha256: artifact.sha256,
            code_sha256: code.hex(),
            resources,
            symbols: EntrySymbols::default(),
            entries: entries.iter().map(named).collect(),
            arch: self.arch.to_string(),
            cached: artifact.cached,
            log: relative(&ptxas::without_reports(&artifact.log)),
            launch: None,
            left_out: Vec::new(),
            growth: None,
        })
    }

    /// The machine code in a shared object for the architecture: its hash, and its kernels.
    fn kernels_of(&self, artifact: &Artifact) -> Result<(Digest, Vec<Entry>), String> {
        let capability = self.arch.capability();
        let (mut digest, mut entries) = (Digest::default(), Vec::new());
        for code in device_code(&artifact.bytes).map_err(|e| e.to_string())? {
            let DeviceCode::Cubin { capability: own, bytes } = code else { continue };
            if own == capability {
                entries.extend(Entry::all(&bytes, capability).map_err(|e| e.to_string())?);
                digest = digest.part(&bytes);
            }
        }
        for entry in &mut entries {
            let printed = ptxas::report(&artifact.log, &entry.symbol);
            count_spills(entry, printed);
        }
        Ok((digest, entries))
    }

    /// The entries that a variant launches, by their names in the plan.
    fn entries<'k>(&self, kernel: &'k KernelPlan, artifact: &Artifact) -> Result<Vec<(&'k str, Entry)>, CubinError> {
        let read = |name: &'k str| {
            let mut entry = Entry::read(&artifact.bytes, artifact.symbols.of(name), self.arch.capability())?;
            let printed = ptxas::report(&artifact.log, &entry.symbol);
            count_spills(&mut entry, printed);
            Ok((name, entry))
        };
        kernel.entries().into_iter().map(read).collect()
    }

    /// The message; if shared memory is exceeded, with the arrays that take it.
    fn explained(&self, unit: &CompileUnit, message: &str) -> Result<String, BuildError> {
        let Some((entry, total, limit)) = too_much_shared(message) else { return Ok(message.to_owned()) };
        let budget = budget_line(total, limit, self.arrays(unit, entry)?);
        let dynamic = Chip::of(self.arch.capability()).map_or_else(String::new, |chip| {
            let (capability, most) = (chip.capability, chip.shared_optin);
            format!("; dynamic shared memory can have {most} on compute capability {capability}")
        });
        Ok(format!("{message}\nstatic shared memory per block: {budget}{dynamic}"))
    }

    /// Static shared arrays of an entry, from PTX; none if it does not compile to PTX either.
    fn arrays(&self, unit: &CompileUnit, entry: &str) -> Result<Vec<SharedArray>, BuildError> {
        let (ptx, rule) = (self.cache.temporary(), Path::new("/dev/null"));
        let file = self.cache.translation_unit(unit)?;
        let printed = CompileFault::apart(self.run(&mut self.nvcc()?.to_ptx(unit, &file, self.arch, &ptx, rule)))?;
        let text = fs::read_to_string(&ptx);
        let _ = fs::remove_file(&ptx);
        Ok(match (printed, text) {
            (Ok(_), Ok(text)) => shared_arrays(&text, entry),
            _ => Vec::new(),
        })
    }

    /// The fields of a parameter of an entry, from a build for debuggers; none if there is none, or if it may tell of files
    /// outside the project.
    fn fields(&self, unit: &CompileUnit, entry: &str, parameter: usize) -> Result<Vec<ParameterField>, BuildError> {
        if unit.code != CodeForm::Cuda || self.include_scope == IncludeScope::Project {
            return Ok(Vec::new());
        }
        let mut unit = unit.clone();
        unit.flags.retain(|flag| flag != "-lineinfo" && flag != "--generate-line-info");
        unit.flags.push("-G".to_owned());
        let (cubin, file) = (self.cache.temporary(), self.cache.translation_unit(&unit)?);
        let mut command = self.nvcc()?.to_cubin(&unit, &file, self.arch, &cubin, Path::new("/dev/null"));
        let printed = CompileFault::apart(self.run(&mut command))?;
        let code = fs::read(&cubin);
        let _ = fs::remove_file(&cubin);
        Ok(match (printed, code) {
            (Ok(_), Ok(code)) => parameter_fields(&code, entry, parameter).unwrap_or_default(),
            _ => Vec::new(),
        })
    }
}

/// The outcome; a fault of the variant is one.
fn failed(outcome: Result<BuildOutcome, CompileFault>) -> Result<BuildOutcome, BuildError> {
    Ok(CompileFault::apart(outcome)?.unwrap_or_else(|message| BuildOutcome::Failed { message }))
}

/// The symbols of entries that are C++ names.
fn named_symbols(entries: &[(&str, Entry)]) -> EntrySymbols {
    let named = entries.iter().filter(|(name, entry)| *name != entry.symbol);
    EntrySymbols(named.map(|(name, entry)| ((*name).to_owned(), entry.symbol.clone())).collect())
}

/// Outcomes on their way to the sink; each is held back until all earlier ones are known.
struct OutcomeQueue<'a> {
    plan: &'a Plan,
    phase: Option<&'a Phase>,
    sharing: Deduplication,
    waiting: Vec<Option<BuildOutcome>>,
    out: Vec<BuildRecord>,
    sink: &'a mut (dyn FnMut(&BuildRecord) -> io::Result<()> + Send),
}

impl OutcomeQueue<'_> {
    fn advance(&mut self) -> Result<(), BuildError> {
        while let Some(outcome) = self.waiting.get_mut(self.out.len()).and_then(Option::take) {
            let variant = &self.plan.variants[self.out.len()];
            let mut record = BuildRecord { variant: variant.id.clone(), shares: None, outcome };
            if self.sharing == Deduplication::Share {
                let workload = self.phase.map(|phase| &phase.workload);
                record.shares = twin(&self.out, &record, self.plan, workload);
            }
            if let Some((_, first)) = self.phase.and_then(|phase| variant.counterpart(phase)) {
                let first = self.out.iter().find(|record| record.variant == first);
                note_growth(&mut record.outcome, first.map(|record| &record.outcome), variant);
            }
            (self.sink)(&record).map_err(BuildError::Store)?;
            self.out.push(record);
        }
        Ok(())
    }

    fn known(&self) -> usize {
        self.out.len() + self.waiting.iter().flatten().count()
    }
}

/// A launch of Triton with one workspace for each pointer that the entry takes after its arguments; the number varies between versions of
/// Triton.
fn fitted(launch: &CompiledLaunch, kernel: &KernelPlan, entries: &[(&str, Entry)]) -> CompiledLaunch {
    let passed = |launch: &KernelLaunch| launch.args.iter().filter(|arg| !matches!(arg, Arg::Null)).count();
    let given = kernel.launches().next().map_or(0, passed);
    match launch {
        CompiledLaunch::Everywhere { threads, dynamic_shared, workspace } => {
            let taken = entries.first().map_or(0, |(_, entry)| entry.parameters.len());
            let workspace = workspace.iter().copied().take(taken.saturating_sub(given)).collect();
            CompiledLaunch::Everywhere { threads: *threads, dynamic_shared: *dynamic_shared, workspace }
        }
        CompiledLaunch::ByEntry { entries: launches } => {
            let own = |name: &str| entries.iter().filter(|(known, _)| *known == name).cloned().collect::<Vec<_>>();
            let fitted = |(name, launch): (&String, _)| (name.clone(), fitted(launch, kernel, &own(name)));
            CompiledLaunch::ByEntry { entries: launches.iter().map(fitted).collect() }
        }
        CompiledLaunch::ByShape { .. } | CompiledLaunch::Constants { .. } => launch.clone(),
    }
}

/// SHA-256 of the launched code: that of the only launch, or of all launches in order.
fn code(kernel: &KernelPlan, entries: &[(&str, Entry)]) -> String {
    let of = |name: &&str| entries.iter().find(|(known, _)| known == name).map(|(_, entry)| entry.code_sha256.as_str());
    let launched: Vec<&str> = kernel.code_entries().iter().filter_map(of).collect();
    match launched.as_slice() {
        [only] => (*only).to_owned(),
        several => Digest::default().list(several.iter()).hex(),
    }
}

/// If ptxas reports more spilled bytes than it marked in the machine code (older versions mark none), every load and store of
/// local memory counts as a spill.
fn count_spills(entry: &mut Entry, report: Option<ptxas::FunctionReport>) {
    let Some(report) = report else { return };
    let marked = entry.marked_spills;
    if report.spill_stores > marked.local_stores || report.spill_loads > marked.local_loads {
        entry.resources.spills = entry.local.instructions.max(marked.instructions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::cubin::Traffic;

    #[test]
    fn spills_that_an_older_ptxas_does_not_mark_count_as_local_accesses() {
        let report = |stores| Some(ptxas::FunctionReport { spill_stores: stores, ..Default::default() });
        let entry = |marked| {
            let none = ncugate_model::Resources {
                registers: 32,
                static_shared: 0,
                stack: 8,
                local: 8,
                spills: marked,
                constant: 0,
                barriers: 0,
            };
            let traffic = |n| Traffic { local_stores: 4 * n, local_loads: 4 * n, instructions: 2 * n };
            Entry {
                symbol: "k".to_owned(),
                resources: none,
                code_sha256: String::new(),
                max_threads: None,
                required_block: None,
                cluster: None,
                parameters: Vec::new(),
                marked_spills: traffic(marked),
                local: traffic(5),
                features: Vec::new(),
            }
        };
        let spills = |marked, report| {
            let mut entry = entry(marked);
            count_spills(&mut entry, report);
            entry.resources.spills
        };
        assert_eq!(spills(0, report(20)), 10);
        assert_eq!(spills(0, report(0)), 0);
        assert_eq!(spills(2, report(8)), 2);
        assert_eq!(spills(2, None), 2);
    }
}
