//! A strip of cells side by side, each as wide as it is big: the VLFs of a log file in file order.

use std::fmt::Write;

use crate::{CELLS_MAX, escape, open};

const WIDTH: f64 = 760.0;
const TOP: f64 = 20.0;
const CELL: f64 = 26.0;

/// A cell: how big, its class (0: empty, 1: in use, 2: the current one, 3: bad), and what the pointer is told.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub size: f64,
    pub class: usize,
    pub name: String,
}

#[derive(Clone, Debug, Default)]
pub struct Strip {
    pub title: String,
    pub note: String,
    pub cells: Vec<Cell>,
}

impl Strip {
    pub fn svg(&self) -> String {
        let cells = joined(&self.cells);
        let total: f64 = cells.iter().map(|c| c.size).sum();
        let mut out = open(WIDTH, TOP + CELL + 4.0, &self.title);
        let _ = writeln!(
            out,
            "<text class=\"title\" x=\"0\" y=\"13\">{} <tspan class=\"faint\">{}</tspan></text>",
            escape(&self.title),
            escape(&self.note)
        );
        // A gap between cells as long as there is room for it.
        let gap = if cells.len() <= CELLS_MAX / 4 {
            1.0
        } else {
            0.3
        };
        let mut x = 0.0;
        for cell in &cells {
            let width = WIDTH * cell.size / total.max(f64::MIN_POSITIVE);
            let _ = writeln!(
                out,
                "<rect class=\"v{}\" x=\"{x:.2}\" y=\"{TOP}\" width=\"{:.2}\" height=\"{CELL}\"><title>{}</title></rect>",
                cell.class.min(3),
                (width - gap).max(0.1),
                escape(&cell.name)
            );
            x += width;
        }
        out.push_str("</svg>\n");
        out
    }
}

/// At most [`CELLS_MAX`] cells: neighbours are joined, and the highest class among them shows.
fn joined(cells: &[Cell]) -> Vec<Cell> {
    let good: Vec<&Cell> = cells
        .iter()
        .filter(|c| c.size.is_finite() && c.size > 0.0)
        .collect();
    if good.len() <= CELLS_MAX {
        return good.into_iter().cloned().collect();
    }
    let join = |part: &[&Cell]| Cell {
        size: part.iter().map(|c| c.size).sum(),
        class: part.iter().map(|c| c.class).max().unwrap_or(0),
        name: format!(
            "{} to {}",
            part.first().map_or("", |c| &c.name),
            part.last().map_or("", |c| &c.name)
        ),
    };
    good.chunks(good.len().div_ceil(CELLS_MAX))
        .map(join)
        .collect()
}
