//! The program of a variant at a shape: launches, fills and copies in order, over the workload's buffers.

use super::arg::{Arg, BufferElement, ScalarValue};
use ncugate_model::expr::Value;
use ncugate_model::{CompiledArg, CompiledLaunch, L2Property, LaunchExtents, LaunchMode, ShapeName};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A source with one choice of defines and flags, and its launches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelPlan {
    pub source: PathBuf,
    /// Further sources whose machine code is linked with that of `source`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked: Vec<PathBuf>,
    pub code: KernelCode,
    /// nvcc flags, rendered.
    pub flags: Vec<String>,
    /// `-D` defines.
    pub defines: Vec<(String, String)>,
    /// One program per shape, in the order of the phase's shapes. Without loops, all have the same steps except for extents
    /// and arguments.
    pub programs: Vec<ShapeProgram>,
}

/// The kind of a kernel's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelCode {
    Cuda,
    /// PTX, assembled by nvcc.
    Ptx,
    Cubin,
    /// A Python module with a kernel, compiled by the compiler of its decorator.
    Python(PythonKernel),
}

/// The compilation parameters of a Python function.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PythonKernel {
    /// Types of the arguments in Triton's notation, with the known divisors of their values (`*fp16:16`, `i32`).
    pub signature: Vec<String>,
    /// Parameters of the variant: constants of the function, or options of the compiler.
    pub constants: Vec<(String, Value)>,
    /// Names of the constants that are part of the launch; the compiler need not know them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launched: Vec<String>,
    /// The parts of the launch that the phase specifies; the compiler decides which of them are needed.
    pub given: Vec<LaunchKey>,
    /// Its compilations, if some of its constants follow the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_value: Option<CompilationsByValue>,
}

/// A function that is compiled once for each set of values of its constexprs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompilationsByValue {
    pub function: String,
    pub entries: Vec<EntryByValue>,
}

/// A compilation of a function, and the entry that programs launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryByValue {
    pub entry: String,
    pub constants: Vec<(String, Value)>,
    /// As that of the kernel, for the shapes of this entry.
    pub signature: Vec<String>,
}

/// `launched` follows from the launch, which is compared by itself; earlier plans lack it.
impl PartialEq for PythonKernel {
    fn eq(&self, other: &Self) -> bool {
        let Self { signature, constants, launched: _, given, by_value } = self;
        (signature, constants, given, by_value) == (&other.signature, &other.constants, &other.given, &other.by_value)
    }
}

/// A part of a launch that the phase or a compiler specifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchKey {
    /// Grid size in blocks.
    Grid,
    /// Block size in threads.
    Block,
    /// Dynamic shared memory per block.
    DynamicShared,
}

impl KernelPlan {
    /// All its sources; the first is that of its entries.
    pub fn sources(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.source).chain(&self.linked)
    }

    /// Its program at a shape.
    pub fn program(&self, shape: &ShapeName) -> Option<&ShapeProgram> {
        self.programs.iter().find(|program| &program.shape == shape)
    }

    /// The entry of every launch of its program at a shape, in order, with repetitions. A shape that the plan does not have
    /// counts as the first that is launched.
    pub fn launched_entries(&self, shape: &ShapeName) -> Vec<&str> {
        let launched = |program: &&ShapeProgram| program.left_out.is_none();
        let program = self.program(shape).filter(launched).or_else(|| self.programs.iter().find(launched));
        program.map_or_else(Vec::new, |program| program.launches().map(|l| l.entry.as_str()).collect())
    }

    /// The entry of every launch of the first launched program, in order, with repetitions, and then the entries that only
    /// other programs launch, each once.
    pub fn code_entries(&self) -> Vec<&str> {
        let first = self.programs.iter().find(|program| program.left_out.is_none());
        let mut entries = first.map_or_else(Vec::new, |program| self.launched_entries(&program.shape));
        let others: Vec<&str> = self.entries().into_iter().filter(|entry| !entries.contains(entry)).collect();
        entries.extend(others);
        entries
    }

    /// The entries, each once, in the order of their first launch.
    pub fn entries(&self) -> Vec<&str> {
        let mut entries = Vec::new();
        for launch in self.programs.iter().flat_map(ShapeProgram::launches) {
            if !entries.contains(&launch.entry.as_str()) {
                entries.push(launch.entry.as_str());
            }
        }
        entries
    }

    /// Every launch at every shape.
    pub fn launches(&self) -> impl Iterator<Item = &KernelLaunch> {
        self.programs.iter().flat_map(ShapeProgram::launches)
    }
}

