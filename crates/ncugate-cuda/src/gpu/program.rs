//! A program bound to buffers: its launches with their arguments, its fills and copies with their addresses.

use super::arguments::{KernelArguments, value_bytes};
use super::buffer::BufferSpec;
use super::device::CudaDevice;
use super::error::{DeviceError, cuda};
use super::kernel::{LaunchTarget, LoadedEntry, LoadedProgram};
use super::surface::{Surface, SurfaceCopy};
use super::transfer::access_policy;
use cudarc::driver::{result, sys};
use ncugate_model::ComputeCapability;
use ncugate_model::LaunchMode;
use ncugate_phase::plan::{Arg, KernelLaunch, L2Window, ShapeProgram, Step, SymbolFill};

/// The CUDA version that captures programmatic dependencies into graphs, and the first compute capability with them.
const PROGRAMMATIC: ((u32, u32), ComputeCapability) = ((12, 3), ComputeCapability::new(9, 0));

/// A program on one set of buffers, which must outlive its runs.
#[derive(Debug)]
pub struct BoundProgram<'p> {
    symbols: Vec<SymbolCopy>,
    surfaces: Vec<Surface>,
    steps: Vec<BoundStep<'p>>,
    /// Bytes of the L2 cache to set aside for persisting lines.
    l2_set_aside: u64,
}

/// A copy to a variable of the module.
#[derive(Debug)]
struct SymbolCopy {
    from: u64,
    to: u64,
    bytes: usize,
}

impl BoundProgram<'_> {
    /// Whether it writes variables of its module, which all sets of buffers share.
    pub const fn has_symbols(&self) -> bool {
        !self.symbols.is_empty()
    }

    /// Bytes of the L2 cache to set aside before its launches, by [`CudaDevice::set_l2_aside`].
    pub const fn l2_set_aside(&self) -> u64 {
        self.l2_set_aside
    }

    /// The surfaces of its launches, without duplicates.
    pub fn surfaces(&self) -> &[Surface] {
        &self.surfaces
    }
}

/// The number of bytes of a buffer that a step uses: the variant's number if given, else all.
fn own_bytes(own: Option<u64>, buffer: &BufferSpec) -> Result<usize, DeviceError> {
    let room = buffer.bytes();
    let bytes = own.map_or(Some(room), |own| usize::try_from(own).ok()).filter(|bytes| *bytes <= room);
    bytes.ok_or_else(|| DeviceError::Launch(format!("{own:?} bytes of `{}`, which has {room}", buffer.name)))
}

/// A step with resolved addresses.
#[derive(Debug)]
enum BoundStep<'p> {
    Launch {
        function: sys::CUfunction,
        launch: &'p KernelLaunch,
        arguments: KernelArguments,
        window: Option<sys::CUaccessPolicyWindow>,
    },
    Call {
        function: u32,
        arguments: KernelArguments,
    },
    Memset {
        address: u64,
        bytes: usize,
        byte: u8,
    },
    Memcpy {
        from: u64,
        to: u64,
        bytes: usize,
    },
}

