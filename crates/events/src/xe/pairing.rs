//! The target `pair_matching`: events that come in pairs, of which those stay that have found no other.
//!
//! <https://learn.microsoft.com/previous-versions/sql/sql-server-2012/ff878062(v=sql.110)>
//! An end takes away the oldest beginning whose columns and actions say the same; one that finds none stays as well. Beyond
//! `max_orphans`, or too many bytes, or when the server has no memory for more, the oldest go.

use std::collections::{BTreeMap, VecDeque};

use duramen_os::memory::{Clerk, Tally};

use super::definition::{Definition, EventDef, TargetDef};
use super::objects;
use super::render::{self, Fired};
use super::targets::{action_value, field_value};

/// Most bytes of events that are kept, whatever their number may be.
const MOST_BYTES: usize = 64 << 20;
/// What an event takes beside its texts: places in two trees, and a list.
const EACH_BYTES: usize = 160;

/// One half of the pairs.
#[derive(Debug)]
struct Side {
    /// `package.event`
    event: String,
    columns: Vec<String>,
    actions: Vec<String>,
}

#[derive(Debug)]
pub struct Pairing {
    begin: Side,
    end: Side,
    /// In the order in which they came: what they are matched by, and how they are shown.
    orphans: BTreeMap<u64, (String, String)>,
    /// Beginnings by what they are matched by, oldest first.
    open: BTreeMap<String, VecDeque<u64>>,
    next: u64,
    bytes: usize,
    most: usize,
    matched: u64,
    dropped: bool,
    /// The same bytes, for whoever answers for the server's memory.
    pub(super) held: Tally,
}

/// The names of a list like `database_id, mode`.
pub fn names(list: &str) -> Vec<String> {
    let names = list.split(',').map(str::trim);
    names.filter(|n| !n.is_empty()).map(str::to_owned).collect()
}

impl Side {
    fn of(def: &TargetDef, which: &str) -> Side {
        let list = |of: &str| names(&def.text(&format!("{which}_matching_{of}")));
        Side {
            event: def.text(&format!("{which}_event")),
            columns: list("columns"),
            actions: list("actions"),
        }
    }

    fn is(&self, def: &EventDef) -> bool {
        let name = format!("{}.{}", def.id.package(), def.id.name());
        self.event.eq_ignore_ascii_case(&name)
    }

    /// What its events are matched by.
    fn key(&self, fired: &Fired, def: &EventDef) -> String {
        let columns = self.columns.iter().map(|c| field_value(fired, def, c));
        let actions = self.actions.iter().map(|a| action_value(fired, def, a));
        let parts = columns
            .chain(actions)
            .map(|v| v.map(render::plain).unwrap_or_default());
        parts.collect::<Vec<_>>().join("\u{1f}")
    }
}

/// Why the settings of such a target are no good: which, and what is wrong.
pub fn wrong(def: &TargetDef) -> Option<(&'static str, &'static str)> {
    const ENDS: [(&str, &str, &str); 2] = [
        (
            "begin_event",
            "begin_matching_columns",
            "begin_matching_actions",
        ),
        ("end_event", "end_matching_columns", "end_matching_actions"),
    ];
    let mut counts = Vec::new();
    for (event, columns, actions) in ENDS {
        let named = def.text(event);
        let found = named.split_once('.');
        let found = found.and_then(|(package, name)| objects::event(Some(package), name));
        let Some(id) = found else {
            return Some((event, "There is no such event."));
        };
        let (fields, taken) = (names(&def.text(columns)), names(&def.text(actions)));
        let is_field = |name: &String| {
            let joined = objects::joined(id).iter().map(|j| j.name());
            let mut all = id.fields().iter().copied().chain(joined);
            all.any(|f| f.eq_ignore_ascii_case(name))
        };
        if !fields.iter().all(is_field) {
            return Some((columns, "There is no such field."));
        }
        if taken
            .iter()
            .any(|a| super::targets::action_named(a).is_none())
        {
            return Some((actions, "There is no such action."));
        }
        counts.push((fields.len(), taken.len()));
    }
    match counts[0] == counts[1] && counts[0] != (0, 0) {
        true => None,
        false => Some((
            "end_matching_columns",
            "Both events are matched by as many columns and actions, and by one at least.",
        )),
    }
}

impl Pairing {
    pub fn of(def: &TargetDef) -> Pairing {
        Pairing {
            begin: Side::of(def, "begin"),
            end: Side::of(def, "end"),
            orphans: BTreeMap::new(),
            open: BTreeMap::new(),
            next: 0,
            bytes: 0,
            most: usize::try_from(def.number("max_orphans")).unwrap_or(0),
            matched: 0,
            dropped: false,
            held: Tally::new(Clerk::EventBuffers),
        }
    }

    /// The key is there twice.
    fn bytes_of(key: &str, shown: &str) -> usize {
        2 * key.len() + shown.len() + EACH_BYTES
    }

    fn forget(&mut self, number: u64) -> Option<String> {
        let (key, shown) = self.orphans.remove(&number)?;
        let bytes = Pairing::bytes_of(&key, &shown);
        self.bytes -= bytes;
        self.held.sub(bytes as u64);
        Some(key)
    }

    pub fn add(&mut self, fired: &Fired, definition: &Definition) {
        let Some(def) = definition.events.get(fired.def) else {
            return;
        };
        let (begins, ends) = (self.begin.is(def), self.end.is(def));
        if ends {
            let key = self.end.key(fired, def);
            let found = self.open.get_mut(&key).and_then(VecDeque::pop_front);
            if let Some(number) = found {
                if self.open.get(&key).is_some_and(VecDeque::is_empty) {
                    self.open.remove(&key);
                }
                self.forget(number);
                self.matched += 1;
                return;
            }
        }
        if !begins && !ends {
            return;
        }
        let key = match begins {
            true => self.begin.key(fired, def),
            false => String::new(),
        };
        let shown = render::event(fired, def, true);
        let number = self.next;
        self.next += 1;
        let bytes = Pairing::bytes_of(&key, &shown);
        self.bytes += bytes;
        self.held.add(bytes as u64);
        if begins {
            self.open.entry(key.clone()).or_default().push_back(number);
        }
        self.orphans.insert(number, (key, shown));
        let too_many =
            |p: &Pairing| p.orphans.len() > p.most || p.bytes > MOST_BYTES || !p.held.fits(0);
        while too_many(self) {
            let Some(oldest) = self.orphans.keys().next().copied() else {
                break;
            };
            self.dropped = true;
            if let Some(key) = self.forget(oldest)
                && let Some(numbers) = self.open.get_mut(&key)
            {
                numbers.retain(|n| *n != oldest);
                if numbers.is_empty() {
                    self.open.remove(&key);
                }
            }
        }
    }

    pub fn xml(&self) -> String {
        let mut out = format!(
            "<PairingTarget truncated=\"{}\" orphanCount=\"{}\" matchedCount=\"{}\" memoryPressureDroppedCount=\"0\">",
            u8::from(self.dropped),
            self.orphans.len(),
            self.matched
        );
        for (_, shown) in self.orphans.values() {
            out += shown;
        }
        out + "</PairingTarget>"
    }
}
