//! What defects that were put into a kernel on purpose did to its counters and its time, and which of them another kernel looks like.
//!
//! A signature is what a pair of variants says: the same kernel without and with one defect. Its counters are those that the defect
//! moved most, of a list that does not depend on how much work a kernel has to do.

use super::rule_book::RuleBook;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Inversions that ship with the program: `ncugate explain RUN --signatures` writes such a file.
const SHIPPED: [&str; 1] = [include_str!("signatures/h200.json")];

/// Counters of a signature: those that a defect moved most.
const MOST: usize = 3;
/// Steps from which a counter belongs to a signature.
const LEAST_STEPS: f64 = 1.0;
/// Steps beyond which a counter weighs no more.
const MOST_STEPS: f64 = 4.0;
/// Percentage points, and the factor, that are one step.
const POINTS: f64 = 5.0;
/// See [`POINTS`].
const FACTOR: f64 = 1.5;
/// How alike a kernel is at least to a defect that it is said to look like: 0 is the kernel without it, 1 the kernel with it.
const ALIKE: f64 = 0.6;
/// Share of the weight of a signature's counters that has to be known.
const KNOWN: f64 = 0.6;

/// How a quantity is compared between kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// By percentage points.
    Points,
    /// By ratio; it is positive.
    Factor,
    /// By ratio; it may be 0.
    Count,
}

/// What a signature may consist of. None of them says how large the problem is, or needs a workload, which reports of other programs lack.
const TRAITS: [(&str, Scale); 23] = [
    ("debug_build", Scale::Count),
    ("block_threads", Scale::Factor),
    ("spills", Scale::Count),
    ("local_bytes", Scale::Count),
    ("local_share_pct", Scale::Points),
    ("load_sectors_per_request", Scale::Factor),
    ("store_sectors_per_request", Scale::Factor),
    ("bank_conflict_pct", Scale::Points),
    ("wasted_lanes_pct", Scale::Points),
    ("share_barrier", Scale::Points),
    ("share_branch_resolving", Scale::Points),
    ("share_drain", Scale::Points),
    ("share_imc_miss", Scale::Points),
    ("share_lg_throttle", Scale::Points),
    ("share_long_scoreboard", Scale::Points),
    ("share_math_pipe_throttle", Scale::Points),
    ("share_membar", Scale::Points),
    ("share_mio_throttle", Scale::Points),
    ("share_no_instruction", Scale::Points),
    ("share_short_scoreboard", Scale::Points),
    ("share_sleeping", Scale::Points),
    ("share_tex_throttle", Scale::Points),
    ("share_wait", Scale::Points),
];

/// Names of what a signature may consist of.
pub fn traits() -> impl Iterator<Item = &'static str> {
    TRAITS.iter().map(|(name, _)| *name)
}

/// A chip that something was measured on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredChip {
    /// `NVIDIA H200`.
    pub name: String,
    /// `9.0`.
    pub compute_capability: String,
    pub sms: u32,
}

/// What each defect did to one kernel on one chip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inversion {
    pub family: String,
    pub kernel: String,
    pub shape: String,
    /// The variant without a defect.
    pub without: String,
    pub chip: MeasuredChip,
    /// The defects, the costliest first.
    pub defects: Vec<DefectSignature>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DefectSignature {
    /// The variant with it.
    pub defect: String,
    pub rule: String,
    /// How much more time it takes.
    pub cost: MeasuredCost,
    /// Its opposite: what to try.
    pub opposite: String,
    /// The counters that it moved most, the largest move first.
    pub counters: Vec<SignatureCounter>,
}

/// More time than without a defect, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredCost {
    /// By the medians.
    pub percent: f64,
    /// Lower end of the bootstrap interval at 95 %.
    pub low: f64,
    pub high: f64,
}

/// A counter without and with a defect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SignatureCounter {
    /// Metric or fact.
    pub name: String,
    /// Of the kernel without the defect.
    pub without: f64,
    /// Of the kernel with it.
    pub with: f64,
}

/// A defect that a kernel looks like.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SignatureMatch {
    pub defect: String,
    /// The phase that measured it.
    pub family: String,
    pub chip: MeasuredChip,
    /// Whether that is the chip at hand.
    pub on: ChipMatch,
    pub cost: MeasuredCost,
    /// How alike the two are, from 0 to 1.
    pub likeness: f64,
    /// Counters nearer to the kernel with the defect than to the one without.
    pub alike: usize,
    /// Counters of the signature that are known of both.
    pub compared: usize,
    pub opposite: String,
}

