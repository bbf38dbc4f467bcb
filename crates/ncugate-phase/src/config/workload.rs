//! What a kernel computes: shapes, buffers, scalars, and the result it is held to.

use super::init::{Amount, Init};
use super::own_bound::OwnBound;
use ncugate_model::expr::{Expr, ExprError, Names, Value};
use ncugate_model::{Dtype, Role};
use ncugate_model::{Law, ShapeName, Tolerance};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One problem size: dimensions by name, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    pub name: ShapeName,
    /// Dimension name to extent, all positive.
    pub dims: Vec<(String, i64)>,
}

impl Shape {
    /// Its dimensions as the names of an expression.
    pub fn scope(&self) -> Names {
        self.dims.iter().map(|(name, extent)| (name.clone(), Value::Int(*extent))).collect()
    }
}

/// A device buffer of the workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Buffer {
    /// Its name, used in `args` and by the reference.
    pub name: String,
    pub dtype: Dtype,
    /// Extent of each axis, an expression over the shape's dimensions; of outputs with `reduce` and of scratch also over the
    /// variant's parameters.
    pub shape: Vec<Expr>,
    /// How it is filled; outputs and scratch need none.
    pub init: Option<Init<Amount>>,
    /// What the kernel does with it.
    pub role: Role,
    /// How partial results are put together before they are compared: over the axes whose extents follow the parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduce: Option<Reduction>,
}

/// How partial results are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduction {
    Sum,
    Max,
    Min,
}

impl Reduction {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 3] = [("sum", Self::Sum), ("max", Self::Max), ("min", Self::Min)];
}

/// The C type of a scalar argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalarType {
    /// `float`.
    F32,
    /// `double`.
    F64,
    /// `int`.
    I32,
    /// `long long`.
    I64,
    /// `unsigned`.
    U32,
    /// `unsigned long long`.
    U64,
    /// `short`.
    I16,
    /// `unsigned short`.
    U16,
    /// `signed char`.
    I8,
    /// `unsigned char`.
    U8,
    Bool,
    /// `__half`.
    F16,
    /// `__nv_bfloat16`.
    Bf16,
}

impl ScalarType {
    /// All of them by the word that a phase uses.
    pub const WORDS: [(&'static str, Self); 13] = [
        ("f32", Self::F32),
        ("f64", Self::F64),
        ("f16", Self::F16),
        ("bf16", Self::Bf16),
        ("i64", Self::I64),
        ("u64", Self::U64),
        ("i32", Self::I32),
        ("u32", Self::U32),
        ("i16", Self::I16),
        ("u16", Self::U16),
        ("i8", Self::I8),
        ("u8", Self::U8),
        ("bool", Self::Bool),
    ];
}

/// A scalar argument: a type and an expression over shape and variant parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scalar {
    /// Its name, used in `args` and by the reference.
    pub name: String,
    /// C type it is passed as.
    pub dtype: ScalarType,
    pub value: Expr,
}

/// A program that gives the right outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceProgram {
    pub program: ProgramKind,
    /// One call may take this many seconds.
    pub timeout_s: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProgramKind {
    /// A function that is given arrays by the names of its parameters.
    Python { file: PathBuf, function: String },
    /// A program that is given a folder as its last argument.
    Command { argv: Vec<String> },
}

/// Where the right answer comes from. All built-ins are evaluated in float64 on the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadReference {
    /// Built in, by name (`sdpa`, `gemm`, `softmax`, `reduce`, `copy`), with its options.
    Builtin {
        name: String,
        /// Options of the built-in as strings, e.g. `causal = "true"`, `op = "max"`.
        options: Vec<(String, String)>,
    },
    /// Another kernel, with a grid and a block of its own.
    Entry {
        entry: String,
        /// Its source; the kernel's own where it is not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<PathBuf>,
        /// Grid, expressions over the shape.
        grid: Vec<Expr>,
        /// Block, expressions over the shape.
        block: Vec<Expr>,
        /// Names of its arguments; those of the kernel's first launch where there are none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
    },
    /// A NumPy file; `{{ shape }}` and `{{ seed }}` in the path are substituted.
    Npy {
        /// Path, relative to the root of the project.
        path: PathBuf,
    },
    /// A program, called for every draw of inputs.
    Program(ReferenceProgram),
    /// Nothing is computed here: the phase judges launches of ncu reports that another program made.
    Absent,
}

