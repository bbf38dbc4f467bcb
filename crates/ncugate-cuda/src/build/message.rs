//! Compiler messages: shortening and explanations.

use super::budget::SharedArray;
use super::{launch_check, ptxas};
use ncugate_model::process::ProcessExit;
use std::path::Path;

/// Maximum stored length of a compiler's message, in bytes.
const MESSAGE: usize = 8192;

/// A compiler's output, or its exit if it printed nothing.
pub(super) fn message(printed: &str, ending: ProcessExit) -> String {
    let mut text = relative(&ptxas::without_reports(printed));
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
    text
}

/// Why a source cannot be read, with the folder that was searched.
pub(super) fn unreadable(source: &Path, error: &std::io::Error) -> String {
    let message = format!("cannot read `{}`: {error}", source.display());
    match std::env::current_dir() {
        Ok(folder) if source.is_relative() => format!(
            "{message}\nlooked in {}; paths are relative to the nearest folder above the phase that has an `ncugate.toml`, else to the phase's own",
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

/// The budget, with the rest that no array accounts for.
pub(super) fn budget_line(total: u64, limit: u64, mut arrays: Vec<SharedArray>) -> String {
    let named: u64 = arrays.iter().map(|array| array.bytes).sum();
    if named < total {
        arrays.push(SharedArray { name: "(alignment and what the driver reserves)".to_owned(), bytes: total - named });
    }
    launch_check::budget(total, limit, &arrays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_shared_memory_is_recognised() {
        let message = "ptxas error   : Entry function 'big' uses too much shared data (0x10080 bytes, 0xc000 max)";
        assert_eq!(too_much_shared(message), Some(("big", 65664, 49152)));
        assert_eq!(too_much_shared("error: identifier \"y\" is undefined"), None);
        let arrays = vec![SharedArray { name: "a".to_owned(), bytes: 65536 }];
        let expected = "65664 bytes, limit 49152, 16512 over: a 65536, (alignment and what the driver reserves) 128";
        assert_eq!(budget_line(65664, 49152, arrays), expected);
    }

    #[test]
    fn a_message_is_relative_bounded_and_never_empty() {
        assert_eq!(message("", ProcessExit::Signaled(9)), "nvcc was ended by SIGKILL and printed nothing");
        assert_eq!(
            message("ptxas info : x\n", ProcessExit::NonZero(1)),
            "nvcc exited with status 1 and printed nothing"
        );
        assert!(message(&"ä".repeat(MESSAGE), ProcessExit::NonZero(1)).len() < MESSAGE + 20);
        let here = std::env::current_dir().map(|folder| folder.join("k.cu(1): error").display().to_string());
        assert_eq!(message(&here.unwrap_or_default(), ProcessExit::NonZero(1)), "k.cu(1): error");
    }
}
