//! Base table rows into a snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_base::{AllocUnitId, ObjectId, RowsetId, SqlError, SqlResult, messages};
use duramen_format::RowLayout;
use duramen_storage::{KeyColumn, RowsetDef};
use duramen_types::{SqlType, Value};

use crate::bootstrap::{
    CLASS_SCHEMA, COLUMN_COMPUTED, COLUMN_IDENTITY, COLUMN_NOT_NULL, COLUMN_PERSISTED,
    COLUMN_ROWGUID,
};
use crate::cells::{
    FIRST_USER_OBJECT, FIRST_USER_ROWSET, REF_FK_COLUMN, REF_FK_REFERENCED, REF_FK_TABLE,
    VALUE_TEXT, date, decode_text, int, text,
};
use crate::def::*;
use crate::describe::{column_status, index_status};
use crate::identity::decode_idtval;
use crate::partition_rows::{with_hidden, with_partitioning};
use crate::partitions::Partitioned;
use crate::rows::{Base, id};
use crate::shape::{Keys, RowsetIds, data_rowset, index_rowset};
use crate::snapshot::Snapshot;

fn broken(what: &str) -> SqlError {
    let _ = what;
    SqlError::new(&messages::INCONSISTENCY, &[&what.len()])
}

/// Rows by object, all read at once: a catalog is small, and its tables are ordered by object.
struct Rows {
    objects: Vec<Vec<Value>>,
    columns: BTreeMap<i32, Vec<Vec<Value>>>,
    indexes: BTreeMap<i32, Vec<Vec<Value>>>,
    index_columns: BTreeMap<(i32, i32), Vec<Vec<Value>>>,
    placements: BTreeMap<i64, Vec<Vec<Value>>>,
    units: BTreeMap<(i64, u8), AllocUnitId>,
    /// By object and part: 0 for the object itself, else a column.
    texts: BTreeMap<(i32, i32), String>,
    references: BTreeMap<i32, Vec<Vec<Value>>>,
    /// Rowsets by object and index, in the order of their partitions.
    rowsets: BTreeMap<(i32, i32), Vec<(i64, i64)>>,
}

impl Rows {
    fn text(&self, object: ObjectId) -> String {
        self.part_text(object, 0)
    }

    fn part_text(&self, object: ObjectId, part: i32) -> String {
        let found = self.texts.get(&(object.0, part));
        // The files of SQL Server number the text of a procedure.
        let found = found.or_else(|| self.texts.get(&(object.0, 1)).filter(|_| part == 0));
        found.cloned().unwrap_or_default()
    }
}

fn group(rows: Vec<Vec<Value>>, at: usize) -> BTreeMap<i32, Vec<Vec<Value>>> {
    let mut out: BTreeMap<i32, Vec<Vec<Value>>> = BTreeMap::new();
    for row in rows {
        out.entry(int(&row, at) as i32).or_default().push(row);
    }
    out
}

