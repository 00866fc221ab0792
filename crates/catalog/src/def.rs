//! What a snapshot says about objects: plain data.

use std::sync::Arc;

use duramen_base::ObjectId;
use duramen_storage::{Fill, KeyColumn, RowsetDef};
use duramen_types::{DateTime, SqlType, Value};

use crate::partitions::Partitioned;
use crate::shape::IndexSource;

/// A schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDef {
    pub id: i32,
    pub name: String,
    /// Principal id.
    pub owner: i32,
}

impl SchemaDef {
    /// A schema that somebody made for a user or role other than `dbo`.
    pub fn is_owned(&self) -> bool {
        self.owner != 1 && (5..16_384).contains(&self.id)
    }
}

/// The schema id of `dbo`.
pub const SCHEMA_DBO: i32 = 1;
/// The schema id of `sys`.
pub const SCHEMA_SYS: i32 = 4;

/// `sys.objects.type`, two characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectKind(pub [u8; 2]);

impl ObjectKind {
    pub const SYSTEM_TABLE: ObjectKind = ObjectKind(*b"S ");
    pub const TABLE: ObjectKind = ObjectKind(*b"U ");
    pub const VIEW: ObjectKind = ObjectKind(*b"V ");
    pub const PROCEDURE: ObjectKind = ObjectKind(*b"P ");
    pub const SCALAR_FUNCTION: ObjectKind = ObjectKind(*b"FN");
    pub const INLINE_FUNCTION: ObjectKind = ObjectKind(*b"IF");
    pub const TABLE_FUNCTION: ObjectKind = ObjectKind(*b"TF");
    /// A table type: text that is compiled where a variable or parameter is declared.
    pub const TABLE_TYPE: ObjectKind = ObjectKind(*b"TT");
    /// A synonym: its text is the name of what it stands for.
    pub const SYNONYM: ObjectKind = ObjectKind(*b"SN");
    pub const TRIGGER: ObjectKind = ObjectKind(*b"TR");
    pub const DEFAULT: ObjectKind = ObjectKind(*b"D ");
    pub const CHECK: ObjectKind = ObjectKind(*b"C ");
    pub const PRIMARY_KEY: ObjectKind = ObjectKind(*b"PK");
    pub const UNIQUE: ObjectKind = ObjectKind(*b"UQ");
    pub const FOREIGN_KEY: ObjectKind = ObjectKind(*b"F ");

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("  ")
    }

    /// A module: text that is compiled, or, of a synonym, looked up, when used.
    pub fn is_module(self) -> bool {
        [
            ObjectKind::VIEW,
            ObjectKind::PROCEDURE,
            ObjectKind::SCALAR_FUNCTION,
            ObjectKind::INLINE_FUNCTION,
            ObjectKind::TABLE_FUNCTION,
            ObjectKind::TRIGGER,
            ObjectKind::TABLE_TYPE,
            ObjectKind::SYNONYM,
        ]
        .contains(&self)
    }
}

/// An object, as `sys.objects` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDef {
    pub id: ObjectId,
    pub schema: i32,
    pub name: String,
    pub kind: ObjectKind,
    /// The table of a constraint or trigger; 0: none.
    pub parent: ObjectId,
    /// The column of a column's constraint; 0: none.
    pub parent_column: i32,
    pub created: DateTime,
    pub modified: DateTime,
    /// `sysschobjs.status`: [`object_status`].
    pub status: i64,
}

impl ObjectDef {
    /// Whether the system made the name up.
    pub fn system_named(&self) -> bool {
        self.status & object_status::SYSTEM_NAMED != 0
    }
}

/// `sysschobjs.status` bits of constraints. SYSTEM_NAMED, NOT_TRUSTED and the bases of the kinds are those of the
/// published Northwind and pubs files; DISABLED and NOT_FOR_REPLICATION are *assumed*.
pub mod object_status {
    pub const SYSTEM_NAMED: i64 = 4;
    pub const DISABLED: i64 = 0x100;
    pub const NOT_FOR_REPLICATION: i64 = 0x200;
    pub const NOT_TRUSTED: i64 = 0x400;
    /// The events of a trigger, from this bit on (*assumed*: real ones are in another table).
    pub const TRIGGER_EVENTS_SHIFT: u32 = 24;
    /// What every default constraint has.
    pub const DEFAULT: i64 = 0x2_0000;
    /// What every check constraint has.
    pub const CHECK: i64 = 0x12_0000;
}

/// IDENTITY(seed, increment).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    pub seed: i64,
    pub increment: i64,
}

/// A default constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultDef {
    pub id: ObjectId,
    pub name: String,
    /// The expression, in parentheses.
    pub text: String,
}