/// The program of a variant at a shape: one evaluation of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShapeProgram {
    pub shape: ShapeName,
    /// Variables of the module that are written before the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<SymbolFill>,
    /// Its steps, in order; empty if the shape is left out.
    pub steps: Vec<Step>,
    /// The condition of the phase that prevents a launch at the shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

impl ShapeProgram {
    /// A program without variables of its module.
    pub const fn new(shape: ShapeName, steps: Vec<Step>) -> Self {
        Self { shape, symbols: Vec::new(), steps, left_out: None }
    }

    /// The program completed by the kernel's compiler, if that specifies anything.
    #[must_use]
    pub fn compiled_as(&self, compiled: Option<&CompiledLaunch>) -> Self {
        let step = |step: &Step| match step {
            Step::Launch(launch) => Step::Launch(launch.compiled_as(&self.shape, compiled)),
            Step::Memset(_) | Step::Memcpy(_) => step.clone(),
        };
        Self { steps: self.steps.iter().map(step).collect(), ..self.clone() }
    }

    /// Its launches, in order.
    pub fn launches(&self) -> impl Iterator<Item = &KernelLaunch> {
        self.steps.iter().filter_map(|step| match step {
            Step::Launch(launch) => Some(launch),
            Step::Memset(_) | Step::Memcpy(_) => None,
        })
    }

    /// Its only step, if that is a launch and no variable is written before it.
    pub fn single(&self) -> Option<&KernelLaunch> {
        match self.steps.as_slice() {
            [Step::Launch(launch)] if self.symbols.is_empty() => Some(launch),
            _ => None,
        }
    }
}

/// A variable of a module (`__constant__` or `__device__`) that is written before a launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SymbolFill {
    /// Its C++ or mangled name.
    pub symbol: String,
    /// A buffer, whose content is written; else a scalar or a struct of scalars.
    pub value: Arg,
    /// Number of bytes to write.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Launch(KernelLaunch),
    /// A fill of a whole buffer.
    Memset(BufferFill),
    /// A copy of a whole buffer.
    Memcpy(BufferCopy),
}

/// A fill of a whole buffer with a byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferFill {
    pub buffer: String,
    pub byte: u8,
    /// Bytes to fill from the start, if the size of the buffer depends on the variant; else all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A copy of a whole buffer to another of the same size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferCopy {
    pub from: String,
    pub to: String,
    /// Bytes to copy from the start, if the size of a buffer depends on the variant; else all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A kernel launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelLaunch {
    pub entry: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
    /// Cluster size in blocks; `[1, 1, 1]` for an ordinary launch.
    pub cluster: [u32; 3],
    /// Dynamic shared memory per block in bytes.
    pub dynamic_shared: u32,
    /// The constant of the source, in C++, that is this number; the compiler evaluates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_constant: Option<String>,
    /// Its arrays, if the phase declares them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dynamic_arrays: Vec<(String, u32)>,
    /// Its relation to the previous launch and among its own blocks.
    pub mode: LaunchMode,
    /// Requested percentage of L1 and shared memory for shared memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carveout: Option<u32>,
    /// How the L2 cache keeps a buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_window: Option<L2Window>,
    /// Arguments in the order of the signature.
    pub args: Vec<Arg>,
}

