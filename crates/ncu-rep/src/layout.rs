//! The field numbers of results, which depend on the kind.

use crate::block::EntryKind;

/// The kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// One kernel launch.
    Kernel,
    /// A range of launches (range and application-range replay).
    Range,
    /// A command list.
    CommandList,
    /// A whole CUDA graph (`--graph-profiling graph`).
    Graph,
}

/// The field numbers of one kind of result; 0, which is never a field number, for a missing field.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The message's name in NVIDIA's definition.
    pub name: &'static str,
    pub thread: u32,
    pub api_call: u32,
    pub mangled: u32,
    pub function: u32,
    pub demangled: u32,
    pub grid: u32,
    pub block: u32,
    pub metrics: u32,
    pub created: u32,
    pub sources: u32,
    pub rules: u32,
    pub unsupported_device: u32,
    pub nvtx: u32,
    pub context: u32,
    pub stream: u32,
    pub clocks: u32,
    pub context_name: u32,
    pub stream_name: u32,
    pub cpu_stack: u32,
    pub python_stack: u32,
    pub driver: u32,
}

pub(crate) const KERNEL: Layout = Layout {
    name: "ProfileResult",
    thread: 1,
    api_call: 2,
    mangled: 5,
    function: 6,
    demangled: 7,
    grid: 10,
    block: 11,
    metrics: 13,
    created: 14,
    sources: 15,
    rules: 19,
    unsupported_device: 20,
    nvtx: 21,
    context: 22,
    stream: 23,
    clocks: 25,
    context_name: 26,
    stream_name: 27,
    cpu_stack: 28,
    python_stack: 32,
    driver: 35,
};

pub(crate) const RANGE: Layout = Layout {
    name: "RangeResult",
    thread: 1,
    api_call: 2,
    mangled: 0,
    function: 0,
    demangled: 0,
    grid: 0,
    block: 0,
    metrics: 4,
    created: 5,
    sources: 15,
    rules: 20,
    unsupported_device: 9,
    nvtx: 10,
    context: 11,
    stream: 0,
    clocks: 12,
    context_name: 13,
    stream_name: 0,
    cpu_stack: 14,
    python_stack: 17,
    driver: 21,
};

/// Its display name serves as the function name.
pub(crate) const COMMAND_LIST: Layout = Layout {
    name: "CmdlistResult",
    function: 18,
    sources: 17,
    rules: 21,
    stream: 12,
    clocks: 13,
    context_name: 14,
    stream_name: 15,
    cpu_stack: 16,
    python_stack: 22,
    driver: 25,
    ..RANGE
};

pub(crate) const GRAPH: Layout =
    Layout { name: "GraphResult", function: 0, rules: 22, python_stack: 19, driver: 23, ..COMMAND_LIST };

impl ResultKind {
    /// The kind of result of an entry; `None` for a source.
    pub(crate) fn of(entry: EntryKind) -> Option<Self> {
        match entry {
            EntryKind::Source => None,
            EntryKind::Kernel => Some(Self::Kernel),
            EntryKind::Range => Some(Self::Range),
            EntryKind::CommandList => Some(Self::CommandList),
            EntryKind::Graph => Some(Self::Graph),
        }
    }

    /// Its field numbers.
    pub(crate) fn layout(self) -> &'static Layout {
        match self {
            Self::Kernel => &KERNEL,
            Self::Range => &RANGE,
            Self::CommandList => &COMMAND_LIST,
            Self::Graph => &GRAPH,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(layout: &Layout) -> Vec<u32> {
        let Layout {
            name: _,
            thread,
            api_call,
            mangled,
            function,
            demangled,
            grid,
            block,
            metrics,
            created,
            sources,
            rules,
            unsupported_device,
            nvtx,
            context,
            stream,
            clocks,
            context_name,
            stream_name,
            cpu_stack,
            python_stack,
            driver,
        } = *layout;
        vec![
            thread,
            api_call,
            mangled,
            function,
            demangled,
            grid,
            block,
            metrics,
            created,
            sources,
            rules,
            unsupported_device,
            nvtx,
            context,
            stream,
            clocks,
            context_name,
            stream_name,
            cpu_stack,
            python_stack,
            driver,
        ]
    }

    #[test]
    fn no_kind_of_result_has_a_number_twice() {
        for (layout, absent) in [(&KERNEL, 0), (&RANGE, 7), (&COMMAND_LIST, 4), (&GRAPH, 5)] {
            let mut numbers = numbers(layout);
            numbers.sort_unstable();
            assert_eq!(numbers.iter().filter(|number| **number == 0).count(), absent, "{}", layout.name);
            numbers.retain(|number| *number > 0);
            assert!(numbers.is_sorted_by(|a, b| a < b), "{}: {numbers:?}", layout.name);
        }
    }
}
