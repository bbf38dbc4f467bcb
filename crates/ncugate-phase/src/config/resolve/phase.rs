//! The file as a whole: order of reading, settings, objective, and name collisions.

use super::gates::Vocabulary;
use super::kernel::{self, FlagAxisParts, KernelCompleteness, KernelParts};
use super::names::KernelNames;
use super::workload::{self, dims_of};
use super::{check, report_phase, rule, toolchains};
use crate::config::keys::{BENCH, BUILD, MACHINE, OBJECTIVE, PHASE, PROFILE, ROOT, STAGE, VARIANT};
use crate::config::reader::{Item, Table};
use crate::config::{
    BASE, BenchSettings, BuildSettings, CounterPolicy, DeepProfileTarget, Gate, GatePlan, KernelTemplate, L2State,
    Objective, Phase, ProfileSettings, ProgramKind, Selection, Sweep, TOOLCHAIN_PARAM, VariantSpec, Verification,
    Workload, WorkloadReference,
};
use jiff::civil::Date;
use ncugate_model::expr::Requirement;
use ncugate_model::metric::{Catalogue, MetricSource};
use ncugate_model::{Better, ShapeName};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Reads the file; none if a required key could not be read (an error explains it).
pub fn phase<'a>(
    root: &Table<'a>,
    project: Option<&Table<'a>>,
    path: &Path,
    text: &str,
    today: Option<Date>,
) -> Option<Phase> {
    let (sweep, flag_axes) = root.get(&ROOT.sweep).map(|item| kernel::sweep(&item)).unwrap_or_default();
    let search = root.read(&ROOT.search, |item| super::search::search(item, &sweep));
    let mut params = all_params(&sweep, &[root.list(&ROOT.variant), root.list(&ROOT.baseline)].concat());
    let toolchains = root.read(&ROOT.toolchains, toolchains::toolchains).unwrap_or_default();
    if !toolchains.is_empty() {
        params.push(TOOLCHAIN_PARAM.to_owned());
    }
    let workload = match report_phase::is_of_reports(root) {
        true => report_phase::workload(root),
        false => {
            let Some(table) = root.need(&ROOT.workload).and_then(|item| item.table()) else {
                return without_workload(root);
            };
            let workload = workload::workload(&table, &params);
            check_collisions(&table, &workload, &params);
            workload
        }
    };
    let ways = ways(root, &sweep, flag_axes, &workload, &params);

    let mut vocabulary = Vocabulary {
        metrics: Catalogue::embedded(),
        values: values(&workload, &params),
        subjects: subjects(&ways.variants, &ways.baselines, &root.list(&ROOT.stage)),
        shapes: &workload.shapes,
        buffers: &workload.buffers,
        default_shape: workload.shapes.last().map(|shape| shape.name.clone()),
        of_reports: workload.is_of_reports(),
        today,
    };
    let head = root.read(&ROOT.phase, Item::table);
    let head = head.as_ref();
    if let Some(item) = head.and_then(|head| head.get(&PHASE.objective_shape)) {
        vocabulary.default_shape = vocabulary.shape(&item);
    }
    let name = head.and_then(|head| head.read(&PHASE.name, Item::name));
    let title = head.and_then(|head| head.read(&PHASE.title, Item::text));
    let objective = head.and_then(|head| objective(head, &vocabulary));
    let select = head.and_then(|head| head.read(&PHASE.select, |item| item.one_of(&Selection::WORDS)));
    let recording = head.and_then(|head| head.read(&PHASE.recording, Item::text));
    let gates = vocabulary.flat(&root.list(&ROOT.gate));
    let gate_plan = vocabulary.plan(root, &gates);
    let rules = rule::rules(&root.list(&ROOT.rule), &vocabulary.values);
    let imported = root.read(&ROOT.imported, |item| super::imported::imported(item, &workload.shapes));
    let judged = |kind| judged_shapes(&vocabulary, &gates, &gate_plan, kind);
    let mut build = root.section(&ROOT.build, project).map(|table| build(&table));
    if let (Some(build), Some(first)) = (&mut build, toolchains.first()) {
        *build = build.of(first);
    }
    let bench = root.section(&ROOT.bench, project);
    let bench = bench.and_then(|table| bench_settings(&table, &vocabulary, &judged(MetricSource::Latency)));
    let counters = root.section(&ROOT.profile, project);
    let counting = counters.as_ref().and_then(|table| table.read(&PROFILE.require, Item::boolean));
    let profile = counters.and_then(|table| profile(&table, &vocabulary, &judged(MetricSource::Ncu)));
    if bench.as_ref().is_some_and(|bench| bench.l2 == L2State::Warm) && workload.has_state() {
        check_warm_cache(root);
    }
    if bench.as_ref().is_some_and(|bench| bench.l2 == L2State::Cold) && ways.has_l2_windows() {
        let message = "`bench.l2` is \"cold\", but a launch has an `l2_window`";
        let help = "persisting lines stay when the cache is overwritten: use \"rotate\" or \"warm\"".to_owned();
        root.report(message, Some(help));
    }
    let groups = groups(root);
    let check = root.read(&ROOT.check, Item::table).map(|table| check::check(&table)).unwrap_or_default();
    let mut workload = workload;
    let reference = match &mut workload.reference {
        WorkloadReference::Program(reference) => Some(reference),
        _ => None,
    };
    for program in reference.into_iter().chain(workload.checks.iter_mut().map(|check| &mut check.program)) {
        if let (Some(build), ProgramKind::Python { file, .. }) = (&build, &mut program.program) {
            *file = build.python_file(&file.to_string_lossy());
        }
    }
    Some(Phase {
        file: path.to_owned(),
        root: PathBuf::new(),
        text: text.to_owned(),
        project: None,
        title: title.or_else(|| name.clone())?,
        name: name?,
        objective: objective?,
        select: select?,
        recording: recording.map(Into::into),
        build: build?,
        toolchains,
        bench: bench?,
        profile: profile?,
        counting: if counting? { CounterPolicy::Required } else { CounterPolicy::IfPossible },
        groups,
        check,
        kernel: ways.kernel,
        sweep,
        search,
        variants: ways.variants,
        baselines: ways.baselines,
        gates,
        gate_plan,
        rules,
        imported,
        base: None,
        sms: None,
        workload,
    })
}

