//! What somebody does first: looks at a page, and drafts a phase.

use super::{OutputArgs, OutputFormat};
use clap::Args;
use std::path::PathBuf;

/// `ncugate demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Folder of the recording and its report
    #[arg(short, long, value_name = "DIR", default_value = "ncugate-demo")]
    pub output: PathBuf,
    /// Output
    #[command(flatten)]
    pub saying: OutputArgs,
}

/// `ncugate init`
#[derive(Debug, Args)]
pub struct InitArgs {
    /// The kernel's source
    #[arg(value_name = "KERNEL.CU")]
    pub source: PathBuf,
    /// The phase to write; without it, the kernel's name with .toml. Nothing is written over
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The kernel, where the source defines several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// What standard output carries
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}
