//! git, where a measurement needs it. A checkout chooses what git runs, by its settings and attributes and by folders that
//! are laid out like a repository. Commands that read files of the project therefore have a separate git folder: the
//! objects and the index of the repository, without its settings, attributes and hooks.

use ncugate_model::disk::scratch_folder;
use ncugate_model::process::{self, ProcessExit, ProcessOutput};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// git looks up a commit in milliseconds, but may take minutes to write the files of a large repository.
const LIMIT: Duration = Duration::from_secs(600);

/// The tree without files, by object format. git knows it in every repository.
const EMPTY_TREES: [(&str, &str); 2] = [
    ("sha1", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    ("sha256", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"),
];

/// Settings of a repository that say how its files are compared. None is the name of a program.
const COMPARISON: &str = r"^core\.(filemode|symlinks|autocrlf|trustctime|checkstat)$";

/// Folders of [`Repository::dirty`] that this process has named.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// git for questions about commits: without bare repositories among the project's files, attributes, hooks, monitors,
/// pagers, fetches and locks.
fn command() -> Command {
    let mut command = Command::new("git");
    // A hook of git sets these for its own repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command.arg("--no-pager");
    for setting in
        ["safe.bareRepository=explicit", "core.attributesFile=/dev/null", "core.fsmonitor=", "core.hooksPath=/dev/null"]
    {
        command.args(["-c", setting]);
    }
    command.envs([
        ("GIT_ATTR_SOURCE", EMPTY_TREES[0].1),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_ALLOW_PROTOCOL", ""),
        ("GIT_TERMINAL_PROMPT", "0"),
    ]);
    command
}

/// Output of git in the working directory, or why it failed.
pub fn git(args: &[&str]) -> Result<String, String> {
    output(command().args(args))
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = process::run_whole(command, LIMIT).map_err(|error| error.to_string())?;
    match output {
        ProcessOutput { ending: ProcessExit::Completed, stdout, .. } => Ok(stdout.trim().to_owned()),
        ProcessOutput { ending: ProcessExit::NonZero(_), stderr, .. } if !stderr.trim().is_empty() => {
            Err(stderr.lines().last().unwrap_or_default().to_owned())
        }
        ProcessOutput { ending, .. } => Err(format!("git {ending}")),
    }
}

/// A repository with a commit.
#[derive(Debug)]
pub struct Repository {
    /// The commit of its files.
    pub commit: String,
    /// The folder of its files.
    top: PathBuf,
    objects: PathBuf,
    index: PathBuf,
    format: String,
    /// The settings of [`COMPARISON`] as lines.
    settings: String,
}

impl Repository {
    /// The repository that a folder is in.
    ///
    /// # Errors
    /// It is in none, or in one without a commit.
    pub fn around(folder: &Path) -> Result<Self, String> {
        let ask = |args: &[&str]| output(command().arg("-C").arg(folder).args(args));
        let paths = ["--show-toplevel", "--git-path", "objects", "--git-path", "index", "--show-object-format"];
        let printed = ask(&[&["rev-parse"], &paths[..], &["HEAD^{commit}"]].concat())?;
        let lines: Vec<&str> = printed.lines().collect();
        let [top, objects, index, format, commit] = lines.as_slice() else {
            return Err(format!("git printed {} lines about {}", lines.len(), folder.display()));
        };
        let absolute = |path: &str| std::path::absolute(folder.join(path)).map_err(|error| error.to_string());
        let plain = |text: &&str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        let settings = ask(&["config", "-z", "--get-regexp", COMPARISON]).unwrap_or_default();
        let settings = settings.split('\0').filter_map(|setting| setting.split_once('\n'));
        let settings = settings.filter(|(key, value)| plain(key) && plain(value));
        Ok(Self {
            commit: (*commit).to_owned(),
            top: top.into(),
            objects: absolute(objects)?,
            index: absolute(index)?,
            format: (*format).to_owned(),
            settings: settings
                .filter_map(|(key, value)| Some(format!("\t{} = {value}\n", key.strip_prefix("core.")?)))
                .collect(),
        })
    }

    /// Writes a git folder at `commit` that has the objects of this repository and nothing else of it.
    fn write_folder(&self, git: &Path, commit: &str) -> io::Result<()> {
        let (version, extensions) = match self.format.as_str() {
            "sha1" => (0, String::new()),
            format => (1, format!("[extensions]\n\tobjectFormat = {format}\n")),
        };
        let settings = &self.settings;
        fs::create_dir_all(git.join("objects/info"))?;
        fs::create_dir(git.join("refs"))?;
        fs::write(git.join("HEAD"), format!("{commit}\n"))?;
        fs::write(git.join("objects/info/alternates"), format!("{}\n", self.objects.display()))?;
        let core = format!("[core]\n\trepositoryFormatVersion = {version}\n\tbare = false\n{settings}");
        fs::write(git.join("config"), core + &extensions)
    }

    /// git with a folder of [`Self::write_folder`] for the files in `files`.
    fn command(&self, git: &Path, files: &Path) -> Command {
        let mut command = command();
        let empty = EMPTY_TREES.iter().find(|(format, _)| *format == self.format);
        command.envs(empty.map(|(_, tree)| ("GIT_ATTR_SOURCE", tree)));
        command.env("GIT_DIR", git).env("GIT_WORK_TREE", files);
        command
    }

    /// Writes the files of `commit` to a new folder, which is a repository at this commit. Attributes are ignored: a
    /// file in Git LFS is its pointer.
    ///
    /// # Errors
    /// The folder exists, or a file cannot be written.
    pub fn check_out(&self, commit: &str, folder: &Path) -> Result<(), String> {
        let files = std::path::absolute(folder).map_err(|error| error.to_string())?;
        let git = files.join(".git");
        self.write_folder(&git, commit).map_err(|error| error.to_string())?;
        output(self.command(&git, &files).arg("-C").arg(&files).args(["read-tree", "-u", "--reset", commit])).map(drop)
    }

    /// Whether a tracked file differs from the commit, also in submodules, or one of the `named` files is not in it. The
    /// pathspecs `tracked` choose the tracked files. Both are relative to `folder`, which is in the repository.
    ///
    /// # Errors
    /// git fails.
    pub fn dirty(&self, folder: &Path, tracked: &[&OsStr], named: &[&OsStr]) -> Result<bool, String> {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let scratch = scratch_folder(None).map_err(|error| error.to_string())?;
        let git = scratch.join(format!("git-{}-{number}", std::process::id()));
        // A killed process with this number may have left one.
        let _ = fs::remove_dir_all(&git);
        let found = self.dirty_by(&git, folder, tracked, named);
        let _ = fs::remove_dir_all(&git);
        found
    }

    fn dirty_by(&self, git: &Path, folder: &Path, tracked: &[&OsStr], named: &[&OsStr]) -> Result<bool, String> {
        self.write_folder(git, &self.commit).map_err(|error| error.to_string())?;
        let ask = |args: &[&str], paths: &[&OsStr]| {
            let mut command = self.command(git, &self.top);
            command.env("GIT_INDEX_FILE", &self.index).arg("-C").arg(folder).args(args).arg("--");
            output(command.args(paths))
        };
        // git would start another git in each submodule, with the settings of that one.
        let status = ["status", "--porcelain", "--ignore-submodules=dirty"];
        if !ask(&[&status[..], &["--untracked-files=no"]].concat(), tracked)?.is_empty() {
            return Ok(true);
        }
        let literal = [&["--literal-pathspecs"], &status[..], &["--ignored"]].concat();
        if !named.is_empty() && !ask(&literal, named)?.is_empty() {
            return Ok(true);
        }
        let listed = ask(&["ls-files", "-z", "--full-name", "--stage"], tracked)?;
        for path in listed.split('\0').filter_map(|line| line.strip_prefix("160000 ")?.split_once('\t')) {
            let inside = self.top.join(path.1);
            let same = |one: &Path| one.canonicalize().ok() == inside.canonicalize().ok();
            // Without its files the folder is empty, and the repository around it is this one.
            if let Ok(submodule) = Self::around(&inside)
                && same(&submodule.top)
                && submodule.dirty(&inside, &[], &[])?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
