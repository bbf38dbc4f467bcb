//! `[kernel]`, `[sweep]`, `[[variant]]`, `[[baseline]]`: ways to compute the workload.

use super::launch::{self, LaunchParts, ScopedLaunch, StepParts};
use super::names::{KernelNames, identifier, no_duplicates, suggest};
use super::scope::NameScope;
use super::symbol::{self, SymbolParts};
use super::tensor_map::{self, MapParts};
use super::{argument, launch_pattern};
use crate::config::error::Place;
use crate::config::keys::{KERNEL, Key, SWEEP, VARIANT};
use crate::config::reader::{Item, PlacedValue, Table, TomlText};
use crate::config::{
    ArgTemplate, CodeForm, CommandTemplate, FlagAxis, FunctionTemplate, KernelTemplate, SMS, Sweep, VariantSpec,
    VariantSpecKind,
};
use ncugate_model::expr::{Expr, Template, Value};

/// A `[kernel]` table, or the overrides of a variant, with places for checks.
#[derive(Debug, Clone, Default)]
pub struct KernelParts {
    code: Option<CodeForm>,
    source: Option<PlacedValue<Template>>,
    /// Further sources; they belong to `source`.
    linked: Vec<PlacedValue<Template>>,
    flags: Option<Vec<PlacedValue<Template>>>,
    /// Parameters of the sweep that choose flags.
    pub flag_axes: Vec<FlagAxisParts>,
    defines: Option<Vec<PlacedValue<String>>>,
    tensor_maps: Option<Vec<MapParts>>,
    symbols: Option<Vec<SymbolParts>>,
    constexprs: Option<Vec<(PlacedValue<String>, PlacedValue<Expr>)>>,
    condition: Option<PlacedValue<Expr>>,
    /// The shared keys of launches, for those that omit them.
    shared: LaunchParts,
    /// The list of steps.
    steps: Option<Vec<StepParts>>,
    /// Keys of the file, whether or not their values are valid.
    present: Vec<&'static Key>,
    pub runs: KernelCompleteness,
}

/// A parameter of the sweep that chooses flags.
#[derive(Debug, Clone)]
pub struct FlagAxisParts {
    name: PlacedValue<String>,
    values: Vec<(String, Vec<PlacedValue<Template>>)>,
}

impl FlagAxisParts {
    /// Reads the named lists of flags of an axis.
    fn read(name: PlacedValue<String>, item: &Item<'_>) -> Option<Self> {
        let table = item.table()?;
        let flags = |item: Item<'_>| item.list().iter().filter_map(Item::template).collect();
        let named = table.free().into_iter().filter(|(name, _)| item.is_value_name(name));
        let values: Vec<_> = named.map(|(name, item)| (name.value, flags(item))).collect();
        if table.free().is_empty() {
            item.expected(
                "at least one named list of flags",
                Some("{ off = [], on = [\"-use_fast_math\"] }".to_owned()),
            );
        }
        Some(Self { name, values })
    }

    /// Its values for the sweep.
    fn axis(&self) -> (String, Vec<Value>) {
        let values = self.values.iter().map(|(name, _)| Value::Text(name.clone()));
        (self.name.value.clone(), values.collect())
    }

    fn flags(&self) -> impl Iterator<Item = &PlacedValue<Template>> {
        self.values.iter().flat_map(|(_, flags)| flags)
    }

    fn template(&self) -> FlagAxis {
        let plain = |flags: &[PlacedValue<Template>]| flags.iter().map(|flag| flag.value.clone()).collect();
        let values = self.values.iter().map(|(name, flags)| (name.clone(), plain(flags)));
        FlagAxis { name: self.name.value.clone(), values: values.collect() }
    }

    /// The parameters of a variant that have their flags with them.
    fn of_params(params: &Item<'_>) -> Vec<Self> {
        let entries = params.table().map(|table| table.free()).unwrap_or_default();
        let tables = entries.into_iter().filter(|(_, item)| item.is_table());
        tables.filter_map(|(name, item)| Self::read(name, &item)).collect()
    }

