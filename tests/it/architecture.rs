//! The order of rooms that docs/design.md prints, held against `use` lines and paths in the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rooms by their place in the table of docs/design.md, from the ground up.
fn order() -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/design.md")).unwrap();
    let table = page.split("## Rooms").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap().split(','));
    names.map(|name| name.trim().trim_matches('`').trim_end_matches('/').to_owned()).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Code without comments and without its module of tests, which is the end of a file.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("\nmod tests {").next().unwrap().split("\npub(super) mod tests {").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

fn is_test(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "fixtures") || path.ends_with("tests.rs")
}

/// Every source file that ships, by its path of modules below `crate`.
fn modules() -> BTreeMap<Vec<String>, String> {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    files.retain(|path| !is_test(path));
    let module = |path: &PathBuf| {
        let inner = path.strip_prefix(root().join("src")).unwrap().with_extension("");
        let mut parts: Vec<String> = inner.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        parts.pop_if(|last| last == "mod");
        parts
    };
    files.iter().map(|path| (module(path), code(path))).collect()
}

/// Paths that code names, absolute: those under `crate::`, and those under `super::` and `self::` of its module.
fn paths(module: &[String], code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let starts = code.match_indices("crate::").chain(code.match_indices("super::")).chain(code.match_indices("self::"));
    for (at, word) in starts {
        let named = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        if code[..at].ends_with(named) {
            continue; // the middle of a path that was seen from its beginning
        }
        let tail = &code[at..];
        let path = &tail[..tail.find(|c: char| !named(c)).unwrap_or(tail.len())];
        let mut base = if word == "crate::" { Vec::new() } else { module.to_vec() };
        let mut parts: Vec<&str> = path.split("::").filter(|part| !part.is_empty()).collect();
        while parts.first() == Some(&"super") {
            base.pop();
            parts.remove(0);
        }
        parts.retain(|part| !matches!(*part, "crate" | "self"));
        let list = tail[path.len()..].strip_prefix('{').filter(|_| path.ends_with("::"));
        let heads = list.map(heads).unwrap_or_else(|| vec![Vec::new()]);
        for head in heads {
            let all = base.iter().cloned().chain(parts.iter().map(|part| (*part).to_owned())).chain(head);
            found.push(all.collect());
        }
    }
    found
}

/// Paths of a braced list of imports.
fn heads(list: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let (mut prefixes, mut word) = (vec![Vec::new()], String::new());
    for c in list.chars() {
        match c {
            '{' => {
                let parts = word.split("::").filter(|part| !part.trim().is_empty()).map(|part| part.trim().to_owned());
                let inner: Vec<String> = prefixes.last().unwrap().iter().cloned().chain(parts).collect();
                prefixes.push(inner);
                word.clear();
            }
            ',' | '}' => {
                let name = word.split(" as ").next().unwrap();
                let parts: Vec<String> =
                    name.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
                if !parts.is_empty() {
                    found.push(prefixes.last().unwrap().iter().cloned().chain(parts).collect());
                }
                word.clear();
                if c == '}' {
                    prefixes.pop();
                    if prefixes.is_empty() {
                        return found;
                    }
                }
            }
            c => word.push(c),
        }
    }
    found
}

/// The file that a path leads to: the longest beginning of it that is a module, or the one that this hands the name on
/// from.
fn file<'m>(path: &[String], modules: &'m BTreeMap<Vec<String>, String>) -> Option<&'m Vec<String>> {
    let (module, code) = (1..=path.len()).rev().find_map(|length| modules.get_key_value(&path[..length]))?;
    let handed_on = path.get(module.len()).and_then(|name| {
        let exports = code.match_indices("pub use ").chain(code.match_indices("pub(crate) use "));
        let list = |(at, word): (usize, &str)| code[at + word.len()..].split(';').next().unwrap().to_owned() + "}";
        let names = exports.flat_map(|export| heads(&list(export)));
        names.filter(|export| export.len() > 1).find(|export| export.last() == Some(name))
    });
    let inner = handed_on.map(|export| module.iter().cloned().chain(export).collect::<Vec<_>>());
    inner.and_then(|path| file(&path, modules)).or(Some(module))
}

/// Whether a test has this path: `file::name` is in `tests/it`, and a longer one in `src`.
fn is_test_name(name: &str) -> bool {
    let mut parts: Vec<&str> = name.split("::").collect();
    let test = parts.pop().unwrap();
    let root = crate::command::root();
    let files = match parts.as_slice() {
        [file] => vec![root.join(format!("tests/it/{file}.rs"))],
        [inner @ .., last] => {
            let whole = root.join("src").join(parts.join("/")).with_extension("rs");
            // tests of a module lie in its own file, or in one beside it
            let own = root.join("src").join(inner.join("/"));
            let own = if *last == "tests" { vec![own.with_extension("rs"), own.join("mod.rs")] } else { Vec::new() };
            [vec![whole], own].concat()
        }
        [] => Vec::new(),
    };
    let has_it = |text: String| {
        let head = format!("fn {test}() ");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.windows(2).any(|pair| pair[0] == "#[test]" && pair[1].starts_with(&head))
    };
    files.into_iter().filter_map(|file| fs::read_to_string(file).ok()).any(has_it)
}

