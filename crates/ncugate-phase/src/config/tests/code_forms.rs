//! Kernels that are not CUDA C++: their keys, and the keys that they inherit from `[kernel]`.

use super::{SMALL, read};
use crate::plan::{Arg, FunctionPlan, KernelCode, KernelPlan, LaunchKey, Method, named_files, unroll};
use ncugate_model::expr::Value;

const CUDA: &str = r#"source = "copy.cu"
entry = "copy"
flags = ["-O3", "-maxrregcount={{ CAP }}"]
defines = ["THREADS"]
grid = ["(N + THREADS - 1) // THREADS"]
block = ["THREADS"]
args = ["x", "y", "N", "scale"]
"#;

fn with_kernel(kernel: &str, sweep: &str) -> String {
    let sweep_of_small = "THREADS = [32, 64]\nCAP = [32, 64]\n";
    assert!(SMALL.contains(CUDA) && SMALL.contains(sweep_of_small));
    SMALL.replace(CUDA, kernel).replace(sweep_of_small, sweep)
}

fn kernels(text: &str) -> Vec<KernelPlan> {
    let phase = read(text).unwrap_or_else(|e| panic!("{e}"));
    let plan = unroll(&phase).unwrap_or_else(|e| panic!("{e}"));
    let kernel = |method| match method {
        Method::Kernel(kernel) => Some(kernel),
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => None,
    };
    plan.variants.into_iter().filter_map(|variant| kernel(variant.method)).collect()
}

