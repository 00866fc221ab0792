//! OBJECTPROPERTY, INDEXPROPERTY, TYPEPROPERTY and their kin: yes, no or a number about something of the current database,
//! NULL for what is not there and for properties that do not apply.

use std::sync::Arc;

use duramen_base::{ObjectId, SqlResult};
use duramen_catalog::{IndexDef, ModuleDef, ObjectDef, ObjectKind, Snapshot, TableDef, fold};
use duramen_core::session_core::SessionCore;
use duramen_types::{SqlType, TypeId, Value};

use super::{current, database};
use crate::functions::{Args, int, text, variant_int, variant_text};

/// The object with that id, and its table or module.
struct Found {
    snapshot: Arc<Snapshot>,
    object: Arc<ObjectDef>,
}

impl Found {
    fn table(&self) -> Option<&Arc<TableDef>> {
        self.snapshot.table(self.object.id)
    }

    fn module(&self) -> Option<&Arc<ModuleDef>> {
        self.snapshot.module(self.object.id)
    }
}

fn object(s: &SessionCore, id: Option<i32>) -> SqlResult<Option<Found>> {
    let (Some(id), Some((_, snapshot))) = (id, current(s)?) else {
        return Ok(None);
    };
    let found = snapshot.objects.get(&ObjectId(id)).cloned();
    Ok(found.map(|object| Found { snapshot, object }))
}

pub fn object_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(found), Some(property)) = (object(s, args.int(0))?, args.property(1)) else {
        return int(None);
    };
    int(property_of(&found, &property))
}

/// OBJECTPROPERTYEX: the same as `sql_variant`, and two properties that are no numbers.
pub fn object_property_ex(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(found), Some(property)) = (object(s, args.int(0))?, args.property(1)) else {
        return Ok(Value::Null);
    };
    if property == "basetype" {
        let kind = found.object.kind.as_str().trim_end().to_owned();
        return Ok(variant_text(&kind));
    }
    Ok(property_of(&found, &property).map_or(Value::Null, variant_int))
}

fn property_of(found: &Found, property: &str) -> Option<i32> {
    let kind = found.object.kind;
    let is = |k: ObjectKind| Some(i32::from(kind == k));
    let any = |kinds: &[ObjectKind]| Some(i32::from(kinds.contains(&kind)));
    let constraints = [
        ObjectKind::PRIMARY_KEY,
        ObjectKind::UNIQUE,
        ObjectKind::FOREIGN_KEY,
        ObjectKind::CHECK,
        ObjectKind::DEFAULT,
    ];
    match property {
        "ownerid" => return Some(1),
        "schemaid" => return Some(found.object.schema),
        "istable" => return any(&[ObjectKind::TABLE, ObjectKind::SYSTEM_TABLE]),
        "isusertable" => return is(ObjectKind::TABLE),
        "issystemtable" => return is(ObjectKind::SYSTEM_TABLE),
        "isview" => return is(ObjectKind::VIEW),
        "isprocedure" => return is(ObjectKind::PROCEDURE),
        "istrigger" => return is(ObjectKind::TRIGGER),
        "isscalarfunction" => return is(ObjectKind::SCALAR_FUNCTION),
        "isinlinefunction" => return is(ObjectKind::INLINE_FUNCTION),
        "istablefunction" => {
            return any(&[ObjectKind::INLINE_FUNCTION, ObjectKind::TABLE_FUNCTION]);
        }
        "isprimarykey" => return is(ObjectKind::PRIMARY_KEY),
        "isuniquecnst" => return is(ObjectKind::UNIQUE),
        "isforeignkey" => return is(ObjectKind::FOREIGN_KEY),
        "ischeckcnst" => return is(ObjectKind::CHECK),
        "isdefaultcnst" => return is(ObjectKind::DEFAULT),
        "isconstraint" => return any(&constraints),
        "isexecuted" => return Some(i32::from(kind.is_module())),
        "ismsshipped" | "isreplproc" | "isextendedproc" | "isrule" | "isdefault" | "isqueue"
        | "issystemverified" | "isdeterministic" => return Some(0),
        _ => {}
    }
    if let Some(module) = found.module() {
        return match property {
            "execisansinullson" | "isansinullson" => Some(i32::from(module.ansi_nulls)),
            "execisquotedidenton" | "isquotedidenton" => Some(i32::from(module.quoted_identifier)),
            "isschemabound" => Some(i32::from(duramen_program::schema_bound::is_schema_bound(
                module,
            ))),
            "isencrypted" | "execisstartup" | "isindexed" | "isindexable" => Some(0),
            _ => None,
        };
    }
    let table = found.table()?;
    let flag = |b: bool| Some(i32::from(b));
    let index = |f: &dyn Fn(&IndexDef) -> bool| flag(table.indexes.iter().any(f));
    match property {
        "isansinullson" | "isquotedidenton" => Some(1),
        "tablehasprimarykey" => index(&|i| i.primary_key),
        "tablehasuniquecnst" => index(&|i| i.unique_constraint),
        "tablehasclustindex" => index(&|i| i.clustered),
        "tablehasnonclustindex" => index(&|i| !i.clustered),
        "tablehasindex" | "isindexed" => index(&|_| true),
        "tablehasidentity" => flag(table.identity_column().is_some()),
        "tablehasforeignkey" => flag(!table.foreign_keys.is_empty()),
        "tablehasforeignref" => flag(!table.referenced_by.is_empty()),
        "tablehascheckcnst" => flag(!table.checks.is_empty()),
        "tablehasdefaultcnst" => flag(table.columns.iter().any(|c| c.default.is_some())),
        "tablehastextimage" => flag(table.columns.iter().any(|c| c.ty.is_max())),
        "tablehastimestamp" => flag(table.columns.iter().any(|c| c.ty.id == TypeId::RowVersion)),
        "tabledeletetriggercount" | "tableinserttriggercount" | "tableupdatetriggercount" => None,
        "tablehascolumnset"
        | "tablehasrowguidcol"
        | "tablehasactivefulltextindex"
        | "tableisfake"
        | "tableislockedonbulkload"
        | "tableismemoryoptimized"
        | "tableispinned"
        | "tabletextinrowlimit"
        | "tabletemporaltype"
        | "tablefulltextcatalogid"
        | "tablehasvardecimalstorageformat" => Some(0),
        _ => None,
    }
}

