//! One ncu process, from its output files to its outcome. It judges only how the process ended.

use super::command::{Knobs, NcuSession, Processes, argv, written};
use super::failure::{FailureScope, NcuFailure};
use super::job::Job;
use super::prestarted::{PrestartedSession, PrestartedSessions};
use super::tool::Ncu;
use ncugate_model::REQUEST_VARIABLE;
use ncugate_model::disk::{self, Durability, open};
use ncugate_model::number::text;
use ncugate_model::process::{self, PipedChild, PrestartedChild, ProcessExit, ProcessOutput, RequestPipe};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Number of lines of the target's own output that a failure shows.
const SHOWN_LINES: usize = 3;
/// Start of the lines with which our worker reports to this program.
const EVENT: &str = "{\"event\":";
/// Maximum number of bytes read from a log: more than ncu prints for thousands of launches.
const KEPT: u64 = 16 << 20;

/// Runs sessions with the same ncu, folders and knobs.
#[derive(Debug, Clone, Copy)]
pub struct Runner<'a> {
    pub ncu: &'a Ncu,
    /// Existing folder for reports.
    pub reports: &'a Path,
    /// Existing folder for logs; may be the same.
    pub logs: &'a Path,
    /// [`disk::scratch_folder`].
    pub scratch: &'a Path,
    /// Time limit of one process.
    pub timeout: Duration,
    /// Prefix of all file names, because GPUs that work at the same time share the folders.
    pub prefix: &'a str,
    pub knobs: Knobs,
    /// Sessions that were started before their turn.
    pub prestarted: Option<&'a PrestartedSessions>,
}

/// Outcome of a session.
#[derive(Debug)]
pub struct SessionOutcome {
    pub report: Option<PathBuf>,
    pub ending: ProcessExit,
    pub log: String,
    /// Output of the target, or of ncu apart from its log.
    pub output: String,
    /// Our worker's reports to this program: its standard output, to which nothing that it launches can write.
    pub told: String,
    /// The failure, as far as ncu reports it.
    pub failure: Option<NcuFailure>,
}

impl SessionOutcome {
    /// The failure with the last output lines of the target.
    pub fn explain(&self, failure: &NcuFailure) -> String {
        // Our worker's reports to this program are not for people.
        let is_said = |line: &&str| !line.is_empty() && !line.starts_with("==") && !line.starts_with(EVENT);
        let lines: Vec<&str> = self.output.lines().map(str::trim).filter(is_said).collect();
        let last = lines[lines.len().saturating_sub(SHOWN_LINES)..].iter().map(|line| text::line(line));
        let last = last.collect::<Vec<_>>().join(" | ");
        if last.is_empty() { failure.to_string() } else { format!("{failure}; it printed: {last}") }
    }
}

impl Runner<'_> {
    /// Runs `job` to its end, in its prestarted session if there is one. If ncu cannot be started, the result is a
    /// [`SessionOutcome`] with that failure; an `Err` is a failure of ncugate itself.
    pub fn run(&self, job: &Job) -> io::Result<SessionOutcome> {
        if let Some(prestarted) = self.prestarted.and_then(|prestarted| prestarted.take(job, self.scratch)) {
            let ran = self.employ(prestarted, job);
            // Some external programs cannot read a pipe. A program without a report is therefore started again, with a file,
            // unless every program would fail here.
            let is_final = |ran: &SessionOutcome| {
                let reach = ran.failure.as_ref().map(NcuFailure::reach);
                ran.report.is_some() || reach == Some(FailureScope::Environment)
            };
            if job.processes == Processes::Application || process::interrupted() || ran.as_ref().is_ok_and(is_final) {
                return ran;
            }
        }
        let session = self.session(job)?;
        let mut command = session.command(&self.ncu.path, job.target);
        let child = match spawn(&mut command, job, Some(self.timeout)) {
            Ok(child) => child,
            Err(error) => {
                let failure = Some(NcuFailure::NotStarted { reason: error.to_string() });
                let ending = ProcessExit::NonZero(-1);
                return Ok(SessionOutcome {
                    report: None,
                    ending,
                    log: String::new(),
                    output: String::new(),
                    told: String::new(),
                    failure,
                });
            }
        };
        self.conclude(&session, child.finish()?)
    }

    /// Starts ncu over a program that reads its job from `pipe`, with the metrics, launches and processes of `job`. It then
    /// waits among `prestarted`.
    ///
    /// # Errors
    /// ncu cannot be started; the start at its turn reports why.
    pub fn prestart(&self, prestarted: &PrestartedSessions, job: &Job<'_>, pipe: RequestPipe) -> io::Result<()> {
        let session = self.session(job)?;
        let child = spawn(&mut session.command(&self.ncu.path, job.target), job, None)?;
        prestarted.push(session, PrestartedChild::new(child, pipe), self.timeout);
        Ok(())
    }

    /// The session of a job.
    fn session(&self, job: &Job) -> io::Result<NcuSession> {
        let name = self.free_name(&format!("{}{}", self.prefix, job.stem))?;
        Ok(NcuSession {
            target: argv(job.target),
            metrics: job.metrics.to_vec(),
            detail: job.detail,
            output: std::path::absolute(self.reports.join(&name))?,
            log: std::path::absolute(self.logs.join(format!("{name}.log")))?,
            scratch: self.scratch.to_owned(),
            selection: job.selection.clone(),
            processes: job.processes,
            knobs: self.knobs,
        })
    }

    /// Gives a waiting session the file of `job`'s program, and runs it to its end.
    fn employ(&self, prestarted: PrestartedSession, job: &Job) -> io::Result<SessionOutcome> {
        let PrestartedSession { session, waiting, .. } = prestarted;
        let child = waiting.hand(&fs::read(request_of(job.target))?, self.timeout)?;
        self.conclude(&session, child.finish()?)
    }

    /// Evaluates an ended session.
    fn conclude(&self, session: &NcuSession, ended: ProcessOutput) -> io::Result<SessionOutcome> {
        let ProcessOutput { ending, stdout, stderr } = ended;
        let output = [stdout.as_str(), &stderr].concat();
        // The program can have left a link or a pipe there.
        disk::replace(&session.log.with_extension("out"), output.as_bytes(), Durability::Cached)?;
        let log = read_log(&session.log)?;
        let failure = NcuFailure::diagnose(ending, &format!("{log}\n{}", own_lines(&output)));
        Ok(SessionOutcome { report: written(&session.output, &log), ending, log, output, told: stdout, failure })
    }

    /// `<stem>-<n>` with the first unused n, so that no earlier file is overwritten or mistaken for a new one.
    fn free_name(&self, stem: &str) -> io::Result<String> {
        let mut taken = Vec::new();
        for folder in [self.reports, self.logs] {
            for entry in fs::read_dir(folder)? {
                let name = entry?.file_name().to_string_lossy().into_owned();
                let number = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('-'));
                taken.extend(number.and_then(|n| n.split('.').next()).and_then(|n| n.parse::<u32>().ok()));
            }
        }
        Ok(format!("{stem}-{}", taken.into_iter().max().map_or(1, |n| n.saturating_add(1))))
    }
}

