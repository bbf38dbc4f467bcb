//! The allocator of the program: the system's, with huge pages for large allocations.
//!
//! Proving a problem of some hundred megabytes fills a few gigabytes of vectors for each law of its inputs. In pages of 4 KiB
//! the kernel took a third of that time to hand them out.

use nix::libc;
use std::alloc::{GlobalAlloc, Layout, System};

/// Minimum size in bytes of an allocation with huge pages: the system's allocator maps such allocations separately.
const LEAST: usize = 1 << 25;
/// Alignment of addresses for `madvise`, for every page size of Linux.
const ALIGNMENT: usize = 1 << 16;

/// The system's allocator with huge pages.
pub struct HugePages;

// SAFETY: every call is the system's; advice does not change the contents of memory.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Requests huge pages for an allocation. Without huge pages it has no effect.
fn advised(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if bytes >= LEAST && !pointer.is_null() {
        let before = pointer.align_offset(ALIGNMENT);
        let length = bytes.saturating_sub(before) / ALIGNMENT * ALIGNMENT;
        // SAFETY: the range is inside the allocation, and huge pages hold the same bytes.
        unsafe { libc::madvise(pointer.wrapping_add(before).cast(), length, libc::MADV_HUGEPAGE) };
    }
    pointer
}
