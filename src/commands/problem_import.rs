//! `ncugate problem import`: creates a phase from another project's problem.

use super::{CommandError, print};
use crate::cli::{ImportCommand, ImportPrecision, OutputFormat};
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_exchange::{
    FlashInferChoice, GpuModeProblem, ImportTarget, KernelBenchProblem, Parser, Precision, import_flashinfer,
    import_gpumode, import_kernelbench,
};
use ncugate_model::number::counted;
use ncugate_phase::config;
use serde_json::json;
use std::io::Write;

/// Writes the phase and its files, and lists converted and omitted parts.
pub fn import(command: &ImportCommand, out: &mut Output) -> Result<Outcome, CommandError> {
    let (output, format) = match command {
        ImportCommand::FlashInfer(args) => (&args.output, args.format),
        ImportCommand::KernelBench(args) => (&args.output, args.format),
        ImportCommand::GpuMode(args) => (&args.output, args.format),
    };
    let target = ImportTarget::new(output)?;
    let phase = match command {
        ImportCommand::FlashInfer(args) => {
            let choice = FlashInferChoice {
                definition: args.definition.clone(),
                solutions: args.solutions.clone(),
                workloads: args.workloads.clone(),
            };
            import_flashinfer(&args.folder, &choice, &target)?
        }
        ImportCommand::KernelBench(args) => {
            let problem = KernelBenchProblem {
                problem: args.problem.clone(),
                solutions: args.solutions.clone(),
                precision: match args.precision {
                    ImportPrecision::Fp32 => Precision::Fp32,
                    ImportPrecision::Fp16 => Precision::Fp16,
                    ImportPrecision::Bf16 => Precision::Bf16,
                },
                inputs: args.tensors.inputs.clone(),
                outputs: args.tensors.outputs.clone(),
            };
            import_kernelbench(&problem, &Parser { python: args.tensors.python.clone() }, &target)?
        }
        ImportCommand::GpuMode(args) => {
            let problem = GpuModeProblem {
                task: args.task.clone(),
                submissions: args.solutions.clone(),
                inputs: args.tensors.inputs.clone(),
                outputs: args.tensors.outputs.clone(),
                bound: args.rtol.zip(args.atol),
            };
            import_gpumode(&problem, &Parser { python: args.tensors.python.clone() }, &target)?
        }
    };
    // An invalid phase is an error here, with its place in the text that would have been written.
    let understood = config::parse(output, &phase.text)?;
    phase.write(&target)?;
    let (shapes, candidates) = (understood.workload.shapes.len(), understood.variants.len());
    if format == OutputFormat::Json {
        let notes = &phase.notes;
        print::json(&json!({ "phase": output, "shapes": shapes, "candidates": candidates, "notes": notes }), out)?;
        return Ok(Outcome::Passed);
    }
    writeln!(out, "{}: {}, {}", output.display(), counted(shapes, "shape"), counted(candidates, "candidate"))?;
    for note in &phase.notes {
        writeln!(out, "  note: {note}")?;
    }
    writeln!(out, "  nothing was executed; `ncugate check {}` calls the reference", output.display())?;
    Ok(Outcome::Passed)
}
