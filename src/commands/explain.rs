//! `ncugate explain`: why a kernel takes the time that it takes.

use super::page::filter;
use super::run_name::{is_path, run_folder, run_named};
use super::{CommandError, print, refuse, verbosity};
use crate::cli::{ExplainArgs, OutputFormat, Reader};
use crate::console::Output;
use crate::exit::Outcome;
use jiff::civil::Date;
use ncu_explain::{DiagnosisOutcome, RuleAnswers, RuleBook, WordEntry, answers_of_report};
use ncu_rep::Report;
use ncugate_campaign::{AblatedVariant, AblationEffort, GpuTurn, GpuWait, Progress, Tools};
use ncugate_judge::store::keep_ablations;
use ncugate_judge::{JudgedRun, PhaseRun};
use ncugate_model::metric::Catalogue;
use ncugate_model::rule::FACTS;
use ncugate_model::stats::Resampler;
use ncugate_model::{ShapeName, VariantId, nearest};
use ncugate_phase::config::BuildSettings;
use ncugate_phase::plan::Method;
use ncugate_report::RenderError;
use ncugate_report::chart::svg::{Setting, draw};
use ncugate_report::document::{Document, Medium, terminal};
use ncugate_report::explanation::{Explainer, Explanation, ReportExplanation, brief, overview, table};
use ncugate_report::show::ShowError;
use ncugate_report::sweep::analyse;
use ncugate_report::write::replace;
use ncugate_report::{line_pairs, metric_entry, word_entry};
use std::io::Write;
use std::path::Path;

/// Pages with the words and the exit statuses.
const GLOSSARY: &str = include_str!("../../docs/glossary.md");
const COMMANDS: &str = include_str!("../../docs/commands.md");

/// Explains a run, a report or a word: a metric, a rule, a fact of rules, a word of the glossary, an exit
/// status. Status 4 if no cause was found and most rules lack counters.
pub fn explain(args: &ExplainArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    if args.rules {
        return match &args.path {
            Some(path) => answers(&run_folder(path, &args.profiles)?, args.format, today, out),
            None => rules(out),
        };
    }
    let Some(path) = &args.path else {
        return Err(CommandError::Usage("name a run or a report to explain, or ask for --rules".to_owned()));
    };
    let word = path.to_str().filter(|_| !path.exists());
    if let Some(entry) = word.and_then(ncu_explain::metric_entry) {
        print::value(&entry, || metric_entry::document(&entry), args.format, out)?;
        return Ok(Outcome::Passed);
    }
    // A phase can have the name of a word.
    let is_run = || run_named(path, &args.profiles).is_ok_and(|run| run.is_some());
    if let Some(entry) = word.and_then(|word| WordEntry::find(word, GLOSSARY, COMMANDS)).filter(|_| !is_run()) {
        print::value(&entry, || word_entry::document(&entry), args.format, out)?;
        return Ok(Outcome::Passed);
    }
    let rules = RuleBook::shipped().rules().iter().map(|rule| rule.id.as_str());
    let near = word.filter(|name| *name != "latest" && !is_path(path));
    let near = near.and_then(|name| nearest(name, Catalogue::embedded().names().chain(rules)));
    let path = &run_folder(path, &args.profiles).map_err(|error| match (error, near) {
        (CommandError::Usage(_), Some(near)) => {
            let name = path.display();
            let message = format!("`{name}` is neither a run, a report, a metric nor a rule; did you mean `{near}`?");
            CommandError::Usage(message)
        }
        (error, _) => error,
    })?;
    let args = &match &args.measure {
        Some(asked) => {
            let variant = measure(path, asked, args, today)?;
            ExplainArgs { variant: Some(variant.to_string()), ..args.clone() }
        }
        None => args.clone(),
    };
    if args.sweep {
        return sweep(path, args, today, out);
    }
    if let Some(other) = &args.beside {
        return compare_variants(path, other, args, today, out);
    }
    let explanations = if path.is_dir() {
        refuse(args.launches.is_given(), "--kernel, --nvtx and --launch are for ncu reports")?;
        let explanations = of_run(path, args, today)?;
        show(&explanations, args, out)?;
        explanations
    } else {
        let report = of_report(path, args)?;
        show_report(&report, path, args, out)?;
        report.kernels
    };
    let is_answer = |explanation: &Explanation| match explanation.outcome {
        DiagnosisOutcome::Found | DiagnosisOutcome::Clean => true,
        DiagnosisOutcome::NotJudged => explanation.is_mostly_asked(),
    };
    let is_unknown = !explanations.iter().any(is_answer);
    Ok(if is_unknown { Outcome::Inconclusive } else { Outcome::Passed })
}

