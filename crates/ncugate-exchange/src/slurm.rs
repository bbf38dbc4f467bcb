//! A phase on Slurm: an array of shards, and a job that merges and judges them. One script does both.
//!
//! Nothing is scheduled here, and Slurm's accounting is not used, because many clusters run without it. The script records
//! measured shards and the verdict as files in the folder of the submission, on a disk that all nodes share.

use ncugate_campaign::Progress;
use ncugate_model::digest::sha256;
use ncugate_model::disk::{self, Durability, FileLock, LockAttempt, open};
use ncugate_model::number::counted;
use ncugate_model::number::text::{clip, line};
use ncugate_model::process::{self, ProcessExit};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// The script, without the settings of a submission.
const TEMPLATE: &str = include_str!("slurm.sh");
/// Time limit of a command of Slurm.
const LIMIT: Duration = Duration::from_secs(120);
/// Queries in a row without the job and its result until it counts as lost: shared disks show files late.
const LOOKS: u32 = 2;
/// Failures of Slurm in a row until it is given up.
const SILENCES: u32 = 30;
/// Size limit of files read here, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Why a phase cannot be submitted or followed.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// A command cannot be started, or fails.
    #[error("{command}: {reason}")]
    Refused { command: String, reason: String },
    #[error("cannot use {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the script cannot contain `{text}`, which has a control character")]
    Setting { text: String },
    /// A checkout could bring the folder of a submission with its verdict.
    #[error("{} was not made by this user's `ncugate cluster slurm`: remove it, and submit again", folder.display())]
    Foreign { folder: PathBuf },
    #[error("{owner} already follows {}", folder.display())]
    Held { folder: PathBuf, owner: String },
    /// A job has ended without its result.
    #[error("{what}; the output is in {}, and the same command submits what is missing", logs.display())]
    Unfinished { what: String, logs: PathBuf },
    #[error("interrupted: jobs {jobs} were cancelled; the measurements are kept, so repeat the command to continue")]
    Interrupted { jobs: String },
}

/// GPUs, as Slurm writes them: `gpu:8`, `gpu:h200:8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gres {
    pub kind: String,
    pub count: u32,
}

impl FromStr for Gres {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let counted = text.rsplit_once(':').and_then(|(kind, count)| Some((kind, count.parse().ok()?)));
        let (kind, count) = counted.unwrap_or((text, 1));
        let is_plain = !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c));
        match is_plain && count > 0 {
            true => Ok(Self { kind: kind.to_owned(), count }),
            false => Err(format!("`{text}` does not describe GPUs; write gpu:8 or gpu:h200:8")),
        }
    }
}

/// The jobs of a submission by their numbers in Slurm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlurmJobs {
    /// The array; `None` if every shard was measured before.
    shards: Option<u64>,
    judge: u64,
}

impl SlurmJobs {
    fn all(self) -> Vec<String> {
        self.shards.into_iter().chain([self.judge]).map(|job| job.to_string()).collect()
    }
}

/// How a submission ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmissionOutcome {
    pub status: u8,
    /// The standard output of judging.
    pub output: String,
}

/// A submitted phase. Its paths are absolute.
#[derive(Debug)]
pub struct Submission {
    /// The folder of scripts, outputs and shards.
    pub folder: PathBuf,
    pub phase: String,
    pub config: PathBuf,
    /// The folder that paths of the phase are relative to.
    pub root: PathBuf,
    pub program: PathBuf,
    /// The compile cache that all nodes share.
    pub cache: PathBuf,
    pub profiles: PathBuf,
    pub reports: PathBuf,
    pub shards: u32,
    /// Limit on concurrent tasks of the array.
    pub at_once: u32,
    /// Options of sbatch for both jobs.
    pub options: Vec<String>,
}

impl Submission {
    /// The path of its script.
    pub fn script(&self) -> PathBuf {
        self.folder.join("job.sh")
    }

    /// The text of its script.
    ///
    /// # Errors
    /// A path is not UTF-8 text, or has a control character.
    pub fn text(&self) -> Result<String, SlurmError> {
        let paths = [
            ("folder", &self.folder),
            ("config", &self.config),
            ("root", &self.root),
            ("program", &self.program),
            ("cache", &self.cache),
            ("profiles", &self.profiles),
            ("reports", &self.reports),
        ];
        let mut settings = format!("phase={} shards={}", quoted(&self.phase), self.shards);
        for (name, path) in paths {
            let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
            let text = text.ok_or_else(|| SlurmError::Setting { text: line(&path.to_string_lossy()) })?;
            settings += &format!("\n{name}={}", quoted(text));
        }
        Ok(TEMPLATE.replace("@SETTINGS@", &settings))
    }

