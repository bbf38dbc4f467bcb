//! Texts of changes, for any two variants that a reader puts side by side: the page's script looks one up, it writes none.
//!
//! A scale covers what can be: ratios from 0 on, and differences in percentage points. It is made of runs of texts, one for
//! each step.

use crate::number;
use serde_json::{Value, json};

/// Texts for values from `least` on: the first text holds from `from` on, each next one a `step` further, the last one for
/// all that is beyond.
struct Steps {
    least: f64,
    from: f64,
    step: f64,
    unit: &'static str,
    texts: Vec<String>,
}

/// `{"ratio": [steps], "points": [steps]}`.
pub fn changes() -> Value {
    let ratio = [
        steps(0.0, 0..=2_000, 0.001, " %", number::change),
        steps(1.9995, 200..=999, 0.01, " %", number::change),
        steps(10.0, 100..=999, 0.1, "×", number::change),
        steps(100.0, 100..=999, 1.0, "×", number::change),
        steps(1_000.0, 100..=999, 10.0, "×", number::change),
    ];
    let points = [
        steps(0.005, 1..=999, 0.01, " pp", |value| number::distance(value, "%")),
        steps(10.0, 100..=1_000, 0.1, " pp", |value| number::distance(value, "%")),
    ];
    let written = |steps: &[Steps]| -> Vec<Value> { steps.iter().map(Steps::json).collect() };
    json!({ "ratio": written(&ratio), "points": written(&points) })
}

/// Steps whose texts are of their middles: `count` times the step.
fn steps(
    least: f64,
    counts: std::ops::RangeInclusive<u32>,
    step: f64,
    unit: &'static str,
    text: impl Fn(f64) -> String,
) -> Steps {
    let from = (f64::from(*counts.start()) - 0.5) * step;
    // Dividing by the inverse gives the decimal itself: 3 / 10, not 3 * 0.1.
    let middle =
        |count: u32| if step < 1.0 { f64::from(count) / (1.0 / step).round() } else { f64::from(count) * step };
    let texts = counts.map(|count| text(middle(count)).trim_end_matches(unit).to_owned()).collect();
    Steps { least, from, step, unit, texts }
}

impl Steps {
    fn json(&self) -> Value {
        json!({
            "least": self.least,
            "from": self.from,
            "step": self.step,
            "unit": self.unit,
            "texts": self.texts.join("|"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the page's script looks a change up.
    fn picked(scale: &str, value: f64) -> String {
        let changes = changes();
        let steps = changes[scale].as_array().map_or(&[][..], Vec::as_slice);
        let of = |steps: &Value, key: &str| steps[key].as_f64().unwrap_or(f64::NAN);
        let steps = steps.iter().rev().find(|steps| value >= of(steps, "least")).map_or(&Value::Null, |steps| steps);
        let texts: Vec<&str> = steps["texts"].as_str().unwrap_or_default().split('|').collect();
        let at = ((value - of(steps, "from")) / of(steps, "step")).floor() as usize;
        format!("{}{}", texts[at.min(texts.len() - 1)], steps["unit"].as_str().unwrap_or_default())
    }

    #[test]
    fn changes_in_the_page_equal_those_that_the_report_writes() {
        for ratio in [0.0, 0.5, 0.9372, 0.99996, 1.0, 1.0004, 1.0321, 1.9994, 2.5, 5.551, 9.994] {
            let written = number::change(ratio).replace("-100.0", "-100");
            assert_eq!(picked("ratio", ratio), written, "{ratio}");
        }
        for (ratio, text) in [(10.0, "10×"), (12.34, "12.3×"), (154.02, "154×"), (2_341.0, "2,340×"), (1e9, "9,990×")]
        {
            assert_eq!(picked("ratio", ratio), text, "{ratio}");
        }
        for points in [0.01, 0.28, 1.5, 7.53, 9.99, 12.9, 99.9] {
            assert_eq!(picked("points", points), number::distance(points, "%"), "{points}");
        }
        assert_eq!(picked("points", 12.97), "13 pp");
    }
}
