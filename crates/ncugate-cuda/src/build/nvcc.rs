//! The compiler: its location, its version, and its command lines.

use super::arch::Arch;
use super::build_work::is_expression;
use super::error::BuildError;
use super::package_headers::PackageHeaders;
use ncugate_model::digest::sha256;
use ncugate_model::{KernelName, process};
use ncugate_phase::config::CodeForm;
use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// `nvcc --version` takes milliseconds; a program that hangs is not nvcc.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// Extension of files that nvcc treats as CUDA C++.
const CUDA: &str = "cu";

/// Beginning of the names of the variables that hold the addresses of kernels; the index of the entry follows.
pub(super) const TABLE: &str = "ncugate_entry_";

/// Folders of headers that come with the compiler and the system.
const SYSTEM: [&str; 4] = ["/usr/include", "/usr/lib", "/usr/lib64", "/usr/local/cuda"];

/// The input of one compiler call: equal units give equal cubins.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CompileUnit {
    pub source: PathBuf,
    /// Further sources of its language, whose machine code is linked with that of `source`.
    pub linked: Vec<PathBuf>,
    /// Its language: CUDA C++ or PTX.
    pub code: CodeForm,
    pub flags: Vec<String>,
    /// `-D` defines.
    pub defines: Vec<(String, String)>,
    /// The kernels whose symbols the compiler is asked for, and which alone are assembled; none if all of the source's are
    /// assembled as they are.
    pub entries: Vec<String>,
    /// Constants in C++ whose values the compiler is asked for.
    pub constants: Vec<String>,
}

impl CompileUnit {
    /// Whether its machine code is relocatable, and is linked before it is loaded.
    pub(super) fn is_linked(&self) -> bool {
        let is_on = |option: &str, value: &str| {
            ["-rdc", "--relocatable-device-code"].contains(&option) && value.starts_with('t')
        };
        let mut pairs = self.flags.iter().zip(self.flags.iter().skip(1));
        !self.linked.is_empty()
            || self.flags.iter().any(|flag| flag.split_once('=').is_some_and(|(option, value)| is_on(option, value)))
            || pairs.any(|(option, value)| is_on(option, value))
    }

