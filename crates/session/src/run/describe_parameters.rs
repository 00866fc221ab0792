//! sp_describe_undeclared_parameters: drivers ask it before they send a NULL, whose type they cannot know.
//!
//! Its columns and their types are those of the documentation; the deduction is next door (`undeclared`).

use duramen_base::SqlResult;
use duramen_planner::Binder;
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_program::sink::ColumnMeta;
use duramen_tsql::{ParseOptions, ast};
use duramen_types::{SqlType, Value};

use super::arguments::Arguments;
use super::describe::tds_type;
use super::exec::Called;
use super::failure::RunResult;
use super::undeclared::{Asked, Found, deduce};
use super::{Run, command};

type Cell = (&'static str, SqlType, bool, Value);

const TEXT: SqlType = SqlType::SYSNAME;

fn name(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::nvarchar)
}

impl Run<'_> {
    /// sp_describe_undeclared_parameters
    pub(super) fn describe_undeclared(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        let text = args.text("@tsql").ok_or_else(|| args.missing("@tsql"))?;
        let declarations = args.text("@params").unwrap_or_default();
        let options = ParseOptions {
            quoted_identifier: self.session.options.quoted_identifier,
        };
        let params = duramen_tsql::parse_parameters(&declarations, &options)?;
        let batch = duramen_tsql::parse_batch(&text, &options)?;
        let mut declared: Found = Vec::new();
        for (p, nth) in params.iter().zip(1..) {
            declared.push(typed(p, nth)?);
        }
        let columns = |query: &duramen_tsql::ast::SelectStmt| {
            let plan = self.ask_host(|h| Binder::new(h).select(query))?;
            Ok(plan.columns.iter().map(|c| c.ty).collect())
        };
        let parameters =
            |name: &duramen_tsql::ast::ObjectName| self.parameters_of(name).map_err(|f| f.error);
        let asked = Asked {
            columns: &columns,
            parameters: &parameters,
        };
        let found = deduce(&batch.statements, &declared, asked)?;
        let rows: Vec<Vec<Cell>> = found.iter().enumerate().map(parameter_line).collect();
        self.send_lines(&rows, || {
            parameter_line((0, &(String::new(), SqlType::INT)))
        });
        Ok(Called::with_status(0))
    }

    /// The declared parameters of a procedure; none for one that is not there or not T-SQL.
    fn parameters_of(&self, name: &duramen_tsql::ast::ObjectName) -> RunResult<Found> {
        use duramen_tsql::ast::{ModuleKind, StatementKind};
        let Some((_, module)) = self.session.procedure_module(name)? else {
            return Ok(Vec::new());
        };
        let options = ParseOptions {
            quoted_identifier: module.quoted_identifier,
        };
        let batch = duramen_tsql::parse_batch(&module.text, &options)?;
        let mut found = Vec::new();
        if let Some(StatementKind::CreateModule(stmt)) = batch.statements.first().map(|s| &s.kind)
            && let ModuleKind::Procedure { params, .. } = &stmt.kind
        {
            for (p, nth) in params.iter().zip(1..) {
                found.push(typed(p, nth)?);
            }
        }
        Ok(found)
    }

    /// A result set of lines; `sample` is a line for its heading when there is none.
    fn send_lines(&mut self, rows: &[Vec<Cell>], sample: impl Fn() -> Vec<Cell>) {
        let heading = rows.first().cloned().unwrap_or_else(sample);
        let columns: Vec<ColumnMeta> = heading
            .iter()
            .map(|(name, ty, nullable, _)| ColumnMeta {
                name: (*name).to_owned(),
                ty: *ty,
                nullable: *nullable,
                identity: false,
                updatable: false,
            })
            .collect();
        self.sink.columns(&columns);
        for row in rows {
            let values: Vec<Value> = row.iter().map(|cell| cell.3.clone()).collect();
            self.sink.row(&values);
        }
        self.done(Some(rows.len() as u64), command::SELECT, false);
    }
}

/// The name and the type of a parameter by its number.
fn typed(p: &ast::Parameter, nth: usize) -> SqlResult<(String, SqlType)> {
    let ty = resolve_type(&p.ty, TypeSite::Parameter(nth, &p.name))?;
    Ok((p.name.clone(), ty))
}

/// A line of sp_describe_undeclared_parameters.
fn parameter_line((at, (parameter, ty)): (usize, &(String, SqlType))) -> Vec<Cell> {
    let (tds_type, tds_length) = tds_type(ty, true);
    let declared = ty.to_string();
    let int = |n: i32| Value::Int(n);
    let null = Value::Null;
    vec![
        ("parameter_ordinal", SqlType::INT, false, int(at as i32 + 1)),
        ("name", TEXT, false, name(Some(parameter))),
        (
            "suggested_system_type_id",
            SqlType::INT,
            false,
            int(i32::from(ty.id.xtype())),
        ),
        (
            "suggested_system_type_name",
            SqlType::nvarchar(256),
            true,
            name(Some(&declared)),
        ),
        (
            "suggested_max_length",
            SqlType::SMALLINT,
            false,
            Value::SmallInt(ty.catalog_length()),
        ),
        (
            "suggested_precision",
            SqlType::TINYINT,
            false,
            Value::TinyInt(ty.precision),
        ),
        (
            "suggested_scale",
            SqlType::TINYINT,
            false,
            Value::TinyInt(ty.scale),
        ),
        ("suggested_user_type_id", SqlType::INT, true, null.clone()),
        ("suggested_user_type_database", TEXT, true, null.clone()),
        ("suggested_user_type_schema", TEXT, true, null.clone()),
        ("suggested_user_type_name", TEXT, true, null.clone()),
        (
            "suggested_assembly_qualified_type_name",
            SqlType::nvarchar(4000),
            true,
            null.clone(),
        ),
        (
            "suggested_xml_collection_id",
            SqlType::INT,
            true,
            null.clone(),
        ),
        (
            "suggested_xml_collection_database",
            TEXT,
            true,
            null.clone(),
        ),
        ("suggested_xml_collection_schema", TEXT, true, null.clone()),
        ("suggested_xml_collection_name", TEXT, true, null.clone()),
        (
            "suggested_is_xml_document",
            SqlType::BIT,
            false,
            Value::Bit(false),
        ),
        (
            "suggested_is_case_sensitive",
            SqlType::BIT,
            false,
            Value::Bit(false),
        ),
        (
            "suggested_is_fixed_length_clr_type",
            SqlType::BIT,
            false,
            Value::Bit(false),
        ),
        ("suggested_is_input", SqlType::BIT, false, Value::Bit(true)),
        (
            "suggested_is_output",
            SqlType::BIT,
            false,
            Value::Bit(false),
        ),
        ("formal_parameter_name", TEXT, true, null),
        ("suggested_tds_type_id", SqlType::INT, false, int(tds_type)),
        ("suggested_tds_length", SqlType::INT, false, int(tds_length)),
    ]
}
