//! The phase that replays a captured launch.

use crate::CaptureError;
use crate::code::kernel_code;
use crate::memory::{MemoryPart, moments, parts, write_raw};
use crate::record::{CaptureRecord, PointerArray};
use ncugate_model::cubin::variables;
use ncugate_model::{KernelName, demangled};
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

/// Writes code, contents and `phase.toml`, and returns the text of the phase.
///
/// # Errors
/// The launch cannot be replayed, or a file cannot be written.
pub fn write_phase(capture: &CaptureRecord, request: PhaseRequest<'_>) -> Result<String, CaptureError> {
    let code = kernel_code(capture)?;
    if let (Some(library), CodePolicy::Own) = (&code.library, request.code) {
        return Err(CaptureError::Library { kernel: demangled(&capture.kernel), library: library.clone() });
    }
    let replay = Replay { capture, parts: parts(capture, &pointers(capture))? };
    if !replay.parts.iter().any(|part| part.is_changed) {
        return Err(CaptureError::Unchanged);
    }
    let file = |name: &str| request.prefix.join(name).display().to_string();
    let write = |name: &str, bytes: &[u8]| {
        let path = request.folder.join(name);
        fs::write(&path, bytes).map_err(CaptureError::file(path))
    };
    let code_file = format!("kernel.{}", code.form);
    write(&code_file, &code.bytes)?;
    for folder in ["inputs", "answers"] {
        let path = request.folder.join(folder);
        fs::create_dir(&path).map_err(CaptureError::file(path))?;
    }
    for part in &replay.parts {
        let allocation = &capture.allocations[part.allocation];
        let from = (part.start - allocation.address) as usize;
        for (folder, when) in [("inputs", "before"), ("answers", "after")] {
            if folder == "answers" && !part.is_changed {
                continue;
            }
            let content = capture.contents(&format!("m{}", part.allocation), when)?;
            let path = request.folder.join(folder).join(format!("{}.npy", part.name));
            write_raw(&path, &content[from..from + part.bytes as usize])?;
        }
    }
    // Only variables that the kernel's own cubin has; PTX is assembled later.
    let known = variables(&code.bytes).unwrap_or_default();
    let filled = capture.variables.iter().filter(|own| known.iter().any(|variable| variable.symbol == own.name));
    let filled: Vec<_> = filled.collect();
    for variable in &filled {
        let path = request.folder.join("inputs").join(format!("{}.npy", variable.file));
        write_raw(&path, &capture.contents(&variable.file, "before")?)?;
    }

    let kernel = demangled(&capture.kernel);
    let program = Path::new(&capture.program).file_name().unwrap_or_default().display();
    let mut text = format!(
        "# Captured by `ncugate capture`: launch {} of `{kernel}` in {program}. CHECK marks a guess.\n\
         # The files hold the program's data. Share this folder only if they may be shared.\n",
        request.launch
    );
    if let Some(library) = &code.library {
        let _ = writeln!(text, "# {code_file} is code of {library}, whose licence decides whether it may be shared.");
    }
    let _ = write!(
        text,
        "[phase]\nname = {:?}\ntitle = {:?}\n\n\
         [workload]\nseeds = [0]\n\
         # One captured input: laws of inputs do not apply, and a candidate is proven for this input alone. For hidden inputs, draw the\n\
         # buffers whose values are free, and let the original machine code answer:\n\
         # reference = {{ entry = {:?}, source = {:?}, grid = {:?}, block = {:?} }}\n\
         reference = {{ npy = {:?} }}\n\
         # The launch is replayed bit by bit. A candidate that rounds differently needs a bound, such as {{ atol = 1e-3, rtol = 1e-3 }}.\n\
         tolerance = {{ max_abs = 0{} }}\n\n\
         [workload.shapes]\ncaptured = {{ LAUNCH = {} }}\n\n[workload.buffers]\n",
        request.name,
        format!("{} (captured)", KernelName::parse(&capture.kernel).function()),
        capture.kernel,
        file(&code_file),
        capture.grid,
        capture.block,
        file("answers/{{ buffer }}.npy"),
        if replay.parts.iter().any(|part| part.has_nan) { ", allow_nan = true" } else { "" },
        request.launch,
    );
    for part in &replay.parts {
        let role = if part.is_changed { "role = \"inout\", " } else { "" };
        let init = file(&format!("inputs/{}.npy", part.name));
        let (name, dtype, elements) = (&part.name, part.dtype.name(), part.bytes / part.dtype.size() as u64);
        let (guess, note) = ("CHECK: the type is a guess from the bits", replay.note(part)?);
        let more = if part.is_changed {
            "; role \"output\" without `init`, if the kernel writes all of it and reads nothing"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "# {guess}{more}{note}\n{name} = {{ dtype = {dtype:?}, shape = [{elements}], {role}init = {{ npy = {init:?} }} }}"
        );
    }
    for variable in &filled {
        let (name, init) = (&variable.file, file(&format!("inputs/{}.npy", variable.file)));
        let _ =
            writeln!(text, "{name} = {{ dtype = \"u8\", shape = [{}], init = {{ npy = {init:?} }} }}", variable.bytes);
    }
    let _ = write!(text, "\n[kernel]\n{} = {:?}\nentry = {:?}\n", code.form, file(&code_file), capture.kernel);
    text.push_str(&replay.launch()?);
    if !filled.is_empty() {
        text.push_str("[kernel.symbols]\n");
        for variable in &filled {
            let _ = writeln!(text, "{:?} = {:?}", variable.name, variable.file);
        }
    }
    for variable in known.iter().filter(|variable| !filled.iter().any(|own| own.name == variable.symbol)) {
        let name = demangled(&variable.symbol);
        let _ =
            writeln!(text, "# CHECK: variable `{name}` has its first value; the program's host code did not fill it");
    }
    let _ = write!(
        text,
        "\n[[baseline]]\nname = \"original\"\n\n\
         # Add candidates: [[variant]] with `kernel = {{ source = \"mine.cu\", entry = \"mine\", block = {:?} }}`.\n\
         [[variant]]\nname = \"replay\"\n\n\
         [[gate]]\nname = \"correct\"\nrequire = \"correct == 1\"\n",
        capture.block
    );
    write("phase.toml", text.as_bytes())?;
    Ok(text)
}

