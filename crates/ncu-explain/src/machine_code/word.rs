//! Decodes machine words of compute capability 7.0 and later: 128 bits each. Bits 0 to 8 are the opcode, 9 to 11 the form of the
//! operands, 12 to 15 the guard; 16 to 23 the destination, 24 to 31, 32 to 39 and 64 to 71 the sources; 105 to 125
//! scoreboards and stalls. Opcodes and fields agree with what `nvdisasm` prints for code of 7.5 to 12.0, and with the
//! encoder of Mesa's NAK.

use super::instruction::{CodeInstruction, Modifiers, Operation, Register, Scoreboards};
use std::ops::Range;

/// Bytes of an instruction.
pub(super) const INSTRUCTION: usize = 16;

/// Registers that an opcode writes and reads, by the fields of the word: the destination, and the sources A (bits 24 to
/// 31), B (32 to 39) and C (64 to 71).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fields {
    Nothing,
    /// The destination alone.
    Result,
    /// B in form 1, where other forms have a constant.
    Unary,
    /// A, and B in form 1.
    Binary,
    /// A, and C in form 1.
    SplitBinary,
    /// A and C, and B in form 1.
    Ternary,
    /// The sources of [`Fields::Binary`]; the result is a predicate.
    Comparison,
    /// A.
    Load,
    /// A without a destination.
    Source,
    /// A and B without a destination.
    Store,
    /// A and B in every form.
    Atomic,
    /// A, B and C in every form.
    Swap,
    Shuffle,
    /// B in forms 1 and 3.
    Select,
    /// C is the stored value in form 1.
    GenericStore,
    /// A and B; the result is a predicate.
    PhaseCheck,
    /// Registers of the uniform pipe.
    Uniform,
}

/// The opcode of `SYNCS.PHASECHK` in form 2, and of `SYNCS.ARRIVE`.
const PHASE_CHECK: u16 = 0x1a7;

/// The opcode of `tcgen05.mma`, of every kind.
const ASYNC_PRODUCT: u16 = 0x1ea;

/// The mnemonic of a `tcgen05.mma` by its kind; none for an unknown one.
fn async_product(word: Word) -> Option<&'static str> {
    match (word.high(72, 2), word.low >> 63) {
        (0, 0) => Some("UTCHMMA"),
        (0, _) => Some("UTCOMMA"),
        (1, _) => Some("UTCIMMA"),
        (3, _) => Some("UTCQMMA"),
        _ => None,
    }
}

