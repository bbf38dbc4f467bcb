//! Ways to compute a workload: a kernel template, the sweep over its defines, and named variants.

use super::argument::ArgTemplate;
use super::keys::{KERNEL, Key};
use ncugate_model::{L2Property, LaunchMode, words};

use ncugate_model::expr::{Expr, Template, Value};
use serde::{Deserialize, Serialize};

/// A kernel source, its build and its launches; expressions see shape dimensions, variant parameters and the
/// number of SMs.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTemplate {
    pub code: CodeForm,
    /// The file, as a template over the variant's parameters.
    pub source: Template,
    /// Further sources whose machine code is linked with that of `source`.
    pub linked: Vec<Template>,
    /// nvcc flags, as templates over the variant's parameters (`-maxrregcount={{ REGCAP }}`).
    pub flags: Vec<Template>,
    /// Parameters whose values stand for nvcc flags, which follow `flags`.
    pub flag_axes: Vec<FlagAxis>,
    /// Parameters passed as `-DNAME=value`.
    pub defines: Vec<String>,
    /// Views of buffers for bulk tensor copies; only those named in `args` are created.
    pub tensor_maps: Vec<TensorMapTemplate>,
    /// Constants of a Python function that follow the shape.
    pub constexprs: Vec<(String, Expr)>,
    /// The condition on the shapes at which it is launched; all shapes if there is none.
    pub condition: Option<Expr>,
    /// Variables of the module to write before a launch.
    pub symbols: Vec<SymbolTemplate>,
    /// The steps of one evaluation, in order; at least one is a launch.
    pub steps: Vec<StepTemplate>,
}

impl KernelTemplate {
    /// Its launches, in the order of the file; those of a loop once.
    pub fn launches(&self) -> impl Iterator<Item = &LaunchTemplate> {
        self.steps.iter().flat_map(StepTemplate::leaves).filter_map(|step| match &step.action {
            StepAction::Launch(launch) => Some(launch.as_ref()),
            StepAction::Memset { .. } | StepAction::Memcpy { .. } | StepAction::Loop(_) => None,
        })
    }

    /// Whether the value of a name is part of a launch.
    pub fn names(&self, name: &str) -> bool {
        let counts = self.steps.iter().flat_map(StepTemplate::counts);
        let symbols = self.symbols.iter().map(|symbol| &symbol.value);
        let args = || self.launches().flat_map(|launch| &launch.args).chain(symbols.clone());
        let exprs = counts.chain(self.launches().flat_map(LaunchTemplate::exprs));
        let exprs = exprs.chain(self.constexprs.iter().map(|(_, expr)| expr));
        let mut exprs = exprs.chain(args().flat_map(ArgTemplate::parts).filter_map(ArgTemplate::expr));
        exprs.any(|expr| expr.names().iter().any(|(known, _)| *known == name)) || args().any(|arg| arg.names(name))
    }
}

/// A parameter of the sweep whose values are names of lists of nvcc flags.
#[derive(Debug, Clone, PartialEq)]
pub struct FlagAxis {
    pub name: String,
    /// Each value with its flags.
    pub values: Vec<(String, Vec<Template>)>,
}

impl FlagAxis {
    /// The value among `params` and its flags; none if they have no such value.
    pub fn chosen<'p>(&self, params: &'p [(String, Value)]) -> Option<(&'p str, &[Template])> {
        params.iter().find_map(|(name, value)| match value {
            Value::Text(text) if *name == self.name => {
                let flags = self.values.iter().find(|(known, _)| known == text).map(|(_, flags)| flags.as_slice());
                Some((text.as_str(), flags?))
            }
            _ => None,
        })
    }
}

/// A variable of a module (`__constant__` or `__device__`), and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct SymbolTemplate {
    /// Its C++ or mangled name.
    pub name: String,
    /// A buffer by name, whose content is written; else a value, as for a kernel argument.
    pub value: ArgTemplate,
}

/// A step of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTemplate {
    /// Its key path below the kernel (`launch[1]`); none if there is no list and the kernel's own keys are the only launch.
    pub place: Option<String>,
    pub action: StepAction,
}

impl StepTemplate {
    /// The step; for a loop, the steps in it.
    pub fn leaves(&self) -> Vec<&Self> {
        match &self.action {
            StepAction::Loop(repeated) => repeated.steps.iter().flat_map(Self::leaves).collect(),
            StepAction::Launch(_) | StepAction::Memset { .. } | StepAction::Memcpy { .. } => vec![self],
        }
    }

