//! A block's use of static shared memory, array by array, from PTX.
//!
//! A kernel over the limit has no cubin, and a cubin under the limit does not name its arrays. PTX has both.

use ncugate_phase::plan::SharedArray;

/// The arrays of `entry` in `ptx`, largest first: arrays declared in its body, and arrays of the module that it names.
pub fn shared_arrays(ptx: &str, entry: &str) -> Vec<SharedArray> {
    let body = body(ptx, entry);
    let mut arrays: Vec<SharedArray> = body.lines().filter_map(declared).map(|(_, array)| array).collect();
    let elsewhere =
        ptx.lines().filter_map(declared).filter(|(symbol, _)| !declares(body, symbol) && names(body, symbol));
    arrays.extend(elsewhere.map(|(_, array)| array));
    arrays.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    arrays
}

/// From the opening to the closing brace of the entry, which stands alone on its line.
fn body<'a>(ptx: &'a str, entry: &str) -> &'a str {
    let header = format!(".entry {entry}(");
    let Some(start) = ptx.find(&header) else { return "" };
    let rest = &ptx[start..];
    &rest[..rest.find("\n}").unwrap_or(rest.len())]
}

/// `.shared .align 4 .b8 _ZZ3bigE6tile_a[32768];`: the symbol and the array. Dynamic arrays (`.extern`) have no size.
fn declared(line: &str) -> Option<(&str, SharedArray)> {
    let line = line.trim().trim_end_matches(';');
    let words: Vec<&str> = line.split_whitespace().collect();
    if line.starts_with(".extern") || !words.contains(&".shared") {
        return None;
    }
    let (last, kind) = (words.last()?, words.get(words.len().checked_sub(2)?)?);
    let bits: u64 = kind.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().ok()?;
    let (symbol, count) = match last.split_once('[') {
        Some((symbol, count)) => (symbol, count.trim_end_matches(']').parse().ok()?),
        None => (*last, 1),
    };
    Some((symbol, SharedArray { name: source_name(symbol).to_owned(), bytes: bits / 8 * count }))
}

fn declares(body: &str, symbol: &str) -> bool {
    body.lines().filter_map(declared).any(|(declared, _)| declared == symbol)
}

fn names(body: &str, symbol: &str) -> bool {
    body.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).any(|word| word == symbol)
}

/// `tile_a` in `_ZZ3bigE6tile_a`: the name at the end of a mangled symbol.
fn source_name(symbol: &str) -> &str {
    if !symbol.starts_with("_Z") {
        return symbol;
    }
    let base = symbol.trim_end_matches(|c: char| c.is_ascii_digit());
    let base = if base.len() < symbol.len() { base.strip_suffix('_').unwrap_or(symbol) } else { symbol };
    [symbol, base].into_iter().find_map(ending_name).unwrap_or(symbol)
}

/// The identifier at the end that follows its own length, after the `E` that ends its function or the `L` of a static.
fn ending_name(symbol: &str) -> Option<&str> {
    (1..symbol.len()).find_map(|at| {
        let (head, name) = symbol.split_at_checked(at)?;
        let digits = head.len() - head.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (before, length) = head.split_at_checked(head.len() - digits)?;
        let length: usize = length.parse().ok()?;
        (before.ends_with(['E', 'L']) && length == name.len()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 9.0
// _ZZ3bigE6tile_a has been demoted
.shared .align 8 .b8 of_module[64];
.shared .align 8 .b8 unused[4096];
.extern .shared .align 16 .b8 dynamic[];
.visible .entry big(
\t.param .u64 big_param_0
)
{
\t.reg .b32 \t%r<10>;
\t// demoted variable
\t.shared .align 1 .b8 _ZZ3bigE5flags[128];
\t.shared .align 4 .b8 _ZZN12_GLOBAL__N_13bigEvE6tile_a_0[32768];
\t.shared .align 4 .u32 _ZZ3bigE5count;
\tmov.u32 \t%r3, of_module;
}
.visible .entry bigger(
)
{
\t.shared .align 1 .b8 _ZZ6biggerE5other[256];
}
";

    #[test]
    fn arrays_of_the_entry_come_largest_first() {
        let found: Vec<_> = shared_arrays(PTX, "big").into_iter().map(|a| (a.name, a.bytes)).collect();
        let expected = [("tile_a", 32768), ("flags", 128), ("of_module", 64), ("count", 4)];
        assert_eq!(found, expected.map(|(name, bytes)| (name.to_owned(), bytes)));
        assert_eq!(shared_arrays(PTX, "bigger").len(), 1);
        assert!(shared_arrays(PTX, "none").is_empty());
    }
}
