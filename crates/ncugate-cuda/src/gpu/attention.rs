//! Attention in float64 on the device (`attention.cu`), for expected outputs that take seconds on the host.

use super::device::CudaDevice;
use super::error::{DeviceError, cuda};
use super::kernel::LoadedKernel;
use super::memory::DeviceMemory;
use cudarc::driver::result;

/// The kernels; end with a NUL, as the driver requires.
const PTX: &str = concat!(include_str!("attention.ptx"), "\0");
/// Threads of a block, and rows and columns of its tile, as in `attention.cu`.
const THREADS: u32 = 256;
const TILE: usize = 64;
/// Maximum bytes of scores at once.
const SCORE_BYTES: usize = 1 << 30;
/// Maximum number of heads at once: the largest grid in its last dimensions.
const MOST_HEADS: usize = 65535;
const WORD: usize = size_of::<f64>();

/// Extents of attention over all batches and heads.
#[derive(Debug, Clone, Copy)]
pub struct AttentionExtents {
    pub heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub depth: usize,
    pub value_depth: usize,
    pub scale: f64,
    /// A row sees the keys up to its own.
    pub causal: bool,
}

/// The kernels on a device.
#[derive(Debug)]
pub struct AttentionKernels {
    multiply: LoadedKernel,
    soften: LoadedKernel,
}

impl AttentionKernels {
    /// Loads the kernels.
    ///
    /// # Errors
    /// The driver cannot compile them.
    pub fn new(device: &CudaDevice) -> Result<Self, DeviceError> {
        let load = |entry| device.load_text(PTX, entry);
        Ok(Self { multiply: load("ncugate_multiply")?, soften: load("ncugate_soften")? })
    }

    /// The outputs of all heads for finite inputs. Nothing of them stays on the device.
    ///
    /// # Errors
    /// Memory runs out, or the driver refuses.
    pub fn compute(
        &self,
        device: &CudaDevice,
        extents: &AttentionExtents,
        [q, k, v]: [&[f64]; 3],
    ) -> Result<Vec<f64>, DeviceError> {
        let AttentionExtents { heads, queries, keys, depth, value_depth, .. } = *extents;
        let rows = queries.min(SCORE_BYTES / (keys * WORD)).max(1);
        let together = if rows < queries { 1 } else { (SCORE_BYTES / (rows * keys * WORD)).clamp(1, MOST_HEADS) };
        let together = together.min(heads);
        let room = |elements: usize| device.allocate(elements * WORD);
        let (scores, totals) = (room(together * rows * keys)?, room(together * rows)?);
        let output = room(heads * queries * value_depth)?;
        let [q, k, v] = [upload(device, q)?, upload(device, k)?, upload(device, v)?];
        let word = |at: &DeviceMemory, element: usize| at.address() + (element * WORD) as u64;
        let multiply =
            |[c, a, b, total]: [u64; 4], extents: [usize; 3], strides: [usize; 3], transposed, alpha: f64, z| {
                let mut words = vec![c, a, b, total];
                words.extend(extents.iter().chain(&strides).map(|extent| *extent as u64));
                words.extend([u64::from(transposed), alpha.to_bits()]);
                let grid = [extents[0].div_ceil(TILE) as u32, extents[1].div_ceil(TILE) as u32, z as u32];
                device.launch_plain(&self.multiply, grid, [THREADS, 1, 1], &words)
            };
        for head in (0..heads).step_by(together) {
            let few = together.min(heads - head);
            for first in (0..queries).step_by(rows) {
                let rows = rows.min(queries - first);
                let of_q = word(&q, (head * queries + first) * depth);
                let of_k = word(&k, head * keys * depth);
                let products = [scores.address(), of_q, of_k, 0];
                let strides = [rows * keys, queries * depth, keys * depth];
                multiply(products, [rows, keys, depth], strides, true, extents.scale, few)?;
                let causal = u64::from(extents.causal);
                let words = [scores.address(), totals.address(), keys as u64, rows as u64, first as u64, causal];
                device.launch_plain(&self.soften, [rows as u32, few as u32, 1], [THREADS, 1, 1], &words)?;
                let of_v = word(&v, head * keys * value_depth);
                let of_output = word(&output, (head * queries + first) * value_depth);
                let sums = [of_output, scores.address(), of_v, totals.address()];
                let strides = [queries * value_depth, rows * keys, keys * value_depth];
                multiply(sums, [rows, value_depth, keys], strides, false, 1.0, few)?;
            }
        }
        device.synchronize()?;
        let mut values = vec![0.0; heads * queries * value_depth];
        // SAFETY: the allocation has that many float64 values.
        unsafe { result::memcpy_dtoh_sync(&mut values, output.address()) }.map_err(cuda("cuMemcpyDtoH"))?;
        [q, k, v, scores, totals, output].iter().try_for_each(|memory| device.fill(memory, 0))?;
        device.synchronize()?;
        Ok(values)
    }
}

fn upload(device: &CudaDevice, values: &[f64]) -> Result<DeviceMemory, DeviceError> {
    let memory = device.allocate(size_of_val(values))?;
    // SAFETY: the allocation has the size of the values.
    unsafe { result::memcpy_htod_sync(memory.address(), values) }.map_err(cuda("cuMemcpyHtoD"))?;
    Ok(memory)
}