fn read(base: &Base<'_>) -> SqlResult<Rows> {
    let object = Value::Int(FIRST_USER_OBJECT);
    let rowset = Value::BigInt(FIRST_USER_ROWSET);
    let mut index_columns: BTreeMap<(i32, i32), Vec<Vec<Value>>> = BTreeMap::new();
    for row in base.rows_from(id::ISCOLS, object.clone())? {
        let key = (int(&row, 0) as i32, int(&row, 1) as i32);
        index_columns.entry(key).or_default().push(row);
    }
    let mut placements: BTreeMap<i64, Vec<Vec<Value>>> = BTreeMap::new();
    for row in base.rows_from(id::RSCOLS, rowset.clone())? {
        placements.entry(int(&row, 0)).or_default().push(row);
    }
    let mut rowsets: BTreeMap<(i32, i32), Vec<(i64, i64)>> = BTreeMap::new();
    for row in base.rows_from(id::ROWSETS, rowset.clone())? {
        let of = (int(&row, 2) as i32, int(&row, 3) as i32);
        rowsets
            .entry(of)
            .or_default()
            .push((int(&row, 4), int(&row, 0)));
    }
    rowsets.values_mut().for_each(|r| r.sort_unstable());
    let units = base
        .rows_from(id::ALLOCUNITS, rowset)?
        .iter()
        .map(|r| ((int(r, 2), int(r, 1) as u8), AllocUnitId(int(r, 0))))
        .collect();
    let texts = base
        .rows(id::OBJVALUES, &[Value::TinyInt(VALUE_TEXT as u8)])?
        .iter()
        .map(|r| ((int(r, 1) as i32, int(r, 2) as i32), decode_text(r)))
        .collect();
    Ok(Rows {
        objects: base.rows_from(id::SCHOBJS, object.clone())?,
        columns: group(base.rows_from(id::COLPARS, object.clone())?, 0),
        indexes: group(base.rows_from(id::IDXSTATS, object.clone())?, 0),
        index_columns,
        placements,
        units,
        texts,
        references: group(base.rows_from(id::SINGLEOBJREFS, object)?, 1),
        rowsets,
    })
}

/// Reads the whole catalog.
pub(crate) fn load(base: &Base<'_>, version: u64) -> SqlResult<Snapshot> {
    let rows = read(base)?;
    let mut out = Snapshot {
        version,
        properties: Arc::new(crate::properties::load(base)?),
        security: Arc::new(crate::security::load(
            base,
            base.db.id == duramen_base::DbId::MASTER,
        )?),
        ..Snapshot::default()
    };
    for row in base.rows(id::CLSOBJS, &[Value::TinyInt(CLASS_SCHEMA as u8)])? {
        let schema = SchemaDef {
            id: int(&row, 1) as i32,
            name: text(&row, 2),
            owner: match (int(&row, 5) as i32, int(&row, 1) as i32) {
                // Those that are fixed belong to the principal of their name.
                (0, own @ (0..=4 | 16384..)) => own,
                (0, _) => 1,
                (owner, _) => owner,
            },
        };
        out.schemas.insert(schema.id, Arc::new(schema));
    }
    for row in &rows.objects {
        let kind = text(row, 5);
        let kind = kind.as_bytes();
        let object = ObjectDef {
            id: ObjectId(int(row, 0) as i32),
            schema: int(row, 2) as i32,
            name: text(row, 1),
            kind: ObjectKind([
                kind.first().copied().unwrap_or(b' '),
                kind.get(1).copied().unwrap_or(b' '),
            ]),
            parent: ObjectId(int(row, 6) as i32),
            parent_column: if int(row, 6) != 0 {
                int(row, 8) as i32
            } else {
                0
            },
            created: date(row, 9),
            modified: date(row, 10),
            status: int(row, 4),
        };
        out.add_object(object);
    }
    for row in base.rows_from(id::SCALARTYPES, Value::Int(FIRST_USER_TYPE))? {
        // A type of a language runtime has no type that rows could have.
        if let Some(ty) = scalar_type(&row) {
            out.types.insert(ty.id, Arc::new(ty));
        }
    }
    crate::partition_rows::load(base, &mut out)?;
    let tables: Vec<Arc<ObjectDef>> = out.objects.values().cloned().collect();
    for (object, row) in tables.iter().zip(&rows.objects) {
        if object.kind == ObjectKind::TABLE {
            // A table that another session is just making has not all its rows yet: it is left out here and put in
            // by that session when it is complete.
            if let Ok(table) = table(&rows, &out, object) {
                out.tables.insert(object.id, Arc::new(table));
            }
        } else if object.kind.is_module() {
            let status = int(row, 4);
            let module = ModuleDef {
                columns: module_columns(&rows, object.id),
                id: object.id,
                schema: object.schema,
                name: object.name.clone(),
                kind: object.kind,
                parent: object.parent,
                text: rows.text(object.id),
                ansi_nulls: status & MODULE_ANSI_NULLS != 0,
                quoted_identifier: status & MODULE_QUOTED_IDENTIFIER != 0,
                version,
            };
            out.modules.insert(object.id, Arc::new(module));
        }
    }
    let referenced: Vec<ObjectId> = out
        .tables
        .values()
        .flat_map(|t| t.foreign_keys.iter().map(|f| f.referenced))
        .collect();
    out.link(referenced);
    Ok(out)
}

