//! Joins all measurements into one table: builds, launches, occupancy, checks, latencies, counters.

use super::launch_facts::{FactGpu, StaticFact, built, combine};
use super::profile_counters::ProfileCounters;
use super::required_metrics;
use super::steps::Misfit;
use super::transfers::Transfers;
use crate::store::Run;
use ncugate_model::digest::sha256;
use ncugate_model::metric::{
    Catalogue, CheckFact, Combination, Definition, Derivation, LatencyForm, LatencyMetric, most_operations,
};
use ncugate_model::quantities::{Bounds, CellDetails, FreshSamples, MetricCells, Program, Sampling};
use ncugate_model::{
    BitwiseComparison, BitwiseOutcome, BuildOutcome, BuildRecord, Cell, CheckOutcome, CheckRecord, ComputeCapability,
    ConfirmationRecord, LatencyOutcome, LatencyRecord, ProfileOutcome, ProfileRecord, Quantities, Resources, ShapeName,
    Throttle, VariantId, differ_alone_in, number, stats,
};
use ncugate_phase::config::{Phase, Shape};
use ncugate_phase::plan::{KernelLaunch, Method, Plan, ShapeProgram, StepTraffic, Variant};
use std::collections::HashMap;
use std::sync::Arc;

/// The inputs of the table.
#[derive(Debug, Clone, Copy)]
pub struct TableInputs<'a> {
    pub phase: &'a Phase,
    pub plan: &'a Plan,
    pub run: &'a Run,
    /// Counters from the run's reports.
    pub counted: &'a ProfileCounters,
    /// Compute capability of the build and the measurement, if known.
    pub capability: Option<ComputeCapability>,
    /// Number of multiprocessors, if a GPU was used.
    pub sms: Option<u32>,
}

/// The table over every variant and shape, with a column for each of `metrics`.
pub fn quantities(measured: &TableInputs<'_>, metrics: &[String]) -> Quantities {
    let source = ColumnSource::of(measured);
    let cases = source.rows.iter().map(|row| (row.variant.id.clone(), row.shape.name.clone()));
    let mut table = Quantities::new(cases);
    for metric in metrics {
        table.set(metric, source.column(metric));
    }
    for (at, Row { variant, shape, place, .. }) in source.rows.iter().enumerate() {
        table.set_sampling(at, sampling(&source.index, variant, shape));
        if let Some(kernels) = place.as_ref().ok().and_then(|place| measured.counted.launches(*place)) {
            table.set_launches(at, kernels);
        }
        if let Some(Ok(samples)) = source.samples(variant, shape) {
            table.set_samples(at, samples.into());
        }
        if let Some(reason) = source.index.build(&variant.id).and_then(|build| build.left_out_at(&shape.name)) {
            table.leave_out(at, &reason.into());
        }
    }
    table
}

/// How a case was timed.
fn sampling(index: &RecordIndex<'_>, variant: &Variant, shape: &Shape) -> Sampling {
    let outcome = index.latency(&variant.id, &shape.name);
    let launches = outcome.map_or(1, LatencyOutcome::launches);
    let key = (index.measured_as(&variant.id), &shape.name);
    let program = match &variant.method {
        Method::Kernel(_) | Method::Function(_) => Program::Kernel,
        Method::Command(_) | Method::Captured(_) => Program::Command,
    };
    let fresh = index.confirmations.get(&key).map(|record| fresh(record));
    Sampling { program, launches, throttle: outcome.and_then(throttle), fresh, code: code(index, variant, shape) }
}

fn fresh(record: &ConfirmationRecord) -> FreshSamples {
    let outcome = &record.timed.outcome;
    let samples = outcome.samples().map(Arc::from).map_err(Arc::from);
    let processes = record.processes.as_slice().into();
    FreshSamples { samples, launches: outcome.launches(), processes, throttle: throttle(outcome) }
}

/// Throttling in the round of each sample, if every round has it.
fn throttle(outcome: &LatencyOutcome) -> Option<Arc<[Throttle]>> {
    match outcome {
        LatencyOutcome::Timed { samples, gpu: Some(gpu), .. } if gpu.covers(samples.len()) => {
            Some(gpu.throttle.as_slice().into())
        }
        _ => None,
    }
}

