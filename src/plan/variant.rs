//! The types of a plan.

use crate::config::LaunchPattern;
use crate::expr::Value;
use crate::model::CompiledLaunch;
use crate::model::ShapeName;
use crate::model::VariantId;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Whether a variant competes or is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Can be selected; gates apply to it.
    Candidate,
    /// Others are compared with it; never selected.
    Baseline,
}

/// One way to compute the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Stable id.
    pub id: VariantId,
    /// Candidate or baseline.
    pub standing: Standing,
    /// Parameters with their values, in the order of the sweep.
    pub params: Vec<(String, Value)>,
    /// How it computes.
    pub method: Method,
}

/// How a variant computes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A kernel that is built and launched here.
    Kernel(KernelPlan),
    /// A Python function over the workload's buffers, called by the worker.
    Function(FunctionPlan),
    /// A program that does everything itself.
    Command(CommandPlan),
    /// Launches of ncu reports that another program made.
    Captured(LaunchPattern),
}

/// A kernel with one choice of defines and flags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelPlan {
    /// The file that the kernel is in.
    pub source: PathBuf,
    /// What is in the file.
    #[serde(default, skip_serializing_if = "KernelCode::is_cuda")]
    pub code: KernelCode,
    /// Entry name.
    pub entry: String,
    /// nvcc flags, rendered.
    pub flags: Vec<String>,
    /// `-D` defines.
    pub defines: Vec<(String, String)>,
    /// One launch a shape, in the order of the phase's shapes.
    pub launches: Vec<Launch>,
}

/// What the file of a kernel holds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelCode {
    /// CUDA C++.
    #[default]
    Cuda,
    /// PTX, which nvcc assembles.
    Ptx,
    /// Machine code.
    Cubin,
    /// A Python module with a kernel that Triton compiles.
    Triton(TritonKernel),
}

impl KernelCode {
    /// Whether it is CUDA C++.
    pub const fn is_cuda(&self) -> bool {
        matches!(self, Self::Cuda)
    }
}

/// What Triton compiles a function for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TritonKernel {
    /// Types of the arguments in Triton's notation, with what their values are known to be multiples of (`*fp16:16`, `i32`).
    pub signature: Vec<String>,
    /// Parameters of the variant: constexprs of the function, or options of the compiler.
    pub constants: Vec<(String, Value)>,
}

/// A Python function; its parameters are the variant's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionPlan {
    /// The module.
    pub file: PathBuf,
    /// The function in it.
    pub function: String,
    /// Regular expression of the kernels that count.
    pub kernel_filter: Option<String>,
}

/// A program and its arguments, rendered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPlan {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Regular expression of the kernels that count.
    pub kernel_filter: Option<String>,
}

/// What is launched at one shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launch {
    /// The shape.
    pub shape: ShapeName,
    /// Blocks a grid.
    pub grid: [u32; 3],
    /// Threads a block.
    pub block: [u32; 3],
    /// Blocks a cluster; `[1, 1, 1]` for an ordinary launch.
    pub cluster: [u32; 3],
    /// Dynamic shared memory a block in bytes.
    pub dynamic_shared: u32,
    /// What takes it, by array, where the phase declares arrays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dynamic_arrays: Vec<(String, u32)>,
    /// Arguments in the order of the signature.
    pub args: Vec<Arg>,
}

impl Launch {
    /// Threads a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks a grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// The launch as the kernel's compiler says that it has to be, where it says.
    pub fn compiled_as(&self, compiled: Option<&CompiledLaunch>) -> Self {
        let Some(compiled) = compiled else { return self.clone() };
        let workspace = compiled.workspace.iter().map(|bytes| Arg::Workspace(bytes.saturating_mul(self.blocks())));
        Self {
            block: [compiled.threads, 1, 1],
            dynamic_shared: compiled.dynamic_shared,
            args: self.args.iter().cloned().chain(workspace).collect(),
            ..self.clone()
        }
    }
}

/// A kernel argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// Device pointer of the buffer of that name.
    Buffer(String),
    /// A tensor map of a buffer, by value.
    TensorMap(TensorMap),
    /// A value.
    Scalar(ScalarValue),
    /// Device pointer of so many bytes that only this kernel uses; a null pointer where there are none.
    Workspace(u64),
}

/// How bulk tensor copies see a buffer, whose address, type and extents it takes where it is launched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorMap {
    /// Its name, for errors.
    pub name: String,
    /// The buffer.
    pub buffer: String,
    /// Elements of one copy along each axis of the buffer, in the buffer's order (outermost first).
    pub box_dims: Vec<u32>,
    /// Swizzle of shared memory.
    pub swizzle: Swizzle,
}

/// The span within which a bulk copy permutes chunks of 16 bytes in shared memory; its number is bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u32", try_from = "u32")]
pub enum Swizzle {
    /// Rows lie in shared memory as they are.
    None,
    /// 32 bytes.
    Span32,
    /// 64 bytes.
    Span64,
    /// 128 bytes.
    Span128,
}

impl From<Swizzle> for u32 {
    fn from(swizzle: Swizzle) -> Self {
        match swizzle {
            Swizzle::None => 0,
            Swizzle::Span32 => 32,
            Swizzle::Span64 => 64,
            Swizzle::Span128 => 128,
        }
    }
}

impl TryFrom<u32> for Swizzle {
    type Error = String;

    fn try_from(bytes: u32) -> Result<Self, String> {
        let all = [Self::None, Self::Span32, Self::Span64, Self::Span128];
        all.into_iter()
            .find(|&swizzle| u32::from(swizzle) == bytes)
            .ok_or_else(|| format!("no swizzle of {bytes} bytes"))
    }
}

/// A scalar with its C type.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalarValue {
    /// `float`
    F32(f32),
    /// `double`
    F64(f64),
    /// `int`
    I32(i32),
    /// `long long`
    I64(i64),
    /// `unsigned`
    U32(u32),
}

/// Every variant of a phase: candidates in sweep order, then named candidates, then baselines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The variants.
    pub variants: Vec<Variant>,
}

impl Plan {
    /// The variant of that id.
    pub fn variant(&self, id: &VariantId) -> Option<&Variant> {
        self.variants.iter().find(|v| &v.id == id)
    }

    /// Those that compete.
    pub fn candidates(&self) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(|v| v.standing == Standing::Candidate)
    }

    /// Kernels that Triton compiles.
    pub fn triton_kernels(&self) -> impl Iterator<Item = (&VariantId, &KernelPlan)> {
        self.variants.iter().filter_map(|variant| match &variant.method {
            Method::Kernel(kernel) if matches!(kernel.code, KernelCode::Triton(_)) => Some((&variant.id, kernel)),
            Method::Kernel(_) | Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
        })
    }

    /// External commands.
    pub fn commands(&self) -> impl Iterator<Item = (&VariantId, &CommandPlan)> {
        self.variants.iter().filter_map(|variant| match &variant.method {
            Method::Kernel(_) | Method::Function(_) | Method::Captured(_) => None,
            Method::Command(command) => Some((&variant.id, command)),
        })
    }

    /// Those that are compared with.
    pub fn baselines(&self) -> impl Iterator<Item = &Variant> {
        self.variants.iter().filter(|v| v.standing == Standing::Baseline)
    }
}