    /// The counts of the loop and of those in it.
    fn counts(&self) -> Vec<&Expr> {
        match &self.action {
            StepAction::Loop(LoopTemplate { indices, steps }) => {
                indices.iter().map(|(_, count)| count).chain(steps.iter().flat_map(Self::counts)).collect()
            }
            StepAction::Launch(_) | StepAction::Memset { .. } | StepAction::Memcpy { .. } => Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum StepAction {
    Launch(Box<LaunchTemplate>),
    /// Sets every byte of a buffer.
    Memset {
        buffer: String,
        byte: u8,
    },
    /// Copies a buffer to another of the same size.
    Memcpy {
        from: String,
        to: String,
    },
    Loop(LoopTemplate),
}

/// Steps that are repeated, as in nested loops of a host program.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopTemplate {
    /// Each index, which counts from 0, and its number of values; the outermost first. A count sees the indices before it.
    pub indices: Vec<(String, Expr)>,
    pub steps: Vec<StepTemplate>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LaunchTemplate {
    /// Name of the `__global__` function, over the variant's parameters: `extern "C"`, mangled, or a C++ name with
    /// namespaces and template arguments (`ns::reduce<float, {{ THREADS }}>`).
    pub entry: Template,
    /// Grid size in blocks, 1 to 3 expressions; none for a Python function whose compiler specifies it.
    pub grid: Vec<Expr>,
    /// Block size in threads, 1 to 3 expressions; none for a Python function whose compiler specifies it.
    pub block: Vec<Expr>,
    /// Cluster size in blocks, 1 to 3 expressions; none for an ordinary launch.
    pub cluster: Vec<Expr>,
    /// The parts of dynamic shared memory per block; the total is their sum.
    pub dynamic_shared: Vec<DynamicArray>,
    /// A constant of the source, in C++, that is the bytes of dynamic shared memory.
    pub shared_constant: Option<Template>,
    /// Its relation to neighbouring launches and among its own blocks.
    pub mode: LaunchMode,
    /// Requested share of a multiprocessor's L1 and shared memory for shared memory, in percent; none leaves it to the driver.
    pub carveout: Option<Expr>,
    /// How the L2 cache keeps a buffer.
    pub l2_window: Option<L2WindowTemplate>,
    /// Arguments in the order of the signature.
    pub args: Vec<ArgTemplate>,
    /// Bytes of memory behind each pointer that follows `args`; 0 for a null pointer.
    pub workspace: Vec<Expr>,
}

impl LaunchTemplate {
    /// Its expressions, without those of its arguments.
    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let axes = [&self.grid, &self.block, &self.cluster, &self.workspace].into_iter().flatten();
        let axes = axes.chain(self.dynamic_shared.iter().map(|array| &array.bytes)).chain(&self.carveout);
        axes.chain(
            self.l2_window
                .iter()
                .flat_map(|window| window.bytes.iter().chain([&window.hit_ratio]).chain(&window.set_aside)),
        )
    }
}

/// An access-policy window over a buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct L2WindowTemplate {
    pub buffer: String,
    /// Bytes from the buffer's start; all of it if there is none.
    pub bytes: Option<Expr>,
    /// The share of its lines with the property `hit`.
    pub hit_ratio: Expr,
    pub hit: L2Property,
    pub miss: L2Property,
    /// Bytes of the cache for persisting lines; those of the window if there is none.
    pub set_aside: Option<Expr>,
}

/// The kind of a kernel's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CodeForm {
    #[default]
    Cuda,
    Ptx,
    Cubin,
    /// A Python module with a Triton, Numba or CuTe DSL kernel.
    Python,
    /// CUDA C++ whose host code launches kernels.
    Host,
}

impl CodeForm {
    pub const ALL: [Self; 5] = [Self::Cuda, Self::Ptx, Self::Cubin, Self::Python, Self::Host];

