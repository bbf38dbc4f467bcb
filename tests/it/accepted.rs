//! Regressions that a change accepts, and comments on it: `.ci/github.py` and the action with a double of GitHub's API.

use crate::ci::{Texts, action, comments};
use crate::command::{Finished, Place, Program, is_here, root};
use crate::stored::{Stored, calibrate, wiggle};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Comments of a pull request, and every request for a change of them.
#[derive(Default)]
struct Thread {
    comments: Vec<Value>,
    changes: Vec<String>,
}

/// A double of GitHub's API: permissions by user, and the comments of one pull request.
struct Hub {
    address: String,
    thread: Arc<Mutex<Thread>>,
}

impl Hub {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let thread = Arc::<Mutex<Thread>>::default();
        let shared = Arc::clone(&thread);
        std::thread::spawn(move || listener.incoming().for_each(|stream| answer(&stream.unwrap(), &shared)));
        Self { address, thread }
    }

    fn changes(&self) -> Vec<String> {
        std::mem::take(&mut self.thread.lock().unwrap().changes)
    }
}

/// Answers one request.
fn answer(stream: &TcpStream, thread: &Mutex<Thread>) {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let length = lines.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    let mut words = lines[0].split(' ');
    let (verb, path) = (words.next().unwrap(), words.next().unwrap().strip_prefix("/repos/o/r/").unwrap());
    let mut thread = thread.lock().unwrap();
    let text = || serde_json::from_slice::<Value>(&body).unwrap()["body"].clone();
    let result = match (verb, path) {
        ("GET", "collaborators/ada/permission") => Some(json!({ "permission": "write" })),
        ("GET", "collaborators/tria/permission") => Some(json!({ "permission": "read" })),
        ("GET", path) if path.starts_with("issues/7/comments?") => {
            let page: usize = path.rsplit('=').next().unwrap().parse().unwrap();
            Some(thread.comments.chunks(100).nth(page - 1).unwrap_or_default().into())
        }
        ("POST", "issues/7/comments") => {
            thread.changes.push("POST".to_owned());
            let id = thread.comments.len();
            thread.comments.push(json!({ "id": id, "user": { "login": "github-actions[bot]" }, "body": text() }));
            Some(json!({}))
        }
        ("PATCH", path) => {
            thread.changes.push(verb.to_owned());
            let id: usize = path.strip_prefix("issues/comments/").unwrap().parse().unwrap();
            thread.comments[id]["body"] = text();
            Some(json!({}))
        }
        _ => None,
    };
    let status = if result.is_some() { "200 OK" } else { "404 Not Found" };
    let text = result.unwrap_or_default().to_string();
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len()).unwrap();
}

