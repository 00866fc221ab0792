//! CHECK and FOREIGN KEY from the tree to the catalog's requests: what may be declared at all, and the errors of what
//! may not, each followed by 1750.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::sync::Arc;

use duramen_access::stored::StoredTable;
use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_catalog::{
    ConstraintState, ForeignKeyDef, NewCheck, NewColumn, NewForeignKey, ObjectKind, TableDef, fold,
};
use duramen_planner::Binder;
use duramen_planner::bind::{Exposed, Scope, ScopeColumn, ScopeSource};
use duramen_tsql::ast::{self, ReferenceAction};
use duramen_types::SqlType;

use super::{Ddl, refuse};

/// A column of the table that a constraint is declared for.
pub(super) struct Declared {
    pub id: i32,
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    pub has_default: bool,
    pub computed: bool,
}

/// The columns of a table that is being created.
pub(super) fn of_new(columns: &[NewColumn]) -> Vec<Declared> {
    let columns = (1..).zip(columns).map(|(id, c)| Declared {
        id,
        name: c.name.clone(),
        ty: c.ty,
        nullable: c.nullable,
        has_default: c.default.is_some(),
        computed: c.computed.is_some(),
    });
    columns.collect()
}

/// The columns of a table that is there.
pub(super) fn of_table(table: &TableDef) -> Vec<Declared> {
    let columns = table.columns.iter().map(|c| Declared {
        id: c.id,
        name: c.name.clone(),
        ty: c.ty,
        nullable: c.nullable,
        has_default: c.default.is_some(),
        computed: c.computed.is_some(),
    });
    columns.collect()
}

/// The table that refers.
pub(super) struct Referring<'t> {
    pub name: &'t str,
    pub schema: i32,
    /// `None` while it is being created.
    pub table: Option<&'t TableDef>,
    pub columns: &'t [Declared],
    /// The unique keys of a table that is being created: primary, index id, column ids.
    pub keys: Vec<(bool, u16, Vec<i32>)>,
    /// What was declared before in the same CREATE TABLE.
    pub others: &'t [NewForeignKey],
}

/// The names of the columns as a condition over the table sees them.
fn scope(table: Exposed, columns: &[Declared]) -> Scope<'static> {
    let columns = columns.iter().map(|c| ScopeColumn {
        name: c.name.as_str().into(),
        ty: c.ty,
        nullable: c.nullable,
        identity: false,
        updatable: true,
    });
    Scope {
        sources: vec![ScopeSource::new(table, columns.collect(), 0)],
        ..Scope::default()
    }
}

