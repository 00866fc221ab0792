//! What CREATE and ALTER EVENT SESSION have said: checked, and written back as a statement to be kept in master.

use std::fmt::Write as _;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_observe::events::EventId;
use duramen_tsql::ast::bracketed;
use duramen_tsql::ast::{
    EventPredicate, EventSession, EventSpec, EventTarget, NamedOption, ObjectName, OptionValue,
    SizeUnit, StatementKind,
};
use duramen_tsql::{ParseOptions, parse_batch};

use super::objects::{self, ActionId, TargetKind};
use super::predicate::Predicate;

/// A predicate may be so long.
const PREDICATE_LIMIT: usize = 3000;
/// KB: less than 2 GB.
const MAX_MEMORY_LIMIT: i64 = (2 << 20) - 1;

#[derive(Clone, Debug)]
pub struct Definition {
    pub name: String,
    pub options: Options,
    pub events: Vec<EventDef>,
    pub targets: Vec<TargetDef>,
}

#[derive(Clone, Debug)]
pub struct EventDef {
    pub id: EventId,
    /// Attributes that were set, by name, and whether to 1.
    pub collect: Vec<(&'static str, bool)>,
    pub actions: Vec<ActionId>,
    pub predicate: Option<EventPredicate>,
    /// As written.
    pub predicate_text: String,
}

#[derive(Clone, Debug)]
pub struct TargetDef {
    pub kind: TargetKind,
    /// Settings that were given; numbers without a sign as such.
    pub settings: Vec<(&'static str, Setting)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    Number(i64),
    Text(String),
}

/// What of its events a session may lose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retention {
    /// An event that finds the buffers full.
    OneEvent,
    /// The oldest full buffer, with all its events.
    OneBuffer,
    /// Nothing: whoever fires events waits.
    Nothing,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    pub max_memory_kb: i64,
    pub retention: Retention,
    /// 0: when the memory is full.
    pub dispatch_latency_seconds: i64,
    pub max_event_kb: i64,
    /// PER_NODE: there is one.
    pub per_node: bool,
    /// Every event says which one of which task it is.
    pub track_causality: bool,
    pub startup: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_memory_kb: 4096,
            retention: Retention::OneEvent,
            dispatch_latency_seconds: 30,
            max_event_kb: 0,
            per_node: false,
            track_causality: false,
            startup: false,
        }
    }
}

/// `package.name` of a name that may begin with a module.
fn split(name: &ObjectName) -> (Option<&str>, &str) {
    (name.schema(), name.name())
}

fn unknown(what: &str, name: &ObjectName) -> SqlError {
    SqlError::new(&messages::EVENT_OBJECT_INVALID, &[&what, &name.display()])
}

fn invalid_option(name: &str) -> SqlError {
    SqlError::new(&messages::EVENT_OPTION_INVALID, &[&name.to_lowercase()])
}

impl Definition {
    pub fn of(stmt: &EventSession) -> SqlResult<Definition> {
        let mut made = Definition {
            name: stmt.name.clone(),
            options: Options::default(),
            events: Vec::new(),
            targets: Vec::new(),
        };
        made.set_options(&stmt.options)?;
        stmt.events.iter().try_for_each(|e| made.add_event(e))?;
        stmt.targets.iter().try_for_each(|t| made.add_target(t))?;
        made.check_retention()?;
        Ok(made)
    }

    /// 25643 when nothing may be lost and an event cannot wait.
    pub fn check_retention(&self) -> SqlResult<()> {
        let keeps_all = self.options.retention == Retention::Nothing;
        match self.events.iter().find(|e| keeps_all && e.id.cannot_wait()) {
            None => Ok(()),
            Some(e) => {
                let name = format!("{}.{}", e.id.package(), e.id.name());
                let args: [&dyn std::fmt::Display; 2] = [&"event", &name];
                Err(SqlError::new(&messages::EVENT_CANNOT_WAIT, &args))
            }
        }
    }

