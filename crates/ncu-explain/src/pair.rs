//! Two variants of a run that differ in little: one has a defect, the other does not.

use super::case_table::CaseTable;
use super::finding::MeasuredPair;
use super::planned_variant::PlannedVariant;
use ncugate_model::{ShapeName, VariantId};
use std::collections::HashMap;

/// Least difference, in percent of the time, that is more than noise here. No verdict depends on it.
pub const FASTER: f64 = 2.0;
/// Most siblings that are asked whether the same parameter makes them faster: the fastest.
const MOST_ASKED: usize = 4;
/// Marks a parameter that a variant does not have.
const ABSENT: u32 = u32::MAX;

/// Variants as rows of small integers: a thousand are compared with one another in milliseconds.
#[derive(Debug)]
pub struct Pairs<'p> {
    variants: &'p [PlannedVariant<'p>],
    names: Vec<&'p str>,
    index: HashMap<&'p VariantId, usize>,
    codes: Vec<Option<Code>>,
}

/// The parts of a variant; equal numbers stand for equal texts.
#[derive(Debug)]
struct Code {
    source: u32,
    flags: u32,
    params: Vec<u32>,
}

/// The fastest of these siblings, in their order, that lacks the defect. None if the same parameter makes one faster that
/// has the defect: then it changes more than the defect. `has` says whether a sibling has it, if known.
pub fn fastest_without(
    siblings: &[MeasuredPair],
    has: impl Fn(&MeasuredPair) -> Option<bool>,
) -> Option<&MeasuredPair> {
    let found = siblings.iter().find(|sibling| has(sibling) == Some(false))?;
    let by_the_same = |sibling: &&MeasuredPair| {
        sibling.differs_in == found.differs_in && sibling.percent >= FASTER && sibling.variant != found.variant
    };
    let mut others = siblings.iter().filter(by_the_same).take(MOST_ASKED);
    (found.percent < FASTER || !others.any(|sibling| has(sibling) == Some(true))).then_some(found)
}

impl<'p> Pairs<'p> {
    /// Variants without code are never paired.
    pub fn new(variants: &'p [PlannedVariant<'p>]) -> Self {
        let params = variants.iter().filter_map(|variant| variant.code.as_ref()).flat_map(|code| code.params);
        let mut names: Vec<&str> = params.map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut texts: HashMap<String, u32> = HashMap::new();
        let mut code = |text: String| {
            let next = texts.len() as u32;
            *texts.entry(text).or_insert(next)
        };
        let codes = variants.iter().map(|variant| {
            let own = variant.code.as_ref()?;
            let value = |name: &&str| own.params.iter().find(|(known, _)| known == name).map(|(_, v)| v.to_string());
            Some(Code {
                source: code(format!("{}\n{}", own.source.display(), own.entries.join("\n"))),
                flags: code(own.flags.join("\n")),
                params: names.iter().map(|name| value(name).map_or(ABSENT, &mut code)).collect(),
            })
        });
        let codes = codes.collect();
        Self { variants, index: variants.iter().enumerate().map(|(at, v)| (v.id, at)).collect(), names, codes }
    }

    /// The variants with the same source as `of` and one parameter or the flags different that were timed at the shape, the
    /// fastest first. They can be slower than `of`.
    pub fn siblings(&self, table: &CaseTable<'_>, of: &VariantId, shape: &ShapeName) -> Vec<MeasuredPair> {
        let time = |variant: &VariantId| table.value(table.row(variant, shape)?, "latency_p50");
        let (Some(at), Some(own)) = (self.index.get(of), time(of)) else { return Vec::new() };
        let near = |(other, variant): (usize, &PlannedVariant<'_>)| {
            let differs_in = self.difference(*at, other)?;
            let percent = 100.0 * (1.0 - time(variant.id)? / own);
            Some(MeasuredPair { variant: variant.id.clone(), percent, differs_in: differs_in.into() })
        };
        let mut siblings: Vec<MeasuredPair> = self.variants.iter().enumerate().filter_map(near).collect();
        siblings.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        siblings
    }

    /// The single difference between two variants.
    fn difference(&self, of: usize, other: usize) -> Option<&'p str> {
        let (Some(a), Some(b)) = (self.codes.get(of)?, self.codes.get(other)?) else { return None };
        if a.source != b.source {
            return None;
        }
        let mut differ = a.params.iter().zip(&b.params).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at);
        match (differ.next(), differ.next()) {
            (Some(one), None) if a.flags == b.flags || self.flags_follow(one, of, other) => {
                self.names.get(one).copied()
            }
            (None, None) if a.flags != b.flags => Some("the flags"),
            _ => None,
        }
    }

    /// Whether the flags of two variants differ only where they have the value of the parameter: `-maxrregcount=64`.
    fn flags_follow(&self, param: usize, of: usize, other: usize) -> bool {
        let part = |at: usize| {
            let code = self.variants.get(at)?.code.as_ref()?;
            let (_, value) = code.params.iter().find(|(name, _)| Some(&name.as_str()) == self.names.get(param))?;
            Some((code.flags, value.to_string()))
        };
        let (Some((ours, value)), Some((theirs, their_value))) = (part(of), part(other)) else { return false };
        let follows = |(a, b): (&String, &String)| a == b || a.replace(&value, &their_value) == *b;
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(follows)
    }
}
