//! PERMISSIONS([object_id [, 'column']]): what the caller may do, as bits; the upper half is what the caller may grant.
//! <https://learn.microsoft.com/sql/t-sql/functions/permissions-transact-sql>
//!
//! Nothing is granted here WITH GRANT OPTION: who controls a thing grants on it.

use duramen_access::open_db::OpenDb;
use duramen_base::{DbId, ObjectId, SqlResult};
use duramen_catalog::same_name;
use duramen_core::security::On;
use duramen_core::session_core::SessionCore;
use duramen_program::rights::Right;
use duramen_types::Value;

use super::{Args, int, people};
use crate::views::my_permissions::applies;

/// What is granted on the database, without those of rules and defaults (16 and 32), which nobody makes here.
const STATEMENTS: [(i32, Right); 5] = [
    (2, Right::CreateTable),
    (4, Right::CreateProcedure),
    (8, Right::CreateView),
    (64, Right::BackupDatabase),
    (128, Right::BackupLog),
];
/// CREATE DATABASE, in master.
const CREATE_DATABASE: i32 = 1;
/// On an object: on all its columns, and on any of them, which is the same without grants on columns.
const OBJECT: [(i32, Right); 6] = [
    (0x1001, Right::Select),
    (0x2002, Right::Update),
    (0x4004, Right::References),
    (8, Right::Insert),
    (16, Right::Delete),
    (32, Right::Execute),
];
const COLUMN: [(i32, Right); 3] = [
    (1, Right::Select),
    (2, Right::Update),
    (4, Right::References),
];

/// The bits of what the caller holds on a thing, in both halves where the caller controls it.
fn bits(s: &SessionCore, db: &OpenDb, on: On, of: &[(i32, Right)]) -> SqlResult<i32> {
    let mut held = 0;
    for (bit, right) in of {
        if s.may(db, *right, on)? {
            held |= bit;
        }
    }
    let grants = s.may(db, Right::Control, on)?;
    Ok(held | if grants { held << 16 } else { 0 })
}

fn of_database(s: &SessionCore, db: &OpenDb) -> SqlResult<i32> {
    let makes = db.db.id == DbId::MASTER && s.server_may(Right::CreateAnyDatabase);
    let own = if makes { CREATE_DATABASE } else { 0 };
    Ok(own | bits(s, db, On::Database, &STATEMENTS)?)
}

/// NULL for what is not there, or not for the caller to see.
pub fn permissions(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let Some((db, snapshot)) = people::here(s) else {
        return int(None);
    };
    if args.len() == 0 {
        return int(Some(of_database(s, &db)?));
    }
    let Some(id) = args.int(0).map(ObjectId) else {
        return int(None);
    };
    let Some(object) = snapshot.objects.get(&id) else {
        return int(None);
    };
    let on = On::Object {
        id: id.0,
        schema: object.schema,
    };
    if args.len() == 1 {
        let fits = |right: Right| applies(right, Some(object.kind));
        let of: Vec<_> = OBJECT.into_iter().filter(|(_, r)| fits(*r)).collect();
        return int(Some(bits(s, &db, on, &of)?));
    }
    let named = |name: &str| {
        let table = snapshot.table(id)?;
        table.columns.iter().find(|c| same_name(&c.name, name))
    };
    match args.name(1).filter(|name| named(name).is_some()) {
        Some(_) => int(Some(bits(s, &db, on, &COLUMN)?)),
        None => int(None),
    }
}
