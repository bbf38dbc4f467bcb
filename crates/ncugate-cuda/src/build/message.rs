//! Compiler messages: shortening and explanations.

use super::ptxas;
use indexmap::{IndexMap, IndexSet};
use ncugate_model::demangled;
use ncugate_model::process::ProcessExit;
use ncugate_phase::plan::{SharedArray, shared_budget};
use std::path::{Path, PathBuf};

/// Maximum stored length of a compiler's message, in bytes.
const MESSAGE: usize = 8192;

/// Macros of `torch.utils.cpp_extension`, without which operators of c10's types and CUDA's are ambiguous.
const TORCH_MACROS: [&str; 4] = [
    "__CUDA_NO_HALF_OPERATORS__",
    "__CUDA_NO_HALF_CONVERSIONS__",
    "__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "__CUDA_NO_HALF2_OPERATORS__",
];

/// A compiler's output, or its exit if it printed nothing.
pub(super) fn message(printed: &str, ending: ProcessExit) -> String {
    let mut text = relative(&errors_first(&folded(&ptxas::without_reports(printed))));
    if text.is_empty() {
        return format!("nvcc {ending} and printed nothing");
    }
    if !matches!(ending, ProcessExit::NonZero(_)) {
        text = format!("nvcc {ending}\n{text}");
    }
    if text.len() > MESSAGE {
        let cut = (0..=MESSAGE).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(cut);
        text.push_str("\n... (cut)");
    }
    if printed.contains("more than one operator") && printed.contains("operand types are: c10::") {
        let macros = TORCH_MACROS.map(|name| format!("`-D{name}`")).join(", ");
        text.push_str(&format!("\nhint: PyTorch compiles its extensions with {macros}; add them to `flags`"));
    }
    // Such a source declares the types that nvcc includes by itself.
    if printed.lines().any(|line| line.contains("has already been defined (") && line.contains("vector_types.h)")) {
        text.push_str("\nhint: a source for NVRTC does not compile with nvcc; name the cubin that its framework makes: `cubin` under [kernel]");
    }
    text
}

/// The output without names of temporary and generated files, so that equal errors of variants are equal texts, and with
/// equal errors of the assembler once.
fn folded(printed: &str) -> String {
    let mut errors: IndexMap<String, usize> = IndexMap::new();
    let mut kept: Vec<String> = Vec::new();
    for line in printed.lines() {
        if let Some(error) = assembler_error(line) {
            *errors.entry(error).or_default() += 1;
        } else if !is_generated(line) {
            kept.push(without_unit(line));
        }
    }
    if !errors.is_empty() {
        kept.retain(|line| !line.starts_with("ptxas fatal"));
    }
    let needs_suffix = errors.keys().find_map(|error| {
        let (_, target) = error.split_once("not supported on .target '")?;
        let target = target.split_once('\'')?.0;
        target.ends_with(|c: char| c.is_ascii_digit()).then_some(target)
    });
    let hint = needs_suffix.map(|target| format!("hint: build for `{target}a` (`arch` under [build], or `--arch`)"));
    kept.extend(errors.into_iter().map(|(error, count)| match count {
        1 => error,
        _ => format!("{error} ({count} times)"),
    }));
    kept.extend(hint);
    if printed.contains("Unresolved extern function") {
        kept.push("hint: make `source` a list, and add the file that defines it".to_owned());
    }
    kept.extend(absent_header(printed).map(|header| {
        format!(
            "hint: add the folder of `{header}` to `flags` as `-I FOLDER`, relative to the root of the project, or the Python \
             package that has it to `[build] include`"
        )
    }));
    kept.join("\n")
}

/// The header that an `#include` does not find, as gcc, nvcc's own front end or clang names it.
fn absent_header(printed: &str) -> Option<&str> {
    printed.lines().find_map(|line| {
        if let Some((_, rest)) = line.split_once("fatal error: ") {
            let of_gcc = rest.strip_suffix(": No such file or directory");
            let of_clang = || rest.strip_prefix('\'')?.strip_suffix("' file not found");
            return of_gcc.or_else(of_clang);
        }
        line.split_once("cannot open source file \"")?.1.split_once('"').map(|(header, _)| header)
    })
}

