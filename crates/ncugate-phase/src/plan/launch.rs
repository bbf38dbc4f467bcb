//! One launch: expressions evaluated at a shape, checked against the launch limits of all chips.

use super::arg::{Arg, ScalarValue};
use super::fault::Faults;
use super::program::{BufferCopy, BufferFill, KernelLaunch, L2Window, Step};
use super::python;
use crate::config::{
    L2WindowTemplate, LaunchTemplate, Scalar, ScalarType, Shape, StepAction, TensorMapTemplate, Workload,
};
use ncugate_model::expr::{Expr, Names, Value};
use ncugate_model::{LaunchMode, MAX_BLOCK, MAX_BLOCK_THREADS, MAX_CLUSTER, MAX_CLUSTER_BLOCKS, MAX_GRID};

/// A step of a variant at a shape.
#[derive(Clone, Copy)]
pub struct StepContext<'p> {
    /// Tensor maps for arguments.
    pub tensor_maps: &'p [TensorMapTemplate],
    /// Key path of a key of the step in the file.
    pub key: &'p dyn Fn(&str) -> String,
    pub workload: &'p Workload,
    pub shape: &'p Shape,
    /// Dimensions, the variant's parameters, and the indices of loops.
    pub scope: &'p Names,
    /// The variant and shape, for errors.
    pub subject: &'p str,
}