impl Ddl<'_> {
    /// What a table, by its schema and name, is called in an expression of its own.
    pub(super) fn exposed(&self, (schema, table): (i32, &str)) -> SqlResult<Exposed> {
        let snapshot = self.db.catalog.snapshot()?;
        let table = duramen_access::temporary::short_name(table);
        Ok(Exposed::table(snapshot.schema_name(schema), table))
    }

    /// The condition or expression of a constraint or computed column, bound to find its errors; with the columns it
    /// reads and its type.
    pub(super) fn bound(
        &self,
        table: Exposed,
        columns: &[Declared],
        e: &ast::Expr,
    ) -> SqlResult<duramen_query::Expr> {
        let session = self.host()?;
        let inside = session.within(&self.db.db.name, false);
        let host = inside.as_deref().unwrap_or(session);
        let bound = Binder::new(host).over(e, &scope(table, columns))?;
        if bound.reads_tables() {
            return Err(SqlError::new(&messages::SUBQUERY_NOT_ALLOWED, &[]));
        }
        Ok(bound)
    }

    /// 8141 and 1750
    pub(super) fn reads_itself(&self, table: &str, c: &ast::ColumnDef) -> SqlResult<()> {
        let found = duramen_program::refused::reads_itself(table, c);
        found.map_err(|e| self.not_created(e))
    }

    pub(super) fn check(
        &self,
        table: (i32, &str),
        columns: &[Declared],
        c: &ast::TableConstraint,
        state: ConstraintState,
    ) -> SqlResult<NewCheck> {
        let ast::ConstraintKind::Check {
            expr,
            source,
            not_for_replication,
        } = &c.kind
        else {
            return Err(refuse("this constraint", c.line));
        };
        let bound = self
            .bound(self.exposed(table)?, columns, expr)
            .map_err(|e| e.at_line(c.line as i32))?;
        let read: Vec<usize> = bound.columns_read().into_iter().collect();
        let column = match read.as_slice() {
            [one] => columns.get(*one).map_or(0, |c| c.id),
            _ => 0,
        };
        let text = match duramen_program::normal::normal(expr) {
            Some(text) => text,
            None => self.source(*source, c.line)?,
        };
        Ok(NewCheck {
            name: c.name.clone(),
            text,
            column,
            state: ConstraintState {
                not_for_replication: *not_for_replication,
                not_trusted: state.not_trusted || *not_for_replication,
                ..state
            },
        })
    }

    pub(super) fn foreign_key(
        &self,
        from: &Referring<'_>,
        c: &ast::TableConstraint,
        state: ConstraintState,
    ) -> SqlResult<NewForeignKey> {
        self.build_key(from, c, state)
            .map_err(|e| e.at_line(c.line as i32))
    }

    #[expect(
        clippy::too_many_lines,
        reason = "the rules of a key, in the order of their errors"
    )]
    fn build_key(
        &self,
        from: &Referring<'_>,
        c: &ast::TableConstraint,
        state: ConstraintState,
    ) -> SqlResult<NewForeignKey> {
        let ast::ConstraintKind::ForeignKey {
            columns,
            table,
            referenced,
            on_delete,
            on_update,
            not_for_replication,
        } = &c.kind
        else {
            return Err(refuse("this constraint", c.line));
        };
        let snapshot = self.db.catalog.snapshot()?;
        let shown = self.shown_name(from, c, columns);
        let database = table.database();
        if database.is_some_and(|d| fold(d) != fold(&self.db.db.name)) {
            let message = &messages::FOREIGN_KEY_CROSS_DATABASE;
            return Err(SqlError::new(message, &[&shown]).with_state(0));
        }
        let schema = match table.schema() {
            Some(name) => snapshot.schema(name).map(|s| s.id),
            None => Some(duramen_catalog::SCHEMA_DBO),
        };
        let itself = schema == Some(from.schema) && fold(table.name()) == fold(from.name);
        let object = schema.and_then(|s| snapshot.find(s, table.name()));
        let target = match (itself, object) {
            (true, _) => None,
            (false, None) => {
                let args: [&dyn Display; 2] = [&shown, &table.display()];
                let error = SqlError::new(&messages::FOREIGN_KEY_INVALID_TABLE, &args);
                return Err(error.with_state(0));
            }
            (false, Some(o)) if o.kind != ObjectKind::TABLE => {
                let args: [&dyn Display; 2] = [&shown, &table.display()];
                let error = SqlError::new(&messages::FOREIGN_KEY_NOT_USER_TABLE, &args);
                return Err(error.with_state(0));
            }
            (false, Some(o)) => snapshot.table(o.id).cloned(),
        };
        let there_owned = target.as_deref().map(of_table);
        let there: &[Declared] = there_owned.as_deref().unwrap_or(from.columns);
        let keys: Vec<(bool, u16, Vec<i32>)> = match (&target, from.table) {
            (Some(t), _) => keys_of(t),
            (None, Some(t)) => keys_of(t),
            (None, None) => from.keys.clone(),
        };
        // Columns here.
        let mut here: Vec<&Declared> = Vec::new();
        for name in columns {
            let found = from.columns.iter().find(|d| fold(&d.name) == fold(name));
            let missing = || {
                let args: [&dyn Display; 3] = [&shown, name, &from.name];
                SqlError::new(&messages::FOREIGN_KEY_REFERENCING_COLUMN, &args)
            };
            here.push(found.ok_or_else(missing)?);
        }
        // Columns there: named, or those of the primary key.
        let mut other: Vec<&Declared> = Vec::new();
        if referenced.is_empty() {
            let primary = keys.iter().find(|(primary, ..)| *primary);
            let missing = || {
                let args: [&dyn Display; 2] = [&shown, &table.display()];
                SqlError::new(&messages::FOREIGN_KEY_NO_PRIMARY_KEY, &args).with_state(0)
            };
            let (_, _, ids) = primary.ok_or_else(missing)?;
            other.extend(
                ids.iter()
                    .filter_map(|id| there.iter().find(|d| d.id == *id)),
            );
        }
        for name in referenced {
            let found = there.iter().find(|d| fold(&d.name) == fold(name));
            let missing = || {
                let args: [&dyn Display; 3] = [&shown, name, &table.display()];
                SqlError::new(&messages::FOREIGN_KEY_REFERENCED_COLUMN, &args).with_state(0)
            };
            other.push(found.ok_or_else(missing)?);
        }
        if here.len() != other.len() {
            let args: [&dyn Display; 1] = [&shown];
            return Err(SqlError::new(&messages::FOREIGN_KEY_COLUMN_COUNT, &args).with_state(0));
        }
        let ids: BTreeSet<i32> = other.iter().map(|d| d.id).collect();
        let key = keys.iter().find(|(_, _, key)| {
            key.len() == other.len()
                && key.iter().all(|id| ids.contains(id))
                && ids.len() == key.len()
        });
        let Some((_, index, _)) = key else {
            let args: [&dyn Display; 2] = [&table.display(), &shown];
            let error = SqlError::new(&messages::FOREIGN_KEY_NO_CANDIDATE_KEY, &args);
            return Err(error.with_state(0));
        };
        for (h, t) in here.iter().zip(&other) {
            let message = if h.ty.id != t.ty.id {
                &messages::FOREIGN_KEY_TYPE
            } else if (h.ty.length, h.ty.precision, h.ty.scale)
                != (t.ty.length, t.ty.precision, t.ty.scale)
            {
                &messages::FOREIGN_KEY_LENGTH
            } else if h.ty.id.is_string() && h.ty.collation != t.ty.collation {
                &messages::FOREIGN_KEY_COLLATION
            } else {
                continue;
            };
            let args: [&dyn Display; 5] = [&table.display(), &t.name, &from.name, &h.name, &shown];
            return Err(SqlError::new(message, &args).with_state(0));
        }
        let (on_delete, on_update) = (number(*on_delete), number(*on_update));
        self.check_actions(&here, &shown, (on_delete, on_update), c.line)?;
        let new = NewForeignKey {
            name: c.name.clone(),
            referenced: match (&target, from.table) {
                (Some(t), _) => t.id,
                (None, Some(t)) => t.id,
                (None, None) => ObjectId(0),
            },
            referenced_index: *index,
            columns: here.iter().zip(&other).map(|(h, t)| (h.id, t.id)).collect(),
            on_delete,
            on_update,
            state: ConstraintState {
                not_for_replication: *not_for_replication,
                not_trusted: state.not_trusted || *not_for_replication,
                ..state
            },
        };
        self.check_paths(from, &new, &shown)?;
        Ok(new)
    }

    /// The name in messages about a key that is not there yet; one that is made up ends in a number nobody knows.
    fn shown_name(
        &self,
        from: &Referring<'_>,
        c: &ast::TableConstraint,
        columns: &[String],
    ) -> String {
        if let Some(name) = &c.name {
            return name.clone();
        }
        let cut = |s: &str, n: usize| s.chars().take(n).collect::<String>();
        let table = cut(from.name, 9);
        let column = columns.first().map_or("", String::as_str);
        let column = cut(column, 14 - table.chars().count());
        let next = self.db.catalog.peek_object_id().map_or(0, |id| id.0);
        format!("FK__{table}__{column}__{next:08X}")
    }

    fn check_actions(
        &self,
        here: &[&Declared],
        shown: &str,
        (on_delete, on_update): (u8, u8),
        line: u32,
    ) -> SqlResult<()> {
        let any = |n: u8| on_delete == n || on_update == n;
        if any(SET_NULL) && here.iter().any(|d| !d.nullable) {
            let error = SqlError::new(&messages::FOREIGN_KEY_SET_NULL, &[&shown]);
            return Err(error.with_state(0));
        }
        if any(SET_DEFAULT) && here.iter().any(|d| !d.nullable && !d.has_default) {
            let error = SqlError::new(&messages::FOREIGN_KEY_SET_DEFAULT, &[&shown]);
            return Err(error.with_state(0));
        }
        let changes = any(SET_NULL) || any(SET_DEFAULT) || on_update == CASCADE;
        if changes && here.iter().any(|d| d.computed) {
            return Err(refuse("foreign key actions on computed columns", line));
        }
        Ok(())
    }

    /// 1785: from one table, the actions of foreign keys must reach every other at most once, and never itself.
    fn check_paths(&self, from: &Referring<'_>, new: &NewForeignKey, shown: &str) -> SqlResult<()> {
        let snapshot = self.db.catalog.snapshot()?;
        let own = from.table.map_or(ObjectId(0), |t| t.id);
        for update in [false, true] {
            let acts = |on_delete: u8, on_update: u8| match update {
                false => on_delete != 0,
                true => on_update != 0,
            };
            if !acts(new.on_delete, new.on_update) {
                continue;
            }
            // Edges from the table referred to, to the one that refers.
            let mut edges: BTreeMap<ObjectId, Vec<ObjectId>> = BTreeMap::new();
            for t in snapshot.tables.values() {
                let active = t.foreign_keys.iter();
                for f in active.filter(|f| acts(f.on_delete, f.on_update)) {
                    edges.entry(f.referenced).or_default().push(t.id);
                }
            }
            for f in from.others.iter().chain([new]) {
                if acts(f.on_delete, f.on_update) {
                    edges.entry(f.referenced).or_default().push(own);
                }
            }
            let starts: Vec<ObjectId> = edges.keys().copied().collect();
            for start in starts {
                let mut seen = BTreeSet::from([start]);
                let mut stack = vec![start];
                while let Some(at) = stack.pop() {
                    for next in edges.get(&at).into_iter().flatten() {
                        if !seen.insert(*next) {
                            let args: [&dyn Display; 2] = [&shown, &from.name];
                            let error = SqlError::new(&messages::FOREIGN_KEY_CYCLES, &args);
                            return Err(error.with_state(0));
                        }
                        stack.push(*next);
                    }
                }
            }
        }
        Ok(())
    }

    /// 547 when a row that is there breaks the constraint.
    pub(super) fn verify(&self, table: &TableDef, constraint: &str) -> SqlResult<()> {
        let found = self.stored(table)?;
        let mut vars = Vec::new();
        let host = self.host()?;
        let mut cx = duramen_query::Cx::new(host, &mut vars, host.convert_ctx());
        duramen_planner::dml::verify_rows(&found, constraint, "ALTER TABLE", &mut cx)
    }

    /// The table as queries have it.
    pub(super) fn stored(
        &self,
        table: &TableDef,
    ) -> SqlResult<Arc<dyn duramen_query::host::Table>> {
        // As the statement has made it so far; by id, since a temporary table's name is its session's.
        let snapshot = self.db.catalog.snapshot()?;
        let missing = || SqlError::new(&messages::INTERNAL_QUERY_ERROR, &[]);
        let table = snapshot.table(table.id).ok_or_else(missing)?;
        Ok(Arc::new(StoredTable::new(self.db.clone(), table.clone())))
    }
}

