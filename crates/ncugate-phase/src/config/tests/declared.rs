//! Declared, read, described and documented keys are the same.

use super::read;
use super::tables::reference;
use crate::config::keys::{KeyDefault, tables};
use crate::config::schema;
use ncugate_fixtures::at_root;
use serde_json::Value;

const EVERY_KEY: &str = include_str!("every_key.toml");

#[test]
fn a_phase_with_every_key_is_right() {
    let phase = read(EVERY_KEY).unwrap_or_else(|e| panic!("{e}"));
    let plan = crate::plan::unroll(&phase).unwrap_or_else(|e| panic!("{e}"));
    let of_second = |id: &&str| id.ends_with(",toolchain=triton34");
    assert_eq!(plan.candidates().filter(|v| of_second(&v.id.0.as_str())).count(), 5, "all but the cubin");
    assert_eq!(
        plan.variants.iter().map(|v| v.id.0.as_str()).filter(|id| !of_second(id)).collect::<Vec<_>>(),
        ["THREADS=64,FAST=on", "own", "assembled", "machine_code", "triton", "launcher", "library", "eager"]
    );
}

/// Checks a TOML value against the parts of JSON Schema that [`schema`] uses.
fn conforms(value: &toml::Value, schema: &Value) -> Result<(), String> {
    // A part without a schema can be anything.
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
fn a_default_is_a_value_that_its_key_may_have() {
    for (spec, key) in tables().into_iter().flat_map(|spec| spec.keys.iter().map(move |key| (spec, key))) {
        let Some(KeyDefault::Value(text)) = key.default else { continue };
        let value: toml::Table = format!("value = {text}").parse().unwrap_or_else(|e| panic!("{}: {e}", key.name));
        let of_key = &crate::config::schema::table(spec)["properties"][key.name];
        assert_eq!(conforms(&value["value"], of_key), Ok(()), "{} of {}", key.name, spec.title);
    }
}

/// The part of `docs/config.md` between two marks lists every key.
///
/// `NCUGATE_WRITE_DOCS=1 cargo test -p ncugate-phase config::tests::declared` writes it.
#[test]
fn the_documented_keys_are_current() {
    let (begin, end) = ("<!-- keys: begin; a test writes and checks this part -->\n", "<!-- keys: end -->");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/config.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(begin).expect("the page has the begin mark");
    let (written, after) = rest.split_once(end).expect("the page has the end mark");
    let made = format!("\n{}\n", reference());
    if std::env::var_os("NCUGATE_WRITE_DOCS").is_some() {
        std::fs::write(path, format!("{before}{begin}{made}{end}{after}")).unwrap();
    } else {
        assert_eq!(written, made, "docs/config.md is not current");
    }
}

#[test]
fn a_gate_may_be_its_text_alone_for_the_reader_and_the_schema() {
    let phase = format!("gate = [\"latency_p50 <= 10 us\"]\n{}", include_str!("../../../../../tests/data/copy.toml"));
    let phase = format!("{phase}[[variant]]\nname = \"a\"\nparams = {{ THREADS = 64 }}\n");
    let read = crate::config::parse(std::path::Path::new("phase.toml"), &phase).unwrap();
    assert_eq!((read.gates.len(), read.gates[0].name.as_str()), (1, "latency_p50 <= 10 us"));
    conforms(&toml::from_str(&phase).unwrap(), &schema()).unwrap();
}
