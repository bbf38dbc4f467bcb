//! A machine instruction, as far as rules read it.

use std::ops::Range;

/// Format of floating-point operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatFormat {
    Half,
    Single,
    Double,
}

/// Kind of floating-point arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatOperation {
    Add,
    Multiply,
    Fused,
    /// Comparisons, minima, selections.
    Comparison,
}

/// A memory that an instruction accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemorySpace {
    /// Global memory, also by generic addresses.
    Global,
    Shared,
    Local,
    /// Constant memory at an address that is the same in all lanes.
    Constant,
    /// Constant memory at an address in a register of each lane.
    IndexedConstant,
    Texture,
}

/// A function of the special function unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialFunction {
    Reciprocal,
    Other,
}

/// A conversion of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversionKind {
    /// From or to double precision.
    Double,
    /// An integer to the next larger float: the first step of an integer division, and of nothing else.
    IntegerUp,
    Other,
}

/// Class of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Float(FloatOperation, FloatFormat),
    /// Integer arithmetic, logic, moves and comparisons.
    Integer,
    /// Check of operands before the fast path of an exact division.
    DivisionCheck,
    Conversion(ConversionKind),
    SpecialFunction(SpecialFunction),
    /// Counts and searches of bits, which run on the pipe of special functions.
    BitCount,
    Load(MemorySpace),
    Store(MemorySpace),
    Atomic(MemorySpace),
    CompareAndSwap(MemorySpace),
    /// A copy from global to shared memory by each lane.
    AsyncCopy,
    /// Assigns earlier copies to a scoreboard.
    AsyncCommit,
    /// Waits for a scoreboard that it names.
    ScoreboardWait,
    /// A copy to shared memory by the copy engine.
    BulkLoad,
    /// Its other operations.
    BulkCopy,
    /// Operations on mbarriers in shared memory, without those of [`Self::PhaseCheck`].
    TransactionBarrier,
    /// Asks whether a phase of an mbarrier is complete, and may wait for it: `mbarrier.try_wait`, `mbarrier.test_wait`.
    PhaseCheck,
    Shuffle,
    Vote,
    Barrier,
    Fence,
    Branch,
    Call,
    Tensor,
    SystemRegister,
    /// No operation, and instructions without a result.
    Control,
    Unknown,
}

/// A register: 32 bits of a lane or of a warp, or a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(u16);

impl Register {
    const UNIFORM: u16 = 256;
    const PREDICATE: u16 = 512;
    const UNIFORM_PREDICATE: u16 = 528;
    /// All predicates of a lane.
    pub const PREDICATES: Range<u16> = Self::PREDICATE..Self::PREDICATE + 7;
    /// One more than the highest number.
    pub const COUNT: usize = 544;

    /// `R0` to `R254`; none for `RZ`.
    pub fn vector(number: u64) -> Option<Self> {
        (number < 255).then_some(Self(number as u16))
    }

    /// `UR0` to `UR254`; none for `URZ`.
    pub fn uniform(number: u64) -> Option<Self> {
        (number < 255).then_some(Self(Self::UNIFORM + number as u16))
    }

    /// `P0` to `P6`; none for `PT`.
    pub fn predicate(number: u64) -> Option<Self> {
        (number < 7).then_some(Self(Self::PREDICATE + number as u16))
    }

    /// `UP0` to `UP6`; none for `UPT`.
    pub fn uniform_predicate(number: u64) -> Option<Self> {
        (number < 7).then_some(Self(Self::UNIFORM_PREDICATE + number as u16))
    }

    /// This and the following registers of the same kind.
    pub fn range(self, count: u8) -> Range<u16> {
        let end = match self.0 {
            0..Self::UNIFORM => Self::UNIFORM - 1,
            Self::UNIFORM..Self::PREDICATE => Self::PREDICATE - 1,
            _ => self.0 + 1,
        };
        self.0..(self.0 + u16::from(count)).min(end)
    }
}

