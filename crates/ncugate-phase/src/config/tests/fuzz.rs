//! No text makes the reader or the planner panic, and every error can be rendered.

use super::read;
use crate::plan::unroll;
use proptest::prelude::*;

const PHASE_D: &str = include_str!("../../../../../configs/phase_d.toml");

/// Reads, unrolls and renders any text.
fn survive(text: &str) {
    match read(text) {
        Ok(phase) => {
            if let Err(errors) = unroll(&phase) {
                assert!(!errors.to_string().is_empty());
            }
        }
        Err(errors) => {
            assert!(!errors.problems().is_empty());
            assert!(!errors.render(true).is_empty());
        }
    }
}

/// The start of a character at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn text_with_a_piece_replaced(at in 0..PHASE_D.len(), length in 0..40_usize, piece in "[ -~\\n]{0,12}|\\PC{0,4}") {
        let (start, end) = (boundary(PHASE_D, at), boundary(PHASE_D, at + length));
        survive(&format!("{}{piece}{}", &PHASE_D[..start], &PHASE_D[end.max(start)..]));
    }

    #[test]
    fn text_with_a_value_replaced(
        line in 0..PHASE_D.lines().count(),
        value in prop_oneof![
            Just("0".to_owned()), Just("-1".to_owned()), Just("[]".to_owned()), Just("{}".to_owned()),
            Just("[[[1]]]".to_owned()), Just("nan".to_owned()), Just("9223372036854775807".to_owned()),
            Just("1979-05-27".to_owned()), Just("\"\"".to_owned()), Just("[{}]".to_owned()), "\"[ -!#-\\[\\]-~]{0,12}\"",
        ],
    ) {
        let replaced: Vec<String> = PHASE_D
            .lines()
            .enumerate()
            .map(|(at, text)| match text.split_once('=') {
                Some((key, _)) if at == line && !text.starts_with('#') => format!("{key}= {value}"),
                _ => text.to_owned(),
            })
            .collect();
        survive(&replaced.join("\n"));
    }

    #[test]
    fn cut_text(at in 0..PHASE_D.len()) {
        survive(&PHASE_D[..boundary(PHASE_D, at)]);
    }

    #[test]
    fn any_text(text in "\\PC{0,80}") {
        survive(&text);
    }

    #[test]
    fn any_requirement(text in "[a-z_. <>=!()\"'0-9\\[\\]andort]{0,40}|\\PC{0,30}") {
        if let Ok(requirement) = ncugate_model::expr::Requirement::parse(&text) {
            prop_assert_ne!(requirement.reads(), ncugate_model::expr::Reads::default());
        }
    }
}
