//! Sweep, named variants and baselines to a [`Plan`].

use super::fault::{Faults, PlanErrors};
use super::launch::StepContext;
use super::program::{KernelCode, KernelPlan, PythonKernel, ShapeProgram, Step};
use super::python;
use super::reference::{check_reference_args, check_reference_params};
use super::space::{ConditionError, Point, Space, Walk};
use super::toolchains::with_toolchains;
use super::variants::{CommandPlan, FunctionPlan, HostCode, Method, Plan, Variant, VariantRole};
use crate::config::{
    BufferType, CodeForm, KernelTemplate, KeyPlaces, LoopTemplate, Phase, StepAction, StepTemplate, VariantSpec,
    VariantSpecKind,
};
use ncugate_model::expr::{Expr, Names, Template, Value};
use ncugate_model::{KernelName, Scope, VariantId, glob};
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

/// Maximum variants of a phase.
const MOST: usize = 1_000_000;
/// Maximum steps of one evaluation that has loops.
const MOST_STEPS: usize = 1000;

/// Every variant declared by a phase: candidates in sweep order (the last axis fastest), then named ones, then baselines.
///
/// Reports all faults at once: expressions without a valid launch, an empty sweep, globs of gates without a matching candidate.
pub fn unroll_own(phase: &Phase) -> Result<Plan, PlanErrors> {
    let mut unrolling = Unroller { phase, places: Rc::new(KeyPlaces::of(&phase.text)), faults: Faults::default() };
    let mut variants = unrolling.swept();
    for (at, spec) in phase.variants.iter().enumerate() {
        variants.extend(unrolling.named(spec, &format!("variant[{at}]"), VariantRole::Candidate));
    }
    for (at, spec) in phase.baselines.iter().enumerate() {
        variants.extend(unrolling.named(spec, &format!("baseline[{at}]"), VariantRole::Baseline));
    }
    let (mut faults, places) = (unrolling.faults, unrolling.places);
    let plan = with_toolchains(phase, Plan { variants }, &mut faults);
    check_reference_args(phase, &mut faults);
    check_reference_params(phase, &plan, &mut faults);
    if faults.is_empty() {
        // The candidates of a search are unknown before it has chosen.
        if phase.search.is_none() || phase.sweep.points.is_some() {
            check_globs(phase, &plan, &places, &mut faults);
        }
        check_ids(&plan, &mut faults);
    }
    if faults.is_empty() { Ok(plan) } else { Err(faults.into_errors(phase)) }
}

type Params = Vec<(String, Value)>;

/// A condition without a value; the fault is recorded.
struct ConditionFault;

struct Unroller<'p> {
    phase: &'p Phase,
    /// Positions of the keys of its file.
    places: Rc<KeyPlaces<'p>>,
    faults: Faults,
}

