//! Field numbers of the report's messages, one module per message. Those of results depend on the kind: see
//! [`crate::layout`]. Only fields that are read or redacted are named here; the reader skips the rest.

/// The first four bytes of a report.
pub(crate) const MAGIC: [u8; 4] = *b"NVR\0";
/// The container version of these numbers, and the oldest accepted one.
pub(crate) const VERSION: u64 = 7;

pub(crate) mod file_header {
    pub(crate) const VERSION: u32 = 1;
}

pub(crate) mod block_header {
    pub(crate) const SOURCES: u32 = 1;
    pub(crate) const KERNELS: u32 = 2;
    pub(crate) const SESSION: u32 = 3;
    pub(crate) const STRING_TABLE: u32 = 4;
    pub(crate) const PAYLOAD_SIZE: u32 = 5;
    pub(crate) const PROCESS: u32 = 6;
    pub(crate) const RANGES: u32 = 7;
    pub(crate) const COMMAND_LISTS: u32 = 8;
    pub(crate) const GRAPHS: u32 = 9;
}

pub(crate) mod string_table {
    pub(crate) const STRING: u32 = 1;
}

pub(crate) mod process {
    pub(crate) const PID: u32 = 1;
    pub(crate) const HOST: u32 = 2;
    pub(crate) const EXECUTABLE: u32 = 3;
}

pub(crate) mod session {
    pub(crate) const CREATED: u32 = 2;
    pub(crate) const HOST: u32 = 3;
    pub(crate) const TARGET: u32 = 4;
    pub(crate) const DEVICE: u32 = 6;
    pub(crate) const COMMENTS: u32 = 7;
    pub(crate) const VERSION: u32 = 8;
    pub(crate) const EXECUTABLE_SETTINGS: u32 = 9;
    pub(crate) const COMMAND_LINE: u32 = 11;
}

pub(crate) mod system_info {
    pub(crate) const OS: u32 = 1;
    pub(crate) const BUILD: u32 = 2;
    pub(crate) const CPU: u32 = 3;
    pub(crate) const ARCHITECTURE: u32 = 4;
    pub(crate) const COMPUTER: u32 = 5;
    pub(crate) const ADDRESS: u32 = 7;
}

pub(crate) mod ip_address {
    pub(crate) const TEXT: u32 = 1;
}

pub(crate) mod executable_settings {
    pub(crate) const PATH: u32 = 1;
    pub(crate) const WORKING_FOLDER: u32 = 2;
    pub(crate) const ARGUMENTS: u32 = 3;
    pub(crate) const ENVIRONMENT: u32 = 4;
}

pub(crate) mod version_info {
    pub(crate) const PROVIDER: u32 = 1;
    pub(crate) const VERSION: u32 = 2;
}

pub(crate) mod device_attributes {
    pub(crate) const ID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const ATTRIBUTE: u32 = 3;
}

pub(crate) mod device_attribute {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
}

pub(crate) mod clock_status {
    pub(crate) const REQUESTED: u32 = 1;
    pub(crate) const LOCKED: u32 = 2;
}

/// `ProfileMetricResult`.
pub(crate) mod metric {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
    pub(crate) const INSTANCE: u32 = 3;
    pub(crate) const CATEGORY: u32 = 4;
}

pub(crate) mod metric_instance {
    pub(crate) const CORRELATION: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
}

pub(crate) mod metric_value {
    pub(crate) const STRING: u32 = 1;
    pub(crate) const FLOAT: u32 = 2;
    pub(crate) const DOUBLE: u32 = 3;
    pub(crate) const U32: u32 = 4;
    pub(crate) const U64: u32 = 5;
}

pub(crate) mod source {
    pub(crate) const REFERENCE: u32 = 1;
    pub(crate) const CODE: u32 = 2;
    pub(crate) const INTERMEDIATE: u32 = 3;
    pub(crate) const BINARY: u32 = 4;
    pub(crate) const SM_VERSION: u32 = 6;
    pub(crate) const FILES: u32 = 8;
}

pub(crate) mod source_files {
    pub(crate) const FILE: u32 = 1;
}

pub(crate) mod source_file {
    pub(crate) const PATH: u32 = 1;
    pub(crate) const CONTENT: u32 = 2;
}

pub(crate) mod nvtx_state {
    pub(crate) const DOMAIN: u32 = 1;
    pub(crate) const THREAD: u32 = 2;
    pub(crate) const START_END_DOMAIN: u32 = 3;
    pub(crate) const SCOPE: u32 = 5;
}

pub(crate) mod nvtx_domain_info {
    pub(crate) const ID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
}

pub(crate) mod nvtx_thread {
    pub(crate) const ID: u32 = 1;
    pub(crate) const DOMAIN: u32 = 2;
}

/// A domain with its ranges, of either kind.
pub(crate) mod nvtx_domain {
    pub(crate) const ID: u32 = 1;
    pub(crate) const RANGE: u32 = 3;
}

pub(crate) mod nvtx_push_pop_range {
    pub(crate) const NAME: u32 = 1;
}

pub(crate) mod nvtx_start_end_range {
    pub(crate) const NAME: u32 = 2;
}

pub(crate) mod rule_result {
    pub(crate) const ID: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const BODY: u32 = 3;
    pub(crate) const SECTION: u32 = 4;
    pub(crate) const SOURCE_MARKER: u32 = 5;
}

pub(crate) mod rule_body {
    pub(crate) const ITEM: u32 = 1;
}

pub(crate) mod rule_item {
    pub(crate) const MESSAGE: u32 = 1;
    pub(crate) const FOCUS_METRIC: u32 = 8;
    pub(crate) const SPEEDUP: u32 = 10;
    pub(crate) const TABLE: u32 = 12;
}

pub(crate) mod rule_message {
    pub(crate) const TEXT: u32 = 1;
    pub(crate) const KIND: u32 = 2;
    pub(crate) const TITLE: u32 = 4;
}

pub(crate) mod focus_metric {
    pub(crate) const NAME: u32 = 2;
    pub(crate) const VALUE: u32 = 3;
    pub(crate) const SEVERITY: u32 = 4;
    pub(crate) const HINT: u32 = 5;
}

pub(crate) mod speedup {
    pub(crate) const SCOPE: u32 = 1;
    pub(crate) const PERCENT: u32 = 2;
}

pub(crate) mod rule_table {
    pub(crate) const COLUMN: u32 = 2;
}

pub(crate) mod table_column {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const TEXT: u32 = 4;
    pub(crate) const DOUBLE: u32 = 5;
    pub(crate) const INTEGER: u32 = 6;
}

pub(crate) mod source_marker {
    pub(crate) const FILE: u32 = 6;
}

pub(crate) mod call_stack {
    pub(crate) const FRAME: u32 = 1;
}

/// Its fields that hold paths.
pub(crate) mod stack_frame {
    pub(crate) const PATH: u32 = 1;
    pub(crate) const OTHER_PATH: u32 = 3;
}
