//! Metrics that would only turn out to be absent on a GPU: ncu's names that no listed chip has, mostly typing errors, and
//! metrics of the catalogue that a chip does not have.

use indexmap::IndexMap;
use ncugate_model::metric::{Catalogue, MetricError, is_listed, nearest_listed};
use ncugate_model::number::text;
use ncugate_model::{ComputeCapability, is_ncu_metric};
use ncugate_phase::config::Phase;

/// Maximum number of names listed; finding similar names is slow.
const MOST: usize = 10;
/// Maximum number of places listed per name.
const PLACES: usize = 3;

/// The metrics of a phase that `is_meant` picks, each with its places.
fn places(phase: &Phase, is_meant: impl Fn(&str) -> bool) -> IndexMap<String, Vec<String>> {
    let mut found: IndexMap<String, Vec<String>> = IndexMap::new();
    let mut look = |name: &str, place: &dyn Fn() -> String| {
        let name = name.strip_prefix("baseline.").unwrap_or(name);
        if is_meant(name) {
            found.entry(name.to_owned()).or_default().push(place());
        }
    };
    look(&phase.objective.metric, &|| "`phase.objective`".to_owned());
    phase.profile.metrics.iter().for_each(|name| look(name, &|| "`profile.metrics`".to_owned()));
    for gate in phase.every_gate() {
        for read in gate.require.reads().quantities {
            look(&read.name, &|| format!("gate at line {}", gate.line));
        }
    }
    for rule in &phase.rules {
        let place = || format!("rule '{}'", rule.id);
        let exprs = rule.cases.iter().flat_map(|case| case.saves.iter().chain([&case.when]));
        let texts = rule.cases.iter().map(|case| &case.says).chain(&rule.advice);
        let read = exprs.flat_map(|expr| expr.names()).chain(texts.flat_map(|text| text.names()));
        let names = read.map(|(name, _)| name).chain(rule.evidence.iter().cloned());
        names.for_each(|name| look(&name, &place));
    }
    found
}

/// Places as text, the first few in full.
fn listed(mut places: Vec<String>) -> String {
    places.dedup();
    text::listed(places, PLACES, ", ")
}

/// A sentence for each metric of the phase that the chip does not have. Gates on it are inconclusive there.
pub fn absent_metrics(phase: &Phase, chip: ComputeCapability) -> Vec<String> {
    let absence = |name: &str| match Catalogue::embedded().definition(name, Some(chip)) {
        Err(error @ MetricError::Absent { .. }) => Some(error.to_string()),
        _ => None,
    };
    let found = places(phase, |name| absence(name).is_some());
    found.into_iter().filter_map(|(name, at)| Some(format!("{} ({})", absence(&name)?, listed(at)))).collect()
}

/// A sentence for each ncu metric in the phase that no listed chip has. A newer chip may have it.
pub fn unlisted_metrics(phase: &Phase) -> Vec<String> {
    let found = places(phase, |name| is_ncu_metric(name) && !is_listed(name));
    let more = found.len().saturating_sub(MOST);
    let sentence = |(name, at): (String, Vec<String>)| {
        let hint = nearest_listed(&name).map_or_else(String::new, |near| format!(" did you mean `{near}`?"));
        format!(
            "`{name}` ({}) is not a metric of compute capability 7.5 to 12.1;{hint} `ncu --query-metrics` lists those of a chip",
            listed(at)
        )
    };
    let mut said: Vec<String> = found.into_iter().take(MOST).map(sentence).collect();
    said.extend((more > 0).then(|| format!("{more} more metrics are unknown")));
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_phase::config::parse;
    use std::path::Path;

    #[test]
    fn metrics_that_the_chip_lacks_are_said_before_a_gpu_is_asked() {
        let gate = "\n[[gate]]\nrequire = \"dram_bytes <= 8e6 and tensor_dtype_fp4_pct >= 99\"\non = \"each\"\n";
        let text = format!("{}\n[sweep]\nTHREADS = [128]\n{gate}", include_str!("../../../tests/data/copy.toml"));
        let phase = parse(Path::new("copy.toml"), &text).unwrap();
        let absent = |chip: (u32, u32)| absent_metrics(&phase, chip.into());
        let [dram] = &absent((12, 1))[..] else { panic!("{:?}", absent((12, 1))) };
        assert!(dram.contains("sysmem_read_sectors") && dram.contains("(gate at line "), "{dram}");
        let [fp4] = &absent((9, 0))[..] else { panic!("{:?}", absent((9, 0))) };
        assert!(fp4.contains("`tensor_dtype_fp4_pct` does not exist on compute capability 9.0"), "{fp4}");
        assert!(absent((10, 0)).is_empty() && absent((10, 2)).is_empty());
    }
}
