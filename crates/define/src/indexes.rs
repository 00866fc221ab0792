//! Options of indexes, and ALTER INDEX: what each option means here, and what is refused by name.
//!
//! | option | meaning |
//! |---|---|
//! | FILLFACTOR | leaves are filled so far when an index is made or rebuilt; later rows come where they belong |
//! | PAD_INDEX | pages above the leaves are filled as far as FILLFACTOR says, too |
//! | IGNORE_DUP_KEY | rows of an INSERT that would break the key are left out (3604) |
//! | DROP_EXISTING | the index of that name makes room first (7999 when there is none) |
//! | SORT_IN_TEMPDB | what finds no memory is sorted beside tempdb either way |
//! | MAXDOP | how many threads read and sort; one writes |
//! | DATA_COMPRESSION | NONE only |
//! | STATISTICS_NORECOMPUTE | a change of the table does not make the index's statistics old |
//! | ONLINE, RESUMABLE, STATISTICS_INCREMENTAL, XML_COMPRESSION, OPTIMIZE_FOR_SEQUENTIAL_KEY | OFF only |
//! | ALLOW_ROW_LOCKS, ALLOW_PAGE_LOCKS | ON only |

use std::sync::Arc;

use duramen_access::stored::key_length::LongKey;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{
    IndexDef, IndexOptions, ModuleDef, NewIndex, NewTable, ObjectKind, TableDef, fold,
};
use duramen_storage::{LockHint, ScanSpec};
use duramen_tsql::ast::{self, AlterIndexAction, NamedOption, OptionValue};
use duramen_types::{SqlType, TypeId};

use super::{Ddl, refuse};

/// What options say, and whether DROP_EXISTING is among them.
pub fn options_of(options: &[NamedOption], unique: bool) -> SqlResult<(IndexOptions, bool)> {
    let mut out = IndexOptions::default();
    let mut existing = false;
    for o in options {
        let refused = || refuse(&format!("the index option {}", o.name), o.line);
        let on = o.value.as_ref().and_then(OptionValue::as_on_off);
        // The old form has no value: WITH PAD_INDEX.
        let on = on.or(o.value.is_none().then_some(true));
        match (o.name.as_str(), on) {
            ("FILLFACTOR", _) => out.fill_factor = fill_factor(o)?,
            ("PAD_INDEX", Some(on)) => out.padded = on,
            ("IGNORE_DUP_KEY", Some(on)) => out.ignore_dup_key = on,
            ("DROP_EXISTING", Some(on)) => existing = on,
            ("SORT_IN_TEMPDB", Some(_)) | ("MAXDOP", _) => {}
            ("STATISTICS_NORECOMPUTE", Some(on)) => out.no_recompute = on,
            (
                "ONLINE"
                | "RESUMABLE"
                | "STATISTICS_INCREMENTAL"
                | "XML_COMPRESSION"
                | "OPTIMIZE_FOR_SEQUENTIAL_KEY",
                Some(false),
            ) => {}
            ("ALLOW_ROW_LOCKS" | "ALLOW_PAGE_LOCKS", Some(true)) => {}
            ("DATA_COMPRESSION", _) if says(o, "NONE") => {}
            _ => return Err(refused()),
        }
    }
    if out.ignore_dup_key && !unique {
        let args: [&dyn std::fmt::Display; 2] = [&"nonunique", &"ignore_dup_key"];
        return Err(SqlError::new(&messages::INDEX_OPTIONS_EXCLUDE, &args));
    }
    Ok((out, existing))
}

/// MAXDOP. *Assumed*: 304 beyond its range.
pub(super) fn max_degree(options: &[NamedOption]) -> SqlResult<Option<u64>> {
    const MOST: i64 = 32_767;
    let Some(o) = options.iter().rev().find(|o| o.name == "MAXDOP") else {
        return Ok(None);
    };
    let given = match &o.value {
        Some(OptionValue::Int(n)) => *n,
        _ => return Err(refuse("MAXDOP without a number", o.line)),
    };
    match u64::try_from(given) {
        Ok(n) if given <= MOST => Ok(Some(n)),
        _ => {
            let setting = "max degree of parallelism";
            let args: [&dyn std::fmt::Display; 3] = [&given, &"MAXDOP", &setting];
            let error = SqlError::new(&messages::INDEX_OPTION_RANGE, &args);
            Err(error.at_line(o.line as i32))
        }
    }
}

fn says(o: &NamedOption, word: &str) -> bool {
    matches!(&o.value, Some(OptionValue::Word(w)) if w.eq_ignore_ascii_case(word))
}

