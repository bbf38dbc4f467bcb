//! A cubin: an ELF file with a section of machine code and a section of attributes for each entry.

use super::feature::CodeFeature;
use super::nvinfo::{Attribute, attributes};
use super::{CubinError, Elf, damaged};
use crate::digest::Digest;
use crate::{ComputeCapability, KernelName, Resources, demangled, nearest};
use object::elf::{ET_REL, FileHeader64};
use object::read::elf::{FileHeader as _, SectionHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _};
use std::collections::HashMap;

/// Functions that the driver defines when it loads a module.
const DRIVER_FUNCTIONS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];
/// Beginnings of their other names: system calls and cooperative groups.
const DRIVER_PREFIXES: [&str; 3] = ["__cuda_", "cudaCG", ".nv."];

/// Bytes that the driver reserves in every block. From compute capability 9.0 on, a cubin's shared section includes them.
const RESERVED: u64 = 1024;
/// Bytes of an instruction (sm_70 and later).
const INSTRUCTION: usize = 16;
/// Opcodes of loads from and stores to local memory.
const LDL: u16 = 0x183;
const STL: u16 = 0x187;

type Section<'a, 'b> = object::read::elf::ElfSection<'a, 'b, FileHeader64<Endianness>>;

/// Bytes that instructions move, and the number of those instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Bytes stored to local memory, per thread.
    pub local_stores: u32,
    /// Bytes loaded from local memory, per thread.
    pub local_loads: u32,
    /// Instructions, to any memory.
    pub instructions: u32,
}

/// An entry of a cubin: its resources and its launch requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the cubin: mangled, unless it is `extern "C"`.
    pub symbol: String,
    /// Resources; `spills` counts the instructions that the compiler marks.
    pub resources: Resources,
    /// SHA-256 of the machine code, its relocations, the constants and variables of the cubin, and the resources.
    pub code_sha256: String,
    /// Maximum threads per block (`__launch_bounds__`).
    pub max_threads: Option<u32>,
    /// The only permitted block size.
    pub required_block: Option<[u32; 3]>,
    /// The cluster it was compiled for.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of each parameter in the order of the signature.
    pub parameters: Vec<u32>,
    /// Instructions that the compiler marks as register spilling, including spills to shared memory.
    pub marked_spills: Traffic,
    /// All loads and stores of local memory: spills, local arrays, arguments of calls.
    pub local: Traffic,
    /// What it uses of its architecture, without called functions.
    pub features: Vec<CodeFeature>,
}

impl Entry {
    /// Reads the kernel that `entry` names in a cubin for `capability`; see [`symbol`].
    pub fn read(cubin: &[u8], entry: &str, capability: ComputeCapability) -> Result<Self, CubinError> {
        let elf = Elf::parse(cubin).map_err(damaged)?;
        let undefined = undefined(&elf);
        if !undefined.is_empty() {
            return Err(CubinError::Unlinked { undefined });
        }
        let entry = &named(&elf, entry)?;
        let text_name = format!(".text.{entry}");
        let Some(text) = elf.section_by_name(&text_name) else { return Err(no_entry(&entries(&elf), entry)) };
        let symbol = elf.symbols().find(|s| s.name() == Ok(entry)).map(|s| s.index().0 as u32);
        let mut known = section_attributes(&elf, ".nv.info")?;
        known.retain(|attribute| concerns(attribute, symbol));
        known.extend(section_attributes(&elf, &format!(".nv.info.{entry}"))?);

        let size = |prefix: &str| elf.section_by_name(&format!("{prefix}{entry}")).map_or(0, |s| s.size());
        let mut read = Self::of_section(entry, (elf.endian(), &text), size, known.iter(), capability)?;
        let taken = known.iter().any(|attribute| matches!(attribute, Attribute::ParameterBytes(1..)));
        if taken && read.parameters.is_empty() || read.parameters.contains(&0) {
            return Err(CubinError::Damaged { reason: format!("no size of the parameters of `{entry}`") });
        }
        read.code_sha256 = code_hash(&elf, &text, entry, &read.resources, capability)?;
        Ok(read)
    }