impl Unroller<'_> {
    /// `[kernel]` over `[sweep]`; without a sweep, one candidate named for its entry unless `[[variant]]`s exist.
    fn swept(&mut self) -> Vec<Variant> {
        let phase = self.phase;
        let Some(kernel) = &phase.kernel else { return Vec::new() };
        if phase.sweep.axes.is_empty() {
            if !phase.variants.is_empty() {
                return Vec::new();
            }
            let entry = kernel.launches().next().map_or("", |launch| launch.entry.text());
            let id = VariantId(KernelName::parse(entry).function().into());
            return self.kernel(id, Vec::new(), kernel, &kernel_key, VariantRole::Candidate).into_iter().collect();
        }
        let combinations = self.combinations();
        combinations
            .into_iter()
            .filter_map(|params| self.kernel(sweep_id(&params), params, kernel, &kernel_key, VariantRole::Candidate))
            .collect()
    }

    /// The combinations that the condition keeps; for a search, those that it chose.
    fn combinations(&mut self) -> Vec<Params> {
        let phase = self.phase;
        let sweep = &phase.sweep;
        let conditional = phase.search.as_ref().map_or(&[][..], |search| &search.conditional[..]);
        let space = Space::new(sweep, conditional);
        match (&sweep.points, &phase.search) {
            (Some(points), _) => self.chosen(points, &space),
            // A search that has not chosen yet has no combinations.
            (None, Some(_)) => Vec::new(),
            (None, None) => self.kept(&space),
        }
    }

    /// Listed points, each of which must satisfy the axes and the condition.
    fn chosen(&mut self, points: &[Params], space: &Space) -> Vec<Params> {
        let mut chosen = Vec::with_capacity(points.len());
        for (at, params) in points.iter().enumerate() {
            match space.point(params).filter(|point| space.contains(point)) {
                Some(point) => chosen.push(space.params(&point)),
                None => {
                    let message = format!("is {}, which is not in the sweep", sweep_id(params));
                    let help = "use one of the values of every axis, and satisfy `where`";
                    self.faults.add(&format!("sweep.points[{at}]"), message, help, "");
                }
            }
        }
        chosen
    }

    fn kept(&mut self, space: &Space) -> Vec<Params> {
        let phase = self.phase;
        let condition = phase.sweep.condition.as_ref();
        let total = space.combinations();
        let too_many = |faults: &mut Faults| {
            let message = format!("has more than {MOST} combinations");
            faults.add("sweep", message, "shorten its axes, or add a [search]", "");
            Vec::new()
        };
        if condition.is_none() && total.is_none_or(|total| total > MOST) {
            return too_many(&mut self.faults);
        }
        let (mut kept, mut looked, faults) = (Vec::new(), 0_usize, &mut self.faults);
        space.walk(&mut |at, decided| {
            looked += 1;
            let params = space.params(&Point(at.to_vec()));
            match (decided, condition) {
                (Ok(true), _) => kept.push(params),
                (Ok(false), _) | (Err(_), None) => {}
                (Err(ConditionError::NotTruth(other)), Some(condition)) => {
                    let message = format!("is \"{condition}\", which gives `{other}`");
                    faults.add("sweep.where", message, "a condition must be true or false", &sweep_id(&params).0);
                }
                (Err(ConditionError::Unevaluated(e)), Some(condition)) => {
                    faults.unevaluated("sweep.where", condition.text(), &e, "", &sweep_id(&params).0);
                }
            }
            if looked > MOST { Walk::Stop } else { Walk::On }
        });
        if looked > MOST {
            return too_many(faults);
        }
        if let Some(condition) = condition.filter(|_| kept.is_empty() && faults.is_empty()) {
            let total = total.map_or_else(String::new, |total| format!("{total} "));
            let message = format!("is \"{condition}\", which excludes all {total}combinations");
            faults.add("sweep.where", message, "relax it, or add values that satisfy it", "");
        }
        kept
    }

    fn named(&mut self, spec: &VariantSpec, table: &str, standing: VariantRole) -> Option<Variant> {
        let id = VariantId((&spec.name).into());
        match &spec.kind {
            VariantSpecKind::Kernel(kernel) => {
                let places = Rc::clone(&self.places);
                let key = |key: &str| {
                    let own = format!("{table}.kernel.{key}");
                    if places.locate(&own).is_some() { own } else { kernel_key(key) }
                };
                self.kernel(id, spec.params.clone(), kernel, &key, standing)
            }
            VariantSpecKind::Function(function) => {
                let scope: Names = spec.params.iter().cloned().collect();
                let text = self.text(&function.call, &format!("{table}.python"), &scope, &id)?;
                let (file, name) = text.rsplit_once(':')?;
                let method = Method::Function(FunctionPlan {
                    file: self.phase.build.python_file(file),
                    function: name.to_owned(),
                    kernel_filter: function.kernel_filter.clone(),
                    host: None,
                });
                Some(Variant { id, standing, params: spec.params.clone(), method })
            }
            VariantSpecKind::Captured(pattern) => {
                Some(Variant { id, standing, params: Vec::new(), method: Method::Captured(pattern.clone()) })
            }
            VariantSpecKind::Command(command) => {
                let scope: Names = spec.params.iter().cloned().collect();
                let key = format!("{table}.command");
                let output = self.phase.workload.buffers.iter().find(|buffer| buffer.role.is_compared());
                if let Some(output) = output.filter(|output| matches!(output.dtype, BufferType::ByShape(_))) {
                    let message = format!("gets one type, but the type of `{}` depends on the shape", output.name);
                    let help = "use a Python function, which gets buffers of the shape's type";
                    self.faults.add(&key, message, help, &format!("variant {id}"));
                }
                let argv = self.rendered(&command.argv, &key, &scope, &id)?;
                let method = Method::Command(CommandPlan { argv, kernel_filter: command.kernel_filter.clone() });
                Some(Variant { id, standing, params: spec.params.clone(), method })
            }
        }
    }

    fn kernel(
        &mut self,
        id: VariantId,
        params: Params,
        kernel: &KernelTemplate,
        key: &dyn Fn(&str) -> String,
        standing: VariantRole,
    ) -> Option<Variant> {
        let scope: Names = params.iter().cloned().collect();
        let mut flags = self.rendered(&kernel.flags, &key("flags"), &scope, &id);
        for axis in &kernel.flag_axes {
            let Some((value, chosen)) = axis.chosen(&params) else { continue };
            let chosen = self.rendered(chosen, &format!("sweep.{}.{value}", axis.name), &scope, &id);
            flags = flags.zip(chosen).map(|(flags, chosen)| [flags, chosen].concat());
        }
        let source = self.text(&kernel.source, &key(kernel.code.key().name), &scope, &id);
        let linked = self.rendered(&kernel.linked, &key(kernel.code.key().name), &scope, &id);
        let defines = self.defines(kernel, key, &scope, &id);
        let leaves: Vec<StepLeaf<'_>> = kernel
            .steps
            .iter()
            .flat_map(StepTemplate::leaves)
            .map(|step| {
                let keys = self.keys(key, step);
                StepLeaf { entry: self.entry(step, &keys, &scope, &id), keys }
            })
            .collect();
        let mut programs = Vec::with_capacity(self.phase.workload.shapes.len());
        let mut constexprs = Vec::new();
        for shape in &self.phase.workload.shapes {
            let scope = self.phase.launch_scope(shape, &params);
            let subject = format!("variant {id} at shape {}", shape.name);
            match self.left_out(kernel, key, &scope, &subject) {
                Ok(None) => {}
                Ok(left_out) => {
                    let program = ShapeProgram::new(shape.name.clone(), Vec::new());
                    programs.push(ShapeProgram { left_out, ..program });
                    constexprs.push(Vec::new());
                    continue;
                }
                Err(ConditionFault) => continue,
            }
            let launching = StepContext {
                tensor_maps: &kernel.tensor_maps,
                key,
                workload: &self.phase.workload,
                shape,
                scope: &scope,
                subject: &subject,
            };
            let mut steps = self.steps(&kernel.steps, &leaves, &launching, 0);
            if let Some(steps) = &steps {
                launching.check_order(steps, &mut self.faults);
            }
            let launching = StepContext { tensor_maps: &[], ..launching };
            let symbols = launching.symbols(&kernel.symbols, &mut self.faults);
            launching.share_surfaces(steps.as_deref_mut().unwrap_or_default(), &mut self.faults);
            let program = |(steps, symbols)| ShapeProgram { shape: shape.name.clone(), symbols, steps, left_out: None };
            let values = self.constexprs(kernel, key, &scope, &subject);
            let built = steps.zip(symbols).map(program).zip(values);
            built.into_iter().for_each(|(program, values)| {
                programs.push(program);
                constexprs.push(values);
            });
        }
        self.check_extents(&params, &id);
        if let Some(reason) = programs.iter().map(|program| program.left_out.as_ref()).collect::<Option<Vec<_>>>()
            && let Some(reason) = reason.first()
        {
            let message = format!("excludes every shape: {reason}");
            self.faults.add(
                &key("where"),
                message,
                "exclude such combinations with `where` of [sweep]",
                &format!("variant {id}"),
            );
        }
        let whole = programs.len() == self.phase.workload.shapes.len();
        let code = match kernel.code {
            CodeForm::Cuda => KernelCode::Cuda,
            CodeForm::Ptx => KernelCode::Ptx,
            CodeForm::Cubin => KernelCode::Cubin,
            CodeForm::Host => {
                let function = leaves.into_iter().next()?.entry?;
                self.check_host_args(&programs, &key("args"), &id);
                let host = HostCode { flags: flags?, defines: defines?, programs };
                let file = PathBuf::from(source?);
                let method = Method::Function(FunctionPlan { file, function, kernel_filter: None, host: Some(host) });
                return whole.then_some(Variant { id, standing, params, method });
            }
            CodeForm::Python => {
                if let Some(buffer) = python::mixed_argument(&self.phase.workload, &programs) {
                    let message = format!("passes `{buffer}`, whose type differs between shapes");
                    let help =
                        "one compiled kernel has one type: limit the variant to its shapes with `where` of [kernel]";
                    self.faults.add(&key("args"), message, help, &format!("variant {id}"));
                }
                if let Some((name, _)) = params.iter().find(|(_, value)| *value == Value::Text("nullptr".to_owned())) {
                    let message = format!("compiles with {name} = \"nullptr\", which means `None` only in `args`");
                    let help = "write \"None\" for a parameter that is `None`";
                    self.faults.add(&key("python"), message, help, &format!("variant {id}"));
                }
                let by_value = match kernel.constexprs.is_empty() {
                    true => None,
                    false => python::by_value(&self.phase.workload, constexprs, &mut programs),
                };
                KernelCode::Python(PythonKernel {
                    by_value,
                    signature: python::signature(&self.phase.workload, &programs),
                    launched: python::launched(&self.phase.workload, kernel, &params),
                    constants: params.clone(),
                    given: python::given(kernel),
                })
            }
        };
        let source = match kernel.code {
            CodeForm::Python => self.phase.build.python_file(&source?),
            CodeForm::Cuda | CodeForm::Ptx | CodeForm::Cubin | CodeForm::Host => PathBuf::from(source?),
        };
        let plan = KernelPlan {
            source,
            linked: linked?.into_iter().map(PathBuf::from).collect(),
            code,
            flags: flags?,
            defines: defines?,
            programs,
        };
        whole.then_some(Variant { id, standing, params, method: Method::Kernel(plan) })
    }

    /// Records arguments that a host function cannot take.
    fn check_host_args(&mut self, programs: &[ShapeProgram], key: &str, id: &VariantId) {
        let mut args = programs.iter().flat_map(ShapeProgram::launches).flat_map(|launch| &launch.args);
        if let Some(arg) = args.find(|arg| arg.host_type().is_none()) {
            let message = format!("passes {}, which a host function does not take", arg.described());
            let help = "pass pointers, numbers of at most 8 bytes, and structs of them; the function makes tensor maps";
            self.faults.add(key, message, help, &format!("variant {id}"));
        }
    }

    /// Steps with their loops unrolled, after `before` others; none after a fault. `leaves` are the templates without loops.
    fn steps(
        &mut self,
        templates: &[StepTemplate],
        leaves: &[StepLeaf<'_>],
        at: &StepContext<'_>,
        before: usize,
    ) -> Option<Vec<Step>> {
        // Every template is evaluated, so that all faults are reported at once.
        let (mut steps, mut left) = (Some(Vec::with_capacity(templates.len())), leaves);
        for template in templates {
            let (own, others) = left.split_at(template.leaves().len());
            left = others;
            let before = before + steps.as_ref().map_or(0, Vec::len);
            let more = match &template.action {
                StepAction::Loop(repeated) => self.repeated(template, repeated, own, at, before),
                action => own.first().and_then(|leaf| {
                    let at = StepContext { key: &|key| leaf.keys.key(key), ..*at };
                    at.step(action, leaf.entry.as_deref(), &mut self.faults).map(|step| vec![step])
                }),
            };
            steps = steps.zip(more).map(|(mut steps, more)| {
                steps.extend(more);
                steps
            });
        }
        steps
    }

    /// The steps of a loop, for all values of its indices in order.
    fn repeated(
        &mut self,
        template: &StepTemplate,
        repeated: &LoopTemplate,
        leaves: &[StepLeaf<'_>],
        at: &StepContext<'_>,
        before: usize,
    ) -> Option<Vec<Step>> {
        let Some(((name, count), inner)) = repeated.indices.split_first() else {
            return self.steps(&repeated.steps, leaves, at, before);
        };
        let keys = self.keys(at.key, template);
        let at = StepContext { key: &|key| keys.key(key), ..*at };
        let help = format!("a count must be a whole number from 0 to {MOST_STEPS}");
        let count = at.whole(&format!("repeat.{name}"), count, 0..=MOST_STEPS as i64, &help, &mut self.faults)?;
        let inner = LoopTemplate { indices: inner.to_vec(), steps: repeated.steps.clone() };
        let mut steps = Vec::new();
        for value in 0..count {
            let scope = at.scope.iter().map(|(name, value)| (name.clone(), value.clone()));
            let scope: Names = scope.chain([(name.clone(), Value::Int(i64::from(value)))]).collect();
            let subject = format!("{}, {name} = {value}", at.subject);
            let at = StepContext { scope: &scope, subject: &subject, ..at };
            steps.extend(self.repeated(template, &inner, leaves, &at, before + steps.len())?);
            if before + steps.len() > MOST_STEPS {
                let message = format!("gives more than {MOST_STEPS} steps");
                at.fault(&mut self.faults, "repeat", message, "shorten the loop");
                return None;
            }
        }
        Some(steps)
    }

    fn keys<'k>(&self, key: &'k dyn Fn(&str) -> String, step: &'k StepTemplate) -> StepKeys<'k>
    where
        Self: 'k,
    {
        StepKeys { places: Rc::clone(&self.places), table: key, place: step.place.as_deref() }
    }

    /// The values of the constexprs at a shape.
    fn constexprs(
        &mut self,
        kernel: &KernelTemplate,
        key: &dyn Fn(&str) -> String,
        scope: &Names,
        subject: &str,
    ) -> Option<Params> {
        let value = |(name, expr): &(String, Expr)| {
            let unevaluated = |error| {
                let help = "a constexpr needs a value at every shape";
                self.faults.unevaluated(&key(&format!("constexprs.{name}")), expr.text(), &error, help, subject);
            };
            Some((name.clone(), expr.eval(scope).map_err(unevaluated).ok()?))
        };
        kernel.constexprs.iter().map(value).collect::<Vec<_>>().into_iter().collect()
    }

    /// The condition that prevents a launch of the kernel at a shape.
    fn left_out(
        &mut self,
        kernel: &KernelTemplate,
        key: &dyn Fn(&str) -> String,
        scope: &Names,
        subject: &str,
    ) -> Result<Option<String>, ConditionFault> {
        let Some(condition) = &kernel.condition else { return Ok(None) };
        match condition.eval_bool(scope) {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(format!("`where = \"{condition}\"` does not hold"))),
            Err(error) => {
                let help = "a condition must be true or false";
                self.faults.unevaluated(&key("where"), condition.text(), &error, help, subject);
                Err(ConditionFault)
            }
        }
    }

    /// Records parametric extents without a valid value in a variant.
    fn check_extents(&mut self, params: &Params, id: &VariantId) {
        for shape in &self.phase.workload.shapes {
            let scope = self.phase.launch_scope(shape, params);
            for buffer in &self.phase.workload.buffers {
                let axes = buffer.varying_axes(&shape.dims);
                for (at, (extent, _)) in buffer.shape.iter().zip(axes).enumerate().filter(|(_, (_, varies))| *varies) {
                    let key = format!("workload.buffers.{}.shape[{at}]", buffer.name);
                    let subject = format!("variant {id} at shape {}", shape.name);
                    let help = "an extent must be a whole number of at least 1";
                    match extent.eval_int(&scope) {
                        Ok(1..) => {}
                        Ok(value) => {
                            self.faults.add(&key, format!("is \"{extent}\", which gives {value}"), help, &subject)
                        }
                        Err(error) => self.faults.unevaluated(&key, extent.text(), &error, help, &subject),
                    }
                }
            }
        }
    }

    /// The entry of a step that is a launch.
    fn entry(&mut self, step: &StepTemplate, keys: &StepKeys<'_>, scope: &Names, id: &VariantId) -> Option<String> {
        match &step.action {
            StepAction::Launch(launch) => {
                let entry = self.text(&launch.entry, &keys.key("entry"), scope, id)?;
                if entry.contains("//") {
                    let message = format!("is `{entry}`, where `//` begins a comment of C++");
                    let help = "template arguments are C++, where `/` divides whole numbers";
                    self.faults.add(&keys.key("entry"), message, help, &format!("variant {id}"));
                }
                Some(entry)
            }
            StepAction::Memset { .. } | StepAction::Memcpy { .. } | StepAction::Loop(_) => None,
        }
    }

    /// The parameters passed as macros.
    fn defines(
        &mut self,
        kernel: &KernelTemplate,
        key: &dyn Fn(&str) -> String,
        scope: &Names,
        id: &VariantId,
    ) -> Option<Vec<(String, String)>> {
        let define = |(at, name): (usize, &String)| {
            let value = scope.get(name);
            if value.is_none() {
                let message = format!("is `{name}`, which is not a parameter");
                self.faults.add(&key(&format!("defines[{at}]")), message, "", &format!("variant {id}"));
            }
            value.map(|value| (name.clone(), value.to_string()))
        };
        let defines: Vec<Option<_>> = kernel.defines.iter().enumerate().map(define).collect();
        defines.into_iter().collect()
    }

    /// A template with the parameters filled in.
    fn text(&mut self, template: &Template, key: &str, scope: &Names, id: &VariantId) -> Option<String> {
        let unevaluated = |e| self.faults.unevaluated(key, template.text(), &e, "", &format!("variant {id}"));
        template.render(scope).map_err(unevaluated).ok()
    }

    /// Templates with the parameters filled in.
    fn rendered(&mut self, templates: &[Template], key: &str, scope: &Names, id: &VariantId) -> Option<Vec<String>> {
        // Every template is rendered, so that all faults are reported at once.
        let texts: Vec<Option<String>> = templates
            .iter()
            .enumerate()
            .map(|(at, template)| self.text(template, &format!("{key}[{at}]"), scope, id))
            .collect();
        texts.into_iter().collect()
    }
}