/// Mnemonic and fields by opcode.
fn opcode(code: u16, form: u16, major: u32) -> Option<(&'static str, Fields)> {
    use Fields::{
        Atomic, Binary, Comparison, GenericStore, Load, Nothing, PhaseCheck, Result, Select, Shuffle, Source,
        SplitBinary, Store, Swap, Ternary, Unary, Uniform,
    };
    let known = match code {
        0x02 => ("MOV", Unary),
        0x03 => ("P2R", Load),
        0x04 => ("R2P", Source),
        0x05 => ("CS2R", Result),
        0x06 => ("VOTE", Nothing),
        0x07 => ("SEL", Select),
        0x08 => ("FSEL", Binary),
        0x09 => ("FMNMX", Binary),
        0x0a => ("FSET", Binary),
        0x0b => ("FSETP", Comparison),
        0x0c => ("ISETP", Comparison),
        0x10 => ("IADD3", Ternary),
        0x11 => ("LEA", Ternary),
        0x12 => ("LOP3", Ternary),
        0x13 => ("IABS", Unary),
        0x14 | 0x15 => ("VABSDIFF", Ternary),
        0x16 => ("PRMT", Ternary),
        0x17 => ("IMNMX", Binary),
        0x19 => ("SHF", Ternary),
        0x1a => ("SGXT", Binary),
        0x1b => ("BMSK", Binary),
        0x1c => ("PLOP3", Nothing),
        0x20 => ("FMUL", Binary),
        0x21 => ("FADD", Binary),
        0x22 => ("FSWZADD", Binary),
        0x23 => ("FFMA", Ternary),
        0x24 | 0x25 | 0x27 => ("IMAD", Ternary),
        0x26 => ("IDP", Ternary),
        0x28 => ("DMUL", Binary),
        0x29 => ("DADD", SplitBinary),
        0x2a => ("DSETP", Comparison),
        0x2b => ("DFMA", Ternary),
        0x2d => ("PREEXIT", Nothing),
        0x2e => ("ACQBULK", Nothing),
        0x2f => ("ELECT", Nothing),
        0x30 => ("HADD2", Binary),
        0x32 => ("HMUL2", Binary),
        0x31 => ("HFMA2", Ternary),
        0x33 => ("HSET2", Binary),
        0x34 => ("HSETP2", Comparison),
        0x35 if major < 10 => ("HFMA2", Ternary),
        0x35 => ("IADD", Binary),
        0x36 => ("VIADD", Binary),
        0x37 => ("IMMA", Ternary),
        0x38 => ("I2I", Unary),
        0x39 => ("I2IP", Binary),
        0x3a => ("MOVM", Load),
        0x3b => ("LDSM", Load),
        0x3c => ("HMMA", Ternary),
        0x3d => ("BMMA", Ternary),
        0x3e => ("F2FP", Binary),
        0x3f => ("DMMA", Ternary),
        0x40 => ("HMNMX2", Binary),
        0x44 => ("STSM", Store),
        0x45 => ("I2FP", Unary),
        0x46 => ("VIADDMNMX", Ternary),
        0x48 => ("VIMNMX", Binary),
        0x49 => ("FFMA2", Ternary),
        0x4a if form == 1 && major == 10 => ("FMUL2", Binary),
        0x4b => ("FADD2", Binary),
        0x4a => ("UVIMNMX", Uniform),
        0x55 => ("UFFMA", Uniform),
        0x56 => ("UFMUL", Uniform),
        0x5a => ("UI2F", Uniform),
        0x5e => ("UI2FP", Uniform),
        0x76 => ("FMNMX3", Ternary),
        0x7a => ("QMMA", Ternary),
        0x7f => ("OMMA", Ternary),
        0xb9 => ("ULDC", Uniform),
        0x86 => ("VOTEU", Uniform),
        0xbd..=0xbf => ("UFLO", Uniform),
        0xca | 0x1c2 => ("R2UR", Source),
        0xcb => ("CS2UR", Uniform),
        0xcc => ("CREDUX", Source),
        0x80..=0xc9 => ("UMOV", Uniform),
        0x100 => ("FLO", Unary),
        0x101 => ("BREV", Unary),
        0x102 => ("FCHK", Comparison),
        0x104 | 0x110 => ("F2F", Unary),
        0x105 | 0x111 => ("F2I", Unary),
        0x106 | 0x112 => ("I2F", Unary),
        0x107 | 0x113 => ("FRND", Unary),
        0x108 => ("MUFU", Unary),
        0x109 => ("POPC", Unary),
        0x118 => ("NOP", Nothing),
        0x119 => ("S2R", Result),
        0x11a => ("DEPBAR", Nothing),
        0x11b => ("ENDCOLLECTIVE", Nothing),
        0x11c => ("B2R", Result),
        0x11d => ("BAR", Nothing),
        0x141 => ("BSYNC", Nothing),
        0x142 => ("BREAK", Nothing),
        0x143 | 0x144 => ("CALL", Nothing),
        0x145 => ("BSSY", Nothing),
        0x146 => ("YIELD", Nothing),
        0x147 => ("BRA", Nothing),
        0x148 => ("WARPSYNC", Nothing),
        0x149 => ("BRX", Source),
        0x14a => ("JMP", Nothing),
        0x14c => ("JMX", Source),
        0x14d => ("EXIT", Nothing),
        0x14e => ("LEPC", Result),
        0x14f => ("RTT", Nothing),
        0x150 => ("RET", Source),
        0x152 | 0x153 => ("RPCMOV", Nothing),
        0x155 => ("BMOV", Result),
        0x156 => ("BMOV", Nothing),
        0x158 => ("BRXU", Nothing),
        0x15b => ("KILL", Nothing),
        0x15c => ("BPT", Nothing),
        0x15d => ("NANOSLEEP", Nothing),
        0x160 | 0x161 => ("TEX", Atomic),
        0x163 | 0x164 => ("TLD4", Atomic),
        0x166 | 0x167 => ("TLD", Atomic),
        0x169 | 0x16a => ("TMML", Atomic),
        0x16c | 0x16d => ("TXD", Atomic),
        0x16f | 0x170 => ("TXQ", Load),
        0x17e | 0x181 => ("LDG", Load),
        0x17f | 0x186 => ("STG", Store),
        0x180 => ("LD", Load),
        0x182 => ("LDC", Load),
        0x183 => ("LDL", Load),
        0x184 => ("LDS", Load),
        0x185 => ("ST", GenericStore),
        0x187 => ("STL", Store),
        0x188 => ("STS", Store),
        0x189 => ("SHFL", Shuffle),
        0x18a | 0x1a2 => ("ATOM", Atomic),
        0x18b => ("ATOM", Swap),
        0x18c => ("ATOMS", Atomic),
        0x18d => ("ATOMS", Swap),
        0x18e | 0x1a6 => ("REDG", Store),
        0x18f => ("CCTL", Source),
        0x192 => ("MEMBAR", Nothing),
        0x198..=0x19a => ("SULD", Load),
        0x19c..=0x19e => ("SUST", Store),
        0x1a1 => ("MATCH", Load),
        0x1a3 | 0x1a8 => ("ATOMG", Atomic),
        0x1a9 => ("ATOMG", Swap),
        PHASE_CHECK if form == 2 => ("SYNCS", PhaseCheck),
        PHASE_CHECK | 0x1b1 | 0x1b2 => ("SYNCS", Nothing),
        0x1aa => ("QSPC", Source),
        0x1ab => ("ERRBAR", Nothing),
        0x1ac => ("LDCU", Uniform),
        0x1ae => ("LDGSTS", Nothing),
        0x1af => ("LDGDEPBAR", Nothing),
        0x1b4 => ("UTMALDG", Nothing),
        0x1b5 => ("UTMASTG", Nothing),
        0x1b6 => ("UTMAREDG", Nothing),
        0x1b7 => ("UTMACMDFLUSH", Nothing),
        0x1b8 => ("UTMAPF", Nothing),
        0x1b9 => ("UTMACCTL", Nothing),
        0x1ba => ("UBLKCP", Nothing),
        0x1c3 => ("S2UR", Uniform),
        0x1c4 => ("REDUX", Source),
        0x1c5 => ("WARPGROUP", Nothing),
        0x1c6 => ("FENCE", Nothing),
        0x1c7 => ("UCGABAR_WAIT", Nothing),
        0x1e3 => ("UTCATOMSWS", Nothing),
        0x1e6 => ("UTCSHIFT", Nothing),
        0x1e7 => ("UTCCP", Nothing),
        0x1e9 => ("UTCBAR", Nothing),
        ASYNC_PRODUCT => ("UTCHMMA", Nothing),
        0x1ed => ("STTM", Nothing),
        0x1ee => ("LDTM", Result),
        0x1f0 => ("HGMMA", Result),
        _ => return None,
    };
    Some(known)
}

