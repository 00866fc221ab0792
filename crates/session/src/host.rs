//! The session as binding and evaluation see it.

use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use duramen_access::cancel::CancelToken;
use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::{ModuleDef, ObjectKind};
use duramen_core::activity::Activity;
use duramen_core::security::{Caller, refused_view};
use duramen_define::DefiningHost;
use duramen_inspect::context::Context;
use duramen_inspect::views::first_result_set::Describe;
use duramen_inspect::{functions, globals, views};
use duramen_planner::Binder;
use duramen_planner::memory::MemoryTable;
use duramen_program::named::Named;
use duramen_program::program::Variable;
use duramen_program::resource;
use duramen_program::rights::Right;
use duramen_query::execution::ExecutionContext;
use duramen_query::host::{
    Host, InlineFunction, Parallelism, Source, Table, UserFunction, VirtualTable, WorkerHost,
};
use duramen_query::spill::{SpillFile, Workspace};
use duramen_query::{Expr, Kind, Row};
use duramen_tsql::ast;
use duramen_txn::{IsolationLevel, Transaction};
use duramen_types::{CollationId, ConvertCtx, SqlType, Value};

use crate::functions_of_users::{self, BodyFunction, TableResult};
use crate::parallel::Helpers;
use crate::partition_number::{self, PartitionNumber};
use crate::run::Meaning;
use crate::run::first_result_set;
use crate::session::Session;

/// Of a text that can name none.
static NO_VARIABLES: Named<Variable> = Named::new();

pub struct HostView<'s> {
    session: &'s Session,
    variables: &'s Named<Variable>,
    tables: &'s [Arc<MemoryTable>],
    cancel: &'s CancelToken,
    context: Context,
    /// How many functions of users are running around.
    depth: u32,
    /// Inside a view of the system.
    of_system: bool,
    now: Cell<Option<u64>>,
    /// The database's, once somebody has asked.
    collation: OnceLock<CollationId>,
}

impl<'s> HostView<'s> {
    pub fn new(
        session: &'s Session,
        variables: &'s Named<Variable>,
        tables: &'s [Arc<MemoryTable>],
        transaction: Option<Arc<Transaction>>,
        cancel: &'s CancelToken,
    ) -> HostView<'s> {
        let known = session
            .session_context
            .as_ref()
            .filter(|p| session.is_there(p));
        let session_context = known.map_or_else(|| session.context(), Arc::clone);
        let execution = transaction.map(|transaction| ExecutionContext {
            transaction,
            view: Arc::default(),
            deps: session.deps.clone(),
            shared: session.activity.database(),
        });
        let context = Context {
            session_context,
            execution,
        };
        HostView {
            session,
            variables,
            tables,
            cancel,
            context,
            depth: 0,
            of_system: false,
            now: Cell::new(None),
            collation: OnceLock::new(),
        }
    }
}

