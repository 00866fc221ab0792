//! `sys.data_spaces` and `sys.filegroups`.

use std::sync::Arc;

use duramen_catalog::PartitionSchemeDef;
use duramen_program::column::*;
use duramen_storage::FilegroupInfo;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::objects::snapshot;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1040, &DATA_SPACES),
    (-1041, &FILEGROUPS),
];

pub struct Source {
    name: String,
    id: i32,
    scheme: bool,
    default: bool,
    all_files: bool,
}

columns! { Source;
    "name", T::SYSNAME, NOT_NULL, |s| text(&s.name);
    "data_space_id", T::INT, NOT_NULL, |s| int(s.id);
    "type", T::char(2), NOT_NULL, |s| Value::varchar(if s.scheme { "PS" } else { "FG" });
    "type_desc", DESC, NULL, |s| text(match s.scheme {
        true => "PARTITION_SCHEME",
        false => "ROWS_FILEGROUP",
    });
    "is_default", T::BIT, NULL, |s| bit(s.default);
    "is_system", T::BIT, NULL, |_| bit(false);
}

fn sources(cx: &Context) -> Vec<Source> {
    let db = cx.instance.databases.find(&cx.database);
    let groups = db.map(|d| d.db.filegroups()).unwrap_or_default();
    let source = |g: FilegroupInfo| Source {
        name: g.name,
        id: i32::from(g.id),
        scheme: false,
        default: g.is_default,
        all_files: g.autogrow_all,
    };
    groups.into_iter().map(source).collect()
}

pub const DATA_SPACES: View = View::new("data_spaces", VISIBLE, COLUMNS, |cx, _| {
    let scheme = |s: &Arc<PartitionSchemeDef>| Source {
        name: s.name.clone(),
        id: s.id,
        scheme: true,
        default: false,
        all_files: false,
    };
    let mut all = sources(cx);
    all.extend(snapshot(cx)?.partition_schemes.values().map(scheme));
    Ok(all.iter().map(row).collect())
});

pub use groups::FILEGROUPS;

mod groups {
    use super::*;

    columns! { Source;
        "name", T::SYSNAME, NOT_NULL, |s| text(&s.name);
        "data_space_id", T::INT, NOT_NULL, |s| int(s.id);
        "type", T::char(2), NOT_NULL, |_| Value::varchar("FG");
        "type_desc", DESC, NULL, |_| text("ROWS_FILEGROUP");
        "is_default", T::BIT, NULL, |s| bit(s.default);
        "is_system", T::BIT, NULL, |_| bit(false);
        "filegroup_guid", T::GUID, NULL, |_| Value::Null;
        "log_filegroup_id", T::INT, NULL, |_| Value::Null;
        "is_read_only", T::BIT, NULL, |_| bit(false);
        "is_autogrow_all_files", T::BIT, NULL, |s| bit(s.all_files);
    }

    pub const FILEGROUPS: View = View::new("filegroups", VISIBLE, COLUMNS, |cx, _| {
        Ok(sources(cx).iter().map(row).collect())
    });
}
