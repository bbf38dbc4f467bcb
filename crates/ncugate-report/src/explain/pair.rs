//! Two variants of a run that differ in little: one has a defect, the other does not.

use super::case_table::CaseTable;
use super::finding::MeasuredPair;
use ncugate_model::{ShapeName, VariantId};
use ncugate_phase::plan::{Method, Plan, Variant};
use std::collections::HashMap;

/// Least difference, in percent of the time, that is more than noise here. No verdict depends on it.
pub const FASTER: f64 = 2.0;
/// Marks a parameter that a variant does not have.
const ABSENT: u32 = u32::MAX;

/// Variants as rows of small integers: a thousand are compared with one another in milliseconds.
#[derive(Debug)]
pub struct Pairs<'p> {
    plan: &'p Plan,
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

impl<'p> Pairs<'p> {
    /// The variants of a plan; external commands are never paired.
    pub fn new(plan: &'p Plan) -> Self {
        let mut names: Vec<&str> =
            plan.variants.iter().flat_map(|v| &v.params).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut texts: HashMap<String, u32> = HashMap::new();
        let mut code = |text: String| {
            let next = texts.len() as u32;
            *texts.entry(text).or_insert(next)
        };
        let codes = plan.variants.iter().map(|variant| {
            let Method::Kernel(kernel) = &variant.method else { return None };
            let value =
                |name: &&str| variant.params.iter().find(|(known, _)| known == name).map(|(_, v)| v.to_string());
            Some(Code {
                source: code(format!("{}\n{}", kernel.source.display(), kernel.code_entries().join("\n"))),
                flags: code(kernel.flags.join("\n")),
                params: names.iter().map(|name| value(name).map_or(ABSENT, &mut code)).collect(),
            })
        });
        let codes = codes.collect();
        Self { plan, index: plan.variants.iter().enumerate().map(|(at, v)| (&v.id, at)).collect(), names, codes }
    }

    /// Of the variants with the same source as `of` and one parameter or the flags different, the fastest at the shape that
    /// lacks the defect. It can be slower than `of`. None if the same parameter makes a variant faster that has the defect:
    /// then it changes more than the defect. `has` says whether a variant has it, if known.
    pub fn pair(
        &self,
        table: &CaseTable<'_>,
        of: &VariantId,
        shape: &ShapeName,
        has: impl Fn(&MeasuredPair) -> Option<bool>,
    ) -> Option<MeasuredPair> {
        let at = *self.index.get(of)?;
        let time = |variant: &VariantId| table.value(table.row(variant, shape)?, "latency_p50");
        let own = time(of)?;
        let near = |(other, variant): (usize, &Variant)| {
            let differs_in = self.difference(at, other)?;
            let percent = 100.0 * (1.0 - time(&variant.id)? / own);
            Some(MeasuredPair { variant: variant.id.clone(), percent, differs_in: differs_in.into() })
        };
        let mut pairs: Vec<MeasuredPair> = self.plan.variants.iter().enumerate().filter_map(near).collect();
        pairs.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        let found = pairs.iter().find(|pair| has(pair) == Some(false))?;
        let changes_more = |pair: &MeasuredPair| {
            pair.differs_in == found.differs_in && pair.percent >= FASTER && has(pair) == Some(true)
        };
        (found.percent < FASTER || !pairs.iter().any(changes_more)).then(|| found.clone())
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
            let variant = self.plan.variants.get(at)?;
            let Method::Kernel(kernel) = &variant.method else { return None };
            let (_, value) = variant.params.iter().find(|(name, _)| Some(&name.as_str()) == self.names.get(param))?;
            Some((&kernel.flags, value.to_string()))
        };
        let (Some((ours, value)), Some((theirs, their_value))) = (part(of), part(other)) else { return false };
        let follows = |(a, b): (&String, &String)| a == b || a.replace(&value, &their_value) == *b;
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(follows)
    }
}
