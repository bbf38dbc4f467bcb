//! `ncugate check`: checks a phase without a GPU.

use super::progress::Verbosity;
use super::project::open_phase;
use super::{CommandError, confinement, library, print, refuse, signal, verbosity};
use crate::cli::{CheckArgs, RowFormat};
use crate::console::{Output, warn};
use crate::exit::Outcome;
use crate::invocation::Invocation;
use ncugate_campaign::{
    Progress as _, absent_aids, absent_programs, build_for, prove_files, reference_problem, target,
};
use ncugate_cuda::build::{Arch, IncludeScope, prove_tools};
use ncugate_cuda::host::{check_reference, ill_conditioned, mutant_table, null_test};
use ncugate_judge::architectures::{by_kernel, gaps};
use ncugate_judge::kernel_ratchet::{KernelResources, LibraryResources};
use ncugate_judge::{
    TargetGpu, VariantFacts, absent_metrics, by_duration_alone, gates_without_launch, out_of_reach, preconditions,
    static_gates, unlikely_bytes, unlikely_limits, unlisted_metrics, weakened_checks, weakened_gates,
};
use ncugate_model::disk::open;
use ncugate_model::number::counted;
use ncugate_model::{BuildOutcome, BuildRecord, Level, NullTest, Verdict};
use ncugate_phase::config::{MAX_BYTES, Phase, USUAL_SMS};
use ncugate_phase::plan::{Plan, unroll};
use ncugate_report::library_check;
use ncugate_report::mutants::mutants;
use ncugate_report::phase_check::{PhaseCheck, StaticVerdict, csv};
use ncugate_report::static_check::{self, FactRows};
use std::io::{self, Write};
use std::path::Path;

/// Checks every phase, each from the root of its project; returns the worst outcome.
pub fn check(args: &CheckArgs, invocation: &Invocation, out: &mut Output) -> Result<Outcome, CommandError> {
    let libraries = args.configs.iter().filter(|path| library::is_library(path)).count();
    if libraries > 0 {
        refuse(libraries < args.configs.len(), "check phases and libraries with separate commands")?;
        signal::watch();
        return library::check(args, out);
    }
    if args.baseline.is_some() {
        let why = match args.configs.iter().find(|path| !path.exists()) {
            Some(absent) => format!("'{}' does not exist", absent.display()),
            None => "--baseline is only for libraries, cubins and fat binaries, not for phases".to_owned(),
        };
        return Err(CommandError::Usage(why));
    }
    let mut outcome = Outcome::Passed;
    let mut checks = Vec::new();
    for config in &args.configs {
        let mut nowhere = Output::nowhere();
        let out = if args.format == RowFormat::Text { &mut *out } else { &mut nowhere };
        let mut built = LibraryResources::default();
        let archs: Vec<Option<&String>> =
            if args.arch.is_empty() { vec![None] } else { args.arch.iter().map(Some).collect() };
        let left = open_places(config);
        for arch in &archs {
            let mut found = PhaseCheck { config: config.display().to_string(), ..PhaseCheck::default() };
            let ended = one(config, args, *arch, invocation, &mut found, out);
            let ended = ended.inspect_err(|_| left.iter().for_each(|left| warn(left)))?;
            built.add(std::mem::take(&mut found.built));
            if let Some(left) = &left {
                writeln!(out, "  {left}")?;
                found.notes.push(left.clone());
            }
            found.outcome = ended.words();
            checks.push(found);
            outcome = outcome.and(ended);
        }
        if archs.len() > 1 && !args.no_build {
            let gaps = gaps(&built);
            print::blocks(&library_check::by_architecture(&built, &gaps, str::to_owned), out)?;
            let (compared, _) = by_kernel(&built);
            outcome = outcome.and(match (gaps.is_empty(), compared.len() >= 2) {
                (false, _) => Outcome::Failed,
                (true, true) => Outcome::Passed,
                // `sm_90` and `sm_90a` are one chip, and commands have no code.
                (true, false) => Outcome::Inconclusive,
            });
            if let Some(last) = checks.last_mut() {
                last.lost = gaps;
            }
        }
    }
    match args.format {
        RowFormat::Text => {}
        RowFormat::Json => print::json(&checks, out)?,
        RowFormat::Csv => csv(&checks, &mut out.machine()).map_err(io::Error::other)?,
    }
    Ok(outcome)
}

/// `2 lines with FILL and 9 lines with CHECK are left in ...`: the guesses of a draft that nobody has confirmed.
fn open_places(config: &Path) -> Option<String> {
    let text = open::text_if_there(config, MAX_BYTES).ok()??;
    let marked = |mark: &str| {
        let count =
            text.lines().filter(|line| line.split_once('#').is_some_and(|(_, says)| says.contains(mark))).count();
        (count > 0).then(|| counted(count, "line") + " with " + mark.trim_end_matches(':'))
    };
    let marks: Vec<String> = ["FILL:", "CHECK:"].into_iter().filter_map(marked).collect();
    let verb = if marks.len() == 1 && marks[0].starts_with("1 ") { "is" } else { "are" };
    let file = config.display();
    (!marks.is_empty()).then(|| {
        format!("{} {verb} left in `{file}`: compare each with your code and delete the mark", marks.join(" and "))
    })
}

