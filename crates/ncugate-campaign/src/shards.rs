//! Measures a phase on several GPUs of this machine: this program measures a shard on each, and the shards are merged as
//! those of a cluster are.

use super::gpu_choice::ChosenGpu;
use super::live_run::{LiveError, LiveRun, ResumePolicy};
use super::manifest::{measured_manifest, shard_manifest};
use super::{CampaignError, GpuWait};
use jiff::Timestamp;
use ncugate_cuda::build::Deduplication;
use ncugate_judge::store::{self, Continuation, Fingerprint, MergeChoice};
use ncugate_model::number::counted;
use ncugate_model::process::{self, ProcessExit, VISIBLE_GPUS};
use ncugate_phase::plan::{Shard, reference_plan};
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;
use std::time::Duration;

/// A shard that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);

impl LiveRun<'_> {
    /// Measures a shard on each GPU that the user chose, and merges them into an unfinished run, which
    /// [`LiveRun::measure`] continues on the first. Does nothing if there is such a run, or only one GPU. Returns how
    /// that measurement starts.
    ///
    /// # Errors
    /// A shard was not measured, or the shards cannot be merged; those that were measured are kept.
    pub fn measure_shards(&self, reports: &Path) -> Result<ResumePolicy, LiveError> {
        let count = match (self.tools.gpus.len(), self.shards()) {
            (0 | 1, _) => return Ok(self.start),
            (gpus, Err(why)) => {
                self.progress.say(&format!("measuring on the first of {gpus} GPUs: {why}"));
                return Ok(self.start);
            }
            (_, Ok(count)) => count,
        };
        let io = |what| move |source| CampaignError::Io { what, source };
        if self.start == ResumePolicy::Continue {
            let fresh = measured_manifest(self.phase, self.plan, self.tools.fingerprint());
            if let Continuation::Of(_) = store::unfinished(self.profiles, &fresh, self.phase, self.plan) {
                return Ok(self.start);
            }
        }
        // A new folder: a checkout could bring shards that nobody measured here.
        let home = absolute(self.profiles.join(&self.phase.name)).map_err(io("find the folder of the shards"))?;
        fs::create_dir_all(&home).map_err(io("make the folder of the shards"))?;
        let mut folder =
            tempfile::Builder::new().prefix("shards-").tempdir_in(home).map_err(io("make the folder of the shards"))?;
        self.progress.stage(&format!("measure {}", counted(count as usize, "shard")), count as usize);
        let measured: Result<Vec<PathBuf>, CampaignError> = std::thread::scope(|scope| {
            let start = |(index, gpu)| {
                let (shard, profiles) = (Shard { index, count }, folder.path().join(index.to_string()));
                scope.spawn(move || self.shard(shard, gpu, &profiles, reports))
            };
            let working: Vec<_> = (1..=count).zip(&self.tools.gpus).map(start).collect();
            let ended = working.into_iter().map(|shard| shard.join().unwrap_or(Err(CampaignError::Interrupted)));
            ended.collect::<Vec<_>>().into_iter().collect()
        });
        let merge =
            |shards: Vec<PathBuf>| Ok(store::merge(&shards, self.profiles, MergeChoice::All, Timestamp::now())?);
        let merged = measured.map_err(LiveError::from).and_then(merge).inspect_err(|_| {
            self.progress.say(&format!(
                "the shards that were measured are in {}; `ncugate run --shard` and `ncugate cluster merge` use them",
                folder.path().display()
            ));
            folder.disable_cleanup(true);
        })?;
        merged.warnings.iter().for_each(|warning| self.progress.say(warning));
        folder.close().map_err(io("remove the shards"))?;
        Ok(ResumePolicy::Continue)
    }

    /// The number of shards: one for each GPU, but no more than leave each a candidate; or why the phase is not split.
    fn shards(&self) -> Result<u32, &'static str> {
        let parts = |count: u32| (1..=count).map(move |index| self.plan.shard(Shard { index, count }));
        let is_split = |count: &u32| parts(*count).all(|part| part.candidates().next().is_some());
        let count = (2..=self.tools.gpus.len() as u32).rev().find(is_split);
        let reference = reference_plan(self.phase, self.plan);
        match count {
            _ if self.narrowed.is_some() => Err("a part of a phase is not split"),
            _ if self.phase.base.is_some() => Err("a phase with a base is not split"),
            _ if self.phase.search.is_some() => Err("a search chooses its candidates on one GPU"),
            None => Err("the phase has too few candidates to split"),
            Some(count) if parts(count).any(|part| reference_plan(self.phase, &part) != reference) => {
                Err("the flags of the phase's reference depend on swept parameters")
            }
            Some(count) => Ok(count),
        }
    }

    /// The folder of a shard, which this program measures on a GPU.
    fn shard(&self, shard: Shard, gpu: &ChosenGpu, profiles: &Path, reports: &Path) -> Result<PathBuf, CampaignError> {
        let fingerprint = Fingerprint { machine: gpu.machine.clone(), ..self.tools.fingerprint() };
        let (fresh, plan) = (shard_manifest(self.phase, self.plan, shard, fingerprint), self.plan.shard(shard));
        let complete = || store::complete(profiles, &fresh, self.phase, &plan);
        let io = |what| move |source| CampaignError::Io { what, source };
        let program = std::env::current_exe().map_err(io("find this program"))?;
        let mut command = Command::new(program);
        command.arg("run").arg(absolute(&self.phase.file).map_err(io("find the phase"))?);
        command.args(["--source", "gpu", "--shard", &shard.to_string(), "--profiles"]).arg(profiles);
        command.arg("--reports").arg(reports).env(VISIBLE_GPUS, &gpu.name);
        if self.sharing == Deduplication::Each {
            command.arg("--no-share");
        }
        if let GpuWait::Limited(limit) = self.patience {
            command.args(["--wait", &limit.as_secs().to_string()]);
        }
        let tools: Vec<&str> = self.phase.check.sanitize.iter().map(|tool| tool.as_str()).collect();
        if !tools.is_empty() {
            command.arg(format!("--sanitize={}", tools.join(",")));
        }
        let output = process::run(&mut command, LIMIT).map_err(io("run this program"))?;
        self.progress.step(&format!("shard {shard}"));
        match (output.ending, complete()) {
            (_, Some(folder)) => Ok(folder),
            (ProcessExit::Interrupted, None) => Err(CampaignError::Interrupted),
            (ending, None) => {
                let said = output.stderr.lines().rev().find(|line| !line.trim().is_empty());
                let said = said.map_or_else(|| format!("it {ending}"), |line| line.trim().to_owned());
                Err(CampaignError::Shard { shard: shard.to_string(), gpu: gpu.name.clone(), said })
            }
        }
    }
}