/// The paragraphs of a message with those of errors before warnings, and the same error at the same line once: a template
/// has it for every instance.
fn errors_first(text: &str) -> String {
    let mut errors: IndexMap<&str, (&str, usize)> = IndexMap::new();
    let mut rest = Vec::new();
    for paragraph in text.split("\n\n").map(|paragraph| paragraph.trim_matches('\n')) {
        let head = paragraph.lines().next().unwrap_or_default();
        if head.contains("): error: ") || head.contains("): error #") {
            errors.entry(head).or_insert((paragraph, 0)).1 += 1;
        } else if !paragraph.is_empty() {
            rest.push(paragraph);
        }
    }
    let counted = |(paragraph, count): (&str, usize)| match count {
        1 => paragraph.to_owned(),
        _ => format!("{paragraph}\n({count} times)"),
    };
    let errors = errors.into_values().map(counted);
    errors.chain(rest.into_iter().map(str::to_owned)).collect::<Vec<_>>().join("\n\n")
}

/// The error in `ptxas /tmp/tmpxft_1_2.ptx, line 25; error   : Instruction 'x' not supported`, without a temporary file.
fn assembler_error(line: &str) -> Option<String> {
    let (place, message) = line.strip_prefix("ptxas ")?.split_once("; error")?;
    let (file, _) = place.split_once(", line ")?;
    let message = message.trim_start_matches([' ', ':']);
    let name = Path::new(file).file_name()?.to_str()?;
    let is_temporary = name.starts_with("tmpxft_") || !name.starts_with(|c: char| !c.is_ascii_digit());
    Some(if is_temporary { format!("ptxas: error: {message}") } else { format!("ptxas: {name}: error: {message}") })
}

/// The line with `entries` for the generated file that lists the entries of a phase.
fn without_unit(line: &str) -> String {
    let Some((before, after)) = line.split_once("/instances/") else { return line.to_owned() };
    let start = before.rfind([' ', '"', '(']).map_or(0, |at| at + 1);
    let rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    match rest.strip_prefix(".cu") {
        Some(rest) if after.len() - rest.len() == HASHED => format!("{}entries{rest}", &before[..start]),
        _ => line.to_owned(),
    }
}

/// Length of the name of a generated file: a hash in hexadecimal, and `.cu`.
const HASHED: usize = 64 + ".cu".len();

/// Whether a line only names a translation unit of the cache.
fn is_generated(line: &str) -> bool {
    line.starts_with("In file included from ") && line.contains("/instances/")
}

/// Why a source cannot be read, with the folder that was searched.
pub(super) fn unreadable(source: &Path, error: &std::io::Error) -> String {
    let message = format!("cannot read `{}`: {error}", source.display());
    match std::env::current_dir() {
        Ok(folder) if source.is_relative() => format!(
            "{message}\nsearched in {}; paths are relative to the nearest folder above the phase with an `ncugate.toml`, or else to the folder of the phase",
            folder.display()
        ),
        _ => message,
    }
}

/// `text` with the paths under the current folder made relative to it.
pub(super) fn relative(text: &str) -> String {
    match std::env::current_dir() {
        Ok(folder) if folder.as_os_str().len() > 1 => text.replace(&format!("{}/", folder.display()), ""),
        _ => text.to_owned(),
    }
}

/// Entry, bytes and limit in `Entry function 'x' uses too much shared data (0x10080 bytes, 0xc000 max)`.
pub(super) fn too_much_shared(message: &str) -> Option<(&str, u64, u64)> {
    let (before, rest) = message.split_once("' uses too much shared data (0x")?;
    let (_, entry) = before.rsplit_once('\'')?;
    let (total, rest) = rest.split_once(" bytes, 0x")?;
    let (limit, _) = rest.split_once(" max")?;
    Some((entry, u64::from_str_radix(total, 16).ok()?, u64::from_str_radix(limit, 16).ok()?))
}

