//! `sys.dm_tran_locks`: every lock that is held or waited for.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::SessionId;
use duramen_core::activity::Activity;
use duramen_core::app_locks::Shown;
use duramen_program::column::*;
use duramen_txn::lock::LockStatus;
use duramen_txn::{LockInfo, Resource};
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1016, &VIEW),
];

/// What a page, row or key belongs to: its rowset; an object: itself.
fn entity(l: &LockInfo) -> i64 {
    match l.resource {
        Resource::Page(..) | Resource::Rid(..) | Resource::Extent(..) => l.rowset.0,
        _ => l.resource.associated_entity(),
    }
}

/// A lock, as one holder has it.
pub struct Row {
    lock: LockInfo,
    /// Of a lock that an application has named.
    named: Option<Shown>,
}

impl std::ops::Deref for Row {
    type Target = LockInfo;

    fn deref(&self) -> &LockInfo {
        &self.lock
    }
}

/// The rows of a lock: one, or for a lock that an application has named one for each holder.
fn rows(cx: &Context, lock: LockInfo, transactions: &Transactions) -> Vec<Row> {
    let plain = |lock| vec![Row { lock, named: None }];
    if !matches!(lock.resource, Resource::Application(..)) {
        return plain(lock);
    }
    let transaction = transactions.get(&lock.spid).copied().unwrap_or(0);
    let waits = lock.status != LockStatus::Grant;
    let names = &cx.instance.app_locks;
    let shown = names.shown(lock.owner, &lock.resource, transaction, waits);
    if shown.is_empty() {
        return plain(lock);
    }
    let row = |named: Shown| Row {
        lock: LockInfo {
            mode: named.mode.unwrap_or(lock.mode),
            ..lock.clone()
        },
        named: Some(named),
    };
    shown.into_iter().map(row).collect()
}

/// How often the holder has asked.
fn times(l: &Row) -> i16 {
    let times = l.named.as_ref().map_or(1, |n| n.times);
    i16::try_from(times).unwrap_or(i16::MAX)
}

/// The open transactions' ids.
type Transactions = BTreeMap<SessionId, u64>;

fn transactions(cx: &Context) -> Transactions {
    let sessions = cx.instance.sessions();
    let of = |a: &Arc<Activity>| (a.spid, a.glance().transaction_id);
    sessions.iter().map(of).collect()
}

fn description(l: &Row) -> Value {
    match &l.named {
        Some(named) => text(&named.description),
        None => text(&l.resource.description()),
    }
}

fn owner_address(l: &LockInfo) -> Value {
    Value::Binary(l.owner.to_be_bytes().to_vec())
}

/// Locks on databases belong to the session, all others to its transaction.
fn owner_type(l: &Row) -> &'static str {
    match l.resource {
        Resource::Application(..) => l.named.as_ref().map_or("TRANSACTION", |n| n.holder.name()),
        Resource::Database(_) => "SHARED_TRANSACTION_WORKSPACE",
        _ => "TRANSACTION",
    }
}

columns! { Row;
    "resource_type", DESC, NOT_NULL, |l| text(l.resource.type_name());
    "resource_subtype", DESC, NOT_NULL, |_| text("");
    "resource_database_id", T::INT, NOT_NULL, |l| int(l.resource.db().0);
    "resource_description", T::nvarchar(256), NOT_NULL, description;
    "resource_associated_entity_id", T::BIGINT, NULL, |l| Value::BigInt(entity(l));
    "resource_lock_partition", T::INT, NOT_NULL, |_| int(0);
    "request_mode", DESC, NOT_NULL, |l| text(l.mode.name());
    "request_type", DESC, NOT_NULL, |_| text("LOCK");
    "request_status", DESC, NOT_NULL, |l| text(l.status.name());
    "request_reference_count", T::SMALLINT, NOT_NULL, |l| small(times(l));
    "request_lifetime", T::INT, NOT_NULL, |_| int(0);
    "request_session_id", T::INT, NOT_NULL, |l| int(l.spid.0);
    "request_exec_context_id", T::INT, NOT_NULL, |_| int(0);
    "request_request_id", T::INT, NOT_NULL, |_| int(0);
    "request_owner_type", DESC, NOT_NULL, |l| text(owner_type(l));
    "request_owner_id", T::BIGINT, NULL, |l| big(l.owner);
    "request_owner_guid", T::GUID, NULL, |_| Value::Guid([0; 16]);
    "request_owner_lockspace_id", T::nvarchar(32), NOT_NULL, |l| text(&format!("0x{:016X}:0:0", l.owner));
    "lock_owner_address", T::varbinary(8), NOT_NULL, |l| owner_address(l);
}

pub const VIEW: View = View::new("dm_tran_locks", SERVER_STATE, COLUMNS, |cx, _| {
    let locks = cx.instance.locks.snapshot();
    let named = |l: &LockInfo| matches!(l.resource, Resource::Application(..));
    let transactions = match locks.iter().any(named) {
        true => transactions(cx),
        false => Transactions::new(),
    };
    let all = locks.into_iter().flat_map(|l| rows(cx, l, &transactions));
    Ok(all.map(|r| row(&r)).collect())
});
