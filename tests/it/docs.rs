//! The pages: links lead somewhere, the book lists every page, and the tutorial's commands end as it says.

use crate::command::{Finished, Place, root};
use std::fs;
use std::path::{Path, PathBuf};

/// Every page of the repository that is written by hand.
fn pages() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md"), root().join("CONTRIBUTING.md"), root().join("CHANGELOG.md")];
    for folder in ["docs", "kernels", "examples", "crates", "tests"] {
        collect(&root().join(folder), &mut found);
    }
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, found),
            false if path.extension().is_some_and(|extension| extension == "md") => found.push(path),
            false => {}
        }
    }
}

/// A page without its blocks of code and what stands in backticks.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with("    ") {
            let plain = line.split('`').step_by(2);
            prose.push_str(&plain.collect::<Vec<_>>().join(" "));
            prose.push('\n');
        }
    }
    prose
}

/// Targets of `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let ends = prose.match_indices("](").map(|(at, _)| &prose[at + 2..]);
    ends.filter_map(|rest| Some(rest[..rest.find(')')?].split_whitespace().next()?.to_owned())).collect()
}

/// Anchors of headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let title = line.trim_start_matches('#');
        if is_code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let again = found.iter().filter(|known| **known == anchor).count();
        found.push(if again > 0 { format!("{anchor}-{again}") } else { anchor });
    }
    found
}

#[test]
fn every_relative_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text).iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            count += 1;
            let (file, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(file, anchor)| (file, Some(anchor)));
            let target = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            let has = |anchor: &str| {
                fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(&anchor.to_owned()))
            };
            let is_page = target.extension().is_some_and(|extension| extension == "md");
            if !target.exists() || anchor.is_some_and(|anchor| is_page && !has(anchor)) {
                broken.push(format!("{}: {link}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(count > 50, "only {count} links were found");
    assert!(broken.is_empty(), "{broken:#?}");
}

/// A path without its `.` and `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// A book is published without the repository around it.
#[test]
fn no_page_of_the_book_links_to_a_file_outside_of_it() {
    let book = root().join("docs");
    let mut outside = Vec::new();
    for page in pages().into_iter().filter(|page| page.starts_with(&book)) {
        let found = links(&fs::read_to_string(&page).unwrap());
        let files = found.iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
        for link in files.filter(|link| !normalized(&page.parent().unwrap().join(link)).starts_with(&book)) {
            outside.push(format!("{}: {link}", page.display()));
        }
    }
    assert!(outside.is_empty(), "{outside:#?}");
}

#[test]
fn the_book_lists_every_page_of_its_folder_once() {
    let book = root().join("docs");
    let mut listed = links(&fs::read_to_string(book.join("SUMMARY.md")).unwrap());
    let mut pages = Vec::new();
    collect(&book, &mut pages);
    let names = pages.iter().map(|page| page.strip_prefix(&book).unwrap().display().to_string());
    let mut present: Vec<String> = names.filter(|name| name != "SUMMARY.md").collect();
    listed.sort();
    present.sort();
    assert_eq!(listed, present);
}

/// Paths in backticks that begin in the tree; CONTRIBUTING.md writes `judge/bind.rs` for `crates/ncugate-judge/src/bind.rs`.
fn named_paths(text: &str, is_short: bool) -> Vec<String> {
    let words = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let whole = |word: &str| {
        let (top, rest) = word.split_once('/')?;
        match top {
            _ if word.contains(['*', ' ', '<', ':']) || word.contains("NAME") => None,
            "src" | "crates" | "templates" | "tests" => Some(word.to_owned()),
            "model" | "phase" | "cuda" | "ncu" | "judge" | "report" | "campaign" | "exchange" if is_short => {
                Some(format!("crates/ncugate-{top}/src/{rest}"))
            }
            _ => None,
        }
    };
    words.filter_map(whole).collect()
}

#[test]
fn every_path_of_the_tree_that_a_page_names_exists() {
    let (mut count, mut absent) = (0, Vec::new());
    for page in pages() {
        let is_short = page == root().join("CONTRIBUTING.md");
        if !is_short && !page.starts_with(root().join("docs")) {
            continue;
        }
        for path in named_paths(&fs::read_to_string(&page).unwrap(), is_short) {
            count += 1;
            if !root().join(&path).exists() {
                absent.push(format!("{}: {path}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(count > 100, "only {count} paths were found");
    assert!(absent.is_empty(), "{absent:#?}");
}

/// Blocks of a kind, in order: the language and the text.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, block)) = rest.split_once("\n```") {
        let (block, after) = block.split_once("\n```").unwrap();
        let (language, body) = block.split_once('\n').unwrap_or((block, ""));
        found.push((language.to_owned(), format!("{body}\n")));
        rest = after;
    }
    found
}

/// Puts a line of a block of TOML in the place of the line with the same key.
fn edit(path: &Path, block: &str) {
    let text = fs::read_to_string(path).unwrap();
    let (key, _) = block.split_once('=').unwrap();
    let lines = text.lines().map(|line| if line.starts_with(key) { block.trim_end() } else { line });
    let changed = lines.collect::<Vec<_>>().join("\n") + "\n";
    assert_ne!(text, changed, "the file has no line of '{key}'");
    fs::write(path, changed).unwrap();
}

#[test]
fn the_commands_of_the_tutorial_end_as_it_says() {
    let numpy = std::process::Command::new("python3").args(["-c", "import numpy"]).output();
    let has_numpy = numpy.is_ok_and(|output| output.status.success());
    let place = Place::new();
    let page = fs::read_to_string(root().join("docs/tutorial.md")).unwrap();
    let mut count = 0;
    for (language, body) in blocks(&page) {
        match language.as_str() {
            "cuda" => drop(place.write("scale_add.cu", &body)),
            "toml" => edit(&place.path().join("saxpy.toml"), &body),
            "console" => {
                for line in body.lines() {
                    let line = line.strip_prefix("$ ncugate ").unwrap();
                    let (arguments, status) = line.split_once("# exits with ").unwrap_or((line, "0"));
                    let arguments: Vec<&str> = arguments.split_whitespace().collect();
                    let status: i32 = status.parse().unwrap();
                    let finished: Finished = place.run(&arguments);
                    count += 1;
                    if arguments[0] == "check" && status == 0 && !has_numpy {
                        println!("left out: {line} (no NumPy)");
                        continue;
                    }
                    assert_eq!(finished.status, Some(status), "{line}: {finished:?}");
                }
            }
            other => assert_eq!(other, "sh"),
        }
    }
    assert_eq!(count, 9);
}
