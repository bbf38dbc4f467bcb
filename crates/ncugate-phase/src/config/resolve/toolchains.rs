//! `[toolchains]`: the compilers to compare.

use crate::config::Toolchain;
use crate::config::keys::{TOOLCHAIN, TOOLCHAINS};
use crate::config::reader::{Item, PlacedValue};

/// Reads the table, in the order of the file.
pub fn toolchains(item: &Item<'_>) -> Option<Vec<Toolchain>> {
    let table = item.table()?;
    let one = |(name, one): (PlacedValue<String>, Item<'_>)| {
        let is_name = item.is_value_name(&name);
        let programs = one.table()?;
        programs.at_least_one(
            "program: ",
            [&TOOLCHAIN.nvcc, &TOOLCHAIN.python],
            "nvcc = \"/usr/local/cuda-12.8/bin/nvcc\"",
        );
        let path = |key| programs.read(key, Item::text).map(Into::into);
        is_name.then_some(Toolchain { name: name.value, nvcc: path(&TOOLCHAIN.nvcc), python: path(&TOOLCHAIN.python) })
    };
    let all: Vec<Toolchain> = table.free().into_iter().filter_map(one).collect();
    if table.free().len() < 2 {
        item.expected("at least two toolchains", Some(TOOLCHAINS.doc.to_owned()));
    }
    Some(all)
}
