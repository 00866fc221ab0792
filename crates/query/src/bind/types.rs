//! Type names: `int`, `decimal(10, 2)`, `nvarchar(max)`, `sysname`.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast;
use duramen_types::{MAX_LENGTH, SqlType, TypeId};

/// Errors 305 and 306: values of xml, text, ntext and image have no order.
pub(super) fn check_order(ty: &SqlType) -> SqlResult<()> {
    if ty.id == TypeId::Xml {
        return Err(SqlError::new(&messages::XML_NOT_COMPARABLE, &[]));
    }
    if ty.id.is_legacy_lob() {
        return Err(SqlError::new(&messages::TEXT_NOT_COMPARABLE, &[]).with_state(2));
    }
    Ok(())
}

/// Error 421: DISTINCT over values that cannot be compared.
pub(super) fn check_distinct(ty: &SqlType) -> SqlResult<()> {
    match check_order(ty) {
        Ok(()) => Ok(()),
        Err(_) => Err(SqlError::new(
            &messages::DISTINCT_NOT_COMPARABLE,
            &[&ty.id.name()],
        )),
    }
}

/// The type a declaration names. `cast` says that a missing length means 30, not 1.
pub fn resolve_type(ty: &ast::DataType, cast: bool) -> SqlResult<SqlType> {
    let name = ty.name.name().to_ascii_lowercase();
    let line = ty.name.line as i32;
    let number = |i: usize| match ty.args.get(i) {
        Some(ast::TypeArg::Number(n)) => Some(*n),
        _ => None,
    };
    let max = matches!(ty.args.first(), Some(ast::TypeArg::Max));
    let length = |limit: u32| -> SqlResult<u16> {
        let n = number(0).unwrap_or(if cast { 30 } else { 1 });
        if n == 0 {
            return Err(
                SqlError::new(&messages::INVALID_LENGTH_OF_TYPE, &[&line, &n]).at_line(line),
            );
        }
        if n > limit {
            let error = if n > 8000 {
                let args: [&dyn std::fmt::Display; 4] = [&n, &"type", &name, &8000];
                SqlError::new(&messages::TYPE_SIZE_EXCEEDS_MAXIMUM, &args).with_state(3)
            } else {
                let args: [&dyn std::fmt::Display; 4] = [&n, &"type", &name, &limit];
                SqlError::new(&messages::SIZE_EXCEEDS_MAXIMUM, &args).with_state(2)
            };
            return Err(error.at_line(line));
        }
        Ok(n as u16)
    };
    let scale = || -> SqlResult<u8> {
        match number(0) {
            None => Ok(7),
            Some(n) if n <= 7 => Ok(n as u8),
            Some(n) => {
                let args: [&dyn std::fmt::Display; 2] = [&line, &n];
                Err(SqlError::new(&messages::INVALID_SCALE, &args).at_line(line))
            }
        }
    };
    Ok(match name.as_str() {
        "bit" => SqlType::BIT,
        "tinyint" => SqlType::TINYINT,
        "smallint" => SqlType::SMALLINT,
        "int" | "integer" => SqlType::INT,
        "bigint" => SqlType::BIGINT,
        "real" => SqlType::REAL,
        "float" | "double precision" => match number(0) {
            Some(n) if n <= 24 => SqlType::REAL,
            _ => SqlType::FLOAT,
        },
        "decimal" | "dec" | "numeric" => {
            let precision = number(0).unwrap_or(18);
            let scale = number(1).unwrap_or(0);
            if precision == 0 || precision > 38 {
                return Err(
                    SqlError::new(&messages::PRECISION_TOO_LARGE, &[&-1, &precision, &38])
                        .at_line(line),
                );
            }
            if scale > precision {
                return Err(SqlError::new(&messages::SCALE_EXCEEDS_PRECISION, &[]).at_line(line));
            }
            let make = if name == "numeric" {
                SqlType::numeric
            } else {
                SqlType::decimal
            };
            make(precision as u8, scale as u8)
        }
        "money" => SqlType::MONEY,
        "smallmoney" => SqlType::SMALLMONEY,
        "date" => SqlType::DATE,
        "datetime" => SqlType::DATETIME,
        "smalldatetime" => SqlType::SMALLDATETIME,
        "time" => SqlType::time(scale()?),
        "datetime2" => SqlType::datetime2(scale()?),
        "datetimeoffset" => SqlType::datetimeoffset(scale()?),
        "char" | "character" => SqlType::char(length(8000)?),
        "varchar" | "char varying" | "character varying" if max => SqlType::varchar(MAX_LENGTH),
        "varchar" | "char varying" | "character varying" => SqlType::varchar(length(8000)?),
        "nchar" | "national char" | "national character" => SqlType::nchar(length(4000)?),
        "nvarchar" | "national char varying" | "national character varying" if max => {
            SqlType::NVARCHAR_MAX
        }
        "nvarchar" | "national char varying" | "national character varying" => {
            SqlType::nvarchar(length(4000)?)
        }
        "binary" => SqlType::binary(length(8000)?),
        "varbinary" | "binary varying" if max => SqlType::VARBINARY_MAX,
        "varbinary" | "binary varying" => SqlType::varbinary(length(8000)?),
        "uniqueidentifier" => SqlType::GUID,
        "sysname" => SqlType::SYSNAME,
        "text" => SqlType::TEXT,
        "ntext" => SqlType::NTEXT,
        "image" => SqlType::IMAGE,
        "sql_variant" => SqlType::VARIANT,
        "timestamp" | "rowversion" => SqlType::ROWVERSION,
        "xml" => SqlType::XML,
        _ => {
            let shown = ty.name.display();
            let error = if cast {
                SqlError::new(&messages::TYPE_NOT_DEFINED, &[&shown])
            } else {
                SqlError::new(&messages::DATA_TYPE_NOT_FOUND, &[&1, &shown]).with_state(3)
            };
            return Err(error.at_line(line));
        }
    })
}
