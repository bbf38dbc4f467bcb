//! Everything measured, joined into one table: builds, launches, occupancy, checks, latencies, counters.

use super::cells::MetricCells;
use super::counted::{CaseValues, Counted};
use super::quantities::{FreshSamples, Program, Quantities, Sampling};
use crate::config::{Phase, Shape};
use crate::metric::{
    BuildFact, Catalogue, CheckFact, Derivation, LatencyForm, LatencyMetric, LaunchFact, OccupancyFact, most_operations,
};
use crate::model::Cell;
use crate::model::ComputeCapability;
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::model::{BuildOutcome, BuildRecord, Resources};
use crate::model::{CheckOutcome, CheckRecord, ConfirmationRecord, LatencyOutcome, LatencyRecord};
use crate::model::{ProfileOutcome, ProfileRecord};
use crate::number;
use crate::occupancy::{self, Chip, Demand, Occupancy};
use crate::plan::{Launch, Method, Plan, Variant};
use crate::stats;
use crate::store::{Run, sha256};
use polars::prelude::IdxCa;
use std::collections::HashMap;
use std::sync::Arc;

/// What the table is made from.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// The phase.
    pub phase: &'a Phase,
    /// Its variants.
    pub plan: &'a Plan,
    /// What was measured.
    pub run: &'a Run,
    /// Counters of its reports.
    pub counted: &'a Counted,
    /// Compute capability that it was built for and measured on, where it is known.
    pub capability: Option<ComputeCapability>,
    /// Multiprocessors, where a GPU measured.
    pub sms: Option<u32>,
}

/// The table over every variant and shape, with a column for each of `metrics`.
pub fn quantities(measured: &Measured<'_>, metrics: &[String]) -> Quantities {
    let index = Index::of(measured.run);
    let shapes = &measured.phase.workload.shapes;
    let rows: Vec<(&Variant, &Shape)> =
        measured.plan.variants.iter().flat_map(|v| shapes.iter().map(move |s| (v, s))).collect();
    let mut table = Quantities::new(rows.iter().map(|(v, s)| (v.id.clone(), s.name.clone())));
    for (row, (variant, shape)) in rows.iter().enumerate() {
        table.set_sampling(row, sampling(&index, variant, shape));
    }
    let places = measured.counted.places(rows.iter().map(|(v, s)| (index.measured_as(&v.id), &s.name)));
    let source = MetricSource { measured, index: &index, rows: &rows, places: &places };
    for (row, (variant, shape)) in rows.iter().enumerate() {
        if let Some(Ok(samples)) = source.samples(variant, shape) {
            table.set_samples(row, Arc::from(samples));
        }
    }
    for metric in metrics {
        let column = source.column(metric);
        table.set_cells(metric, &column.cells);
        for (row, place) in places.iter().enumerate() {
            if let Some(values) = place.and_then(|place| column.repeats.get(&(place as usize))) {
                table.set_spread(metric, row, values.clone());
            }
        }
    }
    table
}

/// How a case was timed.
fn sampling(index: &Index<'_>, variant: &Variant, shape: &Shape) -> Sampling {
    let launches = match index.latency(&variant.id, &shape.name) {
        Some(LatencyOutcome::Timed { launches, .. }) => *launches,
        Some(LatencyOutcome::Cheats { .. } | LatencyOutcome::Failed { .. }) | None => 1,
    };
    let key = (index.measured_as(&variant.id), &shape.name);
    let program = match &variant.method {
        Method::Kernel(_) | Method::Function(_) => Program::Kernel,
        Method::Command(_) | Method::Captured(_) => Program::Command,
    };
    let fresh = index.confirmations.get(&key).map(|record| fresh(record));
    Sampling { program, launches, fresh, code: code(index, variant, shape) }
}

fn fresh(record: &ConfirmationRecord) -> FreshSamples {
    let (samples, launches) = match &record.timed.outcome {
        LatencyOutcome::Timed { samples, launches, .. } => (Ok(Arc::from(samples.as_slice())), *launches),
        LatencyOutcome::Cheats { reason, .. } => (Err(format!("cheats: {reason}").into()), 1),
        LatencyOutcome::Failed { reason } => (Err(reason.as_str().into()), 1),
    };
    FreshSamples { samples, launches, processes: record.processes.as_slice().into() }
}

