//! `ncugate tools occupancy`: the number of blocks per SM, and the change for one more.

use super::{CommandError, print, refuse};
use crate::cli::OccupancyArgs;
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_model::ComputeCapability;
use ncugate_model::occupancy::{Chip, Demand};
use ncugate_report::occupancy_table::occupancy_answer;
use std::collections::BTreeMap;

/// Ends the error of a word.
const HINT: &str = "write `cc=9.0 registers=96 block=192 smem=48KiB`";

/// Prints the occupancy for the given resources.
pub fn occupancy(args: &OccupancyArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let (mut capability, mut is_oversized, mut numbers) = (None, false, BTreeMap::new());
    for word in &args.resources {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let kibibytes = value.strip_suffix("KiB").and_then(|number| number.parse::<u32>().ok()?.checked_mul(1024));
        let is_new = match (key, kibibytes.or_else(|| value.parse().ok())) {
            ("registers", Some(number @ 0..=255))
            | ("block", Some(number @ 1..=1024))
            | ("smem", Some(number @ 0..=1_048_576)) => numbers.insert(key, number).is_none(),
            ("cc", _) => value
                .split_once('.')
                .and_then(|(major, minor)| Some(ComputeCapability::new(major.parse().ok()?, minor.parse().ok()?)))
                .is_some_and(|parsed| capability.replace(parsed).is_none()),
            ("oversized", None) if word == key => !std::mem::replace(&mut is_oversized, true),
            _ => false,
        };
        refuse(!is_new, &format!("`{word}` is unknown, out of range or repeated; {HINT}"))?;
    }
    let missing = |key: &str| CommandError::Usage(format!("`{key}` is missing; {HINT}"));
    let number = |key: &str| numbers.get(key).copied().ok_or_else(|| missing(key));
    let capability = capability.ok_or_else(|| missing("cc"))?;
    let lacks = |what: &str| CommandError::Usage(format!("compute capability {capability} has no {what}"));
    let chip = Chip::of(capability).ok_or_else(|| lacks("known limits"))?;
    let oversized = || chip.oversized().ok_or_else(|| lacks("oversized shared memory"));
    let chip = if is_oversized { oversized()? } else { chip };
    let demand = Demand {
        registers: number("registers")?,
        static_shared: number("smem").unwrap_or(0),
        dynamic_shared: 0,
        threads: number("block")?,
        // `__syncthreads`
        barriers: 1,
    };
    let answer = occupancy_answer(&chip, &demand);
    print::value(&answer, || answer.document(&chip), args.format, out)?;
    Ok(Outcome::Passed)
}
