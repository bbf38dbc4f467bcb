//! Rules of a diagnosis: the signs of a problem, its cost, and remedies.

use crate::expr::{Expr, Template};
use serde::{Deserialize, Serialize};

/// A rule. It reads numbers of one variant at one shape, and never decides a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Short name, which outputs cite: `bank_conflicts`.
    pub id: String,
    /// The problem, in a few words.
    pub cause: String,
    /// Its kind of statement.
    #[serde(default)]
    pub kind: RuleKind,
    /// The conditions. The first case with all values known decides, so that the most exact one comes first.
    #[serde(rename = "case")]
    pub cases: Vec<RuleCase>,
    /// Metrics shown with it, if they have a value.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// Warp states (`long_scoreboard`) whose source lines belong to it.
    #[serde(default)]
    pub stalls: Vec<String>,
    /// Rules whose findings are symptoms of this one.
    #[serde(default)]
    pub explains: Vec<String>,
    /// Remedies, the best first.
    #[serde(rename = "try")]
    pub advice: Vec<Template>,
}

words! {
    name;
    /// The kind of a rule's findings.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum RuleKind {
        /// Costs time, and can be fixed in the kernel as it is.
        #[default]
        Defect = "defect",
        /// A limit that only another algorithm or another pipe can exceed.
        Redesign = "redesign",
        /// Numbers contradict each other.
        Doubt = "doubt",
        /// Worth knowing: it looks like a problem, but is harmless here.
        Remark = "remark",
    }
}

/// One way to detect a problem.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleCase {
    pub when: Expr,
    /// Estimates of the largest saving by a fix, in percent of the time. The smallest known one counts, and the first must
    /// be known. Empty if there is no estimate.
    #[serde(default)]
    pub saves: Vec<Expr>,
    #[serde(default)]
    pub confidence: Confidence,
    /// One sentence with the numbers.
    pub says: Template,
    /// Remedies in place of those of the rule; empty if its own fit.
    #[serde(default, rename = "try")]
    pub advice: Vec<Template>,
}

words! {
    word;
    /// Confidence of a finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Confidence {
        /// The counters are consistent with it, but also with other causes.
        Low = "low",
        /// The counters suggest it.
        #[default]
        Medium = "medium",
        /// The counters measure it directly.
        High = "high",
    }
}

/// A number that rules can read in addition to metrics.
#[derive(Debug, Clone, Copy)]
pub struct RuleFact {
    pub name: &'static str,
    /// Its meaning and unit.
    pub doc: &'static str,
    pub source: FactSource,
    pub scope: RuleScope,
}

/// The origin of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactSource {
    /// A counter that the diagnosis reads in addition to metrics.
    Counter,
    /// Metrics and other facts, without those that only make it more exact.
    Derived(&'static [&'static str]),
    /// A kernel's machine code, with the executions and samples of its instructions: a deep profile, or a report with
    /// sections `SourceCounters` and `SamplingData`.
    MachineCode,
    /// An input that no counter provides, in a few words.
    Given(&'static str),
}

/// What a number or rule is about, if an evaluation has several launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleScope {
    /// Each launch.
    Launch,
    /// The evaluation: no single launch has the number.
    Evaluation,
}

impl RuleFact {
    const fn of_evaluation(mut self) -> Self {
        self.scope = RuleScope::Evaluation;
        self
    }
}

const fn fact(name: &'static str, doc: &'static str, source: FactSource) -> RuleFact {
    RuleFact { name, doc, source, scope: RuleScope::Launch }
}

const fn counter(name: &'static str, doc: &'static str) -> RuleFact {
    fact(name, doc, FactSource::Counter)
}

const fn derived(name: &'static str, doc: &'static str, of: &'static [&'static str]) -> RuleFact {
    fact(name, doc, FactSource::Derived(of))
}

const fn code(name: &'static str, doc: &'static str) -> RuleFact {
    fact(name, doc, FactSource::MachineCode)
}