/// Starts ncu over a job. All lines of our worker are kept, because they report the outputs.
fn spawn(command: &mut Command, job: &Job<'_>, limit: Option<Duration>) -> io::Result<PipedChild> {
    match job.processes {
        Processes::Application => PipedChild::listening(command, limit),
        Processes::All => PipedChild::spawn(command, limit),
    }
}

/// ncu's own lines in the output of the target.
fn own_lines(output: &str) -> String {
    let own = |line: &&str| line.starts_with("==") || line.contains("InterprocessLockFailed");
    output.lines().filter(own).collect::<Vec<_>>().join("\n")
}

/// The end of a log, up to the size limit; empty if the file does not exist.
fn read_log(path: &Path) -> io::Result<String> {
    let Ok(bytes) = open::end(path, KEPT) else { return Ok(String::new()) };
    if fs::symlink_metadata(path)?.len() > KEPT {
        disk::replace(path, &bytes, Durability::Cached)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The file with a program's task: the request of an external command, or the last argument of a worker.
fn request_of(target: &Command) -> PathBuf {
    let mut variables = target.get_envs();
    let request = variables.find(|(name, _)| *name == REQUEST_VARIABLE).and_then(|(_, value)| value);
    request.or_else(|| target.get_args().last()).map(PathBuf::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::command::{LaunchSelection, ProfileDetail};
    use super::*;

    #[test]
    fn a_failure_is_explained_by_what_the_target_printed_for_people() {
        let output = "==PROF== Connected\n{\"event\":\"device\"}\nno memory left\n{\"event\":\"done\"}\n".to_owned();
        let ran = SessionOutcome {
            report: None,
            ending: ProcessExit::NonZero(1),
            log: String::new(),
            output,
            told: String::new(),
            failure: None,
        };
        let failure = NcuFailure::Permission;
        assert_eq!(ran.explain(&failure), format!("{failure}; it printed: no memory left"));
    }

    #[test]
    fn names_are_never_used_twice() {
        let folder = tempfile::tempdir().unwrap();
        let ncu = Ncu { path: "/nowhere/ncu".into(), version: super::super::NcuVersion([2025, 3, 1, 0]) };
        let runner = Runner {
            ncu: &ncu,
            reports: folder.path(),
            logs: folder.path(),
            scratch: folder.path(),
            timeout: Duration::from_secs(5),
            prefix: "",
            knobs: Knobs::default(),
            prestarted: None,
        };
        assert_eq!(runner.free_name("core").unwrap(), "core-1");
        for name in ["core-1.ncu-rep", "core-7.log", "core2-9.log", "core-x.log"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(runner.free_name("core").unwrap(), "core-8");
        let job = Job {
            stem: "core",
            metrics: &[],
            detail: ProfileDetail::Counters,
            target: &Command::new("true"),
            selection: &LaunchSelection::Everything,
            processes: Processes::Application,
        };
        let ran = runner.run(&job).unwrap();
        assert!(matches!(ran.failure, Some(NcuFailure::NotStarted { .. })), "{ran:?}");
    }
}
