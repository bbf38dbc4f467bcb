//! `workload.reference`: where the right answer comes from.

use super::names::suggest;
use super::scope::NameScope;
use crate::config::keys::{self, BUILTINS};
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{Buffer, Init, ProgramKind, ReferenceProgram, WorkloadReference};
use ncugate_model::Law;
use ncugate_model::Role;
use ncugate_model::expr::{Expr, Value};

/// What a built-in takes. Buffers are found by these names; failing one, inputs and outputs are taken in the order of the
/// file. That their extents fit is checked where the answer is computed.
struct BuiltinSignature {
    name: &'static str,
    inputs: &'static [&'static str],
    optional: &'static [&'static str],
    options: &'static [(&'static str, &'static [&'static str])],
    /// Laws of inputs that it has a right answer for, and that show what normal inputs hide.
    laws: &'static [Law],
}

const SCORES: &[Law] =
    &[Law::Declared, Law::Growing, Law::Shifted, Law::Large, Law::Outlier, Law::Ties, Law::Constant, Law::Zeros];
const NUMBERS: &[Law] = &[Law::Declared, Law::Large, Law::Outlier, Law::Ties, Law::Constant, Law::Zeros];

const BOOLS: &[&str] = &["true", "false"];
const TAKES: [BuiltinSignature; 5] = [
    BuiltinSignature {
        name: "sdpa",
        inputs: &["q", "k", "v"],
        optional: &["k_scale", "v_scale"],
        options: &[("causal", BOOLS)],
        laws: SCORES,
    },
    BuiltinSignature {
        name: "gemm",
        inputs: &["a", "b"],
        optional: &["c_in"],
        options: &[("transpose_b", BOOLS)],
        laws: NUMBERS,
    },
    BuiltinSignature { name: "softmax", inputs: &["x"], optional: &[], options: &[], laws: SCORES },
    BuiltinSignature {
        name: "reduce",
        inputs: &["x"],
        optional: &[],
        options: &[("op", &["sum", "max", "min", "mean"])],
        laws: NUMBERS,
    },
    BuiltinSignature { name: "copy", inputs: &["x"], optional: &[], options: &[], laws: NUMBERS },
];

/// Where a reference may come from.
const KINDS: [&str; 5] = ["builtin", "entry", "npy", "python", "command"];

/// Reads `workload.reference`.
pub fn reference(item: &Item<'_>, dims: &NameScope) -> Option<WorkloadReference> {
    let builtins: Vec<(&'static str, &'static str)> = BUILTINS.iter().map(|name| (*name, *name)).collect();
    if !item.is_table() {
        let name = item.one_of(&builtins)?;
        return Some(WorkloadReference::Builtin { name: name.to_owned(), options: Vec::new() });
    }
    let table = item.table(&keys::REFERENCE)?;
    let given: Vec<&str> = KINDS.into_iter().filter(|key| table.has(key)).collect();
    let [kind] = given.as_slice() else {
        item.expected(&format!("exactly one of {}", KINDS.join(", ")), None);
        return None;
    };
    let strays = table.free().into_iter().map(|(_, item)| item);
    let geometry = ["source", "grid", "block", "args"].into_iter().filter_map(|key| table.get(key));
    let limit = table.get("timeout_s");
    let refused: Vec<Item<'_>> = match *kind {
        "builtin" => geometry.chain(limit).collect(),
        "entry" => strays.chain(limit).collect(),
        "npy" => geometry.chain(strays).chain(limit).collect(),
        _ => geometry.chain(strays).collect(),
    };
    for stray in refused {
        stray.report(format!("`{}` means nothing beside `{kind}`", stray.place.key), None);
    }
    match *kind {
        "builtin" => {
            let name = table.get("builtin")?.one_of(&builtins);
            let takes = TAKES.iter().find(|takes| Some(takes.name) == name);
            let given = table.free().into_iter();
            let options = given.filter_map(|(key, item)| Some((option(takes, &key, &item)?, key.value)));
            let options = options.map(|(value, key)| (key, value)).collect();
            Some(WorkloadReference::Builtin { name: name?.to_owned(), options })
        }
        "entry" => {
            let axes = |key| -> Option<Vec<Expr>> {
                let item: Item<'_> = table.need(key)?;
                Some(item.axes().iter().filter_map(|axis| Some(dims.expr(axis)?.value)).collect())
            };
            let (grid, block) = (axes("grid"), axes("block"));
            let source = table.get("source").and_then(|item| item.text()).map(Into::into);
            let names = |item: Item<'_>| item.some_list().iter().filter_map(Item::name).collect();
            let args = table.get("args").map(names).unwrap_or_default();
            let entry = table.get("entry")?.name()?;
            Some(WorkloadReference::Entry { entry, source, grid: grid?, block: block?, args })
        }
        "npy" => npy(&table.get("npy")?, dims),
        _ => program(&table, kind).map(WorkloadReference::Program),
    }
}

