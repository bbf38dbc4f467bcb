//! Errors of a phase's file and their display: one block per error, with the line and a caret.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Position of a value: its key path (`kernel.grid[0]`) and its bytes in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Key path from the root; empty for the file itself.
    pub key: String,
    /// Byte range in the text.
    pub span: Range<usize>,
}

/// One error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Its position, if it has one in the file.
    pub place: Option<Place>,
    /// The error, naming key and value.
    pub message: String,
    /// The permitted values, the nearest name, or a remedy.
    pub help: Option<String>,
}

/// All errors of a phase, in the order of the file; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    file: PathBuf,
    text: String,
    problems: Vec<ConfigError>,
}

/// Maximum number of problems listed for a file.
const MOST: usize = 100;

impl ConfigErrors {
    /// Problems of `file`, whose content is `text`; duplicates are removed.
    pub fn new(file: &Path, text: &str, problems: Vec<ConfigError>) -> Self {
        let mut kept: Vec<ConfigError> = Vec::new();
        let mut more = 0;
        for problem in problems {
            if kept.len() == MOST {
                more += 1;
            } else if !kept.contains(&problem) {
                kept.push(problem);
            }
        }
        kept.sort_by_key(|p| p.place.as_ref().map_or(0, |place| place.span.start));
        if more > 0 {
            kept.push(ConfigError { place: None, message: format!("{more} more problems are not listed"), help: None });
        }
        Self { file: file.to_owned(), text: text.to_owned(), problems: kept }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The problems, in the order of the file.
    pub fn problems(&self) -> &[ConfigError] {
        &self.problems
    }

    /// Line of a problem in the file, from 1; 0 for one without a place.
    pub fn line(&self, problem: &ConfigError) -> usize {
        problem.place.as_ref().map_or(0, |place| line_of(&self.text, place.span.start))
    }

    /// One block per error: message, file and line, the line with a caret, help.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let path = self.file.display().to_string();
        let blocks: Vec<String> = self
            .problems
            .iter()
            .map(|problem| {
                let mut group = Group::with_title(Level::ERROR.primary_title(problem.message.as_str()));
                match &problem.place {
                    Some(place) => {
                        let annotation = AnnotationKind::Primary.span(first_line(&self.text, &place.span));
                        group = group.element(Snippet::source(self.text.as_str()).path(&path).annotation(annotation));
                    }
                    None => group = group.element(annotate_snippets::Origin::path(&path)),
                }
                if let Some(help) = &problem.help {
                    group = group.element(Level::HELP.message(help.as_str()));
                }
                renderer.render(&[group]).to_string()
            })
            .collect();
        blocks.join("\n\n")
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for ConfigErrors {}

/// Line of a byte offset, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    text.as_bytes()[..end].iter().filter(|b| **b == b'\n').count() + 1
}

/// The part of a span on its first line, on character boundaries of the text.
fn first_line(text: &str, span: &Range<usize>) -> Range<usize> {
    let boundary = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(span.start);
    let end = boundary(span.end.max(start));
    let line_end = text[start..end].find('\n').map_or(end, |at| start + at);
    start..line_end
}
