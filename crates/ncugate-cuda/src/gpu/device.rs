//! The CUDA driver behind safe types that own their resources.
//!
//! Opening a device loads the library; its absence is an error, not a crash. One thread uses a device. Fills are copies from
//! the host: the driver's memset can launch kernels, which a profiler would see.

use super::arguments::{ArgumentMemory, ImageView, KernelArguments, Tiling};
use super::attributes::{DeviceAttributes, attributes_of, find};
use super::buffer::BufferSpec;
use super::captured_graph::{CapturedGraph, GraphStep};
use super::error::{DeviceError, cuda};
use super::function::{Caller, Delivery, FunctionCall, FunctionCaller};
use super::kernel::{ExecutableGraph, LoadedEntry, LoadedKernel, LoadedModule, LoadedProgram};
use super::memory::{DeviceMemory, PinnedMemory, check_sizes};
use super::surface::{Surface, SurfaceKey};
use cudarc::driver::{result, sys};
use ncugate_model::LaunchMode;
use ncugate_model::{ComputeCapability, EntrySymbols};
use ncugate_phase::plan::KernelLaunch;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr::null_mut;

/// The CUDA version and the compute capability that introduced tensor maps.
const TENSOR_MAPS: ((u32, u32), ComputeCapability) = ((12, 0), ComputeCapability::new(9, 0));

/// The default stream of the calling thread (`CU_STREAM_PER_THREAD`).
const DEFAULT_STREAM: usize = 2;

/// Why a function has no latency if a capture does not record its work.
const UNRECORDED: &str = "its launches cannot be recorded for the timing; queue them on the given stream (in Python the current stream of PyTorch and CuPy, else the default stream of the thread), and do not synchronise, allocate or copy to the host";

/// An opened device: its primary context, current on this thread, and a stream.
#[derive(Debug)]
pub struct CudaDevice {
    attributes: DeviceAttributes,
    stream: sys::CUstream,
    start: sys::CUevent,
    end: sys::CUevent,
    /// Private memory of kernels, by argument index and size in bytes. Launches run one after the other, so they share it.
    workspaces: RefCell<BTreeMap<(usize, u64), DeviceMemory>>,
    /// Calls functions of another language.
    caller: Option<Caller>,
    /// Destination of their results.
    delivery: RefCell<Delivery>,
    /// Arrays of pointers that arguments point to, and values of variables.
    tables: RefCell<Vec<DeviceMemory>>,
    /// Arrays under surfaces, by key.
    pub(super) surfaces: RefCell<BTreeMap<SurfaceKey, Surface>>,
    /// Bytes of the L2 cache that this context has set aside for persisting lines.
    pub(super) l2_set_aside: Cell<u64>,
}

impl CudaDevice {
    pub fn open(ordinal: u32) -> Result<Self, DeviceError> {
        let device = find(ordinal)?;
        let attributes = attributes_of(device)?;
        // SAFETY: `device` comes from cuDeviceGet; the context is kept until the process ends.
        unsafe {
            let context = result::primary_ctx::retain(device).map_err(cuda("cuDevicePrimaryCtxRetain"))?;
            result::ctx::set_current(context).map_err(cuda("cuCtxSetCurrent"))?;
        }
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(cuda("cuStreamCreate"))?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(cuda("cuEventCreate"));
        Ok(Self {
            attributes,
            stream,
            start: event()?,
            end: event()?,
            tables: RefCell::default(),
            surfaces: RefCell::default(),
            l2_set_aside: Cell::default(),
            workspaces: RefCell::default(),
            caller: None,
            delivery: RefCell::default(),
        })
    }

    /// Queues all work on the default stream of this thread, which every function can name. It waits for the legacy default stream,
    /// and work there during a capture is an error.
    #[must_use]
    pub fn on_default_stream(mut self) -> Self {
        // SAFETY: created by `open`, and nothing is queued on it.
        let _ = unsafe { result::stream::destroy(self.stream) };
        self.stream = std::ptr::without_provenance_mut(DEFAULT_STREAM);
        self
    }

    #[must_use]
    pub fn with_functions(self, caller: impl FunctionCaller + 'static) -> Self {
        let mut device = self;
        device.caller = Some(Caller(Box::new(caller)));
        device
    }

