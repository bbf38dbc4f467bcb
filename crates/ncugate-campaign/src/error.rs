//! Why a campaign ended early.

use ncugate_cuda::build::BuildError;
use ncugate_cuda::host::external::ExternalError;
use ncugate_cuda::host::{JobError, JobOutcome, MeasureError};
use ncugate_judge::store::StoreError;
use ncugate_ncu::{ProfileError, ToolError};
use std::io;
use std::path::PathBuf;

/// Why a campaign ended early. Everything measured until then is stored.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    #[error("no GPU to measure on: {reason}")]
    NoGpu { reason: String },
    /// A chosen GPU cannot take part.
    #[error("cannot use GPU {wanted}: {why}")]
    NoSuchGpu {
        /// The GPU as the user named it.
        wanted: String,
        why: String,
    },
    /// The chosen GPUs are of different kinds.
    #[error(
        "the GPUs are of different kinds: {unlike}; select one kind with --gpus, or list each kind in `groups` under [machine] for a separate verdict"
    )]
    UnlikeGpus {
        /// Two of them and their kinds.
        unlike: String,
    },
    /// The launches of the plan are those of another GPU.
    #[error("the launches are planned for {planned} SMs, but the GPU has {sms}")]
    UnlikePlan {
        /// The number, or "an unknown number of".
        planned: String,
        sms: u32,
    },
    /// A shard of several GPUs was not measured.
    #[error("shard {shard} on {gpu} was not measured: {said}; run again to continue")]
    Shard {
        shard: String,
        gpu: String,
        /// The end of its output.
        said: String,
    },
    /// nvcc, its cache or the architecture failed.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// ncu is not usable.
    #[error(transparent)]
    Ncu(#[from] ToolError),
    /// Neither nvcc nor ncu is usable.
    #[error("{missing}")]
    NoTools {
        /// Both errors, a line each.
        missing: String,
    },
    /// The workload cannot be turned into a job.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The worker failed.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// An external command failed.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// Profiling failed.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A record cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The reference entry's own source does not build.
    #[error("the reference entry does not build: {message}")]
    Reference {
        /// The compiler output.
        message: String,
    },
    /// Each shard would build a different reference.
    #[error("the phase cannot be split into shards: the flags of its reference depend on swept parameters")]
    Unsharded,
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    Io {
        /// The operation that failed.
        what: &'static str,
        source: io::Error,
    },
    /// Another run measures on the GPU.
    #[error("{gpu} is in use: {holder} measures on it; try again later, or with a longer --wait")]
    GpuBusy { gpu: String, holder: String },
    /// The lock of the GPU cannot be checked.
    #[error("cannot lock the GPU with {}: {source}; remove the file, or set NCUGATE_LOCKS to a folder that all users can write to", path.display())]
    GpuLock {
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The user asked to stop.
    #[error("interrupted; run again to continue")]
    Interrupted,
    /// The user asked to stop a run that also failed.
    #[error("{cause}; the run was also interrupted")]
    FailedAndInterrupted { cause: Box<CampaignError> },
}

impl CampaignError {
    /// The error of a job that the user stopped.
    pub(crate) fn unless_complete(ended: JobOutcome) -> Result<(), Self> {
        match ended {
            JobOutcome::Complete => Ok(()),
            JobOutcome::Interrupted => Err(Self::Interrupted),
        }
    }

    /// The error of a stage during which the user asked to stop.
    #[must_use]
    pub fn interrupted(self) -> Self {
        match self {
            Self::Interrupted
            | Self::Build(BuildError::Interrupted)
            | Self::External(ExternalError::Interrupted)
            | Self::Profile(ProfileError::Interrupted) => Self::Interrupted,
            Self::FailedAndInterrupted { cause } => Self::FailedAndInterrupted { cause },
            cause => Self::FailedAndInterrupted { cause: Box::new(cause) },
        }
    }

    /// The missing part, in a few words.
    pub fn lacking(&self) -> String {
        match self {
            Self::NoGpu { .. } => "no GPU was found".to_owned(),
            other => other.to_string().lines().next().unwrap_or("this machine cannot measure").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_does_not_hide_the_error_of_a_stage() {
        let full = || CampaignError::Io { what: "write a job", source: io::Error::other("no space left on device") };
        let both = full().interrupted();
        assert_eq!(both.to_string(), "cannot write a job: no space left on device; the run was also interrupted");
        assert_eq!(both.interrupted().to_string().matches("interrupted").count(), 1, "stages contain each other");
        for own in [CampaignError::from(BuildError::Interrupted), CampaignError::Interrupted] {
            assert!(matches!(own.interrupted(), CampaignError::Interrupted));
        }
    }
}
