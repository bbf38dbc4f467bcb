//! The thin binary: parse, call, print the error chain once, exit.
fn main() {}