/// 129
fn fill_factor(o: &NamedOption) -> SqlResult<u8> {
    let given = match &o.value {
        Some(OptionValue::Int(n)) => *n,
        _ => return Err(refuse("FILLFACTOR without a number", o.line)),
    };
    match u8::try_from(given) {
        Ok(n) if (1..=100).contains(&n) => Ok(n),
        _ => {
            let error = SqlError::new(&messages::FILLFACTOR_INVALID, &[&given]);
            Err(error.at_line(o.line as i32))
        }
    }
}

/// The options of a REBUILD or SET.
pub fn rebuild_options(stmt: &ast::AlterIndex) -> SqlResult<()> {
    match options_of(&stmt.options, true)? {
        (_, true) => Err(refuse("DROP_EXISTING in ALTER INDEX", stmt.table.line)),
        _ => Ok(()),
    }
}

/// What REORGANIZE may say.
pub fn reorganize_options(options: &[NamedOption]) -> SqlResult<()> {
    match options.iter().find(|o| o.name != "LOB_COMPACTION") {
        Some(o) => Err(refuse(&format!("the index option {}", o.name), o.line)),
        None => Ok(()),
    }
}

/// The options of a key constraint.
pub fn key_options(options: &[NamedOption], line: u32) -> SqlResult<IndexOptions> {
    match options_of(options, true)? {
        (_, true) => Err(refuse("DROP_EXISTING of a constraint", line)),
        (options, false) => Ok(options),
    }
}

/// Large values and xml are no keys.
fn may_be_key(ty: &SqlType) -> bool {
    let large = ty.is_variable() && ty.is_max();
    !large
        && !matches!(
            ty.id,
            TypeId::Text | TypeId::NText | TypeId::Image | TypeId::Xml
        )
}

/// Nonclustered indexes of a table at most.
const MOST_INDEXES: usize = 999;

/// 1910: a table has so many indexes or statistics at most.
pub(super) fn one_more((what, name): (&str, &str), there: usize, most: usize) -> SqlResult<()> {
    match there < most {
        true => Ok(()),
        false => {
            let args: [&dyn std::fmt::Display; 3] = [&what, &name, &most];
            Err(SqlError::new(&messages::TOO_MANY_INDEXES, &args))
        }
    }
}

