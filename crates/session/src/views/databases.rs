//! `sys.databases`: the columns that have a source so far.

use duramen_types::{SqlType, Value};

use super::View;
use crate::databases::{durability_of, option};

pub const VIEW: View = View {
    name: "databases",
    columns: &[
        ("name", SqlType::SYSNAME, false),
        ("database_id", SqlType::INT, false),
        ("create_date", SqlType::DATETIME, false),
        ("compatibility_level", SqlType::TINYINT, false),
        ("collation_name", SqlType::SYSNAME, true),
        ("state", SqlType::TINYINT, true),
        ("state_desc", SqlType::nvarchar(60), true),
        ("recovery_model", SqlType::TINYINT, true),
        ("recovery_model_desc", SqlType::nvarchar(60), true),
        ("delayed_durability", SqlType::INT, true),
        ("delayed_durability_desc", SqlType::nvarchar(60), true),
        ("log_reuse_wait_desc", SqlType::nvarchar(60), true),
    ],
    rows: |cx, _| {
        let mut rows = Vec::new();
        for d in cx.instance.databases.all() {
            let entry = d.entry.read().clone();
            let full = entry.options & option::RECOVERY_FULL != 0;
            let delayed = durability_of(entry.options);
            rows.push(vec![
                Value::nvarchar(&d.db.name),
                Value::Int(i32::from(d.db.id.0)),
                Value::DateTime(entry.created),
                Value::TinyInt(entry.compatibility_level),
                Value::nvarchar("SQL_Latin1_General_CP1_CI_AS"),
                Value::TinyInt(0),
                Value::nvarchar("ONLINE"),
                Value::TinyInt(if full { 1 } else { 3 }),
                Value::nvarchar(if full { "FULL" } else { "SIMPLE" }),
                Value::Int(delayed as i32),
                Value::nvarchar(delayed.name()),
                d.db.log()
                    .map_or(Value::Null, |l| Value::nvarchar(l.reuse_reason())),
            ]);
        }
        Ok(rows)
    },
};
