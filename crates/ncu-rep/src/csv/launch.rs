//! Launches as ncu prints them.

use std::borrow::Cow;

use crate::value::MetricValue;

/// One metric of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvMetric {
    /// Index of the name in [`CsvReport::names`](super::CsvReport::names).
    pub name: u32,
    /// Base unit.
    pub unit: Cow<'static, str>,
    /// Value in that unit.
    pub value: MetricValue<'static>,
}

/// One launch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CsvLaunch {
    /// The id that ncu prints.
    pub id: u32,
    /// Kernel name as printed: demangled and simplified.
    pub kernel: String,
    /// Process id.
    pub pid: Option<u32>,
    /// Process name.
    pub process: String,
    /// Host.
    pub host: String,
    /// CUDA context.
    pub context: Option<u32>,
    /// CUDA stream.
    pub stream: Option<u32>,
    /// Blocks of the grid.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block.
    pub block: Option<[u32; 3]>,
    /// Device index.
    pub device: Option<u32>,
    /// Compute capability as printed.
    pub capability: String,
    /// NVTX columns that are not empty, as printed.
    pub nvtx: Vec<String>,
    /// Metrics in the order of the CSV.
    pub metrics: Vec<CsvMetric>,
}
