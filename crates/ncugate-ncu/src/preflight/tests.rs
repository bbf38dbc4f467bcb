use super::fixtures::{bare, healthy};
use super::*;
use ncugate_model::Throttle;

fn status(facts: &Facts, name: &str) -> CheckStatus {
    doctor(facts).iter().find(|check| check.name == name).unwrap().status
}

#[test]
fn a_healthy_machine_has_nothing_to_do() {
    let checks = doctor(&healthy());
    assert!(checks.iter().all(|check| check.status == CheckStatus::Ok && check.advice.is_empty()), "{checks:?}");
    assert_eq!(checks.len(), 11);
}

#[test]
fn a_compute_mode_that_keeps_processes_out_is_told() {
    let in_mode = |compute_mode| Facts {
        device: healthy().device.map(|device| VisibleGpu { compute_mode, ..device }),
        ..healthy()
    };
    assert_eq!(status(&in_mode(ComputeMode::ExclusiveProcess), "compute mode"), CheckStatus::Warning);
    assert_eq!(status(&in_mode(ComputeMode::Prohibited), "compute mode"), CheckStatus::Problem);
}

#[test]
fn without_cuda_it_says_what_is_missing_and_what_still_works() {
    let checks = doctor(&bare());
    let stopping: Vec<_> = checks.iter().filter(|c| c.status == CheckStatus::Problem).map(|c| c.name).collect();
    assert_eq!(stopping, ["GPU", "driver", "nvcc", "ncu"]);
    assert!(checks.iter().all(|check| check.status == CheckStatus::Ok || !check.advice.is_empty()));
    assert!(checks[0].advice.contains("--source recorded"));
}

#[test]
fn versions_that_do_not_fit_are_problems() {
    let old = Facts { driver: Some("570.172.08".into()), ..healthy() };
    assert_eq!(status(&old, "ncu and driver"), CheckStatus::Problem);
    let older_ncu = Ncu { path: "ncu".into(), version: NcuVersion([2025, 2, 1, 0]) };
    assert_eq!(status(&Facts { ncu: Ok(older_ncu), ..old }, "ncu and driver"), CheckStatus::Ok);
    let with =
        |version: &str| Facts { nvcc: Ok(CompilerFacts { path: "nvcc".into(), version: version.into() }), ..healthy() };
    assert_eq!(status(&with("13.1.20"), "nvcc and driver"), CheckStatus::Warning);
    assert_eq!(status(&with("14.0.1"), "nvcc and driver"), CheckStatus::Problem);
    assert_eq!(status(&with("12.8.93"), "nvcc and driver"), CheckStatus::Ok);
}

#[test]
fn a_machine_with_an_older_cuda_12_can_measure() {
    let device = healthy().device.map(|device| VisibleGpu { cuda: (12, 2), ..device });
    let nvcc = Ok(CompilerFacts { path: "nvcc".into(), version: "12.2.140".into() });
    let ncu = Ok(Ncu { path: "ncu".into(), version: NcuVersion([2023, 2, 2, 0]) });
    let facts = Facts { device, nvcc, ncu, driver: Some("535.161.08".into()), ..healthy() };
    assert!(doctor(&facts).iter().all(|check| check.status == CheckStatus::Ok), "{:?}", doctor(&facts));
    let newer = Facts { nvcc: Ok(CompilerFacts { path: "nvcc".into(), version: "12.9.86".into() }), ..facts.clone() };
    assert_eq!(status(&newer, "nvcc and driver"), CheckStatus::Warning, "its PTX does not run");
    let stricter = Facts { ncu: Ok(Ncu { path: "ncu".into(), version: NcuVersion([2025, 3, 1, 0]) }), ..facts };
    assert_eq!(status(&stricter, "ncu and driver"), CheckStatus::Problem);
}

#[test]
fn an_ncu_that_others_report_as_broken_on_a_chip_is_warned_of() {
    let with = |capability, version| Facts {
        device: healthy()
            .device
            .map(|device| VisibleGpu { gpu: Gpu { compute_capability: capability, ..device.gpu }, ..device }),
        ncu: Ok(Ncu { path: "ncu".into(), version: NcuVersion(version) }),
        ..healthy()
    };
    let warned = |facts: &Facts| doctor(facts).iter().any(|check| check.name == "ncu and GPU");
    let blackwell = ncugate_model::ComputeCapability::new(10, 0);
    assert!(warned(&with(blackwell, [2026, 2, 1, 0])));
    assert!(!warned(&with(blackwell, [2025, 2, 1, 0])) && !warned(&with(blackwell, [2026, 3, 0, 0])));
    assert!(!warned(&with(ncugate_model::ComputeCapability::new(9, 0), [2026, 2, 1, 0])));
}

