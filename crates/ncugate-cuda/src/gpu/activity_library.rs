//! The CUPTI library: its location, and the few functions that are used. It is loaded at run time, and its absence is not an
//! error.

use super::activity_record::{CuptiRelease, NEWEST, OLDEST, release};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, c_char, c_void};
use std::mem::transmute;
use std::path::{Path, PathBuf};

/// Major versions of CUDA whose CUPTI is searched for, newest first.
const MAJORS: [u32; 2] = [13, 12];
/// Default location of toolkits.
const TOOLKIT: &str = "/usr/local/cuda";
/// Folders of a toolkit that contain CUPTI.
const IN_TOOLKIT: [&str; 2] = ["extras/CUPTI/lib64", "lib64"];
/// Folders of the PyPI packages that contain CUPTI, below `site-packages`.
const IN_PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cuda_cupti/lib"];

/// Why launches cannot be traced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActivityError {
    /// No library was found.
    #[error("libcupti not found ({looked})")]
    NotFound { looked: String },
    /// The library that was found cannot be used.
    #[error("{}: {reason}", library.display())]
    Unfit { library: PathBuf, reason: String },
    /// A function of the library failed.
    #[error("{call}: {reason}")]
    Call { call: &'static str, reason: String },
    /// Its records cannot be read.
    #[error("cannot read the records: {0}")]
    Records(String),
}

/// `CUptiResult`; 0 is success.
pub(super) type CuptiStatus = u32;
pub(super) type RequestBuffer = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
pub(super) type CompleteBuffer = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
pub(super) type NextRecord = unsafe extern "C" fn(*mut u8, usize, *mut *mut u8) -> CuptiStatus;

type Register = unsafe extern "C" fn(RequestBuffer, CompleteBuffer) -> CuptiStatus;
type WithNumber = unsafe extern "C" fn(u32) -> CuptiStatus;
type ResultText = unsafe extern "C" fn(CuptiStatus, *mut *const c_char) -> CuptiStatus;

/// Functions of a library that stays loaded until the process ends, because it can call back at any time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cupti {
    pub release: CuptiRelease,
    register: Register,
    enable: WithNumber,
    disable: WithNumber,
    flush: WithNumber,
    pub next: NextRecord,
    text: ResultText,
}

impl Cupti {
    /// Loads a library.
    ///
    /// # Errors
    /// It cannot be loaded, a function is missing, or the format of its records is unknown for this version.
    pub fn load(path: &Path) -> Result<Self, ActivityError> {
        let unfit = |reason: String| ActivityError::Unfit { library: path.to_owned(), reason };
        // SAFETY: loading a library runs its initialisers. By its name this is CUPTI, from places where the user has installed
        // it, and this process measures nothing else.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        // Never unloaded: CUPTI's threads call back.
        let absent = |error: libloading::Error| match path.is_absolute() {
            true => unfit(error.to_string()),
            // The loader does not report whether the name is unknown or the file is unreadable.
            false => ActivityError::NotFound { looked: error.to_string() },
        };
        let library: &'static Library = Box::leak(Box::new(library.map_err(absent)?));
        let find = |name| symbol(library, name).map_err(unfit);
        let version = find("cuptiGetVersion")?;
        // SAFETY: `cupti_version.h` gives the function of this name this type since CUDA 11.
        let version = unsafe { transmute::<*mut c_void, unsafe extern "C" fn(*mut u32) -> CuptiStatus>(version) };
        let mut api = 0;
        // SAFETY: it writes one `uint32_t`.
        let status = unsafe { version(&raw mut api) };
        if status != 0 {
            return Err(unfit(format!("cuptiGetVersion failed with {status}")));
        }
        let unknown = || {
            unfit(format!(
                "CUPTI API version {api}: the records of CUPTI {OLDEST} to {NEWEST} are known; install one of these"
            ))
        };
        let release = release(api).ok_or_else(unknown)?;
        let (register, next) = (find("cuptiActivityRegisterCallbacks")?, find("cuptiActivityGetNextRecord")?);
        let (enable, disable) = (find("cuptiActivityEnable")?, find("cuptiActivityDisable")?);
        let (flush, text) = (find("cuptiActivityFlushAll")?, find("cuptiGetResultString")?);
        // SAFETY: `cupti_activity.h` and `cupti_result.h` give the functions of these names these types since CUDA 11.
        Ok(unsafe {
            Self {
                release,
                register: transmute::<*mut c_void, Register>(register),
                enable: transmute::<*mut c_void, WithNumber>(enable),
                disable: transmute::<*mut c_void, WithNumber>(disable),
                flush: transmute::<*mut c_void, WithNumber>(flush),
                next: transmute::<*mut c_void, NextRecord>(next),
                text: transmute::<*mut c_void, ResultText>(text),
            }
        })
    }

    /// Registers the callbacks with which CUPTI requests and returns buffers.
    pub fn register(&self, request: RequestBuffer, complete: CompleteBuffer) -> Result<(), ActivityError> {
        // SAFETY: both have the types of `CUpti_BuffersCallbackRequestFunc` and `...CompleteFunc`, and live as long as the
        // process.
        self.check("cuptiActivityRegisterCallbacks", unsafe { (self.register)(request, complete) })
    }

    /// Starts recording of an activity kind.
    pub fn enable(&self, kind: u32) -> Result<(), ActivityError> {
        // SAFETY: it takes a number, and refuses unknown kinds.
        self.check("cuptiActivityEnable", unsafe { (self.enable)(kind) })
    }

    /// Stops recording of an activity kind.
    pub fn disable(&self, kind: u32) -> Result<(), ActivityError> {
        // SAFETY: as `enable`.
        self.check("cuptiActivityDisable", unsafe { (self.disable)(kind) })
    }

