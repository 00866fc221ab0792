//! `sys.stats` and `sys.stats_columns`: the statistics of every index, those of CREATE STATISTICS, and those of columns that
//! plans have asked for (`_WA_Sys_...`), which are in memory only: after a start they come back as plans ask again.

use std::sync::Arc;

use duramen_access::statistics;
use duramen_base::SqlResult;
use duramen_catalog::{IndexDef, StatisticsDef, TableDef};
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::objects::tables;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1057, &STATS),
    (-1058, &STATS_COLUMNS),
];

enum Kind<'a> {
    Index(&'a IndexDef),
    Own(&'a StatisticsDef),
    /// Of a column, by place.
    Automatic {
        column: usize,
        id: u16,
        name: String,
    },
}

pub struct Source<'a> {
    table: &'a TableDef,
    kind: Kind<'a>,
}

impl Source<'_> {
    pub(super) fn id(&self) -> u16 {
        match &self.kind {
            Kind::Index(i) => i.id,
            Kind::Own(s) => s.id,
            Kind::Automatic { id, .. } => *id,
        }
    }

    fn name(&self) -> &str {
        match &self.kind {
            Kind::Index(i) => &i.name,
            Kind::Own(s) => &s.name,
            Kind::Automatic { name, .. } => name,
        }
    }

    fn no_recompute(&self) -> bool {
        match self.kind {
            Kind::Index(i) => i.options.no_recompute,
            Kind::Own(s) => s.no_recompute,
            Kind::Automatic { .. } => false,
        }
    }

    fn auto_created(&self) -> bool {
        match self.kind {
            Kind::Index(_) => false,
            Kind::Own(s) => s.automatic(),
            Kind::Automatic { .. } => true,
        }
    }

    fn user_created(&self) -> bool {
        matches!(self.kind, Kind::Own(s) if !s.automatic())
    }

    /// Ids of columns.
    pub(super) fn columns(&self) -> Vec<i32> {
        match &self.kind {
            Kind::Index(i) => {
                let id = |k: &duramen_storage::KeyColumn| self.table.columns.get(k.column);
                let keys = i.keys.iter().filter_map(id);
                keys.map(|c| c.id).collect()
            }
            Kind::Own(s) => s.columns.clone(),
            Kind::Automatic { column, .. } => vec![self.table.columns[*column].id],
        }
    }
}

columns! { Source<'_>;
    "object_id", T::INT, NOT_NULL, |s| int(s.table.id.0);
    "name", T::SYSNAME, NULL, |s| text(s.name());
    "stats_id", T::INT, NOT_NULL, |s| int(s.id());
    "auto_created", T::BIT, NULL, |s| bit(s.auto_created());
    "user_created", T::BIT, NULL, |s| bit(s.user_created());
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

/// Those of a table, indexes first. Automatic ones have the numbers behind all others, by column.
pub(super) fn sources<'a>(
    table: &'a Arc<TableDef>,
    cx: &Context,
) -> impl Iterator<Item = Source<'a>> {
    let indexes = table.indexes.iter().map(Kind::Index);
    let own = table.statistics.iter().map(Kind::Own);
    let ids = table.indexes.iter().map(|i| i.id);
    let ids = ids.chain(table.statistics.iter().map(|s| s.id));
    let last = ids.max().unwrap_or(1);
    let db = cx.instance.databases.find(&cx.database);
    let known = db.map_or_else(Vec::new, |d| d.statistics.automatic(table));
    let automatic = known.into_iter().map(move |column| Kind::Automatic {
        id: last.saturating_add(u16::try_from(table.columns[column].id).unwrap_or(u16::MAX)),
        name: statistics::automatic_name(table, column),
        column,
    });
    let all = indexes.chain(own).chain(automatic);
    all.map(|kind| Source { table, kind })
}

fn stats(cx: &Context, _: &[Value]) -> SqlResult<Vec<Vec<Value>>> {
    let tables = tables(cx, true)?;
    let all = tables.iter().flat_map(|t| sources(t, cx));
    Ok(all.map(|s| row(&s)).collect())
}

pub const STATS: View = View::new("stats", VISIBLE, COLUMNS, stats);

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
            for s in sources(&t, cx) {
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

    pub const STATS_COLUMNS: View = View::new("stats_columns", VISIBLE, COLUMNS, members);
}
