//! Base folders of the paths in a phase, independent of the working directory.

use crate::command::{Finished, Place, root};

const PHASE: &str = "[phase]\nname = \"p\"\n[bench]\nrounds = 7\n[workload]\nreference = \"copy\"\ntolerance = { max_abs = 0 }\n\
shapes = { s = { N = 64 } }\nbuffers = { x = { dtype = \"f32\", shape = [\"N\"] }, y = { dtype = \"f32\", shape = [\"N\"], role = \"output\" } }\n\
[[variant]]\nname = \"mine\"\ncommand = [\"sh\", \"tools/mine.sh\"]\n[[gate]]\nrequire = \"registers <= 128\"\n";

fn in_folder(place: &Place, folder: &str, args: &[&str]) -> Finished {
    Finished::of(place.ncugate(args).current_dir(place.path().join(folder)))
}

#[test]
fn paths_begin_at_the_nearest_ncugate_toml_else_at_the_phase() {
    let place = Place::new();
    std::fs::remove_file(place.path().join("ncugate.toml")).unwrap();
    place.write("project/phases/p.toml", PHASE);
    place.write("project/phases/tools/mine.sh", "");
    place.write("elsewhere/x", "");
    for (folder, config) in
        [("", "project/phases/p.toml"), ("project", "phases/p.toml"), ("elsewhere", "../project/phases/p.toml")]
    {
        let checked = in_folder(&place, folder, &["check", config]);
        assert_eq!(checked.status, Some(0), "{folder}: {checked:?}");
        assert!(checked.stdout.contains("1 of 1 candidates are Python functions or external commands"), "{checked:?}");
    }
    // a folder that `..` leaves is not above the phase
    place.write("elsewhere/ncugate.toml", "");
    let beside = in_folder(&place, "elsewhere", &["check", "../project/phases/p.toml"]);
    assert_eq!(beside.status, Some(0), "{beside:?}");
    place.write("project/ncugate.toml", "");
    let moved = in_folder(&place, "elsewhere", &["check", "../project/phases/p.toml"]);
    let looked = format!("start at the project's root, {}", place.path().join("project").display());
    assert!(moved.status == Some(2) && moved.stderr.contains(&looked), "{moved:?}");
    assert!(moved.stderr.contains("`variant[0].command[1]` is `tools/mine.sh`, which does not exist"), "{moved:?}");
    place.write("project/tools/mine.sh", "");
    assert_eq!(in_folder(&place, "", &["check", "project/phases/p.toml"]).status, Some(0));
}

#[test]
fn a_project_gives_defaults_and_its_mistakes_are_errors_of_its_file() {
    let place = Place::new();
    place.write("p.toml", PHASE);
    place.write("tools/mine.sh", "");
    place.write("ncugate.toml", "[bench]\nrounds = 0\n");
    let own = place.run(&["check", "p.toml"]);
    assert_eq!(own.status, Some(0), "the phase's own rounds go before them: {own:?}");
    place.write("ncugate.toml", "[bench]\nwarmup = \"many\"\n[gates]\n");
    let wrong = place.run(&["check", "p.toml"]);
    assert_eq!(wrong.status, Some(2), "{wrong:?}");
    for said in ["ncugate.toml:2", "`bench.warmup` is `\"many\"`", "unknown key `gates`"] {
        assert!(wrong.stderr.contains(said), "{said}: {wrong:?}");
    }
}

#[test]
fn reports_and_profiles_lie_in_the_project() {
    let place = Place::new();
    let config = "[phase]\nname = \"torch\"\n[[variant]]\nname = \"softmax\"\nmatch = { kernel = \"softmax*\" }\n[[gate]]\nrequire = \"registers <= 64\"\n";
    place.write("phases/torch.toml", config);
    place.write("below/x", "");
    let report = crate::command::root().join("tests/data/torch_nvtx.ncu-rep.zst");
    std::fs::copy(report, place.path().join("below/r.ncu-rep.zst")).unwrap();
    let judged = in_folder(&place, "below", &["gate", "../phases/torch.toml", "r.ncu-rep.zst"]);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    assert!(place.path().join("reports/torch").is_dir() && !place.path().join("below/reports").exists());
    let given = in_folder(&place, "below", &["gate", "../phases/torch.toml", "r.ncu-rep.zst", "--reports", "mine"]);
    assert!(given.status == Some(0) && place.path().join("below/mine/torch").is_dir(), "{given:?}");
}

