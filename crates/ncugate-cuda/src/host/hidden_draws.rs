//! Inputs and expected outputs of hidden seeds, computed during the checks if the host alone can compute the reference.

use super::case_draw::declared_on_host;
use super::shared_outputs::{SharedFile, available_memory, file_of, read_or};
use crate::gpu::ArenaLayout;
use crate::prove::{CaseDraw, ExpectedOutputError, ReferenceSpec, ShapeSpec};
use crate::time::{HiddenCase, LEAST_CONTENTS, TimingSettings};
use ncugate_model::{ShapeName, Tolerance};
use std::collections::HashMap;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time limit for computing the expected outputs of a shape. Beyond it, sets share contents.
const REFERENCE_TIME: Duration = Duration::from_millis(100);
/// Maximum size of the cases computed before their shape is timed, over all shapes, in bytes, and the maximum share of the
/// available memory: several processes of a confirmation prepare at once. The rest is computed when its shape is timed.
const AHEAD_BYTES: usize = 8 << 30;
const AHEAD_SHARE: usize = 8;

/// Maximum number of calls of a reference program at once.
pub(super) const MOST_CALLS: usize = 4;

/// The cases of a shape, or the first seed that failed and why.
pub(super) type HiddenCases = Result<Vec<HiddenCase>, (u64, ExpectedOutputError)>;

/// The sources of the cases of hidden seeds, for the shapes whose cases the host can compute alone.
#[derive(Debug)]
pub(super) struct HiddenJob {
    reference: ReferenceSpec,
    tolerance: Tolerance,
    shapes: Vec<ShapeSpec>,
    settings: TimingSettings,
    l2_bytes: u64,
    shared: Vec<SharedFile>,
}

impl HiddenJob {
    pub(super) fn new<'s>(
        reference: &ReferenceSpec,
        tolerance: Tolerance,
        timed: impl Iterator<Item = &'s ShapeSpec>,
        settings: TimingSettings,
        l2_bytes: u64,
    ) -> Self {
        let on_host = match reference {
            ReferenceSpec::Builtin(_) | ReferenceSpec::Npy { .. } | ReferenceSpec::Program { .. } => true,
            ReferenceSpec::Entry { .. } | ReferenceSpec::None => false,
        };
        let mut left = most_bytes();
        let fits = |shape: &&ShapeSpec| {
            let seeds = seeds(shape, &settings, l2_bytes).len();
            let fitting = left.checked_sub(bytes_of(shape).saturating_mul(seeds));
            left = fitting.unwrap_or(left);
            fitting.is_some()
        };
        let has_seeds = !settings.hidden.inputs.is_empty();
        let shapes = timed.filter(|_| on_host && has_seeds).filter(fits).cloned().collect();
        Self { reference: reference.clone(), tolerance, shapes, settings, l2_bytes, shared: Vec::new() }
    }

    /// The same with files that other workers share.
    pub(super) fn sharing(self, shared: &[SharedFile]) -> Self {
        Self { shared: shared.to_vec(), ..self }
    }
}

/// Maximum size of cases that are computed early, in bytes.
pub(super) fn most_bytes() -> usize {
    AHEAD_BYTES.min(available_memory() / AHEAD_SHARE)
}

/// Bytes of one case: inputs, poison and expected outputs.
pub(super) fn bytes_of(shape: &ShapeSpec) -> usize {
    let of_buffer = |buffer: &crate::gpu::BufferSpec| {
        let answers = if buffer.role.is_compared() { buffer.room() * size_of::<f64>() } else { 0 };
        buffer.bytes() + answers
    };
    shape.buffers.iter().map(of_buffer).sum()
}

/// Cases in computation.
pub(super) struct HiddenDraws(Option<JoinHandle<HashMap<ShapeName, HiddenCases>>>);

impl HiddenDraws {
    pub(super) fn begin(job: HiddenJob) -> Self {
        Self(std::thread::Builder::new().name("hidden draws".to_owned()).spawn(move || made(job)).ok())
    }

