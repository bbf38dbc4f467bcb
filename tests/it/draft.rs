//! `init`: phases drafted from third-party kernels.

use crate::command::{Finished, Place, has_python};

/// Kernels, and the status of checking the draft: 0 if it has no gaps left to fill in.
const KERNELS: [(&str, &str, i32); 16] = [
    ("sgemm_naive.cu", "sgemm_naive", 0),
    ("sgemm_tiled.cu", "sgemm_tiled", 0),
    ("matrixMul.cu", "matrixMulShared", 2),
    ("softmax.cu", "softmax_forward", 0),
    ("layernorm.cu", "layernorm_forward_kernel", 2),
    ("reduce.cu", "reduce5", 2),
    ("reduce.cu", "sum_atomic", 2),
    ("histogram.cu", "histogram_smem", 2),
    ("transpose.cu", "transposeNoBankConflicts", 2),
    ("elementwise.cu", "vectorAdd", 2),
    ("elementwise.cu", "saxpy", 2),
    ("elementwise.cu", "relu_f32x4", 2),
    ("elementwise.cu", "rope", 2),
    ("elementwise.cu", "scaled", 2),
    ("../../../kernels/softmax/softmax.cu", "softmax_rows", 2),
    ("../../../examples/beta_gemm/gemm.cu", "gemm_coalesced", 2),
];

