//! A small phase with its plan, for tests.

use ncugate_model::Dtype;
use ncugate_model::Role;
use ncugate_model::VariantId;
use ncugate_model::expr::Expr;
use ncugate_model::{Better, Law};
use ncugate_model::{ShapeName, Tolerance};
use ncugate_phase::config::{
    BenchSettings, Buffer, BufferType, BuildSettings, CounterPolicy, DeepProfileTarget, GatePlan, L2State, Laws,
    Objective, Phase, ProfileSettings, RowOrder, Shape, Sweep, Verification, Workload, WorkloadReference,
};
use ncugate_phase::plan::{
    Arg, KernelCode, KernelPlan, Method, Plan, ShapeProgram, Step, Variant, VariantRole, reference_launch,
};
use std::path::PathBuf;
use std::time::Duration;

/// A phase that copies `x` of `[N]` to `y`, shapes `s` (N = 8, not timed) and `l` (N = 64), seeds 0 and 1.
pub fn phase() -> Phase {
    let shapes = [("s", 8), ("l", 64)]
        .map(|(name, n)| Shape { name: ShapeName(name.into()), dims: vec![("N".to_owned(), n)] })
        .to_vec();
    let buffer = |name: &str, dtype, role| Buffer {
        name: name.to_owned(),
        dtype: BufferType::Fixed(dtype),
        shape: vec![Expr::parse("N").unwrap()],
        init: None,
        role,
        reduce: None,
        compare: Vec::new(),
        order: RowOrder::AsExpected,
    };
    let large = ShapeName("l".into());
    Phase {
        file: PathBuf::new(),
        root: PathBuf::new(),
        text: String::new(),
        project: None,
        name: "copy".to_owned(),
        title: "Copy".to_owned(),
        objective: Objective { metric: "latency_p50".to_owned(), better: Better::Lower, shape: large.clone() },
        select: ncugate_phase::config::Selection::Best,
        recording: None,
        build: BuildSettings::default(),
        toolchains: Vec::new(),
        bench: BenchSettings {
            warmup: 1,
            rounds: 3,
            max_rounds: 3,
            processes: 5,
            min_sample: Duration::from_millis(1),
            max_launches: 100,
            buffer_sets: 2,
            l2: L2State::Rotate,
            verify: Verification::Audited,
            timeout: Duration::from_secs(20),
            shapes: vec![large.clone()],
        },
        profile: ProfileSettings {
            ncu: None,
            shapes: vec![large],
            metrics: Vec::new(),
            timeout: Duration::from_secs(60),
            repeat: 1,
            deep_profile: DeepProfileTarget::Selected,
        },
        counting: CounterPolicy::IfPossible,
        groups: Vec::new(),
        check: Default::default(),
        workload: Workload {
            seeds: vec![0, 1],
            laws: Laws::Given(vec![Law::Declared]),
            reference: WorkloadReference::Builtin { name: "copy".to_owned(), options: Vec::new() },
            tolerance: Tolerance { max_abs: Some(1e-3), ..Tolerance::default() },
            own_bounds: Vec::new(),
            checks: Vec::new(),
            untested_tolerance: ncugate_phase::config::UntestedTolerance::Refused,
            scalars: Vec::new(),
            shapes,
            buffers: vec![buffer("x", Dtype::F32, Role::Input), buffer("y", Dtype::F16, Role::Output)],
            flops: None,
            bytes: None,
        },
        kernel: None,
        sweep: Sweep::default(),
        search: None,
        variants: Vec::new(),
        baselines: Vec::new(),
        gates: Vec::new(),
        gate_plan: GatePlan::default(),
        rules: Vec::new(),
        imported: None,
        base: None,
        sms: None,
    }
}

/// A plan of kernel variants with these names, launched at both shapes of [`phase`].
pub fn plan(names: &[&str]) -> Plan {
    let program = |shape: &str| {
        let args = vec![Arg::Buffer("x".to_owned()), Arg::Buffer("y".to_owned())];
        let launch = reference_launch("copy", ([1, 1, 1], [32, 1, 1]), args);
        ShapeProgram::new(ShapeName(shape.into()), vec![Step::Launch(launch)])
    };
    let variant = |name: &&str| Variant {
        id: VariantId((*name).into()),
        standing: VariantRole::Candidate,
        params: Vec::new(),
        method: Method::Kernel(KernelPlan {
            source: PathBuf::from("copy.cu"),
            linked: Vec::new(),
            code: KernelCode::Cuda,
            flags: Vec::new(),
            defines: Vec::new(),
            programs: vec![program("s"), program("l")],
        }),
    };
    Plan { variants: names.iter().map(variant).collect() }
}
