//! Values of columns, and their types: how they are written, and what is read back.

use duramen_types::Value;

/// A value of a column.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Val {
    Null,
    Int(i64),
    /// A letter, and how often.
    Run(u8, u32),
    /// A byte, and how often.
    Bytes(u8, u32),
    /// An element with a letter in it, and how often that.
    Xml(u8, u32),
    /// A day of January 2000.
    Day(u8),
    /// A number as a GUID: its decimal digits, behind zeros.
    Guid(u32),
    /// Made by an identity: any number, but not NULL.
    Any,
}

/// Days from 0001-01-01, and from 1900-01-01, to the first of January 2000.
const SINCE_1: i32 = 730_119;
const SINCE_1900: i32 = 36_524;

impl Val {
    /// As an expression.
    pub fn sql(&self) -> String {
        match self {
            Val::Null | Val::Any => "NULL".to_owned(),
            Val::Int(n) => n.to_string(),
            Val::Run(c, n) if *n <= 12 => {
                format!("'{}'", char::from(*c).to_string().repeat(*n as usize))
            }
            Val::Run(c, n) if *n <= 8000 => format!("REPLICATE('{}', {n})", char::from(*c)),
            Val::Run(c, n) => format!(
                "REPLICATE(CONVERT(varchar(max), '{}'), {n})",
                char::from(*c)
            ),
            Val::Bytes(c, n) => {
                format!("CONVERT(varbinary(max), {})", Val::Run(*c, *n).sql())
            }
            Val::Xml(c, n) => {
                let letter = char::from(*c);
                format!("'<x>' + REPLICATE(CONVERT(varchar(max), '{letter}'), {n}) + '</x>'")
            }
            Val::Day(n) => format!("'200001{n:02}'"),
            Val::Guid(n) => format!("'{}'", guid(*n)),
        }
    }

    /// Whether a value that was read is this one.
    pub fn fits(&self, read: &Value) -> bool {
        match (self, read) {
            (Val::Null, read) => read.is_null(),
            (Val::Any, read) => !read.is_null(),
            (Val::Int(n), Value::Decimal(d)) => {
                d.to_string().split('.').next() == Some(&n.to_string())
            }
            (Val::Int(n), Value::Float(f)) => *f == *n as f64,
            (Val::Int(n), Value::Bit(b)) => i64::from(*b) == *n,
            (Val::Int(n), other) => other.as_i64() == Some(*n),
            (Val::Run(c, n), Value::VarChar(b)) => is_run(b.iter().map(|b| u16::from(*b)), *c, *n),
            (Val::Run(c, n), Value::NVarChar(u)) => is_run(u.iter().copied(), *c, *n),
            (Val::Bytes(c, n), Value::Binary(b)) => {
                b.len() == *n as usize && b.iter().all(|b| b == c)
            }
            (Val::Xml(c, n), Value::NVarChar(u)) => {
                let text = String::from_utf16_lossy(u);
                let within = text.strip_prefix("<x>");
                let within = within.and_then(|t| t.strip_suffix("</x>"));
                within.is_some_and(|t| t.len() == *n as usize && t.bytes().all(|b| b == *c))
            }
            (Val::Day(n), Value::DateTime(d)) => {
                d.ticks == 0 && d.days == SINCE_1900 + i32::from(*n) - 1
            }
            (Val::Day(n), Value::DateTime2(d)) => {
                d.time == 0 && d.days == SINCE_1 + i32::from(*n) - 1
            }
            // Its last groups are as they are written.
            (Val::Guid(n), Value::Guid(b)) => {
                let digits: String = b[10..].iter().map(|b| format!("{b:02x}")).collect();
                b[..10].iter().all(|b| *b == 0) && digits == format!("{n:012}")
            }
            _ => false,
        }
    }
}

fn guid(n: u32) -> String {
    format!("00000000-0000-0000-0000-{n:012}")
}

/// Blanks at the end are those of char.
fn is_run(units: impl Iterator<Item = u16>, letter: u8, count: u32) -> bool {
    let (mut letters, mut blanks) = (0, 0);
    for u in units {
        if u == u16::from(b' ') {
            blanks += 1;
        } else if u == u16::from(letter) && blanks == 0 {
            letters += 1;
        } else {
            return false;
        }
    }
    letters == count
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    Int,
    BigInt,
    Decimal,
    Float,
    Bit,
    Char(u32),
    Varchar(u32),
    NVarchar(u32),
    DateTime,
    DateTime2,
    Guid,
    /// varchar(max)
    Max,
    /// nvarchar(max)
    NMax,
    /// varbinary(max)
    BinMax,
    Xml,
}

impl Ty {
    pub fn sql(self) -> String {
        match self {
            Ty::Char(n) => format!("char({n})"),
            Ty::Varchar(n) => format!("varchar({n})"),
            Ty::NVarchar(n) => format!("nvarchar({n})"),
            Ty::Decimal => "decimal(18, 2)".to_owned(),
            Ty::Max | Ty::NMax | Ty::BinMax => format!("{}(max)", self.catalogued().0),
            other => other.catalogued().0.to_owned(),
        }
    }

    /// It is counted with.
    pub fn is_number(self) -> bool {
        matches!(self, Ty::Int | Ty::BigInt | Ty::Decimal | Ty::Float)
    }

