//! The phase that measures a bucket of a tuned table: its pick against the phase's baseline, which is the default, and
//! against rival configurations.

use super::tuned_table::{Configuration, TunedBucket};
use ncugate_model::expr::Value as Param;
use ncugate_phase::config::{self, Phase};
use toml::{Table, Value};

/// The variant with the configuration of the table.
const PICK: &str = "pick";
/// The shape of the bucket.
const SHAPE: &str = "bucket";

/// The phase of a bucket, and the name of its default. Its first gate is the requirement; the others have the speedups of
/// the pick over the default and over each rival, in this order.
#[derive(Debug)]
pub struct TuningPhase {
    pub phase: Phase,
    pub default: String,
}

impl TuningPhase {
    /// The phase at a bucket whose numbers are the extents of `dimensions` (`_` skips one). The first variant of the phase
    /// says how a configuration runs, else `[kernel]`; its shape gives all other extents.
    ///
    /// # Errors
    /// The phase has no baseline, a dimension has no number in the key, a number of the key has no dimension, or the
    /// result does not parse.
    pub fn new(phase: &Phase, bucket: &TunedBucket, dimensions: &[String], require: &str) -> Result<Self, String> {
        let mut file: Table = phase.text.parse().map_err(|error| format!("cannot read the phase: {error}"))?;
        let baselines = file.get("baseline").and_then(Value::as_array).cloned().unwrap_or_default();
        let default = baselines.into_iter().next().ok_or("the phase has no [[baseline]], which is the default")?;
        let name = default.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let template = file.get("variant").and_then(Value::as_array).and_then(|variants| variants.first()).cloned();
        for key in ["gate", "tier", "stage", "fallback", "precondition", "waiver", "sweep", "search"] {
            file.remove(key);
        }
        let variant = |name: &str, configuration: &Configuration| {
            let mut table = template.as_ref().and_then(Value::as_table).cloned().unwrap_or_default();
            table.insert("name".to_owned(), name.into());
            let params = configuration.iter().map(|(name, value)| (name.clone(), toml_value(value))).collect();
            table.insert("params".to_owned(), Value::Table(params));
            Value::Table(table)
        };
        let rivals = bucket.rivals.iter().map(|rival| variant(&rival.name, &rival.configuration));
        let baselines = std::iter::once(default).chain(rivals).collect();
        file.insert("variant".to_owned(), Value::Array(vec![variant(PICK, &bucket.pick)]));
        file.insert("baseline".to_owned(), Value::Array(baselines));
        let gate = |name: &str, require: String, level: &str| {
            let pairs = [("name", name.into()), ("require", require.into()), ("level", level.into())];
            Value::Table(pairs.into_iter().map(|(key, value): (_, Value)| (key.to_owned(), value)).collect())
        };
        let ratio = |name: &str| gate(name, format!("speedup(\"{name}\") >= 1"), "advisory");
        let mut gates = vec![gate("pick", require.to_owned(), "required"), ratio(&name)];
        gates.extend(bucket.rivals.iter().map(|rival| ratio(&rival.name)));
        file.insert("gate".to_owned(), Value::Array(gates));
        let shape = Table::from_iter([(SHAPE.to_owned(), Value::Table(extents(phase, bucket, dimensions)?))]);
        let mut set = |table: &str, key: &str, value: Value| {
            let table = file.entry(table).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(table) = table {
                table.insert(key.to_owned(), value);
            }
        };
        set("workload", "shapes", Value::Table(shape));
        set("bench", "shapes", Value::Array(vec![SHAPE.into()]));
        set("profile", "shapes", Value::Array(vec![SHAPE.into()]));
        set("profile", "deep_profile", "none".into());
        set("phase", "name", format!("{}.tuning", phase.name).into());
        if let Some(Value::Table(head)) = file.get_mut("phase") {
            head.remove("recording");
            head.remove("objective_shape");
        }
        let text = toml::to_string(&file).map_err(|error| format!("cannot write the phase: {error}"))?;
        let phase = config::parse_again(phase, &text)
            .map_err(|errors| errors.problems().first().map_or_else(String::new, |problem| problem.message.clone()))?;
        Ok(Self { phase, default: name })
    }
}

