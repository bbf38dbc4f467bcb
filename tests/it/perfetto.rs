//! Traces for Perfetto: decoded by the field numbers of its protocol, they have the launches and values of the report.

use crate::captures;
use crate::command::{Finished, Place, root};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;

/// A field of a message: a number, or bytes.
#[derive(Debug, Clone)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Field {
    fn number(&self) -> u64 {
        let Self::Number(number) = self else { panic!("{self:?}") };
        *number
    }

    fn bytes(&self) -> &[u8] {
        let Self::Bytes(bytes) = self else { panic!("{self:?}") };
        bytes
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

/// The fields of a message in the wire format of protocol buffers, by number.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().unwrap();
            (*bytes, value) = (rest, value | u64::from(first & 0x7f) << shift);
            if first & 0x80 == 0 {
                return value;
            }
            shift += 7;
        }
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (number, rest) = bytes.split_first_chunk::<8>().unwrap();
                bytes = rest;
                Field::Number(u64::from_le_bytes(*number))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                let (part, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(part.to_vec())
            }
            other => panic!("wire type {other}"),
        };
        found.push((tag >> 3, field));
    }
    found
}

fn field(message: &[(u64, Field)], number: u64) -> Option<&Field> {
    message.iter().find(|(own, _)| *own == number).map(|(_, field)| field)
}

/// A slice of a trace.
struct Slice {
    name: String,
    track: u64,
    begin: u64,
    end: u64,
    arguments: HashMap<String, Value>,
}

/// The slices and the names of tracks.
fn decoded(trace: &[u8]) -> (Vec<Slice>, HashMap<u64, String>) {
    let (mut slices, mut tracks): (Vec<Slice>, HashMap<u64, String>) = (Vec::new(), HashMap::new());
    for (number, packet) in fields(trace) {
        assert_eq!(number, 1, "Trace.packet");
        let packet = fields(packet.bytes());
        assert_eq!(field(&packet, 10).unwrap().number(), 1, "TracePacket.trusted_packet_sequence_id");
        if let Some(track) = field(&packet, 60) {
            let track = fields(track.bytes());
            tracks.insert(field(&track, 1).unwrap().number(), field(&track, 2).unwrap().text());
            if let Some(parent) = field(&track, 5) {
                assert!(tracks.contains_key(&parent.number()), "a track follows its parent");
            }
            continue;
        }
        let time = field(&packet, 8).unwrap().number();
        let event = fields(field(&packet, 11).unwrap().bytes());
        let track = field(&event, 11).unwrap().number();
        match field(&event, 9).unwrap().number() {
            1 => {
                let arguments = event.iter().filter(|(number, _)| *number == 4).map(|(_, argument)| {
                    let argument = fields(argument.bytes());
                    let value = [3, 5, 6].into_iter().find_map(|number| Some((number, field(&argument, number)?)));
                    let value = match value {
                        Some((3, number)) => Value::from(number.number()),
                        Some((5, bits)) => Value::from(f64::from_bits(bits.number())),
                        Some((_, text)) => Value::from(text.text()),
                        None => Value::Null,
                    };
                    (field(&argument, 10).unwrap().text(), value)
                });
                let arguments = arguments.collect();
                slices.push(Slice { name: field(&event, 23).unwrap().text(), track, begin: time, end: 0, arguments });
            }
            2 => {
                let open = slices.iter_mut().rev().find(|slice| slice.track == track).unwrap();
                open.end = time;
            }
            other => panic!("TrackEvent.type {other}"),
        }
    }
    (slices, tracks)
}

fn exported(place: &Place, path: &str, more: &[&str]) -> Vec<u8> {
    let args = [&["export", path, "--to", "perfetto", "-o", "trace.pftrace"], more].concat();
    let finished = place.run(&args);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    fs::read(place.path().join("trace.pftrace")).unwrap()
}

