//! Who holds memory: `sys.dm_os_memory_clerks`, and the sums that other views and counters show.
//!
//! A clerk is what its objects have told the broker. In a process that counts its allocations, what nobody has told is a row
//! of its own (MEMORYCLERK_SQLGENERAL), and so is what the process has beside them: memory that the allocator keeps
//! (MEMORYCLERK_SOSMEMMANAGER), stacks, and the program itself. All rows together are what is resident.

use duramen_events::instance::Instance;
use duramen_os::memory::{Broker, CLERKS, Clerk as Of};
use duramen_os::{heap, machine, thread};
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1091, &MEMORY_CLERKS),
];

const ADDRESS: T = T::varbinary(8);
const KB: u64 = 1024;
/// Two readings that differ by less are of one moment; and how often they are tried.
const ALIKE_BYTES: u64 = 1 << 20;
const TRIES: usize = 8;

pub struct Clerk {
    kind: &'static str,
    name: &'static str,
    bytes: u64,
    number: u64,
    /// It is no memory that the server has asked for: code and stacks.
    apart: bool,
}

/// All clerks.
fn clerks(instance: &Instance) -> Vec<Clerk> {
    let engine = &instance.databases.engine;
    let broker = &engine.memory;
    let pool = engine.pool_stats().committed * duramen_base::PAGE_BYTES as u64;
    let mut all: Vec<(&str, &str, u64, bool)> = CLERKS
        .iter()
        .map(|row| match row.clerk {
            Of::BufferPool => (row.kind, row.name, pool, false),
            clerk => (row.kind, row.name, broker.of(clerk), false),
        })
        .collect();
    if let (Some((allocated, reported)), Some(process)) =
        (counted(broker), machine::resident_parts())
    {
        let stacks = thread::stack_bytes();
        let named = pool + stacks + allocated.max(reported);
        let kept = process.anonymous.saturating_sub(named);
        let general = allocated.saturating_sub(reported);
        all.push(("MEMORYCLERK_SQLGENERAL", "Default", general, false));
        let manager = "MEMORYCLERK_SOSMEMMANAGER";
        all.push((manager, "SOS Memory Manager", kept, false));
        all.push(("MEMORYCLERK_DURAMEN_STACKS", "Stacks", stacks, true));
        let code = process.of_files;
        all.push(("MEMORYCLERK_DURAMEN_CODE", "Code", code, true));
    }
    let numbered = (1..).zip(all);
    let clerk = |(number, (kind, name, bytes, apart))| Clerk {
        kind,
        name,
        bytes,
        number,
        apart,
    };
    numbered.map(clerk).collect()
}

/// Bytes allocated, and those of them that somebody has told the broker of, as of one moment: whoever ends a transaction of
/// a million locks between the two readings would have had memory that nobody knows of.
fn counted(broker: &Broker) -> Option<(u64, u64)> {
    let read = || {
        let before = broker.held();
        let allocated = heap::allocated()?;
        Some((allocated, before, broker.held()))
    };
    let mut last = read()?;
    for _ in 0..TRIES {
        if last.1.abs_diff(last.2) < ALIKE_BYTES {
            break;
        }
        last = read()?;
    }
    Some((last.0, last.1.max(last.2)))
}

/// Bytes that the server has: Total Server Memory, `committed_kb`.
pub fn committed(instance: &Instance) -> u64 {
    let clerks = clerks(instance);
    let asked_for = clerks.iter().filter(|c| !c.apart);
    asked_for.map(|c| c.bytes).sum()
}

/// Bytes that it may have: Target Server Memory, `committed_target_kb`.
pub fn target(instance: &Instance) -> u64 {
    instance.databases.engine.memory.limit()
}

fn address(n: u64) -> Value {
    Value::Binary(n.to_be_bytes().to_vec())
}

columns! { Clerk;
    "memory_clerk_address", ADDRESS, NOT_NULL, |c| address(c.number);
    "type", DESC, NOT_NULL, |c| text(c.kind);
    "name", T::nvarchar(256), NOT_NULL, |c| text(c.name);
    "memory_node_id", T::SMALLINT, NOT_NULL, |_| small(0);
    "pages_kb", T::BIGINT, NOT_NULL, |c| big(c.bytes / KB);
    "virtual_memory_reserved_kb", T::BIGINT, NOT_NULL, |_| big(0);
    "virtual_memory_committed_kb", T::BIGINT, NOT_NULL, |_| big(0);
    "awe_allocated_kb", T::BIGINT, NOT_NULL, |_| big(0);
    "shared_memory_reserved_kb", T::BIGINT, NOT_NULL, |_| big(0);
    "shared_memory_committed_kb", T::BIGINT, NOT_NULL, |_| big(0);
    "page_size_in_bytes", T::BIGINT, NOT_NULL, |_| big(8192);
    "page_allocator_address", ADDRESS, NOT_NULL, |_| address(0);
    "host_address", ADDRESS, NOT_NULL, |_| address(0);
    "parent_memory_broker_type", DESC, NULL, |_| Value::Null;
}

pub const MEMORY_CLERKS: View = View::new(
    "dm_os_memory_clerks",
    SERVER_STATE,
    COLUMNS,
    |cx: &Context, _| Ok(clerks(&cx.instance).iter().map(row).collect()),
);
