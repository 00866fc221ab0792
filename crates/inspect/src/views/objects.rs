//! `sys.objects`, `sys.all_objects`, `sys.system_objects`, `sys.tables` and `sys.schemas`.
//!
//! Base tables and the declared views have no row in the catalog: they are listed from their declarations. A view's
//! object id is negative, as those of SQL Server's system objects are, and ours: no system object shares it.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_catalog::system_tables::{SystemTable, system_tables};
use duramen_catalog::{ObjectDef, ObjectKind, SCHEMA_SYS, SchemaDef, Snapshot, TableDef};
use duramen_program::column::*;
use duramen_types::{DateTime, SqlType as T, Value};

use super::{View, every};
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1005, &TABLES),
    (-1006, &OBJECTS),
    (-1008, &SCHEMAS),
    (-1020, &ALL_OBJECTS),
    (-1021, &SYSTEM_OBJECTS),
    (-1052, &SYNONYMS),
    (-1053, &TRIGGERS),
    (-1054, &TRIGGER_EVENTS),
];

/// When the declared objects were made: they come with the program.
const BUILT: DateTime = DateTime {
    days: 46_345,
    ticks: 0,
};

/// An object, whether from the catalog or declared.
#[derive(Clone)]
pub struct Object {
    pub name: String,
    pub id: i32,
    pub schema: i32,
    pub parent: i32,
    pub kind: ObjectKind,
    pub created: DateTime,
    pub modified: DateTime,
    /// Part of the system.
    pub shipped: bool,
    /// The system made the name up.
    pub made_up: bool,
}

impl Object {
    pub fn of(o: &ObjectDef) -> Object {
        Object {
            name: o.name.clone(),
            id: o.id.0,
            schema: o.schema,
            parent: o.parent.0,
            kind: o.kind,
            created: o.created,
            modified: o.modified,
            shipped: false,
            made_up: o.system_named(),
        }
    }

    fn declared(name: &str, id: i32, kind: ObjectKind) -> Object {
        Object {
            name: name.to_owned(),
            id,
            schema: SCHEMA_SYS,
            parent: 0,
            kind,
            created: BUILT,
            modified: BUILT,
            shipped: true,
            made_up: false,
        }
    }

    fn base(t: &SystemTable) -> Object {
        Object::declared(t.name, t.id, ObjectKind::SYSTEM_TABLE)
    }
}

/// `type_desc` of a type.
pub fn kind_desc(kind: ObjectKind) -> &'static str {
    match &kind.0 {
        b"S " => "SYSTEM_TABLE",
        b"U " => "USER_TABLE",
        b"V " => "VIEW",
        b"P " => "SQL_STORED_PROCEDURE",
        b"X " => "EXTENDED_STORED_PROCEDURE",
        b"SN" => "SYNONYM",
        b"TT" => "TYPE_TABLE",
        b"FN" => "SQL_SCALAR_FUNCTION",
        b"IF" => "SQL_INLINE_TABLE_VALUED_FUNCTION",
        b"TF" => "SQL_TABLE_VALUED_FUNCTION",
        b"TR" => "SQL_TRIGGER",
        b"D " => "DEFAULT_CONSTRAINT",
        b"C " => "CHECK_CONSTRAINT",
        b"PK" => "PRIMARY_KEY_CONSTRAINT",
        b"UQ" => "UNIQUE_CONSTRAINT",
        b"F " => "FOREIGN_KEY_CONSTRAINT",
        _ => "",
    }
}

