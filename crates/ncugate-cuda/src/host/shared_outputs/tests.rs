use super::*;
use crate::host::hidden_draws::HiddenDraws;
use crate::host::{JobFunction, JobPurpose};
use crate::prove::Builtin;
use crate::time::TimingSettings;
use ncugate_fixtures::{phase, plan};
use ncugate_model::{BuiltKernel, EntrySymbols, NanRule, VariantId};
use std::collections::BTreeMap;

fn job() -> WorkerJob {
    let cubin = PathBuf::from("a.cubin");
    let built = BuiltKernel { cubin, symbols: EntrySymbols::default(), launch: None, left_out: Vec::new() };
    let cubins = BTreeMap::from([(VariantId("a".into()), built)]);
    WorkerJob::new(&phase(), &plan(&["a"]), &cubins, JobPurpose::Time).unwrap()
}

fn settings(job: &WorkerJob) -> TimingSettings {
    let JobMode::Bench(settings) = &job.mode else { panic!("{:?}", job.mode) };
    settings.clone()
}

/// The cases of the only timed shape.
fn cases(job: &WorkerJob) -> Vec<HiddenCase> {
    let mut made = HiddenDraws::begin(job.hidden(&settings(job), 0, &std::collections::HashMap::new())).wait();
    made.remove(&ShapeName("l".into())).unwrap().unwrap()
}

fn outputs(cases: &[HiddenCase]) -> Vec<(u64, Vec<ExpectedOutput>)> {
    cases.iter().map(|case| (case.seed, case.draw.expected.clone())).collect()
}

#[test]
fn a_second_process_reads_what_the_first_computed_for_the_same_inputs() {
    let (mut first, mut second) = (job(), job());
    assert_ne!(settings(&first).hidden.inputs, settings(&second).hidden.inputs);
    let shared = SharedOutputs::of(&first).unwrap();
    [&mut first, &mut second].into_iter().for_each(|job| shared.lend(job));
    assert_eq!(settings(&first).hidden.inputs, settings(&second).hidden.inputs);
    assert_ne!(
        settings(&first).hidden.schedule,
        settings(&second).hidden.schedule,
        "audits are drawn for each process"
    );
    let computed = cases(&first);
    // A reference that fails: only the file has answers.
    second.reference = ReferenceSpec::Npy { path: "/nowhere/{{ shape }}".to_owned() };
    let read = cases(&second);
    assert_eq!(outputs(&read), outputs(&computed));
    let inputs = |cases: &[HiddenCase]| cases.iter().map(|case| case.draw.inputs.clone()).collect::<Vec<_>>();
    assert_eq!(inputs(&read), inputs(&computed));
}

#[test]
fn all_answers_of_a_case_are_read_with_their_bits() {
    let job = job();
    let shape = job.shape(&ShapeName("l".into())).unwrap();
    let tolerance = Tolerance { nan: NanRule::Allowed, ..job.tolerance };
    let elements = shape.buffers.iter().find(|buffer| buffer.role.is_compared()).unwrap().compared_elements();
    let (output, seeds) = (cases(&job)[0].draw.expected[0].buffer, settings(&job).hidden.inputs);
    let answer = |first: f64| {
        let values = (0..elements).map(|at| if at == 0 { first } else { at as f64 / 3.0 }).collect();
        vec![ExpectedOutput { buffer: output, values }]
    };
    let draw = |seed| {
        let inputs = CaseInputs::draw(shape, seed).unwrap();
        let draw = CaseDraw::new(Law::Declared, inputs, answer(f64::NAN), &[1.0]);
        draw.with_others(shape, vec![answer(f64::INFINITY)]).with_plain_error(Some(0.1))
    };
    let made: Vec<HiddenCase> = seeds[..2].iter().map(|&seed| HiddenCase { seed, draw: draw(seed) }).collect();
    let (shared, mut lent) = (SharedOutputs::of(&job).unwrap(), job.clone());
    shared.lend(&mut lent);
    let file = file_of(&lent.shared, shape).unwrap();
    file.write(&made).unwrap();
    let read = file.read((&ReferenceSpec::Builtin(Builtin::Copy), &tolerance), shape, &seeds).unwrap();
    let bits = |case: &HiddenCase| {
        let values = case.draw.answers().flatten().flat_map(|output| &output.values);
        (case.seed, values.map(|value| value.to_bits()).collect::<Vec<_>>(), case.draw.plain_error())
    };
    assert_eq!(read.iter().map(bits).collect::<Vec<_>>(), made.iter().map(bits).collect::<Vec<_>>());
    assert_eq!(bits(&read[0]).1.len(), 2 * elements);
}

#[test]
fn only_a_sealed_file_of_the_same_seeds_and_shape_counts() {
    let mut job = job();
    let shared = SharedOutputs::of(&job).unwrap();
    shared.lend(&mut job);
    let (shape, seeds) = (job.shape(&ShapeName("l".into())).unwrap(), settings(&job).hidden.inputs);
    let (file, proof) = (file_of(&job.shared, shape).unwrap(), (&job.reference, &job.tolerance));
    assert!(file.read(proof, shape, &seeds).is_none(), "nothing was computed");
    let made = super::super::hidden_draws::cases(shape, &seeds, std::time::Instant::now(), |seed| {
        let inputs = CaseInputs::draw(shape, seed)?;
        let expected = crate::prove::expected_on_host(&job.reference, shape, seed, &inputs.values)?.unwrap();
        Ok(CaseDraw::new(Law::Declared, inputs, expected, &[1.0]))
    });
    let made = made.unwrap();
    std::fs::write(&file.path, "[]\nof a worker that crashed").unwrap();
    assert!(file.read(proof, shape, &seeds).is_none(), "not sealed");
    file.write(&made).unwrap();
    assert!(file.read(proof, shape, &seeds).is_some());
    let others: Vec<u64> = seeds.iter().map(|seed| seed ^ 1).collect();
    assert!(file.read(proof, shape, &others).is_none(), "other inputs");
    let mut larger = shape.clone();
    larger.buffers.iter_mut().for_each(|buffer| buffer.extents.push(2));
    assert!(file.read(proof, &larger, &seeds).is_none(), "another shape");
    assert!(file.write(&made).is_err(), "nobody writes to it again");
    assert!(std::fs::write(&file.path, "").is_err());
}

#[test]
fn host_code_of_a_candidate_shares_nothing_and_memory_is_bounded() {
    let own = job();
    let mut function = job();
    let of_python = JobFunction {
        file: PathBuf::from("f.py"),
        name: "f".to_owned(),
        params: Vec::new(),
        language: crate::host::job::FunctionLanguage::Python,
        profiled: None,
    };
    function.kernels[0].function = Some(of_python);
    assert!(SharedOutputs::of(&function).is_none());
    let (shared, before) = (SharedOutputs::of(&own).unwrap(), function.clone());
    shared.lend(&mut function);
    assert_eq!(function, before, "its inputs stay its own");
    let bytes = 64 * size_of::<f64>() * settings(&own).hidden.inputs.len();
    assert!(SharedOutputs::within(&own, bytes).is_some());
    assert!(SharedOutputs::within(&own, bytes - 1).is_none());
}