/// Whether a defect was measured on the chip at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChipMatch {
    /// On a chip of this name.
    Same,
    /// On another.
    Other,
    /// The chip at hand is not known.
    Unknown,
}

/// Inversions to look in.
#[derive(Debug, Clone, Default)]
pub struct SignatureBook {
    /// Those of the user, then those that ship.
    inversions: Vec<Inversion>,
    /// How many of them are the user's.
    own: usize,
}

impl SignatureBook {
    /// Those that ship with the program.
    #[expect(clippy::panic, reason = "the files are embedded at build time and a test parses them")]
    pub fn shipped() -> &'static Self {
        static BOOK: OnceLock<SignatureBook> = OnceLock::new();
        BOOK.get_or_init(|| {
            let parse = |text: &&str| serde_json::from_str(text).unwrap_or_else(|e| panic!("embedded signatures: {e}"));
            Self { inversions: SHIPPED.iter().map(parse).collect(), own: 0 }
        })
    }

    /// With inversions of the user's.
    #[must_use]
    pub fn with(&self, own: Vec<Inversion>) -> Self {
        Self { own: own.len() + self.own, inversions: own.into_iter().chain(self.inversions.iter().cloned()).collect() }
    }

    /// The defect of a rule that a kernel looks like: one measured on this chip before one of another, one of the user's before one that
    /// ships, the most alike first. None where too few of its counters are known.
    pub fn find(&self, rule: &str, chip: Option<&str>, read: impl Fn(&str) -> Option<f64>) -> Option<SignatureMatch> {
        let of = |(at, inversion): (usize, &Inversion)| {
            let defects = inversion.defects.iter().filter(|defect| defect.rule == rule);
            let found = defects.filter_map(|defect| Some((at < self.own, defect.matched(inversion, chip, &read)?)));
            found.collect::<Vec<(bool, SignatureMatch)>>()
        };
        let found = self.inversions.iter().enumerate().flat_map(of);
        let best = found.max_by(|(own_a, a), (own_b, b)| {
            let here = |found: &SignatureMatch| found.on == ChipMatch::Same;
            here(a).cmp(&here(b)).then(own_a.cmp(own_b)).then(a.likeness.total_cmp(&b.likeness))
        });
        best.map(|(_, found)| found)
    }
}

impl Inversion {
    /// Reads a file of signatures.
    ///
    /// # Errors
    /// It is not one, or it names no defect, a rule or counter that is not known, or a cost outside of its interval: what is wrong.
    pub fn parse(text: &str, rules: &RuleBook) -> Result<Self, String> {
        let read: Self =
            serde_json::from_str(text).map_err(|error| format!("it is not a file of signatures: {error}"))?;
        if read.defects.is_empty() {
            return Err("it names no defect".to_owned());
        }
        for defect in &read.defects {
            if rules.rules().iter().all(|rule| rule.id != defect.rule) {
                return Err(format!(
                    "its defect '{}' names the rule '{}', which is not there",
                    defect.defect, defect.rule
                ));
            }
            let unknown = defect.counters.iter().find(|counter| Scale::of(&counter.name).is_none());
            if let Some(counter) = unknown {
                let name = &counter.name;
                return Err(format!("its defect '{}' has the counter '{name}', which no signature has", defect.defect));
            }
            if defect.counters.is_empty() || !defect.cost.is_ordered() {
                return Err(format!(
                    "its defect '{}' has no counters, or a cost outside of its interval",
                    defect.defect
                ));
            }
        }
        Ok(read)
    }
}

impl MeasuredCost {
    fn is_ordered(&self) -> bool {
        self.low <= self.percent && self.percent <= self.high
    }
}

