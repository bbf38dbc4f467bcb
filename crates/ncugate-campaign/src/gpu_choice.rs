//! Selects the GPUs of a run. Each measures a shard, and the first confirms and judges.

use super::error::CampaignError;
use super::gpu_turn::GpuTurn;
use super::tools::machine;
use ncugate_cuda::gpu::DeviceAttributes;
use ncugate_cuda::host::{WorkerCommand, find_devices};
use ncugate_judge::store::Machine;
use std::str::FromStr;
use std::time::Duration;

/// The GPUs that the user chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GpuChoice {
    /// All visible GPUs.
    All,
    /// All GPUs of the first one's kind that no run measures on.
    Free,
    /// By index among the visible GPUs, or by name as `CUDA_VISIBLE_DEVICES` has it.
    Listed(Vec<String>),
}

impl FromStr for GpuChoice {
    type Err = String;

    /// Reads `all`, `auto`, `0,2` or `GPU-...,GPU-...`.
    fn from_str(text: &str) -> Result<Self, String> {
        let one = |part: &str| {
            let is_name = ["GPU-", "MIG-"].iter().any(|start| part.starts_with(start));
            let is_plain = part.chars().all(|c| c.is_ascii_alphanumeric() || "-/".contains(c));
            match part.parse::<usize>().is_ok() || (is_name && is_plain) {
                true => Ok(part.to_owned()),
                false => {
                    Err(format!("`{part}` is not a GPU; write all, auto, numbers (0,2) or UUIDs (GPU-..., MIG-...)"))
                }
            }
        };
        match text {
            "all" => Ok(Self::All),
            "auto" => Ok(Self::Free),
            list => list.split(',').map(one).collect::<Result<_, _>>().map(Self::Listed),
        }
    }
}

/// A participating GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenGpu {
    /// Its UUID, or that of a MIG slice, for the processes that run on it.
    pub name: String,
    pub device: DeviceAttributes,
    /// Identity of GPU and host.
    pub machine: Machine,
}

impl ChosenGpu {
    fn new(name: String, device: DeviceAttributes) -> Self {
        Self { name, machine: machine(&device), device }
    }

    /// Whether it belongs to one of these groups.
    fn is_of_any(&self, groups: &[String]) -> bool {
        groups.iter().any(|group| is_of(&self.device, group))
    }

    /// How it differs from a GPU of the same kind, in words; `None` if they are alike.
    fn unlike(&self, other: &Self) -> Option<String> {
        let of = |gpu: &Self| {
            let (device, memory) = (&gpu.device, gpu.device.memory >> 20);
            let watts = gpu.machine.power_limit_w.map(|watts| format!(", {watts} W")).unwrap_or_default();
            format!(
                "{} (compute capability {}, {} multiprocessors, {memory} MiB{watts})",
                device.name, device.compute_capability, device.sms
            )
        };
        let (one, two) = (of(self), of(other));
        (one != two).then(|| format!("{} is {one}, {} is {two}", self.name, other.name))
    }
}

/// Whether a GPU belongs to a group of a phase: its name contains the words of the group in a row. `L4` is not
/// `L40S`.
pub fn is_of(device: &DeviceAttributes, group: &str) -> bool {
    has_words(&device.name, group)
}

fn has_words(name: &str, wanted: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (name, wanted) = (words(name), words(wanted));
    !wanted.is_empty() && name.windows(wanted.len()).any(|part| part == wanted)
}

/// The GPUs that the user chose, grouped by kind. The first of each kind confirms.
///
/// # Errors
/// No GPU is found, a chosen one is missing, one has no UUID, or the phase does not list their kinds in `groups`.
pub fn choose(
    choice: &GpuChoice,
    groups: &[String],
    worker: &WorkerCommand,
    limit: Duration,
) -> Result<Vec<Vec<ChosenGpu>>, CampaignError> {
    let visible = match find_devices(worker, limit)? {
        Ok(devices) => devices,
        Err(reason) => return Err(CampaignError::NoGpu { reason }),
    };
    let gpus: Result<Vec<ChosenGpu>, CampaignError> = match choice {
        GpuChoice::All | GpuChoice::Free => visible.into_iter().map(gpu_of).collect(),
        GpuChoice::Listed(wanted) => wanted.iter().map(|wanted| named(wanted, &visible, worker, limit)).collect(),
    };
    let gpus = if *choice == GpuChoice::Free { free(gpus?, groups) } else { gpus? };
    for (at, gpu) in gpus.iter().enumerate() {
        if gpus[..at].iter().any(|other| other.name == gpu.name) {
            return Err(CampaignError::NoSuchGpu { wanted: gpu.name.clone(), why: "it is listed twice".to_owned() });
        }
    }
    by_kind(gpus, groups)
}

