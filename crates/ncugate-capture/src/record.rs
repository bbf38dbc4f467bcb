//! What `capture.c` writes of a launch.

use crate::CaptureError;
use memmap2::Mmap;
use ncugate_model::ComputeCapability;
use serde::Deserialize;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A launch that was copied.
#[derive(Debug, Deserialize)]
pub struct CaptureRecord {
    /// The kernel's symbol.
    pub kernel: String,
    /// The program's file.
    pub program: String,
    pub(crate) capability: ComputeCapability,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    /// Attributes of the launch: the driver's number, and the first words of the value.
    pub(crate) attributes: Vec<[u32; 4]>,
    /// The bytes of each parameter.
    pub(crate) parameters: Vec<Vec<u8>>,
    pub(crate) arrays: Vec<PointerArray>,
    pub(crate) variables: Vec<CapturedVariable>,
    pub(crate) images: Vec<CodeImage>,
    pub(crate) allocations: Vec<Allocation>,
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

/// An array of device pointers behind an argument.
#[derive(Debug, Deserialize)]
pub struct PointerArray {
    pub(crate) address: u64,
    pub(crate) values: Vec<u64>,
}

/// A variable of the kernel's module that the host filled.
#[derive(Debug, Deserialize)]
pub struct CapturedVariable {
    pub(crate) name: String,
    /// Its file without the ending.
    pub(crate) file: String,
    pub(crate) bytes: u64,
}

/// Code that the program loaded.
#[derive(Debug, Deserialize)]
pub struct CodeImage {
    pub(crate) file: String,
    /// The file that holds it; none in memory that the program filled.
    pub(crate) origin: Option<String>,
    /// The file whose code loaded it.
    pub(crate) caller: Option<String>,
}

/// Device memory that an argument points into.
#[derive(Debug, Deserialize)]
pub struct Allocation {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

impl CaptureRecord {
    /// Reads the files of a capture. Their sizes have to agree.
    ///
    /// # Errors
    /// A file is missing, truncated or unreadable.
    pub fn read(folder: &Path) -> Result<Self, CaptureError> {
        let path = folder.join("capture.json");
        let text = std::fs::read(&path).map_err(CaptureError::file(&path))?;
        let damaged = |error: serde_json::Error| CaptureError::Damaged { path, reason: error.to_string() };
        let mut capture: Self = serde_json::from_slice(&text).map_err(damaged)?;
        capture.folder = folder.to_owned();
        let memory = (0..).zip(&capture.allocations).map(|(at, allocation)| (format!("m{at}"), allocation.bytes));
        let variables = capture.variables.iter().map(|variable| (variable.file.clone(), variable.bytes));
        for (name, bytes) in memory.chain(variables) {
            for when in ["before", "after"] {
                let path = folder.join(format!("{name}.{when}"));
                let length = path.metadata().map_err(CaptureError::file(&path))?.len();
                if length != bytes {
                    let reason = format!("the file has {length} bytes, and the memory had {bytes}");
                    return Err(CaptureError::Damaged { path, reason });
                }
            }
        }
        Ok(capture)
    }

    /// The contents of memory before or after the launch.
    pub(crate) fn contents(&self, name: &str, when: &str) -> Result<Mmap, CaptureError> {
        let path = self.folder.join(format!("{name}.{when}"));
        let file = File::open(&path).map_err(CaptureError::file(&path))?;
        // SAFETY: the file is in a private folder of this process, and nobody writes it any more.
        unsafe { Mmap::map(&file) }.map_err(CaptureError::file(path))
    }
}
