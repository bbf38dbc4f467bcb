//! Numbers derived from metrics, the chip and the plan, which rules read in addition to metrics.

use super::case_table::{CachedNumber, CaseTable, KnownNumbers};
use super::growth::{DeclaredWork, ShapeGrowth};
use ncugate_model::metric::{Catalogue, MetricSource, SIGNALS, id, signal_counter};
use ncugate_model::occupancy::{Chip, Demand, Limiter, Occupancy, SCHEDULERS, WARP, theoretical};
use ncugate_model::rule::{HEADROOM, RuleScope, SHARE, fact_named};
use ncugate_model::{ComputeCapability, number};

/// Why loads take long if the grid is small.
const SMALL_GRID: &str = "the grid gives each SM few warps";

/// Facts about the chip.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChipKnowledge {
    pub capability: Option<ComputeCapability>,
    pub sms: Option<u32>,
    /// Peak of DRAM in bytes a second, by its clock and the width of its bus.
    pub dram_peak: Option<f64>,
}

/// How a variant was compiled, as far as its flags or its cubin show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compilation {
    /// Whether it is a debug build (`-G`).
    pub debug: Option<bool>,
    /// The optimisation level of ptxas; none if the flags are unknown.
    pub optimisation: Option<u32>,
}

/// One variant at one shape, with everything that rules read about it.
#[derive(Debug, Clone, Copy)]
pub struct CaseFacts<'a> {
    pub table: &'a CaseTable<'a>,
    pub row: usize,
    /// The row of the first baseline at the same shape.
    pub baseline: Option<usize>,
    pub chip: &'a ChipKnowledge,
    pub compilation: Compilation,
    pub work: DeclaredWork,
    /// Its growth from a smaller shape.
    pub growth: Option<&'a ShapeGrowth>,
    /// Launches of an evaluation, if known; none for one launch of several.
    pub launches: Option<usize>,
    /// Numbers derived earlier for this variant.
    pub known: Option<&'a KnownNumbers>,
    /// Names, indexed by their position in the rule book.
    pub names: &'a [String],
}

/// Utilisations from which `busiest` takes the highest.
const UNITS: [(&str, &str); 13] = [
    ("issue_slot_utilisation", "the issue stage"),
    ("dram_busy", "DRAM"),
    ("l2_busy", "L2"),
    ("l1_busy", "L1's data stage"),
    ("sm_pct", "the SM"),
    ("memory_pct", "the memory system"),
    ("tensor_busy", "the tensor pipe"),
    ("tensor_pct", "the tensor pipe"),
    ("fma_busy", "the FMA pipe"),
    ("alu_busy", "the integer pipe"),
    ("xu_busy", "the pipe of special functions"),
    ("fp64_busy", "the FP64 pipe"),
    ("fp16_busy", "the FMA pipe's half-precision part"),
];

/// Most nanoseconds of a launch in which the chip is not full, because blocks start or end.
const START_AND_END: f64 = 2_000.0;
/// Seconds that an empty kernel takes at least.
const EMPTY_LAUNCH: f64 = 1e-6;
/// The part of DRAM's peak that a copy reaches. Published copies reach 90 to 94 %.
const ACHIEVABLE_DRAM: f64 = 0.94;
/// Percent of the tensor pipe's peak from which declared operations are matrix products: the FP32 pipe has 7 % of it.
const PRODUCTS: f64 = 10.0;
/// Registers per thread, at most.
const MOST_REGISTERS: f64 = 255.0;
/// More bytes than the L2 of any chip holds.
const BEYOND_L2: f64 = 128e6;
/// L2's sectors in percent of its peak rate. Its utilisation as a whole can be that of another part, such as the one for atomics.
const L2_SECTOR_RATE: &str = "lts__t_sectors.avg.pct_of_peak_sustained_elapsed";
/// Percent of the peak of the busiest unit below which ncu's rule SpeedOfLight speaks of latency.
const LATENCY_BOUND: f64 = 60.0;
/// Times that packed half precision on the FMA pipe is at most as fast as single precision.
const PACKED_HALF: f64 = 4.0;
/// Times that 8-bit operands are at most as fast as 16-bit ones on the tensor pipe.
const EIGHT_BITS: f64 = 2.0;

/// What a metric or fact is about.
pub fn scope_of(name: &str) -> RuleScope {
    let is_measured_whole =
        name.starts_with("baseline.") || matches!(Catalogue::embedded().source(name), Some(MetricSource::Latency));
    match fact_named(name) {
        Some(fact) => fact.scope,
        None if is_measured_whole => RuleScope::Evaluation,
        None => RuleScope::Launch,
    }
}

/// Whether GPU and host share one memory.
fn is_integrated(capability: ComputeCapability) -> bool {
    matches!((capability.major, capability.minor), (8, 7) | (10, 1) | (11, 0) | (12, 1))
}

