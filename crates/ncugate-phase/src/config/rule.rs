//! Rules of a diagnosis: the signs of a problem, its cost, and remedies.

use ncugate_model::expr::{Expr, Template};
use serde::Serialize;

/// A rule. It reads numbers of one variant at one shape, and never decides a verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Short name, which outputs cite: `bank_conflicts`.
    pub id: String,
    /// The problem, in a few words.
    pub cause: String,
    /// Its kind of statement.
    pub kind: RuleKind,
    /// The conditions. The first case with all values known decides, so that the most exact one comes first.
    pub cases: Vec<RuleCase>,
    /// Metrics shown with it, if they have a value.
    pub evidence: Vec<String>,
    /// Warp states (`long_scoreboard`) whose source lines belong to it.
    pub stalls: Vec<String>,
    /// Rules whose findings are symptoms of this one.
    pub explains: Vec<String>,
    /// Remedies, the best first.
    pub advice: Vec<Template>,
}

/// The kind of a rule's findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// Costs time, and can be fixed in the kernel as it is.
    Defect,
    /// A limit that only another algorithm or another pipe can exceed.
    Redesign,
    /// Numbers contradict each other.
    Doubt,
    /// Worth knowing: it looks like a problem, but is harmless here.
    Remark,
}

impl RuleKind {
    /// All values by their keyword in a rule.
    pub const WORDS: [(&'static str, Self); 4] =
        [("defect", Self::Defect), ("redesign", Self::Redesign), ("doubt", Self::Doubt), ("remark", Self::Remark)];
}

/// One way to detect a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleCase {
    pub when: Expr,
    /// Estimates of the largest saving by a fix, in percent of the time. The smallest known one counts, and the first must
    /// be known. Empty if there is no estimate.
    pub saves: Vec<Expr>,
    pub confidence: Confidence,
    /// One sentence with the numbers.
    pub says: Template,
    /// Remedies in place of those of the rule; empty if its own fit.
    pub advice: Vec<Template>,
}

/// Confidence of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The counters are consistent with it, but also with other causes.
    Low,
    /// The counters suggest it.
    Medium,
    /// The counters measure it directly.
    High,
}

