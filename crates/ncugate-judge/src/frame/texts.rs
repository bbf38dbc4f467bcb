//! Columns of texts with many repeats: each text is stored once.

use indexmap::IndexSet;
use polars::prelude::{Column, IntoColumn, NewChunkedArray, PlSmallStr, Scalar, StringChunked};

#[derive(Default)]
pub(super) struct TextColumn {
    pool: IndexSet<String>,
    rows: Vec<Option<u32>>,
}

impl TextColumn {
    pub fn push(&mut self, text: Option<&str>) {
        let row = text.map(|text| self.index(text));
        self.rows.push(row);
    }

    fn index(&mut self, text: &str) -> u32 {
        // Most rows have the same text as the previous row.
        if let Some(&Some(last)) = self.rows.last()
            && self.pool.get_index(last as usize).is_some_and(|known| known == text)
        {
            return last;
        }
        let known = self.pool.get_index_of(text);
        known.unwrap_or_else(|| self.pool.insert_full(text.to_owned()).0) as u32
    }

    pub fn append(&mut self, other: Self) {
        let places: Vec<u32> = other.pool.into_iter().map(|text| self.pool.insert_full(text).0 as u32).collect();
        self.rows.extend(other.rows.into_iter().map(|row| row.and_then(|row| places.get(row as usize).copied())));
    }

    /// The text of each row.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        self.rows.iter().map(|row| row.and_then(|index| self.pool.get_index(index as usize)).map(String::as_str))
    }

    /// The common text of all rows, if they are equal.
    pub fn only(&self) -> Option<&str> {
        match self.pool.first() {
            Some(text) if self.pool.len() == 1 && !self.rows.contains(&None) => Some(text),
            _ => None,
        }
    }

    pub fn column(&self, name: &str) -> Column {
        match self.only() {
            Some(text) => constant(name, text, self.rows.len()),
            None => StringChunked::from_iter_options(name.into(), self.iter()).into_column(),
        }
    }
}

/// A column with the same text in every row.
pub(super) fn constant(name: &str, text: &str, rows: usize) -> Column {
    Column::new_scalar(name.into(), Scalar::from(PlSmallStr::from_str(text)), rows)
}
