//! Requests on a worker: decode, run, reply; attention; what comes after.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{SqlError, messages};
use duramen_observe::{Counter, count};
use duramen_program::sink::{EnvChange, ResultSink};
use duramen_session::{Begin, TransactionRequest};
use duramen_tds::TdsError;
use duramen_tds::packet::{PacketType, to_packets};
use duramen_tds::request::{Batch, TransactionRequest as Asked};
use duramen_tds::rpc::{self, MAX_PARAMETERS};
use duramen_tds::token::{DoneKind, DoneToken, status};
use duramen_tds::value::MAX_VALUE_BYTES;
use duramen_txn::IsolationLevel;

use crate::backend::{BackendSession, Submission};
use crate::connection::Connection;
use crate::incoming::Incoming;
use crate::reply::{Ending, Reply};
use crate::{bulk, long, procedures};

/// Closes the connection when its request panics; a request that ends calls `disarm`.
pub struct CloseOnPanic<'a>(pub &'a Arc<Connection>);

impl CloseOnPanic<'_> {
    fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        // The session, taken by the request, has been dropped on the way.
        self.0.state.lock().running = false;
        self.0.out.close();
    }
}

/// Runs a request, and what the client sent ahead.
pub fn run(connection: &Arc<Connection>, asked: Incoming) {
    let guard = CloseOnPanic(connection);
    let mut next = Some(asked);
    while let Some(mut asked) = next.take() {
        let Ending { go_on, help } = one(connection, &mut asked);
        // Large requests give their memory back before the wait for the next.
        drop(asked);
        next = finish(connection, go_on);
        if let Some(help) = help {
            connection.pool.expect_long();
            help();
        }
    }
    guard.disarm();
}

/// After a login, good or bad.
pub fn finish_login(connection: &Arc<Connection>, guard: CloseOnPanic<'_>) {
    guard.disarm();
    if let Some(asked) = finish(connection, true) {
        run(connection, asked);
    }
}

/// Gives the connection back to who reads it, or the next request to this worker; then sends what is left of the reply.
fn finish(connection: &Arc<Connection>, go_on: bool) -> Option<Incoming> {
    let mut state = connection.state.lock();
    if !go_on {
        connection.closing.store(true, Ordering::Release);
    }
    let closing = connection.closing.load(Ordering::Acquire);
    let attentions = std::mem::take(&mut state.attentions);
    if attentions > 0 {
        // What was sent before the attention is not run any more.
        state.queued = None;
        for _ in 0..attentions {
            acknowledge(connection);
        }
    }
    if state.gone {
        state.running = false;
        drop(state);
        connection.drop_session();
        return None;
    }
    let next = match closing {
        false => state.queued.take(),
        true => None,
    };
    // Before the last byte leaves: the next request may be here before this worker goes on.
    state.running = next.is_some();
    let left_alone = state.queued.is_none() && std::mem::take(&mut state.left_alone);
    if next.is_some() {
        connection.cancel.clear();
    }
    drop(state);
    connection.out.flush();
    if next.is_some() {
        if left_alone {
            connection.look_again();
        }
        return next;
    }
    if left_alone || closing || connection.out.is_closed() {
        connection.look_again();
    }
    None
}

/// An attention from the client, at a look.
pub fn attention(connection: &Arc<Connection>) {
    count(Counter::SqlAttentions, 1);
    let mut state = connection.state.lock();
    if state.running {
        // The request ends its own reply first; the acknowledgement is a message of its own.
        state.attentions = state.attentions.saturating_add(1);
        connection.cancel.set();
        drop(state);
        connection.hurry();
        connection.wake();
    } else {
        acknowledge(connection);
    }
}

/// The message that answers an attention; under the lock of `state`, so it must not block.
fn acknowledge(connection: &Arc<Connection>) {
    let session = connection.session.lock();
    let Some(session) = session.as_ref() else {
        return;
    };
    let mut body = Vec::new();
    connection.dialect().put_done(
        &mut body,
        &DoneToken {
            kind: DoneKind::Done,
            status: status::ATTENTION,
            command: 0,
            rows: 0,
        },
    );
    let bytes = connection.packet_bytes.load(Ordering::Acquire);
    let packet = to_packets(PacketType::Reply, &body, bytes, session.spid(), 0);
    match session.outlet().submit(packet) {
        Submission::Send(packet) => connection.out.post(&packet, true),
        Submission::Held => {}
        Submission::Ended => connection.lose(),
    }
}

/// One request.
fn one(connection: &Arc<Connection>, asked: &mut Incoming) -> Ending {
    let Some(mut session) = connection.session.lock().take() else {
        return Ending {
            go_on: false,
            help: None,
        };
    };
    let _attached = session.attach();
    debug_assert!(
        duramen_os::sync::held().is_empty(),
        "server/3: a request runs under locks: {:?}",
        duramen_os::sync::held()
    );
    let mut reply = Reply::new(connection, session.outlet(), session.spid());
    let readable = answer(connection, session.as_mut(), asked, &mut reply);
    if let Err(error) = &readable
        && !reply.is_fatal()
    {
        reply.error(&protocol_error(error));
    }
    if connection.cancel.is_set() {
        reply.cancelled_request();
    }
    let mut ending = reply.finish();
    *connection.session.lock() = Some(session);
    ending.go_on &= !matches!(
        readable,
        Err(TdsError::Malformed(_) | TdsError::Truncated | TdsError::Invalid(_))
    );
    ending
}