/// A function of a Python file, or a command.
fn program(table: &Table<'_>, kind: &str) -> Option<ReferenceProgram> {
    let timeout_s = table.get("timeout_s").map_or(Some(60), |item| item.count(1));
    let program = match kind {
        "python" => {
            let item = table.get("python")?;
            let text = item.text()?;
            let (file, function) = text.rsplit_once(':').unwrap_or((text.as_str(), ""));
            let named = function.chars().all(|c| c.is_alphanumeric() || c == '_') && !function.is_empty();
            if file.is_empty() || !named {
                item.expected("a file and a function of it, such as \"ref.py:softmax\"", None);
                return None;
            }
            ProgramKind::Python { file: file.into(), function: function.to_owned() }
        }
        _ => {
            let argv = table.get("command")?.some_list();
            ProgramKind::Command { argv: argv.iter().map(Item::text).collect::<Option<_>>()? }
        }
    };
    Some(ReferenceProgram { program, timeout_s: timeout_s? })
}

/// An option of a built-in as text: `true`, `false`, a number or a word.
fn option(takes: Option<&BuiltinSignature>, name: &PlacedValue<String>, item: &Item<'_>) -> Option<String> {
    let text = match item.param()? {
        Value::Bool(v) => v.to_string(),
        other => other.to_string(),
    };
    let takes = takes?;
    match takes.options.iter().find(|(option, _)| *option == name.value) {
        Some((_, values)) if values.contains(&text.as_str()) => {}
        Some((_, values)) => item.expected(&format!("one of {}", values.join(", ")), None),
        None => {
            let help = suggest(&name.value, takes.options.iter().map(|(option, _)| *option));
            item.report(format!("`{}` has no option `{}`", takes.name, name.value), Some(help));
        }
    }
    Some(text)
}

fn npy(item: &Item<'_>, dims: &NameScope) -> Option<WorkloadReference> {
    let own = ["shape", "seed", "buffer"].map(str::to_owned);
    let scope =
        NameScope::new("`shape`, `seed`, `buffer` and the dimensions", own.into_iter().chain(dims.names.clone()));
    let path = scope.template(item)?;
    Some(WorkloadReference::Npy { path: path.text().into() })
}

/// Reports a built-in whose inputs and output are not among the buffers.
pub fn check_buffers(table: &Table<'_>, reference: &WorkloadReference, buffers: &[Buffer]) {
    let WorkloadReference::Builtin { name, .. } = reference else { return };
    let Some(takes) = TAKES.iter().find(|takes| takes.name == name) else { return };
    let of_role = |wanted: fn(Role) -> bool| {
        let named = buffers.iter().filter(move |buffer| wanted(buffer.role)).map(|buffer| buffer.name.as_str());
        named.filter(|name| !takes.optional.contains(name)).collect::<Vec<_>>()
    };
    let (inputs, outputs) = (of_role(|role| role == Role::Input), of_role(Role::is_compared));
    let are_found =
        |inputs: &[&str]| takes.inputs.iter().all(|input| inputs.contains(input)) || inputs.len() == takes.inputs.len();
    if (are_found(&inputs) || are_found(&of_role(Role::is_read))) && outputs.len() == 1 {
        return;
    }
    if let Some(item) = table.get("reference") {
        let listed = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let message = format!(
            "`workload.reference` is `{name}`, which takes the inputs {} and one output; the file has the inputs {} and the outputs {}",
            takes.inputs.join(", "),
            listed(&inputs),
            listed(&outputs)
        );
        item.report(message, Some("buffers are found by name, else by their order".to_owned()));
    }
}

/// The laws that inputs are drawn by where the phase does not say: those that suit a built-in reference, else, and where
/// every input is fixed by its `init`, the declared inputs alone.
pub fn suited_laws(reference: &WorkloadReference, buffers: &[Buffer]) -> Vec<Law> {
    let free = |buffer: &Buffer| buffer.role.is_read() && matches!(buffer.init, None | Some(Init::Normal { .. }));
    let takes = match reference {
        WorkloadReference::Builtin { name, .. } => TAKES.iter().find(|takes| takes.name == name),
        WorkloadReference::Entry { .. }
        | WorkloadReference::Npy { .. }
        | WorkloadReference::Program(_)
        | WorkloadReference::Absent => None,
    };
    let laws = takes.filter(|_| buffers.iter().any(free)).map_or(&[Law::Declared][..], |takes| takes.laws);
    laws.to_vec()
}

/// Reads `workload.laws`.
pub fn laws(item: &Item<'_>, reference: Option<&WorkloadReference>) -> Vec<Law> {
    let names = Law::ALL.map(|law| (law.name(), law));
    let laws: Vec<Law> = item.some_list().iter().filter_map(|law| law.one_of(&names)).collect();
    for (at, law) in laws.iter().enumerate() {
        if laws[..at].contains(law) {
            item.report(format!("law {law} is given twice"), Some("give each law once".to_owned()));
        }
    }
    if matches!(reference, Some(WorkloadReference::Npy { .. })) && laws.iter().any(|law| *law != Law::Declared) {
        let help = "leave `laws` out: a file holds the answer to the declared inputs alone".to_owned();
        item.report("`laws` draws other inputs than those that the reference's files answer".to_owned(), Some(help));
    }
    laws
}
