//! `sys.dm_xe_packages`, `dm_xe_objects`, `dm_xe_object_columns` and `dm_xe_map_values`: what events there are, and what can
//! be asked of them.

use duramen_events::xe::objects::{self, ActionId, Package, TargetKind};
use duramen_events::xe::predicate;
use duramen_observe::events::EventId;
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1081, &PACKAGES),
    (-1082, &OBJECTS),
    (-1083, &COLUMNS),
    (-1084, &MAP_VALUES),
];

fn guid_of(package: &str) -> Value {
    let found = objects::package(package);
    Value::Guid(found.unwrap_or(&objects::PACKAGES[0]).guid)
}

mod packages {
    use super::*;

    columns! { Package;
        "guid", T::GUID, NOT_NULL, |p| Value::Guid(p.guid);
        "name", T::nvarchar(256), NOT_NULL, |p| text(p.name);
        "description", T::nvarchar(3072), NOT_NULL, |p| text(p.description);
        "capabilities", T::INT, NULL, |_| Value::Null;
        "capabilities_desc", T::nvarchar(256), NULL, |_| Value::Null;
        "module_guid", T::GUID, NOT_NULL, |_| Value::Guid(objects::MODULE);
        "module_address", T::varbinary(8), NOT_NULL, |_| Value::Binary(vec![0; 8]);
    }
}

pub const PACKAGES: View = View::new("dm_xe_packages", SERVER_STATE, packages::COLUMNS, |_, _| {
    Ok(objects::PACKAGES.iter().map(packages::row).collect())
});

mod all {
    use super::*;

    pub struct Object {
        pub name: String,
        pub kind: &'static str,
        pub package: &'static str,
        pub description: &'static str,
        /// The type and its package.
        pub ty: Option<(&'static str, &'static str)>,
        /// An event that happens where nothing may wait; the number of the capability is *assumed*.
        pub no_block: bool,
    }

    columns! { Object;
        "name", T::nvarchar(256), NOT_NULL, |o| text(&o.name);
        "object_type", T::nvarchar(60), NOT_NULL, |o| text(o.kind);
        "package_guid", T::GUID, NOT_NULL, |o| guid_of(o.package);
        "description", T::nvarchar(256), NOT_NULL, |o| text(o.description);
        "capabilities", T::INT, NULL, |o| if o.no_block { int(NO_BLOCK) } else { Value::Null };
        "capabilities_desc", T::nvarchar(256), NULL, |o| text_or_null(o.no_block.then_some("no_block"));
        "type_name", T::nvarchar(60), NULL, |o| text_or_null(o.ty.map(|t| t.0));
        "type_package_guid", T::GUID, NULL, |o| o.ty.map_or(Value::Null, |t| guid_of(t.1));
        "type_size", T::INT, NULL, |_| Value::Null;
    }
}

/// The bit of `no_block` in `capabilities`.
const NO_BLOCK: i64 = 256;

const TYPES: &[&str] = &[
    "uint64",
    "int64",
    "uint32",
    "uint16",
    "boolean",
    "unicode_string",
    "guid",
    "filetime",
    "xml",
];

fn every_object() -> Vec<all::Object> {
    let object = |name: &str, kind, package, description, ty| all::Object {
        name: name.to_owned(),
        kind,
        package,
        description,
        ty,
        no_block: false,
    };
    let mut out = Vec::new();
    for e in EventId::ALL {
        let event = object(e.name(), "event", e.package(), e.description(), None);
        out.push(all::Object {
            no_block: e.cannot_wait(),
            ..event
        });
    }
    for a in ActionId::ALL {
        let ty = Some((a.type_name(), "package0"));
        out.push(object(a.name(), "action", a.package(), a.description(), ty));
        if a.is_source() {
            out.push(object(
                a.name(),
                "pred_source",
                a.package(),
                a.description(),
                ty,
            ));
        }
    }
    let number = Some(("uint64", "package0"));
    for name in ["counter", "partitioned_counter"] {
        let about = "Counts how often the condition was asked";
        out.push(object(name, "pred_source", "package0", about, number));
    }
    for t in TargetKind::ALL {
        out.push(object(
            t.name(),
            "target",
            "package0",
            t.description(),
            None,
        ));
    }
    for verb in predicate::COMPARISONS {
        for ty in predicate::COMPARED_TYPES {
            out.push(object(
                &format!("{verb}_{ty}"),
                "pred_compare",
                "package0",
                "Compares in this type",
                None,
            ));
        }
        for ty in predicate::COLLATED_TYPES {
            out.push(object(
                &format!("{verb}_{ty}"),
                "pred_compare",
                "sqlserver",
                "Compares as the server's collation does",
                None,
            ));
        }
    }
    for ty in predicate::COLLATED_TYPES {
        for verb in ["like", "not_like"] {
            out.push(object(
                &format!("{verb}_{ty}"),
                "pred_compare",
                "sqlserver",
                "Compares with a pattern of LIKE",
                None,
            ));
        }
    }
    for name in ["divides_by_uint64", "divides_by_int64"] {
        out.push(object(
            name,
            "pred_compare",
            "package0",
            "Whether the value is a multiple of the number",
            None,
        ));
    }
    for (name, package, _) in objects::maps() {
        out.push(object(
            name,
            "map",
            package,
            "Numbers and what they mean",
            number,
        ));
    }
    for name in TYPES {
        out.push(object(name, "type", "package0", "A type of values", None));
    }
    out
}

