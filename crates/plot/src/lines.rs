//! Lines over a common x: timelines and curves.

use std::fmt::Write;

use crate::scale::{Scale, shown};
use crate::{POINTS_MAX, escape, open};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 34.0;

/// A line: its name and its points, in the order of x.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A moment worth a vertical line.
#[derive(Clone, Debug)]
pub struct Mark {
    pub x: f64,
    pub name: String,
}

/// A picture of lines that share both axes.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    pub title: String,
    pub x_name: String,
    /// What y counts, e.g. `MB/s`.
    pub unit: String,
    pub series: Vec<Series>,
    pub marks: Vec<Mark>,
    pub log_x: bool,
    pub log_y: bool,
    /// The range of x where pictures below each other must agree; else that of the points.
    pub range: Option<(f64, f64)>,
    /// Points are drawn, not only joined.
    pub dots: bool,
    /// The height of the drawing itself in units; 0 for the usual 150.
    pub height: f64,
}

impl Lines {
    pub fn svg(&self) -> String {
        let inner = if self.height > 0.0 {
            self.height
        } else {
            150.0
        };
        let height = TOP + inner + BOTTOM;
        let floor = TOP + inner;
        let points = || self.series.iter().flat_map(|s| &s.points);
        let (xs, ys) = (points().map(|p| p.0), points().map(|p| p.1));
        let x = match (self.log_x, self.range) {
            (true, _) => Scale::log(xs),
            (false, Some((low, high))) => Scale::exact(low, high),
            (false, None) => Scale::linear(xs),
        };
        let y = if self.log_y {
            Scale::log(ys)
        } else {
            Scale::linear(ys)
        };
        let at_x = |v: f64| LEFT + (WIDTH - LEFT - RIGHT) * x.place(v);
        let at_y = |v: f64| floor - inner * y.place(v);

        let mut out = open(WIDTH, height, &self.title);
        self.head(&mut out);
        for v in y.ticks() {
            let (at, text) = (at_y(v), shown(v));
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{:.0}\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0
            );
        }
        for v in x.ticks() {
            let (at, text) = (at_x(v), shown(v));
            let _ = writeln!(
                out,
                "<text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{text}</text>",
                floor + 15.0
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
        for mark in self.marks.iter().filter(|m| m.x.is_finite()) {
            let at = at_x(mark.x);
            let _ = writeln!(
                out,
                "<path class=\"mark\" d=\"M{at:.1} {TOP}V{floor}\"><title>{}</title></path>",
                escape(&mark.name)
            );
        }
        for (n, series) in self.series.iter().enumerate() {
            self.line(&mut out, n, series, &at_x, &at_y);
        }
        out.push_str("</svg>\n");
        out
    }

    /// Title, unit and legend.
    fn head(&self, out: &mut String) {
        // One line alone is named beside the title.
        let note = match self.series.as_slice() {
            [only] if !only.name.is_empty() => format!("{}, {}", only.name, self.unit),
            _ => self.unit.clone(),
        };
        let _ = writeln!(
            out,
            "<text class=\"title\" x=\"0\" y=\"13\">{} <tspan class=\"faint\">{}</tspan></text>",
            escape(&self.title),
            escape(&note)
        );
        if self.series.len() < 2 {
            return;
        }
        let mut x = LEFT;
        for (n, series) in self.series.iter().enumerate() {
            let _ = writeln!(
                out,
                "<rect class=\"fill s{}\" x=\"{x:.0}\" y=\"22\" width=\"9\" height=\"9\"/><text x=\"{:.0}\" y=\"31\">{}</text>",
                n % 8,
                x + 13.0,
                escape(&series.name)
            );
            x += 28.0 + 6.2 * series.name.chars().count() as f64;
        }
    }

    fn line(
        &self,
        out: &mut String,
        n: usize,
        series: &Series,
        at_x: &dyn Fn(f64) -> f64,
        at_y: &dyn Fn(f64) -> f64,
    ) {
        let points = thinned(&series.points);
        let path: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{:.1},{:.1}", at_x(*x), at_y(*y)))
            .collect();
        let _ = writeln!(
            out,
            "<polyline class=\"line s{}\" points=\"{}\"/>",
            n % 8,
            path.join(" ")
        );
        if !self.dots {
            return;
        }
        for (x, y) in points {
            let _ = writeln!(
                out,
                "<circle class=\"fill s{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{}: {} at {}</title></circle>",
                n % 8,
                at_x(x),
                at_y(y),
                escape(&series.name),
                shown(y),
                shown(x)
            );
        }
    }
}

/// At most [`POINTS_MAX`] points: of each bucket its least and greatest, so that no peak is lost.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let good = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
    let points: Vec<(f64, f64)> = points.iter().filter(good).copied().collect();
    if points.len() <= POINTS_MAX {
        return points;
    }
    let bucket = points.len().div_ceil(POINTS_MAX / 2);
    let mut out = Vec::with_capacity(POINTS_MAX);
    for part in points.chunks(bucket) {
        let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (low, high) = (part.iter().min_by(by), part.iter().max_by(by));
        let mut both: Vec<(f64, f64)> = low.into_iter().chain(high).copied().collect();
        both.sort_by(|a, b| a.0.total_cmp(&b.0));
        out.extend(both);
    }
    out
}