    /// The text that makes the compiler name kernels of the source, and instantiate their templates: a table of their addresses.
    /// For a header without such kernels, it only includes the header. None if the source is compiled unchanged.
    pub(super) fn instantiation(&self) -> io::Result<Option<String>> {
        let is_header = self.code == CodeForm::Cuda && self.source.extension().is_none_or(|ending| ending != CUDA);
        if self.entries.is_empty() && !is_header {
            return Ok(None);
        }
        let source = std::path::absolute(&self.source)?;
        let source = source.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        let address = |(at, entry): (usize, &String)| {
            let address = match KernelName::signature(entry) {
                Some((name, parameters)) => format!("(void (*)({parameters}))&{name}"),
                None => format!("&{entry}"),
            };
            format!("extern \"C\" __device__ void* {TABLE}{at} = (void*){address};\n")
        };
        let asked = self.entries.iter().enumerate().filter(|(_, entry)| is_expression(entry));
        let addresses: String = asked.map(address).collect();
        // One more than the value, because PTX omits an initial 0.
        let constant = |(at, constant): (usize, &String)| {
            let at = self.entries.len() + at;
            format!(
                "static_assert(({constant}) >= 0, \"dynamic shared memory\");\n\
                 extern \"C\" __device__ unsigned long long {TABLE}{at} = 1ull + ({constant});\n"
            )
        };
        let constants: String = self.constants.iter().enumerate().map(constant).collect();
        Ok(Some(format!("#include \"{source}\"\n{addresses}{constants}")))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nvcc {
    path: PathBuf,
    version: String,
    /// The hash of its text, if it is a script: two with the same version can pass different flags to the compiler.
    script: String,
    /// Headers besides its own and the system's.
    headers: PackageHeaders,
}

impl Nvcc {
    /// The nvcc at `explicit`, else the first of `PATH`, `$CUDA_HOME/bin`, `$CUDA_PATH/bin`, `/usr/local/cuda/bin`.
    pub fn find(explicit: Option<&Path>) -> Result<Self, BuildError> {
        if let Some(asked) = explicit {
            let path = which::which(asked)
                .map_err(|_| BuildError::NotFound { looked: format!("asked for `{}`", asked.display()) })?;
            return Self::at(path);
        }
        let mut folders: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"]
            .iter()
            .filter_map(env::var_os)
            .map(|home| PathBuf::from(home).join("bin"))
            .collect();
        folders.push(PathBuf::from("/usr/local/cuda/bin"));
        which::which("nvcc")
            .ok()
            .or_else(|| folders.iter().find_map(|folder| which::which(folder.join("nvcc")).ok()))
            .map_or_else(|| Err(BuildError::NotFound { looked: looked(&folders) }), Self::at)
    }

    fn at(path: PathBuf) -> Result<Self, BuildError> {
        let output = process::run(Command::new(&path).arg("--version"), VERSION_LIMIT)
            .map_err(|source| BuildError::Start { path: path.clone(), source })?;
        if !output.ending.completed() {
            let said = output.stderr.lines().chain(output.stdout.lines()).find(|line| !line.trim().is_empty());
            let reason = format!("`--version` {}: {}", output.ending, said.unwrap_or("it printed nothing"));
            return Err(BuildError::Unusable { path, reason });
        }
        match version_in(&output.stdout) {
            Some(version) => {
                let text = std::fs::read(&path).ok().filter(|bytes| bytes.starts_with(b"#!"));
                let script = text.map_or_else(String::new, |text| sha256(&text));
                Ok(Self { version: version.to_owned(), script, path, headers: PackageHeaders::default() })
            }
            None => Err(BuildError::Unusable { path, reason: "`--version` printed no version".to_owned() }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `13.0.88`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What distinguishes its output from that of another nvcc, for keys of the cache.
    pub(super) fn identity(&self) -> String {
        format!("{}{}", self.version, self.script)
    }

    /// The same with headers of packages.
    #[must_use]
    pub(super) fn with_headers(&self, headers: PackageHeaders) -> Self {
        Self { headers, ..self.clone() }
    }

    /// Folders of packages whose headers it finds.
    pub(super) fn header_folders(&self) -> &[PathBuf] {
        &self.headers.folders
    }

    /// Versions of the packages whose headers it finds.
    pub(super) const fn header_versions(&self) -> &BTreeMap<String, String> {
        &self.headers.versions
    }

    /// The folder of the toolkit, as nvcc names it: `nvcc` may be a script elsewhere.
    fn top(&self) -> Option<PathBuf> {
        let printed = process::run(Command::new(&self.path).args(["--dryrun", "-c", "x.cu"]), VERSION_LIMIT).ok()?;
        let top = printed.stderr.lines().chain(printed.stdout.lines()).find_map(|line| line.strip_prefix("#$ TOP="))?;
        Some(PathBuf::from(top.trim()))
    }

    /// Folders whose headers belong to nvcc and to the system, and nothing else.
    pub(super) fn own_folders(&self) -> Vec<PathBuf> {
        let system = SYSTEM.iter().map(PathBuf::from);
        self.top().into_iter().chain(system).filter_map(|folder| folder.canonicalize().ok()).collect()
    }

    /// The folder of the runtime's library in a toolkit from Python packages, where nvcc does not look.
    fn libraries(&self) -> Option<PathBuf> {
        let folder = self.top()?.join("lib");
        folder.join("libcudart_static.a").is_file().then_some(folder)
    }

    /// Compiles `unit`, whose text is in `file`, to a cubin; host code to a shared object. Writes the included files as a make rule to `dependencies`.
    ///
    /// ptxas reports its resource use, because it does not mark all spills in the machine code.
    pub(super) fn to_cubin(
        &self,
        unit: &CompileUnit,
        file: &Path,
        arch: &Arch,
        cubin: &Path,
        dependencies: &Path,
    ) -> Command {
        let kind = if unit.code == CodeForm::Host { "-shared" } else { "-cubin" };
        let mut command = self.command(kind, (unit, file), arch, cubin);
        command.args(["-Xptxas", "-v"]);
        if unit.code == CodeForm::Host {
            // The worker's stream is the default stream of its thread, which a function without a stream launches on.
            command.args(["-Xcompiler", "-fPIC", "-default-stream=per-thread"]);
            command.args(self.libraries().iter().map(|folder| format!("-L{}", folder.display())));
        }
        // PTX has no includes, and nvcc writes no rule for it.
        if matches!(unit.code, CodeForm::Cuda | CodeForm::Host) {
            command.args(["-MD", "-MF"]).arg(dependencies);
        }
        command
    }

    /// Compiles `unit` to PTX. Writes the included files as a make rule to `dependencies`.
    pub(super) fn to_ptx(
        &self,
        unit: &CompileUnit,
        file: &Path,
        arch: &Arch,
        ptx: &Path,
        dependencies: &Path,
    ) -> Command {
        let mut command = self.command("-ptx", (unit, file), arch, ptx);
        command.args(["-MD", "-MF"]).arg(dependencies);
        command
    }

    /// Assembles the kernels `symbols` of PTX that `unit` was compiled to.
    pub(super) fn assemble(
        &self,
        unit: &CompileUnit,
        ptx: &Path,
        arch: &Arch,
        cubin: &Path,
        symbols: &[&str],
    ) -> Command {
        let mut command = self.command("-cubin", (unit, ptx), arch, cubin);
        command.args(["-Xptxas", "-v"]);
        if !symbols.is_empty() {
            command.arg(format!("--entries={}", symbols.join(",")));
        }
        command
    }

    /// The machine code of the kernels `symbols` (all, if there are none) of PTX, by way of files at `path` with other extensions.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn assemble_text(&self, ptx: &str, arch: &Arch, symbols: &[&str], path: &Path) -> Result<Vec<u8>, String> {
        let [source, cubin] = ["ptx", "cubin"].map(|ending| path.with_extension(ending));
        std::fs::write(&source, ptx).map_err(|error| format!("cannot write {}: {error}", source.display()))?;
        let unit = CompileUnit { code: CodeForm::Ptx, ..CompileUnit::default() };
        let mut command = self.assemble(&unit, &source, arch, &cubin, symbols);
        let output = process::run(&mut command, VERSION_LIMIT).map_err(|error| error.to_string())?;
        if !output.ending.completed() {
            return Err(format!("nvcc {}: {}", output.ending, output.stderr.trim()));
        }
        std::fs::read(&cubin).map_err(|error| format!("cannot read {}: {error}", cubin.display()))
    }

    /// Links relocatable machine code of `unit`.
    pub(super) fn link(&self, unit: &CompileUnit, parts: &[&Path], arch: &Arch, cubin: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("-dlink").arg("-cubin").arg(format!("-arch={arch}")).args(&unit.flags);
        command.arg("-o").arg(cubin).args(parts);
        command
    }

    fn command(&self, kind: &str, (unit, file): (&CompileUnit, &Path), arch: &Arch, out: &Path) -> Command {
        let mut command = Command::new(&self.path);
        command.arg(kind).arg(format!("-arch={arch}")).args(&unit.flags);
        command.args(unit.defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        if matches!(unit.code, CodeForm::Cuda | CodeForm::Host) {
            self.headers.folders.iter().for_each(|folder| {
                command.arg("-isystem").arg(folder);
            });
        }
        command.arg("-o").arg(out).arg(file);
        command
    }

    /// Whether a version stands for a file that it read: a header of the toolkit, of the system or of an installed package.
    /// Files inside the working directory belong to the project, wherever the toolkit is.
    pub(super) fn stands_for(&self, file: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let file = real(file);
        if env::current_dir().is_ok_and(|here| file.starts_with(real(&here))) {
            return false;
        }
        let program = real(&self.path);
        let toolkit = program.parent().and_then(Path::parent).filter(|folder| folder.parent().is_some());
        toolkit.into_iter().chain(SYSTEM.map(Path::new)).any(|folder| file.starts_with(folder))
            || self.headers.versioned.iter().any(|folder| file.starts_with(real(folder)))
    }
}

fn looked(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    format!("searched on PATH and in {}", folders.join(", "))
}

/// `13.0.88` in `... release 13.0, V13.0.88`.
fn version_in(text: &str) -> Option<&str> {
    text.split_whitespace().filter_map(|word| word.strip_prefix('V')).find(|word| {
        word.split('.').count() == 3 && word.split('.').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use ncugate_model::ComputeCapability;

    /// The nvcc for tests: `$NCUGATE_TEST_NVCC`, else the user's. Without one, a test prints so and is skipped; in CI it fails.
    pub fn for_test() -> Option<Nvcc> {
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

    /// An nvcc that is never started.
    pub fn double() -> Nvcc {
        at_path("/opt/toolkit/bin/nvcc")
    }

    fn at_path(path: &str) -> Nvcc {
        let headers = PackageHeaders::default();
        Nvcc { path: PathBuf::from(path), version: "13.0.88".to_owned(), script: String::new(), headers }
    }

    #[test]
    fn the_version_stands_for_headers_of_the_toolkit_and_the_system_alone() {
        let nvcc = double();
        for file in ["/opt/toolkit/include/cuda_fp16.h", "/usr/include/c++/13/cmath"] {
            assert!(nvcc.stands_for(Path::new(file)), "{file}");
        }
        for file in ["src/lib.rs", "/opt/cutlass/include/cute.h", "kernels/sdpa_fp8/../sdpa_fast/ptx.cuh"] {
            assert!(!nvcc.stands_for(Path::new(file)), "{file}");
        }
    }

    #[test]
    fn the_version_of_a_package_stands_for_its_headers_outside_the_project() {
        let folder = |name: &str| PathBuf::from("/opt/venv/lib/site-packages").join(name);
        let here = env::current_dir().unwrap().join("venv/torch/include");
        let headers = PackageHeaders {
            folders: vec![folder("torch/include"), folder("mine/include"), here.clone()],
            versioned: vec![folder("torch/include"), here.clone()],
            versions: [("torch".to_owned(), "2.11.0".to_owned())].into(),
        };
        let nvcc = double().with_headers(headers);
        assert!(nvcc.stands_for(&folder("torch/include/ATen/ATen.h")));
        assert!(!nvcc.stands_for(&folder("mine/include/mine.h")), "no version");
        assert!(!nvcc.stands_for(&here.join("ATen/ATen.h")), "it can be edited with the project");
        let unit = CompileUnit {
            code: CodeForm::Cuda,
            source: PathBuf::from("k.cu"),
            linked: Vec::new(),
            flags: Vec::new(),
            defines: Vec::new(),
            entries: Vec::new(),
            constants: Vec::new(),
        };
        let arguments = |code| {
            let unit = CompileUnit { code, ..unit.clone() };
            let command = nvcc.assemble(&unit, &unit.source, &"sm_90".parse().unwrap(), Path::new("out"), &["k"]);
            command.get_args().filter(|word| *word == "-isystem").count()
        };
        assert_eq!([CodeForm::Cuda, CodeForm::Host, CodeForm::Ptx].map(arguments), [3, 3, 0]);
    }

    fn script(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("nvcc");
        ncugate_fixtures::write_program(&path, text);
        path
    }

    #[test]
    fn the_version_is_read_from_what_nvcc_prints() {
        let text = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\nBuild x";
        assert_eq!(version_in(text), Some("13.0.88"));
        assert_eq!(version_in("Version V13 Verbose V1..2"), None);
    }

    #[test]
    fn an_nvcc_that_is_not_there_is_named_with_what_to_do() {
        let error = Nvcc::find(Some(Path::new("/nowhere/nvcc"))).unwrap_err().to_string();
        assert!(error.contains("/nowhere/nvcc") && error.contains("hint:"), "{error}");
    }

    #[test]
    fn a_program_that_is_not_nvcc_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let silent = script(folder.path(), "#!/bin/sh\nexit 0\n");
        assert!(matches!(Nvcc::find(Some(&silent)), Err(BuildError::Unusable { .. })));
        let failing = script(folder.path(), "#!/bin/sh\necho no licence >&2\nexit 3\n");
        let error = Nvcc::find(Some(&failing)).unwrap_err().to_string();
        assert!(error.contains("exited with status 3") && error.contains("no licence"), "{error}");
    }

    #[test]
    fn flags_come_before_defines_and_the_source() {
        let nvcc = at_path("nvcc");
        let unit = CompileUnit {
            code: CodeForm::Cuda,
            source: PathBuf::from("k.cu"),
            linked: Vec::new(),
            flags: vec!["-O3".to_owned(), "-maxrregcount=64".to_owned()],
            defines: vec![("THREADS".to_owned(), "128".to_owned())],
            entries: Vec::new(),
            constants: Vec::new(),
        };
        let command = nvcc.to_ptx(
            &unit,
            &unit.source,
            &Arch::of(ComputeCapability::new(9, 0)),
            Path::new("out"),
            Path::new("rule"),
        );
        let args: Vec<_> = command.get_args().map(|a| a.to_str().unwrap()).collect();
        assert_eq!(
            args,
            [
                "-ptx",
                "-arch=sm_90",
                "-O3",
                "-maxrregcount=64",
                "-DTHREADS=128",
                "-o",
                "out",
                "k.cu",
                "-MD",
                "-MF",
                "rule"
            ]
        );
    }
}
