//! Loops with the vector instructions of the processor. Programs are compiled for any x86-64, which has short vectors.

/// Runs `work` as compiled for AVX2, if the processor has it. `work` should be a loop, with everything in it inlined.
#[inline]
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if has_vectors() {
            // SAFETY: the processor has these instructions.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}

/// Whether the processor has AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
pub fn has_vectors() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
}