    /// A statement that was kept.
    pub fn parse(statement: &str) -> SqlResult<Definition> {
        let batch = parse_batch(statement, &ParseOptions::default())?;
        match batch.statements.first().map(|s| &s.kind) {
            Some(StatementKind::CreateEventSession(stmt)) => Definition::of(stmt),
            _ => Err(SqlError::new(&messages::SYNTAX_NEAR, &[&statement])),
        }
    }

    pub fn set_options(&mut self, given: &[NamedOption]) -> SqlResult<()> {
        for (at, option) in given.iter().enumerate() {
            let name = option.name.as_str();
            if given[..at].iter().any(|o| o.name == name) {
                let shown = name.to_lowercase();
                return Err(SqlError::new(&messages::EVENT_OPTION_TWICE, &[&shown]));
            }
            self.set_option(name, option.value.as_ref())?;
        }
        Ok(())
    }

    fn set_option(&mut self, name: &str, value: Option<&OptionValue>) -> SqlResult<()> {
        let invalid = || invalid_option(name);
        let unsupported = |what: &str| {
            let what = format!("{name} = {what} of an event session");
            SqlError::new(&messages::NOT_SUPPORTED, &[&what])
        };
        let value = value.ok_or_else(invalid)?;
        let word = match value {
            OptionValue::Word(w) => w.to_ascii_uppercase(),
            _ => String::new(),
        };
        let on = || value.as_on_off().ok_or_else(invalid);
        let o = &mut self.options;
        match name {
            "MAX_MEMORY" => {
                let kb = kilobytes(value).ok_or_else(invalid)?;
                if !(200..=MAX_MEMORY_LIMIT).contains(&kb) {
                    return Err(invalid());
                }
                o.max_memory_kb = kb;
            }
            "MAX_EVENT_SIZE" => {
                let kb = kilobytes(value).ok_or_else(invalid)?;
                if kb != 0 && kb < 64 {
                    return Err(invalid());
                }
                o.max_event_kb = kb;
            }
            "EVENT_RETENTION_MODE" => match word.as_str() {
                "ALLOW_SINGLE_EVENT_LOSS" => o.retention = Retention::OneEvent,
                "ALLOW_MULTIPLE_EVENT_LOSS" => o.retention = Retention::OneBuffer,
                "NO_EVENT_LOSS" => o.retention = Retention::Nothing,
                _ => return Err(invalid()),
            },
            "MAX_DISPATCH_LATENCY" => {
                o.dispatch_latency_seconds = match value {
                    OptionValue::Int(n) if *n >= 0 => *n,
                    OptionValue::Word(_) if word == "INFINITE" => 0,
                    _ => return Err(invalid()),
                }
            }
            "MEMORY_PARTITION_MODE" => match word.as_str() {
                "NONE" => o.per_node = false,
                "PER_NODE" => o.per_node = true,
                "PER_CPU" => return Err(unsupported(&word)),
                _ => return Err(invalid()),
            },
            "TRACK_CAUSALITY" => o.track_causality = on()?,
            "STARTUP_STATE" => o.startup = on()?,
            "MAX_DURATION" => {
                if word != "UNLIMITED" {
                    return Err(unsupported("a time"));
                }
            }
            _ => return Err(SqlError::new(&messages::SYNTAX_NEAR, &[&name])),
        }
        Ok(())
    }

