//! The page as one self-contained file that opens from disk.

use super::page::KernelsPage;
use crate::chart::svg::Drawing;
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
    /// Samples over the launch of each kernel with a section.
    timelines: Vec<Option<Drawing<'a>>>,
}

/// Renders the page.
///
/// # Errors
/// A template or the chart that fails.
pub fn html(page: &KernelsPage) -> Result<String, RenderError> {
    let roofline = page.roofline.as_ref().ok().map(Drawing::new).transpose()?;
    let no_roofline = page.roofline.as_ref().err();
    let drawn = page.kernels.iter().map(|kernel| kernel.timeline.as_ref().map(Drawing::new).transpose());
    let timelines = drawn.collect::<Result<_, _>>()?;
    page::render("kernels.html", Context { page, roofline, no_roofline, timelines }, Some(page::KERNELS_SCRIPT))
}
