//! The launches, fills and copies of an evaluation with several steps, as rows.

use super::document::{CellTone, Column, DocumentBlock, DocumentTable, Section, TableCell};
use super::inputs::ReportInputs;
use super::model::Measure;
use super::number;
use super::text;
use super::variant_row::{StepRow, VariantRow};
use ncu_explain::MetricColumn;
use ncugate_model::metric::{Catalogue, ShownIn, id};
use ncugate_model::{LaunchMode, ShapeName, VariantId, demangled};
use ncugate_phase::plan::{KernelLaunch, Method, ShapeProgram, Step, Variant};

/// Most metrics in the table of steps, in addition to the duration and its share.
const COLUMNS: usize = 6;

/// The program of a variant at a shape, in one line.
pub fn program_text(program: &ShapeProgram) -> String {
    if let Some(reason) = &program.left_out {
        return format!("not launched: {reason}");
    }
    match program.single() {
        Some(launch) => launch_text(launch),
        None => {
            let line = |(at, step): (usize, &Step)| format!("{} {}: {}", at + 1, step_name(step), step_text(step));
            program.steps.iter().enumerate().map(line).collect::<Vec<_>>().join("; ")
        }
    }
}

fn launch_text(launch: &KernelLaunch) -> String {
    let dims = |[x, y, z]: [u32; 3]| format!("{x}×{y}×{z}");
    let dynamic = number::with_unit(f64::from(launch.dynamic_shared), "bytes");
    let mut text = format!("grid {}, block {}, dynamic shared memory {dynamic}", dims(launch.grid), dims(launch.block));
    if launch.cluster != [1, 1, 1] {
        text.push_str(&format!(", cluster {}", dims(launch.cluster)));
    }
    text.push_str(match launch.mode {
        LaunchMode::Ordinary => "",
        LaunchMode::Cooperative => ", cooperative",
        LaunchMode::Programmatic => ", programmatic dependent launch",
    });
    if let Some(percent) = launch.carveout {
        text.push_str(&format!(", carve-out {percent} %"));
    }
    if let Some(window) = &launch.l2_window {
        let bytes = number::with_unit(window.bytes as f64, "bytes");
        text.push_str(&format!(", L2 window of {bytes} over {}", window.buffer));
    }
    text
}

fn step_name(step: &Step) -> String {
    match step {
        Step::Launch(launch) => text::line(&demangled(&launch.entry)),
        Step::Memset(_) => "memset".to_owned(),
        Step::Memcpy(_) => "memcpy".to_owned(),
    }
}

fn step_text(step: &Step) -> String {
    match step {
        Step::Launch(launch) => launch_text(launch),
        Step::Memset(fill) => format!("every byte of {} is {:#04x}", fill.buffer, fill.byte),
        Step::Memcpy(copy) => format!("{} to {}", copy.from, copy.to),
    }
}

/// The steps of a variant at a shape; none if its program is one launch, or it is an external command.
pub fn rows(inputs: &ReportInputs<'_>, variant: &Variant, shape: &ShapeName, metrics: &[MetricColumn]) -> Vec<StepRow> {
    let Method::Kernel(kernel) = &variant.method else { return Vec::new() };
    let Some(program) = kernel.program(shape).filter(|program| program.single().is_none()) else { return Vec::new() };
    let several = program.launches().count() > 1;
    let mut launch = 0;
    let row = |step: &Step| {
        let values = match step {
            Step::Launch(_) => {
                launch += 1;
                values(inputs, (&variant.id, shape), several.then_some(launch - 1), metrics)
            }
            Step::Memset(_) | Step::Memcpy(_) => vec![None; metrics.len()],
        };
        StepRow { name: step_name(step).into(), about: step_text(step).into(), values }
    };
    program.steps.iter().map(row).collect()
}

/// Values of one of several launches; for a single launch among fills and copies, those of the evaluation.
fn values(
    inputs: &ReportInputs<'_>,
    (variant, shape): (&VariantId, &ShapeName),
    launch: Option<usize>,
    metrics: &[MetricColumn],
) -> Vec<Option<Measure>> {
    let of = |metric: &MetricColumn| {
        let cell = match launch {
            Some(at) => inputs.quantities.steps(variant, shape, &metric.name).get(at).cloned()?,
            None if is_of_launches(&metric.name) => inputs.quantities.of_launches(variant, shape, &metric.name),
            None => return None,
        };
        Some(Measure::from(&cell))
    };
    metrics.iter().map(of).collect()
}

/// Whether a metric is known for single launches.
fn is_of_launches(metric: &str) -> bool {
    use ncugate_model::metric::MetricSource as Source;
    match Catalogue::embedded().source(metric) {
        Some(Source::Build | Source::Launch | Source::Occupancy | Source::Ncu) => true,
        Some(Source::Latency | Source::Check) | None => false,
    }
}

/// The steps of the main variant; none if its evaluation is one launch.
pub fn section(variants: &[VariantRow], shape: usize, metrics: &[MetricColumn], name: &ShapeName) -> Option<Section> {
    let row = variants.iter().find(|row| row.selected).or_else(|| variants.first())?;
    let steps = &row.shapes.get(shape)?.steps;
    if steps.is_empty() {
        return None;
    }
    let duration = metrics.iter().position(|metric| metric.name == id::DURATION.name());
    let known = |at: &usize| steps.iter().any(|step| matches!(step.values.get(*at), Some(Some(Measure::Number(_)))));
    let lead: Vec<&str> = Catalogue::embedded().shown(ShownIn::Lead).collect();
    let mut leading: Vec<usize> = (0..metrics.len()).filter(known).filter(|at| Some(*at) != duration).collect();
    leading.sort_by_key(|at| lead.iter().position(|name| *name == metrics[*at].name).unwrap_or(lead.len()));
    let shown: Vec<usize> = duration.into_iter().filter(known).chain(leading.into_iter().take(COLUMNS)).collect();
    let number = |step: &StepRow, at: usize| match step.values.get(at) {
        Some(Some(Measure::Number(number))) => Some(number.clone()),
        _ => None,
    };
    let total: f64 = duration.map_or(0.0, |at| steps.iter().filter_map(|step| Some(number(step, at)?.value)).sum());
    let cell = |step: &StepRow, at: usize| match number(step, at) {
        Some(number) if Some(at) == duration && total > 0.0 => {
            format!("{} ({} %)", number.text, number::short(100.0 * number.value / total))
        }
        Some(number) => number.text,
        None => String::new(),
    };
    let title = |at: &usize| match number::unit(&metrics[*at].unit) {
        "" => metrics[*at].title.clone(),
        unit => format!("{} {unit}", metrics[*at].title),
    };
    let heads = [Column::text("step"), Column::text("launch").minor()].into_iter();
    let metric = |(place, at)| Column { is_minor: place > 0, ..Column::number(title(at)) };
    let heads = heads.chain(shown.iter().enumerate().map(metric));
    let mut table = DocumentTable::new("Steps of an evaluation", heads.collect());
    for (at, step) in steps.iter().enumerate() {
        let name = TableCell::of(format!("{} {}", at + 1, step.name), CellTone::Code);
        let cells = shown.iter().map(|at| TableCell::new(cell(step, *at)));
        table.row([name, TableCell::new(step.about.as_str())].into_iter().chain(cells).collect());
    }
    let title = format!("Steps of {} at shape {name}", row.id);
    Some(Section::part("steps", title, "", vec![DocumentBlock::Table(table)]))
}
