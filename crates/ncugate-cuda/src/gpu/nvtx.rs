//! NVTX ranges: how a profiler learns which variant a launch belongs to.
//!
//! NVIDIA's own headers do the work (`third_party/nvtx`): a profiler that starts this program injects its library through
//! them. Without a profiler, a range loads nothing and costs a check.

use std::ffi::{CStr, c_char, c_int};
use std::marker::PhantomData;

unsafe extern "C" {
    fn ncugate_nvtx_push(name: *const c_char) -> c_int;
    fn ncugate_nvtx_pop() -> c_int;
}

/// A range of this thread that is open as long as the value lives.
pub struct RangeGuard {
    /// The pop has to be made by the thread that made the push.
    not_send: PhantomData<*const ()>,
}

impl RangeGuard {
    /// Opens a range. The name goes to the profiler as bytes: of a wide string ncu keeps the terminating NUL as a
    /// character of the name.
    pub fn open(name: &CStr) -> Self {
        // SAFETY: `name` ends with a NUL and lives through the call; the injected library copies it.
        unsafe { ncugate_nvtx_push(name.as_ptr()) };
        Self { not_send: PhantomData }
    }
}

impl Drop for RangeGuard {
    fn drop(&mut self) {
        // SAFETY: takes nothing; `self` was made by a push on this thread.
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