/// The laws that the inputs of correctness cases are drawn by, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Laws {
    /// Those that suit the reference; the phase does not say.
    Suited(Vec<Law>),
    /// Those that the phase asks for.
    Given(Vec<Law>),
}

impl Laws {
    /// The laws, in their order.
    pub fn all(&self) -> &[Law] {
        match self {
            Self::Suited(laws) | Self::Given(laws) => laws,
        }
    }

    const fn are_suited(&self) -> bool {
        matches!(self, Self::Suited(_))
    }
}

/// What a tolerance means that could not be tried on wrong answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UntestedTolerance {
    /// The phase does not pass.
    #[default]
    Refused,
    /// The phase may pass.
    Accepted,
}

impl UntestedTolerance {
    /// Those that a phase says, by their word.
    pub const WORDS: [(&'static str, Self); 1] = [("accept", Self::Accepted)];
}

/// What a kernel computes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workload {
    /// Seeds of the inputs; every one is a correctness case.
    pub seeds: Vec<u64>,
    #[serde(skip_serializing_if = "Laws::are_suited")]
    pub laws: Laws,
    pub reference: WorkloadReference,
    /// How near to it an output must be.
    pub tolerance: Tolerance,
    /// Bounds of elements that single outputs and shapes have in place of the tolerance's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_bounds: Vec<OwnBound>,
    /// What a tolerance means that was not tried on wrong answers. No part of what is measured.
    #[serde(skip)]
    pub untested_tolerance: UntestedTolerance,
    pub scalars: Vec<Scalar>,
    /// Problem sizes, in the order of the file.
    pub shapes: Vec<Shape>,
    /// Buffers, in the order of the file.
    pub buffers: Vec<Buffer>,
    /// Floating-point operations of one launch, for TFLOP/s and the roofline; an expression over the shape.
    pub flops: Option<Expr>,
    /// Bytes that have to move at least, for the roofline; an expression over the shape.
    pub bytes: Option<Expr>,
}

impl Buffer {
    /// Whether each axis has an extent that follows the parameters of variants, where `dims` are the names of the dimensions.
    pub fn varying_axes(&self, dims: &[(String, i64)]) -> Vec<bool> {
        let varies = |extent: &Expr| extent.names().iter().any(|(name, _)| !dims.iter().any(|(dim, _)| dim == name));
        self.shape.iter().map(varies).collect()
    }

    /// Whether a launch finds values in it that it changes, so that they are restored before every launch.
    pub const fn is_state(&self) -> bool {
        matches!(self.role, Role::Inout) || matches!(self.role, Role::Output | Role::Scratch) && self.init.is_some()
    }
}

impl Workload {
    /// Whether launches change what they read.
    pub fn has_state(&self) -> bool {
        self.buffers.iter().any(Buffer::is_state)
    }

    /// The shape of launches of ncu reports.
    pub const CAPTURED: &str = "captured";

    /// What is known of launches of ncu reports that another program made: nothing, at one shape without dimensions.
    pub fn of_reports() -> Self {
        Self {
            seeds: Vec::new(),
            laws: Laws::Given(Vec::new()),
            reference: WorkloadReference::Absent,
            tolerance: Tolerance::default(),
            own_bounds: Vec::new(),
            untested_tolerance: UntestedTolerance::Refused,
            scalars: Vec::new(),
            shapes: vec![Shape { name: ShapeName(Self::CAPTURED.into()), dims: Vec::new() }],
            buffers: Vec::new(),
            flops: None,
            bytes: None,
        }
    }

