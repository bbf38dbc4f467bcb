//! NumPy's `.npy` files, versions 1 to 3: C order, little endian, real numbers.

use crate::element;
use ncugate_model::Dtype;
use ncugate_model::disk::open;
use std::path::{Path, PathBuf};

/// Size limit of a file in bytes: the memory of one GPU.
const MAX_BYTES: u64 = 256 << 30;
const MAGIC: &[u8] = b"\x93NUMPY";

/// Why an array cannot be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum NpyError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The array has another form.
    #[error("{}: {what}", path.display())]
    Format {
        path: PathBuf,
        /// The mismatch, and the required form.
        what: String,
    },
}

/// Reads the array of a file, which must have these extents, or be the bytes of elements of `own`.
pub fn read(path: &Path, own: Dtype, extents: &[usize]) -> Result<Vec<f64>, NpyError> {
    let bytes = open::named(path, MAX_BYTES).map_err(|source| NpyError::Read { path: path.to_owned(), source })?;
    parse(&bytes, own, extents).map_err(|what| NpyError::Format { path: path.to_owned(), what })
}

/// Writes an array of float64 in C order.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, extents: &[usize], values: &[f64]) -> std::io::Result<()> {
    std::fs::write(path, npy_bytes(Dtype::F64, extents, &element::encode(Dtype::F64, values)))
}

fn parse(bytes: &[u8], own: Dtype, extents: &[usize]) -> Result<Vec<f64>, String> {
    let (header, data) = split(bytes).ok_or("not a .npy file, or a truncated one")?;
    let is_raw = value_of(header, "descr").and_then(quoted) == Some("|V1");
    let dtype = match value_of(header, "descr").and_then(quoted) {
        Some("<f8") => Dtype::F64,
        Some("<f4") => Dtype::F32,
        Some("<f2") => Dtype::F16,
        Some("<i8") => Dtype::I64,
        Some("<u8") => Dtype::U64,
        Some("<i4") => Dtype::I32,
        Some("<u4") => Dtype::U32,
        Some("<i2") => Dtype::I16,
        Some("<u2") => Dtype::U16,
        Some("|i1") => Dtype::I8,
        Some("|u1") => Dtype::U8,
        Some("|b1") => Dtype::Bool,
        // A complex number is two consecutive real numbers, on an additional axis.
        Some("<c8") => Dtype::F32,
        Some("<c16") => Dtype::F64,
        Some("|V1") => own,
        other => {
            let known = "<f8 <f4 <f2 <i8 <u8 <i4 <u4 <i2 <u2 |i1 |u1 |b1 <c8 <c16, and |V1 for the bytes of any type";
            return Err(format!("unsupported dtype {other:?}; supported are {known}"));
        }
    };
    match value_of(header, "fortran_order") {
        Some(order) if order.starts_with("False") => {}
        _ => return Err("array is not in C order; save it with numpy.ascontiguousarray".to_owned()),
    }
    let mut shape = value_of(header, "shape").and_then(tuple).ok_or("header has no shape")?;
    if matches!(value_of(header, "descr").and_then(quoted), Some("<c8" | "<c16")) {
        shape.push(2);
    }
    if is_raw {
        let [length] = shape[..] else { return Err("an array of |V1 has one axis, its bytes".to_owned()) };
        let size = extents.iter().try_fold(own.size(), |size, &extent| size.checked_mul(extent));
        if size != Some(length) || data.len() != length {
            let (name, has) = (own.name(), data.len());
            return Err(format!("the array has {has} bytes of {length}, but the buffer is {extents:?} of {name}"));
        }
        extents.clone_into(&mut shape);
    }
    if shape != extents {
        return Err(format!("the array has shape {shape:?}, but the buffer has {extents:?}"));
    }
    let expected = shape.iter().try_fold(dtype.size(), |size, &extent| size.checked_mul(extent));
    if expected != Some(data.len()) {
        return Err(format!("an array of shape {shape:?} does not match its {} bytes", data.len()));
    }
    let values = element::decode(dtype, data);
    let is_wide = matches!(dtype, Dtype::I64 | Dtype::U64);
    match values.iter().find(|v| is_wide && v.abs() > element::WHOLE) {
        Some(value) => Err(format!("it has the value {value:e}; integers beyond 2^53 cannot be represented exactly")),
        None => Ok(values),
    }
}

/// A version 1.0 file with an array of these elements of `dtype`. bf16 and FP8, which NumPy does not have, are
/// written as float32, which holds them exactly.
pub fn npy_bytes(dtype: Dtype, extents: &[usize], elements: &[u8]) -> Vec<u8> {
    let descr = match dtype {
        Dtype::F64 => "<f8",
        Dtype::F32 | Dtype::Bf16 | Dtype::Fp8E4m3 | Dtype::Fp8E5m2 => "<f4",
        Dtype::F16 => "<f2",
        Dtype::I64 => "<i8",
        Dtype::U64 => "<u8",
        Dtype::I32 => "<i4",
        Dtype::U32 => "<u4",
        Dtype::I16 => "<i2",
        Dtype::U16 => "<u2",
        Dtype::I8 => "|i1",
        Dtype::U8 => "|u1",
        Dtype::Bool => "|b1",
    };
    let shape: String = extents.iter().map(|extent| format!("{extent}, ")).collect();
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
    // Magic, version, length and header together are a multiple of 64 bytes and end with a line feed.
    let padded = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
    let mut bytes = [MAGIC, &[1, 0], &(padded as u16).to_le_bytes(), header.as_bytes()].concat();
    bytes.resize(MAGIC.len() + 4 + padded - 1, b' ');
    bytes.push(b'\n');
    match dtype {
        Dtype::Bf16 | Dtype::Fp8E4m3 | Dtype::Fp8E5m2 => {
            bytes.extend(element::encode(Dtype::F32, &element::decode(dtype, elements)));
        }
        _ => bytes.extend(elements),
    }
    bytes
}

