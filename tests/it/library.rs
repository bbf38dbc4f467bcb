//! `ncugate check LIBRARY`: the kernels of a file that nvcc built, against a baseline.

use crate::command::{Place, binary, root};

/// A file of the library of the tests.
fn file(name: &str) -> String {
    root().join("tests/data/library").join(name).display().to_string()
}

#[test]
fn a_library_is_compared_with_its_baseline() {
    let place = Place::new();
    let library = file("kernels.so");
    let judge = || place.run(&["check", &library, "--baseline", "kernels.toml"]);
    assert_eq!(judge().status, Some(3), "without a baseline nothing is judged");
    let written = place.run(&["check", &library, "--baseline", "kernels.toml", "--update"]);
    assert_eq!(written.status, Some(0), "{written:?}");
    assert!(written.stdout.contains("8 kernels in 2 entries of machine code; 1 entry of PTX"), "{}", written.stdout);
    let passed = judge();
    assert_eq!(passed.status, Some(0), "{passed:?}");
    assert!(
        passed.stdout.ends_with("PASS 8 kernels compared: 0 worse, 0 better, 0 new, 0 gone\n"),
        "{}",
        passed.stdout
    );

    let baseline = std::fs::read_to_string(place.path().join("kernels.toml")).unwrap();
    assert!(
        baseline.contains("(anonymous namespace)::hidden(float*)") || baseline.contains("hidden(float*)"),
        "{baseline}"
    );
    let edited = |from: &str, to: &str| {
        assert!(baseline.contains(from), "{from} is not in {baseline}");
        place.write("kernels.toml", &baseline.replacen(from, to, 1));
        judge()
    };
    let worse = edited("shared = 1024", "shared = 512");
    assert_eq!(worse.status, Some(1), "{worse:?}");
    assert!(
        worse.stdout.contains("shared memory bytes 512 -> 1024") && worse.stdout.contains("hidden"),
        "{}",
        worse.stdout
    );
    let better = edited("shared = 1024", "shared = 2048");
    assert_eq!(better.status, Some(4), "it asks for an update: {better:?}");
    assert!(better.stdout.contains("--update"), "{}", better.stdout);
    let named = edited("name = \"bounded\"", "name = \"another\"");
    assert_eq!(named.status, Some(4), "{named:?}");
    assert!(
        named.stdout.contains("new   sm_80  bounded") && named.stdout.contains("gone  sm_80  another"),
        "{}",
        named.stdout
    );
    assert_eq!(edited("registers", "rejisters").status, Some(2), "a baseline that is not one");
    assert_eq!(edited("schema = 1", "schema = 9").status, Some(2));
    assert_eq!(
        place.run(&["check", &library, "--baseline", "kernels.toml", "--update"]).status,
        Some(0),
        "another form"
    );
}

#[test]
fn an_update_replaces_a_baseline_and_no_other_file() {
    let place = Place::new();
    place.write("mine.txt", "mine");
    place.write("phase.toml", include_str!("../data/copy.toml"));
    place.write("empty", "");
    for (name, status) in [("mine.txt", 2), ("phase.toml", 2), ("empty", 0), ("new.toml", 0)] {
        let before = std::fs::read(place.path().join(name)).ok();
        let ended = place.run(&["check", &file("kernels.so"), "--baseline", name, "--update"]);
        assert_eq!(ended.status, Some(status), "{name}: {ended:?}");
        let unchanged = std::fs::read(place.path().join(name)).ok() == before;
        assert_eq!((unchanged, ended.stderr.contains("is not a baseline")), (status == 2, status == 2), "{ended:?}");
    }
}

#[test]
fn a_library_a_fat_binary_an_archive_and_a_cubin_hold_the_same_kernels() {
    let place = Place::new();
    let data = std::fs::read(file("kernels.so")).unwrap();
    let mut archive = b"!<arch>\n".to_vec();
    archive.extend(format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "kernels.o/", 0, 0, 0, 644, data.len()).bytes());
    archive.extend(&data);
    archive.resize(archive.len().next_multiple_of(2), b'\n');
    let path = place.path().join("libkernels.a");
    std::fs::write(&path, archive).unwrap();
    let kernels = |library: &str| {
        let shown = place.run(&["check", library, "--arch", "sm_90", "--format", "json"]);
        assert_eq!(shown.status, Some(4), "nothing is compared: {shown:?}");
        let found: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
        let mut kernels = found["kernels"].as_array().unwrap().clone();
        // nvcc lays out the kernels of a host file like those of a device file
        kernels.iter_mut().for_each(|kernel| assert_eq!(kernel["arch"].take(), "sm_90"));
        kernels
    };
    let library = kernels(&file("kernels.so"));
    assert_eq!(library.len(), 4);
    for other in [file("kernels.fatbin"), file("kernels.cubin"), path.display().to_string()] {
        assert_eq!(kernels(&other), library, "{other}");
    }
    let absent = place.run(&["check", &file("kernels.so"), "--arch", "sm_90", "--arch", "sm_75"]);
    let names = ["sm_90", "sm_75"].map(|arch| absent.stderr.contains(&format!("no machine code for {arch}: ")));
    assert_eq!((absent.status, names), (Some(4), [false, true]), "{absent:?}");
    let shown = place.run(&["check", &file("kernels.so")]);
    assert!(
        shown.stdout.contains("bounded") && shown.stdout.contains("nothing was compared with a baseline"),
        "{}",
        shown.stdout
    );
}

