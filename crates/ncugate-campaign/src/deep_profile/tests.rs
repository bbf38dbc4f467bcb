//! Deep profiles with an ncu double that replays a real report (`tests/data/deep.ncu-rep.zst`).

use super::*;
use crate::fixtures::{self, script};
use crate::gpu_turn::GpuTurn;
use crate::{GpuWait, NoProgress};
use ncugate_cuda::host::{WorkerCommand, WorkerEvent};
use ncugate_judge::store::{Fingerprint, record};
use ncugate_model::{BuildOutcome, BuildRecord, CheckOutcome, CheckRecord, Differences, Resources, ShapeName};
use ncugate_ncu::{Ncu, NcuVersion};
use ncugate_phase::plan::unroll;
use ncugate_report::analysis::{Listings, observations};
use std::path::PathBuf;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const SOURCE: &str = "kernels/sdpa_scalar/sdpa_scalar.cu";
/// The variant in the capture.
const SELECTED: &str = "REGCAP=96,THREADS=256,TILE_M=32,K_TILE=64";
/// nvdisasm 12.8 output for the capture's cubin, cut down to three instructions.
const DISASSEMBLED: &str = "\t.section\t.text.sdpa_scalar,\"ax\",@progbits\n\
    \x20       /*0f80*/              @!P0 STS.128 [R74], R16 ;\n\
    \x20       /*1060*/              @!P0 STS.128 [R69], R16 ;\n\
    \x20       /*1900*/                   HADD2.F32 R42, -RZ, R16.H0_H0 ;\n";

/// A phase with a measured sweep, and tools that replay.
struct Replay {
    folder: tempfile::TempDir,
    phase: Phase,
    plan: Plan,
    tools: Tools,
    writer: RunWriter,
}

/// A worker that reports its launches as right.
fn worker() -> WorkerCommand {
    let launched = WorkerEvent::Launched {
        variant: VariantId(SELECTED.into()),
        shape: ShapeName("mission".into()),
        repeat: 0,
        outputs: ProfiledOutputs::Right { seed: 7, evaluations: 1 },
    };
    let says = format!("echo '{}'", serde_json::to_string(&launched).unwrap());
    WorkerCommand::new("sh".into(), vec!["-c".into(), says])
}

fn tools(folder: &Path, environment: &str, disassembler: &str) -> Tools {
    let capture = folder.join("capture.ncu-rep");
    let packed = std::fs::File::open(format!("{ROOT}/tests/data/deep.ncu-rep.zst")).unwrap();
    std::fs::write(&capture, zstd::stream::decode_all(packed).unwrap()).unwrap();
    let double =
        format!("{environment} NCUGATE_DOUBLE_REPORT={} exec {ROOT}/tests/doubles/ncu \"$@\"", capture.display());
    script(folder, "nvdisasm", disassembler);
    let ncu = Ok(Ncu { path: script(folder, "ncu", &double), version: NcuVersion([2025, 3, 1, 0]) });
    Tools { ncu, ..fixtures::tools(folder, worker()) }
}

