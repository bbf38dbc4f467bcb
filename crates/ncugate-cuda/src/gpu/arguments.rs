//! Kernel arguments in the driver's form: values behind pointers, and descriptions of tensor maps for its encoder.
//!
//! Pure: driver objects and memory come from an [`ArgumentMemory`].

use super::buffer::BufferSpec;
use super::error::DeviceError;
use cudarc::driver::sys::{
    CUtensorMap, CUtensorMapDataType as DataType, CUtensorMapFloatOOBfill as DriverFill,
    CUtensorMapL2promotion as DriverPromotion, CUtensorMapSwizzle as DriverSwizzle,
};
use ncugate_model::Dtype;
use ncugate_phase::config::OutOfBoundsFill;
use ncugate_phase::plan::{Arg, L2Promotion, MapAlignment, MapLayout, SurfaceView, Swizzle, TensorMap, TextureView};
use std::ffi::c_void;

/// Maximum number of axes of a tensor map.
const AXES: usize = 5;

/// A buffer as a texture or a surface, for which the driver creates an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageView<'a> {
    Texture(&'a TextureView),
    Surface(&'a SurfaceView),
}

/// Provides the objects and memory that arguments point to. A method that is not overridden refuses.
pub trait ArgumentMemory {
    /// Encodes a tensor map.
    fn tensor_map(&self, tiling: &Tiling<'_>) -> Result<CUtensorMap, DeviceError> {
        Err(refused(&format!("tensor map `{}`", tiling.map.name)))
    }

    /// A texture or surface object over a buffer at an address.
    fn image(&self, _: ImageView<'_>, _: u64, _: &BufferSpec) -> Result<u64, DeviceError> {
        Err(refused("a texture or surface"))
    }

    /// The address of an array with this content: pointers or tensor maps.
    fn table(&self, _: &[u8]) -> Result<u64, DeviceError> {
        Err(refused("an array of pointers"))
    }

    /// The address of that many bytes for the argument at an index.
    fn workspace(&self, _: usize, _: u64) -> Result<u64, DeviceError> {
        Err(refused("a workspace"))
    }
}

fn refused(kind: &str) -> DeviceError {
    DeviceError::Launch(format!("{kind} is not supported here"))
}

/// Arguments of one launch, bound to its buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelArguments(Vec<Argument>);

/// A value that a kernel's parameter is copied from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Argument {
    /// Little endian, at the start of 8 bytes.
    Word(u64),
    Bytes(Vec<u8>),
    /// Encoded by the driver, with the alignment of its type.
    TensorMap(CUtensorMap),
}

impl KernelArguments {
    /// The arguments of a launch; `buffer` returns each buffer and its address. `sizes` are the bytes of the kernel's
    /// parameters, which say how its structs align tensor maps; empty if they are unknown.
    pub fn new<'b>(
        args: &[Arg],
        sizes: &[u32],
        buffer: &dyn Fn(&str) -> Option<(u64, &'b BufferSpec)>,
        memory: &dyn ArgumentMemory,
    ) -> Result<Self, DeviceError> {
        let argument = |(at, arg): (usize, &Arg)| match arg {
            Arg::Workspace(0) => Ok(Argument::Word(0)),
            Arg::Workspace(bytes) => memory.workspace(at, *bytes).map(Argument::Word),
            other => {
                let maps = match (other, sizes.get(at)) {
                    (Arg::Struct { .. }, Some(&bytes)) => other.map_alignment(bytes as usize).ok_or_else(|| {
                        let (given, _) = other.layout();
                        let (place, argument) = (at + 1, other.described());
                        let reason =
                            format!("argument {place} ({argument}) has {given} bytes, but the kernel takes {bytes}");
                        DeviceError::Launch(reason)
                    })?,
                    _ => MapAlignment::Cuda12,
                };
                Maker { buffer, memory, maps }.argument(other)
            }
        };
        args.iter().enumerate().map(argument).collect::<Result<_, _>>().map(Self)
    }

