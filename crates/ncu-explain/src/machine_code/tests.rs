use super::instruction::{CodeInstruction, FloatFormat, MemorySpace, Operation, Register};
use super::{DependencyState, MachineCode, MbarrierWait, code_facts, text, word};
use crate::profiler::InstructionSamples;
use ncu_rep::Report;
use ncugate_model::cubin::machine_code;
use ncugate_model::rule::{FACTS, FactSource};
use ncugate_model::{Instruction, Listing};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions as nvdisasm prints them: compute capability, the two words, the text.
const PRINTED: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/instructions.tsv"));

fn printed() -> Vec<(u32, [u8; 16], &'static str)> {
    let line = |line: &'static str| {
        let [capability, low, high, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let word = |word: &str| u64::from_str_radix(word, 16).unwrap();
        let bytes = (u128::from(word(high)) << 64 | u128::from(word(low))).to_le_bytes();
        (capability.parse::<u32>().unwrap() / 10, bytes, text)
    };
    PRINTED.lines().map(line).collect()
}

/// `tcgen05.mma` is one opcode, with the kind in other bits.
#[test]
fn products_of_the_tensor_cores_have_the_mnemonic_of_their_kind() {
    let products = printed().into_iter().filter(|(_, _, text)| text.contains("MMA"));
    let mut seen = BTreeMap::new();
    for (major, bytes, text) in products {
        let mnemonic = text.trim_start_matches(|guard| "@!PU0123456T ".contains(guard) && text.starts_with('@'));
        let mnemonic = mnemonic.split(['.', ' ']).next().unwrap();
        assert_eq!(&*word::decode(&bytes, 0, major)[0].mnemonic, mnemonic, "{text}");
        seen.insert(mnemonic, major);
    }
    for kind in ["UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA", "QMMA", "OMMA", "HGMMA"] {
        assert!(seen.contains_key(kind), "{kind}: {seen:?}");
    }
    let mut unknown = printed().into_iter().find(|(_, _, text)| text.starts_with("UTCHMMA")).unwrap().1;
    unknown[9] |= 2;
    assert_eq!(word::decode(&unknown, 0, 10)[0].operation, Operation::Unknown);
}

fn is_vector(register: u16) -> bool {
    register < 255
}