fn of_run(path: &Path, args: &ExplainArgs, today: Date) -> Result<Vec<Explanation>, CommandError> {
    let run = PhaseRun::load(path)?;
    let session = JudgedRun::of_stored(&run, today)?;
    let explainer = Explainer::new(&session)?;
    if args.variant.is_none() && args.shape.is_none() && !args.each {
        let none = || CommandError::Usage("no variant is selected; name one with --variant".to_owned());
        return explainer.in_use()?.map(|found| vec![found]).ok_or_else(none);
    }
    let shape = shape(&run, args)?;
    let variants = variants(&run, &explainer, &shape, args)?;
    variants.iter().map(|variant| Ok(explainer.explain(variant, &shape)?)).collect()
}

/// Measures the costs of a variant of a run at the shape, and stores them in the run.
fn measure(path: &Path, asked: &str, args: &ExplainArgs, today: Date) -> Result<VariantId, CommandError> {
    refuse(!path.is_dir(), "--measure is for a run, which has the program; a report has none")?;
    let run = PhaseRun::load(path)?;
    let shape = shape(&run, args)?;
    let asked = match asked {
        "" => {
            let session = JudgedRun::of_stored(&run, today)?;
            let used = Explainer::new(&session)?.used_at(&shape);
            used.ok_or_else(|| CommandError::Usage("no variant is selected; name one after --measure".to_owned()))?
        }
        name => variant(&run, name)?,
    };
    // A stored run is data: it names no program that is started here.
    let mut phase = run.phase.clone();
    phase.build = BuildSettings { nvcc: None, cache: None, ..phase.build };
    phase.profile.ncu = None;
    let tools = Tools::find(&phase)?;
    let phase = &tools.on_gpu(&phase);
    let progress = verbosity::progress();
    let turn = GpuTurn::new(&tools.device, GpuWait::Endless, &progress);
    turn.take()?;
    let of = run.run.measured_as(&asked);
    let ablated = AblatedVariant { phase, plan: &run.plan, tools: &tools, run: &run.run, variant: of, shape: &shape };
    progress.stage("measured causes", 1);
    progress.step(&asked.0);
    let records = ablated.measure(AblationEffort::Whole);
    progress.clear();
    let records = records?.map_err(|reason| CommandError::Usage(format!("cannot measure {asked}: {reason}")))?;
    keep_ablations(path, &records)?;
    Ok(asked)
}

/// The shape by its name, or by the table of its product if the variant is launched at one of its shapes only.
fn shape(run: &PhaseRun, args: &ExplainArgs) -> Result<ShapeName, CommandError> {
    let Some(asked) = &args.shape else { return Ok(run.phase.objective.shape.clone()) };
    let names = || run.phase.workload.shapes.iter().map(|shape| &shape.name);
    if let Some(name) = names().find(|name| *name.0 == **asked) {
        return Ok(name.clone());
    }
    let of = args.variant.as_deref().map(|asked| variant(run, asked)).transpose()?;
    let is_launched = |name: &ShapeName| match of.as_ref().and_then(|id| run.plan.variant(id)).map(|of| &of.method) {
        Some(Method::Kernel(kernel)) => kernel.program(name).is_some_and(|program| program.left_out.is_none()),
        _ => true,
    };
    let is_of_product = |name: &ShapeName| name.0.strip_prefix(&**asked).is_some_and(|rest| rest.starts_with('_'));
    let mut found = names().filter(|name| is_of_product(name) && is_launched(name));
    if let (Some(name), None) = (found.next(), found.next()) {
        return Ok(name.clone());
    }
    let names: Vec<&str> = names().map(|name| &*name.0).collect();
    Err(CommandError::Usage(format!("the run has no shape '{asked}'; it has {}", names.join(", "))))
}