/// OBJECT_DEFINITION: the text of a module, or the expression of a default or check.
pub fn object_definition(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let Some(found) = object(s, args.int(0))? else {
        return text(None);
    };
    let hidden = match database(s, None) {
        Some(db) => s.visible(&db)?.text(found.object.id, "").is_none(),
        None => true,
    };
    if hidden {
        return text(None);
    }
    if let Some(module) = found.module() {
        let shown = module.kind != ObjectKind::SYNONYM;
        return text(shown.then_some(&*module.text));
    }
    let id = found.object.id;
    let table = found.snapshot.table(found.object.parent);
    let default = table.and_then(|t| {
        let mut all = t.columns.iter().filter_map(|c| c.default.as_ref());
        all.find(|d| d.id == id).map(|d| d.text.clone())
    });
    let check = table.and_then(|t| t.checks.iter().find(|c| c.id == id).map(|c| c.text.clone()));
    text(default.or(check).as_deref())
}

fn index_property_of(index: &IndexDef, property: &str) -> Option<i32> {
    let flag = |b: bool| Some(i32::from(b));
    match property {
        "indexid" => Some(i32::from(index.id)),
        "isclustered" => flag(index.clustered),
        "isunique" => flag(index.unique),
        "indexfillfactor" => Some(0),
        "indexdepth" => None,
        "isautostatistics"
        | "isdisabled"
        | "isfulltextkey"
        | "ishypothetical"
        | "ispadindex"
        | "ispagelockdisallowed"
        | "isrowlockdisallowed"
        | "isstatistics"
        | "iscolumnstore" => Some(0),
        _ => None,
    }
}

pub fn index_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(found), Some(name), Some(property)) =
        (object(s, args.int(0))?, args.text(1), args.property(2))
    else {
        return int(None);
    };
    let statistics = found.table().and_then(|t| t.statistics(&name));
    if let Some(s) = statistics {
        return int(match property.as_str() {
            "indexid" => Some(i32::from(s.id)),
            "isstatistics" => Some(1),
            "isautostatistics" => Some(i32::from(s.automatic())),
            _ => Some(0),
        });
    }
    let index = found.table().and_then(|t| t.index(&name));
    int(index.and_then(|i| index_property_of(i, &property)))
}

