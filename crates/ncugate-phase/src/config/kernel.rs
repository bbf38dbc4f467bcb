//! Ways to compute a workload: a kernel template, the sweep over its defines, and named variants.

use super::argument::ArgTemplate;
use super::keys::{KERNEL, Key};
use ncugate_model::LaunchMode;
use ncugate_model::expr::{Expr, Template, Value};
use serde::{Deserialize, Serialize};

/// A kernel source, how to build it and what to launch of it; expressions see shape dimensions and variant parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTemplate {
    pub code: CodeForm,
    /// The file, over the variant's parameters.
    pub source: Template,
    /// nvcc flags over the variant's parameters (`-maxrregcount={{ REGCAP }}`).
    pub flags: Vec<Template>,
    /// Parameters passed as `-DNAME=value`.
    pub defines: Vec<String>,
    /// How bulk tensor copies see buffers; only those that `args` names are made.
    pub tensor_maps: Vec<TensorMapTemplate>,
    /// The shapes at which it is launched: those for which it is true; all where there is none.
    pub condition: Option<Expr>,
    /// Variables of the module that are written before a launch.
    pub symbols: Vec<SymbolTemplate>,
    /// What one evaluation does, in order; at least one step is a launch.
    pub steps: Vec<StepTemplate>,
}

impl KernelTemplate {
    /// Its launches, in order.
    pub fn launches(&self) -> impl Iterator<Item = &LaunchTemplate> {
        self.steps.iter().filter_map(|step| match &step.action {
            StepAction::Launch(launch) => Some(launch),
            StepAction::Memset { .. } | StepAction::Memcpy { .. } => None,
        })
    }
}

/// A variable of a module (`__constant__` or `__device__`), and what is written to it.
#[derive(Debug, Clone, PartialEq)]
pub struct SymbolTemplate {
    /// Its name, as C++ has it or mangled.
    pub name: String,
    /// A buffer by name, whose contents are written; else a value, as it is passed to a kernel.
    pub value: ArgTemplate,
}

/// A step of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTemplate {
    /// Its place in the kernel's list `launch`; none where there is no list and the kernel's own keys are the only launch.
    pub place: Option<usize>,
    pub action: StepAction,
}

#[derive(Debug, Clone, PartialEq)]
pub enum StepAction {
    Launch(LaunchTemplate),
    /// Sets every byte of a buffer.
    Memset {
        buffer: String,
        byte: u8,
    },
    /// Copies a buffer to another of as many bytes.
    Memcpy {
        from: String,
        to: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct LaunchTemplate {
    /// Name of the `__global__` function, over the variant's parameters: `extern "C"`, mangled, or as C++ has it, with
    /// namespaces and template arguments (`ns::reduce<float, {{ THREADS }}>`).
    pub entry: Template,
    /// Blocks a grid, 1 to 3 expressions; none of a Python function whose compiler says.
    pub grid: Vec<Expr>,
    /// Threads a block, 1 to 3 expressions; none of a Python function whose compiler says.
    pub block: Vec<Expr>,
    /// Blocks a cluster, 1 to 3 expressions; none for an ordinary launch.
    pub cluster: Vec<Expr>,
    /// What dynamic shared memory a block has; the sum.
    pub dynamic_shared: Vec<DynamicArray>,
    /// How it stands to the launches beside it and to its own blocks.
    pub mode: LaunchMode,
    /// Share of a multiprocessor's L1 and shared memory that is asked for as shared memory, in percent; none leaves it to
    /// the driver.
    pub carveout: Option<Expr>,
    /// Arguments in the order of the signature.
    pub args: Vec<ArgTemplate>,
    /// Bytes of memory behind each pointer that follows `args`; 0 for a null pointer.
    pub workspace: Vec<Expr>,
}

/// What the file of a kernel holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CodeForm {
    #[default]
    Cuda,
    Ptx,
    Cubin,
    /// A Python module with a kernel of Triton, Numba or CuTe DSL.
    Python,
}

impl CodeForm {
    pub const ALL: [Self; 4] = [Self::Cuda, Self::Ptx, Self::Cubin, Self::Python];

