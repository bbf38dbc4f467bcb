//! `ncugate show`: what is in Nsight Compute reports.

use super::CommandError;
use crate::cli::ShowArgs;
use crate::exit::Outcome;
use crate::frame::export::Layout;
use crate::report::show::{self, ShowRequest, Shown};
use std::io::Write;

/// Shows what is asked for, or exports it.
pub fn show(args: &ShowArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let shown = match args.export {
        Some(format) => Shown::Export {
            format: format.into(),
            layout: if args.wide { Layout::Wide } else { Layout::Long },
            output: args.output.clone(),
        },
        None if args.session => Shown::Session,
        None if args.rules => Shown::Rules,
        None => Shown::Launches,
    };
    let request = ShowRequest {
        reports: args.reports.clone(),
        kernel: args.kernel.clone(),
        nvtx: args.nvtx.clone(),
        metrics: args.metrics.clone(),
        launch: args.launch,
        shown,
    };
    show::show(&request, out)?;
    Ok(Outcome::Passed)
}
