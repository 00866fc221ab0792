//! What differs between the versions of TDS that clients speak, 7.1 to 8.0: headers, widths of counters, the types that an
//! older client does not know, and rows with a bitmap of their NULLs.
//!
//! Everything else in this crate is 7.4; a [`Dialect`] writes and reads what its client understands.

use std::borrow::Cow;

use duramen_base::SqlError;
use duramen_types::{MAX_LENGTH, SqlType, TypeId, Value, to_display};

use crate::bytes::{TdsResult, put_b_varchar, put_u16, put_u32};
use crate::token::{self, Column, DoneToken, Env};
use crate::typeinfo::{Layout, Place, USER_TYPE_ROWVERSION, layout_of, put_type_info};
use crate::value::put_value;

const NBCROW: u8 = 0xD2;

/// A version of the protocol, oldest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum Dialect {
    /// SQL Server 2000: no headers in front of requests, 16- and 32-bit counters, no (max) types.
    V71,
    /// 2005: headers, (max) types and xml; dates and times of 2008 go as text.
    V72,
    /// 2008: date, time, datetime2, datetimeoffset.
    V73A,
    /// 2008 R2: rows with a bitmap of NULLs.
    V73B,
    /// 2012 and later, TDS 8.0 too.
    #[default]
    V74,
}

impl Dialect {
    /// The dialect that a LOGIN7 asks for; `None` before 7.1.
    pub fn of_login(version: u32) -> Option<Dialect> {
        Some(match version {
            crate::login::TDS_8_0 => Dialect::V74,
            0x7400_0004.. => Dialect::V74,
            0x730B_0003.. => Dialect::V73B,
            0x730A_0003.. => Dialect::V73A,
            0x7209_0002.. => Dialect::V72,
            0x7100_0000.. => Dialect::V71,
            _ => return None,
        })
    }

    /// The version that LOGINACK answers to a client that asked for `version`, of this dialect.
    pub fn acknowledged(self, version: u32) -> u32 {
        match (self, version) {
            (_, crate::login::TDS_8_0) => version,
            (Dialect::V74, _) => 0x7400_0004,
            (Dialect::V73B, _) => 0x730B_0003,
            (Dialect::V73A, _) => 0x730A_0003,
            (Dialect::V72, _) => 0x7209_0002,
            (Dialect::V71, 0x7100_0000) => 0x0701_0000,
            (Dialect::V71, _) => 0x7100_0001,
        }
    }

    pub fn from_byte(byte: u8) -> Dialect {
        [
            Dialect::V71,
            Dialect::V72,
            Dialect::V73A,
            Dialect::V73B,
            Dialect::V74,
        ]
        .into_iter()
        .find(|d| *d as u8 == byte)
        .unwrap_or_default()
    }

    /// Requests begin with ALL_HEADERS.
    pub fn has_headers(self) -> bool {
        self >= Dialect::V72
    }

    /// As what a column of this type is sent.
    pub fn shown_type(self, ty: &SqlType) -> SqlType {
        let text = |units: u16| SqlType::nvarchar(units * 2);
        // `.` and the digits of the fraction.
        let fraction = match ty.scale {
            0 => 0,
            n => u16::from(n) + 1,
        };
        match ty.id {
            TypeId::Date if self < Dialect::V73A => text(10),
            TypeId::Time if self < Dialect::V73A => text(8 + fraction),
            TypeId::DateTime2 if self < Dialect::V73A => text(19 + fraction),
            TypeId::DateTimeOffset if self < Dialect::V73A => text(26 + fraction),
            TypeId::VarChar if self < Dialect::V72 && ty.is_max() => {
                SqlType::TEXT.with_collation(ty.collation)
            }
            TypeId::NVarChar if self < Dialect::V72 && ty.is_max() => {
                SqlType::NTEXT.with_collation(ty.collation)
            }
            TypeId::VarBinary if self < Dialect::V72 && ty.length == MAX_LENGTH => SqlType::IMAGE,
            TypeId::Udt if self < Dialect::V72 => SqlType::IMAGE,
            TypeId::Xml if self < Dialect::V72 => SqlType::NTEXT,
            _ => *ty,
        }
    }

