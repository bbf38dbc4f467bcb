//! Arguments of `demo` and `init`.

use super::{OutputArgs, OutputFormat};
use clap::Args;
use ncugate_model::Dtype;
use std::path::PathBuf;

/// A floating-point type of a PyTorch tensor.
fn floating_dtype(text: &str) -> Result<Dtype, String> {
    let known = [Dtype::F64, Dtype::F32, Dtype::F16, Dtype::Bf16];
    let names = known.map(Dtype::name).join(", ");
    known.into_iter().find(|dtype| dtype.name() == text).ok_or_else(|| format!("expected one of {names}"))
}

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
    /// Source of the kernel: `KERNEL.cu`, `FILE.py`, `FILE.py:KERNEL`; or, with --shape, a PyTorch function, which is called:
    /// `torch.nn.functional:gelu`, `FILE.py:FUNCTION`
    #[arg(value_name = "SOURCE")]
    pub source: PathBuf,
    /// Phase file to write, unless it exists [default: KERNEL.toml]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Kernel, if the source defines several
    #[arg(long, value_name = "NAME", conflicts_with = "shapes")]
    pub entry: Option<String>,
    /// Input of the function, by position or name (repeatable): `4096x8192`, `weight=8192`
    #[arg(long = "shape", value_name = "[NAME=]NxM")]
    pub shapes: Vec<String>,
    /// Further argument of the function (repeatable): `dim=-1`
    #[arg(long = "arg", value_name = "NAME=LITERAL", requires = "shapes")]
    pub arguments: Vec<String>,
    /// Type of the function's inputs
    #[arg(long, value_name = "TYPE", default_value = "f32", value_parser = floating_dtype, requires = "shapes")]
    pub dtype: Dtype,
    /// Also verify and time the gradients of the inputs
    #[arg(long, requires = "shapes")]
    pub backward: bool,
    /// Python with PyTorch
    #[arg(long, value_name = "PYTHON", requires = "shapes")]
    pub python: Option<PathBuf>,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
}