    /// The key that names the file.
    pub fn key(self) -> &'static Key {
        match self {
            Self::Cuda => &KERNEL.source,
            Self::Ptx => &KERNEL.ptx,
            Self::Cubin => &KERNEL.cubin,
            Self::Python => &KERNEL.python,
            Self::Host => &KERNEL.host,
        }
    }

    /// The file and the function that a key names; none if it names no function.
    pub fn function(self, text: &str) -> Option<(&str, &str)> {
        let (file, name) = match self {
            Self::Cuda | Self::Ptx | Self::Cubin => None,
            Self::Python => text.rsplit_once(':'),
            // The function may be in a namespace.
            Self::Host => text.split_once(':'),
        }?;
        (!file.is_empty() && !name.is_empty()).then_some((file, name))
    }

    /// Whether the file has a function instead of an entry.
    pub const fn is_function(self) -> bool {
        matches!(self, Self::Python | Self::Host)
    }

    /// Keys of `[kernel]` that do not apply to it, and the reason.
    pub fn foreign(self) -> (Vec<&'static Key>, &'static str) {
        match self {
            Self::Cuda => (vec![&KERNEL.constexprs], "only a Python function has constexprs"),
            Self::Ptx => (vec![&KERNEL.defines, &KERNEL.constexprs], "nothing is preprocessed"),
            Self::Cubin => (vec![&KERNEL.defines, &KERNEL.flags, &KERNEL.constexprs], "nothing is compiled"),
            Self::Python => (
                vec![
                    &KERNEL.entry,
                    &KERNEL.cluster,
                    &KERNEL.cooperative,
                    &KERNEL.carveout,
                    &KERNEL.l2_window,
                    &KERNEL.workspace,
                    &KERNEL.tensor_maps,
                    &KERNEL.symbols,
                    &KERNEL.flags,
                    &KERNEL.defines,
                    &KERNEL.launch,
                ],
                "the function's compiler determines it",
            ),
            Self::Host => (
                vec![
                    &KERNEL.entry,
                    &KERNEL.grid,
                    &KERNEL.block,
                    &KERNEL.cluster,
                    &KERNEL.dynamic_shared,
                    &KERNEL.cooperative,
                    &KERNEL.carveout,
                    &KERNEL.l2_window,
                    &KERNEL.tensor_maps,
                    &KERNEL.constexprs,
                    &KERNEL.symbols,
                    &KERNEL.r#where,
                    &KERNEL.launch,
                ],
                "the host function determines it",
            ),
        }
    }
}

/// A buffer as a view for Hopper's bulk tensor copies, with the buffer's type. Axes are outermost first.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorMapTemplate {
    /// Its name in `args`.
    pub name: String,
    pub buffer: String,
    /// Elements along each axis; empty for the shape of the buffer.
    pub shape: Vec<Expr>,
    /// Elements between neighbours along each axis except the innermost; empty for a contiguous view.
    pub strides: Vec<Expr>,
    /// Elements of one copy along each axis.
    pub box_dims: Vec<Expr>,
    /// Steps of a copy along each axis in elements; empty for 1 on every axis.
    pub element_strides: Vec<Expr>,
    /// Span in bytes within which a copy permutes 16-byte chunks of shared memory: 0 (not at all), 32, 64 or 128.
    pub swizzle: Expr,
    /// Bytes that L2 fetches at a time: 0 (no promotion), 64, 128 or 256.
    pub l2_promotion: Expr,
    pub oob_fill: OutOfBoundsFill,
}

words! {
    name;
    /// Elements that a copy gets from outside a tensor map.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum OutOfBoundsFill {
        /// Zeros.
        #[default]
        None = "none",
        /// NaN, which a multiply-add of tensor cores takes as zero.
        NanRequestZeroFma = "nan_request_zero_fma",
    }
}

impl OutOfBoundsFill {
    /// Whether it is the default.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Bytes of dynamic shared memory.
#[derive(Debug, Clone, PartialEq)]
pub struct DynamicArray {
    /// Name of the array, if the file declares arrays.
    pub name: Option<String>,
    pub bytes: Expr,
}

/// Parameter values to combine, and a condition on the combinations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sweep {
    /// Parameter names with their values, in the order of the file.
    pub axes: Vec<(String, Vec<Value>)>,
    /// Keeps the combinations for which it is true.
    pub condition: Option<Expr>,
    /// The combinations that are candidates, if not all are.
    pub points: Option<Vec<Vec<(String, Value)>>>,
}

/// A program that computes, checks and times the workload itself (docs/external-commands.md).
#[derive(Debug, Clone, PartialEq)]
pub struct CommandTemplate {
    /// Program and arguments over the variant's parameters.
    pub argv: Vec<Template>,
    /// Regular expression of the kernels to count; every launch inside the variant's NVTX range when absent.
    pub kernel_filter: Option<String>,
}

/// A Python function over the workload's buffers.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionTemplate {
    /// The file and the function after a colon, over the variant's parameters.
    pub call: Template,
    /// Regular expression of the kernels to count; every launch inside the variant's NVTX range when absent.
    pub kernel_filter: Option<String>,
}

/// Launches of ncu reports from another program. A launch has to match every given part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LaunchPattern {
    /// Glob over the kernel's name: the function's name, the qualified name with template arguments, or the whole signature.
    pub kernel: Option<String>,
    /// Glob over one of the open NVTX ranges, or over all of them (`outer > inner`).
    pub nvtx: Option<String>,
    /// Numbers of launches in their report, as in ncu and `ncugate show`; empty means any.
    pub launches: Vec<u32>,
    /// Glob over the report's file name.
    pub report: Option<String>,
}

/// The implementation of a named variant.
#[derive(Debug, Clone, PartialEq)]
pub enum VariantSpecKind {
    /// A kernel, with the file's overrides already merged over `[kernel]`.
    Kernel(Box<KernelTemplate>),
    Function(FunctionTemplate),
    Command(CommandTemplate),
    /// Nothing runs: launches of reports from another program.
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
