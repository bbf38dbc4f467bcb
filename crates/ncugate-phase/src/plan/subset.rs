//! A part of a phase for a quick look: fewer variants, shapes or rounds. It gives no verdict on the phase.

use super::base::is_of_base;
use super::{Plan, Variant, VariantRole};
use crate::config::{BASE, Phase};
use globset::GlobMatcher;
use ncugate_model::expr::{Expr, ExprError, Names, Value};
use ncugate_model::number::text;
use ncugate_model::{GlobError, ShapeName, glob, nearest};
use serde::{Deserialize, Serialize};

/// The part of a phase that a run measures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSubset {
    /// Candidates: globs of ids, or conditions on parameters; one of them must match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// Parameters of the sweep with fixed values: `THREADS=256`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<String>,
    /// Timed and profiled shapes; all timed shapes of the phase if empty. Every shape is checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shapes: Vec<ShapeName>,
    /// Rounds of timing, in place of the phase's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
}

/// Why a phase has no such part.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum SubsetError {
    /// A filter is not a glob.
    #[error("--filter {0}")]
    Glob(#[from] GlobError),
    /// A filter is not a condition.
    #[error("--filter `{text}`: {reason}")]
    Condition { text: String, reason: String },
    #[error("no candidate of the phase matches `{asked}`; it has {there}")]
    Nothing { asked: String, there: String },
    /// A search proposes the candidates of the phase.
    #[error(
        "`{asked}` needs a fixed list of candidates, but a search proposes those of this phase; change [sweep] instead"
    )]
    Searched { asked: String },
    /// A value is not in the sweep.
    #[error("--set `{text}`: {reason}")]
    Fixed { text: String, reason: String },
    /// The phase has no such shape.
    #[error("the phase has no shape `{asked}`{hint}; it has {there}")]
    Shape { asked: String, hint: String, there: String },
}

enum Filter {
    Glob(GlobMatcher),
    Condition(Expr),
}

impl PhaseSubset {
    /// Whether it restricts nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Its command-line options: `--filter "THREADS == 256" --shape wide`.
    pub fn words(&self) -> String {
        let options = |name: &str, values: Vec<&str>| -> Vec<String> {
            let quoted =
                |value: &str| if value.contains([' ', '*']) { format!("\"{value}\"") } else { value.to_owned() };
            values.into_iter().map(|value| format!("--{name} {}", quoted(value))).collect()
        };
        let all = [
            options("filter", self.filters.iter().map(String::as_str).collect()),
            options("set", self.fixed.iter().map(String::as_str).collect()),
            options("shape", self.shapes.iter().map(|shape| shape.0.as_str()).collect()),
            self.rounds.iter().map(|rounds| format!("--rounds {rounds}")).collect(),
        ];
        all.concat().join(" ")
    }

    /// The part of a phase and of its plan. Baselines stay: candidates are compared with them.
    ///
    /// # Errors
    /// It names something missing from the phase, or leaves no candidate.
    pub fn of(&self, phase: &Phase, plan: &Plan) -> Result<(Phase, Plan), SubsetError> {
        Ok((self.phase(phase)?, self.plan(phase, plan)?))
    }

    fn plan(&self, phase: &Phase, plan: &Plan) -> Result<Plan, SubsetError> {
        let filters = self.filters.iter().map(|text| filter(text)).collect::<Result<Vec<_>, _>>()?;
        let fixed = self.fixed.iter().map(|text| fixed(text, phase)).collect::<Result<Vec<_>, _>>()?;
        if filters.is_empty() && fixed.is_empty() {
            return Ok(plan.clone());
        }
        if plan.candidates().next().is_none() {
            return Err(SubsetError::Searched { asked: self.words() });
        }
        let mut kept = Vec::new();
        let mut wrong = None;
        for variant in &plan.variants {
            let is_candidate = variant.standing != VariantRole::Baseline;
            let of_base = is_of_base(phase, &variant.id) && variant.id.0 != BASE;
            let has = fixed.iter().all(|(name, value)| variant.params.iter().any(|(n, v)| n == name && v == value));
            let mut fits = filters.is_empty();
            for (filter, text) in filters.iter().zip(&self.filters).filter(|_| is_candidate || of_base) {
                match fitted(filter, variant) {
                    Ok(fitted) => fits |= fitted,
                    Err(error) => wrong = wrong.or(Some((text.clone(), error))),
                }
            }
            if !is_candidate && !of_base || has && fits {
                kept.push(variant.clone());
            }
        }
        if kept.iter().any(|variant| variant.standing != VariantRole::Baseline) {
            return Ok(Plan { variants: kept });
        }
        // A condition can name a parameter that some variants do not have; it is an error only if no variant matches.
        if let Some((text, error)) = wrong {
            return Err(SubsetError::Condition { text, reason: error.to_string() });
        }
        let there = text::listed(plan.candidates().map(|variant| &variant.id), 3, ", ");
        Err(SubsetError::Nothing { asked: self.words(), there })
    }

