//! The workload of a kernel: shapes, buffers, scalars, and the expected result.

use super::init::{Amount, Init};
use super::own_bound::OwnBound;
use ncugate_model::expr::{Expr, ExprError, Names, Value};
use ncugate_model::{BoundUnit, Dtype, Law, Role, ShapeName, Tolerance, words};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// One problem size: dimensions by name, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    pub name: ShapeName,
    /// Dimension name to extent, which is at least 0.
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
    pub dtype: BufferType,
    /// Extent of each axis, an expression over the shape's dimensions; for outputs with `reduce` and for scratch also
    /// over the variant's parameters.
    pub shape: Vec<Expr>,
    /// Its initial content; outputs and scratch need none.
    pub init: Option<Init<Amount>>,
    /// Its role in the kernel.
    pub role: Role,
    /// How partial results are combined before the comparison: over the axes whose extents depend on the parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduce: Option<Reduction>,
    /// The part that counts, a slice for each of the first axes; empty if all of it counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compare: Vec<Slice>,
    #[serde(skip_serializing_if = "RowOrder::is_default")]
    pub order: RowOrder,
}

/// The type of a buffer's elements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum BufferType {
    /// The same at every shape.
    Fixed(Dtype),
    /// The name of a type, as an expression over the dimensions.
    ByShape(Expr),
}

impl BufferType {
    /// The type at a shape.
    ///
    /// # Errors
    /// The expression cannot be evaluated, or its value is not the name of a type.
    pub fn at(&self, shape: &Shape) -> Result<Dtype, ExprError> {
        match self {
            Self::Fixed(dtype) => Ok(*dtype),
            Self::ByShape(expr) => {
                let types = Dtype::ALL.map(|dtype| (dtype.name().to_owned(), Value::Text(dtype.name().to_owned())));
                let scope: Names = types.into_iter().chain(shape.scope()).collect();
                let value = expr.eval(&scope)?;
                let named = Dtype::ALL.into_iter().find(|dtype| value == Value::Text(dtype.name().to_owned()));
                named.ok_or_else(|| expr.wrong_kind(&value, "the name of a type"))
            }
        }
    }

    /// Whether the type has NaN at the shapes, where it is known.
    pub fn has_nan(&self, shapes: &[Shape]) -> bool {
        match self {
            Self::Fixed(dtype) => dtype.has_nan(),
            Self::ByShape(_) => shapes.iter().any(|shape| self.at(shape).is_ok_and(Dtype::has_nan)),
        }
    }
}

/// Elements of an axis, from `first` up to `end`: expressions over the dimensions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slice {
    pub first: Expr,
    pub end: Expr,
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.first, self.end)
    }
}

/// The order of an output's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    #[default]
    AsExpected,
    Any,
}

impl RowOrder {
    /// The values that have a keyword in a phase.
    pub const WORDS: [(&'static str, Self); 1] = [("any", Self::Any)];

    pub const fn is_default(&self) -> bool {
        matches!(self, Self::AsExpected)
    }
}

words! {
    name;
    /// How partial results are combined.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Reduction {
        Sum = "sum",
        Max = "max",
        Min = "min",
    }
}

words! {
    name;
    /// The C type of a scalar argument.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ScalarType {
        /// `float`.
        F32 = "f32",
        /// `double`.
        F64 = "f64",
        /// `int`.
        I32 = "i32",
        /// `long long`.
        I64 = "i64",
        /// `unsigned`.
        U32 = "u32",
        /// `unsigned long long`.
        U64 = "u64",
        /// `short`.
        I16 = "i16",
        /// `unsigned short`.
        U16 = "u16",
        /// `signed char`.
        I8 = "i8",
        /// `unsigned char`.
        U8 = "u8",
        Bool = "bool",
        /// `__half`.
        F16 = "f16",
        /// `__nv_bfloat16`.
        Bf16 = "bf16",
    }
}

/// A scalar argument: a type and an expression over shape and variant parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scalar {
    /// Its name, used in `args` and by the reference.
    pub name: String,
    /// C type of the argument.
    pub dtype: ScalarType,
    pub value: Expr,
}

/// A program that computes the expected outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReferenceProgram {
    pub program: ProgramKind,
    /// Time limit of a call in seconds.
    pub timeout_s: u32,
    /// Parameters of variants that it gets by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ProgramKind {
    /// A function that gets arrays by the names of its parameters.
    Python { file: PathBuf, function: String },
    /// A program that gets a folder as its last argument.
    Command { argv: Vec<String> },
}

/// A function of Python that judges outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputCheck {
    pub program: ReferenceProgram,
    /// The outputs that no bound of the tolerance applies to.
    pub outputs: Vec<String>,
}

impl fmt::Display for ProgramKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Python { file, function } => write!(f, "{}:{function}", file.display()),
            Self::Command { argv } => f.write_str(&argv.join(" ")),
        }
    }
}

