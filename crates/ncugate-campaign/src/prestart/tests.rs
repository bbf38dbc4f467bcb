//! Commands that load and wait, and a GPU that admits one process.

use super::*;
use crate::fixtures::tools;
use crate::{GpuWait, NoProgress};
use ncugate_cuda::host::WorkerCommand;
use ncugate_phase::plan::unroll;

const PHASE: &str = concat!(
    include_str!("../../../../tests/data/copy.toml"),
    r#"
[[variant]]
name = "a"
params = { THREADS = 32 }
[[baseline]]
name = "other"
command = ["sh", "-c", "cat $NCUGATE_REQUEST"]
[[gate]]
name = "faster"
require = "latency_p50 <= other.latency_p50"
"#
);

/// Number of commands waiting for their turn in this compute mode.
fn waiting(compute_mode: ComputeMode) -> usize {
    let place = tempfile::tempdir().unwrap();
    let phase = ncugate_phase::config::parse(Path::new("early.toml"), PHASE).unwrap();
    let plan = unroll(&phase).unwrap();
    let mut tools = tools(place.path(), WorkerCommand::new("false".into(), Vec::new()));
    tools.device.compute_mode = compute_mode;
    let turn = GpuTurn::at(place.path().join("gpu.lock"), "H200", GpuWait::Endless, &NoProgress);
    let early = PrestartedProcesses::new((&phase, &plan, &tools), &turn, &NoProgress, place.path());
    early.load_programs(|_| true).unwrap();
    let confirmed = place.path().join("logs/confirmation-1/other");
    std::fs::create_dir_all(&confirmed).unwrap();
    early.load_command(plan.commands().next().unwrap().1, &confirmed);
    early.settle();
    let commands = [place.path().join("logs/other"), confirmed].map(|folder| early.command(&folder));
    commands.iter().flatten().count()
}

#[test]
fn commands_wait_at_their_pipes() {
    assert_eq!(waiting(ComputeMode::Default), 2);
}

#[test]
fn nothing_is_started_early_if_one_process_at_a_time_may_use_the_gpu() {
    for mode in [ComputeMode::ExclusiveProcess, ComputeMode::Prohibited] {
        assert_eq!(waiting(mode), 0);
    }
}
