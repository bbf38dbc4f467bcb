//! What is declared, read, described in the schema and documented is the same.

use super::read;
use crate::config::reader::asked;
use crate::config::reference::tables;
use crate::config::{metric_table, reference, schema};
use ncugate_model::fixtures::at_root;
use serde_json::Value;
use std::collections::BTreeSet;

const EVERY_KEY: &str = include_str!("every_key.toml");

/// A phase of launches of ncu reports: keys that none of the others can have.
const CAPTURED: &str = "[phase]\nname = \"p\"\n[[variant]]\nname = \"v\"\n\
    match = { kernel = \"k*\", nvtx = \"r\", launch = [1, 2], report = \"*.ncu-rep\" }\n[[gate]]\nrequire = \"registers <= 64\"\n";

/// Reads phases that have every key, and gives what was asked for.
fn read_keys() -> BTreeSet<(&'static str, &'static str)> {
    let others = [
        "{ builtin = \"copy\" }",
        "{ npy = \"a.npy\" }",
        "{ python = \"ref.py:f\", timeout_s = 3 }",
        "{ command = [\"./ref\"] }",
    ]
    .map(|reference| {
        EVERY_KEY.replace(
            "{ entry = \"reference\", source = \"reference.cu\", grid = [\"N\"], block = [32], args = [\"a\", \"y\"] }",
            reference,
        )
    });
    let minimise = EVERY_KEY.replace("maximise = \"tflops\"", "minimise = \"latency_p50\"");
    for text in [EVERY_KEY.to_owned(), minimise].iter().chain(&others) {
        // The built-in takes fewer inputs than the file has, which is an error after everything was read.
        let _phase_or_that_error = read(text);
    }
    let _launches = read(CAPTURED);
    asked::all()
}

#[test]
fn a_phase_with_every_key_is_right() {
    let phase = read(EVERY_KEY).unwrap_or_else(|e| panic!("{e}"));
    let plan = crate::plan::unroll(&phase).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        plan.variants.iter().map(|v| v.id.0.as_str()).collect::<Vec<_>>(),
        ["THREADS=64", "own", "assembled", "machine_code", "triton", "library", "eager"]
    );
}

#[test]
fn every_declared_key_is_read() {
    let declared: BTreeSet<_> =
        tables().iter().flat_map(|spec| spec.keys.iter().map(|key| (spec.title, key.name))).collect();
    assert_eq!(read_keys(), declared);
}

#[test]
fn the_schema_has_the_keys_that_are_read() {
    fn collect(schema: &Value, keys: &mut BTreeSet<String>) {
        match schema {
            Value::Object(entries) => {
                if let Some(Value::Object(properties)) = entries.get("properties") {
                    keys.extend(properties.keys().cloned());
                }
                entries.values().for_each(|value| collect(value, keys));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, keys)),
            _ => {}
        }
    }
    let mut in_schema = BTreeSet::new();
    collect(&schema(), &mut in_schema);
    let read: BTreeSet<String> = read_keys().into_iter().map(|(_, key)| key.to_owned()).collect();
    assert_eq!(in_schema, read);
}

/// Checks a TOML value against the parts of JSON Schema that [`schema`] uses.
fn conforms(value: &toml::Value, schema: &Value) -> Result<(), String> {
    // What a schema does not describe may be anything.
    if schema.is_null() {
        return Ok(());
    }
    if let Some(Value::Array(options)) = schema.get("anyOf") {
        let fits = options.iter().any(|option| conforms(value, option).is_ok());
        return if fits { Ok(()) } else { Err(format!("{value:?} fits none of {options:?}")) };
    }
    if let Some(Value::Array(words)) = schema.get("enum") {
        let fits = words.iter().any(|word| word.as_str() == value.as_str());
        return if fits { Ok(()) } else { Err(format!("{value:?} is none of {words:?}")) };
    }
    let found = match value {
        toml::Value::String(_) | toml::Value::Datetime(_) => "string",
        toml::Value::Integer(_) => "integer",
        toml::Value::Float(_) => "number",
        toml::Value::Boolean(_) => "boolean",
        toml::Value::Array(_) => "array",
        toml::Value::Table(_) => "object",
    };
    let fits = |kind: &Value| kind == found || (found == "integer" && kind == "number");
    if !match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(fits),
        kind => fits(kind),
    } {
        return Err(format!("{value:?} is not {}", schema["type"]));
    }
    match value {
        toml::Value::Array(items) => items.iter().try_for_each(|item| conforms(item, &schema["items"])),
        toml::Value::Table(entries) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            if let Some(missing) = required.into_iter().find(|key| !entries.contains_key(*key)) {
                return Err(format!("{missing} is missing in {entries:?}"));
            }
            entries.iter().try_for_each(|(key, value)| {
                let of_key = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
                if *of_key == Value::Bool(false) { Err(format!("unknown key {key}")) } else { conforms(value, of_key) }
            })
        }
        _ => Ok(()),
    }
}

