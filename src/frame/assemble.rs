//! Everything measured, joined into one table: builds, launches, occupancy, checks, latencies, counters.

use super::{Counted, Quantities};
use crate::config::{Phase, Shape};
use crate::expr::{Names, Value};
use crate::metric::{Catalogue, Source};
use crate::model::Cell;
use crate::model::ComputeCapability;
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::model::{BuildOutcome, BuildRecord, Resources};
use crate::model::{CheckOutcome, CheckRecord, LatencyOutcome, LatencyRecord};
use crate::model::{ProfileOutcome, ProfileRecord};
use crate::occupancy::{self, Chip, Demand, Occupancy};
use crate::plan::{Launch, Method, Plan, Variant};
use crate::stats;
use crate::store::Run;
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
        if let Some(LatencyOutcome::Timed { samples, .. }) = index.latency(&variant.id, &shape.name) {
            table.set_samples(row, Arc::from(samples.as_slice()));
        }
    }
    for metric in metrics {
        let column = Column { measured, index: &index, metric };
        table.set_column(metric, rows.iter().map(|(variant, shape)| column.cell(variant, shape)).collect());
        for (row, (variant, shape)) in rows.iter().enumerate() {
            if let Some(values) = column.spread(variant, shape) {
                table.set_spread(metric, row, values);
            }
        }
    }
    table
}

/// Records by what they are about.
struct Index<'a> {
    builds: HashMap<&'a VariantId, &'a BuildRecord>,
    checks: HashMap<(&'a VariantId, &'a ShapeName), Vec<&'a CheckRecord>>,
    latencies: HashMap<(&'a VariantId, &'a ShapeName), &'a LatencyRecord>,
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

struct Column<'a> {
    measured: &'a Measured<'a>,
    index: &'a Index<'a>,
    metric: &'a str,
}

