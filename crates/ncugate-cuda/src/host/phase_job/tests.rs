//! Jobs made of a small phase.

use super::*;
use crate::prove::ReferenceSpec;
use ncugate_fixtures::{phase, plan};
use ncugate_model::expr::Expr;
use ncugate_model::{CheckOutcome, CheckRecord, EntrySymbols, LatencyOutcome, LatencyRecord, Role, ShapeName};
use ncugate_phase::config::{Buffer, Init, Scalar, ScalarType, WorkloadReference};
use std::path::PathBuf;

fn cubins(names: &[&str]) -> BTreeMap<VariantId, BuiltKernel> {
    let built = |name: &str| BuiltKernel {
        cubin: PathBuf::from(format!("{name}.cubin")),
        symbols: EntrySymbols::default(),
        launch: None,
        left_out: Vec::new(),
    };
    names.iter().map(|n| (VariantId((*n).into()), built(n))).collect()
}

fn job(phase: &Phase) -> Result<WorkerJob, JobError> {
    WorkerJob::new(phase, &plan(&["a", "b", "c"]), &cubins(&["a", "c"]), JobPurpose::Bench)
}

fn scalar(name: &str, dtype: ScalarType, value: &str) -> Scalar {
    Scalar { name: name.to_owned(), dtype, value: Expr::parse(value).unwrap() }
}

