//! The clocks at which ncu measured times.

use ncu_rep::Session;

/// First version of ncu that locks clocks to boost, and last one that is known to lock them to base.
const BOOST: (u32, u32) = (2026, 1);
const BASE: (u32, u32) = (2025, 3);

/// `clocks locked to base (ncu's default)`; none if the report has no command line.
pub fn clock_control(session: &Session) -> Option<String> {
    let asked =
        session.clock_control().filter(|mode| mode.chars().all(|one| one.is_ascii_alphanumeric() || one == '-'));
    match (asked, session.command_line.is_empty()) {
        (Some("none"), _) => Some("clocks not locked".to_owned()),
        (Some(mode), _) => Some(format!("clocks locked to {mode}")),
        (None, true) => None,
        (None, false) => Some(match version(session) {
            Some(version) if version >= BOOST => "clocks locked to boost (ncu's default)".to_owned(),
            Some(version) if version <= BASE => "clocks locked to base (ncu's default)".to_owned(),
            _ => "clocks locked by ncu's default".to_owned(),
        }),
    }
}

/// Year and release of ncu.
fn version(session: &Session) -> Option<(u32, u32)> {
    let mut parts = session.ncu_version()?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncu_rep::ToolVersion;

    #[test]
    fn the_default_depends_on_the_version() {
        let clocks = |version: &str, command_line: &str| {
            let version = ToolVersion { provider: "Nsight Compute Target".to_owned(), version: version.to_owned() };
            let command_line = command_line.to_owned();
            clock_control(&Session { versions: vec![version], command_line, ..Session::default() }).unwrap_or_default()
        };
        assert_eq!(clocks("2025.3.1.0 (build 1)", "ncu ./a"), "clocks locked to base (ncu's default)");
        assert_eq!(clocks("2026.1.0.0", "ncu ./a"), "clocks locked to boost (ncu's default)");
        assert_eq!(clocks("2025.4.0.0", "ncu ./a"), "clocks locked by ncu's default");
        assert_eq!(clocks("2025.3.1.0", "ncu --clock-control none ./a"), "clocks not locked");
        assert_eq!(clocks("2025.3.1.0", "ncu --clock-control=boost ./a"), "clocks locked to boost");
        assert_eq!(clocks("2025.3.1.0", ""), "");
    }
}