fn variants(
    run: &PhaseRun,
    explainer: &Explainer<'_, '_>,
    shape: &ShapeName,
    args: &ExplainArgs,
) -> Result<Vec<VariantId>, CommandError> {
    let ids = || run.plan.variants.iter().map(|variant| &variant.id);
    if args.each {
        return Ok(ids().cloned().collect());
    }
    match &args.variant {
        Some(asked) => Ok(vec![variant(run, asked)?]),
        None => match explainer.used_at(shape) {
            Some(used) => Ok(vec![used]),
            None => Err(CommandError::Usage("no variant is selected; name one with --variant".to_owned())),
        },
    }
}

fn variant(run: &PhaseRun, asked: &str) -> Result<VariantId, CommandError> {
    let ids = || run.plan.variants.iter().map(|variant| &variant.id);
    match ids().find(|id| id.0 == asked) {
        Some(id) => Ok(id.clone()),
        None => {
            let near = nearest(asked, ids().map(|id| id.0.as_str()));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
            Err(CommandError::Usage(format!("the run has no variant '{asked}'{hint}")))
        }
    }
}

fn of_report(path: &Path, args: &ExplainArgs) -> Result<ReportExplanation, CommandError> {
    let is_of_run = args.variant.is_some() || args.shape.is_some();
    refuse(is_of_run, "--variant and --shape are for a run; name kernels of a report with --kernel")?;
    let report = Report::open(path).map_err(|source| ShowError::Report { path: path.to_owned(), source })?;
    let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let explained = ReportExplanation::read(&name, &report, &filter(&args.launches));
    Ok(explained.map_err(ShowError::from)?)
}

/// Prints one screen about a report, or the chosen kernels in full. An agent gets the kernel with the longest total
/// time, unless it chooses others.
fn show_report(
    report: &ReportExplanation,
    path: &Path,
    args: &ExplainArgs,
    out: &mut Output,
) -> Result<(), CommandError> {
    let is_chosen = args.launches.is_given();
    let is_overview = args.reader == Reader::Person && args.format == OutputFormat::Text && !args.each;
    match (is_overview, args.reader, report.kernels.as_slice()) {
        (true, ..) if !is_chosen => {
            print::document(&overview(report, &path.display().to_string(), print::columns()), out)
        }
        (_, Reader::Agent, [first, ..]) if !is_chosen => show(std::slice::from_ref(first), args, out),
        (_, _, kernels) => show(kernels, args, out),
    }
}

fn show(explanations: &[Explanation], args: &ExplainArgs, out: &mut Output) -> Result<(), CommandError> {
    if args.each && args.format == OutputFormat::Text {
        write!(out, "{}", table(explanations))?;
        return Ok(());
    }
    match (args.reader, args.format) {
        (Reader::Agent, _) => explanations.iter().try_for_each(|e| writeln!(out, "{}", brief(e)))?,
        (Reader::Person, OutputFormat::Json) => {
            print::json(&explanations, out)?;
        }
        (Reader::Person, OutputFormat::Text) => {
            let text = |one: &Explanation| terminal(&one.document(), Some(print::columns()));
            write!(out, "{}", explanations.iter().map(text).collect::<Vec<_>>().join("\n"))?;
        }
    }
    Ok(())
}

