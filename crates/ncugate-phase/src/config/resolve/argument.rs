//! `args`: names, and tables for arguments without a name.

use super::names::{KernelNames, suggest};
use super::scope::NameScope;
use crate::config::keys::ARGUMENT;
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{ArgTemplate, ScalarType, SurfaceTemplate, TextureTemplate};
use ncugate_model::{TextureAddress, TextureFilter, TextureRead, TextureSampling};

/// The word for a null pointer.
const NULL: &str = "nullptr";
/// Maximum nesting of structs.
const DEPTH: usize = 8;

/// Reads `args`.
pub fn args(item: &Item<'_>) -> Vec<PlacedValue<ArgTemplate>> {
    item.list().iter().filter_map(|item| Some(item.with(argument(item, 0)?))).collect()
}

/// Reads one value with the syntax of arguments.
pub fn one(item: &Item<'_>) -> Option<PlacedValue<ArgTemplate>> {
    Some(item.with(argument(item, 0)?))
}

fn argument(item: &Item<'_>, depth: usize) -> Option<ArgTemplate> {
    if !item.is_table() {
        let name = item.text()?;
        return Some(if name == NULL { ArgTemplate::Null } else { ArgTemplate::Named(name) });
    }
    if depth > DEPTH {
        item.report(format!("`{}` nests structs more than {DEPTH} deep", item.place.key), None);
        return None;
    }
    let table = item.table()?;
    let (kind, inner) = table.exactly_one([
        &ARGUMENT.buffer,
        &ARGUMENT.value,
        &ARGUMENT.r#struct,
        &ARGUMENT.pointers,
        &ARGUMENT.texture,
        &ARGUMENT.surface,
    ])?;
    let strays = [
        (&ARGUMENT.offset, &ARGUMENT.buffer),
        (&ARGUMENT.r#type, &ARGUMENT.value),
        (&ARGUMENT.repeat, &ARGUMENT.value),
        (&ARGUMENT.align, &ARGUMENT.r#struct),
        (&ARGUMENT.address, &ARGUMENT.texture),
        (&ARGUMENT.filter, &ARGUMENT.texture),
        (&ARGUMENT.normalized, &ARGUMENT.texture),
        (&ARGUMENT.read, &ARGUMENT.texture),
    ];
    let of_texels = Some((&ARGUMENT.channels, &ARGUMENT.texture)).filter(|_| *kind != ARGUMENT.surface);
    for (key, of) in strays.into_iter().chain(of_texels).filter(|(_, of)| *of != kind) {
        if let Some(stray) = table.given(key) {
            stray.report(format!("`{}` applies only to `{}`", stray.place.key, of.name), None);
        }
    }
    if *kind == ARGUMENT.buffer {
        let offset = table.read(&ARGUMENT.offset, Item::expr);
        return Some(ArgTemplate::Element { buffer: inner.text()?, offset: offset?.value });
    }
    if *kind == ARGUMENT.value {
        let dtype = table.need(&ARGUMENT.r#type).and_then(|item| item.one_of(&ScalarType::WORDS));
        let value = inner.expr();
        return Some(ArgTemplate::Value { dtype: dtype?, value: value?.value });
    }
    if *kind == ARGUMENT.texture {
        return texture(&table, inner.text());
    }
    if *kind == ARGUMENT.surface {
        let (buffer, channels) = (inner.text(), channels(&table));
        return Some(ArgTemplate::Surface(SurfaceTemplate { buffer: buffer?, channels: channels? }));
    }
    if *kind == ARGUMENT.pointers {
        return Some(ArgTemplate::Pointers(pointers(&inner, depth)?));
    }
    let fields = fields(&inner, depth)?;
    let align = match table.get(&ARGUMENT.align) {
        Some(item) => Some(alignment(&item)?),
        None => None,
    };
    Some(ArgTemplate::Struct { align, fields })
}

/// Alignment of a struct in bytes.
fn alignment(item: &Item<'_>) -> Option<u32> {
    let bytes = item.count()?;
    if !bytes.is_power_of_two() {
        item.expected("a power of two up to 128", None);
        return None;
    }
    Some(bytes)
}

/// Elements per texel.
fn channels(table: &Table<'_>) -> Option<u32> {
    let item = table.get(&ARGUMENT.channels)?;
    match item.count()? {
        3 => {
            item.expected("1, 2 or 4", None);
            None
        }
        channels => Some(channels),
    }
}

fn texture(table: &Table<'_>, buffer: Option<String>) -> Option<ArgTemplate> {
    let channels = channels(table);
    let sampling = all_of!(TextureSampling {
        address: table.read(&ARGUMENT.address, |item| item.one_of(&TextureAddress::WORDS)),
        filter: table.read(&ARGUMENT.filter, |item| item.one_of(&TextureFilter::WORDS)),
        normalized: table.read(&ARGUMENT.normalized, Item::boolean),
        read: table.read(&ARGUMENT.read, |item| item.one_of(&TextureRead::WORDS)),
    });
    Some(ArgTemplate::Texture(TextureTemplate { buffer: buffer?, channels: channels?, sampling: sampling? }))
}

/// The fields of a struct; a repeated field is a C array.
fn fields(item: &Item<'_>, depth: usize) -> Option<Vec<ArgTemplate>> {
    let mut fields = Vec::new();
    for item in item.list() {
        let field = argument(&item, depth + 1)?;
        let count = match field {
            ArgTemplate::Value { .. } => item.table()?.read(&ARGUMENT.repeat, Item::count)?,
            _ => 1,
        };
        fields.extend((0..count).map(|_| field.clone()));
    }
    Some(fields)
}

fn pointers(item: &Item<'_>, depth: usize) -> Option<Vec<ArgTemplate>> {
    let pointer = |item: &Item<'_>| match argument(item, depth + 1)? {
        pointer @ (ArgTemplate::Named(_) | ArgTemplate::Null | ArgTemplate::Element { .. }) => Some(pointer),
        _ => {
            item.expected("a buffer, an element of one, a tensor map, or \"nullptr\"", None);
            None
        }
    };
    item.some_list().iter().map(pointer).collect()
}

/// Reports unknown names of an argument, and names in its expressions that are not in scope; `maps` are tensor maps.
pub fn check(
    at: &Table<'_>,
    arg: &PlacedValue<ArgTemplate>,
    names: &KernelNames<'_>,
    maps: &[&str],
    scope: &NameScope,
) {
    let key = &arg.place.key;
    for part in arg.value.parts() {
        let buffers = || names.buffers.iter().map(|buffer| buffer.name.as_str());
        let known: Vec<&str> = match part {
            ArgTemplate::Element { .. } | ArgTemplate::Texture(_) | ArgTemplate::Surface(_) => buffers().collect(),
            _ => names.args.iter().map(String::as_str).chain(maps.iter().copied()).collect(),
        };
        if let Some(name) = part.name().filter(|name| !known.contains(name)) {
            let what = match part {
                ArgTemplate::Element { .. } | ArgTemplate::Texture(_) | ArgTemplate::Surface(_) => "a buffer",
                _ => "a buffer, tensor map, scalar or dimension",
            };
            let message = format!("`{key}` is `{name}`, which is not {what}");
            at.report_at(&arg.place, message, Some(suggest(name, known.into_iter())));
        }
        if let Some(expr) = part.expr() {
            for (name, _) in expr.names().into_iter().filter(|(name, _)| !scope.names.contains(name)) {
                let message = format!("`{key}` has \"{expr}\"; `{name}` is not among {}", scope.who);
                let help = match names.args.contains(&name) {
                    true => format!("an argument that is a scalar or a buffer is its name alone: `\"{name}\"`"),
                    false => suggest(&name, scope.names.iter().map(String::as_str)),
                };
                at.report_at(&arg.place, message, Some(help));
            }
        }
    }
    for pointers in arrays(&arg.value) {
        let are_maps: Vec<bool> =
            pointers.iter().map(|part| part.name().is_some_and(|name| maps.contains(&name))).collect();
        let is_buffer = |name: &&str| names.buffers.iter().any(|buffer| buffer.name == **name) || maps.contains(name);
        if let Some(name) = pointers.iter().filter_map(ArgTemplate::name).find(|name| !is_buffer(name)) {
            at.report_at(&arg.place, format!("`{key}` points to `{name}`, which is not a buffer or tensor map"), None);
        } else if are_maps.contains(&true) && are_maps.contains(&false) {
            let help = "an array holds either pointers or tensor maps, which have 128 bytes each".to_owned();
            at.report_at(&arg.place, format!("`{key}` has tensor maps and pointers in one array"), Some(help));
        }
    }
}

/// Arrays behind pointers.
fn arrays(arg: &ArgTemplate) -> Vec<&[ArgTemplate]> {
    match arg {
        ArgTemplate::Pointers(pointers) => vec![pointers],
        ArgTemplate::Struct { fields, .. } => fields.iter().flat_map(arrays).collect(),
        _ => Vec::new(),
    }
}
