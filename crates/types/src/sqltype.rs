//! SQL types: what a column, variable or expression is declared as.

use std::fmt;

use crate::CollationId;

/// The base type. The discriminant is `sys.types.system_type_id` (`xtype` of the base tables).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum TypeId {
    Image = 34,
    Text = 35,
    UniqueIdentifier = 36,
    Date = 40,
    Time = 41,
    DateTime2 = 42,
    DateTimeOffset = 43,
    TinyInt = 48,
    SmallInt = 52,
    Int = 56,
    SmallDateTime = 58,
    Real = 59,
    Money = 60,
    DateTime = 61,
    Float = 62,
    SqlVariant = 98,
    NText = 99,
    Bit = 104,
    Decimal = 106,
    Numeric = 108,
    SmallMoney = 122,
    BigInt = 127,
    VarBinary = 165,
    VarChar = 167,
    Binary = 173,
    Char = 175,
    /// `timestamp`, `rowversion`.
    RowVersion = 189,
    NVarChar = 231,
    NChar = 239,
    /// A CLR type of a foreign file (hierarchyid, geometry, geography); its values are plain bytes.
    Udt = 240,
    Xml = 241,
}

impl TypeId {
    pub const ALL: [TypeId; 31] = [
        TypeId::Image,
        TypeId::Text,
        TypeId::UniqueIdentifier,
        TypeId::Date,
        TypeId::Time,
        TypeId::DateTime2,
        TypeId::DateTimeOffset,
        TypeId::TinyInt,
        TypeId::SmallInt,
        TypeId::Int,
        TypeId::SmallDateTime,
        TypeId::Real,
        TypeId::Money,
        TypeId::DateTime,
        TypeId::Float,
        TypeId::SqlVariant,
        TypeId::NText,
        TypeId::Bit,
        TypeId::Decimal,
        TypeId::Numeric,
        TypeId::SmallMoney,
        TypeId::BigInt,
        TypeId::VarBinary,
        TypeId::VarChar,
        TypeId::Binary,
        TypeId::Char,
        TypeId::RowVersion,
        TypeId::NVarChar,
        TypeId::NChar,
        TypeId::Udt,
        TypeId::Xml,
    ];

    pub fn xtype(self) -> u8 {
        self as u8
    }

    pub fn from_xtype(x: u8) -> Option<TypeId> {
        TypeId::ALL.into_iter().find(|t| t.xtype() == x)
    }

    /// The name of `sys.types` and of error messages.
    pub fn name(self) -> &'static str {
        match self {
            TypeId::Image => "image",
            TypeId::Text => "text",
            TypeId::UniqueIdentifier => "uniqueidentifier",
            TypeId::Date => "date",
            TypeId::Time => "time",
            TypeId::DateTime2 => "datetime2",
            TypeId::DateTimeOffset => "datetimeoffset",
            TypeId::TinyInt => "tinyint",
            TypeId::SmallInt => "smallint",
            TypeId::Int => "int",
            TypeId::SmallDateTime => "smalldatetime",
            TypeId::Real => "real",
            TypeId::Money => "money",
            TypeId::DateTime => "datetime",
            TypeId::Float => "float",
            TypeId::SqlVariant => "sql_variant",
            TypeId::NText => "ntext",
            TypeId::Bit => "bit",
            TypeId::Decimal => "decimal",
            TypeId::Numeric => "numeric",
            TypeId::SmallMoney => "smallmoney",
            TypeId::BigInt => "bigint",
            TypeId::VarBinary => "varbinary",
            TypeId::VarChar => "varchar",
            TypeId::Binary => "binary",
            TypeId::Char => "char",
            TypeId::RowVersion => "timestamp",
            TypeId::NVarChar => "nvarchar",
            TypeId::NChar => "nchar",
            TypeId::Udt => "udt",
            TypeId::Xml => "xml",
        }
    }

    /// Types of bytes or characters, fixed or varying.
    pub fn is_string(self) -> bool {
        self.is_char() || self.is_nchar()
    }

    /// Code-page characters: char, varchar, text.
    pub fn is_char(self) -> bool {
        matches!(self, TypeId::Char | TypeId::VarChar | TypeId::Text)
    }

    /// UTF-16 characters: nchar, nvarchar, ntext.
    pub fn is_nchar(self) -> bool {
        matches!(self, TypeId::NChar | TypeId::NVarChar | TypeId::NText)
    }

    pub fn is_binary(self) -> bool {
        matches!(
            self,
            TypeId::Binary | TypeId::VarBinary | TypeId::Image | TypeId::RowVersion
        )
    }

    /// bit, tinyint, smallint, int, bigint.
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            TypeId::Bit | TypeId::TinyInt | TypeId::SmallInt | TypeId::Int | TypeId::BigInt
        )
    }

    pub fn is_decimal(self) -> bool {
        matches!(self, TypeId::Decimal | TypeId::Numeric)
    }

    pub fn is_money(self) -> bool {
        matches!(self, TypeId::Money | TypeId::SmallMoney)
    }

    pub fn is_approximate(self) -> bool {
        matches!(self, TypeId::Real | TypeId::Float)
    }

    pub fn is_numeric(self) -> bool {
        self.is_integer() || self.is_decimal() || self.is_money() || self.is_approximate()
    }

    pub fn is_temporal(self) -> bool {
        matches!(
            self,
            TypeId::Date
                | TypeId::Time
                | TypeId::DateTime
                | TypeId::SmallDateTime
                | TypeId::DateTime2
                | TypeId::DateTimeOffset
        )
    }

    /// text, ntext, image: types with rules of their own.
    pub fn is_legacy_lob(self) -> bool {
        matches!(self, TypeId::Text | TypeId::NText | TypeId::Image)
    }
}

