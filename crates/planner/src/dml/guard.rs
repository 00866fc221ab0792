//! Constraints at work: what a change of a table must keep, and what it does to the rows that refer to it.
//!
//! Invariants:
//! 1. A check constraint is tested on every new row before anything is written; a row is refused when the condition is
//!    false, not when it is unknown. [golden: constraints]
//! 2. A statement first makes all its changes, those of cascades among them; then every foreign key that they touch is
//!    tested against what is there now. So rows may refer to one another in any order.
//!    [golden: constraints]
//! 3. Tests of foreign keys read what is committed, with locks, whatever the isolation level and READ_COMMITTED_SNAPSHOT
//!    say. Whoever adds a reference has locked its own row before it looks for the key; whoever takes the key away has
//!    locked that before it looks for references: one of the two sees the other.
//!    [test: references_and_keys_wait_for_each_other; test: versions_do_not_fool_a_foreign_key]
//! 4. Keys are tested once each, however many rows have them: by a seek where an index begins with the key's columns,
//!    else by one pass over the table. [assert: guard/4]
//! 5. Cascades end: the catalog refuses foreign keys whose actions could meet again (error 1785). [golden: constraints]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use duramen_base::{SqlError, SqlResult, given_up, messages};
use duramen_query::host::{Bounds, Host, Source, Table};
use duramen_query::kept::Held;
use duramen_query::key::RowKey;
use duramen_query::rules::{Generated, KeyAction, KeyRule, Rules};
use duramen_query::{Cx, Expr, Row, ScanLock};
use duramen_tsql::{ParseOptions, ast, parse_condition, parse_expression};
use duramen_txn::IsolationLevel;
use duramen_types::{CollationId, SqlType, Value};

use super::row;
use crate::bind::{Binder, Exposed, Scope, ScopeSource};

/// How a constraint's test reads.
pub(super) const TEST: ScanLock = ScanLock {
    level: Some(IsolationLevel::ReadCommitted),
    unversioned: true,
    ..ScanLock::READ
};

/// Which changes a guard is bound for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    Insert,
    /// With the positions of the columns that get new values.
    Update(&'a [usize]),
    Delete,
}

/// The constraints that one kind of change of a table must keep. Empty for most tables.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    checks: Vec<Check>,
    references: Vec<Arc<Reference>>,
    referenced_by: Vec<Arc<Referrer>>,
}

#[derive(Debug)]
struct Check {
    name: String,
    condition: Expr,
    column: Option<String>,
}

/// A foreign key of the table.
#[derive(Debug)]
struct Reference {
    name: String,
    same_table: bool,
    /// The table referred to, the path of its key, and for each column of that key the position here.
    table: Arc<dyn Table>,
    path: usize,
    columns: Vec<usize>,
    collations: Arc<[CollationId]>,
    /// The column referred to, where the key has only one.
    column: Option<String>,
}

/// A foreign key of another table that refers to this one.
#[derive(Debug)]
pub(super) struct Referrer {
    name: String,
    same_table: bool,
    pub(super) table: Arc<dyn Table>,
    /// Positions in the table referred to, and in the one that refers.
    here: Vec<usize>,
    pub(super) there: Vec<usize>,
    pub(super) collations: Arc<[CollationId]>,
    /// A path of the table that refers that begins with its columns, and which of the key's values it takes.
    pub(super) path: Option<(usize, Vec<usize>)>,
    /// Where the key of the table referred to can be sought: whether an old key is still there after an UPDATE.
    pub(super) own: Option<(Arc<dyn Table>, usize, Vec<usize>)>,
    /// The column that refers, where the key has only one.
    column: Option<String>,
    /// What is done to its rows instead of refusing.
    pub(super) follow: Option<Follow>,
}

/// A cascade.
#[derive(Debug)]
pub(super) struct Follow {
    /// `None`: rows are deleted. Otherwise what each column of the key becomes; without an expression, the new key.
    pub(super) values: Option<Vec<Option<Expr>>>,
    pub(super) guard: Guard,
}

/// What a key takes that is noted, about.
const KEY_BYTES: usize = 128;

/// What a running statement still has to test, or do to other tables.
#[derive(Default)]
pub(crate) struct Pending {
    references: Vec<(Arc<Reference>, BTreeSet<RowKey>)>,
    pub(super) gone: Vec<(Arc<Referrer>, BTreeSet<RowKey>)>,
    held: Held,
}

