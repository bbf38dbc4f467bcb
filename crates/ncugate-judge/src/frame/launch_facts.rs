//! Facts of planned launches, from their build, their extents and the chip's limits.

use ncugate_model::metric::{BuildFact, Combination, LaunchFact, OccupancyFact};
use ncugate_model::occupancy::{self, Chip, Demand};
use ncugate_model::{Cell, ComputeCapability, Resources, number};
use ncugate_phase::plan::KernelLaunch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StaticFact {
    Build(BuildFact),
    Launch(LaunchFact),
    Occupancy(OccupancyFact),
}

/// The GPU of a fact, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct FactGpu {
    pub capability: Option<ComputeCapability>,
    pub sms: Option<u32>,
}

impl StaticFact {
    /// The fact for a launch of a kernel that uses `resources`, or the reason for its absence.
    pub fn at(self, launch: &KernelLaunch, resources: Result<Resources, Cell>, gpu: FactGpu) -> Cell {
        let value = match self {
            Self::Build(fact) => resources.map(|resources| built(fact, &resources)),
            Self::Launch(LaunchFact::BlockThreads) => Ok(f64::from(launch.threads())),
            Self::Launch(LaunchFact::GridBlocks) => Ok(launch.blocks() as f64),
            Self::Launch(LaunchFact::SharedMemory) => {
                resources.map(|resources| f64::from(resources.static_shared) + f64::from(launch.dynamic_shared))
            }
            Self::Occupancy(fact) => resources.and_then(|resources| occupied(fact, launch, &resources, gpu)),
        };
        value.map_or_else(|missing| missing, Cell::finite)
    }
}

/// A fact of the build, for one kernel or several together.
pub(super) fn built(fact: BuildFact, resources: &Resources) -> f64 {
    f64::from(match fact {
        BuildFact::Registers => resources.registers,
        BuildFact::StaticShared => resources.static_shared,
        BuildFact::Spills => resources.spills,
        BuildFact::Stack => resources.stack,
        BuildFact::Local => resources.local,
    })
}

/// Combines the facts of one evaluation's launches; the first absent fact makes the result absent.
pub(super) fn combine(how: Combination, cells: &[Cell]) -> Cell {
    if let [only] = cells {
        return only.clone();
    }
    let values: Result<Vec<Option<f64>>, Cell> =
        cells.iter().map(|cell| cell.value().map(Some).ok_or_else(|| cell.clone())).collect();
    match values {
        Ok(values) => how.value(&values, None).map_or_else(
            || Cell::Missing(format!("its {} differ", number::counted(cells.len(), "launch")).into()),
            Cell::finite,
        ),
        Err(missing) => missing,
    }
}

fn occupied(fact: OccupancyFact, launch: &KernelLaunch, resources: &Resources, gpu: FactGpu) -> Result<f64, Cell> {
    let missing = |reason: String| Cell::Missing(reason.into());
    let capability = gpu.capability.ok_or_else(|| missing("the GPU of the run is unknown".to_owned()))?;
    let chip = Chip::of(capability)
        .ok_or_else(|| missing(format!("limits of compute capability {capability} are unknown")))?;
    let demand = Demand {
        registers: resources.registers,
        static_shared: resources.static_shared,
        dynamic_shared: launch.dynamic_shared,
        threads: launch.threads(),
        barriers: resources.barriers,
    };
    let occupancy = occupancy::theoretical(&chip, &demand, None);
    Ok(match fact {
        OccupancyFact::Theoretical => occupancy.percent,
        OccupancyFact::BlocksPerSm => f64::from(occupancy.blocks_per_sm),
        OccupancyFact::LimitRegisters => f64::from(occupancy.limits.registers),
        OccupancyFact::LimitSharedMemory => f64::from(occupancy.limits.shared),
        OccupancyFact::LimitWarps => f64::from(occupancy.limits.warps),
        OccupancyFact::LimitBlocks => f64::from(occupancy.limits.blocks),
        OccupancyFact::Waves | OccupancyFact::TailFraction => {
            let sms = gpu.sms.ok_or_else(|| missing("the GPU's number of SMs is unknown".to_owned()))?;
            let waves = occupancy::waves(launch.blocks(), occupancy.blocks_per_sm, sms)
                .ok_or_else(|| missing("no block fits on an SM".to_owned()))?;
            if fact == OccupancyFact::Waves { waves } else { occupancy::tail_fraction(waves) }
        }
    })
}
