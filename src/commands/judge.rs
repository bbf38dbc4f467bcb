//! What every command that ends in a verdict shares: a stored run judged, rendered, said; and the commands that do
//! nothing else (`gate`, `report`).

use super::against::Standings;
use super::clock::Clock;
use super::closely::Closely;
use super::reports::{self, Trust};
use super::{CommandError, open};
use crate::campaign::{self, wanted};
use crate::cli::{Against, Folders, Format, GateArgs, ReportArgs, Saying};
use crate::config::{self, Phase, Shape};
use crate::exit::Outcome;
use crate::explain;
use crate::expr::{Scope, Value};
use crate::frame::{Counted, Measured, Ownership, Quantities, quantities};
use crate::judge::{Context, Judgement, correctness, judge};
use crate::model::ShapeName;
use crate::model::VariantId;
use crate::model::Verdict;
use crate::ncu_rep::{Report as NcuReport, ReportError};
use crate::plan::{Plan, unroll};
use crate::report::terminal::{Colours, Screen, terminal};
use crate::report::write::{replace, write};
use crate::report::{Earlier, Inputs, Report, RunSource, github, json};
use crate::store::{self, Run, RunState, StoreError};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A run with the phase it is judged by.
pub struct Subject {
    /// The phase: its gates as they are now.
    pub phase: Phase,
    /// Its variants.
    pub plan: Plan,
    /// What was measured.
    pub run: Run,
    /// Measured just now, or read back.
    pub source: RunSource,
    /// Reports that this program did not make: their launches, and whether they are taken to be correct.
    pub foreign: Option<Trust>,
}

impl Subject {
    /// A stored run, judged by the phase it was run with.
    pub fn stored(folder: &Path) -> Result<Self, CommandError> {
        let run = Run::load(folder)?;
        let phase = config::parse(&folder.join("phase.toml"), &run.phase)?;
        let plan = unroll(&phase)?;
        let source = RunSource::Recorded { folder: folder.display().to_string() };
        Ok(Self { phase, plan, run, source, foreign: None })
    }
}

/// Whether a report says how long ago it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Counted to now.
    Said,
    /// Left out: the same run gives the same bytes.
    Unsaid,
}

/// A run as a report, nothing written.
pub fn judged(subject: &Subject, age: Age) -> Result<Report, CommandError> {
    let standings = Standings::around(subject);
    Ok(Judged::new(subject, &[], &standings)?.report(subject, &standings, age))
}

/// `ncugate gate`: judges what has been measured already.
pub fn gate(args: &GateArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phase = config::load(&args.config)?;
    let plan = unroll(&phase)?;
    if let Some(absent) = args.profile.iter().find(|path| !path.exists()) {
        return Err(CommandError::Usage(format!("--profile names {}, which does not exist", absent.display())));
    }
    let subject = match args.profile.as_slice() {
        [folder] if folder.is_dir() => {
            let source = RunSource::Recorded { folder: folder.display().to_string() };
            let run = Run::load(folder)?;
            let lacks = store::lacks(&run, &phase, &plan, &campaign::sources(&plan), &[]);
            if !lacks.is_empty() {
                return Err(CommandError::Recording { folder: folder.clone(), lacks });
            }
            Subject { run, plan, phase, source, foreign: None }
        }
        files => reports::subject(phase, files, args.assume_correct)?,
    };
    conclude(&subject, &args.against, &args.folders, &args.saying, out)
}

/// `ncugate report`: renders a stored run again, judged by the phase it was run with.
pub fn report(args: &ReportArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let subject = Subject::stored(&args.run)?;
    let folder = args.output.clone().unwrap_or_else(|| report_folder(&args.folders, &subject.phase, &subject.run));
    let mut standings = Standings::find(&subject, &args.against, &args.folders.profiles)?;
    standings.look_back(&subject, &args.folders.profiles)?;
    conclude_in(&folder, &subject, &standings, &args.saying, out)
}

/// Judges, writes the report's files, and says how it ended.
pub fn conclude(
    subject: &Subject,
    against: &Against,
    folders: &Folders,
    saying: &Saying,
    out: &mut dyn Write,
) -> Result<Outcome, CommandError> {
    let mut standings = Standings::find(subject, against, &folders.profiles)?;
    standings.look_back(subject, &folders.profiles)?;
    conclude_in(&report_folder(folders, &subject.phase, &subject.run), subject, &standings, saying, out)
}

fn conclude_in(
    folder: &Path,
    subject: &Subject,
    standings: &Standings,
    saying: &Saying,
    out: &mut dyn Write,
) -> Result<Outcome, CommandError> {
    let judged = Judged::new(subject, &[], standings)?;
    let report = judged.report(subject, standings, Age::Said);
    let written = write(&report, folder)?;
    if let Some(path) = &saying.comment {
        replace(path, &github::comment(&report)?)?;
    }
    say(&report, &written.page, saying, out)?;
    if saying.open {
        open::open(&written.page);
    }
    Ok(outcome(subject, judged.judgement.verdict))
}

/// Where the report of a run goes.
pub fn report_folder(folders: &Folders, phase: &Phase, run: &Run) -> PathBuf {
    folders.reports.join(&phase.name).join(&run.manifest.run)
}

/// A run judged.
pub struct Judged {
    /// Everything measured.
    pub quantities: Quantities,
    /// The verdicts.
    pub judgement: Judgement,
    said: Vec<explain::Said>,
    closely: Closely,
    clocks: explain::Clocks,
    clock: Clock,
}

