//! `ncugate tools occupancy`: the number of blocks per SM, and the change for one more.

use super::{CommandError, print};
use crate::cli::OccupancyArgs;
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_model::ComputeCapability;
use ncugate_model::occupancy::{Chip, Demand};
use ncugate_report::occupancy_table::{occupancy_answer, occupancy_text};

/// Prints the occupancy for the given resources.
pub fn occupancy(args: &OccupancyArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let usage = |message: String| CommandError::Usage(message);
    let parsed = args.cc.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) =
        parsed.ok_or_else(|| usage(format!("--cc is '{}', expected a compute capability such as 9.0", args.cc)))?;
    let chip = Chip::of(ComputeCapability::new(major, minor))
        .ok_or_else(|| usage(format!("the limits of compute capability {} are not known", args.cc)))?;
    let chip = match args.oversized {
        true => chip.oversized().ok_or_else(|| usage(format!("{} has no oversized shared memory", args.cc)))?,
        false => chip,
    };
    let demand = Demand {
        registers: args.registers,
        static_shared: args.smem,
        dynamic_shared: 0,
        threads: args.block,
        // `__syncthreads`
        barriers: 1,
    };
    let answer = occupancy_answer(&chip, &demand);
    print::value(&answer, || occupancy_text(&chip, &answer), args.format, out)?;
    Ok(Outcome::Passed)
}
