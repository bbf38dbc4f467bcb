//! Launches as a trace for Perfetto (ui.perfetto.dev): slices with their metrics as arguments.
//!
//! A report has durations and no start times. Launches of a process therefore follow each other without gaps, in the
//! order of the report.

use std::collections::HashMap;
use std::io::Write;

use ncu_rep::{MetricSelection, MetricValue};
use ncugate_judge::frame::export::ExportError;
use ncugate_judge::frame::launches::{Capture, FrameError};
use ncugate_judge::frame::rows::{AnyLaunch, MetricColumns, metrics};
use ncugate_model::number::text::cell;
use prost::Message;

/// `perfetto.protos.Trace`. A file can be several of them, one after the other.
#[derive(Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Message)]
struct TracePacket {
    /// In nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(enumeration = "TrackEventType", optional, tag = "9")]
    r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
enum TrackEventType {
    Unspecified = 0,
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
}

/// An argument of an event.
#[derive(Message)]
struct DebugAnnotation {
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(double, optional, tag = "5")]
    double_value: Option<f64>,
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
}

#[derive(Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
}

#[derive(Message)]
struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    process_name: Option<String>,
}

/// The sequence of all packets; 0 is not a valid one.
const SEQUENCE: u32 = 1;
/// The duration of a launch, in nanoseconds.
const DURATION: &str = "gpu__time_duration.sum";

/// A process of a report, with the end of its last launch.
struct TrackedProcess {
    uuid: u64,
    /// In nanoseconds.
    end: u64,
}

/// Writes launches with their metrics.
///
/// # Errors
/// A report is damaged, or the output cannot be written.
pub(super) fn write(
    launches: &[(Capture<'_>, AnyLaunch<'_>)],
    columns: MetricColumns<'_>,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut trace = TraceWriter { out, processes: HashMap::new(), streams: HashMap::new(), tracks: 0 };
    launches.iter().try_for_each(|(capture, launch)| trace.launch(capture, launch, columns))?;
    Ok(trace.out.flush()?)
}

struct TraceWriter<'w> {
    out: &'w mut dyn Write,
    /// By report and process id.
    processes: HashMap<(String, Option<u32>), TrackedProcess>,
    /// Track of each stream, by its process's track, context and stream.
    streams: HashMap<(u64, Option<u32>, Option<u32>), u64>,
    tracks: u64,
}

