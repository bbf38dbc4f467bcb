//! Expected outputs of hidden inputs that the processes of a confirmation share: the first computes them, the others read them.
//!
//! A shape has a memory file of the parent, which a worker opens below `/proc`. The worker that computes the outputs seals the
//! file before it launches a candidate at the shape. A file without the seal counts as empty.
//!
//! A job with host code of a candidate (Python, C++) shares nothing, and has its own hidden inputs: such code could find the
//! files, or store answers of one process for the next. Device code reaches neither files nor other processes.

use super::hidden_draws::HiddenCases;
use super::job::{JobMode, WorkerJob};
use crate::prove::{
    CaseDraw, CaseInputs, DerivedBound, ExpectedOutput, ReferenceSpec, ShapeSpec, held_by_outputs, magnitudes,
};
use crate::time::{HiddenCase, LEAST_CONTENTS};
use ncugate_model::{Law, ShapeName, Tolerance};
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

/// Maximum size of all files, in bytes, and the maximum share of the available memory. Outputs of further shapes are computed
/// by each process.
const MOST_BYTES: usize = 4 << 30;
const MEMORY_SHARE: usize = 4;
/// Maximum number of files: each takes a descriptor of the parent.
const MOST_FILES: usize = 128;
/// Elements converted at once.
const CHUNK: usize = 1 << 16;

/// The shared outputs of one phase. Dropping them frees their memory.
#[derive(Debug)]
pub struct SharedOutputs {
    /// Hidden seeds of all jobs that share.
    seeds: Vec<u64>,
    files: Vec<(ShapeName, OwnedFd)>,
}

/// The file of a shape, as a worker finds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFile {
    shape: ShapeName,
    path: PathBuf,
}

/// The outputs of a case in a file; their values follow as float64.
#[derive(Serialize, Deserialize)]
struct SharedCase {
    seed: u64,
    /// Bits of the error of a plain evaluation.
    plain_error: Option<u64>,
    #[serde(default)]
    derived: Option<DerivedBound>,
    /// Buffer and number of elements of each output, for each answer of the reference.
    answers: Vec<Vec<(usize, usize)>>,
}

impl SharedOutputs {
    /// Empty files for the timed shapes of a job, as far as the memory allows; `None` for a job that must not share.
    pub fn of(job: &WorkerJob) -> Option<Self> {
        Self::within(job, MOST_BYTES.min(available_memory() / MEMORY_SHARE))
    }

    fn within(job: &WorkerJob, mut room: usize) -> Option<Self> {
        let JobMode::Bench(settings) = &job.mode else { return None };
        if job.has_host_code() {
            return None;
        }
        let seeds = settings.hidden.inputs.clone();
        let answers = match &job.reference {
            ReferenceSpec::Program { answers, .. } => answers.len().max(1),
            ReferenceSpec::Builtin(_) | ReferenceSpec::Entry { .. } => 1,
            // Reading a file again is as fast.
            ReferenceSpec::Npy { .. } | ReferenceSpec::None => return None,
        };
        let mut files = Vec::new();
        let is_timed = |shape: &&ShapeSpec| job.kernels.iter().any(|kernel| kernel.shapes.contains(&shape.name));
        for shape in job.shapes.iter().filter(is_timed).take(MOST_FILES) {
            let outputs = shape.buffers.iter().filter(|buffer| buffer.role.is_compared());
            let elements = outputs.map(|buffer| buffer.compared_elements()).sum::<usize>();
            let bytes = elements.saturating_mul(size_of::<f64>() * answers).saturating_mul(seeds.len());
            let Some(left) = room.checked_sub(bytes) else { continue };
            let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
            let Ok(file) = memfd_create("ncugate", flags) else { break };
            room = left;
            files.push((shape.name.clone(), file));
        }
        (!files.is_empty()).then_some(Self { seeds, files })
    }

    /// Gives a job the files, and the hidden inputs that they belong to, unless it must not share.
    pub fn lend(&self, job: &mut WorkerJob) {
        if job.has_host_code() {
            return;
        }
        let JobMode::Bench(settings) = &mut job.mode else { return };
        settings.hidden.inputs.clone_from(&self.seeds);
        let path = |file: &OwnedFd| PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        job.shared =
            self.files.iter().map(|(shape, file)| SharedFile { shape: shape.clone(), path: path(file) }).collect();
    }
}

/// The memory that the system can give to new programs, in bytes; 0 if it is unknown.
pub(super) fn available_memory() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

/// The file of a shape.
pub(super) fn file_of<'f>(shared: &'f [SharedFile], shape: &ShapeSpec) -> Option<&'f SharedFile> {
    shared.iter().find(|file| file.shape == shape.name)
}

