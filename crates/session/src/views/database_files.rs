//! `sys.database_files`: the files of the current database.

use duramen_catalog::FileKind;
use duramen_types::{SqlType, Value};

use super::View;

pub const VIEW: View = View {
    name: "database_files",
    columns: &[
        ("file_id", SqlType::INT, false),
        ("type", SqlType::TINYINT, false),
        ("type_desc", SqlType::nvarchar(60), true),
        ("data_space_id", SqlType::INT, false),
        ("name", SqlType::SYSNAME, false),
        ("physical_name", SqlType::nvarchar(260), false),
        ("state_desc", SqlType::nvarchar(60), true),
        ("size", SqlType::INT, false),
        ("max_size", SqlType::INT, false),
        ("growth", SqlType::INT, false),
        ("is_percent_growth", SqlType::BIT, false),
    ],
    rows: |cx, _| {
        let Some(d) = cx.instance.databases.find(&cx.database) else {
            return Ok(Vec::new());
        };
        let data = d.db.files();
        let logs = d.db.log().map(|l| l.file_sizes()).unwrap_or_default();
        let mut rows = Vec::new();
        for f in &d.entry.read().files {
            let is_log = f.kind == FileKind::Log;
            let pages = if is_log {
                logs.iter()
                    .find(|(id, _)| id.0 == f.file_id)
                    .map(|(_, bytes)| (bytes / 8192) as i32)
            } else {
                data.iter()
                    .find(|i| i.spec.file_id == f.file_id)
                    .map(|i| i.size as i32)
            };
            let max = if is_log && f.max_size < 0 {
                268_435_456
            } else {
                f.max_size
            };
            rows.push(vec![
                Value::Int(i32::from(f.file_id)),
                Value::TinyInt(u8::from(is_log)),
                Value::nvarchar(if is_log { "LOG" } else { "ROWS" }),
                Value::Int(f.filegroup),
                Value::nvarchar(&f.logical_name),
                Value::nvarchar(&f.path),
                Value::nvarchar("ONLINE"),
                Value::Int(pages.unwrap_or(f.size)),
                Value::Int(max),
                Value::Int(f.growth),
                Value::Bit(f.growth_percent),
            ]);
        }
        Ok(rows)
    },
};