#[test]
fn a_fingerprint_names_versions_and_no_machine() {
    let text = fingerprint(&healthy());
    let expected = "NVIDIA H200 (9.0, 132 SMs); driver 580.159.04; CUDA 13.0; nvcc 13.0.88; ncu 2025.3.1.0; \
                    counters for administrators, as this user; linux ";
    assert!(text.starts_with("ncugate 0.") && text.contains(expected), "{text}");
    assert!(!text.contains('/') && !text.contains('\n'), "{text}");
    assert!(
        fingerprint(&bare()).contains("no GPU; driver none; CUDA none; nvcc none; ncu none"),
        "{}",
        fingerprint(&bare())
    );
}

#[test]
fn counters_need_a_permission_that_root_without_the_capability_lacks() {
    let with =
        |admin_only, user, sys_admin| Facts { admin_only, privileges: Privileges { user, sys_admin }, ..healthy() };
    assert_eq!(status(&with(Some(true), 0, false), "counter permission"), CheckStatus::Problem);
    assert_eq!(status(&with(Some(true), 1000, false), "counter permission"), CheckStatus::Problem);
    assert_eq!(status(&with(Some(true), 1000, true), "counter permission"), CheckStatus::Ok);
    assert_eq!(status(&with(Some(false), 1000, false), "counter permission"), CheckStatus::Ok);
    assert_eq!(status(&with(None, 1000, false), "counter permission"), CheckStatus::Warning);
}

#[test]
fn cupti_is_asked_for_where_ncu_may_not_count() {
    let gone = || Some(Err("libcupti not found".to_owned()));
    assert_eq!(status(&Facts { cupti: gone(), ..healthy() }, "CUPTI"), CheckStatus::Ok);
    let denied = Privileges { user: 1000, sys_admin: false };
    assert_eq!(status(&Facts { cupti: gone(), privileges: denied, ..healthy() }, "CUPTI"), CheckStatus::Warning);
    let absent = || Err(ToolError::NotFound { searched: "PATH".into() });
    assert_eq!(status(&Facts { cupti: gone(), ncu: absent(), ..healthy() }, "CUPTI"), CheckStatus::Warning);
    assert_eq!(status(&Facts { ncu: absent(), ..healthy() }, "CUPTI"), CheckStatus::Ok);
}

#[test]
fn a_gpu_that_lowers_its_clocks_or_hides_them_is_warned_of() {
    let Some(Ok(cool)) = healthy().nvml else { panic!("no reading") };
    let with = |mask| Facts { nvml: Some(Ok(GpuState { throttle: Throttle::of_mask(mask), ..cool })), ..healthy() };
    assert_eq!(status(&with(0x40), "NVML"), CheckStatus::Warning);
    assert_eq!(status(&with(0x4), "NVML"), CheckStatus::Ok, "heavy kernels reach the power limit");
    let absent = Facts { nvml: Some(Err("NVML: a libloading error occurred".to_owned())), ..healthy() };
    assert_eq!(status(&absent, "NVML"), CheckStatus::Warning);
}

#[test]
fn strangers_locks_mps_and_mig_are_warned_of() {
    let lock = LockFile { path: "/tmp/nsight-compute-lock".into(), owner: 1001 };
    assert_eq!(status(&Facts { locks: vec![lock], ..healthy() }, "ncu's locks"), CheckStatus::Warning);
    let set = |name: &str, value: &str| Facts { environment: vec![(name.into(), value.into())], ..healthy() };
    assert_eq!(status(&set("CUDA_MPS_PIPE_DIRECTORY", "/tmp/mps"), "environment"), CheckStatus::Warning);
    assert_eq!(status(&set("CUDA_VISIBLE_DEVICES", "MIG-4711"), "environment"), CheckStatus::Warning);
    assert_eq!(status(&set("CUDA_VISIBLE_DEVICES", "1"), "environment"), CheckStatus::Ok);
}

#[test]
fn the_drivers_files_are_read() {
    let version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (dvs-builder)\n\
        GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
    assert_eq!(parse_driver(version).as_deref(), Some("580.159.04"));
    let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 22:55:04 UTC 2024\n";
    assert_eq!(parse_driver(closed).as_deref(), Some("535.161.08"));
    assert_eq!(parse_driver(""), None);
    assert_eq!(parse_admin_only("ResmanDebugLevel: 1\nRmProfilingAdminOnly: 1\n"), Some(true));
    assert_eq!(parse_admin_only("RmProfilingAdminOnly: 0\n"), Some(false));
    assert_eq!(parse_admin_only("Other: 1\n"), None);
    let status = "Name:\tx\nUid:\t1000\t0\t0\t0\nCapEff:\t000001ffffffffff\n";
    assert_eq!(parse_privileges(status), Privileges { user: 0, sys_admin: true });
    let confined = "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n";
    assert_eq!(parse_privileges(confined), Privileges { user: 0, sys_admin: false });
    assert!(!parse_privileges("").sys_admin);
}

#[test]
fn gathering_works_on_any_machine() {
    let gone = || Err("not here".to_owned());
    let facts = Facts::gather(gone(), Err("not here".to_owned()), Err(ToolError::NotFound { searched: "x".into() }));
    assert_ne!(facts.privileges.user, u32::MAX);
    assert!(!doctor(&facts).is_empty());
}