/// The twelve columns that every list of objects begins with, of anything that has an object.
macro_rules! object_columns {
    ($source:ty, $object:expr; $($rest:tt)*) => {
        columns! { $source;
            "name", T::SYSNAME, NOT_NULL, |s| text(&$object(s).name);
            "object_id", T::INT, NOT_NULL, |s| int($object(s).id);
            "principal_id", T::INT, NULL, |_| Value::Null;
            "schema_id", T::INT, NOT_NULL, |s| int($object(s).schema);
            "parent_object_id", T::INT, NOT_NULL, |s| int($object(s).parent);
            "type", T::char(2), NULL, |s| Value::varchar($object(s).kind.as_str());
            "type_desc", DESC, NULL, |s| text(crate::views::objects::kind_desc($object(s).kind));
            "create_date", T::DATETIME, NOT_NULL, |s| Value::DateTime($object(s).created);
            "modify_date", T::DATETIME, NOT_NULL, |s| Value::DateTime($object(s).modified);
            "is_ms_shipped", T::BIT, NOT_NULL, |s| bit($object(s).shipped);
            "is_published", T::BIT, NOT_NULL, |_| bit(false);
            "is_schema_published", T::BIT, NOT_NULL, |_| bit(false);
            $($rest)*
        }
    };
}
pub(super) use object_columns;

fn itself(o: &Object) -> &Object {
    o
}

object_columns! { Object, itself; }

pub fn snapshot(cx: &Context) -> SqlResult<Arc<Snapshot>> {
    Ok(cx.visible()?.snapshot.clone())
}

/// The tables of users, then the base tables.
pub fn tables(cx: &Context, base: bool) -> SqlResult<Vec<Arc<TableDef>>> {
    let snapshot = snapshot(cx)?;
    let mut all: Vec<Arc<TableDef>> = snapshot.tables.values().cloned().collect();
    if base {
        all.extend(system_tables().filter_map(|t| snapshot.table(t.object()).cloned()));
    }
    Ok(all)
}

fn users(cx: &Context) -> SqlResult<Vec<Object>> {
    let snapshot = snapshot(cx)?;
    Ok(snapshot.objects.values().map(|o| Object::of(o)).collect())
}

/// Views and functions that are declared.
pub fn declared() -> impl Iterator<Item = Object> {
    let modules = duramen_program::resource::listed().map(|m| Object {
        schema: m.schema,
        ..Object::declared(&m.name, m.id.0, m.kind)
    });
    let views = every().map(|l| {
        let kind = match l.is_function {
            true => ObjectKind::INLINE_FUNCTION,
            false => ObjectKind::VIEW,
        };
        Object::declared(l.view.name, l.id, kind)
    });
    let coded = duramen_program::coded::all().map(|c| Object::declared(c.name, c.id(), c.kind));
    views.chain(modules).chain(coded)
}

fn rows(objects: impl Iterator<Item = Object>) -> Vec<Vec<Value>> {
    objects.map(|o| row(&o)).collect()
}

/// Base tables are objects of every database; system views are not in `sys.objects`.
pub const OBJECTS: View = View::new("objects", VISIBLE, COLUMNS, |cx, _| {
    Ok(rows(
        users(cx)?
            .into_iter()
            .chain(system_tables().map(Object::base)),
    ))
});

pub const ALL_OBJECTS: View = View::new("all_objects", VISIBLE, COLUMNS, |cx, _| {
    let system = system_tables().map(Object::base).chain(declared());
    Ok(rows(users(cx)?.into_iter().chain(system)))
});

pub const SYSTEM_OBJECTS: View = View::new("system_objects", FACTS, COLUMNS, |_, _| {
    Ok(rows(system_tables().map(Object::base).chain(declared())))
});

pub use table::TABLES;

mod table {
    use super::*;

    pub struct Source {
        object: Object,
        table: Arc<TableDef>,
        /// 0 without a column of large values.
        lob_filegroup: u16,
    }

    fn object(s: &Source) -> &Object {
        &s.object
    }