impl StepContext<'_> {
    /// Evaluates a step, whose entry is `entry` if it is a launch; records faults and then returns none.
    pub fn step(&self, action: &StepAction, entry: Option<&str>, faults: &mut Faults) -> Option<Step> {
        match action {
            StepAction::Launch(template) => self.launch(template, entry?, faults).map(Step::Launch),
            StepAction::Memset { buffer, byte } => Some(Step::Memset(BufferFill {
                buffer: buffer.clone(),
                byte: *byte,
                bytes: self.own_bytes(buffer).filter(|_| self.differs(buffer)),
            })),
            StepAction::Memcpy { from, to } => {
                let bytes = self.own_bytes(from);
                if let (Some(read), Some(written)) = (bytes, self.own_bytes(to))
                    && read != written
                {
                    let message = format!("copies `{from}` of {read} bytes to `{to}` of {written}");
                    self.fault(faults, "memcpy", message, "a copy needs two buffers of the same size");
                    return None;
                }
                let bytes = bytes.filter(|_| self.differs(from) || self.differs(to));
                Some(Step::Memcpy(BufferCopy { from: from.clone(), to: to.clone(), bytes }))
            }
            // Its steps are evaluated instead, one by one.
            StepAction::Loop(_) => None,
        }
    }

    /// Records an evaluation without a launch, and a programmatic launch that does not follow another: both depend on the
    /// counts of loops.
    pub fn check_order(&self, steps: &[Step], faults: &mut Faults) {
        let launch = |step: &Step| match step {
            Step::Launch(launch) => Some(launch.mode),
            Step::Memset(_) | Step::Memcpy(_) => None,
        };
        if steps.iter().all(|step| launch(step).is_none()) {
            let message = "gives an evaluation without a launch".to_owned();
            self.fault(
                faults,
                "launch",
                message,
                "each shape needs a launch; exclude the shape with `where` of [kernel]",
            );
        }
        let before = std::iter::once(None).chain(steps.iter().map(launch));
        let mut pairs = before.zip(steps.iter().map(launch));
        if pairs.any(|(before, own)| own == Some(LaunchMode::Programmatic) && before.is_none()) {
            let message = "gives a programmatic dependent launch after a step that is not a launch".to_owned();
            self.fault(faults, "launch", message, "start the loop with a launch without `pdl`");
        }
    }

    /// Size of a buffer in bytes in this variant.
    pub(super) fn own_bytes(&self, name: &str) -> Option<u64> {
        let buffer = self.workload.buffers.iter().find(|buffer| buffer.name == name)?;
        let extents = buffer.shape.iter().map(|extent| u64::try_from(extent.eval_int(self.scope).ok()?).ok());
        Some(extents.product::<Option<u64>>()? * buffer.dtype.at(self.shape).ok()?.size() as u64)
    }

    /// Whether the extents of a buffer depend on the variant.
    fn differs(&self, name: &str) -> bool {
        let buffer = self.workload.buffers.iter().find(|buffer| buffer.name == name);
        buffer.is_some_and(|buffer| buffer.varying_axes(&self.shape.dims).contains(&true))
    }

    /// Evaluates a launch of `entry`.
    fn launch(&self, template: &LaunchTemplate, entry: &str, faults: &mut Faults) -> Option<KernelLaunch> {
        let grid = self.axes("grid", &template.grid, MAX_GRID, faults);
        let block = match template.block.is_empty() {
            true => Some([python::threads(self.warps()), 1, 1]),
            false => self.axes("block", &template.block, MAX_BLOCK, faults),
        };
        let cluster = self.axes("cluster", &template.cluster, MAX_CLUSTER, faults);
        let dynamic_shared = self.dynamic_shared(template, faults);
        let help = "a carve-out must be a whole number from 0 to 100, in percent";
        let carveout = template.carveout.as_ref().map(|expr| self.whole("carveout", expr, 0..=100, help, faults));
        let l2_window = template.l2_window.as_ref().map(|window| self.l2_window(window, faults));
        let args = self.arguments(&template.args, faults);
        let workspace = self.workspace(&template.workspace, faults);
        let (dynamic_shared, dynamic_arrays) = dynamic_shared?;
        let shared_constant = template.shared_constant.as_ref().map(|constant| {
            let unevaluated = |error| {
                faults.unevaluated(&(self.key)("dynamic_shared"), constant.text(), &error, "", self.subject);
            };
            constant.render(self.scope).map_err(unevaluated).ok()
        });
        let launch = KernelLaunch {
            entry: entry.to_owned(),
            grid: grid?,
            block: block?,
            cluster: cluster?,
            dynamic_shared,
            shared_constant: match shared_constant {
                Some(constant) => Some(constant?),
                None => None,
            },
            dynamic_arrays,
            mode: template.mode,
            carveout: match carveout {
                Some(percent) => Some(percent?),
                None => None,
            },
            l2_window: match l2_window {
                Some(window) => Some(window?),
                None => None,
            },
            args: args?.into_iter().chain(workspace?).collect(),
        };
        self.check_products(&launch, faults).then_some(launch)
    }

    /// A window, which is inside its buffer.
    fn l2_window(&self, template: &L2WindowTemplate, faults: &mut Faults) -> Option<L2Window> {
        let whole = self.own_bytes(&template.buffer)?;
        let most = i64::try_from(whole).unwrap_or(i64::MAX);
        let help = "the window is inside its buffer";
        let bytes = match &template.bytes {
            Some(expr) => self.whole("l2_window.bytes", expr, 1..=most, help, faults).map(u64::from),
            None => Some(whole),
        };
        let help = "it must be a whole number of bytes, at least 0";
        let set_aside = match &template.set_aside {
            Some(expr) => self.whole("l2_window.set_aside", expr, 0..=i64::from(u32::MAX), help, faults).map(u64::from),
            None => bytes,
        };
        let help = "a share is a number from 0 to 1";
        let ratio = template.hit_ratio.eval_number(self.scope);
        if let Err(error) = &ratio {
            let text = template.hit_ratio.text();
            faults.unevaluated(&(self.key)("l2_window.hit_ratio"), text, error, help, self.subject);
        }
        let hit_ratio = ratio.ok()?;
        if !(0.0..=1.0).contains(&hit_ratio) {
            let message = format!("is \"{}\", which gives {hit_ratio}", template.hit_ratio);
            self.fault(faults, "l2_window.hit_ratio", message, help);
            return None;
        }
        let L2WindowTemplate { buffer, hit, miss, .. } = template;
        Some(L2Window {
            buffer: buffer.clone(),
            bytes: bytes?,
            hit_ratio,
            hit: *hit,
            miss: *miss,
            set_aside: set_aside?,
        })
    }

    /// The arguments with these names.
    pub fn args(&self, names: &[String], faults: &mut Faults) -> Option<Vec<Arg>> {
        let args: Vec<Option<Arg>> =
            names.iter().enumerate().map(|(at, name)| self.arg(&format!("args[{at}]"), name, faults)).collect();
        args.into_iter().collect()
    }

    pub(super) fn fault(&self, faults: &mut Faults, key: &str, message: String, help: &str) {
        faults.add(&(self.key)(key), message, help, self.subject);
    }

    /// The extents of up to three axes, 1 for a missing axis.
    fn axes(&self, what: &str, exprs: &[Expr], limits: [u32; 3], faults: &mut Faults) -> Option<[u32; 3]> {
        let (mut axes, mut are_whole) = ([1_u32; 3], true);
        for (at, (expr, limit)) in exprs.iter().zip(limits).enumerate() {
            let help = format!("{what} axis {at} must be a whole number from 1 to {limit}");
            let extent = self.whole(&format!("{what}[{at}]"), expr, 1..=i64::from(limit), &help, faults);
            are_whole &= extent.is_some();
            axes[at] = extent.unwrap_or(1);
        }
        are_whole.then_some(axes)
    }

    /// An expression's value, a whole number in a range.
    pub(super) fn whole(
        &self,
        key: &str,
        expr: &Expr,
        range: std::ops::RangeInclusive<i64>,
        help: &str,
        faults: &mut Faults,
    ) -> Option<u32> {
        let value = match expr.eval(self.scope) {
            Ok(value) => value,
            Err(e) => {
                faults.unevaluated(&(self.key)(key), expr.text(), &e, help, self.subject);
                return None;
            }
        };
        let whole = value.as_integer().filter(|v| range.contains(v)).and_then(|v| u32::try_from(v).ok());
        if whole.is_none() {
            let shown = match &value {
                Value::Text(text) => format!("the text `{text}`"),
                Value::Bool(v) => v.to_string(),
                number => number.to_string(),
            };
            self.fault(faults, key, format!("is \"{expr}\", which gives {shown}"), help);
        }
        whole
    }

    /// Number of warps per block requested from Triton; the number of threads is known only after the compilation.
    /// Triton refuses invalid values; for other compilers the parameter has another meaning.
    fn warps(&self) -> u32 {
        let asked = self.scope.get("num_warps").and_then(Value::as_integer).and_then(|warps| u32::try_from(warps).ok());
        asked.filter(|warps| python::WARPS_OF_A_BLOCK.contains(warps)).unwrap_or(python::WARPS)
    }

    /// Pointers that follow the arguments.
    fn workspace(&self, exprs: &[Expr], faults: &mut Faults) -> Option<Vec<Arg>> {
        let help = "a workspace must be a whole number of bytes, at least 0";
        let bytes = |(at, expr): (usize, &Expr)| {
            let bytes = self.whole(&format!("workspace[{at}]"), expr, 0..=i64::from(i32::MAX), help, faults);
            bytes.map(|bytes| Arg::Workspace(u64::from(bytes)))
        };
        let pointers: Vec<Option<Arg>> = exprs.iter().enumerate().map(bytes).collect();
        pointers.into_iter().collect()
    }

    /// Bytes of dynamic shared memory, and of its named arrays.
    fn dynamic_shared(&self, template: &LaunchTemplate, faults: &mut Faults) -> Option<(u32, Vec<(String, u32)>)> {
        let help = "dynamic shared memory must be a whole number of bytes, at least 0";
        let (mut total, mut arrays) = (Some(0_u32), Vec::new());
        for array in &template.dynamic_shared {
            let key = array.name.as_ref().map_or("dynamic_shared".to_owned(), |name| format!("dynamic_shared.{name}"));
            let bytes = self.whole(&key, &array.bytes, 0..=i64::from(i32::MAX), help, faults);
            total = total.zip(bytes).map(|(total, bytes)| total.saturating_add(bytes));
            arrays.extend(array.name.clone().zip(bytes));
        }
        Some((total?, arrays))
    }

    pub(super) fn arg(&self, key: &str, name: &str, faults: &mut Faults) -> Option<Arg> {
        if self.workload.buffers.iter().any(|buffer| buffer.name == name) {
            return Some(Arg::Buffer(name.to_owned()));
        }
        if let Some(map) = self.tensor_maps.iter().find(|map| map.name == name) {
            return self.tensor_map(map, faults).map(Arg::TensorMap);
        }
        if let Some(scalar) = self.workload.scalars.iter().find(|scalar| scalar.name == name) {
            return self.scalar(scalar, faults).map(Arg::Scalar);
        }
        // Of the other names in scope, only dimensions and indices of loops are arguments.
        let extent = self.scope.get(name).and_then(Value::as_integer);
        let value = extent.and_then(|extent| i32::try_from(extent).ok());
        if value.is_none() {
            let message = match extent {
                Some(extent) => format!("passes {name} = {extent} as `int`, which cannot hold it"),
                None => format!("names `{name}`, which is not a buffer, tensor map, scalar or dimension"),
            };
            let help = "declare it as a scalar with type \"i64\"";
            self.fault(faults, key, message, help);
        }
        value.map(|value| Arg::Scalar(ScalarValue::I32(value)))
    }

    fn scalar(&self, scalar: &Scalar, faults: &mut Faults) -> Option<ScalarValue> {
        let key = format!("workload.scalars.{}", scalar.name);
        let value = match scalar.value.eval(self.scope) {
            Ok(value) => value,
            Err(e) => {
                faults.unevaluated(&key, scalar.value.text(), &e, "", self.subject);
                return None;
            }
        };
        let typed = typed(scalar.dtype, &value);
        if typed.is_none() {
            let message = format!("is \"{}\", which gives {value}, not a {}", scalar.value, type_name(scalar.dtype));
            faults.add(&key, message, "use another type or value for the scalar", self.subject);
        }
        typed
    }

    /// Limits over all axes.
    fn check_products(&self, launch: &KernelLaunch, faults: &mut Faults) -> bool {
        let product = |axes: [u32; 3]| axes.iter().map(|&n| u64::from(n)).product::<u64>();
        let before = faults.count();
        if product(launch.block) > u64::from(MAX_BLOCK_THREADS) {
            let message = format!("gives {} threads per block", product(launch.block));
            self.fault(faults, "block", message, &format!("a block has at most {MAX_BLOCK_THREADS} threads"));
        }
        if product(launch.cluster) > u64::from(MAX_CLUSTER_BLOCKS) {
            let message = format!("gives {} blocks per cluster", product(launch.cluster));
            self.fault(faults, "cluster", message, &format!("a cluster has at most {MAX_CLUSTER_BLOCKS} blocks"));
        }
        if launch.grid.iter().zip(launch.cluster).any(|(grid, cluster)| grid % cluster != 0) {
            let message = format!("{:?} does not divide the grid {:?}", launch.cluster, launch.grid);
            self.fault(faults, "cluster", message, "a grid must consist of whole clusters on every axis");
        }
        faults.count() == before
    }
}

