//! A checkout that wants its programs to run: repositories among its files, and every setting of git that names a program.

use crate::base::Repository;
use crate::command::{Finished, Place, is_here, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Last parts of settings whose value is a program or a command, in lower case.
const PROGRAMS: [&str; 31] = [
    "alternaterefscommand",
    "askpass",
    "browser",
    "cccmd",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "difffilter",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "gitproxy",
    "headercmd",
    "helper",
    "packobjectshook",
    "pager",
    "path",
    "process",
    "program",
    "receivepack",
    "recentobjectshook",
    "smtpserver",
    "smudge",
    "sshcommand",
    "textconv",
    "tocmd",
    "tool",
    "uploadpack",
    "vcs",
];

/// Sections whose settings are no programs, though their names are alike: git refuses such a value before it starts any.
const OTHERS: [&str; 4] = ["color.", "column.", "include.", "includeif."];

/// A program that records what started it in `started`.
struct Trap {
    script: PathBuf,
    started: PathBuf,
}

impl Trap {
    fn new(place: &Path) -> Self {
        let (script, started) = (place.join("trap.sh"), place.join("started.txt"));
        fs::write(&script, format!("#!/bin/sh\necho \"$*\" >> '{}'\ncat 2> /dev/null\n", started.display())).unwrap();
        executable(&script);
        Self { script, started }
    }

    /// A git folder's `config` and `hooks`, and attributes for `folder`, that start the trap.
    fn set(&self, git: &Path, folder: &Path, head: &str) {
        let listed = output(Command::new("git").args(["help", "--config"]));
        let script = self.script.display();
        let mut config = format!("{head}[extensions]\n\tpartialClone = x\n[log]\n\tshowSignature = true\n");
        config += "[protocol \"ext\"]\n\tallow = always\n[filter \"x\"]\n\trequired = true\n[diff]\n\tguitool = x\n";
        config += &format!("[remote \"x\"]\n\tpromisor = true\n\turl = \"ext::sh {script} ext\"\n");
        for alias in ["status", "rev-parse", "x"] {
            config += &format!(
                "[alias]\n\t{alias} = \"!sh {script} alias.{alias}\"\n[pager]\n\t{alias} = \"sh {script} pager\"\n"
            );
        }
        let mut planted = 0;
        for name in listed.lines() {
            let last = name.rsplit('.').next().unwrap().to_lowercase();
            let is_other = OTHERS.iter().any(|start| name.to_lowercase().starts_with(start));
            if !PROGRAMS.contains(&last.as_str()) || is_other {
                continue;
            }
            let (section, key) = name.rsplit_once('.').unwrap();
            let name = name.replace(['<', '>'], "");
            let section = match section.split_once('.') {
                Some((section, _)) => format!("{section} \"x\""),
                None => section.to_owned(),
            };
            // git starts this one without a shell.
            let value = if last == "program" { script.to_string() } else { format!("sh {script} {name}") };
            config += &format!("[{section}]\n\t{key} = \"{value}\"\n");
            planted += 1;
        }
        // git lists no `process` of filters.
        config += &format!("[filter \"y\"]\n\tprocess = \"sh {script} filter.process\"\n");
        assert!(planted >= 30, "{planted}: {listed}");
        fs::write(git.join("config"), config).unwrap();
        fs::create_dir_all(git.join("hooks")).unwrap();
        for hook in ["post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-commit"]
        {
            let path = git.join("hooks").join(hook);
            fs::write(&path, format!("#!/bin/sh\nsh {script} hooks/{hook}\n")).unwrap();
            executable(&path);
        }
        fs::create_dir_all(git.join("info")).unwrap();
        for attributes in [git.join("info/attributes"), folder.join(".gitattributes")] {
            fs::write(attributes, "* filter=x diff=x merge=x\n*.toml filter=y\n").unwrap();
        }
    }

    /// What was started since the last call.
    fn sprung(&self) -> String {
        let text = fs::read_to_string(&self.started).unwrap_or_default();
        let _ = fs::remove_file(&self.started);
        text
    }
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn output(command: &mut Command) -> String {
    let identity = ["AUTHOR", "COMMITTER"].map(|who| [(who, "NAME", "A"), (who, "EMAIL", "a@example.org")]).concat();
    command.envs(identity.iter().map(|(who, what, value)| (format!("GIT_{who}_{what}"), value)));
    let ended = command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    assert!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).into_owned()
}

fn git(folder: &Path, args: &[&str]) -> String {
    output(Command::new("git").current_dir(folder).args(args))
}

/// Commands that measure nothing, in a project with a recording and a report, and their statuses.
const READING: [(&[&str], i32); 16] = [
    (&["gate", "reports.toml", "torch.ncu-rep.zst"], 0),
    (&["gate", "configs/whole_kv.toml", "profiles/whole_kv/h200"], 1),
    (&["run", "configs/whole_kv.toml", "--source", "recorded"], 1),
    (&["run", "configs/whole_kv.toml", "--list"], 0),
    (&["check", "configs/whole_kv.toml", "--no-build"], 0),
    (&["page", "profiles/whole_kv/h200"], 1),
    (&["page", "torch.ncu-rep.zst"], 0),
    (&["compare", "profiles/whole_kv/h200", "profiles/whole_kv/h200"], 0),
    (&["explain", "profiles/whole_kv/h200"], 0),
    (&["explain", "torch.ncu-rep.zst"], 0),
    (&["agent", "next", "profiles/whole_kv/h200"], 0),
    (&["export", "profiles/whole_kv/h200"], 0),
    (&["show", "profiles/whole_kv/h200"], 1),
    (&["show", "torch.ncu-rep.zst"], 0),
    (&["tools", "record", "profiles/whole_kv/h200", "-o", "kept"], 0),
    (&["history"], 0),
];

/// Tools that a checkout could bring along.
const TOOLS: [&str; 14] = [
    "git",
    "nvcc",
    "ncu",
    "nvdisasm",
    "cuobjdump",
    "compute-sanitizer",
    "ptxas",
    "python",
    "python3",
    "cc",
    "c++",
    "c++filt",
    "nvidia-smi",
    "xdg-open",
];

/// A project of a stranger in `k`, in a place that holds more.
fn project(place: &Place) -> PathBuf {
    for path in ["configs/whole_kv.toml", "kernels/sdpa_scalar", "profiles/whole_kv/h200"] {
        place.copy(path);
    }
    let k = place.path().join("origin/k");
    fs::create_dir_all(&k).unwrap();
    for folder in ["configs", "kernels", "profiles"] {
        fs::rename(place.path().join(folder), k.join(folder)).unwrap();
    }
    fs::copy(root().join("tests/data/torch_nvtx.ncu-rep.zst"), k.join("torch.ncu-rep.zst")).unwrap();
    fs::write(k.join("ncugate.toml"), "").unwrap();
    fs::write(k.join("reports.toml"), REPORTS).unwrap();
    k
}

const REPORTS: &str = "[phase]\nname = \"torch\"\n[[variant]]\nname = \"softmax\"\n\
    match = { kernel = \"softmax_warp_forward*\" }\n[[gate]]\nrequire = \"registers <= 64\"\n";

/// Runs every command of [`READING`] in `folder` and asserts that it started nothing.
fn assert_nothing_runs(place: &Place, folder: &Path, trap: &Trap) {
    let log = place.path().join("tools.txt");
    for name in TOOLS {
        let shim = format!("#!/bin/sh\necho \"{name} $*\" >> '{}'\nexec '/usr/bin/{name}' \"$@\"\n", log.display());
        place.write_program(&format!("bin/{name}"), &shim);
        // The same names in the working directory, which is on no PATH.
        let planted = folder.join(name);
        fs::write(&planted, format!("#!/bin/sh\nsh '{}' {name}\n", trap.script.display())).unwrap();
        executable(&planted);
    }
    for (args, status) in READING {
        let mut command = place.ncugate(args);
        let finished = Finished::of(command.env("PATH", place.path().join("bin")).current_dir(folder));
        assert_eq!(finished.status, Some(status), "{args:?}: {finished:?}");
        assert_eq!(trap.sprung(), "", "{args:?}");
        assert!(!log.exists(), "{args:?} started {}", fs::read_to_string(&log).unwrap());
    }
}

#[test]
fn a_repository_among_the_files_of_a_checkout_runs_nothing() {
    if !is_here("git") {
        return;
    }
    let place = Place::new();
    let (k, trap) = (project(&place), Trap::new(place.path()));
    git(&k, &["init", "--quiet"]);
    fs::write(k.join(".gitattributes"), "* filter=x diff=x merge=x\n").unwrap();
    git(&k, &["add", "--all"]);
    git(&k, &["commit", "--quiet", "--message", "first"]);
    for name in ["HEAD", "index", "objects", "refs"] {
        fs::rename(k.join(".git").join(name), k.join(name)).unwrap();
    }
    fs::remove_dir_all(k.join(".git")).unwrap();
    trap.set(&k, &k, "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tworktree = .\n");
    let origin = k.parent().unwrap();
    git(origin, &["init", "--quiet"]);
    // Without filters, the settings of this folder are files like any other.
    git(origin, &["add", "--all", "--force"]);
    git(origin, &["commit", "--quiet", "--message", "first"]);
    let clone = |name: &str| {
        git(place.path(), &["clone", "--quiet", "origin", name]);
        place.path().join(name).join("k")
    };
    trap.sprung();
    let _ = Command::new("git").args(["status", "--short"]).current_dir(clone("tried")).output().unwrap();
    assert_ne!(trap.sprung(), "", "git itself runs it");
    assert_nothing_runs(&place, &clone("cloned"), &trap);
}

#[test]
fn settings_of_an_unpacked_checkout_run_nothing() {
    if !is_here("git") {
        return;
    }
    let place = Place::new();
    let (k, trap) = (project(&place), Trap::new(place.path()));
    git(&k, &["init", "--quiet"]);
    git(&k, &["add", "--all"]);
    git(&k, &["commit", "--quiet", "--message", "first"]);
    trap.set(&k.join(".git"), &k, "[core]\n\trepositoryformatversion = 1\n");
    let _ = Command::new("git").args(["status", "--short"]).current_dir(&k).output().unwrap();
    assert_ne!(trap.sprung(), "", "git itself runs it");
    assert_nothing_runs(&place, &k, &trap);
}

/// A measurement executes the project's kernels and programs, and no others.
#[test]
fn settings_of_git_run_nothing_where_git_is_needed() {
    if !is_here("git") {
        return;
    }
    let mut repository = Repository::new("copy_honest");
    let top = repository.place.path().to_owned();
    let signer = repository.place.write_program(
        "bin/signer",
        "#!/bin/sh\ncat > /dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\necho '-----BEGIN PGP SIGNATURE-----'\necho '-----END PGP SIGNATURE-----'\n",
    );
    repository.phase("copy_twice");
    repository.git(&[
        "-c",
        &format!("gpg.program={}", signer.display()),
        "commit",
        "--all",
        "-S",
        "--message",
        "slower",
    ]);
    fs::create_dir_all(top.join("state")).unwrap();
    let trap = Trap::new(&top.join("state"));
    let changed = |name: &str| {
        // Another time of change, so that git reads the file.
        let text = fs::read(top.join(name)).unwrap();
        fs::write(top.join(name), text).unwrap();
    };
    trap.set(&top.join(".git"), &top, "[core]\n\trepositoryformatversion = 1\n");
    for args in [&["status", "--short"][..], &["worktree", "add", "elsewhere", "HEAD"], &["show", "HEAD"]] {
        changed("copy.cu");
        let _ = Command::new("git").args(args).current_dir(&top).output().unwrap();
        assert_ne!(trap.sprung(), "", "git {args:?} itself runs it");
    }
    let _ = fs::remove_dir_all(top.join("elsewhere"));
    changed("copy.cu");
    repository.variables.push(("NCUGATE_DOUBLE_REPORT", top.join("counted.ncu-rep").display().to_string()));
    let launches = [("copy_twice", "mine", 20_000.0), ("copy_honest", "base", 10_000.0)];
    fs::write(top.join("counted.ncu-rep"), crate::stored::report_of_variants(&launches)).unwrap();
    let mut command =
        repository.place.ncugate(&["run", "phase.toml", "--source", "gpu", "--base", "HEAD~1", "--format", "json"]);
    let ran = Finished::of(command.envs(repository.variables.clone()).timeout(Duration::from_secs(100)));
    assert_eq!(trap.sprung(), "", "{ran:?}");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let run: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let manifest = top.join("profiles/copy").join(run["run"].as_str().unwrap()).join("manifest.json");
    let manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(manifest).unwrap()).unwrap();
    let dirty = |manifest: &serde_json::Value| manifest["git"]["dirty"].clone();
    assert_eq!(dirty(&manifest), false, "the files are those of the commit, though newer: {manifest}");
}

