//! From the text of a phase to what it means; every error of the file in one go.

mod gates;
mod kernel;
mod names;
mod phase;
mod reference;
mod scope;
mod search;
mod tensor_map;
mod workload;

use super::error::{ConfigErrors, Place, Problem};
use super::keys::ROOT;
use super::phase::Phase;
use super::reader::{Table, TomlText};
use std::path::Path;
use toml::de::DeTable;

/// Reads and understands the phase in a file.
pub fn load(path: &Path) -> Result<Phase, ConfigErrors> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let problem = Problem {
            place: None,
            message: format!("cannot read the config: {e}"),
            help: Some("give the path of a phase, a TOML file such as configs/phase_d.toml".to_owned()),
        };
        ConfigErrors::new(path, "", vec![problem])
    })?;
    parse(path, &text)
}

/// Understands the text of a phase; `path` is only named in errors.
pub fn parse(path: &Path, text: &str) -> Result<Phase, ConfigErrors> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let problems = errors.iter().map(|e| Problem {
            place: e.span().map(|span| Place { key: String::new(), span }),
            message: format!("not TOML: {}", e.message()),
            help: None,
        });
        return Err(ConfigErrors::new(path, text, problems.collect()));
    }
    let source = TomlText::new(text);
    let place = Place { key: String::new(), span: 0..0 };
    let root = Table::new(&source, &ROOT, place, document.get_ref());
    let phase = phase::phase(&root, path, text);
    let problems = source.into_problems();
    match phase {
        Some(phase) if problems.is_empty() => Ok(phase),
        _ => Err(ConfigErrors::new(path, text, problems)),
    }
}