/// Ids below are those of the system's types.
const FIRST_USER_TYPE: i32 = 257;

fn scalar_type(row: &[Value]) -> Option<TypeDef> {
    let ty = SqlType::from_catalog(
        int(row, 3) as u8,
        int(row, 4) as i16,
        int(row, 5) as u8,
        int(row, 6) as u8,
        int(row, 7) as u32,
    )?;
    Some(TypeDef {
        id: int(row, 0) as i32,
        schema: int(row, 1) as i32,
        name: text(row, 2),
        ty,
        nullable: int(row, 8) & 1 == 0,
    })
}

/// The columns of a view; none when one of them has a type that no row could have.
fn module_columns(rows: &Rows, id: ObjectId) -> Vec<ModuleColumn> {
    let found = rows.columns.get(&id.0);
    let mut all: Vec<&Vec<Value>> = found.into_iter().flatten().collect();
    // Those with a number are parameters, in foreign files.
    all.retain(|row| int(row, 1) == 0);
    all.sort_by_key(|row| int(row, 2));
    let column = |row: &Vec<Value>| {
        let ty = SqlType::from_catalog(
            int(row, 4) as u8,
            int(row, 6) as i16,
            int(row, 7) as u8,
            int(row, 8) as u8,
            int(row, 9) as u32,
        )?;
        Some(ModuleColumn {
            name: text(row, 3),
            ty,
            nullable: int(row, 10) & COLUMN_NOT_NULL == 0,
        })
    };
    let columns: Option<Vec<_>> = all.into_iter().map(column).collect();
    columns.unwrap_or_default()
}

/// `sysschobjs.status` bits of modules (assumed: real ones are not public).
pub(crate) const MODULE_ANSI_NULLS: i64 = 0x4_0000;
pub(crate) const MODULE_QUOTED_IDENTIFIER: i64 = 0x8_0000;

fn table(rows: &Rows, out: &Snapshot, object: &ObjectDef) -> SqlResult<TableDef> {
    let children: Vec<&Arc<ObjectDef>> = out
        .objects
        .values()
        .filter(|o| o.parent == object.id)
        .collect();
    let text_of = |id: ObjectId| rows.text(id);
    let mut columns = Vec::new();
    for row in rows.columns.get(&object.id.0).unwrap_or(&Vec::new()) {
        if int(row, 1) != 0 {
            continue;
        }
        columns.push(column(rows, object.id, row, &children)?);
    }
    columns.sort_by_key(|c| c.id);
    let checks = children
        .iter()
        .filter(|o| o.kind == ObjectKind::CHECK)
        .map(|o| CheckDef {
            id: o.id,
            name: o.name.clone(),
            text: text_of(o.id),
            column: o.parent_column,
            state: ConstraintState::of(o.status),
        })
        .collect();
    let foreign_keys = children
        .iter()
        .filter(|o| o.kind == ObjectKind::FOREIGN_KEY)
        .map(|o| foreign_key(rows, o))
        .collect();
    let (data, partitioned, indexes) = indexes(rows, out, object.id, &columns)?;
    Ok(TableDef {
        id: object.id,
        schema: object.schema,
        schema_name: out
            .schemas
            .get(&object.schema)
            .map_or(String::new(), |s| s.name.clone()),
        name: object.name.clone(),
        kind: object.kind,
        statistics: statistics(rows, object.id),
        columns,
        indexes,
        data,
        partitioned,
        checks,
        foreign_keys,
        referenced_by: Vec::new(),
        triggers: children
            .iter()
            .filter(|o| o.kind == ObjectKind::TRIGGER)
            .map(|o| TriggerDef {
                id: o.id,
                name: o.name.clone(),
                events: (o.status >> object_status::TRIGGER_EVENTS_SHIFT) as u8,
                disabled: o.status & object_status::DISABLED != 0,
            })
            .collect(),
        created: object.created,
        modified: object.modified,
        version: out.version,
    })
}

