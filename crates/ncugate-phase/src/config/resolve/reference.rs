//! `workload.reference`: the source of the right answer.

use super::names::suggest;
use super::scope::NameScope;
use super::workload::shapes_with;
use crate::config::builtin::{BOOLS, BUILTINS, BuiltinSignature};
use crate::config::keys::{REFERENCE, WORKLOAD};
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{Buffer, BufferType, Init, ProgramKind, ReferenceProgram, Shape, WorkloadReference};
use ncugate_model::expr::{Expr, Value};
use ncugate_model::{Law, Role};

/// The default laws for a reference that can be called and is not built in.
const ELEMENTS: &[Law] = &[Law::Declared, Law::Large, Law::Outlier, Law::Shifted, Law::Ties];
/// Those for integer outputs: shifted numbers of few bits are often equal.
const WITHOUT_TIES: &[Law] = &[Law::Declared, Law::Large, Law::Outlier];

/// Reads `workload.reference`; `params` are all parameters of variants.
pub fn reference(item: &Item<'_>, dims: &NameScope, shapes: &[Shape], params: &[String]) -> Option<WorkloadReference> {
    let table = item.table_or(&REFERENCE.builtin)?;
    let (kind, inner) = table.exactly_one([
        &REFERENCE.builtin,
        &REFERENCE.entry,
        &REFERENCE.npy,
        &REFERENCE.python,
        &REFERENCE.command,
    ])?;
    let is_program = *kind == REFERENCE.python || *kind == REFERENCE.command;
    let of_entry = [&REFERENCE.source, &REFERENCE.grid, &REFERENCE.block, &REFERENCE.args];
    let of_entry = of_entry.into_iter().filter(|_| *kind != REFERENCE.entry);
    let of_program = Some(&REFERENCE.timeout_s).filter(|_| !is_program);
    let of_python = Some(&REFERENCE.params).filter(|_| *kind != REFERENCE.python);
    let options = table.free();
    let strays = options.iter().map(|(_, item)| item.clone()).filter(|_| *kind != REFERENCE.builtin);
    for stray in of_entry.chain(of_program).chain(of_python).filter_map(|key| table.given(key)).chain(strays) {
        stray.report(format!("`{}` does not apply to a reference with `{}`", stray.place.key, kind.name), None);
    }
    if is_program {
        let timeout_s = table.read(&REFERENCE.timeout_s, Item::count);
        let program = if *kind == REFERENCE.python { python(&inner) } else { command(&inner) };
        let params = table.given(&REFERENCE.params).map(|item| known_params(&item, params)).unwrap_or_default();
        return Some(WorkloadReference::Program(ReferenceProgram { program: program?, timeout_s: timeout_s?, params }));
    }
    if *kind == REFERENCE.npy {
        return Some(WorkloadReference::Npy { path: dims.of_file().template(&inner)?.text().into() });
    }
    if *kind == REFERENCE.entry {
        let axes = |key| -> Option<Vec<Expr>> {
            let item: Item<'_> = table.need(key)?;
            Some(item.axes().iter().filter_map(|axis| Some(dims.expr(axis)?.value)).collect())
        };
        let (grid, block) = (axes(&REFERENCE.grid), axes(&REFERENCE.block));
        let source = table.read(&REFERENCE.source, Item::text).map(Into::into);
        let names = |item: Item<'_>| item.some_list().iter().filter_map(Item::name).collect();
        let args = table.get(&REFERENCE.args).map(names).unwrap_or_default();
        return Some(WorkloadReference::Entry { entry: inner.name()?, source, grid: grid?, block: block?, args });
    }
    let name = inner.word();
    let takes = BUILTINS.iter().find(|takes| Some(takes.name) == name);
    let options =
        options.into_iter().filter_map(|(key, item)| Some((option(takes, &key, &item, (dims, shapes))?, key.value)));
    let options = options.map(|(value, key)| (key, value)).collect();
    Some(WorkloadReference::Builtin { name: name?.to_owned(), options })
}

/// The listed parameters, which variants must have.
fn known_params(item: &Item<'_>, params: &[String]) -> Vec<String> {
    let known = |item: &Item<'_>| {
        let name = item.name()?;
        if !params.contains(&name) {
            let message = format!("`{}` is `{name}`, which is not a parameter of a variant", item.place.key);
            item.report(message, Some(suggest(&name, params.iter().map(String::as_str))));
        }
        Some(name)
    };
    item.some_list().iter().filter_map(known).collect()
}

/// A function of a Python file.
pub fn python(item: &Item<'_>) -> Option<ProgramKind> {
    let text = item.text()?;
    let (file, function) = text.rsplit_once(':').unwrap_or((text.as_str(), ""));
    let named = function.chars().all(|c| c.is_alphanumeric() || c == '_') && !function.is_empty();
    if file.is_empty() || !named {
        item.expected("a file and its function, such as \"ref.py:softmax\"", None);
        return None;
    }
    Some(ProgramKind::Python { file: file.into(), function: function.to_owned() })
}

fn command(item: &Item<'_>) -> Option<ProgramKind> {
    let argv = item.some_list();
    Some(ProgramKind::Command { argv: argv.iter().map(Item::text).collect::<Option<_>>()? })
}

