//! What an expression refers to: metrics, of its own variant or another's, by slot.
//!
//! An expression's names are replaced by slots before minijinja compiles it, so that `baseline.latency_p50`,
//! `speedup("sdpa_flash")` and `sm__warps_active.avg.per_cycle_active` are looked up the same way and only once.

/// A value an expression needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A metric, parameter or dimension of the variant that is judged.
    Own(String),
    /// A metric of another: `baseline`, `previous`, `best`, a stored name, a variant.
    Of {
        /// Whose.
        owner: String,
        /// The metric.
        metric: String,
    },
    /// Median latency of another over that of the variant that is judged.
    Speedup {
        /// Whose latency is the numerator.
        over: String,
    },
}

impl Reference {
    /// As a gate writes it.
    pub fn text(&self) -> String {
        match self {
            Self::Own(name) => name.clone(),
            Self::Of { owner, metric } => format!("{owner}.{metric}"),
            Self::Speedup { over } => format!("speedup(\"{over}\")"),
        }
    }

    fn of_chain(chain: &str) -> Self {
        match chain.split_once('.') {
            Some((owner, metric)) if !owner.contains("__") => {
                Self::Of { owner: owner.to_owned(), metric: metric.to_owned() }
            }
            _ => Self::Own(chain.to_owned()),
        }
    }

    /// `speedup("x")`, `ncu("x")`, `baseline["x"]`.
    fn of_call(word: &str, argument: &str, close: char) -> Option<Self> {
        match (word, close) {
            ("speedup", ')') => Some(Self::Speedup { over: argument.to_owned() }),
            ("ncu", ')') => Some(Self::Own(argument.to_owned())),
            (owner, ']') => Some(Self::Of { owner: owner.to_owned(), metric: argument.to_owned() }),
            _ => None,
        }
    }
}

/// The name that stands for slot `index` in a rewritten expression.
pub fn slot_name(index: usize) -> String {
    format!("_slot{index}")
}

/// The slot a name stands for.
pub fn slot_index(name: &str) -> Option<usize> {
    name.strip_prefix("_slot")?.parse().ok()
}

const WORDS: [&str; 13] =
    ["and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None"];

/// Rewrites `text` with slots for its names; new references are appended to `references`.
pub fn rewrite(text: &str, references: &mut Vec<Reference>) -> String {
    let mut scan = Scan { text, at: 0, out: String::with_capacity(text.len()), previous: String::new(), references };
    while scan.at < text.len() {
        scan.token();
    }
    scan.out
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    out: String,
    /// The last token that is not a space.
    previous: String,
    references: &'a mut Vec<Reference>,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn token(&mut self) {
        let Some(first) = self.rest().chars().next() else { return };
        let length = match first {
            '"' | '\'' => quoted(self.rest()),
            c if c.is_ascii_digit() => number(self.rest()),
            c if is_name(c) => return self.name(),
            c => c.len_utf8(),
        };
        self.copy(length);
    }

    fn copy(&mut self, length: usize) {
        let token = self.text[self.at..self.at + length].to_owned();
        self.out.push_str(&token);
        self.at += length;
        if !token.trim().is_empty() {
            self.previous = token;
        }
    }

    fn name(&mut self) {
        let chain_length = chain(self.rest());
        let chain = self.rest()[..chain_length].to_owned();
        let after = self.text[self.at + chain_length..].trim_start();
        if WORDS.contains(&chain.as_str()) {
            // `is not defined`: the word after is still a test's name
            let test = self.previous == "is" && chain == "not";
            self.copy(chain_length);
            if test {
                self.previous = "is".to_owned();
            }
            return;
        }
        if matches!(self.previous.as_str(), "|" | "is" | ".") {
            return self.copy(chain_length);
        }
        for (bracket, close) in [('(', ')'), ('[', ']')] {
            let Some(open) = after.strip_prefix(bracket) else { continue };
            let Some((reference, length)) = call(&chain, open, close) else { return self.copy(chain_length) };
            let consumed = self.text.len() - self.at - open.len() + length;
            return self.slot(reference, consumed);
        }
        self.slot(Reference::of_chain(&chain), chain_length);
    }

    fn slot(&mut self, reference: Reference, consumed: usize) {
        let index = self.references.iter().position(|r| *r == reference).unwrap_or_else(|| {
            self.references.push(reference);
            self.references.len() - 1
        });
        self.out.push_str(&slot_name(index));
        self.previous = slot_name(index);
        self.at += consumed;
    }
}