impl Guard {
    /// Binds what the change needs; `host` may be in any database.
    pub(crate) fn bind(
        host: &dyn Host,
        table: &Arc<dyn Table>,
        change: Change<'_>,
    ) -> SqlResult<Guard> {
        Guard::of(host, table, &table.rules()?, change)
    }

    fn of(
        host: &dyn Host,
        table: &Arc<dyn Table>,
        rules: &Rules,
        change: Change<'_>,
    ) -> SqlResult<Guard> {
        let mut guard = Guard::default();
        if rules.is_empty() {
            return Ok(guard);
        }
        let computed = table
            .columns()
            .iter()
            .any(|c| c.generated == Generated::Computed);
        let touched = |column: usize| match change {
            Change::Update(assigned) => computed || assigned.contains(&column),
            _ => true,
        };
        if !matches!(change, Change::Delete) {
            for rule in &rules.checks {
                let condition = bind_over(host, &**table, &rule.text)?;
                let read = condition.columns_read();
                if read.is_empty() || read.iter().any(|c| touched(*c)) {
                    guard.checks.push(Check {
                        name: rule.name.clone(),
                        condition,
                        column: rule.column.clone(),
                    });
                }
            }
            for rule in &rules.references {
                if rule.columns.iter().any(|(here, _)| touched(*here)) {
                    let reference = Reference::bind(host, table, rule)?;
                    guard.references.push(Arc::new(reference));
                }
            }
        }
        if !matches!(change, Change::Insert) {
            for rule in &rules.referenced_by {
                if rule.columns.iter().any(|(here, _)| touched(*here)) {
                    let referrer = Referrer::bind(host, table, rule, change)?;
                    guard.referenced_by.push(Arc::new(referrer));
                }
            }
        }
        Ok(guard)
    }

    /// Whether rows are looked at again after they are written.
    pub(crate) fn follows(&self) -> bool {
        !self.references.is_empty() || !self.referenced_by.is_empty()
    }

    /// Whether new rows are looked at before they are written.
    pub(crate) fn checks(&self) -> bool {
        !self.checks.is_empty()
    }

    /// 547 for a new row that a check constraint forbids.
    pub(crate) fn check(
        &self,
        table: &dyn Table,
        row: &[Value],
        statement: &str,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        for c in &self.checks {
            if c.condition.test(row, cx)? == Some(false) {
                return Err(conflict(
                    (statement, "CHECK"),
                    &c.name,
                    table.place(),
                    c.column.as_deref(),
                ));
            }
        }
        Ok(())
    }

    /// Notes the keys that a row that was written refers to.
    pub(crate) fn written(&self, row: &[Value], pending: &mut Pending) {
        for r in &self.references {
            if let Some(key) = key_of(row, &r.columns, &r.collations) {
                pending.refers(r, key);
            }
        }
    }

    /// Rows were deleted: cascades, and notes what must not be referred to any more.
    pub(crate) fn deleted<'r>(
        &self,
        rows: impl Iterator<Item = &'r Row> + Clone,
        pending: &mut Pending,
        statement: &str,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        for r in &self.referenced_by {
            let keys: BTreeMap<RowKey, RowKey> = rows
                .clone()
                .filter_map(|row| key_of(row, &r.here, &r.collations))
                .map(|key| (key.clone(), key))
                .collect();
            r.gone(keys, pending, statement, cx)?;
        }
        Ok(())
    }

    /// Rows were updated: notes the keys that changed.
    pub(crate) fn updated<'r>(
        &self,
        rows: impl Iterator<Item = (&'r Row, &'r Row)> + Clone,
        moved: &mut Moved,
        pending: &mut Pending,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        for (old, new) in rows.clone() {
            for r in &self.references {
                if let Some(key) = key_of(new, &r.columns, &r.collations)
                    && key_of(old, &r.columns, &r.collations).as_ref() != Some(&key)
                {
                    pending.refers(r, key);
                }
            }
        }
        moved
            .keys
            .resize_with(self.referenced_by.len(), BTreeMap::new);
        for (r, keys) in self.referenced_by.iter().zip(&mut moved.keys) {
            let known = keys.len();
            for (old, new) in rows.clone() {
                let Some(before) = key_of(old, &r.here, &r.collations) else {
                    continue;
                };
                // What the row has now, NULLs and all.
                let after: Row = r.here.iter().map(|c| new[*c].clone()).collect();
                let after = RowKey::new(after, r.collations.clone());
                if !same_values(before.values(), after.values()) {
                    keys.insert(before, after);
                }
            }
            moved.held.must((keys.len() - known) * 2 * KEY_BYTES, cx)?;
        }
        pending.count(cx)
    }

    /// All rows that were updated have been noted: those that refer to their keys follow. A key that one row gets another
    /// may have had, so they are looked at together.
    pub(crate) fn follow(
        &self,
        moved: Moved,
        pending: &mut Pending,
        statement: &str,
        cx: &mut Cx<'_>,
    ) -> SqlResult<()> {
        for (r, keys) in self.referenced_by.iter().zip(moved.keys) {
            r.gone(keys, pending, statement, cx)?;
        }
        pending.count(cx)
    }
}

