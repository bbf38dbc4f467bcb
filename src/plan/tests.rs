//! The shipped phases, from their text to their plan.

use super::{Arg, Method, Plan, ScalarValue, Standing, unroll};
use crate::config::{Phase, load, parse};
use std::path::Path;

fn phase_d() -> Phase {
    load(Path::new("configs/phase_d.toml")).unwrap_or_else(|e| panic!("{e}"))
}

fn plan(phase: &Phase) -> Plan {
    unroll(phase).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn phase_d_has_ninety_candidates_with_stable_ids() {
    let phase = phase_d();
    let plan = plan(&phase);
    let ids: Vec<&str> = plan.candidates().map(|v| v.id.0.as_str()).collect();
    assert_eq!(ids.len(), 90);
    assert_eq!(ids[0], "REGCAP=64,THREADS=128,TILE_M=32,K_TILE=16");
    assert_eq!(ids[1], "REGCAP=64,THREADS=128,TILE_M=32,K_TILE=32");
    assert_eq!(ids[89], "REGCAP=96,THREADS=256,TILE_M=64,K_TILE=64");
    let baselines: Vec<&str> = plan.baselines().map(|v| v.id.0.as_str()).collect();
    assert_eq!(baselines, ["sdpa_flash", "sdpa_efficient", "sdpa_math"]);
}
