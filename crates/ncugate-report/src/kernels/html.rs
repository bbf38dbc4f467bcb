//! The page as one self-contained file that opens from disk.

use super::page::KernelsPage;
use crate::chart::ChartTable;
use crate::chart::svg::{self, Setting};
use crate::error::RenderError;
use crate::page;
use serde::Serialize;

/// The script: light and dark.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\nconst $ = (id) => document.getElementById(id);\n",
    include_str!("../../../../templates/script/theme.js"),
    "})();\n",
);

#[derive(Serialize)]
struct Context<'a> {
    page: &'a KernelsPage,
    roofline: Option<Drawing<'a>>,
}

#[derive(Serialize)]
struct Drawing<'a> {
    id: &'a str,
    title: &'a str,
    note: &'a str,
    svg: String,
    table: &'a ChartTable,
}

/// Renders the page.
///
/// # Errors
/// A template or the chart that fails.
pub fn html(page: &KernelsPage) -> Result<String, RenderError> {
    let roofline = match &page.roofline {
        Some(chart) => {
            let svg = svg::draw(chart, Setting::Page)?;
            Some(Drawing { id: &chart.id, title: &chart.title, note: &chart.note, svg, table: &chart.table })
        }
        None => None,
    };
    page::render("kernels.html", Context { page, roofline }, Some(SCRIPT))
}