#[test]
fn a_file_without_kernels_or_cut_short_is_no_pass() {
    let place = Place::new();
    let absent = place.run(&["check", "libmine.so", "--baseline", "kernels.toml", "--update"]);
    assert!(absent.status == Some(2) && absent.stderr.contains("'libmine.so' does not exist"), "{absent:?}");
    let data = std::fs::read(file("kernels.so")).unwrap();
    let at = data.windows(4).position(|bytes| bytes == [0x50, 0xed, 0x55, 0xba]).unwrap();
    let mut broken = data.clone();
    broken[at + 16 + 8] ^= 0x40; // the size of the first entry
    for (name, bytes) in [("cut.so", &data[..at + 100]), ("broken.so", &broken[..])] {
        std::fs::write(place.path().join(name), bytes).unwrap();
        let shown = place.run(&["check", name, "--baseline", "kernels.toml", "--update"]);
        assert_eq!(shown.status, Some(3), "{name}: {shown:?}");
        assert!(!place.path().join("kernels.toml").exists());
    }
    let program = binary().display().to_string();
    let none = place.run(&["check", &program]);
    assert!(none.status == Some(3) && none.stderr.contains("no device code"), "{none:?}");
    let mixed = place.run(&["check", &program, "phase.toml"]);
    assert_eq!(mixed.status, Some(2), "{mixed:?}");
}

#[test]
fn architectures_of_a_library_are_compared_and_a_loss_fails() {
    let place = Place::new();
    let library = file("architectures.fatbin");
    let checked = place.run(&["check", &library]);
    assert_eq!(checked.status, Some(1), "{checked:?}");
    for line in [
        "lost  sm_120: absent: is there only as PTX, sm_80 has machine code",
        "lost  sm_80: spills: 316 spill instructions, sm_90 has none",
        "lost  sm_120: without_setmaxnreg: no setmaxnreg, sm_90 uses setmaxnreg",
        "lost  sm_90: without_tensor_cores: no tensor cores, sm_80 uses mma",
    ] {
        assert!(checked.stdout.contains(line), "{line}: {}", checked.stdout);
    }
    assert_eq!(checked.stdout.matches("\nlost ").count(), 4, "{}", checked.stdout);
    let json = place.run(&["check", &library, "--arch", "sm_80,sm_120", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["lost"].as_array().unwrap().len(), 2, "{json}");
    let equal = place.run(&["check", &file("kernels.so")]);
    assert!(equal.status == Some(4) && equal.stdout.contains("no architecture lost what another has"), "{equal:?}");
}

#[test]
fn a_phase_is_built_for_several_architectures() {
    let Some(nvcc) = crate::kernels::nvcc() else { return };
    let place = Place::new();
    let source = "extern \"C\" __global__ void copy(const __half* x, __half* y) {\n#if __CUDA_ARCH__ == 800\n\
                  volatile int kept[32]; kept[threadIdx.x % 32] = 1;\n#endif\n\
                  int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i]; }\n";
    place.write("copy.cu", &format!("#include <cuda_fp16.h>\n{source}"));
    let build = format!("\n[build]\nnvcc = \"{}\"\n[sweep]\nTHREADS = [128]\n", nvcc.path().display());
    let gate = "[[gate]]\nrequire = \"registers <= 64\"\n";
    place.write("phase.toml", &[include_str!("../data/copy.toml"), &build, gate].concat());
    let checked = place.run(&["check", "phase.toml", "--arch", "sm_90,sm_80"]);
    assert_eq!(checked.status, Some(1), "{checked:?}");
    assert!(
        checked.stdout.contains("lost  sm_80: THREADS=128: 1 local memory instruction, sm_90 has none"),
        "{}",
        checked.stdout
    );
    assert_eq!(checked.stdout.matches("1 of 1 candidate").count(), 2, "{}", checked.stdout);
    let equal = place.run(&["check", "phase.toml", "--arch", "sm_89,sm_90"]);
    assert_eq!(equal.status, Some(0), "{equal:?}");
    let one = place.run(&["check", "phase.toml", "--arch", "sm_90,sm_90a"]);
    assert!(one.status == Some(4) && one.stdout.contains("nothing was compared"), "one chip: {one:?}");
}
