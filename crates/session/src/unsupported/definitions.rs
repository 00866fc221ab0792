//! What definitions of tables, indexes, statistics and databases say that is not supported.
//!
//! What carries a definition out reads its options by the same functions. Of what these find only 40517 counts before anything
//! runs; everything else is told when it is the statement's turn.

use duramen_admin::database_ddl;
use duramen_base::{SqlResult, messages};
use duramen_define::{alter, indexes, statistics};
use duramen_planner::bind::refused_type;
use duramen_program::refused::elements;
use duramen_tsql::ast::{
    self, AlterDatabaseAction, AlterIndexAction, AlterTableAction, ConstraintKind, CreateTypeKind,
    NamedOption, TableElement,
};

use super::refuse;

/// Of what reading options says, that one is not supported.
fn only_refusals<T>(read: SqlResult<T>) -> SqlResult<()> {
    match read {
        Err(e) if e.number == messages::NOT_SUPPORTED.number => Err(e),
        _ => Ok(()),
    }
}

fn refuse_at<T>(line: u32, what: &str) -> SqlResult<T> {
    refuse(what).map_err(|e| e.at_line(line as i32))
}

pub fn table(stmt: &ast::CreateTable) -> SqlResult<()> {
    if !stmt.options.is_empty() {
        return refuse_at(stmt.name.line, "WITH options of CREATE TABLE");
    }
    stmt.elements.iter().try_for_each(element)?;
    elements::check(stmt.name.name(), &stmt.elements)?;
    elements::without_variables("CREATE TABLE", &stmt.elements)
}

pub fn create_type(stmt: &ast::CreateType) -> SqlResult<()> {
    match &stmt.kind {
        CreateTypeKind::Table(columns) => elements::check(stmt.name.name(), columns),
        CreateTypeKind::Alias { .. } => Ok(()),
    }
}

fn element(e: &TableElement) -> SqlResult<()> {
    match e {
        TableElement::Column(c) => column(c),
        TableElement::Constraint(c) => constraint(c),
        TableElement::Index(i) => index(i),
    }
}

fn column(c: &ast::ColumnDef) -> SqlResult<()> {
    if c.sparse {
        return refuse_at(c.line, "SPARSE");
    }
    if let Some(ty) = &c.ty {
        refused_type(ty)?;
    }
    if c.computed.is_some() && (c.default.is_some() || c.identity.is_some()) {
        return refuse_at(c.line, "DEFAULT and IDENTITY of computed columns");
    }
    c.constraints.iter().try_for_each(constraint)
}

fn constraint(c: &ast::TableConstraint) -> SqlResult<()> {
    match &c.kind {
        ConstraintKind::Key { options, .. } => only_refusals(indexes::key_options(options, c.line)),
        _ => Ok(()),
    }
}

pub fn index(stmt: &ast::CreateIndex) -> SqlResult<()> {
    match stmt.columnstore || stmt.filter.is_some() {
        true => refuse_at(stmt.line, "COLUMNSTORE and filtered indexes"),
        false => only_refusals(indexes::options_of(&stmt.options, stmt.unique)),
    }
}

pub fn alter_table(stmt: &ast::AlterTable) -> SqlResult<()> {
    match &stmt.action {
        action @ (AlterTableAction::Rebuild { .. } | AlterTableAction::Set { .. }) => {
            refuse_at(stmt.table.line, alter::action_name(action))
        }
        AlterTableAction::Add {
            elements: added, ..
        } => {
            added.iter().try_for_each(|e| match e {
                TableElement::Index(i) => refuse_at(i.line, "ALTER TABLE ADD INDEX"),
                e => element(e),
            })?;
            elements::check(stmt.table.name(), added)?;
            elements::without_variables("ALTER TABLE", added)
        }
        AlterTableAction::AlterColumn { ty, .. } => refused_type(ty),
        _ => Ok(()),
    }
}

pub fn alter_index(stmt: &ast::AlterIndex) -> SqlResult<()> {
    let of_part = stmt.partition.is_some();
    match stmt.action {
        // Others are not among what a partition knows (155).
        AlterIndexAction::Reorganize if of_part => Ok(()),
        AlterIndexAction::Reorganize => indexes::reorganize_options(&stmt.options),
        AlterIndexAction::Rebuild => only_refusals(indexes::rebuild_options(stmt)),
        AlterIndexAction::Disable | AlterIndexAction::Set if of_part => {
            refuse_at(stmt.table.line, "PARTITION = n")
        }
        AlterIndexAction::Disable | AlterIndexAction::Set => {
            only_refusals(indexes::rebuild_options(stmt))
        }
    }
}

pub fn create_statistics(stmt: &ast::CreateStatistics) -> SqlResult<()> {
    match stmt.filter.is_some() {
        true => refuse("CREATE STATISTICS with a WHERE clause"),
        false => only_refusals(statistics::creation_options(&stmt.options)),
    }
}

pub fn update_statistics(options: &[NamedOption]) -> SqlResult<()> {
    only_refusals(statistics::update_options(options))
}

pub fn create_database(stmt: &ast::CreateDatabase) -> SqlResult<()> {
    database_ddl::create::refused(stmt)
}

pub fn alter_database(action: &AlterDatabaseAction) -> SqlResult<()> {
    match action {
        AlterDatabaseAction::Set { options, .. } => {
            only_refusals(database_ddl::options::refused(options))
        }
        _ => Ok(()),
    }
}
