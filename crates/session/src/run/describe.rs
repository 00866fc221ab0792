//! What a text would give, without running it: SET FMTONLY ON, the preparation of statements, and
//! sp_describe_first_result_set.
//!
//! Nothing is executed: every statement of the text is looked at once, in its order, whatever conditions would have
//! chosen. Settings are the exception (one of them ends FMTONLY), and calls, whose insides are looked at likewise.

use duramen_access::cancel::CancelToken;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_planner::{Binder, dml};
use duramen_program::bound::Bound;
use duramen_program::program::Op;
use duramen_program::programs::Callable;
use duramen_program::sink::{ColumnMeta, Done, EnvChange, ResultSink, Scope};
use duramen_program::statements::Kind;
use duramen_program::statements::into_table;
use duramen_tsql::ast::{self, StatementKind};
use duramen_types::{SqlType, TypeId, Value};

use super::arguments::Arguments;
use super::exec::Called;
use super::failure::RunResult;
use super::query::{assignments, meta};
use super::{Ended, Next, Run, command};
use crate::host::HostView;
use crate::session::Session;

/// Keeps the first heading and the first error, and nothing else.
#[derive(Default)]
struct First {
    columns: Option<Vec<ColumnMeta>>,
    error: Option<SqlError>,
}

impl ResultSink for First {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.columns.get_or_insert_with(|| columns.to_vec());
    }

    fn row(&mut self, _: &[Value]) {}
    fn done(&mut self, _: &Done) {}

    fn error(&mut self, error: &SqlError) {
        self.error.get_or_insert_with(|| error.clone());
    }

    fn info(&mut self, _: &SqlError) {}
    fn env_change(&mut self, _: &EnvChange) {}
}

impl Session {
    /// Compiles a statement with parameters, to be run by `execute_sql` any number of times, and tells the columns of its
    /// first result. False, and the reason at the sink, when it cannot be.
    pub fn prepare(
        &mut self,
        text: &str,
        declarations: &str,
        sink: &mut dyn ResultSink,
        cancel: &CancelToken,
    ) -> bool {
        let prepared = self.request(sink, cancel, |session, sink| {
            match session.prepared(text, declarations, cancel) {
                Ok(columns) => {
                    if let Some(columns) = columns {
                        sink.columns(&columns);
                    }
                    true
                }
                Err(error) => {
                    session.state.error = messages::COULD_NOT_PREPARE.number;
                    duramen_program::outcome::report(sink, &error.at_line(1));
                    let last = SqlError::new(&messages::COULD_NOT_PREPARE, &[]);
                    duramen_program::outcome::report(sink, &last.at_line(1));
                    false
                }
            }
        });
        prepared.unwrap_or(false)
    }

    fn prepared(
        &mut self,
        text: &str,
        declarations: &str,
        cancel: &CancelToken,
    ) -> SqlResult<Option<Vec<ColumnMeta>>> {
        let callable = self.compiled_text(text, declarations)?;
        let single = callable.program.steps.len() == 1;
        let (callable, first) = self.looked_at(callable, cancel);
        let key = self.text_key(text, declarations);
        let memory = &self.instance.databases.engine.memory;
        self.core.state.programs.put(key, callable, memory);
        match first {
            // Several statements may make what the later ones use.
            First {
                columns: None,
                error: Some(error),
            } if single => Err(error),
            First { columns, .. } => Ok(columns),
        }
    }

    /// Runs a program as FMTONLY does, with NULLs for parameters.
    fn looked_at(&mut self, mut callable: Callable, cancel: &CancelToken) -> (Callable, First) {
        let mut first = First::default();
        let options = self.options.clone();
        self.options.fmtonly = true;
        self.options.nocount = false;
        let program = callable.program.clone();
        let mut run = Run::new(self, &program, &mut first, cancel);
        run.bound = std::mem::take(&mut callable.bound);
        let _ = run.execute();
        callable.bound = std::mem::take(&mut run.bound);
        self.options = options;
        (callable, first)
    }
}