/// An option of a built-in as text: `true`, `false`, a number, a word, or a condition on the dimensions.
fn option(
    takes: Option<&BuiltinSignature>,
    name: &PlacedValue<String>,
    item: &Item<'_>,
    (dims, shapes): (&NameScope, &[Shape]),
) -> Option<String> {
    let flag = takes.and_then(|takes| takes.options.iter().find(|(option, _)| *option == name.value));
    if flag.is_some_and(|(_, values)| *values == BOOLS) && item.is_text() {
        return condition(item, dims, shapes);
    }
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

/// A condition that is true or false at every shape.
fn condition(item: &Item<'_>, dims: &NameScope, shapes: &[Shape]) -> Option<String> {
    let expr = dims.expr(item)?.value;
    for shape in shapes_with(&expr, shapes) {
        if let Err(e) = expr.eval_bool(&shape.scope()) {
            let message = format!("`{}` at shape `{}`: {e}", item.place.key, shape.name);
            item.report_within(expr.text(), e.span(), message, Some("such as \"CAUSAL == 1\"".to_owned()));
            return None;
        }
    }
    Some(expr.text().to_owned())
}

/// Reports a built-in whose inputs and output are not among the buffers.
pub fn check_buffers(table: &Table<'_>, reference: &WorkloadReference, buffers: &[Buffer]) {
    let WorkloadReference::Builtin { name, .. } = reference else { return };
    let Some(takes) = BUILTINS.iter().find(|takes| takes.name == name) else { return };
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
    if let Some(item) = table.get(&WORKLOAD.reference) {
        let listed = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let message = format!(
            "`workload.reference` is `{name}`, which needs the inputs {} and one output; the phase has the inputs {} and the outputs {}",
            takes.inputs.join(", "),
            listed(&inputs),
            listed(&outputs)
        );
        item.report(message, Some("buffers are matched by name, or else by order".to_owned()));
    }
}

/// The default laws of inputs: those that suit a built-in reference, and those of single elements if another reference
/// can be called. With files, and if every input is fixed by its `init`, only the declared inputs.
pub fn suited_laws(reference: &WorkloadReference, buffers: &[Buffer]) -> Vec<Law> {
    let is_free = |buffer: &Buffer| buffer.role.is_read() && matches!(buffer.init, None | Some(Init::Normal { .. }));
    let holds_integers = |buffer: &Buffer| matches!(&buffer.dtype, BufferType::Fixed(dtype) if !dtype.has_nan());
    let laws = match reference {
        WorkloadReference::Builtin { name, .. } if buffers.iter().any(is_free) => {
            BUILTINS.iter().find(|takes| takes.name == name).map_or(&[Law::Declared][..], |takes| takes.laws)
        }
        WorkloadReference::Entry { .. } | WorkloadReference::Program(_)
            if buffers.iter().any(|buffer| is_free(buffer) && !holds_integers(buffer)) =>
        {
            // The place of one of several equal elements has several right answers.
            let counts = buffers.iter().any(|buffer| buffer.role.is_compared() && holds_integers(buffer));
            if counts { WITHOUT_TIES } else { ELEMENTS }
        }
        WorkloadReference::Builtin { .. }
        | WorkloadReference::Entry { .. }
        | WorkloadReference::Npy { .. }
        | WorkloadReference::Program(_)
        | WorkloadReference::Absent => &[Law::Declared],
    };
    laws.to_vec()
}

/// Reads `workload.laws`.
pub fn laws(item: &Item<'_>, reference: Option<&WorkloadReference>) -> Vec<Law> {
    let laws: Vec<Law> = item.some_list().iter().filter_map(|law| law.one_of(&Law::WORDS)).collect();
    for (at, law) in laws.iter().enumerate() {
        if laws[..at].contains(law) {
            item.report(format!("`laws` has `{law}` twice"), Some("remove one".to_owned()));
        }
    }
    if matches!(reference, Some(WorkloadReference::Npy { .. })) && laws.iter().any(|law| *law != Law::Declared) {
        let help = "remove `laws`: the file has the expected outputs of the declared inputs only".to_owned();
        item.report(
            "`laws` draws inputs for which the reference files have no expected outputs".to_owned(),
            Some(help),
        );
    }
    laws
}

#[cfg(test)]
mod tests {
    use crate::config::{Workload, parse};
    use ncugate_model::{Law, ShapeName};
    use std::path::Path;

    fn workload(reference: &str, more: &str) -> Workload {
        let text = include_str!("../../../../../tests/data/copy.toml");
        let text = text.replace("\"copy\"\ntol", &format!("{reference}\n{more}tol"));
        let text = text.replace("only = { S = 2048 }", "only = { S = 2048 }\nwide = { S = 4096 }");
        parse(Path::new("copy.toml"), &format!("{text}[sweep]\nTHREADS = [64]\n")).unwrap().workload
    }

    #[test]
    fn a_reference_that_can_be_called_has_all_elementwise_laws_at_every_shape_besides_the_declared_inputs() {
        let command = workload("{ command = [\"ref\"] }", "");
        for shape in ["only", "wide"] {
            let of = |seed| command.laws_of(&ShapeName(shape.into()), seed);
            assert_eq!(of(0), [Law::Declared, Law::Large, Law::Shifted], "{shape}");
            assert_eq!(of(1), [Law::Declared, Law::Outlier, Law::Ties], "{shape}");
        }
        let given = workload("{ command = [\"ref\"] }", "laws = [\"declared\", \"zeros\"]\n");
        assert_eq!(given.laws_of(&ShapeName("wide".into()), 1), [Law::Zeros], "as the phase says");
        let files = workload("{ npy = \"y.npy\" }", "");
        assert_eq!(files.laws_of(&ShapeName("wide".into()), 1), [Law::Declared]);
    }
}
