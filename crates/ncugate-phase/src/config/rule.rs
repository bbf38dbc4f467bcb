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

/// What kind of statement a rule makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// Something that costs time and can be mended in the kernel as it is.
    Defect,
    /// A limit that only another algorithm or another pipe passes.
    Redesign,
    /// The numbers do not fit each other.
    Doubt,
    /// Worth knowing: something that looks like a trouble and is none here.
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
    /// Upper bounds of the saving by a fix, in percent of the time. The smallest known one counts, and the first must
    /// be known. Empty if there is no bound.
    pub saves: Vec<Expr>,
    pub confidence: Confidence,
    /// One sentence with the numbers.
    pub says: Template,
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The counters fit it, and other things too.
    Low,
    /// The counters point to it.
    Medium,
    /// The counters count it.
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

/// Every fact. In addition there is `share_NAME` for each warp state `stall_NAME`: percent of a warp's time between
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
    fact("busiest", "the highest known utilisation of issue slots, pipes, L1, L2 and DRAM, in percent"),
    fact("headroom", "100 minus `busiest`"),
    fact("idle_sms_pct", "percent of the multiprocessors that the grid leaves without a block"),
    fact(
        "last_wave_idle_pct",
        "percent of the time lost in a last wave that is not full, if all blocks take equally long",
    ),
    fact(
        "more_blocks_pct",
        "percent of the time that one more block a multiprocessor saves, if warps are ready independently of each other",
    ),
    fact("fill_pct", "the same for filling the occupancy that the kernel allows"),
    fact("next_registers", "most registers a thread with which one more block fits"),
    fact("next_shared", "most bytes of shared memory a block with which one more block fits"),
    fact("limited_by_registers", "1 where registers are what keeps another block out"),
    fact("limited_by_shared", "1 where shared memory does"),
    fact("limited_by_block_slots", "1 where the number of resident blocks does"),
    fact("debug_build", "1 where the compiler was told -G"),
    fact("device_optimisation", "the level that ptxas was told (0 to 3); 3 where it was told none"),
    fact("minimum_bytes", "`bytes` of the workload: what has to be moved at least"),
    fact("minimum_flops", "`flops` of the workload"),
    fact("traffic_factor", "bytes that DRAM moved over `minimum_bytes`"),
    fact("reread_factor", "bytes that global loads asked of L1 over `minimum_bytes`"),
    fact("arithmetic_intensity", "`minimum_flops` over `minimum_bytes`"),
    fact(
        "time_growth",
        "latency over that at the compared smaller shape: one that differs in one dimension, else in several of which the grid leaves some out",
    ),
    fact("work_growth", "`flops` (or the dimensions) over that at the compared shape"),
    fact("grid_growth", "blocks over those at the compared shape"),
    fact(
        "serial_growth",
        "work of a block over that at the compared shape, where the shapes differ in several dimensions",
    ),
    fact("outside_pct", "percent of the latency that is not the kernel: launch and gaps"),
    fact("wasted_lanes_pct", "percent of the lanes that do nothing in an executed instruction"),
    fact("l2_busy", "L2 utilisation in percent"),
    fact("l1_busy", "utilisation of L1's data stage in percent"),
    fact("fma_busy", "percent of active cycles of the FMA pipe"),
    fact("alu_busy", "the same of the integer pipe"),
    fact("xu_busy", "the same of the pipe of special functions and conversions"),
    fact("fp64_busy", "the same of the double-precision pipe"),
    fact("fp16_busy", "the same of half-precision instructions on the FMA pipe"),
    fact("tensor_busy", "percent of active cycles of the tensor pipe"),
    fact("wgmma_busy", "percent of active cycles in which the tensor pipe takes a `wgmma` instruction"),
    fact("tma_busy", "percent of active cycles of the bulk-copy engine"),
    fact("global_load_sectors", "32-byte sectors that global loads ask of L1"),
    fact(
        "load_sectors_per_request",
        "32-byte sectors of a global load of a warp: 16 at most where neighbouring lanes load neighbouring 16 bytes",
    ),
    fact("store_sectors_per_request", "the same of a global store"),
    fact("atomic_sectors", "sectors of atomics and reductions that go to L2"),
    fact("atomic_share_pct", "percent of `atomic_sectors` in the sectors that pass L2"),
    fact("sm_imbalance_pct", "percent of the longest multiprocessor's active time in which the mean one is idle"),
    fact("local_share_pct", "percent of instructions that load or store local memory"),
];

/// Texts that a rule's sentence can insert in braces, in addition to numbers.
pub const FACT_TEXTS: &[RuleFact] = &[
    fact(
        "grown_dimension",
        "the dimension in which the compared shapes differ; of several, those that the grid leaves out",
    ),
    fact("grown_from", "name of the compared smaller shape"),
    fact("limiter", "what keeps another block out: registers, shared memory, warps, blocks, barriers"),
    fact("busiest_unit", "the unit with the highest utilisation"),
];

/// Prefix of the shares of warp states.
pub const SHARE: &str = "share_";

/// Whether rules can read a non-metric number with that name.
pub fn is_fact(name: &str) -> bool {
    name.starts_with(SHARE) || FACTS.iter().any(|fact| fact.name == name)
}
