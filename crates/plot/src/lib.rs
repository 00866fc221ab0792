//! Pictures of measurements as SVG text: pure, without fonts, files or state.
//!
//! A picture is a value ([`Lines`], [`Bars`], [`Strip`], [`Columns`]) with the data in it; `svg` draws it. Everything is
//! drawn for a page that may be light or dark: text and axes take `currentColor`, series the classes `s0`, `s1`... whose
//! colours are in [`STYLE`]. Values are told in `<title>` elements, which browsers show under the pointer.
//!
//! Invariants: 1. no input makes an invalid document: names are escaped, numbers that are not finite are left out;
//! [test: names_cannot_break_a_document]
//! 2. the size of a picture is bounded: lines are thinned to [`POINTS_MAX`] points, strips to [`CELLS_MAX`] cells.
//!    [test: thinning_keeps_the_peak; test: many_cells_are_joined_and_none_is_lost]

#![forbid(unsafe_code)]

mod bars;
mod columns;
mod lines;
mod scale;
mod strip;

pub use bars::{Bar, Bars};
pub use columns::Columns;
pub use lines::{Lines, Mark, Series};
pub use scale::{Scale, shown};
pub use strip::{Cell, Strip};

/// More points of a line than this cannot be told apart.
pub const POINTS_MAX: usize = 1_000;
/// The same of a strip's cells.
pub const CELLS_MAX: usize = 600;

/// What a page must hold once so that the pictures have colours.
pub const STYLE: &str = "\
.plot{font:11px system-ui,sans-serif;width:100%;height:auto;max-width:760px;display:block}\
.plot text{fill:currentColor}.plot .faint{opacity:.65}.plot .title{font-weight:600;font-size:12px}\
.plot .axis{stroke:currentColor;stroke-opacity:.45;fill:none}.plot .grid{stroke:currentColor;stroke-opacity:.12}\
.plot .mark{stroke:currentColor;stroke-opacity:.5;stroke-dasharray:3 3}\
.plot .line{fill:none;stroke-width:1.6;stroke-linejoin:round}.plot .ghost{fill:none;stroke:currentColor;stroke-opacity:.6;stroke-dasharray:3 2}\
.s0{--c:#2266aa}.s1{--c:#c2571a}.s2{--c:#2c8a4b}.s3{--c:#8d4bb3}.s4{--c:#a88a00}.s5{--c:#b0324f}.s6{--c:#20868c}.s7{--c:#767676}\
.plot .line{stroke:var(--c)}.plot .fill{fill:var(--c)}\
.plot .v0{fill:currentColor;fill-opacity:.16}.plot .v1{fill:#2266aa}.plot .v2{fill:#c2571a}.plot .v3{fill:#b0324f}";

/// Text as it may stand in an element or an attribute.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // What XML cannot hold at all.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// The opening tag of a picture of so many units.
fn open(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">\n",
        escape(title)
    )
}

#[cfg(test)]
mod tests;