fn drafted(place: &Place, file: &str, entry: &str) -> String {
    let source = crate::command::root().join("tests/data/drafts").join(file);
    place.write("kernel.cu", &std::fs::read_to_string(source).unwrap());
    let output = format!("{entry}.toml");
    let finished = place.run(&["init", "kernel.cu", "--entry", entry, "-o", &output]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    assert!(finished.stdout.contains(&format!("next: ncugate check {output}")), "{finished:?}");
    std::fs::read_to_string(place.path().join(output)).unwrap()
}

/// Whether Python and NumPy are installed. References of kernels without a built-in need them.
fn has_numpy() -> bool {
    std::process::Command::new("python3")
        .args(["-c", "import numpy"])
        .output()
        .is_ok_and(|output| output.status.success())
}

#[test]
fn a_complete_draft_is_a_valid_phase_and_an_incomplete_one_lists_its_gaps() {
    for (file, entry, status) in KERNELS {
        let place = Place::new();
        let text = drafted(&place, file, entry);
        assert_eq!(text.contains("FILL:"), status != 0, "{text}");
        let is_python = text.contains("python = ");
        if is_python && !has_numpy() {
            println!("left out: {entry} (no NumPy)");
            continue;
        }
        let checked = place.run(&["check", &format!("{entry}.toml"), "--no-build"]);
        assert_eq!(checked.status, Some(status), "{entry}: {checked:?}\n{text}");
    }
}

#[test]
fn names_of_types_and_constants_come_from_included_files_too() {
    let place = Place::new();
    let common = "#pragma once\n#include \"deeper/types.h\"\n#include \"kernel.cu\"\n#include \"absent.h\"\n\
                  #include <cuda_runtime.h>\nconstexpr int TILE = 32;\n#define WIDE 4\n";
    place.write("common.h", common);
    // without -D the compiler takes the last branch
    place.write(
        "deeper/types.h",
        "#if defined(ENABLE_BF16)\ntypedef __nv_bfloat16 real;\n#else\ntypedef float real;\n#endif\n",
    );
    let kernel = "#include \"common.h\"\n__global__ void vector_add(real *out, const real *a, const real *b, int n) {\n    \
                  int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = a[i] + b[i];\n}\n";
    place.write("kernel.cu", kernel);
    let finished = place.run(&["init", "kernel.cu", "-o", "sum.toml"]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let text = std::fs::read_to_string(place.path().join("sum.toml")).unwrap();
    assert!(text.matches("dtype = \"f32\"").count() == 3, "{text}");
}

/// Bounds checks do not say how many elements a block takes.
#[test]
fn a_grid_without_a_launch_and_a_block_of_two_axes_are_left_open() {
    let kernel = "__global__ void scale(float *y, const float *x, int R, int C) {\n    int r = blockIdx.x;\n    \
                  for (int i = threadIdx.x; i < C; i += blockDim.x) y[r * C + i] = 2.0f * x[r * C + i];\n}\n";
    let text = text_of(&Place::new(), kernel, "scale");
    assert_holds(
        &text,
        &["# FILL: blocks of the grid", "\ngrid = [\"FILL_grid\"]\n", "\n# ragged = ", "block = [\"THREADS\"]"],
    );
    let bounded = kernel.replace("int r = blockIdx.x;", "int r = blockIdx.x; if (r >= R) return;");
    assert_holds(&text_of(&Place::new(), &bounded, "scale"), &["\nragged = ", "\ngrid = [\"FILL_grid\"]\n"]);
    let plane = kernel.replace("int r = blockIdx.x;", "extern __shared__ float s[]; int r = blockIdx.x + threadIdx.y;");
    assert_holds(
        &text_of(&Place::new(), &plane, "scale"),
        &["# FILL: threads of a block per axis", "block = [\"FILL_block\"]", "\ndynamic_shared = \"FILL_bytes\"\n"],
    );
}

#[test]
fn a_draft_builds_with_nvcc() {
    let Some(nvcc) = std::env::var_os("NCUGATE_TEST_NVCC") else {
        println!("left out: NCUGATE_TEST_NVCC names no nvcc");
        return;
    };
    for (file, entry, _) in KERNELS.into_iter().filter(|(.., status)| *status == 0) {
        let place = Place::new();
        let text = drafted(&place, file, entry);
        if text.contains("python = ") && !has_numpy() {
            continue;
        }
        let text = format!("{text}\n[build]\nnvcc = {:?}\n", nvcc.to_string_lossy());
        place.write(&format!("{entry}.toml"), &text);
        let checked = place.run(&["check", &format!("{entry}.toml"), "--arch", "sm_90"]);
        assert_eq!(checked.status, Some(0), "{entry}: {checked:?}\n{text}");
    }
}

#[test]
fn several_kernels_no_kernel_and_an_existing_file_are_errors() {
    let place = Place::new();
    place.write("two.cu", "__global__ void first(float* x) {}\n__global__ void second(float* x) {}");
    let several = place.run(&["init", "two.cu"]);
    assert_eq!(several.status, Some(2));
    assert!(several.stderr.contains("defines first, second; name one with --entry"), "{several:?}");
    let near = place.run(&["init", "two.cu", "--entry", "secnd"]);
    assert!(near.status == Some(2) && near.stderr.contains("did you mean `second`?"), "{near:?}");
    place.write("none.cu", "void f() {}");
    let none = place.run(&["init", "none.cu"]);
    assert!(none.status == Some(2) && none.stderr.contains("no `__global__` function"), "{none:?}");
    place.write("first.toml", "mine");
    let there = place.run(&["init", "two.cu", "--entry", "first"]);
    assert!(there.status == Some(2) && there.stderr.contains("first.toml exists"), "{there:?}");
    assert_eq!(std::fs::read_to_string(place.path().join("first.toml")).unwrap(), "mine");
    assert_eq!(place.run(&["init", "absent.cu"]).status, Some(3));
}

#[test]
fn no_text_ends_the_program() {
    let place = Place::new();
    let whole = include_str!("../data/drafts/softmax.cu");
    for at in (0..whole.len()).step_by(7).filter(|at| whole.is_char_boundary(*at)) {
        place.write("cut.cu", &whole[..at]);
        let finished = place.run(&["init", "cut.cu", "-o", &format!("{at}.toml")]);
        assert!(matches!(finished.status, Some(0 | 2)), "{at}: {finished:?}");
    }
}

#[test]
fn block_bytes_and_an_absent_output_are_marked_and_invalid_toml_is_not_written() {
    let place = Place::new();
    let gemm = "template <int BM, int BN, int BM2> __global__ void hgemm(const half *a, const half *b, half *c, int M, int N, int K) {\n\
                int row = blockIdx.y * BM, col = blockIdx.x * BN;\n if (row < M && col < N) c[row * N + col] = a[row * K] * b[col];\n}\n";
    place.write("gemm.cu", gemm);
    let init = |file: &str, output: &str| place.run(&["init", file, "-o", output]);
    assert_eq!(init("gemm.cu", "gemm.toml").status, Some(0));
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let text = read("gemm.toml");
    assert!(text.contains("# CHECK: threads of a block, "), "{text}");
    assert!(text.contains("# CHECK: minimum bytes that a launch moves"), "{text}");
    assert!(text.contains("bytes = \"2 * M * K + 2 * K * N + 2 * M * N\""), "{text}");

    // No visible store, through any of the pointers that permit one.
    place.write("hidden.cu", "__global__ void hidden(float *x, float *y, int n) { asm(\"st\" :: \"l\"(y)); }\n");
    assert_eq!(init("hidden.cu", "hidden.toml").status, Some(0));
    assert!(read("hidden.toml").contains("# FILL: no output was found"), "{}", read("hidden.toml"));
    let reference = read("hidden_reference.py");
    assert!(reference.contains("for every buffer that the kernel writes"), "{reference}");

    // A repeated parameter, an unterminated text, control characters.
    place.write("twice.cu", "template <int T, int T> __global__ void twice(float *y, int n) { y[threadIdx.x] = T; }\n");
    place.write(
        "open.cu",
        "__global__ void unended(float *y, int n) { y[0] = n; }\nvoid h() { unended<<<1, \"32\n\u{1}, 2>>>(0); }\n",
    );
    for (file, output) in [("twice.cu", "twice.toml"), ("open.cu", "open.toml")] {
        let finished = init(file, output);
        match finished.status {
            Some(0) => {
                let text = read(output);
                assert!(text.parse::<toml::Table>().is_ok() && !text.contains('\u{1}'), "{text}");
            }
            status => assert!(status == Some(2) && !place.path().join(output).exists(), "{finished:?}"),
        }
    }
}

#[test]
fn a_kernel_is_run_by_a_draft_that_is_kept() {
    let place = Place::new();
    let source = concat!(include_str!("../data/drafts/elementwise.cu"), include_str!("../data/drafts/softmax.cu"));
    place.write("kernel.cu", source);
    let listed = place.run(&["run", "kernel.cu", "--entry", "softmax_forward", "--list"]);
    assert!(listed.status == Some(0) && listed.stdout.starts_with("softmax_forward: "), "{listed:?}");
    assert!(listed.stderr.contains("drafted softmax_forward.toml: 7 places to check"), "{listed:?}");
    let draft = std::fs::read_to_string(place.path().join("softmax_forward.toml")).unwrap();
    let again = place.run(&["run", "kernel.cu", "--entry", "softmax_forward", "--list"]);
    assert_eq!(again.stdout, listed.stdout);
    assert!(again.stderr.contains("using softmax_forward.toml"), "{again:?}");
    assert_eq!(std::fs::read_to_string(place.path().join("softmax_forward.toml")).unwrap(), draft);

    // headers hold kernels too
    place.write("scale.cuh", "__global__ void scale(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }");
    let header = place.run(&["run", "scale.cuh", "--list"]);
    assert!(header.stderr.contains("drafted scale.toml") && !header.stderr.contains("not TOML"), "{header:?}");

    let several = place.run(&["run", "kernel.cu", "--list"]);
    assert!(several.status == Some(2) && several.stderr.contains("--entry"), "{several:?}");
    let open = place.run(&["run", "kernel.cu", "--entry", "rope", "--list"]);
    assert!(open.status == Some(2) && open.stderr.contains("rope.toml:") && open.stderr.contains("FILL:"), "{open:?}");
    // the phase of another kernel is not taken for a draft of this one
    place.write("other.cu", source);
    let other = place.run(&["run", "other.cu", "--entry", "softmax_forward", "--list"]);
    assert!(other.status == Some(2) && other.stderr.contains("is not a phase of other.cu"), "{other:?}");
}

/// The text of a draft that `init` writes for a source.
fn text_of(place: &Place, source: &str, entry: &str) -> String {
    place.write("source.cu", source);
    let finished = place.run(&["init", "source.cu", "--entry", entry, "-o", &format!("{entry}.toml")]);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    std::fs::read_to_string(place.path().join(format!("{entry}.toml"))).unwrap()
}

fn assert_holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in {text}");
    }
}

