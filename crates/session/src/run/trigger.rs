//! AFTER triggers: made with their table, fired when a statement has changed its rows.
//!
//! Invariants:
//! 1. A trigger runs in the transaction of the statement that fires it; one that has none of its own gets one first, so
//!    that ROLLBACK in the trigger has something to roll back. A trigger that ends the transaction ends the batch (3609).
//!    [assert: trigger/1]
//! 2. `inserted` and `deleted` are seen by the trigger's own statements and by nothing that it calls. [assert: trigger/2]
//! 3. XACT_ABORT is on inside: an error there takes the whole transaction back. [assert: trigger/3]
//! 4. No trigger fires itself: RECURSIVE_TRIGGERS is off, and ON is refused. Through others it does, as deep as programs may
//!    be nested (217). [golden: triggers_nested]

use std::sync::Arc;

use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::{ModuleDef, TableDef, TriggerDef, trigger_events};
use duramen_core::settings::option;
use duramen_define::Ddl;
use duramen_planner::dml::Dml;
use duramen_planner::memory::{MemoryTable, MemoryTableDef};
use duramen_program::firing::Firing;
use duramen_program::program::BodyOf;
use duramen_program::programs::Callable;
use duramen_program::statement_stats::Standing;
use duramen_query::host::{Host, Source, TableColumn};
use duramen_query::{Changed, Spooled};
use duramen_tsql::ParseOptions;
use duramen_tsql::ast::{self, ModuleKind, StatementKind};
use duramen_txn::{LockMode, Transaction};

use super::callable::callable;
use super::failure::{Failure, Origin, RunResult};
use super::nested::Inner;
use super::{Ended, Run};
use crate::run::TypesOf;

impl Run<'_> {
    /// Fires triggers for what a statement has done. The transaction is open.
    pub(super) fn fire(
        &mut self,
        triggers: &[i32],
        dml: &Dml,
        changed: Changed,
        rows: u64,
        transaction: &Arc<Transaction>,
    ) -> RunResult<()> {
        let nested = self
            .session
            .instance
            .settings
            .holding(option::NESTED_TRIGGERS)
            != 0;
        if !nested && !self.session.state.triggers.is_empty() {
            return Ok(());
        }
        let table = dml.table();
        let database = table.place().0.to_owned();
        let columns = table.columns();
        let assigned = dml.assigned_columns();
        let assigned = assigned.iter().map(|c| columns[*c].name.clone());
        let assigned: Vec<String> = assigned.collect();
        let (inserted, deleted) = changed.finish()?;
        let inserted = pseudo("inserted", columns, inserted);
        let deleted = pseudo("deleted", columns, deleted);
        for id in triggers {
            // What the innermost trigger does, itself or in a procedure that it calls (*assumed*), fires others only.
            let innermost = self.session.state.triggers.last();
            if innermost.is_some_and(|f| f.trigger.0 == *id) {
                continue;
            }
            let Some((key, module, mut callable)) = self.trigger(&database, ObjectId(*id))? else {
                continue;
            };
            let firing = self.session.state.triggers.len();
            let level = self.session.state.nesting + 1;
            self.session.state.triggers.push(Firing {
                trigger: module.id,
                level,
                inserted: inserted.clone(),
                deleted: deleted.clone(),
                assigned: assigned.clone(),
                columns: columns.iter().map(|c| c.name.clone()).collect(),
            });
            self.session.state.rowcount = rows;
            debug_assert!(
                self.session.transaction.is_some(),
                "trigger/1: a trigger runs without a transaction to roll back"
            );
            let xact_abort = std::mem::replace(&mut self.session.options.xact_abort, true);
            debug_assert!(
                self.session.options.xact_abort,
                "trigger/3: an error in a trigger takes the transaction back"
            );
            let place = (Some(module.name.clone()), Some(database.clone()));
            let inputs = (Vec::new(), Vec::new());
            // What it binds names the rows of this one firing.
            let mut bound = callable.bound.clone();
            bound.forget();
            let checked = bound.checked;
            let inner = self.inside(&callable.program, bound, inputs, place);
            self.session.options.xact_abort = xact_abort;
            self.session.state.triggers.pop();
            debug_assert!(
                self.session.state.triggers.len() == firing,
                "trigger/2: the rows of another firing are left"
            );
            let Inner { ended, bound, .. } = inner?;
            let gone = callable.program.stats.standing() == Standing::Gone;
            if bound.checked != checked || gone {
                callable.bound.checked = bound.checked;
                self.session.share_program(&key, &callable);
            }
            match ended {
                Ended::Done(_) => {}
                Ended::Stopped => {
                    let ended = SqlError::new(&messages::TRANSACTION_ENDED_IN_TRIGGER, &[]);
                    return Err(Failure::of(ended, Origin::Trigger));
                }
                Ended::Thrown(e) => {
                    return Err(Failure::of(e, Origin::Inside));
                }
            }
            let now = self.session.transaction.as_ref();
            if now.is_none_or(|t| !Arc::ptr_eq(t, transaction)) {
                return Err(SqlError::new(&messages::TRANSACTION_ENDED_IN_TRIGGER, &[]).into());
            }
            // A CATCH of its own has heard the error, but what it was about cannot be committed.
            if transaction.is_doomed() {
                return Err(SqlError::new(&messages::ERROR_IN_TRIGGER, &[]).into());
            }
        }
        Ok(())
    }

    /// A trigger, compiled.
    fn trigger(
        &mut self,
        database: &str,
        id: ObjectId,
    ) -> RunResult<Option<(String, Arc<ModuleDef>, Callable)>> {
        let Some(db) = self.session.instance.databases.find(database) else {
            return Ok(None);
        };
        let Some(module) = db.catalog.snapshot()?.module(id).cloned() else {
            return Ok(None);
        };
        let key = self.session.module_key(db.db.id, &module);
        let version = self.session.schema_version(true);
        if let Some(known) = self.session.shared_program(&key, version) {
            return Ok(Some((key, module, known)));
        }
        let options = ParseOptions {
            quoted_identifier: module.quoted_identifier,
        };
        let batch = duramen_tsql::parse_batch(&module.text, &options)?;
        let first = batch.statements.into_iter().next().map(|s| s.kind);
        let Some(StatementKind::CreateModule(stmt)) = first else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]).into());
        };
        let mut compiled = self.compiled_trigger(&module.text, &stmt, database)?;
        compiled.program.stats.belongs_to(db.db.id, &module);
        compiled.schema = compiled.program.is_typed().then_some(version);
        let adopted = self.session.adopt_program(&key, compiled);
        Ok(Some((key, module, adopted)))
    }

    fn compiled_trigger(
        &self,
        text: &str,
        stmt: &ast::CreateModule,
        database: &str,
    ) -> RunResult<Callable> {
        let ModuleKind::Trigger { body, .. } = &stmt.kind else {
            return Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]).into());
        };
        let types = TypesOf {
            session: &*self.session,
            database,
        };
        Ok(callable(text, &[], body.clone(), BodyOf::Trigger, &types)?)
    }

    /// What a trigger's definition is refused for before it is stored.
    /// The procedures that it calls and that are not there.
    pub(super) fn check_trigger(&mut self, stmt: &ast::CreateModule) -> RunResult<Vec<String>> {
        let ModuleKind::Trigger { table, .. } = &stmt.kind else {
            return Ok(Vec::new());
        };
        let database = self.session.database.to_string();
        let compiled = self.compiled_trigger(&self.program.text, stmt, &database)?;
        // Whoever may make the trigger need not be able to read the table.
        let Some(Source::Table(table)) = self.ask_host(|h| h.target(table))? else {
            return Ok(Vec::new());
        };
        let columns = table.columns();
        let names = || columns.iter().map(|c| c.name.clone()).collect();
        // As if it were running now: its statements see the two tables.
        let level = self.session.state.nesting;
        self.session.state.triggers.push(Firing {
            trigger: ObjectId(0),
            level,
            inserted: pseudo("inserted", columns, Spooled::default()),
            deleted: pseudo("deleted", columns, Spooled::default()),
            assigned: Vec::new(),
            columns: names(),
        });
        let bound = self.bind_body(stmt, &compiled.program, None);
        self.session.state.triggers.pop();
        bound
    }
}