    /// Reports a variant's value that has no flags.
    fn check_value(&self, params: &Item<'_>) {
        let entries = params.table().map(|table| table.free()).unwrap_or_default();
        let named = entries.into_iter().filter(|(name, item)| name.value == self.name.value && !item.is_table());
        for (_, item) in named {
            let names = || self.values.iter().map(|(name, _)| name.as_str());
            match item.param() {
                Some(Value::Text(value)) if names().all(|name| name != value) => {
                    let message =
                        format!("`{}` is `{value}`, which is not a value of `{}`", item.place.key, self.name.place.key);
                    item.report(message, Some(suggest(&value, names())));
                }
                Some(Value::Text(_)) | None => {}
                Some(_) => item.expected(&format!("the name of a value of `{}`", self.name.place.key), None),
            }
        }
    }
}

/// The use of a `[kernel]` table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KernelCompleteness {
    /// A kernel that must be complete.
    #[default]
    Whole,
    /// The common part of variants: each variant must be complete with its own keys.
    Common,
}

/// The only key of a table that names a file, and the kind of the file.
fn code<'a>(table: &Table<'a>) -> Option<(CodeForm, Item<'a>)> {
    let mut given = CodeForm::ALL.into_iter().filter_map(|code| Some((code, table.given(code.key())?)));
    let first = given.next()?;
    for (code, item) in given {
        let message = format!("`{}` has both `{}` and `{}`", table.place.key, first.0.key().name, code.key().name);
        item.report(message, Some("a kernel comes from one file: keep one of them".to_owned()));
    }
    Some(first)
}

