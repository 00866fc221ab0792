//! Partition functions and schemes.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_catalog::{PartitionFunctionDef, PartitionSchemeDef};
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;
use super::objects::snapshot;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1028, &PARTITION_FUNCTIONS),
    (-1029, &PARTITION_PARAMETERS),
    (-1030, &PARTITION_RANGE_VALUES),
    (-1031, &PARTITION_SCHEMES),
    (-1032, &DESTINATION_DATA_SPACES),
];

type Function = Arc<PartitionFunctionDef>;

columns! { Function;
    "name", T::SYSNAME, NOT_NULL, |f| text(&f.name);
    "function_id", T::INT, NOT_NULL, |f| int(f.id);
    "type", T::char(2), NOT_NULL, |_| Value::varchar("R ");
    "type_desc", DESC, NULL, |_| text("RANGE");
    "fanout", T::INT, NOT_NULL, |f| int(f.fanout() as i64);
    "boundary_value_on_right", T::BIT, NOT_NULL, |f| bit(f.right);
    "is_system", T::BIT, NOT_NULL, |_| bit(false);
    "create_date", T::DATETIME, NOT_NULL, |f| Value::DateTime(f.created);
    "modify_date", T::DATETIME, NOT_NULL, |f| Value::DateTime(f.modified);
}

fn functions(cx: &Context) -> SqlResult<Vec<Function>> {
    let snapshot = snapshot(cx)?;
    Ok(snapshot.partition_functions.values().cloned().collect())
}

pub const PARTITION_FUNCTIONS: View =
    View::new("partition_functions", VISIBLE, COLUMNS, |cx, _| {
        Ok(functions(cx)?.iter().map(row).collect())
    });

pub use parameters::PARTITION_PARAMETERS;

mod parameters {
    use super::*;

    columns! { Function;
        "function_id", T::INT, NOT_NULL, |f| int(f.id);
        "parameter_id", T::INT, NOT_NULL, |_| int(1);
        "system_type_id", T::TINYINT, NOT_NULL, |f| tiny(f.ty.id.xtype());
        "max_length", T::SMALLINT, NOT_NULL, |f| small(f.ty.catalog_length());
        "precision", T::TINYINT, NOT_NULL, |f| tiny(f.ty.precision);
        "scale", T::TINYINT, NOT_NULL, |f| tiny(f.ty.scale);
        "collation_name", T::SYSNAME, NULL, |f| match f.ty.id.is_string() {
            true => text_or_null(f.ty.collation.name()),
            false => Value::Null,
        };
        "user_type_id", T::INT, NOT_NULL, |f| int(f.ty.id.xtype());
    }

    pub const PARTITION_PARAMETERS: View =
        View::new("partition_parameters", VISIBLE, COLUMNS, |cx, _| {
            Ok(functions(cx)?.iter().map(row).collect())
        });
}

pub use values::PARTITION_RANGE_VALUES;

mod values {
    use super::*;

    pub struct Boundary {
        function: Function,
        at: usize,
    }

    columns! { Boundary;
        "function_id", T::INT, NOT_NULL, |b| int(b.function.id);
        "boundary_id", T::INT, NOT_NULL, |b| int(b.at as i64 + 1);
        "parameter_id", T::INT, NOT_NULL, |_| int(1);
        "value", T::VARIANT, NULL, |b| match b.function.boundaries.get(b.at) {
            None | Some(Value::Null) => Value::Null,
            Some(v) => Value::Variant(Box::new((b.function.ty, v.clone()))),
        };
    }

    pub const PARTITION_RANGE_VALUES: View =
        View::new("partition_range_values", VISIBLE, COLUMNS, |cx, _| {
            let mut rows = Vec::new();
            for function in functions(cx)? {
                for at in 0..function.boundaries.len() {
                    let function = function.clone();
                    rows.push(row(&Boundary { function, at }));
                }
            }
            Ok(rows)
        });
}

pub use schemes::{DESTINATION_DATA_SPACES, PARTITION_SCHEMES};

mod schemes {
    use super::*;

    type Scheme = Arc<PartitionSchemeDef>;

    columns! { Scheme;
        "name", T::SYSNAME, NOT_NULL, |s| text(&s.name);
        "data_space_id", T::INT, NOT_NULL, |s| int(s.id);
        "type", T::char(2), NOT_NULL, |_| Value::varchar("PS");
        "type_desc", DESC, NULL, |_| text("PARTITION_SCHEME");
        "is_default", T::BIT, NOT_NULL, |_| bit(false);
        "is_system", T::BIT, NOT_NULL, |_| bit(false);
        "function_id", T::INT, NOT_NULL, |s| int(s.function);
    }

    pub const PARTITION_SCHEMES: View =
        View::new("partition_schemes", VISIBLE, COLUMNS, |cx, _| {
            let snapshot = snapshot(cx)?;
            Ok(snapshot.partition_schemes.values().map(row).collect())
        });

    pub use destinations::DESTINATION_DATA_SPACES;

    mod destinations {
        use super::*;

        pub struct Destination {
            scheme: i32,
            number: usize,
            filegroup: u16,
        }

        columns! { Destination;
            "partition_scheme_id", T::INT, NOT_NULL, |d| int(d.scheme);
            "destination_id", T::INT, NOT_NULL, |d| int(d.number as i64);
            "data_space_id", T::INT, NOT_NULL, |d| int(d.filegroup);
        }

        /// NEXT USED is one more than there are partitions.
        pub const DESTINATION_DATA_SPACES: View =
            View::new("destination_data_spaces", VISIBLE, COLUMNS, |cx, _| {
                let mut rows = Vec::new();
                for s in snapshot(cx)?.partition_schemes.values() {
                    let all = s.destinations.iter().chain(&s.next_used);
                    for (number, filegroup) in (1..).zip(all) {
                        rows.push(row(&Destination {
                            scheme: s.id,
                            number,
                            filegroup: *filegroup,
                        }));
                    }
                }
                Ok(rows)
            });
    }
}
