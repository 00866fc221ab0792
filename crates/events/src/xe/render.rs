//! Events as XML, in the shape of `event_data`.

use std::fmt::Write as _;

use duramen_observe::events::EventValue;
use duramen_os::time::WallTime;
use duramen_program::timestamp::timestamp;

use super::definition::EventDef;
use super::objects;

/// An event that a session has taken.
#[derive(Clone, Debug)]
pub struct Fired {
    pub at: WallTime,
    /// Which of the session's events it is.
    pub def: usize,
    /// The event's own fields, then what is joined to them.
    pub values: Vec<EventValue>,
    /// In the order of the definition.
    pub actions: Vec<EventValue>,
    /// With TRACK_CAUSALITY: the task and which of its events it is.
    pub activity: Option<String>,
}

impl Fired {
    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let text = |v: &EventValue| match v {
            EventValue::Text(t) => t.len(),
            EventValue::Binary(b) => b.len(),
            _ => 0,
        };
        let values = self.values.iter().chain(&self.actions);
        self.activity.as_ref().map_or(0, String::len)
            + 96
            + values
                .map(|v| std::mem::size_of::<EventValue>() + text(v))
                .sum::<usize>()
    }
}

/// A text within an element or an attribute; characters that XML 1.0 does not have become `?`.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\t' | '\n' => out.push(c),
            '\r' => out += "&#x0D;",
            c if c < ' ' || c == '\u{fffe}' || c == '\u{ffff}' => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

/// What stands in `<value>`, as text.
pub fn plain(value: &EventValue) -> String {
    match value {
        EventValue::Unsigned(n) => n.to_string(),
        EventValue::Signed(n) => n.to_string(),
        EventValue::Boolean(b) => b.to_string(),
        EventValue::Mapped(key, _) => key.to_string(),
        EventValue::Text(t) => t.clone(),
        EventValue::Pointer(p) => format!("0x{p:016x}"),
        EventValue::Binary(b) => b.iter().map(|b| format!("{b:02X}")).collect(),
    }
}

fn element(out: &mut String, open: &str, ty: Option<(&str, &str)>, xml: bool, value: &EventValue) {
    out.push('<');
    out.push_str(open);
    out.push('>');
    if let Some((ty, package)) = ty {
        let _ = write!(out, "<type name=\"{ty}\" package=\"{package}\"/>");
    }
    match plain(value) {
        text if text.is_empty() => out.push_str("<value/>"),
        text if xml => {
            let _ = write!(out, "<value>{text}</value>");
        }
        text => {
            let _ = write!(out, "<value>{}</value>", escaped(&text));
        }
    }
    if let EventValue::Mapped(_, text) = value {
        let _ = write!(out, "<text>{}</text>", escaped(text));
    }
    let name = open.split(' ').next().unwrap_or(open);
    let _ = write!(out, "</{name}>");
}

/// An event as an element; with types as the ring buffer shows it.
pub fn event(fired: &Fired, def: &EventDef, types: bool) -> String {
    let id = def.id;
    let mut out = format!(
        "<event name=\"{}\" package=\"{}\" timestamp=\"{}\">",
        id.name(),
        id.package(),
        timestamp(fired.at)
    );
    let own = id.fields().iter().copied().zip(id.types().iter().copied());
    let joined = objects::joined(id)
        .iter()
        .map(|j| (j.name(), j.type_name()));
    for ((name, ty), value) in own.chain(joined).zip(&fired.values) {
        let package = match objects::is_map(ty) {
            true => id.package(),
            false => "package0",
        };
        let ty_shown = types.then_some((ty, package));
        element(
            &mut out,
            &format!("data name=\"{name}\""),
            ty_shown,
            ty == "xml",
            value,
        );
    }
    for (action, value) in def.actions.iter().zip(&fired.actions) {
        let open = format!(
            "action name=\"{}\" package=\"{}\"",
            action.name(),
            action.package()
        );
        let ty = types.then_some((action.type_name(), "package0"));
        let xml = action.type_name() == "xml";
        element(&mut out, &open, ty, xml, value);
    }
    if let Some(activity) = &fired.activity {
        let open = "action name=\"attach_activity_id\" package=\"package0\"";
        let ty = types.then_some(("activity_id", "package0"));
        let value = EventValue::Text(activity.clone());
        element(&mut out, open, ty, false, &value);
    }
    out + "</event>"
}