#[test]
fn a_kernel_of_an_included_file_is_drafted_and_one_that_a_macro_makes_is_explained() {
    let place = Place::new();
    place.write(
        "copies.cuh",
        "#define KERNEL __global__\nKERNEL void copy(float *y, const float *, int n) { y[threadIdx.x] = n; }\n",
    );
    let text = text_of(&place, "#include \"copies.cuh\"\n#include <cuda_fp16.h>\n", "copy");
    assert_holds(&text, &["`copy`", "\n  \"y\",\n  \"arg1\",\n  \"n\",\n"]);
    place.write("macro.cu", "#define K(name) __global__ void name(float *x) {}\nK(f)\n");
    let none = place.run(&["init", "macro.cu"]);
    assert!(
        none.status == Some(2) && none.stderr.contains("the output of `nvcc -E` if a macro defines it"),
        "{none:?}"
    );
    // lines of a preprocessor are no code
    let text = text_of(&place, "# 1 \"macro.cu\"\n__global__ void f(float *x, int n) { x[threadIdx.x] = n; }\n", "f");
    assert_holds(&text, &["x = { dtype = \"f32\", shape = [\"n\"], role = \"output\" }"]);
}

#[test]
fn template_values_that_the_source_launches_are_the_sweep() {
    let place = Place::new();
    let kernel = "template <typename T, int VEC, int TILE> __global__ void copy_tiles(T *y, const T *x, int n) {\n    \
                  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];\n}\n";
    let switch = format!(
        "{kernel}void h(int v) {{\n    constexpr int WIDE = 4;\n    switch (v) {{ case 2: copy_tiles<double, 2, 16><<<n, 64>>>(y, x, n); break; \
         case 4: copy_tiles<double, WIDE, 2 * 16><<<n, 64>>>(y, x, n); }}\n}}\n"
    );
    let text = text_of(&place, &switch, "copy_tiles");
    assert_holds(
        &text,
        &[
            "VEC = [2, 4]\nTILE = [16, 32]\n",
            "Every combination is a variant",
            "block = [64]",
            "entry = \"copy_tiles<double, ",
        ],
    );
    assert_eq!(place.run(&["check", "copy_tiles.toml", "--no-build"]).status, Some(0), "{text}");
    // what no launch gives is said
    let text = text_of(&Place::new(), kernel, "copy_tiles");
    assert_holds(
        &text,
        &[
            "# CHECK: choose T, VEC, TILE; the source launches none or several.",
            "# FILL: values that the source",
            "\nVEC = [\"FILL_VEC\"]\n",
        ],
    );
}