/// A single step of a variant: a launch, a fill or a copy.
struct StepLeaf<'k> {
    keys: StepKeys<'k>,
    /// Its entry, if it is a launch.
    entry: Option<String>,
}

/// The key paths of a step: in its own table, else in the kernel's.
struct StepKeys<'k> {
    places: Rc<KeyPlaces<'k>>,
    table: &'k dyn Fn(&str) -> String,
    place: Option<&'k str>,
}

impl StepKeys<'_> {
    fn key(&self, key: &str) -> String {
        let own = self.place.map(|at| (self.table)(&format!("{at}.{key}")));
        own.filter(|own| self.places.locate(own).is_some()).unwrap_or_else(|| (self.table)(key))
    }
}

fn kernel_key(key: &str) -> String {
    format!("kernel.{key}")
}

/// `REGCAP=64,THREADS=128`, in the order of the sweep.
pub fn sweep_id(params: &[(String, Value)]) -> VariantId {
    let pairs: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    VariantId(pairs.join(",").into())
}

/// A gate, stage or fallback whose glob matches no candidate would judge nothing.
fn check_globs(phase: &Phase, plan: &Plan, places: &KeyPlaces<'_>, faults: &mut Faults) {
    // The key, the text there, and the glob in it.
    let mut globs: Vec<(String, String, &str)> = Vec::new();
    for (at, gate) in phase.gates.iter().enumerate() {
        globs.extend(gate.on.glob().map(|glob| (format!("gate[{at}].on"), gate.on.to_string(), glob)));
    }
    for (at, tier) in phase.gate_plan.tiers.iter().enumerate() {
        for (nth, gate) in tier.gates.iter().enumerate() {
            if let Some(glob) = gate.on.glob() {
                let own = format!("tier[{at}].require[{nth}].on");
                let key = if places.locate(&own).is_some() { own } else { format!("tier[{at}].on") };
                globs.push((key, gate.on.to_string(), glob));
            }
        }
    }
    let stages = phase.gate_plan.stages.iter().enumerate();
    let stages = stages.map(|(at, stage)| (format!("stage[{at}].variant"), &stage.variant));
    let fallback = phase.gate_plan.fallback.iter().map(|f| ("fallback.variant".to_owned(), &f.variant));
    globs.extend(stages.chain(fallback).map(|(key, variant)| (key, variant.clone(), variant.as_str())));
    // Most gates share their globs.
    let mut known: HashMap<&str, bool> = HashMap::new();
    for (key, written, pattern) in globs {
        let is_matched = || glob(pattern).is_ok_and(|m| plan.candidates().any(|variant| m.is_match(&variant.id.0)));
        if !*known.entry(pattern).or_insert_with(is_matched) {
            let hint = ncugate_model::nearest(pattern, Scope::WORDS.into_iter())
                .filter(|_| key.ends_with(".on"))
                .map_or_else(String::new, |word| format!("did you mean \"{word}\"? "));
            let first = plan.candidates().next().map_or("none", |variant| variant.id.0.as_str());
            let help = format!("{hint}use a glob of variant ids; the first id is `{first}`");
            faults.add(&key, format!("is \"{written}\", which matches no candidate"), &help, "");
        }
    }
}

/// All later code identifies variants by their ids.
fn check_ids(plan: &Plan, faults: &mut Faults) {
    let mut seen = std::collections::HashSet::new();
    for variant in plan.variants.iter().filter(|variant| !seen.insert(&variant.id)) {
        let message = format!("has two variants with the id `{}`", variant.id);
        faults.add("phase", message, "rename the named one, or change the sweep", "");
    }
}
