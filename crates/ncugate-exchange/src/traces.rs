//! FlashInfer-Trace traces: one per solution and workload.

use super::evaluation::{CaseEvaluation, EvaluationStatus, mean_ms};
use super::exported_run::ExportedRun;
use ncugate_model::digest::sha256;
use ncugate_phase::config::{ProblemOrigin, Shape};
use ncugate_phase::plan::Variant;
use serde_json::{Map, Value, json};

const fn status(ending: &EvaluationStatus) -> &'static str {
    match ending {
        EvaluationStatus::Timed(_) => "PASSED",
        EvaluationStatus::Wrong(_) | EvaluationStatus::Cheats(_) => "INCORRECT_NUMERICAL",
        // a passed trace has a latency; a result without one is a failed evaluation
        EvaluationStatus::Crashed(_) | EvaluationStatus::Untimed(_) | EvaluationStatus::NotRun(_) => "RUNTIME_ERROR",
        EvaluationStatus::NotBuilt(_) => "COMPILE_ERROR",
        EvaluationStatus::TimedOut(_) => "TIMEOUT",
    }
}

/// The traces of a run, a line of JSON each, and notes on omitted results.
pub fn traces(run: &ExportedRun<'_>) -> (String, Vec<String>) {
    let (candidates, mut left_out) = run.candidates();
    let mut lines = String::new();
    let timed = &run.run.phase.bench.shapes;
    for shape in &run.run.phase.workload.shapes {
        if !timed.contains(&shape.name) {
            left_out.push(format!("shape {} is omitted: it is checked, but not timed", shape.name));
            continue;
        }
        for variant in &candidates {
            lines.push_str(&trace(run, variant, shape).to_string());
            lines.push('\n');
        }
    }
    (lines, left_out)
}

fn trace(run: &ExportedRun<'_>, variant: &Variant, shape: &Shape) -> Value {
    let imported = run.run.phase.imported.as_ref();
    let solution = imported.and_then(|imported| imported.solution(&variant.id.0)).unwrap_or(&variant.id.0);
    json!({
        "definition": imported.map_or(&run.run.phase.name, |imported| &imported.problem),
        "workload": workload(run, imported, shape),
        "solution": solution,
        "evaluation": evaluation(run, variant, shape),
    })
}

/// The workload as it was imported, else one made from the shape.
fn workload(run: &ExportedRun<'_>, imported: Option<&ProblemOrigin>, shape: &Shape) -> Value {
    let stored = imported.and_then(|imported| imported.workload(&shape.name.0));
    if let Some(stored) = stored.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        return stored;
    }
    let axes: Map<String, Value> = shape.dims.iter().map(|(name, extent)| (name.clone(), json!(extent))).collect();
    let read = run.run.phase.workload.buffers.iter().filter(|buffer| buffer.role.is_read());
    let inputs: Map<String, Value> = read.map(|buffer| (buffer.name.clone(), json!({ "type": "random" }))).collect();
    let digest = sha256(format!("{} {} {}", run.run.phase.name, shape.name, json!(axes)).as_bytes());
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    let uuid = format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32));
    json!({ "uuid": uuid, "axes": axes, "inputs": inputs })
}

fn evaluation(run: &ExportedRun<'_>, variant: &Variant, shape: &Shape) -> Value {
    let CaseEvaluation { ending, differences, .. } = run.evaluated(&variant.id, &shape.name);
    let manifest = &run.run.run.manifest;
    let mut log: Vec<String> = vec![format!("ncugate {} run {}", manifest.ncugate, manifest.run)];
    log.extend(Some(ending.reason().to_owned()).filter(|reason| !reason.is_empty()));
    let is_answer =
        matches!(ending, EvaluationStatus::Timed(_) | EvaluationStatus::Wrong(_) | EvaluationStatus::Cheats(_));
    let correctness = match differences {
        _ if !is_answer => Value::Null,
        Some(found) => json!({
            "max_relative_error": "NaN",
            "max_absolute_error": number(found.max_abs),
            "extra": { "rel_l2": number(found.rel_l2), "compared": found.compared, "nonfinite": found.nonfinite },
        }),
        None => json!({ "max_relative_error": "NaN", "max_absolute_error": "NaN" }),
    };
    let performance = ending.samples().map_or(Value::Null, |samples| {
        let latency = mean_ms(samples);
        let reference = run.reference_ms(&shape.name);
        if reference.is_none() {
            log.push("the reference has no latency, so reference_latency_ms and speedup_factor are 0".to_owned());
        }
        log.extend(run.doubt(&variant.id).map(|doubt| format!("no gate of ncugate accepts this latency: {doubt}")));
        let speedup = reference.map_or(0.0, |reference| reference / latency);
        json!({ "latency_ms": latency, "reference_latency_ms": reference.unwrap_or(0.0), "speedup_factor": speedup })
    });
    json!({
        "status": status(&ending),
        "environment": { "hardware": run.hardware, "libs": libraries(run, variant) },
        "timestamp": manifest.finished.unwrap_or(manifest.started).to_string(),
        "log": log.join("\n"),
        "correctness": correctness,
        "performance": performance,
    })
}

/// A number as JSON; a non-finite number becomes FlashInfer-Trace's text for it.
fn number(value: f64) -> Value {
    match value {
        value if value.is_nan() => json!("NaN"),
        value if value.is_infinite() => json!("Infinity"),
        value => json!(value),
    }
}

/// Versions of the measuring software and of the solution's libraries.
fn libraries(run: &ExportedRun<'_>, variant: &Variant) -> Map<String, Value> {
    let manifest = &run.run.run.manifest;
    let tools = [
        ("ncugate", Some(&manifest.ncugate)),
        ("driver", manifest.fingerprint.driver.as_ref()),
        ("ncu", manifest.fingerprint.ncu.as_ref()),
        ("nvcc", manifest.fingerprint.nvcc.as_ref()),
    ];
    let mut found: Map<String, Value> =
        tools.into_iter().filter_map(|(name, version)| Some((name.to_owned(), json!(version?)))).collect();
    for (name, version) in manifest.software.get(variant.id.0.as_str()).into_iter().flatten() {
        found.insert(name.clone(), json!(version));
    }
    found
}
