//! The launch configuration of a kernel. Launches with equal configurations are alike; others have no common median.

use ncu_rep::{Launch, ReportError};
use ncugate_model::number;
use std::fmt::Write as _;

/// The launch configuration, as far as the report holds it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LaunchShape {
    /// Blocks in the grid.
    pub grid: Option<[u32; 3]>,
    /// Threads per block.
    pub block: Option<[u32; 3]>,
    /// Blocks per cluster.
    pub cluster: Option<[u32; 3]>,
    /// Registers per thread.
    pub registers: Option<u64>,
    /// Bytes of shared memory per block, static and dynamic.
    pub shared: [Option<u64>; 2],
}

impl LaunchShape {
    /// The shape of a launch.
    ///
    /// # Errors
    /// A damaged metric.
    pub fn of(launch: &Launch<'_>) -> Result<Self, ReportError> {
        let number = |name: &str| -> Result<Option<u64>, ReportError> {
            let value = launch.metric(name)?.and_then(|value| value.as_f64());
            Ok(value.filter(|value| *value >= 0.0).map(|value| value as u64))
        };
        Ok(Self {
            grid: launch.grid(),
            block: launch.block(),
            cluster: launch.cluster()?,
            registers: number("launch__registers_per_thread")?,
            shared: [number("launch__shared_mem_per_block_static")?, number("launch__shared_mem_per_block_dynamic")?],
        })
    }

    /// Its differences from at least one of its siblings: `grid 64, 96 registers`. Empty if all are alike.
    pub fn distinction<'s>(&self, siblings: impl Iterator<Item = &'s Self> + Clone) -> String {
        let own = self.parts();
        let differs = |at: usize| siblings.clone().any(|other| other.parts().get(at) != own.get(at));
        let parts: Vec<&str> =
            (0..own.len()).filter(|at| differs(*at)).filter_map(|at| own.get(at)).map(String::as_str).collect();
        parts.join(", ")
    }

    /// The change to another shape: `grid 16×8, then 8×8; block 128, then 192`.
    pub fn change(&self, after: &Self) -> String {
        let mut out = String::new();
        for (before, after) in self.parts().iter().zip(after.parts()) {
            if *before != after {
                let separator = if out.is_empty() { "" } else { "; " };
                let _ = write!(out, "{separator}{before}, then {after}");
            }
        }
        out
    }

    fn parts(&self) -> [String; 5] {
        let sized = |what: &str, dims: Option<[u32; 3]>| match dims {
            Some(dims) => format!("{what} {}", extent(dims)),
            None => format!("no {what}"),
        };
        let registers = self
            .registers
            .map_or_else(|| "unknown registers".to_owned(), |many| format!("{} registers", number::plain(many as f64)));
        let shared = match self.shared {
            [None, None] => "unknown shared memory".to_owned(),
            [fixed, dynamic] => {
                let bytes = |bytes: Option<u64>| number::plain(bytes.unwrap_or(0) as f64);
                format!("{} + {} bytes shared", bytes(fixed), bytes(dynamic))
            }
        };
        [sized("grid", self.grid), sized("block", self.block), sized("cluster", self.cluster), registers, shared]
    }
}

/// `64`, `16×8`, `4×1×2`.
pub fn extent([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x}×{y}"),
        _ => format!("{x}×{y}×{z}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_named_by_what_sets_it_apart() {
        let shape = |grid: u32, registers: u64| LaunchShape {
            grid: Some([grid, 1, 1]),
            block: Some([128, 1, 1]),
            registers: Some(registers),
            ..LaunchShape::default()
        };
        let all = [shape(64, 32), shape(128, 32), shape(128, 64)];
        assert_eq!(all[0].distinction(all[..2].iter()), "grid 64");
        assert_eq!(all[2].distinction(all.iter()), "grid 128, 64 registers");
        assert_eq!(all[0].distinction(all[..1].iter()), "");
        assert_eq!(all[0].change(&all[2]), "grid 64, then grid 128; 32 registers, then 64 registers");
        assert_eq!(extent([16, 8, 1]), "16×8");
    }
}
