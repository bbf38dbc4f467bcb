//! One external candidate against the best so far, as a separate phase: the same code applies all requirements of the
//! phase to it.

use ncugate_model::ShapeName;
use ncugate_model::expr::{Owner, Reads, Value};
use ncugate_phase::config::{self, ConfigErrors, FlagAxis, Phase};
use ncugate_phase::plan::{Point, Space, Walk};
use std::path::{Path, PathBuf};
use toml::{Table, Value as Toml};

/// The attempted variant.
pub const ATTEMPT: &str = "attempt";

/// The best so far, as the comparison partner.
pub const ELITE: &str = "elite";

/// Required speedup, at two of three shapes, to replace the best.
pub const FASTER: f64 = 1.03;

/// Why an attempt cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AttemptError {
    /// The phase of the attempt does not parse.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The phase has no kernel that an attempt could replace.
    #[error("{0}")]
    Form(String),
}

/// A source and its compile settings.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptSource {
    /// The file; `None` for the phase's source.
    pub file: Option<PathBuf>,
    /// An additional include folder.
    pub include: Option<PathBuf>,
    pub params: Vec<(String, Value)>,
}

/// A phase with an attempt and the best so far.
#[derive(Debug)]
pub struct AttemptPhase {
    pub phase: Phase,
    /// Names of the original gates on comparisons that are not measured here.
    pub left_out: Vec<String>,
    /// The gate of each timed shape that requires the speedup `FASTER`.
    pub faster: Vec<(ShapeName, String)>,
}

/// The default parameters of an attempt: those of the first baseline that is the phase's kernel, else the first
/// combination of the sweep.
pub fn usual_params(phase: &Phase) -> Vec<(String, Value)> {
    let own =
        |spec: &&config::VariantSpec| spec.kind.kernel().is_some_and(|kernel| Some(kernel) == phase.kernel.as_ref());
    if let Some(spec) = phase.baselines.iter().find(own) {
        return spec.params.clone();
    }
    let space = Space::new(&phase.sweep, &[]);
    let mut first = Vec::new();
    space.walk(&mut |at, kept| match kept {
        Ok(true) => {
            first = space.params(&Point(at.to_vec()));
            Walk::Stop
        }
        Ok(false) | Err(_) => Walk::On,
    });
    first
}

/// The phase that measures `attempt` against `elite`.
///
/// # Errors
/// The phase has no `[kernel]`, or the result does not parse.
pub fn attempt_phase(
    phase: &Phase,
    attempt: &AttemptSource,
    elite: &AttemptSource,
) -> Result<AttemptPhase, AttemptError> {
    if phase.kernel.is_none() {
        return Err(AttemptError::Form(
            "an attempt replaces the source of [kernel], which the phase does not have".to_owned(),
        ));
    }
    let form = |e: toml::de::Error| AttemptError::Form(format!("cannot write the phase of the attempt: {e}"));
    let mut file: Table = phase.text.parse().map_err(form)?;
    let (flags, linked, launch) = (flags(&file), linked(&file), launch_of_code(&file));
    for key in ["sweep", "search", "tier", "stage", "fallback", "waiver", "variant", "baseline"] {
        file.remove(key);
    }
    let name = format!("{}.attempts", phase.name);
    if let Some(Toml::Table(head)) = file.get_mut("phase") {
        head.insert("name".to_owned(), name.into());
        head.remove("recording");
    }
    let profile = file.entry("profile").or_insert_with(|| Toml::Table(Table::new()));
    if let Toml::Table(profile) = profile {
        profile.insert("deep_profile".to_owned(), "none".into());
    }
    let axes = phase.kernel.as_ref().map_or(&[][..], |kernel| &kernel.flag_axes[..]);
    file.insert("variant".to_owned(), Toml::Array(vec![variant(ATTEMPT, attempt, (&flags, &launch), &linked, axes)?]));
    file.insert("baseline".to_owned(), Toml::Array(vec![variant(ELITE, elite, (&flags, &launch), &linked, axes)?]));
    let (mut gates, left_out) = gates(phase, file.remove("gate"));
    let faster: Vec<(ShapeName, String)> =
        phase.bench.shapes.iter().map(|shape| (shape.clone(), format!("faster at {shape}"))).collect();
    gates.extend(faster.iter().map(|(shape, name)| Toml::Table(faster_gate(shape, name))));
    file.insert("gate".to_owned(), Toml::Array(gates));
    let text = toml::to_string(&file)
        .map_err(|e| AttemptError::Form(format!("cannot write the phase of the attempt: {e}")))?;
    Ok(AttemptPhase { phase: config::parse_again(phase, &text)?, left_out, faster })
}

