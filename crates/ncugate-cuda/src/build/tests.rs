//! The build with a real nvcc.

mod cache;

use super::cache::Artifact;
use super::compile::{BuildProgress, Builder, Deduplication};
use super::nvcc::tests::for_test;
use super::nvcc::{CompileUnit, Nvcc};
use super::{Arch, Cache, prove_tools, ptxas};
use ncugate_fixtures::at_root;
use ncugate_model::ComputeCapability;
use ncugate_model::ShapeName;
use ncugate_model::VariantId;
use ncugate_model::cubin::{Entry, LineTable};
use ncugate_model::expr::Value;
use ncugate_model::{BuildOutcome, BuildRecord};
use ncugate_phase::config::{CodeForm, OutOfBoundsFill, Toolchain};
use ncugate_phase::plan::{
    Arg, CommandPlan, FunctionPlan, HostCode, KernelCode, KernelLaunch, KernelPlan, L2Promotion, Method, Plan,
    ScalarValue, ShapeProgram, Step, Swizzle, TensorMap, Variant, VariantRole, reference_launch,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

fn data(name: &str) -> PathBuf {
    PathBuf::from("tests/data/cuda").join(name)
}

fn unit(source: PathBuf, flags: &[&str]) -> CompileUnit {
    CompileUnit {
        source,
        linked: Vec::new(),
        code: CodeForm::Cuda,
        flags: flags.iter().map(|&f| f.to_owned()).collect(),
        defines: Vec::new(),
        constants: Vec::new(),
        entries: Vec::new(),
    }
}

fn compiled(builder: &Builder<'_>, unit: &CompileUnit) -> Artifact {
    builder.compile_together(std::slice::from_ref(unit)).unwrap().remove(0).unwrap()
}

fn args(list: &str) -> Vec<Arg> {
    let arg = |c| match c {
        'p' => Arg::Buffer("x".to_owned()),
        't' => Arg::TensorMap(TensorMap {
            name: "x_tile".to_owned(),
            buffer: "x".to_owned(),
            box_dims: vec![32],
            swizzle: Swizzle::None,
            layout: None,
            element_strides: Vec::new(),
            l2_promotion: L2Promotion::default(),
            oob_fill: OutOfBoundsFill::default(),
        }),
        _ => Arg::Scalar(ScalarValue::I32(1)),
    };
    list.chars().map(arg).collect()
}

fn kernel(source: PathBuf, entry: &str, signature: &str) -> KernelPlan {
    let launch = reference_launch(entry, ([16, 1, 1], [128, 1, 1]), args(signature));
    let program = ShapeProgram::new(ShapeName("mission".into()), vec![Step::Launch(launch)]);
    KernelPlan {
        source,
        linked: Vec::new(),
        code: KernelCode::Cuda,
        flags: Vec::new(),
        defines: Vec::new(),
        programs: vec![program],
    }
}

/// The first launch of a kernel.
fn launch(kernel: &mut KernelPlan) -> &mut KernelLaunch {
    let first = kernel.programs[0].steps.iter_mut().find_map(|step| match step {
        Step::Launch(launch) => Some(launch),
        Step::Memset(_) | Step::Memcpy(_) => None,
    });
    first.unwrap()
}

/// The same with a second launch, of this entry with these arguments.
fn and_then(mut kernel: KernelPlan, entry: &str, signature: &str) -> KernelPlan {
    let second = reference_launch(entry, ([16, 1, 1], [128, 1, 1]), args(signature));
    kernel.programs[0].steps.push(Step::Launch(second));
    kernel
}

fn plan(methods: Vec<(&str, Method)>) -> Plan {
    let variant = |(id, method): (&str, Method)| Variant {
        id: VariantId(id.into()),
        standing: VariantRole::Candidate,
        params: Vec::new(),
        method,
    };
    Plan { variants: methods.into_iter().map(variant).collect() }
}

fn build(nvcc: &Nvcc, cache: &Path, arch: &str, sharing: Deduplication, plan: &Plan) -> Vec<BuildRecord> {
    let (cache, arch) = (Cache::at(cache).unwrap(), arch.parse::<Arch>().unwrap());
    let builder = Builder::new(nvcc, &arch, &cache, sharing);
    let (mut seen, heard) = (Vec::new(), Mutex::new(Vec::new()));
    let progress = |p: BuildProgress| heard.lock().unwrap().push((p.done, p.total));
    let mut sink = |record: &BuildRecord| {
        seen.push(record.clone());
        Ok(())
    };
    let records = builder.build(plan, &progress, &mut sink).unwrap();
    assert_eq!(seen, records);
    assert_eq!(
        records.iter().map(|r| &r.variant).collect::<Vec<_>>(),
        plan.variants.iter().map(|v| &v.id).collect::<Vec<_>>()
    );
    let total = plan.variants.len();
    assert_eq!(heard.into_inner().unwrap(), (1..=total).map(|done| (done, total)).collect::<Vec<_>>());
    records
}

fn one(nvcc: &Nvcc, cache: &Path, arch: &str, kernel: KernelPlan) -> BuildOutcome {
    let plan = plan(vec![("v", Method::Kernel(kernel))]);
    build(nvcc, cache, arch, Deduplication::Share, &plan).remove(0).outcome
}

fn cached(outcome: &BuildOutcome) -> bool {
    match outcome {
        BuildOutcome::Built { cached, .. } => *cached,
        other => panic!("not built: {other:?}"),
    }
}

fn failure(outcome: BuildOutcome) -> String {
    match outcome {
        BuildOutcome::Failed { message } => message,
        other => panic!("not failed: {other:?}"),
    }
}

fn refusal(outcome: BuildOutcome) -> String {
    match outcome {
        BuildOutcome::Refused { reasons, .. } => reasons.join("\n"),
        other => panic!("not refused: {other:?}"),
    }
}

fn assert_agrees(artifact: &Artifact, name: &str, arch: &Arch) {
    let entry = Entry::read(&artifact.bytes, name, arch.capability()).unwrap();
    let told = ptxas::report(&artifact.log, name).unwrap();
    let used = entry.resources;
    assert_eq!(used.registers, told.registers, "registers of {name} for {arch}");
    assert_eq!(used.stack, told.stack_frame, "stack of {name} for {arch}");
    assert_eq!(used.static_shared, told.static_shared, "shared memory of {name} for {arch}");
    assert_eq!(used.barriers, told.barriers, "barriers of {name} for {arch}");
    let marked = (entry.marked_spills.local_stores, entry.marked_spills.local_loads);
    assert_eq!(marked, (told.spill_stores, told.spill_loads), "spilled bytes of {name} for {arch}");
    assert_eq!(used.spills > 0, told.spill_stores > 0, "spills of {name} for {arch}");
}

/// Compares every entry of the test sources, read from cubins of one chip per generation, with ptxas's report.
#[test]
fn resources_of_a_cubin_equal_those_that_ptxas_reports() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path()).unwrap();
    let sources: [(&str, &[&str], &[&str]); 4] = [
        ("spill.cu", &["-maxrregcount=32"], &["spilling"]),
        ("local_array.cu", &[], &["local_array"]),
        ("shared_arrays.cu", &[], &["shared_arrays", "second"]),
        ("calls.cu", &["-maxrregcount=32"], &["calls", "prints", "clustered"]),
    ];
    for arch in ["sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"]
        .map(|a| a.parse::<Arch>().unwrap())
    {
        let builder = Builder::new(&nvcc, &arch, &cache, Deduplication::Each);
        for (source, flags, entries) in sources {
            if source == "calls.cu" && arch.capability().major < 9 {
                continue; // clusters came with 9.0
            }
            let artifact = compiled(&builder, &unit(data(source), flags));
            for name in entries {
                assert_agrees(&artifact, name, &arch);
            }
        }
    }
}

