//! Builds a phase for a GPU that need not be here.

use super::{CampaignError, device};
use crate::build::{Arch, BuildError, Builder, Cache, Nvcc, Sharing};
use crate::config::Phase;
use crate::judge::TargetGpu;
use crate::model::{BuildRecord, ComputeCapability};
use crate::plan::Plan;
use std::io;

/// What is built for where neither the command line nor the phase says.
const USUAL: ComputeCapability = ComputeCapability::new(9, 0);

/// What to build for, and how many multiprocessors it has: as asked, else those of a GPU that is there and of that kind.
///
/// # Errors
/// This program cannot ask for the GPU.
pub fn target(asked: Option<Arch>, sms: Option<u32>) -> Result<(Arch, TargetGpu), CampaignError> {
    let device = device()?.ok();
    let arch = asked.unwrap_or_else(|| Arch::of(device.as_ref().map_or(USUAL, |device| device.compute_capability)));
    let capability = arch.capability();
    let present = device.filter(|device| device.compute_capability == capability).map(|device| device.sms);
    Ok((arch, TargetGpu { capability, sms: sms.or(present) }))
}

/// Builds every variant.
///
/// # Errors
/// nvcc or its cache cannot be used. A variant that does not build is a record.
pub fn build_for(plan: &Plan, phase: &Phase, arch: &Arch) -> Result<Vec<BuildRecord>, BuildError> {
    let nvcc = Nvcc::find(phase.build.nvcc.as_deref())?;
    let cache = Cache::of_user()?;
    let mut sink = |_: &BuildRecord| io::Result::Ok(());
    Builder::new(&nvcc, arch, &cache, Sharing::Share).with_python(phase.build.python.as_deref()).build(
        plan,
        &|_| {},
        &mut sink,
    )
}
