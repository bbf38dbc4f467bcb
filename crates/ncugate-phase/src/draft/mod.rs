//! A phase drafted from a kernel's source: from its signature, its body and its launch, with marked guesses for the rest.
//!
//! The source is read as text, without a compiler. No verdict depends on a guess: `check` builds the draft, and a run
//! compares the kernel with the reference.

mod code;
mod family;
mod geometry;
mod kernel;
mod launch;
mod phase_text;
mod signature;
mod traffic;
mod types;
mod usage;
mod workload;

pub use code::read_texts;
pub use phase_text::DraftNames;
pub use traffic::{MovedBuffer, moved_bytes};

use code::CudaCode;
use kernel::KernelSource;
use ncugate_model::nearest;
use signature::{KernelSignature, kernels};

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
    /// Neither the source nor its quoted includes define a kernel.
    #[error(
        "no `__global__` function is written in this source or its quoted includes; pass the file that defines the kernel, or the \
         output of `nvcc -E` if a macro defines it; or write the phase by hand with the kernel's name in `entry`"
    )]
    NoKernel,
    #[error("the source defines {}; name one with --entry", .0.join(", "))]
    Several(Vec<String>),
    /// The draft cannot be parsed, because of names or texts of the source.
    #[error("cannot draft a phase for `{entry}`: the draft is not valid TOML ({reason}); write the phase by hand")]
    Unreadable { entry: String, reason: String },
    /// The source defines no kernel with this name.
    #[error("the source defines no kernel `{asked}`{hint}; it has {}", there.join(", "))]
    Absent { asked: String, hint: String, there: Vec<String> },
}

/// The name of the only kernel that a source defines, or of the requested one.
///
/// # Errors
/// The source has no such kernel, or several and none was requested.
pub fn kernel_name(texts: &[String], asked: Option<&str>) -> Result<String, DraftError> {
    let code = CudaCode::of(texts);
    Ok(chosen(&code, &kernels(&code), asked)?.name.to_owned())
}

/// Drafts a phase for a kernel of a source, which [`read_texts`] gives.
///
/// # Errors
/// See [`kernel_name`]; also, the draft is not valid TOML.
pub fn draft(texts: &[String], asked: Option<&str>, names: DraftNames<'_>) -> Result<PhaseDraft, DraftError> {
    let code = CudaCode::of(texts);
    let all = kernels(&code);
    let mut kernel = KernelSource::of(&code, chosen(&code, &all, asked)?);
    let (work, geometry) = (workload::workload(&kernel), geometry::geometry(&mut kernel));
    let text = phase_text::phase_text(&kernel, &work, &geometry, names);
    if let Err(error) = text.parse::<toml::Table>() {
        let entry = kernel.signature.name.to_owned();
        return Err(DraftError::Unreadable { entry, reason: error.message().to_owned() });
    }
    Ok(PhaseDraft { text, reference: phase_text::reference_text(&kernel, &work) })
}

fn chosen<'k, 's>(
    code: &CudaCode<'_>,
    all: &'k [KernelSignature<'s>],
    asked: Option<&str>,
) -> Result<&'k KernelSignature<'s>, DraftError> {
    // Kernels of included files count if the file itself has none.
    let own = all.iter().take_while(|kernel| kernel.body.end <= code.own).count();
    let listed = if own == 0 { all } else { &all[..own] };
    let mut there: Vec<String> = listed.iter().map(|kernel| kernel.name.to_owned()).collect();
    there.dedup();
    match (listed, asked) {
        ([], _) => Err(DraftError::NoKernel),
        ([one], None) => Ok(one),
        (_, None) => Err(DraftError::Several(there)),
        (_, Some(asked)) => all.iter().find(|kernel| kernel.name == asked).ok_or_else(|| DraftError::Absent {
            asked: asked.to_owned(),
            hint: nearest(asked, there.iter().map(String::as_str))
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?")),
            there: there.clone(),
        }),
    }
}
