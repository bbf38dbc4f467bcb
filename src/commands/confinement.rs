//! Restrictions of `check --confined`, for phases that an agent chose (`agent call`): `check` runs no program that the phase names, and
//! opens no file outside the project.

use super::CommandError;
use ncugate_phase::config::{Phase, WorkloadReference};
use ncugate_phase::plan::{FunctionPlan, KernelCode, KernelPlan, Method, Plan, named_files};
use std::path::{Component, Path};

/// Prefixes of nvcc options that name neither a file nor a program; `-` and `--` are equivalent.
const PLAIN: &str = "D U O std lineinfo generate-line-info G device-debug maxrregcount use_fast_math ftz prec-div \
    prec-sqrt fmad expt-relaxed-constexpr expt-extended-lambda extended-lambda restrict extra-device-vectorization dopt \
    diag-suppress I include-path Xptxas";
/// The same for ptxas.
const PLAIN_PTXAS: &str = "O v opt-level dlcm dscm flcm fscm def-load-cache def-store-cache \
    allow-expensive-optimizations maxrregcount";
/// Options whose value may be the next word.
const VALUED: &str = "D U std maxrregcount diag-suppress I include-path Xptxas ftz fmad prec-div prec-sqrt";
/// Accepted characters other than letters and digits: nvcc starts its tools through a shell.
const SIGNS: &str = "_-=+,.:/ []";

/// Proves that checking the phase runs no program that it names and opens no file outside the working directory, which is the root of
/// its project.
///
/// # Errors
/// The phase names a program, or a file outside.
pub fn prove(phase: &Phase, plan: &Plan) -> Result<(), CommandError> {
    refusal(phase, plan).map_err(|why| {
        CommandError::Usage(format!("{why}, and an agent chose the phase; run `ncugate check` yourself to allow it"))
    })
}

fn refusal(phase: &Phase, plan: &Plan) -> Result<(), String> {
    let build = &phase.build;
    let tools = [
        ("build.nvcc", &build.nvcc),
        ("build.python", &build.python),
        ("build.cache", &build.cache),
        ("profile.ncu", &phase.profile.ncu),
    ];
    if let Some((key, path)) = tools.into_iter().find_map(|(key, path)| Some((key, path.as_ref()?))) {
        return Err(format!("`{key}` names {}", path.display()));
    }
    if let Some(package) = build.include.first() {
        return Err(format!("`build.include` names {package}, and Python looks for it"));
    }
    build.pythonpath.iter().try_for_each(|folder| inside(folder))?;
    if let WorkloadReference::Program(_) = &phase.workload.reference {
        return Err("`workload.reference` is a program".to_owned());
    }
    if !phase.workload.checks.is_empty() {
        return Err("`workload.tolerance` has a check, which is a program".to_owned());
    }
    named_files(phase, plan).iter().try_for_each(|file| inside(&file.path))?;
    phase.recording.iter().try_for_each(|path| inside(path))?;
    plan.variants.iter().try_for_each(|variant| match &variant.method {
        Method::Kernel(kernel) => of_kernel(kernel).map_err(|why| format!("variant `{}`: {why}", variant.id)),
        Method::Function(FunctionPlan { host: Some(_), .. }) => {
            Err(format!("variant `{}`: host code is compiled and linked for this machine", variant.id))
        }
        // They are not run without a GPU.
        Method::Function(_) | Method::Command(_) | Method::Captured(_) => Ok(()),
    })
}

fn of_kernel(kernel: &KernelPlan) -> Result<(), String> {
    let sources: Vec<_> = kernel.sources().map(|source| source.to_string_lossy()).collect();
    let defines = kernel.defines.iter().flat_map(|(name, value)| [name, value]);
    for word in kernel.flags.iter().chain(defines).map(String::as_str).chain(sources.iter().map(|source| &**source)) {
        if let Some(sign) = word.chars().find(|c| !c.is_ascii_alphanumeric() && !SIGNS.contains(*c)) {
            return Err(format!("`{word}` has {sign:?}, which a shell may interpret"));
        }
    }
    match &kernel.code {
        KernelCode::Python(_) => Err("a kernel in Python is compiled by running its module".to_owned()),
        KernelCode::Cuda | KernelCode::Ptx | KernelCode::Cubin => of_flags(&kernel.flags),
    }
}

