//! A phase drafted from a kernel's source: from its signature, its body and its host code, with marked guesses for the rest.
//!
//! The source is read as text, without a compiler. No verdict depends on a guess: `check` builds the draft, and a run
//! compares the kernel with the reference.

mod family;
mod geometry;
mod kernel_file;
mod launch_site;
mod phase_text;
mod signature;
mod source;
mod token;
mod traffic;
mod types;
mod usage;
mod workload;

pub use kernel_file::KernelFile;
pub use phase_text::DraftNames;
pub use traffic::{MovedBuffer, moved_bytes};

use family::KernelFamily;
use geometry::Geometry;
use ncugate_model::nearest;
use signature::{KernelSignature, kernels};
use source::{KernelSource, SweptParameter};
use workload::DraftWorkload;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseDraft {
    /// The phase's file.
    pub text: String,
    /// The file of its reference, if that is a Python function.
    pub reference: Option<String>,
}

/// Why no phase can be drafted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DraftError {
    /// The source defines no kernel.
    #[error(
        "the source defines no `__global__` function; kernels in included files or macros are not found, so pass the file with the kernel"
    )]
    NoKernel,
    #[error("the source defines {}; name one with --entry", .0.join(", "))]
    Several(Vec<String>),
    /// The draft cannot be parsed, because of names or texts of the source.
    #[error("cannot draft a phase for `{entry}`: the draft is not valid TOML ({reason}); write the phase by hand")]
    Unreadable { entry: String, reason: String },
    /// The source defines no kernel with this name.
    #[error("the source defines no kernel `{asked}`{hint}; it has {}", there.join(", "))]
    Absent {
        asked: String,
        /// A similar name.
        hint: String,
        there: Vec<String>,
    },
}

/// The name of the only kernel that a source defines, or of the requested one.
///
/// # Errors
/// The source has no such kernel, or several and none was requested.
pub fn kernel_name(file: &KernelFile, asked: Option<&str>) -> Result<String, DraftError> {
    let tokens = file.tokens();
    Ok(chosen(&kernels(&tokens), asked)?.name.clone())
}

/// Drafts a phase for a kernel of a source.
///
/// # Errors
/// See [`kernel_name`]; also, the draft is not valid TOML.
pub fn draft(file: &KernelFile, asked: Option<&str>, names: DraftNames<'_>) -> Result<PhaseDraft, DraftError> {
    let tokens = file.tokens();
    let all = kernels(&tokens);
    let kernel = KernelSource::of(&tokens, chosen(&all, asked)?);
    let mut work = workload::workload(&kernel);
    let mut geometry = geometry::geometry(&kernel, &work.rows, &work.columns);
    gather(&kernel, &mut work, &mut geometry);
    let text = phase_text::phase_text(&kernel, &work, &geometry, names);
    if let Err(error) = text.parse::<toml::Table>() {
        return Err(DraftError::Unreadable {
            entry: kernel.signature.name.clone(),
            reason: error.message().to_owned(),
        });
    }
    let reference = phase_text::reference_text(&kernel, &work);
    Ok(PhaseDraft { text, reference })
}

fn chosen<'k>(all: &'k [KernelSignature], asked: Option<&str>) -> Result<&'k KernelSignature, DraftError> {
    let names = || {
        let mut names: Vec<String> = all.iter().map(|kernel| kernel.name.clone()).collect();
        names.dedup();
        names
    };
    match (all, asked) {
        ([], _) => Err(DraftError::NoKernel),
        (_, Some(asked)) => all.iter().find(|kernel| kernel.name == asked).ok_or_else(|| DraftError::Absent {
            asked: asked.to_owned(),
            hint: nearest(asked, all.iter().map(|kernel| kernel.name.as_str()))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?")),
            there: names(),
        }),
        ([one], None) => Ok(one),
        (_, None) => Err(DraftError::Several(names())),
    }
}

/// Gives an output with one element per block the extent of the grid, which must depend on a parameter.
fn gather(kernel: &KernelSource<'_>, work: &mut DraftWorkload, geometry: &mut Geometry) {
    let Some(buffer) = work.buffers.iter_mut().find(|buffer| buffer.reduce.is_some()) else { return };
    let swept = kernel.swept.iter().chain(&geometry.swept);
    let follows = geometry.grid.iter().any(|grid| swept.clone().any(|parameter| grid.contains(&parameter.name)));
    if let (false, KernelFamily::Reduce(_), [threads]) = (follows, kernel.family, geometry.block.as_slice()) {
        let values = vec![threads.parse().unwrap_or(256)];
        geometry.swept = Some(SweptParameter { name: "THREADS".to_owned(), values, is_define: false, is_guess: false });
        geometry.block = vec!["THREADS".to_owned()];
        geometry.grid = vec![format!("({} + THREADS - 1) // THREADS", work.columns)];
    }
    buffer.shape = geometry.grid.first().cloned().into_iter().collect();
}
