//! Checks that a value serialises only finite numbers: JSON has no others, and `serde_json` writes `null` in place of
//! one, which reads back as "not measured" for an optional number.

use serde::{Serialize, Serializer, ser};
use std::fmt;

/// A NaN or infinite number, with its path.
#[derive(Debug, PartialEq, Eq)]
pub struct NotFinite {
    /// Keys that lead to it, outermost first.
    path: Vec<String>,
    what: String,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_slice() {
            [] => write!(f, "{}", self.what),
            path => write!(f, "`{}`: {}", path.join("."), self.what),
        }
    }
}

impl std::error::Error for NotFinite {}

impl ser::Error for NotFinite {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: Vec::new(), what: message.to_string() }
    }
}

impl NotFinite {
    fn inside(mut self, key: String) -> Self {
        self.path.insert(0, key);
        self
    }
}

/// # Errors
/// A number in it is NaN or infinite.
pub fn check(value: &(impl Serialize + ?Sized)) -> Result<(), NotFinite> {
    value.serialize(Check::default())
}

/// Serialises a value without output.
#[derive(Debug, Default)]
struct Check {
    /// Key of the next element or value.
    key: String,
    at: usize,
}

type FiniteResult = Result<(), NotFinite>;

impl Check {
    fn number(value: f64) -> FiniteResult {
        match value.is_finite() {
            true => Ok(()),
            false => Err(ser::Error::custom(format_args!("{value} is not a finite number"))),
        }
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> FiniteResult {
        let at = self.at;
        self.at += 1;
        check(value).map_err(|error| error.inside(at.to_string()))
    }

    fn field(key: &str, value: &(impl Serialize + ?Sized)) -> FiniteResult {
        check(value).map_err(|error| error.inside(key.to_owned()))
    }
}

/// Methods that accept whatever they are given: values other than numbers, and beginnings of compounds.
macro_rules! fine {
    ($result:ty, $value:expr; $($method:ident($($type:ty),*))*) => {
        $(fn $method(self, $(_: $type),*) -> Result<$result, NotFinite> {
            Ok($value(self))
        })*
    };
}

impl Serializer for Check {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fine! { (), |_| ();
        serialize_bool(bool) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
        serialize_none() serialize_unit() serialize_unit_struct(&'static str)
        serialize_unit_variant(&'static str, u32, &'static str)
    }

    fine! { Self, |check| check;
        serialize_seq(Option<usize>) serialize_map(Option<usize>) serialize_tuple(usize)
        serialize_tuple_struct(&'static str, usize) serialize_struct(&'static str, usize)
        serialize_tuple_variant(&'static str, u32, &'static str, usize)
        serialize_struct_variant(&'static str, u32, &'static str, usize)
    }

    fn serialize_f32(self, value: f32) -> FiniteResult {
        Self::number(value.into())
    }

    fn serialize_f64(self, value: f64) -> FiniteResult {
        Self::number(value)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> FiniteResult {
        check(value)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> FiniteResult {
        check(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> FiniteResult {
        Self::field(variant, value)
    }
}

/// Compounds of elements, of fields, and of keys and values.
macro_rules! compound {
    (elements $($name:ident.$method:ident)*) => {
        $(impl ser::$name for Check {
            type Ok = ();
            type Error = NotFinite;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> FiniteResult {
                self.element(value)
            }

            fn end(self) -> FiniteResult {
                Ok(())
            }
        })*
    };
    (fields $($name:ident)*) => {
        $(impl ser::$name for Check {
            type Ok = ();
            type Error = NotFinite;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> FiniteResult {
                Self::field(key, value)
            }

            fn end(self) -> FiniteResult {
                Ok(())
            }
        })*
    };
}

compound!(elements SerializeSeq.serialize_element SerializeTuple.serialize_element);
compound!(elements SerializeTupleStruct.serialize_field SerializeTupleVariant.serialize_field);
compound!(fields SerializeStruct SerializeStructVariant);

impl ser::SerializeMap for Check {
    type Ok = ();
    type Error = NotFinite;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> FiniteResult {
        // A key that is not text is empty in the path.
        self.key = serde_json::to_value(key).ok().and_then(|key| Some(key.as_str()?.to_owned())).unwrap_or_default();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> FiniteResult {
        Self::field(&self.key, value)
    }

    fn end(self) -> FiniteResult {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Measured {
        us: Option<f64>,
        of: BTreeMap<&'static str, Vec<f64>>,
    }

    #[test]
    fn a_number_that_is_not_finite_is_found_wherever_it_is() {
        let measured = |us, last| Measured { us, of: BTreeMap::from([("spills", vec![0.0, last])]) };
        assert_eq!(check(&measured(Some(1.0), 2.0)), Ok(()));
        assert_eq!(check(&measured(None, 2.0)), Ok(()));
        let error = |us, last| check(&measured(us, last)).unwrap_err().to_string();
        assert_eq!(error(Some(f64::NAN), 2.0), "`us`: NaN is not a finite number");
        assert_eq!(error(None, f64::INFINITY), "`of.spills.1`: inf is not a finite number");
        assert_eq!(check(&f32::NEG_INFINITY).unwrap_err().to_string(), "-inf is not a finite number");
    }
}
