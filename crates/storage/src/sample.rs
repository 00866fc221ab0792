//! Some rows of a rowset, for statistics: no locks, no transaction, whatever is on the pages.

use duramen_base::{SqlError, SqlResult};
use duramen_format::page::record_kind;
use duramen_format::values::decode_row_with;
use duramen_types::Value;

use crate::rowset::Rowset;

/// Rows from pages spread evenly over a rowset.
#[derive(Debug, Default)]
pub struct Sample {
    /// Values kept outside their rows are empty here.
    pub rows: Vec<Vec<Value>>,
    /// Every page was read.
    pub whole: bool,
}

impl Rowset {
    /// Rows of `pages` pages at most. Rows of running transactions count like others: whoever asks wants to know what the
    /// table is like, not what is in it.
    pub fn sample(&self, pages: usize) -> SqlResult<Sample> {
        self.sample_part(|_| pages)
    }

    /// The same, of as many pages at most as `part` makes of the number that there are.
    pub fn sample_part(&self, part: impl FnOnce(usize) -> usize) -> SqlResult<Sample> {
        let db = self.database();
        let _shared = self.storage.latch.read();
        let first_iam = self.storage.roots.lock().first_iam;
        let all = db.pages_of(first_iam)?;
        let pages = part(all.len());
        let step = all.len().div_ceil(pages.max(1)).max(1);
        let mut sample = Sample {
            rows: Vec::new(),
            whole: step == 1,
        };
        for id in all.into_iter().step_by(step) {
            if duramen_os::thread::is_given_up() {
                return Err(SqlError::given_up());
            }
            let page = db.read_page(id)?;
            let p = page.page();
            if p.alloc_unit() != self.def().au || p.level() != 0 {
                continue;
            }
            for slot in 0..p.slot_count() {
                let Some(row) = p.row_or_none(slot)? else {
                    continue;
                };
                let kind = row.kind();
                let inside = kind == record_kind::PRIMARY || kind == record_kind::FORWARDED;
                if row.is_ghost() || self.def().is_heap() && !inside {
                    continue;
                }
                let decoded = decode_row_with(&self.def().layout, row, &mut |_, _| Ok(Vec::new()));
                sample.rows.push(decoded?);
            }
        }
        Ok(sample)
    }
}
