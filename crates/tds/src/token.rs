//! Tokens: what a reply is made of. Writers for the server, a reader for the client.
//!
//! Exactly one DONE of a message lacks the MORE bit: the last. The writers here append single tokens; keeping that
//! rule is the caller's, who knows what follows.

use duramen_base::SqlError;
use duramen_types::{SqlType, TypeId, Value};

use crate::bytes::{
    Reader, TdsError, TdsResult, put_b_varchar, put_u16, put_u32, put_u64, put_us_varchar,
};
use crate::dialect::Dialect;
use crate::typeinfo::{Place, TypeInfo, USER_TYPE_ROWVERSION, put_type_info};
use crate::value::{parse_value, put_value};

pub(crate) const COLMETADATA: u8 = 0x81;
const TABNAME: u8 = 0xA4;
const COLINFO: u8 = 0xA5;
const ORDER: u8 = 0xA9;
const ERROR: u8 = 0xAA;
const INFO: u8 = 0xAB;
const RETURNVALUE: u8 = 0xAC;
const LOGINACK: u8 = 0xAD;
const FEATUREEXTACK: u8 = 0xAE;
pub const ROW: u8 = 0xD1;
const NBCROW: u8 = 0xD2;
const RETURNSTATUS: u8 = 0x79;
const ENVCHANGE: u8 = 0xE3;
const DONE: u8 = 0xFD;
const DONEPROC: u8 = 0xFE;
const DONEINPROC: u8 = 0xFF;

pub const FLAG_NULLABLE: u16 = 0x0001;
/// Base column of a table that may be written.
pub const FLAG_UPDATABLE: u16 = 0x0008;
pub const FLAG_IDENTITY: u16 = 0x0010;
pub const FLAG_EXPRESSION: u16 = 0x0020;

/// The most columns of a result set.
pub const MAX_COLUMNS: usize = 4_096;

pub mod status {
    //! Bits of a DONE.
    pub const FINAL: u16 = 0x0000;
    pub const MORE: u16 = 0x0001;
    pub const ERROR: u16 = 0x0002;
    pub const COUNT: u16 = 0x0010;
    pub const ATTENTION: u16 = 0x0020;
    pub const RPC_IN_BATCH: u16 = 0x0080;
    /// The connection ends, and what came before is to be discarded.
    pub const SERVER_ERROR: u16 = 0x0100;
}

/// A column of a result set.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    pub name: String,
    pub ty: SqlType,
    pub flags: u16,
}

impl Column {
    pub fn nullable(&self) -> bool {
        self.flags & FLAG_NULLABLE != 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DoneKind {
    Done,
    Proc,
    InProc,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoneToken {
    pub kind: DoneKind,
    pub status: u16,
    pub command: u16,
    pub rows: u64,
}

impl DoneToken {
    pub fn has_more(&self) -> bool {
        self.status & status::MORE != 0
    }

    pub fn is_error(&self) -> bool {
        self.status & status::ERROR != 0
    }

    /// The row count, when this DONE carries one.
    pub fn count(&self) -> Option<u64> {
        (self.status & status::COUNT != 0).then_some(self.rows)
    }
}

/// An ERROR or INFO as received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerMessage {
    pub number: i32,
    pub state: u8,
    pub class: u8,
    pub text: String,
    pub server: String,
    pub procedure: String,
    pub line: u32,
}

/// An ENVCHANGE as received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Env {
    Database { new: String, old: String },
    Language { new: String, old: String },
    PacketSize { new: String, old: String },
    Collation([u8; 5]),
    BeginTransaction(u64),
    CommitTransaction(u64),
    RollbackTransaction(u64),
    Reset,
    Other(u8),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    Columns(Vec<Column>),
    Row(Vec<Value>),
    Done(DoneToken),
    Error(ServerMessage),
    Info(ServerMessage),
    Env(Env),
    ReturnStatus(i32),
    ReturnValue {
        ordinal: u16,
        name: String,
        ty: SqlType,
        value: Value,
    },
    LoginAck {
        tds_version: u32,
        program: String,
        version: [u8; 4],
    },
    FeatureAck(Vec<(u8, Vec<u8>)>),
    Order(Vec<u16>),
    /// TABNAME and COLINFO, of browse mode and cursors: skipped.
    Skipped,
}

// ---- writers ----

/// COLMETADATA. With no columns nothing is written: a count of zero is not legal.
pub fn put_columns(out: &mut Vec<u8>, columns: &[Column]) {
    if columns.is_empty() {
        return;
    }
    debug_assert!(columns.len() <= MAX_COLUMNS);
    out.push(COLMETADATA);
    put_u16(out, columns.len() as u16);
    for column in columns {
        let user_type = match column.ty.id {
            TypeId::RowVersion => USER_TYPE_ROWVERSION,
            _ => 0,
        };
        put_u32(out, user_type);
        put_u16(out, column.flags);
        put_type_info(out, &column.ty);
        if column.ty.id.is_legacy_lob() {
            // One part, an empty name: the part must be there.
            out.push(1);
            put_us_varchar(out, "", 0);
        }
        put_b_varchar(out, &column.name);
    }
}

/// ROW. On an error what was appended is cut off again.
pub fn put_row<'a>(
    out: &mut Vec<u8>,
    types: impl IntoIterator<Item = &'a SqlType>,
    values: &[Value],
) -> TdsResult<()> {
    let start = out.len();
    out.push(ROW);
    let mut written = 0;
    for (ty, value) in types.into_iter().zip(values) {
        if let Err(error) = put_value(out, ty, value, Place::Column) {
            out.truncate(start);
            return Err(error);
        }
        written += 1;
    }
    if written != values.len() {
        out.truncate(start);
        return Err(TdsError::Malformed("row with more values than columns"));
    }
    Ok(())
}

