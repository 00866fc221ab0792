//! Programs that can be called: found among those that sessions have compiled, or compiled now.

use std::sync::Arc;

use duramen_base::{DbId, SqlError, SqlResult, given_up, messages};
use duramen_catalog::ModuleDef;
use duramen_observe::{Counter, count};
use duramen_os::heap;
use duramen_os::memory::Clerk;
use duramen_os::memory::meter::metered;
use duramen_planner::bind::{TypeSite, resolve_type};
use duramen_program::bound::Plans;
use duramen_program::program::{BodyOf, Program, Variable, compile_typed, same};
use duramen_program::programs::{Callable, Parameter, weight};
use duramen_program::secrets;
use duramen_program::statement_stats::Standing;
use duramen_program::table_types::{TableTypes, alias_without_width};
use duramen_program::variables::undeclared;
use duramen_tsql::ParseOptions;
use duramen_tsql::ast::{self, StatementKind};
use duramen_types::SqlType;

use crate::run::TypesOf;
use crate::session::Session;
use crate::unsupported;

impl Session {
    /// Under what a parameterised statement's program is kept.
    pub(crate) fn text_key(&self, text: &str, declarations: &str) -> String {
        let options = match (self.options.quoted_identifier, self.options.ansi_nulls) {
            (false, false) => "\u{1}00\u{1}",
            (false, true) => "\u{1}01\u{1}",
            (true, false) => "\u{1}10\u{1}",
            (true, true) => "\u{1}11\u{1}",
        };
        // Every request makes one: no formatting.
        let parts: [&str; 6] = [
            &self.key_tag(),
            &self.database,
            options,
            declarations,
            "\u{1}",
            text,
        ];
        parts.concat()
    }

    /// Under what the program of a procedure, trigger or function is kept.
    pub(crate) fn module_key(&self, db: DbId, module: &ModuleDef) -> String {
        let nulls = self.options.ansi_nulls;
        format!(
            "{}{}\u{1}{}\u{1}{}\u{1}{nulls}",
            self.key_tag(),
            db.0,
            module.id.0,
            module.version
        )
    }

    /// A program that this session, or else another one, has compiled.
    pub(crate) fn known_program(&mut self, key: &str, version: u64) -> Option<Callable> {
        self.core
            .state
            .programs
            .follow(self.instance.plans.emptied());
        let own = self.state.programs.take(key, version);
        // One that is no longer in the server's cache would count for nobody.
        let own = own.filter(|c| c.program.stats.standing() == Standing::Cached);
        own.or_else(|| self.shared_program(key, version))
    }

    /// What binds to an identity column depends on the session's SET IDENTITY_INSERT, and what is bound to definitions that
    /// only this session sees is nobody else's.
    fn binds_for_itself(&self) -> bool {
        self.state.identity_insert.is_some() || self.owner.draft(false) != 0
    }

    /// What is kept of a program in whose execution the session has bound things for itself; `None`: nothing.
    fn without_own(&self, callable: &Callable) -> Option<Callable> {
        // What a type means that the session has defined and not yet committed is its own, too.
        callable.schema.is_none().then(|| Callable {
            bytes: callable.bytes,
            program: callable.program.clone(),
            parameters: callable.parameters.clone(),
            bound: Plans::none(callable.program.steps.len()),
            schema: None,
            fresh: callable.fresh,
        })
    }

    pub(crate) fn shared_program(&self, key: &str, version: u64) -> Option<Callable> {
        let generation = self.instance.databases.generation();
        let found = self.instance.plans.find(key, version, generation)?;
        match self.binds_for_itself() {
            false => Some(found),
            true => self.without_own(&found),
        }
    }

    /// The program that all sessions run in the place of one that has just been compiled.
    pub(crate) fn adopt_program(&self, key: &str, callable: Callable) -> Callable {
        let generation = self.instance.databases.generation();
        let plans = &self.instance.plans;
        if !self.binds_for_itself() {
            return plans.adopt(key, callable, generation);
        }
        match self.without_own(&callable) {
            Some(own) => {
                let adopted = plans.adopt(key, own, generation);
                self.without_own(&adopted).unwrap_or(callable)
            }
            None => callable,
        }
    }

    pub(crate) fn share_program(&self, key: &str, callable: &Callable) {
        let gone = callable.program.stats.standing() == Standing::Gone;
        let generation = self.instance.databases.generation();
        if !self.binds_for_itself() {
            self.instance.plans.keep(key, callable, generation);
        } else if gone && let Some(own) = self.without_own(callable) {
            self.instance.plans.keep(key, &own, generation);
        }
    }

