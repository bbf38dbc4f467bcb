//! Keys of `[check]`.

use super::{KeyKind, key, words};
use ncugate_model::SanitizerTool;

keys! {
    /// Checks in addition to the comparison with the reference.
    CHECK: CheckKeys = "[check]";
    /// Tools of [compute-sanitizer](correctness.md#compute-sanitizer) that launch every variant before it is timed.
    sanitize = key(KeyKind::List(&KeyKind::OneOf(&words(&SanitizerTool::WORDS)))).default("[]");
    suppress = key(KeyKind::List(&KeyKind::Table(&SUPPRESS.spec))).default("[]");
}

keys! {
    /// Findings of one tool that do not count.
    SUPPRESS: SuppressKeys = "[[check.suppress]]";
    /// The tool.
    tool = key(KeyKind::OneOf(&words(&SanitizerTool::WORDS))).required();
    /// Glob of the kernel's demangled signature.
    kernel = key(KeyKind::Text).required();
    /// Why, in three words or more.
    reason = key(KeyKind::Text).required();
}
