//! Which sockets have something to say, for any worker to take: the kernel's readiness list (epoll), and a bell in it.
//!
//! Sockets are registered once and edge-triggered, so that a request costs no call to tell the kernel what to watch: an
//! edge wakes one of those who wait. Who gets it reads until the socket is empty, or has somebody look again; and writes
//! until the socket is full, which makes its next room an edge.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};

/// What the bell is called in events; connections are numbered from 1.
const BELL: u64 = 0;

/// Sockets that one call takes: those beyond the first go to whoever is free, and save that one the call.
const AT_ONCE: usize = 4;

/// A socket that is worth a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    pub connection: u64,
    /// It may take bytes.
    pub writable: bool,
    /// The client sends no more, or the connection has failed: to be read to its end.
    pub hung_up: bool,
}

impl Ready {
    /// Somebody asked for a look; the socket has said nothing.
    pub fn asked(connection: u64) -> Ready {
        Ready {
            connection,
            writable: false,
            hung_up: false,
        }
    }
}

pub struct Poller {
    epoll: OwnedFd,
    bell: OwnedFd,
}

impl Poller {
    pub fn new() -> std::io::Result<Poller> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &bell, EventData::new_u64(BELL), flags)?;
        Ok(Poller { epoll, bell })
    }

    /// Watches a socket until it is closed.
    pub fn add(&self, socket: impl AsFd, connection: u64) -> std::io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, socket, EventData::new_u64(connection), flags)?;
        Ok(())
    }

    /// Wakes one of those who wait, or the next who is about to.
    pub fn ring(&self) {
        // Each write is an edge, whether or not somebody has read the count; it overflows after 2^64.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Waits for sockets, a few at once; none after a ring, a signal, or the time. Whether it was a ring, or one came with
    /// them: nobody else hears that one.
    #[must_use]
    pub fn wait(&self, found: &mut Vec<Ready>, limit: Option<Duration>) -> bool {
        let limit = limit.map(|limit| Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limit.subsec_nanos()),
        });
        let none = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(BELL),
        };
        let mut events = [none; AT_ONCE];
        let count = epoll::wait(&self.epoll, &mut events, limit.as_ref()).unwrap_or(0);
        let mut rung = false;
        for event in events.iter().take(count) {
            let (connection, flags) = ({ event.data }.u64(), { event.flags });
            if connection == BELL {
                rung = true;
            } else {
                let ended = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
                found.push(Ready {
                    connection,
                    writable: flags.contains(EventFlags::OUT),
                    hung_up: flags.intersects(ended),
                });
            }
        }
        rung
    }
}
