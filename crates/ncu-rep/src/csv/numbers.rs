//! The language of printed numbers. ncu prints numbers in the locale of its machine: 1,234.5 is `1.234,5` in German,
//! `1 234,5` in French and `1’234.5` in Swiss locales.
//!
//! One cell often has several readings (`41.280` is 41.28 or 41,280), so the whole file decides.

use super::error::CsvError;
use super::value::aggregate;

/// The separators of printed numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberForm {
    group: char,
    point: char,
}

const FORMS: [NumberForm; 6] = [
    NumberForm::ENGLISH,
    NumberForm { group: '.', point: ',' },
    NumberForm { group: ' ', point: ',' },
    NumberForm { group: ' ', point: '.' },
    NumberForm { group: '\'', point: '.' },
    NumberForm { group: '\'', point: ',' },
];

/// A cell, with its line.
type NumberCell = (u64, String);

/// The forms in which every number so far can be read.
#[derive(Debug)]
pub(super) struct NumberForms {
    possible: Vec<NumberForm>,
    /// The first number that is a group of three digits in some possible form and decimals in another, with a comma.
    comma: Option<NumberCell>,
    /// The same with a point.
    point: Option<NumberCell>,
}

impl Default for NumberForms {
    fn default() -> Self {
        Self { possible: FORMS.to_vec(), comma: None, point: None }
    }
}

impl NumberForms {
    /// Excludes the forms in which a cell cannot be read. Cells without a separator, and cells that are a number in no
    /// form, exclude none.
    ///
    /// # Errors
    /// No form reads all numbers so far.
    pub fn add(&mut self, text: &str, line: u64) -> Result<(), CsvError> {
        let text = normal(aggregate(text));
        let is_whole = text.bytes().all(|byte| byte.is_ascii_digit());
        if is_whole || !FORMS.iter().any(|form| form.plain(&text).is_some()) {
            return Ok(());
        }
        self.possible.retain(|form| form.plain(&text).is_some());
        if self.possible.is_empty() {
            return Err(CsvError::MixedNumbers { line, text });
        }
        for (separator, first) in [(',', &mut self.comma), ('.', &mut self.point)] {
            let is_either = text.matches(separator).count() == 1
                && FORMS.iter().any(|form| form.group == separator && form.plain(&text).is_some())
                && FORMS.iter().any(|form| form.point == separator && form.plain(&text).is_some());
            if is_either && first.is_none() {
                *first = Some((line, text.clone()));
            }
        }
        Ok(())
    }

    /// The form of the file.
    ///
    /// ncu prints no, two or six decimals, never three. So `41,280` alone is a whole number; `41.280` alone is one too,
    /// unless another program printed it, and is refused.
    ///
    /// # Errors
    /// Several forms are possible and give different values.
    pub fn form(mut self) -> Result<NumberForm, CsvError> {
        let is_open = |possible: &[NumberForm], separator: char| {
            possible.iter().any(|form| form.group == separator) && possible.iter().any(|form| form.point == separator)
        };
        if let Some((line, text)) = self.point.take_if(|_| is_open(&self.possible, '.')) {
            return Err(CsvError::AmbiguousNumbers { line, text });
        }
        if self.comma.is_some() && is_open(&self.possible, ',') {
            self.possible.retain(|form| form.group == ',');
        }
        Ok(self.possible.first().copied().unwrap_or(NumberForm::ENGLISH))
    }
}

impl NumberForm {
    /// The form under `LC_ALL=C` and in English.
    pub const ENGLISH: Self = Self { group: ',', point: '.' };

