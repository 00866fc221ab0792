//! The edge: sockets and TLS joined to sessions. The only room with async code.
//!
//! One thread runs the event loop: it accepts, reads, decrypts and cuts requests out of the byte stream, and never
//! blocks. A whole request is handed to a worker (an OS thread) once; the worker runs it and writes the reply to the
//! socket itself, so that a short request costs a single hand-over; the worker that ends a reply whose commit is not yet
//! durable writes the log too, when nobody else does. Only what the socket would not take, and what the packet gate gives
//! back in numbers, is written by the event loop.
//!
//! Invariants:
//! 1. A connection runs one request at a time; its session is touched by that request's worker only.
//! 2. Every reply packet passes [`Outlet::submit`]: nothing leaves before what it tells is durable.
//! 3. Lock order: a connection's `state`, the gate, the connection's `out`. No lock is held while a request runs.
//! 4. Every buffer has a bound: requests by the message limit, replies by [`outbound::HIGH_WATER_BYTES`], and what the gate
//!    holds of a reply by `reply::HELD_BYTES_MAX`; the rows of a bulk load by `feed::FEED_BYTES_MAX`.
//! 5. An idle connection keeps no read or write buffer.

#![forbid(unsafe_code)]

mod backend;
mod bulk;
pub mod client;
mod connection;
mod credential;
mod engine;
mod farewell;
mod feed;
mod login;
mod outbound;
mod pool;
mod procedures;
mod reply;
mod request;
mod server;
mod tls;

pub use backend::{
    Backend, BackendSession, Cancel, Delivery, LoginRequest, Outlet, ParameterSpec,
    ProcedureOutcome, Submission,
};
pub use credential::{Credential, CredentialError};
pub use engine::EngineBackend;
pub use server::{Server, ServerConfig, ServerError};
pub use tls::{TlsError, TlsSetup};
