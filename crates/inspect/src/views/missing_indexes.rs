//! `sys.dm_db_missing_index_details`, `_groups`, `_group_stats`, `_group_stats_query` and `_columns`.
//!
//! A group has one index, whose handle is the group's own. What the server does for itself binds no plans: system columns
//! are 0, and so is `user_scans`, as nothing would scan such an index. Statements have no handle of their own without Query
//! Store: `last_statement_sql_handle` is 0x00. *Assumed.*

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_program::column::*;
use duramen_program::missing_indexes::{Group, Statement, Uses};
use duramen_tsql::ast::bracketed;
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1114, &DETAILS),
    (-1115, &GROUPS),
    (-1116, &STATS),
    (-1117, &BY_QUERY),
    (-5015, &COLUMNS_OF),
];

fn all(cx: &Context) -> Vec<Arc<Group>> {
    cx.instance
        .missing_indexes
        .all(&|id| cx.instance.databases.get(id))
}

/// `[a], [b]`
fn list(columns: &[(i32, String)]) -> Value {
    let names: Vec<String> = columns.iter().map(|(_, name)| bracketed(name)).collect();
    match names.is_empty() {
        true => Value::Null,
        false => text(&names.join(", ")),
    }
}

const LIST: T = T::nvarchar(4000);

columns! { Group;
    "index_handle", T::INT, NOT_NULL, |g| int(g.handle);
    "database_id", T::SMALLINT, NOT_NULL, |g| small(g.table.database);
    "object_id", T::INT, NOT_NULL, |g| int(g.table.object);
    "equality_columns", LIST, NULL, |g| list(&g.equality);
    "inequality_columns", LIST, NULL, |g| list(&g.inequality);
    "included_columns", LIST, NULL, |g| list(&g.included);
    "statement", LIST, NULL, |g| text(&g.statement);
}

pub const DETAILS: View = View::new(
    "dm_db_missing_index_details",
    SERVER_STATE,
    COLUMNS,
    |cx, _| Ok(all(cx).iter().map(|g| row(g)).collect()),
);

pub use groups::GROUPS;

mod groups {
    use super::*;

    columns! { Group;
        "index_group_handle", T::INT, NOT_NULL, |g| int(g.handle);
        "index_handle", T::INT, NOT_NULL, |g| int(g.handle);
    }

    pub const GROUPS: View = View::new(
        "dm_db_missing_index_groups",
        SERVER_STATE,
        COLUMNS,
        |cx, _| Ok(all(cx).iter().map(|g| row(g)).collect()),
    );
}

fn last(uses: &Uses) -> Value {
    match uses.last {
        0 => Value::Null,
        at => unix_time(i128::from(at)),
    }
}

pub use stats::STATS;

mod stats {
    use super::*;

    type Source = (i32, Uses);

    columns! { Source;
        "group_handle", T::INT, NOT_NULL, |s| int(s.0);
        "unique_compiles", T::BIGINT, NOT_NULL, |s| big(s.1.compiles);
        "user_seeks", T::BIGINT, NOT_NULL, |s| big(s.1.seeks);
        "user_scans", T::BIGINT, NOT_NULL, |_| big(0);
        "last_user_seek", T::DATETIME, NULL, |s| last(&s.1);
        "last_user_scan", T::DATETIME, NULL, |_| Value::Null;
        "avg_total_user_cost", T::FLOAT, NULL, |s| Value::Float(s.1.average_cost());
        "avg_user_impact", T::FLOAT, NULL, |s| Value::Float(s.1.average_impact());
        "system_seeks", T::BIGINT, NOT_NULL, |_| big(0);
        "system_scans", T::BIGINT, NOT_NULL, |_| big(0);
        "last_system_seek", T::DATETIME, NULL, |_| Value::Null;
        "last_system_scan", T::DATETIME, NULL, |_| Value::Null;
        "avg_total_system_cost", T::FLOAT, NULL, |_| Value::Float(0.0);
        "avg_system_impact", T::FLOAT, NULL, |_| Value::Float(0.0);
    }