    /// The values in words of 8 bytes; a struct begins a word.
    pub(super) fn words(&self) -> Vec<u64> {
        let part = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let words = |argument: &Argument| match argument {
            Argument::Word(value) => vec![*value],
            Argument::Bytes(bytes) => bytes.chunks(8).map(part).collect(),
            Argument::TensorMap(map) => map.opaque.to_vec(),
        };
        self.0.iter().flat_map(words).collect()
    }

    /// The address of each value, valid as long as `self` is not moved.
    pub fn pointers(&self) -> Vec<*mut c_void> {
        let pointer = |argument: &Argument| -> *mut c_void {
            match argument {
                Argument::Word(value) => std::ptr::from_ref(value).cast_mut().cast(),
                Argument::Bytes(bytes) => bytes.as_ptr().cast_mut().cast(),
                Argument::TensorMap(map) => std::ptr::from_ref(map).cast_mut().cast(),
            }
        };
        self.0.iter().map(pointer).collect()
    }
}

/// The sources of arguments.
struct Maker<'a, 'b> {
    buffer: &'a dyn Fn(&str) -> Option<(u64, &'b BufferSpec)>,
    memory: &'a dyn ArgumentMemory,
    /// Alignment of tensor maps in structs.
    maps: MapAlignment,
}

impl<'b> Maker<'_, 'b> {
    fn argument(&self, arg: &Arg) -> Result<Argument, DeviceError> {
        match arg {
            Arg::TensorMap(map) => self.tensor_map(map).map(Argument::TensorMap),
            Arg::Struct { .. } => {
                let mut bytes = Vec::new();
                self.lay_out(arg, &mut bytes)?;
                Ok(Argument::Bytes(bytes))
            }
            other => self.word(other).map(Argument::Word),
        }
    }

    fn buffer_of(&self, name: &str) -> Result<(u64, &'b BufferSpec), DeviceError> {
        (self.buffer)(name).ok_or_else(|| DeviceError::Launch(format!("no buffer `{name}`")))
    }

    fn tensor_map(&self, map: &TensorMap) -> Result<CUtensorMap, DeviceError> {
        let (address, buffer) = self.buffer_of(&map.buffer)?;
        self.memory.tensor_map(&Tiling::new(map, address, buffer)?)
    }

    fn object(&self, name: &str, view: ImageView<'_>) -> Result<u64, DeviceError> {
        let (address, buffer) = self.buffer_of(name)?;
        self.memory.image(view, address, buffer)
    }

    /// A scalar, a pointer or an object.
    fn word(&self, arg: &Arg) -> Result<u64, DeviceError> {
        match arg {
            Arg::Scalar(value) => Ok(value.bits()),
            Arg::Texture(view) => self.object(&view.buffer, ImageView::Texture(view)),
            Arg::Surface(view) => self.object(&view.buffer, ImageView::Surface(view)),
            Arg::Buffer(name) => self.buffer_of(name).map(|(address, _)| address),
            Arg::Element(element) => {
                let (address, buffer) = self.buffer_of(&element.buffer)?;
                match element.bytes <= buffer.bytes() as u64 {
                    true => Ok(address + element.bytes),
                    false => Err(DeviceError::Launch(format!("{} is outside the buffer", arg.described()))),
                }
            }
            Arg::Null => Ok(0),
            Arg::Pointers(pointers) => {
                let mut bytes = Vec::new();
                pointers.iter().try_for_each(|part| self.lay_out(part, &mut bytes))?;
                self.memory.table(&bytes)
            }
            Arg::TensorMap(_) | Arg::Struct { .. } | Arg::Workspace(_) => {
                Err(DeviceError::Launch(format!("{} is not a pointer", arg.described())))
            }
        }
    }

    /// Appends an argument to `bytes`, aligned as in C.
    fn lay_out(&self, arg: &Arg, bytes: &mut Vec<u8>) -> Result<(), DeviceError> {
        let (size, alignment) = arg.layout_with(self.maps);
        bytes.resize(bytes.len().next_multiple_of(alignment), 0);
        let end = bytes.len() + size;
        match arg {
            Arg::Struct { fields, .. } => fields.iter().try_for_each(|field| self.lay_out(field, bytes))?,
            Arg::TensorMap(map) => {
                self.tensor_map(map)?.opaque.iter().for_each(|word| bytes.extend(word.to_le_bytes()))
            }
            other => bytes.extend(&self.word(other)?.to_le_bytes()[..size]),
        }
        bytes.resize(end, 0);
        Ok(())
    }
}

