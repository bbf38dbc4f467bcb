//! Line-by-line difference of two texts, with context lines.

use ncugate_model::CleanText;

/// Context lines before and after a change.
const AROUND: usize = 3;
/// Most pairs of lines that are compared. Beyond that, everything between the common ends counts as changed.
const MOST_PAIRS: usize = 4_000_000;
/// Longest line shown, in characters.
const LONGEST: usize = 200;

/// The change of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChange {
    /// It is in both.
    Kept,
    /// Only the first text has it.
    Removed,
    /// Only the second text has it.
    Added,
}

impl LineChange {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Removed => "removed",
            Self::Added => "added",
        }
    }

    /// Its prefix in `diff -u`.
    pub const fn sign(self) -> char {
        match self {
            Self::Kept => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    pub change: LineChange,
    pub text: CleanText,
}

/// Adjacent changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk {
    /// Number of its first line in the first text, from 1.
    pub before: usize,
    /// Number of its first line in the second text, from 1.
    pub after: usize,
    pub lines: Vec<DiffLine>,
}

/// The difference of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeDiff {
    /// Names of both texts.
    pub title: String,
    /// Number of lines only in the second text.
    pub added: usize,
    /// Number of lines only in the first text.
    pub removed: usize,
    /// Number of lines in both texts.
    pub kept: usize,
    /// The changes, in order.
    pub hunks: Vec<DiffHunk>,
}

impl CodeDiff {
    /// The difference from one text to another: a longest common subsequence of lines, after the common ends are
    /// removed.
    pub fn between(title: String, before: &str, after: &str) -> Self {
        let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        let changes = changes(&before, &after);
        let count = |change: LineChange| changes.iter().filter(|(found, _)| *found == change).count();
        Self {
            title,
            added: count(LineChange::Added),
            removed: count(LineChange::Removed),
            kept: count(LineChange::Kept),
            hunks: hunks(&changes),
        }
    }

    /// `12 lines added, 3 removed`.
    pub fn size(&self) -> String {
        format!("{} added, {} removed", ncugate_model::number::counted(self.added, "line"), self.removed)
    }
}

/// Every line of both texts with its change, in order.
fn changes<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<(LineChange, &'t str)> {
    let head = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (rest_before, rest_after) = (&before[head..], &after[head..]);
    let tail = rest_before.iter().rev().zip(rest_after.iter().rev()).take_while(|(a, b)| a == b).count();
    let (middle_before, end) = rest_before.split_at(rest_before.len() - tail);
    let middle_after = &rest_after[..rest_after.len() - tail];
    let mut found: Vec<(LineChange, &str)> = before[..head].iter().map(|line| (LineChange::Kept, *line)).collect();
    found.extend(middle(middle_before, middle_after));
    found.extend(end.iter().map(|line| (LineChange::Kept, *line)));
    found
}

fn middle<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<(LineChange, &'t str)> {
    let removed = |line: &&'t str| (LineChange::Removed, *line);
    let added = |line: &&'t str| (LineChange::Added, *line);
    if before.len().saturating_mul(after.len()) > MOST_PAIRS {
        return before.iter().map(removed).chain(after.iter().map(added)).collect();
    }
    let pairs = aligned(before, after, |a, b| a == b).into_iter();
    pairs
        .filter_map(|pair| match pair {
            (Some(i), Some(_)) => Some((LineChange::Kept, before[i])),
            (Some(i), None) => Some(removed(&before[i])),
            (None, j) => j.map(|j| added(&after[j])),
        })
        .collect()
}

