//! Colours of charts and verdicts, on light and dark pages. Verdicts stay apart for colour-blind readers too.

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

impl Colour {
    /// The colour of the page's scheme, for CSS.
    fn css(&self) -> String {
        let hex = |(r, g, b): (u8, u8, u8)| format!("#{r:02x}{g:02x}{b:02x}");
        format!("light-dark({},{})", hex(self.light), hex(self.dark))
    }
}

/// Page background, light and dark.
pub const PAGE: Colour = Colour { class: "page", light: (255, 255, 255), dark: (21, 24, 28) };
/// Text and axes.
pub const INK: Colour = Colour { class: "ink", light: (38, 43, 51), dark: (222, 226, 232) };
/// Tick labels.
pub const QUIET: Colour = Colour { class: "quiet", light: (92, 99, 110), dark: (154, 162, 174) };
/// Grid lines.
pub const GRID: Colour = Colour { class: "grid", light: (226, 229, 234), dark: (50, 55, 62) };
/// A verdict of pass; the page's pills, tables and badges have the same colour.
pub const PASS: Colour = Colour { class: "pass", light: (0, 122, 97), dark: (98, 224, 186) };
/// A verdict of fail.
pub const FAIL: Colour = Colour { class: "fail", light: (150, 24, 31), dark: (241, 112, 97) };
/// An inconclusive verdict.
pub const INCONCLUSIVE: Colour = Colour { class: "inconclusive", light: (158, 92, 0), dark: (252, 204, 40) };
/// Baselines.
pub const BASELINE: Colour = Colour { class: "baseline", light: (32, 66, 176), dark: (131, 166, 236) };
/// Behind the others.
pub const MUTED: Colour = Colour { class: "muted", light: (138, 146, 158), dark: (118, 127, 140) };

/// Colours of series without a verdict, in order.
pub const SERIES: [Colour; 5] = [
    Colour { class: "series-0", light: (122, 61, 184), dark: (199, 155, 255) },
    Colour { class: "series-1", light: (14, 124, 155), dark: (92, 209, 238) },
    Colour { class: "series-2", light: (194, 58, 134), dark: (255, 138, 196) },
    Colour { class: "series-3", light: (107, 111, 0), dark: (197, 204, 82) },
    Colour { class: "series-4", light: (92, 72, 60), dark: (214, 190, 172) },
];
/// Every colour that a drawing can have.
pub const ALL: [Colour; 14] = {
    let [a, b, c, d, e] = SERIES;
    [PAGE, INK, QUIET, GRID, PASS, FAIL, INCONCLUSIVE, BASELINE, MUTED, a, b, c, d, e]
};

pub const fn colour(tone: Tone) -> Colour {
    match tone {
        Tone::Good => PASS,
        Tone::Bad => FAIL,
        Tone::Open => INCONCLUSIVE,
        Tone::Baseline => BASELINE,
        Tone::Chosen => INK,
        Tone::Muted => MUTED,
        Tone::Nth(n) => SERIES[n % SERIES.len()],
    }
}

/// The class of a colour of a light page, which is the base of every drawing; none for a foreign colour.
pub fn class(light: (u8, u8, u8)) -> Option<&'static str> {
    ALL.iter().find(|colour| colour.light == light).map(|colour| colour.class)
}

/// Custom properties of a page for the colours that its tables and badges share with drawings: `--pass:...`
pub fn properties() -> String {
    [PASS, FAIL, INCONCLUSIVE, BASELINE].iter().map(|colour| format!("--{}:{};", colour.class, colour.css())).collect()
}

/// Style rules for the colours of drawings, in a document with both colour schemes.
pub fn rules() -> String {
    let rule = |Colour { class, .. }: &Colour, css: String| {
        format!(".{class}[fill^=\"#\"]{{fill:{css}}}.{class}[stroke^=\"#\"]{{stroke:{css}}}")
    };
    ALL.iter().map(|colour| rule(colour, colour.css())).chain([format!(".halo{{stroke:{}}}", PAGE.css())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(v: u8) -> f64 {
        let v = f64::from(v) / 255.0;
        if v <= 0.03928 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
    }

    fn luminance((r, g, b): (u8, u8, u8)) -> f64 {
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    fn contrast(a: (u8, u8, u8), b: (u8, u8, u8)) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    const VERDICTS: [Colour; 3] = [PASS, FAIL, INCONCLUSIVE];

    /// Linear RGB as seen with full vision and by protanopes, deuteranopes and tritanopes (Machado et al., 2009).
    const VISION: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ];

    fn product(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// A colour in Oklab (Ottosson, 2020), as seen.
    fn oklab((r, g, b): (u8, u8, u8), vision: &[[f64; 3]; 3]) -> [f64; 3] {
        let seen = product(vision, [r, g, b].map(linear)).map(|v| v.clamp(0.0, 1.0));
        let cones = product(
            &[
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ],
            seen,
        );
        product(
            &[
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ],
            cones.map(f64::cbrt),
        )
    }

    #[test]
    fn verdicts_and_baselines_are_apart_for_every_kind_of_vision() {
        let colours = [PASS, FAIL, INCONCLUSIVE, BASELINE];
        type Shade = fn(&Colour) -> (u8, u8, u8);
        let shades: [Shade; 2] = [|c| c.light, |c| c.dark];
        for (at, one) in colours.iter().enumerate() {
            for other in &colours[at + 1..] {
                for vision in &VISION {
                    for shade in shades {
                        let (a, b) = (oklab(shade(one), vision), oklab(shade(other), vision));
                        let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(apart > 0.08, "{} and {}: {apart}", one.class, other.class);
                    }
                }
            }
        }
    }

    #[test]
    fn series_stand_out_on_both_pages_and_text_reads() {
        for colour in SERIES.iter().chain([&MUTED]) {
            assert!(contrast(colour.light, PAGE.light) >= 3.0, "{}", colour.class);
            assert!(contrast(colour.dark, PAGE.dark) >= 3.0, "{}", colour.class);
        }
        for colour in VERDICTS.into_iter().chain([INK, QUIET, BASELINE]) {
            assert!(contrast(colour.light, PAGE.light) >= 4.5, "{}", colour.class);
            assert!(contrast(colour.dark, PAGE.dark) >= 4.5, "{}", colour.class);
        }
    }

    #[test]
    fn colours_alike_on_one_page_are_alike_on_the_other() {
        for one in ALL {
            assert!(ALL.iter().all(|other| one.light != other.light || one.dark == other.dark), "{}", one.class);
        }
        assert_eq!((class(SERIES[1].light), class((1, 2, 3))), (Some("series-1"), None));
    }

    #[test]
    fn colours_are_distinct() {
        for (at, one) in ALL.iter().enumerate() {
            for other in &ALL[at + 1..] {
                assert_ne!(one.light, other.light);
                assert_ne!(one.dark, other.dark);
                assert_ne!(one.class, other.class);
            }
        }
    }
}