impl CudaDevice {
    /// Binds a program to buffers; `buffer` returns their addresses, and `loaded` has the program's entries.
    ///
    /// # Errors
    /// An entry or a buffer is missing, the device or the driver lacks a feature of a launch, or the driver refuses.
    pub fn bind<'p, 'b>(
        &self,
        loaded: &'p LoadedProgram,
        program: &'p ShapeProgram,
        buffer: impl Fn(&str) -> Option<(u64, &'b BufferSpec)>,
    ) -> Result<BoundProgram<'p>, DeviceError> {
        loaded.allow(program)?;
        let found = |name: &str| buffer(name).ok_or_else(|| DeviceError::Launch(format!("no buffer `{name}`")));
        let bound = |step: &'p Step| match step {
            Step::Launch(launch) => {
                let target = loaded.target(&launch.entry)?;
                match target {
                    LaunchTarget::Entry(LoadedEntry { function, parameters, .. }) => {
                        let arguments = KernelArguments::new(&launch.args, parameters, &buffer, self)?;
                        self.check_mode(*function, launch)?;
                        let over = |window: &L2Window| access_policy(window, found(&window.buffer)?.0);
                        let window = launch.l2_window.as_ref().map(over).transpose()?;
                        Ok(BoundStep::Launch { function: *function, launch, arguments, window })
                    }
                    LaunchTarget::Function(function) => {
                        let arguments = KernelArguments::new(&launch.args, &[], &buffer, self)?;
                        Ok(BoundStep::Call { function, arguments })
                    }
                }
            }
            Step::Memset(fill) => {
                let (address, spec) = found(&fill.buffer)?;
                let bytes = own_bytes(fill.bytes, spec)?;
                Ok(BoundStep::Memset { address, bytes, byte: fill.byte })
            }
            Step::Memcpy(copy) => {
                let ((from, read), (to, written)) = (found(&copy.from)?, found(&copy.to)?);
                let (bytes, room) = (own_bytes(copy.bytes, read)?, own_bytes(copy.bytes, written)?);
                if bytes != room {
                    let reason = format!("a copy from {bytes} bytes of `{}` to {room} of `{}`", copy.from, copy.to);
                    return Err(DeviceError::Launch(reason));
                }
                Ok(BoundStep::Memcpy { from, to, bytes })
            }
        };
        let symbol = |fill: &SymbolFill| {
            let (from, bytes) = match &fill.value {
                Arg::Buffer(name) => {
                    let (address, spec) = found(name)?;
                    (address, spec.bytes())
                }
                value => {
                    let bytes = value_bytes(value)?;
                    (self.keep(&bytes)?, bytes.len())
                }
            };
            Ok(SymbolCopy { from, to: loaded.variable(&fill.symbol, bytes)?, bytes })
        };
        let windows = program.launches().filter_map(|launch| launch.l2_window.as_ref());
        Ok(BoundProgram {
            symbols: program.symbols.iter().map(symbol).collect::<Result<_, DeviceError>>()?,
            surfaces: self.surfaces_of(program, &buffer)?,
            steps: program.steps.iter().map(bound).collect::<Result<_, DeviceError>>()?,
            l2_set_aside: windows.map(|window| window.set_aside).max().unwrap_or(0),
        })
    }

    /// The surfaces of a program, without duplicates.
    fn surfaces_of<'b>(
        &self,
        program: &ShapeProgram,
        buffer: impl Fn(&str) -> Option<(u64, &'b BufferSpec)>,
    ) -> Result<Vec<Surface>, DeviceError> {
        let mut surfaces: Vec<Surface> = Vec::new();
        for arg in program.launches().flat_map(|launch| &launch.args).flat_map(Arg::parts) {
            let Arg::Surface(view) = arg else { continue };
            let Some((address, spec)) = buffer(&view.buffer) else { continue };
            let surface = self.surface(view, address, spec)?;
            if surfaces.iter().all(|known| known.object != surface.object) {
                surfaces.push(surface);
            }
        }
        Ok(surfaces)
    }

    /// Queues the work before a program's first step, or adds it to the graph being captured: fills variables of its module and
    /// arrays of its surfaces from its buffers.
    ///
    /// # Errors
    /// The driver refuses a copy.
    pub fn prepare(&self, program: &BoundProgram<'_>) -> Result<(), DeviceError> {
        self.fill_symbols(program)?;
        self.copy_surfaces(&program.surfaces, SurfaceCopy::Fill)
    }

    /// Queues the work after a program's last step, or adds it to the graph being captured: writes the arrays of its surfaces
    /// back to its buffers.
    ///
    /// # Errors
    /// The driver refuses a copy.
    pub fn finish(&self, program: &BoundProgram<'_>) -> Result<(), DeviceError> {
        self.copy_surfaces(&program.surfaces, SurfaceCopy::WriteBack)
    }

    /// Queues the copies from a program's buffers to the variables of its module, or adds them to the graph being captured. The
    /// values last until another set of buffers is written to the variables.
    ///
    /// # Errors
    /// The driver refuses a copy.
    pub fn fill_symbols(&self, program: &BoundProgram<'_>) -> Result<(), DeviceError> {
        program.symbols.iter().try_for_each(|copy| {
            // SAFETY: both are allocations of at least that many bytes, which outlive the queued work.
            unsafe { result::memcpy_dtod_async(copy.to, copy.from, copy.bytes, self.stream()) }
                .map_err(cuda("cuMemcpyDtoD"))
        })
    }

    /// Queues every step of a program, or adds it to the graph being captured.
    ///
    /// # Errors
    /// The driver refuses a step.
    pub fn run(&self, program: &BoundProgram<'_>) -> Result<(), DeviceError> {
        program.steps.iter().try_for_each(|step| match step {
            BoundStep::Launch { function, launch, arguments, window } => {
                self.launch(*function, launch, arguments, *window)
            }
            BoundStep::Call { function, arguments } => self.call(*function, arguments),
            BoundStep::Memset { address, bytes, byte } => {
                // SAFETY: the buffer has that many bytes and outlives the queued work.
                unsafe { result::memset_d8_async(*address, *byte, *bytes, self.stream()) }.map_err(cuda("cuMemsetD8"))
            }
            BoundStep::Memcpy { from, to, bytes } => {
                // SAFETY: both buffers have that many bytes and outlive the queued work.
                unsafe { result::memcpy_dtod_async(*to, *from, *bytes, self.stream()) }.map_err(cuda("cuMemcpyDtoD"))
            }
        })
    }

    /// Fails if this device or driver lacks a special feature of a launch.
    fn check_mode(&self, function: sys::CUfunction, launch: &KernelLaunch) -> Result<(), DeviceError> {
        match launch.mode {
            LaunchMode::Ordinary => Ok(()),
            LaunchMode::Cooperative => self.check_residence(function, launch),
            LaunchMode::Programmatic => {
                let attributes = self.attributes();
                if attributes.cuda >= PROGRAMMATIC.0 && attributes.compute_capability >= PROGRAMMATIC.1 {
                    return Ok(());
                }
                let ((major, minor), capability) = PROGRAMMATIC;
                let (has, cc) = (attributes.cuda, attributes.compute_capability);
                Err(DeviceError::Launch(format!(
                    "programmatic dependent launch of `{}` needs CUDA {major}.{minor} and compute capability {capability}; this machine has CUDA {}.{} and compute capability {cc}",
                    launch.entry, has.0, has.1
                )))
            }
        }
    }

    /// Fails for a cooperative grid whose blocks are not all resident at once: they would wait for each other forever.
    fn check_residence(&self, function: sys::CUfunction, launch: &KernelLaunch) -> Result<(), DeviceError> {
        let mut resident = 0;
        let threads = i32::try_from(launch.threads()).unwrap_or(i32::MAX);
        // SAFETY: the function is loaded, and the call writes one int.
        unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &raw mut resident,
                function,
                threads,
                launch.dynamic_shared as usize,
            )
        }
        .result()
        .map_err(cuda("cuOccupancyMaxActiveBlocksPerMultiprocessor"))?;
        let (resident, sms) = (u64::try_from(resident).unwrap_or(0), u64::from(self.attributes().sms));
        if launch.blocks() <= resident * sms {
            return Ok(());
        }
        Err(DeviceError::Launch(format!(
            "a cooperative grid of {} blocks of `{}`; at most {} can be resident on this device, {resident} on each of {sms} multiprocessors",
            launch.blocks(),
            launch.entry,
            resident * sms
        )))
    }
}
