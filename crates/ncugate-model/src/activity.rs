//! Kernel launches from CUPTI activity records: the facts available without permission to read counters.

use serde::{Deserialize, Serialize};

/// An executed kernel launch, stored as its kernel and its numbers, in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "(String, Vec<u64>)", into = "(String, Vec<u64>)")]
pub struct TracedLaunch {
    /// The kernel's symbol.
    pub kernel: String,
    /// Start on the GPU, in nanoseconds of CUPTI's clock.
    pub start_ns: u64,
    pub end_ns: u64,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of static shared memory per block.
    pub static_shared: u32,
    /// Bytes of dynamic shared memory per block.
    pub dynamic_shared: u32,
    /// Bytes of local memory per thread.
    pub local: u32,
    /// Grid size in blocks.
    pub grid: [u32; 3],
    /// Block size in threads.
    pub block: [u32; 3],
    /// Cluster size in blocks; zeros without clusters.
    pub cluster: [u32; 3],
}

/// The executing GPU as the driver describes it, in place of the attributes in an ncu report. Stored as its numbers,
/// in the order of the fields, 0 for unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct TracedChip {
    pub l2_bytes: u64,
    pub sms: u32,
    /// Highest clock of the multiprocessors in kHz.
    pub clock_khz: Option<u32>,
    /// Highest clock of memory in kHz.
    pub memory_clock_khz: Option<u32>,
    /// Width of the memory bus in bits.
    pub memory_bus_bits: Option<u32>,
}

/// The launches of a case, traced in a separate process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityTrace {
    /// The CUDA release of the tracing CUPTI (`13.0`).
    pub cupti: String,
    pub chip: TracedChip,
    /// The launches of each evaluation, in execution order.
    pub evaluations: Vec<Vec<TracedLaunch>>,
    /// Duration of an empty kernel in the same process: what CUPTI adds to the work of every launch. None in records of
    /// form 2 and before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_ns: Option<u64>,
}

impl From<TracedLaunch> for (String, Vec<u64>) {
    fn from(launch: TracedLaunch) -> Self {
        let TracedLaunch { registers, static_shared, dynamic_shared, local, grid, block, cluster, .. } = launch;
        let mut numbers = vec![launch.start_ns, launch.end_ns];
        let sizes = [registers, static_shared, dynamic_shared, local];
        for size in sizes.iter().chain(&grid).chain(&block).chain(&cluster) {
            numbers.push(u64::from(*size));
        }
        (launch.kernel, numbers)
    }
}

/// A wrong count of numbers, or one too large for its field, is refused: read as 0, it would pass a gate such as
/// `registers <= 32`.
impl TryFrom<(String, Vec<u64>)> for TracedLaunch {
    type Error = String;

    fn try_from((kernel, numbers): (String, Vec<u64>)) -> Result<Self, String> {
        let [start_ns, end_ns, sizes @ ..] = numbers.as_slice() else {
            return Err(format!("a traced launch has {} numbers", numbers.len()));
        };
        let sizes: Vec<u32> =
            sizes.iter().map(|size| u32::try_from(*size)).collect::<Result<_, _>>().map_err(too_large)?;
        let [registers, static_shared, dynamic_shared, local, gx, gy, gz, bx, by, bz, cx, cy, cz] = sizes[..] else {
            return Err(format!("a traced launch has {} numbers", numbers.len()));
        };
        Ok(Self {
            kernel,
            start_ns: *start_ns,
            end_ns: *end_ns,
            registers,
            static_shared,
            dynamic_shared,
            local,
            grid: [gx, gy, gz],
            block: [bx, by, bz],
            cluster: [cx, cy, cz],
        })
    }
}

fn too_large(_: std::num::TryFromIntError) -> String {
    "a number in a trace is too large".to_owned()
}

impl From<TracedChip> for Vec<u64> {
    fn from(chip: TracedChip) -> Self {
        let known = |number: Option<u32>| u64::from(number.unwrap_or(0));
        let (clock, memory) = (known(chip.clock_khz), known(chip.memory_clock_khz));
        vec![chip.l2_bytes, u64::from(chip.sms), clock, memory, known(chip.memory_bus_bits)]
    }
}

impl TryFrom<Vec<u64>> for TracedChip {
    type Error = String;

    fn try_from(numbers: Vec<u64>) -> Result<Self, String> {
        let [l2_bytes, sms, clock, memory_clock, bus] = numbers[..] else {
            return Err(format!("a traced chip has {} numbers", numbers.len()));
        };
        let size = |number: u64| u32::try_from(number).map_err(too_large);
        let known = |number: u64| size(number).map(|number| Some(number).filter(|number| *number > 0));
        Ok(Self {
            l2_bytes,
            sms: size(sms)?,
            clock_khz: known(clock)?,
            memory_clock_khz: known(memory_clock)?,
            memory_bus_bits: known(bus)?,
        })
    }
}