/// A scalar or a struct of scalars in its memory layout.
///
/// # Errors
/// The argument has a pointer or a tensor map, or names a buffer.
pub(super) fn value_bytes(value: &Arg) -> Result<Vec<u8>, DeviceError> {
    struct NoMemory;
    impl ArgumentMemory for NoMemory {}
    let mut bytes = Vec::new();
    Maker { buffer: &|_| None, memory: &NoMemory, maps: MapAlignment::Cuda12 }.lay_out(value, &mut bytes)?;
    Ok(bytes)
}

/// Input of the driver's tensor map encoder. Arrays hold `rank` axes, innermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tiling<'m> {
    /// The tensor map in the phase.
    pub map: &'m TensorMap,
    /// Address of the buffer.
    pub address: u64,
    /// Type of an element.
    pub data_type: DataType,
    /// Axes of the view.
    pub rank: u32,
    /// Elements along each axis.
    pub sizes: [u64; AXES],
    /// Bytes between neighbours on each axis except the innermost.
    pub strides: [u64; AXES],
    /// Elements of a copy along each axis.
    pub box_dims: [u32; AXES],
    /// Steps of a copy along each axis in elements.
    pub element_strides: [u32; AXES],
    /// Swizzle of shared memory.
    pub swizzle: DriverSwizzle,
    /// Fetches of L2.
    pub l2_promotion: DriverPromotion,
    /// Elements outside the view.
    pub oob_fill: DriverFill,
}

impl<'m> Tiling<'m> {
    /// A map of the buffer at that address, with its own layout or that of the whole buffer.
    fn new(map: &'m TensorMap, address: u64, buffer: &BufferSpec) -> Result<Self, DeviceError> {
        let refused = |reason| DeviceError::TensorMap { name: map.name.clone(), buffer: map.buffer.clone(), reason };
        let size = buffer.dtype.size() as u64;
        let whole = || {
            let shape: Vec<u64> = buffer.extents.iter().map(|extent| *extent as u64).collect();
            let strides = (1..shape.len()).map(|at| shape[at..].iter().product::<u64>() * size).collect();
            MapLayout { shape, strides }
        };
        let layout = map.layout.clone().unwrap_or_else(whole);
        let rank = layout.shape.len();
        if map.box_dims.len() != rank || !(1..=AXES).contains(&rank) {
            return Err(refused(format!(
                "a box of {} axes over a buffer of {rank}; both need the same number, from 1 to {AXES}",
                map.box_dims.len()
            )));
        }
        if layout.strides.len() + 1 != rank || layout.reach(size) > buffer.bytes() as u64 {
            let (reach, room) = (layout.reach(size), buffer.bytes());
            return Err(refused(format!("it reaches {reach} bytes into the buffer, which has {room}")));
        }
        let (mut sizes, mut strides, mut box_dims, mut element_strides) = ([1; AXES], [0; AXES], [1; AXES], [1; AXES]);
        layout.shape.iter().rev().zip(&mut sizes).for_each(|(from, to)| *to = *from);
        layout.strides.iter().rev().zip(&mut strides).for_each(|(from, to)| *to = *from);
        map.box_dims.iter().rev().zip(&mut box_dims).for_each(|(from, to)| *to = *from);
        map.element_strides.iter().rev().zip(&mut element_strides).for_each(|(from, to)| *to = *from);
        Ok(Self {
            map,
            address,
            data_type: data_type(buffer.dtype),
            rank: rank as u32,
            sizes,
            strides,
            box_dims,
            element_strides,
            swizzle: match map.swizzle {
                Swizzle::None => DriverSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
                Swizzle::Span32 => DriverSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
                Swizzle::Span64 => DriverSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
                Swizzle::Span128 => DriverSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            },
            l2_promotion: match map.l2_promotion {
                L2Promotion::None => DriverPromotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
                L2Promotion::Bytes64 => DriverPromotion::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
                L2Promotion::Bytes128 => DriverPromotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                L2Promotion::Bytes256 => DriverPromotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            },
            oob_fill: match map.oob_fill {
                OutOfBoundsFill::None => DriverFill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                OutOfBoundsFill::NanRequestZeroFma => DriverFill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
            },
        })
    }
}