#[test]
fn a_job_has_everything_evaluated_and_survives_its_file() {
    let mut phase = phase();
    phase.workload.scalars =
        vec![scalar("third", ScalarType::F32, "1 / 3"), scalar("tiles", ScalarType::I32, "N // TILE")];
    let job = job(&phase).unwrap();
    assert_eq!(job.kernels.iter().map(|k| k.variant.0.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(job.kernels[0].cases.len(), 4);
    assert_eq!(job.kernels[0].shapes, [ShapeName("l".into())]);
    assert_eq!(job.shapes[1].buffers[0].extents, [64]);
    assert_eq!(job.shapes[1].buffers[0].init, Some(Init::Normal { mean: 0.0, std: 1.0 }));
    assert_eq!(job.shapes[0].scalars["third"], f64::from(1f32 / 3f32), "as the kernel sees it");
    assert_eq!(job.shapes[0].varying, ["tiles"]);
    let text = serde_json::to_string(&job).unwrap();
    assert_eq!(serde_json::from_str::<WorkerJob>(&text).unwrap(), job);
}

#[test]
fn scratch_has_an_element_for_each_sm_of_the_gpu() {
    let mut phase = phase();
    let y = phase.workload.buffers[1].clone();
    let shape = vec![Expr::parse("2 * sms").unwrap()];
    phase.workload.buffers.push(Buffer { name: "partial".to_owned(), role: Role::Scratch, shape, init: None, ..y });
    for sms in [108, 148] {
        let job = job(&phase.clone().on_gpu(Some(sms))).unwrap();
        assert_eq!(job.shapes[1].buffers[2].extents, [2 * sms as usize]);
        assert_eq!(job.kernels[0].extents[1].1.buffers, BTreeMap::from([(2, vec![2 * sms as usize])]));
    }
}

#[test]
fn a_profile_job_has_inputs_that_nobody_knows_and_what_is_right_for_them() {
    let new = || WorkerJob::new(&phase(), &plan(&["a"]), &cubins(&["a"]), JobPurpose::Profile).unwrap();
    let (job, other) = (new(), new());
    let JobMode::Profile(ProfiledInputs { repeats, warm_up, .. }) = &job.mode else { panic!("{:?}", job.mode) };
    assert!(repeats.len() == 1 && !job.seeds.contains(&repeats[0]) && job.mode != other.mode, "{repeats:?}");
    assert_ne!(*warm_up, repeats[0], "a warm-up call tells nothing about the profiled one");
    assert_ne!(job.reference, ReferenceSpec::None);
    assert!(job.kernels[0].cases.is_empty() && !job.kernels[0].shapes.is_empty());
}

#[test]
fn settled_work_is_taken_off() {
    let mut job = job(&phase()).unwrap();
    let (variant, shape) = (VariantId("a".into()), ShapeName("l".into()));
    let outcome = CheckOutcome::Crashed { reason: "x".to_owned() };
    job.settle_check(&CheckRecord { variant: variant.clone(), shape: shape.clone(), seed: 1, outcome, nulls: 0 });
    assert_eq!(job.kernels[0].cases.len(), 3);
    assert_eq!(job.kernels[0].unverified.as_deref(), Some("not timed: crashed (x) at l, seed 1"));
    let outcome = LatencyOutcome::Failed { reason: String::new() };
    job.settle_latency(&LatencyRecord { variant, shape, outcome });
    assert!(job.kernels[0].shapes.is_empty() && !job.is_settled());
    job.kernels.clear();
    assert!(job.is_settled());
}

#[test]
fn a_job_that_could_prove_nothing_is_refused() {
    let refused = |edit: &dyn Fn(&mut Phase)| {
        let mut phase = phase();
        edit(&mut phase);
        job(&phase).unwrap_err()
    };
    assert_eq!(refused(&|p| p.workload.tolerance.max_abs = None), JobError::Tolerance);
    assert_eq!(refused(&|p| p.workload.tolerance.max_abs = Some(f64::INFINITY)), JobError::Tolerance);
    assert_eq!(refused(&|p| p.workload.seeds.clear()), JobError::NoSeeds);
    assert_eq!(refused(&|p| drop(p.workload.buffers.pop())), JobError::NoOutput);
    let expression = |text: &str| vec![Expr::parse(text).unwrap()];
    assert!(matches!(refused(&|p| p.workload.buffers[0].shape = expression("N - 8")), JobError::Extents { .. }));
    assert!(matches!(refused(&|p| p.workload.buffers[0].shape = expression("N * 10 ** 17")), JobError::Extents { .. }));
    assert!(matches!(refused(&|p| p.workload.buffers[0].shape = expression("M")), JobError::Expression { .. }));
    assert!(matches!(refused(&|p| p.workload.buffers[0].shape = expression("N * 2")), JobError::Reference(_)));
    assert!(matches!(refused(&|p| p.workload.buffers[0].name = "z".to_owned()), JobError::UnknownBuffer { .. }));
}

#[test]
fn a_reference_entry_is_launched_from_a_cubin_of_the_source() {
    let mut phase = phase();
    let expression = |text: &str| vec![Expr::parse(text).unwrap()];
    let entry = |grid: &str| WorkloadReference::Entry {
        source: None,
        entry: "plain".to_owned(),
        grid: expression(grid),
        block: [expression("1"), expression("2")].concat(),
        args: Vec::new(),
    };
    phase.workload.reference = entry("N // 2");
    let ReferenceSpec::Entry { cubin, programs, .. } = job(&phase).unwrap().reference else { panic!("not an entry") };
    assert_eq!(cubin, PathBuf::from("a.cubin"));
    let launch = programs[1].single().unwrap();
    assert_eq!((launch.entry.as_str(), launch.grid, launch.block), ("plain", [32, 1, 1], [1, 2, 1]));
    assert_eq!(launch.args.len(), 2);
    let own = |args: &[&str]| {
        let WorkloadReference::Entry { entry, source, grid, block, .. } = entry("1") else { panic!("an entry") };
        let args = args.iter().map(|name| (*name).to_owned()).collect();
        WorkloadReference::Entry { entry, source, grid, block, args }
    };
    phase.workload.reference = own(&["y", "N", "x"]);
    let ReferenceSpec::Entry { programs, .. } = job(&phase).unwrap().reference else { panic!("not an entry") };
    assert_eq!(
        programs[1].single().unwrap().args[1],
        ncugate_phase::plan::Arg::Scalar(ncugate_phase::plan::ScalarValue::I32(64))
    );
    phase.workload.reference = own(&["z"]);
    assert!(matches!(job(&phase), Err(JobError::ReferenceArguments(_))));
    phase.workload.reference = entry("N - 8");
    assert!(matches!(job(&phase), Err(JobError::ReferenceLaunch { what: "grid", .. })));
    let none = WorkerJob::new(&phase, &plan(&["a"]), &cubins(&[]), JobPurpose::Bench);
    assert!(matches!(none, Err(JobError::NoReferenceCubin { .. })));
}