impl Confidence {
    /// All values by their keyword in a rule.
    pub const WORDS: [(&'static str, Self); 3] = [("high", Self::High), ("medium", Self::Medium), ("low", Self::Low)];

    pub const fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// A number that rules can read in addition to metrics.
#[derive(Debug, Clone, Copy)]
pub struct RuleFact {
    pub name: &'static str,
    /// Its meaning and unit.
    pub doc: &'static str,
}

const fn fact(name: &'static str, doc: &'static str) -> RuleFact {
    RuleFact { name, doc }
}

/// Facts of a launch. In addition there is `share_NAME` for each warp state `stall_NAME`: percent of a warp's time between
/// two instructions.
pub const FACTS: &[RuleFact] = &[
    fact("sms", "multiprocessors of the GPU"),
    fact("cc", "compute capability, 9.0"),
    fact(
        "warp_cycles",
        "cycles between two instructions of a warp: counted, or active warps over issue rate (Little's law)",
    ),
    fact("idle_issue", "percent of cycles in which a scheduler issues nothing"),
    fact("dram_busy", "percent of DRAM's peak: counted, or bytes over duration over the peak of clock and bus width"),
    fact(
        "roofline_pct",
        "percent of the time that the declared `bytes` and `flops` need at the rate of DRAM (or of L2, if they fit in it) and at the \
         highest peak of the pipes that may be in use; it caps bounds of defects",
    ),
    fact(
        "tensor_roofline_pct",
        "the same with the `flops` at the dense FP16 peak of the tensor pipe; it caps redesigns",
    ),
    fact("busiest", "the highest known utilisation of issue slots, pipes, L1, L2 and DRAM, in percent"),
    fact("headroom", "100 minus `busiest`"),
    fact("idle_sms_pct", "percent of the multiprocessors without a block of the grid"),
    fact("last_wave_idle_pct", "percent of the time lost in a partial last wave, if all blocks take equally long"),
    fact(
        "freed_pct",
        "percent of the time saved at most by the warps that fit if the limiting resource no longer limits, until issue slots are full",
    ),
    fact("fill_pct", "percent of the time saved at most if achieved occupancy reached theoretical occupancy"),
    fact(
        "barrier_cycles",
        "cycles that a warp waits at a barrier: `stall_barrier` over the share of barriers in the executed instructions",
    ),
    fact(
        "filled_occupancy",
        "percent of the warp slots that the grid fills at the start: theoretical occupancy, or less for a small grid",
    ),
    fact("lonely_pct", "percent by which achieved occupancy is below `filled_occupancy`"),
    fact("raisable_registers", "registers per thread, unless they are at the hardware's limit of 255"),
    fact("next_registers", "maximum registers per thread at which one more block fits"),
    fact("next_shared", "maximum bytes of shared memory per block at which one more block fits"),
    fact("limited_by_registers", "1 if registers limit the resident blocks"),
    fact("limited_by_shared", "1 if shared memory limits the resident blocks"),
    fact("limited_by_block_slots", "1 if the number of block slots limits the resident blocks"),
    fact("debug_build", "1 if the code was compiled with -G"),
    fact("device_optimisation", "optimisation level of ptxas, 0 to 3; 3 if no level was given"),
    fact("minimum_bytes", "`bytes` of the workload: the minimum that a launch moves"),
    fact("minimum_flops", "`flops` of the workload"),
    fact("f64_buffers", "1 if a buffer of the workload is `f64`"),
    fact("traffic_factor", "bytes moved by DRAM, over `minimum_bytes`"),
    fact("reread_factor", "bytes that global loads requested from L1, over `minimum_bytes`"),
    fact("arithmetic_intensity", "`minimum_flops` over `minimum_bytes`"),
    fact(
        "time_growth",
        "latency over the latency at the compared smaller shape, which differs in one dimension, or else in several that the grid does not all cover",
    ),
    fact("work_growth", "`flops` (or else the product of the dimensions) over the same at the compared shape"),
    fact("grid_growth", "blocks over the blocks at the compared shape"),
    fact(
        "serial_growth",
        "work of a block over the work of a block at the compared shape, if the shapes differ in several dimensions",
    ),
    fact("outside_pct", "percent of the latency outside the kernel: launch and gaps"),
    fact("launches", "launches of an evaluation"),
    fact("launch_duration", "mean duration of its launches in nanoseconds"),
    fact("gap_pct", "percent of the latency outside the durations of several launches; 0 for one launch"),
    fact(
        "launch_overhead_pct",
        "percent of the launches' durations for start and end of all but the longest, at most 2 µs each; 0 for one launch",
    ),
    fact("wasted_lanes_pct", "percent of lanes that are idle in an executed instruction"),
    fact("l2_busy", "L2 utilisation in percent"),
    fact("l1_busy", "utilisation of L1's data stage in percent"),
    fact("fma_busy", "percent of active cycles of the FMA pipe"),
    fact("alu_busy", "percent of active cycles of the integer pipe"),
    fact("xu_busy", "percent of active cycles of the pipe for special functions and conversions"),
    fact("fp64_busy", "percent of active cycles of the double-precision pipe"),
    fact("fp16_busy", "percent of active cycles of the FMA pipe with half-precision instructions"),
    fact("tensor_busy", "percent of active cycles of the tensor pipe"),
    fact(
        "async_mma_busy",
        "asynchronous matrix instructions in percent of their peak rate: `wgmma` on 9.0, `tcgen05` on 10.x and 11.0",
    ),
    fact("one_cta_instructions", "instructions of `tcgen05` with `cta_group::1`; 0 on other chips than 10.x and 11.0"),
    fact("two_cta_instructions", "instructions of `tcgen05` with `cta_group::2`; 0 on other chips than 10.x and 11.0"),
    fact("cluster_blocks", "blocks of a cluster on 10.x and 11.0, 0 without clusters"),
    fact("tma_busy", "percent of active cycles of the bulk-copy engine"),
    fact("global_load_sectors", "32-byte sectors that global loads request from L1"),
    fact(
        "load_sectors_per_request",
        "32-byte sectors per global load of a warp: at most 16 if adjacent lanes load adjacent 16 bytes",
    ),
    fact(
        "excess_beyond_l1_pct",
        "percent of the sectors beyond L1 that would not be needed if every request were coalesced",
    ),
    fact("store_sectors_per_request", "32-byte sectors per global store of a warp"),
    fact("atomic_sectors", "sectors of atomics and reductions that go to L2"),
    fact("atomic_share_pct", "`atomic_sectors` in percent of the sectors that pass through L2"),
    fact(
        "sm_imbalance_pct",
        "idle time of the average multiprocessor, in percent of the active time of the busiest one",
    ),
    fact("local_share_pct", "percent of instructions that load from or store to local memory"),
];

/// Facts of a kernel's machine code, with the executions and samples of its instructions. They need a deep profile, or
/// a report with sections `SourceCounters` and `SamplingData`.
pub const CODE_FACTS: &[RuleFact] = &[
    fact(
        "code_bytes",
        "bytes of the machine code of the kernel and the cubin's functions, or of the executed instructions without it",
    ),
    fact("predicated_off_pct", "percent of the threads of executed instructions whose predicate is false"),
    fact("f64_instruction_pct", "percent of executed instructions in double precision, conversions included"),
    fact("f64_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact("f64_conversion_pct", "percent of executed instructions that convert from or to double precision"),
    fact("f64_conversion_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact("integer_division_pct", "percent of executed instructions that are part of an integer division or modulo"),
    fact("integer_division_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact(
        "exact_function_pct",
        "percent of executed instructions that are part of an exact division, root, sine, power or logarithm of floats",
    ),
    fact("exact_function_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact("unfused_pct", "percent of executed instructions that add a product which nothing else uses"),
    fact("unfused_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact("global_access_pct", "percent of executed instructions that load from or store to global memory"),
    fact("global_access_bytes", "mean bytes for a lane of these instructions"),
    fact("narrow_access_pct", "percent of these instructions that move 1 to 4 bytes for a lane"),
    fact("narrow_access_time_pct", "percent of the samples at the narrow ones or waiting for their results"),
    fact("shared_atomic_pct", "percent of executed instructions that are atomics on shared memory"),
    fact("shared_atomic_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact("cas_pct", "percent of executed instructions that are compare-and-swap"),
    fact("cas_time_pct", "percent of the samples in loops of a compare-and-swap or waiting for their results"),
    fact("indexed_constant_pct", "percent of executed instructions that read constant memory at an index of each lane"),
    fact("indexed_constant_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact("local_access_pct", "percent of executed instructions that access local memory"),
    fact("local_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact("special_function_pct", "percent of executed instructions on the special function unit"),
    fact("special_function_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact("conversion_pct", "percent of executed instructions that convert between formats"),
    fact("conversion_time_pct", "percent of the samples at these instructions or waiting for their results"),
    fact("shuffle_pct", "percent of executed instructions that are shuffles"),
    fact("barrier_pct", "percent of executed instructions that are barriers of a block or cluster"),
    fact("waits_for_global_loads_pct", "percent of the samples waiting at a scoreboard for loads from global memory"),
    fact("waits_for_local_pct", "percent of the samples waiting at a scoreboard for local memory"),
    fact("waits_for_shared_pct", "percent of the samples waiting at a scoreboard for shared memory"),
    fact(
        "waits_for_special_functions_pct",
        "percent of the samples waiting at a scoreboard for special functions and conversions",
    ),
    fact("waits_for_shuffles_pct", "percent of the samples waiting at a scoreboard for shuffles and votes"),
    fact("waits_for_constants_pct", "percent of the samples waiting at a scoreboard for constant memory"),
    fact("waits_for_atomics_pct", "percent of the samples waiting at a scoreboard for atomics"),
];

/// Every fact.
pub fn facts() -> impl Iterator<Item = &'static RuleFact> {
    FACTS.iter().chain(CODE_FACTS)
}

/// Texts that a rule's sentence can insert in braces, in addition to numbers.
pub const FACT_TEXTS: &[RuleFact] = &[
    fact(
        "grown_dimension",
        "the dimension in which the compared shapes differ; of several, those that the grid does not cover",
    ),
    fact("grown_from", "name of the compared smaller shape"),
    fact("limiter", "the resource that limits the resident blocks: registers, shared memory, warps, blocks, barriers"),
    fact("busiest_unit", "the unit with the highest utilisation"),
    fact("load_reason", "why the latency of loads from global memory is not hidden, as far as counters tell"),
    fact("short_waits", "the producers that a short scoreboard waits for, with percent of the samples"),
];

/// Prefix of the shares of warp states.
pub const SHARE: &str = "share_";

/// Whether rules can read a non-metric number with that name.
pub fn is_fact(name: &str) -> bool {
    name.starts_with(SHARE) || facts().any(|fact| fact.name == name)
}
