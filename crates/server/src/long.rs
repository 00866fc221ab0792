//! Calls too long for memory: put into a file as they come in, and read from there.
//!
//! A connection has at most [`IN_MEMORY`] bytes of such a call in memory while it comes in. Large parameters stay in the file for
//! as long as the session has their values; the text of a statement is read in.

use std::cell::RefCell;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult};
use duramen_os::memory::{Account, Broker, Clerk, out_of_memory};
use duramen_session::{Spool, value_in};
use duramen_tds::dialect::Dialect;
use duramen_tds::packet::Assembler;
use duramen_tds::rpc::{ParameterData, Pieces, ProcId, Procedure, RpcCall, Source, parse_long};
use duramen_tds::{TdsError, TdsResult};
use duramen_types::{SqlType, Value};

use crate::backend::Backend;

/// A longer call goes to a file, so many bytes at a time.
const IN_MEMORY: usize = 4 << 20;

/// The call that is coming in, as far as it is in a file.
#[derive(Default)]
pub struct Arriving {
    spool: Option<Spool>,
    refused: Option<SqlError>,
}

impl Arriving {
    /// After bytes have come in: what there is of a long call goes to its file. Where that has no room the rest is read to
    /// its end and not kept.
    pub fn put_away(&mut self, messages: &mut Assembler, backend: &dyn Backend) {
        if !messages.is_long(IN_MEMORY) {
            return;
        }
        if self.spool.is_none() {
            match backend.spool() {
                None => return,
                Some(Ok(spool)) => self.spool = Some(spool),
                Some(Err(e)) => return self.refuse(e, messages),
            }
        }
        let bytes = messages.take_long();
        if let Some(spool) = &mut self.spool
            && let Err(e) = spool.append(&bytes)
        {
            self.refuse(e, messages);
        }
    }

    fn refuse(&mut self, e: SqlError, messages: &mut Assembler) {
        self.spool = None;
        self.refused = Some(e);
        messages.discard();
    }

    /// What has been put away of the message that has come in now.
    pub fn take(&mut self) -> (Option<Spool>, Option<SqlError>) {
        (self.spool.take(), self.refused.take())
    }
}

/// The calls of a message whose beginning is in `spool` and whose end is `rest`.
pub fn calls(
    dialect: Dialect,
    mut spool: Spool,
    rest: &[u8],
    broker: Option<Arc<Broker>>,
) -> SqlResult<TdsResult<Vec<RpcCall>>> {
    spool.append(rest)?;
    let message = InFile {
        spool: Arc::new(spool),
        failed: RefCell::default(),
        memory: RefCell::new(broker.map(|b| b.account(Clerk::Packets))),
    };
    let parsed = parse_long(dialect, &message).and_then(|(_, mut calls)| {
        calls.iter_mut().try_for_each(|call| message.settle(call))?;
        Ok(calls)
    });
    match message.failed.take() {
        Some(e) => Err(e),
        None => Ok(parsed),
    }
}

struct InFile {
    spool: Arc<Spool>,
    /// What the file has said, or that there is no memory for what has to be in it.
    failed: RefCell<Option<SqlError>>,
    memory: RefCell<Option<Account>>,
}

impl Source for InFile {
    fn len(&self) -> u64 {
        self.spool.len()
    }

    fn read(&self, at: u64, out: &mut [u8]) -> TdsResult<()> {
        self.spool.read(at, out).map_err(|e| {
            *self.failed.borrow_mut() = Some(e);
            TdsError::Truncated
        })
    }

    fn may_hold(&self, bytes: usize) -> bool {
        let mut memory = self.memory.borrow_mut();
        let room = memory.as_mut().is_none_or(|m| m.hold(bytes as u64));
        if !room {
            *self.failed.borrow_mut() = Some(out_of_memory());
        }
        room
    }
}

impl InFile {
    /// Large parameters become values that lie in the file, statements are read.
    fn settle(&self, call: &mut RpcCall) -> TdsResult<()> {
        let id = match &call.procedure {
            Procedure::Id(id) => Some(*id),
            Procedure::Name(name) => ProcId::from_name(name),
        };
        let texts: &[usize] = match id {
            Some(ProcId::ExecuteSql) => &[0, 1],
            Some(ProcId::Prepare | ProcId::PrepExec) => &[1, 2],
            _ => &[],
        };
        for (at, parameter) in call.parameters.iter_mut().enumerate() {
            if let ParameterData::Long(ty, pieces) = &mut parameter.data {
                let (ty, pieces) = (*ty, std::mem::take(pieces));
                let value = self.value(&ty, pieces, texts.contains(&at))?;
                parameter.data = ParameterData::Value(ty, value);
            }
        }
        Ok(())
    }

    fn value(&self, ty: &SqlType, pieces: Pieces, in_memory: bool) -> TdsResult<Value> {
        let len = pieces.len();
        let find = Box::new(move |at| pieces.find(at));
        let spooled = value_in(self.spool.clone(), len, find);
        if !in_memory {
            return Ok(Value::Spooled(spooled));
        }
        // Its bytes, and the text that is made of them.
        if !self.may_hold(spooled.len().saturating_mul(3)) {
            return Err(TdsError::TooLarge("statement"));
        }
        spooled.value(0, spooled.len(), ty).map_err(|e| {
            *self.failed.borrow_mut() = Some(e);
            TdsError::Truncated
        })
    }
}