/// Text between backticks.
fn marked(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Every row of a table of claims has a test, and every test that the page names is there.
#[test]
fn every_claim_of_the_page_on_trust_has_its_test() {
    let page = std::fs::read_to_string(crate::command::root().join("docs/trust.md")).unwrap();
    let is_name = |text: &&str| text.contains("::") && *text != "live::NAME" && !text.contains(' ');
    let named: Vec<&str> = marked(&page).filter(is_name).collect();
    assert!(named.len() > 80, "{named:?}");
    let absent: Vec<&&str> = named.iter().filter(|name| !is_test_name(name)).collect();
    assert!(absent.is_empty(), "{absent:#?} are not tests");

    let (mut claims, mut is_claim) = (0, false);
    for line in page.lines() {
        is_claim = line.starts_with('|') && (is_claim || line.ends_with("| claim | test |"));
        if is_claim && !line.ends_with("| claim | test |") && !line.starts_with("|---") {
            let tests = line.trim_end_matches('|').rsplit('|').next().unwrap();
            assert!(marked(tests).any(|name| is_name(&name)), "a claim without a test: {line}");
            claims += 1;
        }
    }
    assert!(claims > 50, "only {claims} claims were found");
}

#[test]
fn the_page_lists_every_room_and_no_other() {
    let listed: BTreeSet<String> = order().into_iter().filter(|name| !name.starts_with("crates/")).collect();
    let entry = ["lib", "main"];
    let there = modules().into_keys().filter_map(|module| module.into_iter().next());
    let there: BTreeSet<String> = there.filter(|room| !entry.contains(&room.as_str())).collect();
    assert_eq!(listed, there);
}

#[test]
fn a_room_imports_only_rooms_above_it_in_the_table() {
    let order = order();
    let place = |room: &str| order.iter().position(|name| name == room);
    let mut against = BTreeSet::new();
    for (module, code) in modules() {
        let Some(own) = module.first().and_then(|room| place(room)) else { continue };
        for path in paths(&module, &code) {
            if path.first().and_then(|room| place(room)).is_some_and(|other| other > own) {
                against.insert(format!("{} imports {}", module.join("/"), path.join("::")));
            }
        }
    }
    assert!(against.is_empty(), "against the order of docs/design.md:\n{against:#?}");
}

#[test]
fn files_of_a_room_do_not_import_each_other_in_a_circle() {
    let modules = modules();
    let mut imports: BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> = BTreeMap::new();
    for (module, code) in &modules {
        let reached = paths(module, code).into_iter().filter_map(|path| file(&path, &modules));
        // A room's own page of contents imports nothing that counts: it names its files.
        let named =
            reached.filter(|other| *other != module && !module.starts_with(other) && !other.starts_with(module));
        imports.entry(module).or_default().extend(named);
    }
    let mut circles = Vec::new();
    let mut done = BTreeSet::new();
    for module in modules.keys() {
        walk(module, &imports, &mut Vec::new(), &mut done, &mut circles);
    }
    assert!(circles.is_empty(), "circles of files:\n{}", circles.join("\n"));
}

fn walk<'m>(
    module: &'m Vec<String>,
    imports: &BTreeMap<&'m Vec<String>, BTreeSet<&'m Vec<String>>>,
    trail: &mut Vec<&'m Vec<String>>,
    done: &mut BTreeSet<&'m Vec<String>>,
    circles: &mut Vec<String>,
) {
    if let Some(at) = trail.iter().position(|&seen| seen == module) {
        let circle = trail[at..].iter().chain([&module]);
        let names: Vec<String> = circle.map(|module| module.join("/")).collect();
        circles.push(names.join(" -> "));
        return;
    }
    if !done.insert(module) {
        return;
    }
    trail.push(module);
    for &other in imports.get(module).into_iter().flatten() {
        walk(other, imports, trail, done, circles);
    }
    trail.pop();
}

#[test]
fn only_the_console_writes_to_the_standard_streams() {
    let ways = ["stdout()", "stderr()", "println!", "print!(", "eprint!("];
    // The worker speaks a protocol to its parent, and asks nothing of a person.
    let own = [vec!["console".to_owned()], vec!["host".to_owned(), "worker".to_owned()]];
    for (module, code) in modules().into_iter().filter(|(module, _)| !own.contains(module)) {
        for line in code.lines().filter(|line| {
            !line.contains("is_terminal()") && !line.contains("use_stderr()") && !line.contains("Reporter::stdout()")
        }) {
            assert!(ways.iter().all(|way| !line.contains(way)), "{}: {line}", module.join("/"));
        }
    }
}

/// A width of a format string has 16 bits, and a larger one panics: text is padded by `number::text`. Digits behind the point may follow data.
#[test]
fn no_width_of_a_format_comes_from_data() {
    for (module, code) in modules() {
        let is_width = |line: &str, at: usize| {
            let spec = line[..at].rsplit('{').next().and_then(|field| field.split_once(':'));
            spec.is_some_and(|(_, spec)| !spec.contains('.'))
        };
        let found = code.lines().find(|line| line.match_indices("$}").any(|(at, _)| is_width(line, at)));
        assert!(found.is_none(), "{}: {found:?}", module.join("/"));
    }
}
