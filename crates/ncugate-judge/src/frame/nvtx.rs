//! The case in the name of an NVTX range.

use ncugate_model::{ShapeName, VariantId};

/// The cases that ranges of the form `<variant>@<shape>` can name, outermost first. A range that a library opens in its own
/// domain has that form too (`CCCL@cub::DeviceRadixSort::SortKeys`), so the first known case counts.
pub fn cases_of(ranges: &str) -> impl Iterator<Item = (VariantId, ShapeName)> {
    ranges.split(" > ").filter_map(|range| {
        // ncu keeps the terminating NUL of a wide string as part of the name.
        let (variant, shape) = range.trim_end_matches('\0').rsplit_once('@')?;
        Some((VariantId(variant.into()), ShapeName(shape.into())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_name_cases_from_the_outermost_one() {
        let named = |ranges: &str| -> Vec<String> {
            cases_of(ranges).map(|(variant, shape)| format!("{variant} at {shape}")).collect()
        };
        assert_eq!(named("step > REGCAP=64,T=128@mission"), ["REGCAP=64,T=128 at mission"]);
        assert_eq!(named("flash@small\0"), ["flash at small"]);
        assert_eq!(named("warm-up"), Vec::<String>::new());
        let library = "radix@small > CCCL@cub::DeviceRadixSort::SortKeys";
        assert_eq!(named(library), ["radix at small", "CCCL at cub::DeviceRadixSort::SortKeys"]);
    }
}