    pub const STATS: View = View::new(
        "dm_db_missing_index_group_stats",
        SERVER_STATE,
        COLUMNS,
        |cx, _| {
            let all = all(cx);
            Ok(all.iter().map(|g| row(&(g.handle, g.uses()))).collect())
        },
    );
}

pub use by_query::BY_QUERY;

mod by_query {
    use super::*;

    pub struct Source {
        handle: i32,
        statement: Statement,
        uses: Uses,
    }

    fn hash(n: u64) -> Value {
        Value::Binary(n.to_be_bytes().to_vec())
    }

    columns! { Source;
        "group_handle", T::INT, NOT_NULL, |s| int(s.handle);
        "query_hash", T::binary(8), NOT_NULL, |s| hash(s.statement.query_hash);
        "query_plan_hash", T::binary(8), NOT_NULL, |s| hash(s.statement.plan_hash);
        "last_sql_handle", T::varbinary(64), NOT_NULL, |s| Value::Binary(s.statement.sql_handle.clone());
        "last_statement_start_offset", T::INT, NOT_NULL, |s| int(s.statement.start);
        "last_statement_end_offset", T::INT, NOT_NULL, |s| int(s.statement.end);
        "last_statement_sql_handle", T::varbinary(64), NOT_NULL, |_| Value::Binary(vec![0]);
        "user_seeks", T::BIGINT, NOT_NULL, |s| big(s.uses.seeks);
        "user_scans", T::BIGINT, NOT_NULL, |_| big(0);
        "last_user_seek", T::DATETIME, NULL, |s| last(&s.uses);
        "last_user_scan", T::DATETIME, NULL, |_| Value::Null;
        "avg_total_user_cost", T::FLOAT, NULL, |s| Value::Float(s.uses.average_cost());
        "avg_user_impact", T::FLOAT, NULL, |s| Value::Float(s.uses.average_impact());
        "system_seeks", T::BIGINT, NOT_NULL, |_| big(0);
        "system_scans", T::BIGINT, NOT_NULL, |_| big(0);
        "last_system_seek", T::DATETIME, NULL, |_| Value::Null;
        "last_system_scan", T::DATETIME, NULL, |_| Value::Null;
        "avg_total_system_cost", T::FLOAT, NULL, |_| Value::Float(0.0);
        "avg_system_impact", T::FLOAT, NULL, |_| Value::Float(0.0);
    }

    pub const BY_QUERY: View = View::new(
        "dm_db_missing_index_group_stats_query",
        SERVER_STATE,
        COLUMNS,
        |cx, _| {
            let mut rows = Vec::new();
            for group in all(cx) {
                for (statement, uses) in group.queries() {
                    rows.push(row(&Source {
                        handle: group.handle,
                        statement,
                        uses,
                    }));
                }
            }
            Ok(rows)
        },
    );
}

pub use columns_of::COLUMNS_OF;

mod columns_of {
    use super::*;

    type Source = (i32, String, &'static str);

    columns! { Source;
        "column_id", T::INT, NULL, |c| int(c.0);
        "column_name", T::nvarchar(128), NULL, |c| text(&c.1);
        "column_usage", T::varchar(20), NULL, |c| Value::varchar(c.2);
    }

    fn rows(cx: &Context, args: &[Value]) -> SqlResult<Vec<duramen_query::Row>> {
        let handle = args.first().and_then(Value::as_i64);
        let all = all(cx);
        let found = all.iter().find(|g| Some(i64::from(g.handle)) == handle);
        let Some(group) = found else {
            return Ok(Vec::new());
        };
        let kinds = [
            ("EQUALITY", &group.equality),
            ("INEQUALITY", &group.inequality),
            ("INCLUDE", &group.included),
        ];
        let mut out = Vec::new();
        for (usage, columns) in kinds {
            let one = |(id, name): &(i32, String)| row(&(*id, name.clone(), usage));
            out.extend(columns.iter().map(one));
        }
        Ok(out)
    }

    pub const COLUMNS_OF: View =
        View::new("dm_db_missing_index_columns", SERVER_STATE, COLUMNS, rows);
}
