//! The shipped phases, from their text to their plan.

use super::{
    Arg, BufferElement, L2Promotion, MapLayout, Method, Plan, ScalarValue, Step, Swizzle, TensorMap, VariantRole,
    unroll,
};
use crate::config::{OutOfBoundsFill, Phase, load, parse};
use ncugate_fixtures::root;
use ncugate_model::{CompiledArg, CompiledLaunch, LaunchExtents, LaunchMode, ShapeLaunch};
use std::path::Path;

fn phase_d() -> Phase {
    load(Path::new("configs/phase_d.toml"), &root(), jiff::civil::date(2026, 6, 15)).unwrap_or_else(|e| panic!("{e}"))
}

/// `phase_d` with a piece of its text replaced.
fn edited(from: &str, to: &str) -> Phase {
    let text = phase_d().text;
    assert!(text.contains(from));
    parse(Path::new("phase.toml"), &text.replacen(from, to, 1)).unwrap_or_else(|e| panic!("{e}"))
}

fn plan(phase: &Phase) -> Plan {
    unroll(phase).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn phase_d_has_ninety_candidates_with_stable_ids() {
    let plan = plan(&phase_d());
    let ids: Vec<&str> = plan.candidates().map(|v| v.id.0.as_str()).collect();
    assert_eq!(ids.len(), 90);
    assert_eq!(ids[0], "REGCAP=64,THREADS=128,TILE_M=32,K_TILE=16");
    assert_eq!(ids[1], "REGCAP=64,THREADS=128,TILE_M=32,K_TILE=32");
    assert_eq!(ids[89], "REGCAP=96,THREADS=256,TILE_M=64,K_TILE=64");
    let baselines: Vec<&str> = plan.baselines().map(|v| v.id.0.as_str()).collect();
    assert_eq!(baselines, ["sdpa_flash", "sdpa_efficient"]);
    assert!(plan.variants[90..].iter().all(|v| v.standing == VariantRole::Baseline));
}

#[test]
fn a_candidate_has_flags_defines_and_a_launch_at_every_shape() {
    let plan = plan(&phase_d());
    let Method::Kernel(kernel) = &plan.variants[89].method else { panic!("a kernel") };
    assert_eq!(kernel.flags, ["-O3", "-lineinfo", "-maxrregcount=96"]);
    let defines: Vec<String> = kernel.defines.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(defines, ["THREADS=256", "TILE_M=64", "K_TILE=64"]);
    let [small, _, mission] = kernel.programs.as_slice() else { panic!("three shapes") };
    assert_eq!(small.shape.0, "small");
    let (small, mission) = (small.single().unwrap(), mission.single().unwrap());
    assert_eq!((small.entry.as_str(), small.grid, small.block), ("sdpa_scalar", [2, 2, 1], [256, 1, 1]));
    assert_eq!((mission.grid, mission.cluster, mission.dynamic_shared), ([8, 8, 1], [1, 1, 1], 0));
    let buffers = ["q", "k", "v", "o"].map(|name| Arg::Buffer(name.to_owned()));
    let scalars = [Arg::Scalar(ScalarValue::I32(512)), Arg::Scalar(ScalarValue::F32(0.125))];
    assert_eq!(mission.args, [buffers.as_slice(), &scalars].concat());
}

/// nvcc's message about it, "At end of source: expected a >", names no key.
#[test]
fn a_quotient_of_expressions_in_an_entry_is_refused() {
    let text = |sign: &str| format!("entry = \"sdpa_scalar<64 {sign} {{{{ THREADS }}}}>\"");
    let error = unroll(&edited("entry = \"sdpa_scalar\"", &text("//"))).unwrap_err().to_string();
    assert!(error.contains("`//` begins a comment of C++") && error.contains("`/` divides whole numbers"), "{error}");
    plan(&edited("entry = \"sdpa_scalar\"", &text("/")));
}

#[test]
fn a_condition_prunes_and_leaves_the_other_ids_as_they_are() {
    let all = plan(&phase_d());
    let pruned = plan(&edited("THREADS <= 32 * TILE_M", "THREADS * K_TILE <= 4096"));
    let ids: Vec<_> = pruned.candidates().map(|v| &v.id).collect();
    assert_eq!(ids.len(), 40);
    assert!(ids.iter().all(|id| all.variant(id).is_some()));
}

/// The softmax phase with a kernel that has no parameters.
fn without_sweep() -> String {
    let softmax = load(Path::new("configs/softmax.toml"), &root(), jiff::civil::date(2026, 6, 15)).unwrap();
    let (before, after) = softmax.text.split_once("[sweep]").unwrap();
    let (_, after) = after.split_once("# The simplest").unwrap();
    format!("{before}# The simplest{after}")
        .replace("(R + ROWS_PER_BLOCK - 1) // ROWS_PER_BLOCK", "R")
        .replace("block = [\"THREADS\"]", "block = [128]")
        .replace("defines = [\"THREADS\", \"ROWS_PER_BLOCK\", \"VEC\"]", "")
        .replace("params = { THREADS = 128, ROWS_PER_BLOCK = 1, VEC = 1 }", "")
}

#[test]
fn a_kernel_without_a_sweep_is_one_candidate_named_for_its_entry() {
    let text = without_sweep();
    let phase = parse(Path::new("softmax.toml"), &text).unwrap_or_else(|e| panic!("{e}"));
    let ids: Vec<String> = plan(&phase).variants.into_iter().map(|v| v.id.0.to_string()).collect();
    assert_eq!(ids, ["softmax_rows", "plain"]);
}

#[test]
fn scalars_have_their_type() {
    let text = "scalars = { scale = { type = \"f64\", value = \"1 / D ** 0.5\" } }";
    let phase = edited("scalars = { scale = \"1 / D ** 0.5\" }", text);
    let Method::Kernel(kernel) = &plan(&phase).variants[0].method else { panic!("a kernel") };
    assert_eq!(kernel.launches().next().unwrap().args[5], Arg::Scalar(ScalarValue::F64(0.125)));
}

#[test]
fn one_wrong_expression_is_one_error() {
    let errors = unroll(&edited("block = [\"THREADS\"]", "block = [\"THREADS - 128\"]")).unwrap_err().0;
    assert_eq!(errors.problems().len(), 1);
    let message = &errors.problems()[0].message;
    assert!(
        message.ends_with("for variant REGCAP=64,THREADS=128,TILE_M=32,K_TILE=16 at shape small and 89 more"),
        "{message}"
    );
    assert_eq!(errors.problems()[0].place.as_ref().unwrap().key, "kernel.block[0]");
}

#[test]
fn an_id_that_two_variants_have_is_an_error() {
    let text = without_sweep().replace("name = \"plain\"", "name = \"softmax_rows\"");
    let errors = unroll(&parse(Path::new("softmax.toml"), &text).unwrap()).unwrap_err().0;
    assert_eq!(errors.problems()[0].message, "`phase` has two variants with the id `softmax_rows`");
}

#[test]
fn a_sweep_of_thousands_takes_few_evaluations() {
    let values: Vec<String> = (1..=1000).map(|n| (n * 10).to_string()).collect();
    let phase = edited("REGCAP = [64, 72, 80, 88, 96]", &format!("REGCAP = [{}]", values.join(", ")));
    let plan = plan(&phase);
    assert_eq!(plan.candidates().count(), 18_000);
    let Method::Kernel(kernel) = &plan.variants[17_999].method else { panic!("a kernel") };
    assert_eq!(kernel.flags[2], "-maxrregcount=10000");
}

/// `phase_d` with tensor maps of q and k next to the plain kernel.
fn with_bulk_copies() -> Phase {
    let bulk = r#"
[[variant]]
name = "bulk"
params = { TILE_M = 64, THREADS = 128, REGCAP = 64, K_TILE = 32 }
[variant.kernel]
args = ["q_tiles", "k_tiles", "v", "o", "S", "scale"]
[variant.kernel.tensor_maps]
q_tiles = { buffer = "q", box = [1, 1, "TILE_M", "D"], swizzle = 128 }
k_tiles = { buffer = "k", box = [1, 1, "min(K_TILE, S)", 16] }

[sweep]"#;
    edited("[sweep]", &bulk.replace("min(K_TILE, S)", "K_TILE if K_TILE < S else S"))
}

#[test]
fn a_tensor_map_is_evaluated_for_the_variant_that_passes_it() {
    let plan = plan(&with_bulk_copies());
    let bulk = plan.candidates().find(|variant| variant.id.0 == "bulk").unwrap();
    let Method::Kernel(kernel) = &bulk.method else { panic!("a kernel") };
    let map = |name: &str, buffer: &str, box_dims: &[u32], swizzle| {
        let (name, buffer) = (name.to_owned(), buffer.to_owned());
        let (layout, element_strides, box_dims) = (None, Vec::new(), box_dims.to_vec());
        let (l2_promotion, oob_fill) = (L2Promotion::default(), OutOfBoundsFill::default());
        let map = TensorMap { name, buffer, box_dims, swizzle, layout, element_strides, l2_promotion, oob_fill };
        Arg::TensorMap(map)
    };
    assert_eq!(kernel.programs.len(), 3);
    for launch in kernel.launches() {
        assert_eq!(launch.args[0], map("q_tiles", "q", &[1, 1, 64, 64], Swizzle::Span128));
        assert_eq!(launch.args[1], map("k_tiles", "k", &[1, 1, 32, 16], Swizzle::None));
        assert_eq!(launch.args[2], Arg::Buffer("v".to_owned()));
    }
    let others = plan.candidates().filter(|variant| variant.id.0 != "bulk");
    assert_eq!(others.count(), 90, "the swept kernel is as it was");
}

#[test]
fn the_layout_of_a_tensor_map_is_evaluated_in_bytes() {
    let phase = with_bulk_copies();
    let panels = r#"k_tiles = { buffer = "k", shape = ["B * H", "D // 16", "S", 16], strides = ["S * D", 16, "D"], box = [1, 1, 8, 16], l2_promotion = 64 }"#;
    let begin = phase.text.find("k_tiles = {").unwrap();
    let end = begin + phase.text[begin..].find('\n').unwrap();
    let text = format!("{}{panels}{}", &phase.text[..begin], &phase.text[end..]);
    let plan = unroll(&parse(Path::new("phase.toml"), &text).unwrap_or_else(|e| panic!("{e}"))).unwrap();
    let bulk = plan.candidates().find(|variant| variant.id.0 == "bulk").unwrap();
    let Method::Kernel(kernel) = &bulk.method else { panic!("a kernel") };
    let shapes: Vec<[u64; 4]> = phase
        .workload
        .shapes
        .iter()
        .map(|shape| {
            let of = |name: &str| u64::try_from(shape.dims.iter().find(|(dim, _)| dim == name).unwrap().1).unwrap();
            [of("B"), of("H"), of("S"), of("D")]
        })
        .collect();
    for (launch, [b, h, s, d]) in kernel.launches().zip(shapes) {
        let Arg::TensorMap(map) = &launch.args[1] else { panic!("a tensor map") };
        let layout = MapLayout { shape: vec![b * h, d / 16, s, 16], strides: vec![s * d * 2, 32, d * 2] };
        assert_eq!((map.layout.as_ref(), map.l2_promotion), (Some(&layout), L2Promotion::Bytes64));
        let text = serde_json::to_string(map).unwrap();
        assert!(text.contains(r#""l2_promotion":64"#) && !text.contains("oob_fill"), "{text}");
        assert_eq!(serde_json::from_str::<TensorMap>(&text).unwrap(), *map);
    }
}

#[test]
fn a_tensor_map_survives_a_record_and_old_records_are_still_read() {
    let plan = plan(&with_bulk_copies());
    let text = serde_json::to_string(&plan).unwrap();
    assert!(text.contains(r#"{"tensor_map":{"name":"q_tiles","buffer":"q","box_dims":[1,1,64,64],"swizzle":128}}"#));
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    let wrong = text.replace("\"swizzle\":128", "\"swizzle\":48");
    assert!(serde_json::from_str::<Plan>(&wrong).unwrap_err().to_string().contains("no swizzle of 48 bytes"));
    let old: Vec<Arg> = serde_json::from_str(r#"[{"buffer":"q"},{"scalar":{"i32":512}}]"#).unwrap();
    assert_eq!(old, [Arg::Buffer("q".to_owned()), Arg::Scalar(ScalarValue::I32(512))]);
}

#[test]
fn a_tensor_map_that_no_variant_can_have_is_an_error_with_its_place() {
    let phase = with_bulk_copies();
    let text = phase.text.replace("\"TILE_M\", \"D\"], swizzle = 128", "\"TILE_M\", \"2 * D\"], swizzle = 128");
    let errors = unroll(&parse(Path::new("phase.toml"), &text).unwrap()).unwrap_err().0;
    let problem = &errors.problems()[0];
    let expected = "`variant[0].kernel.tensor_maps.q_tiles.box[3]` gives a row of 128 f16 = 256 bytes, with a swizzle of 128, \
                    for variant bulk at shape small and 2 more";
    assert_eq!((problem.message.as_str(), errors.problems().len()), (expected, 1));
    assert!(problem.place.is_some());
}

/// `phase_d` with a variant of two launches, a fill and a copy.
fn with_steps(steps: &str) -> Result<Phase, crate::config::ConfigErrors> {
    let text = phase_d().text;
    let variant = format!(
        "[[variant]]\nname = \"steps\"\nparams = {{ TILE_M = 64, THREADS = 128, REGCAP = 64, K_TILE = 32 }}\n{steps}\n[sweep]"
    );
    parse(Path::new("phase.toml"), &text.replacen("[sweep]", &variant, 1))
}

const STEPS: &str = r#"
[[variant.kernel.launch]]
memset = "o"
byte = 255
[[variant.kernel.launch]]
entry = "sdpa_scalar"
[[variant.kernel.launch]]
entry = "merge"
grid = ["S", "B"]
block = [32]
args = ["q", "o"]
pdl = true
carveout = 50
[[variant.kernel.launch]]
memcpy = { from = "q", to = "o" }
"#;

#[test]
fn steps_have_what_they_say_and_the_rest_from_the_kernel() {
    let phase = with_steps(STEPS).unwrap();
    let plan = plan(&phase);
    let steps = plan.candidates().find(|variant| variant.id.0 == "steps").unwrap();
    let Method::Kernel(kernel) = &steps.method else { panic!("a kernel") };
    assert_eq!(kernel.code_entries(), ["sdpa_scalar", "merge"]);
    let program = &kernel.programs[2];
    let [Step::Memset(fill), Step::Launch(first), Step::Launch(second), Step::Memcpy(copy)] = program.steps.as_slice()
    else {
        panic!("{program:?}")
    };
    assert_eq!((fill.buffer.as_str(), fill.byte, copy.from.as_str(), copy.to.as_str()), ("o", 255, "q", "o"));
    assert_eq!(
        (first.grid, first.block, first.args.len(), first.mode),
        ([8, 8, 1], [128, 1, 1], 6, LaunchMode::Ordinary)
    );
    assert_eq!((second.grid, second.block, second.carveout), ([512, 1, 1], [32, 1, 1], Some(50)));
    assert_eq!(second.mode, LaunchMode::Programmatic);
    assert_eq!(second.args, ["q", "o"].map(|name| Arg::Buffer(name.to_owned())));
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn steps_that_cannot_be_are_errors() {
    let of_config = |steps: &str| {
        let errors = with_steps(steps).unwrap_err();
        errors.problems().iter().map(|problem| problem.message.clone()).collect::<Vec<_>>()
    };
    let entry = "[[variant.kernel.launch]]\nentry = \"sdpa_scalar\"\n";
    for (steps, expected) in [
        ("[[variant.kernel.launch]]\nmemset = \"o\"\n".to_owned(), "`variant[0].launch` has no launch"),
        (
            format!("{entry}pdl = true\n"),
            "`variant[0].kernel.launch[0].pdl` is true, but the step before it is not a launch",
        ),
        (
            format!("{entry}{entry}pdl = true\ncooperative = true\n"),
            "`variant[0].kernel.launch[1].pdl` and `cooperative` are both true",
        ),
        (
            format!("{entry}[[variant.kernel.launch]]\nmemset = \"p\"\n"),
            "`variant[0].kernel.launch[1].memset` is `p`, which is not a buffer",
        ),
        (
            format!("{entry}memset = \"o\"\n"),
            "`variant[0].kernel.launch[0].entry` does not apply to a step with `memset`",
        ),
        (format!("{entry}byte = 1\n"), "`variant[0].kernel.launch[0].byte` applies only to a step with `memset`"),
    ] {
        let messages = of_config(&steps);
        assert!(messages.iter().any(|message| message.contains(expected)), "{steps}: {messages:?}");
    }
    let halves = with_steps(&format!("{entry}[[variant.kernel.launch]]\nmemcpy = {{ from = \"q\", to = \"o\" }}\n"));
    assert!(unroll(&halves.unwrap()).is_ok(), "buffers of one size");
}

#[test]
fn a_compilers_launch_at_a_shape_takes_the_place_of_the_plans_and_what_it_does_not_say_has_no_arguments() {
    let plan = plan(&phase_d());
    let Method::Kernel(kernel) = &plan.variants[0].method else { panic!("a kernel") };
    let program = &kernel.programs[0];
    let own = program.launches().next().unwrap();
    let Arg::Buffer(first) = &own.args[0] else { panic!("{:?}", own.args) };
    let compiled = |launched: Option<LaunchExtents>, args: Vec<CompiledArg>| {
        let shapes = vec![ShapeLaunch { shape: program.shape.clone(), launched, args }];
        let text = serde_json::to_string(&CompiledLaunch::ByShape { shapes }).unwrap();
        let read: CompiledLaunch = serde_json::from_str(&text).unwrap();
        program.compiled_as(Some(&read)).launches().next().unwrap().clone()
    };
    let into = CompiledArg::Into { argument: 0, bytes: 64 };
    let whole = CompiledArg::Whole { bytes: 8, value: 1 << 40 };
    let launch = compiled(None, vec![CompiledArg::Given(1), CompiledArg::Struct(vec![into, whole])]);
    let element = Arg::Element(BufferElement { buffer: first.clone(), bytes: 64 });
    let fields = vec![element, Arg::Scalar(ScalarValue::U64(1 << 40))];
    let fields = Arg::Struct { align: None, fields };
    assert_eq!((launch.args, launch.grid), (vec![own.args[1].clone(), fields], own.grid));
    let said = LaunchExtents { grid: [7, 1, 1], block: [96, 1, 1], cluster: [1, 1, 1], dynamic_shared: 512 };
    let launch = compiled(Some(said), Vec::new());
    assert_eq!((launch.grid, launch.block, launch.dynamic_shared), ([7, 1, 1], [96, 1, 1], 512));
    let scalar = own.args.iter().position(|arg| matches!(arg, Arg::Scalar(_))).unwrap();
    for wrong in [
        CompiledArg::Given(99),
        CompiledArg::Into { argument: scalar, bytes: 0 },
        CompiledArg::Whole { bytes: 4, value: 1 << 40 },
        CompiledArg::Whole { bytes: 3, value: 1 },
    ] {
        assert_eq!(compiled(None, vec![CompiledArg::Given(0), wrong.clone()]).args, [], "{wrong:?}");
    }
    let elsewhere = CompiledLaunch::ByShape { shapes: Vec::new() };
    assert_eq!(program.compiled_as(Some(&elsewhere)).launches().next().unwrap().args, []);
    let text = r#"{"threads":128,"dynamic_shared":16,"workspace":[0]}"#;
    let everywhere: CompiledLaunch = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&everywhere).unwrap(), text);
}

/// A small phase with this text in place of its steps and its sweep.
fn small(kernel: &str, sweep: &str) -> Result<Phase, crate::config::ConfigErrors> {
    let text = format!(
        r#"
[phase]
name = "small"
[workload]
seeds = [0]
reference = "copy"
tolerance = {{ max_abs = 0 }}
[workload.shapes]
least = {{ N = 512 }}
more = {{ N = 2048 }}
[workload.buffers]
x = {{ dtype = "f32", shape = ["N"] }}
y = {{ dtype = "f32", shape = ["N"], role = "output" }}
[kernel]
source = "sort.cu"
block = [256]
{kernel}
{sweep}
[[gate]]
require = "correct == 1"
"#
    );
    parse(Path::new("phase.toml"), &text)
}

const SORT: &str = r#"
[[kernel.launch]]
entry = "sort_block"
grid = ["N // 512"]
args = ["x", "y"]
[[kernel.launch]]
repeat = { i = "log2(N) - 9" }
[[kernel.launch.steps]]
repeat = { j = "i + 1" }
entry = "merge_global"
grid = ["N // 512 + j"]
dynamic_shared = "4 * 2 ** i"
args = ["y", "i", { value = "512 * 2 ** (i - j)", type = "u32" }]
[[kernel.launch.steps]]
entry = "merge_block"
grid = ["N // 512"]
args = ["y", { value = "1024 * 2 ** i", type = "u32" }]
"#;

#[test]
fn a_loop_is_its_launches_one_after_the_other_as_the_shape_says() {
    let plan = plan(&small(SORT, "").unwrap_or_else(|e| panic!("{e}")));
    let Method::Kernel(kernel) = &plan.variants[0].method else { panic!("a kernel") };
    let [least, more] = &kernel.programs[..] else { panic!("two shapes") };
    assert_eq!(kernel.launched_entries(&least.shape), ["sort_block"]);
    let rounds = ["merge_global", "merge_block", "merge_global", "merge_global", "merge_block"];
    assert_eq!(kernel.launched_entries(&more.shape), [&["sort_block"], &rounds[..]].concat());
    let global: Vec<_> = more.launches().filter(|launch| launch.entry == "merge_global").collect();
    let said = |at: usize| (global[at].grid[0], global[at].dynamic_shared, &global[at].args[1..]);
    let args = |i, stride| [Arg::Scalar(ScalarValue::I32(i)), Arg::Scalar(ScalarValue::U32(stride))];
    assert_eq!(said(0), (4, 4, &args(0, 512)[..]));
    assert_eq!(said(1), (4, 8, &args(1, 1024)[..]));
    assert_eq!(said(2), (5, 8, &args(1, 512)[..]));
    // The code of a variant includes kernels that its first shape does not launch.
    assert_eq!(kernel.code_entries(), ["sort_block", "merge_global", "merge_block"]);
}

#[test]
fn several_indices_are_nested_loops_around_one_step() {
    let nested = |repeat: &str| {
        let step = format!(
            "[[kernel.launch]]\nrepeat = {repeat}\nentry = \"merge\"\ngrid = [1]\nargs = [\"x\", \"y\", \"i\", \"j\"]"
        );
        small(&step, "").map_err(|e| e.to_string()).and_then(|phase| unroll(&phase).map_err(|e| e.to_string()))
    };
    let plan = nested("{ i = 2, j = \"i + 1\" }").unwrap();
    let Method::Kernel(kernel) = &plan.variants[0].method else { panic!("a kernel") };
    let indices = kernel.programs[0].launches().map(|launch| launch.args[2..].to_vec());
    let pair = |i, j| vec![Arg::Scalar(ScalarValue::I32(i)), Arg::Scalar(ScalarValue::I32(j))];
    assert_eq!(indices.collect::<Vec<_>>(), [pair(0, 0), pair(1, 0), pair(1, 1)]);
    for (repeat, said) in [
        ("{ i = 1001, j = 1 }", "`kernel.launch[0].repeat.i` is \"1001\", which gives 1001"),
        (
            "{ i = 40, j = 40 }",
            "`kernel.launch[0].repeat` gives more than 1000 steps, for variant merge at shape least, i = 25",
        ),
        ("{ i = \"log2(N) / 2\", j = 1 }", "`kernel.launch[0].repeat.i` is \"log2(N) / 2\", which gives 4.5"),
        ("{ i = \"N - 512\", j = 1 }", "`kernel.launch[0].repeat.i` is \"N - 512\", which gives 1536"),
        (
            "{ i = \"log2(N) - 9\", j = 1 }",
            "`kernel.launch` gives an evaluation without a launch, for variant merge at shape least",
        ),
        ("{ i = \"j\", j = 1 }", "`j` is not among the dimensions, `sms` and the sweep's parameters"),
        ("{ N = 2, j = 1 }", "`kernel.launch[0].repeat.N` is also a dimension"),
        ("{}", "`kernel.launch[0].repeat` is `{}`, expected at least one index"),
    ] {
        let errors = nested(repeat).unwrap_err();
        assert!(errors.contains(said), "{repeat}: {errors}");
    }
}

#[test]
fn launches_know_the_number_of_sms_and_nothing_else_does() {
    let persistent =
        "entry = \"k\"\ngrid = [\"min(sms, N // 512)\"]\nworkspace = [\"4 * sms\"]\nargs = [\"x\", \"sms\"]";
    let phase = small(persistent, "").unwrap_or_else(|e| panic!("{e}"));
    let launch = |sms: Option<u32>| {
        let Method::Kernel(kernel) = &plan(&phase.clone().on_gpu(sms)).variants[0].method else { panic!("a kernel") };
        let launch = kernel.programs[1].launches().next().unwrap();
        (launch.grid[0], launch.args[1..].to_vec())
    };
    let on = |sms: i32, grid| (grid, vec![Arg::Scalar(ScalarValue::I32(sms)), Arg::Workspace(4 * sms as u64)]);
    assert_eq!((launch(Some(2)), launch(Some(148))), (on(2, 2), on(148, 4)));
    assert_eq!(launch(None), on(132, 4), "until the GPU is known");
    let names_sms = |kernel: &str| small(kernel, "").unwrap_or_else(|e| panic!("{e}")).names_sms();
    assert!(!names_sms("entry = \"k\"\ngrid = [4]\nargs = [\"x\"]"));
    for one in [
        "grid = [\"sms\"]\nargs = []",
        "grid = [1]\nargs = []\ndynamic_shared = { tiles = \"sms\" }",
        "grid = [1]\nargs = [\"sms\"]",
        "grid = [1]\nargs = [{ struct = [{ value = \"2 * sms\", type = \"u32\" }] }]",
        "grid = [1]\nargs = []\nsymbols = { blocks = \"sms\" }",
    ] {
        assert!(names_sms(&format!("entry = \"k\"\n{one}")), "{one}");
    }
    assert!(names_sms("[[kernel.launch]]\nrepeat = { i = \"sms // 44\" }\nentry = \"k\"\ngrid = [1]\nargs = [\"x\"]"));
    for (kernel, sweep) in [
        ("grid = [1]\nargs = [\"x\"]\nwhere = \"N > sms\"", ""),
        ("grid = [1]\nargs = [\"x\"]\nflags = [\"-DN={{ sms }}\"]", ""),
        ("grid = [1]\nargs = [\"x\"]", "[sweep]\nA = [1, 2]\nwhere = \"A < sms\""),
    ] {
        let error = small(&format!("entry = \"k\"\n{kernel}"), sweep).unwrap_err().to_string();
        assert!(error.contains("`sms` is not among"), "{error}");
    }
    let reserved = small("entry = \"k\"\ngrid = [1]\nargs = [\"x\"]", "[sweep]\nsms = [1, 2]").unwrap_err().to_string();
    assert!(reserved.contains("`sms` cannot be a name in expressions"), "{reserved}");
}

/// A result a block, on each SM: what `init` drafts for a cooperative reduction.
#[test]
fn buffers_of_a_variant_can_be_as_many_as_the_sms() {
    let partial = "y = { dtype = \"f32\", shape = [\"sms * A\"], role = \"output\", reduce = \"sum\" }";
    let text = small("entry = \"k\"\ngrid = [\"sms * A\"]\nargs = [\"x\", \"y\"]", "[sweep]\nA = [1, 2]").unwrap().text;
    let written = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        parse(Path::new("phase.toml"), &text.replace(from, to))
    };
    let copied = "y = { dtype = \"f32\", shape = [\"N\"], role = \"output\" }";
    let phase = written(copied, partial).unwrap_or_else(|e| panic!("{e}")).on_gpu(Some(148));
    assert!(phase.names_sms());
    let own = |variant: &crate::plan::Variant| {
        crate::plan::extents(&phase, &phase.workload.shapes[0].name, &variant.params, "y")
    };
    assert_eq!(plan(&phase).variants.iter().map(own).collect::<Vec<_>>(), [Some(vec![148]), Some(vec![296])]);
    for (from, to) in [
        // The reference and its operands are the same on every GPU.
        ("shape = [\"N\"], role", "shape = [\"sms * A\"], role"),
        ("x = { dtype = \"f32\", shape = [\"N\"]", "x = { dtype = \"f32\", shape = [\"sms\"]"),
        ("reference = \"copy\"", "reference = \"copy\"\nscalars = { s = \"sms\" }"),
        ("reference = \"copy\"", "reference = \"copy\"\nflops = \"sms\""),
    ] {
        let error = written(from, to).unwrap_err().to_string();
        assert!(error.contains("`sms` is not among"), "{to}: {error}");
    }
}

#[test]
fn a_loop_has_its_own_steps_or_the_keys_of_one() {
    let error = |kernel: &str| small(kernel, "").unwrap_err().to_string();
    let step = "entry = \"k\"\ngrid = [1]\nargs = [\"x\", \"y\"]\n";
    let steps = format!("[[kernel.launch]]\n[[kernel.launch.steps]]\n{step}");
    assert!(error(&steps).contains("`kernel.launch[0].steps` needs `repeat`"), "{}", error(&steps));
    let both = format!("[[kernel.launch]]\nrepeat = {{ i = 2 }}\n{step}[[kernel.launch.steps]]\n{step}");
    assert!(
        error(&both).contains("`kernel.launch[0].entry` does not apply to a step with `steps`"),
        "{}",
        error(&both)
    );
    let unknown = format!("[[kernel.launch]]\nrepeat = {{ i = 2 }}\n[[kernel.launch.steps]]\nentri = \"k\"\n{step}");
    assert!(error(&unknown).contains("unknown key `kernel.launch[0].steps[0].entri`"), "{}", error(&unknown));
    let outside =
        format!("[[kernel.launch]]\nrepeat = {{ i = 2 }}\n{step}[[kernel.launch]]\n{}", step.replace("[1]", "[\"i\"]"));
    assert!(error(&outside).contains("`i` is not among the dimensions"), "{}", error(&outside));
    let memset = "[[kernel.launch]]\nrepeat = { i = 2 }\n[[kernel.launch.steps]]\nmemset = \"y\"\n";
    let dependent = format!("{memset}[[kernel.launch.steps]]\npdl = true\n{step}");
    assert!(error(&dependent).contains("the step before it is not a launch"), "{}", error(&dependent));
    // Textually a launch precedes it, but none does at the first shape.
    let skipped =
        format!("[[kernel.launch]]\nrepeat = {{ i = \"log2(N) - 9\" }}\n{step}[[kernel.launch]]\npdl = true\n{step}");
    let errors = unroll(&small(&skipped, "").unwrap()).unwrap_err().to_string();
    assert!(errors.contains("gives a programmatic dependent launch after a step that is not a launch"), "{errors}");
}

const FLAGS: &str = r#"
[sweep]
FAST = { off = [], on = ["-use_fast_math", "-Xptxas=-dlcm=cg,-v", "-DF(a, b)=a"] }
REGISTERS = { free = [], few = ["-maxrregcount={{ CAP }}"] }
CAP = [24, 32]
where = "REGISTERS == 'few' or CAP == 32"
[[variant]]
name = "own"
params = { FAST = "on", CAP = 40, REGISTERS = "few" }
[[variant]]
name = "alone"
params = { FAST = { fastest = ["-use_fast_math", "-O3"] }, CAP = 40, REGISTERS = "free" }
"#;

#[test]
fn flags_under_a_name_are_values_of_a_parameter() {
    let plain = "entry = \"k\"\ngrid = [1]\nargs = [\"x\", \"y\"]\nflags = [\"-O2\"]";
    let phase = small(plain, FLAGS).unwrap_or_else(|e| panic!("{e}"));
    let plan = plan(&phase);
    let flags = |id: &str| {
        let variant = plan.variants.iter().find(|variant| variant.id.0 == id).unwrap_or_else(|| panic!("{id}"));
        let Method::Kernel(kernel) = &variant.method else { panic!("a kernel") };
        kernel.flags.join("|")
    };
    assert_eq!(plan.variants.len(), 8);
    assert_eq!(flags("alone"), "-O2|-use_fast_math|-O3");
    let alone = &plan.variants[7].params[0];
    assert_eq!((alone.0.as_str(), alone.1.to_string().as_str()), ("FAST", "fastest"));
    assert_eq!(flags("FAST=off,REGISTERS=free,CAP=32"), "-O2");
    assert_eq!(flags("FAST=on,REGISTERS=free,CAP=32"), "-O2|-use_fast_math|-Xptxas=-dlcm=cg,-v|-DF(a, b)=a");
    assert_eq!(flags("FAST=off,REGISTERS=few,CAP=24"), "-O2|-maxrregcount=24");
    assert_eq!(flags("own"), "-O2|-use_fast_math|-Xptxas=-dlcm=cg,-v|-DF(a, b)=a|-maxrregcount=40");
}

#[test]
fn a_reference_entry_has_no_flags_of_a_parameter() {
    let plain = "entry = \"k\"\ngrid = [1]\nargs = [\"x\", \"y\"]\nflags = [\"-O2\"]";
    let sweep = "[sweep]\nFAST = { on = [\"-use_fast_math\"], off = [] }\n";
    let text = small(plain, sweep).unwrap().text;
    let entry = "reference = { entry = \"slow\", source = \"slow.cu\", grid = [1], block = [1] }";
    let phase = parse(Path::new("phase.toml"), &text.replace("reference = \"copy\"", entry)).unwrap();
    let reference = super::reference_plan(&phase, &plan(&phase)).unwrap();
    let Method::Kernel(kernel) = &reference.variants[0].method else { panic!("a kernel") };
    assert_eq!(kernel.flags, ["-O2"]);
}

#[test]
fn wrong_flags_of_a_parameter_are_errors() {
    let plain = "entry = \"k\"\ngrid = [1]\nargs = [\"x\", \"y\"]";
    let error = |sweep: &str| small(plain, sweep).unwrap_err().to_string();
    for (sweep, said) in [
        ("[sweep]\nFAST = { 1 = [], on = [] }", "`sweep.FAST.1` cannot be the name of a value"),
        ("[sweep]\nFAST = { \"a b\" = [] }", "cannot be the name of a value"),
        ("[sweep]\nFAST = {}", "`sweep.FAST` is `{}`, expected at least one named list of flags"),
        ("[sweep]\nFAST = { on = \"-x\" }", "`sweep.FAST.on` is `\"-x\"`, expected an array"),
        ("[sweep]\nFAST = { on = [\"{{ X }}\"] }", "`X` is not among the sweep's parameters"),
        (
            "[sweep]\nFAST = [\"-maxrregcount=24\"]",
            "a flag is a value under a name: NAME = { off = [], on = [\"-maxrregcount=32\"] }",
        ),
        ("[sweep]\nFAST = [\"\"]", "a flag is a value under a name"),
        (
            "[sweep]\nFAST = { off = [] }\n[[variant]]\nname = \"v\"\nparams = { FAST = \"of\" }",
            "`variant[0].params.FAST` is `of`, which is not a value of `sweep.FAST`",
        ),
        (
            "[sweep]\nFAST = { off = [] }\n[[variant]]\nname = \"v\"\nparams = { FAST = { a = [], b = [] } }",
            "expected one value with its flags",
        ),
        ("[sweep]\nFAST = { off = [] }\npoints = [{ FAST = { off = [\"-x\"] } }]", "`sweep.points[0].FAST` has flags"),
        (
            "[[variant]]\nname = \"v\"\ncommand = [\"v\"]\nparams = { FAST = { off = [] } }",
            "`variant[0].params.FAST` holds flags for nvcc, which does not compile this variant",
        ),
        (
            "[sweep]\nFAST = { off = [] }\n[[variant]]\nname = \"v\"\nparams = { FAST = 1 }",
            "`variant[0].params.FAST` is `1`, expected the name of a value of `sweep.FAST`",
        ),
    ] {
        assert!(error(sweep).contains(said), "{sweep}: {}", error(sweep));
    }
    let text = small(plain, "[sweep]\nFAST = { off = [] }").unwrap().text;
    let text = text.replace("source = \"sort.cu\"", "cubin = \"sort.cubin\"");
    let errors = parse(Path::new("phase.toml"), &text).unwrap_err().to_string();
    assert!(errors.contains("`sweep.FAST` holds flags for nvcc, but nothing is compiled"), "{errors}");
}

#[test]
fn a_window_of_the_l2_cache_is_inside_its_buffer() {
    let window = |keys: &str| {
        let kernel = format!("entry = \"k\"\ngrid = [1]\nargs = [\"x\", \"y\"]\nl2_window = {{ {keys} }}");
        small(&kernel, "").map_err(|e| e.to_string()).and_then(|phase| unroll(&phase).map_err(|e| e.to_string()))
    };
    let plan = window("buffer = \"x\", hit_ratio = \"1 / 4\"").unwrap();
    let Method::Kernel(kernel) = &plan.variants[0].method else { panic!("a kernel") };
    let text = serde_json::to_string(&kernel.programs[1].single().unwrap().l2_window).unwrap();
    let expected =
        r#"{"buffer":"x","bytes":8192,"hit_ratio":0.25,"hit":"persisting","miss":"streaming","set_aside":8192}"#;
    assert_eq!(text, expected);
    for (keys, said) in [
        ("buffer = \"x\", bytes = \"4 * N + 4\"", "`kernel.l2_window.bytes` is \"4 * N + 4\", which gives 2052"),
        ("buffer = \"x\", hit_ratio = 2", "`kernel.l2_window.hit_ratio` is \"2\", which gives 2"),
        ("buffer = \"z\"", "`kernel.l2_window.buffer` is `z`, which is not a buffer"),
        ("buffer = \"x\", miss = \"persisting\"", "expected one of \"normal\", \"streaming\""),
        ("bytes = 4", "`kernel.l2_window.buffer` is missing"),
    ] {
        let errors = window(keys).unwrap_err();
        assert!(errors.contains(said), "{keys}: {errors}");
    }
    let text =
        small("entry = \"k\"\ngrid = [1]\nargs = [\"x\", \"y\"]\nl2_window = { buffer = \"x\" }", "").unwrap().text;
    let errors = parse(Path::new("phase.toml"), &format!("{text}\n[bench]\nl2 = \"cold\"")).unwrap_err().to_string();
    assert!(errors.contains("`bench.l2` is \"cold\", but a launch has an `l2_window`"), "{errors}");
}

/// Two toolchains, put before the workload of a phase.
const TWO: &str = "[toolchains]\nnew = { nvcc = \"/new/nvcc\" }\nold = { nvcc = \"/old/nvcc\" }\n\n[workload]\n";

#[test]
fn every_candidate_is_built_by_each_toolchain_and_keeps_its_id_with_the_first() {
    let phase = edited("[workload]\n", TWO);
    let plan = plan(&phase);
    assert_eq!((plan.candidates().count(), plan.baselines().count()), (180, 2));
    let [first, other] = [&plan.variants[0], &plan.variants[90]];
    assert_eq!((first.toolchain(), other.toolchain()), (Some("new"), Some("old")), "the order of the file");
    assert_eq!(other.id.0.as_str(), format!("{},toolchain=old", first.id));
    assert_eq!(other.counterpart(&phase), Some(("old", first.id.clone())));
    assert_eq!((first.counterpart(&phase), plan.variants[180].toolchain()), (None, None));
    assert_eq!(phase.build.nvcc.as_deref(), Some(Path::new("/new/nvcc")));
    let shard = plan.shard("2/7".parse().unwrap());
    let both = shard.candidates().filter_map(|v| shard.variant(&v.counterpart(&phase)?.1)).count();
    assert_eq!(2 * both, shard.candidates().count(), "both are measured on one GPU");
    let glob = "[[gate]]\nname = \"old\"\nrequire = \"spills == 0\"\non = \"*,toolchain=old\"\n\n[[gate]]\n";
    let text = phase.text.replacen("[[gate]]\n", glob, 1);
    assert!(unroll(&parse(Path::new("phase.toml"), &text).unwrap()).is_ok());
}

#[test]
fn toolchains_that_compare_nothing_are_errors() {
    let refused = |from: &str, to: &str| {
        let text = phase_d().text.replacen(from, to, 1);
        match parse(Path::new("phase.toml"), &text) {
            Ok(phase) => unroll(&phase).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    };
    let table = |rows: &str| refused("[workload]\n", &format!("[toolchains]\n{rows}\n[workload]\n"));
    assert!(table("a = { nvcc = \"x\" }").contains("expected at least two toolchains"));
    assert!(table("a = { nvcc = \"x\" }\nb = {}").contains("at least one program: nvcc, python"));
    assert!(table("\"a,b\" = { nvcc = \"x\" }\nb = { nvcc = \"y\" }").contains("cannot be the name of a value"));
    let search = format!("[search]\nbudget = {{ builds = 2 }}\n\n{TWO}");
    assert!(refused("[workload]\n", &search).contains("cannot be compared in a search"));
    let axis = refused("[sweep]\n", &format!("{}[sweep]\ntoolchain = [1, 2]\n", TWO.replace("[workload]\n", "")));
    assert!(axis.contains("`toolchain` is both"), "{axis}");
}