/// SHA-256 of a variant's machine code and of its launches at a shape.
fn code(index: &RecordIndex<'_>, variant: &Variant, shape: &Shape) -> Option<Arc<str>> {
    let Method::Kernel(kernel) = &variant.method else { return None };
    let program = kernel.program(&shape.name)?;
    let BuildOutcome::Built { code_sha256, arch, launch, .. } = index.build(&variant.id)? else { return None };
    let program = program.compiled_as(launch.as_ref());
    let parts = serde_json::to_string(&(code_sha256, arch, program)).ok()?;
    (!code_sha256.is_empty()).then(|| sha256(parts.as_bytes()).into())
}

/// Records indexed by variant and shape.
struct RecordIndex<'a> {
    builds: HashMap<&'a VariantId, &'a BuildRecord>,
    checks: HashMap<(&'a VariantId, &'a ShapeName), Vec<&'a CheckRecord>>,
    latencies: HashMap<(&'a VariantId, &'a ShapeName), &'a LatencyRecord>,
    confirmations: HashMap<(&'a VariantId, &'a ShapeName), &'a ConfirmationRecord>,
    profiles: HashMap<(&'a VariantId, &'a ShapeName), Vec<&'a ProfileRecord>>,
}

impl<'a> RecordIndex<'a> {
    fn of(run: &'a Run) -> Self {
        let mut checks: HashMap<_, Vec<_>> = HashMap::new();
        for record in &run.checks {
            checks.entry((&record.variant, &record.shape)).or_default().push(record);
        }
        let mut profiles: HashMap<_, Vec<_>> = HashMap::new();
        for record in &run.profiles {
            profiles.entry((&record.variant, &record.shape)).or_default().push(record);
        }
        Self {
            builds: run.builds.iter().map(|r| (&r.variant, r)).collect(),
            checks,
            latencies: run.latencies.iter().map(|r| ((&r.variant, &r.shape), r)).collect(),
            confirmations: run.confirmations.iter().map(|r| ((&r.timed.variant, &r.timed.shape), r)).collect(),
            profiles,
        }
    }

    /// The variant whose measurements are used for this one.
    fn measured_as<'b>(&'b self, variant: &'b VariantId) -> &'b VariantId {
        self.builds.get(variant).and_then(|b| b.shares.as_ref()).unwrap_or(variant)
    }

    fn build(&self, variant: &VariantId) -> Option<&'a BuildOutcome> {
        self.builds.get(variant).map(|build| &build.outcome)
    }

    fn profiles_of<'b>(&'b self, variant: &'b Variant, shape: &'b Shape) -> &'b [&'a ProfileRecord] {
        self.profiles.get(&(self.measured_as(&variant.id), &shape.name)).map(Vec::as_slice).unwrap_or_default()
    }

    fn latency(&self, variant: &VariantId, shape: &ShapeName) -> Option<&LatencyOutcome> {
        self.latencies.get(&(self.measured_as(variant), shape)).map(|r| &r.outcome)
    }
}

/// The program of a variant at a shape.
fn program(index: &RecordIndex<'_>, variant: &Variant, shape: &Shape) -> Result<ShapeProgram, Cell> {
    let compiled = match index.build(&variant.id) {
        Some(BuildOutcome::Built { launch, .. }) => launch.as_ref(),
        _ => None,
    };
    match &variant.method {
        Method::Kernel(kernel) => {
            let program = kernel.program(&shape.name).map(|program| program.compiled_as(compiled));
            program.ok_or_else(|| missing(&format!("has no launch at shape '{}'", shape.name)))
        }
        Method::Function(function) => Err(missing(&format!("a {} chooses its own launches", function.kind()))),
        Method::Command(_) => Err(missing("an external command chooses its own launches")),
        Method::Captured(_) => Err(missing("a launch of another program")),
    }
}

/// A row of the table.
struct Row<'a> {
    variant: &'a Variant,
    shape: &'a Shape,
    /// Its index among the profiled cases, or why it was not profiled.
    place: Result<usize, Arc<str>>,
    traffic: Option<StepTraffic>,
}

/// The sources of metric columns.
struct ColumnSource<'a> {
    measured: &'a TableInputs<'a>,
    index: RecordIndex<'a>,
    rows: Vec<Row<'a>>,
}

