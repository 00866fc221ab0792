//! Calls of built-in functions: how many arguments, of what types, converted to what their parameters promise; and those that
//! are refused by name.

use std::fmt;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::functions::{self, Param, ScalarFunction};
use duramen_query::{Expr, Kind};
use duramen_types::{SqlType, TypeId, Value, datefn::DatePart};

use super::Binder;

/// Checks the arguments of a call and converts them to what the parameters promise.
pub(crate) fn prepare(
    binder: &Binder<'_>,
    function: &ScalarFunction,
    args: Vec<Expr>,
) -> SqlResult<Vec<Expr>> {
    check_count(function, args.len())?;
    let mut out = Vec::with_capacity(args.len());
    for (i, arg) in args.into_iter().enumerate() {
        let param = function.params.get(i).or(function.params.last());
        let param = *param.unwrap_or(&Param::Any);
        if is_invalid(param, &arg) {
            let bare = arg.ty.id == TypeId::Int && matches!(arg.kind, Kind::Const(Value::Null));
            let ty = if bare { "NULL" } else { arg.ty.id.name() };
            let args: [&dyn fmt::Display; 3] = [&ty, &(i + 1), &function.name];
            return Err(SqlError::new(&messages::ARGUMENT_TYPE_INVALID, &args));
        }
        out.push(brought(binder, function, param, arg)?);
    }
    Ok(out)
}

/// 8116: what SQL Server does not convert for a parameter, though it would in an assignment.
fn is_invalid(param: Param, arg: &Expr) -> bool {
    let id = arg.ty.id;
    let bare_null = id == TypeId::Int && matches!(arg.kind, Kind::Const(Value::Null));
    let new_date = matches!(
        id,
        TypeId::Date | TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset
    );
    match param {
        Param::Comparable => id.is_legacy_lob() || id == TypeId::Xml,
        Param::Text | Param::TextOrBytes if id.is_legacy_lob() => true,
        Param::LongText if id == TypeId::Image => true,
        Param::Text | Param::LongText | Param::TextOrBytes => {
            (new_date && !bare_null) || matches!(id, TypeId::Xml | TypeId::SqlVariant)
        }
        Param::OnlyText => bare_null || !id.is_string(),
        Param::OnlyTextOrBytes => bare_null || !(id.is_string() || id.is_binary()),
        Param::OnlyBytes => !id.is_binary() || id.is_legacy_lob(),
        Param::Position => bare_null || id.is_string() || new_date,
        _ => false,
    }
}

fn brought(
    binder: &Binder<'_>,
    function: &ScalarFunction,
    param: Param,
    arg: Expr,
) -> SqlResult<Expr> {
    let id = arg.ty.id;
    // The functions read varchar by its code page: text in UTF-8 comes to them as nvarchar. Its digest is of its bytes.
    let reads = matches!(
        param,
        Param::Text
            | Param::LongText
            | Param::TextOrBytes
            | Param::OnlyText
            | Param::OnlyTextOrBytes
    ) && !function.reads_bytes;
    if reads && id.is_char() && arg.ty.collation.is_utf8() {
        let to = wide(&arg.ty);
        return binder.coerce(arg, to);
    }
    let to = match param {
        Param::Any
        | Param::Comparable
        | Param::OnlyText
        | Param::OnlyTextOrBytes
        | Param::OnlyBytes => {
            return Ok(arg);
        }
        Param::Text | Param::LongText if id.is_string() => return Ok(arg),
        Param::TextOrBytes if id.is_string() || id.is_binary() => return Ok(arg),
        Param::Text | Param::LongText | Param::TextOrBytes => SqlType::varchar(8000),
        Param::Int | Param::Position => SqlType::BIGINT,
        Param::Float => SqlType::FLOAT,
        Param::Number => functions::math::number_type(&arg.ty),
        Param::Date | Param::OldDate if id.is_temporal() => return Ok(arg),
        Param::Date if id.is_string() => SqlType::datetimeoffset(7),
        Param::Date | Param::OldDate => SqlType::DATETIME,
        Param::Formatted if duramen_types::netformat::takes(id) => return Ok(arg),
        Param::Formatted => {
            let args: [&dyn fmt::Display; 3] = [&id.name(), &1, &function.name];
            return Err(SqlError::new(&messages::ARGUMENT_TYPE_INVALID, &args));
        }
        Param::Part => {
            if let Kind::Const(word) = &arg.kind
                && let Some(word) = word.as_text()
                && DatePart::from_name(&word).is_none()
            {
                let error = SqlError::new(&messages::UNRECOGNIZED_OPTION, &[&word, &function.name]);
                return Err(error);
            }
            return Ok(arg);
        }
    };
    binder.coerce(arg, to)
}

/// nvarchar of as many characters, under the same collation.
pub(crate) fn wide(ty: &SqlType) -> SqlType {
    let chars = ty.char_capacity().map_or(4001, |n| n.min(4000));
    SqlType::nvarchar(chars as u16).with_collation(ty.collation)
}

/// Errors 174 and 189: too few or too many arguments.
pub(crate) fn check_count(function: &ScalarFunction, given: usize) -> SqlResult<()> {
    check_arguments(function.name, function.min_args, function.max_args, given)
}

pub(crate) fn check_arguments(name: &str, min: usize, max: usize, given: usize) -> SqlResult<()> {
    if (min..=max).contains(&given) {
        return Ok(());
    }
    Err(if min == max {
        SqlError::new(&messages::FUNCTION_ARGUMENT_COUNT, &[&name, &min])
    } else {
        let args: [&dyn fmt::Display; 3] = [&name, &min, &max];
        SqlError::new(&messages::FUNCTION_ARGUMENT_RANGE, &args)
    })
}

/// Functions that give rows and are refused by name (40517), besides those that are words of the language.
pub(crate) const REFUSED_TABLES: &[&str] = &["OPENJSON"];

/// Functions of SQL Server that are refused by name (40517) instead of being unknown (195).
pub(crate) const REFUSED: &[&str] = &[
    "approx_percentile_cont",
    "approx_percentile_disc",
    "asymkey_id",
    "cert_id",
    "certencoded",
    "certprivatekey",
    "checksum_agg",
    "columns_updated",
    "compress",
    "containstable",
    "cursor_status",
    "decompress",
    "decryptbycert",
    "decryptbykey",
    "decryptbypassphrase",
    "encryptbycert",
    "encryptbykey",
    "encryptbypassphrase",
    "eventdata",
    "freetexttable",
    "grouping",
    "grouping_id",
    "is_objectsigned",
    "isjson",
    "json_array",
    "json_arrayagg",
    "json_modify",
    "json_object",
    "json_objectagg",
    "json_path_exists",
    "json_query",
    "json_value",
    "key_guid",
    "key_id",
    "min_active_rowversion",
    "percentile_cont",
    "percentile_disc",
    "textptr",
    "textvalid",
];