/// The source of the right answer. All built-ins are evaluated in float64 on the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadReference {
    /// Built in, by name (`sdpa`, `gemm`, `softmax`, `reduce`, `copy`), with its options.
    Builtin {
        name: String,
        /// Options of the built-in as strings, e.g. `causal = "true"`, `op = "max"`.
        options: Vec<(String, String)>,
    },
    /// Another kernel, with a separate grid and block.
    Entry {
        entry: String,
        /// Its source; by default that of the kernel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<PathBuf>,
        /// Grid, expressions over the shape.
        grid: Vec<Expr>,
        /// Block, expressions over the shape.
        block: Vec<Expr>,
        /// Names of its arguments; by default those of the kernel's first launch.
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
    /// None: the phase judges launches of ncu reports from another program.
    Absent,
}

/// The laws of the inputs of correctness cases, at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Laws {
    /// Those that suit the reference, if the phase gives none.
    Suited(Vec<Law>),
    /// Those of the phase.
    Given(Vec<Law>),
}

impl Laws {
    /// The laws, in their order.
    pub fn all(&self) -> &[Law] {
        match self {
            Self::Suited(laws) | Self::Given(laws) => laws,
        }
    }

    /// Whether the phase gives none.
    pub const fn are_suited(&self) -> bool {
        matches!(self, Self::Suited(_))
    }
}

/// The effect of a tolerance that could not be tested on wrong answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UntestedTolerance {
    /// The phase does not pass.
    #[default]
    Refused,
    /// The phase can pass.
    Accepted,
}

impl UntestedTolerance {
    /// The values that have a keyword in a phase.
    pub const WORDS: [(&'static str, Self); 1] = [("accept", Self::Accepted)];
}

/// The computation of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workload {
    /// Seeds of the inputs; each is a correctness case.
    pub seeds: Vec<u64>,
    #[serde(skip_serializing_if = "Laws::are_suited")]
    pub laws: Laws,
    pub reference: WorkloadReference,
    /// The permitted difference of an output from it.
    pub tolerance: Tolerance,
    /// Element bounds of single outputs and shapes that replace the tolerance's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_bounds: Vec<OwnBound>,
    /// Functions that judge outputs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<OutputCheck>,
    /// The effect of a tolerance that was not tested on wrong answers. Measurements do not depend on it.
    #[serde(skip)]
    pub untested_tolerance: UntestedTolerance,
    pub scalars: Vec<Scalar>,
    /// Problem sizes, in the order of the file.
    pub shapes: Vec<Shape>,
    /// Buffers, in the order of the file.
    pub buffers: Vec<Buffer>,
    /// Floating-point operations of one launch, for TFLOP/s and the roofline; an expression over the shape.
    pub flops: Option<Expr>,
    /// Minimum bytes to move, for the roofline; an expression over the shape.
    pub bytes: Option<Expr>,
}

impl Buffer {
    /// Whether the extent of each axis depends on the parameters of variants; `dims` are the names of the dimensions.
    pub fn varying_axes(&self, dims: &[(String, i64)]) -> Vec<bool> {
        let varies = |extent: &Expr| extent.names().iter().any(|(name, _)| !dims.iter().any(|(dim, _)| dim == name));
        self.shape.iter().map(varies).collect()
    }

    /// Whether a launch changes values that it reads, so that they are restored before every launch.
    pub const fn is_state(&self) -> bool {
        matches!(self.role, Role::Inout) || matches!(self.role, Role::Output | Role::Scratch) && self.init.is_some()
    }
}

impl Workload {
    /// Whether launches change their inputs.
    pub fn has_state(&self) -> bool {
        self.buffers.iter().any(Buffer::is_state)
    }

    /// The shape of launches of ncu reports.
    pub const CAPTURED: &str = "captured";

    /// The workload of launches of ncu reports from another program: one shape without dimensions, and nothing else known.
    pub fn of_reports() -> Self {
        Self {
            seeds: Vec::new(),
            laws: Laws::Given(Vec::new()),
            reference: WorkloadReference::Absent,
            tolerance: Tolerance::default(),
            own_bounds: Vec::new(),
            checks: Vec::new(),
            untested_tolerance: UntestedTolerance::Refused,
            scalars: Vec::new(),
            shapes: vec![Shape { name: ShapeName(Self::CAPTURED.into()), dims: Vec::new() }],
            buffers: Vec::new(),
            flops: None,
            bytes: None,
        }
    }

    /// Whether it is the workload of launches of ncu reports.
    pub fn is_of_reports(&self) -> bool {
        self.reference == WorkloadReference::Absent
    }

    /// Whether a bound of an output is derived for each set of inputs.
    pub fn has_derived_bound(&self) -> bool {
        let own = self.own_bounds.iter().map(|bound| bound.unit);
        self.tolerance.allclose.iter().map(|bound| bound.unit).chain(own).any(|unit| unit == BoundUnit::Derived)
    }

