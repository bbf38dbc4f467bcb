//! Numbers derived from metrics, the chip and the plan, which rules read in addition to metrics.

use super::case_table::{CachedNumber, CaseTable, KnownNumbers};
use super::growth::{DeclaredWork, ShapeGrowth};
use ncugate_model::ComputeCapability;
use ncugate_model::metric::{Catalogue, MetricSource, SIGNALS, id, signal_counter};
use ncugate_model::occupancy::{Chip, Demand, Occupancy, theoretical};
use ncugate_phase::config::rule::SHARE;

/// Facts about the chip.
#[derive(Debug, Clone, Default)]
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

/// Nanoseconds of a launch in which the chip is not full, because blocks start or end.
const START_AND_END: f64 = 2_000.0;

/// Whether a number is of a whole evaluation, so that a single one of several launches does not have it.
pub fn is_of_evaluation(name: &str) -> bool {
    const FACTS: [&str; 16] = [
        "debug_build",
        "device_optimisation",
        "minimum_bytes",
        "minimum_flops",
        "traffic_factor",
        "reread_factor",
        "arithmetic_intensity",
        "time_growth",
        "work_growth",
        "grid_growth",
        "serial_growth",
        "outside_pct",
        "launches",
        "launch_duration",
        "gap_pct",
        "launch_overhead_pct",
    ];
    FACTS.contains(&name)
        || name.starts_with("baseline.")
        || Catalogue::embedded().source(name) == Some(MetricSource::Latency)
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
            _ => None,
        }
    }

    fn derived(&self, name: &str) -> Option<f64> {
        if let Some(stall) = name.strip_prefix(SHARE) {
            let cycles = self.number(&format!("stall_{stall}"))?;
            return Some(100.0 * cycles / self.warp_cycles()?);
        }
        self.of_signals(name).or_else(|| self.of_chip(name)).or_else(|| self.of_work(name)).or_else(|| match name {
            "warp_cycles" => self.warp_cycles(),
            "idle_issue" => Some(100.0 - self.number("issue_slot_utilisation")?),
            "busiest" => Some(self.busiest()?.0),
            "headroom" => Some((100.0 - self.busiest()?.0).max(0.0)),
            "wasted_lanes_pct" => Some(100.0 * (1.0 - self.number("threads_per_inst")? / 32.0)),
            "local_share_pct" => Some(100.0 * self.number("local_instructions")? / self.number("instructions")?),
            "outside_pct" => {
                let (latency, duration) = (self.number("latency_p50")?, self.number("duration")? / 1e3);
                Some((100.0 * (latency - duration) / latency).max(0.0))
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
            "launch_overhead_pct" => {
                let launches = self.launches? as f64;
                let further = 100.0 * (launches - 1.0) / launches;
                let share = |duration: f64| further * (START_AND_END / duration).min(1.0);
                if further == 0.0 { Some(0.0) } else { self.number("launch_duration").map(share) }
            }
            "debug_build" => self.compilation.debug.map(|debug| f64::from(u8::from(debug))),
            "device_optimisation" => self.compilation.optimisation.map(f64::from),
            _ => None,
        })
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
            "atomic_sectors" => Some(signal("atomics")? + signal("reductions")?),
            "atomic_share_pct" => ratio(100.0 * (signal("atomics")? + signal("reductions")?), signal("l2_sectors")?),
            "sm_imbalance_pct" => ratio(100.0 * (signal("longest_sm")? - signal("mean_sm")?), signal("longest_sm")?),
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

    fn busiest(&self) -> Option<(f64, &'static str)> {
        let known = UNITS.into_iter().filter_map(|(name, unit)| Some((self.number(name)?, unit)));
        known.reduce(|most, next| if next.0 > most.0 { next } else { most })
    }

    fn of_chip(&self, name: &str) -> Option<f64> {
        let sms = || self.chip.sms.map(f64::from);
        match name {
            "sms" => sms(),
            "cc" => self.chip.capability.map(|cc| f64::from(cc.major) + f64::from(cc.minor) / 10.0),
            "idle_sms_pct" => Some(100.0 * (1.0 - self.number("grid_blocks")? / sms()?).max(0.0)),
            "last_wave_idle_pct" => {
                let waves = self.number("waves").filter(|waves| *waves > 0.0)?;
                Some(100.0 * (waves.ceil() - waves) / waves.ceil())
            }
            "dram_busy" => self.number("dram_pct").or_else(|| {
                let peak = self.number("dram_peak").or(self.chip.dram_peak)?;
                Some(100.0 * self.number("dram_bytes")? / (self.number("duration")? * 1e-9) / peak)
            }),
            "more_blocks_pct" => {
                let blocks = f64::from(self.occupancy()?.blocks_per_sm);
                (self.number("waves")? >= 1.0).then_some(())?;
                self.saved_by_warps((blocks + 1.0) / blocks)
            }
            "fill_pct" => {
                let (theoretical, achieved) =
                    (self.number("theoretical_occupancy")?, self.number("achieved_occupancy")?);
                self.saved_by_warps(theoretical / achieved)
            }
            "next_registers" => self.next(|demand, n| Demand { registers: n, ..demand }, |demand| demand.registers, 1),
            "next_shared" => {
                let shared = |demand: &Demand| demand.static_shared + demand.dynamic_shared;
                self.next(|demand, n| Demand { static_shared: n, dynamic_shared: 0, ..demand }, shared, 128)
            }
            "limited_by_registers" | "limited_by_shared" | "limited_by_block_slots" => {
                use ncugate_model::occupancy::Limiter::{Blocks, Registers, Shared};
                let which = match name {
                    "limited_by_registers" => Registers,
                    "limited_by_shared" => Shared,
                    _ => Blocks,
                };
                Some(f64::from(u8::from(self.occupancy()?.limiters.contains(&which))))
            }
            _ => None,
        }
    }

    /// Percent of the time saved by `factor` times the warps. Each of n warps is assumed ready in a cycle with the same
    /// probability p, independently. A scheduler then issues in 1 - (1 - p)^n of the cycles, so p follows from the
    /// counters.
    fn saved_by_warps(&self, factor: f64) -> Option<f64> {
        let issue = self.number("issue_slot_utilisation")? / 100.0;
        let warps = self.number("active_warps").filter(|warps| *warps > 0.0)?;
        if !(issue > 0.0 && issue < 1.0 && factor >= 1.0) {
            return None;
        }
        // without limits of the chip the bound is only looser
        let most = self.chip.capability.and_then(Chip::of).map_or(f64::INFINITY, |chip| chip.warps_per_scheduler());
        let more = 1.0 - (1.0 - issue).powf(factor.min((most / warps).max(1.0)));
        Some(100.0 * (1.0 - issue / more))
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
    use ncugate_judge::frame::Quantities;
    use ncugate_model::{Cell, ShapeName, VariantId};
    use ncugate_phase::config::rule::FACTS;

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
            work: DeclaredWork { flops: Some(1e9), bytes: Some(1e6) },
            growth: Some(&growth),
            launches: Some(3),
            known: None,
            names: &[],
        })
    }

    /// Every declared fact has a value if everything is counted: no fact is a name without a number.
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
            ("theoretical_occupancy", 50.0),
            ("achieved_occupancy", 25.0),
            ("dram_bytes", 2e6),
            ("duration", 10_000.0),
            ("latency_p50", 11.0),
            ("threads_per_inst", 16.0),
            ("local_instructions", 10.0),
            ("instructions", 100.0),
        ];
        values.extend(SIGNALS.iter().map(|(_, names)| (names[0], 5.0)));
        // two resources limit here, so reducing one alone admits no other block; the test below covers these facts
        let alone = ["next_registers", "next_shared"];
        let missing: Vec<&str> = facts(&values, |case| {
            FACTS
                .iter()
                .map(|fact| fact.name)
                .filter(|name| case.number(name).is_none() && !alone.contains(name))
                .collect()
        });
        assert!(missing.is_empty(), "{missing:?}");
        let texts = ["grown_dimension", "grown_from", "limiter", "busiest_unit"];
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
        let given = ["sms", "cc", "debug_build", "device_optimisation", "minimum_bytes", "minimum_flops"];
        let grown = ["arithmetic_intensity", "time_growth", "work_growth", "grid_growth", "serial_growth", "launches"];
        assert_eq!(known, [&given[..], &grown].concat());
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
        let full = 100.0 * (1.0 - 0.5 / (1.0 - 0.5_f64.powf(1.25)));
        assert!((saved(25.0) - full).abs() < 1e-9 && (saved(100.0) - full).abs() < 1e-9, "{}", saved(100.0));
        assert!(saved(22.0) < full);
    }

    #[test]
    fn warp_cycles_follow_from_littles_law() {
        let values = [("issue_slot_utilisation", 25.0), ("active_warps", 4.0), ("stall_barrier", 8.0)];
        assert_eq!(facts(&values, |case| case.number("warp_cycles")), Some(16.0));
        assert_eq!(facts(&values, |case| case.number("share_barrier")), Some(50.0));
    }
}