    object_columns! { Source, object;
        "lob_data_space_id", T::INT, NOT_NULL, |s| int(s.lob_filegroup);
        "filestream_data_space_id", T::INT, NULL, |_| Value::Null;
        "max_column_id_used", T::INT, NOT_NULL, |s| {
            int(s.table.columns.iter().map(|c| c.id).max().unwrap_or(0))
        };
        "lock_on_bulk_load", T::BIT, NOT_NULL, |_| bit(false);
        "uses_ansi_nulls", T::BIT, NULL, |_| bit(true);
        "is_replicated", T::BIT, NULL, |_| bit(false);
        "has_replication_filter", T::BIT, NULL, |_| bit(false);
        "is_merge_published", T::BIT, NULL, |_| bit(false);
        "is_sync_tran_subscribed", T::BIT, NULL, |_| bit(false);
        "has_unchecked_assembly_data", T::BIT, NOT_NULL, |_| bit(false);
        "text_in_row_limit", T::INT, NULL, |_| int(0);
        "large_value_types_out_of_row", T::BIT, NULL, |_| bit(false);
        "is_tracked_by_cdc", T::BIT, NULL, |_| bit(false);
        "lock_escalation", T::TINYINT, NULL, |_| tiny(0);
        "lock_escalation_desc", DESC, NULL, |_| text("TABLE");
        "is_filetable", T::BIT, NULL, |_| bit(false);
        "is_memory_optimized", T::BIT, NULL, |_| bit(false);
        "durability", T::TINYINT, NULL, |_| tiny(0);
        "durability_desc", DESC, NULL, |_| text("SCHEMA_AND_DATA");
        "temporal_type", T::TINYINT, NULL, |_| tiny(0);
        "temporal_type_desc", DESC, NULL, |_| text("NON_TEMPORAL_TABLE");
        "history_table_id", T::INT, NULL, |_| Value::Null;
        "is_remote_data_archive_enabled", T::BIT, NULL, |_| bit(false);
        "is_external", T::BIT, NOT_NULL, |_| bit(false);
        "history_retention_period", T::INT, NULL, |_| Value::Null;
        "history_retention_period_unit", T::INT, NULL, |_| Value::Null;
        "history_retention_period_unit_desc", T::nvarchar(10), NULL, |_| Value::Null;
        "is_node", T::BIT, NULL, |_| bit(false);
        "is_edge", T::BIT, NULL, |_| bit(false);
        "data_retention_period", T::INT, NULL, |_| Value::Null;
        "data_retention_period_unit", T::INT, NULL, |_| Value::Null;
        "data_retention_period_unit_desc", T::nvarchar(10), NULL, |_| Value::Null;
        "ledger_type", T::TINYINT, NULL, |_| tiny(0);
        "ledger_type_desc", DESC, NULL, |_| text("NON_LEDGER_TABLE");
        "ledger_view_id", T::INT, NULL, |_| Value::Null;
        "is_dropped_ledger_table", T::BIT, NULL, |_| bit(false);
    }

    pub const TABLES: View = View::new("tables", VISIBLE, COLUMNS, |cx, _| {
        let snapshot = snapshot(cx)?;
        let db = cx.instance.databases.find(&cx.database);
        let source = |table: &Arc<TableDef>| {
            let object = snapshot.objects.get(&table.id)?;
            let large = table.data.lob_au.filter(|_| table.data.layout.has_large());
            let lob = large.zip(db.as_ref());
            Some(row(&Source {
                object: Object::of(object),
                table: table.clone(),
                lob_filegroup: lob.map_or(0, |(au, db)| db.db.filegroup_of(au)),
            }))
        };
        Ok(snapshot.tables.values().filter_map(source).collect())
    });
}

pub use synonyms::SYNONYMS;

mod synonyms {
    use duramen_catalog::ModuleDef;

    use super::*;

    pub struct Source {
        object: Object,
        stands_for: Arc<ModuleDef>,
    }

    fn object(s: &Source) -> &Object {
        &s.object
    }

    object_columns! { Source, object;
        "base_object_name", T::nvarchar(1035), NULL, |s| text(&s.stands_for.text);
    }

    pub const SYNONYMS: View = View::new("synonyms", VISIBLE, COLUMNS, |cx, _| {
        let snapshot = snapshot(cx)?;
        let source = |module: &Arc<ModuleDef>| {
            let object = snapshot.objects.get(&module.id)?;
            Some(row(&Source {
                object: Object::of(object),
                stands_for: module.clone(),
            }))
        };
        let all = snapshot.modules.values();
        let synonyms = all.filter(|m| m.kind == ObjectKind::SYNONYM);
        Ok(synonyms.filter_map(source).collect())
    });
}