    /// Reads every kernel of a cubin for `capability`, without hashes of their code.
    ///
    /// # Errors
    /// The cubin is damaged, or does not state the resources of a kernel.
    pub fn all(cubin: &[u8], capability: ComputeCapability) -> Result<Vec<Self>, CubinError> {
        let elf = Elf::parse(cubin).map_err(damaged)?;
        let sections: HashMap<&str, Section<'_, '_>> =
            elf.sections().filter_map(|s| Some((s.name().ok()?, s))).collect();
        let symbols: HashMap<&str, u32> =
            elf.symbols().filter_map(|s| Some((s.name().ok()?, s.index().0 as u32))).collect();
        let shared = section_attributes(&elf, ".nv.info")?;
        let names = sections.keys().filter_map(|name| name.strip_prefix(".text."));
        let described = names.filter(|name| sections.contains_key(format!(".nv.info.{name}").as_str()));
        let read = |entry: &str| {
            let Some(text) = sections.get(format!(".text.{entry}").as_str()) else {
                return Err(no_entry(&entries(&elf), entry));
            };
            let symbol = symbols.get(entry).copied();
            let size = |prefix: &str| sections.get(format!("{prefix}{entry}").as_str()).map_or(0, |s| s.size());
            let own = section_attributes(&elf, &format!(".nv.info.{entry}"))?;
            let known = shared.iter().filter(|attribute| concerns(attribute, symbol)).chain(&own);
            Self::of_section(entry, (elf.endian(), text), size, known, capability)
        };
        let mut entries = described.map(read).collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        Ok(entries)
    }

    /// A kernel from the section of its machine code, without a hash of it. `size` gives the bytes of its section with a
    /// prefix.
    fn of_section<'a>(
        symbol: &str,
        (endian, text): (Endianness, &Section<'_, '_>),
        size: impl Fn(&str) -> u64,
        known: impl Iterator<Item = &'a Attribute>,
        capability: ComputeCapability,
    ) -> Result<Self, CubinError> {
        let code = text.data().map_err(damaged)?;
        let header = text.elf_section_header();
        let mut read = Self {
            symbol: symbol.to_owned(),
            resources: Resources {
                registers: header.sh_info(endian) >> 24,
                static_shared: to_u32(without_reserve(size(".nv.shared."), capability))?,
                stack: 0,
                local: to_u32(size(".nv.local."))?,
                spills: 0,
                constant: to_u32(size(".nv.constant0."))?,
                barriers: (header.sh_flags(endian).0 >> 20 & 0x7f) as u32,
            },
            code_sha256: String::new(),
            max_threads: None,
            required_block: None,
            cluster: None,
            parameters: Vec::new(),
            marked_spills: Traffic::default(),
            local: local_traffic(code),
            features: CodeFeature::all(code),
        };
        known.for_each(|attribute| read.take(attribute, code));
        read.resources.spills = read.marked_spills.instructions;
        match read.resources.registers {
            0 => Err(CubinError::Damaged { reason: format!("no number of registers for `{symbol}`") }),
            _ => Ok(read),
        }
    }

    fn take(&mut self, attribute: &Attribute, code: &[u8]) {
        let resources = &mut self.resources;
        match *attribute {
            Attribute::Registers { count, .. } => resources.registers = resources.registers.max(count),
            Attribute::Frame { bytes, .. } => {
                resources.stack = bytes;
                resources.local = resources.local.max(bytes);
            }
            Attribute::MinStack { bytes, .. } => resources.local = resources.local.max(bytes),
            Attribute::Barriers(count) => resources.barriers = resources.barriers.max(count),
            Attribute::MaxThreads(dims) => self.max_threads = Some(dims.into_iter().fold(1, u32::saturating_mul)),
            Attribute::RequiredBlock(dims) => self.required_block = Some(dims),
            Attribute::Cluster(dims) => self.cluster = Some(dims),
            Attribute::Parameter { ordinal, bytes } => {
                let sizes = &mut self.parameters;
                sizes.resize(sizes.len().max(ordinal as usize + 1), 0);
                sizes[ordinal as usize] = bytes;
            }
            Attribute::Spills(ref offsets) => {
                let marked =
                    offsets.iter().filter_map(|&offset| code.get(offset as usize..)).filter_map(|at| at.first_chunk());
                self.marked_spills = marked.fold(Traffic::default(), Traffic::with);
            }
            Attribute::ParameterBytes(_) | Attribute::UnknownNotes => {}
        }
    }
}

