//! The login, on a worker: what the engine says, as tokens.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use duramen_base::{SqlError, messages};
use duramen_tds::dialect::Dialect;
use duramen_tds::login::{FEATURE_FED_AUTH, FEATURE_UTF8, Login};
use duramen_tds::packet::{DEFAULT_PACKET_BYTES, PacketType, to_packets};
use duramen_tds::token::{
    DoneKind, DoneToken, Env, put_env, put_feature_ack, put_login_ack, status,
};
use duramen_types::CollationId;

use crate::backend::{BackendSession, LoginRequest};
use crate::brake::Turn;
use crate::connection::Connection;
use crate::request;

const PROGRAM: &str = "Microsoft SQL Server";

/// Runs a login when it has its turn: see [`crate::brake`].
pub fn run(connection: &Arc<Connection>, asked: Box<Login>, encrypted: bool) {
    let shared = &connection.shared;
    match shared.brake.turn(connection.peer.ip(), &asked.user) {
        Turn::Now => attempt(connection, &asked, encrypted),
        Turn::In(wait) => {
            let later = Arc::clone(connection);
            shared.later(wait, move || attempt(&later, &asked, encrypted));
        }
        Turn::Never => {
            let guard = request::CloseOnPanic(connection);
            refuse(connection, &[failed(&asked)]);
            request::finish_login(connection, guard);
        }
    }
}

fn attempt(connection: &Arc<Connection>, asked: &Login, encrypted: bool) {
    let guard = request::CloseOnPanic(connection);
    let (brake, peer) = (&connection.shared.brake, connection.peer.ip());
    match open(connection, asked, encrypted) {
        Ok(session) => {
            brake.succeeded(peer, &asked.user);
            accept(connection, asked, session);
        }
        Err(errors) => {
            let wrong = messages::LOGIN_FAILED.number;
            if matches!(&errors[..], [only] if only.number == wrong) {
                brake.failed(peer, &asked.user);
            }
            refuse(connection, &errors);
        }
    }
    request::finish_login(connection, guard);
}

fn failed(asked: &Login) -> SqlError {
    SqlError::new(&messages::LOGIN_FAILED, &[&asked.user, &"", &""])
}

fn open(
    connection: &Arc<Connection>,
    asked: &Login,
    encrypted: bool,
) -> Result<Box<dyn BackendSession>, Vec<SqlError>> {
    let failed = || failed(asked);
    if asked.integrated_security() || asked.asks_feature(FEATURE_FED_AUTH) {
        return Err(vec![
            SqlError::new(
                &messages::NOT_SUPPORTED,
                &[&"Windows and Entra authentication"],
            ),
            failed(),
        ]);
    }
    if asked.new_password.is_some() {
        return Err(vec![
            SqlError::new(
                &messages::NOT_SUPPORTED,
                &[&"changing the password at login"],
            ),
            failed(),
        ]);
    }
    if Dialect::of_login(asked.tds_version).is_none() {
        return Err(vec![SqlError::new(
            &messages::NOT_SUPPORTED,
            &[&"TDS before version 7.1"],
        )]);
    }
    let request = LoginRequest {
        user: asked.user.clone(),
        password: asked.password.clone(),
        database: asked.database.clone(),
        app: asked.app.clone(),
        host: asked.host.clone(),
        library: asked.library.clone(),
        language: asked.language.clone(),
        client_pid: asked.client_pid,
        packet_bytes: connection.packet_bytes.load(Ordering::Acquire) as u32,
        ansi_defaults: asked.ansi_defaults(),
        read_only_intent: asked.read_only_intent(),
        client_address: connection.peer.ip().to_string(),
        client_port: connection.peer.port(),
        local: connection.local,
        encrypted,
        admin: connection.admin,
        traffic: Arc::clone(connection.out.traffic()),
    };
    let backend = &connection.shared.backend;
    backend.login(connection.id, &request).map_err(|error| {
        // These are about the login itself; of others it is said what they mean for it.
        let alone = [&messages::LOGIN_FAILED, &messages::LOGIN_DISABLED];
        if alone.iter().any(|m| m.number == error.number) {
            vec![error]
        } else {
            vec![error, failed()]
        }
    })
}

fn accept(connection: &Arc<Connection>, asked: &Login, session: Box<dyn BackendSession>) {
    let backend = &connection.shared.backend;
    let server = backend.server_name();
    let database = session.database();
    let language = session.language();
    let mut out = Vec::new();
    put_env(
        &mut out,
        &Env::Database {
            new: database.clone(),
            old: "master".to_owned(),
        },
    );
    let changed = SqlError::new(&messages::CHANGED_DATABASE, &[&database]).with_state(2);
    connection
        .dialect()
        .put_message(&mut out, &as_info(changed), &server);
    put_env(&mut out, &Env::Collation(CollationId::DEFAULT.tds_bytes()));
    put_env(
        &mut out,
        &Env::Language {
            new: language.clone(),
            old: String::new(),
        },
    );
    let changed = SqlError::new(&messages::CHANGED_LANGUAGE, &[&language]);
    connection
        .dialect()
        .put_message(&mut out, &as_info(changed), &server);
    if let Some(warning) = session.warning() {
        connection
            .dialect()
            .put_message(&mut out, &as_info(warning), &server);
    }
    let (major, minor, build) = backend.version();
    let build = build.to_be_bytes();
    let version = connection.dialect().acknowledged(asked.tds_version);
    put_login_ack(
        &mut out,
        version,
        PROGRAM,
        [major, minor, build[0], build[1]],
    );
    let packet_bytes = connection.packet_bytes.load(Ordering::Acquire);
    put_env(
        &mut out,
        &Env::PacketSize {
            new: packet_bytes.to_string(),
            old: DEFAULT_PACKET_BYTES.to_string(),
        },
    );
    if asked.asks_feature(FEATURE_UTF8) {
        put_feature_ack(&mut out, &[(FEATURE_UTF8, &[1])]);
    }
    done(connection, &mut out, status::FINAL);
    let spid = session.spid();
    connection.spid.store(spid, Ordering::Release);
    if let Some(waker) = session.waker() {
        // A connection logs in once.
        let _ = connection.waker.set(waker);
    }
    let killed = Arc::downgrade(connection);
    session.on_kill(Box::new(move || {
        if let Some(connection) = killed.upgrade() {
            connection.out.kill();
            connection.feed.look();
        }
    }));
    *connection.session.lock() = Some(session);
    connection.state.lock().logged_in = true;
    // The new packet size holds after this reply.
    connection.out.send(&to_packets(
        PacketType::Reply,
        &out,
        DEFAULT_PACKET_BYTES,
        spid,
        0,
    ));
}

/// Messages that come with the login have class 0.
fn as_info(mut message: SqlError) -> SqlError {
    message.severity = 0;
    message
}

fn refuse(connection: &Arc<Connection>, errors: &[SqlError]) {
    let server = connection.shared.backend.server_name();
    let mut out = Vec::new();
    for error in errors {
        connection
            .dialect()
            .put_message(&mut out, &error.clone().at_line(1), &server);
    }
    done(connection, &mut out, status::ERROR);
    connection.out.send(&to_packets(
        PacketType::Reply,
        &out,
        DEFAULT_PACKET_BYTES,
        0,
        0,
    ));
    connection.closing.store(true, Ordering::Release);
}

fn done(connection: &Connection, out: &mut Vec<u8>, status: u16) {
    connection.dialect().put_done(
        out,
        &DoneToken {
            kind: DoneKind::Done,
            status,
            command: 0,
            rows: 0,
        },
    );
}
