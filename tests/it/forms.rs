//! Every form of rule, from TOML to the status of the real binary, on one stored run.

use crate::command::Place;
use crate::stored::{Stored, wiggle};

/// Two candidates (10 and 11 us, 64 registers) and a baseline kernel (12 us) at three shapes.
fn phase() -> String {
    let base = include_str!("../data/copy.toml")
        .replace("only = { S = 2048 }", "small = { S = 128 }\nmedium = { S = 512 }\nlarge = { S = 2048 }")
        .replace("objective = \"latency_p50\"", "objective = \"latency_p50\"\nobjective_shape = \"large\"");
    base + "[sweep]\nTHREADS = [64, 128]\n[[baseline]]\nname = \"twin\"\nparams = { THREADS = 32 }\n"
}

fn gate(require: &str) -> String {
    format!("[[gate]]\nname = \"g\"\nrequire = '{require}'\n")
}

fn tiers(required: &str) -> String {
    let tier = |name: &str, most: u32| {
        format!("[[tier]]\nname = \"{name}\"\nrequired = {}\nrequire = ['registers <= {most}']\n", name == required)
    };
    tier("minimum", 64) + &tier("target", 32)
}

fn stages(first: &str, second: &str) -> String {
    format!(
        "[[stage]]\nname = \"a\"\nvariant = \"THREADS=128\"\nrequire = ['{first}']\nexpect = [1.0, 1.2]\n\
         [[stage]]\nname = \"b\"\nvariant = \"THREADS=64\"\nrequire = ['{second}']\non_failure = \"skip\"\n"
    )
}

fn fallback(require: &str) -> String {
    gate("latency_p50 <= 9") + &format!("[fallback]\nvariant = \"THREADS=128\"\nrequire = ['{require}']\n")
}

fn waived(expires: &str) -> String {
    let waiver = "[[waiver]]\ngate = \"g\"\nreason = \"a driver bug\"\nowner = \"ada\"\n";
    gate("registers <= 32") + &format!("{waiver}expires = {expires}\n")
}

/// A valid end date of waivers, whatever the date of the test.
pub fn in_a_month() -> String {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    today.saturating_add(jiff::Span::new().days(30)).to_string()
}

fn precondition(require: &str) -> String {
    gate("registers <= 64") + &format!("[[precondition]]\nrequire = '{require}'\n")
}

/// Rules, their status, and a text in standard output or the report.
fn rules() -> Vec<(String, i32, &'static str)> {
    let shapes =
        |more: &str| gate("registers * S <= 64 * 512") + "shapes = [\"small\", \"medium\", \"large\"]\n" + more;
    vec![
        (gate("registers <= 64"), 0, "PASS"),
        (gate("registers <= 63"), 1, "FAIL"),
        (gate("eligible_warps >= 2"), 4, "not collected: the run did not request"),
        (gate("latency_p50 <= 0.98 * baseline.latency_p50"), 0, "PASS"),
        (gate("latency_p50 <= 0.8 * baseline.latency_p50"), 1, "FAIL"),
        (gate("latency_p90 <= baseline.latency_p90"), 0, "PASS"),
        (gate("latency_p50 <= 0.8334 * baseline.latency_p50"), 4, "noise"),
        (gate("speedup(\"twin\") >= 1.10"), 0, "PASS"),
        (gate("speedup(\"twin\") >= 1.30"), 1, "FAIL"),
        (gate("latency_p50 <= 1.02 * best.latency_p50"), 4, "no entry"),
        (gate("registers <= previous.registers"), 4, "no earlier run"),
        (shapes("at_least = 2\n"), 0, "PASS"),
        (shapes(""), 1, "FAIL"),
        (gate("correct and max_abs <= 2e-3") + "shapes = [\"small\", \"medium\", \"large\"]\n", 0, "PASS"),
        (gate("max_abs <= 1e-5"), 1, "FAIL"),
        (gate("not (registers > 70 and latency_p50 > 9)"), 0, "PASS"),
        (gate("not (registers > 60 and latency_p50 > 9)"), 1, "FAIL"),
        (gate("cc >= 8.9 and dtype == \"f16\" and registers <= THREADS"), 0, "PASS"),
        (gate("latency_p50 <= 10.5") + "on = \"each\"\n", 1, "FAIL"),
        (gate("latency_p50 <= 10.5") + "on = \"any\"\n", 0, "PASS"),
        (gate("latency_p50 >= 10.5") + "on = \"THREADS=1*\"\n", 4, "No required gate judged the selected variant"),
        (tiers("minimum"), 0, "2 gates on 2 variants"),
        (tiers("target"), 1, "target"),
        (stages("registers <= 64", "speedup(\"previous\") >= 1.05"), 0, "b"),
        (stages("registers <= 64", "speedup(\"previous\") >= 1.50"), 0, "skipped"),
        (stages("registers <= 32", "speedup(\"previous\") >= 1.05"), 1, "no stage is accepted"),
        (fallback("latency_p50 <= 12"), 0, "The fallback THREADS=128 is used"),
        (fallback("latency_p50 <= 9"), 1, "FAIL"),
        (precondition("S % 16 == 0"), 0, "PASS"),
        (precondition("S % 512 == 0"), 1, "precondition"),
        (waived(&in_a_month()), 0, "driver bug"),
        (waived("2020-01-01"), 1, "expired"),
    ]
}

#[test]
fn every_form_of_rule_ends_with_its_status() {
    let place = Place::new();
    let latency = |id: &str| match id {
        "THREADS=64" => 10.0,
        "THREADS=128" => 11.0,
        _ => 12.0,
    };
    let run = Stored::new(&phase(), "run")
        .latency(move |id, round| latency(&id.0) * (1.0 + 0.005 * wiggle(round, id.0.len())))
        .write(&place);
    let mut unlike = Vec::new();
    for (rule, status, said) in rules() {
        let config = place.write("forms.toml", &(phase() + &rule));
        let judged = place.run(&["gate", config.to_str().unwrap(), run.to_str().unwrap()]);
        // lines are wrapped: compare words
        let report = std::fs::read_to_string(place.path().join("reports/copy/run/report.md")).unwrap();
        let words = (judged.stdout + &report).split_whitespace().collect::<Vec<_>>().join(" ");
        if judged.status != Some(status) || !words.contains(said) {
            unlike.push(format!("{rule}{:?}, wanted {status} and '{said}'\n{words}\n{}", judged.status, judged.stderr));
        }
    }
    assert!(unlike.is_empty(), "{}", unlike.join("\n"));
}
