//! Changes of PTX that keep what a kernel computes, but for the rounding of floats.

use super::TRIED;
use ncu_explain::MachineCode;
use ncugate_cuda::build::{Arch, Nvcc};
use ncugate_model::Ablation;
use ncugate_model::cubin::{LineTable, machine_code};
use ncugate_phase::plan::{Arg, KernelLaunch};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A changed module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PtxEdit {
    pub kind: Ablation,
    text: String,
    pub changed: u32,
    pub left: u32,
}

/// A changed module, and the file with its machine code or why it would prove nothing.
#[derive(Debug)]
pub(super) struct PtxCopy {
    pub edit: PtxEdit,
    pub cubin: Result<PathBuf, &'static str>,
}

/// The PTX of a cubin, and where changes of it are assembled.
pub(super) struct PtxText<'a> {
    pub nvcc: &'a Nvcc,
    pub folder: &'a Path,
    pub image: &'a [u8],
    pub text: &'a str,
}

impl PtxText<'_> {
    /// A copy for each change that concerns the launched kernels, by their symbols. There are none unless the PTX as it is gives the machine code of the cubin.
    pub fn edited(&self, launches: &[(String, &KernelLaunch)]) -> Vec<PtxCopy> {
        let edits = ptx_edits(self.text, launches);
        let target = self.text.lines().find_map(|line| line.strip_prefix(".target ")?.split(',').next()?.parse().ok());
        let Some(arch) = target.filter(|_: &Arch| !edits.is_empty()) else { return Vec::new() };
        let symbols: BTreeSet<&str> = launches.iter().map(|(symbol, _)| symbol.as_str()).collect();
        let symbols: Vec<&str> = symbols.into_iter().collect();
        let texts: Vec<&str> = std::iter::once(self.text).chain(edits.iter().map(|edit| &*edit.text)).collect();
        let path = |number: usize| self.folder.join(format!("ptx_{number}.cubin"));
        let assemble = |(number, text): (usize, &str)| self.nvcc.assemble_text(text, &arch, &symbols, &path(number));
        let mut assembled: Vec<Result<Vec<u8>, String>> = texts.into_par_iter().enumerate().map(assemble).collect();
        let copies = assembled.split_off(1);
        let code = |image: &[u8]| {
            let of = |own: &&str| machine_code(image, own).ok().flatten().map(<[u8]>::to_vec);
            symbols.iter().map(of).collect::<Option<Vec<_>>>()
        };
        let Some(before) = code(self.image) else { return Vec::new() };
        if !assembled.iter().flatten().any(|again| code(again).as_ref() == Some(&before)) {
            return Vec::new();
        }
        let before: Vec<_> = before.iter().map(|code| other_instructions(code)).collect();
        let is_evidence = |copy: &Vec<u8>| {
            let after = code(copy).unwrap_or_default();
            let pairs = before.iter().zip(&after).map(|(before, after)| (before, other_instructions(after)));
            let mut counts = pairs.flat_map(|(before, after)| before.iter().copied().zip(after));
            after.len() == before.len() && counts.all(|(before, after)| is_near(before, after))
        };
        let checked = edits.into_iter().zip(copies).enumerate().map(|(number, (edit, copy))| {
            let cubin = match copy {
                Err(_) => Err("the toolkit does not assemble it"),
                Ok(copy) if !is_evidence(&copy) => Err("the compiler changes its memory accesses or barriers too"),
                Ok(_) => Ok(path(number + 1)),
            };
            PtxCopy { edit, cubin }
        });
        checked.collect()
    }
}

/// How many instructions a kernel has of each kind that changed arithmetic should leave alone.
fn other_instructions(code: &[u8]) -> [usize; 7] {
    let decoded = MachineCode::of_words(code, 0, TRIED.major);
    let edits = decoded.map(|read| read.edits(code, TRIED.major, &LineTable::default())).unwrap_or_default();
    let kinds = [
        Ablation::Barriers,
        Ablation::LocalMemory,
        Ablation::GlobalMemory,
        Ablation::SharedMemory,
        Ablation::Atomics,
        Ablation::MatrixProducts,
        Ablation::Shuffles,
    ];
    kinds
        .map(|kind| edits.iter().find(|edit| edit.kind == kind).map_or(0, |edit| edit.words.len() + edit.left as usize))
}