const fn given(name: &'static str, doc: &'static str, input: &'static str) -> RuleFact {
    fact(name, doc, FactSource::Given(input))
}

/// What the busiest unit leaves.
pub const HEADROOM: &str = "headroom";
/// Facts that count idle multiprocessors or empty warp slots. A fix uses what they count, and nothing else gets faster with it.
pub const IDLE: [&str; 8] = [
    "idle_sms_pct",
    "idle_schedulers_pct",
    "idle_lanes_pct",
    "measured_tail_pct",
    "last_wave_idle_pct",
    "sm_imbalance_pct",
    "fill_pct",
    "lonely_pct",
];
/// Facts that count time in which no kernel works.
pub const OUTSIDE: [&str; 4] = ["gap_pct", "launch_overhead_pct", "outside_pct", "copied_pct"];

/// Facts of a launch or an evaluation. In addition there is `share_NAME` for each warp state `stall_NAME`: percent of a
/// warp's time between two instructions. `share_barrier` is without `waits_for_products_pct`, and `share_long_scoreboard`
/// without `waits_at_mbarriers_pct`.
pub const FACTS: &[RuleFact] = &[
    given("sms", "multiprocessors of the GPU", "the chip"),
    given("cc", "compute capability, 9.0", "the chip"),
    derived("warp_cycles", "cycles between two instructions of a warp: counted, or active warps over issue rate (Little's law)", &["warp_latency"]),
    derived("idle_issue", "percent of cycles in which a scheduler issues nothing", &["issue_slot_utilisation"]),
    derived("dram_busy", "percent of DRAM's peak: counted, or bytes over duration over the peak of clock and bus width; a bound is at most the rest, unless the rule explains `memory_bound` or a second estimate in `saves` reads it", &["dram_pct"]),
    derived("roofline_pct", "percent of the time that the declared `bytes` and `flops` need at the rate of DRAM (or of L2, if they fit in it) and at the highest peak of the pipes in use, and at least 1 µs; it caps bounds of defects", &["minimum_flops", "minimum_bytes", "duration"]).of_evaluation(),
    derived("tensor_roofline_pct", "the same with the `flops` at the dense FP16 peak of the tensor pipe; it caps redesigns", &["minimum_flops", "minimum_bytes", "duration"]).of_evaluation(),
    derived("busiest", "the highest known utilisation of issue slots, pipes, L1, L2 and DRAM, in percent", &["issue_slot_utilisation"]),
    derived(HEADROOM, "100 minus `busiest`; as a separate estimate in `saves` it says that the fix saves neither matrix products nor traffic, so that the bound is at most what the tensor pipe, DRAM and L2 leave", &["issue_slot_utilisation"]),
    derived("tensor_rate_pct", "percent of the time that the declared `flops` need at the dense FP16 peak of the tensor pipe, at the highest clock of the run's deep profiles", &["minimum_flops", "tensor_peak_fp16", "duration"]).of_evaluation(),
    derived("idle_sms_pct", "percent of the multiprocessors without a block of the grid", &["grid_blocks", "sms"]),
    derived("idle_schedulers_pct", "percent of the warp schedulers, four in each multiprocessor, without a warp of the grid", &["grid_blocks", "block_threads", "sms"]),
    derived("idle_lanes_pct", "percent of the lanes of a block's warps without a thread", &["block_threads"]),
    derived("last_wave_idle_pct", "percent of the time lost in a partial last wave, if all blocks take equally long, and those that are left alone on an SM run faster by what its busiest unit leaves them", &["waves"]),
    derived("freed_pct", "percent of the time saved at most by the warps that fit if the limiting resource no longer limits, until issue slots are full", &["registers", "block_threads", "grid_blocks", "sms", "issue_slot_utilisation"]),
    derived("fill_pct", "percent of the time saved at most if achieved occupancy reached theoretical occupancy", &["theoretical_occupancy", "achieved_occupancy", "issue_slot_utilisation"]),
    derived("barrier_cycles", "cycles that a warp waits at a barrier: those of `share_barrier` over the share of barriers in the executed instructions", &["stall_barrier", "barrier_pct"]),
    derived("filled_occupancy", "percent of the warp slots that the grid fills at the start: theoretical occupancy, or less for a small grid", &["theoretical_occupancy", "waves"]),
    derived("lonely_pct", "percent by which achieved occupancy is below `filled_occupancy`", &["theoretical_occupancy", "waves", "achieved_occupancy"]),
    derived("raisable_registers", "registers per thread, unless they are at the hardware's limit of 255", &["registers"]),
    derived("next_registers", "maximum registers per thread at which one more block fits", &["registers", "block_threads", "cc"]),
    derived("next_shared", "maximum bytes of shared memory per block at which one more block fits", &["registers", "block_threads", "cc"]),
    derived("limited_by_registers", "1 if registers limit the resident blocks", &["registers", "block_threads", "cc"]),
    given("debug_build", "1 if the code was compiled with -G", "the compiler's flags").of_evaluation(),
    given("device_optimisation", "optimisation level of ptxas, 0 to 3; 3 if no level was given", "the compiler's flags").of_evaluation(),
    given("minimum_bytes", "`bytes` of the workload: the minimum that a launch moves", "`bytes` of the workload").of_evaluation(),
    given("buffer_bytes", "bytes of the workload's buffers", "the workload's buffers").of_evaluation(),
    given("minimum_flops", "`flops` of the workload", "`flops` of the workload").of_evaluation(),
    given("f64_buffers", "1 if a buffer of the workload is `f64`", "the workload's buffers"),
    derived("traffic_factor", "bytes moved by DRAM, over `minimum_bytes`", &["dram_bytes", "minimum_bytes"]).of_evaluation(),
    derived("buffer_factor", "bytes moved by DRAM, over `buffer_bytes`", &["dram_bytes", "buffer_bytes"]).of_evaluation(),
    derived("reread_factor", "bytes that global loads requested from L1, over `minimum_bytes`", &["global_load_sectors", "minimum_bytes"]).of_evaluation(),
    derived("arithmetic_intensity", "`minimum_flops` over `minimum_bytes`", &["minimum_flops", "minimum_bytes"]).of_evaluation(),
    given("time_growth", "latency over the latency at the compared smaller shape, which differs in one dimension, or else in several that the grid does not all cover", "a shape that is smaller in one dimension").of_evaluation(),
    given("work_growth", "`flops` (or else the product of the dimensions) over the same at the compared shape", "a shape that is smaller in one dimension").of_evaluation(),
    given("grid_growth", "blocks over the blocks at the compared shape", "a shape that is smaller in one dimension").of_evaluation(),
    given("serial_growth", "work of a block over the work of a block at the compared shape, if the shapes differ in several dimensions", "a shape that is smaller in several dimensions").of_evaluation(),
    given("copied_pct", "percent of the latency that the plan's fills and copies need for their bytes at the rate of DRAM", "fills and copies of the plan").of_evaluation(),
    derived("outside_pct", "percent of the latency outside kernels, fills and copies: launch and gaps", &["latency_p50", "duration"]).of_evaluation(),
    given("launches", "launches of an evaluation", "the number of launches").of_evaluation(),
    derived("launch_duration", "mean duration of its launches in nanoseconds", &["duration", "launches"]).of_evaluation(),
    derived("gap_pct", "percent of the latency outside the durations of several launches; 0 for one launch", &["latency_p50", "duration", "launches"]).of_evaluation(),
    derived("launch_overhead_pct", "percent of the launches' durations for start and end of all but the longest, at most 2 µs each; 0 for one launch", &["duration", "launches"]).of_evaluation(),
    derived("wasted_lanes_pct", "percent of lanes that are idle in an executed instruction", &["threads_per_inst"]),
    counter("l2_sectors", "32-byte sectors that pass through L2"),
    counter("system_sectors", "those of them whose memory is the host's"),
    derived(
        "system_share_pct",
        "`system_sectors` in percent of `l2_sectors`; 0 where GPU and host share one memory",
        &["system_sectors", "l2_sectors"],
    ),
    derived(
        "slice_imbalance_pct",
        "percent by which the average slice of L2 has fewer sectors than the busiest one",
        &["busiest_slice", "mean_slice"],
    ),
    given(
        "measured_tail_pct",
        "percent of the duration after the last sample with at least 90 % of the peak number of active multiprocessors; known from 30 samples on",
        "at least 30 samples over the duration of a launch",
    ),
    counter("l2_busy", "L2 utilisation in percent"),
    counter("l1_busy", "utilisation of L1's data stage in percent"),
    counter("fma_busy", "percent of active cycles of the FMA pipe"),
    counter("alu_busy", "percent of active cycles of the integer pipe"),
    counter("xu_busy", "percent of active cycles of the pipe for special functions and conversions"),
    counter("fp64_busy", "percent of active cycles of the double-precision pipe"),
    counter("fp16_busy", "percent of active cycles of the FMA pipe with half-precision instructions"),
    counter("tensor_busy", "percent of active cycles of the tensor pipe"),
    counter("async_mma_busy", "asynchronous matrix instructions in percent of their peak rate: `wgmma` on 9.0, `tcgen05` on 10.x and 11.0"),
    counter("one_cta_instructions", "instructions of `tcgen05` with `cta_group::1`; 0 on other chips than 10.x and 11.0"),
    counter("two_cta_instructions", "instructions of `tcgen05` with `cta_group::2`; 0 on other chips than 10.x and 11.0"),
    counter("cluster_blocks", "blocks of a cluster on 10.x and 11.0, 0 without clusters"),
    counter("tma_busy", "percent of active cycles of the bulk-copy engine"),
    counter("global_load_sectors", "32-byte sectors that global loads request from L1"),
    derived("load_sectors_per_request", "32-byte sectors per global load of a warp: at most 16 if adjacent lanes load adjacent 16 bytes", &["global_load_sectors", "global_load_requests"]),
    derived("excess_beyond_l1_pct", "percent of the sectors beyond L1 that would not be needed if every request were coalesced", &["l1_hit_pct", "global_excessive_pct"]),
    derived("store_sectors_per_request", "32-byte sectors per global store of a warp", &["global_store_sectors", "global_store_requests"]),
    derived("atomic_sectors", "sectors of atomics and reductions that go to L2", &["atomics", "reductions"]),
    derived("atomic_share_pct", "`atomic_sectors` in percent of the sectors that pass through L2", &["atomics", "reductions", "l2_sectors"]),
    derived("sm_imbalance_pct", "idle time of the average multiprocessor, in percent of the active time of the busiest one", &["longest_sm", "mean_sm"]),
    derived("local_share_pct", "percent of instructions that load from or store to local memory", &["local_instructions", "instructions"]),
    code("code_bytes", "bytes of the machine code of the kernel and the cubin's functions, or of the executed instructions without it"),
    code("predicated_off_pct", "percent of the threads of executed instructions whose predicate is false"),
    code("f64_instruction_pct", "percent of executed instructions in double precision, conversions included"),
    code("f64_time_pct", "percent of the samples that wait for their results, or are at them and wait for no other"),
    code("f64_conversion_pct", "percent of executed instructions that convert from or to double precision"),
    code("integer_division_pct", "percent of executed instructions that are part of an integer division or modulo"),
    code("integer_division_time_pct", "percent of the samples that wait for their results, or are at them and wait for no other"),
    code("exact_function_pct", "percent of executed instructions that are part of an exact division, root, sine, power or logarithm of floats"),
    code("exact_function_time_pct", "percent of the samples that wait for their results, or are at them and wait for no other"),
    code("loaded_product_pct", "percent of executed fused multiply-adds whose two factors are both loaded: terms of matrix products and convolutions"),
    code("unfused_pct", "percent of executed instructions that add a product which nothing else uses"),
    code("unfused_time_pct", "percent of the samples that wait for their results, or are at them and wait for no other"),
    code("local_access_pct", "percent of executed instructions that access local memory"),
    code("load_excess_pct", "percent of the requested global sectors that loads do not need"),
    code("gather_excess_pct", "part of `load_excess_pct` from loads whose address is computed from a loaded value"),
    code("store_excess_pct", "percent of the requested global sectors that stores do not need"),
    derived("write_excess_pct", "percent of the bytes written to DRAM beyond those that global stores need", &["dram_bytes", "dram_read_bytes", "global_load_sectors", "global_store_sectors", "store_excess_pct"]),
    code("global_access_bytes", "mean bytes for a lane of the instructions that load from or store to global memory"),
    code("narrow_access_pct", "percent of these instructions that move 1 or 2 bytes for a lane"),
    code("narrow_access_time_pct", "percent of the samples that wait for the narrow ones, or are at them and wait for no other"),
    code("shared_atomic_pct", "percent of executed instructions that are atomics on shared memory"),
    code("shared_atomic_time_pct", "percent of the samples that wait for their results, or are at them and wait for no other"),
    code("cas_pct", "percent of executed instructions that are compare-and-swap"),
    code("cas_time_pct", "percent of the samples that wait for a loop of compare-and-swap, or are in one and wait for no other"),
    code("indexed_constant_pct", "percent of executed instructions that read constant memory at an index of each lane"),
    code("indexed_constant_time_pct", "percent of the samples that wait for their results, or are at them and wait for no other"),
    code("barrier_pct", "percent of executed instructions that are barriers of a block or cluster"),
    code("copying_warps_pct", "executions of asynchronous copies in a loop in percent of those of its barrier: below 100 if some warps copy for the others; unknown without such a loop"),
    code("waits_for_products_pct", "percent of the samples waiting for asynchronous matrix products (`wgmma.wait_group`), which ncu counts as waits at barriers; `share_barrier` is without them"),
    code("waits_at_mbarriers_pct", "percent of the samples waiting at mbarriers (`mbarrier.try_wait`), which ncu counts as waits for memory; `share_long_scoreboard` is without them"),
    code("mbarrier_data_pct", "part of `waits_at_mbarriers_pct` of warps that next load from shared memory or start `wgmma`: they wait for data"),
    code("mbarrier_slot_pct", "part of `waits_at_mbarriers_pct` of warps that next copy or store to shared memory: producers that wait for a free slot"),
    code("start_wait_pct", "percent of the samples waiting at barriers or for memory before the first loop of the kernel; 0 without a loop"),
    code("waits_for_global_loads_pct", "percent of the samples waiting at a scoreboard for loads from global memory"),
    code("waits_for_local_pct", "percent of the samples waiting at a scoreboard for local memory"),
    code("waits_for_shared_pct", "percent of the samples waiting at a scoreboard for shared memory"),
    code("waits_for_special_functions_pct", "percent of the samples waiting at a scoreboard for special functions and conversions"),
    code("waits_for_shuffles_pct", "percent of the samples waiting at a scoreboard for shuffles and votes"),
    code("waits_for_constants_pct", "percent of the samples waiting at a scoreboard for constant memory"),
    code("waits_for_atomics_pct", "percent of the samples waiting at a scoreboard for atomics"),
];

/// Texts that a rule's sentence can insert in braces, in addition to numbers.
pub const FACT_TEXTS: [&str; 11] = [
    "grown_dimension",
    "grown_from",
    "limiter",
    "busiest_unit",
    "load_reason",
    "load_advice",
    "short_waits",
    "blocks",
    "resident_blocks",
    "warps",
    "idle_sms",
];

/// Prefix of the shares of warp states.
pub const SHARE: &str = "share_";

/// The fact with a name.
pub fn fact_named(name: &str) -> Option<&'static RuleFact> {
    FACTS.iter().find(|fact| fact.name == name)
}

/// Whether rules can read a non-metric number with that name.
pub fn is_fact(name: &str) -> bool {
    name.starts_with(SHARE) || fact_named(name).is_some()
}
