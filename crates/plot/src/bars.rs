//! Horizontal bars with their numbers, beside a figure of elsewhere.

use std::fmt::Write;

use crate::scale::{Scale, shown};
use crate::{escape, open};

const WIDTH: f64 = 760.0;
const RIGHT: f64 = 70.0;
const ROW: f64 = 22.0;
const TOP: f64 = 24.0;

/// A bar: what it is, how long, which colour, and another's figure to compare with, in the same unit.
#[derive(Clone, Debug, Default)]
pub struct Bar {
    pub name: String,
    pub value: f64,
    pub group: usize,
    pub reference: Option<f64>,
}

#[derive(Clone, Debug, Default)]
pub struct Bars {
    pub title: String,
    pub unit: String,
    pub bars: Vec<Bar>,
    /// What the dashed outlines are, e.g. `published, scaled to test 1`.
    pub reference: String,
}

impl Bars {
    pub fn svg(&self) -> String {
        let longest = self.bars.iter().map(|b| b.name.chars().count()).max();
        let left = (longest.unwrap_or(0) as f64 * 6.1 + 10.0).clamp(60.0, 330.0);
        let height = TOP + ROW * self.bars.len() as f64 + 6.0;
        let all = self.bars.iter().flat_map(|b| [Some(b.value), b.reference]);
        let scale = Scale::linear(all.flatten());
        let length = |v: f64| (WIDTH - left - RIGHT) * scale.place(v);

        let mut out = open(WIDTH, height, &self.title);
        let note = match self.bars.iter().any(|b| b.reference.is_some()) {
            true => format!("{}; dashed: {}", self.unit, self.reference),
            false => self.unit.clone(),
        };
        let _ = writeln!(
            out,
            "<text class=\"title\" x=\"0\" y=\"13\">{} <tspan class=\"faint\">{}</tspan></text>",
            escape(&self.title),
            escape(&note)
        );
        for (n, bar) in self.bars.iter().enumerate() {
            if !bar.value.is_finite() {
                continue;
            }
            let y = TOP + ROW * n as f64;
            let name = escape(&bar.name);
            let _ = writeln!(
                out,
                "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\
                 <rect class=\"fill s{}\" x=\"{left:.0}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{name}: {}</title></rect>",
                left - 6.0,
                y + 14.0,
                bar.group % 8,
                y + 3.0,
                length(bar.value).max(0.8),
                ROW - 7.0,
                shown(bar.value)
            );
            let mut end = length(bar.value);
            if let Some(reference) = bar.reference.filter(|b| b.is_finite()) {
                let _ = writeln!(
                    out,
                    "<rect class=\"ghost\" x=\"{left:.0}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{}: {}</title></rect>",
                    y + 1.5,
                    length(reference).max(0.8),
                    ROW - 4.0,
                    escape(&self.reference),
                    shown(reference)
                );
                end = end.max(length(reference));
            }
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left + end + 6.0,
                y + 14.0,
                shown(bar.value)
            );
        }
        out.push_str("</svg>\n");
        out
    }
}