impl CaseFacts<'_> {
    /// A metric or a fact; none if it is unknown.
    pub fn number(&self, name: &str) -> Option<f64> {
        if let Some(of_baseline) = name.strip_prefix("baseline.") {
            return Self { row: self.baseline?, growth: None, launches: None, known: None, ..*self }
                .number(of_baseline);
        }
        if let Some(known) = self.known.and_then(|known| known.by_name.borrow().get(name).copied()) {
            return known;
        }
        let found = self.read(name);
        if let Some(known) = self.known {
            known.by_name.borrow_mut().insert(name.to_owned(), found);
        }
        found
    }

    /// The number of the name at a position of the rule book.
    pub fn number_at(&self, place: usize) -> Option<f64> {
        let cell = self.known.and_then(|known| known.by_place.get(place));
        if let Some(CachedNumber::Read(number)) = cell.map(std::cell::Cell::get) {
            return number;
        }
        let metric = self.table.value_at(self.row, place);
        let found = metric.or_else(|| self.number(self.names.get(place)?));
        if let Some(cell) = cell {
            cell.set(CachedNumber::Read(found));
        }
        found
    }

    fn read(&self, name: &str) -> Option<f64> {
        let found = self.table.value(self.row, name).or_else(|| self.derived(name));
        found.filter(|value| value.is_finite())
    }

    /// A text that a sentence may name.
    pub fn text(&self, name: &str) -> Option<String> {
        match name {
            "grown_dimension" => Some(self.growth?.dimension.clone()),
            "grown_from" => Some(self.growth?.from.to_string()),
            "limiter" => {
                let names: Vec<&str> = self.occupancy()?.limiters.iter().map(|limiter| limiter.name()).collect();
                Some(names.join(" and "))
            }
            "busiest_unit" => Some(self.busiest()?.1.to_owned()),
            "load_reason" => Some(self.load_reason().to_owned()),
            "load_advice" => Some(self.load_advice().to_owned()),
            "short_waits" => Some(self.short_waits()),
            "blocks" => Some(number::counted(self.count("grid_blocks")?, "block")),
            "warps" => Some(format!("{} warps", number::plain(self.warps()?))),
            "resident_blocks" => Some(number::counted(self.count("blocks_per_sm")?, "block")),
            "idle_sms" => {
                let idle = self.count("sms")?.checked_sub(self.count("grid_blocks")?)?;
                let verb = if idle == 1 { "is" } else { "are" };
                let share = number::short(self.number("idle_sms_pct")?);
                Some(format!("{} ({share} %) {verb} idle", number::counted(idle, "SM")))
            }
            _ => None,
        }
    }

    /// The first of the known reasons that holds.
    fn load_reason(&self) -> &'static str {
        let over = |name: &str, least: f64| self.number(name).is_some_and(|value| value >= least);
        let under = |name: &str, most: f64| self.number(name).is_some_and(|value| value < most);
        let waits = |name: &str| self.number(name).unwrap_or_default();
        let loads = waits("waits_for_global_loads_pct");
        match () {
            () if waits("waits_for_atomics_pct") > loads => "mostly for the results of atomics",
            () if waits("waits_for_local_pct") > loads => "mostly for local memory",
            () if under("waves", 0.75) && under("achieved_occupancy", 40.0) => SMALL_GRID,
            () if under("theoretical_occupancy", 50.0) => "few warps fit on an SM",
            () if over("lonely_pct", 30.0) => "some warps run much longer than others",
            () if over("excess_beyond_l1_pct", 25.0) => "they fetch more sectors than they need",
            () if under("l2_hit_pct", 50.0) && over("dram_busy", 40.0) => "most of them miss L2",
            () if over("achieved_occupancy", 50.0) => "each warp has few of them in flight",
            () => "counters do not say why",
        }
    }

    /// The change to try first: a grid that leaves slots of warps empty needs more blocks, before its warps need more loads.
    fn load_advice(&self) -> &'static str {
        match self.load_reason() {
            SMALL_GRID => "launch more blocks: smaller tiles, or a larger grid",
            _ => "load earlier: double buffering, cp.async, or several loads before the first use",
        }
    }

    /// A whole number.
    fn count(&self, name: &str) -> Option<usize> {
        let value = self.number(name).filter(|value| value.fract() == 0.0 && (0.0..1e15).contains(value))?;
        Some(value as usize)
    }

    /// `shared memory 12.1 %, shuffles 3 %` of the samples.
    fn short_waits(&self) -> String {
        const PRODUCERS: [(&str, &str); 5] = [
            ("waits_for_shared_pct", "shared memory"),
            ("waits_for_special_functions_pct", "special functions and conversions"),
            ("waits_for_shuffles_pct", "shuffles"),
            ("waits_for_constants_pct", "constant memory"),
            ("waits_for_atomics_pct", "atomics"),
        ];
        let known = PRODUCERS.into_iter().filter_map(|(name, words)| Some((self.number(name)?, words)));
        let mut waits: Vec<(f64, &str)> = known.filter(|(percent, _)| *percent >= 1.0).collect();
        waits.sort_by(|a, b| b.0.total_cmp(&a.0));
        let words: Vec<String> =
            waits.iter().map(|(percent, words)| format!("{words} {}", number::share(*percent))).collect();
        if words.is_empty() { "the machine code does not say for what".to_owned() } else { words.join(", ") }
    }

    fn derived(&self, name: &str) -> Option<f64> {
        if let Some(stall) = name.strip_prefix(SHARE) {
            return Some(100.0 * self.stall(stall)? / self.warp_cycles()?);
        }
        self.of_signals(name).or_else(|| self.of_chip(name)).or_else(|| self.of_work(name)).or_else(|| match name {
            "warp_cycles" => self.warp_cycles(),
            "idle_issue" => Some(100.0 - self.number("issue_slot_utilisation")?),
            "busiest" => Some(self.busiest()?.0),
            "roofline_pct" => self.roofline(|operations| self.arithmetic_peak(operations)),
            "tensor_roofline_pct" => {
                let peak = self.number(&id::TENSOR_PEAK_FP16)?;
                self.roofline(|_| Some(peak))
            }
            "tensor_rate_pct" => {
                let peak = self.number(&id::TENSOR_PEAK_FP16).or(self.table.tensor_peak())?;
                Some(100.0 * self.work.flops? / (peak * self.seconds()?))
            }
            HEADROOM => Some((100.0 - self.busiest()?.0).max(0.0)),
            "wasted_lanes_pct" => Some(100.0 * (1.0 - self.number("threads_per_inst")? / 32.0)),
            "local_share_pct" => {
                let of_counters = || Some(100.0 * self.number("local_instructions")? / self.number("instructions")?);
                of_counters().or_else(|| self.number("local_access_pct"))
            }
            "outside_pct" => {
                let (latency, duration) = (self.number("latency_p50")?, self.number("duration")? / 1e3);
                let outside = 100.0 * (latency - duration) / latency - self.number("copied_pct").unwrap_or(0.0);
                Some(outside.max(0.0))
            }
            "copied_pct" => {
                let rate = ACHIEVABLE_DRAM * self.number("dram_peak").or(self.chip.dram_peak)?;
                Some((100.0 * self.work.copied_bytes? / rate / (self.number("latency_p50")? * 1e-6)).min(100.0))
            }
            "launches" => Some(self.launches? as f64),
            "launch_duration" => Some(self.number("duration")? / self.launches? as f64),
            "gap_pct" => {
                if self.launches? == 1 {
                    Some(0.0)
                } else {
                    self.number("outside_pct")
                }
            }
            "launch_overhead_pct" => self.launch_overhead(),
            "debug_build" => self.compilation.debug.map(|debug| f64::from(u8::from(debug))),
            "device_optimisation" => self.compilation.optimisation.map(f64::from),
            _ => None,
        })
    }

    /// Percent of the time lost in a partial last wave. Where an SM holds several blocks, those of the last wave share it
    /// with fewer others: a unit that is full the whole time gives them all that the others had, an idle one nothing.
    fn last_wave_idle(&self) -> Option<f64> {
        let waves = self.number("waves").filter(|waves| *waves > 0.0)?;
        let part = waves - waves.floor();
        if part == 0.0 {
            return Some(0.0);
        }
        let fit = self.number("blocks_per_sm").filter(|fit| *fit >= 1.0).unwrap_or(1.0);
        let busy = self.number("busiest").unwrap_or(0.0) / 100.0;
        let left = (part * fit).ceil() / fit;
        let time = waves.floor() + 1.0 - busy.clamp(0.0, 1.0) * (1.0 - left);
        Some((100.0 * (1.0 - waves / time)).max(0.0))
    }

    fn launch_overhead(&self) -> Option<f64> {
        let launches = self.launches?;
        if launches == 1 {
            return Some(0.0);
        }
        let rows = self.table.launches(self.row);
        let each: Vec<f64> = rows.filter_map(|row| self.table.value(row, &id::DURATION)).collect();
        let each = if each.len() == launches { each } else { vec![self.number("launch_duration")?; launches] };
        let total: f64 = each.iter().sum();
        let longest = each.iter().copied().fold(0.0, f64::max).min(START_AND_END);
        let overhead: f64 = each.iter().map(|duration| duration.min(START_AND_END)).sum();
        Some(100.0 * (overhead - longest) / total)
    }

    /// Counters under ncu's own names, and values derived from them.
    fn of_signals(&self, name: &str) -> Option<f64> {
        if let Some((_, counters)) = SIGNALS.iter().find(|(signal, _)| *signal == name) {
            let counted = counters.iter().find_map(|counter| self.table.value(self.row, counter));
            // a chip without a name of the signal has no such unit
            let is_lacking = || signal_counter(counters, self.chip.capability).is_none();
            return counted.or_else(|| is_lacking().then_some(0.0));
        }
        let signal = |name: &str| self.of_signals(name);
        let ratio = |part: f64, whole: f64| (whole > 0.0).then_some(part / whole);
        match name {
            "load_sectors_per_request" => self
                .table
                .value(self.row, "sectors_per_request")
                .or_else(|| ratio(signal("global_load_sectors")?, signal("global_load_requests")?)),
            "store_sectors_per_request" => ratio(signal("global_store_sectors")?, signal("global_store_requests")?),
            "excess_beyond_l1_pct" => {
                let missed = 100.0 - self.number("l1_hit_pct")?;
                let needed = 100.0 - self.number("global_excessive_pct")?;
                ratio(100.0 * (missed - needed).max(0.0), missed)
            }
            "write_excess_pct" => {
                let (loads, stores) = (signal("global_load_sectors")?, signal("global_store_sectors")?);
                let excess = self.number("store_excess_pct").or_else(|| self.number("global_excessive_pct"))?;
                let needed = 32.0 * (stores - excess / 100.0 * (loads + stores)).max(0.0);
                let written = self.number("dram_bytes")? - self.number("dram_read_bytes")?;
                ratio(100.0 * (written - needed).max(0.0), written)
            }
            "atomic_sectors" => Some(signal("atomics")? + signal("reductions")?),
            "atomic_share_pct" => ratio(100.0 * (signal("atomics")? + signal("reductions")?), signal("l2_sectors")?),
            "sm_imbalance_pct" => ratio(100.0 * (signal("longest_sm")? - signal("mean_sm")?), signal("longest_sm")?),
            "slice_imbalance_pct" => {
                ratio(100.0 * (signal("busiest_slice")? - signal("mean_slice")?), signal("busiest_slice")?)
            }
            "system_share_pct" if self.chip.capability.is_some_and(is_integrated) => Some(0.0),
            "system_share_pct" => ratio(100.0 * signal("system_sectors")?, signal("l2_sectors")?),
            _ => None,
        }
    }

    /// Cycles between two instructions of a warp, counted or by Little's law: active warps over instructions per cycle.
    fn warp_cycles(&self) -> Option<f64> {
        let counted = self.number(&id::WARP_LATENCY).filter(|cycles| *cycles > 0.0);
        counted.or_else(|| {
            let issue = self.number("issue_slot_utilisation").filter(|issue| *issue > 0.0)?;
            Some(100.0 * self.number("active_warps")? / issue)
        })
    }

    /// Cycles of a state between two instructions, without other waits that ncu counts in it.
    fn stall(&self, state: &str) -> Option<f64> {
        let counted = self.number(&format!("stall_{state}"))?;
        let others = match state {
            "barrier" => self.number("waits_for_products_pct"),
            "long_scoreboard" => self.number("waits_at_mbarriers_pct"),
            _ => None,
        };
        let others = || Some(others? * self.warp_cycles()? / 100.0);
        Some((counted - others().unwrap_or(0.0)).max(0.0))
    }

    /// Percent of the time that the busiest of the tensor pipe, DRAM and L2 leaves, as far as they were counted.
    pub fn traffic_headroom(&self) -> f64 {
        let known = ["tensor_busy", "tensor_pct", "dram_busy", "l2_busy"].iter().filter_map(|name| self.number(name));
        (100.0 - known.fold(0.0, f64::max)).max(0.0)
    }

    /// Warps of the grid.
    fn warps(&self) -> Option<f64> {
        Some(self.number("grid_blocks")? * (self.number("block_threads")? / f64::from(WARP)).ceil())
    }

    fn busiest(&self) -> Option<(f64, &'static str)> {
        let known = UNITS.into_iter().filter_map(|(name, unit)| Some((self.number(name)?, unit)));
        known.reduce(|most, next| if next.0 > most.0 { next } else { most })
    }

    /// `The busiest counted unit is the tensor pipe, 85.2 % of its peak.` Throughputs that are maxima over all units tell
    /// that warps wait. If the tensor pipe was not counted, the declared
    /// operations may say more.
    pub fn busiest_words(&self) -> Option<String> {
        let is_counted = ["tensor_busy", "tensor_pct"].iter().any(|name| self.number(name).is_some());
        let rate = self.number("tensor_rate_pct").filter(|rate| !is_counted && *rate >= PRODUCTS);
        let rate = rate.map(|rate| {
            format!("The declared operations run at {} of the tensor pipe's FP16 peak.", number::share(rate))
        });
        let is_slack = |name| self.number(name).is_some_and(|percent| percent < LATENCY_BOUND);
        let counted = self.busiest().map(|(percent, unit)| {
            let waits = percent < LATENCY_BOUND && [&*id::SM_PCT, &*id::MEMORY_PCT].into_iter().all(is_slack);
            let (percent, waits) = (number::share(percent), if waits { ": warps mostly wait" } else { "" });
            match rate {
                Some(_) => format!("Of the counted units, {unit} is the busiest, {percent}."),
                None => format!("The busiest counted unit is {unit}, {percent} of its peak{waits}."),
            }
        });
        let words: Vec<String> = rate.into_iter().chain(counted).collect();
        (!words.is_empty()).then(|| words.join(" "))
    }

    fn of_chip(&self, name: &str) -> Option<f64> {
        let sms = || self.chip.sms.map(f64::from);
        match name {
            "sms" => sms(),
            "cc" => self.chip.capability.map(|cc| f64::from(cc.major) + f64::from(cc.minor) / 10.0),
            "idle_sms_pct" => Some(100.0 * (1.0 - self.number("grid_blocks")? / sms()?).max(0.0)),
            "idle_schedulers_pct" => Some(100.0 * (1.0 - self.warps()? / (SCHEDULERS * sms()?)).max(0.0)),
            "idle_lanes_pct" => {
                let threads = self.number("block_threads").filter(|threads| *threads >= 1.0)?;
                Some(100.0 * (1.0 - threads / (32.0 * (threads / 32.0).ceil())))
            }
            "last_wave_idle_pct" => self.last_wave_idle(),
            "dram_busy" => self.number("dram_pct").or_else(|| {
                let peak = self.number("dram_peak").or(self.chip.dram_peak)?;
                Some(100.0 * self.number("dram_bytes")? / (self.number("duration")? * 1e-9) / peak)
            }),
            "freed_pct" => {
                let (occupancy, limits) = (self.occupancy()?, self.occupancy()?.limits);
                let present = f64::from(occupancy.blocks_per_sm);
                let bind = |limiter, limit: u32| if occupancy.limiters.contains(&limiter) { u32::MAX } else { limit };
                // Larger blocks fill the slots of blocks, so only warps limit then.
                let freed = limits
                    .warps
                    .min(bind(Limiter::Registers, limits.registers))
                    .min(bind(Limiter::Shared, limits.shared))
                    .min(bind(Limiter::Blocks, limits.blocks));
                let of_grid = self.number("grid_blocks")? / sms()? / present;
                // a grid that fills the chip exactly once is chosen by its occupancy
                let of_grid = if of_grid == 1.0 { f64::INFINITY } else { of_grid };
                self.saved_by_warps((f64::from(freed) / present).min(of_grid))
            }
            "fill_pct" => {
                let (theoretical, achieved) =
                    (self.number("theoretical_occupancy")?, self.number("achieved_occupancy")?);
                self.saved_by_warps(theoretical / achieved)
            }
            "filled_occupancy" => Some(self.number("theoretical_occupancy")? * self.number("waves")?.min(1.0)),
            "barrier_cycles" => {
                let executed = self.number("barrier_pct").filter(|percent| *percent > 0.0)?;
                Some(100.0 * self.stall("barrier")? / executed)
            }
            "lonely_pct" => {
                Some(100.0 * (1.0 - self.number("achieved_occupancy")? / self.number("filled_occupancy")?).max(0.0))
            }
            "raisable_registers" => self.number("registers").filter(|registers| *registers < MOST_REGISTERS),
            "next_registers" => self.next(|demand, n| Demand { registers: n, ..demand }, |demand| demand.registers, 1),
            "next_shared" => {
                let shared = |demand: &Demand| demand.static_shared + demand.dynamic_shared;
                self.next(|demand, n| Demand { static_shared: n, dynamic_shared: 0, ..demand }, shared, 128)
            }
            "limited_by_registers" => {
                Some(f64::from(u8::from(self.occupancy()?.limiters.contains(&Limiter::Registers))))
            }
            _ => None,
        }
    }

    /// The most that `factor` times the warps save, in percent of the time: each warp issues as often as before, until a
    /// scheduler issues in every cycle.
    fn saved_by_warps(&self, factor: f64) -> Option<f64> {
        let issue = self.number("issue_slot_utilisation")? / 100.0;
        // without limits of the chip the bound is only looser
        let chip = self.chip.capability.and_then(Chip::of);
        let most = chip.and_then(|chip| Some(chip.warps_per_scheduler() / self.number("active_warps")?));
        let factor = factor.min(most.filter(|most| *most > 0.0).map_or(f64::INFINITY, |most| most.max(1.0)));
        (issue > 0.0 && factor > 0.0).then(|| 100.0 * (1.0 - issue.max(1.0 / factor)).max(0.0))
    }

    /// Percent of the time that a launch of the declared work needs: its bytes at the rate of the memory that serves them,
    /// its operations at their peak, and no less than an empty launch. None if that is more than the whole time: then the
    /// declared work is not the work that was done.
    fn roofline(&self, peak: impl Fn(f64) -> Option<f64>) -> Option<f64> {
        let seconds = self.seconds()?;
        let bytes = self.work.bytes.and_then(|bytes| Some(bytes / self.memory_rate(bytes)?));
        let operations = self.work.flops.and_then(|operations| Some(operations / peak(operations)?));
        let needed = bytes.into_iter().chain(operations).fold(EMPTY_LAUNCH, f64::max);
        Some(100.0 * needed / seconds).filter(|percent| *percent > 0.0 && *percent <= 100.0)
    }

    /// The longer of latency and duration.
    fn seconds(&self) -> Option<f64> {
        let time = [self.number("latency_p50").map(|us| us * 1e3), self.number("duration")];
        Some(time.into_iter().flatten().reduce(f64::max)? * 1e-9)
    }

    /// The most operations a second of the pipes in use. A bound needs the highest rate that the operands may have. None
    /// if the tensor pipe may be in use and its peak is unknown.
    fn arithmetic_peak(&self, operations: f64) -> Option<f64> {
        let is_idle = |pipe: &str| self.number(pipe).is_some_and(|busy| busy < 1.0);
        let tensor = self.number(&id::TENSOR_PEAK_FP16);
        if is_idle("tensor_busy") || is_idle("tensor_pct") {
            let times = if is_idle("fp16_busy") { 1.0 } else { PACKED_HALF };
            return self.number(&id::FP32_PEAK).map(|peak| times * peak);
        }
        let counted = [id::TENSOR_OPS_FP16, id::TENSOR_OPS_BF16].into_iter().filter_map(|metric| self.number(&metric));
        let times = if counted.sum::<f64>() >= operations / 2.0 { 1.0 } else { EIGHT_BITS };
        Some(times * tensor?)
    }

    /// Bytes a second: DRAM's for more bytes than L2 holds, else L2's, by its sectors and their percent of its peak.
    fn memory_rate(&self, bytes: f64) -> Option<f64> {
        if bytes > BEYOND_L2 {
            return Some(ACHIEVABLE_DRAM * self.number("dram_peak").or(self.chip.dram_peak)?);
        }
        let busy = self.table.value(self.row, L2_SECTOR_RATE).filter(|busy| *busy >= 1.0)?;
        Some(32.0 * self.number("l2_sectors")? / (self.number("duration")? * 1e-9) / (busy / 100.0))
    }

    fn demand(&self) -> Option<Demand> {
        let whole = |name: &str| self.number(name).map(|value| value.max(0.0) as u32);
        let fixed = whole("static_shared").unwrap_or(0);
        let shared = whole("shared_mem").unwrap_or(fixed);
        Some(Demand {
            registers: whole("registers")?,
            static_shared: fixed.min(shared),
            dynamic_shared: shared.saturating_sub(fixed),
            threads: whole("block_threads")?,
            barriers: 1,
        })
    }

    fn occupancy(&self) -> Option<Occupancy> {
        let chip = Chip::of(self.chip.capability?)?;
        self.demand().map(|demand| theoretical(&chip, &demand, None)).filter(|fits| fits.blocks_per_sm > 0)
    }

    /// The largest demand of one resource, below the present one, that admits another block. Fewer resources never admit
    /// fewer blocks, so bisection finds it.
    fn next(&self, with: impl Fn(Demand, u32) -> Demand, of: impl Fn(&Demand) -> u32, step: u32) -> Option<f64> {
        let chip = Chip::of(self.chip.capability?)?;
        let demand = self.demand()?;
        let present = theoretical(&chip, &demand, None).blocks_per_sm;
        let fits = |n: u32| theoretical(&chip, &with(demand, n), None).blocks_per_sm > present;
        let (mut most, mut least) = (0, of(&demand) / step + 1);
        while least - most > 1 {
            let middle = most + (least - most) / 2;
            if fits(middle * step) { most = middle } else { least = middle }
        }
        (most > 0).then(|| f64::from(most * step))
    }

    fn of_work(&self, name: &str) -> Option<f64> {
        let (bytes, flops) = (self.work.bytes.filter(|b| *b > 0.0), self.work.flops.filter(|f| *f > 0.0));
        match name {
            "minimum_bytes" => bytes,
            "minimum_flops" => flops,
            "f64_buffers" => self.work.has_f64_buffers.map(|has| f64::from(u8::from(has))),
            "buffer_bytes" => self.work.buffer_bytes.filter(|bytes| *bytes > 0.0),
            "buffer_factor" => Some(self.number("dram_bytes")? / self.number("buffer_bytes")?),
            "traffic_factor" => Some(self.number("dram_bytes")? / bytes?),
            "reread_factor" => Some(32.0 * self.number("global_load_sectors")? / bytes?),
            "arithmetic_intensity" => Some(flops? / bytes?),
            "time_growth" => Some(self.growth?.time),
            "work_growth" => Some(self.growth?.work),
            "grid_growth" => self.growth?.grid,
            "serial_growth" => self.growth?.serial,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::case_table::CaseColumns;
    use super::*;
    use ncugate_model::rule::{FACTS, FactSource, RuleFact};
    use ncugate_model::{Cell, Quantities, ShapeName, VariantId};

    fn facts<T>(values: &[(&str, f64)], look: impl Fn(CaseFacts<'_>) -> T) -> T {
        let chip =
            ChipKnowledge { capability: Some(ComputeCapability::new(9, 0)), sms: Some(132), dram_peak: Some(4.8e12) };
        facts_on(&chip, values, look)
    }

    fn facts_on<T>(chip: &ChipKnowledge, values: &[(&str, f64)], look: impl Fn(CaseFacts<'_>) -> T) -> T {
        let (variant, shape) = (VariantId("v".into()), ShapeName("s".into()));
        let mut quantities = Quantities::new([(variant.clone(), shape.clone())]);
        for (metric, value) in values {
            quantities.set_column(metric, vec![Cell::finite(*value)]);
        }
        let columns = CaseColumns::new(&quantities, &[]);
        let table = CaseTable::new(&columns);
        let growth = ShapeGrowth {
            dimension: "B".to_owned(),
            from: ShapeName("b1".into()),
            time: 7.7,
            work: 8.0,
            grid: Some(1.0),
            serial: Some(8.0),
        };
        look(CaseFacts {
            table: &table,
            row: 0,
            baseline: None,
            chip,
            compilation: Compilation { debug: Some(false), optimisation: Some(3) },
            work: DeclaredWork {
                flops: Some(1e9),
                bytes: Some(1e6),
                buffer_bytes: Some(2e6),
                has_f64_buffers: Some(false),
                copied_bytes: Some(1e6),
            },
            growth: Some(&growth),
            launches: Some(3),
            known: None,
            names: &[],
        })
    }

    /// Every declared fact has a value if everything is counted: no fact is a name without a number.
    /// ncu has no duration of a fill: its bytes say what it takes, and only the rest is launch and gaps.
    #[test]
    fn the_time_of_fills_and_copies_is_no_gap() {
        // 1 MB at 94 % of 4.8 TB/s
        let copied = 100.0 * 1e6 / (0.94 * 4.8e12) / 2e-6;
        facts(&[("latency_p50", 2.0), ("duration", 1_000.0)], |facts| {
            assert!((facts.number("copied_pct").unwrap() - copied).abs() < 1e-9);
            assert!((facts.number("gap_pct").unwrap() - (50.0 - copied)).abs() < 1e-9);
        });
    }

    #[test]
    fn every_declared_fact_is_worked_out() {
        let mut values = vec![
            ("issue_slot_utilisation", 40.0),
            ("active_warps", 4.0),
            ("waves", 1.5),
            ("registers", 90.0),
            ("block_threads", 256.0),
            ("shared_mem", 81_920.0),
            ("static_shared", 0.0),
            ("grid_blocks", 100.0),
            ("blocks_per_sm", 2.0),
            ("theoretical_occupancy", 50.0),
            ("achieved_occupancy", 25.0),
            ("dram_bytes", 2e6),
            ("dram_read_bytes", 1e6),
            ("store_excess_pct", 5.0),
            ("duration", 10_000.0),
            ("latency_p50", 11.0),
            ("threads_per_inst", 16.0),
            ("local_instructions", 10.0),
            ("l1_hit_pct", 20.0),
            ("global_excessive_pct", 50.0),
            ("tensor_peak_fp16", 1e15),
            ("barrier_pct", 1.0),
            ("stall_barrier", 1.0),
            ("instructions", 100.0),
        ];
        values.extend(SIGNALS.iter().map(|(_, names)| (names[0], 5.0)));
        values.push(("lts__t_sectors.sum", 1e6));
        // two resources limit here, so reducing one alone admits no other block; the test below covers these facts
        let alone = ["next_registers", "next_shared"];
        // a deep profile provides these
        let is_sampled = |fact: &&RuleFact| fact.source == FactSource::MachineCode || fact.name == "measured_tail_pct";
        let missing: Vec<&str> = facts(&values, |case| {
            FACTS
                .iter()
                .filter(|fact| !is_sampled(fact))
                .map(|fact| fact.name)
                .filter(|name| case.number(name).is_none() && !alone.contains(name))
                .collect()
        });
        assert!(missing.is_empty(), "{missing:?}");
        let texts = ncugate_model::rule::FACT_TEXTS;
        assert!(facts(&values, |case| texts.iter().all(|name| case.text(name).is_some())));
    }

    #[test]
    fn a_unit_that_the_chip_does_not_have_is_idle() {
        let of = |major, minor| {
            let chip =
                ChipKnowledge { capability: Some(ComputeCapability::new(major, minor)), ..ChipKnowledge::default() };
            facts_on(&chip, &[("duration", 1e4)], |case| {
                ["tma_busy", "async_mma_busy", "tensor_busy"].map(|name| case.number(name))
            })
        };
        assert_eq!(of(8, 9), [Some(0.0), Some(0.0), None]);
        assert_eq!(of(12, 0), [None, Some(0.0), None]);
        assert_eq!((of(9, 0), of(10, 0), of(13, 0)), ([None; 3], [None; 3], [None; 3]));
    }

    #[test]
    fn nothing_follows_from_nothing() {
        let known: Vec<&str> = facts(&[("issue_slot_utilisation", f64::NAN)], |case| {
            FACTS.iter().map(|fact| fact.name).filter(|name| case.number(name).is_some()).collect()
        });
        let given = [
            "sms",
            "cc",
            "debug_build",
            "device_optimisation",
            "minimum_bytes",
            "buffer_bytes",
            "minimum_flops",
            "f64_buffers",
        ];
        let grown = ["arithmetic_intensity", "time_growth", "work_growth", "grid_growth", "serial_growth", "launches"];
        // The chip has no tcgen05.
        let absent = ["one_cta_instructions", "two_cta_instructions", "cluster_blocks"];
        assert_eq!(known, [&given[..], &grown, &absent].concat());
    }

    /// 88 registers and 256 threads: two blocks fit, and a third fits at 80 registers or fewer.
    #[test]
    fn the_next_block_needs_fewer_registers() {
        let values = [("registers", 88.0), ("block_threads", 256.0), ("shared_mem", 20_480.0)];
        assert_eq!(facts(&values, |case| case.number("next_registers")), Some(80.0));
        assert_eq!(facts(&values, |case| case.text("limiter")).as_deref(), Some("registers"));
        let values = [("registers", 32.0), ("block_threads", 128.0), ("shared_mem", 100_000.0)];
        assert!(facts(&values, |case| case.number("next_shared")).is_some_and(|bytes| bytes < 100_000.0));
    }

    /// A scheduler of 9.0 holds 16 warps, so that 12.8 of them can be at most 1.25 times as many.
    #[test]
    fn more_warps_save_no_more_than_a_full_scheduler() {
        let saved = |theoretical: f64| {
            let values = [("issue_slot_utilisation", 50.0), ("active_warps", 12.8), ("achieved_occupancy", 20.0)];
            let values = [&values[..], &[("theoretical_occupancy", theoretical)]].concat();
            facts(&values, |case| case.number("fill_pct")).unwrap()
        };
        assert!((saved(25.0) - 20.0).abs() < 1e-9 && (saved(100.0) - 20.0).abs() < 1e-9, "{}", saved(100.0));
        assert!(saved(22.0) < 20.0);
    }

    /// Twice the warps halve the time at most, and never beyond full issue slots.
    #[test]
    fn warps_save_what_they_could_issue() {
        let of = |issue: f64, achieved: f64| {
            let values =
                [("issue_slot_utilisation", issue), ("theoretical_occupancy", 50.0), ("achieved_occupancy", achieved)];
            facts(&values, |case| case.number("fill_pct"))
        };
        assert_eq!(of(20.0, 25.0), Some(50.0));
        assert_eq!(of(80.0, 25.0).map(f64::round), Some(20.0));
        assert_eq!(of(20.0, 50.0), Some(0.0));
    }

    #[test]
    fn warps_wait_if_no_unit_is_busy_and_all_were_counted() {
        let of = |values: &[(&str, f64)]| facts(values, |case| case.busiest_words()).unwrap();
        let waits = of(&[("sm_pct", 23.3), ("memory_pct", 22.0)]);
        assert_eq!(waits, "The busiest counted unit is the SM, 23.3 % of its peak: warps mostly wait.");
        assert!(
            !of(&[("sm_pct", 23.3)]).contains("wait")
                && !of(&[("sm_pct", 23.3), ("memory_pct", 80.0)]).contains("wait")
        );
    }

    #[test]
    fn the_latency_of_loads_has_the_first_reason_that_holds() {
        let of = |values: &[(&str, f64)]| facts(values, |case| case.text("load_reason")).unwrap();
        assert_eq!(of(&[]), "counters do not say why");
        assert_eq!(of(&[("achieved_occupancy", 90.0)]), "each warp has few of them in flight");
        assert_eq!(of(&[("achieved_occupancy", 20.0), ("waves", 0.5)]), "the grid gives each SM few warps");
        let crowded = [("achieved_occupancy", 12.0), ("waves", 31.0), ("theoretical_occupancy", 12.5)];
        assert_eq!(of(&crowded), "few warps fit on an SM");
        assert_eq!(
            of(&[("l2_hit_pct", 10.0), ("dram_pct", 60.0), ("achieved_occupancy", 90.0)]),
            "most of them miss L2"
        );
        assert_eq!(of(&[("waits_for_atomics_pct", 5.0)]), "mostly for the results of atomics");
    }

    #[test]
    fn a_short_scoreboard_waits_for_what_the_machine_code_says() {
        let of = |values: &[(&str, f64)]| facts(values, |case| case.text("short_waits")).unwrap();
        assert_eq!(of(&[]), "the machine code does not say for what");
        let waits = [("waits_for_shared_pct", 3.0), ("waits_for_shuffles_pct", 12.5), ("waits_for_constants_pct", 0.2)];
        assert_eq!(of(&waits), "shuffles 12.5 %, shared memory 3.0 %");
    }

    /// The megabyte of the test needs L2 for 1 microsecond of 10, and 1 Gflop the FP32 pipe for 4.
    #[test]
    fn the_roofline_is_the_dearer_of_bytes_and_operations() {
        let mut values = vec![("duration", 10_000.0), (L2_SECTOR_RATE, 50.0), ("lts__t_sectors.sum", 1e6 / 32.0 * 5.0)];
        let of = |values: &[(&str, f64)]| facts(values, |case| case.number("roofline_pct").map(f64::round));
        assert_eq!(of(&values), Some(10.0));
        values.push(("fp32_peak", 2.5e14));
        values.extend([
            ("tensor_pct", 0.0),
            ("sm__inst_executed_pipe_fma_type_fp16.avg.pct_of_peak_sustained_active", 0.0),
        ]);
        assert_eq!(of(&values), Some(40.0));
        values.push(("latency_p50", 20.0));
        assert_eq!(of(&values), Some(20.0), "the longer of two times makes the looser bound");
        values[0].1 = 2_000.0;
        values[6].1 = 2.0;
        assert_eq!(of(&values), None, "more work than time is not the work that was done");
    }

    /// 1 Gflop of 8-bit operands takes half as long as of 16-bit ones. No peak bounds operations of an unknown pipe, and
    /// nothing is faster than an empty launch.
    #[test]
    fn the_roofline_takes_the_fastest_pipe_that_may_be_in_use() {
        let of = |known: &[(&str, f64)]| {
            let values = [&[("duration", 10_000.0), ("fp32_peak", 1e14)], known].concat();
            facts(&values, |case| case.number("roofline_pct").map(f64::round))
        };
        assert_eq!((of(&[]), of(&[("tensor_pct", 20.0)])), (Some(10.0), Some(10.0)));
        let tensor = ("tensor_peak_fp16", 2e14);
        assert_eq!(of(&[("tensor_pct", 0.0), tensor]), Some(25.0), "packed half precision");
        assert_eq!(of(&[("tensor_pct", 20.0), tensor]), Some(25.0));
        assert_eq!(of(&[("tensor_pct", 20.0), tensor, ("tensor_ops_fp16", 1e9)]), Some(50.0));
    }

    /// L1 holds every sector that is requested again.
    #[test]
    fn excess_sectors_that_l1_holds_are_not_fetched() {
        let of = |hit: f64| {
            facts(&[("l1_hit_pct", hit), ("global_excessive_pct", 75.0)], |case| case.number("excess_beyond_l1_pct"))
        };
        assert_eq!((of(75.0), of(90.0), of(0.0)), (Some(0.0), Some(0.0), Some(75.0)));
        assert_eq!(of(100.0), None);
    }

    #[test]
    fn warp_cycles_follow_from_littles_law() {
        let values = [("issue_slot_utilisation", 25.0), ("active_warps", 4.0), ("stall_barrier", 8.0)];
        assert_eq!(facts(&values, |case| case.number("warp_cycles")), Some(16.0));
        assert_eq!(facts(&values, |case| case.number("share_barrier")), Some(50.0));
    }
}
