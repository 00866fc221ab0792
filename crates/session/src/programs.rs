//! Compiled programs of procedures and parameterised statements, with what their steps have bound, kept by session.
//!
//! A program is taken out while it runs and put back afterwards: a procedure that calls itself compiles once more, and
//! no two runs share what they bind.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_tsql::ast;
use duramen_types::SqlType;

use crate::program::Program;
use crate::run::Plans;
use crate::table_types::TableType;

/// How many programs a session keeps, and how long the key of one may be.
const LIMIT: usize = 256;
const KEY_LIMIT: usize = 64 << 10;

/// A parameter of a procedure, function or parameterised statement.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// With the `@`.
    pub name: String,
    pub ty: SqlType,
    pub default: Option<ast::Expr>,
    pub output: bool,
    /// A table-valued parameter: `ty` means nothing.
    pub table: Option<TableType>,
}

/// A program that can be called: its parameters are its first variables.
#[derive(Debug)]
pub struct Callable {
    pub program: Arc<Program>,
    pub parameters: Arc<Vec<Parameter>>,
    pub bound: Plans,
    /// The schema version that a program which names table types was compiled at.
    pub schema: Option<u64>,
    /// Compiled for this very call: nobody else knows it yet.
    pub fresh: bool,
}

#[derive(Default)]
pub struct ProgramCache {
    entries: BTreeMap<String, (u64, Callable)>,
    clock: u64,
    /// How often the server's cache had been emptied.
    emptied: u64,
}

impl std::fmt::Debug for ProgramCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProgramCache({} programs)", self.entries.len())
    }
}

impl ProgramCache {
    /// Forgets everything when the server's cache has been emptied since.
    pub fn follow(&mut self, emptied: u64) {
        if self.emptied != emptied {
            self.entries.clear();
            self.emptied = emptied;
        }
    }

    /// The program under that key, unless the schema, now at that version, may have changed what it was compiled to.
    pub fn take(&mut self, key: &str, version: u64) -> Option<Callable> {
        let (_, callable) = self.entries.remove(key)?;
        callable
            .schema
            .is_none_or(|compiled| compiled == version)
            .then_some(callable)
    }

    pub fn put(&mut self, key: String, mut callable: Callable) {
        if key.len() > KEY_LIMIT {
            return;
        }
        // Table variables are new in every run: what is bound to those of the last one must not be found again.
        if !callable.program.tables.is_empty() {
            callable.bound.forget();
        }
        if self.entries.len() >= LIMIT {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(k, _)| k.clone()) {
                self.entries.remove(&oldest);
            }
        }
        self.clock += 1;
        self.entries.insert(key, (self.clock, callable));
    }
}
