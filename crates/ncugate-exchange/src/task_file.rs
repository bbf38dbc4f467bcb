//! The YAML file of a gpu-mode task, and the files that it names: only those of the task, and no others of the
//! machine.

use super::error::ImportError;
use super::trace_set::text;
use ncugate_model::disk::open;
use std::path::{Component, Path, PathBuf};
use yaml_rust2::parser::Parser;
use yaml_rust2::{Event, Yaml, YamlLoader};

/// Limit on YAML nodes in a task file: some thousand cases.
const MOST_NODES: usize = 100_000;
const MOST_LEVELS: usize = 64;
/// Size limit of a Python file in bytes, which is parsed before it is copied.
pub(super) const MAX_PYTHON: u64 = 4 << 20;

/// Reads a task.
///
/// # Errors
/// It cannot be read, is not a YAML mapping, has an alias (which can expand beyond its text), or has too many nodes
/// or levels.
pub(super) fn task(path: &Path) -> Result<Yaml, ImportError> {
    let text = text(path)?;
    let wrong = |what: String| ImportError::format(path, what);
    let mut parser = Parser::new_from_str(&text);
    let (mut nodes, mut level) = (0, 0_usize);
    loop {
        let (event, mark) = parser.next_token().map_err(|e| wrong(e.to_string()))?;
        match event {
            Event::Alias(_) => {
                let what = format!("line {} has a YAML alias (`*name`); write its value instead", mark.line());
                return Err(wrong(what));
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => level += 1,
            Event::MappingEnd | Event::SequenceEnd => level = level.saturating_sub(1),
            Event::StreamEnd => break,
            _ => {}
        }
        nodes += 1;
        if nodes > MOST_NODES || level > MOST_LEVELS {
            return Err(wrong(format!("it has more than {MOST_NODES} parts or {MOST_LEVELS} levels")));
        }
    }
    let documents = YamlLoader::load_from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let task = documents.into_iter().next().filter(|task| task.as_hash().is_some());
    task.ok_or_else(|| wrong("it is not a YAML table".to_owned()))
}

/// The path of a file that a task in `folder` names: in the folder or, with `..`, in the git repository of the
/// folder. Links and hidden files are refused along the path below that root.
///
/// # Errors
/// It is another file.
pub(super) fn source(task: &Path, folder: &Path, source: &str) -> Result<PathBuf, ImportError> {
    let refused = |why: &str| {
        ImportError::format(task, format!("`files` names {source:?}, {why}; copy the file next to the task"))
    };
    let own = folder.canonicalize().map_err(|source| ImportError::Read { path: folder.to_owned(), source })?;
    let root = own.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&own).to_owned();
    let mut path = own.clone();
    for part in Path::new(source).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if path != root && path.pop() => {}
            Component::ParentDir if root == own => return Err(refused("which is outside its folder")),
            Component::ParentDir => return Err(refused("which is outside its repository")),
            Component::Normal(name) if name.to_string_lossy().starts_with('.') => {
                return Err(refused("which is hidden"));
            }
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => return Err(refused("which is an absolute path")),
        }
    }
    let resolved = path.canonicalize().map_err(|source| ImportError::Read { path: path.clone(), source })?;
    if resolved != path {
        return Err(refused("which is a link"));
    }
    Ok(path)
}

/// Refuses a Python file that cannot be read to its end: python3 would block on a pipe, and read a device forever.
///
/// # Errors
/// It is a pipe, a device or a folder, or too large.
pub(super) fn readable(path: &Path) -> Result<(), ImportError> {
    let found = path.canonicalize().and_then(|path| open::regular(&path, MAX_PYTHON));
    found.map(drop).map_err(|source| ImportError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_depth_and_number_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("task.yml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            task(&path).map_err(|error| error.to_string())
        };
        assert_eq!(read("lang: py\ntests: [{n: 1}]\n").unwrap()["lang"].as_str(), Some("py"));
        assert!(read("a: &a [1, 2]\nb: *a\n").unwrap_err().contains("line 2 has a YAML alias"));
        assert!(read(&format!("a: {}1{}\n", "[".repeat(70), "]".repeat(70))).unwrap_err().contains("64 levels"));
        assert!(read(&format!("a: [{}]\n", "1,".repeat(100_001))).unwrap_err().contains("100000 parts"));
    }

    #[test]
    fn files_of_the_task_alone_are_found() {
        let place = tempfile::tempdir().unwrap();
        let (root, own) = (place.path().join("repo"), place.path().join("repo/tasks/t"));
        std::fs::create_dir_all(&own).unwrap();
        for (at, text) in [("secret", "key"), ("repo/tasks/utils.py", "x"), ("repo/tasks/t/a.py", "x")] {
            std::fs::write(place.path().join(at), text).unwrap();
        }
        std::os::unix::fs::symlink(place.path().join("secret"), own.join("link.py")).unwrap();
        let find = |name: &str| source(Path::new("task.yml"), &own, name).map_err(|error| error.to_string());
        assert!(find("a.py").is_ok() && find("./a.py").is_ok());
        assert!(find("../utils.py").unwrap_err().contains("outside its folder"));
        std::fs::create_dir(root.join(".git")).unwrap();
        assert!(find("../utils.py").is_ok(), "of its repository");
        let absolute = place.path().join("secret");
        for (name, why) in [
            ("../../../secret", "outside its repository"),
            (absolute.to_str().unwrap(), "absolute path"),
            ("link.py", "a link"),
            ("../../.git/config", "hidden"),
        ] {
            let error = find(name).unwrap_err();
            assert!(error.contains(why), "{name}: {error}");
        }
        assert!(find("absent.py").is_err());
    }
}