/// All implementations of the workload.
struct Implementations {
    kernel: Option<KernelTemplate>,
    variants: Vec<VariantSpec>,
    baselines: Vec<VariantSpec>,
}

impl Implementations {
    fn has_l2_windows(&self) -> bool {
        let named = self.variants.iter().chain(&self.baselines).filter_map(|spec| spec.kind.kernel());
        let mut launches = self.kernel.iter().chain(named).flat_map(KernelTemplate::launches);
        launches.any(|launch| launch.l2_window.is_some())
    }
}

fn ways(
    root: &Table<'_>,
    sweep: &Sweep,
    flag_axes: Vec<FlagAxisParts>,
    workload: &Workload,
    params: &[String],
) -> Implementations {
    let dims = dims_of(&workload.shapes);
    let args = arg_names(workload);
    let taken = declared(workload, params);
    let names = KernelNames { dims: &dims, buffers: &workload.buffers, args: &args, taken: &taken };
    let (variants, baselines) = (root.list(&ROOT.variant), root.list(&ROOT.baseline));
    // A variant without own keys runs the plain `[kernel]`.
    let own = |item: &Item<'_>| item.peek(&VARIANT.kernel).is_some() || item.peek(&VARIANT.command).is_some();
    let all_own = !variants.is_empty() && variants.iter().chain(&baselines).all(own);
    let parts = root.read(&ROOT.kernel, Item::table).map(|table| {
        let mut parts = kernel::parts(&table);
        parts.flag_axes = flag_axes;
        if all_own && !root.has(&ROOT.sweep) {
            parts.runs = KernelCompleteness::Common;
        }
        (table, parts)
    });
    let base = parts.as_ref().map(|(_, parts)| parts);
    kernel::no_shared_names(&[variants.as_slice(), &baselines].concat());
    let ways = Implementations {
        variants: kernel::variants(&variants, base, &names),
        baselines: kernel::variants(&baselines, base, &names),
        kernel: swept(root, parts.as_ref(), sweep, &names),
    };
    let named: Vec<&VariantSpec> = ways.variants.iter().chain(&ways.baselines).collect();
    // An unreadable variant has its own error, and could have passed a tensor map.
    if let Some((table, parts)) = parts.as_ref().filter(|_| named.len() == variants.len() + baselines.len()) {
        let kernels: Vec<&KernelTemplate> = named.iter().filter_map(|spec| spec.kind.kernel()).collect();
        parts.check_unused(table, &kernels);
    }
    ways
}

