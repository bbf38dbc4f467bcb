//! The page as one self-contained file that opens from disk.

use super::page::KernelsPage;
use crate::chart::ChartTable;
use crate::chart::svg::{self, Setting};
use crate::error::RenderError;
use crate::page;
use ncugate_model::CleanText;
use serde::Serialize;

#[derive(Serialize)]
struct Context<'a> {
    page: &'a KernelsPage,
    roofline: Option<Drawing<'a>>,
    /// Why the roofline is missing.
    no_roofline: Option<&'a CleanText>,
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
        Ok(chart) => {
            let svg = svg::draw(chart, Setting::Page)?;
            Some(Drawing { id: &chart.id, title: &chart.title, note: &chart.note, svg, table: &chart.table })
        }
        Err(_) => None,
    };
    let no_roofline = page.roofline.as_ref().err();
    page::render("kernels.html", Context { page, roofline, no_roofline }, Some(page::KERNELS_SCRIPT))
}
