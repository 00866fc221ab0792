//! Rowsets that are kept open by who works on a table again and again, so that a row's way into it begins with no look-up.

use std::borrow::Cow;
use std::sync::Arc;

use crate::def::RowsetDef;
use crate::engine::Database;
use crate::rowset::Rowset;

/// More than a table with its indexes has; one with many partitions looks up which it needs.
const MOST: usize = 16;

/// Rowsets of one table of one database.
#[derive(Clone)]
pub struct OpenRowsets {
    db: Arc<Database>,
    known: Vec<Rowset>,
}

impl OpenRowsets {
    /// Those of `defs` are kept, unless they are many.
    pub fn new<'d>(
        db: &Arc<Database>,
        defs: impl Iterator<Item = &'d Arc<RowsetDef>>,
    ) -> OpenRowsets {
        let mut known: Vec<Rowset> = defs.take(MOST + 1).map(|d| db.rowset(d)).collect();
        if known.len() > MOST {
            known.clear();
        }
        OpenRowsets {
            db: db.clone(),
            known,
        }
    }

    /// None is kept.
    pub fn none(db: &Arc<Database>) -> OpenRowsets {
        OpenRowsets::new(db, std::iter::empty())
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// The rowset with this definition.
    #[inline]
    pub fn of(&self, def: &Arc<RowsetDef>) -> Cow<'_, Rowset> {
        let same = |r: &&Rowset| Arc::ptr_eq(&r.def, def) && !r.storage.is_gone();
        match self.known.iter().find(same) {
            Some(known) => {
                known.storage.used_as(def);
                Cow::Borrowed(known)
            }
            None => Cow::Owned(self.db.rowset(def)),
        }
    }
}
