//! Origin of the numbers, what they exclude, and how to reproduce them.

use super::inputs::{ReportInputs, RunSource};
use super::number::{self, Number};
use super::{text, timed_clocks};
use jiff::Timestamp;
use ncugate_judge::store::{Fingerprint, Git, Manifest, RunState, is_commit};
use ncugate_model::{BuildOutcome, CheckOutcome, CleanText, LatencyOutcome, ProfileOutcome, ShapeName};
use ncugate_phase::config::Base;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Whether the run was measured now or is replayed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunOrigin {
    pub replay: bool,
    /// `recorded on NVIDIA H200, 2026-11-21, ncu 2025.3.1`.
    pub sentence: CleanText,
    /// Time since the measurement, if known.
    pub age: Option<CleanText>,
    /// Why nothing was measured now although no recording was requested, and what to do.
    pub unasked: Option<CleanText>,
}

impl RunOrigin {
    /// The sentence with its age: `recorded on NVIDIA H200, 2026-11-21, ncu 2025.3.1, 56 minutes ago`.
    pub fn words(&self) -> String {
        let age = self.age.as_ref().map_or_else(String::new, |age| format!(", {age}"));
        format!("{}{age}", self.sentence)
    }
}

/// Machine, tools, sources and command of the measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Provenance {
    /// Machine and tools, which must be equal for numbers to be comparable.
    #[serde(skip)]
    pub fingerprint: Fingerprint,
    /// The state of the repository; none outside a repository.
    #[serde(skip)]
    pub git: Option<Git>,
    /// Label and value, in order.
    pub facts: Vec<(CleanText, CleanText)>,
    /// Wall seconds by stage.
    pub stages: Vec<(CleanText, Number)>,
    /// Source path and SHA-256.
    pub hashes: Vec<(CleanText, CleanText)>,
    pub argv: CleanText,
    /// The phase's file as it was run.
    pub config: String,
}

/// Live or replay, in a sentence.
pub fn origin(inputs: &ReportInputs<'_>) -> RunOrigin {
    let manifest = &inputs.run.manifest;
    let gpu = manifest.fingerprint.gpu.as_ref().map_or("an unknown GPU", |g| g.name.as_str());
    let date = manifest.started.strftime("%Y-%m-%d");
    let ncu = manifest.fingerprint.ncu.as_ref().map_or_else(String::new, |v| format!(", ncu {v}"));
    if let RunSource::Foreign { made, .. } = &inputs.source {
        return foreign(inputs, *made, gpu, &ncu);
    }
    let (replay, how) = match &inputs.source {
        RunSource::Live => (false, "measured on"),
        RunSource::Recorded { .. } | RunSource::Unasked { .. } | RunSource::Foreign { .. } => (true, "recorded on"),
    };
    let unasked = match &inputs.source {
        RunSource::Live | RunSource::Recorded { .. } | RunSource::Foreign { .. } => None,
        RunSource::Unasked { folder, why } => Some(format!(
            "{why}, so nothing was measured and nothing passes: this is the recording in {folder}; --source recorded judges the recording"
        )),
    };
    let age = inputs.now.map(|now| number::age(now.as_second() - manifest.started.as_second()));
    RunOrigin {
        replay,
        sentence: format!("{how} {gpu}, {date}{ncu}{}", continued(inputs)).into(),
        age: age.map(CleanText::from),
        unasked: unasked.map(CleanText::from),
    }
}

/// `; continued: 14 of 20 records are of 2026-11-24 20:18 to 2026-11-24 20:31 UTC`, if the run was continued after it
/// had ended early.
fn continued(inputs: &ReportInputs<'_>) -> String {
    let Some(last) = inputs.run.manifest.continued.last() else { return String::new() };
    let all = (inputs.run.checks.len() + inputs.run.latencies.len() + inputs.run.profiles.len()) as u64;
    let (from, to) = (minute(inputs.run.manifest.started), minute(last.written));
    let kept = number::plain(last.records.min(all) as f64);
    format!("; continued: {kept} of {} records are of {from} to {to} UTC", number::plain(all as f64))
}

fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// `reports of another program, profiled on NVIDIA H200, 2026-11-20, ncu 2025.3.1`; their age is that of the last launch.
fn foreign(inputs: &ReportInputs<'_>, made: Option<(Timestamp, Timestamp)>, gpu: &str, ncu: &str) -> RunOrigin {
    let when = made.map_or_else(|| "at an unknown time".to_owned(), |(_, last)| last.strftime("%Y-%m-%d").to_string());
    let age = inputs.now.zip(made).map(|(now, (_, last))| number::age(now.as_second() - last.as_second()));
    let sentence = format!("reports of another program, profiled on {gpu}, {when}{ncu}");
    RunOrigin { replay: true, sentence: sentence.into(), age: age.map(CleanText::from), unasked: None }
}

/// Machine, tools, source and command line.
pub fn provenance(inputs: &ReportInputs<'_>) -> Provenance {
    let manifest = &inputs.run.manifest;
    let [gpu, driver, ncu, nvcc, clock_control, cache_control, replay_mode] = conditions(&manifest.fingerprint);
    let (started, finished) = match &inputs.source {
        RunSource::Foreign { made: None, .. } => ("not known".to_owned(), "not known".to_owned()),
        _ => (second(manifest.started), manifest.finished.map_or_else(|| "not finished".to_owned(), second)),
    };
    let of_commit = match (&inputs.source, &manifest.git) {
        (RunSource::Foreign { .. }, _) => "not known: reports of another program are judged without git".into(),
        (_, Some(git)) => commit(git),
        (_, None) => NO_REPOSITORY.into(),
    };
    let facts = [
        gpu,
        driver,
        ncu,
        nvcc,
        ("clocks", inputs.clocks.words().into()),
        clock_control,
        cache_control,
        replay_mode,
        ("ncugate", (&manifest.ncugate).into()),
        ("started", started.into()),
        ("finished", finished.into()),
        ("state", state(manifest).into()),
        ("timed at", shapes(inputs, inputs.run.latencies.iter().map(|l| &l.shape))),
        ("profiled at", shapes(inputs, inputs.run.profiles.iter().map(|p| &p.shape))),
        ("shared measurements", shared(inputs).into()),
        ("commit", of_commit),
        ("phase file", inputs.phase.file.display().to_string().into()),
        ("phase SHA-256", (&manifest.config_sha256).into()),
        ("plan SHA-256", (&manifest.plan_sha256).into()),
        ("redacted", if manifest.redacted { "host names, addresses and paths" } else { "nothing" }.into()),
    ];
    Provenance {
        fingerprint: manifest.fingerprint.clone(),
        git: manifest.git.clone(),
        facts: facts
            .into_iter()
            .map(|(label, value)| (CleanText::from(label), value))
            .chain(timed_clocks::words(inputs).map(|words| ("clocks while timed".into(), words.into())))
            .chain(continuations(manifest))
            .chain(manifest.software.iter().filter(|(_, versions)| !versions.is_empty()).map(software))
            .chain(inputs.phase.base.iter().map(base))
            .chain(inputs.compared.iter().map(|label| ("compared with".into(), label.into())))
            .collect(),
        stages: manifest.stage_seconds.iter().map(|(name, s)| (name.into(), Number::new(*s))).collect(),
        hashes: manifest.sources.iter().map(|(path, hash)| (path.into(), hash.into())).collect(),
        argv: manifest.argv.iter().map(|a| quoted(a)).collect::<Vec<_>>().join(" ").into(),
        config: text::clean_file(&inputs.phase.text),
    }
}

/// The commit that the run measured alongside its own kernels.
fn base(base: &Base) -> (CleanText, CleanText) {
    let why = base.absent().map_or_else(String::new, |why| format!("; {why}"));
    ("base".into(), format!("{}, commit {}{why}", base.reference, base.commit).into())
}

/// Text of the page for a run outside a repository.
pub const NO_REPOSITORY: &str = "not in a git repository";

/// The commit, and whether tracked files differed from it.
pub fn commit(git: &Git) -> CleanText {
    format!("{}{}", git.commit, if git.dirty { ", with changes not committed" } else { "" }).into()
}