/// SHA-256 of the machine code of a kernel and of its launch at a shape.
fn code(index: &Index<'_>, variant: &Variant, shape: &Shape) -> Option<Arc<str>> {
    let Method::Kernel(kernel) = &variant.method else { return None };
    let launch = kernel.launches.iter().find(|launch| launch.shape == shape.name)?;
    let outcome = &index.builds.get(&variant.id)?.outcome;
    let BuildOutcome::Built { code_sha256, arch, launch: compiled, .. } = outcome else { return None };
    let launch = launch.compiled_as(compiled.as_ref());
    let parts = serde_json::to_string(&(code_sha256, arch, &kernel.entry, launch)).ok()?;
    (!code_sha256.is_empty()).then(|| sha256(parts.as_bytes()).into())
}

/// Records by what they are about.
struct Index<'a> {
    builds: HashMap<&'a VariantId, &'a BuildRecord>,
    checks: HashMap<(&'a VariantId, &'a ShapeName), Vec<&'a CheckRecord>>,
    latencies: HashMap<(&'a VariantId, &'a ShapeName), &'a LatencyRecord>,
    confirmations: HashMap<(&'a VariantId, &'a ShapeName), &'a ConfirmationRecord>,
    profiles: HashMap<(&'a VariantId, &'a ShapeName), Vec<&'a ProfileRecord>>,
}

impl<'a> Index<'a> {
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

    /// Whose measurements stand for the variant.
    fn measured_as<'b>(&'b self, variant: &'b VariantId) -> &'b VariantId {
        self.builds.get(variant).and_then(|b| b.shares.as_ref()).unwrap_or(variant)
    }

    fn latency(&self, variant: &VariantId, shape: &ShapeName) -> Option<&LatencyOutcome> {
        self.latencies.get(&(self.measured_as(variant), shape)).map(|r| &r.outcome)
    }
}

/// Where the columns of metrics come from.
struct MetricSource<'a> {
    measured: &'a Measured<'a>,
    index: &'a Index<'a>,
    rows: &'a [(&'a Variant, &'a Shape)],
    /// Which of the profiled cases each row is.
    places: &'a IdxCa,
}