/// A call or item with one literal text: its reference, and bytes to the closing bracket. `speedup()` is over the
/// default baseline.
fn call(word: &str, open: &str, end: char) -> Option<(Reference, usize)> {
    let inside = open.trim_start();
    let skipped = open.len() - inside.len();
    if word == "speedup" && end == ')' && inside.starts_with(')') {
        return Some((Reference::Speedup { over: "baseline".to_owned() }, skipped + 1));
    }
    if !inside.starts_with(['"', '\'']) {
        return None;
    }
    let length = quoted(inside);
    let argument = inside.get(1..length.checked_sub(1)?)?;
    let tail = &inside[length..];
    let close = tail.trim_start();
    let reference = Reference::of_call(word, argument, end)?;
    close.starts_with(end).then(|| (reference, skipped + length + (tail.len() - close.len()) + 1))
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn quoted(text: &str) -> usize {
    let quote = text.chars().next().unwrap_or('"');
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn number(text: &str) -> usize {
    let mut last = ' ';
    text.find(|c: char| {
        let part =
            c.is_ascii_alphanumeric() || c == '.' || c == '_' || (matches!(c, '+' | '-') && matches!(last, 'e' | 'E'));
        last = c;
        !part
    })
    .unwrap_or(text.len())
}

fn chain(text: &str) -> usize {
    let mut end = 0;
    for part in text.split('.') {
        let name = part.find(|c| !is_name(c)).unwrap_or(part.len());
        if name == 0 {
            return end - 1;
        }
        end += name;
        if name < part.len() {
            return end;
        }
        end += 1;
    }
    end - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> (String, Vec<String>) {
        let mut references = Vec::new();
        let text = rewrite(text, &mut references);
        (text, references.iter().map(Reference::text).collect())
    }

    #[test]
    fn names_become_slots() {
        let (text, names) = rewritten("0.98 * baseline.latency_p50 + registers - registers / S");
        assert_eq!(text, "0.98 * _slot0 + _slot1 - _slot1 / _slot2");
        assert_eq!(names, ["baseline.latency_p50", "registers", "S"]);
    }

    #[test]
    fn verbatim_metrics_keep_their_dots() {
        let (text, names) = rewritten("sm__warps_active.avg.per_cycle_active*2e-3 < best.lts__t_bytes.sum");
        assert_eq!(text, "_slot0*2e-3 < _slot1");
        assert_eq!(names, ["sm__warps_active.avg.per_cycle_active", "best.lts__t_bytes.sum"]);
    }

    #[test]
    fn calls_with_a_literal_become_slots_and_others_stay() {
        let (text, names) = rewritten("speedup( \"REGCAP=64,T=1\" ) > speedup() and ncu('a__b.sum') and f(x)");
        assert_eq!(text, "_slot0 > _slot1 and _slot2 and f(_slot3)");
        assert_eq!(names, ["speedup(\"REGCAP=64,T=1\")", "speedup(\"baseline\")", "a__b.sum", "x"]);
    }

    #[test]
    fn items_of_an_owner_become_slots() {
        let (text, names) = rewritten("baseline[\"sm__a.avg\"] > ncu(\"sm__a.avg\") and x[1]");
        assert_eq!(text, "_slot0 > _slot1 and x[1]");
        assert_eq!(names, ["baseline.sm__a.avg", "sm__a.avg"]);
    }

    #[test]
    fn words_filters_tests_and_texts_stay() {
        let (text, names) = rewritten("not (a|abs > 1e-3 and b is not divisibleby(3)) or dtype == \"f16 x\"");
        assert_eq!(text, "not (_slot0|abs > 1e-3 and _slot1 is not divisibleby(3)) or _slot2 == \"f16 x\"");
        assert_eq!(names, ["a", "b", "dtype"]);
    }

    #[test]
    fn no_text_makes_it_panic() {
        for text in ["", ".", "a.", "a..b", "\"", "'a", "speedup(", "speedup('", "ncu(\"x\"", "é.ü", "1e+", "(a).b"] {
            rewritten(text);
        }
    }
}
