//! Facts about a variant that are known after its build.

use crate::Tools;
use ncugate_judge::{TargetGpu, not_built, static_facts};
use ncugate_model::expr::{Expr, Names, Value};
use ncugate_model::metric::Catalogue;
use ncugate_model::{BuildRecord, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Plan, code_hash};
use std::collections::BTreeMap;

/// Facts from the builds of a batch.
#[derive(Debug, Clone, Default)]
pub struct StaticFacts {
    /// Metrics that follow from build and launch, at the objective's shape.
    metrics: BTreeMap<VariantId, BTreeMap<String, f64>>,
    /// Hashes of machine code and launches.
    codes: BTreeMap<VariantId, String>,
}

impl StaticFacts {
    /// The facts of a batch.
    pub fn new(phase: &Phase, plan: &Plan, builds: &[BuildRecord], tools: &Tools) -> Self {
        let metrics = Catalogue::embedded().metrics().iter();
        let names: Vec<String> =
            metrics.filter(|metric| metric.is_static()).map(|metric| metric.name.clone()).collect();
        let target = TargetGpu { capability: tools.device.compute_capability, sms: Some(tools.device.sms) };
        let table = static_facts(phase, plan, builds.to_vec(), target, &names);
        let of = |variant: &VariantId| {
            let cell = |name: &String| Some((name.clone(), table.read(variant, &phase.objective.shape, name).value()?));
            names.iter().filter_map(cell).collect()
        };
        let code = |build: &BuildRecord| Some((build.variant.clone(), code_hash(build, plan, &phase.workload)?));
        Self {
            metrics: plan.variants.iter().map(|variant| (variant.id.clone(), of(&variant.id))).collect(),
            codes: builds.iter().filter_map(code).collect(),
        }
    }

    pub fn of(&self, variant: &VariantId) -> BTreeMap<String, f64> {
        self.metrics.get(variant).cloned().unwrap_or_default()
    }

    /// The hash of a variant's machine code and launches; `None` if it was not built.
    pub fn code(&self, variant: &VariantId) -> Option<&String> {
        self.codes.get(variant)
    }

    /// Why a variant is not launched: it was not built, or a condition on its resources fails or cannot be evaluated.
    pub fn refused(&self, build: &BuildRecord, require: &[Expr], plan: &Plan) -> Option<String> {
        if let Some(reason) = not_built(&build.outcome) {
            return Some(reason);
        }
        let variant = plan.variants.iter().find(|variant| variant.id == build.variant)?;
        let mut names: Names = variant.params.iter().cloned().collect();
        let facts = self.of(&build.variant);
        // Whole numbers stay integers, so that `//` and `%` behave as usual.
        let value = |value: f64| if value.fract() == 0.0 { Value::Int(value as i64) } else { Value::Float(value) };
        names.extend(facts.into_iter().map(|(name, fact)| (name, value(fact))));
        require.iter().find_map(|condition| match condition.eval_bool(&names) {
            Ok(true) => None,
            Ok(false) => Some(format!("fails `{condition}`")),
            Err(e) => Some(format!("cannot evaluate `{condition}`: {}", e.reason())),
        })
    }
}
