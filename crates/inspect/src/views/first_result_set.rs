//! `sys.dm_exec_describe_first_result_set(tsql, params, include_browse_information)`: the columns of the first result that a
//! text would give, one a row; or the error for which that is not known, in one row.
//!
//! Only the host can bind, so it is asked for the rows (`run::first_result_set`).
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-describe-first-result-set-transact-sql>

use std::any::Any;

use duramen_base::SqlResult;
use duramen_query::host::{FunctionParameter, Host, RowStream, UserFunction};
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5034, &VIEW),
];

const NAME: T = T::SYSNAME;

/// The columns of an error, behind those that describe a column.
const ERROR: [(&str, T, bool); 6] = [
    ("error_number", T::INT, true),
    ("error_severity", T::INT, true),
    ("error_state", T::INT, true),
    ("error_message", T::nvarchar(4000), true),
    ("error_type", T::INT, true),
    ("error_type_desc", T::nvarchar(60), true),
];
pub const COLUMNS: &[(&str, T, bool)] = &[
    ("is_hidden", T::BIT, true),
    ("column_ordinal", T::INT, true),
    ("name", NAME, true),
    ("is_nullable", T::BIT, true),
    ("system_type_id", T::INT, true),
    ("system_type_name", T::nvarchar(256), true),
    ("max_length", T::SMALLINT, true),
    ("precision", T::TINYINT, true),
    ("scale", T::TINYINT, true),
    ("collation_name", NAME, true),
    ("user_type_id", T::INT, true),
    ("user_type_database", NAME, true),
    ("user_type_schema", NAME, true),
    ("user_type_name", NAME, true),
    ("assembly_qualified_type_name", T::nvarchar(4000), true),
    ("xml_collection_id", T::INT, true),
    ("xml_collection_database", NAME, true),
    ("xml_collection_schema", NAME, true),
    ("xml_collection_name", NAME, true),
    ("is_xml_document", T::BIT, true),
    ("is_case_sensitive", T::BIT, true),
    ("is_fixed_length_clr_type", T::BIT, true),
    ("source_server", NAME, true),
    ("source_database", NAME, true),
    ("source_schema", NAME, true),
    ("source_table", NAME, true),
    ("source_column", NAME, true),
    ("is_identity_column", T::BIT, true),
    ("is_part_of_unique_key", T::BIT, true),
    ("is_updateable", T::BIT, true),
    ("is_computed_column", T::BIT, true),
    ("is_sparse_column_set", T::BIT, true),
    ("ordinal_in_order_by_list", T::SMALLINT, true),
    ("order_by_list_length", T::SMALLINT, true),
    ("order_by_is_descending", T::SMALLINT, true),
    ERROR[0],
    ERROR[1],
    ERROR[2],
    ERROR[3],
    ERROR[4],
    ERROR[5],
];

pub const VIEW: View = View::of_host(
    "dm_exec_describe_first_result_set",
    duramen_program::rights::needs::ASKS,
    COLUMNS,
    rows,
);

/// Stands for the function where the host is asked to run it: only the host can bind.
#[derive(Debug)]
pub struct Describe;

impl UserFunction for Describe {
    fn name(&self) -> &str {
        VIEW.name
    }

    fn parameters(&self) -> &[FunctionParameter] {
        &[]
    }

    fn returns(&self) -> T {
        T::INT
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn rows(host: &dyn Host, args: &[Value]) -> SqlResult<RowStream> {
    let (_, rows) = host.call_function(&Describe, args.to_vec())?;
    Ok(Box::new(rows.into_iter().map(Ok)))
}
