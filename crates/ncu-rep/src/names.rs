//! Metric names: the string tables of all blocks, concatenated in file order.

use std::collections::HashMap;
use std::sync::LazyLock;

use indexmap::IndexSet;

use crate::error::{ReportError, WireProblem};
use crate::schema::{metric, string_table};
use crate::wire::Message;

/// Names of ncu 2019 on chips before 7.0, and the names of today.
static OLD: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| include_str!("old_names.tsv").lines().filter_map(|line| line.split_once('\t')).collect());

/// The names of a report. A metric stores the ordinal of a table entry; this crate uses the place of a name among the
/// distinct names.
#[derive(Debug, Default)]
pub(crate) struct MetricNames {
    /// Every name once.
    texts: IndexSet<Box<str>>,
    /// The place in `texts` of each table entry. Real tables have no duplicates, but others can.
    places: Vec<u32>,
}

impl MetricNames {
    /// Adds the entries of one block's table.
    pub fn add(&mut self, table: Message<'_>) -> Result<(), ReportError> {
        for field in table.fields() {
            let field = field?;
            if field.number == string_table::STRING {
                self.push(std::str::from_utf8(field.bytes()?).map_err(|_| field.error(WireProblem::Utf8))?);
            }
        }
        Ok(())
    }

    /// Adds a name. A name of 2019 becomes that of today, which the table of units and all readers know.
    fn push(&mut self, name: &str) {
        let name = OLD.get(name).copied().unwrap_or(name);
        let place = match self.texts.get_index_of(name) {
            Some(place) => place,
            None => self.texts.insert_full(name.into()).0,
        };
        self.places.push(place as u32);
    }

    /// Number of distinct names.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// The names by place.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.iter().map(|name| &**name)
    }

    /// The name at a place.
    pub fn name(&self, place: u32) -> &str {
        self.texts.get_index(place as usize).map_or("", |name| name)
    }

    /// The place of a full name.
    pub fn place_of(&self, name: &str) -> Option<u32> {
        self.texts.get_index_of(name).map(|place| place as u32)
    }

    /// The place of a metric's name, if a table contains it.
    #[inline]
    pub fn usual_place(&self, id: u32) -> Option<u32> {
        self.places.get(id as usize).copied()
    }

    /// The place of a metric's name, or the error that no table contains it.
    pub fn place(&self, id: u32, message: &Message<'_>) -> Result<u32, ReportError> {
        self.usual_place(id).ok_or_else(|| ReportError::Malformed {
            message: message.name,
            field: metric::NAME,
            offset: message.offset as u64,
            problem: WireProblem::UnknownName(u64::from(id)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_2019_are_those_of_today() {
        let mut names = MetricNames::default();
        ["gpu__time_duration", "launch__grid_size", "sm__sol_pct"].iter().for_each(|name| names.push(name));
        let today = ["gpu__time_duration.sum", "launch__grid_size", "sm__throughput.avg.pct_of_peak_sustained_elapsed"];
        assert_eq!(names.iter().collect::<Vec<_>>(), today);
        assert!(OLD.values().all(|name| crate::is_listed_metric(name)), "{OLD:?}");
    }
}