/// The unique keys of a table that a foreign key may refer to.
fn keys_of(t: &TableDef) -> Vec<(bool, u16, Vec<i32>)> {
    let keys = t.indexes.iter().filter(|i| i.unique && !i.options.disabled);
    let ids =
        |i: &duramen_catalog::IndexDef| i.keys.iter().map(|k| t.columns[k.column].id).collect();
    keys.map(|i| (i.primary_key, i.id, ids(i))).collect()
}

const CASCADE: u8 = 1;
const SET_NULL: u8 = 2;
const SET_DEFAULT: u8 = 3;

fn number(action: ReferenceAction) -> u8 {
    match action {
        ReferenceAction::NoAction => 0,
        ReferenceAction::Cascade => CASCADE,
        ReferenceAction::SetNull => SET_NULL,
        ReferenceAction::SetDefault => SET_DEFAULT,
    }
}

/// 3725 and 3727: a key that foreign keys of other tables rely on stays.
pub(super) fn not_referenced(
    ddl: &Ddl<'_>,
    table: &TableDef,
    index: u16,
    name: &str,
) -> SqlResult<()> {
    let user = |(_, f): &&(ObjectId, ForeignKeyDef)| f.referenced_index == index;
    let Some((other, key)) = table.referenced_by.iter().find(user) else {
        return Ok(());
    };
    let other = ddl.db.catalog.table(*other)?;
    let other = other.map_or(String::new(), |t| t.name.clone());
    let args: [&dyn Display; 3] = [&name, &other, &key.name];
    Err(SqlError::new(&messages::CONSTRAINT_REFERENCED, &args).with_state(0))
}
