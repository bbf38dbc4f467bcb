//! `[[gate]]`, `[[tier]]`, `[[stage]]`, `[fallback]`, `[[precondition]]`, `[[waiver]]`.

use super::names::{is_glob, matching, no_duplicates, suggest};
use super::scope::NameScope;
use crate::config::keys::{FALLBACK, GATE, Key, PRECONDITION, ROOT, STAGE, TIER, WAIVER};
use crate::config::reader::{Item, Table};
use crate::config::{Buffer, Fallback, Gate, GatePlan, OnStageFailure, Precondition, Shape, Stage, Tier, Waiver};
use jiff::civil::Date;
use ncugate_model::expr::{Expr, Owner, Quantity, Reference, Requirement, Source, Span};
use ncugate_model::metric::{Catalogue, MetricSource};
use ncugate_model::{
    CleanText, GlobError, Level, OnInconclusive, Role, Scope, ShapeName, batch_dimension, differ_alone_in,
};
use std::collections::BTreeMap;

/// Removed metrics, and what to use instead.
const REMOVED: [(&str, &str); 1] = [(
    "energy_per_launch",
    "`energy_per_launch` is removed; read the board's power outside of ncugate: `nvidia-smi --query-gpu=power.draw --format=csv -lms 100`",
)];

/// The names that requirements can use in addition to metrics.
pub struct Vocabulary<'n> {
    pub metrics: &'n Catalogue,
    /// Dimensions, parameters, scalars, `cc`, `dtype`.
    pub values: Vec<String>,
    /// Baselines, variants and stages for `owner.metric` and `speedup("...")`.
    pub subjects: Vec<String>,
    pub shapes: &'n [Shape],
    pub buffers: &'n [Buffer],
    /// The shape of a gate that names no shapes.
    pub default_shape: Option<ShapeName>,
    /// Whether the variants are launches of ncu reports: then nothing is timed, compared or selected.
    pub of_reports: bool,
    /// The current day, which limits waivers; none for the stored text of a run.
    pub today: Option<Date>,
}

/// Defaults of the gates of a group, if they differ from the defaults of the keys.
#[derive(Clone, Default)]
struct GroupDefaults {
    on: Option<Scope>,
    level: Option<Level>,
}

/// What to use instead of a removed metric that a text names.
fn removal(text: &str) -> Option<String> {
    REMOVED.iter().find(|(name, _)| text.contains(name)).map(|(_, instead)| (*instead).to_owned())
}

