//! Curves as SVG: the axis of x in decades, every line on a scale of its own from 0 to its greatest value.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 2] = ["#1f5fa8", "#b04a1d"];

/// Named points `(x, y)`, at most two lines: the first is read on the left, the second on the right.
pub fn picture(x_name: &str, lines: &[(&str, Vec<(f64, f64)>)]) -> String {
    let points = || lines.iter().flat_map(|(_, p)| p);
    let least = points().map(|p| p.0).fold(f64::INFINITY, f64::min).max(1.0);
    let most = points().map(|p| p.0).fold(1.0, f64::max);
    let span = (most / least).log10().max(1e-9);
    let x = |v: f64| LEFT + (WIDTH - LEFT - RIGHT) * (v / least).log10() / span;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let floor = HEIGHT - BOTTOM;
    let _ = writeln!(
        out,
        "<path d=\"M{LEFT} {TOP}V{floor}H{}V{TOP}\" fill=\"none\" stroke=\"#888\"/>",
        WIDTH - RIGHT
    );
    for (v, _) in lines.first().map_or(&[][..], |l| &l.1) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{v}</text>",
            x(*v),
            floor + 15.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{x_name}</text>",
        WIDTH / 2.0,
        HEIGHT - 12.0
    );
    for (i, (name, points)) in lines.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let top = points.iter().map(|p| p.1).fold(f64::MIN_POSITIVE, f64::max);
        let y = |v: f64| floor - (floor - TOP) * v / top;
        let (at, anchor) = match i {
            0 => (LEFT - 6.0, "end"),
            _ => (WIDTH - RIGHT + 6.0, "start"),
        };
        for part in [0.0, 0.5, 1.0] {
            let _ = writeln!(
                out,
                "<text x=\"{at}\" y=\"{:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{}</text>",
                y(top * part) + 4.0,
                shown(top * part)
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{at}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{name}</text>",
            TOP - 12.0
        );
        let path: Vec<String> = points
            .iter()
            .map(|(px, py)| format!("{:.1},{:.1}", x(*px), y(*py)))
            .collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            path.join(" ")
        );
    }
    out.push_str("</svg>\n");
    out
}

fn shown(v: f64) -> String {
    match v {
        v if v >= 10_000.0 => format!("{:.0} k", v / 1_000.0),
        v if v >= 100.0 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::picture;

    #[test]
    fn lines_stay_inside_the_frame() {
        let points = vec![(1.0, 5.0), (10.0, 0.0), (1_000.0, 10.0)];
        let svg = picture("things", &[("a", points)]);
        assert!(
            svg.contains("points=\"70.0,170.0 236.7,310.0 570.0,30.0\""),
            "{svg}"
        );
    }
}
