//! What limits a kernel, by rules over its counters.
//!
//! Thresholds are those of Nsight Compute's own rules where it has the rule (ncu 2025.3): small grids, issue below 60 %,
//! a stall above 30 % of the latency, achieved occupancy 10 points below theoretical, theoretical below 80 %, conflicts
//! from 10 %, pipes below 20 %, memory from 80 %. Every sentence carries the numbers it rests on.

use super::case_metrics::CaseMetrics;
use crate::frame::Quantities;
use crate::judge::witness::durations::Durations;
use crate::metric::{Catalogue, id};
use crate::model::MetricId;
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::number::short as number;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Worth trying.
    Advice,
    /// The numbers themselves are in doubt, or most of the time is lost.
    Warning,
}

/// Something that the counters say about a variant.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Finding {
    /// The variant.
    pub variant: VariantId,
    /// The shape.
    pub shape: ShapeName,
    /// A few words.
    pub title: String,
    /// One sentence with the numbers.
    pub sentence: String,
    /// How much it matters.
    pub severity: Severity,
    /// Upper bound of what removing it gains, in percent of the time; findings do not add up.
    pub estimated_speedup: f64,
    /// Metrics it rests on.
    pub metrics: Vec<String>,
    /// What to do.
    pub advice: String,
}

/// What a rule found, before it is tied to a variant.
struct Found {
    title: String,
    sentence: String,
    severity: Severity,
    estimated_speedup: f64,
    metrics: Vec<MetricId>,
    advice: &'static str,
}