/// Every pointer of the arguments, with a name for its buffer.
fn pointers(capture: &CaptureRecord) -> BTreeMap<u64, String> {
    let mut found = BTreeMap::new();
    for (at, bytes) in capture.parameters.iter().enumerate() {
        for (word, value) in words(bytes) {
            let name = if bytes.len() == 8 { format!("p{at}") } else { format!("p{at}_{word}") };
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
        let arguments: Vec<String> = capture.parameters.iter().map(|bytes| self.argument(bytes)).collect();
        let _ = writeln!(text, "args = [\n    {},\n]", arguments.join(",\n    "));
        Ok(text)
    }

    /// A parameter as the phase says it.
    fn argument(&self, bytes: &[u8]) -> String {
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
                    self.fields(bytes)
                } else {
                    format!("{{ value = {whole}, type = \"i64\" }}")
                }
            }
            None if bytes.len() == 2 => {
                format!("{{ value = {}, type = \"u16\" }}", u16::from_le_bytes([bytes[0], bytes[1]]))
            }
            None if bytes.len() == 1 => format!("{{ value = {}, type = \"u8\" }}", bytes[0]),
            None => self.fields(bytes),
        }
    }

    /// A struct of the same bytes.
    fn fields(&self, bytes: &[u8]) -> String {
        let (mut fields, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
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

    /// Notes on the content of a buffer: addresses in it, which are not those of the replay, and its distribution.
    fn note(&self, part: &MemoryPart) -> Result<String, CaptureError> {
        let from = (part.start - self.capture.allocations[part.allocation].address) as usize;
        let content = self.capture.contents(&format!("m{}", part.allocation), "before")?;
        let mut held =
            words(&content[from..from + part.bytes as usize]).filter(|(_, word)| is_captured(self.capture, *word));
        let note =
            |(at, _)| format!("\n# CHECK: byte {at} of it is an address of captured memory, which is not followed");
        let mut notes = held.next().map(note).unwrap_or_default();
        let first = self.first(part) as usize - part.start as usize;
        if let (Some((mean, std)), true) = (moments(part.dtype, &content[from + first..]), part.dtype.has_nan()) {
            let _ = write!(notes, "\n# or init = {{ normal = {{ mean = {mean:.3e}, std = {std:.3e} }} }}");
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

    /// A capture of two allocations at 2^33 and 2^34: the launch fills the second.
    fn captured(folder: &Path, parameters: &str, more: &str) -> CaptureRecord {
        let (x, y) = (1u64 << 33, 1u64 << 34);
        let files = [("m0.before", 0u8), ("m0.after", 0), ("m1.before", 0), ("m1.after", 1)];
        for (name, value) in files {
            fs::write(folder.join(name), [value; 64]).unwrap();
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
        let attributes = "\"arrays\": [], \"attributes\": [[4, 2, 1, 1]]";
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
        let array = format!("\"arrays\": [{{\"address\": {x}, \"values\": [{}, 0, {y}]}}], \"attributes\": []", y + 32);
        let text = launch(&[x.to_le_bytes().to_vec()], &array).unwrap();
        let entries = "{ pointers = [{ buffer = \"p0_2\", offset = 32 }, \"nullptr\", \"p0_2\"] }";
        assert!(text.contains(entries), "{text}");
        let window = "\"arrays\": [], \"attributes\": [[1, 0, 0, 0]]";
        let refused = launch(&[x.to_le_bytes().to_vec()], window).unwrap_err().to_string();
        assert!(refused.contains("attribute 1 of its launch"), "{refused}");
    }

    #[test]
    fn a_truncated_file_is_refused() {
        for name in ["m0.before", "m0.after", "m1.before", "m1.after", "capture.json"] {
            let folder = tempfile::tempdir().unwrap();
            captured(folder.path(), "[]", "\"arrays\": [], \"attributes\": []");
            let path = folder.path().join(name);
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..whole.len() - 3]).unwrap();
            let error = CaptureRecord::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("capture again"), "{error}");
        }
    }
}