    /// Its values lie outside their rows, where they are long.
    pub fn is_large(self) -> bool {
        matches!(self, Ty::Max | Ty::NMax | Ty::BinMax | Ty::Xml)
    }

    /// Rows may be kept in its order.
    pub fn is_key(self) -> bool {
        !self.is_large() && self.most() < 1000
    }

    /// The most letters of a value; 0 where it has none.
    pub fn most(self) -> u32 {
        match self {
            Ty::Char(n) | Ty::Varchar(n) | Ty::NVarchar(n) => n,
            large if large.is_large() => 40_000,
            _ => 0,
        }
    }

    /// Name and length as `sys.columns` has them.
    pub fn catalogued(self) -> (&'static str, i64) {
        match self {
            Ty::Int => ("int", 4),
            Ty::BigInt => ("bigint", 8),
            Ty::Decimal => ("decimal", 9),
            Ty::Float => ("float", 8),
            Ty::Bit => ("bit", 1),
            Ty::Char(n) => ("char", i64::from(n)),
            Ty::Varchar(n) => ("varchar", i64::from(n)),
            Ty::NVarchar(n) => ("nvarchar", i64::from(n) * 2),
            Ty::DateTime => ("datetime", 8),
            Ty::DateTime2 => ("datetime2", 8),
            Ty::Guid => ("uniqueidentifier", 16),
            Ty::Max => ("varchar", -1),
            Ty::NMax => ("nvarchar", -1),
            Ty::BinMax => ("varbinary", -1),
            Ty::Xml => ("xml", -1),
        }
    }
}

/// Values as clients send them in bulk.
pub mod sent {
    use duramen_types::{DateTime, DateTime2, Decimal, SqlType, Value};

    use super::{SINCE_1, SINCE_1900, Ty, Val};

    pub fn sql_type(ty: Ty) -> SqlType {
        match ty {
            Ty::Int => SqlType::INT,
            Ty::BigInt => SqlType::BIGINT,
            Ty::Decimal => SqlType::decimal(18, 2),
            Ty::Float => SqlType::FLOAT,
            Ty::Bit => SqlType::BIT,
            Ty::Char(n) => SqlType::char(n as u16),
            Ty::Varchar(n) => SqlType::varchar(n as u16),
            Ty::NVarchar(n) => SqlType::nvarchar(n as u16),
            Ty::DateTime => SqlType::DATETIME,
            Ty::DateTime2 => SqlType::datetime2(7),
            Ty::Guid => SqlType::GUID,
            Ty::Max => SqlType::VARCHAR_MAX,
            Ty::NMax => SqlType::NVARCHAR_MAX,
            Ty::BinMax => SqlType::VARBINARY_MAX,
            Ty::Xml => SqlType::XML,
        }
    }

    pub fn value(v: &Val, ty: Ty) -> Value {
        match (v, ty) {
            (Val::Null | Val::Any, _) => Value::Null,
            (Val::Int(n), Ty::BigInt) => Value::BigInt(*n),
            (Val::Int(n), Ty::Decimal) => Value::Decimal(Decimal::from_i64(*n)),
            (Val::Int(n), Ty::Float) => Value::Float(*n as f64),
            (Val::Int(n), Ty::Bit) => Value::Bit(*n != 0),
            (Val::Int(n), _) => Value::Int(*n as i32),
            (Val::Run(c, n), Ty::NVarchar(_) | Ty::NMax) => {
                Value::NVarChar(vec![u16::from(*c); *n as usize])
            }
            (Val::Run(c, n), _) => Value::VarChar(vec![*c; *n as usize]),
            (Val::Bytes(c, n), _) => Value::Binary(vec![*c; *n as usize]),
            (Val::Xml(c, n), _) => {
                let within = char::from(*c).to_string().repeat(*n as usize);
                Value::NVarChar(format!("<x>{within}</x>").encode_utf16().collect())
            }
            (Val::Day(n), Ty::DateTime) => Value::DateTime(DateTime {
                days: SINCE_1900 + i32::from(*n) - 1,
                ticks: 0,
            }),
            (Val::Day(n), _) => Value::DateTime2(DateTime2 {
                days: SINCE_1 + i32::from(*n) - 1,
                time: 0,
            }),
            (Val::Guid(n), _) => {
                let mut bytes = [0; 16];
                for (at, pair) in format!("{n:012}").as_bytes().chunks(2).enumerate() {
                    let digit = |d: u8| d - b'0';
                    bytes[10 + at] = digit(pair[0]) << 4 | digit(pair[1]);
                }
                Value::Guid(bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_what_must_be_read() {
        for (v, ty) in [
            (Val::Day(1), Ty::DateTime),
            (Val::Day(28), Ty::DateTime2),
            (Val::Guid(123_456), Ty::Guid),
            (Val::Bytes(7, 3), Ty::BinMax),
            (Val::Xml(b'x', 3), Ty::Xml),
            (Val::Int(1), Ty::Bit),
            (Val::Int(990), Ty::Float),
        ] {
            assert!(v.fits(&sent::value(&v, ty)), "{v:?}");
        }
        let other = sent::value(&Val::Guid(123_457), Ty::Guid);
        assert!(!Val::Guid(123_456).fits(&other));
        assert!(!Val::Day(2).fits(&sent::value(&Val::Day(3), Ty::DateTime)));
    }
}
