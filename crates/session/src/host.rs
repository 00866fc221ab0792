//! The session as binding and evaluation see it.

use std::any::Any;
use std::cell::Cell;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use duramen_base::{SqlError, SqlResult, messages};
use duramen_catalog::ObjectKind;
use duramen_query::host::{
    Host, InlineFunction, Parallelism, Source, Table, UserFunction, VirtualTable, WorkerHost,
};
use duramen_query::memory::MemoryTable;
use duramen_query::spill::{SpillFile, Workspace};
use duramen_query::{Binder, Expr, Kind, Row};
use duramen_tsql::ast;
use duramen_txn::gate::SessionDeps;
use duramen_txn::{ReadView, Transaction};
use duramen_types::{CollationId, ConvertCtx, SqlType, Value};

use crate::activity::Activity;
use crate::functions_of_users::{self, BodyFunction, TableResult};
use crate::instance::Instance;
use crate::parallel::Helpers;
use crate::partition_number::{self, PartitionNumber};
use crate::program::{Variable, find_variable};
use crate::run::Meaning;
use crate::security::Who;
use crate::session::{CancelToken, Session};
use crate::views::first_result_set::{self, Describe};
use crate::{functions, globals, resource};

/// View, column id, name, type and nullability.
type SystemColumn = (i32, i32, String, SqlType, bool);

/// The columns of the views in the resource room, once they are known.
#[derive(Default)]
pub struct SystemColumns {
    pub columns: OnceLock<Vec<SystemColumn>>,
    busy: AtomicBool,
}

/// Where a statement runs; mostly the same for all of a session.
#[derive(Clone)]
pub struct Surroundings {
    pub instance: Arc<Instance>,
    /// What the session's replies depend on.
    pub deps: Arc<SessionDeps>,
    /// Who asks.
    pub who: Arc<Who>,
    /// The current database.
    pub database: Arc<str>,
}

impl Surroundings {
    pub fn of(session: &Session) -> Arc<Surroundings> {
        Arc::new(Surroundings {
            instance: session.instance.clone(),
            deps: session.deps.clone(),
            who: session.who.clone(),
            database: session.database.clone(),
        })
    }

    /// Whether the session is still there.
    pub fn has(&self, session: &Session) -> bool {
        Arc::ptr_eq(&self.who, &session.who) && Arc::ptr_eq(&self.database, &session.database)
    }
}

/// What tables and views find again behind `Host::session`.
#[derive(Clone)]
pub struct Context {
    around: Arc<Surroundings>,
    /// The transaction of the running statement; none while binding.
    pub transaction: Option<Arc<Transaction>>,
    /// READ_COMMITTED_SNAPSHOT: what the running statement sees, from its first look at such a database on.
    pub view: Arc<OnceLock<ReadView>>,
}

impl Context {
    /// The same in another database.
    pub fn within(&self, database: &str) -> Context {
        let mut surroundings = (*self.around).clone();
        surroundings.database = database.into();
        Context {
            around: Arc::new(surroundings),
            ..self.clone()
        }
    }
}

impl Deref for Context {
    type Target = Surroundings;

    fn deref(&self) -> &Surroundings {
        &self.around
    }
}

pub struct HostView<'s> {
    session: &'s Session,
    variables: &'s [Variable],
    tables: &'s [Arc<MemoryTable>],
    cancel: &'s CancelToken,
    context: Context,
    /// How many functions of users are running around.
    depth: u32,
    now: Cell<Option<u64>>,
    /// The database's, once somebody has asked.
    collation: OnceLock<CollationId>,
}