    /// A value as its shown type has it.
    pub fn shown_value<'v>(self, ty: &SqlType, value: &'v Value) -> Cow<'v, Value> {
        let dated = matches!(
            ty.id,
            TypeId::Date | TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset
        );
        if self >= Dialect::V73A || value.is_null() {
            return Cow::Borrowed(value);
        }
        match value {
            _ if dated => Cow::Owned(Value::nvarchar(&to_display(value, ty))),
            // Inside a variant, too.
            Value::Variant(inner) => {
                let (ty, value) = (&inner.0, &inner.1);
                let shown = self.shown_type(ty);
                if shown == *ty {
                    return Cow::Owned(Value::Variant(inner.clone()));
                }
                let value = self.shown_value(ty, value).into_owned();
                Cow::Owned(Value::Variant(Box::new((shown, value))))
            }
            _ => Cow::Borrowed(value),
        }
    }

    /// COLMETADATA; the columns' types are shown types.
    pub fn put_columns(self, out: &mut Vec<u8>, columns: &[Column]) {
        if self >= Dialect::V72 || columns.is_empty() {
            return token::put_columns(out, columns);
        }
        out.push(token::COLMETADATA);
        put_u16(out, columns.len() as u16);
        for column in columns {
            let user_type = match column.ty.id {
                TypeId::RowVersion => USER_TYPE_ROWVERSION as u16,
                _ => 0,
            };
            put_u16(out, user_type);
            put_u16(out, column.flags);
            put_type_info(out, &column.ty);
            if column.ty.id.is_legacy_lob() {
                // One name, empty.
                put_u16(out, 0);
            }
            put_b_varchar(out, &column.name);
        }
    }

    /// ROW, or NBCROW where a bitmap is shorter than the NULLs it stands for.
    pub fn put_row(self, out: &mut Vec<u8>, types: &[SqlType], values: &[Value]) -> TdsResult<()> {
        let saved: usize = match self >= Dialect::V73B && types.len() == values.len() {
            true => types
                .iter()
                .zip(values)
                .filter(|(_, v)| v.is_null())
                .map(|(ty, _)| null_bytes(ty))
                .sum(),
            false => 0,
        };
        let bitmap = types.len().div_ceil(8);
        if saved <= bitmap {
            return token::put_row(out, types, values);
        }
        let start = out.len();
        out.push(NBCROW);
        let bits = out.len();
        out.resize(bits + bitmap, 0);
        for (i, (ty, value)) in types.iter().zip(values).enumerate() {
            if value.is_null() {
                out[bits + i / 8] |= 1 << (i % 8);
            } else if let Err(error) = put_value(out, ty, value, Place::Column) {
                out.truncate(start);
                return Err(error);
            }
        }
        Ok(())
    }

    /// DONE, DONEPROC or DONEINPROC.
    pub fn put_done(self, out: &mut Vec<u8>, done: &DoneToken) {
        token::put_done(out, done);
        if self < Dialect::V72 {
            // The count has 32 bits; more is the most.
            out.truncate(out.len() - 8);
            put_u32(out, u32::try_from(done.rows).unwrap_or(u32::MAX));
        }
    }

    /// ERROR or INFO.
    pub fn put_message(self, out: &mut Vec<u8>, error: &SqlError, server: &str) {
        let at = out.len() + 1;
        token::put_message(out, error, server);
        if self < Dialect::V72 {
            // The line has 16 bits.
            out.truncate(out.len() - 4);
            put_u16(out, u16::try_from(error.line.max(0)).unwrap_or(u16::MAX));
            let length = (out.len() - at - 2) as u16;
            out[at..at + 2].copy_from_slice(&length.to_le_bytes());
        }
    }

    /// ENVCHANGE, if the client knows the kind.
    pub fn put_env(self, out: &mut Vec<u8>, env: &Env) {
        let transactions = matches!(
            env,
            Env::BeginTransaction(_) | Env::CommitTransaction(_) | Env::RollbackTransaction(_)
        );
        if self >= Dialect::V72 || !transactions {
            token::put_env(out, env);
        }
    }

    /// RETURNVALUE; the type is a shown type.
    pub fn put_return_value(
        self,
        out: &mut Vec<u8>,
        ordinal: u16,
        name: &str,
        ty: &SqlType,
        value: &Value,
    ) -> TdsResult<()> {
        let start = out.len();
        token::put_return_value(out, ordinal, name, ty, value)?;
        if self < Dialect::V72 {
            // Token, ordinal, name, status; then the user type, which has 16 bits.
            let name_bytes = usize::from(out[start + 3]) * 2;
            let at = start + 5 + name_bytes;
            out.drain(at..at + 2);
        }
        Ok(())
    }
}

/// What a NULL of this type takes in a ROW.
fn null_bytes(ty: &SqlType) -> usize {
    match layout_of(ty, Place::Column) {
        Layout::Byte | Layout::TextPointer => 1,
        Layout::Short => 2,
        Layout::Variant | Layout::Long => 4,
        Layout::Plp => 8,
        Layout::Fixed(_) | Layout::Null => 0,
    }
}

#[cfg(test)]
mod tests;