/// Prints the limits of the phase's checks, and the faults that its tolerance accepts; a tolerance that proves nothing is an error.
/// Returns the number of wrong answers that it rejects.
fn prove_tolerance(
    (phase, plan): (&Phase, &Plan),
    args: &CheckArgs,
    found: &mut PhaseCheck,
    out: &mut Output,
) -> Result<u32, CommandError> {
    phase.workload.untested().into_iter().try_for_each(|text| note(found, out, "note: ", text.to_string()))?;
    if args.mutants {
        match mutant_table(phase)? {
            Some(table) => print::blocks(&mutants(&table), out)?,
            None => writeln!(out, "  no mutants: only a built-in reference can be computed with a fault")?,
        }
    }
    let progress = verbosity::progress();
    progress.stage("test the tolerance on wrong answers", 1);
    let tried = null_test(phase, &phase.bench.shapes);
    let trials = tried.is_ok().then(|| check_reference(phase, plan)).transpose();
    progress.step("");
    progress.clear();
    let (tried, trials) = (tried?, trials?.unwrap_or_default());
    if let (false, NullTest::NotMade { reason }) = (trials.is_smallest_tried, tried) {
        let text = format!("the tolerance was not tested on wrong answers here, but `run` tests it: {reason}");
        note(found, out, "note: ", text)?;
    }
    match trials.derived_bound() {
        Some(text) => note(found, out, "", text)?,
        None if phase.workload.has_derived_bound() => {
            let text = "no shape is small enough to derive its tolerance here; `run` derives it".to_owned();
            note(found, out, "note: ", text)?;
        }
        None => {}
    }
    for sentence in trials.unread {
        note(found, out, "", format!("weakened checks: {sentence}"))?;
    }
    if let Some(reason) = ill_conditioned(phase, plan)? {
        note(found, out, "note: ", format!("`run` is inconclusive {reason}"))?;
    }
    Ok(trials.rejected)
}

/// Whether the phase is good as far as it is checked without a build, and the next command.
fn say_unbuilt(phase: &Phase, config: &Path, rejected: u32, out: &mut Output) -> io::Result<()> {
    let file = config.display();
    if phase.is_of_reports() {
        return writeln!(out, "  ok: config; next: `ncugate gate {file} REPORT`");
    }
    let tolerance = match rejected {
        0 => String::new(),
        rejected => format!(", reference, tolerance ({} refused)", counted(rejected as usize, "wrong answer")),
    };
    let arch = phase.build.arch.as_deref().unwrap_or("sm_90");
    writeln!(out, "  ok: config{tolerance}; next: `ncugate check {file} --arch {arch}` builds it")
}

/// The target of the build. All missing tools are an error, unless a precondition prevents the build.
fn prove_target(
    phase: &Phase,
    plan: &Plan,
    arch: Option<&String>,
    sms: Option<u32>,
) -> Result<(Arch, TargetGpu), CommandError> {
    let parsed = |text: Option<&String>| text.map(|text| text.parse::<Arch>()).transpose();
    let of_phase = parsed(phase.build.arch.as_ref())?;
    let asked = parsed(arch)?.map(|arch| arch.with_suffix_of(of_phase.as_ref())).or(of_phase);
    let (arch, target) = target(asked, sms)?;
    if preconditions(phase, Some(target.capability)).iter().all(|result| result.verdict != Verdict::Fail) {
        prove_tools(phase, plan, &arch)?;
    }
    Ok((arch, target))
}

/// Adds a note, and prints it after `lead`.
fn note(found: &mut PhaseCheck, out: &mut Output, lead: &str, text: String) -> io::Result<()> {
    writeln!(out, "  {lead}{text}")?;
    found.notes.push(text);
    Ok(())
}

/// Adds and prints a problem; the phase fails.
fn fail(found: &mut PhaseCheck, out: &mut Output, problem: String) -> io::Result<Outcome> {
    writeln!(out, "  {} {problem}", Verdict::Fail.mark())?;
    found.problems.push(problem);
    Ok(Outcome::Failed)
}

/// Notes that the number of SMs that the launches depend on is unknown.
fn note_usual_sms(phase: &Phase, found: &mut PhaseCheck, out: &mut Output) -> io::Result<()> {
    if phase.sms.is_some() || !phase.names_sms() {
        return Ok(());
    }
    let text = format!("the launches are checked for {USUAL_SMS} SMs; give the number of your GPU with --sms");
    note(found, out, "note: ", text)
}