impl Replay {
    fn new(environment: &str, disassembler: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = PathBuf::from(ROOT).join("configs/phase_d.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let phase = ncugate_phase::config::parse(&path, &text).unwrap();
        let plan = unroll(&phase).unwrap();
        let mut manifest = crate::manifest(&phase, &plan, Fingerprint::default());
        manifest.git = None;
        // A hash that differs from the current file: lines have to come from the report.
        manifest.sources = vec![(SOURCE.to_owned(), "0".to_owned())];
        let mut writer = RunWriter::open(&folder.path().join("run"), manifest, &text, &plan, &phase.workload).unwrap();
        let resources =
            Resources { registers: 96, static_shared: 0, stack: 0, local: 0, spills: 0, constant: 0, barriers: 0 };
        let outcome = BuildOutcome::Built {
            cubin: "x.cubin".into(),
            cubin_sha256: String::new(),
            code_sha256: String::new(),
            resources,
            symbols: Default::default(),
            entries: Vec::new(),
            arch: "sm_90".to_owned(),
            cached: true,
            log: String::new(),
            launch: None,
            left_out: Vec::new(),
            growth: None,
        };
        let variant = VariantId(SELECTED.into());
        writer.record(&BuildRecord { variant: variant.clone(), shares: None, outcome }).unwrap();
        let differences =
            Differences { max_abs: 0.0, rel_l2: 0.0, nonfinite: 0, compared: 1, ..Differences::default() };
        let outcome = CheckOutcome::Correct { differences };
        writer
            .record(&CheckRecord { variant, shape: phase.objective.shape.clone(), seed: 0, outcome, nulls: 0 })
            .unwrap();
        let tools = tools(folder.path(), environment, disassembler);
        Self { folder, phase, plan, tools, writer }
    }

    /// Profiles the selected variant and reads the run back.
    fn deep_profile(&mut self) -> Run {
        self.deep_profile_of(Some(SELECTED), &[])
    }

    fn deep_profile_of(&mut self, selected: Option<&str>, asked: &[&str]) -> Run {
        let id = |id: &str| VariantId(id.into());
        let (phase, plan, tools) = (&self.phase, &self.plan, &self.tools);
        let turn = GpuTurn::at(self.folder.path().join("gpu.lock"), "H200", GpuWait::Endless, &NoProgress);
        let early = PrestartedProcesses::new((phase, plan, tools), &turn, &NoProgress, self.writer.folder());
        let (early, writer) = (&early, &mut self.writer);
        let mut profiler = DeepProfiler { phase, plan, tools, early, writer, progress: &NoProgress };
        profiler.run(selected.map(id).as_ref(), &asked.iter().map(|asked| id(asked)).collect::<Vec<_>>()).unwrap();
        Run::load(self.writer.folder()).unwrap()
    }
}

fn disassembled() -> String {
    format!("cat <<'END'\n{DISASSEMBLED}END")
}

#[test]
fn a_variant_that_the_objective_leaves_out_has_its_deep_profile_elsewhere() {
    let path = PathBuf::from(ROOT).join("configs/attention_f16.toml");
    let phase = ncugate_phase::config::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
    let plan = unroll(&phase).unwrap();
    let of = |id: &str| super::shape_of(&phase, &plan, &VariantId(id.into())).0.to_string();
    assert_eq!([of("d128"), of("d64")], ["batch_512_d128", "batch_512_d64"]);
}

#[test]
fn a_deep_profile_is_kept_apart_from_what_gates_judge() {
    let mut replay = Replay::new("", &disassembled());
    let run = replay.deep_profile();
    assert_eq!(run.manifest.warnings, Vec::<String>::new());
    let [deep] = run.deep_profiles.as_slice() else { unreachable!("{:?}", run.deep_profiles) };
    assert_eq!((deep.variant.0.as_str(), deep.shape.0.as_str(), deep.passes), (SELECTED, "mission", Some(25)));
    assert_eq!((run.reports().len(), run.deep_reports().len(), run.profiles.len()), (0, 1, 0));
    let spent: Vec<&str> = run.manifest.stage_seconds.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(spent, ["deep profile"]);
    assert!(deep.metrics.iter().any(|name| name.contains("issue_stalled_long_scoreboard")));
    assert!(deep.metrics.iter().all(|name| !name.starts_with("derived__")), "ncu refuses those by name");
    let job = std::fs::read(run.folder.join("logs/deep-profile/profile-0.json")).unwrap();
    let job: WorkerJob = serde_json::from_slice(&job).unwrap();
    assert!(matches!(job.mode, JobMode::Profile(inputs) if inputs.empty_launches == 0), "29 passes each");

    let hottest = deep.listing.at(0x1060).unwrap();
    assert_eq!(hottest.text.as_deref(), Some("@!P0 STS.128 [R69], R16"));
    let line = deep.listing.line(hottest.line).unwrap();
    assert_eq!((line.file.as_str(), line.line), (SOURCE, 141));
    assert_eq!(line.text.as_deref(), Some("k_tile[key][chunk ^ (key & 7)] = inside ? k_head[from] : zero;"));
    let inlined = deep.listing.at(0x1900).unwrap();
    assert_eq!(deep.listing.line(inlined.line).map(|line| line.line), Some(87));
    assert_eq!(deep.listing.line(inlined.inlined).map(|line| line.file.as_str()), Some("cuda_fp16.hpp"));
}

#[test]
fn a_variant_is_profiled_once() {
    let mut replay = Replay::new("", &disassembled());
    replay.deep_profile();
    let run = replay.deep_profile();
    let reports = std::fs::read_dir(run.folder.join("reports")).unwrap().count();
    assert_eq!((run.deep_profiles.len(), reports), (1, 1));
}

#[test]
fn a_recording_keeps_lines_and_instructions_without_sources() {
    let mut replay = Replay::new("", &disassembled());
    let run = replay.deep_profile();
    let folder = replay.folder.path().join("kept");
    record(&run, &folder, Path::new("/")).unwrap();
    let kept = Run::load(&folder).unwrap();
    assert_eq!(kept.deep_profiles[0].listing, run.deep_profiles[0].listing);
    let report = Report::open(&kept.deep_reports()[0]).unwrap();
    assert!(report.sources().unwrap().is_empty());
    let deep = &kept.deep_profiles[0];
    let listings = Listings::from([((deep.variant.clone(), deep.shape.clone()), deep)]);
    let said = observations(&[("deep".to_owned(), report)], (&replay.plan, &[]), &listings).unwrap();
    assert_eq!(said[0].hot[0].text.as_deref(), Some("@!P0 STS.128 [R69], R16"));
    assert_eq!(said[0].lines[0].line.line, 141);
    assert!((said[0].lines[0].share - 19.63).abs() < 0.01, "{}", said[0].lines[0].share);
}

#[test]
fn a_failed_deep_profile_is_a_warning_and_does_not_end_the_run() {
    let mut replay = Replay::new("NCUGATE_DOUBLE_SCENARIO=permission", &disassembled());
    let run = replay.deep_profile();
    assert!(matches!(run.deep_profiles[0].outcome, ProfileOutcome::Failed { .. }));
    let [warning] = run.manifest.warnings.as_slice() else { unreachable!("{:?}", run.manifest.warnings) };
    assert!(
        warning.starts_with(&format!("no deep profile of {SELECTED}: ")) && warning.contains("permission"),
        "{warning}"
    );
    assert!(run.deep_reports().is_empty());
}

#[test]
fn a_metric_that_this_ncu_does_not_know_is_left_out() {
    let unknown = "sm__inst_executed.avg.per_cycle_active";
    let environment = format!("NCUGATE_DOUBLE_SCENARIO=unknown-metric NCUGATE_DOUBLE_UNKNOWN={unknown}");
    let run = Replay::new(&environment, &disassembled()).deep_profile();
    assert!(
        matches!(run.deep_profiles[0].outcome, ProfileOutcome::Profiled { .. }),
        "{:?}",
        run.deep_profiles[0].outcome
    );
    assert!(!run.deep_profiles[0].metrics.iter().any(|name| name == unknown));
}

#[test]
fn without_a_disassembler_lines_stay_and_the_reason_is_recorded() {
    let run = Replay::new("", "echo no licence >&2; exit 3").deep_profile();
    let listing = &run.deep_profiles[0].listing;
    let hottest = listing.at(0x1060).unwrap();
    assert_eq!((&hottest.text, listing.line(hottest.line).map(|line| line.line)), (&None, Some(141)));
    assert_eq!(listing.lacks, ["nvdisasm exited with status 3: no licence"]);
}

#[test]
fn variants_are_profiled_on_request() {
    let mut replay = Replay::new("", &disassembled());
    replay.phase.profile.deep_profile = DeepProfileTarget::None;
    let unproven = "REGCAP=64,THREADS=128,TILE_M=32,K_TILE=16";
    let run = replay.deep_profile_of(Some(SELECTED), &[unproven, SELECTED, SELECTED]);
    let profiled: Vec<&str> = run.deep_profiles.iter().map(|deep| deep.variant.0.as_str()).collect();
    assert_eq!(profiled, [SELECTED], "an unproven variant is not profiled");
}

#[test]
fn a_phase_can_leave_the_deep_profile_out() {
    let mut replay = Replay::new("", "");
    replay.phase.profile.deep_profile = DeepProfileTarget::None;
    let run = replay.deep_profile();
    assert!(run.deep_profiles.is_empty() && run.manifest.stage_seconds.is_empty());
}
