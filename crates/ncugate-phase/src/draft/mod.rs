//! A phase drafted from a kernel's source: from its signature, its body and its host code, with marked guesses for the rest.
//!
//! The source is read as text, without a compiler; the caller can add the same text with expanded macros. No verdict depends
//! on a guess: `check` builds the draft, and a run compares the kernel with the reference.

mod family;
mod geometry;
mod kernel_file;
mod launch_expression;
mod launch_site;
mod phase_text;
mod signature;
mod source;
mod symbol;
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
use source::{KernelOrigin, KernelSource, SweptParameter};
use token::Tokens;
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
    /// The source defines no kernel, also not by its macros.
    #[error(
        "the source defines no `__global__` function, also not by macros; pass the file that defines the kernel, or write the phase by hand with the kernel's name in `entry`"
    )]
    NoKernel,
    /// The source as written defines no kernel, and its macros are not expanded.
    #[error(
        "the source defines no `__global__` function as written, and its macros could not be expanded by `cc -E`; install a C++ compiler, pass the file that defines the kernel, or write the phase by hand with the kernel's name in `entry`"
    )]
    Unexpanded,
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
    let (written, expanded) = (file.tokens(), file.expanded_tokens());
    let all = found(&written, expanded.as_ref());
    Ok(chosen(&all, &written, expanded.as_ref(), asked)?.signature.name.clone())
}

/// Drafts a phase for a kernel of a source.
///
/// # Errors
/// See [`kernel_name`]; also, the draft is not valid TOML.
pub fn draft(file: &KernelFile, asked: Option<&str>, names: DraftNames<'_>) -> Result<PhaseDraft, DraftError> {
    let (written, expanded) = (file.tokens(), file.expanded_tokens());
    let all = found(&written, expanded.as_ref());
    let FoundKernel { signature, tokens, origin } = chosen(&all, &written, expanded.as_ref(), asked)?;
    let kernel = KernelSource::of(tokens, signature, *origin, expanded.as_ref());
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

/// A kernel of a source, and the tokens that define it.
struct FoundKernel<'t, 's> {
    signature: KernelSignature,
    tokens: &'t Tokens<'s>,
    origin: KernelOrigin,
}

/// The kernels of a source: as written, then those that macros define.
fn found<'t, 's>(written: &'t Tokens<'s>, expanded: Option<&'t Tokens<'s>>) -> Vec<FoundKernel<'t, 's>> {
    let of = |tokens: &'t Tokens<'s>, origin| {
        kernels(tokens).into_iter().map(move |signature| FoundKernel { signature, tokens, origin })
    };
    let mut all: Vec<FoundKernel<'t, 's>> = of(written, KernelOrigin::Written).collect();
    for kernel in expanded.into_iter().flat_map(|expanded| of(expanded, KernelOrigin::Macro)) {
        if all.iter().all(|known| known.signature.name != kernel.signature.name) {
            all.push(kernel);
        }
    }
    all
}

fn chosen<'k, 't, 's>(
    all: &'k [FoundKernel<'t, 's>],
    written: &Tokens<'_>,
    expanded: Option<&Tokens<'_>>,
    asked: Option<&str>,
) -> Result<&'k FoundKernel<'t, 's>, DraftError> {
    let names = || {
        let mut names: Vec<String> = all.iter().map(|kernel| kernel.signature.name.clone()).collect();
        names.dedup();
        names
    };
    match (all, asked) {
        ([], _) if expanded.is_none() && !written.function_macros.is_empty() => Err(DraftError::Unexpanded),
        ([], _) => Err(DraftError::NoKernel),
        (_, Some(asked)) => {
            all.iter().find(|kernel| kernel.signature.name == asked).ok_or_else(|| DraftError::Absent {
                asked: asked.to_owned(),
                hint: nearest(asked, all.iter().map(|kernel| kernel.signature.name.as_str()))
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?")),
                there: names(),
            })
        }
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
        geometry.swept.push(SweptParameter { name: "THREADS".to_owned(), values, is_define: false, is_guess: false });
        geometry.block = vec!["THREADS".to_owned()];
        geometry.grid = vec![format!("({} + THREADS - 1) // THREADS", work.columns)];
    }
    buffer.shape = geometry.grid.first().cloned().into_iter().collect();
}
