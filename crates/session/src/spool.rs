//! Requests too long for memory, in a file beside tempdb's; large parameters are values whose bytes stay in it.

use std::fmt;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_os::memory::Clerk;
use duramen_os::sync::Mutex;
use duramen_query::spill::SpillFile;
use duramen_types::spooled::Bytes;
use duramen_types::{Spooled, SqlType, Value};

use crate::session::Session;
use duramen_events::instance::Instance;

impl Spool {
    /// Where a long request is put as it comes in. It takes of tempdb's room, and goes with the last value that lies in it.
    pub fn new(instance: &Instance) -> SqlResult<Spool> {
        Ok(Spool {
            file: Mutex::new(instance.databases.engine.spill_file()?),
            len: 0,
        })
    }
}

impl Session {
    /// A parameter's value in memory, for whom it is no use elsewhere; 701 where there is no room for it.
    pub(crate) fn in_memory(&self, value: &Spooled, ty: &SqlType) -> SqlResult<Value> {
        let memory = &self.instance.databases.engine.memory;
        let mut room = memory.account(Clerk::Values);
        // The bytes, and what is made of them.
        room.need(value.len() as u64 * 2)?;
        value.value(0, value.len(), ty)
    }
}

/// Bytes of a request.
pub struct Spool {
    /// Values of one request may be read by several threads.
    file: Mutex<Box<dyn SpillFile>>,
    len: u64,
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spool of {} bytes", self.len)
    }
}

impl Spool {
    /// Puts more of the request behind what is there. 1105 when tempdb may not have so much.
    pub fn append(&mut self, bytes: &[u8]) -> SqlResult<()> {
        self.file.get_mut().append(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Fills `out` with what stands from `at` on.
    pub fn read(&self, at: u64, out: &mut [u8]) -> SqlResult<()> {
        let end = at.checked_add(out.len() as u64);
        match end.is_some_and(|end| end <= self.len) {
            true => self.file.lock().read(at, out),
            false => Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])),
        }
    }
}

/// Says where in the spool the bytes of a value stand: the place of byte `at`, and how many follow it there.
pub type Find = Box<dyn Fn(u64) -> Option<(u64, u64)> + Send + Sync>;

/// A parameter whose `len` bytes are where `find` says.
pub fn value_in(spool: Arc<Spool>, len: u64, find: Find) -> Spooled {
    Spooled::new(Arc::new(InSpool { spool, len, find }))
}

struct InSpool {
    spool: Arc<Spool>,
    len: u64,
    find: Find,
}

impl fmt::Debug for InSpool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {:?}", self.len, self.spool)
    }
}

impl Bytes for InSpool {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, at: u64, out: &mut [u8]) -> SqlResult<()> {
        let mut done = 0;
        while done < out.len() {
            let missing = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
            let (from, n) = (self.find)(at + done as u64).ok_or_else(missing)?;
            let n = usize::try_from(n)
                .unwrap_or(usize::MAX)
                .min(out.len() - done);
            self.spool.read(from, &mut out[done..done + n])?;
            done += n;
        }
        Ok(())
    }
}