    /// The parameters of variants on which its expected outputs depend.
    pub fn reference_params(&self) -> &[String] {
        match &self.reference {
            WorkloadReference::Program(program) => &program.params,
            WorkloadReference::Builtin { .. }
            | WorkloadReference::Entry { .. }
            | WorkloadReference::Npy { .. }
            | WorkloadReference::Absent => &[],
        }
    }

    /// The smallest shape: the first one with the smallest product of dimensions.
    pub fn smallest_shape(&self) -> Option<&Shape> {
        // A dimension that is 0 is a flag.
        let points =
            |shape: &&Shape| shape.dims.iter().fold(1i64, |product, (_, n)| product.saturating_mul((*n).max(1)));
        self.shapes.iter().min_by_key(points)
    }

    /// The laws of a correctness case.
    ///
    /// At the smallest shape the laws are distributed over the seeds. At every other one the first seed has the first
    /// law, and each other seed one of the rest in turn, so that a larger shape costs one launch per seed. The default
    /// laws of a reference that is not built in are distributed at every shape, besides the declared inputs of every seed.
    pub fn laws_of(&self, shape: &ShapeName, seed: u64) -> Vec<Law> {
        let laws = self.laws.all();
        let place = self.seeds.iter().position(|s| *s == seed).unwrap_or(0);
        if self.laws.are_suited() && !matches!(self.reference, WorkloadReference::Builtin { .. }) {
            let further = laws.iter().skip(1).skip(place).step_by(self.seeds.len().max(1));
            return laws.iter().take(1).chain(further).copied().collect();
        }
        if self.smallest_shape().is_some_and(|smallest| &smallest.name == shape) {
            return laws.iter().copied().skip(place).step_by(self.seeds.len().max(1)).collect();
        }
        let (Some((first, rest)), at) = (laws.split_first(), self.shapes.iter().position(|s| &s.name == shape)) else {
            return Vec::new();
        };
        let turn = |rest: &[Law]| rest[(at.unwrap_or(0) * (self.seeds.len() - 1) + place - 1) % rest.len()];
        vec![if place == 0 || rest.is_empty() { *first } else { turn(rest) }]
    }

    /// Floating-point operations of one launch at a shape; none if the workload does not specify them.
    ///
    /// # Errors
    /// The expression cannot be evaluated at the shape.
    pub fn flops_at(&self, shape: &Shape) -> Result<Option<f64>, ExprError> {
        self.flops.as_ref().map(|flops| flops.eval_number(&shape.scope())).transpose()
    }

    /// Minimum bytes that a launch has to move at a shape; none if the workload does not specify them.
    ///
    /// # Errors
    /// The expression cannot be evaluated at the shape.
    pub fn bytes_at(&self, shape: &Shape) -> Result<Option<f64>, ExprError> {
        self.bytes.as_ref().map(|bytes| bytes.eval_number(&shape.scope())).transpose()
    }

    /// Bytes that every launch has to write: outputs whose every element is compared and that had no content before.
    /// A lower bound on its traffic, whatever the phase declares; none if an extent cannot be evaluated.
    pub fn written_bytes(&self, shape: &Shape) -> Option<f64> {
        let outputs = self.buffers.iter().filter(|buffer| buffer.role == Role::Output && buffer.init.is_none());
        let counted = |buffer: &Buffer| {
            let at = |expr: &Expr| expr.eval_number(&shape.scope()).ok();
            let of_axis = |(axis, extent): (usize, &Expr)| match buffer.compare.get(axis) {
                Some(slice) => Some(at(&slice.end)? - at(&slice.first)?),
                None => at(extent),
            };
            let elements: Option<f64> = buffer.shape.iter().enumerate().map(of_axis).product();
            Some(elements? * buffer.dtype.at(shape).ok()?.size() as f64)
        };
        outputs.map(counted).sum()
    }

    /// Bytes of a buffer at a shape; none if the buffer does not exist or an extent cannot be evaluated.
    pub fn bytes_of(&self, shape: &Shape, name: &str) -> Option<f64> {
        let scope = shape.scope();
        let buffer = self.buffers.iter().find(|buffer| buffer.name == name)?;
        let extents = buffer.shape.iter().map(|extent| extent.eval_number(&scope).ok());
        Some(extents.product::<Option<f64>>()? * buffer.dtype.at(shape).ok()?.size() as f64)
    }

    /// Bytes at a shape of all buffers with a `wanted` role; none if an extent cannot be evaluated.
    pub fn buffer_bytes(&self, shape: &Shape, wanted: impl Fn(Role) -> bool) -> Option<f64> {
        let scope = shape.scope();
        // The size of a buffer of partial results depends on the variant; its other axes give the minimum.
        let size = |buffer: &Buffer| {
            let fixed = buffer.shape.iter().zip(buffer.varying_axes(&shape.dims)).filter(|(_, varies)| !varies);
            let extents = fixed.map(|(extent, _)| extent.eval_number(&scope).ok());
            Some(extents.product::<Option<f64>>()? * buffer.dtype.at(shape).ok()?.size() as f64)
        };
        self.buffers.iter().filter(|buffer| wanted(buffer.role)).map(size).sum()
    }
}