/// Whether two counts differ by 15 % at most; few may differ by one.
fn is_near(before: usize, after: usize) -> bool {
    100 * before.abs_diff(after) <= (15 * before).max(100 * usize::from(before > 0))
}

/// A line of nvcc: `@%p1 div.u32 %r1, %r2, %r3;`.
struct Instruction<'t> {
    opcode: &'t str,
    arguments: Vec<&'t str>,
}

impl<'t> Instruction<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let line = line.trim();
        let line = match line.strip_prefix('@') {
            Some(guarded) => guarded.split_once(char::is_whitespace)?.1.trim_start(),
            None => line,
        };
        let (opcode, rest) = line.strip_suffix(';')?.split_once(char::is_whitespace)?;
        let is_opcode = opcode.contains('.') && opcode.starts_with(|first: char| first.is_ascii_lowercase());
        is_opcode.then(|| Self { opcode, arguments: rest.split(',').map(str::trim).collect() })
    }

    /// The integer type at a place of its suffixes: whether it has a sign, and its bits.
    fn integer(&self, at: usize) -> Option<(bool, u32)> {
        let (sign, bits) = self.opcode.rsplit('.').nth(at)?.split_at_checked(1)?;
        Some((sign == "s", bits.parse().ok().filter(|bits| *bits <= 64 && matches!(sign, "s" | "u" | "b"))?))
    }
}

/// The number of that type in the low bits.
const fn cut(value: i128, (has_sign, bits): (bool, u32)) -> i128 {
    let low = value & ((1 << bits) - 1);
    if has_sign && low >> (bits - 1) == 1 { low - (1 << bits) } else { low }
}

/// What is known before a launch about the registers of a kernel.
struct KnownValues<'t> {
    /// The instruction that writes a register, if it is the only one.
    written: BTreeMap<&'t str, Option<Instruction<'t>>>,
    entry: &'t str,
    launch: &'t KernelLaunch,
}

impl<'t> KnownValues<'t> {
    fn new(body: &[&'t str], entry: &'t str, launch: &'t KernelLaunch) -> Self {
        let mut written: BTreeMap<&str, Option<Instruction<'_>>> = BTreeMap::new();
        let mut is_inline = false;
        for line in body {
            is_inline = (is_inline || line.contains("begin inline asm")) && !line.contains("end inline asm");
            let one = Instruction::of(line).filter(|_| !is_inline);
            match one {
                Some(one) if one.arguments[0].starts_with('%') => {
                    // A guard keeps an older value.
                    let is_only = !written.contains_key(one.arguments[0]) && !line.trim_start().starts_with('@');
                    written.insert(one.arguments[0], Some(one).filter(|_| is_only));
                }
                // Anything else may write every register that it names.
                _ => {
                    let names = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '%' || c == '_'));
                    let is_plain = line.trim_start().starts_with("st.") || line.trim_start().starts_with(".reg");
                    written.extend(names.filter(|name| name.starts_with('%') && !is_plain).map(|name| (name, None)));
                }
            }
        }
        Self { written, entry, launch }
    }

    /// The number in a register or a constant; none if only the kernel knows it.
    fn value(&self, operand: &str, depth: usize) -> Option<i128> {
        if !operand.starts_with('%') {
            return operand.parse().ok();
        }
        if let Some((name, axis)) = operand.rsplit_once('.') {
            let axis = ["x", "y", "z"].iter().position(|known| *known == axis)?;
            return match name {
                "%ntid" => Some(i128::from(self.launch.block[axis])),
                "%nctaid" => Some(i128::from(self.launch.grid[axis])),
                _ => None,
            };
        }
        let one = self.written.get(operand)?.as_ref().filter(|_| depth < 32)?;
        let of = |at: usize| self.value(one.arguments.get(at)?, depth + 1);
        let mut parts = one.opcode.split('.');
        let value = match (parts.next()?, parts.next()?) {
            ("ld", "param") => {
                let place = one.arguments.get(1)?.trim_matches(['[', ']']);
                let number = place.strip_prefix(self.entry)?.strip_prefix("_param_")?;
                let Arg::Scalar(value) = self.launch.args.get(number.parse::<usize>().ok()?)? else { return None };
                i128::from(value.bits())
            }
            ("mov", _) => of(1)?,
            ("cvt", _) => cut(of(1)?, one.integer(0)?),
            ("add", _) => of(1)? + of(2)?,
            ("sub", _) => of(1)? - of(2)?,
            ("mul", "lo") => of(1)?.wrapping_mul(of(2)?),
            ("mul", "wide") => {
                let (has_sign, bits) = one.integer(0)?;
                return Some(cut(of(1)?, (has_sign, bits)) * cut(of(2)?, (has_sign, bits)));
            }
            ("shl", _) => of(1)?.wrapping_shl(u32::try_from(of(2)?).ok().filter(|by| *by < 64)?),
            ("shr", _) => cut(of(1)?, one.integer(0)?) >> u32::try_from(of(2)?).ok().filter(|by| *by < 64)?,
            _ => return None,
        };
        // `cvt.u64.u32`: the type of the result is the first one.
        let of_result = if one.opcode.starts_with("cvt.") { one.integer(1)? } else { one.integer(0)? };
        Some(cut(value, of_result))
    }
}