#[test]
fn the_kernels_that_ship_are_read_as_ptxas_reports_them() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path()).unwrap();
    // wgmma exists on Hopper and on no later chip.
    let arch: Arch = "sm_90a".parse().unwrap();
    let builder = Builder::new(&nvcc, &arch, &cache, Deduplication::Each);
    // Baselines are separate programs, compiled with their own requirements.
    let families = fs::read_dir("kernels").unwrap().map(|family| family.unwrap().path());
    let families = families.filter(|family| !family.ends_with("baselines"));
    let files = families.flat_map(|family| fs::read_dir(family).unwrap()).map(|file| file.unwrap().path());
    let sources: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "cu")).collect();
    assert!(sources.len() >= 3);
    for source in sources {
        let artifact = compiled(&builder, &unit(source.clone(), &["-O3"]));
        let lines = artifact.log.lines().filter_map(|line| line.split_once("Compiling entry function '"));
        let entries: Vec<&str> = lines.filter_map(|(_, rest)| rest.split('\'').next()).collect();
        assert!(!entries.is_empty(), "{}", source.display());
        entries.iter().for_each(|entry| assert_agrees(&artifact, entry, &arch));
    }
}

/// The plan that keeps all of K and V in shared memory: it fits on an H200, not on an L4, and nowhere as static arrays.

#[test]
fn the_faulty_plan_is_refused_with_its_budget() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut whole = kernel(PathBuf::from("kernels/sdpa_scalar/sdpa_whole_kv.cu"), "sdpa_whole_kv", "ppppi");
    launch(&mut whole).args.push(Arg::Scalar(ScalarValue::F32(0.125)));
    launch(&mut whole).block = [192, 1, 1];
    launch(&mut whole).dynamic_shared = 209_152;
    let reason = refusal(one(&nvcc, folder.path(), "sm_89", whole.clone()));
    let expected = "shared memory per block on compute capability 8.9: 209152 bytes, limit 101376, 107776 over";
    assert!(reason.starts_with(expected), "{reason}");
    assert!(!cached(&one(&nvcc, folder.path(), "sm_90", whole.clone())));

    whole.defines = vec![("MAX_S".to_owned(), "512".to_owned())];
    launch(&mut whole).dynamic_shared = 0;
    for arch in ["sm_89", "sm_90"] {
        let message = failure(one(&nvcc, folder.path(), arch, whole.clone()));
        let arrays = "k_all 65536, scores 65536, v_all 65536, out 8192, q_tile 4096, row_sum 128; dynamic";
        let expected = format!("static shared memory per block: 209024 bytes, limit 49152, 159872 over: {arrays}");
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn a_local_array_is_not_a_spill() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let local = one(&nvcc, folder.path(), "sm_90", kernel(data("local_array.cu"), "local_array", "ppi"));
    let BuildOutcome::Built { resources, cubin, .. } = local else { panic!("{local:?}") };
    assert_eq!((resources.spills, resources.stack, resources.local), (0, 256, 256));
    assert!(fs::read_to_string(cubin.with_extension("ptx")).unwrap().contains(".entry local_array"));
    let left = fs::read_dir(folder.path().join("tmp")).unwrap().count();
    assert_eq!(left, 0, "the compiler's other files are removed");

    let mut spilling = kernel(data("spill.cu"), "spilling", "ppi");
    spilling.flags = vec!["-maxrregcount=32".to_owned()];
    let spilling = one(&nvcc, folder.path(), "sm_90", spilling);
    let BuildOutcome::Built { resources, log, .. } = spilling else { panic!("{spilling:?}") };
    assert!(resources.spills > 100 && resources.registers == 32 && resources.local >= resources.stack, "{resources:?}");
    assert_eq!(log, "", "reports of ptxas are not warnings");
}

/// The registers that a recursive function saves are spills that ptxas reports but does not mark.

