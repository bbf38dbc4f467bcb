//! `[check]`.

use super::gates::reason;
use crate::config::keys::{CHECK, SUPPRESS};
use crate::config::reader::{Item, Table};
use crate::config::{CheckSettings, Suppression};
use ncugate_model::SanitizerTool;

pub fn check(table: &Table<'_>) -> CheckSettings {
    let tools = table.list(&CHECK.sanitize);
    let tools: Vec<SanitizerTool> = tools.iter().filter_map(|item| item.one_of(&SanitizerTool::WORDS)).collect();
    let suppressed = table.list(&CHECK.suppress);
    let mut settings = CheckSettings { sanitize: Vec::new(), suppressed: suppressed.iter().filter_map(of).collect() };
    settings.also(&tools);
    settings
}

fn of(item: &Item<'_>) -> Option<Suppression> {
    let table = item.table()?;
    all_of!(Suppression {
        tool: table.read(&SUPPRESS.tool, |item| item.one_of(&SanitizerTool::WORDS)),
        kernel: table.read(&SUPPRESS.kernel, |item| item.glob("a glob of kernels")).map(Into::into),
        reason: table.read(&SUPPRESS.reason, reason).map(Into::into),
    })
}