impl TraceWriter<'_> {
    fn launch(
        &mut self,
        capture: &Capture<'_>,
        launch: &AnyLaunch<'_>,
        columns: MetricColumns<'_>,
    ) -> Result<(), ExportError> {
        let process = self.process(capture, launch)?;
        let track = self.stream(process, launch)?;
        let mut arguments = vec![argument("launch", &MetricValue::U32(launch.id()))];
        arguments.extend([("grid", launch.grid()), ("block", launch.block())].into_iter().filter_map(
            |(name, extents)| {
                let [x, y, z] = extents?;
                Some(text_argument(name, &format!("{x} x {y} x {z}")))
            },
        ));
        let nvtx = launch.nvtx(capture.name)?;
        arguments.extend((!nvtx.is_empty()).then(|| text_argument("nvtx", &nvtx)));
        arguments.push(text_argument("kernel", &launch.demangled()));
        metrics(capture, launch, columns, |row| {
            if !row.value.is_missing() {
                arguments.push(argument(row.metric, &row.value));
            }
            Ok::<(), FrameError>(())
        })?;
        let mut duration = None;
        let timed = MetricColumns { counters: MetricSelection::Named(&[DURATION.to_owned()]), logical: &[] };
        metrics(capture, launch, timed, |row| {
            duration = row.value.as_f64().filter(|nanoseconds| *nanoseconds >= 0.0);
            Ok::<(), FrameError>(())
        })?;
        let key = (capture.name.to_owned(), process_id(launch));
        let begin = self.processes.get(&key).map_or(0, |process| process.end);
        let event = |kind: TrackEventType| TrackEvent {
            debug_annotations: Vec::new(),
            r#type: Some(kind.into()),
            track_uuid: Some(track),
            categories: Vec::new(),
            name: None,
        };
        // A launch without a duration is an instant event.
        let kind = if duration.is_some() { TrackEventType::SliceBegin } else { TrackEventType::Instant };
        let name = launch.kernel();
        let name = if name.is_empty() { launch.demangled() } else { name };
        let first = TrackEvent {
            debug_annotations: arguments,
            categories: vec!["kernel".to_owned()],
            name: Some(cell(&name).into_owned()),
            ..event(kind)
        };
        self.packet(Some(begin), Some(first), None)?;
        let end = begin + duration.map_or(1, |nanoseconds| nanoseconds.round() as u64);
        if duration.is_some() {
            self.packet(Some(end), Some(event(TrackEventType::SliceEnd)), None)?;
        }
        if let Some(process) = self.processes.get_mut(&key) {
            process.end = end;
        }
        Ok(())
    }

    /// The track of a launch's process.
    fn process(&mut self, capture: &Capture<'_>, launch: &AnyLaunch<'_>) -> Result<u64, ExportError> {
        let key = (capture.name.to_owned(), process_id(launch));
        if let Some(known) = self.processes.get(&key) {
            return Ok(known.uuid);
        }
        self.tracks += 1;
        let uuid = self.tracks;
        let name = match launch {
            AnyLaunch::Report(launch) => launch
                .process()
                .map(|process| format!("{}: {} (process {})", capture.name, process.name(), process.pid)),
            AnyLaunch::Csv(_) => None,
        };
        let name = cell(name.as_deref().unwrap_or(capture.name)).into_owned();
        // Processes of several reports can have the same id, which Perfetto would merge.
        let process = ProcessDescriptor { pid: i32::try_from(uuid).ok(), process_name: Some(name.clone()) };
        let track = TrackDescriptor { uuid: Some(uuid), name: Some(name), process: Some(process), parent_uuid: None };
        self.packet(None, None, Some(track))?;
        self.processes.insert(key, TrackedProcess { uuid, end: 0 });
        Ok(uuid)
    }

    /// The track of a launch's stream.
    fn stream(&mut self, process: u64, launch: &AnyLaunch<'_>) -> Result<u64, ExportError> {
        let context = match launch {
            AnyLaunch::Report(launch) => launch.context(),
            AnyLaunch::Csv(_) => None,
        };
        let key = (process, context, launch.stream());
        if let Some(known) = self.streams.get(&key) {
            return Ok(*known);
        }
        self.tracks += 1;
        let uuid = self.tracks;
        let part = |what: &str, number: Option<u32>| number.map(|number| format!("{what} {number}"));
        let parts: Vec<String> =
            [part("context", context), part("stream", launch.stream())].into_iter().flatten().collect();
        let name = if parts.is_empty() { "launches".to_owned() } else { parts.join(", ") };
        let track = TrackDescriptor { uuid: Some(uuid), name: Some(name), process: None, parent_uuid: Some(process) };
        self.packet(None, None, Some(track))?;
        self.streams.insert(key, uuid);
        Ok(uuid)
    }

    fn packet(
        &mut self,
        timestamp: Option<u64>,
        track_event: Option<TrackEvent>,
        track_descriptor: Option<TrackDescriptor>,
    ) -> Result<(), ExportError> {
        let packet =
            TracePacket { timestamp, trusted_packet_sequence_id: Some(SEQUENCE), track_event, track_descriptor };
        Ok(self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())?)
    }
}

fn process_id(launch: &AnyLaunch<'_>) -> Option<u32> {
    match launch {
        AnyLaunch::Report(launch) => launch.process().map(|process| process.pid),
        AnyLaunch::Csv(_) => None,
    }
}

fn argument(name: &str, value: &MetricValue<'_>) -> DebugAnnotation {
    let none = DebugAnnotation {
        name: Some(cell(name).into_owned()),
        uint_value: None,
        double_value: None,
        string_value: None,
    };
    match value {
        MetricValue::U32(number) => DebugAnnotation { uint_value: Some(u64::from(*number)), ..none },
        MetricValue::U64(number) => DebugAnnotation { uint_value: Some(*number), ..none },
        MetricValue::Float(_) | MetricValue::Double(_) => DebugAnnotation { double_value: value.as_f64(), ..none },
        MetricValue::String(text) => DebugAnnotation { string_value: Some(cell(text).into_owned()), ..none },
        MetricValue::Missing => none,
    }
}

fn text_argument(name: &str, text: &str) -> DebugAnnotation {
    argument(name, &MetricValue::String(text.into()))
}