#[test]
fn spills_that_are_not_marked_count_too() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let outcome = one(&nvcc, folder.path(), "sm_90", kernel(data("calls.cu"), "recursive", "pi"));
    let BuildOutcome::Built { resources, .. } = outcome else { panic!("{outcome:?}") };
    assert!(resources.spills > 0, "{resources:?}");
}

#[test]
fn bounds_parameters_and_clusters_are_read() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path()).unwrap();
    let arch = Arch::of(ComputeCapability::new(9, 0));
    let builder = Builder::new(&nvcc, &arch, &cache, Deduplication::Each);
    let artifact = compiled(&builder, &unit(data("calls.cu"), &[]));
    let clustered = Entry::read(&artifact.bytes, "clustered", ComputeCapability::new(9, 0)).unwrap();
    assert_eq!((clustered.cluster, clustered.max_threads), (Some([2, 1, 1]), Some(128)));
    assert_eq!(clustered.parameters, vec![8]);
    let calls = Entry::read(&artifact.bytes, "calls", ComputeCapability::new(9, 0)).unwrap();
    assert_eq!((calls.parameters, calls.max_threads, calls.cluster), (vec![8, 8, 4], None, None));
    let error = Entry::read(&artifact.bytes, "cals", ComputeCapability::new(9, 0)).unwrap_err().to_string();
    assert!(error.contains("did you mean `calls`?"), "{error}");
    for end in 0..artifact.bytes.len().min(4096) {
        let _ = Entry::read(&artifact.bytes[..end], "calls", ComputeCapability::new(9, 0));
    }
}

#[test]
fn failures_carry_the_message_and_the_others_go_on() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.cu");
    fs::write(&broken, "extern \"C\" __global__ void f() { int x = y; }\n").unwrap();
    let mangled = folder.path().join("mangled.cu");
    fs::write(&mangled, "__global__ void f() {}\n").unwrap();
    let command = CommandPlan { argv: vec!["true".to_owned()], kernel_filter: None };
    let plan = plan(vec![
        ("broken", Method::Kernel(kernel(broken, "f", ""))),
        ("absent", Method::Kernel(kernel(folder.path().join("absent.cu"), "f", ""))),
        ("unlike", Method::Kernel(kernel(mangled, "g", ""))),
        ("command", Method::Command(command)),
        ("oversized", Method::Kernel(kernel(data("oversized.cu"), "big", "p"))),
        ("good", Method::Kernel(kernel(data("shared_arrays.cu"), "second", "p"))),
    ]);
    let cache = folder.path().join("cache");
    let mut outcomes: Vec<_> =
        build(&nvcc, &cache, "sm_90", Deduplication::Share, &plan).into_iter().map(|r| r.outcome).collect();
    assert!(!cached(&outcomes.pop().unwrap()));
    let oversized = failure(outcomes.pop().unwrap());
    assert!(oversized.contains("uses too much shared data"), "{oversized}");
    assert!(
        oversized.contains("65664 bytes, limit 49152, 16512 over: tile_a 32768, tile_b 32768, flags 128"),
        "{oversized}"
    );
    assert_eq!(outcomes.pop(), Some(BuildOutcome::NotNeeded));
    assert!(failure(outcomes.pop().unwrap()).contains("no kernel `g` in the cubin; kernels: f()"));
    assert!(failure(outcomes.pop().unwrap()).contains("absent.cu"));
    assert!(failure(outcomes.pop().unwrap()).contains("identifier \"y\" is undefined"));
    assert_eq!(fs::read_dir(cache.join("tmp")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn launches_that_cannot_work_are_refused() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let shared = |change: &dyn Fn(&mut KernelLaunch)| {
        let mut kernel = kernel(data("shared_arrays.cu"), "shared_arrays", "pp");
        change(launch(&mut kernel));
        kernel
    };
    let on = |arch: &str, kernel| one(&nvcc, folder.path(), arch, kernel);
    let large = shared(&|l| l.dynamic_shared = 200_000);
    let reason = refusal(on("sm_89", large.clone()));
    assert!(reason.contains("204608 bytes, limit 101376, 103232 over: (dynamic) 200000, a 4096, b 512"), "{reason}");
    assert!(!cached(&on("sm_90", large)), "an H200 has room for it");
    assert!(refusal(on("sm_90", shared(&|l| l.block = [257, 1, 1]))).contains("launch bounds allow 256"));
    assert!(refusal(on("sm_90", shared(&|l| l.block = [2048, 1, 1]))).contains("at most 1024"));
    assert!(refusal(on("sm_90", shared(&|l| l.grid = [1, 70_000, 1]))).contains("65535"));
    assert!(refusal(on("sm_90", shared(&|l| l.args = args("p")))).contains("1 arguments, but the kernel takes 2"));
    assert!(
        refusal(on("sm_90", shared(&|l| l.args = args("pi"))))
            .contains("argument 2 (scalar 1 of type i32) has 4 bytes")
    );
    let mut wide = kernel(data("spill.cu"), "spilling", "ppi");
    launch(&mut wide).block = [1024, 1, 1];
    assert!(refusal(on("sm_90", wide)).contains("a block has at most 65536"));
    let mut cluster = kernel(data("calls.cu"), "clustered", "p");
    launch(&mut cluster).grid = [3, 1, 1];
    assert!(refusal(on("sm_90", cluster)).contains("not a multiple of the cluster"));
}

#[test]
fn a_program_of_two_kernels_is_built_whole_and_refused_by_launch() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let first = || kernel(data("shared_arrays.cu"), "shared_arrays", "pp");
    let two = and_then(first(), "second", "p");
    let BuildOutcome::Built { resources, entries, code_sha256, .. } = one(&nvcc, folder.path(), "sm_90", two.clone())
    else {
        panic!("it builds")
    };
    let [a, b] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((a.entry.as_str(), b.entry.as_str()), ("shared_arrays", "second"));
    assert_eq!(resources, a.resources.combine(b.resources));
    assert_eq!(resources.static_shared, a.resources.static_shared.max(b.resources.static_shared));
    let BuildOutcome::Built { code_sha256: alone, entries, .. } = one(&nvcc, folder.path(), "sm_90", first()) else {
        panic!("it builds")
    };
    assert!(entries.is_empty() && alone != code_sha256);
    let mut wrong = and_then(first(), "second", "pp");
    launch(&mut wrong).block = [257, 1, 1];
    let reason = refusal(one(&nvcc, folder.path(), "sm_90", wrong));
    assert!(reason.contains("launch 1 (`shared_arrays`): a block of 257 threads"), "{reason}");
    assert!(reason.contains("launch 2 (`second`): 2 arguments, but the kernel takes 1"), "{reason}");
    let absent = failure(one(&nvcc, folder.path(), "sm_90", and_then(two, "third", "p")));
    assert!(absent.contains("no kernel `third`"), "{absent}");
}

