//! The fields that are read from CUPTI's kernel records, and the versions of CUPTI for which their offsets are known.
//!
//! Each CUPTI writes the newest record that it knows: `CUpti_ActivityKernel8` (11.8), `...9` (12.0 to 12.9), `...10` (13.0),
//! `...11` (13.1, 13.2), `...12` (13.3), `...13` (13.4, 13.5). In the header `cupti_activity.h` all of them begin alike: each
//! later version appends fields. The offsets are from the header of CUDA 12.8, whose fields are packed to 8 bytes, and are
//! the same in that of 13.5.

use ncugate_model::TracedLaunch;

/// `CUPTI_ACTIVITY_KIND_KERNEL`, for launches that are traced one by one.
const KERNEL: u32 = 3;
/// `CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL`.
pub(super) const CONCURRENT_KERNEL: u32 = 10;

/// Offsets of the fields, in bytes.
mod offset {
    /// `CUpti_ActivityKind kind`
    pub const KIND: usize = 0;
    /// `uint16_t registersPerThread`
    pub const REGISTERS: usize = 6;
    /// `uint64_t start`
    pub const START: usize = 16;
    /// `uint64_t end`
    pub const END: usize = 24;
    /// `int32_t gridX`, and Y and Z behind it
    pub const GRID: usize = 52;
    /// `int32_t blockX`, and Y and Z behind it
    pub const BLOCK: usize = 64;
    /// `int32_t staticSharedMemory`
    pub const STATIC_SHARED: usize = 76;
    /// `int32_t dynamicSharedMemory`
    pub const DYNAMIC_SHARED: usize = 80;
    /// `uint32_t localMemoryPerThread`
    pub const LOCAL: usize = 84;
    /// `const char *name`
    pub const NAME: usize = 104;
    /// `uint32_t clusterX`, and Y and Z behind it
    pub const CLUSTER: usize = 176;
}

/// The kind of a record; none if the record is too short.
pub(super) fn kind(record: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes(record, offset::KIND)?))
}

/// Whether records of this kind describe kernels.
pub(super) fn is_kernel(kind: u32) -> bool {
    kind == KERNEL || kind == CONCURRENT_KERNEL
}

/// The launch in a kernel's record, and the address of its name; none if the record is cut off or a size is negative.
pub(super) fn launch(record: &[u8]) -> Option<(TracedLaunch, usize)> {
    let word = |at| bytes(record, at).map(u32::from_ne_bytes);
    let size = |at| word(at).filter(|size| i32::try_from(*size).is_ok());
    let long = |at| bytes(record, at).map(u64::from_ne_bytes);
    let extents = |at| Some([size(at)?, size(at + 4)?, size(at + 8)?]);
    let launch = TracedLaunch {
        kernel: String::new(),
        start_ns: long(offset::START)?,
        end_ns: long(offset::END)?,
        registers: u32::from(u16::from_ne_bytes(bytes(record, offset::REGISTERS)?)),
        static_shared: size(offset::STATIC_SHARED)?,
        dynamic_shared: size(offset::DYNAMIC_SHARED)?,
        local: word(offset::LOCAL)?,
        grid: extents(offset::GRID)?,
        block: extents(offset::BLOCK)?,
        cluster: extents(offset::CLUSTER)?,
    };
    Some((launch, usize::from_ne_bytes(bytes(record, offset::NAME)?)))
}

fn bytes<const N: usize>(record: &[u8], at: usize) -> Option<[u8; N]> {
    record.get(at..at + N)?.try_into().ok()
}

/// A CUPTI release with known records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CuptiRelease {
    /// The CUDA release that it came with, as text.
    pub name: &'static str,
    /// The oldest major version of CUDA that it can belong to.
    pub major: u32,
}

/// The oldest and newest releases with known records.
pub(super) const OLDEST: &str = "12.0";
pub(super) const NEWEST: &str = "13.5";