impl HostView<'_> {
    /// The world of a function or view within the same statement: another database, variables of its own.
    pub fn inside<'v>(
        &'v self,
        database: &str,
        variables: &'v Named<Variable>,
        tables: &'v [Arc<MemoryTable>],
    ) -> HostView<'v> {
        HostView {
            session: self.session,
            variables,
            tables,
            cancel: self.cancel,
            context: self.context.within(database),
            depth: self.depth + 1,
            of_system: self.of_system,
            // A function called by a statement is part of that statement's moment.
            now: self.now.clone(),
            collation: OnceLock::new(),
        }
    }

    pub fn session(&self) -> &Session {
        self.session
    }

    /// Another text of the same session.
    pub fn alike<'v>(
        &'v self,
        variables: &'v Named<Variable>,
        tables: &'v [Arc<MemoryTable>],
    ) -> HostView<'v> {
        let execution = self.context.execution.as_ref();
        let transaction = execution.map(|e| e.transaction.clone());
        HostView::new(self.session, variables, tables, transaction, self.cancel)
    }

    /// The session, as the others see it.
    pub fn activity(&self) -> &Activity {
        &self.session.activity
    }

    /// `@@NESTLEVEL` within this function.
    pub fn nest_level(&self) -> u32 {
        self.session.state.nesting + self.depth
    }

    pub fn depth(&self) -> u32 {
        self.depth
    }

    pub fn schema_version(&self) -> u64 {
        self.session.schema_version(true)
    }

    /// The trigger whose own statement this is.
    fn firing(&self) -> Option<&duramen_program::firing::Firing> {
        let state = &self.session.state;
        let last = state.triggers.last();
        last.filter(|f| f.level == state.nesting && self.depth == 0)
    }

    /// `inserted` or `deleted`.
    fn pseudo_table(&self, name: &ast::ObjectName) -> Option<Arc<dyn Table>> {
        let firing = self.firing().filter(|_| name.parts.len() == 1)?;
        match name.name() {
            n if n.eq_ignore_ascii_case("inserted") => Some(firing.inserted.clone()),
            n if n.eq_ignore_ascii_case("deleted") => Some(firing.deleted.clone()),
            _ => None,
        }
    }

    /// Binds the views of the resource room for their columns. They are the same for everybody: what is bound inside is
    /// asked for no permission. One of them may itself ask for these columns: then it does without.
    fn know_system_columns(&self) {
        let known = &self.session.instance.system_columns;
        if known.columns.get().is_some() || known.busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let inside = HostView {
            of_system: true,
            ..self.inside("master", &NO_VARIABLES, &[])
        };
        let mut all = Vec::new();
        for module in resource::listed().filter(|m| m.kind == ObjectKind::VIEW) {
            let bound = resource::view(module, "master").and_then(|view| {
                let plan = Binder::new(&inside).select(&view.query)?;
                Ok((view.columns, plan))
            });
            let Ok((names, plan)) = bound else { continue };
            for (n, c) in plan.columns.iter().enumerate() {
                let name = names.get(n).cloned().unwrap_or_else(|| c.name.to_string());
                let id = n as i32 + 1;
                all.push((module.id.0, id, name, c.ty, c.nullable));
            }
        }
        // Whoever else was as fast has found the same.
        let _ = known.columns.set(all);
        known.busy.store(false, Ordering::Release);
    }

    /// The database whose objects are open here, as far as they are of the same owner: of the module that this is inside
    /// of, or that runs the statement.
    fn chain(&self) -> Option<&str> {
        match self.depth {
            0 => self.session.chain(),
            _ => Some(&self.context.database),
        }
    }

    /// 229 for what the session may not do with an object; 916 for a database that it may not enter.
    fn require(&self, name: &ast::ObjectName, asked: Right) -> SqlResult<()> {
        if self.of_system || self.session.who.sysadmin {
            return Ok(());
        }
        let name = self.qualified(name);
        self.session.require_through(&name, asked, self.chain())
    }

    /// 916 for a database that a name says and the session may not enter.
    fn enters(&self, database: Option<&str>) -> SqlResult<()> {
        if self.of_system || self.session.who.sysadmin {
            return Ok(());
        }
        let named = database.filter(|d| !self.chain().is_some_and(|c| c.eq_ignore_ascii_case(d)));
        match named.and_then(|d| self.session.instance.databases.find(d)) {
            Some(db) => self.session.may_enter(&db),
            None => Ok(()),
        }
    }

    /// Asks what a view or function of the system needs, as far as that is known before it runs.
    fn declared(&self, found: &views::Declared) -> SqlResult<()> {
        match self.of_system {
            true => Ok(()),
            false => found.require(&Caller {
                database: found.database().unwrap_or(&self.context.database),
                ..self.session.caller()
            }),
        }
    }

    fn system_view(&self, name: &ast::ObjectName) -> SqlResult<Option<Source>> {
        let asked = !self.of_system;
        let found = views::view(name.database(), name.schema(), name.name(), asked);
        if let Some(v) = &found {
            self.declared(v)?;
        }
        Ok(found.map(|v| Source::Virtual(v)))
    }

    /// The table or view that a synonym stands for. 5313 when it is not there.
    fn behind(
        &self,
        name: &ast::ObjectName,
        meaning: &Meaning,
        written: bool,
    ) -> SqlResult<Option<Source>> {
        if !written {
            self.require(name, Right::Select)?;
        }
        if meaning.elsewhere {
            // What the statement does with the object there is not known here: who may write it may do all.
            let asked = if written {
                Right::Control
            } else {
                Right::Select
            };
            self.require(&meaning.name, asked)?;
        }
        let target = &meaning.name;
        if self.session.synonym(target)?.is_some() {
            let names: [&dyn std::fmt::Display; 2] = [&name.name(), &target.name()];
            return Err(SqlError::new(&messages::SYNONYM_CHAIN, &names));
        }
        let found = match self
            .session
            .instance
            .table(&self.context.database, target)?
        {
            Some(table) => Some(table),
            None => match self.session.view(target)? {
                Some(view) => Some(Source::View(view)),
                None => self.system_view(target)?,
            },
        };
        let found = found.ok_or_else(|| self.session.synonym_invalid(name))?;
        Ok(Some(found))
    }

    /// A view of the system that is text.
    fn module_of_system(&self, m: &ModuleDef, database: Option<&str>) -> SqlResult<Option<Source>> {
        let database = database.unwrap_or(&self.context.database);
        if !self.of_system {
            let caller = Caller {
                database,
                ..self.session.caller()
            };
            caller.require(&resource::needs(m), &[], |first| {
                refused_view(&m.name, first)
            })?;
        }
        let view = resource::view(m, database)?;
        Ok(Some(Source::View(Arc::new(view))))
    }

    /// What a name means, to be read or `written`.
    fn find(&self, name: &ast::ObjectName, written: bool) -> SqlResult<Option<Source>> {
        let Some(database) = self.named_database(name) else {
            let databases = &self.session.instance.databases;
            let gone = name.database().and_then(|d| databases.find_unavailable(d));
            return gone.map_or(Ok(None), |gone| Err(gone.refusal()));
        };
        self.enters(name.database())?;
        let asked = !self.of_system;
        if let Some(v) = views::view(database.as_deref(), name.schema(), name.name(), asked) {
            self.declared(&v)?;
            if ["all_columns", "system_columns"].contains(&v.name()) {
                self.know_system_columns();
            }
            return Ok(Some(Source::Virtual(v)));
        }
        let system = resource::find(name.schema(), name.name(), ObjectKind::VIEW);
        // What is not in a schema of the system may be an object of a user.
        let named = name
            .schema()
            .is_some_and(|s| !s.is_empty() && !s.eq_ignore_ascii_case("dbo"));
        if let Some(m) = system.filter(|_| named) {
            return self.module_of_system(m, database.as_deref());
        }
        if let Some(table) = self.pseudo_table(name) {
            return Ok(Some(Source::Table(table)));
        }
        if duramen_access::temporary::is_temporary(name) {
            return Ok(self.session.temporary(name)?.map(Source::Table));
        }
        let qualified = &self.qualified(name);
        // One name means one thing: what is a table is no synonym.
        let table = self
            .session
            .instance
            .table(&self.context.database, qualified)?;
        if table.is_none()
            && let Some(meaning) = self.session.synonym(qualified)?
        {
            return self.behind(name, &meaning, written);
        }
        if !written {
            self.require(name, Right::Select)?;
        }
        if table.is_some() {
            return Ok(table);
        }
        let name = qualified;
        if let Some(view) = self.session.view(name)? {
            return Ok(Some(Source::View(view)));
        }
        match system {
            Some(m) => self.module_of_system(m, database.as_deref()),
            None if views::is_of_dbo(name.name()) => {
                let asked = !self.of_system;
                let found = views::view(database.as_deref(), Some("sys"), name.name(), asked);
                if let Some(v) = &found {
                    self.declared(v)?;
                }
                Ok(found.map(|v| Source::Virtual(v)))
            }
            None => Ok(None),
        }
    }

    /// A name with its database, where that is not the session's.
    fn qualified(&self, name: &ast::ObjectName) -> ast::ObjectName {
        if name.database().is_some() || self.context.database == self.session.database {
            return name.clone();
        }
        let schema = name.schema().unwrap_or_default();
        ast::ObjectName {
            parts: [&self.context.database, schema, name.name()]
                .map(str::to_owned)
                .to_vec(),
            line: name.line,
        }
    }

    /// The database part of a name, as it was created: `Some(None)` without one, `None` for one that is not there.
    /// Within a view of another database it is that one.
    fn named_database(&self, name: &ast::ObjectName) -> Option<Option<String>> {
        let elsewhere = self.context.database != self.session.database;
        match name.database() {
            None => Some(elsewhere.then(|| self.context.database.to_string())),
            Some(d) => self.session.instance.database_name(d).map(Some),
        }
    }
}

