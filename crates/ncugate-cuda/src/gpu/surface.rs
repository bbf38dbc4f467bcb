//! Surface objects over CUDA arrays that mirror buffers.
//!
//! A surface refers to an array, whose layout is private to the driver. Each buffer that a program uses as a surface therefore
//! has an array, which is filled from the buffer before the program runs and written back after it.

use super::buffer::BufferSpec;
use super::device::CudaDevice;
use super::error::{DeviceError, cuda};
use super::texture::format;
use cudarc::driver::sys::{self, CUarray_format as Format, CUmemorytype as MemoryType, CUresourcetype as ResourceType};
use ncugate_phase::plan::SurfaceView;
use std::ptr::{null, null_mut};

impl CudaDevice {
    /// The surface over a buffer at that address, the same on every call. It stays as long as the process, because graphs can
    /// refer to it.
    pub(super) fn surface(
        &self,
        view: &SurfaceView,
        address: u64,
        buffer: &BufferSpec,
    ) -> Result<Surface, DeviceError> {
        let failed = |reason: String| DeviceError::Launch(format!("surface over `{}`: {reason}", view.buffer));
        let (row, rows) =
            (view.width as usize * view.channels as usize * buffer.dtype.size(), view.height.unwrap_or(1));
        if row.checked_mul(rows as usize).is_none_or(|bytes| bytes == 0 || bytes > buffer.bytes()) {
            return Err(failed(format!("{rows} rows of {row} bytes do not fit in {} bytes", buffer.bytes())));
        }
        let format =
            format(buffer.dtype).ok_or_else(|| failed(format!("it has elements of {}", buffer.dtype.name())))?;
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
            // SAFETY: the array and the buffer at the address both hold the copy's rows of the copy's width; both outlive the
            // queued work.
            unsafe { sys::cuMemcpy2DAsync_v2(&raw const copy, self.stream()) }.result().map_err(cuda("cuMemcpy2DAsync"))
        })
    }
}

/// The key of an array: the address of its buffer, texels, rows and channels, and the format of an element.
pub type SurfaceKey = (u64, u64, u64, u32, u32);

/// A surface object and its array.
#[derive(Debug, Clone, Copy)]
pub struct Surface {
    /// The object, as a kernel receives it.
    pub object: u64,
    array: sys::CUarray,
    /// Address of its buffer.
    address: u64,
    /// Bytes of a row.
    row: usize,
    rows: usize,
}

/// Direction of a copy between an array and its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurfaceCopy {
    /// From the buffer to the array.
    Fill,
    /// From the array to the buffer.
    WriteBack,
}

impl Surface {
    /// An array for rows of that many bytes, for the buffer at that address, and a surface over it. Both stay as long as the
    /// process.
    fn new(view: &SurfaceView, format: Format, address: u64, (row, rows): (usize, usize)) -> Result<Self, DeviceError> {
        let descriptor = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: view.width as usize,
            Height: view.height.unwrap_or(0) as usize,
            Depth: 0,
            Format: format,
            NumChannels: view.channels,
            Flags: sys::CUDA_ARRAY3D_SURFACE_LDST,
        };
        let mut surface = Self { object: 0, array: null_mut(), address, row, rows };
        // SAFETY: the call reads the description and writes the handle.
        unsafe { sys::cuArray3DCreate_v2(&raw mut surface.array, &raw const descriptor) }
            .result()
            .map_err(cuda("cuArray3DCreate"))?;
        let resource = surface.resource();
        // SAFETY: the call reads the description and writes the handle.
        unsafe { sys::cuSurfObjectCreate(&raw mut surface.object, &raw const resource) }
            .result()
            .map_err(cuda("cuSurfObjectCreate"))?;
        Ok(surface)
    }

    /// The driver's description of the array.
    pub(super) fn resource(&self) -> sys::CUDA_RESOURCE_DESC {
        // SAFETY: all zeros are a description of this plain C struct; every field that is read is set below.
        let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
        resource.resType = ResourceType::CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.hArray = self.array;
        resource
    }

    /// The driver's description of a copy in one direction.
    pub(super) fn copy(&self, way: SurfaceCopy) -> sys::CUDA_MEMCPY2D {
        let (array, memory) = (MemoryType::CU_MEMORYTYPE_ARRAY, MemoryType::CU_MEMORYTYPE_DEVICE);
        let fills = way == SurfaceCopy::Fill;
        sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: if fills { memory } else { array },
            srcHost: null(),
            srcDevice: if fills { self.address } else { 0 },
            srcArray: if fills { null_mut() } else { self.array },
            srcPitch: if fills { self.row } else { 0 },
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: if fills { array } else { memory },
            dstHost: null_mut(),
            dstDevice: if fills { 0 } else { self.address },
            dstArray: if fills { self.array } else { null_mut() },
            dstPitch: if fills { 0 } else { self.row },
            WidthInBytes: self.row,
            Height: self.rows,
        }
    }
}