impl MetricSource<'_> {
    /// A metric by row; the values of its launches by profiled case, where a counter has several.
    fn column(&self, metric: &str) -> CaseValues {
        let cells = match Catalogue::embedded().derivation(metric) {
            Some(Derivation::Latency(latency)) => self.by_row(|variant, shape| self.timed(latency, variant, shape)),
            Some(Derivation::Check(fact)) => self.by_row(|variant, shape| self.checked(fact, variant, shape)),
            Some(Derivation::Build(fact)) => self.launchable(metric, |variant, _| self.built(fact, variant)),
            Some(Derivation::Launch(fact)) => self.launchable(metric, |v, shape| self.launched(fact, v, shape)),
            Some(Derivation::Occupancy(fact)) => self.launchable(metric, |v, shape| self.occupied(fact, v, shape)),
            Some(Derivation::Counters) | None => return self.counted(metric),
        };
        CaseValues { cells, repeats: HashMap::new() }
    }

    fn by_row(&self, cell: impl Fn(&Variant, &Shape) -> Cell) -> MetricCells {
        self.rows.iter().map(|(variant, shape)| cell(variant, shape)).collect()
    }

    /// What is known of launches that are planned here; what a command launches is known from its reports alone.
    fn launchable(&self, metric: &str, cell: impl Fn(&Variant, &Shape) -> Cell) -> MetricCells {
        let is_command = |variant: &Variant| {
            matches!(variant.method, Method::Function(_) | Method::Command(_) | Method::Captured(_))
        };
        if !self.rows.iter().any(|(variant, _)| is_command(variant)) {
            return self.by_row(cell);
        }
        let counted = self.counted(metric).cells;
        let of = |((variant, shape), counted): (&(&Variant, &Shape), Cell)| match is_command(variant) {
            true => counted,
            false => cell(variant, shape),
        };
        self.rows.iter().zip(counted.iter()).map(of).collect()
    }

    fn counted(&self, metric: &str) -> CaseValues {
        let definition = match Catalogue::embedded().definition(metric, self.measured.capability) {
            Ok(definition) => definition,
            Err(reason) => {
                let cells = self.by_row(|_, _| missing(&reason.to_string()));
                return CaseValues { cells, repeats: HashMap::new() };
            }
        };
        let spread = Catalogue::embedded().get(metric).and_then(|known| known.spread).unwrap_or(0.0);
        let CaseValues { cells, repeats } = self.measured.counted.evaluate(&definition);
        let possible = |cell: Cell| match cell.value().and_then(|value| definition.doubt(value, spread)) {
            Some(reason) => missing(&reason),
            None => cell,
        };
        let cells: MetricCells = cells.iter().map(possible).collect();
        let why = |row: usize| self.rows.get(row).map_or_else(String::new, |(v, s)| self.why_not_profiled(&v.id, s));
        CaseValues { cells: cells.gather(self.places, why), repeats }
    }

    fn resources(&self, variant: &Variant) -> Result<Resources, Cell> {
        match self.index.builds.get(&variant.id).map(|b| &b.outcome) {
            Some(BuildOutcome::Built { resources, .. } | BuildOutcome::Refused { resources: Some(resources), .. }) => {
                Ok(*resources)
            }
            Some(BuildOutcome::Refused { resources: None, .. }) => Err(missing("cannot be launched on this chip")),
            Some(BuildOutcome::Failed { .. }) => Err(missing("did not build")),
            Some(BuildOutcome::NotNeeded) => Err(missing("an external command: its kernels are not built here")),
            None => Err(missing("was not built")),
        }
    }

    fn built(&self, fact: BuildFact, variant: &Variant) -> Cell {
        let resources = match self.resources(variant) {
            Ok(resources) => resources,
            Err(cell) => return cell,
        };
        Cell::Value(f64::from(match fact {
            BuildFact::Registers => resources.registers,
            BuildFact::StaticShared => resources.static_shared,
            BuildFact::Spills => resources.spills,
            BuildFact::Stack => resources.stack,
            BuildFact::Local => resources.local,
        }))
    }

    /// The variant's launch, as its compiler says where it says.
    fn launch(&self, variant: &Variant, shape: &Shape) -> Result<Launch, Cell> {
        let compiled = match self.index.builds.get(&variant.id).map(|build| &build.outcome) {
            Some(BuildOutcome::Built { launch, .. }) => launch.as_ref(),
            _ => None,
        };
        match &variant.method {
            Method::Kernel(kernel) => kernel
                .launches
                .iter()
                .find(|l| l.shape == shape.name)
                .map(|launch| launch.compiled_as(compiled))
                .ok_or_else(|| missing(&format!("has no launch at shape '{}'", shape.name))),
            Method::Function(_) => Err(missing("a Python function: its launches are its own")),
            Method::Command(_) => Err(missing("an external command: its launches are its own")),
            Method::Captured(_) => Err(missing("a launch of another program")),
        }
    }

    fn launched(&self, fact: LaunchFact, variant: &Variant, shape: &Shape) -> Cell {
        let launch = match self.launch(variant, shape) {
            Ok(launch) => launch,
            Err(cell) => return cell,
        };
        match fact {
            LaunchFact::BlockThreads => Cell::Value(f64::from(launch.threads())),
            LaunchFact::GridBlocks => Cell::Value(launch.blocks() as f64),
            LaunchFact::SharedMemory => match self.resources(variant) {
                Ok(resources) => Cell::Value(f64::from(resources.static_shared) + f64::from(launch.dynamic_shared)),
                Err(cell) => cell,
            },
        }
    }

    fn occupied(&self, fact: OccupancyFact, variant: &Variant, shape: &Shape) -> Cell {
        let (launch, occupancy) = match self.occupancy(variant, shape) {
            Ok(both) => both,
            Err(cell) => return cell,
        };
        match fact {
            OccupancyFact::Theoretical => Cell::finite(occupancy.percent),
            OccupancyFact::BlocksPerSm => Cell::Value(f64::from(occupancy.blocks_per_sm)),
            OccupancyFact::LimitRegisters => Cell::Value(f64::from(occupancy.limits.registers)),
            OccupancyFact::LimitSharedMemory => Cell::Value(f64::from(occupancy.limits.shared)),
            OccupancyFact::LimitWarps => Cell::Value(f64::from(occupancy.limits.warps)),
            OccupancyFact::LimitBlocks => Cell::Value(f64::from(occupancy.limits.blocks)),
            OccupancyFact::Waves => self
                .measured
                .sms
                .and_then(|sms| occupancy::waves(launch.blocks(), occupancy.blocks_per_sm, sms))
                .map_or_else(|| missing("the GPU's number of multiprocessors is not known"), Cell::finite),
        }
    }

    fn occupancy(&self, variant: &Variant, shape: &Shape) -> Result<(Launch, Occupancy), Cell> {
        let launch = self.launch(variant, shape)?;
        let resources = self.resources(variant)?;
        let capability = self.measured.capability.ok_or_else(|| missing("the GPU that measured is not known"))?;
        let chip = Chip::of(capability)
            .ok_or_else(|| missing(&format!("limits of compute capability {capability} are not known")))?;
        let demand = Demand {
            registers: resources.registers,
            static_shared: resources.static_shared,
            dynamic_shared: launch.dynamic_shared,
            threads: launch.threads(),
            barriers: resources.barriers,
        };
        Ok((launch, occupancy::theoretical(&chip, &demand, None)))
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

    /// The latency samples of a case, or why those that there are do not count; none where it was not timed.
    fn samples(&self, variant: &Variant, shape: &Shape) -> Option<Result<&[f64], String>> {
        let samples = match self.index.latency(&variant.id, &shape.name)? {
            LatencyOutcome::Timed { samples, .. } => samples.as_slice(),
            LatencyOutcome::Cheats { reason, .. } => return Some(Err(format!("cheats: {reason}"))),
            LatencyOutcome::Failed { reason } => return Some(Err(reason.clone())),
        };
        let rounds = self.measured.phase.bench.rounds as usize;
        if samples.len() < rounds {
            return Some(Err(format!("it was timed in {} of {rounds} rounds", samples.len())));
        }
        Some(self.possible(shape, samples).map(|()| samples))
    }

    /// Refuses samples that are faster than the chip can work.
    fn possible(&self, shape: &Shape, samples: &[f64]) -> Result<(), String> {
        let Measured { phase, capability, sms, .. } = self.measured;
        let most = capability.zip(*sms).and_then(|(capability, sms)| most_operations(capability, sms));
        let flops = phase.workload.flops_at(shape).ok().flatten();
        let (Some(most), Some(flops), Ok(us)) = (most, flops, stats::median(samples)) else { return Ok(()) };
        let a_second = flops / us * 1e6;
        match a_second > most {
            true => Err(format!(
                "faster than this chip can be: {} TFLOP/s, at most {} (the samples or the workload's 'flops' are wrong)",
                number::short(a_second / 1e12),
                number::short(most / 1e12)
            )),
            false => Ok(()),
        }
    }

    fn why_not_timed(&self, variant: &Variant, shape: &Shape) -> String {
        match self.index.builds.get(&variant.id).map(|b| &b.outcome) {
            Some(BuildOutcome::Failed { .. }) => "did not build".to_owned(),
            Some(BuildOutcome::Refused { .. }) => "cannot be launched on this chip".to_owned(),
            _ => format!("was not timed at shape '{}'", shape.name),
        }
    }

    fn tflops(&self, shape: &Shape, us: f64) -> Cell {
        match self.measured.phase.workload.flops_at(shape) {
            Ok(Some(flops)) => Cell::finite(flops / us / 1e6),
            Ok(None) => missing("the workload does not say how many operations a launch has ('flops')"),
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
                    if !record.outcome.is_correct(&self.measured.phase.workload.tolerance) {
                        return Cell::Value(0.0);
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

    fn why_not_profiled(&self, variant: &VariantId, shape: &Shape) -> String {
        let key = (self.index.measured_as(variant), &shape.name);
        let records = self.index.profiles.get(&key).map(Vec::as_slice).unwrap_or_default();
        let failure = records.iter().find_map(|r| match &r.outcome {
            ProfileOutcome::Failed { reason } => Some(reason.clone()),
            ProfileOutcome::Profiled { .. } => None,
        });
        failure.unwrap_or_else(|| format!("was not profiled at shape '{}'", shape.name))
    }
}

fn missing(reason: &str) -> Cell {
    Cell::Missing(reason.into())
}