fn git(place: &Place, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=ada", "-c", "user.email=ada@example.com"]).args(args);
    let output = command.current_dir(place.path()).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes the folder a repository whose head has this message; returns the head, which is `origin/main` too.
pub fn commit(place: &Place, message: &str) -> String {
    git(place, &["init", "--quiet"]);
    git(place, &["commit", "--quiet", "--allow-empty", "-m", message]);
    git(place, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    git(place, &["rev-parse", "HEAD"])
}

/// The event of a pull request by `author` from the repository `from`.
fn event(head: &str, author: &str, from: &str) -> Value {
    json!({
        "action": "synchronize",
        "sender": { "type": "User", "login": author },
        "pull_request": {
            "number": 7,
            "user": { "type": "User", "login": author },
            "head": { "sha": head, "repo": { "full_name": from } },
        },
    })
}

/// Waivers that the event brings, and warnings.
fn accepted(place: &Place, hub: &Hub, name: &str, event: &Value) -> (Vec<String>, String) {
    let file = place.path().join("waivers");
    let mut command = Program::new("python3");
    command.arg(root().join(".ci/github.py")).arg("accepted").arg(&file).current_dir(place.path());
    command.envs([("GITHUB_API_URL", hub.address.as_str()), ("GITHUB_REPOSITORY", "o/r"), ("TOKEN", "a-token")]);
    command.env("GITHUB_EVENT_NAME", name).env("GITHUB_EVENT_PATH", place.write("event.json", &event.to_string()));
    let _ = std::fs::remove_file(&file);
    let finished = Finished::of(&mut command);
    assert_eq!(finished.status, Some(0), "{finished:?}");
    let waivers = std::fs::read_to_string(file).unwrap_or_default();
    (waivers.lines().map(str::to_owned).collect(), finished.stderr)
}

#[test]
fn who_can_write_accepts_a_regression_and_nobody_else() {
    if !is_here("git") || !is_here("python3") {
        return;
    }
    let (place, hub) = (Place::new(), Hub::start());
    let line = "softmax/no slower than plain: narrow rows are rare";
    let head = commit(&place, &format!("softmax: wide rows\n\nText.\n\nAccept-regression: {line}"));
    let of = |event: &Value| accepted(&place, &hub, "pull_request", event);
    let by_line = format!("{line} (accepted in {} by ada)", &head[..10]);
    let own = event(&head, "ada", "o/r");
    assert_eq!(of(&own).0, [by_line.as_str()]);
    let labelled = |event: &Value, giver: &str, label: &str| {
        let mut event = event.clone();
        event["action"] = "labeled".into();
        event["label"] = json!({ "name": label });
        event["sender"]["login"] = giver.into();
        event
    };
    let fork = event(&head, "eve", "eve/r");
    let by_label = "accepted by the label accept-regression of ada";
    assert_eq!(of(&labelled(&fork, "ada", "accept-regression")).0, [format!("{line} ({by_label})")]);

    let mut bot = own.clone();
    bot["pull_request"]["user"]["type"] = "Bot".into();
    let mut gone = own.clone();
    gone["pull_request"]["head"]["repo"] = Value::Null;
    let refused = [
        ("a fork", fork.clone()),
        ("a fork of who can write", event(&head, "ada", "ada/r")),
        ("a deleted fork", gone),
        ("an author who cannot write", event(&head, "tria", "o/r")),
        ("an author unknown to the API", event(&head, "eve", "o/r")),
        ("a bot", bot),
        ("a label of who cannot write", labelled(&fork, "tria", "accept-regression")),
        ("another label", labelled(&fork, "ada", "documentation")),
        ("a head that is not checked out", event(&"0".repeat(40), "ada", "o/r")),
        ("an event without a pull request", json!({})),
    ];
    for (what, event) in &refused {
        let (waivers, said) = of(event);
        assert!(waivers.is_empty() && said.starts_with("::warning::"), "{what}: {waivers:?} {said}");
    }
    for name in ["push", "pull_request_target", "workflow_dispatch"] {
        assert!(accepted(&place, &hub, name, &own).0.is_empty(), "{name}");
    }
    let dead = Hub { address: "http://127.0.0.1:1".to_owned(), thread: Arc::default() };
    assert!(accepted(&place, &dead, "pull_request", &own).0.is_empty(), "GitHub does not answer");

    // A runner checks out the merge of target and head. Its own message counts for nothing.
    let target = git(&place, &["commit-tree", "HEAD^{tree}", "-m", "main"]);
    let message = format!("Merge\n\nAccept-regression: {}", line.replace("plain", "any"));
    let merge = git(&place, &["commit-tree", "HEAD^{tree}", "-p", &target, "-p", &head, "-m", &message]);
    git(&place, &["reset", "--quiet", "--hard", &merge]);
    assert_eq!(of(&own).0, [by_line]);

    // One trailer is one waiver, whatever else ends a line somewhere.
    for end in ['\u{b}', '\u{c}', '\r', '\u{1c}', '\u{85}', '\u{2028}', '\u{2029}'] {
        let head = commit(&place, &format!("softmax\n\nAccept-regression: {line}{end}*/*: anything at all"));
        let (waivers, said) = of(&event(&head, "ada", "o/r"));
        assert!(waivers.is_empty() && said.starts_with("::warning::"), "{end:?}: {waivers:?} {said}");
    }

    // The line is bound to its commit, and a later one needs it again.
    let later =
        commit(&place, "softmax: one more\n\nThe text mentions Accept-regression: softmax/x: a b c.\n\nNo trailer.");
    assert!(of(&event(&later, "ada", "o/r")).0.is_empty());
    let label = of(&labelled(&event(&later, "eve", "eve/r"), "ada", "accept-regression")).0;
    assert_eq!(label, [format!("*/*: {by_label}")]);
}

#[test]
fn an_accepted_regression_passes_and_its_comment_says_so() {
    if !is_here("git") || !is_here("python3") {
        return;
    }
    let (place, hub) = (Place::new(), Hub::start());
    let text = std::fs::read_to_string(root().join("configs/regression.toml")).unwrap();
    let config = place.write("regression.toml", &text);
    let write = |id: &str, us: f64| {
        Stored::new(&text, id).latency(move |_, round| us * (1.0 + 0.003 * wiggle(round, 1))).write(&place)
    };
    let (fast, slow) = (write("fast", 10.0), write("slower", 11.0));
    assert_eq!(place.run(&["leaderboard", "promote", fast.to_str().unwrap()]).status, Some(0));
    calibrate(&place, &text, 0.2);
    let judge = |message: &str| {
        let head = commit(&place, message);
        let event = place.write("event.json", &event(&head, "ada", "o/r").to_string());
        let variables = [
            ("GITHUB_API_URL", hub.address.as_str()),
            ("GITHUB_REPOSITORY", "o/r"),
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_EVENT_PATH", event.to_str().unwrap()),
        ];
        let given: Texts<'_> = &[("configs", config.to_str().unwrap()), ("profile", slow.to_str().unwrap())];
        (action(&place, given, &variables), hub.changes(), comments(&place))
    };
    let (failed, changes, _) = judge("kernels: slower");
    assert_eq!((failed.status, changes), (Some(1), vec!["POST".to_owned()]), "{failed:?}");

    let reason = "the layout saves memory";
    let advisory = format!("Accept-regression: regression/p90 no slower than the best by 5 %: {reason}");
    let (half_way, changes, _) = judge(&format!("kernels: slower\n\n{advisory}"));
    assert_eq!((half_way.status, changes), (Some(1), vec!["PATCH".to_owned()]), "another gate fails: {half_way:?}");

    let required = format!("Accept-regression: regression/no slower than the best by 2 %: {reason}");
    let (passed, _, comment) = judge(&format!("kernels: slower\n\n{required}\n{advisory}"));
    assert_eq!(passed.status, Some(0), "{passed:?}");
    let said = format!("**Waived:** no slower than the best by 2 %: {reason} (accepted in");
    assert!(comment.contains(&said), "{comment}");
    assert!(passed.stdout.contains("is waived until"), "a weakening: {}", passed.stdout);

    // a name that the phase does not have waives nothing, and is an error
    let wrong = "Accept-regression: regression/no slower than the best: the layout saves memory";
    let (wrong, changes, _) = judge(&format!("kernels: slower\n\n{wrong}"));
    assert_eq!((wrong.status, changes), (Some(2), vec!["PATCH".to_owned()]), "{wrong:?}");
    assert!(wrong.stderr.contains("did you mean 'no slower than the best by 2 %'"), "{wrong:?}");
    let thread = hub.thread.lock().unwrap();
    let [only] = thread.comments.as_slice() else { panic!("{:?}", thread.comments) };
    let body = only["body"].as_str().unwrap();
    assert!(body.starts_with("<!-- ncugate:regression -->\n<!-- ncugate_report -->\n"), "{body}");
    assert!(body.contains("did not judge this phase"), "an old verdict does not stand: {body}");
}

#[test]
fn only_the_comment_of_the_same_bot_phase_and_job_is_replaced() {
    if !is_here("git") || !is_here("python3") {
        return;
    }
    let (place, hub) = (Place::new(), Hub::start());
    let comment = |login: &str, body: &str| json!({ "id": 0, "user": { "type": "Bot", "login": login }, "body": body });
    let (own, bot) = ("<!-- ncugate:copy -->\n<!-- ncugate_report -->\nold", "github-actions[bot]");
    {
        let comments = &mut hub.thread.lock().unwrap().comments;
        comments.extend((0..98).map(|_| comment("ada", own)));
        comments.push(json!({ "user": null, "body": own }));
        comments.push(comment("other[bot]", own));
        comments.push(comment(bot, "<!-- ncugate:copy -->\n<!-- other -->\nold"));
        comments.push(comment(bot, own));
        for (id, comment) in comments.iter_mut().enumerate() {
            comment["id"] = id.into();
        }
    }
    place.write("comments/0.md", "<!-- ncugate:copy -->\nnew");
    place.write("comments/1.md", "no marker");
    let event = place.write("event.json", &event("", "ada", "o/r").to_string());
    let mut command = Program::new("python3");
    command.arg(root().join(".ci/github.py")).args(["comment", "comments"]).current_dir(place.path());
    command.envs([("GITHUB_API_URL", hub.address.as_str()), ("GITHUB_REPOSITORY", "o/r"), ("TOKEN", "a-token")]);
    command.env("GITHUB_EVENT_NAME", "pull_request").env("GITHUB_EVENT_PATH", event).env("NAME", "ncugate-report");
    let posted = Finished::of(&mut command);
    assert_eq!((posted.status, posted.stderr.as_str()), (Some(0), ""));
    assert_eq!(hub.changes(), ["PATCH"]);
    let thread = hub.thread.lock().unwrap();
    assert_eq!(thread.comments[101]["body"], own.replace("old", "new"));
    assert!(thread.comments[..101].iter().all(|comment| comment["body"].as_str().unwrap().ends_with("old")));
}
