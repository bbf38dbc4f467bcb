//! `ncugate agent tools` and `ncugate agent call`: the commands of an agent's loop as tools. The server of the Model Context Protocol
//! (`ncugate-mcp` of the Python package) passes both on. A call is a separate process of this program: its output and status
//! are the answer.

use super::run_name::{PROFILES, run_folder};
use super::{CommandError, confinement, print, signal};
use crate::cli::CallArgs;
use crate::console::Output;
use crate::exit::Outcome;
use ncugate_model::process::{self, PipedChild, ProcessExit};
use serde_json::{Map, Value, json};
use std::io::{self, Read};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Maximum length of the arguments, in bytes.
const ARGUMENTS: u64 = 1 << 20;

/// Time limit of a call.
const CALL: Duration = Duration::from_secs(1800);

/// Maximum length of the text in an answer, in bytes.
const TEXT: usize = 20_000;

/// The output and status of a call.
struct CallResult {
    /// Its exit status; `None` if a signal or the time limit ended it.
    status: Option<i32>,
    /// The outcome of the command; of one that was ended, that of the environment.
    outcome: Outcome,
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
        let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| text.trim().to_owned());
        Self { status, outcome: outcome.unwrap_or(Outcome::Environment), ending, stdout, stderr }
    }

    /// Whether the call failed. Pass, fail and inconclusive are answers, not failures.
    fn is_error(&self) -> bool {
        matches!(self.outcome, Outcome::Usage | Outcome::Environment)
    }

    /// Standard output as JSON, if it is an object.
    fn object(&self) -> Option<Value> {
        serde_json::from_str(&self.stdout).ok().filter(Value::is_object)
    }

    /// Standard output, if any; then the status with standard error. Of the `outputSchema` in [`TOOLS`].
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

/// The commands of a call.
#[derive(Debug, PartialEq)]
enum ToolRequest {
    /// The answer is the command's output.
    Command(Vec<String>),
    /// The command measures a run, and the answer is what `agent next` says about it.
    Measurement(Vec<String>),
}

/// Prints the tools with the schemas of their arguments, as the protocol lists them.
pub fn tools(out: &mut Output) -> Result<Outcome, CommandError> {
    print::json(&listed(), out)?;
    Ok(Outcome::Passed)
}

/// Calls a tool with the arguments on standard input, a JSON object; prints its result, and returns the outcome of its command.
pub fn call(args: &CallArgs, out: &mut Output) -> Result<Outcome, CommandError> {
    signal::watch();
    let mut text = String::new();
    let read = io::stdin().take(ARGUMENTS + 1).read_to_string(&mut text);
    read.map_err(|error| CommandError::Usage(format!("cannot read the arguments on standard input: {error}")))?;
    let result = called(&requested(&args.tool, &text).map_err(CommandError::Usage)?)?;
    print::json(&result.answer(), out)?;
    Ok(result.outcome)
}

/// The request of a tool with these arguments.
fn requested(tool: &str, text: &str) -> Result<ToolRequest, String> {
    if text.len() as u64 > ARGUMENTS {
        return Err(format!("the arguments are longer than {ARGUMENTS} bytes"));
    }
    let arguments: Value = serde_json::from_str(text)
        .ok()
        .filter(Value::is_object)
        .ok_or("the arguments on standard input are no JSON object; write {} for none")?;
    request(tool, &arguments)
}

/// The tools as the protocol lists them, and the JSON Schema of every structured answer.
const TOOLS: &str = include_str!("tools.json");

fn listed() -> Value {
    let mut file: Map<String, Value> = serde_json::from_str(TOOLS).unwrap_or_default();
    let (schema, mut tools) = (file.remove("outputSchema"), file.remove("tools").unwrap_or_default());
    for tool in tools.as_array_mut().into_iter().flatten() {
        tool["outputSchema"] = schema.clone().unwrap_or_default();
    }
    tools
}

/// The commands of a call. Values are never options: one that begins with a dash is refused. Paths lead into the working directory.
fn request(tool: &str, arguments: &Value) -> Result<ToolRequest, String> {
    let tools = listed();
    let spec = tools.as_array().into_iter().flatten().find(|spec| spec["name"] == tool);
    let properties = &spec.ok_or_else(|| format!("unknown tool `{tool}`"))?["inputSchema"]["properties"];
    let known = |name: &String| properties.get(name).is_some();
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
                    Value::String(text) => format!("--set={name}={text}"),
                    other => format!("--set={name}={other}"),
                })),
                Some(_) => return Err("`params` must be an object".to_owned()),
            }
            command(&["agent", "try"], more)
        }
    };
    Ok(ToolRequest::Command(argv))
}

