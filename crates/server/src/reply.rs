//! A reply: the session's results as tokens, cut into packets, through the gate.
//!
//! The last DONE of a message must be the only one without MORE, and nobody knows that it is the last until the
//! request ends: so one DONE is always kept back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink, Scope};
use duramen_tds::dialect::Dialect;
use duramen_tds::packet::{PacketType, PacketWriter};
use duramen_tds::token;
use duramen_tds::token::{
    Column, DoneKind, DoneToken, Env, FLAG_EXPRESSION, FLAG_IDENTITY, FLAG_NULLABLE,
    FLAG_UPDATABLE, MAX_COLUMNS, put_return_status, status,
};
use duramen_tds::typeinfo::Place;
use duramen_tds::value::{InPieces, put_value};
use duramen_types::{MAX_LENGTH, Spooled, SqlType, TypeId, Value};

use crate::backend::{Help, Outlet, ProcedureOutcome, Submission};
use crate::connection::Connection;

/// A worker with so much of its reply in the gate waits until the gate has let it go.
const HELD_BYTES_MAX: usize = 1 << 20;

/// Of a value that is not in memory so much is sent at once.
const PIECE_BYTES: usize = 64 << 10;

/// The curcmd of EXECUTE.
const COMMAND_EXECUTE: u16 = 0xE0;

/// How a reply has ended.
pub struct Ending {
    /// The connection may go on.
    pub go_on: bool,
    /// To be called when the connection has been let go of.
    pub help: Option<Help>,
}

pub struct Reply<'a> {
    connection: &'a Arc<Connection>,
    outlet: Arc<dyn Outlet>,
    packets: PacketWriter,
    server: String,
    types: Vec<SqlType>,
    /// Among them are some whose values may not be in memory.
    may_be_large: bool,
    /// The types of the values, where the client is sent others.
    given: Option<Vec<SqlType>>,
    dialect: Dialect,
    /// The last DONE, kept back.
    kept: Option<DoneToken>,
    /// A remote call runs: its DONEPROC tells its end.
    in_call: bool,
    /// A result set has been begun since the last DONE.
    rows_open: bool,
    /// An ERROR has been written since the last DONE.
    error_open: bool,
    /// An ERROR has been written at all since this part of the message began.
    failed: bool,
    /// Bytes that the gate has kept since this worker last waited for it.
    held_bytes: usize,
    /// The connection ends after this reply.
    fatal: bool,
    /// Nothing more reaches the client.
    ended: bool,
}

/// RETURNVALUE has no text pointers: text, ntext and image come back as the types that have followed them.
fn of_output(ty: &SqlType) -> SqlType {
    match ty.id {
        TypeId::Text => SqlType::varchar(MAX_LENGTH).with_collation(ty.collation),
        TypeId::NText => SqlType::nvarchar(MAX_LENGTH).with_collation(ty.collation),
        TypeId::Image => SqlType::varbinary(MAX_LENGTH),
        _ => *ty,
    }
}

