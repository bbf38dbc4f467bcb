//! Machines for tests.

use ncugate_model::{ComputeCapability, ComputeMode, Gpu, GpuState, Throttle};
use ncugate_ncu::preflight::{CompilerFacts, Facts, Privileges, VisibleGpu};
use ncugate_ncu::{Ncu, NcuVersion, ToolError};

pub fn healthy() -> Facts {
    Facts {
        device: Ok(VisibleGpu {
            gpu: Gpu {
                name: "NVIDIA H200".into(),
                compute_capability: ComputeCapability::new(9, 0),
                sms: 132,
                memory: Some(150_000_000_000),
                shared_memory_optin: Some(232_448),
            },
            count: 1,
            cuda: (13, 0),
            compute_mode: ComputeMode::Default,
        }),
        driver: Some("580.159.04".into()),
        nvcc: Ok(CompilerFacts { path: "/usr/local/cuda/bin/nvcc".into(), version: "13.0.88".into() }),
        ncu: Ok(Ncu { path: "/usr/local/cuda/bin/ncu".into(), version: NcuVersion([2025, 3, 1, 0]) }),
        admin_only: Some(true),
        privileges: Privileges { user: 0, sys_admin: true },
        scratch: Ok("/tmp/ncugate-0".into()),
        locks: Vec::new(),
        trial: None,
        cupti: Some(Ok("13.0 at libcupti.so.13".into())),
        nvml: Some(Ok(GpuState {
            sm_mhz: 1980,
            memory_mhz: 3201,
            celsius: 34,
            watts: 121,
            throttle: Throttle::default(),
        })),
        environment: Vec::new(),
    }
}

pub fn bare() -> Facts {
    Facts {
        device: Err("the CUDA driver library is not here".into()),
        driver: None,
        nvcc: Err("nvcc is not on PATH".into()),
        ncu: Err(ToolError::NotFound { searched: "PATH".into() }),
        cupti: None,
        nvml: None,
        admin_only: None,
        privileges: Privileges { user: 1000, sys_admin: false },
        ..healthy()
    }
}