/// The kernels of a module: name, and the lines from its brace on.
fn kernels<'t>(lines: &[&'t str]) -> Vec<(&'t str, std::ops::Range<usize>)> {
    let entries = lines.iter().enumerate().filter_map(|(at, line)| {
        let name = line.split_once(".entry ")?.1.trim_end_matches('(').trim();
        let open = at + lines[at..].iter().position(|line| *line == "{")?;
        let close = open + lines[open..].iter().position(|line| *line == "}")?;
        Some((name, open..close))
    });
    entries.collect()
}

/// The changes of a module with a purpose, for kernels by their symbol and their launches.
fn ptx_edits(ptx: &str, launches: &[(String, &KernelLaunch)]) -> Vec<PtxEdit> {
    let lines: Vec<&str> = ptx.lines().collect();
    let kernels = kernels(&lines);
    let own = kernels.iter().filter(|(name, _)| launches.iter().any(|(symbol, _)| symbol == name));
    let edits = [Ablation::KnownDivisors, Ablation::ApproximateDivision, Ablation::FusedMultiplyAdd].map(|kind| {
        let mut text: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let (mut changed, mut left, mut products) = (0, 0, 0);
        for (name, body) in own.clone() {
            let calls: Vec<_> = launches.iter().filter(|(symbol, _)| symbol == name).collect();
            let known: Vec<_> =
                calls.iter().map(|(_, launch)| KnownValues::new(&lines[body.clone()], name, launch)).collect();
            for at in body.clone() {
                let Some(one) = Instruction::of(lines[at]) else { continue };
                let replaced = match kind {
                    Ablation::KnownDivisors => known_divisor(lines[at], &one, &known),
                    Ablation::ApproximateDivision => approximate(&one),
                    _ => contractible(&one),
                };
                match replaced {
                    Some(Some((from, to))) => {
                        text[at] = lines[at].replacen(&from, &to, 1);
                        changed += 1;
                        products += u32::from(from.starts_with("mul"));
                    }
                    Some(None) => left += 1,
                    None => {}
                }
            }
        }
        // A sum without a product is fused with nothing.
        let is_pair = kind != Ablation::FusedMultiplyAdd || (products > 0 && products < changed);
        PtxEdit { kind, text: text.join("\n") + "\n", changed: if is_pair { changed } else { 0 }, left }
    });
    edits.into_iter().filter(|edit| edit.changed > 0).collect()
}

