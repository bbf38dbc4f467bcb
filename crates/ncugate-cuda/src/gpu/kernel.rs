//! Kernels in loaded modules, and graphs of launches. Dropping a value unloads it.

use super::error::{DeviceError, cuda};
use super::function::ResultCopy;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUfunction_attribute as FunctionAttribute};
use ncugate_model::cubin::{ModuleVariable, variable};
use ncugate_phase::plan::ShapeProgram;
use std::ffi::CString;

#[derive(Debug)]
pub struct LoadedModule {
    pub(super) module: sys::CUmodule,
}

impl Drop for LoadedModule {
    fn drop(&mut self) {
        // SAFETY: loaded by `Device::load` and unloaded once.
        let _ = unsafe { result::module::unload(self.module) };
    }
}

/// A loaded entry of one of this program's own kernels.
#[derive(Debug)]
pub struct LoadedKernel {
    pub(super) function: sys::CUfunction,
    /// Keeps the module loaded.
    pub(super) _module: LoadedModule,
}

/// An entry of a variant's module.
#[derive(Debug)]
pub struct LoadedEntry {
    /// Its name in the plan.
    pub entry: String,
    pub function: sys::CUfunction,
    /// Bytes of each parameter.
    pub parameters: Vec<u32>,
}

/// The kernels or the function that a variant launches.
#[derive(Debug)]
pub enum LoadedProgram {
    /// Its entries, in one module. Module variables keep their values from one launch to the next.
    Module {
        functions: Vec<LoadedEntry>,
        /// The module variables that the host can write.
        variables: Vec<ModuleVariable>,
        /// Keeps the module loaded.
        module: LoadedModule,
    },
    /// A function of another language, by its number in the job.
    Function(u32),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum LaunchTarget<'p> {
    /// An entry of a module.
    Entry(&'p LoadedEntry),
    /// A function of another language.
    Function(u32),
}

impl LoadedProgram {
    /// Whether it is a function of another language.
    pub const fn is_function(&self) -> bool {
        matches!(self, Self::Function(_))
    }

    pub(super) fn target(&self, entry: &str) -> Result<LaunchTarget<'_>, DeviceError> {
        let functions = match self {
            Self::Function(number) => return Ok(LaunchTarget::Function(*number)),
            Self::Module { functions, .. } => functions,
        };
        let found = functions.iter().find(|known| known.entry == entry);
        found.map(LaunchTarget::Entry).ok_or_else(|| DeviceError::Launch(format!("entry `{entry}` is not loaded")))
    }

    /// The address of a module variable of at least `bytes`.
    pub(super) fn variable(&self, name: &str, bytes: usize) -> Result<u64, DeviceError> {
        let Self::Module { variables, module, .. } = self else {
            return Err(DeviceError::Launch(format!("variable `{name}` needs a module, not a function")));
        };
        let found = variable(variables, name).map_err(DeviceError::Launch)?;
        let symbol = CString::new(found.symbol.as_str())
            .map_err(|_| DeviceError::Launch(format!("variable {name:?} has a NUL")))?;
        // SAFETY: the module is loaded.
        let (address, size) =
            unsafe { result::module::get_global(module.module, symbol) }.map_err(cuda("cuModuleGetGlobal"))?;
        match bytes <= size {
            true => Ok(address),
            false => Err(DeviceError::Launch(format!("variable `{name}` has {size} bytes, but its value has {bytes}"))),
        }
    }

    /// Permits its functions the dynamic shared memory, the carve-out and the cluster size of a program's launches. Several
    /// launches of one function get the maximum.
    pub(super) fn allow(&self, program: &ShapeProgram) -> Result<(), DeviceError> {
        let Self::Module { functions, .. } = self else { return Ok(()) };
        for LoadedEntry { entry, function, .. } in functions {
            let launches = || program.launches().filter(|launch| &launch.entry == entry);
            let set = |attribute, value: u32| {
                let value = i32::try_from(value).unwrap_or(i32::MAX);
                // SAFETY: the function lives as long as `self`.
                unsafe { result::function::set_function_attribute(*function, attribute, value) }
                    .map_err(cuda("cuFuncSetAttribute"))
            };
            let dynamic = launches().map(|launch| launch.dynamic_shared).max().unwrap_or(0);
            if dynamic > 0 {
                set(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic)?;
            }
            if let Some(carveout) = launches().filter_map(|launch| launch.carveout).max() {
                set(FunctionAttribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, carveout)?;
            }
            // Every chip with clusters can launch clusters of eight blocks, but not always larger ones.
            if launches().any(|launch| launch.cluster.iter().product::<u32>() > 8) {
                set(FunctionAttribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)?;
            }
        }
        Ok(())
    }
}

/// An executable graph of launches.
#[derive(Debug)]
pub struct ExecutableGraph {
    pub(super) exec: sys::CUgraphExec,
    /// Results of functions that are not in their buffers after a run.
    pub(super) deliveries: Vec<ResultCopy>,
}

impl Drop for ExecutableGraph {
    fn drop(&mut self) {
        // SAFETY: instantiated by `Device::capture` and destroyed once.
        let _ = unsafe { result::graph::exec_destroy(self.exec) };
    }
}
