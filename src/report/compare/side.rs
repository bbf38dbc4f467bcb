//! One side of a comparison, by name: from a judged run, or from the launches of an ncu report.

use crate::frame::case_of;
use crate::frame::launches::nvtx_text;
use crate::metric::Catalogue;
use crate::model::{Cell, ComputeCapability, Verdict};
use crate::report::{self, Measure, text};
use indexmap::IndexMap;
use ncu_rep::{Launch, ReportError};

/// What was measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Side {
    /// As the reader named it: a folder or a file.
    pub name: String,
    /// What it is: `Phase D: occupancy attack, run 20261121T012344Z`.
    pub about: String,
    /// The verdict in words, where a run was judged.
    pub verdict: Option<String>,
    /// One sentence why.
    pub reason: Option<String>,
    /// Gates of the phase.
    pub gates: Vec<Gate>,
    /// GPU, driver and tools: what has to be equal for numbers to be comparable.
    pub conditions: Vec<(String, String)>,
    /// Variants at shapes, or kernels, by the name that pairs them.
    pub subjects: IndexMap<String, Subject>,
}

/// A judged gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Its name.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Measured value of the case that decided.
    pub measured: Option<f64>,
    /// Unit of it.
    pub unit: String,
}

/// A variant at a shape, or a kernel.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Subject {
    /// Short enough for a table.
    pub label: String,
    /// Whether every required gate holds for it; none for baselines and kernels.
    pub verdict: Option<Verdict>,
    /// Values of each metric: one of a run, one a launch of a report.
    pub values: IndexMap<String, Vec<f64>>,
    /// Latency samples in microseconds.
    pub samples: Vec<f64>,
}

/// Why a report cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// It is damaged.
    #[error("cannot read the launches of '{name}'")]
    Damaged {
        /// The report.
        name: String,
        /// What is wrong with it.
        #[source]
        source: ReportError,
    },
    /// It has nothing in it.
    #[error("'{name}' has no launches")]
    Empty {
        /// The report.
        name: String,
    },
}

/// Facts of a run's provenance that make its numbers comparable with another's.
const CONDITIONS: [&str; 7] =
    ["GPU", "driver", "Nsight Compute", "nvcc", "clock control", "cache control", "replay mode"];

impl Side {
    /// A judged run.
    pub fn of_run(name: &str, report: &report::Report) -> Self {
        let facts = &report.provenance.facts;
        let commit = facts.iter().find(|(label, _)| label == "commit").map_or("", |(_, value)| value.as_str());
        let commit = if commit.starts_with("not ") { commit.to_owned() } else { format!("commit {commit}") };
        Self {
            name: text::line(name),
            about: format!("{}, run {}, {}, {commit}", report.title, report.run, report.source.sentence),
            verdict: Some(report.headline.label.clone()),
            reason: Some(report.headline.reason.clone()),
            gates: report.gates.iter().map(gate).collect(),
            conditions: facts.iter().filter(|(label, _)| CONDITIONS.contains(&label.as_str())).cloned().collect(),
            subjects: report.variants.iter().flat_map(|variant| at_shapes(report, variant)).collect(),
        }
    }

    /// The launches of a report: those of a profiled case under its name, others under their kernel's.
    ///
    /// # Errors
    /// A damaged report, or one without launches.
    pub fn of_report(name: &str, report: &ncu_rep::Report) -> Result<Self, SideError> {
        let damaged = |source| SideError::Damaged { name: text::line(name), source };
        let mut subjects: IndexMap<String, Subject> = IndexMap::new();
        let mut devices: Vec<String> = Vec::new();
        for launch in report.launches() {
            let (key, label) = called(&launch).map_err(damaged)?;
            let subject = subjects.entry(key).or_insert_with(|| Subject { label, ..Subject::default() });
            for (metric, value) in values(&launch).map_err(damaged)? {
                subject.values.entry(metric).or_default().push(value);
            }
            let device = launch.device_name().map_err(damaged)?.map_or_else(String::new, |d| text::line(&d));
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        if subjects.is_empty() {
            return Err(SideError::Empty { name: text::line(name) });
        }
        Ok(Self {
            name: text::line(name),
            about: format!("{} on {}", report::number::counted(report.launches().len(), "result"), devices.join(", ")),
            conditions: vec![("device".to_owned(), devices.join(", "))],
            subjects,
            ..Self::default()
        })
    }
}

fn gate(row: &report::GateRow) -> Gate {
    Gate {
        name: row.name.clone(),
        verdict: if row.waived.is_some() { Verdict::Pass } else { row.verdict },
        measured: row.measured.as_ref().map(|n| n.value),
        unit: row.unit.clone(),
    }
}

/// A variant at every shape where something was measured.
fn at_shapes<'r>(
    report: &'r report::Report,
    variant: &'r report::VariantRow,
) -> impl Iterator<Item = (String, Subject)> + 'r {
    let candidate = variant.standing == crate::plan::Standing::Candidate;
    report.shapes.iter().zip(&variant.shapes).filter_map(move |(shape, measured)| {
        let number = |value: &Measure| value.number().map(|n| vec![n.value]);
        let values = report.metrics.iter().zip(&measured.values);
        let values: IndexMap<String, Vec<f64>> =
            values.filter_map(|(metric, value)| Some((metric.name.clone(), number(value)?))).collect();
        let subject = Subject {
            label: format!("{} @ {shape}", variant.label),
            verdict: candidate.then_some(variant.verdict),
            values,
            samples: measured.samples.clone(),
        };
        (!subject.values.is_empty()).then(|| (format!("{}@{shape}", variant.id), subject))
    })
}

/// Key and label of a launch.
fn called(launch: &Launch<'_>) -> Result<(String, String), ReportError> {
    if let Some((variant, shape)) = case_of(&nvtx_text(&launch.nvtx()?)) {
        let label = format!("{} @ {}", text::clip(&variant.0, text::LABEL), text::line(&shape.0));
        return Ok((format!("{}@{}", text::line(&variant.0), text::line(&shape.0)), label));
    }
    let kernel = launch.demangled_name();
    Ok((text::line(&kernel), text::clip(&kernel, text::LABEL)))
}

/// Numbers of a launch: catalogue metrics first, then ncu's by name.
fn values(launch: &Launch<'_>) -> Result<Vec<(String, f64)>, ReportError> {
    let mut counters: IndexMap<&str, f64> = IndexMap::new();
    for metric in launch.metrics() {
        let metric = metric?;
        // What the profiler did to itself says nothing of the kernel.
        let own = metric.name.starts_with("profiler__");
        if let Some(value) = metric.value.as_f64().filter(|v| v.is_finite() && !own) {
            counters.insert(metric.name, value);
        }
    }
    let catalogue = Catalogue::embedded();
    let capability = launch.compute_capability()?.map(ComputeCapability::from);
    let logical = catalogue.names().filter_map(|name| {
        let definition = catalogue.definition(name, capability).ok()?;
        match definition.evaluate(&|counter| counters.get(counter).copied()) {
            Cell::Value(value) => Some((name.to_owned(), value)),
            Cell::Missing(_) => None,
        }
    });
    let mut values: Vec<(String, f64)> = logical.collect();
    values.extend(counters.iter().map(|(name, value)| (text::line(name), *value)));
    Ok(values)
}
