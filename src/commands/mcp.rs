//! `ncugate mcp`: the commands of an agent's loop as tools of the Model Context Protocol, over standard input and output
//! (JSON-RPC 2.0, a message a line; specification 2025-06-18). Each call is a process of this program, so that one that ends badly
//! ends alone.

use super::{CommandError, print};
use crate::console::Output;
use crate::exit::Outcome;
use crate::process::{self, Ending};
use serde_json::{Value, json};
use std::io::{self, BufRead, Read, Write};
use std::process::Command;
use std::time::Duration;

/// Longest message that is read, in bytes.
const MESSAGE: u64 = 1 << 20;

/// How long a call may take.
const CALL: Duration = Duration::from_secs(1800);

/// What a call printed, and how it ended.
struct CallResult {
    /// Its exit status; none where a signal or the time limit ended it.
    status: Option<i32>,
    /// The status in words.
    ending: String,
    stdout: String,
    stderr: String,
}

impl CallResult {
    fn new(output: process::Output) -> Self {
        let status = match output.ending {
            Ending::Completed => Some(0),
            Ending::NonZero(status) => Some(status),
            Ending::Signaled(_) | Ending::TimedOut | Ending::Interrupted => None,
        };
        let outcome = status.and_then(|status| Outcome::of_status(u8::try_from(status).ok()?));
        let ending = match (outcome, status) {
            (Some(outcome), Some(status)) => format!("status {status}: {}", outcome.words()),
            _ => format!("the command {}", output.ending),
        };
        Self { status, ending, stdout: output.stdout.trim().to_owned(), stderr: output.stderr.trim().to_owned() }
    }

    /// Whether it could not do what it was asked. A verdict is not that: pass, fail and inconclusive are answers.
    fn is_error(&self) -> bool {
        let outcome = self.status.and_then(|status| Outcome::of_status(u8::try_from(status).ok()?));
        match outcome {
            Some(Outcome::Passed | Outcome::Failed | Outcome::Inconclusive) => false,
            Some(Outcome::Usage | Outcome::Environment) | None => true,
        }
    }

    /// Standard output, where there is some; then the status with what was said on standard error.
    fn answer(&self) -> Value {
        let block = |text: &str| json!({ "type": "text", "text": text });
        let said = format!("{}\n{}", self.ending, self.stderr);
        let blocks = [self.stdout.as_str(), said.trim()].into_iter().filter(|text| !text.is_empty());
        json!({
            "content": blocks.map(block).collect::<Vec<_>>(),
            "structuredContent": { "status": self.status, "outcome": self.ending, "stdout": self.stdout, "stderr": self.stderr },
            "isError": self.is_error(),
        })
    }
}

/// Answers messages until standard input ends.
pub fn mcp(input: &mut dyn BufRead, out: &mut Output) -> Result<Outcome, CommandError> {
    loop {
        let mut line = Vec::new();
        Read::take(&mut *input, MESSAGE).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(Outcome::Passed);
        }
        let answer = match line.last() != Some(&b'\n') && line.len() as u64 >= MESSAGE {
            true => {
                input.skip_until(b'\n')?;
                Some(failure(&Value::Null, -32600, &format!("the message is longer than {MESSAGE} bytes")))
            }
            false => answer(&line, &called),
        };
        if let Some(answer) = answer {
            print::json_text(&answer.to_string(), out)?;
            out.flush()?;
        }
    }
}

/// What a message is answered with; nothing for a notification.
fn answer(line: &[u8], call: &dyn Fn(&[String]) -> io::Result<CallResult>) -> Option<Value> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(e) => return Some(failure(&Value::Null, -32700, &format!("not JSON: {e}"))),
    };
    let id = message.get("id")?;
    let result = match message.get("method").and_then(Value::as_str) {
        Some("initialize") => json!({
            "protocolVersion": message.pointer("/params/protocolVersion").cloned().unwrap_or_else(|| "2025-06-18".into()),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "ncugate", "version": env!("CARGO_PKG_VERSION") },
        }),
        Some("ping") => json!({}),
        Some("tools/list") => json!({ "tools": tools() }),
        Some("tools/call") => {
            let name = message.pointer("/params/name").and_then(Value::as_str).unwrap_or_default();
            let arguments = message.pointer("/params/arguments").cloned().unwrap_or_else(|| json!({}));
            match argv(name, &arguments) {
                Ok(argv) => match call(&argv) {
                    Ok(result) => result.answer(),
                    Err(e) => json!({
                        "content": [{ "type": "text", "text": format!("the command could not be run: {e}") }],
                        "isError": true,
                    }),
                },
                Err(reason) => return Some(failure(id, -32602, &reason)),
            }
        }
        Some(_) | None => return Some(failure(id, -32601, "no such method")),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn failure(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn tools() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    json!([
        {
            "name": "try",
            "description": "Builds, proves, times and profiles one CUDA source against the best so far of a phase, and judges it. \
                Answers whether it was accepted, why, its speedup by shape, what changed in counters, and what to try next.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "config": text("the phase's TOML file"),
                    "source": text("the .cu file to try"),
                    "idea": text("what it tries, in a sentence; kept in the history"),
                    "params": { "type": "object", "description": "parameters that differ from those of the best" }
                },
                "required": ["config", "source"]
            }
        },
        {
            "name": "next",
            "description": "What to try next, by a run: findings with evidence, parameters that were not tried with the time that a \
                model expects, and which parameters decide.",
            "inputSchema": {
                "type": "object",
                "properties": { "run": text("the folder of a run") },
                "required": ["run"]
            }
        },
        {
            "name": "check",
            "description": "What can be known of a phase without a GPU: errors of its file, the build, gates that they decide.",
            "inputSchema": {
                "type": "object",
                "properties": { "config": text("the phase's TOML file") },
                "required": ["config"]
            }
        }
    ])
}

