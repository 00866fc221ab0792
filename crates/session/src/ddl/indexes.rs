//! Options of indexes, and ALTER INDEX: what each option means here, and what is refused by name.
//!
//! | option | meaning |
//! |---|---|
//! | FILLFACTOR, PAD_INDEX | kept and shown in `sys.indexes`; pages are filled as rows come |
//! | IGNORE_DUP_KEY | rows of an INSERT that would break the key are left out (3604) |
//! | DROP_EXISTING | the index of that name makes room first (7999 when there is none) |
//! | SORT_IN_TEMPDB, MAXDOP | nothing is sorted elsewhere, and builds are serial |
//! | DATA_COMPRESSION | NONE only |
//! | STATISTICS_NORECOMPUTE | a change of the table does not make the index's statistics old |
//! | ONLINE, RESUMABLE, STATISTICS_INCREMENTAL, XML_COMPRESSION | OFF only |
//! | ALLOW_ROW_LOCKS, ALLOW_PAGE_LOCKS | ON only |

use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{IndexDef, IndexOptions, TableDef};
use duramen_tsql::ast::{self, AlterIndexAction, NamedOption, OptionValue};

use super::{Ddl, refuse};

/// What options say, and whether DROP_EXISTING is among them.
pub(super) fn options_of(options: &[NamedOption], unique: bool) -> SqlResult<(IndexOptions, bool)> {
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
            ("SORT_IN_TEMPDB" | "OPTIMIZE_FOR_SEQUENTIAL_KEY", Some(_)) | ("MAXDOP", _) => {}
            ("STATISTICS_NORECOMPUTE", Some(on)) => out.no_recompute = on,
            (
                "ONLINE" | "RESUMABLE" | "STATISTICS_INCREMENTAL" | "XML_COMPRESSION",
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

impl Ddl<'_> {
    /// The options of a key constraint.
    pub(super) fn key_options(
        &self,
        options: &[NamedOption],
        line: u32,
    ) -> SqlResult<IndexOptions> {
        match options_of(options, true)? {
            (_, true) => Err(refuse("DROP_EXISTING of a constraint", line)),
            (options, false) => Ok(options),
        }
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

    pub fn alter_index(&self, stmt: &ast::AlterIndex) -> SqlResult<()> {
        let line = stmt.table.line;
        if stmt.partition.is_some() {
            return Err(refuse("PARTITION = n", line));
        }
        let table = self.locked_table(&stmt.table, &messages::ALTER_OBJECT_NOT_FOUND)?;
        let mut meant: Vec<String> = table.indexes.iter().map(|i| i.name.clone()).collect();
        if let Some(name) = &stmt.name {
            let found = table.index(name).ok_or_else(|| {
                SqlError::new(&messages::CANNOT_FIND_INDEX, &[name]).at_line(line as i32)
            });
            meant = vec![found?.name.clone()];
        }
        let mut table = table;
        for name in meant {
            table = self.alter_one(table, &name, stmt)?;
        }
        Ok(())
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
        let (given, existing) = options_of(&stmt.options, index.unique)?;
        if existing {
            return Err(refuse("DROP_EXISTING in ALTER INDEX", line));
        }
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
        match stmt.action {
            AlterIndexAction::Rebuild => {
                options.disabled = false;
                catalog.rebuild_index(self.tx, &table, index.id, options)
            }
            // The pages are made anew: what compaction leads to.
            AlterIndexAction::Reorganize => {
                let known = ["LOB_COMPACTION"];
                if let Some(o) = stmt
                    .options
                    .iter()
                    .find(|o| !known.contains(&o.name.as_str()))
                {
                    return Err(refuse(&format!("the index option {}", o.name), o.line));
                }
                if index.options.disabled {
                    let args: [&dyn std::fmt::Display; 2] = [&index.name, &table.name];
                    return Err(SqlError::new(&messages::INDEX_IS_DISABLED, &args));
                }
                catalog.rebuild_index(self.tx, &table, index.id, options)
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