impl<'a> Reply<'a> {
    pub fn new(connection: &'a Arc<Connection>, outlet: Arc<dyn Outlet>, spid: u16) -> Reply<'a> {
        let bytes = connection.packet_bytes.load(Ordering::Acquire);
        Reply {
            connection,
            outlet,
            packets: PacketWriter::new(PacketType::Reply, bytes, spid),
            server: connection.shared.backend.server_name(),
            types: Vec::new(),
            may_be_large: false,
            given: None,
            dialect: connection.dialect(),
            kept: None,
            in_call: false,
            rows_open: false,
            error_open: false,
            failed: false,
            held_bytes: 0,
            fatal: false,
            ended: false,
        }
    }

    /// What follows belongs to one call of several.
    pub fn enter_procedure(&mut self) {
        self.failed = false;
        self.in_call = true;
    }

    /// RETURNSTATUS, RETURNVALUEs and the DONEPROC of a call.
    pub fn leave_procedure(&mut self, outcome: &ProcedureOutcome, names: &[String]) {
        self.release_kept();
        if let Some(code) = outcome.status {
            put_return_status(self.packets.body(), code);
        }
        for (index, ty, value) in &outcome.outputs {
            let name = names.get(*index).map_or("", String::as_str);
            let body = self.packets.body();
            let ty = &of_output(ty);
            let shown = self.dialect.shown_type(ty);
            let value = self.dialect.shown_value(ty, value);
            let put = self
                .dialect
                .put_return_value(body, *index as u16, name, &shown, &value);
            if let Err(error) = put {
                self.defect(&error.to_string());
            }
        }
        let failed = if self.failed { status::ERROR } else { 0 };
        self.kept = Some(DoneToken {
            kind: DoneKind::Proc,
            status: failed,
            command: COMMAND_EXECUTE,
            rows: 0,
        });
        self.error_open = false;
        self.rows_open = false;
        self.in_call = false;
    }

    /// Marks the kept DONEPROC as one of several calls in a message.
    pub fn in_rpc_batch(&mut self) {
        if let Some(done) = &mut self.kept {
            done.status |= status::RPC_IN_BATCH;
        }
    }

    /// The request was cut short: its reply ends with an error, if nothing else has said so.
    pub fn cancelled_request(&mut self) {
        if self.kept.is_none() {
            self.error_open = true;
        }
    }

    pub fn reset_acknowledged(&mut self) {
        self.dialect.put_env(self.packets.body(), &Env::Reset);
    }

    /// The client has been told that its connection ends.
    pub fn is_fatal(&self) -> bool {
        self.fatal
    }

    /// Writes the last DONE and leaves everything to be sent: by [`crate::outbound::Outbound::flush`] and by the help that is returned, both
    /// when the connection has been let go of, so that the next request finds it free as soon as the client has this
    /// reply.
    pub fn finish(mut self) -> Ending {
        let mut last = self.kept.take().unwrap_or(DoneToken {
            kind: DoneKind::Done,
            status: 0,
            command: 0,
            rows: 0,
        });
        if self.error_open {
            // An error after the last statement, or of a batch in which nothing ran.
            last.status |= status::ERROR;
        }
        if self.fatal {
            last.status |= status::SERVER_ERROR;
        }
        last.status &= !status::MORE;
        if last.kind == DoneKind::InProc {
            last.kind = DoneKind::Done;
        }
        self.dialect.put_done(self.packets.body(), &last);
        self.push_full();
        let mut help = None;
        if !self.ended {
            let spare = PacketWriter::new(PacketType::Reply, 512, 0);
            let packets = std::mem::replace(&mut self.packets, spare);
            let mut bytes = Vec::new();
            packets.finish(&mut bytes);
            let (submission, then) = self.outlet.submit_last(bytes);
            help = then;
            match submission {
                Submission::Send(packet) => match self.connection.out.leave(packet) {
                    Ok(open) => self.ended |= !open,
                    Err(packet) => self.submitted(0, Submission::Send(packet)),
                },
                other => self.submitted(0, other),
            }
            if self.ended {
                self.connection.cancel.set();
            }
        }
        self.outlet.request_done();
        Ending {
            go_on: !self.fatal && !self.ended,
            help,
        }
    }

    fn release_kept(&mut self) {
        if let Some(mut done) = self.kept.take() {
            done.status |= status::MORE;
            self.dialect.put_done(self.packets.body(), &done);
        }
    }

    fn push_full(&mut self) {
        while self.packets.has_full() && !self.ended {
            let mut packet = Vec::new();
            if !self.packets.take_full(&mut packet) {
                return;
            }
            self.submit(packet);
        }
        if self.ended {
            // Nobody reads this any more.
            self.packets.body().clear();
            self.packets = PacketWriter::new(PacketType::Reply, 512, 0);
        }
    }

    /// A row of which some values are not in memory: they leave piece by piece.
    fn row_in_pieces(&mut self, values: &[Value]) {
        self.packets.body().push(token::ROW);
        for (at, value) in values.iter().enumerate() {
            let Some(ty) = self.types.get(at).copied() else {
                return self.defect("a row with more values than columns");
            };
            let Value::Spooled(s) = value else {
                let given = self.given.as_ref().and_then(|given| given.get(at));
                let shown = given.map(|given| self.dialect.shown_value(given, value));
                let value = shown.as_deref().unwrap_or(value);
                if let Err(e) = put_value(self.packets.body(), &ty, value, Place::Column) {
                    return self.defect(&e.to_string());
                }
                continue;
            };
            if self.value_in_pieces(s, &ty).is_err() {
                // There is no way to say so in the middle of a value.
                self.connection.lose();
                self.ended = true;
                self.connection.cancel.set();
                return;
            }
        }
        self.push_full();
    }

    /// An error when the client cannot be given all of a value.
    fn value_in_pieces(&mut self, s: &Spooled, ty: &SqlType) -> SqlResult<()> {
        let begun = InPieces::begin(self.packets.body(), ty, s.len() as u64);
        let pieces = begun.map_err(|_| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]))?;
        let mut window = vec![0; PIECE_BYTES];
        let mut at = 0;
        while at < s.len() && !self.ended {
            if pieces.may_end() && self.connection.cancel.is_set() {
                break;
            }
            let n = window.len().min(s.len() - at);
            s.read(at, &mut window[..n])?;
            pieces.put(self.packets.body(), &window[..n]);
            self.push_full();
            at += n;
        }
        pieces.end(self.packets.body());
        Ok(())
    }

    /// What the gate holds of a reply is bounded: a worker that runs far ahead of the log waits for it.
    fn wait_for_the_gate(&mut self, bytes: usize) {
        self.held_bytes += bytes;
        if self.held_bytes < HELD_BYTES_MAX {
            return;
        }
        let connection = self.connection;
        while connection.shared.backend.is_holding(connection.id) {
            if connection.cancel.is_set() || !connection.out.wait_a_moment() {
                break;
            }
        }
        self.held_bytes = 0;
    }

    fn submit(&mut self, packet: Vec<u8>) {
        let bytes = packet.len();
        let submission = self.outlet.submit(packet);
        self.submitted(bytes, submission);
    }

    fn submitted(&mut self, bytes: usize, submission: Submission) {
        match submission {
            Submission::Send(packet) => {
                if !self.connection.out.send(&packet) {
                    self.ended = true;
                }
            }
            Submission::Held => self.wait_for_the_gate(bytes),
            Submission::Ended => {
                self.connection.lose();
                self.ended = true;
            }
        }
        if self.ended {
            self.connection.cancel.set();
        }
    }

    /// A value or column list the wire cannot carry: a defect of ours, said as an internal error.
    fn defect(&mut self, what: &str) {
        let error = SqlError {
            number: 3624,
            severity: 20,
            state: 1,
            ..SqlError::print(format!("A system assertion check has failed: {what}."))
        };
        self.error(&error);
        self.connection.cancel.set();
    }
}