/// An access-policy window over a buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct L2Window {
    pub buffer: String,
    /// Bytes from the buffer's start.
    pub bytes: u64,
    /// The share of its lines with the property `hit`, 0 to 1.
    pub hit_ratio: f64,
    pub hit: L2Property,
    /// The property of its other lines.
    pub miss: L2Property,
    /// Bytes of the cache for persisting lines.
    pub set_aside: u64,
}

impl KernelLaunch {
    /// Block size in threads.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Grid size in blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// The launch completed by the kernel's compiler, if that specifies anything.
    fn compiled_as(&self, shape: &ShapeName, compiled: Option<&CompiledLaunch>) -> Self {
        match compiled {
            None => self.clone(),
            Some(CompiledLaunch::Everywhere { threads, dynamic_shared, workspace }) => {
                let workspace = workspace.iter().map(|bytes| Arg::Workspace(bytes.saturating_mul(self.blocks())));
                // A null pointer is `None` in Triton, and no parameter of the machine code.
                let passed = self.args.iter().filter(|arg| !matches!(arg, Arg::Null)).cloned();
                Self {
                    block: [*threads, 1, 1],
                    dynamic_shared: *dynamic_shared,
                    args: passed.chain(workspace).collect(),
                    ..self.clone()
                }
            }
            Some(CompiledLaunch::ByEntry { entries }) => match entries.get(&self.entry) {
                Some(own) => self.compiled_as(shape, Some(own)),
                None => Self { args: Vec::new(), ..self.clone() },
            },
            Some(CompiledLaunch::Constants { constants }) => match &self.shared_constant {
                None => self.clone(),
                Some(name) => match constants.get(name) {
                    Some(bytes) => Self { dynamic_shared: *bytes, ..self.clone() },
                    None => Self { args: Vec::new(), ..self.clone() },
                },
            },
            Some(CompiledLaunch::ByShape { shapes }) => {
                let at = shapes.iter().find(|at| &at.shape == shape);
                let args = at.and_then(|at| at.args.iter().map(|arg| argument(arg, &self.args)).collect::<Option<_>>());
                // Without arguments from the compiler, the launch has none and is refused.
                let own = Self { args: args.unwrap_or_default(), ..self.clone() };
                match at.and_then(|at| at.launched.as_ref()) {
                    None => own,
                    Some(LaunchExtents { grid, block, cluster, dynamic_shared }) => {
                        Self { grid: *grid, block: *block, cluster: *cluster, dynamic_shared: *dynamic_shared, ..own }
                    }
                }
            }
        }
    }
}

/// The plan's argument (`given`) for one that the compiler names; none if the plan does not have it.
fn argument(compiled: &CompiledArg, given: &[Arg]) -> Option<Arg> {
    match compiled {
        CompiledArg::Given(at) => given.get(*at).cloned(),
        CompiledArg::Into { argument, bytes } => match given.get(*argument)? {
            Arg::Buffer(buffer) if *bytes == 0 => Some(Arg::Buffer(buffer.clone())),
            Arg::Buffer(buffer) => Some(Arg::Element(BufferElement { buffer: buffer.clone(), bytes: *bytes })),
            Arg::Element(own) => {
                Some(Arg::Element(BufferElement { buffer: own.buffer.clone(), bytes: own.bytes.checked_add(*bytes)? }))
            }
            _ => None,
        },
        CompiledArg::Whole { bytes: 1, value } => Some(Arg::Scalar(ScalarValue::U8(u8::try_from(*value).ok()?))),
        CompiledArg::Whole { bytes: 2, value } => Some(Arg::Scalar(ScalarValue::U16(u16::try_from(*value).ok()?))),
        CompiledArg::Whole { bytes: 4, value } => Some(Arg::Scalar(ScalarValue::U32(u32::try_from(*value).ok()?))),
        CompiledArg::Whole { bytes: 8, value } => Some(Arg::Scalar(ScalarValue::U64(*value))),
        CompiledArg::Whole { .. } => None,
        CompiledArg::Struct(fields) => {
            let fields = fields.iter().map(|field| argument(field, given)).collect::<Option<_>>()?;
            Some(Arg::Struct { align: None, fields })
        }
    }
}
