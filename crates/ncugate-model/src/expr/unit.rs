//! Units that limits are written with: `30 us`, `20 %`, `64 KiB`.

/// A unit as a limit writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// As written.
    pub word: &'static str,
    kind: Kind,
    /// Its size in the smallest unit of its kind.
    size: f64,
}

/// The dimension of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Time,
    Share,
    Memory,
    Frequency,
    /// Countable things.
    Count(&'static str),
}

const KIBI: f64 = 1024.0;

/// Every unit; synonyms are adjacent.
const UNITS: [(&str, Kind, f64); 27] = [
    ("ns", Kind::Time, 1.0),
    ("us", Kind::Time, 1e3),
    ("µs", Kind::Time, 1e3),
    ("ms", Kind::Time, 1e6),
    ("s", Kind::Time, 1e9),
    ("%", Kind::Share, 1.0),
    ("B", Kind::Memory, 1.0),
    ("bytes", Kind::Memory, 1.0),
    ("KiB", Kind::Memory, KIBI),
    ("MiB", Kind::Memory, KIBI * KIBI),
    ("GiB", Kind::Memory, KIBI * KIBI * KIBI),
    ("KB", Kind::Memory, 1e3),
    ("MB", Kind::Memory, 1e6),
    ("GB", Kind::Memory, 1e9),
    ("Hz", Kind::Frequency, 1.0),
    ("kHz", Kind::Frequency, 1e3),
    ("MHz", Kind::Frequency, 1e6),
    ("GHz", Kind::Frequency, 1e9),
    ("registers", Kind::Count("register/thread"), 1.0),
    ("warps", Kind::Count("warp"), 1.0),
    ("blocks", Kind::Count("block"), 1.0),
    ("threads", Kind::Count("thread"), 1.0),
    ("cycles", Kind::Count("cycle"), 1.0),
    ("instructions", Kind::Count("inst"), 1.0),
    ("sectors", Kind::Count("sector"), 1.0),
    ("inst", Kind::Count("inst"), 1.0),
    ("cycle", Kind::Count("cycle"), 1.0),
];

impl Unit {
    pub fn of_word(word: &str) -> Option<Self> {
        let found = UNITS.into_iter().find(|(known, ..)| *known == word);
        found.map(|(word, kind, size)| Self { word, kind, size })
    }

    /// The factor that converts a number from this unit to the unit of a metric.
    pub(super) fn factor(self, metric: &str) -> Option<f64> {
        let size = match (self.kind, metric) {
            (Kind::Time, "ns") => 1.0,
            (Kind::Time, "us") => 1e3,
            (Kind::Share, "%") => 1.0,
            (Kind::Memory, "byte" | "byte/block" | "byte/thread") => 1.0,
            (Kind::Frequency, "hz") => 1.0,
            (Kind::Count(name), metric) if name == metric => 1.0,
            _ => return None,
        };
        Some(self.size / size)
    }
}