#[test]
fn variables_that_the_host_fills_are_buffers_or_are_refused() {
    let place = Place::new();
    let source = "#define RADIUS 2\nstruct Params { int a; float b; };\n__constant__ float stencil[2 * RADIUS + 1];\n__device__ Params params;\n\
                  __device__ unsigned int ticket;\n__constant__ float unread[4];\n\
                  __global__ void copy_blur(float *y, const float *x, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
                  if (i < n) y[i] = x[i] * stencil[0]EXTRA;\n}\n";
    let text = text_of(&place, &source.replace("EXTRA", ""), "copy_blur");
    assert_holds(
        &text,
        &[
            "\n[kernel.symbols]\n# FILL: the host fills `__constant__ float stencil[2*RADIUS+1]`. Name an input buffer or give a value",
            "\nstencil = \"FILL_stencil\"\n",
        ],
    );
    assert!(!text.contains("ticket") && !text.contains("unread") && !text.contains("params"), "{text}");
    let copied = "\nvoid h() { cudaMemcpyToSymbol(params, &p, sizeof(p)); }\n";
    let text = text_of(&Place::new(), &(source.replace("EXTRA", " + params.a") + copied), "copy_blur");
    assert_holds(&text, &["\n# FILL: the host fills `__device__ Params params`.", "\nparams = \"FILL_params\"\n"]);
    // a phase with the placeholder does not run, from the source or from the draft
    let place = Place::new();
    place.write("source.cu", &source.replace("EXTRA", ""));
    let refused = place.run(&["run", "source.cu", "--list"]);
    assert!(
        refused.status == Some(2) && refused.stderr.contains("FILL: the host fills `__constant__ float stencil"),
        "{refused:?}"
    );
    let placed = place.run(&["check", "copy_blur.toml", "--no-build"]);
    assert!(placed.status == Some(2) && placed.stderr.contains("`FILL_stencil`, which is not a buffer"), "{placed:?}");
}

