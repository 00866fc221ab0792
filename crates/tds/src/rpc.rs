//! RPC requests: calls by name or number with typed parameters, table-valued ones included.

mod build;
mod long;

use duramen_types::{SqlType, Value};

use crate::bytes::{Reader, TdsError, TdsResult};
use crate::dialect::Dialect;
use crate::request::AllHeaders;
use crate::typeinfo::{Place, TypeInfo};
use crate::value::parse_value;

pub use build::CallBuilder;
pub use long::{Pieces, Source, parse_long};

/// More parameters than this in one call are refused.
pub const MAX_PARAMETERS: usize = 2_100;
const MAX_TABLE_COLUMNS: u16 = 1_024;
/// A NULL cell is one byte on the wire and thirty in memory.
const MAX_TABLE_CELLS: usize = 1 << 22;
const MAX_CALLS: usize = 65_536;
const TABLE_TYPE: u8 = 0xF3;

pub const OPTION_RECOMPILE: u16 = 1;
pub const OPTION_NO_METADATA: u16 = 2;

/// The procedures that have a number. Their fixed parameters go by position, whatever their names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum ProcId {
    Cursor = 1,
    CursorOpen,
    CursorPrepare,
    CursorExecute,
    CursorPrepExec,
    CursorUnprepare,
    CursorFetch,
    CursorOption,
    CursorClose,
    ExecuteSql,
    Prepare,
    Execute,
    PrepExec,
    PrepExecRpc,
    Unprepare,
}

const PROCS: [(ProcId, &str); 15] = [
    (ProcId::Cursor, "sp_cursor"),
    (ProcId::CursorOpen, "sp_cursoropen"),
    (ProcId::CursorPrepare, "sp_cursorprepare"),
    (ProcId::CursorExecute, "sp_cursorexecute"),
    (ProcId::CursorPrepExec, "sp_cursorprepexec"),
    (ProcId::CursorUnprepare, "sp_cursorunprepare"),
    (ProcId::CursorFetch, "sp_cursorfetch"),
    (ProcId::CursorOption, "sp_cursoroption"),
    (ProcId::CursorClose, "sp_cursorclose"),
    (ProcId::ExecuteSql, "sp_executesql"),
    (ProcId::Prepare, "sp_prepare"),
    (ProcId::Execute, "sp_execute"),
    (ProcId::PrepExec, "sp_prepexec"),
    (ProcId::PrepExecRpc, "sp_prepexecrpc"),
    (ProcId::Unprepare, "sp_unprepare"),
];

impl ProcId {
    pub fn from_number(number: u16) -> Option<ProcId> {
        let index = (number as usize).checked_sub(1)?;
        PROCS.get(index).map(|(id, _)| *id)
    }

    pub fn name(self) -> &'static str {
        PROCS[self as usize - 1].1
    }

    /// The procedure of that name, in any case and with any schema or database in front.
    pub fn from_name(name: &str) -> Option<ProcId> {
        let last = name.rsplit('.').next().unwrap_or(name);
        let last = last.trim_matches(|c| matches!(c, '[' | ']' | '"' | ' '));
        PROCS
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(last))
            .map(|(id, _)| *id)
    }
}

/// What is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Procedure {
    Id(ProcId),
    /// As sent: may be quoted and have several parts, `[sys].sp_columns_100`, `db..proc;1`.
    Name(String),
}

