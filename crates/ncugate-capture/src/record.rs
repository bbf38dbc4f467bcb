//! What `capture.c` writes of a launch.

use crate::CaptureError;
use memmap2::Mmap;
use ncugate_model::{ComputeCapability, Dtype};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Bytes before the contents in a NumPy file that `capture.c` writes.
pub const HEAD: usize = 128;
/// Bytes of a tensor map.
pub const MAP: usize = 128;

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
    pub(crate) maps: Vec<CapturedMap>,
    pub(crate) arrays: Vec<PointerArray>,
    pub(crate) variables: Vec<CapturedVariable>,
    pub(crate) images: Vec<CodeImage>,
    pub(crate) allocations: Vec<Allocation>,
    /// Parameters with another value in a later launch of the kernel.
    #[serde(skip)]
    pub(crate) varied: BTreeSet<usize>,
    #[serde(skip)]
    pub(crate) folder: PathBuf,
}

/// A tensor map in a parameter, by the driver's numbers.
#[derive(Debug, Deserialize)]
pub struct CapturedMap {
    pub(crate) parameter: usize,
    pub(crate) offset: usize,
    r#type: usize,
    pub(crate) address: u64,
    pub(crate) interleave: u32,
    pub(crate) swizzle: u32,
    pub(crate) promotion: u32,
    pub(crate) fill: u32,
    /// Innermost first.
    pub(crate) axes: Vec<MapAxis>,
}

/// An axis of a tensor map.
#[derive(Debug, Deserialize)]
pub struct MapAxis {
    pub(crate) size: u64,
    /// In bytes; 0 on the innermost axis.
    pub(crate) stride: u64,
    /// Elements of the box.
    pub(crate) extent: u32,
    pub(crate) step: u32,
}

impl CapturedMap {
    /// The type of its elements, if a buffer can have it.
    pub(crate) fn dtype(&self) -> Option<Dtype> {
        use Dtype::{Bf16, F16, F32, F64, I32, I64, U8, U16, U32, U64};
        [U8, U16, U32, I32, U64, I64, F16, F32, F64, Bf16].get(self.r#type).copied()
    }

    /// The name of its buffer: the parameter and, in a struct, its place.
    pub(crate) fn name(&self) -> String {
        if self.offset == 0 { format!("p{}", self.parameter) } else { format!("p{}_{}", self.parameter, self.offset) }
    }

    /// Whether a byte of its parameter is part of it.
    pub(crate) fn contains(&self, at: usize) -> bool {
        (self.offset..self.offset + MAP).contains(&at)
    }

    /// The end of its last element.
    pub(crate) fn end(&self, dtype: Dtype) -> u64 {
        let last = |axis: &MapAxis| (axis.size - 1) * axis.stride.max(dtype.size() as u64);
        self.address + self.axes.iter().map(last).sum::<u64>() + dtype.size() as u64
    }
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
        let varied = std::fs::read_to_string(folder.join("varied")).unwrap_or_default();
        capture.varied = varied.lines().filter_map(|number| number.parse().ok()).collect();
        let memory = (0..).zip(&capture.allocations).map(|(at, allocation)| (format!("m{at}"), allocation.bytes));
        let variables = capture.variables.iter().map(|variable| (variable.file.clone(), variable.bytes));
        for (name, bytes) in memory.chain(variables) {
            for when in ["before", "after"] {
                let path = folder.join(format!("{name}.{when}"));
                let length = path.metadata().map_err(CaptureError::file(&path))?.len();
                if length != bytes + HEAD as u64 {
                    let reason = format!("the file has {length} bytes, and the memory had {bytes} besides {HEAD}");
                    return Err(CaptureError::Damaged { path, reason });
                }
            }
        }
        Ok(capture)
    }

    /// The contents of memory before or after the launch.
    pub(crate) fn contents(&self, name: &str, when: &str) -> Result<MemoryContent, CaptureError> {
        let path = self.folder.join(format!("{name}.{when}"));
        let file = File::open(&path).map_err(CaptureError::file(&path))?;
        // SAFETY: the file is in a private folder of this process, and nobody writes it any more.
        unsafe { Mmap::map(&file) }.map(MemoryContent).map_err(CaptureError::file(path))
    }
}

/// The bytes of memory in a NumPy file.
#[derive(Debug)]
pub struct MemoryContent(Mmap);

impl Deref for MemoryContent {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0[HEAD..]
    }
}