/// A type with its facets. Equality is of all facets; use `id` to compare families.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct SqlType {
    pub id: TypeId,
    /// Bytes on disk; `u16::MAX` for the (max) types, text, ntext, image and xml.
    pub length: u16,
    pub precision: u8,
    pub scale: u8,
    pub collation: CollationId,
}

/// The `length` of (max) types.
pub const MAX_LENGTH: u16 = u16::MAX;

const fn plain(id: TypeId, length: u16, precision: u8, scale: u8) -> SqlType {
    SqlType {
        id,
        length,
        precision,
        scale,
        collation: CollationId::NONE,
    }
}

const fn text(id: TypeId, length: u16) -> SqlType {
    SqlType {
        id,
        length,
        precision: 0,
        scale: 0,
        collation: CollationId::DEFAULT,
    }
}

impl SqlType {
    pub const BIT: SqlType = plain(TypeId::Bit, 1, 1, 0);
    pub const TINYINT: SqlType = plain(TypeId::TinyInt, 1, 3, 0);
    pub const SMALLINT: SqlType = plain(TypeId::SmallInt, 2, 5, 0);
    pub const INT: SqlType = plain(TypeId::Int, 4, 10, 0);
    pub const BIGINT: SqlType = plain(TypeId::BigInt, 8, 19, 0);
    pub const REAL: SqlType = plain(TypeId::Real, 4, 24, 0);
    pub const FLOAT: SqlType = plain(TypeId::Float, 8, 53, 0);
    pub const MONEY: SqlType = plain(TypeId::Money, 8, 19, 4);
    pub const SMALLMONEY: SqlType = plain(TypeId::SmallMoney, 4, 10, 4);
    pub const DATE: SqlType = plain(TypeId::Date, 3, 10, 0);
    pub const DATETIME: SqlType = plain(TypeId::DateTime, 8, 23, 3);
    pub const SMALLDATETIME: SqlType = plain(TypeId::SmallDateTime, 4, 16, 0);
    pub const GUID: SqlType = plain(TypeId::UniqueIdentifier, 16, 0, 0);
    pub const ROWVERSION: SqlType = plain(TypeId::RowVersion, 8, 0, 0);
    pub const VARIANT: SqlType = plain(TypeId::SqlVariant, 8016, 0, 0);
    pub const IMAGE: SqlType = plain(TypeId::Image, MAX_LENGTH, 0, 0);
    pub const TEXT: SqlType = text(TypeId::Text, MAX_LENGTH);
    pub const NTEXT: SqlType = text(TypeId::NText, MAX_LENGTH);
    pub const XML: SqlType = plain(TypeId::Xml, MAX_LENGTH, 0, 0);
    /// `sysname`: nvarchar(128).
    pub const SYSNAME: SqlType = text(TypeId::NVarChar, 256);
    pub const VARCHAR_MAX: SqlType = text(TypeId::VarChar, MAX_LENGTH);
    pub const NVARCHAR_MAX: SqlType = text(TypeId::NVarChar, MAX_LENGTH);
    pub const VARBINARY_MAX: SqlType = plain(TypeId::VarBinary, MAX_LENGTH, 0, 0);