#[test]
fn phases_conform_to_the_schema() {
    at_root();
    let schema = schema();
    let shipped =
        std::fs::read_dir("configs").unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    for text in shipped.chain([EVERY_KEY.to_owned()]) {
        let document = toml::Value::Table(text.parse().unwrap());
        assert_eq!(conforms(&document, &schema), Ok(()));
    }
    let typo = toml::Value::Table(EVERY_KEY.replace("warmup", "warmpu").parse().unwrap());
    assert!(conforms(&typo, &schema).is_err());
    let lacking = toml::Value::Table(EVERY_KEY.replace("name = \"every_key\"\n", "").parse().unwrap());
    assert!(conforms(&lacking, &schema).is_err());
}

#[test]
fn documented_defaults_of_numbers_are_the_real_ones() {
    let phase = read(super::SMALL).unwrap();
    let default = |table: &str, key: &str| {
        let spec = tables().into_iter().find(|spec| spec.title == table).unwrap();
        spec.key(key).unwrap().default.unwrap().parse::<u128>().unwrap()
    };
    assert_eq!(default("[bench]", "warmup"), u128::from(phase.bench.warmup));
    assert_eq!(default("[bench]", "rounds"), u128::from(phase.bench.rounds));
    assert_eq!(default("[bench]", "max_rounds"), u128::from(phase.bench.max_rounds));
    assert_eq!(default("[bench]", "processes"), u128::from(phase.bench.processes));
    assert_eq!(default("[bench]", "min_sample_us"), phase.bench.min_sample.as_micros());
    assert_eq!(default("[bench]", "max_launches"), u128::from(phase.bench.max_launches));
    assert_eq!(default("[bench]", "buffer_sets"), u128::from(phase.bench.buffer_sets));
    assert_eq!(default("[bench]", "timeout_s"), u128::from(phase.bench.timeout.as_secs()));
    assert_eq!(default("[profile]", "timeout_s"), u128::from(phase.profile.timeout.as_secs()));
    assert_eq!(default("[profile]", "repeat"), u128::from(phase.profile.repeat));
}

/// Holds the part of `docs/config.md` between two marks to what is made from the code.
///
/// `NCUGATE_WRITE_DOCS=1 cargo test --lib config::tests::declared` writes it anew.
fn current_section(name: &str, made: &str) {
    let (begin, end) =
        (format!("<!-- {name}: begin; a test writes and checks this part -->\n"), format!("<!-- {name}: end -->"));
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md")).unwrap();
    let (before, rest) = page.split_once(&begin).expect("the page has the begin mark");
    let (written, after) = rest.split_once(&end).expect("the page has the end mark");
    let made = format!("\n{made}\n");
    if std::env::var_os("NCUGATE_WRITE_DOCS").is_some() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md"),
            format!("{before}{begin}{made}{end}{after}"),
        )
        .unwrap();
    } else {
        assert_eq!(written, made, "docs/config.md is not current");
    }
}

#[test]
fn the_documented_keys_and_metrics_are_current() {
    current_section("keys", &reference());
    current_section("metrics", &metric_table());
}

#[test]
fn a_gate_may_be_its_text_alone_for_the_reader_and_the_schema() {
    let phase = format!("gate = [\"latency_p50 <= 10 us\"]\n{}", include_str!("../../../../../tests/data/copy.toml"));
    let phase = format!("{phase}[[variant]]\nname = \"a\"\nparams = {{ THREADS = 64 }}\n");
    let read = crate::config::parse(std::path::Path::new("phase.toml"), &phase).unwrap();
    assert_eq!((read.gates.len(), read.gates[0].name.as_str()), (1, "latency_p50 <= 10 us"));
    conforms(&toml::from_str(&phase).unwrap(), &schema()).unwrap();
}
