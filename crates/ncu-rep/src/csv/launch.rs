//! Launches as ncu prints them.

use std::borrow::Cow;

use crate::value::MetricValue;

/// One metric of a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvMetric {
    /// Index of the name in the names of the CSV.
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
    /// NVTX ranges.
    pub ranges: Vec<CsvRange>,
    /// Metrics in the order of the CSV.
    pub metrics: Vec<CsvMetric>,
}

/// One NVTX range.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvRange {
    /// Name of the domain.
    pub domain: String,
    /// Name of the range.
    pub name: String,
    /// Whether it was pushed on the launch's thread, as opposed to started by any.
    pub is_pushed: bool,
}

impl CsvRange {
    /// The ranges of a cell: `1367  "DOMAIN:NAME:none:none:none:none:none:none"`, for each range one text in quotation
    /// marks; those of start/end ranges begin with a number.
    pub fn all(cell: &str, is_pushed: bool) -> Vec<Self> {
        let quoted = cell.split('"').skip(1).step_by(2);
        let range = |text: &str| {
            let text = if is_pushed { text } else { text.split_once(':').map_or(text, |(_, rest)| rest) };
            // The payload, the color and the message follow, two fields each.
            let named = text.rsplitn(7, ':').nth(6).unwrap_or(text);
            let (domain, name) = named.split_once(':').unwrap_or(("<default domain>", named));
            Self { domain: domain.to_owned(), name: name.to_owned(), is_pushed }
        };
        let ranges: Vec<Self> = quoted.map(range).collect();
        match cell.trim() {
            "" => Vec::new(),
            // Another program wrote the cell.
            text if ranges.is_empty() => vec![range(text)],
            _ => ranges,
        }
    }
}
