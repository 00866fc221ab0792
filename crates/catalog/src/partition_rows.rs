//! Partition functions and schemes as rows of base tables.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_storage::KeyColumn;
use duramen_types::{SqlType, Value};

use crate::cells::{date, int, text};
use crate::partitions::{PartitionFunctionDef, PartitionSchemeDef, Place};
use crate::rows::{Base, id};
use crate::snapshot::Snapshot;

/// `sysclsobjs.class`
pub(crate) const CLASS_FUNCTION: i64 = 30;
pub(crate) const CLASS_SCHEME: i64 = 31;
/// `sysobjvalues.valclass` of boundaries.
pub(crate) const VALUE_BOUNDARY: i64 = 30;
/// `syssingleobjrefs.class` of a scheme's filegroups.
pub(crate) const REF_DESTINATION: i64 = 31;
/// `sysclsobjs.status`: RANGE RIGHT.
pub(crate) const STATUS_RIGHT: i64 = 1;
/// Ids begin here.
pub(crate) const FIRST_FUNCTION: i32 = 65_536;
pub(crate) const FIRST_SCHEME: i32 = 65_601;

/// The keys of a clustered index: a scheme adds its column to those of one that is not unique.
pub(crate) fn with_partitioning(
    keys: &[KeyColumn],
    unique: bool,
    column: Option<usize>,
) -> Vec<KeyColumn> {
    let mut keys = keys.to_vec();
    if let Some(column) = column
        && !unique
        && !keys.iter().any(|k| k.column == column)
    {
        keys.push(KeyColumn {
            column,
            desc: false,
        });
    }
    keys
}

/// What a nonclustered index has besides its declared columns: its partitioning column, and that of the heap below it.
pub(crate) fn with_hidden(
    includes: &[usize],
    own: Option<usize>,
    table: Option<usize>,
) -> Vec<usize> {
    let mut all = includes.to_vec();
    all.extend(own.into_iter().chain(table));
    all
}

impl Place {
    pub(crate) fn column(self) -> Option<usize> {
        match self {
            Place::Scheme { column, .. } => Some(column),
            _ => None,
        }
    }
}

pub(crate) fn boundary_key(function: i32) -> [Value; 2] {
    [Value::TinyInt(VALUE_BOUNDARY as u8), Value::Int(function)]
}

/// Reads all functions and schemes into a snapshot.
pub(crate) fn load(base: &Base<'_>, out: &mut Snapshot) -> SqlResult<()> {
    for row in base.rows(id::CLSOBJS, &[Value::TinyInt(CLASS_FUNCTION as u8)])? {
        let function = int(&row, 1) as i32;
        let Some(parameter) = base
            .rows(id::COLPARS, &[Value::Int(function)])?
            .into_iter()
            .next()
        else {
            continue;
        };
        let ty = SqlType::from_catalog(
            int(&parameter, 4) as u8,
            int(&parameter, 6) as i16,
            int(&parameter, 7) as u8,
            int(&parameter, 8) as u8,
            int(&parameter, 9) as u32,
        );
        let Some(ty) = ty else { continue };
        let mut boundaries = base.rows(id::OBJVALUES, &boundary_key(function))?;
        boundaries.sort_by_key(|r| int(r, 2));
        let value = |r: Vec<Value>| match r.into_iter().nth(4) {
            Some(Value::Variant(v)) => v.1,
            _ => Value::Null,
        };
        let def = PartitionFunctionDef {
            id: function,
            name: text(&row, 2),
            ty,
            right: int(&row, 3) & STATUS_RIGHT != 0,
            boundaries: boundaries.into_iter().map(value).collect(),
            created: date(&row, 6),
            modified: date(&row, 7),
        };
        out.partition_functions.insert(function, Arc::new(def));
    }
    for row in base.rows(id::CLSOBJS, &[Value::TinyInt(CLASS_SCHEME as u8)])? {
        let scheme = int(&row, 1) as i32;
        // Filegroups are of the same class.
        if scheme < FIRST_SCHEME {
            continue;
        }
        let function = int(&row, 5) as i32;
        let mut to = base.rows(id::SINGLEOBJREFS, &[Value::Int(scheme)])?;
        to.retain(|r| int(r, 0) == REF_DESTINATION);
        to.sort_by_key(|r| int(r, 2));
        let mut destinations: Vec<u16> = to.iter().map(|r| int(r, 3) as u16).collect();
        let fanout = out
            .partition_functions
            .get(&function)
            .map_or(0, |f| f.fanout());
        let next_used = match destinations.len() > fanout {
            true => destinations.pop(),
            false => None,
        };
        let def = PartitionSchemeDef {
            id: scheme,
            name: text(&row, 2),
            function,
            destinations,
            next_used,
        };
        out.partition_schemes.insert(scheme, Arc::new(def));
    }
    Ok(())
}
