//! What every command that ends in a verdict shares: a stored run judged, rendered, said; and the commands that do
//! nothing else (`gate`, `report`).

use super::clock::Clock;
use super::{CommandError, open};
use crate::campaign::wanted;
use crate::cli::{Folders, Format, GateArgs, ReportArgs, Saying};
use crate::config::{self, Phase, Shape, ShapeName};
use crate::exit::Outcome;
use crate::expr::{Scope, Value};
use crate::frame::{Counted, Measured, Quantities, quantities};
use crate::gate::{Context, Judgement, Verdict, correctness, judge};
use crate::insight;
use crate::ncu_rep::{Report as NcuReport, ReportError};
use crate::plan::{Plan, VariantId, unroll};
use crate::report::terminal::{Colours, Screen, terminal};
use crate::report::write::{replace, write};
use crate::report::{Inputs, Report, Source, github, json};
use crate::store::{Run, RunState, StoreError};
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
    pub source: Source,
}

impl Subject {
    /// A stored run, judged by the phase it was run with.
    pub fn stored(folder: &Path) -> Result<Self, CommandError> {
        let run = Run::load(folder)?;
        let phase = config::parse(&folder.join("phase.toml"), &run.phase)?;
        let plan = unroll(&phase)?;
        let source = Source::Recorded { folder: folder.display().to_string() };
        Ok(Self { phase, plan, run, source })
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
    Ok(Judged::new(subject)?.report(subject, age))
}

/// `ncugate gate`: judges what has been measured already.
pub fn gate(args: &GateArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let phase = config::load(&args.config)?;
    let plan = unroll(&phase)?;
    let folder = match args.profile.as_slice() {
        [one] if one.is_dir() => one,
        _ => return Err(CommandError::Usage("--profile takes the folder of one run or recording".to_owned())),
    };
    let run = Run::load(folder)?;
    let source = Source::Recorded { folder: folder.display().to_string() };
    conclude(&Subject { phase, plan, run, source }, &args.folders, &args.saying, out)
}

/// `ncugate report`: renders a stored run again, judged by the phase it was run with.
pub fn report(args: &ReportArgs, out: &mut dyn Write) -> Result<Outcome, CommandError> {
    let subject = Subject::stored(&args.run)?;
    match &args.output {
        Some(folder) => conclude_in(folder, &subject, &args.saying, out),
        None => conclude(&subject, &args.folders, &args.saying, out),
    }
}

/// Judges, writes the report's files where runs have theirs, and says how it ended.
pub fn conclude(
    subject: &Subject,
    folders: &Folders,
    saying: &Saying,
    out: &mut dyn Write,
) -> Result<Outcome, CommandError> {
    conclude_in(&report_folder(folders, &subject.phase, &subject.run), subject, saying, out)
}

fn conclude_in(
    folder: &Path,
    subject: &Subject,
    saying: &Saying,
    out: &mut dyn Write,
) -> Result<Outcome, CommandError> {
    let judged = Judged::new(subject)?;
    let report = judged.report(subject, Age::Said);
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
struct Judged {
    quantities: Quantities,
    judgement: Judgement,
    said: Vec<insight::Said>,
    clock: Clock,
}

impl Judged {
    fn new(subject: &Subject) -> Result<Self, CommandError> {
        let Subject { phase, plan, run, .. } = subject;
        let gpu = run.manifest.fingerprint.gpu.as_ref();
        let capability = gpu.map_or((0, 0), |gpu| gpu.compute_capability);
        let metrics = wanted::metrics(phase);
        let clock = Clock::read()?;
        let reports = open_reports(run)?;
        let counted = Counted::read(&reports, plan, &wanted::counters(&metrics, capability))?;
        let damaged = |e: ReportError| StoreError::Report { path: run.folder.join("reports"), reason: e.to_string() };
        let said = insight::said(&reports, plan).map_err(damaged)?;
        let measured = Measured { phase, plan, run, counted: &counted, capability, sms: gpu.map(|gpu| gpu.sms) };
        let quantities = quantities(&measured, &metrics);
        let proofs = correctness(phase, plan, &run.checks, &run.builds);
        let context = Context::new(gpu.map(|gpu| gpu.compute_capability), clock.today());
        let judgement = judge(phase, plan, &quantities, &proofs, &context);
        Ok(Self { quantities, judgement, said, clock })
    }

    /// Variants that findings are about.
    fn looked_at(&self, plan: &Plan) -> Vec<VariantId> {
        if plan.variants.len() <= FEW {
            return plan.variants.iter().map(|variant| variant.id.clone()).collect();
        }
        self.judgement.selected.iter().map(|selected| selected.variant.clone()).collect()
    }

    fn report(&self, subject: &Subject, age: Age) -> Report {
        let Subject { phase, plan, run, source } = subject;
        let gpu = run.manifest.fingerprint.gpu.as_ref();
        let chip = insight::Chip { sms: gpu.map(|gpu| gpu.sms) };
        let findings = insight::findings(&self.quantities, &self.looked_at(plan), &work(phase), chip);
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
            said: &self.said,
            source: source.clone(),
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

/// The reports of a run by name.
fn open_reports(run: &Run) -> Result<Vec<(String, NcuReport)>, StoreError> {
    let open = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        NcuReport::open(&path)
            .map(|report| (name, report))
            .map_err(|e| StoreError::Report { path, reason: e.to_string() })
    };
    run.reports().into_iter().map(open).collect()
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
