//! Tensors of a safetensors file: eight bytes with the length of a JSON header, the header, and the elements in C
//! order, as documented by huggingface/safetensors.

use super::error::ImportError;
use indexmap::IndexMap;
use ncugate_cuda::prove::npy_bytes;
use ncugate_model::Dtype;
use serde::Deserialize;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Size limit of a header in bytes: that of the format's own readers.
const MAX_HEADER: u64 = 100_000_000;

#[derive(Debug, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

/// A tensor of a file as a NumPy file. It must have this type and these extents.
pub(super) fn npy_of(path: &Path, key: &str, dtype: Dtype, extents: &[usize]) -> Result<Vec<u8>, ImportError> {
    let unreadable = |source| ImportError::Read { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(unreadable)?;
    let length = u64::from_le_bytes(length);
    let begin = length.checked_add(8).filter(|begin| length <= MAX_HEADER && *begin <= size);
    let begin = begin.ok_or_else(|| ImportError::format(path, "it is not a safetensors file"))?;
    let mut header = vec![0; usize::try_from(length).unwrap_or(0)];
    file.read_exact(&mut header).map_err(unreadable)?;
    let header: IndexMap<String, Value> =
        serde_json::from_slice(&header).map_err(|error| ImportError::format(path, format!("its header: {error}")))?;
    let entry = header.get(key).ok_or_else(|| ImportError::format(path, format!("it has no tensor `{key}`")))?;
    let entry: Entry =
        serde_json::from_value(entry.clone()).map_err(|error| ImportError::format(path, error.to_string()))?;
    let own = dtype_of(&entry.dtype).ok_or_else(|| {
        ImportError::format(
            path,
            format!("tensor `{key}` has the type {}, which a phase does not support", entry.dtype),
        )
    })?;
    let [from, to] = entry.data_offsets;
    let bytes = to.checked_sub(from).and_then(|bytes| usize::try_from(bytes).ok());
    let expected = extents.iter().try_fold(own.size(), |size, extent| size.checked_mul(*extent));
    // a zero-dimensional tensor is a buffer of one element
    let shape = if entry.shape.is_empty() { vec![1] } else { entry.shape };
    if own != dtype || shape != extents || bytes.is_none() || bytes != expected || begin.saturating_add(to) > size {
        let what =
            format!("tensor `{key}` is {} {shape:?}, but the definition has {} {extents:?}", own.name(), dtype.name());
        return Err(ImportError::format(path, what));
    }
    let mut elements = vec![0; bytes.unwrap_or(0)];
    file.seek(SeekFrom::Start(begin + from)).map_err(unreadable)?;
    file.read_exact(&mut elements).map_err(unreadable)?;
    Ok(npy_bytes(own, &shape, &elements))
}

fn dtype_of(name: &str) -> Option<Dtype> {
    Some(match name {
        "F64" => Dtype::F64,
        "F32" => Dtype::F32,
        "F16" => Dtype::F16,
        "BF16" => Dtype::Bf16,
        "F8_E4M3" => Dtype::Fp8E4m3,
        "F8_E5M2" => Dtype::Fp8E5m2,
        "I64" => Dtype::I64,
        "I32" => Dtype::I32,
        "I16" => Dtype::I16,
        "I8" => Dtype::I8,
        "U8" => Dtype::U8,
        "BOOL" => Dtype::Bool,
        _ => return None,
    })
}