impl<'a> ColumnSource<'a> {
    fn of(measured: &'a TableInputs<'a>) -> Self {
        let mut source = Self { measured, index: RecordIndex::of(measured.run), rows: Vec::new() };
        let workload = &measured.phase.workload;
        let cases = measured.plan.variants.iter().flat_map(|v| workload.shapes.iter().map(move |s| (v, s)));
        let row = |(variant, shape): (&'a Variant, &'a Shape)| {
            let place = measured.counted.place(source.index.measured_as(&variant.id), &shape.name);
            let bytes_of = |buffer: &str| workload.bytes_of(shape, buffer);
            Row {
                variant,
                shape,
                place: place.ok_or_else(|| source.why_not_profiled(variant, shape).into()),
                traffic: program(&source.index, variant, shape).ok().and_then(|program| program.step_traffic(bytes_of)),
            }
        };
        source.rows = cases.map(row).collect();
        source
    }

    fn column(&self, metric: &str) -> MetricCells {
        match Catalogue::embedded().derivation(metric) {
            Some(Derivation::Latency(latency)) => self.by_row(|variant, shape| self.timed(latency, variant, shape)),
            Some(Derivation::Check(CheckFact::Deterministic | CheckFact::BatchInvariant)) => {
                self.by_row(|variant, shape| self.bitwise(metric, variant, shape))
            }
            Some(Derivation::Check(fact)) => self.by_row(|variant, shape| self.checked(fact, variant, shape)),
            Some(Derivation::Build(fact)) => self.launchable(metric, StaticFact::Build(fact)),
            Some(Derivation::Launch(fact)) => self.launchable(metric, StaticFact::Launch(fact)),
            Some(Derivation::Occupancy(fact)) => self.launchable(metric, StaticFact::Occupancy(fact)),
            Some(Derivation::Counters) | None => self.counted(metric),
        }
    }

    fn by_row(&self, cell: impl Fn(&Variant, &Shape) -> Cell) -> MetricCells {
        self.rows.iter().map(|row| cell(row.variant, row.shape)).collect()
    }

    /// A fact of launches planned by ncugate. For a command, launch facts come only from its reports.
    fn launchable(&self, metric: &str, fact: StaticFact) -> MetricCells {
        let is_command = |variant: &Variant| {
            matches!(variant.method, Method::Function(_) | Method::Command(_) | Method::Captured(_))
        };
        let counted = self.rows.iter().any(|row| is_command(row.variant)).then(|| self.counted(metric));
        let how = Catalogue::embedded().get(metric).map_or(Combination::Greatest, |known| known.launches);
        let gpu = FactGpu { capability: self.measured.capability, sms: self.measured.sms };
        let mut column = MetricCells::default();
        for (row, Row { variant, shape, place, .. }) in self.rows.iter().enumerate() {
            let counted = counted.as_ref().filter(|_| is_command(variant));
            let bounds = counted.and_then(|known| known.bounds(row)).cloned();
            let counted = counted.and_then(|known| Some((known.cells().get(row)?, known.steps(row))));
            let (cell, steps) = match (counted, program(&self.index, variant, shape)) {
                (Some((Cell::Missing(reason), _)), _) => {
                    let launched = place.as_ref().ok().and_then(|place| self.of_launched(variant, *place, fact));
                    (launched.unwrap_or_else(|| Cell::Missing(reason.clone())), Vec::new())
                }
                (Some((counted, steps)), _) => (counted.clone(), steps.to_vec()),
                (None, Err(missing)) => (missing, Vec::new()),
                (None, Ok(program)) => {
                    let at = |launch: &KernelLaunch| fact.at(launch, self.resources_of(variant, &launch.entry), gpu);
                    let each: Vec<Cell> = program.launches().map(at).collect();
                    let cell = match (fact, self.resources(variant)) {
                        (StaticFact::Build(fact), Ok(resources)) => Cell::finite(built(fact, &resources)),
                        (StaticFact::Build(_), Err(missing)) => missing,
                        (StaticFact::Launch(_) | StaticFact::Occupancy(_), _) => combine(how, &each),
                    };
                    (cell, if each.len() > 1 { each } else { Vec::new() })
                }
            };
            column.push(cell, CellDetails { steps, bounds, repeats: None });
        }
        column
    }

