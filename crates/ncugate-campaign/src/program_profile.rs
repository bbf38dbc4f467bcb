//! Counts the launches of any program: it runs once under ncu, and the report is kept.

use super::error::CampaignError;
use super::gpu_turn::{GpuTurn, GpuWait};
use super::progress::Progress;
use super::tools::device;
use ncu_rep::{Report, ReportError};
use ncugate_model::ComputeCapability;
use ncugate_model::disk::{Durability, replace, scratch_folder};
use ncugate_model::metric::{Catalogue, MetricError};
use ncugate_model::number::counted;
use ncugate_ncu::{Job, Knobs, LaunchSelection, Ncu, Processes, ProfileDetail, Runner};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A program to profile, and what to count.
#[derive(Debug)]
pub struct ProgramProfile<'a> {
    pub program: &'a Command,
    /// Names of the catalogue, or ncu's own.
    pub metrics: &'a [String],
    /// Names of NVTX push/pop ranges; all launches without one.
    pub ranges: &'a [String],
    /// Time limit of the program under ncu.
    pub timeout: Duration,
    /// The report to write.
    pub output: &'a Path,
}

/// Why a program was not profiled.
#[derive(Debug, thiserror::Error)]
pub enum ProgramProfileError {
    /// A metric is unknown, or this GPU has no counter for it.
    #[error("--metric: {0}")]
    Metric(#[from] MetricError),
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// ncu failed, or the program under it.
    #[error("no report: {reason}")]
    NoReport { reason: String },
    /// The program or ncu failed after launches were counted.
    #[error("{reason}; the report has {} until then: {}", counted(*launches, "launch"), kept.display())]
    Incomplete { reason: String, launches: usize, kept: PathBuf },
    /// ncu's file is damaged, or of an unknown form.
    #[error("{reason}; ncu's file is kept as {}", kept.display())]
    Unreadable {
        reason: String,
        kept: PathBuf,
        /// Why it cannot be read.
        source: ReportError,
    },
    #[error("cannot write {}; ncu's report is kept as {}", path.display(), kept.display())]
    Write {
        path: PathBuf,
        kept: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
}

impl ProgramProfile<'_> {
    /// Waits for the GPU, runs the program, and writes the report. The report of a program that failed is kept too, but
    /// does not replace an earlier one.
    ///
    /// # Errors
    /// There is no GPU or ncu, a metric is unknown, the program failed, or ncu gives no report.
    pub fn take(&self, wait: GpuWait, progress: &(dyn Progress + Sync)) -> Result<(), ProgramProfileError> {
        let device = device()?.map_err(|reason| CampaignError::NoGpu { reason })?;
        let metrics = counters(self.metrics, device.compute_capability)?;
        let ncu = Ncu::find(None).map_err(CampaignError::from)?;
        let turn = GpuTurn::new(&device, wait, progress);
        turn.take()?;
        let io = |source| CampaignError::Io { what: "create a folder for ncu", source };
        let scratch = scratch_folder(device.uuid.as_deref()).map_err(io)?;
        let place = scratch.join(format!("program-{}", std::process::id()));
        std::fs::create_dir(&place).map_err(io)?;
        let taken = self.run(&ncu, &metrics, (&place, &scratch));
        if !matches!(taken, Err(ProgramProfileError::Write { .. })) {
            // The folder was created above; leftovers do no harm.
            let _ = std::fs::remove_dir_all(&place);
        }
        taken
    }

    fn run(&self, ncu: &Ncu, metrics: &[String], (place, scratch): (&Path, &Path)) -> Result<(), ProgramProfileError> {
        let runner = Runner {
            ncu,
            reports: place,
            logs: place,
            scratch,
            timeout: self.timeout,
            prefix: "",
            knobs: Knobs::default(),
            prestarted: None,
        };
        let selection = match self.ranges {
            [] => LaunchSelection::Everything,
            ranges => LaunchSelection::Ranges(ranges.to_vec()),
        };
        let job = Job {
            stem: "program",
            metrics,
            detail: ProfileDetail::Counters,
            target: self.program,
            selection: &selection,
            processes: Processes::All,
        };
        let no_report = |reason: String| ProgramProfileError::NoReport { reason };
        let ran = runner.run(&job).map_err(|error| no_report(error.to_string()))?;
        let failure = ran.failure.as_ref().map(|failure| ran.explain(failure));
        let Some(report) = &ran.report else {
            return Err(no_report(failure.unwrap_or_else(|| format!("ncu {} without writing one", ran.ending))));
        };
        let launches = Report::open(report).map(|report| report.launches().len());
        match (failure, launches) {
            (None, Ok(1..)) => self.keep(report, self.output),
            (failure, Ok(0)) => {
                Err(no_report(failure.unwrap_or_else(|| format!("ncu {}, and its report has no launch", ran.ending))))
            }
            (Some(reason), Ok(launches)) => {
                let kept = unused(self.output);
                self.keep(report, &kept)?;
                Err(ProgramProfileError::Incomplete { reason, launches, kept })
            }
            (failure, Err(source)) => {
                let kept = unused(self.output);
                self.keep(report, &kept)?;
                let reason = failure.unwrap_or_else(|| "the report cannot be read".to_owned());
                Err(ProgramProfileError::Unreadable { reason, kept, source })
            }
        }
    }

    fn keep(&self, report: &Path, output: &Path) -> Result<(), ProgramProfileError> {
        let bytes = std::fs::read(report);
        bytes
            .and_then(|bytes| replace(output, &bytes, Durability::Synced))
            .map_err(|source| ProgramProfileError::Write { path: output.to_owned(), kept: report.to_owned(), source })
    }
}

/// The path, or if it is in use the first of `<stem>-1.<extension>`, `<stem>-2.<extension>`, ... that is not.
fn unused(path: &Path) -> PathBuf {
    let is_unused = |path: &PathBuf| path.symlink_metadata().is_err();
    let numbered = |number: u32| {
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{number}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    };
    std::iter::once(path.to_owned()).chain((1..).map(numbered)).find(is_unused).unwrap_or_else(|| path.to_owned())
}

/// ncu's names of metrics, each once.
fn counters(metrics: &[String], capability: ComputeCapability) -> Result<Vec<String>, MetricError> {
    let mut names: Vec<String> = Vec::new();
    for metric in metrics {
        let definition = Catalogue::embedded().definition(metric, Some(capability))?;
        let own = definition.metrics().into_iter().map(str::to_owned);
        for name in own {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_the_catalogue_and_of_ncu_become_counters() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            counters(&names, ComputeCapability::new(9, 0)).map_err(|error| error.to_string())
        };
        assert_eq!(of(&["duration", "gpu__time_duration.sum"]).unwrap(), ["gpu__time_duration.sum"]);
        assert_eq!(of(&["dram_bytes"]).unwrap(), ["dram__bytes.sum"]);
        assert!(of(&["achieved_ocupancy"]).unwrap_err().contains("did you mean `achieved_occupancy`?"));
        assert!(of(&["latency_p50"]).is_err(), "not a counter");
    }
}
