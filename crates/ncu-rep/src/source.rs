//! Source entries of a report: cubins, intermediate code, imported source files. Decoded on request only.

use std::borrow::Cow;

use indexmap::IndexMap;

use crate::error::ReportError;
use crate::schema::{source as fields, source_file, source_files};
use crate::wire::{Field, Message};

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
pub struct SourceModule<'a> {
    /// The reference that launches use.
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

/// Merges entries with the same reference: a later entry can contain only relocations.
pub(crate) fn merge<'a>(entries: impl Iterator<Item = Message<'a>>) -> Result<Vec<SourceModule<'a>>, ReportError> {
    let mut merged: IndexMap<u64, SourceModule<'a>> = IndexMap::new();
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

fn decode(entry: Message<'_>) -> Result<SourceModule<'_>, ReportError> {
    let mut source = SourceModule::default();
    for field in entry.fields() {
        let field = field?;
        match field.number {
            fields::REFERENCE => source.reference = field.integer()?,
            fields::CODE => source.code = field.bytes()?,
            fields::INTERMEDIATE => source.intermediate = field.bytes()?,
            fields::BINARY => source.binary = field.bytes()?,
            fields::SM_VERSION => {
                let version = field.integer32()?;
                source.capability = Some((version >> 16, version & 0xffff));
            }
            fields::FILES => {
                for part in field.message("SourceFiles")?.fields() {
                    let part = part?;
                    if part.number == source_files::FILE {
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
            source_file::PATH => file.path = part.text()?,
            source_file::CONTENT => file.content = part.bytes()?,
            _ => {}
        }
    }
    Ok(file)
}
