//! Two variants of a run that differ in little: one has a defect, the other does not.

use super::case_table::CaseTable;
use super::finding::MeasuredPair;
use ncugate_model::{ShapeName, VariantId};
use ncugate_phase::plan::{Method, Plan, Variant};
use std::collections::HashMap;

/// Least difference, in percent of the time, that advice treats as more than noise. Verdicts do not rest on it.
const LEAST: f64 = 2.0;
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

    /// The variant nearest to `of` that is faster at the shape and `lacks` the defect: same source, with one parameter
    /// or the flags different. Of several, the fastest.
    pub fn pair(
        &self,
        table: &CaseTable<'_>,
        of: &VariantId,
        shape: &ShapeName,
        lacks: impl Fn(&VariantId) -> bool,
    ) -> Option<MeasuredPair> {
        let at = *self.index.get(of)?;
        let time = |variant: &VariantId| table.value(table.row(variant, shape)?, "latency_p50");
        let own = time(of)?;
        let near = |(other, variant): (usize, &Variant)| {
            let differs_in = self.difference(at, other)?;
            let percent = 100.0 * (1.0 - time(&variant.id)? / own);
            let pair = || MeasuredPair { variant: variant.id.clone(), percent, differs_in: differs_in.into() };
            (percent >= LEAST).then(pair)
        };
        let mut faster: Vec<MeasuredPair> = self.plan.variants.iter().enumerate().filter_map(near).collect();
        faster.sort_by(|a, b| b.percent.total_cmp(&a.percent));
        faster.into_iter().find(|pair| lacks(&pair.variant))
    }

    /// The single difference between two variants.
    fn difference(&self, a: usize, b: usize) -> Option<&'p str> {
        let (Some(a), Some(b)) = (self.codes.get(a)?, self.codes.get(b)?) else { return None };
        if a.source != b.source {
            return None;
        }
        let mut differ = a.params.iter().zip(&b.params).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at);
        match (differ.next(), differ.next()) {
            (Some(one), None) => self.names.get(one).copied(),
            (None, None) if a.flags != b.flags => Some("the flags"),
            _ => None,
        }
    }
}
