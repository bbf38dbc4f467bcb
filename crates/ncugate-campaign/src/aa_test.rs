use super::cubins::cubins;
use super::error::CampaignError;
use super::tools::Tools;
use jiff::Timestamp;
use ncugate_cuda::build::{Builder, Cache, Deduplication};
use ncugate_cuda::host::{JobPurpose, WorkerCommand, WorkerEvent, WorkerJob, measure};
use ncugate_judge::reference_runs::{Calibration, Conditions, NoiseBook, RunSpread, ShapeNoise};
use ncugate_judge::store::StoreError;
use ncugate_model::stats::StatsError;
use ncugate_model::{BuildRecord, BuiltKernel, LatencyOutcome, ShapeName, VariantId};
use ncugate_phase::config::Phase;
use ncugate_phase::plan::{Method, Plan, Variant};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Samples of the two sides of an A/A test at a shape, in microseconds.
type AaSamples = Vec<(ShapeName, [Vec<f64>; 2])>;

/// Why a calibration yields no noise estimate.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// The result cannot be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No variant can be timed.
    #[error("cannot calibrate: {0}")]
    Untimed(String),
}

/// Times the requested variant, or else the first candidate that builds, against itself in the given number of fresh
/// processes, one after the other. Stores the result in the phase's book of noise and returns the book.
///
/// # Errors
/// No kernel builds, the variant cannot be timed, or the book cannot be written.
pub fn calibrate(
    phase: &Phase,
    plan: &Plan,
    asked: Option<&str>,
    runs: u32,
    tools: &Tools,
    profiles: &Path,
) -> Result<(Calibration, NoiseBook), CalibrationError> {
    let untimed = CalibrationError::Untimed;
    let (variant, cubin) =
        built(phase, plan, asked, tools)?.ok_or_else(|| untimed("no candidate kernel builds".to_owned()))?;
    let folder = profiles.join(&phase.name).join("calibration");
    std::fs::create_dir_all(&folder)
        .map_err(|source| CampaignError::Io { what: "create a folder for the calibration", source })?;
    let mut tests = Vec::new();
    for _ in 0..runs.max(1) {
        tests.push(aa_test(phase, (variant, &cubin), &tools.worker, &folder)?.map_err(untimed)?);
    }
    let shapes = noise_by_shape(&tests).map_err(|error| untimed(error.to_string()))?;
    let conditions = Conditions::ahead(phase, &tools.fingerprint());
    let found = Calibration { conditions, variant: variant.id.clone(), measured: Timestamp::now(), shapes };
    let mut book = NoiseBook::open(profiles, &phase.name)?;
    book.keep(found.clone())?;
    Ok((found, book))
}

/// Noise within a process (from the first process) and between processes (from the variant's first side in each).
fn noise_by_shape(tests: &[AaSamples]) -> Result<Vec<ShapeNoise>, StatsError> {
    let Some(first) = tests.first() else { return Ok(Vec::new()) };
    let noise = |(shape, [a, b]): &(ShapeName, [Vec<f64>; 2])| {
        let of_shape = |test: &AaSamples| test.iter().find(|(other, _)| other == shape).map(|(_, [a, _])| a.clone());
        let runs: Vec<Vec<f64>> = tests.iter().filter_map(of_shape).collect();
        Ok(ShapeNoise { between: RunSpread::of(&runs)?, ..ShapeNoise::of(shape, a, b)? })
    };
    first.iter().map(noise).collect()
}

/// Builds the variant, or else the first candidate that builds; returns it with its cubin.
fn built<'a>(
    phase: &Phase,
    plan: &'a Plan,
    asked: Option<&str>,
    tools: &Tools,
) -> Result<Option<(&'a Variant, BuiltKernel)>, CampaignError> {
    let (arch, cache) = (tools.arch(phase)?, Cache::of_user(phase.build.cache.as_deref())?);
    let builder = Builder::new(&tools.nvcc, &arch, &cache, Deduplication::Each).with_python_of(phase)?;
    let wanted = |variant: &&Variant| asked.is_none_or(|id| variant.id.0 == id);
    for variant in plan.candidates().filter(|v| matches!(v.method, Method::Kernel(_))).filter(wanted) {
        let alone = Plan { variants: vec![variant.clone()] };
        let mut sink = |_: &BuildRecord| io::Result::Ok(());
        let records = builder.build(&alone, &|_| {}, &mut sink)?;
        if let Some(built) = cubins(&alone, &records, |_| true).into_values().next() {
            return Ok(Some((variant, built)));
        }
    }
    Ok(None)
}

