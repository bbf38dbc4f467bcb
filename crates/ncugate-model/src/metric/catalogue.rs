//! The parsed catalogue file.

use super::combination::Combination;
use super::definition::{Definition, Formula, ZeroShare};
use super::derivation::{Derivation, EntryFacts, LatencyForm, LatencyMetric, MetricSource};
use super::family::ChipFamily;
use super::order::Order;
use super::signal::known_chips;
use super::transfer::{TransferCost, TransferEffect};
use crate::{Better, ComputeCapability, batch_dimension, glob, is_ncu_metric};
use globset::GlobMatcher;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

const EMBEDDED: &str = include_str!("catalogue.toml");
/// The metric that is named with a dimension.
const BATCH_INVARIANT: &str = "batch_invariant";

/// Repeatability of a metric, which decides how it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// Equal for equal code and launch: judged exactly.
    Deterministic,
    /// A hardware counter: repeats to within its spread.
    Counter,
    /// A statistic of latency samples: judged by an interval.
    Timing,
}

/// A place where reports show metrics by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShownIn {
    /// Measured and shown for every phase.
    Table,
    /// The first columns of tables.
    Lead,
    /// The facts of the selected variant at the top.
    Headline,
    Deep,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LogicalMetric {
    /// The name a gate uses.
    pub name: String,
    pub title: String,
    /// Unit of its value; empty for a count or a ratio.
    pub unit: String,
    /// The direction in which it improves.
    pub better: Better,
    pub kind: MetricKind,
    pub source: MetricSource,
    /// The exact source of the value.
    pub derivation: Derivation,
    /// For a fact of launches or their occupancy: how the launches of one evaluation combine into one value.
    pub launches: Combination,
    /// Places that show it, with its position there.
    show: BTreeMap<ShownIn, u32>,
    /// Coefficient of variation between launches of one kernel, if measured.
    pub spread: Option<f64>,
    /// Its meaning and its pitfalls.
    pub description: String,
    /// By the name of a family, or by a compute capability that differs from its family.
    formulas: BTreeMap<String, Formula>,
    absent_on: Vec<String>,
    /// What a chip without it has in its place.
    instead: Option<String>,
}

impl LogicalMetric {
    /// Whether it is known without a GPU: from the cubin, the launch and the limits of the chip.
    pub fn is_static(&self) -> bool {
        matches!(self.source, MetricSource::Build | MetricSource::Launch | MetricSource::Occupancy)
    }

    /// Its formula on a chip as the catalogue writes it, over counters and other metrics.
    pub fn formula(&self, cc: ComputeCapability) -> Option<&Formula> {
        let (chip, family) = (cc.to_string(), ChipFamily::of(cc)?);
        let formula = self.formulas.get(&chip).or_else(|| self.formulas.get(family.name()));
        formula.filter(|_| !self.absent_on.contains(&chip))
    }
}

/// Why a metric has no definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// Neither in the catalogue nor the name of an ncu metric.
    /// `nearest`: the most similar name.
    #[error("unknown metric `{name}`{}", .nearest.as_ref().map_or_else(String::new, |n| format!("; did you mean `{n}`?")))]
    Unknown { name: String, nearest: Option<String> },
    /// The chip is unknown.
    #[error("the measuring GPU is unknown, so the counters of `{name}` are unknown")]
    NoChip { name: String },
    /// The chip is older or newer than the catalogue.
    #[error("compute capability {cc} is not in the metric catalogue; use ncu's metric names on this chip")]
    Chip { cc: ComputeCapability },
    /// The chip does not have it.
    /// `cc`: the chip's compute capability.
    /// `instead`: what the chip has in its place.
    #[error("metric `{name}` does not exist on compute capability {cc}{}", .instead.as_ref().map_or_else(String::new, |i| format!(": {i}")))]
    Absent { name: String, cc: ComputeCapability, instead: Option<String> },
    /// It does not come from Nsight Compute.
    #[error("ncu does not count metric `{name}`")]
    NotCounted { name: String },
}

/// Every logical metric, in the order of the file.
#[derive(Debug, Clone)]
pub struct Catalogue {
    metrics: Vec<LogicalMetric>,
    index: HashMap<String, usize>,
    /// How launches combine into one value of a counter, by ncu's name: the first match counts.
    combinations: Vec<(GlobMatcher, Combination)>,
    orders: Vec<Order>,
    /// Upper bounds of the effect of fills and copies on a counter, by ncu's name.
    transfers: HashMap<String, TransferCost>,
    /// The definitions that are equal on all chips of the catalogue, by metric.
    shared: OnceLock<HashMap<String, Definition>>,
}

