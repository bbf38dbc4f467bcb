//! ncu metrics that are known on some chip, and the most similar one to a name.

use crate::nearest;

/// Whether a metric under ncu's name exists on one of the listed chips.
pub fn is_listed(name: &str) -> bool {
    ncu_rep::is_listed_metric(name)
}

/// The listed metric most similar to an unlisted name.
pub fn nearest_listed(name: &str) -> Option<String> {
    let (base, form) = name.split_once('.').unwrap_or((name, ""));
    let known = match ncu_rep::listed_forms(base).is_empty() {
        false => base,
        true => nearest(base, ncu_rep::listed_bases())?,
    };
    let mut forms = ncu_rep::listed_forms(known);
    // frames and regions have no counters within a launch
    forms.retain(|form| !["_frame", "_region"].iter().any(|of| form.contains(of)));
    let meant = if form.is_empty() { known.to_owned() } else { format!("{known}.{form}") };
    nearest(&meant, forms.iter().map(String::as_str)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{Catalogue, known_chips};
    use crate::{ComputeCapability, is_ncu_metric};

    #[test]
    fn every_counter_of_the_catalogue_is_listed() {
        let chips: Vec<ComputeCapability> = known_chips().collect();
        let catalogue = Catalogue::embedded();
        let mut seen = 0;
        for (metric, chip) in catalogue.names().flat_map(|name| chips.iter().map(move |chip| (name, *chip))) {
            let definition = catalogue.definition(metric, Some(chip)).ok();
            let counters = definition.iter().flat_map(|definition| definition.metrics());
            for counter in counters.filter(|counter| is_ncu_metric(counter)) {
                assert!(is_listed(counter), "{metric}: {counter}");
                seen += 1;
            }
        }
        assert!(seen > 300, "{seen}");
    }

    #[test]
    fn a_typing_error_is_mended_in_the_base_or_in_the_form() {
        for (typed, meant) in [
            ("sm__warps_activ.avg.pct_of_peak_sustained_active", "sm__warps_active.avg.pct_of_peak_sustained_active"),
            ("sm__warps_active.avg.pct_of_peak_sustained", "sm__warps_active.avg.pct_of_peak_sustained_active"),
            ("dram__bytes", "dram__bytes.sum"),
            ("launch__register_per_thread", "launch__registers_per_thread"),
            ("lts__t_sector_hitrate.pct", "lts__t_sector_hit_rate.pct"),
        ] {
            assert_eq!(nearest_listed(typed).as_deref(), Some(meant), "{typed}");
        }
        assert_eq!(nearest_listed("zz__qqqq.sum"), None);
    }
}