    /// `decimal(p, s)`; its storage size follows from the precision.
    pub const fn decimal(precision: u8, scale: u8) -> SqlType {
        plain(
            TypeId::Decimal,
            decimal_bytes(precision) as u16,
            precision,
            scale,
        )
    }

    /// `numeric(p, s)`: the same as decimal under another id. Results of arithmetic and literals are numeric.
    pub const fn numeric(precision: u8, scale: u8) -> SqlType {
        plain(
            TypeId::Numeric,
            decimal_bytes(precision) as u16,
            precision,
            scale,
        )
    }

    pub const fn time(scale: u8) -> SqlType {
        let precision = if scale == 0 { 8 } else { 9 + scale };
        plain(TypeId::Time, time_bytes(scale) as u16, precision, scale)
    }

    pub const fn datetime2(scale: u8) -> SqlType {
        let precision = if scale == 0 { 19 } else { 20 + scale };
        plain(
            TypeId::DateTime2,
            time_bytes(scale) as u16 + 3,
            precision,
            scale,
        )
    }

    pub const fn datetimeoffset(scale: u8) -> SqlType {
        let precision = if scale == 0 { 26 } else { 27 + scale };
        plain(
            TypeId::DateTimeOffset,
            time_bytes(scale) as u16 + 5,
            precision,
            scale,
        )
    }

    /// `char(n)`, n in bytes, under the default collation.
    pub const fn char(n: u16) -> SqlType {
        text(TypeId::Char, n)
    }

    /// `varchar(n)`; `MAX_LENGTH` for varchar(max).
    pub const fn varchar(n: u16) -> SqlType {
        text(TypeId::VarChar, n)
    }

    /// `nchar(n)`, n in UTF-16 units.
    pub const fn nchar(n: u16) -> SqlType {
        text(TypeId::NChar, n.saturating_mul(2))
    }

    /// `nvarchar(n)`, n in UTF-16 units; anything above 4000 is nvarchar(max).
    pub const fn nvarchar(n: u16) -> SqlType {
        text(TypeId::NVarChar, if n > 4000 { MAX_LENGTH } else { n * 2 })
    }

    pub const fn binary(n: u16) -> SqlType {
        plain(TypeId::Binary, n, 0, 0)
    }

    pub const fn varbinary(n: u16) -> SqlType {
        plain(TypeId::VarBinary, n, 0, 0)
    }

    /// The type with the greatest facets that it can have; the only one where it has none. A CLR type is an image.
    pub const fn widest(id: TypeId) -> SqlType {
        match id {
            TypeId::Decimal => SqlType::decimal(38, 38),
            TypeId::Numeric => SqlType::numeric(38, 38),
            TypeId::Time => SqlType::time(7),
            TypeId::DateTime2 => SqlType::datetime2(7),
            TypeId::DateTimeOffset => SqlType::datetimeoffset(7),
            TypeId::Char => SqlType::char(8000),
            TypeId::VarChar => SqlType::varchar(8000),
            TypeId::NChar => SqlType::nchar(4000),
            TypeId::NVarChar => SqlType::nvarchar(4000),
            TypeId::Binary => SqlType::binary(8000),
            TypeId::VarBinary => SqlType::varbinary(8000),
            TypeId::Bit => SqlType::BIT,
            TypeId::TinyInt => SqlType::TINYINT,
            TypeId::SmallInt => SqlType::SMALLINT,
            TypeId::Int => SqlType::INT,
            TypeId::BigInt => SqlType::BIGINT,
            TypeId::Real => SqlType::REAL,
            TypeId::Float => SqlType::FLOAT,
            TypeId::Money => SqlType::MONEY,
            TypeId::SmallMoney => SqlType::SMALLMONEY,
            TypeId::Date => SqlType::DATE,
            TypeId::DateTime => SqlType::DATETIME,
            TypeId::SmallDateTime => SqlType::SMALLDATETIME,
            TypeId::UniqueIdentifier => SqlType::GUID,
            TypeId::RowVersion => SqlType::ROWVERSION,
            TypeId::SqlVariant => SqlType::VARIANT,
            TypeId::Text => SqlType::TEXT,
            TypeId::NText => SqlType::NTEXT,
            TypeId::Image | TypeId::Udt => SqlType::IMAGE,
            TypeId::Xml => SqlType::XML,
        }
    }

