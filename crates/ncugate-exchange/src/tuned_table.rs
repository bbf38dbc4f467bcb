//! Tables of autotuners: Triton's cache of one key (`NAME.autotune.json`), vLLM's table of a fused MoE
//! (`E=8,N=7168,device_name=....json`) and the configuration file of FlashInfer's autotuner. Each bucket of a table has a
//! pick, which a phase measures against its baseline and against rival configurations.

use super::ImportError;
use ncugate_model::expr::Value as Param;
use serde_json::{Map, Value};
use std::path::Path;

/// Largest table in bytes.
const LARGEST: u64 = 64 << 20;

/// The key of FlashInfer's table that does not name a bucket.
const METADATA: &str = "_metadata";

/// Options of Triton's compiler at the values that leave them to the compiler.
const TRITON_DEFAULTS: [(&str, Param); 1] = [("num_ctas", Param::Int(1))];

pub type Configuration = Vec<(String, Param)>;

/// The program that wrote a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TuningFormat {
    Triton,
    Vllm,
    FlashInfer,
}

/// A configuration that a pick is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct RivalConfiguration {
    /// The name of its variant.
    pub name: String,
    pub configuration: Configuration,
    /// As the table has it.
    entry: Value,
}

/// A bucket of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedBucket {
    /// Its key in the table.
    pub key: String,
    /// The numbers of its key in their order; `None` for other parts.
    pub extents: Vec<Option<i64>>,
    pub pick: Configuration,
    /// The runner-up if the table has timings, else the picks of the buckets before and after.
    pub rivals: Vec<RivalConfiguration>,
}

/// A table of an autotuner.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedTable {
    pub format: TuningFormat,
    /// The GPU that it names, if any.
    pub gpu: Option<String>,
    pub buckets: Vec<TunedBucket>,
    content: Map<String, Value>,
}

impl TunedTable {
    /// Reads a table; its content tells its format.
    ///
    /// # Errors
    /// The file cannot be read, has none of the formats, or a configuration has a value that a parameter cannot have.
    pub fn read(path: &Path) -> Result<Self, ImportError> {
        let bytes = ncugate_model::disk::open::named(path, LARGEST)
            .map_err(|source| ImportError::Read { path: path.to_owned(), source })?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let text = String::from_utf8(bytes).map_err(|error| ImportError::format(path, error.to_string()))?;
        Self::parse(&name, &text).map_err(|what| ImportError::format(path, what))
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let content: Map<String, Value> =
            serde_json::from_str(&finite(text)).map_err(|error| format!("not JSON: {error}"))?;
        let is_number = |key: &String| key.parse::<i64>().is_ok();
        let is_tactic = |value: &Value| value.as_array().is_some_and(|pair| pair.len() == 2 && pair[0].is_string());
        let (format, gpu, mut buckets) = if content.contains_key("configs_timings") {
            (TuningFormat::Triton, None, vec![triton(&content)?])
        } else if content.iter().any(|(key, value)| is_number(key) && value.is_object()) {
            let gpu = name.split_once("device_name=").map(|(_, rest)| rest.trim_end_matches(".json"));
            let gpu = gpu.and_then(|rest| rest.split(',').next()).map(str::to_owned);
            (TuningFormat::Vllm, gpu, vllm(&content)?)
        } else if content.iter().any(|(key, value)| key.starts_with('(') && is_tactic(value)) {
            let gpu = content.get(METADATA).and_then(|about| about.get("gpu")).and_then(Value::as_str);
            (TuningFormat::FlashInfer, gpu.filter(|gpu| *gpu != "*").map(str::to_owned), flashinfer(&content)?)
        } else {
            let what = "no table of Triton (`configs_timings`), vLLM (`\"64\": {...}`) or FlashInfer (`\"(...)\": [runner, tactic]`)";
            return Err(what.to_owned());
        };
        for bucket in &mut buckets {
            let pick = bucket.pick.clone();
            bucket.rivals.retain(|rival| rival.configuration != pick);
            bucket.rivals.dedup_by(|a, b| a.configuration == b.configuration);
        }
        Ok(Self { format, gpu, buckets, content })
    }

