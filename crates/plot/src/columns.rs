//! Columns over a logarithmic x: histograms of latencies.

use std::fmt::Write;

use crate::scale::{Scale, shown};
use crate::{escape, open};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 24.0;
const INNER: f64 = 120.0;
const BOTTOM: f64 = 34.0;

/// Counts by buckets of x: (lower bound, upper bound, count), bounds above 0 and in order.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    pub title: String,
    pub x_name: String,
    pub unit: String,
    pub buckets: Vec<(f64, f64, f64)>,
}

impl Columns {
    pub fn svg(&self) -> String {
        let floor = TOP + INNER;
        let good = |b: &&(f64, f64, f64)| b.0 > 0.0 && b.1 > b.0 && b.2.is_finite();
        let buckets: Vec<_> = self.buckets.iter().filter(good).collect();
        let x = Scale::log(buckets.iter().flat_map(|b| [b.0, b.1]));
        let y = Scale::linear(buckets.iter().map(|b| b.2));
        let at_x = |v: f64| LEFT + (WIDTH - LEFT - RIGHT) * x.place(v);
        let at_y = |v: f64| floor - INNER * y.place(v);
        let mut out = open(WIDTH, floor + BOTTOM, &self.title);
        let _ = writeln!(
            out,
            "<text class=\"title\" x=\"0\" y=\"13\">{} <tspan class=\"faint\">{}</tspan></text>",
            escape(&self.title),
            escape(&self.unit)
        );
        for v in y.ticks() {
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {:.1}H{:.0}\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                at_y(v),
                WIDTH - RIGHT,
                LEFT - 6.0,
                at_y(v) + 4.0,
                shown(v)
            );
        }
        for v in x.ticks() {
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                at_x(v),
                floor + 15.0,
                shown(v)
            );
        }
        for (low, high, count) in buckets {
            let _ = writeln!(
                out,
                "<rect class=\"fill s0\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"><title>{} to {}: {}</title></rect>",
                at_x(*low),
                at_y(*count),
                (at_x(*high) - at_x(*low) - 0.6).max(0.4),
                floor - at_y(*count),
                shown(*low),
                shown(*high),
                shown(*count)
            );
        }
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{LEFT} {TOP}V{floor}H{:.0}\"/><text class=\"faint\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            WIDTH - RIGHT,
            floor + 29.0,
            escape(&self.x_name)
        );
        out.push_str("</svg>\n");
        out
    }
}