/// nvlink's message with sources for the files of machine code, which their hashes name, and with each undefined symbol once.
pub(super) fn unlinked(message: &str, parts: &[(&str, &PathBuf)]) -> String {
    let mut undefined = IndexSet::new();
    let mut rest = Vec::new();
    for line in message.lines() {
        let symbol = line.split_once("Undefined reference to '").and_then(|(_, rest)| rest.split_once('\''));
        match symbol {
            Some((symbol, _)) => {
                undefined.insert(symbol);
            }
            None if line.starts_with("nvlink fatal") => {}
            None => rest.push(line.split('\'').map(|word| source_of(word, parts)).collect::<Vec<_>>().join("'")),
        }
    }
    if undefined.iter().any(|symbol| symbol.starts_with(DEVICE_LAUNCH)) {
        return "a kernel that launches kernels (dynamic parallelism) is not supported: ncu does not count what it launches"
            .to_owned();
    }
    if !undefined.is_empty() {
        let names: Vec<String> = undefined.iter().map(|symbol| format!("`{}`", demangled(symbol))).collect();
        let sources: Vec<String> = parts.iter().map(|(_, source)| source.display().to_string()).collect();
        rest.push(format!(
            "undefined after linking {}: {}; hint: add the file that defines it to `source`",
            sources.join(", "),
            names.join(", ")
        ));
    }
    if rest.is_empty() { message.to_owned() } else { rest.join("\n") }
}

/// Beginning of the device runtime's functions that launch a kernel from a kernel.
const DEVICE_LAUNCH: &str = "__cudaCDP2";

/// The source whose machine code a temporary file of nvlink holds; else the word unchanged.
fn source_of(word: &str, parts: &[(&str, &PathBuf)]) -> String {
    let part = parts.iter().find(|(hash, _)| word.ends_with(&format!("_{hash}.o")));
    part.map_or_else(|| word.to_owned(), |(_, source)| source.display().to_string())
}

