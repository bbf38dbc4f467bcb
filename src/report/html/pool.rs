//! What keeps the page's data small: values that are equal are written once, numbers without the text that the page
//! writes for them itself.

use crate::report::Measure;
use crate::report::number::Number;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Values written once and named by their place.
#[derive(Debug, Default)]
pub struct Pool {
    places: HashMap<String, usize>,
    values: Vec<Value>,
}

impl Pool {
    /// The place of a value, its first or a new one.
    pub fn place(&mut self, value: Value) -> usize {
        let next = self.values.len();
        let place = *self.places.entry(value.to_string()).or_insert(next);
        if place == next {
            self.values.push(value);
        }
        place
    }

    /// The values in order.
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }
}

/// A column of cells: `{"same": cell}` where they are all equal, else the cells.
pub fn column(cells: Vec<Value>) -> Value {
    match cells.split_first() {
        Some((first, rest)) if !rest.is_empty() && rest.iter().all(|cell| cell == first) => json!({ "same": first }),
        _ => Value::Array(cells),
    }
}

/// A number, the number with its text where the page would write another, or the reason why there is none.
pub fn cell(measure: &Measure) -> Value {
    match measure {
        Measure::Number(n) if n.value.fract() == 0.0 && n.value.abs() < 1e15 => json!(n.value as i64),
        Measure::Number(n) if is_written_alike(n) => json!(n.value),
        Measure::Number(n) => json!([n.value, n.text]),
        Measure::Missing(reason) => json!(reason),
    }
}

/// Whether the page's `plain` surely writes what [`number::plain`](crate::number::plain) wrote: JavaScript rounds ties
/// away from zero where Rust rounds them to even, and may differ in the last digit of a logarithm.
fn is_written_alike(number: &Number) -> bool {
    let size = number.value.abs();
    if !(1e-4..1e15).contains(&size) {
        return false;
    }
    let decimals = if size >= 999.95 { 0 } else { (3 - (size * 1.000_05).log10().floor() as i32).clamp(0, 8) };
    let power = (size * 1.000_05).log10();
    // Half of a last digit has at most one binary digit more than decimal ones.
    let tie = (number.value * f64::from(1 << (decimals + 1))).fract() == 0.0;
    !tie && (power - power.round()).abs() > 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_place() {
        let mut pool = Pool::default();
        let places = [json!(["a", 1]), json!(null), json!(["a", 1])].map(|value| pool.place(value));
        assert_eq!((places, pool.into_values().len()), ([0, 1, 0], 2));
    }

    #[test]
    fn columns_of_one_value_hold_it_once() {
        assert_eq!(column(vec![json!(1), json!(1)]), json!({ "same": 1 }));
        assert_eq!(column(vec![json!(1), json!(2)]), json!([1, 2]));
        assert_eq!(column(vec![json!("why")]), json!(["why"]));
    }

    #[test]
    fn numbers_carry_their_text_where_the_page_could_write_another() {
        let cell = |value| cell(&Measure::Number(Number::new(value)));
        assert_eq!(cell(28.125), json!([28.125, "28.12"]), "a tie");
        assert_eq!(cell(29.651), json!(29.651));
        assert_eq!(cell(16_384.0), json!(16_384));
        assert_eq!(cell(1.5e-5), json!([1.5e-5, "1.500e-5"]));
        assert_eq!(cell(9.8e19), json!([9.8e19, "9.800e19"]));
    }
}