#[test]
fn words_and_texts_of_the_disassembler_agree() {
    let printed = printed();
    assert!(printed.len() > 600);
    let mut wrong = Vec::new();
    for (major, bytes, printed) in printed {
        let (of_text, of_word) = (text::parse(printed, 0), word::decode(&bytes, 0, major).remove(0));
        if of_word.operation != of_text.operation || of_text.operation == Operation::Unknown {
            wrong.push(format!("{printed}: {:?} {:?}", of_word.operation, of_text.operation));
        }
        let copies = matches!(of_text.operation, Operation::AsyncCopy);
        if of_word.bytes != of_text.bytes && !copies {
            wrong.push(format!("{printed}: {:?} and {:?} bytes", of_word.bytes, of_text.bytes));
        }
        if of_word.guard != of_text.guard {
            wrong.push(format!("{printed}: guard {:?} {:?}", of_word.guard, of_text.guard));
        }
        let conditions = |one: &CodeInstruction| one.reads.iter().cloned().flatten().collect::<BTreeSet<u16>>();
        if printed.contains("BRA") && conditions(&of_word) != conditions(&of_text) {
            wrong.push(format!("{printed}: conditions {:?} {:?}", of_word.reads, of_text.reads));
        }
        if of_text.operation == Operation::PhaseCheck && of_word.writes != of_text.writes {
            wrong.push(format!("{printed}: answers {:?} {:?}", of_word.writes, of_text.writes));
        }
        let arithmetic = matches!(of_text.operation, Operation::Float(_, FloatFormat::Single));
        let constant = of_word.immediate.filter(|bits| f32::from_bits(*bits).is_finite());
        if arithmetic && constant.is_some() && constant != of_text.immediate {
            wrong.push(format!("{printed}: constant {:x?} {:x?}", of_word.immediate, of_text.immediate));
        }
        let first =
            |ranges: &[std::ops::Range<u16>]| ranges.iter().map(|range| range.start).filter(|r| is_vector(*r)).min();
        let loads = matches!(of_text.operation, Operation::Load(_) | Operation::Float(_, _) | Operation::Shuffle);
        if loads && (first(&of_word.writes) != first(&of_text.writes)) {
            wrong.push(format!("{printed}: writes {:?} {:?}", of_word.writes, of_text.writes));
        }
        let constants =
            matches!(of_text.operation, Operation::Load(MemorySpace::Constant | MemorySpace::IndexedConstant));
        let is_exact =
            matches!(of_text.operation, Operation::Conversion(_)) || constants || printed.contains("IMAD.WIDE");
        let vectors = |ranges: &[std::ops::Range<u16>]| {
            ranges.iter().cloned().flatten().filter(|register| is_vector(*register)).collect::<BTreeSet<u16>>()
        };
        if is_exact && vectors(&of_word.writes) != vectors(&of_text.writes) {
            wrong.push(format!("{printed}: writes exactly {:?} {:?}", of_word.writes, of_text.writes));
        }
        if is_exact && vectors(&of_word.reads) != vectors(&of_text.reads) {
            wrong.push(format!("{printed}: reads exactly {:?} {:?}", of_word.reads, of_text.reads));
        }
        let unread = of_text.reads.iter().filter(|read| is_vector(read.start) && !of_word.reads(read.start));
        let unread: Vec<_> = unread.collect();
        let with_registers = loads || matches!(of_text.operation, Operation::Store(_) | Operation::Integer);
        if with_registers && !unread.is_empty() {
            wrong.push(format!("{printed}: reads {:?} {:?}", of_word.reads, of_text.reads));
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn scoreboards_and_targets_are_read_from_the_control_bits() {
    // `F2F.F32.F64 R2, R2 &req={0} &wr=0x0` and `LDS R9, [R6] &rd=0x0 &wr=0x1`, as nvdisasm annotates 12.0
    let decoded = |low: u64, high: u64| {
        let bytes = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
        word::decode(&bytes, 0x100, 12).remove(0)
    };
    let conversion = decoded(0x0000_0002_0002_7310, 0x001e_2400_0030_1000).scoreboards.unwrap();
    assert_eq!((conversion.result, conversion.operands, conversion.waits), (Some(0), None, 1));
    let load = decoded(0x0000_0000_0609_7984, 0x0000_6200_0000_0800).scoreboards.unwrap();
    assert_eq!((load.result, load.operands, load.waits), (Some(1), Some(0), 0));
    // a branch to itself ends every kernel
    assert_eq!(decoded(0xffff_fffc_00fc_7947, 0x000f_c000_0383_ffff).target, Some(0x100));
    assert_eq!(decoded(0x0000_0024_00b4_0947, 0x000f_ea00_0380_0000).target, Some(0x100 + 16 + 0x26d0));
    let before = 0x000f_ea00_0383_ffff_ffff_ff50_0000_2947_u128.to_le_bytes();
    assert_eq!(word::decode(&before, 0x2a0, 8).remove(0).target, Some(0x200));
    let depbar = decoded(0x0000_80c0_0000_791a, 0x000f_c800_0000_0000);
    assert_eq!(depbar.scoreboards.unwrap().waits, 1);
}

#[test]
fn hostile_bytes_and_texts_are_decoded_without_a_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::new();
    for _ in 0..20_000 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        bytes.extend(state.rotate_left(17).to_le_bytes());
    }
    bytes.extend([1, 2, 3]);
    for base in [0, u64::MAX - 100] {
        let code = MachineCode::of_words(&bytes, base, 9).unwrap();
        assert_eq!(code.instructions.len(), 10_000);
        let states = [DependencyState::LongScoreboard, DependencyState::ShortScoreboard, DependencyState::Wait];
        let found = (0..10_000).step_by(97).flat_map(|at| states.map(|state| code.producer(at, state)));
        assert!(found.flatten().all(|producer| producer < 10_000));
        code_facts(&code, &InstructionSamples::default());
    }
    for hostile in ["", "@", "@P0", "[[[", "LDG", "R1, R2", ", ,", "@!P9 X R999999999999999999999, UR255, P77", "é R1é"]
    {
        text::parse(hostile, 0);
    }
    assert!(MachineCode::of_words(&bytes, 0, 6).is_none());
}

fn capture(name: &str) -> Report {
    Report::open(format!("{}/../../tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn every_instruction_of_the_stored_reports_is_known() {
    for name in ["full1", "source", "deep", "further"] {
        let report = capture(&format!("{name}.ncu-rep.zst"));
        for launch in report.launches() {
            let source = crate::source_of(&report, &launch).unwrap().unwrap();
            let code = machine_code(source.binary, &launch.mangled_name()).unwrap().unwrap();
            let code = MachineCode::of_words(code, 0, 9).unwrap();
            let unknown = code.instructions.iter().filter(|i| i.operation == Operation::Unknown).count();
            assert!(unknown == 0 && code.instructions.len() > 8, "{name} {}: {unknown}", launch.kernel_name());
        }
    }
}

/// Facts of a launch of a report, by the kernel's name.
fn facts_of(name: &str, kernel: &str) -> BTreeMap<&'static str, f64> {
    let report = capture(name);
    let launch = report.launches().find(|launch| launch.kernel_name().starts_with(kernel)).unwrap();
    let seen =
        crate::observe(&report, &launch, ncugate_model::VariantId("v".into()), ncugate_model::ShapeName("s".into()));
    seen.unwrap().facts.into_iter().collect()
}

#[test]
fn the_facts_of_a_launch_are_those_that_rules_may_read() {
    let mut known: Vec<&str> = Vec::new();
    for (report, kernel) in [("deep", "sdpa_scalar"), ("further", "one_stage")] {
        known.extend(facts_of(&format!("{report}.ncu-rep.zst"), kernel).keys());
    }
    known.sort_unstable();
    known.dedup();
    let of_code = FACTS.iter().filter(|fact| fact.source == FactSource::MachineCode);
    let mut declared: Vec<&str> = of_code.map(|fact| fact.name).collect();
    declared.sort_unstable();
    assert_eq!(known, declared);
}

#[test]
fn the_mix_of_a_launch_is_that_of_its_kernel() {
    let scattered = facts_of("further.ncu-rep.zst", "scattered_constants");
    assert!(scattered["indexed_constant_pct"] < 100.0 && scattered["f64_instruction_pct"] == 0.0, "{scattered:?}");
    let attention = facts_of("full1.ncu-rep.zst", "attn");
    assert!(attention["waits_for_shared_pct"] + attention["waits_for_global_loads_pct"] > 5.0, "{attention:?}");
    assert!(attention["code_bytes"] == 31_744.0, "{attention:?}");
}

/// `FMUL R2, R3, R4; FADD R5, R2, R6` could be one FFMA, unless R2 is read again.
#[test]
fn an_addition_of_a_product_that_nothing_else_reads_is_unfused() {
    let code = |texts: &[&str]| MachineCode {
        instructions: texts.iter().zip(0u64..).map(|(text, at)| text::parse(text, 16 * at)).collect(),
        ..MachineCode::default()
    };
    let once = code(&["FMUL R2, R3, R4", "FADD R5, R2, R6", "FMUL R2, R3, R3"]);
    assert_eq!(once.unfused_additions(), [false, true, false]);
    let twice = code(&["FMUL R2, R3, R4", "FADD R5, R2, R6", "STG.E desc[UR4][R8.64], R2"]);
    assert_eq!(twice.unfused_additions(), [false; 3]);
    let apart = code(&["FMUL R2, R3, R4", "BSYNC B0", "FADD R5, R2, R6"]);
    assert_eq!(apart.unfused_additions(), [false; 3]);
}

/// Terms of a matrix product multiply what was loaded; a polynomial and a distance multiply what was computed.
#[test]
fn a_product_of_two_loaded_values_is_told_from_other_arithmetic() {
    let code = |texts: &[&str]| MachineCode {
        instructions: texts.iter().zip(0u64..).map(|(text, at)| text::parse(text, 16 * at)).collect(),
        has_targets: true,
        ..MachineCode::default()
    };
    let matrix = code(&["LDS R2, [R9]", "LDG.E R3, desc[UR4][R10.64]", "PRMT R3, R3, 0x10, RZ", "FFMA R4, R2, R3, R4"]);
    assert_eq!(matrix.loaded_products(), [false, false, false, true]);
    let polynomial =
        code(&["LDG.E R2, desc[UR4][R10.64]", "LDS R5, [R9]", "FFMA R4, R4, R2, R5", "FFMA R4, R4, R2, 1"]);
    assert_eq!(polynomial.loaded_products(), [false; 4]);
    let distance = code(&["LDS R2, [R9]", "FADD R3, R2, -R8", "FFMA R4, R3, R3, R4"]);
    assert_eq!(distance.loaded_products(), [false; 3]);
}

/// The unsigned division `n / d` of compute capability 9.0.
#[test]
fn an_integer_division_is_recognised_by_its_reciprocal() {
    let texts = [
        "LDG.E R4, desc[UR4][R2.64]",
        "I2F.U32.RP R0, R7",
        "MUFU.RCP R0, R0",
        "IADD3 R2, R0, 0xffffffe, RZ",
        "F2I.FTZ.U32.TRUNC.NTZ R3, R2",
        "IMAD.HI.U32 R3, R3, R4, RZ",
        "FMUL R9, R9, R9",
    ];
    let instructions = texts.iter().zip(0u64..).map(|(text, at)| text::parse(text, 16 * at)).collect();
    let code = MachineCode { instructions, ..MachineCode::default() };
    assert_eq!(code.integer_divisions(), [false, true, true, true, true, true, false]);
}

/// The sine of 9.0 on its fast path, and a product that is none.
#[test]
fn an_exact_function_is_recognised_by_its_constant() {
    let texts = [
        "FMUL R6, R0.reuse, 0.63661974668502807617",
        "F2I.NTZ R10, R6",
        "I2FP.F32.S32 R7, R10",
        "FFMA R8, R7, -1.5707962512969970703, R0",
        "FMUL R9, R1, 0.5",
    ];
    let instructions = texts.iter().zip(0u64..).map(|(text, at)| text::parse(text, 16 * at)).collect();
    let code = MachineCode { instructions, ..MachineCode::default() };
    assert_eq!(code.exact_functions(), [true, true, true, true, false]);
    let division = ["MUFU.RCP R5, R8", "FCHK P0, R7, R8", "FFMA R0, R5, -R8, 1", "FADD R1, R2, R3"];
    let instructions = division.iter().zip(0u64..).map(|(text, at)| text::parse(text, 16 * at)).collect();
    let code = MachineCode { instructions, ..MachineCode::default() };
    assert_eq!(code.exact_functions(), [true, false, true, false]);
}

fn code_of(texts: &[&str]) -> MachineCode {
    let instructions = texts.iter().zip(0u64..).map(|(text, at)| text::parse(text, 16 * at)).collect();
    MachineCode { instructions, has_targets: true, ..MachineCode::default() }
}

/// 1 / x ends at its last correction, whose operands are the reciprocal and an earlier step; a multiplication by it is not a part of it.
#[test]
fn an_exact_reciprocal_ends_at_its_result() {
    let code = code_of(&[
        "VIADD R2, R0, 0x1800000",
        "ISETP.GT.U32.AND P0, PT, R2, 0x1ffffff, PT",
        "MUFU.RCP R9, R0",
        "FFMA R2, R0, R9, -1",
        "FADD.FTZ R2, -R2, -RZ",
        "FFMA R9, R9, R2, R9",
        "FMUL R11, R4, R9",
        "FFMA R4, R11, R5, R4",
    ]);
    assert_eq!(code.exact_functions(), [false, false, true, true, true, true, false, false]);
}

/// The second load is at an address from the first one, the third at one from the thread's index. A predicate that depends on
/// loaded values is no address, and what was loaded before a loop names where it begins.
#[test]
fn a_gather_is_a_load_at_a_loaded_address() {
    let code = code_of(&[
        "LDG.E R0, desc[UR4][R2.64]",
        "IMAD.WIDE R4, R0, 0x4, R6",
        "LDG.E R8, desc[UR4][R4.64]",
        "ISETP.GE.AND P0, PT, R8, 0x1, PT",
        "@P0 LDG.E R14, desc[UR4][R10.64]",
        "@P0 LEA R8, R12, R13, 0x4",
        "@P0 LDG.E R9, desc[UR4][R8.64]",
    ]);
    assert_eq!([0, 2, 4, 6].map(|at| code.is_gather(at)), [false, true, false, false]);
    let mut gap = code.clone();
    gap.instructions.remove(1);
    assert!(!gap.is_gather(1), "its address is unknown");
    let mut code = code_of(&[
        "LDG.E R4, desc[UR4][R2.64]",
        "IMAD.WIDE R6, R4, 0x4, R10",
        "LDG.E R8, desc[UR4][R6.64]",
        "IADD3 R6, R6, 0x4, RZ",
        "@P0 BRA 0x20",
    ]);
    code.loops = BTreeMap::from([(2, 4)]);
    assert!(!code.is_gather(2), "a row of a sparse matrix");
}

/// A listing of a run names targets by their offsets; older ones by labels.
#[test]
fn the_loops_of_a_listing_are_known_from_its_branches() {
    let listing = |branch: &str| Listing {
        instructions: ["MOV R1, R2", "LDS R0, [R3]", branch]
            .iter()
            .zip(0u64..)
            .map(|(text, at)| Instruction {
                offset: 16 * at,
                text: Some((*text).to_owned()),
                line: None,
                inlined: None,
            })
            .collect(),
        ..Listing::default()
    };
    let code = MachineCode::of_listing(&listing("@P0 BRA 0x10"));
    assert_eq!((code.loops, code.has_targets), (BTreeMap::from([(1, 2)]), true));
    let labelled = MachineCode::of_listing(&listing("@P0 BRA `(.L_x_1)"));
    assert_eq!((labelled.loops, labelled.has_targets), (BTreeMap::new(), false));
}

/// At the head of a loop the producer is at its end: the load for the next step.
#[test]
fn a_wait_at_the_head_of_a_loop_is_for_a_load_at_its_end() {
    let texts = ["MUFU.RCP R0, R1", "FADD R2, R0, R4", "LDS R0, [R3]", "MOV R9, R8"];
    let instructions = texts.iter().zip(0u64..).map(|(text, at)| text::parse(text, 16 * at)).collect();
    let mut code = MachineCode { instructions, has_targets: true, ..MachineCode::default() };
    assert_eq!(code.producer(1, DependencyState::ShortScoreboard), Some(0));
    code.loops = BTreeMap::from([(1, 3)]);
    assert_eq!(code.producer(1, DependencyState::ShortScoreboard), Some(2));
    assert_eq!(code.producer(1, DependencyState::LongScoreboard), None);
    assert_eq!(code.instructions[2].operation, Operation::Load(MemorySpace::Shared));
    assert_eq!(Register::vector(255), None);
}

/// A sum in double precision of single-precision data: its conversions wait for the loads, as any addition does.
#[test]
fn waits_for_a_load_are_no_time_of_the_instruction_that_waits() {
    let code = code_of(&[
        "LDG.E R4, desc[UR4][R2.64]",
        "F2F.F64.F32 R6, R4",
        "DADD R8, R8, R6",
        "FADD R10, R10, R4",
        "STS.64 [R0], R8",
    ]);
    let counted: [(u64, &[(&str, u64)]); 5] = [
        (10, &[]),
        (10, &[("long_scoreboard", 80), ("selected", 1)]),
        (10, &[("short_scoreboard", 9), ("math_pipe_throttle", 2)]),
        (10, &[]),
        (10, &[("wait", 8)]),
    ];
    let mut samples = InstructionSamples::default();
    for ((times, reasons), offset) in counted.iter().zip((0u64..).step_by(16)) {
        samples.executed.insert(offset, *times);
        let reasons = reasons.iter().map(|(reason, count)| ((*reason).to_owned(), *count));
        samples.places.insert(offset, reasons.collect());
    }
    let facts: BTreeMap<&str, f64> = code_facts(&code, &samples).into_iter().collect();
    assert_eq!((facts["f64_instruction_pct"], facts["f64_time_pct"]), (40.0, 20.0));
}

/// The loop over tiles of a block whose last warp copies: 8 tiles, 1 of 5 warps. The copies before the loop do not count.
#[test]
fn warps_that_copy_for_others_are_counted_by_their_barrier() {
    let mut code = code_of(&[
        "LDGSTS.E.BYPASS.128 [R2], [R4.64]",
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        "@P1 BRA 0x40",
        "LDGSTS.E.BYPASS.128 [R2], [R4.64]",
        "FFMA R4, R5, R6, R7",
        "@P0 BRA 0x10",
    ]);
    code.loops = code.backward_branches();
    let facts = |executed: [u64; 6]| {
        let mut samples = InstructionSamples::default();
        for (times, offset) in executed.iter().zip((0u64..).step_by(16)) {
            samples.executed.insert(offset, *times);
        }
        code_facts(&code, &samples).into_iter().find(|(name, _)| *name == "copying_warps_pct").map(|(_, value)| value)
    };
    assert_eq!(facts([5, 40, 40, 8, 40, 40]), Some(20.0));
    assert_eq!(facts([5, 40, 40, 40, 40, 40]), Some(100.0));
    assert_eq!(facts([5, 40, 40, 0, 40, 40]), None, "no copies in the loop");
}

/// The start of a block of `kernels/sdpa_hopper`, with the executions and samples of 512 blocks of 8 warps on an H200. A thread
/// sets up while the others wait, all wait for the first tile, and then for their products.
#[test]
fn waits_for_products_and_at_the_start_of_a_block_are_told_apart() {
    type Counted<'t> = (&'t str, u64, &'t [(&'t str, u64)]);
    let counted: [Counted<'_>; 9] = [
        ("LDC R1, c[0x0][0x28]", 4096, &[("wait", 35)]),
        ("SYNCS.EXCH.64 URZ, [UR33], UR8", 512, &[]),
        ("BSYNC B0", 8192, &[("wait", 6)]),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", 4096, &[]),
        ("SHF.R.S32.HI R2, RZ, 0x1f, R3", 4096, &[("barrier", 186), ("wait", 8)]),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R0", 9000, &[("long_scoreboard", 342)]),
        ("WARPGROUP.DEPBAR.LE gsb0, 0x0", 4096, &[("barrier", 118)]),
        ("FFMA R4, R5, R6, R7", 12_288, &[("long_scoreboard", 43), ("wait", 262)]),
        ("WARPGROUP.DEPBAR.LE gsb0, 0x1", 12_288, &[("barrier", 300)]),
    ];
    let code = code_of(&counted.map(|(text, ..)| text));
    let facts = |at: usize| {
        let mut samples = InstructionSamples::default();
        for ((_, times, reasons), offset) in counted.iter().take(at).zip((0u64..).step_by(16)) {
            samples.executed.insert(offset, *times);
            let reasons = reasons.iter().map(|(reason, count)| ((*reason).to_owned(), *count));
            samples.places.insert(offset, reasons.collect());
        }
        let facts: BTreeMap<&str, f64> = code_facts(&code, &samples).into_iter().collect();
        (facts["waits_for_products_pct"], facts["start_wait_pct"])
    };
    let (products, start) = facts(9);
    assert!((products - 100.0 * 418.0 / 1300.0).abs() < 1e-9, "{products}");
    assert!((start - 100.0 * 528.0 / 1300.0).abs() < 1e-9, "{start}");
    assert_eq!(facts(7).1, 0.0, "without a loop the whole kernel is its start");
    let place = |at: u64| code.barrier_before(16 * at);
    assert_eq!((place(3), place(4), place(5), place(99)), (None, Some(48), None, None));
    assert_eq!([4, 6].map(|at| code.is_product(16 * at)), [false, true]);
}