/// Header text and data.
fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (&[major, _minor], rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = match major {
        1 => rest.split_first_chunk().map(|(n, rest)| (usize::from(u16::from_le_bytes(*n)), rest))?,
        2 | 3 => rest.split_first_chunk().map(|(n, rest)| (u32::from_le_bytes(*n) as usize, rest))?,
        _ => return None,
    };
    let (header, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(header).ok()?, data))
}

/// The text after `'key':` in the header's Python dictionary.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let at = header.find(&format!("'{key}'"))? + key.len() + 2;
    Some(header[at..].trim_start().strip_prefix(':')?.trim_start())
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.split('\'').next()
}

fn tuple(text: &str) -> Option<Vec<usize>> {
    let inner = text.strip_prefix('(')?.split(')').next()?;
    inner.split(',').map(str::trim).filter(|t| !t.is_empty()).map(|t| t.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = [MAGIC, &[version, 0]].concat();
        match version {
            1 => bytes.extend((header.len() as u16).to_le_bytes()),
            _ => bytes.extend((header.len() as u32).to_le_bytes()),
        }
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn every_version_and_dtype_is_read() {
        let floats: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        for version in 1..=3 {
            assert_eq!(parse(&file(version, "<f4", "False", "(2,)", &floats), Dtype::F32, &[2]).unwrap(), [1.5, -2.0]);
        }
        let halves: Vec<u8> = [0x3c00u16, 0xc000].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(parse(&file(1, "<f2", "False", "(1, 2)", &halves), Dtype::F32, &[1, 2]).unwrap(), [1.0, -2.0]);
        assert_eq!(parse(&file(1, "|i1", "False", "(2, 1)", &[255, 3]), Dtype::F32, &[2, 1]).unwrap(), [-1.0, 3.0]);
    }

    #[test]
    fn complex_numbers_are_pairs_on_an_axis_of_their_own() {
        let parts: Vec<u8> = [1.5f32, -2.0, 0.25, 8.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let complex = file(1, "<c8", "False", "(2,)", &parts);
        assert_eq!(parse(&complex, Dtype::F32, &[2, 2]).unwrap(), [1.5, -2.0, 0.25, 8.0]);
        assert!(parse(&complex, Dtype::F32, &[4]).is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        for dtype in Dtype::ALL {
            let values = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
            let bytes = npy_bytes(dtype, &[2, 3], &element::encode(dtype, &values));
            assert_eq!(parse(&bytes, Dtype::F32, &[2, 3]).unwrap(), values, "{}", dtype.name());
        }
        assert_eq!(npy_bytes(Dtype::U8, &[3], &[1, 2, 3]).len(), 128 + 3);
    }

    #[test]
    fn bytes_have_the_type_and_the_shape_of_the_buffer() {
        let raw = file(1, "|V1", "False", "(8,)", &[0x80, 0x3f, 0, 0x40, 0, 0xc0, 0, 0]);
        assert_eq!(parse(&raw, Dtype::Bf16, &[2, 2]).unwrap(), [1.0, 2.0, -2.0, 0.0]);
        assert_eq!(parse(&raw, Dtype::U8, &[8]).unwrap()[..2], [128.0, 63.0]);
        assert!(parse(&raw, Dtype::F32, &[4]).unwrap_err().contains("8 bytes of 8, but the buffer is [4] of f32"));
        for length in 0..raw.len() {
            assert!(parse(&raw[..length], Dtype::Bf16, &[2, 2]).is_err(), "cut at {length}");
        }
        assert!(parse(&file(1, "|V1", "False", "(2, 2)", &[0; 4]), Dtype::F32, &[1]).unwrap_err().contains("one axis"));
    }

    #[test]
    fn arrays_of_another_shape_or_dtype_are_refused() {
        let good = file(1, "|u1", "False", "(3,)", &[1, 2, 3]);
        assert!(parse(&good, Dtype::F32, &[3]).is_ok());
        assert!(parse(&good, Dtype::F32, &[1, 3]).unwrap_err().contains("shape [3]"));
        assert!(parse(&file(1, "|u1", "True", "(3,)", &[1, 2, 3]), Dtype::F32, &[3]).unwrap_err().contains("C order"));
        assert!(parse(&file(1, ">f4", "False", "(1,)", &[0; 4]), Dtype::F32, &[1]).unwrap_err().contains(">f4"));
        assert!(parse(&file(9, "|u1", "False", "(3,)", &[1, 2, 3]), Dtype::F32, &[3]).is_err());
        for length in 0..good.len() {
            assert!(parse(&good[..length], Dtype::F32, &[3]).is_err(), "cut at {length}");
        }
        let wide = file(1, "<i8", "False", "(1,)", &i64::MAX.to_le_bytes());
        assert!(
            parse(&wide, Dtype::F32, &[1]).unwrap_err().contains("2^53"),
            "a value that float64 rounds is not exact"
        );
        let huge = file(1, "<f8", "False", "(4294967296, 4294967296)", &[]);
        assert!(parse(&huge, Dtype::F32, &[4_294_967_296, 4_294_967_296]).is_err());
    }
}
