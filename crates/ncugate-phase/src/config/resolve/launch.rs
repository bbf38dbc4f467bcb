//! `[[kernel.launch]]`: the steps of an evaluation, and the keys of a launch, some of them inherited from `[kernel]`.

use super::argument;
use super::names::{KernelNames, identifier, suggest};
use super::scope::NameScope;
use crate::config::keys::{COPY, KERNEL, Key, L2_WINDOW, LAUNCH};
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{
    ArgTemplate, CodeForm, DynamicArray, L2WindowTemplate, LaunchTemplate, LoopTemplate, StepAction, StepTemplate,
};
use ncugate_model::expr::{Expr, Template};
use ncugate_model::{L2Property, LaunchMode};

/// Keys of a launch in one table, with places for checks.
#[derive(Debug, Clone, Default)]
pub struct LaunchParts {
    pub entry: Option<PlacedValue<Template>>,
    grid: Option<Vec<PlacedValue<Expr>>>,
    block: Option<Vec<PlacedValue<Expr>>>,
    cluster: Option<Vec<PlacedValue<Expr>>>,
    dynamic_shared: Option<Vec<(Option<String>, PlacedValue<Expr>)>>,
    /// Dynamic shared memory as a constant of the source; then `dynamic_shared` has no array.
    pub shared_constant: Option<PlacedValue<Template>>,
    cooperative: Option<PlacedValue<bool>>,
    pdl: Option<PlacedValue<bool>>,
    carveout: Option<PlacedValue<Expr>>,
    l2_window: Option<L2WindowParts>,
    pub args: Option<Vec<PlacedValue<ArgTemplate>>>,
    workspace: Option<Vec<PlacedValue<Expr>>>,
    /// Keys of the table, whether or not their values are valid.
    pub present: Vec<&'static Key>,
}

