//! State and inputs through the real binary: phases that change their inputs, arrays that are written and read back.

use crate::command::{Place, root};
use crate::gallery::python;
use std::path::{Path, PathBuf};

/// Phases in a folder of the repository, with subfolders.
fn phases(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = Vec::new();
    for path in entries {
        if path.is_dir() {
            let relative = path.strip_prefix(root()).unwrap().display().to_string();
            found.extend(phases(&relative));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path.strip_prefix(root()).unwrap().to_owned());
        }
    }
    found.sort();
    found
}

/// The phases of the gallery with state.
fn gallery() -> [PathBuf; 2] {
    ["examples/beta_gemm/phase.toml", "examples/byte_counts/phase.toml"].map(PathBuf::from)
}

#[test]
fn phases_of_traits_and_the_gallery_are_right() {
    let (traits, planted) = (phases("tests/gpu/traits"), phases("tests/gpu/planted"));
    assert!(traits.len() >= 8 && planted.len() == 49, "{traits:?} {planted:?}");
    let numpy = python();
    for phase in traits.iter().chain(&planted).chain(&gallery()) {
        let text = std::fs::read_to_string(root().join(phase)).unwrap();
        let Some(python) = (if text.contains(".py:") { numpy.as_deref() } else { Some(Path::new("python3")) }) else {
            continue;
        };
        let checked = crate::gallery::at_root(&Place::new(), python, &["check", phase.to_str().unwrap(), "--no-build"]);
        assert_eq!(checked.status, Some(0), "{}: {checked:?}", phase.display());
    }
}

/// Each kernel with a planted defect, its twin and its half-mended twins are variants of its phase.
#[test]
fn answers_of_planted_defects_name_variants() {
    let answers = std::fs::read_to_string(root().join("tests/gpu/planted/answers.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = answers.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    for (set, counts) in [("tuning", (12, 3)), ("held_out", (12, 3)), ("unseen", (19, 4)), ("fresh", (20, 4))] {
        let of_set: Vec<_> = rows.iter().filter(|row| row[2] == set).collect();
        assert_eq!((of_set.len(), of_set.iter().filter(|row| row[4] != "-").count()), counts, "{set}");
    }
    for row in &rows {
        let [phase, kernel, _, first, second, twin, without_first, without_second, reason] = row[..] else {
            panic!("{row:?}")
        };
        let text = std::fs::read_to_string(root().join(format!("tests/gpu/planted/{phase}.toml"))).unwrap();
        let halves = [without_first, without_second];
        assert_eq!(halves.contains(&"-"), second == "-", "{row:?}");
        for variant in [kernel, twin].into_iter().chain(halves.into_iter().filter(|half| *half != "-")) {
            assert!(text.contains(&format!("[[variant]]\nname = \"{variant}\"\n")), "{variant} of {phase}");
        }
        assert!(kernel != twin && !first.is_empty() && reason.len() > 20, "{row:?}");
    }
}

const PHASE: &str = r#"
[phase]
name = "rows"
[workload]
seeds = [3]
reference = "copy"
tolerance = { max_abs = 0 }
[workload.shapes]
small = { R = 4, V = 10 }
[workload.buffers]
ids = { dtype = "i32", shape = ["R"], init = { indices = "V" } }
y = { dtype = "i32", shape = ["R"], role = "output" }
[[variant]]
name = "outside"
command = ["true"]
"#;

#[test]
fn inputs_are_written_as_numpy_files_and_read_again() {
    let place = Place::new();
    place.write("phase.toml", PHASE);
    let written = place.run(&["tools", "inputs", "phase.toml", "-o", "arrays"]);
    assert_eq!((written.status, written.stdout.as_str()), (Some(0), "1 array in arrays\n"), "{written:?}");
    let bytes = std::fs::read(place.path().join("arrays/small/3/ids.npy")).unwrap();
    let header = String::from_utf8_lossy(&bytes[10..128]).into_owned();
    assert!(header.starts_with("{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }"), "{header}");
    assert_eq!(bytes.len(), 128 + 16);
    let values = bytes[128..].chunks(4).map(|four| i32::from_le_bytes(four.try_into().unwrap()));
    assert!(values.clone().all(|id| (0..10).contains(&id)));

    let from_files = r#"{ npy = "arrays/{{ shape }}/{{ seed }}/{{ buffer }}.npy" }"#;
    place.write("again.toml", &PHASE.replace(r#"{ indices = "V" }"#, from_files));
    let again = place.run(&["tools", "inputs", "again.toml", "-o", "same"]);
    assert_eq!(again.status, Some(0), "{again:?}");
    assert_eq!(std::fs::read(place.path().join("same/small/3/ids.npy")).unwrap(), bytes);

    std::fs::remove_file(place.path().join("arrays/small/3/ids.npy")).unwrap();
    let absent = place.run(&["tools", "inputs", "again.toml", "-o", "same"]);
    assert_eq!(absent.status, Some(2), "{absent:?}");
    assert!(absent.stderr.contains("cannot read arrays/small/3/ids.npy"), "{}", absent.stderr);
    assert_eq!(place.run(&["check", "again.toml", "--no-build"]).status, Some(2), "check reads it as well");
}

#[test]
fn a_tolerance_that_accepts_the_state_of_before_is_refused() {
    let place = Place::new();
    place.copy("tests/gpu/traits");
    let text = std::fs::read_to_string(root().join("tests/gpu/traits/softmax_in_place.toml")).unwrap();
    let phase = text.replace("max_abs = 1e-4, rel_l2 = 1e-3", "max_abs = 10");
    place.write("phase.toml", &phase);
    let refused = place.run(&["check", "phase.toml", "--no-build"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("the tolerance accepts the content of `x` from before the launch"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_constant_may_be_infinite_where_floats_are_filled() {
    let text = std::fs::read_to_string(root().join("tests/gpu/traits/row_maximum.toml")).unwrap();
    let word = r#"init = "-inf""#;
    assert!(text.contains(word));
    for (init, status) in
        [("constant = -inf", 0), ("constant = \"-inf\"", 0), ("constant = nan", 2), ("uniform = { low = -inf }", 2)]
    {
        let place = Place::new();
        place.copy("tests/gpu/traits");
        place.write("phase.toml", &text.replace(word, &format!("init = {{ {init} }}")));
        let checked = place.run(&["check", "phase.toml", "--no-build"]);
        assert_eq!(checked.status, Some(status), "{init}: {checked:?}");
    }
}