/// A key that compares as equal may still be written differently: references follow its new writing.
fn same_values(a: &[Value], b: &[Value]) -> bool {
    a == b
}

/// Keys that rows had, with what they have now, for each table that refers to them.
#[derive(Default)]
pub(crate) struct Moved {
    keys: Vec<BTreeMap<RowKey, RowKey>>,
    held: Held,
}

impl Pending {
    /// Counts what is kept; 701 where there is no room for it.
    pub(crate) fn count(&mut self, cx: &Cx<'_>) -> SqlResult<()> {
        let references = self.references.iter().map(|(_, keys)| keys);
        let all = references.chain(self.gone.iter().map(|(_, keys)| keys));
        let bytes: usize = all.map(|keys| keys.len() * KEY_BYTES).sum();
        let more = bytes.saturating_sub(self.held.bytes());
        match more {
            0 => Ok(()),
            more => self.held.must(more, cx),
        }
    }

    fn refers(&mut self, reference: &Arc<Reference>, key: RowKey) {
        let mut known = self.references.iter_mut();
        match known.find(|(r, _)| Arc::ptr_eq(r, reference)) {
            Some((_, keys)) => {
                keys.insert(key);
            }
            None => self
                .references
                .push((reference.clone(), BTreeSet::from([key]))),
        }
    }

    /// The end of the statement: 547 for a key that is referred to and is not there.
    pub(crate) fn verify(self, statement: &str, cx: &mut Cx<'_>) -> SqlResult<()> {
        debug_assert!(
            (1..self.references.len()).all(|i| {
                let (one, _) = &self.references[i];
                self.references[..i]
                    .iter()
                    .all(|(o, _)| !Arc::ptr_eq(o, one))
            }),
            "guard/4: the keys of a constraint are noted at two places"
        );
        for (reference, keys) in &self.references {
            for key in keys {
                cx.check_cancelled()?;
                if !has_key(&reference.table, reference.path, key.values().to_vec(), cx)? {
                    return Err(reference.conflict(statement));
                }
            }
        }
        for (referrer, keys) in &self.gone {
            if referrer.is_referred_to(keys, cx)? {
                return Err(referrer.conflict(statement));
            }
        }
        Ok(())
    }
}

impl Reference {
    fn bind(host: &dyn Host, table: &Arc<dyn Table>, rule: &KeyRule) -> SqlResult<Reference> {
        let other = other_table(host, table, rule)?;
        let there: Vec<usize> = rule.columns.iter().map(|(_, there)| *there).collect();
        let path = key_path(&other, &there).ok_or_else(lost)?;
        let here_of = |column: usize| {
            let pair = rule.columns.iter().find(|(_, there)| *there == column);
            pair.map(|(here, _)| *here)
        };
        let keys = &other.paths()[path].keys;
        let columns: Option<Vec<usize>> = keys.iter().map(|(c, _)| here_of(*c)).collect();
        let columns = columns.ok_or_else(lost)?;
        Ok(Reference {
            name: rule.name.clone(),
            same_table: rule.same_table,
            path,
            collations: collations(table, &columns),
            columns,
            column: single(&other, &there),
            table: other,
        })
    }

    fn conflict(&self, statement: &str) -> SqlError {
        let kind = match self.same_table {
            true => "FOREIGN KEY SAME TABLE",
            false => "FOREIGN KEY",
        };
        conflict(
            (statement, kind),
            &self.name,
            self.table.place(),
            self.column.as_deref(),
        )
    }
}

