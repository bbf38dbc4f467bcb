//! Removed commands, flags and values, with what replaces them.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The command (of flags), words of which one is typed, and what to use instead.
const REMOVED: [(&str, &str, &str); 24] = [
    ("", "bisect", "`git bisect run ncugate run CONFIG --base GOOD --source gpu --bisect-status`"),
    ("", "perfetto", "`--to json --wide`: a row a launch, in the order of the report"),
    ("", "complete", "the new script of `ncugate tools completions SHELL`"),
    ("", "man", "`ncugate help COMMAND`, or docs/commands.md"),
    ("", "record", "`ncugate tools record RUN -o DIR`"),
    ("", "serve", "`ncugate-mcp`, of `pip install 'ncugate[mcp]'`"),
    ("", "hq", "`ncugate run CONFIG --shard I/N` as the tasks of an array, then `ncugate cluster merge`"),
    ("", "verify-tuning", "`ncugate-verify-tuning`, of `pip install ncugate`"),
    ("cluster slurm", "--arch", "`ncugate check CONFIG --arch ARCH` before it, with `NCUGATE_CACHE` at `jobs/cache`"),
    ("cluster slurm", "--cpu-option", "`--option`: every job has a GPU"),
    ("cluster slurm", "--fresh", "no flag, and remove its folder in `jobs` first"),
    ("cluster slurm", "--interval", "no flag: a long job is queried every 10 s"),
    ("cluster slurm", "--jobs", "the folder `jobs` of the project; it can be a link to another disk"),
    ("cluster slurm", "--nodes", "`--gres` with the GPUs of all nodes: `--gres gpu:32` for four nodes of eight"),
    ("cluster slurm", "--retries", "no flag: Slurm requeues lost tasks, and the same command submits the missing ones"),
    ("cluster slurm", "--time", "`--option=--time=TIME`"),
    ("agent try", "--param", "`--set NAME=VALUE`"),
    ("agent try", "--parent", "no flag: every attempt changes the best so far"),
    ("ncugate explain", "--objectives", "`--metric METRIC,...` with `--sweep`"),
    ("ncugate gate", "--assume-correct --assume-unedited", "`--assume correct` or `--assume unedited`"),
    (
        "ncugate show",
        "--rules --session --sources --source-metrics --warp-stalls --disasm --detail",
        "`--view` with `rules`, `session`, `sources`, `metrics`, `stalls` or `disasm`",
    ),
    ("tools occupancy", "--barriers --cluster", "`ncugate check CONFIG`, which reads them from phase and kernel"),
    ("tools occupancy", "--sms", "`ncugate check CONFIG --sms N`"),
    ("tools occupancy", "--cc --registers --block --smem --oversized", "`cc=9.0 registers=96 block=192`, `oversized`"),
];

/// What replaces the removed command, flag or value that a command line names.
pub fn replacement(error: &clap::Error) -> Option<&'static str> {
    let kind = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::InvalidValue => ContextKind::InvalidValue,
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        _ => return None,
    };
    let Some(ContextValue::String(typed)) = error.get(kind) else { return None };
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let is_it = |(command, words, _): &&(&str, &str, &str)| {
        usage.contains(command) && words.split(' ').any(|word| word == typed)
    };
    REMOVED.iter().find(is_it).map(|(_, _, instead)| *instead)
}
