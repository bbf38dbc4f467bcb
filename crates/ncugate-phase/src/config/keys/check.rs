//! Keys of `[check]`.

use super::{KeyKind, key, words};
use ncugate_model::SanitizerTool;

keys! {
    CHECK: CheckKeys = "[check]", "Checks in addition to the comparison with the reference.";
    sanitize = key(
        KeyKind::List(&KeyKind::OneOf(&words(&SanitizerTool::WORDS))),
        "Tools of [compute-sanitizer](correctness.md#compute-sanitizer) that launch every variant before it is timed.",
    ).default("[]");
    suppress = key(KeyKind::List(&KeyKind::Table(&SUPPRESS.spec)), SUPPRESS.spec.doc).default("[]");
}

keys! {
    SUPPRESS: SuppressKeys = "[[check.suppress]]", "Findings of one tool that do not count.";
    tool = key(KeyKind::OneOf(&words(&SanitizerTool::WORDS)), "The tool.").required();
    kernel = key(KeyKind::Text, "Glob of the kernel's demangled signature.").required();
    reason = key(KeyKind::Text, "Why, in three words or more.").required();
}