/// Flags of `[kernel]` as written.
fn flags(file: &Table) -> Vec<Toml> {
    match file.get("kernel").and_then(|kernel| kernel.get("flags")) {
        Some(Toml::Array(flags)) => flags.clone(),
        Some(_) | None => vec!["-O3".into(), "-lineinfo".into()],
    }
}

/// The keys of `[kernel]` that a source does not inherit from a cubin or PTX: its entry and launch.
fn launch_of_code(file: &Table) -> Table {
    let kernel = file.get("kernel").and_then(Toml::as_table);
    let kernel = kernel.filter(|kernel| kernel.contains_key("cubin") || kernel.contains_key("ptx"));
    let kept = ["entry", "block", "cluster", "dynamic_shared", "cooperative", "carveout", "symbols"];
    let keys = kernel.into_iter().flatten().filter(|(key, _)| kept.contains(&key.as_str()));
    keys.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Sources of `[kernel]` that are linked with the first, as written.
fn linked(file: &Table) -> Vec<Toml> {
    match file.get("kernel").and_then(|kernel| kernel.get("source")) {
        Some(Toml::Array(sources)) => sources.iter().skip(1).cloned().collect(),
        Some(_) | None => Vec::new(),
    }
}

fn variant(
    name: &str,
    source: &AttemptSource,
    (flags, launch): (&[Toml], &Table),
    linked: &[Toml],
    axes: &[FlagAxis],
) -> Result<Toml, AttemptError> {
    let text = |path: &Path| {
        let text = path.to_str().filter(|text| !text.contains(['{', '}']));
        text.map(str::to_owned)
            .ok_or_else(|| AttemptError::Form(format!("a phase cannot contain the path {}", path.display())))
    };
    let mut table = Table::new();
    table.insert("name".to_owned(), name.into());
    // The sweep is left out, so a parameter that chooses flags has them with its value.
    let of_axis = |(name, value): &(String, Value)| {
        let axis = axes.iter().find(|axis| axis.name == *name);
        match axis.and_then(|axis| axis.chosen(&source.params)) {
            Some((value, flags)) => {
                let flags = flags.iter().map(|flag| flag.text().into()).collect();
                Toml::Table(Table::from_iter([(value.to_owned(), Toml::Array(flags))]))
            }
            None => toml(value),
        }
    };
    let params = source.params.iter().map(|param| (param.0.clone(), of_axis(param)));
    table.insert("params".to_owned(), Toml::Table(params.collect()));
    let mut kernel = Table::new();
    if let Some(file) = &source.file {
        kernel.extend(launch.clone());
        let sources = [Toml::String(text(file)?)].into_iter().chain(linked.iter().cloned());
        kernel.insert("source".to_owned(), Toml::Array(sources.collect()));
    }
    if let Some(folder) = &source.include {
        let flag = Toml::String(format!("-I{}", text(folder)?));
        kernel.insert("flags".to_owned(), Toml::Array(flags.iter().cloned().chain([flag]).collect()));
    }
    if !kernel.is_empty() {
        table.insert("kernel".to_owned(), Toml::Table(kernel));
    }
    Ok(Toml::Table(table))
}

fn toml(value: &Value) -> Toml {
    match value {
        Value::Bool(truth) => Toml::Boolean(*truth),
        Value::Int(number) => Toml::Integer(*number),
        Value::Float(number) => Toml::Float(*number),
        Value::Text(text) => Toml::String(text.clone()),
    }
}

/// The gates on a single variant, and the names of the others: those compare with baselines, earlier runs and
/// variants that are not measured here.
fn gates(phase: &Phase, written: Option<Toml>) -> (Vec<Toml>, Vec<String>) {
    let written = match written {
        Some(Toml::Array(gates)) => gates,
        Some(_) | None => Vec::new(),
    };
    let by_itself = |reads: &Reads| {
        reads.speedups.is_empty() && reads.quantities.iter().all(|quantity| quantity.owner == Owner::Case)
    };
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for (gate, mut table) in phase.gates.iter().zip(written) {
        if !by_itself(&gate.require.reads()) {
            left_out.push(gate.name.to_string());
            continue;
        }
        // The scope of a gate matters only in a sweep; here there is one variant.
        if let Toml::Table(table) = &mut table {
            table.remove("on");
            table.remove("at_least");
        }
        kept.push(table);
    }
    (kept, left_out)
}

fn faster_gate(shape: &ShapeName, name: &str) -> Table {
    let mut gate = Table::new();
    gate.insert("name".to_owned(), name.into());
    gate.insert("require".to_owned(), Toml::String(format!("speedup(\"{ELITE}\") >= {FASTER}")));
    gate.insert("shapes".to_owned(), Toml::Array(vec![Toml::String(shape.0.to_string())]));
    gate.insert("level".to_owned(), "advisory".into());
    gate
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_fixtures::root;
    use ncugate_phase::plan::{Method, unroll};

    #[test]
    fn an_attempt_has_the_flags_of_its_values() {
        let path = Path::new("phase.toml");
        let text = std::fs::read_to_string(root().join("configs/softmax.toml")).unwrap();
        let text = text.replacen("\n[sweep]", "\n[sweep]\nFAST = { off = [], on = [\"-use_fast_math\"] }", 1);
        let phase = config::parse(path, &text).unwrap();
        let source = |value: &str| {
            let mut params = usual_params(&phase);
            params.retain(|(name, _)| name != "FAST");
            params.push(("FAST".to_owned(), Value::Text(value.to_owned())));
            AttemptSource { file: None, include: None, params }
        };
        let plan = unroll(&attempt_phase(&phase, &source("on"), &source("off")).unwrap().phase).unwrap();
        let has_flag = |at: usize| match &plan.variants[at].method {
            Method::Kernel(kernel) => kernel.flags.contains(&"-use_fast_math".to_owned()),
            other => panic!("{other:?}"),
        };
        assert_eq!((has_flag(0), has_flag(1)), (true, false));
    }

    #[test]
    fn an_attempt_is_measured_beside_the_best_and_asked_what_a_variant_is_asked() {
        let phase = config::load(Path::new("configs/softmax.toml"), &root(), jiff::civil::date(2026, 6, 15)).unwrap();
        let params = usual_params(&phase);
        assert_eq!(params[0], ("THREADS".to_owned(), Value::Int(128)));
        let elite = AttemptSource { file: None, include: None, params: params.clone() };
        let source = AttemptSource {
            file: Some(PathBuf::from("kernels/cheats/honest.cu")),
            include: Some(PathBuf::from("kernels/softmax")),
            params,
        };
        let made = attempt_phase(&phase, &source, &elite).unwrap();
        assert_eq!(made.phase.name, "softmax.attempts");
        let plan = unroll(&made.phase).unwrap();
        let ids: Vec<&str> = plan.variants.iter().map(|variant| variant.id.0.as_str()).collect();
        assert_eq!(ids, [ATTEMPT, ELITE]);
        assert_eq!(made.left_out, ["no slower than plain"]);
        let names: Vec<&str> = made.phase.gates.iter().map(|gate| gate.name.as_str()).collect();
        assert_eq!(names[..2], ["no spills", "memory bound"]);
        assert_eq!(made.faster.len(), phase.bench.shapes.len());
    }

    #[test]
    fn a_phase_without_a_kernel_has_nothing_to_replace() {
        let mut phase =
            config::load(Path::new("configs/softmax.toml"), &root(), jiff::civil::date(2026, 6, 15)).unwrap();
        phase.kernel = None;
        let source = AttemptSource { file: None, include: None, params: Vec::new() };
        assert!(matches!(attempt_phase(&phase, &source, &source), Err(AttemptError::Form(_))));
    }
}
