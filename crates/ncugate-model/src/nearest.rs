//! Suggestions for misspelled names.

/// Whether a word is another one with a typing error.
pub fn is_near(typed: &str, word: &str) -> bool {
    strsim::jaro_winkler(typed, word) > 0.93
}

/// The candidate most similar to `name`, if one is near enough to suggest.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|c| (strsim::jaro_winkler(name, c), c))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}
