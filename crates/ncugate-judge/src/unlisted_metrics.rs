//! ncu metric names that no listed chip has: mostly typing errors, which would otherwise only show on a GPU.

use indexmap::IndexMap;
use ncugate_model::is_ncu_metric;
use ncugate_model::metric::{is_listed, nearest_listed};
use ncugate_phase::config::Phase;

/// Maximum number of names listed; finding similar names is slow.
const MOST: usize = 10;
/// Maximum number of places listed per name.
const PLACES: usize = 3;

/// A sentence for each ncu metric in the phase that no listed chip has. A newer chip may have it.
pub fn unlisted_metrics(phase: &Phase) -> Vec<String> {
    let mut found: IndexMap<String, Vec<String>> = IndexMap::new();
    let mut look = |name: &str, place: &dyn Fn() -> String| {
        let name = name.strip_prefix("baseline.").unwrap_or(name);
        if is_ncu_metric(name) && !is_listed(name) {
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
    let more = found.len().saturating_sub(MOST);
    let sentence = |(name, mut places): (String, Vec<String>)| {
        places.dedup();
        let others = places.len().saturating_sub(PLACES);
        places.truncate(PLACES);
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        let hint = nearest_listed(&name).map_or_else(String::new, |near| format!(" did you mean `{near}`?"));
        let places = places.join(", ");
        format!(
            "`{name}` ({places}{others}) is not a metric of compute capability 7.5 to 12.0;{hint} `ncu --query-metrics` lists those of a chip"
        )
    };
    let mut said: Vec<String> = found.into_iter().take(MOST).map(sentence).collect();
    said.extend((more > 0).then(|| format!("{more} more metrics are unknown")));
    said
}
