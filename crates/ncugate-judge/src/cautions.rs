//! Cautions for the reader of a verdict: gates that do not judge the selected variant, weakened gates, a fallback.

use super::context::{EvalContext, is_fact};
use super::excused_pairs::{ExcusedPairs, PairState};
use super::operand::FEWEST_PROCESSES;
use super::results::{Case, FallbackResult, GateResult, SampleOrigin};
use super::selection_basis::SelectionBasis;
use super::tiers::counting;
use super::unlikely_limits::unlikely_limits;
use super::unlisted_metrics::unlisted_metrics;
use crate::frame::required_metrics::timed_shapes;
use crate::store::inputs::own_tools;
use jiff::civil::Date;
use ncugate_model::metric::{Catalogue, MetricSource};
use ncugate_model::number::{counted, short};
use ncugate_model::{
    BoundUnit, Law, Level, NanRule, OnInconclusive, Quantities, Role, Scope, ShapeName, Verdict, glob,
};
use ncugate_phase::config::{
    BASE, BoundOf, Gate, Init, Laws, OwnBound, Phase, RowOrder, Shape, Suppression, Workload, WorkloadReference,
};
use ncugate_phase::plan::{Plan, Variant};

/// Phases with fewer seeds are listed: each draw of the inputs is one chance to find a wrong result.
const FEW_SEEDS: usize = 2;

/// The cautions of a judged phase, most serious first.
pub fn of(
    (phase, plan): (&Phase, &Plan),
    today: Date,
    grounds: &SelectionBasis<'_>,
    fallback: Option<&FallbackResult>,
) -> Vec<String> {
    let taken = fallback.filter(|fallback| fallback.verdict == Verdict::Pass).map(fallback_caution);
    let cautions =
        (taken.into_iter()).chain(grounds.caution()).chain(unlikely_limits(phase)).chain(unlisted_metrics(phase));
    let weakened = weakened_gates(phase, plan, today).into_iter().chain(weakened_checks(phase, plan));
    cautions.chain(weakened).chain(by_duration_alone(phase)).collect()
}

/// Latencies that were not timed in enough processes to know how much these differ, though a gate passes or fails by
/// them; `None` if there are no such latencies.
pub fn of_one_process<'g>(quantities: &Quantities, gates: impl Iterator<Item = &'g GateResult>) -> Option<String> {
    let judged = gates.flat_map(|gate| gate.cases.iter()).filter(|case| case.outcome.verdict != Verdict::Inconclusive);
    let processes = |case: &Case| {
        let row = quantities.row(&case.variant, &case.shape)?;
        match case.outcome.origin? {
            // A failure far outside its limit is not confirmed.
            SampleOrigin::Sweep => (case.outcome.verdict == Verdict::Pass).then_some(1),
            SampleOrigin::Confirmation => Some(quantities.sampling_at(row)?.fresh.as_ref()?.processes.len()),
        }
    };
    let fewest = judged.filter_map(processes).min().filter(|processes| *processes < FEWEST_PROCESSES)?;
    let confirmed = counted(fewest, "process");
    Some(format!(
        "latencies were confirmed in {confirmed}: verdicts on them are valid for {} alone; run again for {FEWEST_PROCESSES} processes",
        if fewest == 1 { "this process" } else { "these processes" }
    ))
}

/// Measurements that contradict each other, of variants that are not disqualified; those of the selected variant come
/// first.
pub fn contradicted(context: &EvalContext<'_>, selected: Option<usize>) -> Option<String> {
    let others = (0..context.plan.variants.len()).filter(|at| Some(*at) != selected);
    let variants = selected.into_iter().chain(others).filter(|at| context.correctness(*at).disqualified().is_none());
    let cases = variants.flat_map(|at| context.phase.workload.shapes.iter().map(move |shape| (at, &shape.name)));
    let mut rejected = cases.filter_map(|(at, shape)| {
        let variant = &context.variant(at).id;
        Some((variant, shape, context.contradiction(variant, shape)?))
    });
    let (variant, shape, reason) = rejected.next()?;
    let more = match rejected.count() {
        0 => String::new(),
        more => format!("; and of {}", counted(more, "more case")),
    };
    Some(format!("no gate holds by a latency or counter of {variant} at {shape}: {reason}{more}"))
}

