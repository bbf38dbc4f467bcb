//! Pairs of variant and shape that a gate does not judge, because the phase does not launch the variant at the shape.

use super::scope::{Combine, Picks, ScopeRule};
use ncugate_phase::config::Gate;
use ncugate_phase::plan::Variant;

/// The pairs that a gate excuses.
///
/// Only `where` of a kernel excuses a pair, and only for a gate that needs every variant of several at every shape.
/// Every shape of the gate has a variant that is judged there, and every variant a shape at which it is judged;
/// otherwise the pairs concerned are not excused, and are inconclusive. The plan decides, not the measurements.
#[derive(Debug)]
pub struct ExcusedPairs {
    /// By variant, then by shape.
    states: Vec<Vec<PairState>>,
}

/// How a gate treats a variant at a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairState {
    /// Nothing in the phase prevents the launch.
    Judged,
    Excused,
    /// Not launched, and no variant of the gate is launched at the shape.
    ShapeWithoutVariant,
    /// Not launched, and the variant is launched at no shape of the gate.
    VariantWithoutShape,
}

impl ExcusedPairs {
    /// The excused pairs of a gate over the variants in its scope; `None` if it judges all of them at all shapes.
    pub fn new(gate: &Gate, variants: &[&Variant]) -> Option<Self> {
        let rule = ScopeRule::of(&gate.on);
        if (rule.picks, rule.combine, gate.at_least) != (Picks::All, Combine::All, None) {
            return None;
        }
        if !variants.iter().any(|variant| variant.is_conditional()) {
            return None;
        }
        let is_launched =
            |variant: &&Variant| gate.shapes.iter().map(|shape| variant.left_out_at(shape).is_none()).collect();
        let launched: Vec<Vec<bool>> = variants.iter().map(is_launched).collect();
        let covered: Vec<bool> = (0..gate.shapes.len()).map(|shape| launched.iter().any(|row| row[shape])).collect();
        let state = |row: &[bool], shape: usize| match (row[shape], covered[shape]) {
            (true, _) => PairState::Judged,
            (false, false) => PairState::ShapeWithoutVariant,
            (false, true) if row.contains(&true) => PairState::Excused,
            (false, true) => PairState::VariantWithoutShape,
        };
        let states = launched.iter().map(|row| (0..row.len()).map(|shape| state(row, shape)).collect());
        Some(Self { states: states.collect() })
    }

    /// The state of a pair, by position of the variant in the scope and of the shape in the gate.
    pub fn state(&self, variant: usize, shape: usize) -> PairState {
        self.states.get(variant).and_then(|row| row.get(shape)).copied().unwrap_or(PairState::Judged)
    }

    /// The first pair that is not launched and not excused, by position of the variant and of the shape.
    pub fn open(&self) -> Option<(usize, usize, PairState)> {
        let pairs = self.states.iter().enumerate();
        let mut pairs =
            pairs.flat_map(|(at, row)| row.iter().enumerate().map(move |(shape, state)| (at, shape, *state)));
        pairs.find(|(_, _, state)| matches!(state, PairState::ShapeWithoutVariant | PairState::VariantWithoutShape))
    }

    /// Number of excused pairs.
    pub fn count(&self) -> usize {
        self.states.iter().flatten().filter(|state| **state == PairState::Excused).count()
    }
}
