//! Plans of kernels as runs keep them. A program that is one launch is written as it was before programs had steps, so that
//! runs of earlier versions are read, and hashes of plans stay what they were.

use super::super::arg::Arg;
use super::{KernelCode, KernelLaunch, KernelPlan, ShapeProgram, Step};
use ncugate_model::LaunchMode;
use ncugate_model::ShapeName;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A [`KernelPlan`] as it is written: `entry` with `launches`, or `programs`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredKernelPlan {
    source: PathBuf,
    #[serde(default, skip_serializing_if = "KernelCode::is_cuda")]
    code: KernelCode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
    flags: Vec<String>,
    defines: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    launches: Option<Vec<StoredLaunch>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    programs: Vec<ShapeProgram>,
}

/// The only launch of a shape.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredLaunch {
    shape: ShapeName,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    dynamic_shared: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dynamic_arrays: Vec<(String, u32)>,
    #[serde(default, skip_serializing_if = "LaunchMode::is_ordinary")]
    mode: LaunchMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    carveout: Option<u32>,
    args: Vec<Arg>,
}

impl From<KernelPlan> for StoredKernelPlan {
    fn from(plan: KernelPlan) -> Self {
        let KernelPlan { source, code, flags, defines, programs } = plan;
        let entry = programs.first().and_then(ShapeProgram::single).map(|launch| launch.entry.clone());
        let one = |program: &ShapeProgram| program.single().is_some_and(|launch| Some(&launch.entry) == entry.as_ref());
        if !programs.iter().all(one) || entry.is_none() {
            return Self { source, code, entry: None, flags, defines, launches: None, programs };
        }
        let launches = programs.into_iter().flat_map(|program| {
            let shape = program.shape;
            program.steps.into_iter().filter_map(move |step| match step {
                Step::Launch(launch) => Some(StoredLaunch::new(shape.clone(), launch)),
                Step::Memset(_) | Step::Memcpy(_) => None,
            })
        });
        Self { source, code, entry, flags, defines, launches: Some(launches.collect()), programs: Vec::new() }
    }
}

impl TryFrom<StoredKernelPlan> for KernelPlan {
    type Error = String;

    fn try_from(stored: StoredKernelPlan) -> Result<Self, String> {
        let StoredKernelPlan { source, code, entry, flags, defines, launches, programs } = stored;
        let programs = match (entry, launches) {
            (Some(entry), Some(launches)) if programs.is_empty() => {
                launches.into_iter().map(|launch| launch.program(&entry)).collect()
            }
            (None, None) if !programs.is_empty() => programs,
            _ => return Err("a kernel has either `entry` with `launches`, or `programs`".to_owned()),
        };
        Ok(Self { source, code, flags, defines, programs })
    }
}

impl StoredLaunch {
    pub fn new(shape: ShapeName, launch: KernelLaunch) -> Self {
        let KernelLaunch { entry: _, grid, block, cluster, dynamic_shared, dynamic_arrays, mode, carveout, args } =
            launch;
        Self { shape, grid, block, cluster, dynamic_shared, dynamic_arrays, mode, carveout, args }
    }

    fn program(self, entry: &str) -> ShapeProgram {
        let Self { shape, grid, block, cluster, dynamic_shared, dynamic_arrays, mode, carveout, args } = self;
        let entry = entry.to_owned();
        let launch = KernelLaunch { entry, grid, block, cluster, dynamic_shared, dynamic_arrays, mode, carveout, args };
        ShapeProgram::new(shape, vec![Step::Launch(launch)])
    }
}

#[cfg(test)]
mod tests {
    use super::super::BufferFill;
    use super::*;

    const ONE: &str = r#"{"source":"k.cu","entry":"k","flags":["-O3"],"defines":[["T","1"]],"launches":[{"shape":"s","grid":[1,1,1],"block":[32,1,1],"cluster":[1,1,1],"dynamic_shared":0,"args":[{"buffer":"x"}]}]}"#;

    #[test]
    fn a_plan_of_one_launch_is_written_as_earlier_versions_wrote_it() {
        let plan: KernelPlan = serde_json::from_str(ONE).unwrap();
        assert_eq!((plan.launched_entries(), plan.programs[0].shape.0.as_str()), (vec!["k"], "s"));
        assert_eq!(serde_json::to_string(&plan).unwrap(), ONE);
    }

    #[test]
    fn a_plan_of_several_steps_comes_back_and_half_of_one_is_refused() {
        let mut plan: KernelPlan = serde_json::from_str(ONE).unwrap();
        plan.programs[0].steps.insert(0, Step::Memset(BufferFill { buffer: "x".to_owned(), byte: 255, bytes: None }));
        let text = serde_json::to_string(&plan).unwrap();
        assert!(text.contains(r#""steps":[{"memset":{"buffer":"x","byte":255}},{"launch":{"entry":"k","#), "{text}");
        assert_eq!(serde_json::from_str::<KernelPlan>(&text).unwrap(), plan);
        let halves = [ONE.replace(r#""entry":"k","#, ""), r#"{"source":"k.cu","flags":[],"defines":[]}"#.to_owned()];
        for half in halves {
            assert!(serde_json::from_str::<KernelPlan>(&half).is_err(), "{half}");
        }
    }
}
