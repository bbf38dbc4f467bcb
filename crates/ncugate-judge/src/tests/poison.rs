//! Every form of rule, with a value that is missing, empty, not a number, infinite or unproven somewhere in the
//! measurements.
//!
//! Valid measurements satisfy every rule, so a phase passes exactly when no value that its rule reads is poisoned.

use super::*;
use crate::StoredRun;
use ncugate_model::ComputeCapability;
use proptest::prelude::*;

/// Index of the baseline in the plan; the four variants before it are the candidates.
const BASELINE: usize = 4;
/// Index of the shape for gates that name no shape.
const LARGE: usize = 2;

/// A rule that valid measurements satisfy.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Absolute,
    Relative,
    Percentile,
    Speedup,
    Previous,
    Best,
    AtLeast,
    Compound,
    Tier,
    Stages,
    Waived,
    Fallback,
}

const FORMS: [Form; 12] = [
    Form::Absolute,
    Form::Relative,
    Form::Percentile,
    Form::Speedup,
    Form::Previous,
    Form::Best,
    Form::AtLeast,
    Form::Compound,
    Form::Tier,
    Form::Stages,
    Form::Waived,
    Form::Fallback,
];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Target {
    Counter,
    Latency,
    Samples,
    Standing,
    StoredValue,
    StoredSamples,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Odd {
    Nan,
    Infinite,
    NegativeInfinite,
    Missing,
}

#[derive(Debug, Clone, Copy)]
struct Poison {
    target: Target,
    odd: Odd,
    variant: usize,
    shape: usize,
}

fn poison() -> impl Strategy<Value = Poison> {
    let targets = vec![
        Target::Counter,
        Target::Latency,
        Target::Samples,
        Target::Standing,
        Target::StoredValue,
        Target::StoredSamples,
    ];
    let odds = vec![Odd::Nan, Odd::Infinite, Odd::NegativeInfinite, Odd::Missing];
    let drawn = (prop::sample::select(targets), prop::sample::select(odds), 0..5_usize, 0..3_usize);
    drawn.prop_map(|(target, odd, variant, shape)| Poison { target, odd, variant, shape })
}

impl Odd {
    fn cell(self) -> Cell {
        self.number().map_or_else(|| Cell::Missing("gone".into()), Cell::Value)
    }

    /// Sixty samples, one of them poisoned; empty if they are missing.
    fn samples(self) -> Arc<[f64]> {
        let Some(odd) = self.number() else { return [].into() };
        (0..60).map(|at| if at == 31 { odd } else { 10.0 }).collect()
    }

    fn number(self) -> Option<f64> {
        match self {
            Self::Nan => Some(f64::NAN),
            Self::Infinite => Some(f64::INFINITY),
            Self::NegativeInfinite => Some(f64::NEG_INFINITY),
            Self::Missing => None,
        }
    }
}

impl Form {
    fn text(self) -> String {
        let each = |require: &str| gate(require) + "on = \"each\"\n";
        match self {
            Self::Absolute => each("eligible_warps >= 1"),
            Self::Relative => each("latency_p50 <= 2 * baseline.latency_p50"),
            Self::Percentile => each("latency_p90 <= 2 * baseline.latency_p90"),
            Self::Speedup => each("speedup(\"flash\") >= 0.5"),
            Self::Previous => each("eligible_warps >= 0.5 * previous.eligible_warps"),
            Self::Best => each("latency_p50 <= 2 * best.latency_p50"),
            Self::AtLeast => {
                each("eligible_warps >= 1") + "shapes = [\"small\", \"medium\", \"large\"]\nat_least = 2\n"
            }
            Self::Compound => each("not (eligible_warps < 1 or latency_p50 > 1000)"),
            Self::Tier => "[[tier]]\nname = \"minimum\"\nrequired = true\non = \"each\"\n\
                           require = [\"eligible_warps >= 1\"]\n"
                .to_owned(),
            Self::Stages => "[[stage]]\nname = \"a\"\nvariant = \"REGCAP=64,THREADS=64\"\n[[stage]]\nname = \"b\"\n\
                             variant = \"REGCAP=64,THREADS=128\"\nrequire = ['speedup(\"previous\") >= 0.5']\n"
                .to_owned(),
            Self::Waived => {
                each("eligible_warps >= 100")
                    + "[[waiver]]\ngate = \"g\"\nreason = \"mended by then\"\nowner = \"ada\"\nexpires = 2026-12-31\n"
            }
            Self::Fallback => "[[gate]]\nname = \"g\"\nrequire = \"registers <= 0\"\n\
                               [fallback]\nvariant = \"REGCAP=96,THREADS=64\"\nrequire = [\"eligible_warps >= 1\"]\n"
                .to_owned(),
        }
    }

    /// Whether a rule reads the poisoned value.
    fn looks_at(self, poison: &Poison) -> bool {
        use Target::{Counter, Latency, Samples, Standing, StoredSamples, StoredValue};
        let Poison { target, variant, shape, .. } = *poison;
        let candidate = variant != BASELINE;
        let timed = matches!(target, Latency | Samples) && shape == LARGE;
        match (self, target) {
            (Self::Fallback, Counter) => variant == 2 && shape == LARGE,
            // without an objective it is not the best of its glob, and no other variant replaces it
            (Self::Fallback, Latency) => variant == 2 && shape == LARGE,
            (Self::Fallback, Standing) => variant == 2,
            (Self::Fallback, Samples | StoredValue | StoredSamples) => false,
            (Self::Stages, Standing) => variant < 2,
            (Self::Stages, _) => timed && variant < 2,
            (Self::Relative | Self::Percentile | Self::Speedup, Standing) => true,
            (Self::Relative | Self::Percentile | Self::Speedup, _) => timed,
            (_, Standing) => candidate,
            (Self::Previous | Self::Best, StoredValue) => true,
            (Self::Best, StoredSamples) => true,
            (Self::Best, Latency | Samples) => timed && candidate,
            (Self::Compound, Latency | Samples | Counter) => candidate && shape == LARGE,
            (Self::Absolute | Self::Previous | Self::Tier | Self::Waived, Counter) => candidate && shape == LARGE,
            (Self::AtLeast, _) => false,
            (_, StoredValue | StoredSamples | Latency | Samples | Counter) => false,
        }
    }

    /// Whether the rule must not pass with these poisons.
    fn is_poisoned(self, poisons: &[Poison]) -> bool {
        let at = |variant: usize, shape: usize| {
            let here = |p: &&Poison| p.target == Target::Counter && p.variant == variant && p.shape == shape;
            poisons.iter().any(|p| here(&p))
        };
        let too_few = (0..BASELINE).any(|variant| (0..3).filter(|&shape| at(variant, shape)).count() > 1);
        poisons.iter().any(|poison| self.looks_at(poison)) || (self == Self::AtLeast && too_few)
    }
}

/// Poisons a value of the table and its samples.
fn poisoned(fixture: &mut Fixture, poisons: &[Poison], target: Target, metric: &str) {
    let mut cells = fixture.quantities.column(metric).unwrap().cells().to_vec();
    for (row, (variant, shape)) in fixture.places().into_iter().enumerate() {
        for poison in poisons.iter().filter(|p| (p.target, p.variant, p.shape) == (target, variant, shape)) {
            match target {
                Target::Samples => fixture.sample(row, poison.odd.samples()),
                _ => cells[row] = poison.odd.cell(),
            }
        }
    }
    fixture.quantities.set_column(metric, cells);
}

fn judged(form: Form, poisons: &[Poison]) -> Judgement {
    let mut fixture = Fixture::new(&form.text());
    fixture.set("eligible_warps", |_, _| 2.0).set("registers", |_, _| 64.0).set("latency_p90", |v, _| 10.1 + v as f64);
    poisoned(&mut fixture, poisons, Target::Counter, "eligible_warps");
    poisoned(&mut fixture, poisons, Target::Latency, "latency_p50");
    poisoned(&mut fixture, poisons, Target::Latency, "latency_p90");
    poisoned(&mut fixture, poisons, Target::Samples, "latency_p50");
    for poison in poisons.iter().filter(|p| p.target == Target::Standing) {
        fixture.unproven(poison.variant);
    }
    let odd = |target: Target| poisons.iter().find(|p| p.target == target).map(|p| p.odd);
    let mut stored = Quantities::new([(VariantId("then".into()), shape("large"))]);
    for (metric, sound) in [("eligible_warps", 2.0), ("latency_p50", 10.0)] {
        stored.set_column(metric, vec![odd(Target::StoredValue).map_or(Cell::Value(sound), Odd::cell)]);
    }
    stored.set_samples(0, odd(Target::StoredSamples).map_or_else(|| samples(&[10.0; 60]), Odd::samples));
    let mut context = calibrated(Context::assuming_latencies(Some(ComputeCapability::new(9, 0)), TODAY));
    for name in ["previous", "best"] {
        let label = "run 7".to_owned();
        let run = StoredRun { label, quantities: &stored, variant: VariantId("then".into()) };
        context.stored.insert(name.to_owned(), run);
    }
    fixture.judge_with(&context)
}

#[test]
fn sound_measurements_hold_every_rule() {
    for form in FORMS {
        let judgement = judged(form, &[]);
        assert_eq!(judgement.verdict, PASS, "{form:?}: {}", judgement.reason);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_form_of_rule_passes_on_what_is_missing_or_not_a_number(
        form in prop::sample::select(FORMS.to_vec()),
        poisons in prop::collection::vec(poison(), 1..4),
    ) {
        let judgement = judged(form, &poisons);
        let passed = judgement.verdict == PASS;
        prop_assert_eq!(passed, !form.is_poisoned(&poisons), "{}", judgement.reason);
    }
}
