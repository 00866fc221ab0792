//! The shell of a page and the few elements it is made of. Everything that comes from outside is escaped here.

use duramen_plot::{Cell, STYLE, Strip, escape};

/// An HTML document being written.
pub struct Page {
    text: String,
}

const LOOK: &str = "\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.7rem}h2{margin-top:2.4rem;border-bottom:1px solid #8884;padding-bottom:.2rem}h3{margin:1.2rem 0 .3rem}\
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}\
th,td{padding:.15rem .6rem;text-align:right;border-bottom:1px solid #8883;white-space:nowrap}th:first-child,td:first-child{text-align:left}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{opacity:.65}dd{margin:0}\
details{margin:.4rem 0;border-left:3px solid #8884;padding-left:.8rem}summary{cursor:pointer}\
svg.plot{margin:.8rem 0}";

impl Page {
    pub fn new(title: &str) -> Page {
        Page {
            text: format!(
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
                 <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
                 <title>{}</title><style>{LOOK}{STYLE}</style></head><body>\n",
                escape(title)
            ),
        }
    }

    /// A part of a document that is there already.
    pub fn part() -> Page {
        Page {
            text: String::new(),
        }
    }

    /// A log file's VLFs in file order, in MB, those that are active darker.
    pub fn log_map(
        &mut self,
        title: String,
        note: String,
        vlfs: impl Iterator<Item = (f64, bool)>,
    ) {
        let cell = |(n, (mb, active)): (usize, (f64, bool))| Cell {
            size: mb,
            class: usize::from(active),
            name: format!("VLF {}: {mb:.2} MB", n + 1),
        };
        let cells = vlfs.enumerate().map(cell).collect();
        self.raw(&Strip { title, note, cells }.svg());
    }

    /// What was written, without an end.
    pub fn text_of_part(self) -> String {
        self.text
    }

    /// Markup as it is.
    pub fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
        self.text.push('\n');
    }

    pub fn tag(&mut self, tag: &str, text: &str) {
        self.raw(&format!("<{tag}>{}</{tag}>", escape(text)));
    }

    pub fn text(&mut self, text: &str) {
        self.tag("p", text);
    }

    pub fn section(&mut self, id: &str, title: &str) {
        self.raw(&format!("<h2 id=\"{}\">{}</h2>", escape(id), escape(title)));
    }

    pub fn list(&mut self, items: &[String]) {
        self.raw("<ul>");
        for item in items {
            self.tag("li", item);
        }
        self.raw("</ul>");
    }

    pub fn facts(&mut self, facts: &[(&str, String)]) {
        self.raw("<dl>");
        for (name, value) in facts {
            self.tag("dt", name);
            self.tag("dd", value);
        }
        self.raw("</dl>");
    }

    /// Rows made by [`head`] and [`row`].
    pub fn table(&mut self, rows: &str) {
        self.raw(&format!("<div class=\"wide\"><table>{rows}</table></div>"));
    }

    pub fn end(mut self) -> String {
        self.raw("</body></html>");
        self.text
    }
}

pub fn cell(text: &str) -> String {
    escape(text)
}

/// A number as a table shows it.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => grouped(value),
        v if v == v.round() => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.6}"),
    }
}

/// Whole, with a blank every three digits.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (n, c) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    match value < 0.0 {
        true => format!("-{out}"),
        false => out,
    }
}

pub fn head(names: &[String]) -> String {
    let cells: Vec<String> = names
        .iter()
        .map(|n| format!("<th>{}</th>", escape(n.trim())))
        .collect();
    format!("<tr>{}</tr>\n", cells.concat())
}

/// Cells that are escaped already.
pub fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|c| format!("<td>{c}</td>")).collect();
    format!("<tr>{}</tr>\n", cells.concat())
}

/// The same whose last cell is a text that may be long.
pub fn row_of_text(cells: &[String]) -> String {
    let Some((text, cells)) = cells.split_last() else {
        return row(cells);
    };
    let cells: Vec<String> = cells.iter().map(|c| format!("<td>{c}</td>")).collect();
    format!(
        "<tr>{}<td class=\"text\">{text}</td></tr>\n",
        cells.concat()
    )
}