/// DONE, DONEPROC or DONEINPROC. Gives the position of the status, so that MORE can be taken off the last one.
pub fn put_done(out: &mut Vec<u8>, done: &DoneToken) -> usize {
    out.push(match done.kind {
        DoneKind::Done => DONE,
        DoneKind::Proc => DONEPROC,
        DoneKind::InProc => DONEINPROC,
    });
    let at = out.len();
    put_u16(out, done.status);
    put_u16(out, done.command);
    put_u64(out, done.rows);
    at
}

/// ERROR (class above 10) or INFO, by the severity of the message.
pub fn put_message(out: &mut Vec<u8>, error: &SqlError, server: &str) {
    out.push(if error.severity > 10 { ERROR } else { INFO });
    let at = out.len();
    put_u16(out, 0);
    out.extend_from_slice(&error.number.to_le_bytes());
    out.push(error.state);
    out.push(error.severity);
    // The whole token's length has 16 bits; texts of SQL Server end at 2,047 units.
    put_us_varchar(out, &error.message, 8_000);
    put_b_varchar(out, server);
    put_b_varchar(out, error.procedure.as_deref().unwrap_or(""));
    put_u32(out, error.line.max(0) as u32);
    close(out, at);
}

fn close(out: &mut [u8], at: usize) {
    let len = (out.len() - at - 2) as u16;
    out[at..at + 2].copy_from_slice(&len.to_le_bytes());
}

/// ENVCHANGE.
pub fn put_env(out: &mut Vec<u8>, env: &Env) {
    out.push(ENVCHANGE);
    let at = out.len();
    put_u16(out, 0);
    let mut strings = |kind: u8, new: &str, old: &str| {
        out.push(kind);
        put_b_varchar(out, new);
        put_b_varchar(out, old);
    };
    match env {
        Env::Database { new, old } => strings(1, new, old),
        Env::Language { new, old } => strings(2, new, old),
        Env::PacketSize { new, old } => strings(4, new, old),
        Env::Collation(collation) => {
            out.extend_from_slice(&[7, 5]);
            out.extend_from_slice(collation);
            out.push(0);
        }
        Env::BeginTransaction(descriptor) => {
            out.extend_from_slice(&[8, 8]);
            put_u64(out, *descriptor);
            out.push(0);
        }
        Env::CommitTransaction(descriptor) => {
            out.extend_from_slice(&[9, 0, 8]);
            put_u64(out, *descriptor);
        }
        Env::RollbackTransaction(descriptor) => {
            out.extend_from_slice(&[10, 0, 8]);
            put_u64(out, *descriptor);
        }
        Env::Reset => out.extend_from_slice(&[18, 0, 0]),
        Env::Other(kind) => out.extend_from_slice(&[*kind, 0, 0]),
    }
    close(out, at);
}

/// LOGINACK. `tds_version` as in LOGIN7, `version` is major, minor, build high, build low.
pub fn put_login_ack(out: &mut Vec<u8>, tds_version: u32, program: &str, version: [u8; 4]) {
    out.push(LOGINACK);
    let at = out.len();
    put_u16(out, 0);
    // Interface 1: T-SQL.
    out.push(1);
    out.extend_from_slice(&tds_version.to_be_bytes());
    put_b_varchar(out, program);
    out.extend_from_slice(&version);
    close(out, at);
}