/// The key of an index by its number: position in the table, descending.
fn key(table: &TableDef, index: Option<i32>, key: Option<i32>) -> Option<(usize, bool)> {
    let index = table
        .indexes
        .iter()
        .find(|i| Some(i32::from(i.id)) == index)?;
    let at = usize::try_from(key?.checked_sub(1)?).ok()?;
    index.keys.get(at).map(|k| (k.column, k.desc))
}

pub fn index_col(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let Some(name) = args.text(0) else {
        return text(None);
    };
    let Some(table) = super::table(s, &name)? else {
        return text(None);
    };
    let found = key(&table, args.int(1), args.int(2));
    text(found.map(|(at, _)| table.columns[at].name.as_str()))
}

pub fn index_key_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(found), Some(property)) = (object(s, args.int(0))?, args.property(3)) else {
        return int(None);
    };
    let Some(table) = found.table() else {
        return int(None);
    };
    let key = key(table, args.int(1), args.int(2));
    int(key.and_then(|(at, descending)| match property.as_str() {
        "columnid" => Some(table.columns[at].id),
        "isdescending" => Some(i32::from(descending)),
        _ => None,
    }))
}

/// TYPEPROPERTY(type, property) of the system's types.
pub fn type_property(_: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(name), Some(property)) = (args.property(0), args.property(1)) else {
        return int(None);
    };
    let name = name.trim_start_matches("sys.").to_owned();
    let ty = match name.as_str() {
        "sysname" => Some(SqlType::SYSNAME),
        _ => TypeId::ALL
            .iter()
            .find(|t| t.name() == name)
            .map(|t| SqlType::widest(*t)),
    };
    let Some(ty) = ty else {
        return int(None);
    };
    int(match property.as_str() {
        "allowsnull" => Some(i32::from(name != "sysname")),
        "ownerid" => Some(4),
        "precision" => Some(match ty.char_capacity() {
            _ if ty.precision > 0 => i32::from(ty.precision),
            Some(n) => n as i32,
            None => -1,
        }),
        "scale" if ty.id.is_numeric() && !ty.id.is_approximate() || ty.id.is_temporal() => {
            Some(i32::from(ty.scale))
        }
        "usesansitrim" if ty.id.is_string() || ty.id.is_binary() => Some(1),
        _ => None,
    })
}

/// STATS_DATE: when the values of the first column were looked at; NULL before.
pub fn stats_date(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let (Some(found), Some(id), Some(db)) =
        (object(s, args.int(0))?, args.int(1), database(s, None))
    else {
        return Ok(Value::Null);
    };
    let made = found.table().and_then(|t| {
        let index = t.indexes.iter().find(|i| i32::from(i.id) == id);
        let column = match index {
            Some(i) => i.keys.first()?.column,
            None => t.leading(t.statistics.iter().find(|s| i32::from(s.id) == id)?)?,
        };
        db.statistics.known(t, column)
    });
    Ok(made.map_or(Value::Null, |m| {
        Value::DateTime(duramen_catalog::date_time(m.at.unix_nanos()))
    }))
}

/// Id, name and whether it is the default, of each filegroup of the current database.
fn filegroups(s: &SessionCore) -> Vec<(i32, String, bool)> {
    let groups = database(s, None)
        .map(|d| d.db.filegroups())
        .unwrap_or_default();
    groups
        .into_iter()
        .map(|g| (i32::from(g.id), g.name, g.is_default))
        .collect()
}

pub fn filegroup_id(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let name = args.text(0).map(|n| fold(&n));
    let found = filegroups(s).into_iter().find(|g| Some(fold(&g.1)) == name);
    int(found.map(|g| g.0))
}

pub fn filegroup_name(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let id = args.int(0);
    let found = filegroups(s).into_iter().find(|g| Some(g.0) == id);
    text(found.as_ref().map(|g| g.1.as_str()))
}

pub fn filegroup_property(s: &SessionCore, args: &Args<'_>) -> SqlResult<Value> {
    let name = args.text(0).map(|n| fold(&n));
    let found = filegroups(s).into_iter().find(|g| Some(fold(&g.1)) == name);
    let property = args.property(1).unwrap_or_default();
    int(found.and_then(|g| match property.as_str() {
        "isreadonly" => Some(0),
        "isuserdefinedfg" => Some(i32::from(g.0 != 1)),
        "isdefault" => Some(i32::from(g.2)),
        _ => None,
    }))
}
