//! CUDA arrays beside buffers, and surface objects over them.

use super::error::{DeviceError, cuda};
use cudarc::driver::sys::{self, CUarray_format as Format, CUmemorytype as MemoryType, CUresourcetype as ResourceType};
use ncugate_phase::plan::SurfaceView;
use std::ptr::{null, null_mut};

/// What an array is made for: the address of its buffer, texels, rows and channels, and the format of an element.
pub type SurfaceKey = (u64, u64, u64, u32, u32);

/// A surface object, and the array that it is over.
#[derive(Debug, Clone, Copy)]
pub struct Surface {
    /// The object, as a kernel gets it.
    pub object: u64,
    array: sys::CUarray,
    /// Where its buffer is.
    address: u64,
    /// Bytes of a row.
    row: usize,
    rows: usize,
}

/// The way of a copy between an array and its buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurfaceCopy {
    /// From the buffer to the array.
    Fill,
    /// From the array to the buffer.
    WriteBack,
}

impl Surface {
    /// An array for rows of so many bytes, beside a buffer at that address, and a surface over it. Both stay as long as the process.
    pub(super) fn new(
        view: &SurfaceView,
        format: Format,
        address: u64,
        (row, rows): (usize, usize),
    ) -> Result<Self, DeviceError> {
        let array = array(view, format)?;
        Ok(Self { object: object(array)?, array, address, row, rows })
    }

    /// The array, as the driver is told of it.
    pub(super) fn resource(&self) -> sys::CUDA_RESOURCE_DESC {
        described(self.array)
    }

    /// What the driver copies, one way or the other.
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

fn array(view: &SurfaceView, format: Format) -> Result<sys::CUarray, DeviceError> {
    let descriptor = sys::CUDA_ARRAY3D_DESCRIPTOR {
        Width: view.width as usize,
        Height: view.height.unwrap_or(0) as usize,
        Depth: 0,
        Format: format,
        NumChannels: view.channels,
        Flags: sys::CUDA_ARRAY3D_SURFACE_LDST,
    };
    let mut array = std::ptr::null_mut();
    // SAFETY: the call reads the description and writes the handle.
    unsafe { sys::cuArray3DCreate_v2(&raw mut array, &raw const descriptor) }
        .result()
        .map_err(cuda("cuArray3DCreate"))?;
    Ok(array)
}

fn described(array: sys::CUarray) -> sys::CUDA_RESOURCE_DESC {
    // SAFETY: all zeros are a description of this plain C struct, of which every field that is read is set below.
    let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
    resource.resType = ResourceType::CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    resource
}

fn object(array: sys::CUarray) -> Result<u64, DeviceError> {
    let resource = described(array);
    let mut object = 0;
    // SAFETY: the call reads the description and writes the handle.
    unsafe { sys::cuSurfObjectCreate(&raw mut object, &raw const resource) }
        .result()
        .map_err(cuda("cuSurfObjectCreate"))?;
    Ok(object)
}