fn fallback_caution(fallback: &FallbackResult) -> String {
    let variant = fallback.variant.as_ref().map_or("none", |id| id.0.as_str());
    let cost = fallback.cost.as_deref().map_or_else(String::new, |cost| format!(": {cost}"));
    format!("the fallback {variant} is used{cost}")
}

/// Settings that make a phase's gates easier to pass, in one line; `None` if there are no such settings.
pub fn weakened_gates(phase: &Phase, plan: &Plan, today: Date) -> Option<String> {
    let scopes = answered_for(phase);
    let gates: Vec<&Gate> = scopes.iter().map(|(gate, _)| *gate).collect();
    let valid = phase.gate_plan.waivers.iter().filter(|waiver| waiver.holds_on(today));
    let until = valid.clone().map(|waiver| waiver.expires).max();
    let waivers: std::collections::HashSet<&str> = valid.map(|waiver| waiver.gate.as_str()).collect();
    let is_waived = |gate: &&&Gate| waivers.contains(gate.name.as_str());
    let required: Vec<&Gate> = gates.iter().copied().filter(|gate| gate.level == Level::Required).collect();
    let count = |is: &dyn Fn(&Gate) -> bool| required.iter().filter(|gate| is(gate)).count();
    let waived = required.iter().filter(is_waived).count();
    let globs: Vec<String> =
        required.iter().filter(|g| g.on.glob().is_some()).map(|g| format!("\"{}\"", g.on)).collect();
    let said = |count: usize, one: &str, many: &str| {
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
    };
    let parts: Vec<String> = [
        said(gates.len() - required.len(), "is advisory", "are advisory"),
        said(waived, "is waived", "are waived").zip(until).map(|(what, until)| format!("{what} until {until}")),
        said(count(&|g| g.inconclusive == OnInconclusive::Warn), "only warns about noise", "only warn about noise"),
        said(globs.len(), "judges only", "judge only").map(|what| format!("{what} {}", distinct(globs).join(" and "))),
        said(count(&|g| g.on == Scope::Any), "accepts any variant", "accept any variant"),
        said(count(&|g| g.at_least.is_some()), "needs only some shapes", "need only some shapes"),
        unjudged_pairs(&scopes, plan),
    ]
    .into_iter()
    .flatten()
    .collect();
    let weak = (!parts.is_empty()).then(|| format!("of {}, {}", counted(gates.len(), "gate"), parts.join(", ")));
    let fallback = phase.gate_plan.fallback.as_ref();
    let fallback = fallback.map(|f| format!("the fallback \"{}\" may be used if a gate fails", f.variant));
    let clauses: Vec<String> = weak.into_iter().chain(fallback).collect();
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

/// Settings that make a phase's checks weaker, in one line; `None` if there are no such settings.
pub fn weakened_checks(phase: &Phase, plan: &Plan) -> Option<String> {
    let workload = &phase.workload;
    if workload.is_of_reports() {
        return None;
    }
    let laws = match &workload.laws {
        Laws::Given(laws) => {
            let names: Vec<String> = laws.iter().map(|law| format!("\"{law}\"")).collect();
            Some(format!("inputs have only the laws {} (`laws`)", names.join(", ")))
        }
        Laws::Suited(laws) => laws_left_out(workload, laws),
    };
    let constant = workload
        .buffers
        .iter()
        .filter(|buffer| buffer.role == Role::Input && buffer.init.as_ref().is_some_and(Init::is_fixed));
    let constant: Vec<String> = constant.map(|buffer| format!("`{}`", buffer.name)).collect();
    let constant = (!constant.is_empty()).then(|| {
        let (have, them) = if constant.len() == 1 { ("has", "it") } else { ("have", "them") };
        format!(
            "{} {have} the same values in every draw (`init`), so a kernel need not read {them}",
            constant.join(", ")
        )
    });
    let share = workload.tolerance.allclose.map(|bound| bound.mismatches).filter(|share| *share > 0.0);
    let whose = |bound: &OwnBound| match &bound.of {
        BoundOf::Output(name) => format!("output {name}"),
        BoundOf::Shape(shape) => format!("shape {shape}"),
    };
    let general = workload.tolerance.allclose.unwrap_or_default();
    let is_looser = |bound: &&OwnBound| match (bound.unit, general.unit) {
        (BoundUnit::Derived, _) => false,
        (BoundUnit::One, BoundUnit::Derived) => bound.atol > 0.0 || bound.rtol > 0.0,
        (BoundUnit::One, BoundUnit::One) => bound.atol > general.atol || bound.rtol > general.rtol,
    };
    let own = distinct(workload.own_bounds.iter().filter(is_looser).map(whose).collect());
    let alone = workload.checks.iter().filter(|check| !check.outputs.is_empty());
    let alone =
        alone.map(|check| format!("`{}` alone judges {} (`check`)", check.program.program, check.outputs.join(", ")));
    let parts_of_outputs = workload.buffers.iter().filter(|buffer| !buffer.compare.is_empty()).map(|buffer| {
        let slices: Vec<String> = buffer.compare.iter().map(ToString::to_string).collect();
        format!("of {} only [{}] counts (`compare`)", buffer.name, slices.join(", "))
    });
    let in_any_order = workload.buffers.iter().filter(|buffer| buffer.order == RowOrder::Any);
    let in_any_order = in_any_order.map(|buffer| format!("rows of {} are in any order (`order`)", buffer.name));
    let params = match &workload.reference {
        WorkloadReference::Program(program) if !program.params.is_empty() => {
            Some(format!("the expected outputs depend on {} (`params` of the reference)", program.params.join(", ")))
        }
        _ => None,
    };
    let suppressed = phase.check.suppressed.iter().map(|suppression| {
        let Suppression { tool, kernel, reason } = suppression;
        format!("findings of {tool} in `{kernel}` do not count: {reason} (`suppress`)")
    });
    let tools = own_tools(phase).map(|(key, path)| format!("`{key}` is the project's own {}", path.display()));
    let parts = [
        laws,
        (workload.seeds.len() < FEW_SEEDS)
            .then(|| format!("inputs have {} (`seeds`)", counted(workload.seeds.len(), "seed"))),
        share.map(|share| format!("{} % of an output may be wrong (`mismatches`)", short(100.0 * share))),
        (workload.tolerance.nan == NanRule::Allowed).then(|| "answers may be NaN (`allow_nan`)".to_owned()),
        (!own.is_empty()).then(|| format!("{} with a larger tolerance", own.join(", "))),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .chain(constant)
        .chain(params)
        .chain(parts_of_outputs)
        .chain(in_any_order)
        .chain(alone)
        .chain(suppressed)
        .chain(tools)
        .chain(untimed(phase))
        .chain(narrowed(phase, plan))
        .collect();
    (!parts.is_empty()).then(|| format!("weakened checks: {}", parts.join("; ")))
}

/// Shapes at which gates read counters of launches that no latency can contradict; `None` if there are no such shapes.
fn untimed(phase: &Phase) -> Option<String> {
    let counted = |name: &str| Catalogue::embedded().source(name) == Some(MetricSource::Ncu) && !is_fact(name);
    let gates = answered_for(phase).into_iter().map(|(gate, _)| gate);
    let reading = gates.filter(|gate| gate.require.reads().quantities.iter().any(|read| counted(&read.name)));
    let shapes = reading.flat_map(|gate| &gate.shapes).filter(|shape| !phase.bench.shapes.contains(shape));
    let shapes = distinct(shapes.map(|shape| format!("'{shape}'")).collect());
    (!shapes.is_empty()).then(|| {
        format!("no duration confirms the counters at {}, where nothing is timed (`[bench] shapes`)", shapes.join(", "))
    })
}

/// The laws that are not applied: the elementwise ones, and why, or those that a built-in reference has at its smallest shape only.
fn laws_left_out(workload: &Workload, laws: &[Law]) -> Option<String> {
    let reason = match &workload.reference {
        WorkloadReference::Absent => return None,
        WorkloadReference::Builtin { .. } => {
            let lacks = |shape: &Shape| {
                let applied =
                    |law: &Law| workload.seeds.iter().any(|seed| workload.laws_of(&shape.name, *seed).contains(law));
                !laws.iter().all(applied)
            };
            let smallest = workload.smallest_shape()?;
            return workload.shapes.iter().any(lacks).then(|| {
                format!(
                    "inputs have one law a seed, not all {}, at every shape but '{}' (`seeds`)",
                    laws.len(),
                    smallest.name
                )
            });
        }
        WorkloadReference::Npy { .. } => {
            return Some("the reference is a file: no laws are applied, and no inputs are replaced".to_owned());
        }
        WorkloadReference::Entry { .. } | WorkloadReference::Program(_) if laws.len() == 1 => {
            "no floating-point input has a normal `init`"
        }
        WorkloadReference::Entry { .. } | WorkloadReference::Program(_) => "an output holds integers",
    };
    let elementwise = [Law::Large, Law::Outlier, Law::Shifted, Law::Ties].into_iter();
    let absent: Vec<String> = elementwise.filter(|law| !laws.contains(law)).map(|law| format!("\"{law}\"")).collect();
    (!absent.is_empty()).then(|| format!("the laws {} are not applied: {reason} (`laws`)", absent.join(", ")))
}

/// A caution if only a duration confirms the judged latencies: no bytes, no operations.
pub fn by_duration_alone(phase: &Phase) -> Option<String> {
    let workload = &phase.workload;
    let is_alone = workload.bytes.is_none() && workload.flops.is_none();
    (is_alone && !timed_shapes(phase).is_empty() && !workload.is_of_reports()).then(|| {
        "witnessed only by duration: `[workload]` has neither `bytes` nor `flops`, so counted work is compared only with outputs \
         larger than L2"
            .to_owned()
    })
}

/// `1 is judged at 8 of its 16 pairs of variant and shape (`where`)`; `None` if every gate judges all pairs.
fn unjudged_pairs(scopes: &[(&Gate, Option<&str>)], plan: &Plan) -> Option<String> {
    let (mut gates, mut excused, mut all) = (0, 0, 0);
    for scope @ (gate, _) in scopes {
        let judged = judged(scope, plan);
        let here = ExcusedPairs::new(gate, &judged).map_or(0, |excused| excused.count());
        if here > 0 {
            gates += 1;
            excused += here;
            all += judged.len() * gate.shapes.len();
        }
    }
    let (are, their) = if gates == 1 { ("is", "its") } else { ("are", "their") };
    let judged = all - excused;
    (gates > 0)
        .then(|| format!("{gates} {are} judged at {judged} of {their} {all} pairs of variant and shape (`where`)"))
}

/// The candidates that a gate of a scope judges.
fn judged<'p>((gate, stage): &(&Gate, Option<&str>), plan: &'p Plan) -> Vec<&'p Variant> {
    let matchers: Vec<_> = [gate.on.glob(), *stage].into_iter().flatten().filter_map(|text| glob(text).ok()).collect();
    let is_judged = |variant: &&Variant| matchers.iter().all(|matcher| matcher.is_match(&variant.id.0));
    plan.candidates().filter(is_judged).collect()
}