    /// A number of this form without groups and with a decimal point; `None` for everything else.
    pub fn plain(self, text: &str) -> Option<String> {
        let text = normal(text);
        let unsigned = text.strip_prefix('-').unwrap_or(&text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, decimals) = match mantissa.split_once(self.point) {
            Some((whole, decimals)) => (whole, Some(decimals)),
            None => (mantissa, None),
        };
        let is_number = (self.is_grouped(whole) || is_digits(whole) || (whole.is_empty() && decimals.is_some()))
            && decimals.is_none_or(is_digits)
            && exponent.is_none_or(|exponent| is_digits(exponent.trim_start_matches(['+', '-'])));
        is_number.then(|| text.replace(self.group, "").replace(self.point, "."))
    }

    /// Whether these are groups of three digits; in India groups between the first and the last have two.
    fn is_grouped(self, whole: &str) -> bool {
        let mut groups: Vec<&str> = whole.split(self.group).collect();
        let (first, last) = (groups.remove(0), groups.pop());
        let is_inner = |group: &&str| is_digits(group) && (group.len() == 3 || (group.len() == 2 && self.group == ','));
        is_digits(first)
            && first.len() <= 3
            && !first.starts_with('0')
            && last.is_some_and(|last| is_digits(last) && last.len() == 3)
            && groups.iter().all(is_inner)
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text with plain spaces and apostrophes, which also separate groups in their typographic forms.
fn normal(text: &str) -> String {
    let text = text.trim();
    if text.is_ascii() {
        return text.to_owned();
    }
    text.replace(['\u{a0}', '\u{202f}', '\u{2009}'], " ").replace('\u{2019}', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of a file without groups and with a decimal point.
    fn read(cells: &[&str]) -> Result<Vec<String>, CsvError> {
        let mut forms = NumberForms::default();
        for (line, cell) in (1..).zip(cells) {
            forms.add(cell, line)?;
        }
        let form = forms.form()?;
        Ok(cells.iter().map(|cell| form.plain(cell).unwrap_or_default()).collect())
    }

    #[test]
    fn the_whole_file_decides_between_readings() {
        let files: [(&[&str], &[&str]); 10] = [
            (&["41,280", "0.06"], &["41280", "0.06"]),
            (&["41.280", "0.06"], &["41.280", "0.06"]),
            (&["41.280", "61,20"], &["41280", "61.20"]),
            (&["640.000", "8.390.144"], &["640000", "8390144"]),
            (&["41\u{202f}280", "61,20", "9,312"], &["41280", "61.20", "9.312"]),
            (&["8\u{a0}390\u{a0}144", "1 024"], &["8390144", "1024"]),
            (&["8’390’144", "61.20"], &["8390144", "61.20"]),
            (&["83,90,144", "1,024"], &["8390144", "1024"]),
            (&["0,125", "9,312"], &["0.125", "9.312"]),
            (&["9,312", "41"], &["9312", "41"]),
        ];
        for (cells, values) in files {
            assert_eq!(read(cells).unwrap(), values, "{cells:?}");
        }
    }

    #[test]
    fn numbers_without_one_certain_reading_are_an_error() {
        assert!(matches!(read(&["7", "41.280"]), Err(CsvError::AmbiguousNumbers { line: 2, .. })));
        assert!(matches!(read(&["41.280", "41,280"]), Err(CsvError::AmbiguousNumbers { line: 1, .. })));
        assert!(matches!(read(&["0.06", "1", "61,20"]), Err(CsvError::MixedNumbers { line: 3, .. })));
        assert!(matches!(read(&["8.390.144", "1,606,912"]), Err(CsvError::MixedNumbers { line: 2, .. })));
    }

    #[test]
    fn text_is_no_number_in_any_form() {
        for text in ["1, 2", "12,34.5", "1.2.3", "n/a", "", "-", "NVIDIA H200", "1e", "0,123,456", ","] {
            assert!(FORMS.iter().all(|form| form.plain(text).is_none()), "{text}");
        }
        assert_eq!(FORMS[0].plain("-1,234.5e+06").as_deref(), Some("-1234.5e+06"));
        assert_eq!(FORMS[0].plain(".5").as_deref(), Some(".5"));
    }
}
