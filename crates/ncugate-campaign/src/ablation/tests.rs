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
    let cubin = |text: &str| nvcc.assemble_text(text, &Arch::of(TRIED), folder.path()).unwrap();
    assert_eq!(self_test(&cubin(SELF_TEST)), Ok(()));
    let without = SELF_TEST.replace("    bar.sync 0;\n", "");
    assert_eq!(self_test(&cubin(&without)).unwrap_err(), "its barriers were not told from other instructions");
    let unguarded = SELF_TEST.replace("@!c st", "@c st");
    assert_eq!(self_test(&cubin(&unguarded)).unwrap_err(), "guards are not where they were expected");
}