impl ResultSink for Reply<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.release_kept();
        if columns.len() > MAX_COLUMNS {
            return self.defect("too many columns");
        }
        self.rows_open = true;
        let given: Vec<SqlType> = columns.iter().map(|column| column.ty).collect();
        let shown = given.iter().map(|ty| self.dialect.shown_type(ty));
        self.types = shown.collect();
        self.may_be_large = given.iter().any(SqlType::is_max);
        let variants = given.iter().any(|ty| ty.id == TypeId::SqlVariant);
        let older = self.dialect < Dialect::V73A;
        self.given = (self.types != given || variants && older).then_some(given);
        let columns: Vec<Column> = columns
            .iter()
            .map(|column| {
                let mut flags = 0;
                if column.nullable {
                    flags |= FLAG_NULLABLE;
                }
                if column.identity {
                    flags |= FLAG_IDENTITY;
                }
                if column.updatable {
                    flags |= FLAG_UPDATABLE;
                } else if !column.identity {
                    flags |= FLAG_EXPRESSION;
                }
                Column {
                    name: column.name.clone(),
                    ty: self.dialect.shown_type(&column.ty),
                    flags,
                }
            })
            .collect();
        self.dialect.put_columns(self.packets.body(), &columns);
        self.push_full();
    }

    fn row(&mut self, values: &[Value]) {
        if self.fatal || self.ended {
            return;
        }
        if self.may_be_large && values.iter().any(|v| matches!(v, Value::Spooled(_))) {
            return self.row_in_pieces(values);
        }
        let body = self.packets.body();
        let put = match &self.given {
            None => self.dialect.put_row(body, &self.types, values),
            // Of types that the client does not know.
            Some(given) => {
                let shown = |(ty, v)| self.dialect.shown_value(ty, v).into_owned();
                let values: Vec<Value> = given.iter().zip(values).map(shown).collect();
                self.dialect.put_row(body, &self.types, &values)
            }
        };
        if let Err(error) = put {
            return self.defect(&error.to_string());
        }
        if self.packets.has_full() {
            self.push_full();
        }
    }

    fn done(&mut self, done: &Done) {
        let rows_open = std::mem::take(&mut self.rows_open);
        if done.scope == Scope::Inside && done.quiet && !rows_open && !done.error {
            return;
        }
        if self.in_call && done.scope != Scope::Inside {
            // An error of the call itself.
            return;
        }
        self.release_kept();
        let kind = match done.scope {
            Scope::Batch => DoneKind::Done,
            Scope::Inside => DoneKind::InProc,
            Scope::Call(status) => {
                if let Some(code) = status {
                    put_return_status(self.packets.body(), code);
                }
                DoneKind::Proc
            }
        };
        let mut bits = 0;
        if done.rows.is_some() {
            bits |= status::COUNT;
        }
        if done.error {
            bits |= status::ERROR;
        }
        self.error_open = false;
        self.kept = Some(DoneToken {
            kind,
            status: bits,
            command: done.command,
            rows: done.rows.unwrap_or(0),
        });
        self.push_full();
    }

    fn error(&mut self, error: &SqlError) {
        if error.severity <= 10 {
            return self.info(error);
        }
        self.release_kept();
        self.dialect
            .put_message(self.packets.body(), error, &self.server);
        self.error_open = true;
        self.failed = true;
        self.fatal |= error.ends_connection();
        self.push_full();
    }

    fn info(&mut self, message: &SqlError) {
        self.release_kept();
        // Severity 10 is information too, and goes out as class 0.
        let mut message = message.clone();
        if message.severity == 10 {
            message.severity = 0;
        }
        self.dialect
            .put_message(self.packets.body(), &message, &self.server);
        self.push_full();
    }

    fn env_change(&mut self, change: &EnvChange) {
        self.release_kept();
        let env = match change {
            EnvChange::Database { old, new } => Env::Database {
                new: new.clone(),
                old: old.clone(),
            },
            EnvChange::Language { old, new } => Env::Language {
                new: new.clone(),
                old: old.clone(),
            },
            EnvChange::BeginTran { descriptor } => Env::BeginTransaction(*descriptor),
            EnvChange::CommitTran { descriptor } => Env::CommitTransaction(*descriptor),
            EnvChange::RollbackTran { descriptor } => Env::RollbackTransaction(*descriptor),
        };
        self.dialect.put_env(self.packets.body(), &env);
        self.push_full();
    }

    fn flush_hint(&mut self) {
        self.outlet.before_block();
        // The kept DONE stays: whether it is the last is not known yet.
        let mut packet = Vec::new();
        if !self.ended && self.packets.take_partial(&mut packet) {
            self.submit(packet);
        }
    }

    fn cancelled(&self) -> bool {
        self.connection.cancel.is_set()
    }
}
