//! Type names: `int`, `decimal(10, 2)`, `nvarchar(max)`, `sysname`.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_tsql::ast;
use duramen_types::{MAX_LENGTH, SqlType, TypeId};

use super::unsupported;

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

/// Where a type is written: what it lacks and how its mistakes are told depends on that.
#[derive(Clone, Copy)]
pub enum TypeSite<'a> {
    /// CAST and its like: a missing length means 30, not 1.
    Cast,
    /// A variable by its number; an alias type and what a function gives is 0.
    Variable(usize),
    Parameter(usize, &'a str),
    Column(usize, &'a str),
}

impl TypeSite<'_> {
    /// The number in "Column, parameter, or variable #%d".
    fn number(self) -> usize {
        match self {
            TypeSite::Cast => 0,
            TypeSite::Variable(n) | TypeSite::Parameter(n, _) | TypeSite::Column(n, _) => n,
        }
    }
}

/// A type as it is written.
struct Written<'a> {
    name: &'a str,
    args: &'a [ast::TypeArg],
    line: i32,
    site: TypeSite<'a>,
}

impl Written<'_> {
    fn arg(&self, i: usize) -> Option<u32> {
        match self.args.get(i) {
            Some(ast::TypeArg::Number(n)) => Some(*n),
            _ => None,
        }
    }

    fn is_max(&self) -> bool {
        matches!(self.args, [ast::TypeArg::Max])
    }

    fn error(&self, message: &messages::Message, args: &[&dyn std::fmt::Display]) -> SqlError {
        SqlError::new(message, args).at_line(self.line)
    }

    /// A type that takes no size, or not this one (MAX in the place of a number: *assumed*).
    fn no_width(&self) -> SqlError {
        match self.site {
            TypeSite::Cast => self.error(&messages::CAST_INVALID_ATTRIBUTES, &[&self.name]),
            site => {
                let args: [&dyn std::fmt::Display; 2] = [&site.number(), &self.name];
                self.error(&messages::COLUMN_WIDTH_NOT_ALLOWED, &args)
            }
        }
    }

    /// 1001 for a size of 0, whatever it is given to; more arguments than there may be, or MAX.
    fn check_args(&self, most: usize) -> SqlResult<()> {
        if self.arg(0) == Some(0) && !takes_scale(self.name) {
            let args: [&dyn std::fmt::Display; 2] = [&self.line, &0];
            return Err(self.error(&messages::INVALID_LENGTH_OF_TYPE, &args));
        }
        let max = self.args.iter().any(|a| matches!(a, ast::TypeArg::Max));
        match self.args.len() > most || max && !takes_max(self.name) {
            true => Err(self.no_width()),
            false => Ok(()),
        }
    }

    fn length(&self, limit: u32) -> SqlResult<u16> {
        let missing = match self.site {
            TypeSite::Cast => 30,
            _ => 1,
        };
        let n = self.arg(0).unwrap_or(missing);
        match n > limit {
            true => Err(self.too_large(n, limit)),
            false => Ok(n as u16),
        }
    }

    /// 131 beyond what any type may have, else 2717.
    fn too_large(&self, n: u32, limit: u32) -> SqlError {
        let (what, name) = match self.site {
            TypeSite::Column(_, name) => ("column", name),
            TypeSite::Parameter(_, name) => ("parameter", name),
            _ => ("type", self.name),
        };
        match n > 8000 {
            true => {
                let args: [&dyn std::fmt::Display; 4] = [&n, &what, &name, &8000];
                let error = self.error(&messages::TYPE_SIZE_EXCEEDS_MAXIMUM, &args);
                error.with_state(3)
            }
            false => {
                let args: [&dyn std::fmt::Display; 4] = [&n, &what, &name, &limit];
                let error = self.error(&messages::SIZE_EXCEEDS_MAXIMUM, &args);
                error.with_state(2)
            }
        }
    }

    fn scale(&self) -> SqlResult<u8> {
        match self.arg(0) {
            None => Ok(7),
            Some(n) if n <= 7 => Ok(n as u8),
            Some(n) => Err(self.error(&messages::INVALID_SCALE, &[&self.line, &n])),
        }
    }

    /// A precision of at most `most`. CAST takes a larger one alone for that; beside a scale only a column has a message of
    /// its own for it.
    fn precision(&self, n: u32, most: u32) -> SqlResult<u8> {
        if n <= most {
            return Ok(n as u8);
        }
        match (self.site, self.args.len()) {
            (TypeSite::Cast, 1) => Ok(most as u8),
            (TypeSite::Column(..), _) | (_, 1) => {
                let args: [&dyn std::fmt::Display; 3] = [&self.site.number(), &n, &most];
                Err(self.error(&messages::PRECISION_TOO_LARGE, &args))
            }
            _ => Err(self.too_large(n, most)),
        }
    }

    fn decimal(&self, make: fn(u8, u8) -> SqlType) -> SqlResult<SqlType> {
        let precision = self.precision(self.arg(0).unwrap_or(18), 38)?;
        let scale = self.arg(1).unwrap_or(0);
        if scale <= u32::from(precision) {
            return Ok(make(precision, scale as u8));
        }
        Err(match self.site {
            TypeSite::Column(_, name) => {
                let args: [&dyn std::fmt::Display; 4] = [&scale, &name, &0, &precision];
                self.error(&messages::SCALE_OUT_OF_RANGE, &args)
            }
            _ => self.error(&messages::SCALE_EXCEEDS_PRECISION, &[]),
        })
    }

    fn float(&self) -> SqlResult<SqlType> {
        Ok(match self.precision(self.arg(0).unwrap_or(53), 53)? {
            ..=24 => SqlType::REAL,
            _ => SqlType::FLOAT,
        })
    }
}

