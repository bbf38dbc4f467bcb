//! Theoretical occupancy compared with ncu's value for every launch of every capture and recording, and with NVIDIA's
//! occupancy calculation for every compute capability.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ncu_rep::{Launch, Report};
use ncugate_model::ComputeCapability;
use ncugate_model::occupancy::{Chip, Demand, theoretical};

use crate::captures::root;
use crate::command::Place;
use crate::kernels;

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

/// Demands around every limit of a chip.
fn demands(chip: &Chip) -> impl Iterator<Item = Demand> + use<> {
    let shared =
        [0, 1, 1023, 9 * 1024, 31 * 1024, 48 * 1024, chip.shared / 2, chip.shared_optin, chip.shared_optin + 1];
    let registers = [16, 32, 33, 44, 64, 96, 128, 168, 255];
    let each = registers.into_iter().flat_map(move |registers| shared.map(|shared| (registers, shared)));
    let each =
        each.flat_map(|(registers, shared)| [32, 96, 128, 256, 384, 1024].map(|threads| (registers, shared, threads)));
    each.flat_map(|(registers, dynamic_shared, threads)| {
        [0, 1, 2, 5, 16].map(|barriers| Demand { registers, static_shared: 0, dynamic_shared, threads, barriers })
    })
}

/// NVIDIA's blocks and limits for each of `blocks`; the status is none for a chip that its header does not know.
fn calculated(program: &std::path::Path, chip: &Chip, blocks: &[Demand]) -> Option<Vec<[i64; 6]>> {
    let Chip { capability, warps, shared, shared_optin, reserved, .. } = *chip;
    let head = format!("{} {} {} {shared} {shared_optin} {reserved}", capability.major, capability.minor, 32 * warps);
    let line = |d: &Demand| format!("{head} {} {} {} {}\n", d.registers, d.dynamic_shared, d.threads, d.barriers);
    let input: String = blocks.iter().map(line).collect();
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let rows = std::str::from_utf8(&output.stdout).unwrap().lines().map(|line| {
        let numbers: Vec<i64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        match numbers.as_slice() {
            [0, values @ ..] => Some(values.try_into().unwrap()),
            _ => None,
        }
    });
    rows.collect()
}

/// `cuda_occupancy.h` of the nvcc of the tests.
#[test]
fn blocks_equal_those_of_nvidias_calculation_on_every_compute_capability_that_it_knows() {
    let Some(nvcc) = kernels::nvcc() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("occupancy");
    let source = root().join("tests/oracle/occupancy.cpp");
    let built = Command::new(nvcc.path()).args(["--cudart", "none", "-o"]).arg(&program).arg(source).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let chips = (7..=12).flat_map(|major| (0..=9).map(move |minor| ComputeCapability::new(major, minor)));
    let mut known = Vec::new();
    for chip in chips.filter_map(Chip::of) {
        let blocks: Vec<Demand> = demands(&chip).collect();
        let Some(calculated) = calculated(&program, &chip, &blocks) else { continue };
        for (demand, [all, registers, shared, warps, slots, barriers]) in blocks.iter().zip(calculated) {
            let ours = theoretical(&chip, demand, None);
            let limits = [ours.limits.registers, ours.limits.shared, ours.limits.warps, ours.limits.blocks];
            // Where a resource is not used or does not limit, ours is the number of slots.
            let unlimited = |limit: i64| if limit == i64::from(i32::MAX) { slots } else { limit };
            let (shared, barriers) = (unlimited(shared), barriers.min(slots));
            let case = format!("{} {demand:?}", chip.capability);
            // The header of CUDA 13.0 gives 10.3 the barriers of 10.0; that of 13.5 has half of them.
            if chip.capability == ComputeCapability::new(10, 3) && i64::from(ours.limits.barriers) < barriers {
                continue;
            }
            assert_eq!((i64::from(ours.blocks_per_sm), i64::from(ours.limits.barriers)), (all, barriers), "{case}");
            if all > 0 {
                assert_eq!(limits.map(i64::from), [registers, shared, warps, slots], "{case}");
            }
        }
        known.push(chip.capability.to_string());
    }
    println!("{} compute capabilities", known.join(", "));
    for chip in ["7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.1", "10.3", "11.0", "12.0", "12.1"] {
        assert!(known.iter().any(|known| known == chip), "{chip}: {known:?}");
    }
}

#[test]
fn resources_are_words_and_a_wrong_word_is_named() {
    let place = Place::new();
    let run = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        place.run(&[&["tools", "occupancy", "--format", "json"][..], &words].concat())
    };
    let bytes = run("cc=9.0 registers=96 block=192 smem=49152");
    assert_eq!(bytes.status, Some(0), "{bytes:?}");
    assert_eq!(run("smem=48KiB block=192 registers=96 cc=9.0").stdout, bytes.stdout);
    assert_eq!(run("cc=10.7 registers=64 block=256 smem=300KiB oversized").status, Some(0));
    for (words, said) in [
        ("cc=9.0 registers=96", "`block` is missing"),
        ("registers=96 block=192", "`cc` is missing"),
        ("cc=9.0 registers=256 block=192", "`registers=256` is unknown, out of range"),
        ("cc=9.0 registers=96 block=0", "`block=0` is unknown, out of range"),
        ("cc=9.0 registers=96 block=192 block=64", "`block=64` is unknown, out of range or repeated"),
        ("cc=9.0 registers=96 block=192 smem=48KB", "`smem=48KB`"),
        ("cc=9 registers=96 block=192", "`cc=9`"),
        ("cc=77.0 registers=96 block=192", "compute capability 77.0 has no known limits"),
        ("cc=9.0 registers=96 block=192 oversized", "compute capability 9.0 has no oversized shared memory"),
    ] {
        let refused = run(words);
        assert!(refused.status == Some(2) && refused.stderr.contains(said), "{refused:?}");
    }
}
