//! Latency gates and the samples that judge them, on forged recordings and with the real binary.

use crate::command::{Finished, Place};
use crate::stored::{Stored, wiggle};

const PHASE: &str = concat!(
    include_str!("../data/copy.toml"),
    r#"
[[variant]]
name = "a"
params = { THREADS = 32 }
[[variant]]
name = "b"
params = { THREADS = 64 }
[[baseline]]
name = "base"
params = { THREADS = 128 }
[[gate]]
name = "faster"
require = "latency_p50 <= 0.98 * base.latency_p50"
"#
);

fn gate(place: &Place, text: &str, run: &Stored) -> Finished {
    let folder = run.write(place);
    let config = place.write("phase.toml", text);
    place.run(&["gate", config.to_str().unwrap(), folder.to_str().unwrap()])
}

/// A run in which `a` was lucky: 5 % faster than the baseline during selection.
fn lucky(text: &str) -> Stored {
    Stored::new(text, "r").latency(|id, round| if id.0 == "a" { 9.5 } else { 10.0 } * (1.0 + 0.003 * wiggle(round, 1)))
}

#[test]
fn a_winner_is_not_judged_by_the_samples_that_made_it_win() {
    let swept = gate(&Place::new(), PHASE, &lucky(PHASE).unconfirmed());
    assert_eq!(swept.status, Some(4), "{swept:?}");
    assert!(swept.stdout.contains("not confirmed on fresh samples"), "{}", swept.stdout);

    let slow = lucky(PHASE).confirmed(5, |_, round| 10.0 * (1.0 + 0.003 * wiggle(round, 2)));
    assert_eq!(gate(&Place::new(), PHASE, &slow).status, Some(1), "re-timed, it is not faster");

    let fast = |id: &ncugate_model::VariantId| if id.0 == "a" { 9.5 } else { 10.0 };
    let good = lucky(PHASE).confirmed(5, move |id, round| fast(id) * (1.0 + 0.003 * wiggle(round, id.0.len())));
    assert_eq!(gate(&Place::new(), PHASE, &good).status, Some(0));
}

#[test]
fn a_single_candidate_is_judged_by_the_samples_there_are() {
    let text = PHASE.replace("[[variant]]\nname = \"b\"\nparams = { THREADS = 64 }\n", "");
    assert_eq!(gate(&Place::new(), &text, &lucky(&text).unconfirmed()).status, Some(0));
}

#[test]
fn a_command_in_few_processes_says_nothing_of_how_much_they_differ() {
    let text = PHASE.replace("params = { THREADS = 128 }", "command = [\"true\"]");
    let fast = |id: &ncugate_model::VariantId| if id.0 == "a" { 9.0 } else { 10.0 };
    let run = |processes: u32| {
        let anew =
            move |id: &ncugate_model::VariantId, round: usize| fast(id) * (1.0 + 0.003 * wiggle(round, id.0.len()));
        gate(&Place::new(), &text, &lucky(&text).confirmed(processes, anew))
    };
    for processes in [1, 4] {
        let few = run(processes);
        assert_eq!(few.status, Some(4), "{few:?}");
        assert!(
            few.stdout.split_whitespace().collect::<Vec<_>>().join(" ").contains("needs at least 5"),
            "{}",
            few.stdout
        );
    }
    assert_eq!(run(5).status, Some(0), "{:?}", run(5));
}

/// Runs of before confirmations had several processes are judged by the form that they have.
#[test]
fn a_kernel_confirmed_in_one_process_says_so() {
    let of = |processes: u32| {
        let fast = |id: &ncugate_model::VariantId| if id.0 == "a" { 9.5 } else { 10.0 };
        let anew =
            move |id: &ncugate_model::VariantId, round: usize| fast(id) * (1.0 + 0.003 * wiggle(round, id.0.len()));
        let judged = gate(&Place::new(), PHASE, &lucky(PHASE).confirmed(processes, anew));
        assert_eq!(judged.status, Some(0), "{judged:?}");
        judged.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = "confirmed in 1 process: verdicts on them are valid for this process alone";
    assert!(of(1).contains(said), "{}", of(1));
    assert!(!of(5).contains("valid for"), "{}", of(5));
}

/// All rounds together are 0.3 % inside the limit, but processes differ by 0.4 %.
#[test]
fn a_kernel_whose_processes_differ_by_more_than_its_margin_is_inconclusive() {
    let anew = |id: &ncugate_model::VariantId, round: usize| {
        let shift = [-0.006, -0.003, 0.0, 0.003, 0.006][round / 12];
        if id.0 == "a" {
            9.77 * (1.0 + shift + 0.001 * wiggle(round, 1))
        } else {
            10.0 * (1.0 + 0.001 * wiggle(round, 2))
        }
    };
    let judged = gate(&Place::new(), PHASE, &lucky(PHASE).confirmed(5, anew));
    assert_eq!(judged.status, Some(4), "{judged:?}");
    assert!(judged.stdout.contains("noise between processes"), "{}", judged.stdout);
}