/// The scoreboards of an instruction: six counters of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scoreboards {
    /// The one that it holds until its result is written.
    pub result: Option<u8>,
    /// The one that it holds until its operands are read.
    pub operands: Option<u8>,
    /// Those that it waits for before it issues, one bit each.
    pub waits: u8,
}

impl Scoreboards {
    /// Whether it holds that scoreboard.
    pub fn holds(&self, scoreboard: u8) -> bool {
        self.result == Some(scoreboard) || self.operands == Some(scoreboard)
    }
}

/// A decoded instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct CodeInstruction {
    /// Bytes from the first counted instruction of the launch.
    pub offset: u64,
    /// `LDS`; in a listing with its modifiers.
    pub mnemonic: Box<str>,
    pub operation: Operation,
    /// Bytes that an access moves for a lane; none for other instructions.
    pub bytes: Option<u8>,
    pub writes: Vec<Range<u16>>,
    /// Including its guard.
    pub reads: Vec<Range<u16>>,
    /// The predicate under which it executes.
    pub guard: Option<Register>,
    /// A constant operand of arithmetic, as bits.
    pub immediate: Option<u32>,
    /// None in a listing of text.
    pub scoreboards: Option<Scoreboards>,
    /// The target of a branch, in the same unit as `offset`.
    pub target: Option<u64>,
}

impl CodeInstruction {
    pub(super) fn unknown(offset: u64, scoreboards: Option<Scoreboards>) -> Self {
        Self {
            offset,
            mnemonic: "unknown".into(),
            operation: Operation::Unknown,
            bytes: None,
            writes: Vec::new(),
            reads: Vec::new(),
            guard: None,
            immediate: None,
            scoreboards,
            target: None,
        }
    }

    pub fn reads(&self, register: u16) -> bool {
        self.reads.iter().any(|range| range.contains(&register))
    }

    /// The registers that it reads, without predicates.
    pub(super) fn operands(&self) -> impl Iterator<Item = u16> + '_ {
        self.reads.iter().cloned().flatten().filter(|register| *register < Register::PREDICATE)
    }

    pub fn writes(&self, register: u16) -> bool {
        self.writes.iter().any(|range| range.contains(&register))
    }

    /// Whether it writes a register that the other one reads.
    pub fn feeds(&self, other: &Self) -> bool {
        let overlap = |a: &Range<u16>, b: &Range<u16>| a.start < b.end && b.start < a.end;
        self.writes.iter().any(|written| other.reads.iter().any(|read| overlap(written, read)))
    }
}

/// What an opcode alone leaves open.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Modifiers {
    /// Converts from or to double precision.
    pub double: bool,
    /// Rounds up.
    pub upward: bool,
    pub reciprocal: bool,
    pub compare_and_swap: bool,
    /// Reads constant memory at an address in a register.
    pub indexed: bool,
    /// Asks for a phase of an mbarrier.
    pub phase_check: bool,
    /// Writes global memory.
    pub to_global: bool,
}

