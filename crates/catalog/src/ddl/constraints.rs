//! Constraints as objects: their names, rows and texts, and what ALTER TABLE switches about them.
//!
//! A name that the system makes up ends in the object's own id, as those of the published files do:
//! `FK__titles__pub_id__08EA5793` is object 0x08EA5793.

use std::sync::Arc;

use duramen_base::{ObjectId, SqlError, SqlResult, messages};
use duramen_txn::Transaction;
use duramen_types::Value;

use super::{NewCheck, NewForeignKey};
use crate::catalog::{CatalogDb, now};
use crate::cells::{REF_FK_COLUMN, REF_FK_REFERENCED, REF_FK_TABLE};
use crate::def::*;
use crate::doubt::{self, Doubt};
use crate::draft::begin_again;
use crate::rows::{Base, Fields, id};

/// How an object comes by its name.
pub(super) enum Named<'a> {
    As(&'a str),
    /// Made of the kind's prefix, the table and the column (empty: none).
    Made {
        prefix: &'a str,
        table: &'a str,
        column: &'a str,
    },
}

impl<'a> Named<'a> {
    pub(super) fn or_made(
        given: &'a Option<String>,
        prefix: &'a str,
        table: &'a str,
        column: &'a str,
    ) -> Named<'a> {
        match given {
            Some(name) => Named::As(name),
            None => Named::Made {
                prefix,
                table,
                column,
            },
        }
    }

    fn is_made(&self) -> bool {
        matches!(self, Named::Made { .. })
    }

    fn text(&self, object: ObjectId) -> String {
        match self {
            Named::As(name) => (*name).to_owned(),
            Named::Made {
                prefix,
                table,
                column,
            } => made_up(prefix, table, column, object),
        }
    }
}

/// The table's first nine characters, as many of the column's as fit beside them in fourteen, and the id. Keys, which
/// have no column, have eight more digits before it (what SQL Server puts there is not public).
fn made_up(prefix: &str, table: &str, column: &str, id: ObjectId) -> String {
    let cut = |s: &str, n: usize| s.chars().take(n).collect::<String>();
    let short = cut(table, 9);
    if column.is_empty() {
        let hash = table.bytes().chain(prefix.bytes());
        let hash = hash.fold(0x811c_9dc5_u32, |h, b| {
            (h ^ u32::from(b)).wrapping_mul(0x0100_0193)
        });
        return format!("{prefix}__{short}__{hash:08X}{:08X}", id.0);
    }
    let column = cut(column, 14 - short.chars().count());
    format!("{prefix}__{short}__{column}__{:08X}", id.0)
}

impl CatalogDb {
    /// The row of a constraint, module or table in `sysschobjs`, and the cached object. `parent` is the table of a
    /// constraint or trigger and the column of a column's constraint.
    pub(super) fn add_object(
        &self,
        base: &Base<'_>,
        schema: i32,
        named: Named<'_>,
        kind: ObjectKind,
        parent: (ObjectId, i32),
        status: i64,
    ) -> SqlResult<ObjectDef> {
        base.tx.check_given_up()?;
        let id = self.next_object_id()?;
        let name = named.text(id);
        let there =
            || -> SqlResult<bool> { Ok(self.seen_by(base.tx)?.find(schema, &name).is_some()) };
        if there()? {
            return Err(SqlError::new(&messages::OBJECT_ALREADY_EXISTS, &[&name]));
        }
        let made = if named.is_made() {
            object_status::SYSTEM_NAMED
        } else {
            0
        };
        let time = now();
        let object = ObjectDef {
            id,
            schema,
            name,
            kind,
            parent: parent.0,
            parent_column: parent.1,
            created: time,
            modified: time,
            status: status | made,
        };
        // Once the name is ours nobody gives it to anything; somebody may have done so while we looked.
        self.claim_object(base.tx, &object)?;
        if self.seen_by(base.tx)?.find(schema, &object.name).is_some() {
            doubt::note(Doubt::Over);
            return Err(begin_again());
        }
        self.insert_object(base, &object)?;
        Ok(object)
    }

    pub(super) fn create_default(
        &self,
        base: &Base<'_>,
        table: &ObjectDef,
        (column, column_name): (i32, &str),
        name: &Option<String>,
        text: &str,
    ) -> SqlResult<DefaultDef> {
        let object = self.add_object(
            base,
            table.schema,
            Named::or_made(name, "DF", &table.name, column_name),
            ObjectKind::DEFAULT,
            (table.id, column),
            object_status::DEFAULT,
        )?;
        self.add_text(base, object.id, text)?;
        Ok(DefaultDef {
            id: object.id,
            name: object.name,
            text: text.to_owned(),
        })
    }

