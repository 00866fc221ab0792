//! The writes that have begun and are not yet part of the durable prefix.

use std::collections::VecDeque;

use duramen_base::Lsn;

use crate::log::PARALLEL_BYTES;

#[derive(Debug)]
pub(in crate::log) struct Flight {
    pub id: u64,
    pub bytes: u64,
    /// The last record in it, NULL when there is none.
    pub last: Lsn,
    /// Position behind it; `None` for a VLF header.
    pub end: Option<(u32, u32)>,
    pub done: bool,
}

/// Writes in flight, in log order, completed ones behind an incomplete one included; and how many there may be.
#[derive(Debug)]
pub(in crate::log) struct Flights {
    pub all: VecDeque<Flight>,
    pub bytes: u64,
    /// Those that are not done.
    pub writing: usize,
    next_id: u64,
    /// A VLF header is on its way: no block may leave.
    pub has_header: bool,
    /// [`PARALLEL_BYTES`], less in tests.
    pub parallel_bytes: usize,
    /// Threads that write along with the flusher.
    pub helpers: usize,
}

impl Flights {
    pub fn new() -> Flights {
        Flights {
            all: VecDeque::new(),
            bytes: 0,
            writing: 0,
            next_id: 0,
            has_header: false,
            parallel_bytes: PARALLEL_BYTES,
            helpers: 0,
        }
    }

    /// A write begins: the id of its flight.
    pub fn begin(&mut self) -> u64 {
        let id = self.next_id;
        debug_assert!(
            self.all.back().is_none_or(|f| f.id < id),
            "log/1: flights stand in the order in which they began"
        );
        self.next_id += 1;
        self.writing += 1;
        id
    }

    pub fn push(&mut self, flight: Flight) {
        self.bytes += flight.bytes;
        self.all.push_back(flight);
    }

    /// Takes out the first, when it is done.
    pub fn pop_done(&mut self) -> Option<Flight> {
        self.all.front().filter(|f| f.done)?;
        let flight = self.all.pop_front()?;
        debug_assert!(
            self.bytes >= flight.bytes,
            "log/3: less is in flight than lands"
        );
        self.bytes -= flight.bytes;
        Some(flight)
    }
}
