//! The bytes of a report: mapped from a file, owned, or from a zstd frame. The content decides, not the name.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::Path;

use memmap2::Mmap;

use crate::error::ReportError;
use crate::schema::MAGIC;

/// The first four bytes of a zstd frame.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Below this size the ratio of a zstd frame is not limited.
const FREE_BYTES: u64 = 64 << 20;
/// Reports from this size on are mapped. A smaller one is read, in less than a millisecond, so that other processes
/// can overwrite the file.
const MAPPED_FROM: u64 = 4 << 20;
/// Maximum size in bytes of a report from a pipe, whose size is unknown.
const PIPED: u64 = 1 << 30;
/// Compression level of stored reports: 5 times smaller than uncompressed, at 1/3 of the time of level 19.
const LEVEL: i32 = 9;

/// Launches and source entries permitted in every report, whatever its size.
const FREE_ENTRIES: u64 = 1024;

/// Maximum size of a report in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a decompressed report in bytes.
    pub bytes: u64,
    /// Maximum compression ratio, for reports over 64 MiB. Real reports reach about 100.
    pub ratio: u64,
    /// Bytes of the uncompressed report per launch or source entry, beyond the first 1,024. Real launches have
    /// thousands, because each contains some 160 attributes of its device.
    pub entry_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 8 << 30, ratio: 1000, entry_bytes: 200 }
    }
}

impl Limits {
    /// The limit of a frame of `compressed` bytes, and its reason.
    fn of(self, compressed: u64) -> (u64, &'static str) {
        let by_ratio = compressed.saturating_mul(self.ratio).max(FREE_BYTES);
        if by_ratio < self.bytes { (by_ratio, "compression ratio") } else { (self.bytes, "size") }
    }

    /// Maximum number of launches and source entries in a report of `bytes` bytes.
    pub(crate) fn entries(self, bytes: u64) -> u64 {
        (bytes / self.entry_bytes.max(1)).max(FREE_ENTRIES)
    }
}

/// The bytes of one report.
#[derive(Debug)]
pub(crate) enum ReportBytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl ReportBytes {
    /// Maps the file, or decompresses it into memory when it holds a zstd frame.
    pub fn open(path: &Path, limits: Limits) -> Result<Self, ReportError> {
        let read = |source| ReportError::Read { path: path.to_path_buf(), source };
        has_end(path).map_err(read)?;
        let mut file = File::open(path).map_err(read)?;
        let about = file.metadata().map_err(read)?;
        if !about.is_file() {
            return Self::from_pipe(file, path, limits);
        }
        let mut start = [0; ZSTD_MAGIC.len()];
        let is_frame = file.read_exact(&mut start).is_ok() && start == ZSTD_MAGIC;
        file.rewind().map_err(read)?;
        if is_frame {
            return decompress(BufReader::new(file), about.len(), limits).map(Self::Owned);
        }
        if about.len() < MAPPED_FROM {
            let mut bytes = Vec::with_capacity(about.len() as usize);
            file.take(MAPPED_FROM).read_to_end(&mut bytes).map_err(read)?;
            return Ok(Self::Owned(bytes));
        }
        // SAFETY: the map is only read, and every access is bounds-checked against its length. A file that another
        // process shortens while it is mapped ends this process with SIGBUS, as it does any program that maps files.
        let map = unsafe { Mmap::map(&file) }.map_err(read)?;
        Ok(Self::Mapped(map))
    }

    /// Reads a pipe, which cannot be mapped, up to the limit.
    fn from_pipe(mut pipe: impl Read, path: &Path, limits: Limits) -> Result<Self, ReportError> {
        let read = |source| ReportError::Read { path: path.to_path_buf(), source };
        let mut bytes = Vec::new();
        pipe.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(read)?;
        if !bytes.starts_with(&MAGIC) && !bytes.starts_with(&ZSTD_MAGIC) {
            return Err(ReportError::not_a_report(&bytes));
        }
        let limit = limits.bytes.min(PIPED);
        pipe.take(limit).read_to_end(&mut bytes).map_err(read)?;
        if bytes.len() as u64 > limit {
            return Err(too_large(limit, bytes.len() as u64, "size"));
        }
        Self::from_bytes(bytes, limits)
    }

    /// Takes the bytes unchanged, or decompresses a zstd frame.
    pub fn from_bytes(bytes: Vec<u8>, limits: Limits) -> Result<Self, ReportError> {
        if bytes.starts_with(&ZSTD_MAGIC) {
            return decompress(bytes.as_slice(), bytes.len() as u64, limits).map(Self::Owned);
        }
        Ok(Self::Owned(bytes))
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }

