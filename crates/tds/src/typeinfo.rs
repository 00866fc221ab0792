//! TYPE_INFO: how a column or parameter is declared on the wire.
//!
//! We always send the nullable forms (INTN, BITN...): every client reads them, and a NULL can always be said.
//! We accept every form a client may send in parameters and bulk rows.

use duramen_types::{CollationId, MAX_LENGTH, SqlType, TypeId, decimal_bytes};

use crate::bytes::{Reader, TdsError, TdsResult, put_u16, put_u32};

/// How a value of a declared type is laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Exactly so many bytes, never NULL.
    Fixed(usize),
    /// One length byte, 0 is NULL.
    Byte,
    /// Two length bytes, 0xFFFF is NULL.
    Short,
    /// Four length bytes, 0 is NULL (sql_variant).
    Variant,
    /// Text pointer, timestamp, four length bytes (text, ntext, image in rows).
    TextPointer,
    /// Four length bytes, 0xFFFFFFFF is NULL (text, ntext, image in parameters).
    Long,
    /// Partially length-prefixed chunks.
    Plp,
    /// The untyped NULL: no bytes.
    Null,
}

/// A declared type as it stood on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TypeInfo {
    pub ty: SqlType,
    pub layout: Layout,
}

/// Where a TYPE_INFO stands; text types differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Column,
    Parameter,
}

/// The UserType of a rowversion column.
pub const USER_TYPE_ROWVERSION: u32 = 0x50;

fn plain(id: TypeId, length: u16, precision: u8, scale: u8) -> SqlType {
    SqlType {
        id,
        length,
        precision,
        scale,
        collation: CollationId::NONE,
    }
}

/// The layout in which [`put_type_info`] declares `ty`.
pub fn layout_of(ty: &SqlType, place: Place) -> Layout {
    match ty.id {
        TypeId::Text | TypeId::NText | TypeId::Image => match place {
            Place::Column => Layout::TextPointer,
            Place::Parameter => Layout::Long,
        },
        TypeId::Xml | TypeId::Udt => Layout::Plp,
        TypeId::SqlVariant => Layout::Variant,
        TypeId::VarChar | TypeId::NVarChar | TypeId::VarBinary if ty.is_max() => Layout::Plp,
        TypeId::Char
        | TypeId::VarChar
        | TypeId::NChar
        | TypeId::NVarChar
        | TypeId::Binary
        | TypeId::VarBinary
        | TypeId::RowVersion => Layout::Short,
        _ => Layout::Byte,
    }
}

/// Appends the declaration of `ty`, without the table name that text columns carry.
pub fn put_type_info(out: &mut Vec<u8>, ty: &SqlType) {
    // A zero length (the type of '') cannot be declared.
    let length = ty.length.max(1);
    match ty.id {
        TypeId::Bit => out.extend_from_slice(&[0x68, 1]),
        TypeId::TinyInt => out.extend_from_slice(&[0x26, 1]),
        TypeId::SmallInt => out.extend_from_slice(&[0x26, 2]),
        TypeId::Int => out.extend_from_slice(&[0x26, 4]),
        TypeId::BigInt => out.extend_from_slice(&[0x26, 8]),
        TypeId::Real => out.extend_from_slice(&[0x6D, 4]),
        TypeId::Float => out.extend_from_slice(&[0x6D, 8]),
        TypeId::SmallMoney => out.extend_from_slice(&[0x6E, 4]),
        TypeId::Money => out.extend_from_slice(&[0x6E, 8]),
        TypeId::SmallDateTime => out.extend_from_slice(&[0x6F, 4]),
        TypeId::DateTime => out.extend_from_slice(&[0x6F, 8]),
        TypeId::UniqueIdentifier => out.extend_from_slice(&[0x24, 16]),
        TypeId::Decimal | TypeId::Numeric => {
            let byte = if ty.id == TypeId::Decimal { 0x6A } else { 0x6C };
            let bytes = decimal_bytes(ty.precision) as u8;
            out.extend_from_slice(&[byte, bytes, ty.precision, ty.scale]);
        }
        TypeId::Date => out.push(0x28),
        TypeId::Time => out.extend_from_slice(&[0x29, ty.scale]),
        TypeId::DateTime2 => out.extend_from_slice(&[0x2A, ty.scale]),
        TypeId::DateTimeOffset => out.extend_from_slice(&[0x2B, ty.scale]),
        TypeId::Char | TypeId::VarChar | TypeId::NChar | TypeId::NVarChar => {
            let (byte, length) = match ty.id {
                TypeId::Char => (0xAF, length),
                TypeId::VarChar => (0xA7, length),
                TypeId::NChar => (0xEF, length.max(2)),
                _ => (0xE7, length.max(2)),
            };
            out.push(byte);
            put_u16(out, length);
            out.extend_from_slice(&collation(ty));
        }
        TypeId::Binary | TypeId::RowVersion => {
            out.push(0xAD);
            put_u16(out, length);
        }
        TypeId::VarBinary => {
            out.push(0xA5);
            put_u16(out, length);
        }
        // CLR values go out as what they are in storage: bytes.
        TypeId::Udt => {
            out.push(0xA5);
            put_u16(out, MAX_LENGTH);
        }
        TypeId::Text => {
            out.push(0x23);
            put_u32(out, 0x7FFF_FFFF);
            out.extend_from_slice(&collation(ty));
        }
        TypeId::NText => {
            out.push(0x63);
            put_u32(out, 0x7FFF_FFFE);
            out.extend_from_slice(&collation(ty));
        }
        TypeId::Image => {
            out.push(0x22);
            put_u32(out, 0x7FFF_FFFF);
        }
        TypeId::SqlVariant => {
            out.push(0x62);
            put_u32(out, 8009);
        }
        TypeId::Xml => out.extend_from_slice(&[0xF1, 0]),
    }
}