/// A machine word.
#[derive(Debug, Clone, Copy)]
struct Word {
    low: u64,
    high: u64,
}

impl Word {
    fn low(self, at: u32, bits: u32) -> u64 {
        self.low >> at & ((1 << bits) - 1)
    }

    /// Bits from 64 on.
    fn high(self, at: u32, bits: u32) -> u64 {
        self.high >> (at - 64) & ((1 << bits) - 1)
    }

    fn scoreboards(self) -> Scoreboards {
        let named = |at: u32| (self.high(at, 3) < 6).then_some(self.high(at, 3) as u8);
        let waits = self.high(116, 6) as u8;
        // DEPBAR names one more
        let depbar = if self.low(0, 9) == 0x11a { 1 << self.low(44, 3).min(5) } else { 0 };
        Scoreboards { result: named(110), operands: named(113), waits: waits | depbar }
    }

    /// Bytes of an access by a lane.
    fn width(self) -> u8 {
        match self.high(73, 3) {
            0 | 1 => 1,
            2 | 3 => 2,
            4 => 4,
            5 => 8,
            _ => 16,
        }
    }

    /// Target of a branch relative to the next instruction, in bytes.
    fn jump(self, major: u32) -> i64 {
        // up to 8.9 bytes with a sign in bits 32 to 81; from 9.0 on units of 4 bytes in bits 34 to 81 and 16 to 23
        let high = ((self.high(64, 18) << 32 | self.low >> 32) << 14) as i64 >> 14;
        match major {
            ..9 => high & !0xf,
            _ => ((high >> 2) << 8 | self.low(16, 8) as i64).saturating_mul(4),
        }
    }
}

