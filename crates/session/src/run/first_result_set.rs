//! The rows of `sys.dm_exec_describe_first_result_set`.
//!
//! Nothing is executed. Statements are bound in the order of the text, whatever conditions would have chosen (*assumed*: SQL
//! Server compares the results of all branches); the first that has a result tells it. Procedures are looked into.

use duramen_base::{SqlError, SqlResult, messages};
use duramen_inspect::views::first_result_set::COLUMNS;
use duramen_planner::dml;
use duramen_program::program::{BodyOf, Op, Program};
use duramen_program::sink::ColumnMeta;
use duramen_program::table_types::NoTableTypes;
use duramen_query::Row;
use duramen_tsql::ast::{self, ExecCall, InsertSource, ModuleKind, StatementKind};
use duramen_types::Value;

use super::{callable, result_columns};
use crate::host::HostView;

/// How many columns of `sp_describe_first_result_set` come before those of the wire.
const DESCRIBING: usize = 35;

/// Why a result is not known: the numbers of `error_type`.
enum Undescribed {
    /// What binding says.
    Other(SqlError),
    Syntax(SqlError),
    DynamicSql(SqlError),
}

impl From<SqlError> for Undescribed {
    fn from(error: SqlError) -> Undescribed {
        Undescribed::Other(error)
    }
}

/// Called by the host.
pub fn describe(host: &HostView<'_>, args: &[Value]) -> SqlResult<Vec<Row>> {
    let word = |i: usize| args.get(i).and_then(Value::as_text);
    if args
        .get(2)
        .and_then(Value::as_i64)
        .is_some_and(|mode| mode != 0)
    {
        let what = "dm_exec_describe_first_result_set with browse information";
        return Err(SqlError::new(&messages::NOT_SUPPORTED, &[&what]));
    }
    let Some(text) = word(0) else {
        return Ok(Vec::new());
    };
    let found = match host
        .session()
        .compiled_text(&text, &word(1).unwrap_or_default())
    {
        Ok(callable) => {
            let program = callable.program;
            let tables: Vec<_> = super::tables_of(&program);
            let inside = host.alike(&program.variables, &tables);
            of_program(&inside, &program, 0)
        }
        Err(error) => Err(Undescribed::Syntax(error)),
    };
    Ok(match found {
        Ok(None) => Vec::new(),
        Ok(Some(columns)) => columns
            .iter()
            .enumerate()
            .map(|(i, c)| described(i, c))
            .collect(),
        Err(Undescribed::Other(e)) => vec![failed(&e, 1, "MISC")],
        Err(Undescribed::Syntax(e)) => vec![failed(&e, 2, "SYNTAX")],
        Err(Undescribed::DynamicSql(e)) => vec![failed(&e, 4, "DYNAMIC_SQL")],
    })
}

fn described(at: usize, column: &ColumnMeta) -> Row {
    let mut row = super::describe_column(at, column);
    row.truncate(DESCRIBING);
    row.resize(COLUMNS.len(), Value::Null);
    row
}

fn failed(e: &SqlError, kind: i32, word: &str) -> Row {
    let mut row = vec![Value::Null; DESCRIBING];
    row[0] = Value::Bit(false);
    row[1] = Value::Int(0);
    row.extend([
        Value::Int(e.number),
        Value::Int(i32::from(e.severity)),
        Value::Int(i32::from(e.state)),
        Value::nvarchar(&e.message),
        Value::Int(kind),
        Value::nvarchar(word),
    ]);
    row
}

/// How deep procedures are looked into.
const DEEPEST: u32 = 32;

fn of_program(
    host: &HostView<'_>,
    program: &Program,
    depth: u32,
) -> Result<Option<Vec<ColumnMeta>>, Undescribed> {
    for step in program.steps.iter() {
        let Op::Run(kind) = &step.op else { continue };
        let output = match kind {
            StatementKind::Select(stmt) => {
                if let Some(columns) = result_columns(host, stmt)? {
                    return Ok(Some(columns));
                }
                continue;
            }
            StatementKind::Insert(s) if matches!(s.source, InsertSource::Exec(_)) => continue,
            StatementKind::Exec(stmt) => {
                let text = program.text.get(step.span.0..step.span.1);
                let found = of_call(host, &stmt.call, text.unwrap_or_default(), depth)?;
                if found.is_some() {
                    return Ok(found);
                }
                continue;
            }
            kind if dml::has_output(kind) => dml::bind(host, kind)?,
            _ => continue,
        };
        if let Some(columns) = output.as_ref().and_then(dml::Dml::output_columns) {
            return Ok(Some(columns.iter().map(super::column_meta).collect()));
        }
    }
    Ok(None)
}

fn of_call(
    host: &HostView<'_>,
    call: &ExecCall,
    statement: &str,
    depth: u32,
) -> Result<Option<Vec<ColumnMeta>>, Undescribed> {
    let dynamic = || {
        let error = SqlError::new(&messages::METADATA_OF_DYNAMIC_SQL, &[&statement]);
        Undescribed::DynamicSql(error)
    };
    let name = match call {
        ExecCall::Procedure { name, .. } => name,
        ExecCall::ProcedureVariable { .. } | ExecCall::Text { .. } => return Err(dynamic()),
    };
    let missing = || SqlError::new(&messages::PROCEDURE_NOT_FOUND, &[&name.display()]);
    if depth >= DEEPEST {
        return Err(dynamic());
    }
    let Some((db, module)) = host.session().procedure_module(name)? else {
        // Those that are code and not text.
        return match duramen_program::coded::find(name.schema(), name.name()) {
            Some(_) => Err(dynamic()),
            None => Err(missing().into()),
        };
    };
    if module.id.0 > 0 {
        host.session().require_execute(&db, &module)?;
    }
    let options = duramen_tsql::ParseOptions {
        quoted_identifier: module.quoted_identifier,
    };
    let batch = duramen_tsql::parse_batch(&module.text, &options)?;
    let first = batch.statements.into_iter().next().map(|s| s.kind);
    let Some(StatementKind::CreateModule(stmt)) = first else {
        return Err(missing().into());
    };
    let ModuleKind::Procedure { params, body } = stmt.kind else {
        return Err(missing().into());
    };
    let body: Vec<ast::Statement> = body;
    let callable = callable(
        &module.text,
        &params,
        body,
        BodyOf::Procedure,
        &NoTableTypes,
    )?;
    let program = callable.program;
    let tables: Vec<_> = super::tables_of(&program);
    let inside = host.inside(&db.db.name, &program.variables, &tables);
    of_program(&inside, &program, depth + 1)
}