    /// The key that names the file.
    pub fn key(self) -> &'static Key {
        match self {
            Self::Cuda => &KERNEL.source,
            Self::Ptx => &KERNEL.ptx,
            Self::Cubin => &KERNEL.cubin,
            Self::Python => &KERNEL.python,
        }
    }

    /// Keys of `[kernel]` that have no meaning for it, and why.
    pub fn foreign(self) -> (Vec<&'static Key>, &'static str) {
        match self {
            Self::Cuda => (vec![], ""),
            Self::Ptx => (vec![&KERNEL.defines], "nothing is preprocessed"),
            Self::Cubin => (vec![&KERNEL.defines, &KERNEL.flags], "nothing is compiled"),
            Self::Python => (
                vec![
                    &KERNEL.entry,
                    &KERNEL.cluster,
                    &KERNEL.cooperative,
                    &KERNEL.carveout,
                    &KERNEL.workspace,
                    &KERNEL.tensor_maps,
                    &KERNEL.symbols,
                    &KERNEL.flags,
                    &KERNEL.defines,
                    &KERNEL.launch,
                ],
                "the function's compiler decides that",
            ),
        }
    }
}

/// A buffer as Hopper's bulk tensor copies see it: contiguous, of the buffer's shape and type at each workload shape.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorMapTemplate {
    /// Its name in `args`.
    pub name: String,
    pub buffer: String,
    /// Elements of one copy along each axis of the buffer, in the buffer's order (outermost first).
    pub box_dims: Vec<Expr>,
    /// Span in bytes within which a copy permutes 16-byte chunks of shared memory: 0 (not at all), 32, 64 or 128.
    pub swizzle: Expr,
}

/// Bytes of dynamic shared memory.
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicArray {
    /// The array, where the file declares arrays.
    pub name: Option<String>,
    pub bytes: Expr,
}

/// Parameter values to combine, and what to leave out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sweep {
    /// Parameter name to its values, in the order of the file.
    pub axes: Vec<(String, Vec<Value>)>,
    /// Keeps the combinations for which it is true.
    pub condition: Option<Expr>,
    /// The combinations that are candidates, where not all are.
    pub points: Option<Vec<Vec<(String, Value)>>>,
}

/// A program that computes, checks and times the workload itself (docs/external-commands.md).
#[derive(Debug, Clone, PartialEq)]
pub struct CommandTemplate {
    /// Program and arguments over the variant's parameters.
    pub argv: Vec<Template>,
    /// Regular expression of the kernels that count; every launch inside the variant's NVTX range when absent.
    pub kernel_filter: Option<String>,
}

/// A Python function over the workload's buffers.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionTemplate {
    /// The file, and the function behind a colon, over the variant's parameters.
    pub call: Template,
    /// Regular expression of the kernels that count; every launch inside the variant's NVTX range when absent.
    pub kernel_filter: Option<String>,
}

/// Launches of ncu reports that another program made. A launch has to fit every part that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LaunchPattern {
    /// Glob over the kernel's name: the function's, the qualified name with template arguments, or the whole signature.
    pub kernel: Option<String>,
    /// Glob over one of the NVTX ranges that were open, or over all of them (`outer > inner`).
    pub nvtx: Option<String>,
    /// Numbers of launches in their report, as ncu and `ncugate show` write them; any where there are none.
    pub launches: Vec<u32>,
    /// Glob over the report's file name.
    pub report: Option<String>,
}

/// How a named variant computes.
#[derive(Debug, Clone, PartialEq)]
pub enum VariantSpecKind {
    /// A kernel, with what the file overrides already merged over `[kernel]`.
    Kernel(Box<KernelTemplate>),
    Function(FunctionTemplate),
    Command(CommandTemplate),
    /// Nothing is run: launches of reports that another program made.
    Captured(LaunchPattern),
}

impl VariantSpecKind {
    /// The kernel; none for a command and for launches of a report.
    pub fn kernel(&self) -> Option<&KernelTemplate> {
        match self {
            Self::Kernel(kernel) => Some(kernel),
            Self::Function(_) | Self::Command(_) | Self::Captured(_) => None,
        }
    }
}

/// A variant or baseline named in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantSpec {
    /// Its name, also its id.
    pub name: String,
    pub params: Vec<(String, Value)>,
    pub kind: VariantSpecKind,
    /// Line of its table in the file, from 1.
    pub line: usize,
}
