//! Kernels of another commit as the base of a comparison. Their files are in a folder that lives as long as the run. The
//! base is written into the phase, so that the run documents it and is judged by its own phase like any other run.

use super::git::{Repository, git};
use super::static_check::build_for;
use super::{CampaignError, Progress};
use ncugate_cuda::build::{Arch, IncludeScope};
use ncugate_judge::store::inputs;
use ncugate_model::disk::{FileLock, LockAttempt};
use ncugate_model::{BuildOutcome, BuildRecord};
use ncugate_phase::config::{self, BaseKernels, PROJECT_FILE, Phase};
use ncugate_phase::plan::{Method, Plan, Variant, code_hash, reference_entry_plan, unroll};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of checked-out files, in the folder of runs.
const FOLDER: &str = ".base";

/// Why a base cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    #[error("--base needs a git repository: {why}")]
    NoRepository { why: String },
    #[error("--base {reference}: unknown commit; hint: run `git fetch` (in CI: check out the full history)")]
    NoCommit {
        /// The reference as given.
        reference: String,
    },
    #[error(
        "--base {reference}: no common ancestor with the current commit; hint: the clone may be shallow (in CI: check out the full history)"
    )]
    NothingInCommon {
        /// The reference as given.
        reference: String,
    },
    /// The files of the commit cannot be written.
    #[error("cannot check out the files of {reference}: {why}")]
    Checkout {
        /// The reference as given.
        reference: String,
        why: String,
    },
    /// The folder for the files cannot be created.
    #[error("cannot write the files of the base to {}: {source}", path.display())]
    Folder {
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// Another run holds the files.
    #[error("another run of this phase ({owner}) uses the files of the base in {}; wait until it ends", path.display())]
    Held { path: PathBuf, owner: String },
    /// The text of the phase with its base does not parse to the intended phase.
    #[error("--base: cannot add the base to the phase: {why}")]
    Form { why: String },
}

/// Checked-out files of a commit. They are removed on drop; the next run replaces leftovers of a killed run.
#[derive(Debug)]
pub struct BaseCheckout {
    /// The reference as given.
    pub reference: String,
    /// The commit of the files.
    pub commit: String,
    /// The folder in the checkout that corresponds to the working directory.
    pub root: PathBuf,
    files: PathBuf,
    /// The folder of profiles, if it did not exist before.
    made: Option<PathBuf>,
    lock: Option<FileLock>,
}

impl BaseCheckout {
    /// Checks out the merge base of `reference` and the commit of the working directory, for runs of one phase.
    ///
    /// # Errors
    /// The working directory is not in a repository, the two commits have no merge base, the files cannot be written,
    /// or another run of the phase holds them.
    pub fn of(reference: &str, phase: &str, profiles: &Path) -> Result<Self, BaseError> {
        inside_repository()?;
        let asked = format!("{reference}^{{commit}}");
        let theirs = git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &asked])
            .map_err(|_| BaseError::NoCommit { reference: reference.to_owned() })?;
        let commit = git(&["merge-base", "HEAD", &theirs])
            .map_err(|_| BaseError::NothingInCommon { reference: reference.to_owned() })?;
        Self::at(reference, commit, phase, profiles)
    }

    /// Checks out exactly this commit, which readers know as `reference`, for runs of one phase.
    ///
    /// # Errors
    /// The working directory is not in a repository, the files cannot be written, or another run of the phase holds
    /// them.
    pub fn at(reference: &str, commit: String, phase: &str, profiles: &Path) -> Result<Self, BaseError> {
        let inside = inside_repository()?;
        let short = commit.get(..12).unwrap_or(&commit);
        let (folder, name) = (profiles.join(FOLDER), format!("{phase}-{short}"));
        let failed = |source| BaseError::Folder { path: folder.clone(), source };
        let made = (!profiles.exists()).then(|| profiles.to_owned());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = match FileLock::take(&folder.join(format!("{name}.lock"))).map_err(failed)? {
            LockAttempt::Acquired(lock) => lock,
            LockAttempt::HeldBy(owner) => {
                return Err(BaseError::Held { path: folder.join(name), owner: owner.to_string() });
            }
        };
        let files = folder.join(name);
        let checkout =
            Self { root: files.join(&inside), reference: reference.to_owned(), commit, files, made, lock: Some(lock) };
        checkout.remove();
        let written = Repository::around(Path::new("."))
            .and_then(|repository| repository.check_out(&checkout.commit, &checkout.files));
        written.map_err(|why| BaseError::Checkout { reference: reference.to_owned(), why })?;
        Ok(checkout)
    }

    fn remove(&self) {
        // A failed removal is harmless: the next run replaces leftovers.
        let _ = std::fs::remove_dir_all(&self.files);
    }
}

