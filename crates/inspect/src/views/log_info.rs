//! `sys.dm_db_log_info(database_id)`: a row a VLF.

use duramen_base::Lsn;
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};
use duramen_wal::VlfInfo;

use super::{View, database_argument};

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5001, &VIEW),
];

pub struct Source {
    database: u16,
    vlf: VlfInfo,
}

impl Source {
    fn first_lsn(&self) -> Lsn {
        match self.vlf.seq {
            0 => Lsn::NULL,
            seq => Lsn::new(seq, 16, 1),
        }
    }
}

columns! { Source;
    "database_id", T::INT, NOT_NULL, |v| int(v.database);
    "file_id", T::SMALLINT, NOT_NULL, |v| small(v.vlf.file_id.0);
    "vlf_begin_offset", T::BIGINT, NOT_NULL, |v| big(v.vlf.offset);
    // The view cuts to two decimals.
    "vlf_size_mb", T::FLOAT, NOT_NULL, |v| {
        Value::Float((v.vlf.size as f64 / 1_048_576.0 * 100.0).floor() / 100.0)
    };
    "vlf_sequence_number", T::BIGINT, NOT_NULL, |v| big(u64::from(v.vlf.seq));
    "vlf_active", T::BIT, NOT_NULL, |v| bit(v.vlf.status == 2);
    "vlf_status", T::INT, NOT_NULL, |v| int(v.vlf.status);
    "vlf_parity", T::TINYINT, NOT_NULL, |v| tiny(v.vlf.parity);
    "vlf_first_lsn", T::nvarchar(48), NULL, |v| text(&v.first_lsn().to_string());
    "vlf_create_lsn", T::nvarchar(48), NULL, |v| text(&v.vlf.create_lsn.to_string());
    "vlf_encryptor_thumbprint", T::varbinary(20), NULL, |_| Value::Null;
}

pub const VIEW: View = View::new("dm_db_log_info", STATE_OF_ARGUMENT, COLUMNS, |cx, args| {
    let found = database_argument(cx, args);
    let Some((database, log)) = found.as_ref().and_then(|d| Some((d.db.id.0, d.db.log()?))) else {
        return Ok(Vec::new());
    };
    let source = |vlf| row(&Source { database, vlf });
    Ok(log.vlfs().into_iter().map(source).collect())
});
