//! Globs over ids, limited before they are compiled: the compiler overflows the stack on some long ones.

use globset::{Glob, GlobMatcher};

/// Maximum length of a glob in characters.
const MOST_CHARACTERS: usize = 1000;
/// Maximum number of opening braces in a glob.
const MOST_BRACES: usize = 20;

/// Why a text is not a glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a glob: {reason}")]
pub struct GlobError {
    /// The text, truncated if it is long.
    pub pattern: String,
    pub reason: String,
}

/// A matcher of whole ids, such as `REGCAP=64,*` or `v{1,2}`.
///
/// # Errors
///
/// A pattern that does not parse, one of more than 1,000 characters or with more than 20 opening braces.
pub fn glob(pattern: &str) -> Result<GlobMatcher, GlobError> {
    let reason = if pattern.chars().count() > MOST_CHARACTERS {
        format!("it has more than {MOST_CHARACTERS} characters")
    } else if pattern.matches('{').count() > MOST_BRACES {
        format!("it has more than {MOST_BRACES} opening braces")
    } else {
        match Glob::new(pattern) {
            Ok(glob) => return Ok(glob.compile_matcher()),
            Err(e) => e.kind().to_string(),
        }
    };
    let shown: String = pattern.chars().take(60).collect();
    let pattern = if shown.len() < pattern.len() { shown + "..." } else { shown };
    Err(GlobError { pattern, reason })
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn a_glob_matches_whole_ids() {
        let matcher = glob("REGCAP=64,*").unwrap();
        assert!(matcher.is_match("REGCAP=64,T=1") && !matcher.is_match("X,REGCAP=64,T=1"));
    }

    #[test]
    fn globs_too_large_to_compile_are_refused() {
        let deep = format!("{}a{}", "{".repeat(100_000), "}".repeat(100_000));
        assert!(glob(&deep).unwrap_err().to_string().contains("...` is not a glob: it has more than 1000 characters"));
        let braces = format!("{}a{}", "{".repeat(21), "}".repeat(21));
        assert!(glob(&braces).unwrap_err().reason.contains("20 opening braces"));
        assert!(glob("[a").unwrap_err().to_string().starts_with("`[a` is not a glob: "));
    }
}