/// A value as a C type; none if the type cannot represent it.
pub(super) fn typed(dtype: ScalarType, value: &Value) -> Option<ScalarValue> {
    let real = match value {
        Value::Int(v) => Some(*v as f64),
        Value::Float(v) => Some(*v),
        Value::Bool(_) | Value::Text(_) => None,
    };
    let whole = value.as_integer();
    let small = |round: fn(f32) -> f32| real.map(|v| v as f32).filter(|v| round(*v).is_finite());
    match dtype {
        ScalarType::F32 => real.map(|v| v as f32).filter(|v| v.is_finite()).map(ScalarValue::F32),
        ScalarType::F64 => real.filter(|v| v.is_finite()).map(ScalarValue::F64),
        ScalarType::I32 => whole.and_then(|v| i32::try_from(v).ok()).map(ScalarValue::I32),
        ScalarType::I64 => whole.map(ScalarValue::I64),
        ScalarType::U32 => whole.and_then(|v| u32::try_from(v).ok()).map(ScalarValue::U32),
        ScalarType::U64 => whole.and_then(|v| u64::try_from(v).ok()).map(ScalarValue::U64),
        ScalarType::I16 => whole.and_then(|v| i16::try_from(v).ok()).map(ScalarValue::I16),
        ScalarType::U16 => whole.and_then(|v| u16::try_from(v).ok()).map(ScalarValue::U16),
        ScalarType::I8 => whole.and_then(|v| i8::try_from(v).ok()).map(ScalarValue::I8),
        ScalarType::U8 => whole.and_then(|v| u8::try_from(v).ok()).map(ScalarValue::U8),
        ScalarType::Bool => match value {
            Value::Bool(v) => Some(ScalarValue::Bool(*v)),
            other => other.as_integer().filter(|v| (0..=1).contains(v)).map(|v| ScalarValue::Bool(v == 1)),
        },
        ScalarType::F16 => small(|v| half::f16::from_f32(v).to_f32()).map(ScalarValue::F16),
        ScalarType::Bf16 => small(|v| half::bf16::from_f32(v).to_f32()).map(ScalarValue::Bf16),
    }
}

pub(super) fn type_name(dtype: ScalarType) -> String {
    match dtype {
        ScalarType::F16 | ScalarType::Bf16 | ScalarType::F32 | ScalarType::F64 => format!("finite {dtype}"),
        whole => whole.to_string(),
    }
}