/// Positions of the longest common subsequence in both, with the others of either side in between.
pub fn aligned<T>(first: &[T], other: &[T], is_same: impl Fn(&T, &T) -> bool) -> Vec<(Option<usize>, Option<usize>)> {
    let (n, m) = (first.len(), other.len());
    // lengths[a * width + b]: common length of the suffixes from `a` and `b` on
    let width = m + 1;
    let mut lengths = vec![0_u32; (n + 1) * width];
    for a in (0..n).rev() {
        for b in (0..m).rev() {
            lengths[a * width + b] = match is_same(&first[a], &other[b]) {
                true => lengths[(a + 1) * width + b + 1] + 1,
                false => lengths[(a + 1) * width + b].max(lengths[a * width + b + 1]),
            };
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::with_capacity(n.max(m)));
    while a < n || b < m {
        if a < n && b < m && is_same(&first[a], &other[b]) {
            pairs.push((Some(a), Some(b)));
            (a, b) = (a + 1, b + 1);
        } else if b == m || (a < n && lengths[(a + 1) * width + b] >= lengths[a * width + b + 1]) {
            pairs.push((Some(a), None));
            a += 1;
        } else {
            pairs.push((None, Some(b)));
            b += 1;
        }
    }
    pairs
}

/// Changed lines with their context; changes with touching contexts form one hunk.
fn hunks(changes: &[(LineChange, &str)]) -> Vec<DiffHunk> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (at, _) in changes.iter().enumerate().filter(|(_, (change, _))| *change != LineChange::Kept) {
        let (from, to) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(changes.len()));
        match ranges.last_mut().filter(|(_, end)| *end >= from) {
            Some((_, end)) => *end = to,
            None => ranges.push((from, to)),
        }
    }
    let number =
        |upto: usize, absent: LineChange| changes[..upto].iter().filter(|(change, _)| *change != absent).count() + 1;
    let line = |(change, line): &(LineChange, &str)| DiffLine { change: *change, text: shown(line).into() };
    ranges
        .into_iter()
        .map(|(from, to)| DiffHunk {
            before: number(from, LineChange::Added),
            after: number(from, LineChange::Removed),
            lines: changes[from..to].iter().map(line).collect(),
        })
        .collect()
}

/// A line of source for display: tabs as four spaces.
fn shown(line: &str) -> String {
    let spaced = line.trim_end().replace('\t', "    ");
    match spaced.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &spaced[..at]),
        None => spaced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(before: &str, after: &str) -> String {
        let diff = CodeDiff::between("t".to_owned(), before, after);
        let mut out = format!("{}\n", diff.size());
        for hunk in &diff.hunks {
            out.push_str(&format!("@@ {} {}\n", hunk.before, hunk.after));
            hunk.lines.iter().for_each(|line| out.push_str(&format!("{}{}\n", line.change.sign(), line.text)));
        }
        out
    }

    #[test]
    fn a_changed_line_has_three_lines_around_it() {
        let before = (1..=12).map(|n| format!("line {n}\n")).collect::<String>();
        let after = before.replace("line 6\n", "line six\nline six and a half\n");
        insta::assert_snapshot!(written(&before, &after), @r"
        2 lines added, 1 removed
        @@ 3 3
         line 3
         line 4
         line 5
        -line 6
        +line six
        +line six and a half
         line 7
         line 8
         line 9
        ");
    }

    #[test]
    fn changes_far_apart_are_hunks_with_numbers_of_their_own() {
        let before = (1..=30).map(|n| format!("{n}\n")).collect::<String>();
        let after = before.replace("\n4\n", "\n").replace("\n25\n", "\n25\nnew\n");
        let diff = CodeDiff::between(String::new(), &before, &after);
        assert_eq!((diff.added, diff.removed, diff.kept, diff.hunks.len()), (1, 1, 29, 2));
        assert_eq!((diff.hunks[1].before, diff.hunks[1].after), (23, 22));
    }

    #[test]
    fn equal_and_empty_texts_have_no_hunks() {
        assert!(CodeDiff::between(String::new(), "a\nb\n", "a\nb\n").hunks.is_empty());
        assert!(CodeDiff::between(String::new(), "", "").hunks.is_empty());
        assert_eq!(CodeDiff::between(String::new(), "", "a\n").added, 1);
    }

    #[test]
    fn texts_too_long_to_compare_are_changed_as_a_whole() {
        let (a, b) = (
            (0..2_500).map(|n| format!("a{n}\n")).collect::<String>(),
            (0..2_500).map(|n| format!("b{n}\n")).collect::<String>(),
        );
        let diff = CodeDiff::between(String::new(), &a, &b);
        assert_eq!((diff.added, diff.removed), (2_500, 2_500));
    }

    #[test]
    fn what_a_terminal_would_obey_is_taken_out() {
        assert!(!written("", "\u{1b}[31mred\tx\n").contains('\u{1b}'));
        let long = "x".repeat(500);
        assert!(written("", &long).lines().all(|line| line.chars().count() <= LONGEST + 2));
    }
}