impl Referrer {
    fn bind(
        host: &dyn Host,
        table: &Arc<dyn Table>,
        rule: &KeyRule,
        change: Change<'_>,
    ) -> SqlResult<Referrer> {
        let other = other_table(host, table, rule)?;
        let (here, there): (Vec<usize>, Vec<usize>) = rule.columns.iter().copied().unzip();
        let action = match change {
            Change::Delete => rule.on_delete,
            _ => rule.on_update,
        };
        let values: Option<Vec<Option<Expr>>> = match (action, change) {
            (KeyAction::NoAction, _) | (KeyAction::Cascade, Change::Delete) => None,
            (KeyAction::Cascade, _) => Some(vec![None; there.len()]),
            (KeyAction::SetNull, _) => {
                let null = |c: &usize| Some(Expr::constant(Value::Null, other.columns()[*c].ty));
                Some(there.iter().map(null).collect())
            }
            (KeyAction::SetDefault, _) => {
                let binder = Binder::new(host);
                let default = |c: &usize| row::default_value(host, &binder, &other, *c).map(Some);
                Some(there.iter().map(default).collect::<SqlResult<_>>()?)
            }
        };
        let follow = match action {
            KeyAction::NoAction => None,
            _ => {
                let change = match values {
                    None => Change::Delete,
                    Some(_) => Change::Update(&there),
                };
                let guard = Guard::bind(host, &other, change)?;
                Some(Follow { values, guard })
            }
        };
        let after = (!matches!(change, Change::Delete)).then_some(());
        let own = after
            .and_then(|()| key_path(table, &here))
            .and_then(|path| {
                let keys = &table.paths()[path].keys;
                let order: Option<Vec<usize>> = keys
                    .iter()
                    .map(|(c, _)| here.iter().position(|h| h == c))
                    .collect();
                Some((table.clone(), path, order?))
            });
        Ok(Referrer {
            name: rule.name.clone(),
            same_table: rule.same_table,
            path: leading_path(&other, &there),
            collations: collations(table, &here),
            own,
            column: single(&other, &there),
            here,
            there,
            table: other,
            follow,
        })
    }

    fn conflict(&self, statement: &str) -> SqlError {
        let kind = match self.same_table {
            true => "SAME TABLE REFERENCE",
            false => "REFERENCE",
        };
        conflict(
            (statement, kind),
            &self.name,
            self.table.place(),
            self.column.as_deref(),
        )
    }
}

/// 547
fn conflict(
    (statement, kind): (&str, &str),
    name: &str,
    (database, table): (&str, &str),
    column: Option<&str>,
) -> SqlError {
    let (before, column, after) = match column {
        Some(c) => (", column '", c, "'"),
        None => ("", "", ""),
    };
    let args: [&dyn Display; 8] = [
        &statement, &kind, &name, &database, &table, &before, &column, &after,
    ];
    SqlError::new(&messages::CONSTRAINT_CONFLICT, &args).with_state(0)
}

/// A condition or expression over the columns of a table, as its catalog text says it.
fn bind_over(host: &dyn Host, table: &dyn Table, text: &str) -> SqlResult<Expr> {
    let options = ParseOptions {
        quoted_identifier: true,
    };
    bind_parsed(host, table, (&parse_condition(text, &options)?, false))
}

fn bind_parsed(
    host: &dyn Host,
    table: &dyn Table,
    (parsed, computed): (&ast::Expr, bool),
) -> SqlResult<Expr> {
    let (database, _) = table.place();
    let inside = host.within(database, false);
    let mut binder = Binder::new(inside.as_deref().unwrap_or(host));
    binder.computed = computed;
    binder.over(parsed, &scope_of(table))
}

/// The expression of a computed column, over rows of its table and of the column's type.
pub fn bind_computed(
    host: &dyn Host,
    table: &dyn Table,
    text: &str,
    ty: SqlType,
) -> SqlResult<Expr> {
    Binder::new(host).coerce(bind_computed_as(host, table, text)?, ty)
}

/// The same, of the type that the expression itself has.
pub fn bind_computed_as(host: &dyn Host, table: &dyn Table, text: &str) -> SqlResult<Expr> {
    let options = ParseOptions {
        quoted_identifier: true,
    };
    bind_parsed(host, table, (&parse_expression(text, &options)?, true))
}

/// The columns of one table, for expressions over its rows.
pub(crate) fn scope_of(table: &dyn Table) -> Scope<'static> {
    let exposed = Exposed::defined(table.name());
    Scope {
        sources: vec![ScopeSource::new(exposed, table.out_columns(), 0)],
        ..Scope::default()
    }
}

/// The values of a key; `None` when one is NULL: then the row refers to nothing and nothing refers to it.
pub(super) fn key_of(
    row: &[Value],
    columns: &[usize],
    collations: &Arc<[CollationId]>,
) -> Option<RowKey> {
    let values: Vec<Value> = columns.iter().map(|c| row[*c].clone()).collect();
    let whole = values.iter().all(|v| !v.is_null());
    whole.then(|| RowKey::new(values, collations.clone()))
}