/// The budget, with the rest that no array accounts for.
pub(super) fn budget_line(total: u64, limit: u64, mut arrays: Vec<SharedArray>) -> String {
    let named: u64 = arrays.iter().map(|array| array.bytes).sum();
    if named < total {
        arrays.push(SharedArray { name: "(alignment and the driver's reserve)".to_owned(), bytes: total - named });
    }
    shared_budget(total, limit, &arrays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_before_warnings_and_once_a_line() {
        let error = |of: &str| {
            format!("a.cuh(278): error: calling a host function\n  f();\n  ^\n          detected during: {of}")
        };
        let warning = "b.h(3): warning #20012-D: unused\n  int x;";
        let text = [warning.to_owned(), error("k<1>"), error("k<2>"), "2 errors detected".to_owned()].join("\n\n");
        let expected = format!("{}\n(2 times)\n\n{warning}\n\n2 errors detected", error("k<1>"));
        assert_eq!(errors_first(&text), expected);
        assert_eq!(errors_first("ptxas: error: x\nhint: y"), "ptxas: error: x\nhint: y");
    }

    #[test]
    fn too_much_shared_memory_is_recognised() {
        let message = "ptxas error   : Entry function 'big' uses too much shared data (0x10080 bytes, 0xc000 max)";
        assert_eq!(too_much_shared(message), Some(("big", 65664, 49152)));
        assert_eq!(too_much_shared("error: identifier \"y\" is undefined"), None);
        let arrays = vec![SharedArray { name: "a".to_owned(), bytes: 65536 }];
        let expected = "65664 bytes, limit 49152, 16512 over: a 65536, (alignment and the driver's reserve) 128";
        assert_eq!(budget_line(65664, 49152, arrays), expected);
    }

    #[test]
    fn errors_of_the_assembler_are_printed_once_with_what_to_do() {
        let line = |at: usize| {
            format!(
                "ptxas /tmp/tmpxft_{at}_k.ptx, line {at}; error   : Instruction 'wgmma.fence' not supported on .target 'sm_90'\n"
            )
        };
        let text: String = (1..=25).map(line).collect();
        let printed =
            message(&(text + "ptxas fatal   : Ptx assembly aborted due to errors"), ProcessExit::NonZero(255));
        let expected = "ptxas: error: Instruction 'wgmma.fence' not supported on .target 'sm_90' (25 times)\nhint: build for `sm_90a` (`arch` under [build], or `--arch`)";
        assert_eq!(printed, expected);
        let generated =
            "In file included from /c/instances/ab.cu:1:\nk.cuh:7:10: fatal error: x.h: No such file or directory";
        assert_eq!(
            message(generated, ProcessExit::NonZero(1)),
            "k.cuh:7:10: fatal error: x.h: No such file or directory\nhint: add the folder of `x.h` to `flags` as `-I FOLDER`, relative to the root of the project, or the Python package that has it to `[build] include`"
        );
    }

    #[test]
    fn a_source_for_nvrtc_has_a_hint_after_all_its_errors() {
        let error = "k.cu(1): error: type \"float4\" has already been defined (previous definition at line 542 of /opt/cuda/include/vector_types.h)\n";
        let said = message(&error.repeat(100), ProcessExit::NonZero(2));
        assert!(said.ends_with("hint: a source for NVRTC does not compile with nvcc; name the cubin that its framework makes: `cubin` under [kernel]"), "{said}");
        assert!(!message(&error.replace("vector_types.h", "own.h"), ProcessExit::NonZero(2)).contains("NVRTC"));
    }

    #[test]
    fn ambiguous_operators_of_an_extension_of_pytorch_have_a_hint_after_all_errors() {
        let error = "r.cuh(79): error: more than one operator \"<\" matches these operands:\n  operand types are: c10::Half < c10::Half\n";
        let said = message(&error.repeat(200), ProcessExit::NonZero(2));
        assert!(said.contains("`-D__CUDA_NO_HALF_OPERATORS__`, ") && said.ends_with("; add them to `flags`"), "{said}");
        assert!(!message(&error.replace("c10::", "own::"), ProcessExit::NonZero(2)).contains("hint"));
    }

    #[test]
    fn an_absent_header_is_named_with_what_to_do() {
        for line in [
            "k.cu:1:10: fatal error: helper_cuda.h: No such file or directory",
            "k.cu:1:10: fatal error: 'helper_cuda.h' file not found",
            "k.cu(1): catastrophic error: cannot open source file \"helper_cuda.h\"",
        ] {
            let printed = message(line, ProcessExit::NonZero(1));
            assert!(printed.contains("hint: add the folder of `helper_cuda.h` to `flags` as `-I FOLDER`"), "{printed}");
        }
        let other = message("cc1plus: fatal error: k.cu: Permission denied", ProcessExit::NonZero(1));
        assert!(!other.contains("hint"), "{other}");
    }

    #[test]
    fn undefined_symbols_are_named_once_and_files_of_machine_code_by_their_sources() {
        let (a, b) = (PathBuf::from("a.cu"), PathBuf::from("b.cu"));
        let parts = [("0aa", &a), ("0bb", &b)];
        let line = |symbol, file| {
            format!("nvlink error   : Undefined reference to '{symbol}' in '/tmp/tmpxft_1_2-6_{file}.o'\n")
        };
        let text = line("_Z6factori", "0aa") + &line("_Z6factori", "0bb") + &line("table", "0aa");
        let expected = "undefined after linking a.cu, b.cu: `factor(int)`, `table`; hint: add the file that defines it to `source`";
        assert_eq!(unlinked(&text, &parts), expected);
        let twice = "nvlink error   : Multiple definition of 'f' in '/tmp/t-10_0bb.o', first defined in '/tmp/t-6_0aa.o'\nnvlink fatal   : merge_elf failed";
        assert_eq!(
            unlinked(twice, &parts),
            "nvlink error   : Multiple definition of 'f' in 'b.cu', first defined in 'a.cu'"
        );
        let launches = unlinked(&line("__cudaCDP2LaunchDeviceV2", "0aa"), &parts);
        assert!(launches.contains("dynamic parallelism"), "{launches}");
        assert_eq!(unlinked("nvlink fatal   : x", &parts), "nvlink fatal   : x");
    }

    #[test]
    fn a_message_is_relative_bounded_and_never_empty() {
        assert_eq!(message("", ProcessExit::Signaled(9)), "nvcc was killed by SIGKILL and printed nothing");
        assert_eq!(
            message("ptxas info : x\n", ProcessExit::NonZero(1)),
            "nvcc exited with status 1 and printed nothing"
        );
        assert!(message(&"ä".repeat(MESSAGE), ProcessExit::NonZero(1)).len() < MESSAGE + 20);
        let here = std::env::current_dir().map(|folder| folder.join("k.cu(1): error").display().to_string());
        assert_eq!(message(&here.unwrap_or_default(), ProcessExit::NonZero(1)), "k.cu(1): error");
    }
}
