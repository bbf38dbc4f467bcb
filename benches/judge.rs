//! Time and peak memory of judging 100,000 variants by 20 gates.
//!
//! ```text
//! cargo bench --bench judge
//! ```

#![allow(clippy::print_stdout, clippy::unwrap_used)]

use ncugate_judge::{Context, Correctness, judge};
use ncugate_model::{Cell, Quantities, VariantId};
use ncugate_phase::config::parse;
use ncugate_phase::plan::{Plan, unroll};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const VARIANTS: usize = 100_000;

const BASE: &str = concat!(
    include_str!("../tests/data/copy.toml"),
    "[sweep]\nTHREADS = [64]\n[[baseline]]\nname = \"flash\"\ncommand = [\"true\"]\n"
);

const METRICS: [&str; 8] = [
    "registers",
    "spills",
    "eligible_warps",
    "achieved_occupancy",
    "dram_pct",
    "tensor_pct",
    "shared_mem",
    "bank_conflict_pct",
];

fn main() {
    unrolled();
    let phase = parse(Path::new("many.toml"), &(BASE.to_owned() + &gates())).unwrap();
    let plan = many(&unroll(&phase).unwrap());
    let shape = phase.workload.shapes[0].name.clone();
    let mut quantities = Quantities::new(plan.variants.iter().map(|v| (v.id.clone(), shape.clone())));
    let rows = plan.variants.len();
    for (at, metric) in METRICS.iter().enumerate() {
        let cells = (0..rows).map(|row| Cell::Value(((row * 7919 + at * 131) % 1000) as f64 / 10.0));
        quantities.set_column(metric, cells.collect());
    }
    let latency = |row: usize| 10.0 + ((row * 7919) % 1000) as f64 / 100.0;
    quantities.set_column("latency_p50", (0..rows).map(|row| Cell::Value(latency(row))).collect());
    for row in 0..rows {
        let samples: Vec<f64> =
            (0..60).map(|i| latency(row) * (0.99 + 0.02 * ((i * 23 + row) % 60) as f64 / 59.0)).collect();
        quantities.set_samples(row, Arc::from(samples));
    }
    let proven = Correctness::Proven { cases: 1, max_abs: 0.0 };
    let correctness = plan.variants.iter().map(|v| (v.id.clone(), proven.clone())).collect();
    let context = Context::assuming_latencies(Some((9, 0).into()), jiff::civil::date(2026, 6, 15));

    let before = resident();
    let start = Instant::now();
    let judgement = judge(&phase, &plan, &quantities, &correctness, &context);
    let seconds = start.elapsed().as_secs_f64();
    let cases: usize = judgement.gates.iter().map(|g| g.cases.len()).sum();
    println!(
        "{VARIANTS} variants x {} gates ({cases} cases): {seconds:.2} s on {} threads, {before} MiB before, {} MiB at most",
        judgement.gates.len(),
        rayon::current_num_threads(),
        peak()
    );
}

/// Time to unroll a sweep of [`VARIANTS`] variants: grids, blocks, scalars, flags and ids.
fn unrolled() {
    let values: Vec<String> = (1..=VARIANTS / 45).map(|at| (16 * at).to_string()).collect();
    let text = std::fs::read_to_string("configs/phase_d.toml").unwrap();
    let many = text.replace("K_TILE = [16, 32, 64]", &format!("K_TILE = [{}]", values.join(", ")));
    let phase = parse(Path::new("many.toml"), &many).unwrap();
    let start = Instant::now();
    let plan = unroll(&phase).unwrap();
    println!("{} variants unrolled in {:.2} s", plan.variants.len(), start.elapsed().as_secs_f64());
}

/// Twenty gates on each variant: fifteen plain, three compound, two on latency.
fn gates() -> String {
    let mut text = String::new();
    let mut gate = |require: String| {
        let name = text.len();
        write!(text, "[[gate]]\nname = \"g{name}\"\nrequire = '{require}'\non = \"each\"\n").unwrap();
    };
    for at in 0..15 {
        gate(format!("{} <= {}", METRICS[at % METRICS.len()], 20 + 5 * at));
    }
    gate("not (dram_pct > 80 and tensor_pct < 40)".to_owned());
    gate("registers + spills <= 150".to_owned());
    gate("eligible_warps >= 2 or achieved_occupancy > 50".to_owned());
    gate("latency_p50 <= 15".to_owned());
    gate("speedup(\"flash\") >= 1.02".to_owned());
    text
}

fn many(plan: &Plan) -> Plan {
    let candidate = &plan.variants[0];
    let baseline = plan.variants.last().unwrap().clone();
    let mut variants: Vec<_> = (0..VARIANTS)
        .map(|at| {
            let mut variant = candidate.clone();
            variant.id = VariantId(format!("REGCAP=64,THREADS=128,TILE_M=32,K={at}").into());
            variant
        })
        .collect();
    variants.push(baseline);
    Plan { variants }
}

fn resident() -> u64 {
    status("VmRSS:")
}

fn peak() -> u64 {
    status("VmHWM:")
}

/// A field of `/proc/self/status` in MiB; 0 if it is missing.
fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(field));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}
