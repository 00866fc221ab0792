//! What every step needs around it: its transaction, and what it has bound.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_base::planted::{self, Bug};
use duramen_observe::events::RecompileCause;
use duramen_os::heap;
use duramen_os::memory::Clerk;
use duramen_os::memory::meter::metered;
use duramen_planner::Binder;
use duramen_program::bound::Bound;
use duramen_program::live_plan::LivePlan;
use duramen_program::planned;
use duramen_program::sink::ResultSink;
use duramen_query::host::Nowhere;
use duramen_query::{Cx, Expr};
use duramen_tsql::ast;
use duramen_txn::lock::LockMark;
use duramen_txn::{Transaction, TxnKind};
use duramen_types::Value;

use super::Run;
use super::checked::EarlyBound;
use super::failure::{RunResult, binding};
use crate::host::HostView;

impl Run<'_> {
    /// SET IMPLICIT_TRANSACTIONS ON: a statement that reads or changes tables opens a transaction if none is open.
    pub(super) fn begin_implicitly(&mut self) -> RunResult<()> {
        if self.session.options.implicit_transactions && self.session.transaction.is_none() {
            self.session
                .begin_transaction("implicit_transaction", self.sink)?;
            let begun = self.session.transaction.as_ref();
            self.session.state.implicit = begun.map(|t| t.id);
        }
        Ok(())
    }

    /// The open transaction, or one for this statement alone.
    pub(super) fn statement_transaction(&self, name: &'static str) -> Arc<Transaction> {
        self.begin_statement(name).0
    }

    /// The transaction of a statement, and the point to which its undoing gives locks back.
    pub(super) fn begin_statement(&self, name: &'static str) -> (Arc<Transaction>, LockMark) {
        let locks = self.session.owner.statement_start();
        let transaction = match &self.session.transaction {
            Some(t) => t.clone(),
            None => self.session.new_transaction(TxnKind::Autocommit, name),
        };
        debug_assert!(
            transaction.kind != TxnKind::System,
            "a statement runs in a transaction of the system"
        );
        (transaction, locks)
    }

    pub(super) fn end_statement(
        &mut self,
        transaction: &Arc<Transaction>,
        succeeded: bool,
    ) -> RunResult<()> {
        if transaction.kind != TxnKind::Autocommit {
            for (resource, mode) in transaction.end_statement(0) {
                let locks = &self.session.instance.locks;
                locks.unlock(&self.session.owner, &resource, mode);
            }
            return Ok(());
        }
        if succeeded {
            Ok(self.session.finish(transaction, None)?)
        } else {
            Ok(self.session.instance.rollback(transaction, None)?)
        }
    }

    /// The schema version that what this program binds depends on.
    pub(super) fn version(&self) -> u64 {
        let temporary = self.program.temporary || &*self.session.database == "tempdb";
        self.session.schema_version(temporary)
    }

    pub(super) fn cached(&self, at: usize) -> Option<Bound> {
        self.checked(at).cloned()
    }

    /// What a step has bound, if it still holds.
    pub(super) fn checked(&self, at: usize) -> Option<&Bound> {
        let version = self.version();
        let (bound_at, bound) = self.bound[at].as_ref()?;
        if *bound_at != version && !planted::on(Bug::PlanOutlivesTable) {
            self.report_recompile(at, RecompileCause::SCHEMA);
            return None;
        }
        if let Bound::Plan(_, sizes) | Bound::Dml(_, sizes) = bound
            && sizes.have_changed()
        {
            self.report_recompile(at, RecompileCause::STATISTICS);
            return None;
        }
        if duramen_observe::events::plans_are_wanted() {
            self.note_plan(at, bound_at, bound);
        }
        Some(bound)
    }

    /// What events are to say of a statement's plan is found out once for each.
    #[cold]
    fn note_plan(&self, at: usize, version: &u64, bound: &Bound) {
        let program = self.program;
        let Some(stats) = program.stats.step(program.steps.len(), at) else {
            return;
        };
        if matches!(bound, Bound::Plan(..) | Bound::Dml(..))
            && stats.plan().is_none_or(|known| known.version != *version)
        {
            let (allowed, names) = (self.session.parallelism(), program.variable_names());
            if let Ok(planned) = planned::of_bound(bound, &names, allowed) {
                stats.know_plan(*version, planned, false);
            }
        }
    }

    pub(super) fn keep(&mut self, at: usize, bound: Bound) {
        self.note_bound(at, &bound);
        self.note_missing(at, &bound);
        if self.program.is_private() {
            self.remember(at, &bound);
        }
        self.rebound = true;
        if duramen_observe::events::plans_are_wanted() && !self.program.is_private() {
            self.note_plan(at, &self.version(), &bound);
        }
        self.bound[at] = Some((self.version(), bound));
    }

    /// A statement runs with what it has bound: others may look at that while it is counted what its operators do.
    pub(super) fn show_live(&self, at: usize) {
        let (Some(profile), Some((_, bound))) = (&self.profile, &self.bound[at]) else {
            return;
        };
        let (allowed, names) = (self.session.parallelism(), self.program.variable_names());
        let Ok(planned) = planned::of_bound(bound, &names, allowed) else {
            return;
        };
        let live = LivePlan::new(self.program.clone(), at, planned, profile.clone());
        self.session.activity.show_live_plan(Some(live));
    }

    /// The indexes that the plan would have been cheaper with.
    fn note_missing(&self, at: usize, bound: &Bound) {
        let found = match bound {
            Bound::Plan(plan, _) => duramen_planner::missing_indexes(plan, 0.0),
            Bound::Dml(dml, _) => dml.missing_indexes(),
            Bound::Expr(_) | Bound::Simple(_) => return,
        };
        let Some(stats) = self.program.stats.step(self.program.steps.len(), at) else {
            return;
        };
        if found.is_empty() && !stats.misses() {
            return;
        }
        let (allowed, names) = (self.session.parallelism(), self.program.variable_names());
        let Ok(planned) = planned::of_bound(bound, &names, allowed) else {
            return;
        };
        let statement =
            duramen_inspect::views::query_stats::statement_of(self.program, at, &planned);
        let instance = &self.session.instance;
        let missing = &instance.missing_indexes;
        stats.set_missed(missing.bound(&|id| instance.databases.get(id), &found, &statement));
    }

    /// A plan that its session alone can use: what it looks like is kept for `sys.dm_exec_query_plan`.
    fn remember(&self, at: usize, bound: &Bound) {
        let reads = match bound {
            Bound::Plan(..) | Bound::Dml(..) => true,
            Bound::Expr(e) => e.reads_tables(),
            Bound::Simple(_) => false,
        };
        if !reads {
            return;
        }
        let allowed = self.session.parallelism();
        let (steps, version) = (self.program.steps.len(), self.version());
        self.program.stats.bound(steps, at, version, || {
            planned::of_bound(bound, &self.program.variable_names(), allowed)
        });
    }

    /// Asks the session's host, to bind something: what it finds is not in doubt.
    pub(super) fn ask_host<T>(&self, f: impl Fn(&HostView<'_>) -> SqlResult<T>) -> SqlResult<T> {
        let host = HostView::new(
            self.session,
            &self.program.variables,
            &self.tables,
            None,
            self.cancel,
        );
        let memory = &self.session.instance.databases.engine.memory;
        let _metered = metered(memory.account(Clerk::Compile));
        let before = heap::of_thread();
        let bound = self.session.settled(|| f(&host));
        self.count_binding(before);
        bound
    }

    /// Plans what was bound before its turn.
    pub(super) fn counting<T>(&self, plan: impl FnOnce() -> T) -> T {
        let before = heap::of_thread();
        let planned = plan();
        self.count_binding(before);
        planned
    }

    /// Something has been bound since the thread had taken `before`.
    pub(super) fn count_binding(&self, before: i64) {
        let taken = heap::of_thread() - before;
        self.binding.set(self.binding.get() + taken);
    }

    /// Does a thing of the run until what it has found is in no doubt. It must leave nothing done where that is.
    pub(super) fn settled<T>(
        &mut self,
        mut f: impl FnMut(&mut Self) -> RunResult<T>,
    ) -> RunResult<T> {
        let mut rounds = duramen_core::settled::Rounds::begin();
        loop {
            let answer = f(self);
            if !rounds.again(self.session)? {
                return answer;
            }
        }
    }

    /// The step's expression, bound at its first run.
    pub(super) fn expr(
        &mut self,
        at: usize,
        bind: impl Fn(&mut Binder<'_>) -> SqlResult<Expr>,
    ) -> RunResult<Arc<Expr>> {
        if let Some(Bound::Expr(e) | Bound::Simple(e)) = self.cached(at) {
            return Ok(e);
        }
        let bound = match self.take_early(at) {
            Some(EarlyBound::Expr(e)) => e,
            _ => {
                let bound = self.ask_host(|h| bind(&mut Binder::new(h)));
                binding(bound)?
            }
        };
        let bound = Arc::new(bound);
        self.keep(
            at,
            match bound.is_self_contained() {
                true => Bound::Simple(bound.clone()),
                false => Bound::Expr(bound.clone()),
            },
        );
        Ok(bound)
    }

    /// Calls `f` with what evaluation needs and with the sink; the batch's variables are in the context meanwhile.
    pub(super) fn with_cx<T>(
        &mut self,
        transaction: Option<Arc<Transaction>>,
        f: impl FnOnce(&mut Cx<'_>, &mut dyn ResultSink) -> T,
    ) -> T {
        let session = &mut *self.session;
        if !session
            .session_context
            .as_ref()
            .is_some_and(|a| session.is_there(a))
        {
            session.session_context = Some(session.context());
        }
        let mut vars = std::mem::take(&mut self.vars);
        let host = HostView::new(
            self.session,
            &self.program.variables,
            &self.tables,
            transaction,
            self.cancel,
        );
        let mut cx = Cx::new(&host, &mut vars, self.session.options.convert_ctx());
        cx.parallel = !self.session.instance.settings.is_serial();
        cx.profile.clone_from(&self.profile);
        let result = f(&mut cx, self.sink);
        let grown = cx.vars_grown;
        drop(cx);
        self.vars = vars;
        self.values_grown(grown);
        result
    }

    /// Whether an IF or WHILE goes on. The three ways from the quickest: ints alone; an expression that asks nothing of
    /// the session; whatever else, bound at its first run.
    #[inline]
    pub(super) fn condition(
        &mut self,
        at: usize,
        condition: &ast::Expr,
    ) -> RunResult<Option<bool>> {
        if let Some(e) = self.simple(at) {
            if let Some(holds) = e.quick_test(&self.vars) {
                return Ok(Some(holds));
            }
            let e = Arc::clone(e);
            return self.alone(&e, |e, cx| e.test(&[], cx));
        }
        let bound = self.expr(at, |b| b.scalar(condition))?;
        self.evaluate(&bound, |e, cx| e.test(&[], cx))
    }

    /// What SET gives a variable, in the same three ways.
    #[inline]
    pub(super) fn assigned(
        &mut self,
        at: usize,
        slot: usize,
        op: Option<ast::BinaryOp>,
        value: &ast::Expr,
    ) -> RunResult<Value> {
        if let Some(e) = self.simple(at) {
            if let Some(n) = e.quick_int(&self.vars) {
                return Ok(Value::Int(n));
            }
            let e = Arc::clone(e);
            return self.alone(&e, |e, cx| e.eval_kept(&[], cx));
        }
        let variable = &self.program.variables[slot];
        let (name, ty) = (&variable.name, variable.ty);
        let bound = self.expr(at, |b| b.assigned(name, ty, op, value))?;
        self.evaluate(&bound, |e, cx| e.eval_kept(&[], cx))
    }

    /// A step's expression, if it is bound and asks nothing of the session.
    #[inline]
    fn simple(&self, at: usize) -> Option<&Arc<Expr>> {
        match &self.bound[at] {
            Some((_, Bound::Simple(e))) => Some(e),
            _ => None,
        }
    }

    /// What such an expression comes to: the way of loops.
    #[inline]
    fn alone<T>(
        &mut self,
        e: &Expr,
        f: impl FnOnce(&Expr, &mut Cx<'_>) -> SqlResult<T>,
    ) -> RunResult<T> {
        let convert = self.session.options.convert_ctx();
        let mut cx = Cx::new(&Nowhere, &mut self.vars, convert);
        cx.lender = Some(&self.session.instance.workspace);
        Ok(f(e, &mut cx)?)
    }

    pub(super) fn evaluate<T>(
        &mut self,
        e: &Expr,
        f: impl FnOnce(&Expr, &mut Cx<'_>) -> SqlResult<T>,
    ) -> RunResult<T> {
        let transaction = e
            .reads_tables()
            .then(|| self.statement_transaction("SELECT"));
        let result = self.with_cx(transaction.clone(), |cx, _| f(e, cx));
        if let Some(t) = transaction {
            self.end_statement(&t, result.is_ok())?;
        }
        Ok(result?)
    }

    pub(super) fn constant(&mut self, e: &ast::Expr) -> RunResult<Value> {
        let bound = self.ask_host(|h| Binder::new(h).scalar(e));
        let bound = binding(bound)?;
        self.evaluate(&bound, |e, cx| e.eval(&[], cx))
    }
}