/// Machine and tools, as label and value.
pub fn conditions(fingerprint: &Fingerprint) -> [(&'static str, CleanText); 7] {
    let known = |value: &Option<String>| CleanText::from(value.as_deref().unwrap_or("unknown"));
    let gpu = fingerprint.gpu.as_ref().map_or_else(
        || "unknown".to_owned(),
        |g| {
            let memory = g
                .memory
                .map_or_else(|| "memory not known".to_owned(), |bytes| number::with_unit(bytes as f64, "bytes"));
            format!("{} (compute capability {}, {} SMs, {memory})", g.name, g.compute_capability, g.sms)
        },
    );
    [
        ("GPU", gpu.into()),
        ("driver", known(&fingerprint.driver)),
        ("Nsight Compute", known(&fingerprint.ncu)),
        ("nvcc", known(&fingerprint.nvcc)),
        ("clock control", (&fingerprint.clock_control).into()),
        ("cache control", (&fingerprint.cache_control).into()),
        ("replay mode", (&fingerprint.replay_mode).into()),
    ]
}

/// Names and versions of the software of an external command.
fn software((variant, versions): (&String, &BTreeMap<String, String>)) -> (CleanText, CleanText) {
    let each: Vec<String> = versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    (format!("software of {}", text::line(variant)).into(), each.join(", ").into())
}

/// When the run was continued after it had ended early.
fn continuations(manifest: &Manifest) -> Option<(CleanText, CleanText)> {
    let times: Vec<String> = manifest.continued.iter().map(|continued| second(continued.at)).collect();
    (!times.is_empty()).then(|| ("continued".into(), times.join(", ").into()))
}

/// A time to the second, in UTC.
fn second(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Shapes that a stage of the program covers, and those that it skips.
fn shapes<'a>(inputs: &ReportInputs<'_>, covered: impl Iterator<Item = &'a ShapeName>) -> CleanText {
    let covered: BTreeSet<&ShapeName> = covered.collect();
    let names = |wanted: bool| -> Vec<String> {
        let shapes = inputs.phase.workload.shapes.iter().map(|shape| &shape.name);
        shapes.filter(|name| covered.contains(name) == wanted).map(|name| name.to_string()).collect()
    };
    match (names(true), names(false)) {
        (at, _) if at.is_empty() => "no shape".into(),
        (at, not) if not.is_empty() => CleanText::whole(&at.join(", ")),
        (at, not) => CleanText::whole(&format!("{}; not at {}", at.join(", "), not.join(", "))),
    }
}

/// Variants that share the measurements of one with the same machine code and launches.
fn shared(inputs: &ReportInputs<'_>) -> String {
    let shared = inputs.run.builds.iter().filter(|build| build.shares.is_some()).count();
    match shared {
        0 => "none".to_owned(),
        _ => format!("{}: same machine code and launches as another variant", number::counted(shared, "variant")),
    }
}

fn state(manifest: &Manifest) -> String {
    match (manifest.state, &manifest.stopped) {
        (RunState::Complete, _) => "complete".to_owned(),
        (RunState::Interrupted, _) => "stopped by a signal".to_owned(),
        (RunState::Running, Some(why)) => format!("ended early: {why}"),
        (RunState::Running, None) => "its end was not recorded (killed, or the disk was full)".to_owned(),
    }
}

/// Exclusions from the numbers, by reason, with the number of variants concerned.
pub fn missing(inputs: &ReportInputs<'_>) -> Vec<String> {
    let mut reasons = Reasons::default();
    for build in &inputs.run.builds {
        match &build.outcome {
            BuildOutcome::Failed { message } => {
                reasons.add("does not compile", message.lines().next().unwrap_or_default(), &build.variant.0);
            }
            BuildOutcome::Refused { reasons: why, .. } => {
                reasons.add("never launched", &why.join("; "), &build.variant.0);
            }
            BuildOutcome::Built { left_out, .. } => {
                let variant = inputs.plan.variant(&build.variant);
                // A shape that `where` excludes is not missing.
                let is_missing = |shape| variant.is_none_or(|variant| variant.left_out_at(shape).is_none());
                for out in left_out.iter().filter(|out| is_missing(&out.shape)) {
                    let why = format!("at shape {}: {}", out.shape, out.reasons.join("; "));
                    reasons.add("not launched", &why, &build.variant.0);
                }
            }
            BuildOutcome::NotNeeded => {}
        }
    }
    for check in &inputs.run.checks {
        match &check.outcome {
            CheckOutcome::Crashed { reason } => reasons.add("crashed", reason, &check.variant.0),
            CheckOutcome::Skipped { reason } => reasons.add("not checked", reason, &check.variant.0),
            CheckOutcome::Correct { .. } | CheckOutcome::Wrong { .. } => {}
        }
    }
    for latency in &inputs.run.latencies {
        match &latency.outcome {
            LatencyOutcome::Cheats { reason, .. } => reasons.add("cheats", reason, &latency.variant.0),
            LatencyOutcome::Wrong { reason, .. } => reasons.add("wrong", reason, &latency.variant.0),
            LatencyOutcome::Failed { reason } => reasons.add("not timed", reason, &latency.variant.0),
            LatencyOutcome::Timed { .. } => {}
        }
    }
    for profile in &inputs.run.profiles {
        if let ProfileOutcome::Failed { reason } = &profile.outcome {
            reasons.add("not profiled", reason, &profile.variant.0);
        }
    }
    let mut lines = reasons.lines();
    lines.extend(unseen(inputs));
    lines.extend(super::deep_profile::missing(inputs));
    if inputs.run.manifest.state != RunState::Complete {
        lines.insert(0, format!("the run is incomplete: {}", state(&inputs.run.manifest)));
    }
    lines
}

/// Variants without any record.
fn unseen(inputs: &ReportInputs<'_>) -> Option<String> {
    let built: std::collections::HashSet<_> = inputs.run.builds.iter().map(|b| &b.variant).collect();
    let absent = inputs.plan.variants.iter().filter(|v| !built.contains(&v.id)).count();
    let absent = (absent > 0).then(|| number::counted(absent, "variant"))?;
    Some(format!("{absent} of the plan have no record: the run did not reach them"))
}

/// Reasons with the variants they concern.
#[derive(Default)]
struct Reasons(BTreeMap<(&'static str, String), Vec<String>>);

impl Reasons {
    fn add(&mut self, what: &'static str, why: &str, variant: &str) {
        let variants = self.0.entry((what, text::line(why))).or_default();
        if variants.last().is_none_or(|last| last != variant) {
            variants.push(variant.to_owned());
        }
    }

    fn lines(&self) -> Vec<String> {
        let line = |((what, why), variants): (&(&'static str, String), &Vec<String>)| {
            format!("{what}: {}: {why}", text::listed(variants.iter().map(|name| text::line(name)), 1, ", "))
        };
        self.0.iter().map(line).collect()
    }
}

/// Commands that judge and render the same run, and that re-measure it.
pub fn reproduce(inputs: &ReportInputs<'_>) -> Vec<String> {
    let file = quoted(&CleanText::from(inputs.phase.file.display().to_string()));
    if let RunSource::Foreign { files, .. } = &inputs.source {
        let files: Vec<String> = files.iter().map(|file| format!(" {}", quoted(&CleanText::from(file)))).collect();
        return vec![format!("ncugate gate {file}{}", files.concat())];
    }
    let mut commands = Vec::new();
    // Only a valid commit goes into a command that a reader pastes.
    let git = inputs.run.manifest.git.as_ref().filter(|git| is_commit(&git.commit));
    if let Some(git) = git.filter(|git| !git.dirty) {
        commands.push(format!("git checkout {}", git.commit));
    }
    if let RunSource::Recorded { .. } | RunSource::Unasked { .. } = &inputs.source {
        commands.push(format!("ncugate run {file} --source recorded"));
    }
    if let Some(git) = git.filter(|git| git.dirty) {
        commands.push(format!("# not measurable again: its files differed from commit {}", git.commit));
        return commands;
    }
    let base = inputs.phase.base.as_ref().filter(|base| is_commit(&base.commit));
    let base = base.map_or_else(String::new, |base| format!(" --base {}", base.commit));
    commands.push(format!("ncugate run {file} --source gpu{base}"));
    commands
}

/// An argument quoted for a shell.
pub fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}
