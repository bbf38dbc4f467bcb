//! Colours of charts: Okabe and Ito's, adjusted for contrast on light and dark pages.

use super::spec::Tone;

/// A colour on a light and on a dark page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    /// CSS class of marks in this colour.
    pub class: &'static str,
    /// On a light page.
    pub light: (u8, u8, u8),
    /// On a dark page.
    pub dark: (u8, u8, u8),
}

/// Page background, light and dark.
pub const PAGE: Colour = Colour { class: "page", light: (255, 255, 255), dark: (21, 24, 28) };
/// Text and axes.
pub const INK: Colour = Colour { class: "ink", light: (38, 43, 51), dark: (222, 226, 232) };
/// Tick labels.
pub const QUIET: Colour = Colour { class: "quiet", light: (92, 99, 110), dark: (154, 162, 174) };
/// Grid lines.
pub const GRID: Colour = Colour { class: "grid", light: (226, 229, 234), dark: (50, 55, 62) };
/// Limit lines.
pub const LIMIT: Colour = Colour { class: "limit", light: (168, 28, 76), dark: (255, 138, 170) };
const BLUE: Colour = Colour { class: "k0", light: (0, 114, 178), dark: (86, 180, 233) };
const VERMILLION: Colour = Colour { class: "k1", light: (205, 84, 0), dark: (242, 133, 61) };
const GREEN: Colour = Colour { class: "k2", light: (0, 136, 98), dark: (47, 199, 154) };
const PURPLE: Colour = Colour { class: "k3", light: (168, 80, 132), dark: (227, 160, 200) };
const ORANGE: Colour = Colour { class: "k4", light: (163, 108, 0), dark: (240, 180, 41) };
const SLATE: Colour = Colour { class: "k5", light: (92, 99, 110), dark: (154, 162, 174) };
/// Behind the others.
pub const MUTED: Colour = Colour { class: "muted", light: (138, 146, 158), dark: (118, 127, 140) };

/// Colours of series, in order.
pub const SERIES: [Colour; 6] = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SLATE];
/// Every colour that a drawing can have.
pub const ALL: [Colour; 12] = [PAGE, INK, QUIET, GRID, LIMIT, MUTED, BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SLATE];

pub const fn colour(tone: Tone) -> Colour {
    match tone {
        Tone::Good => BLUE,
        Tone::Bad => VERMILLION,
        Tone::Open => ORANGE,
        Tone::Baseline => GREEN,
        Tone::Chosen => INK,
        Tone::Muted => MUTED,
        Tone::Nth(n) => SERIES[n % SERIES.len()],
    }
}

/// The class of a colour of a light page, which is the base of every drawing; none for a foreign colour.
pub fn class(light: (u8, u8, u8)) -> Option<&'static str> {
    ALL.iter().find(|colour| colour.light == light).map(|colour| colour.class)
}

/// Style rules for the colours of drawings on a light and on a dark page. The caller supplies media queries and the
/// selector prefix.
pub fn rules(shade: fn(&Colour) -> (u8, u8, u8), prefix: &str) -> String {
    let (r, g, b) = shade(&PAGE);
    let halo = format!("{prefix} .halo{{stroke:#{r:02x}{g:02x}{b:02x}}}");
    ALL.iter()
        .map(|colour| {
            let (r, g, b) = shade(colour);
            let class = colour.class;
            format!(
                "{prefix} .{class}[fill^=\"#\"]{{fill:#{r:02x}{g:02x}{b:02x}}}\
                 {prefix} .{class}[stroke^=\"#\"]{{stroke:#{r:02x}{g:02x}{b:02x}}}"
            )
        })
        .chain([halo])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
        let linear = |v: u8| {
            let v = f64::from(v) / 255.0;
            if v <= 0.03928 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn series_stand_out_on_both_pages_and_text_reads() {
        for colour in SERIES.iter().chain([&MUTED, &LIMIT]) {
            assert!(contrast(colour.light, PAGE.light) >= 3.0, "{}", colour.class);
            assert!(contrast(colour.dark, PAGE.dark) >= 3.0, "{}", colour.class);
        }
        for colour in [INK, QUIET, LIMIT] {
            assert!(contrast(colour.light, PAGE.light) >= 4.5, "{}", colour.class);
            assert!(contrast(colour.dark, PAGE.dark) >= 4.5, "{}", colour.class);
        }
    }

    #[test]
    fn colours_alike_on_one_page_are_alike_on_the_other() {
        for one in ALL {
            assert!(ALL.iter().all(|other| one.light != other.light || one.dark == other.dark), "{}", one.class);
        }
        assert_eq!((class(SERIES[1].light), class((1, 2, 3))), (Some("k1"), None));
    }

    #[test]
    fn colours_are_distinct() {
        for (at, one) in SERIES.iter().enumerate() {
            for other in &SERIES[at + 1..] {
                assert_ne!(one.light, other.light);
                assert_ne!(one.dark, other.dark);
                assert_ne!(one.class, other.class);
            }
        }
    }
}
