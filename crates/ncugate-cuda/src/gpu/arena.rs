//! All buffers of a shape in one allocation, with patterned guard bands before, between and after them.
//!
//! One copy fills the allocation and one copy reads it back. A comparison of the two images finds every out-of-bounds write.
//! Pure: bytes and offsets, no device.

use super::buffer::BufferSpec;
use ncugate_model::Role;
use rayon::prelude::*;
use std::ops::Range;

/// Minimum size of a guard band, in bytes.
const GUARD: usize = 4096;
/// Every buffer starts at a multiple of this many bytes, as textures require (`CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT` is 512 on
/// every chip).
const ALIGNMENT: usize = 512;
/// Alignment of digested ranges.
const DIGEST_ALIGNMENT: usize = 16;
/// Bytes compared by one task.
const CHUNK: usize = 1 << 18;

/// Location of each buffer of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArenaLayout {
    regions: Vec<Range<usize>>,
    bytes: usize,
}

impl ArenaLayout {
    /// Lays out the buffers in their order.
    pub fn new(buffers: &[BufferSpec]) -> Self {
        let mut end = 0;
        let regions = buffers
            .iter()
            .map(|buffer| {
                let start = (end + GUARD).next_multiple_of(ALIGNMENT);
                end = start + buffer.bytes();
                start..end
            })
            .collect();
        Self { regions, bytes: (end + GUARD).next_multiple_of(ALIGNMENT) }
    }

    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn region(&self, index: usize) -> Range<usize> {
        self.regions[index].clone()
    }

    /// Locations of the requested buffers.
    pub fn regions_of<'l>(
        &'l self,
        buffers: &'l [BufferSpec],
        wanted: impl Fn(&BufferSpec) -> bool + 'l,
    ) -> impl Iterator<Item = Range<usize>> + 'l {
        buffers.iter().zip(&self.regions).filter(move |(buffer, _)| wanted(buffer)).map(|(_, region)| region.clone())
    }

    /// The ranges that a launch must not write: everything outside of written buffers, that is inputs and guard bands. A range
    /// of at least 16 bytes starts at a multiple of 16.
    pub fn protected_ranges(&self, buffers: &[BufferSpec]) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        let mut start = 0_usize;
        let written = buffers.iter().zip(&self.regions).filter(|(b, _)| b.role != Role::Input).map(|(_, r)| r.clone());
        for region in written.chain(std::iter::once(self.bytes..self.bytes)) {
            let aligned = start.next_multiple_of(DIGEST_ALIGNMENT).min(region.start);
            ranges.extend([start..aligned, aligned..region.start].into_iter().filter(|range| !range.is_empty()));
            start = region.end;
        }
        ranges
    }

    /// The named buffer in an allocation that starts at `base`, with its address.
    pub fn find<'s>(&self, buffers: &'s [BufferSpec], name: &str, base: u64) -> Option<(u64, &'s BufferSpec)> {
        let index = buffers.iter().position(|b| b.name == name)?;
        Some((base + self.region(index).start as u64, &buffers[index]))
    }

    /// Writes the contents of the allocation before a launch: `contents` for inputs and for other buffers that have any (such
    /// as outputs that the launch updates), else zero.
    pub fn write_fresh(&self, buffers: &[BufferSpec], contents: &[impl AsRef<[u8]>], image: &mut [u8]) {
        for gap in self.gaps() {
            let start = gap.start;
            image[gap].iter_mut().enumerate().for_each(|(i, byte)| *byte = guard_byte(start + i));
        }
        for ((buffer, region), content) in buffers.iter().zip(&self.regions).zip(contents) {
            let (target, content) = (&mut image[region.clone()], content.as_ref());
            match buffer.role {
                Role::Input | Role::Inout => copy(target, content),
                Role::Output | Role::Scratch if content.len() == target.len() => copy(target, content),
                Role::Output | Role::Scratch => fill(target, 0),
            }
        }
    }

    /// Describes a write outside of outputs and scratch, if a launch made one.
    pub fn out_of_bounds_write(&self, buffers: &[BufferSpec], before: &[u8], after: &[u8]) -> Option<String> {
        let inputs = buffers.iter().zip(&self.regions).filter(|(b, _)| b.role == Role::Input);
        for (buffer, region) in inputs {
            if let Some(at) = first_difference(&before[region.clone()], &after[region.clone()]) {
                return Some(format!("input `{}` was written (first at byte {at})", buffer.name));
            }
        }
        self.gaps().enumerate().find_map(|(index, gap)| {
            let at = first_difference(&before[gap.clone()], &after[gap.clone()])?;
            Some(self.overrun(buffers, index, at, gap.len()))
        })
    }

    fn overrun(&self, buffers: &[BufferSpec], gap: usize, at: usize, len: usize) -> String {
        let before_it = gap.checked_sub(1).and_then(|i| buffers.get(i));
        let after_it = buffers.get(gap);
        match (before_it, after_it) {
            (Some(buffer), next) if next.is_none() || at < len / 2 => {
                format!("guard band overrun: wrote past the end of `{}` (first {at} bytes after it)", buffer.name)
            }
            (_, Some(buffer)) => {
                let distance = len - at;
                format!("guard band overrun: wrote before the start of `{}` ({distance} bytes before it)", buffer.name)
            }
            (_, None) => format!("guard band overrun at byte {at}"),
        }
    }

    /// Guard bands: before the first buffer, between neighbours, after the last.
    fn gaps(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let starts = std::iter::once(0).chain(self.regions.iter().map(|r| r.end));
        let ends = self.regions.iter().map(|r| r.start).chain(std::iter::once(self.bytes));
        starts.zip(ends).map(|(start, end)| start..end)
    }
}