/// The extents of the first shape, with those of the bucket's key.
fn extents(phase: &Phase, bucket: &TunedBucket, dimensions: &[String]) -> Result<Table, String> {
    let first = phase.workload.shapes.first().ok_or("the phase has no shape")?;
    let mut extents: Table = first.dims.iter().map(|(name, extent)| (name.clone(), Value::Integer(*extent))).collect();
    for (at, name) in dimensions.iter().enumerate().filter(|(_, name)| *name != "_") {
        let extent = bucket.extents.get(at).copied().flatten();
        let extent =
            extent.ok_or_else(|| format!("the key ({}) has no number for `{name}` at place {}", bucket.key, at + 1))?;
        match extents.get_mut(name) {
            Some(known) => *known = Value::Integer(extent),
            None => return Err(format!("the shapes of the phase have no dimension `{name}`")),
        }
    }
    // Its bucket would be measured at another extent.
    let unnamed =
        bucket.extents.iter().enumerate().skip(dimensions.len()).find_map(|(at, extent)| Some((at, (*extent)?)));
    if let Some((at, extent)) = unnamed {
        let place = at + 1;
        return Err(format!(
            "--key names no dimension for {extent} at place {place} of the key ({}); `_` skips it",
            bucket.key
        ));
    }
    Ok(extents)
}

fn toml_value(value: &Param) -> Value {
    match value {
        Param::Bool(truth) => Value::Boolean(*truth),
        Param::Int(number) => Value::Integer(*number),
        Param::Float(number) => Value::Float(*number),
        Param::Text(text) => Value::String(text.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuned_table::TunedTable;
    use ncugate_phase::plan::unroll;
    use std::path::Path;

    const PHASE: &str = include_str!("../../../tests/data/copy.toml");

    fn phase(more: &str) -> Phase {
        config::parse(Path::new("copy.toml"), &format!("{PHASE}{more}")).unwrap()
    }

    fn bucket() -> (tempfile::TempDir, TunedTable) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("E=1,N=1,device_name=X.json");
        std::fs::write(&path, r#"{"256": {"THREADS": 32}, "512": {"THREADS": 64}}"#).unwrap();
        let table = TunedTable::read(&path).unwrap();
        (folder, table)
    }

    #[test]
    fn a_bucket_is_measured_at_its_shape_against_the_default_and_its_neighbour() {
        let phase = phase("[sweep]\nTHREADS = [32, 64]\n[[baseline]]\nname = \"usual\"\nparams = { THREADS = 128 }\n");
        let (_folder, table) = bucket();
        let dimensions = ["S".to_owned()];
        let made = TuningPhase::new(&phase, &table.buckets[0], &dimensions, "speedup() >= 0.99").unwrap();
        let plan = unroll(&made.phase).unwrap();
        let ids: Vec<&str> = plan.variants.iter().map(|variant| variant.id.0.as_str()).collect();
        assert_eq!((ids, made.default.as_str()), (vec!["pick", "usual", "of_bucket_after"], "usual"));
        assert_eq!(made.phase.workload.shapes[0].dims, [("S".to_owned(), 256)]);
        let gates: Vec<&str> = made.phase.gates.iter().map(|gate| gate.name.as_str()).collect();
        assert_eq!((gates, made.phase.name.as_str()), (vec!["pick", "usual", "of_bucket_after"], "copy.tuning"));
    }

    #[test]
    fn missing_parts_are_named() {
        let (_folder, table) = bucket();
        let baseline = "[[baseline]]\nname = \"usual\"\nparams = { THREADS = 128 }\n";
        for (more, dimensions, message) in [
            ("[sweep]\nTHREADS = [32]\n", vec!["S"], "[[baseline]]"),
            (baseline, vec!["M"], "no dimension `M`"),
            (baseline, vec!["_", "S"], "no number for `S` at place 2"),
        ] {
            let phase = phase(&format!("{more}[[variant]]\nname = \"a\"\nparams = {{ THREADS = 32 }}\n"));
            let dimensions: Vec<String> = dimensions.into_iter().map(str::to_owned).collect();
            let error = TuningPhase::new(&phase, &table.buckets[0], &dimensions, "speedup() >= 1").unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        let phase = phase(&format!("[sweep]\nTHREADS = [32]\n{baseline}"));
        let mut bucket = table.buckets[0].clone();
        bucket.extents = vec![Some(256), None, Some(4096)];
        let of = |dimensions: &[&str]| {
            let dimensions: Vec<String> = dimensions.iter().map(|name| (*name).to_owned()).collect();
            TuningPhase::new(&phase, &bucket, &dimensions, "speedup() >= 1").map(|_| ())
        };
        assert!(of(&["S"]).unwrap_err().contains("no dimension for 4096 at place 3"), "{:?}", of(&["S"]));
        assert_eq!(of(&["S", "_", "_"]), Ok(()));
    }
}
