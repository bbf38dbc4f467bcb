//! NVTX ranges, which tell a profiler the variant of a launch.
//!
//! NVIDIA's own headers do the work (`third_party/nvtx`): a profiler that starts this program injects its library through them.
//! Without a profiler, a range loads nothing and costs one check.

use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;

unsafe extern "C" {
    fn ncugate_nvtx_push(name: *const c_char) -> c_int;
    fn ncugate_nvtx_pop() -> c_int;
}

/// A range of this thread, open until the value is dropped.
pub struct RangeGuard {
    /// The pop must run on the thread of the push.
    not_send: PhantomData<*const ()>,
}

impl RangeGuard {
    /// Opens a range. The name is passed as bytes, because ncu keeps the terminating NUL of a wide string as a character of the
    /// name.
    pub fn open(name: &CStr) -> Self {
        // SAFETY: `name` ends with a NUL and lives through the call; the injected library copies it.
        unsafe { ncugate_nvtx_push(name.as_ptr()) };
        Self { not_send: PhantomData }
    }
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        // SAFETY: it takes no argument; `self` was made by a push on this thread.
        unsafe { ncugate_nvtx_pop() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_without_a_profiler_does_nothing() {
        let outer = RangeGuard::open(c"outer");
        drop(RangeGuard::open(c"inner"));
        drop(outer);
    }
}