    /// Makes CUPTI return the buffers whose records are complete, or all of them.
    pub fn flush(&self, all: bool) -> Result<(), ActivityError> {
        // SAFETY: it takes a flag (`CUPTI_ACTIVITY_FLAG_FLUSH_FORCED` is 1) and calls the registered callbacks.
        self.check("cuptiActivityFlushAll", unsafe { (self.flush)(u32::from(all)) })
    }

    fn check(&self, call: &'static str, status: CuptiStatus) -> Result<(), ActivityError> {
        if status == 0 {
            return Ok(());
        }
        let mut text = std::ptr::null();
        // SAFETY: it writes the address of a text that lives as long as the library, or fails.
        let named = unsafe { (self.text)(status, &raw mut text) } == 0 && !text.is_null();
        // SAFETY: the returned text ends with a NUL.
        let name = named.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        Err(ActivityError::Call { call, reason: name.unwrap_or_else(|| format!("error {status}")) })
    }
}

/// The address of a function of the library.
fn symbol(library: &Library, name: &'static str) -> Result<*mut c_void, String> {
    // SAFETY: an address fits any type; the caller chooses the type of its target.
    let found = unsafe { library.get::<*mut c_void>(name) }.map(|found| *found).ok();
    found.filter(|address| !address.is_null()).ok_or_else(|| format!("it has no `{name}`"))
}

/// Finds the CUPTI for a driver of this CUDA version. The search order is the loader's path, the toolkit of `CUDA_HOME`, that
/// of `CUDA_PATH`, `/usr/local/cuda`, and the packages of `python`; the first that can be loaded is used. A newer major version
/// than the driver's does not work and is skipped. Returns the library and the CUDA release that it came with.
///
/// # Errors
/// No library was found, or the first one found cannot be used.
pub fn find_cupti(cuda: (u32, u32), python: &Path) -> Result<(PathBuf, &'static str), ActivityError> {
    let mut refused = None;
    for path in candidates(cuda.0, python) {
        if path.is_absolute() && !path.is_file() {
            continue;
        }
        match Cupti::load(&path) {
            Ok(found) if found.release.major <= cuda.0 => return Ok((path, found.release.name)),
            Ok(found) => {
                let reason = format!(
                    "CUPTI {} is newer than the driver, which supports CUDA {}.{}",
                    found.release.name, cuda.0, cuda.1
                );
                refused = refused.or(Some(ActivityError::Unfit { library: path, reason }));
            }
            Err(ActivityError::NotFound { .. }) => {}
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let looked = || {
        "searched on the loader's path, in CUDA_HOME, CUDA_PATH, /usr/local/cuda and the packages of Python".to_owned()
    };
    Err(refused.unwrap_or_else(|| ActivityError::NotFound { looked: looked() }))
}

/// Names and paths, in search order.
fn candidates(major: u32, python: &Path) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::new()];
    for root in [std::env::var_os("CUDA_HOME"), std::env::var_os("CUDA_PATH"), Some(TOOLKIT.into())] {
        let root = PathBuf::from(root.unwrap_or_default());
        if root.is_absolute() {
            folders.extend(IN_TOOLKIT.map(|folder| root.join(folder)));
        }
    }
    add_packages(python, &mut folders);
    let mut found = Vec::new();
    for folder in folders {
        for of in MAJORS {
            if of <= major {
                found.push(folder.join(format!("libcupti.so.{of}")));
            }
        }
    }
    found
}

/// Adds the package folders of a Python: those of its environment, and those of Debian.
fn add_packages(python: &Path, folders: &mut Vec<PathBuf>) {
    let Some(prefix) = which::which(python).ok().and_then(|path| Some(path.parent()?.parent()?.to_owned())) else {
        return;
    };
    for library in ["lib", "local/lib"] {
        let Ok(entries) = prefix.join(library).read_dir() else { continue };
        for entry in entries.flatten() {
            if !entry.file_name().to_string_lossy().starts_with("python3") {
                continue;
            }
            for packages in ["site-packages", "dist-packages"] {
                folders.extend(IN_PACKAGES.map(|folder| entry.path().join(packages).join(folder)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_major_version_than_the_drivers_is_not_tried() {
        let names = |major| -> Vec<String> {
            let all = candidates(major, Path::new("no-such-python"));
            all.iter().filter(|path| !path.is_absolute()).map(|path| path.display().to_string()).collect()
        };
        assert_eq!(names(13), ["libcupti.so.13", "libcupti.so.12"]);
        assert_eq!(names(12), ["libcupti.so.12"]);
        assert_eq!(names(11), [""; 0]);
    }

    #[test]
    fn packages_are_those_beside_the_python() {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("bin/python3");
        std::fs::create_dir_all(python.parent().unwrap()).unwrap();
        ncugate_fixtures::write_program(&python, "#!/bin/sh\n");
        std::fs::create_dir_all(folder.path().join("lib/python3.12")).unwrap();
        let wheel = folder.path().join("lib/python3.12/site-packages/nvidia/cu13/lib/libcupti.so.13");
        assert!(candidates(13, &python).contains(&wheel));
    }

    #[test]
    fn what_is_not_a_library_is_an_error_and_not_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("libcupti.so.13");
        std::fs::write(&text, "not a library").unwrap();
        assert!(matches!(Cupti::load(&text), Err(ActivityError::Unfit { .. })));
        // libc is a library without CUPTI functions.
        let error = Cupti::load(Path::new("libc.so.6")).unwrap_err();
        assert!(error.to_string().contains("cuptiGetVersion"), "{error}");
    }
}
