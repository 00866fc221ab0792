//! The partition function of a database, and what SPLIT and MERGE make of it.

use super::model::{Db, No, refused};

impl Db {
    /// The bounds of a partition by number, from 1: the first id that is in it, and the first behind it.
    pub fn partition(&self, number: usize) -> Option<(i64, i64)> {
        let all: Vec<i64> = self.boundaries.iter().copied().collect();
        let low = match number {
            0 => return None,
            1 => i64::MIN,
            n => *all.get(n - 2)?,
        };
        Some((low, all.get(number - 1).copied().unwrap_or(i64::MAX)))
    }
}

/// SPLIT or MERGE.
pub fn boundary(db: &mut Db, value: i64, split: bool) -> Result<(), No> {
    let is_there = db.boundaries.contains(&value);
    match split {
        true if is_there || db.boundaries.len() > 11 => Err(No::Unknown),
        true if !db.next_used => Err(refused(&[7707, 7710])),
        true => {
            db.boundaries.insert(value);
            db.next_used = false;
            Ok(())
        }
        false if !is_there => Err(No::Unknown),
        false => {
            db.boundaries.remove(&value);
            Ok(())
        }
    }
}
