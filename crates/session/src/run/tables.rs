//! Table types at work: CREATE and DROP TYPE, and the tables that calls hand over.

use std::sync::Arc;

use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::ObjectKind;
use duramen_planner::memory::{MemoryTable, MemoryTableDef};
use duramen_program::named::Named;
use duramen_program::program::{BodyOf, Op, compile};
use duramen_program::statements::Kind;
use duramen_program::table_types::{RemoteTable, TableArgument, TableType, object_name};
use duramen_query::host::TableColumn;
use duramen_tsql::ParseOptions;
use duramen_tsql::ast::{self, CreateTypeKind};
use duramen_types::SqlType;

use super::Run;
use super::bulk::{Quiet, quoted};
use super::failure::RunResult;
use super::query::changes;
use crate::unsupported;

impl Run<'_> {
    pub(super) fn create_type(&mut self, stmt: &ast::CreateType) -> RunResult<()> {
        let line = stmt.name.line as i32;
        if stmt.name.database().is_some() {
            let create = "CREATE TYPE";
            return Err(SqlError::new(&messages::DATABASE_PREFIX_NOT_ALLOWED, &[&create]).into());
        }
        let elements = match &stmt.kind {
            CreateTypeKind::Table(elements) => elements,
            CreateTypeKind::Alias { base, nullable } => {
                return self.define(Kind::CreateType.definition(), |d| {
                    d.create_alias(&stmt.name, base, nullable.unwrap_or(true))
                });
            }
        };
        // Refused now for what its variables would be refused for later.
        duramen_program::table_variable::definition(&self.program.text, "", elements)?;
        let text = create_text(&self.program.text, stmt)?;
        let schema_name = stmt.name.schema().unwrap_or("dbo").to_owned();
        self.define(Kind::CreateType.definition(), |d| {
            let snapshot = d.db.catalog.snapshot()?;
            let no_schema =
                || SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&schema_name]).at_line(line);
            let schema = snapshot.schema(&schema_name).ok_or_else(no_schema)?;
            let object = object_name(stmt.name.name());
            if snapshot.find(schema.id, &object).is_some() {
                let name = stmt.name.display();
                return Err(SqlError::new(&messages::TYPE_ALREADY_EXISTS, &[&name]));
            }
            d.db.catalog.create_module(
                d.tx,
                schema.id,
                &object,
                ObjectKind::TABLE_TYPE,
                ObjectId(0),
                &text,
                (true, true),
            )?;
            Ok(())
        })
    }

    pub(super) fn drop_types(
        &mut self,
        if_exists: bool,
        names: &[ast::ObjectName],
    ) -> RunResult<()> {
        for name in names {
            if name.database().is_some() {
                let message = &messages::DATABASE_PREFIX_NOT_ALLOWED;
                return Err(SqlError::new(message, &[&"DROP TYPE"])
                    .at_line(name.line as i32)
                    .into());
            }
            let object = ast::ObjectName {
                parts: vec![
                    self.session.database.to_string(),
                    name.schema().unwrap_or("dbo").to_owned(),
                    object_name(name.name()),
                ],
                line: name.line,
            };
            let found = self
                .session
                .module_itself(&object, &[ObjectKind::TABLE_TYPE])?;
            self.define(Kind::DropType.definition(), |d| match &found {
                Some((_, module)) => {
                    let snapshot = d.db.catalog.snapshot()?;
                    if let Some(user) = duramen_program::table_types::user_of(&snapshot, module) {
                        let args: [&dyn std::fmt::Display; 2] = [&name.display(), &user];
                        return Err(SqlError::new(&messages::TYPE_REFERENCED, &args)
                            .at_line(name.line as i32));
                    }
                    d.db.catalog.drop_module(d.tx, module)
                }
                None if d.drop_alias(name)? => Ok(()),
                None if if_exists => Ok(()),
                None => {
                    let args: [&dyn std::fmt::Display; 3] = [&"drop", &"type", &name.display()];
                    Err(SqlError::new(&messages::CANNOT_DROP, &args)
                        .with_state(5)
                        .at_line(name.line as i32))
                }
            })?;
        }
        Ok(())
    }

    /// The table that a parameter of a table type gets: the caller's own, one made of the client's rows, or an empty one.
    pub(super) fn table_of(
        &mut self,
        parameter: (&str, &TableType),
        given: Option<&TableArgument>,
        procedure: &str,
    ) -> RunResult<Arc<MemoryTable>> {
        let (name, wanted) = parameter;
        let clash = |other: &str| {
            let short = wanted.name.rsplit('.').next().unwrap_or(&wanted.name);
            Err(SqlError::new(
                &messages::OPERAND_TYPE_CLASH,
                &[&other, &short],
            ))
        };
        let short = |n: &str| n.rsplit('.').next().unwrap_or(n).to_owned();
        match given {
            None => {}
            Some(TableArgument::Variable(of, table)) => match of {
                Some(of) if *of == wanted.name => return Ok(Arc::new(table.under(name))),
                Some(of) => return Ok(clash(&short(of))?),
                None => return Ok(clash("table")?),
            },
            Some(TableArgument::Rows(rows)) => {
                if let Some(of) = rows.full_name()
                    && of != wanted.name
                {
                    return Ok(clash(&short(&of))?);
                }
            }
        }
        let def = MemoryTableDef {
            name: name.to_owned(),
            ..wanted.def.clone()
        };
        let table = Arc::new(MemoryTable::new(def.clone()));
        if let Some(TableArgument::Rows(rows)) = given
            && !rows.columns.is_empty()
        {
            self.fill_table(&table, def, rows).map_err(|mut e| {
                if !procedure.is_empty() {
                    e.error.procedure = Some(procedure.to_owned());
                }
                e
            })?;
        }
        Ok(table)
    }

    /// Inserts the client's rows as INSERT does: NULLs, keys, lengths and conversions are checked there.
    fn fill_table(
        &mut self,
        table: &Arc<MemoryTable>,
        def: MemoryTableDef,
        rows: &RemoteTable,
    ) -> RunResult<()> {
        if rows.columns.len() != def.columns.len() {
            let args: [&dyn std::fmt::Display; 2] = [&rows.columns.len(), &def.columns.len()];
            return Err(SqlError::new(&messages::TVP_COLUMN_COUNT, &args).into());
        }
        let sent: Vec<(&TableColumn, SqlType)> = def
            .columns
            .iter()
            .zip(&rows.columns)
            .filter_map(|(column, ty)| Some((column, (*ty)?)))
            .collect();
        if sent.is_empty() || rows.rows.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = sent.iter().map(|(c, _)| quoted(&c.name)).collect();
        let names = names.join(", ");
        // What the client sent is a table for this one statement; its name is one that the parameter has not.
        let sent_rows = format!("{}_", def.name);
        let text = format!(
            "INSERT {} ({names}) SELECT {names} FROM {sent_rows}",
            def.name
        );
        let batch = duramen_tsql::parse_batch(&text, &ParseOptions::default())?;
        let mut program = compile(
            &text,
            batch.statements,
            Named::new(),
            BodyOf::Batch,
            unsupported::check,
        )?;
        let staged = sent.iter().map(|(c, ty)| TableColumn {
            name: c.name.clone(),
            ty: *ty,
            nullable: true,
            identity: false,
            default: None,
            generated: Default::default(),
        });
        let staged = MemoryTableDef {
            name: sent_rows,
            columns: staged.collect(),
            keys: Vec::new(),
            checks: Vec::new(),
            computed: Vec::new(),
            identity: None,
        };
        program.tables = vec![def.clone(), staged];
        let state = &self.session.state;
        let before = (state.rowcount, state.identity, state.scope_identity);
        let mut quiet = Quiet(&mut *self.sink);
        let program = Arc::new(program);
        let Some(Op::Run(insert)) = program.steps.first().map(|s| &s.op) else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]).into());
        };
        let mut run = Run::new(&mut *self.session, &program, &mut quiet, self.cancel);
        run.tables[0] = table.clone();
        run.tables[1].replace_rows(rows.rows.clone());
        let result = run.change(0, Kind::Insert, |h| changes(h, insert));
        let state = &mut self.session.state;
        (state.rowcount, state.identity, state.scope_identity) = before;
        result
    }
}

/// The statement out of its batch: what is kept must be a batch by itself.
fn create_text(text: &str, stmt: &ast::CreateType) -> SqlResult<String> {
    let lost = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
    let span = stmt.source.start as usize..stmt.source.end as usize;
    Ok(format!("CREATE TYPE {}", text.get(span).ok_or_else(lost)?))
}
