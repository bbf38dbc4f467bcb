//! The input files of a run, by content.
//!
//! A phase names kernel sources, files in flags and in command lines, and references. The compiler reports the others
//! after reading them. Paths are relative to the root of the project if a file is inside it.

use super::seal::file_sha256;
use super::{Manifest, StoreError, settings};
use ncugate_phase::config::{Phase, ProgramKind, WorkloadReference};
use ncugate_phase::plan::{FunctionPlan, Method, Plan, array_files, flag_files, reference_plan};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Extensions of headers next to a kernel source.
const HEADERS: [&str; 3] = ["cuh", "h", "hpp"];
/// Extensions of files next to a script that it may import, include or compile.
const CODE: [&str; 9] = ["py", "sh", "cu", "cuh", "h", "hpp", "c", "cc", "cpp"];

/// Stands for the hash of a path without a file that the compiler would have read instead of another.
pub const ABSENT: &str = "absent";

/// Maximum size of an input file in bytes: arrays of a reference are the largest.
const MAX_INPUT: u64 = 4 << 30;

/// SHA-256 of a file.
///
/// # Errors
/// It cannot be read, or it exceeds the size limit.
pub fn input_sha256(path: &Path) -> Result<String, StoreError> {
    file_sha256(path, MAX_INPUT)
}

/// SHA-256 by path; unreadable files are left out.
pub fn hashes(root: &Path, paths: BTreeSet<PathBuf>) -> BTreeMap<String, String> {
    let hash = |path: &Path| input_sha256(&root.join(path)).ok();
    paths.into_iter().filter_map(|path| Some((path.display().to_string(), hash(&path)?))).collect()
}

/// Every kernel source of the plan and every header next to it.
pub fn sources(root: &Path, plan: &Plan) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for variant in &plan.variants {
        let sources: Vec<&PathBuf> = match &variant.method {
            Method::Kernel(kernel) => kernel.sources().collect(),
            Method::Function(FunctionPlan { file, host: Some(_), .. }) => vec![file],
            Method::Function(_) | Method::Command(_) | Method::Captured(_) => Vec::new(),
        };
        for source in sources {
            paths.insert(source.clone());
            paths.extend(sibling_files(root, source, &HEADERS));
        }
    }
    paths
}

/// Every file that the phase names, whether or not it exists.
pub fn named(phase: &Phase, plan: &Plan) -> BTreeSet<PathBuf> {
    let root = &phase.root;
    let mut paths = sources(root, plan);
    for variant in &plan.variants {
        match &variant.method {
            Method::Kernel(_) | Method::Function(FunctionPlan { host: Some(_), .. }) => {
                paths.extend(flag_files(root, variant.method.flags()).iter().map(|file| inside(root, file)))
            }
            Method::Function(function) => {
                let file = inside(root, &function.file);
                paths.extend(sibling_files(root, &file, &CODE));
                paths.insert(file);
            }
            Method::Captured(_) => {}
            Method::Command(command) => paths.extend(scripts(root, &command.argv)),
        }
    }
    paths.extend(arrays(phase));
    paths.extend(reference_plan(phase, plan).iter().flat_map(|plan| sources(root, plan)));
    paths.extend(own_tools(phase).map(|(_, path)| path));
    paths.extend(phase.build.pythonpath.iter().flat_map(|folder| modules(root, &inside(root, folder))));
    paths
}

/// Modules below a folder of Python's search path, without packages installed there.
fn modules(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).into_iter().flatten().filter_map(Result::ok) {
            let (name, path) = (entry.file_name(), folder.join(entry.file_name()));
            let is_module = path.extension().is_some_and(|extension| extension == "py");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    let name = name.to_string_lossy();
                    let is_searched = !name.starts_with('.') && name != "site-packages" && name != "__pycache__";
                    folders.extend(is_searched.then_some(path));
                }
                Ok(_) if is_module && root.join(&path).is_file() => found.push(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    found
}

