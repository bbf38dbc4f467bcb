//! NVTX ranges as text, and the case in a range name.

use ncu_rep::NvtxRange;
use ncugate_model::{ShapeName, VariantId};

/// NVTX ranges in one line: `name` or `domain@name`, outermost first, separated by ` > `.
#[must_use]
pub fn nvtx_text(ranges: &[NvtxRange<'_>]) -> String {
    let names = ranges.iter().map(|range| match range.domain.as_ref() {
        "" | "<default domain>" => range.name.to_string(),
        domain => format!("{domain}@{}", range.name),
    });
    names.collect::<Vec<_>>().join(" > ")
}

/// The case named by the innermost range of the form `<variant>@<shape>`.
pub fn case_of(ranges: &str) -> Option<(VariantId, ShapeName)> {
    ranges.rsplit(" > ").find_map(|range| {
        // ncu keeps the terminating NUL of a wide string as part of the name.
        let (variant, shape) = range.trim_end_matches('\0').rsplit_once('@')?;
        Some((VariantId(variant.into()), ShapeName(shape.into())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_range_that_names_a_case_counts() {
        let (variant, shape) = case_of("step > REGCAP=64,T=128@mission").unwrap();
        assert_eq!((variant.0.as_str(), shape.0.as_str()), ("REGCAP=64,T=128", "mission"));
        assert_eq!(case_of("flash@small\0").unwrap().1.0, "small");
        assert_eq!(case_of("warm-up"), None);
    }
}