/// A column of a table from its row.
fn column(
    rows: &Rows,
    table: ObjectId,
    row: &[Value],
    children: &[&Arc<ObjectDef>],
) -> SqlResult<ColumnDef> {
    let status = int(row, 10);
    let ty = SqlType::from_catalog(
        int(row, 4) as u8,
        int(row, 6) as i16,
        int(row, 7) as u8,
        int(row, 8) as u8,
        int(row, 9) as u32,
    )
    .ok_or_else(|| broken("column type"))?;
    let identity = match &row[15] {
        Value::Binary(b) if status & COLUMN_IDENTITY != 0 => decode_idtval(b).map(|s| s.identity),
        _ => None,
    };
    let default = children
        .iter()
        .find(|o| o.id.0 == int(row, 13) as i32)
        .map(|o| DefaultDef {
            id: o.id,
            name: o.name.clone(),
            text: rows.text(o.id),
        });
    Ok(ColumnDef {
        id: int(row, 2) as i32,
        name: text(row, 3),
        ty,
        nullable: status & COLUMN_NOT_NULL == 0,
        identity,
        default,
        computed: (status & COLUMN_COMPUTED != 0).then(|| ComputedDef {
            text: rows.part_text(table, int(row, 2) as i32),
            persisted: status & COLUMN_PERSISTED != 0,
        }),
        rowguid: status & COLUMN_ROWGUID != 0,
        user_type: match int(row, 5) {
            system if system == int(row, 4) => 0,
            declared => declared as i32,
        },
    })
}

fn foreign_key(rows: &Rows, object: &ObjectDef) -> ForeignKeyDef {
    let empty = Vec::new();
    let references = rows.references.get(&object.id.0).unwrap_or(&empty);
    let mut out = ForeignKeyDef {
        id: object.id,
        name: object.name.clone(),
        referenced: ObjectId(0),
        referenced_index: 0,
        columns: Vec::new(),
        state: ConstraintState::of(object.status),
        on_delete: 0,
        on_update: 0,
    };
    let mut pairs: BTreeMap<i64, (i32, i32)> = BTreeMap::new();
    for r in references {
        let (class, ordinal) = (int(r, 0), int(r, 2));
        match class {
            REF_FK_TABLE => {
                out.referenced = ObjectId(int(r, 3) as i32);
                out.referenced_index = int(r, 4) as u16;
                out.on_delete = int(r, 5) as u8 & 3;
                out.on_update = (int(r, 5) >> 2) as u8 & 3;
            }
            REF_FK_COLUMN => pairs.entry(ordinal).or_default().0 = int(r, 4) as i32,
            REF_FK_REFERENCED => pairs.entry(ordinal).or_default().1 = int(r, 4) as i32,
            _ => {}
        }
    }
    out.columns = pairs.into_values().collect();
    out
}

/// The rows that are statistics and no index.
fn statistics(rows: &Rows, object: ObjectId) -> Vec<StatisticsDef> {
    let alone = |row: &&Vec<Value>| {
        let kind = int(row, 3) & (index_status::BASE | index_status::STATISTICS);
        kind == index_status::STATISTICS && int(row, 10) == 0
    };
    let all = rows.indexes.get(&object.0).into_iter().flatten();
    let found = all.filter(alone).map(|row| {
        let parts = rows.index_columns.get(&(object.0, int(row, 1) as i32));
        let mut parts: Vec<&Vec<Value>> = parts.into_iter().flatten().collect();
        parts.sort_by_key(|r| int(r, 2));
        StatisticsDef {
            id: int(row, 1) as u16,
            name: text(row, 2),
            columns: parts.iter().map(|r| int(r, 4) as i32).collect(),
            no_recompute: int(row, 3) & index_status::NO_RECOMPUTE != 0,
        }
    });
    found.collect()
}