/// Tools that the project supplies instead of the machine: the phase's key, and the file.
pub fn own_tools(phase: &Phase) -> impl Iterator<Item = (&'static str, PathBuf)> {
    let own = |tool: Option<&PathBuf>| tool.and_then(|path| own_program(&phase.root, &path.to_string_lossy()));
    let found = [("[profile] ncu", own(phase.profile.ncu.as_ref())), ("[build] nvcc", own(phase.build.nvcc.as_ref()))];
    found.into_iter().filter_map(|(key, path)| Some((key, path?)))
}

/// The differences in a run's input files, a phrase each: those it lists, compared with the files on disk, and those
/// that the phase names now. Unreadable files count as different.
pub fn differences(manifest: &Manifest, phase: &Phase, plan: &Plan) -> Vec<String> {
    let named = named(phase, plan);
    let (recorded, mut outside) = of_project(&manifest.inputs, &named, plan);
    // The files of a base exist while its run measures; afterwards its commit identifies them.
    let of_base = |path: &Path| phase.base.as_ref().is_some_and(|base| path.starts_with(&base.folder));
    let is_gone = |path: &Path| of_base(path) && !phase.root.join(path).exists();
    let recorded = recorded.iter().filter(|(path, _)| !is_gone(Path::new(path)));
    let recorded = recorded.map(|(path, hash)| (path.clone(), hash.clone())).collect();
    outside.extend(compared(&phase.root, &recorded, named.into_iter().filter(|path| !is_gone(path)).collect()));
    outside
}

/// The listed files of a recording that may be opened: those below the project root, those that the phase names, and
/// those in a folder that a flag of the phase names. Returns a phrase for each other file. Those are never opened,
/// because anyone can write a recording.
fn of_project(
    recorded: &BTreeMap<String, String>,
    named: &BTreeSet<PathBuf>,
    plan: &Plan,
) -> (BTreeMap<String, String>, Vec<String>) {
    let folders: Vec<PathBuf> = plan
        .variants
        .iter()
        .flat_map(|variant| variant.method.flags())
        .filter_map(|flag| Some(PathBuf::from(&flag[flag.find('/')?..])))
        .filter(|folder| folder.components().count() > 1)
        .collect();
    let is_ours = |path: &Path| {
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        let is_below = || path.is_relative() && path.components().all(is_plain);
        let is_in =
            |folder: &PathBuf| path.starts_with(folder) && !path.components().any(|part| part == Component::ParentDir);
        is_below() || named.contains(path) || folders.iter().any(is_in)
    };
    let (ours, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        recorded.clone().into_iter().partition(|(path, _)| is_ours(Path::new(path)));
    let phrases = others.into_keys().map(|path| format!("a file outside the project, '{path}', which is not read"));
    (ours, phrases.collect())
}

/// The input files listed by a run that have changed since it began, a phrase each.
pub fn changed_inputs(root: &Path, manifest: &Manifest) -> Vec<String> {
    compared(root, &manifest.inputs, BTreeSet::new())
}

/// The common input files of two runs that differ, and the differing settings, a phrase each.
pub fn changed_between(one: &Manifest, other: &Manifest) -> Vec<String> {
    let unlike = one.inputs.iter().filter(|(path, hash)| other.inputs.get(*path).is_some_and(|other| other != *hash));
    let files = unlike.map(|(path, _)| format!("a different '{path}'"));
    files.chain(settings::differences(&one.settings, &other.settings)).collect()
}

fn compared(root: &Path, recorded: &BTreeMap<String, String>, named: BTreeSet<PathBuf>) -> Vec<String> {
    let paths: BTreeSet<PathBuf> = recorded.keys().map(PathBuf::from).chain(named).collect();
    let difference = |path: PathBuf| {
        let name = path.display().to_string();
        match (recorded.get(&name), input_sha256(&root.join(&path))) {
            (Some(then), Ok(now)) if *then == now => None,
            (Some(then), Err(_)) if then == ABSENT && !root.join(&name).is_file() => None,
            (Some(then), Ok(_)) if then == ABSENT => Some(format!("no '{name}'")),
            (Some(_), Ok(_)) => Some(format!("an older '{name}'")),
            (None, Ok(_)) => Some(format!("no '{name}'")),
            (_, Err(_)) => Some(format!("'{name}', which cannot be read now")),
        }
    };
    paths.into_iter().filter_map(difference).collect()
}

/// The path of a program inside the project.
pub fn own_program(root: &Path, name: &str) -> Option<PathBuf> {
    Some(inside(root, Path::new(name))).filter(|path| name.contains('/') && path.is_relative())
}

/// Files in a command line that are inside the project, with the code next to them. The program is included even if
/// it does not exist.
fn scripts(root: &Path, argv: &[String]) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    let program = argv.first().and_then(|name| own_program(root, name));
    let arguments = argv.iter().flat_map(|word| [Some(word.as_str()), word.split_once('=').map(|(_, value)| value)]);
    let files = arguments.flatten().map(|word| inside(root, Path::new(word))).filter(|path| path.is_relative());
    for path in files.filter(|path| root.join(path).is_file()).chain(program) {
        let is_code = path.extension().is_some_and(|extension| CODE.iter().any(|code| extension == *code));
        if is_code {
            paths.extend(sibling_files(root, &path, &CODE));
        }
        paths.insert(path);
    }
    paths
}

