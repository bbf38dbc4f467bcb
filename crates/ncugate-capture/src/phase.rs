//! The phase that replays a captured launch.

use crate::CaptureError;
use crate::code::{OriginalCode, kernel_code};
use crate::memory::{MemoryPart, guessed, moments, parts, write_raw};
use crate::record::{CaptureRecord, CapturedMap, CapturedVariable, MAP, MapAxis, PointerArray};
use ncugate_model::cubin::variables;
use ncugate_model::number::text::line;
use ncugate_model::{Dtype, KernelName, demangled};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Attributes of launches by the driver's numbers: cluster, cooperative, carveout.
const CLUSTER: u32 = 4;
const COOPERATIVE: u32 = 2;
const CARVEOUT: u32 = 14;
/// Attributes that change nothing for a launch alone: none, programmatic launches, priority, memory domains.
const WITHOUT_EFFECT: [u32; 6] = [0, 6, 7, 8, 9, 10];

/// The shape of a captured phase and its only dimension, by which others know it.
const CAPTURED_SHAPE: &str = "captured";
const CAPTURED_DIMENSION: &str = "LAUNCH";

/// Whether the code of a library is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodePolicy {
    /// Only code of the program itself.
    Own,
    /// Code of libraries too: their licences allow it.
    Libraries,
}

/// Where the phase of a capture is written.
#[derive(Debug, Clone, Copy)]
pub struct PhaseRequest<'a> {
    /// The folder, which exists.
    pub folder: &'a Path,
    /// Its path from the root of the phase's paths.
    pub prefix: &'a Path,
    /// The name of the phase.
    pub name: &'a str,
    pub launch: u64,
    pub code: CodePolicy,
}

/// Writes code, contents, `phase.toml` and, if a buffer can be redrawn, `hidden.toml`. Returns the texts of both.
///
/// # Errors
/// The launch cannot be replayed, or a file cannot be written.
pub fn write_phase(
    capture: &CaptureRecord,
    request: PhaseRequest<'_>,
) -> Result<(String, Option<String>), CaptureError> {
    let code = kernel_code(capture)?;
    if let (Some(library), CodePolicy::Own) = (&code.library, request.code) {
        return Err(CaptureError::Library { kernel: demangled(&capture.kernel), library: library.clone() });
    }
    let replay = Replay { capture, parts: parts(capture, &pointers(capture))? };
    if !replay.parts.iter().any(|part| part.is_changed) {
        return Err(CaptureError::Unchanged);
    }
    let redrawn = replay.redrawn(&code)?;
    // A reference entry is machine code, so PTX has no hidden inputs.
    let hidden = match code.form {
        "cubin" if !redrawn.is_empty() => Some(replay.text(&code, request, Some(&redrawn))?),
        _ => None,
    };
    let text = replay.text(&code, request, None)?;
    let path = |name: &str| request.folder.join(name);
    let write = |name: &str, bytes: &[u8]| fs::write(path(name), bytes).map_err(CaptureError::file(path(name)));
    write(&format!("kernel.{}", code.form), &code.bytes)?;
    for folder in ["inputs", "answers"] {
        fs::create_dir(path(folder)).map_err(CaptureError::file(path(folder)))?;
    }
    for variable in replay.filled(&code) {
        let path = path("inputs").join(format!("{}.npy", variable.file));
        write_raw(&path, &capture.contents(&variable.file, "before")?)?;
    }
    for (folder, when) in [("answers", "after"), ("inputs", "before")] {
        for part in replay.parts.iter().filter(|part| folder == "inputs" || part.is_changed) {
            let allocation = &capture.allocations[part.allocation];
            let (name, path) = (format!("m{}", part.allocation), path(folder).join(format!("{}.npy", part.name)));
            if part.bytes == allocation.bytes {
                fs::rename(capture.folder.join(format!("{name}.{when}")), &path).map_err(CaptureError::file(path))?;
            } else {
                let from = (part.start - allocation.address) as usize;
                write_raw(&path, &capture.contents(&name, when)?[from..from + part.bytes as usize])?;
            }
        }
    }
    write("phase.toml", text.as_bytes())?;
    hidden.iter().try_for_each(|text| write("hidden.toml", text.as_bytes()))?;
    Ok((text, hidden))
}