/// What to write for what in an instruction; `Some(None)` if it belongs to the cost and stays.
type Replacement = Option<Option<(String, String)>>;

/// A division by a value that every launch has alike.
fn known_divisor(line: &str, one: &Instruction<'_>, known: &[KnownValues<'_>]) -> Replacement {
    let of = one.integer(0).filter(|(_, bits)| *bits >= 32)?;
    let divisor = *one.arguments.get(2).filter(|_| one.opcode.starts_with("div.") || one.opcode.starts_with("rem."))?;
    divisor.starts_with('%').then_some(())?;
    let mut values = known.iter().map(|known| known.value(divisor, 0).map(|value| cut(value, of)));
    let first = values.next().flatten().filter(|value| *value != 0);
    let end = line.rfind(divisor)?;
    let alike = first.filter(|first| values.all(|value| value == Some(*first)));
    Some(alike.map(|value| (line[end - 1..].to_owned(), format!(" {value};"))))
}

/// Division, reciprocal and root of floats with the rounding of the hardware.
fn approximate(one: &Instruction<'_>) -> Replacement {
    let (name, rest) = one.opcode.split_once(".rn.")?;
    let instead = match name {
        "div" => "full",
        "rcp" | "sqrt" => "approx",
        _ => return None,
    };
    Some(rest.ends_with("f32").then(|| (one.opcode.to_owned(), format!("{name}.{instead}.{rest}"))))
}

