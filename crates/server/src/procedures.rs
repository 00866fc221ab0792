//! Remote procedure calls: the numbered procedures and prepared statements, in terms of what a session can do.
//!
//! A prepared statement here is its text and declarations under a handle; plans are the session's affair.

use std::sync::Arc;

use duramen_base::{SqlError, messages};
use duramen_program::sink::ResultSink;
use duramen_program::table_types::RemoteTable;
use duramen_tds::rpc::{
    ParameterData, ProcId, Procedure, RpcCall, RpcParameter, TableColumn, TableValue,
};
use duramen_types::{SqlType, Value};

use crate::backend::{BackendSession, ParameterSpec, ProcedureOutcome};
use crate::connection::Connection;
use crate::prepared::{Statement, unknown};
use crate::reply::Reply;

/// Runs the calls of one message.
pub fn run(
    connection: &Arc<Connection>,
    session: &mut dyn BackendSession,
    calls: Vec<RpcCall>,
    reply: &mut Reply<'_>,
) {
    let count = calls.len();
    for (at, call) in calls.into_iter().enumerate() {
        if reply.cancelled() {
            return;
        }
        let names: Vec<String> = call.parameters.iter().map(|p| p.name.clone()).collect();
        reply.enter_procedure();
        let outcome = match one(connection, session, &call, reply) {
            Ok(outcome) => outcome,
            Err(error) => {
                reply.error(&error);
                ProcedureOutcome {
                    status: Some(error.number),
                    outputs: Vec::new(),
                }
            }
        };
        reply.leave_procedure(&outcome, &names);
        if at + 1 < count {
            reply.in_rpc_batch();
        }
    }
}

fn one(
    connection: &Arc<Connection>,
    session: &mut dyn BackendSession,
    call: &RpcCall,
    reply: &mut Reply<'_>,
) -> Result<ProcedureOutcome, SqlError> {
    if call.no_execute {
        return Err(refused("a procedure call with the no-execute flag"));
    }
    let known = match &call.procedure {
        Procedure::Id(id) => Some(*id),
        Procedure::Name(name) => ProcId::from_name(name),
    };
    let parameters = &call.parameters[..];
    for (at, parameter) in parameters.iter().enumerate() {
        if let ParameterData::Invalid(ty) = &parameter.data {
            let args: [&dyn std::fmt::Display; 3] = [&(at + 1), &parameter.name, &ty.id.name()];
            return Err(SqlError::new(&messages::RPC_INVALID_VALUE, &args));
        }
    }
    let prepared = &connection.prepared;
    let cancel = &connection.cancel;
    match known {
        Some(ProcId::ExecuteSql) => {
            let text = text(parameters, 0)?;
            let declarations = optional_text(parameters, 1)?;
            let values = specs(parameters, 2)?;
            let mut outcome = session.execute_sql(&text, &declarations, &values, reply, cancel);
            shift(&mut outcome, 2);
            Ok(outcome)
        }
        Some(ProcId::Prepare) => {
            let statement = Statement {
                declarations: optional_text(parameters, 1)?,
                text: text(parameters, 2)?,
            };
            let (text, declarations) = (&statement.text, &statement.declarations);
            if !session.prepare(text, declarations, reply, cancel) {
                let outcome = ProcedureOutcome {
                    status: Some(messages::COULD_NOT_PREPARE.number),
                    outputs: vec![(0, SqlType::INT, Value::Null)],
                };
                return Ok(outcome);
            }
            let handle = prepared.lock().add(statement)?;
            Ok(with_handle(handle, ok()))
        }
        Some(ProcId::Execute) => {
            let statement = prepared.lock().get(handle(parameters)?.unwrap_or(0))?;
            let values = specs(parameters, 1)?;
            let mut outcome = session.execute_sql(
                &statement.text,
                &statement.declarations,
                &values,
                reply,
                cancel,
            );
            shift(&mut outcome, 1);
            Ok(outcome)
        }
        Some(ProcId::PrepExec) => {
            let statement = Statement {
                declarations: optional_text(parameters, 1)?,
                text: text(parameters, 2)?,
            };
            let values = specs(parameters, 3)?;
            let new = replace(connection, handle(parameters)?, statement.clone())?;
            let mut outcome = session.execute_sql(
                &statement.text,
                &statement.declarations,
                &values,
                reply,
                cancel,
            );
            shift(&mut outcome, 3);
            Ok(with_handle(new, outcome))
        }
        Some(ProcId::PrepExecRpc) => {
            let name = text(parameters, 1)?;
            let values = specs(parameters, 2)?;
            let mut outcome = session.execute_procedure(&name, &values, reply, cancel);
            shift(&mut outcome, 2);
            // A later sp_execute of the handle calls the procedure again, by position.
            let statement = Statement {
                text: call_text(&name, &values),
                declarations: call_declarations(&values),
            };
            let new = replace(connection, handle(parameters)?, statement)?;
            Ok(with_handle(new, outcome))
        }
        Some(ProcId::Unprepare) => {
            let handle = handle(parameters)?.unwrap_or(0);
            match prepared.lock().remove(handle) {
                Some(_) => Ok(ok()),
                None => Err(unknown(handle)),
            }
        }
        Some(other) => Err(refused(other.name())),
        None => match &call.procedure {
            Procedure::Name(name) => {
                let values = specs(parameters, 0)?;
                Ok(session.execute_procedure(name, &values, reply, cancel))
            }
            Procedure::Id(id) => Err(refused(id.name())),
        },
    }
}