/// Runs the commands of a call; returns their output and status.
fn called(request: &ToolRequest) -> io::Result<CallResult> {
    match request {
        ToolRequest::Command(argv) => executed(argv),
        ToolRequest::Measurement(argv) => advised(executed(argv)?),
    }
}

/// The result of a measured run, with the suggested next step in place of all its values.
fn advised(measured: CallResult) -> io::Result<CallResult> {
    let object = measured.object().unwrap_or_default();
    let (Some(phase), Some(run)) = (object["phase"].as_str(), object["run"].as_str()) else {
        return Ok(measured);
    };
    let folder = format!("{PROFILES}/{phase}/{run}");
    let next = executed(&["agent".to_owned(), "next".to_owned(), folder.clone()])?;
    // Without advice the verdict is still the answer.
    let verdict =
        || json!({ "verdict": object["verdict"], "reason": object["reason"], "selected": object["selected"] });
    let mut answer = next.object().unwrap_or_else(verdict);
    answer["run"] = folder.into();
    let stdout = answer.to_string();
    Ok(CallResult { stdout, stderr: format!("{}\n{}", measured.stderr, next.stderr).trim().to_owned(), ..measured })
}

/// Runs this program; returns its output and status.
fn executed(argv: &[String]) -> io::Result<CallResult> {
    // The JSON of a run may have megabytes.
    let child = PipedChild::listening(Command::new(std::env::current_exe()?).args(argv), Some(CALL))?;
    Ok(CallResult::new(child.finish()?))
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

    #[test]
    fn every_tool_describes_its_arguments_and_every_answer_has_the_declared_keys() {
        let tools = listed();
        let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["run", "try", "next", "check", "explain", "show", "compare"]);
        for tool in tools.as_array().unwrap() {
            let (properties, output) = (&tool["inputSchema"]["properties"], &tool["outputSchema"]);
            let described =
                |(_, schema): (&String, &Value)| schema["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(properties.as_object().unwrap().iter().all(described), "{tool}");
            for ending in [ProcessExit::Completed, ProcessExit::TimedOut] {
                let result = printed(ending, "{}", "").answer();
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

    fn asked(tool: &str, arguments: &Value) -> Result<String, String> {
        let (ToolRequest::Command(argv) | ToolRequest::Measurement(argv)) = requested(tool, &arguments.to_string())?;
        Ok(argv.join(" "))
    }

    #[test]
    fn a_call_is_a_command_line_whose_values_are_not_options() {
        let call = |arguments: Value| asked("try", &arguments);
        let said = call(json!({"config": "c.toml", "source": "k.cu", "idea": "vector loads", "params": {"VEC": 4}}));
        assert_eq!(said.unwrap(), "agent try c.toml --source=k.cu --idea=vector loads --set=VEC=4");
        let refused = call(json!({"config": "--profiles=/", "source": "k.cu"})).unwrap_err();
        assert!(refused.contains("does not begin with `-`"), "{refused}");
        assert_eq!(call(json!({"config": "c.toml"})).unwrap_err(), "`source` is missing");
        let unknown = call(json!({"config": "c.toml", "source": "k.cu", "profiles": "/"})).unwrap_err();
        assert_eq!(unknown, "`try` has no argument `profiles`");
    }

    #[test]
    fn what_is_no_call_is_refused() {
        let long = format!("{{\"path\":\"{}\"}}", "x".repeat(1 << 20));
        for (tool, text, said) in [
            ("show", "{", "no JSON object"),
            ("show", "[]", "no JSON object"),
            ("show", "", "no JSON object"),
            ("show", &long, "longer than"),
            ("worker", "{}", "unknown tool `worker`"),
        ] {
            let refused = requested(tool, text).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }

    #[test]
    fn a_pattern_is_no_path() {
        for path in ["l*/secret.ncu-rep", "?ink/secret.ncu-rep", "[l]ink/secret.ncu-rep", "**/secret.ncu-rep"] {
            for (tool, key) in [("show", "path"), ("explain", "path"), ("compare", "a"), ("check", "config")] {
                let arguments = if tool == "compare" { json!({key: path, "b": path}) } else { json!({key: path}) };
                let why = asked(tool, &arguments).unwrap_err();
                assert!(why.contains("is a pattern"), "{tool} {path}: {why}");
            }
        }
    }

    #[test]
    fn paths_lead_into_the_working_directory() {
        for (key, path) in [("config", "/etc/passwd"), ("config", "../x.toml"), ("config", "src/../../x.toml")] {
            let refused = asked("check", &json!({key: path})).unwrap_err();
            assert!(refused.contains("outside the working directory"), "{refused}");
        }
    }
}