impl Host for HostView<'_> {
    fn database(&self) -> &str {
        &self.context.database
    }

    fn source(&self, name: &ast::ObjectName) -> SqlResult<Option<Source>> {
        self.find(name, false)
    }

    fn target(&self, name: &ast::ObjectName) -> SqlResult<Option<Source>> {
        self.find(name, true)
    }

    fn table_function(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<dyn VirtualTable>>> {
        let Some(database) = self.named_database(name) else {
            return Ok(None);
        };
        self.enters(name.database())?;
        let asked = !self.of_system;
        let found = views::function(database.as_deref(), name.schema(), name.name(), asked);
        if let Some(found) = found {
            self.declared(&found)?;
            return Ok(Some(found));
        }
        self.require(name, Right::Select)?;
        let name = self.qualified(name);
        let own = self
            .session
            .body_function(&name, ObjectKind::TABLE_FUNCTION)?;
        Ok(own.map(|f| Arc::new(TableResult::new(f)) as Arc<dyn VirtualTable>))
    }

    fn inline_function(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<InlineFunction>>> {
        self.enters(name.database())?;
        let found = self.session.inline_function(&self.qualified(name))?;
        if found.is_some() {
            self.require(name, Right::Select)?;
        }
        Ok(found)
    }

    fn scalar_function(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<dyn UserFunction>>> {
        self.enters(name.database())?;
        let name = self.qualified(name);
        if partition_number::is_call(&name) {
            let found = partition_number::find(self.session, &name)?;
            return Ok(found.map(|f| f as Arc<dyn UserFunction>));
        }
        let found = self
            .session
            .body_function(&name, ObjectKind::SCALAR_FUNCTION)?;
        if found.is_some() {
            self.require(&name, Right::Execute)?;
        }
        Ok(found.map(|f| f as Arc<dyn UserFunction>))
    }

    fn call_function(
        &self,
        function: &dyn UserFunction,
        args: Vec<Value>,
    ) -> SqlResult<(Value, Vec<Row>)> {
        if let Some(f) = function.as_any().downcast_ref::<PartitionNumber>() {
            return Ok((f.of(&args), Vec::new()));
        }
        if function.as_any().is::<Describe>() {
            return Ok((Value::Null, first_result_set::describe(self, &args)?));
        }
        match function.as_any().downcast_ref::<BodyFunction>() {
            Some(f) => functions_of_users::call(self, f, args),
            None => Err(SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])),
        }
    }

    fn within(&self, database: &str, of_system: bool) -> Option<Box<dyn Host + '_>> {
        let inside = self.inside(database, &NO_VARIABLES, &[]);
        let of_system = of_system || inside.of_system;
        Some(Box::new(HostView {
            of_system,
            ..inside
        }))
    }

    fn compatibility_level(&self) -> u8 {
        let of_session = &self.session.database;
        match &self.context.database {
            _ if self.of_system => 160,
            here if here == of_session => self.session.options.level,
            here => self.session.instance.databases.language_of(here).0,
        }
    }

    fn function_type(&self, name: &str) -> Option<SqlType> {
        functions::type_of(name)
    }

    fn function_arguments(&self, name: &str) -> (usize, usize) {
        functions::arguments_of(name)
    }

    fn function(&self, name: &str, args: &[Value]) -> SqlResult<Value> {
        let dirty = self.session.options.isolation == IsolationLevel::ReadUncommitted;
        match dirty {
            true => functions::call(self.session, name, args),
            false => self
                .session
                .settled(|| functions::call(self.session, name, args)),
        }
    }

    fn global_type(&self, name: &str) -> Option<(&'static str, SqlType)> {
        globals::type_of(name)
    }

    fn global(&self, name: &str) -> SqlResult<Value> {
        Ok(globals::value(self.session, name))
    }

    fn identity_insert(&self, table: &dyn Table) -> bool {
        let id = table.stored_id();
        id.is_some_and(|id| self.session.has_identity_insert(id))
    }

    fn variable(&self, name: &str) -> Option<(usize, SqlType)> {
        self.variables
            .find(name)
            .map(|slot| (slot, self.variables[slot].ty))
    }

    fn table_variable(&self, name: &str) -> Option<Arc<dyn Table>> {
        let mut tables = self.tables.iter();
        let found = tables.find(|t| duramen_program::program::same(t.name(), name))?;
        Some(found.clone())
    }

    fn now(&self) -> (u64, i16) {
        // One moment for a statement: two rows of one INSERT get the same GETDATE().
        let nanos = self
            .now
            .get()
            .unwrap_or_else(|| u64::try_from(duramen_os::time::wall().unix_nanos()).unwrap_or(0));
        self.now.set(Some(nanos));
        (nanos, 0)
    }

    fn random(&self) -> u64 {
        duramen_os::random::next_u64()
    }

    fn collation(&self) -> CollationId {
        *self.collation.get_or_init(|| {
            let db = self.session.instance.databases.find(&self.context.database);
            db.map_or(CollationId::DEFAULT, |d| CollationId(d.db.boot().collation))
        })
    }

    fn ansi_nulls(&self) -> bool {
        self.session.options.ansi_nulls
    }

    fn rand(&self, seed: Option<i32>) -> f64 {
        self.session.state.random.next(seed)
    }

    fn cancelled(&self) -> bool {
        self.session.activity.note_work();
        self.cancel.is_set()
    }

    fn parallelism(&self) -> Parallelism {
        match self.depth {
            0 => self.session.parallelism(),
            _ => Parallelism::NONE,
        }
    }

    fn for_workers(&self) -> Option<Arc<dyn WorkerHost>> {
        let helpers = Helpers::new(&self.context, self.cancel, self);
        Some(Arc::new(helpers))
    }

    fn workspace(&self) -> Arc<Workspace> {
        match &self.session.state.memory {
            Some(grant) => grant.workspace.clone(),
            None => self.session.instance.workspace.clone(),
        }
    }

    fn keeps_unasked(&self) -> usize {
        match self.session.instance.workspace.limit() {
            0 => 0,
            _ => duramen_query::host::KEPT_UNASKED,
        }
    }

    fn spill_file(&self) -> SqlResult<Box<dyn SpillFile>> {
        let databases = &self.session.instance.databases;
        databases.engine.spill_file()
    }

    fn execution(&self) -> Option<&ExecutionContext> {
        self.context.execution.as_ref()
    }

    fn session(&self) -> &dyn Any {
        &self.context
    }

    fn column_assigned(&self, column: &str) -> Option<bool> {
        let firing = self.firing()?;
        let named = |c: &String| duramen_program::program::same(c, column);
        let known = firing.columns.iter().any(named);
        known.then(|| firing.assigned.iter().any(named))
    }

    fn bind_default(&self, text: &str) -> SqlResult<Expr> {
        let options = duramen_tsql::ParseOptions {
            quoted_identifier: true,
        };
        let parsed = duramen_tsql::parse_expression(text, &options)?;
        self.bind_parsed_default(&parsed)
    }
}

impl DefiningHost for HostView<'_> {
    fn convert_ctx(&self) -> ConvertCtx {
        self.session.options.convert_ctx()
    }

    fn null_by_default(&self, database: &str) -> bool {
        duramen_core::session_core::null_by_default(self.session, database)
    }

    fn ansi_padding(&self) -> bool {
        self.session.options.ansi_padding
    }

    fn bind_parsed_default(&self, parsed: &ast::Expr) -> SqlResult<Expr> {
        if let Some(next) = self.sequential_id(parsed) {
            return Ok(next);
        }
        Binder::new(self).scalar(parsed)
    }
}

impl HostView<'_> {
    /// NEWSEQUENTIALID by itself: a default is the one place where it may stand.
    pub fn sequential_id(&self, parsed: &ast::Expr) -> Option<Expr> {
        if let ast::ExprKind::Function(call) = &parsed.kind
            && call.name.name().eq_ignore_ascii_case("newsequentialid")
            && call.args.is_empty()
        {
            return Some(Expr {
                kind: Kind::Session {
                    name: "newsequentialid".to_owned(),
                    args: Vec::new(),
                },
                ty: SqlType::GUID,
                nullable: false,
            });
        }
        None
    }
}