impl Column<'_> {
    fn cell(&self, variant: &Variant, shape: &Shape) -> Cell {
        let source = Catalogue::embedded().source(self.metric);
        // What a command launches is known from its reports alone.
        if let (Method::Command(_), Some(Source::Build | Source::Launch | Source::Occupancy)) =
            (&variant.method, source)
        {
            return self.counted(variant, shape);
        }
        match source {
            Some(Source::Build) => self.built(variant),
            Some(Source::Launch) => self.launched(variant, shape),
            Some(Source::Occupancy) => self.occupied(variant, shape),
            Some(Source::Latency) => self.timed(variant, shape),
            Some(Source::Check) => self.checked(variant, shape),
            Some(Source::Ncu) | None => self.counted(variant, shape),
        }
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

    fn built(&self, variant: &Variant) -> Cell {
        let resources = match self.resources(variant) {
            Ok(resources) => resources,
            Err(cell) => return cell,
        };
        Cell::Value(f64::from(match self.metric {
            "registers" => resources.registers,
            "static_shared" => resources.static_shared,
            "spills" => resources.spills,
            "stack" => resources.stack,
            "local_bytes" => resources.local,
            other => return missing(&format!("'{other}' is not a fact of a build")),
        }))
    }

    fn launch<'b>(&self, variant: &'b Variant, shape: &Shape) -> Result<&'b Launch, Cell> {
        match &variant.method {
            Method::Kernel(kernel) => kernel
                .launches
                .iter()
                .find(|l| l.shape == shape.name)
                .ok_or_else(|| missing(&format!("has no launch at shape '{}'", shape.name))),
            Method::Command(_) => Err(missing("an external command: its launches are its own")),
        }
    }

    fn launched(&self, variant: &Variant, shape: &Shape) -> Cell {
        let launch = match self.launch(variant, shape) {
            Ok(launch) => launch,
            Err(cell) => return cell,
        };
        match self.metric {
            "block_threads" => Cell::Value(f64::from(launch.threads())),
            "grid_blocks" => Cell::Value(launch.blocks() as f64),
            "shared_mem" => match self.resources(variant) {
                Ok(resources) => Cell::Value(f64::from(resources.static_shared) + f64::from(launch.dynamic_shared)),
                Err(cell) => cell,
            },
            other => missing(&format!("'{other}' is not a fact of a launch")),
        }
    }

    fn occupied(&self, variant: &Variant, shape: &Shape) -> Cell {
        let (launch, occupancy) = match self.occupancy(variant, shape) {
            Ok(both) => both,
            Err(cell) => return cell,
        };
        match self.metric {
            "theoretical_occupancy" => Cell::finite(occupancy.percent),
            "blocks_per_sm" => Cell::Value(f64::from(occupancy.blocks_per_sm)),
            "occupancy_limit_registers" => Cell::Value(f64::from(occupancy.limits.registers)),
            "occupancy_limit_shared_mem" => Cell::Value(f64::from(occupancy.limits.shared)),
            "occupancy_limit_warps" => Cell::Value(f64::from(occupancy.limits.warps)),
            "occupancy_limit_blocks" => Cell::Value(f64::from(occupancy.limits.blocks)),
            "waves" => self
                .measured
                .sms
                .and_then(|sms| occupancy::waves(launch.blocks(), occupancy.blocks_per_sm, sms))
                .map_or_else(|| missing("how many multiprocessors the GPU has is not known"), Cell::finite),
            other => missing(&format!("'{other}' does not follow from occupancy")),
        }
    }

    fn occupancy<'b>(&self, variant: &'b Variant, shape: &Shape) -> Result<(&'b Launch, Occupancy), Cell> {
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

    fn timed(&self, variant: &Variant, shape: &Shape) -> Cell {
        let samples = match self.index.latency(&variant.id, &shape.name) {
            Some(LatencyOutcome::Timed { samples, .. }) => samples,
            Some(LatencyOutcome::Failed { reason }) => return missing(reason),
            None => return missing(&self.why_not_timed(variant, shape)),
        };
        let statistic = match self.metric {
            "latency_p50" | "tflops" => stats::median(samples),
            "latency_p90" => stats::quantile(samples, 0.9),
            "latency_mean" => stats::Statistic::Mean.of(samples),
            "latency_min" => stats::quantile(samples, 0.0),
            other => return missing(&format!("'{other}' is not a statistic of latency")),
        };
        match statistic {
            Err(reason) => missing(&reason.to_string()),
            Ok(us) if self.metric == "tflops" => self.tflops(shape, us),
            Ok(us) => Cell::finite(us),
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
        let Some(flops) = &self.measured.phase.workload.flops else {
            return missing("the workload does not say how many operations a launch has ('flops')");
        };
        let scope: Names = shape.dims.iter().map(|(name, n)| (name.clone(), Value::Int(*n))).collect();
        flops.eval_number(&scope).map_or_else(|e| missing(&e.to_string()), |flops| Cell::finite(flops / us / 1e6))
    }

    fn checked(&self, variant: &Variant, shape: &Shape) -> Cell {
        let key = (self.index.measured_as(&variant.id), &shape.name);
        let records = self.index.checks.get(&key).map(Vec::as_slice).unwrap_or_default();
        let seeds = &self.measured.phase.workload.seeds;
        if let Some(seed) = seeds.iter().find(|seed| !records.iter().any(|r| r.seed == **seed)) {
            return missing(&format!("was not checked at shape '{}' with seed {seed}", shape.name));
        }
        let mut worst = 0.0_f64;
        for record in records {
            match (&record.outcome, self.metric) {
                (CheckOutcome::Correct { .. }, "correct") => {}
                (CheckOutcome::Wrong { .. } | CheckOutcome::Crashed { .. }, "correct") => return Cell::Value(0.0),
                (CheckOutcome::Skipped { reason } | CheckOutcome::Crashed { reason }, _) => return missing(reason),
                (CheckOutcome::Correct { differences } | CheckOutcome::Wrong { differences, .. }, name) => {
                    if differences.nonfinite > 0 {
                        return missing("the output has NaN or infinite values");
                    }
                    worst = worst.max(if name == "rel_l2" { differences.rel_l2 } else { differences.max_abs });
                }
            }
        }
        if self.metric == "correct" { Cell::Value(1.0) } else { Cell::finite(worst) }
    }

    fn counted(&self, variant: &Variant, shape: &Shape) -> Cell {
        let definition = match Catalogue::embedded().definition(self.metric, self.measured.capability) {
            Ok(definition) => definition,
            Err(reason) => return missing(&reason.to_string()),
        };
        let measured_as = self.index.measured_as(&variant.id);
        self.measured
            .counted
            .evaluate(measured_as, &shape.name, &definition)
            .unwrap_or_else(|| missing(&self.why_not_profiled(measured_as, shape)))
    }

    /// Values of a counter that more than one launch gave.
    fn spread(&self, variant: &Variant, shape: &Shape) -> Option<Arc<[f64]>> {
        if !matches!(Catalogue::embedded().source(self.metric), Some(Source::Ncu)) {
            return None;
        }
        let definition = Catalogue::embedded().definition(self.metric, self.measured.capability).ok()?;
        let measured_as = self.index.measured_as(&variant.id);
        let values = self.measured.counted.values(measured_as, &shape.name, &definition)?.ok()?;
        (values.len() > 1).then(|| values.into())
    }

    fn why_not_profiled(&self, variant: &VariantId, shape: &Shape) -> String {
        let records = self.index.profiles.get(&(variant, &shape.name)).map(Vec::as_slice).unwrap_or_default();
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