/// The key of a buffer's `init`.
fn init_key(redrawn: Option<&[&str]>, name: &str) -> &'static str {
    if redrawn.is_some_and(|names| names.contains(&name)) { "redrawn" } else { "npy" }
}

/// The likely type of a variable's elements.
fn variable_dtype(capture: &CaptureRecord, file: &str) -> Result<Dtype, CaptureError> {
    let content = capture.contents(file, "before")?;
    let dtype = guessed(&content);
    Ok(if content.len().is_multiple_of(dtype.size()) { dtype } else { Dtype::U8 })
}

/// A text of TOML. JSON has the same escapes, and may leave only this control character as it is.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Every pointer of the arguments, with a name for its buffer.
fn pointers(capture: &CaptureRecord) -> BTreeMap<u64, String> {
    let mut found = BTreeMap::new();
    for (at, bytes) in capture.parameters.iter().enumerate() {
        for (word, value) in words(bytes) {
            let name = if bytes.len() == 8 { format!("p{at}") } else { format!("p{at}_{word}") };
            if let Some(map) = capture.maps.iter().find(|map| map.parameter == at && map.contains(word)) {
                found.entry(map.address).or_insert_with(|| map.name());
                continue;
            }
            match array(capture, value) {
                Some(array) => {
                    array.values.iter().enumerate().filter(|(_, value)| **value != 0).for_each(|(entry, value)| {
                        found.entry(*value).or_insert_with(|| format!("{name}_{entry}"));
                    })
                }
                None if is_captured(capture, value) => drop(found.entry(value).or_insert(name)),
                None => {}
            }
        }
    }
    found
}

/// The aligned words of 8 bytes, with their places.
fn words(bytes: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    bytes.as_chunks::<8>().0.iter().enumerate().map(|(at, word)| (8 * at, u64::from_le_bytes(*word)))
}

fn is_captured(capture: &CaptureRecord, value: u64) -> bool {
    capture.allocations.iter().any(|own| own.address <= value && value < own.address + own.bytes)
}

fn array(capture: &CaptureRecord, value: u64) -> Option<&PointerArray> {
    capture.arrays.iter().find(|array| array.address == value)
}

struct Replay<'a> {
    capture: &'a CaptureRecord,
    parts: Vec<MemoryPart>,
}

