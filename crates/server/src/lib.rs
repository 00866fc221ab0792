//! The edge: sockets and TLS joined to sessions. The only room with async code.
//!
//! Workers (OS threads) wait for sockets themselves: who takes a request from a socket cuts it out of the byte stream, runs
//! it and writes the reply, so that no thread hands a request to another. The worker that ends a reply whose commit is not
//! yet durable writes the log too, when nobody else does; what the packet gate then gives back in numbers is written by
//! whichever worker is free. [`pool`] decides how many threads work. The one async thread accepts, minds the time to log in
//! and the signals, and looks after the workers now and then.
//!
//! Invariants:
//! 1. A connection runs one request at a time; its session is touched by that request's worker only. Meanwhile another
//!    worker reads on, so that an attention is seen. [test: an_attention_may_come_at_any_moment]
//! 2. Every reply packet passes [`Outlet::submit`]: nothing leaves before what it tells is durable.
//!    [test: held_packets_leave_in_order_when_released]
//! 3. Lock order: a connection's `inbound`, its `state`, the gate, its `out`, the pool. No lock is held while a request runs.
//!    [assert: server/3]
//! 4. Every buffer has a bound: requests by the message limit, replies by [`outbound::HIGH_WATER_BYTES`], and what the gate
//!    holds of a reply by `reply::HELD_BYTES_MAX`; the rows of a bulk load by `feed::FEED_BYTES_MAX`.
//!    [test: the_gate_holds_no_more_than_a_bound_of_a_reply]
//! 5. An idle connection keeps no read or write buffer. [test: many_idle_connections_and_their_sessions_end]
//!
//! | module | owns |
//! |---|---|
//! | `backend`, `engine` | what the edge needs from the engine, and the engine behind it |
//! | `server`, `shared`, `pool`, `poller` | start, accept, stop; workers, and the sockets that have something to say |
//! | `connection`, `inbound`, `turns` | a connection, what has come in of it, and who works for it when |
//! | `login`, `tls`, `credential`, `brake` | a connection up to its login |
//! | `request`, `incoming`, `prepared`, `procedures`, `long` | requests: taken in, decoded, run |
//! | `reply`, `outbound`, `farewell`, `ending` | replies: packets through the gate, the socket, last words |
//! | `bulk`, `feed` | rows of a bulk load as they come |
//! | `client` | a blocking client for the command line and tests |

#![forbid(unsafe_code)]

mod backend;
mod brake;
mod bulk;
pub mod client;
mod connection;
mod credential;
mod ending;
mod engine;
mod farewell;
mod feed;
mod inbound;
mod incoming;
mod login;
mod long;
mod outbound;
mod poller;
mod pool;
mod prepared;
mod procedures;
mod reply;
mod request;
mod server;
mod shared;
mod tls;
mod turns;

pub use backend::{
    Backend, BackendSession, Cancel, Delivery, LoginRequest, Outlet, ParameterSpec,
    ProcedureOutcome, Submission,
};
pub use credential::{Credential, CredentialError};
pub use engine::EngineBackend;
pub use server::{Server, ServerConfig, ServerError};
pub use tls::{TlsError, TlsSetup};