/// Ways of a source to read or to claim a file, with `@` in place of its path.
const INCLUDES: [&str; 8] = [
    "#include \"@\"\n",
    "%:include \"@\"\n",
    "#define X \"@\"\n#include X\n",
    "#inc\\\nlude \"@\"\n",
    "#ifdef __CUDA_ARCH__\n#include \"@\"\n#endif\n",
    "#include \"link/credentials\"\n",
    "#line 1 \"@\"\n#warning x\n#line 9 \"copy.cu\"\nint y = nothing;\n",
    "#include \"@\"\n#include \"nowhere.h\"\n",
];

#[test]
fn a_confined_check_quotes_no_file_outside_the_project() {
    let Some(nvcc) = std::env::var_os("NCUGATE_TEST_NVCC") else {
        println!("left out: NCUGATE_TEST_NVCC names no nvcc");
        return;
    };
    let place = Place::new();
    let outside = place.write("outside/credentials", "AWS_SECRET = hunter2;\n");
    let project = place.path().join("project");
    fs::create_dir(&project).unwrap();
    std::os::unix::fs::symlink(outside.parent().unwrap(), project.join("link")).unwrap();
    fs::write(project.join("ncugate.toml"), "").unwrap();
    let variant = "[sweep]\nTHREADS = [128]\n";
    fs::write(project.join("phase.toml"), format!("{}{variant}", include_str!("../data/copy.toml"))).unwrap();
    fs::write(project.join("own.h"), "#define OWN 1\n").unwrap();
    let kernel = "#include \"own.h\"\n\
        extern \"C\" __global__ void copy(const unsigned short* x, unsigned short* y) { y[0] = x[OWN]; }\n";
    let path = std::env::join_paths(
        [Path::new(&nvcc).parent().unwrap().to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    let check = |source: &str| {
        fs::write(project.join("copy.cu"), source).unwrap();
        let mut command = place.ncugate(&["check", "--confined", "phase.toml", "--arch", "sm_90"]);
        Finished::of(command.current_dir(&project).env("PATH", &path))
    };
    let honest = check(&format!("#include <cuda_fp16.h>\n#include <cmath>\n{kernel}"));
    assert_eq!(honest.status, Some(0), "{honest:?}");
    let wrong = check(&kernel.replace("y[0]", "z[0]"));
    assert!(wrong.stdout.contains("identifier \"z\" is undefined"), "a message about the own files: {wrong:?}");
    let relative = "../outside/credentials".to_owned();
    for (at, include) in INCLUDES.into_iter().enumerate() {
        let file = if at % 2 == 0 { outside.display().to_string() } else { relative.clone() };
        let refused = check(&format!("{}{kernel}", include.replace('@', &file)));
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(refused.status == Some(1) && said.contains("withheld"), "{include}: {refused:?}");
        assert!(!said.contains("hunter") && !said.contains("AWS_SECRET"), "{include}: {said}");
    }
    // A header without a mistake is refused as well: its text decides the machine code.
    fs::write(&outside, "#define SECRET 1\n").unwrap();
    let refused = check(&format!("#include \"../outside/credentials\"\n{kernel}"));
    assert!(refused.status == Some(1) && refused.stdout.contains("withheld"), "{refused:?}");
    // The message of a file that is absent is the same as of one that exists.
    let absent = check(&format!("#include \"../outside/nothing\"\n{kernel}"));
    assert_eq!(absent.stdout, refused.stdout);
}