/// Character data always names a collation; JDBC refuses a locale it does not know.
pub fn collation(ty: &SqlType) -> [u8; 5] {
    if ty.collation == CollationId::NONE {
        CollationId::DEFAULT.tds_bytes()
    } else {
        ty.collation.tds_bytes()
    }
}

impl TypeInfo {
    /// What [`put_type_info`] makes of `ty`.
    pub fn of(ty: SqlType, place: Place) -> TypeInfo {
        TypeInfo {
            ty,
            layout: layout_of(&ty, place),
        }
    }

    /// Reads a declaration. Table-valued and CLR types are not declarations of a value and are refused here.
    pub fn parse(r: &mut Reader<'_>, place: Place) -> TdsResult<TypeInfo> {
        let byte = r.u8()?;
        TypeInfo::parse_after(byte, r, place)
    }

    /// Reads a declaration whose first byte has been read.
    pub fn parse_after(byte: u8, r: &mut Reader<'_>, place: Place) -> TdsResult<TypeInfo> {
        let fixed = |ty: SqlType, len: usize| {
            Ok(TypeInfo {
                ty,
                layout: Layout::Fixed(len),
            })
        };
        match byte {
            0x1F => Ok(TypeInfo {
                ty: SqlType::INT,
                layout: Layout::Null,
            }),
            0x30 => fixed(SqlType::TINYINT, 1),
            0x32 => fixed(SqlType::BIT, 1),
            0x34 => fixed(SqlType::SMALLINT, 2),
            0x38 => fixed(SqlType::INT, 4),
            0x7F => fixed(SqlType::BIGINT, 8),
            0x3B => fixed(SqlType::REAL, 4),
            0x3E => fixed(SqlType::FLOAT, 8),
            0x3C => fixed(SqlType::MONEY, 8),
            0x7A => fixed(SqlType::SMALLMONEY, 4),
            0x3D => fixed(SqlType::DATETIME, 8),
            0x3A => fixed(SqlType::SMALLDATETIME, 4),
            _ => {
                let ty = sized(byte, r)?;
                Ok(TypeInfo::of(ty, place)).map(|info| match byte {
                    // The old short types have one length byte.
                    0x2F | 0x27 | 0x2D | 0x25 => TypeInfo {
                        layout: Layout::Byte,
                        ..info
                    },
                    _ => info,
                })
            }
        }
    }
}

