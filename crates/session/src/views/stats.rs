//! `sys.stats` and `sys.stats_columns`: the statistics of every index, and those of CREATE STATISTICS.
//!
//! Statistics that plans have asked for are in memory only and have no row.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_catalog::{IndexDef, StatisticsDef, TableDef};
use duramen_types::{SqlType as T, Value};

use super::View;
use super::column::*;
use super::objects::tables;
use crate::host::Context;

enum Kind<'a> {
    Index(&'a IndexDef),
    Own(&'a StatisticsDef),
}

pub struct Source<'a> {
    table: &'a TableDef,
    kind: Kind<'a>,
}

impl Source<'_> {
    fn id(&self) -> u16 {
        match self.kind {
            Kind::Index(i) => i.id,
            Kind::Own(s) => s.id,
        }
    }

    fn name(&self) -> &str {
        match self.kind {
            Kind::Index(i) => &i.name,
            Kind::Own(s) => &s.name,
        }
    }

    fn no_recompute(&self) -> bool {
        match self.kind {
            Kind::Index(i) => i.options.no_recompute,
            Kind::Own(s) => s.no_recompute,
        }
    }

    fn own(&self, what: impl Fn(&StatisticsDef) -> bool) -> Value {
        bit(matches!(self.kind, Kind::Own(s) if what(s)))
    }

    /// Ids of columns.
    fn columns(&self) -> Vec<i32> {
        match self.kind {
            Kind::Index(i) => {
                let id = |k: &duramen_storage::KeyColumn| self.table.columns.get(k.column);
                let keys = i.keys.iter().filter_map(id);
                keys.map(|c| c.id).collect()
            }
            Kind::Own(s) => s.columns.clone(),
        }
    }
}

columns! { Source<'_>;
    "object_id", T::INT, NOT_NULL, |s| int(s.table.id.0);
    "name", T::SYSNAME, NULL, |s| text(s.name());
    "stats_id", T::INT, NOT_NULL, |s| int(s.id());
    "auto_created", T::BIT, NULL, |s| s.own(StatisticsDef::automatic);
    "user_created", T::BIT, NULL, |s| s.own(|s| !s.automatic());
    "no_recompute", T::BIT, NULL, |s| bit(s.no_recompute());
    "has_filter", T::BIT, NULL, |_| bit(false);
    "filter_definition", T::NVARCHAR_MAX, NULL, |_| Value::Null;
    "is_temporary", T::BIT, NULL, |_| bit(false);
    "is_incremental", T::BIT, NULL, |_| bit(false);
    "has_persisted_sample", T::BIT, NULL, |_| bit(false);
    "stats_generation_method", T::INT, NOT_NULL, |_| int(0);
    "stats_generation_method_desc", T::varchar(80), NOT_NULL, |_| Value::varchar("Sort based statistics");
    "auto_drop", T::BIT, NULL, |_| bit(false);
}

/// Those of a table, indexes first.
fn sources(table: &Arc<TableDef>) -> impl Iterator<Item = Source<'_>> {
    let indexes = table.indexes.iter().map(Kind::Index);
    let own = table.statistics.iter().map(Kind::Own);
    indexes.chain(own).map(|kind| Source { table, kind })
}

fn stats(cx: &Context, _: &[Value]) -> SqlResult<Vec<Vec<Value>>> {
    let tables = tables(cx, true)?;
    let all = tables.iter().flat_map(sources);
    Ok(all.map(|s| row(&s)).collect())
}

pub const STATS: View = View::new("stats", COLUMNS, stats);

pub use columns::STATS_COLUMNS;

mod columns {
    use super::*;

    pub struct Member {
        table: i32,
        statistics: u16,
        /// From 1.
        position: i64,
        column: i32,
    }

    columns! { Member;
        "object_id", T::INT, NOT_NULL, |m| int(m.table);
        "stats_id", T::INT, NOT_NULL, |m| int(m.statistics);
        "stats_column_id", T::INT, NULL, |m| int(m.position);
        "column_id", T::INT, NULL, |m| int(m.column);
    }

    fn members(cx: &Context, _: &[Value]) -> SqlResult<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        for t in tables(cx, true)? {
            for s in sources(&t) {
                for (position, column) in (1..).zip(s.columns()) {
                    rows.push(row(&Member {
                        table: t.id.0,
                        statistics: s.id(),
                        position,
                        column,
                    }));
                }
            }
        }
        Ok(rows)
    }

    pub const STATS_COLUMNS: View = View::new("stats_columns", COLUMNS, members);
}
