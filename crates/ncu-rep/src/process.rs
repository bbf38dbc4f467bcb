//! The processes that were profiled. Every block names one.

use std::collections::HashMap;

use indexmap::IndexSet;

use crate::error::ReportError;
use crate::schema::process;
use crate::wire::Message;

/// A profiled process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Host in the report, an address or a name.
    pub host: String,
    /// Path of the executable. Never opened.
    pub executable: String,
}

impl Process {
    /// Name of the executable without its folders.
    #[must_use]
    pub fn name(&self) -> &str {
        self.executable.rsplit(['/', '\\']).next().unwrap_or_default()
    }
}

/// Processes found so far, each once.
#[derive(Debug, Default)]
pub(crate) struct ProcessTable<'a> {
    processes: IndexSet<Process>,
    /// Index of a process by its message, which most blocks repeat.
    by_message: HashMap<&'a [u8], u32>,
    /// The process of the previous block.
    last: Option<(&'a [u8], u32)>,
}

impl<'a> ProcessTable<'a> {
    /// The index of a process; adds a new process.
    pub fn add(&mut self, message: Message<'a>) -> Result<u32, ReportError> {
        if let Some((bytes, index)) = self.last
            && bytes == message.bytes
        {
            return Ok(index);
        }
        let index = match self.by_message.get(message.bytes) {
            Some(&index) => index,
            None => self.processes.insert_full(decode(message)?).0 as u32,
        };
        self.by_message.insert(message.bytes, index);
        self.last = Some((message.bytes, index));
        Ok(index)
    }

    /// The processes by index.
    pub fn into_processes(self) -> Vec<Process> {
        self.processes.into_iter().collect()
    }
}

fn decode(message: Message<'_>) -> Result<Process, ReportError> {
    let mut process = Process { pid: 0, host: String::new(), executable: String::new() };
    for field in message.fields() {
        let field = field?;
        match field.number {
            process::PID => process.pid = field.integer32()?,
            process::HOST => process.host = field.text()?.into_owned(),
            process::EXECUTABLE => process.executable = field.text()?.into_owned(),
            _ => {}
        }
    }
    Ok(process)
}
