//! Texture objects over buffers.

use super::buffer::BufferSpec;
use super::device::CudaDevice;
use super::error::{DeviceError, cuda};
use cudarc::driver::sys::{
    self, CUaddress_mode as AddressMode, CUarray_format as Format, CUfilter_mode as FilterMode,
    CUresourcetype as ResourceType,
};
use ncugate_model::{Dtype, TextureAddress, TextureFilter, TextureRead};
use ncugate_phase::plan::{TexelMemory, TextureView};

/// `CU_TRSF_READ_AS_INTEGER` and `CU_TRSF_NORMALIZED_COORDINATES` of cuda.h.
const READ_AS_INTEGER: u32 = 1;
const NORMALIZED_COORDINATES: u32 = 2;

impl CudaDevice {
    /// A texture object over a buffer at that address. It stays as long as the process, because graphs can refer to it.
    pub(super) fn texture(&self, view: &TextureView, address: u64, buffer: &BufferSpec) -> Result<u64, DeviceError> {
        let failed = |reason: String| DeviceError::Launch(format!("texture over `{}`: {reason}", view.buffer));
        let texel = view.channels as usize * buffer.dtype.size();
        let texels = view.width.saturating_mul(view.height.unwrap_or(1));
        if u64::try_from(buffer.bytes() / texel).map_or(true, |room| texels > room) {
            return Err(failed(format!("{texels} texels of {texel} bytes do not fit in {} bytes", buffer.bytes())));
        }
        let format =
            format(buffer.dtype).ok_or_else(|| failed(format!("it has elements of {}", buffer.dtype.name())))?;
        let resource = match view.memory {
            TexelMemory::Linear => resource(view, address, format, texel),
            TexelMemory::Array => self.surface(&view.surface(), address, buffer)?.resource(),
        };
        let texture = sampling(view, buffer.dtype);
        let mut object = 0;
        // SAFETY: the call reads both descriptions and writes the handle; a null view keeps the format.
        unsafe { sys::cuTexObjectCreate(&raw mut object, &raw const resource, &raw const texture, std::ptr::null()) }
            .result()
            .map_err(|error| failed(cuda("cuTexObjectCreate")(error).to_string()))?;
        Ok(object)
    }
}

/// Linear memory with one axis, or rows without gaps.
fn resource(view: &TextureView, address: u64, format: Format, texel: usize) -> sys::CUDA_RESOURCE_DESC {
    // SAFETY: all zeros are a description of this plain C struct; every field that is read is set below.
    let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
    let width = view.width as usize;
    match view.height {
        None => {
            resource.resType = ResourceType::CU_RESOURCE_TYPE_LINEAR;
            resource.res.linear.devPtr = address;
            resource.res.linear.format = format;
            resource.res.linear.numChannels = view.channels;
            resource.res.linear.sizeInBytes = width * texel;
        }
        Some(height) => {
            resource.resType = ResourceType::CU_RESOURCE_TYPE_PITCH2D;
            resource.res.pitch2D.devPtr = address;
            resource.res.pitch2D.format = format;
            resource.res.pitch2D.numChannels = view.channels;
            resource.res.pitch2D.width = width;
            resource.res.pitch2D.height = height as usize;
            resource.res.pitch2D.pitchInBytes = width * texel;
        }
    }
    resource
}

fn sampling(view: &TextureView, dtype: Dtype) -> sys::CUDA_TEXTURE_DESC {
    let sampling = &view.sampling;
    let address = match sampling.address {
        TextureAddress::Clamp => AddressMode::CU_TR_ADDRESS_MODE_CLAMP,
        TextureAddress::Border => AddressMode::CU_TR_ADDRESS_MODE_BORDER,
        TextureAddress::Wrap => AddressMode::CU_TR_ADDRESS_MODE_WRAP,
        TextureAddress::Mirror => AddressMode::CU_TR_ADDRESS_MODE_MIRROR,
    };
    let whole = !dtype.has_nan() && sampling.read == TextureRead::Element;
    let normalized = if sampling.normalized { NORMALIZED_COORDINATES } else { 0 };
    // SAFETY: all zeros are a valid description of this plain C struct.
    let zeros: sys::CUDA_TEXTURE_DESC = unsafe { std::mem::zeroed() };
    sys::CUDA_TEXTURE_DESC {
        addressMode: [address; 3],
        filterMode: match sampling.filter {
            TextureFilter::Point => FilterMode::CU_TR_FILTER_MODE_POINT,
            TextureFilter::Linear => FilterMode::CU_TR_FILTER_MODE_LINEAR,
        },
        flags: normalized | if whole { READ_AS_INTEGER } else { 0 },
        ..zeros
    }
}

/// The driver's format for an element of a texel, if it has one.
pub(super) fn format(dtype: Dtype) -> Option<Format> {
    match dtype {
        Dtype::F32 => Some(Format::CU_AD_FORMAT_FLOAT),
        Dtype::F16 => Some(Format::CU_AD_FORMAT_HALF),
        Dtype::U8 => Some(Format::CU_AD_FORMAT_UNSIGNED_INT8),
        Dtype::U16 => Some(Format::CU_AD_FORMAT_UNSIGNED_INT16),
        Dtype::U32 => Some(Format::CU_AD_FORMAT_UNSIGNED_INT32),
        Dtype::I8 => Some(Format::CU_AD_FORMAT_SIGNED_INT8),
        Dtype::I16 => Some(Format::CU_AD_FORMAT_SIGNED_INT16),
        Dtype::I32 => Some(Format::CU_AD_FORMAT_SIGNED_INT32),
        Dtype::F64 | Dtype::Bf16 | Dtype::Fp8E4m3 | Dtype::Fp8E5m2 | Dtype::I64 | Dtype::U64 | Dtype::Bool => None,
    }
}