    pub const fn attributes(&self) -> &DeviceAttributes {
        &self.attributes
    }

    /// The stream for all queued work.
    pub(super) const fn stream(&self) -> sys::CUstream {
        self.stream
    }

    /// Waits for everything launched; reports errors of kernels.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::synchronize(self.stream) }.map_err(cuda("the kernel failed"))
    }

    /// Whether the context still works; an illegal address, for example, breaks it.
    pub fn is_alive(&self) -> bool {
        result::ctx::synchronize().is_ok()
    }

    /// Uninitialised device memory of that many bytes.
    pub fn allocate(&self, bytes: usize) -> Result<DeviceMemory, DeviceError> {
        // SAFETY: nothing reads it before it is written.
        let address = unsafe { result::malloc_sync(bytes.max(1)) }.map_err(cuda("cuMemAlloc"))?;
        Ok(DeviceMemory { address, bytes })
    }

    /// Zeroed page-locked host memory of that many bytes.
    pub fn pinned(&self, bytes: usize) -> Result<PinnedMemory, DeviceError> {
        // SAFETY: bytes of any value are valid, and the memory is zeroed before it is read.
        let pointer = unsafe { result::malloc_host(bytes.max(1), 0) }.map_err(cuda("cuMemHostAlloc"))?;
        let mut memory = PinnedMemory { pointer: pointer.cast(), bytes };
        super::arena::fill(memory.as_mut_slice(), 0);
        Ok(memory)
    }

    /// Copies host memory to device memory and waits.
    pub fn upload(&self, to: &DeviceMemory, from: &PinnedMemory) -> Result<(), DeviceError> {
        check_sizes(to, from)?;
        // SAFETY: both are allocations of at least that many bytes, alive until the synchronisation.
        unsafe { result::memcpy_htod_async(to.address, from.as_slice(), self.stream) }.map_err(cuda("cuMemcpyHtoD"))?;
        self.synchronize()
    }

    /// Copies device memory to host memory and waits.
    pub fn download(&self, to: &mut PinnedMemory, from: &DeviceMemory) -> Result<(), DeviceError> {
        check_sizes(from, to)?;
        // SAFETY: as in `upload`.
        unsafe { result::memcpy_dtoh_async(to.as_mut_slice(), from.address, self.stream) }
            .map_err(cuda("cuMemcpyDtoH"))?;
        self.synchronize()
    }

    /// Loads a cubin and looks up the entries of a program.
    ///
    /// # Errors
    /// The cubin cannot be read or loaded, or an entry is missing.
    pub fn load(&self, cubin: &Path, entries: &[&str], symbols: &EntrySymbols) -> Result<LoadedProgram, DeviceError> {
        let unreadable = |reason: String| DeviceError::Cubin { path: cubin.to_owned(), reason };
        let mut image = std::fs::read(cubin).map_err(|e| unreadable(e.to_string()))?;
        if !image.starts_with(b"\x7fELF") {
            return Err(unreadable("it is not an ELF file".to_owned()));
        }
        let symbol = |entry: &&str| {
            let symbol =
                ncugate_model::cubin::symbol(&image, symbols.of(entry)).map_err(|e| unreadable(e.to_string()))?;
            let sizes = ncugate_model::cubin::parameters(&image, &symbol).map_err(|e| unreadable(e.to_string()))?;
            let symbol = CString::new(symbol).map_err(|_| unreadable(format!("entry {entry:?} has a NUL")))?;
            Ok(((*entry).to_owned(), symbol, sizes))
        };
        let symbols: Vec<(String, CString, Vec<u32>)> =
            entries.iter().map(symbol).collect::<Result<_, DeviceError>>()?;
        let variables = ncugate_model::cubin::variables(&image).map_err(|e| unreadable(e.to_string()))?;
        image.push(0);
        let module = load_image(&image)?;
        let functions = symbols.into_iter().map(|(entry, symbol, parameters)| {
            Ok(LoadedEntry { entry, function: function(&module, symbol)?, parameters })
        });
        let functions = functions.collect::<Result<_, DeviceError>>()?;
        Ok(LoadedProgram::Module { functions, variables, module })
    }

    /// Loads PTX text that ends with a NUL, which the driver compiles, and looks up an entry.
    ///
    /// # Errors
    /// The driver cannot compile it, or the entry is missing.
    pub(super) fn load_text(&self, ptx: &str, entry: &str) -> Result<LoadedKernel, DeviceError> {
        let name = CString::new(entry).map_err(|_| DeviceError::Launch(format!("entry {entry:?} has a NUL")))?;
        if !ptx.ends_with('\0') {
            return Err(DeviceError::Launch("PTX text without a final NUL".to_owned()));
        }
        let module = load_image(ptx.as_bytes())?;
        Ok(LoadedKernel { function: function(&module, name)?, _module: module })
    }

    /// The address of a copy of bytes, valid as long as the device is open.
    pub(super) fn keep(&self, bytes: &[u8]) -> Result<u64, DeviceError> {
        let mut image = self.pinned(bytes.len())?;
        image.as_mut_slice().copy_from_slice(bytes);
        let memory = self.allocate(image.as_slice().len())?;
        self.upload(&memory, &image)?;
        let address = memory.address();
        self.tables.borrow_mut().push(memory);
        Ok(address)
    }

    /// Launches a kernel on the stream, or adds it to the graph being captured.
    pub(super) fn launch(
        &self,
        function: sys::CUfunction,
        launch: &KernelLaunch,
        arguments: &KernelArguments,
        window: Option<sys::CUaccessPolicyWindow>,
    ) -> Result<(), DeviceError> {
        let mut parameters = arguments.pointers();
        let mut attributes = launch_attributes(launch, window);
        let config = launch_config((launch.grid, launch.block), launch.dynamic_shared, self.stream, &mut attributes);
        // SAFETY: parameters point at values as large as the kernel takes (the build checks the sizes if the cubin has them).
        // The values and the attributes outlive the call, which copies them. The kernel can use its pointers as it likes; that
        // is why this runs in a separate process.
        unsafe { sys::cuLaunchKernelEx(&raw const config, function, parameters.as_mut_ptr(), std::ptr::null_mut()) }
            .result()
            .map_err(cuda("cuLaunchKernelEx"))
    }

    /// Calls a function. Its first argument is the number of the shape.
    pub(super) fn call(&self, function: u32, arguments: &KernelArguments) -> Result<(), DeviceError> {
        let words = arguments.words();
        let (Some(caller), Some((&shape, words))) = (&self.caller, words.split_first()) else {
            return Err(DeviceError::Launch("this process cannot call functions".to_owned()));
        };
        let call = FunctionCall { function, shape: shape as u32, words, stream: self.stream as u64 };
        let (was_capturing, before) = self.capture_state();
        let called = caller.0.call(&call);
        let (is_capturing, after) = self.capture_state();
        if was_capturing && !(is_capturing && (called.is_err() || after > before)) {
            let cause = called.err().map_or_else(String::new, |error| format!(" ({error})"));
            return Err(DeviceError::Function(format!("{UNRECORDED}{cause}")));
        }
        self.delivery.borrow_mut().take(called?, self.stream)
    }

    /// Whether the stream is in a valid capture, and the number of nodes so far.
    fn capture_state(&self) -> (bool, usize) {
        use sys::CUstreamCaptureStatus as Status;
        let (mut status, mut graph, mut nodes) = (Status::CU_STREAM_CAPTURE_STATUS_NONE, null_mut(), 0);
        let (id, before, edges) = (null_mut(), null_mut(), null_mut());
        // SAFETY: the stream lives as long as `self`, and so does a graph that it is captured into. Null pointers get nothing.
        unsafe {
            let _ = sys::cuStreamGetCaptureInfo_v2(self.stream, &raw mut status, id, &raw mut graph, before, edges);
            let is_capturing = status == Status::CU_STREAM_CAPTURE_STATUS_ACTIVE;
            if is_capturing {
                let _ = sys::cuGraphGetNodes(graph, null_mut(), &raw mut nodes);
            }
            (is_capturing, nodes)
        }
    }

    /// Captures a timed graph. If results of functions are not in their buffers, [`Self::deliver`] copies them after the timed
    /// part.
    ///
    /// # Errors
    /// As [`Self::capture`].
    pub fn capture_timed(
        &self,
        body: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<ExecutableGraph, DeviceError> {
        self.delivery.replace(Delivery::Later(Vec::new()));
        let graph = self.capture(body);
        let delivery = self.delivery.take();
        let mut graph = graph?;
        if let Delivery::Later(copies) = delivery {
            graph.deliveries = copies;
        }
        Ok(graph)
    }

    /// Queues the copies of a graph's results that are outside of their buffers.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn deliver(&self, graph: &ExecutableGraph) -> Result<(), DeviceError> {
        graph.deliveries.iter().try_for_each(|copy| copy.queue(self.stream))
    }

    /// Launches a kernel of this program on the stream, or adds it to the graph being captured. Its parameters are words.
    ///
    /// # Errors
    /// The driver refuses.
    pub(super) fn launch_plain(
        &self,
        kernel: &LoadedKernel,
        grid: [u32; 3],
        block: [u32; 3],
        words: &[u64],
    ) -> Result<(), DeviceError> {
        self.launch_words(kernel, (grid, block), (LaunchMode::Ordinary, self.stream), words)
    }

    /// [`Self::launch_plain`] with grid and block, in a mode and on a stream.
    pub(super) fn launch_words(
        &self,
        kernel: &LoadedKernel,
        (grid, block): ([u32; 3], [u32; 3]),
        (mode, stream): (LaunchMode, sys::CUstream),
        words: &[u64],
    ) -> Result<(), DeviceError> {
        let mut attributes: Vec<_> = mode_attribute(mode).into_iter().collect();
        let mut parameters: Vec<*mut c_void> =
            words.iter().map(|word| std::ptr::from_ref(word).cast_mut().cast()).collect();
        let config = launch_config((grid, block), 0, stream, &mut attributes);
        // SAFETY: all parameters of the program's own kernels are words, and the call copies them and the attributes.
        unsafe {
            sys::cuLaunchKernelEx(&raw const config, kernel.function, parameters.as_mut_ptr(), std::ptr::null_mut())
        }
        .result()
        .map_err(cuda("cuLaunchKernelEx"))
    }

    /// A graph of all launches in `body`. Its first replay uploads it and takes longer. An earlier upload would cost more:
    /// while a graph is uploaded but not yet launched, every launch in any graph of the process takes longer
    /// (`tests/gpu/launch_overhead.sh`).
    pub fn capture(&self, body: impl FnOnce() -> Result<(), DeviceError>) -> Result<ExecutableGraph, DeviceError> {
        self.captured(body, CapturedGraph::executable)
    }

    /// The nodes of a graph of all launches in `body`, each as a separate graph.
    ///
    /// # Errors
    /// As [`Self::capture`].
    pub fn capture_steps(&self, body: impl FnOnce() -> Result<(), DeviceError>) -> Result<Vec<GraphStep>, DeviceError> {
        self.captured(body, CapturedGraph::steps)
    }

    /// A graph of all of `bodies` side by side, `groups` times one after the other.
    ///
    /// # Errors
    /// As [`Self::capture`].
    pub fn capture_side_by_side(
        &self,
        bodies: impl IntoIterator<Item = impl FnOnce() -> Result<(), DeviceError>>,
        groups: usize,
    ) -> Result<ExecutableGraph, DeviceError> {
        let graphs = bodies.into_iter().map(|body| self.graph_of(body)).collect::<Result<Vec<_>, _>>()?;
        CapturedGraph::side_by_side(&graphs, groups)
    }

    fn captured<T>(
        &self,
        body: impl FnOnce() -> Result<(), DeviceError>,
        made: impl FnOnce(&CapturedGraph) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        if let Some(caller) = &self.caller {
            caller.0.begin_graph()?;
        }
        let graph = self.graph_of(body).and_then(|graph| made(&graph));
        if let Some(caller) = &self.caller {
            caller.0.end_graph()?;
        }
        graph
    }

    fn graph_of(&self, body: impl FnOnce() -> Result<(), DeviceError>) -> Result<CapturedGraph, DeviceError> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives as long as `self` and is not captured twice: `body` reaches this method's stream only
        // through launches.
        unsafe { result::stream::begin_capture(self.stream, mode) }.map_err(cuda("cuStreamBeginCapture"))?;
        let launched = body();
        // SAFETY: capture began above.
        let graph = unsafe { result::stream::end_capture(self.stream) }.map_err(cuda("cuStreamEndCapture"));
        let graph = graph.map(CapturedGraph);
        // A call that ends the capture says why.
        launched.and(graph)
    }

    /// Uploads a graph and waits for the upload. Launch it soon: see [`Self::capture`].
    ///
    /// # Errors
    /// The driver refuses.
    pub fn upload_graph(&self, graph: &ExecutableGraph) -> Result<(), DeviceError> {
        // SAFETY: both live.
        unsafe { result::graph::upload(graph.exec, self.stream) }.map_err(cuda("cuGraphUpload"))?;
        self.synchronize()
    }

    /// Launches a graph.
    pub fn replay(&self, graph: &ExecutableGraph) -> Result<(), DeviceError> {
        // SAFETY: both live.
        unsafe { result::graph::launch(graph.exec, self.stream) }.map_err(cuda("cuGraphLaunch"))
    }

    /// Microseconds of device time between two events around `body`; waits for both.
    pub fn time(&self, body: impl FnOnce() -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
        self.time_before(body, || Ok(()))
    }

    /// As [`Self::time`], but also queues the work of `after` behind the second event, and waits for it.
    pub fn time_before(
        &self,
        body: impl FnOnce() -> Result<(), DeviceError>,
        after: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<f64, DeviceError> {
        // SAFETY: events and stream live as long as `self`.
        let record = |event| unsafe { result::event::record(event, self.stream) }.map_err(cuda("cuEventRecord"));
        record(self.start)?;
        body()?;
        record(self.end)?;
        after()?;
        self.synchronize()?;
        // SAFETY: both were recorded and have happened.
        let milliseconds =
            unsafe { result::event::elapsed(self.start, self.end) }.map_err(cuda("cuEventElapsedTime"))?;
        Ok(f64::from(milliseconds) * 1e3)
    }
}