#[derive(Clone, PartialEq, Debug)]
pub struct RpcCall {
    pub procedure: Procedure,
    pub options: u16,
    pub parameters: Vec<RpcParameter>,
    /// The call is only to be described, not run.
    pub no_execute: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct RpcParameter {
    /// With or without `@`; empty: by position.
    pub name: String,
    pub output: bool,
    /// Use the declared default.
    pub default: bool,
    pub data: ParameterData,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ParameterData {
    Value(SqlType, Value),
    /// A large value that stays where the message is, see [`parse_long`].
    Long(SqlType, Pieces),
    /// Bytes that are no value of the type.
    Invalid(SqlType),
    Table(TableValue),
}

/// A table-valued parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct TableValue {
    pub schema: String,
    pub type_name: String,
    /// `None` for a NULL table.
    pub columns: Option<Vec<TableColumn>>,
    /// Values of the columns that are not `default`.
    pub rows: Vec<Vec<Value>>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TableColumn {
    pub ty: SqlType,
    pub nullable: bool,
    /// Filled by its default; rows have no value for it.
    pub default: bool,
}

/// Reads the whole message.
pub fn parse(body: &[u8]) -> TdsResult<(AllHeaders, Vec<RpcCall>)> {
    parse_as(Dialect::V74, body)
}

/// Reads the whole message of a client that speaks `dialect`.
pub fn parse_as(dialect: Dialect, body: &[u8]) -> TdsResult<(AllHeaders, Vec<RpcCall>)> {
    let mut r = Reader::new(body);
    let headers = AllHeaders::parse_as(dialect, &mut r)?;
    let mut calls = Vec::new();
    while !r.is_empty() {
        if calls.len() >= MAX_CALLS {
            return Err(TdsError::TooLarge("RPC batch"));
        }
        calls.push(call(&mut r)?);
    }
    if calls.is_empty() {
        return Err(TdsError::Malformed("RPC request without a call"));
    }
    Ok((headers, calls))
}

impl Procedure {
    fn parse(r: &mut Reader<'_>) -> TdsResult<Procedure> {
        let name_len = r.u16()?;
        if name_len == 0xFFFF {
            let id = ProcId::from_number(r.u16()?);
            return id
                .map(Procedure::Id)
                .ok_or(TdsError::Unsupported("procedure number"));
        }
        if name_len > 1046 {
            return Err(TdsError::Malformed("procedure name"));
        }
        Ok(Procedure::Name(r.utf16(name_len as usize)?))
    }
}

fn call(r: &mut Reader<'_>) -> TdsResult<RpcCall> {
    let procedure = Procedure::parse(r)?;
    let mut out = RpcCall {
        procedure,
        options: r.u16()?,
        parameters: Vec::new(),
        no_execute: false,
    };
    while let Some(next) = r.peek() {
        match next {
            0xFF | 0x80 => {
                r.u8()?;
                break;
            }
            0xFE => {
                r.u8()?;
                out.no_execute = true;
            }
            _ => {
                if out.parameters.len() >= MAX_PARAMETERS {
                    return Err(TdsError::TooManyParameters);
                }
                out.parameters.push(parameter(r)?);
            }
        }
    }
    Ok(out)
}

fn parameter(r: &mut Reader<'_>) -> TdsResult<RpcParameter> {
    let name = r.b_varchar()?;
    let status = r.u8()?;
    if status & 8 != 0 {
        return Err(TdsError::Unsupported("encrypted parameters"));
    }
    let data = if r.peek() == Some(TABLE_TYPE) {
        r.u8()?;
        ParameterData::Table(table(r)?)
    } else {
        let info = TypeInfo::parse(r, Place::Parameter)?;
        match parse_value(r, &info) {
            Ok(value) => ParameterData::Value(info.ty, value),
            // What follows can be read.
            Err(TdsError::Invalid(_)) => ParameterData::Invalid(info.ty),
            Err(error) => return Err(error),
        }
    };
    Ok(RpcParameter {
        name,
        output: status & 1 != 0,
        default: status & 2 != 0,
        data,
    })
}

fn table(r: &mut Reader<'_>) -> TdsResult<TableValue> {
    let _database = r.b_varchar()?;
    let schema = r.b_varchar()?;
    let type_name = r.b_varchar()?;
    let count = r.u16()?;
    let mut infos = Vec::new();
    let mut columns = None;
    if count != 0xFFFF {
        if count > MAX_TABLE_COLUMNS {
            return Err(TdsError::Malformed("columns of a table type"));
        }
        let mut list = Vec::new();
        for _ in 0..count {
            let _user_type = r.u32()?;
            let flags = r.u16()?;
            let info = TypeInfo::parse(r, Place::Column)?;
            let _name = r.b_varchar()?;
            let default = flags & 0x200 != 0;
            if !default {
                infos.push(info);
            }
            list.push(TableColumn {
                ty: info.ty,
                nullable: flags & 1 != 0,
                default,
            });
        }
        columns = Some(list);
    }
    // Optional order and column-order hints.
    loop {
        match r.u8()? {
            0x00 => break,
            0x10 => {
                let n = r.u16()? as usize;
                r.take(n * 3)?;
            }
            0x11 => {
                let n = r.u16()? as usize;
                r.take(n * 2)?;
            }
            _ => return Err(TdsError::Malformed("table type metadata")),
        }
    }
    let mut rows = Vec::new();
    loop {
        match r.u8()? {
            0x00 => break,
            0x01 if !infos.is_empty() => {
                if (rows.len() + 1) * infos.len() > MAX_TABLE_CELLS {
                    return Err(TdsError::TooLarge("table-valued parameter"));
                }
                let row: TdsResult<Vec<Value>> =
                    infos.iter().map(|info| parse_value(r, info)).collect();
                rows.push(row?);
            }
            _ => return Err(TdsError::Malformed("row of a table value")),
        }
    }
    Ok(TableValue {
        schema,
        type_name,
        columns,
        rows,
    })
}

#[cfg(test)]
mod tests;