/// A check constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDef {
    pub id: ObjectId,
    pub name: String,
    /// The condition, in parentheses.
    pub text: String,
    /// The id of the only column it reads; 0 when it reads none or several.
    pub column: i32,
    pub state: ConstraintState,
}

/// What can be switched about a check constraint or foreign key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstraintState {
    /// NOCHECK CONSTRAINT: changes are not checked.
    pub disabled: bool,
    /// Rows may be there that were never checked.
    pub not_trusted: bool,
    pub not_for_replication: bool,
}

impl ConstraintState {
    pub(crate) fn bits(self) -> i64 {
        let bit = |on: bool, bit: i64| if on { bit } else { 0 };
        bit(self.disabled, object_status::DISABLED)
            | bit(self.not_trusted, object_status::NOT_TRUSTED)
            | bit(self.not_for_replication, object_status::NOT_FOR_REPLICATION)
    }

    pub(crate) fn of(status: i64) -> ConstraintState {
        ConstraintState {
            disabled: status & object_status::DISABLED != 0,
            not_trusted: status & object_status::NOT_TRUSTED != 0,
            not_for_replication: status & object_status::NOT_FOR_REPLICATION != 0,
        }
    }
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyDef {
    pub id: ObjectId,
    pub name: String,
    pub referenced: ObjectId,
    /// The unique index of the referenced table that it relies on.
    pub referenced_index: u16,
    /// Column ids here and there.
    pub columns: Vec<(i32, i32)>,
    pub state: ConstraintState,
    /// 0 NO ACTION, 1 CASCADE, 2 SET NULL, 3 SET DEFAULT.
    pub on_delete: u8,
    pub on_update: u8,
}

/// The expression of a computed column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputedDef {
    /// The expression, in parentheses.
    pub text: String,
    /// Its values are stored; those of other computed columns are made when they are read.
    pub persisted: bool,
}

/// An alias type: CREATE TYPE ... FROM, sp_addtype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDef {
    /// From 257.
    pub id: i32,
    pub schema: i32,
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDef {
    /// From 1, with holes where columns were dropped.
    pub id: i32,
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    pub identity: Option<Identity>,
    pub default: Option<DefaultDef>,
    pub computed: Option<ComputedDef>,
    pub rowguid: bool,
    /// The alias type it was declared with; 0: a system type.
    pub user_type: i32,
}

impl ColumnDef {
    /// Whether rows carry a value of it.
    pub fn is_stored(&self) -> bool {
        self.computed.as_ref().is_none_or(|c| c.persisted)
    }

    /// `user_type_id`.
    pub fn type_id(&self) -> i32 {
        match self.user_type {
            0 => i32::from(self.ty.id.xtype()),
            declared => declared,
        }
    }
}

/// What WITH (...) of an index says and `sys.indexes` shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// FILLFACTOR as it was given, 0 for none: percent of a leaf that is filled when the index is made or rebuilt.
    pub fill_factor: u8,
    /// PAD_INDEX: the same of the pages above the leaves.
    pub padded: bool,
    /// A duplicate key of an INSERT is left out with a warning (3604).
    pub ignore_dup_key: bool,
    /// ALTER INDEX DISABLE: it has no rows and nobody uses it.
    pub disabled: bool,
    pub no_row_locks: bool,
    pub no_page_locks: bool,
    /// STATISTICS_NORECOMPUTE: a change of the table does not make its statistics old.
    pub no_recompute: bool,
}

impl IndexOptions {
    /// How far pages are filled when the index is made or rebuilt.
    pub fn fill(&self) -> Fill {
        Fill {
            percent: self.fill_factor,
            padded: self.padded,
        }
    }
}

/// An index of a table; the heap is not one.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    /// 1 is the clustered index.
    pub id: u16,
    pub name: String,
    pub unique: bool,
    pub clustered: bool,
    pub primary_key: bool,
    pub unique_constraint: bool,
    /// Declared keys: positions in the table's columns.
    pub keys: Vec<KeyColumn>,
    /// Included columns: positions in the table's columns.
    pub includes: Vec<usize>,
    pub options: IndexOptions,
    /// Of the first partition, where it has several.
    pub rowset: Arc<RowsetDef>,
    pub partitioned: Option<Arc<Partitioned>>,
    /// Where each column of the index's own rows comes from.
    pub sources: Vec<IndexSource>,
    /// Positions, in the index's rows, of the base row's locator: the RID, or the clustering key.
    pub locator: Vec<usize>,
}