/// The release of an API version (`cuptiGetVersion`), by the list in `cupti_version.h`; none if its records are unknown.
pub(super) fn release(api: u32) -> Option<CuptiRelease> {
    let (name, major) = match api {
        18 => ("12.0 or 12.1", 12),
        19 => ("12.0", 12),
        20 => ("12.2", 12),
        21 => ("12.3", 12),
        22 => ("12.4", 12),
        23 => ("12.5", 12),
        24 => ("12.6", 12),
        26 => ("12.8", 12),
        28 => ("12.9", 12),
        130_000..130_100 => ("13.0", 13),
        130_100..130_200 => ("13.1", 13),
        130_200..130_300 => ("13.2", 13),
        130_300..130_400 => ("13.3", 13),
        130_400..130_500 => ("13.4", 13),
        130_500..130_600 => ("13.5", 13),
        _ => return None,
    };
    Some(CuptiRelease { name, major })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;

    /// `CUpti_ActivityKernel9` of `cupti_activity.h` (CUDA 12.8), field by field, up to the last field that is read.
    #[repr(C, packed(8))]
    struct Kernel9 {
        kind: u32,
        cache_config: u8,
        shared_memory_config: u8,
        registers_per_thread: u16,
        partitioned_global_cache: [u32; 2],
        start: u64,
        end: u64,
        completed: u64,
        device_context_stream: [u32; 3],
        grid: [i32; 3],
        block: [i32; 3],
        static_shared_memory: i32,
        dynamic_shared_memory: i32,
        local_memory_per_thread: u32,
        local_memory_total: u32,
        correlation_id: u32,
        grid_id: i64,
        name: *const c_void,
        reserved: *mut c_void,
        queued: u64,
        submitted: u64,
        launch_type: u8,
        carveout: [u8; 2],
        padding: u8,
        shared_memory_executed: u32,
        graph_node_id: u64,
        shmem_limit_config: u32,
        graph_id: u32,
        access_policy_window: *mut c_void,
        channel_id: u32,
        channel_type: u32,
        cluster: [u32; 3],
        cluster_scheduling_policy: u32,
        local_memory_total_v2: u64,
        max_potential_cluster_size: u32,
        max_active_clusters: u32,
    }

    #[test]
    fn the_offsets_are_those_of_the_header() {
        use std::mem::offset_of;
        assert_eq!(size_of::<Kernel9>(), 208, "sizeof(CUpti_ActivityKernel9) of CUDA 12.8");
        assert_eq!(offset_of!(Kernel9, registers_per_thread), offset::REGISTERS);
        assert_eq!((offset_of!(Kernel9, start), offset_of!(Kernel9, end)), (offset::START, offset::END));
        assert_eq!((offset_of!(Kernel9, grid), offset_of!(Kernel9, block)), (offset::GRID, offset::BLOCK));
        assert_eq!(offset_of!(Kernel9, static_shared_memory), offset::STATIC_SHARED);
        assert_eq!(offset_of!(Kernel9, dynamic_shared_memory), offset::DYNAMIC_SHARED);
        assert_eq!(offset_of!(Kernel9, local_memory_per_thread), offset::LOCAL);
        assert_eq!((offset_of!(Kernel9, name), offset_of!(Kernel9, cluster)), (offset::NAME, offset::CLUSTER));
        assert_eq!(offset_of!(Kernel9, kind), offset::KIND);
    }

    fn record() -> Vec<u8> {
        let mut record = vec![0; 208];
        let mut put = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &10_u32.to_ne_bytes());
        put(6, &40_u16.to_ne_bytes());
        put(16, &5_000_u64.to_ne_bytes());
        put(24, &9_000_u64.to_ne_bytes());
        (0..3_usize).for_each(|axis| put(52 + 4 * axis, &(axis as u32 + 1).to_ne_bytes()));
        (0..3_usize).for_each(|axis| put(64 + 4 * axis, &(axis as u32 + 4).to_ne_bytes()));
        put(76, &64_u32.to_ne_bytes());
        put(80, &128_u32.to_ne_bytes());
        put(84, &16_u32.to_ne_bytes());
        put(104, &77_u64.to_ne_bytes());
        put(176, &2_u32.to_ne_bytes());
        record
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let (launch, name) = launch(&record()).unwrap();
        assert_eq!((kind(&record()), is_kernel(10), is_kernel(3), is_kernel(9)), (Some(10), true, true, false));
        assert_eq!((launch.start_ns, launch.end_ns, launch.registers), (5_000, 9_000, 40));
        assert_eq!((launch.grid, launch.block, launch.cluster), ([1, 2, 3], [4, 5, 6], [2, 0, 0]));
        assert_eq!((launch.static_shared, launch.dynamic_shared, launch.local, name), (64, 128, 16, 77));
    }

    #[test]
    fn a_record_that_is_cut_off_or_has_a_negative_size_is_not_read() {
        assert_eq!(launch(&record()[..187]), None);
        assert!(launch(&record()[..188]).is_some());
        let mut negative = record();
        negative[52..56].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(launch(&negative), None);
        assert_eq!(kind(&[1, 2]), None);
    }

    #[test]
    fn versions_are_those_of_the_headers_that_were_read() {
        assert_eq!(release(26).map(|known| known.name), Some("12.8"));
        assert_eq!(release(130_001), Some(CuptiRelease { name: "13.0", major: 13 }));
        assert_eq!(release(130_500), Some(CuptiRelease { name: NEWEST, major: 13 }));
        for unknown in [0, 17, 25, 29, 130_600, 140_000, u32::MAX] {
            assert_eq!(release(unknown), None, "{unknown}");
        }
    }
}
