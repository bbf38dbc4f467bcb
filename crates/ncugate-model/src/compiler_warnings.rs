//! Compiler warnings. For example, a source that redefines a macro makes a sweep over it measure one kernel, and warpgroup products that ptxas
//! serialises are several times slower.

use super::{BuildOutcome, BuildRecord};
use indexmap::IndexMap;

/// Longest list of warnings.
const MOST: usize = 8;
/// Texts that mark a warning. ptxas prints the second in numbered info lines, for instance if it serialises `wgmma`.
const SIGNS: [&str; 2] = ["warning", "Potential Performance Loss"];

/// The compiler's warnings, each once, with the first variant that has it and the number of others.
#[must_use]
pub fn compiler_warnings(builds: &[BuildRecord]) -> Vec<String> {
    let mut found: IndexMap<&str, (&BuildRecord, usize)> = IndexMap::new();
    for build in builds {
        let BuildOutcome::Built { log, .. } = &build.outcome else { continue };
        for line in log.lines().map(str::trim).filter(|line| SIGNS.iter().any(|sign| line.contains(sign))) {
            found.entry(line).or_insert((build, 0)).1 += 1;
        }
    }
    let more = found.len().saturating_sub(MOST);
    let told = |(line, (first, count)): (&str, (&BuildRecord, usize))| match count {
        1 => format!("nvcc warned about `{}`: {line}", first.variant),
        _ => format!("nvcc warned about `{}` and {} more: {line}", first.variant, count - 1),
    };
    let rest = (more > 0).then(|| format!("{more} more warnings of nvcc are in the build logs of the variants"));
    found.into_iter().take(MOST).map(told).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Resources, VariantId};

    #[test]
    fn a_warning_of_several_variants_is_one_line() {
        let record = |variant: &str, log: &str| BuildRecord {
            variant: VariantId(variant.into()),
            shares: None,
            outcome: BuildOutcome::Built {
                cubin: "x".into(),
                cubin_sha256: String::new(),
                code_sha256: String::new(),
                resources: Resources {
                    registers: 1,
                    static_shared: 0,
                    stack: 0,
                    local: 0,
                    spills: 0,
                    constant: 0,
                    barriers: 0,
                },
                symbols: Default::default(),
                entries: Vec::new(),
                arch: String::new(),
                cached: false,
                log: log.to_owned(),
                launch: None,
                left_out: Vec::new(),
                growth: None,
            },
        };
        let twice = "k.cu:1:9: warning: \"TILE\" redefined\n  note";
        let serialised =
            "ptxas info    : (C7512) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x";
        let builds = [
            record("a", twice),
            record("b", twice),
            record("c", "ptxas info    : Used 96 registers"),
            record("d", "k.cu(9): warning #177-D: x"),
            record("e", serialised),
        ];
        assert_eq!(
            compiler_warnings(&builds),
            [
                "nvcc warned about `a` and 1 more: k.cu:1:9: warning: \"TILE\" redefined",
                "nvcc warned about `d`: k.cu(9): warning #177-D: x",
                &format!("nvcc warned about `e`: {serialised}"),
            ]
        );
    }
}
