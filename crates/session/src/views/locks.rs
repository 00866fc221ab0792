//! `sys.dm_tran_locks`: every lock that is held or waited for.

use duramen_txn::{LockInfo, Resource};
use duramen_types::{SqlType as T, Value};

use super::View;
use super::column::*;

/// What a page, row or key belongs to: its rowset; an object: itself.
fn entity(l: &LockInfo) -> i64 {
    match l.resource {
        Resource::Page(..) | Resource::Rid(..) | Resource::Extent(..) => l.rowset.0,
        _ => l.resource.associated_entity(),
    }
}

fn owner_address(l: &LockInfo) -> Value {
    Value::Binary(l.owner.to_be_bytes().to_vec())
}

/// Locks on databases belong to the session, all others to its transaction.
fn owner_type(l: &LockInfo) -> &'static str {
    match l.resource {
        Resource::Database(_) => "SHARED_TRANSACTION_WORKSPACE",
        _ => "TRANSACTION",
    }
}

columns! { LockInfo;
    "resource_type", DESC, NOT_NULL, |l| text(l.resource.type_name());
    "resource_subtype", DESC, NOT_NULL, |_| text("");
    "resource_database_id", T::INT, NOT_NULL, |l| int(l.resource.db().0);
    "resource_description", T::nvarchar(256), NOT_NULL, |l| text(&l.resource.description());
    "resource_associated_entity_id", T::BIGINT, NULL, |l| Value::BigInt(entity(l));
    "resource_lock_partition", T::INT, NOT_NULL, |_| int(0);
    "request_mode", DESC, NOT_NULL, |l| text(l.mode.name());
    "request_type", DESC, NOT_NULL, |_| text("LOCK");
    "request_status", DESC, NOT_NULL, |l| text(l.status.name());
    "request_reference_count", T::SMALLINT, NOT_NULL, |_| small(1);
    "request_lifetime", T::INT, NOT_NULL, |_| int(0);
    "request_session_id", T::INT, NOT_NULL, |l| int(l.spid.0);
    "request_exec_context_id", T::INT, NOT_NULL, |_| int(0);
    "request_request_id", T::INT, NOT_NULL, |_| int(0);
    "request_owner_type", DESC, NOT_NULL, |l| text(owner_type(l));
    "request_owner_id", T::BIGINT, NULL, |l| big(l.owner);
    "request_owner_guid", T::GUID, NULL, |_| Value::Guid([0; 16]);
    "request_owner_lockspace_id", T::nvarchar(32), NOT_NULL, |l| text(&format!("0x{:016X}:0:0", l.owner));
    "lock_owner_address", T::varbinary(8), NOT_NULL, owner_address;
}

pub const VIEW: View = View::new("dm_tran_locks", COLUMNS, |cx, _| {
    Ok(cx.instance.locks.snapshot().iter().map(row).collect())
});
