//! The wire: TDS 7.1 to 8.0 as pure bytes, in both directions.
//!
//! Nothing here opens a socket, starts a thread or reads a clock. The server feeds bytes into a [`packet::Assembler`]
//! and gets whole messages; it builds replies with [`token::TokenWriter`] and cuts them into packets with
//! [`packet::PacketWriter`]. The client side ([`client::Client`]) is the mirror over any `Read + Write`.
//!
//! Invariants:
//! 1. Every length that comes from the other side is checked before it is used; no input panics.
//!    [test: every_truncation_and_every_flipped_byte_is_survived; test: random_bytes_panic_nowhere]
//! 2. What one message may occupy is bounded by the limit given to the assembler, and no count read from the wire
//!    reserves memory before the bytes it counts have arrived.
//!    [test: what_does_not_end_or_goes_on_is_refused; test: refuses_what_is_too_large]
//! 3. One reply message per request message: [`packet::PacketWriter::finish`] sets the end-of-message bit once.
//!    [test: last_packet_is_not_empty]
//!
//! | module | owns |
//! |---|---|
//! | `packet`, `bytes` | the 8-byte header, whole messages, cursors with every length checked |
//! | `prelogin`, `login`, `dialect` | from the first bytes to a login, and what differs between versions |
//! | `request`, `rpc`, `bulk` | batches, calls, bulk rows |
//! | `token`, `typeinfo`, `value` | what a reply is made of |
//! | `client` | the client side over any `Read + Write` |

#![forbid(unsafe_code)]

pub mod bulk;
pub mod bytes;
pub mod client;
pub mod dialect;
pub mod login;
pub mod packet;
pub mod prelogin;
pub mod request;
pub mod rpc;
pub mod token;
pub mod typeinfo;
pub mod value;

pub use bytes::{TdsError, TdsResult};