#[test]
fn a_cooperative_grid_is_what_is_resident() {
    let place = Place::new();
    let source = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n\
                  __global__ void copy_twice(float *y, const float *x, int n) {\n    cg::grid_group grid = cg::this_grid();\n    \
                  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 0;\n    grid.sync();\n    \
                  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i];\n}\n";
    let text = text_of(&place, source, "copy_twice");
    assert_holds(
        &text,
        &[
            "\ngrid = [\"sms\"]\n",
            "\ncooperative = true\n",
            "# CHECK: blocks of the grid, a guess: one on every SM. A cooperative grid has at most",
        ],
    );
    assert_eq!(place.run(&["check", "copy_twice.toml", "--no-build"]).status, Some(0), "{text}");
}

/// A tile of 64 x 64 elements by 16 x 16 threads: what the source launches, and nothing that names suggest.
#[test]
fn a_launch_in_the_source_gives_grid_and_block_or_they_are_left_open() {
    let kernel = "template <int BM, int BN, int BK> __global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {\n    \
                  __shared__ float a[BM][BK], b[BK][BN];\n    int row = blockIdx.y * BM + threadIdx.y * 4, col = blockIdx.x * BN + threadIdx.x * 4;\n    \
                  float sum = 0;\n    for (int k = 0; k < K; k += BK) { a[0][0] = A[row * K + k]; b[0][0] = B[k * N + col]; sum += a[0][0] * b[0][0]; }\n    \
                  C[row * N + col] = sum;\n}\n";
    let launched = |host: &str| text_of(&Place::new(), &format!("{kernel}{host}"), "gemm");
    let tiled = "void run(float *a, float *b, float *c, int m, int n, int k) {\n    GRID\n    gemm<64, 64, 32><<<CONFIG>>>(a, b, c, m, n, k);\n}\n";
    let with = |grid: &str, config: &str| launched(&tiled.replace("GRID", grid).replace("CONFIG", config));
    for (grid, config) in [
        ("", "dim3(n/64, m/64), dim3(16,16)"),
        ("dim3 grid(n / 64, m / 64), block(16, 16);", "grid, dim3(16, 16)"),
        ("int columns = n / 64; dim3 grid = dim3(columns, m / 64);", "grid, dim3(16, 16), 0, stream"),
    ] {
        let text = with(grid, config);
        assert_holds(
            &text,
            &[
                "# CHECK: blocks of the grid, as the source launches it.",
                "\ngrid = [\"N // 64\", \"M // 64\"]\n",
                "\nblock = [16, 16]\n",
            ],
        );
    }
    assert_holds(
        &with("", "dim3(cdiv(n, 64), (m + 63) / 64), dim3(16, 16)"),
        &["grid = [\"(N + 63) // 64\", \"(M + 63) // 64\"]"],
    );
    // names of the launcher's template stand for those of the kernel
    let launcher = "template <int X, int Y, int Z> void run(float *a, float *b, float *c, int m, int n, int k) {\n    \
                    gemm<X, Y, Z><<<dim3(n / Y, m / X), dim3(16, Y / 4)>>>(a, b, c, m, n, k);\n}\nvoid h() { run<64, 32, 8>(a, b, c, 1, 2, 3); }\n";
    assert_holds(
        &launched(launcher),
        &[
            "\ngrid = [\"N // BN\", \"M // BM\"]\n",
            "\nblock = [16, \"BN // 4\"]\n",
            "threads of a block, as the source",
        ],
    );
    // an expression that a phase does not have
    let open = with("", "blocks_for(n, m), dim3(16, 16)");
    assert_holds(
        &open,
        &["# FILL: blocks of the grid per axis, which no launch in the source gives", "\ngrid = [\"FILL_grid\"]\n"],
    );
    let place = Place::new();
    let text = text_of(
        &place,
        &format!("{kernel}{}", tiled.replace("GRID", "").replace("CONFIG", "blocks_for(n), 256")),
        "gemm",
    );
    let refused = place.run(&["check", "gemm.toml", "--no-build"]);
    assert!(refused.status == Some(2) && refused.stderr.contains("FILL_grid"), "{refused:?}\n{text}");
    let checks = text.lines().filter(|line| line.contains("CHECK:")).count();
    let left = format!("1 line with FILL and {checks} lines with CHECK are left in `gemm.toml`");
    assert!(refused.stderr.contains(&left), "{left}: {refused:?}");
}

