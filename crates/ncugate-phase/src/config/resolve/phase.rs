//! The file as a whole: order of reading, settings, objective, and names that must not collide.

use super::gates::Vocabulary;
use super::kernel::{self, KernelCompleteness, KernelParts};
use super::layers::Layers;
use super::names::KernelNames;
use super::workload::{self, dims_of};
use super::{report_phase, rule};
use crate::config::reader::{Item, Table};
use crate::config::{
    BASE, BenchSettings, BuildSettings, CloseLookAt, CounterPolicy, Gate, KernelTemplate, L2State, Objective, Phase,
    ProfileSettings, Selection, Sweep, VariantSpec, Verification, Workload, keys,
};
use ncugate_model::expr::Requirement;
use ncugate_model::metric::{Catalogue, MetricSource};
use ncugate_model::{Better, MOST_SAMPLES, ShapeName};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Reads the file; none when something it needs could not be read (an error says what).
pub fn phase<'a>(root: &Table<'a>, project: Option<&Table<'a>>, path: &Path, text: &str) -> Option<Phase> {
    let sweep = root.get("sweep").map(|item| kernel::sweep(&item)).unwrap_or_default();
    let search = root.get("search").and_then(|item| super::search::search(&item, &sweep));
    let params = all_params(&sweep, &[list(root, "variant"), list(root, "baseline")].concat());
    let workload = match report_phase::is_of_reports(root) {
        true => report_phase::workload(root),
        false => {
            let Some(table) = root.need("workload").and_then(|item| item.table(&keys::WORKLOAD)) else {
                return without_workload(root);
            };
            let workload = workload::workload(&table, &params);
            Collisions { metrics: Catalogue::embedded(), workload: &workload, params: &params }.report(&table);
            workload
        }
    };
    let ways = ways(root, &sweep, &workload, &params);

    let mut vocabulary = Vocabulary {
        metrics: Catalogue::embedded(),
        values: values(&workload, &params),
        subjects: subjects(&ways.variants, &ways.baselines, &list(root, "stage")),
        shapes: &workload.shapes,
        default_shape: workload.shapes.last().map(|shape| shape.name.clone()),
        of_reports: workload.is_of_reports(),
    };
    let head = root.need("phase").and_then(|item| item.table(&keys::PHASE)).map(|table| head(&table, &vocabulary));
    if let Some(head) = &head {
        vocabulary.default_shape.clone_from(&head.objective_shape);
    }
    let gates = vocabulary.flat(&list(root, "gate"));
    let gate_plan = vocabulary.plan(root, &gates);
    let rules = rule::rules(&list(root, "rule"), &vocabulary.values);
    let imported = root.get("imported").and_then(|item| super::imported::imported(&item, &workload.shapes));
    let judged = |kind| judged_shapes(&vocabulary, &gates, &gate_plan, kind);
    let build = build(root, project);
    let (bench, profile) = (
        Layers::of(root, project, "bench", &keys::BENCH)
            .and_then(|layers| bench(&layers, &vocabulary, &judged(MetricSource::Latency))),
        Layers::of(root, project, "profile", &keys::PROFILE)
            .and_then(|layers| profile(&layers, &vocabulary, &judged(MetricSource::Ncu))),
    );
    if bench.as_ref().is_some_and(|bench| bench.l2 == L2State::Warm) && workload.has_state() {
        check_warm_cache(root);
    }
    let head = head?;
    Some(Phase {
        file: path.to_owned(),
        text: text.to_owned(),
        project: None,
        title: head.title.or_else(|| head.name.clone())?,
        name: head.name?,
        objective: head.objective?,
        select: head.select,
        recording: head.recording.map(Into::into),
        build,
        bench: bench?,
        profile: profile?,
        counting: counting(root, project)?,
        groups: groups(root),
        kernel: ways.kernel,
        sweep,
        search,
        variants: ways.variants,
        baselines: ways.baselines,
        gates,
        gate_plan,
        rules,
        signatures: signatures(root, project),
        imported,
        base: None,
        workload,
    })
}