/// One index as its rows tell it, before its rowset is put together.
struct Declared {
    id: u16,
    name: String,
    status: i64,
    rowset: i64,
    /// A filegroup or a partition scheme.
    space: i32,
    keys: Vec<KeyColumn>,
    includes: Vec<usize>,
    /// The partitioning column.
    partitioning: Option<usize>,
    options: IndexOptions,
}

impl Declared {
    fn unique(&self) -> bool {
        self.status & index_status::UNIQUE != 0
    }
}

/// The rowsets of a heap or index, made by `make`: the first, and all of them where there are partitions.
fn rowsets(
    rows: &Rows,
    out: &Snapshot,
    object: ObjectId,
    d: &Declared,
    make: &dyn Fn(&RowsetIds) -> RowsetDef,
) -> SqlResult<(Arc<RowsetDef>, Option<Arc<Partitioned>>)> {
    let Some(scheme) = out.partition_schemes.get(&d.space) else {
        return Ok((Arc::new(make(&ids(rows, object, d, d.rowset))), None));
    };
    let function = out.partition_functions.get(&scheme.function);
    let known = rows.rowsets.get(&(object.0, i32::from(d.id)));
    let (Some(function), Some(column), Some(known)) = (function, d.partitioning, known) else {
        return Err(broken("partitions"));
    };
    let all = known
        .iter()
        .map(|(_, rowset)| Arc::new(make(&ids(rows, object, d, *rowset))));
    let all: Vec<Arc<RowsetDef>> = all.collect();
    if all.len() != function.fanout() {
        return Err(broken("partitions"));
    }
    let partitioned = Partitioned {
        scheme: scheme.id,
        function: function.clone(),
        column,
        rowsets: all,
    };
    Ok((partitioned.rowsets[0].clone(), Some(Arc::new(partitioned))))
}

type Data = (Arc<RowsetDef>, Option<Arc<Partitioned>>, Vec<IndexDef>);

fn indexes(
    rows: &Rows,
    known: &Snapshot,
    object: ObjectId,
    columns: &[ColumnDef],
) -> SqlResult<Data> {
    let mut declared = Vec::new();
    for row in rows.indexes.get(&object.0).unwrap_or(&Vec::new()) {
        if int(row, 10) == 0 {
            continue;
        }
        declared.push(declared_index(rows, object, columns, row)?);
    }
    declared.sort_by_key(|d| d.id);
    let first = declared
        .first()
        .filter(|d| d.id <= 1)
        .ok_or_else(|| broken("table without data"))?;
    let specs: Vec<_> = columns.iter().map(crate::shape::spec).collect();
    let keys = with_partitioning(&first.keys, first.unique(), first.partitioning);
    let column_ids: Vec<i32> = columns.iter().map(|c| c.id).collect();
    let (data, partitioned) = rowsets(rows, known, object, first, &|ids| {
        let keys = (first.id == 1).then(|| Keys {
            columns: &keys,
            unique: first.unique(),
        });
        let mut data = data_rowset(ids, &specs, keys);
        place(rows, &mut data, &column_ids);
        data
    })?;
    let mut out = Vec::new();
    for d in &declared {
        if d.id == 0 {
            continue;
        }
        let (rowset, of, sources, locator) = if d.id == 1 {
            (data.clone(), partitioned.clone(), Vec::new(), Vec::new())
        } else {
            let below = partitioned.as_ref().map(|p| p.column);
            let includes = with_hidden(&d.includes, d.partitioning, below);
            let shape = |ids: &RowsetIds| {
                let keys = Keys {
                    columns: &d.keys,
                    unique: d.unique(),
                };
                index_rowset(ids, &specs, &data, keys, &includes)
            };
            let (_, sources, locator) = shape(&RowsetIds::none(object));
            let column_ids = crate::describe::index_column_ids(&sources);
            let (rowset, of) = rowsets(rows, known, object, d, &|ids| {
                let mut def = shape(ids).0;
                place(rows, &mut def, &column_ids);
                def
            })?;
            (rowset, of, sources, locator)
        };
        out.push(IndexDef {
            id: d.id,
            name: d.name.clone(),
            unique: d.unique(),
            clustered: d.id == 1,
            primary_key: d.status & index_status::PRIMARY_KEY != 0,
            unique_constraint: d.status & index_status::UNIQUE_CONSTRAINT != 0,
            keys: d.keys.clone(),
            includes: d.includes.clone(),
            options: d.options.clone(),
            rowset,
            partitioned: of,
            sources,
            locator,
        });
    }
    Ok((data, partitioned, out))
}

