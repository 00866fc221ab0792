//! ALTER TABLE ... SWITCH: whether the two tables are alike enough.
//!
//! No row is looked at: that all of them belong to the target's partition follows from the source's partition (4973) or from
//! its check constraints (4982), as far as these are trusted and compare the column with constants. Where the column may be
//! NULL a constraint has to say that it is not, unless the target's partition is the first.

use std::fmt::Display;
use std::sync::Arc;

use duramen_base::messages::Message;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{CheckDef, IndexDef, TableDef};
use duramen_query::host::Limit;
use duramen_storage::RowsetDef;
use duramen_types::Value;

use super::{Ddl, refuse};

fn failed(message: &'static Message, args: &[&dyn Display]) -> SqlError {
    SqlError::new(message, args)
}

/// One table of a switch: its name in messages, and its partition from 1, where it has any.
struct Side<'a> {
    table: &'a Arc<TableDef>,
    name: String,
    number: Option<usize>,
}

impl Side<'_> {
    fn at(&self) -> usize {
        self.number.map_or(0, |n| n - 1)
    }
}

impl Ddl<'_> {
    pub(super) fn switch_rows(
        &self,
        source: &Arc<TableDef>,
        target: &Arc<TableDef>,
        numbers: (Option<i64>, Option<i64>),
    ) -> SqlResult<()> {
        if source.id == target.id {
            let args: [&dyn Display; 2] = [&source.name, &target.name];
            return Err(failed(&messages::SWITCH_SAME_TABLE, &args));
        }
        let (a, b) = (self.side(source, numbers.0)?, self.side(target, numbers.1)?);
        same_columns(&a, &b)?;
        for side in [&a, &b] {
            if let Some(i) = side
                .table
                .nonclustered()
                .find(|i| !side.table.is_aligned_with(i))
            {
                let args: [&dyn Display; 5] = [
                    &"ALTER TABLE SWITCH",
                    &"table",
                    &side.table.name,
                    &"index",
                    &i.name,
                ];
                return Err(failed(&messages::INDEX_NOT_PARTITIONED, &args));
            }
        }
        let pairs = same_indexes(&a, &b)?;
        if let Some((_, f)) = source.referenced_by.first() {
            let args: [&dyn Display; 2] = [&a.name, &f.name];
            return Err(failed(&messages::SWITCH_REFERENCED, &args));
        }
        if let Some(f) = target.foreign_keys.first() {
            let args: [&dyn Display; 3] = [&b.name, &f.name, &a.name];
            return Err(failed(&messages::SWITCH_FOREIGN_KEY, &args));
        }
        for c in &target.checks {
            let same = |o: &duramen_catalog::CheckDef| {
                o.text == c.text && (!o.state.not_trusted || c.state.not_trusted)
            };
            if !source.checks.iter().any(same) {
                let args: [&dyn Display; 3] = [&b.name, &c.name, &a.name];
                return Err(match c.column {
                    0 => failed(&messages::SWITCH_CHECK, &args),
                    _ => failed(&messages::SWITCH_COLUMN_CHECK, &args),
                });
            }
        }
        let (from, to) = (
            &source.data_rowsets()[a.at()],
            &target.data_rowsets()[b.at()],
        );
        self.same_filegroup((&a, "table", &a.name, from), (&b, "table", &b.name, to))?;
        for (i, j) in &pairs {
            let (x, y) = (&i.rowsets()[a.at()], &j.rowsets()[b.at()]);
            self.same_filegroup((&a, "index", &i.name, x), (&b, "index", &j.name, y))?;
        }
        if self.db.db.rowset(to).row_count()? > 0 {
            return Err(match b.number {
                Some(n) => failed(&messages::SWITCH_TARGET_PARTITION_FULL, &[&n, &b.name]),
                None => failed(&messages::SWITCH_TARGET_FULL, &[&b.name]),
            });
        }
        self.rows_fit(&a, &b)?;
        let ids: Vec<(u16, u16)> = pairs.iter().map(|(i, j)| (i.id, j.id)).collect();
        self.db
            .catalog
            .switch(self.tx, (source, a.at()), (target, b.at()), &ids)
    }

    fn side<'t>(&self, table: &'t Arc<TableDef>, number: Option<i64>) -> SqlResult<Side<'t>> {
        let name = format!("{}.{}.{}", self.db.db.name, table.schema_name, table.name);
        let number = match (&table.partitioned, number) {
            (None, None) => None,
            (None, Some(n)) => {
                let args: [&dyn Display; 2] = [&n, &name];
                self.note(failed(&messages::SWITCH_NUMBER_IGNORED, &args));
                None
            }
            (Some(_), None) => {
                return Err(failed(&messages::SWITCH_NUMBER_MISSING, &[&name]));
            }
            (Some(p), Some(n)) => {
                let known = usize::try_from(n)
                    .ok()
                    .filter(|n| (1..=p.rowsets.len()).contains(n));
                let args: [&dyn Display; 2] = [&n, &name];
                Some(known.ok_or_else(|| failed(&messages::SWITCH_NO_SUCH_PARTITION, &args))?)
            }
        };
        Ok(Side {
            table,
            name,
            number,
        })
    }

    /// 4938, 4939 and 4940
    fn same_filegroup(
        &self,
        (a, kind, own, x): (&Side<'_>, &str, &str, &RowsetDef),
        (b, other_kind, other, y): (&Side<'_>, &str, &str, &RowsetDef),
    ) -> SqlResult<()> {
        let db = &self.db.db;
        let same = |i, j| db.filegroup_of(i) == db.filegroup_of(j);
        let lobs = x.lob_au.zip(y.lob_au).is_none_or(|(i, j)| same(i, j));
        if same(x.au, y.au) && lobs {
            return Ok(());
        }
        let name = |au| {
            let id = db.filegroup_of(au);
            let found = db.filegroups().into_iter().find(|g| g.id == id);
            found.map_or(String::new(), |g| g.name)
        };
        let (f, g) = (name(x.au), name(y.au));
        Err(match (a.number, b.number) {
            (Some(n), Some(m)) => {
                let args: [&dyn Display; 8] = [&n, &kind, &own, &f, &m, &other_kind, &other, &g];
                failed(&messages::SWITCH_FILEGROUPS_OF_PARTITIONS, &args)
            }
            (None, Some(n)) => {
                let args: [&dyn Display; 7] = [&kind, &own, &f, &n, &other_kind, &other, &g];
                failed(&messages::SWITCH_FILEGROUP_OF_PARTITION, &args)
            }
            (Some(n), None) => {
                let args: [&dyn Display; 7] = [&other_kind, &other, &g, &n, &kind, &own, &f];
                failed(&messages::SWITCH_FILEGROUP_OF_PARTITION, &args)
            }
            (None, None) => {
                let args: [&dyn Display; 6] = [&kind, &own, &f, &other_kind, &other, &g];
                failed(&messages::SWITCH_FILEGROUPS, &args)
            }
        })
    }

    /// 4973 and 4982
    fn rows_fit(&self, a: &Side<'_>, b: &Side<'_>) -> SqlResult<()> {
        let (Some(p), Some(number)) = (&b.table.partitioned, b.number) else {
            return Ok(());
        };
        let function = &p.function;
        let total = p.rowsets.len();
        let between = |low: &Limit, high: &Limit| function.between(side(low), side(high));
        let trusted = |c: &&CheckDef| !c.state.disabled && !c.state.not_trusted;
        let checks = a.table.checks.iter().filter(trusted);
        let names: Vec<&str> = checks.map(|c| c.name.as_str()).collect();
        let stored = self.stored(a.table)?;
        let mut vars = Vec::new();
        let host = self.host()?;
        let mut cx = duramen_query::Cx::new(host, &mut vars, host.convert_ctx());
        let of_checks = duramen_planner::dml::partitions_of_checks(
            &stored, &names, p.column, &between, total, &mut cx,
        );
        let (mut may, mut not_null) = of_checks?;
        not_null |= !a.table.columns[p.column].nullable;
        if let (Some(of), Some(n)) = (&a.table.partitioned, a.number)
            && of.column == p.column
        {
            // Its first partition is where NULLs are; behind the other ends of it they are not.
            not_null |= n > 1;
            let range = of.function.limits(n - 1);
            let range = between(&range.0, &range.1);
            for (at, one) in may.iter_mut().enumerate() {
                *one &= range.contains(&at);
            }
        }
        let elsewhere = may.iter().enumerate().any(|(at, may)| *may && at != b.at());
        if !elsewhere && (not_null || b.at() == 0) {
            return Ok(());
        }
        Err(match a.number {
            Some(n) => {
                let args: [&dyn Display; 4] = [&n, &a.name, &number, &b.name];
                failed(&messages::SWITCH_RANGE, &args)
            }
            None => {
                let args: [&dyn Display; 3] = [&a.name, &number, &b.name];
                failed(&messages::SWITCH_VALUES, &args)
            }
        })
    }
}

fn side(limit: &Limit) -> Option<(&Value, bool)> {
    limit.as_ref().map(|(v, whole)| (v, *whole))
}

fn same_columns(a: &Side<'_>, b: &Side<'_>) -> SqlResult<()> {
    let (own, other) = (&a.table.columns, &b.table.columns);
    if own.len() != other.len() {
        let args: [&dyn Display; 4] = [&a.name, &own.len(), &b.name, &other.len()];
        return Err(failed(&messages::SWITCH_COLUMN_COUNT, &args));
    }
    for (ordinal, (c, d)) in (1..).zip(own.iter().zip(other)) {
        if duramen_catalog::fold(&c.name) != duramen_catalog::fold(&d.name) {
            let args: [&dyn Display; 5] = [&c.name, &ordinal, &a.name, &d.name, &b.name];
            return Err(failed(&messages::SWITCH_COLUMN_NAME, &args));
        }
        let (t, u) = (c.ty, d.ty);
        if (t.id, t.length, t.precision, t.scale) != (u.id, u.length, u.precision, u.scale) {
            let args: [&dyn Display; 5] = [&c.name, &t, &a.name, &u, &b.name];
            return Err(failed(&messages::SWITCH_COLUMN_TYPE, &args));
        }
        if t.collation != u.collation {
            let args: [&dyn Display; 3] = [&c.name, &a.name, &b.name];
            return Err(failed(&messages::SWITCH_COLLATION, &args));
        }
        if c.nullable != d.nullable {
            let args: [&dyn Display; 3] = [&c.name, &a.name, &b.name];
            return Err(failed(&messages::SWITCH_NULLABILITY, &args));
        }
        // Rows name their columns by number.
        if c.computed.is_some() || d.computed.is_some() || c.id != d.id {
            let what = "SWITCH of tables with computed columns, or with columns of other numbers";
            return Err(refuse(what, 0));
        }
    }
    Ok(())
}

/// 4913 and 4947; else which index stands for which.
fn same_indexes<'t>(a: &Side<'t>, b: &Side<'t>) -> SqlResult<Vec<(&'t IndexDef, &'t IndexDef)>> {
    let clustered = |s: &Side<'t>| s.table.indexes.iter().find(|i| i.clustered);
    match (clustered(a), clustered(b)) {
        (Some(i), None) => {
            let args: [&dyn Display; 3] = [&a.name, &i.name, &b.name];
            return Err(failed(&messages::SWITCH_CLUSTERED, &args));
        }
        (None, Some(i)) => {
            let args: [&dyn Display; 3] = [&b.name, &i.name, &a.name];
            return Err(failed(&messages::SWITCH_CLUSTERED, &args).with_state(2));
        }
        _ => {}
    }
    let missing = |i: &IndexDef| {
        let args: [&dyn Display; 3] = [&a.name, &i.name, &b.name];
        failed(&messages::SWITCH_INDEX, &args)
    };
    if let (Some(i), Some(j)) = (clustered(a), clustered(b))
        && (i.unique, i.primary_key) != (j.unique, j.primary_key)
    {
        return Err(missing(j));
    }
    let like =
        |x: &RowsetDef, y: &RowsetDef| x.layout == y.layout && x.keys == y.keys && x.kind == y.kind;
    if !like(&a.table.data, &b.table.data) {
        return Err(match clustered(b) {
            Some(j) => missing(j),
            None => refuse("SWITCH of heaps whose rows are laid out otherwise", 0),
        });
    }
    let mut pairs: Vec<(&IndexDef, &IndexDef)> = Vec::new();
    for j in b.table.nonclustered() {
        let same = |i: &&IndexDef| {
            let free = !pairs.iter().any(|(taken, _)| taken.id == i.id);
            free && like(&i.rowset, &j.rowset)
                && i.sources == j.sources
                && i.unique == j.unique
                && i.primary_key == j.primary_key
                && i.options.disabled == j.options.disabled
        };
        let found = a.table.nonclustered().find(same);
        pairs.push((found.ok_or_else(|| missing(j))?, j));
    }
    // An index of the source alone would keep entries of rows that have gone.
    let alone = |i: &&IndexDef| !pairs.iter().any(|(taken, _)| taken.id == i.id);
    match a.table.nonclustered().find(alone) {
        Some(i) => Err(missing(i)),
        None => Ok(pairs),
    }
}