impl Replay<'_> {
    /// The variables of the kernel's own cubin that the host filled; PTX is assembled later.
    fn filled(&self, code: &OriginalCode) -> Vec<&CapturedVariable> {
        let known = variables(&code.bytes).unwrap_or_default();
        let is_known = |own: &&CapturedVariable| known.iter().any(|variable| variable.symbol == own.name);
        self.capture.variables.iter().filter(is_known).collect()
    }

    /// Names of the buffers of floating-point numbers that are not all zero: whatever they hold, no kernel takes them for an
    /// index or a pointer.
    fn redrawn(&self, code: &OriginalCode) -> Result<Vec<&str>, CaptureError> {
        let mut names = Vec::new();
        for part in self.parts.iter().filter(|part| part.dtype.has_nan()) {
            let from = (part.start - self.capture.allocations[part.allocation].address) as usize;
            let content = self.capture.contents(&format!("m{}", part.allocation), "before")?;
            if content[from..from + part.bytes as usize].iter().any(|byte| *byte != 0) {
                names.push(part.name.as_str());
            }
        }
        for CapturedVariable { file, .. } in self.filled(code) {
            let is_zero = self.capture.contents(file, "before")?.iter().all(|byte| *byte == 0);
            if variable_dtype(self.capture, file)?.has_nan() && !is_zero {
                names.push(file);
            }
        }
        Ok(names)
    }

    /// The phase with the captured answer, or with buffers redrawn and the original machine code as the reference.
    fn text(
        &self,
        code: &OriginalCode,
        request: PhaseRequest<'_>,
        redrawn: Option<&[&str]>,
    ) -> Result<String, CaptureError> {
        let capture = self.capture;
        let file = |name: &str| quoted(&request.prefix.join(name).display().to_string());
        let (code_file, entry) = (format!("kernel.{}", code.form), quoted(&capture.kernel));
        let program = Path::new(&capture.program).file_name().unwrap_or_default().to_string_lossy();
        let head = format!("launch {} of `{}` in {program}", request.launch, demangled(&capture.kernel));
        let mut text = format!(
            "# Captured by `ncugate capture`: {}. CHECK marks a guess.\n\
             # The files hold the program's data. Share this folder only if they may be shared.\n",
            line(&head)
        );
        if let Some(library) = &code.library {
            let library = line(library);
            let _ =
                writeln!(text, "# {code_file} is code of {library}, whose licence decides whether it may be shared.");
        }
        let (name, kind, seeds) = match redrawn {
            Some(_) => (format!("{}-hidden", request.name), "hidden inputs", "[0, 1]"),
            None => (request.name.to_owned(), "captured", "[0]"),
        };
        let title = format!("{} ({kind})", KernelName::parse(&capture.kernel).function());
        let _ = write!(
            text,
            "[phase]\nname = {}\ntitle = {}\n\n[workload]\nseeds = {seeds}\n",
            quoted(&name),
            quoted(&title)
        );
        let _ = match redrawn {
            Some(_) => writeln!(
                text,
                "# The original machine code answers. Seed 0 has the captured contents; other seeds, and hidden ones, redraw buffers.\n\
                 reference = {{ entry = {entry}, source = {}, grid = {:?}, block = {:?} }}",
                file(&code_file),
                capture.grid,
                capture.block
            ),
            None => writeln!(
                text,
                "# One captured input: laws of inputs do not apply, and a candidate is proven for this input alone.\n\
                 reference = {{ npy = {} }}",
                file("answers/{{ buffer }}.npy")
            ),
        };
        let _ = write!(
            text,
            "# Bit by bit. A candidate that rounds differently needs a bound, such as {{ atol = 1e-3, rtol = 1e-3 }}.\n\
             tolerance = {{ max_abs = 0{} }}\n\n\
             [workload.shapes]\n{CAPTURED_SHAPE} = {{ {CAPTURED_DIMENSION} = {} }}\n\n[workload.buffers]\n",
            if self.parts.iter().any(|part| part.has_nan) { ", allow_nan = true" } else { "" },
            request.launch,
        );
        for part in &self.parts {
            let role = if part.is_changed { "role = \"inout\", " } else { "" };
            let (name, dtype, elements) = (&part.name, part.dtype.name(), part.bytes / part.dtype.size() as u64);
            let kind = init_key(redrawn, name);
            let init = file(&format!("inputs/{name}.npy"));
            let more = if part.is_changed {
                "; role \"output\" without `init`, if the kernel writes all of it and reads nothing"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "# CHECK: the type is a guess from the bits{more}{}\n\
                 {name} = {{ dtype = {dtype:?}, shape = [{elements}], {role}init = {{ {kind} = {init} }} }}",
                self.note(part, redrawn.map(|_| kind))?
            );
        }
        let filled = self.filled(code);
        for CapturedVariable { file: name, bytes, .. } in &filled {
            let (dtype, init) = (variable_dtype(capture, name)?, file(&format!("inputs/{name}.npy")));
            let kind = init_key(redrawn, name);
            let (elements, dtype) = (bytes / dtype.size() as u64, dtype.name());
            let _ =
                writeln!(text, "{name} = {{ dtype = {dtype:?}, shape = [{elements}], init = {{ {kind} = {init} }} }}");
        }
        let _ = write!(text, "\n[kernel]\n{} = {}\nentry = {entry}\n", code.form, file(&code_file));
        text.push_str(&self.launch()?);
        if !filled.is_empty() {
            text.push_str("[kernel.symbols]\n");
            for variable in &filled {
                let _ = writeln!(text, "{} = {:?}", quoted(&variable.name), variable.file);
            }
        }
        let known = variables(&code.bytes).unwrap_or_default();
        for variable in known.iter().filter(|variable| !filled.iter().any(|own| own.name == variable.symbol)) {
            let name = demangled(&variable.symbol);
            let note = format!("variable `{name}` has its first value; the program's host code did not fill it");
            let _ = writeln!(text, "# CHECK: {}", line(&note));
        }
        let _ = write!(
            text,
            "\n[[baseline]]\nname = \"original\"\n\n\
             # Add candidates{}: [[variant]] with `kernel = {{ source = \"mine.cu\", entry = \"mine\", block = {:?} }}`.\n\
             [[variant]]\nname = \"replay\"\n\n\
             [[gate]]\nname = \"correct\"\nrequire = \"correct == 1\"\n",
            if redrawn.is_none() { " to hidden.toml, if there is one" } else { "" },
            capture.block
        );
        Ok(text)
    }

    /// The keys of the launch.
    fn launch(&self) -> Result<String, CaptureError> {
        let capture = self.capture;
        let mut text = format!("grid = {:?}\nblock = {:?}\n", capture.grid, capture.block);
        if capture.shared > 0 {
            let _ = writeln!(text, "dynamic_shared = {}", capture.shared);
        }
        let (mut is_cooperative, mut carveout) = (false, -1);
        for &[id, value @ ..] in &capture.attributes {
            match id {
                CLUSTER if value == [1; 3] => {}
                CLUSTER => drop(writeln!(text, "cluster = {value:?}")),
                COOPERATIVE => is_cooperative |= value[0] != 0,
                CARVEOUT => carveout = value[0].cast_signed(),
                _ if WITHOUT_EFFECT.contains(&id) => {}
                _ => {
                    let kernel = demangled(&capture.kernel);
                    let reason = format!("attribute {id} of its launch (CUlaunchAttributeID) is not captured");
                    return Err(CaptureError::Refused(format!("`{kernel}`: {reason}")));
                }
            }
        }
        if is_cooperative {
            text.push_str("cooperative = true\n");
        }
        if carveout >= 0 {
            let _ = writeln!(text, "carveout = {carveout}");
        }
        let varied = "# CHECK: another value in a later launch: a candidate with this one as a constant passes\n    ";
        let argument = |(at, bytes): (usize, &Vec<u8>)| {
            let note = if capture.varied.contains(&at) { varied } else { "" };
            note.to_owned() + &self.argument(at, bytes)
        };
        let arguments: Vec<String> = capture.parameters.iter().enumerate().map(argument).collect();
        let _ = writeln!(text, "args = [\n    {},\n]", arguments.join(",\n    "));
        if !capture.maps.is_empty() {
            text.push_str("[kernel.tensor_maps]\n");
            for map in &capture.maps {
                let _ = writeln!(text, "{}_map = {}", map.name(), self.tensor_map(map)?);
            }
        }
        Ok(text)
    }

    /// A tensor map of the same view, to be encoded for the replay's addresses.
    fn tensor_map(&self, map: &CapturedMap) -> Result<String, CaptureError> {
        let refused = |what: &str| {
            let (kernel, at, offset) = (demangled(&self.capture.kernel), map.parameter, map.offset);
            let reason = format!("`{kernel}`: parameter {at} + {offset} is a tensor map {what}, which is not captured");
            CaptureError::Refused(reason)
        };
        let dtype = map.dtype().ok_or_else(|| refused("of 4-bit, 6-bit or TF32 elements, or of flushed denormals"))?;
        let of = |words: &[&'static str], number: u32| words.get(number as usize).copied();
        let swizzle = of(&["0", "32", "64", "128"], map.swizzle).filter(|_| map.interleave == 0);
        let swizzle = swizzle.ok_or_else(|| refused("that is interleaved or swizzles larger atoms than 16 bytes"))?;
        let promotion = of(&["0", "64", "128", "256"], map.promotion).ok_or_else(|| refused("of unknown promotion"))?;
        let fill = of(&["none", "nan_request_zero_fma"], map.fill).ok_or_else(|| refused("of unknown fill"))?;
        let part = self.parts.iter().find(|part| part.start == map.address && part.dtype == dtype);
        let part = part.filter(|part| map.end(dtype) <= part.start + part.bytes);
        let part = part.ok_or_else(|| refused("whose memory overlaps that of another argument at another address"))?;
        let list = |of: &dyn Fn(&MapAxis) -> u64| format!("{:?}", map.axes.iter().rev().map(of).collect::<Vec<_>>());
        let strides: Vec<u64> = map.axes[1..].iter().rev().map(|axis| axis.stride / dtype.size() as u64).collect();
        let strides = if strides.is_empty() { String::new() } else { format!("strides = {strides:?}, ") };
        Ok(format!(
            "{{ buffer = {:?}, shape = {}, {strides}box = {}, element_strides = {}, swizzle = {swizzle}, \
             l2_promotion = {promotion}, oob_fill = {fill:?} }}",
            part.name,
            list(&|axis| axis.size),
            list(&|axis| u64::from(axis.extent)),
            list(&|axis| u64::from(axis.step)),
        ))
    }

    /// The tensor map at a place of a parameter.
    fn map_at(&self, parameter: usize, offset: usize) -> Option<String> {
        let map = self.capture.maps.iter().find(|map| (map.parameter, map.offset) == (parameter, offset))?;
        Some(format!("\"{}_map\"", map.name()))
    }

    /// A parameter as the phase says it.
    fn argument(&self, parameter: usize, bytes: &[u8]) -> String {
        if let Some(map) = self.map_at(parameter, 0).filter(|_| bytes.len() == MAP) {
            return map;
        }
        if let &[a, b, c, d] = bytes {
            let (whole, real) = (u32::from_le_bytes([a, b, c, d]), f32::from_le_bytes([a, b, c, d]));
            // Integers of this size are rarer than floats.
            return if (1e-10..1e10).contains(&real.abs()) {
                format!("# CHECK: or the integer {whole}\n    {{ value = {real:?}, type = \"f32\" }}")
            } else {
                format!("{{ value = {}, type = \"i32\" }}", whole.cast_signed())
            };
        }
        match self.pointer(bytes) {
            Some(pointer) => pointer,
            None if bytes.len() == 8 => {
                let whole = words(bytes).next().map_or(0, |(_, word)| word);
                if whole > i64::MAX.cast_unsigned() {
                    self.fields(parameter, bytes)
                } else {
                    format!("{{ value = {whole}, type = \"i64\" }}")
                }
            }
            None if bytes.len() == 2 => {
                format!("{{ value = {}, type = \"u16\" }}", u16::from_le_bytes([bytes[0], bytes[1]]))
            }
            None if bytes.len() == 1 => format!("{{ value = {}, type = \"u8\" }}", bytes[0]),
            None => self.fields(parameter, bytes),
        }
    }

    /// A struct of the same bytes.
    fn fields(&self, parameter: usize, bytes: &[u8]) -> String {
        let (mut fields, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
            if let Some(map) = self.map_at(parameter, at) {
                fields.push(map);
                at += MAP;
                continue;
            }
            if let Some(pointer) = rest.get(..8).filter(|_| at.is_multiple_of(8)).and_then(|word| self.pointer(word)) {
                fields.push(pointer);
                at += 8;
                continue;
            }
            let (size, kind) = [(4, "u32"), (2, "u16"), (1, "u8")]
                .into_iter()
                .find(|(size, _)| rest.len() >= *size)
                .unwrap_or((1, "u8"));
            let value = rest[..size].iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
            fields.push(format!("{{ value = {value}, type = \"{kind}\" }}"));
            at += size;
        }
        format!("{{ struct = [{}] }}", fields.join(", "))
    }

    /// A word that points into captured memory.
    fn pointer(&self, bytes: &[u8]) -> Option<String> {
        let value = u64::from_le_bytes(bytes.try_into().ok()?);
        let Some(array) = array(self.capture, value) else { return self.place(value) };
        let entries = array.values.iter().map(|value| self.place(*value).unwrap_or_else(|| "\"nullptr\"".to_owned()));
        Some(format!("{{ pointers = [{}] }}", entries.collect::<Vec<_>>().join(", ")))
    }

    /// A pointer into a buffer.
    fn place(&self, value: u64) -> Option<String> {
        let part = self.parts.iter().find(|part| part.contains(value))?;
        let name = &part.name;
        Some(match (value - part.start) / part.dtype.size() as u64 {
            0 => format!("{name:?}"),
            offset => format!("{{ buffer = {name:?}, offset = {offset} }}"),
        })
    }

    /// Notes on the content of a buffer: addresses in it, which are not those of the replay, and, of hidden inputs, its `init`.
    fn note(&self, part: &MemoryPart, hidden: Option<&str>) -> Result<String, CaptureError> {
        let from = (part.start - self.capture.allocations[part.allocation].address) as usize;
        let content = self.capture.contents(&format!("m{}", part.allocation), "before")?;
        let mut held =
            words(&content[from..from + part.bytes as usize]).filter(|(_, word)| is_captured(self.capture, *word));
        let note =
            |(at, _)| format!("\n# CHECK: byte {at} of it is an address of captured memory, which is not followed");
        let mut notes = held.next().map(note).unwrap_or_default();
        let first = self.first(part) as usize - part.start as usize;
        match (hidden, moments(part.dtype, &content[from + first..])) {
            (Some("redrawn"), Some((mean, std))) => drop(write!(
                notes,
                "\n# For laws of inputs: init = {{ normal = {{ mean = {mean:.3e}, std = {std:.3e} }} }}"
            )),
            (Some("npy"), _) if !part.is_changed => {
                notes.push_str("\n# CHECK: every seed has these contents; a kernel that ignores them may pass")
            }
            _ => {}
        }
        Ok(notes)
    }

    /// The first address of a buffer that an argument has.
    fn first(&self, part: &MemoryPart) -> u64 {
        pointers(self.capture).into_keys().find(|address| part.contains(*address)).unwrap_or(part.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::HEAD;

    /// A capture of two allocations at 2^33 and 2^34: the launch fills the second.
    fn captured(folder: &Path, parameters: &str, more: &str) -> CaptureRecord {
        let (x, y) = (1u64 << 33, 1u64 << 34);
        let files = [("m0.before", 0u8), ("m0.after", 0), ("m1.before", 0), ("m1.after", 1)];
        for (name, value) in files {
            fs::write(folder.join(name), [value; 64 + HEAD]).unwrap();
        }
        let text = format!(
            "{{\"kernel\": \"k\", \"program\": \"p\", \"capability\": [9, 0], \"grid\": [1, 1, 1], \"block\": [32, 1, 1], \
             \"shared\": 64, \"parameters\": {parameters}, \"variables\": [], \"images\": [], {more}, \
             \"allocations\": [{{\"address\": {x}, \"bytes\": 64}}, {{\"address\": {y}, \"bytes\": 64}}]}}"
        );
        fs::write(folder.join("capture.json"), text).unwrap();
        CaptureRecord::read(folder).unwrap()
    }

    fn launch(parameters: &[Vec<u8>], more: &str) -> Result<String, CaptureError> {
        let folder = tempfile::tempdir().unwrap();
        let capture = captured(folder.path(), &format!("{parameters:?}"), more);
        Replay { parts: parts(&capture, &pointers(&capture))?, capture: &capture }.launch()
    }

    #[test]
    fn arguments_keep_their_bytes() {
        let x = (1u64 << 33) + 16;
        let pointer = x.to_le_bytes().to_vec();
        let fields = [&[1, 0, 0, 0, 3, 0, 0, 0][..], &(1u64 << 34).to_le_bytes(), &[3, 0, 0]].concat();
        let numbers = [vec![7, 0, 0, 0], 0.25f32.to_le_bytes().to_vec(), vec![255; 8], vec![5]];
        let parameters = [&[pointer, fields][..], &numbers].concat();
        let attributes = "\"maps\": [], \"arrays\": [], \"attributes\": [[4, 2, 1, 1]]";
        let text = launch(&parameters, attributes).unwrap();
        for line in [
            "cluster = [2, 1, 1]\n",
            "dynamic_shared = 64\n",
            "{ buffer = \"p0\", offset = 4 },\n",
            "{ struct = [{ value = 1, type = \"u32\" }, { value = 3, type = \"u32\" }, \"p1_8\", { value = 3, type = \"u16\" }, { value = 0, type = \"u8\" }] }",
            "{ value = 7, type = \"i32\" }",
            "{ value = 0.25, type = \"f32\" }",
            "{ struct = [{ value = 4294967295, type = \"u32\" }, { value = 4294967295, type = \"u32\" }] }",
            "{ value = 5, type = \"u8\" }",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
    }

    #[test]
    fn an_array_of_pointers_is_followed_and_an_unknown_attribute_refused() {
        let (x, y) = (1u64 << 33, 1u64 << 34);
        let array = format!(
            "\"maps\": [], \"arrays\": [{{\"address\": {x}, \"values\": [{}, 0, {y}]}}], \"attributes\": []",
            y + 32
        );
        let text = launch(&[x.to_le_bytes().to_vec()], &array).unwrap();
        let entries = "{ pointers = [{ buffer = \"p0_2\", offset = 32 }, \"nullptr\", \"p0_2\"] }";
        assert!(text.contains(entries), "{text}");
        let window = "\"maps\": [], \"arrays\": [], \"attributes\": [[1, 0, 0, 0]]";
        let refused = launch(&[x.to_le_bytes().to_vec()], window).unwrap_err().to_string();
        assert!(refused.contains("attribute 1 of its launch"), "{refused}");
    }

    #[test]
    fn hostile_names_stay_in_their_strings_and_comments() {
        let hostile = "k\"]\n[[gate]]\nname = \"x\u{7f}\u{1b}\\";
        let folder = tempfile::tempdir().unwrap();
        let capture = captured(folder.path(), "[[7, 0, 0, 0]]", "\"maps\": [], \"arrays\": [], \"attributes\": []");
        let capture = CaptureRecord { kernel: hostile.to_owned(), program: format!("/bin/{hostile}"), ..capture };
        let code = OriginalCode { form: "cubin", bytes: Vec::new(), library: Some(hostile.to_owned()) };
        let (folder, prefix, launch) = (folder.path(), Path::new(hostile), 0);
        let request = PhaseRequest { folder, prefix, name: hostile, launch, code: CodePolicy::Own };
        let replay = Replay {
            parts: parts(&capture, &BTreeMap::from([(1 << 34, "p0".to_owned())])).unwrap(),
            capture: &capture,
        };
        for redrawn in [None, Some(&["p0"][..])] {
            let text = replay.text(&code, request, redrawn).unwrap();
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(table["kernel"]["entry"].as_str(), Some(hostile));
            assert_eq!(table["gate"].as_array().map(Vec::len), Some(1));
            assert!(
                text.lines().filter(|line| line.starts_with('#')).all(|line| !line.contains(char::is_control)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_tensor_map_is_a_view_of_the_buffer_at_its_address() {
        let map = |address: u64, kind: u32, swizzle: u32, stride: u64| {
            format!(
                "\"arrays\": [], \"attributes\": [], \"maps\": [{{\"parameter\": 0, \"offset\": 64, \"type\": {kind}, \"address\": {address}, \
                 \"interleave\": 0, \"swizzle\": {swizzle}, \"promotion\": 2, \"fill\": 1, \"axes\": [\
                 {{\"size\": 8, \"stride\": 0, \"extent\": 8, \"step\": 1}}, {{\"size\": 2, \"stride\": {stride}, \"extent\": 1, \"step\": 2}}]}}]"
            )
        };
        let parameters = [[[7; 64], [9; 64], [9; 64], [7; 64]].concat()];
        let x = 1u64 << 33;
        let text = launch(&parameters, &map(x + 16, 6, 2, 32)).unwrap();
        let view = "p0_64_map = { buffer = \"p0_64\", shape = [2, 8], strides = [16], box = [1, 8], element_strides = [2, 1], swizzle = 64, l2_promotion = 128, oob_fill = \"nan_request_zero_fma\" }";
        assert!(text.contains(view) && text.contains(", \"p0_64_map\", {"), "{text}");
        for (record, reason) in [
            (map(x + 16, 11, 2, 32), "of 4-bit, 6-bit or TF32 elements"),
            (map(x + 16, 6, 4, 32), "that is interleaved or swizzles larger atoms"),
            (map(x + 16, 6, 2, 48), "whose memory overlaps"),
        ] {
            let error = launch(&parameters, &record).unwrap_err().to_string();
            assert!(error.contains(&format!("parameter 0 + 64 is a tensor map {reason}")), "{error}");
        }
    }

    #[test]
    fn a_truncated_file_is_refused() {
        for name in ["m0.before", "m0.after", "m1.before", "m1.after", "capture.json"] {
            let folder = tempfile::tempdir().unwrap();
            captured(folder.path(), "[]", "\"maps\": [], \"arrays\": [], \"attributes\": []");
            let path = folder.path().join(name);
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..whole.len() - 3]).unwrap();
            let error = CaptureRecord::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("capture again"), "{error}");
        }
    }
}
