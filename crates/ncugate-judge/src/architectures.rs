//! Kernels that are built for several architectures: where one lost what another has.

use crate::kernel_ratchet::{KernelResources, LibraryResources};
use ncugate_model::ComputeCapability;
use ncugate_model::cubin::CodeFeature::{self, *};
use ncugate_model::number::counted;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a kernel should use on every chip that has any of `by`, unless the code there uses any of `instead`.
const EXPECTED: [(&str, &[CodeFeature], &[CodeFeature]); 7] = [
    ("tensor cores", &[WarpMatrix, WarpgroupMatrix, TensorMemoryMatrix], &[]),
    ("matrix products on operands in shared memory", &[WarpgroupMatrix, TensorMemoryMatrix], &[]),
    ("asynchronous copies to shared memory", &[AsyncCopy, BulkCopy], &[]),
    ("TMA", &[BulkCopy], &[]),
    ("ldmatrix", &[MatrixLoad], &[WarpgroupMatrix, TensorMemoryMatrix, BulkCopy]),
    ("stmatrix", &[MatrixStore], &[TensorMemoryMatrix]),
    ("setmaxnreg", &[RegisterReallocation], &[]),
];

/// Reads a number of instructions.
type InstructionCount = fn(&KernelResources) -> u32;
/// Instructions that a kernel should have on every chip or on none.
const USED: [(&str, InstructionCount); 2] =
    [("spill instruction", |build| build.spills), ("local memory instruction", |build| build.local)];

/// Something that a kernel has on another architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArchitectureGap {
    /// Mangled name.
    pub kernel: String,
    /// The architecture that lacks it (`sm_90`).
    pub arch: String,
    /// What is lost, and where it is not.
    pub what: String,
}

/// The kernels of a library by name, in its order, each with its builds; architectures in their order.
pub fn by_kernel(library: &LibraryResources) -> (Vec<&str>, BTreeMap<&str, Vec<&KernelResources>>) {
    let mut kernels: BTreeMap<&str, Vec<&KernelResources>> =
        library.ptx_kernels.iter().map(|name| (name.as_str(), Vec::new())).collect();
    for kernel in &library.kernels {
        kernels.entry(&kernel.name).or_default().push(kernel);
    }
    for builds in kernels.values_mut() {
        builds.sort_by_key(|build| capability(&build.arch));
    }
    let mut archs: Vec<&str> = library.kernels.iter().map(|kernel| kernel.arch.as_str()).collect();
    archs.sort_by_key(|arch| capability(arch));
    archs.dedup();
    (archs, kernels)
}

/// What each kernel lost on an architecture; empty if the library has only one.
pub fn gaps(library: &LibraryResources) -> Vec<ArchitectureGap> {
    let (archs, kernels) = by_kernel(library);
    if archs.len() < 2 {
        return Vec::new();
    }
    let of_kernel = |(name, builds): (&str, Vec<&KernelResources>)| {
        let mut lost: Vec<(&str, String)> = Vec::new();
        let is_ptx = library.ptx_kernels.contains(name);
        if let Some(built) = builds.first() {
            let absent = archs.iter().filter(|arch| builds.iter().all(|build| build.arch != **arch));
            lost.extend(absent.map(|arch| {
                let how = if is_ptx { "is there only as PTX" } else { "has no code" };
                (*arch, format!("{how}, {} has machine code", built.arch))
            }));
        }
        for (what, count) in USED {
            let Some(free) = builds.iter().find(|build| count(build) == 0) else { continue };
            let more = builds.iter().filter(|build| count(build) > 0);
            // Spills are local memory too.
            let more = more.filter(|build| what.starts_with("spill") || build.spills == 0);
            lost.extend(more.map(|build| {
                let count = counted(count(build) as usize, what);
                (build.arch.as_str(), format!("{count}, {} has none", free.arch))
            }));
        }
        for (what, by, instead) in EXPECTED {
            let uses = |build: &KernelResources, any: &[CodeFeature]| {
                any.iter().copied().find(|feature| build.features.contains(feature))
            };
            let Some((has, feature)) = builds.iter().find_map(|build| Some((build, uses(build, by)?))) else {
                continue;
            };
            let exists = |build: &KernelResources| {
                capability(&build.arch).is_some_and(|chip| by.iter().any(|feature| feature.exists_on(chip)))
            };
            let lacking = builds.iter().filter(|build| exists(build) && uses(build, by).is_none());
            let lacking = lacking.filter(|build| uses(build, instead).is_none());
            lost.extend(lacking.map(|build| (build.arch.as_str(), format!("no {what}, {} uses {feature}", has.arch))));
        }
        let gap =
            |(arch, what): (&str, String)| ArchitectureGap { kernel: name.to_owned(), arch: arch.to_owned(), what };
        lost.into_iter().map(gap).collect::<Vec<_>>()
    };
    kernels.into_iter().flat_map(of_kernel).collect()
}