/// Files of a program that provides expected outputs, with the code next to them.
fn program_files(root: &Path, program: &ProgramKind) -> BTreeSet<PathBuf> {
    match program {
        ProgramKind::Command { argv } => scripts(root, argv),
        ProgramKind::Python { file, .. } => {
            let file = inside(root, file);
            sibling_files(root, &file, &CODE).into_iter().chain([file]).collect()
        }
    }
}

/// Paths of NumPy files with inputs and expected outputs, and files of the program that provides expected outputs.
fn arrays(phase: &Phase) -> BTreeSet<PathBuf> {
    let mut paths: BTreeSet<PathBuf> = array_files(phase).into_iter().map(|file| file.path).collect();
    if let WorkloadReference::Program(reference) = &phase.workload.reference {
        paths.extend(program_files(&phase.root, &reference.program));
    }
    paths.extend(phase.workload.checks.iter().flat_map(|check| program_files(&phase.root, &check.program.program)));
    paths
}

/// Files in the folder of `path` with one of these extensions.
fn sibling_files(root: &Path, path: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let wanted = |path: &PathBuf| path.extension().is_some_and(|e| extensions.iter().any(|known| e == *known));
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().filter_map(Result::ok);
    entries
        .map(|entry| folder.join(entry.file_name()))
        .filter(wanted)
        .filter(|path| root.join(path).is_file())
        .collect()
}

/// A path relative to the root if it is inside it, without `..`.
pub fn inside(root: &Path, path: &Path) -> PathBuf {
    let plain = path.is_relative() && path.components().all(|part| matches!(part, Component::Normal(_)));
    if plain {
        return path.to_owned();
    }
    match (root.join(path).canonicalize(), root.canonicalize()) {
        (Ok(real), Ok(root)) => real.strip_prefix(root).unwrap_or(&real).to_owned(),
        _ => path.to_owned(),
    }
}

