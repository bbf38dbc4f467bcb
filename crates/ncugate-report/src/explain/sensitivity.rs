//! Which parameter of a sweep changes the objective, and by how much.

use ncugate_model::stats::median;
use ncugate_phase::plan::Variant;

/// One value of a parameter.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ParameterLevel {
    /// The value, as in variant ids.
    pub value: String,
    /// Median of the objective over the variants that have it.
    pub median: f64,
    pub variants: usize,
}

/// The effect of a parameter.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Effect {
    pub parameter: String,
    /// Its values, in the order of the sweep.
    pub levels: Vec<ParameterLevel>,
    /// Largest median over smallest, minus one, in percent.
    pub effect_pct: f64,
    /// 1 for the most important parameter.
    pub rank: usize,
}

/// Ranks the parameters by the spread of the medians of their values.
///
/// `measured` holds the objective of the accepted variants (correct candidates). Parameters with a single value are
/// left out. Ties keep the order of the sweep.
pub fn sensitivity(measured: &[(&Variant, f64)]) -> Vec<Effect> {
    let mut names: Vec<&str> = Vec::new();
    for (variant, _) in measured {
        for (name, _) in &variant.params {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    let mut effects: Vec<Effect> = names.into_iter().filter_map(|name| effect(name, measured)).collect();
    effects.sort_by(|a, b| b.effect_pct.total_cmp(&a.effect_pct));
    for (at, effect) in effects.iter_mut().enumerate() {
        effect.rank = at + 1;
    }
    effects
}

fn effect(name: &str, measured: &[(&Variant, f64)]) -> Option<Effect> {
    let mut groups: Vec<(String, Vec<f64>)> = Vec::new();
    for (variant, value) in measured.iter().filter(|(_, v)| v.is_finite()) {
        let Some((_, param)) = variant.params.iter().find(|(param, _)| param == name) else { continue };
        let text = param.to_string();
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, values)) => values.push(*value),
            None => groups.push((text, vec![*value])),
        }
    }
    let level = |(value, values): (String, Vec<f64>)| {
        Some(ParameterLevel { value, median: median(&values).ok()?, variants: values.len() })
    };
    let levels: Vec<ParameterLevel> = groups.into_iter().filter_map(level).collect();
    let low = levels.iter().map(|l| l.median).min_by(f64::total_cmp)?;
    let high = levels.iter().map(|l| l.median).max_by(f64::total_cmp)?;
    let effect_pct = 100.0 * (high / low - 1.0);
    (levels.len() > 1 && effect_pct.is_finite()).then(|| Effect {
        parameter: name.to_owned(),
        levels,
        effect_pct,
        rank: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::VariantId;
    use ncugate_model::expr::Value;
    use ncugate_phase::plan::{CommandPlan, Method, VariantRole};

    fn variant(threads: i64, tile: i64) -> Variant {
        Variant {
            id: VariantId(format!("THREADS={threads},TILE={tile}").into()),
            standing: VariantRole::Candidate,
            params: vec![
                ("THREADS".into(), Value::Int(threads)),
                ("TILE".into(), Value::Int(tile)),
                ("ONE".into(), Value::Int(1)),
            ],
            method: Method::Command(CommandPlan { argv: vec![], kernel_filter: None }),
        }
    }

    #[test]
    fn the_parameter_that_moves_the_median_most_is_first() {
        let variants: Vec<Variant> = [(128, 32), (128, 64), (256, 32), (256, 64)].map(|(t, m)| variant(t, m)).into();
        let measured: Vec<(&Variant, f64)> = variants.iter().zip([10.0, 20.0, 11.0, 21.0]).collect();
        let effects = sensitivity(&measured);
        let names: Vec<_> = effects.iter().map(|e| (e.parameter.as_str(), e.rank)).collect();
        assert_eq!(names, [("TILE", 1), ("THREADS", 2)]);
        assert!((effects[0].effect_pct - 100.0 * (20.5 / 10.5 - 1.0)).abs() < 1e-9);
        assert_eq!(effects[0].levels[0], ParameterLevel { value: "32".into(), median: 10.5, variants: 2 });
    }

    #[test]
    fn sensitivity_without_measurements_has_no_effects() {
        let one = variant(128, 32);
        assert!(sensitivity(&[]).is_empty());
        assert!(sensitivity(&[(&one, 10.0)]).is_empty());
    }
}