impl DefectSignature {
    /// Looks for the counters that a defect moved: numbers of the kernel without and with it.
    pub fn counters(
        without: &impl Fn(&str) -> Option<f64>,
        with: &impl Fn(&str) -> Option<f64>,
    ) -> Vec<SignatureCounter> {
        let moved = |(name, scale): &(&str, Scale)| {
            let counter = SignatureCounter { name: (*name).to_owned(), without: without(name)?, with: with(name)? };
            let steps = scale.steps(&counter)?;
            // a state that another one leaves less room is not a sign of that other one
            let is_sign = steps > 0.0 || *scale == Scale::Factor;
            (is_sign && steps.abs() >= LEAST_STEPS).then_some((steps.abs(), counter))
        };
        let mut moved: Vec<(f64, SignatureCounter)> = TRAITS.iter().filter_map(moved).collect();
        moved.sort_by(|a, b| b.0.total_cmp(&a.0));
        moved.into_iter().take(MOST).map(|(_, counter)| counter).collect()
    }

    fn matched(
        &self,
        inversion: &Inversion,
        chip: Option<&str>,
        read: &impl Fn(&str) -> Option<f64>,
    ) -> Option<SignatureMatch> {
        let (mut whole, mut known, mut sum) = (0.0, 0.0, 0.0);
        let (mut alike, mut compared) = (0, 0);
        for counter in &self.counters {
            let Some(scale) = Scale::of(&counter.name) else { continue };
            let Some(steps) = scale.steps(counter).filter(|steps| *steps != 0.0) else { continue };
            let weight = steps.abs().min(MOST_STEPS);
            whole += weight;
            let Some(way) = read(&counter.name).and_then(|value| scale.way(counter, value)) else { continue };
            known += weight;
            sum += weight * way.clamp(0.0, 1.0);
            compared += 1;
            alike += usize::from(way >= 0.5);
        }
        let likeness = sum / known;
        (known > 0.0 && known >= KNOWN * whole && likeness >= ALIKE).then(|| SignatureMatch {
            defect: self.defect.clone(),
            family: inversion.family.clone(),
            chip: inversion.chip.clone(),
            on: match chip {
                Some(name) if name == inversion.chip.name => ChipMatch::Same,
                Some(_) => ChipMatch::Other,
                None => ChipMatch::Unknown,
            },
            cost: self.cost,
            likeness,
            alike,
            compared,
            opposite: self.opposite.clone(),
        })
    }
}

impl Scale {
    fn of(name: &str) -> Option<Self> {
        TRAITS.iter().find(|(known, _)| *known == name).map(|(_, scale)| *scale)
    }

    /// A value in steps.
    fn place(self, value: f64) -> Option<f64> {
        let place = match self {
            Self::Points => value / POINTS,
            Self::Factor => value.ln() / FACTOR.ln(),
            Self::Count => value.ln_1p() / FACTOR.ln(),
        };
        place.is_finite().then_some(place)
    }

    /// From the kernel without to the one with the defect.
    fn steps(self, counter: &SignatureCounter) -> Option<f64> {
        Some(self.place(counter.with)? - self.place(counter.without)?)
    }