    /// Whether all cases are computed.
    pub(super) fn are_made(&self) -> bool {
        self.0.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for all cases.
    pub(super) fn wait(self) -> HashMap<ShapeName, HiddenCases> {
        self.0.and_then(|made| made.join().ok()).unwrap_or_default()
    }
}

/// The results of calls that can each use all cores, a few at once.
pub(super) fn at_once<T: Sync, R: Send>(calls: &[T], call: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let together = |few: &[T]| -> Vec<R> {
        std::thread::scope(|scope| {
            let running: Vec<_> = few.iter().map(|one| scope.spawn(|| call(one))).collect();
            running.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    };
    calls.chunks(MOST_CALLS).flat_map(together).collect()
}

fn made(job: HiddenJob) -> HashMap<ShapeName, HiddenCases> {
    let HiddenJob { reference, tolerance, shapes, settings, l2_bytes, shared } = job;
    let started = Instant::now();
    // A program takes at least the time of its start, so every shape has the least number of contents.
    let is_program = matches!(reference, ReferenceSpec::Program { .. });
    let drawn = |(shape, seed): &(&ShapeSpec, u64)| declared_on_host((&reference, &tolerance), shape, *seed);
    let least =
        |shape| seeds(shape, &settings, l2_bytes).iter().take(LEAST_CONTENTS as usize).map(move |seed| (shape, *seed));
    let first: Vec<(&ShapeSpec, u64)> =
        shapes.iter().filter(|_| is_program && shared.is_empty()).flat_map(least).collect();
    let draws = at_once(&first, drawn);
    let mut first: HashMap<_, _> = first.iter().map(|(shape, seed)| (shape.name.clone(), *seed)).zip(draws).collect();
    let of_shape = |shape: &ShapeSpec| {
        let seeds = seeds(shape, &settings, l2_bytes);
        let compute = || {
            if is_program && !shared.is_empty() {
                let own: Vec<_> = seeds.iter().take(LEAST_CONTENTS as usize).map(|seed| (shape, *seed)).collect();
                let names = own.iter().map(|(shape, seed)| (shape.name.clone(), *seed));
                first.extend(names.zip(at_once(&own, drawn)));
            }
            let started = if is_program { started } else { Instant::now() };
            cases(shape, seeds, started, |seed| {
                first.remove(&(shape.name.clone(), seed)).unwrap_or_else(|| drawn(&(shape, seed)))
            })
        };
        let cases = read_or(file_of(&shared, shape), (&reference, &tolerance), (shape, seeds), compute);
        (shape.name.clone(), cases)
    };
    shapes.iter().map(of_shape).collect()
}

/// The cases of `seeds`, as far as the time for references since `started` allows.
pub(super) fn cases(
    shape: &ShapeSpec,
    seeds: &[u64],
    started: Instant,
    mut draw: impl FnMut(u64) -> Result<CaseDraw, ExpectedOutputError>,
) -> HiddenCases {
    let mut cases = Vec::with_capacity(seeds.len());
    for &seed in seeds {
        if cases.len() >= LEAST_CONTENTS as usize && started.elapsed() > REFERENCE_TIME {
            break;
        }
        let draw = draw(seed).map_err(|error| (seed, error))?;
        // Draw the poison now rather than while the device waits for it.
        draw.poisoned(shape);
        cases.push(HiddenCase { seed, draw });
    }
    Ok(cases)
}

pub(super) fn seeds<'s>(shape: &ShapeSpec, settings: &'s TimingSettings, l2_bytes: u64) -> &'s [u64] {
    let all = &settings.hidden.inputs;
    let contents = settings.contents(ArenaLayout::new(&shape.buffers).bytes(), l2_bytes) as usize;
    &all[..contents.min(all.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{JobMode, JobPurpose, WorkerJob};
    use ncugate_fixtures::{phase, plan};
    use ncugate_model::{BuiltKernel, EntrySymbols, VariantId};
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn job() -> (WorkerJob, TimingSettings) {
        let built = BuiltKernel {
            cubin: PathBuf::from("a.cubin"),
            symbols: EntrySymbols::default(),
            launch: None,
            left_out: Vec::new(),
        };
        let cubins = BTreeMap::from([(VariantId("a".into()), built)]);
        let job = WorkerJob::new(&phase(), &plan(&["a"]), &cubins, JobPurpose::Bench).unwrap();
        let JobMode::Bench(settings) = job.mode.clone() else { panic!("{:?}", job.mode) };
        (job, settings)
    }

    #[test]
    fn the_cases_of_timed_shapes_are_made_with_their_answers() {
        let (job, settings) = job();
        let mut made = HiddenDraws::begin(job.hidden(&settings, 0, &HashMap::new())).wait();
        assert_eq!(made.keys().map(|name| name.0.as_str()).collect::<Vec<_>>(), ["l"], "the other shape is not timed");
        let known = HashMap::from([(ShapeName("l".into()), Ok(Vec::new()))]);
        assert!(job.hidden(&settings, 0, &known).shapes.is_empty(), "the device has made them");
        let cases = made.remove(&ShapeName("l".into())).unwrap().unwrap();
        assert_eq!(cases.iter().map(|case| case.seed).collect::<Vec<_>>(), settings.hidden.inputs);
        assert!(
            cases.len() >= LEAST_CONTENTS as usize && cases.iter().all(|case| case.draw.expected[0].values.len() == 64)
        );
        assert_ne!(cases[0].draw.inputs, cases[1].draw.inputs);
    }

    #[test]
    fn what_needs_the_device_or_too_much_memory_is_made_later() {
        let (mut job, mut settings) = job();
        job.shapes
            .iter_mut()
            .for_each(|shape| shape.buffers.iter_mut().for_each(|buffer| buffer.extents = vec![1 << 30]));
        assert!(job.hidden(&settings, 0, &HashMap::new()).shapes.is_empty(), "too large");
        let (mut job, _) = self::job();
        job.reference = ReferenceSpec::None;
        assert!(job.hidden(&settings, 0, &HashMap::new()).shapes.is_empty());
        settings.hidden.inputs.clear();
        let (job, _) = self::job();
        assert!(HiddenDraws::begin(job.hidden(&settings, 0, &HashMap::new())).wait().is_empty(), "nothing is verified");
    }
}
