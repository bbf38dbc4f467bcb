//! Total times of two reports, over their common launches.

use super::side::{ComparedSide, ComparedSubject};
use crate::number;

/// `6 launches are in both reports: 74.02 µs in B, 74.24 µs in A (-0.3 %); only in A: 7 launches, 46.5 µs`. None if no
/// side is a report. If a group was launched more often on one side, its mean counts as often as the other side
/// launched it.
pub fn totals(a: &ComparedSide, b: &ComparedSide, matched: &[(&ComparedSubject, &ComparedSubject)]) -> Option<String> {
    let of = |subject: &ComparedSubject| {
        let launched = subject.launched.as_ref()?;
        Some((launched.launches, launched.nanos?))
    };
    let whole = |side: &ComparedSide| {
        side.subjects.values().try_fold((0, 0.0), |(launches, nanos), subject| {
            of(subject).map(|(more, time)| (launches + more, nanos + time))
        })
    };
    if !a.is_report() || !b.is_report() {
        return None;
    }
    let (Some(in_a), Some(in_b)) = (whole(a), whole(b)) else {
        return Some("the durations of some launches were not collected: times are not compared".to_owned());
    };
    let (mut launches, mut before, mut after) = (0, 0.0, 0.0);
    for (ours, theirs) in matched {
        let (Some((n, x)), Some((m, y))) = (of(ours), of(theirs)) else { continue };
        let shared = n.min(m);
        launches += shared;
        before += x / n as f64 * shared as f64;
        after += y / m as f64 * shared as f64;
    }
    let written = |nanos: f64| number::with_unit(nanos, "ns");
    let mut parts = vec![match launches {
        0 => "no launch is in both reports".to_owned(),
        many => {
            let verb = if many == 1 { "is" } else { "are" };
            let change = if before > 0.0 { format!(" ({})", number::change(after / before)) } else { String::new() };
            let launches = number::counted(many, "launch");
            format!("{launches} {verb} in both reports: {} in B, {} in A{change}", written(after), written(before))
        }
    }];
    for (side, (all, nanos), common) in [("A", in_a, before), ("B", in_b, after)] {
        if all > launches {
            let rest = number::counted(all - launches, "launch");
            parts.push(format!("only in {side}: {rest}, {}", written((nanos - common).max(0.0))));
        }
    }
    Some(parts.join("; "))
}
