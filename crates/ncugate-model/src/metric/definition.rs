//! The computation of a logical metric from the counters of Nsight Compute on one chip.

use crate::Cell;

/// A share can exceed 100 % by this many times the coefficient of variation of its parts.
const DOUBTED: f64 = 4.0;

/// The counters to collect on a chip, and the computation over them.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub formula: Formula,
    /// Unit of its value.
    pub unit: String,
}

/// A computation over ncu metrics; nothing is clamped.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// The sum of the named metrics. A repeated name counts twice, and one with `-` before it is subtracted.
    Sum(Vec<String>),
    /// `factor * sum(part) / sum(whole)`.
    /// `factor`: 100 for a percentage.
    /// `whole`: denominator.
    /// `empty`: the reason for the missing value when both are zero (`no shared-memory wavefronts`).
    /// `zero`: the meaning of zeros otherwise.
    Share { factor: f64, part: Vec<String>, whole: Vec<String>, empty: String, zero: ZeroShare },
    /// `factor * product`.
    Product { factor: f64, names: Vec<String> },
}

/// The meaning of zeros in a share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZeroShare {
    /// A part of 0 gives a share of 0; a whole of 0 gives none.
    Counted,
    /// A part of 0 means that it was not counted: the whole always includes some of it.
    Uncounted,
    /// A whole of 0 gives a share of 0 if these counters, which every launch has, are 0 as well.
    Without(Vec<String>),
}

impl Definition {
    /// A metric that is collected and shown unchanged.
    pub fn verbatim(name: &str, unit: String) -> Self {
        Self { formula: Formula::Sum(vec![name.to_owned()]), unit }
    }

