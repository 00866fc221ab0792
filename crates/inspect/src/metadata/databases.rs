//! DATABASEPROPERTYEX and its predecessor DATABASEPROPERTY: what is asked of a database by a word.
//!
//! Source of the words: their pages in the T-SQL reference. Both give NULL for a database or a word that is not known.

use duramen_access::database_options::option;
use duramen_access::database_options::switch;
use duramen_base::SqlResult;
use duramen_catalog::fold;
use duramen_core::session_core::SessionCore;
use duramen_core::unavailable::DatabaseState;
use duramen_types::{CollationId, SqlType, Value};

use crate::functions::{Args, int, variant_int, variant_text};

/// Words that tell an option of ALTER DATABASE.
const SWITCHES: &[(&str, &str)] = &[
    ("isansinulldefault", "ANSI_NULL_DEFAULT"),
    ("isansinullsenabled", "ANSI_NULLS"),
    ("isansipaddingenabled", "ANSI_PADDING"),
    ("isansiwarningsenabled", "ANSI_WARNINGS"),
    ("isarithmeticabortenabled", "ARITHABORT"),
    ("isautocreatestatistics", "AUTO_CREATE_STATISTICS"),
    ("isautoupdatestatistics", "AUTO_UPDATE_STATISTICS"),
    ("isclosecursorsoncommitenabled", "CURSOR_CLOSE_ON_COMMIT"),
    ("isnullconcat", "CONCAT_NULL_YIELDS_NULL"),
    ("isnumericroundabortenabled", "NUMERIC_ROUNDABORT"),
    ("isquotedidentifiersenabled", "QUOTED_IDENTIFIER"),
];

/// What no database here ever is.
const NEVER: &[&str] = &[
    "isautoclose",
    "isautocreatestatisticsincremental",
    "isautoshrink",
    "isclone",
    "isdatabasesuspendedforsnapshotbackup",
    "isfulltextenabled",
    "islocalcursorsdefault",
    "ismemoryoptimizedelevatetosnapshotenabled",
    "ismergepublished",
    "isparameterizationforced",
    "ispublished",
    "isrecursivetriggersenabled",
    "issubscribed",
    "issyncwithbackup",
    "istornpagedetectionenabled",
    "isverifiedclone",
    "isxtpsupported",
];

/// What no database here ever is, by the words of DATABASEPROPERTY alone.
const NEVER_ONCE: &[&str] = &["isdetached", "isshutdown"];

/// A property that is an option or never so.
fn flag(word: &str, options: u64) -> Option<bool> {
    let known = SWITCHES.iter().find(|(property, _)| *property == word);
    if word == "isinstandby" {
        return Some(options & option::STANDBY != 0);
    }
    match known {
        Some((_, name)) => switch(options, name),
        None => NEVER.contains(&word).then_some(false),
    }
}

pub(super) fn property_ex(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(name), Some(word)) = (args.name(0), args.property(1)) else {
        return Ok(Value::Null);
    };
    let all = s.instance.databases.listed();
    let found = all.into_iter().find(|(e, _)| fold(&e.name) == fold(&name));
    let Some((entry, db)) = found else {
        return Ok(Value::Null);
    };
    let has = |bits: u64| entry.options & bits != 0;
    let boot = db.as_ref().map(|d| d.db.boot());
    let of_collation = |f: &dyn Fn(CollationId) -> Option<Value>| {
        let id = boot.as_ref().map(|b| CollationId(b.collation));
        id.and_then(f).unwrap_or(Value::Null)
    };
    Ok(match word.as_str() {
        "collation" => of_collation(&|c| c.name().map(variant_text)),
        "comparisonstyle" => of_collation(&|c| Some(variant_int(c.comparison_style() as i32))),
        "lcid" => of_collation(&|c| Some(variant_int(c.lcid() as i32))),
        "sqlsortorder" => of_collation(&|c| {
            let order = Value::TinyInt(c.sort_id());
            Some(Value::Variant(Box::new((SqlType::TINYINT, order))))
        }),
        "edition" => variant_text("Duramen"),
        "recovery" => variant_text(duramen_admin::backup::model_name(entry.options)),
        "status" => variant_text(match s.instance.databases.state(entry.id) {
            DatabaseState::Online => "ONLINE",
            DatabaseState::Offline => "OFFLINE",
            DatabaseState::Restoring => "RESTORING",
            DatabaseState::Recovering => "RECOVERING",
            DatabaseState::Emergency => "EMERGENCY",
            // The property knows no RECOVERY_PENDING.
            _ => "SUSPECT",
        }),
        "updateability" if has(option::READ_ONLY) => variant_text("READ_ONLY"),
        "updateability" => variant_text("READ_WRITE"),
        "useraccess" if has(option::SINGLE_USER) => variant_text("SINGLE_USER"),
        "useraccess" if has(option::RESTRICTED_USER) => variant_text("RESTRICTED_USER"),
        "useraccess" => variant_text("MULTI_USER"),
        "lastgoodcheckdbtime" => boot.map_or(Value::Null, |b| {
            let (days, ticks) = b.own.map_or((0, 0), |o| o.last_good_check);
            let when = Value::DateTime(duramen_types::DateTime { days, ticks });
            Value::Variant(Box::new((SqlType::DATETIME, when)))
        }),
        "version" => boot.map_or(Value::Null, |b| variant_int(i32::from(b.version))),
        word => match flag(word, entry.options) {
            Some(on) => variant_int(i32::from(on)),
            None => Value::Null,
        },
    })
}

pub(super) fn property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(name), Some(word)) = (args.name(0), args.property(1)) else {
        return Ok(Value::Null);
    };
    let all = s.instance.databases.listed();
    let found = all.into_iter().find(|(e, _)| fold(&e.name) == fold(&name));
    let Some((entry, db)) = found else {
        return Ok(Value::Null);
    };
    let has = |bits: u64| entry.options & bits != 0;
    let state = s.instance.databases.state(entry.id);
    let models = option::RECOVERY_FULL | option::BULK_LOGGED;
    let on = match word.as_str() {
        "version" => return int(db.map(|d| i32::from(d.db.boot().version))),
        "isbulkcopy" => !has(option::RECOVERY_FULL),
        "isdboonly" => has(option::RESTRICTED_USER),
        "isinload" => state == DatabaseState::Restoring,
        "isinrecovery" => state == DatabaseState::Recovering,
        "isnotrecovered" | "issuspect" => !matches!(
            state,
            DatabaseState::Online
                | DatabaseState::Offline
                | DatabaseState::Restoring
                | DatabaseState::Recovering
                | DatabaseState::Emergency
        ),
        "isemergencymode" => state == DatabaseState::Emergency,
        "isoffline" => state == DatabaseState::Offline,
        "isreadonly" => has(option::READ_ONLY),
        "issingleuser" => has(option::SINGLE_USER),
        "istrunclog" => !has(models),
        word if NEVER_ONCE.contains(&word) => false,
        word => return int(flag(word, entry.options).map(i32::from)),
    };
    int(Some(i32::from(on)))
}
