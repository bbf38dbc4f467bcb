//! Digests of device memory, computed on the device. They show without a copy whether an output equals one that was compared in
//! full before.
//!
//! A digest has 128 bits, depends on every byte and its position, and is keyed, so that no kernel can forge one. The kernel is
//! PTX text that the driver compiles (`digest.ptx`); [`digest`] is the same function on the host.

use super::device::CudaDevice;
use super::error::DeviceError;
use super::kernel::LoadedKernel;
use super::memory::PinnedMemory;
use ncugate_array::generator::mix;
use rayon::prelude::*;

/// The kernel; ends with a NUL, as the driver requires.
const PTX: &str = concat!(include_str!("digest.ptx"), "\0");
const ENTRY: &str = "ncugate_digest";
/// Threads of a block, as in `digest.ptx`.
const THREADS: usize = 256;
/// Bytes that a thread reads; more only if the largest grid would not read everything.
const BYTES_A_THREAD: usize = 64;
/// Maximum number of blocks for one memory range: eight per multiprocessor of the largest chips.
const MAX_BLOCKS: usize = 1056;
/// Bytes of a partial digest.
const PARTIAL: usize = 16;
/// Allocation unit of page-locked memory for partial digests, in bytes.
const PAGE: usize = 1 << 20;
/// Bytes that one host task digests.
const CHUNK: usize = 1 << 18;

/// A digest of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MemoryDigest([u64; 2]);

impl MemoryDigest {
    const fn and(self, other: Self) -> Self {
        Self([self.0[0].wrapping_add(other.0[0]), self.0[1].wrapping_add(other.0[1])])
    }

    /// The contribution of word number `index` to the digest: the finaliser of splitmix64 over word, position and key, and a
    /// second mixing of the result.
    const fn of_word(key: u64, index: u64, word: u64) -> Self {
        let a = mix(word ^ key, index);
        let mut b = a.wrapping_mul(0xd6e8_feb8_6659_fd93);
        b ^= b >> 32;
        Self([a, b.wrapping_mul(0xd6e8_feb8_6659_fd93)])
    }
}

/// The digest of bytes on the host: the sum over their 8-byte words. Bytes after the last whole pair of words are a word each.
pub fn digest(key: u64, bytes: &[u8]) -> MemoryDigest {
    let (pairs, tail) = bytes.split_at(bytes.len() / 16 * 16);
    let chunk = |(chunk, bytes): (usize, &[u8])| {
        let first = chunk * CHUNK / 8;
        let words = bytes.as_chunks::<8>().0.iter().enumerate();
        words.fold(MemoryDigest::default(), |sum, (at, word)| {
            sum.and(MemoryDigest::of_word(key, (first + at) as u64, u64::from_le_bytes(*word)))
        })
    };
    let whole = pairs.par_chunks(CHUNK).enumerate().map(chunk).reduce(MemoryDigest::default, MemoryDigest::and);
    let first = pairs.len() / 8;
    tail.iter()
        .enumerate()
        .fold(whole, |sum, (at, byte)| sum.and(MemoryDigest::of_word(key, (first + at) as u64, u64::from(*byte))))
}

/// A row of device memory ranges of equal length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRow {
    /// Address of the first range.
    pub address: u64,
    /// Bytes of each range.
    pub bytes: usize,
    /// Bytes between the starts of neighbours.
    pub stride: usize,
    /// Number of ranges.
    pub count: usize,
}

/// Digests that were requested from the device.
#[derive(Debug, Clone, Copy)]
pub struct PendingDigests {
    page: usize,
    offset: usize,
    blocks: usize,
    count: usize,
}

/// The digest kernel on a device, and the host memory that it writes to.
#[derive(Debug)]
pub struct Digester {
    kernel: LoadedKernel,
    key: u64,
    pages: Vec<PinnedMemory>,
    /// The page being filled, and the bytes used in it.
    cursor: (usize, usize),
}

impl Digester {
    /// Loads the kernel. Digests with different keys are unrelated.
    ///
    /// # Errors
    /// The driver cannot compile it.
    pub fn new(device: &CudaDevice, key: u64) -> Result<Self, DeviceError> {
        Ok(Self { kernel: device.load_text(PTX, ENTRY)?, key, pages: Vec::new(), cursor: (0, 0) })
    }