    /// The arguments of sbatch: for an array of shards, or for the job after it.
    pub fn arguments(&self, shards: &[u32], after: Option<&str>) -> Vec<String> {
        let (name, output) = if shards.is_empty() { ("judge", "%j") } else { ("measure", "%A-%a") };
        let numbers: Vec<String> = shards.iter().map(u32::to_string).collect();
        let array = (!shards.is_empty()).then(|| format!("--array={}%{}", numbers.join(","), self.at_once));
        let mut all = vec!["--parsable".to_owned(), format!("--job-name=ncugate-{}-{name}", self.phase)];
        // A path in --output would have its own `%`.
        all.extend([format!("--chdir={}", self.folder.display()), format!("--output=logs/{name}-{output}.txt")]);
        all.extend(array.into_iter().chain(after.map(|job| format!("--dependency=afterok:{job}"))));
        all.extend(self.options.iter().cloned());
        all.push(self.script().display().to_string());
        all
    }

    /// Submits the shards that are not measured, and the job after them; or finds the jobs of an earlier call, if they are in the
    /// queue or have judged the phase.
    ///
    /// # Errors
    /// Slurm refuses, a file cannot be written, another process follows the submission, or its folder is of another origin.
    pub fn begin(&self, progress: &dyn Progress) -> Result<(SlurmJobs, FileLock), SlurmError> {
        if !self.is_own().map_err(|source| SlurmError::File { path: self.folder.clone(), source })? {
            return Err(SlurmError::Foreign { folder: self.folder.clone() });
        }
        for part in ["logs", "shards", "done"] {
            let path = self.folder.join(part);
            std::fs::create_dir_all(&path).map_err(|source| SlurmError::File { path, source })?;
        }
        let path = self.folder.join("follow.lock");
        let lock = match FileLock::take(&path).map_err(|source| SlurmError::File { path, source })? {
            LockAttempt::Acquired(lock) => lock,
            LockAttempt::HeldBy(owner) => {
                return Err(SlurmError::Held { folder: self.folder.clone(), owner: owner.to_string() });
            }
        };
        let alive = queue()?;
        if let Some(jobs) = self.jobs()? {
            if alive.contains_key(&jobs.judge) || self.verdict(jobs).is_some() {
                progress.say(&format!("following the submission in {}", self.folder.display()));
                return Ok((jobs, lock));
            }
            if jobs.shards.is_some_and(|job| alive.contains_key(&job)) {
                cancel(&jobs.all())?;
            }
        }
        self.write("job.sh", &self.text()?)?;
        let missing = self.missing();
        let shards = (!missing.is_empty()).then(|| self.submit(&missing, None)).transpose()?;
        let judge = match self.submit(&[], shards) {
            Ok(judge) => judge,
            Err(error) => {
                // Nothing would merge its shards.
                cancel(&shards.map(|job| job.to_string()).into_iter().collect::<Vec<_>>())?;
                return Err(error);
            }
        };
        let numbers = SlurmJobs { shards, judge }.all().join(" ");
        self.write("jobs", &numbers)?;
        Ok((SlurmJobs { shards, judge }, lock))
    }

    /// Follows the jobs until the phase is judged.
    ///
    /// # Errors
    /// A job ends without its result, Slurm does not answer, or the user asks to stop: then the jobs are cancelled.
    pub fn follow(&self, jobs: SlurmJobs, progress: &dyn Progress) -> Result<SubmissionOutcome, SlurmError> {
        let (mut gone, mut silent, mut shown) = (0, 0, String::new());
        let start = Instant::now();
        // Short jobs are answered soon, and long ones do not burden Slurm.
        let pause = || process::sleep((start.elapsed() / 10).clamp(Duration::from_secs(1), Duration::from_secs(10)));
        loop {
            if process::interrupted() {
                cancel(&jobs.all())?;
                return Err(SlurmError::Interrupted { jobs: jobs.all().join(", ") });
            }
            let alive = match queue() {
                Ok(alive) => alive,
                Err(_) if silent < SILENCES => {
                    silent += 1;
                    pause();
                    continue;
                }
                Err(error) => return Err(error),
            };
            silent = 0;
            let state = self.state(jobs, &alive);
            if state != shown {
                progress.say(&state);
                shown = state;
            }
            if let Some(outcome) = self.verdict(jobs) {
                // The next submission measures again.
                for path in [self.folder.join("jobs"), self.folder.join("done")] {
                    let removed =
                        if path.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
                    removed.map_err(|source| SlurmError::File { path, source })?;
                }
                return Ok(outcome);
            }
            let waits = jobs.shards.into_iter().chain([jobs.judge]).any(|job| alive.contains_key(&job));
            gone = if waits { 0 } else { gone + 1 };
            if gone >= LOOKS {
                return Err(self.unfinished(jobs));
            }
            pause();
        }
    }

