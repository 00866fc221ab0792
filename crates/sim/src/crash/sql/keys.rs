//! Foreign keys: from a column to another table's id, with what a deletion there does here.
//!
//! A row refers to a row of the same session, so that nobody else decides whether it may; what would refer to another's is
//! not known. Who refers is referred to by nobody: there are no chains.

use super::model::{Db, No, refused};
use super::table::{Foreign, OnDelete, Row, Table, Val};
use super::world::SESSIONS;

type Done = Result<(), No>;

impl Db {
    /// Tables that refer to this one, by name.
    fn referring(&self, parent: &str) -> Vec<String> {
        let refers = |t: &Table| t.foreign.iter().any(|f| f.parent == parent);
        let all = self.tables.iter().filter(|(_, t)| refers(t));
        all.map(|(n, _)| n.clone()).collect()
    }

    /// Somebody refers to it.
    pub fn is_referred_to(&self, parent: &str) -> bool {
        !self.referring(parent).is_empty()
    }
}

fn whose(id: i64) -> i64 {
    id.rem_euclid(SESSIONS as i64)
}

/// Whether rows of a table refer to what is there.
pub fn refer<'a>(
    db: &Db,
    table: &Table,
    rows: impl Iterator<Item = (&'a i64, &'a Row)> + Clone,
) -> Done {
    for f in &table.foreign {
        let parent = db.tables.get(&f.parent).ok_or(No::Unknown)?;
        let at = table.at(&f.column).ok_or(No::Unknown)?;
        let mut broken = false;
        for (id, row) in rows.clone() {
            match row[at] {
                Val::Null => {}
                Val::Int(v) if whose(v) != whose(*id) => return Err(No::Unknown),
                Val::Int(v) => broken |= !parent.rows.contains_key(&v),
                _ => return Err(No::Unknown),
            }
        }
        if broken {
            return Err(refused(&[547]));
        }
    }
    Ok(())
}

/// ADD CONSTRAINT: the key itself, and the rows that are there.
pub fn add(db: &mut Db, at: &str, key: &Foreign) -> Done {
    let (Some(child), Some(parent)) = (db.tables.get(at), db.tables.get(&key.parent)) else {
        return Err(super::model::missing());
    };
    let column = child.column(&key.column).ok_or(No::Unknown)?;
    let stands = at != key.parent
        && child.foreign.is_empty()
        && parent.foreign.is_empty()
        && !db.is_referred_to(at)
        && !child.is_shut()
        && !parent.is_shut()
        && !child.partitioned
        && parent.guards_id()
        && column.is_given()
        && column.ty == super::table::Ty::Int
        && (column.nullable || key.on_delete != OnDelete::SetNull);
    if !stands {
        return Err(No::Unknown);
    }
    let mut with = (**child).clone();
    with.foreign.push(key.clone());
    refer(db, &with, child.rows.iter())?;
    db.tables.insert(at.to_owned(), std::sync::Arc::new(with));
    Ok(())
}

/// Rows of a table have gone: what becomes of those that refer to them.
pub fn gone(db: &mut Db, parent: &str, ids: &[i64]) -> Done {
    for name in db.referring(parent) {
        let Some(child) = db.tables.get_mut(&name).map(std::sync::Arc::make_mut) else {
            continue;
        };
        if child.is_shut() {
            return Err(No::Unknown);
        }
        for f in child.foreign.clone().iter().filter(|f| f.parent == parent) {
            let at = child.at(&f.column).ok_or(No::Unknown)?;
            let refers = |row: &Row| matches!(row[at], Val::Int(v) if ids.contains(&v));
            match f.on_delete {
                OnDelete::NoAction if child.rows.values().any(refers) => {
                    return Err(refused(&[547]));
                }
                OnDelete::NoAction => {}
                OnDelete::Cascade => child.rows.retain(|_, r| !refers(r)),
                OnDelete::SetNull => {
                    let mut rows = std::mem::take(&mut child.rows);
                    for row in rows.values_mut().filter(|r| refers(r)) {
                        row[at] = Val::Null;
                        child.compute(row);
                    }
                    child.rows = rows;
                }
            }
        }
    }
    Ok(())
}