/// Groups GPUs by kind, in order of appearance.
fn by_kind(gpus: Vec<ChosenGpu>, groups: &[String]) -> Result<Vec<Vec<ChosenGpu>>, CampaignError> {
    let mut kinds: Vec<Vec<ChosenGpu>> = Vec::new();
    for gpu in gpus {
        let like = |kind: &&mut Vec<ChosenGpu>| kind.iter().all(|other| other.unlike(&gpu).is_none());
        match kinds.iter_mut().find(like) {
            Some(kind) => kind.push(gpu),
            None => kinds.push(vec![gpu]),
        }
    }
    let mut firsts = kinds.iter().filter_map(|kind| kind.first());
    if groups.is_empty() {
        let (first, second) = (firsts.next(), firsts.next());
        return match first.zip(second).and_then(|(first, second)| first.unlike(second)) {
            Some(unlike) => Err(CampaignError::UnlikeGpus { unlike }),
            None => Ok(kinds),
        };
    }
    match firsts.find(|gpu| !gpu.is_of_any(groups)) {
        Some(gpu) => Err(CampaignError::NoSuchGpu {
            wanted: gpu.name.clone(),
            why: format!(
                "it is {}, but the phase allows only {} (`groups` under [machine])",
                gpu.device.name,
                groups.join(", ")
            ),
        }),
        None => Ok(kinds),
    }
}

fn gpu_of(device: DeviceAttributes) -> Result<ChosenGpu, CampaignError> {
    match &device.uuid {
        Some(uuid) => Ok(ChosenGpu::new(uuid.clone(), device)),
        None => {
            Err(CampaignError::NoSuchGpu { wanted: device.name, why: "the driver reports no UUID for it".to_owned() })
        }
    }
}

/// The free GPUs that are like the first or in the groups; only the first if all are busy.
fn free(gpus: Vec<ChosenGpu>, groups: &[String]) -> Vec<ChosenGpu> {
    let Some(first) = gpus.first().cloned() else { return gpus };
    let fits = |gpu: &ChosenGpu| match groups {
        [] => first.unlike(gpu).is_none(),
        groups => gpu.is_of_any(groups),
    };
    let free: Vec<ChosenGpu> = gpus.into_iter().filter(|gpu| fits(gpu) && GpuTurn::is_free(&gpu.device)).collect();
    if free.is_empty() { vec![first] } else { free }
}

fn named(
    wanted: &str,
    visible: &[DeviceAttributes],
    worker: &WorkerCommand,
    limit: Duration,
) -> Result<ChosenGpu, CampaignError> {
    let no_such = |why: String| CampaignError::NoSuchGpu { wanted: wanted.to_owned(), why };
    if let Ok(ordinal) = wanted.parse::<usize>() {
        let why = || format!("{} are visible; check nvidia-smi and CUDA_VISIBLE_DEVICES", visible.len());
        return visible.get(ordinal).cloned().ok_or_else(|| no_such(why())).and_then(gpu_of);
    }
    // The driver resolves the name: a UUID prefix is enough, and MIG slices are not in the list.
    let device =
        find_devices(&worker.on(wanted.to_owned()), limit)?.ok().and_then(|devices| devices.into_iter().next());
    let device = device.ok_or_else(|| no_such("the driver does not report it".to_owned()))?;
    let full = device.uuid.clone().filter(|uuid| uuid.starts_with(wanted));
    Ok(ChosenGpu::new(full.unwrap_or_else(|| wanted.to_owned()), device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_whole_words_of_a_name() {
        assert!(has_words("NVIDIA L4", "L4") && has_words("NVIDIA A100-SXM4-80GB", "A100-SXM4"));
        assert!(!has_words("NVIDIA L40S", "L4") && !has_words("NVIDIA H200", "H20") && !has_words("NVIDIA H200", ""));
    }

    #[test]
    fn gpus_are_chosen_by_number_or_uuid() {
        assert_eq!("all".parse(), Ok(GpuChoice::All));
        assert_eq!("auto".parse(), Ok(GpuChoice::Free));
        let listed = ["0", "MIG-4f-1/2"].map(str::to_owned).to_vec();
        assert_eq!("0,MIG-4f-1/2".parse(), Ok(GpuChoice::Listed(listed)));
        for wrong in ["", "0,", "-1", "h200", "GPU-x y", "GPU-a=b", "0;1"] {
            assert!(wrong.parse::<GpuChoice>().is_err(), "{wrong:?}");
        }
    }
}
