//! A document as one self-contained page.

use super::Document;
use crate::error::RenderError;
use crate::page;
use serde::Serialize;

/// Light and dark, a table that sorts and filters, folds that links open, points by keyboard.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("../../templates/script/element.js"),
    include_str!("../../templates/script/theme.js"),
    include_str!("../../templates/script/kernels.js"),
    include_str!("../../templates/script/fold.js"),
    include_str!("../../templates/script/charts.js"),
    "})();\n",
);

#[derive(Serialize)]
struct Context<'a> {
    document: &'a Document,
}

/// # Errors
/// A chart that cannot be drawn.
pub fn html(document: &Document) -> Result<String, RenderError> {
    page::render("document.html", Context { document }, Some(SCRIPT))
}
