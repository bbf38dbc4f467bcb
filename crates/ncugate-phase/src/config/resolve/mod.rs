//! From the text of a phase to its resolved form; all errors of the file at once.

/// The parts of `$own`, completed by those of `$base`; then other values.
macro_rules! inherit {
    ($own:ident over $base:ident: $($key:ident)+; $($other:ident: $value:expr),+ $(,)?) => {
        Self { $($key: $own.$key.or_else(|| $base.$key.clone()),)+ $($other: $value),+ }
    };
}

/// A struct of values. All are read before the first missing one ends it, so that each has its error.
macro_rules! all_of {
    ($type:ident { $($field:ident: $value:expr),+ $(,)? }) => {{
        let ($($field,)+) = ($($value,)+);
        Some($type { $($field: $field?),+ })
    }};
}

mod argument;
mod base;
mod check;
mod gates;
mod imported;
mod init;
mod kernel;
mod launch;
mod launch_pattern;
mod names;
mod phase;
mod reference;
mod report_phase;
mod rule;
mod scope;
mod search;
mod symbol;
mod tensor_map;
mod tolerance;
mod toolchains;
mod workload;

use super::error::{ConfigError, ConfigErrors, Place};
use super::keys::{PROJECT, ROOT};
use super::locate::KeyPlaces;
use super::phase::Phase;
use super::project::{PROJECT_FILE, Project, text_of};
use super::reader::{Table, TomlText};
use jiff::civil::Date;
use ncugate_model::number::counted;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// Loads and resolves the phase in a file, a path relative to the folder `here`. Its waivers end within a year from
/// `today`.
///
/// # Errors
/// All faults of the file. Only runs have a base: a file with one could name any kernels as those of a commit.
pub fn load(path: &Path, here: &Path, today: Date) -> Result<Phase, ConfigErrors> {
    let file: PathBuf = here.join(path).components().collect();
    let text = text_of(&file).map_err(|e| {
        let problem = ConfigError {
            place: None,
            message: format!("cannot read the phase: {e}"),
            help: Some("give the path of a phase file, such as configs/phase_d.toml".to_owned()),
        };
        ConfigErrors::new(path, "", vec![problem])
    })?;
    let project = Project::of(&file)?;
    let phase = parse_with(path, &text, project.text.as_deref().map(|text| (project.file(), text)), Some(today))?;
    if phase.base.is_some() {
        let problem = ConfigError {
            place: KeyPlaces::of(&text).locate("base"),
            message: "only runs have a `[base]`: it names the kernels that `run --base REF` measured".to_owned(),
            help: Some("remove the table".to_owned()),
        };
        return Err(ConfigErrors::new(path, &text, vec![problem]));
    }
    Ok(Phase { root: project.root, ..phase })
}

/// Resolves another text of a phase, in the same project and for the same GPU.
pub fn parse_again(phase: &Phase, text: &str) -> Result<Phase, ConfigErrors> {
    Ok(Phase { root: phase.root.clone(), sms: phase.sms, ..parse_in(&phase.file, text, phase.project.as_deref())? })
}

/// Resolves the text of a phase without a project; `path` is only named in errors.
pub fn parse(path: &Path, text: &str) -> Result<Phase, ConfigErrors> {
    parse_with(path, text, None, None)
}

/// Resolves the text of a phase in a project with this text of `ncugate.toml`; `path` is only named in errors.
pub fn parse_in(path: &Path, text: &str, project: Option<&str>) -> Result<Phase, ConfigErrors> {
    parse_with(path, text, project.map(|text| (path.with_file_name(PROJECT_FILE), text)), None)
}

fn parse_with(
    path: &Path,
    text: &str,
    project: Option<(PathBuf, &str)>,
    today: Option<Date>,
) -> Result<Phase, ConfigErrors> {
    let Some((file, defaults)) = project else { return read_phase(path, text, None, today) };
    let document = document(&file, defaults)?;
    let source = TomlText::new(defaults);
    let table = Table::new(&source, &PROJECT, Place::default(), document.get_ref());
    table.check_tables();
    let phase = read_phase(path, text, Some(&table), today);
    let problems = source.into_problems();
    if !problems.is_empty() {
        return Err(ConfigErrors::new(&file, defaults, problems));
    }
    Ok(Phase { project: Some(defaults.to_owned()), ..phase? })
}

/// A file that is not TOML at all has one syntax error per line; the first few say it.
const SYNTAX_ERRORS: usize = 3;

fn document<'t>(path: &Path, text: &'t str) -> Result<toml::Spanned<DeTable<'t>>, ConfigErrors> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let mut problems: Vec<_> = errors
            .iter()
            .take(SYNTAX_ERRORS)
            .map(|e| ConfigError {
                place: e.span().map(|span| Place { key: String::new(), span }),
                message: format!("not TOML: {}", e.message()),
                help: None,
            })
            .collect();
        if let (Some(last), left @ 1..) = (problems.last_mut(), errors.len().saturating_sub(SYNTAX_ERRORS)) {
            last.help = Some(format!("{} follow; a phase is a TOML file", counted(left, "more syntax error")));
        }
        return Err(ConfigErrors::new(path, text, problems));
    }
    Ok(document)
}

fn read_phase(
    path: &Path,
    text: &str,
    project: Option<&Table<'_>>,
    today: Option<Date>,
) -> Result<Phase, ConfigErrors> {
    let document = document(path, text)?;
    let source = TomlText::new(text);
    let root = Table::new(&source, &ROOT.spec, Place::default(), document.get_ref());
    let base = root.read(&ROOT.base, |item| base::base(item, &|text| parse(path, text)));
    let phase = phase::phase(&root, project, path, text, today).map(|phase| Phase { base, ..phase });
    let problems = source.into_problems();
    match phase {
        Some(phase) if problems.is_empty() => Ok(phase),
        _ => Err(ConfigErrors::new(path, text, problems)),
    }
}
