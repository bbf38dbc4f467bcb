//! Writes values that several variants share only once.

use serde_json::Value;
use std::collections::HashMap;

/// Values that are written once and referenced by index.
#[derive(Debug, Default)]
pub struct ValuePool {
    places: HashMap<String, usize>,
    values: Vec<Value>,
}

impl ValuePool {
    /// The index of a value, which is added if it is new.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_values_have_one_place() {
        let mut pool = ValuePool::default();
        let places = [json!(["a", 1]), json!(null), json!(["a", 1])].map(|value| pool.place(value));
        assert_eq!((places, pool.into_values().len()), ([0, 1, 0], 2));
    }
}
