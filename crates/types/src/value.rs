//! Values: one variant per physical representation, not per declared type.
//!
//! The declared type travels beside the value as a `SqlType`; char and varchar share a variant, decimal and numeric
//! too. A `Value` is 32 bytes and integers never allocate.

use crate::{
    Date, DateTime, DateTime2, DateTimeOffset, Decimal, SmallDateTime, Spooled, SqlType, Time,
    TypeId,
};

#[derive(Clone, PartialEq, Debug, Default)]
pub enum Value {
    #[default]
    Null,
    Bit(bool),
    TinyInt(u8),
    SmallInt(i16),
    Int(i32),
    BigInt(i64),
    Real(f32),
    Float(f64),
    /// decimal, numeric
    Decimal(Decimal),
    /// Ten-thousandths.
    Money(i64),
    SmallMoney(i32),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    SmallDateTime(SmallDateTime),
    DateTime2(DateTime2),
    DateTimeOffset(DateTimeOffset),
    /// char, varchar, text: bytes in the code page of the collation.
    VarChar(Vec<u8>),
    /// nchar, nvarchar, ntext, xml: UTF-16 units.
    NVarChar(Vec<u16>),
    /// binary, varbinary, image, rowversion, CLR types.
    Binary(Vec<u8>),
    /// The 16 bytes as stored: first three groups little-endian.
    Guid([u8; 16]),
    /// sql_variant: the base type and its value, which is never `Null` or another variant.
    Variant(Box<(SqlType, Value)>),
    /// varchar(max), nvarchar(max), varbinary(max) of a client, too large for memory.
    Spooled(Spooled),
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// A varchar value from text; characters outside Windows-1252 become `?`.
    pub fn varchar(text: &str) -> Value {
        Value::VarChar(crate::cp1252::encode(text))
    }

    pub fn nvarchar(text: &str) -> Value {
        Value::NVarChar(text.encode_utf16().collect())
    }

    /// The value of any integer type, bit included.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Bit(v) => Some(*v as i64),
            Value::TinyInt(v) => Some(*v as i64),
            Value::SmallInt(v) => Some(*v as i64),
            Value::Int(v) => Some(*v as i64),
            Value::BigInt(v) => Some(*v),
            _ => None,
        }
    }

    /// Of the integer types, and of decimals without a fraction: what identity columns have.
    pub fn as_whole(&self) -> Option<i64> {
        match self {
            Value::Decimal(d) if d.scale() == 0 => i64::try_from(d.mantissa()).ok(),
            Value::Bit(_) => None,
            other => other.as_i64(),
        }
    }

    /// The value of a type that identity columns may have; `None` beyond its range.
    pub fn whole(n: i64, ty: &SqlType) -> Option<Value> {
        match ty.id {
            TypeId::TinyInt => u8::try_from(n).ok().map(Value::TinyInt),
            TypeId::SmallInt => i16::try_from(n).ok().map(Value::SmallInt),
            TypeId::Int => i32::try_from(n).ok().map(Value::Int),
            TypeId::BigInt => Some(Value::BigInt(n)),
            TypeId::Decimal | TypeId::Numeric => {
                Decimal::new(n.into(), ty.precision, 0).map(Value::Decimal)
            }
            _ => None,
        }
    }

    /// The text of a string value (code page 1252 or UTF-16, broken surrogates replaced).
    pub fn as_text(&self) -> Option<String> {
        match self {
            Value::VarChar(b) => Some(crate::cp1252::decode(b)),
            Value::NVarChar(u) => Some(duramen_base::utf16::text(u)),
            _ => None,
        }
    }

    /// Whether it may own memory beside itself; who forgets one that does not loses nothing. A new kind does until it is
    /// named here.
    #[inline]
    pub fn owns_memory(&self) -> bool {
        !matches!(
            self,
            Value::Null
                | Value::Bit(_)
                | Value::TinyInt(_)
                | Value::SmallInt(_)
                | Value::Int(_)
                | Value::BigInt(_)
                | Value::Real(_)
                | Value::Float(_)
                | Value::Decimal(_)
                | Value::Money(_)
                | Value::SmallMoney(_)
                | Value::Date(_)
                | Value::Time(_)
                | Value::DateTime(_)
                | Value::SmallDateTime(_)
                | Value::DateTime2(_)
                | Value::DateTimeOffset(_)
                | Value::Guid(_)
        )
    }

    /// Heap bytes held, for memory accounting.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Value::VarChar(b) | Value::Binary(b) => b.capacity(),
            Value::NVarChar(u) => u.capacity() * 2,
            Value::Variant(v) => std::mem::size_of::<(SqlType, Value)>() + v.1.heap_bytes(),
            _ => 0,
        }
    }

    /// `DATALENGTH`: bytes of the value, which for decimals depends on the declared precision.
    pub fn data_length(&self, ty: &SqlType) -> Option<usize> {
        match self {
            Value::Null => None,
            Value::VarChar(b) | Value::Binary(b) => Some(b.len()),
            Value::NVarChar(u) => Some(u.len() * 2),
            Value::Variant(v) => v.1.data_length(&v.0),
            Value::Spooled(s) => Some(s.len()),
            _ => Some(ty.length as usize),
        }
    }
}
