//! Settings of a phase, over those that its project gives to all phases.

use crate::config::keys::{self, Spec};
use crate::config::reader::{Item, Table};

/// The tables of a name: the phase's own, then that of `ncugate.toml`.
pub struct Layers<'a> {
    tables: Vec<Table<'a>>,
}

impl<'a> Layers<'a> {
    /// Those of `key`; none where one of them is not a table, which is an error of the file.
    pub fn of(root: &Table<'a>, project: Option<&Table<'a>>, key: &'static str, spec: &'static Spec) -> Option<Self> {
        let found = [Some(root), project].into_iter().flatten().filter_map(|table| table.get(key));
        let tables = found.map(|item| item.table(spec)).collect::<Option<_>>()?;
        Some(Self { tables })
    }

    /// The value of a key: the phase's, else the project's.
    pub fn get(&self, key: &'static str) -> Option<Item<'a>> {
        self.tables.iter().find_map(|table| table.get(key))
    }
}

/// Reads the tables of `ncugate.toml`, so that what is wrong there is said with or without a use for it.
pub fn project<'a>(table: &Table<'a>) {
    for (key, spec) in
        [("build", &keys::BUILD), ("bench", &keys::BENCH), ("profile", &keys::PROFILE), ("explain", &keys::EXPLAIN)]
    {
        table.get(key).and_then(|item| item.table(spec));
    }
}