#[test]
fn a_missing_program_fails_the_check_and_its_cause_is_printed_once() {
    let place = Place::new();
    place.write("p.toml", &PHASE.replace("\"sh\"", "\"no-such-program\""));
    place.write("tools/mine.sh", "");
    let absent = place.run(&["check", "p.toml"]);
    assert!(absent.status == Some(1) && absent.stdout.contains("program `no-such-program` not found"), "{absent:?}");
}

#[test]
fn a_path_that_is_not_there_is_not_looked_for_at_the_root() {
    let place = Place::new();
    place.write("torch.toml", "[phase]\nname = \"torch\"\n[[variant]]\nname = \"softmax\"\nmatch = { kernel = \"softmax*\" }\n[[gate]]\nrequire = \"registers <= 64\"\n");
    place.write("below/x", "");
    std::fs::copy(crate::command::root().join("tests/data/torch_nvtx.ncu-rep.zst"), place.path().join("r.ncu-rep"))
        .unwrap();
    let missing = in_folder(&place, "below", &["gate", "../torch.toml", "r.ncu-rep"]);
    assert!(missing.status == Some(3) && missing.stderr.contains("below/r.ncu-rep"), "{missing:?}");
}

#[test]
fn a_run_is_named_by_its_folder_its_id_its_phase_or_as_the_latest() {
    let place = Place::new();
    place.copy("profiles/softmax/h200");
    place.copy("profiles/whole_kv/h200");
    let verdict = |name: &str| place.run(&["show", name, "-q"]);
    let folder = verdict("profiles/whole_kv/h200");
    assert_eq!(folder.status, Some(1), "{folder:?}");
    for name in ["whole_kv", "profiles/whole_kv"] {
        assert_eq!(verdict(name).stdout, folder.stdout, "{name}");
    }
    let started = |phase: &str| {
        let text = std::fs::read_to_string(place.path().join(format!("profiles/{phase}/h200/manifest.json"))).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["started"].as_str().unwrap().to_owned()
    };
    let newest = if started("softmax") > started("whole_kv") { "softmax" } else { "whole_kv" };
    assert_eq!(verdict("latest").stdout, verdict(newest).stdout);
    let several = verdict("h200");
    assert!(several.status == Some(2) && several.stderr.contains("several runs are named `h200`"), "{several:?}");
    let unknown = verdict("softmaks");
    assert!(unknown.status == Some(2) && unknown.stderr.contains("did you mean `softmax`?"), "{unknown:?}");
    // a run without a readable date may be the newest, so `latest` is an error
    std::fs::write(place.path().join("profiles/softmax/h200/manifest.json"), "{}").unwrap();
    let damaged = verdict("latest");
    assert!(damaged.status == Some(3) && damaged.stderr.contains("softmax/h200/manifest.json"), "{damaged:?}");
}

#[test]
fn latest_without_runs_says_how_to_make_one() {
    let place = Place::new();
    for command in [
        &["show", "latest"][..],
        &["page", "latest"],
        &["explain", "latest"],
        &["tools", "record", "latest", "-o", "r"],
    ] {
        let none = place.run(command);
        assert!(
            none.status == Some(2) && none.stderr.contains("no runs in `profiles` yet: `ncugate run CONFIG`"),
            "{none:?}"
        );
        assert!(!none.stderr.contains("did you mean"), "{none:?}");
    }
}

/// A file or a folder of another kind is known by its name, and one hint says which command takes it.
#[test]
fn a_file_of_another_kind_gets_one_hint() {
    let place = Place::new();
    place.write("kernel.cu", "__global__ void f(float *x) {}\n");
    place.write("phase.toml", "[phase]\n");
    std::fs::create_dir(place.path().join("rep")).unwrap();
    std::fs::copy(root().join("tests/data/full1.ncu-rep.zst"), place.path().join("rep/full1.ncu-rep")).unwrap();
    for (command, hint) in [
        (
            &["run", "rep/full1.ncu-rep"][..],
            "`rep/full1.ncu-rep` is an ncu report, not a phase; `ncugate explain rep/full1.ncu-rep`",
        ),
        (&["check", "kernel.cu"], "`kernel.cu` is source code, not a phase; `ncugate init kernel.cu`"),
        (&["show", "phase.toml"], "`phase.toml` is a phase, not a run or a report; `ncugate run phase.toml`"),
        (&["explain", "kernel.cu"], "`kernel.cu` is source code; `ncugate init kernel.cu`"),
        (&["show", "rep"], "`rep` is not a run: it holds ncu reports; name one of them, such as `rep/full1.ncu-rep`"),
    ] {
        let refused = place.run(command);
        assert!(refused.status == Some(2) && refused.stderr.contains(hint), "{command:?}: {refused:?}");
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{command:?}: {refused:?}");
    }
}