impl Run<'_> {
    /// A step under FMTONLY.
    pub(super) fn described(&mut self, at: usize) -> RunResult<Next> {
        let program = self.program;
        match &program.steps[at].op {
            Op::Run(StatementKind::Select(stmt)) => self.describe_select(at, stmt)?,
            // The rows come from a call, which is not looked into.
            Op::Run(StatementKind::Insert(stmt))
                if matches!(stmt.source, ast::InsertSource::Exec(_)) => {}
            Op::Run(StatementKind::SetOption(option)) => {
                self.set_option(at, option)?;
                self.done(None, command::SET, false);
            }
            Op::Run(StatementKind::Exec(stmt)) => {
                // What a call returns is not known; that it goes on is.
                return match self.exec(at, stmt)? {
                    Next::End(Ended::Thrown(error)) => Err(error.into()),
                    _ => Ok(Next::Step),
                };
            }
            Op::Run(kind) => {
                if let Some(bound) = self.ask_host(|h| dml::bind(h, kind))? {
                    self.describe_output(&bound, Kind::of(kind).row().done);
                }
            }
            // Texts that EXECUTE runs may be built step by step.
            Op::Assign { slot, op, value } => {
                let ty = program.variables[*slot].ty;
                let name = &program.variables[*slot].name;
                let bound = self.expr(at, |b| b.assigned(name, ty, *op, value))?;
                if !bound.reads_tables() {
                    let value = self.evaluate(&bound, |e, cx| e.eval(&[], cx))?;
                    self.set_variable(*slot, value);
                }
            }
            _ => {}
        }
        Ok(Next::Step)
    }

    fn describe_select(&mut self, at: usize, stmt: &ast::SelectStmt) -> RunResult<()> {
        if into_table(stmt).is_some() {
            return Ok(());
        }
        let assigns = assignments(stmt)?;
        let plan = std::sync::Arc::new(self.ask_host(|h| Binder::new(h).select(stmt))?);
        let columns: Vec<ColumnMeta> = plan.columns.iter().map(meta).collect();
        let sizes = std::sync::Arc::new(duramen_planner::Sizes::of(&plan));
        self.keep(at, Bound::Plan(plan, sizes));
        if !assigns {
            self.sink.columns(&columns);
            self.done(Some(0), command::SELECT, false);
        }
        Ok(())
    }

    fn describe_output(&mut self, bound: &dml::Dml, number: u16) {
        if let Some(columns) = bound.output_columns() {
            let columns: Vec<ColumnMeta> = columns.iter().map(meta).collect();
            self.sink.columns(&columns);
            self.done(Some(0), number, false);
        }
    }

    /// sp_describe_first_result_set
    pub(super) fn describe_first_result_set(&mut self, args: &Arguments<'_>) -> RunResult<Called> {
        let text = args.text("@tsql").ok_or_else(|| args.missing("@tsql"))?;
        let declarations = args.text("@params").unwrap_or_default();
        let browse = args.number("@browse_information_mode");
        if browse.is_some_and(|mode| mode != 0) {
            return Err(super::not_supported(
                "sp_describe_first_result_set with browse information",
            )
            .into());
        }
        let callable = self.session.compiled_text(&text, &declarations)?;
        let (_, first) = self.session.looked_at(callable, self.cancel);
        let columns = match first {
            First {
                columns: None,
                error: Some(error),
            } => return Err(error.into()),
            First { columns, .. } => columns.unwrap_or_default(),
        };
        self.sink
            .columns(&DESCRIPTION.map(|(name, ty, nullable)| ColumnMeta {
                name: name.to_owned(),
                ty,
                nullable,
                identity: false,
                updatable: false,
            }));
        for (i, column) in columns.iter().enumerate() {
            self.sink.row(&description(i, column));
        }
        let rows = columns.len() as u64;
        self.session.state.rowcount = rows;
        self.done_in(Scope::Inside, Some(rows), command::SELECT, false);
        Ok(Called::with_status(0))
    }
}

const NAME: SqlType = SqlType::SYSNAME;
const SMALL: SqlType = SqlType::SMALLINT;

/// The columns of sp_describe_first_result_set, from its page in the public documentation.
const DESCRIPTION: [(&str, SqlType, bool); 39] = [
    ("is_hidden", SqlType::BIT, false),
    ("column_ordinal", SqlType::INT, false),
    ("name", NAME, true),
    ("is_nullable", SqlType::BIT, false),
    ("system_type_id", SqlType::INT, false),
    ("system_type_name", SqlType::nvarchar(256), true),
    ("max_length", SMALL, false),
    ("precision", SqlType::TINYINT, false),
    ("scale", SqlType::TINYINT, false),
    ("collation_name", NAME, true),
    ("user_type_id", SqlType::INT, true),
    ("user_type_database", NAME, true),
    ("user_type_schema", NAME, true),
    ("user_type_name", NAME, true),
    (
        "assembly_qualified_type_name",
        SqlType::nvarchar(4000),
        true,
    ),
    ("xml_collection_id", SqlType::INT, true),
    ("xml_collection_database", NAME, true),
    ("xml_collection_schema", NAME, true),
    ("xml_collection_name", NAME, true),
    ("is_xml_document", SqlType::BIT, false),
    ("is_case_sensitive", SqlType::BIT, false),
    ("is_fixed_length_clr_type", SqlType::BIT, false),
    ("source_server", NAME, true),
    ("source_database", NAME, true),
    ("source_schema", NAME, true),
    ("source_table", NAME, true),
    ("source_column", NAME, true),
    ("is_identity_column", SqlType::BIT, true),
    ("is_part_of_unique_key", SqlType::BIT, true),
    ("is_updateable", SqlType::BIT, true),
    ("is_computed_column", SqlType::BIT, true),
    ("is_sparse_column_set", SqlType::BIT, true),
    ("ordinal_in_order_by_list", SMALL, true),
    ("order_by_list_length", SMALL, true),
    ("order_by_is_descending", SMALL, true),
    ("tds_type_id", SqlType::INT, false),
    ("tds_length", SqlType::INT, false),
    ("tds_collation_id", SqlType::INT, true),
    ("tds_collation_sort_id", SqlType::TINYINT, true),
];

