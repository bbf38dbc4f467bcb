//! Functions of another language that queue work on the stream of a device: the interface for calls, and the location of their
//! results.

use super::error::{DeviceError, cuda};
use cudarc::driver::{result, sys};
use std::fmt;

/// Calls functions. They queue all work on the given stream.
pub trait FunctionCaller {
    /// Calls a function at a shape, both by their number in the job, with these arguments. Returns the location of
    /// each result that is not in its buffer.
    ///
    /// # Errors
    /// The function fails, or a requirement is missing on this machine.
    fn call(&self, call: &FunctionCall<'_>) -> Result<Vec<ResultCopy>, DeviceError>;

    /// Allocations of the functions from here until [`Self::end_graph`] stay as long as the process.
    ///
    /// # Errors
    /// The memory cannot be set apart.
    fn begin_graph(&self) -> Result<(), DeviceError>;

    /// See [`Self::begin_graph`].
    ///
    /// # Errors
    /// As there.
    fn end_graph(&self) -> Result<(), DeviceError>;
}

#[derive(Debug, Clone, Copy)]
pub struct FunctionCall<'a> {
    pub function: u32,
    pub shape: u32,
    /// Its arguments: for a Python function the addresses of all buffers, in their order.
    pub words: &'a [u64],
    pub stream: u64,
}

/// A result to copy to its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultCopy {
    pub from: u64,
    pub to: u64,
    /// Bytes of both.
    pub bytes: usize,
}

impl ResultCopy {
    pub(super) fn queue(&self, stream: sys::CUstream) -> Result<(), DeviceError> {
        // SAFETY: the caller of the function guarantees that both are allocations of that many bytes.
        unsafe { result::memcpy_dtod_async(self.to, self.from, self.bytes, stream) }.map_err(cuda("cuMemcpyDtoD"))
    }
}

/// Destination of the results of calls.
#[derive(Debug, Default)]
pub(super) enum Delivery {
    /// Copied to their buffers at once.
    #[default]
    AtOnce,
    /// Copied to their buffers later: a timed graph is captured, and the copies are not part of the timing. The last call on a
    /// set of buffers counts.
    Later(Vec<ResultCopy>),
}

impl Delivery {
    pub(super) fn take(&mut self, copies: Vec<ResultCopy>, stream: sys::CUstream) -> Result<(), DeviceError> {
        match self {
            Self::AtOnce => copies.iter().try_for_each(|copy| copy.queue(stream)),
            Self::Later(kept) => {
                kept.retain(|known| copies.iter().all(|copy| copy.to != known.to));
                kept.extend(copies);
                Ok(())
            }
        }
    }
}

/// A caller, shown by its name alone.
pub(super) struct Caller(pub Box<dyn FunctionCaller>);

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Caller")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_calls_on_a_set_the_last_one_is_delivered() {
        let copy = |from, to| ResultCopy { from, to, bytes: 4 };
        let mut delivery = Delivery::Later(Vec::new());
        for (from, to) in [(1, 10), (2, 20), (3, 10)] {
            assert!(delivery.take(vec![copy(from, to)], std::ptr::null_mut()).is_ok());
        }
        let Delivery::Later(kept) = delivery else { unreachable!() };
        assert_eq!(kept, [copy(2, 20), copy(3, 10)]);
    }
}