fn collations(table: &Arc<dyn Table>, columns: &[usize]) -> Arc<[CollationId]> {
    let all = table.columns();
    columns.iter().map(|c| all[*c].ty.collation).collect()
}

fn other_table(
    host: &dyn Host,
    table: &Arc<dyn Table>,
    rule: &KeyRule,
) -> SqlResult<Arc<dyn Table>> {
    if rule.same_table {
        return Ok(table.clone());
    }
    match host.target(&rule.other)? {
        Some(Source::Table(t)) => Ok(t),
        _ => Err(lost()),
    }
}

/// The catalog says one thing and the table another.
fn lost() -> SqlError {
    SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[])
}

/// The unique path whose key is exactly these columns.
fn key_path(table: &Arc<dyn Table>, columns: &[usize]) -> Option<usize> {
    table.paths().iter().position(|p| {
        p.unique && p.keys.len() == columns.len() && p.keys.iter().all(|(c, _)| columns.contains(c))
    })
}

/// The path that begins with most of these columns, and the positions among them that it takes.
fn leading_path(table: &Arc<dyn Table>, columns: &[usize]) -> Option<(usize, Vec<usize>)> {
    let paths = table.paths().iter().enumerate().map(|(path, p)| {
        let keys = p.keys.iter();
        let taken = keys.map_while(|(c, _)| columns.iter().position(|o| o == c));
        (path, taken.collect::<Vec<usize>>())
    });
    let best = paths.max_by_key(|(_, taken)| taken.len())?;
    (!best.1.is_empty()).then_some(best)
}

/// The name of the only column.
fn single(table: &Arc<dyn Table>, columns: &[usize]) -> Option<String> {
    match columns {
        [one] => Some(table.columns()[*one].name.clone()),
        _ => None,
    }
}

pub(super) fn has_key(
    table: &Arc<dyn Table>,
    path: usize,
    equal: Vec<Value>,
    cx: &mut Cx<'_>,
) -> SqlResult<bool> {
    let bounds = Bounds {
        path,
        equal,
        ..Bounds::default()
    };
    let mut cursor = table.open(Some(&bounds), TEST, cx)?;
    Ok(cursor.next(cx)?.is_some())
}

/// Tests one constraint on every row that is there: ALTER TABLE ... WITH CHECK.
pub fn verify_rows(
    table: &Arc<dyn Table>,
    constraint: &str,
    statement: &str,
    cx: &mut Cx<'_>,
) -> SqlResult<()> {
    let all = table.rules()?;
    let named = |name: &String| name.as_str() == constraint;
    let rules = Rules {
        checks: all.checks.into_iter().filter(|c| named(&c.name)).collect(),
        references: all
            .references
            .into_iter()
            .filter(|k| named(&k.name))
            .collect(),
        referenced_by: Vec::new(),
    };
    let guard = Guard::of(cx.host, table, &rules, Change::Insert)?;
    let mut pending = Pending::default();
    let mut cursor = table.open(None, TEST, cx)?;
    let mut at = 0;
    while let Some((_, row)) = cursor.next(cx)? {
        given_up::after_step(at)?;
        guard.check(&**table, &row, statement, cx)?;
        guard.written(&row, &mut pending);
        at += 1;
    }
    pending.verify(statement, cx)
}

/// The partitions that rows can be in which keep the named check constraints, and whether NULL breaks one:
/// see `optimize::allowed_partitions`.
pub fn partitions_of_checks(
    table: &Arc<dyn Table>,
    constraints: &[&str],
    column: usize,
    between: crate::optimize::Between<'_>,
    total: usize,
    cx: &mut Cx<'_>,
) -> SqlResult<(Vec<bool>, bool)> {
    let mut out = (vec![true; total], false);
    let Some(ty) = table.columns().get(column).map(|c| c.ty) else {
        return Ok(out);
    };
    for rule in table.rules()?.checks {
        if !constraints.contains(&rule.name.as_str()) {
            continue;
        }
        let condition = bind_over(cx.host, &**table, &rule.text)?;
        let own =
            crate::optimize::allowed_partitions(&condition, (column, &ty), between, total, cx)?;
        for (one, own) in out.0.iter_mut().zip(own.0) {
            *one &= own;
        }
        out.1 |= own.1;
    }
    Ok(out)
}
