//! Where events go: into memory, into counts, into files. Fed by the dispatcher, read by whoever asks.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use duramen_observe::events::EventValue;
use duramen_os::memory::{Broker, Clerk, Tally};

use super::definition::{Definition, EventDef, TargetDef};
use super::file::FileTarget;
use super::objects::{self, ActionId, TargetKind};
use super::pairing::Pairing;
use super::render::{self, Fired};

/// An action as a histogram names it: with its package or without.
pub fn action_named(name: &str) -> Option<ActionId> {
    match name.split_once('.') {
        Some((package, name)) => objects::action(Some(package), name),
        None => objects::action(None, name),
    }
}

/// What an event's action of that name has collected.
pub fn action_value<'a>(fired: &'a Fired, def: &EventDef, name: &str) -> Option<&'a EventValue> {
    let wanted = action_named(name)?;
    let at = def.actions.iter().position(|a| *a == wanted)?;
    fired.actions.get(at)
}

/// What an event's field of that name says.
pub fn field_value<'a>(fired: &'a Fired, def: &EventDef, name: &str) -> Option<&'a EventValue> {
    let own = def.id.fields().iter().copied();
    let mut all = own.chain(objects::joined(def.id).iter().map(|j| j.name()));
    let at = all.position(|f| f.eq_ignore_ascii_case(name))?;
    fired.values.get(at)
}

/// What a slot of a histogram takes beside its text.
const SLOT_BYTES: usize = 64;

/// The newest events, bounded in number and bytes.
#[derive(Debug)]
pub struct RingBuffer {
    events: VecDeque<(usize, String)>,
    bytes: usize,
    most_bytes: usize,
    most_events: usize,
    total: u64,
    held: Tally,
}

/// Counts by the value of a field or action.
#[derive(Debug)]
pub struct Histogram {
    slots: BTreeMap<String, u64>,
    most: usize,
    source: String,
    of_action: bool,
    /// `package.event`; empty: every event.
    only: String,
    full: bool,
    held: Tally,
}

#[derive(Debug)]
pub enum Sink {
    File(FileTarget),
    Ring(RingBuffer),
    Histogram(Histogram),
    Counter(Vec<u64>),
    Pairing(Pairing),
}

/// A target of a running session.
#[derive(Debug)]
pub struct Target {
    pub kind: TargetKind,
    pub sink: Sink,
    /// How often it was given events.
    pub executions: u64,
    pub nanos: u64,
    /// Of events as text, in memory; a file knows its own.
    shown_bytes: u64,
}

impl RingBuffer {
    fn of(def: &TargetDef) -> RingBuffer {
        let bytes = usize::try_from(def.number("max_memory")).unwrap_or(0) << 10;
        RingBuffer {
            events: VecDeque::new(),
            bytes: 0,
            // 0: as much as events come; it is bounded all the same.
            most_bytes: if bytes == 0 { 64 << 20 } else { bytes },
            most_events: match usize::try_from(def.number("max_events_limit")) {
                Ok(0) | Err(_) => usize::MAX,
                Ok(n) => n,
            },
            total: 0,
            held: Tally::new(Clerk::EventBuffers),
        }
    }

    fn add(&mut self, shown: String) {
        self.total += 1;
        let bytes = shown.len();
        self.bytes += bytes;
        self.held.add(bytes as u64);
        self.events.push_back((bytes, shown));
        let too_many = |ring: &RingBuffer| {
            ring.events.len() > ring.most_events
                || ring.bytes > ring.most_bytes
                || !ring.held.fits(0)
        };
        while too_many(self) {
            match self.events.pop_front() {
                Some((bytes, _)) => {
                    self.bytes -= bytes;
                    self.held.sub(bytes as u64);
                }
                None => break,
            }
        }
    }

    fn xml(&self, dropped: u64) -> String {
        let mut out = format!(
            "<RingBufferTarget truncated=\"0\" processingTime=\"0\" totalEventsProcessed=\"{}\" eventCount=\"{}\" droppedCount=\"{dropped}\" memoryUsed=\"{}\">",
            self.total,
            self.events.len(),
            self.bytes
        );
        for (_, shown) in &self.events {
            out += shown;
        }
        out + "</RingBufferTarget>"
    }
}

impl Histogram {
    fn of(def: &TargetDef) -> Histogram {
        Histogram {
            slots: BTreeMap::new(),
            most: usize::try_from(def.number("slots")).unwrap_or(0).max(1),
            source: def.text("source"),
            of_action: def.number("source_type") == 1,
            only: def.text("filtering_event_name"),
            full: false,
            held: Tally::new(Clerk::EventBuffers),
        }
    }