/// `sm_90` is 9.0.
fn capability(arch: &str) -> Option<ComputeCapability> {
    let number: u32 =
        arch.trim_start_matches("sm_").trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    Some(ComputeCapability::new(number / 10, number % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(arch: &str, spills: u32, features: &[CodeFeature]) -> KernelResources {
        KernelResources {
            name: "k".to_owned(),
            arch: arch.to_owned(),
            registers: 64,
            stack: 0,
            spills,
            local: spills,
            shared: 0,
            occupancy: None,
            threads: 256,
            limiters: Vec::new(),
            features: features.to_vec(),
        }
    }

    fn lost(builds: &[KernelResources]) -> Vec<String> {
        let library = LibraryResources { kernels: builds.to_vec(), ..LibraryResources::default() };
        gaps(&library).into_iter().map(|gap| format!("{} {}", gap.arch, gap.what)).collect()
    }

    #[test]
    fn what_one_architecture_lost_is_named_and_successors_are_no_loss() {
        let ampere = build("sm_80", 0, &[WarpMatrix, AsyncCopy, MatrixLoad]);
        let hopper = build("sm_90", 0, &[WarpgroupMatrix, BulkCopy, RegisterReallocation]);
        let blackwell = build("sm_100", 0, &[TensorMemoryMatrix, BulkCopy, RegisterReallocation]);
        assert_eq!(lost(&[ampere.clone(), hopper.clone(), blackwell.clone()]), Vec::<String>::new());
        assert_eq!(lost(std::slice::from_ref(&ampere)), Vec::<String>::new(), "one architecture");
        let silent = build("sm_100", 529, &[TensorMemoryMatrix, BulkCopy]);
        assert_eq!(
            lost(&[hopper.clone(), silent]),
            ["sm_100 529 spill instructions, sm_90 has none", "sm_100 no setmaxnreg, sm_90 uses setmaxnreg"]
        );
        let fallback = build("sm_120", 0, &[]);
        let said = lost(&[hopper, fallback]).join("; ");
        assert!(said.contains("no tensor cores") && !said.contains("operands in shared"), "{said}");
        assert_eq!(
            lost(&[build("sm_75", 0, &[]), ampere]).len(),
            2,
            "tensor cores and ldmatrix; cp.async begins with 8.0"
        );
    }

    #[test]
    fn a_kernel_that_is_absent_or_only_ptx_is_named() {
        let mut library = LibraryResources { kernels: vec![build("sm_80", 0, &[])], ..LibraryResources::default() };
        library.kernels.push(KernelResources { name: "other".to_owned(), ..build("sm_90", 0, &[]) });
        library.ptx_kernels.insert("k".to_owned());
        let said: Vec<String> =
            gaps(&library).into_iter().map(|gap| format!("{} {} {}", gap.kernel, gap.arch, gap.what)).collect();
        assert_eq!(
            said,
            ["k sm_90 is there only as PTX, sm_80 has machine code", "other sm_80 has no code, sm_90 has machine code"]
        );
    }
}