    /// Whether it is that of launches of ncu reports.
    pub fn is_of_reports(&self) -> bool {
        self.reference == WorkloadReference::Absent
    }

    /// The smallest shape: that with the fewest points in all its dimensions together, the first of several.
    pub fn smallest_shape(&self) -> Option<&Shape> {
        let points = |shape: &&Shape| shape.dims.iter().fold(1i64, |product, (_, n)| product.saturating_mul(*n));
        self.shapes.iter().min_by_key(points)
    }

    /// The laws of a correctness case.
    ///
    /// At the smallest shape the seeds share all laws among them. At every other one the first seed has the first law, and
    /// each other seed one of the rest in turn, so that a larger shape costs a launch a seed.
    pub fn laws_of(&self, shape: &ShapeName, seed: u64) -> Vec<Law> {
        let laws = self.laws.all();
        let place = self.seeds.iter().position(|s| *s == seed).unwrap_or(0);
        if self.smallest_shape().is_some_and(|smallest| &smallest.name == shape) {
            return laws.iter().copied().skip(place).step_by(self.seeds.len().max(1)).collect();
        }
        let (Some((first, rest)), at) = (laws.split_first(), self.shapes.iter().position(|s| &s.name == shape)) else {
            return Vec::new();
        };
        let turn = |rest: &[Law]| rest[(at.unwrap_or(0) * (self.seeds.len() - 1) + place - 1) % rest.len()];
        vec![if place == 0 || rest.is_empty() { *first } else { turn(rest) }]
    }

    /// Floating-point operations of one launch at a shape; none where the workload does not say.
    ///
    /// # Errors
    /// The expression cannot be evaluated at the shape.
    pub fn flops_at(&self, shape: &Shape) -> Result<Option<f64>, ExprError> {
        self.flops.as_ref().map(|flops| flops.eval_number(&shape.scope())).transpose()
    }

    /// Bytes that a launch has to move at least at a shape; none where the workload does not say.
    ///
    /// # Errors
    /// The expression cannot be evaluated at the shape.
    pub fn bytes_at(&self, shape: &Shape) -> Result<Option<f64>, ExprError> {
        self.bytes.as_ref().map(|bytes| bytes.eval_number(&shape.scope())).transpose()
    }

    /// Bytes that every launch has to write: those of outputs whose every element is compared and that hold nothing before. A lower
    /// bound on its traffic, whatever the phase declares; none if an extent cannot be evaluated.
    pub fn written_bytes(&self, shape: &Shape) -> Option<f64> {
        let outputs = self.buffers.iter().filter(|buffer| buffer.role == Role::Output && buffer.init.is_none());
        outputs.map(|buffer| self.bytes_of(shape, &buffer.name)).sum()
    }

    /// Bytes of a buffer at a shape; none where there is no such buffer, or an extent cannot be evaluated.
    pub fn bytes_of(&self, shape: &Shape, name: &str) -> Option<f64> {
        let scope = shape.scope();
        let buffer = self.buffers.iter().find(|buffer| buffer.name == name)?;
        let extents = buffer.shape.iter().map(|extent| extent.eval_number(&scope).ok());
        Some(extents.product::<Option<f64>>()? * buffer.dtype.size() as f64)
    }

    /// Bytes of all buffers with a role that is asked for, at a shape; none where an extent cannot be evaluated.
    pub fn buffer_bytes(&self, shape: &Shape, wanted: impl Fn(Role) -> bool) -> Option<f64> {
        let scope = shape.scope();
        // A buffer of partial results has other bytes in each variant; what it has at least is its other axes.
        let size = |buffer: &Buffer| {
            let fixed = buffer.shape.iter().zip(buffer.varying_axes(&shape.dims)).filter(|(_, varies)| !varies);
            let extents = fixed.map(|(extent, _)| extent.eval_number(&scope).ok());
            Some(extents.product::<Option<f64>>()? * buffer.dtype.size() as f64)
        };
        self.buffers.iter().filter(|buffer| wanted(buffer.role)).map(size).sum()
    }
}
