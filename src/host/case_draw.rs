//! A draw of a case with its right answer, as launches are compared with it.

use crate::model::{Law, Tolerance};
use crate::prove::{
    CaseDraw, CaseInputs, ExpectedOutput, ExpectedOutputError, ReferenceSpec, ShapeSpec, plain_on_host,
};

/// A draw with its right answer, which the tolerance has to tell from what the outputs held before.
pub(super) fn comparable(
    (reference, tolerance): (&ReferenceSpec, &Tolerance),
    shape: &ShapeSpec,
    law: Law,
    (inputs, expected): (CaseInputs, Vec<ExpectedOutput>),
    usual: &[f64],
) -> Result<CaseDraw, ExpectedOutputError> {
    let plain = tolerance.times_error.map(|_| plain_on_host(reference, shape, &inputs.values));
    let plain = plain.transpose()?.flatten();
    // Of the inputs a launch needs the bytes alone; the values of all laws together would take most of the memory.
    let inputs = CaseInputs { bytes: inputs.bytes, values: Vec::new() };
    let draw = CaseDraw::new(law, inputs, expected, usual);
    let draw = match plain {
        Some(plain) => draw.with_plain(shape, &plain),
        None => draw,
    };
    if law != Law::Declared {
        return Ok(draw);
    }
    // Built-in references are put to this test before anything is launched, with more mutants.
    if !matches!(reference, ReferenceSpec::Builtin(_))
        && let Some((buffer, null)) = draw.proves_nothing(shape, tolerance)
    {
        return Err(ExpectedOutputError::ProvesNothing { buffer: buffer.to_owned(), null });
    }
    match draw.unmoved(shape, tolerance) {
        Some(buffer) => Err(ExpectedOutputError::Unmoved { buffer: buffer.to_owned() }),
        None => Ok(draw),
    }
}