impl Vocabulary<'_> {
    /// Reads an array of shape names.
    pub fn shape_list(&self, item: &Item<'_>) -> Vec<ShapeName> {
        let mut named: Vec<ShapeName> = Vec::new();
        for item in &item.some_list() {
            let Some(text) = item.text().filter(|text| is_glob(text)) else {
                let Some(name) = self.shape(item) else { continue };
                if named.contains(&name) {
                    item.report(format!("`{}` names the shape `{name}` twice", item.place.key), None);
                }
                named.push(name);
                continue;
            };
            let declared: Vec<&str> = self.shapes.iter().map(|shape| shape.name.0.as_str()).collect();
            for name in matching(item, &text, &declared).into_iter().map(|name| ShapeName(name.into())) {
                if !named.contains(&name) {
                    named.push(name);
                }
            }
        }
        named
    }

    /// Reads the name of a declared shape.
    pub fn shape(&self, item: &Item<'_>) -> Option<ShapeName> {
        let text = item.text()?;
        let declared = || self.shapes.iter().map(|shape| shape.name.0.as_str());
        if declared().any(|name| name == text) {
            return Some(ShapeName(text.into()));
        }
        item.report(
            format!("`{}` names the undeclared shape `{text}`", item.place.key),
            Some(suggest(&text, declared())),
        );
        None
    }

    /// Reads the name of a metric.
    pub fn metric(&self, item: &Item<'_>) -> Option<String> {
        let text = item.text()?;
        if self.metrics.knows(&text) {
            if let Some((flaw, help)) = self.batch_flaw(&text) {
                item.report(format!("`{}` names `{text}`, but {flaw}", item.place.key), Some(help.to_owned()));
            }
            return Some(text);
        }
        let help = self.unknown(&text, &[]);
        item.report(format!("`{}` names the unknown metric `{text}`", item.place.key), Some(help));
        None
    }

    /// Why rows cannot be compared over the extents of the dimension in `batch_invariant("B")`, and what to do.
    fn batch_flaw(&self, metric: &str) -> Option<(String, &'static str)> {
        let dimension = batch_dimension(metric)?;
        let alone = |a: &Shape| self.shapes.iter().any(|b| differ_alone_in(dimension, &a.dims, &b.dims));
        if !self.shapes.iter().any(alone) {
            let flaw = format!("no two shapes differ in `{dimension}` alone");
            return Some((flaw, "add a shape with another extent of it to `[workload.shapes]`"));
        }
        // Rows of a smaller extent are the first ones along an axis, so the dimension must be the outermost part of it.
        let first = format!("{dimension} *");
        let is_batch = |extent: &str| extent == dimension || extent.starts_with(&first);
        let names = |extent: &&Expr| extent.names().iter().any(|(name, _)| name == dimension);
        let flawed = |buffer: &&Buffer| {
            let axes: Vec<&Expr> = buffer.shape.iter().filter(names).collect();
            let is_rowless = buffer.role.is_compared() && axes.is_empty();
            let is_inner = axes.len() > 1 || axes.iter().any(|axis| !is_batch(axis.text()));
            buffer.role != Role::Scratch && (is_rowless || is_inner)
        };
        let buffer = self.buffers.iter().find(flawed)?;
        let flaw = format!("`{dimension}` is not the outermost part of one axis of `{}`", buffer.name);
        Some((flaw, "write the axis as the dimension or as a product that begins with it: `B`, `B * H`"))
    }

    /// The nearest name and a pointer to the list.
    fn unknown(&self, name: &str, values: &[String]) -> String {
        if let Some(instead) = removal(name) {
            return instead;
        }
        let all = self.metrics.names().chain(values.iter().map(String::as_str));
        let hint = ncugate_model::nearest(name, all).map_or_else(String::new, |n| format!("did you mean `{n}`? "));
        let known = if values.is_empty() { String::new() } else { format!("; values: {}", values.join(", ")) };
        format!(
            "{hint}docs/metrics.md lists the metrics; write a metric of ncu with its suffix, such as `sm__cycles_active.avg`{known}"
        )
    }

    /// Reads a requirement and checks every name in it.
    fn requirement(&self, item: &Item<'_>) -> Option<Requirement> {
        let text = item.text()?;
        let requirement = match Requirement::parse(&text) {
            Ok(requirement) => requirement,
            Err(e) => {
                item.report_within(text.trim(), e.span(), format!("`{}`: {e}", item.place.key), removal(&text));
                return None;
            }
        };
        for (reference, span) in requirement.references() {
            if let Reference::Quantity(quantity) = reference {
                self.check_quantity(item, &requirement, quantity, span);
            }
            if let (Reference::Speedup { .. }, true) = (reference, self.of_reports) {
                self.report_unseen(item, &requirement, "a latency, which a speedup compares,", span);
            }
            self.check_owner(item, &requirement, reference.owner(), span);
        }
        if !requirement.references().iter().all(|(reference, _)| self.knows(reference)) {
            return Some(requirement);
        }
        match requirement.in_units(&|reference| self.unit(reference)) {
            Ok(requirement) => {
                self.check_trivial(item, &requirement);
                Some(requirement)
            }
            Err(e) => {
                let message = format!("`{}` is \"{requirement}\": {}", item.place.key, e.reason);
                let help = "a limit without a unit is in the unit of its metric (docs/metrics.md)";
                item.report_within(requirement.text(), Some(e.span), message, Some(help.to_owned()));
                None
            }
        }
    }

    /// The unit of a metric, empty if it has none; `None` if the reference is not measured.
    fn unit(&self, reference: &Reference) -> Option<&str> {
        match reference {
            Reference::Quantity(Quantity { name, .. }) if self.metrics.knows(name) => {
                Some(self.metrics.get(name).map_or("", |metric| metric.unit.as_str()))
            }
            Reference::Quantity(_) => None,
            Reference::Speedup { .. } => Some(""),
        }
    }

    /// A requirement that no measurement of its variant decides would pass everything.
    fn check_trivial(&self, item: &Item<'_>, requirement: &Requirement) {
        let source = |reference: &Reference| match reference {
            Reference::Quantity(Quantity { owner: Owner::Case, name }) if self.metrics.knows(name) => {
                let (least, most) = self.metrics.range(name);
                Source::Own { least, most }
            }
            Reference::Speedup { .. } => Source::Own { least: 1e-6, most: 1e6 },
            Reference::Quantity(_) => Source::Other,
        };
        let settle = |values: &mut BTreeMap<&str, f64>| self.metrics.settle(values);
        let Some(trivial) = requirement.trivial(&source, &settle) else { return };
        let text = requirement.text();
        let part = text.get(trivial.span.range()).unwrap_or(text);
        let which = if part == text { String::new() } else { format!(", where `{part}`") };
        let message = format!(
            "`{}` is \"{text}\"{which}{} {}",
            item.place.key,
            if which.is_empty() { ", which" } else { "" },
            trivial.reason
        );
        let help = "compare a metric of the variant with a limit that it can miss, such as `latency_p50 <= 30 us`";
        item.report_within(text, Some(trivial.span), message, Some(help.to_owned()));
    }

    /// The names that can follow an owner, or stand alone for the judged variant.
    fn values_of(&self, owner: &Owner) -> &[String] {
        if *owner == Owner::Case { self.values.as_slice() } else { &[] }
    }

    fn knows(&self, reference: &Reference) -> bool {
        match reference {
            Reference::Quantity(Quantity { owner, name }) => {
                self.metrics.knows(name) || self.values_of(owner).contains(name)
            }
            Reference::Speedup { .. } => true,
        }
    }

    fn check_quantity(&self, item: &Item<'_>, requirement: &Requirement, quantity: &Quantity, span: Span) {
        let Quantity { owner, name } = quantity;
        let values = self.values_of(owner);
        if !self.metrics.knows(name) && !values.contains(name) {
            let message = format!("`{}` is \"{requirement}\"; `{name}` is unknown", item.place.key);
            item.report_within(requirement.text(), Some(span), message, Some(self.unknown(name, values)));
        }
        if let Some((flaw, help)) = self.batch_flaw(name) {
            let message = format!("`{}` is \"{requirement}\", but {flaw}", item.place.key);
            item.report_within(requirement.text(), Some(span), message, Some(help.to_owned()));
        }
        let unseen = matches!(self.metrics.source(name), Some(MetricSource::Latency | MetricSource::Check));
        if self.of_reports && unseen {
            self.report_unseen(item, requirement, &format!("`{name}`"), span);
        }
    }

    /// Reports references that no ncu report contains.
    fn report_unseen(&self, item: &Item<'_>, requirement: &Requirement, what: &str, span: Span) {
        let message = format!("`{}` is \"{requirement}\": {what} is not in ncu reports", item.place.key);
        let help = "ncu reports have counters; use `duration` for the time under ncu".to_owned();
        item.report_within(requirement.text(), Some(span), message, Some(help));
    }

    fn check_owner(&self, item: &Item<'_>, requirement: &Requirement, owner: &Owner, span: Span) {
        let Owner::Named(name) = owner else { return };
        if !self.subjects.contains(name) {
            let key = &item.place.key;
            let message = format!("`{key}` compares with `{name}`, which is not a baseline, variant or stage");
            let words = ["baseline", "previous", "best"].into_iter();
            let help = suggest(name, words.chain(self.subjects.iter().map(String::as_str)));
            item.report_within(requirement.text(), Some(span), message, Some(help));
        }
    }

    /// The default of `on`, if it differs from that of the key: there is no selection among launches of reports.
    fn default_scope(&self) -> Option<Scope> {
        self.of_reports.then_some(Scope::Each)
    }

    fn scope(&self, item: &Item<'_>) -> Option<Scope> {
        let parsed = item.text()?.parse();
        let scope = parsed.map_err(|e: GlobError| item.expected("a glob of variant ids", Some(e.reason))).ok()?;
        if self.of_reports && scope == Scope::Selected {
            let help = "name the variant or a glob; `best:GLOB` takes the one with the shortest duration".to_owned();
            item.report("launches of ncu reports have no selected variant", Some(help));
        }
        Some(scope)
    }

    /// Reads a gate written as a table, or as the text of its requirement.
    fn gate(&self, item: &Item<'_>, defaults: &GroupDefaults) -> Option<Gate> {
        let table = item.table_or(&GATE.require)?;
        let name = table.get(&GATE.name).map(|item| item.text().map(CleanText::from));
        let require = table.read(&GATE.require, |item| self.requirement(item));
        let shapes = match table.get(&GATE.shapes) {
            Some(item) => self.shape_list(&item),
            None => self.default_shape.iter().cloned().collect(),
        };
        let at_least = table.get(&GATE.at_least).and_then(|item| item.count().map(|count| (item, count)));
        if let (Some((item, count)), false) = (&at_least, shapes.is_empty())
            && usize::try_from(*count).is_ok_and(|count| count > shapes.len())
        {
            item.expected(&format!("at most {}, the number of the gate's shapes", shapes.len()), None);
        }
        all_of!(Gate {
            name: name.unwrap_or_else(|| Some(require.as_ref()?.shown())),
            require: require,
            on: table.read_or(&GATE.on, defaults.on.clone(), |item| self.scope(item)),
            level: table.read_or(&GATE.level, defaults.level, |item| item.one_of(&Level::WORDS)),
            shapes: Some(shapes),
            at_least: Some(at_least.map(|(_, count)| count)),
            inconclusive: table.read(&GATE.inconclusive, |item| item.one_of(&OnInconclusive::WORDS)),
            line: Some(item.line()),
        })
    }

    /// Reads the gates of a list; their names must differ.
    fn gates(&self, items: &[Item<'_>], defaults: &GroupDefaults) -> Vec<Gate> {
        let gates: Vec<(Gate, Item<'_>)> =
            items.iter().filter_map(|item| Some((self.gate(item, defaults)?, item.clone()))).collect();
        no_duplicates("gate", gates.iter().map(|(gate, item)| (gate.name.as_str(), item.clone())));
        gates.into_iter().map(|(gate, _)| gate).collect()
    }

    /// Reads `[[gate]]`.
    pub fn flat(&self, items: &[Item<'_>]) -> Vec<Gate> {
        self.gates(items, &GroupDefaults { on: self.default_scope(), level: None })
    }

    /// Reads everything about gates beyond `[[gate]]`, whose gates are `flat`.
    pub fn plan(&self, root: &Table<'_>, flat: &[Gate]) -> GatePlan {
        let tiers = self.named(root, &ROOT.tier, &TIER.name, |table, name| self.tier(table, name));
        let stages = self.named(root, &ROOT.stage, &STAGE.name, |table, name| self.stage(table, name));
        let fallback = root.read(&ROOT.fallback, |item| self.fallback(&item.table()?));
        let preconditions = root.list(&ROOT.precondition);
        let preconditions = preconditions.iter().filter_map(|item| self.precondition(&item.table()?)).collect();
        let plan = GatePlan { tiers, stages, fallback, preconditions, waivers: Vec::new() };
        let mut names: Vec<&str> = flat.iter().chain(plan.gates()).map(|gate| gate.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let waivers =
            root.list(&ROOT.waiver).iter().filter_map(|item| waiver(&item.table()?, &names, self.today)).collect();
        GatePlan { waivers, ..plan }
    }

    /// Reads the tables of a key; their `name` must differ.
    fn named<T>(
        &self,
        root: &Table<'_>,
        key: &'static Key,
        name: &'static Key,
        read: impl Fn(&Table<'_>, String) -> Option<T>,
    ) -> Vec<T> {
        let tables: Vec<(Table<'_>, Item<'_>)> =
            root.list(key).into_iter().filter_map(|item| Some((item.table()?, item))).collect();
        let names: Vec<String> =
            tables.iter().map(|(table, _)| table.read(name, Item::name).unwrap_or_default()).collect();
        let given = names.iter().zip(&tables).filter(|(name, _)| !name.is_empty());
        no_duplicates(key.name, given.map(|(name, (_, item))| (name.as_str(), item.clone())));
        tables.iter().zip(&names).filter_map(|((table, _), name)| read(table, name.clone())).collect()
    }

    fn tier(&self, table: &Table<'_>, name: String) -> Option<Tier> {
        let required = table.read(&TIER.required, Item::boolean);
        let on = table.read_or(&TIER.on, self.default_scope(), |item| self.scope(item));
        let level = if required == Some(true) { Level::Required } else { Level::Advisory };
        let gates = self.gates(&table.get(&TIER.require)?.some_list(), &GroupDefaults { on, level: Some(level) });
        Some(Tier { name: name.into(), gates, required: required?, line: table.line() })
    }

    fn stage(&self, table: &Table<'_>, name: String) -> Option<Stage> {
        let variant = table.read(&STAGE.variant, variants);
        let expect = table.read(&STAGE.expect, range);
        let gates = self.gates(&table.list(&STAGE.require), &GroupDefaults::default());
        let on_failure = table.read(&STAGE.on_failure, |item| item.one_of(&OnStageFailure::WORDS));
        Some(Stage { name: name.into(), variant: variant?, expect, gates, on_failure: on_failure?, line: table.line() })
    }

    fn fallback(&self, table: &Table<'_>) -> Option<Fallback> {
        let variant = table.read(&FALLBACK.variant, variants);
        let gates = self.gates(&table.get(&FALLBACK.require)?.some_list(), &GroupDefaults::default());
        Some(Fallback { variant: variant?, gates, line: table.line() })
    }

    fn precondition(&self, table: &Table<'_>) -> Option<Precondition> {
        let dims = super::workload::dims_of(self.shapes);
        let words = ["cc".to_owned(), "dtype".to_owned()];
        let scope = NameScope::new("the dimensions, `cc` and `dtype`", dims.into_iter().chain(words));
        let condition = table.read(&PRECONDITION.require, |item| scope.expr(item))?.value;
        let name = table.get(&PRECONDITION.name).map_or_else(|| Some(condition.text().to_owned()), |item| item.text());
        Some(Precondition { name: name?.into(), condition, line: table.line() })
    }
}

/// A glob of variant ids.
fn variants(item: &Item<'_>) -> Option<String> {
    item.glob("a glob of variant ids")
}

fn range(item: &Item<'_>) -> Option<(f64, f64)> {
    let ends: Vec<f64> = item.list().iter().filter_map(|end| end.number("a speedup above 0", |v| v > 0.0)).collect();
    match ends.as_slice() {
        [low, high] if low <= high => Some((*low, *high)),
        _ => {
            item.expected("two speedups, the lower first", Some("expect = [1.10, 1.15]".to_owned()));
            None
        }
    }
}

/// A reason of enough words to say something.
pub fn reason(item: &Item<'_>) -> Option<String> {
    let reason = item.text()?;
    if !Waiver::is_reason(&reason) {
        item.expected(&format!("a reason of at least {} words", Waiver::FEWEST_WORDS), None);
    }
    Some(reason)
}

/// `gates` are the names of all gates, sorted.
fn waiver(table: &Table<'_>, gates: &[&str], today: Option<Date>) -> Option<Waiver> {
    let gate = table.read(&WAIVER.gate, |item| {
        let text = CleanText::from(item.text()?);
        if gates.binary_search(&text.as_str()).is_err() {
            let message = format!("`{}` names the undeclared gate `{text}`", item.place.key);
            item.report(message, Some(suggest(&text, gates.iter().copied())));
        }
        Some(text)
    });
    let expires = table.read(&WAIVER.expires, |item| {
        let expires = item.date()?;
        if let Some(last) = today.map(Waiver::latest).filter(|last| expires > *last) {
            let help = "choose an earlier day, and review the waiver then".to_owned();
            item.expected(&format!("a day within {} days, no later than {last}", Waiver::LONGEST), Some(help));
        }
        Some(expires)
    });
    all_of!(Waiver {
        gate: gate,
        variant: table.read(&WAIVER.variant, variants).map(Into::into),
        reason: table.read(&WAIVER.reason, reason).map(Into::into),
        owner: table.read(&WAIVER.owner, Item::text).map(Into::into),
        expires: expires,
        line: Some(table.line()),
    })
}