    /// The program of a batch: one that a session has run before, or a new one.
    pub(crate) fn batch_program(&self, key: &str, text: &str) -> SqlResult<Callable> {
        let version = self.schema_version(true);
        if let Some(known) = self.shared_program(key, version) {
            return Ok(known);
        }
        count(Counter::SqlCompilations, 1);
        let compiled = self.compiled_text(text, "")?;
        Ok(self.adopt_program(key, compiled))
    }

    pub(crate) fn compiled_text(&self, text: &str, declarations: &str) -> SqlResult<Callable> {
        let compiled = self.compile_text(text, declarations);
        compiled.map_err(|e| secrets::guarded(text, e))
    }

    fn compile_text(&self, text: &str, declarations: &str) -> SqlResult<Callable> {
        let before = heap::of_thread();
        let memory = &self.instance.databases.engine.memory;
        let _metered = metered(memory.account(Clerk::Compile));
        let options = ParseOptions {
            quoted_identifier: self.options.quoted_identifier,
        };
        let params = duramen_tsql::parse_parameters(declarations, &options)?;
        given_up::check()?;
        let batch = duramen_tsql::parse_batch(text, &options)?;
        given_up::check()?;
        self.instance.knows_servers(&batch)?;
        let version = self.schema_version(true);
        let types = TypesOf {
            session: self,
            database: &self.database,
        };
        let names = params.iter().map(|p| p.name.as_str());
        let mut errors = undeclared(&batch.variables, names);
        let module = match batch.statements.first().map(|s| &s.kind) {
            Some(StatementKind::CreateModule(stmt)) => Some(stmt.name.name().to_owned()),
            _ => None,
        };
        let compiled = callable(text, &params, batch.statements, BodyOf::Batch, &types);
        match compiled {
            Ok(mut callable) if errors.is_empty() => {
                callable.schema = callable.program.is_typed().then_some(version);
                callable.bytes = weight(text, heap::of_thread() - before);
                return Ok(callable);
            }
            // The same variable, found again.
            Err(e) if !errors.is_empty() && is_of_variable(&e) => {}
            Err(e) => errors.push(e),
            Ok(_) => {}
        }
        errors.sort_by_key(|e| e.line);
        errors
            .iter_mut()
            .for_each(|e| e.procedure.clone_from(&module));
        Err(SqlError::joined(errors)
            .unwrap_or_else(|| SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])))
    }
}

/// 137, and 112 where it may not be whether it is declared or not.
fn is_of_variable(e: &SqlError) -> bool {
    let of_variables = [
        messages::VARIABLE_NOT_DECLARED.number,
        messages::VARIABLES_NOT_ALLOWED.number,
    ];
    of_variables.contains(&e.number)
}

/// Compiles a body whose first variables are its parameters.
pub(crate) fn callable(
    text: &str,
    params: &[ast::Parameter],
    body: Vec<ast::Statement>,
    body_of: BodyOf,
    types: &dyn TableTypes,
) -> SqlResult<Callable> {
    let mut parameters: Vec<Parameter> = Vec::with_capacity(params.len());
    for p in params {
        let line = p.line as i32;
        if parameters.iter().any(|o| same(&o.name, &p.name)) {
            let error = SqlError::new(&messages::VARIABLE_ALREADY_DECLARED, &[&p.name]);
            return Err(error.at_line(line));
        }
        let nth = parameters.len() + 1;
        let (ty, table) = match resolve_type(&p.ty, TypeSite::Parameter(nth, &p.name)) {
            Ok(ty) => (ty, None),
            Err(e) => match types.alias_type(&p.ty.name)? {
                Some(ty) => (alias_without_width(&p.ty, ty, nth)?, None),
                None => {
                    let table = types.table_type(&p.ty.name)?;
                    (SqlType::INT, Some(table.ok_or(e.at_line(line))?))
                }
            },
        };
        if p.readonly != table.is_some() {
            let message = match p.readonly {
                true => &messages::READONLY_NEEDS_TVP,
                false => &messages::TVP_NEEDS_READONLY,
            };
            return Err(SqlError::new(message, &[&p.name]).at_line(line));
        }
        parameters.push(Parameter {
            name: p.name.clone(),
            ty,
            default: p.default.clone(),
            output: p.output,
            table,
        });
    }
    // The slot of a table-valued parameter has a name that no text can name.
    let variables = parameters.iter().map(|p| Variable {
        name: match p.table {
            None => p.name.clone(),
            Some(_) => String::new(),
        },
        ty: p.ty,
    });
    let tables = parameters.iter().filter_map(|p| {
        let table = p.table.clone()?;
        Some((p.name.clone(), table))
    });
    let given = (variables.collect(), tables.collect());
    let program: Program = compile_typed(text, body, given, body_of, (types, unsupported::check))?;
    Ok(Callable {
        bytes: weight(text, 0),
        schema: None,
        fresh: true,
        bound: Plans::none(program.steps.len()),
        program: Arc::new(program),
        parameters: Arc::new(parameters),
    })
}
