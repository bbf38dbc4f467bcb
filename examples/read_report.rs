//! Times the native reader on a report: `read_report REPORT [RUNS] [all|gated]`. Used by `benches/read_report.sh`.
//!
//! Every run reopens the report. `all` and `gated` each measure one mode alone, so that its peak memory is separate.

#![expect(clippy::print_stdout, reason = "figures are its output")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ncu_rep::{MetricSelection, Report};
use ncugate::LaunchFrames;

/// Metrics of a typical set of gates in the captures `g12` and `g1200`.
const GATED: [&str; 12] = [
    "dram__bytes.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__time_duration.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "launch__occupancy_limit_registers",
    "launch__registers_per_thread",
    "launch__shared_mem_per_block",
    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
    "sm__maximum_warps_per_active_cycle_pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "smsp__warps_eligible.avg.per_cycle_active",
];

fn read(
    path: &Path,
    selection: MetricSelection<'_>,
) -> Result<(Duration, Duration, usize, usize), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let report = Report::open(path)?;
    let opened = start.elapsed();
    let frames = LaunchFrames::of_report("report", &report, selection)?;
    Ok((opened, start.elapsed(), frames.metrics.height(), report.byte_count()))
}

/// Prints the time of the first run, which starts threads and maps pages, and the fastest and median of `runs` runs.
fn time(
    name: &str,
    path: &Path,
    runs: usize,
    selection: MetricSelection<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut opened = Vec::new();
    let mut totals = Vec::new();
    let (mut rows, mut bytes) = (0, 0);
    for _ in 0..runs.max(1) {
        let (open, total, height, len) = read(path, selection)?;
        opened.push(open);
        totals.push(total);
        (rows, bytes) = (height, len);
    }
    let first = totals[0].as_secs_f64();
    opened.sort();
    totals.sort();
    let median = totals[totals.len() / 2].as_secs_f64();
    let gigabytes = bytes as f64 / 1e9 / median;
    println!(
        "{name}: median {:.2} ms, best {:.2} ms, first {:.2} ms (open {:.2} ms), {rows} rows, {gigabytes:.2} GB/s",
        median * 1e3,
        totals[0].as_secs_f64() * 1e3,
        first * 1e3,
        opened[opened.len() / 2].as_secs_f64() * 1e3,
    );
    Ok(())
}

/// Peak memory of this process in MB, as reported by Linux.
fn peak_megabytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1000)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("usage: read_report REPORT [RUNS] [all|gated]")?);
    let runs = arguments.next().map_or(Ok(20), |runs| runs.parse())?;
    let which = arguments.next();
    let gated: Vec<String> = GATED.iter().map(|name| (*name).to_owned()).collect();
    if which.as_deref() != Some("gated") {
        time("all metrics", &path, runs, MetricSelection::All)?;
    }
    if which.as_deref() != Some("all") {
        time("12 metrics", &path, runs, MetricSelection::Named(&gated))?;
    }
    if let Some(megabytes) = peak_megabytes() {
        println!("peak memory: {megabytes} MB");
    }
    Ok(())
}
