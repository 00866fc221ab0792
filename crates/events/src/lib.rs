//! What is heard of a server: Extended Events, the default trace, the error log; and the instance, which is what a server is and
//! what listens to it.
//!
//! | module | owns |
//! |---|---|
//! | `instance` | the server with its ears |
//! | `xe` | event sessions: what they hear, under which conditions, where it goes |
//! | `trace` | the default trace and traces that scripts make |
//! | `error_log` | the error log and its files |

#![forbid(unsafe_code)]

pub mod error_log;
pub mod instance;
pub mod trace;
pub mod xe;