/// Bytes of each parameter of a kernel of a cubin, by its symbol.
///
/// # Errors
/// The cubin is damaged, or does not state the size of a parameter.
pub fn parameters(cubin: &[u8], symbol: &str) -> Result<Vec<u32>, CubinError> {
    let elf = Elf::parse(cubin).map_err(damaged)?;
    let mut sizes: Vec<u32> = Vec::new();
    for attribute in section_attributes(&elf, &format!(".nv.info.{symbol}"))? {
        if let Attribute::Parameter { ordinal, bytes } = attribute {
            sizes.resize(sizes.len().max(ordinal as usize + 1), 0);
            sizes[ordinal as usize] = bytes;
        }
    }
    match sizes.contains(&0) {
        true => Err(CubinError::Damaged { reason: format!("no size of the parameters of `{symbol}`") }),
        false => Ok(sizes),
    }
}

impl Traffic {
    /// Adds one instruction, `LDL` or `STL`; bits 73 to 75 are the width.
    fn with(mut self, instruction: &[u8; INSTRUCTION]) -> Self {
        let bytes = match instruction[9] >> 1 & 7 {
            0 | 1 => 1,
            2 | 3 => 2,
            4 => 4,
            5 => 8,
            _ => 16,
        };
        match opcode(instruction) {
            LDL => self.local_loads += bytes,
            STL => self.local_stores += bytes,
            _ => {}
        }
        self.instructions += 1;
        self
    }
}

/// The low nine bits; the three above are the form of the operands, such as an address in a uniform register.
pub(super) fn opcode(instruction: &[u8; INSTRUCTION]) -> u16 {
    u16::from_le_bytes([instruction[0], instruction[1]]) & 0x1ff
}

fn local_traffic(code: &[u8]) -> Traffic {
    let local = code.as_chunks().0.iter().filter(|i| matches!(opcode(i), LDL | STL));
    local.fold(Traffic::default(), Traffic::with)
}

fn section_attributes(elf: &Elf<'_>, name: &str) -> Result<Vec<Attribute>, CubinError> {
    let Some(section) = elf.section_by_name(name) else { return Ok(Vec::new()) };
    attributes(section.data().map_err(damaged)?)
        .ok_or_else(|| CubinError::Damaged { reason: format!("section {name} is truncated") })
}

/// Whether an attribute of the whole file concerns the function with that symbol.
fn concerns(attribute: &Attribute, of: Option<u32>) -> bool {
    match attribute {
        Attribute::Registers { symbol, .. } | Attribute::Frame { symbol, .. } | Attribute::MinStack { symbol, .. } => {
            Some(*symbol) == of
        }
        _ => false,
    }
}

fn without_reserve(size: u64, capability: ComputeCapability) -> u64 {
    if capability.major >= 9 && size >= RESERVED { size - RESERVED } else { size }
}

/// Hashes everything that determines the effect and the duration of a launch, but not names, lines or paths.
fn code_hash(
    elf: &Elf<'_>,
    text: &Section<'_, '_>,
    entry: &str,
    resources: &Resources,
    capability: ComputeCapability,
) -> Result<String, CubinError> {
    let mut digest = Digest::default()
        .part(capability.major.to_le_bytes())
        .part(capability.minor.to_le_bytes())
        .part(text.data().map_err(damaged)?)
        .part(format!("{resources:?}"));
    let entries = entries(elf);
    let other = |name: &str, prefix: &str| name.strip_prefix(prefix).is_some_and(|of| entries.iter().any(|e| e == of));
    for section in elf.sections() {
        let name = section.name().map_err(damaged)?;
        let constant = name.starts_with(".nv.constant") && !name.starts_with(".nv.constant0.");
        let called = name.starts_with(".text.") && !other(name, ".text.");
        if constant || called || name.starts_with(".nv.global") {
            digest = digest.part(name).part(section.size().to_le_bytes()).part(section.data().map_err(damaged)?);
        }
    }
    for kind in [".rel", ".rela"] {
        if let Some(section) = elf.section_by_name(&format!("{kind}.text.{entry}")) {
            digest = digest.part(kind).part(section.data().map_err(damaged)?);
            for symbol in elf.symbols() {
                digest = digest.part(symbol.name_bytes().map_err(damaged)?).part(symbol.address().to_le_bytes());
            }
        }
    }
    Ok(digest.hex())
}