    pub(super) fn create_check(
        &self,
        base: &Base<'_>,
        table: &TableDef,
        c: &NewCheck,
    ) -> SqlResult<CheckDef> {
        let column = table.columns.iter().find(|d| d.id == c.column);
        let column = column.map_or("", |c| c.name.as_str());
        let object = self.add_object(
            base,
            table.schema,
            Named::or_made(&c.name, "CK", &table.name, column),
            ObjectKind::CHECK,
            (table.id, c.column),
            object_status::CHECK | c.state.bits(),
        )?;
        self.add_text(base, object.id, &c.text)?;
        Ok(CheckDef {
            id: object.id,
            name: object.name,
            text: c.text.clone(),
            column: c.column,
            state: c.state,
        })
    }

    pub(super) fn create_foreign_key(
        &self,
        base: &Base<'_>,
        table: &TableDef,
        f: &NewForeignKey,
    ) -> SqlResult<ForeignKeyDef> {
        let first = f.columns.first().map_or(0, |c| c.0);
        let column = table.columns.iter().find(|c| c.id == first);
        let column = column.map_or("", |c| c.name.as_str());
        let referenced = match f.referenced.0 {
            0 => table.id,
            _ => f.referenced,
        };
        let object = self.add_object(
            base,
            table.schema,
            Named::or_made(&f.name, "FK", &table.name, column),
            ObjectKind::FOREIGN_KEY,
            (table.id, first),
            f.state.bits(),
        )?;
        let reference = |class: i64, sub: i64, to: ObjectId, to_sub: i64, status: i64| {
            base.insert(
                Fields::new(id::SINGLEOBJREFS)?
                    .int("class", class)
                    .int("depid", i64::from(object.id.0))
                    .int("depsubid", sub)
                    .int("indepid", i64::from(to.0))
                    .int("indepsubid", to_sub)
                    .int("status", status),
            )
        };
        let actions = i64::from(f.on_delete & 3) | i64::from(f.on_update & 3) << 2;
        let index = i64::from(f.referenced_index);
        reference(REF_FK_TABLE, 0, referenced, index, actions)?;
        for (ordinal, (here, there)) in (1..).zip(&f.columns) {
            reference(REF_FK_COLUMN, ordinal, table.id, i64::from(*here), 0)?;
            reference(REF_FK_REFERENCED, ordinal, referenced, i64::from(*there), 0)?;
        }
        Ok(ForeignKeyDef {
            id: object.id,
            name: object.name,
            referenced,
            referenced_index: f.referenced_index,
            columns: f.columns.clone(),
            state: f.state,
            on_delete: f.on_delete,
            on_update: f.on_update,
        })
    }

    /// Switches check constraints and foreign keys of a table: those for which `change` gives another state.
    pub fn set_constraint_states(
        &self,
        tx: &Transaction,
        table: &TableDef,
        mut change: impl FnMut(&str, ConstraintState) -> ConstraintState,
    ) -> SqlResult<Arc<TableDef>> {
        let base = self.base(tx);
        let mut next = table.clone();
        let checks = next.checks.iter_mut();
        let checks = checks.map(|c| (c.id, &c.name, &mut c.state, object_status::CHECK));
        let keys = next.foreign_keys.iter_mut();
        let keys = keys.map(|f| (f.id, &f.name, &mut f.state, 0));
        for (object, name, state, kind) in checks.chain(keys) {
            let wanted = change(name, *state);
            if wanted == *state {
                continue;
            }
            *state = wanted;
            let time = now();
            let status = |old: i64| kind | wanted.bits() | old & object_status::SYSTEM_NAMED;
            base.update(id::SCHOBJS, &[Value::Int(object.0)], |row| {
                row[4] = Value::Int(status(crate::cells::int(row, 4)) as i32);
                row[10] = Value::DateTime(time);
                true
            })?;
            let of_wanted = kind | wanted.bits();
            self.patch(tx, move |s, _| {
                if let Some(o) = s.objects.get_mut(&object) {
                    let o = Arc::make_mut(o);
                    o.status = of_wanted | o.status & object_status::SYSTEM_NAMED;
                    o.modified = time;
                }
            });
        }
        self.publish(tx, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that the published pubs file has.
    #[test]
    fn names_are_made_as_the_published_ones() {
        for (prefix, table, column, id, name) in [
            (
                "FK",
                "titles",
                "pub_id",
                149_575_571,
                "FK__titles__pub_id__08EA5793",
            ),
            (
                "FK",
                "titleauthor",
                "title_id",
                229_575_856,
                "FK__titleauth__title__0DAF0CB0",
            ),
            (
                "CK",
                "publishers",
                "pub_id",
                69_575_286,
                "CK__publisher__pub_i__0425A276",
            ),
            (
                "DF",
                "jobs",
                "job_desc",
                469_576_711,
                "DF__jobs__job_desc__1BFD2C07",
            ),
            (
                "FK",
                "roysched",
                "title_id",
                357_576_312,
                "FK__roysched__title___15502E78",
            ),
        ] {
            assert_eq!(made_up(prefix, table, column, ObjectId(id)), name);
        }
    }
}