    /// The digest of host bytes under the same key.
    pub fn of_host(&self, bytes: &[u8]) -> MemoryDigest {
        digest(self.key, bytes)
    }

    /// Forgets the requested digests.
    pub const fn clear(&mut self) {
        self.cursor = (0, 0);
    }

    /// Requests the digests of a row of ranges, behind all queued work. Ranges of at least 16 bytes start at a multiple of 16.
    ///
    /// # Errors
    /// The launch fails, or page-locked memory runs out.
    pub fn request(&mut self, device: &CudaDevice, row: &MemoryRow) -> Result<PendingDigests, DeviceError> {
        let blocks = row.bytes.div_ceil(THREADS * BYTES_A_THREAD).clamp(1, MAX_BLOCKS);
        let pending = self.reserve(device, blocks, row.count)?;
        let out = self.pages[pending.page].address() + pending.offset as u64;
        let words = [row.address, row.stride as u64, row.bytes as u64, self.key, out];
        let grid = [blocks as u32, row.count as u32, 1];
        device.launch_plain(&self.kernel, grid, [THREADS as u32, 1, 1], &words)?;
        Ok(pending)
    }

    /// Room for the partial digests of `blocks` blocks for each of `count` ranges, filled with zeros.
    fn reserve(&mut self, device: &CudaDevice, blocks: usize, count: usize) -> Result<PendingDigests, DeviceError> {
        let bytes = blocks * count * PARTIAL;
        let (mut page, mut offset) = self.cursor;
        while self.pages.get(page).is_some_and(|memory| offset + bytes > memory.as_slice().len()) {
            (page, offset) = (page + 1, 0);
        }
        if page == self.pages.len() {
            self.pages.push(device.pinned(bytes.max(PAGE))?);
        }
        self.pages[page].as_mut_slice()[offset..offset + bytes].fill(0);
        self.cursor = (page, offset + bytes);
        Ok(PendingDigests { page, offset, blocks, count })
    }

    /// The digests, after the device has been synchronised.
    pub fn read(&self, pending: &PendingDigests) -> Vec<MemoryDigest> {
        let bytes = pending.blocks * PARTIAL;
        let memory = &self.pages[pending.page].as_slice()[pending.offset..][..bytes * pending.count];
        memory.chunks_exact(bytes).map(sum).collect()
    }
}

fn sum(partials: &[u8]) -> MemoryDigest {
    partials.as_chunks::<8>().0.as_chunks::<2>().0.iter().fold(MemoryDigest::default(), |sum, [a, b]| {
        sum.and(MemoryDigest([u64::from_le_bytes(*a), u64::from_le_bytes(*b)]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_depends_on_every_byte_its_place_and_the_key() {
        for len in [0, 1, 7, 16, 31, 100] {
            let bytes: Vec<u8> = (0..len).collect();
            let whole = digest(1, &bytes);
            for at in 0..bytes.len() {
                let mut other = bytes.clone();
                other[at] ^= 0x80;
                assert_ne!(digest(1, &other), whole, "byte {at} of {len}");
            }
            assert!(len == 0 || digest(2, &bytes) != whole);
        }
        let (a, b) = ([[1u8; 8], [2; 8]].concat(), [[2u8; 8], [1; 8]].concat());
        assert_ne!(digest(0, &a), digest(0, &b), "words that changed places");
    }

    #[test]
    fn long_and_short_ranges_agree_whatever_the_number_of_tasks() {
        let bytes: Vec<u8> = (0..3 * CHUNK + 24).map(|i| (i * 7 + i / 251) as u8).collect();
        let words = bytes[..3 * CHUNK + 16].as_chunks::<8>().0.iter().enumerate();
        let whole = words.fold(MemoryDigest::default(), |sum, (at, word)| {
            sum.and(MemoryDigest::of_word(9, at as u64, u64::from_le_bytes(*word)))
        });
        let tail = (0..8).fold(whole, |sum, at| {
            let index = (3 * CHUNK + 16) / 8 + at;
            sum.and(MemoryDigest::of_word(9, index as u64, u64::from(bytes[3 * CHUNK + 16 + at])))
        });
        assert_eq!(digest(9, &bytes), tail);
    }

    #[test]
    fn partial_digests_are_added_up() {
        let partials: Vec<u8> = [1u64, u64::MAX, 2, 3].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(sum(&partials), MemoryDigest([3, 2]));
    }
}