/// The file of the entry, and further files to link.
fn sources((code, item): &(CodeForm, Item<'_>)) -> (Option<PlacedValue<Template>>, Vec<PlacedValue<Template>>) {
    if *code != CodeForm::Cuda || !item.is_list() {
        return (item.template(), Vec::new());
    }
    let mut sources = item.some_list().into_iter();
    let first = sources.next().and_then(|item| item.template());
    (first, sources.filter_map(|item| item.template()).collect())
}

/// Reads a whole or partial `[kernel]`.
pub fn parts(table: &Table<'_>) -> KernelParts {
    let code = code(table);
    let placed_texts = |item: Item<'_>| -> Vec<PlacedValue<String>> {
        item.list().iter().filter_map(|item| Some(item.with(item.text()?))).collect()
    };
    let (source, linked) = code.as_ref().map(sources).unwrap_or_default();
    let parts = KernelParts {
        source,
        linked,
        code: code.map(|(code, _)| code),
        present: KERNEL.spec.keys.iter().filter(|key| table.has(key)).collect(),
        flags: table.given(&KERNEL.flags).map(|item| item.list().iter().filter_map(Item::template).collect()),
        flag_axes: Vec::new(),
        defines: table.given(&KERNEL.defines).map(placed_texts),
        tensor_maps: table.given(&KERNEL.tensor_maps).map(|item| tensor_map::maps(&item)),
        symbols: table.given(&KERNEL.symbols).map(|item| symbol::symbols(&item)),
        constexprs: table.given(&KERNEL.constexprs).map(|item| {
            let entries = item.table().map(|table| table.free()).unwrap_or_default();
            entries.into_iter().filter_map(|(name, item)| Some((name, item.expr()?))).collect()
        }),
        condition: table.given(&KERNEL.r#where).and_then(|item| item.expr()),
        shared: LaunchParts::read(table),
        steps: table.given(&KERNEL.launch).map(|item| launch::steps(&item, KERNEL.launch.name)),
        runs: KernelCompleteness::Whole,
    };
    if let Some(steps) = &parts.steps {
        launch::check_taken(table, &parts.shared, steps);
    }
    parts
}

impl KernelParts {
    /// The kind of the file.
    fn form(&self) -> CodeForm {
        self.code.unwrap_or_default()
    }

    /// The keys that a variant of another kind inherits: grid and arguments and, from a cubin to a source, tensor maps and
    /// variables: without them the candidate of a captured phase computes something else.
    fn of_another_kind(&self, code: CodeForm) -> Self {
        let present = launch::of_another_kind(&self.present, code);
        let are_modules = self.form() == CodeForm::Cubin && code == CodeForm::Cuda;
        Self {
            code: Some(code),
            shared: self.shared.of_another_kind(code),
            present,
            tensor_maps: self.tensor_maps.clone().filter(|_| are_modules),
            symbols: self.symbols.clone().filter(|_| are_modules),
            runs: self.runs,
            ..Self::default()
        }
    }

    /// These parts, completed by `base`. A list of steps replaces the one of `base`.
    fn over(mut self, base: &Self) -> Self {
        let own = self.code.filter(|code| *code != base.form());
        let base = &own.map_or_else(|| base.clone(), |code| base.of_another_kind(code));
        self.present.extend(&base.present);
        let linked = if self.source.is_some() { self.linked } else { base.linked.clone() };
        inherit! {
            self over base: code source flags defines tensor_maps symbols constexprs condition steps;
            linked: linked, present: self.present, flag_axes: base.flag_axes.clone(),
            shared: self.shared.over(&base.shared), runs: KernelCompleteness::Whole
        }
    }

    /// The steps, each completed by the kernel's keys; one launch if there is no list.
    fn steps(&self) -> Vec<StepParts> {
        let given = self.steps.clone().unwrap_or_else(|| vec![StepParts::only("kernel")]);
        given.iter().map(|step| step.over(&self.launched())).collect()
    }

    /// The shared keys of launches; for a function they include its name.
    fn launched(&self) -> LaunchParts {
        let name = || {
            let source = self.source.as_ref()?;
            let (_, name) = self.form().function(source.value.text())?;
            Some(PlacedValue { value: Template::parse(name).ok()?, place: source.place.clone() })
        };
        if self.form().is_function() { self.shared.of_function(name()) } else { self.shared.clone() }
    }

    fn file(&self) -> Option<Template> {
        let source = &self.source.as_ref()?.value;
        if !self.form().is_function() {
            return Some(source.clone());
        }
        Template::parse(self.form().function(source.text())?.0).ok()
    }

    /// Reports missing keys of a kernel; `at` is where they belong.
    pub fn complete(&self, at: &Table<'_>) {
        if self.code.is_none() {
            at.report_missing(self.form().key());
        }
        let steps = match &self.steps {
            Some(_) => self.steps(),
            None => vec![StepParts::only(&at.place.key).over(&self.launched())],
        };
        launch::complete(at, &steps);
    }

    /// Reports names that are neither dimensions nor `params`, and, if all names are right, parameters that nothing
    /// uses; `whose` names the owner of the parameters.
    pub fn check(&self, at: &Table<'_>, names: &KernelNames<'_>, params: &[PlacedValue<String>], whose: &str) {
        let before = at.problems();
        self.check_form(at);
        let given = || params.iter().map(|param| &param.value);
        let (foreign, why) = self.form().foreign();
        let flag_axes = || self.flag_axes.iter().filter(|axis| given().any(|name| *name == axis.name.value));
        for axis in flag_axes().filter(|_| foreign.contains(&&KERNEL.flags)) {
            let message = format!("`{}` holds flags for nvcc, but {why}", axis.name.place.key);
            at.report_at(&axis.name.place, message, Some("leave it out".to_owned()));
        }
        let own = NameScope::new(whose.to_owned(), given().cloned());
        let all = || names.dims.iter().chain(given()).cloned();
        let scope = NameScope::new(format!("the dimensions and {whose}"), all());
        // Only launches differ between GPUs: the cases of a phase are the same on all of them.
        let sms = || [SMS.to_owned()];
        let launched = NameScope::new(format!("the dimensions, `{SMS}` and {whose}"), all().chain(sms()));
        let args: Vec<String> = names.args.iter().cloned().chain(sms()).collect();
        let names = &KernelNames { args: &args, ..*names };
        let steps = self.steps();
        launch::check(at, &steps, names, &launched);
        for template in self.templates(&steps).chain(flag_axes().flat_map(FlagAxisParts::flags)) {
            own.check_template(at, template);
        }
        for define in self.defines.iter().flatten().filter(|define| !own.names.contains(&define.value)) {
            let message = format!("`{}` is `{}`, not one of {whose}", define.place.key, define.value);
            at.report_at(&define.place, message, Some(suggest(&define.value, given().map(String::as_str))));
        }
        let maps = || self.tensor_maps.iter().flatten();
        maps().filter(|map| self.passes(map)).for_each(|map| map.check(at, &scope));
        let map_names: Vec<&str> = maps().map(|map| map.name.value.as_str()).collect();
        for ScopedLaunch { launch, scope, indices } in launch::scoped(&steps, &launched, &[]) {
            let args: Vec<String> = names.args.iter().chain(&indices).cloned().collect();
            let names = KernelNames { args: &args, ..*names };
            launch.args.iter().flatten().for_each(|arg| argument::check(at, arg, &names, &map_names, &scope));
        }
        self.condition.iter().for_each(|condition| scope.check_expr(at, condition));
        for (name, expr) in self.constexprs.iter().flatten() {
            scope.check_expr(at, expr);
            if given().any(|param| *param == name.value) {
                let message = format!("`{}` is also one of {whose}", name.place.key);
                at.report_at(&name.place, message, Some("keep one: both would be the constexpr's value".to_owned()));
            }
        }
        self.symbols.iter().flatten().for_each(|symbol| symbol.check(at, names, &launched));
        if at.problems() == before {
            self.check_used(at, params, &steps);
        }
    }

    /// Reports keys that do not apply to the kind of the file.
    fn check_form(&self, at: &Table<'_>) {
        let (foreign, why) = self.form().foreign();
        for key in foreign.iter().filter(|key| self.present.contains(*key)) {
            let message = format!(
                "`{}.{}` does not apply to a kernel with `{}`: {why}",
                at.place.key,
                key.name,
                self.form().key().name
            );
            at.report(message, Some("leave it out".to_owned()));
        }
        let steps = self.steps();
        let mut constants = launch::launches(&steps).filter_map(|launch| launch.shared_constant.as_ref());
        if let Some(constant) = constants.next().filter(|_| self.form() != CodeForm::Cuda) {
            let help = "write the bytes, or name a CUDA C++ source".to_owned();
            at.report_at(&constant.place, format!("`{}` needs a `source`", constant.place.key), Some(help));
        }
        if let (true, Some(source)) = (self.form().is_function(), &self.source)
            && self.form().function(source.value.text()).is_none()
        {
            let message = format!("`{}` is \"{}\", which names no function", source.place.key, source.value.text());
            let ending = if self.form() == CodeForm::Host { "cu" } else { "py" };
            at.report_at(&source.place, message, Some(format!("FILE.{ending}:FUNCTION")));
        }
    }

    /// Texts that can contain parameters.
    fn templates<'s>(&'s self, steps: &'s [StepParts]) -> impl Iterator<Item = &'s PlacedValue<Template>> {
        let entries = launch::launches(steps).flat_map(|launch| launch.entry.iter().chain(&launch.shared_constant));
        self.source.iter().chain(&self.linked).chain(entries).chain(self.flags.iter().flatten())
    }

    /// Reports unused `params`: all their values would give the same program.
    fn check_used(&self, at: &Table<'_>, params: &[PlacedValue<String>], steps: &[StepParts]) {
        // A Python function gets every parameter by name, and its compiler refuses an unknown one.
        if self.form() == CodeForm::Python {
            return;
        }
        let maps = self.tensor_maps.iter().flatten().flat_map(MapParts::exprs);
        let exprs = launch::launches(steps).flat_map(LaunchParts::exprs).chain(launch::counts(steps));
        let exprs = exprs.chain(maps).chain(&self.condition);
        let symbols = self.symbols.iter().flatten().map(|symbol| &symbol.value);
        let parts = args(steps).chain(symbols).flat_map(|arg| arg.value.parts());
        let used: Vec<String> = exprs
            .flat_map(|expr| expr.value.names())
            .chain(parts.filter_map(ArgTemplate::expr).flat_map(|expr| expr.names()))
            .chain(self.templates(steps).flat_map(|template| template.value.names()))
            .chain(self.flag_axes.iter().flat_map(FlagAxisParts::flags).flat_map(|flag| flag.value.names()))
            .map(|(name, _)| name)
            .chain(self.flag_axes.iter().map(|axis| axis.name.value.clone()))
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

    /// Reports invalid tensor maps, whether or not a kernel passes them.
    pub fn check_maps(&self, at: &Table<'_>, names: &KernelNames<'_>) {
        self.tensor_maps.iter().flatten().for_each(|map| map.declared(at, names));
    }

    /// Reports tensor maps that neither this kernel nor one of `others` passes.
    pub fn check_unused(&self, at: &Table<'_>, others: &[&KernelTemplate]) {
        if launch::launches(&self.steps()).all(|launch| launch.args.is_none()) {
            return;
        }
        let theirs = |map: &MapParts| {
            let args = others.iter().flat_map(|kernel| kernel.launches()).flat_map(|launch| &launch.args);
            args.into_iter().any(|arg| arg.names(&map.name.value))
        };
        let passed = |map: &MapParts| self.passes(map) || theirs(map);
        self.tensor_maps.iter().flatten().filter(|map| !passed(map)).for_each(|map| map.unused(at));
    }

    fn passes(&self, map: &MapParts) -> bool {
        args(&self.steps()).any(|arg| arg.value.names(&map.name.value))
    }

    /// The kernel, if all its required keys are valid.
    pub fn template(&self) -> Option<KernelTemplate> {
        let texts = |texts: &Vec<PlacedValue<String>>| texts.iter().map(|text| text.value.clone()).collect();
        Some(KernelTemplate {
            code: self.form(),
            source: self.file()?,
            linked: self.linked.iter().map(|source| source.value.clone()).collect(),
            flags: match &self.flags {
                Some(flags) => flags.iter().map(|flag| flag.value.clone()).collect(),
                None => default_flags(self.form()),
            },
            flag_axes: self.flag_axes.iter().map(FlagAxisParts::template).collect(),
            defines: self.defines.as_ref().map(texts).unwrap_or_default(),
            tensor_maps: self.tensor_maps.iter().flatten().map(MapParts::template).collect::<Option<_>>()?,
            symbols: self.symbols.iter().flatten().map(SymbolParts::template).collect(),
            constexprs: self
                .constexprs
                .iter()
                .flatten()
                .map(|(name, expr)| (name.value.clone(), expr.value.clone()))
                .collect(),
            condition: self.condition.as_ref().map(|condition| condition.value.clone()),
            steps: self.steps().iter().map(StepParts::template).collect::<Option<_>>()?,
        })
    }
}

/// nvcc's flags if the file has none.
fn default_flags(code: CodeForm) -> Vec<Template> {
    let source = TomlText::new("");
    let flags = Table::empty(&source, &KERNEL.spec, Place::default()).list(&KERNEL.flags);
    let of_form = |flag: &Template| match code {
        CodeForm::Cuda | CodeForm::Host => true,
        CodeForm::Ptx => flag.text() != "-lineinfo",
        CodeForm::Cubin | CodeForm::Python => false,
    };
    flags.iter().filter_map(|flag| Some(flag.template()?.value)).filter(of_form).collect()
}

/// The arguments of all launches.
fn args(steps: &[StepParts]) -> impl Iterator<Item = &PlacedValue<ArgTemplate>> {
    launch::launches(steps).flat_map(|launch| launch.args.iter().flatten())
}

/// Reads `[sweep]`, and its parameters that choose flags.
pub fn sweep(item: &Item<'_>) -> (Sweep, Vec<FlagAxisParts>) {
    let Some(table) = item.table() else { return Default::default() };
    let (mut axes, mut flag_axes) = (Vec::new(), Vec::new());
    for (placed, values) in table.free() {
        let Some(name) = identifier(&placed, &values) else { continue };
        if values.is_table() {
            let Some(axis) = FlagAxisParts::read(placed, &values) else { continue };
            axes.push(axis.axis());
            flag_axes.push(axis);
            continue;
        }
        let items = values.some_list();
        let (mut seen, mut known): (Vec<Value>, _) = (Vec::new(), std::collections::HashSet::new());
        for item in items {
            let Some(value) = item.param() else { continue };
            if !known.insert(format!("{value:?}")) {
                item.report(format!("`{}` repeats the value `{value}`", values.place.key), None);
            }
            seen.push(value);
        }
        axes.push((name, seen));
    }
    if table.free().is_empty() {
        table.report("`sweep` declares no axis", Some("THREADS = [128, 256]".to_owned()));
    }
    let scope = NameScope::new("the sweep's parameters", axes.iter().map(|(name, _)| name.clone()));
    let condition = table.read(&SWEEP.r#where, |item| scope.expr(item)).map(|expr| expr.value);
    let points = table.get(&SWEEP.points).map(|item| item.some_list().iter().map(params).collect());
    for point in table.list(&SWEEP.points) {
        for axis in FlagAxisParts::of_params(&point) {
            let help = "give the flags to the axis, and its name here".to_owned();
            table.report_at(&axis.name.place, format!("`{}` has flags", axis.name.place.key), Some(help));
        }
    }
    (Sweep { axes, condition, points }, flag_axes)
}

/// Reads `[[variant]]` or `[[baseline]]`; `base` is `[kernel]`.
pub fn variants(items: &[Item<'_>], base: Option<&KernelParts>, names: &KernelNames<'_>) -> Vec<VariantSpec> {
    items.iter().filter_map(|item| variant(&item.table()?, base, names)).collect()
}

/// Reports names shared by variants and baselines.
pub fn no_shared_names(items: &[Item<'_>]) {
    let names: Vec<(String, Item<'_>)> = items
        .iter()
        .filter_map(|item| {
            let name = item.peek(&VARIANT.name)?;
            Some((name.text()?, name))
        })
        .collect();
    no_duplicates("variant", names.iter().map(|(name, item)| (name.as_str(), item.clone())));
}

/// Names of parameters with their places.
pub fn placed_names(item: &Item<'_>) -> Vec<PlacedValue<String>> {
    item.table().map(|table| table.free().into_iter().map(|(name, _)| name).collect()).unwrap_or_default()
}

/// Parameter names and values of a variant.
pub fn params(item: &Item<'_>) -> Vec<(String, Value)> {
    let Some(table) = item.table() else { return Vec::new() };
    let entries = table.free().into_iter();
    let value = |item: &Item<'_>| if item.is_table() { item.only_name().map(Value::Text) } else { item.param() };
    entries
        .filter_map(|(name, item)| Some((identifier(&name, &item)?, value(&item).unwrap_or(Value::Int(0)))))
        .collect()
}

fn variant(table: &Table<'_>, base: Option<&KernelParts>, names: &KernelNames<'_>) -> Option<VariantSpec> {
    let name = table.read(&VARIANT.name, Item::name);
    let params = table.get(&VARIANT.params).map(|item| params(&item)).unwrap_or_default();
    let own: Vec<String> = params.iter().map(|(name, _)| name.clone()).collect();
    let placed = table.get(&VARIANT.params).map(|item| placed_names(&item)).unwrap_or_default();
    let shown = name.as_deref().unwrap_or("?").to_owned();
    let whose = format!("the parameters of variant `{shown}`");
    let command = table.get(&VARIANT.command);
    let flag_axes = table.get(&VARIANT.params).map(|item| FlagAxisParts::of_params(&item)).unwrap_or_default();
    if command.is_some() || table.has(&VARIANT.python) {
        for axis in &flag_axes {
            let message =
                format!("`{}` holds flags for nvcc, which does not compile this variant", axis.name.place.key);
            table.report_at(&axis.name.place, message, Some("write a plain value".to_owned()));
        }
    }
    if let Some(pattern) = table.get(&VARIANT.r#match) {
        let beside = VARIANT.spec.keys.iter().filter(|key| ![&VARIANT.name, &VARIANT.r#match].contains(key));
        for item in beside.filter_map(|key| table.given(key)) {
            item.report(format!("`{}` does not apply to a variant with `match`", item.place.key), None);
        }
        let kind = VariantSpecKind::Captured(launch_pattern::launch_pattern(&pattern)?);
        return Some(VariantSpec { name: name?, params: Vec::new(), kind, line: table.line() });
    }
    let function = table.get(&VARIANT.python);
    if let (Some(command), Some(_)) = (&command, &function) {
        command.report(format!("variant `{shown}` has both `python` and `command`"), Some("keep one".to_owned()));
    }
    let kind = match (&command, table.get(&VARIANT.kernel)) {
        (_, kernel) if function.is_some() => {
            if let Some(kernel) = kernel {
                let help = "keep one: `kernel = { python = \"...\" }` for a Triton kernel, `python = \"...\"` for a function over tensors";
                kernel.report(format!("variant `{shown}` has both `kernel` and `python`"), Some(help.to_owned()));
            }
            let scope = NameScope::new(whose, own);
            let filter = table.read(&VARIANT.kernel_filter, filter);
            let call = function.and_then(|item| Some((scope.template(&item)?, item)));
            call.filter(|(call, item)| names_function(call, item))
                .map(|(call, _)| VariantSpecKind::Function(FunctionTemplate { call, kernel_filter: filter }))
        }
        (Some(_), Some(kernel)) => {
            kernel.report(format!("variant `{shown}` has both `kernel` and `command`"), Some("keep one".to_owned()));
            None
        }
        (Some(item), None) => {
            let argv = item.some_list();
            let scope = NameScope::new(whose, own);
            let filter = table.read(&VARIANT.kernel_filter, filter);
            let argv = argv.iter().filter_map(|argument| scope.template(argument)).collect();
            Some(VariantSpecKind::Command(CommandTemplate { argv, kernel_filter: filter }))
        }
        (None, kernel) => {
            if let Some(filter) = table.get(&VARIANT.kernel_filter) {
                filter.report(
                    "`kernel_filter` applies only to functions and external commands",
                    Some("leave it out".to_owned()),
                );
            }
            kernel_of(table, kernel, base, names, &shown).and_then(|mut parts| {
                parts.flag_axes.retain(|axis| flag_axes.iter().all(|own| own.name.value != axis.name.value));
                parts.flag_axes.extend(flag_axes);
                parts.check(table, names, &placed, &whose);
                if let Some(params) = table.get(&VARIANT.params) {
                    parts.flag_axes.iter().for_each(|axis| axis.check_value(&params));
                }
                parts.template().map(|kernel| VariantSpecKind::Kernel(Box::new(kernel)))
            })
        }
    };
    Some(VariantSpec { name: name?, params, kind: kind?, line: table.line() })
}

/// Whether a text has a file and a function after a colon; otherwise it is an error.
fn names_function(call: &Template, item: &Item<'_>) -> bool {
    let named = call.text().rsplit_once(':').is_some_and(|(file, name)| !file.is_empty() && !name.is_empty());
    if !named {
        let message = format!("`{}` is \"{}\", which names no function", item.place.key, call.text());
        item.report(message, Some("FILE.py:FUNCTION".to_owned()));
    }
    named
}

fn kernel_of(
    table: &Table<'_>,
    own: Option<Item<'_>>,
    base: Option<&KernelParts>,
    names: &KernelNames<'_>,
    shown: &str,
) -> Option<KernelParts> {
    match (own.and_then(|item| item.table()), base) {
        (Some(kernel), base) => {
            let own = parts(&kernel);
            own.check_maps(&kernel, names);
            let has_maps = own.tensor_maps.is_some();
            let parts = match base {
                Some(base) => {
                    if own.steps.is_none()
                        && let Some(steps) = &base.steps
                    {
                        launch::check_taken(&kernel, &own.shared, steps);
                    }
                    let another = own.code.is_some_and(|code| code != base.form());
                    let merged = own.over(base);
                    if base.runs == KernelCompleteness::Common || another {
                        merged.complete(&kernel);
                    }
                    merged
                }
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
            let help =
                "give it `kernel = { ... }`, `python = \"...\"` or `command = [...]`, or declare [kernel]".to_owned();
            table.report(format!("variant `{shown}` has nothing to run"), Some(help));
            None
        }
    }
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
