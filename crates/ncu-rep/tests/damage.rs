//! Crafted, truncated, modified or hostile reports give the right values or an error, without panics or high memory use.

#![allow(clippy::panic, clippy::unwrap_used)]

mod crafted;

use ncu_rep::bulk::Occurrence;
use ncu_rep::{
    EstimatedSpeedup, Limits, MetricValue, NvtxKind, Report, ReportError, ResultKind, SpeedupScope, compress, redact,
};
use proptest::prelude::{ProptestConfig, any, prop, proptest};

use crafted::{Message, blocks, boundaries, file, message, metric};

/// Decodes everything in a report.
fn exhaust(report: &Report) -> Result<usize, ReportError> {
    let mut seen = 0;
    for launch in report.launches() {
        let _ = (launch.kernel_name(), launch.demangled_name(), launch.process());
        seen += launch.nvtx()?.len() + launch.rule_results()?.len() + launch.source_references()?.len();
        launch.cluster()?;
        for metric in launch.metrics() {
            let metric = metric?;
            metric.category()?;
            for instance in metric.instances() {
                instance?;
                seen += 1;
            }
            seen += 1;
        }
    }
    report.session()?;
    Ok(seen + report.sources()?.len())
}

/// Number of metrics from the bulk scan, each once per launch.
fn scanned(report: &Report) -> Result<usize, ReportError> {
    let bulk = report.bulk();
    let mut scan = bulk.scan();
    let mut first = 0;
    for launch in bulk.chunks().flatten() {
        scan.launch(launch, |_, raw, occurrence| {
            let value = raw.value()?;
            // The fast path to a number gives the same value as the slow one.
            if let Some(number) = raw.number() {
                assert_eq!(value.as_f64().map(f64::to_bits), Some(number.to_bits()));
            }
            first += usize::from(occurrence == Occurrence::First);
            Ok(())
        })?;
    }
    Ok(first)
}

/// Reads bytes in every possible way. The test is that it returns.
fn read(bytes: &[u8]) -> bool {
    let Ok(report) = Report::from_bytes(bytes.to_vec()) else { return false };
    let whole = exhaust(&report).is_ok();
    let scanned = scanned(&report).is_ok();
    let _ = redact(bytes);
    whole && scanned
}

#[test]
fn everything_in_a_crafted_report_is_read() {
    let report = Report::from_bytes(file(7, &blocks())).unwrap();
    let kinds: Vec<ResultKind> = report.launches().map(|launch| launch.kind()).collect();
    assert_eq!(kinds, [ResultKind::Kernel, ResultKind::Range, ResultKind::Graph]);
    let pids: Vec<u32> = report.launches().map(|launch| launch.process().unwrap().pid).collect();
    assert_eq!(pids, [10, 11, 11]);
    let launch = report.launch(0).unwrap();
    assert_eq!((launch.grid(), launch.block()), (Some([4, 3, 2]), Some([128, 1, 1])));
    let metrics: Vec<_> = launch.metrics().map(Result::unwrap).collect();
    assert_eq!(scanned(&report).unwrap(), 9 + 1 + 1);
    assert_eq!(report.bulk().metric_count(0..3), 10 + 1 + 1, "a name that is repeated counts each time");
    assert_eq!(launch.metric("a__x.sum").unwrap(), Some(MetricValue::Double(99.0)));
    let values: Vec<_> = metrics.iter().map(|metric| (metric.name, metric.value.clone())).collect();
    assert_eq!(
        values[..6],
        [
            ("a__x.sum", MetricValue::Double(99.0)),
            ("b__float", MetricValue::Float(0.1)),
            ("c__u32", MetricValue::U32(7)),
            ("d__u64", MetricValue::U64(u64::MAX - 1)),
            ("e__text", MetricValue::String("text".into())),
            ("f__missing", MetricValue::Missing),
        ]
    );
    assert_eq!(values[7..], [("h__u64_max", MetricValue::U64(u64::MAX)), ("i__u32_max", MetricValue::U32(u32::MAX))]);
    assert!(matches!(values[6], ("g__nan", MetricValue::Double(nan)) if nan.is_nan()));
    assert_eq!(values.len(), 9, "a name that is repeated is read once, with its last value");
    let instance = metrics[3].instances().next().unwrap().unwrap();
    assert_eq!((instance.correlation, instance.value), (MetricValue::U64(16), MetricValue::U64(9)));
    let nvtx: Vec<_> = launch.nvtx().unwrap();
    let nvtx: Vec<_> = nvtx.iter().map(|range| (range.domain.as_ref(), range.name.as_ref(), range.kind)).collect();
    assert_eq!(
        nvtx,
        [
            ("<default domain>", "outer", NvtxKind::PushPop),
            ("<default domain>", "inner", NvtxKind::PushPop),
            ("solver", "step", NvtxKind::StartEnd),
        ]
    );
    let rules = launch.rule_results().unwrap();
    assert_eq!(rules[0].items[0].speedup, Some(EstimatedSpeedup { scope: SpeedupScope::Global, percent: 12.5 }));
    assert_eq!(rules[0].items[0].tables[0].columns[0].cells, ["3", "-1"]);
    assert_eq!(report.launch(1).unwrap().source_references().unwrap(), [42, 43]);
    assert_eq!(report.launch(2).unwrap().stream(), Some(8));
    let session = report.session().unwrap();
    assert_eq!((session.clock_control(), session.ncu_version()), (Some("base"), Some("2026.1")));
    assert_eq!(report.sources().unwrap()[0].capability, Some((9, 0)));
}