/// Times a variant against itself at every timed shape; worker files go to `folder`. A shape that cannot be timed
/// yields the reason.
fn aa_test(
    phase: &Phase,
    (variant, built): (&Variant, &BuiltKernel),
    worker: &WorkerCommand,
    folder: &Path,
) -> Result<Result<AaSamples, String>, CampaignError> {
    let names = ["A", "B"].map(|side| VariantId(format!("{} ({side})", variant.id).into()));
    let side = |id: &VariantId| Variant { id: id.clone(), ..variant.clone() };
    let plan = Plan { variants: names.iter().map(side).collect() };
    let cubins: BTreeMap<VariantId, BuiltKernel> = names.iter().map(|id| (id.clone(), built.clone())).collect();
    let job = WorkerJob::new(phase, &plan, &cubins, JobPurpose::Time)?;
    let mut records = Vec::new();
    let mut sink = |event| {
        if let WorkerEvent::Timed(record) = event {
            records.push(record);
        }
        Ok(())
    };
    CampaignError::unless_complete(measure(job, worker, None, phase.bench.timeout, folder, &mut sink)?)?;
    let samples = |id: &VariantId, shape: &ShapeName| {
        let record = records.iter().find(|record| &record.variant == id && &record.shape == shape);
        match record.map(|record| &record.outcome) {
            Some(LatencyOutcome::Timed { samples, .. }) => Ok(samples.clone()),
            Some(
                LatencyOutcome::Cheats { reason, .. }
                | LatencyOutcome::Wrong { reason, .. }
                | LatencyOutcome::Failed { reason },
            ) => Err(format!("{id} at {shape}: {reason}")),
            None => Err(format!("{id} was not timed at {shape}")),
        }
    };
    let pair = |shape: &ShapeName| Ok((shape.clone(), [samples(&names[0], shape)?, samples(&names[1], shape)?]));
    Ok(phase.bench.shapes.iter().map(pair).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::{EntrySymbols, LatencyRecord};
    use ncugate_phase::plan::unroll;

    const PHASE: &str = concat!(
        include_str!("../../../tests/data/copy.toml"),
        "[[variant]]\nname = \"copy\"\nparams = { THREADS = 64 }\n"
    );

    /// The A/A test with a worker that reports these records.
    fn timed(outcomes: [LatencyOutcome; 2]) -> (Result<AaSamples, String>, WorkerJob) {
        let phase = ncugate_phase::config::parse(Path::new("calm.toml"), PHASE).unwrap();
        let plan = unroll(&phase).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut script = format!("cp $1 {}/job\n", folder.path().display());
        for (side, outcome) in ["A", "B"].into_iter().zip(outcomes) {
            let variant = VariantId(format!("{} ({side})", plan.variants[0].id).into());
            let record = LatencyRecord { variant, shape: ShapeName("only".into()), outcome };
            script.push_str(&format!("echo '{}'\n", serde_json::to_string(&WorkerEvent::Timed(record)).unwrap()));
        }
        script.push_str(&format!("echo '{}'\n", serde_json::to_string(&WorkerEvent::Done).unwrap()));
        let path = folder.path().join("worker.sh");
        std::fs::write(&path, script).unwrap();
        let worker = WorkerCommand::new("sh".into(), vec![path.display().to_string()]);
        let built = BuiltKernel {
            cubin: "x.cubin".into(),
            symbols: EntrySymbols::default(),
            launch: None,
            left_out: Vec::new(),
        };
        let subject = (&plan.variants[0], &built);
        let pairs = aa_test(&phase, subject, &worker, folder.path()).unwrap();
        (pairs, serde_json::from_slice(&std::fs::read(folder.path().join("job")).unwrap()).unwrap())
    }

    #[test]
    fn a_variant_is_timed_against_itself_in_the_same_rounds() {
        let outcome = |us| LatencyOutcome::Timed { samples: vec![us; 60], launches: 3, audit: None, gpu: None };
        let (pairs, job) = timed([outcome(1.0), outcome(2.0)]);
        assert_eq!(pairs.unwrap(), [(ShapeName("only".into()), [vec![1.0; 60], vec![2.0; 60]])]);
        assert_eq!(job.kernels.len(), 2);
        assert_eq!(job.kernels[0].cubin, job.kernels[1].cubin);
        assert!(job.kernels.iter().all(|kernel| kernel.cases.is_empty()));
    }

    #[test]
    fn processes_that_differ_give_a_spread_and_fewer_than_three_do_not() {
        let test = |us: f64| vec![(ShapeName("only".into()), [vec![us; 60], vec![us; 60]])];
        let tests = [10.0, 10.1, 9.9, 10.2, 9.8].map(test);
        let noise = noise_by_shape(&tests).unwrap();
        let spread = noise[0].between.as_ref().unwrap();
        assert!((spread.median_sd_pct - 1.581).abs() < 1e-3 && spread.runs == 5, "{spread:?}");
        assert!(noise_by_shape(&tests[..2]).unwrap()[0].between.is_none());
    }

    #[test]
    fn a_side_that_crashes_gives_no_noise() {
        let good = LatencyOutcome::Timed { samples: vec![1.0; 60], launches: 3, audit: None, gpu: None };
        let (pairs, _) = timed([good, LatencyOutcome::Failed { reason: "crashed".to_owned() }]);
        assert!(pairs.unwrap_err().ends_with("(B) at only: crashed"));
    }
}