fn error(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn a_python_function_has_its_parameters_and_what_its_arguments_are_multiples_of() {
    let kernel = "python = \"k.py:copy\"\ngrid = [\"N // BLOCK\"]\nargs = [\"x\", \"y\", \"N\", \"scale\"]\n";
    let kernels = kernels(&with_kernel(kernel, "BLOCK = [64]\nnum_warps = [2, 8]\n"));
    let KernelCode::Python(triton) = &kernels[1].code else { panic!("{:?}", kernels[1].code) };
    assert_eq!(triton.given, [LaunchKey::Grid]);
    assert_eq!(triton.signature, ["*fp32:16", "*fp32:16", "i32:16", "fp32"]);
    assert_eq!(triton.constants.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["BLOCK", "num_warps"]);
    assert_eq!((kernels[1].entries(), kernels[1].launches().next().unwrap().block), (vec!["copy"], [256, 1, 1]));
    assert_eq!(kernels[1].source.to_str(), Some("k.py"));
    assert_eq!(triton.launched, ["BLOCK"]);
    let text = with_kernel(kernel, "BLOCK = [64]\nACT = [\"nullptr\"]\n");
    let said = unroll(&read(&text).unwrap()).unwrap_err().to_string();
    assert!(said.contains("compiles with ACT = \"nullptr\"") && said.contains("write \"None\" for"), "{said}");
}

#[test]
fn constexprs_that_follow_the_shape_are_an_entry_for_each_set_of_values() {
    let kernel = "python = \"k.py:copy\"\ngrid = [\"N\"]\nargs = [\"x\", \"y\", \"scale\"]\n";
    let text = |constexprs: &str, sweep: &str| {
        let text = with_kernel(&format!("{kernel}constexprs = {{ {constexprs} }}\n"), sweep);
        let shapes = "[workload.shapes]\na = { N = 64 }\nb = { N = 72 }\nc = { N = 64 }\n[workload.buffers]";
        let rest = text.split_once("[workload.buffers]").unwrap().1;
        format!("{}{shapes}{rest}", text.split_once("[workload.shapes]").unwrap().0)
    };
    let kernels = kernels(&text("N = \"N\", EVEN = \"N % BLOCK == 0\"", "BLOCK = [8, 64]\n"));
    assert_eq!(kernels[0].entries(), ["copy_N64_EVEN1", "copy_N72_EVEN1"]);
    assert_eq!(kernels[1].entries(), ["copy_N64_EVEN1", "copy_N72_EVEN0"]);
    let launched = |at: usize| kernels[1].programs[at].launches().next().unwrap().entry.as_str();
    assert_eq!([0, 1, 2].map(launched), ["copy_N64_EVEN1", "copy_N72_EVEN0", "copy_N64_EVEN1"]);
    let KernelCode::Python(python) = &kernels[1].code else { panic!("{:?}", kernels[1].code) };
    let by_value = python.by_value.as_ref().unwrap();
    assert_eq!((by_value.function.as_str(), &by_value.entries[1].constants[1].1), ("copy", &Value::Bool(false)));
    assert_eq!(python.launched, ["BLOCK"]);
    for (constexprs, expected) in [
        ("BLOCK = \"N\"", "`kernel.constexprs.BLOCK` is also one of the sweep's parameters"),
        ("N = \"M\"", "`kernel.constexprs.N` is \"M\"; `M` is not among the dimensions and the sweep's parameters"),
    ] {
        let said = error(&text(constexprs, "BLOCK = [8]\n"));
        assert!(said.contains(expected), "{said}");
    }
    let said = error(&with_kernel(&format!("{CUDA}constexprs = {{ N = \"N\" }}\n"), "THREADS = [32]\nCAP = [32]\n"));
    assert!(said.contains("`kernel.constexprs` does not apply to a kernel with `source`"), "{said}");
    let never = text("D = \"N // (N - 72)\"", "BLOCK = [8]\n");
    let said = unroll(&read(&never).unwrap()).unwrap_err().to_string();
    assert!(said.contains("`kernel.constexprs.D` is \"N // (N - 72)\", which cannot be evaluated"), "{said}");
}

#[test]
fn dynamic_shared_memory_can_be_a_constant_of_the_source() {
    let constant = "dynamic_shared = { cpp = \"Traits<{{ CAP }}>::kSmem\" }\n";
    let plans = kernels(&with_kernel(&format!("{CUDA}{constant}"), "THREADS = [32]\nCAP = [64]\n"));
    let launch = plans[0].launches().next().unwrap();
    assert_eq!((launch.shared_constant.as_deref(), launch.dynamic_shared), (Some("Traits<64>::kSmem"), 0));
    let unknown = constant.replace("CAP", "CUP");
    let said = error(&with_kernel(&format!("{CUDA}{unknown}"), "THREADS = [32]\nCAP = [64]\n"));
    assert!(said.contains("`CUP`") && said.contains("CAP"), "{said}");
    let cubin = "cubin = \"k.cubin\"\nentry = \"k\"\ngrid = [1]\nblock = [32]\nargs = [\"x\", \"y\"]\n";
    let said = error(&with_kernel(&format!("{cubin}{constant}"), "CAP = [64]\n"));
    assert!(said.contains("`kernel.dynamic_shared.cpp` needs a `source`"), "{said}");
}

#[test]
fn keys_that_mean_nothing_for_what_the_file_holds_are_errors() {
    let triton = "python = \"k.py:copy\"\ngrid = [\"N\"]\nargs = [\"x\", \"y\", \"N\", \"scale\"]\ncluster = [2]\n";
    let said = error(&with_kernel(triton, "num_warps = [2]\n"));
    assert!(
        said.contains(
            "`kernel.cluster` does not apply to a kernel with `python`: the function's compiler determines it"
        ),
        "{said}"
    );
    let both = with_kernel(&format!("{CUDA}cubin = \"k.cubin\"\n"), "THREADS = [32]\nCAP = [32]\n");
    assert!(error(&both).contains("`kernel` has both `source` and `cubin`"), "{}", error(&both));
    let nameless = triton.replace("k.py:copy", "k.py").replace("cluster = [2]\n", "");
    let said = error(&with_kernel(&nameless, "num_warps = [2]\n"));
    assert!(said.contains("`kernel.python` is \"k.py\", which names no function"), "{said}");
    let warps = triton.replace("cluster = [2]\n", "");
    let wide = kernels(&with_kernel(&warps, "num_warps = [3, 8, 64]\n"));
    let threads: Vec<u32> = wide.iter().filter_map(|kernel| Some(kernel.launches().next()?.threads())).collect();
    assert_eq!(threads, [96, 256, 128], "the compiler reports its own limits");
}

#[test]
fn a_cubin_needs_an_entry_and_a_block_and_has_a_workspace() {
    let cubin = "cubin = \"k.cubin\"\ngrid = [\"N // 32\"]\nargs = [\"x\", \"y\"]\n";
    let said = error(&with_kernel(cubin, ""));
    assert!(said.contains("`kernel.entry` is missing") && said.contains("`kernel.block` is missing"), "{said}");
    let whole = format!("{cubin}entry = \"k\"\nblock = [32]\nworkspace = [0, \"8 * N\"]\n");
    let text = with_kernel(&whole, "").replace("[sweep]\n", "");
    let kernels = kernels(&text);
    assert_eq!(kernels[0].code, KernelCode::Cubin);
    assert_eq!(kernels[0].launches().nth(1).unwrap().args[2..], [Arg::Workspace(0), Arg::Workspace(8 * 4096)]);
    assert_eq!(kernels[0].flags, Vec::<String>::new());
}

#[test]
fn several_sources_are_those_of_one_kernel() {
    let two = CUDA.replace("\"copy.cu\"", "[\"copy.cu\", \"tables_{{ CAP }}.cu\"]");
    let sweep = "THREADS = [32]\nCAP = [32, 64]\n";
    let variant = "\n[[variant]]\nname = \"alone\"\nparams = { THREADS = 64, CAP = 32 }\nkernel = { source = \"k.cu\" }\n\
        [[variant]]\nname = \"other\"\nparams = { THREADS = 64, CAP = 32 }\nkernel = { entry = \"k\" }\n";
    let kernels = kernels(&(with_kernel(&two, sweep) + variant));
    let sources: Vec<Vec<&str>> =
        kernels.iter().map(|kernel| kernel.sources().filter_map(|source| source.to_str()).collect()).collect();
    let expected: [&[&str]; 4] =
        [&["copy.cu", "tables_32.cu"], &["copy.cu", "tables_64.cu"], &["k.cu"], &["copy.cu", "tables_32.cu"]];
    assert_eq!(sources, expected);
    let files = |text: &str| {
        let phase = read(text).unwrap_or_else(|e| panic!("{e}"));
        let plan = unroll(&phase).unwrap_or_else(|e| panic!("{e}"));
        named_files(&phase, &plan).into_iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>()
    };
    assert!(files(&(with_kernel(&two, sweep) + variant)).contains(&"tables_64.cu".to_owned()));
    let none = CUDA.replace("\"copy.cu\"", "[]");
    assert!(error(&with_kernel(&none, sweep)).contains("at least one value"));
    let misspelt = two.replace("tables_{{ CAP }}", "tables_{{ CAPS }}");
    assert!(error(&with_kernel(&misspelt, sweep)).contains("CAPS"));
    assert!(
        error(&with_kernel(&CUDA.replace("source = \"copy.cu\"", "ptx = [\"a.ptx\"]"), sweep)).contains("`kernel.ptx`")
    );
}

#[test]
fn a_variant_of_another_kind_takes_over_grid_and_arguments_alone() {
    let variant = "\n[[variant]]\nname = \"t\"\nparams = { THREADS = 64 }\nkernel = { python = \"k.py:copy\" }\n";
    let kernels = kernels(&format!("{SMALL}{variant}"));
    let last = kernels.last().unwrap();
    assert!(matches!(last.code, KernelCode::Python(_)));
    assert_eq!((last.flags.len(), last.defines.len(), last.launches().nth(1).unwrap().grid[0]), (0, 0, 64));
}

#[test]
fn a_python_function_is_a_variant_of_its_own() {
    let baseline = "\n[[baseline]]\nname = \"eager\"\npython = \"torch_copy.py:copy\"\nparams = { dim = 1 }\n";
    let phase = read(&format!("{SMALL}{baseline}")).unwrap_or_else(|e| panic!("{e}"));
    let plan = unroll(&phase).unwrap_or_else(|e| panic!("{e}"));
    let Method::Function(function) = &plan.variants.last().unwrap().method else { panic!("not a function") };
    assert_eq!((function.file.to_str(), function.function.as_str()), (Some("torch_copy.py"), "copy"));
    let said = error(&format!("{SMALL}{}", baseline.replace(":copy", "")));
    assert!(said.contains("which names no function"), "{said}");
    let both = baseline.replace("params", "command = [\"a\"]\nparams");
    assert!(error(&format!("{SMALL}{both}")).contains("has both `python` and `command`"));
}

#[test]
fn host_code_is_a_function_with_flags_parameters_and_arguments() {
    let host = "host = \"sort.cu:lib::sort<{{ THREADS }}>\"\ndefines = [\"CAP\"]\nargs = [\"x\", \"y\", \"N\", \"scale\"]\nworkspace = [\"4 * N\"]\n";
    let sweep = "THREADS = [32, 64]\nCAP = [1]\n";
    let functions = |text: &str| -> Vec<FunctionPlan> {
        let phase = read(text).unwrap_or_else(|e| panic!("{e}"));
        let plan = unroll(&phase).unwrap_or_else(|e| panic!("{e}"));
        let files: Vec<String> =
            named_files(&phase, &plan).iter().map(|file| file.path.display().to_string()).collect();
        assert!(files.contains(&"sort.cu".to_owned()), "{files:?}");
        let functions = plan.variants.into_iter().filter_map(|variant| match variant.method {
            Method::Function(function) => Some(function),
            Method::Kernel(_) | Method::Command(_) | Method::Captured(_) => None,
        });
        functions.collect()
    };
    let found = functions(&with_kernel(host, sweep));
    assert_eq!(
        found.iter().map(|found| found.function.as_str()).collect::<Vec<_>>(),
        ["lib::sort<32>", "lib::sort<64>"]
    );
    let code = found[0].host.as_ref().unwrap();
    assert_eq!((code.flags.join(" "), code.defines.len()), ("-O3 -lineinfo".to_owned(), 1));
    let call = code.programs[1].launches().next().unwrap();
    assert_eq!(call.args.len(), 5);
    assert_eq!(call.args[4], Arg::Workspace(4 * 4096));

    let baseline = "\n[[baseline]]\nname = \"library\"\nkernel = { host = \"sort.cu:sort\" }\n";
    let found = functions(&format!("{SMALL}{baseline}"));
    assert_eq!(found[0].host.as_ref().unwrap().programs[0].launches().next().unwrap().args.len(), 4);

    let said = error(&with_kernel(&format!("{host}grid = [1]\n"), sweep));
    assert!(
        said.contains("`kernel.grid` does not apply to a kernel with `host`: the host function determines it"),
        "{said}"
    );
    assert!(
        error(&with_kernel(&host.replace(":lib::sort<{{ THREADS }}>", ""), "CAP = [1]\n"))
            .contains("names no function")
    );
    let with = |arg: &str| with_kernel(&host.replace("\"scale\"]", &format!("{arg}]")), sweep);
    assert!(unroll(&read(&with("{ struct = [\"N\"] }")).unwrap()).is_ok());
    let half = with("{ value = 1, type = \"f16\" }");
    let said = unroll(&read(&half).unwrap_or_else(|e| panic!("{e}"))).unwrap_err().to_string();
    assert!(said.contains("which a host function does not take"), "{said}");
    assert!(error(&with_kernel(host, &format!("{sweep}OTHER = [1]\n"))).contains("OTHER"));
}

#[test]
fn a_python_function_may_leave_grid_and_block_to_its_compiler_or_say_them() {
    let kernel = "python = \"k.py:copy\"\nargs = [\"x\", \"y\", \"N\", \"scale\"]\n";
    let given = |more: &str, sweep: &str| {
        let kernels = kernels(&with_kernel(&format!("{kernel}{more}"), sweep));
        let KernelCode::Python(python) = &kernels[0].code else { panic!("{:?}", kernels[0].code) };
        (python.given.clone(), kernels[0].launches().next().unwrap().block)
    };
    assert_eq!(given("", "TILE = [64]\n").0, []);
    let said = given("grid = [\"N // T\"]\nblock = [\"T\", 2]\ndynamic_shared = \"4 * T\"\n", "T = [64]\n");
    assert_eq!(said, (vec![LaunchKey::Grid, LaunchKey::Block, LaunchKey::DynamicShared], [64, 2, 1]));
}