    /// Whether the table is for a GPU of this name, as the driver spells it.
    pub fn is_for(&self, gpu: &str) -> bool {
        let plain = |name: &str| name.replace(' ', "_");
        self.gpu.as_ref().is_none_or(|named| {
            plain(gpu).strip_prefix(&plain(named)).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
    }

    /// The table with `pinned` in place of picks: pairs of a bucket's index and the index of its rival. A table of Triton
    /// keeps one configuration, which Triton then uses without tuning.
    ///
    /// # Errors
    /// It cannot be serialised.
    pub fn pinned(&self, pinned: &[(usize, usize)]) -> Result<String, serde_json::Error> {
        let mut content = self.content.clone();
        let rival = |(bucket, rival): &(usize, usize)| {
            let bucket = self.buckets.get(*bucket)?;
            Some((bucket.key.clone(), bucket.rivals.get(*rival)?.entry.clone()))
        };
        let changed: Vec<(String, Value)> = pinned.iter().filter_map(rival).collect();
        match self.format {
            TuningFormat::Triton => {
                let rows = content.get("configs_timings").and_then(Value::as_array).cloned().unwrap_or_default();
                let kept =
                    changed.into_iter().next().map(|(_, entry)| entry).or_else(|| fastest(&rows).into_iter().next());
                content.insert("configs_timings".to_owned(), Value::Array(kept.into_iter().collect()));
            }
            TuningFormat::Vllm | TuningFormat::FlashInfer => content.extend(changed),
        }
        serde_json::to_string_pretty(&content)
    }
}

/// The text with `Infinity` and `NaN`, which Python writes and JSON does not have, as strings: no time, and no value of a
/// parameter that is a number.
fn finite(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut is_string) = (text, false);
    while let Some(c) = rest.chars().next() {
        let word = ["-Infinity", "Infinity", "NaN"].into_iter().find(|word| !is_string && rest.starts_with(word));
        if let Some(word) = word {
            out.extend(["\"", word, "\""]);
            rest = &rest[word.len()..];
            continue;
        }
        let escaped = if is_string && c == '\\' { rest.chars().nth(1) } else { None };
        is_string ^= c == '"';
        let taken = c.len_utf8() + escaped.map_or(0, char::len_utf8);
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

/// Rows of `configs_timings` that were timed, the fastest first, as Triton compares them.
fn fastest(rows: &[Value]) -> Vec<Value> {
    let time = |row: &Value| match row.get(1)? {
        Value::Array(quantiles) => quantiles.first()?.as_f64(),
        time => time.as_f64(),
    };
    let mut timed: Vec<(f64, &Value)> = rows.iter().filter_map(|row| Some((time(row)?, row))).collect();
    timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    timed.into_iter().map(|(_, row)| row.clone()).collect()
}

fn triton(content: &Map<String, Value>) -> Result<TunedBucket, String> {
    let rows = content.get("configs_timings").and_then(Value::as_array).ok_or("`configs_timings` is not a list")?;
    let timed = fastest(rows);
    let configuration = |row: &Value| {
        let config =
            row.get(0).and_then(Value::as_object).ok_or("a configuration of `configs_timings` is not a table")?;
        let mut all = Map::new();
        for (name, value) in config {
            match value {
                Value::Object(kwargs) if name == "kwargs" => all.extend(kwargs.clone()),
                value => drop(all.insert(name.clone(), value.clone())),
            }
        }
        let mut all = parameters(&all)?;
        all.retain(|(name, value)| !TRITON_DEFAULTS.contains(&(name.as_str(), value.clone())));
        Ok::<_, String>(all)
    };
    let [first, others @ ..] = timed.as_slice() else { return Err("no configuration of it was timed".to_owned()) };
    let key = content.get("key").and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |part: &Value| part.as_str().map_or_else(|| part.to_string(), str::to_owned);
    let key: Vec<String> = key.iter().map(text).collect();
    let rival = |entry: &Value| {
        let (name, configuration) = ("runner_up".to_owned(), configuration(entry)?);
        Ok::<_, String>(RivalConfiguration { name, configuration, entry: entry.clone() })
    };
    Ok(TunedBucket {
        extents: key.iter().map(|part| part.parse().ok()).collect(),
        key: key.join(", "),
        pick: configuration(first)?,
        rivals: others.first().map(rival).transpose()?.into_iter().collect(),
    })
}

fn vllm(content: &Map<String, Value>) -> Result<Vec<TunedBucket>, String> {
    let mut found = Vec::new();
    for (key, entry) in content {
        let extent = match key.parse::<i64>() {
            Ok(extent) => extent,
            // A version.
            Err(_) if entry.is_string() => continue,
            Err(_) => return Err(format!("`{key}` is not a number of rows")),
        };
        let config = entry.as_object().ok_or_else(|| format!("`{key}` is not a table"))?;
        found.push((key.clone(), vec![Some(extent)], parameters(config)?, entry.clone()));
    }
    found.sort_by(|a, b| a.1.cmp(&b.1));
    Ok(with_neighbours(&found.iter().collect::<Vec<_>>()))
}

fn flashinfer(content: &Map<String, Value>) -> Result<Vec<TunedBucket>, String> {
    let mut operations: Vec<(String, Vec<Entry>)> = Vec::new();
    for (key, entry) in content.iter().filter(|(key, _)| *key != METADATA) {
        if !key.starts_with('(') {
            return Err(format!("`{key}` is not `(operation, runner, shapes)`"));
        }
        let (Some(runner), Some(tactic)) = (entry.get(0).and_then(Value::as_str), entry.get(1)) else {
            return Err(format!("`{key}` is not [runner, tactic]"));
        };
        // A nested tactic is one parameter, as the file has it.
        let tactic = match tactic.as_i64() {
            Some(number) => Param::Int(number),
            None => Param::Text(tactic.to_string()),
        };
        let pick = vec![("RUNNER".to_owned(), Param::Text(runner.to_owned())), ("TACTIC".to_owned(), tactic)];
        // `('op', 'Runner', ((1, 7168), (1, 256)))`; a runner has its own tactics.
        let operation = key.split('\'').skip(1).step_by(2).take(2).collect::<Vec<_>>().join(" ");
        let plain: String = key.split('\'').step_by(2).collect();
        let numbers = plain.split(|c: char| !c.is_ascii_digit() && c != '-').map(|number| number.parse::<i64>().ok());
        let extents = numbers.filter(Option::is_some).collect();
        let entry = (key.clone(), extents, pick, entry.clone());
        match operations.iter_mut().find(|(name, _)| *name == operation) {
            Some((_, entries)) => entries.push(entry),
            None => operations.push((operation, vec![entry])),
        }
    }
    let mut found = Vec::new();
    for (_, mut entries) in operations {
        entries.sort_by(|a, b| a.1.cmp(&b.1));
        found.extend(with_neighbours(&entries.iter().collect::<Vec<_>>()));
    }
    Ok(found)
}

/// Key, extents, pick, and the pick as the table has it.
type Entry = (String, Vec<Option<i64>>, Configuration, Value);

/// Buckets whose rivals are the picks of the buckets before and after.
fn with_neighbours(entries: &[&Entry]) -> Vec<TunedBucket> {
    let neighbour = |at: Option<usize>, name: &str| {
        let (_, _, configuration, entry) = entries.get(at?)?;
        Some(RivalConfiguration { name: name.to_owned(), configuration: configuration.clone(), entry: entry.clone() })
    };
    let bucket = |(at, (key, extents, pick, _)): (usize, &&Entry)| TunedBucket {
        key: key.clone(),
        extents: extents.clone(),
        pick: pick.clone(),
        rivals: [neighbour(at.checked_sub(1), "of_bucket_before"), neighbour(Some(at + 1), "of_bucket_after")]
            .into_iter()
            .flatten()
            .collect(),
    };
    entries.iter().enumerate().map(bucket).collect()
}

/// Parameters of a phase; `null` is an option that is left to the compiler.
fn parameters(config: &Map<String, Value>) -> Result<Configuration, String> {
    let parameter = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::Null => return None,
            Value::Bool(truth) => Ok(Param::Bool(*truth)),
            Value::String(text) => Ok(Param::Text(text.clone())),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Ok(Param::Int(whole)),
                (None, Some(real)) => Ok(Param::Float(real)),
                (None, None) => Err(format!("`{name}` is {number}, which is out of range")),
            },
            Value::Array(_) | Value::Object(_) => {
                Err(format!("`{name}` is neither a number, a text nor a truth value"))
            }
        };
        Some(value.map(|value| (name.clone(), value)))
    };
    config.iter().filter_map(parameter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(configuration: &Configuration) -> String {
        configuration.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn a_cache_of_triton_has_its_fastest_configuration_and_a_runner_up() {
        let row = |block: u32, warps: u32, time: &str| {
            format!(
                "[{{\"kwargs\": {{\"BLOCK\": {block}}}, \"num_warps\": {warps}, \"num_ctas\": 1, \"num_stages\": 3, \
                 \"maxnreg\": null, \"pre_hook\": null, \"ir_override\": null}}, {time}]"
            )
        };
        let rows = [
            row(64, 4, "[Infinity, Infinity, Infinity]"),
            row(128, 4, "[0.2, 0.19, 0.3]"),
            row(256, 8, "[0.1, 0.1, 0.1]"),
        ];
        let file =
            format!("{{\"key\": [\"4096\", \"NaN\", \"torch.float16\"], \"configs_timings\": [{}]}}", rows.join(", "));
        let table = TunedTable::parse("softmax.autotune.json", &file).unwrap();
        let [bucket] = table.buckets.as_slice() else { panic!("{table:?}") };
        assert_eq!((table.format, bucket.key.as_str()), (TuningFormat::Triton, "4096, NaN, torch.float16"));
        assert_eq!(bucket.extents, [Some(4096), None, None]);
        assert_eq!(text(&bucket.pick), "BLOCK=256,num_warps=8,num_stages=3");
        assert_eq!(text(&bucket.rivals[0].configuration), "BLOCK=128,num_warps=4,num_stages=3");
        for (pins, block) in [(&[][..], 256), (&[(0, 0)], 128)] {
            let again = TunedTable::parse("", &table.pinned(pins).unwrap()).unwrap();
            assert_eq!(again.buckets[0].pick[0], ("BLOCK".to_owned(), Param::Int(block)));
            assert!(again.buckets[0].rivals.is_empty() && again.buckets[0].key == bucket.key);
        }
        let untimed = format!("{{\"key\": [], \"configs_timings\": [{}]}}", rows[0]);
        assert!(TunedTable::parse("", &untimed).unwrap_err().contains("timed"));
    }

    #[test]
    fn a_table_of_vllm_has_its_gpu_and_neighbours_as_rivals() {
        let file = r#"{"triton_version": "3.4.0", "64": {"BLOCK_SIZE_M": 64, "num_warps": 4},
            "1": {"BLOCK_SIZE_M": 16, "num_warps": 4}, "2": {"BLOCK_SIZE_M": 16, "num_warps": 4}}"#;
        let name = "E=8,N=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8.json";
        let table = TunedTable::parse(name, file).unwrap();
        let keys: Vec<&str> = table.buckets.iter().map(|bucket| bucket.key.as_str()).collect();
        assert_eq!((table.gpu.as_deref(), keys), (Some("NVIDIA_H200"), vec!["1", "2", "64"]));
        assert!(table.is_for("NVIDIA H200") && table.is_for("NVIDIA H200 NVL") && !table.is_for("NVIDIA H20"));
        assert!(table.buckets[0].rivals.is_empty(), "its neighbour has the same configuration");
        let rivals: Vec<&str> = table.buckets[1].rivals.iter().map(|rival| rival.name.as_str()).collect();
        assert_eq!(rivals, ["of_bucket_after"]);
        let pinned: Map<String, Value> = serde_json::from_str(&table.pinned(&[(1, 0)]).unwrap()).unwrap();
        assert_eq!(pinned["2"], pinned["64"]);
        assert_eq!(
            (&pinned["1"]["BLOCK_SIZE_M"], &pinned["triton_version"]),
            (&Value::from(16), &Value::from("3.4.0"))
        );
    }

    #[test]
    fn a_file_of_flashinfer_has_runner_and_tactic_by_operation() {
        let file = r#"{"_metadata": {"gpu": "NVIDIA B200"},
            "('fp4_gemm', 'CudnnFp4GemmRunner', ((4, 7168), (7168, 4608)))": ["CudnnFp4GemmRunner", 3],
            "('moe', 'MoERunner', ((8, 7168), (8, 256)))": ["MoERunner", [8, 34]],
            "('moe', 'MoERunner', ((1, 7168), (1, 256)))": ["MoERunner", -1]}"#;
        let table = TunedTable::parse("my_configs.json", file).unwrap();
        assert_eq!((table.format, table.gpu.as_deref()), (TuningFormat::FlashInfer, Some("NVIDIA B200")));
        let moe = table.buckets.last().unwrap();
        assert_eq!(moe.extents, [8, 7168, 8, 256].map(Some));
        assert_eq!(text(&moe.pick), "RUNNER=MoERunner,TACTIC=[8,34]");
        assert_eq!(text(&moe.rivals[0].configuration), "RUNNER=MoERunner,TACTIC=-1");
        let pinned: Map<String, Value> = serde_json::from_str(&table.pinned(&[(2, 0)]).unwrap()).unwrap();
        assert_eq!(pinned[&moe.key], serde_json::json!(["MoERunner", -1]));
    }

