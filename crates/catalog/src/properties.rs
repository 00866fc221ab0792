//! Extended properties: names with values on the database, its schemas, objects, columns and indexes (`sysxprops`).
//!
//! What a property is on goes with it: the rows are deleted where objects, columns, indexes and schemas are.

use std::sync::Arc;

use duramen_base::SqlResult;
use duramen_txn::Transaction;
use duramen_types::Value;

use crate::catalog::CatalogDb;
use crate::def::same_name;
use crate::drafts::again;
use crate::load::{int, text};
use crate::rows::{Base, Fields, id};

/// Classes of `sys.extended_properties`.
pub mod class {
    pub const DATABASE: u8 = 0;
    pub const OBJECT: u8 = 1;
    pub const SCHEMA: u8 = 3;
    pub const INDEX: u8 = 7;
}

/// A property.
#[derive(Clone, Debug, PartialEq)]
pub struct PropertyDef {
    pub class: u8,
    /// The object or schema; 0 for the database.
    pub id: i32,
    /// The column or index; 0 for the whole.
    pub part: i32,
    pub name: String,
    /// A `sql_variant`, or NULL.
    pub value: Value,
}

pub(crate) fn load(base: &Base<'_>) -> SqlResult<Vec<PropertyDef>> {
    let rows = base.rows(id::XPROPS, &[])?;
    let of = |row: &Vec<Value>| PropertyDef {
        class: int(row, 0) as u8,
        id: int(row, 1) as i32,
        part: int(row, 2) as i32,
        name: text(row, 3),
        value: row.get(4).cloned().unwrap_or(Value::Null),
    };
    Ok(rows.iter().map(of).collect())
}

fn key(class: u8, of: i32) -> [Value; 2] {
    [Value::TinyInt(class), Value::Int(of)]
}

impl CatalogDb {
    /// Properties of a thing are written by one transaction at a time; it begins again where the one that it has looked for
    /// is there no more, or there now.
    fn claim_property(&self, tx: &Transaction, p: &PropertyDef, there: bool) -> SqlResult<()> {
        self.claim_rows(tx, id::XPROPS, i64::from(p.class), p.id)?;
        let seen = self.seen_by(tx)?;
        let found = seen.properties.iter().any(|q| {
            (q.class, q.id, q.part) == (p.class, p.id, p.part) && same_name(&q.name, &p.name)
        });
        match found == there {
            true => Ok(()),
            false => Err(again()),
        }
    }

    /// Writes a property; `new`: there is none of this name.
    pub fn put_property(&self, tx: &Transaction, p: &PropertyDef, new: bool) -> SqlResult<()> {
        self.claim_property(tx, p, !new)?;
        self.remove_property(tx, p)?;
        let base = self.base(tx);
        base.insert(
            Fields::new(id::XPROPS)?
                .int("class", i64::from(p.class))
                .int("id", i64::from(p.id))
                .int("subid", i64::from(p.part))
                .text("name", &p.name)
                .set("value", p.value.clone()),
        )?;
        let given = p.clone();
        self.patch(tx, move |s, _| {
            let all = Arc::make_mut(&mut s.properties);
            let key = |p: &PropertyDef| (p.class, p.id, p.part, p.name.to_lowercase());
            let new = key(&given);
            let at = all.partition_point(|p| key(p) < new);
            all.insert(at, given.clone());
        });
        Ok(())
    }

    /// Takes a property away.
    pub fn delete_property(&self, tx: &Transaction, p: &PropertyDef) -> SqlResult<()> {
        self.claim_property(tx, p, true)?;
        self.remove_property(tx, p)
    }

    fn remove_property(&self, tx: &Transaction, p: &PropertyDef) -> SqlResult<()> {
        let base = self.base(tx);
        base.delete(id::XPROPS, &key(p.class, p.id), |row| {
            int(row, 2) == i64::from(p.part) && text(row, 3) == p.name
        })?;
        let gone = p.clone();
        self.patch(tx, move |s, _| {
            Arc::make_mut(&mut s.properties).retain(|p| {
                (p.class, p.id, p.part) != (gone.class, gone.id, gone.part) || p.name != gone.name
            });
        });
        Ok(())
    }

    /// What a thing that is being dropped had; `part` for one of its columns or indexes alone.
    pub(crate) fn forget_properties(
        &self,
        base: &Base<'_>,
        class: u8,
        of: i32,
        part: Option<i32>,
    ) -> SqlResult<()> {
        let gone = base.delete(id::XPROPS, &key(class, of), |row| {
            part.is_none_or(|p| int(row, 2) == i64::from(p))
        })?;
        if gone > 0 {
            self.patch(base.tx, move |s, _| {
                Arc::make_mut(&mut s.properties).retain(|p| {
                    (p.class, p.id) != (class, of) || part.is_some_and(|n| n != p.part)
                });
            });
        }
        Ok(())
    }
}