/// Inversions to compare findings with: one path, or several.
fn signatures<'a>(root: &Table<'a>, project: Option<&Table<'a>>) -> Vec<PathBuf> {
    let layers = Layers::of(root, project, "explain", &keys::EXPLAIN);
    let Some(item) = layers.and_then(|layers| layers.get("signatures")) else { return Vec::new() };
    let items = if item.is_list() { item.list() } else { vec![item] };
    items.iter().filter_map(Item::text).map(PathBuf::from).collect()
}

/// The items of an array of tables; none when the file has none.
fn list<'a>(root: &Table<'a>, key: &'static str) -> Vec<Item<'a>> {
    root.get(key).map(|item| item.list()).unwrap_or_default()
}

/// Everything that computes the workload.
struct Implementations {
    kernel: Option<KernelTemplate>,
    variants: Vec<VariantSpec>,
    baselines: Vec<VariantSpec>,
}

fn ways(root: &Table<'_>, sweep: &Sweep, workload: &Workload, params: &[String]) -> Implementations {
    let dims = dims_of(&workload.shapes);
    let args = arg_names(workload);
    let taken = declared(workload, params);
    let names = KernelNames { dims: &dims, buffers: &workload.buffers, args: &args, taken: &taken };
    let (variants, baselines) = (list(root, "variant"), list(root, "baseline"));
    // A variant without keys of its own runs `[kernel]` as it is.
    let own = |item: &Item<'_>| item.peek("kernel").is_some() || item.peek("command").is_some();
    let all_own = !variants.is_empty() && variants.iter().chain(&baselines).all(own);
    let parts = root.get("kernel").and_then(|item| item.table(&keys::KERNEL)).map(|table| {
        let mut parts = kernel::parts(&table);
        if all_own && !root.has("sweep") {
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
    // One that could not be read has an error of its own, and might have passed a tensor map.
    if let Some((table, parts)) = parts.as_ref().filter(|_| named.len() == variants.len() + baselines.len()) {
        let kernels: Vec<&KernelTemplate> = named.iter().filter_map(|spec| spec.kind.kernel()).collect();
        parts.check_unused(table, &kernels);
    }
    ways
}

/// Errors of the tables that stand by themselves, where there is no workload whose names others could use.
fn without_workload(root: &Table<'_>) -> Option<Phase> {
    if let Some(table) = root.need("phase").and_then(|item| item.table(&keys::PHASE)) {
        let _name: Option<String> = table.need("name").and_then(|item| item.name());
    }
    build(root, None);
    groups(root);
    for (key, spec) in
        [("bench", &keys::BENCH), ("profile", &keys::PROFILE), ("kernel", &keys::KERNEL), ("search", &keys::SEARCH)]
    {
        root.get(key).and_then(|item| item.table(spec));
    }
    for (key, spec) in [
        ("variant", &keys::VARIANT),
        ("baseline", &keys::VARIANT),
        ("gate", &keys::GATE),
        ("tier", &keys::TIER),
        ("stage", &keys::STAGE),
        ("precondition", &keys::PRECONDITION),
        ("waiver", &keys::WAIVER),
        ("rule", &keys::RULE),
    ] {
        for item in root.get(key).map(|item| item.list()).unwrap_or_default() {
            item.table(spec);
        }
    }
    None
}

/// Every parameter that some variant has, each once.
fn all_params(sweep: &Sweep, named: &[Item<'_>]) -> Vec<String> {
    let mut names: Vec<String> = sweep.axes.iter().map(|(name, _)| name.clone()).collect();
    for (name, _) in named.iter().filter_map(|item| item.peek("params")).flat_map(|item| kernel::params(&item)) {
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

/// Values, not metrics, that a requirement may name.
fn values(workload: &Workload, params: &[String]) -> Vec<String> {
    let scalars = workload.scalars.iter().map(|scalar| scalar.name.clone());
    let words = ["cc".to_owned(), "dtype".to_owned()];
    dims_of(&workload.shapes).into_iter().chain(params.iter().cloned()).chain(scalars).chain(words).collect()
}

fn subjects(variants: &[VariantSpec], baselines: &[VariantSpec], stages: &[Item<'_>]) -> Vec<String> {
    let named = baselines.iter().chain(variants).map(|spec| spec.name.clone());
    let stages = stages.iter().filter_map(|item| item.peek("name")?.text());
    // A run with a base has one; in any other it is inconclusive.
    named.chain(stages).chain([BASE.to_owned()]).collect()
}

/// The swept kernel, checked; reports a sweep or a phase without anything to run.
fn swept(
    root: &Table<'_>,
    parts: Option<&(Table<'_>, KernelParts)>,
    sweep: &Sweep,
    names: &KernelNames<'_>,
) -> Option<KernelTemplate> {
    let Some((table, parts)) = parts else {
        if let Some(sweep) = root.get("sweep") {
            let help = "declare [kernel], or give [[variant]] tables parameters of their own".to_owned();
            sweep.report("`sweep` has no kernel to sweep", Some(help));
        }
        if !root.has("kernel") && !root.has("variant") {
            let help = "declare [kernel], or at least one [[variant]]".to_owned();
            root.report("the phase has nothing to run", Some(help));
        }
        return None;
    };
    if parts.runs == KernelCompleteness::Whole {
        parts.complete(table);
    }
    parts.check_maps(table, names);
    if root.has("sweep") || !root.has("variant") {
        let params: Vec<&String> = sweep.axes.iter().map(|(name, _)| name).collect();
        let axes = root.get("sweep").map(|item| kernel::placed_names(&item, &keys::SWEEP)).unwrap_or_default();
        let axes: Vec<_> = axes.into_iter().filter(|axis| params.contains(&&axis.value)).collect();
        parts.check(table, names, &axes, "the sweep's parameters");
    }
    parts.template()
}

/// `[phase]` as read.
struct Head {
    name: Option<String>,
    title: Option<String>,
    objective: Option<Objective>,
    select: Selection,
    objective_shape: Option<ShapeName>,
    recording: Option<String>,
}

fn head(table: &Table<'_>, vocabulary: &Vocabulary<'_>) -> Head {
    let last = vocabulary.shapes.last().map(|shape| shape.name.clone());
    let objective_shape = table.get("objective_shape").map_or(last, |item| vocabulary.shape(&item));
    Head {
        name: table.need("name").and_then(|item| item.name()),
        title: table.get("title").and_then(|item| item.text()),
        objective: objective(table, vocabulary, objective_shape.clone()),
        select: table.get("select").and_then(|item| item.one_of(&SELECTIONS)).unwrap_or_default(),
        objective_shape,
        recording: table.get("recording").and_then(|item| item.text()),
    }
}

const SELECTIONS: [(&str, Selection); 2] = [("best", Selection::Best), ("best that passes", Selection::BestThatPasses)];

fn objective(table: &Table<'_>, vocabulary: &Vocabulary<'_>, shape: Option<ShapeName>) -> Option<Objective> {
    let Some(item) = table.get("objective") else {
        let metric = if vocabulary.of_reports { "duration" } else { "latency_p50" };
        return Some(Objective { metric: metric.to_owned(), better: Better::Lower, shape: shape? });
    };
    let (metric, better) = if item.is_table() {
        let inner = item.table(&keys::OBJECTIVE)?;
        let (minimise, maximise) = (inner.get("minimise"), inner.get("maximise"));
        match (minimise, maximise) {
            (Some(item), None) => (vocabulary.metric(&item)?, Better::Lower),
            (None, Some(item)) => (vocabulary.metric(&item)?, Better::Higher),
            _ => {
                item.expected("exactly one of minimise, maximise", None);
                return None;
            }
        }
    } else {
        let metric = vocabulary.metric(&item)?;
        match vocabulary.metrics.get(&metric).map(|metric| metric.better) {
            Some(better @ (Better::Higher | Better::Lower)) => (metric, better),
            Some(Better::Context) | None => {
                let help = format!("objective = {{ minimise = \"{metric}\" }}, or maximise");
                item.report(
                    format!("`phase.objective`: whether more or less of `{metric}` is better is not known"),
                    Some(help),
                );
                return None;
            }
        }
    };
    Some(Objective { metric, better, shape: shape? })
}

/// Shapes at which something of that kind is judged, and the objective's, in the order of the file.
fn judged_shapes(
    vocabulary: &Vocabulary<'_>,
    gates: &[Gate],
    plan: &crate::config::GatePlan,
    kind: MetricSource,
) -> Vec<ShapeName> {
    let grouped = plan.tiers.iter().map(|tier| &tier.gates).chain(plan.stages.iter().map(|stage| &stage.gates));
    let grouped = grouped.chain(plan.fallback.iter().map(|fallback| &fallback.gates));
    let needing = gates.iter().chain(grouped.flatten()).filter(|gate| reads(&gate.require, kind));
    let named: Vec<&ShapeName> = needing.flat_map(|gate| &gate.shapes).chain(&vocabulary.default_shape).collect();
    let declared = vocabulary.shapes.iter().map(|shape| shape.name.clone());
    declared.filter(|shape| named.contains(&shape)).collect()
}

/// Whether a requirement reads something that comes from `kind`.
fn reads(requirement: &Requirement, kind: MetricSource) -> bool {
    let reads = requirement.reads();
    let named = reads.quantities.iter().any(|read| Catalogue::embedded().source(&read.name) == Some(kind));
    named || (kind == MetricSource::Latency && !reads.speedups.is_empty())
}

fn build<'a>(root: &Table<'a>, project: Option<&Table<'a>>) -> BuildSettings {
    let Some(layers) = Layers::of(root, project, "build", &keys::BUILD) else { return BuildSettings::default() };
    let arch = layers.get("arch").and_then(|item| {
        let text = item.text()?;
        let digits = text.strip_prefix("sm_").unwrap_or_default().trim_end_matches(['a', 'f']);
        if digits.len() < 2 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            item.expected("an architecture such as \"sm_90\"", None);
        }
        Some(text)
    });
    let path = |key| layers.get(key).and_then(|item: Item<'_>| item.text()).map(Into::into);
    BuildSettings { nvcc: path("nvcc"), arch, python: path("python"), cache: path("cache") }
}

fn bench(layers: &Layers<'_>, vocabulary: &Vocabulary<'_>, judged: &[ShapeName]) -> Option<BenchSettings> {
    let count = |key, low, default| settled(layers, key, default, |item| item.count(low));
    let samples = |key, default| {
        let most = i64::try_from(MOST_SAMPLES).unwrap_or(i64::MAX);
        settled(layers, key, default, |item| item.integer(1..=most).and_then(|count| u32::try_from(count).ok()))
    };
    let (warmup, rounds) = (count("warmup", 0, 5), samples("rounds", 60));
    let (max_rounds, min_sample) = (samples("max_rounds", 240), count("min_sample_us", 1, 200));
    let (max_launches, buffer_sets) = (count("max_launches", 1, 50), count("buffer_sets", 1, 4));
    let (processes, timeout) = (count("processes", 1, 5), count("timeout_s", 1, 30));
    let states = [("cold", L2State::Cold), ("rotate", L2State::Rotate), ("warm", L2State::Warm)];
    let l2 = settled(layers, "l2", L2State::default(), |item| item.one_of(&states));
    let kinds = [("audited", Verification::Audited), ("none", Verification::None)];
    let verify = settled(layers, "verify", Verification::default(), |item| item.one_of(&kinds));
    let shapes = measured(layers, vocabulary, judged);
    Some(BenchSettings {
        warmup: warmup?,
        rounds: rounds?,
        max_rounds: max_rounds?,
        processes: processes?,
        min_sample: Duration::from_micros(u64::from(min_sample?)),
        max_launches: max_launches?,
        buffer_sets: buffer_sets?,
        l2: l2?,
        verify: verify?,
        timeout: Duration::from_secs(u64::from(timeout?)),
        shapes,
    })
}

/// Reports a warm cache where launches change what they read: each finds its state in another place.
fn check_warm_cache(root: &Table<'_>) {
    let message =
        "`bench.l2` is \"warm\", but the workload has buffers that a launch changes and the next one needs anew";
    let help =
        "each launch of a sample has its own copy of them, which is not a warm cache: use \"rotate\" or \"cold\"";
    match root.get("bench").and_then(|item| item.peek("l2")) {
        Some(item) => item.report(message, Some(help.to_owned())),
        None => root.report(message, Some(help.to_owned())),
    }
}

fn profile(layers: &Layers<'_>, vocabulary: &Vocabulary<'_>, judged: &[ShapeName]) -> Option<ProfileSettings> {
    let count = |key, default| settled(layers, key, default, |item| item.count(1));
    let (timeout, repeat) = (count("timeout_s", 300), count("repeat", 1));
    let words = [("selected", CloseLookAt::Selected), ("none", CloseLookAt::None)];
    let close_look = settled(layers, "close_look", CloseLookAt::default(), |item| item.one_of(&words));
    let metrics = layers
        .get("metrics")
        .map(|item| item.list().iter().filter_map(|item| vocabulary.metric(item)).collect())
        .unwrap_or_default();
    Some(ProfileSettings {
        ncu: layers.get("ncu").and_then(|item| item.text()).map(Into::into),
        shapes: measured(layers, vocabulary, judged),
        metrics,
        timeout: Duration::from_secs(u64::from(timeout?)),
        repeat: repeat?,
        close_look: close_look?,
    })
}

fn counting<'a>(root: &Table<'a>, project: Option<&Table<'a>>) -> Option<CounterPolicy> {
    let layers = Layers::of(root, project, "profile", &keys::PROFILE)?;
    let required = settled(&layers, "require", false, |item| item.boolean())?;
    Some(if required { CounterPolicy::Required } else { CounterPolicy::IfPossible })
}

/// Kinds of GPUs that are measured together, by parts of their names.
fn groups(root: &Table<'_>) -> Vec<String> {
    let machine = root.get("machine").and_then(|item| item.table(&keys::MACHINE));
    let items = machine.and_then(|table| table.get("groups")).map(|item| item.list()).unwrap_or_default();
    let name = |item: &Item<'_>| {
        let text = item.text()?;
        if text.trim().is_empty() {
            item.expected("a part of a GPU's name, such as \"H200\"", None);
        }
        Some(text)
    };
    items.iter().filter_map(name).collect()
}

/// A key's value, or the default where no file has the key.
fn settled<T>(layers: &Layers<'_>, key: &'static str, default: T, read: impl Fn(&Item<'_>) -> Option<T>) -> Option<T> {
    layers.get(key).map_or(Some(default), |item| read(&item))
}

/// The `shapes` of `[bench]` or `[profile]`: they have to hold those that are judged.
fn measured(layers: &Layers<'_>, vocabulary: &Vocabulary<'_>, judged: &[ShapeName]) -> Vec<ShapeName> {
    let Some(item) = layers.get("shapes") else { return judged.to_vec() };
    let shapes = vocabulary.shape_list(&item);
    for missing in judged.iter().filter(|shape| !shapes.contains(shape)) {
        let help = "add it, or leave `shapes` out".to_owned();
        item.report(
            format!("`{}` leaves out `{missing}`, which the objective or a gate reads", item.place.key),
            Some(help),
        );
    }
    shapes
}

/// Names of the workload and of parameters, each with what it is.
fn declared(workload: &Workload, params: &[String]) -> Vec<(String, &'static str)> {
    let scalars = workload.scalars.iter().map(|scalar| scalar.name.clone());
    let buffers = workload.buffers.iter().map(|buffer| buffer.name.clone());
    (dims_of(&workload.shapes).into_iter().map(|name| (name, "dimension")))
        .chain(params.iter().map(|name| (name.clone(), "parameter")))
        .chain(scalars.map(|name| (name, "scalar")))
        .chain(buffers.map(|name| (name, "buffer")))
        .collect()
}

/// Names that would mean two things in an expression.
struct Collisions<'c> {
    metrics: &'c Catalogue,
    workload: &'c Workload,
    params: &'c [String],
}

impl Collisions<'_> {
    fn report(&self, table: &Table<'_>) {
        let mut seen: Vec<(String, &str)> = Vec::new();
        for (name, what) in declared(self.workload, self.params) {
            if what != "buffer" && self.metrics.knows(&name) {
                let help = "rename it: a requirement cannot use one name for both".to_owned();
                table.report(format!("the {what} `{name}` has the name of a metric"), Some(help));
            }
            if let Some((_, other)) = seen.iter().find(|(known, _)| *known == name) {
                let help = "rename one: expressions and arguments cannot use one name for both".to_owned();
                table.report(format!("`{name}` is both a {other} and a {what}"), Some(help));
            }
            seen.push((name, what));
        }
    }
}