    fn phase(&self, phase: &Phase) -> Result<Phase, SubsetError> {
        let mut part = phase.clone();
        if let Some(rounds) = self.rounds {
            part.bench.rounds = rounds;
            part.bench.max_rounds = rounds;
        }
        let Some(last) = self.shapes.last() else { return Ok(part) };
        let names = || phase.workload.shapes.iter().map(|shape| shape.name.0.as_str());
        if let Some(absent) = self.shapes.iter().find(|shape| !names().any(|name| name == shape.0)) {
            let hint =
                nearest(&absent.0, names()).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
            let there = names().collect::<Vec<_>>().join(", ");
            return Err(SubsetError::Shape { asked: absent.0.to_string(), hint, there });
        }
        part.bench.shapes.clone_from(&self.shapes);
        part.profile.shapes.clone_from(&self.shapes);
        if !self.shapes.contains(&phase.objective.shape) {
            part.objective.shape = last.clone();
        }
        Ok(part)
    }
}

/// A text with a comparison is a condition, any other a glob: ids contain single `=`.
fn filter(text: &str) -> Result<Filter, SubsetError> {
    let compares = ["==", "!=", "<", ">", " in "].iter().any(|mark| text.contains(mark));
    if !compares {
        return Ok(Filter::Glob(glob(text)?));
    }
    let condition = Expr::parse(text);
    let wrong = |error: ExprError| SubsetError::Condition { text: text.to_owned(), reason: error.to_string() };
    Ok(Filter::Condition(condition.map_err(wrong)?))
}

fn fitted(filter: &Filter, variant: &Variant) -> Result<bool, String> {
    match filter {
        // A variant of the base is selected by its id in the base.
        Filter::Glob(glob) => {
            let id = variant.id.0.as_str();
            Ok(glob.is_match(id) || id.strip_prefix("base+").is_some_and(|there| glob.is_match(there)))
        }
        Filter::Condition(condition) => {
            let names: Names = variant.params.iter().cloned().collect();
            match condition.eval(&names) {
                Ok(Value::Bool(fits)) => Ok(fits),
                Ok(other) => Err(format!("it gives {other}, expected true or false")),
                Err(error) => Err(error.to_string()),
            }
        }
    }
}