fn ok() -> ProcedureOutcome {
    ProcedureOutcome {
        status: Some(0),
        outputs: Vec::new(),
    }
}

fn refused(what: &str) -> SqlError {
    SqlError::new(&messages::NOT_SUPPORTED, &[&what])
}

fn replace(
    connection: &Arc<Connection>,
    old: Option<i32>,
    statement: Statement,
) -> Result<i32, SqlError> {
    let mut prepared = connection.prepared.lock();
    // Drivers pass the handle that the new one replaces; zero or an unknown one is no error.
    if let Some(old) = old {
        prepared.remove(old);
    }
    prepared.add(statement)
}

fn with_handle(handle: i32, mut outcome: ProcedureOutcome) -> ProcedureOutcome {
    outcome
        .outputs
        .insert(0, (0, SqlType::INT, Value::Int(handle)));
    outcome
}

/// Outputs were numbered among the values; the client counts all parameters.
fn shift(outcome: &mut ProcedureOutcome, by: usize) {
    for output in &mut outcome.outputs {
        output.0 += by;
    }
}

fn value(parameters: &[RpcParameter], at: usize) -> Result<Option<&Value>, SqlError> {
    match parameters.get(at).map(|p| &p.data) {
        None => Ok(None),
        Some(ParameterData::Value(_, value)) => Ok(Some(value)),
        Some(ParameterData::Invalid(_) | ParameterData::Long(..)) => Ok(None),
        Some(ParameterData::Table(_)) => Err(refused("a table where text or a handle is expected")),
    }
}

fn text(parameters: &[RpcParameter], at: usize) -> Result<String, SqlError> {
    value(parameters, at)?
        .and_then(Value::as_text)
        .ok_or_else(|| refused("a statement parameter that is not text"))
}

fn optional_text(parameters: &[RpcParameter], at: usize) -> Result<String, SqlError> {
    match value(parameters, at)? {
        None | Some(Value::Null) => Ok(String::new()),
        Some(_) => text(parameters, at),
    }
}

fn handle(parameters: &[RpcParameter]) -> Result<Option<i32>, SqlError> {
    Ok(value(parameters, 0)?
        .and_then(Value::as_i64)
        .and_then(|handle| i32::try_from(handle).ok()))
}

fn specs(parameters: &[RpcParameter], from: usize) -> Result<Vec<ParameterSpec>, SqlError> {
    let mut specs = Vec::new();
    for parameter in parameters.get(from..).unwrap_or(&[]) {
        let (ty, value, table) = match &parameter.data {
            ParameterData::Value(ty, value) => (*ty, value.clone(), None),
            ParameterData::Invalid(ty) | ParameterData::Long(ty, _) => (*ty, Value::Null, None),
            ParameterData::Table(table) => (SqlType::INT, Value::Null, Some(remote(table))),
        };
        let name = match parameter.name.as_str() {
            "" => String::new(),
            name if name.starts_with('@') => name.to_owned(),
            name => format!("@{name}"),
        };
        specs.push(ParameterSpec {
            name,
            ty,
            value,
            output: parameter.output,
            default: parameter.default,
            table,
        });
    }
    Ok(specs)
}

fn remote(table: &TableValue) -> Arc<RemoteTable> {
    let column = |c: &TableColumn| (!c.default).then_some(c.ty);
    Arc::new(RemoteTable {
        type_name: table.type_name.clone(),
        schema: table.schema.clone(),
        columns: table.columns.iter().flatten().map(column).collect(),
        rows: table.rows.clone(),
    })
}

fn call_text(name: &str, values: &[ParameterSpec]) -> String {
    let list: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(i, v)| format!("@p{i}{}", if v.output { " OUTPUT" } else { "" }))
        .collect();
    format!("EXEC {name} {}", list.join(", "))
}

fn call_declarations(values: &[ParameterSpec]) -> String {
    let list: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(i, v)| match &v.table {
            Some(table) => {
                let quoted = |name: &str| name.replace(']', "]]");
                let schema = match table.schema.as_str() {
                    "" => "dbo",
                    schema => schema,
                };
                let (schema, name) = (quoted(schema), quoted(&table.type_name));
                format!("@p{i} [{schema}].[{name}] READONLY")
            }
            None => format!("@p{i} {}{}", v.ty, if v.output { " OUTPUT" } else { "" }),
        })
        .collect();
    list.join(", ")
}