    /// How far a value lies on that way: 0 without, 1 with.
    fn way(self, counter: &SignatureCounter, value: f64) -> Option<f64> {
        Some((self.place(value)? - self.place(counter.without)?) / self.steps(counter)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(chip: &str) -> SignatureBook {
        let without = |name: &str| {
            [("bank_conflict_pct", 0.0), ("share_wait", 30.0), ("share_barrier", 4.0), ("share_drain", 30.0)]
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        };
        let with = |name: &str| {
            [("bank_conflict_pct", 50.0), ("share_wait", 50.0), ("share_barrier", 5.0), ("share_drain", 0.0)]
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        };
        let defect = DefectSignature {
            defect: "unpadded".to_owned(),
            rule: "bank_conflicts".to_owned(),
            cost: MeasuredCost { percent: 31.0, low: 30.8, high: 31.2 },
            opposite: "pad rows".to_owned(),
            counters: DefectSignature::counters(&without, &with),
        };
        let chip = MeasuredChip { name: chip.to_owned(), compute_capability: "9.0".to_owned(), sms: 132 };
        let inversion = Inversion {
            family: "inversion".to_owned(),
            kernel: "k.cu".to_owned(),
            shape: "large".to_owned(),
            without: "good".to_owned(),
            chip,
            defects: vec![defect],
        };
        SignatureBook::default().with(vec![inversion])
    }

    #[test]
    fn a_signature_has_the_counters_that_moved_most() {
        let book = book("NVIDIA H200");
        let names: Vec<&str> = book.inversions[0].defects[0].counters.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names,
            ["bank_conflict_pct", "share_wait"],
            "a point of barriers is not one, and less of a state is not"
        );
    }

    #[test]
    fn a_kernel_looks_like_a_defect_by_its_counters_and_its_rule() {
        let book = book("NVIDIA H200");
        let like = |conflicts: f64, wait: f64| {
            move |name: &str| match name {
                "bank_conflict_pct" => Some(conflicts),
                "share_wait" => Some(wait),
                _ => None,
            }
        };
        let found = book.find("bank_conflicts", Some("NVIDIA H200"), like(80.0, 45.0)).unwrap();
        assert_eq!((found.alike, found.compared, found.on), (2, 2, ChipMatch::Same));
        assert!(found.likeness > 0.8 && found.cost.percent == 31.0, "{found:?}");
        assert_eq!(book.find("barriers", Some("NVIDIA H200"), like(80.0, 45.0)), None, "of another rule");
        assert_eq!(
            book.find("bank_conflicts", Some("NVIDIA H200"), like(12.0, 30.0)),
            None,
            "more like the good kernel"
        );
        assert_eq!(book.find("bank_conflicts", None, |_| None), None, "nothing is known");
        assert_eq!(
            book.find("bank_conflicts", None, |name| (name == "share_wait").then_some(60.0)),
            None,
            "too little is known"
        );
    }

    #[test]
    fn another_chip_is_told() {
        let read = |_: &str| Some(60.0);
        let on = |chip: Option<&str>| book("NVIDIA H200").find("bank_conflicts", chip, read).map(|found| found.on);
        assert_eq!(on(Some("NVIDIA L4")), Some(ChipMatch::Other));
        assert_eq!(on(None), Some(ChipMatch::Unknown));
    }

    #[test]
    fn the_shipped_signatures_are_understood_and_name_rules_and_counters_that_exist() {
        assert!(!SignatureBook::shipped().inversions.is_empty());
        for text in SHIPPED {
            let inversion = Inversion::parse(text, RuleBook::shipped()).unwrap();
            assert!(inversion.defects.iter().all(|defect| !defect.opposite.is_empty()));
        }
    }

    #[test]
    fn a_users_inversion_goes_before_a_shipped_one_of_the_same_chip() {
        let own = |chip: &str| {
            let mut own = book(chip).inversions.remove(0);
            own.family = "mine".to_owned();
            own
        };
        let read = |name: &str| match name {
            "bank_conflict_pct" => Some(60.0),
            "share_wait" => Some(50.0),
            "share_mio_throttle" | "share_short_scoreboard" => Some(30.0),
            _ => None,
        };
        let family =
            |book: &SignatureBook| book.find("bank_conflicts", Some("NVIDIA H200"), read).map(|found| found.family);
        assert_eq!(family(SignatureBook::shipped()).as_deref(), Some("inversion"));
        assert_eq!(family(&SignatureBook::shipped().with(vec![own("NVIDIA H200")])).as_deref(), Some("mine"));
        assert_eq!(family(&SignatureBook::shipped().with(vec![own("NVIDIA L4")])).as_deref(), Some("inversion"));
    }

    #[test]
    fn a_file_of_signatures_that_means_nothing_is_refused() {
        let refused = |from: &str, to: &str| {
            let text = SHIPPED[0].replace(from, to);
            assert_ne!(text, SHIPPED[0], "{from}");
            Inversion::parse(&text, RuleBook::shipped()).unwrap_err()
        };
        assert!(
            refused("\"rule\": \"debug_build\"", "\"rule\": \"debug_bild\"")
                .contains("the rule 'debug_bild', which is not there")
        );
        assert!(refused("share_wait", "share_waiting").contains("the counter 'share_waiting'"));
        assert!(refused("\"low\": 14600.5", "\"low\": 14700.5").contains("a cost outside of its interval"));
        assert!(Inversion::parse("{}", RuleBook::shipped()).unwrap_err().starts_with("it is not a file of signatures"));
        let none = Inversion { defects: Vec::new(), ..book("NVIDIA H200").inversions.remove(0) };
        let none = serde_json::to_string(&none).unwrap();
        assert_eq!(Inversion::parse(&none, RuleBook::shipped()).unwrap_err(), "it names no defect");
    }
}
