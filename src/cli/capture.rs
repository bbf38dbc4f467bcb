//! Arguments of `capture`.

use super::OutputFormat;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `ncugate capture`
#[derive(Debug, Args)]
pub struct CaptureArgs {
    /// Program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub program: Vec<OsString>,
    /// Glob of the kernel: its function, its whole signature or its symbol
    #[arg(short, long, value_name = "GLOB", required_unless_present = "list")]
    pub kernel: Option<String>,
    /// Number of the launch among those that match in a process; the first is 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub launch: u64,
    /// Maximum size of the memory that the arguments point into
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 30)]
    pub max_bytes: u64,
    /// Copy the kernel's machine code even if it belongs to a library, whose licence has to allow it
    #[arg(long)]
    pub copy_code: bool,
    /// List the program's kernels with their launches, times and shares instead
    #[arg(long, conflicts_with_all = ["kernel", "launch", "max_bytes", "copy_code", "output"])]
    pub list: bool,
    /// Folder to write, with phase.toml; it must not exist
    #[arg(short, long, value_name = "DIR", required_unless_present = "list")]
    pub output: Option<PathBuf>,
    /// Format of standard output; with json, that of the program goes to standard error
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}
