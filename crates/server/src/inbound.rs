//! What has come in of a connection and is no request yet.

use std::sync::Arc;

use duramen_os::memory::{Account, Broker, Clerk};
use duramen_tds::login::{Login, MAX_LOGIN_BYTES};
use duramen_tds::packet::{Assembler, MAX_PACKET_BYTES};

use crate::incoming::Incoming;
use crate::long::Arriving;

pub enum Transport {
    /// Nothing has arrived yet.
    Unknown,
    Clear,
    /// TLS records inside PRELOGIN packets.
    Wrapped {
        packets: Assembler,
        login_only: bool,
    },
    Tls {
        login_only: bool,
    },
}

pub enum Phase {
    Prelogin,
    Login,
    Requests,
}

/// The reading half; one worker at a time has it.
pub struct Inbound {
    pub transport: Transport,
    pub phase: Phase,
    pub messages: Assembler,
    pub strict: bool,
    pub encrypted: bool,
    /// Has been read and is to be run; `State::running` is set for it.
    pub work: Option<Work>,
    pub ended: bool,
    /// Of what has come in and is no request yet.
    pub memory: Option<Account>,
    pub long: Arriving,
}

/// What a look at a connection has found to do, on a worker.
pub enum Work {
    Login(Box<Login>, bool),
    Request(Incoming),
}

impl Inbound {
    pub fn new(memory: Option<&Arc<Broker>>) -> Inbound {
        Inbound {
            memory: memory.map(|broker| broker.account(Clerk::Packets)),
            transport: Transport::Unknown,
            phase: Phase::Prelogin,
            messages: Assembler::new(MAX_PACKET_BYTES, MAX_LOGIN_BYTES),
            strict: false,
            encrypted: false,
            work: None,
            ended: false,
            long: Arriving::default(),
        }
    }
}