#[test]
fn tensor_maps_are_parameters_of_128_bytes() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let on = |signature| one(&nvcc, folder.path(), "sm_90", kernel(data("tensor_map.cu"), "tiled", signature));
    assert!(matches!(on("pti"), BuildOutcome::Built { .. }));
    let swapped = refusal(on("tpi"));
    assert_eq!(
        swapped,
        "argument 1 (tensor map `x_tile`) has 128 bytes, but the kernel takes 8; hint: for a `const CUtensorMap*`, write `{ pointers = [\"NAME\"] }`"
    );
    let plain = refusal(on("ppi"));
    assert!(plain.starts_with("argument 2 (buffer `x`) has 8 bytes, but the kernel takes 128; hint: "), "{plain}");
}

/// The toolkit determines the size of the struct.
#[test]
fn tensor_maps_can_be_in_structs_and_behind_pointers() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let on = |entry: &str, arguments: Vec<Arg>| {
        let mut kernel = kernel(data("tensor_map.cu"), entry, "p");
        launch(&mut kernel).args.extend(arguments);
        one(&nvcc, folder.path(), "sm_90", kernel)
    };
    let fields = |list: &str| Arg::Struct { align: None, fields: args(list) };
    assert!(matches!(on("tiled_struct", vec![fields("it")]), BuildOutcome::Built { .. }));
    let short = refusal(on("tiled_struct", vec![fields("t")]));
    assert!(short.starts_with("argument 2 (struct of 1 fields) has 128 bytes"), "{short}");
    let differs = "; hint: the first field that differs is `n` at bytes 0 to 4, where the phase has tensor map `x_tile` at bytes 0 to 128";
    assert!(short.ends_with(differs), "{short}");
    assert!(matches!(on("tiled_pointer", vec![Arg::Pointers(args("tt"))]), BuildOutcome::Built { .. }));
}

#[test]
fn the_field_of_a_struct_that_differs_is_named() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let on = |fields: Vec<Arg>| {
        let mut kernel = kernel(data("parameter_fields.cu"), "viewed<float>", "p");
        launch(&mut kernel).args.push(Arg::Struct { align: None, fields });
        one(&nvcc, folder.path(), "sm_90", kernel)
    };
    let (f64s, truth) = (|n| vec![Arg::Scalar(ScalarValue::F64(1.0)); n], || Arg::Scalar(ScalarValue::Bool(true)));
    let range = Arg::Struct { align: None, fields: f64s(2) };
    assert!(matches!(on([args("piii"), vec![range, truth()]].concat()), BuildOutcome::Built { .. }));
    for (fields, differs) in [
        (
            [args("pii"), f64s(2)].concat(),
            "`sizes` at bytes 8 to 20, where the phase has scalar 1 of type i32 at bytes 8 to 12",
        ),
        ([args("piiii"), f64s(1)].concat(), "`range.high` at bytes 32 to 40, where the phase has no field"),
        ([args("piii"), f64s(2)].concat(), "`whole` at bytes 40 to 41, where the phase has no field"),
    ] {
        let reason = refusal(on(fields));
        assert!(reason.contains(" bytes, but the kernel takes 48; hint: the first field that differs is "), "{reason}");
        assert!(reason.contains(differs), "{reason}");
    }
    let more = refusal(on([args("piii"), f64s(2), vec![truth()], f64s(1)].concat()));
    assert!(
        more.ends_with("; hint: `whole` is the last field, and the phase has scalar 1 of type f64 after it"),
        "{more}"
    );
}

/// Nothing is compiled, so the reason is not the compiler's message about missing instructions. The other variants continue.

#[test]
fn tensor_maps_are_refused_for_chips_without_bulk_copies() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(vec![
        ("bulk", Method::Kernel(kernel(folder.path().join("absent.cu"), "tiled", "pti"))),
        ("good", Method::Kernel(kernel(data("shared_arrays.cu"), "second", "p"))),
    ]);
    let mut records = build(&nvcc, &folder.path().join("cache"), "sm_89", Deduplication::Share, &plan);
    assert!(matches!(records.pop().unwrap().outcome, BuildOutcome::Built { .. }));
    let reasons = vec![
        "tensor map `x_tile` needs compute capability 9.0 or later; this is 8.9, without bulk tensor copies (TMA)"
            .to_owned(),
    ];
    assert_eq!(records.pop().unwrap().outcome, BuildOutcome::Refused { reasons, resources: None });
}