/// FEATUREEXTACK; nothing when there is nothing to acknowledge.
pub fn put_feature_ack(out: &mut Vec<u8>, features: &[(u8, &[u8])]) {
    if features.is_empty() {
        return;
    }
    out.push(FEATUREEXTACK);
    for (id, data) in features {
        out.push(*id);
        put_u32(out, data.len() as u32);
        out.extend_from_slice(data);
    }
    out.push(0xFF);
}

pub fn put_return_status(out: &mut Vec<u8>, value: i32) {
    out.push(RETURNSTATUS);
    out.extend_from_slice(&value.to_le_bytes());
}

/// RETURNVALUE of an output parameter: `ordinal` counts the call's parameters from 0, `name` as the client sent it.
pub fn put_return_value(
    out: &mut Vec<u8>,
    ordinal: u16,
    name: &str,
    ty: &SqlType,
    value: &Value,
) -> TdsResult<()> {
    let start = out.len();
    out.push(RETURNVALUE);
    put_u16(out, ordinal);
    put_b_varchar(out, name);
    out.push(1);
    put_u32(out, 0);
    put_u16(out, 0);
    put_type_info(out, ty);
    put_value(out, ty, value, Place::Parameter).inspect_err(|_| out.truncate(start))
}

/// ORDER: the 1-based columns of ORDER BY.
pub fn put_order(out: &mut Vec<u8>, columns: &[u16]) {
    if columns.is_empty() {
        return;
    }
    out.push(ORDER);
    put_u16(out, (columns.len() * 2) as u16);
    for column in columns {
        put_u16(out, *column);
    }
}

// ---- reader ----

/// Reads tokens from a stream; it remembers the columns, which rows need.
#[derive(Debug, Default)]
pub struct TokenReader {
    columns: Vec<TypeInfo>,
    dialect: Dialect,
}

impl TokenReader {
    pub fn new() -> TokenReader {
        TokenReader::default()
    }

    /// Reads what a server says in that dialect.
    pub fn speaking(dialect: Dialect) -> TokenReader {
        TokenReader {
            dialect,
            ..TokenReader::default()
        }
    }

    /// A counter that once had half its bits.
    fn widened(&self, r: &mut Reader<'_>) -> TdsResult<u32> {
        match self.dialect {
            Dialect::V71 => Ok(u32::from(r.u16()?)),
            _ => r.u32(),
        }
    }