    pub fn add_event(&mut self, spec: &EventSpec) -> SqlResult<()> {
        let (package, name) = split(&spec.name);
        let id = package
            .and_then(|p| objects::event(Some(p), name))
            .ok_or_else(|| unknown("event", &spec.name))?;
        if self.events.iter().any(|e| e.id == id) {
            let args: [&dyn std::fmt::Display; 2] = [&"event", &spec.name.display()];
            return Err(SqlError::new(&messages::EVENT_OBJECT_IN_SESSION, &args));
        }
        let mut collect: Vec<(&'static str, bool)> = Vec::new();
        for f in &spec.fields {
            let args: [&dyn std::fmt::Display; 3] = [&"event", &spec.name.display(), &f.name];
            let known = objects::customizable(id)
                .iter()
                .find(|c| c.name.eq_ignore_ascii_case(&f.name));
            let known =
                known.ok_or_else(|| SqlError::new(&messages::EVENT_ATTRIBUTE_MISSING, &args))?;
            if collect.iter().any(|(n, _)| *n == known.name) {
                return Err(SqlError::new(&messages::EVENT_ATTRIBUTE_TWICE, &args));
            }
            let Some(OptionValue::Int(n @ (0 | 1))) = f.value else {
                let args: [&dyn std::fmt::Display; 4] =
                    [&"event", &spec.name.display(), &f.name, &"boolean"];
                return Err(SqlError::new(&messages::EVENT_ATTRIBUTE_TYPE, &args));
            };
            collect.push((known.name, n == 1));
        }
        let mut actions = Vec::new();
        for a in &spec.actions {
            let (package, name) = split(a);
            let found = package.and_then(|p| objects::action(Some(p), name));
            let found = found.ok_or_else(|| unknown("action", a))?;
            if actions.contains(&found) {
                let args: [&dyn std::fmt::Display; 2] = [&"action", &a.display()];
                return Err(SqlError::new(&messages::EVENT_OBJECT_TWICE, &args));
            }
            actions.push(found);
        }
        if spec.predicate_text.chars().count() > PREDICATE_LIMIT {
            let args: [&dyn std::fmt::Display; 2] = [&spec.name.display(), &PREDICATE_LIMIT];
            return Err(SqlError::new(&messages::EVENT_PREDICATE_TOO_LONG, &args));
        }
        if let Some(p) = &spec.predicate {
            Predicate::bind(id, p)?;
        }
        self.events.push(EventDef {
            id,
            collect,
            actions,
            predicate: spec.predicate.clone(),
            predicate_text: spec.predicate_text.clone(),
        });
        Ok(())
    }

    pub fn drop_event(&mut self, name: &ObjectName) -> SqlResult<()> {
        let (package, short) = split(name);
        let id = package.and_then(|p| objects::event(Some(p), short));
        let id = id.ok_or_else(|| unknown("event", name))?;
        let before = self.events.len();
        self.events.retain(|e| e.id != id);
        match self.events.len() < before {
            true => Ok(()),
            false => {
                let args: [&dyn std::fmt::Display; 2] = [&"event", &name.display()];
                Err(SqlError::new(&messages::EVENT_OBJECT_NOT_IN_SESSION, &args))
            }
        }
    }

    pub fn add_target(&mut self, target: &EventTarget) -> SqlResult<()> {
        let shown = target.name.display();
        let (package, name) = split(&target.name);
        let kind = package
            .and_then(|p| objects::target(Some(p), name))
            .ok_or_else(|| unknown("target", &target.name))?;
        if self.targets.iter().any(|t| t.kind == kind) {
            let args: [&dyn std::fmt::Display; 2] = [&"target", &shown];
            return Err(SqlError::new(&messages::EVENT_OBJECT_IN_SESSION, &args));
        }
        let mut settings: Vec<(&'static str, Setting)> = Vec::new();
        for f in &target.fields {
            let args: [&dyn std::fmt::Display; 3] = [&"target", &shown, &f.name];
            if ["increment", "metadatafile", "lazy_create_blob"]
                .iter()
                .any(|n| n.eq_ignore_ascii_case(&f.name))
            {
                let what = format!("SET {} of the target {shown}", f.name);
                return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
            }
            let known = kind
                .parameters()
                .iter()
                .find(|p| p.name.eq_ignore_ascii_case(&f.name));
            let known =
                known.ok_or_else(|| SqlError::new(&messages::EVENT_ATTRIBUTE_MISSING, &args))?;
            if settings.iter().any(|(n, _)| *n == known.name) {
                return Err(SqlError::new(&messages::EVENT_ATTRIBUTE_TWICE, &args));
            }
            let text = known.ty.starts_with("unicode");
            let setting = match &f.value {
                Some(OptionValue::String(s)) if text => Setting::Text(s.value.clone()),
                Some(OptionValue::Int(n)) if !text && *n >= 0 => Setting::Number(*n),
                // A file size may have a unit; without one it is in MB.
                Some(OptionValue::Size(s)) if known.name == "max_file_size" => {
                    let bytes = s.bytes().filter(|b| *b >= 1 << 20);
                    Setting::Number((bytes.ok_or_else(|| invalid_option(known.name))? >> 20) as i64)
                }
                _ => {
                    let args: [&dyn std::fmt::Display; 4] = [&"target", &shown, &f.name, &known.ty];
                    return Err(SqlError::new(&messages::EVENT_ATTRIBUTE_TYPE, &args));
                }
            };
            let of_memory = known.name == "respond_to_memory_pressure";
            if (of_memory || known.name == "occurrence_number") && setting != Setting::Number(0) {
                let what = format!("SET {} of the target {shown}", f.name);
                return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
            }
            settings.push((known.name, setting));
        }
        let missing = |p: &&objects::Parameter| {
            p.required
                && !settings
                    .iter()
                    .any(|(n, s)| *n == p.name && *s != Setting::Text(String::new()))
        };
        if kind.parameters().iter().any(|p| missing(&p)) {
            let args: [&dyn std::fmt::Display; 2] = [&"target", &shown];
            return Err(SqlError::new(&messages::EVENT_ATTRIBUTES_REQUIRED, &args));
        }
        let target = TargetDef { kind, settings };
        target.check(&shown)?;
        self.targets.push(target);
        Ok(())
    }

    pub fn drop_target(&mut self, name: &ObjectName) -> SqlResult<()> {
        let (package, short) = split(name);
        let kind = package.and_then(|p| objects::target(Some(p), short));
        let kind = kind.ok_or_else(|| unknown("target", name))?;
        let before = self.targets.len();
        self.targets.retain(|t| t.kind != kind);
        match self.targets.len() < before {
            true => Ok(()),
            false => {
                let args: [&dyn std::fmt::Display; 2] = [&"target", &name.display()];
                Err(SqlError::new(&messages::EVENT_OBJECT_NOT_IN_SESSION, &args))
            }
        }
    }

    /// The statement that makes it.
    pub fn statement(&self) -> String {
        let mut out = format!("CREATE EVENT SESSION {} ON SERVER ", bracketed(&self.name));
        let mut parts: Vec<String> = self.events.iter().map(EventDef::clause).collect();
        parts.extend(self.targets.iter().map(TargetDef::clause));
        out += &parts.join(", ");
        let o = &self.options;
        let on_off = |b| if b { "ON" } else { "OFF" };
        let _ = write!(
            out,
            " WITH (MAX_MEMORY={} KB,EVENT_RETENTION_MODE={},MAX_DISPATCH_LATENCY={} SECONDS,MAX_EVENT_SIZE={} KB,MEMORY_PARTITION_MODE={},TRACK_CAUSALITY={},STARTUP_STATE={})",
            o.max_memory_kb,
            o.retention.word(),
            o.dispatch_latency_seconds,
            o.max_event_kb,
            if o.per_node { "PER_NODE" } else { "NONE" },
            on_off(o.track_causality),
            on_off(o.startup)
        );
        out
    }
}

impl Retention {
    pub fn word(self) -> &'static str {
        match self {
            Retention::OneEvent => "ALLOW_SINGLE_EVENT_LOSS",
            Retention::OneBuffer => "ALLOW_MULTIPLE_EVENT_LOSS",
            Retention::Nothing => "NO_EVENT_LOSS",
        }
    }
}

fn kilobytes(value: &OptionValue) -> Option<i64> {
    match value {
        OptionValue::Int(n) => Some(*n),
        OptionValue::Size(s) if matches!(s.unit, SizeUnit::KB | SizeUnit::MB | SizeUnit::GB) => {
            i64::try_from(s.bytes()? >> 10).ok()
        }
        _ => None,
    }
}

impl EventDef {
    /// Whether a field that stands behind an attribute is wanted.
    pub fn wants(&self, field: &str) -> bool {
        let Some(c) = objects::customizable(self.id)
            .iter()
            .find(|c| c.field == field)
        else {
            return true;
        };
        let set = self.collect.iter().find(|(n, _)| *n == c.name);
        set.map_or(c.default, |(_, on)| *on)
    }

