//! The table of `ncugate export` on a recording, through the real binary; the written file is read back.

use crate::command::Place;
use polars::prelude::{DataFrame, DataType};
use polars_io::ipc::IpcReader;
use polars_io::prelude::{ParquetReader, SerReader};
use std::fs::File;

const RUN: &str = "profiles/phase_d/h200";

/// The table in one format, written to a file.
fn file(format: &str) -> (Place, std::path::PathBuf) {
    let place = Place::new();
    place.copy(RUN);
    let run = place.run(&["export", RUN, "--to", format, "-o", "table.out"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    let path = place.path().join("table.out");
    (place, path)
}

fn parquet() -> DataFrame {
    let (_place, path) = file("parquet");
    ParquetReader::new(File::open(path).unwrap()).finish().unwrap()
}

#[test]
fn parquet_has_typed_parameters_metrics_and_reasons() {
    let table = parquet();
    let names: Vec<&str> = table.columns().iter().map(|column| column.name().as_str()).collect();
    let first = ["variant", "shape", "REGCAP", "THREADS", "TILE_M", "K_TILE", "backend", "standing", "correct"];
    assert_eq!(names[..first.len()], first);
    let dtype = |name: &str| table.column(name).unwrap().dtype().clone();
    assert_eq!((dtype("REGCAP"), dtype("correct")), (DataType::Int64, DataType::Boolean));
    assert_eq!((dtype("eligible_warps"), dtype("eligible_warps.reason")), (DataType::Float64, DataType::String));
    assert!(names.contains(&"max_abs") && !names.contains(&"max_abs.reason"), "{names:?}");

    let standing = table.column("standing").unwrap().str().unwrap().clone();
    let candidates = standing.iter().filter(|standing| *standing == Some("candidate")).count();
    assert_eq!(candidates % 90, 0);
    assert!(candidates > 0 && candidates < table.height());
    // Every metric of every row has either a value or a reason.
    for name in names.iter().filter(|name| dtype(name) == DataType::Float64) {
        let values = table.column(name).unwrap();
        let absent = values.null_count();
        let reasons = table.column(&format!("{name}.reason"));
        assert_eq!(reasons.is_ok(), absent > 0, "{name}");
        if let Ok(reasons) = reasons {
            let there: Vec<Option<bool>> = values.is_not_null().iter().collect();
            assert_eq!(reasons.is_null().iter().collect::<Vec<_>>(), there, "{name}");
        }
    }
    // Baselines have no sweep parameters.
    let parameters = table.column("REGCAP").unwrap();
    assert_eq!(parameters.null_count(), table.height() - candidates);
}

#[test]
fn csv_goes_to_standard_output_and_has_the_rows_of_the_other_formats() {
    let place = Place::new();
    place.copy(RUN);
    let run = place.run(&["export", RUN]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let mut csv = csv::Reader::from_reader(run.stdout.as_bytes());
    let header: Vec<String> = csv.headers().unwrap().iter().map(str::to_owned).collect();
    let table = parquet();
    assert_eq!(header, table.columns().iter().map(|column| column.name().to_string()).collect::<Vec<_>>());
    let at = header.iter().position(|name| name == "latency_p50").unwrap();
    let expected = table.column("latency_p50").unwrap().f64().unwrap().clone();
    let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), table.height());
    for (row, expected) in rows.iter().zip(expected.iter()) {
        assert_eq!(row[at].parse::<f64>().ok().map(f64::to_bits), expected.map(f64::to_bits));
    }
}

#[test]
fn arrow_is_an_ipc_file() {
    let (_place, path) = file("arrow");
    let table = IpcReader::new(File::open(path).unwrap()).finish().unwrap();
    assert!(table.equals_missing(&parquet()));
}

#[test]
fn a_folder_that_is_not_a_run_is_an_error() {
    let place = Place::new();
    let run = place.run(&["export", "nowhere"]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("nowhere"), "{}", run.stderr);
    place.write("empty/file.txt", "");
    let run = place.run(&["export", "empty"]);
    assert!(run.status == Some(3) && run.stderr.contains("empty is not a run"), "{run:?}");
}

#[test]
fn launches_of_a_report_as_arrow_have_the_rows_of_its_csv() {
    let place = Place::new();
    place.copy("tests/data/g12.ncu-rep.zst");
    let export = |format: &str| {
        let path = place.path().join(format);
        let args = ["export", "tests/data/g12.ncu-rep.zst", "--to", format, "-o", path.to_str().unwrap()];
        let run = place.run(&args);
        assert_eq!(run.status, Some(0), "{run:?}");
        path
    };
    let table = IpcReader::new(File::open(export("arrow")).unwrap()).finish().unwrap();
    let lines = std::fs::read_to_string(export("csv")).unwrap().lines().count();
    assert!(lines > 100, "{lines} lines");
    assert_eq!(table.height(), lines - 1);
    assert_eq!(table.column("metric").unwrap().dtype(), &DataType::String);
}