impl SharedFile {
    /// The cases that an earlier process computed for the first of `seeds`; `None` if there are none, or not for this shape.
    pub(super) fn read(
        &self,
        proof: (&ReferenceSpec, &Tolerance),
        shape: &ShapeSpec,
        seeds: &[u64],
    ) -> Option<Vec<HiddenCase>> {
        let file = File::open(&self.path).ok()?;
        if !seals(&file)?.contains(SealFlag::F_SEAL_WRITE) {
            return None;
        }
        let mut head = String::new();
        BufReader::new(&file).read_line(&mut head).ok()?;
        let listed: Vec<SharedCase> = serde_json::from_str(&head).ok()?;
        let are_first = listed.len() <= seeds.len() && listed.iter().zip(seeds).all(|(case, seed)| case.seed == *seed);
        if !are_first || listed.len() < seeds.len().min(LEAST_CONTENTS as usize) {
            return None;
        }
        let mut at = head.len() as u64;
        listed.iter().map(|listed| case(proof, shape, listed, (&file, &mut at))).collect()
    }

    /// Stores cases for the next processes and seals them.
    ///
    /// # Errors
    /// The file cannot be written; the next process then computes the outputs again.
    pub(super) fn write(&self, cases: &[HiddenCase]) -> io::Result<()> {
        let file = OpenOptions::new().write(true).truncate(true).open(&self.path)?;
        let listed = cases.iter().map(|case| SharedCase {
            seed: case.seed,
            plain_error: case.draw.plain_error().map(f64::to_bits),
            derived: case.draw.derived(),
            answers: case
                .draw
                .answers()
                .map(|outputs| outputs.iter().map(|o| (o.buffer, o.values.len())).collect())
                .collect(),
        });
        let mut head = serde_json::to_vec(&listed.collect::<Vec<_>>())?;
        head.push(b'\n');
        file.write_all_at(&head, 0)?;
        let mut at = head.len() as u64;
        for output in cases.iter().flat_map(|case| case.draw.answers()).flatten() {
            output.values.par_chunks(CHUNK).enumerate().try_for_each(|(number, chunk)| {
                let bytes: Vec<u8> = chunk.iter().flat_map(|value| value.to_le_bytes()).collect();
                file.write_all_at(&bytes, at + (number * CHUNK * size_of::<f64>()) as u64)
            })?;
            at += size_of_val(&output.values[..]) as u64;
        }
        let all = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(all))?;
        Ok(())
    }
}

/// The cases of a shape: from its file, else from `compute`, which are then stored for the next processes.
pub(super) fn read_or(
    file: Option<&SharedFile>,
    proof: (&ReferenceSpec, &Tolerance),
    (shape, seeds): (&ShapeSpec, &[u64]),
    compute: impl FnOnce() -> HiddenCases,
) -> HiddenCases {
    let Some(file) = file else { return compute() };
    if let Some(cases) = file.read(proof, shape, seeds) {
        return Ok(cases);
    }
    let cases = compute()?;
    // Without it, the next process computes them again.
    let _ = file.write(&cases);
    Ok(cases)
}

fn seals(file: &File) -> Option<SealFlag> {
    fcntl(file, FcntlArg::F_GET_SEALS).ok().map(SealFlag::from_bits_truncate)
}

/// A case from its outputs. Its inputs follow from the seed.
fn case(
    (reference, tolerance): (&ReferenceSpec, &Tolerance),
    shape: &ShapeSpec,
    listed: &SharedCase,
    (file, at): (&File, &mut u64),
) -> Option<HiddenCase> {
    let mut answers = Vec::with_capacity(listed.answers.len());
    for outputs in &listed.answers {
        let mut read = Vec::with_capacity(outputs.len());
        for &(buffer, elements) in outputs {
            let spec = shape.buffers.get(buffer)?;
            if elements != spec.compared_elements() {
                return None;
            }
            read.push(ExpectedOutput { buffer, values: values(elements, file, *at)? });
            *at += (elements * size_of::<f64>()) as u64;
        }
        answers.push(held_by_outputs(read, shape, tolerance.nan).ok()?);
    }
    let mut answers = answers.into_iter();
    let expected = answers.next()?;
    let inputs = CaseInputs::under(Law::Declared, reference, shape, listed.seed).ok()?;
    let (inputs, usual) = (CaseInputs { values: Vec::new(), ..inputs }, magnitudes(&expected));
    let draw = CaseDraw::new(Law::Declared, inputs, expected, &usual)
        .with_others(shape, answers.collect())
        .with_derived(listed.derived)
        .with_plain_error(listed.plain_error.map(f64::from_bits));
    if draw.unmoved(shape, tolerance).is_some() {
        return None;
    }
    draw.poisoned(shape);
    Some(HiddenCase { seed: listed.seed, draw })
}

/// Values from position `at` of a file, read on all cores.
fn values(elements: usize, file: &File, at: u64) -> Option<Vec<f64>> {
    let mut values = vec![0.0; elements];
    let read = values.par_chunks_mut(CHUNK).enumerate().try_for_each(|(number, chunk)| {
        let mut bytes = vec![0; size_of_val(chunk)];
        file.read_exact_at(&mut bytes, at + (number * CHUNK * size_of::<f64>()) as u64)?;
        chunk.iter_mut().zip(bytes.as_chunks().0).for_each(|(value, bytes)| *value = f64::from_le_bytes(*bytes));
        Ok::<(), io::Error>(())
    });
    read.ok().map(|()| values)
}

#[cfg(test)]
mod tests;
