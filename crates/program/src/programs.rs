//! Compiled programs of procedures and parameterised statements, with what their steps have bound, kept by session.
//!
//! A program is taken out while it runs and put back afterwards: a procedure that calls itself compiles once more, and
//! no two runs share what they bind.

use std::collections::BTreeMap;
use std::sync::Arc;

use duramen_os::heap;
use duramen_os::memory::{Account, Broker, Clerk};
use duramen_tsql::ast;
use duramen_types::SqlType;

use crate::bound::Plans;
use crate::program::Program;
use crate::table_types::TableType;

/// How many programs a session keeps, and how long the key of one may be.
const LIMIT: usize = 256;
const KEY_LIMIT: usize = 64 << 10;
/// Bytes of all that one session keeps.
const MOST_BYTES: u64 = 16 << 20;

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
    /// About how many bytes it takes with what its steps have bound.
    pub bytes: u64,
}

/// What a program takes in a process that does not count allocations: a tree and plans of a short text, and of each byte more.
const LEAST_BYTES: u64 = 6 << 10;
const BYTES_A_BYTE: u64 = 40;
/// What is measured may hold what a statement has left elsewhere: so many times the estimate, no more.
const MEASURED_TIMES: u64 = 8;

/// About how many bytes a program of this text takes: what the thread has taken for it, where that is known.
pub fn weight(text: &str, measured: i64) -> u64 {
    let least = 1024 + 2 * text.len() as u64;
    let estimated = LEAST_BYTES + BYTES_A_BYTE * text.len() as u64;
    match u64::try_from(measured) {
        Ok(0) | Err(_) if heap::allocated().is_none() => estimated,
        Ok(bytes) => bytes.clamp(least, estimated * MEASURED_TIMES),
        Err(_) => least,
    }
}

impl Callable {
    /// Its steps have bound something, which has taken so many bytes.
    pub fn grew(&mut self, bytes: i64) {
        let bound = u64::try_from(bytes).unwrap_or(0);
        let most = weight(&self.program.text, i64::MAX);
        self.bytes = self.bytes.saturating_add(bound).min(most.max(self.bytes));
    }
}

#[derive(Default)]
pub struct ProgramCache {
    entries: BTreeMap<String, (u64, Callable)>,
    clock: u64,
    bytes: u64,
    /// What is told of it.
    account: Option<Account>,
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
            self.changed(0);
        }
    }

    /// So many bytes are kept now.
    fn changed(&mut self, bytes: u64) {
        self.bytes = bytes;
        if let Some(account) = &mut self.account {
            account.set(bytes);
        }
    }

    /// Bytes of the programs that are kept.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The program under that key, unless the schema, now at that version, may have changed what it was compiled to.
    pub fn take(&mut self, key: &str, version: u64) -> Option<Callable> {
        let (_, callable) = self.entries.remove(key)?;
        self.bytes -= kept(key, &callable);
        callable
            .schema
            .is_none_or(|compiled| compiled == version)
            .then_some(callable)
    }

    /// Keeps a program, if there is memory for it: the least recently used go before.
    pub fn put(&mut self, key: String, mut callable: Callable, broker: &Arc<Broker>) {
        if key.len() > KEY_LIMIT {
            return;
        }
        let more = kept(&key, &callable);
        let account = self
            .account
            .get_or_insert_with(|| broker.account(Clerk::ObjectPlans));
        while self.bytes + more > MOST_BYTES || !account.hold(self.bytes + more) {
            match oldest(&self.entries) {
                Some(oldest) => {
                    if let Some((_, gone)) = self.entries.remove(&oldest) {
                        self.bytes -= kept(&oldest, &gone);
                    }
                }
                None => return,
            }
        }
        // Table variables are new in every run: what is bound to those of the last one must not be found again.
        if !callable.program.tables.is_empty() {
            callable.bound.forget();
        }
        if self.entries.len() >= LIMIT {
            let oldest = oldest(&self.entries);
            if let Some((key, (_, gone))) = oldest.and_then(|k| self.entries.remove_entry(&k)) {
                self.bytes -= kept(&key, &gone);
            }
        }
        self.clock += 1;
        self.bytes += more;
        if let Some((_, before)) = self.entries.insert(key.clone(), (self.clock, callable)) {
            self.bytes -= kept(&key, &before);
        }
    }
}

fn oldest(entries: &BTreeMap<String, (u64, Callable)>) -> Option<String> {
    let oldest = entries.iter().min_by_key(|(_, (used, _))| *used);
    oldest.map(|(key, _)| key.clone())
}

/// What a kept program takes.
fn kept(key: &str, callable: &Callable) -> u64 {
    callable.bytes + key.len() as u64
}
