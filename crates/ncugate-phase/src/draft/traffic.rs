//! A formula for the minimum bytes that a launch moves: every input read once, every output written once.

/// A buffer in the formula.
#[derive(Debug, Clone)]
pub struct MovedBuffer<'a> {
    /// Bytes of an element.
    pub size: usize,
    /// Extents, as expressions; empty for one element.
    pub shape: &'a [String],
    /// Number of transfers: 2 for a buffer that is read and written.
    pub times: usize,
}

/// `8 * M * K + 4 * K * N`; none without a buffer. Buffers of the same extents are one term.
pub fn moved_bytes<'a>(buffers: impl IntoIterator<Item = MovedBuffer<'a>>) -> Option<String> {
    let mut terms: Vec<(String, usize)> = Vec::new();
    for buffer in buffers {
        let factor = |extent: &String| {
            let is_product = extent.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '*'));
            if is_product { extent.clone() } else { format!("({extent})") }
        };
        let extents: Vec<String> = buffer.shape.iter().filter(|extent| *extent != "1").map(factor).collect();
        let (extents, bytes) = (extents.join(" * "), buffer.size * buffer.times);
        match terms.iter_mut().find(|(known, _)| *known == extents) {
            Some((_, sum)) => *sum += bytes,
            None => terms.push((extents, bytes)),
        }
    }
    let term = |(extents, bytes): &(String, usize)| match extents.as_str() {
        "" => bytes.to_string(),
        extents => format!("{bytes} * {extents}"),
    };
    (!terms.is_empty()).then(|| terms.iter().map(term).collect::<Vec<_>>().join(" + "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_extents_are_one_term_and_sums_are_in_brackets() {
        let shapes = [vec!["M".to_owned(), "4 * K".to_owned()], vec!["1".to_owned()], vec!["N + 1".to_owned()]];
        let of = |at: usize, size, times| MovedBuffer { size, shape: &shapes[at], times };
        let formula = moved_bytes([of(0, 2, 1), of(0, 4, 2), of(1, 8, 1), of(2, 1, 1)]);
        assert_eq!(formula.as_deref(), Some("10 * M * 4 * K + 8 + 1 * (N + 1)"));
        assert_eq!(moved_bytes([]), None);
    }
}
