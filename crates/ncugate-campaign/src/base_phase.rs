//! A phase with its base written into it, so that the run says what it measured and is judged by its own phase as any other.

use super::base_checkout::BaseCheckout;
use super::base_error::BaseError;
use ncugate_phase::config::{self, BaseKernels, Phase};
use ncugate_phase::plan::unroll;
use std::path::Path;

/// The phase with the candidates that its file `config` has at the base, in its text too. What the base cannot give is written in
/// their place: gates that read it are inconclusive for that reason.
///
/// # Errors
/// The phase has a base already, or its text cannot take one.
pub fn with_base(phase: &Phase, config: &Path, checkout: &BaseCheckout) -> Result<Phase, BaseError> {
    if phase.base.is_some() {
        return Err(BaseError::Written);
    }
    let absent = |reason: &str| written(phase, checkout, ("absent", reason));
    let text = match there(phase, config, checkout) {
        Ok(text) => text,
        Err(reason) => return absent(&reason),
    };
    if let Err(errors) = config::parse(config, &text) {
        let first = errors.problems().first().map_or_else(String::new, |problem| format!(": {}", problem.message));
        return absent(&format!("{} cannot be read there{first}", config.display()));
    }
    let with = written(phase, checkout, ("phase", &text))?;
    match unroll(&with) {
        Ok(_) => Ok(with),
        // An error of the phase's own is told where that is unrolled.
        Err(_) if unroll(phase).is_err() => Ok(with),
        Err(errors) => {
            let problem = errors.0.problems().first().map_or("", |problem| problem.message.as_str());
            absent(problem.trim_start_matches("`base.phase`: "))
        }
    }
}

/// The text of the phase's file at the base.
fn there(phase: &Phase, config: &Path, checkout: &BaseCheckout) -> Result<String, String> {
    let outside = || format!("{} lies outside of the repository's project", config.display());
    let (Ok(file), Ok(root)) = (config.canonicalize(), phase.root.canonicalize()) else { return Err(outside()) };
    let inside = file.strip_prefix(&root).map_err(|_| outside())?;
    let path = checkout.root.join(inside);
    ncugate_model::disk::open::text_if_there(&path, config::MAX_BYTES)
        .map_err(|error| format!("{} cannot be read there: {error}", inside.display()))?
        .ok_or_else(|| format!("{} is not there", inside.display()))
}

/// The phase with `[base]` behind its text.
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
        failed(errors.problems().first().map_or("it does not read", |problem| problem.message.as_str()))
    })?;
    // Read as something else than meant, it would be another phase.
    let same = Phase { base: None, text: phase.text.clone(), ..with.clone() } == *phase;
    let meant = with.base.as_ref().is_some_and(|base| match &base.kernels {
        BaseKernels::Of(there) => key == "phase" && there.text == value,
        BaseKernels::Absent { reason } => key == "absent" && reason == value,
    });
    if same && meant { Ok(with) } else { Err(failed("it reads as another phase")) }
}

/// A text as TOML has it: in lines where that is possible, since people read it.
fn toml(text: &str) -> String {
    let plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    if text.contains('\n') && !text.contains("'''") && !text.ends_with('\'') && text.chars().all(plain) {
        return format!("'''\n{text}'''");
    }
    // A text of JSON is one of TOML, but for one character.
    serde_json::Value::String(text.to_owned()).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::toml;
    use std::collections::BTreeMap;

    #[test]
    fn texts_of_every_kind_are_read_as_they_were() {
        for text in ["a", "a\nb\n", "\n", "it's\n'''\n", "ends with '\n'", "\u{7f}\n", "\r\n\"\\", "'", ""] {
            let read: BTreeMap<String, String> = toml::from_str(&format!("x = {}", toml(text))).unwrap();
            assert_eq!(read["x"], text);
        }
    }
}
