//! Machine code in files that were built elsewhere: cubins, fat binaries, object files, libraries, archives of them.
//!
//! nvcc and the driver libraries embed code in the section `.nv_fatbin` of a host file (`__nv_relfatbin` if device
//! code is linked later): containers one after the other, each a header and entries, an entry for each architecture.
//! The layout is not documented by NVIDIA; it is that of files written by nvcc 11 to 13, and every length is checked
//! against the file before it is followed.

use crate::ComputeCapability;
use object::elf::FileHeader64;
use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile, FileHeader as _};
use object::{Endianness, Object as _, ObjectSection as _};
use std::borrow::Cow;

/// First bytes of a container, as a little-endian number.
const CONTAINER: u32 = 0xBA55_ED50;
/// First bytes of an archive of object files.
const ARCHIVE: &[u8] = b"!<arch>\n";
/// First bytes of an ELF file.
const ELF: &[u8] = b"\x7fELF";
/// The machine of a cubin in its ELF header.
const CUDA_MACHINE: u16 = 190;
/// Sections of a host file that hold containers.
const SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];
/// The form of an entry's header, behind its kind.
const FORM: u16 = 0x0101;
/// Minimum size in bytes of an entry's header.
const ENTRY: usize = 64;
/// Flags of an entry: compressed by LZ4, compressed by zstd.
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// Maximum uncompressed size of an entry in bytes: larger than any cubin, small enough for memory.
const LARGEST: u64 = 1 << 30;

/// Why a file cannot be read as device code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// Neither a cubin, a fat binary, an ELF file nor an archive.
    #[error("not a cubin, fat binary, ELF file or an archive of them")]
    Unknown,
    /// A host file without device code.
    #[error("no device code: the file has no section .nv_fatbin")]
    NoDeviceCode,
    /// Damaged, or of an unknown form.
    /// `at`: where in the section or file.
    #[error("cannot read the device code at byte {at}: {reason}")]
    Damaged { at: usize, reason: String },
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeviceCode<'a> {
    /// Machine code for a chip.
    Cubin { capability: ComputeCapability, bytes: Cow<'a, [u8]> },
    /// PTX, which the driver compiles at load time: its resources are unknown here.
    /// `capability`: the lowest capability it supports.
    /// `kernels`: mangled names of its kernels.
    Ptx { capability: ComputeCapability, kernels: Vec<String> },
    /// Anything else, such as intermediate code for link-time optimisation.
    /// `kind`: the kind by its number.
    Other { kind: u16 },
}

/// All device code in a file.
///
/// # Errors
/// It is of another kind, holds no device code, or is damaged.
pub fn device_code(file: &[u8]) -> Result<Vec<DeviceCode<'_>>, FatbinError> {
    let mut found = Vec::new();
    if file.starts_with(ARCHIVE) {
        of_archive(file, &mut found)?;
    } else if file.starts_with(&CONTAINER.to_le_bytes()) {
        containers(file, &mut found)?;
    } else if file.starts_with(ELF) {
        of_elf(file, &mut found)?;
    } else {
        return Err(FatbinError::Unknown);
    }
    if found.is_empty() { Err(FatbinError::NoDeviceCode) } else { Ok(found) }
}

/// Whether a file begins like those that [`device_code`] reads.
pub fn is_binary(beginning: &[u8]) -> bool {
    beginning.starts_with(ARCHIVE) || beginning.starts_with(&CONTAINER.to_le_bytes()) || beginning.starts_with(ELF)
}

fn of_archive<'a>(file: &'a [u8], found: &mut Vec<DeviceCode<'a>>) -> Result<(), FatbinError> {
    let archive = ArchiveFile::parse(file).map_err(unreadable)?;
    if archive.is_thin() {
        return Err(unreadable("it is a thin archive, without its members"));
    }
    for member in archive.members() {
        let data = member.and_then(|member| member.data(file)).map_err(unreadable)?;
        if data.starts_with(ELF) {
            of_elf(data, found)?;
        }
    }
    Ok(())
}

fn of_elf<'a>(file: &'a [u8], found: &mut Vec<DeviceCode<'a>>) -> Result<(), FatbinError> {
    let elf = ElfFile::<FileHeader64<Endianness>>::parse(file).map_err(unreadable)?;
    let header = elf.elf_header();
    if header.e_machine(elf.endian()).0 == CUDA_MACHINE {
        let flags = header.e_flags(elf.endian()).0;
        // ABI version 8 (CUDA 13) moved the architecture by a byte.
        let number = if header.e_ident().abi_version >= 8 { flags >> 8 & 0xff } else { flags & 0xff };
        found.push(DeviceCode::Cubin { capability: capability(number), bytes: Cow::Borrowed(file) });
        return Ok(());
    }
    for section in SECTIONS.iter().filter_map(|name| elf.section_by_name(name)) {
        containers(section.data().map_err(unreadable)?, found)?;
    }
    Ok(())
}

