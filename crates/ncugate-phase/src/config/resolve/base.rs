//! `[base]`: a commit, and the phase as it was there.

use crate::config::keys::BASE;
use crate::config::reader::Item;
use crate::config::{Base, BaseKernels, ConfigErrors, Phase};

/// Reads the table; `parse` understands the text of a phase.
pub fn base(item: &Item<'_>, parse: &dyn Fn(&str) -> Result<Phase, ConfigErrors>) -> Option<Base> {
    let table = item.table(&BASE)?;
    let commit = table.need("commit").and_then(|item| {
        let text = item.text()?;
        let plain = text.len() >= 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !plain {
            item.expected("the digits of a commit", None);
        }
        plain.then_some(text)
    });
    let reference = table.need("ref").and_then(|item| item.text());
    let folder = table.get("folder").and_then(|item| item.text()).unwrap_or_else(|| ".".to_owned());
    let kernels = match (table.get("phase"), table.get("absent").map(|item| item.text())) {
        (Some(item), None) => {
            let text = item.text()?;
            match parse(&text) {
                Ok(phase) if phase.base.is_none() => Some(BaseKernels::Of(Box::new(phase))),
                Ok(_) => {
                    item.report("the phase of the base has a base of its own", None);
                    None
                }
                Err(_) => {
                    item.report("the phase of the base cannot be read", None);
                    None
                }
            }
        }
        (None, Some(reason)) => reason.map(|reason| BaseKernels::Absent { reason }),
        (Some(_), Some(_)) | (None, None) => {
            item.expected("exactly one of phase, absent", None);
            None
        }
    };
    Some(Base { reference: reference?, commit: commit?, folder: folder.into(), kernels: kernels? })
}