/// A launch on a stream. It points to the attributes.
const fn launch_config(
    (grid, block): ([u32; 3], [u32; 3]),
    shared: u32,
    stream: sys::CUstream,
    attributes: &mut [sys::CUlaunchAttribute],
) -> sys::CUlaunchConfig {
    let ([x, y, z], [block_x, block_y, block_z]) = (grid, block);
    sys::CUlaunchConfig {
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: block_x,
        blockDimY: block_y,
        blockDimZ: block_z,
        sharedMemBytes: shared,
        hStream: stream,
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    }
}

/// Launch attributes besides grid, block and memory.
fn launch_attributes(launch: &KernelLaunch, window: Option<sys::CUaccessPolicyWindow>) -> Vec<sys::CUlaunchAttribute> {
    use sys::CUlaunchAttributeID as Id;
    let mut attributes = Vec::new();
    if launch.cluster != [1, 1, 1] {
        let mut cluster = attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
        let [x, y, z] = launch.cluster;
        cluster.value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
        attributes.push(cluster);
    }
    if let Some(window) = window {
        let mut policy = attribute(Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
        policy.value.accessPolicyWindow = window;
        attributes.push(policy);
    }
    attributes.extend(mode_attribute(launch.mode));
    attributes
}

fn mode_attribute(mode: LaunchMode) -> Option<sys::CUlaunchAttribute> {
    use sys::CUlaunchAttributeID as Id;
    match mode {
        LaunchMode::Ordinary => None,
        LaunchMode::Cooperative => {
            let mut cooperative = attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
            cooperative.value.cooperative = 1;
            Some(cooperative)
        }
        LaunchMode::Programmatic => {
            let mut programmatic = attribute(Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
            programmatic.value.programmaticStreamSerializationAllowed = 1;
            Some(programmatic)
        }
    }
}

fn attribute(id: sys::CUlaunchAttributeID) -> sys::CUlaunchAttribute {
    // SAFETY: an all-zero attribute is a valid value of this plain C struct.
    sys::CUlaunchAttribute { id, ..unsafe { std::mem::zeroed() } }
}

/// Loads a module from an image that ends with a NUL.
fn load_image(image: &[u8]) -> Result<LoadedModule, DeviceError> {
    // SAFETY: `image` is ELF or PTX that ends with a NUL; the driver checks its contents.
    let module = unsafe { result::module::load_data(image.as_ptr().cast()) }.map_err(cuda("cuModuleLoadData"))?;
    Ok(LoadedModule { module })
}

fn function(module: &LoadedModule, entry: CString) -> Result<sys::CUfunction, DeviceError> {
    // SAFETY: the module is loaded.
    unsafe { result::module::get_function(module.module, entry) }.map_err(cuda("cuModuleGetFunction"))
}

impl ArgumentMemory for CudaDevice {
    /// A tensor map without interleaving.
    fn tensor_map(&self, tiling: &Tiling<'_>) -> Result<sys::CUtensorMap, DeviceError> {
        let (name, buffer) = (tiling.map.name.clone(), tiling.map.buffer.clone());
        let (known, needed) = ((self.attributes.cuda, self.attributes.compute_capability), TENSOR_MAPS);
        // The bindings panic if the driver lacks a call.
        if known.0 < needed.0 || known.1 < needed.1 {
            let words = |((major, minor), capability): ((u32, u32), ComputeCapability)| {
                format!("CUDA {major}.{minor} and compute capability {capability}")
            };
            let reason = format!("it needs {}; this driver and device have {}", words(needed), words(known));
            return Err(DeviceError::TensorMap { name, buffer, reason });
        }
        let mut encoded = sys::CUtensorMap { opaque: [0; 16] };
        // SAFETY: every array has at least `rank` values; the address is only written into the map, which is aligned by
        // its type.
        unsafe {
            sys::cuTensorMapEncodeTiled(
                &raw mut encoded,
                tiling.data_type,
                tiling.rank,
                tiling.address as *mut c_void,
                tiling.sizes.as_ptr(),
                tiling.strides.as_ptr(),
                tiling.box_dims.as_ptr(),
                tiling.element_strides.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                tiling.swizzle,
                tiling.l2_promotion,
                tiling.oob_fill,
            )
        }
        .result()
        .map_err(|error| {
            let reason = cuda("cuTensorMapEncodeTiled")(error).to_string();
            DeviceError::TensorMap { name, buffer, reason }
        })?;
        Ok(encoded)
    }

    fn image(&self, view: ImageView<'_>, address: u64, buffer: &BufferSpec) -> Result<u64, DeviceError> {
        match view {
            ImageView::Texture(view) => self.texture(view, address, buffer),
            ImageView::Surface(view) => self.surface(view, address, buffer).map(|surface| surface.object),
        }
    }

    /// The array is never moved while the device is open, because graphs can refer to it.
    fn table(&self, bytes: &[u8]) -> Result<u64, DeviceError> {
        self.keep(bytes)
    }

    /// Each call returns the same memory.
    fn workspace(&self, at: usize, bytes: u64) -> Result<u64, DeviceError> {
        let mut workspaces = self.workspaces.borrow_mut();
        let memory = match workspaces.entry((at, bytes)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let size = usize::try_from(bytes)
                    .map_err(|_| DeviceError::Launch(format!("a workspace of {bytes} bytes is too large")))?;
                place.insert(self.allocate(size)?)
            }
        };
        Ok(memory.address())
    }
}

impl Drop for CudaDevice {
    fn drop(&mut self) {
        // SAFETY: nothing uses them after this; the context ends with the process.
        unsafe {
            let _ = result::event::destroy(self.start);
            let _ = result::event::destroy(self.end);
            if self.stream.addr() != DEFAULT_STREAM {
                let _ = result::stream::destroy(self.stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::attributes::query_attributes;
    use super::*;

    #[test]
    fn a_machine_without_a_driver_is_an_error_and_not_a_panic() {
        // On a machine with a device, this also proves that its attributes can be read.
        match query_attributes(0) {
            Ok(Some(attributes)) => assert!(attributes.sms > 0 && attributes.memory > 0),
            Ok(None) => {
                assert!(matches!(
                    CudaDevice::open(0).unwrap_err(),
                    DeviceError::NoLibrary | DeviceError::NoDevice { .. }
                ))
            }
            Err(error) => assert!(matches!(error, DeviceError::Cuda { .. })),
        }
    }
}
