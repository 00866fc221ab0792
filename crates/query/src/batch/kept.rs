//! Rows of a plan that wait in a file, in their order.

use duramen_base::SqlResult;
use duramen_types::batch::Batch;

use super::source::batch_of;
use super::spilled::{Purpose, Reader, Writer};
use crate::cx::Cx;
use crate::plan::{Plan, Row};

/// Rows on their way to the file.
pub struct Keeper<'p> {
    plan: &'p Plan,
    needed: Vec<bool>,
    writer: Writer,
    part: usize,
}

impl<'p> Keeper<'p> {
    pub fn new(plan: &'p Plan, cx: &Cx<'_>) -> SqlResult<Keeper<'p>> {
        let mut writer = Writer::new(Purpose::Spool, cx)?;
        Ok(Keeper {
            plan,
            needed: vec![true; plan.columns.len()],
            part: writer.part(),
            writer,
        })
    }

    pub fn put(&mut self, rows: Vec<Row>) -> SqlResult<()> {
        let batch = batch_of(rows, self.plan, &self.needed);
        self.put_batch(&batch)
    }

    pub fn put_batch(&mut self, batch: &Batch) -> SqlResult<()> {
        let all: Vec<u32> = (0..batch.rows() as u32).collect();
        self.writer.put(self.part, batch.columns(), &all)
    }

    pub fn finish(self) -> SqlResult<Kept> {
        Ok(Kept(self.writer.finish()?.into_iter().next()))
    }
}

/// Rows in the file.
pub struct Kept(Option<Reader>);

impl Kept {
    /// Some rows; `None` at the end.
    pub fn next(&mut self) -> SqlResult<Option<Vec<Row>>> {
        let batch = self.next_batch()?;
        Ok(batch.map(|b| (0..b.rows()).map(|i| b.row(i)).collect()))
    }

    /// The same by column.
    pub fn next_batch(&mut self) -> SqlResult<Option<Batch>> {
        match &mut self.0 {
            Some(reader) => reader.next(),
            None => Ok(None),
        }
    }
}