    /// Releases the pages of a part; the system reads them again on the next access.
    pub fn release(&self, start: usize, end: usize) {
        #[cfg(unix)]
        if let Self::Mapped(map) = self
            && end > start
        {
            // SAFETY: the map is file-backed and never written, so dropped pages are read back with the same content.
            // On failure the memory just stays in use.
            let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start) };
        }
    }
}

/// Checks that a path can be opened without blocking and has an end: a file, or an unnamed pipe of this process (`/dev/stdin`).
#[cfg(unix)]
fn has_end(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let kind = std::fs::metadata(path)?.file_type();
    // The target of `/dev/stdin` is not in the file system.
    let is_named = || path.canonicalize().is_ok();
    match kind.is_char_device() || kind.is_block_device() || kind.is_socket() {
        true => Err(std::io::Error::other("it is a device, not a file")),
        false if kind.is_fifo() && is_named() => Err(std::io::Error::other(
            "it is a named pipe, which can wait for a writer forever; give a file or /dev/stdin",
        )),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
fn has_end(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn too_large(limit: u64, compressed: u64, reason: &'static str) -> ReportError {
    ReportError::TooLarge { limit, compressed, reason }
}

fn decompress(frame: impl BufRead, compressed: u64, limits: Limits) -> Result<Vec<u8>, ReportError> {
    let (limit, reason) = limits.of(compressed);
    let decoder = zstd::stream::read::Decoder::with_buffer(frame).map_err(ReportError::Compressed)?;
    let mut bytes = Vec::new();
    decoder.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(ReportError::Compressed)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit, compressed, reason));
    }
    Ok(bytes)
}

/// Compresses a report to the content of `.ncu-repz`: the byte stream in one zstd frame.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz");
/// let plain = ncu_rep::redact(&std::fs::read(path)?)?;
/// let packed = ncu_rep::compress(&plain)?;
/// assert!(packed.len() < plain.len() / 4);
/// # Ok(())
/// # }
/// ```
///
/// Compressed bytes are returned unchanged.
///
/// # Errors
/// [`ReportError::NotAReport`] when `report` is neither, and errors of zstd.
pub fn compress(report: &[u8]) -> Result<Vec<u8>, ReportError> {
    if report.starts_with(&ZSTD_MAGIC) {
        return Ok(report.to_vec());
    }
    if !report.starts_with(&MAGIC) {
        return Err(ReportError::not_a_report(report));
    }
    zstd::stream::encode_all(report, LEVEL).map_err(ReportError::Compressed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zstd_bomb_stops_at_the_limit_and_the_error_names_it() {
        let bomb = zstd::stream::encode_all(std::io::repeat(0).take(80 << 20), 19).unwrap();
        assert!(bomb.len() < 16 << 10, "{}", bomb.len());
        let error = ReportBytes::from_bytes(bomb, Limits::default()).unwrap_err();
        match error {
            ReportError::TooLarge { limit, reason, .. } => {
                assert_eq!((limit, reason), (FREE_BYTES, "compression ratio"));
            }
            other => panic!("{other}"),
        }
    }

    #[test]
    fn the_size_limit_holds_for_small_ratios_too() {
        let frame = compress(&[&MAGIC[..], &[7; 4096]].concat()).unwrap();
        let limits = Limits { bytes: 4099, ..Limits::default() };
        assert!(matches!(
            ReportBytes::from_bytes(frame.clone(), limits),
            Err(ReportError::TooLarge { reason: "size", .. })
        ));
        let limits = Limits { bytes: 4100, ..Limits::default() };
        assert_eq!(ReportBytes::from_bytes(frame, limits).unwrap().bytes().len(), 4100);
    }

    #[test]
    fn a_pipe_is_read_only_as_long_as_it_may_be_a_report() {
        let limits = Limits { bytes: 4099, ..Limits::default() };
        let piped = |start: &[u8], rest| {
            ReportBytes::from_pipe(start.chain(std::io::repeat(7).take(rest)), Path::new("p"), limits)
        };
        assert!(matches!(piped(b"zero", u64::MAX), Err(ReportError::NotAReport { .. })));
        assert!(matches!(piped(b"", 2), Err(ReportError::NotAReport { .. })));
        assert!(matches!(piped(&MAGIC, u64::MAX), Err(ReportError::TooLarge { limit: 4099, .. })));
        assert_eq!(piped(&MAGIC, 4095).unwrap().bytes().len(), 4099);
    }

    #[test]
    fn a_cut_frame_is_an_error() {
        let frame = compress(&[&MAGIC[..], &[7; 4096]].concat()).unwrap();
        for cut in 4..frame.len() {
            assert!(ReportBytes::from_bytes(frame[..cut].to_vec(), Limits::default()).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn only_reports_are_compressed() {
        assert!(matches!(compress(b"hello"), Err(ReportError::NotAReport { .. })));
    }
}