/// A table, with everything needed to read and change it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableDef {
    pub id: ObjectId,
    pub schema: i32,
    pub schema_name: String,
    pub name: String,
    pub kind: ObjectKind,
    pub columns: Vec<ColumnDef>,
    /// The clustered index first, when there is one.
    pub indexes: Vec<IndexDef>,
    /// Those of CREATE STATISTICS; every index has statistics besides.
    pub statistics: Vec<StatisticsDef>,
    /// The heap or the clustered index. Its rows are the columns, then the uniquifier where there is one. Of several
    /// partitions it is the first.
    pub data: Arc<RowsetDef>,
    pub partitioned: Option<Arc<Partitioned>>,
    pub checks: Vec<CheckDef>,
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// The foreign keys that refer to this table, with the table that has each: plans that change rows rely on them.
    pub referenced_by: Vec<(ObjectId, ForeignKeyDef)>,
    /// In the order of their creation.
    pub triggers: Vec<TriggerDef>,
    pub created: DateTime,
    pub modified: DateTime,
    /// The schema version when this definition was made: plans compare it.
    pub version: u64,
}

impl TableDef {
    pub fn is_heap(&self) -> bool {
        self.data.is_heap()
    }

    /// The position of a column by name; SQL Server's default collations ignore case.
    pub fn column(&self, name: &str) -> Option<usize> {
        let folded = fold(name);
        self.columns.iter().position(|c| fold(&c.name) == folded)
    }

    pub fn index(&self, name: &str) -> Option<&IndexDef> {
        let folded = fold(name);
        self.indexes.iter().find(|i| fold(&i.name) == folded)
    }

    pub fn statistics(&self, name: &str) -> Option<&StatisticsDef> {
        let folded = fold(name);
        self.statistics.iter().find(|s| fold(&s.name) == folded)
    }

    /// The position of the first column of statistics.
    pub fn leading(&self, statistics: &StatisticsDef) -> Option<usize> {
        let first = statistics.columns.first()?;
        self.columns.iter().position(|c| c.id == *first)
    }

    /// A number above that of every index and statistics: they share their numbers. 1 is the clustered index's.
    pub(crate) fn next_index_id(&self) -> u16 {
        let indexes = self.indexes.iter().map(|i| i.id);
        let last = indexes.chain(self.statistics.iter().map(|s| s.id)).max();
        last.unwrap_or(1).max(1).saturating_add(1)
    }

    pub fn nonclustered(&self) -> impl Iterator<Item = &IndexDef> {
        self.indexes.iter().filter(|i| !i.clustered)
    }

    /// The nonclustered indexes that have an entry for every row.
    pub fn maintained(&self) -> impl Iterator<Item = &IndexDef> {
        self.nonclustered().filter(|i| !i.options.disabled)
    }

    pub fn identity_column(&self) -> Option<usize> {
        self.columns.iter().position(|c| c.identity.is_some())
    }

    /// A row of all NULLs, as wide as stored rows are.
    pub fn null_row(&self) -> Vec<Value> {
        vec![Value::Null; self.data.layout.columns.len()]
    }
}

/// Statistics of a table that are no index's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsDef {
    /// `stats_id`; no index of the table has it.
    pub id: u16,
    pub name: String,
    /// Ids of columns. The histogram is of the first.
    pub columns: Vec<i32>,
    /// NORECOMPUTE: a change of the table does not make them old.
    pub no_recompute: bool,
}

impl StatisticsDef {
    /// Whether nobody has asked for them, which their name tells (in foreign files: ours are not kept).
    pub fn automatic(&self) -> bool {
        self.name.starts_with("_WA_Sys_")
    }
}

/// What a trigger is fired by: bits of [`TriggerDef::events`].
pub mod trigger_events {
    pub const INSERT: u8 = 1;
    pub const UPDATE: u8 = 2;
    pub const DELETE: u8 = 4;
}

/// An AFTER trigger of a table; its text is the module's of that id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerDef {
    pub id: ObjectId,
    pub name: String,
    /// [`trigger_events`]
    pub events: u8,
    pub disabled: bool,
}

/// A column that a module gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleColumn {
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
}

/// A view, procedure, function or trigger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleDef {
    /// The columns of a view as they were when it was made: `*` means these, whatever its tables have become.
    pub columns: Vec<ModuleColumn>,
    pub id: ObjectId,
    pub schema: i32,
    pub name: String,
    pub kind: ObjectKind,
    pub parent: ObjectId,
    /// The whole CREATE statement.
    pub text: String,
    /// ANSI_NULLS and QUOTED_IDENTIFIER when it was made.
    pub ansi_nulls: bool,
    pub quoted_identifier: bool,
    pub version: u64,
}

/// Names are compared without regard to case.
pub fn fold(name: &str) -> String {
    match name.is_ascii() {
        true => name.to_ascii_lowercase(),
        false => name.to_lowercase(),
    }
}

/// Whether two names are the same: they fold to the same.
pub fn same_name(a: &str, b: &str) -> bool {
    match a.is_ascii() && b.is_ascii() {
        true => a.eq_ignore_ascii_case(b),
        // A letter outside ASCII may fold to one within.
        false => a.to_lowercase() == b.to_lowercase(),
    }
}