impl Drop for BaseCheckout {
    fn drop(&mut self) {
        self.remove();
        drop(self.lock.take());
        if let Some(folder) = self.files.parent() {
            // The folder stays if another phase has files in it.
            let _ = std::fs::remove_dir(folder);
        }
        if let Some(profiles) = &self.made {
            // The folder stays if a run is in it.
            let _ = std::fs::remove_dir(profiles);
        }
    }
}

/// The working directory, relative to the root of its repository.
fn inside_repository() -> Result<String, BaseError> {
    git(&["rev-parse", "--show-prefix"]).map_err(|why| BaseError::NoRepository { why })
}

/// The phase with the candidates of its file `config` at the base, in its text too. If the base cannot provide them,
/// the reason is written instead: gates on the base are inconclusive for that reason.
///
/// # Errors
/// The phase already has a base, or its text cannot take one.
pub fn with_base(phase: &Phase, config: &Path, checkout: &BaseCheckout) -> Result<Phase, BaseError> {
    with_kernels(phase, config, checkout, there(phase, config, checkout))
}

/// Like [`with_base`], with the text of the phase at the base, or why it has none.
///
/// # Errors
/// Those of [`with_base`].
pub fn with_kernels(
    phase: &Phase,
    config: &Path,
    checkout: &BaseCheckout,
    there: Result<String, String>,
) -> Result<Phase, BaseError> {
    let absent = |reason: &str| written(phase, checkout, ("absent", reason));
    let text = match there {
        Ok(text) => text,
        Err(reason) => return absent(&reason),
    };
    if let Err(errors) = config::parse(config, &text) {
        let first = errors.problems().first().map_or_else(String::new, |problem| format!(": {}", problem.message));
        return absent(&format!("cannot read {} at the base{first}", config.display()));
    }
    let with = written(phase, checkout, ("phase", &text))?;
    match unroll(&with) {
        Ok(_) => Ok(with),
        // The unrolled phase reports an error of the phase itself.
        Err(_) if unroll(phase).is_err() => Ok(with),
        Err(errors) => {
            let problem = errors.0.problems().first().map_or("", |problem| problem.message.as_str());
            absent(problem.trim_start_matches("`base.phase`: "))
        }
    }
}

/// The text of the phase's file at the base.
fn there(phase: &Phase, config: &Path, checkout: &BaseCheckout) -> Result<String, String> {
    let inside = in_project(phase, config)?;
    text_in(checkout, &inside)?.ok_or_else(|| format!("the base has no {}", inside.display()))
}

/// The phase's file relative to the root of its project, or why it is not below it.
pub fn in_project(phase: &Phase, config: &Path) -> Result<PathBuf, String> {
    let outside = || format!("{} is outside the project of the repository", config.display());
    let (Ok(file), Ok(root)) = (config.canonicalize(), phase.root.canonicalize()) else { return Err(outside()) };
    file.strip_prefix(&root).map(Path::to_owned).map_err(|_| outside())
}

/// The text of a phase's file in a checkout; `None` if the commit does not have it.
pub fn text_in(checkout: &BaseCheckout, inside: &Path) -> Result<Option<String>, String> {
    ncugate_model::disk::open::text_if_there(&checkout.root.join(inside), config::MAX_BYTES)
        .map_err(|error| format!("cannot read {} at the base: {error}", inside.display()))
}

/// The first difference between a phase and the same phase at a commit that a measurement or verdict can depend on: the
/// text of the phase, a file that it names, or the machine code or launch of a variant. `None` if there is none.
///
/// # Errors
/// Neither side can be built, or the folder cannot be entered.
pub fn difference(
    (phase, plan, config): (&Phase, &Plan, &Path),
    checkout: &BaseCheckout,
    arch: &Arch,
    enter: fn(&Path) -> io::Result<()>,
    progress: &(dyn Progress + Sync),
) -> Result<Option<String>, CampaignError> {
    let there = in_project(phase, config).and_then(|inside| text_in(checkout, &inside));
    if there.ok().flatten().as_deref() != Some(&phase.text) {
        return Ok(Some("the phase file differs".to_owned()));
    }
    if text_in(checkout, Path::new(PROJECT_FILE)).ok() != Some(phase.project.clone()) {
        return Ok(Some(format!("{PROJECT_FILE} differs")));
    }
    let is_kernel = |variant: &&Variant| matches!(variant.method, Method::Kernel(_));
    if let Some(other) = plan.candidates().find(|variant| !is_kernel(variant)) {
        return Ok(Some(format!("{} has no machine code to compare", other.id)));
    }
    let named = compared_files(phase, plan);
    let (own, theirs) = (inputs::hashes(&phase.root, named.clone()), inputs::hashes(&checkout.root, named));
    let paths = own.keys().chain(theirs.keys());
    if let Some(path) = paths.into_iter().find(|path| own.get(*path) != theirs.get(*path)) {
        return Ok(Some(format!("{path} differs")));
    }
    let own = build_for(plan, phase, arch, IncludeScope::Anywhere, progress)?;
    let change = |path: &Path| {
        enter(path).map_err(|source| CampaignError::Io { what: "change to the folder of the base", source })
    };
    change(&checkout.root)?;
    let there = Phase { root: checkout.root.clone(), ..phase.clone() };
    let theirs = build_for(plan, &there, arch, IncludeScope::Anywhere, progress);
    change(&phase.root)?;
    let theirs = theirs?;
    let is_same = |record: &&BuildRecord| {
        let other = theirs.iter().find(|other| other.variant == record.variant);
        let code = |record: &BuildRecord| code_hash(record, plan, &phase.workload);
        match (&record.outcome, other) {
            (BuildOutcome::NotNeeded, Some(other)) => other.outcome == BuildOutcome::NotNeeded,
            (_, Some(other)) => code(record).is_some() && code(record) == code(other),
            (_, None) => false,
        }
    };
    if own.is_empty() {
        return Ok(Some("nothing was built".to_owned()));
    }
    let changed = own.iter().find(|record| !is_same(record));
    Ok(changed.map(|record| format!("the machine code of {} differs or is unknown", record.variant)))
}