/// `sm_90` is 90, `sm_121` is 121.
fn capability(number: u32) -> ComputeCapability {
    ComputeCapability::new(number / 10, number % 10)
}

/// Reads containers that follow each other, with padding of zeros between them.
fn containers<'a>(data: &'a [u8], found: &mut Vec<DeviceCode<'a>>) -> Result<(), FatbinError> {
    let mut at = 0;
    while at < data.len() {
        if u32_at(data, at) == Some(CONTAINER) {
            at = container(data, at, found)?;
        } else if data[at..].iter().take(8).all(|byte| *byte == 0) {
            at += 8;
        } else {
            return Err(damaged(at, "it is neither a container nor padding"));
        }
    }
    Ok(())
}

/// Reads a container and returns where the next one can begin.
fn container<'a>(data: &'a [u8], at: usize, found: &mut Vec<DeviceCode<'a>>) -> Result<usize, FatbinError> {
    let short = || damaged(at, "a container is truncated");
    let header = usize::from(u16_at(data, at + 6).ok_or_else(short)?);
    let size = usize::try_from(u64_at(data, at + 8).ok_or_else(short)?).map_err(|_| short())?;
    let start = at.checked_add(header).ok_or_else(short)?;
    let end = start.checked_add(size).filter(|end| *end <= data.len() && header >= 16).ok_or_else(short)?;
    let mut entry = start;
    while entry < end {
        if data[entry..end].iter().take(8).all(|byte| *byte == 0) {
            entry = (entry + 8).min(end);
            continue;
        }
        entry = self::entry(&data[..end], entry, found)?;
    }
    Ok(end)
}

/// Reads an entry and returns where the next one begins.
fn entry<'a>(data: &'a [u8], at: usize, found: &mut Vec<DeviceCode<'a>>) -> Result<usize, FatbinError> {
    let short = || damaged(at, "an entry is truncated");
    let kind = u16_at(data, at).ok_or_else(short)?;
    if u16_at(data, at + 2) != Some(FORM) {
        return Err(damaged(at, "an entry has an unknown form"));
    }
    let header = u32_at(data, at + 4).and_then(|n| usize::try_from(n).ok()).ok_or_else(short)?;
    let size = u64_at(data, at + 8).and_then(|n| usize::try_from(n).ok()).ok_or_else(short)?;
    let start = at.checked_add(header).filter(|_| header >= ENTRY).ok_or_else(short)?;
    let end = start.checked_add(size).filter(|end| *end <= data.len()).ok_or_else(short)?;
    let capability = capability(u32_at(data, at + 28).ok_or_else(short)?);
    let flags = u64_at(data, at + 40).ok_or_else(short)?;
    let packed = u32_at(data, at + 16).and_then(|n| usize::try_from(n).ok()).ok_or_else(short)?;
    let whole = u64_at(data, at + 56).ok_or_else(short)?;
    let payload = &data[start..end];
    let bytes = || match flags & (LZ4 | ZSTD) {
        0 => Ok(Cow::Borrowed(payload)),
        flag => unpacked(payload.get(..packed).ok_or_else(short)?, flag, whole, at).map(Cow::Owned),
    };
    match kind {
        1 => {
            // Names are no evidence: a text in another form of compression has none.
            let kernels = bytes().map_or_else(|_| Vec::new(), |text| kernels_of(&String::from_utf8_lossy(&text)));
            found.push(DeviceCode::Ptx { capability, kernels });
        }
        2 => {
            let bytes = bytes()?;
            if !bytes.starts_with(ELF) {
                return Err(damaged(at, "an entry of machine code is not an ELF file"));
            }
            found.push(DeviceCode::Cubin { capability, bytes });
        }
        kind => found.push(DeviceCode::Other { kind }),
    }
    Ok(end)
}

/// Names of the kernels of a PTX text: `.visible .entry NAME(`.
fn kernels_of(ptx: &str) -> Vec<String> {
    let entries = ptx.split(".entry").skip(1);
    let name = |text: &str| {
        let text = text.trim_start();
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$')).next().unwrap_or_default().to_owned()
    };
    entries.map(name).filter(|name| !name.is_empty()).collect()
}

