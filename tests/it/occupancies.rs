//! Theoretical occupancy compared with ncu's value for every launch of every capture and recording.

use std::path::PathBuf;

use ncu_rep::{Launch, Report};
use ncugate_model::ComputeCapability;
use ncugate_model::occupancy::{Chip, Demand, theoretical};

use crate::captures::root;

/// Every ncu report of the repository.
fn reports() -> Vec<PathBuf> {
    let patterns = ["tests/data/*.ncu-rep.zst", "profiles/*/*/reports/*.ncu-rep*", "examples/**/*.ncu-rep*"];
    let found = patterns.iter().flat_map(|pattern| glob::glob(root().join(pattern).to_str().unwrap()).unwrap());
    found.map(Result::unwrap).collect()
}

fn number(launch: &Launch<'_>, name: &str) -> Option<u32> {
    let value = launch.metric(name).unwrap()?.as_f64()?;
    (value >= 0.0 && value.fract() == 0.0).then_some(value as u32)
}

/// ncu's limits by warps, registers, shared memory, blocks and barriers; `None` if the launch misses one.
fn reported(launch: &Launch<'_>) -> Option<[u32; 5]> {
    let limit = |name: &str| number(launch, &format!("launch__occupancy_limit_{name}"));
    Some([limit("warps")?, limit("registers")?, limit("shared_mem")?, limit("blocks")?, limit("barriers")?])
}

fn ours(launch: &Launch<'_>) -> Option<[u32; 5]> {
    let capability = ComputeCapability::from(launch.compute_capability().unwrap()?);
    let of = |name: &str| number(launch, &format!("launch__{name}"));
    let demand = Demand {
        registers: of("registers_per_thread")?,
        static_shared: of("shared_mem_per_block_static")?,
        dynamic_shared: of("shared_mem_per_block_dynamic")?,
        threads: of("block_size")?,
        barriers: of("barrier_count")?,
    };
    let limits = theoretical(&Chip::of(capability)?, &demand, of("shared_mem_config_size")).limits;
    Some([limits.warps, limits.registers, limits.shared, limits.blocks, limits.barriers])
}

#[test]
fn limits_equal_those_of_ncu_on_every_launch_of_every_capture() {
    let (mut compared, mut files) = (0, 0);
    for path in reports() {
        let report = Report::open(&path).unwrap();
        let before = compared;
        for launch in report.launches() {
            let (Some(reported), Some(ours)) = (reported(&launch), ours(&launch)) else { continue };
            assert_eq!(ours, reported, "{} launch {} {}", path.display(), launch.id(), launch.kernel_name());
            compared += 1;
        }
        files += usize::from(compared > before);
    }
    println!("{compared} launches of {files} reports");
    assert!(compared >= 1_000 && files >= 8, "{compared} launches of {files} reports");
}