/// Errors of the independent tables, if there is no workload that provides the names for the others.
fn without_workload(root: &Table<'_>) -> Option<Phase> {
    if let Some(head) = root.read(&ROOT.phase, Item::table) {
        let _name: Option<String> = head.read(&PHASE.name, Item::name);
    }
    root.section(&ROOT.build, None).map(|table| build(&table));
    groups(root);
    root.check_tables();
    None
}

/// Every parameter of any variant, each once.
fn all_params(sweep: &Sweep, named: &[Item<'_>]) -> Vec<String> {
    let mut names: Vec<String> = sweep.axes.iter().map(|(name, _)| name.clone()).collect();
    for (name, _) in named.iter().filter_map(|item| item.peek(&VARIANT.params)).flat_map(|item| kernel::params(&item)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn arg_names(workload: &Workload) -> Vec<String> {
    let buffers = workload.buffers.iter().map(|buffer| buffer.name.clone());
    let scalars = workload.scalars.iter().map(|scalar| scalar.name.clone());
    buffers.chain(scalars).chain(dims_of(&workload.shapes)).collect()
}

/// Values, not metrics, for requirements.
fn values(workload: &Workload, params: &[String]) -> Vec<String> {
    let scalars = workload.scalars.iter().map(|scalar| scalar.name.clone());
    let words = ["cc".to_owned(), "dtype".to_owned()];
    dims_of(&workload.shapes).into_iter().chain(params.iter().cloned()).chain(scalars).chain(words).collect()
}

fn subjects(variants: &[VariantSpec], baselines: &[VariantSpec], stages: &[Item<'_>]) -> Vec<String> {
    let named = baselines.iter().chain(variants).map(|spec| spec.name.clone());
    let stages = stages.iter().filter_map(|item| item.peek(&STAGE.name)?.text());
    // Always known; inconclusive in a run without a base.
    named.chain(stages).chain([BASE.to_owned()]).collect()
}

/// The swept kernel, checked; reports a sweep without a kernel and an empty phase.
fn swept(
    root: &Table<'_>,
    parts: Option<&(Table<'_>, KernelParts)>,
    sweep: &Sweep,
    names: &KernelNames<'_>,
) -> Option<KernelTemplate> {
    let Some((table, parts)) = parts else {
        if let Some(sweep) = root.get(&ROOT.sweep) {
            let help = "declare [kernel], or give each [[variant]] its own parameters".to_owned();
            sweep.report("`sweep` has no kernel to apply to", Some(help));
        }
        if !root.has(&ROOT.kernel) && !root.has(&ROOT.variant) {
            let help = "declare [kernel], or at least one [[variant]]".to_owned();
            root.report("the phase has nothing to run", Some(help));
        }
        return None;
    };
    if parts.runs == KernelCompleteness::Whole {
        parts.complete(table);
    }
    parts.check_maps(table, names);
    if root.has(&ROOT.sweep) || !root.has(&ROOT.variant) {
        let params: Vec<&String> = sweep.axes.iter().map(|(name, _)| name).collect();
        let axes = root.get(&ROOT.sweep).map(|item| kernel::placed_names(&item)).unwrap_or_default();
        let axes: Vec<_> = axes.into_iter().filter(|axis| params.contains(&&axis.value)).collect();
        parts.check(table, names, &axes, "the sweep's parameters");
    }
    parts.template()
}

/// The objective of `[phase]`, at the shape where gates are judged.
fn objective(table: &Table<'_>, vocabulary: &Vocabulary<'_>) -> Option<Objective> {
    let shape = vocabulary.default_shape.clone();
    if vocabulary.of_reports && !table.has(&PHASE.objective) {
        return Some(Objective { metric: "duration".to_owned(), better: Better::Lower, shape: shape? });
    }
    let item = table.get(&PHASE.objective)?;
    let (metric, better) = if item.is_table() {
        let (key, item) = item.table()?.exactly_one([&OBJECTIVE.minimise, &OBJECTIVE.maximise])?;
        (vocabulary.metric(&item)?, if *key == OBJECTIVE.minimise { Better::Lower } else { Better::Higher })
    } else {
        let metric = vocabulary.metric(&item)?;
        match vocabulary.metrics.get(&metric).map(|metric| metric.better) {
            Some(better @ (Better::Higher | Better::Lower)) => (metric, better),
            Some(Better::Context) | None => {
                let help = format!("objective = {{ minimise = \"{metric}\" }}, or maximise");
                item.report(format!("`phase.objective` is `{metric}`, a metric without a direction"), Some(help));
                return None;
            }
        }
    };
    Some(Objective { metric, better, shape: shape? })
}

/// The objective's shape and the shapes of gates on that kind of metric, in the order of the file.
fn judged_shapes(vocabulary: &Vocabulary<'_>, gates: &[Gate], plan: &GatePlan, kind: MetricSource) -> Vec<ShapeName> {
    let needing = gates.iter().chain(plan.gates()).filter(|gate| reads(&gate.require, kind));
    let named: Vec<&ShapeName> = needing.flat_map(|gate| &gate.shapes).chain(&vocabulary.default_shape).collect();
    let declared = vocabulary.shapes.iter().map(|shape| shape.name.clone());
    declared.filter(|shape| named.contains(&shape)).collect()
}

/// Whether a requirement reads a value from `kind`.
fn reads(requirement: &Requirement, kind: MetricSource) -> bool {
    let reads = requirement.reads();
    let named = reads.quantities.iter().any(|read| Catalogue::embedded().source(&read.name) == Some(kind));
    named || (kind == MetricSource::Latency && !reads.speedups.is_empty())
}

fn build(table: &Table<'_>) -> BuildSettings {
    let arch = table.read(&BUILD.arch, |item| {
        let text = item.text()?;
        let digits = text.strip_prefix("sm_").unwrap_or_default().trim_end_matches(['a', 'f']);
        if digits.len() < 2 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            item.expected("an architecture such as \"sm_90\"", None);
        }
        Some(text)
    });
    let path = |key| table.read(key, Item::text).map(Into::into);
    let pythonpath = table.get(&BUILD.pythonpath).map(|item| folders(&item)).unwrap_or_default();
    let include = table.get(&BUILD.include).map(|item| packages(&item)).unwrap_or_default();
    let (nvcc, python, cache) = (path(&BUILD.nvcc), path(&BUILD.python), path(&BUILD.cache));
    BuildSettings { nvcc, arch, python, pythonpath, include, cache }
}

/// Folders of a search path, whose separator no folder can contain.
fn folders(item: &Item<'_>) -> Vec<PathBuf> {
    let folder = |item: &Item<'_>| {
        let text = item.text()?;
        if text.is_empty() || text.contains(':') {
            item.expected("a folder without `:`", None);
        }
        Some(text.into())
    };
    item.list().iter().filter_map(folder).collect()
}

/// Packages of Python.
fn packages(item: &Item<'_>) -> Vec<String> {
    let package = |item: &Item<'_>| {
        let text = item.text()?;
        let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !text.split('.').all(is_name) {
            item.expected("a package as `import` names it, such as \"torch\"", None);
        }
        Some(text)
    };
    item.list().iter().filter_map(package).collect()
}

fn bench_settings(table: &Table<'_>, vocabulary: &Vocabulary<'_>, judged: &[ShapeName]) -> Option<BenchSettings> {
    let count = |key| table.read(key, Item::count);
    all_of!(BenchSettings {
        warmup: count(&BENCH.warmup),
        rounds: count(&BENCH.rounds),
        max_rounds: count(&BENCH.max_rounds),
        processes: count(&BENCH.processes),
        min_sample: count(&BENCH.min_sample_us).map(|time| Duration::from_micros(time.into())),
        max_launches: count(&BENCH.max_launches),
        buffer_sets: count(&BENCH.buffer_sets),
        l2: table.read(&BENCH.l2, |item| item.one_of(&L2State::WORDS)),
        verify: table.read(&BENCH.verify, |item| item.one_of(&Verification::WORDS)),
        timeout: count(&BENCH.timeout_s).map(|time| Duration::from_secs(time.into())),
        shapes: Some(measured(table.get(&BENCH.shapes), vocabulary, judged)),
    })
}

/// Reports a warm cache if launches change their inputs: each launch finds its state at another address.
fn check_warm_cache(root: &Table<'_>) {
    let message = "`bench.l2` is \"warm\", but launches of this workload change their inputs";
    let help = "each launch gets fresh copies of those buffers, which are not in the cache: use \"rotate\" or \"cold\"";
    match root.get(&ROOT.bench).and_then(|item| item.peek(&BENCH.l2)) {
        Some(item) => item.report(message, Some(help.to_owned())),
        None => root.report(message, Some(help.to_owned())),
    }
}

fn profile(table: &Table<'_>, vocabulary: &Vocabulary<'_>, judged: &[ShapeName]) -> Option<ProfileSettings> {
    all_of!(ProfileSettings {
        ncu: Some(table.read(&PROFILE.ncu, Item::text).map(Into::into)),
        shapes: Some(measured(table.get(&PROFILE.shapes), vocabulary, judged)),
        metrics: Some(table.list(&PROFILE.metrics).iter().filter_map(|item| vocabulary.metric(item)).collect()),
        timeout: table.read(&PROFILE.timeout_s, Item::count).map(|time| Duration::from_secs(time.into())),
        repeat: table.read(&PROFILE.repeat, Item::count),
        deep_profile: table.read(&PROFILE.deep_profile, |item| item.one_of(&DeepProfileTarget::WORDS)),
    })
}

/// Kinds of GPUs that are measured together, by parts of their names.
fn groups(root: &Table<'_>) -> Vec<String> {
    let machine = root.read(&ROOT.machine, Item::table);
    let items = machine.map(|table| table.list(&MACHINE.groups)).unwrap_or_default();
    items.iter().filter_map(Item::text).collect()
}

/// The `shapes` of `[bench]` or `[profile]`: they must include the judged ones.
fn measured(given: Option<Item<'_>>, vocabulary: &Vocabulary<'_>, judged: &[ShapeName]) -> Vec<ShapeName> {
    let Some(item) = given else { return judged.to_vec() };
    let shapes = vocabulary.shape_list(&item);
    for missing in judged.iter().filter(|shape| !shapes.contains(shape)) {
        let help = "add it, or remove `shapes`".to_owned();
        item.report(
            format!("`{}` leaves out `{missing}`, which the objective or a gate reads", item.place.key),
            Some(help),
        );
    }
    shapes
}

/// Names of the workload and of parameters, each with its kind.
fn declared(workload: &Workload, params: &[String]) -> Vec<(String, &'static str)> {
    let scalars = workload.scalars.iter().map(|scalar| scalar.name.clone());
    let buffers = workload.buffers.iter().map(|buffer| buffer.name.clone());
    (dims_of(&workload.shapes).into_iter().map(|name| (name, "dimension")))
        .chain(params.iter().map(|name| (name.clone(), "parameter")))
        .chain(scalars.map(|name| (name, "scalar")))
        .chain(buffers.map(|name| (name, "buffer")))
        .collect()
}

/// Reports ambiguous names in expressions.
fn check_collisions(table: &Table<'_>, workload: &Workload, params: &[String]) {
    let mut seen: Vec<(String, &str)> = Vec::new();
    for (name, what) in declared(workload, params) {
        if what != "buffer" && Catalogue::embedded().knows(&name) {
            let help = "rename it: a requirement could not tell them apart".to_owned();
            table.report(format!("the {what} `{name}` has the name of a metric"), Some(help));
        }
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == name) {
            let help = "rename one: expressions and arguments could not tell them apart".to_owned();
            table.report(format!("`{name}` is both a {other} and a {what}"), Some(help));
        }
        seen.push((name, what));
    }
}
