//! Texts of a drawing: their width, and line breaks that keep every character.

use ncugate_model::number::text;

/// Height of a line of small text in pixels.
pub const LINE: i32 = 14;
/// Characters after which a line ends first: between words and between parameters.
const BETWEEN: &[char] = &[' ', ',', ';'];
/// Characters after which a line can end.
const BREAKS: &[char] = &['=', '_', '·', '/', ':', '-'];

/// Upper estimate of the width of a small text in pixels: of its longest line. No font is available to measure.
pub fn width(words: &str) -> i32 {
    words.lines().map(|line| line.chars().map(advance).sum()).max().unwrap_or(0)
}

fn advance(character: char) -> i32 {
    match character {
        '0'..='9' => 8,
        'm' | 'M' | 'W' | '%' | '@' => 12,
        'w' | '=' | '+' | '<' | '>' | '~' => 11,
        c if c.is_uppercase() || c == '_' => 9,
        'µ' | '×' | '·' => 8,
        c if c.is_ascii() => 7,
        _ => 13,
    }
}

/// Height of a text in pixels.
pub fn height(words: &str) -> i32 {
    LINE * (words.lines().count().max(1) as i32)
}

/// The text in lines of at most `room` pixels, without control characters. A line ends after a space or a sign between
/// words, or in a word that is too long for a line.
pub fn wrapped(words: &str, room: i32) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for character in text::line(words).chars() {
        line.push(character);
        if width(&line) <= room || line.chars().nth(1).is_none() {
            continue;
        }
        let after = |signs: &[char]| line.char_indices().rev().skip(1).find(|(_, c)| signs.contains(c));
        let whole = after(BETWEEN).or_else(|| after(BREAKS));
        let last = line.len() - character.len_utf8();
        let rest = line.split_off(whole.map_or(last, |(at, c)| at + c.len_utf8()));
        lines.push(std::mem::replace(&mut line, rest));
    }
    lines.push(line);
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fit_and_keep_every_character() {
        let name = "REGCAP=64 THREADS=128 TILE_M=256 kernel_with_a_long_name_and_no_space_at_all_in_the_whole_of_it";
        let lines = wrapped(name, 120);
        assert!(lines.lines().all(|line| width(line) <= 120), "{lines}");
        let kept: String = lines.chars().filter(|c| !c.is_whitespace()).collect();
        assert_eq!(kept, name.replace(' ', ""));
        assert!(lines.starts_with("REGCAP=64\n"), "{lines}");
        assert_eq!(wrapped("THREADS=256,TILE_M=32", 160), "THREADS=256,\nTILE_M=32", "no parameter is cut");
        assert_eq!(wrapped("short", 120), "short");
        assert_eq!(wrapped("wide", 0), "w\ni\nd\ne", "a line has at least one character");
    }
}