/// Those of `present` that a kernel of another kind inherits: its arguments, and the grid unless host code computes it.
pub fn of_another_kind(present: &[&'static Key], code: CodeForm) -> Vec<&'static Key> {
    let is_inherited = |key: &&Key| *key == &KERNEL.args || (*key == &KERNEL.grid && code != CodeForm::Host);
    present.iter().copied().filter(is_inherited).collect()
}

impl LaunchParts {
    /// Reads the keys of a launch in `[kernel]` or `[[kernel.launch]]`.
    pub fn read(table: &Table<'_>) -> Self {
        let exprs = |item: Item<'_>| item.axes().iter().filter_map(Item::expr).collect::<Vec<_>>();
        let flag = |item: Item<'_>| Some(item.with(item.boolean()?));
        Self {
            entry: table.given(&LAUNCH.entry).and_then(|item| item.template()),
            grid: table.given(&LAUNCH.grid).map(exprs),
            block: table.given(&LAUNCH.block).map(exprs),
            cluster: table.given(&LAUNCH.cluster).map(exprs),
            dynamic_shared: table.given(&LAUNCH.dynamic_shared).map(|item| dynamic_shared(&item)),
            shared_constant: table.given(&LAUNCH.dynamic_shared).and_then(|item| constant(&item)),
            cooperative: table.given(&LAUNCH.cooperative).and_then(flag),
            pdl: None,
            carveout: table.given(&LAUNCH.carveout).and_then(|item| item.expr()),
            l2_window: table.given(&LAUNCH.l2_window).and_then(|item| L2WindowParts::read(&item)),
            args: table.given(&LAUNCH.args).map(|item| argument::args(&item)),
            workspace: table.given(&LAUNCH.workspace).map(exprs),
            present: LAUNCH
                .spec
                .keys
                .iter()
                .filter(|key| KERNEL.spec.key(key.name).is_some() && table.has(key))
                .collect(),
        }
    }

    /// These parts, completed by `base`.
    pub fn over(mut self, base: &Self) -> Self {
        let constant = base.shared_constant.clone().filter(|_| self.dynamic_shared.is_none());
        self.present.extend(&base.present);
        inherit! {
            self over base: entry grid block cluster dynamic_shared cooperative pdl carveout l2_window args workspace;
            shared_constant: self.shared_constant.or(constant), present: self.present
        }
    }

    /// The keys that a kernel of another kind inherits.
    pub fn of_another_kind(&self, code: CodeForm) -> Self {
        let present = of_another_kind(&self.present, code);
        let grid = self.grid.clone().filter(|_| present.contains(&&KERNEL.grid));
        Self { grid, args: self.args.clone(), present, ..Self::default() }
    }

    /// The keys of a function: its name is the entry, and its compiler or its code can provide grid and block.
    pub fn of_function(&self, name: Option<PlacedValue<Template>>) -> Self {
        let present = self.present.iter().copied().chain([&KERNEL.entry, &KERNEL.grid, &KERNEL.block]).collect();
        let own = |axes: &Option<Vec<PlacedValue<Expr>>>| Some(axes.clone().unwrap_or_default());
        Self { entry: name, grid: own(&self.grid), block: own(&self.block), present, ..self.clone() }
    }

    pub fn exprs(&self) -> impl Iterator<Item = &PlacedValue<Expr>> {
        let axes = [&self.grid, &self.block, &self.cluster].into_iter().flatten().flatten();
        let axes = axes.chain(self.workspace.iter().flatten());
        let axes = axes.chain(self.dynamic_shared.iter().flatten().map(|(_, bytes)| bytes)).chain(&self.carveout);
        axes.chain(self.l2_window.iter().flat_map(L2WindowParts::exprs))
    }

    /// Reports missing keys; `key` is the path of its table.
    fn complete(&self, at: &Table<'_>, key: &str) {
        let needed = [&KERNEL.entry, &KERNEL.grid, &KERNEL.block, &KERNEL.args];
        for needed in needed.into_iter().filter(|needed| !self.present.contains(needed)) {
            at.report(format!("`{key}.{}` is missing", needed.name), Some(needed.doc.to_owned()));
        }
    }

    fn mode(&self) -> LaunchMode {
        let is = |flag: &Option<PlacedValue<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
        match (is(&self.cooperative), is(&self.pdl)) {
            (_, true) => LaunchMode::Programmatic,
            (true, false) => LaunchMode::Cooperative,
            (false, false) => LaunchMode::Ordinary,
        }
    }

    fn template(&self) -> Option<LaunchTemplate> {
        let exprs = |exprs: &Vec<PlacedValue<Expr>>| exprs.iter().map(|expr| expr.value.clone()).collect();
        let array = |(name, bytes): &(Option<String>, PlacedValue<Expr>)| DynamicArray {
            name: name.clone(),
            bytes: bytes.value.clone(),
        };
        Some(LaunchTemplate {
            entry: self.entry.as_ref()?.value.clone(),
            grid: self.grid.as_ref().map(exprs)?,
            block: self.block.as_ref().map(exprs)?,
            cluster: self.cluster.as_ref().map(exprs).unwrap_or_default(),
            dynamic_shared: self.dynamic_shared.iter().flatten().map(array).collect(),
            shared_constant: self.shared_constant.as_ref().map(|constant| constant.value.clone()),
            mode: self.mode(),
            carveout: self.carveout.as_ref().map(|expr| expr.value.clone()),
            l2_window: self.l2_window.as_ref().map(L2WindowParts::template),
            args: self.args.as_ref()?.iter().map(|arg| arg.value.clone()).collect(),
            workspace: self.workspace.as_ref().map(exprs).unwrap_or_default(),
        })
    }
}

/// A parsed access-policy window.
#[derive(Debug, Clone)]
struct L2WindowParts {
    buffer: PlacedValue<String>,
    bytes: Option<PlacedValue<Expr>>,
    hit_ratio: PlacedValue<Expr>,
    hit: L2Property,
    miss: L2Property,
    set_aside: Option<PlacedValue<Expr>>,
}

impl L2WindowParts {
    fn read(item: &Item<'_>) -> Option<Self> {
        let table = item.table()?;
        all_of!(Self {
            buffer: table.read(&L2_WINDOW.buffer, |item| Some(item.with(item.name()?))),
            bytes: Some(table.read(&L2_WINDOW.bytes, Item::expr)),
            hit_ratio: table.read(&L2_WINDOW.hit_ratio, Item::expr),
            hit: table.read(&L2_WINDOW.hit, |item| item.one_of(&L2Property::WORDS)),
            miss: table.read(&L2_WINDOW.miss, |item| item.one_of(&L2Property::OF_MISSES)),
            set_aside: Some(table.read(&L2_WINDOW.set_aside, Item::expr)),
        })
    }

    fn exprs(&self) -> impl Iterator<Item = &PlacedValue<Expr>> {
        self.bytes.iter().chain([&self.hit_ratio]).chain(&self.set_aside)
    }

    fn template(&self) -> L2WindowTemplate {
        let expr = |expr: &Option<PlacedValue<Expr>>| expr.as_ref().map(|expr| expr.value.clone());
        L2WindowTemplate {
            buffer: self.buffer.value.clone(),
            bytes: expr(&self.bytes),
            hit_ratio: self.hit_ratio.value.clone(),
            hit: self.hit,
            miss: self.miss,
            set_aside: expr(&self.set_aside),
        }
    }
}

/// The constant in C++ that is the only entry of the table.
fn constant(item: &Item<'_>) -> Option<PlacedValue<Template>> {
    let entries = item.is_table().then(|| item.table())??.free();
    let [(name, constant)] = &entries[..] else { return None };
    (name.value == "cpp").then(|| constant.template())?
}

/// Bytes as one expression, or per array.
fn dynamic_shared(item: &Item<'_>) -> Vec<(Option<String>, PlacedValue<Expr>)> {
    if !item.is_table() {
        return item.expr().map(|bytes| (None, bytes)).into_iter().collect();
    }
    let Some(table) = item.table().filter(|_| constant(item).is_none()) else { return Vec::new() };
    let array = |(name, item): (PlacedValue<String>, Item<'_>)| Some((Some(identifier(&name, &item)?), item.expr()?));
    table.free().into_iter().filter_map(array).collect()
}

/// A parsed step.
#[derive(Debug, Clone)]
pub struct StepParts {
    /// Key path of its table; that of the kernel if the kernel has no list of steps.
    pub key: String,
    /// Its key path below the kernel, if the kernel has a list.
    place: Option<String>,
    pub action: ActionParts,
}

/// The parsed action of a step.
#[derive(Debug, Clone)]
pub enum ActionParts {
    Launch(Box<LaunchParts>),
    Memset { buffer: Option<PlacedValue<String>>, byte: Option<u8> },
    Memcpy { from: Option<PlacedValue<String>>, to: Option<PlacedValue<String>> },
    Loop { indices: Vec<(PlacedValue<String>, PlacedValue<Expr>)>, steps: Vec<StepParts> },
}

impl StepParts {
    /// The only step of a kernel without a list: a launch with the kernel's own keys.
    pub fn only(key: &str) -> Self {
        Self { key: key.to_owned(), place: None, action: ActionParts::Launch(Box::default()) }
    }

    /// Its keys, if it is a launch.
    pub fn launch(&self) -> Option<&LaunchParts> {
        match &self.action {
            ActionParts::Launch(launch) => Some(launch),
            ActionParts::Memset { .. } | ActionParts::Memcpy { .. } | ActionParts::Loop { .. } => None,
        }
    }

    /// The step; for a loop, the steps in it.
    fn leaves(&self) -> Vec<&Self> {
        match &self.action {
            ActionParts::Loop { steps, .. } => steps.iter().flat_map(Self::leaves).collect(),
            _ => vec![self],
        }
    }

    /// The step with its launches completed by `base`.
    pub fn over(&self, base: &LaunchParts) -> Self {
        let action = match &self.action {
            ActionParts::Launch(launch) => ActionParts::Launch(Box::new(launch.as_ref().clone().over(base))),
            ActionParts::Loop { indices, steps } => {
                let steps = steps.iter().map(|step| step.over(base)).collect();
                ActionParts::Loop { indices: indices.clone(), steps }
            }
            other => other.clone(),
        };
        Self { key: self.key.clone(), place: self.place.clone(), action }
    }

    /// The step, if all its required keys are valid.
    pub fn template(&self) -> Option<StepTemplate> {
        let action = match &self.action {
            ActionParts::Launch(launch) => StepAction::Launch(Box::new(launch.template()?)),
            ActionParts::Memset { buffer, byte } => {
                StepAction::Memset { buffer: buffer.as_ref()?.value.clone(), byte: (*byte)? }
            }
            ActionParts::Memcpy { from, to } => {
                StepAction::Memcpy { from: from.as_ref()?.value.clone(), to: to.as_ref()?.value.clone() }
            }
            ActionParts::Loop { indices, steps } => StepAction::Loop(LoopTemplate {
                indices: indices.iter().map(|(name, count)| (name.value.clone(), count.value.clone())).collect(),
                steps: steps.iter().map(Self::template).collect::<Option<_>>()?,
            }),
        };
        Some(StepTemplate { place: self.place.clone(), action })
    }

    /// Buffers of a fill, a copy, or a window.
    fn buffers(&self) -> impl Iterator<Item = &PlacedValue<String>> {
        let named = match &self.action {
            ActionParts::Launch(launch) => [launch.l2_window.as_ref().map(|window| &window.buffer), None],
            ActionParts::Loop { .. } => [None, None],
            ActionParts::Memset { buffer, .. } => [buffer.as_ref(), None],
            ActionParts::Memcpy { from, to } => [from.as_ref(), to.as_ref()],
        };
        named.into_iter().flatten()
    }
}

/// The launches among steps, those of loops once.
pub fn launches(steps: &[StepParts]) -> impl Iterator<Item = &LaunchParts> {
    steps.iter().flat_map(StepParts::leaves).filter_map(StepParts::launch)
}

/// The counts of loops.
pub fn counts(steps: &[StepParts]) -> Vec<&PlacedValue<Expr>> {
    let mut found = Vec::new();
    for step in steps {
        if let ActionParts::Loop { indices, steps } = &step.action {
            found.extend(indices.iter().map(|(_, count)| count));
            found.extend(counts(steps));
        }
    }
    found
}

/// A launch with the names that its expressions see.
pub struct ScopedLaunch<'s> {
    pub launch: &'s LaunchParts,
    pub scope: NameScope,
    /// The indices of its loops, which `args` can name.
    pub indices: Vec<String>,
}

/// The launches among steps; expressions outside loops see `scope`.
pub fn scoped<'s>(steps: &'s [StepParts], scope: &NameScope, indices: &[String]) -> Vec<ScopedLaunch<'s>> {
    let of = |step: &'s StepParts| match &step.action {
        ActionParts::Launch(launch) => {
            vec![ScopedLaunch { launch, scope: scope.clone(), indices: indices.to_vec() }]
        }
        ActionParts::Loop { indices: own, steps } => {
            let own = own.iter().map(|(name, _)| name.value.clone());
            let indices: Vec<String> = indices.iter().cloned().chain(own).collect();
            scoped(steps, &with_indices(scope, &indices), &indices)
        }
        ActionParts::Memset { .. } | ActionParts::Memcpy { .. } => Vec::new(),
    };
    steps.iter().flat_map(of).collect()
}

