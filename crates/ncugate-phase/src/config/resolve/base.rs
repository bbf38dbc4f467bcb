//! `[base]`: a commit, and the phase at that commit.

use crate::config::keys::BASE;
use crate::config::reader::Item;
use crate::config::{Base, BaseKernels, ConfigErrors, Phase};

/// Reads the table; `parse` parses the text of a phase.
pub fn base(item: &Item<'_>, parse: &dyn Fn(&str) -> Result<Phase, ConfigErrors>) -> Option<Base> {
    let table = item.table()?;
    let commit = table.read(&BASE.commit, |item| {
        let text = item.text()?;
        let plain = text.len() >= 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !plain {
            item.expected("the hash of a commit", None);
        }
        plain.then_some(text)
    });
    let reference = table.read(&BASE.r#ref, Item::text);
    let folder = table.read(&BASE.folder, Item::text);
    let (key, item) = table.exactly_one([&BASE.phase, &BASE.absent])?;
    let text = item.text()?;
    let kernels = if *key == BASE.absent {
        Some(BaseKernels::Absent { reason: text })
    } else {
        match parse(&text) {
            Ok(phase) if phase.base.is_none() => Some(BaseKernels::Of(Box::new(phase))),
            Ok(_) => {
                item.report("the phase of the base has a `[base]` too", None);
                None
            }
            Err(_) => {
                item.report("the phase of the base cannot be read", None);
                None
            }
        }
    };
    Some(Base { reference: reference?, commit: commit?, folder: folder?.into(), kernels: kernels? })
}