/// A functor and a list of tensors are drafted as f32 otherwise, and a counter's first value is a grid of no blocks.
#[test]
fn arguments_of_any_type_and_grids_that_the_host_counts_are_left_open() {
    let place = Place::new();
    let source = "template <typename L, typename F>\n__global__ void apply(long long n, const int *flags, float *out, L list, F f) { f(n, flags, out, list); }\n\
                  template <typename F> void all(F f, Tensors list, cudaStream_t stream) {\n  int blocks = 0;\n  while (more(list)) blocks++;\n  \
                  apply<<<blocks, 512, 0, stream>>>(list.n, list.flags, list.out, list, f);\n}\n";
    let text = text_of(&place, source, "apply");
    assert_holds(&text, &["\"FILL_list\", # FILL:", "\"FILL_f\", # FILL:", "grid = [\"FILL_grid\"]", "block = [512]"]);
    assert!(text.lines().any(|line| line.starts_with("out = ") && line.contains("role = \"output\"")), "{text}");
}

#[test]
fn check_counts_the_places_of_a_draft_that_are_left() {
    let place = Place::new();
    let text = text_of(&place, include_str!("../data/drafts/sgemm_naive.cu"), "sgemm_naive");
    let places = text.lines().filter(|line| line.contains("CHECK:")).count();
    assert!(places > 3, "{text}");
    let checked = place.run(&["check", "sgemm_naive.toml", "--no-build"]);
    assert_eq!(checked.status, Some(0), "{checked:?}");
    let last = checked.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with(&format!("  {places} lines with CHECK are left in `sgemm_naive.toml`: ")), "{checked:?}");
    place.write("sgemm_naive.toml", &text.replace("# CHECK:", "#"));
    let done = place.run(&["check", "sgemm_naive.toml", "--no-build"]);
    assert!(done.status == Some(0) && !done.stdout.contains("CHECK"), "{done:?}");
}

/// A kernel in Triton, whose launch has everything but the sizes.
const SCALED: &str = "import triton\nimport triton.language as tl\n\n\n@triton.autotune(\n    configs=[triton.Config({\"BLOCK\": b}, num_warps=w) for \
                      b in [128, 256] for w in [2, 4]],\n    key=[\"n\"],\n)\n@triton.jit\ndef scaled(x_ptr, y_ptr, stride_y, factor, n, BLOCK: \
                      tl.constexpr):\n    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    v = tl.load(x_ptr + at, mask=at < n)\n    \
                      tl.store(y_ptr + at * stride_y, v * factor, mask=at < n)\n\n\ndef launch(x, y, factor=2.0):\n    n = x.numel()\n    \
                      scaled[lambda meta: (triton.cdiv(n, meta[\"BLOCK\"]),)](x, y, y.stride(0), factor, n)\n";

