//! What a statement needs, for sessions that are not `sysadmin`: asked before it runs, of what the statement names. Which
//! right that is, the statement's row says (`statements`). What statements read is asked where names are resolved
//! (`host`), and calls where procedures are found (`exec`).
//!
//! Numbers and texts: the pages of the single statements on Microsoft Learn, sections "Permissions".

use std::fmt::Display;

use duramen_access::open_db::OpenDb;
use duramen_access::temporary::is_temporary;
use duramen_base::planted::{self, Bug};
use duramen_base::{SqlError, messages};
use duramen_catalog::SCHEMA_SYS;
use duramen_core::security::On;
use duramen_program::rights::{Needs, Right};
use duramen_program::statements::Kind;
use duramen_tsql::ast::{self, DropKind, ModuleKind, ModuleMode, StatementKind};

use super::failure::RunResult;
use super::{Run, not_supported};

type Refusal<'a> = &'a dyn Fn() -> SqlError;

impl Run<'_> {
    /// The statement may run, or the error that refuses it.
    pub(super) fn permitted(&mut self, kind: Kind, statement: &StatementKind) -> RunResult<()> {
        self.session.state.write_to_ask = None;
        let row = kind.row();
        let right = match row.needs {
            // Nothing runs it.
            Needs::NotHere => return Err(not_supported(row.name).into()),
            Needs::AnyOf(all) => all[0].right,
            // One's own, or asked where more is known.
            Needs::Public(_) | Needs::Members(_) => return Ok(()),
            // ALTER AUTHORIZATION says itself what is not there.
            Needs::Sysadmin => return Ok(()),
        };
        match statement {
            StatementKind::Insert(_)
            | StatementKind::InsertBulk(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_) => self.may_change(statement, right),
            StatementKind::Select(_)
            | StatementKind::CreateTable(_)
            | StatementKind::CreateType(_)
            | StatementKind::CreateSynonym { .. }
            | StatementKind::CreateSchema { .. }
            | StatementKind::Partition(_) => {
                self.may_create(right, row.name, created(statement))?;
                self.may_refer(statement)
            }
            StatementKind::AlterSchema { schema, name, .. } => {
                self.may(name, right, &|| {
                    super::principals::cannot("find", "object", name.name())
                })?;
                let refused = || super::principals::cannot("find", "schema", schema);
                self.may_in_schema(schema, Right::Alter, &refused)
            }
            StatementKind::CreateModule(s) => self.may_define(s, right, row.name),
            StatementKind::AlterTable(s) => {
                self.may_alter(&s.table)?;
                self.may_refer(statement)
            }
            StatementKind::AlterIndex(s) => self.may_alter(&s.table),
            StatementKind::TruncateTable { table, .. } => self.may_alter(table),
            StatementKind::CreateIndex(s) => match &s.table {
                Some(t) => self.may_alter(t),
                None => Ok(()),
            },
            StatementKind::CreateStatistics(s) => self.may_alter(&s.table),
            StatementKind::UpdateStatistics { .. } if planted::on(Bug::RightNotAsked) => Ok(()),
            StatementKind::UpdateStatistics { table, .. } => self.may_alter(table),
            StatementKind::DropIndex { indexes, .. } => {
                indexes.iter().try_for_each(|(index, t)| {
                    let refused = || dropped("index", &format!("{}.{index}", t.display()));
                    self.may(t, right, &refused)
                })
            }
            StatementKind::Drop { kind, names, .. } => names
                .iter()
                .try_for_each(|n| self.may_drop(*kind, right, n)),
            StatementKind::CreateDatabase(_)
            | StatementKind::AlterDatabase(_)
            | StatementKind::DropDatabase { .. } => self.may_administer(statement, right),
            StatementKind::AlterDatabaseScopedConfiguration(_) => self.in_current(right, &|_| {
                SqlError::new(&messages::USER_PERMISSION_DENIED, &[])
            }),
            StatementKind::Checkpoint(_) => self.in_current(right, &|name| {
                SqlError::new(&messages::CHECKPOINT_PERMISSION, &[&name])
            }),
            StatementKind::Kill { .. } => {
                self.of_server(right, &|| SqlError::new(&messages::KILL_PERMISSION, &[]))
            }
            StatementKind::Shutdown { .. } => self.of_server(right, &|| {
                SqlError::new(&messages::SHUTDOWN_PERMISSION, &[])
            }),
            StatementKind::Reconfigure { .. } => self.of_server(right, &|| {
                SqlError::new(&messages::RECONFIGURE_PERMISSION, &[])
            }),
            StatementKind::CreateEventSession(_)
            | StatementKind::AlterEventSession(_)
            | StatementKind::DropEventSession { .. } => self.of_server(right, &|| {
                SqlError::new(&messages::USER_PERMISSION_DENIED, &[])
            }),
            // These ask where they know more: on whom, or where their rows go.
            StatementKind::Principal(_)
            | StatementKind::Permission(_)
            | StatementKind::Backup(_)
            | StatementKind::Restore(_)
            | StatementKind::Exec(_)
            | StatementKind::Use(_) => Ok(()),
            // A row that names a right and has nobody here who asks for it lets nobody through.
            _ => Err(SqlError::new(&messages::USER_PERMISSION_DENIED, &[]).into()),
        }
    }

    /// INSERT, UPDATE and DELETE: the right to change the target, SELECT where its columns are read, INSERT where OUTPUT
    /// goes to.
    fn may_change(&mut self, kind: &StatementKind, right: Right) -> RunResult<()> {
        let (target, from, ctes, output, reads) = match kind {
            StatementKind::Insert(s) => {
                let output = s.output.as_ref();
                (&s.target, &[][..], &s.ctes, output, output.is_some())
            }
            StatementKind::Update(s) => {
                let output = s.output.as_ref();
                let reads = output.is_some()
                    || s.where_.is_some()
                    || !s.from.is_empty()
                    || s.set.iter().any(set_reads);
                (&s.target, &s.from[..], &s.ctes, output, reads)
            }
            StatementKind::Delete(s) => {
                let output = s.output.as_ref();
                let reads = output.is_some() || s.where_.is_some() || !s.from.is_empty();
                (&s.target, &s.from[..], &s.ctes, output, reads)
            }
            StatementKind::InsertBulk(s) => return Ok(self.session.require_on(&s.table, right)?),
            _ => return Ok(()),
        };
        if let Some((ast::TargetKind::Table(into), _)) = output.and_then(|o| o.into.as_ref()) {
            self.session.require_on(into, Right::Insert)?;
        }
        self.may_write(target, from, ctes, right, reads)
    }

    /// REFERENCES on the tables that foreign keys refer to: a key tells which values are there, and keeps them there.
    fn may_refer(&self, kind: &StatementKind) -> RunResult<()> {
        let (elements, own) = match kind {
            StatementKind::CreateTable(s) => (&s.elements, &s.name),
            StatementKind::AlterTable(s) => match &s.action {
                ast::AlterTableAction::Add { elements, .. } => (elements, &s.table),
                ast::AlterTableAction::Switch { target, .. } => return self.may_alter(target),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let constraints = elements.iter().flat_map(|e| match e {
            ast::TableElement::Column(c) => c.constraints.iter().collect(),
            ast::TableElement::Constraint(c) => vec![c],
            ast::TableElement::Index(_) => Vec::new(),
        });
        for c in constraints {
            if let ast::ConstraintKind::ForeignKey { table, .. } = &c.kind
                && table.parts != own.parts
            {
                self.session
                    .require_through(table, Right::References, None)?;
            }
        }
        Ok(())
    }

    /// 15151 for the owner of a new schema that is neither the session's user nor a role of its, unless it owns the database:
    /// IMPERSONATE can be given to nobody.
    pub(super) fn may_make_owner(&self, owner: Option<&str>) -> RunResult<()> {
        let Some(owner) = owner.filter(|_| !self.session.who.sysadmin) else {
            return Ok(());
        };
        let Some(db) = self.session.instance.databases.find(&self.session.database) else {
            return Ok(());
        };
        let snapshot = db.catalog.snapshot()?;
        let user = snapshot.security.user(owner).map(|u| u.id);
        let own = self.session.roles_in(&db)?;
        match self.session.owns(&db)? || user.is_some_and(|u| u != 0 && own.contains(&u)) {
            true => Ok(()),
            false => Err(super::principals::cannot("find", "user", owner).into()),
        }
    }

    /// CREATE, ALTER and DROP DATABASE.
    fn may_administer(&self, kind: &StatementKind, right: Right) -> RunResult<()> {
        match kind {
            StatementKind::AlterDatabase(s) => {
                let name = s
                    .name
                    .clone()
                    .unwrap_or_else(|| self.session.database.to_string());
                let may = self.owns(&name)? || self.session.server_may(Right::AlterAnyDatabase);
                match may {
                    true => Ok(()),
                    false => {
                        Err(SqlError::new(&messages::ALTER_DATABASE_NO_ACCESS, &[&name]).into())
                    }
                }
            }
            StatementKind::DropDatabase { names, .. } => {
                for n in names {
                    if !self.owns(n)? && !self.session.server_may(Right::AlterAnyDatabase) {
                        return Err(dropped("database", n).into());
                    }
                }
                Ok(())
            }
            _ => self.of_server(right, &|| in_database("CREATE DATABASE", "master")),
        }
    }

    /// A right of the server, or the refusal.
    fn of_server(&self, right: Right, refused: Refusal<'_>) -> RunResult<()> {
        match self.session.server_may(right) {
            true => Ok(()),
            false => Err(refused().into()),
        }
    }

    /// A right of the current database, or the refusal, which gets its name.
    fn in_current(&self, right: Right, refused: &dyn Fn(&str) -> SqlError) -> RunResult<()> {
        let name = self.session.database.to_string();
        let Some(db) = self.session.instance.databases.find(&name) else {
            return Ok(());
        };
        match self.session.may(&db, right, On::Database)? {
            true => Ok(()),
            false => Err(refused(&name).into()),
        }
    }

    fn owns(&self, database: &str) -> RunResult<bool> {
        match self.session.instance.databases.find(database) {
            Some(db) => Ok(self.session.owns(&db)?),
            None => Ok(false),
        }
    }

    /// What a statement changes. A name that is no object's may be a common table expression: what it stands for is
    /// known when the statement is bound, and asked then.
    fn may_write(
        &mut self,
        target: &ast::Target,
        from: &[ast::TableSource],
        ctes: &[ast::Cte],
        asked: Right,
        reads: bool,
    ) -> RunResult<()> {
        let Some(name) = named(target) else {
            return Ok(());
        };
        let alias = match name.parts.len() {
            1 => aliased(from, name.name()),
            _ => None,
        };
        let name = alias.unwrap_or(name);
        let cte = ctes
            .iter()
            .any(|c| c.name.eq_ignore_ascii_case(name.name()));
        if cte || self.object(name)?.is_none() {
            self.session.state.write_to_ask = Some(asked);
            return Ok(());
        }
        self.session.require_on(name, asked)?;
        match reads {
            true => Ok(self.session.require_on(name, Right::Select)?),
            false => Ok(()),
        }
    }

    /// 262 unless objects of that kind may be made, 2760 unless it may be in that schema.
    fn may_create(
        &self,
        right: Right,
        what: &str,
        name: Option<&ast::ObjectName>,
    ) -> RunResult<()> {
        if name.is_some_and(is_temporary) {
            return Ok(());
        }
        let what = if what == "SELECT INTO" {
            "CREATE TABLE"
        } else {
            what
        };
        let database = name
            .and_then(|n| n.database())
            .unwrap_or(&self.session.database);
        let Some(db) = self.session.instance.databases.find(database) else {
            return Ok(());
        };
        self.session.may_enter(&db)?;
        if !self.session.may(&db, right, On::Database)? {
            return Err(in_database(what, &db.db.name).into());
        }
        let Some(name) = name else { return Ok(()) };
        let shown = name.schema().unwrap_or("dbo");
        let snapshot = db.catalog.snapshot()?;
        let Some(schema) = snapshot.schema(shown) else {
            return Ok(());
        };
        match self.session.may(&db, Right::Alter, On::Schema(schema.id))? {
            true => Ok(()),
            false => Err(SqlError::new(&messages::SCHEMA_NOT_FOUND, &[&shown]).into()),
        }
    }

    fn may_define(&self, s: &ast::CreateModule, right: Right, what: &str) -> RunResult<()> {
        let kind = match &s.kind {
            ModuleKind::View { .. } => "view",
            ModuleKind::Procedure { .. } => "procedure",
            ModuleKind::Trigger { .. } => "trigger",
            ModuleKind::ScalarFunction { .. }
            | ModuleKind::InlineFunction { .. }
            | ModuleKind::TableFunction { .. } => "function",
        };
        let refused = || super::principals::cannot("alter", kind, s.name.name());
        if let ModuleKind::Trigger { table, .. } = &s.kind {
            return self.may(table, Right::Alter, &refused);
        }
        let made = s.mode == ModuleMode::Create || self.object(&s.name)?.is_none();
        match made && right != Right::Alter {
            true => self.may_create(right, what, Some(&s.name)),
            false => self.may(&s.name, Right::Alter, &refused),
        }
    }

    pub(super) fn may_alter(&self, name: &ast::ObjectName) -> RunResult<()> {
        self.may(name, Right::Alter, &|| {
            SqlError::new(&messages::OBJECT_NOT_FOUND, &[&name.display()])
        })
    }

    fn may_drop(&self, kind: DropKind, right: Right, name: &ast::ObjectName) -> RunResult<()> {
        let what = match kind {
            // These say what they refuse of whom.
            DropKind::Login | DropKind::User | DropKind::Role => return Ok(()),
            DropKind::Statistics => {
                let mut table = name.clone();
                table.parts.pop();
                return self.may(&table, right, &|| dropped("statistics", &name.display()));
            }
            DropKind::Schema => {
                let name = name.name();
                let refused = || super::principals::cannot("drop", "schema", name);
                let any = self.in_current(Right::AlterAnySchema, &|_| refused());
                if any.is_ok() {
                    return any;
                }
                return self.may_in_schema(name, right, &refused);
            }
            DropKind::Type => {
                let schema = name.schema().unwrap_or("dbo");
                return self.may_in_schema(schema, right, &|| dropped("type", &name.display()));
            }
            DropKind::Table => "table",
            DropKind::View => "view",
            DropKind::Procedure => "procedure",
            DropKind::Function => "function",
            DropKind::Trigger => "trigger",
            DropKind::Sequence => "sequence object",
            DropKind::Synonym => "synonym",
            DropKind::Default => "default",
            DropKind::Rule => "rule",
        };
        self.may(name, right, &|| dropped(what, &name.display()))
    }

    /// A right on a schema of the current database; where there is none, on the database.
    fn may_in_schema(&self, schema: &str, right: Right, refused: Refusal<'_>) -> RunResult<()> {
        let Some(db) = self.session.instance.databases.find(&self.session.database) else {
            return Ok(());
        };
        let snapshot = db.catalog.snapshot()?;
        let found = snapshot.schema(schema).map(|s| On::Schema(s.id));
        let on = found.unwrap_or(On::Database);
        match self.session.may(&db, right, on)? {
            true => Ok(()),
            false => Err(refused().into()),
        }
    }

    /// A right on an object; where there is none, on its database: nobody learns which of the two is missing.
    fn may(&self, name: &ast::ObjectName, right: Right, refused: Refusal<'_>) -> RunResult<()> {
        if is_temporary(name) {
            return Ok(());
        }
        let database = name.database().unwrap_or(&self.session.database);
        let Some(db) = self.session.instance.databases.find(database) else {
            return Ok(());
        };
        self.session.may_enter(&db)?;
        let on = self.object_in(&db, name)?.unwrap_or(On::Database);
        match self.session.may(&db, right, on)? {
            true => Ok(()),
            false => Err(refused().into()),
        }
    }

    fn object(&self, name: &ast::ObjectName) -> RunResult<Option<On>> {
        let database = name.database().unwrap_or(&self.session.database);
        match self.session.instance.databases.find(database) {
            Some(db) => self.object_in(&db, name),
            None => Ok(None),
        }
    }

    fn object_in(&self, db: &OpenDb, name: &ast::ObjectName) -> RunResult<Option<On>> {
        let snapshot = db.catalog.snapshot()?;
        let schema = snapshot.schema(name.schema().unwrap_or("dbo"));
        let found = schema.and_then(|s| snapshot.find(s.id, name.name()));
        Ok(found
            .filter(|o| o.schema != SCHEMA_SYS)
            .map(|o| On::Object {
                id: o.id.0,
                schema: o.schema,
            }))
    }
}

/// What a statement makes, as far as it has a schema.
fn created(kind: &StatementKind) -> Option<&ast::ObjectName> {
    match kind {
        StatementKind::Select(s) => duramen_program::statements::into_table(s),
        StatementKind::CreateTable(s) => Some(&s.name),
        StatementKind::CreateType(s) => Some(&s.name),
        StatementKind::CreateSynonym { name, .. } => Some(name),
        _ => None,
    }
}

/// The name of a target that is a table or view.
fn named(target: &ast::Target) -> Option<&ast::ObjectName> {
    match &target.kind {
        ast::TargetKind::Table(name) => Some(name),
        ast::TargetKind::Variable(_) => None,
    }
}

/// Whether what a column gets may depend on what is in the row.
fn set_reads(set: &ast::SetClause) -> bool {
    match set {
        ast::SetClause::Column {
            variable,
            op,
            value,
            ..
        } => variable.is_some() || op.is_some() || !is_apart(value),
        ast::SetClause::Variable { .. } | ast::SetClause::Write { .. } => true,
    }
}

/// Whether an expression is surely none of a row's.
fn is_apart(e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Literal(_) | ast::ExprKind::Variable(_) | ast::ExprKind::Default => true,
        ast::ExprKind::Unary { expr, .. } => is_apart(expr),
        ast::ExprKind::Binary { left, right, .. } => is_apart(left) && is_apart(right),
        ast::ExprKind::Function(call) => call.args.iter().all(is_apart),
        ast::ExprKind::Cast(cast) => is_apart(&cast.expr),
        _ => false,
    }
}

/// The table that an alias of FROM stands for.
fn aliased<'a>(from: &'a [ast::TableSource], alias: &str) -> Option<&'a ast::ObjectName> {
    from.iter().find_map(|source| match source {
        ast::TableSource::Table(t) => {
            let own = t.alias.as_deref().unwrap_or(t.name.name());
            own.eq_ignore_ascii_case(alias).then_some(&t.name)
        }
        ast::TableSource::Join(j) => aliased(std::slice::from_ref(&j.left), alias)
            .or_else(|| aliased(std::slice::from_ref(&j.right), alias)),
        _ => None,
    })
}

fn in_database(what: &str, database: &str) -> SqlError {
    let args: [&dyn Display; 2] = [&what, &database];
    SqlError::new(&messages::DATABASE_PERMISSION_DENIED, &args)
}

fn dropped(what: &str, name: &str) -> SqlError {
    let args: [&dyn Display; 3] = [&"drop", &what, &name];
    SqlError::new(&messages::CANNOT_DROP, &args)
}
