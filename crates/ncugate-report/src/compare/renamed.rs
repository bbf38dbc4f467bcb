//! Pairs kernels whose names differ between two reports: in template arguments, in a suffix, or altogether.

use super::side::ComparedSubject;
use ncugate_model::KernelName;
use std::collections::HashMap;

/// The properties that two launches of one pair share, the strictest first.
const ALIKE: [fn(&ComparedSubject) -> Option<String>; 4] = [
    |subject| Some(format!("{} {}", function(subject), extents(subject)?)),
    |subject| Some(function(subject)),
    |subject| Some(format!("{} {}", stem(&function(subject)), extents(subject)?)),
    |subject| Some(stem(&function(subject)).to_owned()),
];

/// The unpaired kernels of each side, and the pairs.
type KernelPairs<'a> =
    (Vec<&'a ComparedSubject>, Vec<&'a ComparedSubject>, Vec<(&'a ComparedSubject, &'a ComparedSubject)>);

/// Pairs kernels that are alike and equally many on both sides, in the order of their launches; at last the only one
/// that is left on each side, if their names have a word in common. Variants of runs are not paired.
pub fn pairs<'a>(a: Vec<&'a ComparedSubject>, b: Vec<&'a ComparedSubject>) -> KernelPairs<'a> {
    let is_launched = |subjects: &[&ComparedSubject]| subjects.iter().all(|subject| subject.launched.is_some());
    let (mut a, mut b, mut pairs) = (a, b, Vec::new());
    if !is_launched(&a) || !is_launched(&b) {
        return (a, b, pairs);
    }
    let order = |subject: &&ComparedSubject| subject.launched.as_ref().map(|launched| launched.first);
    a.sort_by_key(order);
    b.sort_by_key(order);
    for alike in ALIKE {
        let group = |subjects: &[&'a ComparedSubject]| {
            let mut groups: HashMap<String, Vec<&'a ComparedSubject>> = HashMap::new();
            for (subject, key) in subjects.iter().filter_map(|subject| Some((*subject, alike(subject)?))) {
                groups.entry(key).or_default().push(subject);
            }
            groups
        };
        let theirs = group(&b);
        let found: Vec<_> = group(&a)
            .into_iter()
            .filter_map(|(key, ours)| {
                let theirs = theirs.get(&key).filter(|theirs| theirs.len() == ours.len())?;
                Some(ours.into_iter().zip(theirs.iter().copied()))
            })
            .flatten()
            .collect();
        a.retain(|subject| !found.iter().any(|(ours, _)| std::ptr::eq(*ours, *subject)));
        b.retain(|subject| !found.iter().any(|(_, theirs)| std::ptr::eq(*theirs, *subject)));
        pairs.extend(found);
    }
    if let ([ours], [theirs]) = (a.as_slice(), b.as_slice())
        && words(&function(ours)).any(|word| words(&function(theirs)).any(|other| other == word))
    {
        pairs.push((*ours, *theirs));
        a.clear();
        b.clear();
    }
    pairs.sort_by_key(|(ours, _)| order(ours));
    (a, b, pairs)
}

fn function(subject: &ComparedSubject) -> String {
    KernelName::parse(&subject.name).function().to_owned()
}

/// The name without a number at its end: `sum` of `sum_v2` and `sum3`.
fn stem(function: &str) -> &str {
    let stem = function.trim_end_matches(|last: char| last.is_ascii_digit());
    let stem = if stem.len() < function.len() { stem.strip_suffix("_v").unwrap_or(stem) } else { stem };
    stem.trim_end_matches('_')
}

/// The words of a name that are no mere suffix.
fn words(function: &str) -> impl Iterator<Item = &str> {
    function.split('_').filter(|word| word.len() > 3 && *word != "kernel")
}

/// Grid and block.
fn extents(subject: &ComparedSubject) -> Option<String> {
    let shape = &subject.launched.as_ref()?.shape;
    Some(format!("{:?} {:?}", shape.grid?, shape.block?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::side::LaunchedKernel;
    use ncu_explain::LaunchShape;

    fn kernels(names: &[(&str, u32)]) -> Vec<ComparedSubject> {
        let launched = |first: u32, grid: u32| {
            let shape = LaunchShape { grid: Some([grid, 1, 1]), block: Some([128, 1, 1]), ..LaunchShape::default() };
            Some(LaunchedKernel { shape, first, launches: 1, nanos: Some(1.0) })
        };
        let subject = |(at, (name, grid)): (u32, &(&str, u32))| ComparedSubject {
            name: (*name).into(),
            launched: launched(at, *grid),
            ..ComparedSubject::default()
        };
        (0..).zip(names).map(subject).collect()
    }

    /// Names of the pairs, and of the kernels that are left.
    fn paired(a: &[(&str, u32)], b: &[(&str, u32)]) -> (Vec<String>, usize) {
        let (a, b) = (kernels(a), kernels(b));
        let (a, b, pairs) = pairs(a.iter().collect(), b.iter().collect());
        (pairs.iter().map(|(x, y)| format!("{} {}", x.name, y.name)).collect(), a.len() + b.len())
    }

    #[test]
    fn kernels_are_paired_by_function_order_grid_and_as_the_rest() {
        let (pairs, left) = paired(
            &[("Kernel<4>", 8), ("Kernel<5>", 16), ("sum_v1", 4), ("old_softmax", 2)],
            &[("sum_v2", 64), ("Kernel<8>", 16), ("Kernel<9>", 8), ("new_softmax", 3)],
        );
        assert_eq!(pairs, ["Kernel<4> Kernel<9>", "Kernel<5> Kernel<8>", "sum_v1 sum_v2", "old_softmax new_softmax"]);
        assert_eq!(left, 0);
        let (pairs, _) = paired(&[("f<1>", 8), ("f<2>", 8)], &[("f<3>", 4), ("f<4>", 4)]);
        assert_eq!(pairs, ["f<1> f<3>", "f<2> f<4>"], "by their order");
    }

    #[test]
    fn kernels_of_unequal_number_stay_unpaired() {
        assert_eq!(paired(&[("f<1>", 8), ("f<2>", 8)], &[("f<3>", 4)]), (vec![], 3));
        assert_eq!(paired(&[("a", 1), ("b", 2)], &[("c", 3), ("d", 4)]), (vec![], 4));
        assert_eq!(paired(&[("gone_kernel", 1)], &[("new_kernel", 1)]), (vec![], 2), "other kernels");
    }
}
