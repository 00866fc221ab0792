//! `sys.dm_exec_plan_attributes(plan_handle)`: by what a plan in the cache is found, and who uses it.
//!
//! Only attributes that are known of a plan here have a row: it is shared by sessions of whatever language and date format,
//! and by all users (`user_id` -2). Of the SET options those count that are a part of the key.
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-plan-attributes-transact-sql>

use std::sync::atomic::Ordering::Relaxed;

use duramen_base::{DbId, ObjectId};
use duramen_program::column::*;
use duramen_program::plan_cache::Cached;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::query_stats::{Origin, allowed, program_of, text_handle};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5031, &VIEW),
];

/// A name, the value with its type, whether the plan is found by it.
type Attribute = (&'static str, T, Value, bool);

columns! { Attribute;
    "attribute", T::varchar(128), NOT_NULL, |a| Value::varchar(a.0);
    "value", T::VARIANT, NULL, |a| Value::Variant(Box::new((a.1, a.2.clone())));
    "is_cache_key", T::BIT, NOT_NULL, |a| bit(a.3);
}

const ANSI_NULLS: i32 = 32;
const QUOTED_IDENTIFIER: i32 = 64;

fn options(nulls: bool, quoted: bool) -> i32 {
    i32::from(nulls) * ANSI_NULLS + i32::from(quoted) * QUOTED_IDENTIFIER
}

/// Of a batch what its key says, of a module what it was made with.
fn set_options(cx: &Context, cached: &Cached, origin: &Origin) -> Option<i32> {
    if let Some(id) = origin.procedure {
        if let Some(module) = duramen_program::resource::by_id(id) {
            return Some(options(module.ansi_nulls, module.quoted_identifier));
        }
        let db = cx.instance.databases.get(DbId(origin.database?))?;
        let snapshot = db.catalog.snapshot().ok()?;
        let module = snapshot.module(ObjectId(id))?;
        return Some(options(module.ansi_nulls, module.quoted_identifier));
    }
    let flags = cached.key.split('\u{1}').nth(1)?.as_bytes();
    Some(options(
        flags.get(1) == Some(&b'1'),
        flags.first() == Some(&b'1'),
    ))
}

/// A number of a batch's text (FNV-1a).
fn hash_of(text: &str) -> i32 {
    let step = |h: u32, b: u8| (h ^ u32::from(b)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811C_9DC5, step) as i32
}

fn attributes(cx: &Context, cached: &Cached) -> Vec<Attribute> {
    let origin = Origin::of(&cx.instance, &cached.key);
    let number = |name, n: i64, key| (name, T::INT, int(n), key);
    let program = &cached.program;
    let object = origin.procedure.unwrap_or_else(|| hash_of(&program.text));
    let users = cx.instance.sessions().into_iter().filter(|s| {
        let runs = s.programs().iter().any(|p| p.stats.id == program.stats.id);
        runs && s.glance().running
    });
    let users = users.count() as u64;
    let runs = program.stats.whole.executions.load(Relaxed) + users;
    let mut all = Vec::new();
    if let Some(options) = set_options(cx, cached, &origin) {
        all.push(number("set_options", i64::from(options), true));
    }
    all.push(number("objectid", i64::from(object), true));
    if let Some(database) = origin.database {
        all.push(number("dbid", i64::from(database), true));
    }
    all.extend([
        number("dbid_execute", 0, true),
        number("user_id", -2, true),
        // There are no cursors, and no MERGE.
        number("required_cursor_options", 0, true),
        number("acceptable_cursor_options", 0, true),
        ("merge_action_type", T::SMALLINT, small(0), true),
        number("inuse_exec_context", users as i64, false),
        number("hits_exec_context", runs.saturating_sub(1) as i64, false),
        number("misses_exec_context", runs.min(1) as i64, false),
        number("inuse_cursors", 0, false),
        number("free_cursors", 0, false),
        number("hits_cursors", 0, false),
        number("misses_cursors", 0, false),
        ("sql_handle", T::varbinary(64), text_handle(program), false),
    ]);
    all
}

pub const VIEW: View = View::new(
    "dm_exec_plan_attributes",
    SERVER_STATE,
    COLUMNS,
    |cx, args| {
        let Some(id) = args.first().and_then(program_of) else {
            return Ok(Vec::new());
        };
        let found = allowed(cx)?.into_iter().find(|c| c.program.stats.id == id);
        Ok(found.map_or(Vec::new(), |cached| {
            attributes(cx, &cached).iter().map(row).collect()
        }))
    },
);
