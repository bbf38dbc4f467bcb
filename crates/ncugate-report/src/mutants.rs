//! The verdicts of a tolerance on wrong answers.

use super::document::{Column, DocumentBlock, DocumentTable, TableCell};
use ncugate_model::Differences;
use ncugate_model::MutantKind;
use ncugate_model::MutantOutcome;
use ncugate_model::MutantTable;

/// A row for each mutant and a column for each shape: whether it is accepted, and its distance.
pub fn mutants(mutants: &MutantTable) -> Vec<DocumentBlock> {
    let shapes = mutants.shapes.iter().map(|shape| Column::text(shape.to_string()));
    let columns = ["", "mutant"].map(Column::text).into_iter().chain(shapes).collect();
    let mut table = DocumentTable { is_whole: true, ..DocumentTable::new("Mutants", columns) };
    for (name, standing, cells) in &mutants.rows {
        let lead = [mark(*standing, cells), name].map(TableCell::new);
        table.row(lead.into_iter().chain(cells.iter().map(|cell| TableCell::new(words(cell)))).collect());
    }
    let names: Vec<&str> = mutants.left_out.iter().map(|shape| shape.0.as_str()).collect();
    let left_out = format!("not tried, too much work for the host: {}", names.join(", "));
    let left_out = (!names.is_empty()).then_some(DocumentBlock::Aside(left_out));
    table.block().into_iter().chain(left_out).collect()
}

/// Marks problems: an accepted null answer, a rejected honest answer, and undetected faults.
fn mark(standing: MutantKind, cells: &[MutantOutcome]) -> &'static str {
    let rejected = cells.iter().any(|cell| matches!(cell, MutantOutcome::Rejected { .. }));
    let accepted = cells.iter().any(|cell| matches!(cell, MutantOutcome::Accepted { .. }));
    match standing {
        MutantKind::Honest if rejected => "TOO TIGHT",
        MutantKind::Null if accepted && !rejected => "TOO LOOSE",
        MutantKind::Fault | MutantKind::Null if accepted && !rejected => "accepted",
        MutantKind::Honest => "honest",
        MutantKind::Fault | MutantKind::Null => "",
    }
}

fn words(cell: &MutantOutcome) -> String {
    match cell {
        MutantOutcome::Accepted { differences } => format!("accepted {}", distance(differences)),
        MutantOutcome::Rejected { differences, .. } => format!("rejected {}", distance(differences)),
        MutantOutcome::Equivalent => "the same answer".to_owned(),
    }
}

fn distance(differences: &Differences) -> String {
    let law = differences.law.map_or_else(String::new, |law| format!(" {law}"));
    match differences.nonfinite {
        0 => format!("{:.1e}{law}", differences.max_abs),
        _ => format!("NaN{law}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::terminal_blocks;
    use ncugate_model::{Law, ShapeName};

    #[test]
    fn a_null_that_is_accepted_and_an_honest_answer_that_is_not_stand_out() {
        let differences = Differences { max_abs: 2.4e-4, law: Some(Law::Growing), ..Differences::default() };
        let accepted = || MutantOutcome::Accepted { differences };
        let rejected = || MutantOutcome::Rejected {
            differences: Differences { nonfinite: 2, ..differences },
            reason: String::new(),
        };
        let table = MutantTable {
            shapes: vec![ShapeName("s".into()), ShapeName("l".into())],
            left_out: vec![ShapeName("xl".into())],
            rows: vec![
                ("plain", MutantKind::Honest, vec![accepted(), rejected()]),
                ("zeros", MutantKind::Null, vec![accepted(), MutantOutcome::Equivalent]),
                ("f16 scores", MutantKind::Fault, vec![accepted(), rejected()]),
                ("int8 values", MutantKind::Fault, vec![accepted(), accepted()]),
            ],
        };
        let text = terminal_blocks(&mutants(&table), None);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "mutant       s                        l",
                "TOO TIGHT  plain        accepted 2.4e-4 growing  rejected NaN growing",
                "TOO LOOSE  zeros        accepted 2.4e-4 growing  the same answer",
                "f16 scores   accepted 2.4e-4 growing  rejected NaN growing",
                "accepted   int8 values  accepted 2.4e-4 growing  accepted 2.4e-4 growing",
                "not tried, too much work for the host: xl",
            ]
        );
    }
}
