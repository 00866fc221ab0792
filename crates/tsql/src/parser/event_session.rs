//! CREATE, ALTER and DROP EVENT SESSION.

use duramen_base::SqlResult;

use super::Parser;
use crate::ast::*;

impl Parser<'_> {
    /// After `CREATE EVENT SESSION`.
    pub(super) fn create_event_session(&mut self) -> SqlResult<StatementKind> {
        let name = self.name()?;
        let on_server = self.event_scope()?;
        let (mut events, mut targets) = (Vec::new(), Vec::new());
        while self.is_word("ADD") {
            self.event_addition(&mut events, &mut targets)?;
            self.eat_op(',');
        }
        let options = self.with_event_options()?;
        let session = EventSession {
            name,
            on_server,
            events,
            targets,
            options,
        };
        Ok(StatementKind::CreateEventSession(Box::new(session)))
    }

    fn event_scope(&mut self) -> SqlResult<bool> {
        self.expect_word("ON")?;
        if self.eat_word("SERVER") {
            return Ok(true);
        }
        self.expect_word("DATABASE")?;
        Ok(false)
    }

    fn event_addition(
        &mut self,
        events: &mut Vec<EventSpec>,
        targets: &mut Vec<EventTarget>,
    ) -> SqlResult<()> {
        self.expect_word("ADD")?;
        if self.eat_word("EVENT") {
            events.push(self.event_spec()?);
            return Ok(());
        }
        self.expect_word("TARGET")?;
        let name = self.object_name()?;
        let mut fields = Vec::new();
        if self.eat_op('(') {
            fields = self.event_fields()?;
            self.expect_op(')')?;
        }
        targets.push(EventTarget { name, fields });
        Ok(())
    }

    fn event_fields(&mut self) -> SqlResult<Vec<NamedOption>> {
        self.expect_word("SET")?;
        self.list(|p| {
            let line = p.line();
            let name = p.name()?;
            p.expect_op('=')?;
            // Values may stand in parentheses.
            let value = match p.eat_op('(') {
                true => {
                    let value = p.option_value()?;
                    p.expect_op(')')?;
                    value
                }
                false => p.option_value()?,
            };
            Ok(NamedOption {
                name,
                value: Some(value),
                line,
            })
        })
    }

    fn event_spec(&mut self) -> SqlResult<EventSpec> {
        let name = self.object_name()?;
        let mut spec = EventSpec {
            name,
            fields: Vec::new(),
            actions: Vec::new(),
            predicate: None,
            predicate_text: String::new(),
        };
        if !self.eat_op('(') {
            return Ok(spec);
        }
        if self.is_word("SET") {
            spec.fields = self.event_fields()?;
        }
        if self.eat_word("ACTION") {
            spec.actions = self.parenthesized(Self::object_name)?;
        }
        if self.eat_word("WHERE") {
            let start = self.start();
            spec.predicate = Some(self.event_predicate()?);
            let span = self.span_from(start);
            spec.predicate_text = self.sql[span.start as usize..span.end as usize].to_owned();
        }
        self.expect_op(')')?;
        Ok(spec)
    }

    /// `WITH (MAX_MEMORY = 4 MB, MAX_DISPATCH_LATENCY = 30 SECONDS, ...)`.
    fn with_event_options(&mut self) -> SqlResult<Vec<NamedOption>> {
        if !self.eat_word("WITH") {
            return Ok(Vec::new());
        }
        self.parenthesized(|p| {
            let option = p.named_option()?;
            // A unit that is none of the option's own is an error.
            let units: &[&str] = match option.name.as_str() {
                "MAX_DURATION" => &["SECONDS", "MINUTES", "HOURS", "DAYS"],
                _ => &["SECONDS"],
            };
            let _ = units.iter().any(|u| p.eat_word(u));
            Ok(option)
        })
    }

    /// After `ALTER EVENT SESSION`.
    pub(super) fn alter_event_session(&mut self) -> SqlResult<StatementKind> {
        let name = self.name()?;
        let on_server = self.event_scope()?;
        let action = if self.eat_word("STATE") {
            self.expect_op('=')?;
            match self.eat_word("START") {
                true => AlterEventAction::Start,
                false => self.expect_word("STOP").map(|()| AlterEventAction::Stop)?,
            }
        } else {
            self.event_changes()?
        };
        let alter = AlterEventSession {
            name,
            on_server,
            action,
        };
        Ok(StatementKind::AlterEventSession(Box::new(alter)))
    }

    fn event_changes(&mut self) -> SqlResult<AlterEventAction> {
        let (mut add_events, mut add_targets) = (Vec::new(), Vec::new());
        let (mut drop_events, mut drop_targets) = (Vec::new(), Vec::new());
        while self.is_any(&["ADD", "DROP"]) {
            if self.is_word("ADD") {
                self.event_addition(&mut add_events, &mut add_targets)?;
            } else if self.eat_words(&["DROP", "EVENT"]) {
                drop_events.push(self.object_name()?);
            } else {
                self.expect_words(&["DROP", "TARGET"])?;
                drop_targets.push(self.object_name()?);
            }
            self.eat_op(',');
        }
        let options = self.with_event_options()?;
        Ok(AlterEventAction::Change {
            add_events,
            drop_events,
            add_targets,
            drop_targets,
            options,
        })
    }

    /// OR binds less than AND, AND less than NOT.
    fn event_predicate(&mut self) -> SqlResult<EventPredicate> {
        self.nested(|p| {
            let mut left = p.event_conjunction()?;
            while p.eat_word("OR") {
                p.grow(1)?;
                let right = p.event_conjunction()?;
                left = EventPredicate::Or(Box::new(left), Box::new(right));
            }
            Ok(left)
        })
    }

    fn event_conjunction(&mut self) -> SqlResult<EventPredicate> {
        let mut left = self.event_condition()?;
        while self.eat_word("AND") {
            self.grow(1)?;
            let right = self.event_condition()?;
            left = EventPredicate::And(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn event_condition(&mut self) -> SqlResult<EventPredicate> {
        if self.eat_word("NOT") {
            let inner = self.nested(Self::event_condition)?;
            return Ok(EventPredicate::Not(Box::new(inner)));
        }
        if self.eat_op('(') {
            let inner = self.event_predicate()?;
            self.expect_op(')')?;
            return Ok(inner);
        }
        let name = self.object_name()?;
        if self.eat_op('(') {
            let source = self.object_name()?;
            self.expect_op(',')?;
            let value = self.event_value()?;
            self.expect_op(')')?;
            let function = name;
            return Ok(EventPredicate::Call {
                function,
                source,
                value,
            });
        }
        // A short way to write this call.
        if self.eat_word("LIKE") {
            let value = self.event_value()?;
            let function = ["sqlserver", "like_i_sql_unicode_string"].map(str::to_owned);
            return Ok(EventPredicate::Call {
                function: ObjectName {
                    parts: function.to_vec(),
                    line: name.line,
                },
                source: name,
                value,
            });
        }
        let Some(op) = self.compare_op() else {
            return Err(self.unexpected());
        };
        let value = self.event_value()?;
        let source = name;
        Ok(EventPredicate::Compare { source, op, value })
    }

    /// A number or a string, perhaps in parentheses.
    fn event_value(&mut self) -> SqlResult<OptionValue> {
        if self.eat_op('(') {
            let value = self.nested(Self::event_value)?;
            self.expect_op(')')?;
            return Ok(value);
        }
        match self.option_value()? {
            value @ (OptionValue::Int(_) | OptionValue::Decimal(_) | OptionValue::String(_)) => {
                Ok(value)
            }
            _ => Err(self.unexpected()),
        }
    }
}