    pub const fn with_collation(mut self, collation: CollationId) -> SqlType {
        self.collation = collation;
        self
    }

    /// varchar(max) and its kin, text, ntext, image, xml: values may live outside the row.
    pub fn is_max(&self) -> bool {
        self.length == MAX_LENGTH
    }

    /// Stored in the variable part of a row.
    pub fn is_variable(&self) -> bool {
        matches!(
            self.id,
            TypeId::VarChar
                | TypeId::NVarChar
                | TypeId::VarBinary
                | TypeId::SqlVariant
                | TypeId::Text
                | TypeId::NText
                | TypeId::Image
                | TypeId::Xml
                | TypeId::Udt
        )
    }

    /// Bytes in the fixed part of a row; 0 for variable types, 1 for a bit (which rows pack).
    pub fn fixed_bytes(&self) -> usize {
        if self.is_variable() {
            0
        } else {
            self.length as usize
        }
    }

    /// Characters (or bytes of a binary type) that fit; `None` for the (max) types.
    pub fn char_capacity(&self) -> Option<usize> {
        if self.is_max() {
            None
        } else if self.id.is_nchar() {
            Some(self.length as usize / 2)
        } else {
            Some(self.length as usize)
        }
    }

    /// `max_length` of `sys.columns`: -1 for (max) and xml, 16 for the pointers of text, ntext and image.
    pub fn catalog_length(&self) -> i16 {
        if self.id.is_legacy_lob() {
            16
        } else if self.is_max() {
            -1
        } else {
            self.length as i16
        }
    }

    /// A column's type from the facets of `sys.columns` / `syscolpars`; `None` for an unknown `xtype`.
    pub fn from_catalog(
        xtype: u8,
        length: i16,
        precision: u8,
        scale: u8,
        collation: u32,
    ) -> Option<SqlType> {
        let id = TypeId::from_xtype(xtype)?;
        let length = if length == -1 || id.is_legacy_lob() {
            MAX_LENGTH
        } else {
            length as u16
        };
        Some(SqlType {
            id,
            length,
            precision,
            scale,
            collation: CollationId(collation),
        })
    }
}

/// Bytes of a stored decimal: sign byte and 4, 8, 12 or 16 bytes of magnitude.
pub const fn decimal_bytes(precision: u8) -> usize {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Bytes of a stored time of that scale.
pub const fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3 | 4 => 4,
        _ => 5,
    }
}

/// The declaration, as `sp_help` and scripts print it: `decimal(18,2)`, `nvarchar(max)`.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.id.name();
        match self.id {
            TypeId::Decimal | TypeId::Numeric => {
                write!(f, "{name}({},{})", self.precision, self.scale)
            }
            TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
                write!(f, "{name}({})", self.scale)
            }
            TypeId::Char
            | TypeId::VarChar
            | TypeId::NChar
            | TypeId::NVarChar
            | TypeId::Binary
            | TypeId::VarBinary => match self.char_capacity() {
                Some(n) => write!(f, "{name}({n})"),
                None => write!(f, "{name}(max)"),
            },
            _ => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_facets() {
        for id in TypeId::ALL {
            let shown = if id == TypeId::Udt { TypeId::Image } else { id };
            assert_eq!(SqlType::widest(id).id, shown);
        }
    }
}
