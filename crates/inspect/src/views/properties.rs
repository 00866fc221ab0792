//! `sys.extended_properties`.

use duramen_catalog::properties::{PropertyDef, class};
use duramen_program::column::*;
use duramen_types::SqlType as T;

use super::View;
use super::objects::snapshot;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1066, &VIEW),
];

fn class_name(p: &PropertyDef) -> &'static str {
    match p.class {
        class::DATABASE => "DATABASE",
        class::SCHEMA => "SCHEMA",
        class::INDEX => "INDEX",
        _ => "OBJECT_OR_COLUMN",
    }
}

columns! { PropertyDef;
    "class", T::TINYINT, NOT_NULL, |p| tiny(p.class);
    "class_desc", DESC, NULL, |p| text(class_name(p));
    "major_id", T::INT, NOT_NULL, |p| int(p.id);
    "minor_id", T::INT, NOT_NULL, |p| int(p.part);
    "name", T::SYSNAME, NOT_NULL, |p| text(&p.name);
    "value", T::VARIANT, NULL, |p| p.value.clone();
}

pub const VIEW: View = View::new("extended_properties", VISIBLE, COLUMNS, |cx, _| {
    Ok(snapshot(cx)?.properties.iter().map(row).collect())
});
