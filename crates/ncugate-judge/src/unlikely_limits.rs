//! Limits that look like they use the wrong unit, and declared work that no kernel does.

use ncugate_model::expr::{Quantity, Reference};
use ncugate_model::metric::Catalogue;
use ncugate_model::{Level, Role, number};
use ncugate_phase::config::{Buffer, Gate, Phase};
use ncugate_phase::plan::Plan;

/// One sentence for all limits of a phase's gates that look wrong. A limit with an explicit unit is never reported.
pub fn unlikely_limits(phase: &Phase) -> Option<String> {
    let required = phase.every_gate().filter(|gate| gate.level == Level::Required);
    let mut found: Vec<String> = required.filter_map(unlikely).collect();
    found.dedup();
    (!found.is_empty()).then(|| format!("check the units: {}", found.join("; ")))
}

/// The first shape at which `bytes` declares more than a kernel has to move, which reads and writes each buffer once:
/// honest kernels may move less and are rejected. `None` for programs of several launches, which may have to move a
/// buffer more often.
pub fn unlikely_bytes(phase: &Phase, plan: &Plan) -> Option<String> {
    let workload = &phase.workload;
    let kernels = plan.kernels().map(|(_, kernel)| kernel);
    let mut programs =
        kernels.flat_map(|kernel| workload.shapes.iter().filter_map(|shape| kernel.program(&shape.name))).peekable();
    if programs.peek().is_none() || programs.any(|program| program.launches().count() > 1) {
        return None;
    }
    workload.shapes.iter().find_map(|shape| {
        let declared = workload.bytes_at(shape).ok()??;
        let moved = |buffer: &Buffer| {
            let times = if buffer.is_state() || buffer.role == Role::Scratch { 2.0 } else { 1.0 };
            Some(times * workload.bytes_of(shape, &buffer.name)?)
        };
        let most: f64 = workload.buffers.iter().map(moved).sum::<Option<f64>>()?;
        (declared > most).then(|| {
            format!(
                "`bytes` declares {} at shape '{}', but reading and writing each buffer once moves {}: a kernel that moves \
                 less than declared is rejected; lower `bytes`",
                number::short(declared),
                shape.name,
                number::short(most)
            )
        })
    })
}

fn unlikely(gate: &Gate) -> Option<String> {
    if gate.require.names_units() {
        return None;
    }
    let limits = gate.require.limits().into_iter();
    let (reference, limit, meant) =
        limits.filter_map(|(reference, limit)| Some((reference, limit, meant(reference, limit)?))).next()?;
    let unit = unit(reference);
    Some(format!("'{}' compares {reference} with {}; {meant}", gate.name, number::limit(limit, unit)))
}

fn unit(reference: &Reference) -> &'static str {
    match reference {
        Reference::Quantity(Quantity { name, .. }) => Catalogue::embedded().get(name).map_or("", |m| m.unit.as_str()),
        Reference::Speedup { .. } => "x",
    }
}

/// The likely unit of a limit:
///
/// - a percentage above 0 and up to 1 looks like a share,
/// - a latency from 10 ms on looks like nanoseconds, one below 0.1 us like milliseconds,
/// - a duration of ncu's below 100 ns looks like microseconds,
/// - memory above 0 and below 256 bytes looks like KiB,
/// - a speedup from 20 on looks like a percentage.
fn meant(reference: &Reference, limit: f64) -> Option<&'static str> {
    match unit(reference) {
        "%" if limit > 0.0 && limit <= 1.0 => Some("a share is written in percent, as `20 %`"),
        "us" if limit >= 1e4 => Some("a latency is in microseconds; write `ns` or `ms` if that is meant"),
        "us" if limit > 0.0 && limit < 0.1 => Some("a latency is in microseconds; write `ms` if that is meant"),
        "ns" if limit > 0.0 && limit < 100.0 => Some("it is in nanoseconds; write `us` if that is meant"),
        "byte" | "byte/block" if limit > 0.0 && limit < 256.0 => {
            Some("memory is in bytes; write `KiB` if that is meant")
        }
        "x" if limit >= 20.0 => Some("a speedup is a factor: 10 % faster is 1.1"),
        _ => None,
    }
}
