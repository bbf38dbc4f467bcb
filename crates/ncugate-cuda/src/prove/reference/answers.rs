//! Answers of reference programs to the declared inputs, which the process that tries a tolerance lends to the workers that it
//! starts.
//!
//! Each is a sealed file in memory, which a worker opens below `/proc`. The hash of all that a call depends on names it, so an
//! answer to other inputs is never used. Nothing is kept for a plan with host code: such code could find the files.

use super::fit::BufferValues;
use crate::gpu::BufferSpec;
use crate::prove::expected::ExpectedOutput;
use crate::prove::shape::ShapeSpec;
use crate::python_environment::PythonEnvironment;
use ncugate_model::digest::Digest;
use ncugate_model::expr::Value as Parameter;
use ncugate_phase::config::ReferenceProgram;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Maximum number and size of the files of a process.
const MOST_FILES: usize = 64;
const MOST_BYTES: usize = 1 << 30;

/// The answers of this process, while it keeps them, and those that it was lent.
static ANSWERS: Mutex<Answers> = Mutex::new(Answers { keeps: false, bytes: 0, files: Vec::new(), lent: Vec::new() });

struct Answers {
    keeps: bool,
    bytes: usize,
    files: Vec<File>,
    lent: Vec<LentAnswer>,
}

/// The answer of one call, as a worker finds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LentAnswer {
    key: String,
    path: PathBuf,
}

fn answers() -> std::sync::MutexGuard<'static, Answers> {
    ANSWERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the answers of the calls in `work`.
pub fn keep_in<T>(work: impl FnOnce() -> T) -> T {
    answers().keeps = true;
    let done = work();
    answers().keeps = false;
    done
}

/// The answers that this process can lend.
pub fn kept() -> Vec<LentAnswer> {
    answers().lent.clone()
}

/// Uses the answers of the process that started this one.
pub fn borrow(lent: &[LentAnswer]) {
    answers().lent.extend_from_slice(lent);
}

/// The name of a call; none if answers are neither kept nor lent.
pub(super) fn key(
    program: &ReferenceProgram,
    (python, params): (&PythonEnvironment, &[(String, Parameter)]),
    shape: &ShapeSpec,
    seed: u64,
    inputs: &BufferValues,
) -> Option<String> {
    let known = answers();
    if !known.keeps && known.lent.is_empty() {
        return None;
    }
    drop(known);
    let call = format!("{program:?} {python:?} {params:?} {} {:?} {:?} {seed}", shape.name, shape.dims, shape.scalars);
    let about =
        |buffer: &BufferSpec| format!("{} {:?} {:?} {:?}", buffer.name, buffer.dtype, buffer.extents, buffer.role);
    let digest = Digest::default().part(call).list(shape.buffers.iter().map(about));
    let bytes = |values: &Vec<f64>| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    Some(inputs.iter().fold(digest, |digest, values| digest.part(bytes(values))).hex())
}

/// Keeps the answer of a call, if this process keeps any.
pub(super) fn keep(key: String, outputs: &[ExpectedOutput]) {
    let mut own = answers();
    let bytes = outputs.iter().map(|output| size_of_val(output.values.as_slice())).sum::<usize>();
    if !own.keeps || own.files.len() == MOST_FILES || own.bytes + bytes > MOST_BYTES {
        return;
    }
    // Without a file, the worker calls the program again.
    let Ok(file) = sealed(outputs) else { return };
    let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
    own.bytes += bytes;
    own.files.push(file);
    own.lent.push(LentAnswer { key, path });
}

fn sealed(outputs: &[ExpectedOutput]) -> io::Result<File> {
    let mut file = File::from(memfd_create("ncugate", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?);
    for output in outputs {
        let bytes: Vec<u8> = output.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        file.write_all(&bytes)?;
    }
    let all = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(all))?;
    Ok(file)
}

/// The answer of a call that was lent; none if there is none of the shape's extents.
pub(super) fn answer(key: &str, shape: &ShapeSpec) -> Option<Vec<ExpectedOutput>> {
    let path = answers().lent.iter().find(|lent| lent.key == key)?.path.clone();
    let bytes = std::fs::read(path).ok()?;
    let mut values = bytes.as_chunks().0.iter().map(|value| f64::from_le_bytes(*value));
    let outputs = shape.buffers.iter().enumerate().filter(|(_, buffer)| buffer.role.is_compared());
    let outputs: Vec<_> = outputs
        .map(|(buffer, spec)| ExpectedOutput {
            buffer,
            values: values.by_ref().take(spec.compared_elements()).collect(),
        })
        .collect();
    let elements = outputs.iter().map(|output| output.values.len()).sum::<usize>();
    let wanted = shape.buffers.iter().filter(|buffer| buffer.role.is_compared()).map(BufferSpec::compared_elements);
    (elements == wanted.sum::<usize>() && bytes.len() == elements * size_of::<f64>()).then_some(outputs)
}