impl Catalogue {
    /// The catalogue that ships with the program.
    #[expect(clippy::panic, reason = "the file is embedded at build time and a test parses it")]
    pub fn embedded() -> &'static Self {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| Self::parse(EMBEDDED).unwrap_or_else(|e| panic!("embedded metric catalogue: {e}")))
    }

    /// How the values of a counter in the launches of one evaluation combine; by ncu's name.
    pub fn combination(&self, counter: &str) -> Combination {
        let found = self.combinations.iter().find(|(pattern, _)| pattern.is_match(counter));
        found.map_or(Combination::Longest, |(_, how)| *how)
    }

    /// The effect of fills and copies, which ncu does not count, on a metric.
    pub fn transfer_effect(&self, definition: &Definition) -> TransferEffect {
        let cost = |counter: &str| self.transfers.get(counter).copied();
        TransferEffect::of(definition, cost, |counter| self.combination(counter))
    }

    /// A logical metric by name; that of `batch_invariant("B")` is `batch_invariant`.
    pub fn get(&self, name: &str) -> Option<&LogicalMetric> {
        let name = if batch_dimension(name).is_some() { BATCH_INVARIANT } else { name };
        self.index.get(name).map(|&at| &self.metrics[at])
    }

    /// Every metric, in the order of the file.
    pub fn metrics(&self) -> &[LogicalMetric] {
        &self.metrics
    }

    /// Every name, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.metrics.iter().map(|m| m.name.as_str())
    }

    /// The most similar name, as a suggestion. For a single word, the leading metric that ends with it comes first:
    /// `achieved_occupancy` for `occupency`.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let has_word = |metric: &'_ str| metric.split('_').any(|word| crate::is_near(name, word));
        let leading = self.shown(ShownIn::Headline).chain(self.shown(ShownIn::Lead));
        let by_word = leading.filter(|_| !name.contains(['_', '.'])).find(|metric| has_word(metric));
        by_word.or_else(|| crate::nearest(name, self.names()))
    }

    /// Whether a gate can name it: a logical metric or an ncu metric.
    pub fn knows(&self, name: &str) -> bool {
        is_ncu_metric(name) || (name != BATCH_INVARIANT && self.get(name).is_some())
    }

    /// The source of a metric; an ncu metric under its own name is counted.
    pub fn source(&self, name: &str) -> Option<MetricSource> {
        self.get(name).map(|metric| metric.source).or_else(|| is_ncu_metric(name).then_some(MetricSource::Ncu))
    }

    /// The derivation of a metric; an ncu metric under its own name is a counter.
    pub fn derivation(&self, name: &str) -> Option<Derivation> {
        self.get(name).map(|metric| metric.derivation).or_else(|| is_ncu_metric(name).then_some(Derivation::Counters))
    }

    /// How a metric follows from latency samples, if it does.
    pub fn latency(&self, name: &str) -> Option<LatencyMetric> {
        match self.derivation(name)? {
            Derivation::Latency(latency) => Some(latency),
            _ => None,
        }
    }

    /// The order relations between metrics.
    pub(super) fn orders(&self) -> &[Order] {
        &self.orders
    }

    /// The metrics shown there, in their order.
    pub fn shown(&self, place: ShownIn) -> impl Iterator<Item = &str> {
        let mut shown: Vec<(u32, &str)> =
            self.metrics.iter().filter_map(|m| Some((*m.show.get(&place)?, m.name.as_str()))).collect();
        shown.sort_by_key(|(place, _)| *place);
        shown.into_iter().map(|(_, name)| name)
    }

    /// The counters to collect for a metric on a chip. An ncu metric is its own definition, and the reader provides its unit.
    pub fn definition(&self, name: &str, cc: Option<ComputeCapability>) -> Result<Definition, MetricError> {
        if is_ncu_metric(name) {
            return Ok(Definition::verbatim(name, String::new()));
        }
        let metric = self.get(name).ok_or_else(|| MetricError::Unknown {
            name: name.to_owned(),
            nearest: self.nearest(name).map(str::to_owned),
        })?;
        if metric.formulas.is_empty() {
            return Err(MetricError::NotCounted { name: name.to_owned() });
        }
        let cc = cc.ok_or_else(|| MetricError::NoChip { name: name.to_owned() })?;
        if ChipFamily::of(cc).is_none() {
            return Err(MetricError::Chip { cc });
        }
        let formula = metric
            .formula(cc)
            .and_then(|formula| self.spelt_out(formula, cc))
            .ok_or_else(|| MetricError::Absent { name: name.to_owned(), cc, instead: metric.instead.clone() })?;
        Ok(Definition { formula, unit: metric.unit.clone() })
    }

    /// The definition for a report that exists, to show and compare, never to judge. On a chip outside of the catalogue
    /// or an unknown one, it is the one that all chips of the catalogue share: counters of these names exist on other chips
    /// too.
    pub fn shown_definition(&self, name: &str, cc: Option<ComputeCapability>) -> Result<Definition, MetricError> {
        match self.definition(name, cc) {
            Err(error @ (MetricError::Chip { .. } | MetricError::NoChip { .. })) => {
                self.shared().get(name).cloned().ok_or(error)
            }
            other => other,
        }
    }

    fn shared(&self) -> &HashMap<String, Definition> {
        self.shared.get_or_init(|| {
            let definition = |name: &str| {
                let mut all = known_chips().map(|chip| self.definition(name, Some(chip)).ok());
                let first = all.next()??;
                all.all(|other| other.as_ref() == Some(&first)).then_some(first)
            };
            self.names().filter_map(|name| Some((name.to_owned(), definition(name)?))).collect()
        })
    }

    /// A formula with counters in place of metrics; none if the chip has no metric of a list.
    fn spelt_out(&self, formula: &Formula, cc: ComputeCapability) -> Option<Formula> {
        let counters = |names: &[String]| {
            let all: Vec<String> = names.iter().flat_map(|name| self.counters(name, cc)).collect();
            (!all.is_empty()).then_some(all)
        };
        Some(match formula {
            Formula::Sum(names) => Formula::Sum(counters(names)?),
            Formula::Share { factor, part, whole, empty, zero } => Formula::Share {
                factor: *factor,
                part: counters(part)?,
                whole: counters(whole)?,
                empty: empty.clone(),
                zero: zero.clone(),
            },
            Formula::Product { .. } => formula.clone(),
        })
    }

    /// The counters of a term: its own name, or those of a metric that is a sum; empty if the chip lacks the metric.
    fn counters(&self, term: &str, cc: ComputeCapability) -> Vec<String> {
        if self.get(term).is_none() {
            return vec![term.to_owned()];
        }
        match self.definition(term, Some(cc)) {
            Ok(Definition { formula: Formula::Sum(names), .. }) => names,
            _ => Vec::new(),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: RawCatalogue = toml::from_str(text).map_err(|e| e.to_string())?;
        let metrics = file.metric.into_iter().chain(file.stall.into_iter().map(RawMetric::from));
        let metrics: Vec<LogicalMetric> = metrics.map(RawMetric::understood).collect::<Result<_, _>>()?;
        let index: HashMap<String, usize> = metrics.iter().enumerate().map(|(at, m)| (m.name.clone(), at)).collect();
        if index.len() != metrics.len() {
            return Err("a name is defined twice".into());
        }
        let combinations = file.combination.iter().map(RawCombination::understood).collect::<Result<Vec<_>, _>>()?;
        let costs = |raw: RawTransfer| raw.counters.into_iter().map(move |name| (name, raw.adds));
        let transfers = file.transfer.into_iter().flat_map(costs).collect();
        Ok(Self {
            metrics,
            index,
            combinations: combinations.into_iter().flatten().collect(),
            transfers,
            orders: file.order,
            shared: OnceLock::new(),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCatalogue {
    #[serde(default)]
    combination: Vec<RawCombination>,
    #[serde(default)]
    order: Vec<Order>,
    #[serde(default)]
    transfer: Vec<RawTransfer>,
    #[serde(default)]
    stall: Vec<RawStall>,
    metric: Vec<RawMetric>,
}

/// A warp state.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStall {
    /// `stall_` and ncu's name of the state.
    name: String,
    title: String,
    #[serde(default)]
    better: Better,
    description: String,
    #[serde(default)]
    absent_on: Vec<String>,
    #[serde(default)]
    only_on: Vec<String>,
}

impl From<RawStall> for RawMetric {
    fn from(stall: RawStall) -> Self {
        let RawStall { name, title, better, description, absent_on, only_on } = stall;
        let state = name.trim_start_matches("stall_");
        Self {
            title: format!("Stall: {title}"),
            unit: "cycle".to_owned(),
            show: BTreeMap::from([(ShownIn::Deep, 29)]),
            ncu: Some(format!("smsp__average_warps_issue_stalled_{state}_per_issue_active.ratio")),
            name,
            better,
            description,
            absent_on,
            only_on,
            ..Self::default()
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCombination {
    how: Combination,
    counters: Vec<String>,
}

impl RawCombination {
    fn understood(&self) -> Result<Vec<(GlobMatcher, Combination)>, String> {
        let pattern = |text: &String| Ok((glob(text).map_err(|e| format!("'{text}': {e}"))?, self.how));
        self.counters.iter().map(pattern).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTransfer {
    counters: Vec<String>,
    adds: TransferCost,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMetric {
    name: String,
    title: String,
    #[serde(default)]
    unit: String,
    better: Better,
    kind: Option<MetricKind>,
    #[serde(default)]
    source: MetricSource,
    fact: Option<String>,
    statistic: Option<String>,
    form: Option<LatencyForm>,
    launches: Option<Combination>,
    #[serde(default)]
    show: BTreeMap<ShownIn, u32>,
    spread: Option<f64>,
    description: String,
    ncu: Option<String>,
    ncu_by_chip: Option<BTreeMap<String, Vec<String>>>,
    sum: Option<Vec<String>>,
    part: Option<Vec<String>>,
    whole: Option<Vec<String>>,
    product: Option<Vec<String>>,
    factor: Option<f64>,
    empty: Option<String>,
    #[serde(default)]
    never_zero: bool,
    #[serde(default)]
    zero_without: Vec<String>,
    #[serde(default)]
    absent_on: Vec<String>,
    #[serde(default)]
    only_on: Vec<String>,
    instead: Option<String>,
}

impl RawMetric {
    fn understood(self) -> Result<LogicalMetric, String> {
        let formulas = self.formulas()?;
        if self.source == MetricSource::Ncu && formulas.is_empty() {
            return Err(format!("'{}' comes from ncu and has no formula", self.name));
        }
        let is_fact = !matches!(self.source, MetricSource::Ncu | MetricSource::Latency);
        let fact = self.fact.as_deref().or(is_fact.then_some(&self.name));
        let says = EntryFacts { fact, statistic: self.statistic.as_deref(), form: self.form };
        let derivation = Derivation::of(self.source, &says).map_err(|e| format!("'{}': {e}", self.name))?;
        Ok(LogicalMetric {
            name: self.name,
            title: self.title,
            unit: self.unit,
            better: self.better,
            kind: self.kind.unwrap_or(match self.source {
                MetricSource::Ncu => MetricKind::Counter,
                MetricSource::Latency => MetricKind::Timing,
                _ => MetricKind::Deterministic,
            }),
            source: self.source,
            derivation,
            launches: self.launches.unwrap_or(Combination::Greatest),
            show: self.show,
            spread: self.spread,
            description: self.description,
            formulas,
            absent_on: self.absent_on,
            instead: self.instead,
        })
    }

    fn formulas(&self) -> Result<BTreeMap<String, Formula>, String> {
        if let Some(table) = &self.ncu_by_chip {
            let of_chip = |(chip, names): (&String, &Vec<String>)| Ok((self.chip(chip)?, Formula::Sum(names.clone())));
            return table.iter().map(of_chip).collect();
        }
        let Some(formula) = self.formula()? else { return Ok(BTreeMap::new()) };
        let chips: Vec<String> = match self.only_on.as_slice() {
            [] => ChipFamily::ALL.map(|family| family.name().to_owned()).to_vec(),
            chips => chips.iter().map(|chip| self.chip(chip)).collect::<Result<_, _>>()?,
        };
        Ok(chips.into_iter().map(|chip| (chip, formula.clone())).collect())
    }

    fn formula(&self) -> Result<Option<Formula>, String> {
        match (&self.ncu, &self.sum, &self.part, &self.whole, &self.product) {
            (None, None, None, None, None) => Ok(None),
            (Some(name), None, None, None, None) => Ok(Some(Formula::Sum(vec![name.clone()]))),
            (None, Some(names), None, None, None) => Ok(Some(Formula::Sum(names.clone()))),
            (None, None, Some(part), Some(whole), None) => Ok(Some(Formula::Share {
                factor: self.factor.unwrap_or(100.0),
                part: part.clone(),
                whole: whole.clone(),
                empty: self.empty.clone().ok_or_else(|| format!("'{}' has no 'empty'", self.name))?,
                zero: self.zero(),
            })),
            (None, None, None, None, Some(names)) => {
                Ok(Some(Formula::Product { factor: self.factor.unwrap_or(1.0), names: names.clone() }))
            }
            _ => Err(format!("'{}' has more than one formula, or half of one", self.name)),
        }
    }

    fn zero(&self) -> ZeroShare {
        match (self.never_zero, self.zero_without.as_slice()) {
            (true, _) => ZeroShare::Uncounted,
            (false, []) => ZeroShare::Counted,
            (false, absent) => ZeroShare::Without(absent.to_vec()),
        }
    }

    /// The name of a family, or a compute capability of one.
    fn chip(&self, chip: &str) -> Result<String, String> {
        let numbers = chip.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let known = numbers.and_then(|numbers: (u32, u32)| ChipFamily::of(numbers.into()));
        known.map(|_| chip.to_owned()).ok_or_else(|| format!("'{}' names chip '{chip}', which is unknown", self.name))
    }
}

#[cfg(test)]
mod tests;