/// Refuses every option that may name a file or a program, such as a host compiler, a file of options or another output.
fn of_flags(flags: &[String]) -> Result<(), String> {
    let mut words = flags.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let unknown = || Err(format!("`flags` has `{word}`, which may name a program or a file"));
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { return unknown() };
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        let Some(known) = known(name, PLAIN) else { return unknown() };
        let value = match value {
            None if VALUED.split(' ').any(|valued| valued == name) => words.next(),
            None => name.strip_prefix(known),
            given => given,
        };
        if known != "Xptxas" && value.is_some_and(|value| value.starts_with('-')) {
            return unknown();
        }
        match (known, value.unwrap_or_default()) {
            ("I" | "include-path", folders) => folders.split(',').try_for_each(|folder| inside(Path::new(folder)))?,
            ("Xptxas", options) => {
                let is_known = |option: &str| {
                    let option = option.trim_start_matches('-');
                    self::known(option.split('=').next().unwrap_or(option), PLAIN_PTXAS).is_some()
                };
                if !options.split(',').all(is_known) {
                    return unknown();
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The option of the list that the name matches: completely, or, for a one-letter option, by its first letter with the value attached.
fn known(name: &str, list: &'static str) -> Option<&'static str> {
    let is_it =
        |option: &&str| name == *option || (matches!(*option, "D" | "U" | "O" | "I") && name.starts_with(*option));
    list.split(' ').find(is_it)
}

/// Proves that a path leads into the working directory, after resolving the links of its existing part.
///
/// # Errors
/// It leads elsewhere.
pub fn inside(path: &Path) -> Result<(), String> {
    let outside = || format!("{} is outside the working directory", path.display());
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let here = here.map_err(|error| format!("no working directory: {error}"))?;
    let whole = here.join(path);
    if let Ok(real) = whole.canonicalize() {
        return if real.starts_with(&here) { Ok(()) } else { Err(outside()) };
    }
    // A missing part cannot be resolved, so it must not contain `..`.
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let known = whole.ancestors().find_map(|folder| folder.canonicalize().ok());
    let is_inside = !climbs && known.is_some_and(|known| known.starts_with(&here));
    if is_inside { Ok(()) } else { Err(outside()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_may_name_programs_or_files_are_refused() {
        let judged = |flags: &[&str]| of_flags(&flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>());
        let plain: [&[&str]; 8] = [
            &["-O3", "-lineinfo", "-maxrregcount=128", "-G"],
            &["-Xptxas=-O3", "-Xptxas", "-dlcm=cg,-dscm=cs", "-Xptxas=--allow-expensive-optimizations=true"],
            &["--use_fast_math", "-ftz=true", "-prec-div=false", "-fmad=false"],
            &["-std=c++20", "--std", "c++17", "-DTILE=4", "-D", "STAGES=2", "-UNDEBUG"],
            &["--expt-relaxed-constexpr", "--extended-lambda"],
            &["-I", "src", "-Isrc", "--include-path=src,docs"],
            &["-diag-suppress", "177"],
            &[],
        ];
        for flags in plain {
            assert_eq!(judged(flags), Ok(()), "{flags:?}");
        }
        let refused: [&[&str]; 15] = [
            &["-ccbin", "evil"],
            &["-ccbin=evil"],
            &["--compiler-bindir=evil"],
            &["-Xcompiler", "-wrapper,evil"],
            &["--options-file=x"],
            &["-optf", "x"],
            &["@x"],
            &["other.cu"],
            &["-o", "/tmp/x"],
            &["-Xptxas=-o,/tmp/x"],
            &["-Xptxas", "--options-file=x"],
            &["-I/usr/include"],
            &["-I", "../.."],
            &["-include", "/etc/passwd"],
            &["-D", "-ccbin", "evil"],
        ];
        for flags in refused {
            assert!(judged(flags).is_err(), "{flags:?}");
        }
    }

    #[test]
    fn a_path_is_followed_as_far_as_it_exists() {
        for path in ["src/lib.rs", "src", "src/../docs", "nowhere/new.cu", "."] {
            assert_eq!(inside(Path::new(path)), Ok(()), "{path}");
        }
        for path in ["/etc/passwd", "..", "src/../../x", "nowhere/../../x", "/nowhere"] {
            assert!(inside(Path::new(path)).is_err(), "{path}");
        }
    }
}