/// The columns of a query's result; `None` when it has none, but a table or variables that it fills.
pub(crate) fn result_columns(
    host: &HostView<'_>,
    stmt: &ast::SelectStmt,
) -> SqlResult<Option<Vec<ColumnMeta>>> {
    if into_table(stmt).is_some() || assignments(stmt)? {
        return Ok(None);
    }
    let plan = Binder::new(host).select(stmt)?;
    Ok(Some(plan.columns.iter().map(meta).collect()))
}

/// A row that describes a column, `at` from 0.
pub(crate) fn description(at: usize, column: &ColumnMeta) -> Vec<Value> {
    let ty = &column.ty;
    let is_text = ty.id.is_string();
    let (tds_type, tds_length) = tds_type(ty, column.nullable);
    let collation = ty.collation.tds_bytes();
    let text = |on: bool, value: Value| if on { value } else { Value::Null };
    let number = i32::from_le_bytes([collation[0], collation[1], collation[2], collation[3]]);
    vec![
        Value::Bit(false),
        Value::Int(i32::try_from(at + 1).unwrap_or(i32::MAX)),
        text(!column.name.is_empty(), Value::nvarchar(&column.name)),
        Value::Bit(column.nullable),
        Value::Int(i32::from(ty.id.xtype())),
        Value::nvarchar(&ty.to_string()),
        Value::SmallInt(ty.catalog_length()),
        Value::TinyInt(ty.precision),
        Value::TinyInt(ty.scale),
        text(
            is_text,
            Value::nvarchar(ty.collation.name().unwrap_or_default()),
        ),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Bit(false),
        Value::Bit(is_text && !ignores_case(&collation)),
        Value::Bit(false),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Bit(column.identity),
        Value::Null,
        Value::Bit(column.updatable && !column.identity),
        Value::Bit(false),
        Value::Bit(false),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Int(tds_type),
        Value::Int(tds_length),
        text(is_text, Value::Int(number)),
        text(is_text, Value::TinyInt(collation[4])),
    ]
}

/// Bit 20 of a collation's four bytes (MS-TDS, section "Collation Rule Definition").
fn ignores_case(collation: &[u8; 5]) -> bool {
    collation[2] & 0x10 != 0
}

/// The type's byte on the wire and its length there, as TYPE_INFO declares them (MS-TDS, section "TYPE_INFO").
pub(super) fn tds_type(ty: &SqlType, nullable: bool) -> (i32, i32) {
    let either = |fixed: i32, variable: i32| if nullable { variable } else { fixed };
    let length = match ty.is_max() {
        true => 65_535,
        false => i32::from(ty.length),
    };
    match ty.id {
        TypeId::Bit => (either(0x32, 0x68), 1),
        TypeId::TinyInt => (either(0x30, 0x26), 1),
        TypeId::SmallInt => (either(0x34, 0x26), 2),
        TypeId::Int => (either(0x38, 0x26), 4),
        TypeId::BigInt => (either(0x7F, 0x26), 8),
        TypeId::Real => (either(0x3B, 0x6D), 4),
        TypeId::Float => (either(0x3E, 0x6D), 8),
        TypeId::SmallMoney => (either(0x7A, 0x6E), 4),
        TypeId::Money => (either(0x3C, 0x6E), 8),
        TypeId::SmallDateTime => (either(0x3A, 0x6F), 4),
        TypeId::DateTime => (either(0x3D, 0x6F), 8),
        TypeId::Decimal => (0x6A, 17),
        TypeId::Numeric => (0x6C, 17),
        TypeId::UniqueIdentifier => (0x24, 16),
        TypeId::Date => (0x28, 3),
        TypeId::Time => (0x29, 5),
        TypeId::DateTime2 => (0x2A, 8),
        TypeId::DateTimeOffset => (0x2B, 10),
        TypeId::Char => (0xAF, length),
        TypeId::VarChar => (0xA7, length),
        TypeId::NChar => (0xEF, length),
        TypeId::NVarChar => (0xE7, length),
        TypeId::Binary | TypeId::RowVersion => (0xAD, length.max(8 * i32::from(length == 0))),
        TypeId::VarBinary | TypeId::Udt => (0xA5, length),
        TypeId::Text => (0x23, i32::MAX),
        TypeId::NText => (0x63, i32::MAX - 1),
        TypeId::Image => (0x22, i32::MAX),
        TypeId::SqlVariant => (0x62, 8016),
        TypeId::Xml => (0xF1, 65_535),
    }
}