/// Gates that are inconclusive whatever is measured, because `where` leaves a shape without a variant or a variant without
/// a shape; a sentence each.
pub fn gates_without_launch(phase: &Phase, plan: &Plan) -> Vec<String> {
    let of = |scope: &(&Gate, Option<&str>)| {
        let (gate, judged) = (scope.0, judged(scope, plan));
        let (variant, shape, state) = ExcusedPairs::new(gate, &judged)?.open()?;
        let why = match state {
            PairState::VariantWithoutShape => format!("{} at all its shapes", judged[variant].id),
            _ => format!("all its variants at {}", gate.shapes[shape]),
        };
        Some(format!("gate '{}' is inconclusive: `where` excludes {why}", gate.name))
    };
    answered_for(phase).iter().filter_map(of).collect()
}

/// Variants that `where` excludes at shapes at which the base launches them.
fn narrowed(phase: &Phase, plan: &Plan) -> Option<String> {
    let candidates: Vec<&Variant> = plan.candidates().collect();
    let own = |of_base: &Variant| match (of_base.id.0.strip_prefix(BASE)?.strip_prefix('+'), candidates.as_slice()) {
        (Some(id), all) => all.iter().find(|variant| variant.id.0 == *id).copied(),
        (None, [only]) => Some(*only),
        (None, _) => None,
    };
    let pairs = plan.base(phase).filter_map(|of_base| Some((of_base, own(of_base)?))).flat_map(|(of_base, own)| {
        let shapes = phase.workload.shapes.iter().map(|shape| &shape.name);
        let is_narrowed = |shape: &&ShapeName| own.left_out_at(shape).is_some() && of_base.left_out_at(shape).is_none();
        shapes.filter(is_narrowed).map(|shape| format!("{} at {shape}", own.id))
    });
    let pairs: Vec<String> = pairs.collect();
    let first = pairs.first()?;
    let more = match pairs.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", counted(more, "more pair")),
    };
    Some(format!("`where` excludes {first}{more}, launched at the base"))
}

