//! NVTX ranges as text.

/// NVTX ranges in one line: `name` or `domain@name`, outermost first, separated by ` > `.
pub fn nvtx_text(ranges: &[ncu_rep::NvtxRange<'_>]) -> String {
    let names = ranges.iter().map(|range| match range.domain.as_ref() {
        "" | "<default domain>" => range.name.to_string(),
        domain => format!("{domain}@{}", range.name),
    });
    names.collect::<Vec<_>>().join(" > ")
}
