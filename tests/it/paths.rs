//! Where paths of a phase begin, whatever folder the program is run in.

use crate::command::{Finished, Place};

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
        assert!(checked.stdout.contains("1 of 1 candidates are external commands"), "{checked:?}");
    }
    place.write("project/ncugate.toml", "");
    let moved = in_folder(&place, "elsewhere", &["check", "../project/phases/p.toml"]);
    let looked = format!("begin at the root of the project, {}", place.path().join("project").display());
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
    let judged = in_folder(&place, "below", &["gate", "../phases/torch.toml", "--profile", "r.ncu-rep.zst"]);
    assert_eq!(judged.status, Some(0), "{judged:?}");
    assert!(place.path().join("reports/torch").is_dir() && !place.path().join("below/reports").exists());
    let given = in_folder(
        &place,
        "below",
        &["gate", "../phases/torch.toml", "--profile", "r.ncu-rep.zst", "--reports", "mine"],
    );
    assert!(given.status == Some(0) && place.path().join("below/mine/torch").is_dir(), "{given:?}");
}

#[test]
fn a_missing_program_fails_the_check_and_one_cause_is_said_once() {
    let place = Place::new();
    place.write("p.toml", &PHASE.replace("\"sh\"", "\"no-such-program\""));
    place.write("tools/mine.sh", "");
    let absent = place.run(&["check", "p.toml"]);
    assert!(absent.status == Some(1) && absent.stdout.contains("there is no program `no-such-program`"), "{absent:?}");
}

#[test]
fn signatures_lie_in_the_project_whatever_folder_the_program_is_run_in() {
    let place = Place::new();
    std::fs::remove_file(place.path().join("ncugate.toml")).unwrap();
    let config = "[phase]\nname = \"torch\"\n[explain]\nsignatures = \"own.json\"\n[[variant]]\nname = \"softmax\"\nmatch = { kernel = \"softmax*\" }\n[[gate]]\nrequire = \"registers <= 64\"\n";
    place.write("below/torch.toml", config);
    let data = crate::command::root();
    std::fs::copy(data.join("tests/data/torch_nvtx.ncu-rep.zst"), place.path().join("r.ncu-rep.zst")).unwrap();
    let report = |reports: &str| {
        let args = ["gate", "below/torch.toml", "--profile", "r.ncu-rep.zst", "--reports", reports];
        let judged = in_folder(&place, "", &args);
        assert_eq!(judged.status, Some(0), "{judged:?}");
        let run = std::fs::read_dir(place.path().join(reports).join("torch")).unwrap().next().unwrap().unwrap();
        std::fs::read_to_string(run.path().join("results.json")).unwrap()
    };
    assert!(report("without").contains("own.json, which cannot be read"));
    let own = data.join("crates/ncugate-report/src/explain/signatures/h200.json");
    std::fs::copy(own, place.path().join("below/own.json")).unwrap();
    assert!(!report("with").contains("cannot be read"));
}