type Rule = fn(&CaseMetrics<'_>) -> Option<Found>;

const RULES: [Rule; 12] = [
    small_grid,
    tail_wave,
    low_issue,
    dominant_stall,
    tensor_unused,
    bank_conflicts,
    occupancy_limited,
    occupancy_not_reached,
    uncoalesced,
    memory_bound,
    spilling,
    durations_disagree,
];

/// Everything the rules find for these variants, gravest first; `work` gives each shape's work (operations or bytes).
pub fn findings(
    quantities: &Quantities,
    variants: &[VariantId],
    work: &[(ShapeName, Option<f64>)],
    sms: Option<u32>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for variant in variants {
        for (shape, _) in work {
            let case = CaseMetrics { quantities, variant, shape, sms };
            found.extend(RULES.iter().filter_map(|rule| Some(rule(&case)?.of(variant, shape))));
        }
        found.extend(scaling(quantities, variant, work));
    }
    // the order of variants and rules breaks ties, so that a report is the same every time
    found.sort_by(|a, b| b.severity.cmp(&a.severity).then(b.estimated_speedup.total_cmp(&a.estimated_speedup)));
    found
}

impl Found {
    fn of(self, variant: &VariantId, shape: &ShapeName) -> Finding {
        Finding {
            variant: variant.clone(),
            shape: shape.clone(),
            title: self.title,
            sentence: self.sentence,
            severity: self.severity,
            estimated_speedup: self.estimated_speedup.clamp(0.0, 100.0),
            metrics: self.metrics.into_iter().map(|metric| metric.to_string()).collect(),
            advice: self.advice.to_owned(),
        }
    }
}

fn small_grid(r: &CaseMetrics<'_>) -> Option<Found> {
    let (blocks, sms) = (r.value(id::GRID_BLOCKS)?, f64::from(r.sms?));
    (blocks < sms).then(|| Found {
        title: "Grid smaller than the chip".into(),
        sentence: format!(
            "{} blocks on {} SMs: {} SMs have nothing to do.",
            number(blocks),
            number(sms),
            number(sms - blocks)
        ),
        severity: Severity::Warning,
        estimated_speedup: 100.0 * (sms - blocks) / sms,
        metrics: vec![id::GRID_BLOCKS],
        advice: "make smaller tiles, or split the longest loop over blocks and combine afterwards",
    })
}

fn tail_wave(r: &CaseMetrics<'_>) -> Option<Found> {
    let waves = r.value(id::WAVES)?;
    let (full, rest) = (waves.floor(), waves.fract());
    let estimated_speedup = 100.0 / (1.0 + full);
    (full >= 1.0 && rest > 0.0 && rest < 0.5 && estimated_speedup >= 20.0).then(|| Found {
        title: "A partial last wave".into(),
        sentence: format!(
            "{} waves: the last one fills only {:.0} % of the chip and can cost up to {estimated_speedup:.0} % of the time.",
            number(waves),
            100.0 * rest
        ),
        severity: Severity::Advice,
        estimated_speedup,
        metrics: vec![id::WAVES],
        advice: "choose a tile so that blocks are a whole multiple of what the chip holds, or use a persistent grid",
    })
}

fn low_issue(r: &CaseMetrics<'_>) -> Option<Found> {
    let issue = r.value(id::ISSUE_SLOT_UTILISATION)?;
    let eligible = r.value(id::ELIGIBLE_WARPS);
    let measured = [id::SM_PCT, id::MEMORY_PCT, id::TENSOR_PCT, id::DRAM_PCT].into_iter().filter_map(|m| r.value(m));
    let busiest = measured.reduce(f64::max);
    let throughput = busiest.unwrap_or(0.0);
    (issue < 60.0 && throughput < 60.0).then(|| Found {
        title: "Latency bound".into(),
        sentence: format!(
            "schedulers issue in {issue:.1} % of cycles{}{}.",
            eligible.map_or_else(String::new, |e| format!(", {} warps are eligible", number(e))),
            busiest.map_or_else(String::new, |b| format!(", and no unit is busy beyond {b:.1} %")),
        ),
        severity: if issue < 30.0 { Severity::Warning } else { Severity::Advice },
        estimated_speedup: (100.0 - issue).min(100.0 - throughput),
        metrics: vec![id::ISSUE_SLOT_UTILISATION, id::ELIGIBLE_WARPS],
        advice: "more warps (registers, shared memory, grid), or more independent work in each warp",
    })
}

fn dominant_stall(r: &CaseMetrics<'_>) -> Option<Found> {
    let latency = r.value(id::WARP_LATENCY).filter(|l| *l > 0.0)?;
    if r.value(id::ISSUE_SLOT_UTILISATION).is_some_and(|issue| issue >= 80.0) {
        return None;
    }
    let stalls = id::ALL.into_iter().filter(|id| id.starts_with("stall_"));
    let stalls = stalls.filter(|id| !matches!(*id, id::STALL_SELECTED | id::STALL_NOT_SELECTED));
    let (id, cycles) = stalls.filter_map(|n| Some((n, r.value(n)?))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let metric = Catalogue::embedded().get(&id)?;
    let share = 100.0 * cycles / latency;
    (share > 30.0).then(|| Found {
        title: metric.title.clone(),
        sentence: format!(
            "a warp spends {} of {} cycles between issues ({share:.0} %) there. {}",
            number(cycles),
            number(latency),
            metric.description
        ),
        severity: Severity::Advice,
        estimated_speedup: share,
        metrics: vec![id, id::WARP_LATENCY],
        advice: stall_advice(id),
    })
}

fn stall_advice(stall: MetricId) -> &'static str {
    match stall {
        id::STALL_LONG_SCOREBOARD => {
            "load earlier (double buffering, cp.async), keep more loads in flight, or reuse more from shared memory"
        }
        id::STALL_SHORT_SCOREBOARD | id::STALL_MIO_THROTTLE => {
            "fewer and wider shared-memory instructions, no bank conflicts, fewer special functions"
        }
        id::STALL_BARRIER => "fewer barriers, even work before them, or more blocks per SM",
        id::STALL_LG_THROTTLE | id::STALL_TEX_THROTTLE => "fewer, wider memory instructions",
        id::STALL_MATH_PIPE_THROTTLE | id::STALL_GMMA => {
            "the arithmetic pipe is the limit: fewer or cheaper operations"
        }
        id::STALL_NO_INSTRUCTION => "less unrolling, or smaller code",
        _ => "more independent instructions in each warp, or more warps",
    }
}

fn tensor_unused(r: &CaseMetrics<'_>) -> Option<Found> {
    let tensor = r.value(id::TENSOR_PCT)?;
    let fp32 = r.value(id::FP32_FLOP);
    (tensor < 1.0 && fp32.is_none_or(|f| f > 0.0) && r.value(id::DRAM_PCT).is_none_or(|d| d < 60.0)).then(|| Found {
        title: "Tensor cores are not used".into(),
        sentence: format!("the tensor pipe is active in {tensor:.2} % of cycles."),
        severity: Severity::Note,
        estimated_speedup: 0.0,
        metrics: vec![id::TENSOR_PCT],
        advice: "if the work is matrix products, use mma, wmma or wgmma",
    })
}

fn bank_conflicts(r: &CaseMetrics<'_>) -> Option<Found> {
    let exact = r
        .value(id::SHARED_EXCESSIVE_PCT)
        .map(|v| (v, id::SHARED_EXCESSIVE_PCT, "wavefronts of shared memory are in excess"));
    let (share, metric, what) = exact.or_else(|| {
        let counted = r.value(id::BANK_CONFLICT_PCT)?;
        Some((counted, id::BANK_CONFLICT_PCT, "wavefronts of shared loads are bank conflicts"))
    })?;
    (share >= 10.0).then(|| Found {
        title: "Shared-memory bank conflicts".into(),
        sentence: format!("{share:.1} % of {what}."),
        severity: Severity::Advice,
        estimated_speedup: share,
        metrics: vec![metric],
        advice: "pad rows, or swizzle columns with the row (XOR), so that a warp's lanes hit different banks",
    })
}

fn occupancy_limited(r: &CaseMetrics<'_>) -> Option<Found> {
    let theoretical = r.value(id::THEORETICAL_OCCUPANCY).filter(|t| *t < 80.0)?;
    let limits = [
        (id::OCCUPANCY_LIMIT_REGISTERS, "registers"),
        (id::OCCUPANCY_LIMIT_SHARED_MEM, "shared memory"),
        (id::OCCUPANCY_LIMIT_WARPS, "warps"),
        (id::OCCUPANCY_LIMIT_BLOCKS, "block slots"),
    ];
    let known: Vec<(f64, MetricId, &'static str)> =
        limits.into_iter().filter_map(|(metric, name)| Some((r.value(metric)?, metric, name))).collect();
    let least = known.iter().map(|l| l.0).min_by(f64::total_cmp)?;
    let binding: Vec<_> = known.into_iter().filter(|l| l.0 == least).collect();
    let names: Vec<&str> = binding.iter().map(|l| l.2).collect();
    let uses =
        [(id::REGISTERS, "registers"), (id::SHARED_MEM, "bytes of shared memory"), (id::BLOCK_THREADS, "threads")];
    let uses: Vec<String> =
        uses.into_iter().filter_map(|(m, what)| Some(format!("{} {what}", number(r.value(m)?)))).collect();
    Some(Found {
        title: format!("Occupancy limited by {}", names.join(" and ")),
        sentence: format!(
            "theoretical occupancy is {theoretical:.1} %: {} blocks per SM fit ({}).",
            number(least),
            uses.join(", ")
        ),
        severity: Severity::Note,
        estimated_speedup: 100.0 - theoretical,
        metrics: std::iter::once(id::THEORETICAL_OCCUPANCY).chain(binding.iter().map(|l| l.1)).collect(),
        advice: "raise occupancy only if too few warps are eligible; then use less of the limiting resource",
    })
}

fn occupancy_not_reached(r: &CaseMetrics<'_>) -> Option<Found> {
    let (theoretical, achieved) = (r.value(id::THEORETICAL_OCCUPANCY)?, r.value(id::ACHIEVED_OCCUPANCY)?);
    (theoretical - achieved > 10.0).then(|| Found {
        title: "Occupancy is not reached".into(),
        sentence: format!("achieved occupancy is {achieved:.1} %, {theoretical:.1} % would fit."),
        severity: Severity::Note,
        estimated_speedup: 100.0 * (theoretical - achieved) / theoretical,
        metrics: vec![id::ACHIEVED_OCCUPANCY, id::THEORETICAL_OCCUPANCY],
        advice: "a grid too small to fill the SMs, or blocks of uneven length",
    })
}

fn uncoalesced(r: &CaseMetrics<'_>) -> Option<Found> {
    let excess = r.value(id::GLOBAL_EXCESSIVE_PCT).map(|v| (v, id::GLOBAL_EXCESSIVE_PCT));
    let wasted = || r.value(id::COALESCING_PCT).map(|v| (100.0 - v, id::COALESCING_PCT));
    let (share, metric) = excess.or_else(wasted)?;
    (share >= 10.0).then(|| Found {
        title: "Uncoalesced global accesses".into(),
        sentence: format!("{share:.1} % of what global accesses fetch is not used."),
        severity: Severity::Advice,
        estimated_speedup: share,
        metrics: vec![metric],
        advice: "let neighbouring lanes read neighbouring addresses, in 16-byte pieces",
    })
}

fn memory_bound(r: &CaseMetrics<'_>) -> Option<Found> {
    let dram = r.value(id::DRAM_PCT)?;
    (dram >= 80.0).then(|| Found {
        title: "DRAM bound".into(),
        sentence: format!(
            "DRAM runs at {dram:.1} % of its peak{}.",
            r.value(id::L2_HIT_PCT).map_or_else(String::new, |hit| format!(", {hit:.1} % of sectors hit in L2"))
        ),
        severity: Severity::Note,
        estimated_speedup: 100.0 - dram,
        metrics: vec![id::DRAM_PCT, id::L2_HIT_PCT],
        advice: "move fewer bytes: smaller types, fused kernels, reuse in L2 and shared memory",
    })
}

fn spilling(r: &CaseMetrics<'_>) -> Option<Found> {
    let spills = r.value(id::SPILLS).filter(|s| *s > 0.0)?;
    let registers =
        r.value(id::REGISTERS).map_or_else(String::new, |n| format!(" at {} registers a thread", number(n)));
    Some(Found {
        title: "Registers spill".into(),
        sentence: format!("{} spill instructions in the machine code{registers}.", number(spills)),
        severity: Severity::Advice,
        estimated_speedup: 0.0,
        metrics: vec![id::SPILLS, id::REGISTERS],
        advice: "raise the register cap, or keep less alive: smaller tiles, less unrolling",
    })
}

/// Latency without the profiler and duration under it measure different things, within the band that verdicts demand.
fn durations_disagree(r: &CaseMetrics<'_>) -> Option<Found> {
    let (latency, duration) = (r.value(id::LATENCY_P50)?, r.value(id::DURATION)? / 1000.0);
    Durations::plain(latency, duration, r.launches()).disagreement().map(|apart| Found {
        title: "Two durations disagree".into(),
        sentence: format!("{}.", apart.numbers),
        severity: Severity::Warning,
        estimated_speedup: 0.0,
        metrics: vec![id::LATENCY_P50, id::DURATION],
        advice: "counters may describe another state: cold caches, another clock, or more kernels than the one profiled",
    })
}

/// Time that grows more than the work from one shape to the next larger one, beyond what noise explains.
fn scaling(quantities: &Quantities, variant: &VariantId, work: &[(ShapeName, Option<f64>)]) -> Vec<Finding> {
    let read = |shape: &ShapeName| quantities.read(variant, shape, &id::LATENCY_P50).value().filter(|v| *v > 0.0);
    let mut sized: Vec<(&ShapeName, f64, f64)> =
        work.iter().filter_map(|(shape, work)| Some((shape, (*work).filter(|w| *w > 0.0)?, read(shape)?))).collect();
    sized.sort_by(|a, b| a.1.total_cmp(&b.1));
    let grown = |pair: &[(&ShapeName, f64, f64)]| {
        let [(small, work_small, time_small), (large, work_large, time_large)] = pair else { return None };
        let (more_work, more_time) = (work_large / work_small, time_large / time_small);
        (more_work > 1.0 && more_time > 1.25 * more_work).then(|| {
            Found {
                title: "Time grows more than the work".into(),
                sentence: format!(
                    "from '{small}' to '{large}' there is {} times the work and it takes {} times as long.",
                    number(more_work),
                    number(more_time)
                ),
                severity: Severity::Warning,
                estimated_speedup: 100.0 * (1.0 - more_work / more_time),
                metrics: vec![id::LATENCY_P50],
                advice: "look for what leaves a cache, spills, or loses parallelism at the larger shape",
            }
            .of(variant, large)
        })
    };
    sized.windows(2).filter_map(grown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Cell;

    fn found(values: &[(&str, f64)]) -> Vec<Finding> {
        let (variant, shape) = (VariantId("v".into()), ShapeName("s".into()));
        let mut quantities = Quantities::new([(variant.clone(), shape.clone())]);
        for (metric, value) in values {
            quantities.set_column(metric, vec![Cell::finite(*value)]);
        }
        findings(&quantities, &[variant], &[(shape, None)], Some(132))
    }

    fn titles(values: &[(&str, f64)]) -> Vec<String> {
        found(values).into_iter().map(|f| f.title).collect()
    }

    #[test]
    fn bottleneck_rules_without_measurements_find_nothing() {
        assert!(found(&[]).is_empty());
        assert!(found(&[("issue_slot_utilisation", f64::NAN), ("tensor_pct", f64::INFINITY)]).is_empty());
    }

    #[test]
    fn rules_fire_at_their_thresholds() {
        for (values, title) in [
            (&[("grid_blocks", 128.0)][..], "Grid smaller than the chip"),
            (&[("waves", 1.1)], "A partial last wave"),
            (&[("issue_slot_utilisation", 14.4)], "Latency bound"),
            (
                &[("warp_latency", 6.67), ("stall_long_scoreboard", 3.0), ("stall_selected", 5.0)],
                "Stall: Long scoreboard",
            ),
            (&[("tensor_pct", 0.02)], "Tensor cores are not used"),
            (&[("bank_conflict_pct", 12.0)], "Shared-memory bank conflicts"),
            (&[("theoretical_occupancy", 33.3), ("occupancy_limit_registers", 4.0)], "Occupancy limited by registers"),
            (&[("theoretical_occupancy", 100.0), ("achieved_occupancy", 6.2)], "Occupancy is not reached"),
            (&[("coalescing_pct", 50.0)], "Uncoalesced global accesses"),
            (&[("dram_pct", 91.0)], "DRAM bound"),
            (&[("spills", 4.0)], "Registers spill"),
            (&[("latency_p50", 10.0), ("duration", 90_000.0)], "Two durations disagree"),
        ] {
            assert_eq!(titles(values), [title], "{values:?}");
        }
        for values in [
            &[("grid_blocks", 132.0)][..],
            &[("waves", 6.1)],
            &[("issue_slot_utilisation", 60.0)],
            &[("issue_slot_utilisation", 20.0), ("dram_pct", 70.0)],
            &[("warp_latency", 10.0), ("stall_wait", 2.9)],
            &[("bank_conflict_pct", 9.9)],
            &[("bank_conflict_pct", 50.0), ("shared_excessive_pct", 0.0)],
            &[("latency_p50", 5.0), ("duration", 7_500.0)],
        ] {
            assert_eq!(titles(values), Vec::<String>::new(), "{values:?}");
        }
    }

    #[test]
    fn sentences_carry_numbers_and_the_gravest_is_first() {
        let found = found(&[
            ("issue_slot_utilisation", 14.4),
            ("eligible_warps", 0.27),
            ("grid_blocks", 64.0),
            ("spills", 2.0),
        ]);
        assert_eq!(found[0].sentence, "schedulers issue in 14.4 % of cycles, 0.27 warps are eligible.");
        assert_eq!(found[1].sentence, "64 blocks on 132 SMs: 68 SMs have nothing to do.");
        assert_eq!(found.last().map(|f| f.title.as_str()), Some("Registers spill"));
    }

    #[test]
    fn time_that_outgrows_the_work_is_named() {
        let variant = VariantId("v".into());
        let shapes = ["small", "large"].map(|s| ShapeName(s.into()));
        let mut quantities = Quantities::new(shapes.iter().map(|s| (variant.clone(), s.clone())));
        quantities.set_column("latency_p50", vec![Cell::Value(10.0), Cell::Value(100.0)]);
        let work = |large: f64| [(shapes[0].clone(), Some(1e6)), (shapes[1].clone(), Some(large))];
        let found = findings(&quantities, std::slice::from_ref(&variant), &work(4e6), None);
        assert_eq!(
            found[0].sentence,
            "from 'small' to 'large' there is 4 times the work and it takes 10 times as long."
        );
        assert!(findings(&quantities, &[variant], &work(9e6), None).is_empty());
    }
}