/// Functions and variables that a relocatable cubin uses and neither it nor the driver defines.
fn undefined(elf: &Elf<'_>) -> Vec<String> {
    if elf.elf_header().e_type(elf.endian()) != ET_REL {
        return Vec::new();
    }
    let needed = elf.symbols().filter(|symbol| symbol.is_undefined() && symbol.is_global() && !symbol.is_weak());
    let names = needed.filter_map(|symbol| symbol.name().ok().filter(|name| !name.is_empty()));
    let of_driver =
        |name: &str| DRIVER_FUNCTIONS.contains(&name) || DRIVER_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    names.filter(|name| !of_driver(name)).map(demangled).collect()
}

/// Names with both machine code and attributes.
fn entries(elf: &Elf<'_>) -> Vec<String> {
    let named = |prefix: &str| -> Vec<String> {
        elf.sections().filter_map(|s| s.name().ok()?.strip_prefix(prefix).map(str::to_owned)).collect()
    };
    let described = named(".nv.info.");
    named(".text.").into_iter().filter(|name| described.contains(name)).collect()
}

/// The symbol in a cubin of the kernel that a user names `entry`: an exact match, else the one kernel whose C++ name fits.
///
/// # Errors
/// No kernel fits, several do, or the cubin is damaged.
pub fn symbol(cubin: &[u8], entry: &str) -> Result<String, CubinError> {
    named(&Elf::parse(cubin).map_err(damaged)?, entry)
}

fn named(elf: &Elf<'_>, entry: &str) -> Result<String, CubinError> {
    symbol_among(&entries(elf), entry)
}

/// The symbol among those of kernels that a user names `entry`: an exact match, else the one kernel whose C++ name fits.
///
/// # Errors
/// No kernel fits, or several do.
pub fn symbol_among(kernels: &[String], entry: &str) -> Result<String, CubinError> {
    if kernels.iter().any(|name| name == entry) {
        return Ok(entry.to_owned());
    }
    let asked = KernelName::parse(entry);
    let fitting: Vec<&String> = kernels.iter().filter(|name| asked.matches(&KernelName::parse(name))).collect();
    match fitting.as_slice() {
        [] => Err(no_entry(kernels, entry)),
        [only] => Ok((*only).clone()),
        several => {
            Err(CubinError::Ambiguous { entry: entry.to_owned(), fitting: several.iter().map(named_twice).collect() })
        }
    }
}

fn no_entry(kernels: &[String], entry: &str) -> CubinError {
    let asked = KernelName::parse(entry);
    let likeness = |name: &&String| strsim::jaro_winkler(asked.function(), KernelName::parse(name).function());
    let mut present: Vec<&String> = kernels.iter().collect();
    present.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)).then_with(|| a.cmp(b)));
    let names: Vec<String> = present.iter().map(|name| demangled(name)).collect();
    let near = nearest(entry, names.iter().map(String::as_str));
    let hint = near.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
    let present = match present.is_empty() {
        true => "none".to_owned(),
        false => present.iter().map(named_twice).collect::<Vec<_>>().join(", "),
    };
    CubinError::NoEntry { entry: entry.to_owned(), present, hint }
}

/// A kernel as a person and as the cubin names it; `entry` takes both.
fn named_twice(symbol: &&String) -> String {
    let name = demangled(symbol);
    if name == **symbol { name } else { format!("{name} [{symbol}]") }
}

fn to_u32(size: u64) -> Result<u32, CubinError> {
    u32::try_from(size).map_err(|_| CubinError::Damaged { reason: format!("a section of {size} bytes") })
}
