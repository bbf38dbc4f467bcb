//! Test tools on a simulated GPU.

use super::tools::Tools;
use ncugate_cuda::build::Nvcc;
use ncugate_cuda::gpu::DeviceAttributes;
use ncugate_cuda::host::WorkerCommand;
use ncugate_judge::store::Machine;
use ncugate_model::{ComputeCapability, ComputeMode};
use ncugate_ncu::ToolError;
use std::path::{Path, PathBuf};

/// A program that is a shell script.
pub fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    ncugate_fixtures::write_program(&path, &format!("#!/bin/sh\n{text}\n"));
    path
}

/// An H200, with a double of nvcc in `folder`, and without ncu.
pub fn tools(folder: &Path, worker: WorkerCommand) -> Tools {
    let device = DeviceAttributes {
        name: "NVIDIA H200".to_owned(),
        compute_capability: ComputeCapability::new(9, 0),
        sms: 132,
        memory: 1 << 37,
        shared_memory_optin: 232_448,
        shared_memory_sm: 233_472,
        registers_sm: 65_536,
        threads_sm: 2_048,
        l2_bytes: 1 << 26,
        blocks_sm: 32,
        shared_memory_reserved: 1_024,
        clock_khz: None,
        memory_clock_khz: None,
        memory_bus_bits: None,
        driver: None,
        cuda: (13, 0),
        uuid: None,
        compute_mode: ComputeMode::Default,
    };
    let nvcc = script(folder, "nvcc", "echo 'Cuda compilation tools, release 13.0, V13.0.88'");
    Tools {
        nvcc: Nvcc::find(Some(&nvcc)).unwrap(),
        ncu: Err(ToolError::NotFound { searched: "nowhere".to_owned() }),
        device,
        gpus: Vec::new(),
        worker,
        machine: Machine::default(),
    }
}
