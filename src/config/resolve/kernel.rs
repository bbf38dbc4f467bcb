//! `[kernel]`, `[sweep]`, `[[variant]]`, `[[baseline]]`: ways to compute the workload.

use super::names::{KernelNames, identifier, no_duplicates, suggest};
use super::scope::InScope;
use super::tensor_map::{self, MapParts};
use crate::config::keys;
use crate::config::keys::Spec;
use crate::config::reader::{Item, Placed, Table};
use crate::config::{
    CommandTemplate, DynamicArray, KernelTemplate, LaunchPattern, Sweep, VariantSpec, VariantSpecKind,
};
use crate::expr::{Expr, Template, Value};
use crate::model::glob;

/// A `[kernel]` table, or the part of one that a variant overrides, with places for checks.
#[derive(Debug, Clone, Default)]
pub struct KernelParts {
    source: Option<Placed<Template>>,
    entry: Option<Placed<Template>>,
    flags: Option<Vec<Placed<Template>>>,
    defines: Option<Vec<Placed<String>>>,
    grid: Option<Vec<Placed<Expr>>>,
    block: Option<Vec<Placed<Expr>>>,
    cluster: Option<Vec<Placed<Expr>>>,
    dynamic_shared: Option<Vec<(Option<String>, Placed<Expr>)>>,
    tensor_maps: Option<Vec<MapParts>>,
    args: Option<Vec<Placed<String>>>,
    /// Keys the file has, whether or not their values are right.
    present: Vec<&'static str>,
}

const NEEDED: [&str; 5] = ["source", "entry", "grid", "block", "args"];

/// Reads a whole or partial `[kernel]`.
pub fn parts(table: &Table<'_>) -> KernelParts {
    let placed_texts = |item: Item<'_>| -> Vec<Placed<String>> {
        item.list().iter().filter_map(|item| Some(item.with(item.text()?))).collect()
    };
    let exprs = |item: Item<'_>| item.axes().iter().filter_map(Item::expr).collect::<Vec<_>>();
    KernelParts {
        source: table.get("source").and_then(|item| item.template()),
        entry: table.get("entry").and_then(|item| item.template()),
        flags: table.get("flags").map(|item| item.list().iter().filter_map(Item::template).collect()),
        defines: table.get("defines").map(placed_texts),
        grid: table.get("grid").map(exprs),
        block: table.get("block").map(exprs),
        cluster: table.get("cluster").map(exprs),
        dynamic_shared: table.get("dynamic_shared").map(|item| dynamic_shared(&item)),
        tensor_maps: table.get("tensor_maps").map(|item| tensor_map::maps(&item)),
        args: table.get("args").map(placed_texts),
        present: keys::KERNEL.keys.iter().map(|key| key.name).filter(|key| table.has(key)).collect(),
    }
}