/// The command line of a call. Values are never options: one that begins with a dash is refused.
fn argv(tool: &str, arguments: &Value) -> Result<Vec<String>, String> {
    let text = |key: &str| match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if !text.starts_with('-') && !text.is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` has to be a text that is not an option")),
    };
    let need = |key: &str| text(key)?.ok_or_else(|| format!("`{key}` is missing"));
    match tool {
        "next" | "check" => Ok(vec![tool.to_owned(), need(if tool == "next" { "run" } else { "config" })?]),
        "try" => {
            let mut argv = vec!["try".to_owned(), need("config")?, "--source".to_owned(), need("source")?];
            if let Some(idea) = text("idea")? {
                argv.push(format!("--idea={idea}"));
            }
            match arguments.get("params") {
                None | Some(Value::Null) => {}
                Some(Value::Object(params)) => argv.extend(params.iter().map(|(name, value)| match value {
                    Value::String(text) => format!("--param={name}={text}"),
                    other => format!("--param={name}={other}"),
                })),
                Some(_) => return Err("`params` has to be an object".to_owned()),
            }
            Ok(argv)
        }
        other => Err(format!("there is no tool `{other}`")),
    }
}

/// Runs this program; gives what it printed, and its status.
fn called(argv: &[String]) -> io::Result<CallResult> {
    Ok(CallResult::new(process::run(Command::new(std::env::current_exe()?).args(argv), CALL)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn printed(ending: Ending, stdout: &str, stderr: &str) -> CallResult {
        CallResult::new(process::Output { ending, stdout: stdout.to_owned(), stderr: stderr.to_owned() })
    }

    #[test]
    fn an_error_is_a_call_that_could_not_do_its_work_and_not_a_verdict() {
        let verdicts = [(Ending::Completed, false), (Ending::NonZero(1), false), (Ending::NonZero(4), false)];
        let errors =
            [Ending::NonZero(2), Ending::NonZero(3), Ending::NonZero(101), Ending::Signaled(9), Ending::TimedOut];
        for (ending, wanted) in verdicts.into_iter().chain(errors.map(|ending| (ending, true))) {
            assert_eq!(printed(ending, "12 candidates", "why").answer()["isError"], wanted, "{ending}");
        }
        let failed = printed(Ending::NonZero(1), "12 candidates", "why").answer();
        assert_eq!(failed["structuredContent"]["status"], 1);
        assert_eq!(failed.pointer("/content/1/text").unwrap(), "status 1: fail\nwhy");
    }

    fn ask(message: &Value) -> Option<Value> {
        let echo = |argv: &[String]| Ok(printed(Ending::Completed, &argv.join(" "), ""));
        answer(message.to_string().as_bytes(), &echo)
    }

    #[test]
    fn a_client_is_greeted_and_told_the_tools() {
        let greeted = ask(
            &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}),
        );
        assert_eq!(greeted.unwrap().pointer("/result/protocolVersion").unwrap(), "2025-03-26");
        assert_eq!(ask(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})), None);
        let tools = ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).unwrap();
        assert_eq!(tools.pointer("/result/tools/0/name").unwrap(), "try");
    }

    #[test]
    fn a_call_is_a_command_line_whose_values_are_not_options() {
        let call = |arguments: Value| {
            let params = json!({"name": "try", "arguments": arguments});
            ask(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})).unwrap()
        };
        let said = call(json!({"config": "c.toml", "source": "k.cu", "idea": "vector loads", "params": {"VEC": 4}}));
        let text = said.pointer("/result/content/0/text").unwrap();
        assert_eq!(text, "try c.toml --source k.cu --idea=vector loads --param=VEC=4");
        let refused = call(json!({"config": "--profiles=/", "source": "k.cu"}));
        assert_eq!(refused.pointer("/error/code").unwrap(), -32602);
        assert_eq!(call(json!({"config": "c.toml"})).pointer("/error/message").unwrap(), "`source` is missing");
    }

    #[test]
    fn what_is_not_a_message_is_an_error_and_not_the_end() {
        let echo = |_: &[String]| Ok(printed(Ending::Completed, "", ""));
        assert_eq!(answer(b"{", &echo).unwrap().pointer("/error/code").unwrap(), -32700);
        assert_eq!(ask(&json!({"id": 1, "method": "resources/list"})).unwrap().pointer("/error/code").unwrap(), -32601);
        assert_eq!(answer(b"  \n", &echo), None);
    }
}