    /// Makes the folder and notes its inode number, which a checkout cannot choose; or compares both, if the folder exists.
    fn is_own(&self) -> io::Result<bool> {
        let state = disk::state_folder().ok_or_else(|| io::Error::other("no home folder for a record of it"))?;
        let notes = state.join("submissions");
        disk::private_folder(&state, &notes)?;
        let note = notes.join(sha256(self.folder.as_os_str().as_encoded_bytes()));
        let is_new = !self.folder.try_exists()?;
        if is_new {
            std::fs::create_dir_all(&self.folder)?;
        }
        let number = std::fs::symlink_metadata(&self.folder)?.ino().to_string();
        if is_new {
            disk::replace(&note, number.as_bytes(), Durability::Synced)?;
        }
        Ok(open::text_if_there(&note, MAX_BYTES)?.is_some_and(|noted| noted == number))
    }

    fn submit(&self, shards: &[u32], after: Option<u64>) -> Result<u64, SlurmError> {
        let after = after.map(|job| job.to_string());
        let said = query(Command::new("sbatch").args(self.arguments(shards, after.as_deref())))?;
        // `id`; in a Slurm federation `id;cluster`.
        let id = said.trim().split(';').next().and_then(|id| id.parse().ok());
        let reason = || format!("it printed no job number: {}", said.trim());
        id.ok_or_else(|| SlurmError::Refused { command: "sbatch".to_owned(), reason: reason() })
    }

    /// The jobs of an earlier call.
    fn jobs(&self) -> Result<Option<SlurmJobs>, SlurmError> {
        let path = self.folder.join("jobs");
        let text = open::text_if_there(&path, MAX_BYTES).map_err(|source| SlurmError::File { path, source })?;
        let numbers: Option<Vec<u64>> =
            text.unwrap_or_default().split_whitespace().map(|number| number.parse().ok()).collect();
        Ok(match numbers.as_deref() {
            Some([judge]) => Some(SlurmJobs { shards: None, judge: *judge }),
            Some([shards, judge]) => Some(SlurmJobs { shards: Some(*shards), judge: *judge }),
            _ => None,
        })
    }

    fn write(&self, name: &str, text: &str) -> Result<(), SlurmError> {
        let path = self.folder.join(name);
        disk::replace(&path, text.as_bytes(), Durability::Synced).map_err(|source| SlurmError::File { path, source })
    }

    /// Shards that are not measured yet.
    fn missing(&self) -> Vec<u32> {
        (1..=self.shards).filter(|shard| !self.folder.join(format!("done/{shard}")).exists()).collect()
    }

    /// The exit status of the last job, once it has ended.
    fn status(&self, jobs: SlurmJobs) -> Option<u8> {
        let bytes = open::bytes(&self.folder.join(format!("status.{}", jobs.judge)), MAX_BYTES).ok()?;
        std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
    }

    /// The result of the last job, if it judged.
    fn verdict(&self, jobs: SlurmJobs) -> Option<SubmissionOutcome> {
        let status = self.status(jobs).filter(|status| [0, 1, 4].contains(status))?;
        let said = open::bytes(&self.folder.join(format!("verdict.{}", jobs.judge)), MAX_BYTES).unwrap_or_default();
        Some(SubmissionOutcome { status, output: String::from_utf8_lossy(&said).into_owned() })
    }

    /// The state of the submission, in a line.
    fn state(&self, jobs: SlurmJobs, alive: &BTreeMap<u64, String>) -> String {
        let measured = self.shards as usize - self.missing().len();
        let named =
            |name: &str, job: u64| format!("; {name} {job}: {}", alive.get(&job).map_or("ended", String::as_str));
        let shards = jobs.shards.map(|job| named("measure", job)).unwrap_or_default();
        format!("{measured} of {} shards measured{shards}{}", self.shards, named("judge", jobs.judge))
    }