/// The driver's type for an element; untyped bytes are `UINT8`.
const fn data_type(dtype: Dtype) -> DataType {
    match dtype {
        Dtype::F64 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        Dtype::F32 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        Dtype::F16 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        Dtype::Bf16 => DataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        Dtype::I64 => DataType::CU_TENSOR_MAP_DATA_TYPE_INT64,
        Dtype::U64 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        Dtype::I32 => DataType::CU_TENSOR_MAP_DATA_TYPE_INT32,
        Dtype::U32 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        Dtype::I16 | Dtype::U16 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        Dtype::Fp8E4m3 | Dtype::Fp8E5m2 | Dtype::I8 | Dtype::U8 | Dtype::Bool => {
            DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fixtures::buffer;
    use ncugate_model::Role;
    use ncugate_phase::plan::ScalarValue;

    /// Returns the address of its buffer for every tensor map, and one fixed place for arrays of pointers.
    struct FakeMemory;

    impl ArgumentMemory for FakeMemory {
        fn tensor_map(&self, tiling: &Tiling<'_>) -> Result<CUtensorMap, DeviceError> {
            Ok(CUtensorMap { opaque: [tiling.address; 16] })
        }

        fn table(&self, bytes: &[u8]) -> Result<u64, DeviceError> {
            let words: Vec<u64> = bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
            let pointers = [0x1000, 0, 0x100c];
            let maps = [[0x4000; 16], [0x4000; 16]].concat();
            assert!(words == pointers || words == maps, "{words:?}");
            Ok(0x9000)
        }
    }

    /// Refuses everything.
    struct NoMemory;

    impl ArgumentMemory for NoMemory {}

    fn map(box_dims: &[u32], swizzle: Swizzle) -> TensorMap {
        TensorMap {
            name: "tiles".to_owned(),
            buffer: "k".to_owned(),
            box_dims: box_dims.to_vec(),
            swizzle,
            layout: None,
            element_strides: Vec::new(),
            l2_promotion: L2Promotion::default(),
            oob_fill: OutOfBoundsFill::default(),
        }
    }

    #[test]
    fn arguments_are_laid_out_as_c_passes_them() {
        let args = [
            Arg::Buffer("x".to_owned()),
            Arg::Scalar(ScalarValue::F32(1.0)),
            Arg::Scalar(ScalarValue::I32(-1)),
            Arg::Scalar(ScalarValue::I64(-1)),
        ];
        let x = buffer("x", Dtype::F32, &[4], Role::Input);
        let known = |name: &str| (name == "x").then_some((0x1000, &x));
        let arguments = KernelArguments::new(&args, &[], &known, &NoMemory).unwrap();
        assert_eq!(arguments.0, [0x1000, 0x3f80_0000, 0xffff_ffff, u64::MAX].map(Argument::Word));
        let error = KernelArguments::new(&args, &[], &|_| None, &NoMemory).unwrap_err().to_string();
        assert!(error.contains("no buffer `x`"), "{error}");
    }

    #[test]
    fn structs_elements_and_arrays_of_pointers_are_made_of_their_parts() {
        use ncugate_phase::plan::BufferElement;
        let x = buffer("x", Dtype::F32, &[4], Role::Input);
        let element = |bytes| Arg::Element(BufferElement { buffer: "x".to_owned(), bytes });
        let plain = |fields| Arg::Struct { align: None, fields };
        let args = [
            plain(vec![
                Arg::Scalar(ScalarValue::I16(-2)),
                element(8),
                Arg::Scalar(ScalarValue::Bool(true)),
                plain(vec![Arg::Scalar(ScalarValue::F16(1.0)), Arg::Scalar(ScalarValue::I32(3))]),
            ]),
            Arg::Null,
            Arg::Pointers(vec![Arg::Buffer("x".to_owned()), Arg::Null, element(12)]),
        ];
        let known = |_: &str| Some((0x1000, &x));
        let made = KernelArguments::new(&args, &[], &known, &FakeMemory).unwrap();
        let fields = [
            [0xfe, 0xff, 0, 0, 0, 0, 0, 0].as_slice(),
            &0x1008_u64.to_le_bytes(),
            &[1, 0, 0, 0],
            &[0, 0x3c, 0, 0, 3, 0, 0, 0],
            &[0; 4],
        ];
        assert_eq!(made.0, [Argument::Bytes(fields.concat()), Argument::Word(0), Argument::Word(0x9000)]);
        let one = || Arg::Scalar(ScalarValue::F32(1.0));
        let float2 = Arg::Struct { align: Some(8), fields: vec![one(), one()] };
        let aligned = plain(vec![one(), float2]);
        let made = KernelArguments::new(&[aligned], &[], &known, &NoMemory).unwrap();
        let one = 1.0_f32.to_le_bytes();
        assert_eq!(made.0, [Argument::Bytes([one, [0; 4], one, one].concat())]);
        let outside = KernelArguments::new(&[element(20)], &[], &known, &NoMemory);
        assert_eq!(outside.unwrap_err().to_string(), "cannot launch: buffer `x` from byte 20 is outside the buffer");
    }

    #[test]
    fn a_tensor_map_is_of_its_buffer_innermost_axis_first() {
        let k = buffer("k", Dtype::F16, &[2, 8, 512, 64], Role::Input);
        let map = map(&[1, 1, 128, 32], Swizzle::Span64);
        let tiling = Tiling::new(&map, 0x2000, &k).unwrap();
        assert_eq!(tiling.data_type, DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
        assert_eq!((tiling.rank, tiling.address), (4, 0x2000));
        assert_eq!(tiling.sizes, [64, 512, 8, 2, 1]);
        assert_eq!(tiling.strides, [128, 128 * 512, 128 * 512 * 8, 0, 0]);
        assert_eq!(tiling.box_dims, [32, 128, 1, 1, 1]);
        assert_eq!(tiling.swizzle, DriverSwizzle::CU_TENSOR_MAP_SWIZZLE_64B);
    }

    #[test]
    fn a_tensor_map_of_one_axis_has_no_strides() {
        let k = buffer("k", Dtype::Fp8E4m3, &[96], Role::Input);
        let map = map(&[32], Swizzle::None);
        let tiling = Tiling::new(&map, 0x2000, &k).unwrap();
        assert_eq!((tiling.rank, tiling.sizes[0], tiling.strides), (1, 96, [0; AXES]));
        assert_eq!(tiling.data_type, DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8);
    }

    #[test]
    fn a_box_of_other_axes_than_its_buffer_is_refused() {
        let k = buffer("k", Dtype::F16, &[64, 64], Role::Input);
        let error = Tiling::new(&map(&[64], Swizzle::None), 0x2000, &k).unwrap_err().to_string();
        assert_eq!(
            error,
            "cannot encode tensor map `tiles` of buffer `k`: a box of 1 axes over a buffer of 2; both need the same number, from 1 to 5"
        );
    }

    #[test]
    fn a_tensor_map_with_a_layout_of_its_own_stays_inside_its_buffer() {
        let k = buffer("k", Dtype::F16, &[128, 256], Role::Input);
        let layout = |strides: &[u64]| Some(MapLayout { shape: vec![4, 128, 64], strides: strides.to_vec() });
        let panels = TensorMap {
            layout: layout(&[128, 512]),
            element_strides: vec![2, 1, 1],
            l2_promotion: L2Promotion::Bytes128,
            oob_fill: OutOfBoundsFill::NanRequestZeroFma,
            ..map(&[1, 64, 64], Swizzle::Span128)
        };
        let tiling = Tiling::new(&panels, 0x2000, &k).unwrap();
        assert_eq!((tiling.rank, tiling.sizes, tiling.strides), (3, [64, 128, 4, 1, 1], [512, 128, 0, 0, 0]));
        assert_eq!((tiling.box_dims, tiling.element_strides), ([64, 64, 1, 1, 1], [1, 1, 2, 1, 1]));
        assert_eq!(tiling.l2_promotion, DriverPromotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
        assert_eq!(tiling.oob_fill, DriverFill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
        let outside = TensorMap { layout: layout(&[128, 528]), ..panels };
        let error = Tiling::new(&outside, 0x2000, &k).unwrap_err().to_string();
        assert!(error.ends_with("it reaches 67568 bytes into the buffer, which has 65536"), "{error}");
    }

    #[test]
    fn tensor_maps_in_structs_and_arrays_lie_as_the_parameter_has_them() {
        let k = buffer("k", Dtype::F16, &[64, 64], Role::Input);
        let known = |_: &str| Some((0x4000, &k));
        let tiles = || Arg::TensorMap(map(&[64, 64], Swizzle::Span128));
        let fields = vec![Arg::Scalar(ScalarValue::I32(1)), tiles()];
        let args = [Arg::Struct { align: None, fields }];
        for (size, place) in [(192, 64), (256, 128)] {
            let made = KernelArguments::new(&args, &[size], &known, &FakeMemory).unwrap();
            let Argument::Bytes(bytes) = &made.0[0] else { panic!("{made:?}") };
            assert_eq!((bytes.len(), bytes[place - 8], bytes[place + 1]), (size as usize, 0, 0x40));
        }
        let error = KernelArguments::new(&args, &[128], &known, &FakeMemory).unwrap_err().to_string();
        assert!(error.contains("argument 1 (struct of 2 fields) has 192 bytes, but the kernel takes 128"), "{error}");
        let behind = [Arg::Pointers(vec![tiles(), tiles()])];
        let made = KernelArguments::new(&behind, &[8], &known, &FakeMemory).unwrap();
        assert_eq!(made.0, [Argument::Word(0x9000)]);
    }

    #[test]
    fn a_tensor_map_is_encoded_for_the_address_of_its_buffer_and_aligned() {
        let k = buffer("k", Dtype::F16, &[64, 64], Role::Input);
        let args = [
            Arg::Scalar(ScalarValue::I32(1)),
            Arg::TensorMap(map(&[64, 64], Swizzle::Span128)),
            Arg::Buffer("k".to_owned()),
        ];
        let known = |_: &str| Some((0x4000, &k));
        let arguments = KernelArguments::new(&args, &[], &known, &FakeMemory).unwrap();
        assert_eq!(arguments.0[1], Argument::TensorMap(CUtensorMap { opaque: [0x4000; 16] }));
        assert_eq!(arguments.0[2], Argument::Word(0x4000));
        assert_eq!(arguments.pointers()[1] as usize % 64, 0);
        let error = KernelArguments::new(&args, &[], &known, &NoMemory).unwrap_err();
        assert_eq!(error.to_string(), "cannot launch: tensor map `tiles` is not supported here");
    }
}
