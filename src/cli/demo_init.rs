//! Arguments of `demo` and `init`.

use super::{OutputArgs, OutputFormat};
use clap::Args;
use std::path::PathBuf;

/// `ncugate demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Folder for the recording and its report
    #[arg(short, long, value_name = "DIR", default_value = "ncugate-demo")]
    pub output: PathBuf,
    /// Output
    #[command(flatten)]
    pub saying: OutputArgs,
}

/// `ncugate init`
#[derive(Debug, Args)]
pub struct InitArgs {
    /// CUDA source of the kernel
    #[arg(value_name = "KERNEL.CU")]
    pub source: PathBuf,
    /// Phase file to write, unless it exists [default: KERNEL.toml]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Kernel, if the source defines several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}