/// Whether words of this compute capability can be decoded.
pub(super) fn is_known(major: u32) -> bool {
    matches!(major, 7..=10 | 12)
}

/// The instructions of `code`, the first at `base`.
pub(super) fn decode(code: &[u8], base: u64, major: u32) -> Vec<CodeInstruction> {
    let words = code.as_chunks::<INSTRUCTION>().0.iter().zip(0u64..);
    words.map(|(bytes, at)| decoded(bytes, base.saturating_add(at * INSTRUCTION as u64), major)).collect()
}

fn decoded(bytes: &[u8; INSTRUCTION], offset: u64, major: u32) -> CodeInstruction {
    let both = u128::from_le_bytes(*bytes);
    let word = Word { low: both as u64, high: (both >> 64) as u64 };
    let (code, form) = (word.low(0, 9) as u16, word.low(9, 3) as u16);
    let known = opcode(code, form, major).and_then(|(name, fields)| match code {
        ASYNC_PRODUCT => Some((async_product(word)?, fields)),
        _ => Some((name, fields)),
    });
    let Some((name, fields)) = known else {
        return CodeInstruction::unknown(offset, Some(word.scoreboards()));
    };
    let modifiers = Modifiers {
        double: word.high(84, 2) == 3 && code != 0x112 || word.high(75, 2) == 3 && matches!(code, 0x110 | 0x112),
        upward: word.high(78, 2) == 2,
        reciprocal: word.high(74, 4) == 4,
        compare_and_swap: matches!(code, 0x18b | 0x18d | 0x1a9),
        indexed: word.low(24, 8) != 255,
        phase_check: fields == Fields::PhaseCheck,
        to_global: word.high(73, 2) == 2,
    };
    let operation = Operation::of(name, modifiers);
    let bytes = width(word, code, operation);
    let counts = counts(code, word, bytes);
    let (mut writes, mut reads) = registers(word, fields, form, counts);
    // the second half of 256 bits
    let second = Register::vector(word.high(64, 8)).map(|register| register.range(counts.d));
    match code {
        0x17e => writes.extend(second),
        0x17f => reads.extend(Register::vector(word.low(16, 8)).map(|register| register.range(counts.d))),
        // the condition of a branch besides its guard
        0x147 if form == 2 => reads.extend(Register::uniform_predicate(word.low(24, 3)).map(|one| one.range(1))),
        0x147 => reads.extend(Register::predicate(word.high(87, 3)).map(|one| one.range(1))),
        _ => {}
    }
    let target = (code == 0x147).then(|| offset.saturating_add(16).saturating_add_signed(word.jump(major)));
    CodeInstruction {
        offset,
        mnemonic: name.into(),
        operation,
        bytes,
        writes,
        reads,
        guard: guard(word, fields),
        immediate: (matches!(form, 2 | 4) && code < 0x80).then(|| word.low(32, 32) as u32),
        scoreboards: Some(word.scoreboards()),
        target,
    }
}

fn width(word: Word, code: u16, operation: Operation) -> Option<u8> {
    match code {
        0x17e | 0x17f => Some(32),
        0x3b | 0x44 => Some(4 << word.high(72, 2).min(2)),
        _ if operation.has_width() => Some(word.width()),
        _ => None,
    }
}

/// Registers of the destination, the address or first source, and the other sources.
#[derive(Debug, Clone, Copy)]
struct Counts {
    d: u8,
    a: u8,
    b: u8,
    c: u8,
}