#[test]
fn a_kernel_in_python_is_drafted_from_its_source() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    place.write("kernels.py", SCALED);
    let drafted = place.run(&["init", "kernels.py"]);
    assert_eq!(drafted.status, Some(0), "{drafted:?}");
    assert!(drafted.stdout.contains("scaled_reference.py: 0 places to check, 1 place to fill in"), "{drafted:?}");
    let text = std::fs::read_to_string(place.path().join("scaled.toml")).unwrap();
    assert_holds(
        &text,
        &[
            "\ngrid = [\"(n + BLOCK - 1) // BLOCK\"]\n",
            "\nstride_y = [1] # ",
            "\nBLOCK = [128, 256] # ",
            "\nnum_warps = [2, 4] # ",
            "\nfactor = { type = \"f32\", value = 2.0 }\n",
        ],
    );
    let unwritten = place.run(&["check", "scaled.toml", "--no-build"]);
    assert!(unwritten.status != Some(0) && unwritten.stderr.contains("1 line with FILL and "), "{unwritten:?}");
    let text = text.replace("{ python = \"scaled_reference.py:reference\" }", "\"copy\"");
    place.write("scaled.toml", &text);
    let checked = place.run(&["check", "scaled.toml", "--no-build"]);
    assert_eq!(checked.status, Some(0), "{checked:?}\n{text}");
    let Some(python) = std::env::var_os("NCUGATE_TEST_TRITON") else {
        println!("left out: NCUGATE_TEST_TRITON names no Python");
        return;
    };
    place.write("scaled.toml", &format!("{text}\n[build]\npython = {:?}\n", python.to_string_lossy()));
    let built = place.run(&["check", "scaled.toml", "--arch", "sm_90"]);
    assert!(built.stdout.contains("4 of 4 candidates build for sm_90"), "{built:?}");
}

#[test]
fn drafts_of_python_need_the_package_and_one_kernel() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    place.write("kernels.py", SCALED);
    let absent = Finished::of(place.ncugate(&["init", "kernels.py"]).env_remove("PYTHONPATH"));
    assert!(absent.status == Some(3) && absent.stderr.contains("hint: pip install ncugate"), "{absent:?}");
    for (words, status, said) in [
        (
            "init kernels.py:scale",
            2,
            "no kernel `scale` under `@triton.jit`, `@gluon.jit`, `@cuda.jit` or `@cute.jit`; it has scaled",
        ),
        ("init absent.py", 3, "cannot read absent.py"),
        ("init kernels.py --shape 8", 2, "is not MODULE:FUNCTION"),
    ] {
        let wrong = place.run(&words.split(' ').collect::<Vec<_>>());
        assert!(wrong.status == Some(status) && wrong.stderr.contains(said), "{words}: {wrong:?}");
    }
    let named = place.run(&["init", "kernels.py", "--entry", "scaled", "-o", "other.toml"]);
    assert!(named.status == Some(0) && place.path().join("other_reference.py").exists(), "{named:?}");
}

#[test]
fn macros_and_structs_of_a_header_in_the_folder_are_known() {
    let place = Place::new();
    place.write(
        "layouts.h",
        "#define GLOBAL __global__\nnamespace detail { template <typename T> struct Params { T *out; const T *in; int n; float scale; \
         static constexpr int W = 4; int extent[W]; __host__ int size() const { return n; } }; }\nstruct Bits { int low : 3; };\n\
         class Offset { public: Offset(int o) : o_(o) {} long long o_; };\nunion Either { int a; float b; };\nstruct Holder { union { int a; }; };\n",
    );
    let kernel = "#include <layouts.h>\nGLOBAL void fill(detail::Params<float> p, Offset o, Bits b, Holder h, int *flags, int, int max_iterations, int n) {\n    \
                  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { p.out[i] = p.in[i]; flags[i] = 1; }\n}\n";
    let text = text_of(&place, kernel, "fill");
    assert_holds(
        &text,
        &[
            "  { struct = [\"FILL_p_out\", \"FILL_p_in\", { value = \"FILL_p_n\", type = \"i32\" }, { value = \"FILL_p_scale\", type = \"f32\" }, \
             { value = \"FILL_p_extent\", type = \"i32\", repeat = 4 }] }, # FILL: `p` is of the type detail::Params<float>",
            "  { struct = [{ value = \"FILL_o_o_\", type = \"i64\" }] }, # FILL: `o` is of the type Offset",
            "  \"FILL_b\", # FILL: `b` is of the type Bits",
            "  \"FILL_h\", # FILL: `h` is of the type Holder",
            "{ value = \"FILL_max_iterations\", type = \"i32\" }, # FILL:",
            "\n# CHECK: whole numbers are exact; choose a bound if a further output is not whole.\ntolerance = { max_abs = 0 }\n",
        ],
    );
}