pub const OBJECTS: View = View::new("dm_xe_objects", SERVER_STATE, all::COLUMNS, |_, _| {
    Ok(every_object().iter().map(all::row).collect())
});

mod fields {
    use super::*;

    pub struct Field {
        pub name: &'static str,
        pub id: i32,
        pub object: &'static str,
        pub package: &'static str,
        pub ty: &'static str,
        pub kind: &'static str,
        pub value: Option<&'static str>,
        pub mandatory: bool,
    }

    columns! { Field;
        "name", T::nvarchar(256), NOT_NULL, |f| text(f.name);
        "column_id", T::INT, NOT_NULL, |f| int(f.id);
        "object_name", T::nvarchar(256), NOT_NULL, |f| text(f.object);
        "object_package_guid", T::GUID, NOT_NULL, |f| guid_of(f.package);
        "type_name", T::nvarchar(60), NOT_NULL, |f| text(f.ty);
        "type_package_guid", T::GUID, NOT_NULL, |f| match objects::is_map(f.ty) {
            true => guid_of(f.package),
            false => guid_of("package0"),
        };
        "column_type", T::nvarchar(60), NOT_NULL, |f| text(f.kind);
        "column_value", T::nvarchar(256), NULL, |f| text_or_null(f.value);
        "capabilities", T::INT, NULL, |f| int(i64::from(f.mandatory));
        "capabilities_desc", T::nvarchar(256), NULL, |f| match f.mandatory {
            true => text("mandatory"),
            false => Value::Null,
        };
        "description", T::nvarchar(3072), NULL, |_| Value::Null;
    }
}

fn every_field() -> Vec<fields::Field> {
    let mut out = Vec::new();
    for e in EventId::ALL {
        let own = e.fields().iter().copied().zip(e.types().iter().copied());
        let joined = objects::joined(*e)
            .iter()
            .map(|j| (j.name(), j.type_name()));
        for (id, (name, ty)) in (0..).zip(own.chain(joined)) {
            out.push(fields::Field {
                name,
                id,
                object: e.name(),
                package: e.package(),
                ty,
                kind: "data",
                value: None,
                mandatory: false,
            });
        }
        for (id, c) in (0..).zip(objects::customizable(*e)) {
            out.push(fields::Field {
                name: c.name,
                id,
                object: e.name(),
                package: e.package(),
                ty: "boolean",
                kind: "customizable",
                value: Some(if c.default { "true" } else { "false" }),
                mandatory: false,
            });
        }
    }
    for t in TargetKind::ALL {
        for (id, p) in (0..).zip(t.parameters()) {
            out.push(fields::Field {
                name: p.name,
                id,
                object: t.name(),
                package: "package0",
                ty: p.ty,
                kind: "customizable",
                value: Some(p.default).filter(|d| !d.is_empty()),
                mandatory: p.required,
            });
        }
    }
    out
}

pub const COLUMNS: View = View::new(
    "dm_xe_object_columns",
    SERVER_STATE,
    fields::COLUMNS,
    |_, _| Ok(every_field().iter().map(fields::row).collect()),
);

mod values {
    use super::*;

    columns! { (&'static str, &'static str, u32, &'static str);
        "name", T::nvarchar(256), NOT_NULL, |v| text(v.0);
        "object_package_guid", T::GUID, NOT_NULL, |v| guid_of(v.1);
        "map_key", T::INT, NOT_NULL, |v| int(v.2);
        "map_value", T::nvarchar(3072), NULL, |v| text(v.3);
    }
}

pub const MAP_VALUES: View =
    View::new("dm_xe_map_values", SERVER_STATE, values::COLUMNS, |_, _| {
        let all = objects::maps().into_iter();
        let rows = all.flat_map(|(name, package, entries)| {
            entries
                .into_iter()
                .map(move |(key, value)| values::row(&(name, package, key, value)))
        });
        Ok(rows.collect())
    });