#[test]
fn an_architecture_that_nvcc_does_not_know_ends_the_build() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (cache, arch) = (Cache::at(folder.path()).unwrap(), Arch::of(ComputeCapability::new(9, 9)));
    let plan = plan(vec![("v", Method::Kernel(kernel(data("spill.cu"), "spilling", "ppi")))]);
    let mut seen = 0;
    let mut sink = |_: &BuildRecord| {
        seen += 1;
        Ok(())
    };
    let error = Builder::new(&nvcc, &arch, &cache, Deduplication::Share).build(&plan, &|_| {}, &mut sink).unwrap_err();
    assert!(error.to_string().contains("Unsupported gpu architecture 'sm_99'"), "{error}");
    assert_eq!(seen, 0);
    assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn kernels_are_found_by_their_cpp_names() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let built =
        |entry: &str, signature: &str| one(&nvcc, folder.path(), "sm_90", kernel(data("names.cu"), entry, signature));
    for (entry, signature) in [
        ("wide::scale<float, 128u, true>", "ppi"),
        ("wide::scale<float,256,false>", "ppi"),
        ("wide::plain", "p"),
        ("_ZN6narrow5plainEPf", "p"),
    ] {
        let outcome = built(entry, signature);
        assert!(matches!(outcome, BuildOutcome::Built { .. }), "{entry}: {outcome:?}");
    }
    let undefined = failure(built("scale<float, 128u, true>", "ppi"));
    assert!(undefined.starts_with("entries(2): error: identifier \"scale\" is undefined"), "{undefined}");
    let ambiguous = failure(built("plain", "p"));
    assert!(ambiguous.contains("matches 2 kernels") && ambiguous.contains("narrow::plain(float*)"), "{ambiguous}");
    let absent = failure(built("wide::plane", "p"));
    assert!(absent.contains("kernels: ") && absent.contains("wide::plain(float*)"), "{absent}");
}

/// The symbol of an entry that the compiler was asked for.
fn symbol(outcome: BuildOutcome, entry: &str) -> String {
    match outcome {
        BuildOutcome::Built { symbols, .. } => symbols.0[entry].clone(),
        other => panic!("{entry}: {other:?}"),
    }
}

#[test]
fn whatever_the_compiler_takes_for_a_kernel_is_found() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let half = "_ZN3lib4fillI6__halfLi2ELb1EEEvPT_";
    let entries = [
        ("lib::fill<half, 2>", half),
        ("lib::fill<scalar, 1 + 1, true>", half),
        ("lib::fill<lib::scalar, lib::NF4>", half),
        ("lib::fill<__half, sizeof(half)>", half),
        ("lib::fill<uint16_t, lib::WIDTH>", "_ZN3lib4fillItLi4ELb1EEEvPT_"),
        ("lib::fill<unsigned, 'a', false>", "_ZN3lib4fillIjLi97ELb0EEEvPT_"),
        ("lib::fill<std::int64_t, 4, !true>", "_ZN3lib4fillIlLi4ELb0EEEvPT_"),
        ("lib::map<float, lib::twice<float>>", "_ZN3lib3mapIfXadL_ZNS_5twiceIfEET_S2_EEEEvPS2_"),
        ("lib::map<float, &lib::twice>", "_ZN3lib3mapIfXadL_ZNS_5twiceIfEET_S2_EEEEvPS2_"),
        ("lib::copy<8>", "_ZN3lib4copyILi8EEENSt9enable_ifIXgtT_Li0EEvE4typeEPf"),
        ("lib::copy<0>", "_ZN3lib4copyILi0EEENSt9enable_ifIXeqT_Li0EEvE4typeEPf"),
        ("lib::over(float*, int)", "_ZN3lib4overEPfi"),
        ("void lib::over(float*)", "_ZN3lib4overEPf"),
    ];
    let variants = entries.iter().map(|(entry, _)| {
        let signature = if entry.contains("int)") { "pi" } else { "p" };
        (*entry, Method::Kernel(kernel(data("spellings.cuh"), entry, signature)))
    });
    let records = build(&nvcc, folder.path(), "sm_90", Deduplication::Each, &plan(variants.collect()));
    for (record, (entry, expected)) in records.into_iter().zip(entries) {
        assert_eq!(symbol(record.outcome, entry), expected, "{entry}");
    }
    let hidden = one(&nvcc, folder.path(), "sm_90", kernel(data("spellings.cuh"), "lib::hidden<3>", "p"));
    assert!(symbol(hidden, "lib::hidden<3>").contains("hiddenILi3E"));
    let forbidden =
        failure(one(&nvcc, folder.path(), "sm_90", kernel(data("spellings.cuh"), "lib::fill<float, 33>", "p")));
    assert!(forbidden.contains("N must not be 33"), "{forbidden}");
}

/// One compilation of the source serves all instances, and each has the machine code that it has alone.
#[test]
fn instances_of_a_source_are_compiled_together() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (log, counting) = (folder.path().join("log"), folder.path().join("nvcc"));
    let script = format!("#!/bin/sh\necho \"$1\" >> '{}'\nexec '{}' \"$@\"\n", log.display(), nvcc.path().display());
    ncugate_fixtures::write_program(&counting, &script);
    let counting = Nvcc::find(Some(&counting)).unwrap();
    fs::remove_file(&log).unwrap();

    let entries: Vec<String> = (1..=24).map(|n| format!("lib::fill<float, {n}>")).collect();
    fn methods(entries: &[String]) -> Vec<(&str, Method)> {
        entries
            .iter()
            .map(|entry| (entry.as_str(), Method::Kernel(kernel(data("spellings.cuh"), entry, "p"))))
            .collect()
    }
    let together = plan(methods(&entries));
    let cache = folder.path().join("together");
    let built = build(&counting, &cache, "sm_90", Deduplication::Each, &together);
    let calls = fs::read_to_string(&log).unwrap();
    let count = |kind: &str| calls.lines().filter(|line| *line == kind).count();
    assert!(count("-ptx") <= rayon::current_num_threads() && count("-cubin") == entries.len(), "{calls}");
    for (record, entry) in built.iter().zip(&entries).take(2) {
        let alone = one(&nvcc, &folder.path().join("alone"), "sm_90", kernel(data("spellings.cuh"), entry, "p"));
        let code = |outcome: &BuildOutcome| match outcome {
            BuildOutcome::Built { code_sha256, .. } => code_sha256.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(code(&record.outcome), code(&alone), "{entry}");
        let BuildOutcome::Built { cubin, .. } = &record.outcome else { panic!() };
        let ptx = fs::read_to_string(cubin.with_extension("ptx")).unwrap();
        assert!(ptx.contains(".target sm_90"), "the PTX is beside its machine code");
    }
    // one more instance compiles that one alone
    fs::remove_file(&log).unwrap();
    let more: Vec<String> = entries.iter().cloned().chain(["lib::fill<float, 25>".to_owned()]).collect();
    let again = build(&counting, &cache, "sm_90", Deduplication::Each, &plan(methods(&more)));
    assert_eq!(again.iter().filter(|record| cached(&record.outcome)).count(), entries.len());
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 2);
}