/// One of the two pseudo-tables.
fn pseudo(name: &str, columns: &[TableColumn], rows: Spooled) -> Arc<MemoryTable> {
    let columns = columns.iter().map(|c| TableColumn {
        identity: false,
        default: None,
        generated: Default::default(),
        ..c.clone()
    });
    let def = MemoryTableDef {
        name: name.to_owned(),
        columns: columns.collect(),
        keys: Vec::new(),
        checks: Vec::new(),
        computed: Vec::new(),
        identity: None,
    };
    Arc::new(MemoryTable::of_rows(def, rows))
}

/// The table of a trigger: 8197 when there is none of that name. Its lock is taken: plans that change it must fire from
/// now on.
pub(super) fn table_of_trigger(
    ddl: &Ddl<'_>,
    stmt: &ast::CreateModule,
) -> SqlResult<Option<Arc<TableDef>>> {
    let ModuleKind::Trigger { table, .. } = &stmt.kind else {
        return Ok(None);
    };
    let snapshot = ddl.db.catalog.snapshot()?;
    let schema = snapshot.schema(table.schema().unwrap_or("dbo"));
    let found = schema
        .and_then(|s| snapshot.find_table(s.id, table.name()))
        .cloned();
    let user = found.filter(|t| t.kind == duramen_catalog::ObjectKind::TABLE);
    let missing = || {
        SqlError::new(&messages::INVALID_OBJECT_FOR_OPERATION, &[&table.display()])
            .with_state(4)
            .at_line(table.line as i32)
    };
    let user = user.ok_or_else(missing)?;
    ddl.lock(&user, LockMode::SchM)?;
    Ok(Some(user))
}

/// Notes with its table what a trigger that was stored is fired by.
pub(super) fn attach(
    ddl: &Ddl<'_>,
    table: &TableDef,
    module: &ModuleDef,
    stmt: &ast::CreateModule,
) -> SqlResult<()> {
    let ModuleKind::Trigger { events, .. } = &stmt.kind else {
        return Ok(());
    };
    let bits = events.iter().map(|e| match e.as_str() {
        "INSERT" => trigger_events::INSERT,
        "UPDATE" => trigger_events::UPDATE,
        _ => trigger_events::DELETE,
    });
    let known = table.triggers.iter().find(|t| t.id == module.id);
    let trigger = TriggerDef {
        id: module.id,
        name: module.name.clone(),
        events: bits.fold(0, |all, b| all | b),
        disabled: known.is_some_and(|t| t.disabled),
    };
    ddl.db.catalog.set_trigger(ddl.tx, table, trigger)?;
    Ok(())
}
