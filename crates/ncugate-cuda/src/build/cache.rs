//! The compilation cache: unchanged code is compiled once.
//!
//! Folders under the root. Every file is written to a temporary path and then renamed, so that concurrent runs see only
//! complete files:
//!
//! - `includes/<inputs>`: the files that a compilation read, one per line. `<inputs>` hashes source, flags, the files that
//!   flags name, defines, architecture, nvcc's version and the variables it reads, and versions of packages with headers.
//! - `results/<contents>.json`: the cubin's hash and nvcc's output. `<contents>` hashes `<inputs>` and the current contents of
//!   all those files, so that no preprocessor has to run to detect a change.
//! - `cubins/<sha256>.cubin`: named by its own hash, which is checked whenever it is read. nvcc's PTX has the same name.
//!
//! Headers of the toolkit and the system are assumed to change only with nvcc's version, and those of a Python package with its
//! version. A new header that the compiler would read in place of one in the list is a change too: a result names the absent
//! headers.

use super::absent_headers::KnownDirectives;
use super::arch::Arch;
use super::compiler_environment;
use super::error::{BuildError, CompileFault};
use super::nvcc::{CompileUnit, Nvcc};
use ncugate_model::digest::{Digest, sha256};
use ncugate_model::disk::{self, Durability, open};
use ncugate_model::{CompiledLaunch, EntrySymbols};
use ncugate_phase::plan::flag_files;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum size of a kernel's source, in bytes.
pub(super) const MAX_SOURCE: u64 = 64 << 20;
/// Maximum size of machine code, in bytes.
pub(super) const MAX_CODE: u64 = 1 << 30;
/// Maximum size of a text file of the cache, in bytes. A larger one is written again.
const MAX_TEXT: u64 = MAX_SOURCE;
/// Incremented when the layout or the meaning of a key changes.
const LAYOUT: &str = "4";

/// Number of temporary files that this process has named.
static TEMPORARIES: AtomicU64 = AtomicU64::new(0);

/// A folder of compiled cubins. It hashes included files once in its lifetime, so one cache serves one run.
#[derive(Debug)]
pub struct Cache {
    root: PathBuf,
    hashes: Mutex<HashMap<PathBuf, Option<String>>>,
    pub(super) directives: KnownDirectives,
}

/// A compiled unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub cubin: PathBuf,
    /// SHA-256 of the cubin.
    pub sha256: String,
    pub bytes: Vec<u8>,
    pub log: String,
    /// Symbols of the entries that the compiler was asked for.
    pub symbols: EntrySymbols,
    /// Its launch configuration, if the compiler reports one.
    pub launch: Option<CompiledLaunch>,
    pub cached: bool,
    /// Files that the compiler read, with their SHA-256.
    pub includes: BTreeMap<PathBuf, String>,
    /// Paths without a file that the compiler would have read instead of another.
    pub absent: BTreeSet<PathBuf>,
}

/// The hash of the inputs of a compilation except the included files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheInputs(String);

/// The result of an nvcc call.
pub struct CompilerOutput<'a> {
    /// The cubin, which is moved into the cache.
    pub cubin: &'a Path,
    /// The files that nvcc read.
    pub includes: Vec<PathBuf>,
    /// Paths without a file that it would have read instead of another; `None` if they are unknown. Then every run compiles.
    pub absent: Option<BTreeSet<PathBuf>>,
    /// Files among them that can be newer than the start, because the compiler may have built them itself; with their times
    /// when it read them, in nanoseconds.
    pub loaded: BTreeMap<PathBuf, u64>,
    pub log: String,
    pub symbols: EntrySymbols,
    pub started: SystemTime,
    /// Its launch configuration, if the compiler reports one.
    pub launch: Option<CompiledLaunch>,
}

impl<'a> CompilerOutput<'a> {
    /// nvcc's output: `read` are the files that it read, and the absent ones.
    pub(super) fn of_nvcc(
        cubin: &'a Path,
        read: (Vec<PathBuf>, Option<BTreeSet<PathBuf>>),
        log: String,
        symbols: EntrySymbols,
        started: SystemTime,
    ) -> Self {
        let ((includes, absent), loaded) = (read, BTreeMap::new());
        Self { cubin, includes, absent, loaded, log, symbols, started, launch: None }
    }
}