    /// Names to collect, sorted, each once.
    pub fn metrics(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match &self.formula {
            Formula::Sum(names) | Formula::Product { names, .. } => names.iter().map(String::as_str).collect(),
            Formula::Share { part, whole, .. } => part.iter().chain(whole).map(String::as_str).collect(),
        };
        for name in &mut names {
            *name = signed(name).1;
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The value for one launch; `read` gives a counter by name.
    ///
    /// A counter that is missing or not finite, and a share of zero, make the value missing, with the reason.
    pub fn evaluate(&self, read: &dyn Fn(&str) -> Option<f64>) -> Cell {
        let value = match &self.formula {
            Formula::Sum(names) => sum(names, read),
            Formula::Product { factor, names } => {
                names.iter().try_fold(*factor, |product, name| Ok(product * counter(name, read)?))
            }
            Formula::Share { factor, part, whole, empty, zero } => share(*factor, (part, whole), (empty, zero), read),
        };
        value.map_or_else(|absent| absent, Cell::finite)
    }

    /// Why a value is implausible: a percentage outside 0 to 100 by more than its relative `spread`. Its parts can
    /// come from different replay passes, so that slightly above 100 means full.
    pub fn doubt(&self, value: f64, spread: f64) -> Option<String> {
        let most = 100.0 * (1.0 + DOUBTED * spread);
        (self.unit == "%" && !(0.0..=most).contains(&value))
            .then(|| format!("{value:.1} % is outside 0 to 100: its counters come from different replay passes"))
    }
}

fn missing<T>(reason: String) -> Result<T, Cell> {
    Err(Cell::Missing(reason.into()))
}

fn counter(name: &str, read: &dyn Fn(&str) -> Option<f64>) -> Result<f64, Cell> {
    match read(name) {
        Some(value) if value.is_finite() => Ok(value),
        Some(value) => missing(format!("`{name}` has the value {value}")),
        None => missing(format!("`{name}` has no value")),
    }
}

fn sum(names: &[String], read: &dyn Fn(&str) -> Option<f64>) -> Result<f64, Cell> {
    if names.is_empty() {
        return missing("the sum has no terms".to_owned());
    }
    names.iter().try_fold(0.0, |total, term| {
        let (sign, name) = signed(term);
        Ok(total + sign * counter(name, read)?)
    })
}

/// The sign of a term of a sum, and the counter's name.
pub fn signed(term: &str) -> (f64, &str) {
    term.strip_prefix('-').map_or((1.0, term), |name| (-1.0, name))
}

fn share(
    factor: f64,
    (part, whole): (&[String], &[String]),
    (empty, zero): (&str, &ZeroShare),
    read: &dyn Fn(&str) -> Option<f64>,
) -> Result<f64, Cell> {
    let (part, total) = (sum(part, read)?, sum(whole, read)?);
    match (part, total, zero) {
        (0.0, _, ZeroShare::Uncounted) => Err(Cell::Undefined(empty.into())),
        (0.0, 0.0, ZeroShare::Without(absent)) if absent.iter().all(|name| read(name) == Some(0.0)) => Ok(0.0),
        (0.0, 0.0, _) => Err(Cell::Undefined(empty.into())),
        (_, 0.0, _) => missing(format!("{part} of `{}`, which is 0", whole.join(" + "))),
        _ => Ok(factor * part / total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflicts() -> Definition {
        Definition {
            formula: Formula::Share {
                factor: 100.0,
                part: vec!["conflicts".into()],
                whole: vec!["wavefronts".into()],
                empty: "no shared-memory wavefronts".into(),
                zero: ZeroShare::Counted,
            },
            unit: "%".into(),
        }
    }

    fn counted(conflicts: f64, wavefronts: f64) -> impl Fn(&str) -> Option<f64> {
        move |name| Some(if name == "conflicts" { conflicts } else { wavefronts })
    }

    #[test]
    fn a_share_of_nothing_is_missing_not_zero() {
        let cell = conflicts().evaluate(&counted(0.0, 0.0));
        assert_eq!(cell, Cell::Undefined("no shared-memory wavefronts".into()));
        assert_eq!(conflicts().evaluate(&counted(3.0, 0.0)).value(), None);
    }

    #[test]
    fn no_conflicts_are_zero_only_where_there_is_no_shared_memory() {
        let mut definition = conflicts();
        let Formula::Share { zero, .. } = &mut definition.formula else { return };
        *zero = ZeroShare::Without(vec!["static".into(), "dynamic".into()]);
        let read = |shared: Option<f64>, wavefronts: f64| {
            let read = move |name: &str| match name {
                "static" => Some(0.0),
                "dynamic" => shared,
                "wavefronts" => Some(wavefronts),
                _ => Some(0.0),
            };
            definition.evaluate(&read).value()
        };
        assert_eq!((read(Some(0.0), 0.0), read(Some(0.0), 8.0)), (Some(0.0), Some(0.0)));
        // these counters do not include the shared-memory accesses of bulk copies and wgmma
        assert_eq!((read(Some(1024.0), 0.0), read(None, 0.0)), (None, None));
    }

    #[test]
    fn a_share_that_is_never_zero_was_not_counted_where_it_is() {
        let mut definition = conflicts();
        let Formula::Share { zero, .. } = &mut definition.formula else { return };
        *zero = ZeroShare::Uncounted;
        assert_eq!(definition.evaluate(&counted(0.0, 32.0)).value(), None);
        assert_eq!(definition.evaluate(&counted(16.0, 32.0)).value(), Some(50.0));
    }

    #[test]
    fn nan_and_absent_counters_are_missing() {
        for odd in [f64::NAN, f64::INFINITY] {
            assert_eq!(conflicts().evaluate(&counted(odd, 8.0)).value(), None);
            assert_eq!(conflicts().evaluate(&counted(1.0, odd)).value(), None);
        }
        assert_eq!(conflicts().evaluate(&|_| None).value(), None);
        assert_eq!(Definition::verbatim("a__b", String::new()).evaluate(&|_| Some(f64::NAN)).value(), None);
    }

    #[test]
    fn shares_outside_their_range_are_kept_and_named() {
        let value = conflicts().evaluate(&counted(12.0, 8.0)).value();
        assert_eq!(value, Some(150.0));
        assert!(conflicts().doubt(150.0, 0.0).is_some_and(|d| d.contains("150.0 %")));
        assert_eq!(conflicts().doubt(99.9, 0.0), None);
        assert_eq!((conflicts().doubt(101.0, 0.01), conflicts().doubt(105.0, 0.01).is_some()), (None, true));
    }

    #[test]
    fn a_name_with_a_minus_is_taken_away() {
        let excess = Definition { formula: Formula::Sum(vec!["all".into(), "-ideal".into()]), unit: String::new() };
        assert_eq!(excess.metrics(), ["all", "ideal"]);
        assert_eq!(excess.evaluate(&|name| Some(if name == "all" { 10.0 } else { 8.0 })).value(), Some(2.0));
        assert_eq!(excess.evaluate(&|name| (name == "all").then_some(10.0)).value(), None);
    }

    #[test]
    fn a_name_written_twice_counts_twice_and_is_collected_once() {
        let fma = Definition { formula: Formula::Sum(vec!["b".into(), "a".into(), "b".into()]), unit: String::new() };
        assert_eq!(fma.evaluate(&|name| Some(if name == "a" { 1.0 } else { 10.0 })).value(), Some(21.0));
        assert_eq!(fma.metrics(), ["a", "b"]);
    }
}