    #[test]
    fn other_files_are_refused() {
        for file in [
            "{}",
            "[]",
            "x",
            r#"{"a": 1}"#,
            r#"{"64": {"BLOCK": [1]}}"#,
            r#"{"64": {"BLOCK": 1}, "2": 3}"#,
            r#"{"64": {"BLOCK": 1}, "2": "3"}"#,
        ] {
            assert!(TunedTable::parse("table.json", file).is_err(), "{file}");
        }
    }

    #[test]
    fn a_row_that_is_no_bucket_is_an_error() {
        for (file, key) in [
            (r#"{"64": {"BLOCK": 1}, "128 ": {"BLOCK": 2}}"#, "128 "),
            (r#"{"64": {"BLOCK": 1}, "default": null}"#, "default"),
            (
                r#"{"('moe', 'R', ((8, 7),))": ["R", 1], " ('moe', 'R', ((9, 7),))": ["R", 2]}"#,
                " ('moe', 'R', ((9, 7),))",
            ),
        ] {
            let error = TunedTable::parse("table.json", file).unwrap_err();
            assert!(error.starts_with(&format!("`{key}` is not ")), "{error}");
        }
        let table = TunedTable::parse("table.json", r#"{"triton_version": "3.4.0", "64": {"BLOCK": NaN}}"#).unwrap();
        assert_eq!(text(&table.buckets[0].pick), "BLOCK=NaN", "not a parameter that the table leaves out");
    }
}
