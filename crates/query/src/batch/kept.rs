//! Rows of a plan that wait in a file, in their order.

use duramen_base::SqlResult;
use duramen_types::SqlType;
use duramen_types::batch::Batch;

use super::source::batch_of_types;
use super::spilled::{Purpose, Reader, Writer};
use crate::cx::Cx;
use crate::plan::{OutColumn, Row};

/// Rows on their way to the file.
pub struct Keeper {
    types: Vec<SqlType>,
    writer: Writer,
    part: usize,
}

impl Keeper {
    pub fn new(columns: &[OutColumn], cx: &Cx<'_>) -> SqlResult<Keeper> {
        let mut writer = Writer::new(Purpose::Spool, cx)?;
        Ok(Keeper {
            types: columns.iter().map(|c| c.ty).collect(),
            part: writer.part(),
            writer,
        })
    }

    pub fn put(&mut self, rows: Vec<Row>) -> SqlResult<()> {
        let batch = batch_of_types(rows, &self.types);
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
    /// The same rows, from the first one on.
    pub fn again(&self) -> Kept {
        Kept(self.0.as_ref().map(Reader::again))
    }

    /// The rows around the one with this number, and the number of the first of them.
    pub fn around(&self, row: usize) -> SqlResult<(usize, Vec<Row>)> {
        match &self.0 {
            Some(reader) => {
                let (first, batch) = reader.block_of(row)?;
                Ok((first, (0..batch.rows()).map(|i| batch.row(i)).collect()))
            }
            None => Ok((0, Vec::new())),
        }
    }

    /// Some rows; `None` at the end.
    pub fn next_rows(&mut self) -> SqlResult<Option<Vec<Row>>> {
        let batch = self.next_batch()?;
        Ok(batch.map(|b| (0..b.rows()).map(|i| b.row(i)).collect()))
    }

    /// The same by column.
    pub fn next_batch(&mut self) -> SqlResult<Option<Batch>> {
        match &mut self.0 {
            Some(reader) => reader.next_block(),
            None => Ok(None),
        }
    }
}