#[derive(Serialize, Deserialize)]
struct CacheEntry {
    cubin_sha256: String,
    absent: BTreeSet<PathBuf>,
    log: String,
    symbols: EntrySymbols,
    launch: Option<CompiledLaunch>,
}

impl Cache {
    /// The user's cache: `$NCUGATE_CACHE`, else the folder that `given` names, else `$XDG_CACHE_HOME/ncugate`, else
    /// `~/.cache/ncugate`.
    pub fn of_user(given: Option<&Path>) -> Result<Self, BuildError> {
        let folder = |name: &str, below: &str| {
            env::var_os(name).filter(|value| !value.is_empty()).map(|value| PathBuf::from(value).join(below))
        };
        let root = folder("NCUGATE_CACHE", "")
            .or_else(|| given.map(Path::to_owned))
            .or_else(|| folder("XDG_CACHE_HOME", "ncugate"))
            .or_else(|| folder("HOME", ".cache/ncugate"));
        Self::at(&root.ok_or(BuildError::NoCache)?)
    }

    /// The cache at `root`. If it does not exist, it is created with access for its user only.
    ///
    /// # Errors
    /// It cannot be created. Or another user owns it or can write to it, and could therefore replace the measured code.
    pub fn at(root: &Path) -> Result<Self, BuildError> {
        let cache = Self {
            root: std::path::absolute(root).map_err(|source| BuildError::Cache { path: root.to_owned(), source })?,
            hashes: Mutex::default(),
            directives: KnownDirectives::default(),
        };
        for folder in ["includes", "results", "cubins", "instances", "tmp"] {
            let path = cache.root.join(folder);
            disk::private_folder(&cache.root, &path).map_err(|source| BuildError::Cache { path, source })?;
        }
        Ok(cache)
    }

    /// An unused path in the cache, for nvcc to write to.
    pub(super) fn temporary(&self) -> PathBuf {
        let number = TEMPORARIES.fetch_add(1, Ordering::Relaxed);
        self.root.join("tmp").join(format!("{}-{number}", std::process::id()))
    }

