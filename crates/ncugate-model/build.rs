//! Writes a constant for every metric of the catalogue.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

const CATALOGUE: &str = "src/metric/catalogue.toml";

/// `pub const LATENCY_P50: MetricId = MetricId::new("latency_p50");` and so on. Names are found by their lines; the
/// tests of the catalogue compare them with the parsed file.
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={CATALOGUE}");
    let catalogue = fs::read_to_string(CATALOGUE)?;
    let mut code = String::new();
    let mut all = String::new();
    let names =
        |start: &'static str| catalogue.lines().filter_map(move |line| line.strip_prefix(start)?.split('"').next());
    for name in names("name = \"").chain(names("    { name = \"")) {
        let constant = name.to_uppercase();
        let _ = writeln!(code, "/// `{name}`\npub const {constant}: MetricId = MetricId::new(\"{name}\");");
        let _ = write!(all, "{constant}, ");
    }
    let count = all.matches(", ").count();
    let _ = writeln!(
        code,
        "/// All of them, in the order of the catalogue.\npub const ALL: [MetricId; {count}] = [{all}];"
    );
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&folder).join("metric_ids.rs"), code)
}