/// The files whose contents decide whether a phase changed: those that it names, without the sources of kernels, whose
/// machine code is compared. A source that the reference uses as well is one of them.
pub fn compared_files(phase: &Phase, plan: &Plan) -> BTreeSet<PathBuf> {
    let of_reference: BTreeSet<PathBuf> =
        reference_entry_plan(phase, plan).iter().flat_map(|plan| inputs::sources(&phase.root, plan)).collect();
    let of_kernels = inputs::sources(&phase.root, plan);
    let is_compared = |path: &PathBuf| !of_kernels.contains(path) || of_reference.contains(path);
    inputs::named(phase, plan).into_iter().filter(is_compared).collect()
}

/// The phase with `[base]` appended to its text.
fn written(phase: &Phase, checkout: &BaseCheckout, (key, value): (&str, &str)) -> Result<Phase, BaseError> {
    let BaseCheckout { reference, commit, root, .. } = checkout;
    let folder = root.display().to_string();
    let table = format!(
        "# Written by `ncugate run --base`.\n[base]\nref = {}\ncommit = {}\nfolder = {}\n{key} = {}\n",
        toml(reference),
        toml(commit),
        toml(folder.trim_end_matches('/')),
        toml(value)
    );
    let text = format!("{}\n\n{table}", phase.text.trim_end());
    let failed = |why: &str| BaseError::Form { why: why.to_owned() };
    let with = config::parse_again(phase, &text).map_err(|errors| {
        failed(errors.problems().first().map_or("it cannot be parsed", |problem| problem.message.as_str()))
    })?;
    // If it parses to anything else, it is a different phase.
    let same = Phase { base: None, text: phase.text.clone(), ..with.clone() } == *phase;
    let meant = with.base.as_ref().is_some_and(|base| match &base.kernels {
        BaseKernels::Of(there) => key == "phase" && there.text == value,
        BaseKernels::Absent { reason } => key == "absent" && reason == value,
    });
    if same && meant { Ok(with) } else { Err(failed("the result is a different phase")) }
}

/// A string as a TOML literal, multi-line if possible for readability.
fn toml(text: &str) -> String {
    let plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    if text.contains('\n') && !text.contains("'''") && !text.ends_with('\'') && text.chars().all(plain) {
        return format!("'''\n{text}'''");
    }
    // A JSON string is a TOML string, except for one character.
    serde_json::Value::String(text.to_owned()).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::root;
    use std::collections::BTreeMap;

    /// A kernel's machine code says nothing of a reference in the same file.
    #[test]
    fn a_kernels_source_is_compared_by_content_only_if_the_reference_is_in_it() {
        let compared = |config: &str, source: &str| {
            let today = jiff::civil::date(2026, 11, 26);
            let phase = config::load(&root().join(config), &root(), today).unwrap();
            compared_files(&phase, &unroll(&phase).unwrap()).contains(Path::new(source))
        };
        assert!(compared("tests/gpu/traits/any_order.toml", "tests/gpu/traits/any_order.cu"));
        assert!(!compared("configs/softmax.toml", "kernels/softmax/softmax.cu"));
    }

    #[test]
    fn texts_of_every_kind_are_read_as_they_were() {
        for text in ["a", "a\nb\n", "\n", "it's\n'''\n", "ends with '\n'", "\u{7f}\n", "\r\n\"\\", "'", ""] {
            let read: BTreeMap<String, String> = toml::from_str(&format!("x = {}", toml(text))).unwrap();
            assert_eq!(read["x"], text);
        }
    }
}
