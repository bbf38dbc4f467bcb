//! Rows that have the same keys.

use polars::prelude::{DataFrame, GroupPositions, GroupsIndicator, IdxCa, PolarsError};

/// The rows of a frame by their keys, in the order in which the keys are met first.
///
/// Made on one thread: tables of launches are small, and to wake polars' threads takes longer than to group them.
pub(super) struct RowGroups {
    /// The keys, a row a group.
    pub keys: DataFrame,
    groups: GroupPositions,
}

impl RowGroups {
    /// Groups by these columns.
    ///
    /// # Errors
    /// The frame lacks one.
    pub fn of(frame: &DataFrame, by: &[&str]) -> Result<Self, PolarsError> {
        let columns = frame.select_to_vec(by)?;
        let groups = frame.group_by_with_series(columns.clone(), false, true)?.into_groups();
        let firsts: Vec<_> = groups.iter().map(|group| group.first()).collect();
        let firsts = IdxCa::from_vec("".into(), firsts);
        let keys = columns.iter().map(|column| column.take(&firsts)).collect::<Result<_, _>>()?;
        Ok(Self { keys: DataFrame::new(firsts.len(), keys)?, groups })
    }

    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// The rows of each group, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Vec<usize>> {
        self.groups.iter().map(|group| rows(&group))
    }
}

fn rows(group: &GroupsIndicator<'_>) -> Vec<usize> {
    match group {
        GroupsIndicator::Idx((_, rows)) => rows.iter().map(|row| *row as usize).collect(),
        GroupsIndicator::Slice([first, len]) => (*first..first + len).map(|row| row as usize).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use polars::prelude::{IntoColumn, NewChunkedArray, StringChunked};

    #[test]
    fn groups_are_in_the_order_in_which_their_keys_are_met() {
        let text = |name: &str, values: &[&str]| StringChunked::from_slice(name.into(), values).into_column();
        let columns = vec![text("a", &["x", "y", "x", "x"]), text("b", &["1", "1", "2", "1"])];
        let frame = DataFrame::new(4, columns).unwrap();
        let both = RowGroups::of(&frame, &["a", "b"]).unwrap();
        assert_eq!(both.iter().collect::<Vec<_>>(), [vec![0, 3], vec![1], vec![2]]);
        let keys: Vec<Option<&str>> = both.keys.column("b").unwrap().str().unwrap().iter().collect();
        assert_eq!((both.len(), keys), (3, vec![Some("1"), Some("1"), Some("2")]));
        assert_eq!(RowGroups::of(&frame.head(Some(0)), &["a", "b"]).unwrap().len(), 0);
    }
}