    /// A fact of the machine code that host code launched, by the symbols in its reports. None if a kernel is not its own.
    fn of_launched(&self, variant: &Variant, place: usize, fact: StaticFact) -> Option<Cell> {
        let StaticFact::Build(fact) = fact else { return None };
        let BuildOutcome::Built { entries, .. } = self.index.build(&variant.id)? else { return None };
        let launched = self.measured.counted.launched(place)?;
        let own = |symbol: &&str| entries.iter().find(|known| known.entry == **symbol).map(|known| known.resources);
        let resources = launched.iter().map(own).collect::<Option<Vec<_>>>()?;
        Some(Cell::finite(built(fact, &resources.into_iter().reduce(Resources::combine)?)))
    }

    fn counted(&self, metric: &str) -> MetricCells {
        let definition = match Catalogue::embedded().definition(metric, self.measured.capability) {
            Ok(definition) => definition,
            Err(reason) => {
                let absent = missing(&reason.to_string());
                return self.by_row(|_, _| absent.clone());
            }
        };
        let spread = Catalogue::embedded().get(metric).and_then(|known| known.spread).unwrap_or(0.0);
        let possible = |cell: &Cell| match cell.value().and_then(|value| definition.doubt(value, spread)) {
            Some(reason) => missing(&reason),
            None => cell.clone(),
        };
        let values = self.measured.counted.evaluate(&definition);
        let transfers = Transfers::of(metric, &definition);
        let mut column = MetricCells::default();
        for Row { variant, shape, place, traffic } in &self.rows {
            let case = place.as_ref().map(|place| &values[*place]);
            let absent = |reason: &Arc<str>| {
                Cell::Missing(self.denied(variant, shape, &definition).unwrap_or_else(|| reason.clone()))
            };
            let cell = match case.map(|case| &case.cell) {
                Ok(Cell::Missing(reason)) | Err(reason) => absent(reason),
                Ok(counted) => possible(counted),
            };
            let rounding = case.map_or(0.0, |case| case.rounding);
            let bounds = |value: f64| match rounding > 0.0 {
                true => Some(Bounds { low: value - rounding, high: value + rounding, added: 0.0, steps: None }),
                false => transfers.bounds(traffic.as_ref()?, value),
            };
            let bounds = cell.value().and_then(bounds);
            let added = bounds.as_ref().map_or(0.0, |bounds| bounds.added);
            let cell = match cell {
                Cell::Value(value) => Cell::Value(value + added),
                missing @ (Cell::Missing(_) | Cell::Undefined(_)) => missing,
            };
            // Every repeat of a program has the same fills and copies.
            let repeats = case.ok().and_then(|case| case.repeats.as_ref());
            let repeats = repeats.map(|repeats| repeats.iter().map(|value| value + added).collect());
            let steps = case.map_or_else(|_| Vec::new(), |case| case.steps.iter().map(possible).collect());
            column.push(cell, CellDetails { repeats, steps, bounds });
        }
        column
    }

    /// Why a case that was otherwise profiled or traced has no counters: ncu had no permission, or the counters were
    /// not requested.
    fn denied(&self, variant: &Variant, shape: &Shape, definition: &Definition) -> Option<Arc<str>> {
        let records = self.index.profiles_of(variant, shape);
        let failed = |record: &&ProfileRecord| matches!(record.outcome, ProfileOutcome::Failed { .. });
        let has = |record: &ProfileRecord, name: &str| record.metrics.iter().any(|metric| metric == name);
        let given = |name: &str| records.iter().filter(|record| !failed(record)).any(|record| has(record, name));
        let lacks: Vec<&str> = definition.metrics().into_iter().filter(|name| !given(name)).collect();
        let failure = records.iter().find_map(|record| match &record.outcome {
            ProfileOutcome::Failed { reason } if lacks.iter().any(|name| has(record, name)) => Some(reason.clone()),
            ProfileOutcome::Failed { .. } | ProfileOutcome::Profiled { .. } | ProfileOutcome::Traced { .. } => None,
        });
        let is_counted = records.iter().any(|record| !failed(record));
        // Every report contains facts of launches without a request.
        let asked = |name: &&str| !name.starts_with("launch__") && !name.starts_with("device__");
        let unasked: Vec<&str> = lacks.into_iter().filter(asked).collect();
        let not_collected = || required_metrics::not_collected(self.measured.phase, &shape.name, &unasked);
        failure.or_else(|| (is_counted && !unasked.is_empty()).then(not_collected)).map(Into::into)
    }

