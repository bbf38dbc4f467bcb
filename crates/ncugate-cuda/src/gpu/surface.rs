//! Surface objects over CUDA arrays that hold buffers.
//!
//! A surface is over an array, whose layout is the driver's own. So each buffer that a program has as a surface has an array
//! beside it, which is filled from the buffer before the program runs and written back after it.

use super::buffer::BufferSpec;
use super::device::CudaDevice;
use super::error::{DeviceError, cuda};
use super::surface_array::{Surface, SurfaceCopy};
use super::texture::format;
use cudarc::driver::sys;
use ncugate_phase::plan::SurfaceView;

impl CudaDevice {
    /// The surface over a buffer at that address: the same each time. It stays as long as the process: graphs may have it.
    pub(super) fn surface(
        &self,
        view: &SurfaceView,
        address: u64,
        buffer: &BufferSpec,
    ) -> Result<Surface, DeviceError> {
        let failed = |reason: String| DeviceError::Launch(format!("surface over '{}': {reason}", view.buffer));
        let (row, rows) =
            (view.width as usize * view.channels as usize * buffer.dtype.size(), view.height.unwrap_or(1));
        if row.checked_mul(rows as usize).is_none_or(|bytes| bytes == 0 || bytes > buffer.bytes()) {
            return Err(failed(format!("{rows} rows of {row} bytes in {} bytes", buffer.bytes())));
        }
        let format = format(buffer.dtype).ok_or_else(|| failed(format!("elements of {}", buffer.dtype.name())))?;
        let key = (address, view.width, view.height.unwrap_or(0), view.channels, format as u32);
        if let Some(known) = self.surfaces.borrow().get(&key) {
            return Ok(*known);
        }
        let surface = Surface::new(view, format, address, (row, rows as usize));
        let surface = surface.map_err(|error| failed(error.to_string()))?;
        self.surfaces.borrow_mut().insert(key, surface);
        Ok(surface)
    }

    /// Queues a copy between the arrays of surfaces and their buffers, or adds it to the graph being captured.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn copy_surfaces(&self, surfaces: &[Surface], way: SurfaceCopy) -> Result<(), DeviceError> {
        surfaces.iter().try_for_each(|surface| {
            let copy = surface.copy(way);
            // SAFETY: the array holds so many rows of so many bytes, as does the buffer at the address; both outlive the work
            // that is queued.
            unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, self.stream()) }.result().map_err(cuda("cuMemcpy2DAsync"))
        })
    }
}