impl<'s> HostView<'s> {
    pub fn new(
        session: &'s Session,
        variables: &'s [Variable],
        tables: &'s [Arc<MemoryTable>],
        transaction: Option<Arc<Transaction>>,
        cancel: &'s CancelToken,
    ) -> HostView<'s> {
        let known = session.around.as_ref().filter(|p| p.has(session));
        let context = Context {
            around: known.map_or_else(|| Surroundings::of(session), Arc::clone),
            transaction,
            view: Arc::default(),
        };
        HostView {
            session,
            variables,
            tables,
            cancel,
            context,
            depth: 0,
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
        variables: &'v [Variable],
        tables: &'v [Arc<MemoryTable>],
    ) -> HostView<'v> {
        HostView {
            session: self.session,
            variables,
            tables,
            cancel: self.cancel,
            context: self.context.within(database),
            depth: self.depth + 1,
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
        variables: &'v [Variable],
        tables: &'v [Arc<MemoryTable>],
    ) -> HostView<'v> {
        let transaction = self.context.transaction.clone();
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

    pub fn convert_ctx(&self) -> ConvertCtx {
        self.session.options.convert_ctx()
    }

    /// SET ANSI_PADDING.
    pub fn ansi_padding(&self) -> bool {
        self.session.options.ansi_padding
    }

    pub fn schema_version(&self) -> u64 {
        self.session.instance.schema_version(true)
    }

