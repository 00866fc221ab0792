//! A dump as text and as rows.

use super::{Dump, Line};

/// Bytes of a line of a memory dump.
const DUMP_BYTES: usize = 20;
/// Fields stand side by side in columns of this width.
const FIELD_WIDTH: usize = 36;
const FIELDS_A_LINE: usize = 3;

/// Offset, bytes in groups of four, characters: `0000000000000060:   10000800 01000000 020000   ...........`.
fn dump_line(at: usize, bytes: &[u8]) -> (String, String) {
    let groups: Vec<String> = bytes
        .chunks(4)
        .map(|g| g.iter().map(|b| format!("{b:02x}")).collect())
        .collect();
    let shown = |b: &u8| match b {
        0x20..=0x7e => char::from(*b),
        _ => '.',
    };
    let text: String = bytes.iter().map(shown).collect();
    let value = format!("{:<44}  {text}", groups.join(" "));
    (format!("{at:016X}:"), value)
}

/// The lines of a memory dump.
fn dump_lines(at: usize, bytes: &[u8]) -> impl Iterator<Item = (String, String)> {
    let lines = bytes.chunks(DUMP_BYTES).enumerate();
    lines.map(move |(i, chunk)| dump_line(at + i * DUMP_BYTES, chunk))
}

impl Dump {
    /// The dump as lines of text.
    pub fn text(&self) -> Vec<String> {
        let mut out = Vec::new();
        let mut fields = Fields::default();
        for line in &self.lines {
            if !matches!(line, Line::Field(..)) {
                fields.end(&mut out);
            }
            match line {
                Line::Parent(title) => {
                    if !out.is_empty() {
                        out.push(String::new());
                    }
                    out.extend([title.clone(), String::new()]);
                }
                Line::Object(title) => {
                    if out.last().is_some_and(|l| !l.is_empty()) {
                        out.push(String::new());
                    }
                    out.extend([title.clone(), String::new()]);
                }
                Line::Field(name, value) => fields.add(name, value, &mut out),
                Line::Break => {}
                Line::Bytes(at, bytes) => {
                    out.extend(dump_lines(*at, bytes).map(|(at, value)| format!("{at}   {value}")));
                }
            }
        }
        fields.end(&mut out);
        out
    }

    /// The dump as ParentObject, Object, Field, VALUE.
    pub fn rows(&self) -> Vec<[String; 4]> {
        let mut out = Vec::new();
        let (mut parent, mut object) = (String::new(), String::new());
        for line in &self.lines {
            match line {
                Line::Parent(title) => {
                    parent.clone_from(title);
                    object.clear();
                }
                Line::Object(title) => object.clone_from(title),
                Line::Field(name, value) => {
                    out.push([parent.clone(), object.clone(), name.clone(), value.clone()]);
                }
                Line::Break => {}
                Line::Bytes(at, bytes) => out.extend(
                    dump_lines(*at, bytes)
                        .map(|(at, value)| [parent.clone(), object.clone(), at, value]),
                ),
            }
        }
        out
    }
}

/// Fields of the line that is being written.
#[derive(Default)]
struct Fields {
    line: String,
    count: usize,
}

impl Fields {
    fn add(&mut self, name: &str, value: &str, out: &mut Vec<String>) {
        let field = format!("{name} = {value}");
        if self.count > 0 && !self.line.ends_with(' ') {
            self.line += " ";
        }
        self.line += &format!("{field:<FIELD_WIDTH$}");
        self.count += 1;
        if self.count == FIELDS_A_LINE {
            self.end(out);
        }
    }

    fn end(&mut self, out: &mut Vec<String>) {
        if self.count > 0 {
            out.push(self.line.trim_end().to_owned());
        }
        *self = Fields::default();
    }
}
