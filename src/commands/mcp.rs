//! `ncugate agent serve`: the commands of an agent's loop as tools of the Model Context Protocol, over standard input and output
//! (JSON-RPC 2.0, a message a line; specification 2025-06-18 and 2025-11-25). Each call is a separate process of this program, so a
//! crash ends only that call. Calls run one at a time; every other message is answered meanwhile.

use super::run_name::{PROFILES, run_folder};
use super::{CommandError, confinement, print, signal};
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_model::process::{self, PipedChild, ProcessExit};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Maximum length of a message, in bytes.
const MESSAGE: u64 = 1 << 20;

/// Time limit of a call.
const CALL: Duration = Duration::from_secs(1800);

/// Maximum number of waiting calls.
const WAITING: usize = 16;

/// Maximum number of queued events.
const EVENTS: usize = 16;

/// Maximum length of the text in an answer, in bytes.
const TEXT: usize = 20_000;

/// Versions of the protocol that the server speaks, the newest first. Its tools are the same in all of them.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Interval of checks for a signal.
const LOOK: Duration = Duration::from_millis(200);

/// The output and status of a call.
struct CallResult {
    /// Its exit status; `None` if a signal or the time limit ended it.
    status: Option<i32>,
    /// The status in words.
    ending: String,
    stdout: String,
    stderr: String,
}

impl CallResult {
    fn new(output: process::ProcessOutput) -> Self {
        let status = match output.ending {
            ProcessExit::Completed => Some(0),
            ProcessExit::NonZero(status) => Some(status),
            ProcessExit::Signaled(_) | ProcessExit::TimedOut | ProcessExit::Interrupted => None,
        };
        let outcome = status.and_then(|status| Outcome::of_status(u8::try_from(status).ok()?));
        let ending = match (outcome, status) {
            (Some(outcome), Some(status)) => format!("status {status}: {}", outcome.words()),
            _ => format!("the command {}", output.ending),
        };
        Self { status, ending, stdout: output.stdout.trim().to_owned(), stderr: output.stderr.trim().to_owned() }
    }

    /// Whether the call failed. Pass, fail and inconclusive are answers, not failures.
    fn is_error(&self) -> bool {
        let outcome = self.status.and_then(|status| Outcome::of_status(u8::try_from(status).ok()?));
        match outcome {
            Some(Outcome::Passed | Outcome::Failed | Outcome::Inconclusive) => false,
            Some(Outcome::Usage | Outcome::Environment) | None => true,
        }
    }

    /// Standard output as JSON, if it is an object.
    fn object(&self) -> Option<Value> {
        serde_json::from_str(&self.stdout).ok().filter(Value::is_object)
    }

    /// Standard output, if any; then the status with standard error. Of [`output_schema`].
    fn answer(&self) -> Value {
        let block = |text: &str| json!({ "type": "text", "text": text });
        let object = self.object();
        let (stdout, stderr) = (shortened(&self.stdout), shortened(&self.stderr));
        let said = format!("{}\n{stderr}", self.ending);
        let blocks = [stdout.as_str(), said.trim()].into_iter().filter(|text| !text.is_empty()).map(block);
        json!({
            "content": blocks.collect::<Vec<_>>(),
            "structuredContent": {
                "status": self.status,
                "outcome": self.ending,
                "stdout": if object.is_some() { "" } else { stdout.as_str() },
                "answer": object,
                "stderr": stderr,
            },
            "isError": self.is_error(),
        })
    }
}

/// A text of at most [`TEXT`] bytes, which says what it leaves out.
fn shortened(text: &str) -> String {
    if text.len() <= TEXT {
        return text.to_owned();
    }
    let kept = (0..=TEXT).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}\n({} more bytes were left out)", &text[..kept], text.len() - kept)
}

/// Events of the server.
enum Event {
    Message(Vec<u8>),
    /// A message longer than [`MESSAGE`], which was skipped.
    TooLong,
    End(io::Result<()>),
    /// The running call has ended: its answer, unless it was cancelled.
    Over(Option<Value>),
}