fn takes_scale(name: &str) -> bool {
    matches!(name, "time" | "datetime2" | "datetimeoffset")
}

fn takes_max(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "varchar",
        "char varying",
        "character varying",
        "nvarchar",
        "national char varying",
        "national character varying",
        "varbinary",
        "binary varying",
    ];
    NAMES.contains(&name)
}

fn takes_length(name: &str) -> bool {
    const FIXED: [&str; 6] = [
        "char",
        "character",
        "nchar",
        "national char",
        "national character",
        "binary",
    ];
    takes_max(name) || FIXED.contains(&name)
}

/// Types of SQL Server that are refused by name (40517) instead of being unknown.
const REFUSED: [&str; 3] = ["geography", "geometry", "hierarchyid"];

/// 40517 for a type that its name refuses.
pub fn refused_type(ty: &ast::DataType) -> SqlResult<()> {
    let name = ty.name.name();
    match REFUSED.iter().find(|r| r.eq_ignore_ascii_case(name)) {
        Some(name) => Err(unsupported(&format!("the type {name}"), ty.name.line)),
        None => Ok(()),
    }
}

/// The type that is written.
pub fn resolve_type(ty: &ast::DataType, site: TypeSite<'_>) -> SqlResult<SqlType> {
    let name = ty.name.name().to_ascii_lowercase();
    let written = Written {
        name: &name,
        args: &ty.args,
        line: ty.name.line as i32,
        site,
    };
    let known = known(&written)?;
    if let Some(ty) = known {
        return Ok(ty);
    }
    refused_type(ty)?;
    let shown = ty.name.display();
    Err(match site {
        TypeSite::Cast => written.error(&messages::TYPE_NOT_DEFINED, &[&shown]),
        site => {
            let args: [&dyn std::fmt::Display; 2] = [&site.number(), &shown];
            let error = written.error(&messages::DATA_TYPE_NOT_FOUND, &args);
            error.with_state(3)
        }
    })
}

/// A type of the system; `None`: it has another name.
fn known(written: &Written<'_>) -> SqlResult<Option<SqlType>> {
    let (most, ty) = match written.name {
        name if takes_scale(name) || takes_length(name) => (1, None),
        "float" | "double precision" => (1, None),
        "decimal" | "dec" | "numeric" => (2, None),
        name => match plain(name) {
            Some(ty) => (0, Some(ty)),
            None => return Ok(None),
        },
    };
    // Nearly all have none.
    if !written.args.is_empty() {
        written.check_args(most)?;
    }
    match ty {
        Some(ty) => Ok(Some(ty)),
        None => sized(written),
    }
}

/// A type that takes no size.
fn plain(name: &str) -> Option<SqlType> {
    Some(match name {
        "bit" => SqlType::BIT,
        "tinyint" => SqlType::TINYINT,
        "smallint" => SqlType::SMALLINT,
        "int" | "integer" => SqlType::INT,
        "bigint" => SqlType::BIGINT,
        "real" => SqlType::REAL,
        "money" => SqlType::MONEY,
        "smallmoney" => SqlType::SMALLMONEY,
        "date" => SqlType::DATE,
        "datetime" => SqlType::DATETIME,
        "smalldatetime" => SqlType::SMALLDATETIME,
        "uniqueidentifier" => SqlType::GUID,
        "sysname" => SqlType::SYSNAME,
        "text" => SqlType::TEXT,
        "ntext" => SqlType::NTEXT,
        "image" => SqlType::IMAGE,
        "sql_variant" => SqlType::VARIANT,
        "timestamp" | "rowversion" => SqlType::ROWVERSION,
        "xml" => SqlType::XML,
        _ => return None,
    })
}

/// A type that takes a length, a precision or a scale.
fn sized(written: &Written<'_>) -> SqlResult<Option<SqlType>> {
    let ty = match written.name {
        "float" | "double precision" => written.float()?,
        "decimal" | "dec" => written.decimal(SqlType::decimal)?,
        "numeric" => written.decimal(SqlType::numeric)?,
        "time" => SqlType::time(written.scale()?),
        "datetime2" => SqlType::datetime2(written.scale()?),
        "datetimeoffset" => SqlType::datetimeoffset(written.scale()?),
        "char" | "character" => SqlType::char(written.length(8000)?),
        "nchar" | "national char" | "national character" => SqlType::nchar(written.length(4000)?),
        "binary" => SqlType::binary(written.length(8000)?),
        "varchar" | "char varying" | "character varying" => match written.is_max() {
            true => SqlType::varchar(MAX_LENGTH),
            false => SqlType::varchar(written.length(8000)?),
        },
        "nvarchar" | "national char varying" | "national character varying" => {
            match written.is_max() {
                true => SqlType::NVARCHAR_MAX,
                false => SqlType::nvarchar(written.length(4000)?),
            }
        }
        "varbinary" | "binary varying" => match written.is_max() {
            true => SqlType::VARBINARY_MAX,
            false => SqlType::varbinary(written.length(8000)?),
        },
        _ => return Ok(None),
    };
    Ok(Some(ty))
}