fn one(
    config: &Path,
    args: &CheckArgs,
    arch: Option<&String>,
    invocation: &Invocation,
    found: &mut PhaseCheck,
    out: &mut Output,
) -> Result<Outcome, CommandError> {
    let (phase, today) = (open_phase(config, invocation)?.on_gpu(args.sms), invocation.today());
    let plan = unroll(&phase)?;
    if args.confined {
        confinement::prove(&phase, &plan)?;
    }
    // Child processes start after this point; before it, the first signal ends the program.
    signal::watch();
    let (candidates, baselines) = (plan.candidates().count(), plan.baselines().count());
    (found.candidates, found.baselines) = (candidates, baselines);
    let (candidates, baselines) = (counted(candidates, "candidate"), counted(baselines, "baseline"));
    writeln!(out, "{}: {candidates}, {baselines}", config.display())?;
    prove_files(&phase, &plan)?;
    let target = match args.no_build || phase.is_of_reports() {
        true => None,
        false => Some(prove_target(&phase, &plan, arch, args.sms)?),
    };
    // The tolerance is the same on every architecture.
    let is_tested = arch != args.arch.first();
    let rejected = match phase.is_of_reports() || is_tested {
        true => 0,
        false => prove_tolerance((&phase, &plan), args, found, out)?,
    };
    let notes = absent_aids(&phase).into_iter().chain(unlisted_metrics(&phase));
    let notes = notes
        .chain(gates_without_launch(&phase, &plan))
        .chain(unlikely_bytes(&phase, &plan))
        .map(|text| format!("note: {text}"));
    let weak = weakened_gates(&phase, &plan, today)
        .into_iter()
        .chain(weakened_checks(&phase, &plan))
        .chain(by_duration_alone(&phase));
    notes.chain(weak).chain(unlikely_limits(&phase)).try_for_each(|caution| note(found, out, "", caution))?;
    let mut outcome = Outcome::Passed;
    for problem in absent_programs(&phase, &plan) {
        outcome = fail(found, out, problem)?;
    }
    if args.no_build {
        note_usual_sms(&phase, found, out)?;
        if outcome == Outcome::Passed {
            say_unbuilt(&phase, config, rejected, out)?;
        }
        return Ok(outcome);
    }
    let Some((arch, target)) = target else {
        let file = config.display();
        writeln!(out, "  nothing is built: `ncugate gate {file} REPORT` judges launches of ncu reports")?;
        return Ok(outcome);
    };
    found.arch = Some(arch.to_string());
    let phase = phase.on_gpu(target.sms);
    let plan = unroll(&phase)?;
    note_usual_sms(&phase, found, out)?;
    absent_metrics(&phase, target.capability).into_iter().try_for_each(|text| note(found, out, "note: ", text))?;
    let mut go = Outcome::Passed;
    for result in preconditions(&phase, Some(target.capability)) {
        let (name, reason) = (result.name.clone(), result.reason.clone());
        found.judged.push(StaticVerdict { name, of: None, level: Level::Required, verdict: result.verdict, reason });
        write!(out, "{}", static_check::verdict(&result.name, result.verdict, &result.reason))?;
        go = go.and(result.verdict.into());
    }
    outcome = outcome.and(go);
    if go == Outcome::Failed {
        writeln!(out, "  nothing is built: a precondition does not hold")?;
        return Ok(outcome);
    }
    let progress = verbosity::progress();
    let scope = if args.confined { IncludeScope::Project } else { IncludeScope::Anywhere };
    let builds = build_for(&plan, &phase, &arch, scope, &progress);
    progress.clear();
    let builds = builds?;
    let (text, built) = static_check::builds(&plan, &builds, &arch.to_string());
    found.take_builds(&plan, &builds);
    let resources: Vec<_> = builds.iter().map(|build| KernelResources::of_variant(build, arch.capability())).collect();
    if args.arch.len() > 1 {
        let is_built = |build: &BuildRecord| matches!(build.outcome, BuildOutcome::Built { .. });
        for (build, _) in builds.iter().zip(&resources).filter(|(build, known)| is_built(build) && known.is_none()) {
            outcome = fail(found, out, format!("the machine code of {} for {arch} cannot be read", build.variant))?;
        }
    }
    write!(out, "{text}")?;
    out_of_reach(&phase, &plan, None, target).into_iter().try_for_each(|text| note(found, out, "", text))?;
    if let Some(problem) = reference_problem(&phase, &plan, &arch, scope)? {
        outcome = fail(found, out, problem.to_string())?;
    }
    let gates = static_gates(&phase, &plan, builds, target, today);
    found.take_gates(&gates);
    let launched = |(resources, facts): (Option<KernelResources>, &VariantFacts)| {
        let occupancy = facts.theoretical_occupancy.map(|percent| (percent * 100.0).round() / 100.0);
        Some(KernelResources { occupancy, limiters: facts.limiters.clone(), ..resources? })
    };
    found.built.kernels = resources.into_iter().zip(&gates.facts).filter_map(launched).collect();
    let rows = match verbosity::volume() {
        Verbosity::Quiet => None,
        Verbosity::Usual => Some(FactRows::Best),
        Verbosity::Verbose => Some(FactRows::All),
    };
    if let Some(rows) = rows {
        print::blocks(&static_check::facts(&plan, &gates, &phase.objective.shape, rows), out)?;
    }
    write!(out, "{}", static_check::gates(&gates))?;
    Ok(outcome.and(built.into()).and(gates.verdict().into()))
}