/// A requested call.
#[derive(Debug, PartialEq)]
struct Call {
    id: Value,
    request: ToolRequest,
}

/// The commands of a call.
#[derive(Debug, PartialEq)]
enum ToolRequest {
    /// The answer is the command's output.
    Command(Vec<String>),
    /// The command measures a run, and the answer is what `agent next` says about it.
    Measurement(Vec<String>),
}

/// The request of a message.
#[derive(Debug, PartialEq)]
enum Reply {
    /// No answer: it is a notification.
    None,
    Answer(Value),
    Call(Call),
    /// To cancel this call, without an answer.
    Cancel(Value),
}

/// Answers messages until standard input ends and every call is answered.
pub fn mcp(input: impl BufRead + Send + 'static, out: &mut Output) -> Result<Outcome, CommandError> {
    signal::watch();
    let (sender, events) = sync_channel(EVENTS);
    let mut server = Server { sender: sender.clone(), running: None, waiting: VecDeque::new() };
    std::thread::spawn(move || read(input, &sender));
    let mut has_ended = false;
    while !has_ended || server.running.is_some() {
        let Some(event) = next(&events, &server)? else { return Ok(Outcome::Environment) };
        let answer = match event {
            Event::Message(line) => server.take(reply(&line)),
            Event::TooLong => {
                Some(failure(&Value::Null, -32600, &format!("the message is longer than {MESSAGE} bytes")))
            }
            Event::End(read) => {
                read?;
                has_ended = true;
                None
            }
            Event::Over(answer) => {
                server.running = None;
                server.start();
                answer
            }
        };
        if let Some(answer) = answer {
            print::json_text(&answer.to_string(), out)?;
            out.flush()?;
        }
    }
    Ok(Outcome::Passed)
}

/// The next event; `None` after a request to stop and the end of the running call.
fn next(events: &Receiver<Event>, server: &Server) -> Result<Option<Event>, CommandError> {
    loop {
        match events.recv_timeout(LOOK) {
            Ok(event) => return Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) if process::interrupted() && server.running.is_none() => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
            // The server itself holds a sender.
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
        }
    }
}

/// Reads messages to the end of standard input.
fn read(mut input: impl BufRead, events: &SyncSender<Event>) {
    let end = loop {
        let mut line = Vec::new();
        let event = match Read::take(&mut input, MESSAGE).read_until(b'\n', &mut line) {
            Err(error) => break Err(error),
            Ok(0) => break Ok(()),
            Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 >= MESSAGE => match input.skip_until(b'\n') {
                Err(error) => break Err(error),
                Ok(_) => Event::TooLong,
            },
            Ok(_) => Event::Message(line),
        };
        if events.send(event).is_err() {
            return;
        }
    };
    // The receiver is gone once the server has ended.
    let _ = events.send(Event::End(end));
}

/// The calls of a server.
struct Server {
    sender: SyncSender<Event>,
    /// The id of the running call, and its stop flag.
    running: Option<(Value, Arc<AtomicBool>)>,
    waiting: VecDeque<Call>,
}

impl Server {
    /// Handles a message; returns the answer if it is known now.
    fn take(&mut self, reply: Reply) -> Option<Value> {
        match reply {
            Reply::None => None,
            Reply::Answer(answer) => Some(answer),
            Reply::Call(call) if self.waiting.len() >= WAITING => Some(failure(
                &call.id,
                -32000,
                &format!("{WAITING} calls are waiting; try again after the next answer"),
            )),
            Reply::Call(call) => {
                self.waiting.push_back(call);
                self.start();
                None
            }
            Reply::Cancel(id) => {
                self.waiting.retain(|call| call.id != id);
                if let Some((running, stop)) = &self.running
                    && *running == id
                {
                    stop.store(true, Ordering::Relaxed);
                }
                None
            }
        }
    }