/// A producer and a consumer of `kernels/sdpa_hopper/sdpa_persistent.cu`: ptxas tries once, and tries again behind the code.
#[test]
fn a_wait_at_an_mbarrier_is_for_what_comes_after_it() {
    let texts = [
        "@P3 BRA 0x80",                                       // 0x00
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR14], R12",     // 0x10: a consumer
        "FADD R185, R150, R183",                              // 0x20
        "@!P0 BRA 0xd0",                                      // 0x30
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR50], R7",      // 0x40
        "@!P1 BRA 0x40",                                      // 0x50
        "HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, gsb0",     // 0x60
        "EXIT",                                               // 0x70
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR25+0x10], R2", // 0x80: the producer
        "@!P0 BRA 0x100",                                     // 0x90
        "SYNCS.ARRIVE.TRANS64 RZ, [UR25], R2",                // 0xa0
        "UTMALDG.4D [UR24], [UR10]",                          // 0xb0
        "@P2 BRA 0x80",                                       // 0xc0
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR14], R12",     // 0xd0
        "@!P0 BRA 0xd0",                                      // 0xe0
        "BRA 0x40",                                           // 0xf0
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR25+0x10], R2", // 0x100
        "@!P0 BRA 0x100",                                     // 0x110
        "BRA 0xa0",                                           // 0x120
    ];
    let listing = |texts: &[&str]| Listing {
        instructions: (0u64..)
            .step_by(16)
            .zip(texts)
            .map(|(offset, text)| Instruction { offset, text: Some((*text).to_owned()), line: None, inlined: None })
            .collect(),
        ..Listing::default()
    };
    let code = MachineCode::of_listing(&listing(&texts));
    let waits: BTreeMap<u64, MbarrierWait> =
        code.instructions.iter().filter_map(|i| Some((i.offset, code.mbarrier_wait(i.offset)?))).collect();
    let (data, slot) = (MbarrierWait::Data, MbarrierWait::FreeSlot);
    let expected = [(0x30, data), (0x50, data), (0x90, slot), (0xe0, data), (0x110, slot)];
    assert_eq!(waits, BTreeMap::from(expected));
    // what another instruction before the product makes of the consumer's first wait
    for (instruction, expected) in [
        ("LDS R4, [R5]", data),
        ("FADD R4, R5, R6", data),
        ("UTMALDG.4D [UR24], [UR10]", slot),
        ("STS [R5], R4", slot),
        ("@P4 UBLKCP.S.G [UR10], [UR4], UR8", slot),
        ("@P4 BRA 0xb0", MbarrierWait::Unknown),
        ("UBLKCP.G.S [UR10], [UR4], UR8", MbarrierWait::Unknown),
        ("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UP0", MbarrierWait::Unknown),
        ("CALL.REL.NOINC 0x0", MbarrierWait::Unknown),
        ("BRX R2 -0x490", MbarrierWait::Unknown),
        ("EXIT", MbarrierWait::Unknown),
    ] {
        let mut other = texts;
        other[4] = instruction;
        let code = MachineCode::of_listing(&listing(&other));
        assert_eq!(code.mbarrier_wait(0x30), Some(expected), "{instruction}");
    }
    let mut labelled = texts;
    labelled[3] = "@!P0 BRA `(.L_x_1)";
    assert_eq!(MachineCode::of_listing(&listing(&labelled)).mbarrier_wait(0x30), Some(MbarrierWait::Unknown));
    // an instruction that did not execute is on no path
    let mut unexecuted = code.clone();
    unexecuted.instructions.retain(|i| !(0xd0..0x100).contains(&i.offset));
    assert_eq!(unexecuted.mbarrier_wait(0x30), Some(data));
}