fn counts(code: u16, word: Word, bytes: Option<u8>) -> Counts {
    let data = bytes.map_or(1, |bytes| bytes.div_ceil(4));
    match code {
        // double precision
        0x28 | 0x29 | 0x2a | 0x2b | 0x49..=0x4b => Counts { d: 2, a: 2, b: 2, c: 2 },
        // the product of IMAD.WIDE
        // (the last source may be elsewhere, and the factor in its place)
        0x25 => Counts { d: 2, a: 1, b: 1, c: if matches!(word.low(9, 3), 2 | 3 | 7) { 1 } else { 2 } },
        0x05 => Counts { d: 2, a: 1, b: 1, c: 1 },
        // constants
        0x182 => Counts { d: word.width().div_ceil(4), a: 1, b: 1, c: 1 },
        // conversions: two bits have the logarithm of each format's bytes
        0x110..=0x113 => {
            let of = |at| if word.high(at, 2) == 3 { 2 } else { 1 };
            Counts { d: of(75), a: 1, b: of(84), c: 1 }
        }
        0x37 | 0x3c | 0x3d | 0x3f => Counts { d: 4, a: 4, b: 4, c: 4 },
        0x1f0 => Counts { d: 64, a: 1, b: 1, c: 1 },
        0x1ee => Counts { d: 4, a: 1, b: 1, c: 1 },
        // addresses of 64 bits
        0x17e | 0x17f => Counts { d: 4, a: 2, b: 4, c: 4 },
        0x180 | 0x181 | 0x185 | 0x186 => Counts { d: data, a: 2, b: data, c: data },
        0x18a | 0x18b | 0x18e | 0x1a2 | 0x1a3 | 0x1a6 | 0x1a8 | 0x1a9 => {
            let data = if word.width() >= 8 { 2 } else { 1 };
            Counts { d: data, a: 2, b: data, c: data }
        }
        0x160..=0x170 | 0x198..=0x19e => Counts { d: 4, a: 2, b: 2, c: 2 },
        _ => Counts { d: data, a: 1, b: data, c: data },
    }
}

fn guard(word: Word, fields: Fields) -> Option<Register> {
    match fields {
        Fields::Uniform => Register::uniform_predicate(word.low(12, 3)),
        _ => Register::predicate(word.low(12, 3)),
    }
}

fn registers(word: Word, fields: Fields, form: u16, counts: Counts) -> (Vec<Range<u16>>, Vec<Range<u16>>) {
    let vector = |number: u64, count: u8| Register::vector(number).map(|register| register.range(count));
    let d = || vector(word.low(16, 8), counts.d);
    let a = || vector(word.low(24, 8), counts.a);
    let b = || vector(word.low(32, 8), counts.b);
    let c = || vector(word.high(64, 8), counts.c);
    let b_of_form = || b().filter(|_| form == 1);
    let predicate = || Register::predicate(word.high(81, 3)).map(|register| register.range(1));
    let guard = guard(word, fields).map(|register| register.range(1));
    let (written, read) = match fields {
        Fields::Nothing => (None, [None, None, None]),
        Fields::Result => (d(), [None, None, None]),
        Fields::Unary => (d(), [b_of_form(), None, None]),
        Fields::Load => (d(), [a(), None, None]),
        Fields::Binary => (d(), [a(), b_of_form(), None]),
        Fields::SplitBinary => (d(), [a(), c().filter(|_| form == 1), None]),
        Fields::Ternary => (d(), [a(), b_of_form(), c()]),
        Fields::Comparison => (predicate(), [a(), b_of_form(), None]),
        Fields::PhaseCheck => (predicate(), [a(), b(), None]),
        Fields::Source => (None, [a(), None, None]),
        Fields::Store => (None, [a(), b(), None]),
        Fields::Atomic => (d(), [a(), b(), None]),
        Fields::Swap => (d(), [a(), b(), c()]),
        Fields::Select => (d(), [a(), b().filter(|_| matches!(form, 1 | 3)), None]),
        Fields::GenericStore => (None, [a(), if form == 1 { c() } else { b() }, None]),
        Fields::Shuffle => {
            let lane = b().filter(|_| matches!(form, 1 | 2));
            (d(), [a(), lane, c().filter(|_| matches!(form, 1 | 4))])
        }
        Fields::Uniform => (Register::uniform(word.low(16, 8)).map(|register| register.range(1)), [None, None, None]),
    };
    (written.into_iter().collect(), read.into_iter().chain([guard]).flatten().collect())
}