    /// The next token and the bytes it took; `None` when `bytes` end inside it.
    pub fn next(&mut self, bytes: &[u8]) -> TdsResult<Option<(Token, usize)>> {
        let mut r = Reader::new(bytes);
        match self.token(&mut r) {
            Ok(token) => Ok(Some((token, r.position()))),
            Err(TdsError::Truncated) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn token(&mut self, r: &mut Reader<'_>) -> TdsResult<Token> {
        match r.u8()? {
            COLMETADATA => self.columns(r),
            ROW => {
                let row: TdsResult<Vec<Value>> =
                    self.columns.iter().map(|c| parse_value(r, c)).collect();
                Ok(Token::Row(row?))
            }
            NBCROW => {
                let nulls = r.take(self.columns.len().div_ceil(8))?;
                let row: TdsResult<Vec<Value>> = self
                    .columns
                    .iter()
                    .enumerate()
                    .map(|(i, c)| {
                        if nulls[i / 8] & (1 << (i % 8)) != 0 {
                            Ok(Value::Null)
                        } else {
                            parse_value(r, c)
                        }
                    })
                    .collect();
                Ok(Token::Row(row?))
            }
            DONE => self.done(DoneKind::Done, r),
            DONEPROC => self.done(DoneKind::Proc, r),
            DONEINPROC => self.done(DoneKind::InProc, r),
            ERROR => Ok(Token::Error(self.message(r)?)),
            INFO => Ok(Token::Info(self.message(r)?)),
            ENVCHANGE => Ok(Token::Env(env(r)?)),
            RETURNSTATUS => Ok(Token::ReturnStatus(r.i32()?)),
            RETURNVALUE => {
                let ordinal = r.u16()?;
                let name = r.b_varchar()?;
                let _status = r.u8()?;
                let _user_type = self.widened(r)?;
                let _flags = r.u16()?;
                let info = TypeInfo::parse(r, Place::Parameter)?;
                let value = parse_value(r, &info)?;
                Ok(Token::ReturnValue {
                    ordinal,
                    name,
                    ty: info.ty,
                    value,
                })
            }
            LOGINACK => {
                let mut body = sized(r)?;
                let _interface = whole(body.u8())?;
                let tds_version = u32::from_be_bytes(whole(body.array())?);
                let program = whole(body.b_varchar())?;
                let version = whole(body.array())?;
                Ok(Token::LoginAck {
                    tds_version,
                    program,
                    version,
                })
            }
            FEATUREEXTACK => {
                let mut acks = Vec::new();
                loop {
                    let id = r.u8()?;
                    if id == 0xFF {
                        return Ok(Token::FeatureAck(acks));
                    }
                    let len = r.u32()? as usize;
                    if len > 64 * 1024 || acks.len() > 64 {
                        return Err(TdsError::Malformed("feature acknowledgement"));
                    }
                    acks.push((id, r.take(len)?.to_vec()));
                }
            }
            ORDER => {
                let body = sized(r)?.rest();
                Ok(Token::Order(crate::bytes::to_units(body)))
            }
            TABNAME | COLINFO => {
                sized(r)?;
                Ok(Token::Skipped)
            }
            _ => Err(TdsError::Malformed("unknown token")),
        }
    }

    fn columns(&mut self, r: &mut Reader<'_>) -> TdsResult<Token> {
        let count = r.u16()?;
        if count == 0xFFFF {
            return Ok(Token::Skipped);
        }
        if count as usize > MAX_COLUMNS {
            return Err(TdsError::Malformed("number of columns"));
        }
        let mut columns = Vec::new();
        let mut infos = Vec::new();
        for _ in 0..count {
            let _user_type = self.widened(r)?;
            let flags = r.u16()?;
            let info = TypeInfo::parse(r, Place::Column)?;
            if info.ty.id.is_legacy_lob() {
                let parts = match self.dialect {
                    Dialect::V71 => 1,
                    _ => r.u8()?,
                };
                for _ in 0..parts {
                    r.us_varchar()?;
                }
            }
            let name = r.b_varchar()?;
            columns.push(Column {
                name,
                ty: info.ty,
                flags,
            });
            infos.push(info);
        }
        self.columns = infos;
        Ok(Token::Columns(columns))
    }

    fn done(&self, kind: DoneKind, r: &mut Reader<'_>) -> TdsResult<Token> {
        Ok(Token::Done(DoneToken {
            kind,
            status: r.u16()?,
            command: r.u16()?,
            rows: match self.dialect {
                Dialect::V71 => u64::from(r.u32()?),
                _ => r.u64()?,
            },
        }))
    }

    fn message(&self, r: &mut Reader<'_>) -> TdsResult<ServerMessage> {
        let mut body = sized(r)?;
        let mut read = || -> TdsResult<ServerMessage> {
            Ok(ServerMessage {
                number: body.i32()?,
                state: body.u8()?,
                class: body.u8()?,
                text: body.us_varchar()?,
                server: body.b_varchar()?,
                procedure: body.b_varchar()?,
                line: self.widened(&mut body)?,
            })
        };
        whole(read())
    }
}

/// The body of a token with a 16-bit length.
fn sized<'a>(r: &mut Reader<'a>) -> TdsResult<Reader<'a>> {
    let len = r.u16()? as usize;
    Ok(Reader::new(r.take(len)?))
}

/// Inside a whole body, running out of bytes is an error, not a reason to wait.
fn whole<T>(result: TdsResult<T>) -> TdsResult<T> {
    result.map_err(|error| match error {
        TdsError::Truncated => TdsError::Malformed("token shorter than its parts"),
        other => other,
    })
}

fn env(r: &mut Reader<'_>) -> TdsResult<Env> {
    let mut body = sized(r)?;
    let kind = whole(body.u8())?;
    let mut read = || -> TdsResult<Env> {
        Ok(match kind {
            1 => Env::Database {
                new: body.b_varchar()?,
                old: body.b_varchar()?,
            },
            2 => Env::Language {
                new: body.b_varchar()?,
                old: body.b_varchar()?,
            },
            4 => Env::PacketSize {
                new: body.b_varchar()?,
                old: body.b_varchar()?,
            },
            7 => Env::Collation(body.b_varbyte()?.try_into().unwrap_or_default()),
            8..=10 => {
                let new = body.b_varbyte()?;
                let old = body.b_varbyte()?;
                let bytes = if kind == 8 { new } else { old };
                let bytes: [u8; 8] = bytes
                    .try_into()
                    .map_err(|_| TdsError::Malformed("transaction descriptor"))?;
                let descriptor = u64::from_le_bytes(bytes);
                match kind {
                    8 => Env::BeginTransaction(descriptor),
                    9 => Env::CommitTransaction(descriptor),
                    _ => Env::RollbackTransaction(descriptor),
                }
            }
            18 => Env::Reset,
            other => Env::Other(other),
        })
    };
    whole(read())
}

#[cfg(test)]
mod tests;