    fn resources(&self, variant: &Variant) -> Result<Resources, Cell> {
        match self.index.build(&variant.id) {
            Some(BuildOutcome::Built { resources, .. } | BuildOutcome::Refused { resources: Some(resources), .. }) => {
                Ok(*resources)
            }
            Some(BuildOutcome::Refused { resources: None, .. }) => Err(missing("cannot be launched on this chip")),
            Some(BuildOutcome::Failed { .. }) => Err(missing("did not build")),
            Some(BuildOutcome::NotNeeded) => Err(missing("ncugate does not build the kernels of an external command")),
            None => Err(missing("was not built")),
        }
    }

    /// Resources of one kernel entry. If the variant has one entry or its build was rejected, the resources of the
    /// whole variant.
    fn resources_of(&self, variant: &Variant, entry: &str) -> Result<Resources, Cell> {
        match self.index.build(&variant.id) {
            Some(BuildOutcome::Built { entries, .. }) if !entries.is_empty() => {
                let own = entries.iter().find(|known| known.entry == entry);
                own.map(|own| own.resources).ok_or_else(|| missing(&format!("'{entry}' was not built")))
            }
            _ => self.resources(variant),
        }
    }

    fn timed(&self, metric: LatencyMetric, variant: &Variant, shape: &Shape) -> Cell {
        let samples = match self.samples(variant, shape) {
            Some(Ok(samples)) => samples,
            Some(Err(reason)) => return missing(&reason),
            None => return missing(&self.why_not_timed(variant, shape)),
        };
        match (metric.statistic.of(samples), metric.form) {
            (Err(reason), _) => missing(&reason.to_string()),
            (Ok(us), LatencyForm::Time) => Cell::finite(us),
            (Ok(us), LatencyForm::Throughput) => self.tflops(shape, us),
        }
    }

    /// The latency samples of a case, or why they are rejected; `None` if the case was not timed.
    fn samples(&self, variant: &Variant, shape: &Shape) -> Option<Result<&[f64], String>> {
        let rounds = self.measured.phase.bench.rounds as usize;
        let samples = self.index.latency(&variant.id, &shape.name)?.samples();
        Some(samples.and_then(|samples| match samples.len() < rounds {
            true => Err(format!("it was timed in {} of {rounds} rounds", samples.len())),
            false => self.possible(shape, samples).map(|()| samples),
        }))
    }

    /// Rejects samples that are faster than the chip's limits.
    fn possible(&self, shape: &Shape, samples: &[f64]) -> Result<(), String> {
        let TableInputs { phase, capability, sms, .. } = self.measured;
        let most = capability.zip(*sms).and_then(|(capability, sms)| most_operations(capability, sms));
        let flops = phase.workload.flops_at(shape).ok().flatten();
        let (Some(most), Some(flops), Ok(us)) = (most, flops, stats::median(samples)) else { return Ok(()) };
        let a_second = flops / us * 1e6;
        match a_second > most {
            true => Err(format!(
                "faster than the chip's peak: {} of at most {} TFLOP/s (the samples or the workload's 'flops' are wrong)",
                number::short(a_second / 1e12),
                number::short(most / 1e12)
            )),
            false => Ok(()),
        }
    }

    fn why_not_timed(&self, variant: &Variant, shape: &Shape) -> String {
        match self.index.build(&variant.id) {
            Some(BuildOutcome::Failed { .. }) => "did not build".to_owned(),
            Some(BuildOutcome::Refused { .. }) => "cannot be launched on this chip".to_owned(),
            _ => format!("was not timed at shape '{}'", shape.name),
        }
    }

    fn tflops(&self, shape: &Shape, us: f64) -> Cell {
        match self.measured.phase.workload.flops_at(shape) {
            Ok(Some(flops)) => Cell::finite(flops / us / 1e6),
            Ok(None) => missing("the workload does not declare the operations of a launch ('flops')"),
            Err(error) => missing(&error.to_string()),
        }
    }

