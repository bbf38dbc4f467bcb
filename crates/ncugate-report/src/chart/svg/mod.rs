//! Draws a chart with plotters: same chart, same bytes.
//!
//! plotters provides coordinates, mesh, axes and elements. Ours are the backend (`canvas`), which writes SVG with
//! colours that a style sheet can set, and the choice of ticks (`ruler`).

mod canvas;
mod drawing;
mod element;
mod extent;
mod layout;
mod legend;
mod limits;
mod ruler;
mod series;
mod surface;
mod tick;
mod words;

pub use drawing::{DrawError, draw, draw_figure};
pub use surface::Setting;

#[cfg(test)]
mod tests;
