//! The finalists of a search as a separate phase: the file with the candidates written into `[sweep]`. The run
//! documents its candidates and is judged by its own phase like any other run.

use ncugate_model::expr::Value;
use ncugate_phase::config::{self, ConfigErrors, KeyPlaces, Phase};

/// Why the finalists cannot be written into the phase.
#[derive(Debug, thiserror::Error)]
pub enum ChosenError {
    /// The file with the candidates does not parse.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The file has no line to put them on.
    #[error(
        "cannot add the finalists of the search to `sweep`; write it as a separate table, [sweep], with one line for each axis"
    )]
    Form,
}

/// The phase with these candidates, in its text too.
///
/// # Errors
/// `[sweep]` is not written as a separate table.
pub fn with_chosen(phase: &Phase, points: &[Vec<(String, Value)>]) -> Result<Phase, ChosenError> {
    let (axis, _) = phase.sweep.axes.first().ok_or(ChosenError::Form)?;
    let place = KeyPlaces::of(&phase.text).locate(&format!("sweep.{axis}")).ok_or(ChosenError::Form)?;
    let start = phase.text.get(..place.span.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let (before, after) = phase.text.split_at_checked(start).ok_or(ChosenError::Form)?;
    let lines: String = points.iter().map(|point| format!("  {},\n", table(point))).collect();
    let text = format!("{before}# The finalists of the search.\npoints = [\n{lines}]\n{after}");
    let chosen = config::parse_again(phase, &text).map_err(|_| ChosenError::Form)?;
    // If they parse to anything else, they are different candidates.
    if chosen.sweep.points.as_deref() != Some(points) || chosen.sweep.axes != phase.sweep.axes {
        return Err(ChosenError::Form);
    }
    Ok(chosen)
}

/// Parameters as an inline table of TOML.
fn table(point: &[(String, Value)]) -> String {
    let pairs: Vec<String> = point.iter().map(|(name, value)| format!("{name} = {}", toml(value))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn toml(value: &Value) -> String {
    match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        // With a point or an exponent, so that it does not parse as an integer.
        Value::Float(number) => format!("{number:?}"),
        // A JSON string is a TOML string.
        Value::Text(text) => serde_json::Value::String(text.clone()).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_phase::plan::unroll;
    use std::path::Path;

    fn phase() -> Phase {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/phase_d.toml")).unwrap();
        let text = format!("{text}\n[search]\nbudget = {{ measured = 20 }}\n");
        config::parse(Path::new("configs/phase_d.toml"), &text).unwrap()
    }

    #[test]
    fn a_phase_with_what_was_chosen_has_these_candidates_and_is_read_again() {
        let phase = phase();
        assert_eq!(unroll(&phase).unwrap().candidates().filter(|variant| !variant.params.is_empty()).count(), 0);
        let point = |last: usize| -> Vec<(String, Value)> {
            let axes = phase.sweep.axes.iter();
            axes.map(|(name, values)| (name.clone(), values[last.min(values.len() - 1)].clone())).collect()
        };
        let chosen = with_chosen(&phase, &[point(0), point(1)]).unwrap();
        assert_eq!(chosen.sweep.points, Some(vec![point(0), point(1)]));
        assert_eq!(config::parse(&phase.file, &chosen.text).unwrap(), chosen);
    }

    #[test]
    fn values_of_every_kind_are_read_as_they_were() {
        for value in [Value::Bool(true), Value::Int(-3), Value::Float(2.0), Value::Text("a\"b\\c".to_owned())] {
            let text = format!("x = {}", toml(&value));
            let read: std::collections::BTreeMap<String, Value> = toml::from_str(&text).unwrap();
            assert_eq!(read["x"], value, "{text}");
        }
    }
}