impl Operation {
    /// The class of a mnemonic without its modifiers.
    pub(super) fn of(name: &str, modifiers: Modifiers) -> Self {
        use FloatFormat::{Double, Half, Single};
        use FloatOperation::{Add, Comparison, Fused, Multiply};
        use MemorySpace::{Constant, Global, IndexedConstant, Local, Shared, Texture};
        let atomic = |space| match modifiers.compare_and_swap {
            true => Self::CompareAndSwap(space),
            false => Self::Atomic(space),
        };
        match name {
            "FADD" | "FADD2" | "FADD32I" | "FSWZADD" | "UFADD" => Self::Float(Add, Single),
            "FMUL" | "FMUL2" | "FMUL32I" | "UFMUL" => Self::Float(Multiply, Single),
            "FFMA" | "FFMA2" | "FFMA32I" | "UFFMA" => Self::Float(Fused, Single),
            "FMNMX" | "FMNMX3" | "FSEL" | "FSETP" | "FSET" | "UFMNMX" | "UFSEL" | "UFSETP" | "UFSET" => {
                Self::Float(Comparison, Single)
            }
            "HADD2" | "HADD2_32I" => Self::Float(Add, Half),
            "HMUL2" | "HMUL2_32I" => Self::Float(Multiply, Half),
            "HFMA2" | "HFMA2_32I" => Self::Float(Fused, Half),
            "HMNMX2" | "HSETP2" | "HSET2" => Self::Float(Comparison, Half),
            "DADD" => Self::Float(Add, Double),
            "DMUL" => Self::Float(Multiply, Double),
            "DFMA" => Self::Float(Fused, Double),
            "DMNMX" | "DSETP" => Self::Float(Comparison, Double),
            "FCHK" => Self::DivisionCheck,
            "I2F" | "UI2F" if modifiers.upward => Self::Conversion(ConversionKind::IntegerUp),
            "I2F" | "F2I" | "F2F" | "FRND" if modifiers.double => Self::Conversion(ConversionKind::Double),
            "I2F" | "F2I" | "F2F" | "FRND" | "I2FP" | "F2FP" | "F2IP" | "I2I" | "I2IP" | "UI2F" | "UI2FP" | "UF2I"
            | "UF2FP" | "UF2F" | "UFRND" => Self::Conversion(ConversionKind::Other),
            "MUFU" if modifiers.reciprocal => Self::SpecialFunction(SpecialFunction::Reciprocal),
            "MUFU" => Self::SpecialFunction(SpecialFunction::Other),
            "POPC" | "FLO" | "BREV" | "UPOPC" | "UFLO" | "UBREV" => Self::BitCount,
            "LDG" | "LD" => Self::Load(Global),
            "LDS" | "LDSM" => Self::Load(Shared),
            "LDL" => Self::Load(Local),
            "LDC" if modifiers.indexed => Self::Load(IndexedConstant),
            "LDC" | "ULDC" | "LDCU" => Self::Load(Constant),
            "TEX" | "TLD" | "TLD4" | "TMML" | "TXD" | "TXQ" | "SULD" => Self::Load(Texture),
            "STG" | "ST" => Self::Store(Global),
            "STS" | "STSM" | "STAS" => Self::Store(Shared),
            "STL" => Self::Store(Local),
            "SUST" => Self::Store(Texture),
            "ATOM" | "ATOMG" | "RED" | "REDG" => atomic(Global),
            "ATOMS" | "REDAS" => atomic(Shared),
            "SUATOM" | "SURED" => atomic(Texture),
            "LDGSTS" => Self::AsyncCopy,
            "LDGDEPBAR" => Self::AsyncCommit,
            "DEPBAR" => Self::ScoreboardWait,
            "UTMALDG" => Self::BulkLoad,
            "UBLKCP" if !modifiers.to_global => Self::BulkLoad,
            "UBLKCP" | "UBLKPF" | "UBLKRED" | "UTMASTG" | "UTMAREDG" | "UTMAPF" | "UTMACMDFLUSH" | "UTMACCTL" => {
                Self::BulkCopy
            }
            "SYNCS" if modifiers.phase_check => Self::PhaseCheck,
            "SYNCS" => Self::TransactionBarrier,
            "SHFL" => Self::Shuffle,
            "VOTE" | "VOTEU" | "MATCH" | "REDUX" | "CREDUX" | "ELECT" => Self::Vote,
            "BAR" | "UCGABAR_ARV" | "UCGABAR_WAIT" => Self::Barrier,
            "MEMBAR" | "ERRBAR" | "CGAERRBAR" | "FENCE" | "CCTL" | "CCTLL" | "CCTLT" => Self::Fence,
            "BRA" | "BRX" | "BRXU" | "JMP" | "JMX" | "JMXU" | "BSSY" | "BSYNC" | "BREAK" | "EXIT" | "RET" | "YIELD"
            | "NANOSLEEP" | "KILL" | "BPT" | "WARPSYNC" | "RTT" => Self::Branch,
            "CALL" => Self::Call,
            "HMMA" | "IMMA" | "DMMA" | "BMMA" | "QMMA" | "OMMA" | "HGMMA" | "IGMMA" | "QGMMA" | "BGMMA" | "UTCHMMA"
            | "UTCIMMA" | "UTCQMMA" | "UTCOMMA" | "UTCMXQMMA" | "UTCBAR" | "UTCCP" | "UTCSHIFT" | "UTCATOMSWS"
            | "LDTM" | "STTM" | "WARPGROUP" | "WARPGROUPSET" => Self::Tensor,
            "S2R" | "S2UR" | "CS2R" | "CS2UR" | "B2R" | "R2B" | "BMOV" | "LEPC" | "QSPC" | "RPCMOV" | "GETLMEMBASE"
            | "SETLMEMBASE" => Self::SystemRegister,
            "NOP" | "PREEXIT" | "ACQBULK" | "ENDCOLLECTIVE" | "USETMAXREG" | "PMTRIG" | "UVIRTCOUNT" => Self::Control,
            "MOV" | "MOV32I" | "SEL" | "IADD3" | "IADD" | "VIADD" | "LEA" | "LOP3" | "LOP" | "IABS" | "VABSDIFF"
            | "VABSDIFF4" | "PRMT" | "IMNMX" | "SHF" | "SHL" | "SHR" | "PLOP3" | "ISETP" | "R2P" | "P2R" | "IDP"
            | "IDP4A" | "VIADDMNMX" | "VIMNMX" | "VIMNMX3" | "IMAD" | "IMUL" | "BMSK" | "SGXT" | "R2UR" | "MOVM" => {
                Self::Integer
            }
            // The uniform pipe has the operations of the vector pipes.
            uniform => match uniform.strip_prefix('U') {
                Some(vector) if !vector.starts_with('U') => match Self::of(vector, modifiers) {
                    Self::Integer => Self::Integer,
                    _ => Self::Unknown,
                },
                _ => Self::Unknown,
            },
        }
    }

