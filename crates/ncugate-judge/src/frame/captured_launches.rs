//! Assigns launches in another program's ncu report to variants, by the phase's patterns.

use globset::GlobMatcher;
use ncu_rep::{Launch, ReportError};
use ncugate_model::{KernelName, VariantId, glob, nvtx_text};
use ncugate_phase::config::LaunchPattern;
use ncugate_phase::plan::{Method, Plan};
use std::collections::HashMap;

/// The fields of a report's launch that patterns can match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedLaunch<'a> {
    /// File name of the report.
    pub report: &'a str,
    /// Its number in the report.
    pub launch: u32,
    pub kernel: &'a str,
    /// The full signature, or the function name if the report has only that.
    pub demangled: &'a str,
    /// Open NVTX ranges, as `outer > inner`.
    pub nvtx: &'a str,
}

/// The compiled patterns of a plan.
pub struct CapturedVariants<'p> {
    variants: Vec<(&'p VariantId, Matcher)>,
    /// Variants whose patterns list launch numbers, by number.
    numbered: HashMap<u32, Vec<usize>>,
    /// All other variants.
    others: Vec<usize>,
}

/// A pattern with compiled globs; a glob that does not compile matches nothing.
struct Matcher {
    kernel: Option<Option<GlobMatcher>>,
    nvtx: Option<Option<GlobMatcher>>,
    report: Option<Option<GlobMatcher>>,
}

impl<'p> CapturedVariants<'p> {
    pub fn of(plan: &'p Plan) -> Self {
        let mut all = Self { variants: Vec::new(), numbered: HashMap::new(), others: Vec::new() };
        for variant in &plan.variants {
            let Method::Captured(pattern) = &variant.method else { continue };
            let at = all.variants.len();
            all.variants.push((&variant.id, Matcher::of(pattern)));
            match pattern.launches.as_slice() {
                [] => all.others.push(at),
                launches => launches.iter().for_each(|launch| all.numbered.entry(*launch).or_default().push(at)),
            }
        }
        all
    }

    /// The variants that match a launch of the report with this name: more than one if patterns overlap.
    ///
    /// # Errors
    /// The report is damaged.
    pub fn owners_of(&self, report: &str, launch: &Launch<'_>) -> Result<Vec<&'p VariantId>, ReportError> {
        let (kernel, demangled) = (&launch.kernel_name(), &launch.demangled_name());
        let nvtx = &nvtx_text(&launch.nvtx()?);
        Ok(self.owners(&CapturedLaunch { report, launch: launch.id(), kernel, demangled, nvtx }))
    }

    /// The variants that match a launch: more than one if patterns overlap.
    pub fn owners(&self, launch: &CapturedLaunch<'_>) -> Vec<&'p VariantId> {
        let numbered = self.numbered.get(&launch.launch).into_iter().flatten();
        let fitting = numbered.chain(&self.others).filter_map(|at| self.variants.get(*at));
        fitting.filter(|(_, matcher)| matcher.fits(launch)).map(|(id, _)| *id).collect()
    }
}

impl Matcher {
    fn of(pattern: &LaunchPattern) -> Self {
        let compiled = |text: &Option<String>| text.as_deref().map(|text| glob(text).ok());
        Self { kernel: compiled(&pattern.kernel), nvtx: compiled(&pattern.nvtx), report: compiled(&pattern.report) }
    }

    fn fits(&self, launch: &CapturedLaunch<'_>) -> bool {
        let name = KernelName::parse(launch.demangled).to_string();
        let kernel = [launch.kernel, launch.demangled, name.as_str()];
        // ncu keeps the terminating NUL of a wide string as part of a range's name.
        let ranges = launch.nvtx.split(" > ").chain([launch.nvtx]).map(|range| range.trim_end_matches('\0'));
        any(&self.kernel, kernel) && any(&self.nvtx, ranges) && any(&self.report, [launch.report])
    }
}

fn any<'t>(asked: &Option<Option<GlobMatcher>>, texts: impl IntoIterator<Item = &'t str>) -> bool {
    match asked {
        None => true,
        Some(None) => false,
        Some(Some(glob)) => texts.into_iter().any(|text| glob.is_match(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_phase::plan::{Variant, VariantRole};

    const SOFTMAX: &str = "void <unnamed>::softmax_warp_forward<float, float, float, 10, false, false>(float *, int)";

    fn plan(patterns: &[LaunchPattern]) -> Plan {
        let variant = |(at, pattern): (usize, &LaunchPattern)| Variant {
            id: VariantId(at.to_string().into()),
            standing: VariantRole::Candidate,
            params: Vec::new(),
            method: Method::Captured(pattern.clone()),
        };
        Plan { variants: patterns.iter().enumerate().map(variant).collect() }
    }

    fn matches(pattern: LaunchPattern) -> bool {
        let launch = CapturedLaunch {
            report: "torch.ncu-rep",
            launch: 3,
            kernel: "softmax_warp_forward",
            demangled: SOFTMAX,
            nvtx: "step > softmax\0",
        };
        !CapturedVariants::of(&plan(&[pattern])).owners(&launch).is_empty()
    }

    #[test]
    fn a_launch_fits_where_every_part_of_the_pattern_does() {
        let kernel = |text: &str| LaunchPattern { kernel: Some(text.to_owned()), ..LaunchPattern::default() };
        for name in [
            "softmax_warp*",
            "softmax_warp_forward",
            "softmax_warp_forward<float,*",
            SOFTMAX,
            "*<*, 10, false, false>(*",
        ] {
            assert!(matches(kernel(name)), "{name}");
        }
        assert!(!matches(kernel("softmax")) && !matches(kernel("*backward*")) && !matches(kernel("[")));
        let nvtx = |text: &str| LaunchPattern { nvtx: Some(text.to_owned()), ..LaunchPattern::default() };
        assert!(
            matches(nvtx("softmax")) && matches(nvtx("step > *")) && matches(nvtx("step")) && !matches(nvtx("soft"))
        );
        let numbered = |launches: &[u32]| LaunchPattern { launches: launches.to_vec(), ..kernel("softmax*") };
        assert!(matches(numbered(&[1, 3])) && !matches(numbered(&[4])));
        assert!(!matches(LaunchPattern { report: Some("before*".to_owned()), ..kernel("*") }));
    }

    #[test]
    fn a_launch_that_two_patterns_fit_has_two_owners() {
        let both = [
            LaunchPattern { kernel: Some("k*".into()), ..LaunchPattern::default() },
            LaunchPattern { launches: vec![0], ..LaunchPattern::default() },
        ];
        let plan = plan(&both);
        let launch = CapturedLaunch { report: "r", launch: 0, kernel: "k1", demangled: "k1", nvtx: "" };
        let variants = CapturedVariants::of(&plan);
        assert_eq!(variants.owners(&launch).len(), 2);
        assert_eq!(variants.owners(&CapturedLaunch { launch: 1, ..launch }), [&VariantId("0".into())]);
    }
}