impl Judged {
    /// Judges by the phase's gates; `more` are metrics to read beside those that the phase needs.
    pub fn new(subject: &Subject, more: &[String], standings: &Standings) -> Result<Self, CommandError> {
        let Subject { phase, plan, run, .. } = subject;
        let gpu = run.manifest.fingerprint.gpu.as_ref();
        let capability = gpu.map(|gpu| gpu.compute_capability);
        let mut metrics = wanted::metrics(phase);
        let unread = more.iter().filter(|metric| !metrics.contains(metric)).cloned().collect::<Vec<_>>();
        metrics.extend(unread);
        let reports = open_reports(run.reports())?;
        let ownership = subject.foreign.map_or(Ownership::Range, |_| Ownership::Launch(&phase.objective.shape));
        let counted = Counted::read(&reports, plan, ownership, &wanted::read(&metrics, capability))?;
        let damaged = |e: ReportError| StoreError::Report { path: run.folder.join("reports"), reason: e.to_string() };
        let closely = Closely::read(run, plan, capability);
        let mut said = explain::said(&reports, plan, &explain::Listings::new()).map_err(damaged)?;
        said.retain(|one| !closely.says_of(one));
        let clocks = explain::Clocks::read(&reports).map_err(damaged)?.and(&closely.clocks);
        let clock = Clock::read()?;
        let measured = Measured { phase, plan, run, counted: &counted, capability, sms: gpu.map(|gpu| gpu.sms) };
        let quantities = quantities(&measured, &metrics);
        let proofs = match subject.foreign {
            None => correctness(phase, plan, &run.checks, &run.builds),
            Some(trust) => reports::proofs(plan, trust),
        };
        let mut context = Context::new(capability, clock.today());
        standings.lend(&mut context);
        let mut judgement = judge(phase, plan, &quantities, &proofs, &context);
        judgement.warnings.extend(standings.warnings.iter().cloned());
        Ok(Self { quantities, judgement, said, closely, clocks, clock })
    }

    /// Variants that findings are about.
    fn looked_at(&self, plan: &Plan) -> Vec<VariantId> {
        if plan.variants.len() <= FEW {
            return plan.variants.iter().map(|variant| variant.id.clone()).collect();
        }
        self.judgement.selected.iter().map(|selected| selected.variant.clone()).collect()
    }

    fn report(&self, subject: &Subject, standings: &Standings, age: Age) -> Report {
        let Subject { phase, plan, run, source, .. } = subject;
        let gpu = run.manifest.fingerprint.gpu.as_ref();
        let chip = explain::Chip { sms: gpu.map(|gpu| gpu.sms) };
        let seen = self.quantities.beside(&self.closely.quantities);
        let findings = explain::findings(&seen, &self.looked_at(plan), &work(phase), chip);
        let said: Vec<explain::Said> = self.closely.said.iter().chain(&self.said).cloned().collect();
        let beside = standings.beside();
        let earlier: Vec<Earlier<'_>> = beside
            .iter()
            .map(|(what, label, entry, quantities)| Earlier { what, label, variant: &entry.variant, quantities })
            .collect();
        Report::new(&Inputs {
            phase,
            plan,
            manifest: &run.manifest,
            builds: &run.builds,
            checks: &run.checks,
            latencies: &run.latencies,
            profiles: &run.profiles,
            quantities: &self.quantities,
            judgement: &self.judgement,
            findings: &findings,
            said: &said,
            deep: self.closely.inputs(run),
            source: source.clone(),
            compared: &standings.labels(),
            earlier: &earlier,
            clocks: &self.clocks,
            now: (age == Age::Said).then(|| self.clock.now()),
        })
    }
}

/// How many variants are looked at one by one; of a larger sweep only the selected one is.
const FEW: usize = 16;

/// Work of one launch at every shape: operations, as the workload says.
fn work(phase: &Phase) -> Vec<(ShapeName, Option<f64>)> {
    let of = |shape: &Shape| {
        let scope: Scope = shape.dims.iter().map(|(name, n)| (name.clone(), Value::Int(*n))).collect();
        phase.workload.flops.as_ref().and_then(|flops| flops.eval_number(&scope).ok())
    };
    phase.workload.shapes.iter().map(|shape| (shape.name.clone(), of(shape))).collect()
}

/// Reports by name.
pub(super) fn open_reports(paths: Vec<PathBuf>) -> Result<Vec<(String, NcuReport)>, StoreError> {
    let open = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        NcuReport::open(&path)
            .map(|report| (name, report))
            .map_err(|e| StoreError::Report { path, reason: e.to_string() })
    };
    paths.into_iter().map(open).collect()
}

fn say(report: &Report, page: &Path, saying: &Saying, out: &mut dyn Write) -> Result<(), CommandError> {
    match saying.format {
        Format::Json => writeln!(out, "{}", json::json(report)?)?,
        Format::Text => {
            let on_terminal = std::io::stdout().is_terminal();
            let coloured = on_terminal && std::env::var_os("NO_COLOR").is_none();
            let columns = super::columns();
            let colours = if coloured { Colours::Ansi } else { Colours::Plain };
            if std::env::var_os("GITHUB_ACTIONS").is_some() {
                write!(out, "{}", github::annotations(report)?)?;
            }
            writeln!(out, "report: {}\n", page.display())?;
            write!(out, "{}", terminal(report, Screen { columns, colours })?)?;
        }
    }
    if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") {
        use std::fs::OpenOptions;
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{}", github::summary(report)?)?;
    }
    Ok(())
}

/// The status of a judged run: one that did not measure everything is never better than inconclusive.
fn outcome(subject: &Subject, verdict: Verdict) -> Outcome {
    let judged = match verdict {
        Verdict::Pass => Outcome::Passed,
        Verdict::Fail => Outcome::Failed,
        Verdict::Inconclusive => Outcome::Inconclusive,
    };
    match subject.run.manifest.state {
        RunState::Complete => judged,
        RunState::Running | RunState::Interrupted => judged.and(Outcome::Inconclusive),
    }
}