#[test]
fn machine_code_with_undefined_functions_is_refused() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("k.cu");
    fs::write(
        &source,
        "extern __device__ int other(int);\nextern \"C\" __global__ void k(int *x) { x[0] = other(x[0]); }\n",
    )
    .unwrap();
    let mut unlinked = kernel(source, "k", "p");
    unlinked.flags = vec!["-rdc=true".to_owned()];
    let message = failure(one(&nvcc, &folder.path().join("cache"), "sm_90", unlinked));
    assert!(message.contains("undefined after linking") && message.contains("`other(int)`"), "{message}");
}

/// `k` calls a function and reads a constant of another file.
const CALLER: &str = "extern __device__ int other(int);\nextern __constant__ int table[4];\n\
    template <int N> __global__ void k(int *x) { x[0] = other(x[0]) + table[N]; }\n";

/// Each kernel counts the rows of inlined calls from 1.
#[test]
fn lines_of_inlined_calls_are_in_the_kernel_that_makes_them() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("k.cu");
    let function = "__device__ __forceinline__ float scaled(float a, float b) {\n    return a * b + sinf(a);\n}\n";
    let body = |name: &str| {
        format!(
            "extern \"C\" __global__ void {name}(float *x) {{\n    x[0] = scaled(x[1], x[2]);\n    x[3] = scaled(x[4], x[5]);\n}}\n"
        )
    };
    fs::write(&source, [function.to_owned(), body("first"), body("second"), body("third")].concat()).unwrap();
    let flags = vec!["-O3".to_owned(), "-lineinfo".to_owned()];
    let third = KernelPlan { flags, ..kernel(source, "third", "p") };
    let BuildOutcome::Built { cubin, .. } = one(&nvcc, &folder.path().join("cache"), "sm_90", third) else {
        panic!("it builds")
    };
    let bytes = fs::read(cubin).unwrap();
    for (at, name) in (0u32..).zip(["first", "second", "third"]) {
        let table = LineTable::read(&bytes, name).unwrap();
        let chains: Vec<_> = (0..0x400).step_by(16).map(|offset| table.at(offset)).collect();
        let calls: Vec<u32> =
            chains.iter().filter(|chain| chain.len() > 1).map(|chain| chain.last().unwrap().line).collect();
        let first = 4 + 4 * at;
        assert!(!calls.is_empty() && calls.iter().all(|line| (first..first + 4).contains(line)), "{name}: {calls:?}");
    }
}

#[test]
fn several_sources_are_compiled_and_linked() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("k.cu"), CALLER).unwrap();
    fs::write(path("scale.cuh"), "#define SCALE 3\n").unwrap();
    let body = "__constant__ int table[4] = {1, 2, 3, 4};\n__device__ int other(int a) { return a * SCALE; }\n";
    fs::write(path("other.cu"), format!("#include \"scale.cuh\"\n{body}")).unwrap();
    let linked = |entry: &str, other: &str| {
        let flags = vec!["-O3".to_owned(), "-lineinfo".to_owned()];
        KernelPlan { linked: vec![path(other)], flags, ..kernel(path("k.cu"), entry, "p") }
    };
    let plan = plan(vec![
        ("one", Method::Kernel(linked("k<1>", "other.cu"))),
        ("two", Method::Kernel(linked("k<1 + 1>", "other.cu"))),
    ]);
    let (cache, arch) = (Cache::at(&path("cache")).unwrap(), "sm_90".parse::<Arch>().unwrap());
    let builder = Builder::new(&nvcc, &arch, &cache, Deduplication::Each);
    let records = builder.build(&plan, &|_| {}, &mut |_| Ok(())).unwrap();
    for (record, symbol) in records.iter().zip(["_Z1kILi1EEvPi", "_Z1kILi2EEvPi"]) {
        let BuildOutcome::Built { cubin, resources, symbols, cached, .. } = &record.outcome else {
            panic!("{record:?}")
        };
        let bytes = fs::read(cubin).unwrap();
        assert!(!cached);
        assert_eq!(symbols.0.values().collect::<Vec<_>>(), [symbol]);
        assert!(resources.registers > 0 && resources.spills == 0);
        assert!(!LineTable::read(&bytes, symbol).unwrap().is_empty());
    }
    // A toolkit inside the project has headers that were read too.
    let read: Vec<PathBuf> = builder.files_read().into_keys().filter(|file| file.starts_with(folder.path())).collect();
    assert_eq!(read, ["k.cu", "other.cu", "scale.cuh"].map(path));

    let again = |entry: &str, other: &str| one(&nvcc, &path("cache"), "sm_90", linked(entry, other));
    assert!(cached(&again("k<1 + 1>", "other.cu")));
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(path("scale.cuh"), "#define SCALE 5\n").unwrap();
    assert!(!cached(&again("k<1 + 1>", "other.cu")), "a header of the second source changed");

    fs::write(path("less.cu"), "__device__ int other(int a) { return a; }\n").unwrap();
    let message = failure(again("k<1 + 1>", "less.cu"));
    assert!(message.contains("undefined after linking") && message.contains("k.cu, ") && message.contains("`table`"));
    fs::write(path("broken.cu"), "int x = y;\n").unwrap();
    assert!(failure(again("k<1 + 1>", "broken.cu")).contains("broken.cu(1): error"));
    let launches =
        "__global__ void child(int *x) { x[0] = 1; }\nextern \"C\" __global__ void k(int *x) { child<<<1, 1>>>(x); }\n";
    fs::write(path("launches.cu"), launches).unwrap();
    let launches = KernelPlan { flags: vec!["-rdc=true".to_owned()], ..kernel(path("launches.cu"), "k", "p") };
    assert!(failure(one(&nvcc, &path("cache"), "sm_90", launches)).contains("dynamic parallelism"));
}