    /// Whether it moves a known number of bytes for each lane.
    pub(super) fn has_width(self) -> bool {
        use MemorySpace::{Global, Local, Shared};
        matches!(self, Self::Load(Global | Local | Shared) | Self::Store(Global | Local | Shared))
    }

    /// Its name in a finding.
    pub fn noun(self) -> &'static str {
        use MemorySpace::{Constant, Global, IndexedConstant, Local, Shared, Texture};
        match self {
            Self::Load(Global) => "load from global memory",
            Self::Load(Shared) => "load from shared memory",
            Self::Load(Local) => "load from local memory",
            Self::Load(Constant) => "load from constant memory",
            Self::Load(IndexedConstant) => "indexed load from constant memory",
            Self::Load(Texture) => "texture load",
            Self::Store(Shared) => "store to shared memory",
            Self::Store(Local) => "store to local memory",
            Self::Store(_) => "store to global memory",
            Self::Atomic(Shared) => "atomic operation on shared memory",
            Self::Atomic(_) => "atomic operation on global memory",
            Self::CompareAndSwap(Shared) => "compare-and-swap on shared memory",
            Self::CompareAndSwap(_) => "compare-and-swap on global memory",
            Self::AsyncCopy | Self::AsyncCommit => "asynchronous copy",
            Self::BulkLoad | Self::BulkCopy => "bulk copy",
            Self::TransactionBarrier | Self::PhaseCheck => "mbarrier",
            Self::SpecialFunction(_) => "special function",
            Self::Conversion(ConversionKind::Double) => "conversion from or to double precision",
            Self::Conversion(_) => "conversion",
            Self::BitCount => "bit count",
            Self::Shuffle => "shuffle",
            Self::Vote => "vote",
            Self::SystemRegister => "special register",
            Self::Tensor => "matrix instruction",
            Self::Float(_, FloatFormat::Double) => "double-precision arithmetic",
            Self::Float(_, FloatFormat::Half) => "half-precision arithmetic",
            Self::Float(_, FloatFormat::Single) => "single-precision arithmetic",
            Self::DivisionCheck => "check of a division",
            Self::Integer => "integer arithmetic",
            Self::Barrier => "barrier",
            Self::Fence => "fence",
            Self::Call => "call",
            Self::Branch | Self::Control | Self::ScoreboardWait | Self::Unknown => "instruction",
        }
    }
}
