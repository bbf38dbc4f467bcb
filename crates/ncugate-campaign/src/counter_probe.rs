//! Counts one counter of one kernel, to test whether counters can be read here.

use super::tools::worker;
use ncugate_judge::store::open_report;
use ncugate_model::disk::scratch_folder;
use ncugate_ncu::{Job, Knobs, LaunchSelection, Ncu, Processes, ProfileDetail, Runner};
use std::path::Path;
use std::time::Duration;

/// The counter: every chip has it, it needs one pass, and it requires the permission.
const COUNTER: &str = "smsp__inst_executed.sum";
/// ncu starts in seconds; this limit catches one that hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Counts the instructions of one launch of this program's copy kernel.
///
/// # Errors
/// Why counting failed, in words.
pub fn count_once(ncu: &Ncu) -> Result<f64, String> {
    let scratch = scratch_folder(None).map_err(|e| e.to_string())?;
    let place = scratch.join(format!("probe-{}", std::process::id()));
    std::fs::create_dir(&place).map_err(|e| format!("cannot create {}: {e}", place.display()))?;
    let counted = count_in(ncu, &place, &scratch);
    // The folder was created above; leftovers do no harm.
    let _ = std::fs::remove_dir_all(&place);
    counted
}

/// Counts with files in `place`.
fn count_in(ncu: &Ncu, place: &Path, scratch: &Path) -> Result<f64, String> {
    let mut target = worker().map_err(|e| e.to_string())?.command();
    target.arg("--launch");
    let runner = Runner {
        ncu,
        reports: place,
        logs: place,
        scratch,
        timeout: LIMIT,
        prefix: "",
        knobs: Knobs::default(),
        prestarted: None,
    };
    let ran = runner
        .run(&Job {
            stem: "probe",
            metrics: &[COUNTER.to_owned()],
            detail: ProfileDetail::Counters,
            target: &target,
            selection: &LaunchSelection::Everything,
            processes: Processes::Application,
        })
        .map_err(|e| e.to_string())?;
    match (&ran.failure, &ran.report) {
        (Some(failure), _) => Err(ran.explain(failure)),
        (None, None) => Err(format!("ncu {} without writing a report", ran.ending)),
        (None, Some(report)) => counted(report),
    }
}

fn counted(report: &Path) -> Result<f64, String> {
    let report = open_report(report).map_err(|e| e.to_string())?;
    let launch = report.launches().next().ok_or("ncu's report has no launch")?;
    let value = launch.metric(COUNTER).map_err(|e| e.to_string())?.and_then(|value| value.as_f64());
    let count = value.filter(|count| count.is_finite() && *count > 0.0);
    count.ok_or_else(|| format!("ncu's report has no `{COUNTER}` for the launch"))
}