    /// The file that nvcc compiles for `unit`: its source, or a generated file that includes it and instantiates a template. A
    /// generated file is named by its contents and is kept, since line tables name it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn translation_unit(&self, unit: &CompileUnit) -> Result<PathBuf, BuildError> {
        let failed = |source| BuildError::Cache { path: unit.source.clone(), source };
        let Some(text) = unit.instantiation().map_err(failed)? else { return Ok(unit.source.clone()) };
        self.text(text.as_bytes(), "cu")
    }

    /// Whether a file belongs to the cache.
    pub fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    /// The key of `unit` before its includes are known.
    pub(super) fn inputs(unit: &CompileUnit, arch: &Arch, nvcc: &Nvcc) -> io::Result<CacheInputs> {
        let defines = unit.defines.iter().map(|(name, value)| format!("{name}={value}"));
        // The compiler runs in the root of the project.
        let named = flag_files(Path::new(""), &unit.flags);
        let named = named.iter().map(|file| Ok((file, fs::read(file)?))).collect::<io::Result<Vec<_>>>()?;
        let mut digest = Digest::default()
            .part(LAYOUT)
            .part(nvcc.identity())
            .part(arch.to_string())
            .part(unit.source.as_os_str().as_encoded_bytes())
            .part(open::named(&unit.source, MAX_SOURCE)?)
            .list(unit.flags.iter())
            .list(defines)
            .list(unit.instantiation()?.iter())
            .list(unit.entries.iter())
            .list(compiler_environment::variables().iter())
            .list(nvcc.header_versions().iter().map(|(package, version)| format!("{package} {version}")));
        for (file, bytes) in named {
            digest = digest.part(file.as_os_str().as_encoded_bytes()).part(bytes);
        }
        Ok(CacheInputs(digest.hex()))
    }

    /// A key from another compiler than nvcc, over all its inputs except imported files.
    pub(super) fn key(digest: Digest) -> CacheInputs {
        CacheInputs(digest.part(LAYOUT).hex())
    }

    /// The stored result for the same contents; `None` if none is stored or the stored one is damaged.
    pub(super) fn lookup(&self, inputs: &CacheInputs) -> Option<Artifact> {
        let list = open::text_if_there(&self.root.join("includes").join(&inputs.0), MAX_TEXT).ok()??;
        let includes: Vec<PathBuf> = list.lines().map(PathBuf::from).collect();
        let contents = self.contents(inputs, &includes)?;
        let stored: CacheEntry = serde_json::from_slice(&open::bytes(&self.result(&contents), MAX_TEXT).ok()?).ok()?;
        if stored.absent.iter().any(|path| path.is_file()) {
            return None;
        }
        let cubin = self.cubin(&stored.cubin_sha256);
        let bytes = open::bytes(&cubin, MAX_CODE).ok().filter(|bytes| sha256(bytes) == stored.cubin_sha256)?;
        let includes = self.include_hashes(&includes);
        let CacheEntry { cubin_sha256: sha256, absent, log, symbols, launch } = stored;
        Some(Artifact { cubin, sha256, bytes, log, symbols, launch, cached: true, includes, absent })
    }

    /// Stores nvcc's result.
    pub(super) fn store(&self, inputs: &CacheInputs, compiled: CompilerOutput<'_>) -> Result<Artifact, CompileFault> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| BuildError::Cache { path, source }
        };
        let includes = &compiled.includes;
        let has_changed = |path: &PathBuf| {
            let Ok(at) = fs::metadata(path).and_then(|found| found.modified()) else { return false };
            match compiled.loaded.get(path) {
                Some(read) => at != UNIX_EPOCH + Duration::from_nanos(*read),
                None => at > compiled.started,
            }
        };
        let changed = |path: &Path| format!("`{}` changed during its compilation; hint: run again", path.display());
        if let Some(path) = includes.iter().find(|path| has_changed(path)) {
            return Err(changed(path).into());
        }
        let first = || includes.first().map_or(Path::new(""), PathBuf::as_path);
        let contents = self.contents(inputs, includes).ok_or_else(|| changed(first()))?;
        let size = fs::metadata(compiled.cubin).map_err(failed(compiled.cubin))?.len();
        if size > MAX_CODE {
            return Err(
                format!("the compiler wrote {size} bytes of machine code; at most {MAX_CODE} are supported").into()
            );
        }
        let bytes = open::bytes(compiled.cubin, MAX_CODE).map_err(failed(compiled.cubin))?;
        let hash = sha256(&bytes);
        let cubin = self.cubin(&hash);
        fs::rename(compiled.cubin, &cubin).map_err(failed(&cubin))?;
        // Only measured causes use it, and they compare it with the machine code.
        let _ = fs::rename(compiled.cubin.with_extension("ptx"), cubin.with_extension("ptx"));
        let CompilerOutput { absent, log, symbols, launch, .. } = compiled;
        let is_known = absent.is_some();
        let stored =
            CacheEntry { cubin_sha256: hash.clone(), absent: absent.unwrap_or_default(), log, symbols, launch };
        if is_known {
            let text = serde_json::to_vec(&stored).map_err(io::Error::from).map_err(failed(&cubin))?;
            self.write(&self.result(&contents), &text)?;
            let list: Vec<String> = includes.iter().map(|path| path.display().to_string()).collect();
            self.write(&self.root.join("includes").join(&inputs.0), list.join("\n").as_bytes())?;
        }
        let includes = self.include_hashes(includes);
        let CacheEntry { absent, log, symbols, launch, .. } = stored;
        Ok(Artifact { cubin, sha256: hash, bytes, log, symbols, launch, cached: false, includes, absent })
    }

    /// Stores machine code that was read from `path`.
    pub(super) fn keep(&self, path: &Path, bytes: Vec<u8>) -> Result<Artifact, BuildError> {
        let hash = sha256(&bytes);
        let cubin = self.cubin(&hash);
        if open::bytes(&cubin, MAX_CODE).ok().as_deref() != Some(bytes.as_slice()) {
            self.write(&cubin, &bytes)?;
        }
        let includes = BTreeMap::from([(path.to_owned(), hash.clone())]);
        let (log, symbols) = (String::new(), EntrySymbols::default());
        let absent = BTreeSet::new();
        Ok(Artifact { cubin, sha256: hash, bytes, log, symbols, launch: None, cached: false, includes, absent })
    }

    /// A generated file with this extension, named by its contents.
    pub(super) fn text(&self, text: &[u8], ending: &str) -> Result<PathBuf, BuildError> {
        let path = self.root.join("instances").join(format!("{}.{ending}", sha256(text)));
        if open::bytes(&path, MAX_TEXT).ok().as_deref() != Some(text) {
            self.write(&path, text)?;
        }
        Ok(path)
    }

    /// A generated program of several named files, in a folder named by their contents.
    pub(super) fn program(&self, files: &[(&str, &str)]) -> Result<PathBuf, BuildError> {
        let digest = files.iter().fold(Digest::default(), |digest, (name, text)| digest.part(name).part(text));
        let folder = self.root.join("instances").join(digest.hex());
        disk::private_folder(&self.root, &folder)
            .map_err(|source| BuildError::Cache { path: folder.clone(), source })?;
        for (name, text) in files {
            let path = folder.join(name);
            if open::bytes(&path, MAX_TEXT).ok().as_deref() != Some(text.as_bytes()) {
                self.write(&path, text.as_bytes())?;
            }
        }
        Ok(folder)
    }

    /// A folder of the cache for a compiler with its own cache.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The files with their hashes, which were computed for the key.
    fn include_hashes(&self, includes: &[PathBuf]) -> BTreeMap<PathBuf, String> {
        includes.iter().filter_map(|path| Some((path.clone(), self.file_hash(path)?))).collect()
    }

    /// The key with the current includes; `None` if one cannot be read.
    fn contents(&self, inputs: &CacheInputs, includes: &[PathBuf]) -> Option<String> {
        let mut digest = Digest::default().part(&inputs.0);
        for path in includes {
            digest = digest.part(path.as_os_str().as_encoded_bytes()).part(self.file_hash(path)?);
        }
        Some(digest.hex())
    }

    fn file_hash(&self, path: &Path) -> Option<String> {
        let locked = || self.hashes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = locked().get(path) {
            return known.clone();
        }
        let hash = fs::read(path).ok().map(|bytes| sha256(&bytes));
        locked().insert(path.to_owned(), hash.clone());
        hash
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
        disk::replace(path, bytes, Durability::Cached)
            .map_err(|source| BuildError::Cache { path: path.to_owned(), source })
    }

    fn result(&self, contents: &str) -> PathBuf {
        self.root.join("results").join(format!("{contents}.json"))
    }

    fn cubin(&self, hash: &str) -> PathBuf {
        self.root.join("cubins").join(format!("{hash}.cubin"))
    }
}

