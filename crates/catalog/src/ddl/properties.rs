//! Extended properties: given, changed, taken away.

use duramen_base::SqlResult;
use duramen_txn::Transaction;

use std::sync::Arc;

use crate::catalog::CatalogDb;
use crate::cells::{int, text};
use crate::def::same_name;
use crate::draft::again;
use crate::properties::{PropertyDef, key};
use crate::rows::{Base, Fields, id};

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