    fn unfinished(&self, jobs: SlurmJobs) -> SlurmError {
        let (missing, logs) = (self.missing(), self.folder.join("logs"));
        let (mut what, log) = match (missing.first(), jobs.shards) {
            (Some(first), Some(job)) => {
                let numbers: Vec<String> = missing.iter().take(8).map(u32::to_string).collect();
                let more = if missing.len() > numbers.len() { ", ..." } else { "" };
                let count = counted(missing.len(), "shard");
                (format!("{count} not measured: {}{more}", numbers.join(", ")), format!("measure-{job}-{first}.txt"))
            }
            _ => (format!("job {} has not judged", jobs.judge), format!("judge-{}.txt", jobs.judge)),
        };
        // The last error in the output, else its last line.
        let text = open::end(&logs.join(log), 2000).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let last = text.lines().rev().find(|line| line.contains("error")).or(text.lines().last());
        what += &last.map(|last| format!(" ({})", clip(&line(last), 300))).unwrap_or_default();
        SlurmError::Unfinished { what, logs }
    }
}

/// The user's jobs that have not ended, with their states in words.
fn queue() -> Result<BTreeMap<u64, String>, SlurmError> {
    Ok(listed(&query(Command::new("squeue").args(["--me", "--noheader", "--format=%F|%T|%r"]))?))
}

/// The jobs of a list of `job|STATE|reason`, which has a line for each state of an array.
fn listed(list: &str) -> BTreeMap<u64, String> {
    let mut jobs = BTreeMap::<u64, String>::new();
    for line in list.lines() {
        let mut parts = line.trim().split('|');
        let (Some(id), Some(state)) = (parts.next().and_then(|id| id.parse().ok()), parts.next()) else { continue };
        let reason = parts.next().filter(|why| state == "PENDING" && !["None", "", "Dependency"].contains(why));
        let words = state.to_ascii_lowercase() + &reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let known = jobs.entry(id).or_default();
        if !known.split(", ").any(|other| other == words) {
            *known += if known.is_empty() { "" } else { ", " };
            *known += &words;
        }
    }
    jobs
}

fn cancel(jobs: &[String]) -> Result<(), SlurmError> {
    if jobs.is_empty() { Ok(()) } else { query(Command::new("scancel").args(jobs)).map(drop) }
}

/// Runs a command of Slurm; returns its standard output.
fn query(command: &mut Command) -> Result<String, SlurmError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |reason: String| SlurmError::Refused { command: name.clone(), reason };
    let output = process::run_apart(command, LIMIT).map_err(|error| failed(error.to_string()))?;
    match output.ending {
        ProcessExit::Completed => Ok(output.stdout),
        ending => {
            let said = if output.stderr.trim().is_empty() { &output.stdout } else { &output.stderr };
            Err(failed(format!("it {ending}: {}", said.trim())))
        }
    }
}

/// A text as a word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_has_each_state_of_a_job_once() {
        let jobs = listed("7|RUNNING|None\n7|RUNNING|None\n7|PENDING|Resources\n8|PENDING|Dependency\nslurm: odd\n");
        let jobs: Vec<(u64, &str)> = jobs.iter().map(|(job, state)| (*job, state.as_str())).collect();
        assert_eq!(jobs, [(7, "running, pending (Resources)"), (8, "pending")]);
    }

    #[test]
    fn gpus_are_read_as_slurm_writes_them() {
        for (text, kind, count) in [("gpu", "gpu", 1), ("gpu:8", "gpu", 8), ("gpu:h200:4", "gpu:h200", 4)] {
            assert_eq!(text.parse(), Ok(Gres { kind: kind.to_owned(), count }));
        }
        for wrong in ["", "gpu:0", "gpu:8\n#SBATCH", "gpu: 8"] {
            assert!(wrong.parse::<Gres>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_path_is_one_word_of_the_script_or_refused() {
        let of = |root: &str| {
            let plain = PathBuf::from("/shared");
            let submission = Submission {
                folder: plain.clone(),
                phase: "copy".to_owned(),
                config: plain.clone(),
                root: root.into(),
                program: plain.clone(),
                cache: plain.clone(),
                profiles: plain.clone(),
                reports: plain,
                shards: 2,
                at_once: 1,
                options: Vec::new(),
            };
            submission.text()
        };
        assert!(of("/a b/it's $(x)").unwrap().contains("\nroot='/a b/it'\\''s $(x)'\n"));
        for wrong in ["a\nb", "a\u{1b}[0m"] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }
}