/// Products and sums that may become one instruction.
fn contractible(one: &Instruction<'_>) -> Replacement {
    let (name, rest) = one.opcode.split_once(".rn.")?;
    let is_one = matches!(name, "mul" | "add" | "sub") && (rest.ends_with("f32") || rest.ends_with("f64"));
    is_one.then(|| Some((one.opcode.to_owned(), format!("{name}.{rest}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncugate_model::LaunchMode;
    use ncugate_phase::plan::ScalarValue;

    const MODULE: &str = "\
.visible .entry k(
	.param .u64 k_param_0,
	.param .u32 k_param_1
)
{
	ld.param.u32 	%r1, [k_param_1];
	ld.param.s32 	%rd3, [k_param_1];
	mov.u32 	%r2, %ntid.x;
	mul.lo.s32 	%r3, %r1, %r2;
	cvt.u64.u32 	%rd4, %r3;
	shr.u32 	%r7, %r1, 1;
	div.u32 	%r5, %r4, %r3;
	@%p1 rem.s64 	%rd5, %rd1, %rd3;
	div.s64 	%rd6, %rd1, %rd4;
	div.u32 	%r6, %r4, %r7;
	div.u32 	%r8, %r4, %r9;
	div.u32 	%r8, %r4, 3;
	// begin inline asm
	mov.u32 %r11, 7; add.u32 %r11, %r11, 1;
	// end inline asm
	div.u32 	%r12, %r4, %r11;
	mov.u32 	%r13, 4;
	@%p1 mov.u32 	%r13, 5;
	div.u32 	%r14, %r4, %r13;
	div.rn.ftz.f32 	%f1, %f2, %f3;
	sqrt.rn.f64 	%fd1, %fd2;
	mul.rn.f32 	%f4, %f1, %f2;
	add.rn.f32 	%f5, %f4, %f2;
	fma.rn.f32 	%f6, %f4, %f2, %f1;
}
";

    fn launch(value: i32) -> KernelLaunch {
        KernelLaunch {
            entry: "k".to_owned(),
            grid: [4, 1, 1],
            block: [32, 1, 1],
            cluster: [1, 1, 1],
            dynamic_shared: 0,
            shared_constant: None,
            dynamic_arrays: Vec::new(),
            mode: LaunchMode::Ordinary,
            carveout: None,
            l2_window: None,
            args: vec![Arg::Buffer("x".to_owned()), Arg::Scalar(ScalarValue::I32(value))],
        }
    }

    #[test]
    fn divisors_follow_from_arguments_and_blocks() {
        let own = launch(6);
        let edits = ptx_edits(MODULE, &[("k".to_owned(), &own)]);
        let [divisors, approximate, fused] = edits.as_slice() else { panic!("{edits:?}") };
        assert_eq!((divisors.kind.clone(), divisors.changed, divisors.left), (Ablation::KnownDivisors, 4, 3));
        for line in [
            "div.u32 \t%r5, %r4, 192;",
            "@%p1 rem.s64 \t%rd5, %rd1, 6;",
            "div.s64 \t%rd6, %rd1, 192;",
            "div.u32 \t%r6, %r4, 3;",
            "div.u32 \t%r8, %r4, %r9;",
            "div.u32 \t%r12, %r4, %r11;",
            "div.u32 \t%r14, %r4, %r13;",
        ] {
            assert!(divisors.text.contains(line), "{line}\n{}", divisors.text);
        }
        assert_eq!((approximate.changed, approximate.left), (1, 1));
        assert!(approximate.text.contains("div.full.ftz.f32 \t%f1") && approximate.text.contains("sqrt.rn.f64"));
        assert_eq!(fused.changed, 2);
        assert!(
            fused.text.contains("\tmul.f32 ") && fused.text.contains("\tadd.f32 ") && fused.text.contains("fma.rn.f32")
        );
        let other = launch(7);
        let both = ptx_edits(MODULE, &[("k".to_owned(), &own), ("k".to_owned(), &other)]);
        assert_eq!(both.iter().find(|edit| edit.kind == Ablation::KnownDivisors).unwrap().changed, 1, "6 / 2 is 7 / 2");
        let zero = launch(0);
        let none = ptx_edits(MODULE, &[("k".to_owned(), &zero)]);
        assert!(none.iter().all(|edit| edit.kind != Ablation::KnownDivisors));
        assert_eq!(ptx_edits(MODULE, &[("other".to_owned(), &own)]), []);
    }

    /// A division by an argument, with one store.
    const DIVISION: &str = ".version 8.0
.target sm_90
.address_size 64

.visible .entry k(
	.param .u64 k_param_0,
	.param .u32 k_param_1
)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<4>;
	ld.param.u64 	%rd1, [k_param_0];
	ld.param.u32 	%r1, [k_param_1];
	mov.u32 	%r2, %tid.x;
	div.u32 	%r3, %r2, %r1;
	st.global.u32 	[%rd1], %r3;
	ret;
}
";

    #[test]
    fn a_division_by_a_known_divisor_is_shorter_and_other_code_is_no_evidence() {
        let Some(path) = std::env::var_os("NCUGATE_TEST_NVCC") else {
            return eprintln!("skipped: NCUGATE_TEST_NVCC names no nvcc");
        };
        let nvcc = Nvcc::find(Some(Path::new(&path))).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let built = |text: &str| nvcc.assemble_text(text, &Arch::of(TRIED), &[], &folder.path().join("build")).unwrap();
        let launches = [("k".to_owned(), &launch(6))];
        let edited = |image: &[u8], text| PtxText { nvcc: &nvcc, folder: folder.path(), image, text }.edited(&launches);
        let image = built(DIVISION);
        let copies = edited(&image, DIVISION);
        let [PtxCopy { edit, cubin: Ok(copy) }] = copies.as_slice() else { panic!("{copies:?}") };
        assert_eq!((&edit.kind, edit.changed, edit.left), (&Ablation::KnownDivisors, 1, 0));
        let copy = std::fs::read(copy).unwrap();
        let length = |image| machine_code(image, "k").unwrap().unwrap().len();
        assert!(length(&copy) < length(&image), "{} and {}", length(&copy), length(&image));
        let another = DIVISION.replace("%tid.x", "%ctaid.x");
        assert!(edited(&image, &another).is_empty(), "PTX of other code");
        assert!(edited(&image, "").is_empty());
    }
}