#[expect(clippy::too_many_lines, reason = "one arm a type")]
fn sized(byte: u8, r: &mut Reader<'_>) -> TdsResult<SqlType> {
    const LENGTH: TdsError = TdsError::Malformed("length of a data type");
    Ok(match byte {
        0x26 => match r.u8()? {
            1 => SqlType::TINYINT,
            2 => SqlType::SMALLINT,
            4 => SqlType::INT,
            8 => SqlType::BIGINT,
            _ => return Err(LENGTH),
        },
        0x68 => match r.u8()? {
            1 => SqlType::BIT,
            _ => return Err(LENGTH),
        },
        0x6D => match r.u8()? {
            4 => SqlType::REAL,
            8 => SqlType::FLOAT,
            _ => return Err(LENGTH),
        },
        0x6E => match r.u8()? {
            4 => SqlType::SMALLMONEY,
            8 => SqlType::MONEY,
            _ => return Err(LENGTH),
        },
        0x6F => match r.u8()? {
            4 => SqlType::SMALLDATETIME,
            8 => SqlType::DATETIME,
            _ => return Err(LENGTH),
        },
        0x24 => match r.u8()? {
            0 | 16 => SqlType::GUID,
            _ => return Err(LENGTH),
        },
        0x6A | 0x6C | 0x37 | 0x3F => {
            let (_, precision, scale) = (r.u8()?, r.u8()?, r.u8()?);
            if precision == 0 || precision > 38 || scale > precision {
                return Err(TdsError::Malformed("precision or scale of a decimal"));
            }
            if matches!(byte, 0x6A | 0x37) {
                SqlType::decimal(precision, scale)
            } else {
                SqlType::numeric(precision, scale)
            }
        }
        0x28 => SqlType::DATE,
        0x29..=0x2B => {
            let scale = r.u8()?;
            if scale > 7 {
                return Err(TdsError::Malformed("scale of a time"));
            }
            match byte {
                0x29 => SqlType::time(scale),
                0x2A => SqlType::datetime2(scale),
                _ => SqlType::datetimeoffset(scale),
            }
        }
        0xAF | 0xA7 | 0xEF | 0xE7 => {
            let length = r.u16()?;
            let collation = CollationId::from_tds_bytes(r.array()?);
            let id = match byte {
                0xAF => TypeId::Char,
                0xA7 => TypeId::VarChar,
                0xEF => TypeId::NChar,
                _ => TypeId::NVarChar,
            };
            let max = matches!(id, TypeId::VarChar | TypeId::NVarChar) && length == MAX_LENGTH;
            if !max && (length > 8000 || (id.is_nchar() && length % 2 != 0)) {
                return Err(LENGTH);
            }
            plain(id, length, 0, 0).with_collation(collation)
        }
        0xAD | 0xA5 => {
            let length = r.u16()?;
            if length > 8000 && !(byte == 0xA5 && length == MAX_LENGTH) {
                return Err(LENGTH);
            }
            let id = if byte == 0xAD {
                TypeId::Binary
            } else {
                TypeId::VarBinary
            };
            plain(id, length, 0, 0)
        }
        0x2F | 0x27 => {
            let id = if byte == 0x2F {
                TypeId::Char
            } else {
                TypeId::VarChar
            };
            plain(id, r.u8()?.max(1) as u16, 0, 0).with_collation(CollationId::DEFAULT)
        }
        0x2D | 0x25 => {
            let id = if byte == 0x2D {
                TypeId::Binary
            } else {
                TypeId::VarBinary
            };
            plain(id, r.u8()?.max(1) as u16, 0, 0)
        }
        0x23 | 0x63 => {
            r.u32()?;
            let collation = CollationId::from_tds_bytes(r.array()?);
            let ty = if byte == 0x23 {
                SqlType::TEXT
            } else {
                SqlType::NTEXT
            };
            ty.with_collation(collation)
        }
        0x22 => {
            r.u32()?;
            SqlType::IMAGE
        }
        0x62 => {
            r.u32()?;
            SqlType::VARIANT
        }
        0xF1 => {
            if r.u8()? != 0 {
                r.b_varchar()?;
                r.b_varchar()?;
                r.us_varchar()?;
            }
            SqlType::XML
        }
        0xF0 => return Err(TdsError::Unsupported("CLR user-defined types")),
        0xF3 => return Err(TdsError::Malformed("table type where a value was expected")),
        0xF4 => return Err(TdsError::Unsupported("the json wire type")),
        0xF5 => return Err(TdsError::Unsupported("the vector wire type")),
        _ => return Err(TdsError::Malformed("data type")),
    })
}