impl TracedLaunch {
    /// The values in a record, by their ncu names.
    pub const COUNTERS: [&str; 16] = [
        "gpu__time_duration.sum",
        "launch__registers_per_thread",
        "launch__shared_mem_per_block_static",
        "launch__shared_mem_per_block_dynamic",
        "launch__grid_size",
        "launch__grid_dim_x",
        "launch__grid_dim_y",
        "launch__grid_dim_z",
        "launch__block_size",
        "launch__block_dim_x",
        "launch__block_dim_y",
        "launch__block_dim_z",
        "launch__thread_count",
        "launch__cluster_dim_x",
        "launch__cluster_dim_y",
        "launch__cluster_dim_z",
    ];

    /// Duration in nanoseconds; none if the times are not those of a launch.
    pub fn duration_ns(&self) -> Option<u64> {
        self.end_ns.checked_sub(self.start_ns).filter(|ns| *ns > 0 && self.start_ns > 0)
    }

    /// The value of a record under ncu's name, if it has one.
    pub fn counter(&self, name: &str) -> Option<f64> {
        let blocks = size(self.grid);
        let threads = size(self.block);
        Some(match name {
            "gpu__time_duration.sum" => self.duration_ns()? as f64,
            "launch__registers_per_thread" => f64::from(self.registers),
            "launch__shared_mem_per_block_static" => f64::from(self.static_shared),
            "launch__shared_mem_per_block_dynamic" => f64::from(self.dynamic_shared),
            "launch__grid_size" => blocks,
            "launch__grid_dim_x" => f64::from(self.grid[0]),
            "launch__grid_dim_y" => f64::from(self.grid[1]),
            "launch__grid_dim_z" => f64::from(self.grid[2]),
            "launch__block_size" => threads,
            "launch__block_dim_x" => f64::from(self.block[0]),
            "launch__block_dim_y" => f64::from(self.block[1]),
            "launch__block_dim_z" => f64::from(self.block[2]),
            "launch__thread_count" => blocks * threads,
            "launch__cluster_dim_x" => self.cluster_extent(0),
            "launch__cluster_dim_y" => self.cluster_extent(1),
            "launch__cluster_dim_z" => self.cluster_extent(2),
            _ => return None,
        })
    }

    /// Like ncu: 0 for a launch without clusters.
    fn cluster_extent(&self, axis: usize) -> f64 {
        if size(self.cluster) > 1.0 { f64::from(self.cluster[axis]) } else { 0.0 }
    }
}

fn size(extents: [u32; 3]) -> f64 {
    extents.into_iter().map(f64::from).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> TracedLaunch {
        TracedLaunch {
            kernel: "copy".to_owned(),
            start_ns: 1_000,
            end_ns: 11_500,
            registers: 32,
            static_shared: 1024,
            dynamic_shared: 4096,
            grid: [4, 3, 2],
            block: [128, 2, 1],
            ..TracedLaunch::default()
        }
    }

    #[test]
    fn every_name_that_a_record_claims_has_a_value() {
        for name in TracedLaunch::COUNTERS {
            assert!(launch().counter(name).is_some(), "{name}");
        }
        let read = |name| launch().counter(name);
        assert_eq!(read("gpu__time_duration.sum"), Some(10_500.0));
        assert_eq!((read("launch__grid_size"), read("launch__block_size")), (Some(24.0), Some(256.0)));
        assert_eq!((read("launch__thread_count"), read("dram__bytes.sum")), (Some(6144.0), None));
    }

    #[test]
    fn what_is_stored_is_read_again_and_what_is_cut_off_is_refused() {
        let stored = serde_json::to_string(&launch()).unwrap();
        assert_eq!(stored, r#"["copy",[1000,11500,32,1024,4096,0,4,3,2,128,2,1,0,0,0]]"#);
        assert_eq!(serde_json::from_str::<TracedLaunch>(&stored).unwrap(), launch());
        for wrong in [
            r#"["copy",[1000]]"#,
            r#"["copy",[1000,11500]]"#,
            r#"["copy",[1000,11500,32,1024,4096,0,4,3,2,128,2,1,0,0]]"#,
            r#"["copy",[1000,11500,32,1024,4096,0,4,3,2,128,2,1,0,0,0,0]]"#,
            r#"["copy",[1000,11500,4294967296,1024,4096,0,4,3,2,128,2,1,0,0,0]]"#,
        ] {
            assert!(serde_json::from_str::<TracedLaunch>(wrong).is_err(), "{wrong}");
        }
        let chip =
            TracedChip { l2_bytes: 5, sms: 132, clock_khz: Some(7), memory_clock_khz: None, memory_bus_bits: Some(9) };
        let stored = serde_json::to_string(&chip).unwrap();
        assert_eq!((stored.as_str(), serde_json::from_str::<TracedChip>(&stored).unwrap()), ("[5,132,7,0,9]", chip));
        assert!(serde_json::from_str::<TracedChip>("[5,132,7,0]").is_err());
    }

    #[test]
    fn times_that_are_none_give_no_duration() {
        for (start_ns, end_ns) in [(0, 0), (0, 10), (10, 10), (11, 10)] {
            assert_eq!(TracedLaunch { start_ns, end_ns, ..launch() }.counter("gpu__time_duration.sum"), None);
        }
    }
}