pub use triggers::{TRIGGER_EVENTS, TRIGGERS};

mod triggers {
    use duramen_catalog::{TriggerDef, trigger_events};

    use super::*;

    pub struct Source {
        object: Object,
        trigger: TriggerDef,
    }

    columns! { Source;
        "name", T::SYSNAME, NOT_NULL, |s| text(&s.object.name);
        "object_id", T::INT, NOT_NULL, |s| int(s.object.id);
        "parent_class", T::TINYINT, NOT_NULL, |_| tiny(1);
        "parent_class_desc", DESC, NULL, |_| text("OBJECT_OR_COLUMN");
        "parent_id", T::INT, NOT_NULL, |s| int(s.object.parent);
        "type", T::char(2), NOT_NULL, |_| Value::varchar("TR");
        "type_desc", DESC, NULL, |_| text("SQL_TRIGGER");
        "create_date", T::DATETIME, NOT_NULL, |s| Value::DateTime(s.object.created);
        "modify_date", T::DATETIME, NOT_NULL, |s| Value::DateTime(s.object.modified);
        "is_ms_shipped", T::BIT, NOT_NULL, |_| bit(false);
        "is_disabled", T::BIT, NOT_NULL, |s| bit(s.trigger.disabled);
        "is_not_for_replication", T::BIT, NOT_NULL, |_| bit(false);
        "is_instead_of_trigger", T::BIT, NOT_NULL, |_| bit(false);
    }

    fn sources(cx: &Context) -> SqlResult<Vec<Source>> {
        let snapshot = snapshot(cx)?;
        let triggers = snapshot.tables.values().flat_map(|t| &t.triggers);
        let source = |trigger: &TriggerDef| {
            Some(Source {
                object: Object::of(snapshot.objects.get(&trigger.id)?),
                trigger: trigger.clone(),
            })
        };
        Ok(triggers.filter_map(source).collect())
    }

    pub const TRIGGERS: View = View::new("triggers", VISIBLE, COLUMNS, |cx, _| {
        Ok(sources(cx)?.iter().map(row).collect())
    });

    pub use events::TRIGGER_EVENTS;

    mod events {
        use super::*;

        /// Trigger, event, name.
        pub struct Event(i32, i32, &'static str);

        columns! { Event;
            "object_id", T::INT, NOT_NULL, |e| int(e.0);
            "type", T::INT, NOT_NULL, |e| int(e.1);
            "type_desc", DESC, NULL, |e| text(e.2);
            "is_first", T::BIT, NOT_NULL, |_| bit(false);
            "is_last", T::BIT, NOT_NULL, |_| bit(false);
            "event_group_type", T::INT, NULL, |_| Value::Null;
            "event_group_type_desc", DESC, NULL, |_| Value::Null;
            "is_trigger_event", T::BIT, NULL, |_| bit(true);
        }

        const ALL: [(u8, i32, &str); 3] = [
            (trigger_events::INSERT, 1, "INSERT"),
            (trigger_events::UPDATE, 2, "UPDATE"),
            (trigger_events::DELETE, 3, "DELETE"),
        ];

        pub const TRIGGER_EVENTS: View = View::new("trigger_events", VISIBLE, COLUMNS, |cx, _| {
            let mut rows = Vec::new();
            for s in sources(cx)? {
                let of = ALL.iter().filter(|(bit, ..)| s.trigger.events & bit != 0);
                rows.extend(of.map(|(_, n, name)| row(&Event(s.object.id, *n, name))));
            }
            Ok(rows)
        });
    }
}

pub use schema::SCHEMAS;

mod schema {
    use super::*;

    columns! { SchemaDef;
        "name", T::SYSNAME, NOT_NULL, |s| text(&s.name);
        "schema_id", T::INT, NOT_NULL, |s| int(s.id);
        "principal_id", T::INT, NULL, |s| int(s.owner);
    }

    pub const SCHEMAS: View = View::new("schemas", VISIBLE, COLUMNS, |cx, _| {
        let snapshot = snapshot(cx)?;
        Ok(snapshot.schemas.values().map(|s| row(s)).collect())
    });
}