    fn add(&mut self, fired: &Fired, definition: &Definition) {
        let Some(def) = definition.events.get(fired.def) else {
            return;
        };
        let name = format!("{}.{}", def.id.package(), def.id.name());
        if !self.only.is_empty() && !self.only.eq_ignore_ascii_case(&name) {
            return;
        }
        let value = match self.of_action {
            true => action_value(fired, def, &self.source),
            false => field_value(fired, def, &self.source),
        };
        let Some(value) = value else { return };
        let key = render::plain(value);
        let bytes = (key.len() + SLOT_BYTES) as u64;
        let room = self.slots.len() < self.most && self.held.fits(bytes);
        match self.slots.get_mut(&key) {
            Some(count) => *count += 1,
            None if room => {
                self.slots.insert(key, 1);
                self.held.add(bytes);
            }
            None => self.full = true,
        }
    }

    fn xml(&self) -> String {
        let truncated = u8::from(self.full);
        let mut out = format!(
            "<HistogramTarget truncated=\"{truncated}\" buckets=\"{}\">",
            self.most
        );
        let mut slots: Vec<_> = self.slots.iter().collect();
        slots.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (value, count) in slots {
            let value = render::escaped(value);
            let _ = write!(out, "<Slot count=\"{count}\"><value>{value}</value></Slot>");
        }
        out + "</HistogramTarget>"
    }
}

impl Target {
    pub fn of(
        def: &TargetDef,
        definition: &Definition,
        file: Option<FileTarget>,
    ) -> Option<Target> {
        let sink = match def.kind {
            TargetKind::EventFile => Sink::File(file?),
            TargetKind::RingBuffer => Sink::Ring(RingBuffer::of(def)),
            TargetKind::Histogram => Sink::Histogram(Histogram::of(def)),
            TargetKind::EventCounter => Sink::Counter(vec![0; definition.events.len()]),
            TargetKind::PairMatching => Sink::Pairing(Pairing::of(def)),
        };
        Some(Target {
            kind: def.kind,
            sink,
            executions: 0,
            nanos: 0,
            shown_bytes: 0,
        })
    }

    /// Takes a round of events. What a file cannot take is lost, and said by the target's data.
    pub fn take(&mut self, events: &[Fired], definition: &Definition) {
        let began = duramen_os::time::now();
        let rendered = |types| {
            events.iter().filter_map(move |f| {
                Some((f, render::event(f, definition.events.get(f.def)?, types)))
            })
        };
        match &mut self.sink {
            Sink::File(file) => {
                let records = rendered(false).filter_map(|(f, shown)| {
                    Some((definition.events.get(f.def)?.id.name(), f.at, shown))
                });
                file.write(records);
            }
            Sink::Ring(ring) => rendered(true).for_each(|(_, shown)| {
                self.shown_bytes += shown.len() as u64;
                ring.add(shown);
            }),
            Sink::Histogram(h) => events.iter().for_each(|f| h.add(f, definition)),
            Sink::Pairing(p) => events.iter().for_each(|f| p.add(f, definition)),
            Sink::Counter(counts) => events.iter().for_each(|f| {
                if let Some(count) = counts.get_mut(f.def) {
                    *count += 1;
                }
            }),
        }
        self.executions += 1;
        self.nanos += began.elapsed().as_nanos() as u64;
    }

    /// `memory` answers for what it keeps.
    pub fn follow(&self, memory: &Arc<Broker>) {
        match &self.sink {
            Sink::Ring(ring) => ring.held.follow(memory),
            Sink::Histogram(histogram) => histogram.held.follow(memory),
            Sink::Pairing(pairing) => pairing.held.follow(memory),
            Sink::File(_) | Sink::Counter(_) => {}
        }
    }

    /// `bytes_written`: what it was given as bytes. Targets that count have no bytes.
    pub fn bytes_written(&self) -> u64 {
        match &self.sink {
            Sink::File(file) => file.bytes,
            _ => self.shown_bytes,
        }
    }

    /// `target_data` of `sys.dm_xe_session_targets`.
    pub fn data(&self, definition: &Definition, dropped: u64) -> String {
        match &self.sink {
            Sink::File(file) => file.xml(),
            Sink::Ring(ring) => ring.xml(dropped),
            Sink::Histogram(h) => h.xml(),
            Sink::Pairing(p) => p.xml(),
            Sink::Counter(counts) => {
                let mut packages: BTreeMap<&str, String> = BTreeMap::new();
                for (event, count) in definition.events.iter().zip(counts) {
                    let _ = write!(
                        packages.entry(event.id.package()).or_default(),
                        "<Event name=\"{}\" count=\"{count}\"/>",
                        event.id.name()
                    );
                }
                let mut out = "<CounterTarget truncated=\"0\"><Packages>".to_owned();
                for (name, events) in packages {
                    let _ = write!(out, "<Package name=\"{name}\">{events}</Package>");
                }
                out + "</Packages></CounterTarget>"
            }
        }
    }
}