/// Bytes as one expression, or by array.
fn dynamic_shared(item: &Item<'_>) -> Vec<(Option<String>, Placed<Expr>)> {
    if !item.is_table() {
        return item.expr().map(|bytes| (None, bytes)).into_iter().collect();
    }
    let Some(table) = item.table(&keys::DYNAMIC_ARRAYS) else { return Vec::new() };
    let array = |(name, item): (Placed<String>, Item<'_>)| Some((Some(identifier(&name, &item)?), item.expr()?));
    table.free().into_iter().filter_map(array).collect()
}

fn array((name, bytes): &(Option<String>, Placed<Expr>)) -> DynamicArray {
    DynamicArray { name: name.clone(), bytes: bytes.value.clone() }
}

impl KernelParts {
    /// These parts, and `base` where they say nothing.
    fn over(mut self, base: &Self) -> Self {
        self.present.extend(&base.present);
        Self {
            source: self.source.or_else(|| base.source.clone()),
            entry: self.entry.or_else(|| base.entry.clone()),
            flags: self.flags.or_else(|| base.flags.clone()),
            defines: self.defines.or_else(|| base.defines.clone()),
            grid: self.grid.or_else(|| base.grid.clone()),
            block: self.block.or_else(|| base.block.clone()),
            cluster: self.cluster.or_else(|| base.cluster.clone()),
            dynamic_shared: self.dynamic_shared.or_else(|| base.dynamic_shared.clone()),
            tensor_maps: self.tensor_maps.or_else(|| base.tensor_maps.clone()),
            args: self.args.or_else(|| base.args.clone()),
            present: self.present,
        }
    }

    /// Reports what a kernel has to have and these parts lack; `at` is where it would have been.
    pub fn complete(&self, at: &Table<'_>) {
        for key in NEEDED.into_iter().filter(|key| !self.present.contains(key)) {
            let doc = keys::KERNEL.key(key).map(|key| key.doc.to_owned());
            at.report(format!("`{}.{key}` is missing", at.place.key), doc);
        }
    }

    /// Reports names that are neither dimensions nor `params`, and, where all names are right, parameters that nothing uses;
    /// `whose` are the parameters.
    pub fn check(&self, at: &Table<'_>, names: &KernelNames<'_>, params: &[Placed<String>], whose: &str) {
        let before = at.problems();
        let given = || params.iter().map(|param| &param.value);
        let own = InScope::new(whose.to_owned(), given().cloned());
        let all = names.dims.iter().chain(given()).cloned();
        let scope = InScope::new(format!("the dimensions and {whose}"), all);
        let exprs = [&self.grid, &self.block, &self.cluster].into_iter().flatten().flatten();
        for expr in exprs.chain(self.dynamic_shared.iter().flatten().map(|(_, bytes)| bytes)) {
            scope.check_expr(at, expr);
        }
        for template in self.templates() {
            own.check_template(at, template);
        }
        for define in self.defines.iter().flatten().filter(|define| !own.names.contains(&define.value)) {
            let message = format!("`{}` is `{}`, which is not among {whose}", define.place.key, define.value);
            at.report_at(&define.place, message, Some(suggest(&define.value, given().map(String::as_str))));
        }
        let maps = || self.tensor_maps.iter().flatten();
        maps().filter(|map| self.passes(map)).for_each(|map| map.check(at, &scope));
        let known = || names.args.iter().chain(maps().map(|map| &map.name.value)).map(String::as_str);
        for arg in self.args.iter().flatten().filter(|arg| !known().any(|name| name == arg.value)) {
            let (key, name) = (&arg.place.key, &arg.value);
            let message = format!("`{key}` is `{name}`, which is not a buffer, tensor map, scalar or dimension");
            at.report_at(&arg.place, message, Some(suggest(name, known().collect::<Vec<_>>().into_iter())));
        }
        if at.problems() == before {
            self.check_used(at, params);
        }
    }

    /// Texts that parameters are put into.
    fn templates(&self) -> impl Iterator<Item = &Placed<Template>> {
        self.source.iter().chain(&self.entry).chain(self.flags.iter().flatten())
    }

    /// Reports those of `params` that nothing here uses: all their values would give the same program.
    fn check_used(&self, at: &Table<'_>, params: &[Placed<String>]) {
        let maps = self.tensor_maps.iter().flatten().flat_map(MapParts::exprs);
        let exprs = [&self.grid, &self.block, &self.cluster].into_iter().flatten().flatten();
        let exprs = exprs.chain(self.dynamic_shared.iter().flatten().map(|(_, bytes)| bytes)).chain(maps);
        let used: Vec<String> = exprs
            .flat_map(|expr| expr.value.names())
            .chain(self.templates().flat_map(|template| template.value.names()))
            .map(|(name, _)| name)
            .chain(self.defines.iter().flatten().map(|define| define.value.clone()))
            .collect();
        for param in params.iter().filter(|param| !used.contains(&param.value)) {
            let name = &param.value;
            let message = format!("`{}` is a parameter that the kernel does not use", param.place.key);
            let help =
                format!("add \"{name}\" to `defines`, name it in `flags`, `entry`, `grid` or `block`, or leave it out");
            at.report_at(&param.place, message, Some(help));
        }
    }

    /// Reports what is wrong with the tensor maps as they are declared, whichever kernel passes them.
    pub fn check_maps(&self, at: &Table<'_>, names: &KernelNames<'_>) {
        self.tensor_maps.iter().flatten().for_each(|map| map.declared(at, names));
    }

    /// Reports tensor maps that are neither passed here nor by one of `others`.
    pub fn check_unused(&self, at: &Table<'_>, others: &[&KernelTemplate]) {
        if self.args.is_none() {
            return;
        }
        let passed = |map: &MapParts| self.passes(map) || others.iter().any(|k| k.args.contains(&map.name.value));
        self.tensor_maps.iter().flatten().filter(|map| !passed(map)).for_each(|map| map.unused(at));
    }

    fn passes(&self, map: &MapParts) -> bool {
        self.args.iter().flatten().any(|arg| arg.value == map.name.value)
    }

    /// The kernel, when everything it needs was read.
    pub fn template(&self) -> Option<KernelTemplate> {
        let texts = |texts: &Vec<Placed<String>>| texts.iter().map(|text| text.value.clone()).collect();
        let exprs = |exprs: &Vec<Placed<Expr>>| exprs.iter().map(|expr| expr.value.clone()).collect();
        Some(KernelTemplate {
            source: self.source.as_ref()?.value.clone(),
            entry: self.entry.as_ref()?.value.clone(),
            flags: match &self.flags {
                Some(flags) => flags.iter().map(|flag| flag.value.clone()).collect(),
                None => ["-O3", "-lineinfo"].iter().filter_map(|flag| Template::parse(flag).ok()).collect(),
            },
            defines: self.defines.as_ref().map(texts).unwrap_or_default(),
            grid: self.grid.as_ref().map(exprs)?,
            block: self.block.as_ref().map(exprs)?,
            cluster: self.cluster.as_ref().map(exprs).unwrap_or_default(),
            dynamic_shared: self.dynamic_shared.iter().flatten().map(array).collect(),
            tensor_maps: self.tensor_maps.iter().flatten().map(MapParts::template).collect::<Option<_>>()?,
            args: self.args.as_ref().map(texts)?,
        })
    }
}

/// Reads `[sweep]`.
pub fn sweep(item: &Item<'_>) -> Sweep {
    let Some(table) = item.table(&keys::SWEEP) else { return Sweep::default() };
    let mut axes = Vec::new();
    for (name, values) in table.free() {
        let Some(name) = identifier(&name, &values) else { continue };
        let items = values.some_list();
        let mut seen: Vec<Value> = Vec::new();
        for item in items {
            let Some(value) = item.param() else { continue };
            if seen.contains(&value) {
                item.report(format!("`{}` repeats the value `{value}`", values.place.key), None);
            }
            seen.push(value);
        }
        axes.push((name, seen));
    }
    if table.free().is_empty() {
        table.report("`sweep` declares no axis", Some("THREADS = [128, 256]".to_owned()));
    }
    let scope = InScope::new("the sweep's parameters", axes.iter().map(|(name, _)| name.clone()));
    let condition = table.get("where").and_then(|item| scope.expr(&item)).map(|expr| expr.value);
    let points = table.get("points").map(|item| item.some_list().iter().map(params).collect());
    Sweep { axes, condition, points }
}

/// Reads `[[variant]]` or `[[baseline]]`; `base` is `[kernel]`.
pub fn variants(items: &[Item<'_>], base: Option<&KernelParts>, names: &KernelNames<'_>) -> Vec<VariantSpec> {
    items.iter().filter_map(|item| variant(&item.table(&keys::VARIANT)?, base, names)).collect()
}

/// Reports names that variants and baselines share.
pub fn no_shared_names(items: &[Item<'_>]) {
    let names: Vec<(String, Item<'_>)> = items
        .iter()
        .filter_map(|item| {
            let name = item.peek("name")?;
            Some((name.text()?, name))
        })
        .collect();
    no_duplicates("variant", names.iter().map(|(name, item)| (name.as_str(), item.clone())));
}

/// Names of parameters with their places.
pub fn placed_names(item: &Item<'_>, spec: &'static Spec) -> Vec<Placed<String>> {
    item.table(spec).map(|table| table.free().into_iter().map(|(name, _)| name).collect()).unwrap_or_default()
}

/// Parameter names and values of a variant.
pub fn params(item: &Item<'_>) -> Vec<(String, Value)> {
    let Some(table) = item.table(&keys::PARAMS) else { return Vec::new() };
    let entries = table.free().into_iter();
    entries
        .filter_map(|(name, item)| Some((identifier(&name, &item)?, item.param().unwrap_or(Value::Int(0)))))
        .collect()
}

fn variant(table: &Table<'_>, base: Option<&KernelParts>, names: &KernelNames<'_>) -> Option<VariantSpec> {
    let name = table.need("name").and_then(|item| item.name());
    let params = table.get("params").map(|item| params(&item)).unwrap_or_default();
    let own: Vec<String> = params.iter().map(|(name, _)| name.clone()).collect();
    let placed = table.get("params").map(|item| placed_names(&item, &keys::PARAMS)).unwrap_or_default();
    let shown = name.as_deref().unwrap_or("?").to_owned();
    let whose = format!("the parameters of variant `{shown}`");
    let command = table.get("command");
    if let Some(pattern) = table.get("match") {
        let refused = ["params", "kernel", "command", "kernel_filter"].into_iter().filter_map(|key| table.get(key));
        refused.for_each(|item| item.report(format!("`{}` means nothing beside `match`", item.place.key), None));
        let kind = VariantSpecKind::Captured(launch_pattern(&pattern)?);
        return Some(VariantSpec { name: name?, params: Vec::new(), kind, line: table.line() });
    }
    let kind = match (&command, table.get("kernel")) {
        (Some(_), Some(kernel)) => {
            kernel.report(format!("variant `{shown}` has both `kernel` and `command`"), Some("keep one".to_owned()));
            None
        }
        (Some(item), None) => {
            let argv = item.some_list();
            let scope = InScope::new(whose, own);
            let filter = table.get("kernel_filter").and_then(|item| filter(&item));
            let argv = argv.iter().filter_map(|argument| scope.template(argument)).collect();
            Some(VariantSpecKind::Command(CommandTemplate { argv, kernel_filter: filter }))
        }
        (None, kernel) => {
            if let Some(filter) = table.get("kernel_filter") {
                filter.report("`kernel_filter` is for external commands", Some("leave it out".to_owned()));
            }
            kernel_of(table, kernel, base, names, &shown).and_then(|parts| {
                parts.check(table, names, &placed, &whose);
                parts.template().map(|kernel| VariantSpecKind::Kernel(Box::new(kernel)))
            })
        }
    };
    Some(VariantSpec { name: name?, params, kind: kind?, line: table.line() })
}

fn kernel_of(
    table: &Table<'_>,
    own: Option<Item<'_>>,
    base: Option<&KernelParts>,
    names: &KernelNames<'_>,
    shown: &str,
) -> Option<KernelParts> {
    match (own.and_then(|item| item.table(&keys::KERNEL)), base) {
        (Some(kernel), base) => {
            let own = parts(&kernel);
            own.check_maps(&kernel, names);
            let has_maps = own.tensor_maps.is_some();
            let parts = match base {
                Some(base) => own.over(base),
                None => {
                    own.complete(&kernel);
                    own
                }
            };
            if has_maps {
                parts.check_unused(&kernel, &[]);
            }
            Some(parts)
        }
        (None, Some(base)) => Some(base.clone()),
        (None, None) => {
            let help = "give it `kernel = { ... }` or `command = [...]`, or declare [kernel]".to_owned();
            table.report(format!("variant `{shown}` has nothing to run"), Some(help));
            None
        }
    }
}

/// Reads `match`.
fn launch_pattern(item: &Item<'_>) -> Option<LaunchPattern> {
    let table = item.table(&keys::LAUNCH_PATTERN)?;
    let keys = ["kernel", "nvtx", "launch", "report"];
    if !keys.into_iter().any(|key| table.has(key)) {
        let help = "match = { kernel = \"softmax*\" }".to_owned();
        item.expected(&format!("at least one of {}", keys.join(", ")), Some(help));
        return None;
    }
    let glob = |key| table.get(key).map_or(Some(None), |item: Item<'_>| launch_glob(&item).map(Some));
    let number = |item: &Item<'_>| u32::try_from(item.whole(0..=i64::from(u32::MAX))?).ok();
    let launches = table.get("launch").map_or(Some(Vec::new()), |item| match item.is_list() {
        true => item.some_list().iter().map(number).collect(),
        false => number(&item).map(|launch| vec![launch]),
    });
    let (kernel, nvtx, report) = (glob("kernel"), glob("nvtx"), glob("report"));
    Some(LaunchPattern { kernel: kernel?, nvtx: nvtx?, launches: launches?, report: report? })
}

fn launch_glob(item: &Item<'_>) -> Option<String> {
    let text = item.text()?;
    let checked = glob(&text);
    checked.map_err(|e| item.expected("a glob such as \"softmax*\"", Some(e.reason))).ok()?;
    Some(text)
}

fn filter(item: &Item<'_>) -> Option<String> {
    let text = item.text()?;
    match regex::Regex::new(&text) {
        Ok(_) => Some(text),
        Err(e) => {
            let reason = e.to_string();
            let last = reason.lines().last().unwrap_or_default().to_owned();
            item.expected("a regular expression", Some(last));
            None
        }
    }
}
