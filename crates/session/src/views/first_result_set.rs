//! `sys.dm_exec_describe_first_result_set(tsql, params, include_browse_information)`: the columns of the first result that a
//! text would give, one a row; or the error for which that is not known, in one row.
//!
//! Nothing is executed. Statements are bound in the order of the text, whatever conditions would have chosen (*assumed*: SQL
//! Server compares the results of all branches); the first that has a result tells it. Procedures are looked into.
//! <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-describe-first-result-set-transact-sql>

use std::any::Any;

use duramen_base::{SqlError, SqlResult, messages};
use duramen_query::host::{FunctionParameter, Host, RowStream, UserFunction};
use duramen_query::{Row, dml};
use duramen_tsql::ast::{self, ExecCall, InsertSource, ModuleKind, StatementKind};
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::host::HostView;
use crate::program::{BodyOf, Op, Program};
use crate::run::{callable, result_columns};
use crate::sink::ColumnMeta;
use crate::table_types::NoTableTypes;

const NAME: T = T::SYSNAME;

/// The columns of an error, behind those that describe a column.
const ERROR: [(&str, T, bool); 6] = [
    ("error_number", T::INT, true),
    ("error_severity", T::INT, true),
    ("error_state", T::INT, true),
    ("error_message", T::nvarchar(4000), true),
    ("error_type", T::INT, true),
    ("error_type_desc", T::nvarchar(60), true),
];
/// How many columns of `sp_describe_first_result_set` come before those of the wire.
const DESCRIBING: usize = 35;

const COLUMNS: &[(&str, T, bool)] = &[
    ("is_hidden", T::BIT, true),
    ("column_ordinal", T::INT, true),
    ("name", NAME, true),
    ("is_nullable", T::BIT, true),
    ("system_type_id", T::INT, true),
    ("system_type_name", T::nvarchar(256), true),
    ("max_length", T::SMALLINT, true),
    ("precision", T::TINYINT, true),
    ("scale", T::TINYINT, true),
    ("collation_name", NAME, true),
    ("user_type_id", T::INT, true),
    ("user_type_database", NAME, true),
    ("user_type_schema", NAME, true),
    ("user_type_name", NAME, true),
    ("assembly_qualified_type_name", T::nvarchar(4000), true),
    ("xml_collection_id", T::INT, true),
    ("xml_collection_database", NAME, true),
    ("xml_collection_schema", NAME, true),
    ("xml_collection_name", NAME, true),
    ("is_xml_document", T::BIT, true),
    ("is_case_sensitive", T::BIT, true),
    ("is_fixed_length_clr_type", T::BIT, true),
    ("source_server", NAME, true),
    ("source_database", NAME, true),
    ("source_schema", NAME, true),
    ("source_table", NAME, true),
    ("source_column", NAME, true),
    ("is_identity_column", T::BIT, true),
    ("is_part_of_unique_key", T::BIT, true),
    ("is_updateable", T::BIT, true),
    ("is_computed_column", T::BIT, true),
    ("is_sparse_column_set", T::BIT, true),
    ("ordinal_in_order_by_list", T::SMALLINT, true),
    ("order_by_list_length", T::SMALLINT, true),
    ("order_by_is_descending", T::SMALLINT, true),
    ERROR[0],
    ERROR[1],
    ERROR[2],
    ERROR[3],
    ERROR[4],
    ERROR[5],
];

pub const VIEW: View = View::of_host(
    "dm_exec_describe_first_result_set",
    crate::rights::needs::ASKS,
    COLUMNS,
    rows,
);

/// Stands for the function where the host is asked to run it: only the host can bind.
#[derive(Debug)]
pub struct Describe;

impl UserFunction for Describe {
    fn name(&self) -> &str {
        VIEW.name
    }

    fn parameters(&self) -> &[FunctionParameter] {
        &[]
    }

    fn returns(&self) -> T {
        T::INT
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn rows(host: &dyn Host, args: &[Value]) -> SqlResult<RowStream> {
    let (_, rows) = host.call_function(&Describe, args.to_vec())?;
    Ok(Box::new(rows.into_iter().map(Ok)))
}

/// Why a result is not known: the numbers of `error_type`.
enum Failure {
    /// What binding says.
    Other(SqlError),
    Syntax(SqlError),
    DynamicSql(SqlError),
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        Failure::Other(error)
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
            let tables: Vec<_> = crate::run::tables_of(&program);
            let inside = host.alike(&program.variables, &tables);
            of_program(&inside, &program, 0)
        }
        Err(error) => Err(Failure::Syntax(error)),
    };
    Ok(match found {
        Ok(None) => Vec::new(),
        Ok(Some(columns)) => columns
            .iter()
            .enumerate()
            .map(|(i, c)| described(i, c))
            .collect(),
        Err(Failure::Other(e)) => vec![failed(&e, 1, "MISC")],
        Err(Failure::Syntax(e)) => vec![failed(&e, 2, "SYNTAX")],
        Err(Failure::DynamicSql(e)) => vec![failed(&e, 4, "DYNAMIC_SQL")],
    })
}

fn described(at: usize, column: &ColumnMeta) -> Row {
    let mut row = crate::run::describe_column(at, column);
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
) -> Result<Option<Vec<ColumnMeta>>, Failure> {
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
            return Ok(Some(columns.iter().map(crate::run::column_meta).collect()));
        }
    }
    Ok(None)
}

fn of_call(
    host: &HostView<'_>,
    call: &ExecCall,
    statement: &str,
    depth: u32,
) -> Result<Option<Vec<ColumnMeta>>, Failure> {
    let dynamic = || {
        let error = SqlError::new(&messages::METADATA_OF_DYNAMIC_SQL, &[&statement]);
        Failure::DynamicSql(error)
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
        return match crate::coded::find(name.schema(), name.name()) {
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
    let tables: Vec<_> = crate::run::tables_of(&program);
    let inside = host.inside(&db.db.name, &program.variables, &tables);
    of_program(&inside, &program, depth + 1)
}
