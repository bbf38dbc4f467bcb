//! Crafted, changed or truncated frames of reports: the right rows or an error, never a panic.

use ncu_rep::{MetricSelection, Report};
use ncugate_judge::frame::launches::LaunchFrames;

use crate::crafted::{blocks, boundaries, file};

fn height(bytes: &[u8]) -> Option<usize> {
    let report = Report::from_bytes(bytes.to_vec()).ok()?;
    LaunchFrames::of_report("r", &report, MetricSelection::All).ok().map(|frames| frames.metrics.height())
}

#[test]
fn everything_in_a_crafted_report_is_in_its_frame() {
    let report = Report::from_bytes(file(7, &blocks())).unwrap();
    let frames = LaunchFrames::of_report("r", &report, MetricSelection::All).unwrap();
    assert_eq!(frames.metrics.height(), 9 + 1 + 1);
    let values = frames.metrics.column("value").unwrap().f64().unwrap();
    assert_eq!(values.get(0), Some(99.0), "where a launch repeats a name, the last value counts");
}

#[test]
fn a_cut_between_blocks_gives_rows_or_an_error() {
    let blocks = blocks();
    let whole = file(7, &blocks);
    let heights: Vec<_> = boundaries(&whole, &blocks).into_iter().map(|end| height(&whole[..end])).collect();
    assert_eq!(heights, [Some(0), Some(0), Some(0), None, None, Some(11), Some(11)]);
}

#[test]
fn every_change_of_one_bit_ends_in_rows_or_an_error() {
    let whole = file(7, &blocks());
    let mut refused = 0;
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            refused += usize::from(height(&changed).is_none());
        }
    }
    assert!(refused > whole.len(), "{refused}");
}
