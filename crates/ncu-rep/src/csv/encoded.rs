//! Launches of CSV in the form of a report, so that everything that reads a report reads them too.

use super::{CsvLaunch, CsvMetric, CsvReport};
use crate::layout::KERNEL;
use crate::schema::{
    MAGIC, VERSION, block_header, file_header, metric, metric_value, nvtx_domain, nvtx_domain_info,
    nvtx_push_pop_range, nvtx_start_end_range, nvtx_state, nvtx_thread, process, string_table,
};
use crate::value::MetricValue;
use crate::wire::{put_bytes, put_double, put_integer};

/// Bytes of the launches of one block, whose length has four bytes.
const BLOCK: usize = 64 << 20;
/// Facts of a launch that a report has as metrics and CSV as columns.
const CAPABILITY: [&str; 2] =
    ["device__attribute_compute_capability_major", "device__attribute_compute_capability_minor"];
const DEVICE: &str = "launch__device_id";

/// The bytes of a report with these launches.
pub(super) fn encoded(mut csv: CsvReport) -> Vec<u8> {
    let mut add = |name: &str| -> u32 {
        let known = csv.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            csv.names.push(name.to_owned());
            csv.names.len() - 1
        }) as u32
    };
    let [device, major, minor] = [DEVICE, CAPABILITY[0], CAPABILITY[1]].map(&mut add);
    for launch in &mut csv.launches {
        let capability = launch.capability.split_once('.');
        let part = |text: Option<&str>| text.and_then(|text| text.parse().ok());
        let facts = [
            (device, launch.device),
            (major, part(capability.map(|parts| parts.0))),
            (minor, part(capability.map(|parts| parts.1))),
        ];
        // Metrics of these names come later, and the last one counts.
        let facts = facts.into_iter().filter_map(|(name, value)| {
            Some(CsvMetric { name, unit: "".into(), value: MetricValue::U64(u64::from(value?)) })
        });
        launch.metrics.splice(0..0, facts.collect::<Vec<_>>());
    }
    let mut out = MAGIC.to_vec();
    push(&mut out, &message(|header| put_integer(header, file_header::VERSION, VERSION)));
    let names = message(|table| {
        csv.names.iter().for_each(|name| put_bytes(table, string_table::STRING, name.as_bytes()));
    });
    out.extend(block(&[], 0, |header| put_bytes(header, block_header::STRING_TABLE, &names)));
    let mut launches = csv.launches.iter().peekable();
    while let Some(first) = launches.peek().copied() {
        let (mut payload, mut count) = (Vec::new(), 0);
        let is_alike = |launch: &CsvLaunch| launch.pid == first.pid && launch.process == first.process;
        while payload.len() < BLOCK
            && let Some(launch) = launches.next_if(|launch| is_alike(launch))
        {
            push(&mut payload, &kernel(launch));
            count += 1;
        }
        out.extend(block(&payload, count, |header| {
            let Some(pid) = first.pid else { return };
            let process = message(|out| {
                put_integer(out, process::PID, u64::from(pid));
                put_bytes(out, process::HOST, first.host.as_bytes());
                put_bytes(out, process::EXECUTABLE, first.process.as_bytes());
            });
            put_bytes(header, block_header::PROCESS, &process);
        }));
    }
    out
}