    fn checked(&self, fact: CheckFact, variant: &Variant, shape: &Shape) -> Cell {
        let key = (self.index.measured_as(&variant.id), &shape.name);
        let records = self.index.checks.get(&key).map(Vec::as_slice).unwrap_or_default();
        let seeds = &self.measured.phase.workload.seeds;
        if let Some(seed) = seeds.iter().find(|seed| !records.iter().any(|r| r.seed == **seed)) {
            return missing(&format!("was not checked at shape '{}' with seed {seed}", shape.name));
        }
        let mut worst = 0.0_f64;
        for record in records {
            match (&record.outcome, fact) {
                (CheckOutcome::Correct { .. } | CheckOutcome::Wrong { .. }, CheckFact::Correct) => {
                    match record.outcome.judged_by(&self.measured.phase.workload.tolerance) {
                        CheckOutcome::Correct { .. } => {}
                        CheckOutcome::Skipped { reason } => return missing(&reason),
                        CheckOutcome::Wrong { .. } | CheckOutcome::Crashed { .. } => return Cell::Value(0.0),
                    }
                }
                (CheckOutcome::Crashed { .. }, CheckFact::Correct) => return Cell::Value(0.0),
                (CheckOutcome::Skipped { reason } | CheckOutcome::Crashed { reason }, _) => return missing(reason),
                (CheckOutcome::Correct { differences } | CheckOutcome::Wrong { differences, .. }, fact) => {
                    if differences.nonfinite > 0 {
                        return missing("the output has NaN or infinite values");
                    }
                    worst = worst.max(if fact == CheckFact::RelL2 { differences.rel_l2 } else { differences.max_abs });
                }
            }
        }
        if fact == CheckFact::Correct { Cell::Value(1.0) } else { Cell::finite(worst) }
    }

    /// Whether the outputs of a case have equal bits. Of a batch, every shape but the largest has a comparison with it.
    fn bitwise(&self, metric: &str, variant: &Variant, shape: &Shape) -> Cell {
        let Some(comparison) = BitwiseComparison::of_metric(metric) else {
            return missing("it has no dimension; write `batch_invariant(\"B\")`");
        };
        let shapes: Vec<&Shape> = match &comparison {
            BitwiseComparison::Repeats => vec![shape],
            BitwiseComparison::Batch { dimension } => {
                let extent = |shape: &Shape| shape.dims.iter().find(|(name, _)| name == dimension).map(|(_, at)| *at);
                let all = self.measured.phase.workload.shapes.iter();
                let mut batch: Vec<&Shape> =
                    all.filter(|other| differ_alone_in(dimension, &shape.dims, &other.dims)).chain([shape]).collect();
                batch.sort_by_key(|shape| extent(shape));
                batch.pop();
                batch
            }
        };
        let as_measured = self.index.measured_as(&variant.id);
        let outcome = |shape: &&Shape| {
            let mut records = self.measured.run.bitwise.iter();
            let record = records.find(|record| {
                record.variant == *as_measured && record.shape == shape.name && record.comparison == comparison
            });
            record.map(|record| &record.outcome)
        };
        let outcomes: Vec<Option<&BitwiseOutcome>> = shapes.iter().map(outcome).collect();
        if outcomes.iter().flatten().any(|outcome| matches!(outcome, BitwiseOutcome::Different { .. })) {
            return Cell::Value(0.0);
        }
        let unknown = shapes.iter().zip(&outcomes).find_map(|(shape, outcome)| match outcome {
            Some(BitwiseOutcome::Equal { .. } | BitwiseOutcome::Different { .. }) => None,
            Some(BitwiseOutcome::Unknown { reason }) => Some(missing(reason)),
            None => Some(missing(&format!("outputs were not compared bit by bit at shape '{}'", shape.name))),
        });
        match shapes.is_empty() {
            true => missing("no other shape differs in this dimension alone"),
            false => unknown.unwrap_or(Cell::Value(1.0)),
        }
    }

    fn why_not_profiled(&self, variant: &Variant, shape: &Shape) -> String {
        let records = self.index.profiles_of(variant, shape);
        let failure = records.iter().find_map(|r| match &r.outcome {
            ProfileOutcome::Failed { reason } => Some(reason.clone()),
            ProfileOutcome::Profiled { .. } | ProfileOutcome::Traced { .. } => None,
        });
        let misfit =
            || self.measured.counted.misfit(self.index.measured_as(&variant.id), &shape.name).map(Misfit::words);
        let unasked = || required_metrics::not_collected(self.measured.phase, &shape.name, &[]);
        failure.or_else(misfit).unwrap_or_else(unasked)
    }
}

fn missing(reason: &str) -> Cell {
    Cell::Missing(reason.into())
}
