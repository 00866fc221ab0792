//! Which code runs a statement: an arm each.

use duramen_access::temporary::is_temporary;
use duramen_base::messages;
use duramen_program::statements::Kind;
use duramen_tsql::ast::{self, StatementKind};

use super::failure::RunResult;
use super::query::changes;
use super::{Run, command, not_supported};

impl Run<'_> {
    /// A statement that defines asks anew until what it has found is in no doubt; one that names several things is several.
    pub(super) fn run(
        &mut self,
        at: usize,
        (kind, statement): (Kind, &StatementKind),
    ) -> RunResult<()> {
        match statement {
            StatementKind::Drop {
                kind: what,
                if_exists,
                names,
            } => self.drop_each(names, |run, n| {
                let one = StatementKind::Drop {
                    kind: *what,
                    if_exists: *if_exists,
                    names: vec![n.clone()],
                };
                run.settled(|run| run.run_once(at, kind, &one))
            }),
            StatementKind::DropIndex { if_exists, indexes } => {
                self.drop_each(indexes, |run, index| {
                    let one = StatementKind::DropIndex {
                        if_exists: *if_exists,
                        indexes: vec![index.clone()],
                    };
                    run.settled(|run| run.run_once(at, kind, &one))
                })
            }
            _ if kind.row().defines() => self.settled(|run| run.run_once(at, kind, statement)),
            _ => self.run_once(at, kind, statement),
        }
    }

    /// One after the other: of what is not there (3701) it is reported, and the next is dropped all the same (*assumed* of
    /// what is no table). Any other error is the last.
    fn drop_each<T>(
        &mut self,
        all: &[T],
        mut drop: impl FnMut(&mut Self, &T) -> RunResult<()>,
    ) -> RunResult<()> {
        let mut missing = Vec::new();
        let mut result = Ok(());
        for one in all {
            let before = std::mem::replace(&mut result, drop(self, one));
            missing.extend(before.err().map(|f| f.error));
            if result
                .as_ref()
                .is_err_and(|f| f.error.number != messages::CANNOT_DROP.number)
            {
                break;
            }
        }
        if result.is_ok() {
            result = missing.pop().map_or(Ok(()), |e| Err(e.into()));
        }
        result.map_err(|f| f.after(missing))
    }

    fn run_once(&mut self, at: usize, kind: Kind, statement: &StatementKind) -> RunResult<()> {
        use StatementKind as S;
        if !self.session.who.sysadmin {
            self.settled(|run| run.permitted(kind, statement))?;
        }
        if kind.row().stands_alone() {
            self.outside_transaction(kind.row().name)?;
        }
        match statement {
            S::Select(stmt) => self.select(at, stmt),
            S::Insert(_) | S::Update(_) | S::Delete(_) => {
                self.change(at, kind, |h| changes(h, statement))
            }
            S::InsertBulk(stmt) => self.insert_bulk(stmt),
            S::TruncateTable { table, partitions } => self.truncate_table(table, partitions),
            S::CreateTable(stmt) if is_temporary(&stmt.name) => self.create_temporary(stmt),
            S::CreateTable(stmt) => self.create_table(stmt),
            S::AlterTable(stmt) => self.alter_table(stmt),
            S::CreateIndex(stmt) => self.create_index(stmt),
            S::AlterIndex(stmt) => self.alter_index(stmt),
            S::DropIndex { if_exists, indexes } => self.drop_indexes(*if_exists, indexes),
            S::CreateStatistics(stmt) => self.create_statistics(stmt),
            S::UpdateStatistics {
                table,
                names,
                options,
            } => self.update_statistics(table, names, options),
            S::CreateModule(stmt) => self.create_module(stmt),
            S::CreateType(stmt) => self.create_type(stmt),
            S::CreateSynonym { name, target } => self.create_synonym(name, target),
            S::CreateSchema {
                name,
                authorization,
            } => self.create_schema(name, authorization.as_deref()),
            S::AlterSchema { schema, name, .. } => self.alter_schema(schema, name),
            S::AlterAuthorization { class, name, to } => {
                self.alter_authorization(class.as_deref(), name, to.as_deref())
            }
            S::Partition(stmt) => self.partition(stmt),
            S::Drop {
                kind,
                if_exists,
                names,
            } => self.drop_objects(*kind, *if_exists, names),
            S::Principal(stmt) => self.principal(stmt),
            S::Permission(stmt) => self.permission(stmt),
            S::CreateDatabase(stmt) => self.create_database(at, stmt),
            S::AlterDatabase(stmt) => self.alter_database(at, stmt),
            S::AlterDatabaseScopedConfiguration(stmt) => self.configure(stmt),
            S::DropDatabase { if_exists, names } => self.drop_databases(at, *if_exists, names),
            S::Backup(stmt) => self.backup(at, stmt),
            S::Restore(stmt) => self.restore(at, stmt),
            S::Checkpoint(_) => self.checkpoint(),
            S::Dbcc(stmt) => self.dbcc(at, stmt),
            S::Kill {
                session,
                status_only,
            } => self.kill(session, *status_only),
            S::Reconfigure { with_override } => self.reconfigure(*with_override),
            S::Shutdown { nowait } => self.shut_down(*nowait),
            S::CreateEventSession(_) | S::AlterEventSession(_) | S::DropEventSession { .. } => {
                self.event_session(statement)
            }
            S::BeginTran { name, mark, .. } => self.begin(at, name.as_ref(), mark.as_ref()),
            S::Commit {
                delayed_durability, ..
            } => self.commit(*delayed_durability),
            S::Rollback { name } => self.roll_back(name.as_ref()),
            S::SaveTran { name } => self.save(name),
            S::Use(name) => self.use_database(at, name),
            S::SetOption(option) => self.set_and_report(at, option),
            S::Print(e) => self.print(at, e),
            S::RaiseError(stmt) => self.raise_error(at, stmt),
            S::Throw(args) => self.throw(at, args.as_deref()),
            S::WaitFor { kind, value } => self.wait_for(at, *kind, value),
            // What only says what runs next is no step of its own; what nothing runs was refused when it was compiled.
            _ => Err(not_supported(kind.row().name).into()),
        }
    }

    fn use_database(&mut self, at: usize, name: &str) -> RunResult<()> {
        let line = self.program.steps[at].line as i32;
        self.session.use_database(name, line, self.sink)?;
        self.done(None, command::OTHER, false);
        Ok(())
    }

    fn set_and_report(&mut self, at: usize, option: &ast::SetOption) -> RunResult<()> {
        self.set_option(at, option)?;
        self.session.activity.note_options(&self.session.options);
        self.session.state.options_set += 1;
        self.done(None, command::SET, false);
        Ok(())
    }
}
