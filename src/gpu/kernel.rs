//! A kernel in a loaded module, and a graph of launches, unloaded with the value.

use super::error::{DeviceError, cuda};
use super::function::ResultCopy;
use crate::plan::Launch;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUfunction_attribute as FunctionAttribute};

/// What a variant launches.
#[derive(Debug)]
pub enum LoadedKernel {
    /// An entry of a module.
    Machine {
        /// The module, unloaded with the value.
        module: sys::CUmodule,
        /// The entry.
        function: sys::CUfunction,
    },
    /// A function of another language, by its number in the job.
    Function(u32),
}

impl LoadedKernel {
    /// Lets it have the dynamic shared memory and the cluster that a launch asks for.
    pub fn allow(&self, launch: &Launch) -> Result<(), DeviceError> {
        let Self::Machine { function, .. } = *self else { return Ok(()) };
        let set = |attribute, value: u32| {
            let value = i32::try_from(value).unwrap_or(i32::MAX);
            // SAFETY: the function lives as long as `self`.
            unsafe { result::function::set_function_attribute(function, attribute, value) }
                .map_err(cuda("cuFuncSetAttribute"))
        };
        if launch.dynamic_shared > 0 {
            set(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.dynamic_shared)?;
        }
        // Eight blocks are the largest cluster that every chip with clusters can launch.
        if launch.cluster.iter().product::<u32>() > 8 {
            set(FunctionAttribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
        }
        Ok(())
    }
}

impl Drop for LoadedKernel {
    fn drop(&mut self) {
        if let Self::Machine { module, .. } = *self {
            // SAFETY: loaded by `Device::load` and unloaded once.
            let _ = unsafe { result::module::unload(module) };
        }
    }
}

/// An executable graph of launches.
#[derive(Debug)]
pub struct ExecutableGraph {
    pub(super) exec: sys::CUgraphExec,
    /// Results of functions that are not in their buffers when it has run.
    pub(super) deliveries: Vec<ResultCopy>,
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // SAFETY: instantiated by `Device::capture` and destroyed once.
        let _ = unsafe { result::graph::exec_destroy(self.exec) };
    }
}
