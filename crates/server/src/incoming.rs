//! A request with the memory that it takes: a large one asks the server for it as it comes in, and holds it until it has run.

use std::sync::Arc;

use duramen_base::SqlError;
use duramen_os::memory::{Account, Broker, Clerk};
use duramen_session::Spool;
use duramen_tds::packet::Message;

/// Shorter ones are not counted: nobody has many of them.
const COUNTED: usize = 32 << 10;

/// A request that has come in whole.
#[derive(Debug)]
pub struct Incoming {
    pub message: Message,
    /// The beginning of a long one; the rest is in the message.
    pub spool: Option<Spool>,
    /// Why there was no room for a long one.
    pub refused: Option<SqlError>,
    /// Given back when the request has run.
    _memory: Option<Account>,
}

impl Incoming {
    /// What its bytes take was granted as they came.
    pub fn new(message: Message, broker: Option<&Arc<Broker>>) -> Incoming {
        let bytes = message.body.len();
        let account = broker.filter(|_| bytes >= COUNTED).map(|broker| {
            let mut account = broker.account(Clerk::Packets);
            account.set(bytes as u64);
            account
        });
        Incoming {
            message,
            spool: None,
            refused: None,
            _memory: account,
        }
    }
}