#[test]
fn every_launch_is_a_slice_with_the_values_of_the_report() {
    let place = Place::new();
    let report = captures::data("g12.ncu-rep.zst").display().to_string();
    let (slices, tracks) = decoded(&exported(&place, &report, &[]));
    let rows = place.run(&["export", &report, "--to", "json", "--wide"]).stdout;
    let rows: Vec<serde_json::Map<String, Value>> = serde_json::from_str(&rows).unwrap();
    assert_eq!(slices.len(), rows.len());
    let (mut compared, mut end) = (0, 0);
    for (slice, row) in slices.iter().zip(&rows) {
        assert_eq!(slice.name, row["kernel"].as_str().unwrap());
        assert_eq!(slice.begin, end, "launches follow each other");
        end = slice.end;
        assert_eq!((slice.end - slice.begin) as f64, row["gpu__time_duration.sum"].as_f64().unwrap());
        assert_eq!(slice.arguments["launch"], row["launch"]);
        let axis = |name: &str| row[name].as_u64().unwrap();
        let grid = format!("{} x {} x {}", axis("grid_x"), axis("grid_y"), axis("grid_z"));
        assert_eq!(slice.arguments["grid"], grid.as_str());
        for (name, value) in row.iter().filter(|(name, value)| name.contains("__") && !value.is_null()) {
            let same = match value.as_f64() {
                // the JSON reader of this test rounds the last digit
                Some(number) => {
                    slice.arguments[name].as_f64().is_some_and(|own| (own - number).abs() <= 1e-15 * number.abs())
                }
                None => slice.arguments[name] == *value,
            };
            assert!(same, "{name}: {value}, {}", slice.arguments[name]);
            compared += 1;
        }
        assert!(tracks[&slice.track].contains("stream"), "{}", tracks[&slice.track]);
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn metrics_can_be_chosen_and_ranges_are_arguments() {
    let place = Place::new();
    let report = captures::data("torch_nvtx.ncu-rep.zst").display().to_string();
    let (slices, _) = decoded(&exported(&place, &report, &["--metric", "duration"]));
    let ranges: Vec<&str> = slices.iter().filter_map(|slice| slice.arguments.get("nvtx")?.as_str()).collect();
    assert!(ranges.iter().any(|range| range.contains("outer > inner")), "{ranges:?}");
    assert!(slices.iter().all(|slice| slice.arguments["duration"].is_number() && slice.arguments.len() <= 6));
}

/// The command of the page, on a shipped recording.
#[test]
fn the_reports_of_a_run_are_one_trace() {
    let place = Place::new();
    let page = fs::read_to_string(root().join("docs/how-to/open-in-perfetto.md")).unwrap();
    let commands: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("    ncugate ")).collect();
    assert_eq!(commands[0], "export report.ncu-rep --to perfetto -o report.pftrace");
    assert!(commands[1].starts_with("export latest "), "{commands:?}");
    let run = root().join("profiles/softmax/h200").display().to_string();
    let (slices, tracks) = decoded(&exported(&place, &run, &[]));
    let reports = fs::read_dir(root().join("profiles/softmax/h200/reports")).unwrap().count();
    let processes = tracks.values().filter(|name| name.contains(".ncu-rep")).count();
    assert!(slices.len() >= reports && processes >= reports, "{} slices, {tracks:?}", slices.len());
}

#[test]
fn what_has_no_launches_is_an_error() {
    let place = Place::new();
    for (args, status) in [
        (&["export", "absent.ncu-rep", "--to", "perfetto", "-o", "t"][..], Some(3)),
        (&["export", "absent*.ncu-rep", "--to", "perfetto", "-o", "t"], Some(2)),
        (&["export", "copy.cu", "--to", "perfetto", "--wide", "-o", "t"], Some(2)),
    ] {
        let finished: Finished = place.run(args);
        assert_eq!(finished.status, status, "{args:?}: {finished:?}");
        assert!(!place.path().join("t").exists());
    }
}