/// Shares of the samples: ncu counts waits at mbarriers as waits for memory.
#[test]
fn samples_at_mbarriers_are_told_from_those_for_loads() {
    let code = code_of(&[
        "LDG.E R4, desc[UR4][R2.64]",
        "IMAD R6, R4, 0x4, R10",
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R0",
        "@!P0 BRA 0x20",
        "LDS R8, [R6]",
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R0",
        "@!P0 BRA 0x50",
        "UTMALDG.4D [UR24], [UR10]",
    ]);
    let samples = |state: &str| {
        let place = |(offset, count): (u64, u64)| (offset, BTreeMap::from([(state.to_owned(), count)]));
        InstructionSamples { places: [(0x10, 50), (0x30, 30), (0x60, 20)].map(place).into(), ..Default::default() }
    };
    let facts = |state: &str| {
        let facts: BTreeMap<&str, f64> = code_facts(&code, &samples(state)).into_iter().collect();
        ["waits_at_mbarriers_pct", "mbarrier_data_pct", "mbarrier_slot_pct"].map(|name| facts[name])
    };
    assert_eq!(facts("long_scoreboard"), [50.0, 30.0, 20.0]);
    assert_eq!(facts("wait"), [0.0; 3]);
}

#[test]
fn constants_of_a_text_are_their_bits() {
    let bits = |constant: &str| text::parse(&format!("FADD R0, R1, {constant}"), 0).immediate;
    assert_eq!((bits("-0x1"), bits("0x7fffffff"), bits("1.5")), (Some(u32::MAX), Some(0x7fff_ffff), Some(0x3fc0_0000)));
    assert_eq!((bits("-0x-8000000000000000"), bits("0x10000000000000000")), (None, None));
}