    /// The trigger whose own statement this is.
    fn firing(&self) -> Option<&crate::run::Firing> {
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
        let inside = self.inside("master", &[], &[]);
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

    /// 229 for what the session may not read; the target of a statement need not be readable.
    fn readable(&self, name: &ast::ObjectName) -> SqlResult<()> {
        match &self.session.state.writing {
            Some(target) if target.parts == name.parts => Ok(()),
            _ => self.session.require_on(name, "SL"),
        }
    }

    fn system_view(&self, name: &ast::ObjectName) -> SqlResult<Option<Source>> {
        let found = crate::views::view(name.database(), name.schema(), name.name());
        if found.is_some() {
            self.session.require_state(name.name())?;
        }
        Ok(found.map(Source::Virtual))
    }

    /// The table or view that a synonym stands for. 5313 when it is not there.
    fn behind(&self, name: &ast::ObjectName, meaning: &Meaning) -> SqlResult<Option<Source>> {
        if self.depth == 0 {
            self.readable(name)?;
        }
        if meaning.elsewhere {
            // What the statement does with the object there is not known here: who may write it may do all.
            let writes = self.session.state.writing.is_some();
            let asked = if writes { "CL" } else { "SL" };
            self.session.require_on(&meaning.name, asked)?;
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
    fn source(&self, name: &ast::ObjectName) -> SqlResult<Option<Source>> {
        let Some(database) = self.named_database(name) else {
            let databases = &self.session.instance.databases;
            let gone = name.database().and_then(|d| databases.find_unavailable(d));
            return gone.map_or(Ok(None), |gone| Err(gone.refusal()));
        };
        if let Some(v) = crate::views::view(database.as_deref(), name.schema(), name.name()) {
            if self.depth == 0 {
                self.session.require_state(name.name())?;
            }
            if ["all_columns", "system_columns"].contains(&v.name()) {
                self.know_system_columns();
            }
            return Ok(Some(Source::Virtual(v)));
        }
        let system = resource::find(name.schema(), name.name(), ObjectKind::VIEW);
        let context = &self.context.database;
        let of_system = |m: &duramen_catalog::ModuleDef| {
            let database = database.as_deref().unwrap_or(context);
            let view = resource::view(m, database)?;
            Ok::<_, SqlError>(Some(Source::View(Arc::new(view))))
        };
        // What is not in a schema of the system may be an object of a user.
        let named = name
            .schema()
            .is_some_and(|s| !s.is_empty() && !s.eq_ignore_ascii_case("dbo"));
        if let Some(m) = system.filter(|_| named) {
            return of_system(m);
        }
        if let Some(table) = self.pseudo_table(name) {
            return Ok(Some(Source::Table(table)));
        }
        if crate::run::is_temporary(name) {
            return Ok(self.session.temporary(name)?.map(Source::Table));
        }
        if let Some(meaning) = self.session.synonym(&self.qualified(name))? {
            return self.behind(name, &meaning);
        }
        if self.depth == 0 {
            self.readable(name)?;
        }
        let name = &self.qualified(name);
        let found = self.session.instance.table(&self.context.database, name)?;
        if found.is_some() {
            return Ok(found);
        }
        if let Some(view) = self.session.view(name)? {
            return Ok(Some(Source::View(view)));
        }
        system.map_or(Ok(None), |m| of_system(m))
    }

    fn table_function(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<dyn VirtualTable>>> {
        let Some(database) = self.named_database(name) else {
            return Ok(None);
        };
        let found = crate::views::function(database.as_deref(), name.schema(), name.name());
        if found.is_some() {
            if self.depth == 0 {
                self.session.require_state(name.name())?;
            }
            return Ok(found);
        }
        if self.depth == 0 {
            self.readable(name)?;
        }
        let name = self.qualified(name);
        let own = self
            .session
            .body_function(&name, ObjectKind::TABLE_FUNCTION)?;
        Ok(own.map(|f| Arc::new(TableResult::new(f)) as Arc<dyn VirtualTable>))
    }

    fn inline_function(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<InlineFunction>>> {
        let found = self.session.inline_function(&self.qualified(name))?;
        if self.depth == 0 && found.is_some() {
            self.readable(name)?;
        }
        Ok(found)
    }

    fn scalar_function(&self, name: &ast::ObjectName) -> SqlResult<Option<Arc<dyn UserFunction>>> {
        let name = self.qualified(name);
        if partition_number::is_call(&name) {
            let found = partition_number::find(self.session, &name)?;
            return Ok(found.map(|f| f as Arc<dyn UserFunction>));
        }
        let found = self
            .session
            .body_function(&name, ObjectKind::SCALAR_FUNCTION)?;
        if self.depth == 0 && found.is_some() {
            self.session.require_on(&name, "EX")?;
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

    fn within(&self, database: &str) -> Option<Box<dyn Host + '_>> {
        Some(Box::new(self.inside(database, &[], &[])))
    }

    fn function_type(&self, name: &str) -> Option<SqlType> {
        functions::type_of(name)
    }

    fn function_arguments(&self, name: &str) -> (usize, usize) {
        functions::arguments_of(name)
    }

    fn function(&self, name: &str, args: &[Value]) -> SqlResult<Value> {
        functions::call(self.session, name, args)
    }

    fn global_type(&self, name: &str) -> Option<(&'static str, SqlType)> {
        globals::type_of(name)
    }

    fn global(&self, name: &str) -> SqlResult<Value> {
        Ok(globals::value(self.session, name))
    }

    fn variable(&self, name: &str) -> Option<(usize, SqlType)> {
        find_variable(self.variables, name).map(|slot| (slot, self.variables[slot].ty))
    }

    fn table_variable(&self, name: &str) -> Option<Arc<dyn Table>> {
        let mut tables = self.tables.iter();
        let found = tables.find(|t| crate::program::same(t.name(), name))?;
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
        self.session.instance.workspace.clone()
    }

    fn spill_file(&self) -> SqlResult<Box<dyn SpillFile>> {
        let databases = &self.session.instance.databases;
        crate::spill::create(&databases.engine.env, &databases.config.data_dir)
    }

    fn session(&self) -> &dyn Any {
        &self.context
    }

    fn column_assigned(&self, column: &str) -> Option<bool> {
        let firing = self.firing()?;
        let named = |c: &String| crate::program::same(c, column);
        let known = firing.columns.iter().any(named);
        known.then(|| firing.assigned.iter().any(named))
    }

    fn bind_default(&self, text: &str) -> SqlResult<Expr> {
        let options = duramen_tsql::ParseOptions {
            quoted_identifier: true,
        };
        let parsed = duramen_tsql::parse_expression(text, &options)?;
        // The one place where NEWSEQUENTIALID may stand, and only by itself.
        if let ast::ExprKind::Function(call) = &parsed.kind
            && call.name.name().eq_ignore_ascii_case("newsequentialid")
            && call.args.is_empty()
        {
            return Ok(Expr {
                kind: Kind::Session {
                    name: "newsequentialid".to_owned(),
                    args: Vec::new(),
                },
                ty: SqlType::GUID,
                nullable: false,
            });
        }
        Binder::new(self).scalar(&parsed)
    }
}