impl Ddl<'_> {
    /// How many threads may read and sort for an index of the table: what its rows cost to read, as the optimizer sees it,
    /// and to sort is held against `cost threshold for parallelism`.
    pub(super) fn build_threads(
        &self,
        table: &TableDef,
        options: &[NamedOption],
    ) -> SqlResult<usize> {
        /// Of a page and of a row, in the optimizer's units.
        const PAGE: f64 = 0.000_740_741;
        const ROW: f64 = 0.000_001_1;
        let hint = max_degree(options)?;
        let Some(host) = self.host else {
            return Ok(1);
        };
        let (mut rows, mut pages) = (0.0, 0.0);
        for rowset in table.data_rowsets() {
            let count = self.db.db.rowset(rowset).row_count()? as f64;
            let bytes =
                f64::from(rowset.layout.pminlen) + 16.0 * f64::from(rowset.layout.variable_columns);
            rows += count;
            pages += (count * bytes / 8096.0).ceil();
        }
        let cost = pages * PAGE + rows * ROW * (1.0 + rows.max(1.0).log2());
        Ok(host.parallelism().degree(cost, hint))
    }

    /// DROP_EXISTING: the index that makes room.
    pub(super) fn drop_existing(
        &self,
        table: &Arc<TableDef>,
        stmt: &ast::CreateIndex,
    ) -> SqlResult<Arc<TableDef>> {
        let Some(old) = table.index(&stmt.name) else {
            let args: [&dyn std::fmt::Display; 2] = [&stmt.name, &table.name];
            return Err(SqlError::new(&messages::INDEX_NOT_FOUND, &args));
        };
        if old.primary_key || old.unique_constraint {
            return Err(refuse("DROP_EXISTING of a constraint's index", stmt.line));
        }
        self.db.catalog.drop_index(self.tx, table, &stmt.name)
    }

    /// 8112 and 1902: rows lie in one order only.
    pub(super) fn one_is_clustered(&self, new: &NewTable) -> SqlResult<()> {
        let mut clustered = new.indexes.iter().filter(|i| i.clustered);
        let (Some(first), Some(second)) = (clustered.next(), clustered.next()) else {
            return Ok(());
        };
        if second.primary_key || second.unique_constraint {
            let message = &messages::SECOND_CLUSTERED_CONSTRAINT;
            return Err(self.not_created(SqlError::new(message, &[&new.name])));
        }
        let name = first.name.as_deref().unwrap_or_default();
        let args: [&dyn std::fmt::Display; 3] = [&"table", &new.name, &name];
        Err(SqlError::new(
            &messages::MORE_THAN_ONE_CLUSTERED_INDEX,
            &args,
        ))
    }

    /// The keys of a new table, by the names that they have got.
    pub(super) fn new_keys_fit(
        &self,
        table: &TableDef,
        new: &NewTable,
        line: u32,
    ) -> SqlResult<()> {
        for (index, made) in new.indexes.iter().zip(&table.indexes) {
            let named = NewIndex {
                name: Some(made.name.clone()),
                ..index.clone()
            };
            let fit = self
                .keys_fit(table, &named)
                .map_err(|e| e.at_line(line as i32));
            fit.map_err(|e| match index.primary_key || index.unique_constraint {
                true => self.not_created(e),
                false => e,
            })?;
        }
        Ok(())
    }

    /// 1919 for a type that no key has, 1944 for keys that are always too long, 1945 where they may be, and 1946 where they
    /// are.
    pub(super) fn keys_fit(&self, table: &TableDef, new: &NewIndex) -> SqlResult<()> {
        let name = new.name.as_deref().unwrap_or_default();
        if !new.clustered {
            // It is among them where the whole table is new.
            let before = table.indexes.iter().take_while(|i| i.name != name);
            let before = before.filter(|i| !i.clustered).count();
            one_more(("index", name), before, MOST_INDEXES)?;
        }
        for k in &new.keys {
            let column = &table.columns[k.column];
            if !may_be_key(&column.ty) {
                let args: [&dyn std::fmt::Display; 2] = [&column.name, &table.name];
                return Err(SqlError::new(&messages::INDEX_COLUMN_TYPE, &args));
            }
        }
        let Some(long) = LongKey::of(table, (name, new.clustered), &new.keys) else {
            return Ok(());
        };
        if let Some(always) = long.always() {
            return Err(always);
        }
        self.note(long.warning());
        for part in table.data_rowsets() {
            let rowset = self.db.db.rowset(part);
            let mut cursor = rowset.scan(self.tx, ScanSpec::all(LockHint::None))?;
            while let Some((_, row)) = cursor.next(self.tx)? {
                self.tx.check_given_up()?;
                long.check(&row)?;
            }
        }
        Ok(())
    }

    pub(super) fn is_view(&self, name: &ast::ObjectName) -> SqlResult<bool> {
        let snapshot = self.db.catalog.snapshot()?;
        let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
        let mut views = snapshot.modules.values();
        Ok(schema.is_some_and(|s| {
            let meant = |m: &ModuleDef| m.schema == s.id && fold(&m.name) == fold(name.name());
            views.any(|m| m.kind == ObjectKind::VIEW && meant(m))
        }))
    }

    /// `partition`: `PARTITION = n`.
    pub fn alter_index(&self, stmt: &ast::AlterIndex, partition: Option<i64>) -> SqlResult<()> {
        let line = stmt.table.line;
        let table = self.locked_table(&stmt.table, (&messages::OBJECT_NOT_FOUND, 9))?;
        let mut meant: Vec<String> = table.indexes.iter().map(|i| i.name.clone()).collect();
        if let Some(name) = &stmt.name {
            let found = table.index(name).ok_or_else(|| {
                SqlError::new(&messages::CANNOT_FIND_INDEX, &[name]).at_line(line as i32)
            });
            meant = vec![found?.name.clone()];
        }
        let mut table = table;
        for name in meant {
            table = match partition {
                Some(n) => self.alter_partition(table, &name, stmt, n)?,
                None => self.alter_one(table, &name, stmt)?,
            };
        }
        Ok(())
    }

    /// 7729, 7730 and 155.
    fn alter_partition(
        &self,
        table: Arc<TableDef>,
        name: &str,
        stmt: &ast::AlterIndex,
        number: i64,
    ) -> SqlResult<Arc<TableDef>> {
        let line = stmt.table.line;
        let (known, action): (&[&str], _) = match stmt.action {
            AlterIndexAction::Rebuild => (
                &["SORT_IN_TEMPDB", "MAXDOP", "DATA_COMPRESSION", "ONLINE"],
                "ALTER INDEX REBUILD PARTITION",
            ),
            AlterIndexAction::Reorganize => (&["LOB_COMPACTION"], "ALTER INDEX REORGANIZE"),
            // Refused by their text.
            AlterIndexAction::Disable | AlterIndexAction::Set => (&[], "ALTER INDEX"),
        };
        let strange = |o: &&NamedOption| !known.contains(&o.name.as_str());
        if let Some(o) = stmt.options.iter().find(strange) {
            let args: [&dyn std::fmt::Display; 2] = [&o.name, &action];
            let error = SqlError::new(&messages::UNRECOGNIZED_OPTION, &args);
            return Err(error.at_line(o.line as i32));
        }
        let Some(index) = table.index(name) else {
            return Ok(table);
        };
        if stmt.action == AlterIndexAction::Rebuild {
            options_of(&stmt.options, index.unique)?;
        }
        let Some(of) = &index.partitioned else {
            let args: [&dyn std::fmt::Display; 4] = [&"alter", &"index", &"index", &index.name];
            let error = SqlError::new(&messages::NOT_PARTITIONED, &args);
            return Err(error.at_line(line as i32));
        };
        let known = usize::try_from(number).ok();
        let known = known.filter(|n| (1..=of.rowsets.len()).contains(n));
        let Some(known) = known else {
            let args: [&dyn std::fmt::Display; 4] = [&"index", &number, &"index", &index.name];
            let error = SqlError::new(&messages::PARTITION_DOES_NOT_EXIST, &args);
            return Err(error.at_line(line as i32));
        };
        if index.options.disabled {
            let args: [&dyn std::fmt::Display; 2] = [&index.name, &table.name];
            return Err(SqlError::new(&messages::INDEX_IS_DISABLED, &args));
        }
        let threads = self.build_threads(&table, &stmt.options)?;
        self.db
            .catalog
            .rebuild_partition(self.tx, &table, index.id, known - 1, threads)
    }

    fn alter_one(
        &self,
        table: Arc<TableDef>,
        name: &str,
        stmt: &ast::AlterIndex,
    ) -> SqlResult<Arc<TableDef>> {
        let line = stmt.table.line;
        let Some(index) = table.index(name).cloned() else {
            return Ok(table);
        };
        let (given, _) = match stmt.action {
            // Its options are its own.
            AlterIndexAction::Reorganize => Default::default(),
            _ => options_of(&stmt.options, index.unique)?,
        };
        let said = |option: &str| stmt.options.iter().any(|o| o.name == option);
        let mut options = index.options.clone();
        if said("FILLFACTOR") {
            options.fill_factor = given.fill_factor;
        }
        if said("PAD_INDEX") {
            options.padded = given.padded;
        }
        if said("IGNORE_DUP_KEY") {
            options.ignore_dup_key = given.ignore_dup_key;
        }
        if said("STATISTICS_NORECOMPUTE") {
            options.no_recompute = given.no_recompute;
        }
        let catalog = &self.db.catalog;
        let threads = self.build_threads(&table, &stmt.options)?;
        match stmt.action {
            AlterIndexAction::Rebuild => {
                options.disabled = false;
                catalog.rebuild_index(self.tx, &table, index.id, options, threads)
            }
            // The pages are made anew: what compaction leads to.
            AlterIndexAction::Reorganize => {
                if index.options.disabled {
                    let args: [&dyn std::fmt::Display; 2] = [&index.name, &table.name];
                    return Err(SqlError::new(&messages::INDEX_IS_DISABLED, &args));
                }
                catalog.rebuild_index(self.tx, &table, index.id, options, threads)
            }
            AlterIndexAction::Set => catalog.set_index_options(self.tx, &table, index.id, options),
            AlterIndexAction::Disable => self.disable(&table, &index, line),
        }
    }

    fn disable(
        &self,
        table: &Arc<TableDef>,
        index: &IndexDef,
        line: u32,
    ) -> SqlResult<Arc<TableDef>> {
        if index.clustered || index.primary_key || index.unique_constraint {
            return Err(refuse(
                "ALTER INDEX DISABLE of a clustered or key index",
                line,
            ));
        }
        if table
            .referenced_by
            .iter()
            .any(|(_, f)| f.referenced_index == index.id)
        {
            return Err(refuse(
                "ALTER INDEX DISABLE of an index that a foreign key needs",
                line,
            ));
        }
        for rowset in index.rowsets() {
            self.db.db.rowset(rowset).truncate(self.tx)?;
        }
        let options = IndexOptions {
            disabled: true,
            ..index.options.clone()
        };
        self.db
            .catalog
            .set_index_options(self.tx, table, index.id, options)
    }
}