/// The gates that count for a phase, with the glob of their stage: its own, those of tiers up to the last required tier,
/// and those of stages.
fn answered_for(phase: &Phase) -> Vec<(&Gate, Option<&str>)> {
    let tiers = &phase.gate_plan.tiers;
    let required = counting(tiers, |tier| tier.required);
    let tiers = tiers.iter().take(required).flat_map(|tier| &tier.gates);
    let own = phase.gates.iter().chain(tiers).map(|gate| (gate, None));
    let stages = phase.gate_plan.stages.iter();
    own.chain(stages.flat_map(|stage| stage.gates.iter().map(|gate| (gate, Some(stage.variant.as_str()))))).collect()
}

fn distinct(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_phase::config::parse;
    use ncugate_phase::plan::unroll;
    use std::path::Path;

    fn phase(change: impl Fn(&str) -> String) -> Phase {
        parse(
            Path::new("copy.toml"),
            &change(concat!(include_str!("../../../tests/data/copy.toml"), "[sweep]\nTHREADS = [64]\n")),
        )
        .unwrap()
    }

    fn checks(phase: &Phase) -> Option<String> {
        weakened_checks(phase, &unroll(phase).unwrap())
    }

    #[test]
    fn counters_of_shapes_that_are_not_timed_are_listed() {
        let of = |require: &str| {
            let gate = format!("[[gate]]\nname = \"g\"\nrequire = \"{require}\"\nshapes = [\"only\", \"untimed\"]\n");
            let shapes = "[workload.shapes]\nuntimed = { S = 4096 }\n";
            let bench = "[bench]\nshapes = [\"only\"]\n[profile]\nshapes = [\"only\", \"untimed\"]\n";
            checks(&phase(|text| format!("{}{bench}{gate}", text.replace("[workload.shapes]\n", shapes))))
        };
        let said = of("dram_pct >= 1").unwrap();
        assert!(said.contains("no duration confirms the counters at 'untimed', where nothing is timed"), "{said}");
        for fact in ["registers <= 64", "correct == 1"] {
            assert!(!of(fact).is_some_and(|said| said.contains("no duration")), "{fact}");
        }
    }

    #[test]
    fn a_condition_narrower_than_at_the_base_is_listed() {
        let of = |condition: &str| {
            let phase = include_str!("../../../tests/data/copy.toml");
            let phase = phase.replace("[kernel]\n", &format!("[kernel]\nwhere = \"{condition}\"\n"));
            let wide = phase.replace("[workload.shapes]\n", "[workload.shapes]\nwide = { S = 4096 }\n");
            format!("{wide}[sweep]\nTHREADS = [64, 128]\n")
        };
        let narrowed = |now: &str, then: &str| {
            let head = "[base]\nref = \"main\"\ncommit = \"0123456789ab\"\nfolder = \"b\"\n";
            let text = format!("{}{head}phase = '''\n{}'''\n", of(now), of(then));
            checks(&parse(Path::new("copy.toml"), &text).unwrap_or_else(|e| panic!("{}", e.render(false))))
        };
        let said = narrowed("S < 4096 or THREADS == 64", "S > 0").unwrap_or_default();
        assert!(said.contains("`where` excludes THREADS=128 at wide, launched at the base"), "{said}");
        let said = narrowed("S < 4096", "S > 0").unwrap_or_default();
        assert!(said.contains("THREADS=64 at wide and 1 more pair"), "{said}");
        for (now, then) in [("S > 0", "S < 4096"), ("S < 4096", "S < 4096")] {
            assert!(!narrowed(now, then).unwrap_or_default().contains("excludes"), "{now}, {then}");
        }
    }

    #[test]
    fn what_weakens_the_checks_of_a_phase_is_listed() {
        let plain = phase(str::to_owned);
        assert!(plain.workload.seeds.len() >= FEW_SEEDS && checks(&plain).is_none(), "{:?}", checks(&plain));
        let weak = |from: &str, to: &str| {
            let found = phase(|text| {
                assert!(text.contains(from), "{text}");
                text.replacen(from, to, 1)
            });
            checks(&found).unwrap_or_default()
        };
        assert!(weak("[workload]\n", "[workload]\nlaws = [\"declared\"]\n").contains("only the laws \"declared\""));
        let tools = weak("[kernel]\n", "[profile]\nncu = \"./my/ncu\"\n[kernel]\n");
        assert!(tools.contains("`[profile] ncu` is the project's own my/ncu") || tools.contains("my/ncu"), "{tools}");
        let part = weak("role = \"output\" }", "role = \"output\", compare = [\"0:1\"], order = \"any\" }");
        for words in ["of y only [0:1] counts (`compare`)", "rows of y are in any order (`order`)"] {
            assert!(part.contains(words), "{words}: {part}");
        }
        let constant = weak("init = \"normal\"", "init = { constant = 1 }");
        assert!(constant.contains("`x` has the same values in every draw (`init`)"), "{constant}");
        let larger = weak("only = { S = 2048 }", "only = { S = 2048 }\nwide = { S = 4096 }");
        assert!(larger.contains("one law a seed, not all 6, at every shape but 'only'"), "{larger}");
        let file = weak("reference = \"copy\"", "reference = { npy = \"y.npy\" }");
        assert!(file.contains("the reference is a file: no laws are applied, and no inputs are replaced"), "{file}");
        let called = |from: &str, to: &str| {
            let text = |text: &str| text.replace("\"copy\"\ntol", "{ command = [\"ref\"] }\ntol").replace(from, to);
            checks(&phase(text)).unwrap_or_default()
        };
        assert_eq!(called("", ""), "", "all elementwise laws are applied");
        let integers = called("f16\", shape = [\"S\"], role", "i32\", shape = [\"S\"], role");
        assert!(integers.contains("the laws \"shifted\", \"ties\" are not applied: an output holds"), "{integers}");
        let ranged = called("\"normal\"", "{ uniform = { low = 0, high = 1 } }");
        assert!(ranged.contains("are not applied: no floating-point input has a normal `init`"), "{ranged}");
        let check = "tolerance = { check = \"check.py:right\" }";
        let judged = weak("tolerance = { max_abs = 2e-3 }", check);
        assert!(judged.contains("`check.py:right` alone judges y (`check`)"), "{judged}");
        let both = "tolerance = { max_abs = 2e-3, check = \"check.py:right\" }";
        assert_eq!(weak("tolerance = { max_abs = 2e-3 }", both), "", "a further condition weakens nothing");
        let bound = "tolerance = { atol = 1e-3, rtol = 1e-3, mismatches = 0.05, allow_nan = true, shapes = { only = { atol = 9 } } }";
        let loose = phase(|text| {
            let line = text.lines().find(|line| line.starts_with("tolerance")).unwrap();
            text.replacen(line, bound, 1)
        });
        let said = checks(&loose).unwrap();
        for words in ["5 % of an output may be wrong", "answers may be NaN", "shape only with a larger tolerance"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let strict = weak(
            "tolerance = { max_abs = 2e-3 }",
            "tolerance = { atol = 1e-3, rtol = 1e-3, outputs = { y = { atol = 0 } }, shapes = { only = { rtol = 1e-3 } } }",
        );
        assert_eq!(strict, "", "a bound that is no larger weakens nothing");
    }
}