    fn clause(&self) -> String {
        let mut out = format!("ADD EVENT {}.{}", self.id.package(), self.id.name());
        let mut inside = Vec::new();
        if !self.collect.is_empty() {
            let set = self
                .collect
                .iter()
                .map(|(n, on)| format!("{n}=({})", u8::from(*on)));
            inside.push(format!("SET {}", set.collect::<Vec<_>>().join(",")));
        }
        if !self.actions.is_empty() {
            let names = self
                .actions
                .iter()
                .map(|a| format!("{}.{}", a.package(), a.name()));
            inside.push(format!("ACTION({})", names.collect::<Vec<_>>().join(",")));
        }
        if self.predicate.is_some() {
            inside.push(format!("WHERE {}", self.predicate_text));
        }
        if !inside.is_empty() {
            let _ = write!(out, "({})", inside.join(" "));
        }
        out
    }
}

impl TargetDef {
    fn check(&self, shown: &str) -> SqlResult<()> {
        let refuse = |parameter: &str, why: &str| {
            let args: [&dyn std::fmt::Display; 4] = [&"target", &shown, &parameter, &why];
            Err(SqlError::new(&messages::EVENT_PARAMETER_INVALID, &args))
        };
        match self.kind {
            TargetKind::Histogram => {
                let source = self.text("source");
                let found = match self.number("source_type") {
                    // A field: of the event that filters, or of any.
                    0 => EventId::ALL.iter().any(|e| {
                        e.fields().iter().any(|f| f.eq_ignore_ascii_case(&source))
                            || objects::joined(*e)
                                .iter()
                                .any(|j| j.name().eq_ignore_ascii_case(&source))
                    }),
                    1 => super::targets::action_named(&source).is_some(),
                    _ => return refuse("source_type", "It is 0 for a field and 1 for an action."),
                };
                match found {
                    true => Ok(()),
                    false => refuse("source", "There is no such field or action."),
                }
            }
            TargetKind::PairMatching => match super::pairing::wrong(self) {
                None => Ok(()),
                Some((parameter, why)) => refuse(parameter, why),
            },
            TargetKind::EventFile if self.number("max_file_size") == 0 => {
                refuse("max_file_size", "A file must have room for an event.")
            }
            _ => Ok(()),
        }
    }

    fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, s)| s)
    }

    /// A setting's number, or its default.
    pub fn number(&self, name: &str) -> i64 {
        match self.setting(name) {
            Some(Setting::Number(n)) => *n,
            _ => {
                let parameter = self.kind.parameters().iter().find(|p| p.name == name);
                parameter.and_then(|p| p.default.parse().ok()).unwrap_or(0)
            }
        }
    }

    /// A setting's text; empty without one.
    pub fn text(&self, name: &str) -> String {
        match self.setting(name) {
            Some(Setting::Text(t)) => t.clone(),
            _ => String::new(),
        }
    }

    fn clause(&self) -> String {
        let mut out = format!("ADD TARGET package0.{}", self.kind.name());
        if !self.settings.is_empty() {
            let set = self.settings.iter().map(|(n, s)| match s {
                Setting::Number(v) => format!("{n}=({v})"),
                Setting::Text(t) => format!("{n}=N'{}'", t.replace('\'', "''")),
            });
            let _ = write!(out, "(SET {})", set.collect::<Vec<_>>().join(","));
        }
        out
    }
}
