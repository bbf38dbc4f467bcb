//! Tensors as other projects describe them.

use ncugate_model::Dtype;
use std::str::FromStr;

/// Element types that PyTorch and phases both have, by PyTorch's names.
const TORCH: [(&str, Dtype); 12] = [
    ("float64", Dtype::F64),
    ("float32", Dtype::F32),
    ("float16", Dtype::F16),
    ("bfloat16", Dtype::Bf16),
    ("float8_e4m3fn", Dtype::Fp8E4m3),
    ("float8_e5m2", Dtype::Fp8E5m2),
    ("int64", Dtype::I64),
    ("int32", Dtype::I32),
    ("int16", Dtype::I16),
    ("int8", Dtype::I8),
    ("uint8", Dtype::U8),
    ("bool", Dtype::Bool),
];

/// The element type with this PyTorch name.
pub(super) fn dtype_of(torch: &str) -> Option<Dtype> {
    TORCH.iter().find(|(name, _)| *name == torch).map(|(_, dtype)| *dtype)
}

pub(super) fn torch_name(dtype: Dtype) -> Option<&'static str> {
    TORCH.iter().find(|(_, known)| *known == dtype).map(|(name, _)| *name)
}

/// A tensor described on the command line: `x=f32[N, 2 * K]` or `mask=bool[N]:{ mask = 0.5 }`.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenTensor {
    pub name: String,
    pub dtype: Dtype,
    /// Its extents, expressions over the problem's constants; empty for a zero-dimensional tensor of one element.
    pub shape: Vec<String>,
    /// Its initialisation, in the notation of a phase.
    pub init: Option<toml::Value>,
}

impl FromStr for GivenTensor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "`{text}` is not a tensor; write NAME=TYPE[EXTENT, ...], such as x=f32[N, 64] or x=i32[N]:{{ indices = \"V\" }}"
            )
        };
        let (name, rest) = text.split_once('=').ok_or_else(form)?;
        let (dtype, rest) = rest.split_once('[').ok_or_else(form)?;
        let (extents, init) = rest.split_once(']').ok_or_else(form)?;
        let (name, dtype) = (name.trim().to_owned(), dtype.trim());
        let known = TORCH.iter().find(|(torch, known)| *torch == dtype || known.name() == dtype);
        let dtype = known.filter(|_| is_identifier(&name)).ok_or_else(form)?.1;
        let shape =
            extents.split(',').map(|extent| extent.trim().to_owned()).filter(|extent| !extent.is_empty()).collect();
        let init = match init.trim().strip_prefix(':') {
            Some(init) => {
                let table: toml::Table = format!("init = {init}").parse().map_err(|_| form())?;
                table.get("init").cloned()
            }
            None if init.trim().is_empty() => None,
            None => return Err(form()),
        };
        Ok(Self { name, dtype, shape, init })
    }
}

/// Whether a text is a Python identifier.
pub(super) fn is_identifier(name: &str) -> bool {
    const WORDS: [&str; 35] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
        "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ];
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    letters && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && !WORDS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_of_the_command_line_has_a_type_extents_and_maybe_an_init() {
        let x: GivenTensor = "x=f16[N, 2 * K]".parse().unwrap();
        assert_eq!((x.name.as_str(), x.dtype, x.shape), ("x", Dtype::F16, vec!["N".to_owned(), "2 * K".to_owned()]));
        let index: GivenTensor = "at=int32[N]:{ indices = \"V\" }".parse().unwrap();
        assert_eq!(index.dtype, Dtype::I32);
        assert_eq!(index.init.unwrap().get("indices").and_then(|v| v.as_str()), Some("V"));
        let loss: GivenTensor = "loss=f32[]".parse().unwrap();
        assert!(loss.shape.is_empty());
        for wrong in ["x", "x=f32", "x=f99[N]", "in=f32[N]", "x=f32[N]constant", "x=f32[N]:{"] {
            assert!(wrong.parse::<GivenTensor>().is_err(), "{wrong}");
        }
    }
}