/// The path of an absent file relative to the root, without `..`; `None` outside of it.
pub fn absent_inside(root: &Path, path: &Path) -> Option<PathBuf> {
    let (path, root) = (root.join(path), root.canonicalize().ok()?);
    let there = path.ancestors().find(|folder| folder.exists())?;
    let rest = path.strip_prefix(there).ok()?;
    let is_plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    let real = there.canonicalize().ok().filter(|_| is_plain)?.join(rest);
    real.strip_prefix(root).ok().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::root;

    #[test]
    fn scripts_are_the_files_of_a_command_line_and_the_code_beside_them() {
        let root = root();
        let argv = ["python3", "kernels/baselines/sdpa_torch.py", "--backend", "default"].map(str::to_owned);
        let names: Vec<String> = scripts(&root, &argv).iter().map(|path| path.display().to_string()).collect();
        assert!(names.contains(&"kernels/baselines/attention.py".to_owned()), "{names:?}");
        assert!(names.contains(&"kernels/baselines/sdpa_cutlass.cu".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.ends_with("README.md") || name == "python3"), "{names:?}");
        let absolute = [format!("{}/../../Cargo.toml", env!("CARGO_MANIFEST_DIR"))];
        assert_eq!(scripts(&root, &absolute), BTreeSet::from([PathBuf::from("Cargo.toml")]));
    }

    #[test]
    fn what_differs_or_cannot_be_read_is_named() {
        let root = root();
        let of = |path: &str| input_sha256(&root.join(path)).unwrap();
        let recorded: BTreeMap<String, String> = [
            ("Cargo.toml".to_owned(), of("Cargo.toml")),
            ("Cargo.lock".to_owned(), "another".to_owned()),
            ("gone.cuh".to_owned(), of("Cargo.toml")),
        ]
        .into();
        let found = compared(&root, &recorded, BTreeSet::from([PathBuf::from("LICENSE"), PathBuf::from("absent.cu")]));
        let expected = [
            "an older 'Cargo.lock'",
            "no 'LICENSE'",
            "'absent.cu', which cannot be read now",
            "'gone.cuh', which cannot be read now",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_that_is_added_at_an_absent_path_is_a_difference() {
        let folder = tempfile::tempdir().unwrap();
        let (root, path) = (folder.path(), |name: &str| folder.path().join(name));
        std::fs::create_dir_all(path("inc/a")).unwrap();
        let inside = |name: &str| absent_inside(root, Path::new(name));
        assert_eq!(inside("./inc/../inc/a/lib/x.cuh"), Some(PathBuf::from("inc/a/lib/x.cuh")));
        assert_eq!(inside(path("inc/y.h").to_str().unwrap()), Some(PathBuf::from("inc/y.h")));
        assert_eq!([inside("../x.h"), inside("/nowhere/x.h"), inside("inc/none/../x.h")], [None, None, None]);
        let recorded = BTreeMap::from([("inc/a/x.cuh".to_owned(), ABSENT.to_owned())]);
        assert_eq!(compared(root, &recorded, BTreeSet::new()), [""; 0]);
        std::fs::create_dir(path("inc/a/x.cuh")).unwrap();
        assert_eq!(compared(root, &recorded, BTreeSet::new()), [""; 0], "no compiler reads a folder");
        std::fs::remove_dir(path("inc/a/x.cuh")).unwrap();
        std::fs::write(path("inc/a/x.cuh"), "").unwrap();
        assert_eq!(compared(root, &recorded, BTreeSet::new()), ["no 'inc/a/x.cuh'"]);
    }

    #[test]
    fn a_tool_of_the_project_is_an_input_and_one_of_the_machine_is_not() {
        let copy = concat!(include_str!("../../../../tests/data/copy.toml"), "[sweep]\nTHREADS = [64]\n");
        let of = |tools: &str| {
            let phase = ncugate_phase::config::parse(Path::new("copy.toml"), &format!("{copy}{tools}")).unwrap();
            let plan = ncugate_phase::plan::unroll(&phase).unwrap();
            (named(&phase, &plan), own_tools(&phase).map(|(key, _)| key).collect::<Vec<_>>())
        };
        let (paths, tools) = of("[profile]\nncu = \"tests/doubles/ncu\"\n[build]\nnvcc = \"tools/nvcc\"\n");
        assert_eq!(tools, ["[profile] ncu", "[build] nvcc"]);
        assert!(["tests/doubles/ncu", "tools/nvcc"].iter().all(|tool| paths.contains(Path::new(tool))), "{paths:?}");
        assert_eq!(of("[profile]\nncu = \"/usr/bin/env\"\n").1, [""; 0]);
    }
}
