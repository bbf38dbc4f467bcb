//! NVTX ranges around a launch.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::ReportError;
use crate::schema::{
    nvtx_domain, nvtx_domain_info, nvtx_push_pop_range, nvtx_start_end_range, nvtx_state, nvtx_thread,
};
use crate::wire::Message;

/// How a range was marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NvtxKind {
    /// Pushed and popped on the launch's own thread.
    PushPop,
    /// Started and ended, possibly by another thread.
    StartEnd,
}

/// One NVTX range that was open when the launch happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvtxRange<'a> {
    /// Name of the domain; `<default domain>` for none.
    pub domain: Cow<'a, str>,
    /// Name of the range.
    pub name: Cow<'a, str>,
    /// How it was marked.
    pub kind: NvtxKind,
}

/// The value of the scope field with `--nvtx-push-pop-scope process`.
const PROCESS_SCOPE: u64 = 1;

/// The scope of push/pop ranges.
#[derive(Debug, Clone, Copy)]
enum Owner {
    Thread(u32),
    Process,
}

/// Push/pop ranges of `thread` (outermost first, by domain), then start/end ranges.
pub(crate) fn ranges(state: Message<'_>, thread: u32) -> Result<Vec<NvtxRange<'_>>, ReportError> {
    let mut domains = HashMap::new();
    let mut owner = Owner::Thread(thread);
    for field in state.fields() {
        let field = field?;
        match field.number {
            nvtx_state::DOMAIN => {
                let (id, name) = domain(field.message("NvtxDomainInfo")?)?;
                domains.insert(id, name);
            }
            nvtx_state::SCOPE if field.integer()? == PROCESS_SCOPE => owner = Owner::Process,
            _ => {}
        }
    }
    let mut pushed = Vec::new();
    let mut started = Vec::new();
    for field in state.fields() {
        let field = field?;
        match field.number {
            nvtx_state::THREAD => stack(field.message("NvtxThread")?, owner, &domains, &mut pushed)?,
            nvtx_state::START_END_DOMAIN => {
                let message = field.message("NvtxStartEndDomain")?;
                collect(message, NvtxKind::StartEnd, &domains, &mut started)?;
            }
            _ => {}
        }
    }
    pushed.append(&mut started);
    Ok(pushed)
}

fn domain(message: Message<'_>) -> Result<(u64, Cow<'_, str>), ReportError> {
    let (mut id, mut name) = (0, Cow::Borrowed(""));
    for field in message.fields() {
        let field = field?;
        match field.number {
            nvtx_domain_info::ID => id = field.integer()?,
            nvtx_domain_info::NAME => name = field.text()?,
            _ => {}
        }
    }
    Ok((id, name))
}

/// The stacks of one thread, if the scope includes the launch.
fn stack<'a>(
    message: Message<'a>,
    owner: Owner,
    domains: &HashMap<u64, Cow<'a, str>>,
    out: &mut Vec<NvtxRange<'a>>,
) -> Result<(), ReportError> {
    let mut thread = 0;
    for field in message.fields() {
        let field = field?;
        if field.number == nvtx_thread::ID {
            thread = field.integer()?;
        }
    }
    if matches!(owner, Owner::Thread(wanted) if thread != u64::from(wanted)) {
        return Ok(());
    }
    for field in message.fields() {
        let field = field?;
        if field.number == nvtx_thread::DOMAIN {
            collect(field.message("NvtxPushPopDomain")?, NvtxKind::PushPop, domains, out)?;
        }
    }
    Ok(())
}

/// The ranges of one domain.
fn collect<'a>(
    message: Message<'a>,
    kind: NvtxKind,
    domains: &HashMap<u64, Cow<'a, str>>,
    out: &mut Vec<NvtxRange<'a>>,
) -> Result<(), ReportError> {
    let mut id = 0;
    for field in message.fields() {
        let field = field?;
        if field.number == nvtx_domain::ID {
            id = field.integer()?;
        }
    }
    let domain = domains.get(&id).cloned().unwrap_or_default();
    let (message_name, name_field) = match kind {
        NvtxKind::PushPop => ("NvtxPushPopRange", nvtx_push_pop_range::NAME),
        NvtxKind::StartEnd => ("NvtxStartEndRange", nvtx_start_end_range::NAME),
    };
    for field in message.fields() {
        let field = field?;
        if field.number != nvtx_domain::RANGE {
            continue;
        }
        let mut name = Cow::Borrowed("");
        for part in field.message(message_name)?.fields() {
            let part = part?;
            if part.number == name_field {
                name = part.text()?;
            }
        }
        out.push(NvtxRange { domain: domain.clone(), name, kind });
    }
    Ok(())
}
