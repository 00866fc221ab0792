//! `sys.dm_db_log_info(database_id)`: a row a VLF.

use duramen_base::DbId;
use duramen_types::{SqlType, Value};

use super::View;

pub const VIEW: View = View {
    name: "dm_db_log_info",
    columns: &[
        ("database_id", SqlType::SMALLINT, false),
        ("file_id", SqlType::SMALLINT, false),
        ("vlf_begin_offset", SqlType::BIGINT, false),
        ("vlf_size_mb", SqlType::FLOAT, false),
        ("vlf_sequence_number", SqlType::BIGINT, false),
        ("vlf_active", SqlType::BIT, false),
        ("vlf_status", SqlType::INT, false),
        ("vlf_parity", SqlType::TINYINT, false),
        ("vlf_first_lsn", SqlType::nvarchar(48), false),
        ("vlf_create_lsn", SqlType::nvarchar(48), false),
    ],
    rows: |cx, args| {
        let found = match args.first().and_then(Value::as_i64) {
            Some(id) => u16::try_from(id)
                .ok()
                .and_then(|id| cx.instance.databases.get(DbId(id))),
            None => cx.instance.databases.find(&cx.database),
        };
        let Some((id, log)) = found.as_ref().and_then(|d| Some((d.db.id, d.db.log()?))) else {
            return Ok(Vec::new());
        };
        let row = |v: duramen_wal::VlfInfo| {
            let first = if v.seq == 0 {
                duramen_base::Lsn::NULL
            } else {
                duramen_base::Lsn::new(v.seq, 16, 1)
            };
            vec![
                Value::SmallInt(id.0 as i16),
                Value::SmallInt(v.file_id.0 as i16),
                Value::BigInt(v.offset as i64),
                // The view cuts to two decimals.
                Value::Float((v.size as f64 / 1_048_576.0 * 100.0).floor() / 100.0),
                Value::BigInt(i64::from(v.seq)),
                Value::Bit(v.status == 2),
                Value::Int(i32::from(v.status)),
                Value::TinyInt(v.parity),
                Value::nvarchar(&first.to_string()),
                Value::nvarchar(&v.create_lsn.to_string()),
            ]
        };
        Ok(log.vlfs().into_iter().map(row).collect())
    },
};