    /// Starts the call that has waited longest, unless one is running.
    fn start(&mut self) {
        if self.running.is_some() {
            return;
        }
        let Some(call) = self.waiting.pop_front() else { return };
        let stop = Arc::new(AtomicBool::new(false));
        self.running = Some((call.id.clone(), Arc::clone(&stop)));
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            let answer = answer(&call, called(&call.request, &stop));
            // The receiver is gone once the server has ended.
            let _ = sender.send(Event::Over(answer));
        });
    }
}

/// The request of a message.
fn reply(line: &[u8]) -> Reply {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Reply::None;
    }
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(e) => return Reply::Answer(failure(&Value::Null, -32700, &format!("not JSON: {e}"))),
    };
    let method = message.get("method").and_then(Value::as_str);
    let Some(id) = message.get("id") else {
        let cancelled = message.pointer("/params/requestId").filter(|_| method == Some("notifications/cancelled"));
        return cancelled.map_or(Reply::None, |id| Reply::Cancel(id.clone()));
    };
    let result = match method {
        Some("initialize") => json!({
            "protocolVersion": version(message.pointer("/params/protocolVersion")),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "ncugate", "version": env!("CARGO_PKG_VERSION") },
        }),
        Some("ping") => json!({}),
        Some("tools/list") => json!({ "tools": tools() }),
        Some("tools/call") => {
            let name = message.pointer("/params/name").and_then(Value::as_str).unwrap_or_default();
            let arguments = message.pointer("/params/arguments").cloned().unwrap_or_else(|| json!({}));
            return match request(name, &arguments) {
                Ok(request) => Reply::Call(Call { id: id.clone(), request }),
                Err(reason) => Reply::Answer(failure(id, -32602, &reason)),
            };
        }
        Some(_) | None => return Reply::Answer(failure(id, -32601, "unknown method")),
    };
    Reply::Answer(success(id, &result))
}

/// The version that the client asks for, else the newest.
fn version(asked: Option<&Value>) -> &'static str {
    let asked = asked.and_then(Value::as_str);
    VERSIONS.into_iter().find(|known| Some(*known) == asked).unwrap_or(VERSIONS[0])
}

/// The answer to a call; `None` if it was cancelled.
fn answer(call: &Call, result: io::Result<Option<CallResult>>) -> Option<Value> {
    let failed = |e| CallResult {
        status: None,
        ending: format!("cannot run the command: {e}"),
        stdout: String::new(),
        stderr: String::new(),
    };
    let result = result.unwrap_or_else(|e| Some(failed(e)))?;
    Some(success(&call.id, &result.answer()))
}

fn success(id: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn failure(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

/// Whether a tool changes files.
#[derive(Clone, Copy, PartialEq)]
enum Effect {
    Reads,
    Writes,
}

/// A tool as clients see it.
struct ToolSpec {
    name: &'static str,
    effect: Effect,
    about: &'static str,
    /// Required arguments.
    required: &'static [&'static str],
    /// Other arguments.
    optional: &'static [&'static str],
}