/// The files of a make rule `target : a b \`, unescaped.
pub(super) fn prerequisites(rule: &str) -> Vec<PathBuf> {
    let joined = rule.replace("\\\r\n", " ").replace("\\\n", " ");
    let Some((_, list)) = joined.split_once(": ") else { return Vec::new() };
    let mut files = vec![String::new()];
    let mut characters = list.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek().copied();
        match (c, next) {
            ('\\', Some(' ' | '#')) | ('$', Some('$')) => {
                files.last_mut().into_iter().for_each(|file| file.extend(next));
                characters.next();
            }
            (c, _) if c.is_whitespace() => files.push(String::new()),
            (c, _) => files.last_mut().into_iter().for_each(|file| file.push(c)),
        }
    }
    files.into_iter().filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_phase::config::CodeForm;

    #[test]
    fn a_make_rule_gives_its_files() {
        let rule = "/c/tmp/1-0 : k.cu \\\n    /usr/my\\ folder/a.h \\\n    b$$1.h\n";
        let expected = ["k.cu", "/usr/my folder/a.h", "b$1.h"].map(PathBuf::from);
        assert_eq!(prerequisites(rule), expected);
        assert_eq!(prerequisites(""), Vec::<PathBuf>::new());
    }

    fn stored(
        cache: &Cache,
        inputs: &CacheInputs,
        header: &Path,
        absent: Option<&[PathBuf]>,
    ) -> Result<Artifact, CompileFault> {
        let cubin = cache.temporary();
        fs::write(&cubin, b"machine code").unwrap();
        let (includes, started, loaded) = (vec![header.to_owned()], SystemTime::now(), BTreeMap::new());
        let (log, symbols) = ("warned".to_owned(), EntrySymbols::default());
        let absent = absent.map(|paths| paths.iter().cloned().collect());
        let compiled = CompilerOutput { cubin: &cubin, includes, absent, loaded, log, symbols, started, launch: None };
        cache.store(inputs, compiled)
    }

    #[test]
    fn a_new_header_at_an_absent_path_is_a_miss() {
        let folder = tempfile::tempdir().unwrap();
        let [header, absent, other] = ["a.h", "first/a.h", "first/b.h"].map(|name| folder.path().join(name));
        fs::create_dir(folder.path().join("first")).unwrap();
        fs::write(&header, "1").unwrap();
        let (inputs, unknown) = (CacheInputs("k".to_owned()), CacheInputs("l".to_owned()));
        std::thread::sleep(std::time::Duration::from_millis(20));
        let cache = Cache::at(&folder.path().join("cache")).unwrap();
        stored(&cache, &inputs, &header, Some(std::slice::from_ref(&absent))).unwrap();
        assert!(cache.lookup(&inputs).is_some_and(|artifact| artifact.absent.contains(&absent)));
        fs::write(other, "2").unwrap();
        assert!(cache.lookup(&inputs).is_some(), "another header");
        fs::write(&absent, "2").unwrap();
        assert!(cache.lookup(&inputs).is_none());
        stored(&cache, &unknown, &header, None).unwrap();
        assert!(cache.lookup(&unknown).is_none(), "any new header can change it");
    }

    #[test]
    fn a_damaged_cubin_and_a_changed_header_are_misses() {
        let folder = tempfile::tempdir().unwrap();
        let header = folder.path().join("a.h");
        fs::write(&header, "1").unwrap();
        let inputs = CacheInputs("k".to_owned());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let open = || Cache::at(&folder.path().join("cache")).unwrap();
        let made = stored(&open(), &inputs, &header, Some(&[])).unwrap();
        assert_eq!(open().lookup(&inputs), Some(Artifact { cached: true, ..made.clone() }));

        fs::write(&made.cubin, b"machine c0de").unwrap();
        assert_eq!(open().lookup(&inputs), None);
        stored(&open(), &inputs, &header, Some(&[])).unwrap();
        assert!(open().lookup(&inputs).is_some());

        fs::write(&header, "2").unwrap();
        assert_eq!(open().lookup(&inputs), None);
        fs::remove_file(&header).unwrap();
        assert_eq!(open().lookup(&inputs), None);
    }

    #[test]
    fn a_file_that_a_flag_names_is_part_of_the_key() {
        let nvcc = crate::build::nvcc::tests::double();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("k.cu"), "").unwrap();
        let flags = vec![format!("--options-file={}", path("options").display())];
        let unit = CompileUnit {
            source: path("k.cu"),
            linked: Vec::new(),
            code: CodeForm::Cuda,
            flags,
            defines: Vec::new(),
            entries: Vec::new(),
            constants: Vec::new(),
        };
        let key = |text: &str| {
            std::fs::write(path("options"), text).unwrap();
            Cache::inputs(&unit, &"sm_90".parse().unwrap(), &nvcc).unwrap()
        };
        assert_eq!(key("-O3"), key("-O3"));
        assert_ne!(key("-O3"), key("-O1"));
    }

    #[test]
    fn a_header_written_while_compiling_is_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let header = folder.path().join("a.h");
        let cache = Cache::at(folder.path()).unwrap();
        let cubin = cache.temporary();
        fs::write(&cubin, b"x").unwrap();
        let started = SystemTime::now();
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&header, "1").unwrap();
        let compiled = CompilerOutput {
            cubin: &cubin,
            includes: vec![header.clone()],
            absent: Some(BTreeSet::new()),
            loaded: BTreeMap::new(),
            log: String::new(),
            symbols: EntrySymbols::default(),
            started,
            launch: None,
        };
        let stored = cache.store(&CacheInputs("k".to_owned()), compiled);
        let told = format!("`{}` changed during its compilation; hint: run again", header.display());
        assert!(matches!(stored, Err(CompileFault::OfVariant(said)) if said == told));
    }

    #[test]
    fn a_cache_that_cannot_be_made_is_an_error_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(Cache::at(&file).unwrap_err().to_string().contains("$NCUGATE_CACHE"));
    }
}
