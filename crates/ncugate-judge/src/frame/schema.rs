//! Column names and types of every frame, in one place.

/// Columns of the metrics frame: one row per launch and metric.
pub mod metrics {
    /// Name of the launch's report, as given by the caller.
    pub const REPORT: &str = "report";
    /// Id that ncu prints, counted from 0 over all processes.
    pub const LAUNCH: &str = "launch";
    /// Function name of the kernel.
    pub const KERNEL: &str = "kernel";
    /// Full metric name.
    pub const METRIC: &str = "metric";
    /// Base unit; empty for numbers without one.
    pub const UNIT: &str = "unit";
    /// Value as a number. Null for text and for missing values; NaN where the report holds NaN.
    pub const VALUE: &str = "value";
    /// Value as text: strings, and integers that a double does not hold exactly. Null otherwise.
    pub const TEXT: &str = "text";
}

/// Columns of the launches frame: one row per launch. Values missing from the report are null.
pub mod launches {
    pub use super::metrics::{KERNEL, LAUNCH, REPORT};

    /// Type of the result: `kernel`, `range`, `command list`, `graph`.
    pub const KIND: &str = "kind";
    /// Symbol of the kernel in its module.
    pub const SYMBOL: &str = "symbol";
    /// Demangled name of the kernel.
    pub const DEMANGLED: &str = "demangled";
    pub const PID: &str = "pid";
    /// Name of the executable.
    pub const PROCESS: &str = "process";
    pub const CONTEXT: &str = "context";
    pub const STREAM: &str = "stream";
    /// Index of the device.
    pub const DEVICE: &str = "device";
    pub const DEVICE_NAME: &str = "device_name";
    /// Compute capability as in `9.0`.
    pub const CAPABILITY: &str = "cc";
    /// Multiprocessors of the device.
    pub const SM_COUNT: &str = "sm_count";
    /// Blocks of the grid.
    pub const GRID: [&str; 3] = ["grid_x", "grid_y", "grid_z"];
    /// Threads of a block.
    pub const BLOCK: [&str; 3] = ["block_x", "block_y", "block_z"];
    /// Blocks of a cluster; null without clusters.
    pub const CLUSTER: [&str; 3] = ["cluster_x", "cluster_y", "cluster_z"];
    /// NVTX ranges around the launch, outermost first, as `name` or `domain@name`, separated by ` > `.
    pub const NVTX: &str = "nvtx";
    /// Whether ncu was configured to lock the clocks.
    pub const CLOCK_REQUESTED: &str = "clock_lock_requested";
    pub const CLOCK_LOCKED: &str = "clock_locked";
    /// Time of the measurement, in seconds since 1970.
    pub const CREATED: &str = "created";
}

/// Columns of the table of all measurements: one row per variant and shape.
///
/// | column | type | |
/// | --- | --- | --- |
/// | `variant` | String | id of the variant |
/// | `shape` | String | name of the shape |
/// | a metric, by its name | Float64 | in the metric's unit; null where it is absent |
/// | `<metric>.reason` | String | why it is absent, null where it is not; left out where no value of the metric is |
///
/// `ncugate problem export` adds the plan's facts of the variants.
pub mod wide {
    /// Id of the variant.
    pub const VARIANT: &str = "variant";
    /// Name of the shape.
    pub const SHAPE: &str = "shape";
    /// Whether the variant is a candidate or a baseline.
    pub const STANDING: &str = "standing";
    /// Whether the variant is within tolerance at the shape.
    pub const CORRECT: &str = "correct";

    /// The column with the reasons for a metric's absent values.
    pub fn reason(metric: &str) -> String {
        format!("{metric}.reason")
    }
}
