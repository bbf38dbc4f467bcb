//! Surfaces over arrays that hold buffers, at a shape.

use super::arg::{Arg, SurfaceView, TexelMemory};
use super::fault::Faults;
use super::launch::StepContext;
use super::program::Step;
use super::texel::{TexelExtents, TexelFault};
use crate::config::SurfaceTemplate;
use ncugate_model::{Dtype, Role};

/// Maximum texels of a one-dimensional surface (CUDA C++ Programming Guide, technical specifications; compute
/// capability 6.0 and later).
const LINE: u64 = 32_768;
/// Maximum texels and rows of a two-dimensional surface.
const PLANE: [u64; 2] = [131_072, 65_536];

impl StepContext<'_> {
    /// Moves textures over buffers that the program also has as surfaces to the same arrays, and records impossible cases.
    pub(super) fn share_surfaces(&self, steps: &mut [Step], faults: &mut Faults) {
        let surfaces: Vec<SurfaceView> = steps.iter().flat_map(args_of).filter_map(view_of).cloned().collect();
        let launches = steps.iter_mut().filter_map(|step| match step {
            Step::Launch(launch) => Some(&mut launch.args),
            Step::Memset(_) | Step::Memcpy(_) => None,
        });
        launches.flatten().for_each(|arg| into_arrays(arg, &surfaces));
        self.check_surfaces(steps, faults);
        self.check_textures(steps, faults);
    }

    /// Records textures over buffers that launches write without a surface: a texture would not contain the written values.
    fn check_textures(&self, steps: &[Step], faults: &mut Faults) {
        for arg in steps.iter().flat_map(args_of) {
            let Arg::Texture(texture) = arg else { continue };
            let buffer = self.workload.buffers.iter().find(|buffer| buffer.name == texture.buffer);
            if texture.memory == TexelMemory::Linear && buffer.is_some_and(|buffer| buffer.role != Role::Input) {
                let message = format!("has a texture over `{}`, which launches write", texture.buffer);
                let help = "textures are read-only: use a buffer with role \"input\", or write through a surface";
                self.fault(faults, "args", message, help);
            }
        }
    }

    /// Records the buffers that a program has as a surface and in another way too: a surface is a separate array,
    /// which would not contain values written to the buffer between the steps.
    fn check_surfaces(&self, steps: &[Step], faults: &mut Faults) {
        let args = || steps.iter().flat_map(args_of);
        let mut told: Vec<&str> = Vec::new();
        for surface in args().filter_map(view_of) {
            let other = args().find(|arg| arg.buffer() == Some(&surface.buffer) && !is_alike(arg, surface));
            let filled = steps.iter().any(|step| match step {
                Step::Launch(_) => false,
                Step::Memset(fill) => fill.buffer == surface.buffer,
                Step::Memcpy(copy) => copy.from == surface.buffer || copy.to == surface.buffer,
            });
            let also = match other {
                Some(Arg::Surface(_)) => "as a surface of other texels".to_owned(),
                Some(other) => format!("as {}", other.described()),
                None if filled => "in a memset or memcpy".to_owned(),
                None => continue,
            };
            if told.contains(&surface.buffer.as_str()) {
                continue;
            }
            told.push(&surface.buffer);
            let message = format!("has `{}` as a surface, and also {also}", surface.buffer);
            let help = "a surface is a separate array, filled before the first step and copied back after the last; use the buffer in one way only";
            self.fault(faults, "args", message, help);
        }
    }
}

/// Whether an argument is a surface with these texels, or a texture over it.
fn is_alike(arg: &Arg, surface: &SurfaceView) -> bool {
    match arg {
        Arg::Surface(other) => other == surface,
        Arg::Texture(texture) => texture.memory == TexelMemory::Array,
        _ => false,
    }
}

/// Moves textures in an argument to the array of the surface with the same texels.
fn into_arrays(arg: &mut Arg, surfaces: &[SurfaceView]) {
    match arg {
        Arg::Struct { fields, .. } => fields.iter_mut().for_each(|part| into_arrays(part, surfaces)),
        Arg::Texture(texture) if surfaces.iter().any(|surface| texture.surface() == *surface) => {
            texture.memory = TexelMemory::Array;
        }
        _ => {}
    }
}

/// Every argument of a step that has no parts.
fn args_of(step: &Step) -> Vec<&Arg> {
    match step {
        Step::Launch(launch) => launch.args.iter().flat_map(Arg::parts).collect(),
        Step::Memset(_) | Step::Memcpy(_) => Vec::new(),
    }
}

fn view_of(arg: &Arg) -> Option<&SurfaceView> {
    match arg {
        Arg::Surface(view) => Some(view),
        _ => None,
    }
}

/// A surface over a buffer of that type and these extents, or the fault and its remedy.
pub(super) fn view(dtype: Dtype, extents: &[u64], surface: &SurfaceTemplate) -> Result<SurfaceView, TexelFault> {
    let SurfaceTemplate { buffer, channels } = surface;
    let TexelExtents { width, height } = TexelExtents::new(dtype, extents, *channels)?;
    let fits = height.map_or(width <= LINE, |height| width <= PLANE[0] && height <= PLANE[1]);
    if !fits {
        let help = "a surface has at most 32,768 texels on one axis, or 131,072 by 65,536 on two";
        return Err((format!("of {width} texels by {}", height.unwrap_or(1)), help));
    }
    Ok(SurfaceView { buffer: buffer.clone(), channels: *channels, width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dtype: Dtype, extents: &[u64], channels: u32) -> Result<(u64, Option<u64>), String> {
        let surface = SurfaceTemplate { buffer: "x".to_owned(), channels };
        view(dtype, extents, &surface).map(|view| (view.width, view.height)).map_err(|(message, _)| message)
    }

    #[test]
    fn rows_need_no_alignment_and_extents_are_those_of_arrays() {
        assert_eq!(of(Dtype::F32, &[10, 7], 1).unwrap(), (7, Some(10)));
        assert_eq!(of(Dtype::U8, &[10, 7, 4], 4).unwrap(), (7, Some(10)));
        assert_eq!(of(Dtype::F32, &[32_768], 1).unwrap(), (32_768, None));
        assert!(of(Dtype::F32, &[32_769], 1).unwrap_err().contains("32769 texels by 1"));
        assert!(of(Dtype::F32, &[65_537, 8], 1).is_err());
        assert!(of(Dtype::F64, &[100], 1).unwrap_err().contains("f64"));
        assert!(of(Dtype::F32, &[2, 3, 64], 1).unwrap_err().contains("3 axes"));
    }
}
