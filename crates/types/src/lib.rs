//! SQL types and values: what a column is declared as, what it holds, and every rule that turns one into another.
//!
//! Pure code: no clock, no disk, no threads. A value and its declared type travel as a pair (`Value`, `SqlType`);
//! strings carry their collation in the type.
//!
//! | module | owns |
//! |---|---|
//! | `sqltype`, `value`, `codec` | what a column is declared as, what it holds, its bytes in a row |
//! | `spooled`, `batch` | values too large for memory; rows kept by column |
//! | `collation`, `collate`, `compare`, `like`, `cp1252` | collations, comparing, LIKE, the code page |
//! | `base64` | bytes as text |
//! | `convert`, `legal`, `lenient` | CAST, CONVERT and implicit conversion: how, whether, and what goes on after an overflow |
//! | `ops`, `decimal`, `wide` | operators and the numbers under them |
//! | `temporal`, `datefn`, `dateformat`, `dateparse`, `language`, `netformat` | dates, times and their texts; FORMAT |
//! | `xml`, `xquery` | xml as a stored type, and queries over it |

#![forbid(unsafe_code)]

pub mod base64;
pub mod batch;
mod codec;
pub mod collate;
mod collation;
mod compare;
pub mod convert;
pub mod cp1252;
pub mod datefn;
pub mod dateformat;
pub mod dateparse;
mod decimal;
pub mod language;
mod legal;
pub mod lenient;
mod like;
pub mod netformat;
pub mod ops;
pub mod spooled;
mod sqltype;
pub mod temporal;
mod value;
mod wide;
pub mod xml;
pub mod xquery;

pub use collation::CollationId;
pub use compare::{compare, compare_binary, compare_decimals, guid_key, hash_key};
pub use convert::{ConvertCtx, Target, assign, convert, convert_long, to_display};
pub use dateparse::DateOrder;
pub use decimal::{Decimal, MAX_PRECISION, POW10, div_round, rescale_mantissa};
pub use language::Language;
pub use legal::{
    Conversion, check_explicit, check_implicit, common_type, conversion, decimal_facets, precedence,
};
pub use like::LikePattern;
pub use ops::{BinaryOp, arithmetic, binary, bit_not, negate, negate_type, result_type};
pub use spooled::Spooled;
pub use sqltype::{MAX_LENGTH, SqlType, TypeId, decimal_bytes, time_bytes};
pub use temporal::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time, is_datetime};
pub use value::Value;