fn message(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// Appends a message after its length.
fn push(out: &mut Vec<u8>, message: &[u8]) {
    out.extend((message.len() as u32).to_le_bytes());
    out.extend(message);
}

fn block(payload: &[u8], kernels: u64, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let header = message(|header| {
        put_integer(header, block_header::KERNELS, kernels);
        put_integer(header, block_header::PAYLOAD_SIZE, payload.len() as u64);
        write(header);
    });
    message(|out| {
        push(out, &header);
        out.extend(payload);
    })
}

fn kernel(launch: &CsvLaunch) -> Vec<u8> {
    let size = |[x, y, z]: [u32; 3]| {
        message(|out| (1..).zip([x, y, z]).for_each(|(axis, value)| put_integer(out, axis, u64::from(value))))
    };
    message(|out| {
        put_integer(out, KERNEL.thread, 0);
        put_bytes(out, KERNEL.function, function(&launch.kernel).as_bytes());
        put_bytes(out, KERNEL.demangled, launch.kernel.as_bytes());
        for (field, value) in [(KERNEL.grid, launch.grid), (KERNEL.block, launch.block)] {
            value.into_iter().for_each(|value| put_bytes(out, field, &size(value)));
        }
        for (field, value) in [(KERNEL.context, launch.context), (KERNEL.stream, launch.stream)] {
            value.into_iter().for_each(|value| put_integer(out, field, u64::from(value)));
        }
        launch.metrics.iter().for_each(|one| put_bytes(out, KERNEL.metrics, &encoded_metric(one)));
        put_bytes(out, KERNEL.nvtx, &nvtx(launch));
    })
}

fn encoded_metric(one: &CsvMetric) -> Vec<u8> {
    let value = message(|out| match &one.value {
        MetricValue::Missing => {}
        MetricValue::String(text) => put_bytes(out, metric_value::STRING, text.as_bytes()),
        MetricValue::U32(value) => put_integer(out, metric_value::U64, u64::from(*value)),
        MetricValue::U64(value) => put_integer(out, metric_value::U64, *value),
        MetricValue::Float(value) => put_double(out, metric_value::DOUBLE, f64::from(*value)),
        MetricValue::Double(value) => put_double(out, metric_value::DOUBLE, *value),
    });
    message(|out| {
        put_integer(out, metric::NAME, u64::from(one.name));
        put_bytes(out, metric::VALUE, &value);
    })
}

/// The ranges as a state of the launch's own thread, each with a domain.
fn nvtx(launch: &CsvLaunch) -> Vec<u8> {
    let mut state = Vec::new();
    for (id, range) in (0..).zip(&launch.ranges) {
        let info = message(|out| {
            put_integer(out, nvtx_domain_info::ID, id);
            put_bytes(out, nvtx_domain_info::NAME, range.domain.as_bytes());
        });
        put_bytes(&mut state, nvtx_state::DOMAIN, &info);
        let domain = |name_field: u32| {
            message(|out| {
                put_integer(out, nvtx_domain::ID, id);
                put_bytes(out, nvtx_domain::RANGE, &message(|out| put_bytes(out, name_field, range.name.as_bytes())));
            })
        };
        if range.is_pushed {
            let thread = message(|out| {
                put_integer(out, nvtx_thread::ID, 0);
                put_bytes(out, nvtx_thread::DOMAIN, &domain(nvtx_push_pop_range::NAME));
            });
            put_bytes(&mut state, nvtx_state::THREAD, &thread);
        } else {
            put_bytes(&mut state, nvtx_state::START_END_DOMAIN, &domain(nvtx_start_end_range::NAME));
        }
    }
    state
}

/// The function's name of a printed kernel, without return type, namespaces, template arguments and parameters.
fn function(kernel: &str) -> &str {
    let mut depth = 0_usize;
    let (mut start, mut end) = (0, kernel.len());
    for (at, byte) in kernel.bytes().enumerate() {
        match byte {
            b'<' | b'(' if depth == 0 && at > start => {
                end = at;
                break;
            }
            b'<' | b'(' => depth += 1,
            b'>' | b')' => depth = depth.saturating_sub(1),
            b' ' | b':' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    kernel.get(start..end).filter(|name| !name.is_empty()).unwrap_or(kernel)
}

#[cfg(test)]
mod tests {
    use super::function;

    #[test]
    fn the_function_of_a_printed_kernel() {
        for (printed, name) in [
            ("attn", "attn"),
            ("void scale<4096, float>(T2 *, T2)", "scale"),
            ("void <unnamed>::softmax<c10::Half, 6>(T2 *, int)", "softmax"),
            ("void at::(anonymous namespace)::grid_stride<float>(int)", "grid_stride"),
            ("clustered(float *)", "clustered"),
            ("größe<1>(int)", "größe"),
            ("", ""),
        ] {
            assert_eq!(function(printed), name, "{printed}");
        }
    }
}
