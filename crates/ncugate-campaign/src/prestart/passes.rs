//! Measures the number of replay passes that counters need while variants build. The measurement uses this program's
//! copy kernel, because passes depend on chip, driver and ncu, and not on the kernel.

use crate::counter_collection::book;
use crate::targets::replay_passes;
use crate::tools::Tools;
use ncu_rep::Report;
use ncugate_cuda::host::WorkerCommand;
use ncugate_model::{ShapeName, VariantId};
use ncugate_ncu::{
    Contents, Effort, LaunchExpectation, LaunchSelection, Ncu, PROBES, Processes, ProfiledCase, ProfiledMetrics,
    Profiler, ReportReader, Runner, Subject, Target, plan_groups,
};
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// ncu starts in seconds; one that hangs gets less time than in a run.
const LIMIT: Duration = Duration::from_secs(60);

/// Whether planning `launches` of these counters requires measuring passes on the chip.
pub(super) fn are_unknown(ncu: &Ncu, tools: &Tools, counters: &[String], launches: usize) -> bool {
    let mut asked = |_: &[String]| Err(());
    plan_groups(counters, Effort { launches, probes: PROBES }, &mut asked, &mut book(ncu, &tools.device)).is_err()
}

/// Measures the passes on the chip and stores them for the run's planning. A failure is reported when the run
/// collects counters.
pub(super) fn find(runner: Runner<'_>, tools: &Tools, counters: &[String], launches: usize) {
    let target = CopyKernel(tools.worker.clone());
    let subject = Subject {
        cases: vec![(VariantId("copy".into()), ShapeName("one launch".into()))],
        target: &target,
        selection: LaunchSelection::Everything,
        processes: Processes::Application,
        expect: LaunchExpectation::exactly(1),
    };
    let (covered, runner) = (ProfiledMetrics::default(), Runner { timeout: runner.timeout.min(LIMIT), ..runner });
    let _ = Profiler::new(runner, &SingleCaseReader, &covered).find_passes(
        &subject,
        counters,
        launches,
        &mut book(runner.ncu, &tools.device),
    );
}

/// Our worker, launching its copy kernel once.
struct CopyKernel(WorkerCommand);

impl Target for CopyKernel {
    fn command(&self, _: &[ProfiledCase]) -> io::Result<Command> {
        let mut command = self.0.command();
        command.arg("--launch");
        Ok(command)
    }
}

/// Every launch of a report belongs to the only case.
struct SingleCaseReader;

impl ReportReader for SingleCaseReader {
    fn read(&self, report: &Path, _: &str, cases: &[ProfiledCase]) -> Result<Contents, String> {
        let report = Report::open(report).map_err(|e| e.to_string())?;
        let mut contents = Contents::default();
        for launch in report.launches() {
            for case in cases {
                *contents.launches.entry(case.clone()).or_default() += 1;
            }
            contents.passes = contents.passes.max(replay_passes(&launch)?);
        }
        Ok(contents)
    }
}