/// Effects of the parameters of a run.
fn sweep(path: &Path, args: &ExplainArgs, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    refuse(!path.is_dir(), "--sweep is for the folder of a run: a report has no parameters")?;
    let run = PhaseRun::load(path)?;
    let session = JudgedRun::of_stored(&run, today)?;
    let shape = shape(&run, args)?;
    let report = analyse(&session, &shape, &args.objectives, &Resampler::default());
    let report = report.map_err(|unknown| CommandError::Usage(unknown.to_string()))?;
    if let Some(file) = &args.svg {
        let Some(chart) = report.picture() else {
            return Err(CommandError::Usage("--svg has nothing to draw: no variant has two objectives".to_owned()));
        };
        replace(file, &draw(&chart, Setting::File).map_err(RenderError::from)?)?;
    }
    print::value(&report, || report.document(), args.format, out)?;
    Ok(if report.analysis.variants > 1 { Outcome::Passed } else { Outcome::Inconclusive })
}

/// Two variants of a run, line by line.
fn compare_variants(
    path: &Path,
    other: &str,
    args: &ExplainArgs,
    today: Date,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    refuse(!path.is_dir(), "--beside is for the folder of a run, which has variants")?;
    let run = PhaseRun::load(path)?;
    let session = JudgedRun::of_stored(&run, today)?;
    let (shape, other) = (shape(&run, args)?, variant(&run, other)?);
    let explainer = Explainer::new(&session)?;
    let own = variants(&run, &explainer, &shape, args)?;
    let Some(own) = own.into_iter().next() else { return Ok(Outcome::Inconclusive) };
    let Some(pair) = explainer.beside(&own, &other, &shape) else {
        return Err(CommandError::Usage(format!(
            "{own} and {other} have no source line in common that was sampled at {shape}; profile both with `run --deep`"
        )));
    };
    let document =
        || Document { blocks: vec![line_pairs::section(&pair, Medium::Screen).into()], ..Document::default() };
    print::value(&pair, document, args.format, out)?;
    Ok(Outcome::Passed)
}

/// For how many variants and shapes, or launches, each rule holds.
fn answers(path: &Path, format: OutputFormat, today: Date, out: &mut Output) -> Result<Outcome, CommandError> {
    let answers = if path.is_dir() {
        let run = PhaseRun::load(path)?;
        let session = JudgedRun::of_stored(&run, today)?;
        Explainer::new(&session)?.answers()?
    } else {
        let damaged = |source| ShowError::Report { path: path.to_owned(), source };
        answers_of_report(&Report::open(path).map_err(damaged)?, RuleBook::shipped()).map_err(damaged)?
    };
    match format {
        OutputFormat::Json => print::json(&answers, out)?,
        OutputFormat::Text => {
            writeln!(out, "| rule | holds | does not hold | not known |\n| --- | --: | --: | --: |")?;
            for RuleAnswers { rule, holds, does_not_hold, not_known } in &answers {
                writeln!(out, "| `{rule}` | {holds} | {does_not_hold} | {not_known} |")?;
            }
        }
    }
    let asked = answers.iter().any(|answer| answer.holds + answer.does_not_hold > 0);
    Ok(if asked { Outcome::Passed } else { Outcome::Inconclusive })
}

/// The rules and the facts that they read.
fn rules(out: &mut Output) -> Result<Outcome, CommandError> {
    writeln!(out, "| rule | cause | holds when |\n| --- | --- | --- |")?;
    for rule in RuleBook::shipped().rules() {
        let cases: Vec<String> = rule.cases.iter().map(|case| format!("`{}`", case.when.text())).collect();
        writeln!(out, "| `{}` | {} | {} |", rule.id, rule.cause, cases.join("; else "))?;
    }
    writeln!(out, "\n| fact | what |\n| --- | --- |")?;
    for fact in FACTS {
        writeln!(out, "| `{}` | {} |", fact.name, fact.doc)?;
    }
    Ok(Outcome::Passed)
}