const TOOLS: [ToolSpec; 7] = [
    ToolSpec {
        name: "run",
        effect: Effect::Writes,
        about: "Measures a phase on the GPU: builds, verifies, times, profiles and judges every variant. Returns the verdict and its reason, \
         the selected variant with its parameters and times, findings with advice, and the next points to try.",
        required: &["config"],
        optional: &["base"],
    },
    ToolSpec {
        name: "try",
        effect: Effect::Writes,
        about: "Builds, verifies, times, profiles and judges one CUDA source against the best so far of a phase. Returns the decision and its \
         reason, times and speedup by shape, changed counters, the leading finding with advice, and the next points to try.",
        required: &["config", "source"],
        optional: &["idea", "params"],
    },
    ToolSpec {
        name: "next",
        effect: Effect::Reads,
        about: "Suggests the next change after a run: findings with evidence, untried parameters with their predicted latency, and the \
         parameters that matter.",
        required: &["run"],
        optional: &[],
    },
    ToolSpec {
        name: "check",
        effect: Effect::Writes,
        about: "Checks a phase without a GPU: config errors, the build, and build-time gates. Refuses a phase that names a compiler or runs a \
         program.",
        required: &["config"],
        optional: &[],
    },
    ToolSpec {
        name: "explain",
        effect: Effect::Reads,
        about: "Explains why a kernel of a run or an ncu report is slow, with evidence and advice; or what a metric means.",
        required: &["path"],
        optional: &["variant", "shape"],
    },
    ToolSpec {
        name: "show",
        effect: Effect::Reads,
        about: "Shows the verdict, gates and variants of a run, or the launches of an ncu report, as text.",
        required: &["path"],
        optional: &["metric"],
    },
    ToolSpec {
        name: "compare",
        effect: Effect::Reads,
        about: "Compares two runs or two ncu reports: changes, their noise, and changed verdicts, as text.",
        required: &["a", "b"],
        optional: &["metric"],
    },
];

/// The JSON Schema of an argument.
fn argument(name: &str) -> Value {
    let about = match name {
        "config" => "the phase's TOML file",
        "base" => "a branch or commit: gates read the kernels of the last common commit as `base.`",
        "source" => "the .cu file to try",
        "idea" => "the idea in one sentence, for the history",
        "params" => return json!({ "type": "object", "description": "parameters that differ from the best so far" }),
        "run" => "the folder of a run, its id, its phase (the newest run), or `latest`",
        "path" => "a run or an ncu report; for `explain` also a metric",
        "a" | "b" => "a run or an ncu report",
        "variant" => "a variant of the run instead of the one in use",
        "shape" => "a shape of the run instead of the objective's",
        "metric" => "only these metrics of reports: a name or a glob",
        _ => "",
    };
    json!({ "type": "string", "description": about })
}

fn tools() -> Value {
    let tool = |ToolSpec { name, effect, about, required, optional }: ToolSpec| {
        let properties: Map<String, Value> =
            required.iter().chain(optional).map(|name| ((*name).to_owned(), argument(name))).collect();
        json!({
            "name": name,
            "description": about,
            "inputSchema": { "type": "object", "properties": properties, "required": required, "additionalProperties": false },
            "outputSchema": output_schema(),
            "annotations": { "readOnlyHint": effect == Effect::Reads, "destructiveHint": false, "openWorldHint": false },
        })
    };
    TOOLS.into_iter().map(tool).collect()
}

/// The JSON Schema of every structured answer.
fn output_schema() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!({
        "type": "object",
        "properties": {
            "status": {
                "type": ["integer", "null"],
                "description": "exit status: 0 passed, 1 failed, 2 wrong usage or config, 3 environment, 4 inconclusive; null if it was ended"
            },
            "outcome": text("the status in words"),
            "answer": { "type": ["object", "null"], "description": "the answer, if the command prints an object" },
            "stdout": text("the output, if it is text"),
            "stderr": text("errors and notes"),
        },
        "required": ["status", "outcome", "answer", "stdout", "stderr"],
        "additionalProperties": false,
    })
}

