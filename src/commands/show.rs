//! `ncugate show`: what is in Nsight Compute reports.

use super::CommandError;
use crate::cli::{RowFormat, ShowArgs};
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_judge::frame::export::ExportLayout;
use ncugate_report::kernels::{self, KernelFilter};
use ncugate_report::show::{self, SheetFormat, ShowContent, ShowRequest};
use ncugate_report::write::replace;
use std::io::{IsTerminal, Write, stdout};
use std::path::Path;

/// Shows what is asked for, or exports it.
pub fn show(args: &ShowArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    if args.html {
        return page(args, out);
    }
    if args.export.is_none() && args.output != Path::new("-") {
        return Err(CommandError::Usage("--output is for --export and --html".to_owned()));
    }
    let inside = args.inside.detail().map(|inside| ShowContent::Inside { inside, format: args.inside.format.into() });
    let shown = match args.export {
        Some(format) => ShowContent::Export {
            format: format.into(),
            layout: if args.wide { ExportLayout::Wide } else { ExportLayout::Long },
            output: args.output.clone(),
        },
        None if args.inside.detail().is_none() && args.inside.format != RowFormat::Text => {
            let needs =
                "--format is for --sources, --source-metrics, --warp-stalls and --disasm; metrics have --export";
            return Err(CommandError::Usage(needs.to_owned()));
        }
        None if args.session => ShowContent::Session,
        None if args.rules => ShowContent::Rules,
        None => ShowContent::Launches,
    };
    let request = ShowRequest {
        reports: args.reports.clone(),
        kernel: args.kernel.clone(),
        nvtx: args.nvtx.clone(),
        metrics: args.metrics.clone(),
        launch: args.launch,
        shown: inside.unwrap_or(shown),
    };
    let is_text = match &request.shown {
        ShowContent::Export { .. } => false,
        ShowContent::Inside { format, .. } => *format == SheetFormat::Text,
        ShowContent::Launches | ShowContent::Session | ShowContent::Rules => true,
    };
    if is_text {
        show::show(&request, out)?
    } else {
        show::show(&request, &mut out.machine())?
    }
    Ok(Outcome::Passed)
}

/// Writes the page over the kernels of one report, or of two.
fn page(args: &ShowArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    let to_output = args.output == Path::new("-");
    if to_output && stdout().is_terminal() {
        return Err(CommandError::Usage("a page is not for a terminal; name a file with --output".to_owned()));
    }
    let filter = KernelFilter { kernel: args.kernel.clone(), nvtx: args.nvtx.clone(), launch: args.launch };
    let page = show::kernels(&args.reports, &filter)?;
    let html = kernels::html(&page)?;
    if to_output {
        out.machine().write_all(html.as_bytes())?;
    } else {
        replace(&args.output, &html)?;
        writeln!(out, "page: {}", args.output.display())?;
    }
    Ok(Outcome::Passed)
}