/// Decompresses an entry to its declared size.
fn unpacked(packed: &[u8], flag: u64, whole: u64, at: usize) -> Result<Vec<u8>, FatbinError> {
    let size = usize::try_from(whole).ok().filter(|_| (1..=LARGEST).contains(&whole));
    let size = size.ok_or_else(|| damaged(at, &format!("an entry claims to unpack to {whole} bytes")))?;
    let bytes = if flag & ZSTD != 0 {
        zstd::bulk::decompress(packed, size).map_err(|error| damaged(at, &error.to_string()))?
    } else {
        lz4_flex::block::decompress(packed, size).map_err(|error| damaged(at, &error.to_string()))?
    };
    if bytes.len() == size {
        Ok(bytes)
    } else {
        Err(damaged(at, "an entry unpacks to a different size than it claims"))
    }
}

fn bytes_at<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk().copied()
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    bytes_at(data, at).map(u16::from_le_bytes)
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    bytes_at(data, at).map(u32::from_le_bytes)
}

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    bytes_at(data, at).map(u64::from_le_bytes)
}

fn damaged(at: usize, reason: &str) -> FatbinError {
    FatbinError::Damaged { at, reason: reason.to_owned() }
}

fn unreadable(reason: impl ToString) -> FatbinError {
    FatbinError::Damaged { at: 0, reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A container of entries: kind, flags, payload, bytes it unpacks to.
    fn fatbin(entries: &[(u16, u64, &[u8], u64)]) -> Vec<u8> {
        let mut body = Vec::new();
        for (kind, flags, payload, whole) in entries {
            let size = payload.len().next_multiple_of(8);
            let mut header = vec![0; ENTRY];
            header[0..2].copy_from_slice(&kind.to_le_bytes());
            header[2..4].copy_from_slice(&FORM.to_le_bytes());
            header[4..8].copy_from_slice(&(ENTRY as u32).to_le_bytes());
            header[8..16].copy_from_slice(&(size as u64).to_le_bytes());
            header[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
            header[28..32].copy_from_slice(&90u32.to_le_bytes());
            header[40..48].copy_from_slice(&flags.to_le_bytes());
            header[56..64].copy_from_slice(&whole.to_le_bytes());
            body.extend(header);
            body.extend_from_slice(payload);
            body.resize(body.len().next_multiple_of(8), 0);
        }
        let mut file = Vec::new();
        file.extend(CONTAINER.to_le_bytes());
        file.extend([1, 0, 16, 0]);
        file.extend((body.len() as u64).to_le_bytes());
        file.extend(body);
        file
    }

    fn elf() -> Vec<u8> {
        ELF.iter().copied().chain(std::iter::repeat_n(7, 400)).collect()
    }

    #[test]
    fn entries_are_read_plain_by_lz4_and_by_zstd() {
        let elf = elf();
        let lz4 = lz4_flex::block::compress(&elf);
        let zstd = zstd::bulk::compress(&elf, 3).unwrap();
        let whole = elf.len() as u64;
        let file = fatbin(&[
            (2, 0x11, &elf[..], 0),
            (2, LZ4, &lz4[..], whole),
            (2, ZSTD, &zstd[..], whole),
            (1, 0, b"ptx", 0),
        ]);
        let twice: Vec<u8> = [file.as_slice(), &[0; 16], &file].concat();
        let found = device_code(&twice).unwrap();
        let cubins =
            found.iter().filter(|code| matches!(code, DeviceCode::Cubin { bytes, .. } if bytes.starts_with(&elf)));
        assert_eq!((found.len(), cubins.count()), (8, 6));
        assert!(found.iter().any(
            |code| matches!(code, DeviceCode::Ptx { capability, .. } if *capability == ComputeCapability::new(9, 0))
        ));
    }

    #[test]
    fn what_is_cut_short_or_says_wrong_sizes_is_an_error_and_never_fewer_kernels() {
        let elf = elf();
        let zstd = zstd::bulk::compress(&elf, 3).unwrap();
        let file = fatbin(&[(2, 0x11, &elf[..], 0), (2, ZSTD, &zstd[..], elf.len() as u64)]);
        for length in 0..file.len() {
            assert!(device_code(&file[..length]).is_err(), "{length}");
        }
        for whole in [0, 12, elf.len() as u64 + 1, u64::MAX] {
            assert!(device_code(&fatbin(&[(2, ZSTD, &zstd[..], whole)])).is_err(), "{whole}");
        }
        let mut rubbish = file.clone();
        rubbish.extend(b"rubbish!");
        assert!(device_code(&rubbish).is_err());
        assert_eq!(device_code(b"[phase]"), Err(FatbinError::Unknown));
        assert_eq!(device_code(&fatbin(&[])), Err(FatbinError::NoDeviceCode));
    }
}