#[test]
fn container_versions() {
    assert!(matches!(Report::from_bytes(file(6, &blocks())), Err(ReportError::OldVersion { version: 6 })));
    let newer = Report::from_bytes(file(9, &blocks())).unwrap();
    assert_eq!(newer.warnings().len(), 1);
    assert!(Report::from_bytes(file(7, &blocks())).unwrap().warnings().is_empty());
}

#[test]
fn a_compressed_report_is_the_same_report() {
    let plain = file(7, &blocks());
    let report = Report::from_bytes(compress(&plain).unwrap()).unwrap();
    assert_eq!(exhaust(&report).unwrap(), exhaust(&Report::from_bytes(plain).unwrap()).unwrap());
}

#[test]
fn a_cut_anywhere_but_between_blocks_is_an_error_that_names_the_block() {
    let blocks = blocks();
    let whole = file(7, &blocks);
    let ends = boundaries(&whole, &blocks);
    assert_eq!(ends.last(), Some(&whole.len()));
    for cut in 0..whole.len() {
        let result = Report::from_bytes(whole[..cut].to_vec());
        if ends.contains(&cut) {
            // A file that ends after a block is complete, but its launches can use names of missing blocks.
            read(&whole[..cut]);
            continue;
        }
        let error = result.err().unwrap_or_else(|| panic!("a cut at {cut} was not noticed")).to_string();
        if cut >= 4 {
            let block = ends.iter().filter(|&&end| end <= cut).count().saturating_sub(1);
            assert!(error.contains(&format!("truncated at block {block}: ")), "cut at {cut}: {error}");
        }
    }
}

#[test]
fn every_change_of_one_byte_ends_in_values_or_an_error() {
    let whole = file(7, &blocks());
    let mut refused = 0;
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        for value in 0..=u8::MAX {
            changed[at] = value;
            let Ok(report) = Report::from_bytes(changed.clone()) else {
                refused += 1;
                continue;
            };
            let _ = exhaust(&report);
            if (value ^ whole[at]).is_power_of_two() {
                read(&changed);
            }
        }
    }
    assert!(refused > 10 * whole.len(), "{refused}");
}

#[test]
fn changes_in_the_headers_of_a_real_report() {
    let capture = std::fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cluster.ncu-repz")).unwrap();
    let report = zstd::stream::decode_all(capture).unwrap();
    let mut at = 8 + u32::from_le_bytes(report[4..8].try_into().unwrap()) as usize;
    let mut headers: Vec<usize> = (0..at).collect();
    while at < report.len() {
        let len = u32::from_le_bytes(report[at..at + 4].try_into().unwrap()) as usize;
        // The long header is the one with the string table; its start is enough.
        headers.extend(at..(at + 4 + len).min(at + 120));
        let mut rest = &report[at + 4..at + 4 + len];
        at += 4 + len + payload_size(&mut rest);
    }
    assert!(headers.len() > 500, "{}", headers.len());
    let mut changed = report.clone();
    for at in headers {
        for bit in [0x01, 0x80] {
            changed[at] ^= bit;
            drop(Report::from_bytes(changed.clone()));
            changed[at] = report[at];
        }
    }
}

