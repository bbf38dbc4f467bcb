//! Source entries of a report: cubins, intermediate code, imported source files. Decoded on request only.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::error::ReportError;
use super::wire::{Field, Message};

/// An imported source file (`--import-source yes`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile<'a> {
    /// Path as the compiler wrote it. Never opened.
    pub path: Cow<'a, str>,
    /// Content.
    pub content: &'a [u8],
}

/// One module's code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Source<'a> {
    /// What launches refer to it by.
    pub reference: u64,
    /// High-level code; mostly empty.
    pub code: &'a [u8],
    /// Intermediate code (PTX); mostly empty.
    pub intermediate: &'a [u8],
    /// The cubin, an ELF file.
    pub binary: &'a [u8],
    /// Compute capability of the code, major and minor.
    pub capability: Option<(u32, u32)>,
    /// Imported source files.
    pub files: Vec<SourceFile<'a>>,
}

/// Merges entries that share a reference: a later entry may hold no more than relocations.
pub(crate) fn merge<'a>(entries: impl Iterator<Item = Message<'a>>) -> Result<Vec<Source<'a>>, ReportError> {
    let mut merged: IndexMap<u64, Source<'a>> = IndexMap::new();
    for entry in entries {
        let source = decode(entry)?;
        let into = merged.entry(source.reference).or_default();
        into.reference = source.reference;
        for (slot, bytes) in [
            (&mut into.code, source.code),
            (&mut into.intermediate, source.intermediate),
            (&mut into.binary, source.binary),
        ] {
            if !bytes.is_empty() {
                *slot = bytes;
            }
        }
        into.capability = source.capability.or(into.capability);
        into.files.extend(source.files);
    }
    Ok(merged.into_values().collect())
}

fn decode(entry: Message<'_>) -> Result<Source<'_>, ReportError> {
    let mut source = Source::default();
    for field in entry.fields() {
        let field = field?;
        match field.number {
            1 => source.reference = field.integer()?,
            2 => source.code = field.bytes()?,
            3 => source.intermediate = field.bytes()?,
            4 => source.binary = field.bytes()?,
            6 => {
                let version = field.integer32()?;
                source.capability = Some((version >> 16, version & 0xffff));
            }
            8 => {
                for part in field.message("SourceFiles")?.fields() {
                    let part = part?;
                    if part.number == 1 {
                        source.files.push(file(&part)?);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(source)
}

fn file<'a>(field: &Field<'a>) -> Result<SourceFile<'a>, ReportError> {
    let mut file = SourceFile { path: Cow::Borrowed(""), content: &[] };
    for part in field.message("SourceFile")?.fields() {
        let part = part?;
        match part.number {
            1 => file.path = part.text()?,
            2 => file.content = part.bytes()?,
            _ => {}
        }
    }
    Ok(file)
}