/// A function that computes the arguments of its kernel on the host.
const LAUNCHER: &str = "#include \"scale.cuh\"\nnamespace lib {\n\
    template <int N> __global__ void k(float *x, int n) { x[threadIdx.x] = N * SCALE * n; }\n\
    template <int N> cudaError_t launch(float *x, int n, cudaStream_t stream) {\n\
    k<N><<<n / FACTOR, 32, 0, stream>>>(x, n);\n return cudaGetLastError();\n}\n\
    template <int N> void streamless(float *x, int n, bool twice = false) { k<N><<<n, twice ? 64 : 32>>>(x, n); }\n}\n";

#[test]
fn host_code_is_built_and_its_kernels_have_resources() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("lib.cu"), LAUNCHER).unwrap();
    fs::write(path("scale.cuh"), "#define SCALE 3\n").unwrap();
    let launched = |function: &str| {
        let args = vec![Arg::Buffer("x".to_owned()), Arg::Scalar(ScalarValue::I32(1))];
        let call = Step::Launch(reference_launch(function, ([1; 3], [1; 3]), args));
        let programs = vec![ShapeProgram::new(ShapeName("mission".into()), vec![call])];
        let host =
            HostCode { flags: vec!["-O1".to_owned()], defines: vec![("FACTOR".to_owned(), "8".to_owned())], programs };
        let (file, function) = (path("lib.cu"), function.to_owned());
        Method::Function(FunctionPlan { file, function, kernel_filter: None, host: Some(host) })
    };
    let (cache, arch) = (Cache::at(&path("cache")).unwrap(), "sm_90".parse::<Arch>().unwrap());
    let builder = Builder::new(&nvcc, &arch, &cache, Deduplication::Each);
    let functions = ["launch", "streamless", "missing"].map(|name| (name, launched(&format!("lib::{name}<2>"))));
    let mut records = builder.build(&plan(functions.into()), &|_| {}, &mut |_| Ok(())).unwrap();
    let message = failure(records.pop().unwrap().outcome);
    assert!(message.contains("missing"), "{message}");
    assert!(matches!(records.pop().unwrap().outcome, BuildOutcome::Built { .. }), "a function without a stream");
    let BuildOutcome::Built { cubin, resources, entries, .. } = records.pop().unwrap().outcome else {
        panic!("not built")
    };
    assert_eq!(entries.iter().map(|entry| entry.entry.as_str()).collect::<Vec<_>>(), ["_ZN3lib1kILi2EEEvPfi"]);
    assert!(resources.registers > 0 && cubin.is_file());
    let read = builder.files_read();
    assert!(["lib.cu", "scale.cuh"].iter().all(|name| read.contains_key(&path(name))), "{read:?}");
}

#[test]
fn a_constant_of_the_source_is_the_dynamic_shared_memory_of_a_launch() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("traits.cu");
    let text = "template <int N> struct Traits { static constexpr int kSmemSize = N * sizeof(float); };\nint later = 1;\n\
        extern \"C\" __global__ void k(float *x) { extern __shared__ float s[]; s[threadIdx.x] = 1; x[0] = s[0]; }\n";
    fs::write(&source, text).unwrap();
    let built = |constant: &str| {
        let mut plan = kernel(source.clone(), "k", "p");
        launch(&mut plan).shared_constant = Some(constant.to_owned());
        let outcome = one(&nvcc, folder.path(), "sm_90", plan.clone());
        let launched = |launch: Option<&ncugate_model::CompiledLaunch>| {
            plan.programs[0].compiled_as(launch).launches().next().unwrap().dynamic_shared
        };
        match outcome {
            BuildOutcome::Built { launch, .. } => Ok(launched(launch.as_ref())),
            BuildOutcome::Failed { message } => Err(message),
            other => Err(format!("{other:?}")),
        }
    };
    for _ in 0..2 {
        assert_eq!(built("Traits<1024>::kSmemSize"), Ok(4096), "the second time from the cache");
    }
    assert_eq!(built("Traits<0>::kSmemSize"), Ok(0));
    assert!(built("Traits<1024 * 1024>::kSmemSize").unwrap_err().contains("4194304"), "it does not fit");
    assert!(built("later").unwrap_err().contains("constant"));
    assert!(built("Traits<4>::kSmem").unwrap_err().contains("kSmem"));
    assert!(built("-1").unwrap_err().contains("dynamic shared memory"));
    assert!(built("1ull << 40").unwrap_err().contains("is no size of shared memory"));
}

#[test]
fn a_struct_of_6000_bytes_is_not_passed_as_a_pointer() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let reasons = refusal(one(&nvcc, folder.path(), "sm_90", kernel(data("names.cu"), "large", "ppi")));
    assert!(reasons.contains("6000"), "{reasons}");
}

