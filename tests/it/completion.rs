//! Completions of shells: what bash inserts, and whether zsh and fish accept their scripts.

use crate::command::{Finished, Place, Program, binary, root};
use std::path::PathBuf;

/// The script of a shell, in a file of the place.
fn script(place: &Place, shell: &str) -> PathBuf {
    let printed = place.run(&["tools", "completions", shell]);
    assert_eq!(printed.status, Some(0), "{printed:?}");
    place.write(&format!("ncugate.{shell}"), &printed.stdout)
}

/// Calls the function of bash for the last word as readline does; gives the inserted words.
fn completed(words: &[&str]) -> Vec<String> {
    let place = Place::new();
    let script = script(&place, "bash");
    let [.., before, last] = words else { panic!("{words:?}") };
    let program = format!(
        "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _ncugate ncugate '{last}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        words.join(" "),
        words.len() - 1,
    );
    let finished = Finished::of(Program::new("bash").args(["--norc", "-c", &program]));
    assert!(finished.status == Some(0) && finished.stderr.is_empty(), "{finished:?}");
    finished.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_fixed_values() {
    assert_eq!(completed(&["ncugate", "exp"]), ["explain", "export"]);
    assert_eq!(completed(&["ncugate", "tools", "occ"]), ["occupancy"]);
    assert_eq!(completed(&["ncugate", "run", "configs/softmax.toml", "--sou"]), ["--source"]);
    assert_eq!(completed(&["ncugate", "export", "softmax", "--to", "disp"]), ["dispatch-header", "dispatch-json"]);
}

/// A terminal, a prompt and the Tab key. `script` of util-linux gives bash a terminal.
#[test]
fn bash_completes_at_a_prompt() {
    let place = Place::new();
    let script = script(&place, "bash");
    let folder = binary().parent().unwrap().display();
    let typed = format!(
        "PS1='$ '; PATH={folder}:$PATH; source '{}'\nncugate leader\t\u{1}echo typed: \nexit\n",
        script.display()
    );
    let mut terminal = Program::new("script");
    terminal.args(["-qec", "bash --norc -i", "/dev/null"]).env("TERM", "dumb").current_dir(root());
    if which::which("script").is_err() {
        eprintln!("no `script`: bash at a prompt is not tested");
        return;
    }
    let finished = Finished::of(terminal.write_stdin(typed));
    assert!(finished.stdout.contains("typed: ncugate leaderboard"), "{finished:?}");
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
