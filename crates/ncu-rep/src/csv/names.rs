//! Metric names of a CSV, by index.

use std::collections::HashMap;

/// Metric names in order of first occurrence, each once.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    /// By index.
    pub names: Vec<String>,
    index: HashMap<String, u32>,
}

impl NameIndex {
    /// The index of a name; adds a new name.
    pub fn id(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.index.get(name) {
            return id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), id);
        id
    }

    /// The name at an index.
    pub fn name(&self, id: u32) -> &str {
        self.names.get(id as usize).map_or("", String::as_str)
    }
}