#[test]
fn ptx_is_assembled_and_cached() {
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("twice.ptx");
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry twice(.param .u64 p, .param .u32 n)\n{\nret;\n}\n";
    fs::write(&ptx, text).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    let kernel = || KernelPlan { code: KernelCode::Ptx, ..kernel(ptx.clone(), "twice", "pi") };
    assert!(!cached(&one(&nvcc, folder.path(), "sm_90", kernel())));
    assert!(cached(&one(&nvcc, folder.path(), "sm_90", kernel())));
    fs::write(&ptx, text.replace("ret;", "garbage;")).unwrap();
    assert!(failure(one(&nvcc, folder.path(), "sm_90", kernel())).contains("twice.ptx"));
}

#[test]
fn a_template_of_an_enumerator_in_a_header_is_built() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let built = |entry: &str| one(&nvcc, folder.path(), "sm_90", kernel(data("enumerators.cuh"), entry, "pp"));
    let symbol = |entry: &str| match built(entry) {
        BuildOutcome::Built { code_sha256, .. } => code_sha256,
        other => panic!("{entry}: {other:?}"),
    };
    // The header has its own instance for `twice`.
    let (twice, thrice) = (symbol("apply<float, 64, Times::twice>"), symbol("apply<float, 32, Times::thrice>"));
    assert_ne!(twice, thrice);
    let same_threads = symbol("apply<float, 64, Times::thrice>");
    assert!(same_threads != twice && same_threads != thrice);
    assert!(matches!(built("plainly"), BuildOutcome::Built { log, .. } if log.is_empty()), "no warning of a header");
    let absent = failure(built("apply<float, 64, Times::never>"));
    assert!(absent.contains("never"), "{absent}");
}

#[test]
fn a_kernel_includes_the_headers_of_a_package_and_is_compiled_again_after_a_change_of_them() {
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    write("site/torch/__init__.py", "");
    let header = write("site/torch/include/ATen/mine.h", "#define VALUE 1.0f\n");
    let source = write("k.cu", "#include <ATen/mine.h>\nextern \"C\" __global__ void k(float* y) { *y = VALUE; }\n");
    let mut phase = ncugate_fixtures::phase();
    phase.build.pythonpath = vec![folder.path().join("site")];
    let built = |phase: &ncugate_phase::config::Phase| {
        let (cache, arch) = (Cache::at(&folder.path().join("cache")).unwrap(), "sm_90".parse::<Arch>().unwrap());
        let builder = Builder::new(&nvcc, &arch, &cache, Deduplication::Each).with_python_of(phase).unwrap();
        let plan = plan(vec![("v", Method::Kernel(kernel(source.clone(), "k", "p")))]);
        let outcome = builder.build(&plan, &|_| {}, &mut |_| Ok(())).unwrap().remove(0).outcome;
        (outcome, builder.files_read())
    };
    assert!(failure(built(&phase).0).contains("mine.h"), "the package is not asked for");
    phase.build.include = vec!["torch".to_owned()];
    let (first, files) = built(&phase);
    assert!(!cached(&first) && files.contains_key(&header), "a header without a version is an input: {files:?}");
    assert!(cached(&built(&phase).0));
    fs::write(&header, "#define VALUE 2.0f\n").unwrap();
    assert!(!cached(&built(&phase).0));
}

#[test]
fn a_toolchain_that_spills_is_named_with_its_line_and_an_equal_one_shares_everything() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    };
    let script = write("capped", &format!("#!/bin/sh\nexec {} \"$@\" -maxrregcount=24\n", nvcc.path().display()));
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let text = "extern \"C\" __global__ void k(float* y) {\n  float a[48];\n#pragma unroll\n  \
                for (int i = 0; i < 48; ++i) a[i] = y[i * 128 + threadIdx.x];\n  __syncthreads();\n#pragma unroll\n  \
                for (int i = 0; i < 48; ++i) y[i * 128 + threadIdx.x] = a[47 - i] * a[i];\n}\n";
    let mut kernel = kernel(write("k.cu", text), "k", "p");
    kernel.flags = vec!["-lineinfo".to_owned()];
    let mut phase = ncugate_fixtures::phase();
    let toolchain =
        |name: &str, nvcc: &Path| Toolchain { name: name.to_owned(), nvcc: Some(nvcc.to_owned()), python: None };
    phase.toolchains = vec![toolchain("a", nvcc.path()), toolchain("same", nvcc.path()), toolchain("capped", &script)];
    let mut plan =
        plan(["k", "k,toolchain=same", "k,toolchain=capped"].map(|id| (id, Method::Kernel(kernel.clone()))).into());
    for (variant, name) in plan.variants.iter_mut().zip(["a", "same", "capped"]) {
        variant.params.push(("toolchain".to_owned(), Value::Text(name.to_owned())));
    }
    let (cache, arch) = (Cache::at(&folder.path().join("cache")).unwrap(), "sm_90".parse::<Arch>().unwrap());
    let builder = Builder::new(&nvcc, &arch, &cache, Deduplication::Share).with_python_of(&phase).unwrap();
    let records = builder.build(&plan, &|_| {}, &mut |_| Ok(())).unwrap();
    let built = |at: usize| match &records[at].outcome {
        BuildOutcome::Built { resources, growth, .. } => (*resources, growth.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(records[1].shares.as_ref(), Some(&records[0].variant));
    assert_eq!((&built(0), records[2].shares.as_ref()), (&built(1), None), "a script is another compiler");
    let ((first, none), (capped, growth)) = (built(0), built(2));
    assert!(first.registers > 24 && capped.registers <= 24 && first.spills == 0 && capped.spills > 0);
    let growth = growth.unwrap();
    assert!(none.is_none() && growth.after > growth.before && growth.place.contains("/k.cu:"), "{growth:?}");
    assert_eq!(builder.toolchain_software("capped").unwrap()["nvcc"], nvcc.version());

    phase.toolchains[2].nvcc = Some("/nowhere/nvcc".into());
    let error = prove_tools(&phase, &plan, &arch).unwrap_err().to_string();
    assert!(error.starts_with("`toolchains.capped.nvcc`: nvcc not found"), "{error}");
}