/// Copies bytes on many threads; both slices have the same length.
pub fn copy(target: &mut [u8], source: &[u8]) {
    target
        .par_chunks_mut(CHUNK)
        .zip(source.par_chunks(CHUNK))
        .for_each(|(target, source)| target.copy_from_slice(source));
}

/// Sets bytes on many threads.
pub fn fill(target: &mut [u8], byte: u8) {
    target.par_chunks_mut(CHUNK).for_each(|target| target.fill(byte));
}

/// A pattern that differs from byte to byte and from the contents of buffers.
fn guard_byte(offset: usize) -> u8 {
    (offset as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0] | 1
}

fn first_difference(before: &[u8], after: &[u8]) -> Option<usize> {
    let chunks = before.par_chunks(CHUNK).zip(after.par_chunks(CHUNK)).enumerate();
    let (index, at) = chunks.find_map_first(|(index, (before, after))| {
        if before == after {
            return None;
        }
        before.iter().zip(after).position(|(b, a)| b != a).map(|at| (index, at))
    })?;
    Some(index * CHUNK + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use ncugate_model::Dtype;

    fn example() -> (Vec<BufferSpec>, ArenaLayout, Vec<u8>) {
        let buffers = vec![
            buffer("x", Dtype::F32, &[3], Role::Input),
            buffer("y", Dtype::F16, &[5], Role::Output),
            buffer("n", Dtype::I8, &[2], Role::Output),
            buffer("w", Dtype::U8, &[7], Role::Scratch),
        ];
        let layout = ArenaLayout::new(&buffers);
        let mut image = vec![0; layout.bytes()];
        layout.write_fresh(&buffers, &[vec![7; 12], vec![], vec![0xff, 5], vec![]], &mut image);
        (buffers, layout, image)
    }

    #[test]
    fn buffers_are_aligned_apart_and_filled() {
        let (_, layout, image) = example();
        for index in 0..4 {
            assert_eq!(layout.region(index).start % ALIGNMENT, 0);
        }
        assert!(layout.gaps().all(|g| g.len() >= GUARD));
        assert_eq!(image[layout.region(0)], [7; 12]);
        assert_eq!(image[layout.region(1)], [0; 10]);
        assert_eq!(image[layout.region(2)], [0xff, 5], "an output starts with its poison");
        assert_eq!(image[layout.region(3)], [0; 7]);
    }

    #[test]
    fn what_is_kept_is_everything_that_is_not_written() {
        let (buffers, layout, _) = example();
        let kept = layout.protected_ranges(&buffers);
        let writable: usize = [1, 2, 3].map(|index| layout.region(index).len()).iter().sum();
        assert_eq!(kept.iter().map(Range::len).sum::<usize>(), layout.bytes() - writable);
        assert!(kept.iter().all(|range| range.len() < DIGEST_ALIGNMENT || range.start % DIGEST_ALIGNMENT == 0));
        for index in [1, 2, 3] {
            let region = layout.region(index);
            assert!(kept.iter().all(|range| range.end <= region.start || range.start >= region.end));
        }
        let outputs = layout.regions_of(&buffers, |buffer| buffer.role == Role::Output).collect::<Vec<_>>();
        assert_eq!(outputs, [layout.region(1), layout.region(2)]);
    }

    #[test]
    fn an_out_of_bounds_write_is_named() {
        let (buffers, layout, before) = example();
        let found = |at: usize| {
            let mut after = before.clone();
            after[at] ^= 1;
            layout.out_of_bounds_write(&buffers, &before, &after)
        };
        assert_eq!(found(layout.region(1).start), None, "outputs may be written");
        assert_eq!(found(layout.region(3).start), None, "scratch may be written");
        assert_eq!(found(layout.region(0).start + 4).unwrap(), "input `x` was written (first at byte 4)");
        assert!(found(layout.region(1).end).unwrap().contains("past the end of `y` (first 0 bytes"));
        assert!(found(layout.region(1).start - 1).unwrap().contains("before the start of `y` (1 bytes"));
        assert!(found(0).unwrap().contains("before the start of `x`"));
        assert!(found(layout.bytes() - 1).unwrap().contains("past the end of `w`"));
    }
}
