//! When the cache compiles, and whose code it trusts.

use super::*;
use ncugate_fixtures::at_root;

#[test]
fn unchanged_sources_are_not_compiled_again() {
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (source, header) = (folder.path().join("k.cu"), folder.path().join("value.h"));
    fs::write(&source, "#include \"value.h\"\nextern \"C\" __global__ void f(int* o) { *o = VALUE; }\n").unwrap();
    fs::write(&header, "#define VALUE 1\n").unwrap();
    let cache = folder.path().join("cache");
    let f = || kernel(source.clone(), "f", "p");
    let code = |outcome: &BuildOutcome| match outcome {
        BuildOutcome::Built { code_sha256, .. } => code_sha256.clone(),
        other => panic!("not built: {other:?}"),
    };
    let first = one(&nvcc, &cache, "sm_90", f());
    assert!(!cached(&first));
    assert!(cached(&one(&nvcc, &cache, "sm_90", f())));
    assert!(!cached(&one(&nvcc, &cache, "sm_89", f())), "another architecture");
    let mut defined = f();
    defined.defines = vec![("UNUSED".to_owned(), "1".to_owned())];
    let defined = one(&nvcc, &cache, "sm_90", defined);
    assert!(!cached(&defined), "another define");
    assert_eq!(code(&defined), code(&first), "that changes no instruction");

    fs::write(&header, "#define VALUE 2\n").unwrap();
    let second = one(&nvcc, &cache, "sm_90", f());
    assert!(!cached(&second), "a header changed");
    assert_ne!(code(&second), code(&first));
    fs::write(&header, "#define VALUE 1\n").unwrap();
    assert_eq!(one(&nvcc, &cache, "sm_90", f()), one(&nvcc, &cache, "sm_90", f()), "earlier builds stay in the cache");
    assert!(cached(&one(&nvcc, &cache, "sm_90", f())));
}

/// Before, the cache knew folders of `-I` alone.
#[test]
fn a_header_that_appears_where_the_compiler_looks_first_is_compiled() {
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["src", "late", "early"] {
        fs::create_dir(path(name)).unwrap();
    }
    let text = "#include \"value.h\"\n#if __has_include(\"extra.h\")\n#undef VALUE\n#define VALUE 3\n#endif\n\
                extern \"C\" __global__ void f(int* o) { *o = VALUE; }\n";
    fs::write(path("src/k.cu"), text).unwrap();
    fs::write(path("late/value.h"), "#define VALUE 1\n").unwrap();
    let build = || {
        let flag = |name: &str| format!("-isystem={}", path(name).display());
        let unit = KernelPlan { flags: vec![flag("early"), flag("late")], ..kernel(path("src/k.cu"), "f", "p") };
        let outcome = one(&nvcc, &path("cache"), "sm_90", unit);
        let BuildOutcome::Built { code_sha256, .. } = &outcome else { panic!("{outcome:?}") };
        (cached(&outcome), code_sha256.clone())
    };
    let first = build();
    assert_eq!(build(), (true, first.1.clone()));
    for added in ["early/value.h", "src/extra.h"] {
        fs::write(path(added), "#define VALUE 2\n").unwrap();
        let changed = build();
        assert!(!changed.0 && changed.1 != first.1, "{added}");
        fs::remove_file(path(added)).unwrap();
    }
    assert_eq!(build().1, first.1);
}

#[test]
fn equal_code_with_equal_launches_is_shared() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let with = |define: &str, change: &dyn Fn(&mut KernelLaunch)| {
        let mut kernel = kernel(data("shared_arrays.cu"), "second", "p");
        kernel.defines = vec![(define.to_owned(), "1".to_owned())];
        change(launch(&mut kernel));
        Method::Kernel(kernel)
    };
    let plan = plan(vec![
        ("a", with("A", &|_| {})),
        ("b", with("B", &|_| {})),
        ("c", with("B", &|l| l.block = [64, 1, 1])),
        ("d", with("D", &|l| l.block = [64, 1, 1])),
        ("e", with("A", &|_| {})),
    ]);
    let shares = |sharing| -> Vec<Option<String>> {
        let records = build(&nvcc, folder.path(), "sm_90", sharing, &plan);
        records.into_iter().map(|record| record.shares.map(|id| id.0.to_string())).collect()
    };
    let some = |id: &str| Some(id.to_owned());
    assert_eq!(shares(Deduplication::Share), [None, some("a"), None, some("c"), some("a")]);
    assert_eq!(shares(Deduplication::Each), [None, None, None, None, None]);
}

#[test]
fn builds_at_the_same_time_do_not_disturb_each_other() {
    at_root();
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let outcomes: Vec<BuildOutcome> = std::thread::scope(|scope| {
        let build = || one(&nvcc, folder.path(), "sm_90", kernel(data("local_array.cu"), "local_array", "ppi"));
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(build)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let hashes: Vec<_> = outcomes
        .iter()
        .map(|outcome| match outcome {
            BuildOutcome::Built { cubin, cubin_sha256, .. } => (fs::read(cubin).unwrap(), cubin_sha256),
            other => panic!("not built: {other:?}"),
        })
        .collect();
    assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]));
}

/// A machine that cannot compile at all ends the build; the variants are not at fault.

#[test]
fn a_cache_that_others_can_write_to_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cache");
    Cache::at(&root).unwrap();
    for (path, mode) in [("", 0o777), ("cubins", 0o722), ("results", 0o720)] {
        let open = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(root.join(path), open).unwrap();
        let refused = Cache::at(&root).unwrap_err();
        let why = std::error::Error::source(&refused).unwrap().to_string();
        assert!(why.contains("is writable for other users"), "{path}: {why}");
        std::fs::set_permissions(root.join(path), std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    assert!(Cache::at(&root).is_ok());
}

/// A pipe would block for ever, and a device never ends.
#[test]
fn only_regular_files_of_the_cache_are_read() {
    let Some(nvcc) = for_test() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (source, cache) = (folder.path().join("k.cu"), folder.path().join("cache"));
    fs::write(&source, "extern \"C\" __global__ void f(int* o) { *o = 1; }\n").unwrap();
    let f = || kernel(source.clone(), "f", "p");
    assert!(!cached(&one(&nvcc, &cache, "sm_90", f())));
    for kind in ["cubins", "results", "includes"] {
        for device in [false, true] {
            let files = fs::read_dir(cache.join(kind)).unwrap().map(|file| file.unwrap().path());
            let file = files.into_iter().find(|file| file.extension().is_none_or(|ending| ending != "ptx")).unwrap();
            fs::remove_file(&file).unwrap();
            match device {
                true => std::os::unix::fs::symlink("/dev/zero", &file).unwrap(),
                false => nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap(),
            }
            let again = one(&nvcc, &cache, "sm_90", f());
            assert!(!cached(&again), "{kind}: {again:?}");
            assert!(cached(&one(&nvcc, &cache, "sm_90", f())), "{kind}: repaired");
        }
    }
}
