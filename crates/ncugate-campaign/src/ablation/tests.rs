//! Kinds of instructions, read back from code of a real compiler, and outcomes of copies.

use super::*;
use ncugate_cuda::build::Nvcc;

fn nvcc() -> Option<Nvcc> {
    let path = std::env::var_os("NCUGATE_TEST_NVCC")?;
    Some(Nvcc::find(Some(Path::new(&path))).unwrap())
}

#[test]
fn every_kind_of_instruction_is_read_back_and_a_confusion_is_noticed() {
    let Some(nvcc) = nvcc() else { return eprintln!("skipped: NCUGATE_TEST_NVCC names no nvcc") };
    let folder = tempfile::tempdir().unwrap();
    let cubin = |text: &str| nvcc.assemble_text(text, &Arch::of(TRIED), &[], &folder.path().join("test")).unwrap();
    assert_eq!(self_test(&cubin(SELF_TEST)), Ok(()));
    let without = SELF_TEST.replace("    bar.sync 0;\n", "");
    assert_eq!(
        self_test(&cubin(&without)).unwrap_err(),
        "what to change was not told from other instructions, to run without its barriers"
    );
    let unguarded = SELF_TEST.replace("@!c st", "@c st");
    assert_eq!(self_test(&cubin(&unguarded)).unwrap_err(), "guards are not where they were expected");
}

/// A kernel whose loop runs `%tid.x` times, or as often as a loaded value says, over loaded or computed addresses.
const LOOPS: &str = ".version 8.0
.target sm_90
.address_size 64
.visible .entry streams(.param .u64 p) { .reg .b64 a; .reg .f32 x, s; .reg .b32 i; .reg .pred c;
    ld.param.u64 a, [p]; mov.u32 i, %tid.x; mov.f32 s, 0f00000000;
L1: ld.global.f32 x, [a]; add.f32 s, s, x; add.u64 a, a, 128; sub.u32 i, i, 1; setp.ne.u32 c, i, 0; @c bra L1;
    st.global.f32 [a], s; ret; }
.visible .entry counts(.param .u64 p) { .reg .b64 a; .reg .f32 x, s; .reg .b32 i; .reg .pred c;
    ld.param.u64 a, [p]; ld.global.u32 i, [a]; mov.f32 s, 0f00000000;
L2: ld.global.f32 x, [a+64]; add.f32 s, s, x; add.u64 a, a, 128; sub.u32 i, i, 1; setp.ne.u32 c, i, 0; @c bra L2;
    st.global.f32 [a], s; ret; }
.visible .entry chases(.param .u64 p) { .reg .b64 a; .reg .b32 i; .reg .pred c;
    ld.param.u64 a, [p]; mov.u32 i, %tid.x;
L3: ld.global.u64 a, [a]; sub.u32 i, i, 1; setp.ne.u32 c, i, 0; @c bra L3;
    st.global.u64 [a], a; ret; }
.visible .entry stages(.param .u64 p) { .shared .align 4 .b8 m[1024]; .reg .b64 a; .reg .b32 i, s; .reg .f32 x;
    ld.param.u64 a, [p]; ld.global.f32 x, [a]; st.shared.f32 [m+16], x; bar.sync 0; ld.shared.f32 x, [m+32];
    st.global.f32 [a+4], x; ret; }
.visible .entry polls(.param .u64 p) { .reg .b64 a; .reg .b32 i; .reg .pred c;
    ld.param.u64 a, [p]; mov.u32 i, 1; st.global.u32 [a+256], i;
L4: ld.acquire.gpu.global.u32 i, [a]; setp.ne.u32 c, i, 0; @c bra L4;
    st.global.u32 [a+4], i; ret; }
";

#[test]
fn garbage_is_followed_to_loops_and_addresses() {
    let Some(nvcc) = nvcc() else { return eprintln!("skipped: NCUGATE_TEST_NVCC names no nvcc") };
    let folder = tempfile::tempdir().unwrap();
    let cubin = nvcc.assemble_text(LOOPS, &Arch::of(TRIED), &[], &folder.path().join("test")).unwrap();
    let risk = |entry: &str, kind: Ablation| {
        let code = machine_code(&cubin, entry).unwrap().unwrap();
        let edits = MachineCode::of_words(code, 0, 9).unwrap().edits(code, 9, &LineTable::default());
        edits.into_iter().find(|edit| edit.kind == kind).unwrap().risk
    };
    assert_eq!(risk("streams", Ablation::GlobalLoads), EditRisk::None);
    assert_eq!(risk("streams", Ablation::GlobalStores), EditRisk::None);
    assert_eq!(risk("streams", Ablation::SingleAndHalfPrecision), EditRisk::None);
    assert_eq!(risk("counts", Ablation::GlobalLoads), EditRisk::Loop);
    assert_eq!(risk("counts", Ablation::GlobalStores), EditRisk::None, "what it loads is not past L1");
    assert_eq!(risk("chases", Ablation::GlobalLoads), EditRisk::Address);
    assert_eq!(risk("stages", Ablation::GlobalLoads), EditRisk::None, "what is stored is no address");
    assert_eq!(risk("polls", Ablation::GlobalStores), EditRisk::Loop, "another block may wait for the store");
}

#[test]
fn blocks_end_at_their_first_instruction() {
    let Some(nvcc) = nvcc() else { return eprintln!("skipped: NCUGATE_TEST_NVCC names no nvcc") };
    let folder = tempfile::tempdir().unwrap();
    let cubin = nvcc.assemble_text(LOOPS, &Arch::of(TRIED), &[], &folder.path().join("test")).unwrap();
    let code = machine_code(&cubin, "streams").unwrap().unwrap();
    let edits = MachineCode::of_words(code, 0, 9).unwrap().edits(code, 9, &LineTable::default());
    let start = edits.into_iter().find(|edit| edit.kind == Ablation::BlockStarts).unwrap();
    let copy = edited(&cubin, "streams", &start.words).unwrap();
    let changed = machine_code(&copy, "streams").unwrap().unwrap();
    let first = MachineCode::of_words(changed, 0, 9).unwrap().instructions[0].mnemonic.to_string();
    assert_eq!((start.words[0].0, first.as_str(), changed[16..] == code[16..]), (0, "EXIT", true));
}

#[test]
fn limits_of_a_gain_are_those_of_the_median_and_too_few_rounds_are_none() {
    let AblationOutcome::Measured(gain) = outcome(&[0.8, 0.81, 0.79, 0.8, 0.8, 0.82, 0.78, 0.8, 0.8]) else { panic!() };
    assert!(
        (gain.percent - 20.0).abs() < 1e-9 && (gain.low - 19.0).abs() < 1e-9 && (gain.high - 21.0).abs() < 1e-9,
        "{gain:?}"
    );
    assert!(matches!(outcome(&[0.8, 0.9]), AblationOutcome::NotMeasured { .. }));
    assert!(matches!(outcome(&[f64::NAN; 9]), AblationOutcome::NotMeasured { .. }));
}

#[test]
fn a_run_takes_a_tenth_of_its_time_for_it_and_a_short_one_nothing() {
    assert_eq!(AblationEffort::within(3.0), None);
    assert_eq!(AblationEffort::within(f64::NAN), None);
    assert_eq!(AblationEffort::within(14.0), Some(AblationEffort::Run(Duration::from_millis(1400))));
    assert_eq!(AblationEffort::within(600.0), Some(AblationEffort::Run(MOST)));
}