/// A parameter of the sweep and one of its values.
fn fixed(text: &str, phase: &Phase) -> Result<(String, Value), SubsetError> {
    let wrong = |reason: String| SubsetError::Fixed { text: text.to_owned(), reason };
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| wrong("expected a parameter and its value, such as THREADS=256".to_owned()))?;
    let axes = &phase.sweep.axes;
    let axis = axes.iter().find(|(axis, _)| axis == name.trim()).ok_or_else(|| {
        let names: Vec<&str> = axes.iter().map(|(axis, _)| axis.as_str()).collect();
        let there = if names.is_empty() { "no parameter".to_owned() } else { names.join(", ") };
        wrong(format!("the sweep has no parameter `{}`; it has {there}", name.trim()))
    })?;
    let found = axis.1.iter().find(|known| known.to_string() == value.trim());
    let found = found.ok_or_else(|| {
        let values: Vec<String> = axis.1.iter().map(Value::to_string).collect();
        wrong(format!("`{}` must be one of {}", axis.0, values.join(", ")))
    })?;
    Ok((axis.0.clone(), found.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::plan::unroll;
    use ncugate_fixtures::at_root;
    use std::path::Path;

    fn narrowed(narrowing: &PhaseSubset) -> Result<(Phase, Plan), SubsetError> {
        at_root();
        let path = Path::new("configs/softmax.toml");
        let phase = config::parse(path, &std::fs::read_to_string(path).unwrap()).unwrap();
        let plan = unroll(&phase).unwrap();
        narrowing.of(&phase, &plan)
    }

    fn candidates(filters: &[&str], fixed: &[&str]) -> Vec<String> {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let narrowing = PhaseSubset { filters: texts(filters), fixed: texts(fixed), ..PhaseSubset::default() };
        let (_, plan) = narrowed(&narrowing).unwrap();
        assert_eq!(plan.baselines().count(), 1);
        plan.candidates().map(|variant| variant.id.0.to_string()).collect()
    }

    #[test]
    fn filters_are_globs_of_ids_or_conditions_on_parameters_and_any_may_fit() {
        assert_eq!(candidates(&["THREADS=128,*"], &[]).len(), 4);
        assert_eq!(candidates(&["THREADS == 128 and VEC > 1"], &[]).len(), 2);
        assert_eq!(candidates(&["THREADS in [128, 256] and VEC == 4", "*ROWS_PER_BLOCK=4,VEC=1"], &[]).len(), 7);
        assert_eq!(candidates(&[], &["THREADS=256", "VEC=4"]).len(), 2);
        assert_eq!(candidates(&["VEC == 4"], &["THREADS=256"]).len(), 2);
        assert_eq!(candidates(&[], &[]).len(), 12);
    }

    #[test]
    fn what_the_phase_does_not_have_is_an_error_that_says_what_there_is() {
        let said = |narrowing: PhaseSubset| narrowed(&narrowing).unwrap_err().to_string();
        let of_filter = |text: &str| said(PhaseSubset { filters: vec![text.to_owned()], ..PhaseSubset::default() });
        assert!(
            of_filter("REGCAP=*")
                .contains("no candidate of the phase matches `--filter \"REGCAP=*\"`; it has THREADS=128")
        );
        assert!(of_filter("REGCAP > 3").contains("REGCAP"));
        assert!(of_filter("THREADS >").starts_with("--filter `THREADS >`"));
        let of_set = |text: &str| said(PhaseSubset { fixed: vec![text.to_owned()], ..PhaseSubset::default() });
        assert!(of_set("THREADS=1").contains("one of 128, 256, 512"));
        assert!(of_set("X=1").contains("it has THREADS, ROWS_PER_BLOCK, VEC"));
        let shapes = vec![ShapeName("wid".into())];
        assert!(said(PhaseSubset { shapes, ..PhaseSubset::default() }).contains("did you mean `wide`?"));
    }

    #[test]
    fn a_phase_that_is_searched_has_no_list_of_candidates() {
        at_root();
        let path = Path::new("configs/search_sdpa.toml");
        let phase = config::parse(path, &std::fs::read_to_string(path).unwrap()).unwrap();
        let plan = unroll(&phase).unwrap();
        assert_eq!(PhaseSubset::default().of(&phase, &plan).unwrap().1.variants.len(), plan.variants.len());
        let filters = vec!["TILE_M=16*".to_owned()];
        let refused = PhaseSubset { filters, ..PhaseSubset::default() }.of(&phase, &plan).unwrap_err();
        assert!(refused.to_string().starts_with("`--filter \"TILE_M=16*\"` needs a fixed list"), "{refused}");
    }

    #[test]
    fn a_shape_is_timed_alone_and_every_shape_is_checked() {
        let shapes = vec![ShapeName("narrow".into())];
        let (phase, _) =
            narrowed(&PhaseSubset { shapes: shapes.clone(), rounds: Some(7), ..PhaseSubset::default() }).unwrap();
        assert_eq!(
            (phase.bench.shapes, phase.profile.shapes, phase.objective.shape),
            (shapes.clone(), shapes.clone(), shapes[0].clone())
        );
        assert_eq!((phase.bench.rounds, phase.bench.max_rounds, phase.workload.shapes.len()), (7, 7, 3));
    }
}
