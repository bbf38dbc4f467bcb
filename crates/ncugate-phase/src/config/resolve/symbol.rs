//! `symbols` of a kernel: variables of the module that are written before its launch.

use super::argument;
use super::names::KernelNames;
use super::scope::NameScope;
use crate::config::reader::{Item, PlacedValue, Table};
use crate::config::{ArgTemplate, SymbolTemplate};
use ncugate_model::Role;

/// A parsed variable, with places for checks.
#[derive(Debug, Clone)]
pub struct SymbolParts {
    name: String,
    pub value: PlacedValue<ArgTemplate>,
}

/// Reads `symbols`.
pub fn symbols(item: &Item<'_>) -> Vec<SymbolParts> {
    let Some(table) = item.table() else { return Vec::new() };
    let symbol = |(name, item): (PlacedValue<String>, Item<'_>)| {
        let value = argument::one(&item)?;
        Some(SymbolParts { name: name.value, value })
    };
    table.free().into_iter().filter_map(symbol).collect()
}

impl SymbolParts {
    /// Reports unknown names, pointers, and buffers that launches write.
    pub fn check(&self, at: &Table<'_>, names: &KernelNames<'_>, scope: &NameScope) {
        argument::check(at, &self.value, names, &[], scope);
        let key = &self.value.place.key;
        if let Some(what) = self.pointer(names) {
            let help =
                "all launches share the variable, but each has its own buffers; pass the pointer in `args`".to_owned();
            at.report_at(&self.value.place, format!("`{key}` has {what}"), Some(help));
        }
        let named = names.buffers.iter().find(|buffer| self.value.value.name() == Some(&buffer.name));
        if let Some(buffer) = named.filter(|buffer| buffer.role != Role::Input) {
            let message = format!("`{key}` is `{}`, which launches write", buffer.name);
            at.report_at(&self.value.place, message, Some("use a buffer with role \"input\"".to_owned()));
        }
    }

    fn pointer(&self, names: &KernelNames<'_>) -> Option<String> {
        match &self.value.value {
            ArgTemplate::Named(_) | ArgTemplate::Value { .. } => None,
            ArgTemplate::Struct { .. } => {
                let is_buffer = |name: &&str| names.buffers.iter().any(|buffer| buffer.name == **name);
                self.value.value.parts().into_iter().find_map(|part| match part {
                    ArgTemplate::Named(name) => {
                        Some(name.as_str()).filter(is_buffer).map(|name| format!("a pointer to `{name}`"))
                    }
                    ArgTemplate::Value { .. } => None,
                    _ => Some("a pointer".to_owned()),
                })
            }
            ArgTemplate::Texture(_) => Some("a texture".to_owned()),
            ArgTemplate::Surface(_) => Some("a surface".to_owned()),
            ArgTemplate::Null | ArgTemplate::Element { .. } | ArgTemplate::Pointers(_) => Some("a pointer".to_owned()),
        }
    }

    pub fn template(&self) -> SymbolTemplate {
        SymbolTemplate { name: self.name.clone(), value: self.value.value.clone() }
    }
}