fn with_indices(scope: &NameScope, indices: &[String]) -> NameScope {
    let new = indices.iter().filter(|name| !scope.names.contains(name));
    NameScope::new(scope.who.clone(), scope.names.iter().chain(new).cloned())
}

/// Reads `[[kernel.launch]]`, or the steps of a loop; `path` is the key path of the list below the kernel.
pub fn steps(item: &Item<'_>, path: &str) -> Vec<StepParts> {
    let step = |(at, item): (usize, &Item<'_>)| step(format!("{path}[{at}]"), item);
    item.some_list().iter().enumerate().filter_map(step).collect()
}

/// A step, with its loop around it.
fn step(place: String, item: &Item<'_>) -> Option<StepParts> {
    let table = item.table()?;
    let Some(repeat) = table.get(&LAUNCH.repeat) else {
        if let Some(steps) = table.get(&LAUNCH.steps) {
            let help = "add `repeat = { i = \"COUNT\" }`, or list the steps in the kernel".to_owned();
            steps.report(format!("`{}` needs `repeat`", steps.place.key), Some(help));
            return None;
        }
        return once(place, item, &table);
    };
    let indices = indices(&repeat);
    let steps = match table.get(&LAUNCH.steps) {
        None => vec![once(place.clone(), item, &table)?],
        Some(body) => {
            let own = LAUNCH.spec.keys.iter().filter(|key| ![&LAUNCH.repeat, &LAUNCH.steps].contains(key));
            for stray in own.filter_map(|key| table.given(key)) {
                let help = "move it to the steps".to_owned();
                stray.report(format!("`{}` does not apply to a step with `steps`", stray.place.key), Some(help));
            }
            steps(&body, &format!("{place}.{}", LAUNCH.steps.name))
        }
    };
    let key = item.place.key.clone();
    Some(StepParts { key, place: Some(place), action: ActionParts::Loop { indices: indices?, steps } })
}

/// The indices of a loop with their counts, the outermost first.
fn indices(item: &Item<'_>) -> Option<Vec<(PlacedValue<String>, PlacedValue<Expr>)>> {
    let entries = item.table()?.free();
    if entries.is_empty() {
        item.expected("at least one index", Some("repeat = { i = \"log2(N)\" }".to_owned()));
    }
    let index = |(name, item): (PlacedValue<String>, Item<'_>)| {
        identifier(&name, &item)?;
        Some((name, item.expr()?))
    };
    entries.into_iter().map(index).collect()
}

/// A step without its loop.
fn once(place: String, item: &Item<'_>, table: &Table<'_>) -> Option<StepParts> {
    let named = |item: &Item<'_>| Some(item.with(item.name()?));
    let (memset, memcpy) = (table.get(&LAUNCH.memset), table.get(&LAUNCH.memcpy));
    let mut launch = LaunchParts::read(table);
    launch.pdl = table.read(&LAUNCH.pdl, |item| Some(item.with(item.boolean()?)));
    if memset.is_some() || memcpy.is_some() {
        let own = launch.present.first().copied().or(Some(&LAUNCH.pdl).filter(|key| table.has(key)));
        if let Some(stray) = own {
            let what = if memset.is_some() { &LAUNCH.memset } else { &LAUNCH.memcpy };
            let help = "a step is a launch, a `memset` or a `memcpy`; write them as separate steps".to_owned();
            table.report(
                format!("`{}.{}` does not apply to a step with `{}`", item.place.key, stray.name, what.name),
                Some(help),
            );
        }
    }
    if let Some(byte) = table.given(&LAUNCH.byte).filter(|_| memset.is_none()) {
        byte.report(format!("`{}` applies only to a step with `memset`", byte.place.key), None);
    }
    let action = match (memset, memcpy) {
        (Some(_), Some(memcpy)) => {
            memcpy.report(format!("`{}` has both `memset` and `memcpy`", item.place.key), Some("keep one".to_owned()));
            return None;
        }
        (Some(memset), None) => {
            let byte = table.read(&LAUNCH.byte, Item::count).and_then(|byte| u8::try_from(byte).ok());
            ActionParts::Memset { buffer: named(&memset), byte }
        }
        (None, Some(memcpy)) => {
            let table = memcpy.table()?;
            ActionParts::Memcpy { from: table.read(&COPY.from, named), to: table.read(&COPY.to, named) }
        }
        (None, None) => ActionParts::Launch(Box::new(launch)),
    };
    Some(StepParts { key: item.place.key.clone(), place: Some(place), action })
}

/// Reports errors in the steps of a kernel, each completed by `[kernel]`.
pub fn check(at: &Table<'_>, steps: &[StepParts], names: &KernelNames<'_>, scope: &NameScope) {
    check_loops(at, steps, names, scope);
    let leaves: Vec<&StepParts> = steps.iter().flat_map(StepParts::leaves).collect();
    for buffer in leaves.iter().flat_map(|step| step.buffers()) {
        let known = || names.buffers.iter().map(|buffer| buffer.name.as_str());
        if !known().any(|name| name == buffer.value) {
            let message = format!("`{}` is `{}`, which is not a buffer", buffer.place.key, buffer.value);
            at.report_at(&buffer.place, message, Some(suggest(&buffer.value, known())));
        }
    }
    for ScopedLaunch { launch, scope, .. } in scoped(steps, scope, &[]) {
        launch.exprs().for_each(|expr| scope.check_expr(at, expr));
    }
    for (index, step) in leaves.iter().enumerate() {
        let Some(launch) = step.launch() else { continue };
        check_mode(at, &leaves, index, launch);
    }
    if !steps.is_empty() && launches(steps).next().is_none() {
        at.report(format!("`{}.launch` has no launch", at.place.key), Some("add a step with an `entry`".to_owned()));
    }
}

/// Reports indices with a name in use, and counts with unknown names.
fn check_loops(at: &Table<'_>, steps: &[StepParts], names: &KernelNames<'_>, scope: &NameScope) {
    for step in steps {
        let ActionParts::Loop { indices, steps } = &step.action else { continue };
        let mut scope = scope.clone();
        for (name, count) in indices {
            scope.check_expr(at, count);
            let of_names = names.taken.iter().find(|(taken, _)| *taken == name.value).map(|(_, owner)| *owner);
            let owner = of_names.or(scope.names.contains(&name.value).then_some("name"));
            if let Some(owner) = owner {
                let message = format!("`{}` is also a {owner}", name.place.key);
                at.report_at(&name.place, message, Some("give the index another name".to_owned()));
            }
            scope = with_indices(&scope, std::slice::from_ref(&name.value));
        }
        check_loops(at, steps, names, &scope);
    }
}

/// A programmatic launch depends on the launch before it, and is not cooperative.
fn check_mode(at: &Table<'_>, steps: &[&StepParts], index: usize, launch: &LaunchParts) {
    let Some(pdl) = launch.pdl.as_ref().filter(|pdl| pdl.value) else { return };
    if launch.cooperative.as_ref().is_some_and(|cooperative| cooperative.value) {
        let help = "a cooperative launch waits until the GPU is free; remove one of the two".to_owned();
        at.report_at(&pdl.place, format!("`{}` and `cooperative` are both true", pdl.place.key), Some(help));
    }
    let before = index.checked_sub(1).and_then(|before| steps.get(before));
    if before.and_then(|before| before.launch()).is_none() {
        let message = format!("`{}` is true, but the step before it is not a launch", pdl.place.key);
        let help =
            "a programmatic dependent launch must directly follow another launch of the same evaluation".to_owned();
        at.report_at(&pdl.place, message, Some(help));
    }
}

/// Reports launches with missing keys; `at` is the kernel's table.
pub fn complete(at: &Table<'_>, steps: &[StepParts]) {
    for step in steps.iter().flat_map(StepParts::leaves) {
        if let Some(launch) = step.launch() {
            launch.complete(at, &step.key);
        }
    }
}

/// Reports launch keys in the kernel's own table (`own`) that no launch inherits.
pub fn check_taken(at: &Table<'_>, own: &LaunchParts, steps: &[StepParts]) {
    for key in &own.present {
        let mut launches = launches(steps);
        if steps.is_empty() || launches.any(|launch| !launch.present.contains(key)) {
            continue;
        }
        let message = format!("`{}.{}` has no effect: each launch overrides it", at.place.key, key.name);
        at.report(message, Some(format!("remove it, or remove `{}` from a launch", key.name)));
    }
}