fn declared_index(
    rows: &Rows,
    object: ObjectId,
    columns: &[ColumnDef],
    row: &[Value],
) -> SqlResult<Declared> {
    let index = int(row, 1) as i32;
    let mut out = Declared {
        id: index as u16,
        name: text(row, 2),
        status: int(row, 3),
        rowset: int(row, 10),
        space: int(row, 8) as i32,
        keys: Vec::new(),
        includes: Vec::new(),
        partitioning: None,
        options: crate::describe::index_options(row),
    };
    let empty = Vec::new();
    let mut parts: Vec<&Vec<Value>> = rows
        .index_columns
        .get(&(object.0, index))
        .unwrap_or(&empty)
        .iter()
        .collect();
    parts.sort_by_key(|r| int(r, 2));
    for r in parts {
        let column = columns
            .iter()
            .position(|c| i64::from(c.id) == int(r, 4))
            .ok_or_else(|| broken("index column"))?;
        if int(r, 6) != 0 {
            out.partitioning = Some(column);
        }
        let hidden = column_status::PARTITIONING | column_status::LOCATING;
        if int(r, 3) & hidden != 0 {
            continue;
        }
        if int(r, 5) == 0 {
            out.includes.push(column);
        } else {
            out.keys.push(KeyColumn {
                column,
                desc: int(r, 3) & column_status::DESC != 0,
            });
        }
    }
    Ok(out)
}

fn ids(rows: &Rows, object: ObjectId, d: &Declared, rowset: i64) -> RowsetIds {
    let unit = |kind| rows.units.get(&(rowset, kind)).copied();
    RowsetIds {
        object,
        rowset: RowsetId(rowset),
        index_id: d.id,
        au: unit(1).unwrap_or_default(),
        lob_au: unit(2).or_else(|| unit(3)),
    }
}

/// Replaces computed placements by those of `sysrscols`: they are where the bytes are.
fn place(rows: &Rows, def: &mut RowsetDef, column_ids: &[i32]) {
    let empty = Vec::new();
    let placed = rows.placements.get(&def.rowset.0).unwrap_or(&empty);
    let mut columns = def.layout.columns.clone();
    for (i, c) in columns.iter_mut().enumerate() {
        let column = column_ids.get(i).copied().unwrap_or(0);
        if let Some(r) = placed.iter().find(|r| int(r, 1) == i64::from(column)) {
            c.leaf_offset = int(r, 9) as i16;
            c.nullbit = int(r, 10) as u16;
            c.bitpos = int(r, 11) as u8;
        }
    }
    let minimum = def.layout.pminlen;
    let mut layout = RowLayout::from_columns(def.layout.kind, columns);
    layout.pminlen = layout.pminlen.max(minimum);
    def.layout = Arc::new(layout);
}
