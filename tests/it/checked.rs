//! What `check` says of a phase before anything is built: files that it names, and metrics.

use crate::command::{Finished, Place};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

/// `tests/data/copy.toml` with more behind it, checked without a build.
fn checked(place: &Place, from: &str, to: &str, more: &str) -> Finished {
    let phase = include_str!("../data/copy.toml");
    assert!(phase.contains(from), "{from}");
    place.write("phase.toml", &format!("{}{more}", phase.replace(from, to)));
    Finished::of(place.ncugate(&["check", "phase.toml", "--no-build"]).timeout(SOON))
}

const ONE: &str = "[sweep]\nTHREADS = [64]\n";

#[test]
fn every_file_that_a_phase_names_has_to_be_there() {
    let place = Place::new();
    assert_eq!(checked(&place, "[kernel]", "[kernel]", ONE).status, Some(0));
    let reference = "reference = \"copy\"";
    let init = "init = \"normal\"";
    let variant = "[[variant]]\nname = \"own\"\n";
    for (from, to, more, key) in [
        ("\"copy.cu\"", "\"gone.cu\"", ONE.to_owned(), "kernel.source"),
        ("source = \"copy.cu\"", "ptx = \"gone.ptx\"", "[sweep]\nTHREADS = [64]\n".to_owned(), "kernel.ptx"),
        (reference, "reference = { python = \"gone.py:f\" }", ONE.to_owned(), "workload.reference.python"),
        (reference, "reference = { command = [\"sh\", \"gone.sh\"] }", ONE.to_owned(), "workload.reference.command[1]"),
        (reference, "reference = { npy = \"gone_{{ buffer }}.npy\" }", ONE.to_owned(), "workload.reference.npy"),
        (
            reference,
            "reference = { entry = \"copy\", source = \"gone.cu\", grid = [1], block = [1] }",
            ONE.to_owned(),
            "workload.reference.source",
        ),
        (init, "init = { npy = \"gone_{{ seed }}.npy\" }", ONE.to_owned(), "workload.buffers.x.init.npy"),
        ("[kernel]", "[kernel]", format!("{variant}python = \"gone.py:f\"\n"), "variant[0].python"),
        ("[kernel]", "[kernel]", format!("{variant}command = [\"sh\", \"gone.sh\"]\n"), "variant[0].command[1]"),
        ("[kernel]", "[kernel]", format!("{variant}command = [\"./gone\"]\n"), "variant[0].command[0]"),
        (
            "[kernel]",
            "[kernel]",
            format!("{ONE}[[baseline]]\nname = \"b\"\npython = \"gone.py:f\"\n"),
            "baseline[0].python",
        ),
        (
            "[kernel]",
            "[kernel]",
            format!("{variant}params = {{ THREADS = 64 }}\nkernel = {{ source = \"gone.cu\" }}\n"),
            "variant[0].kernel.source",
        ),
    ] {
        let to = if key == "kernel.ptx" { format!("{to}\n") } else { to.to_owned() };
        let missing = match key {
            // nothing is preprocessed in PTX
            "kernel.ptx" => {
                let phase =
                    include_str!("../data/copy.toml").replace(from, &to).replace("defines = [\"THREADS\"]\n", "");
                place.write("phase.toml", &format!("{phase}{more}"));
                place.run(&["check", "phase.toml", "--no-build"])
            }
            _ => checked(&place, from, &to, &more),
        };
        assert_eq!(missing.status, Some(2), "{key}: {missing:?}");
        let said = format!("`{key}` is `");
        assert!(missing.stderr.contains(&said) && missing.stderr.contains("which is not there"), "{key}: {missing:?}");
        assert!(missing.stderr.contains("phase.toml:"), "{key} has a line: {missing:?}");
    }
}

#[test]
fn a_path_with_parameters_is_tried_for_each_variant() {
    let place = Place::new();
    place.write("copy_64.cu", "");
    let templated = |more: &str| checked(&place, "\"copy.cu\"", "\"copy_{{ THREADS }}.cu\"", more);
    assert_eq!(templated(ONE).status, Some(0));
    let missing = templated("[sweep]\nTHREADS = [64, 128, 256]\n");
    let said = "`kernel.source` is `copy_128.cu`, which is not there, for variant THREADS=128 and 1 more";
    assert!(missing.status == Some(2) && missing.stderr.contains(said), "{missing:?}");
}

#[test]
fn a_folder_or_a_pipe_is_no_file() {
    let place = Place::new();
    place.write("folder/x", "");
    nix::unistd::mkfifo(&place.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for path in ["folder", "pipe", "/dev/null"] {
        let refused = checked(&place, "\"copy.cu\"", &format!("\"{path}\""), ONE);
        assert!(refused.status == Some(2) && refused.stderr.contains("not a regular file"), "{path}: {refused:?}");
    }
}

#[test]
fn what_a_run_can_do_without_is_a_note() {
    let place = Place::new();
    let more = format!("{ONE}[explain]\nsignatures = \"gone.toml\"\n[profile]\nncu = \"/gone/ncu\"\n");
    let noted = checked(&place, "name = \"copy\"", "name = \"copy\"\nrecording = \"profiles/gone\"", &more);
    assert_eq!(noted.status, Some(0), "{noted:?}");
    for said in ["`explain.signatures` names `gone.toml`", "`profile.ncu` is `/gone/ncu`", "`ncugate record` keeps one"]
    {
        assert!(noted.stdout.contains(said), "{said}: {noted:?}");
    }
}

#[test]
fn a_metric_that_no_chip_has_is_warned_of_with_the_nearest_name() {
    let place = Place::new();
    let known = "sm__warps_active.avg.pct_of_peak_sustained_active";
    let gate = |metric: &str| {
        format!(
            "{ONE}[profile]\nmetrics = [\"dram__byte.sum\"]\n[[gate]]\nrequire = \"{metric} >= 10\"\n[[tier]]\nname = \"t\"\nrequire = [\"{metric} >= 20\"]\n"
        )
    };
    let typed = "sm__warps_activ.avg.pct_of_peak_sustained_active";
    let warned = checked(&place, "[kernel]", "[kernel]", &gate(typed));
    assert_eq!(warned.status, Some(0), "{warned:?}");
    for said in [
        format!("`{typed}` (gate at line 25, gate at line 29) is no metric of the chips that are known"),
        format!("did you mean `{known}`?"),
        "`dram__byte.sum` (`profile.metrics`)".to_owned(),
        "did you mean `dram__bytes.sum`?".to_owned(),
    ] {
        assert!(warned.stdout.contains(&said), "{said}: {}", warned.stdout);
    }
    let fine = checked(&place, "[kernel]", "[kernel]", &gate(known).replace("dram__byte.", "dram__bytes."));
    assert!(fine.status == Some(0) && !fine.stdout.contains("no metric of"), "{fine:?}");
}