/// What a client hears of bytes that cannot be read.
pub fn protocol_error(error: &TdsError) -> SqlError {
    match error {
        TdsError::Unsupported(what) => SqlError::new(&messages::NOT_SUPPORTED, &[what]),
        TdsError::TooLarge(what) => SqlError::new(&messages::NOT_SUPPORTED, &[what]),
        TdsError::TooManyParameters => {
            SqlError::new(&messages::REQUEST_TOO_MANY_PARAMETERS, &[&MAX_PARAMETERS])
        }
        TdsError::TooLong => SqlError::new(&messages::LOB_TOO_LARGE, &[&MAX_VALUE_BYTES]),
        TdsError::Truncated | TdsError::Malformed(_) | TdsError::Invalid(_) => stream_error(error),
    }
}

/// 4002: the stream cannot be trusted any further.
pub fn stream_error(error: &TdsError) -> SqlError {
    SqlError {
        number: 4002,
        severity: 20,
        state: 1,
        ..SqlError::print(format!(
            "The incoming tabular data stream (TDS) protocol stream is incorrect ({error}). The stream ended unexpectedly or is malformed."
        ))
    }
}

fn answer(
    connection: &Arc<Connection>,
    session: &mut dyn BackendSession,
    asked: &mut Incoming,
    reply: &mut Reply<'_>,
) -> Result<(), TdsError> {
    let message = &mut asked.message;
    if message.ignore {
        // The client gave up while sending: an answer is due, nothing runs.
        return Ok(());
    }
    if message.too_large {
        let none = || SqlError::new(&messages::OUT_OF_MEMORY, &[&"default"]).with_state(123);
        reply.error(&asked.refused.take().unwrap_or_else(none));
        return Ok(());
    }
    if message.reset || message.reset_keep_transaction {
        count(Counter::ConnectionResets, 1);
        let old = session.database();
        let rolled_back = session.reset(message.reset_keep_transaction);
        connection.prepared.lock().clear();
        reply.reset_acknowledged();
        if let Some(descriptor) = rolled_back {
            reply.env_change(&EnvChange::RollbackTran { descriptor });
        }
        let new = session.database();
        if old != new {
            reply.env_change(&EnvChange::Database { old, new });
        }
    }
    if matches!(message.kind, PacketType::SqlBatch | PacketType::Rpc) {
        count(Counter::BatchRequests, 1);
    }
    match message.kind {
        PacketType::SqlBatch => {
            let body = std::mem::take(&mut message.body);
            let text = Batch::text_as(connection.dialect(), &body)?;
            drop(body);
            if !text.trim().is_empty() {
                session.execute_batch(&text, reply, &connection.cancel);
            }
        }
        PacketType::Rpc => {
            // Its values are what is needed from here on.
            let (dialect, body) = (connection.dialect(), std::mem::take(&mut message.body));
            let calls = match asked.spool.take() {
                None => rpc::parse_as(dialect, &body)?.1,
                Some(spool) => {
                    let broker = connection.shared.backend.memory();
                    match long::calls(dialect, spool, &body, broker) {
                        Ok(calls) => calls?,
                        Err(e) => {
                            reply.error(&e);
                            return Ok(());
                        }
                    }
                }
            };
            drop(body);
            procedures::run(connection, session, calls, reply);
        }
        PacketType::TransactionManager => {
            let (_, request) = Asked::parse(&message.body)?;
            match managed(request) {
                Some(request) => session.manage_transaction(&request, reply, &connection.cancel),
                None => reply.error(&SqlError::new(
                    &messages::NOT_SUPPORTED,
                    &[&"distributed transactions"],
                )),
            }
        }
        PacketType::BulkLoad => bulk::run(connection, session, reply)?,
        _ => reply.error(&SqlError::new(&messages::NOT_SUPPORTED, &[&"this request"])),
    }
    Ok(())
}

/// A transaction manager request as the session knows it; `None` for those of distributed transactions.
fn managed(request: Asked) -> Option<TransactionRequest> {
    let begin = |(isolation, name): (u8, String)| Begin {
        isolation: match isolation {
            1 => Some(IsolationLevel::ReadUncommitted),
            2 => Some(IsolationLevel::ReadCommitted),
            3 => Some(IsolationLevel::RepeatableRead),
            4 => Some(IsolationLevel::Serializable),
            5 => Some(IsolationLevel::Snapshot),
            _ => None,
        },
        name,
    };
    Some(match request {
        Asked::Begin { isolation, name } => TransactionRequest::Begin(begin((isolation, name))),
        Asked::Commit { begin: again, .. } => TransactionRequest::Commit(again.map(begin)),
        Asked::Rollback { name, begin: again } => {
            TransactionRequest::Rollback(name, again.map(begin))
        }
        Asked::Save { name } => TransactionRequest::Save(name),
        Asked::GetDtcAddress | Asked::Propagate | Asked::Promote => return None,
    })
}