/// Field 5 of a block header.
fn payload_size(rest: &mut &[u8]) -> usize {
    let varint = |rest: &mut &[u8]| {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = rest[0];
            *rest = &rest[1..];
            value |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    };
    let mut size = 0;
    while !rest.is_empty() {
        let tag = varint(rest);
        let value = varint(rest);
        match tag {
            0x28 => size = value,
            _ if tag & 7 == 2 => *rest = &rest[value..],
            _ => {}
        }
    }
    size
}

#[test]
fn lengths_of_four_gigabytes_take_no_memory() {
    let whole = file(7, &blocks());
    let start = boundaries(&whole, &blocks())[0];
    let mut header = whole.clone();
    header[start..start + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = Report::from_bytes(header).unwrap_err().to_string();
    assert!(error.contains("truncated at block 0: BlockHeader at offset"), "{error}");
    let mut payload = file(7, &[]);
    let block = message().int(2, u64::from(u32::MAX)).int(5, u64::from(u32::MAX)).0;
    payload.extend((block.len() as u32).to_le_bytes());
    payload.extend(block);
    let error = Report::from_bytes(payload).unwrap_err().to_string();
    assert!(error.contains("payload") && error.contains("4294967295"), "{error}");
    let metric = Message([0x6a, 0xff, 0xff, 0xff, 0xff, 0x0f].to_vec());
    let error = Report::from_bytes(file(7, &[(message().int(2, 1), vec![metric])])).unwrap_err().to_string();
    assert!(error.contains("ProfileResult field 13 at offset"), "{error}");
}

#[test]
fn counts_that_the_payload_does_not_have() {
    let more = file(7, &[(message().int(2, 9), vec![message().int(1, 1)])]);
    assert!(matches!(Report::from_bytes(more), Err(ReportError::Truncated { field: "entry length", .. })));
    let fewer = file(7, &[(message().int(2, 0), vec![message().int(1, 1)])]);
    assert!(Report::from_bytes(fewer).unwrap_err().to_string().contains("belong to no entry"));
    let empty = file(7, &[(message().int(2, 1), vec![message()])]);
    assert!(Report::from_bytes(empty).unwrap_err().to_string().contains("the result is empty"));
}

/// A small file cannot use much memory: a launch of two bytes takes a hundred times as much once it is indexed.
#[test]
fn more_launches_than_the_size_of_a_report_allows_are_refused() {
    let launches = |count: usize| file(7, &[(message().int(2, count as u64), vec![message().int(1, 1); count])]);
    assert_eq!(Report::from_bytes(launches(1024)).unwrap().launches().len(), 1024);
    let packed = compress(&launches(1_000_000)).unwrap();
    assert!(packed.len() < 4096, "{}", packed.len());
    let error = Report::from_bytes(packed).unwrap_err();
    assert!(matches!(error, ReportError::TooManyEntries { limit: 30_000, bytes: 6_000_023 }), "{error}");
    let sources = file(7, &[(message().int(1, 2000), vec![message().int(1, 1); 2000])]);
    assert!(matches!(Report::from_bytes(sources), Err(ReportError::TooManyEntries { limit: 1024, .. })));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.ncu-rep");
    std::fs::write(&path, launches(2000)).unwrap();
    assert!(Report::open(&path).is_err());
    let limits = Limits { entry_bytes: 1, ..Limits::default() };
    assert_eq!(Report::open_within(&path, limits).unwrap().launches().len(), 2000);
}

#[test]
fn a_metric_without_a_name_is_an_error_and_not_missing() {
    let launch = message().text(6, "f").inside(13, metric(5, Some(message().int(5, 1))));
    let report = Report::from_bytes(file(7, &[(message().int(2, 1), vec![launch])])).unwrap();
    let error = report.launch(0).unwrap().metrics().next().unwrap().unwrap_err().to_string();
    assert!(error.contains("metric name 5 is not in the string tables"), "{error}");
}

#[test]
fn names_that_are_repeated_in_a_later_table_are_one_name() {
    let table = message().text(1, "a").text(1, "b").text(1, "a");
    let value = |number| Some(message().int(5, number));
    let launch = message().text(6, "f").inside(13, metric(2, value(1))).inside(13, metric(1, value(2)));
    let report = Report::from_bytes(file(7, &[(message().int(2, 1).inside(4, table), vec![launch])])).unwrap();
    assert_eq!(report.launch(0).unwrap().metric("a").unwrap(), Some(MetricValue::U64(1)));
    assert_eq!(report.metric_names().collect::<Vec<_>>(), ["a", "b"]);
}

/// Every text that can name a folder, in one launch and its session.
#[test]
fn a_redacted_report_names_no_home_folder() {
    let folder = "/home/jane/Documents/NVIDIA Nsight Compute/Sections";
    let said = |kind: &str| format!("{kind}: {folder}/Rule.py:45");
    let item = message()
        .inside(1, message().text(1, &said("message")).int(2, 4).text(4, &said("title")))
        .inside(8, message().text(2, "a__x.sum").double(3, 1.5).int(4, 2).text(5, &said("hint")))
        .inside(12, message().inside(2, message().text(1, &said("column")).text(4, &said("cell"))));
    let rule = message()
        .text(1, "Rule")
        .inside(3, message().inside(1, item))
        .inside(5, message().text(6, &format!("{folder}/Rule.py")));
    let thread = message().int(1, 1).inside(2, message().int(1, 0).inside(3, message().text(1, &said("range"))));
    let kernel = message()
        .int(1, 1)
        .text(6, "f")
        .inside(13, metric(0, Some(message().double(3, 0.1))))
        .inside(19, rule)
        .inside(21, message().inside(1, message().int(1, 0).text(2, &said("domain"))).inside(2, thread))
        .text(26, &said("context"))
        .text(27, &said("stream"));
    let session = message()
        .text(7, &said("comment"))
        .inside(
            9,
            message()
                .text(1, "/home/jane/app")
                .text(2, "/home/jane")
                .text(3, "-I/home/jane/inc")
                .text(4, "A=/home/jane"),
        )
        .text(11, "ncu -I/home/jane/inc --opt=/home/jane/x file:///home/jane/a ./app");
    let process = message().int(1, 1).text(2, "jane-pc").text(3, "/home/jane/app");
    let header = message().int(2, 1).inside(3, session).inside(4, message().text(1, "a__x.sum")).inside(6, process);
    let plain = file(7, &[(header, vec![kernel])]);
    let redacted = redact(&plain).unwrap();
    let text = String::from_utf8_lossy(&redacted);
    assert!(!text.contains("jane") && !text.contains("NVIDIA Nsight") && !text.contains("Sections"), "{text}");
    let report = Report::from_bytes(redacted.clone()).unwrap();
    let launch = report.launch(0).unwrap();
    assert_eq!(launch.metric("a__x.sum").unwrap(), Some(MetricValue::Double(0.1)));
    let rules = launch.rule_results().unwrap();
    assert_eq!(rules[0].items[0].message.as_ref().unwrap().text, "message: Rule.py:45");
    assert_eq!(launch.nvtx().unwrap()[0].name, "range: Rule.py:45");
    assert_eq!(report.session().unwrap().command_line, "ncu -Iinc --opt=x file:a ./app");
    assert_eq!(redact(&redacted).unwrap(), redacted, "a second time changes nothing");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn changes_insertions_and_cuts_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..6)
    ) {
        let mut bytes = file(7, &blocks());
        for (at, value, edit) in edits {
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = value,
                1 => bytes.insert(at, value),
                _ => { bytes.remove(at); }
            }
        }
        read(&bytes);
    }

    #[test]
    fn any_text_is_csv_or_an_error(text in "(\"ID\",\"Kernel Name\",\"a__x\",\"Metric Name\"\n)?[\",=0-9a-zA-Z()\n. -]{0,200}") {
        if let Ok(report) = Report::from_bytes(text.into_bytes()) {
            assert!(report.launches().flat_map(|launch| launch.metrics()).all(|metric| metric.is_ok()));
        }
    }
}
