//! Where the machine code of a toolchain has more instructions than that of the first one.

use super::cache::MAX_CODE;
use super::message::relative;
use ncugate_model::cubin::{CodePlace, CubinError, instructions_by_line};
use ncugate_model::disk::open;
use ncugate_model::{BuildOutcome, CodeGrowth, EntrySymbols};
use ncugate_phase::plan::{Method, Variant};
use std::collections::BTreeMap;
use std::path::Path;

/// Notes the place that grew the most in a kernel of a variant. Code that cannot be read has none.
pub(super) fn note_growth(outcome: &mut BuildOutcome, first: Option<&BuildOutcome>, variant: &Variant) {
    let BuildOutcome::Built { cubin, code_sha256, symbols, growth, .. } = outcome else { return };
    let Some(BuildOutcome::Built { cubin: before, code_sha256: code, symbols: named, .. }) = first else { return };
    if code_sha256 == code {
        return;
    }
    let counted = |cubin: &Path, symbols: &EntrySymbols| counts(cubin, symbols, variant);
    *growth = counted(before, named).zip(counted(cubin, symbols)).and_then(|(before, after)| largest(&before, &after));
}

/// Instructions of the variant's kernels by line.
fn counts(cubin: &Path, symbols: &EntrySymbols, variant: &Variant) -> Option<BTreeMap<CodePlace, u32>> {
    let Method::Kernel(kernel) = &variant.method else { return None };
    let code = open::named(cubin, MAX_CODE).ok()?;
    let each = kernel.entries().into_iter().map(|entry| instructions_by_line(&code, symbols.of(entry)));
    let each = each.collect::<Result<Vec<_>, CubinError>>().ok()?;
    let mut all = BTreeMap::new();
    each.into_iter()
        .flatten()
        .for_each(|(place, count)| *all.entry(in_source(place, &kernel.source)).or_default() += count);
    Some(all)
}

/// A place without the folder of the checkout that compiled it: cached code can come from another one.
fn in_source(CodePlace { file, line }: CodePlace, source: &Path) -> CodePlace {
    let name = Path::new(&file).file_name();
    let file = if name == source.file_name() { source } else { name.map_or(Path::new(&file), Path::new) };
    CodePlace { file: file.display().to_string(), line }
}

fn largest(before: &BTreeMap<CodePlace, u32>, after: &BTreeMap<CodePlace, u32>) -> Option<CodeGrowth> {
    let grown = after.iter().filter_map(|(place, after)| {
        let before = before.get(place).copied().unwrap_or(0);
        Some((after.checked_sub(before).filter(|by| *by > 0)?, place, before, *after))
    });
    let (_, CodePlace { file, line }, before, after) = grown.max_by_key(|(by, ..)| *by)?;
    let place = if *line == 0 { file.clone() } else { relative(&format!("{file}:{line}")) };
    Some(CodeGrowth { place, before, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_grew_the_most_is_named_among_lines_that_shrank() {
        let lines = |counts: [(u32, u32); 3]| {
            let place = |line| CodePlace { file: "k.cu".to_owned(), line };
            counts.into_iter().map(|(line, count)| (place(line), count)).collect::<BTreeMap<_, _>>()
        };
        let (before, after) = (lines([(1, 9), (2, 5), (3, 1)]), lines([(1, 2), (2, 9), (4, 3)]));
        let grown = CodeGrowth { place: "k.cu:2".to_owned(), before: 5, after: 9 };
        assert_eq!(largest(&before, &after), Some(grown));
        assert_eq!(largest(&before, &lines([(1, 8), (2, 5), (3, 0)])), None);
        let kernel = |count| [(CodePlace { file: "k".to_owned(), line: 0 }, count)].into();
        assert_eq!(largest(&kernel(4), &kernel(6)).unwrap().place, "k", "without a line table");
    }

    #[test]
    fn code_of_another_checkout_has_the_same_lines() {
        let of = |file: &str| in_source(CodePlace { file: file.to_owned(), line: 7 }, Path::new("kernels/k.cu"));
        assert_eq!(of("/one/kernels/k.cu"), of("/two/kernels/k.cu"));
        assert_eq!(of("/one/kernels/k.cu").file, "kernels/k.cu");
        assert_eq!(of("/one/linked.cu").file, "linked.cu");
        assert_eq!(of("entry").file, "entry");
    }
}
