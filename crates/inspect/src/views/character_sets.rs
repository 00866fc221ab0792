//! `sys.syscharsets`: the character set and the sort order of the default collation. What else a server lists there is
//! nowhere written down; old clients join the two.

use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1051, &VIEW),
];

pub(super) struct Set {
    /// 1001 is a character set, 2001 a sort order.
    kind: i16,
    id: u8,
    /// The character set of a sort order.
    of: u8,
    name: &'static str,
    description: &'static str,
}

/// Code page 1252 goes by the name of the standard that it extends. Ids and names as documented, descriptions assumed.
const SETS: [Set; 2] = [
    Set {
        kind: 1001,
        id: 1,
        of: 0,
        name: "iso_1",
        description: "ISO 8859-1 (Latin-1) - Western European 8-bit character set.",
    },
    Set {
        kind: 2001,
        id: 52,
        of: 1,
        name: "nocase_iso",
        description: "Case-insensitive dictionary sort order for Western European languages, over iso_1.",
    },
];

columns! { &'static Set;
    "type", T::SMALLINT, NOT_NULL, |s| small(s.kind);
    "id", T::TINYINT, NOT_NULL, |s| tiny(s.id);
    "csid", T::TINYINT, NOT_NULL, |s| tiny(s.of);
    "status", T::SMALLINT, NULL, |_| small(0);
    "name", T::SYSNAME, NOT_NULL, |s| text(s.name);
    "description", T::nvarchar(255), NULL, |s| text(s.description);
    "binarydefinition", T::varbinary(6000), NULL, |_| Value::Null;
    "definition", T::IMAGE, NULL, |_| Value::Null;
}

pub const VIEW: View = View::new("syscharsets", FACTS, COLUMNS, |_, _| {
    Ok(SETS.iter().map(|s| row(&s)).collect::<Vec<Vec<Value>>>())
})
.of_dbo();
