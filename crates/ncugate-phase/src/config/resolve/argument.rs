//! `args`: names, and tables for what has none.

use super::names::{KernelNames, suggest};
use super::scope::NameScope;
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{ArgTemplate, ScalarType, SurfaceTemplate, TextureTemplate, keys};
use ncugate_model::TextureAddress;
use ncugate_model::TextureFilter;
use ncugate_model::TextureRead;
use ncugate_model::TextureSampling;
use ncugate_model::expr::Expr;

/// What `nullptr` is written as.
const NULL: &str = "nullptr";
/// Deepest struct in a struct.
const DEPTH: usize = 8;

/// Reads `args`.
pub fn args(item: &Item<'_>) -> Vec<PlacedValue<ArgTemplate>> {
    item.list().iter().filter_map(|item| Some(item.with(argument(item, 0)?))).collect()
}

/// Reads one value that is written as arguments are.
pub fn one(item: &Item<'_>) -> Option<PlacedValue<ArgTemplate>> {
    Some(item.with(argument(item, 0)?))
}

fn argument(item: &Item<'_>, depth: usize) -> Option<ArgTemplate> {
    if !item.is_table() {
        let name = item.text()?;
        return Some(if name == NULL { ArgTemplate::Null } else { ArgTemplate::Named(name) });
    }
    if depth > DEPTH {
        item.report(format!("`{}` is deeper than {DEPTH} structs", item.place.key), None);
        return None;
    }
    let table = item.table(&keys::ARGUMENT)?;
    let given: Vec<&str> = ["buffer", "value", "struct", "pointers", "texture", "surface"]
        .into_iter()
        .filter(|key| table.has(key))
        .collect();
    let [kind] = given.as_slice() else {
        item.expected("exactly one of buffer, value, struct, pointers, texture, surface", None);
        return None;
    };
    let of_texture = ["address", "filter", "normalized", "read"].map(|key| (key, "texture"));
    let of_texels = Some(("channels", "texture")).filter(|_| *kind != "surface");
    let strays = [("offset", "buffer"), ("type", "value"), ("repeat", "value"), ("align", "struct")];
    let strays = strays.into_iter().chain(of_texture).chain(of_texels);
    for (key, of) in strays.filter(|(_, of)| of != kind) {
        if let Some(stray) = table.get(key) {
            stray.report(format!("`{}` is for `{of}`", stray.place.key), None);
        }
    }
    match *kind {
        "buffer" => element(&table),
        "value" => value(&table),
        "texture" => texture(&table),
        "surface" => Some(ArgTemplate::Surface(SurfaceTemplate {
            buffer: table.get("surface")?.text()?,
            channels: channels(&table)?,
        })),
        "struct" => {
            let mut parts = fields(&table.get("struct")?, depth)?;
            if let Some(item) = table.get("align") {
                parts.insert(0, ArgTemplate::Alignment(alignment(&item)?));
            }
            Some(ArgTemplate::Struct(parts))
        }
        _ => Some(ArgTemplate::Pointers(pointers(&table.get("pointers")?, depth)?)),
    }
}

fn element(table: &Table<'_>) -> Option<ArgTemplate> {
    let buffer = table.get("buffer")?.text()?;
    let offset = match table.get("offset") {
        Some(item) => item.expr()?.value,
        None => Expr::parse("0").ok()?,
    };
    Some(ArgTemplate::Element { buffer, offset })
}

/// Bytes that a struct is aligned to.
fn alignment(item: &Item<'_>) -> Option<u32> {
    let bytes = u32::try_from(item.integer(1..=128)?).ok()?;
    if !bytes.is_power_of_two() {
        item.expected("a power of two up to 128", None);
        return None;
    }
    Some(bytes)
}

/// Elements of a texel.
fn channels(table: &Table<'_>) -> Option<u32> {
    let Some(item) = table.get("channels") else { return Some(1) };
    match item.integer(1..=4)? {
        3 => {
            item.expected("1, 2 or 4", None);
            None
        }
        channels => u32::try_from(channels).ok(),
    }
}

fn texture(table: &Table<'_>) -> Option<ArgTemplate> {
    let channels = channels(table)?;
    let sampling = TextureSampling {
        address: table
            .get("address")
            .map_or(Some(TextureAddress::default()), |item| item.one_of(&TextureAddress::ALL))?,
        filter: table.get("filter").map_or(Some(TextureFilter::default()), |item| item.one_of(&TextureFilter::ALL))?,
        normalized: table.get("normalized").map_or(Some(false), |item| item.boolean())?,
        read: table.get("read").map_or(Some(TextureRead::default()), |item| item.one_of(&TextureRead::ALL))?,
    };
    Some(ArgTemplate::Texture(TextureTemplate { buffer: table.get("texture")?.text()?, channels, sampling }))
}

fn value(table: &Table<'_>) -> Option<ArgTemplate> {
    let dtype = table.need("type").and_then(|item| item.one_of(&ScalarType::ALL));
    let value = table.get("value").and_then(|item| item.expr());
    Some(ArgTemplate::Value { dtype: dtype?, value: value?.value })
}

/// The fields of a struct; one that is repeated is an array of C.
fn fields(item: &Item<'_>, depth: usize) -> Option<Vec<ArgTemplate>> {
    let mut fields = Vec::new();
    for item in item.some_list() {
        let field = argument(&item, depth + 1)?;
        let count = match item.peek("repeat") {
            Some(count) if matches!(field, ArgTemplate::Value { .. }) => count.integer(1..=1 << 16)?,
            Some(_) | None => 1,
        };
        fields.extend((0..count).map(|_| field.clone()));
    }
    Some(fields)
}

fn pointers(item: &Item<'_>, depth: usize) -> Option<Vec<ArgTemplate>> {
    let pointer = |item: &Item<'_>| match argument(item, depth + 1)? {
        pointer @ (ArgTemplate::Named(_) | ArgTemplate::Null | ArgTemplate::Element { .. }) => Some(pointer),
        _ => {
            item.expected("a buffer, an element of one, or \"nullptr\"", None);
            None
        }
    };
    item.some_list().iter().map(pointer).collect()
}

/// Reports names of an argument that are not known, and names of its expressions that are not in scope; `maps` are tensor maps.
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
                let message = format!("`{key}` has \"{expr}\", whose `{name}` is not among {}", scope.who);
                at.report_at(&arg.place, message, Some(suggest(&name, scope.names.iter().map(String::as_str))));
            }
        }
    }
    let stray =
        arg_pointers(&arg.value).into_iter().find(|name| !names.buffers.iter().any(|buffer| buffer.name == **name));
    if let Some(name) = stray {
        at.report_at(&arg.place, format!("`{key}` has a pointer to `{name}`, which is not a buffer"), None);
    }
}

/// Names in arrays of pointers.
fn arg_pointers(arg: &ArgTemplate) -> Vec<&str> {
    match arg {
        ArgTemplate::Pointers(pointers) => pointers.iter().filter_map(ArgTemplate::name).collect(),
        ArgTemplate::Struct(fields) => fields.iter().flat_map(arg_pointers).collect(),
        _ => Vec::new(),
    }
}
