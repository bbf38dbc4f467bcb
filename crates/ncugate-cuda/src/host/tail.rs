//! The part of a process's standard error that goes into the reason of its failure.

const LAST_LINES: usize = 5;
/// Maximum number of characters.
const LAST_CHARACTERS: usize = 600;

/// The last lines of a process's output, on one line.
pub(super) fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let joined = lines[lines.len().saturating_sub(LAST_LINES)..].join(" | ");
    let skip = joined.chars().count().saturating_sub(LAST_CHARACTERS);
    joined.chars().skip(skip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_short_and_on_one_line() {
        assert_eq!(tail("a\n\nb\n"), "a | b");
        assert!(tail(&"x".repeat(5000)).len() <= LAST_CHARACTERS);
    }
}