/// The commands of a call. Values are never options: one that begins with a dash is refused. Paths lead into the working directory.
fn request(tool: &str, arguments: &Value) -> Result<ToolRequest, String> {
    let spec = TOOLS.into_iter().find(|spec| spec.name == tool).ok_or_else(|| format!("unknown tool `{tool}`"))?;
    let known = |name: &String| spec.required.iter().chain(spec.optional).any(|known| known == name);
    if let Some(name) = arguments.as_object().and_then(|given| given.keys().find(|name| !known(name))) {
        return Err(format!("`{tool}` has no argument `{name}`"));
    }
    let text = |key: &str| match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.starts_with('-') && !text.is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` must be a string that does not begin with `-`")),
    };
    let path = |key: &str| {
        let path = text(key)?.ok_or_else(|| format!("`{key}` is missing"))?;
        // A command expands a pattern after this check, and a match may be below a link.
        if path.contains(['*', '?', '[']) && !Path::new(&path).exists() {
            return Err(format!("`{key}`: {path} is a pattern; name one file or folder"));
        }
        confinement::inside(Path::new(&path)).map_err(|why| format!("`{key}`: {why}"))?;
        Ok::<_, String>(path)
    };
    let run = |key: &str| {
        let run = path(key)?;
        // A name resolves to a folder, which may be a link. The command refuses an unknown name.
        if let Ok(folder) = run_folder(Path::new(&run), Path::new(PROFILES)) {
            confinement::inside(&folder).map_err(|why| format!("`{key}`: {why}"))?;
        }
        Ok::<_, String>(run)
    };
    let option = |key: &str| Ok::<_, String>(text(key)?.map(|value| format!("--{key}={value}")));
    let command = |words: &[&str], more: Vec<String>| words.iter().map(|word| (*word).to_owned()).chain(more).collect();
    let argv: Vec<String> = match tool {
        "run" => {
            let more = [path("config")?].into_iter().chain(option("base")?).collect();
            return Ok(ToolRequest::Measurement(command(&["run", "--source=gpu", "--format=json"], more)));
        }
        "next" => command(&["agent", "next"], vec![run("run")?]),
        "check" => command(&["check", "--confined"], vec![path("config")?]),
        "explain" => {
            let options = [option("variant")?, option("shape")?];
            let more = [run("path")?].into_iter().chain(options.into_iter().flatten());
            command(&["explain", "--for=agent", "--format=json"], more.collect())
        }
        "show" => command(&["show"], [run("path")?].into_iter().chain(option("metric")?).collect()),
        "compare" => command(&["compare"], [run("a")?, run("b")?].into_iter().chain(option("metric")?).collect()),
        _ => {
            let options = [Some(format!("--source={}", path("source")?)), option("idea")?];
            let mut more: Vec<String> = [path("config")?].into_iter().chain(options.into_iter().flatten()).collect();
            match arguments.get("params") {
                None | Some(Value::Null) => {}
                Some(Value::Object(params)) => more.extend(params.iter().map(|(name, value)| match value {
                    Value::String(text) => format!("--param={name}={text}"),
                    other => format!("--param={name}={other}"),
                })),
                Some(_) => return Err("`params` must be an object".to_owned()),
            }
            command(&["agent", "try"], more)
        }
    };
    Ok(ToolRequest::Command(argv))
}

/// Runs the commands of a call; returns their output and status, or `None` if `stop` ended them.
fn called(request: &ToolRequest, stop: &AtomicBool) -> io::Result<Option<CallResult>> {
    match request {
        ToolRequest::Command(argv) => executed(argv, stop),
        ToolRequest::Measurement(argv) => match executed(argv, stop)? {
            Some(measured) => advised(measured, stop),
            None => Ok(None),
        },
    }
}

/// The result of a measured run, with the suggested next step in place of all its values.
fn advised(measured: CallResult, stop: &AtomicBool) -> io::Result<Option<CallResult>> {
    let object = measured.object().unwrap_or_default();
    let (Some(phase), Some(run)) = (object["phase"].as_str(), object["run"].as_str()) else {
        return Ok(Some(measured));
    };
    let folder = format!("{PROFILES}/{phase}/{run}");
    let next = ["agent".to_owned(), "next".to_owned(), folder.clone()];
    let Some(next) = executed(&next, stop)? else { return Ok(None) };
    // Without advice the verdict is still the answer.
    let verdict =
        || json!({ "verdict": object["verdict"], "reason": object["reason"], "selected": object["selected"] });
    let mut answer = next.object().unwrap_or_else(verdict);
    answer["run"] = folder.into();
    let stdout = answer.to_string();
    Ok(Some(CallResult {
        stdout,
        stderr: format!("{}\n{}", measured.stderr, next.stderr).trim().to_owned(),
        ..measured
    }))
}

/// Runs this program; returns its output and status, or `None` if `stop` ended it.
fn executed(argv: &[String], stop: &AtomicBool) -> io::Result<Option<CallResult>> {
    // The JSON of a run may have megabytes.
    let child = PipedChild::listening(Command::new(std::env::current_exe()?).args(argv), Some(CALL))?;
    Ok(child.finish_unless(stop)?.map(CallResult::new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(ending: ProcessExit, stdout: &str, stderr: &str) -> CallResult {
        CallResult::new(process::ProcessOutput { ending, stdout: stdout.to_owned(), stderr: stderr.to_owned() })
    }

    #[test]
    fn an_error_is_a_call_that_could_not_do_its_work_and_not_a_verdict() {
        let verdicts =
            [(ProcessExit::Completed, false), (ProcessExit::NonZero(1), false), (ProcessExit::NonZero(4), false)];
        let errors = [
            ProcessExit::NonZero(2),
            ProcessExit::NonZero(3),
            ProcessExit::NonZero(101),
            ProcessExit::Signaled(9),
            ProcessExit::TimedOut,
        ];
        for (ending, wanted) in verdicts.into_iter().chain(errors.map(|ending| (ending, true))) {
            assert_eq!(printed(ending, "12 candidates", "why").answer()["isError"], wanted, "{ending}");
        }
        let failed = printed(ProcessExit::NonZero(1), "12 candidates", "why").answer();
        assert_eq!(failed["structuredContent"]["status"], 1);
        assert_eq!(failed.pointer("/content/1/text").unwrap(), "status 1: fail\nwhy");
    }

    fn ask(message: &Value) -> Option<Value> {
        match reply(message.to_string().as_bytes()) {
            Reply::None | Reply::Cancel(_) => None,
            Reply::Answer(answer) => Some(answer),
            Reply::Call(call) => {
                let (ToolRequest::Command(argv) | ToolRequest::Measurement(argv)) = &call.request;
                answer(&call, Ok(Some(printed(ProcessExit::Completed, &argv.join(" "), ""))))
            }
        }
    }

    #[test]
    fn a_client_is_greeted_and_told_the_tools() {
        for (asked, spoken) in [("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"), ("1999-01-01", VERSIONS[0])]
        {
            let params = json!({ "protocolVersion": asked });
            let greeted = ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})).unwrap();
            assert_eq!(greeted.pointer("/result/protocolVersion").unwrap(), spoken);
        }
        assert_eq!(ask(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})), None);
        let tools = ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).unwrap();
        let tools = tools.pointer("/result/tools").unwrap().as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["run", "try", "next", "check", "explain", "show", "compare"]);
        for tool in tools {
            let (properties, output) = (&tool["inputSchema"]["properties"], &tool["outputSchema"]);
            let described =
                |(_, schema): (&String, &Value)| schema["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(properties.as_object().unwrap().iter().all(described), "{tool}");
            // every answer has exactly the declared keys, an error as well
            let failed = answer(
                &Call { id: json!(1), request: ToolRequest::Command(Vec::new()) },
                Err(io::ErrorKind::Other.into()),
            );
            for result in [failed.unwrap()["result"].take(), printed(ProcessExit::Completed, "{}", "").answer()] {
                let structured = result["structuredContent"].as_object().unwrap();
                let required: Vec<&str> =
                    output["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                assert!(
                    structured.len() == required.len() && required.iter().all(|key| structured.contains_key(*key)),
                    "{result}"
                );
            }
        }
    }

    #[test]
    fn a_call_is_a_command_line_whose_values_are_not_options() {
        let call = |arguments: Value| {
            let params = json!({"name": "try", "arguments": arguments});
            ask(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})).unwrap()
        };
        let said = call(json!({"config": "c.toml", "source": "k.cu", "idea": "vector loads", "params": {"VEC": 4}}));
        let text = said.pointer("/result/content/0/text").unwrap();
        assert_eq!(text, "agent try c.toml --source=k.cu --idea=vector loads --param=VEC=4");
        let refused = call(json!({"config": "--profiles=/", "source": "k.cu"}));
        assert_eq!(refused.pointer("/error/code").unwrap(), -32602);
        assert_eq!(call(json!({"config": "c.toml"})).pointer("/error/message").unwrap(), "`source` is missing");
        let unknown = call(json!({"config": "c.toml", "source": "k.cu", "profiles": "/"}));
        assert_eq!(unknown.pointer("/error/message").unwrap(), "`try` has no argument `profiles`");
    }

    #[test]
    fn what_is_not_a_message_is_an_error_and_not_the_end() {
        let Reply::Answer(refused) = reply(b"{") else { unreachable!("an error is an answer") };
        assert_eq!(refused["error"]["code"], -32700);
        assert_eq!(ask(&json!({"id": 1, "method": "resources/list"})).unwrap().pointer("/error/code").unwrap(), -32601);
        assert_eq!(reply(b"  \n"), Reply::None);
    }

    #[test]
    fn calls_wait_for_each_other_and_a_cancelled_one_is_not_answered() {
        let (sender, events) = sync_channel(EVENTS);
        let stop = Arc::new(AtomicBool::new(false));
        let mut server = Server { sender, running: Some((json!(1), Arc::clone(&stop))), waiting: VecDeque::new() };
        let request = || ToolRequest::Command(vec!["--version".to_owned()]);
        let call = |id: usize| Reply::Call(Call { id: json!(id), request: request() });
        for id in 2..2 + WAITING {
            assert_eq!(server.take(call(id)), None);
        }
        let refused = server.take(call(99)).unwrap();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(99), &json!(-32000)));
        let cancel = |id: Value| {
            let params = json!({"requestId": id});
            reply(json!({"method": "notifications/cancelled", "params": params}).to_string().as_bytes())
        };
        assert_eq!(server.take(cancel(json!(3))), None);
        assert!(server.waiting.iter().all(|call| call.id != 3) && server.waiting.len() == WAITING - 1);
        assert!(!stop.load(Ordering::Relaxed));
        assert_eq!(server.take(cancel(json!(1))), None);
        assert!(stop.load(Ordering::Relaxed) && events.try_recv().is_err());
        let ended = answer(&Call { id: json!(1), request: request() }, Ok(None));
        assert_eq!(ended, None);
    }

    #[test]
    fn a_pattern_is_no_path() {
        for path in ["l*/secret.ncu-rep", "?ink/secret.ncu-rep", "[l]ink/secret.ncu-rep", "**/secret.ncu-rep"] {
            for (tool, key) in [("show", "path"), ("explain", "path"), ("compare", "a"), ("check", "config")] {
                let params = json!({"name": tool, "arguments": {key: path, "b": path}});
                let params = if tool == "compare" { params } else { json!({"name": tool, "arguments": {key: path}}) };
                let refused = ask(&json!({"id": 1, "method": "tools/call", "params": params})).unwrap();
                let why = refused.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
                assert!(why.contains("is a pattern"), "{tool} {path}: {refused}");
            }
        }
    }

    #[test]
    fn paths_lead_into_the_working_directory() {
        for (key, path) in [("config", "/etc/passwd"), ("config", "../x.toml"), ("config", "src/../../x.toml")] {
            let params = json!({"name": "check", "arguments": {key: path}});
            let refused = ask(&json!({"id": 1, "method": "tools/call", "params": params})).unwrap();
            assert_eq!(refused["error"]["code"], -32602, "{path}: {refused}");
            assert!(
                refused["error"]["message"].as_str().unwrap().contains("outside the working directory"),
                "{refused}"
            );
        }
    }
}
