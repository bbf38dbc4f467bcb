//! Completions of shells: what bash inserts, and whether zsh and fish accept their scripts.

use crate::command::{Finished, Place, Program, binary, root};
use std::path::PathBuf;

/// The script of a shell, in a file of the place.
fn script(place: &Place, shell: &str) -> PathBuf {
    let printed = place.run(&["tools", "completions", shell]);
    assert_eq!(printed.status, Some(0), "{printed:?}");
    place.write(&format!("ncugate.{shell}"), &printed.stdout)
}

/// Runs the function of bash on a line as readline does, at the root of the repository; gives the inserted words.
fn completed(line: &str) -> Vec<String> {
    let place = Place::new();
    let script = script(&place, "bash");
    let program = format!(
        "source '{}'; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=('{}'); _ncugate; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        binary().display()
    );
    let finished = Finished::of(Program::new("bash").args(["--norc", "-c", &program]).current_dir(root()));
    assert!(finished.status == Some(0) && finished.stderr.is_empty(), "{finished:?}");
    finished.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_phases_runs_metrics_and_variants() {
    assert_eq!(completed("ncugate exp"), ["explain", "export"]);
    assert_eq!(completed("ncugate run configs/sdpa"), ["configs/sdpa_fast.toml", "configs/sdpa_fast_causal.toml"]);
    assert_eq!(completed("ncugate show lat"), ["latest"]);
    assert_eq!(completed("ncugate page soft"), ["softmax"]);
    assert_eq!(completed("ncugate show r.ncu-rep --metric achieved"), ["achieved_occupancy"]);
    assert_eq!(completed("ncugate explain inversion --variant bank"), ["bank_conflicts"]);
    // readline replaces what follows the last `=`
    let variants = completed("ncugate explain softmax --variant THREADS=128,ROWS_PER_BLOCK=1");
    assert_eq!(variants, ["1,VEC=1", "1,VEC=4"]);
    assert_eq!(completed("ncugate export softmax --to=disp"), ["dispatch-header", "dispatch-json"]);
    assert!(completed("ncugate ").contains(&"demo".to_owned()));
    assert!(completed("ncugate show no/such/fi").is_empty(), "bash completes files by itself");
}

/// A terminal, a prompt and the Tab key. `script` of util-linux gives bash a terminal.
#[test]
fn bash_completes_at_a_prompt() {
    let place = Place::new();
    let script = script(&place, "bash");
    let folder = binary().parent().unwrap().display();
    let typed = format!(
        "PS1='$ '; PATH={folder}:$PATH; source '{}'\nncugate show lat\t\u{1}echo typed: \nexit\n",
        script.display()
    );
    let mut terminal = Program::new("script");
    terminal.args(["-qec", "bash --norc -i", "/dev/null"]).env("TERM", "dumb").current_dir(root());
    if which::which("script").is_err() {
        eprintln!("no `script`: bash at a prompt is not tested");
        return;
    }
    let finished = Finished::of(terminal.write_stdin(typed));
    assert!(finished.stdout.contains("typed: ncugate show latest"), "{finished:?}");
}

#[test]
fn zsh_and_fish_accept_their_scripts() {
    for (shell, parse) in [("zsh", "-n"), ("fish", "--no-execute")] {
        let place = Place::new();
        let script = script(&place, shell);
        if which::which(shell).is_err() {
            eprintln!("no {shell}: its script is not parsed");
            continue;
        }
        let finished = Finished::of(Program::new(shell).arg(parse).arg(&script));
        assert!(finished.status == Some(0) && finished.stderr.is_empty(), "{finished:?}");
    }
}
